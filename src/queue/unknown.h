// Queues that callers name and that do not exist, mostly because of a misspelt name.
#pragma once

#include "store/rows.h"

namespace scylla {

// A notice about such a queue, once per session. For calls that then do nothing.
void tell_unknown_queue(store::Store &store, const text *name);

} // namespace scylla
