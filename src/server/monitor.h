// The monitor: background workers for work that depends on time. One launcher per server finds the databases that have
// the extension and keeps a monitor in each, up to scylla.max_monitors at once; beyond that they take turns.
#pragma once

#include "pg/prelude.h"

namespace scylla::monitor {

// While preloading: registers the launcher, and the hook that keeps monitors out of the way of DROP DATABASE and its
// like.
void install();

// That hook (utility_hook.cpp).
void install_utility_hook();

// Fields that the launcher and the monitors have in common.
BackgroundWorker make_worker(const char *name, const char *function);

} // namespace scylla::monitor

extern "C" {
[[noreturn]] PGDLLEXPORT void scylla_launcher_main(Datum);
[[noreturn]] PGDLLEXPORT void scylla_monitor_main(Datum slot);
}
