// Tasks whose handler is being called. The process holds a lock for the run of the task, so that others know that it
// lives: the lease of a run lasts as long as the process does. The server releases the lock with the transaction of the
// call, however that ends.
#pragma once

#include "store/rows.h"

namespace scylla {

// Held until the transaction ends. Waits for nobody but whoever is just asking.
void hold_call(store::Store &store, int64 task, int32 attempt);

// Whether a process holds it.
bool is_called(store::Store &store, int64 task, int32 attempt);

} // namespace scylla
