#include "task/depth.h"

#include "pg/error.h"
#include "store/locks.h"
#include "shmem/depth.h"

namespace scylla {

using store::Store;

namespace {

using shmem::Bounded;
using shmem::Room;

// Counts what is committed, and what prepared transactions may commit (shmem/depth.h).
void count_tasks(Store &store, int32 queue, Bounded which) {
    const shmem::StatKey key = stat_key(queue);
    const TimestampTz begin = GetCurrentTimestamp();
    CommandCounterIncrement(); // what this transaction has noted is in the tables, and is to be seen
    const shmem::PreparedDepth prepared = shmem::prepared_depth(key, which);
    const bool running = which == Bounded::running;
    const store::PreparedTasks tasks = running ? find_prepared_permits(store, queue) : find_prepared(store, queue);
    constexpr int k_attempts = 100; // a moment comes soon, unless somebody is kept from telling its commit
    std::optional<shmem::DepthView> view;
    for (int attempt = 1; !view; attempt++) {
        CHECK_FOR_INTERRUPTS();
        if (attempt % k_attempts == 0)
            pg_usleep(1000);
        const uint64 changes = shmem::stat_changes();
        refresh(store);
        view = shmem::look_at_depth(key, which, store.snapshot, changes);
    }
    const int64 counted = running ? count_permits(store, queue, tasks.ids) : count_unleased(store, queue, tasks.ids);
    shmem::set_depth(*view, counted, prepared, tasks.any, GetCurrentTimestamp() - begin);
}

// Asks until it is known: ask(has_counted).
template <typename Ask> void with_count(Store &store, const store::QueueRow &queue, Bounded which, Ask ask) {
    for (bool has_counted = false;; has_counted = true)
        switch (ask(has_counted)) {
        case Room::known:
            return;
        case Room::unknown:
            count_tasks(store, queue.id, which);
            break;
        case Room::no_place:
            error::no_place(queue.name);
        }
}

int64 take_known_room(Store &store, const store::QueueRow &queue, int64 wanted) {
    const bool all = queue.on_full == store::OnFull::error;
    int64 taken = 0;
    with_count(store, queue, Bounded::unleased, [&](bool has_counted) {
        return shmem::reserve_room(stat_key(queue.id), Bounded::unleased, *queue.max_depth, wanted, all, has_counted,
                                   &taken);
    });
    return taken;
}

int64 take_locked_room(Store &store, const store::QueueRow &queue, int64 wanted) {
    const LOCKTAG tag = lock_tag(store, queue.id, QueueLock::depth);
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

void begin_depth(int32 queue, Bounded which) { shmem::reset_depth(stat_key(queue), which); }

int64 see_running_room(Store &store, const store::QueueRow &queue, int64 wanted) {
    int64 room = 0;
    with_count(store, queue, Bounded::running, [&](bool has_counted) {
        return shmem::see_room(stat_key(queue.id), Bounded::running, *queue.max_running, wanted, has_counted, &room);
    });
    return room;
}

Grant take_running_room(const store::QueueRow &queue) {
    int64 taken = 0;
    switch (shmem::reserve_room(stat_key(queue.id), Bounded::running, *queue.max_running, 1, true, true, &taken)) {
    case Room::known:
        return taken > 0 ? Grant::granted : Grant::none;
    case Room::unknown:
        return Grant::unknown; // the place has been given away meanwhile
    case Room::no_place:
        break;
    }
    error::no_place(queue.name);
}

void return_running_room(int32 queue) { shmem::release_room(stat_key(queue), Bounded::running, 1); }

} // namespace scylla
