-- Pools as their users and admins see them, with the tasks that hold resources or wait for them.

create or replace view scylla._pool as
    with held as (
        select r.pool, e.key as resource, sum(e.value::numeric) as reserved,
               coalesce(sum(e.value::numeric) filter (where r.since > u.at), 0) as later
        from scylla.task_reservation r
        cross join lateral jsonb_each_text(r.amounts) e
        left join lateral (select at from scylla.pool_report where pool_report.pool = r.pool order by at desc limit 1) u on true
        group by r.pool, e.key
    )
    select p.name as pool, p.policy, p.drained, p.capacity,
           (select jsonb_object_agg(c.key, coalesce(h.reserved, 0)) from jsonb_each_text(p.capacity) c
            left join held h on h.pool = p.id and h.resource = c.key) as reserved,
           u.used as reported, u.at as reported_at,
           (select jsonb_object_agg(c.key, c.value::numeric - greatest(coalesce(h.reserved, 0),
                                    coalesce((u.used ->> c.key)::numeric, 0) + coalesce(h.later, 0)))
            from jsonb_each_text(p.capacity) c left join held h on h.pool = p.id and h.resource = c.key) as free,
           p.metrics_max_age is not null and coalesce(u.at + p.metrics_max_age < clock_timestamp(), true) as stale,
           (select count(*) from scylla.pool_line l where l.pool = p.id) as waiting,
           (select count(*) from scylla.task_reservation r where r.pool = p.id) as placed,
           p.max_bypass, p.metrics_max_age, p.created, p.owner, p.users, p.reporters, p.admins
    from scylla.resource_pool p
    left join lateral (select at, used from scylla.pool_report where pool_report.pool = p.id order by at desc limit 1) u on true;
comment on view scylla._pool is 'Pools, for the views that show them.';

create or replace view scylla.pool with (security_barrier) as
    select pool, policy, drained, capacity, reserved, reported, reported_at, free, stale, waiting, placed, max_bypass,
           metrics_max_age, created, owner::text, users, reporters, admins
    from scylla._pool
    where scylla._may_view(owner, users || reporters, admins);
comment on view scylla.pool is 'The pools on which the current user has a privilege.';
comment on column scylla.pool.pool is 'The name.';
comment on column scylla.pool.policy is 'strict, greedy or backfill.';
comment on column scylla.pool.drained is 'Nothing is placed: drain_pool().';
comment on column scylla.pool.capacity is 'How much there is, by resource.';
comment on column scylla.pool.reserved is 'How much tasks hold.';
comment on column scylla.pool.reported is 'What report_usage() last said.';
comment on column scylla.pool.reported_at is 'When that was measured; null: nothing was ever reported.';
comment on column scylla.pool.free is
    'Capacity without the larger of what is reserved and what was reported plus what has been reserved since.';
comment on column scylla.pool.stale is 'The last report is older than metrics_max_age: nothing is placed.';
comment on column scylla.pool.waiting is 'How many tasks are in its line.';
comment on column scylla.pool.placed is 'How many tasks hold something of it.';
comment on column scylla.pool.max_bypass is 'See create_pool().';
comment on column scylla.pool.metrics_max_age is 'See create_pool().';
comment on column scylla.pool.created is 'When it was created.';
comment on column scylla.pool.owner is 'The role that created it.';
comment on column scylla.pool.users is 'Roles with the privilege use.';
comment on column scylla.pool.reporters is 'Roles with the privilege report.';
comment on column scylla.pool.admins is 'Roles with the privilege admin.';

create or replace view scylla.pool_history with (security_barrier) as
    select p.name as pool, c.changed, c.author::text as author, c.settings,
           lag(c.settings) over (partition by c.pool order by c.id) as previous
    from scylla.pool_change c
    join scylla.resource_pool p on p.id = c.pool
    where scylla._may_view(p.owner, p.users || p.reporters, p.admins);
comment on view scylla.pool_history is
    'Who has created, changed, drained and resumed the pools on which the current user has a privilege: the last 1,000 changes of each.';
comment on column scylla.pool_history.pool is 'The pool.';
comment on column scylla.pool_history.changed is 'When it was changed.';
comment on column scylla.pool_history.author is 'The role that did so.';
comment on column scylla.pool_history.settings is 'Its settings since then: capacity, policy, max_bypass, metrics_max_age, drained.';
comment on column scylla.pool_history.previous is 'Those before; null: it was created, or earlier changes are no longer kept.';

create or replace view scylla.stat_pool with (security_barrier) as
    select p.pool, c.key as resource, c.value::float8 as capacity, (p.reserved ->> c.key)::float8 as reserved,
           (p.free ->> c.key)::float8 as free, p.waiting, p.placed, not (p.drained or p.stale) as open
    from scylla._pool p cross join lateral jsonb_each_text(p.capacity) c
    where scylla._may_watch(p.owner, p.users || p.reporters, p.admins);
comment on view scylla.stat_pool is
    'Numbers of pools, by resource: of those on which the current user has a privilege, and of all for pg_monitor.';
comment on column scylla.stat_pool.pool is 'The pool.';
comment on column scylla.stat_pool.resource is 'The resource.';
comment on column scylla.stat_pool.capacity is 'How much there is.';
comment on column scylla.stat_pool.reserved is 'How much tasks hold.';
comment on column scylla.stat_pool.free is 'How much can be placed.';
comment on column scylla.stat_pool.waiting is 'How many tasks are in the line of the pool.';
comment on column scylla.stat_pool.placed is 'How many tasks hold something of the pool.';
comment on column scylla.stat_pool.open is 'Whether anything is placed: not drained, and the last report is fresh enough.';

create or replace view scylla.pool_reservation with (security_barrier) as
    select p.name as pool, s.rn, q.name as queue, r.amounts, r.since, r.ends
    from scylla.task_reservation r
    join scylla.resource_pool p on p.id = r.pool
    join scylla.task_spec s on s.id = r.task
    join scylla.queue q on q.id = s.queue
    where scylla._may_view(q.owner, q.viewers, q.admins) or scylla._may_view(p.owner, null, p.admins);
comment on view scylla.pool_reservation is
    'What tasks hold of pools: of the tasks that the current user may view, and of the pools on which it has the privilege admin.';
comment on column scylla.pool_reservation.pool is 'The pool.';
comment on column scylla.pool_reservation.rn is 'The task.';
comment on column scylla.pool_reservation.queue is 'The queue of the task.';
comment on column scylla.pool_reservation.amounts is 'How much it holds, by resource.';
comment on column scylla.pool_reservation.since is 'When it was placed.';
comment on column scylla.pool_reservation.ends is 'When its expected runtime is over; null: not known.';

-- Its rows are sorted by pool and priority, and few of them shown: what belongs to other tables is left-joined or looked up, so that a query
-- for their numbers does without. Rights are asked once per queue and pool, not once per row.
create or replace view scylla.pool_queue with (security_barrier) as
    with lines as materialized (select * from scylla._pool_lines()),
    reasons as materialized (select jsonb_object_agg(task_class, reason) as of from lines where task_class is not null),
    heads as materialized (select jsonb_object_agg(pool || ' ' || task, planned) as of from lines where pool is not null)
    select p.name as pool, s.rn, q.name as queue, l.priority::integer as priority, l.created, w.updated as since, l.needs,
           (select r.of from reasons r) ->> l.task_class::text as reason,
           ((select h.of from heads h) ->> (l.pool || ' ' || l.task))::timestamptz as planned, l.task as seq
    from scylla.pool_line l
    join scylla.resource_pool p on p.id = l.pool
    left join scylla.queue q on q.id = l.queue
    left join scylla.task_spec s on s.id = l.task
    left join scylla.task_waiting w on w.id = l.task
    where l.queue in (select q.id from scylla.queue q where scylla._may_view(q.owner, q.viewers, q.admins))
       or l.pool in (select p.id from scylla.resource_pool p where scylla._may_view(p.owner, null, p.admins))
          and l.queue in (select q.id from scylla.queue q); -- not of a queue that was dropped
comment on view scylla.pool_queue is
'The tasks that wait only for pools, once per pool that could serve: of the tasks that the current user may view, and of the pools
on which it has the privilege admin.';
comment on column scylla.pool_queue.pool is 'The pool.';
comment on column scylla.pool_queue.rn is 'The task.';
comment on column scylla.pool_queue.queue is 'Its queue.';
comment on column scylla.pool_queue.priority is 'Its priority.';
comment on column scylla.pool_queue.created is 'When it was submitted.';
comment on column scylla.pool_queue.since is 'Since when it waits only for pools.';
comment on column scylla.pool_queue.needs is 'What it needs.';
comment on column scylla.pool_queue.reason is
    'Why the first task with its queue, priority, needs and expected runtime waits; null: its queue is paused.';
comment on column scylla.pool_queue.planned is 'When it is expected to start, if it is the head of the line and that can be planned.';
comment on column scylla.pool_queue.seq is 'The number of the task: those submitted later have larger ones.';

create or replace function scylla.list_pool_queue(pool text = null, max_tasks integer = 100) returns setof scylla.pool_queue
    language sql volatile parallel unsafe
begin atomic
    with first as materialized (select f.pool, f.seq from scylla._first_in_line(list_pool_queue.pool, list_pool_queue.max_tasks) f)
    select q.* from scylla.pool_queue q
    where q.seq = any (array(select f.seq from first f)) and (q.pool, q.seq) in (select f.pool, f.seq from first f)
    order by q.pool collate "C", q.priority desc, q.seq;
end;
comment on function scylla.list_pool_queue is
'The first tasks in line, as rows of the view pool_queue: pool by pool, by priority, and those of one priority as they were submitted. It reads
no more of the line than that, where the view reads all of it.
  pool       null: all pools; an unknown one has no tasks
  max_tasks  1..100000; null: 100
Needs SELECT on the view pool_queue. Errors: 22023 bad argument.';
