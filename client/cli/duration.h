// Durations as somebody types them, in the grammar of the server (docs/concepts.md, "Times, zones and durations in
// text").
#pragma once

#include <chrono>
#include <string>

namespace scylla::cli {

// Of those that the tool itself measures: from 1 ms to 20 days.
[[nodiscard]] std::chrono::milliseconds to_duration(const std::string &option, const std::string &given);

// As a text that is an interval for each server, whatever the settings of the session are.
[[nodiscard]] std::string to_interval(const std::string &option, const std::string &given);

} // namespace scylla::cli
