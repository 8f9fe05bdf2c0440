#include "model/job_graph.h"
#include "model/job_plan.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace test_job_plan {
namespace {

using namespace scylla::model;

constexpr std::int64_t k_now = 1'000'000;

// A plan as a set of readable lines: "A[1-3] <- B[1-2] B[3-4]", ids counted from one.
struct Lines {
    struct Task {
        JobChunk chunk;
        JobReason reason;
        std::set<std::size_t> on;
    };
    std::vector<Task> tasks;
    std::vector<std::pair<JobChunk, JobReason>> left_out;

    std::size_t task(const JobChunk &chunk, const JobReason &reason) {
        tasks.push_back({chunk, reason, {}});
        return tasks.size() - 1;
    }
    void depends(std::size_t of, std::size_t on) {
        EXPECT_LT(on, of) << "what is needed comes first";
        EXPECT_TRUE(tasks[of].on.insert(on).second) << "a dependency twice";
    }
    void fresh(std::size_t, const JobChunk &chunk, const JobReason &reason) { left_out.emplace_back(chunk, reason); }
};

struct Need {
    std::size_t node;
    std::int64_t max_lag;
    bool allow_missing = false;
    std::int64_t last_plan = k_never;
};
struct Node {
    std::int64_t chunk_size;
    std::vector<Need> needs{};
    std::vector<std::int64_t> at{}; // per id; empty: never
};
struct Request {
    std::vector<Node> nodes;
    std::int64_t ids;
    Prune prune = Prune::slice;
    bool strict_order = false;
};

// The model's memory, and its run.
class Model {
public:
    explicit Model(const Request &of) : request_{of.ids, k_now, of.prune, of.strict_order} {
        fresh_.resize(of.nodes.size());
        first_.push_back(0);
        for (std::size_t n = 0; n < of.nodes.size(); n++) {
            for (std::int64_t id = 0; id < of.ids; id++) {
                const std::int64_t at = of.nodes[n].at.empty() ? k_never : of.nodes[n].at[static_cast<std::size_t>(id)];
                if (!fresh_[n].empty() && fresh_[n].back().at == at)
                    fresh_[n].back().end = id + 1;
                else
                    fresh_[n].push_back({id + 1, at});
            }
            nodes_.push_back({of.nodes[n].chunk_size, needs_.size(), of.nodes[n].needs.size(), fresh_[n]});
            for (const Need &need : of.nodes[n].needs) {
                needs_.push_back({need.node, need.max_lag, need.allow_missing, need.last_plan});
                target_.push_back(need.node);
            }
            first_.push_back(target_.size());
        }
        order_.resize(nodes_.size());
        std::vector<CycleWork> work(nodes_.size());
        put_targets_first({first_, target_}, work, order_);
    }

    Lines run() {
        const JobGraph graph{nodes_, needs_, order_};
        std::vector<std::size_t> tasks(job_tasks_needed(graph, request_.ids));
        std::vector<std::int64_t> ages(job_ages_needed(graph, request_.ids));
        const JobPlanMemory memory{tasks, ages};
        Lines lines;
        JobPlan(graph, request_, memory, lines).make();
        return lines;
    }

private:
    JobRequest request_;
    std::vector<std::vector<FreshStretch>> fresh_;
    std::vector<JobNode> nodes_;
    std::vector<JobNeed> needs_;
    std::vector<std::size_t> first_, target_, order_;
};

std::string name(const JobChunk &chunk) {
    return std::string(1, static_cast<char>('A' + chunk.node)) + '[' + std::to_string(chunk.first + 1) + '-' +
           std::to_string(chunk.end) + ']';
}

std::set<std::string> plan(const Request &request) {
    const Lines lines = Model(request).run();
    std::set<std::string> text;
    for (const Lines::Task &task : lines.tasks) {
        std::set<std::string> on;
        for (const std::size_t t : task.on)
            on.insert(name(lines.tasks[t].chunk));
        std::string line = name(task.chunk) + " <-";
        for (const std::string &other : on)
            line += ' ' + other;
        EXPECT_TRUE(text.insert(line).second) << line;
    }
    return text;
}

using Text = std::set<std::string>;

// Stau's example: A in threes needs B and C, B in twos needs E (here D), C needs another, E in sixes; C is fresh.
TEST(JobPlan, WorkedExample) {
    const std::vector<std::int64_t> lately(6, k_now - 5);
    const Request request{{{3, {{1, 10}, {2, 10}}}, {2, {{3, 10}}}, {3, {{4, 10}}, lately}, {6}, {3}}, 6};
    EXPECT_EQ(plan(request), (Text{"A[1-3] <- B[1-2] B[3-4]", "A[4-6] <- B[3-4] B[5-6]", "B[1-2] <- D[1-6]",
                                   "B[3-4] <- D[1-6]", "B[5-6] <- D[1-6]", "D[1-6] <-"}));
    const Lines lines = Model(request).run();
    for (const auto &[chunk, reason] : lines.left_out) {
        EXPECT_EQ(chunk.node, 2u);
        EXPECT_EQ(reason.oldest, k_now - 5);
    }
    EXPECT_EQ(lines.left_out.size(), 2u);
    EXPECT_EQ(lines.tasks[0].reason.need, 2u); // that of B
    EXPECT_EQ(lines.tasks[0].reason.oldest, k_never);
    EXPECT_EQ(lines.tasks.back().reason.need, k_no_task);
}

TEST(JobPlan, EqualSizesGiveChains) {
    EXPECT_EQ(plan({{{2, {{1, 0}}}, {2}}, 5}), (Text{"A[1-2] <- B[1-2]", "A[3-4] <- B[3-4]", "A[5-5] <- B[5-5]",
                                                     "B[1-2] <-", "B[3-4] <-", "B[5-5] <-"}));
}

TEST(JobPlan, SizesThatDoNotDivideBeginAgainWithTheSlice) {
    EXPECT_EQ(plan({{{4, {{1, 0}}}, {6}}, 12}), (Text{"A[1-4] <- B[1-6]", "A[5-6] <- B[1-6]", "A[7-10] <- B[7-12]",
                                                      "A[11-12] <- B[7-12]", "B[1-6] <-", "B[7-12] <-"}));
}

TEST(JobPlan, OneLargerLeafTiesChains) {
    EXPECT_EQ(plan({{{1, {{1, 0}}}, {3}}, 3}),
              (Text{"A[1-1] <- B[1-3]", "A[2-2] <- B[1-3]", "A[3-3] <- B[1-3]", "B[1-3] <-"}));
}

TEST(JobPlan, WithoutChunksAllIdsAreOne) {
    EXPECT_EQ(plan({{{0, {{1, 0}}}, {2}}, 5}),
              (Text{"A[1-5] <- B[1-2] B[3-4] B[5-5]", "B[1-2] <-", "B[3-4] <-", "B[5-5] <-"}));
    EXPECT_EQ(plan({{{0, {{1, 0}}}, {0}}, 1}), (Text{"A[1-1] <- B[1-1]", "B[1-1] <-"}));
}

TEST(JobPlan, WithoutIdsNothingRuns) { EXPECT_EQ(plan({{{3, {{1, 0}}}, {0}}, 0}), Text{}); }

TEST(JobPlan, AnAgeThatEqualsTheLagIsFresh) {
    const auto runs = [](std::int64_t at, std::int64_t max_lag) {
        return plan({{{1, {{1, max_lag}}}, {1, {}, {at}}}, 1}).size() == 2;
    };
    EXPECT_FALSE(runs(k_now - 10, 10));
    EXPECT_TRUE(runs(k_now - 11, 10));
    EXPECT_TRUE(runs(k_now, 0));      // a lag of nothing: always
    EXPECT_FALSE(runs(k_now + 5, 1)); // a clock that went back
    EXPECT_TRUE(runs(k_never, std::numeric_limits<std::int64_t>::max()));
    EXPECT_TRUE(runs(k_never + 1, 10)); // an age that does not fit
}

TEST(JobPlan, PruneBySliceOrByChunk) {
    // Of B's ids 1 to 4 only 4 is old.
    Request request{{{4, {{1, 10}}}, {2, {{2, 10}}, {k_now, k_now, k_now, k_now - 100}}, {1}}, 4};
    EXPECT_EQ(plan(request), (Text{"A[1-4] <- B[1-2] B[3-4]", "B[1-2] <- C[1-1] C[2-2]", "B[3-4] <- C[3-3] C[4-4]",
                                   "C[1-1] <-", "C[2-2] <-", "C[3-3] <-", "C[4-4] <-"}));
    request.prune = Prune::chunk;
    EXPECT_EQ(plan(request), (Text{"A[1-4] <- B[3-4]", "B[3-4] <- C[3-3] C[4-4]", "C[3-3] <-", "C[4-4] <-"}));
}

TEST(JobPlan, AStaleResultBelowAFreshOneIsNotLookedAt) {
    EXPECT_EQ(plan({{{1, {{1, 10}}}, {1, {{2, 10}}, {k_now}}, {1}}, 1}), (Text{"A[1-1] <-"}));
}

TEST(JobPlan, WhatIsFreshForOneMayRunForAnother) {
    // A needs B and C; C's result is fresh enough for A, but not for B.
    Request request{{{1, {{1, 0}, {2, 100}}}, {1, {{2, 10}}}, {1, {}, {k_now - 50}}}, 1};
    EXPECT_EQ(plan(request), (Text{"A[1-1] <- B[1-1]", "B[1-1] <- C[1-1]", "C[1-1] <-"}));
    request.strict_order = true;
    EXPECT_EQ(plan(request), (Text{"A[1-1] <- B[1-1] C[1-1]", "B[1-1] <- C[1-1]", "C[1-1] <-"}));
}

TEST(JobPlan, MissingResultsAreAllowedIfTheTypeHasRunLately) {
    const auto runs = [](std::int64_t last_plan) {
        return plan({{{2, {{1, 10, true, last_plan}}}, {2, {}, {k_never, k_now}}}, 2}).size() == 2;
    };
    EXPECT_FALSE(runs(k_now - 10));
    EXPECT_TRUE(runs(k_now - 11)); // then each id counts
    EXPECT_TRUE(runs(k_never));
}

// The same, id by id, chunk by chunk, without anything clever.
class Naive {
public:
    explicit Naive(const Request &of) : of_(of) {
        std::int64_t width = 1;
        for (const Node &node : of.nodes)
            width = std::max(width, node.chunk_size == 0 ? of.ids : node.chunk_size);
        for (std::int64_t first = 0; first < of.ids; first += width)
            slices_.push_back(ids(first, std::min(first + width, of.ids)));
    }

    Text plan() {
        for (const Ids &slice : slices_)
            for (const Ids &chunk : chunks(0, slice))
                visit(0, chunk, slice);
        Text text;
        for (const auto &[node, chunk] : runs_)
            text.insert(line(node, chunk));
        return text;
    }

private:
    using Ids = std::set<std::int64_t>;

    static Ids ids(std::int64_t first, std::int64_t end) {
        Ids result;
        for (; first < end; first++)
            result.insert(first);
        return result;
    }
    [[nodiscard]] std::vector<Ids> chunks(std::size_t node, const Ids &slice) const {
        std::vector<Ids> result;
        for (const std::int64_t id : slice) {
            if (result.empty() || static_cast<std::int64_t>(result.back().size()) == of_.nodes[node].chunk_size)
                result.emplace_back();
            result.back().insert(id);
        }
        return result;
    }
    static bool share(const Ids &a, const Ids &b) {
        for (const std::int64_t id : a)
            if (b.contains(id))
                return true;
        return false;
    }
    [[nodiscard]] bool met(const Need &need, const Ids &chunk, const Ids &slice) const {
        if (need.allow_missing && need.last_plan != k_never && need.max_lag != 0 &&
            k_now - need.last_plan <= need.max_lag)
            return true;
        for (const std::int64_t id : of_.prune == Prune::slice ? slice : chunk) {
            const std::vector<std::int64_t> &at = of_.nodes[need.node].at;
            if (at.empty() || at[static_cast<std::size_t>(id)] == k_never || need.max_lag == 0 ||
                k_now - at[static_cast<std::size_t>(id)] > need.max_lag)
                return false;
        }
        return true;
    }
    [[nodiscard]] const Ids &slice_of(const Ids &chunk) const {
        for (const Ids &slice : slices_)
            if (slice.contains(*chunk.begin()))
                return slice;
        std::abort();
    }
    void visit(std::size_t node, const Ids &chunk, const Ids &slice) {
        if (!runs_.emplace(node, chunk).second)
            return;
        for (const Need &need : of_.nodes[node].needs)
            for (const Ids &needed : chunks(need.node, slice))
                if ((share(chunk, needed) || of_.prune == Prune::slice) && !met(need, needed, slice))
                    visit(need.node, needed, slice);
    }
    [[nodiscard]] std::string line(std::size_t node, const Ids &chunk) const {
        Text on;
        for (const Need &need : of_.nodes[node].needs)
            for (const auto &[other, needed] : runs_)
                if (other == need.node && share(chunk, needed) &&
                    (of_.strict_order || !met(need, needed, slice_of(chunk))))
                    on.insert(label(other, needed));
        std::string text = label(node, chunk) + " <-";
        for (const std::string &other : on)
            text += ' ' + other;
        return text;
    }
    static std::string label(std::size_t node, const Ids &chunk) {
        return name({node, *chunk.begin(), *chunk.rbegin() + 1});
    }

    const Request &of_;
    std::vector<Ids> slices_;
    std::set<std::pair<std::size_t, Ids>> runs_;
};

Request random_request(std::mt19937_64 &random) {
    const auto below = [&](std::int64_t n) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    Request request;
    request.ids = below(25);
    request.prune = below(2) == 0 ? Prune::slice : Prune::chunk;
    request.strict_order = below(3) == 0;
    request.nodes.resize(static_cast<std::size_t>(1 + below(7)));
    const std::int64_t staleness = 1 + below(5);
    for (std::size_t n = 0; n < request.nodes.size(); n++) {
        Node &node = request.nodes[n];
        node.chunk_size = below(8);
        if (below(4) != 0)
            for (std::int64_t id = 0; id < request.ids; id++)
                node.at.push_back(below(10) == 0 ? k_never : k_now - below(10 * staleness));
        for (std::size_t other = n + 1; other < request.nodes.size(); other++)
            if (n == 0 || below(2) == 0)
                node.needs.push_back({other, below(20), below(4) == 0, below(2) == 0 ? k_never : k_now - below(30)});
    }
    return request;
}

TEST(JobPlan, AgreesWithAReference) {
    std::mt19937_64 random(20261123);
    std::size_t tasks = 0;
    for (int round = 0; round < 5'000; round++) {
        const Request request = random_request(random);
        const Text expected = Naive(request).plan();
        ASSERT_EQ(plan(request), expected) << "round " << round;
        tasks += expected.size();
    }
    EXPECT_GT(tasks, 25'000u);
}

TEST(JobPlan, AMillionIds) {
    constexpr std::int64_t k_ids = 1'000'000;
    Request request{{{1000, {{1, 10}, {2, 10}}}, {1000, {{3, 10}}}, {1000, {{3, 10}, {4, 10}}}, {1000}, {1000}}, k_ids};
    Model stale(request);
    const auto before = std::chrono::steady_clock::now();
    const Lines lines = stale.run();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - before;
    EXPECT_EQ(lines.tasks.size(), 5000u);
    std::printf("1,000,000 ids, 5 types, all stale: %.1f ms\n", took.count());
}

struct TypeOf {
    std::vector<JobTypeNeed> needs;
};

// Arguments as texts, in which later characters win: here just strings that are joined.
struct Arguments {
    std::vector<std::string> known{""};
    std::size_t number(const std::string &text) {
        for (std::size_t i = 0; i < known.size(); i++)
            if (known[i] == text)
                return i;
        known.push_back(text);
        return known.size() - 1;
    }
    // "ab" overlaid with "B": each letter once, its last case counts.
    std::size_t overlay(std::size_t args, std::size_t with) {
        std::map<char, char> letters;
        for (const char c : known[args] + known[with])
            letters[static_cast<char>(std::tolower(c))] = c;
        std::string text;
        for (const auto &[letter, c] : letters)
            text += c;
        return number(text);
    }
};

struct Grown {
    std::vector<JobNodeName> names;
    std::vector<JobNode> nodes;
    std::vector<JobNeed> needs;
    bool fits;
};

Grown grow(const std::vector<TypeOf> &types, Arguments &arguments, const std::string &args = "",
           std::size_t max_nodes = 1000) {
    std::vector<JobType> of;
    for (const TypeOf &type : types)
        of.push_back({1, type.needs, {}});
    Grown grown;
    grown.fits = grow_job_graph(of, {0, arguments.number(args), 0}, max_nodes, grown,
                                [&](std::size_t a, std::size_t b) { return arguments.overlay(a, b); });
    return grown;
}

TEST(JobGraph, ArgumentsGoDownAndTheLastOneWins) {
    // As Stau showed: the request {m, z}, A's need of B {M, n}, B's of D {m: another}.
    Arguments arguments;
    const std::size_t b = arguments.number("Mn"), d = arguments.number("m"), none = 0;
    const Grown grown = grow({{{{1, 5, b}}}, {{{2, 5, d}}}, {{{3, 5, none}}}, {}}, arguments, "mz");
    std::vector<std::string> args;
    for (const JobNodeName &node : grown.names)
        args.push_back(arguments.known[node.args]);
    EXPECT_EQ(args, (std::vector<std::string>{"mz", "Mnz", "mnz", "mnz"}));
}

TEST(JobGraph, EqualArgumentsAreOneNodeAndOthersAreNot) {
    Arguments arguments;
    const std::size_t x = arguments.number("x"), y = arguments.number("y");
    // A needs B and C, both need D.
    EXPECT_EQ(grow({{{{1, 5, x}, {2, 5, x}}}, {{{3, 5, 0}}}, {{{3, 5, 0}}}, {}}, arguments).nodes.size(), 4u);
    EXPECT_EQ(grow({{{{1, 5, x}, {2, 5, y}}}, {{{3, 5, 0}}}, {{{3, 5, 0}}}, {}}, arguments).nodes.size(), 5u);
}

TEST(JobGraph, ANeedNamedTwiceCountsOnce) {
    Arguments arguments;
    const std::size_t x = arguments.number("x");
    const Grown grown = grow({{{{1, 5, x, false, true}, {1, 3, 0}}}, {}}, arguments, "x");
    ASSERT_EQ(grown.needs.size(), 1u);
    EXPECT_EQ(grown.needs[0].max_lag, 3);
    EXPECT_FALSE(grown.needs[0].allow_missing);
}

TEST(JobGraph, UniqueCopiesAllBelow) {
    Arguments arguments;
    // A needs B and C; each needs D, which needs E; B's D is its own.
    const auto types = [](bool unique) {
        return std::vector<TypeOf>{{{{1, 5, 0}, {2, 5, 0}}}, {{{3, 5, 0, unique}}}, {{{3, 5, 0}}}, {{{4, 5, 0}}}, {}};
    };
    EXPECT_EQ(grow(types(false), arguments).nodes.size(), 5u);
    const Grown grown = grow(types(true), arguments);
    EXPECT_EQ(grown.nodes.size(), 7u);
    std::map<std::size_t, int> of_type;
    for (const JobNodeName &node : grown.names)
        of_type[node.type]++;
    EXPECT_EQ(of_type, (std::map<std::size_t, int>{{0, 1}, {1, 1}, {2, 1}, {3, 2}, {4, 2}}));
}

TEST(JobGraph, CopiesAreLimited) {
    Arguments arguments;
    std::vector<TypeOf> types;
    for (std::size_t level = 0; level < 30; level++)
        types.push_back({{{level + 1, 5, 0, true}, {level + 1, 5, 0, true}}});
    types.push_back({});
    EXPECT_FALSE(grow(types, arguments).fits);
}

} // namespace
} // namespace test_job_plan
