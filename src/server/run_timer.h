// Interrupts a handler that a session calls at the end of its run (task/run_limit.h), and the function select_work of a
// job. Server workers have no need of it for handlers: the monitor interrupts them.
#pragma once

#include "pg/prelude.h"

namespace scylla::handlers {

// end: DT_NOEND for never.
void start_run_timer(TimestampTz end);
// Whether it has interrupted this process since it was started.
bool stop_run_timer();

} // namespace scylla::handlers
