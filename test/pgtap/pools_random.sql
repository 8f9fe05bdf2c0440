-- Pools against a readable second implementation: random steps, and what each place() places is what going through the tasks one by one
-- says. (Backfilling with expected runtimes is held against another model in test/unit/placement_test.cpp.)
begin;
\ir include/helpers.psql
select * from no_plan();

create temp table left_over (pool text, resource text, capacity numeric, amount numeric, strict boolean, closed boolean, stopped boolean);

-- What is free, from what the tables hold.
create function find_left_over() returns void language sql as $$
    truncate left_over;
    insert into left_over
    select p.name, c.key, c.value::numeric,
           c.value::numeric - greatest(coalesce(sum((r.amounts ->> c.key)::numeric), 0),
               coalesce((u.used ->> c.key)::numeric, 0) + coalesce(sum((r.amounts ->> c.key)::numeric) filter (where r.since > u.at), 0)),
           p.policy = 'strict', p.drained, false
    from scylla.resource_pool p cross join lateral jsonb_each_text(p.capacity) c
    left join lateral (select at, used from scylla.pool_report r where r.pool = p.id order by at desc limit 1) u on true
    left join scylla.task_reservation r on r.pool = p.id
    group by p.name, c.key, c.value, u.used, u.at, p.policy, p.drained;
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

create function should_be_placed() returns table (rn text, chosen text) language plpgsql as $$
declare
    task record;
    way record;
    found boolean;
begin
    perform find_left_over();
    for task in select distinct s.rn, s.needs, s.priority, s.created, s.id from scylla.pool_line l join scylla.task_spec s on s.id = l.task
                join scylla.queue q on q.id = s.queue where not q.paused order by s.priority desc, s.created, s.id loop
        found := false;
        for way in select w.n, w.chosen, bool_and(coalesce(not l.closed and w.amount <= l.capacity, false)) as possible,
                          bool_and(coalesce((w.amount = 0 or w.amount <= l.amount) and not l.stopped, false)) as fits
                   from ways(task.needs) w left join left_over l using (pool, resource) group by w.n, w.chosen order by w.n loop
            continue when found or not (way.possible and way.fits);
            found := true;
            update left_over l set amount = l.amount - w.amount
            from ways(task.needs) w where w.n = way.n and w.pool = l.pool and w.resource = l.resource;
            rn := task.rn;
            chosen := way.chosen;
            return next;
        end loop;
        continue when found;
        -- It waits for room where it could be served: that stops the pools that keep the order.
        update left_over o set stopped = true
        where o.strict and o.pool in (select w.pool from ways(task.needs) w
            where not exists (select from ways(task.needs) v left join left_over l using (pool, resource)
                              where v.n = w.n and coalesce(l.closed or v.amount > l.capacity, true)));
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
    select case when random() < 0.4 then jsonb_build_object(one_of('{s,g,f}'), some_amounts())
                when random() < 0.4 then jsonb_build_object('s', some_amounts(), one_of('{g,f}'), some_amounts())
                when random() < 0.6 then jsonb_build_object('any', '["s", "g", "f"]'::jsonb) || some_amounts()
                else jsonb_build_object('any', '["g", "f"]'::jsonb, 's', some_amounts()) || some_amounts() end
$$;

create temp table tally (what text);
-- One step; what it did.
create function step() returns text language plpgsql as $$
declare
    placed text;
    expected text;
    rn text;
    verb text := one_of('{submit,submit,submit,place,place,end,end,cancel,alter,drain,report,pause,forget}');
begin
    case verb
    when 'submit' then
        begin
            perform scylla.submit(one_of('{q,r}'), '1', priority => floor(random() * 3)::int, needs => some_needs());
        exception when invalid_parameter_value then
            verb := 'refused'; -- more than any pool has
        end;
    when 'place' then
        select coalesce(string_agg(e.rn || coalesce('@' || chosen, ''), ' ' order by e.rn collate "C"), '') into expected from should_be_placed() e;
        select coalesce(string_agg(p.rn || coalesce('@' || chosen, ''), ' ' order by p.rn collate "C"), '') into placed from scylla.place() p;
        if placed is distinct from expected then
            raise exception E'placed %\nexpected %', placed, expected;
        end if;
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
    else -- all that runs ends
        perform scylla.complete(l.rn, 'w') from scylla.lease('q', 'w', 100) l;
    end case;
    return verb;
end $$;

select setseed(0.31) \g /dev/null
select scylla.create_queue('q', max_attempts => 1000), scylla.create_queue('r', max_attempts => 1000) \g /dev/null
select scylla.create_pool('s', '{"a": 6, "b": 5}', 'strict'), scylla.create_pool('g', '{"a": 5, "b": 4.5}', 'greedy'),
       scylla.create_pool('f', '{"a": 7, "b": 3}', 'backfill', '{"max_bypass": 1000000}') \g /dev/null
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
             ('cancel', 20), ('alter', 20), ('drain', 20), ('report', 20), ('pause', 20), ('forget', 20)) v (w, least_);
select is((select count(*) from scylla.pool_reservation), (select count(*) from scylla.task_reservation), 'all that is held is seen');
select is_empty('select * from scylla.check()', 'all is sound');

select * from finish();
rollback;
