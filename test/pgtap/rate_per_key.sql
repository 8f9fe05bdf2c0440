-- How many leases of tasks of the same key may start in a time. How many really do, by many sessions and after crashes, is in
-- test/t/rates.pl and test/unit/rate_test.cpp.
begin;
\ir include/helpers.psql
select * from no_plan();

create procedure fill(queue text, keys text[], tasks int) language plpgsql as $$
begin
    perform scylla.submit(queue, '1', rn => queue || ' ' || coalesce(key, '-') || n, key => key)
    from unnest(keys) key, generate_series(1, tasks) n;
end $$;
-- What calls that ask for everything got of each key, at most; they are undone, until one of them was given this much. Before each there is
-- time for the buckets of these tests to become full.
create function given_at_most(queue text, wanted jsonb) returns jsonb language plpgsql as $$
declare
    deadline timestamptz := clock_timestamp() + interval '2 min';
    given jsonb;
    most jsonb := '{}';
begin
    loop
        perform pg_sleep(0.01);
        begin
            given := (select jsonb_object_agg(key, n)
                      from (select coalesce(key, '-') as key, count(*) as n from scylla.lease(queue, 'w', 1000, '1 h') group by 1) t);
            raise exception using errcode = 'SR000';
        exception when sqlstate 'SR000' then null;
        end;
        most := most || coalesce((select jsonb_object_agg(key, n) from jsonb_each(given) t (key, n)
                                  where n::int > coalesce((most ->> key)::int, 0)), '{}');
        exit when given @> wanted or clock_timestamp() > deadline;
    end loop;
    return most;
end $$;

do $$ begin
    perform scylla.create_queue('never', rate_per_key => '{"tasks": 1, "per": "365 days", "burst": 10}');
    call fill('never', '{a,b,null}', 3);
end $$;
select is(array(select rn from scylla.lease('never', 'w', 2, '1 h')), array['never -1', 'never -2'],
          'every key begins as if it had just used up its rate; tasks without a key have none');
select is(array(select rn from scylla.complete_and_lease('{}', 'w', 'never', 10)), array['never -3'], '... whatever leases');
select refuses($$select scylla.lease_task('never a1', 'w')$$, '53400', 'rate_per_key', 'key "a" of queue "never" has used up its rate',
               table_ => 'queue');
select is(seen('never a1') ->> 'status', 'ready', 'the task that was refused is where it was');
do $$ begin perform scylla.submit('never', '1', rn => 'without'); end $$;
select is((scylla.lease_task('without', 'w', '1 h')).status::text, 'running', 'lease_task, too, does not limit tasks without a key');

do $$ begin
    perform scylla.create_queue('made', rate_per_key => '{"tasks": 50}');
    perform scylla.create_queue('set', retention => '1 day');
    perform scylla.alter_queue('set', '{"rate_per_key": {"tasks": 50}}');
    perform scylla.submit(which, '1', key => 'k') from unnest(array['made', 'set']) which;
    perform pg_sleep(0.1);
end $$;
select is((select count(*) from unnest(array['made', 'set']) which, lateral scylla.lease(which, 'w', 1, '1 h')), 2::bigint,
          'tokens come from when the rate was set, not only when somebody asks');

-- ---- bursts --------------------------------------------------------------------------------------------------------------

do $$ begin
    perform scylla.create_queue('three', rate_per_key => '{"tasks": 1000, "burst": 3}');
    call fill('three', '{a,b,null}', 20);
end $$;
select is(given_at_most('three', '{"a": 3, "b": 3}'), '{"a": 3, "b": 3, "-": 20}', 'of each key at once as many as the burst');
do $$ begin
    perform scylla.create_queue('runs', rate_per_key => '{"tasks": 1000, "burst": 5}', max_running_per_key => 2, max_running => 7);
    call fill('runs', '{a,b,null}', 20);
end $$;
select is(given_at_most('runs', '{"a": 2, "b": 2}') - '-', '{"a": 2, "b": 2}', 'other limits hold beside it');
do $$ begin
    perform scylla.create_queue('starts', rate_per_key => '{"tasks": 1000, "burst": 2}', max_running_per_key => 5, key_weights => '{"a": 9}');
    call fill('starts', '{a,b,null}', 20);
end $$;
select is(given_at_most('starts', '{"a": 2, "b": 2}'), '{"a": 2, "b": 2, "-": 20}', '... and it beside them, and where keys take turns');
do $$ begin
    perform scylla.create_queue('aged', rate_per_key => '{"tasks": 1000, "burst": 2}', aging => 1);
    call fill('aged', '{a,b,null}', 20);
end $$;
select is(given_at_most('aged', '{"a": 2, "b": 2}'), '{"a": 2, "b": 2, "-": 20}', '... and where tasks gain by waiting');

-- A task that is leased by its name takes a token, too, of both kinds.
do $$
declare
    deadline timestamptz := clock_timestamp() + interval '2 min';
begin
    perform scylla.create_queue('named', rate => '{"tasks": 1000}', rate_per_key => '{"tasks": 500}');
    call fill('named', '{a}', 5);
    for n in 1 .. 5 loop
        loop
            begin
                perform scylla.lease_task('named a' || n, 'w', '1 h');
                exit;
            exception when configuration_limit_exceeded then
                if clock_timestamp() > deadline then raise; end if;
            end;
        end loop;
    end loop;
end $$;
select is((select count(*) from scylla.task where queue = 'named' and status = 'running'), 5::bigint, 'lease_task gets one when it is there');

-- ---- the order, and what it costs ------------------------------------------------------------------------------------------------

savepoint many; -- undone afterwards: check() joins all tasks, by a plan for as many as the statistics know of
do $$ begin
    perform scylla.create_queue('front', rate_per_key => '{"tasks": 1000}');
    perform scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'front', 'spec', 1, 'key', 'a', 'priority', 9))
                                from generate_series(1, 10000)));
    call fill('front', '{x,y,z}', 500);
end $$;
-- Calls until one got a task of each key, and what that one has looked at. Each looks for more, which are all of keys without a token.
create function cost_of_each() returns bigint language plpgsql as $$
declare
    deadline timestamptz := clock_timestamp() + interval '2 min';
    blocks bigint;
begin
    create temp table got (n bigint, key text);
    loop
        perform pg_sleep(0.01); -- every key has a token now
        delete from got;
        blocks := blocks_of($q$insert into got select row_number() over (), key from scylla.lease('front', 'w', 100, '1 h')$q$);
        exit when (select count(*) from got) >= 4 or clock_timestamp() > deadline;
    end loop;
    return blocks;
end $$;
select cmp_ok(cost_of_each(), '<', 800::bigint, '10,000 tasks of a key without a token do not stand in the way of others');
select is((select array_agg(key order by n) from got), '{a,x,y,z}', 'which come in the order of the queue');
rollback to many;

-- ---- settings --------------------------------------------------------------------------------------------------------------------

do $$ begin
    call fill('later', '{a,null}', 10);
    perform scylla.alter_queue('later', '{"rate_per_key": {"tasks": 1, "per": "365 days", "burst": 10}}');
end $$;
select is((select count(*) from scylla.task_ready r join scylla.queue q on q.id = r.queue where q.name = 'later' and key is null), 0::bigint,
          'every task of such a queue is found by its key');
select is((select count(*) from scylla.lease('later', 'w', 100, '1 h')), 10::bigint, 'a rate holds for the tasks that there are');
do $$ begin perform scylla.alter_queue('later', '{"rate_per_key": {"tasks": 1000, "burst": 2}}'); end $$;
select is(given_at_most('later', '{"a": 2}'), '{"a": 2}', 'a new one holds from now on');
do $$ begin perform scylla.alter_queue('later', '{"rate_per_key": {"tasks": 1, "per": "365 days", "burst": 10}}'); end $$;
select is_empty($$select rn from scylla.lease('later', 'w', 10)$$, 'and begins used up');
do $$ begin perform scylla.alter_queue('later', '{"aging": 1, "rate_per_key": {"tasks": 1, "per": "365 days", "burst": 10}}'); end $$;
select is((select count(*) from scylla.queue_rate r join scylla.queue q on q.id = r.queue where q.name = 'later'), 1::bigint,
          'one row tells since when it holds');
do $$ begin perform scylla.alter_queue('later', '{"rate_per_key": null}'); end $$;
select is((select count(*) from scylla.lease('later', 'w', 10, '1 h')), 10::bigint, 'without one everything can be leased');

do $$ begin
    perform scylla.create_queue('dropped', rate => '{"tasks": 1000}', rate_per_key => '{"tasks": 1000}');
    call fill('dropped', '{a,b}', 2);
    perform given_at_most('dropped', '{"a": 1}');
    perform scylla.drop_queue('dropped', true);
end $$;
select is_empty($$select from scylla.queue_rate r where r.queue not in (select id from scylla.queue)$$, 'what is kept of a rate goes with its queue');

select all_is_sound();
select * from finish();
rollback;
