#include "model/graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace test_graph {
namespace {

using scylla::model::CycleWork;
using scylla::model::find_cycle;
using scylla::model::Graph;

using Edges = std::vector<std::vector<std::size_t>>;

std::vector<std::size_t> cycle_of(const Edges &edges) {
    std::vector<std::size_t> first{0};
    std::vector<std::size_t> target;
    for (const auto &of_node : edges) {
        target.insert(target.end(), of_node.begin(), of_node.end());
        first.push_back(target.size());
    }
    std::vector<CycleWork> work(edges.size());
    std::vector<std::size_t> room(edges.size());
    const auto found = find_cycle(Graph{first, target}, work, room);
    return {found.begin(), found.end()};
}

bool is_cycle(const Edges &edges, const std::vector<std::size_t> &cycle) {
    for (std::size_t i = 0; i < cycle.size(); i++) {
        const auto &to = edges[cycle[i]];
        if (std::find(to.begin(), to.end(), cycle[(i + 1) % cycle.size()]) == to.end())
            return false;
    }
    return !cycle.empty();
}

TEST(Graph, EmptyAndSingle) {
    EXPECT_TRUE(cycle_of({}).empty());
    EXPECT_TRUE(cycle_of({{}}).empty());
    EXPECT_EQ(cycle_of({{0}}), std::vector<std::size_t>{0});
}

TEST(Graph, DiamondHasNone) { EXPECT_TRUE(cycle_of({{1, 2}, {3}, {3}, {}}).empty()); }

TEST(Graph, RepeatedEdgesAreNoCycle) { EXPECT_TRUE(cycle_of({{1, 1, 1}, {}}).empty()); }

TEST(Graph, NamesOnlyTheNodesOfTheCycle) {
    const Edges edges{{1}, {2}, {3}, {1}, {0}};
    auto cycle = cycle_of(edges);
    EXPECT_TRUE(is_cycle(edges, cycle));
    std::sort(cycle.begin(), cycle.end());
    EXPECT_EQ(cycle, (std::vector<std::size_t>{1, 2, 3}));
}

std::vector<std::size_t> order_of(const Edges &edges) {
    std::vector<std::size_t> first{0};
    std::vector<std::size_t> target;
    for (const auto &of_node : edges) {
        target.insert(target.end(), of_node.begin(), of_node.end());
        first.push_back(target.size());
    }
    std::vector<CycleWork> work(edges.size());
    std::vector<std::size_t> order(edges.size());
    scylla::model::put_targets_first(Graph{first, target}, work, order);
    return order;
}

TEST(Graph, OrderKeepsItsOwnWhereNoEdgeSaysOtherwise) {
    EXPECT_EQ(order_of({{}, {}, {}}), (std::vector<std::size_t>{0, 1, 2}));
    EXPECT_EQ(order_of({{}, {0}, {1}}), (std::vector<std::size_t>{0, 1, 2}));
    EXPECT_EQ(order_of({{3}, {}, {0}, {}}), (std::vector<std::size_t>{3, 0, 1, 2}));
    EXPECT_EQ(order_of({{3, 2}, {}, {4}, {4, 4}, {}}), (std::vector<std::size_t>{4, 3, 2, 0, 1}));
}

TEST(Graph, OrderHasEveryNodeOnceAndTargetsFirst) {
    std::mt19937 random(7); // NOLINT: the same in every run
    for (int round = 0; round < 200; round++) {
        Edges edges(1 + random() % 30);
        for (std::size_t n = 1; n < edges.size(); n++)
            for (std::size_t e = random() % 4; e > 0; e--)
                edges[edges.size() - 1 - n].push_back(edges.size() - 1 - random() % n);
        const auto order = order_of(edges);
        std::vector<bool> seen(edges.size());
        for (const std::size_t node : order) {
            EXPECT_FALSE(seen[node]);
            for (const std::size_t to : edges[node])
                EXPECT_TRUE(seen[to]);
            seen[node] = true;
        }
        EXPECT_EQ(order.size(), edges.size());
    }
}

TEST(Graph, LongChainNeedsNoStack) {
    Edges edges(200'000);
    for (std::size_t n = 0; n + 1 < edges.size(); n++)
        edges[n] = {n + 1};
    EXPECT_TRUE(cycle_of(edges).empty());
    edges.back() = {0};
    EXPECT_EQ(cycle_of(edges).size(), edges.size());
}

TEST(Graph, RandomGraphsAgreeWithTopologicalSorting) {
    std::mt19937 random(1);
    int cyclic = 0;
    for (int round = 0; round < 2000; round++) {
        const std::size_t nodes = 1 + random() % 12;
        Edges edges(nodes);
        for (std::size_t e = random() % (2 * nodes); e > 0; e--)
            edges[random() % nodes].push_back(random() % nodes);
        // Takes away nodes without edges until nothing is left, or only cycles and what leads to them.
        Edges left = edges;
        std::vector<bool> gone(nodes);
        for (bool changed = true; changed;) {
            changed = false;
            for (std::size_t n = 0; n < nodes; n++) {
                if (gone[n] || !std::all_of(left[n].begin(), left[n].end(), [&](std::size_t to) { return gone[to]; }))
                    continue;
                gone[n] = changed = true;
            }
        }
        const bool has_cycle = std::find(gone.begin(), gone.end(), false) != gone.end();
        const auto cycle = cycle_of(edges);
        EXPECT_EQ(has_cycle, !cycle.empty());
        if (has_cycle) {
            EXPECT_TRUE(is_cycle(edges, cycle));
            cyclic++;
        }
    }
    EXPECT_GT(cyclic, 200);
}

} // namespace
} // namespace test_graph
