// The job template of a step in a run (docs/workflows.md, Job templates).
#pragma once

#include "model/workflow/run_state.h"

namespace scylla::model::workflow {

// The present template of a step with a sub_type. Throws sel::Failure if there is none or it is not for this step, and
// NeedMore.
const LiveTemplate &template_of(RunState &state, LiveScope &scope, LiveStep &step);

// The parameters of such a step, from its defaults to its definition. Not finished: a restart may add a layer. Also
// throws ParamFailure.
ParamMap params_over_template(RunState &state, LiveScope &scope, LiveStep &step, sel::Context &context);

// The same for the output of the step: those that had values when it began, even if the template has changed since.
ParamMap params_to_put_out(RunState &state, LiveScope &scope, LiveStep &step, sel::Context &context);

} // namespace scylla::model::workflow
