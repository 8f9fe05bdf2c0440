// How a running task gives up its lease to wait.
#pragma once

#include "task/held.h"
#include "task/wait_for.h"

namespace scylla {

// The answer of a task that asks for something: it is offered again after a while (microseconds; nothing: as often as
// the waiters of a check want, else after the first delay of its retry policy). No failure, and no entry in the
// history. P0002 or 55000 if the lease is not held; so with the other.
Task not_yet(store::Store &store, const LeaseName &name, std::optional<int64> retry_after);

// The same for those to whom it is no error that it is not held.
Claim not_yet_if_held(store::Store &store, const LeaseName &name);

// New gates take the place of those that the task had. When they are open it is ready again, with their values as args
// and with the state. No failure. 22023 if it would wait for itself.
struct Deferral {
    std::span<const WaitFor> waits;
    Jsonb *state; // null: it keeps the one that it has
};
Task defer(store::Store &store, const LeaseName &name, const Deferral &deferral);

} // namespace scylla
