// A task as a whole, put together from the row that tells what it is and the row that tells where it is; and how it
// becomes a row of scylla.task.
#pragma once

#include "store/rows.h"

namespace scylla {

struct Task {
    store::SpecRow spec;
    model::Status status;
    TimestampTz updated;
    float4 progress;
    text *owner;
    std::optional<TimestampTz> deadline;
    std::optional<TimestampTz> leased; // when the assignment began that is not in the history yet
    std::optional<TimestampTz> due;    // while it waits
    store::Carry carry;
    Jsonb *result;
    Jsonb *metrics;
    ItemPointerData tid;  // of the row that tells where it is
    bool limited = false; // it runs, with a permit
};

Task task_of(const store::SpecRow &spec, const store::ReadyRow &row);
Task task_of(const store::SpecRow &spec, const store::LeaseRow &row);
Task task_of(const store::SpecRow &spec, const store::WaitingRow &row);
Task task_of(const store::SpecRow &spec, const store::OutcomeRow &row);

// Where the task is by the snapshot of the store. Nothing only while a restore has not brought all tables yet.
std::optional<Task> find_task(store::Store &store, const store::SpecRow &spec);
// The same, but P0002 instead of nothing.
Task require_task(store::Store &store, const store::SpecRow &spec);

// no_spec: spec and args are null, for workers who have them. no_content: so is all that users put in, for those who
// may not see.
enum class Show : std::uint8_t { all, no_spec, no_content };

// The result of a function that returns one scylla.task. Closes the store.
Datum return_task(FunctionCallInfo fcinfo, store::Store &store, const Task &task, Show show);

// The result of a function that returns a set.
struct Rows {
    Tuplestorestate *store;
    TupleDesc type;
};
Rows begin_rows(FunctionCallInfo fcinfo);
void put_task(Rows &rows, store::Store &store, const Task &task, Show show);

} // namespace scylla
