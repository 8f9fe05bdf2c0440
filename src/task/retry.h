// How long a task waits after a failure.
#pragma once

#include "model/backoff.h"
#include "pg/prelude.h"

namespace scylla {

// The policy as given to submit() or as a setting of a queue: an object with "initial", "factor", "max" and "jitter",
// all of them optional. 22023 if it is none. `element` as in args.h.
model::RetryPolicy read_retry_policy(Jsonb *policy, int64 element = 0);

// The delay before the next try. failures: how often the task has failed, this time included. policy may be null.
int64 retry_delay(Jsonb *policy, int32 failures);

} // namespace scylla
