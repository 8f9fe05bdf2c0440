// Changes of plans. They are rare beside those of tasks, and rows of task_plan are updated and locked, so they use SQL.
#pragma once

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

// Of a plan that is held to be changed.
void open_plan(int64 id, TimestampTz now);
void cancel_plan(int64 id, TimestampTz now);
void set_plan_owner(int64 id, const text *owner);

// The effect of ended tasks on their plan: aborted tasks make it failed; cancelled tasks, except skipped ones, make it
// cancelled unless it has failed.
struct Toll {
    bool aborted;
    bool cancelled;
};
// Marks a plan as finished, without waiting. False: another transaction is changing it or adding tasks.
bool finish_plan(int64 id, const Toll &toll, TimestampTz now);
// For tasks that are removed before their plan is finished. Waits for transactions that are changing it or adding
// tasks.
void charge_plan(int64 id, const Toll &toll);

// Removes a plan, without waiting. False: another transaction has locked it.
bool remove_plan(int64 id);

} // namespace scylla::store
