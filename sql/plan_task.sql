-- The tasks of plans with their providers, for pictures of plans. New columns are only appended.

create or replace view scylla.plan_task with (security_barrier) as
    select p.name as plan, s.rn, q.name as queue,
           case when w.id is not null then 'waiting' when l.id is not null then 'running' when o.id is not null then o.status
                else 'ready' end::scylla.task_status as status,
           coalesce(l.progress, o.progress, 0)::real as progress,
           s.created, coalesce(o.finished, l.updated, w.updated, r.updated) as updated,
           coalesce(l.owner, o.owner) as owner, coalesce(l.attempt, o.attempt, w.attempt, r.attempt) as attempt,
           case when l.id is not null then scylla._history(l.history, l.owner, l.attempt, l.leased)
                when o.id is not null then scylla._history(o.history, o.owner, o.attempt, o.leased)
                else coalesce(w.history, r.history, '[]'::jsonb) end as history,
           array(select ps.rn
                 from scylla.task_gate d
                 join scylla.task_spec ps on ps.id = d.provider
                 join scylla.queue pq on pq.id = ps.queue and scylla._may_view(pq.owner, pq.viewers, pq.admins)
                 where d.task = g.task and d.kind = 't' order by d.ord) as depends_on,
           g.task as seq
    from scylla.task_plan p
    join scylla.task_gate g on g.provider = p.id
    join scylla.task_spec s on s.id = g.task
    join scylla.queue q on q.id = s.queue and scylla._may_view(q.owner, q.viewers, q.admins)
    left join scylla.task_waiting w on w.id = s.id
    left join scylla.task_ready r on r.queue = s.queue and r.priority = s.priority and r.id = s.id
    left join scylla.task_lease l on l.id = s.id
    left join scylla.task_outcome o on o.id = s.id
    where scylla._may_view(p.owner, null, null);

comment on view scylla.plan_task is
'The tasks of the plans that the current user sees, in the queues that the current user may view, as the statement''s snapshot sees
them.';
comment on column scylla.plan_task.plan is 'The plan.';
comment on column scylla.plan_task.rn is 'The task.';
comment on column scylla.plan_task.queue is 'Its queue.';
comment on column scylla.plan_task.status is 'Its status.';
comment on column scylla.plan_task.progress is '0..1, as the worker last reported; 1 when completed.';
comment on column scylla.plan_task.created is 'When it was submitted.';
comment on column scylla.plan_task.updated is 'When it last changed.';
comment on column scylla.plan_task.owner is 'The worker that runs it, or that held it when it ended.';
comment on column scylla.plan_task.attempt is 'How often it has been leased.';
comment on column scylla.plan_task.history is 'As in the view scylla.task.';
comment on column scylla.plan_task.depends_on is
    'Its providers, in the order in which they were given; only from queues that the reader may view.';
comment on column scylla.plan_task.seq is 'The number of the task: those submitted later have larger ones.';
