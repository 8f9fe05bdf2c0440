// Collects the result of a turn from the state of the run.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "model/workflow/rollup.h"
#include "model/workflow/run_state.h"

namespace scylla::model::workflow {

// A step that may begin at once (begin_at_once()).
struct Beginner {
    std::size_t task;                 // of the turn
    std::size_t step;                 // index among its changes
    std::string ref;                  // of the leaf, in rollups
    std::string_view times;           // of the attempt, without those of this turn
    std::vector<std::size_t> loops{}; // around it: indexes among the changes
};

// The memory of a turn, until the caller releases it.
struct TurnMemory {
    std::deque<std::string> texts{};
    std::vector<Need> needs{};
    std::vector<ScopeChange> scopes{};
    std::vector<StepChange> steps{};
    std::vector<NewTask> tasks{};
    std::vector<Cancel> cancels{};
    std::vector<Child> children{};
    std::vector<Announcement> announcements{};
    std::vector<Wait> waits{};
    std::vector<Again> again{};
    std::vector<Kept> kept{};
    std::vector<PutBack> put_back{};
    Rest rest = Rest::none;
    std::vector<Beginner> beginners{};
    std::map<std::size_t, Rollup> rollups{}; // that the turn has changed, by the index of the loop among the changes
};

void collect(RunState &state, TurnMemory &memory);
// The caller calls write_rollups() afterwards.
void begin(TurnMemory &memory, const Beginner &beginner, std::int64_t now);
void write_rollups(TurnMemory &memory);

} // namespace scylla::model::workflow
