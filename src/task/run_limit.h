// run_timeout: how long one run of a task may take, from its lease on, independent of heartbeats and of the kind of
// worker: the value of the task, otherwise that of its queue. In a queue with a handler it is otherwise
// scylla.handler_timeout, and never more than scylla.max_handler_timeout. The deadline of a lease is never later than
// the end of the run. Leases are ended by the present setting of the queue, so that a change applies to runs that have
// begun.
#pragma once

#include "store/rows.h"

namespace scylla {

struct Run {
    int32 queue;
    TimestampTz leased;
    std::optional<int64> timeout; // of the task
};
inline Run run_of(const store::LeaseRow &row) { return {row.queue, row.leased, row.run_timeout}; }

// When a run must have ended; DT_NOEND: never.
TimestampTz run_ends(store::Store &store, const Run &run);

// The limits of all queues that have one, as this process knows them. Valid until the next call.
struct RunLimit {
    int32 queue;
    std::optional<int64> micros; // its run_timeout
    bool has_handler;
};
using RunLimits = std::span<const RunLimit>; // by queue
RunLimits read_run_limits(store::Store &store);
// The same by what was read. Costs nothing where no queue has a limit.
TimestampTz run_ends(RunLimits limits, const Run &run);

// The longest call of a handler, and the longest where nothing else is set, in microseconds.
int64 longest_call();
int64 default_call();

// {"code": "run-timeout"}
Jsonb *run_timeout_error(store::Store &store, const Run &run, int64 micros);

} // namespace scylla
