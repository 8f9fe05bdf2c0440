// The tasks of a queue that may be leased, in the order in which they are to be: ready, and of a key that has room, by
// how many of it run and by its rate.
//
// In the order of the queue. Keys that have no room may have any number of tasks in front of the others. The scan goes
// along the queue and passes over them; at the same time, and at the same price, it collects the first task of each key
// (store::scan_keyed). Whatever comes to its end first tells: the next task in the queue that is not passed over, or
// the best of the first tasks of all keys. So a lease costs at most twice the cheaper way.
//
// Shared between keys (key_weights). Deficit round robin (M. Shreedhar, G. Varghese: Efficient Fair Queuing Using
// Deficit Round Robin, SIGCOMM 1995): the keys that have tasks take turns, in the order of their bytes, and each turn
// is as many tasks as the key's weight. All tasks count the same and weights are whole numbers, so nothing is left over
// from a turn: a key that has no task or no room loses the rest of it. From one key to the next it is one step in the
// index, however many tasks each has. Whose turn it is, and what is left of it, is in shared memory (shmem::Turn); a
// turn goes on from lease to lease, whoever leases.
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
// As next_ready() and settle(): a row that the snapshot sees, and what became of it. One that is taken takes room of
// its key.
bool next_leasable(LeasableScan *scan, store::ReadyRow *row);
void settle(LeasableScan *scan, RowFate fate);
// The key of the row turns out to have no room: somebody else has just taken its last token. The row is left.
void close_key(LeasableScan *scan);
// For a count: the row is left, but what follows goes as if it were taken.
void use_room(LeasableScan *scan);
void end_leasable(LeasableScan *scan);

// 22023 unless it is an object of whole numbers.
void check_key_weights(Jsonb *weights);

} // namespace scylla
