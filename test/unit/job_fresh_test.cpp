#include "model/job_fresh.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace test_job_fresh {
namespace {

using namespace scylla::model;

struct Painted {
    std::vector<Success> successes; // sorted
    std::vector<FreshRange> ranges;
};

Painted painted(std::vector<Success> successes) {
    std::vector<std::int64_t> borders(2 * successes.size()), at(borders.size());
    std::vector<std::size_t> next(borders.size());
    std::vector<FreshRange> ranges(borders.size());
    ranges.resize(paint(successes, {borders, next, at}, ranges));
    return {std::move(successes), std::move(ranges)};
}

std::vector<std::vector<std::int64_t>> shown(const std::vector<FreshRange> &ranges) {
    std::vector<std::vector<std::int64_t>> rows;
    for (const FreshRange &range : ranges)
        rows.push_back({range.ids.first, range.ids.end, range.at});
    return rows;
}

using Rows = std::vector<std::vector<std::int64_t>>;

TEST(JobFresh, TheLatestCountsInWhateverOrderTheyCame) {
    EXPECT_EQ(shown(painted({{{1, 10}, 5}, {{3, 5}, 9}, {{4, 12}, 2}}).ranges),
              (Rows{{1, 3, 5}, {3, 5, 9}, {5, 10, 5}, {10, 12, 2}}));
    EXPECT_EQ(shown(painted({}).ranges), Rows{});
}

TEST(JobFresh, NeighboursOfOneTimeAreJoined) {
    EXPECT_EQ(shown(painted({{{1, 4}, 5}, {{4, 6}, 5}, {{7, 8}, 5}}).ranges), (Rows{{1, 6, 5}, {7, 8, 5}}));
}

TEST(JobFresh, WhatIsCoveredDoesNotCount) {
    const Painted all = painted({{{1, 10}, 1}, {{1, 6}, 2}, {{6, 10}, 3}});
    EXPECT_TRUE(all.successes[0].counts);
    EXPECT_TRUE(all.successes[1].counts);
    EXPECT_FALSE(all.successes[2].counts);
}

TEST(JobFresh, NumbersLeaveOutIdsThatAreNotRequested) {
    const std::vector<FreshRange> fresh{{{1, 4}, 5}, {{6, 20}, 7}};
    const std::vector<JobRange> requested{{2, 5}, {7, 9}, {30, 31}};
    std::vector<FreshStretch> stretches(2 * fresh.size() + 2 * requested.size() + 1);
    stretches.resize(number_fresh(fresh, requested, stretches));
    Rows rows;
    for (const FreshStretch &stretch : stretches)
        rows.push_back({stretch.end, stretch.at});
    EXPECT_EQ(rows, (Rows{{2, 5}, {3, k_never}, {5, 7}, {6, k_never}}));
}

// Id by id.
TEST(JobFresh, AgreesWithAReference) {
    std::mt19937_64 random(20);
    const auto below = [&](std::int64_t n) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    for (int round = 0; round < 5'000; round++) {
        std::vector<Success> successes;
        std::map<std::int64_t, std::int64_t> latest;
        for (std::int64_t n = below(12); n > 0; n--) {
            const std::int64_t first = below(40);
            const Success success{{first, first + 1 + below(15)}, below(6)};
            successes.push_back(success);
            for (std::int64_t id = success.ids.first; id < success.ids.end; id++)
                latest[id] = std::max(latest.contains(id) ? latest[id] : k_never, success.at);
        }
        const Painted all = painted(successes);
        std::map<std::int64_t, std::int64_t> found;
        for (const FreshRange &range : all.ranges)
            for (std::int64_t id = range.ids.first; id < range.ids.end; id++)
                EXPECT_TRUE(found.emplace(id, range.at).second);
        ASSERT_EQ(found, latest) << "round " << round;
        // What does not count can go.
        std::vector<Success> kept;
        for (const Success &success : all.successes)
            if (success.counts)
                kept.push_back({success.ids, success.at});
        ASSERT_EQ(shown(painted(kept).ranges), shown(all.ranges));

        std::vector<JobRange> requested;
        std::vector<std::int64_t> expected;
        for (std::int64_t id = below(5); id < 60; id += 1 + below(6)) {
            const JobRange range{id, id + 1 + below(8)};
            requested.push_back(range);
            for (id = range.first; id < range.end; id++)
                expected.push_back(latest.contains(id) ? latest[id] : k_never);
        }
        std::vector<FreshStretch> stretches(2 * all.ranges.size() + 2 * requested.size() + 1);
        stretches.resize(number_fresh(all.ranges, requested, stretches));
        std::vector<std::int64_t> numbered;
        for (const FreshStretch &stretch : stretches)
            while (static_cast<std::int64_t>(numbered.size()) < stretch.end)
                numbered.push_back(stretch.at);
        ASSERT_EQ(numbered, expected) << "round " << round;
    }
}

} // namespace
} // namespace test_job_fresh
