// How much of the time work in the background takes.
#pragma once

#include <algorithm>
#include <cstdint>

namespace scylla::model {

inline constexpr std::int64_t k_background_share = 10; // 1 of so many parts of the time

// The pause after a portion of removing things that took `took`, so that it takes its share of the time, or more where
// that many do not suffice: `arrived` new ones came in the time `elapsed` until the end of this portion, and half as
// many again are to go. All times in the same unit.
constexpr std::int64_t pause_after(std::int64_t took, std::int64_t portion, std::int64_t arrived,
                                   std::int64_t elapsed) noexcept {
    const std::int64_t longest = took * (k_background_share - 1);
    if (arrived <= 0)
        return longest;
    const double until_next =
        static_cast<double>(elapsed) * static_cast<double>(portion) / (1.5 * static_cast<double>(arrived));
    return std::clamp(static_cast<std::int64_t>(std::min(until_next, 1e15)) - took, std::int64_t{0}, longest);
}

} // namespace scylla::model
