// Freshness: when the last success of a job type began, for each id.
//
// Successes are stored as they come, each with its ids as ranges and the time when it began. They are never changed, so
// that no two completions wait for each other. For an id the latest of its successes counts, in whatever order they
// came.
#pragma once

#include "model/job_plan.h"

namespace scylla::model {

// Ids from `first` to before `end`, at least one.
struct JobRange {
    std::int64_t first, end;
};
// A range of a success. `counts` is set by paint(): it is the latest for some of its ids.
struct Success {
    JobRange ids;
    std::int64_t at;
    std::int64_t of = 0; // the caller's name for the success that it belongs to
    bool counts = false;
};
// Ids whose last success began at the same time.
struct FreshRange {
    JobRange ids;
    std::int64_t at;
};

// Two elements per success.
struct PaintMemory {
    std::span<std::int64_t> borders;
    std::span<std::size_t> next; // the next stretch between two borders that has no colour yet, at or behind this one
    std::span<std::int64_t> at;  // its colour
};

namespace job_fresh {

inline std::size_t find_bare(std::span<std::size_t> next, std::size_t from) noexcept {
    std::size_t bare = from;
    while (next[bare] != bare)
        bare = next[bare];
    while (next[from] != bare) // so that later searches skip them
        from = std::exchange(next[from], bare);
    return bare;
}

} // namespace job_fresh

// The ranges, in their order, neighbours with the same time joined. Sorts the successes, the latest first. Writes to
// `ranges`, which has two elements per success; returns how many. Painting from the latest to the oldest gives each
// stretch its colour once: O(n log n).
inline std::size_t paint(std::span<Success> successes, const PaintMemory &memory,
                         std::span<FreshRange> ranges) noexcept {
    std::sort(successes.begin(), successes.end(), [](const Success &a, const Success &b) { return a.at > b.at; });
    for (std::size_t i = 0; i < successes.size(); i++) {
        memory.borders[2 * i] = successes[i].ids.first;
        memory.borders[2 * i + 1] = successes[i].ids.end;
    }
    std::sort(memory.borders.begin(), memory.borders.end());
    const auto end = std::unique(memory.borders.begin(), memory.borders.end());
    const auto borders = memory.borders.first(static_cast<std::size_t>(end - memory.borders.begin()));
    for (std::size_t i = 0; i < borders.size(); i++) {
        memory.next[i] = i;
        memory.at[i] = k_never;
    }
    const auto place = [&](std::int64_t id) {
        return static_cast<std::size_t>(std::lower_bound(borders.begin(), borders.end(), id) - borders.begin());
    };
    for (Success &success : successes) {
        const std::size_t last = place(success.ids.end);
        for (std::size_t i = job_fresh::find_bare(memory.next, place(success.ids.first)); i < last;
             i = job_fresh::find_bare(memory.next, i)) {
            memory.at[i] = success.at;
            memory.next[i] = i + 1;
            success.counts = true;
        }
    }
    std::size_t count = 0;
    for (std::size_t i = 0; i + 1 < borders.size(); i++) {
        if (memory.at[i] == k_never)
            continue;
        if (count > 0 && ranges[count - 1].ids.end == borders[i] && ranges[count - 1].at == memory.at[i])
            ranges[count - 1].ids.end = borders[i + 1];
        else
            ranges[count++] = {{borders[i], borders[i + 1]}, memory.at[i]};
    }
    return count;
}

// The same for the ids of a request, by number, with the gaps. Both lists are sorted and have no overlaps. Writes to
// `stretches`, which must have 2 × fresh + 2 × requested + 1 elements; returns how many.
inline std::size_t number_fresh(std::span<const FreshRange> fresh, std::span<const JobRange> requested,
                                std::span<FreshStretch> stretches) noexcept {
    std::size_t count = 0;
    std::int64_t number = 0;
    const auto put = [&](std::int64_t ids, std::int64_t at) {
        if (ids == 0)
            return;
        number += ids;
        if (count > 0 && stretches[count - 1].at == at)
            stretches[count - 1].end = number;
        else
            stretches[count++] = {number, at};
    };
    std::size_t f = 0;
    for (const JobRange &range : requested) {
        std::int64_t id = range.first;
        while (f < fresh.size() && fresh[f].ids.end <= id)
            f++;
        for (std::size_t i = f; i < fresh.size() && fresh[i].ids.first < range.end; i++) {
            const std::int64_t first = std::max(fresh[i].ids.first, id);
            put(first - id, k_never);
            id = std::min(fresh[i].ids.end, range.end);
            put(id - first, fresh[i].at);
        }
        put(range.end - id, k_never);
    }
    return count;
}

} // namespace scylla::model
