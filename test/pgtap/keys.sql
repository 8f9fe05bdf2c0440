-- Tasks with keys: how many of each key may run at once.
begin;
\ir include/helpers.psql
select * from no_plan();
-- Whatever the statistics know of tables that this transaction fills: what the functions do is held against joins of all tasks.
set local enable_nestloop = off;

create function got(queue text, max_tasks int) returns text[] language sql as $$
    select coalesce(array_agg(l.rn order by n), '{}')
    from scylla.lease(queue, 'w', max_tasks, '1 h') with ordinality l (rn, q, spec, status, priority, progress, created, updated,
         owner, deadline, errors, history, result, metrics, args, attempt, failures, max_attempts, not_before, plan, key, n);
$$;
create procedure complete_all(queue text) language plpgsql as $$
begin
    perform scylla.complete(rn, 'w') from scylla.list_tasks(queue, 'running', max_tasks => 100000);
end $$;
do $$ begin
    perform scylla.create_queue('one', max_running_per_key => 1);
    perform scylla.submit('one', '1', rn => rn, key => nullif(substr(rn, 1, 1), '-'))
    from unnest(array['a1', 'a2', '-1', 'b1', 'a3', '-2', 'c1', 'b2', '-3']) rn;
end $$;

select is(got('one', 100), array['a1', '-1', 'b1', '-2', 'c1', '-3'], 'one of each key, in the order of the queue, and all without a key');
select is(got('one', 100), '{}'::text[], 'and no more');
select refuses($$select scylla.lease_task('a2', 'w')$$, '53400', 'max_running_per_key',
               'key "a" of queue "one" has reached its max_running_per_key', 'The limit is 1.', table_ => 'queue');
select is(seen('a2') ->> 'status', 'ready', 'the task that was refused is where it was');
do $$ begin perform scylla.complete('b1', 'w'); end $$;
select is((scylla.lease_task('b2', 'w', '1 h')).rn, 'b2', 'lease_task goes by the same limit');

-- Every way in which a lease ends makes room for its key.
create function room_after(how text) returns text[] language plpgsql as $$
declare
    held text := (select rn from scylla.task where queue = 'ways' and status = 'running' and key = 'k');
begin
    if got('ways', 5) <> '{}' then return '{none}'; end if;
    execute replace(how, '$1', quote_literal(held));
    return got('ways', 5);
end $$;
do $$ begin
    perform scylla.create_queue('ways', max_running_per_key => 1);
    perform scylla.submit('ways', '1', key => key) from unnest(array['k', 'l']) key, generate_series(1, 30);
end $$;
select is(cardinality(got('ways', 5)), 2, 'two keys');
select is(cardinality(room_after(how)), 1, 'a place is free after ' || how)
from unnest(array[$$select scylla.complete($1, 'w')$$, $$select scylla.complete_many(array[$1], 'w')$$,
                  $$select scylla.abort($1, 'w', '{"code": "x"}')$$,
                  $$select scylla.fail($1, 'w', '{"code": "x"}')$$, $$select scylla.fail($1, 'w', '{"code": "x"}', '0')$$,
                  $$select scylla.yield($1, 'w')$$, $$select scylla.cancel($1)$$,
                  $$select expire($1); select scylla.reset_expired()$$, $$select expire($1); select scylla.maintain()$$]) how;
select is((select array_agg(distinct key) from scylla.complete_and_lease(
               array(select rn from scylla.task where queue = 'ways' and status = 'running' and key = 'l'), 'w', 'ways', 10)),
          array['l'], 'complete_and_lease leases of the key that it completes');
do $$ begin
    for i in 1 .. 3 loop
        begin
            perform scylla.complete(rn, 'w') from scylla.list_tasks('ways', 'running') limit 1;
            perform scylla.lease('ways', 'w', 5);
            raise exception using errcode = 'SR000';
        exception when sqlstate 'SR000' then null;
        end;
    end loop;
end $$;
select is(got('ways', 5), '{}'::text[], 'what was rolled back makes no room');

-- ---- order: the same as a look at every task would give -----------------------------------------------------------------------

-- The next task by the rules: of those whose key has room the best.
create function best(queue_name text, per_key int, most int) returns text language sql as $$
    with running as (select key, count(*) as n from scylla.task where queue = queue_name and status = 'running' group by key)
    select t.rn from scylla.task_ready r join scylla.task_spec t using (id) join scylla.queue q on q.id = r.queue
    left join running on running.key = t.key
    where q.name = queue_name and (t.key is null or coalesce(n, 0) < per_key)
      and (select coalesce(sum(n), 0) from running) < most
    order by r.priority desc, r.id limit 1;
$$;
-- Leases one by one, and now and then ends a lease, until a lease gets nothing; counts the leases that got something else.
create function strange_leases(queue_name text, per_key int, most int, steps int) returns int language plpgsql as $$
declare
    strange int := 0;
    expected text;
begin
    for i in 1 .. steps loop
        expected := best(queue_name, per_key, most);
        if (got(queue_name, 1))[1] is distinct from expected then
            strange := strange + 1;
        end if;
        if expected is null or random() < 0.3 then
            perform scylla.complete(rn, 'w')
            from (select rn from scylla.task where queue = queue_name and status = 'running' order by random() limit 1) t;
        end if;
    end loop;
    return strange;
end $$;
select setseed(0.42);
-- Of some keys there are many in front.
create procedure fill(queue_name text) language sql as $$
    select scylla.submit_many(jsonb_agg(jsonb_build_object('queue', queue_name, 'spec', n, 'priority',
        case when n < 400 then 5 else floor(random() * 4) end, 'key',
        case when n < 400 then 'big' || n % 3 when random() < 0.9 then 'k' || floor(random() * random() * 40) end) order by n))
    from generate_series(1, 800) n;
$$;
do $$ begin
    perform scylla.create_queue('strict', max_running_per_key => 2);
    call fill('strict');
    perform scylla.create_queue('both', max_running_per_key => 3, max_running => 20);
    call fill('both');
end $$;
select is(strange_leases('strict', 2, 1000000, 200), 0, 'each lease gets the best task whose key has room');
select is(strange_leases('both', 3, 20, 150), 0, 'also where all keys together have a limit');
select is((select max(n) from (select count(*) as n from scylla.task where status = 'running' and key is not null
                               group by queue, key) t), 3::bigint, 'and never more than may run');
call complete_all('strict');
-- A batch is what leases one by one would be.
savepoint one_by_one;
create function get_one_by_one() returns text[] language plpgsql as $$
declare
    gotten text[] := '{}';
    one text[];
begin
    loop
        one := got('strict', 1);
        exit when one = '{}';
        gotten := gotten || one;
    end loop;
    return gotten;
end $$;
select string_agg(rn, ',' order by n) as one_by_one from unnest(get_one_by_one()) with ordinality u (rn, n) \gset
rollback to one_by_one;
select is(array_to_string(got('strict', 100000), ','), :'one_by_one', 'a lease of many gets what leases of one would');
select cmp_ok(length(:'one_by_one'), '>', 1000, 'which are many');

-- With aging what counts is how long they have waited.
do $$ begin
    perform scylla.create_queue('aged', max_running_per_key => 1, aging => 0.01);
    perform scylla.submit('aged', '1', rn => 'blocker ' || n, key => 'big', priority => 9) from generate_series(1, 300) n;
    perform scylla.submit('aged', '1', rn => key || ' ' || priority, key => key, priority => priority)
    from unnest(array['y', 'x', 'z']) key, unnest(array[1, 2, 3]) priority;
    update scylla.task_spec set created = created - interval '1000 s' where rn = 'y 1';
end $$;
select is(got('aged', 3), array['y 1', 'blocker 1', 'x 3'], 'with aging the one that has gained most by waiting goes first');
select is(got('aged', 9), array['z 3'], 'and then the one of the highest priority');

-- ---- a blocked key in front of many ------------------------------------------------------------------------------------------

savepoint many; -- undone afterwards: check() joins all tasks, by a plan for as many as the statistics know of
do $$ begin
    perform scylla.create_queue('front', max_running_per_key => 1);
    perform scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'front', 'spec', 1, 'key', 'blocked', 'priority', 9))
                                from generate_series(1, 10000)))
    from generate_series(1, 10);
    perform scylla.submit('front', '1', rn => key || n, key => key) from unnest(array['x', 'y', 'z']) key, generate_series(1, 5) n;
    perform got('front', 4);
end $$;
-- 64 tasks that are passed over, on a page or two, and 5 keys: some 150 looks at pages.
select cmp_ok(blocks_of($$select scylla.complete('x1', 'w'); select got('front', 1)$$), '<', 400::bigint,
              '100,000 tasks of a key without room do not stand in the way of another');
select is(seen('x2') ->> 'status', 'running', 'which it was');
select cmp_ok(blocks_of($$select got('front', 100)$$), '<', 400::bigint, 'nor do they where there is nothing to lease');
rollback to many;

-- ---- settings ----------------------------------------------------------------------------------------------------------------

do $$ begin
    perform scylla.submit('later', '1', rn => 'later ' || n, key => case when n % 3 > 0 then 'k' || n % 3 end) from generate_series(1, 30) n;
    perform scylla.lease('later', 'w', 9, '1 h');
end $$;
select is((select count(*) from scylla.task_ready r join scylla.queue q on q.id = r.queue where q.name = 'later' and key is null), 7::bigint,
          'tasks without a key have none in the table of ready tasks');
do $$ begin perform scylla.alter_queue('later', '{"max_running_per_key": 4}'); end $$;
select is((select count(*) from scylla.task_ready r join scylla.queue q on q.id = r.queue where q.name = 'later' and key is null), 0::bigint,
          'until the queue goes by keys');
select is((select array_agg(distinct permit order by permit) from scylla.task_lease l join scylla.queue q on q.id = l.queue
           where q.name = 'later'), array['', 'k1', 'k2'], 'what runs has its key as permit');
select is((select array_agg(key || n order by key) from (select coalesce(key, '-') as key, count(*) as n
           from scylla.lease('later', 'w', 100, '1 h') group by key) t), array['-7', 'k11', 'k21'], 'and counts');
do $$ begin perform scylla.alter_queue('later', '{"max_running_per_key": 5}'); end $$;
select is(got('later', 10), array['later 13', 'later 14'], 'a higher limit makes room for each key');
do $$ begin perform scylla.alter_queue('later', '{"max_running_per_key": 1}'); end $$;
select is(got('later', 10), '{}'::text[], 'a lower one makes none');
do $$ begin
    perform scylla.yield(rn, 'w') from scylla.list_tasks('later', 'running');
    perform scylla.alter_queue('later', '{"max_running_per_key": null}');
end $$;
select is(cardinality(got('later', 100)), 30, 'without a limit all can run');
select is((select count(*) from scylla.task_lease l join scylla.queue q on q.id = l.queue where q.name = 'later' and permit is not null),
          0::bigint, 'without permits');

-- Other queues pay nothing: their tasks make no entry in the index of keys, unless they have keys, and a lease looks at none.
create temp table looked (before bigint, behind bigint);
do $$
declare
    b bigint := pg_stat_get_xact_blocks_fetched('scylla.task_ready_key'::regclass);
begin
    perform scylla.submit('free', '1', rn => 'free');
    perform scylla.lease('free', 'w');
    perform scylla.yield('free', 'w');
    perform scylla.lease('free', 'w');
    insert into looked values (b, pg_stat_get_xact_blocks_fetched('scylla.task_ready_key'::regclass));
end $$;
select is(behind, before, 'tasks without keys in a queue without limits do not touch the index of keys') from looked;

-- ---- what check() finds ----------------------------------------------------------------------------------------------------------

savepoint broken;
update scylla.task_ready set key = null where id = (select id from scylla.task_spec where rn = 'a2');
select is((select problem from scylla.check()), 'has the key "a" but task_ready says null', 'a ready task without its key');
rollback to broken;
update scylla.task_lease set permit = 'other' where id = (select id from scylla.task_spec where rn = 'a1');
select is((select problem from scylla.check()), 'is leased with the permit of key "other", but its key is "a"', 'a wrong permit');
rollback to broken;
update scylla.task_lease set permit = null where id = (select id from scylla.task_spec where rn = 'a1');
select is((select problem from scylla.check()), 'is leased without a permit, but its queue has a limit', 'a missing permit');
rollback to broken;

select all_is_sound();
select * from finish();
rollback;
