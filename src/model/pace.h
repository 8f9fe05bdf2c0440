// How much of the time work in the background takes.
#pragma once

#include <algorithm>
#include <cstdint>

namespace scylla::model {

inline constexpr std::int64_t k_background_share = 10; // 1 of so many parts of the time

// A walk that finds nothing to do takes 1 of so many parts of the share that it has otherwise.
inline constexpr std::int64_t k_vain = 50;

// The pause after a portion of removing things that took `took`, so that it takes 1/`share` of the time, or more where
// that many do not suffice: `arrived` new ones came in the time `elapsed` until the end of this portion, and half as
// many again are to go. All times in the same unit.
constexpr std::int64_t pause_after(std::int64_t took, std::int64_t portion, std::int64_t arrived, std::int64_t elapsed,
                                   std::int64_t share = k_background_share) noexcept {
    const std::int64_t longest = took * (share - 1);
    if (arrived <= 0)
        return longest;
    const double until_next =
        static_cast<double>(elapsed) * static_cast<double>(portion) / (1.5 * static_cast<double>(arrived));
    return std::clamp(static_cast<std::int64_t>(std::min(until_next, 1e15)) - took, std::int64_t{0}, longest);
}

// When tables are counted again to put a number right: 1 of so many parts of the processor's time goes to counts, or,
// so that a number is right again soon, 1 of fewer.
inline constexpr std::int64_t k_count_share = 1000;
inline constexpr std::int64_t k_soon_count_share = 100;
inline constexpr std::int64_t k_soon = 10'000'000; // microseconds

// Whether the next count is due. `took`: the processor time of the last one. All in microseconds.
constexpr bool count_is_due(std::int64_t now, std::int64_t counted_at, std::int64_t took) noexcept {
    const std::int64_t pause = std::min(took * k_count_share, std::max(k_soon, took * k_soon_count_share));
    return now < counted_at || now - counted_at >= pause; // the former: the clock was set back
}

} // namespace scylla::model
