// Cancelling, for the verbs that do it.
#pragma once

#include "task/moves.h"

namespace scylla {

// The task as it is now, and whether this call has cancelled it: it may have ended before.
struct Cancelled {
    Task task;
    bool done;
};
Cancelled cancel_task(store::Store &store, const store::SpecRow &spec, TimestampTz now);

} // namespace scylla
