// Directed graphs: finding a cycle, and an order that follows the edges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace scylla::model {

// The edges of node n lead to target[first[n]] .. target[first[n + 1] - 1]; so first has one element more than there
// are nodes.
struct Graph {
    std::span<const std::size_t> first;
    std::span<const std::size_t> target;

    [[nodiscard]] std::size_t nodes() const noexcept { return first.empty() ? 0 : first.size() - 1; }
};

// What the search needs per node; its content does not matter.
struct CycleWork {
    std::size_t next_edge;
    std::size_t on_path; // the node at this depth of the path
    bool seen;
    bool done;
};

// The nodes of a cycle, each with an edge to the next and the last with one to the first; empty if there is none. They
// are written to `cycle`; it and `work` have an element per node. Depth first without recursion: chains can be long.
// `done` gets each node once, after all to which its edges lead, unless there is a cycle.
template <typename Done>
std::span<std::size_t> walk_graph(const Graph &graph, std::span<CycleWork> work, std::span<std::size_t> cycle,
                                  Done done) noexcept {
    for (std::size_t n = 0; n < graph.nodes(); n++)
        work[n] = {graph.first[n], 0, false, false};
    for (std::size_t root = 0; root < graph.nodes(); root++) {
        if (work[root].seen)
            continue;
        std::size_t depth = 1;
        work[0].on_path = root;
        work[root].seen = true;
        while (depth > 0) {
            const std::size_t node = work[depth - 1].on_path;
            if (work[node].next_edge == graph.first[node + 1]) {
                work[node].done = true;
                done(node);
                depth--;
                continue;
            }
            const std::size_t next = graph.target[work[node].next_edge++];
            if (work[next].done)
                continue;
            if (!work[next].seen) {
                work[next].seen = true;
                work[depth++].on_path = next;
                continue;
            }
            // Seen and not done: it is on the path.
            std::size_t from = depth - 1;
            while (work[from].on_path != next)
                from--;
            for (std::size_t i = from; i < depth; i++)
                cycle[i - from] = work[i].on_path;
            return cycle.first(depth - from);
        }
    }
    return cycle.first(0);
}

inline std::span<std::size_t> find_cycle(const Graph &graph, std::span<CycleWork> work,
                                         std::span<std::size_t> cycle) noexcept {
    return walk_graph(graph, work, cycle, [](std::size_t) {});
}

// The nodes of a graph without a cycle in their order, but each after all to which its edges lead. `order` has an
// element per node.
inline void put_targets_first(const Graph &graph, std::span<CycleWork> work, std::span<std::size_t> order) noexcept {
    std::size_t count = 0;
    (void)walk_graph(graph, work, order, [&](std::size_t node) { order[count++] = node; });
}

} // namespace scylla::model
