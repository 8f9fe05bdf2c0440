-- Pools against a readable second implementation: random steps, and what each place() places is what going through the tasks one by one
-- says that the twin of test/model has, too, with expected runtimes and backfilling. (The model alone is held against another one in
-- test/unit/placement_test.cpp.)
begin;
\ir include/helpers.psql
select * from no_plan();

create schema twin;
\ir ../model/twin/4-placing.sql
create temp table tally (what text);

-- What is free, and what will be, from what the tables hold; and the line.
create function line_up() returns void language sql as $$
    select twin.begin_placing();
    insert into twin.left_over
    select p.name, c.key, c.value::numeric,
           c.value::numeric - greatest(coalesce(sum((r.amounts ->> c.key)::numeric), 0),
               coalesce((u.used ->> c.key)::numeric, 0) + coalesce(sum((r.amounts ->> c.key)::numeric) filter (where r.since > u.at), 0)),
           p.policy, p.max_bypass, p.drained, false
    from scylla.resource_pool p cross join lateral jsonb_each_text(p.capacity) c
    left join lateral (select at, used from scylla.pool_report r where r.pool = p.id order by at desc limit 1) u on true
    left join scylla.task_reservation r on r.pool = p.id
    group by p.name, c.key, c.value, u.used, u.at, p.policy, p.max_bypass, p.drained;
    insert into twin.run_end
    select p.name, e.key, r.ends, e.value::numeric
    from scylla.task_reservation r join scylla.resource_pool p on p.id = r.pool cross join lateral jsonb_each_text(r.amounts) e
    where r.ends is not null;
    insert into twin.earlier_head select p.name, h.task, h.passed from scylla.pool_head h join scylla.resource_pool p on p.id = h.pool;
    insert into twin.line
    select row_number() over (order by s.priority desc, s.created, s.id), s.id, s.needs, l.runtime * interval '1 microsecond'
    from (select distinct task, runtime from scylla.pool_line) l join scylla.task_spec s on s.id = l.task
    join scylla.queue q on q.id = s.queue where not q.paused;
$$;

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
        perform line_up();
        create temp table decision on commit drop as select * from twin.place_line(clock_timestamp());
        select coalesce(string_agg(s.rn || coalesce('@' || e.chosen, ''), ' ' order by s.rn collate "C"), '') into expected
        from decision e join scylla.task_spec s on s.id = e.task where e.way is not null;
        insert into tally select e.forbidden from decision e where e.forbidden is not null;
        drop table decision;
        select coalesce(string_agg(p.rn || coalesce('@' || chosen, ''), ' ' order by p.rn collate "C"), '') into placed from scylla.place() p;
        if placed is distinct from expected then
            raise exception E'placed %\nexpected %', placed, expected;
        end if;
        if exists (select from twin.head h join scylla.resource_pool p on p.name = h.pool left join scylla.pool_head k on k.pool = p.id and k.task = h.task
                   where h.passed > 0 and h.passed is distinct from k.passed) then
            raise exception 'heads %, but noted %', (select jsonb_agg(h) from twin.head h), (select jsonb_agg(k) from scylla.pool_head k);
        end if;
        insert into tally select case when start is null then 'a head without a plan' else 'a planned head' end from twin.head;
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
create temp table enough (what text, least bigint);
insert into enough
values ('placed', 25), ('placed nothing', 10), ('submit', 80), ('refused', 1), ('complete', 10), ('fail', 2), ('yield', 2), ('expire', 2), ('abort', 2),
       ('cancel', 20), ('alter', 20), ('drain', 20), ('report', 20), ('pause', 20), ('forget', 10),
       ('a planned head', 5), ('a head without a plan', 5), ('would delay the head', 1), ('kept for the head', 1);
-- 600 steps, and more if some kind of step was rare.
do $$ begin
    for i in 1 .. 3000 loop
        exit when i > 600 and not exists (select from enough e where (select count(*) from tally t where t.what = e.what) < e.least);
        insert into tally values (step());
        if i % 100 = 0 and exists (select from scylla.check()) then
            raise exception 'step %: %', i, (select jsonb_agg(c) from scylla.check() c);
        end if;
    end loop;
end $$;
select cmp_ok((select count(*) from tally t where t.what = e.what), '>=', e.least, format('often enough: %s', e.what)) from enough e;
select is((select count(*) from scylla.pool_reservation), (select count(*) from scylla.task_reservation), 'all that is held is seen');
select is_empty('select * from scylla.check()', 'all is sound');

select * from finish();
rollback;
