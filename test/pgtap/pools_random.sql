-- Pools against a readable second implementation: random steps, and what each place() places is what going through the tasks one by one
-- says, with expected runtimes and backfilling. (The model alone is held against another one in test/unit/placement_test.cpp.)
begin;
\ir include/helpers.psql
select * from no_plan();

create temp table left_over (pool text, resource text, capacity numeric, amount numeric, policy text, max_bypass int, closed boolean, stopped boolean);
create temp table run_end (pool text, resource text, at timestamptz, amount numeric);
create temp table head (pool text, task bigint, start timestamptz, passed bigint);
create temp table head_need (pool text, resource text, amount numeric);
create temp table tally (what text);

-- What is free, and what will be, from what the tables hold.
create function find_left_over() returns void language sql as $$
    truncate left_over, run_end, head, head_need;
    insert into left_over
    select p.name, c.key, c.value::numeric,
           c.value::numeric - greatest(coalesce(sum((r.amounts ->> c.key)::numeric), 0),
               coalesce((u.used ->> c.key)::numeric, 0) + coalesce(sum((r.amounts ->> c.key)::numeric) filter (where r.since > u.at), 0)),
           p.policy, p.max_bypass, p.drained, false
    from scylla.resource_pool p cross join lateral jsonb_each_text(p.capacity) c
    left join lateral (select at, used from scylla.pool_report r where r.pool = p.id order by at desc limit 1) u on true
    left join scylla.task_reservation r on r.pool = p.id
    group by p.name, c.key, c.value, u.used, u.at, p.policy, p.max_bypass, p.drained;
    insert into run_end
    select p.name, e.key, r.ends, e.value::numeric
    from scylla.task_reservation r join scylla.resource_pool p on p.id = r.pool cross join lateral jsonb_each_text(r.amounts) e
    where r.ends is not null;
$$;

-- The ways to meet needs: each all that is taken together.
create function ways(needs jsonb) returns table (n bigint, chosen text, pool text, resource text, amount numeric) language sql as $$
    select w.n, w.chosen, x.pool, x.resource, x.amount
    from (select a.n, a.pool as chosen from jsonb_array_elements_text(needs -> 'any') with ordinality a (pool, n)
          union all
          select 1, case when (select count(*) from jsonb_object_keys(needs)) = 1 then (select k from jsonb_object_keys(needs) k) end
          where not needs ? 'any') w,
         lateral (select k.key as pool, e.key as resource, e.value::numeric as amount
                  from jsonb_each(needs) k cross join lateral jsonb_each_text(k.value) e where jsonb_typeof(k.value) = 'object'
                  union all
                  select w.chosen, k.key, k.value::text::numeric from jsonb_each(needs) k where jsonb_typeof(k.value) = 'number') x;
$$;

create function free_at(of_pool text, of_resource text, moment timestamptz) returns numeric language sql as $$
    select l.amount + coalesce((select sum(e.amount) from run_end e where e.pool = l.pool and e.resource = l.resource and e.at <= moment), 0)
    from left_over l where l.pool = of_pool and l.resource = of_resource
$$;

-- Why the head of the pool forbids it to take so much: null: it does not.
create function disturbs(of_pool text, of_resource text, needed numeric, ends timestamptz) returns text language sql as $$
    select case when h.start is null then case when h.passed >= l.max_bypass then 'kept for the head' end
                when coalesce(ends > h.start, true) and free_at(of_pool, of_resource, h.start) - needed < n.amount then 'would delay the head' end
    from head h join head_need n using (pool) join left_over l using (pool, resource)
    where h.pool = of_pool and n.resource = of_resource and n.amount > 0 and needed > 0
$$;

create function is_possible(needs jsonb, way bigint) returns boolean language sql as $$
    select bool_and(coalesce(not l.closed and w.amount <= l.capacity, false))
    from ways(needs) w left join left_over l using (pool, resource) where w.n = way
$$;

-- When all of it will be free; null: that cannot be planned.
create function plan_start(needs jsonb, way bigint, moment timestamptz) returns timestamptz language sql as $$
    select min(t.at) from (select moment union select greatest(at, moment) from run_end) t (at)
    where not exists (select from ways(needs) w join left_over l using (pool, resource)
                      where w.n = way and w.amount > 0 and w.amount > greatest(free_at(w.pool, w.resource, t.at), l.amount))
$$;

-- It waits for room where it could be served: that stops the pools that keep the order, and makes it the head, where it can start first, of
-- the pools that plan and have none.
create function stay(id bigint, needs jsonb, moment timestamptz) returns void language plpgsql as $$
declare
    way record;
    best bigint;
    best_start timestamptz;
    start timestamptz;
begin
    for way in select w.n, bool_or(l.policy = 'backfill' and not exists (select from head h where h.pool = w.pool)) as plannable,
                      bool_or(w.amount > 0 and w.amount > l.amount) as lacks, bool_or(l.stopped) as behind
               from ways(needs) w join left_over l using (pool, resource) where is_possible(needs, w.n) group by w.n order by w.n loop
        continue when not way.plannable;
        start := case when way.lacks and not way.behind then plan_start(needs, way.n, moment) end;
        if best is null or coalesce(start, 'infinity') < coalesce(best_start, 'infinity') then
            best := way.n;
            best_start := start;
        end if;
    end loop;
    update left_over o set stopped = true
    where o.policy = 'strict' and o.pool in (select w.pool from ways(needs) w where is_possible(needs, w.n));
    with new_heads as (
        insert into head
        select distinct w.pool, stay.id, best_start,
               coalesce((select h.passed from scylla.pool_head h join scylla.resource_pool p on p.id = h.pool where p.name = w.pool and h.task = stay.id), 0)
        from ways(needs) w join left_over l using (pool, resource)
        where w.n = best and l.policy = 'backfill' and not exists (select from head h where h.pool = w.pool)
        returning pool)
    insert into head_need select w.pool, w.resource, w.amount from ways(needs) w where w.n = best and w.pool in (select pool from new_heads);
end $$;

create function should_be_placed() returns table (rn text, chosen text) language plpgsql as $$
declare
    task record;
    way record;
    found boolean;
    moment timestamptz := clock_timestamp();
    ends timestamptz;
begin
    perform find_left_over();
    for task in select distinct s.rn, s.needs, s.priority, s.created, s.id, l.runtime from scylla.pool_line l join scylla.task_spec s on s.id = l.task
                join scylla.queue q on q.id = s.queue where not q.paused order by s.priority desc, s.created, s.id loop
        found := false;
        ends := moment + task.runtime * interval '1 microsecond';
        for way in select w.n, w.chosen, bool_and(coalesce((w.amount = 0 or w.amount <= l.amount) and not l.stopped, false)) as fits,
                          min(disturbs(w.pool, w.resource, w.amount, ends)) as disturbs
                   from ways(task.needs) w left join left_over l using (pool, resource)
                   where is_possible(task.needs, w.n) group by w.n, w.chosen order by w.n loop
            if way.fits and way.disturbs is not null then
                insert into tally values (way.disturbs);
            end if;
            continue when found or not way.fits or way.disturbs is not null;
            found := true;
            update left_over l set amount = l.amount - w.amount
            from ways(task.needs) w where w.n = way.n and w.pool = l.pool and w.resource = l.resource;
            insert into run_end select w.pool, w.resource, ends, w.amount from ways(task.needs) w where w.n = way.n and ends is not null;
            update head h set passed = passed + 1 where h.pool in (select w.pool from ways(task.needs) w where w.n = way.n);
            rn := task.rn;
            chosen := way.chosen;
            return next;
        end loop;
        if not found then
            perform stay(task.id, task.needs, moment);
        end if;
    end loop;
end $$;

create function one_of(from_what text[]) returns text language sql volatile as $$
    select from_what[1 + floor(random() * cardinality(from_what))::int]
$$;
create function some_amounts() returns jsonb language sql volatile as $$
    select case when random() < 0.5 then jsonb_build_object('a', floor(random() * 5)) when random() < 0.5 then jsonb_build_object('b', floor(random() * 40) / 10)
                else jsonb_build_object('a', floor(random() * 4), 'b', floor(random() * 3)) end
$$;
create function some_needs() returns jsonb language sql volatile as $$
    select case when random() < 0.4 then jsonb_build_object(one_of('{e,k}'), jsonb_build_object('a', (one_of('{1,2,3,9}'))::int))
                when random() < 0.4 then jsonb_build_object(one_of('{s,g,f}'), some_amounts())
                when random() < 0.4 then jsonb_build_object('s', some_amounts(), one_of('{g,f}'), some_amounts())
                when random() < 0.6 then jsonb_build_object('any', '["s", "g", "f"]'::jsonb) || some_amounts()
                else jsonb_build_object('any', '["g", "f"]'::jsonb, 's', some_amounts()) || some_amounts() end
$$;

-- One step; what it did.
create function step() returns text language plpgsql as $$
declare
    placed text;
    expected text;
    rn text;
    needs jsonb := some_needs();
    verb text := one_of('{submit,submit,submit,submit,submit,submit,place,place,end,end,cancel,alter,drain,report,pause,forget}');
begin
    case verb
    when 'submit' then
        begin
            perform scylla.submit(one_of('{q,r}'), '1', priority => floor(random() * 3)::int, needs => needs,
                                  expected_runtime => case when not needs ? 'k' then ceil(random() * 4) * interval '1 hour' end);
        exception when invalid_parameter_value then
            verb := 'refused'; -- more than any pool has
        end;
    when 'place' then
        select coalesce(string_agg(e.rn || coalesce('@' || chosen, ''), ' ' order by e.rn collate "C"), '') into expected from should_be_placed() e;
        select coalesce(string_agg(p.rn || coalesce('@' || chosen, ''), ' ' order by p.rn collate "C"), '') into placed from scylla.place() p;
        if placed is distinct from expected then
            raise exception E'placed %\nexpected %', placed, expected;
        end if;
        if exists (select from head h join scylla.resource_pool p on p.name = h.pool left join scylla.pool_head k on k.pool = p.id and k.task = h.task
                   where h.passed > 0 and h.passed is distinct from k.passed) then
            raise exception 'heads %, but noted %', (select jsonb_agg(h) from head h), (select jsonb_agg(k) from scylla.pool_head k);
        end if;
        insert into tally select case when start is null then 'a head without a plan' else 'a planned head' end from head;
        verb := case when placed = '' then 'placed nothing' else 'placed' end;
    when 'end' then
        select t.rn into rn from scylla.task t join scylla.queue q on q.name = t.queue and not q.paused where status = 'ready' order by random() limit 1;
        if found then
            perform scylla.lease_task(rn, 'w');
            verb := one_of('{complete,complete,abort,fail,yield,expire}');
            perform case verb when 'complete' then (scylla.complete(rn, 'w')).priority when 'abort' then (scylla.abort(rn, 'w', '{"code": "x"}')).priority
                              when 'fail' then (scylla.fail(rn, 'w', '{"code": "x"}', '0')).priority when 'yield' then (scylla.yield(rn, 'w')).priority end;
            if verb = 'expire' then
                update scylla.task_lease set deadline = now() - interval '1 s';
                perform scylla.reset_expired();
            end if;
        end if;
    when 'cancel' then
        perform scylla.cancel(t.rn) from (select t.rn from scylla.task t where status in ('ready', 'waiting') order by random() limit 1) t;
    when 'alter' then
        perform scylla.alter_pool(one_of('{s,g,f}'), jsonb_build_object('capacity', jsonb_build_object('a', floor(random() * 8), 'b', floor(random() * 6))));
    when 'drain' then
        if random() < 0.3 then perform scylla.drain_pool(one_of('{s,g,f}')); else perform scylla.resume_pool(p) from unnest('{s,g,f}'::text[]) p; end if;
    when 'report' then
        perform scylla.report_usage(one_of('{s,g,f}'), case when random() < 0.5 then some_amounts() else '{}' end);
    when 'pause' then
        if random() < 0.5 then perform scylla.pause_queue('r'); else perform scylla.resume_queue('r'); end if;
    else -- much of what runs ends
        perform scylla.complete(l.rn, 'w') from scylla.lease('q', 'w', 10) l;
    end case;
    return verb;
end $$;

select setseed(0.31) \g /dev/null
select scylla.create_queue('q', max_attempts => 1000), scylla.create_queue('r', max_attempts => 1000) \g /dev/null
select scylla.create_pool('s', '{"a": 6, "b": 5}', 'strict'), scylla.create_pool('g', '{"a": 5, "b": 4.5}', 'greedy'),
       scylla.create_pool('f', '{"a": 7, "b": 3}', 'backfill', '{"max_bypass": 2}'),
       scylla.create_pool('e', '{"a": 10}', 'backfill'), scylla.create_pool('k', '{"a": 10}', 'backfill', '{"max_bypass": 1}') \g /dev/null
do $$ begin
    for i in 1 .. 600 loop
        insert into tally values (step());
        if i % 100 = 0 and exists (select from scylla.check()) then
            raise exception 'step %: %', i, (select jsonb_agg(c) from scylla.check() c);
        end if;
    end loop;
end $$;
select cmp_ok((select count(*) from tally t where t.what = w), '>=', least_::bigint, format('%s: often enough', w))
from (values ('placed', 25), ('placed nothing', 10), ('submit', 80), ('refused', 1), ('complete', 10), ('fail', 2), ('yield', 2), ('expire', 2), ('abort', 2),
             ('cancel', 20), ('alter', 20), ('drain', 20), ('report', 20), ('pause', 20), ('forget', 10),
             ('a planned head', 5), ('a head without a plan', 5), ('would delay the head', 1), ('kept for the head', 1)) v (w, least_);
select is((select count(*) from scylla.pool_reservation), (select count(*) from scylla.task_reservation), 'all that is held is seen');
select is_empty('select * from scylla.check()', 'all is sound');

select * from finish();
rollback;
