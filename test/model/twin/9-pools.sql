-- Pools: what tasks need, and where they fit

-- ---------------------------------------------------------------------------------------------------------------
-- Needs
-- ---------------------------------------------------------------------------------------------------------------

create function twin.check_amount(name text, resource text, value jsonb) returns void language plpgsql as $$
begin
    perform twin.check_argument(name, octet_length(resource) between 1 and 63, 'The name of a resource must have 1 to 63 bytes.');
    perform twin.check_argument(name, jsonb_typeof(value) = 'number', 'An amount must be a number.');
    perform twin.check_argument(name, value::numeric >= 0 and value::numeric < 1e15 and value::numeric = round(value::numeric, 3),
                                'It must have at most 15 digits before and 3 after the point.');
end $$;

create function twin.check_amounts(name text, amounts jsonb) returns void language plpgsql as $$
begin
    perform twin.check_argument(name, jsonb_typeof(amounts) = 'object', 'It must be an object of amounts by resource.');
    perform twin.check_amount(name, key, value) from jsonb_each(amounts);
end $$;

create function twin.check_form_of_needs(needs jsonb) returns void language plpgsql as $$
declare
    name text;
    value jsonb;
    amounts int := 0;
begin
    perform twin.check_argument('needs', jsonb_typeof(needs) = 'object', 'It must be an object.');
    for name, value in select * from jsonb_each(needs) loop
        case jsonb_typeof(value)
        when 'object' then
            perform twin.check_amounts('needs', value);
            perform twin.check_argument('needs', value <> '{}', 'Each pool must have an amount of a resource.');
        when 'number' then
            perform twin.check_amount('needs', name, value);
            amounts := amounts + 1;
        else
            perform twin.check_argument('needs', name = 'any' and jsonb_typeof(value) = 'array', 'It must be a pool or an amount.');
            perform twin.check_argument('needs', jsonb_typeof(e) = 'string', '"any" must name pools.') from jsonb_array_elements(value) e;
        end case;
    end loop;
    perform twin.check_argument('needs', (jsonb_array_length(coalesce(needs -> 'any', '[]')) > 0) = (amounts > 0),
                                'Amounts are needed of "any", and only of it.');
    perform twin.check_argument('needs', count(*) > 0 and count(*) = count(distinct p), 'It must name pools, each once.')
    from twin.pools_in(needs) p;
end $$;

create function twin.known_pool(name text) returns twin.pool language plpgsql as $$
declare
    p twin.pool;
begin
    select * into p from twin.pool e where e.name = known_pool.name;
    if p.name is null then
        perform twin.refuse('42704', 'pool', 'exists', format('pool "%s" does not exist', name));
    end if;
    return p;
end $$;

-- Whether a pool could ever give so much. A capacity of 0 lets tasks wait.
create function twin.could_serve(p twin.pool, resource text, amount numeric) returns boolean language sql as $$
    select coalesce((p.capacity -> resource)::numeric = 0 or (p.capacity -> resource)::numeric >= amount, false);
$$;

-- Pool by pool, in the order of the document; of "any" one is enough.
create function twin.check_needs(needs jsonb) returns void language plpgsql as $$
declare
    its_pool twin.pool;
    its_name text;
begin
    if needs is null then
        return;
    end if;
    perform twin.check_form_of_needs(needs);
    for its_name in select n from twin.pools_in(needs) n loop
        its_pool := twin.known_pool(its_name);
        perform twin.check_argument('needs', bool_and(twin.could_serve(its_pool, e.key, e.value::numeric)), 'The pool has not so much.')
        from (select needs -> its_name as amounts where jsonb_typeof(needs -> its_name) = 'object') o cross join lateral jsonb_each_text(o.amounts) e
        having count(*) > 0;
    end loop;
    perform twin.check_argument('needs', exists (
        select from twin.ways(needs) w join twin.pool o on o.name = w.pool
        group by w.n having bool_and(twin.could_serve(o, w.resource, w.amount))), 'No pool has so much.');
end $$;

-- ---------------------------------------------------------------------------------------------------------------
-- Pools
-- ---------------------------------------------------------------------------------------------------------------

create function twin.check_policy(policy text) returns void language sql as $$
    select twin.check_argument('policy', policy in ('strict', 'greedy', 'backfill'), 'It must be strict, greedy or backfill.');
$$;

-- A setting that is named has the new value, or with null its default; the others stay.
create function twin.altered_pool(p twin.pool, changes jsonb, may_change text[]) returns twin.pool language plpgsql as $$
declare
    name text;
    value jsonb;
begin
    for name, value in select * from jsonb_each(changes) loop
        perform twin.check_argument('changes', name = any (may_change), 'There is no such setting.');
        case name
        when 'capacity' then
            perform twin.check_amounts(name, value);
            p.capacity := value;
        when 'policy' then
            p.policy := coalesce(twin.element_value(changes, name, 'string'), 'backfill');
            perform twin.check_policy(p.policy);
        when 'max_bypass' then
            p.max_bypass := coalesce(twin.element_int(changes, name), 100);
            perform twin.check_argument(name, p.max_bypass >= 0, 'It must not be negative.');
        else
            p.metrics_max_age := case when value <> 'null' then twin.member_interval(value, name) end;
            perform twin.check_timeout(name, p.metrics_max_age);
        end case;
    end loop;
    return p;
end $$;

create function twin.check_new_pool_name(pool text) returns void language plpgsql as $$
begin
    perform twin.check_name('pool', pool);
    perform twin.check_argument('pool', not starts_with(pool, 'workflow:'), 'Such names are for workflows.');
end $$;

create function twin.create_pool(pool text, capacity jsonb, policy text default 'backfill', settings jsonb default '{}')
    returns void language plpgsql as $$
declare
    p twin.pool := row(pool, capacity, coalesce(policy, 'backfill'), 100, null, false, null, null, null, 0);
begin
    settings := coalesce(settings, '{}');
    perform twin.check_new_pool_name(pool);
    perform twin.check_argument('settings', jsonb_typeof(settings) = 'object', 'It must be an object.');
    p := twin.altered_pool(p, settings, '{max_bypass,metrics_max_age}');
    perform twin.check_amounts('capacity', capacity);
    perform twin.check_policy(p.policy);
    if exists (select from twin.pool e where e.name = pool) then
        perform twin.refuse('42710', 'pool', 'unique', format('pool "%s" already exists', pool));
    end if;
    insert into twin.pool select p.*;
end $$;

create function twin.alter_pool(pool text, changes jsonb) returns void language plpgsql as $$
declare
    p twin.pool;
begin
    perform twin.check_argument('changes', jsonb_typeof(changes) = 'object', 'It must be an object.');
    perform twin.altered_pool(p, changes, '{capacity,policy,max_bypass,metrics_max_age}');
    perform twin.check_new_pool_name(pool);
    p := twin.altered_pool(twin.known_pool(pool), changes, '{capacity,policy,max_bypass,metrics_max_age}');
    update twin.pool e
    set capacity = p.capacity, policy = p.policy, max_bypass = p.max_bypass, metrics_max_age = p.metrics_max_age where e.name = p.name;
end $$;

create function twin.drop_pool(pool text) returns void language plpgsql as $$
begin
    perform twin.check_name('pool', pool);
    perform twin.known_pool(pool);
    if exists (select from twin.task t where twin.is_live(t) and pool in (select twin.pools_in(t.needs))) then
        perform twin.refuse('2BP01', 'pool', 'needed', format('pool "%s" is needed by tasks that have not ended', pool));
    end if;
    delete from twin.pool p where p.name = drop_pool.pool;
end $$;

create function twin.drain_pool(pool text) returns void language plpgsql as $$
begin
    perform twin.check_name('pool', pool);
    perform twin.known_pool(pool);
    update twin.pool p set drained = true where p.name = drain_pool.pool;
end $$;

create function twin.resume_pool(pool text) returns void language plpgsql as $$
begin
    perform twin.check_name('pool', pool);
    perform twin.known_pool(pool);
    update twin.pool p set drained = false where p.name = resume_pool.pool;
end $$;

-- What was measured last counts.
create function twin.report_usage(pool text, used jsonb, at timestamptz default null) returns void language plpgsql as $$
declare
    p twin.pool;
begin
    at := coalesce(at, clock_timestamp());
    perform twin.check_amounts('used', used);
    perform twin.check_argument('at', isfinite(at) and at <= clock_timestamp(), 'It must not be in the future.');
    perform twin.check_name('pool', pool);
    p := twin.known_pool(pool);
    perform twin.check_argument('used', p.capacity ? key, 'The pool has no such resource.') from jsonb_object_keys(used) key;
    if p.reported_at >= at then
        return;
    end if;
    update twin.pool e set reported = used, reported_at = at where e.name = p.name;
end $$;

-- ---------------------------------------------------------------------------------------------------------------
-- Placing
-- ---------------------------------------------------------------------------------------------------------------

create function twin.is_stale(p twin.pool) returns boolean language sql as $$
    select p.metrics_max_age is not null and coalesce(p.reported_at + p.metrics_max_age < clock_timestamp(), true);
$$;

-- Of each resource of each pool: what tasks hold, and what is free. That is the capacity without the larger of two amounts: what tasks
-- hold, and what was reported with what has been placed since.
create view twin.free as
    select p.name as pool, c.key as resource, c.value::numeric as capacity, h.reserved,
           c.value::numeric - greatest(h.reserved, coalesce((p.reported ->> c.key)::numeric, 0) + h.later) as amount
    from twin.pool p
    cross join lateral jsonb_each_text(p.capacity) c
    cross join lateral (
        select coalesce(sum((r.amounts ->> c.key)::numeric), 0) as reserved,
               coalesce(sum((r.amounts ->> c.key)::numeric) filter (where r.since > p.reported_at), 0) as later
        from twin.reservation r where r.pool = p.name) h;

create view twin.pools as
    select p.name as pool, p.policy, p.drained, p.capacity, jsonb_object_agg(f.resource, f.reserved) as reserved, p.reported, p.reported_at,
           jsonb_object_agg(f.resource, f.amount) as free, twin.is_stale(p) as stale,
           (select count(*) from twin.task t where t.in_line and p.name in (select twin.pools_in(t.needs))) as waiting,
           (select count(*) from twin.reservation r where r.pool = p.name) as placed, p.max_bypass, p.metrics_max_age
    from twin.pool p join twin.free f on f.pool = p.name
    group by p.name;

-- The pools whose lines are looked at: that one, or all, and those that the tasks in their lines need too, if they keep an order.
create function twin.lines_of(pool text) returns setof text language sql as $$
    with recursive looked (name) as (
        select p.name from twin.pool p where p.name = coalesce(pool, p.name)
        union
        select p.name
        from looked l
        join twin.task t on t.in_line and l.name in (select twin.pools_in(t.needs)) and not twin.is_paused(t.queue)
        join twin.pool p on p.policy <> 'greedy' and p.name in (select twin.pools_in(t.needs)))
    select name from looked;
$$;

-- Highest priority first, then oldest first. The tasks of a paused queue are passed over.
create function twin.line_up(pool text, moment timestamptz) returns void language sql as $$
    select twin.begin_placing();
    insert into twin.run_end
    select r.pool, e.key, r.ends, e.value::numeric from twin.reservation r cross join lateral jsonb_each_text(r.amounts) e
    where r.ends is not null;
    insert into twin.earlier_head select p.name, p.head, p.passed from twin.pool p where p.head is not null;
    insert into twin.line
    select row_number() over (order by twin.effective_priority(t, moment) desc, t.created, t.id), t.id, t.needs, t.runtime
    from twin.task t
    where t.in_line and not twin.is_paused(t.queue)
      and exists (select from twin.pools_in(t.needs) n join twin.lines_of(line_up.pool) l on l = n);
    -- There is nothing of a resource that was taken away from a pool while tasks wait for it.
    insert into twin.left_over
    select p.name, n.resource, coalesce(f.capacity, 0), coalesce(f.amount, 0), p.policy, p.max_bypass, p.drained or twin.is_stale(p)
    from (select pool, resource from twin.free
          union
          select w.pool, w.resource from twin.line l cross join lateral twin.ways(l.needs) w) n
    join twin.pool p on p.name = n.pool left join twin.free f on f.pool = n.pool and f.resource = n.resource;
$$;

create function twin.place(pool text default null, out rn text, out chosen text) returns setof record language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
    placed record;
    t twin.task;
begin
    if pool is not null then
        perform twin.check_name('pool', pool);
        perform twin.known_pool(pool);
    end if;
    perform twin.line_up(pool, moment);
    for placed in select * from twin.place_line(moment) p where p.way is not null loop
        select * into t from twin.task e where e.id = placed.task;
        insert into twin.reservation
        select t.id, w.pool, jsonb_object_agg(w.resource, w.amount), moment, moment + t.runtime, w.pool is not distinct from placed.chosen
        from twin.ways(t.needs) w where w.n = placed.way group by w.pool;
        t := twin.startable(t);
        t.updated := moment;
        perform twin.stored(t);
        rn := t.rn;
        chosen := placed.chosen;
        return next;
    end loop;
    if found then
        update twin.pool p set head = h.task, passed = h.passed from twin.head h where h.pool = p.name and h.passed > 0;
    end if;
end $$;
