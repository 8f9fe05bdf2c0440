// The signals that a step waits for before its parameters are evaluated (section 7.4).
//
// What is kept of them is a JSON array with a member for each. {"status": "PENDING", "signal", "match", "since":
// milliseconds since 1970}: it is waited for. With "MATCHED" also the "seq", "params" and "sent" of the signal that has
// come; with "SKIPPED" the step goes on without it. null: nobody has begun to wait for it.
#pragma once

#include <optional>
#include <string>

#include "model/workflow/run_state.h"

namespace scylla::model::workflow {

// What is kept, and what is to be waited for from now on: [{"number": from 0, "signal", "match"}], of those for which
// nobody waits yet. Throws ParamFailure, sel::Failure, NeedMore and NotYet.
struct BegunWaits {
    std::string kept{};
    std::string waits{}; // empty: none
};
BegunWaits begin_waits(RunState &state, LiveScope &scope, const LiveStep &step);

// These throw sel::Failure if what is kept cannot be read.

// Whether none is waited for any more, or to be.
bool are_matched(RunState &state, const LiveStep &step);
// With data, {"number": from 0, "signal": {"seq", "params", "sent"}}, in its place. Nothing: that one is not waited
// for.
std::optional<std::string> with_match(RunState &state, const LiveStep &step, std::string_view data);
// With SKIPPED for all that are waited for.
std::string with_bypassed(RunState &state, const LiveStep &step);

// For another attempt: nobody waits for what has not come. What cannot be read is not kept.
std::string for_next_attempt(RunState &state, const LiveStep &step);

// A parameter of the signal that has matched. Nothing: there is none.
std::optional<sel::Value> param_of_dependency(const LiveStep &step, sel::Args args, sel::Context &context);

} // namespace scylla::model::workflow
