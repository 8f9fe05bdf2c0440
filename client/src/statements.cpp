#include "statements.h"

// Times are sent as microseconds, so that neither DateStyle nor TimeZone matters.
#define MICROSECONDS(column) "(extract(epoch from " column ") * 1000000)::bigint"
#define TASK                                                                                                           \
    "select rn, queue, spec, status, priority, progress, " MICROSECONDS("created") ", " MICROSECONDS(                  \
        "updated") ", owner, " MICROSECONDS("deadline") ", errors, history, result, metrics, args, attempt, "          \
                                                        "failures, "                                                   \
                                                        "max_attempts, " MICROSECONDS(                                 \
                                                            "not_before") ", plan, key, pool, state, "                 \
                                                                          "answers, " MICROSECONDS("answered") " from" \
                                                                                                               " "
#define TIME(parameter) "(timestamptz 'epoch' + " parameter "::bigint * interval '1 microsecond')"
#define TASK_ERROR(code, message, args)                                                                                \
    "pg_catalog.jsonb_build_object('code', " code "::text, 'message', " message "::text, 'args', " args "::jsonb)"

namespace scylla::detail {
namespace sql {

const statement submit{
    "scylla_submit",
    TASK "scylla.submit(queue => $1, spec => $2::jsonb, priority => $3::int, rn => $4, not_before => " TIME(
        "$5") ", max_attempts => $6::int, on_duplicate => $7, depends_on => $8::text[], "
              "on_dependency_failure => $9, plan => $10, dedup_key => $11, retry => $12::jsonb, key => $13, "
              "wait_for => $14::jsonb, needs => $15::jsonb, expected_runtime => $16::interval, dedup_for => "
              "$17::interval, debounce => $18::interval, run_timeout => $19::interval)"};

// An array of tasks for submit_many, from one array per argument. The server parses each specification by itself, so
// none can break out of its element. Nulls are left out: they mean the same as a missing key.
#define TASKS                                                                                                          \
    "(select pg_catalog.jsonb_agg((select pg_catalog.jsonb_object_agg(key, value) from pg_catalog.jsonb_each("         \
    "pg_catalog.jsonb_build_object('queue', queue, 'spec', spec, 'priority', priority, 'rn', rn, 'not_before', " TIME( \
        "not_before") ", 'max_attempts', max_attempts, 'depends_on', depends_on, 'on_dependency_failure', "            \
                      "on_dependency_failure, 'plan', plan, 'dedup_key', dedup_key, 'retry', retry, 'key', key, "      \
                      "'wait_for', wait_for, 'needs', needs, 'expected_runtime', expected_runtime, 'dedup_for', "      \
                      "dedup_for, "                                                                                    \
                      "'debounce', debounce, 'run_timeout', run_timeout)) "                                            \
                      "where value <> 'null') order by n) "                                                            \
                      "from unnest($1::text[], $2::jsonb[], $3::int[], $4::text[], $5::bigint[], $6::int[], "          \
                      "$7::jsonb[], "                                                                                  \
                      "$8::text[], $9::text[], $10::text[], $11::jsonb[], $12::text[], $13::jsonb[], $14::jsonb[], "   \
                      "$15::text[], $16::text[], $17::text[], $18::text[]) with ordinality as t(queue, "               \
                      "spec, "                                                                                         \
                      "priority, rn, not_before, max_attempts, depends_on, on_dependency_failure, plan, dedup_key, "   \
                      "retry, "                                                                                        \
                      "key, wait_for, needs, expected_runtime, dedup_for, debounce, run_timeout, n))"

const statement submit_many{"scylla_submit_many", "select rn, inserted from scylla.submit_many(" TASKS ", $19)"};

const statement submit_bulk{"scylla_submit_bulk", "select scylla.submit_bulk($1, $2::jsonb[], $3::text[], $4::int)"};

const statement create_callback{"scylla_create_callback", "select scylla.create_callback($1, $2::interval)"};
const statement resolve_callback{"scylla_resolve_callback", "select scylla.resolve_callback($1, $2::jsonb)"};
const statement reject_callback{"scylla_reject_callback",
                                "select scylla.reject_callback($1, " TASK_ERROR("$2", "$3", "$4") ")"};
const statement send_signal{"scylla_send_signal", "select scylla.send_signal($1, $2::jsonb, $3::jsonb, $4)"};
const statement grant_signal{"scylla_grant_signal", "select scylla.grant_signal($1, $2, $3)"};
const statement revoke_signal{"scylla_revoke_signal", "select scylla.revoke_signal($1, $2, $3)"};
const statement set_signal_owner{"scylla_set_signal_owner", "select scylla.set_signal_owner($1, $2)"};

const statement create_trigger{"scylla_create_trigger",
                               "select scylla.create_trigger($1, $2::jsonb, $3::jsonb, $4::jsonpath, $5::interval)"};
const statement drop_trigger{"scylla_drop_trigger", "select scylla.drop_trigger($1)"};
const statement pause_trigger{"scylla_pause_trigger", "select scylla.pause_trigger($1)"};
const statement resume_trigger{"scylla_resume_trigger", "select scylla.resume_trigger($1)"};
const statement clear_trigger{"scylla_clear_trigger", "select scylla.clear_trigger($1, $2::int8)"};
const statement define_job{"scylla_define_job", "select scylla.define_job($1, $2, $3::jsonb, $4::jsonb)"};
const statement drop_job{"scylla_drop_job", "select scylla.drop_job($1)"};
const statement grant_job{"scylla_grant_job", "select scylla.grant_job($1, $2, 'run')"};
const statement revoke_job{"scylla_revoke_job", "select scylla.revoke_job($1, $2, 'run')"};
const statement run_job{"scylla_run_job", "select scylla.run_job($1, $2::int8multirange, $3::jsonb, $4::jsonb)"};
const statement explain_job{"scylla_explain_job",
                            "select s.job, s.chunk, s.args, pg_catalog.to_jsonb(s.depends_on), s.reason, s.runs "
                            "from scylla.explain_job($1, $2::int8multirange, $3::jsonb, $4::jsonb) s"};
const statement mark_fresh{"scylla_mark_fresh", "select scylla.mark_fresh($1, $2::int8multirange, " TIME("$3") ", $4)"};
const statement forget_freshness{"scylla_forget_freshness",
                                 "select scylla.forget_freshness($1, $2::int8multirange, $3)"};
const statement job_dot{"scylla_job_dot", "select scylla.job_dot($1)"};
const statement job_mermaid{"scylla_job_mermaid", "select scylla.job_mermaid($1)"};
const statement create_pool{"scylla_create_pool", "select scylla.create_pool($1, $2::jsonb, $3, $4::jsonb)"};
const statement alter_pool{"scylla_alter_pool", "select scylla.alter_pool($1, $2::jsonb)"};
const statement drop_pool{"scylla_drop_pool", "select scylla.drop_pool($1)"};
const statement drain_pool{"scylla_drain_pool", "select scylla.drain_pool($1)"};
const statement resume_pool{"scylla_resume_pool", "select scylla.resume_pool($1)"};
const statement report_usage{"scylla_report_usage", "select scylla.report_usage($1, $2::jsonb, " TIME("$3") ")"};
const statement grant_pool{"scylla_grant_pool", "select scylla.grant_pool($1, $2, $3)"};
const statement revoke_pool{"scylla_revoke_pool", "select scylla.revoke_pool($1, $2, $3)"};
const statement place{"scylla_place", "select rn, chosen from scylla.place($1)"};
const statement list_pool_queue{
    "scylla_list_pool_queue",
    "select pool, rn, queue, priority, " MICROSECONDS("created") ", " MICROSECONDS(
        "since") ", needs, reason, " MICROSECONDS("planned") " from scylla.list_pool_queue($1, $2)"};
const statement pools{
    "scylla_pools", "select pool, policy, capacity, reserved, reported, " MICROSECONDS(
                        "reported_at") ", free, drained, stale, waiting, placed, owner from scylla.pool order by pool"};

const statement create_plan{"scylla_create_plan", "select scylla.create_plan($1, $2::jsonb)"};
const statement open_plan{"scylla_open_plan", "select scylla.open_plan($1)", "building"};
const statement cancel_plan{"scylla_cancel_plan", "select scylla.cancel_plan($1)", "live"};
const statement plan_completed{"scylla_plan_completed", "select scylla.plan_completed($1)"};
const statement set_plan_owner{"scylla_set_plan_owner", "select scylla.set_plan_owner($1, $2)"};
const statement wait_plan{"scylla_wait_plan", "call scylla.wait_plan($1, $2::interval)"};
const statement get_plan{
    "scylla_get_plan",
    "select name, status, spec, waiting, ready, running, completed, aborted, cancelled, progress, " MICROSECONDS(
        "created") ", " MICROSECONDS("opened") ", " MICROSECONDS("finished") ", result, "
                                                                             "owner from scylla.plan where name = $1"};

const statement plan_dot{"scylla_plan_dot", "select scylla.plan_dot($1, $2::int)"};
const statement plan_mermaid{"scylla_plan_mermaid", "select scylla.plan_mermaid($1, $2::int)"};
const statement plan_timeline{"scylla_plan_timeline",
                              "select rn, queue, owner, attempt, " MICROSECONDS("started") ", " MICROSECONDS(
                                  "ended") ", status from scylla.plan_timeline($1)"};

const statement lease{"scylla_lease", TASK "scylla.lease($1, $2, $3::int, $4::interval)"};
const statement lease_task{"scylla_lease_task", TASK "scylla.lease_task($1, $2, $3::interval)", "ready"};
const statement heartbeat{"scylla_heartbeat", TASK "scylla.heartbeat($1, $2, $3::float8, $4::interval, $5::int)",
                          "held"};
const statement heartbeat_many{
    "scylla_heartbeat_many",
    "select rn, held, status from scylla.heartbeat_many($1::text[], $2, $3::interval, $4::int[])"};
const statement complete{"scylla_complete", TASK "scylla.complete($1, $2, $3::jsonb, $4::jsonb, $5::int)", "held"};
const statement complete_many{"scylla_complete_many", "select rn, completed, status from "
                                                      "scylla.complete_many($1::text[], $2, $3::jsonb[], $4::int[])"};
const statement complete_and_lease{
    "scylla_complete_and_lease",
    TASK "scylla.complete_and_lease($1::text[], $2, $3, $4::int, $5::interval, $6::jsonb[], $7::int[])", "held"};
const statement abort{"scylla_abort", TASK "scylla.abort($1, $2, " TASK_ERROR("$3", "$4", "$5") ", $6::int)", "held"};
const statement fail{"scylla_fail", TASK "scylla.fail($1, $2, " TASK_ERROR("$3", "$4", "$5") ", $6::interval, $7::int)",
                     "held"};
const statement yield{"scylla_yield", TASK "scylla.yield($1, $2, $3::int)", "held"};
const statement not_yet{"scylla_not_yet", TASK "scylla.not_yet($1, $2, $3::interval, $4::int)", "held"};
const statement defer{"scylla_defer", TASK "scylla.defer($1, $2, $3::jsonb, $4::jsonb, $5::int)", "held"};
const statement register_worker{"scylla_register_worker", "select scylla.register_worker()"};
const statement wait{"scylla_wait", "call scylla.wait($1, $2::interval)"};
const statement wait_any{"scylla_wait_any", "call scylla.wait_any($1::text[], $2::interval)"};
const statement work{"scylla_work", "call scylla.work($1, $2::int, $3::interval)"};

const statement cancel{"scylla_cancel", TASK "scylla.cancel($1)", "live"};
// The filter of find_tasks. A null spec would be searched for.
#define FILTER                                                                                                         \
    "(pg_catalog.jsonb_build_object('queue', $1::text, 'status', $2::text, 'worker', $3::text, 'key', $4::text, "      \
    "'code', $5::text, 'created_after', " TIME("$7") "::text, 'created_before', " TIME(                                \
        "$8") "::text) || "                                                                                            \
              "case when $6::jsonb is null then '{}' else pg_catalog.jsonb_build_object('spec', $6::jsonb) end)"
const statement find_tasks{"scylla_find_tasks",
                           "select t.*, f.cursor from scylla.find_tasks(" FILTER
                           ", $9::int, $10, $11::int) f cross join lateral (" TASK "(select (f.task).*) x) t"};
const statement cancel_many{"scylla_cancel_many", "select cursor, rn, status, problem from scylla.cancel_many(" FILTER
                                                  ", $9::int, $10, $12::bool, $11::int)"};
const statement yield_many{"scylla_yield_many", "select cursor, rn, status, problem from scylla.yield_many(" FILTER
                                                ", $9::int, $10, $12::bool, $11::int)"};
const statement resubmit_matching{"scylla_resubmit_matching",
                                  "select cursor, rn, new_rn from scylla.resubmit_matching(" FILTER
                                  ", $9::int, $10, $12::bool, $11::int)"};
const statement reschedule{"scylla_reschedule", TASK "scylla.reschedule($1, " TIME("$2") ")", "reschedulable"};
const statement set_priority{"scylla_set_priority", TASK "scylla.set_priority($1, $2::int)", "unleased"};
const statement delete_task{"scylla_delete_task", "select scylla.delete_task($1)", "ended"};
const statement resubmit{"scylla_resubmit", TASK "scylla.resubmit($1, $2)", "resubmitted"};
const statement resubmit_many{
    "scylla_resubmit_many",
    "select rn, new_rn from scylla.resubmit_many($1, coalesce($2::scylla.task_status, 'aborted'), $3, " TIME(
        "$4") ", " TIME("$5") ", $6::int, $7::bool)"};
const statement dead_tasks{"scylla_dead_tasks", TASK "scylla.dead_tasks($1, $2, $3::int)"};
const statement rerun_plan{"scylla_rerun_plan", "select scylla.rerun_plan($1, $2, $3)", "failed"};
const statement get_task{"scylla_get_task", TASK "scylla.get_task($1)"};
const statement list_tasks{"scylla_list_tasks", TASK "scylla.list_tasks($1, $2::scylla.task_status, $3, $4::int)"};
const statement explain_waiting{"scylla_explain_waiting",
                                "select ord, waits_for, " MICROSECONDS("since") ", " MICROSECONDS(
                                    "until") ", detail from scylla.explain_waiting($1)"};

const statement alter_queue{"scylla_alter_queue", "select scylla.alter_queue($1, $2::jsonb)"};
const statement pause_queue{"scylla_pause_queue", "select scylla.pause_queue($1)"};
const statement resume_queue{"scylla_resume_queue", "select scylla.resume_queue($1)"};
const statement drop_queue{"scylla_drop_queue", "select scylla.drop_queue($1, $2::boolean)"};
const statement grant_queue{"scylla_grant_queue", "select scylla.grant_queue($1, $2, $3)"};
const statement revoke_queue{"scylla_revoke_queue", "select scylla.revoke_queue($1, $2, $3)"};
const statement set_queue_owner{"scylla_set_queue_owner", "select scylla.set_queue_owner($1, $2)"};
const statement queue_grants{"scylla_queue_grants",
                             "select queue, role, privilege from scylla.queue_grants order by queue, role, privilege"};
const statement grant_role{"scylla_grant_role", "select scylla.grant_role($1, $2)"};
const statement revoke_role{"scylla_revoke_role", "select scylla.revoke_role($1, $2)"};
const statement role_kinds{"scylla_role_kinds",
                           "select kind, privilege, object from scylla.role_kinds() order by object, privilege, kind"};

const statement schedule{
    "scylla_schedule",
    "select " MICROSECONDS(
        "n") " from scylla.schedule($1, $2, $3, $4::jsonb, timezone => $5, overlap => $6, catch_up => $7, "
             "grace => $8::interval, max_catch_up => $9::int, jitter => $10::interval, starts => " TIME(
                 "$11") ", ends => " TIME("$12") ", planned_key => $13, options => $14::jsonb) as n"};
const statement schedule_plan{
    "scylla_schedule_plan",
    "select " MICROSECONDS("p") " from scylla.schedule_plan($19, $20, " TASKS ", timezone => $21, overlap => $22, "
                                "catch_up => $23, grace => $24::interval, max_catch_up => $25::int, jitter => "
                                "$26::interval, starts => " TIME("$27") ", ends => " TIME(
                                    "$28") ", planned_key => $29) as p"};
const statement schedule_job{
    "scylla_schedule_job",
    "select " MICROSECONDS(
        "n") " from scylla.schedule_job($1, $2, $3, $4::int8multirange, $5::jsonb, timezone => $6, overlap => $7, "
             "catch_up => $8, grace => $9::interval, max_catch_up => $10::int, jitter => $11::interval, starts "
             "=> " TIME("$12") ", ends => " TIME("$13") ", planned_key => $14, options => $15::jsonb) as n"};
const statement unschedule{"scylla_unschedule", "select scylla.unschedule($1)"};
const statement schedules{
    "scylla_schedules",
    "select name, owner, cron, timezone, queue, spec, options, armed, " MICROSECONDS("next_run") ", " MICROSECONDS(
        "last_run") ", last_task, runs, skipped, missed, last_error, job, workflow from scylla.schedules order by "
                    "name"};
const statement run_schedules{"scylla_run_schedules", "select scylla.run_schedules()"};
const statement arm_schedules{"scylla_arm_schedules", "select scylla.arm_schedules()"};
const statement cron_next{"scylla_cron_next",
                          "select " MICROSECONDS("n") " from scylla.cron_next($1, " TIME("$2") ", $3) as n"};

const statement read_events{"scylla_read_events",
                            "select cursor, " MICROSECONDS("time") ", queue, rn, status, attempt, failures, worker "
                                                                   "from scylla.read_events($1, $2::int)"};
const statement read_workflow_events{
    "scylla_read_workflow_events",
    "select cursor, " MICROSECONDS("time") ", workflow, kind, instance, run, step, "
                                           "pg_catalog.array_to_string(iterations, ' '), attempt, old_status, "
                                           "status, version from scylla.read_workflow_events($1, $2::int)"};
const statement metrics{"scylla_metrics", "select scylla.metrics()"};
const statement stat_queue{
    "scylla_stat_queue",
    "select queue, waiting, ready, running, terminal, " MICROSECONDS(
        "oldest_ready") ", submitted, leased, completed, aborted, "
                        "cancelled, failed, expired, yielded, purged, pg_catalog.array_to_string(wait_histogram, ' '), "
                        "pg_catalog.array_to_string(run_histogram, ' '), " MICROSECONDS(
                            "stats_reset") ", refused, shed from scylla.stat_queue order by queue"};
const statement sel_eval{"scylla_sel_eval", "select scylla.sel_eval($1, $2::jsonb)"};
const statement interpolate{"scylla_interpolate", "select scylla.interpolate($1, $2::jsonb)"};
const statement validate_workflow{"scylla_validate_workflow",
                                  "select place, problem from scylla.validate_workflow($1::jsonb)"};
const statement create_workflow{"scylla_create_workflow", "select scylla.create_workflow($1::jsonb, $2::bool)"};
const statement activate_workflow{"scylla_activate_workflow", "select scylla.activate_workflow($1, $2::int)"};
const statement deactivate_workflow{"scylla_deactivate_workflow", "select scylla.deactivate_workflow($1)"};
const statement alter_workflow{"scylla_alter_workflow", "select scylla.alter_workflow($1, $2::jsonb)"};
const statement drop_workflow{"scylla_drop_workflow", "select scylla.drop_workflow($1)"};
const statement create_job_template{"scylla_create_job_template", "select scylla.create_job_template($1::jsonb)"};
const statement drop_job_template{"scylla_drop_job_template", "select scylla.drop_job_template($1, $2)"};
const statement grant_workflow{"scylla_grant_workflow", "select scylla.grant_workflow($1, $2, $3)"};
const statement revoke_workflow{"scylla_revoke_workflow", "select scylla.revoke_workflow($1, $2, $3)"};
const statement start_workflow{
    "scylla_start_workflow",
    "select code, workflow_id, instance, run, status from scylla.start_workflow($1, $2::jsonb, $3, $4, $5::jsonb)"};
const statement start_workflows{
    "scylla_start_workflows",
    "select code, workflow, instance, run, status from scylla.start_workflows((select "
    "coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('workflow', w, 'params', p::jsonb, 'version', v, "
    "'request_id', r, 'step_params', s::jsonb) order by n), '[]') from rows from (pg_catalog.unnest($1::text[]), "
    "pg_catalog.unnest($2::text[]), pg_catalog.unnest($3::text[]), pg_catalog.unnest($4::text[]), "
    "pg_catalog.unnest($5::text[])) with ordinality _ (w, p, v, r, s, n)))"};
const statement set_output{"scylla_set_output", "select scylla.set_output($1, $2::jsonb, $3::jsonb, $4, $5::int)",
                           "held"};
const statement restart_run{"scylla_restart_run",
                            "select code, of_workflow, of_instance, run, status from scylla.restart_run($1, "
                            "$2::bigint, $3, $4::jsonb, $5::jsonb, $6::text[], $7, $8::bool)"};
const statement stop_run{"scylla_stop_run", "select scylla.stop_run($1, $2::bigint)"};
const statement kill_run{"scylla_kill_run", "select scylla.kill_run($1, $2::bigint)"};
const statement stop_workflow{"scylla_stop_workflow", "select scylla.stop_workflow($1)"};
const statement kill_workflow{"scylla_kill_workflow", "select scylla.kill_workflow($1)"};
const statement stop_step{"scylla_stop_step", "select scylla.stop_step($1, $2::bigint, $3, $4::bigint[])"};
const statement kill_step{"scylla_kill_step", "select scylla.kill_step($1, $2::bigint, $3, $4::bigint[])"};
const statement skip_step{"scylla_skip_step", "select scylla.skip_step($1, $2::bigint, $3, $4::bigint[])"};
const statement restart_step{"scylla_restart_step",
                             "select scylla.restart_step($1, $2::bigint, $3, $4::bigint[], $5::bool)"};
const statement bypass_step{"scylla_bypass_step", "select scylla.bypass_step($1, $2::bigint, $3, $4::bigint[])"};
const statement pause_step{"scylla_pause_step", "select scylla.pause_step($1, $2::bigint, $3, $4::bigint[])"};
const statement resume_step{"scylla_resume_step", "select scylla.resume_step($1, $2::bigint, $3, $4::bigint[])"};
const statement set_breakpoint{"scylla_set_breakpoint",
                               "select scylla.set_breakpoint($1, $2, $3::int, $4::bigint, $5::int)"};
const statement drop_breakpoint{"scylla_drop_breakpoint",
                                "select scylla.drop_breakpoint($1, $2, $3::int, $4::bigint, $5::int, $6::bool)"};
const statement pause_workflow{"scylla_pause_workflow", "select scylla.pause_workflow($1)"};
const statement resume_workflow{"scylla_resume_workflow", "select scylla.resume_workflow($1)"};
const statement unblock_run{"scylla_unblock_run", "select scylla.unblock_run($1, $2::bigint)"};
const statement backfill{"scylla_backfill",
                         "select scylla.backfill($1, $2::jsonb, $3, $4::int, $5::bool, $6, $7::bool)"};
const statement preview_backfill{
    "scylla_preview_backfill",
    "select number, params, action, instance, status from scylla.preview_backfill($1, $2::jsonb, $3, $4::bool, $5)"};
const statement pause_backfill{"scylla_pause_backfill", "select scylla.pause_backfill($1::bigint)"};
const statement resume_backfill{"scylla_resume_backfill", "select scylla.resume_backfill($1::bigint)"};
const statement cancel_backfill{"scylla_cancel_backfill", "select scylla.cancel_backfill($1::bigint, $2::bool)"};
const statement unblock_workflow{"scylla_unblock_workflow", "select scylla.unblock_workflow($1)"};
const statement run_tree{
    "scylla_run_tree",
    "select depth, kind, name, iterations, count, status, attempt, " MICROSECONDS("started") ", " MICROSECONDS(
        "ended") ", params, error, task, workflow_id, instance_id from scylla.run_tree($1, $2::bigint, $3::int, "
                 "$4::boolean)"};
const statement failed_steps{"scylla_failed_steps",
                             "select workflow_id, instance_id, step, iterations, attempt, status, " MICROSECONDS(
                                 "ended") ", params, error, task from scylla.failed_steps($1, $2::bigint, $3::int)"};
const statement explain_run{
    "scylla_explain_run",
    "select workflow_id, instance_id, step_id, iterations, waits_for, " MICROSECONDS("since") ", " MICROSECONDS(
        "until") ", detail from scylla.explain_run($1, $2::bigint, $3, $4::int)"};
const statement workflow_dot{"scylla_workflow_dot", "select scylla.workflow_dot($1, $2)"};
const statement workflow_mermaid{"scylla_workflow_mermaid", "select scylla.workflow_mermaid($1, $2)"};
const statement run_dot{"scylla_run_dot", "select scylla.run_dot($1, $2::bigint)"};
const statement run_mermaid{"scylla_run_mermaid", "select scylla.run_mermaid($1, $2::bigint)"};
const statement run_gantt{"scylla_run_gantt", "select scylla.run_gantt($1, $2::bigint, $3::int)"};
const statement lineage_dot{"scylla_lineage_dot", "select scylla.lineage_dot($1, $2::bigint, $3::int)"};
const statement lineage_mermaid{"scylla_lineage_mermaid", "select scylla.lineage_mermaid($1, $2::bigint, $3::int)"};
const statement advance{"scylla_advance", "call scylla.advance()"};
const statement quantile{"scylla_quantile",
                         "select " MICROSECONDS("q") " from scylla.quantile($1::bigint[], $2::float8) as q"};
const statement has_live_tasks{"scylla_has_live_tasks", "select scylla.has_live_tasks($1::text[])"};
const statement count_tasks{"scylla_count_tasks", "select queue_name, status, tasks from scylla.count_tasks($1)"};
const statement stat_reset{"scylla_stat_reset", "select scylla.stat_reset($1)"};

const statement backoff{
    "scylla_backoff",
    "select " MICROSECONDS("b") " from scylla.backoff($1::int, $2::interval, $3::float8, $4::interval) as b"};
const statement reset_expired{"scylla_reset_expired", "select scylla.reset_expired()"};
const statement purge{"scylla_purge", "select scylla.purge()"};
const statement maintain{"scylla_maintain", "select scylla.maintain()"};
const statement check{"scylla_check", "select rn, problem from scylla.check()"};

// In the order of their names, like the server's own batches, so that two of them cannot deadlock.
const statement yield_each{
    "scylla_yield_each",
    "select y.rn from (select * from unnest($1::text[], $3::int[]) as u(rn, attempt) order by rn) t, "
    "lateral scylla.yield(t.rn, $2, t.attempt) y",
    "held"};
const statement heartbeat_each{"scylla_heartbeat_each",
                               "select h.rn from (select * from unnest($1::text[], $3::float8[], $4::int[]) "
                               "as u(rn, progress, attempt) order by rn) t, "
                               "lateral scylla.heartbeat(t.rn, $2, t.progress, $5::interval, t.attempt) h",
                               "held"};

// The difference is at most 365 days, and the creation before the year 2100: floating point is exact enough, and
// faster.
#define JOB                                                                                                            \
    "select rn, queue, spec, priority, (date_part('epoch', created) * 1000000)::bigint, errors, args, attempt, "       \
    "failures, "                                                                                                       \
    "max_attempts, plan, (date_part('epoch', deadline - updated) * 1000000)::bigint, key, pool from "
const statement lease_jobs{"scylla_lease_jobs", JOB "scylla.lease($1, $2, $3::int, $4::interval)"};
const statement complete_and_lease_jobs{
    "scylla_complete_and_lease_jobs",
    JOB "scylla.complete_and_lease($1::text[], $2, $3, $4::int, $5::interval, $6::jsonb[], $7::int[])", "held"};

} // namespace sql

namespace {

using namespace sql;
const statement *const k_all[] = {&create_plan,
                                  &open_plan,
                                  &cancel_plan,
                                  &plan_completed,
                                  &wait_plan,
                                  &get_plan,
                                  &set_plan_owner,
                                  &plan_dot,
                                  &plan_mermaid,
                                  &plan_timeline,
                                  &create_callback,
                                  &resolve_callback,
                                  &reject_callback,
                                  &send_signal,
                                  &grant_signal,
                                  &revoke_signal,
                                  &set_signal_owner,
                                  &create_trigger,
                                  &drop_trigger,
                                  &pause_trigger,
                                  &resume_trigger,
                                  &clear_trigger,
                                  &define_job,
                                  &drop_job,
                                  &grant_job,
                                  &revoke_job,
                                  &run_job,
                                  &explain_job,
                                  &mark_fresh,
                                  &forget_freshness,
                                  &job_dot,
                                  &job_mermaid,
                                  &create_pool,
                                  &alter_pool,
                                  &drop_pool,
                                  &drain_pool,
                                  &resume_pool,
                                  &report_usage,
                                  &grant_pool,
                                  &revoke_pool,
                                  &place,
                                  &list_pool_queue,
                                  &pools,
                                  &submit,
                                  &submit_many,
                                  &submit_bulk,
                                  &lease,
                                  &lease_task,
                                  &heartbeat,
                                  &heartbeat_many,
                                  &complete,
                                  &complete_many,
                                  &complete_and_lease,
                                  &abort,
                                  &fail,
                                  &yield,
                                  &not_yet,
                                  &defer,
                                  &register_worker,
                                  &wait,
                                  &wait_any,
                                  &work,
                                  &cancel,
                                  &cancel_many,
                                  &yield_many,
                                  &resubmit_matching,
                                  &find_tasks,
                                  &get_task,
                                  &list_tasks,
                                  &explain_waiting,
                                  &alter_queue,
                                  &pause_queue,
                                  &resume_queue,
                                  &drop_queue,
                                  &schedule,
                                  &schedule_plan,
                                  &schedule_job,
                                  &unschedule,
                                  &schedules,
                                  &run_schedules,
                                  &arm_schedules,
                                  &cron_next,
                                  &sel_eval,
                                  &interpolate,
                                  &validate_workflow,
                                  &create_workflow,
                                  &activate_workflow,
                                  &deactivate_workflow,
                                  &alter_workflow,
                                  &drop_workflow,
                                  &create_job_template,
                                  &drop_job_template,
                                  &grant_workflow,
                                  &revoke_workflow,
                                  &start_workflow,
                                  &start_workflows,
                                  &set_output,
                                  &restart_run,
                                  &stop_run,
                                  &kill_run,
                                  &stop_workflow,
                                  &kill_workflow,
                                  &stop_step,
                                  &kill_step,
                                  &skip_step,
                                  &restart_step,
                                  &bypass_step,
                                  &pause_step,
                                  &resume_step,
                                  &set_breakpoint,
                                  &drop_breakpoint,
                                  &pause_workflow,
                                  &resume_workflow,
                                  &unblock_run,
                                  &unblock_workflow,
                                  &backfill,
                                  &preview_backfill,
                                  &pause_backfill,
                                  &resume_backfill,
                                  &cancel_backfill,
                                  &advance,
                                  &run_tree,
                                  &failed_steps,
                                  &explain_run,
                                  &workflow_dot,
                                  &workflow_mermaid,
                                  &run_dot,
                                  &run_mermaid,
                                  &run_gantt,
                                  &lineage_dot,
                                  &lineage_mermaid,
                                  &read_events,
                                  &read_workflow_events,
                                  &metrics,
                                  &grant_queue,
                                  &revoke_queue,
                                  &set_queue_owner,
                                  &queue_grants,
                                  &grant_role,
                                  &revoke_role,
                                  &role_kinds,
                                  &stat_queue,
                                  &quantile,
                                  &has_live_tasks,
                                  &reschedule,
                                  &delete_task,
                                  &set_priority,
                                  &resubmit,
                                  &resubmit_many,
                                  &dead_tasks,
                                  &rerun_plan,
                                  &count_tasks,
                                  &stat_reset,
                                  &backoff,
                                  &reset_expired,
                                  &purge,
                                  &maintain,
                                  &check,
                                  &yield_each,
                                  &heartbeat_each,
                                  &lease_jobs,
                                  &complete_and_lease_jobs};

} // namespace

std::vector<const statement *> all_statements() {
    std::vector<const statement *> all{std::begin(k_all), std::end(k_all)};
    all.insert(all.end(), {&sql::create_queue(), &sql::queue_settings()});
    return all;
}

} // namespace scylla::detail
