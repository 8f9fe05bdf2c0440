// The server's time zones, by the texts of model/zone.h. Needs pg/prelude.h, and may raise an error.
#pragma once

#include "model/zone.h"

namespace scylla {

// Null: there is no such zone.
inline const pg_tz *find_zone(std::string_view given) {
    const auto zone = model::read_zone(given);
    if (!zone || given.size() > TZ_STRLEN_MAX)
        return nullptr;
    pg_tz *found = zone->is_offset ? pg_tzset_offset(-zone->offset) : pg_tzset(pnstrdup(given.data(), given.size()));
    return found != nullptr && pg_tz_acceptable(found) ? found : nullptr;
}

inline std::int32_t offset_at(const pg_tz *zone, std::int64_t moment) {
    const pg_time_t time = moment;
    const pg_tm *local = pg_localtime(&time, zone);
    return local == nullptr ? 0 : static_cast<std::int32_t>(local->tm_gmtoff);
}

} // namespace scylla
