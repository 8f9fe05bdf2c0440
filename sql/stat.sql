-- Statistics, like the server's own pg_stat views: counters in shared memory, and the current numbers of tasks. Without
-- shared_preload_libraries the counters are null, and each query counts the tables.

-- ---- queues ----------------------------------------------------------------------------------------------------------

create or replace function scylla._stat_queues(
        may_count boolean,
        out queue text, out waiting bigint, out ready bigint, out running bigint, out terminal bigint, out oldest_ready interval,
        out submitted bigint, out leased bigint, out completed bigint, out aborted bigint, out cancelled bigint,
        out failed bigint, out expired bigint, out yielded bigint, out purged bigint,
        out total_wait_time double precision, out wait_histogram bigint[],
        out total_run_time double precision, out run_histogram bigint[], out stats_reset timestamptz,
        out refused bigint, out shed bigint)
    returns setof record
    language c volatile parallel unsafe rows 100 as 'MODULE_PATHNAME', 'scylla_stat_queues';
comment on function scylla._stat_queues is
'The rows of scylla.stat_queue. may_count false: the tables are not counted again if they have been since the server started.';

create or replace view scylla.stat_queue as select * from scylla._stat_queues(true);
comment on view scylla.stat_queue is
'One row per queue that the current user may view (members of pg_monitor: every queue): the number of its tasks in each state, and
what committed transactions have done since stats_reset.';
comment on column scylla.stat_queue.queue is 'The queue.';
comment on column scylla.stat_queue.waiting is 'Tasks that wait: for their time, for other tasks, for conditions, for pools, or for their plan.';
comment on column scylla.stat_queue.ready is 'Tasks that can be leased.';
comment on column scylla.stat_queue.running is 'Tasks that are leased.';
comment on column scylla.stat_queue.terminal is 'Finished tasks that are not purged yet.';
comment on column scylla.stat_queue.oldest_ready is
    'The longest time that a task has been ready, among those that would be leased next (the first 100 of each priority).';
comment on column scylla.stat_queue.submitted is 'Submitted tasks.';
comment on column scylla.stat_queue.leased is 'Leases.';
comment on column scylla.stat_queue.completed is 'Tasks that ended as completed.';
comment on column scylla.stat_queue.aborted is 'Tasks that ended as aborted: by abort, or by their last failure or time-out.';
comment on column scylla.stat_queue.cancelled is 'Tasks that ended as cancelled.';
comment on column scylla.stat_queue.failed is 'Leases that ended by fail.';
comment on column scylla.stat_queue.expired is 'Leases that expired.';
comment on column scylla.stat_queue.yielded is 'Leases that ended by yield.';
comment on column scylla.stat_queue.purged is 'Tasks removed after their retention.';
comment on column scylla.stat_queue.total_wait_time is 'Total time in milliseconds for which leased tasks had been ready.';
comment on column scylla.stat_queue.wait_histogram is
'The same times as counts of leases: element n counts those up to 2^(n-1) milliseconds that no earlier element counts, the last
one all longer times.';
comment on column scylla.stat_queue.total_run_time is
    'Total duration in milliseconds of leases that ended by complete, abort or fail.';
comment on column scylla.stat_queue.run_histogram is 'The same durations as counts of leases, see wait_histogram.';
comment on column scylla.stat_queue.stats_reset is 'When counting began; null while nothing has happened.';
comment on column scylla.stat_queue.refused is 'Tasks whose submit failed because of max_depth.';
comment on column scylla.stat_queue.shed is 'Tasks that were cancelled at their submit because of max_depth.';

create or replace function scylla.quantile(histogram bigint[], fraction double precision) returns interval
    language c immutable parallel safe as 'MODULE_PATHNAME', 'scylla_quantile';
comment on function scylla.quantile is
'The time that the given fraction (0 to 1) of the times in a histogram of scylla.stat_queue does not exceed. It is interpolated and
correct within a factor of two. Null if the histogram is empty. Errors: 22023 bad argument.';

create or replace function scylla.count_tasks(queue text = null, out queue_name text, out status scylla.task_status,
                                   out tasks bigint)
    returns setof record
    language c volatile parallel unsafe rows 600 as 'MODULE_PATHNAME', 'scylla_count_tasks';
comment on function scylla.count_tasks is
'Counts the tasks of a queue (null: of each queue) by status. The numbers are exact: it reads the tables. It also corrects the
numbers of tasks in scylla.stat_queue.';

-- ---- workers ---------------------------------------------------------------------------------------------------------

create or replace view scylla.stat_worker with (security_barrier) as
    select l.owner as worker, q.name as queue, count(*) as leases, min(l.leased) as oldest_lease,
           max(l.updated) as last_heartbeat, min(l.deadline) as next_deadline, avg(l.progress)::real as progress
    from scylla.task_lease l
    join scylla.queue q on q.id = l.queue and scylla._may_watch(q.owner, q.viewers, q.admins)
    where l.id > 0 -- all have: so they are found by the index, and not in the pages that earlier leases have left empty
    group by l.owner, q.name;
comment on view scylla.stat_worker is 'One row per worker and queue: the leases that the worker holds, and its last heartbeat.';
comment on column scylla.stat_worker.worker is 'The worker.';
comment on column scylla.stat_worker.queue is 'The queue.';
comment on column scylla.stat_worker.leases is 'How many tasks it holds.';
comment on column scylla.stat_worker.oldest_lease is 'When it got its oldest lease.';
comment on column scylla.stat_worker.last_heartbeat is 'When it last got a lease or extended one.';
comment on column scylla.stat_worker.next_deadline is 'When the first of its leases expires unless a heartbeat extends it.';
comment on column scylla.stat_worker.progress is 'Mean progress of its tasks, 0 to 1.';

-- ---- what tasks wait for -----------------------------------------------------------------------------------------------

-- Compiling the query that finds the callbacks would take longer than running it.
create or replace function scylla._stat_waits(
        out queue text, out for_signals bigint, out for_callbacks bigint, out for_checks bigint, out for_pools bigint,
        out deferred bigint, out checks bigint)
    returns setof record
    language c volatile parallel unsafe rows 100 set jit = off as 'MODULE_PATHNAME', 'scylla_stat_waits';
comment on function scylla._stat_waits is 'The rows of scylla.stat_waiting.';

create or replace view scylla.stat_waiting as select * from scylla._stat_waits();
comment on view scylla.stat_waiting is
'One row per queue with tasks that wait for conditions or pools, or with checks, of those that the current user may view (members of
pg_monitor: every queue). A task that waits for several things counts with each.';
comment on column scylla.stat_waiting.queue is 'The queue.';
comment on column scylla.stat_waiting.for_signals is 'Tasks that wait for signals. Steps of workflows that do are in scylla.stat_workflow.';
comment on column scylla.stat_waiting.for_callbacks is 'Tasks that wait for callbacks.';
comment on column scylla.stat_waiting.for_checks is 'Tasks that wait for the answer of a check, in any queue.';
comment on column scylla.stat_waiting.for_pools is 'Tasks that wait only for pools: for permits or other resources.';
comment on column scylla.stat_waiting.deferred is 'Those of the tasks that wait for signals, callbacks or checks that have run before: a worker has deferred them.';
comment on column scylla.stat_waiting.checks is 'Checks that this queue has not answered yet.';

-- ---- triggers --------------------------------------------------------------------------------------------------------

create or replace view scylla._stat_trigger as
    select t.name as trigger, t.paused, t.fired, t.skipped, coalesce(a.waiting, 0) as waiting, coalesce(f.failing, 0) as failing,
           t.last_fired, t.failed, t.owner, t.missed
    from scylla.signal_trigger t
    left join (select trigger, count(distinct seq) as waiting from scylla.signal_arrival group by trigger) a on a.trigger = t.id
    left join (select trigger, count(*) as failing from scylla.signal_trigger_failure group by trigger) f on f.trigger = t.id;
comment on view scylla._stat_trigger is 'The rows of scylla.stat_trigger, with who may see them.';

create or replace view scylla.stat_trigger with (security_barrier) as
    select trigger, owner::text as owner, paused, fired, skipped, waiting, failing, last_fired, failed, missed
    from scylla._stat_trigger
    where scylla._may_watch(owner, null, null);
comment on view scylla.stat_trigger is
'One row per trigger of the current user and the roles it is a member of (members of pg_monitor: every trigger): how often its action has
been carried out, and what is left over.';
comment on column scylla.stat_trigger.trigger is 'The trigger.';
comment on column scylla.stat_trigger.owner is 'The role that created it.';
comment on column scylla.stat_trigger.paused is 'Whether it collects signals without carrying out its action.';
comment on column scylla.stat_trigger.fired is 'How often its action has been carried out.';
comment on column scylla.stat_trigger.skipped is 'How often its condition was not true.';
comment on column scylla.stat_trigger.waiting is 'Signals that wait for their partners.';
comment on column scylla.stat_trigger.failing is 'Sets for which its action has failed and is retried.';
comment on column scylla.stat_trigger.missed is 'How many sets were older than its grace.';
comment on column scylla.stat_trigger.last_fired is 'When its action was last carried out.';
comment on column scylla.stat_trigger.failed is 'When its action last failed, or a signal was denied to it; null: never.';

-- ---- workflows -------------------------------------------------------------------------------------------------------

-- By the index of live runs, that of failed ones, and from a run to its steps by their key; loops keep the counts of their iterations. The
-- subqueries that return one row leave the planner no other way, whatever its statistics say. Runs that have ended have no index, because they
-- are not counted.
create or replace view scylla._stat_workflow as
    select h.id as workflow, h.owner, nullif(h.active_version, 0) as active_version, p.created as paused, h.latest_instance as instances,
           coalesce(r.queued, 0) as queued, coalesce(r.running, 0) as running, coalesce(f.failed, 0) as failed, r.oldest_queued, r.oldest_running,
           coalesce(r.steps_running, 0)::bigint as steps_running, coalesce(r.steps_waiting_for_signals, 0)::bigint as steps_waiting_for_signals,
           coalesce(r.steps_waiting_for_permits, 0)::bigint as steps_waiting_for_permits, coalesce(r.steps_paused, 0)::bigint as steps_paused,
           coalesce(r.steps_retrying, 0)::bigint as steps_retrying, coalesce(r.steps_failed, 0)::bigint as steps_failed,
           coalesce(a.agenda, 0) as agenda, a.oldest_agenda, h.runners, h.viewers, h.admins
    from scylla.workflow_head h
    left join scylla.workflow_hold p on p.workflow = h.id and p.kind = 'workflow'
    left join (
        select r.workflow, count(*) filter (where r.status = 'CREATED') as queued, count(*) filter (where r.status <> 'CREATED') as running,
               min(r.created) filter (where r.status = 'CREATED') as oldest_queued, min(r.started) as oldest_running,
               sum(s.running) as steps_running, sum(s.signals) as steps_waiting_for_signals, sum(s.permits) as steps_waiting_for_permits,
               sum(s.paused) as steps_paused, sum(s.retrying) as steps_retrying, sum(s.failed) as steps_failed
        from scylla.workflow_run_state r
        left join lateral (
            select sum(c.count) filter (where c.status in ('CREATED', 'INITIALIZED', 'EVALUATING_PARAMS', 'STARTING', 'RUNNING', 'FINISHING')) as running,
                   sum(c.count) filter (where c.status = 'WAITING_FOR_SIGNALS') as signals, sum(c.count) filter (where c.status = 'WAITING_FOR_PERMITS') as permits,
                   sum(c.count) filter (where c.status = 'PAUSED') as paused,
                   sum(c.count) filter (where c.status in ('USER_FAILED', 'PLATFORM_FAILED', 'TIMEOUT_FAILED')) as retrying,
                   sum(c.count) filter (where c.status in ('FATALLY_FAILED', 'INTERNALLY_FAILED', 'TIMED_OUT')) as failed
            from (select coalesce(e.key, s.status) as status, coalesce((e.value ->> 'cnt')::bigint, 1) as count
                  from scylla.workflow_step_state s
                  left join lateral (select * from jsonb_each(s.rollup) limit 22) e on true
                  where s.scope = r.id and r.status <> 'CREATED') c
        ) s on true
        where r.ended is null
        group by r.workflow
    ) r on r.workflow = h.id
    left join (select b.workflow, count(*) as failed from scylla.workflow_run_state b where b.blocks group by b.workflow) f on f.workflow = h.id
    left join (
        select (select r.workflow from scylla.workflow_run_state r
                where r.id = coalesce((select p.root from scylla.workflow_plan p where p.plan = a.root), a.root)) as workflow,
               count(*) as agenda, min(a.noted) as oldest_agenda
        from scylla.workflow_agenda a
        group by 1
    ) a on a.workflow = h.id;
comment on view scylla._stat_workflow is 'The rows of scylla.stat_workflow, with who may see them.';

create or replace view scylla.stat_workflow with (security_barrier) as
    select workflow, owner::text as owner, active_version, paused, instances, queued, running, failed, oldest_queued, oldest_running,
           steps_running, steps_waiting_for_signals, steps_waiting_for_permits, steps_paused, steps_retrying, steps_failed, agenda, oldest_agenda
    from scylla._stat_workflow
    where scylla._may_watch(owner, viewers || runners, admins);
comment on view scylla.stat_workflow is
'One row per workflow that the current user may view (members of pg_monitor: every workflow): how many of its runs and steps are in which
state. It reads what is live, so its price does not grow with the runs that have ended.';
comment on column scylla.stat_workflow.workflow is 'The id of the workflow.';
comment on column scylla.stat_workflow.owner is 'The role that created it.';
comment on column scylla.stat_workflow.active_version is 'The active version; null: none.';
comment on column scylla.stat_workflow.paused is 'When pause_workflow() paused it; null: it is not paused.';
comment on column scylla.stat_workflow.instances is 'Instances that were ever started, including those of a dropped workflow with this id.';
comment on column scylla.stat_workflow.queued is 'Runs that wait for their turn.';
comment on column scylla.stat_workflow.running is 'Runs in progress.';
comment on column scylla.stat_workflow.failed is
    'Instances that are kept, whose last run has failed, and that were not restarted or unblocked.';
comment on column scylla.stat_workflow.oldest_queued is 'When the run that has been queued longest was requested; null: none is queued.';
comment on column scylla.stat_workflow.oldest_running is 'When the run that has been in progress longest began; null: none is in progress.';
comment on column scylla.stat_workflow.steps_running is
    'Steps of these runs that are in progress, also those whose task no worker has leased yet. Those in loops count, and a loop only while it is empty.';
comment on column scylla.stat_workflow.steps_waiting_for_signals is 'Steps that wait for signals.';
comment on column scylla.stat_workflow.steps_waiting_for_permits is 'Steps that wait for permits.';
comment on column scylla.stat_workflow.steps_paused is 'Steps that a breakpoint or a pause holds back.';
comment on column scylla.stat_workflow.steps_retrying is 'Steps that have failed and will be retried.';
comment on column scylla.stat_workflow.steps_failed is 'Steps that have failed permanently, in runs that have not ended.';
comment on column scylla.stat_workflow.agenda is 'Events of its runs that the engine has not processed yet.';
comment on column scylla.stat_workflow.oldest_agenda is 'When the oldest of these events happened; null: there are none.';

-- ---- the monitor -----------------------------------------------------------------------------------------------------

create or replace function scylla._stat_monitor(
        out rounds bigint, out total_time double precision, out max_time double precision,
        out opened bigint, out expired bigint, out purged bigint, out last_round timestamptz,
        out errors bigint, out last_error text, out last_error_time timestamptz, out stats_reset timestamptz)
    returns setof record
    language c volatile parallel restricted rows 1 as 'MODULE_PATHNAME', 'scylla_stat_monitor';
comment on function scylla._stat_monitor is 'The counters that scylla.stat_monitor shows.';

create or replace function scylla._failing_duties(out failing text[], out failing_since timestamptz)
    returns setof record
    language c volatile parallel restricted rows 1 as 'MODULE_PATHNAME', 'scylla_failing_duties';
comment on function scylla._failing_duties is 'What the monitor of this database cannot do, for scylla.stat_monitor; no row: it can do all.';

create or replace view scylla.stat_monitor as
    select (select a.pid from pg_catalog.pg_stat_activity a
            where a.backend_type = 'scylla monitor' and a.datname = pg_catalog.current_database() limit 1) as pid, m.*,
           (select count(*)::integer from pg_catalog.pg_stat_activity a
            where a.backend_type = 'scylla worker' and a.datname = pg_catalog.current_database()) as server_workers,
           f.failing, f.failing_since
    from scylla._stat_monitor() m left join scylla._failing_duties() f on true;
comment on view scylla.stat_monitor is
'What the monitor of this database has done since stats_reset; no row before its first round.';
comment on column scylla.stat_monitor.pid is 'Its process; null: none is running now.';
comment on column scylla.stat_monitor.rounds is 'Transactions in which it looked for work.';
comment on column scylla.stat_monitor.total_time is 'Their total duration in milliseconds.';
comment on column scylla.stat_monitor.max_time is 'Duration of the longest in milliseconds.';
comment on column scylla.stat_monitor.opened is 'Delayed tasks that it made ready.';
comment on column scylla.stat_monitor.expired is 'Leases that it expired.';
comment on column scylla.stat_monitor.purged is 'Old tasks that it removed.';
comment on column scylla.stat_monitor.last_round is 'When it last looked for work.';
comment on column scylla.stat_monitor.errors is 'Errors in its work. One ends a turn of a duty, which is tried again after 1 s, 2 s and so on up to 30 s; the other duties go on.';
comment on column scylla.stat_monitor.last_error is 'Message of the last error.';
comment on column scylla.stat_monitor.last_error_time is 'When it happened.';
comment on column scylla.stat_monitor.stats_reset is 'When counting began.';
comment on column scylla.stat_monitor.server_workers is
    'How many processes that call handlers run in this database now; scylla.stat_server_worker has a row for each.';
comment on column scylla.stat_monitor.failing is 'Duties whose last turn ended with an error; null: none.';
comment on column scylla.stat_monitor.failing_since is 'Since when there are such duties; null: there are none.';

create or replace function scylla._server_workers(
        out pid integer, out database text, out role text, out state text, out queue text, out task text, out job text,
        out schedule text, out since timestamptz, out queue_id integer)
    returns setof record
    language c volatile parallel restricted rows 2 as 'MODULE_PATHNAME', 'scylla_server_workers';
comment on function scylla._server_workers is 'The server workers of all databases in shared memory. queue_id: of a queue of this one.';

create or replace view scylla.stat_server_worker with (security_barrier) as
    select w.pid, w.database, w.role, w.state, w.queue, w.task, w.job, w.schedule, w.since
    from scylla._server_workers() w
    left join scylla.queue q on q.id = w.queue_id
    where scylla._may_watch(coalesce(q.owner, w.role::name, ''), q.viewers, q.admins);
comment on view scylla.stat_server_worker is
'The processes of all databases that call the handlers of queues, and what they call: those of roles that the current user is a member of,
and those that run a task of a queue of this database that it may view (members of pg_monitor: all).';
comment on column scylla.stat_server_worker.pid is 'The process; null: it is starting.';
comment on column scylla.stat_server_worker.database is 'Its database.';
comment on column scylla.stat_server_worker.role is
    'The role that it is connected as: the owner of its queues; null: it is the engine of workflows.';
comment on column scylla.stat_server_worker.state is
    'starting; running: it is calling a handler, or select_work of a job; looking: for a task; idle: it has found none; stopping: it was asked to exit.';
comment on column scylla.stat_server_worker.queue is 'The queue of the task that it runs.';
comment on column scylla.stat_server_worker.task is 'The name of that task.';
comment on column scylla.stat_server_worker.job is 'The job whose schedule it runs.';
comment on column scylla.stat_server_worker.schedule is 'The name of that schedule.';
comment on column scylla.stat_server_worker.since is 'When it began what it is doing.';

create or replace function scylla._databases(
        out database text, out has_monitor boolean, out next_due timestamptz, out waits_since timestamptz, out visits bigint, out micros bigint)
    returns setof record
    language c volatile parallel restricted rows 10 as 'MODULE_PATHNAME', 'scylla_databases';
comment on function scylla._databases is 'The databases of this server that have the extension, as the launcher knows them.';

create or replace view scylla.stat_database as
    select d.database, d.has_monitor, d.next_due, d.waits_since, d.visits, d.micros * interval '1 microsecond' as time_used
    from scylla._databases() d;
comment on view scylla.stat_database is
'The databases of this server in which a monitor has found the extension, since the server started. For members of pg_monitor.';
comment on column scylla.stat_database.database is 'Its name.';
comment on column scylla.stat_database.has_monitor is 'Whether a monitor runs there, or is being started or stopped. A database in which nothing is due needs none.';
comment on column scylla.stat_database.next_due is
    'When something is to be done there next, as far as commits and monitors have told; null: nothing is known; 2000-01-01: now.';
comment on column scylla.stat_database.waits_since is 'Since when something has been due without a monitor; null: it does not wait.';
comment on column scylla.stat_database.visits is 'How many monitors it has had.';
comment on column scylla.stat_database.time_used is 'How long those that have exited had run.';

create or replace view scylla._stat_clock as
    select a.what, count(*) as ahead, max(a.at) as latest, a.owner, a.viewers, a.admins
    from (select 'leases' as what, l.updated as at, q.owner, q.viewers, q.admins
          from scylla.task_lease l join scylla.queue q on q.id = l.queue
          where l.updated > clock_timestamp() + interval '2 min'
          union all
          select 'tasks', w.updated, q.owner, q.viewers, q.admins
          from (select queue, updated from scylla.task_waiting where due is not null order by due desc limit 10000) w
          join scylla.queue q on q.id = w.queue
          where w.updated > clock_timestamp() + interval '2 min'
          union all
          select 'schedules', greatest(s.handled, s.retry_at), s.owner, null, null
          from scylla.schedule s
          where greatest(s.handled, s.retry_at) > clock_timestamp() + interval '2 min'
            and s.home = (select c.system_identifier || '/' || d.oid from pg_catalog.pg_control_system() c, pg_catalog.pg_database d
                          where d.datname = current_database())) a
    group by a.what, a.owner, a.viewers, a.admins;
comment on view scylla._stat_clock is 'The rows of scylla.stat_clock, with who may see them.';

create or replace view scylla.stat_clock with (security_barrier) as
    select k.what, coalesce(sum(a.ahead), 0)::bigint as ahead, max(a.latest) as latest
    from (values ('leases'), ('schedules'), ('tasks')) k (what)
    left join scylla._stat_clock a on a.what = k.what and scylla._may_watch(a.owner, a.viewers, a.admins)
    group by k.what;
comment on view scylla.stat_clock is
'What was changed at a time that is more than two minutes ahead: the clock was ahead then, and has been set right. The monitor sets
leases and schedules right; tasks that wait for a time have to be looked at. Of queues and schedules that the current user may see
(members of pg_monitor: all).';
comment on column scylla.stat_clock.what is 'leases; schedules: time triggers of workflows, too; tasks: those that wait for a time, of the 10,000 that wait for the latest ones.';
comment on column scylla.stat_clock.ahead is 'How many there are.';
comment on column scylla.stat_clock.latest is 'The latest of the times at which they were changed; null: there are none.';

create or replace function scylla.stat_reset(queue text = null) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_stat_reset';
comment on function scylla.stat_reset is
'Resets the counters of a queue, or (null) of all queues on which the caller has admin; called by a member of the owner of the
extension also those of the monitor of this database. The numbers of tasks in each state stay. A rollback does not undo this. Needs
admin on the queue. Errors: 42704 no such queue; 42501 no privilege.';

-- ---- heads -----------------------------------------------------------------------------------------------------------

create or replace function scylla._heads(out file oid, out queue integer, out priority integer, out frontier bigint, out returned text)
    returns setof record
    language c volatile parallel unsafe rows 100 as 'MODULE_PATHNAME', 'scylla_heads';
comment on function scylla._heads is
'The heads of this database in shared memory, one row per priority that may have ready tasks, of queues that the current user may
view (members of pg_monitor: every queue).';

create or replace view scylla.stat_heads with (security_barrier) as
    select q.name as queue, h.priority, h.frontier, h.returned::int8multirange as returned
    from scylla._heads() h
    join scylla.queue q on q.id = h.queue
    where h.file = pg_relation_filenode('scylla.task_ready') and scylla._may_watch(q.owner, q.viewers, q.admins);
comment on view scylla.stat_heads is
    'Where leases start to search, per queue and priority. Only priorities that may have ready tasks.';
comment on column scylla.stat_heads.queue is 'The queue.';
comment on column scylla.stat_heads.priority is 'The priority.';
comment on column scylla.stat_heads.frontier is 'No ready task has a smaller id, except tasks that became ready again.';
comment on column scylla.stat_heads.returned is
'Ranges that may hold ready tasks with smaller ids: tasks that became ready again (retries, yields, expired leases), or that a
long transaction has leased.';

