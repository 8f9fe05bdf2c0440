-- What somebody wants of runs of workflows and of their steps. Numbers in brackets are sections of the specification of Maestro's behaviour.
begin;
\ir include/helpers.psql
select * from no_plan();
select scylla.create_queue('a'), scylla.create_queue('b') \g /dev/null
\ir include/workflows.psql

-- ---- stop, kill, skip (14) ----------------------------------------------------------------------------------------------

select make('three', jsonb_build_array(step('s1', '{"s2": "true"}', '{"failure_mode": "IGNORE_FAILURE"}'), step('s2'), step('other', '{}', '{}', 'B'))) \g /dev/null
select start('three') \g /dev/null
select scylla.stop_step('three', 1, 's1') as action \gset
select is(steps('three'), 'other RUNNING, s1 RUNNING', 'stop_step() returns before the engine has acted');
select is((select format('%s %s %s %s %s %s %s %s %s', workflow, instance, run, step, attempt, action, role = current_user, done, outcome)
           from scylla.workflow_action where id = :action), 'three 1 1 s1 1 stop t  ', 'and leaves a row that tells who wants what (14)');
select raises($$select scylla.kill_step('three', 1, 's1')$$, '55000', 'workflow', 'pending');
select is(outcome(:action), 'STOPPED', 'what has come of it is in the row');
select is((select done is not null from scylla.workflow_action where id = :action), true, 'with its time');
select is(steps('three'), 'other RUNNING, s1 STOPPED', 'the step is STOPPED, and nothing follows (2.3)');
select is((select string_agg(status::text, ' ') from scylla.task where queue = 'a' and plan = 'workflow:three/1/1'), 'cancelled', 'its task is cancelled');
select is(scylla.stop_step('three', 1, 's1'), null, 'stopping it again is nothing');
select raises($$select scylla.kill_step('three', 1, 's1')$$, '55000', 'workflow', 'status');
select is(work('b'), 'other', 'other branches run on');
select is(status('three'), 'STOPPED', 'then the run is STOPPED (14)');
select raises($$select scylla.kill_step('three', 1, 's1')$$, '55000', 'workflow', 'ended');

select start('three') \g /dev/null
select is(outcome(scylla.kill_step('three', 2, 's1')), 'COMPLETED_WITH_ERROR', 'the failure mode of a step that is killed applies (14)');
select is(steps('three', 2), 'other RUNNING, s1 COMPLETED_WITH_ERROR, s2 RUNNING', 'here it is ignored');
select is((select error ->> 'message' from scylla.workflow_step where workflow = 'three' and instance = 2 and step = 's1'), 'the step was killed', 'a step that was killed says so');
select is(outcome(scylla.kill_step('three', 2, 's2')), 'FATALLY_FAILED', 'without one it has failed');
select is(scylla.kill_step('three', 2, 's2'), null, 'killing it again is nothing');
select work('b') \g /dev/null
select is(status('three', 2), 'FAILED', 'and so has the run');

select make('skipped', jsonb_build_array(
    step('first', '{"yes": "n > 3", "no": "n <= 3"}', '{"params": {"n": {"type": "LONG", "value": 5}}}'), step('yes'), step('no'), step('other', '{}', '{}', 'B'))) \g /dev/null
select start('skipped') \g /dev/null
select raises($$select scylla.skip_step('skipped', 1, 'yes')$$, '55000', 'workflow', 'created');
select is(outcome(scylla.skip_step('skipped', 1, 'first')), 'SKIPPED', 'a step is skipped');
select is(steps('skipped'), 'first SKIPPED, no UNSATISFIED, other RUNNING, yes RUNNING', 'its conditions decide what follows (2.3, 14)');
select is(scylla.skip_step('skipped', 1, 'first'), null, 'skipping it again is nothing');
select raises($$select scylla.skip_step('skipped', 1, 'no')$$, '55000', 'workflow', 'status');
select raises($$select scylla.stop_step('skipped', 1, 'no')$$, '55000', 'workflow', 'status');
select is(outcome(scylla.kill_step('skipped', 1, 'yes')), 'FATALLY_FAILED', 'a step that has failed');
select is(outcome(scylla.skip_step('skipped', 1, 'yes')), 'SKIPPED', 'can be skipped while the run goes on (14)');
select is((select array_agg(attempt || ' ' || status order by attempt) from scylla.workflow_step_attempt where workflow = 'skipped' and step = 'yes'),
          '{1 FATALLY_FAILED,2 SKIPPED}', 'in an attempt of its own');
select work('b') \g /dev/null
select is(status('skipped'), 'SUCCEEDED', 'the run succeeds');

-- While it waits to be tried again (6.3).
select make('waits', jsonb_build_array(step('s1', '{"s2": "true"}'), step('s2', '{}', '{}', 'B'))) \g /dev/null
select start('waits'), start('waits'), start('waits') \g /dev/null
select break('a', '{"code": "x"}') from generate_series(1, 3) \g /dev/null
select is(steps('waits') || ' ' || steps('waits', 2), 's1 USER_FAILED s1 USER_FAILED', 'steps that wait to be tried again');
select is(outcome(scylla.stop_step('waits', 1, 's1')), 'STOPPED', 'are stopped (6.3)');
select is(outcome(scylla.kill_step('waits', 2, 's1')), 'FATALLY_FAILED', 'killed');
select is(outcome(scylla.skip_step('waits', 3, 's1')), 'SKIPPED', 'and skipped');
select is(format('%s %s %s', status('waits'), status('waits', 2), steps('waits', 3)), 'STOPPED FAILED s1 SKIPPED, s2 RUNNING', 'at once');
select work('b') \g /dev/null

-- ---- restart of a step (11, 14) ----------------------------------------------------------------------------------------

select make('again', jsonb_build_array(step('s1', '{"s2": "true"}'), step('s2'), step('other', '{}', '{}', 'B'))) \g /dev/null
select start('again') \g /dev/null
select raises($$select scylla.restart_step('again', 1, 's1')$$, '55000', 'workflow', 'status');
select raises($$select scylla.restart_step('again', 1, 's2')$$, '55000', 'workflow', 'created');
select break('a', '{"code": "x", "retryable": false}') \g /dev/null
select is(steps('again'), 'other RUNNING, s1 FATALLY_FAILED', 'a step that has failed for good in a run that goes on');
select is(outcome(scylla.restart_step('again', 1, 's1')), 'RUNNING', 'gets another attempt (11)');
select is((select string_agg(run || '/' || attempt || ' ' || status, ', ' order by attempt) from scylla.workflow_step_attempt where workflow = 'again' and step = 's1'),
          '1/1 FATALLY_FAILED, 1/2 RUNNING', 'of the same run');
select is((select action from scylla.workflow_action where workflow = 'again'), 'restart', 'the action is in the view');
select is(work_all('a') || ' ' || work_all('b'), 's1 s2 other', 'what follows it runs');
select is(status('again'), 'SUCCEEDED', 'and the run succeeds');

-- In a run that has ended.
select is(scylla.restart_step('again', 1, 's2') > 0, true, 'any step that has ended');
select is((select outcome from scylla.workflow_action where workflow = 'again' order by id desc limit 1), 'CREATED', 'begins a new run (11)');
select advance() \g /dev/null
select is((select max(run) from scylla.workflow_run where workflow = 'again')::bigint, 2::bigint, 'the second one');
select is(steps('again'), 'other SUCCEEDED, s1 SUCCEEDED, s2 RUNNING', 'from the step');
select is((select restart ->> 'policy' from scylla.workflow_run where workflow = 'again' and run = 2), 'RESTART_FROM_SPECIFIC', 'as restart_run() has it');
select break('a', '{"code": "x", "retryable": false}') \g /dev/null
select is(status('again'), 'FAILED', 'it fails');
select is(scylla.skip_step('again', 1, 's2') > 0, true, 'a step of a run that has ended can be skipped (11)');
select advance() \g /dev/null
select is(steps('again') || ' ' || status('again'), 'other SUCCEEDED, s1 SUCCEEDED, s2 SKIPPED SUCCEEDED', 'by a new run, too');
select is((select string_agg(action || ' ' || step || ' of run ' || run, ', ' order by id) from scylla.workflow_action where workflow = 'again'),
          'restart s1 of run 1, restart s2 of run 1, skip s2 of run 2', 'the view shows the run that each action was on, also when it is no longer the last one');
select is((select string_agg(split_part(message, ' ', 1) || ' ' || step || ' of run ' || run, ', ' order by at) from scylla.workflow_timeline where workflow = 'again' and type = 'ACTION' and step is not null),
          'restart s1 of run 1, restart s2 of run 1, skip s2 of run 2', '... as the timeline does');
select is(scylla.skip_step('again', 1, 's2'), null, 'once');
select raises($$select scylla.stop_step('again', 1, 's2')$$, '55000', 'workflow', 'ended');

-- Of a run that has not begun.
select make('queues', jsonb_build_array(step('s1'), step('s2', '{}', '{}', 'B')), '{}', '{"run_strategy": "SEQUENTIAL"}') \g /dev/null
select start('queues'), start('queues') \g /dev/null
select is(status('queues', 2), 'CREATED', 'a run that waits for its turn');
select raises($$select scylla.restart_step('queues', 2, 's1')$$, '55000', 'workflow', 'created');
select break('a', '{"code": "x", "retryable": false}'), work('b') \g /dev/null
select advance() \g /dev/null
select scylla.kill_run('queues', 2), advance() \g /dev/null
select scylla.restart_step('queues', 1, 's1') \g /dev/null
select raises($$select scylla.restart_step('queues', 1, 's1')$$, '55000', 'workflow', 'created');
select advance() \g /dev/null
select is(work_all('a') || ' ' || status('queues'), 's1 SUCCEEDED', 'once it has begun it is as any other');

select make('two', jsonb_build_array(step('s1', '{"s2": "true"}'), step('s2'), step('t', '{}', '{}', 'B'))) \g /dev/null
select start('two') \g /dev/null
select break('a', '{"code": "x", "retryable": false}'), break('b', '{"code": "x", "retryable": false}') \g /dev/null
select scylla.restart_step('two', 1, 't'), advance() \g /dev/null
select is(steps('two'), 's1 FATALLY_FAILED, t RUNNING', 'other failed steps stay as they are (11.3)');
select is(outcome(scylla.restart_step('two', 1, 's1')), 'RUNNING', 'until they are restarted, too');
select raises($$select scylla.restart_step('two', 1, 's2')$$, '55000', 'workflow', 'created');
select work_all('a'), work_all('b') \g /dev/null
select is(steps('two') || ' ' || status('two'), 's1 SUCCEEDED, s2 SUCCEEDED, t SUCCEEDED SUCCEEDED', 'and what follows them runs');

select make('looped', jsonb_build_array(over('l', '{"i": {"type": "LONG_ARRAY", "value": [1, 2]}}', jsonb_build_array(step('in'))))) \g /dev/null
select start('looped') \g /dev/null
select break('a', '{"code": "x", "retryable": false}'), work('a') \g /dev/null
select is(status('looped'), 'FAILED', 'a run with a loop that has failed');
select raises($$select scylla.skip_step('looped', 1, 'in', '{1}')$$, '55000', 'workflow', 'ended');
select is(scylla.restart_step('looped', 1, 'in', (select iterations from scylla.workflow_step where workflow = 'looped' and status = 'FATALLY_FAILED' and step = 'in')) > 0,
          true, 'a step in a loop restarts the iteration');
select advance(), advance() \g /dev/null
select is((select count(*) from scylla.workflow_step where workflow = 'looped' and step = 'in' and status = 'RUNNING'), 1::bigint, 'and the loop goes on (11)');
select work_all('a') \g /dev/null
select is(status('looped'), 'SUCCEEDED', 'until it has');

-- A loop and a subworkflow in a run that goes on.
select make('fails', jsonb_build_array(step('s'))) \g /dev/null
select make('goes_on', jsonb_build_array(over('l', '{"i": {"type": "LONG_ARRAY", "value": [1, 2]}}', jsonb_build_array(step('in'))),
            jsonb_build_object('subworkflow', '{"id": "sub", "params": {"subworkflow_id": {"type": "STRING", "value": "fails"}}}'::jsonb),
            step('other', '{}', '{}', 'B'))) \g /dev/null
select start('goes_on'), advance(), advance() \g /dev/null
select work('a') from generate_series(1, 1) \g /dev/null
select break('a', '{"code": "x", "retryable": false}') from generate_series(1, 2) \g /dev/null
select advance(), advance() \g /dev/null
select is((select string_agg(step || ' ' || status, ', ' order by step) from scylla.workflow_step where workflow = 'goes_on' and iterations is null),
          'l FATALLY_FAILED, other RUNNING, sub FATALLY_FAILED', 'a loop and a subworkflow that have failed');
select scylla.restart_step('goes_on', 1, 'l'), scylla.restart_step('goes_on', 1, 'sub'), advance(), advance(), advance() \g /dev/null
select is(work_all('a') in ('in s', 's in'), true, 'run again, with what has not succeeded (11)');
select advance(), advance() \g /dev/null
select is((select string_agg(step || ' ' || status, ', ' order by step) from scylla.workflow_step where workflow = 'goes_on' and iterations is null),
          'l SUCCEEDED, other RUNNING, sub SUCCEEDED', 'and succeed');
select is((select string_agg(run || ' ' || status, ', ' order by run) from scylla.workflow_run where workflow = 'fails'), '1 FAILED, 2 SUCCEEDED', 'the subworkflow with another run of its instance');
select work_all('b') \g /dev/null

-- ---- loops and subworkflows ---------------------------------------------------------------------------------------------

select make('inner', jsonb_build_array(step('s', '{}', '{"failure_mode": "FAIL_IMMEDIATELY"}'))) \g /dev/null
select make('around', jsonb_build_array(
    over('l', '{"i": {"type": "LONG_ARRAY", "value": [1, 2]}}', jsonb_build_array(
        over('m', '{"j": {"type": "LONG_ARRAY", "value": [1, 2]}}', jsonb_build_array(
            step('s', '{}', '{"failure_mode": "FAIL_IMMEDIATELY"}'),
            jsonb_build_object('subworkflow', '{"id": "call", "params": {"subworkflow_id": {"type": "STRING", "value": "inner"}}}'::jsonb))))),
    step('other', '{}', '{}', 'B'))) \g /dev/null
select start('around') \g /dev/null
select is((select count(*) from scylla.workflow_step where workflow = 'around' and status = 'RUNNING'), 12::bigint, 'four iterations in two loops');
select refuses_argument($$select scylla.stop_step('around', 1, 's', '{1}')$$, 'iterations', '1 numbers',
                        'The step is in 2 loops: it must have the number of an iteration of each, the outer one first.');
select refuses_argument($$select scylla.stop_step('around', 1, 's', '{1,null}')$$, 'iterations', 'null', 'It must not contain nulls.');
select raises($$select scylla.stop_step('around', 1, 's', '{1,3}')$$, 'P0002', 'workflow', 'iteration');
select raises($$select scylla.stop_step('around', 1, 'nothing')$$, 'P0002', 'workflow', 'step');
select is(outcome(scylla.stop_step('around', 1, 's', '{2,1}')), 'STOPPED', 'a step in two loops is named by its iterations');
select is((select iterations::text from scylla.workflow_action where workflow = 'around'), '{2,1}', 'and so it is in the view');
select is((select string_agg(iterations::text, ' ') from scylla.workflow_step where workflow = 'around' and step = 's' and status = 'STOPPED'), '{2,1}', 'nothing else is stopped');
select is(outcome(scylla.skip_step('around', 1, 'call', '{2,2}')), 'SKIPPED', 'a subworkflow is skipped');
select is((select string_agg(distinct status, ' ') from scylla.workflow_run where workflow = 'inner' and status <> 'IN_PROGRESS'), 'STOPPED', 'what it has started is stopped');
select is(outcome(scylla.kill_step('around', 1, 'm', '{1}')), 'FATALLY_FAILED', 'a loop in a loop is killed');
select is((select string_agg(distinct step || ' ' || status, ', ' order by step || ' ' || status) from scylla.workflow_step where workflow = 'around' and iterations @> '{1}' and iterations[1] = 1),
          'call STOPPED, m FATALLY_FAILED, s STOPPED', 'it has the status of the action, and what is inside of it is STOPPED (14)');
select is((select status from scylla.workflow_step where workflow = 'around' and step = 'l'), 'RUNNING', 'what is around it goes on');
select is(outcome(scylla.kill_step('around', 1, 'l')), 'FATALLY_FAILED', 'the outer loop is killed');
select is((select string_agg(distinct status, ' ') from scylla.workflow_run where workflow = 'inner'), 'STOPPED', 'runs of subworkflows are STOPPED, not killed (14)');
select is(steps('inner'), 's STOPPED', 'with their steps, whatever their failure mode');
select is(work('b') || ' ' || status('around'), 'other FAILED', 'and the run has failed');
select raises($$select scylla.stop_step('around', 1, 'm', '{1}')$$, '55000', 'workflow', 'ended');

select make('loose', jsonb_build_array(jsonb_build_object('subworkflow', '{"id": "call", "sync": false, "params": {"subworkflow_id": {"type": "STRING", "value": "inner"}}}'::jsonb), step('other', '{}', '{}', 'B'))) \g /dev/null
select max(instance) as before from scylla.workflow_run where workflow = 'inner' \gset
select start('loose') \g /dev/null
select scylla.kill_run('loose', 1), advance() \g /dev/null
select is(status('loose') || ' ' || status('inner', :before + 1), 'FAILED IN_PROGRESS', 'no action goes over to an asynchronous subworkflow (14)');
select work_all() \g /dev/null

-- ---- all runs of a workflow (3.6) ------------------------------------------------------------------------------------------

select make('all', jsonb_build_array(step('s', '{}', '{}', 'B')), '{}', '{"run_strategy": "sequential"}') \g /dev/null
select is(scylla.stop_workflow('all'), 0::bigint, 'there is nothing to stop');
select scylla.start_workflow('all') from generate_series(1, 3) \g /dev/null
select advance();
select is((select string_agg(status, ' ' order by instance) from scylla.workflow_run where workflow = 'all'), 'IN_PROGRESS CREATED CREATED', 'one run goes on, two wait');
select is(scylla.stop_workflow('all'), 3::bigint, 'stop_workflow() stops all, and tells how many there are');
select scylla.start_workflow('all') \g /dev/null
select advance();
select is((select string_agg(status, ' ' order by instance) from scylla.workflow_run where workflow = 'all'), 'STOPPED STOPPED STOPPED IN_PROGRESS', 'none of them has begun, and one that comes later does (3.6)');
select is((select string_agg(action || ' ' || outcome, ', ') from scylla.workflow_action where workflow = 'all'), 'stop STOPPED, stop STOPPED, stop STOPPED', 'each has its action');
select is(scylla.kill_workflow('all'), 1::bigint, 'kill_workflow()');
select advance();
select is(status('all', 4), 'FAILED', 'has them fail (3.6)');
select raises($$select scylla.stop_workflow('nothing')$$, '42704', 'workflow', 'exists');
select raises($$select scylla.kill_workflow('nothing')$$, '42704', 'workflow', 'exists');

-- ---- runs, and who was first ---------------------------------------------------------------------------------------------

select start('three') as run \gset
select scylla.stop_step('three', :run, 's1') as step_action, scylla.kill_run('three', :run) \gset
select advance();
select is((select string_agg(coalesce(step, 'run') || ' ' || action || ' ' || outcome, ', ' order by id) from scylla.workflow_action where workflow = 'three' and instance = :run),
          's1 stop STOPPED, run kill FAILED', 'an action on the run comes after one on a step, and wins over it (14)');
select is(status('three', :run), 'FAILED', 'it has failed');
select start('three') as run \gset
select rn from scylla.lease('a', 'w') \gset
select scylla.complete(:'rn', 'w') \g /dev/null
select is(outcome(scylla.stop_step('three', :run, 's1')), 'SUCCEEDED', 'a step that had ended before is not stopped, and the action tells so');
select scylla.stop_run('three', :run), advance() \g /dev/null
select is((select count(*) from scylla.workflow_action where done is null), 0::bigint, 'all actions are done');

select raises($$select scylla.stop_step('nothing', 1, 's')$$, '42704', 'workflow', 'exists');
select raises($$select scylla.kill_step('three', 77, 's1')$$, 'P0002', 'workflow', 'instance');
select refuses_argument($$select scylla.skip_step('three', null, 's1')$$, 'instance', 'null', 'It must not be null.');
select refuses_argument($$select scylla.skip_step('three', 1, null)$$, 'step', 'null', 'It must have 1 to 200 characters.');

select is((select count(*) from scylla.check()), 0::bigint, 'check() finds nothing');
select scylla.drop_workflow('three') \g /dev/null
select is((select count(*) from scylla.workflow_action where workflow = 'three'), 0::bigint, 'of a workflow that was dropped nobody sees actions');
select finish();
rollback;
