// The results of the tasks that a task depends on, put together to its args.
#pragma once

#include "pg/growing.h"

namespace scylla {

struct Results {
    Growing<Jsonb *> values; // a null for a provider without a result
    int64 size = 0;          // of their text
    bool too_large = false;
};

// Adds a result, which is to live as long. Those that are too much for one value are let go at once.
void add_result(Results &results, Jsonb *result);

// Null if they are too much for one value, that is as much text as a spec may have.
Jsonb *to_array(const Results &results);

} // namespace scylla
