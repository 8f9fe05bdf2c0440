#include "shmem/waiters.h"

namespace scylla::shmem {

namespace {

struct Waiter {
    Oid database;
    bool signalled;
    int32 signalled_for;
    int count;
    int32 queue[k_max_wait_queues];
};

} // namespace

// Guarded by the lock but `count`, which may be read without it to find out that nobody waits.
struct Waiters {
    LWLock *lock;
    pg_atomic_uint32 count;
    int capacity; // MaxBackends

    // Behind this header: the process numbers of those who wait, in the order of arrival, and the waiters by process
    // number.
    int *order() noexcept { return reinterpret_cast<int *>(this + 1); }
    Waiter *waiter() noexcept {
        return reinterpret_cast<Waiter *>(reinterpret_cast<char *>(this + 1) + order_size(capacity));
    }
    static Size order_size(int capacity) noexcept { return MAXALIGN(static_cast<Size>(capacity) * sizeof(int)); }
};

namespace {

constinit Waiters *waiters = nullptr;
constinit bool on_the_list = false;
constinit std::optional<int32> accepted; // the signal that led to the look that is going on

Waiter &mine() noexcept { return waiters->waiter()[compat::my_proc_number()]; }

bool waits_for(const Waiter &waiter, int32 queue) noexcept {
    for (int i = 0; i < waiter.count; i++)
        if (waiter.queue[i] == queue)
            return true;
    return false;
}

} // namespace

Size waiters_size() {
    return sizeof(Waiters) + Waiters::order_size(MaxBackends) + static_cast<Size>(MaxBackends) * sizeof(Waiter);
}

void make_waiters(Waiters *made, LWLock *lock, bool found) {
    waiters = made;
    if (found)
        return;
    memset(static_cast<void *>(made), 0, waiters_size());
    made->lock = lock;
    made->capacity = MaxBackends;
    pg_atomic_init_u32(&made->count, 0);
}

void enlist(std::span<const int32> queues) {
    LWLockAcquire(waiters->lock, LW_EXCLUSIVE);
    Waiter &waiter = mine();
    waiter.database = MyDatabaseId;
    waiter.count = 0;
    for (const int32 queue : queues)
        waiter.queue[waiter.count++] = queue;
    if (!on_the_list) {
        waiter.signalled = false;
        const uint32 count = pg_atomic_read_u32(&waiters->count);
        waiters->order()[count] = compat::my_proc_number();
        pg_atomic_write_u32(&waiters->count, count + 1);
        on_the_list = true;
    }
    LWLockRelease(waiters->lock);
}

std::optional<int32> signalled() noexcept {
    LWLockAcquire(waiters->lock, LW_SHARED);
    const Waiter &waiter = mine();
    const auto queue = waiter.signalled ? std::optional(waiter.signalled_for) : std::nullopt;
    LWLockRelease(waiters->lock);
    return queue;
}

void rearm() noexcept {
    LWLockAcquire(waiters->lock, LW_EXCLUSIVE);
    Waiter &waiter = mine();
    accepted = waiter.signalled ? std::optional(waiter.signalled_for) : std::nullopt;
    waiter.signalled = false;
    LWLockRelease(waiters->lock);
}

int64 ahead(int32 queue) noexcept {
    int64 count = 0;
    LWLockAcquire(waiters->lock, LW_SHARED);
    for (uint32 i = 0; i < pg_atomic_read_u32(&waiters->count); i++) {
        const int proc = waiters->order()[i];
        if (proc == compat::my_proc_number())
            break;
        const Waiter &waiter = waiters->waiter()[proc];
        count += !waiter.signalled && waiter.database == MyDatabaseId && waits_for(waiter, queue) ? 1 : 0;
    }
    LWLockRelease(waiters->lock);
    return count;
}

void leave(std::optional<int32> used) noexcept {
    if (!on_the_list)
        return;
    LWLockAcquire(waiters->lock, LW_EXCLUSIVE);
    const Waiter waiter = mine();
    uint32 kept = 0;
    const uint32 count = pg_atomic_read_u32(&waiters->count);
    for (uint32 i = 0; i < count; i++)
        if (waiters->order()[i] != compat::my_proc_number())
            waiters->order()[kept++] = waiters->order()[i];
    pg_atomic_write_u32(&waiters->count, kept);
    on_the_list = false;
    LWLockRelease(waiters->lock);

    const std::optional<int32> held[] = {accepted,
                                         waiter.signalled ? std::optional(waiter.signalled_for) : std::nullopt};
    accepted.reset();
    for (const auto &queue : held) {
        if (!queue)
            continue;
        if (used == queue)
            used.reset(); // one signal, one task
        else
            signal(MyDatabaseId, *queue, 1);
    }
}

void signal(Oid database, int32 queue, int64 count) noexcept {
    // The committer's row is visible before it reads the count, and a waiter is counted before it looks for rows.
    pg_memory_barrier();
    if (pg_atomic_read_u32(&waiters->count) == 0)
        return;
    LWLockAcquire(waiters->lock, LW_EXCLUSIVE);
    for (uint32 i = 0; i < pg_atomic_read_u32(&waiters->count) && count > 0; i++) {
        const int proc = waiters->order()[i];
        Waiter &waiter = waiters->waiter()[proc];
        if (waiter.signalled || waiter.database != database || !waits_for(waiter, queue))
            continue;
        waiter.signalled = true;
        waiter.signalled_for = queue;
        wake(static_cast<uint32>(proc) + 1);
        count--;
    }
    LWLockRelease(waiters->lock);
}

std::size_t waited_for(std::span<int32> queues) noexcept {
    std::size_t found = 0;
    if (pg_atomic_read_u32(&waiters->count) == 0)
        return found;
    LWLockAcquire(waiters->lock, LW_SHARED);
    for (uint32 i = 0; i < pg_atomic_read_u32(&waiters->count); i++) {
        const Waiter &waiter = waiters->waiter()[waiters->order()[i]];
        if (waiter.signalled || waiter.database != MyDatabaseId)
            continue;
        for (int q = 0; q < waiter.count && found < queues.size(); q++)
            if (std::find(queues.begin(), queues.begin() + static_cast<std::ptrdiff_t>(found), waiter.queue[q]) ==
                queues.begin() + static_cast<std::ptrdiff_t>(found))
                queues[found++] = waiter.queue[q];
    }
    LWLockRelease(waiters->lock);
    return found;
}

} // namespace scylla::shmem
