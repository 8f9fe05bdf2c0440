// Times that the tool itself measures.
#pragma once

#include <chrono>
#include <string>

namespace scylla::cli {

// "500ms", "30s", "5min", "2h", "1d"; without a unit seconds.
[[nodiscard]] std::chrono::milliseconds to_duration(const std::string &option, const std::string &given);

} // namespace scylla::cli
