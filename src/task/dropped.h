// What is left of queues that were dropped with tasks. From the commit of drop_queue() on the queue and its tasks are
// invisible: no verb finds the queue of such a task. The rows are removed in portions. Others may depend on a task, so
// its end takes effect first: a live task is cancelled, with the effects on its dependants and its plan, and a result
// stays as long as a live task elsewhere may still get it.
#pragma once

#include "store/rows.h"

namespace scylla {

// When the library is loaded: the duty of removing them.
void register_dropped_duty();
// Removes all that no other transaction is changing.
void remove_all_dropped(store::Store &store);

// Frees the name if a task that is left of a dropped queue has it: that task gets another one, which nobody sees. Waits
// for a transaction that holds the task, as one does that makes another task depend on it.
// To be called for each name before it is used; cheap if no queue was dropped.
void free_dropped_name(store::Store &store, const text *rn);

} // namespace scylla
