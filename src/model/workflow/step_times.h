// When an attempt has entered its statuses.
//
// Most attempts come from CREATED to RUNNING in one turn, and the times of their rows say when. Step::times has the
// statuses besides RUNNING in which an attempt was left by a turn, and the one in which it failed before it started:
// {"PAUSED": milliseconds since 1970}. A status that was left in the turn that entered it has the time of the next one;
// the SQL function scylla._step_times() fills these in.
#pragma once

#include "model/workflow/run_state.h"

namespace scylla::model::workflow {

// The step has entered the status in this turn, unless its time is kept already.
void keep_time(RunState &state, LiveStep &step, StepStatus status);

} // namespace scylla::model::workflow
