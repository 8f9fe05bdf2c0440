// The state of a loop between turns, and the values of its iterations.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/workflow/run_state.h"

namespace scylla::model::workflow {

// These throw sel::Failure and ParamFailure.

// Iterations are counted from 1.
struct ForeachState {
    std::int64_t total = 0;
    std::int64_t next = 1; // the next one to start
    std::int64_t succeeded = 0;
    std::int64_t failed = 0;
    std::int64_t stopped = 0;
    std::int64_t timed_out = 0;
    std::int64_t first = 1;            // the first one that has not ended; only with strict ordering
    std::vector<std::int64_t> ahead{}; // later ones that have ended
    std::int64_t left = 0;             // of earlier runs, which have to run again
    std::int64_t after = 0;            // the last one of these that has begun again
    std::vector<std::int64_t> again{}; // up to that one, those whose event `restart` has not come yet
    std::int64_t kept = 0;             // that failed in earlier runs and do not run again
    std::int64_t running() const noexcept { return next - 1 - left - succeeded - failed - stopped - timed_out; }
};
ForeachState read_foreach(RunState &state, const LiveStep &step);
std::string write_foreach(const ForeachState &loop, bool strict);
void count_end(ForeachState &loop, bool strict, const Scope &iteration);
// The event `restart` of an iteration has come. False: it has come before.
bool take_again(ForeachState &loop, const Scope &iteration);
// An iteration that has ended in this run, or is kept from an earlier run, runs again. False: it is none of these.
bool uncount_end(ForeachState &loop, const Scope &iteration);
// Only one iteration of an earlier run runs again. counts: the answer to Need::What::but_one. Returns its scope.
std::int64_t keep_others(RunState &state, ForeachState &loop, std::string_view counts);
// Number and scope of each; json: the answer to Need::What::iterations.
std::vector<std::pair<std::int64_t, std::int64_t>> read_iterations(RunState &state, std::string_view json);
// How many more iterations may run.
std::int64_t room_of(const ForeachState &loop, bool strict, std::int64_t concurrency) noexcept;
std::int64_t count_iterations(RunState &state, LiveStep &step);
std::string values_of_iteration(RunState &state, LiveStep &step, std::int64_t number);
std::int64_t concurrency_of(RunState &state, const StepNode &step);

struct WhileState {
    std::int64_t begun = 0;
    std::int64_t ended = 0;
    std::unique_ptr<Parsed> values{};
};
WhileState begin_while(RunState &state, LiveStep &step);
WhileState read_while(RunState &state, const LiveStep &step);
std::string write_while(RunState &state, const WhileState &loop);
// Sets the values that the steps of the iteration have given to them.
void take_values(RunState &state, WhileState &loop, const LiveStep &step, LiveScope &iteration);
// The state that a loop continues with when it runs again, from its last one; empty: it begins with its first
// iteration. goes_on(): whether it may continue, which requires the same loop parameters.
std::string keep_for_restart(RunState &state, LiveStep &step);
bool goes_on(RunState &state, LiveStep &step);
// The state with the path of what runs again of the step; and that path.
std::string with_path(RunState &state, std::string_view loop, RestartPath below);
std::string path_in(RunState &state, const LiveStep &step);

// The part of a path that names the iteration of a loop. number 0: it names none.
struct IterationPath {
    std::int64_t number = 0;
    std::string step{};
    std::string below{};
};
IterationPath read_path(RunState &state, RestartPath path);
// A member of an object, as JSON; empty: there is none.
std::string member_json(RunState &state, const sel::Map &map, std::string_view name);

// The values with the index of the next iteration.
std::string values_of_next(RunState &state, const WhileState &loop);

} // namespace scylla::model::workflow
