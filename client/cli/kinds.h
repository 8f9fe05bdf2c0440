// Which kinds of roles a command is for (scylla.grant_role).
#pragma once

#include <string>

namespace scylla::cli {

// A sentence for the help of a command such as "plan create"; empty: it needs no server, or contains others.
[[nodiscard]] std::string rights_of(const std::string &command);

} // namespace scylla::cli
