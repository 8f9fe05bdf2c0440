// What an error of the server means for the report that it refuses: docs/client.md, "When the server refuses a report".
// The libraries for Python and Node.js have the same rule. Pure functions.
#ifndef SCYLLA_SRC_REFUSAL_H
#define SCYLLA_SRC_REFUSAL_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace scylla::detail {

constexpr std::size_t k_max_repeats = 5; // of a report after an error that may be temporary or not
constexpr std::size_t k_max_doubts = 20; // times that the connection broke while a report was sent alone

enum class fate {
    temporary, // another transaction, or the server, is in the way: the same report is sent again
    permanent, // the same report would fail again
    unknown,   // it is sent again, a few times
};

// No SQLSTATE: an error of this side, for example a value that cannot be sent. Lost connections are none of these
// errors.
inline fate fate_of(std::string_view sqlstate) {
    const auto begins_with_one_of = [&](const auto &starts) {
        return std::any_of(starts.begin(), starts.end(),
                           [&](std::string_view start) { return sqlstate.substr(0, start.size()) == start; });
    };
    constexpr std::array<std::string_view, 8> temporary{"08", "40", "57P", "25006", "53100", "53300", "55006", "55P03"};
    constexpr std::array<std::string_view, 7> permanent{"0A", "21", "22", "23", "42", "54", "55000"};
    if (begins_with_one_of(temporary))
        return fate::temporary;
    if (sqlstate.empty() || (begins_with_one_of(permanent) && sqlstate != "42501"))
        return fate::permanent;
    return fate::unknown;
}

} // namespace scylla::detail

#endif
