// What time asks for: leases that end, tasks that become due, old tasks that go. The monitor's work, in bounded
// portions.
#pragma once

#include "store/rows.h"
#include "task/duty.h"

namespace scylla {

// When the library is loaded: the duties of ending leases whose time is over, and of opening tasks that are due.
void register_time_duties();

// Removes tasks that ended longer ago than their retention. `after` is where the walk through the terminal tasks goes
// on, and is left at the place it got to, or at 0 at the end of the walk.
void purge_old_tasks(store::Store &store, TimestampTz now, Portion *portion, int64 *after);

// Removes finished plans all of whose tasks are past their retention; the tasks are left to purge_old_tasks().
void purge_old_plans(store::Store &store, TimestampTz now, Portion *portion);

// All at once, whatever it takes: for those who have no monitor. How many leases have ended; how many tasks were
// removed.
int64 reset_expired(store::Store &store);
int64 purge(store::Store &store, TimestampTz now);
void maintain(store::Store &store, TimestampTz now);

} // namespace scylla
