// Priority that grows with waiting, so that nothing starves.
#pragma once

#include <cstdint>

#include "model/bounds.h"

namespace scylla::model {

inline constexpr double k_max_effective_priority = 255;

// What a task that has waited for `waited` microseconds counts for, with `rate` points per second. Twice the highest
// priority is the most that waiting can give; among equals the oldest comes first.
constexpr double effective_priority(int priority, std::int64_t waited, double rate) noexcept {
    const double grown = priority + rate * static_cast<double>(waited > 0 ? waited : 0) / static_cast<double>(k_second);
    return grown < k_max_effective_priority ? grown : k_max_effective_priority;
}

} // namespace scylla::model
