// Durations in text.
#include "model/duration.h"

#include <gtest/gtest.h>

#include <string>

namespace test_duration {
namespace {

using scylla::model::read_duration;
using scylla::model::read_fixed_duration;

constexpr std::int64_t k_second = 1'000'000;
constexpr std::int64_t k_minute = 60 * k_second;
constexpr std::int64_t k_hour = 60 * k_minute;
constexpr std::int64_t k_day = 24 * k_hour;

TEST(Duration, CommasAndAndMayStandBetweenParts) {
    for (const char *text :
         {"1 day, 2 hours and 3 ms", "1 day,2 hours, and 3 ms", "1 day and 2 hours , 3ms", "1day 2hours 3ms"})
        EXPECT_EQ(read_fixed_duration(text), 26 * k_hour + 3'000) << text;
}

TEST(Duration, SecondsAndSumsOfUnits) {
    struct Case {
        std::string_view text;
        std::int64_t micros;
    };
    for (const Case &each : {Case{"90", 90 * k_second},
                             {"1.5", 1'500'000},
                             {"0", 0},
                             {"007", 7 * k_second},
                             {" 90\t", 90 * k_second},
                             {"1.5 hours", 90 * k_minute},
                             {"0.5 hours", 30 * k_minute},
                             {"0.5 seconds", 500'000},
                             {"90s", 90 * k_second},
                             {"1 week 2 days", 9 * k_day},
                             {"1.5 weeks", 252 * k_hour},
                             {"1 day 2 hours", 26 * k_hour},
                             {"1d2h", 26 * k_hour},
                             {"1min 40s", 100 * k_second},
                             {"1 day 3 ms", k_day + 3'000},
                             {"5 us", 5},
                             {"2 Hours 30 MIN", 150 * k_minute},
                             {"3 hrs 4 mins 5 secs", 3 * k_hour + 4 * k_minute + 5 * k_second},
                             {"1 day\n2 hours", 26 * k_hour},
                             {"0.0000015 s", 2},
                             {"0.1 days", 144 * k_minute}})
        EXPECT_EQ(read_fixed_duration(each.text), each.micros) << each.text;
}

TEST(Duration, AsTheServerWritesIntervals) {
    EXPECT_EQ(read_fixed_duration("02:30"), 150 * k_minute);
    EXPECT_EQ(read_fixed_duration("00:00:10"), 10 * k_second);
    EXPECT_EQ(read_fixed_duration("100:00:00"), 100 * k_hour);
    EXPECT_EQ(read_fixed_duration("1 day 02:00:00.25"), 26 * k_hour + 250'000);
    EXPECT_EQ(read_fixed_duration("@ 1 day 2 hours 3 mins 4.5 secs"), 26 * k_hour + 3 * k_minute + 4'500'000);
    EXPECT_EQ(read_fixed_duration("P1DT2H3M4.5S"), 26 * k_hour + 3 * k_minute + 4'500'000);
}

TEST(Duration, Iso8601) {
    EXPECT_EQ(read_fixed_duration("PT1H30M"), 90 * k_minute);
    EXPECT_EQ(read_fixed_duration("PT1.5H"), 90 * k_minute);
    EXPECT_EQ(read_fixed_duration("P2W"), 14 * k_day);
    EXPECT_EQ(read_fixed_duration("PT0S"), 0);
    for (const char *none : {"P", "PT", "P1DT", "P1H", "PT1D", "PT1.5H30M", "PT1M1H", "PT1H1H", "P-1D", "p1d", "P 1D"})
        EXPECT_EQ(read_fixed_duration(none), std::nullopt) << none;
}

TEST(Duration, MonthsAndYearsHaveNoFixedLength) {
    for (const char *text : {"1 year 2 months 3 days 04:05:06", "P1Y2M3DT4H5M6S", "1y 2 mons 3d 4h 5m 6s"}) {
        const auto read = read_duration(text);
        ASSERT_TRUE(read) << text;
        EXPECT_EQ(read->months, 14) << text;
        EXPECT_EQ(read->days, 3) << text;
        EXPECT_EQ(read->micros, 4 * k_hour + 5 * k_minute + 6 * k_second) << text;
        EXPECT_EQ(read_fixed_duration(text), std::nullopt) << text;
    }
    EXPECT_EQ(read_duration("1.5 months"), std::nullopt) << "a part of a month is no number of days";
}

TEST(Duration, AnythingElseIsRefused) {
    for (const char *none : {"",
                             " ",
                             "soon",
                             "-5 minutes",
                             "+5 minutes",
                             "5 minutes ago",
                             "1,500 seconds",
                             "1/2 hour",
                             "2 hours 30",
                             "not 5 minutes",
                             "5 minutes please",
                             "abc 1min",
                             "10min 1min",
                             "1 min 1 hour",
                             "7 5s",
                             "1e3 s",
                             "1. s",
                             ".5 s",
                             "1 . 5 s",
                             "0x10",
                             "1_000 s",
                             "1 ss",
                             "1 mss",
                             "1 fortnight",
                             "02:60",
                             "1:2:60",
                             "1:30:",
                             ":30",
                             "1.5:30",
                             "02:30 1 s",
                             "3 min 02:30",
                             "1 day 1",
                             "--5",
                             "inf",
                             "nan",
                             "\xc2\xa0"
                             "5 s",
                             "5\xe2\x80\xaf"
                             "s",
                             "\xd9\xa5 s",
                             "5 s;",
                             "'5 s'",
                             "1'30",
                             "1h30",
                             "99999999999999999999 d",
                             "0.12345678901234567890 s"})
        EXPECT_EQ(read_duration(none), std::nullopt) << none;
    EXPECT_EQ(read_duration(std::string_view("5 s\0", 4)), std::nullopt);
}

TEST(Duration, WhatIsTooLongIsTheMost) {
    EXPECT_EQ(read_fixed_duration("999999999999999999 d"), INT64_MAX);
    EXPECT_EQ(read_duration("999999999999999999 h"), std::nullopt);
    EXPECT_EQ(read_duration("999999999999999999 years"), std::nullopt);
}

} // namespace
} // namespace test_duration
