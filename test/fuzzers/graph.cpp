// Cycles in dependencies, against taking away what nothing leads to until nothing is left.
#include "fuzz.h"

#include <algorithm>
#include <vector>

#include "model/graph.h"

using namespace scylla::model;

namespace {

bool has_cycle(const Graph &graph) {
    std::vector<std::size_t> incoming(graph.nodes());
    for (const std::size_t node : graph.target)
        incoming[node]++;
    std::vector<std::size_t> free;
    for (std::size_t n = 0; n < graph.nodes(); n++)
        if (incoming[n] == 0)
            free.push_back(n);
    std::size_t taken = 0;
    for (; taken < free.size(); taken++)
        for (std::size_t e = graph.first[free[taken]]; e < graph.first[free[taken] + 1]; e++)
            if (--incoming[graph.target[e]] == 0)
                free.push_back(graph.target[e]);
    return taken < graph.nodes();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    FuzzedDataProvider input(data, size);
    const auto nodes = input.ConsumeIntegralInRange<std::size_t>(0, 40);
    std::vector<std::size_t> first{0};
    std::vector<std::size_t> target;
    for (std::size_t n = 0; n < nodes; n++) {
        for (auto edges = input.ConsumeIntegralInRange(0, 4); edges > 0; edges--)
            target.push_back(input.ConsumeIntegralInRange<std::size_t>(0, nodes - 1));
        first.push_back(target.size());
    }
    const Graph graph{first, target};
    std::vector<CycleWork> work(nodes);
    std::vector<std::size_t> room(nodes);
    const auto cycle = find_cycle(graph, work, room);
    require(cycle.empty() != has_cycle(graph), "a cycle is found if there is one");
    for (std::size_t i = 0; i < cycle.size(); i++) {
        const std::size_t to = cycle[(i + 1) % cycle.size()];
        const auto edges = graph.target.subspan(first[cycle[i]], first[cycle[i] + 1] - first[cycle[i]]);
        require(std::find(edges.begin(), edges.end(), to) != edges.end(), "each node of a cycle leads to the next");
        require(std::count(cycle.begin(), cycle.end(), cycle[i]) == 1, "and is there once");
    }
    return 0;
}
