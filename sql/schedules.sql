-- What roles see of their schedules.

create or replace view scylla.schedules with (security_barrier) as
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

