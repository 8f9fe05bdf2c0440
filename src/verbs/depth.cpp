#include "verbs/depth.h"

#include "pg/error.h"
#include "shmem/depth.h"

namespace scylla {

using store::Store;
using store::TableId;

namespace {

// Counts what is committed, and what prepared transactions may commit (shmem/depth.h).
void count_depth(Store &store, int32 queue) {
    const shmem::StatKey key = stat_key(queue);
    const TimestampTz begin = GetCurrentTimestamp();
    CommandCounterIncrement(); // what this transaction has noted is in the tables, and is to be seen
    const int64 prepared = shmem::prepared_depth(key);
    const auto ids = store::find_prepared(store, queue);
    constexpr int k_attempts = 100; // a moment comes soon, unless somebody is kept from telling its commit
    std::optional<shmem::DepthView> view;
    for (int attempt = 1; !view; attempt++) {
        CHECK_FOR_INTERRUPTS();
        if (attempt % k_attempts == 0)
            pg_usleep(1000);
        const uint64 changes = shmem::stat_changes();
        refresh(store);
        view = shmem::look_at_depth(key, store.snapshot, changes);
    }
    const int64 counted = count_unleased(store, queue, ids);
    shmem::set_depth(*view, counted, prepared, GetCurrentTimestamp() - begin);
}

int64 take_known_room(Store &store, const store::QueueRow &queue, int64 wanted) {
    const bool all = queue.on_full == store::OnFull::error;
    int64 taken = 0;
    for (bool has_counted = false;; has_counted = true)
        switch (shmem::take_room(stat_key(queue.id), *queue.max_depth, wanted, all, has_counted, &taken)) {
        case shmem::Room::taken:
            return taken;
        case shmem::Room::unknown:
            count_depth(store, queue.id);
            break;
        case shmem::Room::no_place:
            error::no_place(queue.name);
        }
}

int64 take_locked_room(Store &store, const store::QueueRow &queue, int64 wanted) {
    LOCKTAG tag;
    SET_LOCKTAG_OBJECT(tag, MyDatabaseId, RelationGetRelid(store[TableId::queue].rel), static_cast<Oid>(queue.id), 1);
    (void)LockAcquire(&tag, ExclusiveLock, false, false);
    CommandCounterIncrement();
    refresh(store);
    const int64 room = *queue.max_depth - count_unleased(store, queue.id, static_cast<int64>(*queue.max_depth));
    return wanted <= room ? wanted : queue.on_full == store::OnFull::error ? 0 : room;
}

} // namespace

int64 take_room(Store &store, const store::QueueRow &queue, int64 wanted) {
    if (!queue.max_depth || wanted == 0)
        return wanted;
    const int64 taken =
        shmem::shared != nullptr ? take_known_room(store, queue, wanted) : take_locked_room(store, queue, wanted);
    if (taken < wanted && queue.on_full == store::OnFull::error) {
        shmem::count_refused(stat_key(queue.id), wanted);
        error::limit_reached(queue.name, "max_depth", *queue.max_depth);
    }
    return taken;
}

void begin_depth(int32 queue) { shmem::begin_depth(stat_key(queue)); }

} // namespace scylla
