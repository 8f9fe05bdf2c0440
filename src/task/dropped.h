// What is left of queues that were dropped with tasks. From the commit of drop_queue() on nobody sees the queue or its
// tasks: no verb finds the queue of such a task. The rows are removed in portions. What others depend on has its effect
// first: a live task is cancelled, so its dependants and its plan go on as they say, and a result stays as long as a
// live task elsewhere may still get it.
#pragma once

#include "store/rows.h"

namespace scylla {

// When the library is loaded: the duty of removing them.
void register_dropped_duty();
// Removes all that no other transaction is changing.
void remove_all_dropped(store::Store &store);

// Makes room for a task of this name, if a task that is left of a dropped queue has it. Waits for whoever is just
// changing that task. For each name before it is used; cheap where nothing was dropped.
void free_dropped_name(store::Store &store, const text *rn);

} // namespace scylla
