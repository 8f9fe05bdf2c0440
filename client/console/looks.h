// The contents of pages: each look is one query with a JSON result.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace scylla::cli::console {

struct look {
    const char *name; // GET /api/<name>
    const char *sql;
    std::vector<const char *> parameters; // of the request, in the order of $1, $2, ...; missing or empty: null
    std::chrono::milliseconds fresh;      // answers are shared for this long
};

[[nodiscard]] const std::vector<look> &looks();

// The live data of all pages; the part of it without the right to see statistics; and without any right.
extern const char *const k_pulse;
extern const char *const k_small_pulse;
extern const char *const k_least_pulse;

// Changes that a page can make: POST /api/do/<name>. $1 is the body of the request: a JSON object.
struct change {
    const char *name;
    const char *sql;
    bool is_portion = false; // of everything that matches: the page asks for the next one when it has the answer
};
[[nodiscard]] std::span<const change> changes();

} // namespace scylla::cli::console
