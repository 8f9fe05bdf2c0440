// The workers that hold leases.
#pragma once

#include "store/table.h"

namespace scylla::store {

struct WorkerCount {
    int32 queue;
    int64 workers;
};
// How many workers hold leases of each queue that has any, by queue.
std::span<WorkerCount> count_workers();

} // namespace scylla::store
