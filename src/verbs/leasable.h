// The tasks of a queue that may be leased, in the order in which they are to be: ready, and of a key that has room.
//
// Keys that have none may have any number of tasks in front of the others. The scan goes along the queue and passes over them; at
// the same time, and at the same price, it collects the first task of each key (store::scan_keyed). Whatever comes to its end
// first tells: the next task in the queue that is not passed over, or the best of the first tasks of all keys. So a lease costs at
// most twice the cheaper way.
#pragma once

#include "verbs/limits.h"
#include "verbs/ready_scan.h"

namespace scylla {

struct LeasableScan;

// rooms: see verbs/limits.h. Refreshes the store.
LeasableScan *begin_leasable(store::Store &store, const store::QueueRow &queue, KeyRooms *rooms, TimestampTz now);
// As next_ready() and settle(): a row that the snapshot sees, and what became of it. One that is taken takes room of its key.
bool next_leasable(LeasableScan *scan, store::ReadyRow *row);
void settle(LeasableScan *scan, Fate fate);
// For a count: the row is left, but what follows goes as if it were taken.
void use_room(LeasableScan *scan);
void end_leasable(LeasableScan *scan);

} // namespace scylla
