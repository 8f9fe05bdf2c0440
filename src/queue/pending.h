// Settings that are pending: recorded, but not in effect (store::Effect::prepared).
//
// A bound on running or waiting tasks, key weights, and a rate per key need rows, and numbers in shared memory, that a
// queue without them does not have: permits of leases, keys of ready tasks, slots in flight. When such a setting is
// recorded, rows without these exist, and transactions in progress may write more. No call is locked out for that:
//
//   1. alter_queue() records the setting. From its commit on, verbs write what the setting needs, but it does not bind
//      them (store::QueueRow::pending).
//   2. settle_queues() waits, by looking again and again, until the transactions have ended that had written tasks of
//   the
//      queue before. It holds no lock while it waits, and waits in no lock's queue.
//   3. It prepares the existing rows, and removes the setting from the pending ones, in one transaction.
//
// A verb may have read the settings before they were recorded, and write its rows after step 3 has looked. So a change
// of settings sends its message before anybody looks for rows, and a verb checks, after it has written all its rows,
// whether a message has come (store::close()). If both run at the same time, at least one sees the other. While the
// setting is pending, the verb adds what its rows lack. If the setting is in effect already, the verb fails with 40001.
// That is rare: step 2 also waits, for a second at most, for all transactions that use any queue.
#pragma once

#include "store/rows.h"

namespace scylla {

// Puts pending settings into effect, until none is pending or another transaction is in the way.
void settle_all_queues(store::Store &store);
// At once, for a queue that this transaction has made, so that nobody else can know it.
void settle_own_queue(store::Store &store, int32 queue);

// When the library is loaded: registers the duty that puts pending settings into effect, and what verbs do if the
// settings that they have used have changed meanwhile.
void register_pending_duty();

} // namespace scylla
