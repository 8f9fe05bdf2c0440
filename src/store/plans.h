// Changes of plans. They are rare next to those of tasks, and rows of task_plan are updated and locked, so SQL does it.
#pragma once

#include "store/rows.h"

namespace scylla::store {

// Plans of runs of workflows, and only they, have names that begin so: nobody can take the name of one that is to come.
inline constexpr std::string_view k_run_prefix = "workflow:";
// For the current user. Returns the id; nothing if the name is taken.
std::optional<int64> insert_plan(const text *name, Jsonb *spec, PlanMaker maker = PlanMaker::caller);

// A plan as the latest commit left it, held as it is to the end of the transaction: `share`, by many who add tasks at
// the same time, or to be changed. Waits for whoever is just changing it.
enum class Hold : std::uint8_t { share, change };
std::optional<PlanRow> hold_plan(const text *name, Hold how);

// Of a plan that is held to be changed.
void open_plan(int64 id, TimestampTz now);
void cancel_plan(int64 id, TimestampTz now);
void set_plan_owner(int64 id, const text *owner);

// What tasks that have ended mean to their plan: aborted ones make it fail; cancelled ones, but for those that were
// skipped, make it cancelled unless it has failed.
struct Toll {
    bool aborted;
    bool cancelled;
};
// Stamps a plan as finished, without waiting. False: somebody is just changing it or adding to it.
bool finish_plan(int64 id, const Toll &toll, TimestampTz now);
// For tasks that are removed before their plan is finished. Waits for whoever is changing it or adding to it.
void charge_plan(int64 id, const Toll &toll);

// Removes a plan, without waiting. False: somebody is at it.
bool remove_plan(int64 id);

} // namespace scylla::store
