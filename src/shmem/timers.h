// The times at which a monitor has to act. Commits lower them; the monitor sleeps until the earliest.
//
// The monitor clears a timer, takes its snapshot, then lowers the timer to the next time found. A commit that the
// snapshot missed sets the timer after it was cleared, so no time is lost.
#pragma once

#include "shmem/shared.h"

namespace scylla::shmem {

inline constexpr TimestampTz k_never = DT_NOEND;

// True if the time was later.
bool lower(pg_atomic_uint64 &time, TimestampTz when) noexcept;
bool lower(MonitorSlot &slot, Timer timer, TimestampTz when) noexcept;
void clear(MonitorSlot &slot, Timer timer) noexcept;
TimestampTz earliest(MonitorSlot &slot, Timer timer) noexcept;
// Of all timers.
TimestampTz earliest(MonitorSlot &slot) noexcept;

} // namespace scylla::shmem
