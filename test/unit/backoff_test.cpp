// Delays before the next try: never beyond the cap, never shrinking, whatever the count.
#include "model/backoff.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace test_backoff {
namespace {

using scylla::model::Backoff;
using scylla::model::delay;
using scylla::model::k_default_retry;
using scylla::model::k_second;
using scylla::model::RetryPolicy;

constexpr auto k_max_int = std::numeric_limits<int>::max();
constexpr auto k_min_int = std::numeric_limits<int>::min();

TEST(Backoff, TheDefaultDoublesFromOneSecondToAnHour) {
    EXPECT_EQ(delay(k_default_retry, 0), 1 * k_second);
    EXPECT_EQ(delay(k_default_retry, 1), 2 * k_second);
    EXPECT_EQ(delay(k_default_retry, 2), 4 * k_second);
    EXPECT_EQ(delay(k_default_retry, 11), 2'048 * k_second);
    EXPECT_EQ(delay(k_default_retry, 12), 3'600 * k_second); // 4,096 s, capped
    EXPECT_EQ(delay(k_default_retry, 13), 3'600 * k_second);
}

TEST(Backoff, HugeCountsGiveTheCap) {
    for (const int count : {62, 63, 64, 1'023, 1'024, 1'000'000, k_max_int - 1, k_max_int})
        EXPECT_EQ(delay(k_default_retry, count), k_default_retry.max) << count;
}

TEST(Backoff, NegativeCountsAreTheFirst) {
    for (const int count : {-1, -2, -1'000, k_min_int})
        EXPECT_EQ(delay(k_default_retry, count), k_default_retry.initial) << count;
}

TEST(Backoff, NeverShrinksAndNeverLeavesItsBounds) {
    const Backoff policies[] = {k_default_retry,
                                {1, 1.0, 1},
                                {1, 1.000'001, 3'600 * k_second},
                                {1, 10.0, std::numeric_limits<std::int64_t>::max() / 2},
                                {250'000, 1.5, 60 * k_second},
                                {5 * k_second, 1.0, 3'600 * k_second}};
    for (const Backoff &policy : policies) {
        std::int64_t before = policy.initial;
        for (int count = 0; count < 5'000; count++) {
            const std::int64_t now = delay(policy, count);
            ASSERT_GE(now, before) << "factor " << policy.factor << ", count " << count;
            ASSERT_LE(now, policy.max) << "factor " << policy.factor << ", count " << count;
            before = now;
        }
    }
}

TEST(Backoff, FactorOneStaysWhereItBegins) {
    const Backoff constant{5 * k_second, 1.0, 3'600 * k_second};
    for (const int count : {0, 1, 1'000, k_max_int})
        EXPECT_EQ(delay(constant, count), 5 * k_second) << count;
}

TEST(Backoff, ACapBelowTheBeginningCounts) {
    const Backoff capped{10 * k_second, 2.0, 3 * k_second};
    EXPECT_EQ(delay(capped, 0), 3 * k_second);
    EXPECT_EQ(delay(capped, k_max_int), 3 * k_second);
}

TEST(Backoff, NoDelayStaysNoDelay) {
    const Backoff at_once{0, 2.0, 3'600 * k_second};
    for (const int count : {0, 1, 100, 1'000})
        EXPECT_EQ(delay(at_once, count), 0) << count;
}

// The largest cap cannot be told from 2^63 as a double; a delay just below must not overflow on its way back.
TEST(Backoff, TheLargestCap) {
    const auto largest = std::numeric_limits<std::int64_t>::max();
    const Backoff policy{1, 2.0, largest};
    EXPECT_EQ(delay(policy, 62), std::int64_t{1} << 62);
    EXPECT_EQ(delay(policy, 63), largest);
    EXPECT_EQ(delay(policy, 64), largest);
}

TEST(Backoff, NoDelayStaysNoDelayForHugeCounts) {
    const Backoff at_once{0, 2.0, 3'600 * k_second};
    for (const int count : {1'024, 1'000'000, 2'147'483'647})
        EXPECT_EQ(delay(at_once, count), 0) << count;
}

// The beginning, the factor and the cap of workers that poll: 100 ms, 150 ms, 225 ms, … 10 s.
TEST(Backoff, OfAPollingWorker) {
    const Backoff polling{k_second / 10, 1.5, 10 * k_second};
    EXPECT_EQ(delay(polling, 0), 100'000);
    EXPECT_EQ(delay(polling, 1), 150'000);
    EXPECT_EQ(delay(polling, 2), 225'000);
    EXPECT_EQ(delay(polling, 12), 10 * k_second);
    EXPECT_EQ(delay(polling, k_max_int), 10 * k_second);
}

TEST(Jitter, NoneLeavesTheDelay) {
    const RetryPolicy policy{{5 * k_second, 2.0, 3'600 * k_second}, 0};
    for (const double random : {0.0, 0.5, 0.999'999})
        EXPECT_EQ(delay(policy, 1, random), 10 * k_second) << random;
}

TEST(Jitter, ShortensByAPartOfItsShare) {
    const RetryPolicy policy{{10 * k_second, 2.0, 3'600 * k_second}, 0.25};
    EXPECT_EQ(delay(policy, 0, 0), 10 * k_second);
    EXPECT_EQ(delay(policy, 0, 0.5), 8'750'000);
    EXPECT_GT(delay(policy, 0, 0.999'999), 7'500'000);
}

TEST(Jitter, NeverLeavesTheBounds) {
    const auto largest = std::numeric_limits<std::int64_t>::max();
    for (const std::int64_t max : {std::int64_t{0}, std::int64_t{1}, 365 * scylla::model::k_day, largest})
        for (const double random : {0.0, 0.25, 0.5, 0.999'999'999'999})
            for (const int count : {0, 1, 62, 63, 1'023, 1'024, k_max_int}) {
                const std::int64_t now = delay({{1, 1'000, max}, 1}, count, random);
                EXPECT_GE(now, 0) << max << " " << random << " " << count;
                EXPECT_LE(now, max) << max << " " << random << " " << count;
            }
}

} // namespace
} // namespace test_backoff
