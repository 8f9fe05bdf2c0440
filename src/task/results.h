// The results of the tasks that a task depends on, collected into its args.
#pragma once

#include "pg/growing.h"

namespace scylla {

struct Results {
    Growing<Jsonb *> values; // a null for a provider without a result
    int64 size = 0;          // of their text
    bool too_large = false;
};

// Adds a result, which must live as long as the list. If the results are too large for one value, all are dropped at
// once.
void add_result(Results &results, Jsonb *result);

// Null if they are too large for one value: their text is larger than a spec may be.
Jsonb *to_array(const Results &results);

} // namespace scylla
