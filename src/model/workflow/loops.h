// What a loop keeps from turn to turn, and the values of its iterations (sections 5.2 and 5.3).
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
    std::int64_t next = 1; // to be started
    std::int64_t succeeded = 0;
    std::int64_t failed = 0;
    std::int64_t stopped = 0;
    std::int64_t timed_out = 0;
    std::int64_t first = 1;            // that has not ended; kept with strict ordering only
    std::vector<std::int64_t> ahead{}; // those after it that have ended
    std::int64_t left = 0;             // of earlier runs, which are to run again
    std::int64_t after = 0;            // the last one of these that does already
    std::int64_t kept = 0;             // failed in earlier runs, and do not run again
    std::int64_t running() const noexcept { return next - 1 - left - succeeded - failed - stopped - timed_out; }
};
ForeachState read_foreach(RunState &state, const LiveStep &step);
std::string write_foreach(const ForeachState &loop, bool strict);
void count_end(ForeachState &loop, bool strict, const Scope &iteration);
// One that has ended in this run, or is kept from an earlier one, runs again. False: it is no such iteration.
bool uncount_end(ForeachState &loop, const Scope &iteration);
// One of an earlier run is to run again, and no other; counts: what Need::What::but_one asks for. Returns its scope.
std::int64_t keep_others(RunState &state, ForeachState &loop, std::string_view counts);
// Number and scope of each, as they were asked for.
std::vector<std::pair<std::int64_t, std::int64_t>> read_iterations(RunState &state, std::string_view json);
// How many more may run.
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
// With what the steps of the iteration have made of them.
void take_values(RunState &state, WhileState &loop, const LiveStep &step, LiveScope &iteration);
// What a loop that runs again goes on with, from what it had kept; empty: it begins again. And whether it may, which it
// may with the loop parameters that it had.
std::string keep_for_restart(RunState &state, LiveStep &step);
bool goes_on(RunState &state, LiveStep &step);
// The same as it is kept, with what of the step is to run again.
std::string with_path(RunState &state, std::string_view loop, RestartPath below);
std::string path_in(RunState &state, const LiveStep &step);

// A path, as far as it says which iteration of a loop runs again. number 0: it does not.
struct IterationPath {
    std::int64_t number = 0;
    std::string step{};
    std::string below{};
};
IterationPath read_path(RunState &state, RestartPath path);
// A member of an object, as JSON; empty: there is none.
std::string member_json(RunState &state, const sel::Map &map, std::string_view name);

// With the index of the iteration that is to follow.
std::string values_of_next(RunState &state, const WhileState &loop);

} // namespace scylla::model::workflow
