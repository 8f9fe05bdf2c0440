// run_timeout: how long one run of a task may take, from its lease on, whatever its heartbeats and whoever runs it. The
// deadline of a lease is never later than the end of the run. Whoever ends leases goes by the setting as it is then, so
// that a change counts for runs that have begun.
#pragma once

#include "store/rows.h"

namespace scylla {

// When a run must have ended that began at `leased`; DT_NOEND: never.
TimestampTz run_ends(store::Store &store, int32 queue, TimestampTz leased);

// The limits of all queues that have one, as this process knows them. Valid until the next call.
struct RunLimit {
    int32 queue;
    int64 micros;
};
using RunLimits = std::span<const RunLimit>; // by queue
RunLimits read_run_limits(store::Store &store);
// The same by what was read. Costs nothing where no queue has a limit.
TimestampTz run_ends(RunLimits limits, int32 queue, TimestampTz leased);

// {"code": "run-timeout"}
Jsonb *run_timeout_error(int64 micros);

} // namespace scylla
