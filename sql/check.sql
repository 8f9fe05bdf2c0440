-- Invariants, in the manner of amcheck.

create function scylla.check(out rn text, out problem text) returns setof record
    language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
    with place as (
        select id, queue, 'task_waiting' as place from scylla.task_waiting
        union all select id, queue, 'task_ready' from scylla.task_ready
        union all select id, queue, 'task_lease' from scylla.task_lease
        union all select id, queue, 'task_outcome' from scylla.task_outcome
    ), places as (
        select id, count(*) as n, string_agg(place, ', ' order by place) as held_by, min(queue) as queue from place group by id
    )
    select s.rn, 'is in no state: its id ' || s.id || ' is in task_spec only'
    from scylla.task_spec s left join places p using (id) where p.id is null
    union all
    select s.rn, 'is in ' || p.n || ' states: its id ' || p.id || ' is in ' || p.held_by
    from places p left join scylla.task_spec s using (id) where p.n > 1
    union all
    select null, 'id ' || p.id || ' is in ' || p.held_by || ' but not in task_spec'
    from places p left join scylla.task_spec s using (id) where s.id is null
    union all
    select s.rn, 'belongs to queue ' || s.queue || ' but ' || p.held_by || ' says ' || p.queue
    from places p join scylla.task_spec s using (id) where p.n = 1 and s.queue <> p.queue
    union all
    select s.rn, 'belongs to queue ' || s.queue || ', which does not exist'
    from scylla.task_spec s left join scylla.queue q on q.id = s.queue where q.id is null
    union all
    select s.rn, 'has priority ' || s.priority || ' but task_ready says ' || r.priority
    from scylla.task_ready r join scylla.task_spec s using (id) where s.priority <> r.priority
    union all
    select s.rn, 'has priority ' || s.priority || ', outside 0..127'
    from scylla.task_spec s where s.priority not between 0 and 127
    union all
    select s.rn, 'waits, but for nothing: no due time'
    from scylla.task_waiting w join scylla.task_spec s using (id) where w.due is null
    union all
    select s.rn, 'is leased with attempt ' || l.attempt || ', progress ' || l.progress || ', timeout ' || l.timeout
    from scylla.task_lease l join scylla.task_spec s using (id)
    where l.attempt < 1 or not l.progress between 0 and 1 or l.timeout <= 0
    union all
    select s.rn, 'is leased by a worker without a name' from scylla.task_lease l join scylla.task_spec s using (id)
    where l.owner = ''
    union all
    select s.rn, 'is leased for ever' from scylla.task_lease l join scylla.task_spec s using (id)
    where not isfinite(l.deadline)
    union all
    select s.rn, 'ended in the state ' || o.status from scylla.task_outcome o join scylla.task_spec s using (id)
    where o.status not in ('completed', 'aborted', 'cancelled')
    union all
    select s.rn, 'is completed with progress ' || o.progress from scylla.task_outcome o join scylla.task_spec s using (id)
    where o.status = 'completed' and o.progress <> 1
    union all
    select s.rn, 'is ' || o.status || ' with progress ' || o.progress
    from scylla.task_outcome o join scylla.task_spec s using (id)
    where o.status <> 'completed' and not o.progress between 0 and 1
    union all
    select s.rn, 'is ' || o.status || ', but has a result or metrics'
    from scylla.task_outcome o join scylla.task_spec s using (id)
    where o.status <> 'completed' and (o.result is not null or o.metrics is not null)
    union all
    select s.rn, 'is completed, but by nobody' from scylla.task_outcome o join scylla.task_spec s using (id)
    where o.status = 'completed' and o.owner is null
    union all
    select s.rn, 'has attempt ' || x.attempt || ' and ' || x.failures || ' failures'
    from (select id, attempt, failures from scylla.task_waiting union all select id, attempt, failures from scylla.task_ready
          union all select id, attempt, failures from scylla.task_lease
          union all select id, attempt, failures from scylla.task_outcome) x
    join scylla.task_spec s using (id) where x.attempt < 0 or not x.failures between 0 and x.attempt
    union all
    select s.rn, 'has history or errors that are no arrays'
    from (select id, history, errors from scylla.task_waiting union all select id, history, errors from scylla.task_ready
          union all select id, history, errors from scylla.task_lease
          union all select id, history, errors from scylla.task_outcome) x
    join scylla.task_spec s using (id) where jsonb_typeof(x.history) <> 'array' or jsonb_typeof(x.errors) <> 'array'
    union all
    select s.rn, 'has ' || x.failures || ' failures of ' || s.max_attempts || ' allowed, and is not aborted'
    from (select id, failures from scylla.task_waiting union all select id, failures from scylla.task_ready
          union all select id, failures from scylla.task_lease) x
    join scylla.task_spec s using (id) where x.failures >= s.max_attempts
    union all
    select null, format('%s has given out %s, but the id %s is in use', 'task_id_seq', q.last_value, m.id)
    from scylla.task_id_seq q, (select max(id) as id from scylla.task_spec) m where m.id > q.last_value
    union all
    select null, format('%s has given out %s, but the id %s is in use', 'queue_id_seq', q.last_value, m.id)
    from scylla.queue_id_seq q, (select max(id) as id from scylla.queue) m where m.id > q.last_value;
$$;
comment on function scylla.check is
'Proves the invariants of the tables: one row per violation, so an empty set is good. Reads every task. Always write it with
its schema: CHECK is a reserved word.';

