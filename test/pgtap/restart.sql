-- Restarts of runs: see docs/workflows.md. Numbers in brackets are sections of the specification of Maestro's behaviour.
begin;
\ir include/helpers.psql
\ir include/workflows.psql
select * from no_plan();
select scylla.create_queue('a'), scylla.create_queue('b') \g /dev/null

-- ---- from what is incomplete (11) -------------------------------------------------------------------------------------

select make('chain', jsonb_build_array(step('s1', '{"s2": "true"}'), step('s2', '{"s3": "true"}'), step('s3')),
            '{"params": {"day": {"type": "STRING", "value": "monday"}}}') \g /dev/null
select start('chain', '{"day": "friday"}') \g /dev/null
select work() \g /dev/null
select break('a', '{"code": "x", "retryable": false}') \g /dev/null
select is(steps('chain') || ', ' || status('chain'), 's1 SUCCEEDED, s2 FATALLY_FAILED, FAILED', 'a run has failed');
select is((select row(code, run, status)::text from scylla.restart_run('chain', 1)), '(1,2,CREATED)', 'restart_run() tells the number of the run (11)');
select is(steps('chain'), 's1 SUCCEEDED, s2 FATALLY_FAILED', 'until it begins nothing has become of the steps');
select is_empty('select * from scylla.check()', 'and nothing is wrong');
select advance();
select is(steps('chain') || ', ' || status('chain'), 's1 SUCCEEDED, s2 RUNNING, IN_PROGRESS', 'what is complete stays, and the step that has failed runs again');
select is((select array_agg(format('%s.%s %s', run, attempt, status) order by attempt) from scylla.workflow_step_attempt where workflow = 'chain' and step = 's2'),
          '{"1.1 FATALLY_FAILED","2.2 RUNNING"}', 'attempts are counted over all runs');
select is((select array_agg(format('%s %s', run, status) order by run) from scylla.workflow_run where workflow = 'chain'),
          '{"1 FAILED","2 IN_PROGRESS"}', 'all runs are there');
select is((select array_agg(plan order by run) from scylla.workflow_run where workflow = 'chain'), '{workflow:chain/1/1,workflow:chain/1/2}', 'each with a plan');
select is((select row(spec -> 'run', spec -> 'attempt', plan)::text from scylla.task where queue = 'a' and status = 'ready'),
          '(2,2,workflow:chain/1/2)', 'to which its tasks belong');
select is((select params ->> 'day' from scylla.workflow_run where workflow = 'chain' and run = 2), 'friday', 'its parameters are those of the run before (4.4)');
select is((select row(initiator -> 'type', restart)::text from scylla.workflow_run where workflow = 'chain' and run = 2),
          $$("""MANUAL""","{""policy"": ""RESTART_FROM_INCOMPLETE""}")$$, 'what was asked for is told');
select is((select array_agg(format('%s %s', run, instance_status) order by run) from scylla.workflow_run where workflow = 'chain'),
          '{"1 FAILED","2 IN_PROGRESS"}', 'and the status of the instance after each (10.2)');
select raises($$select scylla.restart_run('chain', 1)$$, '55000', 'workflow', 'running');
select is(work_all(), 's2 s3', 'it goes on to its end');
select is(steps('chain') || ', ' || status('chain'), 's1 SUCCEEDED, s2 SUCCEEDED, s3 SUCCEEDED, SUCCEEDED', 'which is that of the instance');
select is((select array_agg(run order by step) from scylla.workflow_step where workflow = 'chain'), '{1,2,2}', 'each step tells its run (10.2)');
select is((select array_agg(row(finished is not null, failed)::text order by name) from scylla.task_plan where name like 'workflow:chain/%'),
          '{"(t,t)","(t,f)"}', 'both plans are finished');
select raises($$select scylla.restart_run('chain', 1)$$, '55000', 'workflow', 'complete');
select is_empty('select * from scylla.check()', 'nothing is wrong');

-- ---- from the beginning, and from a step (11) ---------------------------------------------------------------------------

select is((select run from scylla.restart_run('chain', 1, 'RESTART_FROM_BEGINNING', '{"day": "sunday"}')), 3, 'from the beginning');
select advance();
select is(steps('chain'), 's1 RUNNING', 'nothing of the runs before is left');
select is((select params ->> 'day' from scylla.workflow_run where workflow = 'chain' and run = 3), 'sunday', 'parameters that are given now are over those before');
select is((select request ->> 'day' from scylla.workflow_run where workflow = 'chain' and run = 3), 'sunday', 'and told');
select is((select count(*) from scylla.workflow_step_attempt where workflow = 'chain'), 5::bigint, 'earlier attempts are still there');
select is(work_all(), 's1 s2 s3', 'all steps run');
select is((select run from scylla.restart_run('chain', 1, 'RESTART_FROM_SPECIFIC', step => 's2')), 4, 'from a step that is complete');
select advance();
select is(work_all(), 's2 s3', 'with what follows it');
select is((select array_agg(run order by step) from scylla.workflow_step where workflow = 'chain'), '{3,4,4}', 'but not what was before');
select raises($$select scylla.restart_run('chain', 1, 'RESTART_FROM_SPECIFIC', step => 's9')$$, '22023', 'task', 'argument');
select refuses_argument($$select scylla.restart_run('chain', 1, 'RESTART_FROM_SPECIFIC', step => 's9')$$, 'step', '"s9"', 'The workflow has no such step.');
select refuses_argument($$select scylla.restart_run('chain', 1, 'RESTART_FROM_SPECIFIC')$$, 'step', 'null', 'RESTART_FROM_SPECIFIC needs a step.');
select refuses_argument($$select scylla.restart_run('chain', 1, step => 's1')$$, 'step', '"s1"', 'Only RESTART_FROM_SPECIFIC begins with a step.');
select refuses_argument($$select scylla.restart_run('chain', 1, 'again')$$, 'policy', '"again"',
                        'It must be RESTART_FROM_INCOMPLETE, RESTART_FROM_BEGINNING or RESTART_FROM_SPECIFIC.');
select raises($$select scylla.restart_run('chain', 9)$$, 'P0002', 'workflow', 'instance');
select raises($$select scylla.restart_run('nothing', 1)$$, '42704', 'workflow', 'exists');

-- ---- several roots: example A of 11 in short ----------------------------------------------------------------------------

select make('roots', jsonb_build_array(step('j3', '{"j6": "true"}'), step('j9', '{"j6": "true", "j8": "true"}', '{}', 'B'), step('j6'), step('j8', '{}', '{}', 'B'))) \g /dev/null
select start('roots') \g /dev/null
select break('a', '{"code": "x", "retryable": false}'), work('b'), work('b') \g /dev/null
select is(steps('roots'), 'j3 FATALLY_FAILED, j8 SUCCEEDED, j9 SUCCEEDED', 'one of two roots has failed');
select raises($$select scylla.restart_run('roots', 1, 'RESTART_FROM_SPECIFIC', step => 'j6')$$, '55000', 'workflow', 'start');
select scylla.restart_run('roots', 1, 'RESTART_FROM_SPECIFIC', step => 'j9') \g /dev/null
select advance();
select is(work_all('b') || ' ' || coalesce(work_all('a'), '') , 'j9 j8 ', 'the other one runs again, and what only hangs on it');
select is(steps('roots') || ', ' || status('roots'), 'j3 FATALLY_FAILED, j8 SUCCEEDED, j9 SUCCEEDED, SUCCEEDED', 'the first one stays as it was');
select is((select array_agg(step) from scylla.failed_steps('roots', 1)), '{j3}', 'which tells why the instance has failed');
select is(rollup_of('roots'), '4: FATALLY_FAILED 1, NOT_CREATED 1, SUCCEEDED 2', 'also in the rollup');
select is((select array_agg(format('%s.%s %s', run, attempt, status)) from scylla.workflow_step_attempt where workflow = 'roots' and step = 'j3'), '{"1.1 FATALLY_FAILED"}',
          'what it was is still told');
select is((select array_agg(instance_status order by run) from scylla.workflow_run where workflow = 'roots'), '{FAILED,FAILED}',
          'the run has succeeded, but the instance has not (10.2)');
select is_empty('select * from scylla.check()', 'nothing is wrong');
select scylla.restart_run('roots', 1) \g /dev/null
select advance();
select is(work_all(), 'j3 j6', 'then what is left');
select is((select array_agg(instance_status order by run) from scylla.workflow_run where workflow = 'roots'), '{FAILED,FAILED,SUCCEEDED}', 'now it has');
select is((select array_agg(format('%s.%s', run, attempt) order by attempt) from scylla.workflow_step_attempt where workflow = 'roots' and step = 'j3'), '{1.1,3.2}', 'its next attempt');

-- ---- a join keeps the edges of earlier runs (decision 7) ------------------------------------------------------------------

select make('join', jsonb_build_array(step('x', '{"z": "true"}'), step('y', '{"z": "false"}', '{}', 'B'), step('z'))) \g /dev/null
select start('join') \g /dev/null
select work('a'), break('b', '{"code": "x", "retryable": false}') \g /dev/null
select scylla.restart_run('join', 1) \g /dev/null
select advance();
select work('b') \g /dev/null
select is(steps('join'), 'x SUCCEEDED, y SUCCEEDED, z RUNNING', 'the edge of a parent that was complete before is still true');
select work_all() \g /dev/null

-- ---- the version (11) ---------------------------------------------------------------------------------------------------

select make('kept', jsonb_build_array(step('old'))) \g /dev/null
select start('kept') \g /dev/null
select break('a', '{"code": "x", "retryable": false}') \g /dev/null
select make('kept', jsonb_build_array(step('new'))) \g /dev/null
select scylla.restart_run('kept', 1, 'RESTART_FROM_BEGINNING'), advance() \g /dev/null
select is((select format('%s %s', version, steps('kept')) from scylla.workflow_run where workflow = 'kept' and run = 2), '1 old RUNNING',
          'an instance keeps its definition, also if another version is active now (11)');
select work_all() \g /dev/null
select start('kept') \g /dev/null
select is(steps('kept', 2), 'new RUNNING', 'which another instance has');
select work_all() \g /dev/null

-- ---- parameters and skipped steps (11) ----------------------------------------------------------------------------------

select make('given', jsonb_build_array(step('p', '{"q": "n > 5"}', '{"params": {"n": {"type": "LONG", "value": 1}}}'), step('q')),
            '{"params": {"fixed": {"type": "LONG", "value": 1, "mode": "MUTABLE_ON_START"}}}') \g /dev/null
select start('given') \g /dev/null
select break('a', '{"code": "x", "retryable": false}') \g /dev/null
select raises($$select scylla.restart_run('given', 1, params => '{"fixed": 2}')$$, '22023', 'workflow', 'params');
select refuses_argument($$select scylla.restart_run('given', 1, params => '[]')$$, 'params', '[]', 'It must be an object.');
select refuses_argument($$select scylla.restart_run('given', 1, step_params => '1')$$, 'step_params', '1', 'It must be an object.');
select refuses_argument($$select scylla.restart_run('given', 1, step_params => '{"p": 1}')$$, 'step_params', '1', 'Its members must be objects.');
select refuses_argument($$select scylla.restart_run('given', 1, step_params => '{"r": {}}')$$, 'step_params', '"r"', 'The run has no such step that it runs again.');
select refuses_argument($$select scylla.restart_run('given', 1, skip_steps => '{p,r}')$$, 'skip_steps', '"r"', 'The run has no such step that it runs again.');
select is((select array_agg(run) from scylla.workflow_run where workflow = 'given'), '{1}', 'nothing came of these');
select scylla.restart_run('given', 1, step_params => '{"p": {"n": 7}}', skip_steps => '{q}') \g /dev/null
select advance();
select is((select spec #>> '{params,n}' from scylla.task where queue = 'a' and status = 'ready'), '7', 'a step gets what is given');
select is(work_all(), 'p', 'a step that is skipped has no task');
select is(steps('given') || ', ' || status('given'), 'p SUCCEEDED, q SKIPPED, SUCCEEDED', 'and is SKIPPED');
select scylla.restart_run('given', 1, 'RESTART_FROM_BEGINNING') \g /dev/null
select advance();
select is((select spec #>> '{params,n}' from scylla.task where queue = 'a' and status = 'ready'), '1', 'what was given to steps was for that run');
select work_all() \g /dev/null
select is(steps('given'), 'p SUCCEEDED, q UNSATISFIED', 'conditions decide again');

select start('given', '{"day": "x"}') \g /dev/null
select scylla.kill_run('given', 2), advance() \g /dev/null
-- Of steps, at a start (4.4).
select make('to-steps', jsonb_build_array(step('p', '{}', '{"params": {"n": {"type": "LONG", "value": 1}, "q": {"type": "STRING", "value": "$n"}}}'),
    each('l', 1, jsonb_build_array(step('in', '{}', '{}', 'B'))))) \g /dev/null
select refuses_argument($$select scylla.start_workflow('to-steps', step_params => '{"in": {"n": 2}}')$$, 'step_params', '"in"', 'The workflow has no such step outside of its loops.');
select refuses_argument($$select scylla.start_workflow('to-steps', step_params => '{"p": 2}')$$, 'step_params', '2', 'Its members must be objects.');
select raises($$select scylla.start_workflow('to-steps', step_params => '{"p": {"x y": 2}}')$$, '22023', 'workflow', 'params');
select instance from scylla.start_workflows('[{"workflow": "to-steps", "step_params": {"p": {"n": 5}}}]') \g /dev/null
select advance();
select is((select spec -> 'params' from scylla.task where queue = 'a' and status = 'ready') @> '{"n": 5, "q": "5"}', true, 'start_workflow() gives parameters to steps');
select is((select array_agg(step_params) from scylla.workflow_run where workflow = 'to-steps'), array['{"p": {"n": 5}}'::jsonb], 'the run shows them');
select break('a', '{"code": "x", "retryable": false}'), work('b') \g /dev/null
select scylla.restart_run('to-steps', 1), advance() \g /dev/null
select is((select spec #>> '{params,n}' from scylla.task where queue = 'a' and status = 'ready'), '5', 'a restart keeps them');
create function source_of(of_step text, of_name text) returns text language sql as $$
    select format('%s %s %s %s', type, mode, value, source) from scylla.workflow_param where workflow = 'to-steps' and step is not distinct from of_step and name = of_name
$$;
select is(source_of('p', 'n'), 'LONG MUTABLE 5 LAUNCH', 'a parameter of a step that a start has given');
select is(source_of('p', 'q'), 'STRING MUTABLE "5" DEFINITION', '... that the definition has');
select is(source_of('p', 'step_id'), 'STRING RESERVED "p" SYSTEM_DEFAULT', '... that every step has');
select is(source_of(null, 'RUN_TS') ~ '^LONG MUTABLE_ON_START .* SYSTEM_DEFAULT$', true, 'a parameter that every run has');
select work('a', '{"params": {"q": "done"}}') \g /dev/null
select is(source_of('p', 'q'), 'STRING MUTABLE "done" OUTPUT_PARAMETER', 'what a worker has put out');
select scylla.restart_run('to-steps', 1, 'RESTART_FROM_BEGINNING', params => '{"z": {"type": "DOUBLE", "value": 1.5, "mode": "CONSTANT"}}', step_params => '{"p": {"n": 6}}'), advance() \g /dev/null
select is(source_of('p', 'n') || ', ' || source_of(null, 'z'), 'LONG MUTABLE 6 RESTART, DOUBLE CONSTANT 1.5 RESTART', 'what a restart has given');
select work_all('a'), work_all('b') \g /dev/null

select make('derived', jsonb_build_array(step('p', '{}', '{"params": {"path": {"type": "STRING", "value": "/$day"}}}')),
            '{"params": {"day": {"type": "STRING", "value": "monday"}, "name": {"type": "STRING", "expression": "\"of \" + day"}}}') \g /dev/null
select start('derived') \g /dev/null
select break('a', '{"code": "x", "retryable": false}') \g /dev/null
select scylla.restart_run('derived', 1, params => '{"day": "friday"}'), advance() \g /dev/null
select is((select params ->> 'name' from scylla.workflow_run where workflow = 'derived' and run = 2), 'of monday', 'a parameter that was computed from one that is changed keeps its value (4.4)');
select is((select spec #>> '{params,path}' from scylla.task where queue = 'a' and status = 'ready'), '/friday', 'those of steps are computed again');
select work_all() \g /dev/null

update scylla.workflow_run_state set params = '{}' where workflow = 'given' and instance = 2;
select scylla.restart_run('given', 2, params => '{"hour": 3}', skip_steps => '{p,q}'), advance() \g /dev/null
select is((select row(params ->> 'day', params ->> 'hour', params ->> 'workflow_id', status)::text from scylla.workflow_run where workflow = 'given' and instance = 2 and run = 2),
          '(x,3,given,SUCCEEDED)', 'a run that could not evaluate its parameters tries it again');

-- ---- foreach and while (5.2, 5.3, 11) -----------------------------------------------------------------------------------

create function foreach_step(id text, n int, inside jsonb, more jsonb = '{}') returns jsonb language sql as $$
    select jsonb_build_object('foreach', jsonb_build_object('id', id, 'steps', inside, 'params', jsonb_build_object('loop_params', jsonb_build_object(
        'type', 'MAP', 'value', jsonb_build_object('i', jsonb_build_object('type', 'LONG_ARRAY', 'expression', format('Util.intsBetween(1, %s, 1)', n + 1)))))) || more)
$$;
select make('each', jsonb_build_array(foreach_step('l', 5, jsonb_build_array(step('p', '{"q": "true"}'), step('q', '{}', '{}', 'B')), '{"concurrency": 2, "transition": {"successors": {"end": "true"}}}'),
                                      step('end'))) \g /dev/null
select start('each') \g /dev/null
select work('a'), work('b'), work('a'), break('a', '{"code": "x", "retryable": false}'), break('b', '{"code": "x", "retryable": false}') \g /dev/null
select is(steps('each') || ', ' || status('each'),
          'l FATALLY_FAILED, p{1} SUCCEEDED, p{2} SUCCEEDED, p{3} FATALLY_FAILED, q{1} SUCCEEDED, q{2} FATALLY_FAILED, FAILED', 'iterations have failed');
select scylla.restart_run('each', 1) \g /dev/null
select advance();
select is(steps('each'), 'l RUNNING, p{1} SUCCEEDED, p{2} SUCCEEDED, p{3} RUNNING, q{1} SUCCEEDED, q{2} RUNNING',
          'they run again from what is incomplete, within the concurrency of the loop; others stay');
select is((select array_agg(format('%s%s %s.%s', step, iterations, run, attempt) order by step, iterations) from scylla.workflow_step where workflow = 'each'),
          '{"l 2.2","p{1} 1.1","p{2} 1.1","p{3} 2.2","q{1} 1.1","q{2} 2.2"}', 'and have not been touched');
select is_empty('select * from scylla.check()', 'nothing is wrong');
select work('b') \g /dev/null
select is(steps('each'), 'l RUNNING, p{1} SUCCEEDED, p{2} SUCCEEDED, p{3} RUNNING, p{4} RUNNING, q{1} SUCCEEDED, q{2} SUCCEEDED', 'then those that have never begun');
select work_all('a'), work_all('b'), work_all('a'), work_all('b'), work_all('a'), work_all('b') \g /dev/null
select is(status('each') || (select count(*)::text from scylla.workflow_step where workflow = 'each' and status = 'SUCCEEDED'), 'SUCCEEDED12', 'to its end');
select scylla.restart_run('each', 1, 'RESTART_FROM_BEGINNING') \g /dev/null
select advance();
select is(steps('each'), 'l RUNNING, p{1} RUNNING, p{2} RUNNING', 'from the beginning all iterations are new');
select is((select array_agg(format('%s.%s %s', run, attempt, status) order by run, attempt) from scylla.workflow_step_attempt where workflow = 'each' and step = 'p' and iterations = '{3}'),
          '{"1.1 FATALLY_FAILED","2.2 SUCCEEDED"}', 'the history has those before');
select work_all('a'), work_all('b'), work_all('a'), work_all('b'), work_all('a'), work_all('b'), work_all('a') \g /dev/null
select is(status('each'), 'SUCCEEDED', 'it ends');
select is_empty('select * from scylla.check()', 'nothing is wrong');

select make('again', jsonb_build_array(jsonb_build_object('while', jsonb_build_object('id', 'w', 'condition', 'n < 3', 'steps',
    jsonb_build_array(step('p', '{"q": "true"}', '{"params": {"n": {"type": "LONG", "expression": "n + 1"}}}'), step('q', '{}', '{}', 'B')),
    'params', '{"loop_params": {"type": "MAP", "value": {"n": {"type": "LONG", "value": 0}}}}'::jsonb)))) \g /dev/null
select start('again') \g /dev/null
select work('a'), work('b'), work('a'), break('b', '{"code": "x", "retryable": false}') \g /dev/null
select scylla.restart_run('again', 1) \g /dev/null
select advance();
select is(steps('again'), 'p{1} SUCCEEDED, p{2} SUCCEEDED, q{1} SUCCEEDED, q{2} RUNNING, w RUNNING', 'a while goes on at its last iteration');
select work('b'), work('a'), work('b') \g /dev/null
select is(status('again') || ' ' || steps('again'), 'SUCCEEDED p{1} SUCCEEDED, p{2} SUCCEEDED, p{3} SUCCEEDED, q{1} SUCCEEDED, q{2} SUCCEEDED, q{3} SUCCEEDED, w SUCCEEDED',
          'with the values that it had');

-- Iterations of a loop that is to run again are not shown: they are history, or wait for their loop, which may go on with them.
select make('stale', jsonb_build_array(step('f', '{"l": "true"}', '{}', 'B'), foreach_step('l', 2, jsonb_build_array(step('p'))))) \g /dev/null
select start('stale') \g /dev/null
select work('b'), work('a'), work('a') \g /dev/null
create function shown() returns text language sql as $$
    select concat_ws('; ', steps('stale'), (select count(*) || ' iterations' from scylla.workflow_loop_iteration where workflow = 'stale'), rollup_of('stale'),
        'failed: ' || (select string_agg(step || coalesce(iterations::text, ''), ' ' order by step) from scylla.failed_steps('stale', 1)))
$$;
select is(shown(), 'f SUCCEEDED, l SUCCEEDED, p{1} SUCCEEDED, p{2} SUCCEEDED; 2 iterations; 3: SUCCEEDED 3', 'a run with a loop');
select scylla.restart_run('stale', 1, 'RESTART_FROM_BEGINNING'), advance() \g /dev/null
select is(shown(), 'f RUNNING; 0 iterations; 2: NOT_CREATED 1, RUNNING 1', 'the loop will run again: what it has done is history');
select work('b'), work('a'), break('a', '{"code": "x", "retryable": false}') \g /dev/null
select is(shown(), 'f SUCCEEDED, l FATALLY_FAILED, p{1} SUCCEEDED, p{2} FATALLY_FAILED; 2 iterations; 3: FATALLY_FAILED 1, SUCCEEDED 2; failed: p{2}', 'now it has failed');
select scylla.restart_step('stale', 1, 'f'), advance() \g /dev/null
select is(shown(), 'f RUNNING; 0 iterations; 2: NOT_CREATED 1, RUNNING 1', 'until it goes on, its iterations are not shown');
select break('b', '{"code": "x", "retryable": false}') \g /dev/null
select is(shown(), 'f FATALLY_FAILED; 0 iterations; 2: FATALLY_FAILED 1, NOT_CREATED 1; failed: f', 'the run has failed for the step before it');
select scylla.restart_run('stale', 1), advance(), work('b') \g /dev/null
select is(shown(), 'f SUCCEEDED, l RUNNING, p{1} SUCCEEDED, p{2} RUNNING; 2 iterations; 3: RUNNING 1, SUCCEEDED 2', 'it goes on');
select work('a') \g /dev/null
select is(status('stale'), 'SUCCEEDED', 'to its end');
select is_empty('select * from scylla.check()', 'nothing is wrong');

-- Of many iterations only those that have failed are touched.
select make('big', '[{"foreach": {"id": "l", "concurrency": 500, "failure_mode": "IGNORE_FAILURE", "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "expression": "Util.intsBetween(1, 25001, 1)"}}}}, "steps": [{"step": {"id": "s", "type": "NoOp"}}, {"step": {"id": "t", "type": "A"}}]}}]', '{}', '{"step_concurrency": 500}') \g /dev/null
-- 25,000 iterations that have ended, 100 of them failed: written as the engine leaves them.
select start('big') \g /dev/null
select scylla.stop_run('big', 1), advance() \g /dev/null
select id as root from scylla.workflow_run_state where workflow = 'big' \gset
delete from scylla.workflow_step_state where root = :root and step in ('s', 't');
delete from scylla.workflow_iteration where root = :root;
insert into scylla.workflow_iteration (id, root, parent, number, created, ended, status, step, numbers, params)
  select nextval('scylla.task_id_seq'), :root, :root, n, now(), now(), case when n % 250 = 0 then 'FAILED' else 'SUCCEEDED' end, 'l', array[n], jsonb_build_object('i', n, 'loop_index', n - 1) from generate_series(1, 25000) n;
insert into scylla.workflow_step_state (scope, root, created, started, ended, attempt, run, error_retries, platform_retries, timeout_retries, status, step, params)
  select id, :root, now(), now(), now(), 1, 1, 0, 0, 0, case when inner_step = 't' and status = 'FAILED' then 'FATALLY_FAILED' else 'SUCCEEDED' end, t.inner_step, '{}'
  from scylla.workflow_iteration, (values ('s'), ('t')) t (inner_step) where root = :root;
update scylla.workflow_step_state set status = 'FATALLY_FAILED', loop = '{"total": 25000, "next": 25001, "succeeded": 24900, "failed": 100, "stopped": 0, "timed_out": 0}',
  rollup = '{"SUCCEEDED": {"cnt": 49900}, "FATALLY_FAILED": {"cnt": 100}}' where root = :root and step = 'l';
update scylla.workflow_run_state set status = 'FAILED' where id = :root;
analyze scylla.workflow_iteration; analyze scylla.workflow_step_state;
select is(rollup_of('big'), '50000: FATALLY_FAILED 100, SUCCEEDED 49900', 'the rollup has all leaves (10.3)');
create function pages_read(statement text) returns int language plpgsql as $$
declare
    plan json;
begin
    execute 'explain (analyze, buffers, format json) ' || statement into plan;
    return (plan #>> '{0,Plan,Shared Hit Blocks}')::int + (plan #>> '{0,Plan,Shared Read Blocks}')::int;
end $$;
select cmp_ok(pages_read($$select * from scylla.workflow_rollup where workflow = 'big' and instance = 1$$), '<', 200, 'and is read from few pages, not from 50,000 steps');
select scylla.restart_run('big', 1) \g /dev/null
select advance();
-- step_concurrency is a pool of permits.
select from scylla.place() \g /dev/null
select advance();
select is((select count(*) from scylla.task where queue = 'a' and status = 'ready'), 100::bigint, '100 run again');
select is((select count(*) from scylla.workflow_step_state where root = :root and run = 2), 101::bigint, 'and only these are touched, with their loop');
select is(rollup_of('big'), '50000: RUNNING 100, SUCCEEDED 49900', 'in the rollup they are those that run');
select scylla.complete(rn, 'w') from scylla.lease('a', 'w', 200) \g /dev/null
select advance();
select is(status('big'), 'SUCCEEDED', 'the run has succeeded');
select is(rollup_of('big'), '50000: SUCCEEDED 50000', 'and so have all leaves');

-- ---- subworkflows (5.4, 11) ----------------------------------------------------------------------------------------------

select make('child', jsonb_build_array(step('c1', '{"c2": "true"}'), step('c2')), '{"params": {"x": {"type": "LONG", "value": 1}}}') \g /dev/null
create function sub_step(id text, more jsonb = '{}') returns jsonb language sql as $$
    select jsonb_build_object('subworkflow', jsonb_build_object('id', id, 'params', '{"subworkflow_id": {"type": "STRING", "value": "child"}}'::jsonb) || more)
$$;
select make('parent', jsonb_build_array(sub_step('s', '{"transition": {"successors": {"t": "true"}}}'), step('t', '{}', '{}', 'B')), '{"params": {"x": {"type": "LONG", "value": 5}}}') \g /dev/null
select start('parent') \g /dev/null
select work('a'), break('a', '{"code": "x", "retryable": false}') \g /dev/null
select is(steps('parent') || ', ' || steps('child') || ', ' || status('parent'), 's FATALLY_FAILED, c1 SUCCEEDED, c2 FATALLY_FAILED, FAILED', 'a subworkflow has failed');
select scylla.restart_run('parent', 1, params => '{"x": 6}') \g /dev/null
select advance();
select is((select array_agg(format('%s.%s %s', instance, run, status) order by instance, run) from scylla.workflow_run where workflow = 'child'), '{"1.1 FAILED","1.2 IN_PROGRESS"}',
          'the same instance runs again');
select is(steps('child') || ', ' || steps('parent'), 'c1 SUCCEEDED, c2 RUNNING, s RUNNING', 'from what is incomplete');
select is((select params ->> 'x' from scylla.workflow_run where workflow = 'child' and run = 2), '6', 'with what its parent has now');
select is((select row(initiator -> 'type', initiator -> 'run', initiator -> 'depth')::text from scylla.workflow_run where workflow = 'child' and run = 2), '("""SUBWORKFLOW""",2,1)', 'as whose it runs');
select work('a'), work('b') \g /dev/null
select is(status('parent') || ' ' || steps('parent'), 'SUCCEEDED s SUCCEEDED, t SUCCEEDED', 'which follows it');
select scylla.restart_run('parent', 1, 'RESTART_FROM_SPECIFIC', step => 's') \g /dev/null
select advance();
select is((select array_agg(format('%s.%s %s', instance, run, status) order by instance, run) from scylla.workflow_run where workflow = 'child'),
          '{"1.1 FAILED","1.2 SUCCEEDED","2.1 IN_PROGRESS"}', 'a step that was complete starts a new instance');
select work_all('a'), work_all('b') \g /dev/null
select is(status('parent'), 'SUCCEEDED', 'and waits for that');
select start('parent') \g /dev/null
select scylla.stop_run('parent', 2), advance() \g /dev/null
select is(status('child', 3) || ' ' || steps('parent', 2), 'STOPPED s STOPPED', 'both are stopped');
select scylla.restart_run('child', 3, alone => true), advance() \g /dev/null
select work_all('a') \g /dev/null
select is(status('child', 3) || ' ' || status('parent', 2), 'SUCCEEDED STOPPED', 'a subworkflow that is restarted by itself runs by itself');
select scylla.restart_run('parent', 2), advance() \g /dev/null
select is((select array_agg(format('%s %s', run, status) order by run) from scylla.workflow_run where workflow = 'child' and instance = 3), '{"1 STOPPED","2 SUCCEEDED","3 IN_PROGRESS"}',
          'one that is complete begins again with its parent');
select work_all('a'), work_all('b') \g /dev/null
select is(status('parent', 2), 'SUCCEEDED', 'which ends');
select is_empty('select * from scylla.check()', 'nothing is wrong');

-- ---- run strategies (3.1, 3.2, 3.6, 11) ---------------------------------------------------------------------------------

select make('strict', jsonb_build_array(step('s')), '{}', '{"run_strategy": "STRICT_SEQUENTIAL"}') \g /dev/null
select start('strict') \g /dev/null
select break('a', '{"code": "x", "retryable": false}') \g /dev/null
select start('strict') \g /dev/null
select is(status('strict', 2), 'CREATED', 'a failed run blocks the next one');
select scylla.restart_run('strict', 1) \g /dev/null
select advance();
select is(status('strict', 1) || ' ' || status('strict', 2), 'IN_PROGRESS CREATED', 'a restart comes first, and unblocks by itself');
select is(work(), 's', 'it succeeds');
select is(status('strict', 1) || ' ' || status('strict', 2), 'SUCCEEDED IN_PROGRESS', 'then the next one begins');
select work_all() \g /dev/null

select make('first', jsonb_build_array(step('s')), '{}', '{"run_strategy": "FIRST_ONLY"}') \g /dev/null
select start('first') \g /dev/null
select break('a', '{"code": "x", "retryable": false}') \g /dev/null
select start('first') \g /dev/null
select is((select row(code, run, status)::text from scylla.restart_run('first', 1)), '(-1,2,STOPPED)', 'FIRST_ONLY stops a restart while another run goes on');
select is(steps('first'), 's FATALLY_FAILED', 'its steps are as they were');
select alike((select error ->> 'message' from scylla.workflow_run where workflow = 'first' and instance = 1 and run = 2), '%FIRST_ONLY%', 'which the run tells');
select is_empty('select * from scylla.check()', 'nothing is wrong');
select work_all() \g /dev/null
select is((select code from scylla.restart_run('first', 1)), 1, 'later it may run');
select advance();
select is(work_all(), 's', 'and does');

-- ---- queued, stopped, late (11) -----------------------------------------------------------------------------------------

select scylla.restart_run('chain', 1, 'RESTART_FROM_BEGINNING') \g /dev/null
select scylla.stop_run('chain', 1) \g /dev/null
select advance();
select is(steps('chain') || ', ' || status('chain'), 's1 SUCCEEDED, s2 SUCCEEDED, s3 SUCCEEDED, STOPPED', 'a run that is stopped before it begins leaves the steps as they are');
select scylla.restart_run('chain', 1, 'RESTART_FROM_BEGINNING'), advance() \g /dev/null
select rn as late from scylla.lease('a', 'w') \gset
select scylla.stop_run('chain', 1) \g /dev/null
select advance();
select scylla.restart_run('chain', 1) \g /dev/null
select raised(format($$select scylla.complete(%L, 'w')$$, :'late')) as late_error \gset
select advance();
select is(steps('chain'), 's1 RUNNING', 'a worker of an earlier run changes nothing');
insert into scylla.workflow_agenda (root, task, kind)
    select t.plan, t.id, 'task' from scylla.task_spec t where t.rn = :'late';
select advance();
select is(steps('chain'), 's1 RUNNING', 'nor does an end of its task that comes late');
select is((select count(*) from scylla.workflow_agenda), 0::bigint, 'it is passed over');
select is(work_all(), 's1 s2 s3', 'the run goes on');
select is((select row(code, instance, run)::text from scylla.start_workflow('chain', request_id => 'r')), '(1,2,1)', 'a request');
select advance(), work_all(), scylla.restart_run('chain', 2, 'RESTART_FROM_BEGINNING'), advance() \g /dev/null
select is((select row(code, instance, run)::text from scylla.start_workflow('chain', request_id => 'r')), '(0,2,2)', 'is known after a restart (3.1)');
select work_all() \g /dev/null
select is_empty('select * from scylla.check()', 'nothing is wrong');

-- ---- what is removed ----------------------------------------------------------------------------------------------------

update scylla.task_outcome set finished = now() - interval '1 year';
update scylla.task_plan set created = created - interval '1 year', finished = case name when 'workflow:roots/1/1' then finished - interval '1 year' else finished end;
select scylla.purge() \g /dev/null
select is((select array_agg(run order by run) from scylla.workflow_run where workflow = 'roots'), '{2,3}', 'the plan of a first run takes only that with it');
select is(steps('roots'), 'j3 SUCCEEDED, j6 SUCCEEDED, j8 SUCCEEDED, j9 SUCCEEDED', 'the instance stays');
select is_empty('select * from scylla.check()', 'nothing is wrong');
update scylla.task_plan set created = created - interval '1 year', finished = case name when 'workflow:roots/1/3' then finished - interval '1 year' else finished end;
select scylla.purge() \g /dev/null
select is((select array_agg(run order by run) from scylla.workflow_run where workflow = 'roots'), null, 'the plan of the last run takes the instance');
select is(steps('roots'), null, 'with its steps');
select is_empty('select * from scylla.check()', 'nothing is wrong');
update scylla.task_plan set created = created - interval '1 year', finished = case name when 'workflow:roots/1/2' then finished - interval '1 year' else finished end;
select scylla.purge() \g /dev/null
select is((select count(*) from scylla.workflow_run_past where workflow = 'roots'), 0::bigint, 'at last nothing is left');

select is((select string_agg(c::text, E'\n') from scylla.check() c), null, 'check() finds nothing');
select * from finish();
rollback;
