// Pools of permits that belong to workflows. Their names begin with "workflow:", and callers cannot create or alter
// them.
#pragma once

#include "store/pool/permits.h"

namespace scylla {

// Creates the pool with so many permits, or changes their number. Nothing: there is no bound any more, and no pool is
// created.
void set_permits(const text *pool, const char *owner, std::optional<int64> count);
// Those of the pools with these names that exist and have a bound.
using PermitPool = store::permits::Pool;
std::span<const PermitPool> find_permit_pools(std::span<const text *const> names);
// Whether tasks of the role may use the permits.
bool may_use(const PermitPool &pool, Oid role);

} // namespace scylla
