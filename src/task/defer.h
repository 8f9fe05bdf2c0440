// How a running task gives up its lease to wait.
#pragma once

#include "task/held.h"
#include "task/wait_for.h"

namespace scylla {

// A task that asks for something has no answer yet: it becomes ready again after retry_after (microseconds; nothing: as
// often as the waiters of a check want, else after the first delay of its retry policy). That is no failure, and leaves
// no entry in the history. P0002 or 55000 if the lease is not held; defer() too.
Task not_yet(store::Store &store, const LeaseName &name, std::optional<int64> retry_after);

// The same, but a lease that is not held is no error.
Claim not_yet_if_held(store::Store &store, const LeaseName &name);

// New gates replace those of the task. When they are open, the task is ready again, with their values as args and with
// the state. That is no failure. 22023 if it would wait for itself.
struct Deferral {
    std::span<const WaitFor> waits;
    Jsonb *state; // null: the present one
};
Task defer(store::Store &store, const LeaseName &name, const Deferral &deferral);

} // namespace scylla
