// Changes of tasks that do not run, and removing those that have ended.
#pragma once

#include "task/task.h"

namespace scylla {

// A ready task, or one that waits for its time, waits until this one; of the past: it is ready. P0002; 55000 if it
// runs, has ended, or waits for gates.
Task reschedule(store::Store &store, const text *rn, TimestampTz not_before);

// Gives another priority to a task that waits or is ready. P0002; 55000 if it runs or has ended.
Task set_priority(store::Store &store, const text *rn, int16 priority);

// The same for a check, whatever the current user may, without waiting; if it is higher. Does nothing where it runs.
// False: somebody is just changing it.
bool raise_priority(store::Store &store, int64 check, int16 priority, bool *changed);

// Gives a task that waits or is ready what a later submission says; gates that it waits for stay. Nothing: it has
// changed meanwhile.
struct Replacement {
    Jsonb *spec;
    int16 priority;
    std::optional<TimestampTz> not_before;
};
std::optional<Task> replace_task(store::Store &store, const store::SpecRow &spec, const Replacement &by);

// A task on which the current user may act; P0002.
store::SpecRow require_spec(store::Store &store, const text *rn, model::Privilege privilege);

// Removes a task that has ended. P0002; 55000 if it has not, or a live task depends on it.
void delete_task(store::Store &store, const text *rn);

} // namespace scylla
