-- Pools: what tasks need, and where they fit.
begin;
\ir include/helpers.psql
select * from no_plan();

create function state(rn text) returns text language sql as $$
    select t.status || coalesce(' ' || t.pool, '') from scylla.get_task(rn) t
$$;
create function submit_needing(rn text, needs jsonb, priority integer = 0, runtime interval = null, queue text = 'q')
    returns text language sql as $$
    select state((scylla.submit(queue, '1', priority, rn, needs => needs, expected_runtime => runtime)).rn)
$$;
create function placed(pool text = null) returns text language sql as $$
    select coalesce(string_agg(rn || coalesce('@' || chosen, ''), ' ' order by rn), '') from scylla.place(pool)
$$;
create function lease_of(rn text) returns text language sql as $$ select pool from scylla.lease_task(rn, 'w') $$;
create function bad(call text, message text) returns text language sql as $$ select throws_ok(call, '22023', message, 'refused: ' || message) $$;
create function free(name text) returns jsonb language sql as $$ select free from scylla.pool where pool = name $$;

-- ---- pools -----------------------------------------------------------------------------------------------------------

select lives_ok($$ select scylla.create_pool('permits', '{"permits": 2}') $$, 'a pool is created');
select is((select row(policy, capacity, reserved, free, drained, stale, waiting, placed, max_bypass)::text from scylla.pool where pool = 'permits'),
          '(backfill,"{""permits"": 2}","{""permits"": 0}","{""permits"": 2}",f,f,0,0,100)', 'and shown');
select refuses($$ select scylla.create_pool('permits', '{"permits": 2}') $$, '42710', 'unique', 'pool "permits" already exists', table_ => 'pool');
select bad($$ select scylla.create_pool('', '{"permits": 2}') $$, 'invalid value for argument "pool": ""');
select bad($$ select scylla.create_pool('x', null) $$, 'invalid value for argument "capacity": null');
select bad($$ select scylla.create_pool('x', '[]') $$, 'invalid value for argument "capacity": []');
select bad($$ select scylla.create_pool('x', '{"a": -1}') $$, 'invalid value for argument "capacity": -1');
select bad($$ select scylla.create_pool('x', '{"a": "1"}') $$, 'invalid value for argument "capacity": "1"');
select bad($$ select scylla.create_pool('x', '{"a": 0.0001}') $$, 'invalid value for argument "capacity": 0.0001');
select bad($$ select scylla.create_pool('x', '{"a": 1000000000000000}') $$, 'invalid value for argument "capacity": 1000000000000000');
select bad($$ select scylla.create_pool('x', '{"a": 1}', 'fair') $$, 'invalid value for argument "policy": "fair"');
select bad($$ select scylla.create_pool('x', '{"a": 1}', settings => '{"max_bypass": -1}') $$, 'invalid value for argument "max_bypass": -1');
select bad($$ select scylla.create_pool('x', '{"a": 1}', settings => '{"size": 1}') $$, 'invalid value for argument "settings": "size"');
-- Who has changed the limit of a tag.
create role scylla_test_limiter;
grant usage on schema scylla to scylla_test_limiter;
grant execute on function scylla.alter_pool, scylla.drain_pool, scylla.resume_pool to scylla_test_limiter;
select scylla.create_pool('tag:db', '{"permits": 3}'), scylla.grant_pool('tag:db', 'scylla_test_limiter', 'admin') \g /dev/null
set local role scylla_test_limiter;
select scylla.alter_pool('tag:db', '{"capacity": {"permits": 5}}') \g /dev/null
select scylla.alter_pool('tag:db', '{"capacity": {"permits": 5}}') \g /dev/null
select scylla.drain_pool('tag:db') \g /dev/null
set local role none;
select scylla.resume_pool('tag:db'), scylla.alter_pool('tag:db', '{"policy": "strict", "metrics_max_age": "1 hour"}') \g /dev/null
create temp view history as
    select case when author ~ '^scylla_test' then author else 'owner' end || ': ' || (
               select string_agg(concat(key, ' ', previous -> key, ' -> ', value), ', ' order by key) from jsonb_each(settings)
               where previous -> key is distinct from value) collate "default" as change
    from scylla.pool_history where pool = 'tag:db' order by changed;
select results_eq('select change from history', array['owner: capacity  -> {"permits": 3}, drained  -> false, max_bypass  -> 100, metrics_max_age  -> null, policy  -> "backfill"',
    'scylla_test_limiter: capacity {"permits": 3} -> {"permits": 5}', 'scylla_test_limiter: drained false -> true', 'owner: drained true -> false',
    'owner: metrics_max_age null -> "01:00:00", policy "backfill" -> "strict"'], 'pool_history tells who has changed the limit of a tag, and what else; what changes nothing is no change');
do $$ begin
    for i in 1..1010 loop
        perform scylla.alter_pool('tag:db', jsonb_build_object('max_bypass', i));
    end loop;
end $$;
select results_eq($$select count(*), min((settings ->> 'max_bypass')::int), count(*) filter (where previous is null) from scylla.pool_history where pool = 'tag:db'$$,
    $$values (1000::bigint, 11, 1::bigint)$$, 'the last 1,000 changes are kept');
select scylla.drop_pool('tag:db') \g /dev/null
select is((select count(*) from scylla.pool_change), (select count(*) from scylla.pool_history), '... until the pool is dropped');

select refuses($$ select scylla.alter_pool('nothing', '{}') $$, '42704', 'exists', 'pool "nothing" does not exist', table_ => 'pool');
select bad($$ select scylla.alter_pool('permits', '{"size": 1}') $$, 'invalid value for argument "changes": "size"');
select refuses($$ select scylla.place('nothing') $$, '42704', 'exists', 'pool "nothing" does not exist', table_ => 'pool');

-- ---- permits ---------------------------------------------------------------------------------------------------------

select is(submit_needing('p1', '{"permits": {"permits": 1}}'), 'waiting', 'a task with needs is in line');
select is(submit_needing('p2', '{"permits": {"permits": 1}}'), 'waiting', 'and another');
select is(submit_needing('p3', '{"permits": {"permits": 1}}'), 'waiting', 'and a third');
select is((select count(*) from scylla.lease('q', 'w', 10)), 0::bigint, 'none is leased before it is placed');
select is((select args from scylla.get_task('p1')), '[]', 'a pool gives no args');
select is(placed(), 'p1@permits p2@permits', 'as many are placed as there are permits');
select is(placed(), '', 'once');
select is(state('p1'), 'ready permits', 'one that is placed is ready, and shows its pool');
select is((select pool from scylla.task where rn = 'p1'), 'permits', 'in the view too');
select is(state('p3'), 'waiting', 'the third waits');
select is((select row(reserved, free, waiting, placed)::text from scylla.pool where pool = 'permits'),
          '("{""permits"": 2}","{""permits"": 0}",1,2)', 'the view counts');
select is((select string_agg(rn || ' ' || amounts, ', ' order by rn) from scylla.pool_reservation), 'p1 {"permits": 1}, p2 {"permits": 1}', 'who holds what');
select is((select row(pool, rn, queue, needs, reason, planned)::text from scylla.pool_queue),
          '(permits,p3,q,"{""permits"": {""permits"": 1}}","permits short by 1 in pool permits",)', 'and who waits for what');
select is((select waits_for || ': ' || detail from scylla.explain_waiting('p3')), 'pool permits: Not placed: permits short by 1 in pool permits.', 'explain_waiting says it');
select results_eq($$ select status::text, tasks from scylla.count_tasks('q') where tasks > 0 order by status $$,
                  $$ values ('ready', 2::bigint), ('waiting', 1) $$, 'it counts as waiting');
select is(lease_of('p1'), 'permits', 'the lease has the pool');
select lives_ok($$ select scylla.heartbeat('p1', 'w') $$, 'a heartbeat');
select is(placed(), '', 'gives nothing back');
select lives_ok($$ select scylla.complete('p1', 'w') $$, 'the end of the run');
select is(placed(), 'p3@permits', 'does');
select is(state('p1'), 'completed', 'a task that has ended holds nothing');
select is((select pool from scylla.cancel('p2')), null, 'a placed task is cancelled, and shows no pool any more');
select is(free('permits'), '{"permits": 1}', 'which gives back what it held');
select is(submit_needing('p4', '{"permits": {"permits": 2}}'), 'waiting', 'a task in line');
select lives_ok($$ select scylla.cancel('p4') $$, 'is cancelled');
select is((select count(*) from scylla.pool_line), 0::bigint, 'and is no longer in line');
select is(placed(), '', 'nor placed');

-- A yield keeps its place, a retry is placed anew.
select is(lease_of('p3'), 'permits', 'a run');
select is((select pool from scylla.yield('p3', 'w')), 'permits', 'that yields');
select is(state('p3'), 'ready permits', 'keeps what it holds');
select is(lease_of('p3'), 'permits', 'for the next run');
select is((select status || coalesce(' ' || pool, '') from scylla.fail('p3', 'w', '{"code": "x"}', '0')), 'waiting', 'a run that fails shows no pool either');
select is(state('p3'), 'waiting', 'is in line again');
select is(free('permits'), '{"permits": 2}', 'and holds nothing');
select is(placed(), 'p3@permits', 'until it is placed again');
select is(lease_of('p3'), 'permits', 'to run');
select lives_ok($$ select scylla.fail('p3', 'w', '{"code": "x"}', '1 hour') $$, 'with a delay it waits for that');
select is((select count(*) from scylla.pool_line), 0::bigint, 'before it gets in line');
select lives_ok($$ select scylla.cancel('p3') $$, 'cancelled');
select is(submit_needing('p5', '{"permits": {"permits": 1}}'), 'waiting', 'a run');
select is(placed(), 'p5@permits', 'is placed');
select is((select rn from scylla.lease_task('p5', 'w', '1 microsecond')), 'p5', 'leased');
select ok(scylla.reset_expired() >= 1, 'and expires');
select is(state('p5'), 'waiting', 'it is in line again');
select is(placed(), 'p5@permits', 'and placed anew');
select is(lease_of('p5'), 'permits', 'leased');
select lives_ok($$ select scylla.abort('p5', 'w', '{"code": "x"}') $$, 'and aborted');
select is(free('permits'), '{"permits": 2}', 'nothing is held any more');
select is(submit_needing('p6', '{"permits": {"permits": 2}}'), 'waiting', 'a task');
select is(placed(), 'p6@permits', 'is placed');
select is((select status::text from scylla.reschedule('p6', now() + interval '1 hour')), 'waiting', 'and put off');
select is(free('permits'), '{"permits": 2}', 'which gives back what it held');
select is((select status::text from scylla.reschedule('p6', clock_timestamp())), 'waiting', 'when its time has come');
select is((select count(*) from scylla.pool_line), 1::bigint, 'it is in line');
select is(placed(), 'p6@permits', 'and is placed anew');
select lives_ok($$ select scylla.cancel('p6') $$, 'done');

-- ---- needs -----------------------------------------------------------------------------------------------------------

select scylla.create_pool('a', '{"memory_gb": 400, "cores": 2500}', 'greedy') \g /dev/null
select scylla.create_pool('b', '{"memory_gb": 100, "cores": 100}', 'strict') \g /dev/null
select refuses(format('select submit_needing(''x'', %L)', needs), '22023', 'argument', 'invalid value for argument "needs": ' || needs, detail)
from (values ('[]', 'It must be an object of pools with amounts by resource, or have "any", an array of pools, and amounts.'),
             ('{}', 'It must be an object of pools with amounts by resource, or have "any", an array of pools, and amounts.'),
             ('{"a": 1}', 'It must be an object of pools with amounts by resource, or have "any", an array of pools, and amounts.'),
             ('{"any": ["a"]}', 'It must be an object of pools with amounts by resource, or have "any", an array of pools, and amounts.'),
             ('{"any": null}', 'It must be an object of pools with amounts by resource, or have "any", an array of pools, and amounts.'),
             ('{"a": {}}', 'Each pool must have an amount of a resource.'),
             ('{"any": ["a", "a"], "cores": 1}', '"any" must name pools, each once.'),
             ('{"a": {"cores": 1}, "any": ["a"], "cores": 1}', '"any" must not name a pool that is needed anyway.'),
             ('{"a": {"gpus": 1}}', 'Pool "a" has no resource "gpus".'),
             ('{"a": {"memory_gb": 400.001}}', 'Pool "a" has only 400 of "memory_gb".'),
             ('{"any": ["a", "b"], "cores": 2501}', 'Pool "a" has only 2500 of "cores".')) as v(needs, detail);
select refuses($$ select submit_needing('x', '{"nothing": {"cores": 1}}') $$, '42704', 'exists', 'pool "nothing" does not exist', table_ => 'pool');
select bad($$ select scylla.submit_many('[{"queue": "q", "spec": 1}, {"queue": "q", "spec": 1, "needs": {"a": {"gpus": 1}}}]') $$, 'invalid value for argument "needs" in element 2: {"a": {"gpus": 1}}');

-- The worked example: of 2 TB and 5,000 cores 80 % and 50 % are in use.
select scylla.create_pool('cluster', '{"memory_gb": 2000, "cores": 5000}', 'strict') \g /dev/null
select scylla.report_usage('cluster', '{"memory_gb": 1600, "cores": 2500}') \g /dev/null
select is(free('cluster'), '{"cores": 2500, "memory_gb": 400}', 'a report counts');
select submit_needing(v.rn, jsonb_build_object('cluster', jsonb_build_object('memory_gb', memory, 'cores', cores)), priority)
from (values ('A', 300, 1000, 9), ('B', 200, 500, 8), ('C', 100, 1500, 7), ('D', 1, 1, 6)) as v(rn, memory, cores, priority) \g /dev/null
select is(placed('cluster'), 'A@cluster', 'strict: A only');
select is((select string_agg(rn || ': ' || reason, ', ' order by rn) from scylla.pool_queue where pool = 'cluster'),
          'B: memory_gb short by 100 in pool cluster, C: behind the head of pool cluster, D: behind the head of pool cluster', 'with reasons');
select scylla.alter_pool('cluster', '{"policy": "greedy"}') \g /dev/null
select is(placed('cluster'), 'C@cluster', 'greedy: C too, and not D, for which nothing is left');
select is(free('cluster'), '{"cores": 0, "memory_gb": 0}', 'what is reserved after the report is added to it');
select scylla.report_usage('cluster', '{"memory_gb": 350, "cores": 2500}') \g /dev/null
select is(free('cluster'), '{"cores": 2500, "memory_gb": 1600}', 'what is reserved counts if less is reported');
select is(placed('cluster'), 'B@cluster D@cluster', 'a report makes room');
select scylla.report_usage('cluster', '{"cores": 5000, "memory_gb": 2000}', clock_timestamp() - interval '1 day') \g /dev/null
select is(free('cluster'), '{"cores": 1999, "memory_gb": 1399}', 'an older report changes nothing');
select bad($$ select scylla.report_usage('cluster', '{"gpus": 1}') $$, 'invalid value for argument "used": "gpus"');
select throws_ok(format($$ select scylla.report_usage('cluster', '{}', %s) $$, at), '22023', null, 'a report from the future')
from unnest(array[$$clock_timestamp() + interval '1 day'$$, $$'9999-12-31Z'$$, $$'infinity'$$, $$'-infinity'$$]) at;
select lives_ok($$ select scylla.report_usage('cluster', '{"cores": 5000, "memory_gb": 2000}', clock_timestamp() + interval '50 s') $$, 'a clock may be ahead by less than a minute');
select is((select reported_at <= clock_timestamp() from scylla.pool where pool = 'cluster'), true, 'a report of a clock that is ahead is of now: what comes later counts');

-- Old metrics close a pool.
select scylla.alter_pool('cluster', '{"metrics_max_age": "1 hour"}') \g /dev/null
select scylla.report_usage('cluster', '{}') \g /dev/null
select is((select stale from scylla.pool where pool = 'cluster'), false, 'a new report');
select is(submit_needing('s1', '{"cluster": {"cores": 1}}'), 'waiting', 'a task');
select is(placed('cluster'), 's1@cluster', 'is placed');
update scylla.pool_report set at = at - interval '2 hours';
select is((select stale from scylla.pool where pool = 'cluster'), true, 'an old report');
select is(submit_needing('s2', '{"cluster": {"cores": 1}}'), 'waiting', 'a task');
select is(placed('cluster'), '', 'is not placed');
select is((select reason from scylla.pool_queue where rn = 's2'), 'the metrics of pool cluster are too old', 'which is said');
select scylla.report_usage('cluster', '{}') \g /dev/null
select is(placed('cluster'), 's2@cluster', 'until there is a report');
select scylla.alter_pool('cluster', '{"metrics_max_age": null}') \g /dev/null

-- Several at once, one of several.
select is(submit_needing('m1', '{"a": {"cores": 1}, "b": {"cores": 100}}'), 'waiting', 'two pools at once');
select is(submit_needing('m2', '{"a": {"cores": 1}, "b": {"cores": 1}}'), 'waiting', 'and again');
select is(placed('a'), 'm1', 'the first has both');
select is(state('m1'), 'ready', 'and shows no pool');
select is(free('a') || free('b'), '{"cores": 0, "memory_gb": 100}', 'it holds both');
select is(placed(), '', 'the second has nothing of either');
select is((select reserved from scylla.pool where pool = 'a'), '{"cores": 1, "memory_gb": 0}', 'as long as it cannot have both');
select is(submit_needing('m3', '{"any": ["b", "a"], "cores": 1}'), 'waiting', 'one of two');
select is(placed(), 'm3@a', 'gets the one that has room');
select is(state('m3'), 'ready a', 'and shows it');
select is(submit_needing('m4', '{"any": ["b", "a"], "cores": 1, "permits": {"permits": 1}}'), 'waiting', 'and a permit as well');
select is(placed(), 'm4@a', 'gets both');
select is((select string_agg(pool, ' ' order by pool) from scylla.pool_reservation where rn = 'm4'), 'a permits', 'and holds both');
select is(submit_needing('m5', '{"any": ["b", "a"], "cores": 2000}'), 'waiting', 'needs that one of the two could never meet');
select is(placed(), 'm5@a', 'are met by the other');
select scylla.cancel(rn) from unnest('{m1,m2,m3,m4,m5}'::text[]) rn \g /dev/null

-- Zero needs nothing, equality fits, a capacity of 0 blocks, a lower one revokes nothing.
select is(submit_needing('z1', '{"b": {"cores": 100, "memory_gb": 0}}'), 'waiting', 'all there is');
select is(placed(), 'z1@b', 'fits');
select is(submit_needing('z2', '{"b": {"cores": 0}}'), 'waiting', 'nothing');
select is(placed(), 'z2@b', 'fits always');
select scylla.alter_pool('b', '{"capacity": {"cores": 50}}') \g /dev/null
select is(state('z1'), 'ready b', 'a lower capacity revokes nothing');
select is(free('b'), '{"cores": -50}', 'though it is exceeded');
select is(submit_needing('z3', '{"b": {"cores": 50}}'), 'waiting', 'what fits the new capacity');
select is(placed(), '', 'waits');
select scylla.cancel('z1') \g /dev/null
select is(placed(), 'z3@b', 'until there is room');
select scylla.alter_pool('permits', '{"capacity": {"permits": 0}}') \g /dev/null
select is(submit_needing('z4', '{"permits": {"permits": 1}}'), 'waiting', 'a capacity of 0 lets tasks wait');
select is(placed(), '', 'and blocks');
select is((select reason from scylla.pool_queue where rn = 'z4'), 'permits exceeds the capacity of pool permits by 1', 'which is said');
select scylla.alter_pool('permits', '{"capacity": {"permits": 1}}') \g /dev/null
select is(placed(), 'z4@permits', 'until it is raised');

-- The largest amounts, of which sums and differences are exact.
select scylla.create_pool('most', '{"x": 999999999999999.999, "y": 999999999999999.999}') \g /dev/null
select refuses(format('select submit_needing(''x'', %L)', needs), '22023', 'argument', 'invalid value for argument "needs": ' || value,
               'An amount must be a number of at least 0, with at most 15 digits before and 3 after the point.')
from (values ('{"most": {"x": 1000000000000000}}', '1000000000000000'), ('{"most": {"x": 9223372036854775808}}', '9223372036854775808'),
             ('{"most": {"x": 999999999999999.9999}}', '999999999999999.9999')) as v(needs, value);
select throws_ok($$ select submit_needing('x', '{"most": {"x": 1e1000}}') $$, '22023', null, 'refused: many digits');
select is(submit_needing('l1', '{"most": {"x": 999999999999999.999, "y": 999999999999999.999}}', 2, '1 hour'), 'waiting', 'a task that needs all');
select is(submit_needing('l2', '{"most": {"x": 999999999999999.999, "y": 0}}', 1, '365 days'), 'waiting', 'one that needs half of that');
select is(submit_needing('l3', '{"most": {"x": 0.001}}', 0, '365 days'), 'waiting', 'and one that needs the least');
select is(placed('most'), 'l1@most', 'the first fits');
select is(free('most'), '{"x": 0, "y": 0}', 'and leaves nothing');
select is((select string_agg(rn || ': ' || reason, ', ' order by rn) from scylla.pool_queue where pool = 'most'),
          'l2: x short by 999999999999999.999 in pool most, l3: x short by 0.001 in pool most', 'what is missing is exact');
select isnt((select planned from scylla.pool_queue where rn = 'l2'), null, 'the next is planned');
select scylla.report_usage('most', '{"x": 999999999999999.999, "y": 999999999999999.999}', now() - interval '1 day') \g /dev/null
select is(free('most'), '{"x": -999999999999999.999, "y": -999999999999999.999}', 'a report of all, and what was placed since');
select is(placed('most'), '', 'there is room for nobody');
select is((select reason from scylla.pool_queue where rn = 'l2'), 'x short by 1999999999999999.998 in pool most', 'twice as much is missing');
select scylla.cancel('l1') \g /dev/null
select is(placed('most'), '', 'the report counts');
select scylla.report_usage('most', '{}') \g /dev/null
select is(placed('most'), 'l2@most', 'until the next');
select scylla.alter_pool('most', '{"capacity": {"x": 0.001, "y": 1}}') \g /dev/null
select is(free('most'), '{"x": -999999999999999.998, "y": 1}', 'a capacity far below what is held');
select scylla.cancel('l2') \g /dev/null
select is(placed('most'), 'l3@most', 'all that is left fits');
select scylla.cancel('l3') \g /dev/null

-- Drained pools, paused queues.
select scylla.drain_pool('a') \g /dev/null
select is(submit_needing('d1', '{"a": {"cores": 1}}'), 'waiting', 'a drained pool');
select is(placed(), '', 'takes nothing');
select is((select reason from scylla.pool_queue where rn = 'd1'), 'pool a is drained', 'which is said');
select scylla.resume_pool('a') \g /dev/null
select is(placed(), 'd1@a', 'until it is resumed');
select scylla.create_pool('z', '{"x": 1, "y": 1}'), scylla.create_pool('w', '{"x": 1, "y": 1}') \g /dev/null
select is(submit_needing('gone1', '{"z": {"y": 0}}'), 'waiting', 'one that needs 0 of a resource');
select is(submit_needing('gone2', '{"z": {"y": 1}}'), 'waiting', 'one that needs more of it');
select is(submit_needing('gone3', '{"any": ["z", "w"], "y": 0}'), 'waiting', 'and one that could also go elsewhere');
select scylla.alter_pool('z', '{"capacity": {"x": 1}}'), scylla.drain_pool('z') \g /dev/null
select is(placed(), 'gone3@w', 'a drained pool takes nothing, not even for 0 of a resource that was taken away');
select is((select string_agg(distinct reason, ', ') from scylla.pool_queue where pool = 'z'), 'pool z is drained', 'which is said');
select scylla.resume_pool('z') \g /dev/null
select is(placed(), 'gone1@z', 'until it is resumed');
select is((select reason from scylla.pool_queue where rn = 'gone2'), 'pool z does not have a resource any more', 'who needs more waits');
select scylla.cancel(rn) from unnest('{gone1,gone2,gone3}'::text[]) rn \g /dev/null
select scylla.drop_pool('z'), scylla.drop_pool('w') \g /dev/null
select scylla.create_queue('paused', paused => true) \g /dev/null
select is(submit_needing('d2', '{"a": {"cores": 1}}', queue => 'paused'), 'waiting', 'a task of a paused queue');
select is(placed(), '', 'is not placed');
select scylla.resume_queue('paused') \g /dev/null
select is(placed(), 'd2@a', 'until the queue is resumed');

-- ---- backfilling -----------------------------------------------------------------------------------------------------

select scylla.create_pool('e', '{"slots": 10}', settings => '{"max_bypass": 2}') \g /dev/null
select is(submit_needing('e1', '{"e": {"slots": 6}}', runtime => '1 hour'), 'waiting', 'a long run');
select is(placed('e'), 'e1@e', 'starts');
select is(submit_needing('e2', '{"e": {"slots": 9}}', 5), 'waiting', 'the head');
select is(submit_needing('e3', '{"e": {"slots": 2}}', 4, '2 hours'), 'waiting', 'one that would delay it');
select is(submit_needing('e4', '{"e": {"slots": 2}}', 3, '30 minutes'), 'waiting', 'one that ends before');
select is(submit_needing('e5', '{"e": {"slots": 1}}', 2), 'waiting', 'one for which there is room even then');
select is(submit_needing('e6', '{"e": {"slots": 1}}', 1), 'waiting', 'one for which there is none');
select is(placed('e'), 'e4@e e5@e', 'two are placed');
select is((select string_agg(rn || ': ' || reason, ', ' order by rn) from scylla.pool_queue where pool = 'e'),
          'e2: slots short by 8 in pool e, e3: slots short by 1 in pool e, e6: would delay the head of pool e', 'with reasons');
select is((select planned from scylla.pool_queue where rn = 'e2'), (select ends from scylla.pool_reservation where rn = 'e1'), 'the head is planned');
select scylla.cancel(rn) from unnest('{e1,e2,e3,e4,e5,e6}'::text[]) rn \g /dev/null
select is(submit_needing('f1', '{"e": {"slots": 6}}'), 'waiting', 'a run without an expected end');
select is(placed('e'), 'f1@e', 'starts');
select is(submit_needing('f2', '{"e": {"slots": 9}}', 5), 'waiting', 'a head that cannot be planned');
select submit_needing('g' || i, '{"e": {"slots": 1}}') from generate_series(1, 4) i \g /dev/null
select is(placed('e'), 'g1@e g2@e', 'is passed over max_bypass times');
select is(placed('e'), '', 'and then what is free is kept for it');
select is((select distinct reason from scylla.pool_queue where rn in ('g3', 'g4')), 'slots of pool e is kept for its head', 'which is said');
select scylla.cancel(rn) from unnest('{f1,g1,g2}'::text[]) rn \g /dev/null
select is(placed('e'), 'f2@e g3@e', 'until it starts');
select scylla.cancel(rn) from unnest('{f2,g3,g4}'::text[]) rn \g /dev/null

-- ---- with other gates, and in submit_many ----------------------------------------------------------------------------

select scylla.submit('q', '1', rn => 'n0') \g /dev/null
select is((select status::text from scylla.submit('q', '1', rn => 'n1', depends_on => '{n0}', needs => '{"e": {"slots": 10}}')), 'waiting', 'a dependant with needs');
select is((select status::text from scylla.submit('q', '1', rn => 'n2', not_before => now() + interval '1 hour', needs => '{"e": {"slots": 10}}')), 'waiting', 'one that starts later');
select is((select count(*) from scylla.pool_line), 0::bigint, 'are not in line yet');
select is(placed('e'), '', 'nor placed');
select is((select rn from scylla.lease_task('n0', 'w')), 'n0', 'once the provider');
select is((select status::text from scylla.complete('n0', 'w', '{"x": 1}')), 'completed', 'is done');
select is(placed('e'), 'n1@e', 'it is placed');
select is((select args from scylla.lease_task('n1', 'w')), '[{"x": 1}]', 'and has its args, without a place for the pool');
select is((select args from scylla.task where rn = 'n1'), '[{"x": 1}]', 'in the view too');
select is((select status::text from scylla.complete('n1', 'w')), 'completed', 'a run');
select is((select count(*) from scylla.submit_many('[{"queue": "q", "spec": 1, "rn": "n3", "needs": {"e": {"slots": 1}}, "expected_runtime": "1 hour"},
                                                     {"queue": "q", "spec": 1, "rn": "n4", "needs": {"e": {"slots": 1}}, "depends_on": ["n3"]},
                                                     {"queue": "q", "spec": 1, "rn": "n5"}]') where inserted), 3::bigint, 'many at once');
select is(state('n3') || ' ' || state('n4') || ' ' || state('n5'), 'waiting waiting ready', 'each as it needs');
select is(placed('e'), 'n3@e', 'and is placed');
select isnt((select ends from scylla.pool_reservation where rn = 'n3'), null, 'with its expected end');

-- ---- removal ---------------------------------------------------------------------------------------------------------

select refuses($$ select scylla.drop_pool('e') $$, '2BP01', 'needed', 'pool "e" is needed by tasks that have not ended', table_ => 'pool');
select scylla.cancel(rn) from unnest('{n2,n4,n3}'::text[]) rn \g /dev/null
select lives_ok($$ select scylla.drop_pool('e') $$, 'a pool that no live task needs is dropped');
select is((select count(*) from scylla.pool where pool = 'e'), 0::bigint, 'and gone');
select is((select count(*) from scylla.purge()), 1::bigint, 'a purge');
select lives_ok($$ select scylla.drop_queue('q', true) $$, 'a queue is dropped with its tasks');
select lives_ok($$ select scylla.drop_queue('paused', true) $$, 'and another');
select scylla.maintain() \g /dev/null
select is((select count(*) from scylla.task_reservation) + (select count(*) from scylla.pool_line) + (select count(*) from scylla.task_gate where kind = 'r'),
          0::bigint, 'and all that these held and waited for');

-- ---- rights ----------------------------------------------------------------------------------------------------------

create role pools_user;
create role pools_other;
grant usage on schema scylla to pools_user, pools_other;
grant execute on all functions in schema scylla to pools_user, pools_other;
grant select on scylla.pool, scylla.pool_queue, scylla.pool_reservation to pools_user, pools_other;
select scylla.create_queue('r') \g /dev/null
select scylla.grant_queue('r', 'pools_user', 'submit') \g /dev/null
set local role pools_user;
select refuses(format('select scylla.%s', call), '42501', 'privilege', 'permission denied for pool "a"', format('Role "pools_user" does not have the privilege "%s".', privilege), table_ => 'pool')
from (values ('submit(''r'', ''1'', needs => ''{"a": {"cores": 1}}'')', 'use'), ('report_usage(''a'', ''{}'')', 'report'),
             ('alter_pool(''a'', ''{}'')', 'admin'), ('drop_pool(''a'')', 'admin'), ('drain_pool(''a'')', 'admin'), ('resume_pool(''a'')', 'admin'),
             ('grant_pool(''a'', ''pools_user'', ''admin'')', 'admin'), ('revoke_pool(''a'', ''pools_user'', ''admin'')', 'admin'),
             ('place(''a'')', 'admin')) as v(call, privilege);
select is((select count(*) from scylla.pool), 0::bigint, 'a role without a privilege sees no pools');
select is((select count(*) from scylla.place()), 0::bigint, 'and places nothing');
reset role;
select scylla.grant_pool('a', 'pools_user', 'use') \g /dev/null
select scylla.grant_pool('a', 'public', 'report') \g /dev/null
set local role pools_user;
select lives_ok($$ select scylla.submit('r', '1', rn => 'r1', needs => '{"a": {"cores": 1}}') $$, 'with use it submits');
select lives_ok($$ select scylla.report_usage('a', '{}') $$, 'and who may report, reports');
select is((select string_agg(pool, ' ') from scylla.pool), 'a', 'it sees the pool');
select is((select count(*) from scylla.pool_queue), 0::bigint, 'but not tasks that it may not view');
reset role;
select is((select count(*) from scylla.pool_queue), 1::bigint, 'the owner does');
select scylla.revoke_pool('a', 'pools_user', 'use') \g /dev/null
select scylla.grant_pool('a', 'pools_other', 'admin') \g /dev/null
set local role pools_user;
select throws_ok($$ select scylla.submit('r', '1', needs => '{"a": {"cores": 1}}') $$, '42501', null, 'no longer, once it is revoked');
set local role pools_other;
select is(placed('a'), 'r1@a', 'an admin places');
select is((select string_agg(rn, ' ') from scylla.pool_reservation), 'r1', 'and sees who holds what');
reset role;
select refuses($$ select scylla.grant_pool('a', 'nobody_there', 'use') $$, '42704', 'role', 'role "nobody_there" does not exist', table_ => 'pool');
select bad($$ select scylla.grant_pool('a', 'pools_user', 'see') $$, 'invalid value for argument "privilege": "see"');

select * from finish();
rollback;
