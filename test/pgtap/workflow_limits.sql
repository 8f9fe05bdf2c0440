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

select results_eq($$select name, setting::int, unit, min_val::int, max_val::int from pg_settings where context = 'superuser' and
                    name ~ '^scylla.(max_(workflow|foreach|loop|run|params|definition|step|retry|instance|subworkflow|trigger)|min_trigger)_' order by name$$,
    $$values ('scylla.max_definition_size', 256, 'kB', 1, 204800), ('scylla.max_foreach_concurrency', 500, null, 1, 10000), ('scylla.max_instance_step_concurrency', 999, null, 1, 1000000),
             ('scylla.max_loop_iterations', 25000, null, 1, 1000000), ('scylla.max_params_length', 750000, null, 1, 10000000), ('scylla.max_retry_wait', 86400, 's', 1, 31536000),
             ('scylla.max_run_leaves', 1000000, null, 1, 2147483647), ('scylla.max_run_params', 128, null, 1, 10000), ('scylla.max_step_concurrency', 1000, null, 1, 1000000),
             ('scylla.max_step_retries', 99, null, 1, 1000000), ('scylla.max_subworkflow_depth', 10, null, 1, 100), ('scylla.max_trigger_signals', 8, null, 1, 16),
             ('scylla.max_workflow_concurrency', 1000, null, 1, 1000000), ('scylla.max_workflow_id_length', 128, null, 1, 160), ('scylla.max_workflow_name_length', 256, null, 1, 10000),
             ('scylla.max_workflow_nesting', 10, null, 1, 16), ('scylla.max_workflow_steps', 300, null, 1, 10000), ('scylla.max_workflow_text_length', 16384, null, 1, 10000000),
             ('scylla.max_workflow_timeout', 10368000, 's', 1, 31536000), ('scylla.min_trigger_interval', 120, 's', 1, 86400)$$,
    'the limits');

-- Made with the usual limits, and run with lower ones below.
select make('three', many(3)), make('deep', nested(3)), make('wide', foreach_of(6, 4)), make('while', jsonb_build_array(
    '{"while": {"id": "again", "condition": "true", "params": {"loop_params": {"type": "MAP", "value": {"n": {"type": "LONG", "expression": "return 1;"}}}},
                "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}'::jsonb)) \g /dev/null

-- ---- steps ---------------------------------------------------------------------------------------------------------------

select is(problems(many(301)), 'workflow.steps: has 301 steps, and at most 300 are possible', '[1.7] steps: the limit');
set local scylla.max_workflow_steps = 400;
select is(problems(many(301)), null, '... a higher one');
set local scylla.max_workflow_steps = 2;
select is(problems(many(3)), 'workflow.steps: has 3 steps, and at most 2 are possible', '... a lower one');
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

select is(problems(foreach_of(1, 501)), 'workflow.steps[0].foreach.concurrency: must be from 1 to 500, not 501', '[1.7] concurrency: the limit');
set local scylla.max_foreach_concurrency = 700;
select is(problems(foreach_of(1, 700)), null, '... a higher one');
select make('wider', foreach_of(800, 600), '{}', '{"step_concurrency": 900}'), start('wider'), advance(), advance() \g /dev/null
select is(running('wider'), 600::bigint, '... so many run');
select scylla.kill_run('wider', 1), advance() \g /dev/null
set local scylla.max_foreach_concurrency = 3;
select is(problems(foreach_of(1, 4)), 'workflow.steps[0].foreach.concurrency: must be from 1 to 3, not 4', '... a lower one');
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
select is(problems(retried('{"error_retry_limit": 100}')), 'workflow.steps[0].step.retry_policy.error_retry_limit: must be from 0 to 99, not 100', '[1.7] retries: the limit');
select is(problems(retried('{"backoff": {"error_retry_backoff_in_secs": 86401}}')), 'workflow.steps[0].step.retry_policy.backoff.error_retry_backoff_in_secs: must be from 1 to 86400, not 86401',
          '[1.7] wait: the limit');
select is(problems(timed('121 days')), 'workflow.steps[0].step.timeout: must be from 1 to 10368000 seconds, not "121 days"', '[1.7] timeout: the limit');
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
select is(problems(timed('2 minutes')), 'workflow.steps[0].step.timeout: must be from 1 to 90 seconds, not "2 minutes"', '... lower ones');
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

select make('lengthy', jsonb_build_array(step('s', '{}', '{"params": {"y": {"type": "STRING", "value": "$x!"}}}', 'NoOp')),
            '{"params": {"x": {"type": "STRING", "value": ""}}}'), start('lengthy', '{"x": ""}') \g /dev/null
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
select make('lengthens', jsonb_build_array(step('s', '{}', '{"params": {"y": {"type": "STRING", "value": "$x$x"}}}', 'NoOp')),
            '{"params": {"x": {"type": "STRING", "value": ""}}}'), start('lengthens', long_text(400000)) \g /dev/null
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

-- ---- ids, names and texts --------------------------------------------------------------------------------------------------

create function problems_of(workflow jsonb, properties jsonb = '{}') returns text language sql as $$
    select string_agg(place || ': ' || problem, '; ')
    from scylla.validate_workflow(jsonb_build_object('properties', '{"owner": "ada"}' || properties, 'workflow', jsonb_build_object('id', 'w', 'steps', many(1)) || workflow))
$$;
create function named(member text, n int) returns jsonb language sql as $$select jsonb_build_object(member, repeat('x', n))$$;
select is(problems_of(named('id', 128)), null, '[1.7] id: the longest');
select is(problems_of(named('id', 129)), 'workflow.id: has 129 characters, and at most 128 are possible', '... the limit');
set local scylla.max_workflow_id_length = 160;
select is(problems_of(named('id', 129)), null, '... a higher one');
select make(repeat('l', 160), jsonb_build_array(step(repeat('s', 160)), call('c', repeat('m', 160))), jsonb_build_object('instance_step_concurrency', 5, 'params',
    jsonb_build_object(repeat('p', 160), '{"type": "LONG", "value": 1}'::jsonb), 'time_triggers', '[{"type": "PREDEFINED", "expression": "@daily"}]'::jsonb,
    'signal_triggers', '[{"definitions": {"long": {}}}]'::jsonb), '{"step_concurrency": 5}') \g /dev/null
select make(repeat('m', 160), jsonb_build_array(step('s'))) \g /dev/null
select is(start(repeat('l', 160)), 1::bigint, '... with runs, triggers and permits');
reset scylla.max_workflow_id_length;
select work_all(), advance(), work_all() \g /dev/null
select is(status(repeat('l', 160)), 'SUCCEEDED', '... which end, also after the setting is lower');
select is((select count(*) from scylla.plan where name like 'workflow:lll%'), 1::bigint, '... each with its plan');
set local scylla.max_workflow_id_length = 3;
select is(problems_of('{"id": "four"}'), 'workflow.id: has 4 characters, and at most 3 are possible', '... a lower one');
select is(problems_of(jsonb_build_object('steps', jsonb_build_array(step('four')), 'params', '{"fourth": {"type": "LONG", "value": 1}}'::jsonb)),
          'workflow.params.fourth: has 6 characters, and at most 3 are possible; workflow.steps[0].step.id: has 4 characters, and at most 3 are possible', '... of steps and parameters');
select alike(raised($$select scylla.create_job_template('{"job_type": "four", "type": "A"}')$$), '%job_type: has 4 characters, and at most 3 are possible%', '... of job templates');
reset scylla.max_workflow_id_length;
select throws_ok('set scylla.max_workflow_id_length = 161', '22023', null, 'longer than 160 is not possible: the names of plans have 200 characters');

select is(problems_of(named('name', 257)), 'workflow.name: has 257 characters, and at most 256 are possible', '[1.7] name: the limit');
set local scylla.max_workflow_name_length = 300;
select is(problems_of(named('name', 300)), null, '... a higher one');
set local scylla.max_workflow_name_length = 5;
select is(problems_of('{"name": "a name"}'), 'workflow.name: has 6 characters, and at most 5 are possible', '... a lower one');
reset scylla.max_workflow_name_length;

select is(problems_of(named('description', 16385)), 'workflow.description: has 16385 characters, and at most 16384 are possible', '[1.7] text: the limit');
set local scylla.max_workflow_text_length = 20000;
select is(problems_of(named('description', 20000)), null, '... a higher one');
select make('statement', jsonb_build_array(step('s', '{}', jsonb_build_object('sql', 'select ' || repeat(' ', 19990) || '1'), 'Sql'))) \g /dev/null
reset scylla.max_workflow_text_length;
select is(start('statement'), 1::bigint, '... of which a run has the text');
select scylla.kill_run('statement', 1), advance() \g /dev/null
set local scylla.max_workflow_text_length = 3;
select is(problems_of('{"description": "four"}', '{"description": "six or more"}'),
          'properties.description: has 11 characters, and at most 3 are possible; workflow.description: has 4 characters, and at most 3 are possible', '... a lower one');
select alike(raised($$select scylla.alter_workflow('three', '{"description": "four"}')$$), '%description: has 4 characters, and at most 3 are possible%', '... of a property');
reset scylla.max_workflow_text_length;

-- ---- runs and steps at once ----------------------------------------------------------------------------------------------

select is(problems_of('{}', '{"run_strategy": 1001}'), 'properties.run_strategy: must be from 1 to 1000, not 1001', '[1.7] concurrency of a workflow: the limit');
set local scylla.max_workflow_concurrency = 2000;
select is(problems_of('{}', '{"run_strategy": {"rule": "PARALLEL", "workflow_concurrency": 2000}}'), null, '... a higher one');
set local scylla.max_workflow_concurrency = 2;
select is(problems_of('{}', '{"run_strategy": "3"}'), 'properties.run_strategy: must be from 1 to 2, not 3', '... a lower one');
select alike(raised($$select scylla.alter_workflow('three', '{"run_strategy": {"rule": "PARALLEL", "workflow_concurrency": 3}}')$$),
             '%run_strategy.workflow_concurrency: must be from 1 to 2, not 3%', '... of a change');
select make('pair', many(1)), start('pair'), start('pair'), start('pair') \g /dev/null
select is((select strategy || '(' || concurrency || ')' from scylla.workflow where id = 'pair'), 'PARALLEL(2)', 'PARALLEL without a number is not more than the limit');
select is((select string_agg(status, ' ' order by instance) from scylla.workflow_run where workflow = 'pair'), 'IN_PROGRESS IN_PROGRESS CREATED', '... and no more run');
reset scylla.max_workflow_concurrency;
select scylla.kill_workflow('pair'), advance() \g /dev/null

select is(problems_of('{}', '{"step_concurrency": 1001}'), 'properties.step_concurrency: must be from 1 to 1000, not 1001', '[1.7] concurrency of steps: the limit');
set local scylla.max_step_concurrency = 2000;
select make('roomy', many(1), '{}', '{"step_concurrency": 2000}') \g /dev/null
select is((select capacity ->> 'permits' from scylla.pool where pool = 'workflow:roomy'), '2000', '... a higher one');
set local scylla.max_step_concurrency = 4;
select alike(raised($$select scylla.alter_workflow('roomy', '{"step_concurrency": 5}')$$), '%step_concurrency: must be from 1 to 4, not 5%', '... a lower one');
reset scylla.max_step_concurrency;

select is(problems_of('{"instance_step_concurrency": 1000}'), 'workflow.instance_step_concurrency: must be from 1 to 999, not 1000', '[1.7] concurrency of an instance: the limit');
set local scylla.max_instance_step_concurrency = 2000;
select is(problems_of('{"instance_step_concurrency": 2000}'), null, '... a higher one');
set local scylla.max_instance_step_concurrency = 4;
select is(problems_of('{"instance_step_concurrency": 5}'), 'workflow.instance_step_concurrency: must be from 1 to 4, not 5', '... a lower one');
reset scylla.max_instance_step_concurrency;

-- ---- subworkflows --------------------------------------------------------------------------------------------------------

-- Each run starts the next; the last one cannot.
select make('down', jsonb_build_array(call('again', 'down'))) \g /dev/null
create function depth_of(down bigint) returns text language plpgsql as $$
begin
    perform advance() from generate_series(1, 40);
    return (select count(*) || ' ' || max(s.error ->> 'message') filter (where s.error ->> 'message' ~ 'nested') from scylla.workflow_step s where s.workflow = 'down' and s.instance >= down);
end $$;
select is(depth_of(start('down')), '10 subworkflows are nested more than 10 deep', '[1.7] [5.4] subworkflows: the limit');
set local scylla.max_subworkflow_depth = 12;
select is(depth_of(start('down')), '12 subworkflows are nested more than 12 deep', '... a higher one');
set local scylla.max_subworkflow_depth = 1;
select is(depth_of(start('down')), '1 subworkflows are nested more than 1 deep', '... a lower one');
reset scylla.max_subworkflow_depth;

-- ---- triggers ------------------------------------------------------------------------------------------------------------

create function trigger_of(n int) returns jsonb language sql as $$
    select jsonb_build_object('signal_triggers', jsonb_build_array(jsonb_build_object('definitions', jsonb_object_agg('sig' || i, '{}'::jsonb)))) from generate_series(1, n) i
$$;
create function run() returns void language sql as $$ select scylla.maintain() $$;
create function signals(n int) returns jsonb language sql as $$select jsonb_agg(jsonb_build_object('signal', 'sig' || i)) from generate_series(1, n) i$$;
select is(problems_of(trigger_of(9)), 'workflow.signal_triggers[0].definitions: has 9 signals, and at most 8 are possible', '[1.7] signals of a trigger: the limit');
select alike(raised($$select scylla.create_trigger('nine', signals(9), '{"submit": {"queue": "a"}}')$$), '%It must be an array of 1 to 8 objects%', '... of create_trigger()');
set local scylla.max_trigger_signals = 16;
select make('joins', jsonb_build_array(step('s', '{}', '{}', 'NoOp')), trigger_of(16)) \g /dev/null
reset scylla.max_trigger_signals;
select scylla.deactivate_workflow('joins'), scylla.activate_workflow('joins', 1) \g /dev/null
select scylla.send_signal('sig' || i) from generate_series(1, 15) i \g /dev/null
select run(), advance() \g /dev/null
select is((select count(*) from scylla.workflow_run where workflow = 'joins'), 0::bigint, '... a higher one: fifteen of sixteen signals start nothing');
select scylla.send_signal('sig16') \g /dev/null
select run(), advance() \g /dev/null
select is(status('joins'), 'SUCCEEDED', '... all of them a run');
set local scylla.max_trigger_signals = 2;
select is(problems_of(trigger_of(3)), 'workflow.signal_triggers[0].definitions: has 3 signals, and at most 2 are possible', '... a lower one');
select alike(raised($$select scylla.create_trigger('three', signals(3), '{"submit": {"queue": "a"}}')$$), '%It must be an array of 1 to 2 objects%', '... of create_trigger()');
reset scylla.max_trigger_signals;
select throws_ok('set scylla.max_trigger_signals = 17', '22023', null, 'more than 16 is not possible');

create function timed_by(cron text) returns jsonb language sql as $$
    select jsonb_build_object('time_triggers', jsonb_build_array(case when cron ~ '\*' then jsonb_build_object('type', 'CRON', 'cron', cron)
                                                                      else jsonb_build_object('type', 'INTERVAL', 'interval', cron) end))
$$;
select is(problems_of(timed_by('* * * * *')), 'workflow.time_triggers[0].cron: "* * * * *" has times 1 minute apart, and at least 2 minutes are required', '[1.7] time between runs: the limit');
select is(problems_of(timed_by('90 s')), 'workflow.time_triggers[0].interval: must be from 120 to 10368000 seconds, not "90 s"', '... of an interval');
set local scylla.min_trigger_interval = '1 h';
select is(problems_of(timed_by('0,59 3,5 * * *')), 'workflow.time_triggers[0].cron: "0,59 3,5 * * *" has times 59 minutes apart, and at least 60 minutes are required', '... a higher one');
select is(problems_of(timed_by('30 */2 * * *')), null, '... and times that are further apart');
set local scylla.min_trigger_interval = '1 min';
select is(problems_of(timed_by('* * * * *')), null, '... a lower one');
set local scylla.min_trigger_interval = '90 s';
select is(problems_of(timed_by('90 s')), null, '... of an interval');
select is(problems_of(timed_by('89 s')), 'workflow.time_triggers[0].interval: must be from 90 to 10368000 seconds, not "89 s"', '... and no less');
reset scylla.min_trigger_interval;

select all_is_sound();
select * from finish();
rollback;
