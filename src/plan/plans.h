// Plans: groups of tasks that begin when the plan is opened. Each task has a gate on its plan (plan/gates.h).
#pragma once

#include "queue/wait.h"
#include "store/rows.h"

namespace scylla {

// name: null: one is generated. Returns it. 42710 if it is taken.
text *create_plan(text *name, Jsonb *spec, store::PlanMaker maker = store::PlanMaker::caller);
// P0002 if there is no such plan for the current user, 55000 if it has ended; cancel_plan() too.
void open_plan(store::Store &store, const text *name);
// Returns how many tasks it has cancelled.
int64 cancel_plan(store::Store &store, const text *name);
void set_plan_owner(const text *name, const text *owner);
store::PlanRow require_plan(store::Store &store, const text *name);
// Its tasks, in the order of their ids.
std::span<const int64> members_of(store::Store &store, int64 plan);
// Waits until the plan is finished or the time is over. Returns whether it is finished.
bool wait_for_plan(text *name, const Patience &patience);

} // namespace scylla
