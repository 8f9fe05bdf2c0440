// How many leaf steps have which status. Each loop stores the rollup of all its iterations, which each
// turn changes by the difference. The rollup of a run is the sum over its own steps.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/workflow/statuses.h"

namespace scylla::model::workflow {

class RunState;
struct LiveScope;
struct LiveStep;

struct Rollup {
    static constexpr std::size_t k_most_refs = 10; // per status

    struct Leaves {
        std::int64_t count = 0;
        // The latest first; only for some statuses (keeps_refs()).
        std::vector<std::string> refs{};
        bool operator==(const Leaves &) const = default;
    };
    std::array<Leaves, k_step_statuses.size()> by_status{};

    Leaves &of(StepStatus status) noexcept { return by_status[static_cast<std::size_t>(status)]; }
    const Leaves &of(StepStatus status) const noexcept { return by_status[static_cast<std::size_t>(status)]; }
    std::int64_t total() const noexcept;
    bool operator==(const Rollup &) const = default;
};

// The name of a leaf, like "copy[3]:1".
std::string ref_of(const LiveScope &scope, const LiveStep &step, std::int32_t attempt);
// One leaf.
Rollup rollup_of(StepStatus status, std::string ref);
void aggregate(Rollup &rollup, const Rollup &more);
// Subtracts; no count becomes negative.
void segregate(Rollup &rollup, const Rollup &less);
// For a loop that has ended with this status: all live leaves in it have been stopped.
void settle(Rollup &rollup, StepStatus status);

// {"RUNNING": {"cnt": 27, "ref": ["copy[3]:1"]}}; unreadable parts count as empty.
Rollup read_rollup(RunState &state, std::string_view json);
std::string write_rollup(const Rollup &rollup); // empty: no leaves

// How many leaves there were in the loops of the run before this turn.
std::int64_t leaves_before(RunState &state);
// Updates the rollups of loops at the end of a turn.
void roll_up(RunState &state);

} // namespace scylla::model::workflow
