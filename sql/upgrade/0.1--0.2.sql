-- From 0.1 to 0.2: what `create or replace` cannot do. make puts this before all functions and views of the current version
-- (REPLACED in the Makefile). So this file changes tables, and drops functions and views whose signature or columns changed.
\echo Use "ALTER EXTENSION scylla UPDATE" to load this file. \quit

comment on schema scylla is 'Scylla, a task queue and workflow engine: tasks, plans, schedules and workflows';

-- Who may view a queue could let tasks depend on its tasks; that is a privilege of its own now, and nobody loses it.
alter table scylla.queue add column dependers text[];
comment on column scylla.queue.dependers is 'Roles with the privilege "depend".';
alter table scylla.queue add column handler text;
comment on column scylla.queue.handler is 'The function that the server calls for each task, with its schema; null: none.';
update scylla.queue set dependers = viewers where viewers is not null;

-- Gates that time out. Rows that end before these columns have nulls there.
alter table scylla.task_gate add column deadline timestamptz, add column on_timeout "char", add column every bigint;
comment on column scylla.task_gate.deadline is 'When the gate times out if its provider has not ended by then; null: never.';
comment on column scylla.task_gate.on_timeout is
    'What happens then: a aborts the task, s cancels it, i opens the gate without a value. Null: there is no deadline.';
comment on column scylla.task_gate.every is 'How often the check is to be asked, in microseconds; null: as its queue says.';
alter table scylla.task_waiting add column expiring boolean;
comment on column scylla.task_waiting.expiring is
    'True: the task waits for gates, and due is when the first of them times out. Null: it is not so.';

-- Plans that job types make.
alter table scylla.task_plan add column maker "char";
comment on column scylla.task_plan.maker is
    'What has made it and is told of its tasks that are completed: j is a job. Null: create_plan().';

-- Comments of objects that are not created again.
comment on type scylla.task_status is
$$The status of a task:
  waiting   -> ready (its last gate opened) | cancelled
  ready     -> running (leased) | cancelled
  running   -> ready or waiting (lease expired, yield, fail) | completed | aborted | cancelled
  completed, aborted, cancelled are final.$$;
comment on sequence scylla.queue_id_seq is 'Ids of queues.';
comment on sequence scylla.task_id_seq is 'Ids of tasks, in the order of their submission, and of plans.';
comment on sequence scylla.worker_seq is 'Numbers for register_worker().';
comment on table scylla.queue is 'A namespace for tasks, and its settings, which the view scylla.queue_settings shows.';
comment on column scylla.queue.owner is 'The role that owns the queue and has all rights on it. At first its creator.';
comment on column scylla.queue.submitters is 'Roles with the privilege "submit"; null: none.';
comment on column scylla.queue.workers is 'Roles with the privilege "work".';
comment on column scylla.queue.viewers is 'Roles with the privilege "view".';
comment on column scylla.queue.admins is 'Roles with the privilege "admin".';
comment on table scylla.queue_rate is
    'The used rate of a queue and of each key in it. Only for servers that do not preload the library.';
comment on column scylla.queue_rate.per_key is 'True: the bucket of a key; false: the bucket of the queue.';
comment on column scylla.queue_rate.key is 'The key; the empty string: all keys of the queue without a row.';
comment on column scylla.queue_rate.arrival is 'When the bucket will be full, in nanoseconds since 2000.';
comment on column scylla.queue_rate.step is 'Nanoseconds between two tokens.';
comment on column scylla.queue_rate.burst is 'How many tokens the bucket holds.';
comment on table scylla.task_spec is 'What a task is: written by submit, removed by purge. Only its priority changes.';
comment on column scylla.task_spec.gates is 'Number of its rows in task_gate; null: none.';
comment on column scylla.task_spec.plan is 'The id of its plan in task_plan.';
comment on column scylla.task_spec.retry is 'Its retry policy; null: that of its queue.';
comment on column scylla.task_spec.dedup_key is 'Unique among the live tasks of its queue (task_dedup).';
comment on column scylla.task_spec.key is 'The tenant, customer or host that the task is for; used by limits per key.';
alter table scylla.task_spec add column needs jsonb, add column runtime bigint, add column is_check boolean, add column run_timeout bigint;
alter table scylla.task_lease add column run_timeout bigint;
-- What a walk needs to know of tasks of other queues, or with another status, to pass over them. Both indexes are built again.
alter table scylla.task_spec drop constraint task_spec_pkey, add constraint task_spec_pkey primary key (id) include (queue);
alter table scylla.task_outcome drop constraint task_outcome_pkey, add constraint task_outcome_pkey primary key (id) include (queue, status);
comment on column scylla.task_spec.run_timeout is 'How long one run of it may take, in microseconds; null: as its queue says.';
comment on column scylla.task_lease.run_timeout is 'As in task_spec.';
comment on column scylla.task_spec.is_check is 'True: it is a check, made for tasks that wait for its answer. Null: it is not.';
comment on column scylla.task_spec.needs is 'What it needs of pools, as passed to submit(); null: nothing.';
comment on column scylla.task_spec.runtime is 'Expected runtime in microseconds, for placement; null: not known.';
comment on table scylla.task_ready is 'Tasks that a worker may lease now, with the history of earlier runs.';
comment on column scylla.task_ready.key is
    'As in task_spec. In a queue that uses keys, the empty string for a task without a key, so that the index contains it.';
comment on table scylla.task_lease is 'Running tasks: the time-limited right of a worker to run one.';
comment on column scylla.task_lease.timeout is 'Microseconds by which a heartbeat extends the lease.';
comment on column scylla.task_lease.permit is
    'In a queue with a limit: the key of the task, the empty string if it has none. In other queues: null.';
comment on table scylla.task_waiting is 'Tasks with a closed gate.';
comment on column scylla.task_waiting.due is
    'When the task becomes ready; null: it waits for gates in task_gate first, then for its time.';
comment on table scylla.task_outcome is 'How a task ended: written once, removed by purge.';
comment on column scylla.task_outcome.leased is
    'When the last lease began, if that lease ended the task; null: history has all leases.';
comment on table scylla.task_gate is 'The gates of a task: one row for each provider that it depends on, and one for its plan.';
comment on column scylla.task_gate.provider is 'The id of the task, plan, condition or pool that opens the gate; all ids come from task_id_seq.';
comment on column scylla.task_gate.ord is 'Position in depends_on, from 1; 0 for the plan; pools come last.';
comment on column scylla.task_gate.kind is
't: opens when the provider, a task, is completed, and has its result as value; p: opens when the plan is opened; c: opens when the
condition ends, and has its value; r: opens when the task is placed, with a row for each pool that its needs name; k: as t, where the provider is a
check.';
comment on column scylla.task_gate.on_failure is
    'What happens when the provider is aborted or cancelled: c aborts the task, s cancels it, i opens the gate without a value.';
comment on table scylla.task_plan is 'A set of tasks that is watched, cancelled and finished as one.';
comment on column scylla.task_plan.opened is 'When its tasks were allowed to start; null: it is not open yet.';
comment on column scylla.task_plan.finished is 'When its last live task ended, or it was cancelled.';
comment on column scylla.task_plan.owner is 'The role that owns the plan, at first its creator. Other roles cannot see the plan.';
comment on table scylla.task_dedup is 'The deduplication keys of live tasks, and of completed ones that keep them for a time.';
alter table scylla.task_dedup add column until timestamptz;
comment on column scylla.task_dedup.until is 'The task keeps the key until then, if it is completed; null: it does not.';
comment on sequence scylla.event_id_seq is 'Ids of events.';
comment on table scylla.event is
    'Status changes of tasks, for read_events(): one row per change, only of queues whose setting events is on.';
comment on column scylla.event.position is
'The next transaction id that the server would have assigned when the event was written. Events with a position up to the
oldest running transaction id are final: no event will be inserted before them.';
comment on column scylla.event.id is 'Orders events with the same position.';
comment on column scylla.event.status is 'The new status of the task.';
comment on column scylla.event.worker is 'The worker whose lease began or ended with the event, if the task shows it.';
comment on table scylla.schedule is 'Schedules of recurring tasks. Read the view scylla.schedules instead.';
comment on column scylla.schedule.owner is 'Name of the role that created the schedule and submits its tasks.';
comment on column scylla.schedule.home is
    'The database in which the schedule is armed: system identifier and database oid. In a restored copy they do not match.';
comment on column scylla.schedule.task is
    'The element for submit_many, without rn, not_before and the planned time in the spec; an array: the tasks of a plan; with job: arguments of run_job; with workflow: a time trigger of it.';
comment on column scylla.schedule.handled is
    'All planned times up to this one have been submitted, skipped or missed, and are not looked at again.';
comment on column scylla.schedule.next_run is 'The first planned time after handled; null: none.';

comment on column scylla.task_plan.failed is
    'One of its tasks was aborted. Set when the plan finishes, or when that task is removed.';
comment on column scylla.task_plan.cancelled is
'The plan was cancelled, or one of its tasks was, other than by skip. Set as failed is. In a finished plan only one of the two
is true.';

-- A task that `skip` cancels has an error that says why, like a task that `cascade` aborts; its plan recognises it by that error.
-- Meanwhile nobody may read outcomes to decide about gates: such transactions lock task_spec.
lock table scylla.task_spec in share row exclusive mode;
update scylla.task_outcome o
set errors = pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object(
    'code', 'dependency-failed', 'args', pg_catalog.jsonb_build_object('provider', f.rn),
    'message', 'a task that this one depends on was ' || f.status))
from (select distinct on (g.task) g.task, s.rn, p.status
      from scylla.task_gate g join scylla.task_outcome p on p.id = g.provider join scylla.task_spec s on s.id = g.provider
      where g.on_failure = 's' and p.status in ('aborted', 'cancelled')
      order by g.task, p.finished, g.ord) f
where o.id = f.task and o.status = 'cancelled' and o.attempt = 0 and o.errors is null;

create index schedule_workflow on scylla.schedule ((task ->> 'workflow')) where task ? 'workflow';
-- Schedules: what was SQL behind their functions is C++ now, and a schedule remembers what it skipped, and since when it fails.
drop function scylla._run_schedules(oid);
drop function scylla._run_schedules_at(timestamptz);
drop function scylla._cancel_planned(scylla.schedule);
drop function scylla._run_schedule(scylla.schedule, timestamptz);
drop function scylla._is_live(scylla.schedule);
drop function scylla._submit_planned(scylla.schedule, timestamptz);
drop function scylla._planned_tasks(scylla.schedule, timestamptz);
drop function scylla._arm_schedules(oid);
drop function scylla._unschedule(oid, text);
drop function scylla._schedule_plan(oid, text, text, jsonb, text, text, text, interval, integer, interval, timestamptz, timestamptz, text);
drop function scylla._schedule(oid, text, text, text, jsonb, text, text, text, interval, integer, interval, timestamptz, timestamptz, text, jsonb);
drop function scylla._put_schedule(oid, text, text, jsonb, text, text, text, interval, integer, interval, timestamptz, timestamptz, text);
drop function scylla._keep_tick(boolean);
drop function scylla._planned(timestamptz);
drop function scylla._next_run(text, text, timestamptz, timestamptz, timestamptz);
drop function scylla._may_change(oid, text);
drop function scylla._home();
drop function scylla._as_role(oid, text, jsonb);
drop function scylla._cron_due(text, text, timestamptz, timestamptz, integer);
alter table scylla.schedule add column failing_since timestamptz, add column retry_at timestamptz,
    add column last_skipped timestamptz, add column skip_reason text;
comment on column scylla.schedule.failing_since is 'When the first failure happened since the last success; null: none.';
comment on column scylla.schedule.retry_at is 'The monitor does not try again before this time.';
create table scylla.schedule_tick (
    id integer not null,
    ticked timestamptz,
    constraint schedule_tick_pkey primary key (id)
) using heap with (fillfactor = 50);
comment on table scylla.schedule_tick is 'When something last looked for schedules that are due, to half a minute: one row, once it has.';

-- Functions with another signature: dropped here, and made anew by the files that follow. Who was granted them keeps that:
-- 0.1--0.2-after.sql gives it back. The view stat_monitor calls _failing_duties() now, too: who may call what it called may call that.
create table scylla._update_grants as
    select case p.proname when '_stat_monitor' then '_failing_duties' else p.proname end as proname, a.grantee, a.is_grantable
    from pg_catalog.pg_proc p, lateral pg_catalog.aclexplode(p.proacl) a
    where p.pronamespace = 'scylla'::pg_catalog.regnamespace and p.proname in ('submit', 'create_queue', '_stat_monitor')
      and a.privilege_type = 'EXECUTE' and a.grantee <> p.proowner;
drop function scylla.submit(text, jsonb, integer, text, timestamptz, text[], text, text, integer, jsonb, text, text, text);
drop function scylla.create_queue(text, interval, interval, double precision, integer, jsonb, interval, interval, interval, boolean,
    integer, boolean, boolean, integer, integer, text, jsonb, jsonb, jsonb);
alter table scylla.queue add column pending text[];
comment on column scylla.queue.pending is 'Settings that are recorded and not in effect yet; null: none.';
alter table scylla.queue add column run_timeout interval;
comment on column scylla.queue.run_timeout is 'How long one run of a task may take; null: any time.';

create table scylla.queue_dropped (
    id integer not null,
    dropped timestamptz not null default clock_timestamp(),
    name text not null,
    constraint queue_dropped_pkey primary key (id)
) using heap;
comment on table scylla.queue_dropped is 'Queues that were dropped with tasks which have not been removed yet.';
comment on column scylla.queue_dropped.id is 'The number that the queue had: that of its tasks.';
select pg_catalog.pg_extension_config_dump('scylla.queue_dropped', '');
