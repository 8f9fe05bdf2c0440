// What a turn says, from what has become of the run.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "model/workflow/run_state.h"

namespace scylla::model::workflow {

// What a caller has of a turn until he releases it.
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
    std::vector<Forgotten> forgotten{};
};

void collect(RunState &state, TurnMemory &memory);

} // namespace scylla::model::workflow
