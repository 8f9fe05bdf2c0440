// Server workers: background workers that call the handlers of one role's queues, connected as that role.
#pragma once

#include "pg/prelude.h"

namespace scylla::monitor {

// For the launcher: starts the workers that monitors have asked for, and asks workers to exit if another role needs
// their slots. Monitors ask again as long as they are needed. Returns when to look again at the latest.
int64 assign_workers(int64 now);
void reap_workers(int64 now);
void stop_all_workers();
// Those that an earlier launcher has left.
void wait_for_orphaned_workers();

// The duty of the monitor that asks for them.
void register_handler_duty();
// The same for the engine of workflows.
void register_engine_duty();

// Has another database give up a process: one that is idle, or the engine that has worked longest. False: there is
// none.
bool free_process(Oid except, int64 now);
// Asks the monitor of another database to leave that has nothing to do for longest, for its process. False: all work,
// or will soon.
bool dismiss_idle_monitor(Oid except);
// Whether the launcher may start processes in the database now.
bool is_blocked(Oid database);

} // namespace scylla::monitor

extern "C" {
[[noreturn]] PGDLLEXPORT void scylla_engine_main(Datum slot);
[[noreturn]] PGDLLEXPORT void scylla_worker_main(Datum slot);
}
