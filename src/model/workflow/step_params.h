// The parameters of a step in a run, and what depends on them: output, conditions, durations, retries.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/workflow/run_state.h"

namespace scylla::model::workflow {

// All of these throw ParamFailure, sel::Failure, NeedMore and NotYet.

// The values of all its parameters, as JSON.
std::string evaluate_step_params(RunState &state, LiveScope &scope, LiveStep &step);
// The same with the output of the step; nothing if there is none. data: the result of its task.
std::optional<std::string> put_out(RunState &state, LiveScope &scope, LiveStep &step, std::string_view data);

// Whether the edge is taken when the step has ended.
bool is_taken(RunState &state, LiveScope &scope, LiveStep &step, const Edge &edge);
// Whether a while continues, before its next iteration.
bool is_to_go_on(RunState &state, LiveScope &scope, LiveStep &step, const sel::Map &values);

// In milliseconds. The text may contain references. step: null for the timeout of the run.
std::int64_t timeout_of(RunState &state, LiveScope &scope, LiveStep *step, std::string_view text);
std::int64_t sleep_of(RunState &state, LiveStep &step);

// The queue of its tasks.
std::string queue_of(RunState &state, LiveStep &step);

// The parameters for a subworkflow, as JSON.
std::string params_of_child(RunState &state, LiveScope &scope, LiveStep &step);
// A parameter that is a text; empty if there is none.
std::string text_param(RunState &state, LiveStep &step, std::string_view name);

// Whether another attempt follows a failure of that class, and after how many milliseconds.
std::optional<std::int64_t> wait_before_retry(RunState &state, LiveScope &scope, LiveStep &step, FailureClass why);
std::int32_t &count_of(Retries &retries, FailureClass why) noexcept;

} // namespace scylla::model::workflow
