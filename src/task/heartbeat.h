// Extending leases in place (a HOT update: no index knows what changes).
#pragma once

#include "task/batch.h"

namespace scylla {

struct Extension {
    std::optional<float4> progress; // nothing: as it is
    std::optional<int64> timeout;   // from now on; nothing: that of the lease
};

// P0002 or 55000 if the lease is not held.
Task extend_lease(store::Store &store, const LeaseName &name, const Extension &by);
// Notes in the batch what came of each.
void extend_leases(store::Store &store, const Batch &batch, const Extension &by);

} // namespace scylla
