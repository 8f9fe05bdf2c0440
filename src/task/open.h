// How a call begins: the tables opened, and the name of a queue for shared memory.
#pragma once

#include "shmem/stats.h"
#include "store/rows.h"

namespace scylla {

// Every verb that changes tasks starts with this: it refuses read-only transactions, standbys and parallel workers, as
// a SQL command would. `call` is the SQL name for the message. task_spec is locked first, before the snapshot with
// which the verb looks at queues: whoever waits for all that may work by old settings goes by that lock
// (queue/pending.cpp).
store::Store open_for_write(const char *call);
// The same for verbs that change queues, rights and plans.
store::Store open_for_settings(const char *call);

// For the statistics of a queue; 0: of the monitor.
inline shmem::StatKey stat_key(int32 queue) { return {MyDatabaseId, store::identity(), queue}; }

} // namespace scylla
