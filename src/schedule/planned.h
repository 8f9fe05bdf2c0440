// The tasks of a planned time, as submit_many() takes them. What a schedule keeps are arguments of that call.
#pragma once

#include "store/schedule_rows.h"

namespace scylla::schedule {

inline bool is_plan(const store::ScheduleSettings &schedule) { return JB_ROOT_IS_ARRAY(schedule.task); }

// name/planned time: of the task, or of the plan.
text *planned_name(const store::ScheduleSettings &schedule, TimestampTz planned);
// An array. Of a schedule of one task it is this one; of a plan they are its tasks, with the names that they have
// within it put after the name of the plan.
Jsonb *planned_tasks(const store::ScheduleSettings &schedule, TimestampTz planned);
// What the plan is about: {"schedule": …, "planned": …}.
Jsonb *planned_spec(const store::ScheduleSettings &schedule, TimestampTz planned);

} // namespace scylla::schedule
