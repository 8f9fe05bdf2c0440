-- Pools: limited resources that tasks need (docs/pools.md).

create table scylla.resource_pool (
    id bigint not null default nextval('scylla.task_id_seq'),
    created timestamptz not null default clock_timestamp(),
    max_bypass integer not null default 100,
    version integer not null default 0,
    drained boolean not null default false,
    metrics_max_age interval,
    owner name not null,
    name text not null,
    policy text not null,
    capacity jsonb not null,
    users text[],
    reporters text[],
    admins text[],
    constraint resource_pool_pkey primary key (id)
) using heap with (fillfactor = 50, vacuum_truncate = off);
create unique index resource_pool_name on scylla.resource_pool (name text_pattern_ops);
comment on table scylla.resource_pool is 'Pools: resources, and how much of each there is. Read the view scylla.pool instead.';
comment on column scylla.resource_pool.metrics_max_age is 'Nothing is placed while the last report is older; null: reports are not needed.';
comment on column scylla.resource_pool.max_bypass is
    'What becomes free is kept for the head of the line once so many have been placed before it, if its start cannot be planned.';
comment on column scylla.resource_pool.version is 'How often the capacity has been changed.';
comment on column scylla.resource_pool.users is 'Roles with the privilege use; null: none.';
comment on column scylla.resource_pool.reporters is 'Roles with the privilege report; null: none.';
comment on column scylla.resource_pool.admins is 'Roles with the privilege admin, which includes the others; null: none.';

-- One row per change of the settings, written with it and never changed.
create table scylla.pool_change (
    id bigint not null default nextval('scylla.task_id_seq'),
    pool bigint not null,
    changed timestamptz not null default clock_timestamp(),
    author name not null,
    settings jsonb not null,
    constraint pool_change_pkey primary key (id)
) using heap with (vacuum_truncate = off);
create index pool_change_pool on scylla.pool_change (pool, id);
comment on table scylla.pool_change is 'What the settings of pools were, the last 1,000 of each. Read the view scylla.pool_history instead.';

-- Rows are only inserted, so that no reporter waits for another. The latest report counts; the next one removes the others.
create table scylla.pool_report (
    id bigint not null default nextval('scylla.task_id_seq'),
    pool bigint not null,
    at timestamptz not null,
    used jsonb not null,
    constraint pool_report_pkey primary key (id)
) using heap with (vacuum_truncate = off);
create index pool_report_at on scylla.pool_report (pool, at);
comment on table scylla.pool_report is 'The usage of pools that report_usage() has reported.';

-- While a task waits only for pools, it has a row per pool that could serve it. Tasks of one class differ only in age.
create table scylla.pool_line (
    pool bigint not null,
    task_class bigint not null,
    task bigint not null,
    created timestamptz not null,
    queue integer not null,
    priority smallint not null,
    needs jsonb not null,
    runtime bigint
) using heap with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, vacuum_truncate = off);
-- Not unique: while a dump is restored, the monitor may put a task in line whose row has yet to come.
create index pool_line_order on scylla.pool_line (pool, task_class, task);
create index pool_line_task on scylla.pool_line (task);
alter table scylla.pool_line replica identity full;
comment on table scylla.pool_line is 'Tasks that wait only for pools, by pool.';
comment on column scylla.pool_line.task_class is 'A hash of queue, priority, needs and expected runtime.';
comment on column scylla.pool_line.created is 'When the task was submitted.';
comment on column scylla.pool_line.needs is 'As in task_spec.';
comment on column scylla.pool_line.runtime is 'As in task_spec.';

create table scylla.task_reservation (
    task bigint not null,
    pool bigint not null,
    since timestamptz not null,
    ends timestamptz,
    version integer not null,
    chosen text,
    amounts jsonb not null,
    constraint task_reservation_pkey primary key (task, pool)
) using heap with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, vacuum_truncate = off);
-- Readers of uncommitted rows need all values in the row itself.
alter table scylla.task_reservation alter column amounts set storage plain, alter column chosen set storage plain;
create index task_reservation_pool on scylla.task_reservation (pool);
comment on table scylla.task_reservation is 'What tasks hold of pools, from being placed to the end of the run.';
comment on column scylla.task_reservation.version is 'That of the pool when the task was placed.';
comment on column scylla.task_reservation.ends is 'When the task is expected to give it back; null: not known.';
comment on column scylla.task_reservation.chosen is 'The name of the pool, if it is the only one or was chosen among several.';

create table scylla.pool_head (
    pool bigint not null,
    task bigint not null,
    passed bigint not null,
    constraint pool_head_pkey primary key (pool)
) using heap with (fillfactor = 50, vacuum_truncate = off);
comment on table scylla.pool_head is 'How many tasks have been placed before the head of a line.';

select pg_catalog.pg_extension_config_dump('scylla.resource_pool', '');
select pg_catalog.pg_extension_config_dump('scylla.pool_change', '');
select pg_catalog.pg_extension_config_dump('scylla.pool_report', '');
select pg_catalog.pg_extension_config_dump('scylla.pool_line', '');
select pg_catalog.pg_extension_config_dump('scylla.task_reservation', '');
select pg_catalog.pg_extension_config_dump('scylla.pool_head', '');
