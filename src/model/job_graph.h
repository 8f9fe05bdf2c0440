// From job types to the graph of a request: a node is a type with the arguments that it gets here.
//
// Arguments go down: those of the request, overlaid with those of each need on the way, the last one winning. The same
// type with the same arguments is one node, however many need it. A `unique` need has its own copy of everything below
// it.
#pragma once

#include "model/job_plan.h"

namespace scylla::model {

struct JobTypeNeed {
    std::size_t type;
    std::int64_t max_lag;
    std::size_t args; // the caller's number for the arguments of the need
    bool unique = false;
    bool allow_missing = false;
};
struct JobType {
    std::int64_t chunk_size;
    std::span<const JobTypeNeed> needs;
    std::span<const FreshStretch> fresh;
    std::int64_t last_plan = k_never;
};

// The identity of a node.
struct JobNodeName {
    std::size_t type;
    std::size_t args;
    std::size_t copy; // 0: the common one

    friend constexpr bool operator==(const JobNodeName &, const JobNodeName &) = default;
};

// Merges two needs: the result is met if both are.
constexpr void merge(JobNeed &need, const JobTypeNeed &other) noexcept {
    need.max_lag = std::min(need.max_lag, other.max_lag);
    need.allow_missing = need.allow_missing && other.allow_missing;
}

// `graph` has the lists `names`, `nodes` and `needs`, which grow by push_back. `overlay(args, with)` returns the number
// of the merged arguments: equal arguments have equal numbers. Returns false if there are more than `max_nodes` nodes:
// unique needs can double them at each level. A need that is named twice with the same outcome counts once.
template <typename Graph, typename Overlay>
bool grow_job_graph(std::span<const JobType> types, JobNodeName requested, std::size_t max_nodes, Graph &graph,
                    Overlay overlay) {
    auto &names = graph.names;
    auto &needs = graph.needs;
    std::size_t copies = 0;
    const auto node_of = [&](const JobNodeName &name) {
        std::size_t n = 0;
        while (n < names.size() && !(names[n] == name))
            n++;
        if (n == names.size())
            names.push_back(name);
        return n;
    };
    (void)node_of(requested);
    for (std::size_t n = 0; n < names.size(); n++) {
        if (names.size() > max_nodes)
            return false;
        const JobNodeName of = names[n];
        const JobType &type = types[of.type];
        const std::size_t first = needs.size();
        for (const JobTypeNeed &need : type.needs) {
            const std::size_t copy = need.unique ? ++copies : of.copy;
            const std::size_t node = node_of({need.type, overlay(of.args, need.args), copy});
            std::size_t known = first;
            while (known < needs.size() && needs[known].node != node)
                known++;
            if (known == needs.size())
                needs.push_back(JobNeed{.node = node,
                                        .max_lag = need.max_lag,
                                        .allow_missing = need.allow_missing,
                                        .last_plan = types[need.type].last_plan});
            else
                merge(needs[known], need);
        }
        graph.nodes.push_back(JobNode{.chunk_size = type.chunk_size,
                                      .first_need = first,
                                      .need_count = needs.size() - first,
                                      .fresh = type.fresh});
    }
    return true;
}

} // namespace scylla::model
