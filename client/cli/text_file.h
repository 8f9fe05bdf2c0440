// Files that commands read.
#pragma once

#include <string>

namespace scylla::cli {

// The content. "-" is standard input, which may be closed.
[[nodiscard]] std::string read_all(const std::string &file);

} // namespace scylla::cli
