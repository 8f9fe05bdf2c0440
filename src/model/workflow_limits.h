// Limits of definitions and runs of workflows (docs/workflows.md, The document). The server fills this from settings.
#pragma once

#include <cstdint>

namespace scylla::model::workflow {

inline constexpr std::int64_t k_deepest_nesting = 16;
inline constexpr std::int64_t k_most_loop_iterations = 1'000'000;

// Of steps, for values in the definition as well as for values from expressions of a run.
struct StepLimits {
    std::int64_t retries = 99;
    std::int64_t retry_wait = 86'400;                  // seconds
    std::int64_t timeout = std::int64_t{120} * 86'400; // seconds; also of workflows and triggers, and of a Sleep
};

// They apply to new definitions and runs; stored ones keep the limits that they were accepted with.
struct DefinitionLimits {
    std::int64_t steps = 300;       // including those in loops
    std::int64_t nesting = 10;      // of loops, at most k_deepest_nesting
    std::int64_t concurrency = 500; // of a foreach
    StepLimits of_steps{};
};

struct RunLimits {
    std::int64_t params = 128;        // given to a run
    std::int64_t iterations = 25'000; // of a loop, at most k_most_loop_iterations
    std::int64_t concurrency = 500;   // of a foreach
    std::int64_t leaves = 1'000'000;  // in the loops of a run; no more iterations begin then
    StepLimits of_steps{};
};

} // namespace scylla::model::workflow
