// What the statements about schedules are given and return.
#pragma once

#include "pg/prelude.h"

namespace scylla::store {

// What happens at a planned time while the previous task of the schedule is live.
enum class Overlap : std::uint8_t { allow, skip, replace };
inline constexpr std::array<std::string_view, 3> k_overlap_names{"allow", "skip", "replace"};

// Which planned times still get their task if no tick handled them in time.
enum class CatchUp : std::uint8_t { none, latest, all };
inline constexpr std::array<std::string_view, 3> k_catch_up_names{"none", "latest", "all"};

// Where schedules of this database are armed: the system's identifier and the database's.
inline const char *schedule_home() {
    return psprintf(INT64_FORMAT "/%u", static_cast<int64>(GetSystemIdentifier()), MyDatabaseId);
}

} // namespace scylla::store
