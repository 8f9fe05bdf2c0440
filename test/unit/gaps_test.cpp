// Sets of gaps, against a set that holds every id.
#include "model/gaps.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>

namespace test_gaps {
namespace {

using namespace scylla::model;

constexpr std::int64_t k_end = std::numeric_limits<std::int64_t>::max();

TEST(Gaps, ThoseThatOverlapOrTouchBecomeOne) {
    Gaps<4> set{};
    add(set, {10, 20, 1});
    add(set, {30, 40, 1});
    add(set, {22, 28, 1});
    EXPECT_EQ(set.count, 3U);
    add(set, {21, 21, 1}); // touches two
    EXPECT_EQ(set.count, 2U);
    add(set, {29, 29, 2}); // another priority
    EXPECT_EQ(set.count, 3U);
    EXPECT_EQ(find(set, 1, 28)->low, 10);
    EXPECT_EQ(find(set, 1, 10)->high, 28);
    EXPECT_FALSE(find(set, 1, 29));
    EXPECT_TRUE(find(set, 2, 29));
}

TEST(Gaps, TheNarrowestIsForgotten) {
    Gaps<2> set{};
    add(set, {10, 20, 0});
    add(set, {30, 32, 0});
    add(set, {50, 60, 0});
    EXPECT_FALSE(find(set, 0, 31));
    EXPECT_TRUE(find(set, 0, 55));
    add(set, {70, 71, 0});
    EXPECT_FALSE(find(set, 0, 70));
    take_out(set, 0, 58, 58); // the parts are three, and there is room for two
    EXPECT_EQ(set.count, 2U);
    EXPECT_FALSE(find(set, 0, 58));
    EXPECT_FALSE(find(set, 0, 59));
    EXPECT_TRUE(find(set, 0, 57));
}

TEST(Gaps, WhatIsOutside) {
    Gaps<4> set{};
    std::array<IdRange, 5> ranges{};
    EXPECT_EQ(outside(set, 0, ranges), 1U);
    EXPECT_EQ(ranges[0].low, 0);
    EXPECT_EQ(ranges[0].high, k_end);
    add(set, {50, k_end, 0});
    add(set, {0, 9, 0});
    add(set, {20, 30, 0});
    add(set, {11, 19, 1});
    EXPECT_EQ(outside(set, 0, ranges), 2U);
    EXPECT_EQ(ranges[0].low, 10);
    EXPECT_EQ(ranges[0].high, 19);
    EXPECT_EQ(ranges[1].low, 31);
    EXPECT_EQ(ranges[1].high, 49);
    take_out(set, 0, 70, 70);
    EXPECT_TRUE(find(set, 0, 71));
    EXPECT_TRUE(find(set, 0, k_end));
    EXPECT_FALSE(find(set, 0, 70));
}

TEST(Gaps, NeverSayMoreThanTheyWereTold) {
    std::mt19937 random(42);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    for (int round = 0; round < 200; round++) {
        Gaps<5> set{};
        std::set<std::pair<int, int>> empty; // priority and id
        for (int step = 0; step < 100; step++) {
            const int priority = below(2);
            const int low = below(100);
            const int high = std::min(99, low + below(20));
            const bool adds = below(3) > 0;
            if (adds)
                add(set, {low, high, static_cast<std::int16_t>(priority)});
            else
                take_out(set, static_cast<std::int16_t>(priority), low, high);
            for (int id = low; id <= high; id++) {
                if (adds)
                    empty.insert({priority, id});
                else
                    empty.erase({priority, id});
            }
            for (int p = 0; p < 2; p++) {
                std::array<IdRange, 6> ranges{};
                const std::size_t count = outside(set, static_cast<std::int16_t>(p), ranges);
                for (int id = 0; id < 100; id++) {
                    const bool in_gap = find(set, static_cast<std::int16_t>(p), id).has_value();
                    EXPECT_TRUE(!in_gap || empty.count({p, id}) == 1);
                    const bool out =
                        std::any_of(ranges.begin(), ranges.begin() + static_cast<std::ptrdiff_t>(count),
                                    [id](const IdRange &range) { return range.low <= id && id <= range.high; });
                    EXPECT_NE(in_gap, out);
                }
            }
        }
    }
}

} // namespace
} // namespace test_gaps
