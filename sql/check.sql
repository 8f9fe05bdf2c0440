-- Invariants, like amcheck.

-- The rows of the tables in the order of each index. Sorting is disabled, so each index must return its rows itself.
create or replace function scylla._rows_by_index(out index text, out of text, out place tid) returns setof record
    language sql stable set search_path = pg_catalog, pg_temp
    set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_incremental_sort = off
    set max_parallel_workers_per_gather = 0 set jit = off
as $$
    (select 'queue_pkey', 'queue', ctid from scylla.queue order by id)
    union all
    (select 'queue_name_key', 'queue', ctid from scylla.queue order by name)
    union all
    (select 'task_spec_pkey', 'task_spec', ctid from scylla.task_spec order by id)
    union all
    (select 'task_spec_rn', 'task_spec', ctid from scylla.task_spec order by rn using ~<~)
    union all
    (select 'task_ready_order', 'task_ready', ctid from scylla.task_ready order by queue, priority desc, id)
    union all
    (select 'task_ready_key', 'task_ready', ctid from scylla.task_ready where key is not null order by queue, key using ~<~, priority desc, id)
    union all
    (select 'task_lease_pkey', 'task_lease', ctid from scylla.task_lease order by id)
    union all
    (select 'task_lease_permit', 'task_lease', ctid from scylla.task_lease where permit is not null order by queue, permit using ~<~, id)
    union all
    (select 'task_waiting_pkey', 'task_waiting', ctid from scylla.task_waiting order by id)
    union all
    (select 'task_waiting_due', 'task_waiting', ctid from scylla.task_waiting order by due)
    union all
    (select 'task_outcome_pkey', 'task_outcome', ctid from scylla.task_outcome order by id)
    union all
    (select 'task_gate_pkey', 'task_gate', ctid from scylla.task_gate order by task, ord)
    union all
    (select 'task_gate_provider', 'task_gate', ctid from scylla.task_gate order by provider, task)
    union all
    (select 'task_plan_pkey', 'task_plan', ctid from scylla.task_plan order by id)
    union all
    (select 'task_plan_name', 'task_plan', ctid from scylla.task_plan order by name using ~<~)
    union all
    (select 'task_dedup_key', 'task_dedup', ctid from scylla.task_dedup order by queue, key using ~<~)
    union all
    (select 'event_pkey', 'event', ctid from scylla.event order by position, id)
    union all
    (select 'task_condition_end_pkey', 'task_condition_end', ctid from scylla.task_condition_end order by id)
    union all
    (select 'signal_condition_pkey', 'signal_condition', ctid from scylla.signal_condition order by id)
    union all
    (select 'signal_condition_match', 'signal_condition', ctid from scylla.signal_condition order by digest, bound using ~<~)
    union all
    (select 'signal_shape_pkey', 'signal_shape', ctid from scylla.signal_shape order by id)
    union all
    (select 'signal_shape_name', 'signal_shape', ctid from scylla.signal_shape order by name using ~<~)
    union all
    (select 'pool_line_order', 'pool_line', ctid from scylla.pool_line order by pool, task_class, task)
    union all
    (select 'pool_line_task', 'pool_line', ctid from scylla.pool_line order by task)
    union all
    (select 'task_reservation_pkey', 'task_reservation', ctid from scylla.task_reservation order by task, pool)
    union all
    (select 'task_reservation_pool', 'task_reservation', ctid from scylla.task_reservation order by pool)
    union all
    (select 'task_memo_pkey', 'task_memo', ctid from scylla.task_memo order by id)
    union all
    (select 'task_check_pkey', 'task_check', ctid from scylla.task_check order by id)
    union all
    (select 'task_check_digest', 'task_check', ctid from scylla.task_check order by digest)
$$;
-- The rows that each index must return, read from the tables.
create or replace function scylla._rows_by_table(out index text, out of text, out place tid) returns setof record
    language sql stable set search_path = pg_catalog, pg_temp
    set enable_indexscan = off set enable_indexonlyscan = off set enable_bitmapscan = off set jit = off
as $$
    select 'queue_pkey', 'queue', ctid from scylla.queue
    union all
    select 'queue_name_key', 'queue', ctid from scylla.queue
    union all
    select 'task_spec_pkey', 'task_spec', ctid from scylla.task_spec
    union all
    select 'task_spec_rn', 'task_spec', ctid from scylla.task_spec
    union all
    select 'task_ready_order', 'task_ready', ctid from scylla.task_ready
    union all
    select 'task_ready_key', 'task_ready', ctid from scylla.task_ready where key is not null
    union all
    select 'task_lease_pkey', 'task_lease', ctid from scylla.task_lease
    union all
    select 'task_lease_permit', 'task_lease', ctid from scylla.task_lease where permit is not null
    union all
    select 'task_waiting_pkey', 'task_waiting', ctid from scylla.task_waiting
    union all
    select 'task_waiting_due', 'task_waiting', ctid from scylla.task_waiting
    union all
    select 'task_outcome_pkey', 'task_outcome', ctid from scylla.task_outcome
    union all
    select 'task_gate_pkey', 'task_gate', ctid from scylla.task_gate
    union all
    select 'task_gate_provider', 'task_gate', ctid from scylla.task_gate
    union all
    select 'task_plan_pkey', 'task_plan', ctid from scylla.task_plan
    union all
    select 'task_plan_name', 'task_plan', ctid from scylla.task_plan
    union all
    select 'task_dedup_key', 'task_dedup', ctid from scylla.task_dedup
    union all
    select 'event_pkey', 'event', ctid from scylla.event
    union all
    select 'task_condition_end_pkey', 'task_condition_end', ctid from scylla.task_condition_end
    union all
    select 'signal_condition_pkey', 'signal_condition', ctid from scylla.signal_condition
    union all
    select 'signal_condition_match', 'signal_condition', ctid from scylla.signal_condition
    union all
    select 'signal_shape_pkey', 'signal_shape', ctid from scylla.signal_shape
    union all
    select 'signal_shape_name', 'signal_shape', ctid from scylla.signal_shape
    union all
    select 'pool_line_order', 'pool_line', ctid from scylla.pool_line
    union all
    select 'pool_line_task', 'pool_line', ctid from scylla.pool_line
    union all
    select 'task_reservation_pkey', 'task_reservation', ctid from scylla.task_reservation
    union all
    select 'task_reservation_pool', 'task_reservation', ctid from scylla.task_reservation
    union all
    select 'task_memo_pkey', 'task_memo', ctid from scylla.task_memo
    union all
    select 'task_check_pkey', 'task_check', ctid from scylla.task_check
    union all
    select 'task_check_digest', 'task_check', ctid from scylla.task_check
$$;
comment on function scylla._rows_by_index is 'For scylla.check().';
comment on function scylla._rows_by_table is 'For scylla.check().';

create or replace function scylla._shape_problem(name text) returns text
    language c stable as 'MODULE_PATHNAME', 'scylla_shape_problem';
comment on function scylla._shape_problem is
'For scylla.check(): what is wrong with the columns and indexes of a table that the functions write directly; null: nothing.';

create or replace function scylla._bypassed(name text) returns text
    language c stable as 'MODULE_PATHNAME', 'scylla_bypassed';
comment on function scylla._bypassed is
'For scylla.check(): a trigger, rule, constraint, unique index or row security of a table that the functions write directly, or that it has no WAL; null: none.';

-- One look, in one snapshot.
create or replace function scylla._check(out rn text, out problem text) returns setof record
    language plpgsql stable set search_path = pg_catalog, pg_temp
    -- The query joins all tasks, even if their tables have not been analysed yet. The few joins that need nested loops then look so
    -- expensive that the server would JIT-compile the whole query.
    set enable_nestloop = off set jit = off
as $$
#variable_conflict use_column
begin
    return query
    select null::text, format('table %s has been changed: %s', c.relname, scylla._shape_problem(c.relname))
    from pg_class c where c.relnamespace = 'scylla'::regnamespace and c.relkind = 'r' and scylla._shape_problem(c.relname) is not null;
    -- Of a table of another shape nothing else can be said.
    if found then
        return;
    end if;
    return query
    select null::text, format('table %s has %s, which it cannot have', c.relname, scylla._bypassed(c.relname))
    from pg_class c where c.relnamespace = 'scylla'::regnamespace and c.relkind = 'r' and scylla._bypassed(c.relname) is not null;
    return query
    with place as (
        select id, queue, 'task_waiting' as place from scylla.task_waiting
        union all select id, queue, 'task_ready' from scylla.task_ready
        union all select id, queue, 'task_lease' from scylla.task_lease
        union all select id, queue, 'task_outcome' from scylla.task_outcome
    ), being_opened as materialized (
        -- Of very many that wait for one provider, its end leaves some to the monitor.
        select distinct g.task
        from (select provider from scylla.task_gate group by provider having count(*) > 1000) crowded
        join scylla.task_gate g using (provider)
        left join scylla.task_outcome o on o.id = g.provider
        left join scylla.task_condition_end e on e.id = g.provider
        where coalesce(o.finished, e.ended) > clock_timestamp() - interval '1 min'
    ), places as (
        select id, count(*) as n, string_agg(place, ', ' order by place) as held_by, min(queue) as queue from place group by id
    )
    -- If an index returns a row twice, it may also return it for another key.
    select null, 'row ' || f.place || ' of ' || f.of || ' is found ' || sum(f.by_index) || ' times by the index ' || f.index || ', instead of once'
    from (select i.index, i.of, i.place, 1 as by_index from scylla._rows_by_index() i
          union all select t.index, t.of, t.place, 0 from scylla._rows_by_table() t) f
    group by f.index, f.of, f.place having sum(f.by_index) <> 1 or count(*) <> 2
    union all
    select null, 'id ' || s.id || ' is in ' || count(*) || ' rows of task_spec: ' || string_agg(s.rn, ', ' order by s.rn)
    from scylla.task_spec s group by s.id having count(*) > 1
    union all
    select s.rn, 'is the name of ' || count(*) || ' tasks: ids ' || string_agg(s.id::text, ', ' order by s.id)
    from scylla.task_spec s group by s.rn having count(*) > 1
    union all
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
    from scylla.task_spec s left join scylla.queue q on q.id = s.queue left join scylla.queue_dropped d on d.id = s.queue
    where q.id is null and d.id is null
    union all
    select s.rn, 'has priority ' || s.priority || ' but task_ready says ' || r.priority
    from scylla.task_ready r join scylla.task_spec s using (id) where s.priority <> r.priority
    union all
    select s.rn, 'has priority ' || s.priority || ', outside 0..127'
    from scylla.task_spec s where s.priority not between 0 and 127
    union all
    select s.rn, 'waits, but for nothing: all its gates are open, and it has no due time'
    from scylla.task_waiting w join scylla.task_spec s using (id) where (w.due is null or w.expiring)
      and not exists (select from scylla.task_gate g left join scylla.task_outcome o on o.id = g.provider
                      left join scylla.task_plan p on p.id = g.provider
                      left join scylla.task_condition_end e on e.id = g.provider
                      where g.task = w.id
                        and case g.kind when 't' then o.id is null when 'k' then o.id is null when 'p' then p.opened is null
                                        when 'r' then exists (select from scylla.pool_line l where l.task = w.id) else e.id is null end)
      and not exists (select from being_opened b where b.task = w.id)
    union all
    select s.rn, 'waits until ' || coalesce(w.due::text, 'the end of time') || ' although a gate times out at ' || g.deadline
    from scylla.task_waiting w join scylla.task_spec s using (id)
    join (select g.task, min(g.deadline) as deadline from scylla.task_gate g
          left join scylla.task_outcome o on o.id = g.provider left join scylla.task_condition_end e on e.id = g.provider
          where g.deadline is not null and o.id is null and e.id is null and (g.on_timeout <> 'i' or g.deadline > now())
          group by g.task) g on g.task = w.id
    where w.due is null or (w.expiring and w.due > g.deadline)
    union all
    select s.rn, 'has a gate with ' || coalesce('the deadline ' || g.deadline, 'no deadline') || ' and on_timeout ' || coalesce(g.on_timeout::text, 'null')
    from scylla.task_gate g join scylla.task_spec s on s.id = g.task
    where (g.deadline is null) <> (g.on_timeout is null) or g.on_timeout not in ('a', 's', 'i')
    union all
    select s.rn, 'did not wait for ' || coalesce('plan ' || p.name, 'task ' || t.rn, 'id ' || g.provider)
    from scylla.task_gate g join scylla.task_spec s on s.id = g.task
    left join scylla.task_outcome o on o.id = g.provider left join scylla.task_plan p on p.id = g.provider
    left join scylla.task_spec t on t.id = g.provider
    left join scylla.task_condition_end e on e.id = g.provider
    where case g.kind when 't' then o.id is null and t.id is not null when 'k' then o.id is null and t.id is not null when 'p' then p.id is not null and p.opened is null
                      when 'r' then exists (select from scylla.pool_line l where l.task = s.id) else e.id is null end
      and exists (select from scylla.task_ready r where r.id = s.id and r.queue = s.queue and r.priority = s.priority
                  union all select from scylla.task_lease l where l.id = s.id
                  union all select from scylla.task_waiting w where w.id = s.id and w.due is not null and w.expiring is null)
      and (g.on_timeout is distinct from 'i' or g.deadline > now())
    union all
    select s.rn, 'depends on id ' || g.provider || ', which does not exist'
    from scylla.task_gate g join scylla.task_spec s on s.id = g.task
    left join scylla.task_outcome o on o.id = g.task
    left join scylla.task_spec t on t.id = g.provider left join scylla.task_plan p on p.id = g.provider
    where o.id is null and t.id is null and p.id is null
      and not exists (select from scylla.task_condition_end e where e.id = g.provider)
      and not exists (select from scylla.task_callback c where c.id = g.provider)
      and not exists (select from scylla.signal_condition c where c.id = g.provider)
      and not exists (select from scylla.resource_pool c where c.id = g.provider)
    union all
    select s.rn, 'is in the line of a pool but is not waiting, or waits for something else'
    from scylla.pool_line l left join scylla.task_spec s on s.id = l.task
    where not exists (select from scylla.task_waiting w where w.id = l.task and w.due is null)
       or not exists (select from scylla.task_gate g where g.task = l.task and g.provider = l.pool and g.kind = 'r')
    union all
    select s.rn, 'holds something of a pool but is not live'
    from scylla.task_reservation r left join scylla.task_spec s on s.id = r.task
    where not exists (select from scylla.task_ready t where t.id = r.task union all select from scylla.task_lease t where t.id = r.task
                      union all select from scylla.task_waiting t where t.id = r.task)
    union all
    select s.rn, 'needs pools and is ' || t.state || ' but holds nothing of them'
    from scylla.task_spec s
    join (select id, 'ready' as state from scylla.task_ready union all select id, 'running' from scylla.task_lease) t using (id)
    where s.needs is not null and not exists (select from scylla.task_reservation r where r.task = s.id)
    union all
    select s.rn, 'holds what is not there: id ' || r.pool || ' is no pool'
    from scylla.task_reservation r join scylla.task_spec s on s.id = r.task
    where not exists (select from scylla.resource_pool p where p.id = r.pool)
    union all
    -- What was placed before the capacity was changed may exceed it. Nothing is placed before there is room again.
    select null, 'tasks hold ' || h.held || ' of ' || h.resource || ' of pool ' || p.name || ', which has ' ||
                 coalesce(p.capacity ->> h.resource, '0')
    from (select r.pool, e.key as resource, sum(e.value::numeric) as held, max(r.version) as version
          from scylla.task_reservation r cross join lateral jsonb_each_text(r.amounts) e where e.value::numeric > 0
          group by r.pool, e.key) h
    join scylla.resource_pool p on p.id = h.pool
    where h.held > coalesce((p.capacity ->> h.resource)::numeric, 0) and h.version >= p.version
    union all
    select distinct null, 'there are changes of pool ' || c.pool || ', which does not exist'
    from scylla.pool_change c where c.pool not in (select id from scylla.resource_pool)
    union all
    select null, 'the condition on signal ' || c.name || ' with id ' || c.id || ' waits, and has ended'
    from scylla.signal_condition c join scylla.task_condition_end e using (id)
    union all
    select s.rn, 'has ' || coalesce(s.gates, 0) || ' gates, but ' || coalesce(g.n, 0) || ' in task_gate'
    from scylla.task_spec s left join (select task, count(*) as n from scylla.task_gate group by task) g on g.task = s.id
    where coalesce(s.gates, 0) <> coalesce(g.n, 0)
    union all
    select null, 'id ' || m.id || ' keeps a state or answers but is not in task_spec'
    from scylla.task_memo m left join scylla.task_spec s using (id) where s.id is null
    union all
    select null, 'id ' || c.id || ' is in task_check but is no check'
    from scylla.task_check c left join scylla.task_spec s using (id) where s.is_check is not true
    union all
    select s.rn, 'is a live check that nobody can join: it is not in task_check'
    from scylla.task_spec s where s.is_check and not exists (select from scylla.task_outcome o where o.id = s.id)
      and not exists (select from scylla.task_check c where c.id = s.id)
    union all
    select s.rn, 'waits for check ' || g.provider || ', which is another kind of task'
    from scylla.task_gate g join scylla.task_spec s on s.id = g.task join scylla.task_spec t on t.id = g.provider
    where (g.kind = 'k') and t.is_check is not true
    union all
    select null, 'id ' || g.task || ' has a gate but is not in task_spec'
    from scylla.task_gate g left join scylla.task_spec s on s.id = g.task where s.id is null
    union all
    select s.rn, 'belongs to plan ' || s.plan || ', but has no gate of it'
    from scylla.task_spec s
    where s.plan is not null and not exists (select from scylla.task_gate g where g.task = s.id and g.provider = s.plan)
    union all
    select s.rn, 'is live in plan ' || p.name || ', which is finished'
    from scylla.task_spec s join scylla.task_plan p on p.id = s.plan left join scylla.task_outcome o on o.id = s.id
    where p.finished is not null and o.id is null
    union all
    select null, 'plan ' || p.name || ' is open and has no live task, but is not finished'
    from scylla.task_plan p
    where p.opened is not null and p.finished is null and p.maker is distinct from 'w'
      and not exists (select from scylla.task_gate g left join scylla.task_outcome o on o.id = g.task
                      where g.provider = p.id and o.id is null)
    union all
    select s.rn, 'is live without its deduplication key "' || s.dedup_key || '" in task_dedup'
    from scylla.task_spec s left join scylla.task_outcome o using (id)
    left join scylla.task_dedup d on d.id = s.id and d.queue = s.queue and d.key = s.dedup_key
    -- One that has run may have given its key to a later task (on_duplicate => 'replace').
    left join scylla.task_ready r on r.id = s.id left join scylla.task_waiting w on w.id = s.id
    where s.dedup_key is not null and o.id is null and d.id is null and coalesce(r.attempt, w.attempt) = 0
    union all
    -- That of a task that has ended is harmless, and goes with the task.
    select s.rn, 'never had the deduplication key "' || d.key || '" that task_dedup keeps for id ' || d.id
    from scylla.task_dedup d left join scylla.task_spec s using (id)
    where s.id is null or s.queue <> d.queue or s.dedup_key is distinct from d.key
    union all
    select s.rn, 'is leased with attempt ' || l.attempt || ', progress ' || l.progress || ', timeout ' || l.timeout
    from scylla.task_lease l join scylla.task_spec s using (id)
    where l.attempt < 1 or not l.progress between 0 and 1 or l.timeout <= 0
    union all
    select s.rn, 'is leased by a worker without a name' from scylla.task_lease l join scylla.task_spec s using (id)
    where l.owner = ''
    union all
    select s.rn, 'is leased without a permit, but its queue has a limit'
    from scylla.task_lease l join scylla.task_spec s using (id) join scylla.queue q on q.id = l.queue
    where (q.max_running is not null and 'max_running' <> all (coalesce(q.pending, '{}'))
           or q.max_running_per_key is not null and 'max_running_per_key' <> all (coalesce(q.pending, '{}')))
      and l.permit is null
    union all
    select s.rn, 'is leased with the permit of key "' || l.permit || '", but its key is ' || coalesce('"' || s.key || '"', 'null')
    from scylla.task_lease l join scylla.task_spec s using (id) where l.permit <> coalesce(s.key, '')
    union all
    select s.rn, 'has the key ' || coalesce('"' || s.key || '"', 'null') || ' but task_ready says '
                 || coalesce('"' || r.key || '"', 'null')
    from scylla.task_ready r join scylla.task_spec s using (id) join scylla.queue q on q.id = r.queue
    where coalesce(r.key, '') <> coalesce(s.key, '')
       or (r.key is null and (q.max_running_per_key is not null and 'max_running_per_key' <> all (coalesce(q.pending, '{}'))
                              or q.key_weights is not null and 'key_weights' <> all (coalesce(q.pending, '{}'))
                              or q.rate_per_key is not null and 'rate_per_key' <> all (coalesce(q.pending, '{}'))))
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
    select null, format('queue "%s" belongs to role "%s", which does not exist', q.name, q.owner)
    from scylla.queue q where q.owner not in (select rolname from pg_roles)
    union all
    select null, format('plan "%s" belongs to role "%s", which does not exist', p.name, p.owner)
    from scylla.task_plan p where p.owner not in (select rolname from pg_roles)
    union all
    select null, format('trigger "%s" belongs to role "%s", which does not exist', t.name, t.owner)
    from scylla.signal_trigger t where t.owner not in (select rolname from pg_roles)
    union all
    select null, format('trigger "%s" joins %s signals, but has the places %s in signal_trigger_input', t.name, t.inputs,
                        coalesce(string_agg(i.ord::text, ', ' order by i.ord), 'of none'))
    from scylla.signal_trigger t left join scylla.signal_trigger_input i on i.trigger = t.id
    group by t.id having count(i.ord) <> t.inputs or min(i.ord) <> 1 or max(i.ord) <> t.inputs
    union all
    -- A signal that arrives while its trigger is being dropped is fresh, until the monitor removes it.
    select null, format('signal %s waits for partners in the trigger with id %s, which does not exist', a.seq, a.trigger)
    from scylla.signal_arrival a left join scylla.signal_trigger t on t.id = a.trigger where t.id is null and not a.fresh
    union all
    select null, format('signal %s waits in place %s of trigger "%s", which joins %s', a.seq, a.input, t.name, t.inputs)
    from scylla.signal_arrival a join scylla.signal_trigger t on t.id = a.trigger where a.input not between 1 and t.inputs
    union all
    -- Signals that came in several places at once are left out: which of them make a set is for model/join.h to say.
    select null, format('signals %s wait in trigger "%s", although they are a set', string_agg(a.seq::text, ', ' order by a.seq), t.name)
    from scylla.signal_arrival a join scylla.signal_trigger t on t.id = a.trigger
    group by t.id, a.digest, a.join_key
    having not bool_or(a.fresh) and count(distinct a.input) = t.inputs and count(*) = count(distinct a.seq)
    union all
    select null, format('the trigger with id %s of the failed set %s does not exist', f.trigger, f.id)
    from scylla.signal_trigger_failure f left join scylla.signal_trigger t on t.id = f.trigger where t.id is null
    union all
    select null, format('pool "%s" belongs to role "%s", which does not exist', p.name, p.owner)
    from scylla.resource_pool p where p.owner not in (select rolname from pg_roles)
    union all
    select null, format('pool "%s" is granted to role "%s", which does not exist', p.name, g.role)
    from scylla.resource_pool p,
         lateral (select unnest(p.users) union select unnest(p.reporters) union select unnest(p.admins)) g (role)
    where g.role <> 'public' and g.role not in (select rolname from pg_roles)
    union all
    select null, format('job "%s" belongs to role "%s", which does not exist', d.name, d.owner)
    from scylla.job_definition d where d.owner not in (select rolname from pg_roles)
    union all
    select null, format('job "%s" is granted to role "%s", which does not exist', d.name, g.role)
    from scylla.job_definition d, lateral unnest(d.runners) g (role)
    where g.role <> 'public' and g.role not in (select rolname from pg_roles)
    union all
    select null, format('workflow "%s" belongs to role "%s", which does not exist', h.id, h.owner)
    from scylla.workflow_head h where h.owner not in (select rolname from pg_roles)
    union all
    select null, format('workflow "%s" is granted to role "%s", which does not exist', h.id, g.role)
    from scylla.workflow_head h,
         lateral (select unnest(h.runners) union select unnest(h.viewers) union select unnest(h.admins)) g (role)
    where g.role <> 'public' and g.role not in (select rolname from pg_roles)
    union all
    select null, format('workflow "%s" has %s versions up to %s, and its latest is %s', h.id, t.count, coalesce(t.latest, 0), h.latest_version)
    from scylla.workflow_head h
    cross join lateral (select count(*), max(t.version) as latest from scylla.workflow_text t where t.workflow = h.id) t
    where t.count <> h.latest_version or t.latest is distinct from h.latest_version
    union all
    select null, format('version %s of workflow "%s", which is active, does not exist', h.active_version, h.id)
    from scylla.workflow_head h
    where h.active_version <> 0 and not exists (select from scylla.workflow_text t where t.workflow = h.id and t.version = h.active_version)
    union all
    select null, format('version %s is of workflow "%s", which does not exist', t.version, t.workflow)
    from scylla.workflow_text t where t.workflow not in (select id from scylla.workflow_head)
    union all
    select null, format('version %s of workflow "%s" is the definition of "%s"', t.version, t.workflow, t.definition ->> 'id')
    from scylla.workflow_text t where t.definition ->> 'id' is distinct from t.workflow
    union all
    select null, format('the properties of workflow "%s" are not the last of their history', h.id)
    from scylla.workflow_head h
    where h.properties is distinct from (select p.properties from scylla.workflow_properties p where p.workflow = h.id order by p.id desc limit 1)
    union all
    select distinct null, format('there is a history of the properties of workflow "%s", which does not exist', p.workflow)
    from scylla.workflow_properties p where p.workflow not in (select id from scylla.workflow_head)
    union all
    select null, format('schedule "%s" is a time trigger of workflow "%s", which %s', s.name, s.task ->> 'workflow',
                        case when h.id is null then 'does not exist' when h.active_version = 0 then 'is not active' else 'has it not' end)
    from scylla.schedule s
    left join scylla.workflow_head h on h.id = s.task ->> 'workflow'
    left join scylla.workflow_text t on t.workflow = h.id and t.version = h.active_version
    where s.task ? 'workflow' and not s.task ? 'queue'
      and ((t.definition -> 'time_triggers') @> jsonb_build_array(s.task -> 'trigger')) is not true
    union all
    select null, format('trigger "%s" is one of workflow "%s", which %s', s.name, s.action ->> 'workflow',
                        case when h.id is null then 'does not exist' when h.active_version = 0 then 'is not active' else 'has it not' end)
    from scylla.signal_trigger s
    left join scylla.workflow_head h on h.id = s.action ->> 'workflow'
    left join scylla.workflow_text t on t.workflow = h.id and t.version = h.active_version
    where s.action ? 'workflow' and s.action ? 'trigger' and not s.action ? 'queue'
      and ((t.definition -> 'signal_triggers') @> jsonb_build_array(s.action -> 'trigger')) is not true
    union all
    select null, format('workflow "%s" has had %s instances, and one of its id that was dropped %s', h.id, h.latest_instance, d.latest_instance)
    from scylla.workflow_head h join scylla.workflow_dropped d using (id) where h.latest_instance < d.latest_instance
    union all
    select null, format('job template "%s" of version "%s" belongs to role "%s", which does not exist', t.job_type, t.version, t.owner)
    from scylla.job_template_text t where t.owner not in (select rolname from pg_roles)
    union all
    select null, format('the versions of job template "%s" belong to different roles', t.job_type)
    from scylla.job_template_text t group by t.job_type having count(distinct t.owner) > 1
    union all
    select null, format('job template "%s" of version "%s" is the definition of "%s" of version "%s"', t.job_type, t.version, t.definition ->> 'job_type', t.definition ->> 'version')
    from scylla.job_template_text t where (t.definition ->> 'job_type', t.definition ->> 'version') is distinct from (t.job_type, t.version)
    union all
    select null, format('job template "%s" of version "%s" inherits from "%s" of version "%s", which does not exist', t.job_type, t.version, p.key, p.value)
    from scylla.job_template_text t cross join lateral jsonb_each_text(t.definition -> 'inherit_from') p
    where not exists (select from scylla.job_template_text o where o.job_type = p.key and o.version = p.value)
    union all
    select null, format('job template "%s" of version "%s" inherits from itself', t.job_type, t.version)
    from scylla.job_template_text t
    where exists (
        with recursive family (job_type, version) as (
            select p.key, p.value from jsonb_each_text(t.definition -> 'inherit_from') p
            union
            select p.key, p.value from family f join scylla.job_template_text o on o.job_type = f.job_type and o.version = f.version
            cross join lateral jsonb_each_text(o.definition -> 'inherit_from') p)
        select from family f where f.job_type = t.job_type and f.version = t.version)
    union all
    select null, format('job "%s" needs job "%s", which does not exist', d.name, n ->> 'job')
    from scylla.job_definition d, lateral jsonb_array_elements(d.needs) n
    where n ->> 'job' not in (select name from scylla.job_definition)
    union all
    select null, format('the plan with id %s of a run of job "%s" does not exist', r.plan, r.name)
    from scylla.job_run r where r.plan not in (select id from scylla.task_plan)
    union all
    select null, format('the chunk of task %s belongs to a run with id %s, which does not exist', c.task, c.plan)
    from scylla.job_chunk c where c.plan not in (select plan from scylla.job_run)
    union all
    -- Two definitions at the same time can do that. Arrays, because the server makes room for all rows that it expects of a union:
    -- 100 of a function, but 10 of an array, to the power of the joins.
    select null, format('job "%s" needs itself', d.name)
    from scylla.job_definition d
    where exists (
        with recursive needed (job) as (
            select unnest(array(select n ->> 'job' from jsonb_array_elements(d.needs) n))
            union
            select unnest(array(select n ->> 'job' from jsonb_array_elements(o.needs) n))
            from needed join scylla.job_definition o on o.name = needed.job)
        select from needed where needed.job = d.name)
    union all
    select null, format('plan "%s" is a run of job "%s", but was not made by it', p.name, r.name)
    from scylla.job_run r join scylla.task_plan p on p.id = r.plan where p.maker is distinct from 'j'
    union all
    select null, format('plan "%s" was made by a job, but is no run', p.name)
    from scylla.task_plan p where p.maker = 'j' and p.id not in (select plan from scylla.job_run)
    union all
    -- Tasks that have ended can be removed before their plan.
    select s.rn, case when s.id is null then format('the task with id %s of plan "%s", for ids of a job, does not exist', c.task, p.name)
                      else format('belongs to plan %s, but is for ids of a job in plan %s', coalesce(s.plan::text, 'none'), c.plan) end
    from scylla.job_chunk c join scylla.task_plan p on p.id = c.plan left join scylla.task_spec s on s.id = c.task
    where s.plan is distinct from c.plan and (s.id is not null or p.finished is null)
    union all
    select null, format('the task with id %s is for the ids %s of a job, of which its run has %s', c.task, c.ids, c.ids * r.ids)
    from scylla.job_chunk c join scylla.job_run r on r.plan = c.plan where isempty(c.ids) or not c.ids <@ r.ids
    union all
    select null, format('the task with id %s is for variant "%s" of a job, its run for "%s"', c.task, c.variant, r.variant)
    from scylla.job_chunk c join scylla.job_run r on r.plan = c.plan where c.variant <> r.variant
    union all
    select null, format('success %s of the job with id %s is for the ids %s', s.id, s.job, s.ids)
    from scylla.job_success s where isempty(s.ids) or lower_inf(s.ids) or upper_inf(s.ids)
    union all
    select null, format('the plan with id %s of run %s/%s/%s of a workflow does not exist, or was not made by it', r.plan, r.workflow, r.instance, r.run)
    from scylla.workflow_run_state r left join scylla.task_plan p on p.id = r.plan where p.maker is distinct from 'w'
    union all
    select null, format('plan "%s" was made by a workflow, but is no run', p.name)
    from scylla.task_plan p where p.maker = 'w' and p.id not in (select plan from scylla.workflow_run_state union all select plan from scylla.workflow_run_past)
    union all
    select null, format('run %s/%s/%s of a workflow is %s, but its plan is %s', r.workflow, r.instance, r.run, r.status,
                        case when p.finished is null then 'not finished' else 'finished' end)
    from scylla.workflow_run_state r join scylla.task_plan p on p.id = r.plan
    where (r.ended is null) <> (p.finished is null) or (r.ended is null) <> (r.status in ('CREATED', 'IN_PROGRESS', 'PAUSED'))
    union all
    select null, format('the plan with id %s of run %s/%s/%s of a workflow, which has run again, does not exist, is not finished, or was not made by it',
                        r.plan, r.workflow, r.instance, r.run)
    from scylla.workflow_run_past r left join scylla.task_plan p on p.id = r.plan where p.maker is distinct from 'w' or p.finished is null
    union all
    select null, format('the plan with id %s is not that of run %s of instance %s', r.plan, r.run, r.id)
    from scylla.workflow_run_state r
    where case when r.run = 1 then r.plan <> r.id else not exists (select from scylla.workflow_plan w where w.plan = r.plan and w.root = r.id) end
    union all
    select null, format('plan %s belongs to instance %s of a workflow, which does not exist', w.plan, w.root)
    from scylla.workflow_plan w where w.root not in (select id from scylla.workflow_run_state)
    union all
    select null, format('attempt %s of step %s in scope %s of a workflow is not before that which the step has', a.attempt, a.step, a.scope)
    from scylla.workflow_attempt a left join scylla.workflow_step_state s on s.scope = a.scope and s.step = a.step
    where s.scope is null or a.attempt > s.attempt or (a.attempt = s.attempt and s.status <> 'NOT_CREATED')
    union all
    select null, format('step %s in scope %s belongs to run %s of a workflow, which %s', s.step, s.scope, s.root,
                        case when r.id is null then 'does not exist' else 'has ended, but the step has not' end)
    from scylla.workflow_step_state s left join scylla.workflow_run_state r on r.id = s.root
    where r.id is null or (r.ended is not null and s.ended is null)
    union all
    select null, format('iteration %s of step %s belongs to run %s of a workflow, which %s', i.number, i.step, i.root,
                        case when r.id is null then 'does not exist' else 'has ended, but the iteration has not' end)
    from scylla.workflow_iteration i left join scylla.workflow_run_state r on r.id = i.root
    where r.id is null or (r.ended is not null and i.ended is null)
    union all
    select null, format('loop %s in scope %s of a workflow says that its leaves are %s, but they are %s', step, scope, coalesce(kept.counts, '{}'), coalesce(found.counts, '{}'))
    from (select s.scope, s.step, jsonb_object_agg(m.key, (m.value ->> 'cnt')::bigint) as counts
          from scylla.workflow_step_state s
          cross join lateral jsonb_each(s.rollup) m
          where m.key <> 'NOT_CREATED' and not exists (select from scylla.workflow_iteration i where i.id = s.scope and i.past)
          group by s.scope, s.step) kept
    full join (select c.scope, c.step, jsonb_object_agg(c.status, c.count) as counts
               from (select i.parent as scope, i.step, p.status, sum(p.count) as count
                     from scylla.workflow_iteration i
                     join scylla.workflow_step_state l on l.scope = i.parent and l.step = i.step and l.loop is not null
                     join scylla.workflow_step_state s on s.scope = i.id
                     cross join lateral (select s.status, 1 as count where s.rollup is null
                                         union all select m.key, (m.value ->> 'cnt')::bigint from jsonb_each(s.rollup) m) p
                     where not i.past and p.status <> 'NOT_CREATED'
                     group by i.parent, i.step, p.status) c
               group by c.scope, c.step) found using (scope, step)
    where kept.counts is distinct from found.counts
    union all
    select null, format('run %s/%s/%s of a workflow goes on, but nothing of it is live', r.workflow, r.instance, r.run)
    from scylla.workflow_run_state r
    where r.status = 'IN_PROGRESS' and not exists (select from scylla.workflow_agenda a where a.root in (r.id, r.plan))
      and not exists (select from scylla.workflow_step_state s where s.root = r.id and (s.ended is null or s.due is not null))
    union all
    select null, format('a run of version %s of workflow "%s" has a step "%s", which the version does not have', d.version, d.workflow, d.step)
    from (select distinct t.workflow, t.version, s.step
          from scylla.workflow_step_state s
          join scylla.workflow_run_state r on r.id = s.root
          join scylla.workflow_text t on t.workflow = r.workflow and t.version = r.version and t.created <= r.created) d
    join scylla.workflow_text t using (workflow, version)
    where not jsonb_path_exists(t.definition, '$.steps.**.id ? (@ == $step)', jsonb_build_object('step', d.step))
    union all
    select null, format('step %s in scope %s of run %s of a workflow waits for a task that has ended', s.step, s.scope, s.root)
    from scylla.workflow_step_state s join scylla.task_outcome o on o.id = s.task
    where s.ended is null and not exists (select from scylla.workflow_agenda a where a.root = s.root)
      and not exists (select from scylla.workflow_agenda a join scylla.workflow_plan w on w.plan = a.root where w.root = s.root)
    union all
    select null, format('something is on the agenda of run %s of a workflow, which does not exist', a.root)
    from scylla.workflow_agenda a where a.root not in (select id from scylla.workflow_run_state union all select plan from scylla.workflow_plan)
    union all
    select null, format('item %s is of backfill %s, which does not exist', i.number, i.backfill)
    from scylla.workflow_backfill_item_state i where i.backfill not in (select id from scylla.workflow_backfill_state)
    union all
    select null, format('backfill %s is of workflow "%s", which does not exist', b.id, b.workflow)
    from scylla.workflow_backfill_state b where b.workflow not in (select id from scylla.workflow_head)
    union all
    select null, format('backfill %s goes on, but nothing of it is live', b.id)
    from scylla.workflow_backfill_state b
    where b.ended is null and not b.paused
      and not exists (select from scylla.workflow_backfill_item_state i join scylla.workflow_run_state r on r.id = i.run
                      where i.backfill = b.id and i.state = 'STARTED'
                        and (r.ended is null or exists (select from scylla.workflow_agenda a where a.root = r.id and a.kind = 'backfill')))
      and not exists (select from scylla.workflow_agenda a where a.kind = 'backfill' and (a.data ->> 'backfill')::bigint = b.id)
    union all
    select null, format('step "%s" of workflow "%s" stops at a breakpoint, and the workflow does not exist', b.step, b.workflow)
    from scylla.workflow_hold b where b.workflow not in (select id from scylla.workflow_head)
    union all
    select null, format('step %s in scope %s of run %s of a workflow is %s, and nothing holds it back', s.step, s.scope, s.root, s.status)
    from scylla.workflow_step_state s join scylla.workflow_run_state r on r.id = s.root
    where s.status in ('INITIALIZED', 'WAITING_FOR_SIGNALS') and s.due is null
      and not exists (select from scylla.workflow_hold b where b.workflow = r.workflow and b.kind = 'workflow')
      and not exists (select from scylla.workflow_agenda a where a.root = s.root)
      and not exists (select from scylla.workflow_agenda a join scylla.workflow_plan w on w.plan = a.root where w.root = s.root)
      and not exists (select from scylla.workflow_wait w where w.root = s.root and w.scope = s.scope and w.step = s.step and w.attempt = s.attempt)
    union all
    select null, format('step %s in scope %s of run %s of a workflow waits for its signal %s, which has come or is not waited for', s.step, s.scope, s.root, m.number - 1)
    from scylla.workflow_step_state s
    cross join lateral jsonb_array_elements(s.signals) with ordinality m (value, number)
    where s.status = 'WAITING_FOR_SIGNALS' and m.value ->> 'status' = 'PENDING'
      and not exists (select from scylla.workflow_wait w where w.root = s.root and w.scope = s.scope and w.step = s.step and w.attempt = s.attempt and w.number = m.number - 1)
      and not exists (select from scylla.workflow_agenda a where a.root = s.root)
      and not exists (select from scylla.workflow_agenda a join scylla.workflow_plan w on w.plan = a.root where w.root = s.root)
    union all
    select null, format('the condition on signal %s with id %s is of a step that does not wait for it', c.name, c.id)
    from scylla.signal_condition c where c.of_step and c.id not in (select id from scylla.workflow_wait)
    union all
    select null, format('step %s in scope %s of run %s of a workflow waits for condition %s, which does not exist or is of gates', w.step, w.scope, w.root, w.id)
    from scylla.workflow_wait w where not exists (select from scylla.signal_condition c where c.id = w.id and c.of_step)
    union all
    -- What was left because a transaction was sending the signal is removed after a day.
    select null, format('step %s in scope %s of run %s of a workflow has left condition %s behind', w.step, w.scope, w.root, w.id)
    from scylla.workflow_wait w
    where w.created < now() - interval '2 days'
      and not exists (select from scylla.workflow_step_state s where s.scope = w.scope and s.step = w.step and s.attempt = w.attempt and s.status = 'WAITING_FOR_SIGNALS')
    union all
    select null, format('action %s of a workflow is of run %s, which does not exist', a.id, a.root)
    from scylla.workflow_action_state a where a.root not in (select id from scylla.workflow_run_state)
    union all
    select null, format('action %s of a workflow is %s', a.id, case when a.done is null then 'not done, and not on the agenda' else 'done, and on the agenda' end)
    from scylla.workflow_action_state a where (a.done is null) <> (a.id in (select action from scylla.workflow_agenda where action is not null))
    union all
    select null, format('queue "%s" is granted to role "%s", which does not exist', q.name, g.role)
    from scylla.queue q,
         lateral (select unnest(q.submitters) union select unnest(q.workers)
                  union select unnest(q.viewers) union select unnest(q.admins) union select unnest(q.dependers)) g (role)
    where g.role <> 'public' and g.role not in (select rolname from pg_roles)
    union all
    select null, format('%s has given out %s, but the id %s is in use', 'task_id_seq', q.last_value, m.id)
    from scylla.task_id_seq q,
         (select greatest((select max(id) from scylla.task_spec), (select max(id) from scylla.task_plan),
                         (select max(id) from scylla.signal_trigger), (select max(id) from scylla.resource_pool),
                         (select max(id) from scylla.job_definition), (select max(id) from scylla.job_success),
                         (select max(id) from scylla.workflow_iteration), (select max(id) from scylla.workflow_backfill_state),
                         (select max(id) from scylla.workflow_action_state)) as id) m where m.id > q.last_value
    union all
    select null, format('%s has given out %s, but the id %s is in use', 'queue_id_seq', q.last_value, m.id)
    from scylla.queue_id_seq q, (select max(id) as id from scylla.queue) m where m.id > q.last_value;
end
$$;
comment on function scylla._check is 'What scylla.check() finds in one look.';

create or replace function scylla.check(out rn text, out problem text) returns setof record
    language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    rns text[];
    problems text[];
begin
    select array_agg(c.rn), array_agg(c.problem) into rns, problems from scylla._check() c;
    if rns is null then
        return;
    end if;
    -- What transactions leave to the monitor is there for a moment. Above READ COMMITTED a second look would see the same.
    if current_setting('transaction_isolation') in ('read committed', 'read uncommitted') then
        perform pg_sleep(0.2);
    end if;
    return query
    select c.rn, c.problem from scylla._check() c
    where exists (select from unnest(rns, problems) f (rn, problem) where f.rn is not distinct from c.rn and f.problem = c.problem);
end
$$;
comment on function scylla.check is
'Checks the invariants of the tables: one row per violation, so no rows means no problem. Looks a second time before it reports one.
Reads every task. Always write it with its schema: CHECK is a reserved word.';

