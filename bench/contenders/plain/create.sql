-- What a good engineer writes by hand. The table is vacuumed as eagerly as ours.
create type status as enum ('ready', 'running', 'completed');
create table task (
    id bigint generated always as identity primary key,
    created timestamptz not null default now(),
    updated timestamptz not null default now(),
    deadline timestamptz,
    status status not null default 'ready',
    priority int not null default 0,
    attempt int not null default 0,
    progress real not null default 0,
    queue text not null,
    owner text,
    spec jsonb not null,
    result jsonb
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index on task (queue, priority desc, id) where status = 'ready';
