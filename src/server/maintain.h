// Work that depends on time: expiring leases, opening tasks that are due, purging old tasks. The monitor's work, in
// bounded portions.
#pragma once

#include "store/rows.h"
#include "task/duty.h"

namespace scylla {

// When the library is loaded: registers the duties that expire leases and open tasks that are due.
void register_time_duties();

// Removes tasks that ended longer ago than their retention. `after`: the id behind which the walk through the terminal
// tasks continues. It is set to the last id that the walk has reached, or to 0 at the end.
void purge_old_tasks(store::Store &store, TimestampTz now, Portion *portion, int64 *after);

// Removes finished plans all of whose tasks are past their retention; the tasks are left to purge_old_tasks(). `after`:
// the same, for the walk through the plans.
void purge_old_plans(store::Store &store, TimestampTz now, Portion *portion, int64 *after);

// All at once, however long it takes, for databases without a monitor. Return how many leases have ended, and how many
// tasks were removed.
int64 reset_expired(store::Store &store);
int64 purge(store::Store &store, TimestampTz now);
void maintain(store::Store &store, TimestampTz now);

} // namespace scylla
