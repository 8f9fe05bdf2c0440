// Gaps: ranges of ids that are known to be empty (shmem/gaps.h). Their number is bounded: the set may cover fewer ids
// than were added to it, but never more.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace scylla::model {

// Ids of one priority, from `low` to `high`; low is not negative.
struct Gap {
    std::int64_t low;
    std::int64_t high;
    std::int16_t priority;
};

struct IdRange {
    std::int64_t low;
    std::int64_t high;
};

// In no order. They neither overlap nor touch.
template <std::size_t N> struct Gaps {
    std::size_t count;
    std::array<Gap, N> at;
};

template <std::size_t N> void drop(Gaps<N> &set, std::size_t i) noexcept { set.at[i] = set.at[--set.count]; }

// If there are too many, the narrowest gap is forgotten.
template <std::size_t N> void add(Gaps<N> &set, Gap added) noexcept {
    for (std::size_t i = set.count; i-- > 0;) {
        const Gap &it = set.at[i];
        if (it.priority != added.priority || it.low - 1 > added.high || added.low - 1 > it.high)
            continue;
        added.low = std::min(added.low, it.low);
        added.high = std::max(added.high, it.high);
        drop(set, i);
    }
    const auto width = [](const Gap &gap) { return gap.high - gap.low; };
    if (set.count == N) {
        const auto narrowest = std::min_element(set.at.begin(), set.at.end(),
                                                [&](const Gap &a, const Gap &b) { return width(a) < width(b); });
        if (width(*narrowest) >= width(added))
            return;
        drop(set, static_cast<std::size_t>(narrowest - set.at.begin()));
    }
    set.at[set.count++] = added;
}

// There may be rows with ids from `low` to `high`.
template <std::size_t N>
void take_out(Gaps<N> &set, std::int16_t priority, std::int64_t low, std::int64_t high) noexcept {
    for (std::size_t i = set.count; i-- > 0;) {
        const Gap old = set.at[i];
        if (old.priority != priority || old.high < low || old.low > high)
            continue;
        drop(set, i);
        if (old.low < low)
            add(set, {old.low, low - 1, priority});
        if (old.high > high)
            add(set, {high + 1, old.high, priority});
    }
}

template <std::size_t N> std::optional<Gap> find(const Gaps<N> &set, std::int16_t priority, std::int64_t id) noexcept {
    for (std::size_t i = 0; i < set.count; i++)
        if (const Gap &it = set.at[i]; it.priority == priority && it.low <= id && id <= it.high)
            return it;
    return std::nullopt;
}

// The ids of a priority that are in no gap: ranges in their order. Returns how many.
template <std::size_t N>
std::size_t outside(Gaps<N> set, std::int16_t priority, std::array<IdRange, N + 1> &ranges) noexcept {
    const auto begin = set.at.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(set.count);
    std::sort(begin, end, [](const Gap &a, const Gap &b) { return a.low < b.low; });
    std::size_t count = 0;
    std::int64_t low = 0;
    for (auto it = begin; it != end; ++it) {
        if (it->priority != priority)
            continue;
        if (low < it->low)
            ranges[count++] = {low, it->low - 1};
        if (it->high == std::numeric_limits<std::int64_t>::max())
            return count;
        low = it->high + 1;
    }
    ranges[count++] = {low, std::numeric_limits<std::int64_t>::max()};
    return count;
}

} // namespace scylla::model
