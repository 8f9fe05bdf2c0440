// The SQL of the calls: all statements of this library about tasks are in statements.cpp.
#ifndef SCYLLA_SRC_STATEMENTS_H
#define SCYLLA_SRC_STATEMENTS_H

#include <vector>

namespace scylla::detail {

struct statement {
    const char *name; // of the prepared statement, where the connection is ours
    const char *sql;
    // The rule of the call's error 55000: libpq reports it only on verbose connections, that is on our own.
    const char *rule_of_55000 = "";
};

namespace sql {
extern const statement reschedule, set_priority, delete_task, resubmit, resubmit_many, dead_tasks, rerun_plan;
extern const statement submit, submit_many, submit_bulk;
extern const statement create_trigger, drop_trigger, pause_trigger, resume_trigger, clear_trigger;
extern const statement create_callback, resolve_callback, reject_callback, send_signal, grant_signal, revoke_signal,
    set_signal_owner;
extern const statement create_pool, alter_pool, drop_pool, drain_pool, resume_pool, report_usage, grant_pool,
    revoke_pool, place, list_pool_queue, pools;
extern const statement define_job, drop_job, grant_job, revoke_job, run_job, explain_job, mark_fresh, forget_freshness,
    job_dot, job_mermaid;
extern const statement create_plan, open_plan, cancel_plan, plan_completed, set_plan_owner, wait_plan, get_plan,
    plan_dot, plan_mermaid, plan_timeline;
extern const statement lease, lease_task, heartbeat, heartbeat_many, complete, complete_many, complete_and_lease, abort,
    fail, yield, not_yet, defer, register_worker, wait, wait_any, work;
extern const statement cancel, cancel_many, yield_many, resubmit_matching, find_tasks, get_task, list_tasks,
    explain_waiting;
extern const statement alter_queue, pause_queue, resume_queue, drop_queue;
// Written from the table of settings in client_queues.cpp.
const statement &create_queue();
const statement &queue_settings();
extern const statement grant_queue, revoke_queue, set_queue_owner, queue_grants, grant_role, revoke_role, role_kinds;
extern const statement schedule, schedule_plan, schedule_job, unschedule, schedules, run_schedules, arm_schedules,
    cron_next;
extern const statement sel_eval, interpolate;
extern const statement validate_workflow, create_workflow, activate_workflow, deactivate_workflow, alter_workflow,
    drop_workflow, create_job_template, drop_job_template, grant_workflow, revoke_workflow;
extern const statement start_workflow, start_workflows, set_output, restart_run, stop_run, kill_run, unblock_run,
    unblock_workflow, advance, run_tree, failed_steps, explain_run, workflow_dot, workflow_mermaid, run_dot,
    run_mermaid, run_gantt, lineage_dot, lineage_mermaid;
extern const statement backfill, preview_backfill, pause_backfill, resume_backfill, cancel_backfill;
extern const statement stop_workflow, kill_workflow, stop_step, kill_step, skip_step, restart_step, bypass_step;
extern const statement pause_step, resume_step, set_breakpoint, drop_breakpoint, pause_workflow, resume_workflow;
extern const statement read_events, read_workflow_events, metrics, stat_queue, quantile, count_tasks, has_live_tasks,
    stat_reset;
extern const statement backoff, reset_expired, purge, maintain, check;
// For the worker: several calls in one statement, which fails as a whole.
extern const statement yield_each, heartbeat_each;
// And its leases: only the columns that a handler may need, as the cost of a row depends on its columns.
extern const statement lease_jobs, complete_and_lease_jobs;
} // namespace sql

// All of them, for the test that compares them with the catalog.
std::vector<const statement *> all_statements();

} // namespace scylla::detail

#endif
