#include "schedule/calendar.h"

#include "pg/error.h"
#include "pg/memory.h"
#include "pg/text.h"

namespace scylla::schedule {

namespace {

constexpr int64 k_epoch = static_cast<int64>(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;

int64 to_unix(TimestampTz time) { return model::cron_detail::floor_div(time, USECS_PER_SEC) + k_epoch; }
TimestampTz to_timestamp(int64 unix_time) { return (unix_time - k_epoch) * USECS_PER_SEC; }

const char *rule_for(model::CronFault fault) {
    using enum model::CronFault;
    switch (fault) {
    case minute:
        return "The field for the minute must be a list of numbers and ranges between 0 and 59.";
    case hour:
        return "The field for the hour must be a list of numbers and ranges between 0 and 23.";
    case day:
        return "The field for the day of the month must be a list of numbers and ranges between 1 and 31, or \"$\".";
    case month:
        return "The field for the month must be a list of numbers and ranges between 1 and 12, or of names like "
               "\"jan\".";
    case weekday:
        return "The field for the day of the week must be a list of numbers and ranges between 0 and 7, or of names "
               "like \"mon\".";
    case shorthand:
        return "The names are @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly.";
    case seconds:
        return "It must be between 1 and 59 seconds.";
    case none:
    case fields:
        break;
    }
    return "It must have five fields (minute, hour, day of the month, month, day of the week), or be a name like "
           "@daily or \"30 seconds\".";
}

// In seconds since 1970, as in model/cron.h.
std::optional<int64> next_unix_time(const Calendar &calendar, int64 after) {
    const auto next = model::next_time(calendar.cron, after, [&calendar](int64 moment) {
        const pg_time_t time = moment;
        long offset = 0;
        long next_offset = 0;
        int dst = 0;
        pg_time_t end = 0;
        const int changes = pg_next_dst_boundary(&time, &offset, &dst, &end, &next_offset, &dst, calendar.zone);
        if (changes < 0)
            elog(ERROR, "could not look up the time zone \"%s\"",
                 pg_get_timezone_name(const_cast<pg_tz *>(calendar.zone)));
        return model::ZoneSpan{offset, changes > 0, end, next_offset};
    });
    return next && *next <= to_unix(END_TIMESTAMP - 1) ? next : std::nullopt;
}

} // namespace

model::Cron read_cron(const text *cron) {
    model::Cron read;
    const auto fault = cron == nullptr ? model::CronFault::fields : model::parse_cron(view(cron), read);
    if (fault != model::CronFault::none)
        error::bad_argument("cron", error::quote(cron), rule_for(fault));
    return read;
}

const pg_tz *read_timezone(const text *timezone) {
    const pg_tz *zone =
        timezone == nullptr || view(timezone).size() > TZ_STRLEN_MAX ? nullptr : pg_tzset(text_to_cstring(timezone));
    if (zone == nullptr || !pg_tz_acceptable(const_cast<pg_tz *>(zone)))
        error::bad_argument("timezone", error::quote(timezone), "It must be the name of a time zone.");
    return zone;
}

std::optional<TimestampTz> next_time(const Calendar &calendar, TimestampTz after) {
    const auto next = next_unix_time(calendar, to_unix(after - calendar.shift));
    return next ? std::optional(to_timestamp(*next) + calendar.shift) : std::nullopt;
}

DueTimes due_times(const Calendar &calendar, TimestampTz after, TimestampTz until, std::size_t limit) {
    int64 from = to_unix(after);
    const int64 to = to_unix(until);
    int64 total = 0;
    if (const int seconds = calendar.cron.seconds; seconds > 0) {
        // There may be very many of these: only the last ones are visited.
        using model::cron_detail::floor_div;
        total = Max(floor_div(to, seconds) - floor_div(from, seconds), 0);
        if (total > static_cast<int64>(limit))
            from = (floor_div(to, seconds) - static_cast<int64>(limit)) * seconds;
    }
    const auto ring = allocate<TimestampTz>(limit); // a ring, as the number of times is not known before
    std::size_t found = 0;
    for (auto time = next_unix_time(calendar, from); time && *time <= to; time = next_unix_time(calendar, *time)) {
        CHECK_FOR_INTERRUPTS();
        ring[found++ % limit] = to_timestamp(*time);
    }
    const std::size_t kept = Min(found, limit);
    const auto latest = allocate<TimestampTz>(kept);
    for (std::size_t i = 0; i < kept; i++)
        latest[i] = ring[(found - kept + i) % limit];
    return {Max(total, static_cast<int64>(found)), latest};
}

} // namespace scylla::schedule
