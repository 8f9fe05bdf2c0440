-- The public face of the tables: one row per task. Columns are only ever appended.

-- The branches have exactly the same types, so that the planner pulls them up and computes only what is asked for.
create view scylla.task as
    select s.rn, q.name as queue, s.spec, 'ready'::scylla.task_status as status, s.priority::integer as priority,
           0::real as progress, s.created, r.updated, null::text as owner, null::timestamptz as deadline,
           coalesce(r.errors, '[]'::jsonb) as errors, coalesce(r.history, '[]'::jsonb) as history,
           null::jsonb as result, null::jsonb as metrics, '[]'::jsonb as args,
           r.attempt, r.failures, s.max_attempts, s.not_before, null::text as plan
    from scylla.task_ready r
    join scylla.task_spec s on s.id = r.id and s.queue = r.queue and s.priority = r.priority
    join scylla.queue q on q.id = s.queue
union all
    select s.rn, q.name, s.spec, 'running'::scylla.task_status, s.priority::integer,
           l.progress, s.created, l.updated, l.owner, l.deadline,
           coalesce(l.errors, '[]'::jsonb), scylla._history(l.history, l.owner, l.attempt, l.leased),
           null::jsonb, null::jsonb, '[]'::jsonb,
           l.attempt, l.failures, s.max_attempts, s.not_before, null::text
    from scylla.task_lease l
    join scylla.task_spec s on s.id = l.id
    join scylla.queue q on q.id = s.queue
union all
    select s.rn, q.name, s.spec, 'waiting'::scylla.task_status, s.priority::integer,
           0::real, s.created, w.updated, null::text, null::timestamptz,
           coalesce(w.errors, '[]'::jsonb), coalesce(w.history, '[]'::jsonb),
           null::jsonb, null::jsonb, '[]'::jsonb,
           w.attempt, w.failures, s.max_attempts, coalesce(w.due, s.not_before), null::text
    from scylla.task_waiting w
    join scylla.task_spec s on s.id = w.id
    join scylla.queue q on q.id = s.queue
union all
    select s.rn, q.name, s.spec, o.status, s.priority::integer,
           o.progress, s.created, o.finished, o.owner, null::timestamptz,
           coalesce(o.errors, '[]'::jsonb), scylla._history(o.history, o.owner, o.attempt, o.leased),
           o.result, o.metrics, '[]'::jsonb,
           o.attempt, o.failures, s.max_attempts, s.not_before, null::text
    from scylla.task_outcome o
    join scylla.task_spec s on s.id = o.id
    join scylla.queue q on q.id = s.queue;

comment on view scylla.task is 'Every task, one row each, as its statement''s snapshot sees it.';
comment on column scylla.task.rn is 'Resource name: identifies the task in the database.';
comment on column scylla.task.queue is 'The queue it belongs to.';
comment on column scylla.task.spec is 'What is to be done: immutable, and opaque to the scheduler.';
comment on column scylla.task.status is 'Where it is in its life.';
comment on column scylla.task.priority is '0..127; 127 is leased first.';
comment on column scylla.task.progress is '0..1, as the worker last said; 1 when completed.';
comment on column scylla.task.created is 'When it was submitted, by the server''s clock.';
comment on column scylla.task.updated is 'When it last changed.';
comment on column scylla.task.owner is 'The worker that runs it, or whose lease ended with it.';
comment on column scylla.task.deadline is 'While it runs: when its lease ends unless a heartbeat extends it.';
comment on column scylla.task.errors is 'Array of {"code", "args", "description"}, oldest first.';
comment on column scylla.task.history is
'Array of {"_typ": TaskAssignment|TaskTimeout|TaskYield|TaskRetry, "worker", "attempt", "progress", "time"}, oldest first; a
long one keeps its first and its latest entries and {"_typ": "HistoryElided", "count"} in between.';
comment on column scylla.task.result is 'What complete() was given.';
comment on column scylla.task.metrics is 'Figures about the run, given to complete().';
comment on column scylla.task.args is 'Results of the tasks it depended on.';
comment on column scylla.task.attempt is 'How often it has been leased: the fencing token of the present lease.';
comment on column scylla.task.failures is 'How often it failed or its lease expired.';
comment on column scylla.task.max_attempts is 'That many failures abort it; null: no bound.';
comment on column scylla.task.not_before is 'While it waits: when it becomes ready. Otherwise as submitted.';
comment on column scylla.task.plan is 'The plan it belongs to.';

