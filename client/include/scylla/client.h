/// @file client.h
/// Every call of the SQL contract, typed.
#ifndef SCYLLA_CLIENT_H
#define SCYLLA_CLIENT_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pqxx/pqxx>

#include <scylla/error.h>
#include <scylla/pool.h>
#include <scylla/types.h>

namespace scylla {

namespace detail {
class executor;
class link;
} // namespace detail

/// The scheduler, over a transaction or connection of the application, or over a pool.
///
/// @code
/// pqxx::work tx{connection};
/// tx.exec("insert into orders …");
/// scylla::client{tx}.submit("mail", R"({"to": "ada@example.org"})");
/// tx.commit();                           // the order and the task, or neither
/// @endcode
///
/// A client is cheap to make and holds no state of its own. It must not outlive its pool, connection or transaction,
/// and is as thread-safe as that: with a pool it may be used by many threads at once, otherwise by one at a time.
///
/// @throw scylla::error every call throws a class of error.h; each call documents the errors of its arguments.
class client {
public:
    /// Calls become part of this transaction and take effect when the application commits it. A pqxx::nontransaction
    /// makes each call a transaction of its own.
    explicit client(pqxx::transaction_base &transaction);
    /// Each call is a transaction of its own, committed when it returns. There must be no other transaction on the
    /// connection.
    explicit client(pqxx::connection &connection);
    /// The same, on a connection of the pool. The pool must outlive the client.
    explicit client(pool &pool);
    ~client();
    client(client &&) noexcept;
    client &operator=(client &&) noexcept;

    /// @name Submitting
    /// @{

    /// Submits a task. The queue is made on first use if the server allows it.
    /// @throw duplicate the rn is taken and `existing` is on_duplicate::error; with on_duplicate::ignore the existing
    /// task is returned, unchanged
    task submit(const queue_name &queue, const json &spec, const submit_options &options = {},
                on_duplicate existing = on_duplicate::error);

    /// Submits tasks, perhaps to several queues, in one statement: all or none.
    /// @return one element per task, in order: its rn, and whether it was inserted
    /// @throw duplicate an rn is taken and `existing` is on_duplicate::error
    std::vector<submitted> submit_many(const std::vector<new_task> &tasks,
                                       on_duplicate existing = on_duplicate::ignore);

    /// The fastest way to submit many tasks to one queue: all or none.
    /// @param rns as many names as specs, or none at all: then the server makes them
    /// @return how many
    /// @throw duplicate an rn is taken
    std::int64_t submit_bulk(const queue_name &queue, const std::vector<json> &specs,
                             const std::vector<resource_name> &rns = {}, int priority = 0);
    /// @}

    /// @name Plans
    /// @{

    /// Creates a plan, to which submit() can add tasks; none of them starts before open_plan().
    /// @param name none: the server makes a UUIDv7 @param spec any description
    /// @throw duplicate the name is taken
    plan_name create_plan(const std::optional<plan_name> &name = std::nullopt,
                          const std::optional<json> &spec = std::nullopt);
    /// Lets its tasks start. Tasks may still be added. @throw not_found @throw wrong_state it is open already, or has
    /// ended
    void open_plan(const plan_name &plan);
    /// Cancels it, and every task of it that has not ended. @return how many tasks @throw not_found @throw wrong_state
    /// it has ended
    std::int64_t cancel_plan(const plan_name &plan);
    /// Runs it again in a new plan: copies of its tasks, or, if a job has made it, another run of the job. only_failed:
    /// only the tasks that were not completed, and those that depended on them. @return the name of the new plan, which
    /// is open @throw not_found @throw wrong_state it has not ended, or no task has to run again @throw duplicate the
    /// new name is taken
    plan_name rerun_plan(const plan_name &plan, bool only_failed = false,
                         const std::optional<plan_name> &new_plan = std::nullopt);
    /// Whether it is finished, and neither failed nor cancelled. @throw not_found
    bool plan_completed(const plan_name &plan);
    /// Gives it to another role. @throw not_found no such plan or role
    void set_plan_owner(const plan_name &plan, const std::string &owner);
    /// Waits until it is finished, whatever its outcome. Blocks; needs a connection or pool, like wait().
    /// @return false after the timeout @throw not_found
    bool wait_plan(const plan_name &plan, duration timeout = std::chrono::seconds{30});
    /// Reads all its tasks. @throw not_found no such plan, or none of the current user's
    plan_info get_plan(const plan_name &plan);
    /// Its tasks and what they depend on, as a graph for Graphviz. @throw not_found
    /// @param max_tasks of a plan with more than that groups of tasks are shown
    std::string plan_dot(const plan_name &plan, int max_tasks = 200);
    /// The same for Mermaid.
    std::string plan_mermaid(const plan_name &plan, int max_tasks = 200);
    /// Which worker ran which task when. @throw not_found
    std::vector<plan_run> plan_timeline(const plan_name &plan);
    /// @}

    /// @name Conditions
    /// What tasks wait for with submit_options::wait_for.
    /// @{

    /// Creates a callback. @param token none: the server makes one of 128 random bits @param expires none: never
    /// @return the token @throw duplicate the token is taken
    std::string create_callback(const std::optional<std::string> &token = std::nullopt,
                                std::optional<duration> expires = std::nullopt);
    /// Ends a callback; tasks that wait for it get the value. @return false if it had ended before
    /// @throw not_found there is no such callback, or it has expired
    bool resolve_callback(const std::string &token, const std::optional<json> &value = std::nullopt);
    /// Ends a callback as failed. @return false if it had ended before
    /// @throw not_found there is no such callback, or it has expired
    bool reject_callback(const std::string &token, const task_error &error);
    /// Sends a signal. @param request_id makes the call idempotent @return its number @throw denied
    std::int64_t send_signal(const std::string &name, const json &params = "{}",
                             const std::optional<json> &payload = std::nullopt,
                             const std::optional<std::string> &request_id = std::nullopt);
    /// @throw not_found the name has not been used, or no such role @throw denied
    void grant_signal(const std::string &name, const std::string &role, signal_privilege privilege);
    void revoke_signal(const std::string &name, const std::string &role, signal_privilege privilege);
    void set_signal_owner(const std::string &name, const std::string &owner);
    /// For every set of signals that match and join, carries out the action once (docs/conditions.md).
    /// @param condition a jsonpath predicate over the array of the signals
    /// @param grace sets whose last signal is older are used up without the action @throw duplicate @throw denied
    void create_trigger(const std::string &name, const json &signals, const json &action,
                        const std::optional<std::string> &condition = std::nullopt,
                        std::optional<duration> grace = std::nullopt);
    /// @throw not_found no such trigger of the current user's; so do the others
    void drop_trigger(const std::string &name);
    void pause_trigger(const std::string &name);
    void resume_trigger(const std::string &name);
    /// Removes signals that wait for their partners, and sets for which the action has failed. @param seq none: all
    /// @return how many
    std::int64_t clear_trigger(const std::string &name, std::optional<std::int64_t> seq = std::nullopt);
    /// @}

    /// @name Pools
    /// What tasks need with submit_options::needs. All throw denied without the privilege, and not_found.
    /// @{

    /// @param capacity amounts by resource: {"memory_gb": 2000} @param settings max_bypass, metrics_max_age
    /// @throw duplicate
    void create_pool(const pool_name &pool, const json &capacity, pool_policy policy = pool_policy::backfill,
                     const json &settings = "{}");
    /// @param changes capacity, policy, max_bypass, metrics_max_age
    void alter_pool(const pool_name &pool, const json &changes);
    /// @throw wrong_state tasks need it that have not ended
    void drop_pool(const pool_name &pool);
    /// No task is placed until resume_pool(). Running tasks continue.
    void drain_pool(const pool_name &pool);
    void resume_pool(const pool_name &pool);
    /// Reports the total usage, by any user. @param at when it was measured; none: now
    void report_usage(const pool_name &pool, const json &used, std::optional<time_point> at = std::nullopt);
    /// @throw not_found no such pool or role
    void grant_pool(const pool_name &pool, const std::string &role, pool_privilege privilege);
    void revoke_pool(const pool_name &pool, const std::string &role, pool_privilege privilege);
    /// Places the tasks that fit, as the monitor does. @param pool none: all that the caller may place in
    std::vector<placed_task> place(const std::optional<pool_name> &pool = std::nullopt);
    /// The first tasks in line, of those that the current user may view. @param pool none: pool by pool
    /// @param max_tasks 1 to 100,000
    std::vector<pool_waiter> list_pool_queue(const std::optional<pool_name> &pool = std::nullopt, int max_tasks = 100);
    /// The pools on which the current user has a privilege.
    std::vector<pool_info> pools();
    /// @}

    /// @name Job types
    /// What must be fresh before something may run. All throw not_found, and denied without the privilege.
    /// @{

    /// @param settings chunk_size, select_work, ids, max_wait, args, allow_multiple, priority, max_attempts, retry,
    /// sources, sinks
    /// @param needs an array of {"job": …, "max_lag": …, "args": …, "unique": …, "allow_missing": …}
    void define_job(const job_name &job, const queue_name &queue, const json &settings = "{}",
                    const json &needs = "[]");
    /// @throw wrong_state another job needs it
    void drop_job(const job_name &job);
    /// Lets a role, and its members, run a job with the rights that its owner has on queues. @throw not_found @throw
    /// denied not the owner
    void grant_job(const job_name &job, const std::string &role);
    void revoke_job(const job_name &job, const std::string &role);
    /// Runs a job, and before it the jobs that it needs and that are not fresh. @param ids none: those that select_work
    /// finds
    /// @param options prune, strict_order, variant, wait, request_id @return the plan @throw wrong_state it is running
    plan_name run_job(const job_name &job, const std::optional<id_ranges> &ids = std::nullopt, const json &args = "{}",
                      const json &options = "{}");
    /// What run_job() would run, and what it would leave out.
    std::vector<job_step> explain_job(const job_name &job, const std::optional<id_ranges> &ids = std::nullopt,
                                      const json &args = "{}", const json &options = "{}");
    /// @param finished none: now
    void mark_fresh(const job_name &job, const id_ranges &ids, std::optional<time_point> finished = std::nullopt,
                    const std::string &variant = {});
    /// @param ids none: all @param variant none: all; empty: that of runs without one
    /// @return how many successes that changes
    std::int64_t forget_freshness(const job_name &job, const std::optional<id_ranges> &ids = std::nullopt,
                                  const std::optional<std::string> &variant = std::nullopt);
    /// The job and all that it needs, with ages, as a graph for Graphviz.
    std::string job_dot(const job_name &job);
    /// The same for Mermaid.
    std::string job_mermaid(const job_name &job);
    /// @}

    /// @name Working
    /// For applications with a worker loop of their own. scylla::worker does all of this.
    /// @{

    /// Leases up to `max_tasks` (1 to 100,000) ready tasks: highest priority first, then oldest. Does not wait.
    /// @param timeout how long the leases last unless a heartbeat extends them; none: the queue's default
    /// @return nothing when there is nothing to do
    std::vector<task> lease(const queue_name &queue, const worker_name &worker, int max_tasks = 1,
                            std::optional<duration> timeout = std::nullopt);

    /// Leases one given task. @throw not_found @throw wrong_state it is not ready
    task lease_task(const resource_name &rn, const worker_name &worker, std::optional<duration> timeout = std::nullopt);

    /// Extends a lease, and records progress. @throw not_found @throw lease_lost
    task heartbeat(const resource_name &rn, const worker_name &worker, const heartbeat_options &options = {});

    /// Extends many leases. A lost one is no error. @return one element per task, in order
    std::vector<heartbeat_status> heartbeat_many(const std::vector<held_task> &tasks, const worker_name &worker,
                                                 std::optional<duration> timeout = std::nullopt);

    /// Ends a task as completed. @throw not_found @throw lease_lost
    task complete(const resource_name &rn, const worker_name &worker, const std::optional<json> &result = std::nullopt,
                  const std::optional<json> &metrics = std::nullopt, std::optional<int> attempt = std::nullopt);

    /// Completes many tasks. A lost lease is no error. @return one element per task, in order
    std::vector<completion_status> complete_many(const std::vector<completion> &tasks, const worker_name &worker);

    /// Completes tasks, of any queues, and leases the next ones of one queue, in one round trip: all or nothing.
    /// @throw lease_lost one of them is not held any more; then nothing was done
    std::vector<task> complete_and_lease(const std::vector<completion> &tasks, const worker_name &worker,
                                         const queue_name &queue, int max_tasks = 1,
                                         std::optional<duration> timeout = std::nullopt);

    /// Ends a task as aborted: it is not retried. @throw not_found @throw lease_lost
    task abort(const resource_name &rn, const worker_name &worker, const task_error &error,
               std::optional<int> attempt = std::nullopt);

    /// Reports an error that may be temporary: the task is retried, or aborted when its attempts are used up.
    /// @param retry_after 0 to 365 days; none: as the server decides
    /// @throw not_found @throw lease_lost
    task fail(const resource_name &rn, const worker_name &worker, const task_error &error,
              std::optional<duration> retry_after = std::nullopt, std::optional<int> attempt = std::nullopt);

    /// Gives a task back: it is ready again at once. @throw not_found @throw lease_lost
    task yield(const resource_name &rn, const worker_name &worker, std::optional<int> attempt = std::nullopt);

    /// The answer of a task that checks for something which does not exist yet: it is offered again. Not a failure.
    /// @param retry_after 0 to 365 days; none: as the server decides
    /// @throw not_found @throw lease_lost
    task not_yet(const resource_name &rn, const worker_name &worker, std::optional<duration> retry_after = std::nullopt,
                 std::optional<int> attempt = std::nullopt);

    /// Releases the lease until conditions have ended; then the task is ready again, with their values as its args.
    /// @param wait_for as submit_options::wait_for
    /// @param state for the next lease of the task; none: it keeps its state
    /// @throw not_found also for something that it would wait for @throw lease_lost @throw invalid_argument
    task defer(const resource_name &rn, const worker_name &worker, const json &wait_for,
               const std::optional<json> &state = std::nullopt, std::optional<int> attempt = std::nullopt);

    /// How long to pause after `count` pauses in a row: `initial`, multiplied by `factor` for each of them, up to
    /// `max`. The server's own rule, for workers that poll something.
    duration backoff(int count, duration initial = std::chrono::milliseconds{100}, double factor = 1.5,
                     duration max = std::chrono::seconds{10});

    /// A worker name that is unique.
    worker_name register_worker();

    /// Returns true as soon as the queue may have a task to lease, false after the timeout. Blocks; needs a connection
    /// or pool, not a transaction (a nontransaction is accepted).
    bool wait(const queue_name &queue, duration timeout = std::chrono::seconds{30});

    /// The same for 1 to 64 queues. @return the first of them that may have a task to lease; none after the timeout
    std::optional<queue_name> wait_any(const std::vector<queue_name> &queues,
                                       duration timeout = std::chrono::seconds{30});

    /// Runs tasks of a queue by its handler, inside the server, as the user of the connection. Waits up to `timeout`
    /// for each further task. Blocks; needs a connection or pool, not a transaction. @return how many it has run
    std::int64_t work(const queue_name &queue, std::optional<int> max_tasks = std::nullopt,
                      duration timeout = duration::zero());
    /// @}

    /// @name Looking and cancelling
    /// @{

    /// Ends a waiting, ready or running task as cancelled. Its worker learns of it at its next heartbeat.
    /// @throw not_found @throw wrong_state it has already ended
    task cancel(const resource_name &rn);

    /// A task that is ready, or waits for its time, becomes ready at this time; none: now. @throw not_found
    task reschedule(const resource_name &rn, std::optional<time_point> not_before = std::nullopt);
    /// Another priority for a task that waits or is ready. @throw not_found @throw wrong_state it runs or has ended
    task set_priority(const resource_name &rn, int priority);
    /// Removes a task that has ended.
    void remove(const resource_name &rn);

    /// Submits a copy of a task that has ended. @param new_rn none: the server makes a name
    /// @throw not_found @throw wrong_state it has not ended, or was resubmitted already
    task resubmit(const resource_name &rn, const std::optional<resource_name> &new_rn = std::nullopt);
    /// The same for the tasks that the filter finds, oldest first: all or none. @param preview only return which
    std::vector<resubmission> resubmit_many(const ended_filter &filter, bool preview = false);
    /// The tasks that were aborted and not resubmitted, newest first. @param code of their last error
    std::vector<task> dead(const std::optional<queue_name> &queue = std::nullopt,
                           const std::optional<std::string> &code = std::nullopt, int max_tasks = 100);
    task get(const resource_name &rn);

    /// Why a task does not run: one element for each thing that it waits for; none if it runs or has ended.
    /// @throw not_found
    std::vector<waiting_reason> explain_waiting(const resource_name &rn);

    /// @return ready tasks in the order of leasing if the filter says `ready`, otherwise the newest first
    std::vector<task> list(const list_filter &filter = {});
    /// A portion of the tasks that match: ready ones, where the filter says `ready`, by priority and age, otherwise
    /// the newest first.
    found_tasks find(const task_filter &filter = {}, const portion &part = {});
    /// Cancels a portion of the live tasks that match. @param preview only return which
    bulk_result cancel_many(const task_filter &filter, const portion &part = {}, bool preview = false);
    /// Takes running tasks from their workers: they are ready again. @param preview only return which
    bulk_result yield_many(const task_filter &filter, const portion &part = {}, bool preview = false);
    /// Submits copies of a portion of the ended tasks that match, oldest first: all or none. Without a status: of
    /// aborted ones. @param preview only return which
    resubmitted_tasks resubmit_matching(const task_filter &filter, const portion &part = {}, bool preview = false);
    /// @}

    /// @name Queues and rights
    /// @{

    /// @throw duplicate the queue exists
    void create_queue(const queue_name &queue, const queue_options &options = {});

    /// @throw not_found no such queue; and so do the next three
    void alter_queue(const queue_name &queue, const queue_changes &changes);

    /// From now on no task of the queue can be leased. Running tasks continue.
    void pause_queue(const queue_name &queue);
    void resume_queue(const queue_name &queue);

    /// Removes a queue. @param force its tasks, too, whatever their state
    /// @throw wrong_state it has tasks, and `force` is false
    void drop_queue(const queue_name &queue, bool force = false);

    /// @return the queues whose tasks the current user may see, by name
    std::vector<queue_info> queues();

    /// Gives a role, and its members, a privilege on a queue. @param role exactly as in pg_roles, or `public`
    /// @throw not_found no such queue or role
    void grant_queue(const queue_name &queue, const std::string &role, queue_privilege privilege);
    /// Revokes it; the role need not have it. @throw not_found no such queue
    void revoke_queue(const queue_name &queue, const std::string &role, queue_privilege privilege);
    /// @throw not_found no such queue or role
    void set_queue_owner(const queue_name &queue, const std::string &owner);
    /// @return who has which privilege, on the queues whose tasks the current user may see
    std::vector<queue_grant> grants();

    /// Gives a role all functions and views that a kind of role needs. @param kind like `worker`; docs/roles.md has
    /// them
    /// @throw invalid_argument no such kind
    /// @throw not_found no such role
    /// @throw denied the current user is not the owner of the extension
    void grant_role(const std::string &kind, const std::string &role);
    /// Revokes them, also what another kind of the role has: grant that one again. Errors as for grant_role().
    void revoke_role(const std::string &kind, const std::string &role);
    /// @return what each kind gets
    std::vector<role_kind_grant> role_kinds();
    /// @}

    /// @name Recurring tasks
    /// @{

    /// Submits a task again and again. Replaces the schedule of that name.
    /// @param cron five fields as in pg_cron, a name like `@daily`, or `30 seconds`
    /// @return its first planned time; none: never
    /// @throw wrong_state nothing would run it: there is no monitor, and no pg_cron @throw denied the name belongs to
    /// another role
    std::optional<time_point> schedule(const schedule_name &name, const std::string &cron, const queue_name &queue,
                                       const json &spec, const schedule_options &options = {});
    /// The same for a plan: tasks that depend on each other, under their rns, or numbers, within it.
    std::optional<time_point> schedule_plan(const schedule_name &name, const std::string &cron,
                                            const std::vector<new_task> &tasks, const schedule_options &options = {});
    /// The same for a run of a job. @param ids none: those that select_work finds, each time
    std::optional<time_point> schedule_job(const schedule_name &name, const std::string &cron, const job_name &job,
                                           const std::optional<id_ranges> &ids = std::nullopt, const json &args = "{}",
                                           const schedule_options &options = {});
    /// Its tasks stay. @throw not_found
    void unschedule(const schedule_name &name);
    /// @return by name
    std::vector<schedule_info> schedules();
    /// Submits the tasks that are due, as the monitor or pg_cron does. @return how many tasks were submitted
    std::int64_t run_schedules();
    /// Lets the schedules of the current user run in this database, which was restored from a dump. @return how many
    /// were not armed
    std::int64_t arm_schedules();
    /// The next planned time after a moment (none: now). @return none if never
    std::optional<time_point> cron_next(const std::string &cron, std::optional<time_point> after = std::nullopt,
                                        const std::string &timezone = "UTC");
    /// @}

    /// @name Expressions
    /// @{
    /// The value of an expression, as JSON. @param params a JSON object
    std::string sel_eval(const std::string &expression, const json &params = "{}");
    /// A text in which $name and ${name} are replaced by parameters. @param params a JSON object
    std::string interpolate(const std::string &text, const json &params = "{}");
    /// @}

    /// @name Workflows
    /// @{
    /// The problems of a definition of a workflow; empty if it is valid.
    std::vector<workflow_problem> validate_workflow(const json &definition);
    /// Creates a workflow, or a new version of one. @param activate whether that version is active from now on @return
    /// its number @throw invalid_argument the definition has a problem @throw denied
    int create_workflow(const json &definition, bool activate = true);
    /// Makes a version the active one. @param version none: the latest @throw not_found @throw denied
    void activate_workflow(const workflow_name &workflow, std::optional<int> version = std::nullopt);
    /// @throw not_found @throw denied
    void deactivate_workflow(const workflow_name &workflow);
    /// Changes properties of a workflow. @param changes properties, reset_run_strategy_rule,
    /// reset_workflow_concurrency, reset_step_concurrency, add_tag, delete_tag @throw not_found @throw invalid_argument
    /// @throw wrong_state @throw denied
    void alter_workflow(const workflow_name &workflow, const json &changes);
    /// Removes a workflow with its versions. @throw not_found @throw denied
    void drop_workflow(const workflow_name &workflow);
    /// Creates or replaces a version of a job template. @throw invalid_argument the definition has a problem @throw
    /// denied the job type belongs to another role
    void create_job_template(const json &definition);
    /// Removes a version of a job template. @throw not_found @throw denied @throw error others inherit from it
    void drop_job_template(const std::string &job_type, const std::string &version);
    /// @throw not_found @throw denied
    void grant_workflow(const workflow_name &workflow, const std::string &role, workflow_privilege privilege);
    void revoke_workflow(const workflow_name &workflow, const std::string &role, workflow_privilege privilege);
    /// Starts a new instance of a workflow. @throw not_found @throw denied @throw invalid_argument parameters that
    /// cannot be evaluated @throw wrong_state no version is active
    started_run start_workflow(const workflow_name &workflow, const start_options &options = {});
    /// Starts many instances, all or none. @return the result of each, in their order @throw as start_workflow()
    std::vector<started_run> start_workflows(const std::vector<start_request> &requests);
    /// Puts out parameters and artifacts of a step before its task has ended. @throw not_found @throw not_held @throw
    /// invalid_argument the task does not run or belongs to no step, or the step has no such parameter
    void set_output(const resource_name &rn, const step_output &output);
    /// Runs an instance again whose last run has ended. If a step of another run has started it and waits for it, that
    /// run runs again, too: the result is the topmost run above it that had ended, or the nearest live one. @throw
    /// not_found @throw denied @throw invalid_argument @throw wrong_state it has not ended, all its steps are complete,
    /// a step before the named one has to run again, or the step above cannot be restarted
    started_run restart_run(const workflow_name &workflow, std::int64_t instance, const restart_options &options = {});
    /// Ends the last run of an instance as STOPPED, or as FAILED. Returns at once. @throw not_found @throw denied
    /// @throw wrong_state it has ended
    void stop_run(const workflow_name &workflow, std::int64_t instance);
    void kill_run(const workflow_name &workflow, std::int64_t instance);
    /// The same for all live runs of a workflow. @return how many there are @throw not_found @throw denied
    std::int64_t stop_workflow(const workflow_name &workflow);
    std::int64_t kill_workflow(const workflow_name &workflow);
    /// Ends a step of the last run of an instance as STOPPED, FATALLY_FAILED or SKIPPED. Returns at once. @param
    /// iterations of the loops that it is in, the outer one first @return the id of the action in the view
    /// scylla.workflow_action; nothing: the step has that status already @throw not_found @throw denied @throw
    /// wrong_state the run or the step has ended, the step has not been created, or another action is pending
    std::optional<std::int64_t> stop_step(const workflow_name &workflow, std::int64_t instance, const std::string &step,
                                          const std::vector<std::int64_t> &iterations = {});
    std::optional<std::int64_t> kill_step(const workflow_name &workflow, std::int64_t instance, const std::string &step,
                                          const std::vector<std::int64_t> &iterations = {});
    std::optional<std::int64_t> skip_step(const workflow_name &workflow, std::int64_t instance, const std::string &step,
                                          const std::vector<std::int64_t> &iterations = {});
    /// Gives another attempt to a step that has ended: in the run, or, if that has ended, in a new run that begins with
    /// the step, as by restart_run(). @param iterations as above @param alone as in restart_options @return the id of
    /// the action @throw not_found @throw denied @throw wrong_state the step has not ended, or is complete in a live
    /// run
    std::optional<std::int64_t> restart_step(const workflow_name &workflow, std::int64_t instance,
                                             const std::string &step, const std::vector<std::int64_t> &iterations = {},
                                             bool alone = false);
    /// Lets a step that waits for signals continue without them. @param iterations as above @return the id of the
    /// action @throw not_found @throw denied @throw wrong_state the step does not wait for signals, or another action
    /// is pending
    std::optional<std::int64_t> bypass_step(const workflow_name &workflow, std::int64_t instance,
                                            const std::string &step, const std::vector<std::int64_t> &iterations = {});
    /// Pauses the next attempt of a step of the last run of an instance before it begins. @param iterations as above
    /// @throw not_found @throw denied @throw wrong_state the run has ended, or the step has begun or ended
    void pause_step(const workflow_name &workflow, std::int64_t instance, const std::string &step,
                    const std::vector<std::int64_t> &iterations = {});
    /// Lets a PAUSED step continue. @return the id of the action; nothing: it was not PAUSED yet, and pause_step() is
    /// undone @throw not_found @throw denied @throw wrong_state it is not PAUSED, the run has ended, or another action
    /// is pending
    std::optional<std::int64_t> resume_step(const workflow_name &workflow, std::int64_t instance,
                                            const std::string &step, const std::vector<std::int64_t> &iterations = {});
    /// Pauses each attempt of a step before it begins, in the runs that @p at names. @throw not_found @throw denied
    /// @throw invalid_argument
    void set_breakpoint(const workflow_name &workflow, const std::string &step, const breakpoint_place &at = {});
    /// Removes the breakpoint with exactly this place. @param resume whether all steps continue that it may have
    /// stopped @throw not_found @throw denied @throw invalid_argument
    void drop_breakpoint(const workflow_name &workflow, const std::string &step, const breakpoint_place &at = {},
                         bool resume = false);
    /// No run or step of a workflow begins until it is resumed; running steps continue. @throw not_found @throw denied
    void pause_workflow(const workflow_name &workflow);
    void resume_workflow(const workflow_name &workflow);
    /// Lets STRICT_SEQUENTIAL start others although the last run of an instance has failed. @throw not_found @throw
    /// denied @throw wrong_state it has not failed
    void unblock_run(const workflow_name &workflow, std::int64_t instance);
    /// The same for all runs of a workflow. @return how many blocked others @throw not_found @throw denied
    std::int64_t unblock_workflow(const workflow_name &workflow);
    /// Starts a workflow once for each item. @param items an array of objects, or an object of lists and ranges: as
    /// for scylla.backfill() @return the number of the backfill @throw not_found @throw denied @throw wrong_state no
    /// version is active @throw invalid_argument
    std::int64_t backfill(const workflow_name &workflow, const json &items, const backfill_options &options = {});
    /// What backfill() would do. @throw as backfill()
    std::vector<backfill_item> preview_backfill(const workflow_name &workflow, const json &items,
                                                const backfill_options &options = {});
    /// Starts no more items until it is resumed. @throw not_found @throw denied @throw wrong_state it has ended
    void pause_backfill(std::int64_t backfill);
    void resume_backfill(std::int64_t backfill);
    /// Ends a backfill: no more items are started. @param stop_runs whether its live runs are stopped @return how many
    /// items were not started @throw as pause_backfill()
    std::int64_t cancel_backfill(std::int64_t backfill, bool stop_runs = false);
    /// An instance as a tree. @param max_iterations larger loops are shown by numbers of iterations @param failed_first
    /// failed steps before others @throw not_found @throw denied @throw invalid_argument
    std::vector<run_node> run_tree(const workflow_name &workflow, std::int64_t instance, int max_iterations = 10,
                                   bool failed_first = false);
    /// The steps that have made an instance fail, or will, in the order of their failures. @throw not_found @throw
    /// denied @throw invalid_argument
    std::vector<failed_step> failed_steps(const workflow_name &workflow, std::int64_t instance, int max_steps = 1'000);
    /// What the last run of an instance waits for, or with a step only that step and what is in it. Nothing: the run
    /// has succeeded. @throw not_found @throw denied @throw invalid_argument
    std::vector<run_wait> explain_run(const workflow_name &workflow, std::int64_t instance,
                                      const std::optional<std::string> &step = {}, int max_rows = 100);
    /// A version of a workflow as a Graphviz graph, and for Mermaid. @param version active, latest, default or a number
    /// @throw not_found @throw denied @throw wrong_state no version is active
    std::string workflow_dot(const workflow_name &workflow, const std::string &version = "default");
    std::string workflow_mermaid(const workflow_name &workflow, const std::string &version = "default");
    /// The same of an instance, with the status of each step. @throw not_found @throw denied
    std::string run_dot(const workflow_name &workflow, std::int64_t instance);
    std::string run_mermaid(const workflow_name &workflow, std::int64_t instance);
    /// When its steps ran, as a Gantt chart for Mermaid. @throw not_found @throw denied @throw invalid_argument
    std::string run_gantt(const workflow_name &workflow, std::int64_t instance, int max_iterations = 10);
    /// The senders and users of its signals, as a Graphviz graph, and for Mermaid. @param max_signals the newest ones
    /// @throw not_found @throw denied @throw invalid_argument
    std::string lineage_dot(const workflow_name &workflow, std::int64_t instance, int max_signals = 50);
    std::string lineage_mermaid(const workflow_name &workflow, std::int64_t instance, int max_signals = 50);
    /// Does the work of the engine of workflows until there is none left. Not in a transaction. @return how many
    /// transactions that took
    std::int64_t advance();
    /// @}

    /// @name Events and statistics
    /// @{

    /// Changes of status, of the queues that record them (queue_options::events), in an order without late events.
    /// @param after the cursor of the last event that was read; empty: from the oldest one
    /// @param max_events maximum number
    std::vector<event> read_events(const std::string &after = {}, int max_events = 1000);
    /// The same of workflows whose property "events" is on.
    std::vector<workflow_event> read_workflow_events(const std::string &after = {}, int max_events = 1000);

    /// All metrics as text in the OpenMetrics format, for Prometheus and similar systems.
    std::string metrics();

    /// @return one element per queue that the current user may see
    std::vector<queue_statistics> statistics();

    /// The time that a fraction (0 to 1) of the times in a histogram of statistics() does not exceed, accurate within a
    /// factor of two. @return none if there are no times
    std::optional<duration> quantile(const std::vector<std::int64_t> &histogram, double fraction);

    /// Whether one of the queues has a task that is waiting, ready or running.
    bool has_live_tasks(const std::vector<queue_name> &queues);
    /// Counts tasks by queue and status, exactly: reads the tables.
    std::vector<task_count> count_tasks(const std::optional<queue_name> &queue = std::nullopt);

    /// Resets the counters of a queue, or of all.
    void reset_statistics(const std::optional<queue_name> &queue = std::nullopt);
    /// @}

    /// @name Maintenance
    /// @{
    std::int64_t reset_expired(); ///< Ends the leases whose deadline has passed. @return how many
    std::int64_t purge();         ///< Removes tasks that ended longer ago than their retention. @return how many
    void maintain();              ///< One round of the monitor

    /// Checks the invariants of the storage; reads every task. @return nothing if all of them hold
    std::vector<problem> check();
    /// @}

private:
    friend class detail::link;
    explicit client(std::unique_ptr<detail::executor> on);
    std::unique_ptr<detail::executor> m_executor;
};

} // namespace scylla

#endif
