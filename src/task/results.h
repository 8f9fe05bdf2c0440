// The results of the tasks that a task depends on, put together to its args.
#pragma once

#include "pg/prelude.h"

namespace scylla {

struct Results {
    Jsonb **value; // a null for a provider without a result
    std::size_t count;
    std::size_t room;
    int64 size; // of their text
    bool too_large;
};

inline constexpr Results k_no_results{nullptr, 0, 0, 0, false};

// Adds a result, which is to live as long. Those that are too much for one value are let go at once.
void add_result(Results &results, Jsonb *result);

// Null if they are too much for one value, that is as much text as a spec may have.
Jsonb *to_array(const Results &results);

} // namespace scylla
