#include "duration.h"

#include <charconv>
#include <cstdint>

#include "session.h"

namespace scylla::cli {

std::chrono::milliseconds to_duration(const std::string &option, const std::string &given) {
    double number = 0;
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), number);
    const std::string unit{end, given.data() + given.size()};
    const double factor = unit == "ms"                  ? 1
                          : unit.empty() || unit == "s" ? 1e3
                          : unit == "min"               ? 60e3
                          : unit == "h"                 ? 3600e3
                          : unit == "d"                 ? 86400e3
                                                        : 0;
    const double milliseconds = number * factor;
    if (error != std::errc{} || !(milliseconds >= 1) || milliseconds > 20 * 86400e3)
        throw usage_failure{"invalid value for " + option + ": \"" + given + "\"",
                            {},
                            "Write a time as a number and ms, s, min, h or d, from 1ms to 20d."};
    return std::chrono::milliseconds{static_cast<std::int64_t>(milliseconds)};
}

} // namespace scylla::cli
