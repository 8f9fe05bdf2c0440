-- Parameters from run to run: what a mode protects, and what is a value. Numbers in brackets are sections of the specification of Maestro's
-- behaviour.
begin;
\ir include/helpers.psql
\ir include/workflows.psql
select * from no_plan();
select scylla.create_queue('a') \g /dev/null

-- ---- modes hold on every way down (4.2) ---------------------------------------------------------------------------------

select make('safe', jsonb_build_array(step('load', '{}', '{"params": {"t": {"type": "STRING", "value": "$target $rate"}}}', 'NoOp')),
    '{"params": {"target": {"type": "STRING", "value": "production", "mode": "IMMUTABLE"}, "rate": {"type": "LONG", "value": 1, "mode": "CONSTANT"},
                 "at_start": {"type": "LONG", "value": 1, "mode": "MUTABLE_ON_START"},
                 "nested": {"type": "MAP", "value": {"t": {"type": "STRING", "value": "x", "mode": "IMMUTABLE"}}}}}') \g /dev/null
-- The error of the step that starts the workflow with these parameters of it, of its run or of a loop around it.
create function refused(id text, of_step jsonb, of_run jsonb = '{}', around text = 'no', explicit boolean = false) returns text language plpgsql as $$
declare the_call jsonb := jsonb_build_object('subworkflow', jsonb_build_object('id', 'c', 'explicit_params', explicit,
            'params', '{"subworkflow_id": {"type": "STRING", "value": "safe"}}'::jsonb || of_step));
begin
    perform make(id, jsonb_build_array(case when around = 'no' then the_call
        else over('f', jsonb_build_object(around, '{"type": "STRING_ARRAY", "value": ["test"]}'::jsonb), jsonb_build_array(the_call)) end),
        jsonb_build_object('params', of_run));
    perform start(id);
    perform advance();
    return coalesce((select error ->> 'message' from scylla.workflow_step where workflow = id and step = 'c'), 'none');
end $$;
select is(refused('p1', '{"target": {"type": "STRING", "value": "test"}}'),
          'the parameters of workflow "safe" cannot be evaluated: target: the parameter is IMMUTABLE and cannot be changed by SUBWORKFLOW', 'from the step');
select is(refused('p2', '{"target": {"type": "STRING", "value": "test"}}', explicit => true) ~ 'target: the parameter is IMMUTABLE', true, 'from the step alone');
select is(refused('p3', '{}', '{"rate": {"type": "LONG", "value": 99}}') ~ 'rate: the parameter is CONSTANT', true, 'from the run, by its name');
select is(refused('p4', '{}', around => 'target') ~ 'target: the parameter is IMMUTABLE', true, 'from a loop around the step');
select is(refused('p5', '{"nested": {"type": "MAP", "value": {"t": {"type": "STRING", "value": "y"}}}}') ~ 'nested.t: the parameter is IMMUTABLE', true, 'a member of a MAP');
select is((select count(*) from scylla.workflow_run where workflow = 'safe'), 0::bigint, 'nothing has run');
select is(refused('p6', '{"target": {"type": "STRING", "value": "production"}, "nested": {"type": "MAP", "value": {"t": {"type": "STRING", "value": "x"}}}, "at_start": {"type": "LONG", "value": 7}}'),
          'none', 'the same value is no change, and others may be given');
select is((select params - 'target' ->> 'at_start' from scylla.workflow_run where workflow = 'safe'), '7', 'as they are');
select raises($$select scylla.restart_run('safe', 1, 'RESTART_FROM_BEGINNING', params => '{"target": "other"}', alone => true)$$, '22023', 'workflow', 'params');
select scylla.restart_run('safe', 1, 'RESTART_FROM_BEGINNING', params => '{"target": "other"}') \g /dev/null
select advance(), advance(), advance() \g /dev/null
select is((select error ->> 'message' from scylla.workflow_step where workflow = 'p6' and step = 'c') ~ 'target: the parameter is IMMUTABLE and cannot be changed by RESTART', true,
          'a restart of the subworkflow through those above it');
select is((select count(*) from scylla.workflow_run where workflow = 'safe' and params ->> 'target' <> 'production'), 0::bigint, 'no run has had another value');

-- ---- values are values (4.8) --------------------------------------------------------------------------------------------

select make('child', jsonb_build_array(step('show', '{}', '{"params": {"s": {"type": "STRING", "value": "$shape"}}}', 'NoOp')),
    '{"params": {"shape": {"type": "STRING_MAP", "value": {}}}}') \g /dev/null
select make('data', jsonb_build_array(step('get', '{"c": "true"}', '{"params": {"o": {"type": "STRING_MAP", "value": {}}}}'),
    jsonb_set(call('c', 'child'), '{subworkflow,params,shape}', '{"type": "STRING_MAP", "expression": "get__o"}'))) \g /dev/null
create function shown(o jsonb) returns text language plpgsql as $$
begin
    perform start('data');
    perform work('a', jsonb_build_object('params', jsonb_build_object('o', o))), advance(), advance();
    return (select params ->> 's' from scylla.workflow_step where workflow = 'child' and step = 'show' order by instance desc limit 1);
end $$;
select is(shown('{"type": "circle", "value": "3"}')::jsonb, '{"type": "circle", "value": "3"}', 'an object that looks like a parameter');
select is(shown('{"type": "STRING_MAP", "expression": "1 / 0"}')::jsonb, '{"type": "STRING_MAP", "expression": "1 / 0"}', 'also with an expression, which is not evaluated');
select is(shown('{"type": "STRING_MAP", "value": {"a": "b"}}')::jsonb, '{"a": "b"}', 'a worker may put out a parameter as Maestro writes it');

-- ---- as Maestro writes it (4.8, 7.5) ------------------------------------------------------------------------------------

select make('out', jsonb_build_array(step('s', '{}', '{"params": {"l": {"type": "LONG", "value": 0}, "m": {"type": "MAP", "value": {"k": {"type": "LONG", "value": 1}}}}}'))) \g /dev/null
select start('out') \g /dev/null
select work('a', '{"params": {"l": {"value": 41, "type": "LONG", "evaluated_result": 41, "evaluated_time": 1625871404000}, "m": {"type": "MAP", "value": {"k": {"type": "LONG", "value": 2}}}},
    "artifacts": {"maestro_dynamic_output": {"type": "DYNAMIC_OUTPUT", "signal_outputs": [{"type": "MAP", "value": {"name": {"type": "STRING", "value": "demo_table"},
        "at": {"type": "LONG", "value": 7}}, "evaluated_result": {"name": "demo_table", "at": 7}, "evaluated_time": 1625871404000}]}}}') \g /dev/null
select advance(), advance() \g /dev/null
select is((select format('%s %s %s', status, params -> 'l', params -> 'm') from scylla.workflow_step where workflow = 'out'), 'SUCCEEDED 41 {"k": 2}', 'parameters');
select is((select params from scylla.signal where name = 'demo_table'), '{"at": 7}', 'and signals');
-- ---- what a run says of itself ---------------------------------------------------------------------------------------------

select make('whose', jsonb_build_array(step('s', '{}', '{"params": {"name": {"type": "STRING", "value": "$owner"}, "same": {"type": "STRING", "expression": "params.getFromInstance(''owner'')"}}}', 'NoOp'))) \g /dev/null
select start('whose') \g /dev/null
select advance(), advance() \g /dev/null
select is((select format('%s %s', params ->> 'name', params ->> 'same') from scylla.workflow_step where workflow = 'whose'), 'ada ada',
    'the owner of a run is that of its properties, in its steps, too');

-- ---- a loop whose condition is a boolean ------------------------------------------------------------------------------------

select make('never', '[{"while": {"id": "w", "condition": false, "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG", "value": 4}}}},
    "steps": [{"step": {"id": "b", "type": "NoOp"}}], "transition": {"successors": {"z": true}}}}, {"step": {"id": "z", "type": "NoOp", "params": {"r": {"type": "LONG", "expression": "w__i"}}}}]') \g /dev/null
select start('never') \g /dev/null
select advance(), advance() \g /dev/null
select is((select string_agg(step || ' ' || status || coalesce(' ' || (params ->> 'r'), ''), ', ' order by step) from scylla.workflow_step where workflow = 'never'),
    'w SUCCEEDED, z SUCCEEDED 4', 'a while whose condition is false runs no step');

-- ---- why a subworkflow was stopped -------------------------------------------------------------------------------------------

select make('inner', jsonb_build_array(step('s'))), make('outer', jsonb_build_array(step('f', '{}', '{"failure_mode": "FAIL_IMMEDIATELY", "params": {"queue": {"type": "STRING", "value": "failing"}}}'),
    '{"subworkflow": {"id": "c", "params": {"subworkflow_id": {"type": "STRING", "value": "inner"}}}}'::jsonb)) \g /dev/null
select scylla.create_queue('failing') \g /dev/null
select start('outer') \g /dev/null
select advance(), advance() \g /dev/null
select scylla.fail(rn, 'w', '{"code": "x", "retryable": false}') from scylla.lease('failing', 'w') \g /dev/null
select advance(), advance(), advance(), advance() \g /dev/null
select is((select format('%s %s', status, error ->> 'message') from scylla.workflow_step where workflow = 'outer' and step = 'c'),
    'STOPPED step "f" has failed, with FAIL_IMMEDIATELY', 'the step of a subworkflow tells what stopped it');
select is_empty('select * from scylla.check()', 'check() finds nothing');
select * from finish();
rollback;
