// The times at which a monitor means to act. Commits lower them; the monitor goes by the earliest.
//
// No time is lost: the monitor clears a timer before it takes the snapshot with which it looks, and afterwards lowers
// the timer to what it found. A commit that its snapshot does not see comes after the clearing, so its time is in the
// timer.
#pragma once

#include "shmem/shared.h"

namespace scylla::shmem {

inline constexpr TimestampTz k_never = DT_NOEND;

// True if the timer was later.
bool lower(MonitorSlot &slot, Timer timer, TimestampTz when) noexcept;
void clear(MonitorSlot &slot, Timer timer) noexcept;
TimestampTz earliest(MonitorSlot &slot, Timer timer) noexcept;

} // namespace scylla::shmem
