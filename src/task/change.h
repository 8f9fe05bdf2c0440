// Changes of tasks that do not run, and removing those that have ended.
#pragma once

#include "task/task.h"

namespace scylla {

// A ready task, or one that waits for its time, waits until not_before; if that is past, it is ready. P0002; 55000 if
// it runs, has ended, or waits for gates.
Task reschedule(store::Store &store, const text *rn, TimestampTz not_before);

// Gives another priority to a task that waits or is ready. P0002; 55000 if it runs or has ended.
Task set_priority(store::Store &store, const text *rn, int16 priority);

// The same for a check, without looking at rights and without waiting, and only if the priority is higher. Does nothing
// if the check runs. False: another transaction is changing it.
bool raise_priority(store::Store &store, int64 check, int16 priority, bool *changed);

// Replaces a task that waits or is ready by a later submission; its gates stay. Nothing: it has changed meanwhile.
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
