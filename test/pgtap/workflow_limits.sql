-- Limits of workflows, which are settings (section 1.7): higher, lower, and lower than what is stored.
begin;
\ir include/helpers.psql
\ir include/workflows.psql
select * from no_plan();
select scylla.create_queue('a') \g /dev/null

create function problems(steps jsonb) returns text language sql as $$
    select string_agg(place || ': ' || problem, '; ')
    from scylla.validate_workflow(jsonb_build_object('properties', '{"owner": "ada"}'::jsonb, 'workflow', jsonb_build_object('id', 'w', 'steps', steps)))
$$;
create function many(n int) returns jsonb language sql as $$select jsonb_agg(step('s' || i)) from generate_series(1, n) i$$;
create function nested(depth int) returns jsonb language sql as $$
    select case when depth = 0 then jsonb_build_array(step('s')) else jsonb_build_array(each('l' || depth, 1, nested(depth - 1))) end
$$;
create function foreach_of(n int, concurrency int, type text = 'A') returns jsonb language sql as $$
    select jsonb_build_array(jsonb_set(each('each', n, jsonb_build_array(step('s', '{}', '{}', type))), '{foreach,concurrency}', to_jsonb(concurrency)))
$$;
create function running(of text) returns bigint language sql as $$
    select count(*) from scylla.workflow_step where workflow = of and step = 's' and ended is null
$$;

select results_eq($$select name, setting, context from pg_settings where name ~ '^scylla.max_(workflow_|foreach_|loop_|run_|params_|definition_|step_|retry_)' order by name$$,
    $$values ('scylla.max_definition_size', '256', 'superuser'), ('scylla.max_foreach_concurrency', '500', 'superuser'), ('scylla.max_loop_iterations', '25000', 'superuser'),
             ('scylla.max_params_length', '750000', 'superuser'), ('scylla.max_retry_wait', '86400', 'superuser'), ('scylla.max_run_leaves', '1000000', 'superuser'), ('scylla.max_run_params', '128', 'superuser'),
             ('scylla.max_step_retries', '99', 'superuser'), ('scylla.max_workflow_nesting', '10', 'superuser'), ('scylla.max_workflow_steps', '300', 'superuser'),
             ('scylla.max_workflow_timeout', '10368000', 'superuser')$$,
    'the limits');

-- Made with the usual limits, and run with lower ones below.
select make('three', many(3)), make('deep', nested(3)), make('wide', foreach_of(6, 4)), make('while', jsonb_build_array(
    '{"while": {"id": "again", "condition": "true", "params": {"loop_params": {"type": "MAP", "value": {"n": {"type": "LONG", "expression": "return 1;"}}}},
                "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}'::jsonb)) \g /dev/null

-- ---- steps ---------------------------------------------------------------------------------------------------------------

select is(problems(many(301)), 'workflow.steps: there are 301 steps, and at most 300 are possible', '[1.7] steps: the limit');
set local scylla.max_workflow_steps = 400;
select is(problems(many(301)), null, '... a higher one');
set local scylla.max_workflow_steps = 2;
select is(problems(many(3)), 'workflow.steps: there are 3 steps, and at most 2 are possible', '... a lower one');
select is(problems(foreach_of(1, 1)), null, '... with those of loops');
select start('three') \g /dev/null
select is(steps('three'), 's1 RUNNING, s2 RUNNING, s3 RUNNING', 'a stored definition still runs');
reset scylla.max_workflow_steps;
select work_all() \g /dev/null

-- ---- loops in each other -------------------------------------------------------------------------------------------------

select alike(problems(nested(11)), '%: loops are nested more than 10 deep', '[1.7] nesting: the limit');
set local scylla.max_workflow_nesting = 12;
select is(problems(nested(12)), null, '... a higher one');
select make('deepest', nested(12)), start('deepest') \g /dev/null
select is(steps('deepest'), (select string_agg(format('l%s%s RUNNING', d, nullif(array_fill(1, array[12 - d]), '{}')), ', ' order by 'l' || d) from generate_series(1, 12) d)
                            || ', s{1,1,1,1,1,1,1,1,1,1,1,1} RUNNING', '... of which a run goes as deep');
select work_all() \g /dev/null
select is(status('deepest'), 'SUCCEEDED', '... and comes to its end');
set local scylla.max_workflow_nesting = 2;
select alike(problems(nested(3)), '%: loops are nested more than 2 deep', '... a lower one');
select start('deep') \g /dev/null
select is(running('deep'), 1::bigint, 'a stored definition still runs');
reset scylla.max_workflow_nesting;
select work_all() \g /dev/null
select throws_ok('set scylla.max_workflow_nesting = 17', '22023', null, 'deeper than 16 is not possible');

-- ---- iterations at once --------------------------------------------------------------------------------------------------

select is(problems(foreach_of(1, 501)), 'workflow.steps[0].foreach.concurrency: must be from 1 to 500', '[1.7] concurrency: the limit');
set local scylla.max_foreach_concurrency = 700;
select is(problems(foreach_of(1, 700)), null, '... a higher one');
select make('wider', foreach_of(800, 600), '{}', '{"step_concurrency": 900}'), start('wider'), advance(), advance() \g /dev/null
select is(running('wider'), 600::bigint, '... so many run');
select scylla.kill_run('wider', 1), advance() \g /dev/null
set local scylla.max_foreach_concurrency = 3;
select is(problems(foreach_of(1, 4)), 'workflow.steps[0].foreach.concurrency: must be from 1 to 3', '... a lower one');
select start('wide') \g /dev/null
select is(running('wide'), 3::bigint, 'a stored definition still runs, so many at once');
select work_all() \g /dev/null
select is(status('wide'), 'SUCCEEDED', '... to its end');
reset scylla.max_foreach_concurrency;

-- ---- iterations ----------------------------------------------------------------------------------------------------------

-- 159 * 158 = 25,122: an array of an expression has at most 25,000 elements.
select make('long', jsonb_build_array(over('each', jsonb_build_object('x', '{"type": "LONG_ARRAY", "expression": "Util.intsBetween(0, 159, 1)"}'::jsonb,
    'y', '{"type": "LONG_ARRAY", "expression": "Util.intsBetween(0, 158, 1)"}'::jsonb), jsonb_build_array(step('s')), '{}', '{"concurrency": 1}'))) \g /dev/null
select start('long') \g /dev/null
select is((select error ->> 'message' from scylla.workflow_step where workflow = 'long'), 'loop_params: a foreach can have at most 25000 iterations', '[1.7] iterations: the limit');
set local scylla.max_loop_iterations = 25122;
select start('long') \g /dev/null
select is(running('long'), 1::bigint, '... a higher one');
select scylla.kill_run('long', 2), advance() \g /dev/null
set local scylla.max_loop_iterations = 6;
select start('wide') \g /dev/null
set local scylla.max_loop_iterations = 5;
select work_all() \g /dev/null
select is(status('wide', 2), 'SUCCEEDED', 'a loop that has begun keeps what it had');
select start('wide') \g /dev/null
select is((select error ->> 'message' from scylla.workflow_step where workflow = 'wide' and instance = 3), 'loop_params: a foreach can have at most 5 iterations', '... a lower one');
select start('while'), advance(), advance() \g /dev/null
select is((select error ->> 'message' from scylla.workflow_step where workflow = 'while' and step = 'again'), 'a while can have at most 5 iterations', '... of a while');
select is((select count(*) from scylla.workflow_step where workflow = 'while' and step = 's'), 5::bigint, '... which has had them');
reset scylla.max_loop_iterations;

-- ---- steps in loops ------------------------------------------------------------------------------------------------------

-- Two loops of six, whose inner loop has six iterations.
select make('leaves', jsonb_build_array(jsonb_set(each('out', 6, jsonb_build_array(jsonb_set(each('in', 6, jsonb_build_array(step('s'))), '{foreach,concurrency}', '1'))),
            '{foreach,concurrency}', '1'))) \g /dev/null
set local scylla.max_run_leaves = 36;
select start('leaves'), work_all() \g /dev/null
select is(status('leaves'), 'SUCCEEDED', '[5.6] steps in loops: no more than the limit');
set local scylla.max_run_leaves = 20;
select start('leaves'), work_all() \g /dev/null
select is(status('leaves', 2), 'FAILED', '[5.6] ... more fail the loop and the run');
select alike((select error ->> 'message' from scylla.workflow_step where workflow = 'leaves' and instance = 2 and error is not null and error ->> 'message' ~ 'steps' limit 1),
             'a run can have at most 20 steps in its loops', '... is told');
select cmp_ok((select count(*) from scylla.workflow_step where workflow = 'leaves' and instance = 2 and step = 's'), '<', 36::bigint, '... and the loop goes no further');
reset scylla.max_run_leaves;
select scylla.restart_run('leaves', 2), advance(), work_all() \g /dev/null
select is(status('leaves', 2), 'SUCCEEDED', 'with a higher one a restart comes to the end');

-- ---- retries, waits and times --------------------------------------------------------------------------------------------

create function retried(rule text) returns jsonb language sql as $$select jsonb_build_array(step('s', '{}', jsonb_build_object('retry_policy', rule::jsonb)))$$;
create function timed(longest text) returns jsonb language sql as $$select jsonb_build_array(step('s', '{}', jsonb_build_object('timeout', longest)))$$;
select is(problems(retried('{"error_retry_limit": 100}')), 'workflow.steps[0].step.retry_policy.error_retry_limit: must be from 0 to 99', '[1.7] retries: the limit');
select is(problems(retried('{"backoff": {"error_retry_backoff_in_secs": 86401}}')), 'workflow.steps[0].step.retry_policy.backoff.error_retry_backoff_in_secs: must be from 1 to 86400',
          '[1.7] wait: the limit');
select is(problems(timed('121 days')), 'workflow.steps[0].step.timeout: must be from 1 to 10368000 seconds', '[1.7] timeout: the limit');
set local scylla.max_step_retries = 200;
set local scylla.max_retry_wait = '2 d';
set local scylla.max_workflow_timeout = '200 d';
select is(problems(retried('{"error_retry_limit": 100, "backoff": {"error_retry_backoff_in_secs": 86401}}')), null, '... higher ones');
select is(problems(timed('121 days')), null, '... of a timeout');
select make('patient', timed('${days}'), '{"params": {"days": {"type": "STRING", "value": "121 days"}}}'), start('patient') \g /dev/null
select is((select due - started from scylla.workflow_step_state where step = 's' and due is not null order by started desc limit 1), interval '121 days', '... also of a run');
reset scylla.max_workflow_timeout;
select start('patient') \g /dev/null
select is((select error ->> 'message' from scylla.workflow_step where workflow = 'patient' and instance = 2),
          'the timeout "121 days" cannot be non-positive or more than system limit: 120 days', 'and without it');
set local scylla.max_workflow_timeout = '90 s';
select is(problems(timed('2 minutes')), 'workflow.steps[0].step.timeout: must be from 1 to 90 seconds', '... lower ones');
select start('patient'), make('sleeps', jsonb_build_array(step('s', '{}', '{"params": {"sleep_seconds": {"type": "LONG", "value": 91}}}', 'Sleep'))), start('sleeps') \g /dev/null
select is((select error ->> 'message' from scylla.workflow_step where workflow = 'patient' and instance = 3),
          'the timeout "121 days" cannot be non-positive or more than system limit: 90 seconds', '... of a run');
select is((select error ->> 'message' from scylla.workflow_step where workflow = 'sleeps'), 'sleep_seconds: must be a time of at most 90 seconds', '... of a Sleep');
set local scylla.max_step_retries = 1;
set local scylla.max_retry_wait = 30;
select make('tries', jsonb_build_array(step('s'))), start('tries') \g /dev/null
select break('a', '{"code": "x"}') \g /dev/null
select is((select status || ' ' || (due - ended <= interval '30 s') from scylla.workflow_step_state where status = 'USER_FAILED' order by ended desc limit 1), 'USER_FAILED true',
          'what is usual is not more than the limits');
select scylla.kill_run('tries', 1), scylla.kill_run('patient', 1), advance() \g /dev/null
reset scylla.max_workflow_timeout;
reset scylla.max_step_retries;
reset scylla.max_retry_wait;

-- ---- parameters of a run -------------------------------------------------------------------------------------------------

create function params(n int) returns jsonb language sql as $$select jsonb_object_agg('p' || i, i) from generate_series(1, n) i$$;
select throws_ok($$select scylla.start_workflow('three', params(129))$$, '22023', null, '[1.7] parameters: the limit');
select alike(raised($$select scylla.start_workflow('three', params(129))$$), '%a run can be given at most 128 parameters%', '... is told');
set local scylla.max_run_params = 200;
select lives_ok($$select scylla.start_workflow('three', params(200))$$, '... a higher one');
set local scylla.max_run_params = 2;
select alike(raised($$select scylla.start_workflow('three', params(3))$$), '%a run can be given at most 2 parameters%', '... a lower one');
select alike(raised($$select scylla.restart_run('three', 1, 'RESTART_FROM_BEGINNING', params(3))$$), '%a run can be given at most 2 parameters%', '... also of a restart');
select lives_ok($$select scylla.restart_run('three', 1, 'RESTART_FROM_BEGINNING')$$, 'what was given before is given again');
reset scylla.max_run_params;

-- ---- length of parameters ------------------------------------------------------------------------------------------------

select make('lengthy', jsonb_build_array(step('s', '{}', '{"params": {"y": {"type": "STRING", "value": "$x!"}}}', 'NoOp'))), start('lengthy', '{"x": ""}') \g /dev/null
-- Parameters of scalars: jsonb shows a space after each colon and comma.
select length(params::text) - 2 * (select count(*) from jsonb_object_keys(params)) + 1 as others from scylla.workflow_run where workflow = 'lengthy' \gset
create function long_text(n bigint) returns jsonb language sql as $$select jsonb_build_object('x', repeat('x', n::int))$$;
select is(start('lengthy', long_text(750000 - :others)), 2::bigint, '[1.7] length of parameters: at the limit');
select is(status('lengthy', 2), 'SUCCEEDED', '... and so are those of its step, which repeat it');
select alike(raised(format('select start(''lengthy'', long_text(%s))', 750001 - :others)), '%the result is longer than 750000 characters%', '... one more is refused');
select is((select count(*) from scylla.workflow_run where workflow = 'lengthy'), 2::bigint, '... and no run is made');
set local scylla.max_params_length = 750001;
select is(start('lengthy', long_text(750001 - :others)), 3::bigint, '... a higher one');
select start('lengthy', '{"x": "short"}') \g /dev/null
select make('lengthens', jsonb_build_array(step('s', '{}', '{"params": {"y": {"type": "STRING", "value": "$x$x"}}}', 'NoOp'))), start('lengthens', long_text(400000)) \g /dev/null
select alike((select error ->> 'message' from scylla.workflow_step where workflow = 'lengthens'), '%the result is longer than 750001 characters%', '... of a step');
set local scylla.max_params_length = 900000;
select is(start('lengthens', long_text(400000)) || status('lengthens', 2), '2SUCCEEDED', '... a higher one');
set local scylla.max_params_length = 100;
select alike(raised($$select start('lengthy', '{"x": ""}')$$), '%the result is longer than 100 characters%', '... a lower one');
reset scylla.max_params_length;

-- ---- size ----------------------------------------------------------------------------------------------------------------

create function sized(kb int) returns jsonb language sql as $$
    select jsonb_agg(step('s' || i, '{}', jsonb_build_object('description', repeat('x', 16000)))) from generate_series(1, kb / 16 + 1) i
$$;
select alike(raised('select problems(sized(260))'), '%Its text must be at most 256 kB long.%', '[1.7] size: the limit');
set local scylla.max_definition_size = '300 kB';
select is(problems(sized(260)), null, '... a higher one');
set local scylla.max_definition_size = '1 kB';
select alike(raised('select problems(sized(1))'), '%Its text must be at most 1 kB long.%', '... a lower one');
select lives_ok($$select start('three')$$, 'a stored definition still runs');
reset scylla.max_definition_size;

select all_is_sound();
select * from finish();
rollback;
