// The signals that a step waits for before its parameters are evaluated (section 7.4).
//
// What is kept of them is a JSON array with a member for each: null while it is waited for, the signal {"name", "seq",
// "params", "sent"} that has matched, or {"bypassed": true}.
#pragma once

#include <optional>
#include <string>

#include "model/workflow/run_state.h"

namespace scylla::model::workflow {

// What to wait for: [{"signal", "match"}], as wait_for has it. Throws ParamFailure, sel::Failure, NeedMore and NotYet.
std::string waits_of(RunState &state, LiveScope &scope, const StepNode &step);

// What is kept at first: all are waited for.
std::string none_matched(const StepNode &step);
// Whether none is waited for any more.
bool are_matched(RunState &state, const LiveStep &step);
// With data, {"number": from 0, "signal": …}, in its place. Nothing: that one is not waited for.
std::optional<std::string> with_match(RunState &state, const LiveStep &step, std::string_view data);
// With {"bypassed": true} in all places that are waited for.
std::string with_bypassed(RunState &state, const LiveStep &step);

// A parameter of the signal that has matched. Nothing: there is none.
std::optional<sel::Value> param_of_dependency(const LiveStep &step, sel::Args args, sel::Context &context);

} // namespace scylla::model::workflow
