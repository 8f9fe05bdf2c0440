// Times in text (model/moment.h) as those of the server. Needs pg/prelude.h, and may raise an error.
#pragma once

#include "model/moment.h"
#include "pg/zone.h"

namespace scylla {

inline constexpr int64 k_unix_epoch = static_cast<int64>(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;

// A time that a zone has, by its own zone if one is written.
struct Moment {
    Timestamp local; // as the clocks of the zone show it
    TimestampTz at;
};

// Microseconds since 1970 or 2000, as whole seconds since 1970 and the rest.
inline int64 seconds_of(Timestamp time) {
    return (time >= 0 ? time / USECS_PER_SEC : -((USECS_PER_SEC - 1 - time) / USECS_PER_SEC)) + k_unix_epoch;
}

// The moment at which the clocks of the zone show a local time; nothing: the server has no such time.
inline std::optional<TimestampTz> moment_in(const pg_tz *zone, Timestamp local) {
    const int64 second = seconds_of(local);
    const int64 shift = second - model::moment_of(second, [zone](std::int64_t at) { return offset_at(zone, at); });
    const TimestampTz at = local - shift * USECS_PER_SEC;
    return IS_VALID_TIMESTAMP(at) ? std::optional(at) : std::nullopt;
}

inline Timestamp local_in(const pg_tz *zone, TimestampTz at) {
    return at + offset_at(zone, seconds_of(at)) * USECS_PER_SEC;
}

// Nothing: it is no time, or has no such zone.
inline std::optional<Moment> read_moment(std::string_view given, const pg_tz *zone) {
    const auto read = model::read_time(given);
    const pg_tz *own = read && read->zone ? find_zone(read->zone->name) : zone;
    if (!read || own == nullptr)
        return std::nullopt;
    const int64 second = read->local - k_unix_epoch;
    if (second < MIN_TIMESTAMP / USECS_PER_SEC || second >= END_TIMESTAMP / USECS_PER_SEC)
        return std::nullopt;
    const Timestamp local = second * USECS_PER_SEC + read->micros;
    const auto at = moment_in(own, local);
    if (!at)
        return std::nullopt;
    return Moment{own == zone ? local : local_in(zone, *at), *at};
}

} // namespace scylla
