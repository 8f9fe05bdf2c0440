// The job of pg_cron that calls run_schedules(), for servers where the monitor does not tick.
#pragma once

#include "pg/prelude.h"

namespace scylla::schedule {

// Makes, changes or removes the job so that it is what the schedules need. It is one for all of a database, so that
// nobody can schedule too much for pg_cron, and what it does does not depend on when exactly it comes. `warn`: says
// what to do where pg_cron works in another database.
enum class Warn : std::uint8_t { no, yes };
void keep_job(Warn warn);

// Before the extension is dropped: the job has nothing to call any more.
void drop_job();

} // namespace scylla::schedule
