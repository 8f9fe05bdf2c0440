// What pages show: each look is one query, whose answer is JSON.
#pragma once

#include <chrono>
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

// What all pages get live, and what they get of it without the right to see statistics.
extern const char *const k_pulse;
extern const char *const k_small_pulse;

// What a page can change: POST /api/do/<name>. $1 is the body of the request: a JSON object.
struct change {
    const char *name;
    const char *sql;
};
[[nodiscard]] const std::vector<change> &changes();

} // namespace scylla::cli::console
