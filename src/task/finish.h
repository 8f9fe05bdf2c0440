// How a worker ends its lease: the task is completed, aborted, or has failed and may be retried.
#pragma once

#include "task/batch.h"

namespace scylla {

struct Outcome {
    Jsonb *result;  // null: none
    Jsonb *metrics; // likewise
};

// P0002 or 55000 if the lease is not held; the other functions for one lease too.
Task complete(store::Store &store, const LeaseName &name, const Outcome &outcome);
// Completes the leases that are held. Stores the result of each in the batch.
void complete_each(store::Store &store, const Batch &batch);
// Completes all, or raises an error. True: it has changed tasks that waited for these.
bool complete_all(store::Store &store, const Batch &batch);

// error: an object, see args::error().
Task abort_task(store::Store &store, const LeaseName &name, Jsonb *error);

struct Failure {
    Jsonb *error;                     // likewise
    std::optional<int64> retry_after; // microseconds; nothing: by the policy of the task or its queue
};
Task fail(store::Store &store, const LeaseName &name, const Failure &failure);

// Counts a lease that was taken out of its table as a failure. The caller must call settle_gates() afterwards.
Task fail_run(store::Store &store, const store::SpecRow &spec, const store::LeaseRow &lease, const Failure &failure,
              TimestampTz now);

// For callers of a handler, which may have ended the lease itself, or whose task may have been taken away: that is no
// error.
Claim complete_if_held(store::Store &store, const LeaseName &name, const Outcome &outcome);
bool fail_if_held(store::Store &store, const LeaseName &name, const Failure &failure);

} // namespace scylla
