// max_depth: how many tasks of a queue may be waiting or ready when one is submitted. What comes back (a retry, a time-out, an
// opened gate) is always let in.
#pragma once

#include "verbs/moves.h"

namespace scylla {

// Takes room for tasks that are going to be submitted to the queue in this transaction. Returns for how many there is room: all,
// or in a queue that sheds perhaps fewer. 53400 in a queue that does not, if there is not enough. May refresh the store.
//
// Exact without counting, by shared memory (shmem/depth.h). Without it the tasks are counted, and the queue is locked to the end of
// the transaction: others that submit to it wait for that.
int64 take_room(store::Store &store, const store::QueueRow &queue, int64 wanted);

// The queue gets its first max_depth. Nobody else may be submitting.
void begin_depth(int32 queue);

} // namespace scylla
