// Sets of ids as a bounded number of stretches: the ids of ready tasks apart from the bulk of them (shmem/heads.h,
// shmem/pending.h). A set may cover more ids than were added to it, but never fewer.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace scylla::model {

inline constexpr std::int64_t k_no_id = std::numeric_limits<std::int64_t>::max();

// Ids of one priority, from `low` to `high`.
struct Stretch {
    std::int64_t low;
    std::int64_t high;
    // The lowest of the ids that were told in the present and in the previous generation (shmem/heads.h), k_no_id if
    // none was; which is which the owner knows.
    std::array<std::int64_t, 2> fresh;
    std::int16_t priority;
};

// Stretches that neither overlap nor touch, by priority, highest first, then by id. It can hold one more than N, so
// that one can be added before two are merged.
template <std::size_t N> struct Stretches {
    std::size_t count;
    std::array<Stretch, N + 1> at;
};

template <std::size_t N> void remove(Stretches<N> &set, std::size_t i) noexcept {
    std::copy(set.at.begin() + static_cast<std::ptrdiff_t>(i + 1),
              set.at.begin() + static_cast<std::ptrdiff_t>(set.count), set.at.begin() + static_cast<std::ptrdiff_t>(i));
    set.count--;
}

// Makes `into` cover `other` as well, and what lies between them.
inline void absorb(Stretch &into, const Stretch &other) noexcept {
    into.low = std::min(into.low, other.low);
    into.high = std::max(into.high, other.high);
    for (std::size_t g = 0; g < into.fresh.size(); g++)
        into.fresh[g] = std::min(into.fresh[g], other.fresh[g]);
}

// Needs set.count <= N, or a stretch in the set that this one overlaps or touches.
template <std::size_t N> void add(Stretches<N> &set, Stretch added) noexcept {
    const auto begin = set.at.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(set.count);
    // Those of this priority from here on end behind the added one's beginning, or touch it.
    const auto first = std::partition_point(begin, end, [&](const Stretch &it) {
        return it.priority != added.priority ? it.priority > added.priority : it.high < added.low - 1;
    });
    auto rest = first;
    for (; rest != end && rest->priority == added.priority && rest->low - 1 <= added.high; ++rest)
        absorb(added, *rest);
    if (first == rest)
        std::copy_backward(first, end, end + 1);
    else
        std::copy(rest, end, first + 1);
    *first = added;
    set.count = set.count + 1 - static_cast<std::size_t>(rest - first);
}

// The ids between stretch i and the next one; k_no_id if that is of another priority.
template <std::size_t N> std::int64_t gap_after(const Stretches<N> &set, std::size_t i) noexcept {
    const bool neighbours = i + 1 < set.count && set.at[i + 1].priority == set.at[i].priority;
    return neighbours ? set.at[i + 1].low - set.at[i].high : k_no_id;
}

// Merges stretch i with the next one.
template <std::size_t N> void join_next(Stretches<N> &set, std::size_t i) noexcept {
    absorb(set.at[i], set.at[i + 1]);
    remove(set, i + 1);
}

// The stretch before the narrowest gap; set.count if no two have the same priority.
template <std::size_t N> std::size_t narrowest(const Stretches<N> &set) noexcept {
    std::size_t best = set.count;
    for (std::size_t i = 0; i + 1 < set.count; i++)
        if (const std::int64_t gap = gap_after(set, i);
            gap != k_no_id && (best == set.count || gap < gap_after(set, best)))
            best = i;
    return best;
}

template <std::size_t N> bool covers(const Stretches<N> &set, std::int16_t priority, std::int64_t id) noexcept {
    return std::any_of(set.at.begin(), set.at.begin() + static_cast<std::ptrdiff_t>(set.count),
                       [&](const Stretch &it) { return it.priority == priority && it.low <= id && id <= it.high; });
}

template <std::size_t N> bool has_priority(const Stretches<N> &set, std::int16_t priority) noexcept {
    return std::any_of(set.at.begin(), set.at.begin() + static_cast<std::ptrdiff_t>(set.count),
                       [&](const Stretch &it) { return it.priority == priority; });
}

} // namespace scylla::model
