#include "task/depth.h"

#include "pg/clock.h"
#include "pg/error.h"
#include "store/locks.h"
#include "shmem/depth.h"

namespace scylla {

using store::Store;

namespace {

using shmem::Bounded;
using shmem::Room;

LOCKTAG tag_of(Store &store, int32 queue, Bounded which) {
    return lock_tag(store, queue, which == Bounded::running ? QueueLock::running : QueueLock::depth);
}

// Takes the lock for a count for shared memory. A submit waits for submits that count for themselves; a lease waits for
// no transaction.
bool lock_for_count(const LOCKTAG &tag, Bounded which) {
    const bool wait = which == Bounded::unleased;
    return LockAcquire(&tag, RowExclusiveLock, false, !wait) != LOCKACQUIRE_NOT_AVAIL;
}

// Takes a snapshot of a moment at which no transaction was between its commit and its callback. False: there was none,
// or the entry has been evicted.
bool find_moment(Store &store, const shmem::StatId &id, Bounded which, shmem::DepthView *view) {
    constexpr int k_attempts = 1000; // such a moment comes soon, unless a process is kept from running its callback
    constexpr int k_until_sleep = 100;
    for (int attempt = 1; attempt <= k_attempts; attempt++) {
        CHECK_FOR_INTERRUPTS();
        if (attempt % k_until_sleep == 0)
            pg_usleep(1000);
        const uint64 changes = shmem::stat_changes();
        refresh(store);
        switch (shmem::look_at_depth(id, which, store.snapshot, changes, view)) {
        case shmem::Look::good:
            return true;
        case shmem::Look::missed:
            break;
        case shmem::Look::evicted:
            return false;
        }
    }
    return false;
}

// Counts what is committed, and what prepared transactions may commit (shmem/depth.h). False: the number cannot become
// known, because transactions are open that count for themselves.
bool count_tasks(Store &store, int32 queue, Bounded which) {
    const LOCKTAG tag = tag_of(store, queue, which);
    if (!lock_for_count(tag, which))
        return false;
    const shmem::StatId id = stat_id(queue);
    CommandCounterIncrement(); // makes visible what this transaction has noted and written
    const int64 begin = processor_time();
    const shmem::PreparedDepth prepared = shmem::prepared_depth(id, which);
    const bool running = which == Bounded::running;
    const store::PreparedTasks tasks = running ? find_prepared_permits(store, queue) : find_prepared(store, queue);
    shmem::DepthView view;
    if (find_moment(store, id, which, &view)) {
        const int64 counted =
            running ? count_permits(store, queue, tasks.ids) : count_unleased(store, queue, tasks.ids);
        shmem::set_depth(view, counted, prepared, tasks.any, processor_time() - begin);
    }
    (void)LockRelease(&tag, RowExclusiveLock, false);
    return true;
}

// Calls ask(has_counted) until shared memory knows the number. False: it does not. Entries may be evicted as fast as
// they are counted, so the number of counts is bounded.
template <typename Ask> bool with_count(Store &store, const store::QueueRow &queue, Bounded which, Ask ask) {
    constexpr int k_counts = 2;
    for (int counts = 0;; counts++)
        switch (ask(counts > 0)) {
        case Room::known:
            return true;
        case Room::unknown:
            if (counts == k_counts || !count_tasks(store, queue.id, which))
                return false;
            break;
        case Room::no_entry:
            return false;
        }
}

shmem::Wish wish(const store::QueueRow &queue, Bounded which, int64 wanted, bool has_counted) {
    return {.id = stat_id(queue.id),
            .which = which,
            .bound = which == Bounded::running ? *queue.max_running : *queue.max_depth,
            .wanted = wanted,
            .has_counted = has_counted};
}

// The slots that were reserved in shared memory; nothing if it does not know the number.
std::optional<int64> reserve_room(Store &store, const store::QueueRow &queue, int64 wanted) {
    const auto share = queue.on_full == store::OnFull::error ? shmem::Share::all : shmem::Share::some;
    int64 taken = 0;
    const bool known = with_count(store, queue, Bounded::unleased, [&](bool has_counted) {
        return shmem::reserve_room(wish(queue, Bounded::unleased, wanted, has_counted), share, &taken);
    });
    return known ? std::optional(taken) : std::nullopt;
}

// Keeps others from submitting to the end of the transaction. False: use shared memory, because others have tasks in
// flight there.
bool hold_depth(Store &store, int32 queue) {
    const LOCKTAG tag = tag_of(store, queue, Bounded::unleased);
    (void)LockAcquire(&tag, ExclusiveLock, false, false);
    if (shmem::shared == nullptr || shmem::forget_depth(stat_id(queue), Bounded::unleased))
        return true;
    (void)LockRelease(&tag, ExclusiveLock, false);
    return false;
}

// The free slots by a count, while others are kept from submitting. Nothing: use shared memory.
std::optional<int64> lock_room(Store &store, const store::QueueRow &queue, int64 wanted) {
    if (!hold_depth(store, queue.id))
        return std::nullopt;
    store::PreparedTasks prepared{}; // without shared memory, prepared transactions hold the lock
    if (shmem::shared != nullptr)
        prepared = find_prepared(store, queue.id);
    CommandCounterIncrement();
    refresh(store);
    const int64 bound = *queue.max_depth;
    const int64 room = bound - (prepared.ids.empty() ? count_unleased(store, queue.id, bound)
                                                     : count_unleased(store, queue.id, prepared.ids));
    return wanted <= room ? wanted : queue.on_full == store::OnFull::error ? 0 : Max(room, 0);
}

int64 take_any_room(Store &store, const store::QueueRow &queue, int64 wanted) {
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        if (shmem::shared != nullptr)
            if (const auto reserved = reserve_room(store, queue, wanted))
                return *reserved;
        if (const auto counted = lock_room(store, queue, wanted))
            return *counted;
    }
}

} // namespace

int64 take_room(Store &store, const store::QueueRow &queue, int64 wanted) {
    if (!queue.max_depth || wanted == 0)
        return wanted;
    const int64 taken = take_any_room(store, queue, wanted);
    if (taken < wanted && queue.on_full == store::OnFull::error) {
        shmem::count_refused(stat_id(queue.id), wanted);
        error::limit_reached(queue.name, "max_depth", *queue.max_depth);
    }
    return taken;
}

void begin_depth(Store &store, int32 queue, Bounded which) {
    while (shmem::shared != nullptr && !shmem::reset_depth(stat_id(queue), which)) {
        CHECK_FOR_INTERRUPTS();
        if (which == Bounded::running ? leave_running_room(store, queue) : hold_depth(store, queue))
            return;
    }
}

std::optional<int64> see_running_room(Store &store, const store::QueueRow &queue, int64 wanted) {
    int64 room = 0;
    const bool known = with_count(store, queue, Bounded::running, [&](bool has_counted) {
        return shmem::see_room(wish(queue, Bounded::running, wanted, has_counted), &room);
    });
    return known ? std::optional(room) : std::nullopt;
}

Grant take_running_room(const store::QueueRow &queue) {
    int64 taken = 0;
    switch (shmem::reserve_room(wish(queue, Bounded::running, 1, true), shmem::Share::all, &taken)) {
    case Room::known:
        return taken > 0 ? Grant::granted : Grant::none;
    case Room::unknown: // the entry has been evicted meanwhile
    case Room::no_entry:
        break;
    }
    return Grant::unknown;
}

void return_running_room(int32 queue) { shmem::release_room(stat_id(queue), Bounded::running, 1); }

bool leave_running_room(Store &store, int32 queue) {
    const LOCKTAG tag = tag_of(store, queue, Bounded::running);
    (void)LockAcquire(&tag, ShareLock, false, false);
    if (shmem::forget_depth(stat_id(queue), Bounded::running))
        return true;
    (void)LockRelease(&tag, ShareLock, false);
    return false;
}

} // namespace scylla
