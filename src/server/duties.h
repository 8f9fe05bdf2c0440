// What a monitor does between two sleeps: the duties that rooms have registered (task/duty.h), and its own. Each has a
// number below count_duties().
#pragma once

#include "pg/prelude.h"

namespace scylla::monitor {

// Once, before the first of them: what an earlier monitor may have left undone is looked for without pauses.
void begin_duties();
uint32 count_duties();
// Does a portion, if it is time.
void run_duty(uint32 number);
// When the first of them is to be run.
TimestampTz next_duty();
// Everything is to be done at once: settings or the clock have changed.
void restart_duties();

} // namespace scylla::monitor
