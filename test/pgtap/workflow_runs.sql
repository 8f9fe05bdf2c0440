-- Runs of workflows. The model is held against a reference in test/unit; here it is what of it the database makes: tasks, rows, rights.
-- Numbers in brackets are sections of the specification of Maestro's behaviour.
begin;
\ir include/helpers.psql
select * from no_plan();
select scylla.create_queue('a'), scylla.create_queue('b') \g /dev/null

\ir include/workflows.psql

-- ---- a chain ----------------------------------------------------------------------------------------------------------

select is(make('chain', jsonb_build_array(step('s1', '{"s2": "true"}'), step('s2', '{"s3": "true"}'), step('s3'))), 1, 'a workflow');
select is((select row(code, workflow_id, instance, run, status)::text from scylla.start_workflow('chain', '{"x": 5}', request_id => 'once')),
          '(1,chain,1,1,CREATED)', 'start_workflow() tells its number');
select is((select row(code, instance, run, status)::text from scylla.start_workflow('chain', request_id => 'once')), '(0,1,1,CREATED)',
          'a request that came before is the same run (3.1)');
select advance();
select is(status('chain'), 'IN_PROGRESS', '[2.1] it begins');
select is(steps('chain'), 's1 RUNNING', 'with its first step (2.3)');
select is((select spec - 'params' from scylla.task where queue = 'a'),
          '{"run": 1, "step": "s1", "type": "A", "attempt": 1, "instance": 1, "workflow": "chain"}'::jsonb, 'whose task tells what it is');
select is((select params ->> 'x' from scylla.workflow_run where workflow = 'chain'), '5', 'parameters of the request are there');
select is(work(), 's1', 'its worker ends it');
select is(steps('chain'), 's1 SUCCEEDED, s2 RUNNING', 'the next one follows');
select is(work_all(), 's2 s3', 'and so on');
select is(steps('chain'), 's1 SUCCEEDED, s2 SUCCEEDED, s3 SUCCEEDED', 'all are done');
select is(status('chain'), 'SUCCEEDED', '[2.1] so is the run');
select is((select row(opened is not null, finished is not null, failed, cancelled)::text from scylla.task_plan where name = 'workflow:chain/1/1'),
          '(t,t,f,f)', 'and its plan');
select is((select count(*) from scylla.workflow_agenda), 0::bigint, 'nothing is left on the agenda');

-- ---- branches and joins (2.3, 5.1) --------------------------------------------------------------------------------------

select make('branch', jsonb_build_array(
    step('first', '{"yes": "n > 3", "no": "n <= 3"}'), step('yes', '{"join": "true"}'), step('no', '{"next": "true"}'), step('next', '{"join": "true"}'),
    step('join')), '{"params": {"n": {"type": "LONG", "value": 5}}}') \g /dev/null
select is(start('branch'), 1::bigint, 'a run');
select is(work_all(), 'first yes join', 'only one branch runs, and the join after it');
select is(steps('branch'), 'first SUCCEEDED, join SUCCEEDED, next UNSATISFIED, no UNSATISFIED, yes SUCCEEDED', 'the other one is skipped as a whole');
select is(status('branch'), 'SUCCEEDED', 'it succeeds');
select start('branch', '{"n": 1}') \g /dev/null
select is(work_all(), 'first no next join', 'a parameter of the request decides otherwise');

-- ---- parameters and output (4) ------------------------------------------------------------------------------------------

select make('params', jsonb_build_array(
    step('one', '{"two": "count > 1"}', '{"params": {"count": {"type": "LONG", "value": 0}, "day": {"type": "STRING", "value": "of $day"}}}'),
    step('two', '{}', '{"params": {"was": {"type": "LONG", "expression": "one__count * 2"}}}', 'B')),
    '{"params": {"day": {"type": "STRING", "value": "today"}}}') \g /dev/null
select start('params') \g /dev/null
select is((select spec #>> '{params,day}' from scylla.task where queue = 'a' and status = 'ready'), 'of today', 'a worker gets the parameters of its step');
select is(work('a', '{"params": {"count": 21}}'), 'one', 'what it puts out (4.8)');
select is((select spec #>> '{params,was}' from scylla.task where queue = 'b' and status = 'ready'), '42', 'is read by the next one (4.6)');
select is(work('b'), 'two', 'done');
select start('params') \g /dev/null
select work('a', '{"params": {"nothing": 1}}') \g /dev/null
select is(steps('params', 2), 'one FATALLY_FAILED', 'a parameter that the step does not have is refused');
select alike((select error ->> 'message' from scylla.workflow_step where workflow = 'params' and instance = 2), '%nothing%', 'and named');
select is(status('params', 2), 'FAILED', 'the run fails');
select raises($$select scylla.start_workflow('params', '{"day": [1]}')$$, '22023', 'workflow', 'params');
select is((select count(*) from scylla.workflow_run where workflow = 'params'), 2::bigint, 'then there is no run');
select refuses_argument($$select scylla.start_workflow('params', '[]')$$, 'params', '[]', 'It must be an object.');

-- ---- definitions that want too much -------------------------------------------------------------------------------------

select make('loops', jsonb_build_array(step('s1', '{"s2": "true"}', '{}', 'NoOp'),
    step('s2', '{"s3": "int n = 0; for (int i = 0; i < 25000; i = i + 1) { for (int j = 0; j < 25000; j = j + 1) { n = n + 1; } } n > 0"}', '{}', 'NoOp'), step('s3'))) \g /dev/null
select clock_timestamp() as before \gset
select start('loops') \g /dev/null
select cmp_ok(clock_timestamp() - :'before', '<', interval '30 s', 'a condition that would take minutes ends');
select is(steps('loops') || ', ' || status('loops'), 's1 SUCCEEDED, s2 FATALLY_FAILED, FAILED', 'as a failure of its step');
-- On a slow machine the time is over before the steps are.
select matches((select error ->> 'message' from scylla.workflow_step where workflow = 'loops' and step = 's2'), 'more than 20000000 steps|longer than 1000 milliseconds', 'which says why');
select make('huge', jsonb_build_array(step('s1', '{}', '{"params": {"x": {"type": "STRING", "expression": "String s = ''x''; for (int i = 0; i < 40; i = i + 1) { s = s + s; } s"}}}'))) \g /dev/null
select start('huge') \g /dev/null
select is(steps('huge'), 's1 FATALLY_FAILED', 'an expression that makes a huge text fails');
select make('wide', (select jsonb_agg(step('s' || i, case when i < 300 then jsonb_build_object('s' || i + 1, 'true') else '{}' end, '{}', 'NoOp')) from generate_series(1, 300) i)) \g /dev/null
select start('wide') \g /dev/null
select is((select count(*) || ' ' || status('wide') from scylla.workflow_step where workflow = 'wide' and status = 'SUCCEEDED'), '300 SUCCEEDED', 'a chain of 300 steps');
create function nest(depth int) returns jsonb language sql as $$
    select case when depth = 0 then step('s', '{}', '{}', 'NoOp')
                else jsonb_build_object('foreach', jsonb_build_object('id', 'l' || depth, 'steps', jsonb_build_array(nest(depth - 1)),
                     'params', jsonb_build_object('loop_params', jsonb_build_object('type', 'MAP', 'value', jsonb_build_object('i' || depth, '{"type": "LONG_ARRAY", "value": [1, 2]}'::jsonb))))) end
$$;
select make('deep', jsonb_build_array(nest(9))) \g /dev/null
select start('deep') \g /dev/null
select is((select count(*) || ' ' || status('deep') from scylla.workflow_step where workflow = 'deep' and step = 's' and array_length(iterations, 1) = 9), '512 SUCCEEDED', 'loops nested nine deep');
select make('broad', jsonb_build_array(step('s1', '{}', '{}', 'NoOp')), jsonb_build_object('params', jsonb_build_object('m', jsonb_build_object('type', 'STRING', 'value', 'x')))) \g /dev/null
select raises(format('select scylla.start_workflow(''broad'', %L)', jsonb_build_object('m', repeat('x', 750001))), '22023', 'workflow', 'params');
select is((select status from scylla.start_workflow('broad', jsonb_build_object('m', repeat('x', 700000)))), 'CREATED', 'parameters of 700,000 characters');
select advance();
select is(status('broad'), 'SUCCEEDED', 'are run');

-- ---- failures (6) ------------------------------------------------------------------------------------------------------

select make('fails', jsonb_build_array(
    step('s1', '{"s2": "true"}', '{"retry_policy": {"error_retry_limit": 1, "backoff": {"type": "FIXED_BACKOFF", "error_retry_backoff_in_secs": 1}}}'),
    step('s2'), step('other', '{}', '{}', 'B'))) \g /dev/null
select start('fails') \g /dev/null
select is(break('a', '{"code": "bad", "message": "no good"}'), 's1', 'a worker fails');
select is(steps('fails'), 'other RUNNING, s1 USER_FAILED', 'the step waits to be tried again (6.3)');
select is((select error ->> 'message' from scylla.workflow_step where workflow = 'fails' and step = 's1'), 'no good', 'with its error');
select advance();
select is(steps('fails'), 'other RUNNING, s1 USER_FAILED', 'not earlier than its policy says');
select pg_sleep(1.1);
select advance();
select is(steps('fails'), 'other RUNNING, s1 RUNNING', 'it is tried again');
select is((select attempt || ' ' || error_retries from scylla.workflow_step where workflow = 'fails' and step = 's1'), '2 1', 'as its second attempt');
select break('a', '{"code": "bad"}') \g /dev/null
select is(steps('fails'), 'other RUNNING, s1 FATALLY_FAILED', 'until it has no more retries');
select is((select array_agg(attempt || ' ' || status order by attempt) from scylla.workflow_step_attempt where workflow = 'fails' and step = 's1'),
          '{1 USER_FAILED,2 FATALLY_FAILED}', 'all attempts are there');
select is(status('fails'), 'IN_PROGRESS', 'what runs beside it goes on (6.1)');
select work('b') \g /dev/null
select is(status('fails'), 'FAILED', 'then the run fails');
select is((select failed from scylla.task_plan where name = 'workflow:fails/1/1'), true, 'and its plan');

select make('at-once', jsonb_build_array(step('s1', '{}', '{"failure_mode": "FAIL_IMMEDIATELY", "retry_policy": {"error_retry_limit": 0}}'),
                                         step('other', '{}', '{}', 'B'))) \g /dev/null
select start('at-once') \g /dev/null
select break('a', '{"code": "bad"}') \g /dev/null
select is(steps('at-once'), 'other STOPPED, s1 FATALLY_FAILED', 'FAIL_IMMEDIATELY stops what runs beside it (6.1)');
select is((select string_agg(status::text, ' ') from scylla.task where queue = 'b' and plan = 'workflow:at-once/1/1'), 'cancelled', 'also its task');
select is(status('at-once'), 'FAILED', 'the run fails at once');

select make('ignores', jsonb_build_array(step('s1', '{"s2": "true"}', '{"failure_mode": "IGNORE_FAILURE", "retry_policy": {"error_retry_limit": 0}}'), step('s2'))) \g /dev/null
select start('ignores') \g /dev/null
select break('a', '{"code": "bad"}') \g /dev/null
select is(work_all(), 's2', 'IGNORE_FAILURE goes on (6.1)');
select is(steps('ignores'), 's1 COMPLETED_WITH_ERROR, s2 SUCCEEDED', 'with an error');
select is(status('ignores'), 'SUCCEEDED', 'and the run succeeds');

select make('cancelled', jsonb_build_array(step('s1', '{"s2": "true"}'), step('s2'))) \g /dev/null
select start('cancelled') \g /dev/null
select scylla.cancel((select task from scylla.workflow_step where workflow = 'cancelled')) \g /dev/null
select advance();
select is(steps('cancelled') || ', ' || status('cancelled'), 's1 STOPPED, STOPPED', 'a task that somebody cancels stops its step and its run');

select make('refused', jsonb_build_array(step('s1', '{}', '{"retry_policy": {"error_retry_limit": 9}}', repeat('Q', 250)), step('s2'))) \g /dev/null
select start('refused') \g /dev/null
select is(steps('refused'), 's1 FATALLY_FAILED, s2 RUNNING', 'a task that cannot be submitted fails its step, and no other');
select alike((select error ->> 'message' from scylla.workflow_step where workflow = 'refused' and step = 's1'), 'invalid value for argument "queue"%', 'with the error');
select scylla.kill_run('refused', 1), advance() \g /dev/null

-- ---- loops (5.2, 5.3) ---------------------------------------------------------------------------------------------------

select make('each', jsonb_build_array(
    jsonb_build_object('foreach', '{"id": "loop", "concurrency": 2, "transition": {"successors": {"after": "true"}},
        "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": [1, 2, 3]}}}}}'::jsonb ||
        jsonb_build_object('steps', jsonb_build_array(step('inner', '{}', '{"params": {"square": {"type": "LONG", "expression": "i * i"}}}')))),
    step('after', '{}', '{"params": {"all": {"type": "LONG_ARRAY", "expression": "params.getFromForeach(''loop'', ''inner'', ''square'')"}}}', 'B'))) \g /dev/null
select start('each') \g /dev/null
select is(steps('each'), 'inner{1} RUNNING, inner{2} RUNNING, loop RUNNING', 'as many iterations run as its concurrency says (5.2)');
select is((select array_agg(spec #>> '{params,square}' order by spec #>> '{params,square}') from scylla.task where plan = 'workflow:each/1/1'), '{1,4}', 'each with its value');
select work() \g /dev/null
select is(steps('each'), 'inner{1} SUCCEEDED, inner{2} RUNNING, inner{3} RUNNING, loop RUNNING', 'the next one follows the end of one');
select is(work_all(), 'inner inner', 'to the last one');
select is(steps('each'), 'after RUNNING, inner{1} SUCCEEDED, inner{2} SUCCEEDED, inner{3} SUCCEEDED, loop SUCCEEDED', 'then the loop has succeeded');
select is((select spec #> '{params,all}' from scylla.task where plan = 'workflow:each/1/1' and queue = 'b'), '[1, 4, 9]'::jsonb, 'whose values the next step reads (4.7)');
select work('b') \g /dev/null
select is(status('each'), 'SUCCEEDED', 'done');

select make('while', jsonb_build_array(
    jsonb_build_object('while', '{"id": "loop", "condition": "n < 3", "params": {"loop_params": {"type": "MAP", "value": {"n": {"type": "LONG", "value": 1}}}}}'::jsonb ||
        jsonb_build_object('steps', jsonb_build_array(step('inner', '{}', '{"params": {"n": {"type": "LONG", "expression": "n + 1"}}}')))))) \g /dev/null
select start('while') \g /dev/null
select is(work_all(), 'inner inner', 'a while loop runs as long as its condition is true (5.3)');
select is(steps('while') || ', ' || status('while'), 'inner{1} SUCCEEDED, inner{2} SUCCEEDED, loop SUCCEEDED, SUCCEEDED', 'its values go on from one to the next');

select make('nested', jsonb_build_array(
    jsonb_build_object('foreach', '{"id": "outer", "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": [1, 2]}}}}}'::jsonb ||
        jsonb_build_object('steps', jsonb_build_array(
            jsonb_build_object('foreach', '{"id": "middle", "params": {"loop_params": {"type": "MAP", "value": {"j": {"type": "STRING_ARRAY", "value": ["x", "y"]}}}}}'::jsonb ||
                jsonb_build_object('steps', jsonb_build_array(step('inner', '{}', '{"params": {"p": {"type": "STRING", "value": "$i$j"}}}'))))))))) \g /dev/null
select start('nested') \g /dev/null
select is((select array_agg(iterations::text || (params ->> 'p') order by iterations) from scylla.workflow_step where workflow = 'nested' and step = 'inner'),
          '{"{1,1}1x","{1,2}1y","{2,1}2x","{2,2}2y"}', 'loops in loops');
select is((select string_agg(concat_ws(' ', loop, iterations, status, params - 'loop_index', ended is null), ', ' order by iterations) from scylla.workflow_loop_iteration where workflow = 'nested'),
          'outer {1} IN_PROGRESS {"i": 1} t, middle {1,1} IN_PROGRESS {"j": "x"} t, middle {1,2} IN_PROGRESS {"j": "y"} t, ' ||
          'outer {2} IN_PROGRESS {"i": 2} t, middle {2,1} IN_PROGRESS {"j": "x"} t, middle {2,2} IN_PROGRESS {"j": "y"} t', 'the iterations of both');
select work() \g /dev/null
select scylla.stop_run('nested', 1);
select advance();
select is((select string_agg(distinct status, ' ' order by status) from scylla.workflow_step where workflow = 'nested'), 'STOPPED SUCCEEDED', 'stop_run() stops all that is in them');
select is((select string_agg(distinct concat_ws(' ', status, ended is null), ', ') from scylla.workflow_loop_iteration where workflow = 'nested'), 'STOPPED f, SUCCEEDED f', 'and their iterations');
select is((select string_agg(distinct status::text, ' ' order by status::text) from scylla.task where plan = 'workflow:nested/1/1'), 'cancelled completed', 'and cancels the tasks');
select is(status('nested'), 'STOPPED', 'the run is stopped');
select scylla.stop_run('nested', 1);
select is((select count(*) from scylla.workflow_action where workflow = 'nested'), 1::bigint, 'stopping it again is nothing (14)');
select raises($$select scylla.kill_run('nested', 1)$$, '55000', 'workflow', 'ended');
select raises($$select scylla.kill_run('nested', 7)$$, 'P0002', 'workflow', 'instance');
select raises($$select scylla.kill_run('nothing', 7)$$, '42704', 'workflow', 'exists');
select refuses_argument($$select scylla.kill_run('nested', null)$$, 'instance', 'null', 'It must not be null.');
select start('nested') \g /dev/null
select scylla.kill_run('nested', 2);
select advance();
select is(status('nested', 2), 'FAILED', 'kill_run() has it fail');
select scylla.kill_run('nested', 2);
select is((select count(*) from scylla.workflow_action where workflow = 'nested'), 2::bigint, 'killing it again is nothing (14)');
select raises($$select scylla.stop_run('nested', 2)$$, '55000', 'workflow', 'ended');

-- ---- steps without workers ----------------------------------------------------------------------------------------------

select make('quiet', jsonb_build_array(step('n', '{"z": "true"}', '{}', 'NoOp'), step('z', '{}', '{"params": {"sleep_seconds": {"type": "LONG", "value": 1}}}', 'Sleep'))) \g /dev/null
select start('quiet') \g /dev/null
select is(steps('quiet'), 'n SUCCEEDED, z RUNNING', 'a NoOp needs nobody, and a Sleep its time');
select pg_sleep(1.1);
select advance();
select is(status('quiet'), 'SUCCEEDED', 'which ends by itself');

select make('slow', jsonb_build_array(step('s1', '{}', '{"timeout": "1 s"}'))) \g /dev/null
select start('slow') \g /dev/null
select pg_sleep(1.1);
select advance();
select is(steps('slow') || ', ' || status('slow'), 's1 TIMED_OUT, TIMED_OUT', 'a step times out (6.6)');
select is((select status::text from scylla.task where plan = 'workflow:slow/1/1'), 'cancelled', 'and its task is cancelled');

-- ---- subworkflows (5.4) -------------------------------------------------------------------------------------------------

select make('parent', jsonb_build_array(
    jsonb_build_object('subworkflow', '{"id": "call", "params": {"subworkflow_id": {"type": "STRING", "value": "child"}}, "transition": {"successors": {"after": "true"}}}'::jsonb),
    step('after')), '{"params": {"x": {"type": "LONG", "value": 7}}}') \g /dev/null
select make('child', jsonb_build_array(step('inner', '{}', '{"params": {"y": {"type": "LONG", "expression": "x + 1"}}}', 'B')), '{"params": {"x": {"type": "LONG", "value": 1}}}') \g /dev/null
select start('parent') \g /dev/null
select is(steps('parent'), 'call RUNNING', 'a subworkflow runs as a step');
select is((select initiator - 'user' from scylla.workflow_run where workflow = 'child'),
          '{"run": 1, "step": "call", "type": "SUBWORKFLOW", "depth": 1, "instance": 1, "workflow": "parent"}'::jsonb, 'it knows who has called it');
select is((select spec #>> '{params,y}' from scylla.task where queue = 'b' and status = 'ready'), '8', 'and gets the parameters');
select work('b') \g /dev/null
select is(steps('parent'), 'after RUNNING, call SUCCEEDED', 'its end is that of the step');
select work() \g /dev/null
select is(status('parent') || ' ' || status('child'), 'SUCCEEDED SUCCEEDED', 'both are done');
select start('parent') \g /dev/null
select scylla.stop_run('parent', 2);
select advance();
select is(status('parent', 2) || ' ' || status('child', 2), 'STOPPED STOPPED', 'stopping it stops the subworkflow');
select make('lost', jsonb_build_array(jsonb_build_object('subworkflow', '{"id": "call", "params": {"subworkflow_id": {"type": "STRING", "value": "nothing"}}}'::jsonb))) \g /dev/null
select start('lost') \g /dev/null
select is(steps('lost') || ', ' || status('lost'), 'call FATALLY_FAILED, FAILED', 'one that does not exist fails its step');
select make('self', jsonb_build_array(jsonb_build_object('subworkflow', '{"id": "call", "params": {"subworkflow_id": {"type": "STRING", "value": "self"}}}'::jsonb))) \g /dev/null
select start('self') \g /dev/null
select is((select count(*) || ' ' || string_agg(distinct status, ' ') from scylla.workflow_run where workflow = 'self'), '10 FAILED', 'one that calls itself ends');

-- ---- run strategies (3.2) -----------------------------------------------------------------------------------------------

create function strategy(of text, rule text) returns text language plpgsql as $$
declare codes text;
begin
    perform make(of, jsonb_build_array(step('s')), '{}', jsonb_build_object('run_strategy', rule));
    select string_agg((scylla.start_workflow(of)).code::text, ' ') into codes from generate_series(1, 3);
    perform advance();
    return codes;
end $$;
create function runs(of text) returns text language sql as $$
    select string_agg(status, ' ' order by instance) from scylla.workflow_run where workflow = of
$$;
select is(strategy('sequential', 'sequential'), '1 1 1', 'SEQUENTIAL takes all');
select is(runs('sequential'), 'IN_PROGRESS CREATED CREATED', 'and runs one');
select work() \g /dev/null
select is(runs('sequential'), 'SUCCEEDED IN_PROGRESS CREATED', 'after the other');
select is(strategy('parallel', '2'), '1 1 1', 'PARALLEL takes all');
select is(runs('parallel'), 'IN_PROGRESS IN_PROGRESS CREATED', 'and runs some');
select is(strategy('strict', 'strict_sequential'), '1 1 1', 'STRICT_SEQUENTIAL');
select scylla.kill_run('strict', 1);
select advance();
select is(runs('strict'), 'FAILED CREATED CREATED', 'starts nothing after a failure');
select raises($$select scylla.alter_workflow('sequential', '{"run_strategy": "strict_sequential"}')$$, '55000', 'workflow', 'strategy') from (select scylla.kill_run('sequential', 2), advance()) k;
select scylla.unblock_run('strict', 1);
select advance();
select is(runs('strict'), 'FAILED IN_PROGRESS CREATED', 'before somebody has looked at it (3.6)');
select scylla.kill_run('strict', 2), advance();
select is(scylla.unblock_workflow('strict'), 1::bigint, 'unblock_workflow() tells how many runs blocked others');
select is(scylla.unblock_workflow('strict'), 0::bigint, 'once');
select advance();
select is(runs('strict'), 'FAILED FAILED IN_PROGRESS', 'the last one runs');
select raises($$select scylla.unblock_run('strict', 3)$$, '55000', 'workflow', 'failed');
select raises($$select scylla.unblock_run('strict', 7)$$, 'P0002', 'workflow', 'instance');
select raises($$select scylla.unblock_workflow('nothing')$$, '42704', 'workflow', 'exists');
select raises($$select scylla.alter_workflow('parallel', '{"run_strategy": "last_only"}')$$, '55000', 'workflow', 'strategy');
select scylla.alter_workflow('parallel', '{"run_strategy": 3}'), advance();
select is(runs('parallel'), 'IN_PROGRESS IN_PROGRESS IN_PROGRESS', 'more runs at once begin at once (1.2)');
select is(strategy('first', 'first_only'), '1 -1 -1', 'FIRST_ONLY stops the others');
select is(runs('first'), 'IN_PROGRESS STOPPED STOPPED', 'at once');
select is(strategy('last', 'last_only'), '1 1 1', 'LAST_ONLY takes all');
select is(runs('last'), 'STOPPED STOPPED IN_PROGRESS', 'and stops those before');
select is(strategy('latest', 'serial_latest_only'), '1 1 1', 'SERIAL_LATEST_ONLY takes all');
select scylla.start_workflow('latest') \g /dev/null
select advance();
select is(runs('latest'), 'STOPPED STOPPED IN_PROGRESS CREATED', 'and keeps the newest of those that wait');
select raises($$select scylla.start_workflow('nothing')$$, '42704', 'workflow', 'exists');
select raises($$select scylla.start_workflow('chain', version => '7')$$, '42704', 'workflow', 'version');
select scylla.deactivate_workflow('chain');
select raises($$select scylla.start_workflow('chain')$$, '55000', 'workflow', 'active');
select checks_name($$select scylla.start_workflow($1)$$, 'workflow');
select refuses_argument($$select scylla.start_workflow('chain', request_id => '')$$, 'request_id', '""', 'It must have 1 to 200 characters.');

-- ---- what a request may not say (4.3) ------------------------------------------------------------------------------------

select make('guarded', jsonb_build_array(step('s')), '{"params": {"fixed": {"type": "LONG", "value": 1, "mode": "CONSTANT"}}}') \g /dev/null
select raises(format('select scylla.start_workflow(''guarded'', %L)', request), '22023', 'workflow', 'params')
from unnest(array['{"fixed": 2}', '{"owner": "somebody else"}', '{"workflow_id": "other"}', '{"x": {"type": "LONG", "value": 1, "source": "SYSTEM"}}',
                  '{"x": {"type": "LONG", "value": 1, "internal_mode": "RESERVED"}}', '{"x": {"type": "LONG", "expression": "1 +"}}']) request;

-- ---- versions of runs (1.6) ------------------------------------------------------------------------------------------------

create function started_with(version text) returns int language plpgsql as $$
declare started record;
begin
    select * into started from scylla.start_workflow('versions', version => version);
    perform advance();
    return (select r.version from scylla.workflow_run r where r.workflow = 'versions' and r.instance = started.instance);
end $$;
select make('versions', jsonb_build_array(step('one', '{"two": "true"}', '{}', 'V'), step('two', '{}', '{}', 'V'))), start('versions') \g /dev/null
select make('versions', jsonb_build_array(step('one', '{"other": "true"}', '{}', 'B'), step('other', '{}', '{}', 'B'))) \g /dev/null
select work('v') \g /dev/null
select is(steps('versions'), 'one SUCCEEDED, two RUNNING', '[1.6] a run keeps its version, also when another one becomes active');
select is(work_all('v') || ', ' || status('versions'), 'two, SUCCEEDED', '... to its end');
select scylla.create_workflow(jsonb_build_object('properties', '{"run_strategy": "parallel"}'::jsonb, 'workflow', jsonb_build_object('id', 'versions', 'steps', jsonb_build_array(step('third', '{}', '{}', 'B')))), activate => false) \g /dev/null
select results_eq($$select v, started_with(v) from unnest('{active,ACTIVE,default,latest,1,2,3}'::text[]) v$$,
                  $$values ('active', 2), ('ACTIVE', 2), ('default', 2), ('latest', 3), ('1', 1), ('2', 2), ('3', 3)$$, '[1.6] a start names its version');
select is(steps('versions', 5), 'third RUNNING', '... whose steps run');
select scylla.activate_workflow('versions', 1) \g /dev/null
select is(started_with('active'), 1, '[1.6] an older version can be activated');
select scylla.deactivate_workflow('versions') \g /dev/null
select raises($$select scylla.start_workflow('versions')$$, '55000', 'workflow', 'active');
select is(started_with('default'), 3, '[1.6] the default of an inactive workflow is the latest version');
select raises($$select scylla.start_workflow('versions', version => '4')$$, '42704', 'workflow', 'version');
select scylla.kill_workflow('versions'), advance() \g /dev/null

-- ---- the worst end decides (2.3) -------------------------------------------------------------------------------------------

create function end_step(of bigint, ends text, how text) returns void language plpgsql as $$
declare its text := (select task from scylla.workflow_step where workflow = 'ends' and instance = of and step = ends);
begin
    if how = 'stop' then
        perform scylla.stop_step('ends', of, ends);
    else
        perform scylla.lease_task(its, 'w');
        if how = 'abort' then
            perform scylla.abort(its, 'w', '{"code": "x"}');
        else
            perform scylla.complete(its, 'w');
        end if;
    end if;
end $$;
select make('ends', jsonb_build_array(step('f'), step('t', '{}', '{"timeout": "1 s"}'), step('s'))) \g /dev/null
select start('ends') from generate_series(1, 4) \g /dev/null
select end_step(n, 'f', case when n = 1 then 'abort' else 'complete' end), end_step(n, 's', case when n <= 3 then 'stop' else 'complete' end) from generate_series(1, 4) n \g /dev/null
select end_step(n, 't', 'complete') from generate_series(3, 4) n \g /dev/null
select advance(), pg_sleep(1.1) \g /dev/null
select advance() \g /dev/null
select is(steps('ends'), 'f FATALLY_FAILED, s STOPPED, t TIMED_OUT', 'one step has failed, one was stopped, and one has timed out');
select is((select string_agg(status, ' ' order by instance) from scylla.workflow_run where workflow = 'ends'), 'FAILED TIMED_OUT STOPPED SUCCEEDED',
          '[2.3] rule 6: FAILED is worse than TIMED_OUT, and that than STOPPED');

-- ---- what cannot be evaluated (6.1, 6.5) -------------------------------------------------------------------------------------

select make('broken', jsonb_build_array(
    step('param', '{"after": "true"}', '{"failure_mode": "IGNORE_FAILURE", "params": {"x": {"type": "LONG", "expression": "1 / 0"}}}'),
    step('condition', '{"after": "1 / 0 > 0"}', '{"failure_mode": "IGNORE_FAILURE"}', 'NoOp'),
    step('limit', '{"after": "true"}', '{"failure_mode": "IGNORE_FAILURE", "timeout": "${t}"}'), step('after', '{}', '{}', 'NoOp')),
    '{"params": {"t": {"type": "STRING", "value": ""}}}') \g /dev/null
select start('broken') \g /dev/null
select is(steps('broken') || ', ' || status('broken'), 'after SUCCEEDED, condition COMPLETED_WITH_ERROR, limit COMPLETED_WITH_ERROR, param COMPLETED_WITH_ERROR, SUCCEEDED',
          '[6.1] a parameter, a condition and a timeout that cannot be evaluated are failures that can be ignored');
select matches((select error ->> 'message' from scylla.workflow_step where workflow = 'broken' and step = s), message, '... of which one knows why')
from (values ('param', '^x: .*zero'), ('condition', 'zero'), ('limit', '^the timeout "" must be a number of seconds, or numbers with units')) e (s, message);
select start('broken', '{"t": "0"}') \g /dev/null
select is((select error ->> 'message' from scylla.workflow_step where workflow = 'broken' and instance = 2 and step = 'limit'),
          'the timeout "0" cannot be non-positive or more than system limit: 120 days', '[6.5] no time at all is none');
select throws_ok(format($$select make('none', jsonb_build_array(step('s', '{}', '{"timeout": "%s"}')))$$, t), '22023', null, '[6.5] nor is it, in a definition: ' || t)
from unnest(array['', '0', '-5', 'soon']) t;

-- ---- a run about which the engine comes to an error --------------------------------------------------------------------------

select make('faulty', jsonb_build_array(step('s', '{"t": "true"}', '{"params": {"out": {"type": "LONG", "value": 0}}}', 'Faulty'), step('t', '{}', '{"params": {"in": {"type": "LONG", "expression": "s__out"}}}', 'Faulty'),
                                        step('beside', '{}', '{}', 'B'))), start('faulty') \g /dev/null
select scylla.complete(rn, 'w', '{"params": {"out": 7}}') from scylla.lease('faulty', 'w') \g /dev/null
insert into scylla.workflow_agenda (root, line, kind, data)
select root, line, 'backfill', '{"backfill": 1e30}' from scylla.workflow_agenda where root = (select id from scylla.workflow_run_state where workflow = 'faulty');
set local client_min_messages = error;
select advance(), advance() \g /dev/null
reset client_min_messages;
select is(status('faulty'), 'FAILED', 'a run about which the engine comes to an error fails');
select is((select error ->> 'message' from scylla.workflow_run where workflow = 'faulty'), 'bigint out of range', 'a run about which the engine comes to an error says which');
select is(steps('faulty'), 'beside FATALLY_FAILED, s SUCCEEDED, t FATALLY_FAILED', 'a step of it whose task was completed has succeeded');
select scylla.restart_run('faulty', 1), advance() \g /dev/null
select is((select string_agg(spec ->> 'step', ', ' order by spec ->> 'step') from scylla.task where plan = 'workflow:faulty/1/2'), 'beside, t', 'a restart does not do it again');
select is((select params -> 'in' from scylla.workflow_step where workflow = 'faulty' and step = 't'), '7', 'a restart goes on with the output of a step that has succeeded');

-- ---- what is removed in time -----------------------------------------------------------------------------------------------

update scylla.task_outcome set finished = finished - interval '100 days';
update scylla.task_plan set created = created - interval '100 days', opened = opened - interval '100 days', finished = finished - interval '100 days';
select scylla.purge(), scylla.purge() \g /dev/null
select is((select count(*) from scylla.workflow_run where ended is not null), 0::bigint, 'runs go with their plans');
select is((select count(*) from scylla.workflow_step s join scylla.workflow_run r using (workflow, instance, run) where r.ended is not null), 0::bigint, 'with their steps');
select is_empty('select from scylla.workflow_iteration i where i.root not in (select id from scylla.workflow_run_state)', 'iterations');
select is_empty('select from scylla.workflow_attempt a where a.scope not in (select id from scylla.workflow_run_state union select id from scylla.workflow_iteration)',
                'and attempts');
select cmp_ok((select count(*) from scylla.workflow_run), '>', 5::bigint, 'live runs stay');

-- ---- others ------------------------------------------------------------------------------------------------------------

select raises($$select scylla.drop_workflow('sequential')$$, '55000', 'workflow', 'live');
select raises($$select scylla.rerun_plan('workflow:parallel/1/1')$$, '55000', 'plan', 'run');
select raises($$select scylla.submit('a', '1', plan => 'workflow:parallel/1/1')$$, '55000', 'plan', 'run');
select refuses_argument($$select scylla.create_plan('workflow:mine')$$, 'plan', '"workflow:mine"', 'Names that begin with "workflow:" are those of runs of workflows.');
select raises($$select scylla.cancel_plan('workflow:parallel/1/1')$$, '55000', 'plan', 'run');
select is((select string_agg(c::text, E'\n') from scylla.check() c), null, 'check() finds nothing');
-- ---- the order of loop parameters -------------------------------------------------------------------------------------

select make('ordered', jsonb_build_array(jsonb_set(over('l', '{"day": {"type": "LONG_ARRAY", "value": [1, 2]}, "region": {"type": "STRING_ARRAY", "value": ["eu", "us"]}}',
    jsonb_build_array(step('s'))), '{foreach,loop_order}', '["region", "day"]'))) \g /dev/null
select start('ordered') \g /dev/null
select is((select string_agg((i.params::jsonb ->> 'region') || (i.params::jsonb ->> 'day'), ' ' order by i.iterations) from scylla.workflow_loop_iteration i where workflow = 'ordered'), 'eu1 us1 eu2 us2',
          'the first parameter of loop_order varies fastest');

select * from finish();
rollback;
