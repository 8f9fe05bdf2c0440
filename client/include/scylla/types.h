/// @file types.h
/// Arguments and results of calls. Times are those of the server's clock with a resolution of microseconds; durations
/// are more than 0 and at most 365 days unless documented otherwise.
#ifndef SCYLLA_TYPES_H
#define SCYLLA_TYPES_H

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <scylla/json.h>
#include <scylla/names.h>

namespace scylla {

using duration = std::chrono::microseconds;
using time_point = std::chrono::time_point<std::chrono::system_clock, duration>;

/// The status of a task. The last three are final.
enum class task_status { waiting, ready, running, completed, aborted, cancelled };

[[nodiscard]] constexpr bool is_final(task_status status) noexcept { return status >= task_status::completed; }
[[nodiscard]] std::string_view to_string(task_status status) noexcept;
/// @throw invalid_argument for a name that this version does not know
[[nodiscard]] task_status to_task_status(std::string_view name);

/// A row of the view scylla.task.
struct task {
    resource_name rn;
    queue_name queue;
    std::optional<json> spec; ///< null in results of heartbeat, complete, abort, fail and yield: the worker has it
    task_status status = task_status::waiting;
    int priority = 0;    ///< 0 to 127; 127 is leased first
    double progress = 0; ///< 0 to 1
    time_point created;
    time_point updated;
    std::optional<worker_name> owner;   ///< the worker that runs it, or whose lease ended it
    std::optional<time_point> deadline; ///< while it runs: the end of its lease
    json errors;                        ///< array of {"code", "args", "message"}, oldest first
    json history;                       ///< array, oldest first
    std::optional<json> result;
    std::optional<json> metrics;
    json args;       ///< array: the values of its gates, in the order of depends_on and wait_for
    int attempt = 0; ///< how often it has been leased: the fencing token of the present lease
    int failures = 0;
    std::optional<int> max_attempts; ///< so many failures abort it; none: no limit
    std::optional<time_point> not_before;
    std::optional<plan_name> plan;
    std::optional<std::string> key;     ///< the key for limits and turns
    std::optional<pool_name> pool;      ///< where it has been placed; none: nowhere, or it needs several pools at once
    std::optional<json> state;          ///< set by the worker that deferred it
    std::int64_t answers = 0;           ///< how often its workers have answered "not yet"
    std::optional<time_point> answered; ///< when one last did
};

/// An error that a worker reports: it becomes an element of task::errors.
struct task_error {
    std::string code;    ///< for programs; not empty
    std::string message; ///< for people
    json args = "{}";    ///< its figures and names
};

enum class on_duplicate {
    error,  ///< a task of that name makes the call fail
    ignore, ///< the existing task stays as it is
    replace ///< of submit: it gets the new spec, priority and time while it waits
};

/// What an aborted or cancelled task does to those that depend on it.
enum class dependency_failure {
    cascade, ///< they are aborted, too
    ignore,  ///< it counts as completed, without a result
    skip,    ///< they are cancelled
};

[[nodiscard]] std::string_view to_string(dependency_failure policy) noexcept;

/// How long a task waits after a failure: `initial`, multiplied by `factor` for each further one, up to `max`, and
/// shortened by a random part of up to `jitter` (0 to 1). The server's defaults: 1 s, doubled, up to 1 h, no jitter.
struct retry_policy {
    std::optional<duration> initial;
    std::optional<double> factor;
    std::optional<duration> max;
    std::optional<double> jitter;
};

/// The options of a submit. Everything has a default.
struct submit_options {
    int priority = 0;                     ///< 0 to 127
    std::optional<resource_name> rn;      ///< none: the server makes a UUIDv7
    std::optional<time_point> not_before; ///< the task waits until then
    std::optional<int>
        max_attempts; ///< so many failures abort it; none: as its queue says, else scylla.default_max_attempts
    std::vector<resource_name>
        depends_on; ///< tasks that must be completed before it starts; their results become its args, in order
    dependency_failure on_dependency_failure = dependency_failure::cascade;
    std::optional<plan_name> plan;        ///< the plan that it belongs to
    std::optional<std::string> dedup_key; ///< unique among the live tasks of the queue
    std::optional<std::string> key;       ///< the key for limits per key
    std::optional<retry_policy> retry;    ///< none: as its queue says when it fails
    std::optional<json> wait_for;         ///< callbacks, signals, checks and tasks: an array as in docs/conditions.md
    std::optional<json> needs;            ///< of pools: an object as in docs/pools.md
    std::optional<duration> expected_runtime; ///< for backfilling
    std::optional<duration>
        dedup_for; ///< how long the key stays taken after the submission, even if the task is completed before
    std::optional<duration>
        debounce; ///< submit() only: starts when the key was not submitted again for so long; the last spec counts
    std::optional<duration> run_timeout; ///< how long one run may take; none: as its queue says
};

/// An element of submit_many().
struct new_task {
    queue_name queue;
    json spec;
    submit_options options = {};
};

struct submitted {
    resource_name rn;
    bool inserted = false; ///< false: the name was taken
};

/// A lease of a worker. With the attempt, calls are fenced against all others, even against other threads with the same
/// worker name. In a batch give it for all tasks or for none.
struct held_task {
    resource_name rn;
    std::optional<int> attempt = std::nullopt;
};

struct completion {
    resource_name rn;
    std::optional<int> attempt = std::nullopt;
    std::optional<json> result = std::nullopt;
};

struct heartbeat_options {
    std::optional<double> progress;  ///< 0 to 1; none: unchanged
    std::optional<duration> timeout; ///< the lease ends that long from now; none: the timeout of the lease
    std::optional<int> attempt;      ///< the attempt to fence with
};

struct heartbeat_status {
    resource_name rn;
    bool held = false;                 ///< the lease is still ours, and was extended
    std::optional<task_status> status; ///< none: no such task
};

struct completion_status {
    resource_name rn;
    bool completed = false;            ///< by this call
    std::optional<task_status> status; ///< none: no such task
};

/// What list() returns. Everything has a default: the newest 100 tasks.
struct list_filter {
    std::optional<queue_name> queue;
    std::optional<task_status> status;
    std::optional<worker_name> worker;
    int max_tasks = 100; ///< 1 to 100,000
};

/// The tasks of find(), cancel_many(), yield_many() and resubmit_matching(). A member that is not set matches any.
struct task_filter {
    std::optional<queue_name> queue = {};
    std::optional<task_status> status = {};
    bool live = false; ///< waiting, ready or running, instead of a status
    std::optional<worker_name> worker = {};
    std::optional<std::string> key = {};
    std::optional<std::string> code = {}; ///< of the last error
    std::optional<json> spec = {};        ///< contained in that of the task
    std::optional<time_point> created_after = {};
    std::optional<time_point> created_before = {};
};

/// The size of a portion, and where it begins.
struct portion {
    int max_tasks = 100;                   ///< 1 to 100,000
    std::optional<std::string> after = {}; ///< `next` of the portion before; none: from the beginning
    int max_looks = 10000; ///< rows to read at most, matching or not: 1 to 100,000; ten of other queues count as one
};

struct found_tasks {
    std::vector<task> tasks;
    std::optional<std::string> next; ///< where to go on; none: there are no more
};

/// A task that cancel_many() or yield_many() has found.
struct bulk_task {
    resource_name rn;
    task_status status;                 ///< as it is now
    std::optional<std::string> problem; ///< why it was left as it is; none: it was not
};

struct bulk_result {
    std::vector<bulk_task> tasks;
    std::optional<std::string> next; ///< where to go on; none: there are no more
};

/// Which ended tasks are resubmitted.
struct ended_filter {
    queue_name queue;
    task_status status = task_status::aborted; ///< or cancelled, or completed
    std::optional<std::string> code = {};      ///< of their last error
    std::optional<time_point> ended_after = {};
    std::optional<time_point> ended_before = {};
    int max_tasks = 1000; ///< 1 to 100,000
};

/// A task that was resubmitted, and its copy.
struct resubmission {
    resource_name rn;
    std::optional<resource_name> new_rn; ///< none: a preview
};

struct resubmitted_tasks {
    std::vector<resubmission> tasks;
    std::optional<std::string> next; ///< where to go on; none: there are no more
};

/// The settings of a new queue. Everything has a default.
struct queue_options {
    std::optional<duration> default_timeout; ///< of a lease; none: scylla.default_timeout
    std::optional<duration> retention;       ///< how long ended tasks stay, 0 to 36,500 days; none: scylla.retention
    double aging = 0;                        ///< priority points per second of waiting, 0 to 1,000
    std::optional<int> max_attempts; ///< for tasks that are submitted without it; none: scylla.default_max_attempts
    std::optional<retry_policy> retry;
    std::optional<duration> retention_completed; ///< for tasks with that status; none: retention
    std::optional<duration> retention_aborted;
    std::optional<duration> retention_cancelled;
    bool paused = false;
    std::optional<int> max_running;         ///< how many of its tasks may run at once; none: any number
    bool events = false;                    ///< whether changes of status are recorded, for client::read_events()
    bool notify = false;                    ///< whether NOTIFY scylla is sent when there is something to lease again
    std::optional<int> max_running_per_key; ///< how many tasks of the same key may run at once; none: any number
    std::optional<int>
        max_depth;     ///< how many of its tasks may wait or be ready when one is submitted; none: any number
    bool shed = false; ///< one more task is cancelled at once (true), or its submit fails
    std::optional<json> key_weights;  ///< how many tasks the turn of each key has; none: in the order of the queue
    std::optional<json> rate;         ///< maximum number of leases in a time: {"tasks": 100, "per": "1 s", "burst": 1}
    std::optional<json> rate_per_key; ///< the same for the tasks of each key
    std::optional<std::string>
        handler; ///< the function that the server calls for each task: f(scylla.task) returns jsonb
    std::optional<duration> run_timeout; ///< how long one run of a task may take; none: no limit
};

/// Changes of a queue's settings. Settings that are not named stay, and an empty optional means the default:
/// `queue_changes{}.default_timeout(5min).max_attempts(std::nullopt)`.
class queue_changes {
public:
    queue_changes &default_timeout(std::optional<duration> value) { return set("default_timeout", value); }
    queue_changes &retention(std::optional<duration> value) { return set("retention", value); }
    queue_changes &aging(double value);
    queue_changes &max_attempts(std::optional<int> value);
    queue_changes &paused(bool value) { return set("paused", std::string{value ? "true" : "false"}); }
    queue_changes &max_running(std::optional<int> value);
    queue_changes &max_running_per_key(std::optional<int> value);
    queue_changes &key_weights(const std::optional<json> &value);
    queue_changes &events(bool value) { return set("events", std::string{value ? "true" : "false"}); }
    queue_changes &max_depth(std::optional<int> value);
    queue_changes &rate(const std::optional<json> &value);
    queue_changes &rate_per_key(const std::optional<json> &value);
    queue_changes &handler(const std::optional<std::string> &value);
    queue_changes &run_timeout(std::optional<duration> value) { return set("run_timeout", value); }
    queue_changes &shed(bool value) { return set("on_full", std::string{value ? "\"shed\"" : "\"error\""}); }
    queue_changes &notify(bool value) { return set("notify", std::string{value ? "true" : "false"}); }
    queue_changes &retry(const std::optional<retry_policy> &value);
    queue_changes &retention_completed(std::optional<duration> value) { return set("retention_completed", value); }
    queue_changes &retention_aborted(std::optional<duration> value) { return set("retention_aborted", value); }
    queue_changes &retention_cancelled(std::optional<duration> value) { return set("retention_cancelled", value); }

    [[nodiscard]] json to_json() const; ///< for scylla.alter_queue

private:
    queue_changes &set(std::string_view setting, std::optional<duration> value);
    queue_changes &set(std::string_view setting, const std::string &text);
    std::string m_text;
};

/// A row of the view scylla.queue_settings.
struct queue_info {
    queue_name queue;
    time_point created;
    std::optional<duration> default_timeout;
    std::optional<duration> retention;
    double aging = 0;
    std::optional<int> max_attempts;
    std::optional<json> retry; ///< the policy, as it was given
    std::optional<duration> retention_completed;
    std::optional<duration> retention_aborted;
    std::optional<duration> retention_cancelled;
    bool paused = false;
    std::optional<int> max_running;
    bool events = false;
    bool notify = false;
    std::optional<int> max_running_per_key;
    std::optional<int> max_depth;
    bool shed = false;
    std::optional<json> key_weights;
    std::optional<json> rate;
    std::optional<json> rate_per_key;
    std::optional<std::string> handler; ///< with its schema
    std::optional<duration> run_timeout;
    std::vector<std::string> pending; ///< the names of settings that are not in effect yet
};

/// A change of a task's status.
struct event {
    std::string cursor; ///< to go on behind this event
    time_point time;
    queue_name queue;
    resource_name rn;
    task_status status = task_status::waiting;
    int attempt = 0;
    int failures = 0;
    std::optional<worker_name> worker;
};

/// An event of a workflow, or of a run or a step of it.
struct workflow_event {
    std::string cursor; ///< to go on behind this event
    time_point time;
    workflow_name workflow;
    std::string kind; ///< run, step, version, activated, deactivated, properties, dropped
    std::optional<std::int64_t> instance;
    std::optional<int> run;
    std::optional<std::string> step;
    std::vector<std::int64_t> iterations; ///< in which the step is, the outer one first
    std::optional<int> attempt;           ///< of the step
    std::optional<std::string> old_status;
    std::optional<std::string> status; ///< of the run or the step
    std::optional<int> version;        ///< of the workflow
};

/// What a role may do with a queue.
enum class queue_privilege {
    submit, ///< submit and cancel tasks
    work,   ///< lease tasks, keep and finish the leases, wait
    view,   ///< see tasks and statistics
    admin,  ///< all of these, grant and revoke, change the settings, drop
    depend, ///< let tasks of any queue depend on its tasks
};

[[nodiscard]] std::string_view to_string(queue_privilege privilege) noexcept;

/// What a role may do with the signals of a name.
enum class signal_privilege {
    send,  ///< send signals
    wait,  ///< wait for signals and see them
    admin, ///< both, grant and revoke
};

[[nodiscard]] std::string_view to_string(signal_privilege privilege) noexcept;

/// Which of the tasks that wait for a pool are placed.
enum class pool_policy {
    strict,   ///< the first task that does not fit stops the line
    greedy,   ///< it is passed over
    backfill, ///< it is passed over only by tasks that do not delay its planned start
};

[[nodiscard]] std::string_view to_string(pool_policy policy) noexcept;

/// What a role may do with a workflow.
enum class workflow_privilege {
    run,   ///< see it, start it and act on its runs
    view,  ///< see it and its runs
    admin, ///< both, and change, activate and drop it, grant and revoke
};
std::string_view to_string(workflow_privilege) noexcept;

/// What a role may do with a pool.
enum class pool_privilege {
    use,    ///< submit tasks that need it
    report, ///< report what is in use
    admin,  ///< both, and change, drain and drop it, place, grant and revoke
};

[[nodiscard]] std::string_view to_string(pool_privilege privilege) noexcept;

/// A task that has been placed.
struct placed_task {
    resource_name rn;
    std::optional<pool_name> pool; ///< none: it needs several pools at once
};

/// A row of the view scylla.pool. Amounts are objects by resource.
struct pool_info {
    pool_name name;
    pool_policy policy = pool_policy::backfill;
    json capacity;
    std::optional<json> reserved; ///< what tasks hold; none: the pool has no resources
    std::optional<json> reported; ///< the last report of usage
    std::optional<time_point> reported_at;
    std::optional<json> free;
    bool drained = false;
    bool stale = false;       ///< the last report is too old: nothing is placed
    std::int64_t waiting = 0; ///< tasks in its line
    std::int64_t placed = 0;  ///< tasks that hold a reservation
    std::string owner;
};

/// A row of the view scylla.pool_queue: a task that waits only for pools, and one that could serve it.
struct pool_waiter {
    pool_name pool;
    resource_name rn;
    queue_name queue;
    int priority = 0;
    time_point created;                ///< when it was submitted
    std::optional<time_point> since;   ///< since when it waits only for pools
    json needs;                        ///< what it needs
    std::optional<std::string> reason; ///< why it waits; none: its queue is paused
    std::optional<time_point> planned; ///< when it is expected to start, if it is the head of the line
};

/// Ids as ranges: from the first to before the second.
using id_ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// A chunk that a run of a job would have, or would leave out because it is fresh.
struct job_step {
    job_name job;
    id_ranges chunk;
    json args;
    json depends_on; ///< an array of the chunks that it waits for, as "job {[1,4)}"
    std::string reason;
    bool runs = false;
};

/// How a workflow is started.
struct start_options {
    json params{"{}"};                     ///< an object: parameters in the form of definitions, or just values
    std::string version{"active"};         ///< active, latest, default or a number
    std::optional<std::string> request_id; ///< the same id starts a workflow only once
    json step_params{"{}"};                ///< an object with an object like params for each step
};

/// One of many workflows to start.
struct start_request {
    workflow_name workflow;
    start_options options{};
};

/// Output of a step's task before its end.
struct step_output {
    std::optional<json> params{};      ///< an object: values of parameters that the step has
    std::optional<json> artifacts{};   ///< an object
    std::optional<worker_name> worker; ///< the worker that must hold the lease; none: any
    std::optional<int> attempt;        ///< of the task; none: any
};

/// The steps that a restart begins with.
enum class restart_policy {
    from_incomplete, ///< incomplete steps and their successors
    from_beginning,  ///< all steps
    from_specific,   ///< a step and its successors
};

/// How an instance of a workflow runs again.
struct restart_options {
    restart_policy policy = restart_policy::from_incomplete;
    json params{"{}"};                   ///< over those of the run before
    json step_params{"{}"};              ///< by step, for steps that run again
    std::vector<std::string> skip_steps; ///< of these, the ones that are skipped
    std::optional<std::string> step;     ///< with from_specific
    bool alone = false;                  ///< the step that has started it as a subworkflow does not run again
};

/// Where a breakpoint stops a step. Without a version, instance or run: in all of them.
struct breakpoint_place {
    std::optional<std::int32_t> version;
    std::optional<std::int64_t> instance;
    std::optional<std::int32_t> run; ///< of that instance
};

/// A run of a workflow, as the result of start_workflow() and restart_run().
struct started_run {
    /// 1: started, or queued; 0: the request_id was used before; -1: stopped at once; 2: it is live, and a step of it
    /// gets another attempt
    int code = 0;
    workflow_name workflow{};  ///< its id
    std::int64_t instance = 0; ///< from 1
    int run = 0;               ///< of the instance, from 1
    std::string status;        ///< CREATED, IN_PROGRESS, SUCCEEDED, FAILED, STOPPED or TIMED_OUT
};

/// What a backfill does with an item if a run with its parameters exists.
enum class existing_run : std::uint8_t {
    start,    ///< the item is started anyway
    skip,     ///< not started if the last such run has SUCCEEDED or has not ended
    skip_all, ///< not started if there is any such run
};
[[nodiscard]] std::string_view to_string(existing_run value) noexcept;

/// How a workflow is started for many items.
struct backfill_options {
    std::string version = "active"; ///< active, latest, default or a number
    int concurrency = 1;            ///< maximum number of its live runs
    bool newest_first = false;      ///< the items are started from the last to the first
    existing_run existing = existing_run::start;
    bool yields = false; ///< other runs of the workflow have priority
};

/// What a backfill would do with an item.
struct backfill_item {
    int number = 0; ///< its place, from 1
    json params;
    bool starts = false;                    ///< otherwise it would be skipped
    std::optional<std::int64_t> instance{}; ///< the last run with these parameters
    std::string status;                     ///< of that run; empty: there is none
};

/// A row of the tree of an instance of a workflow: the instance itself, a step, an iteration of a loop.
struct run_node {
    int depth = 0;                        ///< 0: the instance itself
    std::string kind;                     ///< run, step, foreach, while, subworkflow, template, iteration, iterations
    std::string name;                     ///< the id of a step, the number of an iteration
    std::vector<std::int64_t> iterations; ///< in which it is, the outer one first
    std::optional<std::int64_t> count;    ///< of iterations: how many have this status
    std::string status;
    std::optional<int> attempt;        ///< of a run: the number of the run
    std::optional<time_point> started; ///< none: not yet
    std::optional<time_point> ended;   ///< none: it has not
    std::optional<json> params;        ///< of an iteration: its values from the loop
    std::optional<json> error;         ///< why it has failed
    std::optional<resource_name> task; ///< the task of the step
    workflow_name workflow{};          ///< of which it is a part
    std::int64_t instance = 0;
};

/// A step that has made an instance of a workflow fail, or will.
struct failed_step {
    workflow_name workflow{}; ///< that of the step: it may be a subworkflow
    std::int64_t instance = 0;
    std::string step;
    std::vector<std::int64_t> iterations; ///< in which it is, the outer one first
    int attempt = 0;
    std::string status;
    std::optional<time_point> ended;
    std::optional<json> params;
    std::optional<json> error;
    std::optional<resource_name> task;
};

/// Something that a run of a workflow waits for.
struct run_wait {
    workflow_name workflow{}; ///< that of the step: it may be a subworkflow
    std::int64_t instance = 0;
    std::optional<std::string> step;      ///< none: the run itself
    std::vector<std::int64_t> iterations; ///< in which it is, the outer one first
    std::string waits_for;                ///< "signal rates", "a worker", "its next attempt"
    std::optional<time_point> since;
    std::optional<time_point> until; ///< none: unknown
    std::string detail;              ///< sentences for people
};

/// A problem of a definition of a workflow.
struct workflow_problem {
    std::string place; ///< in the document, like workflow.steps[3].step.id; empty: the document as a whole
    std::string problem;
};

/// A row of the view scylla.queue_grants.
struct queue_grant {
    queue_name queue;
    std::string role;      ///< `public`: everybody
    std::string privilege; ///< a queue_privilege, or `owner`
};

/// What a kind of role gets by grant_role().
struct role_kind_grant {
    std::optional<std::string> kind; ///< nothing: no kind gets it, because it acts on the whole database
    std::string privilege;           ///< `EXECUTE` or `SELECT`
    std::string object;              ///< a function or view
};

struct task_count {
    queue_name queue;
    task_status status = task_status::waiting;
    std::int64_t tasks = 0;
};

/// A row of the view scylla.stat_queue. Counters are none if the server does not preload the library.
struct queue_statistics {
    queue_name queue;
    std::optional<std::int64_t> waiting, ready, running, terminal; ///< tasks now
    std::optional<duration> oldest_ready;                          ///< how long the next task to lease has been ready
    std::optional<std::int64_t> submitted, leased, completed, aborted, cancelled, failed, expired, yielded, purged;
    std::vector<std::int64_t> wait_histogram; ///< for client::quantile()
    std::vector<std::int64_t> run_histogram;
    std::optional<time_point> stats_reset;     ///< when the counting began
    std::optional<std::int64_t> refused, shed; ///< tasks that max_depth rejected
};

enum class plan_status { building, running, completed, failed, cancelled };

[[nodiscard]] std::string_view to_string(plan_status status) noexcept;

/// A row of the view scylla.plan.
struct plan_info {
    plan_name name;
    plan_status status = plan_status::building;
    std::optional<json> spec;
    std::int64_t waiting = 0, ready = 0, running = 0, completed = 0, aborted = 0, cancelled = 0; ///< tasks
    double progress = 0;                                                                         ///< 0 to 1
    time_point created;
    std::optional<time_point> opened;
    std::optional<time_point> finished;
    std::optional<json> result; ///< object: results of its completed final tasks, by rn
    std::string owner;          ///< the role that it belongs to
};

/// Something that a task waits for.
struct waiting_reason {
    int ord = 0;
    std::string waits_for; ///< "task build-1", "signal landed", "its start time", "max_running"
    std::optional<time_point> since;
    std::optional<time_point> until; ///< none: unknown
    std::string detail;              ///< sentences for people
};

/// A run of a task of a plan, for timelines.
struct plan_run {
    resource_name rn;
    queue_name queue;
    std::optional<worker_name> owner;
    int attempt = 0;
    std::optional<time_point> started;
    std::optional<time_point> ended; ///< none: it still runs
    std::string status;              ///< present or final status
};

/// What happens at a planned time while the previous task of a schedule is live.
enum class overlap_policy { allow, skip, replace };
/// What happens to planned times that were not handled in time.
enum class catch_up_policy { none, latest, all };

[[nodiscard]] std::string_view to_string(overlap_policy policy) noexcept;
[[nodiscard]] std::string_view to_string(catch_up_policy policy) noexcept;

/// The options of a schedule. Everything has a default.
struct schedule_options {
    std::string timezone = "UTC"; ///< the time zone of the cron expression
    overlap_policy overlap = overlap_policy::allow;
    catch_up_policy catch_up = catch_up_policy::latest;
    std::optional<duration> grace = std::chrono::hours{1}; ///< how late a task may be submitted; none: no limit
    int max_catch_up = 100;                                ///< maximum number with catch_up_policy::all
    duration jitter{0};                                    ///< tasks are delayed by up to this
    std::optional<time_point> starts;                      ///< planned times are not before this
    std::optional<time_point> ends;                        ///< and before this
    std::optional<std::string> planned_key; ///< the planned time is put into the spec, or the args, under this key
    json options =
        "{}"; ///< further arguments of scylla.submit, by their names; not for schedule_plan(); of a job, its options
};

/// A row of the view scylla.schedules: those of the roles whose rights the current user has.
struct schedule_info {
    schedule_name name;
    std::string owner;
    std::string cron;
    std::string timezone;
    queue_name queue; ///< empty, as spec is, for a schedule of plans or of a job
    json spec;
    json options;
    std::optional<job_name> job;
    std::optional<workflow_name> workflow; ///< of which it is a time trigger
    bool armed = false;                    ///< it runs in this database, which is not a restored copy
    std::optional<time_point> next_run;    ///< none: no more planned times
    std::optional<time_point> last_run;
    std::optional<resource_name> last_task;
    std::int64_t runs = 0;
    std::int64_t skipped = 0; ///< planned times skipped because the previous task, or a dedup_key, was live
    std::int64_t missed = 0;  ///< planned times that no tick handled in time, or whose submit failed
    std::optional<std::string> last_error;
};

/// A violation that check() found.
struct problem {
    std::optional<resource_name> rn;
    std::string text;
};

} // namespace scylla

#endif
