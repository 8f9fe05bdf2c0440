// Making and locking plans. Their other changes are statements (store/plan/plans.sql).
#pragma once

#include "store/plan/plans.h"
#include "store/rows.h"

namespace scylla::store {

// Only plans of runs of workflows have names with this prefix, so callers cannot take the name of a future run.
inline constexpr std::string_view k_run_prefix = "workflow:";
// For the current user. Returns the id; nothing if the name is taken.
std::optional<int64> insert_plan(const text *name, Jsonb *spec, PlanMaker maker = PlanMaker::caller);

// A plan as the latest commit left it, locked to the end of the transaction: `share` for adding tasks, by many at the
// same time, or `change`. Waits for a transaction that is changing it.
enum class Hold : std::uint8_t { share, change };
std::optional<PlanRow> hold_plan(const text *name, Hold how);

using Toll = plans::Toll;

} // namespace scylla::store
