// Schedules: the language of pg_cron, the calendar, and what happens where clocks are put forward and back.
#include "model/cron.h"
#include "model/quartz.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace test_cron {
namespace {

using scylla::model::Cron;
using scylla::model::CronFault;
using scylla::model::next_time;
using scylla::model::parse_cron;
using scylla::model::ZoneSpan;
namespace detail = scylla::model::cron_detail;

Cron cron(std::string_view text) {
    Cron parsed;
    EXPECT_EQ(parse_cron(text, parsed), CronFault::none) << text;
    return parsed;
}

CronFault fault(std::string_view text) {
    Cron parsed;
    return parse_cron(text, parsed);
}

std::int64_t at(int year, unsigned month, unsigned day, int hour = 0, int minute = 0, int second = 0) {
    using namespace std::chrono;
    const sys_days date = std::chrono::year{year} / std::chrono::month{month} / std::chrono::day{day};
    return (duration_cast<seconds>(date.time_since_epoch()) + hours{hour} + minutes{minute} + seconds{second}).count();
}

// A time zone: its first offset, and the moments at which it changes with the offset from then on.
struct Zone {
    struct Change {
        std::int64_t moment;
        std::int64_t offset;
    };
    std::int64_t first = 0;
    std::vector<Change> changes{};

    ZoneSpan operator()(std::int64_t moment) const {
        std::int64_t offset = first;
        for (const Change &change : changes) {
            if (change.moment > moment)
                return {offset, true, change.moment, change.offset};
            offset = change.offset;
        }
        return {offset, false, 0, 0};
    }
    std::int64_t offset_at(std::int64_t moment) const { return (*this)(moment).offset; }
};

const Zone k_utc{};
constexpr std::int64_t k_hour = 3'600;
// Berlin in 2026: to summer time on 29 March at 1:00 UTC, back on 25 October at 1:00 UTC.
const Zone k_berlin{1 * k_hour, {{at(2026, 3, 29, 1), 2 * k_hour}, {at(2026, 10, 25, 1), 1 * k_hour}}};

std::vector<std::int64_t> times(std::string_view text, std::int64_t after, std::int64_t until,
                                const Zone &zone = k_utc) {
    const Cron parsed = cron(text);
    std::vector<std::int64_t> found;
    for (auto time = next_time(parsed, after, std::cref(zone)); time && *time <= until;
         time = next_time(parsed, *time, std::cref(zone)))
        found.push_back(*time);
    return found;
}

std::int64_t next(std::string_view text, std::int64_t after, const Zone &zone = k_utc) {
    return next_time(cron(text), after, std::cref(zone)).value_or(-1);
}

using Times = std::vector<std::int64_t>;

// ---- the language --------------------------------------------------------------------------------------------------

TEST(Cron, Fields) {
    const Cron c = cron("1-5,10,*/30 0-23/6 1,31 jan-MAR,12 Mon-fri");
    EXPECT_EQ(c.minutes, 0x3eULL | 1ULL << 10 | 1ULL | 1ULL << 30);
    EXPECT_EQ(c.hours, 1u | 1u << 6 | 1u << 12 | 1u << 18);
    EXPECT_EQ(c.days, 1u << 1 | 1u << 31);
    EXPECT_EQ(c.months, 0xeu | 1u << 12);
    EXPECT_EQ(c.weekdays, 0x3eu);
    EXPECT_TRUE(c.either_day);
    EXPECT_TRUE(c.fixed);
    EXPECT_FALSE(c.last_day);
    EXPECT_EQ(c.seconds, 0);
}

TEST(Cron, Stars) {
    const Cron c = cron("* * * * *");
    EXPECT_EQ(c.minutes, (1ULL << 60) - 1);
    EXPECT_EQ(c.hours, (1u << 24) - 1);
    EXPECT_EQ(c.days, ~1u);
    EXPECT_EQ(c.months, 0x1ffeu);
    EXPECT_EQ(c.weekdays, 0x7fu);
    EXPECT_FALSE(c.either_day);
    EXPECT_FALSE(c.fixed);
}

TEST(Cron, SundayHasTwoNumbersAndAName) {
    for (const char *sunday : {"0", "7", "sun", "SUN", "7-7", "0-0"})
        EXPECT_EQ(cron(std::string("0 0 * * ") + sunday).weekdays, 1u) << sunday;
    EXPECT_EQ(cron("0 0 * * 5-7").weekdays, 1u | 1u << 5 | 1u << 6);
}

TEST(Cron, ShorthandsAreWhatTheyStandFor) {
    constexpr const char *k_pairs[][2] = {
        {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
        {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@hourly", "0 * * * *"}};
    for (const auto &[name, meaning] : k_pairs)
        EXPECT_EQ(times(name, at(2026, 1, 1), at(2028, 1, 2)), times(meaning, at(2026, 1, 1), at(2028, 1, 2))) << name;
}

TEST(Cron, Seconds) {
    EXPECT_EQ(cron("30 seconds").seconds, 30);
    EXPECT_EQ(cron(" 1 Second ").seconds, 1);
    EXPECT_EQ(cron("59\tSECONDS").seconds, 59);
    EXPECT_EQ(cron("7seconds").seconds, 7);
    for (const char *text : {"0 seconds", "60 seconds", "100000000000 seconds"})
        EXPECT_EQ(fault(text), CronFault::seconds) << text;
    for (const char *text : {"5 second s", "5 secondss", "5 sec", "seconds", "-5 seconds", "5 seconds ago"})
        EXPECT_EQ(fault(text), CronFault::fields) << text;
}

TEST(Cron, Blanks) {
    EXPECT_EQ(cron("  5\t4 *  * \t1 ").minutes, 1u << 5);
    for (const char *text : {"5 4 * * 1\n", "\n5 4 * * 1", "5 4\r\n* * 1\r\n", "5\v4\f* * 1"})
        EXPECT_EQ(cron(text).hours, 1u << 4) << text;
    EXPECT_EQ(cron("@daily\n").hours, 1u);
    EXPECT_EQ(cron("30 seconds\n").seconds, 30);
}

// Four numbers and a weekday in s are no number of seconds.
TEST(Cron, WeekdaysThatBeginAsSecondsDo) {
    for (const char *text : {"0 3 1 1 sun", "0 3 1 1 Sun", "0 3 1 1 0", "0  3\t1 1  SUN"})
        EXPECT_EQ(cron(text).weekdays, 1u) << text;
    EXPECT_EQ(cron("0 3 1 1 sat").weekdays, 1u << 6);
    EXPECT_EQ(cron("0 3 1 12 SAT,SUN").weekdays, 1u | 1u << 6);
    EXPECT_EQ(cron("0 3 1 1 sun-sat").weekdays, 0x7fu);
    EXPECT_EQ(fault("0 3 1 9 sep"), CronFault::weekday);
    EXPECT_EQ(fault("0 3 1 sun"), CronFault::fields);
    EXPECT_EQ(fault("0 3 1 1 second"), CronFault::weekday);
    EXPECT_EQ(fault("5 5 seconds"), CronFault::fields);
}

TEST(Cron, RangesThatGoBeyondTheEnd) {
    const auto bits = [](std::initializer_list<int> all) {
        std::uint64_t set = 0;
        for (const int bit : all)
            set |= std::uint64_t{1} << bit;
        return set;
    };
    EXPECT_EQ(cron("0 0 * * sat-sun").weekdays, bits({6, 0}));
    EXPECT_EQ(cron("0 0 * * 6-7").weekdays, bits({6, 0}));
    EXPECT_EQ(cron("0 0 * * fri-mon").weekdays, bits({5, 6, 0, 1}));
    EXPECT_EQ(cron("0 0 * * 7-2").weekdays, bits({0, 1, 2}));
    EXPECT_EQ(cron("0 0 * * sat-fri/2").weekdays, bits({6, 1, 3, 5}));
    EXPECT_EQ(cron("0 22-2 * * *").hours, bits({22, 23, 0, 1, 2}));
    EXPECT_EQ(cron("0 22-4/2 * * *").hours, bits({22, 0, 2, 4}));
    EXPECT_EQ(cron("0 23-22 * * *").hours, bits({}) + (1u << 24) - 1);
    EXPECT_EQ(cron("50-10/5 * * * *").minutes, bits({50, 55, 0, 5, 10}));
    EXPECT_EQ(cron("0 0 1 nov-feb *").months, bits({11, 12, 1, 2}));
    EXPECT_EQ(cron("0 0 28-3 * *").days, bits({28, 29, 30, 31, 1, 2, 3}));
    EXPECT_EQ(cron("0 0 * * sat-sun,wed").weekdays, bits({6, 0, 3}));
    EXPECT_EQ(times("30 23-1 * * sat-sun", at(2026, 11, 27), at(2026, 11, 29, 12)),
              (Times{at(2026, 11, 28, 0, 30), at(2026, 11, 28, 1, 30), at(2026, 11, 28, 23, 30),
                     at(2026, 11, 29, 0, 30), at(2026, 11, 29, 1, 30)}));
}

TEST(Cron, YearsOfQuartz) {
    const auto all = [](std::string_view text, std::int64_t after) {
        Cron parsed;
        Times found;
        if (!scylla::model::parse_quartz(text, parsed))
            return Times{-1};
        for (auto time = next_time(parsed, after, std::cref(k_berlin)); time && found.size() < 9;
             time = next_time(parsed, *time, std::cref(k_berlin)))
            found.push_back(*time);
        return found;
    };
    EXPECT_EQ(all("0 30 6 24 12 ? 2026", at(2026, 1, 1)), (Times{at(2026, 12, 24, 5, 30)})) << "comes once";
    EXPECT_EQ(all("0 30 6 24 12 ? 2026", at(2027, 1, 1)), Times{});
    EXPECT_EQ(all("0 0 0 1 1 ? 2027", at(2026, 1, 1)), (Times{at(2026, 12, 31, 23)})) << "by the clock of the zone";
    EXPECT_EQ(all("0 0 1 29 2 ? 2027-2031", at(2026, 1, 1)), (Times{at(2028, 2, 29)}));
    EXPECT_EQ(all("0 0 1 1 1 ? 2027,2030,2029", at(2026, 1, 2)),
              (Times{at(2027, 1, 1), at(2029, 1, 1), at(2030, 1, 1)}));
    EXPECT_EQ(all("0 0 1 1 1 ? 2090/3", at(2026, 1, 2)),
              (Times{at(2090, 1, 1), at(2093, 1, 1), at(2096, 1, 1), at(2099, 1, 1)}));
    EXPECT_EQ(all("0 0 1 1 1 ? 2027-2033/3", at(2026, 1, 2)), (Times{at(2027, 1, 1), at(2030, 1, 1), at(2033, 1, 1)}));
    EXPECT_EQ(all("0 0 1 30 2 ? 2027", at(2026, 1, 1)), Times{});
    EXPECT_EQ(all("0 0 1 1 1 ? *", at(2026, 1, 2)).size(), 9U);
    for (const char *bad : {"1969", "2100", "27", "2027-2026", "2027-", "-2027", "2027,", "2027/0", "2027/", "x",
                            "02027", "2027-20300", "L"})
        EXPECT_EQ(all("0 0 1 1 1 ? " + std::string(bad), 0), Times{-1}) << bad;
}

TEST(Cron, Faults) {
    constexpr struct {
        const char *text;
        CronFault fault;
    } k_faults[] = {{"", CronFault::fields},
                    {"   ", CronFault::fields},
                    {"* * * *", CronFault::fields},
                    {"* * * * * *", CronFault::fields},
                    {"60 * * * *", CronFault::minute},
                    {"-1 * * * *", CronFault::minute},
                    {"5-60 * * * *", CronFault::minute},
                    {"60-5 * * * *", CronFault::minute},
                    {"1/20 * * * *", CronFault::minute},
                    {"*/0 * * * *", CronFault::minute},
                    {"*/60 * * * *", CronFault::minute},
                    {"*/-1 * * * *", CronFault::minute},
                    {"*/x * * * *", CronFault::minute},
                    {"*/ * * * *", CronFault::minute},
                    {"1, * * * *", CronFault::minute},
                    {",1 * * * *", CronFault::minute},
                    {"1- * * * *", CronFault::minute},
                    {"1--2 * * * *", CronFault::minute},
                    {"1.5 * * * *", CronFault::minute},
                    {"5x * * * *", CronFault::minute},
                    {"*5 * * * *", CronFault::minute},
                    {"jan * * * *", CronFault::minute},
                    {"99999999999999999999 * * * *", CronFault::minute},
                    {"* 24 * * *", CronFault::hour},
                    {"* 0-24 * * *", CronFault::hour},
                    {"* * 0 * *", CronFault::day},
                    {"* * 32 * *", CronFault::day},
                    {"* * $,1 * *", CronFault::day},
                    {"* * 1,$ * *", CronFault::day},
                    {"* * * 0 *", CronFault::month},
                    {"* * * 13 *", CronFault::month},
                    {"* * * january *", CronFault::month},
                    {"* * * j *", CronFault::month},
                    {"* * * jan/2 *", CronFault::month},
                    {"* * * * 8", CronFault::weekday},
                    {"* * * * fri-8", CronFault::weekday},
                    {"* * 31-0 * *", CronFault::day},
                    {"* * * * monday", CronFault::weekday},
                    {"@reboot", CronFault::shorthand},
                    {"@Daily", CronFault::shorthand},
                    {"@daily now", CronFault::shorthand},
                    {"@", CronFault::shorthand}};
    for (const auto &[text, expected] : k_faults)
        EXPECT_EQ(fault(text), expected) << '"' << text << '"';
}

// Whatever the bytes are, parsing ends, and what is accepted has members in each field and only such as the field has.
TEST(Cron, RandomText) {
    std::mt19937 random(42);
    const std::string alphabet = "0123456789*/-,$@ \tjanfebsumoth\nsecond";
    int accepted = 0;
    for (int i = 0; i < 300'000; i++) {
        std::string text;
        for (int n = static_cast<int>(random() % 24); n > 0; n--)
            text += random() % 64 == 0 ? static_cast<char>(random() % 256) : alphabet[random() % alphabet.size()];
        if (random() % 2 == 0)
            text = "1" + text.substr(0, text.size() / 2) + " * * * *";
        Cron c;
        if (parse_cron(text, c) != CronFault::none || c.seconds > 0)
            continue;
        accepted++;
        ASSERT_TRUE(c.minutes != 0 && c.minutes >> 60 == 0) << text;
        ASSERT_TRUE(c.hours != 0 && c.hours >> 24 == 0) << text;
        ASSERT_TRUE((c.days != 0 || c.last_day) && (c.days & 1) == 0) << text;
        ASSERT_TRUE(c.months != 0 && (c.months & 1) == 0 && c.months >> 13 == 0) << text;
        ASSERT_TRUE(c.weekdays != 0 && c.weekdays >> 7 == 0) << text;
    }
    EXPECT_GT(accepted, 1'000);
}

// ---- the calendar --------------------------------------------------------------------------------------------------

TEST(Cron, DatesAreThoseOfTheStandardLibrary) {
    using namespace std::chrono;
    for (std::int64_t day = at(1599, 1, 1) / 86'400; day < at(2501, 1, 1) / 86'400; day++) {
        const year_month_day expected{sys_days{days{day}}};
        const detail::Date date = detail::date_of(day);
        ASSERT_TRUE(date.year == int{expected.year()} && date.month == static_cast<int>(unsigned{expected.month()}) &&
                    date.day == static_cast<int>(unsigned{expected.day()}))
            << day;
        ASSERT_EQ(detail::weekday_of(day), static_cast<int>(weekday{sys_days{days{day}}}.c_encoding())) << day;
    }
}

TEST(Cron, TheNextTimeIsLaterThanTheMoment) {
    EXPECT_EQ(next("0 12 * * *", at(2026, 5, 1, 12) - 1), at(2026, 5, 1, 12));
    EXPECT_EQ(next("0 12 * * *", at(2026, 5, 1, 12)), at(2026, 5, 2, 12));
    EXPECT_EQ(next("* * * * *", at(2026, 5, 1, 12, 0, 1)), at(2026, 5, 1, 12, 1));
    EXPECT_EQ(next("* * * * *", at(2025, 12, 31, 23, 59, 59)), at(2026, 1, 1));
    EXPECT_EQ(next("* * * * *", at(1969, 12, 31, 23, 58, 30)), at(1969, 12, 31, 23, 59));
}

TEST(Cron, SecondsAreCountedFrom1970) {
    EXPECT_EQ(next("10 seconds", at(2026, 5, 1, 12, 0, 3)), at(2026, 5, 1, 12, 0, 10));
    EXPECT_EQ(next("10 seconds", at(2026, 5, 1, 12, 0, 10)), at(2026, 5, 1, 12, 0, 20));
    EXPECT_EQ(next("7 seconds", 13), 14);
    EXPECT_EQ(next("7 seconds", -8), -7);
}

TEST(Cron, TheDayMustFitBothFieldsIfOneBeginsWithAStar) {
    // Fridays the 13th of 2026: in February, March and November.
    EXPECT_EQ(times("0 0 13 * *", at(2026, 1, 1), at(2026, 3, 31)),
              (Times{at(2026, 1, 13), at(2026, 2, 13), at(2026, 3, 13)}));
    EXPECT_EQ(times("0 0 13 * fri", at(2026, 2, 1), at(2026, 2, 20)),
              (Times{at(2026, 2, 6), at(2026, 2, 13), at(2026, 2, 20)}));
    EXPECT_EQ(times("0 0 13 * 1", at(2026, 2, 1), at(2026, 2, 16)),
              (Times{at(2026, 2, 2), at(2026, 2, 9), at(2026, 2, 13), at(2026, 2, 16)}));
    // A step of seven days beginning with a star counts as a star: the 1st, 8th, … if it is a Monday.
    EXPECT_EQ(times("0 0 */7 * mon", at(2026, 1, 1), at(2026, 12, 31)),
              (Times{at(2026, 6, 1), at(2026, 6, 8), at(2026, 6, 15), at(2026, 6, 22), at(2026, 6, 29)}));
}

TEST(Cron, TheLastDayOfTheMonth) {
    EXPECT_EQ(times("0 9 $ * *", at(2028, 1, 1), at(2028, 5, 1)),
              (Times{at(2028, 1, 31, 9), at(2028, 2, 29, 9), at(2028, 3, 31, 9), at(2028, 4, 30, 9)}));
    EXPECT_EQ(times("0 9 $ 2 mon", at(2026, 2, 20), at(2026, 3, 5)), (Times{at(2026, 2, 23, 9), at(2026, 2, 28, 9)}));
}

TEST(Cron, LeapDays) {
    EXPECT_EQ(times("0 0 29 2 *", at(2026, 1, 1), at(2033, 1, 1)), (Times{at(2028, 2, 29), at(2032, 2, 29)}));
    EXPECT_EQ(next("0 0 29 2 *", at(2096, 3, 1)), at(2104, 2, 29)); // 2100 is no leap year
    EXPECT_EQ(next("0 0 29 2 */7", at(2077, 1, 1)), at(2088, 2, 29));
    EXPECT_EQ(next("0 0 29 2 */7", at(2088, 3, 1)), at(2128, 2, 29)); // 40 years to the next Sunday
}

TEST(Cron, Never) {
    for (const char *text : {"0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 30-31 feb */7"}) {
        EXPECT_EQ(next(text, at(2026, 1, 1)), -1) << text;
        EXPECT_EQ(next(text, at(2026, 1, 1), k_berlin), -1) << text;
    }
}

TEST(Cron, OffsetsWithSeconds) {
    const Zone amsterdam{1'172, {}}; // 0:19:32 ahead
    EXPECT_EQ(next("0 12 * * *", at(1930, 1, 1), amsterdam), at(1930, 1, 1, 12) - 1'172);
    EXPECT_EQ(next("* * * * *", at(1930, 1, 1), amsterdam), at(1930, 1, 1, 0, 0, 28));
}

// ---- clocks that are put forward and back --------------------------------------------------------------------------

TEST(Cron, FixedTimesThatAreLeftOutComeAtTheJump) {
    const std::int64_t jump = at(2026, 3, 29, 1);
    const auto from = at(2026, 3, 28, 12);
    const auto until = at(2026, 3, 30, 12);
    EXPECT_EQ(times("30 2 * * *", from, until, k_berlin), (Times{jump, at(2026, 3, 30, 0, 30)}));
    EXPECT_EQ(times("0 2 * * *", from, until, k_berlin), (Times{jump, at(2026, 3, 30, 0)}));
    EXPECT_EQ(times("0 3 * * *", from, until, k_berlin), (Times{jump, at(2026, 3, 30, 1)}));
    // Several come together.
    EXPECT_EQ(times("0,30 2,3 * * *", from, at(2026, 3, 29, 12), k_berlin), (Times{jump, jump + 1'800}));
    // From just before, at, and after the jump.
    EXPECT_EQ(next("30 2 * * *", jump - 1, k_berlin), jump);
    EXPECT_EQ(next("30 2 * * *", jump, k_berlin), at(2026, 3, 30, 0, 30));
    EXPECT_EQ(next("30 2 29 3 *", jump - 3'600, k_berlin), jump);
}

TEST(Cron, FixedTimesThatAreRepeatedComeOnce) {
    const auto from = at(2026, 10, 24, 12);
    const auto until = at(2026, 10, 26, 12);
    EXPECT_EQ(times("30 2 * * *", from, until, k_berlin), (Times{at(2026, 10, 25, 0, 30), at(2026, 10, 26, 1, 30)}));
    EXPECT_EQ(times("0 2 * * *", from, until, k_berlin), (Times{at(2026, 10, 25, 0), at(2026, 10, 26, 1)}));
    EXPECT_EQ(times("0 3 * * *", from, until, k_berlin), (Times{at(2026, 10, 25, 2), at(2026, 10, 26, 2)}));
    // From within the hour that comes again, the first and the second time.
    EXPECT_EQ(next("30 2 * * *", at(2026, 10, 25, 0, 45), k_berlin), at(2026, 10, 26, 1, 30));
    EXPECT_EQ(next("30 2 * * *", at(2026, 10, 25, 1, 15), k_berlin), at(2026, 10, 26, 1, 30));
}

TEST(Cron, StarsGoByElapsedTime) {
    const auto forward = times("*/30 * * * *", at(2026, 3, 28), at(2026, 3, 30), k_berlin);
    const auto back = times("*/30 * * * *", at(2026, 10, 24), at(2026, 10, 26), k_berlin);
    for (const auto &each : {forward, back}) {
        ASSERT_EQ(each.size(), 96u);
        for (std::size_t i = 1; i < each.size(); i++)
            ASSERT_EQ(each[i] - each[i - 1], 1'800);
    }
    // At two, every minute: no such hour on one day, twice on the other.
    EXPECT_EQ(times("* 2 * * *", at(2026, 3, 28, 12), at(2026, 3, 29, 12), k_berlin), Times{});
    EXPECT_EQ(times("* 2 * * *", at(2026, 10, 24, 12), at(2026, 10, 25, 12), k_berlin).size(), 120u);
    EXPECT_EQ(times("@hourly", at(2026, 10, 24, 22), at(2026, 10, 25, 4), k_berlin).size(), 6u);
}

// Samoa left out 30 December 2011; the other zone, made up, has a day twice.
TEST(Cron, WholeDaysThatAreLeftOutOrRepeated) {
    const Zone samoa{-10 * k_hour, {{at(2011, 12, 30, 10), 14 * k_hour}}};
    EXPECT_EQ(times("0 12 * * *", at(2011, 12, 29, 0), at(2012, 1, 1), samoa),
              (Times{at(2011, 12, 29, 22), at(2011, 12, 30, 10), at(2011, 12, 30, 22), at(2011, 12, 31, 22)}));
    const Zone back{12 * k_hour, {{at(2011, 12, 30, 10), -12 * k_hour}}};
    EXPECT_EQ(times("0 12 * * *", at(2011, 12, 29, 12), at(2012, 1, 1, 12), back),
              (Times{at(2011, 12, 30, 0), at(2012, 1, 1, 0)}));
}

// ---- against an oracle: the rules again, minute by minute ----------------------------------------------------------

bool fits(const Cron &c, std::int64_t local) {
    const std::int64_t day = detail::floor_div(local, 86'400);
    const auto second = static_cast<int>(local - day * 86'400);
    if (second % 60 != 0)
        return false;
    const detail::Date date = detail::date_of(day);
    return detail::has(c.minutes, second / 60 % 60) && detail::has(c.hours, second / 3'600) &&
           detail::has(c.months, date.month) && detail::fits(c, date, day);
}

Times oracle(const Cron &c, std::int64_t after, std::int64_t until, const Zone &zone) {
    Times found;
    std::int64_t shown = std::numeric_limits<std::int64_t>::min(); // the last local minute that the clock has shown
    for (std::int64_t moment = after - 2 * 86'400; moment <= until; moment += 60) {
        const std::int64_t local = moment + zone.offset_at(moment);
        bool comes = fits(c, local);
        if (c.fixed && shown != std::numeric_limits<std::int64_t>::min()) {
            comes = comes && local > shown;
            for (std::int64_t left_out = shown + 60; left_out < local; left_out += 60)
                comes = comes || fits(c, left_out);
        }
        shown = std::max(shown, local);
        if (comes && moment > after)
            found.push_back(moment);
    }
    return found;
}

std::string random_field(std::mt19937 &random, int low, int high) {
    const int kind = static_cast<int>(random() % 8);
    const auto pick = [&](int from, int to) {
        return from + static_cast<int>(random() % static_cast<unsigned>(to - from + 1));
    };
    if (kind < 3)
        return "*";
    if (kind == 3)
        return "*/" + std::to_string(pick(1, high));
    std::string list;
    for (int n = pick(1, 3); n > 0; n--) {
        const int first = pick(low, high);
        list += list.empty() ? "" : ",";
        list += std::to_string(first);
        if (kind > 5) {
            list += "-" + std::to_string(pick(first, high));
            if (kind == 7)
                list += "/" + std::to_string(pick(1, high));
        }
    }
    return list;
}

TEST(Cron, AgreesWithTheOracle) {
    std::mt19937 random(7);
    for (int round = 0; round < 400; round++) {
        Zone zone;
        zone.first = (static_cast<std::int64_t>(random() % 25) - 12) * k_hour;
        std::int64_t start = at(2026, 1, 1) + static_cast<std::int64_t>(random() % 500) * 86'400;
        // Changes of the clock by up to three hours, some close together.
        std::int64_t moment = start;
        std::int64_t offset = zone.first;
        for (int n = static_cast<int>(random() % 4); n > 0; n--) {
            moment += static_cast<std::int64_t>(1 + random() % 200) * 1'800;
            offset += (static_cast<std::int64_t>(random() % 13) - 6) * 1'800;
            zone.changes.push_back({moment, offset});
        }
        const std::string text = random_field(random, 0, 59) + " " + random_field(random, 0, 23) + " " +
                                 random_field(random, 1, 31) + " " + random_field(random, 1, 12) + " " +
                                 random_field(random, 0, 7);
        const std::int64_t after = start + static_cast<std::int64_t>(random() % 2'880) * 60;
        const std::int64_t until = after + 9 * 86'400;
        ASSERT_EQ(times(text, after, until, zone), oracle(cron(text), after, until, zone))
            << text << " after " << after << ", round " << round;
    }
}

} // namespace
} // namespace test_cron
