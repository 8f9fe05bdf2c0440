// What a monitor does between two sleeps: the duties that rooms have registered (task/duty.h), and its own. Each has a
// number below count_duties().
#pragma once

#include "pg/prelude.h"

namespace scylla::monitor {

// Called once, before the first of them: the walks that find what an earlier monitor may have left undone run without
// pauses.
void begin_duties();
uint32 count_duties();
// Does a portion, if it is due. An error rolls the portion back, and the duty is tried again later: the other duties
// and this process go on. Raised again is only what concerns all duties: the extension is not as it must be.
void run_duty(uint32 number);
// What it does, as pg_stat_activity shows it.
const char *name_of_duty(uint32 number);
// When the first of them is due.
TimestampTz next_duty();
// The same without looks for what nothing has announced: until then this database needs no monitor.
TimestampTz next_known_duty();
// All of them are due at once: settings or the clock have changed.
void restart_duties();

} // namespace scylla::monitor
