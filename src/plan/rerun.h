// The failed part of a plan, once more.
#pragma once

#include "task/resubmit.h"

namespace scylla {

// Copies the tasks of a plan that were not completed, and those that depended on them, into a new plan, and opens it.
// P0002; 55000 if it has not ended or there is nothing to do again; 42710. new_name may be null. Returns the name.
text *rerun_plan(store::Store &store, const text *name, text *new_name);

// What the maker of a plan has to do where it is done again.
struct RerunHook {
    Jsonb *(*spec_of_copy)(Jsonb *spec, const text *new_plan); // of a task
    void (*copied)(int64 plan, const text *new_plan);          // the copies of its tasks are there
};
// When the library is loaded.
void register_rerun(RerunHook hook);

} // namespace scylla
