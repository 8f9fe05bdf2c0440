// Time zones and times in text, and local times where clocks are put forward and back.
#include "model/moment.h"
#include "model/zone.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace test_zone {
namespace {

using scylla::model::moment_of;
using scylla::model::read_time;
using scylla::model::read_zone;
using scylla::model::show_offset;

// Seconds, or what it is instead.
std::string zone(std::string_view text) {
    const auto read = read_zone(text);
    return !read ? "none" : read->is_offset ? std::to_string(read->offset) : "name";
}

TEST(Zone, OffsetsArePositiveInTheEast) {
    for (const auto &[text, seconds] : {std::pair<std::string_view, int>{"+02:00", 7'200},
                                        {"+2", 7'200},
                                        {"+02", 7'200},
                                        {"+0200", 7'200},
                                        {"-8", -28'800},
                                        {"-08:00", -28'800},
                                        {"+05:30", 19'800},
                                        {"-0930", -34'200},
                                        {"UTC+3", 10'800},
                                        {"GMT-3", -10'800},
                                        {"UT+05:45", 20'700},
                                        {"utc+3", 10'800},
                                        {"GMT+0", 0},
                                        {"GMT-0", 0},
                                        {"+14:00", 50'400},
                                        {"+23:59", 86'340},
                                        {"-23:59", -86'340},
                                        {"+00:00", 0},
                                        {"-00:00", 0},
                                        {"Z", 0},
                                        {"UTC", 0},
                                        {"utc", 0}})
        EXPECT_EQ(zone(text), std::to_string(seconds)) << text;
}

TEST(Zone, Names) {
    for (const char *name :
         {"Europe/Berlin", "US/Pacific", "America/Port-au-Prince", "America/Argentina/Buenos_Aires", "GMT", "EST",
          "CET", "EST5EDT", "pst8pdt", "GMT0", "Etc/GMT0", "Etc/GMT+12", "Etc/GMT-14", "Etc/GMT+5", "Etc/UTC", "PST"})
        EXPECT_EQ(zone(name), "name") << name;
}

TEST(Zone, WhatTheServerWouldTakeForPosix) {
    for (const char *none : {"",
                             " ",
                             "2",
                             "02:00",
                             "5.5",
                             "foo5",
                             "UTC3",
                             "GMT3",
                             "EST5",
                             "<-03>3",
                             "CET-1CEST",
                             "CET-1CEST,M3.5.0,M10.5.0/3",
                             "+24:00",
                             "+25:00",
                             "-24",
                             "+2:0",
                             "+2:000",
                             "+02:60",
                             "+020",
                             "+02000",
                             "+02:00:00",
                             "+",
                             "-",
                             "+-2",
                             "--2",

                             "UTC+25",
                             "UTC++3",
                             "UTC +3",
                             "+ 2",
                             "+02:00 ",
                             "Etc/GMT+13",
                             "Etc/GMT-15",
                             "Etc/GMT+25",
                             "Etc/GMT+05",
                             "Etc/GMT5",
                             "Etc/UTC+3",
                             "America/New_York5",
                             "America/New_York+5",
                             "../../etc/passwd",
                             ":UTC",
                             "/etc/passwd",
                             "\xe2\x88\x92"
                             "8",
                             "UTC\xe2\x88\x92"
                             "8"})
        EXPECT_EQ(zone(none), "none") << none;
}

TEST(Zone, OffsetsAsText) {
    EXPECT_EQ(show_offset(0), "UTC");
    EXPECT_EQ(show_offset(7'200), "+02:00");
    EXPECT_EQ(show_offset(-34'200), "-09:30");
    EXPECT_EQ(show_offset(86'340), "+23:59");
}

// ---- local times ---------------------------------------------------------------------------------------------------

constexpr std::int64_t k_hour = 3'600;

std::int64_t at(std::string_view text) { return read_time(text)->local; }

// A zone that changes once.
struct Change {
    std::int64_t moment;
    std::int64_t before;
    std::int64_t after;
    std::int64_t operator()(std::int64_t time) const { return time < moment ? before : after; }
};

TEST(Zone, AnHourThatComesTwice) {
    const Change berlin{at("2026-10-25 01:00"), 2 * k_hour, k_hour};
    const std::int64_t local = at("2026-10-25 02:30");
    EXPECT_EQ(moment_of(local, berlin), at("2026-10-25 00:30")) << "is the first";
    EXPECT_EQ(moment_of(local, berlin, k_hour), at("2026-10-25 01:30")) << "or keeps its offset";
    EXPECT_EQ(moment_of(local, berlin, 2 * k_hour), at("2026-10-25 00:30"));
    EXPECT_EQ(moment_of(local, berlin, 5 * k_hour), at("2026-10-25 00:30")) << "if that is one of the two";
    EXPECT_EQ(moment_of(at("2026-10-25 01:59"), berlin, k_hour), at("2026-10-24 23:59"));
    EXPECT_EQ(moment_of(at("2026-10-25 03:00"), berlin, 2 * k_hour), at("2026-10-25 02:00"));
}

TEST(Zone, ATimeThatIsSkippedMovesForward) {
    const Change berlin{at("2026-03-29 01:00"), k_hour, 2 * k_hour};
    EXPECT_EQ(moment_of(at("2026-03-29 02:30"), berlin), at("2026-03-29 01:30"));
    EXPECT_EQ(moment_of(at("2026-03-29 02:30"), berlin, 2 * k_hour), at("2026-03-29 01:30"));
    EXPECT_EQ(moment_of(at("2026-03-29 03:00"), berlin), at("2026-03-29 01:00"));
    EXPECT_EQ(moment_of(at("2026-03-29 01:59"), berlin), at("2026-03-29 00:59"));
}

TEST(Zone, HalfAnHourTwoHoursAndADay) {
    const Change lord_howe{at("2026-04-04 15:00"), 11 * k_hour, 21 * k_hour / 2};
    EXPECT_EQ(moment_of(at("2026-04-05 01:45"), lord_howe), at("2026-04-04 14:45"));
    EXPECT_EQ(moment_of(at("2026-04-05 01:45"), lord_howe, 21 * k_hour / 2), at("2026-04-04 15:15"));
    EXPECT_EQ(moment_of(at("2026-04-05 01:15"), lord_howe, 21 * k_hour / 2), at("2026-04-04 14:15"));
    const Change troll{at("2026-03-29 01:00"), 0, 2 * k_hour};
    EXPECT_EQ(moment_of(at("2026-03-29 01:30"), troll), at("2026-03-29 01:30"));
    EXPECT_EQ(moment_of(at("2026-03-29 03:00"), troll), at("2026-03-29 01:00"));
    const Change apia{at("2011-12-30 10:00"), -10 * k_hour, 14 * k_hour};
    EXPECT_EQ(moment_of(at("2011-12-29 23:59"), apia), at("2011-12-30 09:59"));
    EXPECT_EQ(moment_of(at("2011-12-30 12:00"), apia), at("2011-12-30 22:00")) << "noon of the next day";
    EXPECT_EQ(moment_of(at("2011-12-31 00:00"), apia), at("2011-12-30 10:00"));
    const Change kwajalein{at("1993-08-21 12:00"), -12 * k_hour, 12 * k_hour};
    EXPECT_EQ(moment_of(at("1993-08-20 23:59"), kwajalein), at("1993-08-21 11:59"));
    EXPECT_EQ(moment_of(at("1993-08-22 00:00"), kwajalein), at("1993-08-21 12:00"));
}

// What moment_of() says is a moment that shows the local time, and no earlier one does.
TEST(Zone, LocalTimesAroundAnyChange) {
    for (std::int64_t before = -12 * k_hour; before <= 14 * k_hour; before += k_hour / 2)
        for (std::int64_t by = -3 * k_hour; by <= 3 * k_hour; by += k_hour / 2) {
            const Change zone{1'000'000'000, before, before + by};
            for (std::int64_t moment = zone.moment - 8 * k_hour; moment < zone.moment + 8 * k_hour; moment += 900) {
                const std::int64_t local = moment + zone(moment);
                const std::int64_t first = moment_of(local, zone);
                ASSERT_EQ(first + zone(first), local);
                ASSERT_LE(first, moment);
                ASSERT_EQ(moment_of(local, zone, zone(moment)), moment);
            }
        }
}

// ---- times in text -------------------------------------------------------------------------------------------------

// Seconds, and the zone.
std::string time(std::string_view text) {
    const auto read = read_time(text);
    if (!read)
        return "none";
    const std::string micros = read->micros == 0 ? "" : "." + std::to_string(read->micros);
    return std::to_string(read->local) + micros + (read->zone ? " " + zone(read->zone->name) : "");
}

TEST(Time, AsIso8601HasIt) {
    EXPECT_EQ(time("1970-01-01"), "0");
    EXPECT_EQ(time("1970-01-02 00:00"), "86400");
    EXPECT_EQ(time("1970-01-01T00:00:01.5"), "1.500000");
    EXPECT_EQ(time("1970-01-01T00:00:00.000001Z"), "0.1 0");
    EXPECT_EQ(time("1970-01-01 00:00:00.1234567"), "0.123456");
    EXPECT_EQ(time("19700102"), "86400");
    EXPECT_EQ(time("2024-02-29"), "1709164800");
    EXPECT_EQ(time("2026-01-01T00:00:00+05:00"), "1767225600 18000");
    EXPECT_EQ(time("2026-01-01T00:00:00-0930"), "1767225600 -34200");
    EXPECT_EQ(time("2026-01-01 00:00 America/New_York"), "1767225600 name");
    EXPECT_EQ(time("2026-01-01 UTC+3"), "1767225600 10800");
    EXPECT_EQ(time("2026-01-01Z"), "1767225600 0");
    EXPECT_EQ(time(" 2026-01-01 00:00\n"), "1767225600");
    EXPECT_EQ(time("0001-01-01"), "-62135596800");
    EXPECT_EQ(time("294276-12-31 23:59:59"), "9224318015999");
}

TEST(Time, AnythingElseIsRefused) {
    for (const char *none : {"",
                             "01/02/2026",
                             "1/2/26",
                             "2026/01/02",
                             "02.01.2026",
                             "2026.01.02",
                             "Jan 2, 2026",
                             "2 Jan 2026",
                             "today",
                             "now",
                             "tomorrow",
                             "epoch",
                             "infinity",
                             "-infinity",
                             "2026-13-01",
                             "2026-00-01",
                             "2026-02-29",
                             "2026-02-30",
                             "2026-1-1",
                             "26-01-01",
                             "2026-01",
                             "2026",
                             "0000-01-01",
                             "-2026-01-01",
                             "+2026-01-01",
                             "1000000-01-01",
                             "2026-01-01T",
                             "2026-01-01 24:00",
                             "2026-01-01 23:60",
                             "2026-01-01 23:59:60",
                             "2026-01-01 8:30",
                             "2026-01-01 08",
                             "2026-01-01 08:",
                             "2026-01-01 08:30:",
                             "2026-01-01 08:30:15.",
                             "2026-01-01 08:30:15.1234567890",
                             "2026-01-01 08:30 foo5",
                             "2026-01-01 08:30+25:00",
                             "2026-01-01 08:30 PM2",
                             "2026-01-01 08:30 +02:00 x",
                             "2026-01-01-08:30:00 08:30",
                             "2026-01-0108:30",
                             "1767225600",
                             "2026-365",
                             "2026-W01-1",
                             "202601011"})
        EXPECT_EQ(time(none), "none") << none;
}

} // namespace
} // namespace test_zone
