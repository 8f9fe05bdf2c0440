// Bounds that are enforced without counting: max_depth, the number of waiting and ready tasks of a queue at a submit
// (tasks that come back by a retry, a time-out or an opened gate are always admitted); and max_running, the number of
// running tasks.
#pragma once

#include "task/open.h"

namespace scylla {

// Reserves slots for tasks that will be submitted to the queue in this transaction. Returns how many it reserved: all,
// or fewer in a queue that sheds. 53400 in other queues if there are not enough. May refresh the store.
//
// Exact without counting, by shared memory (shmem/depth.h). Without it, or if all entries are held by open
// transactions, the tasks are counted, and the queue is locked to the end of the transaction: other submits to it wait.
int64 take_room(store::Store &store, const store::QueueRow &queue, int64 wanted);

// The queue has got its first max_depth, or max_running (queue/pending.h). Reserves slots for the tasks that this
// transaction has brought without any, or takes the lock of calls that count, as take_room() does.
void begin_depth(store::Store &store, int32 queue, shmem::Bounded which);

// How many more tasks may run by max_running, if shared memory has the number; otherwise see queue/limits.h. A hint; it
// does not matter whether it is more than `wanted`. Nothing if shared memory does not know. May refresh the store.
std::optional<int64> see_running_room(store::Store &store, const store::QueueRow &queue, int64 wanted);
// Reserves a slot for one task that will be leased in this transaction. unknown: see_running_room() may know, or
// permits have to be counted. It is for the middle of a scan, so it does not count.
enum class Grant : std::uint8_t { granted, none, unknown };
Grant take_running_room(const store::QueueRow &queue);
// Releases a slot that was not used.
void return_running_room(int32 queue);
// From now on this transaction counts leases in the tables. No other call may lease from the queue meanwhile. False:
// others have tasks in flight in shared memory, so use shared memory again.
bool leave_running_room(store::Store &store, int32 queue);

} // namespace scylla
