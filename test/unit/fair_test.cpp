#include "model/fair.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace test_fair {
namespace {

using namespace scylla::model;

// The slot that changes hands for a task that waits; nothing if none does.
std::vector<SlotUse>::iterator best(std::vector<SlotUse> &uses, const SlotUse &wanted) {
    auto at = uses.end();
    std::int64_t most = 0;
    for (auto each = uses.begin(); each != uses.end(); ++each)
        if (const auto gain = fairer(uses, *each, wanted); gain > most) {
            most = gain;
            at = each;
        }
    return at;
}
bool gets_a_slot(std::vector<SlotUse> uses, const SlotUse &wanted) { return best(uses, wanted) != uses.end(); }

TEST(Fair, OneQueueOfARoleDoesNotKeepBothSlots) { EXPECT_TRUE(gets_a_slot({{1, 1, 1}, {1, 1, 1}}, {1, 1, 2})); }

TEST(Fair, OneRoleDoesNotKeepBothSlots) {
    EXPECT_TRUE(gets_a_slot({{1, 1, 1}, {1, 1, 1}}, {1, 2, 9}));
    EXPECT_TRUE(gets_a_slot({{1, 1, 1}, {1, 1, 2}}, {1, 2, 9})) << "with two queues";
    EXPECT_TRUE(gets_a_slot({{1, 1, 1}, {2, 1, 1}}, {1, 2, 9})) << "in two databases";
    EXPECT_TRUE(gets_a_slot({{1, 1, 1}, {1, 1, 0}}, {1, 2, 9})) << "with a schedule";
}

TEST(Fair, OneDatabaseDoesNotKeepBothSlots) {
    EXPECT_TRUE(gets_a_slot({{1, 1, 1}, {1, 2, 2}}, {2, 3, 9}));
    EXPECT_TRUE(gets_a_slot({{1, 1, 1}, {1, 2, 2}}, {2, 1, 9})) << "by one of its roles";
}

TEST(Fair, ASlotIsNotTakenFromThoseWhoHaveNoMore) {
    EXPECT_FALSE(gets_a_slot({{1, 1, 1}, {1, 2, 2}}, {1, 3, 3})) << "one each";
    EXPECT_FALSE(gets_a_slot({{1, 1, 1}, {1, 2, 2}}, {1, 1, 1})) << "the role has one";
    EXPECT_FALSE(gets_a_slot({{1, 1, 1}, {1, 1, 1}}, {1, 1, 1})) << "the queue has both";
}

TEST(Fair, TheOnlySlotIsNotTakenFromAnybody) { EXPECT_FALSE(gets_a_slot({{1, 1, 1}}, {2, 2, 2})); }

TEST(Fair, TwoRolesShareEightSlots) {
    std::vector<SlotUse> uses(8, SlotUse{1, 1, 1});
    const SlotUse other{1, 2, 2};
    for (auto at = best(uses, other); at != uses.end(); at = best(uses, other))
        *at = other;
    EXPECT_EQ(std::count_if(uses.begin(), uses.end(), [](const SlotUse &use) { return use.role == 2; }), 4);
}

SlotUse random_use(std::mt19937 &random, std::uint32_t kinds) {
    std::uniform_int_distribution<std::uint32_t> any(1, kinds);
    return {any(random), any(random), static_cast<std::int32_t>(any(random))};
}

TEST(Fair, WhoHasNothingGetsASlotOfWhoHasAll) {
    std::mt19937 random(1);
    for (int round = 0; round < 5'000; round++) {
        std::vector<SlotUse> uses(2 + round % 7);
        const bool of_database = round % 2 == 0;
        for (SlotUse &use : uses) {
            use = random_use(random, 3);
            (of_database ? use.database : use.role) = 7;
        }
        EXPECT_TRUE(gets_a_slot(uses, random_use(random, 3))) << round;
    }
}

TEST(Fair, SlotsDoNotChangeHandsWithoutEnd) {
    std::mt19937 random(2);
    for (int round = 0; round < 300; round++) {
        std::vector<SlotUse> uses(1 + round % 8);
        std::vector<SlotUse> waiting(12);
        for (SlotUse &use : uses)
            use = random_use(random, 3);
        for (SlotUse &use : waiting)
            use = random_use(random, 3);
        int changes = 0;
        for (std::size_t idle = 0; idle < waiting.size(); changes++) {
            std::size_t next = 0;
            auto at = uses.end();
            for (idle = 0; idle < waiting.size() && at == uses.end(); idle++)
                at = best(uses, waiting[next = idle]);
            if (at == uses.end())
                break;
            std::swap(*at, waiting[next]); // who had the slot waits for one now
            ASSERT_LT(changes, 300) << round;
        }
    }
}

} // namespace
} // namespace test_fair
