-- What a lease costs does not depend on how many tasks are ready, nor on what the planner believes: it looks at as
-- many pages.
begin;
\ir include/helpers.psql
select * from no_plan();

-- Pages that a statement looks at.
create function pages(statement text) returns int language plpgsql as $$
declare
    plan json;
begin
    execute 'explain (analyze, buffers, timing off, format json) ' || statement into plan;
    return (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::int + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::int;
end $$;
-- The least of a few calls: now and then one extends a table or splits a page of an index.
create function least_pages(statement text) returns int language plpgsql as $$
begin
    return (select min(pages(statement)) from generate_series(1, 7));
end $$;

do $$ begin
    perform scylla.submit_bulk('warm', array_agg(to_jsonb(n))) from generate_series(1, 100) n;
    perform pages($q$select from scylla.lease('warm', 'w')$q$);
    perform scylla.submit_bulk('thousand', array_agg(to_jsonb(n))) from generate_series(1, 1000) n;
end $$;
create temp table cost (queue text, tasks int, analysed boolean, one int, ten int);
insert into cost select 'thousand', 1000, false, least_pages($$select from scylla.lease('thousand', 'w')$$),
    least_pages($$select from scylla.lease('thousand', 'w', 10)$$);
do $$ begin perform scylla.submit_bulk('many', array_agg(to_jsonb(n))) from generate_series(1, 50000) n; end $$;
insert into cost select 'many', 50000, false, least_pages($$select from scylla.lease('many', 'w')$$),
    least_pages($$select from scylla.lease('many', 'w', 10)$$);
analyze scylla.queue, scylla.task_spec, scylla.task_ready, scylla.task_lease;
insert into cost select 'thousand', 1000, true, least_pages($$select from scylla.lease('thousand', 'w')$$),
    least_pages($$select from scylla.lease('thousand', 'w', 10)$$);
insert into cost select 'many', 50000, true, least_pages($$select from scylla.lease('many', 'w')$$),
    least_pages($$select from scylla.lease('many', 'w', 10)$$);
-- A planner that was led to believe that the tables are empty, or that scans of whole tables cost nothing.
set local seq_page_cost = 0;
set local cpu_tuple_cost = 0;
set local enable_indexscan = off;
set local enable_bitmapscan = off;
update pg_class set reltuples = 0, relpages = 0 where relnamespace = 'scylla'::regnamespace and relkind = 'r';
insert into cost select 'many', 50000, null, least_pages($$select from scylla.lease('many', 'w')$$),
    least_pages($$select from scylla.lease('many', 'w', 10)$$);
reset enable_indexscan;
reset enable_bitmapscan;

select diag(format('pages for one task and for ten: %s',
                   (select string_agg(format('%s and %s (%s ready, analysed: %s)', one, ten, tasks, analysed), '; ')
                    from cost)));
-- An index of 50,000 entries may be a level higher, and a lease goes down five of them.
select cmp_ok(max(one) - min(one), '<=', 8, 'one task: the same number of pages, give or take a level of the indexes')
from cost;
select cmp_ok(max(one), '<=', 60, 'which is small') from cost;
select cmp_ok(max(ten), '<=', 10 * max(one), 'ten tasks: less than ten times as many') from cost;
select cmp_ok((select relpages from pg_class where oid = 'scylla.task_spec'::regclass), '=', 0,
              'the planner had been deceived');

-- The other verbs know their task by name: they do not search either.
create temp table held as select rn from scylla.lease('many', 'w', 100);
analyze held;
create function verb_pages(call text) returns int language plpgsql as $$
begin
    return (select min(pages(format('select from scylla.' || call, rn)))
            from (select rn from held join scylla.task using (rn) where status = 'running' limit 7) h);
end $$;
select cmp_ok(verb_pages(call), '<=', 60, 'few pages: ' || call)
from unnest(array['heartbeat(%L, ''w'', 0.5)', 'get_task(%L)', 'complete(%L, ''w'')', 'yield(%L, ''w'')',
                  'fail(%L, ''w'', ''{"code": "x"}'')',
                  'abort(%L, ''w'', ''{"code": "x"}'')', 'cancel(%L)', 'submit(''many'', ''{}'')',
                  'list_tasks(''many'', ''ready'', max_tasks => 1)']) call;

-- Nor do they depend on how often this transaction has moved the task: each time leaves a row that nobody can remove yet.
create function moved_pages(task text, rounds int) returns int language plpgsql as $$
declare
    moves text[] := array(select format(call, task) from unnest(array[
        'lease_task(%L, ''w'')', 'fail(%L, ''w'', ''{"code": "x"}'', retry_after => ''0'')', 'lease_task(%L, ''w'')', 'yield(%L, ''w'')',
        'lease_task(%L, ''w'')', 'not_yet(%L, ''w'', ''0'')']) call);
    move text;
begin
    for i in 1 .. rounds loop
        foreach move in array moves loop
            execute 'select from scylla.' || move;
        end loop;
    end loop;
    return (select min(p) from (select sum(pages('select from scylla.' || m)) p from generate_series(1, 3) n, unnest(moves) m group by n) p);
end $$;
do $$ begin perform scylla.submit('moved', '1', rn => 'moved', max_attempts => 1000000); end $$;
create temp table moved as select moved_pages('moved', 60) as few, moved_pages('moved', 600) as many;
select diag(format('pages for six moves of a task after 360 others in the transaction, and after 3,960: %s and %s', few, many)) from moved;
select cmp_ok(many, '<=', few * 3 / 2, 'a task that this transaction has moved thousands of times is moved as any other') from moved;

-- The settings of a queue are read when the session uses it for the first time, or when they have changed.
create function reads_of_queues(call text) returns bigint language plpgsql as $$
declare
    before bigint := pg_stat_get_xact_numscans('scylla.queue_pkey'::regclass) + pg_stat_get_xact_numscans('scylla.queue_name_key'::regclass);
begin
    execute 'select from scylla.' || call;
    return pg_stat_get_xact_numscans('scylla.queue_pkey'::regclass) + pg_stat_get_xact_numscans('scylla.queue_name_key'::regclass) - before;
end $$;
create temp table leased as select rn from scylla.lease('many', 'reader');
select is(reads_of_queues(format(call, rn)), 0::bigint, 'the settings are known: ' || call)
from leased, unnest(array['submit(''many'', ''{}'')', 'lease(''many'', ''reader'')', 'heartbeat(%L, ''reader'')',
                          'complete(%L, ''reader'')']) call;
do $$ begin perform scylla.alter_queue('many', '{"max_attempts": 3}'); end $$;
select cmp_ok(reads_of_queues('submit(''many'', ''{}'')'), '>', 0::bigint, 'after a change they are read');
select is(reads_of_queues('submit(''many'', ''{}'')'), 0::bigint, 'once');

select all_is_sound();
select * from finish();
rollback;
