-- What the machine can do at all: one row changed by its key, without touching an index; one row added.
create table lease (
    id bigint primary key,
    deadline timestamptz not null default now(),
    updated timestamptz not null default now(),
    progress real not null default 0,
    owner text not null default 'worker'
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0);
create table task (id bigint generated always as identity primary key, spec jsonb not null);
