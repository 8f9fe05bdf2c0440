// The job template of a step in a run (sections 1.8 and 4.4).
#pragma once

#include "model/workflow/run_state.h"

namespace scylla::model::workflow {

// Of a step with a sub_type, as the template is now. Throws sel::Failure: there is none, or it is not for this step;
// and NeedMore.
const LiveTemplate &template_of(RunState &state, LiveScope &scope, LiveStep &step);

// The parameters of such a step, from its defaults to its definition. Not finished: a restart may add a layer. Throws
// ParamFailure besides.
ParamMap params_over_template(RunState &state, LiveScope &scope, LiveStep &step, sel::Context &context);

// The same for what the step puts out: those that it has been given values of when it began, whatever has become of the
// template since.
ParamMap params_to_put_out(RunState &state, LiveScope &scope, LiveStep &step, sel::Context &context);

} // namespace scylla::model::workflow
