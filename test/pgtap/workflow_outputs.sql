-- Signals that steps send (7.5).
-- Numbers in brackets are sections of the specification of Maestro's behaviour.
begin;
\ir include/helpers.psql
select * from no_plan();
select scylla.create_queue('a') \g /dev/null

create function make(id text, steps jsonb, more jsonb = '{}') returns int language sql as $$
    select scylla.create_workflow(jsonb_build_object('properties', '{"owner": "ada", "run_strategy": "parallel"}'::jsonb, 'workflow', jsonb_build_object('id', id, 'steps', steps) || more))
$$;
create function step(id text, outputs jsonb, more jsonb = '{}', type text = 'NoOp') returns jsonb language sql as $$
    select jsonb_build_array(jsonb_build_object('step', jsonb_build_object('id', id, 'type', type, 'signal_outputs', outputs) || more))
$$;
create function start(workflow text, params jsonb = '{}') returns bigint language plpgsql as $$
declare n bigint;
begin
    n := (scylla.start_workflow(workflow, params)).instance;
    perform scylla._advance();
    return n;
end $$;
create function steps(of text, number bigint = 1) returns text language sql as $$
    select string_agg(step || coalesce(iterations::text, '') || ' ' || status, ', ' order by step, iterations) from scylla.workflow_step where workflow = of and instance = number
$$;
create function sent(of text) returns text language sql as $$
    select coalesce(string_agg(format('%s %s', params, payload), ', ' order by seq), 'nothing') from scylla.signal where name = of
$$;
create function work(result jsonb) returns void language plpgsql as $$
declare t scylla.task;
begin
    select * into t from scylla.lease('a', 'w');
    perform scylla.complete(t.rn, 'w', result);
    perform scylla._advance();
end $$;

-- ---- when a step has succeeded -----------------------------------------------------------------------------------------

select make('one', step('s', '[{"name": "db/t", "params": {"day": {"type": "LONG", "expression": "day + 1"}, "who": {"type": "STRING", "value": "$name"}}, "payload": {"big": {"type": "LONG_ARRAY", "value": [1, 2]}}}]',
                            '{"params": {"name": {"type": "STRING", "value": "s of $workflow_id"}}}'), '{"params": {"day": {"type": "LONG", "value": 5}}}') \g /dev/null
select start('one') \g /dev/null
select is(steps('one'), 's SUCCEEDED', '[7.5] a step with output');
select is(sent('db/t'), '{"day": 6, "who": "s of one"} {"big": [1, 2], "signal_source": {"run": 1, "step": "s", "attempt": 1, "instance": 1, "workflow": "one"}}',
          '[7.5] sends it with the values of its parameters, and says who it is');
select is((select status from scylla.workflow_run where workflow = 'one'), 'SUCCEEDED', 'and the run goes on');
select start('one') \g /dev/null
select is((select count(*) from scylla.signal where name = 'db/t'), 1::bigint, '[7.5] once for a name and parameters');
select is(steps('one', 2), 's SUCCEEDED', '[7.5] the step succeeds all the same');
select start('one', '{"day": 6}') \g /dev/null
select is((select count(*) from scylla.signal where name = 'db/t'), 2::bigint, '[7.5] other parameters are another signal');

-- ---- dynamic -------------------------------------------------------------------------------------------------------

select make('dynamic', step('s', '[{"name": "fixed", "params": {"rows": {"type": "LONG", "expression": "rows"}}}]', '{"params": {"rows": {"type": "LONG", "value": 0}}}', 'A')
            || step('t', '[]', type => 'A')) \g /dev/null
select start('dynamic') \g /dev/null
select is(sent('fixed'), 'nothing', '[7.5] not before the step has succeeded');
select work('{"params": {"rows": 7}, "artifacts": {"maestro_dynamic_output": {"signal_outputs": [{"name": "found", "params": {"part": "x"}, "payload": {"n": 1}}, {"name": "found", "params": {"part": "y"}}]}}}') \g /dev/null
select is(sent('fixed'), '{"rows": 7} {"signal_source": {"run": 1, "step": "s", "attempt": 1, "instance": 1, "workflow": "dynamic"}}', '[7.5] with what it has put out');
select is(sent('found'), '{"part": "x"} {"n": 1, "signal_source": {"run": 1, "step": "s", "attempt": 1, "instance": 1, "workflow": "dynamic"}}, '
                         '{"part": "y"} {"signal_source": {"run": 1, "step": "s", "attempt": 1, "instance": 1, "workflow": "dynamic"}}', '[7.5] artifacts may have more of them');
select work('{"artifacts": {"maestro_dynamic_output": {"signal_outputs": [{"params": {}}]}}}') \g /dev/null
select is(steps('dynamic'), 's SUCCEEDED, t FATALLY_FAILED', '[7.5] such that cannot be read fail the step');
select is((select error ->> 'message' from scylla.workflow_step where workflow = 'dynamic' and step = 't'), 'a signal of "maestro_dynamic_output" has no "name"', 'and it says why');

-- ---- loops and subworkflows -------------------------------------------------------------------------------------------

select make('loop', '[{"foreach": {"id": "f", "signal_outputs": [{"name": "all", "params": {"n": {"type": "LONG", "value": 1}}}],
                       "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": [1, 2]}}}},
                       "steps": [{"step": {"id": "in", "type": "NoOp", "signal_outputs": [{"name": "each", "params": {"i": {"type": "LONG", "expression": "i"}}}]}}]}},
                     {"subworkflow": {"id": "sub", "params": {"subworkflow_id": {"type": "STRING", "value": "one"}, "subworkflow_version": {"type": "STRING", "value": "active"}},
                       "signal_outputs": [{"name": "subs", "params": {}}]}}]') \g /dev/null
select start('loop') \g /dev/null
select is(steps('loop'), 'f SUCCEEDED, in{1} SUCCEEDED, in{2} SUCCEEDED, sub SUCCEEDED', '[7.5] loops, what is in them, and subworkflows');
select is((select string_agg(name || ' ' || params || coalesce((payload #> '{signal_source,iteration}')::text, ''), ', ' order by name, params) from scylla.signal where name in ('all', 'each', 'subs')),
          'all {"n": 1}, each {"i": 1}[1], each {"i": 2}[2], subs {}', '[7.5] send as well');

-- ---- what cannot be sent ---------------------------------------------------------------------------------------------

select make('wrong', step('s', '[{"name": "good", "params": {}}, {"name": "bad", "params": {"x": {"type": "LONG", "expression": "1 / 0"}}}]', '{"transition": {"successors": {}}}')) \g /dev/null
select start('wrong') \g /dev/null
select is(steps('wrong'), 's FATALLY_FAILED', '[7.5] an expression that cannot be evaluated fails the step');
select is((select error ->> 'message' from scylla.workflow_step where workflow = 'wrong'), 'x: division by zero (line 1, column 3)', 'with its place');
select is(sent('good'), 'nothing', 'and nothing is sent');

create role scylla_test_owner;
grant usage on schema scylla to scylla_test_owner;
grant execute on all functions in schema scylla to scylla_test_owner;
set local role scylla_test_owner;
select make('theirs', step('s', '[{"name": "new", "params": {}}, {"name": "db/t", "params": {}}]')) \g /dev/null
select scylla.start_workflow('theirs') \g /dev/null
reset role;
select scylla._advance() \g /dev/null
select is(steps('theirs'), 's FATALLY_FAILED', '[7.5] a step whose owner may not send fails');
select is((select error from scylla.workflow_step where workflow = 'theirs'),
          '{"code": "sqlstate-42501", "class": "user", "message": "permission denied for signal \"db/t\""}', 'with a clear error');
select is(sent('new'), 'nothing', 'all of its signals are sent, or none');

-- ---- from workflow to workflow ------------------------------------------------------------------------------------------

select make('next', '[{"step": {"id": "s", "type": "NoOp"}}]', '{"signal_triggers": [{"definitions": {"chain": {}}}], "params": {"day": {"type": "STRING", "value": "$chain__day"}}}') \g /dev/null
select make('first', step('s', '[{"name": "chain", "params": {"day": {"type": "STRING", "value": "monday"}}}]')) \g /dev/null
select start('first'), scylla.maintain() \g /dev/null
select scylla._advance() \g /dev/null
select is((select array[status, params ->> 'day', initiator ->> 'type'] from scylla.workflow_run where workflow = 'next'), array['SUCCEEDED', 'monday', 'SIGNAL'], 'a step starts another workflow');

select all_is_sound();
select * from finish();
rollback;
