// Tasks whose handler is being called. The process holds a lock for the run of the task, which shows that it lives: the
// lease of the run lasts as long as the process. The server releases the lock with the transaction of the call, however
// that ends.
#pragma once

#include "store/rows.h"

namespace scylla {

// Takes the lock, until the transaction ends. Waits only for a process in is_called().
void hold_call(store::Store &store, int64 task, int32 attempt);

// Whether a process holds it.
bool is_called(store::Store &store, int64 task, int32 attempt);

} // namespace scylla
