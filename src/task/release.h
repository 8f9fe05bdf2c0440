// Taking a task from its worker: the worker yields it, or a client cancels it.
#pragma once

#include "task/held.h"

namespace scylla {

// Yields the lease: the task is ready again. P0002 or 55000 if it is not held.
Task yield_task(store::Store &store, const LeaseName &name);
// The same, but a lease that is not held is no error. False: it was not held.
bool yield_if_held(store::Store &store, const LeaseName &name);

// Cancels a task that has not ended; else 55000. P0002 if there is none that the current user may cancel.
Task cancel(store::Store &store, const text *rn);

// The same without looking at rights, for callers that call settle_gates() themselves. Returns the task as it is now,
// and whether this call has cancelled it: it may have ended before.
struct Cancelled {
    Task task;
    bool done;
};
// Takes the row of a live task out of its table.
store::Taken take_live(store::Store &store, const Task &task, Wait wait);
Cancelled cancel_task(store::Store &store, const store::SpecRow &spec, TimestampTz now);
// The same without waiting: busy: another transaction is changing the task; ended: it was not live.
enum class Cancelling : std::uint8_t { done, ended, busy };
Cancelling try_cancel_task(store::Store &store, const store::SpecRow &spec, TimestampTz now);

} // namespace scylla
