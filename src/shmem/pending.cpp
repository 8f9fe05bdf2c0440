#include "shmem/pending.h"

namespace scylla::shmem {

namespace {

struct Pending {
    bool any;
    bool extension;
    std::array<TimestampTz, k_timers> time; // 0 is a time; `any_time` says whether it counts
    std::array<bool, k_timers> any_time;
};
constinit Pending pending{};

// Lowers a monitor's time; true if it was later.
bool lower(pg_atomic_uint64 *wake_at, TimestampTz when) noexcept {
    // Times before 2000 are negative; nobody needs them exactly.
    const uint64 wanted = when < 0 ? 0 : static_cast<uint64>(when);
    uint64 present = pg_atomic_read_u64(wake_at);
    while (wanted < present)
        if (pg_atomic_compare_exchange_u64(wake_at, &present, wanted))
            return true;
    return false;
}

void tell_monitor() noexcept {
    for (int i = 0; i < shared->slots; i++) {
        MonitorSlot &slot = shared->slot[i];
        if (pg_atomic_read_u32(&slot.database) != MyDatabaseId)
            continue;
        bool earlier = false;
        for (std::size_t t = 0; t < k_timers; t++)
            if (pending.any_time[t] && lower(&slot.wake[t], pending.time[t]))
                earlier = true;
        if (earlier)
            wake(pg_atomic_read_u32(&slot.proc));
        return;
    }
}

void tell_launcher() noexcept {
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    if (shared->announced_count < k_max_marked)
        shared->announced[shared->announced_count++] = MyDatabaseId;
    else
        shared->announced_all = true;
    LWLockRelease(shared->lock);
    wake_launcher();
}

// Must not fail: the transaction is committed. It allocates nothing and reads no catalog.
extern "C" void at_end_of_transaction(XactEvent event, void *) {
    if (!pending.any)
        return;
    if (event == XACT_EVENT_COMMIT) {
        if (pending.extension)
            tell_launcher();
        tell_monitor();
    }
    if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
        pending = Pending{};
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

void install_callback() { RegisterXactCallback(at_end_of_transaction, nullptr); }

} // namespace scylla::shmem
