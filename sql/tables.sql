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
comment on column scylla.task_plan.failed is 'A task of it was aborted: known when it is finished, or when that task was removed.';
comment on column scylla.task_plan.cancelled is
    'It was cancelled, or a task of it was, but for those that were skipped; known as for failed. Of a finished plan only one of both is true.';

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

