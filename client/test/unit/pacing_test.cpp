// When to wait, and for how long.
#include <gtest/gtest.h>

#include "pacing.h"

using namespace scylla::detail;
using namespace std::chrono_literals;

namespace {

TEST(Pacing, BackoffDoublesUpToTheLast) {
    EXPECT_EQ(backoff(0, 100ms, 1000ms), 100ms);
    EXPECT_EQ(backoff(1, 100ms, 1000ms), 100ms);
    EXPECT_EQ(backoff(2, 100ms, 1000ms), 200ms);
    EXPECT_EQ(backoff(4, 100ms, 1000ms), 800ms);
    EXPECT_EQ(backoff(5, 100ms, 1000ms), 1000ms);
    EXPECT_EQ(backoff(1000000000, 100ms, 1000ms), 1000ms);
    EXPECT_EQ(backoff(1, 100ms, 10ms), 10ms);
}

TEST(Pacing, JitterShortensByUpToAHalf) {
    EXPECT_EQ(jittered(100ms, 0), 100ms);
    EXPECT_EQ(jittered(100ms, 0.5), 75ms);
    EXPECT_EQ(jittered(100ms, 1), 50ms);
}

TEST(Pacing, TheAverageFollows) {
    average a;
    EXPECT_EQ(a.value(), 0ms);
    a.add(8ms);
    EXPECT_EQ(a.value(), 8ms); // the first one counts alone
    a.add(16ms);
    EXPECT_EQ(a.value(), 9ms);
    for (int i = 0; i < 200; i++)
        a.add(100ms);
    EXPECT_GT(a.value(), 99ms);
    EXPECT_LE(a.value(), 100ms);
}

TEST(Pacing, FinishedTasksWaitOnlyForThoseThatAreAboutToBe) {
    EXPECT_EQ(linger(0, 4, 1us, 1ms), 0ms); // there are none
    EXPECT_EQ(linger(4, 4, 1us, 1ms), 1ms); // a round trip
    EXPECT_EQ(linger(1000, 4, 1us, 1ms), 1ms);
    EXPECT_EQ(linger(10000, 4, 1us, 1ms), 0ms); // they take longer than it saves
    EXPECT_EQ(linger(5, 4, 600us, 1ms), 0ms);   // two after another
    EXPECT_EQ(linger(4, 4, 1us, 1h), 5ms);      // never for long
    EXPECT_EQ(linger(4, 4, 10ms, 1h), 0ms);
}

} // namespace
