// How results are shown: a table for people, JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "session.h"

namespace scylla::cli {

enum class form {
    table,    // a row per line under the names of the columns
    record,   // one row, a column per line
    json,     // an array of objects
    json_one, // an object
};

// Runs a query and writes its rows to standard output. JSON is made by the server, in the order of the columns.
void show(session &server, const std::string &sql, const std::vector<value> &parameters, form as);

[[nodiscard]] std::string to_table(const rows &answer);
[[nodiscard]] std::string to_record(const rows &answer);

} // namespace scylla::cli
