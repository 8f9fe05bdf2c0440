-- Scylla: a task scheduler inside PostgreSQL.
--
-- This script is assembled by make from the files under sql/, one file per concept (see SQL_PARTS in the Makefile).
\echo Use "CREATE EXTENSION scylla" to load this file. \quit

create schema scylla;
comment on schema scylla is 'Scylla, a task scheduler: submit, lease, heartbeat and finish tasks';

-- Storage: what a task is, where it is now and how it ended are facts with different lifetimes, so they are different
-- tables. A transition deletes a narrow row here and inserts a narrow row there; the wide specification never moves.
-- The state of a task is the table that holds its id, and it is in exactly one of task_waiting, task_ready, task_lease
-- and task_outcome (scylla.check() proves it).
--
-- These tables are internal: the functions write them directly, so triggers, row security and foreign keys that somebody
-- adds to them do not take effect (additional indexes do), and sessions keep what they know of queues until a function changes
-- one. Read the view scylla.task instead.

create type scylla.task_status as enum ('waiting', 'ready', 'running', 'completed', 'aborted', 'cancelled');
comment on type scylla.task_status is
$$Where a task is in its life:
  waiting   -> ready (its last gate opened) | cancelled
  ready     -> running (leased) | cancelled
  running   -> ready or waiting (lease expired, yield, fail) | completed | aborted | cancelled
  completed, aborted, cancelled are final.$$;

create sequence scylla.queue_id_seq as integer;
create sequence scylla.task_id_seq;
create sequence scylla.worker_seq;
comment on sequence scylla.queue_id_seq is 'Numbers the queues.';
comment on sequence scylla.task_id_seq is 'Numbers the tasks in the order of their submission.';
comment on sequence scylla.worker_seq is 'Numbers that register_worker() gives out.';

create table scylla.queue (
    id integer not null default nextval('scylla.queue_id_seq'),
    name text not null,
    created timestamptz not null default clock_timestamp(),
    default_timeout interval,
    retention interval,
    aging double precision not null default 0,
    max_attempts integer,
    retry jsonb,
    retention_completed interval,
    retention_aborted interval,
    retention_cancelled interval,
    paused boolean not null default false,
    max_running integer,
    events boolean not null default false,
    notify boolean not null default false,
    max_running_per_key integer,
    max_depth integer,
    on_full text not null default 'error',
    key_weights jsonb,
    rate jsonb,
    rate_per_key jsonb,
    owner name not null default current_user,
    submitters text[],
    workers text[],
    viewers text[],
    admins text[],
    constraint queue_pkey primary key (id),
    constraint queue_name_key unique (name)
) using heap;
comment on table scylla.queue is
    'A namespace that segregates tasks, and its settings, as the view scylla.queue_settings shows them.';
-- Roles by their names and not as regrole: a dump restores where a role does not exist, and then that role has no rights, while
-- COPY into a regrole would fail and leave the tasks without their queues. Where the roles are a number, and dropped, it would
-- even give their rights to whoever has that number in the other cluster.
comment on column scylla.queue.owner is 'The role that may do everything with it: its creator, unless it has been given away.';
comment on column scylla.queue.submitters is 'Roles that have been granted the privilege "submit"; null: none.';
comment on column scylla.queue.workers is 'Roles that have been granted the privilege "work".';
comment on column scylla.queue.viewers is 'Roles that have been granted the privilege "view".';
comment on column scylla.queue.admins is 'Roles that have been granted the privilege "admin".';

-- Where there is shared memory it is kept there, and this is not looked at.
create table scylla.queue_rate (
    queue integer not null,
    per_key boolean not null,
    arrival bigint not null,
    step bigint not null,
    burst bigint not null,
    key text collate "C" not null,
    constraint queue_rate_pkey primary key (queue, per_key, key)
    -- Room for new versions on the same page.
) using heap with (fillfactor = 50, vacuum_truncate = off);
comment on table scylla.queue_rate is 'How much of its rate a queue has used, and each key in it, in a server that does not preload the library.';
comment on column scylla.queue_rate.per_key is 'Whether it is of a key; else of the queue.';
comment on column scylla.queue_rate.key is 'The key; the empty text: all keys of the queue that have no row.';
comment on column scylla.queue_rate.arrival is 'When its bucket of tokens will be full, in nanoseconds since 2000.';
comment on column scylla.queue_rate.step is 'Nanoseconds in which it gets a token.';
comment on column scylla.queue_rate.burst is 'How many tokens it holds.';

create table scylla.task_spec (
    id bigint not null,
    created timestamptz not null,
    queue integer not null,
    priority smallint not null,
    rn text not null,
    spec jsonb not null,
    not_before timestamptz,
    max_attempts integer,
    gates integer,
    plan bigint,
    retry jsonb,
    dedup_key text,
    key text,
    constraint task_spec_pkey primary key (id)
) using heap;
-- Compared byte by byte whatever the database's collation is: faster, and deaf to changes of collation versions.
create unique index task_spec_rn on scylla.task_spec (rn text_pattern_ops);
comment on table scylla.task_spec is 'What a task is: written once by submit, never changed, removed by purge.';
comment on column scylla.task_spec.gates is 'How many rows of task_gate it has; null: none.';
comment on column scylla.task_spec.plan is 'The plan it belongs to: its id in task_plan.';
comment on column scylla.task_spec.retry is 'How long to wait after a failure; null: as its queue says.';
comment on column scylla.task_spec.dedup_key is 'Unique among the live tasks of its queue (task_dedup).';
comment on column scylla.task_spec.key is 'Whose work it is, for limits per key.';

create table scylla.task_ready (
    id bigint not null,
    updated timestamptz not null,
    queue integer not null,
    attempt integer not null,
    failures integer not null,
    priority smallint not null,
    history jsonb,
    errors jsonb,
    key text
) using heap with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
                   autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
-- The order in which tasks are leased, and that order for each key. Tasks without a key are not in the second and pay nothing.
create unique index task_ready_order on scylla.task_ready (queue, priority desc, id);
create index task_ready_key on scylla.task_ready (queue, key text_pattern_ops, priority desc, id) where key is not null;
alter table scylla.task_ready replica identity using index task_ready_order;
comment on table scylla.task_ready is 'Tasks that a worker may lease now, and what a retry carries from earlier runs.';
comment on column scylla.task_ready.key is
    'As in task_spec; in a queue that goes by keys the empty text for a task without one, so that it is in the index.';

create table scylla.task_lease (
    id bigint not null,
    deadline timestamptz not null,
    leased timestamptz not null,
    updated timestamptz not null,
    timeout bigint not null,
    queue integer not null,
    attempt integer not null,
    failures integer not null,
    progress real not null,
    owner text not null,
    history jsonb,
    errors jsonb,
    permit text,
    constraint task_lease_pkey primary key (id)
    -- Room for new versions on the same page: a heartbeat changes no indexed column, so it stays there (HOT).
) using heap with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
                   autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
-- The leases of queues with a limit, for counting them: of each key in the order of ids (src/shmem/gaps.h). Those of other queues are not in it and pay nothing.
create index task_lease_permit on scylla.task_lease (queue, permit text_pattern_ops, id) where permit is not null;
comment on table scylla.task_lease is 'Tasks that a worker runs: its time-bounded right to do so.';
comment on column scylla.task_lease.timeout is 'Microseconds by which a heartbeat extends the lease.';

comment on column scylla.task_lease.permit is
    'Not null in a queue that has a limit: the key of the task; the empty text for a task without one.';

create table scylla.task_waiting (
    id bigint not null,
    due timestamptz,
    updated timestamptz not null,
    queue integer not null,
    attempt integer not null,
    failures integer not null,
    history jsonb,
    errors jsonb,
    constraint task_waiting_pkey primary key (id)
) using heap with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, vacuum_truncate = off);
create index task_waiting_due on scylla.task_waiting (due);
comment on table scylla.task_waiting is 'Tasks with a closed gate.';
comment on column scylla.task_waiting.due is
    'When the task becomes ready; null: it waits for gates in task_gate, and only then for the time.';

create table scylla.task_outcome (
    id bigint not null,
    finished timestamptz not null,
    leased timestamptz,
    queue integer not null,
    attempt integer not null,
    failures integer not null,
    progress real not null,
    status scylla.task_status not null,
    owner text,
    history jsonb,
    errors jsonb,
    result jsonb,
    metrics jsonb,
    constraint task_outcome_pkey primary key (id)
) using heap with (vacuum_truncate = off);
comment on table scylla.task_outcome is 'How a task ended: written once, removed by purge.';
comment on column scylla.task_outcome.leased is
    'When the last lease began if it was this lease that ended the task; null: history tells it all.';

-- A gate is written once, with its task, and removed with it. Nothing is written when it opens: whether it is open is a
-- fact about its provider, which is looked up. So a provider is completed at the same price however many wait for it, until
-- they really become ready, and nothing is locked that two providers would have to share (docs/internals.md).
create table scylla.task_gate (
    task bigint not null,
    provider bigint not null,
    ord integer not null,
    kind "char" not null,
    on_failure "char" not null,
    constraint task_gate_pkey primary key (task, ord)
) using heap with (vacuum_truncate = off);
create index task_gate_provider on scylla.task_gate (provider, task);
comment on table scylla.task_gate is 'What a task waits for: a row for each task it depends on, and one for its plan.';
comment on column scylla.task_gate.provider is 'The id of the task or of the plan that opens it; both come from task_id_seq.';
comment on column scylla.task_gate.ord is 'Its place in depends_on, from 1; 0 for the plan.';
comment on column scylla.task_gate.kind is
    't: open when the provider, a task, is completed, which gives it a value; p: open when the plan is.';
comment on column scylla.task_gate.on_failure is
    'What an aborted or cancelled provider does: c aborts the task, s cancels it, i opens the gate without a value.';

create table scylla.task_plan (
    id bigint not null default nextval('scylla.task_id_seq'),
    created timestamptz not null default clock_timestamp(),
    opened timestamptz,
    finished timestamptz,
    cancelled boolean not null default false,
    failed boolean not null default false,
    owner name not null,
    name text not null,
    spec jsonb,
    constraint task_plan_pkey primary key (id)
    -- Room for new versions on the same page: opening and finishing change no indexed column.
) using heap with (fillfactor = 50, vacuum_truncate = off);
create unique index task_plan_name on scylla.task_plan (name text_pattern_ops);
comment on table scylla.task_plan is 'A set of tasks that is watched, cancelled and finished as one.';
comment on column scylla.task_plan.opened is 'Since when its tasks may start; null: it is being built.';
comment on column scylla.task_plan.finished is 'When its last live task ended, or it was cancelled.';
comment on column scylla.task_plan.owner is 'The role that created it, unless it has been given away; for others it does not exist.';
comment on column scylla.task_plan.failed is 'It is finished, and a task of it was aborted.';

create table scylla.task_dedup (
    queue integer not null,
    id bigint not null,
    key text not null
) using heap with (vacuum_truncate = off);
create unique index task_dedup_key on scylla.task_dedup (queue, key text_pattern_ops);
alter table scylla.task_dedup replica identity using index task_dedup_key;
comment on table scylla.task_dedup is 'The deduplication keys of live tasks.';

create sequence scylla.event_id_seq;
comment on sequence scylla.event_id_seq is 'Numbers the events.';
create table scylla.event (
    position bigint not null,
    id bigint not null,
    "time" timestamptz not null,
    queue integer not null,
    attempt integer not null,
    failures integer not null,
    status scylla.task_status not null,
    queue_name text not null,
    rn text not null,
    worker text,
    constraint event_pkey primary key (position, id)
) using heap with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, vacuum_truncate = off);
comment on table scylla.event is
'What has happened to the tasks of queues whose setting events is on: one row per change of status, for read_events().';
comment on column scylla.event.position is
'The number that the next transaction would have got when this was written. Whatever has a position up to the oldest running
transaction is final: nothing will come before it any more.';
comment on column scylla.event.id is 'Puts what has the same position in order.';
comment on column scylla.event.status is 'The status that the task has got.';
comment on column scylla.event.worker is 'Whose lease began or ended with it, as far as the task tells.';

-- Everything that users put in travels with pg_dump; but not events, whose positions mean something on this server only.
select pg_catalog.pg_extension_config_dump('scylla.queue_id_seq', '');
select pg_catalog.pg_extension_config_dump('scylla.task_id_seq', '');
select pg_catalog.pg_extension_config_dump('scylla.worker_seq', '');
select pg_catalog.pg_extension_config_dump('scylla.queue', '');
select pg_catalog.pg_extension_config_dump('scylla.task_spec', '');
select pg_catalog.pg_extension_config_dump('scylla.task_ready', '');
select pg_catalog.pg_extension_config_dump('scylla.task_lease', '');
select pg_catalog.pg_extension_config_dump('scylla.task_waiting', '');
select pg_catalog.pg_extension_config_dump('scylla.task_outcome', '');
select pg_catalog.pg_extension_config_dump('scylla.task_gate', '');
select pg_catalog.pg_extension_config_dump('scylla.task_plan', '');
select pg_catalog.pg_extension_config_dump('scylla.task_dedup', '');

-- Schedules of recurring tasks, and how they have been kept. Written by sql/functions/schedule.sql only.

create table scylla.schedule (
    name text not null,
    owner text not null,
    home text not null,
    cron text not null,
    timezone text not null,
    task jsonb not null,
    overlap text not null,
    catch_up text not null,
    grace interval,
    max_catch_up integer not null,
    jitter interval not null,
    starts timestamptz,
    ends timestamptz,
    planned_key text,
    created timestamptz not null default clock_timestamp(),
    handled timestamptz not null,
    next_run timestamptz,
    last_run timestamptz,
    last_submitted timestamptz,
    last_task text,
    runs bigint not null default 0,
    skipped bigint not null default 0,
    missed bigint not null default 0,
    last_error text,
    failed timestamptz,
    constraint schedule_pkey primary key (name)
) using heap with (fillfactor = 50);
comment on table scylla.schedule is 'Schedules of recurring tasks. Read the view scylla.schedules instead.';
comment on column scylla.schedule.owner is 'The role that made it, by name: it submits the tasks.';
comment on column scylla.schedule.home is
    'The database in which it is armed: the identifier of the system and the oid. A copy of it elsewhere comes with the wrong one.';
comment on column scylla.schedule.task is 'What submit_many is given, but for rn, not_before and the planned time in the spec; an array: the tasks of a plan.';
comment on column scylla.schedule.handled is
    'Whatever was planned until then has been submitted, skipped or missed, and will not be looked at again.';
comment on column scylla.schedule.next_run is 'The first planned time after that; null: none.';

select pg_catalog.pg_extension_config_dump('scylla.schedule', '');

create view scylla.schedules with (security_barrier) as
    select s.name, s.owner, s.cron, s.timezone, s.task ->> 'queue' as queue, s.task -> 'spec' as spec,
           case jsonb_typeof(s.task) when 'object' then s.task - 'queue' - 'spec' end as options, s.overlap, s.catch_up, s.grace, s.max_catch_up, s.jitter, s.starts, s.ends,
           s.planned_key,
           s.home = (select c.system_identifier || '/' || d.oid from pg_catalog.pg_control_system() c, pg_catalog.pg_database d
                     where d.datname = current_database()) as armed,
           s.created, s.next_run, s.last_run, s.last_submitted, s.last_task, s.runs, s.skipped, s.missed, s.last_error, s.failed,
           case jsonb_typeof(s.task) when 'array' then s.task end as tasks
    from scylla.schedule s
    where exists (select from pg_catalog.pg_roles r
                  where r.rolname = s.owner and pg_has_role(r.oid, 'usage')
                     or r.rolname = current_user and r.rolsuper);
comment on view scylla.schedules is
'Schedules of recurring tasks, and how they have been kept: those of the roles whose rights the current one has.';
comment on column scylla.schedules.name is 'Its name; the tasks are called name/planned time.';
comment on column scylla.schedules.owner is 'The role that made it, and as which its tasks are submitted.';
comment on column scylla.schedules.cron is 'When it comes.';
comment on column scylla.schedules.timezone is 'Whose clocks it goes by.';
comment on column scylla.schedules.queue is 'The queue of its tasks; null: it is for plans.';
comment on column scylla.schedules.spec is 'What its tasks are about.';
comment on column scylla.schedules.options is 'Further arguments of submit.';
comment on column scylla.schedules.overlap is 'While its previous task is live: allow, skip, or replace (cancel) it.';
comment on column scylla.schedules.catch_up is 'Planned times that nobody looked at in time: none, latest or all of them.';
comment on column scylla.schedules.grace is 'How late a task may be submitted; null: no bound.';
comment on column scylla.schedules.max_catch_up is 'How many planned times catch_up all submits at most.';
comment on column scylla.schedules.jitter is 'Tasks are delayed by up to this.';
comment on column scylla.schedules.starts is 'No planned time is before it.';
comment on column scylla.schedules.ends is 'No planned time is at it or after it.';
comment on column scylla.schedules.planned_key is 'The key of the spec under which the planned time stands; null: none.';
comment on column scylla.schedules.armed is 'Whether it runs in this database: not in a restored copy, until arm_schedules().';
comment on column scylla.schedules.created is 'When it was made.';
comment on column scylla.schedules.next_run is 'The planned time that comes next; null: none comes any more.';
comment on column scylla.schedules.last_run is 'The planned time for which a task was submitted last.';
comment on column scylla.schedules.last_submitted is 'When that was.';
comment on column scylla.schedules.last_task is 'The name of that task, or plan.';
comment on column scylla.schedules.runs is 'How many tasks, or plans, it has submitted.';
comment on column scylla.schedules.skipped is 'How many planned times passed by because the previous task was live.';
comment on column scylla.schedules.missed is 'How many planned times passed by because nobody looked, or submitting failed, until too late.';
comment on column scylla.schedules.last_error is 'Why a task could not be submitted last.';
comment on column scylla.schedules.failed is 'When that was.';
comment on column scylla.schedules.tasks is 'The tasks of its plans; null: it is for single tasks.';

-- Functions that the extension needs for itself.

create function scylla._history(history jsonb, worker text, attempt integer, leased timestamptz) returns jsonb
    language c immutable parallel safe as 'MODULE_PATHNAME', 'scylla_history';
comment on function scylla._history is
'The complete history of a task: the stored entries and, unless leased is null, the assignment of the last lease, which the
tables hold as columns.';

create function scylla._announce() returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_announce';
comment on function scylla._announce is
'Tells the launcher, when this transaction commits, that this database has the extension. Called by the install script.';

create function scylla._check_max_tasks(max_tasks integer) returns void
    language c immutable parallel safe as 'MODULE_PATHNAME', 'scylla_check_max_tasks';
comment on function scylla._check_max_tasks is 'Refuses a bad value of an argument of that name, for functions that are not in C.';
-- Who may do what with a queue.

create function scylla._may_view(owner name, viewers text[], admins text[]) returns boolean
    language c stable parallel safe as 'MODULE_PATHNAME', 'scylla_may_view';
comment on function scylla._may_view is
'Whether the current user may see the tasks of a queue with these columns. The views ask it.';

create function scylla._may_watch(owner name, viewers text[], admins text[]) returns boolean
    language c stable parallel safe as 'MODULE_PATHNAME', 'scylla_may_watch';
comment on function scylla._may_watch is
'Whether the current user may see statistics of a queue with these columns. The views ask it.';

create function scylla.grant_queue(queue text, role text, privilege text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_grant_queue';
comment on function scylla.grant_queue is
'Gives a role, and its members, a privilege on a queue. It may have it already. Needs admin.
  role       its name exactly as in pg_roles, or ''public'' for everybody
  privilege  submit: submit and cancel tasks
             work: lease tasks, keep and finish the leases, wait
             view: see tasks and statistics
             admin: all of these, grant and revoke, change the settings, drop
Errors: 42704 unknown queue or role; 42501 no privilege; 22023 bad argument.';

create function scylla.revoke_queue(queue text, role text, privilege text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_revoke_queue';
comment on function scylla.revoke_queue is
'Takes a privilege back. The role need not have it, nor exist any more. What it has through other roles, as owner or as
superuser stays. Needs admin. Errors: 42704 unknown queue; 42501 no privilege; 22023 bad argument.';

create function scylla.set_queue_owner(queue text, owner text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_set_queue_owner';
comment on function scylla.set_queue_owner is
'Gives a queue to another role. The caller must be its owner and able to become the new one (SET ROLE), or a superuser.
Errors: 42704 unknown queue or role; 42501 no privilege; 22023 bad argument.';

-- Not for those who merely submit or work: what they may themselves they find out by doing it.
create view scylla.queue_grants with (security_barrier) as
    select q.name as queue, g.role, p.privilege
    from scylla.queue q,
         lateral (values ('owner', array[q.owner::text]), ('submit', q.submitters), ('work', q.workers),
                         ('view', q.viewers), ('admin', q.admins)) p (privilege, roles),
         lateral pg_catalog.unnest(p.roles) g (role)
    where scylla._may_view(q.owner, q.viewers, q.admins);
comment on view scylla.queue_grants is 'Who has which privilege on the queues whose tasks the current user may see.';
comment on column scylla.queue_grants.queue is 'The queue.';
comment on column scylla.queue_grants.role is 'The role; public: everybody.';
comment on column scylla.queue_grants.privilege is 'owner, submit, work, view or admin.';

-- The public face of the tables: one row per task. Columns are only ever appended.
--
-- A reader sees the tasks of the queues that it may view. The parts are views of their own, because a function in somebody's WHERE
-- must not get to see other rows, whatever its cost says: security_barrier keeps it above the filter, but the planner flattens a
-- UNION ALL before it looks at that, so the whole cannot be the barrier. Comparisons that leak nothing (=, < of texts, numbers and
-- times) go below, to the indexes. Those of enums are not among them, so the status stands outside as a constant: parts that
-- cannot match are not read. That is why the many that are completed are a part of their own, beside the few that ended
-- otherwise.
--
-- All parts have exactly the same types, so that the planner flattens them and computes only what is asked for. What they have in
-- common is in _spec and _outcome: not barriers, so that they become one with the part that reads them, and for nobody else.
create view scylla._spec as
    select s.id, s.queue as queue_id, s.priority, s.rn, q.name as queue, s.spec, s.created,
           case when s.gates is null then '[]'::jsonb
                else (select coalesce(jsonb_agg(p.result order by g.ord), '[]')
                      from scylla.task_gate g left join scylla.task_outcome p on p.id = g.provider
                      where g.task = s.id and g.kind = 't') end as args,
           s.max_attempts, s.not_before,
           case when s.plan is not null then (select p.name from scylla.task_plan p where p.id = s.plan) end as plan, s.key
    from scylla.task_spec s
    join scylla.queue q on q.id = s.queue and scylla._may_view(q.owner, q.viewers, q.admins);

create view scylla._outcome as
    select s.rn, s.queue, s.spec, o.status, s.priority::integer as priority,
           o.progress, s.created, o.finished as updated, o.owner, null::timestamptz as deadline,
           coalesce(o.errors, '[]'::jsonb) as errors,
           scylla._history(o.history, o.owner, o.attempt, o.leased) as history,
           o.result, o.metrics, s.args, o.attempt, o.failures, s.max_attempts, s.not_before, s.plan, s.key
    from scylla.task_outcome o
    join scylla._spec s on s.id = o.id;

create view scylla._ready with (security_barrier) as
    select s.rn, s.queue, s.spec, s.priority::integer as priority,
           0::real as progress, s.created, r.updated, null::text as owner, null::timestamptz as deadline,
           coalesce(r.errors, '[]'::jsonb) as errors, coalesce(r.history, '[]'::jsonb) as history,
           null::jsonb as result, null::jsonb as metrics, s.args, r.attempt, r.failures, s.max_attempts, s.not_before, s.plan, s.key
    from scylla.task_ready r
    join scylla._spec s on s.id = r.id and s.queue_id = r.queue and s.priority = r.priority;

create view scylla._running with (security_barrier) as
    select s.rn, s.queue, s.spec, s.priority::integer as priority,
           l.progress, s.created, l.updated, l.owner, l.deadline,
           coalesce(l.errors, '[]'::jsonb) as errors,
           scylla._history(l.history, l.owner, l.attempt, l.leased) as history,
           null::jsonb as result, null::jsonb as metrics, s.args, l.attempt, l.failures, s.max_attempts, s.not_before, s.plan, s.key
    from scylla.task_lease l
    join scylla._spec s on s.id = l.id;

create view scylla._waiting with (security_barrier) as
    select s.rn, s.queue, s.spec, s.priority::integer as priority,
           0::real as progress, s.created, w.updated, null::text as owner, null::timestamptz as deadline,
           coalesce(w.errors, '[]'::jsonb) as errors, coalesce(w.history, '[]'::jsonb) as history,
           null::jsonb as result, null::jsonb as metrics, s.args, w.attempt, w.failures, s.max_attempts,
           coalesce(w.due, s.not_before) as not_before, s.plan, s.key
    from scylla.task_waiting w
    join scylla._spec s on s.id = w.id;

create view scylla._completed with (security_barrier) as select * from scylla._outcome where status = 'completed';
create view scylla._ended with (security_barrier) as select * from scylla._outcome where status <> 'completed';

comment on view scylla._spec is 'What the parts of scylla.task show of what a task is.';
comment on view scylla._outcome is 'The parts of scylla.task that have ended.';
comment on view scylla._ready is 'A part of scylla.task.';
comment on view scylla._running is 'A part of scylla.task.';
comment on view scylla._waiting is 'A part of scylla.task.';
comment on view scylla._completed is 'A part of scylla.task.';
comment on view scylla._ended is 'A part of scylla.task.';

create view scylla.task as
    select rn, queue, spec, 'ready'::scylla.task_status as status, priority, progress, created, updated, owner, deadline,
           errors, history, result, metrics, args, attempt, failures, max_attempts, not_before, plan, key
    from scylla._ready
union all
    select rn, queue, spec, 'running'::scylla.task_status, priority, progress, created, updated, owner, deadline,
           errors, history, result, metrics, args, attempt, failures, max_attempts, not_before, plan, key
    from scylla._running
union all
    select rn, queue, spec, 'waiting'::scylla.task_status, priority, progress, created, updated, owner, deadline,
           errors, history, result, metrics, args, attempt, failures, max_attempts, not_before, plan, key
    from scylla._waiting
union all
    select rn, queue, spec, 'completed'::scylla.task_status, priority, progress, created, updated, owner, deadline,
           errors, history, result, metrics, args, attempt, failures, max_attempts, not_before, plan, key
    from scylla._completed
union all
    select rn, queue, spec, status, priority, progress, created, updated, owner, deadline,
           errors, history, result, metrics, args, attempt, failures, max_attempts, not_before, plan, key
    from scylla._ended;

comment on view scylla.task is 'Every task, one row each, as its statement''s snapshot sees it.';
comment on column scylla.task.rn is 'Resource name: identifies the task in the database.';
comment on column scylla.task.queue is 'The queue it belongs to.';
comment on column scylla.task.spec is 'What is to be done: immutable, and opaque to the scheduler.';
comment on column scylla.task.status is 'Where it is in its life.';
comment on column scylla.task.priority is '0..127; 127 is leased first.';
comment on column scylla.task.progress is '0..1, as the worker last said; 1 when completed.';
comment on column scylla.task.created is 'When it was submitted, by the server''s clock.';
comment on column scylla.task.updated is 'When it last changed.';
comment on column scylla.task.owner is 'The worker that runs it, or whose lease ended with it.';
comment on column scylla.task.deadline is 'While it runs: when its lease ends unless a heartbeat extends it.';
comment on column scylla.task.errors is 'Array of {"code", "args", "description"}, oldest first.';
comment on column scylla.task.history is
'Array of {"_typ": TaskAssignment|TaskTimeout|TaskYield|TaskRetry, "worker", "attempt", "progress", "time"}, oldest first; a
long one keeps its first and its latest entries and {"_typ": "HistoryElided", "count"} in between.';
comment on column scylla.task.result is 'What complete() was given.';
comment on column scylla.task.metrics is 'Figures about the run, given to complete().';
comment on column scylla.task.args is
'Results of the tasks it depends on, in the order of depends_on; null for one that has none (yet).';
comment on column scylla.task.attempt is 'How often it has been leased: the fencing token of the present lease.';
comment on column scylla.task.failures is 'How often it failed or its lease expired.';
comment on column scylla.task.max_attempts is 'That many failures abort it; null: no bound.';
comment on column scylla.task.not_before is 'While it waits: when it becomes ready. Otherwise as submitted.';
comment on column scylla.task.plan is 'The plan it belongs to.';
comment on column scylla.task.key is 'Whose work it is, as the client said.';

-- Queues.

create function scylla.create_queue(
    queue text, default_timeout interval = null, retention interval = null, aging double precision = 0,
    max_attempts integer = null, retry jsonb = null, retention_completed interval = null,
    retention_aborted interval = null, retention_cancelled interval = null, paused boolean = false,
    max_running integer = null, events boolean = false, notify boolean = false, max_running_per_key integer = null,
    max_depth integer = null, on_full text = 'error', key_weights jsonb = null,
    rate jsonb = null, rate_per_key jsonb = null)
    returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_create_queue';
comment on function scylla.create_queue is
'Creates a queue. A queue is otherwise created by its first submit, with default settings (scylla.auto_create_queues).
  default_timeout  how long a lease lasts when the worker does not say; null: scylla.default_timeout
  retention        how long its tasks stay after they have ended; null: scylla.retention
  aging            priority points that a ready task gains per second since its submission, so that nothing starves under a
                   stream of more important tasks; 0..1000. Its effective priority goes up to 255
  max_attempts     of tasks that are submitted without; null: no bound
  retry            delays between tries: {"initial": "1 s", "factor": 2, "max": "1 h", "jitter": 0}, all optional; null: these
  retention_completed, retention_aborted, retention_cancelled
                   how long tasks stay that ended so; null: as retention says
  paused           whether it begins paused
  max_running      how many of its tasks may run at once; null: any number
  events           whether changes of its tasks'' status are recorded, for read_events()
  notify           whether NOTIFY scylla tells when a task can be leased where there was none
  max_running_per_key  how many tasks of the same key may run at once; null: any number. Of tasks without a key any number may
  max_depth        how many of its tasks may be waiting or ready when one is submitted; null: any number
  on_full          what becomes of a submit that would be more: error (53400), or shed: the task is cancelled at once
  key_weights      {"*": 1, "acme": 3}: keys that have tasks take turns, so many tasks each; "*" is for all others (else 1), "" for
                   tasks without a key. Within a key the order is as ever; null: tasks go in the order of the queue
  rate             how many leases may start in a time: {"tasks": 100, "per": "1 s", "burst": 1}, the last two optional; null: any
                   number. At once as many as burst, and never more than burst and what the rate gives for the time
  rate_per_key     the same for the tasks of each key; of tasks without a key any number may start
Errors: 42710 it exists; 22023 bad argument.';

create function scylla.alter_queue(queue text, settings jsonb) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_alter_queue';
comment on function scylla.alter_queue is
'Changes settings of a queue, by the names of create_queue''s arguments; null is the default. What is not named stays.
Needs admin. Errors: 42704 no such queue; 42501 no privilege; 22023 no such setting, or bad value. Locks: waits for a transaction that is just changing them;
to set the first limit of a queue, for all transactions that have changed tasks, and others wait for it.';

create function scylla.pause_queue(queue text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_pause_queue';
comment on function scylla.pause_queue is
'From now on no task of the queue can be leased. Tasks that run go on, and others may be submitted.
Needs admin. Errors: 42704 no such queue; 42501 no privilege. Locks: waits for a transaction that is just changing its settings.';

create function scylla.resume_queue(queue text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_resume_queue';
comment on function scylla.resume_queue is
'Ends the pause of a queue, and wakes the workers that wait. Errors and locks as for pause_queue.';

create function scylla.drop_queue(queue text, force boolean = false) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_drop_queue';
comment on function scylla.drop_queue is
'Removes a queue; with force also its tasks, whatever their state. Reads all tasks.
Needs admin. Errors: 42704 no such queue; 42501 no privilege; 2BP01 it has tasks. Locks: waits for all transactions that have changed tasks, and others wait for it.';

create function scylla.register_worker() returns text
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_register_worker';
comment on function scylla.register_worker is 'A worker name that nobody else has: worker-1, worker-2 and so on. Not undone by a rollback.';

-- The settings of queues, for those who may see the tasks. Columns are only ever appended.
create view scylla.queue_settings with (security_barrier) as
    select name as queue, created, default_timeout, retention, aging, max_attempts, retry, retention_completed,
           retention_aborted, retention_cancelled, paused, max_running, events, notify, max_running_per_key,
           max_depth, on_full, key_weights, rate, rate_per_key
    from scylla.queue
    where scylla._may_view(owner, viewers, admins);
comment on view scylla.queue_settings is 'Every queue whose tasks the current user may see, and its settings, by the names of create_queue''s arguments.';
comment on column scylla.queue_settings.queue is 'The name of the queue.';
comment on column scylla.queue_settings.created is 'When it was created.';
comment on column scylla.queue_settings.default_timeout is
    'How long a lease lasts when the worker does not say; null: the setting scylla.default_timeout.';
comment on column scylla.queue_settings.retention is
    'How long a task stays after it has ended; null: the setting scylla.retention.';
comment on column scylla.queue_settings.aging is
    'Priority points that a ready task gains per second since its submission, up to an effective priority of 255; 0: none.';
comment on column scylla.queue_settings.max_attempts is 'For tasks that are submitted without; null: no bound.';
comment on column scylla.queue_settings.retry is 'Delays between tries; null: 1 s, doubled up to 1 h.';
comment on column scylla.queue_settings.retention_completed is 'How long a completed task stays; null: see retention.';
comment on column scylla.queue_settings.retention_aborted is 'How long an aborted task stays; null: see retention.';
comment on column scylla.queue_settings.retention_cancelled is 'How long a cancelled task stays; null: see retention.';
comment on column scylla.queue_settings.paused is 'Whether no task can be leased.';
comment on column scylla.queue_settings.max_running is 'How many tasks may run at once; null: any number.';
comment on column scylla.queue_settings.events is 'Whether changes of its tasks'' status are recorded, for read_events().';
comment on column scylla.queue_settings.notify is 'Whether NOTIFY scylla tells when a task can be leased where there was none.';
comment on column scylla.queue_settings.max_running_per_key is 'How many tasks of the same key may run at once; null: any number.';
comment on column scylla.queue_settings.max_depth is
    'How many tasks may be waiting or ready when one is submitted; null: any number.';
comment on column scylla.queue_settings.rate is 'How many leases may start in a time; null: any number.';
comment on column scylla.queue_settings.rate_per_key is 'How many leases of tasks of the same key may start in a time; null: any number.';
comment on column scylla.queue_settings.on_full is 'What becomes of a submit that would be more: error, or shed: it is cancelled at once.';
comment on column scylla.queue_settings.key_weights is 'How many tasks the turn of each key has; null: tasks go in the order of the queue.';

-- Events: following what happens to the tasks of queues whose setting events is on.

create function scylla.read_events(after text = null, max_events integer = 1000, out cursor text, out "time" timestamptz,
                                   out queue text, out rn text, out status scylla.task_status, out attempt integer,
                                   out failures integer, out worker text)
    returns setof record
    language c volatile parallel unsafe rows 1000 as 'MODULE_PATHNAME', 'scylla_read_events';
comment on function scylla.read_events is
'The changes of status of tasks, of the queues that the caller may view, in an order in which none comes late: to go on, pass
the cursor of the last row as after (null: from the oldest that there is). An event shows when all transactions that were
running when it was written have ended.
Errors: 22023 bad argument; after is no cursor of this server.';

-- Submitting.

create function scylla.submit(
    queue text, spec jsonb, priority integer = 0, rn text = null, not_before timestamptz = null,
    depends_on text[] = null, on_dependency_failure text = 'cascade', plan text = null, max_attempts integer = null,
    retry jsonb = null, dedup_key text = null, key text = null, on_duplicate text = 'error')
    returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_submit';
comment on function scylla.submit is
'Submits a task; it exists, and can be leased, once the transaction commits. Returns it.
  queue         created if it does not exist (scylla.auto_create_queues)
  spec          what is to be done; the worker gets it as it is
  priority      0..127; 127 is leased first
  rn            1..200 characters, unique in the database; null: a UUIDv7
  not_before    the task waits until then
  max_attempts  that many failures and expired leases abort it; null: the queue''s, else no bound
  depends_on    tasks that have to be completed first; their results become its args, in this order
  on_dependency_failure  what an aborted or cancelled one of these does: ''cascade'' aborts this task, too, ''skip'' cancels it,
                ''ignore'' counts as completed
  plan          the plan that it belongs to
  retry         delays between tries, as for create_queue; null: the queue''s at the time of the failure
  dedup_key     unique among the live tasks of the queue
  key           whose work it is (a tenant, a customer, a host), for limits per key
  on_duplicate  what to do if rn or dedup_key is taken: ''error'', or ''ignore'': return the existing task unchanged
Errors: 22023 bad argument; 23505 rn is taken (on ''ignore'': by a task that the caller may not see); 42704 unknown queue, if
queues are not created on first use; 42501 no right to submit to the queue; 53400 the queue has reached its max_depth.
Locks: waits for a transaction that is just submitting the same rn or the same new queue.';

create function scylla.submit_many(tasks jsonb, on_duplicate text = 'ignore', out rn text, out inserted boolean)
    returns setof record
    language c volatile parallel unsafe rows 100 as 'MODULE_PATHNAME', 'scylla_submit_many';
comment on function scylla.submit_many is
'Submits an array of tasks, objects with the names of submit''s arguments as keys; queue and spec are mandatory. One row per
element in array order: its rn, and whether it was inserted (false: the rn was taken already, perhaps by an earlier element).
Errors: 22023 malformed, naming the element; 23505 if on_duplicate is ''error'' and an rn is taken; 53400 not all of them
may be in their queue. On any error nothing is submitted.';

create function scylla.submit_bulk(queue text, specs jsonb[], rns text[] = null, priority integer = 0) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_submit_bulk';
comment on function scylla.submit_bulk is
'Submits one task per element of specs to one queue, fast. rns names them, in the same order; null: UUIDv7. Returns how many.
Errors: 22023 bad argument, naming the element; 23505 if an rn is taken; 53400 not all of them may be in the queue. On any error nothing is submitted.';

-- Leasing.

create function scylla.lease(queue text, worker text, max_tasks integer = 1, timeout interval = null)
    returns setof scylla.task
    language c volatile parallel unsafe rows 10 as 'MODULE_PATHNAME', 'scylla_lease';
comment on function scylla.lease is
'Leases up to max_tasks ready tasks: highest priority first, then oldest first. Tasks that another transaction is just
leasing are passed over. An empty set when there is none, or when nobody has used the queue.
  worker   1..200 characters; every later call about these tasks must name it
  timeout  how long the lease lasts unless a heartbeat extends it, up to 365 days; null: the queue''s (10 s by default)
Errors: 22023 bad argument. Locks: none that it waits for.';

create function scylla.lease_task(rn text, worker text, timeout interval = null) returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_lease_task';
comment on function scylla.lease_task is
'Leases one given task. Errors: P0002 no such task; 55000 it is not ready; 22023 bad argument.
Locks: waits for a transaction that is just changing the task.';

-- Keeping a lease.

create function scylla.heartbeat(rn text, worker text, progress double precision = null, timeout interval = null,
                                 attempt integer = null)
    returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_heartbeat';
comment on function scylla.heartbeat is
'Extends the lease by timeout from now (null: by what the lease was given) and records the progress, 0..1 (null: unchanged).
  attempt  the attempt of the lease, to fence off other runs under the same worker name
Returns the task without spec and args.
Errors: P0002 no such task; 55000 the lease is lost: the task was cancelled, finished, timed out or given to another worker.';

create function scylla.heartbeat_many(rns text[], worker text, timeout interval = null, attempts integer[] = null,
                                      out rn text, out held boolean, out status scylla.task_status)
    returns setof record
    language c volatile parallel unsafe rows 100 as 'MODULE_PATHNAME', 'scylla_heartbeat_many';
comment on function scylla.heartbeat_many is
'Extends many leases. One row per element of rns, in order: whether the lease is still held (and was extended), and the
status of the task; a lost lease is no error. A repeated element is false; an unknown task has a null status.
Errors: 22023 a null element, or arrays of different length.';

-- Finishing. All of these return the task without spec and args, and fail with 55000 if the worker (or the attempt) does
-- not hold the task, and with P0002 if there is no such task.

create function scylla.complete(rn text, worker text, result jsonb = null, metrics jsonb = null, attempt integer = null)
    returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_complete';
comment on function scylla.complete is
'Ends a task as completed, with its result and figures about the run; progress becomes 1.
Errors: P0002 no such task; 55000 the lease is lost. Locks: waits for a transaction that is just changing the task.';

create function scylla.complete_many(rns text[], worker text, results jsonb[] = null, attempts integer[] = null,
                                     out rn text, out completed boolean, out status scylla.task_status)
    returns setof record
    language c volatile parallel unsafe rows 100 as 'MODULE_PATHNAME', 'scylla_complete_many';
comment on function scylla.complete_many is
'Completes many tasks. One row per element of rns, in order: whether it was completed by this call, and the status of the
task now; a lost lease is no error. A repeated element is false; an unknown task has a null status.
Errors: 22023 a null element in rns, or arrays of different length.';

create function scylla.complete_and_lease(rns text[], worker text, queue text, max_tasks integer = 1,
                                          timeout interval = null, results jsonb[] = null, attempts integer[] = null)
    returns setof scylla.task
    language c volatile parallel unsafe rows 10 as 'MODULE_PATHNAME', 'scylla_complete_and_lease';
comment on function scylla.complete_and_lease is
'Completes the tasks in rns and leases the next ones, in one call: a worker''s loop needs nothing else.
Errors: 55000 if one of rns is not held any more, naming them: then nothing is done. 22023 bad argument.';

create function scylla.abort(rn text, worker text, error jsonb, attempt integer = null) returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_abort';
comment on function scylla.abort is
'Ends a task as aborted: it cannot be done, and will not be tried again.
  error  an object with a text "code"; "args" and "description" default to {} and ""
Errors: P0002 no such task; 55000 the lease is lost; 22023 bad argument.';

create function scylla.fail(rn text, worker text, error jsonb, retry_after interval = null, attempt integer = null)
    returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_fail';
comment on function scylla.fail is
'Reports an error that may pass: the task is tried again after retry_after (null: by the retry policy of the task
or its queue, else 1 s, doubled with each failure up to 1 h), or aborted when max_attempts failures are reached.
  error  as for abort
Errors: P0002 no such task; 55000 the lease is lost; 22023 bad argument.';

create function scylla.backoff(count integer, initial interval = '100 ms', factor double precision = 1.5,
                               max interval = '10 s')
    returns interval
    language c immutable parallel safe as 'MODULE_PATHNAME', 'scylla_backoff';
comment on function scylla.backoff is
'How long to wait before try number count, from 0: initial * factor ^ count, but not more than max. For workers that poll; the
delays of fail() follow it too.
Errors: 22023 bad argument.';

-- Giving back and cancelling.

create function scylla.yield(rn text, worker text, attempt integer = null) returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_yield';
comment on function scylla.yield is
'Gives a task back: it is ready again at once, for any worker. Not a failure. Returns it without spec and args.
Errors: P0002 no such task; 55000 the lease is lost.';

create function scylla.cancel(rn text) returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_cancel';
comment on function scylla.cancel is
'Ends a waiting, ready or running task as cancelled. Its worker learns of it at its next call about the task.
Errors: P0002 no such task; 55000 it has ended already. Locks: waits for a transaction that is just changing the task.';

-- Looking. Both look at the latest committed state, whatever the transaction's snapshot is.

create function scylla.get_task(rn text) returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_get_task';
comment on function scylla.get_task is 'One task. Errors: P0002 no such task.';

create function scylla.list_tasks(queue text = null, status scylla.task_status = null, worker text = null,
                                  max_tasks integer = 100)
    returns setof scylla.task
    language c volatile parallel unsafe rows 100 as 'MODULE_PATHNAME', 'scylla_list_tasks';
comment on function scylla.list_tasks is
'Up to max_tasks tasks of a queue, in a status, owned by a worker (null: any). Ready tasks come in the order in which they
will be leased when status is ''ready''; otherwise the newest come first. Errors: 22023 bad argument.';

-- Plans: sets of tasks that are watched, cancelled and finished as one.

create function scylla.create_plan(name text = null, spec jsonb = null) returns text
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_create_plan';
comment on function scylla.create_plan is
'Creates a plan to which submit can add tasks; none of them starts before open_plan(). Returns its name.
  name  1..200 characters, unique among plans; null: a UUIDv7
  spec  whatever the plan is to be remembered by
Errors: 42710 the name is taken; 22023 bad argument.';

create function scylla.open_plan(plan text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_open_plan';
comment on function scylla.open_plan is
'Lets the tasks of a plan start, those first that depend on nothing. Tasks may still be added until the plan is finished; a
plan without a live task is finished at once.
Errors: P0002 no such plan; 55000 it is open already or has ended. Locks: waits for transactions that are just adding tasks.';

create function scylla.cancel_plan(plan text) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_cancel_plan';
comment on function scylla.cancel_plan is
'Cancels every task of a plan that has not ended, and the plan. Returns how many tasks.
Errors: P0002 no such plan; 55000 it has ended. Locks: waits for transactions that are just adding or changing tasks of it.';

create function scylla.plan_completed(plan text) returns boolean
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_plan_completed';
comment on function scylla.plan_completed is
'Whether a plan is finished and neither failed nor cancelled. Looks afresh, whatever the isolation level.
Errors: P0002 no such plan.';

create function scylla.set_plan_owner(plan text, owner text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_set_plan_owner';
comment on function scylla.set_plan_owner is
'Gives a plan to another role. The caller must be a member of its owner and able to become the new one (SET ROLE), or a superuser.
Errors: P0002 no such plan; 42704 no such role; 42501 no privilege; 22023 bad argument. Locks: waits for transactions that are
just adding tasks.';

create procedure scylla.wait_plan(plan text, timeout interval = '30 s', inout finished boolean = null)
    language c as 'MODULE_PATHNAME', 'scylla_wait_plan';
comment on procedure scylla.wait_plan is
'Waits until a plan is finished: completed, failed or cancelled; false if that takes longer than timeout. Holds no snapshot and
no transaction meanwhile. Call it as a statement of its own.
Errors: P0002 no such plan; 25001 inside a transaction block; 22023 bad argument.';
-- Waiting for work. These are procedures: a function would hold its statement's snapshot while it waits, and hold back
-- vacuum. They commit, so they cannot be called in a transaction block, and must not pin search_path (then the server would
-- not let them commit).

create procedure scylla.wait(queue text, timeout interval = '30 s', inout ready boolean = null)
    language c as 'MODULE_PATHNAME', 'scylla_wait';
comment on procedure scylla.wait is
'Returns true as soon as the queue may have a task to lease, false when the timeout is over. Another worker may be faster: then
lease() returns nothing, and the worker waits again. The queue need not exist yet.
  timeout  more than 0, up to 365 days
Waits without a snapshot and without a transaction id; is woken by the commit that makes a task ready, one waiter per task.
Without shared_preload_libraries it looks four times a second instead.
Errors: 25001 inside a transaction block; 22023 bad argument; 57014 statement_timeout or a cancel request.';

create procedure scylla.wait_any(queues text[], timeout interval = '30 s', inout queue text = null)
    language c as 'MODULE_PATHNAME', 'scylla_wait_any';
comment on procedure scylla.wait_any is
'The same for up to 64 queues: returns the name of one that may have a task to lease, null when the timeout is over.';

-- Recurring tasks: see docs/schedules.md.

create function scylla.cron_next(cron text, after timestamptz = null, timezone text = 'UTC') returns timestamptz
    language c stable parallel safe as 'MODULE_PATHNAME', 'scylla_cron_next';
comment on function scylla.cron_next is
'When a schedule comes next after a moment (null: now); null if never.
  cron      five fields as in pg_cron, a name like @daily, or "30 seconds"
  timezone  whose clocks the schedule goes by
Errors: 22023 bad argument.';

create function scylla._cron_due(cron text, timezone text, after timestamptz, until timestamptz, max_times integer,
                                 out total bigint, out times timestamptz[])
    language c stable parallel safe as 'MODULE_PATHNAME', 'scylla_cron_due';
comment on function scylla._cron_due is
'How often a schedule came after one moment until another, and the last max_times of these times, in order.';

create function scylla.schedule(
    name text, cron text, queue text, spec jsonb, timezone text = 'UTC', overlap text = 'allow', catch_up text = 'latest',
    grace interval = '1 hour', max_catch_up integer = 100, jitter interval = '0', starts timestamptz = null,
    ends timestamptz = null, planned_key text = null, options jsonb = '{}')
    returns timestamptz
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_schedule';
comment on function scylla.schedule is
'Submits a task again and again, by pg_cron, as the role that calls this. Replaces the schedule of that name, if it is the
caller''s. Returns when it comes first.
  name          1..150 characters; the tasks are called name/planned time, as in nightly/2027-01-31T02:00:00Z
  cron          five fields as in pg_cron, a name like @daily, or "30 seconds"
  timezone      whose clocks it goes by
  overlap       while the previous task is live: allow, skip the new one, or replace (cancel) the old one
  catch_up      what to do about planned times that nobody looked at in time: none, latest or all
  grace         how late a task may be submitted, two minutes at least; null: no bound
  max_catch_up  at most so many of the latest by catch_up all
  jitter        each task is delayed by up to this, always the same for the same planned time
  starts, ends  planned times are from the one until before the other
  planned_key   puts the planned time into the spec under this key
  options       further arguments of submit: {"priority": 5, "max_attempts": 3}
Errors: 22023 bad argument; 42501 somebody else''s schedule; 55000 pg_cron is missing; what submit raises.';

create function scylla.schedule_plan(
    name text, cron text, tasks jsonb, timezone text = 'UTC', overlap text = 'allow', catch_up text = 'latest',
    grace interval = '1 hour', max_catch_up integer = 100, jitter interval = '0', starts timestamptz = null,
    ends timestamptz = null, planned_key text = null)
    returns timestamptz
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_schedule_plan';
comment on function scylla.schedule_plan is
'Runs a plan again and again: schedule() for several tasks that depend on each other. Returns when it comes first.
  tasks   an array of objects as for submit_many; rn names a task within the plan (else its number does), and depends_on
          means these names. The plan is called name/planned time, its tasks plan/rn
The other arguments are those of schedule(); what it says about the previous task is about the previous plan.
Errors: as schedule(), and what create_plan and open_plan raise.';

create function scylla.unschedule(name text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_call_as_owner';
comment on function scylla.unschedule is
'Removes a schedule. Its tasks stay. Errors: 42704 no such schedule of the caller''s.';

create function scylla.run_schedules() returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_call_as_owner';
comment on function scylla.run_schedules is
'Submits the tasks and plans whose planned time has come, and returns how many: the job that pg_cron runs every minute. Whoever else
runs it at the same time, each planned time gives one task. A schedule that fails is reported by a warning and in the view
scylla.schedules, and does not keep the others.';

create function scylla.arm_schedules() returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_call_as_owner';
comment on function scylla.arm_schedules is
'Lets the caller''s schedules run in this database, after it was restored from a dump. Returns how many did not before.';

-- ---- behind them: run by the functions above as the owner of the tables, never by users -----------------------------------

create function scylla._as_role(role oid, query text, argument jsonb) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_as_role';
comment on function scylla._as_role is
'Runs a query that gives one number, $1 being the argument, as a role that the present one may become.';

create function scylla._home() returns text
    language sql stable parallel safe set search_path = pg_catalog, pg_temp
as $$
    select c.system_identifier || '/' || d.oid from pg_control_system() c, pg_database d where d.datname = current_database();
$$;
comment on function scylla._home is 'What tells this database from a copy of it that was restored from a dump.';

-- Whether the role may act as the owner of a schedule: a name, whose role may be gone.
create function scylla._may_change(caller oid, owner text) returns boolean
    language sql stable parallel safe set search_path = pg_catalog, pg_temp
as $$
    select exists (select from pg_roles r where r.rolname = owner and pg_has_role(caller, r.oid, 'usage')
                                            or r.oid = caller and r.rolsuper);
$$;
comment on function scylla._may_change is 'Whether a role may change the schedules of an owner.';

create function scylla._next_run(cron text, timezone text, after timestamptz, starts timestamptz, ends timestamptz)
    returns timestamptz
    language sql stable parallel safe set search_path = pg_catalog, pg_temp
as $$
    select n from scylla.cron_next(cron, greatest(after, starts - interval '1 microsecond'), timezone) n
    where ends is null or n < ends;
$$;
comment on function scylla._next_run is 'The first planned time after a moment; null: none.';

-- The planned time as it stands in names and specs.
create function scylla._planned(planned timestamptz) returns text
    language sql stable parallel safe set search_path = pg_catalog, pg_temp
as $$ select to_char(planned at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'); $$;
comment on function scylla._planned is 'A planned time as text, in UTC.';

-- The job that calls run_schedules: made, changed or removed so that it is what the schedules need. It is one for all of a
-- database, so that nobody can schedule too much for pg_cron, and what it does does not depend on when exactly it comes.
create function scylla._keep_tick(warn boolean) returns void
    language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
    tick constant text := 'select scylla.run_schedules()';
    job_name constant text := 'scylla schedules';
    cron_database constant text := current_setting('cron.database_name', true);
    wanted text;
    version int[];
begin
    if current_setting('scylla.schedules') = 'manual' then
        return;
    end if;
    select coalesce(min(substring(cron from '[0-9]+')::int) filter (where cron ~* '^[[:space:]]*[0-9]+[[:space:]]*second') || ' seconds', '* * * * *')
      into wanted from scylla.schedule;
    if not exists (select from scylla.schedule) then
        wanted := null;
        if cron_database is null or not exists (select from pg_extension where extname = 'pg_cron') then
            return;
        end if;
    end if;

    if cron_database is null then
        raise 'pg_cron is not available' using errcode = '55000', schema = 'scylla', table = 'schedule', constraint = 'pg_cron',
            detail = 'Recurring tasks need something that calls scylla.run_schedules() every minute.',
            hint = 'Add pg_cron to shared_preload_libraries and restart the server, or set scylla.schedules to "manual" and '
                   'call it by other means.';
    end if;
    if wanted like '%seconds' then
        select string_to_array(substring(default_version from '^[0-9]+[.][0-9]+'), '.')::int[] into version
          from pg_available_extensions where name = 'pg_cron';
        if version < array[1, 5] then
            raise 'pg_cron % cannot run a job every few seconds', array_to_string(version, '.')
                using errcode = '0A000', schema = 'scylla', table = 'schedule', constraint = 'pg_cron',
                hint = 'Use a schedule of minutes, or pg_cron 1.5 or later.';
        end if;
    end if;
    if cron_database <> current_database() then
        if warn then
            raise warning 'schedules of this database run once pg_cron is told to'
                using detail = format('pg_cron works in the database "%s".', cron_database),
                hint = format('Connect to that database, and call: select cron.schedule_in_database(%L, %L, %L, %L)',
                              left('scylla schedules of ' || current_database(), 63), wanted, tick, current_database());
        end if;
        return;
    end if;
    if not exists (select from pg_extension where extname = 'pg_cron') then
        raise 'pg_cron is not available' using errcode = '55000', schema = 'scylla', table = 'schedule', constraint = 'pg_cron',
            detail = 'The extension pg_cron has not been created in this database.', hint = 'create extension pg_cron';
    end if;

    if wanted is null then
        perform cron.unschedule(j.jobid) from cron.job j
          where j.jobname = job_name and j.command = tick and j.database = current_database()
            and j.username = current_user;
    elsif not exists (select from cron.job j where j.command = tick and j.database = current_database()
                                               and j.schedule = wanted) then
        perform cron.schedule(job_name, wanted, tick);
    end if;
end $$;
comment on function scylla._keep_tick is 'Makes, changes or removes the job of pg_cron that calls run_schedules().';

create function scylla._put_schedule(
    caller oid, name text, cron text, task jsonb, timezone text, overlap text, catch_up text, grace interval,
    max_catch_up integer, jitter interval, starts timestamptz, ends timestamptz, planned_key text)
    returns timestamptz
    language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    is_first constant boolean := not exists (select from scylla.schedule);
    s scylla.schedule;
    moment constant timestamptz := clock_timestamp();
begin
    insert into scylla.schedule as t (name, owner, home, cron, timezone, task, overlap, catch_up, grace, max_catch_up, jitter,
                                      starts, ends, planned_key, handled)
        select _put_schedule.name, r.rolname, scylla._home(), _put_schedule.cron, _put_schedule.timezone, _put_schedule.task, _put_schedule.overlap,
               _put_schedule.catch_up, _put_schedule.grace, _put_schedule.max_catch_up, _put_schedule.jitter, _put_schedule.starts, _put_schedule.ends,
               _put_schedule.planned_key, moment
          from pg_roles r where r.oid = caller
        on conflict (name) do update set
            home = excluded.home, cron = excluded.cron, timezone = excluded.timezone, task = excluded.task,
            overlap = excluded.overlap, catch_up = excluded.catch_up, grace = excluded.grace,
            max_catch_up = excluded.max_catch_up, jitter = excluded.jitter, starts = excluded.starts, ends = excluded.ends,
            planned_key = excluded.planned_key, last_error = null, failed = null,
            -- What was due under the same plan is still due.
            handled = case when (t.cron, t.timezone, t.home) = (excluded.cron, excluded.timezone, excluded.home) then t.handled
                           else excluded.handled end
        returning * into s;
    if not scylla._may_change(caller, s.owner) then
        raise 'permission denied for schedule "%"', name using errcode = '42501', schema = 'scylla', table = 'schedule',
            constraint = 'owner', detail = 'It belongs to another role.';
    end if;
    update scylla.schedule t set next_run = scylla._next_run(t.cron, t.timezone, t.handled, t.starts, t.ends)
      where t.name = s.name returning * into s;

    -- A rehearsal, undone at once: what a submit would refuse, it refuses now. That there is no room now is no reason.
    begin
        perform scylla._submit_planned(s, s.next_run);
        raise 'undone' using errcode = 'SCYLL';
    exception when sqlstate 'SCYLL' or configuration_limit_exceeded then
        null;
    end;
    perform scylla._keep_tick(is_first);
    return s.next_run;
end $$;
comment on function scylla._put_schedule is 'Makes or changes a schedule: of a task, if it is an object, or of a plan of tasks, an array.';

create function scylla._schedule(
    caller oid, name text, cron text, queue text, spec jsonb, timezone text, overlap text, catch_up text, grace interval,
    max_catch_up integer, jitter interval, starts timestamptz, ends timestamptz, planned_key text, options jsonb)
    returns timestamptz
    language sql volatile set search_path = pg_catalog, pg_temp
as $$
    select scylla._put_schedule(caller, name, cron, options || jsonb_build_object('queue', queue, 'spec', spec), timezone,
                                overlap, catch_up, grace, max_catch_up, jitter, starts, ends, planned_key);
$$;
comment on function scylla._schedule is 'Does what schedule() says.';

create function scylla._schedule_plan(
    caller oid, name text, cron text, tasks jsonb, timezone text, overlap text, catch_up text, grace interval,
    max_catch_up integer, jitter interval, starts timestamptz, ends timestamptz, planned_key text)
    returns timestamptz
    language sql volatile set search_path = pg_catalog, pg_temp
as $$
    select scylla._put_schedule(caller, name, cron, tasks, timezone, overlap, catch_up, grace, max_catch_up, jitter, starts,
                                ends, planned_key);
$$;
comment on function scylla._schedule_plan is 'Does what schedule_plan() says.';

create function scylla._unschedule(caller oid, name text) returns void
    language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
    delete from scylla.schedule s where s.name = _unschedule.name and scylla._may_change(caller, s.owner);
    if not found then
        raise 'schedule "%" does not exist', name using errcode = '42704', schema = 'scylla', table = 'schedule',
            constraint = 'exists';
    end if;
    perform scylla._keep_tick(false);
end $$;
comment on function scylla._unschedule is 'Does what unschedule() says.';

create function scylla._arm_schedules(caller oid) returns bigint
    language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
    armed bigint;
begin
    update scylla.schedule s set home = scylla._home()
      where s.home <> scylla._home() and scylla._may_change(caller, s.owner);
    get diagnostics armed = row_count;
    if exists (select from scylla.schedule) then
        perform scylla._keep_tick(true);
    end if;
    return armed;
end $$;
comment on function scylla._arm_schedules is 'Does what arm_schedules() says.';

-- The tasks of a planned time, as submit_many takes them: of a schedule of one task this one, of a plan its tasks, with the names
-- that they have within it put after the name of the plan.
create function scylla._planned_tasks(s scylla.schedule, planned timestamptz) returns jsonb
    language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
    rn constant text := s.name || '/' || scylla._planned(planned);
    common jsonb := '{}';
    tasks jsonb;
begin
    if s.jitter > interval '0' then
        -- A delay that looks random, but is the same whoever submits the task.
        common := jsonb_build_object('not_before',
            planned + s.jitter * ((hashtextextended(rn, 0) & 4294967295) / 4294967296.0));
    end if;
    if jsonb_typeof(s.task) = 'object' then
        tasks := jsonb_build_array(s.task || common || jsonb_build_object('rn', rn));
    else
        common := common || jsonb_build_object('plan', rn);
        with part as (
            select n, task, coalesce(task ->> 'rn', n::text) as name from jsonb_array_elements(s.task) with ordinality t (task, n)
        )
        select jsonb_agg(p.task || common || jsonb_build_object('rn', rn || '/' || p.name, 'depends_on',
                   (select jsonb_agg(case when exists (select from part q where q.name = d) then rn || '/' || d else d end
                                     order by n)
                      from jsonb_array_elements_text(nullif(p.task -> 'depends_on', 'null')) with ordinality d (d, n)))
                   order by p.n)
          into tasks from part p;
    end if;
    if s.planned_key is not null then
        select jsonb_agg(jsonb_set(task, array['spec', s.planned_key], to_jsonb(scylla._planned(planned))) order by n)
          into tasks from jsonb_array_elements(tasks) with ordinality t (task, n);
    end if;
    return tasks;
end $$;
comment on function scylla._planned_tasks is 'What submit_many is given for a planned time.';

-- Submits the task or the plan of a planned time as the owner of the schedule; whether there was none of that name.
create function scylla._submit_planned(s scylla.schedule, planned timestamptz) returns boolean
    language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
    owner oid;
    plan jsonb;
begin
    select r.oid into owner from pg_roles r where r.rolname = s.owner;
    if owner is null then
        raise 'role "%" does not exist', s.owner using errcode = '42704', schema = 'scylla', table = 'schedule',
            constraint = 'owner', detail = 'It made the schedule, whose tasks are submitted as this role.';
    end if;
    if jsonb_typeof(s.task) = 'object' then
        return scylla._as_role(owner, 'select count(*) filter (where inserted) from scylla.submit_many($1, ''ignore'')',
                               scylla._planned_tasks(s, planned)) > 0;
    end if;
    plan := jsonb_build_object('name', s.name || '/' || scylla._planned(planned),
                               'spec', jsonb_build_object('schedule', s.name, 'planned', scylla._planned(planned)));
    begin
        perform scylla._as_role(owner, 'select count(*) from scylla.create_plan($1 ->> ''name'', $1 -> ''spec'')', plan);
    exception when duplicate_object then
        return false;
    end;
    perform scylla._as_role(owner, 'select count(*) from scylla.submit_many($1, ''error'')', scylla._planned_tasks(s, planned));
    perform scylla._as_role(owner, 'select count(*) from scylla.open_plan($1 ->> ''name'')', plan);
    return true;
end $$;
comment on function scylla._submit_planned is 'Submits the task or plan of a planned time, as the owner of the schedule.';

create function scylla._is_live(s scylla.schedule) returns boolean
    language sql stable parallel safe set search_path = pg_catalog, pg_temp
as $$
    select case when jsonb_typeof(s.task) = 'object'
                then exists (select from scylla.task_spec t
                             where t.rn = s.last_task and not exists (select from scylla.task_outcome o where o.id = t.id))
                else exists (select from scylla.task_plan p where p.name = s.last_task and p.finished is null) end;
$$;
comment on function scylla._is_live is 'Whether the last task or plan of a schedule has not ended.';

-- Deals with the planned times of one schedule up to now; the row is locked. Returns how many tasks were submitted.
create function scylla._run_schedule(s scylla.schedule, now timestamptz) returns bigint
    language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
    -- pg_cron comes every minute, and may be late by as much.
    tick constant interval := '2 minutes';
    until constant timestamptz := least(now, s.ends - interval '1 microsecond');
    oldest constant timestamptz := now - case when s.catch_up = 'none' then tick
                                              when s.grace is not null then greatest(s.grace, tick) end;
    submitted bigint := 0;
    total bigint;
    times timestamptz[];
    planned timestamptz;
    live boolean;
begin
    select d.total, d.times into total, times
      from scylla._cron_due(s.cron, s.timezone, s.next_run - interval '1 microsecond', until,
                            case s.catch_up when 'none' then 120 when 'latest' then 1 else s.max_catch_up end) d;
    s.handled := coalesce(times[cardinality(times)], s.handled);
    times := array(select t from unnest(times) t where oldest is null or t >= oldest order by t);
    s.missed := s.missed + total - cardinality(times);
    foreach planned in array times loop
        live := s.overlap <> 'allow' and scylla._is_live(s);
        if live and s.overlap = 'skip' then
            s.skipped := s.skipped + 1;
            continue;
        end if;
        begin
            if live then
                perform scylla._cancel_planned(s);
            end if;
            if scylla._submit_planned(s, planned) then
                submitted := submitted + 1;
            end if;
            s.last_run := planned;
            s.last_submitted := clock_timestamp();
            s.last_task := s.name || '/' || scylla._planned(planned);
            s.last_error := null;
            s.failed := null;
        exception when others then
            -- To be tried again at the next tick, as long as it is not too late.
            s.last_error := sqlstate || ': ' || sqlerrm;
            s.failed := clock_timestamp();
            s.handled := planned - interval '1 microsecond';
            raise warning 'schedule "%" could not submit its task: %', s.name, sqlerrm;
            exit;
        end;
    end loop;
    update scylla.schedule t
       set handled = s.handled, next_run = scylla._next_run(s.cron, s.timezone, s.handled, s.starts, s.ends),
           last_run = s.last_run, last_submitted = s.last_submitted, last_task = s.last_task, runs = s.runs + submitted,
           skipped = s.skipped, missed = s.missed, last_error = s.last_error, failed = s.failed
     where t.name = s.name;
    return submitted;
end $$;
comment on function scylla._run_schedule is 'Deals with what one schedule has planned until now.';

create function scylla._cancel_planned(s scylla.schedule) returns void
    language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
    perform scylla._as_role(r.oid, format('select count(*) from scylla.%I($1 #>> ''{}'')',
                                          case when jsonb_typeof(s.task) = 'object' then 'cancel' else 'cancel_plan' end),
                            to_jsonb(s.last_task))
       from pg_roles r where r.rolname = s.owner;
exception when object_not_in_prerequisite_state or no_data_found then
    null; -- it has just ended
end $$;
comment on function scylla._cancel_planned is 'Cancels the last task or plan of a schedule, as its owner.';

-- The moment is an argument so that tests need not wait.
create function scylla._run_schedules_at(now timestamptz) returns bigint
    language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
    here constant text := scylla._home();
    s scylla.schedule;
    submitted bigint := 0;
    asleep bigint;
begin
    if current_setting('scylla.schedules') = 'off' then
        return 0;
    end if;
    -- Another call that is at a schedule deals with it.
    for s in select * from scylla.schedule t where t.next_run <= now and t.home = here order by t.name for update skip locked loop
        begin
            submitted := submitted + scylla._run_schedule(s, now);
        exception when others then
            update scylla.schedule t set last_error = sqlstate || ': ' || sqlerrm, failed = clock_timestamp()
             where t.name = s.name;
            raise warning 'schedule "%" failed: %', s.name, sqlerrm;
        end;
    end loop;
    select count(*) into asleep from scylla.schedule t where t.next_run <= now and t.home <> here;
    if asleep > 0 then
        raise warning '% schedules are not armed in this database', asleep
            using detail = 'They came with a dump, or the server was upgraded by pg_upgrade.',
            hint = 'To let them run here, call scylla.arm_schedules().';
    end if;
    return submitted;
end $$;
comment on function scylla._run_schedules_at is 'Does what run_schedules() says, at a given moment.';

create function scylla._run_schedules(caller oid) returns bigint
    language sql volatile set search_path = pg_catalog, pg_temp
as $$ select scylla._run_schedules_at(clock_timestamp()); $$;
comment on function scylla._run_schedules is 'Does what run_schedules() says.';

-- What the monitor does, by hand: for servers that do not preload the library (call maintain() from cron), and for tests.

create function scylla.reset_expired() returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_reset_expired';
comment on function scylla.reset_expired is
'Ends the leases whose deadline has passed: the task is ready again, or aborted when max_attempts is reached. Returns how many.
Leases that another transaction is just changing are left for the next time.';

create function scylla.purge() returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_purge';
comment on function scylla.purge is
'Removes the tasks that ended longer ago than their queue''s retention (else scylla.retention), and events older than
scylla.event_retention. Returns how many tasks.';

create function scylla.maintain() returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_maintain';
comment on function scylla.maintain is
'One round of the monitor: opens tasks that have become due, ends expired leases, removes old terminal tasks.';

-- The public face of plans. Columns are only ever appended.

create view scylla.plan with (security_barrier) as
    select p.name,
           case when p.cancelled then 'cancelled' when p.failed then 'failed' when p.finished is not null then 'completed'
                when p.opened is not null then 'running' else 'building' end as status,
           p.spec, m.waiting, m.tasks - m.waiting - m.running - m.completed - m.aborted - m.cancelled as ready,
           m.running, m.completed, m.aborted, m.cancelled,
           case when m.tasks = 0 then (p.finished is not null)::integer
                else (m.completed + m.aborted + m.cancelled + m.under_way) / m.tasks end::real as progress,
           p.created, p.opened, p.finished,
           (select jsonb_object_agg(s.rn, o.result)
            from scylla.task_gate g
            join scylla.task_spec s on s.id = g.task
            join scylla.queue q on q.id = s.queue and scylla._may_view(q.owner, q.viewers, q.admins)
            join scylla.task_outcome o on o.id = g.task and o.status = 'completed'
            where g.provider = p.id
              and not exists (select from scylla.task_gate d
                              join scylla.task_gate e on e.task = d.task and e.provider = p.id
                              where d.provider = g.task)) as result,
           p.owner::text as owner
    from scylla.task_plan p
    cross join lateral (
        select count(*) as tasks, count(w.id) as waiting, count(l.id) as running,
               count(*) filter (where o.status = 'completed') as completed,
               count(*) filter (where o.status = 'aborted') as aborted,
               count(*) filter (where o.status = 'cancelled') as cancelled,
               coalesce(sum(l.progress), 0) as under_way
        from scylla.task_gate g
        left join scylla.task_waiting w on w.id = g.task
        left join scylla.task_lease l on l.id = g.task
        left join scylla.task_outcome o on o.id = g.task
        where g.provider = p.id) m
    where scylla._may_view(p.owner, null, null);

comment on view scylla.plan is 'The plans of the current user and the roles it is a member of, as the statement''s snapshot sees them. Reads all tasks of
the plans that are selected.';
comment on column scylla.plan.name is 'Identifies the plan in the database.';
comment on column scylla.plan.status is
'building (not opened yet), running, completed (no task is live), failed (no task is live and one was aborted), cancelled.';
comment on column scylla.plan.spec is 'What create_plan() was given.';
comment on column scylla.plan.waiting is 'Tasks behind a closed gate.';
comment on column scylla.plan.ready is 'Tasks that can be leased.';
comment on column scylla.plan.running is 'Tasks that are leased.';
comment on column scylla.plan.completed is 'Tasks that are completed.';
comment on column scylla.plan.aborted is 'Tasks that are aborted.';
comment on column scylla.plan.cancelled is 'Tasks that are cancelled.';
comment on column scylla.plan.progress is '0..1: the part of the tasks that has ended; a running task counts with its progress.';
comment on column scylla.plan.created is 'When it was created.';
comment on column scylla.plan.opened is 'When its tasks were allowed to start.';
comment on column scylla.plan.finished is 'When its last live task ended, or it was cancelled.';
comment on column scylla.plan.result is 'Results of its completed final tasks, on which no other of its tasks depends, by rn; of the queues that the reader may view.';
comment on column scylla.plan.owner is 'The role that it belongs to.';
-- The tasks of plans with what they depend on: what a picture of a plan is made of. Columns are only ever appended.

create view scylla.plan_task with (security_barrier) as
    select p.name as plan, s.rn, q.name as queue,
           case when w.id is not null then 'waiting' when l.id is not null then 'running' when o.id is not null then o.status
                else 'ready' end::scylla.task_status as status,
           coalesce(l.progress, o.progress, 0)::real as progress,
           s.created, coalesce(o.finished, l.updated, w.updated, r.updated) as updated,
           coalesce(l.owner, o.owner) as owner, coalesce(l.attempt, o.attempt, w.attempt, r.attempt) as attempt,
           case when l.id is not null then scylla._history(l.history, l.owner, l.attempt, l.leased)
                when o.id is not null then scylla._history(o.history, o.owner, o.attempt, o.leased)
                else coalesce(w.history, r.history, '[]'::jsonb) end as history,
           array(select ps.rn
                 from scylla.task_gate d
                 join scylla.task_spec ps on ps.id = d.provider
                 join scylla.queue pq on pq.id = ps.queue and scylla._may_view(pq.owner, pq.viewers, pq.admins)
                 where d.task = g.task and d.kind = 't' order by d.ord) as depends_on
    from scylla.task_plan p
    join scylla.task_gate g on g.provider = p.id
    join scylla.task_spec s on s.id = g.task
    join scylla.queue q on q.id = s.queue and scylla._may_view(q.owner, q.viewers, q.admins)
    left join scylla.task_waiting w on w.id = s.id
    left join scylla.task_ready r on r.queue = s.queue and r.priority = s.priority and r.id = s.id
    left join scylla.task_lease l on l.id = s.id
    left join scylla.task_outcome o on o.id = s.id
    where scylla._may_view(p.owner, null, null);

comment on view scylla.plan_task is 'The tasks of the plans that the current user sees, in the queues that he may view; as the statement''s
snapshot sees them.';
comment on column scylla.plan_task.plan is 'The plan.';
comment on column scylla.plan_task.rn is 'The task.';
comment on column scylla.plan_task.queue is 'Its queue.';
comment on column scylla.plan_task.status is 'Where it is in its life.';
comment on column scylla.plan_task.progress is '0..1, as the worker last said; 1 when completed.';
comment on column scylla.plan_task.created is 'When it was submitted.';
comment on column scylla.plan_task.updated is 'When it last changed.';
comment on column scylla.plan_task.owner is 'The worker that runs it, or whose lease ended with it.';
comment on column scylla.plan_task.attempt is 'How often it has been leased.';
comment on column scylla.plan_task.history is 'As in the view scylla.task.';
comment on column scylla.plan_task.depends_on is
'The tasks that it depends on, in the order in which they were given; of the queues that the reader may view.';
-- Pictures of plans, from the view scylla.plan_task, so everybody sees in them what he sees there.

-- The nodes and edges of a picture. One row per node: a task, or many that have the same queue and status and are about as
-- deep in the plan; sources are the numbers of the nodes that it depends on.
create function scylla._plan_picture(plan text, max_tasks integer)
    returns table (node integer, label text, status scylla.task_status, sources integer[])
    language plpgsql volatile parallel unsafe set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    names text[];
    queues text[];
    statuses scylla.task_status[];
    froms integer[];        -- the edges, by where they begin
    tos integer[];
    first_edge integer[];   -- of each task
    missing integer[];      -- how many of a task's dependencies have not been dealt with
    depths integer[];
    pending integer[];      -- tasks whose depth is final, in the order in which that was found
    tasks integer;
    levels integer;
    kinds integer;
    bands integer;
    edges integer;
    last integer;
    edge integer;
    i integer;
    t integer;
begin
    perform scylla._check_max_tasks(max_tasks);
    perform scylla.plan_completed(plan); -- there is such a plan

    -- One statement, so one snapshot.
    with task as materialized (
        select m.rn, m.queue, m.status, m.depends_on, (row_number() over (order by m.created, m.rn))::integer as n
        from scylla.plan_task m where m.plan = _plan_picture.plan
    ), edge as (
        select distinct f.n as from_, t.n as to_
        from task t cross join lateral unnest(t.depends_on) d (rn) join task f on f.rn = d.rn
    )
    select (select array_agg(k.rn order by k.n) from task k), (select array_agg(k.queue order by k.n) from task k),
           (select array_agg(k.status order by k.n) from task k),
           coalesce(array_agg(e.from_ order by e.from_, e.to_), '{}'), coalesce(array_agg(e.to_ order by e.from_, e.to_), '{}')
    into names, queues, statuses, froms, tos from edge e;
    tasks := coalesce(cardinality(names), 0);
    edges := cardinality(froms);

    if tasks <= max_tasks then
        return query
            select n, names[n], statuses[n], coalesce(e.sources, '{}')
            from generate_series(1, tasks) n
            left join (select to_, array_agg(from_ order by from_) as sources from unnest(froms, tos) u (from_, to_) group by to_) e
                on e.to_ = n
            order by n;
        return;
    end if;

    -- How deep a task is: the length of the longest path to it. Each edge is looked at once.
    first_edge := array_fill(null::integer, array[tasks]);
    missing := array_fill(0, array[tasks]);
    depths := array_fill(0, array[tasks]);
    for i in 1 .. edges loop
        missing[tos[i]] := missing[tos[i]] + 1;
        if first_edge[froms[i]] is null then
            first_edge[froms[i]] := i;
        end if;
    end loop;
    select array_agg(n order by n) into pending from generate_series(1, tasks) n where missing[n] = 0;
    last := cardinality(pending);
    i := 0;
    while i < last loop
        i := i + 1;
        t := pending[i];
        edge := first_edge[t];
        while edge <= edges and froms[edge] = t loop
            depths[tos[edge]] := greatest(depths[tos[edge]], depths[t] + 1);
            missing[tos[edge]] := missing[tos[edge]] - 1;
            if missing[tos[edge]] = 0 then
                last := last + 1;
                pending[last] := tos[edge];
            end if;
            edge := edge + 1;
        end loop;
    end loop;

    -- As many bands of depths as give no more than max_tasks nodes.
    select max(d) + 1 into levels from unnest(depths) d;
    select count(distinct (q, s)) into kinds from unnest(queues, statuses) u (q, s);
    bands := least(levels, greatest(1, max_tasks / kinds));
    return query
        with member as (
            select n, q, s, d, dense_rank() over (order by (d::bigint * bands / levels), q collate "C", s)::integer as node
            from unnest(queues, statuses, depths) with ordinality u (q, s, d, n)
        ), collapsed as (
            select m.node, case when count(*) = 1 then names[min(m.n)] else min(m.q) || E'\n' || count(*) || ' tasks' end as label,
                   min(m.s) as status
            from member m group by m.node
        ), edge as (
            select t.node, array_agg(distinct f.node order by f.node) as sources
            from unnest(froms, tos) u (from_, to_) join member f on f.n = u.from_ join member t on t.n = u.to_
            where f.node <> t.node group by t.node
        )
        select c.node, c.label, c.status, coalesce(e.sources, '{}')
        from collapsed c left join edge e using (node) order by c.node;
end $$;
comment on function scylla._plan_picture is
'The nodes and edges of plan_dot() and plan_mermaid(). It reads as its caller, who must be allowed to.';

create function scylla.plan_dot(plan text, max_tasks integer = 200) returns text
    language sql volatile parallel unsafe
begin atomic
    select format(E'digraph plan {\n  rankdir=LR;\n  node [shape=box, style="rounded,filled", fontname="sans-serif"];\n%s%s}\n',
        string_agg(format(E'  n%s [label="%s", fillcolor="%s"];\n', p.node,
            regexp_replace(replace(replace(replace(replace(p.label, '&', '&amp;'), E'\\', E'\\\\'), '"', E'\\"'), E'\n', E'\\n'),
                           '[[:cntrl:]]', ' ', 'g'),
            case p.status when 'waiting' then '#e0e0e0' when 'ready' then '#fff3bf' when 'running' then '#a5d8ff'
                          when 'completed' then '#b2f2bb' when 'aborted' then '#ffc9c9' else '#d0bfff' end), '' order by p.node),
        string_agg((select string_agg(format(E'  n%s -> n%s;\n', s, p.node), '' order by s) from unnest(p.sources) s), ''
                   order by p.node))
    from scylla._plan_picture(plan_dot.plan, plan_dot.max_tasks) p;
end;
comment on function scylla.plan_dot is
'A plan as a graph in the language of Graphviz: a node per task, coloured by status, and an arrow from each task to those that
depend on it.
  max_tasks  1..100000; of a larger plan, tasks of the same queue and status that are about as deep become one node
Needs EXECUTE on plan_completed and SELECT on the view plan_task. Errors: P0002 no such plan; 22023 bad argument.';

create function scylla.plan_mermaid(plan text, max_tasks integer = 200) returns text
    language sql volatile parallel unsafe
begin atomic
    select format(E'flowchart LR\n%s%s%s',
        string_agg(format(E'  n%s["%s"]:::%s\n', p.node,
            -- What means something in a label or before it is one becomes a number; # first, as the numbers begin with it.
            regexp_replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(p.label,
                '#', '#35;'), '"', '#34;'), '&', '#38;'), '<', '#60;'), '>', '#62;'), E'\\', '#92;'), '`', '#96;'), ':', '#58;'),
                '%', '#37;'), '*', '#42;'), E'\n', '<br>'), '[[:cntrl:]]', ' ', 'g'),
            p.status), '' order by p.node),
        string_agg((select string_agg(format(E'  n%s --> n%s\n', s, p.node), '' order by s) from unnest(p.sources) s), ''
                   order by p.node),
        E'  classDef waiting fill:#e0e0e0\n  classDef ready fill:#fff3bf\n  classDef running fill:#a5d8ff\n'
        '  classDef completed fill:#b2f2bb\n  classDef aborted fill:#ffc9c9\n  classDef cancelled fill:#d0bfff\n')
    from scylla._plan_picture(plan_mermaid.plan, plan_mermaid.max_tasks) p;
end;
comment on function scylla.plan_mermaid is
'The same as plan_dot, as a flowchart in the language of Mermaid.';

create function scylla.plan_timeline(plan text, out rn text, out queue text, out owner text, out attempt integer,
                                     out started timestamptz, out ended timestamptz, out status text)
    returns setof record
    language plpgsql volatile parallel unsafe set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    perform scylla.plan_completed(plan); -- there is such a plan
    return query
        select m.rn, m.queue, a.worker, a.attempt, a."time",
               coalesce(e."time", case when m.status in ('completed', 'aborted', 'cancelled') then m.updated end),
               case e._typ when 'TaskTimeout' then 'expired' when 'TaskYield' then 'yielded' when 'TaskRetry' then 'failed'
                    else m.status::text end
        from scylla.plan_task m
        cross join lateral rows from (jsonb_to_recordset(m.history) as (_typ text, worker text, attempt integer, "time" timestamptz))
            with ordinality a (_typ, worker, attempt, "time", n)
        left join lateral (
            select h._typ, h."time"
            from rows from (jsonb_to_recordset(m.history) as (_typ text, worker text, attempt integer, "time" timestamptz))
                with ordinality h (_typ, worker, attempt, "time", n)
            where h.n = a.n + 1 and h._typ in ('TaskTimeout', 'TaskYield', 'TaskRetry')) e on true
        where m.plan = plan_timeline.plan and a._typ = 'TaskAssignment'
        order by a."time", m.rn, a.attempt;
end $$;
comment on function scylla.plan_timeline is
'When which task of a plan was run by whom: a row per attempt, for a Gantt chart. ended is null while it runs; status says how the
attempt ended: expired, yielded, failed, completed, aborted, cancelled; or running. Of very many attempts of a task the history
keeps the first and the latest.
Needs EXECUTE on plan_completed and SELECT on the view plan_task. Errors: P0002 no such plan; 22023 bad argument.';
-- Statistics, in the manner of the server's own pg_stat views: counters in shared memory, and how things stand now. Without
-- shared_preload_libraries the counters are null, and what stands in the tables is counted at each look.

-- ---- queues ----------------------------------------------------------------------------------------------------------

create function scylla._stat_queues(
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
'What scylla.stat_queue shows. may_count false: the tables are not counted again if they have been since the server started.';

create view scylla.stat_queue as select * from scylla._stat_queues(true);
comment on view scylla.stat_queue is
'One row per queue that the current user may view (members of pg_monitor: every queue): how many of its tasks are in each state, and what has happened since stats_reset in transactions that
have committed.';
comment on column scylla.stat_queue.queue is 'The queue.';
comment on column scylla.stat_queue.waiting is 'Tasks that wait: for their time, for other tasks, or for their plan.';
comment on column scylla.stat_queue.ready is 'Tasks that could be leased.';
comment on column scylla.stat_queue.running is 'Tasks that are leased.';
comment on column scylla.stat_queue.terminal is 'Tasks that have ended and are not purged yet.';
comment on column scylla.stat_queue.oldest_ready is
'How long the tasks that would be leased next (the first 100 of each priority) have been ready: the longest time.';
comment on column scylla.stat_queue.submitted is 'Tasks submitted.';
comment on column scylla.stat_queue.leased is 'Leases given.';
comment on column scylla.stat_queue.completed is 'Tasks that ended as completed.';
comment on column scylla.stat_queue.aborted is 'Tasks that ended as aborted: by abort, or by a failure or time-out too many.';
comment on column scylla.stat_queue.cancelled is 'Tasks that ended as cancelled.';
comment on column scylla.stat_queue.failed is 'Leases that ended by fail.';
comment on column scylla.stat_queue.expired is 'Leases whose time ran out.';
comment on column scylla.stat_queue.yielded is 'Leases that ended by yield.';
comment on column scylla.stat_queue.purged is 'Tasks removed after their retention.';
comment on column scylla.stat_queue.total_wait_time is
'How long the tasks that were leased had been ready, milliseconds altogether.';
comment on column scylla.stat_queue.wait_histogram is
'The same as counts of leases: element n counts those of up to 2^(n-1) milliseconds, the last one those above.';
comment on column scylla.stat_queue.total_run_time is
'How long leases lasted that ended by complete, abort or fail, milliseconds altogether.';
comment on column scylla.stat_queue.run_histogram is 'The same as counts of leases, see wait_histogram.';
comment on column scylla.stat_queue.stats_reset is 'When the counting began; null while nothing has happened.';
comment on column scylla.stat_queue.refused is 'Tasks whose submit failed because of max_depth.';
comment on column scylla.stat_queue.shed is 'Tasks that were cancelled because of max_depth when they were submitted.';

create function scylla.quantile(histogram bigint[], fraction double precision) returns interval
    language c immutable parallel safe as 'MODULE_PATHNAME', 'scylla_quantile';
comment on function scylla.quantile is
'The time that the given fraction (0 to 1) of the times in a histogram of scylla.stat_queue does not exceed, by interpolation:
right within a factor of two. Null if there are none. Errors: 22023 bad argument.';

create function scylla.count_tasks(queue text = null, out queue_name text, out status scylla.task_status,
                                   out tasks bigint)
    returns setof record
    language c volatile parallel unsafe rows 600 as 'MODULE_PATHNAME', 'scylla_count_tasks';
comment on function scylla.count_tasks is
'Counts the tasks of a queue (null: of each queue) by status, exactly: it reads the tables. The numbers in scylla.stat_queue are
right from then on, whatever has happened before.';

-- ---- workers ---------------------------------------------------------------------------------------------------------

create view scylla.stat_worker with (security_barrier) as
    select l.owner as worker, q.name as queue, count(*) as leases, min(l.leased) as oldest_lease,
           max(l.updated) as last_heartbeat, min(l.deadline) as next_deadline, avg(l.progress)::real as progress
    from scylla.task_lease l
    join scylla.queue q on q.id = l.queue and scylla._may_watch(q.owner, q.viewers, q.admins)
    group by l.owner, q.name;
comment on view scylla.stat_worker is 'One row per worker and queue: what the worker holds now, and when it was last heard of.';
comment on column scylla.stat_worker.worker is 'The worker.';
comment on column scylla.stat_worker.queue is 'The queue.';
comment on column scylla.stat_worker.leases is 'How many tasks it holds.';
comment on column scylla.stat_worker.oldest_lease is 'When it got the one that it has held for longest.';
comment on column scylla.stat_worker.last_heartbeat is 'When it last got a lease or extended one.';
comment on column scylla.stat_worker.next_deadline is 'When the first of its leases ends unless a heartbeat extends it.';
comment on column scylla.stat_worker.progress is 'The mean of its tasks'' progress, 0 to 1.';

-- ---- the monitor -----------------------------------------------------------------------------------------------------

create function scylla._stat_monitor(
        out rounds bigint, out total_time double precision, out max_time double precision,
        out opened bigint, out expired bigint, out purged bigint, out last_round timestamptz,
        out errors bigint, out last_error text, out last_error_time timestamptz, out stats_reset timestamptz)
    returns setof record
    language c volatile parallel restricted rows 1 as 'MODULE_PATHNAME', 'scylla_stat_monitor';
comment on function scylla._stat_monitor is 'The counters that scylla.stat_monitor shows.';

create view scylla.stat_monitor as
    select (select a.pid from pg_catalog.pg_stat_activity a
            where a.backend_type = 'scylla monitor' and a.datname = pg_catalog.current_database() limit 1) as pid, m.*
    from scylla._stat_monitor() m;
comment on view scylla.stat_monitor is
'What the monitor of this database has done since stats_reset; no row before its first round.';
comment on column scylla.stat_monitor.pid is 'Its process; null: none is running now.';
comment on column scylla.stat_monitor.rounds is 'Transactions in which it has looked for something to do.';
comment on column scylla.stat_monitor.total_time is 'How long they took, milliseconds altogether.';
comment on column scylla.stat_monitor.max_time is 'How long the longest took, milliseconds.';
comment on column scylla.stat_monitor.opened is 'Delayed tasks that it has made ready.';
comment on column scylla.stat_monitor.expired is 'Expired leases that it has ended.';
comment on column scylla.stat_monitor.purged is 'Old tasks that it has removed.';
comment on column scylla.stat_monitor.last_round is 'When it last looked.';
comment on column scylla.stat_monitor.errors is 'Errors that have ended a monitor; another one is started after 5 s.';
comment on column scylla.stat_monitor.last_error is 'The message of the last one.';
comment on column scylla.stat_monitor.last_error_time is 'When it happened.';
comment on column scylla.stat_monitor.stats_reset is 'When the counting began.';

create function scylla.stat_reset(queue text = null) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_stat_reset';
comment on function scylla.stat_reset is
'Begins the counters anew: those of a queue, or (null) of all queues and the monitor of this database. The numbers of tasks in
each state stay. Not undone by a rollback. Needs admin on the queue. Errors: 42704 no such queue; 42501 no privilege.';

-- ---- heads -----------------------------------------------------------------------------------------------------------

create function scylla._heads(out file oid, out queue integer, out priority integer, out frontier bigint, out returned text)
    returns setof record
    language c volatile parallel restricted rows 100 as 'MODULE_PATHNAME', 'scylla_heads';
comment on function scylla._heads is 'The heads of this database in shared memory, a row per priority that may have ready tasks.';

create view scylla.stat_heads with (security_barrier) as
    select q.name as queue, h.priority, h.frontier, h.returned::int8multirange as returned
    from scylla._heads() h
    join scylla.queue q on q.id = h.queue
    where h.file = pg_relation_filenode('scylla.task_ready') and scylla._may_watch(q.owner, q.viewers, q.admins);
comment on view scylla.stat_heads is
'Where the ready tasks begin, per queue and priority: hints by which a lease starts where the living are. Only priorities that
may have ready tasks.';
comment on column scylla.stat_heads.queue is 'The queue.';
comment on column scylla.stat_heads.priority is 'The priority.';
comment on column scylla.stat_heads.frontier is 'No ready task has a smaller id, except those that came back.';
comment on column scylla.stat_heads.returned is 'Where tasks with smaller ids may be: they came back (retries, yields, expired leases), or a long transaction has taken them.';

-- The statistics for Prometheus and its like.

create function scylla.metrics() returns text
    language sql volatile parallel unsafe set search_path = pg_catalog, pg_temp
as $$
    with family (n, name, type, unit, help) as (values
        (1, 'scylla_tasks', 'gauge', null, 'Tasks by queue and state.'),
        (2, 'scylla_oldest_ready_seconds', 'gauge', 'seconds', 'How long the tasks that would be leased next have been ready: the longest time.'),
        (3, 'scylla_queue_workers', 'gauge', null, 'Workers that hold leases.'),
        (4, 'scylla_tasks_submitted', 'counter', null, 'Tasks submitted.'),
        (5, 'scylla_tasks_turned_away', 'counter', null, 'Tasks that max_depth did not let in, by what became of them.'),
        (6, 'scylla_leases', 'counter', null, 'Leases given.'),
        (7, 'scylla_leases_lost', 'counter', null, 'Leases that ended without ending the task, by reason.'),
        (8, 'scylla_tasks_ended', 'counter', null, 'Tasks that ended, by status.'),
        (9, 'scylla_tasks_purged', 'counter', null, 'Tasks removed after their retention.'),
        (10, 'scylla_wait_seconds', 'histogram', 'seconds', 'Time from becoming ready to being leased.'),
        (11, 'scylla_run_seconds', 'histogram', 'seconds', 'Time of leases that ended by complete, abort or fail.'),
        (12, 'scylla_monitor_running', 'gauge', null, 'Whether a monitor is at work in this database.'),
        (13, 'scylla_monitor_rounds', 'counter', null, 'Transactions of the monitor.'),
        (14, 'scylla_monitor_busy_seconds', 'counter', 'seconds', 'How long they took.'),
        (15, 'scylla_monitor_errors', 'counter', null, 'Errors that have ended a monitor.')
    ), stat as materialized (
        select *, replace(replace(replace(queue, E'\\', E'\\\\'), '"', E'\\"'), E'\n', E'\\n') as label from scylla.stat_queue
    ), sample (name, queue, n, suffix, labels, value) as (
        select v.name, label, 0::bigint, v.suffix, format('queue="%s"', label) || v.labels, v.value
        from stat, lateral (values
            ('scylla_tasks', '', ',state="waiting"', waiting::float8),
            ('scylla_tasks', '', ',state="ready"', ready),
            ('scylla_tasks', '', ',state="running"', running),
            ('scylla_tasks', '', ',state="terminal"', terminal),
            ('scylla_oldest_ready_seconds', '', '', coalesce(extract(epoch from oldest_ready), 0)::float8),
            ('scylla_queue_workers', '', '', (select count(*) from scylla.stat_worker w where w.queue = stat.queue)),
            ('scylla_tasks_submitted', '_total', '', submitted),
            ('scylla_tasks_turned_away', '_total', ',how="refused"', refused),
            ('scylla_tasks_turned_away', '_total', ',how="shed"', shed),
            ('scylla_leases', '_total', '', leased),
            ('scylla_leases_lost', '_total', ',reason="failed"', failed),
            ('scylla_leases_lost', '_total', ',reason="expired"', expired),
            ('scylla_leases_lost', '_total', ',reason="yielded"', yielded),
            ('scylla_tasks_ended', '_total', ',status="completed"', completed),
            ('scylla_tasks_ended', '_total', ',status="aborted"', aborted),
            ('scylla_tasks_ended', '_total', ',status="cancelled"', cancelled),
            ('scylla_tasks_purged', '_total', '', purged)) as v (name, suffix, labels, value)
        union all
        select h.name, label, b.n, b.suffix,
               format('queue="%s"', label) || coalesce(',le="' || b.bound || '"', ''), b.value
        from stat, lateral (values
            ('scylla_wait_seconds', wait_histogram, total_wait_time),
            ('scylla_run_seconds', run_histogram, total_run_time)) as h (name, histogram, total),
            lateral (
                select n, '_bucket', (0.001 * (1::bigint << (n::integer - 1)))::text, upto::float8
                from (select n, sum(c) over (order by n) as upto from unnest(h.histogram) with ordinality as c (c, n)) as below
                where n < 32
                union all
                select 33 + v.n, v.suffix, v.bound, v.value
                from (select sum(c)::float8 as count from unnest(h.histogram) as c) as s,
                     lateral (values (0, '_bucket', '+Inf', count), (1, '_count', null, count),
                                     (2, '_sum', null, h.total / 1000)) as v (n, suffix, bound, value)
            ) as b (n, suffix, bound, value)
        where h.histogram is not null
        union all
        select v.name, null, 0, v.suffix, null, v.value
        from (select 1) as one left join scylla.stat_monitor as m on true, lateral (values
            ('scylla_monitor_running', '', case when m.pid is null then 0 else 1 end::float8),
            ('scylla_monitor_rounds', '_total', coalesce(m.rounds, 0)),
            ('scylla_monitor_busy_seconds', '_total', coalesce(m.total_time, 0) / 1000),
            ('scylla_monitor_errors', '_total', coalesce(m.errors, 0))) as v (name, suffix, value)
    )
    select string_agg(
        format(E'# TYPE %s %s\n', f.name, f.type) || coalesce(format(E'# UNIT %s %s\n', f.name, f.unit), '')
        || format(E'# HELP %s %s\n', f.name, f.help)
        || coalesce((select string_agg(format(E'%s%s%s %s\n', s.name, s.suffix, '{' || s.labels || '}', s.value), ''
                                       order by s.queue collate "C", s.n, s.labels collate "C")
                     from sample s where s.name = f.name and s.value is not null), ''),
        '' order by f.n) || E'# EOF\n'
    from family f
$$;
comment on function scylla.metrics is
'The statistics of this database in the OpenMetrics text format, for Prometheus and its like.';

-- Invariants, in the manner of amcheck.

create function scylla.check(out rn text, out problem text) returns setof record
    language sql stable security definer set search_path = pg_catalog, pg_temp
    -- It joins all tasks, also where nobody has analysed their tables yet. The few joins that cannot be done otherwise then look so
    -- expensive that the server would compile the whole query.
    set enable_nestloop = off set jit = off
as $$
    with place as (
        select id, queue, 'task_waiting' as place from scylla.task_waiting
        union all select id, queue, 'task_ready' from scylla.task_ready
        union all select id, queue, 'task_lease' from scylla.task_lease
        union all select id, queue, 'task_outcome' from scylla.task_outcome
    ), places as (
        select id, count(*) as n, string_agg(place, ', ' order by place) as held_by, min(queue) as queue from place group by id
    )
    select s.rn, 'is in no state: its id ' || s.id || ' is in task_spec only'
    from scylla.task_spec s left join places p using (id) where p.id is null
    union all
    select s.rn, 'is in ' || p.n || ' states: its id ' || p.id || ' is in ' || p.held_by
    from places p left join scylla.task_spec s using (id) where p.n > 1
    union all
    select null, 'id ' || p.id || ' is in ' || p.held_by || ' but not in task_spec'
    from places p left join scylla.task_spec s using (id) where s.id is null
    union all
    select s.rn, 'belongs to queue ' || s.queue || ' but ' || p.held_by || ' says ' || p.queue
    from places p join scylla.task_spec s using (id) where p.n = 1 and s.queue <> p.queue
    union all
    select s.rn, 'belongs to queue ' || s.queue || ', which does not exist'
    from scylla.task_spec s left join scylla.queue q on q.id = s.queue where q.id is null
    union all
    select s.rn, 'has priority ' || s.priority || ' but task_ready says ' || r.priority
    from scylla.task_ready r join scylla.task_spec s using (id) where s.priority <> r.priority
    union all
    select s.rn, 'has priority ' || s.priority || ', outside 0..127'
    from scylla.task_spec s where s.priority not between 0 and 127
    union all
    select s.rn, 'waits, but for nothing: all its gates are open, and it has no due time'
    from scylla.task_waiting w join scylla.task_spec s using (id) where w.due is null
      and not exists (select from scylla.task_gate g left join scylla.task_outcome o on o.id = g.provider
                      left join scylla.task_plan p on p.id = g.provider
                      where g.task = w.id and case g.kind when 't' then o.id is null else p.opened is null end)
    union all
    select s.rn, 'did not wait for ' || coalesce('plan ' || p.name, 'task ' || t.rn, 'id ' || g.provider)
    from scylla.task_gate g join scylla.task_spec s on s.id = g.task
    left join scylla.task_outcome o on o.id = g.provider left join scylla.task_plan p on p.id = g.provider
    left join scylla.task_spec t on t.id = g.provider
    where case g.kind when 't' then o.id is null and t.id is not null else p.id is not null and p.opened is null end
      and exists (select from scylla.task_ready r where r.id = s.id and r.queue = s.queue and r.priority = s.priority
                  union all select from scylla.task_lease l where l.id = s.id
                  union all select from scylla.task_waiting w where w.id = s.id and w.due is not null)
    union all
    select s.rn, 'depends on id ' || g.provider || ', which does not exist'
    from scylla.task_gate g join scylla.task_spec s on s.id = g.task
    left join scylla.task_outcome o on o.id = g.task
    left join scylla.task_spec t on t.id = g.provider left join scylla.task_plan p on p.id = g.provider
    where o.id is null and t.id is null and p.id is null
    union all
    select s.rn, 'has ' || coalesce(s.gates, 0) || ' gates, but ' || coalesce(g.n, 0) || ' in task_gate'
    from scylla.task_spec s left join (select task, count(*) as n from scylla.task_gate group by task) g on g.task = s.id
    where coalesce(s.gates, 0) <> coalesce(g.n, 0)
    union all
    select null, 'id ' || g.task || ' has a gate but is not in task_spec'
    from scylla.task_gate g left join scylla.task_spec s on s.id = g.task where s.id is null
    union all
    select s.rn, 'belongs to plan ' || s.plan || ', but has no gate of it'
    from scylla.task_spec s
    where s.plan is not null and not exists (select from scylla.task_gate g where g.task = s.id and g.provider = s.plan)
    union all
    select s.rn, 'is live in plan ' || p.name || ', which is finished'
    from scylla.task_spec s join scylla.task_plan p on p.id = s.plan left join scylla.task_outcome o on o.id = s.id
    where p.finished is not null and o.id is null
    union all
    select null, 'plan ' || p.name || ' is open and has no live task, but is not finished'
    from scylla.task_plan p
    where p.opened is not null and p.finished is null
      and not exists (select from scylla.task_gate g left join scylla.task_outcome o on o.id = g.task
                      where g.provider = p.id and o.id is null)
    union all
    select s.rn, 'is live without its deduplication key "' || s.dedup_key || '" in task_dedup'
    from scylla.task_spec s left join scylla.task_outcome o using (id)
    left join scylla.task_dedup d on d.id = s.id and d.queue = s.queue and d.key = s.dedup_key
    where s.dedup_key is not null and o.id is null and d.id is null
    union all
    select s.rn, 'has ended, or never had the deduplication key "' || d.key || '" that task_dedup keeps for id ' || d.id
    from scylla.task_dedup d left join scylla.task_spec s using (id) left join scylla.task_outcome o using (id)
    where s.id is null or o.id is not null or s.queue <> d.queue or s.dedup_key is distinct from d.key
    union all
    select s.rn, 'is leased with attempt ' || l.attempt || ', progress ' || l.progress || ', timeout ' || l.timeout
    from scylla.task_lease l join scylla.task_spec s using (id)
    where l.attempt < 1 or not l.progress between 0 and 1 or l.timeout <= 0
    union all
    select s.rn, 'is leased by a worker without a name' from scylla.task_lease l join scylla.task_spec s using (id)
    where l.owner = ''
    union all
    select s.rn, 'is leased without a permit, but its queue has a limit'
    from scylla.task_lease l join scylla.task_spec s using (id) join scylla.queue q on q.id = l.queue
    where (q.max_running is not null or q.max_running_per_key is not null) and l.permit is null
    union all
    select s.rn, 'is leased with the permit of key "' || l.permit || '", but its key is ' || coalesce('"' || s.key || '"', 'null')
    from scylla.task_lease l join scylla.task_spec s using (id) where l.permit <> coalesce(s.key, '')
    union all
    select s.rn, 'has the key ' || coalesce('"' || s.key || '"', 'null') || ' but task_ready says '
                 || coalesce('"' || r.key || '"', 'null')
    from scylla.task_ready r join scylla.task_spec s using (id) join scylla.queue q on q.id = r.queue
    where coalesce(r.key, '') <> coalesce(s.key, '')
       or (r.key is null and (q.max_running_per_key is not null or q.key_weights is not null or q.rate_per_key is not null))
    union all
    select s.rn, 'is leased for ever' from scylla.task_lease l join scylla.task_spec s using (id)
    where not isfinite(l.deadline)
    union all
    select s.rn, 'ended in the state ' || o.status from scylla.task_outcome o join scylla.task_spec s using (id)
    where o.status not in ('completed', 'aborted', 'cancelled')
    union all
    select s.rn, 'is completed with progress ' || o.progress from scylla.task_outcome o join scylla.task_spec s using (id)
    where o.status = 'completed' and o.progress <> 1
    union all
    select s.rn, 'is ' || o.status || ' with progress ' || o.progress
    from scylla.task_outcome o join scylla.task_spec s using (id)
    where o.status <> 'completed' and not o.progress between 0 and 1
    union all
    select s.rn, 'is ' || o.status || ', but has a result or metrics'
    from scylla.task_outcome o join scylla.task_spec s using (id)
    where o.status <> 'completed' and (o.result is not null or o.metrics is not null)
    union all
    select s.rn, 'is completed, but by nobody' from scylla.task_outcome o join scylla.task_spec s using (id)
    where o.status = 'completed' and o.owner is null
    union all
    select s.rn, 'has attempt ' || x.attempt || ' and ' || x.failures || ' failures'
    from (select id, attempt, failures from scylla.task_waiting union all select id, attempt, failures from scylla.task_ready
          union all select id, attempt, failures from scylla.task_lease
          union all select id, attempt, failures from scylla.task_outcome) x
    join scylla.task_spec s using (id) where x.attempt < 0 or not x.failures between 0 and x.attempt
    union all
    select s.rn, 'has history or errors that are no arrays'
    from (select id, history, errors from scylla.task_waiting union all select id, history, errors from scylla.task_ready
          union all select id, history, errors from scylla.task_lease
          union all select id, history, errors from scylla.task_outcome) x
    join scylla.task_spec s using (id) where jsonb_typeof(x.history) <> 'array' or jsonb_typeof(x.errors) <> 'array'
    union all
    select s.rn, 'has ' || x.failures || ' failures of ' || s.max_attempts || ' allowed, and is not aborted'
    from (select id, failures from scylla.task_waiting union all select id, failures from scylla.task_ready
          union all select id, failures from scylla.task_lease) x
    join scylla.task_spec s using (id) where x.failures >= s.max_attempts
    union all
    select null, format('queue "%s" belongs to role "%s", which does not exist', q.name, q.owner)
    from scylla.queue q where q.owner not in (select rolname from pg_roles)
    union all
    select null, format('plan "%s" belongs to role "%s", which does not exist', p.name, p.owner)
    from scylla.task_plan p where p.owner not in (select rolname from pg_roles)
    union all
    select null, format('queue "%s" is granted to role "%s", which does not exist', q.name, g.role)
    from scylla.queue q,
         lateral (select unnest(q.submitters) union select unnest(q.workers)
                  union select unnest(q.viewers) union select unnest(q.admins)) g (role)
    where g.role <> 'public' and g.role not in (select rolname from pg_roles)
    union all
    select null, format('%s has given out %s, but the id %s is in use', 'task_id_seq', q.last_value, m.id)
    from scylla.task_id_seq q,
         (select greatest((select max(id) from scylla.task_spec), (select max(id) from scylla.task_plan)) as id) m where m.id > q.last_value
    union all
    select null, format('%s has given out %s, but the id %s is in use', 'queue_id_seq', q.last_value, m.id)
    from scylla.queue_id_seq q, (select max(id) as id from scylla.queue) m where m.id > q.last_value;
$$;
comment on function scylla.check is
'Proves the invariants of the tables: one row per violation, so an empty set is good. Reads every task. Always write it with
its schema: CHECK is a reserved word.';

-- Nothing is for everybody. Grant USAGE on the schema and EXECUTE on the functions that a role needs.
revoke all on schema scylla from public;
revoke all on all tables in schema scylla from public;
revoke all on all sequences in schema scylla from public;
revoke all on all routines in schema scylla from public;

-- Except that monitoring may look at the statistics, as it may at the server's own. They tell names and numbers, no contents.
grant usage on schema scylla to pg_monitor;
grant select on scylla.stat_queue, scylla.stat_worker, scylla.stat_monitor, scylla.stat_heads to pg_monitor;
grant execute on function scylla._stat_queues, scylla._stat_monitor, scylla._heads, scylla.count_tasks, scylla.quantile,
    scylla.metrics
    to pg_monitor;

-- But what the views call: it is done in the name of their reader, and tells him nothing that he does not know already.
grant execute on function scylla._history, scylla._may_view, scylla._may_watch to public;
-- And what makes the pictures of plans: it reads as its caller.
grant execute on function scylla._plan_picture, scylla._check_max_tasks to public;

select scylla._announce();
