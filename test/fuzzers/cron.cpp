// Schedules: any text, any time zone.
#include "fuzz.h"

#include <optional>
#include <string>
#include <vector>

#include "model/cron.h"

using namespace scylla::model;

namespace {

constexpr std::int64_t k_hour = 3'600;

struct Zone {
    struct Change {
        std::int64_t moment;
        std::int64_t offset;
    };
    std::int64_t first;
    std::vector<Change> changes;

    ZoneSpan operator()(std::int64_t moment) const {
        std::int64_t offset = first;
        for (const Change &change : changes) {
            if (change.moment > moment)
                return {offset, true, change.moment, change.offset};
            offset = change.offset;
        }
        return {offset, false, 0, 0};
    }
};

// Whole minutes, up to 16 hours; changes of up to a day, at least a day apart, as there have been.
Zone take_zone(FuzzedDataProvider &input, std::int64_t around) {
    Zone zone{input.ConsumeIntegralInRange<std::int64_t>(-16 * 60, 16 * 60) * 60, {}};
    std::int64_t moment = around - 5 * 24 * k_hour;
    while (input.remaining_bytes() > 0 && zone.changes.size() < 8) {
        moment += input.ConsumeIntegralInRange<std::int64_t>(24 * 60, 40 * 24 * 60) * 60;
        zone.changes.push_back({moment, input.ConsumeIntegralInRange<std::int64_t>(-16 * 60, 16 * 60) * 60});
        const std::int64_t before = zone.changes.size() > 1 ? zone.changes[zone.changes.size() - 2].offset : zone.first;
        if (std::abs(zone.changes.back().offset - before) > 24 * k_hour)
            zone.changes.back().offset = before;
    }
    return zone;
}

bool same(const Cron &a, const Cron &b) {
    return a.minutes == b.minutes && a.hours == b.hours && a.days == b.days && a.months == b.months &&
           a.weekdays == b.weekdays && a.last_day == b.last_day && a.either_day == b.either_day && a.fixed == b.fixed &&
           a.seconds == b.seconds;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    FuzzedDataProvider input(data, size);
    const std::string text = input.ConsumeRandomLengthString();
    Cron cron;
    if (parse_cron(text, cron) != CronFault::none)
        return 0;

    Cron again;
    require(parse_cron("\t " + text + " ", again) == CronFault::none && same(cron, again),
            "blanks around a text mean nothing");
    require(cron.seconds >= 0 && cron.seconds < 60, "seconds are 1 to 59");
    if (cron.seconds == 0) {
        require(cron.minutes != 0 && cron.minutes >> 60 == 0, "minutes are 0 to 59");
        require(cron.hours != 0 && cron.hours >> 24 == 0, "hours are 0 to 23");
        require((cron.days != 0) != cron.last_day && (cron.days & 1) == 0, "days are 1 to 31, or the last");
        require(cron.months != 0 && cron.months >> 13 == 0 && (cron.months & 1) == 0, "months are 1 to 12");
        require(cron.weekdays != 0 && cron.weekdays >> 7 == 0, "days of the week are 0 to 6");
    }

    // From the year -4713 to 294276, as the server's timestamps.
    const auto after = input.ConsumeIntegralInRange<std::int64_t>(-210'866'803'200, 9'224'318'015'999);
    const Zone zone = take_zone(input, after);
    const auto next = next_time(cron, after, zone);
    if (!next)
        return 0;
    require(*next > after, "the next time is later");
    require(next_time(cron, *next - 1, zone) == next, "it is the next one for the second before it");
    require(next_time(cron, after + (*next - 1 - after) / 2, zone) == next,
            "it is the next one for a moment in between");
    if (cron.seconds > 0) {
        require(*next % cron.seconds == 0 && *next - after <= cron.seconds, "every so many seconds");
        return 0;
    }
    const ZoneSpan span = zone(*next);
    const std::int64_t local = *next + span.offset;
    const std::int64_t days = cron_detail::floor_div(local, cron_detail::k_day_seconds);
    const auto minute = static_cast<int>((local - days * cron_detail::k_day_seconds) / 60);
    const cron_detail::Date date = cron_detail::date_of(days);
    const bool fits = local % 60 == 0 && cron_detail::has(cron.minutes, minute % 60) &&
                      cron_detail::has(cron.hours, minute / 60) && cron_detail::has(cron.months, date.month) &&
                      cron_detail::fits(cron, date, days);
    const bool at_change = zone(*next - 1).offset != span.offset;
    require(fits || (cron.fixed && at_change), "the clock shows a time of the schedule, or has just left one out");
    return 0;
}
