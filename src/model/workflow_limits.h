// Limits of definitions and runs of workflows (docs/workflows.md, The document). The server fills this from settings.
#pragma once

#include <cstdint>

namespace scylla::model::workflow {

inline constexpr std::int64_t k_deepest_nesting = 16;
inline constexpr std::int64_t k_most_loop_iterations = 1'000'000;
inline constexpr std::int64_t k_longest_id = 160; // a name like workflow:ID/INSTANCE/RUN has at most 200 characters

// Of steps, for values in the definition as well as for values from expressions of a run.
struct StepLimits {
    std::int64_t retries = 99;
    std::int64_t retry_wait = 86'400;                  // seconds
    std::int64_t timeout = std::int64_t{120} * 86'400; // seconds; also of workflows and triggers, and of a Sleep
};

// In characters.
struct TextLimits {
    std::int64_t id = 128; // at most k_longest_id
    std::int64_t name = 256;
    std::int64_t text = 16'384;
};

// They apply to new definitions and runs; stored ones keep the limits that they were accepted with.
struct DefinitionLimits {
    std::int64_t steps = 300;                     // including those in loops
    std::int64_t nesting = 10;                    // of loops, at most k_deepest_nesting
    std::int64_t concurrency = 500;               // of a foreach
    std::int64_t workflow_concurrency = 1'000;    // live runs of a workflow
    std::int64_t step_concurrency = 1'000;        // running steps of a workflow
    std::int64_t instance_step_concurrency = 999; // running steps of an instance
    std::int64_t trigger_signals = 8;             // at most model::k_max_inputs
    std::int64_t trigger_interval = 120;          // seconds; the shortest
    StepLimits of_steps{};
    TextLimits of_texts{};
};
inline constexpr DefinitionLimits k_limits_of_stored{.of_texts = {INT64_MAX, INT64_MAX, INT64_MAX}};

struct RunLimits {
    std::int64_t params = 128;        // given to a run
    std::int64_t iterations = 25'000; // of a loop, at most k_most_loop_iterations
    std::int64_t concurrency = 500;   // of a foreach
    std::int64_t leaves = 1'000'000;  // in the loops of a run; no more iterations begin then
    StepLimits of_steps{};
};

} // namespace scylla::model::workflow
