// The failed part of a plan, once more.
#pragma once

#include "store/rows.h"

namespace scylla {

// Copies the tasks of a plan that were not completed, and those that depended on them, into a new plan, and opens it.
// P0002; 55000 if it has not ended or there is nothing to do again; 42710. new_name may be null. Returns the name.
text *rerun_plan(store::Store &store, const text *name, text *new_name);

} // namespace scylla
