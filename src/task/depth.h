// Bounds that are held without counting: max_depth, how many tasks of a queue may be waiting or ready when one is
// submitted (what comes back, a retry, a time-out, an opened gate, is always let in); and max_running, how many may
// run.
#pragma once

#include "task/open.h"

namespace scylla {

// Takes room for tasks that are going to be submitted to the queue in this transaction. Returns for how many there is
// room: all, or in a queue that sheds perhaps fewer. 53400 in a queue that does not, if there is not enough. May
// refresh the store.
//
// Exact without counting, by shared memory (shmem/depth.h). Without it, or where open transactions leave no entry for
// the queue, the tasks are counted, and the queue is locked to the end of the transaction: others that submit to it
// wait.
int64 take_room(store::Store &store, const store::QueueRow &queue, int64 wanted);

// The queue has its first max_depth, or max_running (queue/pending.h). Takes room for what this transaction has brought
// to it without any, or keeps the lock of those who count, as take_room() does.
void begin_depth(store::Store &store, int32 queue, shmem::Bounded which);

// For max_running where shared memory has the number; queue/limits.h does it where it has not. How many more tasks may
// run: a hint; whether that is more than `wanted` does not matter. Nothing if shared memory does not know. May refresh
// the store.
std::optional<int64> see_running_room(store::Store &store, const store::QueueRow &queue, int64 wanted);
// Takes the room of one task that is to be leased in this transaction, and says whether there was any; if it does not
// know, see_running_room() may, or permits are to be counted. It is for the middle of a scan: nothing is counted.
enum class Grant : std::uint8_t { granted, none, unknown };
Grant take_running_room(const store::QueueRow &queue);
// It was not used.
void return_running_room(int32 queue);
// What is leased from now on in this transaction is counted in the tables. Nobody else may be leasing from the queue.
// False: others have something in flight in shared memory, which has to be asked again.
bool leave_running_room(store::Store &store, int32 queue);

} // namespace scylla
