// What a call wants to lease.
#pragma once

#include "api/call.h"
#include "queue/lease.h"

namespace scylla {

LeaseRequest get_lease_request(const auto &given) {
    return {args::name(given.queue()), args::name(given.worker()), args::max_tasks(given.max_tasks().value_or(1)),
            args::timeout(given.timeout())};
}

} // namespace scylla
