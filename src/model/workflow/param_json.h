// Parameters from JSON.
#pragma once

#include "model/sel/context.h"
#include "model/workflow/param.h"
#include "model/workflow/problem.h"

namespace scylla::model::workflow {

// From an object whose members are parameters. Invalid ones are added to the problems and left out. Literals are in the
// heap of the context.
std::optional<Param> read_param(sel::Context &context, const sel::Value &json, const Where &where, Problems &problems);
ParamMap read_params(sel::Context &context, const sel::Value &json, const Where &where, Problems &problems);

} // namespace scylla::model::workflow
