// The values of parameters (sections 4.5 and 4.6).
#pragma once

#include "model/sel/context.h"
#include "model/workflow/param.h"

namespace scylla::model::workflow {

using ParamValues = OrderedMap<sel::Value>;

// Evaluates each after those to which it refers, whatever their order; parameters that refer to each other in a circle
// are at fault. All together they may use what one expression may, and the values are in the heap of the context, whose
// parameters are what else can be read: for a step those of the workflow, of other steps and of signals. A parameter
// that names itself reads there. Throws ParamFailure, or sel::Failure where no parameter can be named.
ParamValues evaluate_params(sel::Context &context, const ParamMap &params);

// The values as a JSON object.
std::string write_values(sel::Context &context, const ParamValues &values);

} // namespace scylla::model::workflow
