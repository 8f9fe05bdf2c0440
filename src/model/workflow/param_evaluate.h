// The values of parameters.
#pragma once

#include "model/sel/context.h"
#include "model/workflow/param.h"

namespace scylla::model::workflow {

using ParamValues = OrderedMap<sel::Value>;

// Evaluates each parameter after those that it refers to, in any order of definition; a cycle is a fault. Together they
// may use as much as one expression, and the values are in the heap of the context. Other names are read from the
// context's parameters: for a step those of the workflow, of other steps and of signals. A parameter that names itself
// reads there. step: whose parameters they are, which "step__param" can name, too. Throws ParamFailure, or sel::Failure
// if no parameter can be named.
ParamValues evaluate_params(sel::Context &context, const ParamMap &params, std::string_view step = {});

// The values as a JSON object.
std::string write_values(sel::Context &context, const ParamValues &values);

} // namespace scylla::model::workflow
