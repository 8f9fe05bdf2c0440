// Changes of all tasks that a filter matches, in portions: each task in a transaction of its own, so nobody waits for
// many.
#pragma once

#include <string>

#include "database.h"

namespace scylla::cli::console {

// Cancels the first few hundred tasks like that: {"queue", "status", "worker", "key", "code"}. Returns {"cancelled":
// number, "ended": how many had ended meanwhile, "more": whether others are left}.
[[nodiscard]] std::string cancel_portion(sessions &acting, const std::string &filter);

} // namespace scylla::cli::console
