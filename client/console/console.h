// The console: pages about one database, served by this process. Their data are rows of the SQL contract, with the
// rights of the role of its connection.
#pragma once

#include <string>
#include <vector>

#include "commands.h"

namespace scylla::cli {

struct console_options {
    std::string listen = "127.0.0.1:8450";
    std::string interval = "2s";
    maybe_text password_file;
    std::vector<std::string> allowed_hosts;
    bool read_only = false;
};
int serve_console(const context &, const console_options &);

} // namespace scylla::cli
