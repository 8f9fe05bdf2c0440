// name=value on the command line: arguments of an SQL function by their names, so that arguments of a newer server can
// be given, too.
#pragma once

#include <string>
#include <vector>

#include "session.h"

namespace scylla::cli {

struct setting {
    std::string name; // letters and underscores: it becomes part of a statement
    std::string text;
};

[[nodiscard]] setting parse_setting(const std::string &word);

// Adds them to a call.
void add_settings(call &function, const std::vector<std::string> &words);

} // namespace scylla::cli
