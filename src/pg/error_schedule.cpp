// Schedules, and the processes that run them.
#include "pg/error_fields.h"

namespace scylla::error {

void no_such_schedule(const text *name) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                    errmsg("schedule \"%s\" does not exist", name == nullptr ? "<NULL>" : str(name)),
                    identify("schedule", "exists")));
}

void not_schedule_owner(const text *name) {
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied for schedule \"%s\"", str(name)),
                    errdetail("It belongs to another role."), identify("schedule", "owner")));
}

void schedule_of_workflow(const text *name) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("schedule \"%s\" belongs to a workflow", str(name)),
                    errhint("Deactivate the workflow, or set its property time_trigger_disabled."),
                    identify("schedule", "workflow")));
}

void no_schedule_role(const char *role) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("role \"%s\" does not exist", role),
                    errdetail("It made the schedule, whose tasks are submitted as this role."),
                    identify("schedule", "owner")));
}

void warn_of_no_workers(const text *schedule, bool off) {
    const char *why = off ? "The setting \"scylla.max_server_workers\" is 0."
                          : "Before PostgreSQL 17, workers inside the server can run only as roles that may log in.";
    ereport(WARNING, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                      errmsg("no server worker can run the schedule \"%s\"", str(schedule)), errdetail("%s", why)));
}

void job_needs_worker() {
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("a job selects ids for a schedule only where the monitor runs schedules"),
             errdetail("The function that selects them could hold up the schedules of other roles."),
             errhint("Name the ids in scylla.schedule_job(), or preload scylla and set scylla.schedules to auto."),
             identify("schedule", "worker")));
}

void no_ticker(NoTicker why) {
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("pg_cron is not available"),
             why == NoTicker::nothing
                 ? errdetail("Nothing runs schedules: this server runs no monitor, and does not preload pg_cron.")
                 : errdetail("The extension pg_cron has not been created in this database."),
             why == NoTicker::nothing
                 ? errhint("Add scylla to shared_preload_libraries, restart the server, and set "
                           "scylla.schedules to \"auto\"; or preload pg_cron; or set scylla.schedules to "
                           "\"manual\" and call scylla.run_schedules() by other means.")
                 : errhint("create extension pg_cron"),
             identify("schedule", "pg_cron")));
}

void pg_cron_too_old(const char *version) {
    ereport(ERROR,
            (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("pg_cron %s cannot run a job every few seconds", version),
             errhint("Use a schedule of minutes, pg_cron 1.5 or later, or scylla.schedules = auto."),
             identify("schedule", "pg_cron")));
}

} // namespace scylla::error
