// How a worker ends its lease with a word about the task: it is completed, aborted, or has failed and may be tried
// again.
#pragma once

#include "task/batch.h"

namespace scylla {

struct Outcome {
    Jsonb *result;  // null: none
    Jsonb *metrics; // likewise
};

// P0002 or 55000 if the lease is not held; so do the others that are about one lease.
Task complete(store::Store &store, const LeaseName &name, const Outcome &outcome);
// Those that are held. Notes in the batch what came of each.
void complete_each(store::Store &store, const Batch &batch);
// All, or an error. True: it has changed others, which have waited for these.
bool complete_all(store::Store &store, const Batch &batch);

// error: an object, see args::error().
Task abort_task(store::Store &store, const LeaseName &name, Jsonb *error);

struct Failure {
    Jsonb *error;                     // likewise
    std::optional<int64> retry_after; // microseconds; nothing: by the policy of the task or its queue
};
Task fail(store::Store &store, const LeaseName &name, const Failure &failure);

// A lease that was taken out of its table counts as a failure. settle_gates() is to follow.
Task fail_run(store::Store &store, const store::SpecRow &spec, const store::LeaseRow &lease, const Failure &failure,
              TimestampTz now);

// For those who call a handler, which may have ended the lease itself, or whose task may have been taken away: what
// came of it is no error.
Claim complete_if_held(store::Store &store, const LeaseName &name, const Outcome &outcome);
bool fail_if_held(store::Store &store, const LeaseName &name, const Failure &failure);

} // namespace scylla
