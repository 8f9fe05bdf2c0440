-- Storage: what a task is, where it is now and how it ended are facts with different lifetimes, so they are different
-- tables. A transition deletes a narrow row here and inserts a narrow row there; the wide specification never moves.
-- The state of a task is the table that holds its id, and it is in exactly one of task_waiting, task_ready, task_lease
-- and task_outcome (scylla.check() proves it).
--
-- These tables are internal: the functions write them directly, so triggers, row security and foreign keys that somebody
-- adds to them do not take effect (additional indexes do). Read the view scylla.task instead.

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
    constraint queue_pkey primary key (id),
    constraint queue_name_key unique (name)
) using heap;
comment on table scylla.queue is 'A namespace that segregates tasks, and its settings.';
comment on column scylla.queue.default_timeout is
    'How long a lease lasts when the worker does not say; null: the setting scylla.default_timeout.';
comment on column scylla.queue.retention is
    'How long a task stays after it has ended; null: the setting scylla.retention.';
comment on column scylla.queue.aging is
    'Priority points that a ready task gains per second since its submission, up to an effective priority of 255; 0: none.';

create table scylla.task_spec (
    id bigint not null,
    created timestamptz not null,
    queue integer not null,
    priority smallint not null,
    rn text not null,
    spec jsonb not null,
    not_before timestamptz,
    max_attempts integer,
    constraint task_spec_pkey primary key (id)
) using heap;
-- Compared byte by byte whatever the database's collation is: faster, and deaf to changes of collation versions.
create unique index task_spec_rn on scylla.task_spec (rn text_pattern_ops);
comment on table scylla.task_spec is 'What a task is: written once by submit, never changed, removed by purge.';

create table scylla.task_ready (
    id bigint not null,
    updated timestamptz not null,
    queue integer not null,
    attempt integer not null,
    failures integer not null,
    priority smallint not null,
    history jsonb,
    errors jsonb
) using heap with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
                   autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
-- The order in which tasks are leased.
create unique index task_ready_order on scylla.task_ready (queue, priority desc, id);
alter table scylla.task_ready replica identity using index task_ready_order;
comment on table scylla.task_ready is 'Tasks that a worker may lease now, and what a retry carries from earlier runs.';

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
    constraint task_lease_pkey primary key (id)
    -- Room for new versions on the same page: a heartbeat changes no indexed column, so it stays there (HOT).
) using heap with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
                   autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
comment on table scylla.task_lease is 'Tasks that a worker runs: its time-bounded right to do so.';
comment on column scylla.task_lease.timeout is 'Microseconds by which a heartbeat extends the lease.';

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
comment on column scylla.task_waiting.due is 'When the next timed gate opens; null: no timed gate is closed.';

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

-- Everything that users put in travels with pg_dump.
select pg_catalog.pg_extension_config_dump('scylla.queue_id_seq', '');
select pg_catalog.pg_extension_config_dump('scylla.task_id_seq', '');
select pg_catalog.pg_extension_config_dump('scylla.worker_seq', '');
select pg_catalog.pg_extension_config_dump('scylla.queue', '');
select pg_catalog.pg_extension_config_dump('scylla.task_spec', '');
select pg_catalog.pg_extension_config_dump('scylla.task_ready', '');
select pg_catalog.pg_extension_config_dump('scylla.task_lease', '');
select pg_catalog.pg_extension_config_dump('scylla.task_waiting', '');
select pg_catalog.pg_extension_config_dump('scylla.task_outcome', '');

