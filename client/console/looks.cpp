#include "looks.h"

namespace scylla::cli::console {

using namespace std::chrono_literals;

// The numbers of tasks and the counters come from shared memory, whatever there is in the tables.
const char *const k_pulse = R"(
    select json_build_object('time', extract(epoch from clock_timestamp()), 'queues', (
        select coalesce(json_agg(q order by queue), '[]') from (
            select s.queue, s.waiting, s.ready, s.running, s.terminal, extract(epoch from s.oldest_ready) as oldest,
                   s.submitted, s.leased, s.completed, s.failed + s.expired as failed, s.aborted, s.cancelled,
                   extract(epoch from scylla.quantile(s.wait_histogram, 0.95)) as wait_p95,
                   extract(epoch from scylla.quantile(s.run_histogram, 0.95)) as run_p95, coalesce(g.paused, false) as paused
            from scylla.stat_queue s left join scylla.queue_settings g using (queue)) q)))";

const char *const k_small_pulse = R"(
    select json_build_object('time', extract(epoch from clock_timestamp()), 'queues', (
        select coalesce(json_agg(q order by queue), '[]') from (select queue, paused from scylla.queue_settings) q)))";

namespace {

// A worker without a status means the tasks that it runs: what else it has done is known to the tasks alone.
constexpr const char *k_tasks = R"(
    select json_build_object('tasks', coalesce(json_agg(json_build_object(
            'rn', (t).rn, 'queue', (t).queue, 'status', (t).status, 'priority', (t).priority, 'progress', (t).progress,
            'created', (t).created, 'updated', (t).updated, 'owner', (t).owner, 'deadline', (t).deadline, 'attempt', (t).attempt,
            'failures', (t).failures, 'max_attempts', (t).max_attempts, 'not_before', (t).not_before, 'key', (t).key,
            'plan', (t).plan, 'code', (t).errors -> -1 ->> 'code')) filter (where t is distinct from null), '[]'),
        'next', max(cursor) filter (where t is not distinct from null))
    from scylla.find_tasks(
        jsonb_build_object('queue', $1::text, 'status', coalesce($2::text, case when $3::text is not null then 'running' end),
                           'worker', $3::text, 'key', $4::text, 'code', $5::text, 'created_after', $7::text, 'created_before', $8::text) ||
        case when $6::text is null then '{}' else jsonb_build_object('spec', $6::jsonb) end,
        least(coalesce($9::integer, 50), 1000), $10, 10000) f (cursor, t))";

constexpr const char *k_task = R"(
    select json_build_object('task', (select row_to_json(t) from scylla.get_task($1) t),
        'waits', (select coalesce(json_agg(w order by ord), '[]') from scylla.explain_waiting($1) w),
        'copy', (select new_rn from scylla.resubmissions where rn = $1),
        'copy_of', (select rn from scylla.resubmissions where new_rn = $1 limit 1)))";

constexpr const char *k_queue = R"(
    select json_build_object('settings', (select row_to_json(q) from scylla.queue_settings q where queue = $1),
        'grants', (select coalesce(json_agg(g order by privilege, role), '[]') from scylla.queue_grants g where queue = $1)))";

constexpr const char *k_plans = R"(
    select coalesce(json_agg(p), '[]') from (
        select name, status, progress, waiting, ready, running, completed, aborted, cancelled, created, opened, finished, owner
        from scylla.plan order by created desc limit 100) p)";

constexpr const char *k_plan = R"(
    select json_build_object('plan', (select row_to_json(p) from scylla.plan p where name = $1),
        'tasks', (select coalesce(json_agg(t), '[]') from (
            select rn, queue, status, progress, created, updated, owner, attempt, depends_on
            from scylla.plan_task where plan = $1 order by created, rn limit 1000) t),
        'timeline', (select coalesce(json_agg(a), '[]') from (select * from scylla.plan_timeline($1) limit 1000) a)))";

constexpr const char *k_schedules = R"(
    select coalesce(json_agg(s order by name), '[]') from (
        select name, owner, cron, timezone, queue, job, tasks is not null as is_plan, overlap, catch_up, armed, next_run, last_run,
               last_task, runs, skipped, missed, last_error, skip_reason, ticked,
               case when next_run is not null then scylla.cron_next(cron, next_run, timezone) end as next_but_one
        from scylla.schedules) s)";

constexpr const char *k_pools = R"(
    select json_build_object('pools', (select coalesce(json_agg(p order by pool), '[]') from scylla.pool p),
        'line', (select coalesce(json_agg(l), '[]') from (
            select * from scylla.pool_queue order by pool, priority desc, created limit 200) l),
        'held', (select coalesce(json_agg(r), '[]') from (
            select * from scylla.pool_reservation order by pool, since limit 200) r)))";

constexpr const char *k_jobs = R"(
    select json_build_object('jobs', (select coalesce(json_agg(j order by name), '[]') from scylla.job_type j),
        'fresh', (select coalesce(json_agg(f), '[]') from (
            select job, variant, count(*) as ranges, min(began) as oldest, max(began) as newest
            from scylla.job_freshness group by job, variant order by job, variant limit 500) f),
        'runs', (select coalesce(json_agg(r), '[]') from (
            select plan, job, variant, ids::text as ids, status, tasks, resolved, finished, waits_for
            from scylla.job_plan order by resolved desc limit 50) r)))";

constexpr const char *k_conditions = R"(
    select json_build_object(
        'conditions', (select coalesce(json_agg(c), '[]') from (
            select kind, name, match, created, expires, status, ended, waiters from scylla.condition order by created desc limit 200) c),
        'signals', (select coalesce(json_agg(s), '[]') from (
            select seq, name, sent, sender, params, payload from scylla.signal order by seq desc limit 100) s),
        'triggers', (select coalesce(json_agg(t order by name), '[]') from scylla.trigger t),
        'failures', (select coalesce(json_agg(f), '[]') from (
            select * from scylla.trigger_failure order by trigger, failed limit 100) f)))";

constexpr const char *k_errors = R"(
    select coalesce(json_agg(e), '[]') from (
        select queue, errors -> -1 ->> 'code' as code, min(errors -> -1 ->> 'description') as description, count(*) as tasks,
               min(updated) as first, max(updated) as last, (array_agg(rn order by updated desc))[1:3] as newest
        from scylla.dead_tasks(max_tasks => 1000) group by 1, 2 order by count(*) desc, 1, 2) e)";

constexpr const char *k_workflows = R"(
    select coalesce(json_agg(x), '[]') from (
        select w.id, w.owner, w.active_version, w.latest_version, w.strategy, w.concurrency, w.modified, w.next_start,
               (select json_build_object('instance', r.instance, 'run', r.run, 'status', r.status, 'started', r.started)
                from scylla.workflow_run r where r.workflow = w.id and r.instance = w.latest_instance order by r.run desc limit 1) as last
        from scylla.workflow w order by w.modified desc limit 200) x)";

constexpr const char *k_workflow = R"(
    select json_build_object('workflow', (select row_to_json(w) from scylla.workflow w where w.id = $1),
        'versions', (select coalesce(json_agg(v), '[]') from (
            select version, is_active, author, created from scylla.workflow_version where workflow = $1 order by version desc limit 50) v),
        'runs', (select coalesce(json_agg(r), '[]') from (
            select workflow, instance, run, version, status, initiator, created, started, ended
            from scylla.workflow_run
            where workflow = $1 and ($2::text is null or status::text = $2) and ($3::bigint is null or instance < $3::bigint)
            order by instance desc, run desc limit 50) r)))";

// Steps in loops may be many: their numbers, and some of them, failed ones first.
constexpr const char *k_run = R"(
    select json_build_object('run', (select row_to_json(r) from scylla.workflow_run r where workflow = $1 and instance = $2::bigint and run = $3::bigint),
        'definition', (select v.definition from scylla.workflow_run r join scylla.workflow_version v using (workflow, version)
                       where r.workflow = $1 and r.instance = $2::bigint and r.run = $3::bigint),
        'active', (select active_version is not null from scylla.workflow where id = $1),
        'last', (select max(run) = $3::bigint from scylla.workflow_run where workflow = $1 and instance = $2::bigint),
        'steps', coalesce(json_agg(s) filter (where iterations is null), '[]'),
        'inner', coalesce(json_agg(s) filter (where iterations is not null and place <= 100), '[]'),
        'loops', (select coalesce(json_agg(l), '[]') from (
            select step, status, count(*) as count from scylla.workflow_step
            where workflow = $1 and instance = $2::bigint and run = $3::bigint and iterations is not null group by step, status) l))
    from (select step, iterations, attempt, status, error, created, started, ended, task,
                 row_number() over (partition by step, iterations is null
                                    order by status::text !~ 'FAILED|TIMED_OUT', ended is not null, iterations) as place
          from scylla.workflow_step where workflow = $1 and instance = $2::bigint and run = $3::bigint) s
    where iterations is null or place <= 100)";

constexpr const char *k_step = R"(
    select json_build_object(
        'step', (select row_to_json(s) from scylla.workflow_step s
                 where workflow = $1 and instance = $2::bigint and run = $3::bigint and step = $4
                   and array_to_string(iterations, ',') is not distinct from $5),
        'attempts', (select coalesce(json_agg(t order by attempt), '[]') from scylla.workflow_step_attempt t
                     where workflow = $1 and instance = $2::bigint and run = $3::bigint and step = $4
                       and array_to_string(iterations, ',') is not distinct from $5),
        'action', (select json_build_object('action', action, 'role', role, 'done', done) from scylla.workflow_action
                   where workflow = $1 and instance = $2::bigint and run = $3::bigint and step = $4
                     and array_to_string(iterations, ',') is not distinct from $5 order by id desc limit 1)))";

constexpr const char *k_workers = R"(
    select coalesce(json_agg(w), '[]') from (
        select worker, queue, leases, oldest_lease, last_heartbeat, next_deadline, progress
        from scylla.stat_worker order by worker, queue limit 500) w)";

constexpr const char *k_monitor = R"(
    select json_build_object('monitor', (select row_to_json(m) from scylla.stat_monitor m),
        'server_workers', (select coalesce(json_agg(w order by pid), '[]') from scylla.stat_server_worker w)))";

} // namespace

const std::vector<look> &looks() {
    static const std::vector<look> all{
        {"tasks",
         k_tasks,
         {"queue", "status", "worker", "key", "code", "spec", "created_after", "created_before", "limit", "after"},
         1000ms},
        {"task", k_task, {"rn"}, 500ms},
        {"queue", k_queue, {"name"}, 1000ms},
        {"plans", k_plans, {}, 2s},
        {"plan", k_plan, {"name"}, 1000ms},
        {"schedules", k_schedules, {}, 2s},
        {"pools", k_pools, {}, 1000ms},
        {"jobs", k_jobs, {}, 2s},
        {"conditions", k_conditions, {}, 1000ms},
        {"errors", k_errors, {}, 5s},
        {"workflows", k_workflows, {}, 1000ms},
        {"workflow", k_workflow, {"id", "status", "before"}, 1000ms},
        {"run", k_run, {"workflow", "instance", "run"}, 1000ms},
        {"step", k_step, {"workflow", "instance", "run", "step", "iterations"}, 1000ms},
        {"workers", k_workers, {}, 2s},
        {"monitor", k_monitor, {}, 2s},
    };
    return all;
}

// Of all tasks that a filter matches: {"filter", "after"}.
#define PREVIEW                                                                                                        \
    "select json_build_object('count', count(rn), 'more', count(*) > count(rn), 'first', coalesce((array_agg(rn) "     \
    "filter (where rn is not null))[1:5], '{}')) from "
#define PORTION                                                                                                        \
    "select json_build_object('done', count(rn) filter (where problem is null), 'problems', "                          \
    "coalesce(json_agg(json_build_object('rn', rn, 'problem', problem)) filter (where problem is not null), '[]'), "   \
    "'next', max(cursor) filter (where rn is null)) from "

// Of a step: {"workflow", "instance", "step", "iterations": "1,2" or null}.
#define STEP                                                                                                           \
    "($1::jsonb ->> 'workflow', ($1::jsonb ->> 'instance')::bigint, $1::jsonb ->> 'step', "                            \
    "string_to_array($1::jsonb ->> 'iterations', ',')::bigint[])"

const std::vector<change> &changes() {
    static const std::vector<change> all{
        {"cancel", "select json_build_object('rn', t.rn, 'status', t.status) from scylla.cancel($1::jsonb ->> 'rn') t"},
        {"resubmit",
         "select json_build_object('rn', t.rn, 'status', t.status) from scylla.resubmit($1::jsonb ->> 'rn') t"},
        // What the next one would do. It takes locks, so a transaction that only reads will not do.
        {"preview_resubmit",
         "select json_build_object('count', count(*), 'first', (array_agg(rn))[1:5]) from "
         "scylla.resubmit_many($1::jsonb "
         "->> 'queue', 'aborted', code => $1::jsonb ->> 'code', max_tasks => 1000, preview => true)"},
        {"resubmit_all", "select json_build_object('count', count(*)) from scylla.resubmit_many($1::jsonb ->> 'queue', "
                         "'aborted', code => $1::jsonb ->> 'code', max_tasks => 1000)"},
        // What the next two would do, up to a thousand.
        {"preview_cancel", PREVIEW "scylla.cancel_many($1::jsonb -> 'filter', preview => true, max_looks => 100000)"},
        {"preview_yield", PREVIEW "scylla.yield_many($1::jsonb -> 'filter', preview => true, max_looks => 100000)"},
        {"cancel_all", PORTION "scylla.cancel_many($1::jsonb -> 'filter', 250, $1::jsonb ->> 'after', false, 20000)"},
        {"yield_all", PORTION "scylla.yield_many($1::jsonb -> 'filter', 250, $1::jsonb ->> 'after', false, 20000)"},
        {"run_now",
         "select json_build_object('rn', t.rn, 'status', t.status) from scylla.reschedule($1::jsonb ->> 'rn') t"},
        {"priority", "select json_build_object('rn', t.rn, 'priority', t.priority) from "
                     "scylla.set_priority($1::jsonb ->> 'rn', ($1::jsonb ->> 'priority')::integer) t"},
        {"pause_queue", "select '{}' from scylla.pause_queue($1::jsonb ->> 'queue')"},
        {"resume_queue", "select '{}' from scylla.resume_queue($1::jsonb ->> 'queue')"},
        {"open_plan", "select '{}' from scylla.open_plan($1::jsonb ->> 'plan')"},
        {"cancel_plan", "select json_build_object('count', scylla.cancel_plan($1::jsonb ->> 'plan'))"},
        {"rerun_plan", "select json_build_object('plan', scylla.rerun_plan($1::jsonb ->> 'plan', only_failed => "
                       "coalesce(($1::jsonb ->> 'only_failed')::boolean, false)))"},
        {"start_workflow", "select json_build_object('instance', s.instance, 'run', s.run, 'status', s.status) from "
                           "scylla.start_workflow($1::jsonb ->> 'workflow') s"},
        {"stop_run", "select '{}' from scylla.stop_run($1::jsonb ->> 'workflow', ($1::jsonb ->> 'instance')::bigint)"},
        {"kill_run", "select '{}' from scylla.kill_run($1::jsonb ->> 'workflow', ($1::jsonb ->> 'instance')::bigint)"},
        {"restart_run",
         "select json_build_object('run', r.run, 'status', r.status) from "
         "scylla.restart_run($1::jsonb ->> 'workflow', ($1::jsonb ->> 'instance')::bigint, $1::jsonb ->> 'policy') r"},
        {"stop_step", "select '{}' from scylla.stop_step" STEP},
        {"kill_step", "select '{}' from scylla.kill_step" STEP},
        {"skip_step", "select '{}' from scylla.skip_step" STEP},
        {"activate_workflow",
         "select '{}' from scylla.activate_workflow($1::jsonb ->> 'workflow', ($1::jsonb ->> 'version')::integer)"},
        {"drain_pool", "select '{}' from scylla.drain_pool($1::jsonb ->> 'pool')"},
        {"resume_pool", "select '{}' from scylla.resume_pool($1::jsonb ->> 'pool')"},
        {"pause_trigger", "select '{}' from scylla.pause_trigger($1::jsonb ->> 'trigger')"},
        {"resume_trigger", "select '{}' from scylla.resume_trigger($1::jsonb ->> 'trigger')"},
    };
    return all;
}

} // namespace scylla::cli::console
