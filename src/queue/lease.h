// Leasing, for the verbs that do it.
#pragma once

#include "api/rows.h"
#include "task/moves.h"

namespace scylla {

struct LeaseRequest {
    text *queue;
    text *worker;
    int32 max_tasks;
    std::optional<int64> timeout; // microseconds; nothing: the queue's
};

struct LeaseArguments {
    int queue, worker, max_tasks, timeout;
};
LeaseRequest get_lease_request(FunctionCallInfo fcinfo, LeaseArguments where);

// Leases up to max_tasks ready tasks of the queue and puts them into rows.
void lease_tasks(store::Store &store, const LeaseRequest &request, Rows &rows);

// How many tasks of the queue could be leased now, counted up to `limit`. A hint: nobody is kept from leasing
// meanwhile. If there are none because of a rate, *again is lowered to when there may be (steady_now()).
int64 count_leasable(store::Store &store, int32 queue, int64 limit, TimestampTz now, int64 *again = nullptr);

} // namespace scylla
