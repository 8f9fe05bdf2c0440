// The signals that a step sends when it has succeeded (docs/workflows.md, Output signals).
#pragma once

#include <string>

#include "model/workflow/run_state.h"

namespace scylla::model::workflow {

// As JSON: [{"name", "params", "payload"}]; empty: none. data: the result of its task, whose artifact
// "maestro_dynamic_output" may have more of them. Throws ParamFailure, sel::Failure, NeedMore and NotYet.
std::string signals_of(RunState &state, LiveScope &scope, LiveStep &step, std::string_view data);

// Earlier output of a worker, overwritten by later output: the members of "params" and of "artifacts", one by one.
// Other members are dropped. Throws sel::Failure.
std::string put_over(RunState &state, std::string_view before, std::string_view later);
// Whether one was put out before the other.
bool is_before(RunState &state, std::string_view one, std::string_view other);
// Whether the artifact "maestro_retry" forbids another attempt of the step.
bool forbids_retry(RunState &state, std::string_view output);

} // namespace scylla::model::workflow
