// What a call wants to lease.
#pragma once

#include "queue/lease.h"

namespace scylla {

// Numbers of the arguments.
struct LeaseArguments {
    int queue, worker, max_tasks, timeout;
};
LeaseRequest get_lease_request(FunctionCallInfo fcinfo, LeaseArguments where);

} // namespace scylla
