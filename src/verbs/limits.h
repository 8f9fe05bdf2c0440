// Limits of a queue: how many of its tasks may run at once.
//
// What counts are the leases: those that are committed, and those of transactions in progress, which may commit. So there is no
// counter that a crash, a rollback or a prepared transaction could leave wrong: a lease in a queue with a limit has a *permit*,
// a column with an index of its own, and whoever wants to lease counts them (store::count_permits). For that time, which ends
// long before the transaction does, nobody else may add a permit to the queue: a lock on the queue sees to that.
//
//   * A lease that is rolled back gives its permit back because its row is gone; one that is being ended keeps it until that
//     commits.
//   * Who holds the lock waits for nobody: rows are taken without waiting, tables are open before.
//   * A queue that gets its first limit has leases without permits, and perhaps somebody is just adding one. So alter_queue locks
//     task_lease against all others, and then gives them permits. Verbs that lease lock task_lease before they look at the queue.
#pragma once

#include "store/rows.h"

namespace scylla {

// What every lease of a queue with limits has; null in a queue without.
text *permit_of(const store::QueueRow &queue);

// Others who want to lease from the queue wait until unlock_limits() or the end of the transaction. Refreshes the store.
void lock_limits(store::Store &store, int32 queue);
// The same, but false where it would have to wait for a queue that is full anyway: many workers may be asking.
bool lock_limits_unless_full(store::Store &store, const store::QueueRow &queue);
void unlock_limits(store::Store &store, int32 queue);

// How many more tasks may run now. Exact with the lock held, else a hint.
int64 free_permits(store::Store &store, const store::QueueRow &queue);

} // namespace scylla
