// What is left of queues that were dropped with tasks. From the commit of drop_queue() on nobody sees the queue or its
// tasks: no verb finds the queue of such a task. The rows are removed in portions. What others depend on has its effect
// first: a live task is cancelled, so its dependants and its plan go on as they say, and a result stays as long as a
// live task elsewhere may still get it.
#pragma once

#include "store/rows.h"
#include "task/portion.h"

namespace scylla {

// The next portion. `next` is lowered to when to look again for rows that somebody is just changing.
void remove_dropped(store::Store &store, TimestampTz now, Portion *portion, TimestampTz *next);
// All that can be had.
void remove_all_dropped(store::Store &store, TimestampTz now);

// Makes room for a task of this name, if a task that is left of a dropped queue has it. Waits for whoever is just
// changing that task. For each name before it is used; cheap where nothing was dropped.
void free_dropped_name(store::Store &store, const text *rn);

} // namespace scylla
