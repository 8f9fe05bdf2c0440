// Copies of tasks that have ended, to be run again.
#pragma once

#include "task/duty.h"
#include "task/task.h"

namespace scylla {

struct Copy {
    int64 original;
    text *rn;     // of the original
    text *new_rn; // of the copy
    bool is_new;  // else it was there before, and has the same deduplication key
};

// What the copies get.
struct CopyAs {
    text *rn = nullptr;   // of the only one; null: made up
    text *plan = nullptr; // null: none
    bool again = false;   // also tasks that were resubmitted already; they keep their first copies
};

// Copies tasks that have ended, given with their specs and in the order of their ids. Tasks that are gone or were
// resubmitted already are skipped. If a live task has the deduplication key, it counts as the copy. A copy that
// depended on one of the tasks depends on its copy.
std::span<const Copy> copy_tasks(store::Store &store, std::span<const store::SpecRow> originals, const CopyAs &as);

// P0002; 55000 if it has not ended or was resubmitted already. new_rn may be null.
Task resubmit(store::Store &store, const text *rn, text *new_rn);

// Tasks that ended with a status and were not resubmitted.
struct EndedFilter {
    std::optional<int32> queue; // nothing: all that the current user may view
    model::Status status;
    const char *code = nullptr; // of the last error; null: any
    std::optional<TimestampTz> after = {};
    std::optional<TimestampTz> before = {};
    int32 max_tasks;
};
void find_ended(store::Store &store, const EndedFilter &filter, ScanDirection order, const TaskSink &sink);

// When the library is loaded.
void register_copy_duty();

} // namespace scylla
