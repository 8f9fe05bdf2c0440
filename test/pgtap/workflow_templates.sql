-- Job templates (1.8, 4.4).
-- Numbers in brackets are sections of the specification of Maestro's behaviour.
begin;
\ir include/helpers.psql
select * from no_plan();
select scylla.create_queue('notebook') \g /dev/null

create function make(id text, steps jsonb, more jsonb = '{}') returns int language sql as $$
    select scylla.create_workflow(jsonb_build_object('properties', '{"owner": "ada", "run_strategy": "parallel"}'::jsonb, 'workflow', jsonb_build_object('id', id, 'steps', steps) || more))
$$;
create function step(more jsonb, sub_type text = 'spark', type text = 'Notebook', id text = 's') returns jsonb language sql as $$
    select jsonb_build_array(jsonb_build_object('step', jsonb_build_object('id', id, 'type', type, 'sub_type', sub_type) || more))
$$;
create function start(workflow text, params jsonb = '{}') returns bigint language plpgsql as $$
declare n bigint;
begin
    n := (scylla.start_workflow(workflow, params)).instance;
    perform scylla._advance();
    return n;
end $$;
-- Without those that every step has.
create function params(of text, number bigint = 1, id text = 's') returns jsonb language sql as $$
    select params - '{step_id,step_attempt_id,step_instance_uuid,workflow_instance_id}'::text[] from scylla.workflow_step
    where workflow = of and instance = number and step = id
$$;
create function statuses(of text, number bigint = 1) returns text language sql as $$
    select string_agg(step || coalesce(iterations::text, '') || ' ' || status, ', ' order by step, iterations) from scylla.workflow_step where workflow = of and instance = number
$$;
create function error_of(of text, number bigint = 1, id text = 's') returns text language sql as $$
    select error ->> 'message' from scylla.workflow_step where workflow = of and instance = number and step = id
$$;
create function text_param(value text, mode text = 'MUTABLE') returns jsonb language sql as $$ select jsonb_build_object('type', 'STRING', 'value', value, 'mode', mode) $$;

-- ---- making them ---------------------------------------------------------------------------------------------------------

select scylla.create_job_template('{"job_type": "spark", "type": "Notebook", "status": "stable", "description": "Spark jobs", "tags": ["spark"],
    "params": {"cluster": {"type": "STRING", "value": "small"}, "memory": {"type": "LONG", "value": 2},
               "command": {"type": "STRING", "value": "run $job on $cluster"}, "job": {"type": "STRING", "value": "none"}}}') \g /dev/null
select is(t, row('spark', 'default', 'Notebook', 'stable', 'Spark jobs', '["spark"]'::jsonb, null::jsonb, current_user::text, current_user::text)::text, '[1.8] a template has fields, and the version "default" where none is named')
from (select row(job_type, version, type, status, description, tags, inherit_from, owner, author)::text as t from scylla.job_template) t;
select scylla.create_job_template('{"definition": {"job_type": "spark", "version": "v2", "step_type": "notebook", "params": {"cluster": {"type": "STRING", "value": "large"}}},
    "owner": "ada", "status": "beta", "support": "#spark", "test_workflows": ["w"]}') \g /dev/null
select is((select (type, status, metadata)::text from scylla.job_template where version = 'v2'), ('notebook', 'beta', '{"owner": "ada", "status": "beta", "support": "#spark", "test_workflows": ["w"]}'::jsonb)::text,
          '[1.8] the request as Maestro has it: what is beside the definition is kept');

-- ---- parameters of steps ---------------------------------------------------------------------------------------------------

select make('plain', step('{"params": {"job": {"type": "STRING", "value": "daily"}, "extra": {"type": "LONG", "value": 1}}}')) \g /dev/null
select start('plain') \g /dev/null
select is(params('plain'), '{"cluster": "small", "memory": 2, "command": "run daily on small", "job": "daily", "extra": 1}', '[4.4] parameters of the template are below those of the definition, and evaluated with them');
select is((select (spec -> 'params') - '{step_id,step_attempt_id,step_instance_uuid,workflow_instance_id}'::text[] from scylla.task where queue = 'notebook'), params('plain'), '[1.8] the worker gets them');
select make('v2', step('{"sub_type_version": "v2"}')) \g /dev/null
select start('v2') \g /dev/null
select is(params('v2'), '{"cluster": "large"}', '[1.8] the step names the version');
select make('param', step('{}')) \g /dev/null
select start('param', '{"job_template_version": "v2"}') \g /dev/null
select is(params('param'), '{"cluster": "large"}', '[1.8] or a parameter of the workflow does');
select start('param') \g /dev/null
select is(params('param', 2) ->> 'cluster', 'small', '[1.8] or it is "default"');
select make('both', step('{"sub_type_version": "default"}'), '{"params": {"job_template_version": {"type": "STRING", "value": "v2"}}}') \g /dev/null
select start('both') \g /dev/null
select is(params('both') ->> 'cluster', 'small', '[1.8] the version of the step is above the parameter');

select make('over', step('{"params": {"memory": {"type": "LONG", "value": 8}}}'), '{"params": {"cluster": {"type": "STRING", "value": "mine"}, "memory": {"type": "LONG", "value": 4}, "other": {"type": "LONG", "value": 5}}}') \g /dev/null
select start('over') \g /dev/null
select is(params('over') - 'command', '{"cluster": "mine", "memory": 8, "job": "none"}', '[1.8] a parameter of the workflow with the same name is above that of the template, and below that of the step; others are left out');
select start('over', '{"cluster": "run''s"}') \g /dev/null
select is(params('over', 2) ->> 'command', 'run none on run''s', '[1.8] as the run has it');
select make('types', step('{}'), '{"params": {"memory": {"type": "STRING", "value": "16"}}}') \g /dev/null
select start('types') \g /dev/null
select is(params('types') -> 'memory', '16', '[4.3] with the type that the template says');
select start('types', '{"memory": "much"}') \g /dev/null
select is(statuses('types', 2), 's FATALLY_FAILED', '[4.3] what cannot have it');
select is(error_of('types', 2), 'memory: the parameter is LONG in the job template "spark" of version "default", and the workflow has STRING', 'and the error says which');

-- ---- modes -----------------------------------------------------------------------------------------------------------------

select scylla.create_job_template(jsonb_build_object('job_type', 'modes', 'type', 'NoOp', 'params', jsonb_build_object(
    'image', text_param('safe', 'IMMUTABLE'), 'soft', text_param('a', 'MUTABLE_ON_START'), 'needed', '{"type": "LONG", "internal_mode": "REQUIRED"}'::jsonb,
    'perhaps', '{"type": "LONG", "internal_mode": "OPTIONAL"}'::jsonb))) \g /dev/null
select throws_ok($$ select make('modes', step('{"params": {"image": {"type": "STRING", "value": "other"}}}', 'modes', 'NoOp')) $$, '22023',
    'invalid definition of a workflow: workflow.steps[0].step.params.image: the parameter is IMMUTABLE and cannot be changed by DEFINITION', '[4.2] a definition cannot change what a template has made IMMUTABLE');
select make('modes', step('{"params": {"soft": {"type": "STRING", "value": "b"}}}', 'modes', 'noop')) \g /dev/null
select start('modes') \g /dev/null
select is(error_of('modes'), 'needed: a value is required (LONG)', '[4.2] a parameter that a template requires');
select start('modes', '{"needed": 3}') \g /dev/null
select is(params('modes', 2), '{"image": "safe", "soft": "b", "needed": 3}', '[4.2] the workflow can have it; an OPTIONAL one without value is left out');
select start('modes', '{"needed": 3, "image": "other"}') \g /dev/null
select is(error_of('modes', 3), 'image: the parameter is IMMUTABLE and cannot be changed by WORKFLOW_PARAMETER', '[4.2] nor can a run change what is IMMUTABLE');

-- ---- inheritance -------------------------------------------------------------------------------------------------------------

select scylla.create_job_template('{"job_type": "base", "version": "1", "type": "Any", "tags": ["base", "both"], "params": {"a": {"type": "STRING", "value": "base"}, "b": {"type": "STRING", "value": "base"}, "c": {"type": "STRING", "value": "base"},
    "m": {"type": "MAP", "value": {"x": {"type": "LONG", "value": 1}}}}}') \g /dev/null
select scylla.create_job_template('{"job_type": "left", "version": "1", "type": "Any", "inherit_from": {"base": "1"}, "params": {"b": {"type": "STRING", "value": "left"}}}') \g /dev/null
select scylla.create_job_template('{"job_type": "right", "version": "1", "type": "Any", "inherit_from": {"base": "1"}, "params": {"c": {"type": "STRING", "value": "right"}}}') \g /dev/null
select scylla.create_job_template('{"job_type": "child", "type": "NoOp", "inherit_from": {"left": "1", "right": "1"}, "tags": ["both", "child"],
    "params": {"a": {"type": "STRING", "value": "child"}, "m": {"type": "MAP", "value": {"y": {"type": "LONG", "value": 2}}}}}') \g /dev/null
select make('child', step('{}', 'child', 'NoOp')) \g /dev/null
select start('child') \g /dev/null
select is(params('child'), '{"a": "child", "b": "left", "c": "right", "m": {"x": 1, "y": 2}}', '[1.8] parents first, each once, the child above them; maps are merged');
select throws_ok($$ select scylla.create_job_template('{"job_type": "x", "type": "NoOp", "inherit_from": {"base": "2"}}') $$, '22023', 'invalid job template: inherit_from.base: there is no job template "base" of version "2"',
    '[1.8] a parent that is missing is refused with its place');
select throws_ok($$ select scylla.create_job_template('{"definition": {"job_type": "base", "version": "1", "type": "Any", "inherit_from": {"child": "default"}}}') $$, '22023',
    'invalid job template: definition.inherit_from.child: templates inherit from each other in a circle: "base" "1", "child" "default", "left" "1", "base" "1"', '[1.8] and so is a circle');
select throws_ok($$ select scylla.create_job_template('{"job_type": "self", "type": "NoOp", "inherit_from": {"self": "default"}}') $$, '22023',
    'invalid job template: inherit_from.self: templates inherit from each other in a circle: "self" "default", "self" "default"', '[1.8] of one, too');
select lives_ok($$ select scylla.create_job_template('{"job_type": "base", "version": "2", "type": "Any", "inherit_from": {"base": "1"}}') $$, '[1.8] a version can inherit from another one');
select throws_ok($$ select scylla.create_job_template('{"job_type": "x", "type": "NoOp", "inherit_from": {"base": "1"}, "params": {"a": {"type": "LONG_ARRAY", "value": [1]}}}') $$, '22023',
    'invalid job template: params.a: the parameter is STRING, and this LONG_ARRAY cannot become one', '[4.3] a child keeps to the types of its parents');
select throws_ok($$ select scylla.create_job_template('{"job_type": "base", "version": "1", "type": "Any", "params": {"a": {"type": "LONG_ARRAY", "value": [1]}}}') $$, '22023',
    'job template "child" of version "default", which inherits from this one, would be invalid', '[4.3] and a parent to those of its children');
select throws_ok($$ select scylla.drop_job_template('base', '1') $$, '2BP01', 'job template "base" of version "1" is inherited by "base" of version "2"', '[1.8] a parent cannot be dropped');

-- ---- what is refused ---------------------------------------------------------------------------------------------------------

select throws_ok(format('select scylla.create_job_template(%L)', definition), '22023', 'invalid job template: ' || message, '[1.8] ' || message) from (values
    ('[]', 'must be an object'),
    ('{"type": "NoOp"}', 'has no "job_type"'),
    ('{"job_type": "a"}', 'has no "type"'),
    ('{"job_type": "a b", "type": "NoOp"}', 'job_type: "a b" must consist of letters, digits, ".", "-" and "_", and begin with a letter, a digit or "_"'),
    ('{"job_type": "a", "version": "", "type": "NoOp"}', 'version: "" must consist of letters, digits, ".", "-" and "_", and begin with a letter, a digit or "_"'),
    ('{"job_type": "a", "type": ""}', 'type: must not be empty'),
    ('{"job_type": "a", "type": "NoOp", "step_type": "NoOp"}', 'has both "type" and "step_type"'),
    ('{"definition": 5}', 'definition: must be an object'),
    ('{"definition": {"job_type": "a", "type": "NoOp", "params": {"x": {"type": "LONG", "value": "y"}}}}', 'definition.params.x.value: STRING is not LONG'),
    ('{"job_type": "a", "type": "NoOp", "params": {"step_id": {"type": "LONG", "value": 1}}}', 'params.step_id: is a parameter that every step has'),
    ('{"job_type": "a", "type": "NoOp", "params": {"x": {"type": "LONG", "value": 1, "source": "SYSTEM"}}}', 'params.x: source is the system''s to set'),
    ('{"job_type": "a", "type": "NoOp", "params": {"x": {"type": "LONG", "expression": "1 +"}}}', 'params.x.expression: the expression ends too early (line 1, column 4)'),
    ('{"job_type": "a", "type": "NoOp", "inherit_from": {"b": 1}}', 'inherit_from.b: must be the version of the template, a string'),
    ('{"job_type": "a", "type": "NoOp", "inherit_from": ["b"]}', 'inherit_from: must be an object'),
    ('{"job_type": "a", "type": "NoOp", "tags": ["x", "x"]}', 'tags[1]: the tag "x" is there twice')) v (definition, message);
select throws_ok($$ select scylla.create_job_template(null) $$, '22023', null, 'null is refused');
select throws_ok($$ select scylla.drop_job_template(null, 'v') $$, '22023', null, 'and so it is of a template to be dropped');
select throws_ok($$ select scylla.drop_job_template('v', null) $$, '22023', null, 'and of a version');
select scylla.create_job_template('{"job_type": "lonely", "type": "lonely", "version": "a"}'), scylla.create_job_template('{"job_type": "lonely", "type": "lonely", "version": "b"}') \g /dev/null
select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "uses_lonely", "steps": [{"while": {"id": "l", "condition": "false",
    "params": {"loop_params": {"type": "MAP", "value": {}}}, "steps": [{"step": {"id": "s", "type": "lonely", "sub_type": "lonely", "sub_type_version": "a"}}]}}]}}') \g /dev/null
select scylla.drop_job_template('lonely', 'b') \g /dev/null
select throws_ok($$ select scylla.drop_job_template('lonely', 'a') $$, '2BP01', 'job template "lonely" of version "a" is the last of its job type, and workflow "uses_lonely" uses it',
                 'a template that is the last of a job type that a workflow uses cannot be dropped');
select is((select count(*) from scylla.job_template where job_type = 'lonely'), 1::bigint, 'the last template of a job type that a workflow uses stays');
select scylla.deactivate_workflow('uses_lonely') \g /dev/null
select scylla.drop_job_template('lonely', 'a') \g /dev/null
select is((select count(*) from scylla.job_template where job_type = 'lonely'), 0::bigint, '... until no active version uses it');
select throws_ok($$ select scylla.drop_job_template('spark', 'v3') $$, '42704', 'job template "spark" of version "v3" does not exist', 'what does not exist cannot be dropped');
select is((select count(*) from scylla.job_template where job_type in ('a', 'x', 'self')), 0::bigint, 'what is refused leaves nothing');

-- ---- definitions that use them ---------------------------------------------------------------------------------------------

select is((select array_agg(place || ': ' || problem order by place) from scylla.validate_workflow(jsonb_build_object('properties', '{"owner": "ada"}'::jsonb, 'workflow', jsonb_build_object('id', 'w', 'steps',
        step('{}', 'nothing', id => 'a') || step('{"sub_type_version": "v9"}', id => 'b') || step('{}', type => 'Http', id => 'c')
        || jsonb_build_array(jsonb_build_object('foreach', jsonb_build_object('id', 'f', 'params', '{"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": [1]}}}}'::jsonb,
               'steps', step('{"params": {"memory": {"type": "LONG_ARRAY", "value": [1]}}}', id => 'd')))))))),
    array['workflow.steps[1].step.sub_type_version: there is no job template "spark" of version "v9"',
          'workflow.steps[2].step.sub_type: job template "spark" of version "default" is for steps of type "Notebook", and the step is "Http"',
          'workflow.steps[3].foreach.steps[0].step.params.memory: the parameter is LONG, and this LONG_ARRAY cannot become one'],
    '[1.8] all that a definition has wrong, with its place');
select make('bare', step('{}', 'nothing', 'NoOp')), start('bare') \g /dev/null
select is(statuses('bare'), 's SUCCEEDED', '[1.8] a type without templates adds nothing to its steps');
select lives_ok($$ select make('later', step('{}'), '{"params": {"job_template_version": {"type": "STRING", "expression": "''v'' + 3"}}}') $$, '[1.8] a version that only a run knows is not checked before');
select start('later') \g /dev/null
select is(statuses('later'), 's FATALLY_FAILED', '[1.8] a step whose template is missing fails');
select is(error_of('later'), 'there is no job template "spark" of version "v3"', 'and its error names it');
select make('ignored', step('{"failure_mode": "IGNORE_FAILURE"}'), '{"params": {"job_template_version": {"type": "STRING", "expression": "''v3''"}}}') \g /dev/null
select start('ignored') \g /dev/null
select is(statuses('ignored'), 's COMPLETED_WITH_ERROR', '[6.1] its failure mode holds');
select scylla.create_job_template('{"job_type": "spark", "version": "v3", "type": "Http"}') \g /dev/null
select start('later') \g /dev/null
select is(error_of('later', 2), 'job template "spark" of version "v3" is for steps of type "Http", and the step is "Notebook"', '[1.8] the types must be equal in a run, too');
select scylla.drop_job_template('spark', 'v3') \g /dev/null

-- ---- a template that changes ---------------------------------------------------------------------------------------------------

select make('turns', step('{"id": "a", "type": "Notebook", "transition": {"successors": {"b": "true"}}}') || step('{}', id => 'b')) \g /dev/null
select start('turns') \g /dev/null
select scylla.create_job_template('{"job_type": "spark", "type": "Notebook", "params": {"cluster": {"type": "STRING", "value": "new"}}}') \g /dev/null
create function work(result jsonb = null) returns void language plpgsql as $$
declare t scylla.task;
begin
    for t in select * from scylla.lease('notebook', 'w', 100) loop
        perform scylla.complete(t.rn, 'w', result);
    end loop;
    perform scylla._advance();
end $$;
select work() \g /dev/null
select is(params('turns', 1, 'a') ->> 'cluster', 'small', '[1.8] a step keeps what it has begun with');
select is(params('turns', 1, 'b'), '{"cluster": "new"}', '[1.8] steps that begin later have the template as it is then');
select is((select count(*) from scylla.job_template where job_type = 'spark' and version = 'default' and modified > created), 1::bigint, 'the view tells that it was replaced');

-- ---- output ----------------------------------------------------------------------------------------------------------------

select scylla.create_job_template(jsonb_build_object('job_type', 'out', 'type', 'Notebook', 'params', jsonb_build_object('rows', '{"type": "LONG", "value": 0}'::jsonb, 'fixed', text_param('f', 'IMMUTABLE')))) \g /dev/null
select make('out', step('{"transition": {"successors": {"t": "rows > 5"}}}', 'out') || '[{"step": {"id": "t", "type": "NoOp", "params": {"n": {"type": "LONG", "expression": "s__rows"}}}}]'::jsonb) \g /dev/null
select start('out'), start('out'), start('out') \g /dev/null
select work('{"params": {"rows": "7"}}') \g /dev/null
select is(params('out', 1), '{"rows": 7, "fixed": "f"}', '[4.8] a step can put out a parameter of its template');
select is(params('out', 1, 't'), '{"n": 7}', '[4.6] and others read it');
select start('out') \g /dev/null
select work('{"params": {"fixed": "g"}}') \g /dev/null
select is(error_of('out', 4), 'fixed: the parameter is IMMUTABLE and cannot be changed by OUTPUT_PARAMETER', '[4.2] but not what the template has made IMMUTABLE');
select start('out') \g /dev/null
select scylla.deactivate_workflow('out'), scylla.drop_job_template('out', 'default') \g /dev/null
select work('{"params": {"rows": 8}}') \g /dev/null
select is(params('out', 5, 't'), '{"n": 8}', '[4.8] also when the template is gone by then');

-- ---- loops, tags and restarts ------------------------------------------------------------------------------------------------

select scylla.create_job_template('{"job_type": "each", "type": "NoOp", "params": {"i": {"type": "LONG", "value": 0}, "twice": {"type": "LONG", "expression": "i * 2"}}}') \g /dev/null
select make('loop', jsonb_build_array(jsonb_build_object('foreach', jsonb_build_object('id', 'f', 'params', '{"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": [3, 4]}}}}'::jsonb, 'steps', step('{}', 'each', 'NoOp'))))) \g /dev/null
select start('loop') \g /dev/null
select is((select array_agg(params -> 'twice' order by iterations) from scylla.workflow_step where workflow = 'loop' and step = 's'), array['6', '8']::jsonb[], '[1.8] in a loop a loop parameter is above that of the template');

select scylla.create_pool('tag:gpu', '{"permits": 1}') \g /dev/null
select scylla.create_job_template('{"job_type": "tagged", "type": "Notebook", "tags": ["free", {"name": "gpu", "owner": "ada"}]}') \g /dev/null
select scylla.create_job_template('{"job_type": "heir", "type": "Notebook", "inherit_from": {"tagged": "default"}, "tags": ["gpu"]}') \g /dev/null
select make('tagged', step('{}', 'tagged') || step('{"tags": ["gpu"]}', 'heir', id => 't')) \g /dev/null
select start('tagged') \g /dev/null
select is((select array_agg(s.needs order by t.spec ->> 'step') from scylla.task t join scylla.task_spec s using (rn) where t.spec ->> 'workflow' = 'tagged'),
          array['{"tag:gpu": {"permits": 1}}', '{"tag:gpu": {"permits": 1}}']::jsonb[], '[13] the tags of a template are those of its steps, each once: they need permits of the pools of these');
select is((select array_agg(status order by status) from scylla.workflow_step where workflow = 'tagged'), array['RUNNING', 'WAITING_FOR_PERMITS'], '[13] one of them has it, and runs');

select make('again', step('{}'), '{"params": {"job_template_version": {"type": "STRING", "expression": "''v4''"}}}') \g /dev/null
select start('again') \g /dev/null
select scylla.create_job_template('{"job_type": "spark", "version": "v4", "type": "Notebook", "params": {"cluster": {"type": "STRING", "value": "four"}, "nodes": {"type": "LONG", "value": 4}}}') \g /dev/null
select scylla.restart_run('again', 1, step_params => '{"s": {"nodes": 5}}') \g /dev/null
select scylla._advance() \g /dev/null
select is(params('again'), '{"cluster": "four", "nodes": 5}', '[4.4] what a restart gives the step is above all');

-- ---- rights ------------------------------------------------------------------------------------------------------------------

create role template_maker;
create role template_other;
grant usage on schema scylla to template_maker, template_other;
grant execute on function scylla.create_job_template, scylla.drop_job_template to template_maker, template_other;
grant select on scylla.job_template to template_other;
set local role template_maker;
select scylla.create_job_template('{"job_type": "owned", "type": "NoOp"}') \g /dev/null
set local role template_other;
select throws_ok($$ select scylla.create_job_template('{"job_type": "owned", "version": "x", "type": "NoOp"}') $$, '42501', 'permission denied for job template "owned"', 'another role makes no version of it');
select throws_ok($$ select scylla.drop_job_template('owned', 'default') $$, '42501', 'permission denied for job template "owned"', 'and drops none');
select lives_ok($$ select scylla.create_job_template('{"job_type": "mine", "type": "NoOp", "inherit_from": {"owned": "default"}}') $$, 'but may inherit from it');
select is((select owner from scylla.job_template where job_type = 'owned'), 'template_maker', 'and see it');
reset role;
select scylla.create_job_template('{"job_type": "owned", "version": "y", "type": "NoOp"}') \g /dev/null
select is((select array_agg(owner || ' ' || author order by version) from scylla.job_template where job_type = 'owned'), array['template_maker template_maker', 'template_maker ' || current_user], 'all versions have one owner');

select is_empty('select * from scylla.check()', 'and all of it is sound');
select * from finish();
rollback;
