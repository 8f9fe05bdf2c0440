// What a monitor does between two sleeps: the duties that rooms have registered (task/duty.h), and its own. Each has a
// number below count_duties().
#pragma once

#include "pg/prelude.h"

namespace scylla::monitor {

// Called once, before the first of them: the walks that find what an earlier monitor may have left undone run without
// pauses.
void begin_duties();
uint32 count_duties();
// Does a portion, if it is due.
void run_duty(uint32 number);
// When the first of them is due.
TimestampTz next_duty();
// All of them are due at once: settings or the clock have changed.
void restart_duties();

} // namespace scylla::monitor
