// Dates and zones of the expression language (Maestro, section 4.7).
#include <gtest/gtest.h>

#include <chrono>

#include "model/sel/dates.h"
#include "model/zone.h"
#include "sel_world.h"

namespace test_sel_dates {
namespace {

std::string at(std::string_view expression) {
    // 2026-11-23T08:30:15.123Z, a Monday.
    return eval("d = new DateTime(1795422615123); " + std::string(expression));
}

TEST(Sel_4_7_Dates, TheCalendarAgreesWithTheStandardLibrary) {
    using namespace std::chrono;
    for (std::int64_t day = -800'000; day < 800'000; day += 37) {
        const year_month_day date{sys_days{days{day}}};
        const auto local = scylla::model::sel::from_days(day, 0);
        ASSERT_EQ(local.year, static_cast<int>(date.year()));
        ASSERT_EQ(local.month, static_cast<int>(static_cast<unsigned>(date.month())));
        ASSERT_EQ(local.day, static_cast<int>(static_cast<unsigned>(date.day())));
        ASSERT_EQ(scylla::model::sel::days_of(local.year, local.month, local.day), day);
    }
}

TEST(Sel_4_7_Dates, Constructors) {
    EXPECT_EQ(eval("new DateTime()"), R"("2026-05-28T20:26:40.000Z")");
    EXPECT_EQ(eval("new DateTime(0)"), R"("1970-01-01T00:00:00.000Z")");
    EXPECT_EQ(eval("new DateTime(-1).toString()"), R"("1969-12-31T23:59:59.999Z")");
    EXPECT_EQ(eval("new DateTime('2026-11-23')"), R"("2026-11-23T00:00:00.000Z")");
    EXPECT_EQ(eval("new DateTime('2026-11-23T08:30:15.5+01:00')"), R"("2026-11-23T07:30:15.500Z")");
    EXPECT_EQ(eval("new DateTime('2026-11-23T08', DateTimeZone.forID('Europe/Berlin'))"),
              R"("2026-11-23T08:00:00.000+01:00")");
    EXPECT_EQ(eval("new DateTime(2026, 7, 1, 12, 30, 0, 0, DateTimeZone.forID('Europe/Berlin')).getMillis()"),
              "1782901800000");
    EXPECT_EQ(eval("new DateTime(2026, 2, 29, 0, 0, 0, 0, DateTimeZone.UTC)"),
              "1:5: a field of a date must be between 1 and 28, not 29");
    EXPECT_EQ(eval("new DateTime('yesterday')"), "1:5: \"yesterday\" does not fit the pattern at character 1");
    EXPECT_EQ(eval("new DateTime(9223372036854775807)"), "1:5: a date must be between the years -9999 and 9999");
}

TEST(Sel_4_7_Dates, Fields) {
    EXPECT_EQ(at("d.getYear() * 10000 + d.getMonthOfYear() * 100 + d.getDayOfMonth()"), "20261123");
    EXPECT_EQ(at("d.getHourOfDay() * 10000 + d.getMinuteOfHour() * 100 + d.getSecondOfMinute()"), "83015");
    EXPECT_EQ(at("d.getMillisOfSecond()"), "123");
    EXPECT_EQ(at("d.getMinuteOfDay()"), "510");
    EXPECT_EQ(at("d.getSecondOfDay()"), "30615");
    EXPECT_EQ(at("d.getMillisOfDay()"), "30615123");
    EXPECT_EQ(at("d.getDayOfWeek()"), "1");
    EXPECT_EQ(at("d.getDayOfYear()"), "327");
    EXPECT_EQ(at("d.getWeekOfWeekyear()"), "48");
    EXPECT_EQ(eval("new DateTime('2027-01-01').getWeekyear()"), "2026");
    EXPECT_EQ(eval("new DateTime('2027-01-01').getWeekOfWeekyear()"), "53");
    EXPECT_EQ(eval("new DateTime('2024-12-30').getWeekyear()"), "2025");
    EXPECT_EQ(at("d.withZone(DateTimeZone.forID('US/Pacific')).getHourOfDay()"), "0");
}

TEST(Sel_4_7_Dates, WithFields) {
    EXPECT_EQ(at("d.withYear(2024).withDayOfMonth(29).withMonthOfYear(2)"), R"("2024-02-29T08:30:15.123Z")");
    EXPECT_EQ(eval("new DateTime('2024-02-29').withYear(2023)"), R"("2023-02-28T00:00:00.000Z")");
    EXPECT_EQ(at("d.withDayOfWeek(7)"), R"("2026-11-29T08:30:15.123Z")");
    EXPECT_EQ(at("d.withDayOfYear(1)"), R"("2026-01-01T08:30:15.123Z")");
    EXPECT_EQ(at("d.withWeekOfWeekyear(1)"), R"("2025-12-29T08:30:15.123Z")");
    EXPECT_EQ(at("d.withWeekyear(2025)"), R"("2025-11-24T08:30:15.123Z")");
    EXPECT_EQ(at("d.withHourOfDay(1).withMinuteOfHour(2).withSecondOfMinute(3).withMillisOfSecond(4)"),
              R"("2026-11-23T01:02:03.004Z")");
    EXPECT_EQ(at("d.withMillisOfDay(1)"), R"("2026-11-23T00:00:00.001Z")");
    EXPECT_EQ(at("d.withTimeAtStartOfDay()"), R"("2026-11-23T00:00:00.000Z")");
    EXPECT_EQ(at("d.withHourOfDay(24)"), "1:36: a field of a date must be between 0 and 23, not 24");
}

TEST(Sel_4_7_Dates, PlusAndMinus) {
    EXPECT_EQ(at("d.plusYears(1).plusMonths(1).plusWeeks(1).plusDays(1)"), R"("2027-12-31T08:30:15.123Z")");
    EXPECT_EQ(at("d.minusYears(1).minusMonths(11).minusWeeks(1).minusDays(1)"), R"("2024-12-15T08:30:15.123Z")");
    EXPECT_EQ(at("d.plusHours(20).plusMinutes(1).plusSeconds(1).plusMillis(1)"), R"("2026-11-24T04:31:16.124Z")");
    EXPECT_EQ(at("d.minusHours(9).minusMinutes(1).minusSeconds(1).minusMillis(1)"), R"("2026-11-22T23:29:14.122Z")");
    EXPECT_EQ(eval("new DateTime('2026-01-31').plusMonths(1)"), R"("2026-02-28T00:00:00.000Z")");
    EXPECT_EQ(eval("new DateTime('2024-02-29').plusYears(1)"), R"("2025-02-28T00:00:00.000Z")");
    EXPECT_EQ(at("d.plusYears(9000)"), "1:36: a date must be between the years -9999 and 9999");
    EXPECT_EQ(at("d.plusDays(2147483648)"), "1:36: 2147483648 does not fit into 32 bits");
    EXPECT_EQ(at("d.plusDays(2147483647)"), "1:36: a date must be between the years -9999 and 9999");
}

// A day is as long as the clocks make it; an hour is an hour.
TEST(Sel_4_7_Dates, WhereClocksArePutForwardAndBack) {
    const std::string berlin = "z = DateTimeZone.forID('Europe/Berlin'); ";
    EXPECT_EQ(eval(berlin + "new DateTime('2026-03-28T12:00', z).plusDays(1)"), R"("2026-03-29T12:00:00.000+02:00")");
    EXPECT_EQ(eval(berlin + "new DateTime('2026-03-28T12:00', z).plusHours(24)"), R"("2026-03-29T13:00:00.000+02:00")");
    EXPECT_EQ(eval(berlin + "new DateTime('2026-03-28T02:30', z).plusDays(1)"), R"("2026-03-29T03:30:00.000+02:00")");
    EXPECT_EQ(eval(berlin + "new DateTime('2026-10-24T02:30', z).plusDays(1)"), R"("2026-10-25T02:30:00.000+02:00")");
    EXPECT_EQ(eval(berlin + "new DateTime('2026-10-24T02:30', z).plusDays(1).plusHours(1)"),
              R"("2026-10-25T02:30:00.000+01:00")");
    EXPECT_EQ(eval(berlin + "Days.daysBetween(new DateTime('2026-03-28', z), new DateTime('2026-03-30', z)).getDays()"),
              "2");
}

TEST(Sel_4_7_Dates, Comparison) {
    EXPECT_EQ(at("d.isAfter(d.minusMillis(1)) && d.isBefore(d.plusMillis(1)) && d.isEqual(d.plusDays(0))"), "true");
    EXPECT_EQ(at("d == new DateTime(1795422615123)"), "true");
    EXPECT_EQ(at("d.isAfter(1)"), "1:36: DATETIME is expected, not LONG");
    EXPECT_EQ(at("Days.daysBetween(d, d.plusHours(47)).getDays()"), "1");
    EXPECT_EQ(at("Days.daysBetween(d, d.minusHours(47)).getDays()"), "-1");
    EXPECT_EQ(at("'' + Days.daysBetween(d, d)"), R"("P0D")");
}

TEST(Sel_4_7_Dates, Properties) {
    EXPECT_EQ(at("d.dayOfWeek().getAsText()"), R"("Monday")");
    EXPECT_EQ(at("d.monthOfYear().getAsText()"), R"("November")");
    EXPECT_EQ(at("d.dayOfMonth().get()"), "23");
    EXPECT_EQ(at("d.dayOfMonth().withMaximumValue()"), R"("2026-11-30T08:30:15.123Z")");
    EXPECT_EQ(at("d.dayOfWeek().withMinimumValue()"), R"("2026-11-23T08:30:15.123Z")");
    EXPECT_EQ(at("d.weekyear().get() + d.weekOfWeekyear().get()"), "2074");
    EXPECT_EQ(at("d.minuteOfDay().getAsText()"), R"("510")");
    EXPECT_EQ(at("d.dayOfWeek()"), "DATETIME_PROPERTY cannot be the result");
}

TEST(Sel_4_7_Dates, Zones) {
    EXPECT_EQ(at("d.withZone(DateTimeZone.forID('Europe/Berlin'))"), R"("2026-11-23T09:30:15.123+01:00")");
    EXPECT_EQ(at("d.toDateTime(DateTimeZone.forID('-05:30'))"), R"("2026-11-23T03:00:15.123-05:30")");
    EXPECT_EQ(at("DateTimeZone.forID('Europe/Berlin').getOffset(d)"), "3600000");
    EXPECT_EQ(at("DateTimeZone.UTC.getOffset(d)"), "0");
    EXPECT_EQ(at("DateTimeZone.forID('UTC') == DateTimeZone.UTC"), "true");
    for (const std::string none : {"Mars/Base", "foo5", "2", "5.5", "+25:00", "<-03>3", "", "PST"})
        EXPECT_EQ(eval("DateTimeZone.forID('" + none + "')"),
                  "1:14: \"" + none + "\" must be " + std::string(scylla::model::k_zone_rule));
    EXPECT_EQ(at("d.withZone(DateTimeZone.forID('+2'))"), R"("2026-11-23T10:30:15.123+02:00")");
    EXPECT_EQ(at("d.withZone(DateTimeZone.forID('UTC+3'))"), R"("2026-11-23T11:30:15.123+03:00")");
    EXPECT_EQ(at("d.withZone(DateTimeZone.forID('-8')).toString('HH ZZZ')"), R"("00 -08:00")");
    EXPECT_EQ(eval("new DateTime('2026-11-23T08:30+01')"), R"("2026-11-23T07:30:00.000Z")");
    EXPECT_EQ(eval("new DateTime('2026-11-23T08:30-0930')"), R"("2026-11-23T18:00:00.000Z")");
}

// As Joda-Time: an offset that was, and is possible, stays.
TEST(Sel_4_7_Dates, TheHourThatComesTwice) {
    const auto second = [](std::string_view text) {
        return eval("d = new DateTime('2026-10-25T02:30+01:00', DateTimeZone.forID('Europe/Berlin')); " +
                    std::string(text));
    };
    EXPECT_EQ(second("d.withMinuteOfHour(0)"), R"("2026-10-25T02:00:00.000+01:00")");
    EXPECT_EQ(second("d.withSecondOfMinute(5).withMillisOfSecond(7)"), R"("2026-10-25T02:30:05.007+01:00")");
    EXPECT_EQ(second("d.minuteOfHour().withMaximumValue()"), R"("2026-10-25T02:59:00.000+01:00")");
    EXPECT_EQ(second("d.withDayOfMonth(25).withHourOfDay(2)"), R"("2026-10-25T02:30:00.000+01:00")");
    for (const std::string unit : {"Years", "Months", "Weeks", "Days", "Hours", "Minutes"})
        EXPECT_EQ(second("d.plus" + unit + "(0)"), R"("2026-10-25T02:30:00.000+01:00")") << unit;
    EXPECT_EQ(second("d.plusDays(1).minusDays(1)"), R"("2026-10-25T02:30:00.000+01:00")");
    EXPECT_EQ(second("d.minusDays(1).plusDays(1)"), R"("2026-10-25T02:30:00.000+02:00")");
    EXPECT_EQ(second("d.minusHours(1).withMinuteOfHour(0)"), R"("2026-10-25T02:00:00.000+02:00")");
    EXPECT_EQ(second("d.withTimeAtStartOfDay()"), R"("2026-10-25T00:00:00.000+02:00")");
    EXPECT_EQ(eval("new DateTime('2026-10-25T02:30', DateTimeZone.forID('Europe/Berlin'))"),
              R"("2026-10-25T02:30:00.000+02:00")");
}

TEST(Sel_4_7_Dates, Printing) {
    EXPECT_EQ(at("d.toString('yyyy-MM-dd HH:mm:ss.SSS')"), R"("2026-11-23 08:30:15.123")");
    EXPECT_EQ(at("d.toString('YYYYMMdd')"), R"("20261123")");
    EXPECT_EQ(at("d.toString(\"EEE EEEE, d MMM MMMM yy 'at' h a 'o''clock'\")"),
              R"("Mon Monday, 23 Nov November 26 at 8 AM o'clock")");
    EXPECT_EQ(at("d.toString('G C D e K k w x S SS Z ZZ ZZZ')"), R"("AD 20 327 1 8 8 48 2026 1 12 +0000 +00:00 UTC")");
    EXPECT_EQ(at("d.withHourOfDay(0).toString('h K k a')"), R"("12 0 24 AM")");
    EXPECT_EQ(at("DateTimeFormat.forPattern('HH').withZone(DateTimeZone.forID('Europe/Berlin')).print(d)"), R"("09")");
    EXPECT_EQ(eval("DateTimeFormat.forPattern('yyyy').print(0)"), R"("1970")");
    EXPECT_EQ(eval("DateTimeFormat.forPattern('bb')"), "1:16: the letter \"b\" of a pattern is not supported");
    EXPECT_EQ(eval("DateTimeFormat.forPattern(\"'a\")"), "1:16: a quote of a pattern is not closed");
    EXPECT_EQ(eval("DateTimeFormat.forPattern('')"), "1:16: a pattern must not be empty");
}

TEST(Sel_4_7_Dates, Reading) {
    const auto read = [](std::string_view pattern, std::string_view text) {
        return eval("DateTime.parse('" + std::string(text) + "', DateTimeFormat.forPattern('" + std::string(pattern) +
                    "'))");
    };
    EXPECT_EQ(read("yyyyMMddHH", "2026112308"), R"("2026-11-23T08:00:00.000Z")");
    EXPECT_EQ(read("d MMM yyyy", "3 Nov 2026"), R"("2026-11-03T00:00:00.000Z")");
    EXPECT_EQ(read("d MMMM yyyy", "3 november 2026"), R"("2026-11-03T00:00:00.000Z")");
    EXPECT_EQ(read("EEE d/M/yy h:mm a", "Mon 23/11/26 8:30 PM"), R"("2026-11-23T20:30:00.000Z")");
    EXPECT_EQ(read("yyyy-DDD", "2026-327"), R"("2026-11-23T00:00:00.000Z")");
    EXPECT_EQ(read("xxxx-ww-e", "2026-48-1"), R"("2026-11-23T00:00:00.000Z")");
    EXPECT_EQ(read("yyyy-MM-dd HH:mm:ss.SSS ZZ", "2026-11-23 08:30:15.123 +01:00"), R"("2026-11-23T07:30:15.123Z")");
    EXPECT_EQ(read("yyyy ZZZ", "2026 Europe/Berlin"), R"("2026-01-01T00:00:00.000+01:00")");
    EXPECT_EQ(read("yyyyMMdd", "2026112"), R"("2026-11-02T00:00:00.000Z")"); // the last number may be shorter
    EXPECT_EQ(read("yyyyMMdd", "20261323"), "1:10: \"20261323\" does not fit the pattern at character 5");
    EXPECT_EQ(read("yyyyMMdd", "20261123x"), "1:10: \"20261123x\" does not fit the pattern at character 9");
    EXPECT_EQ(eval("DateTimeFormat.forPattern('yyyyMMdd').parseMillis('20210707')"), "1625616000000");
    EXPECT_EQ(eval("DateTimeFormat.forPattern('yyyyMMdd').parseDateTime(20210707).getYear()"), "2021");
    EXPECT_EQ(eval("DateTimeFormat.forPattern('yyyyMMdd').withZone(DateTimeZone.forID('Europe/Berlin'))"
                   ".parseDateTime('20210707')"),
              R"("2021-07-07T00:00:00.000+01:00")"); // the zone of these tests has no summer in 2021
}

TEST(Sel_4_7_Dates, ADayWithoutAYearIsOfALeapYear) {
    const auto read = [](std::string_view text, std::string_view pattern) {
        return eval("DateTime.parse('" + std::string(text) + "', DateTimeFormat.forPattern(\"" + std::string(pattern) +
                    "\"))");
    };
    EXPECT_EQ(read("0229", "MMdd"), R"("2000-02-29T00:00:00.000Z")");
    EXPECT_EQ(read("5", "d"), R"("2000-01-05T00:00:00.000Z")");
    EXPECT_EQ(read("060", "DDD"), R"("2000-02-29T00:00:00.000Z")");
    EXPECT_EQ(read("08:30", "HH:mm"), R"("1970-01-01T08:30:00.000Z")"); // a time without a day
    EXPECT_EQ(read("2021", "yyyy"), R"("2021-01-01T00:00:00.000Z")");
    EXPECT_NE(read("2021-0229", "yyyy-MMdd").find("there is no day 29"), std::string::npos);
}

// Expected is what Joda-Time 2.10.14 makes of them.
TEST(Sel_4_7_Dates, FieldsAreSetInTheOrderOfTheirSize) {
    const auto read = [](std::string_view text, std::string_view pattern) {
        return eval("DateTime.parse('" + std::string(text) + "', DateTimeFormat.forPattern(\"" + std::string(pattern) +
                    "\"))");
    };
    EXPECT_EQ(read("Tuesday, 23 November 2026", "EEEE, d MMMM yyyy"), R"("2026-11-24T00:00:00.000Z")");
    EXPECT_EQ(read("Mon", "E"), R"("2000-12-25T00:00:00.000Z")");
    EXPECT_EQ(read("3", "e"), R"("2000-12-27T00:00:00.000Z")");
    EXPECT_EQ(read("06 21", "MM ww"), R"("2000-05-22T00:00:00.000Z")");
    EXPECT_EQ(read("21", "ww"), R"("2000-05-22T00:00:00.000Z")");
    EXPECT_EQ(read("26 21 3", "xx ww e"), R"("2026-05-20T00:00:00.000Z")");
    EXPECT_EQ(read("232 19", "D d"), R"("2000-08-19T00:00:00.000Z")");
    EXPECT_EQ(read("17 05", "HH hh"), R"("1970-01-01T17:00:00.000Z")");
    EXPECT_EQ(read("05 17", "HH kk"), R"("1970-01-01T17:00:00.000Z")");
    EXPECT_EQ(read("PM", "a"), R"("1970-01-01T12:00:00.000Z")");
    EXPECT_EQ(read("PM 05", "a mm"), R"("1970-01-01T12:05:00.000Z")");
    EXPECT_EQ(read("+0100-7", "Z-H"), R"("1970-01-01T06:00:00.000Z")");
    EXPECT_EQ(read("Europe/Berlin/2026", "ZZZ/yyyy"), R"("2026-01-01T00:00:00.000+01:00")");
}

TEST(Sel_4_7_Dates, WeeksDaysOfAYearAndTimesInISO8601) {
    const auto read = [](std::string_view text) { return eval("new DateTime('" + std::string(text) + "')"); };
    EXPECT_EQ(read("2026-W48"), R"("2026-11-23T00:00:00.000Z")");
    EXPECT_EQ(read("2026-W48-7"), R"("2026-11-29T00:00:00.000Z")");
    EXPECT_EQ(read("2026-W01-1T08:30"), R"("2025-12-29T08:30:00.000Z")");
    EXPECT_EQ(read("2026-327"), R"("2026-11-23T00:00:00.000Z")");
    EXPECT_EQ(read("T08:30"), R"("1970-01-01T08:30:00.000Z")");
    EXPECT_EQ(read("T08:30:15.5Z"), R"("1970-01-01T08:30:15.500Z")");
    EXPECT_EQ(read("2026-11"), R"("2026-11-01T00:00:00.000Z")");
    for (const std::string_view wrong : {"2026-W54", "2026-W48-8", "2026-367", "2026-", ""})
        EXPECT_NE(read(wrong)[0], '"') << wrong << read(wrong);
}

TEST(Sel_4_7_Dates, AFractionIsOfItsLastPart) {
    const auto read = [](std::string_view text) { return eval("new DateTime('2026-11-23" + std::string(text) + "')"); };
    EXPECT_EQ(read("T08.5"), R"("2026-11-23T08:30:00.000Z")");
    EXPECT_EQ(read("T08:30.5"), R"("2026-11-23T08:30:30.000Z")");
    EXPECT_EQ(read("T08:30,5"), R"("2026-11-23T08:30:30.000Z")");
    EXPECT_EQ(read("T08:30:15,123456+01:00"), R"("2026-11-23T07:30:15.123Z")");
    EXPECT_EQ(read("T08:30:15.5"), R"("2026-11-23T08:30:15.500Z")");
    EXPECT_EQ(read("T08:30.25Z"), R"("2026-11-23T08:30:15.000Z")");
    EXPECT_EQ(read("T08:30.25z"), R"("2026-11-23T08:30:15.000Z")");
    EXPECT_EQ(read("T11,643248354Z"), R"("2026-11-23T11:38:35.693Z")"); // each digit is rounded down
    EXPECT_EQ(eval("new DateTime('+2026-03-15')"), R"("2026-03-15T00:00:00.000Z")");
    EXPECT_NE(read("T08:30.").find("no fraction"), std::string::npos);
}

} // namespace
} // namespace test_sel_dates
