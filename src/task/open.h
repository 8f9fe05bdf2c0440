// The beginning of a call: it opens the tables. And the key of a queue in shared memory.
#pragma once

#include "shmem/stats.h"
#include "store/rows.h"

namespace scylla {

// Every verb that changes tasks starts with this: it refuses read-only transactions, standbys and parallel workers, as
// a SQL command would. `call` is the SQL name for the message. task_spec is locked first, before the snapshot with
// which the verb reads queues: a wait for all transactions that may use old settings waits for the holders of that lock
// (queue/pending.cpp).
store::Store open_for_write(const char *call);
// The same for verbs that change queues, rights and plans.
store::Store open_for_settings(const char *call);

// For the statistics of a queue; 0: of the monitor.
inline shmem::StatId stat_id(int32 queue) { return {MyDatabaseId, store::identity(), queue}; }

} // namespace scylla
