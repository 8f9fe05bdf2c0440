// A task as a row of the view scylla.task.
#pragma once

#include "task/task.h"

namespace scylla {

// no_spec: spec and args are null, for workers that have them. no_content: all that users put in is null, for roles
// that may not see it.
enum class Show : std::uint8_t { all, no_spec, no_content };

struct TaskColumns {
    Datum *value;
    bool *null;
    int64 size; // of the JSON
};
TaskColumns task_columns(store::Store &store, const Task &task, Show show, TupleDesc row_type);

// As one value of type scylla.task.
Datum task_value(store::Store &store, const Task &task, Show show);

} // namespace scylla
