// Suggestions for a command that does not exist.
#pragma once

#include <optional>
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

struct unknown_command {
    std::string message;    // `unknown command "sumbit": did you mean "submit"?`
    const CLI::App *parent; // the command that has no such command
};

// nullopt if the words lead to a command.
[[nodiscard]] std::optional<unknown_command> find_unknown_command(const CLI::App &program, int argc, char **argv);

} // namespace scylla::cli
