-- What roles see of job types. Columns are only ever appended.

create or replace view scylla.job_type with (security_barrier) as
    select d.name, d.owner::text as owner, d.queue, d.settings, d.needs, d.created, d.changed, d.runners
    from scylla.job_definition d
    left join scylla.queue q on q.name = d.queue
    where scylla._may_view(d.owner, q.viewers, q.admins) or scylla._may_view(q.owner, q.submitters, d.runners);
comment on view scylla.job_type is
'Job types of the current user and the roles it is a member of, those that it may run, and those whose queue it may view or submit to.';
comment on column scylla.job_type.name is 'Its name.';
comment on column scylla.job_type.owner is 'The role that defined it.';
comment on column scylla.job_type.queue is 'Where its tasks are submitted.';
comment on column scylla.job_type.settings is 'Its settings, as define_job() got them; select_work with its schema.';
comment on column scylla.job_type.needs is 'What it needs, as define_job() got it.';
comment on column scylla.job_type.created is 'When it was first defined.';
comment on column scylla.job_type.changed is 'When it was last defined.';
comment on column scylla.job_type.runners is 'The roles that may run it by grant_job(); public: every role. Null: none.';

create or replace view scylla.job_freshness with (security_barrier) as
    select d.name as job, s.variant, f.ids, f.began
    from scylla.job_definition d
    left join scylla.queue q on q.name = d.queue
    join lateral (select variant, array_agg(ids) as ids, array_agg(began) as began
                  from scylla.job_success where job = d.id group by variant) s on true
    cross join lateral scylla._fresh_ranges(s.ids, s.began) f
    where scylla._may_view(d.owner, q.viewers, q.admins) or scylla._may_view(q.owner, q.submitters, d.runners);
comment on view scylla.job_freshness is
'When ids were last brought up to date, by ranges of the same time, of the job types that the current user sees (scylla.job_type).';
comment on column scylla.job_freshness.job is 'The job.';
comment on column scylla.job_freshness.variant is 'The option variant of the runs; empty: none.';
comment on column scylla.job_freshness.ids is 'The ids.';
comment on column scylla.job_freshness.began is 'When the latest success began: the lease of its task, or as mark_fresh() said.';

create or replace view scylla.job_plan with (security_barrier) as
    select p.name as plan, r.name as job, r.variant, r.ids, r.args, r.options, r.created as resolved,
           case when p.finished is null then 'running' when p.cancelled then 'cancelled' when p.failed then 'failed'
                else 'completed' end as status,
           (select count(*) from scylla.job_chunk c where c.plan = r.plan) as tasks, p.finished,
           (select o.name from scylla.task_plan o where o.id = r.rerun_of) as rerun_of,
           l.waits_for,
           array(select distinct e ->> 'code_version'
                 from scylla.job_chunk c
                 join scylla.task_spec s on s.id = c.task
                 join scylla.task t on t.rn = s.rn
                 cross join lateral jsonb_array_elements(t.history) e
                 where c.plan = r.plan and e ? 'code_version' order by 1) as code_versions,
           r.plan as seq,
           coalesce(p.finished is null and l.waits_for <> '{}'
                    and statement_timestamp() - r.created > (select scylla._duration(d.settings ->> 'max_wait') from scylla.job_definition d
                                                         where d.id = r.job), false) as overdue
    from scylla.job_run r
    left join scylla.task_plan p on p.id = r.plan
    cross join lateral (
        select array(select distinct o.name
                     from scylla.job_chunk c
                     join scylla.task_waiting w on w.id = c.task
                     join scylla.task_gate g on g.task = c.task
                     join scylla.job_chunk e on e.task = g.provider and e.plan <> r.plan
                     join scylla.task_plan o on o.id = e.plan
                     where c.plan = r.plan and not exists (select from scylla.task_outcome t where t.id = e.task) order by 1) as waits_for) l
    where (select scylla._may_view(o.owner, null, null) from scylla.task_plan o where o.id = r.plan)
    order by r.plan desc; -- as in plan.sql
comment on view scylla.job_plan is 'Runs of jobs: the plans that run_job() has made, of the current user and the roles it is a member of.';
comment on column scylla.job_plan.plan is 'The name of the plan.';
comment on column scylla.job_plan.job is 'The job that was asked for.';
comment on column scylla.job_plan.variant is 'The option variant; empty: none.';
comment on column scylla.job_plan.ids is 'The ids that were asked for, or that select_work found.';
comment on column scylla.job_plan.args is 'The arguments of the request.';
comment on column scylla.job_plan.options is 'Its options.';
comment on column scylla.job_plan.resolved is 'When it was asked for: what was fresh then is not run again.';
comment on column scylla.job_plan.status is 'As in scylla.plan.';
comment on column scylla.job_plan.tasks is 'How many tasks it has.';
comment on column scylla.job_plan.finished is 'When its last live task ended, or it was cancelled.';
comment on column scylla.job_plan.rerun_of is 'The plan that it does again, all of it or the failed part (rerun_plan); null: none, or it is gone.';
comment on column scylla.job_plan.waits_for is
'Older plans that are still at something which it needs, for the same ids: its tasks wait for theirs. explain() tells for which.';
comment on column scylla.job_plan.code_versions is
'What scylla.code_version was in the sessions that leased its tasks, of those that the reader may view. The history of each task has its own.';
comment on column scylla.job_plan.seq is 'As in scylla.plan.';
comment on column scylla.job_plan.overdue is
'True: it has waited for older plans (waits_for) for longer than max_wait of its job.';
