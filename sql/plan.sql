-- The public view of plans. New columns are only appended.
--
-- Lists that people page through show the newest first: of this view and of those of conditions, signals and runs of jobs. The order within
-- such a view lets the primary key give the rows in order, so that a page costs what it shows; the planner uses it where the
-- query reads one table, so rights and what belongs to other tables are asked by subqueries and left joins, which a query that needs none of
-- it does without.

create or replace view scylla.plan with (security_barrier) as
    select p.name,
           case when p.finished is null then case when p.opened is null then 'building' else 'running' end
                when p.cancelled then 'cancelled' when p.failed then 'failed' else 'completed' end as status,
           p.spec, m.waiting, m.tasks - m.waiting - m.running - m.completed - m.aborted - m.cancelled as ready,
           m.running, m.completed, m.aborted, m.cancelled,
           case when m.tasks = 0 then (p.finished is not null)::integer
                else (m.completed + m.aborted + m.cancelled + m.under_way) / m.tasks end::real as progress,
           p.created, p.opened, p.finished,
           (select jsonb_object_agg(s.rn, o.result)
            from scylla.task_gate g
            join scylla.task_spec s on s.id = g.task
            join scylla.queue q on q.id = s.queue and scylla._may_view(q.owner, q.viewers, q.admins)
            join scylla.task_outcome o on o.id = g.task and o.status = 'completed'
            where g.provider = p.id
              and not exists (select from scylla.task_gate d
                              join scylla.task_gate e on e.task = d.task and e.provider = p.id
                              where d.provider = g.task)) as result,
           p.owner::text as owner, p.id as seq
    from scylla.task_plan p
    left join lateral (
        select count(*) as tasks, count(*) filter (where t.status = 'waiting') as waiting,
               count(*) filter (where t.status = 'running') as running,
               count(*) filter (where t.status = 'completed') as completed,
               count(*) filter (where t.status = 'aborted') as aborted,
               count(*) filter (where t.status = 'cancelled') as cancelled,
               coalesce(sum(t.progress), 0) as under_way
        from scylla.task_gate g
        left join lateral (
            select o.status, null::real as progress from scylla.task_outcome o where o.id = g.task
            union all
            select 'waiting'::scylla.task_status, null::real from scylla.task_waiting w where w.id = g.task
            union all
            select 'running'::scylla.task_status, l.progress from scylla.task_lease l where l.id = g.task
            limit 1) t on true -- a task is in one table: the others are not looked at
        where g.provider = p.id) m on true -- not cross join: a query that needs no number reads no task
    where scylla._may_view(p.owner, null, null)
    order by p.id desc;

comment on view scylla.plan is
'The plans of the current user and of the roles it is a member of, as the statement''s snapshot sees them. A query reads all tasks of
the plans that it selects.';
comment on column scylla.plan.name is 'Identifies the plan in the database.';
comment on column scylla.plan.status is
'building (not opened yet), running, and once no task is live: failed (a task was aborted), cancelled (by cancel_plan, or a task was
cancelled other than by on_dependency_failure => ''skip''), completed.';
comment on column scylla.plan.spec is 'The spec passed to create_plan().';
comment on column scylla.plan.waiting is 'Tasks behind a closed gate.';
comment on column scylla.plan.ready is 'Tasks that can be leased.';
comment on column scylla.plan.running is 'Tasks that are leased.';
comment on column scylla.plan.completed is 'Tasks that are completed.';
comment on column scylla.plan.aborted is 'Tasks that are aborted.';
comment on column scylla.plan.cancelled is 'Tasks that are cancelled.';
comment on column scylla.plan.progress is '0..1: the share of finished tasks; a running task counts with its progress.';
comment on column scylla.plan.created is 'When it was created.';
comment on column scylla.plan.opened is 'When it was opened.';
comment on column scylla.plan.finished is 'When its last live task ended, or it was cancelled.';
comment on column scylla.plan.result is
'Results of its completed final tasks (no other task of the plan depends on them), by rn; only from queues that the reader may
view.';
comment on column scylla.plan.owner is 'The role that owns it.';
comment on column scylla.plan.seq is 'A number of its own: plans created later have larger ones.';
