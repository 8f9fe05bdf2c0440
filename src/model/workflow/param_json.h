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

// What a worker has put out for a parameter of that type: the value itself, or a parameter as Maestro writes it, of
// which the value is returned: {"type": "LONG", "value": 41}, with what else a parameter has. For a MAP or STRING_MAP
// it must name that type, as other values can be objects, too.
sel::Value value_put_out(sel::Context &context, const sel::Value &json, ParamType type);

} // namespace scylla::model::workflow
