#include "duration.h"

#include <cstdint>

#include "model/duration.h"
#include "session.h"

namespace scylla::cli {

namespace {

[[noreturn]] void refuse(const std::string &option, const std::string &given, const std::string &rule) {
    throw usage_failure{"invalid value for " + option + ": \"" + given + "\"", {}, "It must be " + rule + "."};
}

} // namespace

std::chrono::milliseconds to_duration(const std::string &option, const std::string &given) {
    const auto micros = model::read_fixed_duration(given);
    if (!micros)
        refuse(option, given, std::string{model::k_duration_rule});
    const std::chrono::microseconds read{*micros};
    if (read < std::chrono::milliseconds{1} || read > std::chrono::hours{20 * 24})
        refuse(option, given, "between 1ms and 20d");
    return std::chrono::duration_cast<std::chrono::milliseconds>(read);
}

std::string to_interval(const std::string &option, const std::string &given) {
    constexpr std::int64_t k_micros_of_second = 1'000'000;
    constexpr std::int64_t k_micros_of_hour = 3'600 * k_micros_of_second;
    const auto read = model::read_duration(given);
    if (!read)
        refuse(option, given, std::string{model::k_duration_rule});
    const std::int64_t rest = read->micros % k_micros_of_hour;
    std::string fraction = std::to_string(k_micros_of_second + rest % k_micros_of_second);
    fraction[0] = '.';
    return std::to_string(read->months) + " mons " + std::to_string(read->days) + " days " +
           std::to_string(read->micros / k_micros_of_hour) + " hours " + std::to_string(rest / k_micros_of_second) +
           fraction + " secs";
}

} // namespace scylla::cli
