// What a schedule does as the role that made it: with the rights that this role has now, whoever ticks.
#pragma once

#include "schedule/planned.h"

namespace scylla::schedule {

// The name in a row belongs to a role, and the role `user` has its rights. If the role is gone only superusers may.
bool may_act_for(Oid user, const char *owner);

// Tasks, and the plan that they belong to; null: none.
struct Submission {
    Jsonb *tasks;
    const text *plan;
    Jsonb *plan_spec;
};
// Submits them as a role, and opens the plan. Raises what submit_many() raises, and what create_plan() and open_plan()
// do.
void submit_as(Oid role, const Submission &submission);

// Submits the task or the plan of a planned time, or runs its job. Raises what submit_many() raises, what create_plan()
// and open_plan() do, or what run_job() does.
void submit_planned(const store::ScheduleRow &schedule, TimestampTz planned);

// Whether its last task or plan has not ended.
bool is_last_live(const store::ScheduleRow &schedule);
// Cancels it, if it is live.
void cancel_last(const store::ScheduleRow &schedule);

} // namespace scylla::schedule
