// A task as a whole, put together from the row that tells what it is and the row that tells where it is.
#pragma once

#include "store/rows.h"

namespace scylla {

struct Task {
    store::SpecRow spec;
    model::Status status;
    TimestampTz updated;
    float4 progress = 0;
    text *owner = nullptr;
    std::optional<TimestampTz> deadline = {};
    std::optional<TimestampTz> leased = {}; // when the assignment began that is not in the history yet
    std::optional<TimestampTz> due = {};    // while it waits
    store::Carry carry;
    Jsonb *result = nullptr;
    Jsonb *metrics = nullptr;
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

// Where tasks go that are found or made one after the other. What a task points to is gone after the call. False: the
// result is so large that no more are wanted.
struct TaskSink {
    bool (*put)(void *to, store::Store &store, const Task &task);
    void *to;
};

} // namespace scylla
