// The job of pg_cron that calls run_schedules(), for servers where the monitor does not tick.
#pragma once

#include "pg/prelude.h"

namespace scylla::schedule {

// Creates, changes or removes the job as the schedules need it. There is one job for the database, so that schedules
// cannot overload pg_cron, and its exact time does not matter. `warn`: says what to do if pg_cron works in another
// database.
enum class Warn : std::uint8_t { no, yes };
void keep_job(Warn warn);

// Before the extension is dropped: the job would have nothing to call.
void drop_job();

} // namespace scylla::schedule
