/// @file types.h
/// What calls take and return. Times are points of the server's clock with a resolution of microseconds; durations are
/// more than 0 and at most 365 days unless said otherwise.
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

/// Where a task is in its life. The last three are final.
enum class task_status { waiting, ready, running, completed, aborted, cancelled };

[[nodiscard]] constexpr bool is_final(task_status status) noexcept { return status >= task_status::completed; }
[[nodiscard]] std::string_view to_string(task_status status) noexcept;
/// @throw invalid_argument for a name that this version does not know
[[nodiscard]] task_status to_task_status(std::string_view name);

/// A row of the view scylla.task.
struct task {
    resource_name rn;
    queue_name queue;
    std::optional<json> spec; ///< null in what heartbeat, complete, abort, fail and yield return: the worker has it
    task_status status = task_status::waiting;
    int priority = 0;    ///< 0 to 127; 127 is leased first
    double progress = 0; ///< 0 to 1
    time_point created;
    time_point updated;
    std::optional<worker_name> owner;   ///< who runs it, or whose lease ended with it
    std::optional<time_point> deadline; ///< while it runs: when its lease ends
    json errors;                        ///< array of {"code", "args", "description"}, oldest first
    json history;                       ///< array, oldest first
    std::optional<json> result;
    std::optional<json> metrics;
    json args;       ///< array: what its gates gave, in the order of depends_on and wait_for
    int attempt = 0; ///< how often it has been leased: the fencing token of the present lease
    int failures = 0;
    std::optional<int> max_attempts; ///< so many failures abort it; none: no bound
    std::optional<time_point> not_before;
    std::optional<plan_name> plan;
    std::optional<std::string> key;     ///< whose work it is
    std::optional<pool_name> pool;      ///< where it has been placed; none: nowhere, or it needs several pools at once
    std::optional<json> state;          ///< what the worker that deferred it has left
    std::int64_t answers = 0;           ///< how often its workers have answered "not yet"
    std::optional<time_point> answered; ///< when one last did
};

/// An error that a worker reports: what becomes an element of task::errors.
struct task_error {
    std::string code;        ///< for programs; not empty
    std::string description; ///< for people
    json args = "{}";        ///< figures and names that belong to it
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

/// How long a task waits after a failure: `initial`, multiplied by `factor` with each further one, up to `max`, and
/// shortened by a random part of up to `jitter` (0 to 1). What is not said is the server's default: 1 s, doubled, up to
/// 1 h, no jitter.
struct retry_policy {
    std::optional<duration> initial;
    std::optional<double> factor;
    std::optional<duration> max;
    std::optional<double> jitter;
};

/// How a task is to be submitted. Everything has a default.
struct submit_options {
    int priority = 0;                     ///< 0 to 127
    std::optional<resource_name> rn;      ///< none: the server makes a UUIDv7
    std::optional<time_point> not_before; ///< the task waits until then
    std::optional<int>
        max_attempts; ///< so many failures abort it; none: as its queue says, else scylla.default_max_attempts
    std::vector<resource_name>
        depends_on; ///< tasks to be completed before it starts; their results become its args, in order
    dependency_failure on_dependency_failure = dependency_failure::cascade;
    std::optional<plan_name> plan;        ///< the plan that it belongs to
    std::optional<std::string> dedup_key; ///< unique among the live tasks of the queue
    std::optional<std::string> key;       ///< whose work it is, for limits per key
    std::optional<retry_policy> retry;    ///< none: as its queue says when it fails
    std::optional<json> wait_for;         ///< callbacks, signals, checks and tasks: an array as in docs/conditions.md
    std::optional<json> needs;            ///< of pools: an object as in docs/pools.md
    std::optional<duration> expected_runtime; ///< for backfilling
    std::optional<duration>
        dedup_for; ///< the key stays taken for so long after the submission, also if the task is completed before
    std::optional<duration>
        debounce; ///< submit() only: starts when nobody has submitted the key again for so long; the last spec counts
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

/// A lease as the worker knows it: with the attempt, calls are fenced against everybody else, even other threads that
/// use the same worker name. In a batch give it for all tasks or for none.
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
    std::optional<duration> timeout; ///< the lease ends that long from now; none: what it was leased for
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

/// What list() is to show. Everything has a default: the newest 100 tasks.
struct list_filter {
    std::optional<queue_name> queue;
    std::optional<task_status> status;
    std::optional<worker_name> worker;
    int max_tasks = 100; ///< 1 to 100,000
};

/// Which tasks find(), cancel_many(), yield_many() and resubmit_matching() are about. What is not set is any.
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

/// How much of it, and from where on.
struct portion {
    int max_tasks = 100;                   ///< 1 to 100,000
    std::optional<std::string> after = {}; ///< `next` of what came before; none: from the beginning
    int max_looks = 10000;                 ///< rows to look at, whether they match or not: 1 to 100,000
};

struct found_tasks {
    std::vector<task> tasks;
    std::optional<std::string> next; ///< where to go on; none: there are no more
};

/// A task that cancel_many() or yield_many() has found.
struct bulk_task {
    resource_name rn;
    task_status status;                 ///< as it is now
    std::optional<std::string> problem; ///< why nothing was done with it; none: it is done
};

struct bulk_result {
    std::vector<bulk_task> tasks;
    std::optional<std::string> next; ///< where to go on; none: there are no more
};

/// Which of the tasks that have ended are to be submitted again.
struct ended_filter {
    queue_name queue;
    task_status status = task_status::aborted; ///< or cancelled, or completed
    std::optional<std::string> code = {};      ///< of their last error
    std::optional<time_point> ended_after = {};
    std::optional<time_point> ended_before = {};
    int max_tasks = 1000; ///< 1 to 100,000
};

/// A task that was submitted again, and as what.
struct resubmission {
    resource_name rn;
    std::optional<resource_name> new_rn; ///< none: it was only to be shown
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
    std::optional<int> max_attempts; ///< for tasks that are submitted without; none: scylla.default_max_attempts
    std::optional<retry_policy> retry;
    std::optional<duration> retention_completed; ///< for tasks that ended so; none: retention
    std::optional<duration> retention_aborted;
    std::optional<duration> retention_cancelled;
    bool paused = false;
    std::optional<int> max_running;         ///< how many of its tasks may run at once; none: any number
    bool events = false;                    ///< whether changes of status are recorded, for client::read_events()
    bool notify = false;                    ///< whether NOTIFY scylla tells when there is something to lease again
    std::optional<int> max_running_per_key; ///< how many tasks of the same key may run at once; none: any number
    std::optional<int>
        max_depth;     ///< how many of its tasks may wait or be ready when one is submitted; none: any number
    bool shed = false; ///< one more is cancelled at once (true), or its submit fails
    std::optional<json> key_weights;  ///< how many tasks the turn of each key has; none: in the order of the queue
    std::optional<json> rate;         ///< how many leases may start in a time: {"tasks": 100, "per": "1 s", "burst": 1}
    std::optional<json> rate_per_key; ///< the same for the tasks of each key
    std::optional<std::string>
        handler; ///< the function that the server calls for each task: f(scylla.task) returns jsonb
    std::optional<duration> run_timeout; ///< how long one run of a task may take; none: any time
};

/// Changes of a queue's settings; what is not named stays, and an empty optional is the default:
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

    [[nodiscard]] json to_json() const; ///< as scylla.alter_queue takes it

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

/// What has happened to a workflow, or to a run or a step of it.
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
    backfill, ///< it is passed over by tasks that do not delay its planned start
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
    std::optional<json> reported; ///< what was last reported to be in use
    std::optional<time_point> reported_at;
    std::optional<json> free;
    bool drained = false;
    bool stale = false;       ///< the last report is too old: nothing is placed
    std::int64_t waiting = 0; ///< tasks in its line
    std::int64_t placed = 0;  ///< tasks that hold something of it
    std::string owner;
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
    json params{"{}"};                     ///< an object: parameters as definitions have them, or just values
    std::string version{"active"};         ///< active, latest, default or a number
    std::optional<std::string> request_id; ///< the same id starts a workflow only once
};

/// One of many workflows that are started.
struct start_request {
    workflow_name workflow;
    start_options options{};
};

/// What the task of a step puts out before it has ended.
struct step_output {
    std::optional<json> params{};      ///< an object: values of parameters that the step has
    std::optional<json> artifacts{};   ///< an object
    std::optional<worker_name> worker; ///< who must hold the lease; none: anybody
    std::optional<int> attempt;        ///< of the task; none: any
};

/// What a restart begins with.
enum class restart_policy {
    from_incomplete, ///< steps that are not complete, and what follows them
    from_beginning,  ///< all steps
    from_specific,   ///< a step, and what follows it
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

/// Where a breakpoint stops a step: in all versions, instances and runs that are not named.
struct breakpoint_place {
    std::optional<std::int32_t> version;
    std::optional<std::int64_t> instance;
    std::optional<std::int32_t> run; ///< of that instance
};

/// A run of a workflow, as start_workflow() and restart_run() answer.
struct started_run {
    /// 1: started, or it waits for its turn; 0: the request came before; -1: stopped at once; 2: it goes on, and a step
    /// of it gets another attempt
    int code = 0;
    workflow_name workflow{};  ///< its id
    std::int64_t instance = 0; ///< from 1
    int run = 0;               ///< of the instance, from 1
    std::string status;        ///< CREATED, IN_PROGRESS, SUCCEEDED, FAILED, STOPPED or TIMED_OUT
};

/// What a backfill does with an item of whose parameters there is a run.
enum class existing_run : std::uint8_t {
    start,    ///< the item runs whatever ran before
    skip,     ///< not if the last such run has SUCCEEDED or has not ended
    skip_all, ///< not if there is any
};
[[nodiscard]] std::string_view to_string(existing_run value) noexcept;

/// How a workflow is started for many items.
struct backfill_options {
    std::string version = "active"; ///< active, latest, default or a number
    int concurrency = 1;            ///< how many of its runs have not ended at any time
    bool newest_first = false;      ///< the items are started from the last to the first
    existing_run existing = existing_run::start;
    bool yields = false; ///< other runs of the workflow go first
};

/// What a backfill would do with an item.
struct backfill_item {
    int number = 0; ///< its place, from 1
    json params;
    bool starts = false;                    ///< else it would be skipped
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
    std::optional<json> params;        ///< of an iteration: what the loop has given it
    std::optional<json> error;         ///< why it has failed
    std::optional<resource_name> task; ///< the task of the step
    workflow_name workflow{};          ///< of which it is a part
    std::int64_t instance = 0;
};

/// A step because of which an instance of a workflow has failed, or will.
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

/// What is wrong with the definition of a workflow.
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

struct task_count {
    queue_name queue;
    task_status status = task_status::waiting;
    std::int64_t tasks = 0;
};

/// A row of the view scylla.stat_queue. Counters are none where the server does not preload the library.
struct queue_statistics {
    queue_name queue;
    std::optional<std::int64_t> waiting, ready, running, terminal; ///< tasks now
    std::optional<duration> oldest_ready;                          ///< how long the next task to lease has been ready
    std::optional<std::int64_t> submitted, leased, completed, aborted, cancelled, failed, expired, yielded, purged;
    std::vector<std::int64_t> wait_histogram; ///< for client::quantile()
    std::vector<std::int64_t> run_histogram;
    std::optional<time_point> stats_reset;     ///< when the counting began
    std::optional<std::int64_t> refused, shed; ///< tasks that max_depth did not let in
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

/// A run of a task of a plan, for pictures of what happened when.
/// Something that a task waits for.
struct waiting_reason {
    int ord = 0;
    std::string waits_for; ///< "task build-1", "signal landed", "its start time", "max_running"
    std::optional<time_point> since;
    std::optional<time_point> until; ///< none: unknown
    std::string detail;              ///< sentences for people
};

struct plan_run {
    resource_name rn;
    queue_name queue;
    std::optional<worker_name> owner;
    int attempt = 0;
    std::optional<time_point> started;
    std::optional<time_point> ended; ///< none: it still runs
    std::string status;              ///< how it stands, or ended
};

/// While the previous task of a schedule is live.
enum class overlap_policy { allow, skip, replace };
/// Planned times that nobody looked at in time.
enum class catch_up_policy { none, latest, all };

[[nodiscard]] std::string_view to_string(overlap_policy policy) noexcept;
[[nodiscard]] std::string_view to_string(catch_up_policy policy) noexcept;

/// How a schedule is to be kept. Everything has a default.
struct schedule_options {
    std::string timezone = "UTC"; ///< whose clocks it goes by
    overlap_policy overlap = overlap_policy::allow;
    catch_up_policy catch_up = catch_up_policy::latest;
    std::optional<duration> grace = std::chrono::hours{1}; ///< how late a task may be submitted; none: no bound
    int max_catch_up = 100;                                ///< at most so many by catch_up_policy::all
    duration jitter{0};                                    ///< tasks are delayed by up to this
    std::optional<time_point> starts;                      ///< planned times are not before this
    std::optional<time_point> ends;                        ///< and before this
    std::optional<std::string> planned_key; ///< the planned time goes into the spec, or the args, under this key
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
    bool armed = false;                    ///< it runs in this database, which is no restored copy
    std::optional<time_point> next_run;    ///< none: it does not come any more
    std::optional<time_point> last_run;
    std::optional<resource_name> last_task;
    std::int64_t runs = 0;
    std::int64_t skipped = 0; ///< planned times passed by because the previous task, or a dedup_key, was live
    std::int64_t missed = 0;  ///< or because nobody looked, or submitting failed
    std::optional<std::string> last_error;
};

/// A violation that check() found.
struct problem {
    std::optional<resource_name> rn;
    std::string text;
};

} // namespace scylla

#endif
