// The first tasks of a line, for those who look at it.
#pragma once

#include "pool/pools.h"

namespace scylla {

struct LinePlace {
    int16 priority;
    int64 task;
};

// At most `most` of the tasks that the current user may see, by priority, and those of one priority as they were
// submitted. The tasks of a class have one priority: of each class only as many are read.
std::span<const LinePlace> first_in_line(store::Store &store, const PoolRow &pool, std::size_t most);

} // namespace scylla
