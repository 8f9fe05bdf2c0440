// Output of workers before the end of their tasks.
#pragma once

#include "store/rows.h"

namespace scylla::workflow {

struct Output {
    text *rn;
    Jsonb *params;      // an object; null: none
    Jsonb *artifacts;   // likewise
    const text *worker; // null: any holder of the lease
    std::optional<int32> attempt;
};
// Puts the output on the agenda of the run, so nothing is locked. P0002, 42501, 55000 the lease is not held, 22023 the
// task belongs to no running step, or the step has no such parameter.
void set_output(store::Store &store, const Output &output);

} // namespace scylla::workflow
