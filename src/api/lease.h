// What a call wants to lease.
#pragma once

#include "queue/lease.h"

namespace scylla {

// Where the arguments are.
struct LeaseArguments {
    int queue, worker, max_tasks, timeout;
};
LeaseRequest get_lease_request(FunctionCallInfo fcinfo, LeaseArguments where);

} // namespace scylla
