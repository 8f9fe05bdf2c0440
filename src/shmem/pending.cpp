#include "shmem/pending.h"

#include "shmem/timers.h"

namespace scylla::shmem {

namespace {

struct Pending {
    bool any;
    bool extension;
    bool databases;
    std::array<bool, k_timers> any_time;
    std::array<TimestampTz, k_timers> time; // counts if any_time says so
};
constinit Pending pending{};

void tell_monitor() noexcept {
    for (int i = 0; i < shared->slots; i++) {
        MonitorSlot &slot = shared->slot[i];
        if (pg_atomic_read_u32(&slot.database) != MyDatabaseId)
            continue;
        bool earlier = false;
        for (std::size_t t = 0; t < k_timers; t++)
            if (pending.any_time[t] && lower(slot, static_cast<Timer>(t), pending.time[t]))
                earlier = true;
        if (earlier)
            wake(pg_atomic_read_u32(&slot.proc));
        return;
    }
}

void announce_extension() noexcept {
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    if (shared->announced_count < k_max_marked)
        shared->announced[shared->announced_count++] = MyDatabaseId;
    else
        shared->announced_all = true;
    LWLockRelease(shared->lock);
    wake_launcher();
}

void give_back_databases() noexcept {
    pg_atomic_write_u32(&shared->rescan, 1); // before the launcher can see that they are free: they may be gone
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    int kept = 0;
    for (int i = 0; i < shared->blocked_count; i++)
        if (shared->blocked[i].pid != MyProcPid)
            shared->blocked[kept++] = shared->blocked[i];
    shared->blocked_count = kept;
    LWLockRelease(shared->lock);
    wake_launcher();
}

// Must not fail: the transaction is committed. It allocates nothing and reads no catalog.
extern "C" void at_end_of_transaction(XactEvent event, void *) {
    if (!pending.any)
        return;
    if (event == XACT_EVENT_COMMIT) {
        if (pending.extension)
            announce_extension();
        tell_monitor();
    }
    if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE) {
        if (pending.databases)
            give_back_databases();
        pending = Pending{};
    }
}

} // namespace

void note_ready(int32, int16, int64) {}

void note_time(Timer timer, TimestampTz when) {
    if (shared == nullptr)
        return;
    const auto t = static_cast<std::size_t>(timer);
    if (!pending.any_time[t] || when < pending.time[t])
        pending.time[t] = when;
    pending.any_time[t] = true;
    pending.any = true;
}

void note_extension() {
    if (shared == nullptr)
        return;
    pending.extension = true;
    pending.any = true;
}

void note_databases() {
    if (shared == nullptr)
        return;
    pending.databases = true;
    pending.any = true;
}

void install_callback() { RegisterXactCallback(at_end_of_transaction, nullptr); }

} // namespace scylla::shmem
