// Priority that grows with waiting.
#include "model/aging.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>

namespace test_aging {
namespace {

using scylla::model::effective_priority;
using scylla::model::k_max_aging;
using scylla::model::k_max_effective_priority;
using scylla::model::k_max_priority;
using scylla::model::k_second;

constexpr auto k_max64 = std::numeric_limits<std::int64_t>::max();
constexpr auto k_min64 = std::numeric_limits<std::int64_t>::min();

TEST(Aging, WithoutARateThePriorityIsTheEffectiveOne) {
    for (int priority = 0; priority <= k_max_priority; priority++)
        for (const std::int64_t waited : {std::int64_t{0}, k_second, 1'000'000 * k_second, k_max64})
            EXPECT_EQ(effective_priority(priority, waited, 0), priority);
}

TEST(Aging, GrowsByTheRatePerSecond) {
    EXPECT_EQ(effective_priority(0, 10 * k_second, 1), 10);
    EXPECT_EQ(effective_priority(5, 10 * k_second, 0.5), 10);
    EXPECT_EQ(effective_priority(0, k_second / 2, 1), 0.5);
}

// From here on nothing more important can come.
TEST(Aging, AnyTaskOvertakesTheMostImportantNewOne) {
    EXPECT_LT(effective_priority(0, 127 * k_second - 1, 1), effective_priority(k_max_priority, 0, 1));
    EXPECT_GT(effective_priority(0, 127 * k_second + 1, 1), effective_priority(k_max_priority, 0, 1));
}

TEST(Aging, StopsAtTheHighestEffectivePriority) {
    EXPECT_EQ(effective_priority(0, 255 * k_second, 1), k_max_effective_priority);
    EXPECT_LT(effective_priority(0, 255 * k_second - 1'000, 1), k_max_effective_priority);
    EXPECT_EQ(effective_priority(k_max_priority, k_max64, k_max_aging), k_max_effective_priority);
}

// The clock may be set back between a submit and a lease.
TEST(Aging, NegativeWaitingCountsAsNone) {
    for (const std::int64_t waited : {std::int64_t{-1}, -k_second, k_min64})
        EXPECT_EQ(effective_priority(3, waited, k_max_aging), 3);
}

// A lease looks at the oldest task of each priority only: that needs the older of two to count for no less.
TEST(Aging, WithinAPriorityTheOlderNeverCountsForLess) {
    std::mt19937_64 random(127);
    std::uniform_int_distribution<std::int64_t> waiting(0, 400 * k_second);
    std::uniform_real_distribution<double> rates(0, 2);
    for (int i = 0; i < 100'000; i++) {
        const int priority = static_cast<int>(random() % (k_max_priority + 1));
        const std::int64_t younger = waiting(random);
        const std::int64_t older = younger + waiting(random);
        const double rate = rates(random);
        ASSERT_GE(effective_priority(priority, older, rate), effective_priority(priority, younger, rate))
            << "priority " << priority << ", rate " << rate << ", " << older << " and " << younger << " us";
    }
}

} // namespace
} // namespace test_aging
