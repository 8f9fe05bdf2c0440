// Suggestions for a command that does not exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace scylla::cli {

// The name that needs the fewest changes, if these are few: letters inserted, removed, replaced, or swapped with the
// next.
[[nodiscard]] std::string nearest(std::string_view typed, const std::vector<std::string> &names);

// `unknown command "sumbit": did you mean "submit"?`; empty if the words lead to a command.
[[nodiscard]] std::string about_unknown_command(const CLI::App &program, int argc, char **argv);

} // namespace scylla::cli
