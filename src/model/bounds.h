// The bounds of what callers may ask for. Times are microseconds, as in the server.
#pragma once

#include <cstdint>
#include <optional>

namespace scylla::model {

inline constexpr int k_max_priority = 127;
inline constexpr int k_max_name_chars = 200;     // queues, rns, workers
inline constexpr int k_max_schedule_chars = 150; // their tasks are named after them, and the name of a task has an end
inline constexpr int k_max_catch_up = 10'000;
inline constexpr int k_max_key_weight = 1000;     // tasks in a turn
inline constexpr double k_max_aging = 1000;       // priority points per second
inline constexpr int k_max_error_bytes = 1 << 20; // of text
// The highest scylla.max_value_size. COPY, and so a dump, puts a row into less than 1 GB of text, in which a character
// may be escaped by another. A row has at most two such values, and 50 errors.
inline constexpr int k_max_value_bytes = 200 << 20;
inline constexpr int k_max_sent_bytes = 1000 << 20; // the server sends a value of less than 1 GB
inline constexpr int k_max_tasks = 100'000;         // per lease or list

inline constexpr std::int64_t k_second = 1'000'000;
inline constexpr std::int64_t k_minute = 60 * k_second;
inline constexpr std::int64_t k_day = 86'400 * k_second;
inline constexpr std::int64_t k_max_timeout = 365 * k_day;
inline constexpr std::int64_t k_max_retention = 36'500 * k_day;

// The length of an interval given as months, days and microseconds, or nothing if it is outside min..max. A month is 30
// days and a day 24 hours: a lease must not depend on the session's time zone.
constexpr std::optional<std::int64_t> interval_length(std::int32_t months, std::int32_t days, std::int64_t micros,
                                                      std::int64_t min, std::int64_t max) noexcept {
    __extension__ typedef __int128 Wide; // the extremes of an interval do not fit into 64 bits
    const auto total = (static_cast<Wide>(months) * 30 + days) * k_day + micros;
    if (total < min || total > max)
        return std::nullopt;
    return static_cast<std::int64_t>(total);
}

} // namespace scylla::model
