// Extending leases in place (a HOT update: no index contains the columns that change).
#pragma once

#include "task/batch.h"

namespace scylla {

struct Extension {
    std::optional<float4> progress; // nothing: unchanged
    std::optional<int64> timeout;   // from now on; nothing: that of the lease
};

// P0002 or 55000 if the lease is not held.
Task extend_lease(store::Store &store, const LeaseName &name, const Extension &by);
// Stores the result of each in the batch.
void extend_leases(store::Store &store, const Batch &batch, const Extension &by);

} // namespace scylla
