// Errors that a client can get. Each text exists once. Each error has the schema scylla, the table concerned and a
// constraint name, by which a client distinguishes it from the server's own.
#pragma once

#include "pg/prelude.h"

namespace scylla::error {

// 42704: there is no extension in this database.
[[noreturn]] void not_installed();
// 3F000, constraint "schema", table extension: its schema has another name now (null: there is none).
[[noreturn]] void schema_renamed(const char *now);
// 42P01, constraint "table", table extension: it has no table of this name.
[[noreturn]] void no_such_table(const char *table);
// 0A000, constraint "schema", table extension: its schema cannot be renamed.
[[noreturn]] void schema_is_fixed(const char *schema);
// 0A000, constraint "version", table extension: the library does not support the version of the objects in this
// database.
[[noreturn]] void other_version(const char *installed, bool older);

// 55000, constraint "shape", table extension: a table of the extension has been changed. problem: a sentence.
[[noreturn]] void other_shape(const char *table, const char *problem);
// 0A000, constraint "bypassed": a trigger, unique index and so on, on a table that is written directly.
[[noreturn]] void bypassed(const char *table);

// P0002, constraint "exists".
[[noreturn]] void no_such_task(const text *rn);
// P0002, constraint "provider": a task in depends_on does not exist, or has just been purged (null: its name is gone,
// too).
[[noreturn]] void no_such_provider(const text *provider, const text *rn, int64 element = 0);
// 22023, constraint "cycle". path: the names, each depending on the next.
[[noreturn]] void dependency_cycle(const char *path);
// P0002, constraint "exists".
[[noreturn]] void no_such_plan(const text *plan);
// 42710, constraint "unique".
[[noreturn]] void duplicate_plan(const text *plan);
// 55000, constraint "live": the plan has ended.
[[noreturn]] void plan_ended(const text *plan, const char *status);
// 55000, constraint "ended".
[[noreturn]] void plan_not_ended(const text *plan);
// 55000, constraint "failed": none of its tasks has to run again.
[[noreturn]] void nothing_to_rerun(const text *plan, bool only_failed);
// 55000, constraint "building": the plan has been opened already.
[[noreturn]] void plan_open(const text *plan);
// 23505, constraint "dedup": a live task of the queue has this deduplication key; or one that is completed keeps it.
[[noreturn]] void key_kept(const text *key, const text *queue, TimestampTz until);
[[noreturn]] void duplicate_key(const text *key, const text *queue);
// 42704, constraint "exists".
[[noreturn]] void no_such_queue(const text *queue, const char *similar = nullptr);
// A notice with the same text and fields.
void tell_no_such_queue(const text *queue, const char *similar, bool created_by_submit);
// A warning: the value was probably meant to be much longer.
void tell_short_retention(const char *setting, const Interval *value);
// 40001, constraint "settings", table queue: a bound has come into effect while the call worked without it.
[[noreturn]] void settings_changed(const text *queue);
// 23505, constraint "unique".
[[noreturn]] void duplicate_task(const text *rn);
// 42710, constraint "unique".
[[noreturn]] void duplicate_queue(const text *queue);

// 55000, constraint "paused", table queue: lease_task() on a queue that gives no tasks.
[[noreturn]] void queue_paused(const text *queue);
// 53400, constraint as the setting, table queue.
[[noreturn]] void limit_reached(const text *queue, const char *setting, int limit, const text *key = nullptr);
// 53400, constraint "rate", or "rate_per_key" with a key, table queue: lease_task().
[[noreturn]] void rate_reached(const text *queue, const text *key = nullptr);
// 2BP01, constraint "empty", table queue: drop_queue() without force.
[[noreturn]] void queue_not_empty(const text *queue);

// 55000, constraint "held": the worker does not hold the task (any more). given: the attempt that the worker named;
// nothing if that is not the reason.
[[noreturn]] void not_held(const text *rn, const text *worker, const char *status, const text *owner, int attempt,
                           std::optional<int> given);
// 55000, constraint "ready": lease_task() found the task in another state. reason: a sentence; null: none is known.
[[noreturn]] void not_ready(const text *rn, const char *status, const text *owner, int attempt, const char *reason);
// 55000, constraint "live": the task has ended.
[[noreturn]] void not_live(const text *rn, const char *status, const text *owner, int attempt);

// 55000, constraint "reschedulable": it is neither ready nor waiting for its time.
[[noreturn]] void not_reschedulable(const text *rn, const char *status, const text *owner, int attempt);
// 55000, constraint "unleased": it runs or has ended.
[[noreturn]] void not_unleased(const text *rn, const char *status, const text *owner, int attempt);
// 55000, constraint "ended".
[[noreturn]] void not_ended(const text *rn, const char *status, const text *owner, int attempt);
// 55000, constraint "resubmitted". newest: the last copy; null: it is gone, or the role may not see it.
[[noreturn]] void already_resubmitted(const text *rn, const text *newest);
// 55000, constraint "needed": a live task depends on it.
[[noreturn]] void task_needed(const text *rn);

// 22023, constraint "argument": invalid value for argument "name": value. rule is a full sentence for the detail.
// element is the 1-based place in an array argument, or 0.
[[noreturn]] void bad_argument(const char *name, const char *value, const char *rule, int64 element = 0);

// 0A000, constraint "encoding": expressions are UTF-8.
[[noreturn]] void not_utf8();
// Constraint "expression". what: the argument; line 0: the fault has no place.
struct ExpressionFault {
    int sqlstate;
    int line;
    int column;
    std::string_view message;
};
[[noreturn]] void bad_expression(const char *what, const ExpressionFault &fault);

// Values for a message, cut if they are long: a text in quotes, JSON as it is, any other value as its type shows it. A
// null pointer is a null.
const char *quote(const text *value);
const char *show(Jsonb *value);
// A value that is too large to be shown.
const char *outline(const Jsonb *value, int64 size);
const char *print(Datum value, Oid type);
// An array, by its size.
const char *array_of(int64 size);

// 54000, constraint "max_result_size": tasks to be listed.
[[noreturn]] void result_too_large(int64 tasks, int64 limit);

// 25001, constraint "transaction": a procedure that commits was called inside a transaction block.
[[noreturn]] void inside_transaction(const char *call);
// 08006: the client is gone.
[[noreturn]] void client_gone();

// 42710, constraint "unique", table callback.
[[noreturn]] void duplicate_callback(const text *token);
// P0002, constraint "exists", table callback.
[[noreturn]] void no_such_callback(const text *token, int64 element = 0);
// 42704, constraint "exists", table signal: the name was never used.
[[noreturn]] void no_such_signal(const text *name);
// P0002, constraint "sent", table signal: it was never sent, or has been purged.
[[noreturn]] void no_such_sent_signal(const text *name, int64 seq);
// P0002, constraint "sent", table signal: of a set of a trigger.
[[noreturn]] void signal_purged(int64 seq);
// 42710, constraint "unique", table trigger.
[[noreturn]] void duplicate_trigger(const text *name);
// 42704, constraint "exists", table trigger.
[[noreturn]] void no_such_trigger(const text *name);
// 42704, constraint "owner", table trigger: the role that created it is gone.
[[noreturn]] void no_trigger_role(const char *role);
// 42501, constraint "privilege", table signal.
[[noreturn]] void no_signal_privilege(const text *name, const char *role, const char *privilege);

// 42704, constraint "exists", table pool.
[[noreturn]] void no_such_pool(const text *name);
// 42710, constraint "unique", table pool.
[[noreturn]] void duplicate_pool(const text *name);
// 42501, constraint "privilege", table pool.
[[noreturn]] void no_pool_privilege(const text *name, const char *role, const char *privilege);
// 2BP01, constraint "needed", table pool: a live task needs it.
[[noreturn]] void pool_in_use(const text *name);

// 42704, constraint "exists", table workflow.
[[noreturn]] void no_such_workflow(const text *id);
// 42704, constraint "version", table workflow.
[[noreturn]] void no_such_workflow_version(const text *id, const char *version);
// 55000, constraint "active", table workflow.
[[noreturn]] void workflow_inactive(const text *id);
// 42704, constraint "tag", table workflow.
[[noreturn]] void no_such_workflow_tag(const text *id, const char *tag);
// 55000, constraint "parallel", table workflow.
[[noreturn]] void workflow_not_parallel(const text *id);
// 42501, constraint "privilege", table workflow.
[[noreturn]] void no_workflow_privilege(const text *id, const char *role, const char *privilege);
// 22023, constraint "definition", table workflow. where: in the document; empty: the document as a whole. count: of
// all problems.
[[noreturn]] void too_slow_for_now();
[[noreturn]] void bad_params(const char *workflow, const char *what);
[[noreturn]] void subworkflows_too_deep(int most);
[[noreturn]] void workflow_runs(const text *workflow, int64 runs);
[[noreturn]] void no_such_instance(const text *workflow, int64 instance);
[[noreturn]] void instance_ended(const text *workflow, int64 instance);
// P0002, constraint "exists", table backfill.
[[noreturn]] void no_such_backfill(int64 id);
// 55000, constraint "ended", table backfill.
[[noreturn]] void backfill_ended(int64 id);
// P0002, constraints "step" and "iteration". place: the step as a message names it.
[[noreturn]] void no_such_step(const text *workflow, int32 version, const text *step);
[[noreturn]] void no_such_breakpoint(const text *workflow, const text *step);
[[noreturn]] void no_such_iteration(const char *place);
// 55000, constraints "created", "status" and "pending". what: "stopped".
[[noreturn]] void step_not_created(const char *place);
[[noreturn]] void step_refuses(const char *place, std::string_view status, const char *what);
[[noreturn]] void action_pending(const char *place);
[[noreturn]] void instance_runs(const text *workflow, int64 instance);
[[noreturn]] void instance_complete(const text *workflow, int64 instance);
[[noreturn]] void step_not_a_start(const text *workflow, int64 instance, const text *step);
[[noreturn]] void reserved_plan(const text *name);
[[noreturn]] void instance_not_failed(const text *workflow, int64 instance);
// 55000, constraint "statement", table workflow.
[[noreturn]] void no_statement(const text *rn);
// 42501, constraint "privilege", table workflow.
[[noreturn]] void statement_not_allowed(const text *workflow, const text *step, const char *role, const char *user);
// Constraint "statement", table workflow.
[[noreturn]] void statement_refused(const text *step, int code, const char *what);
// 21000 and 22004, constraint "output", table workflow.
[[noreturn]] void statement_rows(const text *step, const char *column, int64 rows);
[[noreturn]] void statement_null(const text *step, const char *column);
[[noreturn]] void strategy_with_runs(const text *workflow, std::string_view rule, int64 runs, const char *what);
[[noreturn]] void plan_of_run(const text *name);
[[noreturn]] void bad_definition(std::string_view where, std::string_view what, int count);
// The same for a change of properties.
[[noreturn]] void bad_properties(std::string_view where, std::string_view what, int count);

// 22023, constraint "definition", table job_template; as for a workflow.
[[noreturn]] void bad_template(std::string_view where, std::string_view what, int count);
// The same, of a template that inherits from the one that is made.
[[noreturn]] void bad_heir(const text *job_type, const text *version, std::string_view where, std::string_view what);
// 42704, constraint "exists", table job_template.
[[noreturn]] void no_such_template(const text *job_type, const text *version);
// 42501, constraint "owner", table job_template.
[[noreturn]] void no_template_privilege(const text *job_type, const char *role);
// 2BP01, constraint "inherited", table job_template.
[[noreturn]] void template_inherited(const text *job_type, const text *version, const text *heir,
                                     const text *heir_version);
[[noreturn]] void template_used(const text *job_type, const text *version, const text *workflow);

// 42501, constraint "privilege": the role may not do that with the queue.
[[noreturn]] void no_privilege(const text *queue, const char *role, const char *privilege);
// 42501, constraint "owner".
[[noreturn]] void not_owner(const text *queue);
// 55000, constraint "handler", table queue: scylla.work() on a queue without one.
[[noreturn]] void no_handler(const text *queue);
// 42804, constraint "handler", table queue: the function has been replaced by another kind.
[[noreturn]] void other_handler(const text *handler);
// A warning: before 17 the server runs no worker as a role without LOGIN.
void warn_of_nologin(const text *queue, const char *role);
// A warning: server workers run schedules of jobs, and there is none as its role. off: there is none at all.
void warn_of_no_workers(const text *schedule, bool off);
[[noreturn]] void job_needs_worker();
// 42704, constraint "exists", table schedule.
[[noreturn]] void no_such_schedule(const text *name);
// 42501, constraint "owner", table schedule.
[[noreturn]] void not_schedule_owner(const text *name);
// 55000, constraint "workflow", table schedule or trigger.
[[noreturn]] void schedule_of_workflow(const text *name);
[[noreturn]] void trigger_of_workflow(const text *name);
// 42704, constraint "owner", table schedule: the role that made it is gone.
[[noreturn]] void no_schedule_role(const char *role);
// 55000, constraint "pg_cron", table schedule: nothing would tick.
enum class NoTicker : std::uint8_t { nothing, not_created };
[[noreturn]] void no_ticker(NoTicker why);
// 0A000, constraint "pg_cron", table schedule.
[[noreturn]] void pg_cron_too_old(const char *version);
// 42704, constraint "exists", table job.
[[noreturn]] void no_such_job(const text *job);
// 42501, constraint "owner", table job.
[[noreturn]] void not_job_owner(const text *job);
// 42704, constraint "owner", table job: the role that defined it is gone, and select_work runs as that role.
[[noreturn]] void no_job_role(const text *job, const char *role);
// 57014, constraint "select_work", table job: the rehearsal of schedule_job has taken longer than
// scylla.handler_timeout.
[[noreturn]] void select_work_too_slow(const text *job);
// 2BP01, constraint "needed", table job.
[[noreturn]] void job_needed(const text *job, const text *by);
// 22023, constraint "cycle", table job. path: the names, each needing the next.
[[noreturn]] void job_cycle(const char *path);
// 55000, constraint "live", table job: a job without allow_multiple.
[[noreturn]] void job_running(const text *job, const text *plan);
// 54000, constraint "max_tasks", table job.
[[noreturn]] void job_too_large(const text *job, const char *what, int64 limit);
// 42804, constraint "select_work", table job: the function has been dropped or replaced by another kind.
[[noreturn]] void other_select_work(const text *job, const char *function);

// 42501, constraint "internal": only the owner of the extension may call it.
[[noreturn]] void internal_function(const char *call);

// 42501, constraint "privilege", table extension: the role of a schedule or job cannot use the schema.
[[noreturn]] void no_usage(const char *role);

// 42501, constraint "owner", table extension: it is for the owner of the extension.
[[noreturn]] void not_extension_owner(const char *owner);

// 42704, constraint "role".
[[noreturn]] void no_such_role(const text *role, const char *table);

} // namespace scylla::error
