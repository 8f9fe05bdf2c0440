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
