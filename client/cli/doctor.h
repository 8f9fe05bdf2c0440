// The findings of doctor, also for the console.
#pragma once

#include <string>
#include <vector>

#include "commands.h"

namespace scylla::cli {

struct finding {
    std::string level; // ok, note, problem
    std::string what;
    std::string advice;
};
using findings = std::vector<finding>;

[[nodiscard]] findings examine(session &server, const doctor_options &options);
[[nodiscard]] std::string to_json(const findings &found);

} // namespace scylla::cli
