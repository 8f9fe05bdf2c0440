// How long a task waits after a failure.
#pragma once

#include "model/backoff.h"
#include "pg/prelude.h"
#include "store/rows.h"

namespace scylla {

// The policy as given to submit() or as a setting of a queue: an object with "initial", "factor", "max" and "jitter",
// all of them optional. 22023 if it is no policy. `element` as in args.h.
model::RetryPolicy read_retry_policy(Jsonb *policy, int64 element = 0);

// The delay before the next attempt. failures: how often the task has failed, this time included. policy may be null.
int64 retry_delay(Jsonb *policy, int32 failures);
// The same by the policy of a task, else of its queue; and its first.
int64 delay_after(store::Store &store, const store::SpecRow &spec, int32 failures);
inline int64 first_delay(store::Store &store, const store::SpecRow &spec) { return delay_after(store, spec, 1); }

} // namespace scylla
