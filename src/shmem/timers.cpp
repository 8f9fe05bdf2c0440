#include "shmem/timers.h"

namespace scylla::shmem {

namespace {

pg_atomic_uint64 *timer_of(MonitorSlot &slot, Timer timer) noexcept {
    return &slot.wake[static_cast<std::size_t>(timer)];
}

} // namespace

bool lower(pg_atomic_uint64 &time, TimestampTz when) noexcept {
    // Times before 2000 are negative; they need not be exact.
    const uint64 wanted = when < 0 ? 0 : static_cast<uint64>(when);
    uint64 present = pg_atomic_read_u64(&time);
    while (wanted < present)
        if (pg_atomic_compare_exchange_u64(&time, &present, wanted))
            return true;
    return false;
}

bool lower(MonitorSlot &slot, Timer timer, TimestampTz when) noexcept { return lower(*timer_of(slot, timer), when); }

void clear(MonitorSlot &slot, Timer timer) noexcept {
    pg_atomic_exchange_u64(timer_of(slot, timer), static_cast<uint64>(k_never)); // a full barrier, unlike a plain write
}

TimestampTz earliest(MonitorSlot &slot, Timer timer) noexcept {
    return static_cast<TimestampTz>(pg_atomic_read_u64(timer_of(slot, timer)));
}

TimestampTz earliest(MonitorSlot &slot) noexcept {
    TimestampTz first = k_never;
    for (pg_atomic_uint64 &time : slot.wake)
        first = Min(first, static_cast<TimestampTz>(pg_atomic_read_u64(&time)));
    return first;
}

} // namespace scylla::shmem
