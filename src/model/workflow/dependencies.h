// The signals that a step waits for before its parameters are evaluated (docs/workflows.md, Signal dependencies).
//
// Their state is a JSON array with a member for each signal. {"status": "PENDING", "signal", "match", "since":
// milliseconds since 1970}: the step waits for it. "MATCHED" adds the "seq", "params" and "sent" of the signal that was
// sent; "SKIPPED": the step continues without it. null: the wait has not begun.
#pragma once

#include <optional>
#include <string>

#include "model/workflow/run_state.h"

namespace scylla::model::workflow {

// The new state, and the waits that begin with it: [{"number": from 0, "signal", "match"}]. Throws ParamFailure,
// sel::Failure, NeedMore and NotYet.
struct BegunWaits {
    std::string kept{};
    std::string waits{}; // empty: none
};
BegunWaits begin_waits(RunState &state, LiveScope &scope, const LiveStep &step);

// These throw sel::Failure if the state cannot be read.

// Whether no wait is pending, and none has yet to begin.
bool are_matched(RunState &state, const LiveStep &step);
// The state after a match. data: {"number": from 0, "signal": {"seq", "params", "sent"}}. Nothing: the step does not
// wait for that signal.
std::optional<std::string> with_match(RunState &state, const LiveStep &step, std::string_view data);
// The state with SKIPPED for all pending waits.
std::string with_bypassed(RunState &state, const LiveStep &step);

// The state for another attempt: pending waits have not begun. An unreadable state is dropped.
std::string for_next_attempt(RunState &state, const LiveStep &step);

// A parameter of the signal that has matched. Nothing: there is none.
std::optional<sel::Value> param_of_dependency(const LiveStep &step, sel::Args args, sel::Context &context);

} // namespace scylla::model::workflow
