// Why a ready task does not run: settings of its queue, tasks before it, no worker.
#pragma once

#include "store/rows.h"
#include "task/reasons.h"

namespace scylla {

struct ReadyTask {
    const store::SpecRow &spec;
    const store::ReadyRow &ready;
    const store::QueueRow &queue;
};

void explain_ready(store::Store &store, const ReadyTask &task, TimestampTz now, const ReasonSink &sink);

} // namespace scylla
