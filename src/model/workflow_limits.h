// How large definitions and runs of workflows may be (section 1.7). The server fills this from settings.
#pragma once

#include <cstdint>

namespace scylla::model::workflow {

inline constexpr std::int64_t k_deepest_nesting = 16;
inline constexpr std::int64_t k_most_loop_iterations = 1'000'000;

// Of what is new: what is stored keeps what it was allowed.
struct DefinitionLimits {
    std::int64_t steps = 300;       // with those of loops
    std::int64_t nesting = 10;      // of loops, at most k_deepest_nesting
    std::int64_t concurrency = 500; // of a foreach
};

struct RunLimits {
    std::int64_t params = 128;        // that a run is given
    std::int64_t iterations = 25'000; // of a loop, at most k_most_loop_iterations
    std::int64_t concurrency = 500;   // of a foreach
};

} // namespace scylla::model::workflow
