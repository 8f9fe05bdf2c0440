#include "model/pace.h"

#include <gtest/gtest.h>

namespace test_pace {
namespace {

using namespace scylla::model;

TEST(Pace, WorkTakesItsShareOfTheTime) {
    EXPECT_EQ(pause_after(1000, 250, 0, 1'000'000), 9000);
    EXPECT_EQ(pause_after(1000, 250, -5, 1'000'000), 9000) << "a sequence was set back";
    EXPECT_EQ(pause_after(0, 250, 0, 0), 0);
    EXPECT_EQ(pause_after(1000, 250, 10, 1'000'000), 9000) << "few arrive";
    EXPECT_EQ(pause_after(1000, 250, 0, 1'000'000, k_background_share * k_vain), 499'000) << "nothing was removed";
    EXPECT_EQ(pause_after(1000, 250, 1000, 10'000, k_background_share * k_vain), 1666 - 1000) << "and more come";
}

TEST(Pace, WhereMoreArriveItTakesMore) {
    // 100 a millisecond arrive: 250 of them in 2.5 ms.
    EXPECT_EQ(pause_after(1000, 250, 1000, 10'000), 1666 - 1000);
    EXPECT_EQ(pause_after(1666, 250, 1000, 10'000), 0);
    EXPECT_EQ(pause_after(5000, 250, 1000, 10'000), 0) << "it cannot keep up";
    EXPECT_EQ(pause_after(1000, 250, 1000, 0), 0);
}

TEST(Pace, InTheLongRunMoreGoThanArrive) {
    for (const std::int64_t arriving : {1, 10, 100, 400}) { // a millisecond
        constexpr std::int64_t took = 400;
        std::int64_t now = 0;
        std::int64_t removed = 0;
        std::int64_t elapsed = took;
        for (int i = 0; i < 1000; i++) {
            now += took;
            removed += 250;
            const auto pause = pause_after(took, 250, arriving * elapsed / 1000, elapsed);
            now += pause;
            elapsed = pause + took;
        }
        EXPECT_GT(removed, arriving * now / 1000) << arriving;
    }
}

TEST(Pace, ExtremesDoNotOverflow) {
    EXPECT_EQ(pause_after(1, 250, 1, INT64_MAX), 9);
    EXPECT_EQ(pause_after(1000, 250, INT64_MAX, 1), 0);
}

TEST(PaceTest, CountsTakeAThousandthOfTheTime) {
    EXPECT_FALSE(count_is_due(1000, 1000, 1));
    EXPECT_FALSE(count_is_due(1999, 1000, 1));
    EXPECT_TRUE(count_is_due(2000, 1000, 1));
    EXPECT_TRUE(count_is_due(1000, 1000, 0));
}

TEST(PaceTest, ALongCountIsDoneAgainAfterTenSecondsOrAHundredTimesItsTime) {
    constexpr std::int64_t k_sec = 1'000'000;
    EXPECT_FALSE(count_is_due(k_sec * 99 / 10, 0, k_sec / 20));
    EXPECT_TRUE(count_is_due(10 * k_sec, 0, k_sec / 20));
    EXPECT_FALSE(count_is_due(199 * k_sec, 0, 2 * k_sec));
    EXPECT_TRUE(count_is_due(200 * k_sec, 0, 2 * k_sec));
}

TEST(PaceTest, AClockThatIsSetBackPutsNoCountOff) { EXPECT_TRUE(count_is_due(1000, 1001, 1'000'000)); }

} // namespace
} // namespace test_pace
