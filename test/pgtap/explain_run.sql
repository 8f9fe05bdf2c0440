-- explain_run: why a run, or a step, does not go on.
begin;
\ir include/helpers.psql
\ir include/workflows.psql
select * from no_plan();
select signature_is('explain_run', 'workflow text, instance bigint, step text DEFAULT NULL::text, max_rows integer DEFAULT 100',
    'TABLE(workflow_id text, instance_id bigint, step_id text, iterations bigint[], waits_for text, since timestamp with time zone, until timestamp with time zone, detail text)');
select scylla.create_queue('a') \g /dev/null

-- "STEP[iterations] waits for: WHAT" of each row.
create function why(of text, number bigint = 1, only_step text = null) returns text language sql as $$
    select string_agg(coalesce(nullif(workflow_id, of) || '/' || instance_id || ' ', '') || coalesce(step_id || coalesce(iterations::text, '') || ': ', '') || waits_for, ', ' order by n)
    from rows from (scylla.explain_run(of, number, only_step)) with ordinality e (workflow_id, instance_id, step_id, iterations, waits_for, since, until, detail, n)
$$;
create function detail(of text, number bigint = 1) returns text language sql as $$ select string_agg(detail, ' / ') from scylla.explain_run(of, number) $$;

-- ---- the run itself -----------------------------------------------------------------------------------------------------

select make('line', jsonb_build_array(step('s')), '{}', '{"run_strategy": "sequential"}') \g /dev/null
select from scylla.start_workflow('line');
select is(why('line'), 'the monitor', 'a run that the engine has not begun');
select matches(detail('line'), '^(The engine comes to it next|No monitor runs in this database)', 'the detail says whether a monitor runs');
select advance(), start('line') \g /dev/null
select is(why('line', 2), 'its turn', 'a run behind another one waits for its turn');
select is(detail('line', 2), 'The run strategy is SEQUENTIAL with 1 at a time; 1 in progress (the first is instance 1), and 0 before it.', 'behind which one');
select is(why('line', 1), 's: a worker', 'the other one waits for a worker');
select scylla.alter_workflow('line', '{"run_strategy": {"rule": "STRICT_SEQUENTIAL"}}'), scylla.kill_run('line', 1), advance() \g /dev/null
select is(why('line', 2), 'instance 1 to be unblocked', 'a run behind one that has failed, with STRICT_SEQUENTIAL');
select is(why('line', 1), 'a restart', 'a run that has ended waits for a restart');
select scylla.pause_workflow('line') \g /dev/null
select is(why('line', 2), 'instance 1 to be unblocked, workflow line to be resumed', 'it is paused, too');
select alike(detail('line', 2), '%Role "' || current_user || '" has paused it: resume_workflow() lets it continue.', 'by whom');

-- ---- steps --------------------------------------------------------------------------------------------------------------

select make('waits', jsonb_build_array(
    step('signal', '{"after": "true"}', '{"signal_dependencies": [{"name": "rates", "match_params": {"day": {"param": {"type": "LONG", "value": 3}}}}]}'),
    step('broken', '{}', '{"retry_policy": {"error_retry_limit": 2}}', 'B'), step('held'), step('run'), step('after'),
    step('sleep', '{}', '{"params": {"sleep_seconds": {"type": "LONG", "value": 600}}}', 'Sleep'))) \g /dev/null
select scylla.set_breakpoint('waits', 'held') \g /dev/null
select start('waits'), break('b', '{"code": "net", "message": "no route"}') \g /dev/null
select is((select string_agg(step_id || ': ' || waits_for, ', ' order by step_id) from scylla.explain_run('waits', 1)),
          'broken: its next attempt, held: step held to be resumed, run: a worker, signal: signal rates, sleep: its time', 'what steps wait for');
select alike((select detail from scylla.explain_run('waits', 1, 'signal')), 'No signal "rates" with {"day": %3%} has come.', 'the detail has the parameters that a signal must have');
select is((select detail from scylla.explain_run('waits', 1, 'broken')), 'Attempt 1 is USER_FAILED: no route', 'the error before a retry');
select ok((select until > since from scylla.explain_run('waits', 1, 'broken')), 'a step that failed shows the time of its retry');
select is((select detail from scylla.explain_run('waits', 1, 'held')), format('It has a breakpoint, set by role "%s". resume_step() lets it continue.', current_user), 'who has set a breakpoint');
select ok((select until - since = '600 s' from scylla.explain_run('waits', 1, 'sleep')), 'a Sleep shows how long it takes');
select is(why('waits', 1, 'after'), 'after: step signal', 'a step that has not begun waits for the one before it');
select scylla.lease_task(task, 'w') from scylla.workflow_step where workflow = 'waits' and step = 'run' \g /dev/null
select is((select waits_for = format('task %s to end', s.task) and e.detail like 'Worker "w" runs it: attempt 1, progress 0 %, lease until %'
           from scylla.workflow_step s, scylla.explain_run('waits', 1, 'run') e where s.workflow = 'waits' and s.step = 'run'), true, 'a step whose task runs');
select scylla.complete(task, 'w') from scylla.workflow_step where workflow = 'waits' and step = 'run' \g /dev/null
select is(why('waits', 1, 'run'), 'run: the monitor', 'a step whose task has ended, which the engine has not seen');
select advance();
select is(why('waits', 1, 'run'), null, 'a step that has ended waits for nothing');
select is((select count(*) from scylla.explain_run('waits', 1, max_rows => 2)), 2::bigint, 'no more rows than are wanted');
select scylla.pause_queue('b'), scylla.pause_workflow('waits') \g /dev/null
select is(why('waits', 1, 'broken'), 'broken: its next attempt, broken: workflow waits to be resumed', 'several things at once');

-- ---- loops, subworkflows, permits ------------------------------------------------------------------------------------------

select make('child', jsonb_build_array(step('c1'), step('c2', '{}', '{}', 'B'))) \g /dev/null
select make('nested', jsonb_build_array(each('l', 3, jsonb_build_array(step('in'))), call('sub', 'child'))) \g /dev/null
select scylla.create_pool('tag:one', '{"permits": 1}') \g /dev/null
select make('tagged', jsonb_build_array(step('t1'), step('t2')), '{"tags": ["one"]}') \g /dev/null
select start('tagged') \g /dev/null
select is((select string_agg(waits_for, ', ' order by step_id) from scylla.explain_run('tagged', 1)), 'a worker, pool tag:one', 'a step that waits for a permit');
select scylla.kill_run('tagged', 1), start('nested') \g /dev/null
select is((select string_agg(workflow_id || ' ' || step_id || coalesce(iterations::text, '') || ': ' || waits_for, ', ' order by workflow_id, step_id, iterations)
           from scylla.explain_run('nested', 1)),
          'child c1: its turn, child c2: queue b to be resumed, nested in{1}: a worker, nested in{2}: its turn, nested in{3}: its turn', 'steps in loops and subworkflows');
select is((select count(distinct workflow_id) from scylla.explain_run('nested', 1, 'sub')), 1::bigint, 'only what is in one of them');
select is((select min(step_id) from scylla.explain_run('nested', 1, 'l')), 'in', 'a step of a loop is found by the loop');
select work_all(), scylla.resume_queue('b'), work_all('b') \g /dev/null
select advance();
select is(status('nested'), 'SUCCEEDED', 'when all has ended');
select is(why('nested'), null, 'nothing waits');

select make('solo', jsonb_build_array(step('s1'))), make('duo', jsonb_build_array(step('x'), call('c', 'solo'))), scylla.pause_workflow('solo') \g /dev/null
select start('duo') \g /dev/null
select is(why('duo'), 'solo/1 workflow solo to be resumed, x: a worker', 'the run of a subworkflow that has not begun');
select is(why('duo', 1, 'x'), 'x: a worker', 'a step beside it shows only its own reason');
select is(why('duo', 1, 'c'), 'solo/1 workflow solo to be resumed', 'a step that has called a subworkflow shows what that waits for');
select scylla.kill_run('duo', 1), advance() \g /dev/null

-- ---- refusals -----------------------------------------------------------------------------------------------------------

select checks_name('select scylla.explain_run($1, 1)', 'workflow');
select checks_name('select scylla.explain_run(''nested'', 1, $1)', 'step', false);
select alike(raised($$select scylla.explain_run('nothing', 1)$$), '42704 scylla.workflow/exists%', 'no such workflow');
select alike(raised($$select scylla.explain_run('nested', 7)$$), 'P0002 scylla.workflow/instance%', 'no such instance');
select alike(raised($$select scylla.explain_run('nested', 1, 'c1')$$), 'P0002 scylla.workflow/step%', 'no such step in this workflow');
select refuses_argument('select scylla.explain_run(''nested'', null)', 'instance', 'null', 'It must not be null.');
select refuses_argument(format('select scylla.explain_run(''nested'', 1, max_rows => %s)', n), 'max_rows', n::text, 'It must be between 1 and 100000.') from unnest('{0,100001}'::int[]) n;

-- A role that may view the workflow, but neither its queue nor its subworkflow.
create role only_viewer;
grant usage on schema scylla to only_viewer;
grant execute on function scylla.explain_run to only_viewer;
select scylla.grant_workflow('nested', 'only_viewer', 'view'), start('nested') \g /dev/null
set local role only_viewer;
select is((select string_agg(distinct step_id || ': ' || regexp_replace(waits_for, '\d+', 'N'), ', ') from scylla.explain_run('nested', 2)),
          'in: its task to end, sub: instance N of workflow child', 'what the role may not view has no details');
select alike(raised($$select scylla.explain_run('child', 1)$$), '42501%', 'who may not view a workflow sees nothing of it');
reset role;
select is_empty('select * from scylla.check()', 'check() finds nothing wrong');
select * from finish();
rollback;
