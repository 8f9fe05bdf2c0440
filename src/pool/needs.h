// What a task needs of pools, as submit() is given it:
//
//   {"cluster": {"memory_gb": 300, "cores": 1000}, "db": {"permits": 1}}   all of them at once
//   {"any": ["cluster-a", "cluster-b"], "memory_gb": 300}                  one of several
//
// Both can be combined: the members that are objects are pools, the others amounts of the pool that is chosen.
#pragma once

#include "model/placement.h"
#include "pg/growing.h"

namespace scylla {

using model::Amount;

struct ResourceAmount {
    std::string_view resource;
    Amount amount;
};
struct PoolNeeds {
    std::string_view pool;
    std::span<const ResourceAmount> amounts;
};
struct Needs {
    std::span<const PoolNeeds> all;
    std::span<const std::string_view> any; // empty: no choice
    std::span<const ResourceAmount> of_any;
};

// 22023. The result points into the value. `element` as in pg/error.h.
Needs read_needs(Jsonb *needs, int64 element = 0);
// Amounts by resource: of a capacity, a report, or of needs of one pool. 22023 for this argument.
std::span<const ResourceAmount> read_amounts(const char *argument, Jsonb *amounts);

Amount amount_of(std::span<const ResourceAmount> amounts, std::string_view resource); // 0: none
Jsonb *to_jsonb(std::span<const ResourceAmount> amounts);
// As a decimal number.
const char *show(Amount amount);

} // namespace scylla
