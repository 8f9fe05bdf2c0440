-- The public view of schedules.

create or replace view scylla.schedules with (security_barrier) as
    select s.name, s.owner, s.cron, s.timezone, s.task ->> 'queue' as queue, s.task -> 'spec' as spec,
           case when s.task ? 'job' then s.task -> 'options' when s.task ? 'workflow' and not s.task ? 'queue' then null when jsonb_typeof(s.task) = 'object' then s.task - 'queue' - 'spec' end as options, s.overlap, s.catch_up, s.grace, nullif(s.max_catch_up, 0) as max_catch_up, s.jitter, s.starts, s.ends,
           s.planned_key,
           s.home = (select c.system_identifier || '/' || d.oid from pg_catalog.pg_control_system() c, pg_catalog.pg_database d
                     where d.datname = current_database()) as armed,
           s.created, s.next_run, s.last_run, s.last_submitted, s.last_task, s.runs, s.skipped, s.missed, s.last_error, s.failed,
           case jsonb_typeof(s.task) when 'array' then s.task end as tasks,
           s.last_skipped, s.skip_reason, (select t.ticked from scylla.schedule_tick t) as ticked,
           s.task ->> 'job' as job, (s.task ->> 'ids')::int8multirange as ids, s.task -> 'args' as args,
           case when not s.task ? 'queue' then s.task ->> 'workflow' end as workflow
    from scylla.schedule s
    where exists (select from pg_catalog.pg_roles r
                  where r.rolname = s.owner and pg_has_role(r.oid, 'usage')
                     or r.rolname = current_user and r.rolsuper);
comment on view scylla.schedules is
    'Schedules of recurring tasks and their last results: those of the roles whose rights the current user has.';
comment on column scylla.schedules.name is 'Its name; the tasks are named name/planned time.';
comment on column scylla.schedules.owner is 'The role that created it and submits its tasks.';
comment on column scylla.schedules.cron is 'Its planned times, as a cron expression.';
comment on column scylla.schedules.timezone is 'The time zone of the planned times.';
comment on column scylla.schedules.queue is 'The queue of its tasks; null for a schedule of plans, or of a job.';
comment on column scylla.schedules.spec is 'The spec of its tasks.';
comment on column scylla.schedules.options is 'Further arguments of submit, or the options of run_job.';
comment on column scylla.schedules.overlap is 'While its previous task is live: allow, skip, or replace (cancel) it.';
comment on column scylla.schedules.catch_up is 'Which missed planned times are submitted: none, latest or all.';
comment on column scylla.schedules.grace is 'How late a task may be submitted; null: no bound.';
comment on column scylla.schedules.max_catch_up is 'The maximum number of planned times that catch_up all submits; null: no bound.';
comment on column scylla.schedules.jitter is 'Tasks are delayed by up to this.';
comment on column scylla.schedules.starts is 'Planned times are not before this.';
comment on column scylla.schedules.ends is 'Planned times are before this.';
comment on column scylla.schedules.planned_key is 'The key in the spec that gets the planned time; null: none.';
comment on column scylla.schedules.armed is 'Whether it runs in this database; false in a restored copy, until arm_schedules().';
comment on column scylla.schedules.created is 'When it was created.';
comment on column scylla.schedules.next_run is 'The next planned time; null: there is none.';
comment on column scylla.schedules.last_run is 'The planned time of the last submitted task.';
comment on column scylla.schedules.last_submitted is 'When that task was submitted.';
comment on column scylla.schedules.last_task is 'The name of that task or plan.';
comment on column scylla.schedules.runs is 'Number of tasks or plans submitted.';
comment on column scylla.schedules.skipped is 'The number of planned times that passed because the previous task, one with the dedup_key, or the job was live.';
comment on column scylla.schedules.missed is
    'The number of planned times that passed because nothing ticked or submitting failed until too late, or the name was taken.';
comment on column scylla.schedules.last_error is 'Why the last submit failed; null: it succeeded.';
comment on column scylla.schedules.failed is 'When that was.';
comment on column scylla.schedules.tasks is 'The tasks of its plans; null for a schedule of single tasks, or of a job.';
comment on column scylla.schedules.last_skipped is 'The planned time that was skipped last.';
comment on column scylla.schedules.skip_reason is 'Why it was skipped.';
comment on column scylla.schedules.ticked is
    'When something last looked for due schedules in this database, to half a minute; null: never.';
comment on column scylla.schedules.job is 'The job that it runs; null for a schedule of tasks or plans.';
comment on column scylla.schedules.ids is 'The ids of its runs; null: those that the job selects.';
comment on column scylla.schedules.args is 'The arguments of its runs.';
comment on column scylla.schedules.workflow is 'The workflow of which it is a time trigger; null: it is none.';
