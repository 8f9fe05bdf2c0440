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

select results_eq($$select name, setting, context from pg_settings where name ~ '^scylla.max_(workflow_|foreach_|loop_|run_|definition_)' order by name$$,
    $$values ('scylla.max_definition_size', '256', 'superuser'), ('scylla.max_foreach_concurrency', '500', 'superuser'), ('scylla.max_loop_iterations', '25000', 'superuser'),
             ('scylla.max_run_params', '128', 'superuser'), ('scylla.max_workflow_nesting', '10', 'superuser'), ('scylla.max_workflow_steps', '300', 'superuser')$$,
    'the limits');

-- Made with the usual limits, and run with lower ones below.
select make('three', many(3)), make('deep', nested(3)), make('wide', foreach_of(6, 4)), make('while', jsonb_build_array(
    '{"while": {"id": "again", "condition": "true", "params": {"loop_params": {"type": "MAP", "value": {"n": {"type": "LONG", "expression": "return 1;"}}}},
                "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}'::jsonb)) \g /dev/null

-- ---- steps ---------------------------------------------------------------------------------------------------------------

select is(problems(many(301)), 'workflow.steps: there are 301 steps, and at most 300 are possible', 'steps: the limit');
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

select alike(problems(nested(11)), '%: loops are nested more than 10 deep', 'nesting: the limit');
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

select is(problems(foreach_of(1, 501)), 'workflow.steps[0].foreach.concurrency: must be from 1 to 500', 'concurrency: the limit');
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
select is((select error ->> 'message' from scylla.workflow_step where workflow = 'long'), 'loop_params: a foreach can have at most 25000 iterations', 'iterations: the limit');
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

-- ---- parameters of a run -------------------------------------------------------------------------------------------------

create function params(n int) returns jsonb language sql as $$select jsonb_object_agg('p' || i, i) from generate_series(1, n) i$$;
select throws_ok($$select scylla.start_workflow('three', params(129))$$, '22023', null, 'parameters: the limit');
select alike(raised($$select scylla.start_workflow('three', params(129))$$), '%a run can be given at most 128 parameters%', '... is told');
set local scylla.max_run_params = 200;
select lives_ok($$select scylla.start_workflow('three', params(200))$$, '... a higher one');
set local scylla.max_run_params = 2;
select alike(raised($$select scylla.start_workflow('three', params(3))$$), '%a run can be given at most 2 parameters%', '... a lower one');
select alike(raised($$select scylla.restart_run('three', 1, 'RESTART_FROM_BEGINNING', params(3))$$), '%a run can be given at most 2 parameters%', '... also of a restart');
select lives_ok($$select scylla.restart_run('three', 1, 'RESTART_FROM_BEGINNING')$$, 'what was given before is given again');
reset scylla.max_run_params;

-- ---- size ----------------------------------------------------------------------------------------------------------------

create function sized(kb int) returns jsonb language sql as $$
    select jsonb_agg(step('s' || i, '{}', jsonb_build_object('description', repeat('x', 16000)))) from generate_series(1, kb / 16 + 1) i
$$;
select alike(raised('select problems(sized(260))'), '%Its text must be at most 256 kB long.%', 'size: the limit');
set local scylla.max_definition_size = '300 kB';
select is(problems(sized(260)), null, '... a higher one');
set local scylla.max_definition_size = '1 kB';
select alike(raised('select problems(sized(1))'), '%Its text must be at most 1 kB long.%', '... a lower one');
select lives_ok($$select start('three')$$, 'a stored definition still runs');
reset scylla.max_definition_size;

select all_is_sound();
select * from finish();
rollback;
