-- Restarts of what is in loops and subworkflows: the path to it runs again. See docs/workflows.md. Numbers in brackets are sections of the
-- specification of Maestro's behaviour.
begin;
\ir include/helpers.psql
\ir include/workflows.psql
select * from no_plan();
select scylla.create_queue('a'), scylla.create_queue('b') \g /dev/null

create function no_retry() returns jsonb immutable language sql as $$select '{"code": "x", "retryable": false}'::jsonb$$;
-- Fails the task of that step in these iterations.
create function fail_at(of_step text, iteration jsonb = null, of text = null) returns text language plpgsql as $$
declare t record;
begin
    for t in select rn, queue from scylla.task where spec ->> 'step' = of_step and status = 'ready' and spec -> 'iteration' is not distinct from iteration
              and (of is null or spec ->> 'workflow' = of) order by created, rn limit 1 loop
        perform scylla.lease_task(t.rn, 'w');
        perform scylla.fail(t.rn, 'w', no_retry());
        perform advance();
        return of_step;
    end loop;
end $$;
create function runs(of text, number bigint = 1) returns text language sql as $$
    select string_agg(run || ' ' || status, ', ' order by run) from scylla.workflow_run where workflow = of and instance = number
$$;
-- What a call restarts: code, workflow, instance and run.
create function restarted(of text, number bigint, policy text = 'RESTART_FROM_INCOMPLETE', params jsonb = '{}', step text = null, alone boolean = false) returns text language plpgsql as $$
declare r record;
begin
    select * into r from scylla.restart_run(of, number, policy, params => params, step => step, alone => alone);
    perform advance();
    return format('%s %s %s %s', r.code, r.of_workflow, r.of_instance, r.run);
end $$;

-- ---- a child whose ancestors have ended (11) ----------------------------------------------------------------------------

select make('child', jsonb_build_array(step('c1', '{"c2": "true"}'), step('c2')), '{"params": {"x": {"type": "LONG", "value": 1}}}') \g /dev/null
select make('parent', jsonb_build_array(call('sub', 'child', '{"transition": {"successors": {"then": "true"}}}'), step('then', '{}', '{}', 'B'), step('beside', '{}', '{}', 'B')),
            '{"params": {"x": {"type": "LONG", "value": 5}}}') \g /dev/null
select make('top', jsonb_build_array(call('down', 'parent', '{"transition": {"successors": {"last": "true"}}}'), step('last', '{}', '{}', 'B'))) \g /dev/null
select start('top'), advance(), advance() \g /dev/null
select work('a'), fail_at('c2'), fail_at('beside') \g /dev/null
select is(format('%s %s %s', status('top'), status('parent'), status('child')), 'FAILED FAILED FAILED', 'a subworkflow of a subworkflow has failed, and so have those that wait for it');
select is(restarted('child', 1, params => '{"x": 9}'), '1 top 1 2', 'a restart of the last one climbs to the topmost that has ended (11)');
select advance(), advance() \g /dev/null
select is(format('%s; %s; %s', runs('top'), runs('parent'), runs('child')), '1 FAILED, 2 IN_PROGRESS; 1 FAILED, 2 IN_PROGRESS; 1 FAILED, 2 IN_PROGRESS',
          'all of them run again, no other instance is started');
select is(steps('top') || '; ' || steps('parent') || '; ' || steps('child'), 'down RUNNING; beside FATALLY_FAILED, sub RUNNING; c1 SUCCEEDED, c2 RUNNING',
          'of each only what is on the way: a step beside it, which has failed, too, stays as it is (11.3)');
select is((select string_agg(workflow || ' ' || (params ->> 'x'), ', ' order by workflow) from scylla.workflow_run where run = 2 and params ? 'x'),
          'child 9, parent 5', 'parameters go to the last one only (4.4)');
select is((select jsonb_pretty(restart - 'below') || (restart #>> '{below,workflow}') || (restart #>> '{below,below,workflow}') || (restart #>> '{below,below,params}')
           from scylla.workflow_run where workflow = 'top' and run = 2),
          jsonb_pretty('{"policy": "RESTART_FROM_SPECIFIC", "step": "down"}') || 'parentchild{"x": 9}', 'the path is in the request of the topmost one (11)');
select is((select initiator ->> 'type' from scylla.workflow_run where workflow = 'child' and run = 2), 'SUBWORKFLOW', 'the others run as what their parents have started');
select is_empty('select * from scylla.check()', 'nothing is wrong');
select work('a') \g /dev/null
select is(work_all('b'), 'then last', 'what follows on the way runs');
select is(format('%s; %s; %s', runs('top'), runs('parent'), runs('child')), '1 FAILED, 2 SUCCEEDED; 1 FAILED, 2 SUCCEEDED; 1 FAILED, 2 SUCCEEDED', 'to the end');
select is((select string_agg(instance_status, ' ' order by workflow) from scylla.workflow_run where run = 2), 'SUCCEEDED FAILED SUCCEEDED', 'what is left is told (10.2)');
select raises($$select scylla.restart_run('child', 1)$$, '55000', 'workflow', 'complete');
select raises($$select scylla.restart_run('child', 1, 'RESTART_FROM_SPECIFIC', step => 'nothing')$$, '22023', 'task', 'argument');
select is(restarted('child', 1, 'RESTART_FROM_SPECIFIC', step => 'c2'), '1 top 1 3', 'from a step of a child that has succeeded');
select advance(), advance() \g /dev/null
select is(steps('child') || ' ' || runs('child'), 'c1 SUCCEEDED, c2 RUNNING 1 FAILED, 2 SUCCEEDED, 3 IN_PROGRESS', 'it is the same instance that runs again from there');
select work('a'), work_all('b') \g /dev/null
select is(format('%s; %s', status('top'), (select count(*) from scylla.workflow_run where workflow = 'child' and instance > 1)), 'SUCCEEDED; 0', 'to the end');
select is(scylla.restart_step('child', 1, 'c1') > 0, true, 'restart_step() climbs as well (11)');
select advance(), advance(), advance() \g /dev/null
select is((select row(workflow, step, action, outcome)::text from scylla.workflow_action where action = 'restart' order by id desc limit 1), '(child,c1,restart,CREATED)', 'the action is on the step');
select is(steps('child') || ' ' || status('top'), 'c1 RUNNING IN_PROGRESS', 'from the step');
select work_all('a'), work_all('b') \g /dev/null
select is(status('top'), 'SUCCEEDED', 'to the end');
select is(scylla.skip_step('child', 1, 'c2') > 0, true, 'and so does skip_step()');
select advance(), advance(), advance() \g /dev/null
select is(steps('child') || '; ' || steps('parent'), 'c1 SUCCEEDED, c2 SKIPPED; beside FATALLY_FAILED, sub SUCCEEDED, then RUNNING', 'the step is skipped, and its parents go on');
select work_all('b') \g /dev/null
select is_empty('select * from scylla.check()', 'nothing is wrong');

-- ---- alone (UpstreamRestartMode of 11) ----------------------------------------------------------------------------------

select is(restarted('child', 1, 'RESTART_FROM_BEGINNING', alone => true), '1 child 1 6', 'alone, only the instance runs again');
select is(runs('top') like '%6%', false, 'what has started it does not hear of that');
select work_all('a') \g /dev/null
select is(restarted('child', 1, 'RESTART_FROM_BEGINNING'), '1 child 1 7', 'from then on it is by itself');
select work_all('a') \g /dev/null

-- ---- an asynchronous border (11) ----------------------------------------------------------------------------------------

select make('loose', jsonb_build_array(call('sub', 'child', '{"sync": false}'))) \g /dev/null
select start('loose'), advance(), advance() \g /dev/null
select fail_at('c1') \g /dev/null
select is(restarted('child', 2), '1 child 2 2', 'an asynchronous subworkflow does not climb');
select work_all('a') \g /dev/null
select is(status('child', 2) || ' ' || runs('loose'), 'SUCCEEDED 1 SUCCEEDED', 'its parent stays as it is');

-- ---- the nearest ancestor that goes on (11) -----------------------------------------------------------------------------

select make('goes_on', jsonb_build_array(call('down', 'parent'), step('other', '{}', '{}', 'B'))) \g /dev/null
select start('goes_on'), advance(), advance() \g /dev/null
select fail_at('c1'), fail_at('beside') \g /dev/null
select is(status('goes_on') || ' ' || steps('goes_on') || ' ' || status('parent', 2), 'IN_PROGRESS down FATALLY_FAILED, other RUNNING FAILED', 'a run goes on, its subworkflow has failed');
select is(restarted('child', 3), '2 goes_on 1 1', 'the restart is delegated to it (11)');
select advance(), advance() \g /dev/null
select is(steps('goes_on') || '; ' || steps('parent', 2) || '; ' || steps('child', 3), 'down RUNNING, other RUNNING; beside FATALLY_FAILED, sub RUNNING; c1 RUNNING', 'its step gets another attempt, with the way down');
select is((select string_agg(workflow || ' ' || step || ' ' || action || ' ' || outcome, ', ') from scylla.workflow_action where workflow = 'goes_on'), 'goes_on down restart RUNNING', 'the action is on this step');
select is(runs('parent', 2) || '; ' || runs('child', 3), '1 FAILED, 2 IN_PROGRESS; 1 FAILED, 2 IN_PROGRESS', 'and those below have another run');
select fail_at('c1') \g /dev/null
select raises($$select scylla.restart_step('child', 3, 'c2')$$, '55000', 'workflow', 'created');
select scylla.restart_step('child', 3, 'c1') as action \gset
select raises($$select scylla.restart_step('child', 3, 'c1')$$, '55000', 'workflow', 'pending');
select is((select workflow || ' ' || step from scylla.workflow_action where id = :action), 'goes_on down', 'a step that is restarted is delegated as well');
select advance(), advance(), advance() \g /dev/null
select work_all('a'), work_all('b') \g /dev/null
select is(status('goes_on') || ' ' || status('child', 3), 'SUCCEEDED SUCCEEDED', 'all have succeeded');
select is_empty('select * from scylla.check()', 'nothing is wrong');

-- What the ancestor's step does not allow.
select make('ignores', jsonb_build_array(call('sub', 'child', '{"failure_mode": "IGNORE_FAILURE"}'), step('other', '{}', '{}', 'B'))) \g /dev/null
select start('ignores'), advance(), advance() \g /dev/null
select fail_at('c1') \g /dev/null
select is(steps('ignores'), 'other RUNNING, sub COMPLETED_WITH_ERROR', 'the run goes on as if its step had succeeded');
select is(raised($$select scylla.restart_run('child', 4)$$), E'55000 scylla.workflow/status\nstep "sub" of instance 1 of workflow "ignores" is COMPLETED_WITH_ERROR and cannot be restarted\n', 'the refusal names the step above');
select work_all('b') \g /dev/null
select is(restarted('child', 4), '1 ignores 1 2', 'when it has ended it can');
select advance(), work_all('a'), work_all('b') \g /dev/null
select is(status('ignores') || ' ' || steps('ignores'), 'SUCCEEDED other SUCCEEDED, sub SUCCEEDED', 'and does');

-- ---- iterations (5.2, 11) -----------------------------------------------------------------------------------------------

select make('each', jsonb_build_array(each('l', 4, jsonb_build_array(step('p', '{"q": "true"}'), step('q', '{}', '{}', 'B'), step('r', '{}', '{}', 'B')), '{"end": "true"}'), step('end'))) \g /dev/null
select start('each') \g /dev/null
select fail_at('p', '[1]'), fail_at('p', '[3]'), fail_at('r', '[3]'), work_all('a'), work_all('b') \g /dev/null
select is(status('each') || (select count(*)::text from scylla.workflow_step where workflow = 'each' and status = 'FATALLY_FAILED'), 'FAILED4', 'two iterations have failed');
select is(scylla.restart_step('each', 1, 'p', '{3}') > 0, true, 'a step of one of them is restarted');
select advance(), advance() \g /dev/null
select is(steps('each'), 'l RUNNING, p{1} FATALLY_FAILED, p{2} SUCCEEDED, p{3} RUNNING, p{4} SUCCEEDED, q{2} SUCCEEDED, q{4} SUCCEEDED, r{1} SUCCEEDED, r{2} SUCCEEDED, r{3} FATALLY_FAILED, r{4} SUCCEEDED',
          'iterations beside it are kept as they are, and in it the step beside it (11)');
select is(rollup_of('each'), '13: FATALLY_FAILED 2, NOT_CREATED 3, RUNNING 1, SUCCEEDED 7', 'also in the rollup');
select is_empty('select * from scylla.check()', 'nothing is wrong');
select work_all('a'), work_all('b') \g /dev/null
select is(status('each') || (select error ->> 'message' from scylla.workflow_step where workflow = 'each' and step = 'l'), 'FAILED2 iterations have failed', 'the loop has not succeeded: an iteration, and a step of this one');
select is((select string_agg(step || iterations::text, ' ' order by step) from scylla.failed_steps('each', 1)), 'p{1} r{3}', 'both are told');
select scylla.restart_step('each', 1, 'p', '{1}') \g /dev/null
select advance(), advance() \g /dev/null
select work_all('a'), work_all('b') \g /dev/null
select is(status('each') || (select error ->> 'message' from scylla.workflow_step where workflow = 'each' and step = 'l'), 'FAILED1 iteration has failed', 'then the other one');
select scylla.restart_run('each', 1), advance(), advance() \g /dev/null
select is(steps('each') like '%r{3} RUNNING%', true, 'a restart from what is incomplete finds the step that an earlier one has left');
select work_all('b'), work_all('a') \g /dev/null
select is(status('each'), 'SUCCEEDED', 'and the run succeeds');
select scylla.restart_step('each', 1, 'q', '{2}') \g /dev/null
select advance(), advance() \g /dev/null
select is((select string_agg(step || coalesce(iterations::text, ''), ' ' order by step, iterations) from scylla.workflow_step where workflow = 'each' and run = 5), 'l q{2}',
          'a step of an iteration that has succeeded can be restarted: nothing else of the loop is touched');
select work_all('b') \g /dev/null
select is(work_all('a') || ' ' || status('each'), 'end SUCCEEDED', 'and what follows the loop');
select is_empty('select * from scylla.check()', 'nothing is wrong');

-- In a run that goes on, and a loop that goes on (5.2).
select make('live', jsonb_build_array(each('l', 3, jsonb_build_array(step('p'))), step('other', '{}', '{}', 'B'))) \g /dev/null
select start('live') \g /dev/null
select fail_at('p', '[1]'), fail_at('p', '[2]') \g /dev/null
select is(steps('live'), 'l RUNNING, other RUNNING, p{1} FATALLY_FAILED, p{2} FATALLY_FAILED, p{3} RUNNING', 'iterations have failed while others run');
select is(outcome(scylla.restart_step('live', 1, 'p', '{1}')), 'RUNNING', 'one of them runs again at once (5.2)');
select is(work_all('a'), 'p p', 'the loop goes on');
select is(steps('live'), 'l FATALLY_FAILED, other RUNNING, p{1} SUCCEEDED, p{2} FATALLY_FAILED, p{3} SUCCEEDED', 'and fails for the other one');
select scylla.restart_step('live', 1, 'p', '{2}') as action \gset
select is((select action || ' ' || step from scylla.workflow_action where id = :action), 'restart l', 'now the loop is what is restarted (11)');
select advance(), advance() \g /dev/null
select is(steps('live'), 'l RUNNING, other RUNNING, p{1} SUCCEEDED, p{2} RUNNING, p{3} SUCCEEDED', 'with this iteration');
select work_all('a'), work_all('b') \g /dev/null
select is(status('live') || ' ' || rollup_of('live'), 'SUCCEEDED 4: SUCCEEDED 4', 'to the end');
select is_empty('select * from scylla.check()', 'nothing is wrong');

-- Children in iterations, of which each is restarted by itself.
select make('fan', jsonb_build_array(each('l', 3, jsonb_build_array(each('m', 2, jsonb_build_array(call('sub', 'one')))))))  \g /dev/null
select make('one', jsonb_build_array(step('s'))) \g /dev/null
select start('fan'), advance(), advance() \g /dev/null
select is((select count(*) from scylla.task where queue = 'a' and status = 'ready'), 6::bigint, 'six children in two loops');
select break('a', no_retry()), break('a', no_retry()), work_all('a') \g /dev/null
select is(status('fan'), 'FAILED', 'two have failed');
select (array_agg(instance order by instance))[1] as c1, (array_agg(instance order by instance))[2] as c2 from scylla.workflow_run where workflow = 'one' and status = 'FAILED' \gset
select is(restarted('one', :c1), '1 fan 1 2', 'one of them is restarted');
select advance(), advance() \g /dev/null
select is((select string_agg(instance || ' ' || run || ' ' || status, ', ' order by instance) from scylla.workflow_run r where workflow = 'one' and status <> 'SUCCEEDED' and run = (select max(run) from scylla.workflow_run where workflow = 'one' and instance = r.instance)),
          format('%s 2 IN_PROGRESS, %s 1 FAILED', :c1, :c2), 'and no other');
select is(restarted('one', :c2) like '2 fan 1 2', true, 'the other one joins it');
select advance(), advance(), advance() \g /dev/null
select is(work_all('a') || ' ' || status('fan'), 's s SUCCEEDED', 'and with both the whole succeeds');
select is((select count(*) from scylla.workflow_run where workflow = 'one'), 8::bigint, 'six instances, two of which have run twice');
select is_empty('select * from scylla.check()', 'nothing is wrong');

-- While: the last iteration (5.3).
select make('again', jsonb_build_array(jsonb_build_object('while', jsonb_build_object('id', 'w', 'condition', 'n < 2', 'steps',
    jsonb_build_array(step('p', '{"q": "true"}', '{"params": {"n": {"type": "LONG", "expression": "n + 1"}}}'), step('q'), step('r', '{}', '{}', 'B')),
    'params', '{"loop_params": {"type": "MAP", "value": {"n": {"type": "LONG", "value": 0}}}}'::jsonb)))) \g /dev/null
select start('again') \g /dev/null
select work('a'), work('a'), work('b'), fail_at('p', '[2]'), fail_at('r', '[2]') \g /dev/null
select scylla.restart_step('again', 1, 'r', '{2}'), advance(), advance() \g /dev/null
select is(steps('again'), 'p{1} SUCCEEDED, p{2} FATALLY_FAILED, q{1} SUCCEEDED, r{1} SUCCEEDED, r{2} RUNNING, w RUNNING', 'a step of the last iteration of a while');
select is(raised($$select scylla.restart_step('again', 1, 'q', '{1}')$$), E'55000 scylla.workflow/status\nstep "q" {1} of instance 1 of workflow "again" is SUCCEEDED and cannot be restarted\n', 'others are complete');
select work('b') \g /dev/null
select scylla.restart_run('again', 1), advance(), advance(), work_all('a'), work_all('b'), work_all('a') \g /dev/null
select is(status('again'), 'SUCCEEDED', 'it goes on');
select is_empty('select * from scylla.check()', 'nothing is wrong');

-- ---- rights -------------------------------------------------------------------------------------------------------------

create role scylla_test_child;
create role scylla_test_both;
grant usage on schema scylla to scylla_test_child, scylla_test_both;
grant execute on all functions in schema scylla to scylla_test_child, scylla_test_both;
select scylla.grant_workflow('child', 'scylla_test_child', 'run'), scylla.grant_workflow('child', 'scylla_test_both', 'run'), scylla.grant_workflow('parent', 'scylla_test_both', 'run') \g /dev/null
select start('parent'), advance() \g /dev/null
select fail_at('c1'), fail_at('beside') \g /dev/null
select max(instance) as theirs from scylla.workflow_run where workflow = 'child' \gset
set local role scylla_test_child;
select raised(format($$select scylla.restart_run('child', %s)$$, :theirs)) as refused \gset
select raised(format($$select scylla.restart_step('child', %s, 'c1')$$, :theirs)) as refused_step \gset
reset role;
select is(:'refused'::text, E'42501 scylla.workflow/privilege\npermission denied for workflow "parent"\nRole "scylla_test_child" does not have the privilege "run".', 'who restarts a child must be able to run what runs again above it');
select is(:'refused_step'::text, :'refused'::text, 'also a step of it');
set local role scylla_test_both;
select code, of_workflow, run from scylla.restart_run('child', :theirs) \gset
reset role;
select is(:'code' || :'of_workflow' || :'run', '1parent2', 'then he can');
select is((select row(initiator ->> 'type', initiator ->> 'user')::text from scylla.workflow_run where workflow = 'parent' and run = 2 order by instance desc limit 1), '(MANUAL,scylla_test_both)', 'and is who has started it');
select advance(), advance(), work_all('a'), work_all('b') \g /dev/null
select is(status('child', :theirs), 'SUCCEEDED', 'the child runs as that of its parent, whose owner may');
select start('parent'), advance() \g /dev/null
select fail_at('c1'), fail_at('beside') \g /dev/null
select max(instance) as theirs from scylla.workflow_run where workflow = 'child' \gset
set local role scylla_test_child;
select code, of_workflow, run from scylla.restart_run('child', :theirs, alone => true) \gset
reset role;
select is(:'code' || :'of_workflow' || :'run', '1child2', 'alone needs the privilege on the child only');
select advance(), work_all('a') \g /dev/null

-- ---- what is removed ----------------------------------------------------------------------------------------------------

select start('parent'), advance() \g /dev/null
select fail_at('c1'), fail_at('beside') \g /dev/null
select max(instance) as lost from scylla.workflow_run where workflow = 'child' \gset
select is(status('child', :lost), 'FAILED', 'a child');
update scylla.task_plan set created = created - interval '1 year', finished = case name when (select plan from scylla.workflow_run where workflow = 'parent' order by instance desc limit 1)
    then finished - interval '1 year' else finished end;
update scylla.task_outcome set finished = now() - interval '1 year' where id in (select id from scylla.task where plan = (select plan from scylla.workflow_run where workflow = 'parent' order by instance desc limit 1));
select scylla.purge() \g /dev/null
select is(status('parent', (select latest_instance from scylla.workflow_head where id = 'parent')), null, 'whose parent is not kept any more');
select is(restarted('child', :lost), format('1 child %s 2', :lost), 'runs by itself');
select work_all('a') \g /dev/null

select is((select string_agg(c::text, E'\n') from scylla.check() c), null, 'check() finds nothing');
select * from finish();
rollback;
