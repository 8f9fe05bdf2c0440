-- Schedules of recurring tasks and their last results. Written by the statements in src/store/schedule only.

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
    failing_since timestamptz,
    retry_at timestamptz,
    last_skipped timestamptz,
    skip_reason text,
    constraint schedule_pkey primary key (name)
) using heap with (fillfactor = 50);
comment on table scylla.schedule is 'Schedules of recurring tasks. Read the view scylla.schedules instead.';
comment on column scylla.schedule.owner is 'Name of the role that created the schedule and submits its tasks.';
comment on column scylla.schedule.home is
    'The database in which the schedule is armed: system identifier and database oid. In a restored copy they do not match.';
comment on column scylla.schedule.task is
    'The element for submit_many, without rn, not_before and the planned time in the spec; an array: the tasks of a plan; with job: arguments of run_job; with workflow: a time trigger of it.';
comment on column scylla.schedule.handled is
    'All planned times up to this one have been submitted, skipped or missed, and are not looked at again.';
comment on column scylla.schedule.next_run is 'The first planned time after handled; null: none.';
comment on column scylla.schedule.failing_since is 'When the first failure happened since the last success; null: none.';
comment on column scylla.schedule.retry_at is 'The monitor does not try again before this time.';

create index schedule_workflow on scylla.schedule ((task ->> 'workflow')) where task ? 'workflow';

create table scylla.schedule_tick (
    id integer not null,
    ticked timestamptz,
    constraint schedule_tick_pkey primary key (id)
) using heap with (fillfactor = 50);
comment on table scylla.schedule_tick is 'When something last looked for schedules that are due, to half a minute: one row, once it has.';

select pg_catalog.pg_extension_config_dump('scylla.schedule', '');
