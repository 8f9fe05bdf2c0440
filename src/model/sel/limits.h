// What one expression may use. docs/expressions.md lists the defaults.
#pragma once

#include <cstdint>
#include <limits>

namespace scylla::model::sel {

struct Limits {
    std::int64_t text = 10'000;        // characters of the expression
    int depth = 128;                   // levels of nesting, of the text and of values
    std::int64_t loop = 25'001;        // a loop that reaches this many iterations is a fault
    std::int64_t array = 25'001;       // an array that has this many elements is a fault
    std::int64_t steps = 100'000'000;  // nodes evaluated, plus the steps of long operations
    std::int64_t memory = 100'000'000; // bytes allocated, from the start to the end
    std::int64_t output = 750'000;     // characters of the result as JSON or text
    std::int64_t milliseconds = 120'000;
    // After so much time the evaluation ends by NotYet (fault.h), and has to begin anew later.
    std::int64_t patience = std::numeric_limits<std::int64_t>::max();
};

// Steps between two checks of the clock and of stop().
inline constexpr std::int64_t k_steps_between_looks = 4'096;

} // namespace scylla::model::sel
