// The entry points of the library for the server.
#include "job/jobs.h"
#include "plan/conditions.h"
#include "plan/gates.h"
#include "pool/pass.h"
#include "server/call_hints.h"
#include "server/maintain.h"
#include "server/monitor.h"
#include "queue/pending.h"
#include "server/worker.h"
#include "settings.h"
#include "shmem/pending.h"
#include "shmem/stats.h"
#include "task/checks.h"
#include "task/dropped.h"
#include "task/events.h"
#include "task/gates.h"
#include "task/resubmit.h"
#include "trigger/triggers.h"
#include "workflow/events.h"
#include "workflow/runs.h"

extern "C" {
#ifdef PG_MODULE_MAGIC_EXT
PG_MODULE_MAGIC_EXT(.name = "scylla", .version = SCYLLA_VERSION);
#else
PG_MODULE_MAGIC;
#endif

PGDLLEXPORT void _PG_init(void);
}

void _PG_init(void) {
    using namespace scylla;
    settings::define();
    register_time_duties();
    monitor::register_handler_duty();
    register_event_duty();
    workflow::register_workflow_event_duty();
    register_pending_duty();
    register_dropped_duty();
    register_copy_duty();
    register_gate_duty();
    register_check_duty();
    register_plan_gates();
    register_condition_gates();
    job::register_completions();
    job::register_reruns();
    install_call_hints();
    trigger::register_trigger_duty();
    register_pools();
    workflow::register_runs();
    workflow::register_waits();
    workflow::register_time_triggers();
    workflow::register_signal_triggers();
    monitor::register_engine_duty();
    shmem::install_stat_callbacks();
    shmem::install_callbacks();
    if (process_shared_preload_libraries_in_progress) {
        shmem::install();
        monitor::install();
    }
}
