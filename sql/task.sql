-- The public view of the tables: one row per task. New columns are only appended.
--
-- A reader sees the tasks of the queues that it may view. A function in the reader's WHERE must not see other rows, whatever its
-- cost. security_barrier keeps it above the filter, but the planner flattens a UNION ALL before it considers security_barrier. So
-- the whole cannot be the barrier, and each part is a barrier view of its own. Leakproof comparisons (=, < of texts, numbers and
-- times) are pushed down to the indexes. Comparisons of enums are not leakproof, so the status is a constant outside the parts:
-- parts that cannot match are not read. That is why the many completed tasks have a part of their own, apart from the few that
-- ended otherwise.
--
-- All parts have exactly the same types, so that the planner flattens them and computes only the requested columns. What they have
-- in common is in _spec and _outcome. These are not barriers, so the planner merges them into the part that reads them. No role has
-- privileges on them.
create or replace view scylla._spec as
    select s.id, s.queue as queue_id, s.priority, s.rn, q.name as queue, s.spec, s.created,
           case when s.gates is null then '[]'::jsonb
                else (select scylla._args(case when g.kind in ('t', 'k') then p.result when not e.failed then e.value end order by g.ord)
                      from scylla.task_gate g
                      left join scylla.task_outcome p on p.id = g.provider
                      left join scylla.task_condition_end e on e.id = g.provider
                      where g.task = s.id and g.kind not in ('p', 'r')) end as args,
           s.max_attempts, s.not_before,
           case when s.plan is not null then (select p.name from scylla.task_plan p where p.id = s.plan) end as plan, s.key,
           case when s.needs is not null
                then (select r.chosen from scylla.task_reservation r where r.task = s.id and r.chosen is not null) end as pool,
           (select m.state from scylla.task_memo m where m.id = s.id) as state,
           coalesce((select m.answers from scylla.task_memo m where m.id = s.id), 0) as answers,
           (select m.answered from scylla.task_memo m where m.id = s.id) as answered
    from scylla.task_spec s
    join scylla.queue q on q.id = s.queue and scylla._may_view(q.owner, q.viewers, q.admins);

create or replace view scylla._outcome as
    select s.rn, s.queue, s.spec, o.status, s.priority::integer as priority,
           o.progress, s.created, o.finished as updated, o.owner, null::timestamptz as deadline,
           coalesce(o.errors, '[]'::jsonb) as errors,
           scylla._history(o.history, o.owner, o.attempt, o.leased) as history,
           o.result, o.metrics, s.args, o.attempt, o.failures, s.max_attempts, s.not_before, s.plan, s.key,
           s.pool, s.state, s.answers, s.answered
    from scylla.task_outcome o
    join scylla._spec s on s.id = o.id;

create or replace view scylla._ready with (security_barrier) as
    select s.rn, s.queue, s.spec, s.priority::integer as priority,
           0::real as progress, s.created, r.updated, null::text as owner, null::timestamptz as deadline,
           coalesce(r.errors, '[]'::jsonb) as errors, coalesce(r.history, '[]'::jsonb) as history,
           null::jsonb as result, null::jsonb as metrics, s.args, r.attempt, r.failures, s.max_attempts, s.not_before, s.plan, s.key,
           s.pool, s.state, s.answers, s.answered
    from scylla.task_ready r
    join scylla._spec s on s.id = r.id and s.queue_id = r.queue and s.priority = r.priority;

create or replace view scylla._running with (security_barrier) as
    select s.rn, s.queue, s.spec, s.priority::integer as priority,
           l.progress, s.created, l.updated, l.owner, l.deadline,
           coalesce(l.errors, '[]'::jsonb) as errors,
           scylla._history(l.history, l.owner, l.attempt, l.leased) as history,
           null::jsonb as result, null::jsonb as metrics, s.args, l.attempt, l.failures, s.max_attempts, s.not_before, s.plan, s.key,
           s.pool, s.state, s.answers, s.answered
    from scylla.task_lease l
    join scylla._spec s on s.id = l.id;

create or replace view scylla._waiting with (security_barrier) as
    select s.rn, s.queue, s.spec, s.priority::integer as priority,
           0::real as progress, s.created, w.updated, null::text as owner, null::timestamptz as deadline,
           coalesce(w.errors, '[]'::jsonb) as errors, coalesce(w.history, '[]'::jsonb) as history,
           null::jsonb as result, null::jsonb as metrics, s.args, w.attempt, w.failures, s.max_attempts,
           case when w.expiring then s.not_before else coalesce(w.due, s.not_before) end as not_before, s.plan, s.key,
           s.pool, s.state, s.answers, s.answered
    from scylla.task_waiting w
    join scylla._spec s on s.id = w.id;

create or replace view scylla._completed with (security_barrier) as select * from scylla._outcome where status = 'completed';
create or replace view scylla._ended with (security_barrier) as select * from scylla._outcome where status <> 'completed';

comment on view scylla._spec is 'The columns of task_spec and queue that all parts of scylla.task show.';
comment on view scylla._outcome is 'The columns of finished tasks that their parts of scylla.task show.';
comment on view scylla._ready is 'A part of scylla.task.';
comment on view scylla._running is 'A part of scylla.task.';
comment on view scylla._waiting is 'A part of scylla.task.';
comment on view scylla._completed is 'A part of scylla.task.';
comment on view scylla._ended is 'A part of scylla.task.';

create or replace view scylla.task as
    select rn, queue, spec, 'ready'::scylla.task_status as status, priority, progress, created, updated, owner, deadline,
           errors, history, result, metrics, args, attempt, failures, max_attempts, not_before, plan, key, pool, state, answers, answered,
           coalesce(nullif(errors -> -1 ->> 'message', ''), errors -> -1 ->> 'code') as error_message
    from scylla._ready
union all
    select rn, queue, spec, 'running'::scylla.task_status, priority, progress, created, updated, owner, deadline,
           errors, history, result, metrics, args, attempt, failures, max_attempts, not_before, plan, key, pool, state, answers, answered,
           coalesce(nullif(errors -> -1 ->> 'message', ''), errors -> -1 ->> 'code') as error_message
    from scylla._running
union all
    select rn, queue, spec, 'waiting'::scylla.task_status, priority, progress, created, updated, owner, deadline,
           errors, history, result, metrics, args, attempt, failures, max_attempts, not_before, plan, key, pool, state, answers, answered,
           coalesce(nullif(errors -> -1 ->> 'message', ''), errors -> -1 ->> 'code') as error_message
    from scylla._waiting
union all
    select rn, queue, spec, 'completed'::scylla.task_status, priority, progress, created, updated, owner, deadline,
           errors, history, result, metrics, args, attempt, failures, max_attempts, not_before, plan, key, pool, state, answers, answered,
           coalesce(nullif(errors -> -1 ->> 'message', ''), errors -> -1 ->> 'code') as error_message
    from scylla._completed
union all
    select rn, queue, spec, status, priority, progress, created, updated, owner, deadline,
           errors, history, result, metrics, args, attempt, failures, max_attempts, not_before, plan, key, pool, state, answers, answered,
           coalesce(nullif(errors -> -1 ->> 'message', ''), errors -> -1 ->> 'code') as error_message
    from scylla._ended;

comment on view scylla.task is 'One row per task, as the statement''s snapshot sees it.';
comment on column scylla.task.rn is 'Resource name: identifies the task in the database.';
comment on column scylla.task.queue is 'The queue of the task.';
comment on column scylla.task.spec is 'What to do; immutable, and not interpreted by the scheduler.';
comment on column scylla.task.status is 'Its status.';
comment on column scylla.task.priority is '0..127; 127 is leased first.';
comment on column scylla.task.progress is '0..1, as the worker last reported; 1 when completed.';
comment on column scylla.task.created is 'When it was submitted, by the server''s clock.';
comment on column scylla.task.updated is 'When it last changed.';
comment on column scylla.task.owner is 'The worker that runs it, or that held it when it ended.';
comment on column scylla.task.deadline is 'While it runs: when its lease expires unless a heartbeat extends it.';
comment on column scylla.task.errors is 'Array of {"code", "args", "message"}, oldest first.';
comment on column scylla.task.history is
'Array of {"_typ": TaskAssignment|TaskTimeout|TaskYield|TaskRetry|TaskDefer, "worker", "attempt", "progress", "time"}, oldest first. A long
history keeps its first and its latest entries, with {"_typ": "HistoryElided", "count"} in between.';
comment on column scylla.task.result is 'The result passed to complete().';
comment on column scylla.task.metrics is 'The metrics passed to complete(): figures about the run.';
comment on column scylla.task.args is
    'What its gates gave: for each element of depends_on, then of wait_for, the result of the task or the value of the callback '
    'or signal. An element is null if the gate is closed, was opened by a failure, or gave nothing.';
comment on column scylla.task.attempt is 'How often it has been leased: the fencing token of the current lease.';
comment on column scylla.task.failures is 'How often it failed or its lease expired since the last answer "not yet".';
comment on column scylla.task.max_attempts is 'Number of failures that abort it; null: no bound.';
comment on column scylla.task.not_before is 'While it waits: when it becomes ready. Otherwise as submitted.';
comment on column scylla.task.plan is 'The plan of the task.';
comment on column scylla.task.key is 'The key passed to submit().';
comment on column scylla.task.pool is
    'The pool in which it has been placed, while it holds something there; null: none, or it needs several at once.';
comment on column scylla.task.state is 'What the worker that deferred it has left for the next one.';
comment on column scylla.task.answers is 'How often its workers have answered "not yet".';
comment on column scylla.task.answered is 'When one last did.';
comment on column scylla.task.error_message is 'What its last error says: the message, or the code of an error without one; null: there is none.';
