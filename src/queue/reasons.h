// Why a ready task does not run: settings of its queue, tasks before it, no worker. Rooms above register their reasons.
#pragma once

#include "store/rows.h"
#include "task/reasons.h"

namespace scylla {

struct ReadyTask {
    const store::SpecRow &spec;
    const store::ReadyRow &ready;
    const store::QueueRow &queue;
};

// Puts its reason into the sink, if it holds the task back now.
using Hold = void (*)(store::Store &store, const ReadyTask &task, TimestampTz now, const ReasonSink &sink);
// When the library is loaded. Holds are asked in the order in which they were registered, after those of the queue.
void register_hold(Hold hold);

void explain_ready(store::Store &store, const ReadyTask &task, TimestampTz now, const ReasonSink &sink);

} // namespace scylla
