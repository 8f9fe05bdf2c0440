// Results: tasks as rows of scylla.task, and the rows of functions that return sets.
#pragma once

#include "task/columns.h"

namespace scylla {

// The result of a function that returns one scylla.task. Closes the store.
Datum return_task(FunctionCallInfo fcinfo, store::Store &store, const Task &task, Show show);

// The result of a function that returns a set.
struct Rows {
    Tuplestorestate *store;
    TupleDesc type;
    int64 size; // of the JSON in tasks
};
Rows begin_rows(FunctionCallInfo fcinfo);
// Whether the tasks are so large that a call returns no more of them (scylla.max_result_size).
bool is_full(const Rows &rows);
void put_task(Rows &rows, store::Store &store, const Task &task, Show show);
// Puts tasks with all their columns into the rows, which must live as long as the sink.
TaskSink sink_of(Rows &rows);

} // namespace scylla
