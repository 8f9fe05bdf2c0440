// What a schedule does as the role that created it: with the present rights of this role, whichever process ticks.
#pragma once

#include "schedule/calendar.h"
#include "schedule/planned.h"

namespace scylla::schedule {

// Whether the role `user` has the rights of the role with the name in a row. If that role is gone, only superusers may.
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

// What other rooms let schedules do. Such a schedule has no task, but an object with a member of this name and without
// "queue". It belongs to its maker: unschedule() does not remove it. All its planned times are handled, in order.
struct Maker {
    const char *member;
    // Its planned times.
    Calendar (*calendar)(const store::schedules::Settings &schedule);
    // Does it, as the current role. Returns the name of what it has made.
    text *(*make)(const store::schedules::Settings &schedule, TimestampTz planned);
};
void register_maker(const Maker &maker);
// Null: the schedule makes tasks, plans, or runs of jobs.
const Maker *find_maker(const store::schedules::Settings &schedule);

// Submits the task or the plan of a planned time, runs its job, or makes what its maker does. Returns the name. Raises
// what submit_many() raises, what create_plan() and open_plan() do, or what run_job() does.
text *submit_planned(const store::schedules::Schedule &schedule, TimestampTz planned);

// Whether its last task or plan has not ended.
bool is_last_live(const store::schedules::Schedule &schedule);
// Cancels it, if it is live.
void cancel_last(const store::schedules::Schedule &schedule);

} // namespace scylla::schedule
