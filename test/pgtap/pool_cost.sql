-- What a pass costs grows with the pools in whose line tasks are, not with those that have nothing to do: each live run of a workflow with
-- instance_step_concurrency has one. Counted in pages.
begin;
\ir include/helpers.psql
select * from no_plan();

create temp table cost (phase text, call text, pages int);
create function measure(phase text, call text, statement text) returns void language plpgsql as $$
declare
    plan json;
begin
    execute 'explain (analyze, buffers, timing off, format json) ' || statement into plan;
    plan := plan -> 0 -> 'Plan';
    insert into cost values (phase, call, (plan ->> 'Shared Hit Blocks')::int + (plan ->> 'Shared Read Blocks')::int);
end $$;
-- The least of some: the first ones fill caches, make plans, or clear pages of dead rows.
create function measure_all(phase text) returns void language plpgsql as $$
begin
    for i in 1 .. 10 loop
        perform measure(phase, 'place a pool', $q$select from scylla.place('p')$q$);
        perform measure(phase, 'place all', $q$select from scylla.place()$q$);
        perform measure(phase, 'explain', $q$select from scylla.explain_waiting('waits')$q$);
        perform measure(phase, 'explain several', $q$select from scylla.explain_waiting('waits for several')$q$);
    end loop;
end $$;

-- Two tasks run, three wait: one for a pool, one for two, one for the other of which the first pass has heard nothing.
select scylla.create_pool('p', '{"a": 1}'), scylla.create_pool('other', '{"a": 1}'), scylla.create_pool('third', '{"a": 1}') \g /dev/null
select scylla.submit('q', '1', rn => 'p', needs => '{"p": {"a": 1}}'), scylla.submit('q', '1', rn => 'other', needs => '{"other": {"a": 1}, "third": {"a": 1}}') \g /dev/null
select is((select count(*) from scylla.place()), 2::bigint, 'the pools are full');
select scylla.submit('q', '1', rn => 'waits', needs => '{"p": {"a": 1}}'),
       scylla.submit('q', '1', rn => 'waits for several', needs => '{"p": {"a": 1}, "other": {"a": 1}}'),
       scylla.submit('q', '1', rn => 'waits for one of two', needs => '{"any": ["third", "other"], "a": 1}') \g /dev/null
-- The plans are made for small tables.
analyze scylla.resource_pool, scylla.pool_head, scylla.pool_report;
select measure_all('alone') \g /dev/null
select count(scylla.create_pool('idle ' || i, '{"a": 1}')) from generate_series(1, 2000) i \g /dev/null
select measure_all('beside others') \g /dev/null

create temp view least as select phase, call, min(pages) as pages from cost group by phase, call;
select diag((select string_agg(format('%s %s: %s pages', call, phase, pages), '; ' order by call, phase) from least));
-- Of three indexes that have grown by a level, some times.
select cmp_ok(b.pages, '<=', a.pages + 40, b.call || ' does not read pools that have nothing to do')
from least a join least b using (call) where a.phase = 'alone' and b.phase = 'beside others' order by call;

-- And what they find is the same.
select is((select string_agg(distinct reason, '; ' order by reason) from scylla.pool_queue), 'a short by 1 in pool p; a short by 1 in pool third', 'all wait for room');
select scylla.cancel('p') \g /dev/null
select is((select string_agg(rn, ' ') from scylla.place('p')), 'waits', 'one is placed');
select scylla.cancel(rn) from unnest('{waits,other}'::text[]) rn \g /dev/null
select is((select string_agg(rn || ' ' || coalesce(chosen, '-'), ', ' order by rn) from scylla.place('p')), 'waits for one of two third, waits for several -',
          'a pass of one pool places what the pools behind it have room for');

select * from finish();
rollback;
