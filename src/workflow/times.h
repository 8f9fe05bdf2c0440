// Times in the form of the model: milliseconds since 1970, 0 for none.
#pragma once

#include "pg/prelude.h"

namespace scylla::workflow {

inline constexpr int64 k_epoch = static_cast<int64>(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY * 1'000;

inline int64 to_millis(std::optional<TimestampTz> time) { return time ? *time / 1'000 + k_epoch : 0; }
inline std::optional<TimestampTz> to_time(int64 millis) {
    return millis == 0 ? std::nullopt : std::optional<TimestampTz>((millis - k_epoch) * 1'000);
}

} // namespace scylla::workflow
