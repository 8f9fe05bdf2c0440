// Running a plan again.
#pragma once

#include "task/resubmit.h"

namespace scylla {

struct Rerun {
    const text *plan;
    bool only_failed;
    text *new_name; // null: one is generated
};
// Copies the tasks of a plan into a new one, and opens it: all of them, or those that were not completed and those that
// depended on them. A plan that a job has made is resolved again, unless it is for the failed part. P0002; 55000 if it
// has not ended or none of its tasks has to run again; 42710. Returns the name.
text *rerun_plan(store::Store &store, const Rerun &rerun);

// What the maker of a plan has to do when the plan runs again.
struct RerunHook {
    Jsonb *(*spec_of_copy)(Jsonb *spec, const text *new_plan); // of a task
    void (*copied)(int64 plan, const text *new_plan);          // the copies of its tasks have been inserted
    text *(*run_again)(store::Store &store, int64 plan, const text *new_plan); // makes and opens the new plan
};
// When the library is loaded.
void register_rerun(const RerunHook &hook);

} // namespace scylla
