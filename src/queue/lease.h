// Giving ready tasks to workers.
#pragma once

#include "task/moves.h"

namespace scylla {

struct LeaseRequest {
    text *queue;
    text *worker;
    int32 max_tasks;
    std::optional<int64> timeout; // microseconds; nothing: the queue's
};

// Leases up to max_tasks ready tasks of the queue and puts them into the sink.
void lease_tasks(store::Store &store, const LeaseRequest &request, const TaskSink &sink);

struct TaskLeaseRequest {
    text *rn;
    text *worker;
    std::optional<int64> timeout; // as above
};
// Leases this task; an error if it cannot be leased now.
Task lease_task(store::Store &store, const TaskLeaseRequest &request);

// How many tasks of the queue could be leased now, counted up to `limit`. A hint: nobody is kept from leasing
// meanwhile. If there are none because of a rate, *again is lowered to when there may be (steady_now()).
int64 count_leasable(store::Store &store, int32 queue, int64 limit, TimestampTz now, int64 *again = nullptr);

} // namespace scylla
