// The tasks of a planned time, as submit_many() takes them, or the request of a job, as run_job() does. What a schedule
// keeps are arguments of these calls.
#pragma once

#include "store/schedule/schedules.h"

namespace scylla::schedule {

// Whether it runs a job.
bool is_job(const store::schedules::Settings &schedule);
// Whether what it submits is a plan.
inline bool is_plan(const store::schedules::Settings &schedule) {
    return JB_ROOT_IS_ARRAY(schedule.task) || is_job(schedule);
}

// What all tasks of one submission have in common.
struct Common {
    const text *name; // of the task, or of the plan
    const char *planned;
    const char *not_before;  // null: none
    const text *planned_key; // may be null
    Jsonb *wait_for;         // an array, for tasks that depend on no other of the plan; null: nothing
};
// An array for submit_many(): the task, or the tasks of a plan (an array), whose names are appended to the name of the
// plan.
Jsonb *named_tasks(Jsonb *task, const Common &common);

// name/planned time: of the task, or of the plan.
text *planned_name(const store::schedules::Settings &schedule, TimestampTz planned);
Jsonb *planned_tasks(const store::schedules::Settings &schedule, TimestampTz planned);
// Of a job: the arguments of run_job(), by their names.
Jsonb *planned_request(const store::schedules::Settings &schedule, TimestampTz planned);
// The spec of the plan: {"schedule": …, "planned": …}.
Jsonb *planned_spec(const store::schedules::Settings &schedule, TimestampTz planned);

} // namespace scylla::schedule
