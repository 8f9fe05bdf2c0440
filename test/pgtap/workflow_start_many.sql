-- start_workflows(): many instances in one call.
-- Numbers in brackets are sections of the specification of Maestro's behaviour.
begin;
\ir include/helpers.psql
select * from no_plan();
\ir include/workflows.psql

select make(id, jsonb_build_array(step('s', type => 'NoOp')), '{"params": {"n": {"type": "LONG", "value": 1}, "fixed": {"type": "LONG", "value": 2, "mode": "CONSTANT"}}}')
from unnest('{a,b,c}'::text[]) id \g /dev/null
select make('first_only', jsonb_build_array(step('s')), '{}', '{"run_strategy": "first_only"}') \g /dev/null
select make('a', jsonb_build_array(step('s', type => 'NoOp'))) \g /dev/null
create function started(requests jsonb) returns text language sql as $$
    select string_agg(format('%s %s/%s/%s %s', code, workflow, instance, run, status), ', ') from scylla.start_workflows(requests)
$$;

-- ---- what is started ---------------------------------------------------------------------------------------------------

select is(started('[]'), null, '[3.4] nothing is asked for');
select is(started('[{"workflow": "b"}, {"workflow": "a"}, {"workflow": "b"}, {"workflow": "c", "params": null, "version": null, "request_id": null}]'),
          '1 b/1/1 CREATED, 1 a/1/1 CREATED, 1 b/2/1 CREATED, 1 c/1/1 CREATED', '[3.4] a row for each, in the order of the array; those of one workflow in their order');
select is(started('[{"workflow": "a", "version": 1, "params": {"n": 5}, "request_id": "r"}, {"workflow": "a", "version": "2"}, {"workflow": "a", "request_id": "r"}]'),
          '1 a/2/1 CREATED, 1 a/3/1 CREATED, 0 a/2/1 CREATED', '[3.1] versions by number or word, and a request that came before');
select is((select string_agg(format('%s %s', version, params -> 'n'), ', ' order by instance) from scylla.workflow_run where workflow = 'a'), '2 , 1 5, 2 ', 'with their parameters');
select is(started('[{"workflow": "first_only"}, {"workflow": "first_only"}]'), '1 first_only/1/1 CREATED, -1 first_only/2/1 STOPPED', '[3.3] the run strategy applies from one to the next');
select advance() \g /dev/null
select is((select string_agg(distinct status, ' ') from scylla.workflow_run where workflow <> 'first_only'), 'SUCCEEDED', 'and they run');
select is((select initiator from scylla.workflow_run where workflow = 'b' and instance = 2), jsonb_build_object('type', 'MANUAL', 'user', current_user), 'started by who has called');
select is((select count(*) from scylla.start_workflows((select jsonb_agg(jsonb_build_object('workflow', 'b', 'params', jsonb_build_object('n', i))) from generate_series(1, 300) i))), 300::bigint, 'many');

-- ---- what is refused, as a whole -----------------------------------------------------------------------------------------

create function context_of(statement text) returns text language plpgsql as $$
declare context text;
begin
    execute statement;
    return null;
exception when others then
    get stacked diagnostics context = pg_exception_context;
    return format('%s %s; %s', sqlstate, sqlerrm, split_part(context, E'\n', 1));
end $$;
select is(context_of(format('select scylla.start_workflows(%L)', requests)), message || '; element 2 of "requests" of scylla.start_workflows()', 'names the element: ' || message)
from (values ('[{"workflow": "c"}, {"workflow": "gone"}]', '42704 workflow "gone" does not exist'),
             ('[{"workflow": "c"}, {"workflow": "a", "version": 7}]', '42704 version 7 of workflow "a" does not exist'),
             ('[{"workflow": "c"}, {"workflow": "c", "params": {"fixed": 3}}]',
              '22023 the parameters of workflow "c" cannot be evaluated: fixed: the parameter is CONSTANT and cannot be changed by LAUNCH')) v (requests, message);
select refuses_element('select scylla.start_workflows(''[{"workflow": "c"}, {"workflow": "c", "params": [1]}]'')', 2, 'params', '[1]', 'It must be an object.');
select refuses_element('select scylla.start_workflows(''[{"workflow": "c"}, 5]'')', 2, 'requests', '5', 'Each element must be an object.');
select refuses_element('select scylla.start_workflows(''[{"workflow": "c"}, {"workflow": "c", "param": {}}]'')', 2, 'requests', '"param"', 'There is no such argument of start_workflow.');
select refuses_element('select scylla.start_workflows(''[{"params": {}}]'')', 1, 'workflow', 'null', 'It must not be null.');
select refuses_element('select scylla.start_workflows(''[{"workflow": ""}]'')', 1, 'workflow', '""', 'It must have 1 to 200 characters.');
select refuses_element('select scylla.start_workflows(''[{"workflow": "c", "request_id": ""}]'')', 1, 'request_id', '""', 'It must have 1 to 200 characters.');
select refuses_argument(format('select scylla.start_workflows(%L)', v), 'requests', coalesce(v, 'null'), 'It must be an array of objects.')
from unnest(array['{}', '5', null]) v;
select is((select count(*) from scylla.workflow_run where workflow = 'c'), 1::bigint, 'nothing of them is started');
select * from finish();
rollback;
