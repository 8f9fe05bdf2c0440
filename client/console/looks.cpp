#include "looks.h"

namespace scylla::cli::console {

using namespace std::chrono_literals;

// The numbers of tasks and the counters come from shared memory, not from the tables.
// Of many queues the most urgent are sent: those whose tasks have been ready for the longest time, then those with the
// most tasks.
#define URGENCY "oldest_ready desc nulls last, ready desc, running desc, waiting desc, queue"
#define NUMBERS                                                                                                        \
    "select s.queue, s.waiting, s.ready, s.running, s.terminal, extract(epoch from s.oldest_ready) as oldest, "        \
    "s.submitted, s.leased, s.completed, "                                                                             \
    "s.failed + s.expired as failed, s.aborted, s.cancelled, extract(epoch from scylla.quantile(s.wait_histogram, "    \
    "0.95)) as wait_p95, "                                                                                             \
    "extract(epoch from scylla.quantile(s.run_histogram, 0.95)) as run_p95, coalesce(g.paused, false) as paused "      \
    "from shown s left join scylla.queue_settings g using (queue)"

const char *const k_pulse = "with all_queues as materialized (select * from scylla.stat_queue), "
                            "shown as materialized (select * from all_queues order by " URGENCY " limit 100) "
                            "select json_build_object('time', extract(epoch from clock_timestamp()), 'total', (select "
                            "count(*) from all_queues), "
                            "'queues', (select coalesce(json_agg(q order by queue), '[]') from (" NUMBERS ") q))";

const char *const k_least_pulse =
    R"(select json_build_object('time', extract(epoch from clock_timestamp()), 'total', 0, 'queues', '[]'::json))";

const char *const k_small_pulse = R"(
    select json_build_object('time', extract(epoch from clock_timestamp()), 'total', (select count(*) from scylla.queue_settings),
        'queues', (select coalesce(json_agg(q order by queue), '[]')
                   from (select queue, paused from scylla.queue_settings order by paused desc, queue limit 100) q)))";

namespace {

// Whether the role is the owner, or one of the grantees (an array of names, which may be null), or has their rights.
#define IS_ONE_OF(owner, grantees)                                                                                     \
    "coalesce(" owner " = current_user or 'public' = any (" grantees ") or exists (select from pg_roles o where "      \
    "(o.rolname = " owner " or o.rolname = any (" grantees ")) and pg_has_role(o.oid, 'usage')), false)"

// The privileges of the role on a queue that it may view, as rows of scylla.queue_grants.
#define PRIVILEGES_ON(queue_name)                                                                                      \
    "(select coalesce(json_agg(distinct g.privilege), '[]') from scylla.queue_grants g where g.queue = " queue_name    \
    " and " IS_ONE_OF("g.role", "array[g.role]") ")"

// A worker without a status selects the tasks that it runs: its other work is recorded only in each task.
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
        least(coalesce($9::integer, 50), 1000), $10, least(coalesce($11::integer, 10000), 50000)) f (cursor, t))";

constexpr const char *k_task = R"(
    with found as materialized (select * from scylla.get_task($1))
    select json_build_object('task', (select row_to_json(t) from found t),
        'may', (select )" PRIVILEGES_ON("t.queue") R"( from found t),
        'waits', (select coalesce(json_agg(w order by ord), '[]') from scylla.explain_waiting($1) w),
        'copy', (select new_rn from scylla.resubmissions where rn = $1),
        'copy_of', (select rn from scylla.resubmissions where new_rn = $1 limit 1)))";

// A page of the queues whose names contain a text, or the one with a name.
constexpr const char *k_queues =
    "with found as materialized (select * from scylla.stat_queue "
    "where ($1::text is null or position(lower($1) in lower(queue)) > 0) and ($3::text is null or queue = $3)), "
    "shown as materialized (select * from found order by " URGENCY " limit 100 offset 100 * coalesce($2::integer, 0)) "
    "select json_build_object('total', (select count(*) from found), "
    "'rows', (select coalesce(json_agg(q order by oldest desc nulls last, ready desc, running desc, waiting desc, "
    "queue), '[]') from (" NUMBERS ") q))";

constexpr const char *k_queue = R"(
    select json_build_object('settings', (select row_to_json(q) from scylla.queue_settings q where queue = $1),
        'may', )" PRIVILEGES_ON("$1") R"(,
        'grants', (select coalesce(json_agg(g order by privilege, role), '[]') from scylla.queue_grants g where queue = $1)))";

// before: the last row of the page before this one. What takes long to read, such as the numbers of a plan's tasks, is
// read only of the rows that are shown. Which ones those are is asked without an order, which the view has itself: the
// planner knows of a limit in the query of a view only then, and may sort all rows otherwise.
constexpr const char *k_plans = R"(
    select coalesce(json_agg(p order by seq desc), '[]') from (
        select seq, name, status, progress, waiting, ready, running, completed, aborted, cancelled, created, opened, finished, owner
        from scylla.plan where seq = any (array(
            select seq from scylla.plan where ($1::bigint is null or seq < $1::bigint) and ($2::text is null or status = $2)
            limit 100))) p)";

// Of a large plan only the tasks that are shown are read: the view has them in the order in which they were submitted,
// and an order in that query would need all of them. The result needs all of them, too: that of a large plan is only
// read with $2.
constexpr const char *k_plan = R"(
    with numbers as materialized (
        select name, status, spec, progress, waiting, ready, running, completed, aborted, cancelled, created, opened, finished, owner
        from scylla.plan where name = $1)
    select json_build_object('plan', (select row_to_json(n) from numbers n),
        'result', (select case when waiting + ready + running + completed + aborted + cancelled <= 1000 or $2::text is not null
                               then (select result from scylla.plan where name = $1) end from numbers),
        'tasks', (select coalesce(json_agg(t order by created, rn), '[]') from (
            select rn, queue, status, progress, created, updated, owner, attempt, depends_on, history
            from scylla.plan_task where plan = $1 limit 1000) t)))";

// Those that need somebody first, then those that run next.
constexpr const char *k_schedules = R"(
    with found as materialized (
        select *, tasks is not null as is_plan, row_number() over (
            order by last_error is not null or not armed desc, next_run, name) as place
        from scylla.schedules
        where $1::text is null or position(lower($1) in lower(concat_ws(' ', name, queue, job, workflow))) > 0),
    shown as materialized (select * from found order by place limit 100 offset 100 * coalesce($2::integer, 0))
    select json_build_object('total', (select count(*) from found), 'rows', (select coalesce(json_agg(s order by place), '[]') from (
        select place, name, owner, cron, timezone, queue, job, is_plan, overlap, catch_up, armed, next_run, last_run,
               last_task, runs, skipped, missed, last_error, skip_reason, ticked, workflow,
               case when next_run is not null then scylla.cron_next(cron, next_run, timezone) end as next_but_one
        from shown) s)))";

constexpr const char *k_pools = R"(
    select json_build_object('pools', (select coalesce(json_agg(p order by pool), '[]') from (
            select *, )" IS_ONE_OF("owner", "admins") R"( as may_change from scylla.pool) p),
        'held', (select coalesce(json_agg(r), '[]') from (
            select * from scylla.pool_reservation order by pool, since limit 200) r)))";

constexpr const char *k_line = R"(
    select coalesce(json_agg(l), '[]') from (
        select pool, rn, queue, priority, created, since, needs, reason, planned from scylla.list_pool_queue(max_tasks => 200)) l)";

constexpr const char *k_jobs = R"(
    select json_build_object('jobs', (select coalesce(json_agg(j order by name), '[]') from scylla.job_type j),
        'fresh', (select coalesce(json_agg(f), '[]') from (
            select job, variant, count(*) as ranges, min(began) as oldest, max(began) as newest
            from scylla.job_freshness group by job, variant order by job, variant limit 500) f),
        'runs', (select coalesce(json_agg(r), '[]') from (
            select seq, plan, job, variant, ids::text as ids, status, tasks, resolved, finished, waits_for, overdue
            from scylla.job_plan where seq = any (array(
                select seq from scylla.job_plan where $1::bigint is null or seq < $1::bigint limit 50))
            order by seq desc) r)))";

constexpr const char *k_conditions = R"(
    select json_build_object(
        'conditions', (select coalesce(json_agg(c), '[]') from (
            select seq, kind, name, match, created, expires, status, ended, waiters
            from scylla.condition where seq = any (array(
                (select seq from scylla.condition where kind = 'signal' and ($1::bigint is null or seq < $1::bigint) limit 100)
                union all
                (select seq from scylla.condition where kind = 'callback' and ($1::bigint is null or seq < $1::bigint) limit 100)
                union all
                (select seq from scylla.condition where kind = 'check' and ($1::bigint is null or seq < $1::bigint) limit 100)))
            order by seq desc limit 100) c),
        'signals', (select coalesce(json_agg(s), '[]') from (
            select seq, name, sent, sender, params, payload
            from scylla.signal where seq = any (array(
                select seq from scylla.signal where $2::bigint is null or seq < $2::bigint limit 100))
            order by seq desc) s),
        'triggers', (select coalesce(json_agg(t order by name), '[]') from scylla.trigger t),
        'failures', (select coalesce(json_agg(f), '[]') from (
            select * from scylla.trigger_failure order by trigger, failed limit 100) f)))";

constexpr const char *k_errors = R"(
    select coalesce(json_agg(e), '[]') from (
        select queue, errors -> -1 ->> 'code' as code, errors -> -1 ->> 'message' as message, count(*) as tasks,
               min(updated) as first, max(updated) as last, (array_agg(rn order by updated desc))[1:3] as newest
        from scylla.dead_tasks(max_tasks => 1000) group by 1, 2, 3 order by count(*) desc, 1, 2, 3) e)";

constexpr const char *k_workflows = R"(
    select coalesce(json_agg(x), '[]') from (
        select w.id, w.owner, w.active_version, w.latest_version, w.strategy, w.concurrency, w.modified, w.next_start, w.paused,
               (select json_build_object('instance', r.instance, 'run', r.run, 'status', r.status, 'started', r.started)
                from scylla.workflow_run r where r.workflow = w.id and r.instance = w.latest_instance order by r.run desc limit 1) as last
        from scylla.workflow w where w.id = any (array(
            select id from scylla.workflow
            where $1::text is null or (modified, id) < (split_part($1, ' ', 1)::timestamptz, split_part($1, ' ', 2))
            order by modified desc, id desc limit 100))
        order by w.modified desc, w.id desc) x)";

constexpr const char *k_templates = R"(
    select coalesce(json_agg(t), '[]') from (
        select job_type, version, type, status, inherit_from, description, owner, modified
        from scylla.job_template order by job_type, modified desc, version limit 500) t)";

constexpr const char *k_template = R"(
    select coalesce((select row_to_json(t) from scylla.job_template t where job_type = $1 and version = $2), '{}'))";

// Whether the role has the privilege run, or admin, on the workflow w.
#define MAY_RUN IS_ONE_OF("w.owner", "(w.runners || w.admins)")
#define MAY_CHANGE IS_ONE_OF("w.owner", "w.admins")

// The view cannot be read from its end, so runs are looked for among the hundred instances that come next, and among
// all others only if they do not fill the page.
#define RUNS                                                                                                           \
    "select workflow, instance, run, version, status, initiator, created, started, ended from scylla.workflow_run "    \
    "where workflow = $1 and ($2::text is null or status = $2) "
constexpr const char *k_workflow =
    R"(
    with place as materialized (
        select coalesce(split_part($3, '.', 1)::bigint, latest_instance) as instance, coalesce(split_part($3, '.', 2)::integer, 2147483647) as run
        from scylla.workflow where id = $1),
    near as materialized ()" RUNS R"(
        and instance > (select instance - 100 from place) and instance <= (select instance from place)
        and (instance, run) < (select instance, run from place)
        order by instance desc, run desc limit 50),
    found as (
        select * from near union all
        select * from ()" RUNS
    R"(and instance <= (select instance - 100 from place) order by instance desc, run desc limit 50) far
        where (select count(*) from near) < 50)
    select json_build_object('workflow', (select row_to_json(w) from scylla.workflow w where w.id = $1),
        'may_run', (select )" MAY_RUN R"( from scylla.workflow w where w.id = $1),
        'may_change', (select )" MAY_CHANGE R"( from scylla.workflow w where w.id = $1),
        'params', (select v.definition -> 'params' from scylla.workflow_version v where v.workflow = $1 and v.is_active),
        'steps', (select jsonb_path_query_array(v.definition, 'strict $.**.steps[*].*.id') from scylla.workflow_version v
                  where v.workflow = $1 order by v.is_active desc, v.version desc limit 1),
        'breakpoints', (select coalesce(json_agg(b), '[]') from (
            select * from scylla.workflow_breakpoint where workflow = $1 order by created desc limit 100) b),
        'versions', (select coalesce(json_agg(v), '[]') from (
            select version, is_active, author, created from scylla.workflow_version where workflow = $1 order by version desc limit 50) v),
        'runs', (select coalesce(json_agg(r), '[]') from (select * from found order by instance desc, run desc limit 50) r)))";

// The steps in no loop of the last run of an instance, including those that an earlier run has left. An older run shows
// its own last attempts. $1, $2, $3: workflow, instance, run.
#define STEPS                                                                                                          \
    "steps as ("                                                                                                       \
    "select s.run, s.step, s.iterations, s.attempt, s.status, s.error, s.created, s.started, s.ended, s.rollup "       \
    "from scylla.workflow_step s where s.workflow = $1 and s.instance = $2::bigint and s.iterations is null "          \
    "and (select is_last from named where is_it) "                                                                     \
    "union all "                                                                                                       \
    "select * from (select distinct on (a.step) a.run, a.step, a.iterations, a.attempt, a.status, "                    \
    "a.error, a.created, a.started, a.ended, null::jsonb from scylla.workflow_step_attempt a "                         \
    "where a.workflow = $1 and a.instance = $2::bigint and a.run = $3::integer and a.iterations is null "              \
    "and not (select is_last from named where is_it) order by a.step, a.attempt desc) a)"
#define NAMED                                                                                                          \
    "named as materialized (select r.*, r.run = max(r.run) over () as is_last, "                                       \
    "r.run = coalesce($3::integer, max(r.run) over ()) as is_it from scylla.workflow_run r "                           \
    "where r.workflow = $1 and r.instance = $2::bigint)"

// Steps in loops are only counted here; each level of a loop is a look of its own. Without a run: the last one.
constexpr const char *k_run = "with " NAMED ", " STEPS R"(
    select json_build_object('run', (select row_to_json(r) from named r where is_it),
        'definition', v.definition, 'active', w.active_version is not null, 'paused', w.paused, 'may_run', )" MAY_RUN
                              R"(, 'last', r.is_last,
        'steps', (select coalesce(json_agg(s), '[]') from steps s),
        'rollup', (select json_build_object('total', u.total_leaf_count, 'overview', u.overview) from scylla.workflow_rollup u
                   where r.is_last and u.workflow = r.workflow and u.instance = r.instance),
        'failed', (select coalesce(json_agg(f), '[]') from (
            select workflow_id, instance_id, step, iterations, attempt, status, ended, error
            from scylla.failed_steps(r.workflow, r.instance, 20)) f where r.is_last),
        'children', (select coalesce(json_agg(c), '[]') from (
            select lag(t.name) over (order by t.n) as step, t.depth, t.kind, t.workflow_id as workflow, t.instance_id as instance, t.attempt as run, t.status
            from rows from (scylla.run_tree(r.workflow, r.instance, 0)) with ordinality
                t (depth, kind, name, iterations, count, status, attempt, started, ended, params, error, task, workflow_id, instance_id, n)
            where t.depth <= 2) c where r.is_last and v.definition @? '$.steps[*].subworkflow' and c.depth = 2 and c.kind = 'run'),
        'breakpoints', (select coalesce(json_agg(b), '[]') from (
            select * from scylla.workflow_breakpoint b
            where b.workflow = r.workflow and coalesce(b.instance, r.instance) = r.instance and coalesce(b.run, r.run) = r.run
              and coalesce(b.version, r.version) = r.version order by b.created desc limit 100) b))
    from (select) one
    left join named r on r.is_it
    left join scylla.workflow w on w.id = r.workflow
    left join scylla.workflow_version v on v.workflow = r.workflow and v.version = r.version)";

// 50 iterations of a loop with the steps in them, failed ones first. $4: the numbers of the iterations that the loop is
// in; $5: the loop; the ids of its steps; $6: only iterations with a step of that status; $7: after this
// "rank:numbers". Those of the last run have rows of their own; those of an older run are found by its attempts. An
// iteration that has succeeded has no failed step, so where few have not, only their steps are read.
#define OF_LOOP                                                                                                        \
    "cardinality(i.iterations) = coalesce(cardinality(string_to_array($4, ',')), 0) + 1 and "                          \
    "($4::text is null or i.iterations[1:cardinality(i.iterations) - 1] = string_to_array($4, ',')::bigint[])"
#define AFTER                                                                                                          \
    "($7::text is null or (rank, iterations) > (split_part($7, ':', 1)::integer, "                                     \
    "string_to_array(split_part($7, ':', 2), ',')::bigint[])) order by rank, iterations limit 50"
constexpr const char *k_iterations = "with " NAMED R"(, inner_step as materialized (
        select n #>> '{}' as step from named join scylla.workflow_version v using (workflow, version)
        cross join lateral jsonb_path_query(v.definition, 'strict $.**.steps[*].* ? (@.id == $loop).steps[*].*.id', jsonb_build_object('loop', $5::text)) n
        where named.is_it),
    all_of_last as materialized (
        select i.iterations, case when i.ended is null then 1 when i.status = 'SUCCEEDED' then 2 else 0 end as rank
        from scylla.workflow_loop_iteration i
        where i.workflow = $1 and i.instance = $2::bigint and i.loop = $5 and (select is_last from named where is_it) and )" OF_LOOP
                                     R"(),
    few as materialized (
        select case when $6 ~ 'FAILED|TIMED_OUT|STOPPED' and count(*) <= 200 then array_agg(iterations[1]) end as first_numbers
        from all_of_last where rank <> 2),
    of_last as materialized (
        select iterations, rank from all_of_last
        where ($6::text is null or iterations in (
                  select s.iterations from scylla.workflow_step s
                  where s.workflow = $1 and s.instance = $2::bigint and s.status = $6 and s.step = any (array(select step from inner_step))
                    and ((select first_numbers from few) is null or s.iterations[1] = any ((select first_numbers from few)::bigint[]))))
          and )" AFTER R"(),
    attempt as materialized (
        select distinct on (i.step, i.iterations) i.run, i.step, i.iterations, i.attempt, i.status, i.error, i.created, i.started, i.ended, null::jsonb as rollup
        from scylla.workflow_step_attempt i
        where i.workflow = $1 and i.instance = $2::bigint and i.run = $3::integer and not (select is_last from named where is_it)
          and i.step = any (array(select step from inner_step)) and )" OF_LOOP R"(
        order by i.step, i.iterations, i.attempt desc),
    of_older as materialized (
        select iterations, rank from (
            select iterations, min(case when status ~ 'FAILED|TIMED_OUT' then 0 when ended is null then 1 else 2 end) as rank
            from attempt group by iterations having $6::text is null or bool_or(status = $6)) i
        where )" AFTER R"(),
    step as (
        select s.run, s.step, s.iterations, s.attempt, s.status, s.error, s.created, s.started, s.ended, s.rollup
        from scylla.workflow_step s
        where s.workflow = $1 and s.instance = $2::bigint and s.step = any (array(select step from inner_step))
          and s.iterations[1] >= (select min(iterations[1]) from of_last) and s.iterations[1] <= (select max(iterations[1]) from of_last)
          and s.iterations[1] = any (array(select iterations[1] from of_last))
        union all select * from attempt)
    select json_build_object('iterations', coalesce(json_agg(i order by rank, iterations), '[]')) from (
        select i.iterations, i.rank, json_agg(s) as steps
        from (select * from of_last union all select * from of_older) i join step s using (iterations) group by i.iterations, i.rank) i)";

// What is in loops is left out where it is much: the view must read and sort all of it.
constexpr const char *k_timeline = R"(
    with many as materialized (
        select coalesce(max(total_leaf_count), 0) > 2000 as leaves from scylla.workflow_rollup where workflow = $1 and instance = $2::bigint)
    select json_build_object('without_loops', (select leaves from many), 'events', coalesce(json_agg(t order by at desc, step, iterations), '[]')) from (
        (select run, step, iterations, attempt, at, type, level, message from scylla.workflow_timeline
         where workflow = $1 and instance = $2::bigint and not (select leaves from many) order by at desc, step, iterations limit 200)
        union all
        (select run, step, iterations, attempt, at, type, level, message from scylla.workflow_timeline
         where workflow = $1 and instance = $2::bigint and iterations is null and (select leaves from many) order by at desc, step limit 200)) t)";

// What has started the instance, and the signals that its steps have sent since it was created, by the names in its
// definition.
constexpr const char *k_lineage = R"(
    with r as materialized (
        select *, min(created) over () as since from scylla.workflow_run where workflow = $1 and instance = $2::bigint order by run desc limit 1)
    select json_build_object(
        'started_by', (select coalesce(json_agg(l), '[]') from (
            select seq, signal, params, sent, source_workflow, source_instance, source_run, source_step, source_iterations
            from scylla.workflow_lineage
            where seq = any (array(select (s.value ->> 'seq')::bigint from r, jsonb_each(r.initiator -> 'signals') s))
              and target_workflow = $1 and target_instance = $2::bigint order by seq limit 100) l),
        'sent', (select coalesce(json_agg(l), '[]') from (
            select seq, signal, params, sent, source_step, source_iterations, used_by, target_workflow, target_instance
            from scylla.workflow_lineage
            where signal = any (array(
                      select n #>> '{}' from r join scylla.workflow_version v using (workflow, version)
                      cross join lateral jsonb_path_query(v.definition, '$.**.signal_outputs[*].name') n))
              and sent >= (select since from r) and source_workflow = $1 and source_instance = $2::bigint
            order by seq desc limit 100) l)))";

// The first number by itself: views with security_barrier evaluate such a comparison early, but one of arrays only
// after their own conditions.
#define OF_ITERATIONS                                                                                                  \
    "case when $5::text is null then iterations is null else iterations[1] = (string_to_array($5, ',')::bigint[])[1] " \
    "and iterations = string_to_array($5, ',')::bigint[] end"

constexpr const char *k_step = R"(
    select json_build_object(
        'step', (select row_to_json(s) from scylla.workflow_step s
                 where workflow = $1 and instance = $2::bigint and ($3::integer is null or run = $3::integer) and step = $4
                   and )" OF_ITERATIONS R"(),
        'may_run', (select )" MAY_RUN R"( from scylla.workflow w where w.id = $1),
        'run', (select json_build_object('ended', r.ended, 'version', r.version, 'initiator', r.initiator, 'last', $3::integer is null or r.run = $3::integer) from scylla.workflow_run r
                where r.workflow = $1 and r.instance = $2::bigint order by r.run desc limit 1),
        'breakpoints', (select coalesce(json_agg(b), '[]') from (
            select b.* from scylla.workflow_breakpoint b
            where b.workflow = $1 and b.step = $4 and coalesce(b.instance, $2::bigint) = $2::bigint and ($3::integer is null or coalesce(b.run, $3::integer) = $3::integer)
              and (b.iterations is null or array_to_string(b.iterations, ',') is not distinct from $5) order by b.created desc limit 20) b),
        'attempts', (select coalesce(json_agg(t order by attempt), '[]') from scylla.workflow_step_attempt t
                     where workflow = $1 and instance = $2::bigint and ($3::integer is null or run = $3::integer) and step = $4
                       and )" OF_ITERATIONS R"(),
        'action', (select json_build_object('action', action, 'role', role, 'done', done, 'outcome', outcome) from scylla.workflow_action
                   where workflow = $1 and instance = $2::bigint and ($3::integer is null or run = $3::integer) and step = $4
                     and )" OF_ITERATIONS R"( order by id desc limit 1)))";

// What the last run of an instance, or a step of it, waits for. $4: only in these iterations.
constexpr const char *k_why = R"(
    select coalesce(json_agg(w), '[]') from (
        select workflow_id as workflow, instance_id as instance, step_id as step, iterations, waits_for, since, until, detail
        from scylla.explain_run($1, $2::bigint, $3, 1000)
        where $4::text is null or array_to_string(iterations, ',') = $4 limit 50) w)";

constexpr const char *k_workers = R"(
    select coalesce(json_agg(w), '[]') from (
        select worker, queue, leases, oldest_lease, last_heartbeat, next_deadline, progress
        from scylla.stat_worker order by worker, queue limit 500) w)";

constexpr const char *k_monitor = R"(
    select json_build_object('monitor', (select row_to_json(m) from scylla.stat_monitor m),
        'sees_processes', pg_has_role('pg_read_all_stats', 'usage')))";

constexpr const char *k_server_workers = R"(
    select coalesce(json_agg(w order by pid), '[]') from (
        select *, database = current_database() as here from scylla.stat_server_worker) w)";

} // namespace

const std::vector<look> &looks() {
    static const std::vector<look> all{
        {"tasks",
         k_tasks,
         {"queue", "status", "worker", "key", "code", "spec", "created_after", "created_before", "limit", "after",
          "max_looks"},
         1000ms},
        {"task", k_task, {"rn"}, 500ms},
        {"queue", k_queue, {"name"}, 1000ms},
        {"plans", k_plans, {"before", "status"}, 2s},
        {"plan", k_plan, {"name", "whole"}, 1000ms},
        {"queues", k_queues, {"search", "page", "name"}, 1000ms},
        {"schedules", k_schedules, {"search", "page"}, 2s},
        {"pools", k_pools, {}, 1000ms},
        {"line", k_line, {}, 1000ms},
        {"jobs", k_jobs, {"before"}, 2s},
        {"conditions", k_conditions, {"before", "signals_before"}, 1000ms},
        {"errors", k_errors, {}, 5s},
        {"workflows", k_workflows, {"before"}, 1000ms},
        {"templates", k_templates, {}, 5s},
        {"template", k_template, {"type", "version"}, 1000ms},
        {"workflow", k_workflow, {"id", "status", "before"}, 1000ms},
        {"run", k_run, {"workflow", "instance", "run"}, 1000ms},
        {"iterations", k_iterations, {"workflow", "instance", "run", "inside", "loop", "status", "after"}, 5s},
        {"timeline", k_timeline, {"workflow", "instance"}, 10s},
        {"lineage", k_lineage, {"workflow", "instance"}, 5s},
        {"step", k_step, {"workflow", "instance", "run", "step", "iterations"}, 1000ms},
        {"why", k_why, {"workflow", "instance", "step", "iterations"}, 1000ms},
        {"workers", k_workers, {}, 2s},
        {"monitor", k_monitor, {}, 2s},
        {"server_workers", k_server_workers, {}, 2s},
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
#define NAME_OF_STEP                                                                                                   \
    "$1::jsonb ->> 'workflow', ($1::jsonb ->> 'instance')::bigint, $1::jsonb ->> 'step', "                             \
    "string_to_array($1::jsonb ->> 'iterations', ',')::bigint[]"
#define STEP "(" NAME_OF_STEP ")"
#define ALONE "coalesce(($1::jsonb ->> 'alone')::boolean, false)"

// A breakpoint: {"workflow", "step", and perhaps "version", "instance", "run"}.
#define BREAKPOINT                                                                                                     \
    "$1::jsonb ->> 'workflow', $1::jsonb ->> 'step', ($1::jsonb ->> 'version')::integer, "                             \
    "($1::jsonb ->> 'instance')::bigint, ($1::jsonb ->> 'run')::integer"

// Does what a schedule does at a planned time, as the role of the console. The name contains milliseconds, so it
// differs from that of every planned time.
constexpr const char *k_run_schedule = R"(
    with s as (select *, name || '/' || to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as made
               from scylla.schedules where name = $1::jsonb ->> 'schedule'),
    given (task) as (
        select coalesce(s.options, '{}') || jsonb_build_object('queue', s.queue, 'spec', s.spec, 'rn', s.made) from s where s.queue is not null
        union all
        select t.task || jsonb_build_object('plan', s.made, 'rn', s.made || '/' || coalesce(t.task ->> 'rn', t.n::text)) ||
               case when jsonb_typeof(t.task -> 'depends_on') = 'array' then jsonb_build_object('depends_on',
                   (select coalesce(jsonb_agg(s.made || '/' || d.name), '[]') from jsonb_array_elements_text(t.task -> 'depends_on') d (name))) else '{}' end
        from s cross join lateral jsonb_array_elements(s.tasks) with ordinality t (task, n)),
    tasks (all_of_them) as (
        select jsonb_agg(g.task || case when s.planned_key is not null and jsonb_typeof(g.task -> 'spec') = 'object' then jsonb_build_object('spec',
            g.task -> 'spec' || jsonb_build_object(s.planned_key, to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))) else '{}' end)
        from s cross join given g),
    made as materialized (select scylla.create_plan(s.made) as plan from s where s.tasks is not null),
    submitted as materialized (
        select m.plan, n.rn from tasks t left join made m on true
        cross join lateral scylla.submit_many(case when m.plan is distinct from '' then t.all_of_them end) n
        where t.all_of_them is not null)
    select coalesce((select case
        when s.workflow is not null then (
            select json_build_object('workflow', s.workflow, 'instance', w.instance, 'run', w.run) from scylla.start_workflow(s.workflow) w)
        when s.job is not null then json_build_object('plan', scylla.run_job(s.job, s.ids, coalesce(s.args, '{}') ||
            case when s.planned_key is null then '{}' else jsonb_build_object(s.planned_key, to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) end,
            coalesce(s.options, '{}') || jsonb_build_object('plan', s.made)))
        when s.tasks is not null then (
            select json_build_object('plan', o.plan) from (select plan, count(*) as tasks from submitted group by plan) o
            where scylla.open_plan(case when o.tasks > 0 then o.plan end) is not null)
        else (select json_build_object('rn', n.rn) from submitted n) end
        from s)::text, '{"missing": true}'))";

namespace {

constexpr change k_changes[] = {
    {"cancel", "select json_build_object('rn', t.rn, 'status', t.status) from scylla.cancel($1::jsonb ->> 'rn') t"},
    {"resubmit", "select json_build_object('rn', t.rn, 'status', t.status) from scylla.resubmit($1::jsonb ->> 'rn') t"},
    // Previews of the next three, up to a thousand tasks.
    {"preview_resubmit",
     PREVIEW "scylla.resubmit_matching($1::jsonb -> 'filter', preview => true, max_looks => 100000)"},
    {"preview_cancel", PREVIEW "scylla.cancel_many($1::jsonb -> 'filter', preview => true, max_looks => 100000)"},
    {"preview_yield", PREVIEW "scylla.yield_many($1::jsonb -> 'filter', preview => true, max_looks => 100000)"},
    {"cancel_all", PORTION "scylla.cancel_many($1::jsonb -> 'filter', 250, $1::jsonb ->> 'after', false, 20000)", true},
    {"yield_all", PORTION "scylla.yield_many($1::jsonb -> 'filter', 250, $1::jsonb ->> 'after', false, 20000)", true},
    {"resubmit_all",
     "select json_build_object('done', count(rn), 'problems', '[]'::json, 'next', max(cursor) filter (where rn is "
     "null)) from scylla.resubmit_matching($1::jsonb -> 'filter', 250, $1::jsonb ->> 'after', false, 20000)",
     true},
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
                       "scylla.start_workflow($1::jsonb ->> 'workflow', coalesce($1::jsonb -> 'params', '{}')) s"},
    {"pause_workflow", "select '{}' from scylla.pause_workflow($1::jsonb ->> 'workflow')"},
    {"resume_workflow", "select '{}' from scylla.resume_workflow($1::jsonb ->> 'workflow')"},
    {"set_breakpoint", "select '{}' from scylla.set_breakpoint(" BREAKPOINT ")"},
    {"drop_breakpoint",
     "select '{}' from scylla.drop_breakpoint(" BREAKPOINT ", coalesce(($1::jsonb ->> 'resume')::boolean, false))"},
    {"stop_run", "select '{}' from scylla.stop_run($1::jsonb ->> 'workflow', ($1::jsonb ->> 'instance')::bigint)"},
    {"kill_run", "select '{}' from scylla.kill_run($1::jsonb ->> 'workflow', ($1::jsonb ->> 'instance')::bigint)"},
    {"restart_run", "select json_build_object('workflow', r.of_workflow, 'instance', r.of_instance, 'run', r.run, "
                    "'status', r.status) "
                    "from scylla.restart_run($1::jsonb ->> 'workflow', ($1::jsonb ->> 'instance')::bigint, "
                    "$1::jsonb ->> 'policy', alone => " ALONE ") r"},
    {"stop_step", "select '{}' from scylla.stop_step" STEP},
    {"kill_step", "select '{}' from scylla.kill_step" STEP},
    {"skip_step", "select '{}' from scylla.skip_step" STEP},
    {"restart_step", "select '{}' from scylla.restart_step(" NAME_OF_STEP ", " ALONE ")"},
    {"pause_step", "select '{}' from scylla.pause_step" STEP},
    {"resume_step", "select '{}' from scylla.resume_step" STEP},
    {"activate_workflow",
     "select '{}' from scylla.activate_workflow($1::jsonb ->> 'workflow', ($1::jsonb ->> 'version')::integer)"},
    {"drain_pool", "select '{}' from scylla.drain_pool($1::jsonb ->> 'pool')"},
    {"resume_pool", "select '{}' from scylla.resume_pool($1::jsonb ->> 'pool')"},
    {"run_schedule", k_run_schedule},
    {"pause_trigger", "select '{}' from scylla.pause_trigger($1::jsonb ->> 'trigger')"},
    {"resume_trigger", "select '{}' from scylla.resume_trigger($1::jsonb ->> 'trigger')"},
};

} // namespace

std::span<const change> changes() { return k_changes; }

} // namespace scylla::cli::console
