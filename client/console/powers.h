// What the role of the console may do.
#pragma once

#include <string>

namespace scylla::cli::console {

// A query with one result: {"sees": [names of looks], "may": [names of changes]}: those of which the role may use all
// functions and views that they name.
[[nodiscard]] std::string powers_query();

} // namespace scylla::cli::console
