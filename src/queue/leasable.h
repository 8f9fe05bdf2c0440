// The tasks of a queue that may be leased, in the order of leasing: ready tasks whose keys have free slots, by
// max_running_per_key and by the rate per key.
//
// In the order of the queue. Keys without free slots may have any number of tasks before the others. The scan walks
// along the queue and skips them. At the same time, and at the same cost, it collects the first task of each key
// (store::scan_keyed). The walk that ends first decides: the next task in the queue that is not skipped, or the best of
// the first tasks of all keys. So a lease costs at most twice the cheaper way.
//
// Shared between keys (key_weights). Deficit round robin (M. Shreedhar, G. Varghese: Efficient Fair Queuing Using
// Deficit Round Robin, SIGCOMM 1995): the keys that have tasks take turns, in the order of their bytes, and each turn
// is as many tasks as the key's weight. All tasks cost the same and weights are whole numbers, so no deficit is carried
// over: a key without tasks or free slots loses the rest of its turn. The step to the next key is one descent of the
// index, however many tasks each key has. The present turn and the rest of it are in shared memory (shmem::KeyTurn); it
// continues from lease to lease, whichever worker leases.
#pragma once

#include "queue/limits.h"
#include "queue/ready_scan.h"

namespace scylla {

struct LeasableScan;

// For a lease, of up to `most` tasks, or for a count, which takes no turns.
struct Purpose {
    bool lease;
    int64 most;
};
// rooms: see queue/limits.h. Refreshes the store.
LeasableScan *begin_leasable(store::Store &store, const store::QueueRow &queue, KeyRooms *rooms, const Purpose &purpose,
                             TimestampTz now);
// As next_ready() and settle(): a row that the snapshot sees, and what became of it. A taken row takes a slot of its
// key.
bool next_leasable(LeasableScan *scan, store::ReadyRow *row);
void settle(LeasableScan *scan, RowFate fate);
// The key of the row has no token left: another call has taken the last one. The row is left.
void close_key(LeasableScan *scan);
// For a count: the row is left, but the scan goes on as if it were taken.
void use_room(LeasableScan *scan);
void end_leasable(LeasableScan *scan);

// 22023 unless it is an object of whole numbers.
void check_key_weights(Jsonb *weights);

} // namespace scylla
