// Settings that are pending: recorded, but not in effect (store::Effect::prepared).
//
// A bound on what runs or waits, weights of keys and a rate per key need rows, and numbers in shared memory, that a
// queue without them does not keep: permits of leases, keys of ready tasks, room in flight. When such a setting is
// recorded there are rows without, and transactions in progress may write more. Nobody is locked out for that:
//
//   1. alter_queue() records the setting. From its commit on verbs keep what the setting needs and are not bound by it
//      (store::QueueRow::pending).
//   2. settle_queues() waits, by looking again and again, until the transactions have ended that had written tasks of
//      the queue before. It holds no lock while it waits, and queues for none.
//   3. It prepares the rows that are there, and takes the setting out of the pending ones, in one transaction.
//
// A verb may have read the settings before they were recorded, and write its rows after step 3 has looked. So who
// changes settings tells of it before anybody looks for rows, and a verb looks, when all its rows are written, whether
// it was told of anything (store::close()). Of two at the same time at least one sees the other. What the verb lacks it
// makes up for as long as the setting is pending. If it is in effect already the verb fails with 40001. That is rare:
// step 2 also waits, for a second at most, for all transactions that use any queue.
#pragma once

#include "store/rows.h"

namespace scylla {

// Lets pending settings take effect until nothing is pending, or another transaction is in the way.
void settle_all_queues(store::Store &store);
// At once, for a queue that nobody else can know: this transaction has made it.
void settle_own_queue(store::Store &store, int32 queue);

// When the library is loaded: the duty of letting pending settings take effect, and what verbs do that have used
// settings which have changed meanwhile.
void register_pending_duty();

} // namespace scylla
