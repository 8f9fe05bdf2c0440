// Help, man page and shell completion, all from the description of the command line that syntax_*.cpp give to CLI11.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace scylla::cli {

[[nodiscard]] std::string full_name(const CLI::App &command); // "scylla queue create"
[[nodiscard]] std::string to_help(const CLI::App &app);
[[nodiscard]] std::string to_man_page(const CLI::App &program);
[[nodiscard]] std::string to_completion(const CLI::App &program, const std::string &shell); // bash, zsh or fish

} // namespace scylla::cli
