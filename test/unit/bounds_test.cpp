// The length of an interval, up to what months, days and microseconds can hold.
#include "model/bounds.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>

namespace test_bounds {
namespace {

using scylla::model::interval_length;
using scylla::model::k_day;
using scylla::model::k_max_retention;
using scylla::model::k_max_timeout;
using scylla::model::k_second;

constexpr auto k_min32 = std::numeric_limits<std::int32_t>::min();
constexpr auto k_max32 = std::numeric_limits<std::int32_t>::max();
constexpr auto k_min64 = std::numeric_limits<std::int64_t>::min();
constexpr auto k_max64 = std::numeric_limits<std::int64_t>::max();

std::optional<std::int64_t> timeout(std::int32_t months, std::int32_t days, std::int64_t micros) {
    return interval_length(months, days, micros, 1, k_max_timeout);
}

TEST(IntervalLength, AddsItsParts) {
    EXPECT_EQ(timeout(0, 0, 1), 1);
    EXPECT_EQ(timeout(0, 1, 0), k_day);
    EXPECT_EQ(timeout(1, 0, 0), 30 * k_day);
    EXPECT_EQ(timeout(2, 3, 4), 63 * k_day + 4);
}

TEST(IntervalLength, PartsOfDifferentSignsCancelOut) {
    EXPECT_EQ(timeout(1, -30, 5), 5);
    EXPECT_EQ(timeout(-1, 31, 0), k_day);
    EXPECT_EQ(timeout(0, 1, -k_day), std::nullopt); // 0
    EXPECT_EQ(timeout(1, -31, 0), std::nullopt);    // -1 day
}

TEST(IntervalLength, BoundsAreInclusive) {
    EXPECT_EQ(timeout(0, 0, 0), std::nullopt);
    EXPECT_EQ(timeout(0, 0, -1), std::nullopt);
    EXPECT_EQ(timeout(0, 365, 0), k_max_timeout);
    EXPECT_EQ(timeout(0, 0, k_max_timeout), k_max_timeout);
    EXPECT_EQ(timeout(0, 365, 1), std::nullopt);
    EXPECT_EQ(timeout(12, 5, 0), k_max_timeout); // a year of twelve months has 360 days
    EXPECT_EQ(timeout(12, 6, 0), std::nullopt);
    EXPECT_EQ(interval_length(0, 0, 0, 0, k_max_timeout), 0);
}

TEST(IntervalLength, ExtremesOfOnePartAreOutside) {
    for (const auto part : {k_min32, k_max32}) {
        EXPECT_EQ(timeout(part, 0, 0), std::nullopt);
        EXPECT_EQ(timeout(0, part, 0), std::nullopt);
    }
    EXPECT_EQ(timeout(0, 0, k_min64), std::nullopt);
    EXPECT_EQ(timeout(0, 0, k_max64), std::nullopt);
}

// Sums that leave 64 bits must not come back inside the bounds.
TEST(IntervalLength, ExtremesOfAllPartsAreOutside) {
    for (const auto months : {k_min32, k_max32})
        for (const auto days : {k_min32, k_max32})
            for (const auto micros : {k_min64, k_max64})
                EXPECT_EQ(interval_length(months, days, micros, 0, k_max_retention), std::nullopt)
                    << months << " months, " << days << " days, " << micros << " us";
}

TEST(IntervalLength, ExtremesThatCancelOutAreExact) {
    // The largest number of whole days in microseconds, taken away again.
    const std::int64_t days = k_max64 / k_day;
    ASSERT_LE(days, k_max32);
    EXPECT_EQ(timeout(0, static_cast<std::int32_t>(days), -(days * k_day) + 7), 7);
    EXPECT_EQ(timeout(0, static_cast<std::int32_t>(-days), days * k_day + 7), 7);
}

// 64 bits can be asked for as a bound too: everything that fits is returned.
TEST(IntervalLength, WidestBounds) {
    EXPECT_EQ(interval_length(0, 0, k_min64, k_min64, k_max64), k_min64);
    EXPECT_EQ(interval_length(0, 0, k_max64, k_min64, k_max64), k_max64);
    EXPECT_EQ(interval_length(0, 1, k_max64, k_min64, k_max64), std::nullopt);
    EXPECT_EQ(interval_length(0, -1, k_min64, k_min64, k_max64), std::nullopt);
}

// Against arithmetic in two halves that never overflows: days, and microseconds below a day.
TEST(IntervalLength, AgreesWithArithmeticInDays) {
    std::mt19937_64 random(20240229);
    std::uniform_int_distribution<std::int32_t> any32(k_min32, k_max32);
    std::uniform_int_distribution<std::int64_t> any64(k_min64, k_max64);
    std::uniform_int_distribution<std::int32_t> small(-15, 15);
    std::uniform_int_distribution<std::int64_t> near(-400 * k_day, 400 * k_day);
    int inside = 0;
    for (int i = 0; i < 200'000; i++) {
        const bool extreme = i % 2 == 0;
        const auto months = extreme ? any32(random) : small(random);
        const auto days = extreme ? any32(random) : small(random);
        const auto micros = extreme ? any64(random) : near(random);
        std::int64_t whole = std::int64_t{30} * months + days + micros / k_day;
        std::int64_t rest = micros % k_day;
        if (rest < 0) {
            rest += k_day;
            whole--;
        }
        const bool fits = whole >= 0 && (whole < 365 || (whole == 365 && rest == 0)) && whole + rest > 0;
        const auto length = timeout(months, days, micros);
        ASSERT_EQ(length.has_value(), fits) << months << " months, " << days << " days, " << micros << " us";
        if (fits) {
            ASSERT_EQ(*length, whole * k_day + rest);
            inside++;
        }
    }
    EXPECT_GT(inside, 10'000); // the property was really looked at
}

TEST(Bounds, UnitsAreMicroseconds) {
    EXPECT_EQ(k_second, 1'000'000);
    EXPECT_EQ(k_max_timeout, std::int64_t{31'536'000} * 1'000'000);
    EXPECT_EQ(k_max_retention, k_max_timeout * 100);
}

} // namespace
} // namespace test_bounds
