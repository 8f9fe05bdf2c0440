// Sets of ids as stretches, against a set that holds every id.
#include "model/stretches.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>

namespace test_stretches {
namespace {

using namespace scylla::model;

template <std::size_t N> void expect_in_order(const Stretches<N> &set) {
    for (std::size_t i = 0; i < set.count; i++) {
        EXPECT_LE(set.at[i].low, set.at[i].high);
        for (const auto fresh : set.at[i].fresh)
            EXPECT_TRUE(fresh == k_no_id || (set.at[i].low <= fresh && fresh <= set.at[i].high));
        if (i == 0)
            continue;
        EXPECT_GE(set.at[i - 1].priority, set.at[i].priority);
        if (set.at[i - 1].priority == set.at[i].priority) {
            EXPECT_GT(set.at[i].low - 1, set.at[i - 1].high) << "they overlap or touch";
        }
    }
}

constexpr Stretch one(std::int16_t priority, std::int64_t low, std::int64_t high) {
    return {low, high, {low, k_no_id}, priority};
}

TEST(Stretches, ThoseThatOverlapOrTouchBecomeOne) {
    Stretches<8> set{};
    add(set, one(5, 10, 12));
    add(set, one(5, 20, 20));
    add(set, one(5, 14, 14));
    EXPECT_EQ(set.count, 3U);
    add(set, one(5, 13, 13)); // touches two
    EXPECT_EQ(set.count, 2U);
    EXPECT_EQ(set.at[0].low, 10);
    EXPECT_EQ(set.at[0].high, 14);
    EXPECT_EQ(set.at[0].fresh[0], 10);
    add(set, one(5, 1, 30));
    EXPECT_EQ(set.count, 1U);
    add(set, one(4, 5, 5)); // of another priority
    add(set, one(6, 5, 5));
    EXPECT_EQ(set.count, 3U);
    EXPECT_EQ(set.at[0].priority, 6);
    EXPECT_EQ(set.at[2].priority, 4);
    expect_in_order(set);
}

TEST(Stretches, TheNarrowestGapIsBetweenTwoOfOnePriority) {
    Stretches<8> set{};
    add(set, one(7, 1, 1));
    add(set, one(6, 2, 2));
    EXPECT_EQ(narrowest(set), set.count) << "each is alone in its priority";
    add(set, one(6, 100, 200));
    add(set, one(6, 210, 210));
    EXPECT_EQ(narrowest(set), 2U);
    join_next(set, 2);
    EXPECT_EQ(set.count, 3U);
    EXPECT_EQ(set.at[2].high, 210);
    EXPECT_TRUE(covers(set, 6, 205));
    EXPECT_FALSE(covers(set, 7, 205));
    EXPECT_TRUE(has_priority(set, 7));
    EXPECT_FALSE(has_priority(set, 5));
}

TEST(Stretches, RandomOnesCoverWhatWasPutInAndNothingElseWhileThereIsRoom) {
    std::mt19937 random(1);
    for (int round = 0; round < 200; round++) {
        Stretches<256> set{};
        std::set<std::pair<std::int16_t, std::int64_t>> ids;
        for (int i = 0; i < 100; i++) {
            const auto priority = static_cast<std::int16_t>(random() % 3);
            const auto low = static_cast<std::int64_t>(random() % 500);
            const auto high = low + static_cast<std::int64_t>(random() % 4);
            add(set, {low, high, {low, high}, priority});
            for (auto id = low; id <= high; id++)
                ids.emplace(priority, id);
            expect_in_order(set);
        }
        for (std::int16_t priority = 0; priority < 3; priority++)
            for (std::int64_t id = 0; id < 510; id++)
                ASSERT_EQ(covers(set, priority, id), ids.contains({priority, id}));
    }
}

TEST(Stretches, RandomOnesCoverWhatWasPutInWhenThereIsNoRoom) {
    std::mt19937 random(2);
    for (int round = 0; round < 200; round++) {
        Stretches<8> set{};
        std::set<std::pair<std::int16_t, std::int64_t>> ids;
        for (int i = 0; i < 200; i++) {
            const auto priority = static_cast<std::int16_t>(random() % 2);
            const auto id = static_cast<std::int64_t>(random() % 1000);
            add(set, one(priority, id, id));
            ids.emplace(priority, id);
            if (set.count > 8)
                join_next(set, narrowest(set));
            EXPECT_LE(set.count, 8U);
            expect_in_order(set);
        }
        for (const auto &[priority, id] : ids)
            ASSERT_TRUE(covers(set, priority, id));
    }
}

} // namespace
} // namespace test_stretches
