-- A page of the newest rows of a view costs what it shows: an index gives the rows in their order, whatever the role may see.
begin;
\ir include/helpers.psql
select * from no_plan();

select scylla.create_queue('chunks'), scylla.define_job('job', 'chunks') \g /dev/null
do $$ begin
    for i in 1 .. 20 loop
        perform scylla.create_plan('plan ' || i), scylla.create_callback('token ' || i), scylla.send_signal('seen', jsonb_build_object('n', i));
        perform scylla.submit('waits', '1', wait_for => jsonb_build_array(jsonb_build_object('signal', 'expected', 'match', jsonb_build_object('n', i)),
                                                                           jsonb_build_object('check', jsonb_build_object('queue', 'asked', 'spec', i))));
        perform scylla.run_job('job', int8multirange(int8range(i, i, '[]')));
    end loop;
end $$;
select scylla.create_plan('whole') \g /dev/null
select scylla.submit('waits', '1', rn => n, plan => 'whole') from unnest('{first,second,third}'::text[]) n \g /dev/null
create temp table page (of text, query text);
insert into page
select v, format('select seq from scylla.%s where true order by seq desc limit 5', v) from unnest('{plan,signal,condition,job_plan}'::text[]) v
union all
select v || ', a further one', format('select seq from scylla.%s where seq < %s order by seq desc limit 5', v, seq)
from (select 'plan' as v, max(seq) as seq from scylla.plan union all select 'signal', max(seq) from scylla.signal
      union all select 'condition', max(seq) from scylla.condition union all select 'job_plan', max(seq) from scylla.job_plan) last;

-- The nodes that sort, and those that read more rows than twenty. A table of one page is sorted sooner than read by an index, so sorting is
-- made dear; where nothing else can be done, it is done.
create function costs(query text) returns setof text language plpgsql set enable_sort = off set enable_seqscan = off as $$
declare
    plan jsonb;
begin
    execute 'explain (analyze, timing off, format json) ' || query into plan;
    return query select n ->> 'Node Type'
                 from jsonb_path_query(plan, 'strict $.** ? (exists (@."Node Type"))') n
                 where n ->> 'Node Type' in ('Sort', 'Incremental Sort')
                    or n ->> 'Node Type' ~ 'Scan' and (n ->> 'Actual Rows')::numeric + coalesce((n ->> 'Rows Removed by Filter')::numeric, 0) > 10;
end $$;
select is_empty(format('select costs(%L)', query), of) from page;
create role page_reader;
grant execute on function costs to page_reader;
grant usage on schema scylla to page_reader;
grant select on all tables in schema scylla to page_reader;
select scylla.grant_queue('asked', 'page_reader', 'view'), scylla.grant_signal('seen', 'page_reader', 'wait'), scylla.grant_signal('expected', 'page_reader', 'wait') \g /dev/null
set role page_reader;
select is_empty('select costs(''select seq from scylla.signal order by seq desc limit 5'')', 'also for a role that sees them by a grant');
reset role;
-- The newest ones, each once.
select results_eq('select seq from scylla.condition order by seq desc limit 5', 'select seq from (select seq from scylla.condition offset 0) c order by seq desc limit 5',
                  'they are the newest');
select is((select count(*) || ' ' || count(distinct seq) || ' ' || string_agg(distinct kind, ' ') from scylla.condition), '60 60 callback check signal', 'each is there once');

-- A limit without an order is known inside the view, whose own order it is: however the rows lie in the table, they are not sorted for it.
select count(*) from generate_series(1, 20000) i, scylla.create_plan('many ' || i) \g /dev/null
analyze scylla.task_plan;
update pg_statistic set stanumbers2 = '{0}' where starelid = 'scylla.task_plan'::regclass and stakind2 = 3
    and staattnum = (select attnum from pg_attribute where attrelid = 'scylla.task_plan'::regclass and attname = 'id');
create function nodes(query text) returns text language plpgsql as $$
declare
    plan jsonb;
begin
    execute 'explain (format json) ' || query into plan;
    return (select string_agg(distinct n ->> 'Node Type', ' ' order by n ->> 'Node Type') from jsonb_path_query(plan, 'strict $.** ? (exists (@."Node Type"))') n);
end $$;
select is(nodes('select seq from scylla.plan limit 5'), 'Index Scan Limit Subquery Scan', 'no sort for the newest plans');
select results_eq('select seq from scylla.plan limit 5', 'select seq from scylla.plan order by seq desc limit 5', 'they are the newest');

-- A line is sorted by what it has itself; only the tasks of a page are looked up.
create function reads(query text) returns text language plpgsql set enable_seqscan = off as $$
declare
    plan jsonb;
begin
    execute 'explain (analyze, timing off, format json) ' || query into plan;
    return (select string_agg(distinct coalesce(n ->> 'Index Name', n ->> 'Relation Name', n ->> 'Function Name'), ' ' order by coalesce(n ->> 'Index Name', n ->> 'Relation Name', n ->> 'Function Name'))
            from jsonb_path_query(plan, 'strict $.** ? (@."Actual Loops" > 0)') n);
end $$;
select scylla.create_pool('p', '{"a": 1}'), scylla.submit('needs', '1', needs => '{"p": {"a": 1}}') \g /dev/null
select from scylla.place() \g /dev/null
select scylla.submit('needs', to_jsonb(i), rn => 'needs ' || i, priority => i % 3, needs => '{"p": {"a": 1}}') from generate_series(1, 10) i \g /dev/null
select is(regexp_replace(reads($$select seq from scylla.pool_queue order by pool, priority desc, created limit 5$$), 'pool_line_\w+', 'pool_line'),
          'pool_line queue resource_pool_pkey', 'the line of pools, with rights that are asked once for each queue and pool');
select results_eq($$select rn, reason from scylla.pool_queue where seq = any (array(select seq from scylla.pool_queue order by pool, priority desc, created limit 3)) order by created$$,
                  $$select 'needs ' || i, 'a short by 1 in pool p' from unnest('{2,5,8}'::int[]) i$$, 'and those at its head');

-- The first ones, without reading the rest. Tasks of a class follow each other: with three classes, three rows of each are enough.
select scylla.submit('needs', to_jsonb(i), rn => 'later ' || i, priority => i % 3, needs => '{"p": {"a": 1}}') from generate_series(1, 100) i \g /dev/null
create function rows_of_line(query text) returns bigint language plpgsql as $$
declare
    before bigint := (select idx_tup_fetch + seq_tup_read from pg_stat_xact_all_tables where relid = 'scylla.pool_line'::regclass);
begin
    execute query;
    return (select idx_tup_fetch + seq_tup_read from pg_stat_xact_all_tables where relid = 'scylla.pool_line'::regclass) - before;
end $$;
select results_eq($$select rn, reason from scylla.list_pool_queue(max_tasks => 3)$$, $$select 'needs ' || i, 'a short by 1 in pool p' from unnest('{2,5,8}'::int[]) i$$, 'the first of a line');
select results_eq(format('select rn from scylla.list_pool_queue(%L, %s)', pool, n), format('select rn from scylla.pool_queue order by pool, priority desc, seq limit %s', n), n || ' of ' || coalesce(pool, 'all pools'))
from unnest('{p,null}'::text[]) pool, unnest('{1,4,36,37,38,109,110,1000}'::int[]) n;
select is((select count(*) from scylla.list_pool_queue(null, null)), 100::bigint, 'a hundred, if nobody says how many');
select is_empty($$select from scylla.list_pool_queue('none')$$, 'an unknown pool has no tasks');
select refuses_argument(format('select scylla.list_pool_queue(max_tasks => %s)', n), 'max_tasks', n, 'It must be between 1 and 100000.') from unnest('{0,-1,100001}'::text[]) n;
select refuses_argument($$select scylla.list_pool_queue('')$$, 'pool', '""', 'It must have 1 to 200 characters.');
select cmp_ok(rows_of_line('select scylla.list_pool_queue(max_tasks => 2)'), '<', 30::bigint, 'it reads few rows of the line');
select cmp_ok(rows_of_line('select count(reason) from scylla.pool_queue'), '>=', 110::bigint, '... of which there are 110');

-- Runs are found by workflow and number, and the live ones of all workflows by themselves.
select scylla.create_workflow('{"properties": {"owner": "ann", "run_strategy": "parallel"}, "workflow": {"id": "w", "steps": [{"step": {"id": "s", "type": "T"}}]}}') \g /dev/null
select scylla.start_workflow('w') from generate_series(1, 10) \g /dev/null
select matches(reads($$select instance, run, status from scylla.workflow_run where workflow = 'w' and instance > 5 and instance <= 8 order by instance desc, run desc limit 2$$),
               'workflow_run_state_name', 'a page of runs');
select matches(reads($$select instance, run, status from scylla.workflow_run where ended is null$$), 'workflow_run_state_live', 'the live ones');

select matches(reads($$select instance, run from scylla.workflow_run where workflow = 'w' and status = 'FAILED'$$), 'workflow_run_state_ended', 'those that have failed');

-- The rights on a workflow are a query of their own, and made once for a run, however many rows the run has.
select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "loop", "steps": [{"foreach": {"id": "each",
    "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "expression": "Util.intsBetween(0, 20, 1)"}}}},
    "steps": [{"step": {"id": "one", "type": "NoOp"}}]}}]}}') \g /dev/null
select scylla.start_workflow('loop') \g /dev/null
select scylla._advance() from generate_series(1, 3) \g /dev/null
create function look_up(query text, at text) returns numeric language plpgsql as $$
declare
    plan jsonb;
begin
    execute 'explain (analyze, timing off, format json) ' || query into plan;
    return (select sum((n ->> 'Actual Loops')::numeric)
            from jsonb_path_query(plan, 'strict $.** ? (@."Parent Relationship" == "SubPlan" && @."Relation Name" == $at)', jsonb_build_object('at', at)) n);
end $$;
select is((select count(*) from scylla.workflow_loop_iteration where workflow = 'loop'), 20::bigint, 'there are iterations');
select is(look_up(format('select iterations from scylla.%s where workflow = ''loop'' and instance = 1 and iterations[1] > 0', v), 'workflow_head'), 1::numeric, v)
from unnest('{workflow_loop_iteration,workflow_step,workflow_step_attempt}'::text[]) v;

-- Leases that have ended leave empty pages behind.
select matches(reads('select worker, leases from scylla.stat_worker'), 'task_lease_pkey', 'workers are found by the leases that there are');
select results_eq($$select rn from scylla.plan_task where seq = any (array(select seq from scylla.plan_task where plan = 'whole' order by seq limit 2)) order by seq$$,
                  $$values ('first'), ('second')$$, 'the first tasks of a plan by their numbers');

select * from finish();
rollback;
