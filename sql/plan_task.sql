-- The tasks of plans with their providers, for pictures of plans. New columns are only appended.

-- A task is in one of four tables. `limit 1` looks into no other once it is found, and keeps the planner from joining them in every order,
-- which took longer than reading a small plan. The rights on the queue are no condition of its join: the planner might begin with the queues.
create or replace view scylla.plan_task with (security_barrier) as
    select p.name as plan, s.rn, q.name as queue, coalesce(t.status, 'ready')::scylla.task_status as status,
           coalesce(t.progress, 0)::real as progress, s.created, t.updated, t.owner, t.attempt,
           case when t.with_lease then scylla._history(t.history, t.owner, t.attempt, t.leased) else coalesce(t.history, '[]'::jsonb) end as history,
           array(select ps.rn
                 from scylla.task_gate d
                 join scylla.task_spec ps on ps.id = d.provider
                 join scylla.queue pq on pq.id = ps.queue and scylla._may_view(pq.owner, pq.viewers, pq.admins)
                 where d.task = g.task and d.kind = 't' order by d.ord) as depends_on,
           g.task as seq
    from scylla.task_plan p
    join scylla.task_gate g on g.provider = p.id
    join scylla.task_spec s on s.id = g.task
    left join scylla.queue q on q.id = s.queue
    left join lateral (
        select o.status, o.progress, o.finished as updated, o.owner, o.attempt, o.history, true as with_lease, o.leased
        from scylla.task_outcome o where o.id = s.id
        union all
        select 'waiting'::scylla.task_status, null::real, w.updated, null::text, w.attempt, w.history, false, null::timestamptz
        from scylla.task_waiting w where w.id = s.id
        union all
        select 'running'::scylla.task_status, l.progress, l.updated, l.owner, l.attempt, l.history, true, l.leased
        from scylla.task_lease l where l.id = s.id
        union all
        select 'ready'::scylla.task_status, null::real, r.updated, null::text, r.attempt, r.history, false, null::timestamptz
        from scylla.task_ready r where r.queue = s.queue and r.priority = s.priority and r.id = s.id
        limit 1) t on true
    where scylla._may_view(p.owner, null, null)
      and case when q.id is not null then scylla._may_view(q.owner, q.viewers, q.admins) end; -- not of a queue that was dropped

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
