#include "schedule/calendar.h"

#include "pg/error.h"
#include "pg/memory.h"
#include "pg/text.h"
#include "pg/zone.h"

namespace scylla::schedule {

namespace {

constexpr int64 k_epoch = static_cast<int64>(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;

int64 to_unix(TimestampTz time) { return model::cron_detail::floor_div(time, USECS_PER_SEC) + k_epoch; }
TimestampTz to_timestamp(int64 unix_time) { return (unix_time - k_epoch) * USECS_PER_SEC; }

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
        error::bad_argument("cron", error::quote(cron), model::rule_of(fault));
    return read;
}

const pg_tz *read_timezone(const text *timezone) {
    const pg_tz *zone = timezone == nullptr ? nullptr : find_zone(view(timezone));
    if (zone == nullptr)
        error::bad_argument("timezone", error::quote(timezone), psprintf("It must be %s.", model::k_zone_rule.data()));
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
