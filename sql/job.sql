-- Job types: what must run before a job, and for which ids (docs/jobs.md). Roles are stored by name, as with queues.

create table scylla.job_definition (
    id bigint not null default nextval('scylla.task_id_seq'),
    created timestamptz not null default clock_timestamp(),
    changed timestamptz not null default clock_timestamp(),
    owner name not null,
    name text not null,
    queue text not null,
    settings jsonb not null,
    needs jsonb not null,
    runners text[],
    constraint job_definition_pkey primary key (id)
) using heap with (fillfactor = 50, vacuum_truncate = off);
create unique index job_definition_name on scylla.job_definition (name text_pattern_ops);
comment on table scylla.job_definition is 'Job types. Read the view scylla.job_type instead.';
comment on column scylla.job_definition.owner is 'The role that defined it, as which its ids are selected.';
comment on column scylla.job_definition.runners is 'Roles with the privilege "run"; null: none.';
comment on column scylla.job_definition.queue is 'The name of the queue of its tasks.';

create table scylla.job_run (
    plan bigint not null,
    job bigint not null,
    created timestamptz not null,
    name text not null,
    variant text not null,
    ids int8multirange not null,
    args jsonb not null,
    options jsonb not null,
    request_id text,
    rerun_of bigint,
    constraint job_run_pkey primary key (plan)
) using heap with (vacuum_truncate = off);
create index job_run_job on scylla.job_run (job, created);
create unique index job_run_request on scylla.job_run (job, request_id text_pattern_ops) where request_id is not null;
comment on table scylla.job_run is 'Runs of jobs. Read the view scylla.job_plan instead.';
comment on column scylla.job_run.plan is 'The id of its plan in task_plan, with which it is removed.';
comment on column scylla.job_run.name is 'That of the job when it ran.';
comment on column scylla.job_run.rerun_of is 'The plan that it does again, all of it or the failed part; null: none.';
comment on column scylla.job_run.created is 'When it was resolved: what was fresh then is not run again.';

create table scylla.job_chunk (
    task bigint not null,
    plan bigint not null,
    job bigint not null,
    variant text not null,
    ids int8multirange not null,
    constraint job_chunk_pkey primary key (task)
) using heap with (vacuum_truncate = off);
create index job_chunk_plan on scylla.job_chunk (plan);
comment on table scylla.job_chunk is 'The ids that a task of a job is for.';

-- Rows are only inserted, so that completions never wait for each other. A row that newer ones cover is removed with old plans.
create table scylla.job_success (
    id bigint not null default nextval('scylla.task_id_seq'),
    job bigint not null,
    began timestamptz not null,
    variant text not null,
    ids int8multirange not null,
    constraint job_success_pkey primary key (id)
) using heap with (vacuum_truncate = off);
create index job_success_job on scylla.job_success (job, variant text_pattern_ops);
comment on table scylla.job_success is 'When ids of a job were brought up to date. The view scylla.job_freshness shows the latest for each.';
comment on column scylla.job_success.id is 'That of the task, if it comes of a completion.';
comment on column scylla.job_success.began is 'When the lease began whose task was completed.';

create type scylla.job_step as (job text, chunk int8multirange, args jsonb, depends_on text[], reason text, runs boolean);
comment on type scylla.job_step is
'A chunk that a run of a job would have, or would leave out (explain_job): the job, the ids, the arguments of the task; the chunks that it
waits for, as "job ids"; why it runs or is left out, with ages; whether it runs.';

select pg_catalog.pg_extension_config_dump('scylla.job_definition', '');
select pg_catalog.pg_extension_config_dump('scylla.job_run', '');
select pg_catalog.pg_extension_config_dump('scylla.job_chunk', '');
select pg_catalog.pg_extension_config_dump('scylla.job_success', '');
