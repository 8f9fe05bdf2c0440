-- Names of parameters in conditions, expressions and texts: what no run can know is refused at the creation, what only a run can know fails the step.
begin;
\ir include/helpers.psql
\ir include/workflows.psql
select * from no_plan();

-- ---- at the creation ---------------------------------------------------------------------------------------------------

create function pg_temp.workflow(steps jsonb, more jsonb = '{}') returns jsonb language sql as $$
    select jsonb_build_object('properties', '{"owner": "ada"}'::jsonb, 'workflow', '{"id": "w", "params": {"region": {"type": "STRING", "value": "eu"}}}'::jsonb
                                                                                   || jsonb_build_object('steps', steps) || more)
$$;
select results_eq(format('select place, problem from scylla.validate_workflow(%L)', pg_temp.workflow(steps, more)), format('values (%L, %L)', place, problem), problem)
from (values (jsonb_build_array(step('a', '{"b": "regoin == ''eu''"}'), step('b')), '{}'::jsonb,
              'workflow.steps[0].step.transition.successors.b', 'there is no parameter "regoin": did you mean "region"?'),
             (jsonb_build_array(step('a', '{}', '{"timeout": "${tiemout}", "params": {"timeout": {"type": "STRING", "value": "1 day"}}}')), '{}',
              'workflow.steps[0].step.timeout', 'there is no parameter "tiemout": did you mean "timeout"?'),
             (jsonb_build_array(step('a', '{"b": "true"}', '{"params": {"rows": {"type": "LONG", "value": 1}}}'),
                                step('b', '{}', '{"params": {"t": {"type": "STRING", "value": "${a__row} of $region"}}}')), '{}',
              'workflow.steps[1].step.params.t.value', 'there is no parameter "a__row": did you mean "a__rows"?'),
             (jsonb_build_array(step('a'), step('b', '{}', '{"params": {"t": {"type": "BOOLEAN", "expression": "a__rows == null"}}}')), '{}',
              'workflow.steps[1].step.params.t.expression', '"a__rows" cannot be read here: the step "a" does not come before'),
             (jsonb_build_array(step('a')), '{"signal_triggers": [{"definitions": {"s": {}}, "condition": "region == ''eu''"}]}',
              'workflow.signal_triggers[0].condition', 'there is no parameter "region": a trigger reads those of its signals, as "signal__parameter"'))
     v (steps, more, place, problem);
select throws_ok(format('select scylla.create_workflow(%L)', pg_temp.workflow(jsonb_build_array(step('a', '{"b": "regoin == ''eu''"}'), step('b')))), '22023',
                 'invalid definition of a workflow: workflow.steps[0].step.transition.successors.b: there is no parameter "regoin": did you mean "region"?',
                 'and create_workflow() refuses it');
select is_empty($$select from scylla.workflow where id = 'w'$$, '... so that there is no workflow');
select is_empty(format('select * from scylla.validate_workflow(%L)', pg_temp.workflow(jsonb_build_array(
    step('a', '{"b": "params[''mode''] == null || params.get(''mode'') == ''full''"}'), step('b')))), 'what is optional is read as params[…]');

-- ---- templates ---------------------------------------------------------------------------------------------------------

select scylla.create_job_template('{"job_type": "spark", "version": "default", "type": "A", "params": {"cores": {"type": "LONG", "value": 2},
                                    "name": {"type": "STRING", "value": "job in $region"}}}') \g /dev/null
select is_empty(format('select * from scylla.validate_workflow(%L)', pg_temp.workflow(jsonb_build_array(
    step('a', '{"b": "cores > 1"}', '{"sub_type": "spark", "params": {"half": {"type": "LONG", "expression": "cores / 2"}}}'),
    step('b', '{}', '{"params": {"n": {"type": "LONG", "expression": "a__cores"}}}')))), 'a template''s parameters are those of its steps');
select results_eq(format('select place, problem from scylla.validate_workflow(%L)', pg_temp.workflow(jsonb_build_array(
    step('a', '{"b": "core > 1"}', '{"sub_type": "spark"}'), step('b')))),
    $$values ('workflow.steps[0].step.transition.successors.b', 'there is no parameter "core": did you mean "cores"?')$$, '... and no others');
select results_eq(format('select place, problem from scylla.validate_workflow(%L)', pg_temp.workflow(jsonb_build_array(step('a', '{}', '{"sub_type": "spark"}')), '{"params": {}}')),
    $$values ('workflow.steps[0].step.sub_type.name.value', 'there is no parameter "region"')$$, 'what a template reads must be there');

-- ---- in a run ----------------------------------------------------------------------------------------------------------

create function pg_temp.what(of text, s text, number bigint = 1) returns text language sql as $$
    select status || coalesce(': ' || (error ->> 'message'), '') from scylla.workflow_step where workflow = of and instance = number and step = s
$$;
-- Whether a signal has a parameter, only a run knows.
select make('signalled', jsonb_build_array(step('a', '{}', '{"params": {"day": {"type": "STRING", "value": "$loaded__day"}}}', 'NoOp'),
                                           step('b', '{"c": "loaded__rows > 1"}', '{}', 'NoOp'), step('c', '{}', '{}', 'NoOp')),
            '{"signal_triggers": [{"definitions": {"loaded": {}}}]}'), start('signalled') \g /dev/null
select is(pg_temp.what('signalled', 'a'), 'FATALLY_FAILED: day: there is no parameter "loaded__day" (line 1, column 1)', 'a text names what is not there');
select is(pg_temp.what('signalled', 'b'), 'FATALLY_FAILED: there is no parameter "loaded__rows" (line 1, column 1)', 'and a condition');
select is(status('signalled'), 'FAILED', 'the run is not green');
-- A parameter of a step that was not run is null.
select make('branches', jsonb_build_array(step('a', '{"b": "false", "c": "true"}', '{}', 'NoOp'),
                                          step('b', '{"d": "true"}', '{"params": {"n": {"type": "LONG", "value": 1}}}', 'NoOp'),
                                          step('c', '{"d": "true"}', '{"params": {"n": {"type": "LONG", "value": 2}}}', 'NoOp'),
                                          step('d', '{}', '{"params": {"n": {"type": "LONG", "expression": "b__n == null ? c__n : b__n"}, "own": {"type": "LONG", "expression": "d__n * 2"}}}', 'NoOp'))),
       start('branches') \g /dev/null
select is((select params - array['step_id', 'step_attempt_id', 'step_instance_uuid', 'workflow_instance_id'] from scylla.workflow_step where workflow = 'branches' and step = 'd'),
          '{"n": 2, "own": 4}', 'a parameter of a branch that was not taken is null; step__param may be the step''s own');
-- A version of a template that the check did not know.
select make('later', jsonb_build_array(step('a', '{"b": "true"}', '{"sub_type": "spark", "sub_type_version": "default"}', 'A'), step('b', '{}', '{}', 'NoOp')),
            '{"params": {"region": {"type": "STRING", "value": "eu"}}}') \g /dev/null
select scylla.create_job_template('{"job_type": "spark", "version": "default", "type": "A", "params": {"name": {"type": "STRING", "value": "job in $regoin"}}}') \g /dev/null
select start('later') \g /dev/null
select is(pg_temp.what('later', 'a'), 'FATALLY_FAILED: name: there is no parameter "regoin" (line 1, column 8)', 'a template that has changed since is read in the run');

-- ---- names that begin with _ -------------------------------------------------------------------------------------------

select is(scylla.interpolate('$_x ${_x} $x', '{"_x": 1, "x": 2}'), '1 1 2', 'names that begin with _ are filled into texts');
select make('r09', jsonb_build_array(step('_count', '{"show": "true"}', '{"params": {"rows": {"type": "LONG", "value": 5}}}', 'NoOp'),
                                     step('show', '{}', '{"params": {"file": {"type": "STRING", "value": "$_dir/x.csv"}, "t": {"type": "STRING", "value": "${_count__rows} rows"},
                                                                      "e": {"type": "LONG", "expression": "_count__rows"}}}', 'NoOp')),
            '{"params": {"_dir": {"type": "STRING", "value": "/data"}}}'), start('r09') \g /dev/null
select results_eq($$select params ->> 'file', params ->> 't', params ->> 'e' from scylla.workflow_step where workflow = 'r09' and step = 'show'$$,
                  $$values ('/data/x.csv', '5 rows', '5')$$, '... also those of steps');

-- ---- names that are given to a run -------------------------------------------------------------------------------------

select make('given', jsonb_build_array(step('s')), '{"params": {"x": {"type": "LONG", "value": 7, "validator": "param > 5"}}}') \g /dev/null
select throws_like(format('select scylla.start_workflow(''given'', jsonb_build_object(%L, 1))', name), format('%%parameter "%s" %%', name), 'start_workflow() refuses the name ' || name)
from unnest(array['PARAMS', 'util', '', 'x y', '$q', '1a', 'maestro_x']) name;
select throws_like(format('select %s', call), '%parameter "x y" %', 'refused at once: ' || call)
from unnest(array[$$scylla.backfill('given', '[{"x": 6}, {"x y": 1}]')$$, $$scylla.preview_backfill('given', '{"x y": [1, 2]}')$$,
                  $$scylla.create_trigger('t', '[{"signal": "s"}]', '{"workflow": "given", "params": {"x y": 1}}')$$]) call;
select is((select count(*) from scylla.workflow_run where workflow = 'given'), 0::bigint, '... and makes no run');
select lives_ok($$select scylla.start_workflow('given', '{"_y.z-1": 1}')$$, 'a name that a definition may have');
select throws_like($$select scylla.start_workflow('given', '{"x": 3}')$$, '%x: the value does not satisfy the validator param > 5%', 'a validator checks what is given');
select throws_like($$select make('default', jsonb_build_array(step('s')), '{"params": {"x": {"type": "LONG", "value": 3, "validator": "param > 5"}}}')$$,
                   '%workflow.params.x: the value does not satisfy the validator param > 5%', '... and what the definition has');
select scylla.create_workflow('{"properties": {"owner": {"name": "ada", "team": "x"}}, "workflow": {"id": "owned", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}') \g /dev/null
select scylla.alter_workflow('owned', '{"owner": {"name": "bob"}}') \g /dev/null
select is((select array_agg(properties ->> 'owner' order by changed) from scylla.workflow_properties_history where workflow = 'owned'), '{ada,bob}', 'the owner is the name in the object that was given');
select make('truths', jsonb_build_array(step('a', '{"b": true, "c": false}', '{}', 'NoOp'), step('b', '{}', '{}', 'NoOp'), step('c', '{}', '{}', 'NoOp'))), start('truths') \g /dev/null
select is(steps('truths'), 'a SUCCEEDED, b SUCCEEDED, c UNSATISFIED', 'a condition may be a truth');

-- ---- values of loops ---------------------------------------------------------------------------------------------------

select make('r07', jsonb_build_array(over('f', '{"x": {"type": "LONG_ARRAY", "value": [1, 2, 3]}}', jsonb_build_array(
                                            step('check', '{"load": "x != 2"}', '{}', 'NoOp'),
                                            step('load', '{}', '{"params": {"rows": {"type": "LONG", "expression": "x * 10"}, "name": {"type": "STRING", "value": "n$x"}}}', 'NoOp')),
                                          '{"sum": "true"}'),
                                     step('sum', '{}', '{"params": {"all": {"type": "LONG_ARRAY", "expression": "params.getFromForeach(''f'', ''load'', ''rows'')"},
                                                                     "names": {"type": "STRING_ARRAY", "expression": "params.getFromForeach(''f'', ''load'', ''name'')"}}}', 'NoOp'))),
       start('r07'), advance(), advance() \g /dev/null
select results_eq($$select params -> 'all', params -> 'names' from scylla.workflow_step where workflow = 'r07' and step = 'sum'$$,
                  $$values ('[10, 0, 30]'::jsonb, '["n1", null, "n3"]'::jsonb)$$, 'an iteration that did not run the step has 0, or null');
select make('r13', jsonb_build_array(
    '{"while": {"id": "w", "condition": "n < 3", "params": {"loop_params": {"type": "MAP", "value": {"n": {"type": "LONG", "value": 0}}}},
                "steps": [{"step": {"id": "a", "type": "NoOp", "params": {"n": {"type": "LONG", "expression": "n + 1"}}}}], "transition": {"successors": {"z": "w__n == 3"}}}}'::jsonb,
    step('z', '{}', '{"params": {"v": {"type": "STRING", "value": "$w__loop_params"}, "n": {"type": "LONG", "expression": "w__n"},
                                 "all": {"type": "LONG_ARRAY", "expression": "params.getFromForeach(''w'', ''a'', ''n'')"}}}', 'NoOp'))),
       start('r13'), advance(), advance() \g /dev/null
select results_eq($$select params -> 'v', params -> 'n', params -> 'all' from scylla.workflow_step where workflow = 'r13' and step = 'z'$$,
                  $$values ('"{\"n\":3}"'::jsonb, '3'::jsonb, '[1, 2, 3]'::jsonb)$$, 'what a while has computed can be read after it');
select is((select params -> 'loop_params' from scylla.workflow_step where workflow = 'r13' and step = 'w'), '{"n": 3}', '... and is shown');

select * from finish();
rollback;
