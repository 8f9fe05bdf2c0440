#include "shmem/waiters.h"

#include "pg/hash.h"

namespace scylla::shmem {

namespace {

struct Waiter {
    Oid database;
    bool signalled;
    Awaited signalled_for;
    int count;
    Awaited awaited[k_max_wait_queues];
};

} // namespace

// Guarded by the lock, except `count`, which may be read without it to see that there are no waiters.
struct Waiters {
    LWLock *lock;
    pg_atomic_uint32 count;
    int capacity; // MaxBackends
    uint64 seed;  // of unknown_queue()

    // Behind this header: the process numbers of the waiters, in the order of arrival, and the waiters by process
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
constinit std::optional<Awaited> accepted; // the signal that led to the look that is going on

Waiter &mine() noexcept { return waiters->waiter()[compat::my_proc_number()]; }

std::span<Awaited> awaited_by(Waiter &waiter) noexcept {
    return std::span(waiter.awaited).first(static_cast<std::size_t>(waiter.count));
}

bool waits_for(Waiter &waiter, Awaited awaited) noexcept {
    const auto all = awaited_by(waiter);
    return std::find(all.begin(), all.end(), awaited) != all.end();
}

bool waits_for_unknown(Waiter &waiter) noexcept {
    const auto all = awaited_by(waiter);
    return std::any_of(all.begin(), all.end(), is_unknown_queue);
}

void wake_for(int proc, Awaited awaited) noexcept {
    Waiter &waiter = waiters->waiter()[proc];
    waiter.signalled = true;
    waiter.signalled_for = awaited;
    wake(static_cast<uint32>(proc) + 1);
}

// Those of the database, in the order of arrival. Under the lock.
template <class Use> void for_each_of(Oid database, Use use) noexcept {
    for (uint32 i = 0; i < pg_atomic_read_u32(&waiters->count); i++)
        if (const int proc = waiters->order()[i]; waiters->waiter()[proc].database == database)
            use(proc, waiters->waiter()[proc]);
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
    if (!pg_strong_random(&made->seed, sizeof(made->seed)))
        elog(ERROR, "there are no random numbers");
}

Awaited unknown_queue(std::string_view name) noexcept {
    return k_slow_agenda - 1 - static_cast<Awaited>(hash_of(name, waiters->seed) >> 2);
}

void enlist(std::span<const Awaited> awaited) {
    LWLockAcquire(waiters->lock, LW_EXCLUSIVE);
    Waiter &waiter = mine();
    waiter.database = MyDatabaseId;
    waiter.count = static_cast<int>(awaited.size());
    std::copy(awaited.begin(), awaited.end(), waiter.awaited);
    if (!on_the_list) {
        waiter.signalled = false;
        const uint32 count = pg_atomic_read_u32(&waiters->count);
        waiters->order()[count] = compat::my_proc_number();
        pg_atomic_write_u32(&waiters->count, count + 1);
        on_the_list = true;
    }
    LWLockRelease(waiters->lock);
}

void enlist_known(std::span<const Awaited> awaited) {
    LWLockAcquire(waiters->lock, LW_EXCLUSIVE);
    Waiter &waiter = mine();
    for (std::size_t i = 0; i < awaited.size(); i++)
        if (!is_unknown_queue(awaited[i]))
            waiter.awaited[i] = awaited[i];
    LWLockRelease(waiters->lock);
}

std::optional<Awaited> signalled() noexcept {
    LWLockAcquire(waiters->lock, LW_SHARED);
    const Waiter &waiter = mine();
    const auto awaited = waiter.signalled ? std::optional(waiter.signalled_for) : std::nullopt;
    LWLockRelease(waiters->lock);
    return awaited;
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
        Waiter &waiter = waiters->waiter()[proc];
        count += !waiter.signalled && waiter.database == MyDatabaseId && waits_for(waiter, queue) ? 1 : 0;
    }
    LWLockRelease(waiters->lock);
    return count;
}

void leave(std::optional<Awaited> used) noexcept {
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

    const std::optional<Awaited> held[] = {accepted,
                                           waiter.signalled ? std::optional(waiter.signalled_for) : std::nullopt};
    accepted.reset();
    for (const auto &awaited : held) {
        if (!awaited)
            continue;
        if (used == awaited)
            used.reset(); // one signal, one task
        else
            signal(MyDatabaseId, *awaited, 1);
    }
}

void signal(Oid database, Awaited awaited, int64 count) noexcept {
    // The committer's row is visible before it reads the count, and a waiter is counted before it looks for rows.
    pg_memory_barrier();
    if (pg_atomic_read_u32(&waiters->count) == 0)
        return;
    LWLockAcquire(waiters->lock, LW_EXCLUSIVE);
    for_each_of(database, [&](int proc, Waiter &waiter) {
        if (count == 0 || waiter.signalled || !waits_for(waiter, awaited))
            return;
        wake_for(proc, awaited);
        count--;
    });
    LWLockRelease(waiters->lock);
}

void signal_unknown(Oid database) noexcept {
    LWLockAcquire(waiters->lock, LW_EXCLUSIVE);
    for_each_of(database, [](int proc, Waiter &waiter) {
        if (!waiter.signalled && waits_for_unknown(waiter))
            wake_for(proc, k_any_new_queue);
    });
    LWLockRelease(waiters->lock);
}

void name_queue(Oid database, Awaited unknown, int32 queue) noexcept {
    pg_memory_barrier(); // as in signal()
    if (pg_atomic_read_u32(&waiters->count) == 0)
        return;
    LWLockAcquire(waiters->lock, LW_EXCLUSIVE);
    for_each_of(database, [&](int, Waiter &waiter) {
        const auto all = awaited_by(waiter);
        std::replace(all.begin(), all.end(), unknown, static_cast<Awaited>(queue));
    });
    LWLockRelease(waiters->lock);
}

std::size_t waited_for(std::span<Awaited> awaited) noexcept {
    std::size_t found = 0;
    const auto add = [&](Awaited one) {
        if (found < awaited.size() && std::find(awaited.data(), awaited.data() + found, one) == awaited.data() + found)
            awaited[found++] = one;
    };
    if (pg_atomic_read_u32(&waiters->count) == 0)
        return found;
    LWLockAcquire(waiters->lock, LW_SHARED);
    for_each_of(MyDatabaseId, [&](int, Waiter &waiter) {
        if (!waiter.signalled)
            for (const Awaited one : awaited_by(waiter))
                add(is_unknown_queue(one) ? k_any_new_queue : one);
    });
    LWLockRelease(waiters->lock);
    return found;
}

bool is_anybody_waiting() noexcept {
    if (pg_atomic_read_u32(&waiters->count) == 0)
        return false;
    bool any = false;
    LWLockAcquire(waiters->lock, LW_SHARED);
    for_each_of(MyDatabaseId, [&](int, Waiter &) { any = true; });
    LWLockRelease(waiters->lock);
    return any;
}

} // namespace scylla::shmem
