// The time at which a caller has observed something.
#pragma once

#include "api/call.h"
#include "model/bounds.h"
#include "pg/error.h"

namespace scylla {

// Null: now. What the future brings, nobody has seen: such a time would outlast all that is reported
// later. A clock that is ahead of the server's by up to a minute is forgiven: that is now.
inline TimestampTz observed_at(const args::Named<std::optional<TimestampTz>> &given) {
    const TimestampTz now = GetCurrentTimestamp();
    const TimestampTz at = given.value_or(now);
    const auto refuse = [&](const char *rule) {
        error::bad_argument(given.name, error::print(TimestampTzGetDatum(at), TIMESTAMPTZOID), rule);
    };
    if (TIMESTAMP_NOT_FINITE(at))
        refuse("It must be finite.");
    if (at > now + model::k_minute)
        refuse("It must not be in the future, apart from a minute by which clocks may differ.");
    return Min(at, now);
}

} // namespace scylla
