#include "placement_scenario.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <numeric>
#include <queue>
#include <random>
#include <set>
#include <string>

namespace test_placement {
namespace {

using namespace scenario;

std::vector<std::int64_t> started(const Scenario &given) {
    std::vector<std::int64_t> ids;
    for (const Start &start : Model(given).run().starts)
        ids.push_back(start.id);
    return ids;
}

using Ids = std::vector<std::int64_t>;

Task task(std::int64_t id, double rank, std::vector<Needs> ways, std::int64_t runtime = k_no_time) {
    return {std::move(ways), {rank, id, id}, runtime};
}

// One pool with one resource.
Scenario permits(Policy policy, Amount capacity, Amount free) {
    Scenario given;
    given.pools = {{policy}};
    given.cells = {{0, capacity, free}};
    return given;
}

// The worked example: of 2,000 GB and 5,000 cores 80 % and 50 % are in use. A (300, 1000), B (200, 500),
// C (100, 1500), D (1, 1), with priorities 9 to 6.
Scenario worked_example(Policy policy) {
    Scenario given;
    given.pools = {{policy}};
    given.cells = {{0, 2000, 400}, {0, 5000, 2500}};
    given.tasks = {task(1, 9, {{{0, 300}, {1, 1000}}}), task(2, 8, {{{0, 200}, {1, 500}}}),
                   task(3, 7, {{{0, 100}, {1, 1500}}}), task(4, 6, {{{0, 1}, {1, 1}}})};
    return given;
}

TEST(Placement, WorkedExampleStrict) { EXPECT_EQ(started(worked_example(Policy::strict)), (Ids{1})); }

TEST(Placement, WorkedExampleGreedy) {
    const Scenario given = worked_example(Policy::greedy);
    EXPECT_EQ(started(given), (Ids{1, 3}));
    const Result result = Model(given).run();
    EXPECT_EQ(result.refusals.at(2).reason, Reason::lacking);
    EXPECT_TRUE(result.refusals.at(2).amount == 100);
    EXPECT_EQ(result.refusals.at(4).reason, Reason::lacking);
    EXPECT_TRUE(result.refusals.at(4).amount == 1);
}

TEST(Placement, NothingWaits) {
    EXPECT_TRUE(started(permits(Policy::backfill, 3, 3)).empty());
    EXPECT_TRUE(started({}).empty());
}

TEST(Placement, EqualityFits) {
    Scenario given = permits(Policy::strict, 3, 3);
    given.tasks = {task(1, 1, {{{0, 3}}})};
    EXPECT_EQ(started(given), (Ids{1}));
    given.cells[0].free = 2;
    EXPECT_EQ(started(given), Ids{});
}

TEST(Placement, TiesGoByAgeAndThenById) {
    Scenario given = permits(Policy::greedy, 2, 2);
    given.tasks = {
        {{{{0, 1}}}, {5, 20, 1}}, {{{{0, 1}}}, {5, 10, 9}}, {{{{0, 1}}}, {5, 10, 8}}, {{{{0, 1}}}, {4, 1, 2}}};
    EXPECT_EQ(started(given), (Ids{8, 9}));
}

TEST(Placement, CapacityOfZeroBlocksOnlyWhoNeedsIt) {
    for (const Policy policy : {Policy::strict, Policy::greedy, Policy::backfill}) {
        Scenario given;
        given.pools = {{policy}};
        given.cells = {{0, 0, 0}, {0, 5, 5}};
        given.tasks = {task(1, 9, {{{0, 1}}}), task(2, 8, {{{0, 0}, {1, 1}}}), task(3, 7, {{{1, 1}}})};
        EXPECT_EQ(started(given), (Ids{2, 3}));
        EXPECT_EQ(Model(given).run().refusals.at(1).reason, Reason::too_much);
    }
}

TEST(Placement, ZeroNeedsNothingOfWhatIsOverdrawn) {
    Scenario given = permits(Policy::strict, 2, -1);
    given.tasks = {task(1, 9, {{{0, 0}}}), task(2, 8, {{{0, 1}}})};
    EXPECT_EQ(started(given), (Ids{1}));
    EXPECT_TRUE(Model(given).run().refusals.at(2).amount == 2);
}

TEST(Placement, SeveralPoolsAllOrNone) {
    Scenario given;
    given.pools = {{Policy::greedy}, {Policy::greedy}};
    given.cells = {{0, 10, 10}, {1, 1, 1}};
    given.tasks = {task(1, 9, {{{0, 5}, {1, 1}}}), task(2, 8, {{{0, 5}, {1, 1}}}), task(3, 7, {{{0, 5}}})};
    EXPECT_EQ(started(given), (Ids{1, 3})); // 2 takes nothing of the first pool, as the second one has no room
}

TEST(Placement, AnyOfSeveralTakesTheFirstThatFits) {
    Scenario given;
    given.pools = {{Policy::strict}, {Policy::strict}};
    given.cells = {{0, 10, 3}, {1, 10, 10}};
    given.tasks = {task(1, 9, {{{0, 5}}, {{1, 5}}}), task(2, 8, {{{0, 3}}, {{1, 3}}})};
    const Result result = Model(given).run();
    EXPECT_EQ(result.starts, (std::vector<Start>{{1, 1}, {2, 0}}));
}

TEST(Placement, AStrictPoolIsStoppedByTheFirstThatDoesNotFit) {
    Scenario given;
    given.pools = {{Policy::strict}, {Policy::greedy}};
    given.cells = {{0, 10, 10}, {1, 1, 0}};
    given.tasks = {task(1, 9, {{{0, 1}, {1, 1}}}), task(2, 8, {{{0, 1}}})};
    EXPECT_EQ(started(given), Ids{}); // the first lacks a permit of the second pool
    EXPECT_EQ(Model(given).run().refusals.at(2).reason, Reason::behind);
}

TEST(Placement, AClosedPoolStopsNobodyElse) {
    Scenario given;
    given.pools = {{Policy::strict}, {Policy::strict, true}};
    given.cells = {{0, 10, 10}, {1, 10, 10}};
    given.tasks = {task(1, 9, {{{0, 1}, {1, 1}}}), task(2, 8, {{{0, 1}}}), task(3, 7, {{{1, 1}}, {{0, 1}}})};
    EXPECT_EQ(started(given), (Ids{2, 3}));
    EXPECT_EQ(Model(given).run().refusals.at(1).reason, Reason::closed);
}

TEST(Placement, BackfillStartsWhatEndsBeforeThePlannedStart) {
    Scenario given = permits(Policy::backfill, 10, 4);
    given.now = 1000;
    given.running = {{1100, 0, 6}};
    given.tasks = {task(1, 9, {{{0, 8}}}, 50), task(2, 8, {{{0, 2}}}, 100), task(3, 7, {{{0, 2}}}, 101)};
    const Result result = Model(given).run();
    EXPECT_EQ(result.starts, (std::vector<Start>{{2, 0}, {3, 0}})); // 3 takes the two that are spare even then
    EXPECT_EQ(result.heads[0].task, 1);
    EXPECT_EQ(result.heads[0].start, 1100);
    EXPECT_EQ(result.heads[0].passed, 2);
}

TEST(Placement, BackfillStartsNothingThatWouldDelayTheHead) {
    Scenario given = permits(Policy::backfill, 10, 4);
    given.now = 1000;
    given.running = {{1100, 0, 6}};
    given.tasks = {task(1, 9, {{{0, 9}}}, 50), task(2, 8, {{{0, 2}}}, 101), task(3, 7, {{{0, 2}}}),
                   task(4, 6, {{{0, 1}}}),     task(5, 5, {{{0, 1}}}),      task(6, 4, {{{0, 3}}}, 100)};
    const Result result = Model(given).run();
    EXPECT_EQ(result.starts, (std::vector<Start>{{4, 0}, {6, 0}}));
    EXPECT_EQ(result.refusals.at(2).reason, Reason::delaying);
    EXPECT_EQ(result.refusals.at(3).reason, Reason::delaying);
    EXPECT_EQ(result.refusals.at(5).reason, Reason::delaying);
}

TEST(Placement, AnOverdueEndIsExpectedNow) {
    Scenario given = permits(Policy::backfill, 10, 4);
    given.now = 1000;
    given.running = {{900, 0, 6}};
    given.tasks = {task(1, 9, {{{0, 9}}}, 50), task(2, 8, {{{0, 2}}}, 1), task(3, 7, {{{0, 1}}}, 1)};
    const Result result = Model(given).run();
    EXPECT_EQ(result.heads[0].start, 1000);
    EXPECT_EQ(result.starts, (std::vector<Start>{{3, 0}}));
}

TEST(Placement, WhatBecomesFreeIsKeptForAHeadWithoutAPlan) {
    Scenario given = permits(Policy::backfill, 10, 4);
    given.pools[0].max_bypass = 3;
    given.tasks = {task(1, 9, {{{0, 8}}})};
    for (std::int64_t id = 2; id <= 5; id++)
        given.tasks.push_back(task(id, 8, {{{0, 1}}}));
    Result result = Model(given).run();
    EXPECT_EQ(result.starts.size(), 3U);
    EXPECT_EQ(result.heads[0].passed, 3);
    EXPECT_EQ(result.heads[0].start, k_no_time);
    EXPECT_EQ(result.refusals.at(5).reason, Reason::kept);
    // The next pass goes on from there, as long as it is the same head.
    given.pools[0].head = result.heads[0];
    given.tasks.erase(given.tasks.begin() + 1, given.tasks.begin() + 4);
    EXPECT_EQ(started(given), Ids{});
    given.tasks[0].at.id = 99;
    EXPECT_EQ(started(given), (Ids{5}));
}

TEST(Placement, WhatAHeadDoesNotNeedIsNotKept) {
    Scenario given;
    given.pools = {{Policy::backfill, false, 0}};
    given.cells = {{0, 10, 0}, {0, 10, 5}};
    given.tasks = {task(1, 9, {{{0, 8}}}), task(2, 8, {{{1, 1}}})};
    EXPECT_EQ(started(given), (Ids{2}));
}

TEST(Placement, AHeadIsPlannedWhereItCanStartFirst) {
    Scenario given;
    given.pools = {{Policy::backfill}, {Policy::backfill}};
    given.cells = {{0, 10, 4}, {1, 10, 4}};
    given.running = {{200, 0, 6}, {100, 1, 6}};
    given.tasks = {task(1, 9, {{{0, 10}}, {{1, 10}}}, 10), task(2, 8, {{{0, 4}}}), task(3, 7, {{{1, 1}}})};
    const Result result = Model(given).run();
    EXPECT_EQ(result.heads[0].task, 0);
    EXPECT_EQ(result.refusals.at(3).reason, Reason::delaying);
    EXPECT_EQ(result.heads[1].task, 1);
    EXPECT_EQ(result.heads[1].start, 100);
    EXPECT_EQ(result.starts, (std::vector<Start>{{2, 0}}));
}

// The task that needs both pools waits for the head of the strict one. When that will start is not known, so what it
// needs of the other pool is not kept for it at once.
TEST(Placement, ATaskBehindAnotherPoolsHeadKeepsNothingElse) {
    Scenario given;
    given.pools = {{Policy::strict}, {Policy::backfill}};
    given.cells = {{0, 10, 4}, {1, 10, 10}};
    given.tasks = {task(1, 9, {{{0, 8}}}), task(2, 8, {{{0, 1}, {1, 10}}}), task(3, 7, {{{1, 4}}})};
    const Result result = Model(given).run();
    EXPECT_EQ(result.heads[1].task, 2);
    EXPECT_EQ(result.heads[1].start, k_no_time);
    EXPECT_EQ(result.starts, (std::vector<Start>{{3, 0}}));
}

TEST(Placement, TheNextOfTheSameNeedsIsTheHeadWhereTheFirstIsNot) {
    Scenario given;
    given.pools = {{Policy::backfill}, {Policy::backfill}};
    given.cells = {{0, 10, 4}, {1, 10, 4}};
    given.running = {{200, 0, 6}, {100, 1, 6}};
    for (std::int64_t id = 1; id <= 3; id++)
        given.tasks.push_back(task(id, 9, {{{0, 10}}, {{1, 10}}}, 10));
    const Result result = Model(given).run();
    EXPECT_EQ(result.heads[1].task, 1);
    EXPECT_EQ(result.heads[0].task, 2);
    EXPECT_EQ(result.heads[0].start, 200);
}

TEST(Placement, ATaskThatIsGoneTakesNothing) {
    Scenario given = permits(Policy::strict, 1, 1);
    given.tasks = {task(1, 9, {{{0, 1}}}), task(2, 9, {{{0, 1}}})};
    given.tasks[0].gone = true;
    EXPECT_EQ(started(given), (Ids{2}));
}

// A pass that has not been committed has started it: what it holds is counted, but it is still seen in line.
TEST(Placement, WhoHasJustBeenStartedIsNoHead) {
    Scenario given = permits(Policy::backfill, 10, 4);
    given.running = {{60, 0, 6}};
    given.tasks = {task(1, 9, {{{0, 6}}}, 60), task(2, 8, {{{0, 9}}}, 60), task(3, 7, {{{0, 2}}}, 120)};
    given.tasks[0].gone = true;
    EXPECT_EQ(started(given), Ids{});
    EXPECT_EQ(Model(given).run().heads[0].task, 2);
    given.pools[0].policy = Policy::strict;
    given.tasks[1].at.rank = 6; // behind the small one
    EXPECT_EQ(started(given), (Ids{3}));
}

TEST(Placement, ALimitIsNotExceededAndSaysThatThereIsMore) {
    Scenario given = permits(Policy::greedy, 9, 9);
    for (std::int64_t id = 1; id <= 5; id++)
        given.tasks.push_back(task(id, 1, {{{0, 1}}}));
    given.limit = 3;
    const Result some = Model(given).run();
    EXPECT_EQ(some.starts.size(), 3U);
    EXPECT_FALSE(some.complete);
    given.limit = 5;
    EXPECT_TRUE(Model(given).run().complete);
}

// Very many tasks of one role do not delay the few of another, unless these would overtake in the line of a pool.
TEST(Placement, WhereTheLimitIsReachedRolesWithFewStartsHaveTheirTurn) {
    Scenario given;
    given.pools = {{Policy::greedy}, {Policy::greedy}, {Policy::greedy}};
    given.cells = {{0, 100, 100}, {1, 100, 100}, {2, 100, 100}};
    given.limit = 20;
    for (std::int64_t id = 1; id <= 50; id++)
        given.tasks.push_back(task(id, 9, {{{0, 1}}}));
    for (std::int64_t id = 51; id <= 55; id++) {
        given.tasks.push_back(task(id, 1, {{{1, 1}}}));
        given.tasks.back().role = 1;
    }
    given.tasks.push_back(task(56, 0, {{{0, 1}, {2, 1}}})); // behind the many
    given.tasks.back().role = 2;
    given.tasks.push_back(task(57, -1, {{{2, 1}}})); // behind that
    given.tasks.back().role = 3;
    const Result some = Model(given).run();
    Ids ids;
    for (const Start &start : some.starts)
        ids.push_back(start.id);
    Ids expected(20);
    std::iota(expected.begin(), expected.end(), 1);
    expected.insert(expected.end(), {51, 52});
    EXPECT_EQ(ids, expected);
    EXPECT_FALSE(some.complete);
    given.limit = 100;
    EXPECT_TRUE(Model(given).run().complete);
}

TEST(Placement, AmountsOfAnySize) {
    Scenario given = permits(Policy::greedy, Amount{1} << 60, Amount{1} << 60);
    given.tasks = {task(1, 9, {{{0, (Amount{1} << 60) - 1}}}), task(2, 8, {{{0, 1}}})};
    EXPECT_EQ(started(given), (Ids{1, 2}));
}

void expect_same(const Scenario &given) {
    const Result model = Model(given).run();
    const Result reference = Reference(given).run();
    ASSERT_EQ(model.starts, reference.starts);
    ASSERT_EQ(model.complete, reference.complete);
    for (std::size_t p = 0; p < given.pools.size(); p++) {
        ASSERT_EQ(model.heads[p].task, reference.heads[p].task);
        ASSERT_EQ(model.heads[p].start, reference.heads[p].start);
        ASSERT_EQ(model.heads[p].passed, reference.heads[p].passed);
    }
}

TEST(Placement, AgreesWithGoingThroughTheTasksOneByOne) {
    std::mt19937_64 random(20261122);
    std::size_t starts = 0;
    std::size_t planned = 0;
    for (int round = 0; round < 20'000; round++) {
        const Scenario given =
            make_scenario([&](std::uint64_t limit) { return static_cast<std::int64_t>(random() % (limit + 1)); });
        expect_same(given);
        if (HasFatalFailure())
            FAIL() << "round " << round;
        const Result result = Model(given).run();
        starts += result.starts.size();
        for (const Head &head : result.heads)
            planned += head.task != 0 && head.start != k_no_time ? 1 : 0;
    }
    EXPECT_GT(starts, 10'000U);
    EXPECT_GT(planned, 1'000U);
}

// ---- a cluster -----------------------------------------------------------------------------------------------------

struct Job {
    std::int64_t arrival;
    std::int64_t runtime;
    std::int64_t expected;
    int priority;
    std::size_t shape;
    std::int64_t started = -1;
};

// Jobs of forty shapes: many small ones, and few that need most of the cluster. They bring 72 % of the work that the
// cluster could do if nothing was ever left idle beside a job.
struct Cluster {
    static constexpr std::int64_t k_memory = 2000;
    static constexpr std::int64_t k_cores = 5000;

    std::vector<Needs> shapes;
    std::vector<Job> jobs;

    Cluster(std::size_t count, double load) {
        std::mt19937_64 random(7);
        const auto between = [&](double low, double high) {
            return low * std::pow(high / low, static_cast<double>(random() >> 11) / 9007199254740992.0);
        };
        for (int s = 0; s < 40; s++)
            shapes.push_back(
                {{0, static_cast<std::int64_t>(between(4, 1600))}, {1, static_cast<std::int64_t>(between(10, 4000))}});
        double work = 0; // of the resource that is short, in seconds of the whole cluster
        for (std::size_t j = 0; j < count; j++) {
            Job job{};
            job.shape = static_cast<std::size_t>(between(1, 41)) - 1; // small numbers are frequent
            job.runtime = static_cast<std::int64_t>(between(30, 14'400));
            // Users ask for round times, and for more than they need.
            const auto wanted = static_cast<std::int64_t>(static_cast<double>(job.runtime) * between(1, 3));
            job.expected = (wanted / 900 + 1) * 900;
            job.priority = static_cast<int>(random() % 3);
            const Needs &needs = shapes[job.shape];
            work += static_cast<double>(job.runtime) * std::max(static_cast<double>(needs[0].amount) / k_memory,
                                                                static_cast<double>(needs[1].amount) / k_cores);
            job.arrival = static_cast<std::int64_t>(work / load);
            jobs.push_back(job);
        }
    }
};

struct Figures {
    double memory = 0; // utilisation until the last job has arrived
    double cores = 0;
    double mean_wait = 0;
    double big_wait = 0; // mean of those that need more than half of the cluster
    double longest_wait = 0;
    std::size_t over_capacity = 0;
    std::size_t delayed = 0; // heads whose planned start became later although nothing came in before them
    std::size_t planned = 0;
    std::size_t started = 0;
    std::size_t late = 0; // heads that started later than was planned for them
};

class Simulation {
public:
    Simulation(const Cluster &cluster, Policy policy) : cluster_(cluster), jobs_(cluster.jobs), policy_(policy) {}

    Figures run() {
        std::size_t arrived = 0;
        while (arrived < jobs_.size() || !running_.empty()) {
            const std::int64_t arrival = arrived < jobs_.size() ? jobs_[arrived].arrival : k_no_time;
            const std::int64_t end = running_.empty() ? k_no_time : running_.begin()->first;
            count_use(std::min(arrival, end));
            for (now_ = std::min(arrival, end); !running_.empty() && running_.begin()->first == now_;)
                finish();
            for (; arrived < jobs_.size() && jobs_[arrived].arrival == now_; arrived++)
                enter(arrived);
            pass();
        }
        figures_.mean_wait /= static_cast<double>(jobs_.size());
        figures_.big_wait /= static_cast<double>(big_);
        const auto whole = static_cast<double>(jobs_.back().arrival);
        figures_.memory /= whole * Cluster::k_memory;
        figures_.cores /= whole * Cluster::k_cores;
        return figures_;
    }

    // As the line of the model.
    scylla::model::Started start(std::size_t c, std::size_t) {
        const std::size_t j = *class_of_[c]->begin();
        Job &job = jobs_[j];
        const Needs &needs = cluster_.shapes[job.shape];
        job.started = now_;
        used_[0] += static_cast<std::int64_t>(needs[0].amount);
        used_[1] += static_cast<std::int64_t>(needs[1].amount);
        if (used_[0] > Cluster::k_memory || used_[1] > Cluster::k_cores)
            figures_.over_capacity++;
        running_.emplace(now_ + job.runtime, j);
        figures_.started++;
        const auto wait = static_cast<double>(now_ - job.arrival);
        figures_.mean_wait += wait;
        figures_.longest_wait = std::max(figures_.longest_wait, wait);
        if (needs[0].amount * 2 > Cluster::k_memory || needs[1].amount * 2 > Cluster::k_cores) {
            figures_.big_wait += wait;
            big_++;
        }
        if (static_cast<std::int64_t>(j) + 1 == planned_job_ && now_ > planned_start_ && !preceded_)
            figures_.late++;
        // Who comes before the head by the order may delay it.
        if (planned_job_ != 0 && comes_before(waiting(j), waiting(static_cast<std::size_t>(planned_job_ - 1))))
            preceded_ = true;
        return scylla::model::Started::yes;
    }
    bool is_waiting(std::size_t) const { return true; }
    bool next(std::size_t c, Waiting *first) {
        class_of_[c]->erase(class_of_[c]->begin());
        if (class_of_[c]->empty())
            return false;
        *first = waiting(*class_of_[c]->begin());
        return true;
    }

private:
    Waiting waiting(std::size_t j) const {
        return {static_cast<double>(jobs_[j].priority), jobs_[j].arrival, static_cast<std::int64_t>(j) + 1};
    }
    void count_use(std::int64_t until) {
        const std::int64_t end = std::min(until, jobs_.back().arrival);
        if (end <= now_)
            return;
        figures_.memory += static_cast<double>(used_[0]) * static_cast<double>(end - now_);
        figures_.cores += static_cast<double>(used_[1]) * static_cast<double>(end - now_);
    }
    void finish() {
        const Needs &needs = cluster_.shapes[jobs_[running_.begin()->second].shape];
        used_[0] -= static_cast<std::int64_t>(needs[0].amount);
        used_[1] -= static_cast<std::int64_t>(needs[1].amount);
        running_.erase(running_.begin());
    }
    void enter(std::size_t j) { line_[{jobs_[j].shape, jobs_[j].priority, jobs_[j].expected}].insert(j); }

    void pass() {
        using namespace scylla::model;
        std::erase_if(line_, [](const auto &entry) { return entry.second.empty(); });
        const std::array<ResourceCell, 2> given{ResourceCell{0, Cluster::k_memory, Cluster::k_memory - used_[0]},
                                                ResourceCell{0, Cluster::k_cores, Cluster::k_cores - used_[1]}};
        std::array<ResourceCell, 2> cells = given;
        class_of_.clear();
        classes_.clear();
        for (auto &[key, members] : line_) {
            class_of_.push_back(&members);
            classes_.push_back({std::get<0>(key), std::get<2>(key), waiting(*members.begin()), {}});
        }
        if (ways_.empty())
            for (const Needs &needs : cluster_.shapes)
                ways_.push_back({needs});
        if (shapes_.empty())
            for (const Way &way : ways_)
                shapes_.push_back({{&way, 1}});
        std::size_t ends = 0;
        ends_.resize((running_.size() + 6000) * 2);
        for (const auto &[end, j] : running_)
            for (const Need &need : cluster_.shapes[jobs_[j].shape])
                ends_[ends++] = {jobs_[j].started + jobs_[j].expected, need.cell, need.amount};
        sorting_.resize(ends_.size());
        heap_.resize(classes_.size());
        std::array<PlacementPool, 1> pools{PlacementPool{policy_, false, 100, head_}};
        std::array<Head, 1> before{};
        PlacementState state{now_, pools, cells, shapes_, classes_, ends_, ends, sorting_, heap_};
        place_tasks(state, before, 3000, *this);
        judge_head(pools[0].head);
        head_ = pools[0].head;
    }
    // The planned start of a head must not become later, unless a task that comes before it has started.
    void judge_head(const Head &head) {
        if (head.task == 0) {
            planned_job_ = 0;
            return;
        }
        figures_.planned++;
        if (head.task == planned_job_ && !preceded_ && head.start > planned_start_)
            figures_.delayed++;
        preceded_ = false;
        planned_job_ = head.task;
        planned_start_ = head.start;
    }

    const Cluster &cluster_;
    std::vector<Job> jobs_;
    Policy policy_;
    std::int64_t now_ = 0;
    std::array<std::int64_t, 2> used_{};
    std::multimap<std::int64_t, std::size_t> running_;
    std::map<std::tuple<std::size_t, int, std::int64_t>, std::set<std::size_t>> line_;
    std::vector<std::set<std::size_t> *> class_of_;
    std::vector<scylla::model::TaskClass> classes_;
    std::vector<scylla::model::Way> ways_;
    std::vector<scylla::model::Shape> shapes_;
    std::vector<End> ends_;
    std::vector<End> sorting_;
    std::vector<std::size_t> heap_;
    Head head_{};
    std::int64_t planned_job_ = 0;
    std::int64_t planned_start_ = 0;
    bool preceded_ = false;
    std::size_t big_ = 0;
    Figures figures_;
};

TEST(Placement, ACluster) {
    constexpr std::size_t k_jobs = 100'000;
    const Cluster cluster(k_jobs, 0.72);
    std::map<Policy, Figures> of;
    for (const auto &[policy, name] : {std::pair{Policy::strict, "strict"}, std::pair{Policy::greedy, "greedy"},
                                       std::pair{Policy::backfill, "backfill"}}) {
        const Figures figures = of[policy] = Simulation(cluster, policy).run();
        EXPECT_EQ(figures.started, k_jobs);
        EXPECT_EQ(figures.over_capacity, 0U);
        EXPECT_EQ(figures.delayed, 0U);
        EXPECT_EQ(figures.late, 0U);
        std::printf("| %s | %.1f %% | %.1f %% | %.1f h | %.1f h | %.1f h |\n", name, figures.memory * 100,
                    figures.cores * 100, figures.mean_wait / 3600, figures.big_wait / 3600,
                    figures.longest_wait / 3600);
    }
    EXPECT_GT(of[Policy::backfill].planned, 10'000U);
    EXPECT_GT(of[Policy::backfill].cores, of[Policy::strict].cores);
    EXPECT_LT(of[Policy::backfill].mean_wait, of[Policy::strict].mean_wait / 2);
    EXPECT_LT(of[Policy::backfill].longest_wait, of[Policy::greedy].longest_wait);
}

} // namespace
} // namespace test_placement
