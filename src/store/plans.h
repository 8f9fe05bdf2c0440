// Changes of plans. They are rare next to those of tasks, and rows of task_plan are updated and locked, so SQL does it.
#pragma once

#include "store/rows.h"

namespace scylla::store {

// For the current user. Returns the id; nothing if the name is taken.
std::optional<int64> insert_plan(const text *name, Jsonb *spec);

// A plan as the latest commit left it, held as it is to the end of the transaction: `share`, by many who add tasks at
// the same time, or to be changed. Waits for whoever is just changing it.
enum class Hold : std::uint8_t { share, change };
std::optional<PlanRow> hold_plan(const text *name, Hold how);

// Of a plan that is held to be changed.
void open_plan(int64 id, TimestampTz now);
void cancel_plan(int64 id, TimestampTz now);
void set_plan_owner(int64 id, const text *owner);

// Stamps a plan as finished, without waiting. False: somebody is just changing it or adding to it.
bool finish_plan(int64 id, bool failed, TimestampTz now);

// Removes a plan, without waiting. False: somebody is at it.
bool remove_plan(int64 id);

} // namespace scylla::store
