// The times of a schedule: model/cron.h with the server's time zones.
#pragma once

#include "model/cron.h"
#include "pg/prelude.h"

namespace scylla::schedule {

struct Calendar {
    model::Cron cron;
    const pg_tz *zone;
    int64 shift = 0; // microseconds by which its times are after those of the cron expression
};

// 22023 if it is no schedule, or no time zone. A null pointer is a null.
model::Cron read_cron(const text *cron);
const pg_tz *read_timezone(const text *timezone);
inline Calendar read_calendar(const text *cron, const text *timezone) {
    return {read_cron(cron), read_timezone(timezone)};
}

// The first time after a moment; nothing: none.
std::optional<TimestampTz> next_time(const Calendar &calendar, TimestampTz after);

// How many times there are after one moment until another, and the last `limit` of them, in order.
struct DueTimes {
    int64 total;
    std::span<TimestampTz> latest;
};
DueTimes due_times(const Calendar &calendar, TimestampTz after, TimestampTz until, std::size_t limit);

} // namespace scylla::schedule
