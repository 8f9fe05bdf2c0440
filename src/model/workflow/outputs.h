// The signals that a step sends when it has succeeded (section 7.5).
#pragma once

#include <string>

#include "model/workflow/run_state.h"

namespace scylla::model::workflow {

// As JSON: [{"name", "params", "payload"}]; empty: none. data: the result of its task, whose artifact
// "maestro_dynamic_output" may have more of them. Throws ParamFailure, sel::Failure, NeedMore and NotYet.
std::string signals_of(RunState &state, LiveScope &scope, LiveStep &step, std::string_view data);

} // namespace scylla::model::workflow
