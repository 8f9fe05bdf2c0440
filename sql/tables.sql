-- Storage. What a task is, its current state and how it ended are facts with different lifetimes, so they are in different
-- tables. A transition deletes a narrow row in one table and inserts a narrow row in another; the wide specification never moves.
-- The table that holds a task's id is the task's state. Exactly one of task_waiting, task_ready, task_lease and task_outcome
-- holds the id (scylla.check() verifies that).
--
-- These tables are internal: the functions write them directly. So triggers, row security and foreign keys that somebody adds
-- have no effect (additional indexes do), and sessions cache queues until a function changes one. Read the view scylla.task
-- instead.

create type scylla.task_status as enum ('waiting', 'ready', 'running', 'completed', 'aborted', 'cancelled');
comment on type scylla.task_status is
$$The status of a task:
  waiting   -> ready (its last gate opened) | cancelled
  ready     -> running (leased) | cancelled
  running   -> ready or waiting (lease expired, yield, fail) | completed | aborted | cancelled
  completed, aborted, cancelled are final.$$;

create sequence scylla.queue_id_seq as integer;
create sequence scylla.task_id_seq;
create sequence scylla.worker_seq;
comment on sequence scylla.queue_id_seq is 'Ids of queues.';
comment on sequence scylla.task_id_seq is 'Ids of tasks, in the order of their submission, and of plans.';
comment on sequence scylla.worker_seq is 'Numbers for register_worker().';

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
    dependers text[],
    handler text,
    pending text[],
    run_timeout interval,
    constraint queue_pkey primary key (id),
    constraint queue_name_key unique (name)
) using heap;
comment on table scylla.queue is 'A namespace for tasks, and its settings, which the view scylla.queue_settings shows.';
-- Roles are stored by name, not as regrole: a dump can then be restored where a role does not exist, and that role has no rights.
-- COPY into a regrole would fail and leave the tasks without their queues. And a dropped role is dumped as a number; its rights
-- would go to the role with that number in the other cluster.
comment on column scylla.queue.owner is 'The role that owns the queue and has all rights on it. At first its creator.';
comment on column scylla.queue.submitters is 'Roles with the privilege "submit"; null: none.';
comment on column scylla.queue.workers is 'Roles with the privilege "work".';
comment on column scylla.queue.viewers is 'Roles with the privilege "view".';
comment on column scylla.queue.admins is 'Roles with the privilege "admin".';
comment on column scylla.queue.dependers is 'Roles with the privilege "depend".';
comment on column scylla.queue.handler is 'The function that the server calls for each task, with its schema; null: none.';
comment on column scylla.queue.pending is 'Settings that are recorded and not in effect yet; null: none.';
comment on column scylla.queue.run_timeout is 'How long one run of a task may take; null: any time.';

-- What drop_queue() has left to the monitor. For everybody else the queue and its tasks are gone.
create table scylla.queue_dropped (
    id integer not null,
    dropped timestamptz not null default clock_timestamp(),
    name text not null,
    constraint queue_dropped_pkey primary key (id)
) using heap;
comment on table scylla.queue_dropped is 'Queues that were dropped with tasks which have not been removed yet.';
comment on column scylla.queue_dropped.id is 'The number that the queue had: that of its tasks.';

-- With preloading, buckets are in shared memory and this table is not read.
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
comment on table scylla.queue_rate is
    'The used rate of a queue and of each key in it. Only for servers that do not preload the library.';
comment on column scylla.queue_rate.per_key is 'True: the bucket of a key; false: the bucket of the queue.';
comment on column scylla.queue_rate.key is 'The key; the empty string: all keys of the queue without a row.';
comment on column scylla.queue_rate.arrival is 'When the bucket will be full, in nanoseconds since 2000.';
comment on column scylla.queue_rate.step is 'Nanoseconds between two tokens.';
comment on column scylla.queue_rate.burst is 'How many tokens the bucket holds.';

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
    needs jsonb,
    runtime bigint,
    is_check boolean,
    run_timeout bigint,
    constraint task_spec_pkey primary key (id) include (queue) -- so that a walk passes over tasks of other queues in the index
) using heap;
-- Compares byte by byte: faster than the database's collation, and independent of collation versions.
create unique index task_spec_rn on scylla.task_spec (rn text_pattern_ops);
comment on table scylla.task_spec is 'What a task is: written by submit, removed by purge. Only its priority changes.';
comment on column scylla.task_spec.gates is 'Number of its rows in task_gate; null: none.';
comment on column scylla.task_spec.plan is 'The id of its plan in task_plan.';
comment on column scylla.task_spec.retry is 'Its retry policy; null: that of its queue.';
comment on column scylla.task_spec.dedup_key is 'Unique among the live tasks of its queue (task_dedup).';
comment on column scylla.task_spec.key is 'The tenant, customer or host that the task is for; used by limits per key.';
comment on column scylla.task_spec.needs is 'What it needs of pools, as passed to submit(); null: nothing.';
comment on column scylla.task_spec.runtime is 'Expected runtime in microseconds, for placement; null: not known.';
comment on column scylla.task_spec.run_timeout is 'How long one run of it may take, in microseconds; null: as its queue says.';
comment on column scylla.task_spec.is_check is 'True: it is a check, made for tasks that wait for its answer. Null: it is not.';

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
-- The order of leasing, and that order for each key. Tasks without a key are not in the second index and pay nothing.
create unique index task_ready_order on scylla.task_ready (queue, priority desc, id);
create index task_ready_key on scylla.task_ready (queue, key text_pattern_ops, priority desc, id) where key is not null;
alter table scylla.task_ready replica identity using index task_ready_order;
comment on table scylla.task_ready is 'Tasks that a worker may lease now, with the history of earlier runs.';
comment on column scylla.task_ready.key is
    'As in task_spec. In a queue that uses keys, the empty string for a task without a key, so that the index contains it.';

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
    run_timeout bigint,
    constraint task_lease_pkey primary key (id)
    -- Space for new versions on the same page: a heartbeat changes no indexed column, so its version stays there (HOT).
) using heap with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
                   autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
-- For counting the leases of queues with a limit, per key and in id order (src/shmem/gaps.h). Leases of other queues are not in the
-- index and pay nothing.
create index task_lease_permit on scylla.task_lease (queue, permit text_pattern_ops, id) where permit is not null;
comment on table scylla.task_lease is 'Running tasks: the time-limited right of a worker to run one.';
comment on column scylla.task_lease.timeout is 'Microseconds by which a heartbeat extends the lease.';

comment on column scylla.task_lease.run_timeout is 'As in task_spec.';
comment on column scylla.task_lease.permit is
    'In a queue with a limit: the key of the task, the empty string if it has none. In other queues: null.';

create table scylla.task_waiting (
    id bigint not null,
    due timestamptz,
    updated timestamptz not null,
    queue integer not null,
    attempt integer not null,
    failures integer not null,
    history jsonb,
    errors jsonb,
    expiring boolean,
    constraint task_waiting_pkey primary key (id)
) using heap with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, vacuum_truncate = off);
create index task_waiting_due on scylla.task_waiting (due);
comment on table scylla.task_waiting is 'Tasks with a closed gate.';
comment on column scylla.task_waiting.due is
    'When the task becomes ready; null: it waits for gates in task_gate first, then for its time.';
comment on column scylla.task_waiting.expiring is
    'True: the task waits for gates, and due is when the first of them times out. Null: it is not so.';

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
    constraint task_outcome_pkey primary key (id) include (queue, status) -- as in task_spec
) using heap with (vacuum_truncate = off);
comment on table scylla.task_outcome is 'How a task ended: written once, removed by purge.';
comment on column scylla.task_outcome.leased is
    'When the last lease began, if that lease ended the task; null: history has all leases.';

-- A gate is written once, with its task, and removed with it. Nothing is written when it opens: its provider's state decides, and is
-- looked up. So completing a provider costs the same however many tasks wait for it, until they become ready. And no row
-- is locked that two providers would share (docs/internals.md).
create table scylla.task_gate (
    task bigint not null,
    provider bigint not null,
    ord integer not null,
    kind "char" not null,
    on_failure "char" not null,
    deadline timestamptz,
    on_timeout "char",
    every bigint,
    constraint task_gate_pkey primary key (task, ord)
) using heap with (vacuum_truncate = off);
create index task_gate_provider on scylla.task_gate (provider, task);
comment on table scylla.task_gate is 'The gates of a task: one row for each provider that it depends on, and one for its plan.';
comment on column scylla.task_gate.provider is 'The id of the task, plan, condition or pool that opens the gate; all ids come from task_id_seq.';
comment on column scylla.task_gate.ord is 'Position in depends_on, from 1; 0 for the plan; pools come last.';
comment on column scylla.task_gate.kind is
't: opens when the provider, a task, is completed, and has its result as value; p: opens when the plan is opened; c: opens when the
condition ends, and has its value; r: opens when the task is placed, with a row for each pool that its needs name; k: as t, where the provider is a
check.';
comment on column scylla.task_gate.on_failure is
    'What happens when the provider is aborted or cancelled: c aborts the task, s cancels it, i opens the gate without a value.';
comment on column scylla.task_gate.deadline is 'When the gate times out if its provider has not ended by then; null: never.';
comment on column scylla.task_gate.on_timeout is
    'What happens then: a aborts the task, s cancels it, i opens the gate without a value. Null: there is no deadline.';
comment on column scylla.task_gate.every is 'How often the check is to be asked, in microseconds; null: as its queue says.';

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
    maker "char",
    constraint task_plan_pkey primary key (id)
    -- Space for new versions on the same page: opening and finishing change no indexed column.
) using heap with (fillfactor = 50, vacuum_truncate = off);
create unique index task_plan_name on scylla.task_plan (name text_pattern_ops);
comment on table scylla.task_plan is 'A set of tasks that is watched, cancelled and finished as one.';
comment on column scylla.task_plan.opened is 'When its tasks were allowed to start; null: it is not open yet.';
comment on column scylla.task_plan.finished is 'When its last live task ended, or it was cancelled.';
comment on column scylla.task_plan.owner is 'The role that owns the plan, at first its creator. Other roles cannot see the plan.';
comment on column scylla.task_plan.maker is
    'What has made it and is told of its tasks that are completed: j is a job. Null: create_plan().';
comment on column scylla.task_plan.failed is
    'One of its tasks was aborted. Set when the plan finishes, or when that task is removed.';
comment on column scylla.task_plan.cancelled is
'The plan was cancelled, or one of its tasks was, other than by skip. Set as failed is. In a finished plan only one of the two
is true.';

create table scylla.task_dedup (
    queue integer not null,
    id bigint not null,
    key text not null,
    until timestamptz
) using heap with (vacuum_truncate = off);
create unique index task_dedup_key on scylla.task_dedup (queue, key text_pattern_ops);
alter table scylla.task_dedup replica identity using index task_dedup_key;
comment on table scylla.task_dedup is 'The deduplication keys of live tasks, and of completed ones that keep them for a time.';
comment on column scylla.task_dedup.until is 'The task keeps the key until then, if it is completed; null: it does not.';

create sequence scylla.event_id_seq;
comment on sequence scylla.event_id_seq is 'Ids of events.';
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
    'Status changes of tasks, for read_events(): one row per change, only of queues whose setting events is on.';
comment on column scylla.event.position is
'The next transaction id that the server would have assigned when the event was written. Events with a position up to the
oldest running transaction id are final: no event will be inserted before them.';
comment on column scylla.event.id is 'Orders events with the same position.';
comment on column scylla.event.status is 'The new status of the task.';
comment on column scylla.event.worker is 'The worker whose lease began or ended with the event, if the task shows it.';

-- pg_dump includes all user data, but not events, whose positions are valid only on this server.
select pg_catalog.pg_extension_config_dump('scylla.queue_id_seq', '');
select pg_catalog.pg_extension_config_dump('scylla.task_id_seq', '');
select pg_catalog.pg_extension_config_dump('scylla.worker_seq', '');
select pg_catalog.pg_extension_config_dump('scylla.queue', '');
select pg_catalog.pg_extension_config_dump('scylla.queue_dropped', '');
select pg_catalog.pg_extension_config_dump('scylla.task_spec', '');
select pg_catalog.pg_extension_config_dump('scylla.task_ready', '');
select pg_catalog.pg_extension_config_dump('scylla.task_lease', '');
select pg_catalog.pg_extension_config_dump('scylla.task_waiting', '');
select pg_catalog.pg_extension_config_dump('scylla.task_outcome', '');
select pg_catalog.pg_extension_config_dump('scylla.task_gate', '');
select pg_catalog.pg_extension_config_dump('scylla.task_plan', '');
select pg_catalog.pg_extension_config_dump('scylla.task_dedup', '');

