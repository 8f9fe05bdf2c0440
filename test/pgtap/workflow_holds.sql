-- Breakpoints, and pauses of steps and of workflows. Numbers in brackets are sections of the specification of Maestro's behaviour.
begin;
\ir include/helpers.psql
select * from no_plan();
select scylla.create_queue('a'), scylla.create_queue('b') \g /dev/null
\ir include/workflows.psql

-- Calls, and the engine.
create function call(statement text) returns void language plpgsql as $$
begin
    execute 'select ' || statement;
    perform advance();
end $$;

-- ---- breakpoints (9) ----------------------------------------------------------------------------------------------------

select make('stops', jsonb_build_array(step('s1', '{"s2": "true"}'), step('s2', '{"s3": "true"}', '{"timeout": 5}'), step('s3'))) \g /dev/null
select call($$scylla.set_breakpoint('stops', 's2')$$) \g /dev/null
select is((select format('%s %s %s|%s|%s|%s %s %s', workflow, step, version, instance, run, iterations, kind, author = current_user) from scylla.workflow_breakpoint),
          'stops s2 ||| breakpoint t', 'a breakpoint is in the view');
select start('stops') \g /dev/null
select is(work(), 's1', 'steps before it run');
select is(steps('stops'), 's1 SUCCEEDED, s2 PAUSED', 'and the step stops (9)');
select is((select format('%s %s %s %s', started, due, task, ended) from scylla.workflow_step where step = 's2'), '   ', 'its time has not begun (9)');
select is(status('stops'), 'IN_PROGRESS', 'the run goes on (9)');
select is(scylla.resume_step('stops', 1, 's2') is not null, true, 'it is resumed');
select is(steps('stops'), 's1 SUCCEEDED, s2 PAUSED', 'when the engine takes that up');
select advance() \g /dev/null
select is(steps('stops'), 's1 SUCCEEDED, s2 RUNNING', 'and it goes on');
select is((select format('%s %s', action, outcome) from scylla.workflow_action), 'resume RUNNING', 'which can be seen');
select is((select count(*) from scylla.workflow_breakpoint), 1::bigint, 'the breakpoint stays for others (9)');
select raises($$select scylla.resume_step('stops', 1, 's2')$$, '55000', 'workflow', 'status');
select raises($$select scylla.resume_step('stops', 1, 's3')$$, '55000', 'workflow', 'created');
select break('a', '{"code": "x"}') \g /dev/null
select is(steps('stops'), 's1 SUCCEEDED, s2 USER_FAILED', 'an attempt that has failed');
update scylla.workflow_step_state set due = now() - interval '1 s' where status = 'USER_FAILED';
select advance() \g /dev/null
select is(steps('stops'), 's1 SUCCEEDED, s2 PAUSED', 'the next one stops as well: the breakpoint matches each attempt (9)');
select is(outcome(scylla.skip_step('stops', 1, 's2')), 'SKIPPED', 'a paused step can be skipped (9)');
select work_all() \g /dev/null
select is(status('stops'), 'SUCCEEDED', 'and what follows runs');
select raises($$select scylla.resume_step('stops', 1, 's2')$$, '55000', 'workflow', 'ended');

select start('stops'), start('stops') \g /dev/null
select work_all() \g /dev/null
select is(outcome(scylla.stop_step('stops', 2, 's2')) || ' ' || outcome(scylla.kill_step('stops', 3, 's2')), 'STOPPED FATALLY_FAILED', 'stopped, and killed (9)');
select is(status('stops', 2) || ' ' || status('stops', 3), 'STOPPED FAILED', 'their runs end so');
select start('stops') \g /dev/null
select work_all() \g /dev/null
select call($$scylla.stop_run('stops', 4)$$) \g /dev/null
select is(steps('stops', 4), 's1 SUCCEEDED, s2 STOPPED', 'as does a run with a step that is paused');

-- The key: version, instance, run.
select make('stops', jsonb_build_array(step('s2'))) \g /dev/null
select raises($$select scylla.set_breakpoint('stops', 's1')$$, 'P0002', 'workflow', 'step');
select raises($$select scylla.set_breakpoint('stops', 's1', 2)$$, 'P0002', 'workflow', 'step');
select raises($$select scylla.set_breakpoint('stops', 's1', 3)$$, '42704', 'workflow', 'version');
select raises($$select scylla.set_breakpoint('stops', 's1', instance => 99)$$, 'P0002', 'workflow', 'instance');
select call($$scylla.set_breakpoint('stops', 's1', 1), scylla.set_breakpoint('stops', 's1', instance => 4), scylla.set_breakpoint('stops', 's2', instance => 4, run => 2)$$) \g /dev/null
select is((select string_agg(format('%s %s %s %s', step, version, instance, run), ', ' order by step, version, instance) from scylla.workflow_breakpoint),
          's1 1  , s1  4 , s2  4 2, s2   ', 'breakpoints of a version, an instance, a run');
select raises($$select scylla.drop_breakpoint('stops', 's2', instance => 4)$$, 'P0002', 'workflow', 'breakpoint');
select call($$scylla.drop_breakpoint('stops', 's2')$$) \g /dev/null
select start('stops') \g /dev/null
select is(steps('stops', 5), 's2 RUNNING', 'a run of another version and instance passes');
select is((scylla.restart_run('stops', 4)).run, 2, 'the instance runs again');
select advance() \g /dev/null
select is(steps('stops', 4), 's1 SUCCEEDED, s2 PAUSED', 'and stops in that run');
select is((scylla.start_workflow('stops', '{}', '1')).instance, 6::bigint, 'a run of the version that has a breakpoint');
select advance() \g /dev/null
select is(steps('stops', 6), 's1 PAUSED', 'stops');
select call($$scylla.drop_breakpoint('stops', 's1', 1)$$) \g /dev/null
select is(steps('stops', 6), 's1 PAUSED', 'without resume, what is paused stays so (9)');
select call($$scylla.set_breakpoint('stops', 's1', 1), scylla.drop_breakpoint('stops', 's1', 1, resume => true)$$) \g /dev/null
select is(steps('stops', 6), 's1 RUNNING', 'with it all goes on that the key matches (9)');
select is(steps('stops', 4), 's1 SUCCEEDED, s2 PAUSED', 'and nothing else');
select call($$scylla.set_breakpoint('stops', 's2'), scylla.drop_breakpoint('stops', 's2', resume => true)$$) \g /dev/null
select is(steps('stops', 4), 's1 SUCCEEDED, s2 RUNNING', 'also if another breakpoint matches (9, 19.9)');
select work_all(), work_all(), work_all() \g /dev/null

-- Adding twice.
update scylla.workflow_hold set created = '2020-01-01', author = 'nobody';
select call($$scylla.set_breakpoint('stops', 's1', instance => 4)$$) \g /dev/null
select is((select string_agg(step || (author = current_user) || (created > '2026-01-01'), ' ' order by step) from scylla.workflow_breakpoint), 's1truetrue s2falsefalse',
          'adding one twice renews its author and time (9)');

select refuses_argument($$select scylla.set_breakpoint('stops', 's2', 0)$$, 'version', '0', 'It must be at least 1.');
select refuses_argument($$select scylla.set_breakpoint('stops', 's2', instance => -3)$$, 'instance', '-3', 'It must be at least 1.');
select refuses_argument($$select scylla.set_breakpoint('stops', 's2', instance => 4, run => 0)$$, 'run', '0', 'It must be at least 1.');
select refuses_argument($$select scylla.set_breakpoint('stops', 's2', run => 1)$$, 'run', '1', 'It is one of an instance, which must be given.');
select refuses_argument($$select scylla.set_breakpoint('stops', null)$$, 'step', 'null', 'It must have 1 to 200 characters.');
select raises($$select scylla.set_breakpoint('nothing', 's1')$$, '42704', 'workflow', 'exists');

-- ---- in loops, and in subworkflows --------------------------------------------------------------------------------------

select make('looped', jsonb_build_array(over('l', '{"i": {"type": "LONG_ARRAY", "value": [1, 2, 3]}}', jsonb_build_array(step('in', '{"after": "true"}'), step('after'))))) \g /dev/null
select call($$scylla.set_breakpoint('looped', 'after')$$) \g /dev/null
select start('looped') \g /dev/null
select work_all() \g /dev/null
select is(steps('looped'), 'after{1} PAUSED, after{2} PAUSED, after{3} PAUSED, in{1} SUCCEEDED, in{2} SUCCEEDED, in{3} SUCCEEDED, l RUNNING',
          'a step in a loop stops in every iteration (9)');
select raises($$select scylla.resume_step('looped', 1, 'after', '{4}')$$, 'P0002', 'workflow', 'iteration');
select refuses_argument($$select scylla.resume_step('looped', 1, 'after')$$, 'iterations', '0 numbers',
                        'The step is in 1 loops: it must have the number of an iteration of each, the outer one first.');
select is(outcome(scylla.resume_step('looped', 1, 'after', '{2}')), 'RUNNING', 'one iteration is resumed');
select is((select string_agg(iterations::text, ' ' order by iterations) from scylla.workflow_step where step = 'after' and status = 'PAUSED'), '{1} {3}', 'and no other');
select call($$scylla.drop_breakpoint('looped', 'after', resume => true)$$) \g /dev/null
select is((select count(*) from scylla.workflow_step where step = 'after' and status = 'RUNNING'), 3::bigint, 'dropped, all go on');
select work_all() \g /dev/null
select is(status('looped'), 'SUCCEEDED', 'to the end of the run');

select make('outer', jsonb_build_array('{"subworkflow": {"id": "call", "params": {"subworkflow_id": {"type": "STRING", "value": "looped"}}}}'::jsonb)) \g /dev/null
select call($$scylla.set_breakpoint('looped', 'l')$$) \g /dev/null
select start('outer') \g /dev/null
select advance() \g /dev/null
select is(steps('outer') || ', ' || steps('looped', 2), 'call RUNNING, l PAUSED', 'a breakpoint on a workflow stops its runs that are subworkflows, too');
select is(outcome(scylla.resume_step('looped', 2, 'l')), 'RUNNING', 'and they are resumed');
select work_all() \g /dev/null
select is(status('outer'), 'SUCCEEDED', 'as any other');
select call($$scylla.drop_breakpoint('looped', 'l')$$) \g /dev/null

-- ---- single steps (14) --------------------------------------------------------------------------------------------------

select make('pauses', jsonb_build_array(step('s1', '{"s2": "true"}'), step('s2'))) \g /dev/null
select start('pauses'), start('pauses') \g /dev/null
select raises($$select scylla.pause_step('pauses', 1, 's1')$$, '55000', 'workflow', 'status');
select raises($$select scylla.pause_step('pauses', 1, 's3')$$, 'P0002', 'workflow', 'step');
select call($$scylla.pause_step('pauses', 1, 's2'), scylla.pause_step('pauses', 1, 's2')$$) \g /dev/null
select is((select format('%s %s %s %s %s', workflow, step, instance, run, kind) from scylla.workflow_breakpoint where workflow = 'pauses'), 'pauses s2 1 1 pause', 'a step that has not been created is to be paused');
select work_all() \g /dev/null
select is(steps('pauses') || ' ' || status('pauses', 2), 's1 SUCCEEDED, s2 PAUSED SUCCEEDED', 'it is when it comes, and only in this instance (14)');
select call($$scylla.pause_step('pauses', 1, 's2')$$) \g /dev/null
select is(outcome(scylla.resume_step('pauses', 1, 's2')), 'RUNNING', 'and goes on when it is resumed (14)');
select is((select count(*) from scylla.workflow_breakpoint where workflow = 'pauses'), 0::bigint, 'nothing is left');
select break('a', '{"code": "x"}') \g /dev/null
select call($$scylla.pause_step('pauses', 1, 's2')$$) \g /dev/null
update scylla.workflow_step_state set due = now() - interval '1 s' where status = 'USER_FAILED';
select advance() \g /dev/null
select is(steps('pauses'), 's1 SUCCEEDED, s2 PAUSED', 'one that waits to be tried again is paused then');
select call($$scylla.resume_step('pauses', 1, 's2')$$) \g /dev/null
select work_all() \g /dev/null
select is(status('pauses'), 'SUCCEEDED', 'and goes on');

select start('pauses') \g /dev/null
select call($$scylla.pause_step('pauses', 3, 's2')$$) \g /dev/null
select is(scylla.resume_step('pauses', 3, 's2'), null, 'resumed before it is paused');
select work_all() \g /dev/null
select is(status('pauses', 3), 'SUCCEEDED', 'it never is');
select raises($$select scylla.pause_step('pauses', 3, 's2')$$, '55000', 'workflow', 'ended');

select start('looped') \g /dev/null
select call($$scylla.pause_step('looped', 3, 'after', '{3}')$$) \g /dev/null
select raises($$select scylla.pause_step('looped', 3, 'after', '{0}')$$, 'P0002', 'workflow', 'iteration');
select refuses_argument($$select scylla.pause_step('looped', 3, 'after', '{1,1}')$$, 'iterations', '2 numbers',
                        'The step is in 1 loops: it must have the number of an iteration of each, the outer one first.');
select is((select iterations::text from scylla.workflow_breakpoint where workflow = 'looped'), '{3}', 'a step of one iteration');
select work_all() \g /dev/null
select is((select string_agg(iterations::text || status, ' ' order by iterations) from scylla.workflow_step where workflow = 'looped' and instance = 3 and step = 'after'),
          '{1}SUCCEEDED {2}SUCCEEDED {3}PAUSED', 'is paused in that');
select call($$scylla.resume_step('looped', 3, 'after', '{3}')$$) \g /dev/null
select work_all() \g /dev/null

-- One that has not come to its end does not outlive the run.
select make('forgotten', jsonb_build_array(step('s1', '{"s2": "true"}'), step('s2'))) \g /dev/null
select start('forgotten') \g /dev/null
select call($$scylla.pause_step('forgotten', 1, 's2'), scylla.set_breakpoint('forgotten', 's2', instance => 1)$$) \g /dev/null
select is((select string_agg(kind, ' ' order by kind) from scylla.workflow_breakpoint where workflow = 'forgotten'), 'breakpoint pause', 'a step that is to be paused');
select call($$scylla.stop_run('forgotten', 1)$$) \g /dev/null
select is((select string_agg(kind, ' ' order by kind) from scylla.workflow_breakpoint where workflow = 'forgotten'), 'breakpoint', 'is that no more when its run has ended; a breakpoint stays (9, 14)');
select call($$scylla.drop_breakpoint('forgotten', 's2', instance => 1), scylla.restart_run('forgotten', 1)$$) \g /dev/null
select work_all() \g /dev/null
select is(steps('forgotten'), 's1 SUCCEEDED, s2 SUCCEEDED', 'and the next run does not stop there');

-- ---- workflows (14) -----------------------------------------------------------------------------------------------------

select make('halted', jsonb_build_array(step('s1', '{"s2": "true"}'), step('s2', '{"s3": "true"}'), step('s3'), step('other', '{}', '{}', 'B'))) \g /dev/null
select start('halted') \g /dev/null
select call($$scylla.pause_workflow('halted'), scylla.pause_workflow('halted')$$) \g /dev/null
select is((select format('%s %s', paused <= clock_timestamp(), paused_by = current_user) from scylla.workflow where id = 'halted'), 't t', 'a workflow is paused');
select is(work(), 's1', 'what runs goes on');
select is(steps('halted'), 'other RUNNING, s1 SUCCEEDED, s2 INITIALIZED', 'nothing begins');
select start('halted') \g /dev/null
select is(status('halted', 2) || ' ' || status('halted'), 'CREATED IN_PROGRESS', 'also no run');
select is((select count(*) from scylla.check()), 0::bigint, 'and check() finds nothing');
select call($$scylla.resume_workflow('halted')$$) \g /dev/null
select is((select paused from scylla.workflow where id = 'halted'), null, 'it is resumed');
select is(steps('halted') || '; ' || steps('halted', 2), 'other RUNNING, s1 SUCCEEDED, s2 RUNNING; other RUNNING, s1 RUNNING', 'all goes on');
select call($$scylla.resume_workflow('halted')$$) \g /dev/null

-- A breakpoint that was set meanwhile stops a step; one that was resumed meanwhile does not stop again.
select call($$scylla.pause_workflow('halted'), scylla.set_breakpoint('halted', 's2', instance => 2)$$) \g /dev/null
select work_all() \g /dev/null
select is(steps('halted') || '; ' || steps('halted', 2), 'other RUNNING, s1 SUCCEEDED, s2 SUCCEEDED, s3 INITIALIZED; other RUNNING, s1 SUCCEEDED, s2 PAUSED', 'a breakpoint comes before the pause');
select call($$scylla.set_breakpoint('halted', 's3'), scylla.resume_step('halted', 2, 's2')$$) \g /dev/null
select is(steps('halted', 2), 'other RUNNING, s1 SUCCEEDED, s2 WAITING_FOR_SIGNALS', 'a step that is resumed waits for its workflow');
select call($$scylla.resume_workflow('halted')$$) \g /dev/null
select is(steps('halted') || '; ' || steps('halted', 2), 'other RUNNING, s1 SUCCEEDED, s2 SUCCEEDED, s3 PAUSED; other RUNNING, s1 SUCCEEDED, s2 RUNNING', 'and then goes on');
select call($$scylla.drop_breakpoint('halted', 's3', resume => true)$$) \g /dev/null
select work_all(), work_all('b') \g /dev/null
select is(status('halted') || ' ' || status('halted', 2), 'SUCCEEDED SUCCEEDED', 'to the end');

-- Who waits to be tried again, loops, subworkflows.
select start('halted') \g /dev/null
select break('a', '{"code": "x"}') \g /dev/null
select call($$scylla.pause_workflow('halted')$$) \g /dev/null
update scylla.workflow_step_state set due = now() - interval '1 s' where status = 'USER_FAILED';
select advance() \g /dev/null
select is((select format('%s %s', status, attempt) from scylla.workflow_step where workflow = 'halted' and instance = 3 and step = 's1'), 'INITIALIZED 2', 'a step is not tried again');
select is(outcome(scylla.skip_step('halted', 3, 's1')), 'SKIPPED', 'but can be skipped');
select call($$scylla.stop_run('halted', 3), scylla.resume_workflow('halted')$$) \g /dev/null
select start('looped') \g /dev/null
select call($$scylla.pause_workflow('looped')$$) \g /dev/null
select work_all() \g /dev/null
select is((select count(*) from scylla.workflow_step where workflow = 'looped' and instance = 4 and status = 'INITIALIZED'), 3::bigint, 'steps in iterations wait');
select start('outer') \g /dev/null
select advance() \g /dev/null
select is(steps('outer', 2) || ' ' || status('looped', 5), 'call RUNNING CREATED', 'and runs that are subworkflows');
select call($$scylla.resume_workflow('looped')$$) \g /dev/null
select work_all() \g /dev/null
select is(status('looped', 4) || ' ' || status('outer', 2), 'SUCCEEDED SUCCEEDED', 'all go on');

-- Many iterations: more than one transaction of the engine lets go on.
select make('many', jsonb_build_array(over('l', '{"i": {"type": "LONG_ARRAY", "expression": "Util.intsBetween(0, 3, 1)"}}', jsonb_build_array(
    over('m', '{"j": {"type": "LONG_ARRAY", "expression": "Util.intsBetween(0, 400, 1)"}}', jsonb_build_array(step('in')), '{}', '{"concurrency": 500}')))), '{"instance_step_concurrency": 500}') \g /dev/null
select call($$scylla.set_breakpoint('many', 'in')$$) \g /dev/null
select start('many') \g /dev/null
select is((select count(*) from scylla.workflow_step where workflow = 'many' and status = 'PAUSED'), 1200::bigint, 'many steps are paused');
select call($$scylla.pause_workflow('many'), scylla.drop_breakpoint('many', 'in', resume => true)$$) \g /dev/null
select is((select count(*) from scylla.workflow_step where workflow = 'many' and status = 'WAITING_FOR_SIGNALS'), 1200::bigint, 'they are resumed');
select call($$scylla.resume_workflow('many')$$) \g /dev/null
select is((select count(*) from scylla.workflow_step where workflow = 'many' and step = 'in' and status in ('RUNNING', 'WAITING_FOR_PERMITS')), 1200::bigint, 'they go on');
select call($$scylla.stop_run('many', 1)$$) \g /dev/null

-- ---- what goes with it --------------------------------------------------------------------------------------------------

select raises($$select scylla.pause_workflow('nothing')$$, '42704', 'workflow', 'exists');
select raises($$select scylla.resume_workflow('nothing')$$, '42704', 'workflow', 'exists');
select is((select count(*) from scylla.check()), 0::bigint, 'check() finds nothing');
select call($$scylla.set_breakpoint('pauses', 's1'), scylla.set_breakpoint('pauses', 's1', instance => 1), scylla.pause_workflow('pauses')$$) \g /dev/null
select scylla.alter_queue('a', '{"retention": "0 s"}') \g /dev/null
update scylla.task_plan set created = '2019-12-31', finished = case when name ~ '^workflow:pauses/1/' then '2020-01-01' else finished end;
select scylla.maintain() \g /dev/null
select is((select string_agg(kind || ' ' || instance, ', ' order by kind) from scylla.workflow_hold where workflow = 'pauses'), 'breakpoint 0, workflow 0', 'what is about an instance goes with it');
select scylla.drop_workflow('pauses') \g /dev/null
select is((select count(*) from scylla.workflow_hold where workflow = 'pauses'), 0::bigint, 'and all with the workflow');
select is((select count(*) from scylla.check()), 0::bigint, 'check() finds nothing');
select finish();
rollback;
