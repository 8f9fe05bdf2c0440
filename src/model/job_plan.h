// Job plans: which job types must run, over which ids, in which chunks, so that what a job needs is fresh enough.
//
// The idea is Stau's (Connected Cars, 2020). A job type declares which others it needs and how old their results may
// be. A request names one type and some ids. From this follows a graph of nodes, each a type with arguments, in which
// an edge is a need. Ids are counted here: id number 0 is the smallest one. They are cut into slices as wide as the
// largest chunk of any node, and within a slice each node has chunks of its own size, which begin at the slice's start.
//
//   * The chunks of the requested type always run.
//   * A chunk of another type runs if something that runs needs ids of it, and they are not fresh enough for that: any
//     id of the slice (Prune::slice), or any id of the chunk (Prune::chunk). The needs of a chunk that does not run are
//     not looked at.
//   * A chunk depends on the chunks that it needs where both have an id, unless the need itself is met: a result can be
//     fresh enough for one and run again for another. With `strict_order` it depends on it even then.
//
// An age that equals `max_lag` is fresh, a `max_lag` of 0 makes everything stale, and so does a missing result. A need
// with `allow_missing` is met, for all ids, if the whole type has run lately, whatever ids there were.
//
// The same input gives the same plan. Memory is the caller's; the time is that of nodes × (slices + chunks + stretches
// of equal age) and of the dependencies that come out.
#pragma once

#include "model/graph.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace scylla::model {

inline constexpr std::int64_t k_never = std::numeric_limits<std::int64_t>::min();
inline constexpr std::size_t k_no_task = std::numeric_limits<std::size_t>::max();

enum class Prune : std::uint8_t { slice, chunk };

// Ids from the end of the one before (or 0) to `end` whose last success began at `at`, in microseconds; k_never if
// there was none.
struct FreshStretch {
    std::int64_t end;
    std::int64_t at;
};

struct JobNeed {
    std::size_t node; // the needed one
    std::int64_t max_lag;
    bool allow_missing = false;
    std::int64_t last_plan = k_never; // when the last run of the whole type began
    // Set by the plan:
    std::size_t next_stretch = 0;
    std::size_t first_age = 0; // of the chunks of `node`, in JobPlanMemory::ages
};

struct JobNode {
    std::int64_t chunk_size; // 0: all ids are one chunk
    std::size_t first_need, need_count;
    std::span<const FreshStretch> fresh; // up to the last id
    // Set by the plan:
    std::size_t first_chunk = 0; // in JobPlanMemory::tasks
    bool runs = false;           // some of it, in this slice
};

// Node 0 is the requested one. `order` has each node after all that it needs (put_targets_first).
struct JobGraph {
    std::span<JobNode> nodes;
    std::span<JobNeed> needs;
    std::span<const std::size_t> order;
};

struct JobRequest {
    std::int64_t ids; // how many
    std::int64_t now;
    Prune prune = Prune::slice;
    bool strict_order = false;
};

struct JobPlanMemory {
    std::span<std::size_t> tasks; // an element per chunk of a slice and node
    std::span<std::int64_t> ages; // an element per chunk of a slice and need
};

// Why a chunk runs, or why it does not.
struct JobReason {
    std::size_t need = k_no_task; // which has asked for it; none for the requested type
    std::int64_t oldest = k_never;
};

struct JobChunk {
    std::size_t node;
    std::int64_t first, end; // ids by number
};

namespace job_plan {

constexpr std::int64_t size_in(const JobNode &node, std::int64_t width) noexcept {
    return node.chunk_size == 0 ? width : std::min(node.chunk_size, width);
}
constexpr std::size_t chunks_in(const JobNode &node, std::int64_t width) noexcept {
    const std::int64_t size = size_in(node, width);
    return size == 0 ? 0 : static_cast<std::size_t>((width + size - 1) / size);
}

} // namespace job_plan

// The ids of a slice: as many as the largest chunk has.
constexpr std::int64_t slice_width(const JobGraph &graph, std::int64_t ids) noexcept {
    std::int64_t width = 1;
    for (const JobNode &node : graph.nodes)
        width = std::max(width, node.chunk_size == 0 ? ids : node.chunk_size);
    return std::min(width, ids);
}

constexpr std::size_t job_tasks_needed(const JobGraph &graph, std::int64_t ids) noexcept {
    std::size_t count = 0;
    for (const JobNode &node : graph.nodes)
        count += job_plan::chunks_in(node, slice_width(graph, ids));
    return count;
}
constexpr std::size_t job_ages_needed(const JobGraph &graph, std::int64_t ids) noexcept {
    std::size_t count = 0;
    for (const JobNeed &need : graph.needs)
        count += job_plan::chunks_in(graph.nodes[need.node], slice_width(graph, ids));
    return count;
}

// Whether a result that began at `at` is too old.
constexpr bool is_stale(std::int64_t at, std::int64_t max_lag, std::int64_t now) noexcept {
    if (at == k_never || max_lag == 0)
        return true;
    std::int64_t age = 0;
    return __builtin_sub_overflow(now, at, &age) ? now > at : age > max_lag;
}

// Calls the sink, slice by slice, and for a chunk after those that it needs:
//   task(JobChunk, JobReason) -> the number of the task that runs it;
//   depends(task, on_task), after both;
//   fresh(JobChunk, JobReason): a chunk that was asked for, and is left out.
template <typename Sink> class JobPlan {
public:
    JobPlan(const JobGraph &graph, const JobRequest &request, const JobPlanMemory &memory, Sink &sink) noexcept
        : graph_(graph), request_(request), memory_(memory), sink_(sink), width_(slice_width(graph, request.ids)) {
        std::size_t chunk = 0, age = 0;
        for (JobNode &node : graph_.nodes) {
            node.first_chunk = chunk;
            chunk += job_plan::chunks_in(node, width_);
        }
        for (JobNeed &need : graph_.needs) {
            need.next_stretch = 0;
            need.first_age = age;
            age += job_plan::chunks_in(graph_.nodes[need.node], width_);
        }
    }

    void make() {
        for (first_ = 0; first_ < request_.ids; first_ = end_) {
            end_ = std::min(first_ + width_, request_.ids);
            choose();
            for (const std::size_t node : graph_.order)
                if (graph_.nodes[node].runs)
                    put(node);
        }
    }

private:
    // In place of the task's number, until there is one: which need has asked for the chunk.
    static constexpr std::size_t chosen_by(std::size_t need) noexcept { return k_no_task - 1 - need; }
    static constexpr std::size_t k_requested = k_no_task / 2; // more needs than there can be

    [[nodiscard]] std::int64_t size(const JobNode &node) const noexcept { return job_plan::size_in(node, width_); }
    [[nodiscard]] std::size_t chunks(const JobNode &node) const noexcept {
        return static_cast<std::size_t>((end_ - first_ + size(node) - 1) / size(node));
    }
    [[nodiscard]] JobChunk chunk(std::size_t node, std::size_t number) const noexcept {
        const std::int64_t of = size(graph_.nodes[node]);
        const std::int64_t first = first_ + static_cast<std::int64_t>(number) * of;
        return {node, first, std::min(first + of, end_)};
    }
    [[nodiscard]] std::size_t &task(std::size_t node, std::size_t number) const noexcept {
        return memory_.tasks[graph_.nodes[node].first_chunk + number];
    }
    [[nodiscard]] std::int64_t &age(const JobNeed &need, std::size_t number) const noexcept {
        return memory_.ages[need.first_age + number];
    }
    [[nodiscard]] std::span<JobNeed> needs(const JobNode &node) const noexcept {
        return graph_.needs.subspan(node.first_need, node.need_count);
    }

    // What of this slice runs.
    void choose() {
        for (std::size_t node = 0; node < graph_.nodes.size(); node++) {
            graph_.nodes[node].runs = node == 0;
            for (std::size_t number = 0; number < chunks(graph_.nodes[node]); number++)
                task(node, number) = node == 0 ? chosen_by(k_requested) : k_no_task;
        }
        for (std::size_t i = graph_.order.size(); i > 0; i--) {
            const JobNode &node = graph_.nodes[graph_.order[i - 1]];
            for (JobNeed &need : needs(node)) {
                if (!node.runs)
                    break;
                look(need);
                choose_needed(graph_.order[i - 1], need);
            }
        }
    }

    // The oldest result in each chunk of what is needed, or in the slice.
    void look(JobNeed &need) const {
        const JobNode &node = graph_.nodes[need.node];
        std::int64_t oldest = std::numeric_limits<std::int64_t>::max();
        for (std::size_t number = 0; number < chunks(node); number++) {
            age(need, number) = oldest_of(need, chunk(need.node, number));
            oldest = std::min(oldest, age(need, number));
        }
        if (need.allow_missing && !is_stale(need.last_plan, need.max_lag, request_.now))
            oldest = need.last_plan;
        else if (request_.prune == Prune::chunk)
            return;
        for (std::size_t number = 0; number < chunks(node); number++)
            age(need, number) = oldest;
    }

    static std::int64_t oldest_of(JobNeed &need, std::span<const FreshStretch> fresh, const JobChunk &of) {
        std::int64_t oldest = std::numeric_limits<std::int64_t>::max();
        while (fresh[need.next_stretch].end <= of.first)
            need.next_stretch++;
        for (std::size_t i = need.next_stretch;; i++) {
            oldest = std::min(oldest, fresh[i].at);
            if (fresh[i].end >= of.end)
                return oldest;
        }
    }
    [[nodiscard]] std::int64_t oldest_of(JobNeed &need, const JobChunk &of) const {
        return oldest_of(need, graph_.nodes[need.node].fresh, of);
    }

    [[nodiscard]] bool is_met(const JobNeed &need, std::size_t number) const noexcept {
        return !is_stale(age(need, number), need.max_lag, request_.now);
    }

    // The numbers of the chunks of a node that share an id with another's chunk: from .first to before .second.
    [[nodiscard]] std::pair<std::size_t, std::size_t> sharing(const JobNode &node,
                                                              const JobChunk &with) const noexcept {
        const std::int64_t of = size(node);
        return {static_cast<std::size_t>((with.first - first_) / of),
                static_cast<std::size_t>((with.end - first_ + of - 1) / of)};
    }

    void choose_needed(std::size_t of, const JobNeed &need) {
        JobNode &node = graph_.nodes[need.node];
        std::size_t from = 0; // chunks before it have been looked at
        for (std::size_t parent = 0; parent < chunks(graph_.nodes[of]); parent++) {
            if (task(of, parent) == k_no_task)
                continue;
            const auto [first, end] = sharing(node, chunk(of, parent));
            for (from = std::max(from, first); from < end; from++)
                if (!is_met(need, from) && task(need.node, from) == k_no_task) {
                    task(need.node, from) = chosen_by(index(need));
                    node.runs = true;
                }
        }
    }

    // The tasks of a node in this slice, and on what they depend.
    void put(std::size_t node) {
        for (std::size_t number = 0; number < chunks(graph_.nodes[node]); number++) {
            if (task(node, number) == k_no_task)
                continue;
            const JobChunk at = chunk(node, number);
            task(node, number) = sink_.task(at, reason(number, k_no_task - 1 - task(node, number)));
            for (JobNeed &need : needs(graph_.nodes[node]))
                put_needed(task(node, number), at, need);
        }
    }

    void put_needed(std::size_t of, const JobChunk &at, const JobNeed &need) {
        const auto [first, end] = sharing(graph_.nodes[need.node], at);
        for (std::size_t number = first; number < end; number++) {
            const std::size_t on = task(need.node, number);
            if (on == k_no_task)
                sink_.fresh(of, chunk(need.node, number), {index(need), age(need, number)});
            else if (request_.strict_order || !is_met(need, number))
                sink_.depends(of, on);
        }
    }

    [[nodiscard]] std::size_t index(const JobNeed &need) const noexcept {
        return static_cast<std::size_t>(&need - graph_.needs.data());
    }

    [[nodiscard]] JobReason reason(std::size_t number, std::size_t need) const noexcept {
        return need == k_requested ? JobReason{} : JobReason{need, age(graph_.needs[need], number)};
    }

    const JobGraph &graph_;
    const JobRequest &request_;
    const JobPlanMemory &memory_;
    Sink &sink_;
    std::int64_t width_;
    std::int64_t first_ = 0, end_ = 0; // the slice
};

} // namespace scylla::model
