-- Workflows, their versions and properties (sections 1.2 and 1.6 of the specification of Maestro's behaviour): create, activate, deactivate, drop, and who may.
begin;
\ir include/helpers.psql
select * from no_plan();

select is((select format('%s -> %s; %s, %s', pg_get_function_arguments(oid), pg_get_function_result(oid), provolatile, proparallel)
           from pg_proc where oid = ('scylla.' || name)::regproc), signature, 'signature of ' || name)
from (values ('create_workflow', 'definition jsonb, activate boolean DEFAULT true -> integer; v, u'),
             ('activate_workflow', 'workflow text, version integer DEFAULT NULL::integer -> void; v, u'),
             ('deactivate_workflow', 'workflow text -> void; v, u'), ('alter_workflow', 'workflow text, properties jsonb -> void; v, u'), ('drop_workflow', 'workflow text -> void; v, u'),
             ('grant_workflow', 'workflow text, role text, privilege text -> void; v, u'),
             ('revoke_workflow', 'workflow text, role text, privilege text -> void; v, u')) s (name, signature);

-- A document of the workflow, with these properties, and these other members.
create function pg_temp.document(id text, properties text = '{"owner": "ann"}', others text = '{}') returns jsonb language sql
    return jsonb_build_object('properties', properties::jsonb,
                              'workflow', jsonb_build_object('id', id, 'steps', '[{"step": {"id": "s", "type": "NoOp"}}]'::jsonb)) || others::jsonb;
create function pg_temp.versions(flow text) returns text language sql
    return (select format('%s of %s', coalesce(active_version::text, 'none'), latest_version) from scylla.workflow where id = flow);

-- ---- versions ------------------------------------------------------------------------------------------------------

select is(scylla.create_workflow(pg_temp.document('w')), 1, '[1.6] the first version');
select is((select to_jsonb(w) - '{created,modified,activated}'::text[] from scylla.workflow w),
          jsonb_build_object('id', 'w', 'owner', current_user, 'properties', '{"owner": "ann"}'::jsonb, 'active_version', 1, 'latest_version', 1,
                             'latest_instance', 0, 'strategy', 'SEQUENTIAL', 'concurrency', 1, 'activated_by', current_user,
                             'runners', null, 'viewers', null, 'admins', null, 'next_start', null, 'paused', null, 'paused_by', null), 'a workflow');
select ok((select created <= activated and activated <= modified and modified <= clock_timestamp() from scylla.workflow), 'its times');
select is((select to_jsonb(v) - 'created' from scylla.workflow_version v),
          jsonb_build_object('workflow', 'w', 'version', 1, 'is_active', true, 'definition', pg_temp.document('w') -> 'workflow', 'author', current_user,
                             'metadata', '{}'::jsonb), 'and its version');
select is(scylla.create_workflow(pg_temp.document('w', '{}', '{"git_info": {"branch": "main"}, "note": [1], "is_active": true}')), 2, 'the second');
select is(pg_temp.versions('w'), '2 of 2', '[1.6] which is active');
select is((select metadata from scylla.workflow_version where version = 2), '{"git_info": {"branch": "main"}, "note": [1], "is_active": true}', '[1.1] other members are kept');
select is(scylla.create_workflow(pg_temp.document('w', 'null'), false), 3, 'a version that is not activated');
select is(pg_temp.versions('w'), '2 of 3', '[1.6] leaves the active one');
select is(scylla.create_workflow(pg_temp.document('w', '{}', '{"is_active": false}')), 4, 'nor does one that says so itself');
select is(pg_temp.versions('w'), '2 of 4', 'change it');
select is(scylla.create_workflow(pg_temp.document('w', '{}', '{"is_active": null}'), null), 5, 'nulls are the defaults');
select is(pg_temp.versions('w'), '5 of 5', 'which is to activate it');
select is(scylla.create_workflow(pg_temp.document('inactive'), false), 1, 'a workflow without an active version');
select is(pg_temp.versions('inactive'), 'none of 1', 'is inactive');
select is((select row(activated, activated_by)::text from scylla.workflow where id = 'inactive'), '(,)', '[1.6] nobody has activated it');
select is((select definition -> 'steps' from scylla.workflow_version where workflow = 'w' and version = 1), pg_temp.document('w') #> '{workflow,steps}',
          '[1.6] a version never changes');

select scylla.activate_workflow('w', 2) \g /dev/null
select is(pg_temp.versions('w'), '2 of 5', '[1.6] activate_workflow');
select is((select string_agg(version::text, ',') from scylla.workflow_version where workflow = 'w' and is_active), '2', 'one version is active');
select scylla.activate_workflow('w') \g /dev/null
select is(pg_temp.versions('w'), '5 of 5', '[1.6] the latest by default');
select scylla.deactivate_workflow('w') \g /dev/null
select is(pg_temp.versions('w'), 'none of 5', '[1.6] deactivate_workflow');
select is((select bool_or(is_active) from scylla.workflow_version where workflow = 'w'), false, 'no version is active');
select scylla.deactivate_workflow('w') \g /dev/null
select is(pg_temp.versions('w'), 'none of 5', 'again');

-- ---- properties ----------------------------------------------------------------------------------------------------

create function pg_temp.pushed(properties text) returns text language sql as $$
    select scylla.create_workflow(pg_temp.document('p', properties));
    select format('%s %s(%s)', properties - 'owner', strategy, concurrency) from scylla.workflow where id = 'p';
$$;
select is(pg_temp.pushed('{"owner": "ann", "run_strategy": ' || given || '}'), format('{"run_strategy": %s} %s', given, meant), '[3] run_strategy ' || given)
from (values ('"sequential"', 'SEQUENTIAL(1)'), ('"Strict_Sequential"', 'STRICT_SEQUENTIAL(1)'), ('"FIRST_ONLY"', 'FIRST_ONLY(1)'),
             ('"last_only"', 'LAST_ONLY(1)'), ('"serial_latest_only"', 'SERIAL_LATEST_ONLY(1)'), ('"parallel"', 'PARALLEL(20)'),
             ('7', 'PARALLEL(7)'), ('"1000"', 'PARALLEL(1000)'), ('{"rule": "parallel"}', 'PARALLEL(20)'),
             ('{"rule": "PARALLEL", "workflow_concurrency": 3}', 'PARALLEL(3)'), ('{"rule": "first_only", "workflow_concurrency": 1}', 'FIRST_ONLY(1)')) s (given, meant);
select is(pg_temp.pushed('{"step_concurrency": 5, "alerting": {"emails": ["a@b"]}, "description": "d", "tags": ["t"], "run_strategy": 2}'),
          '{"tags": ["t"], "alerting": {"emails": ["a@b"]}, "description": "d", "run_strategy": 2, "step_concurrency": 5} PARALLEL(2)', '[1.2] properties');
select is((select properties ->> 'owner' from scylla.workflow where id = 'p'), 'ann', 'the owner stays');
select is(pg_temp.pushed('{"access_control": {"x": null}, "description": null}'),
          '{"tags": ["t"], "description": "d", "access_control": {"x": null}} SEQUENTIAL(1)', '[1.2] a push removes three of them, and adds to the others');
select is(pg_temp.pushed('{"run_strategy": null, "tags": []}'),
          '{"tags": [], "description": "d", "access_control": {"x": null}} SEQUENTIAL(1)', '[1.2] a null is as none');

-- ---- alter_workflow --------------------------------------------------------------------------------------------------

create function pg_temp.changed(change text) returns text language sql as $$
    select scylla.alter_workflow('p', change::jsonb);
    select format('%s %s(%s)', properties - 'owner', strategy, concurrency) from scylla.workflow where id = 'p';
$$;
select pg_temp.pushed('{"owner": "ann", "description": "d", "run_strategy": 3, "step_concurrency": 4, "tags": null}'), pg_temp.changed('{"access_control": [], "tags": ["a"]}') \g /dev/null
select is(pg_temp.changed(change), becomes, '[1.2] ' || change)
from (values ('{}', '{"tags": ["a"], "description": "d", "run_strategy": 3, "access_control": [], "step_concurrency": 4} PARALLEL(3)'),
             ('{"description": null, "run_strategy": null, "reset_step_concurrency": false, "reset_run_strategy_rule": null}',
              '{"tags": ["a"], "description": "d", "run_strategy": 3, "access_control": [], "step_concurrency": 4} PARALLEL(3)'),
             ('{"run_strategy": "first_only", "step_concurrency": 5, "alerting": {}}',
              '{"tags": ["a"], "alerting": {}, "description": "d", "run_strategy": "first_only", "access_control": [], "step_concurrency": 5} FIRST_ONLY(1)'),
             ('{"reset_run_strategy_rule": true, "reset_step_concurrency": true, "access_control": 1}',
              '{"tags": ["a"], "alerting": {}, "description": "d", "access_control": 1} SEQUENTIAL(1)'),
             ('{"run_strategy": {"rule": "parallel", "workflow_concurrency": 2}}',
              '{"tags": ["a"], "alerting": {}, "description": "d", "run_strategy": {"rule": "parallel", "workflow_concurrency": 2}, "access_control": 1} PARALLEL(2)'),
             ('{"reset_workflow_concurrency": true}',
              '{"tags": ["a"], "alerting": {}, "description": "d", "run_strategy": "PARALLEL", "access_control": 1} PARALLEL(20)'),
             ('{"reset_workflow_concurrency": true, "reset_run_strategy_rule": true}',
              '{"tags": ["a"], "alerting": {}, "description": "d", "access_control": 1} SEQUENTIAL(1)'),
             ('{"add_tag": "b"}', '{"tags": ["a", "b"], "alerting": {}, "description": "d", "access_control": 1} SEQUENTIAL(1)'),
             ('{"add_tag": {"name": "a", "namespace": "x"}}', '{"tags": [{"name": "a", "namespace": "x"}, "b"], "alerting": {}, "description": "d", "access_control": 1} SEQUENTIAL(1)'),
             ('{"delete_tag": "a", "access_control": 2}', '{"tags": ["b"], "alerting": {}, "description": "d", "access_control": 2} SEQUENTIAL(1)'),
             ('{"delete_tag": "b"}', '{"tags": [], "alerting": {}, "description": "d", "access_control": 2} SEQUENTIAL(1)'),
             ('{"tags": ["c", {"name": "d"}]}', '{"tags": ["c", {"name": "d"}], "alerting": {}, "description": "d", "access_control": 2} SEQUENTIAL(1)'),
             ('{"delete_tag": "d"}', '{"tags": ["c"], "alerting": {}, "description": "d", "access_control": 2} SEQUENTIAL(1)')) c (change, becomes);
select is((select properties ->> 'owner' from scylla.workflow where id = 'p'), 'ann', 'the owner stays');
select is((select string_agg(format('%s -> %s', previous ->> 'tags', properties ->> 'tags'), '; ' order by changed)
           from scylla.workflow_properties_history where workflow = 'p' and previous -> 'tags' is distinct from properties -> 'tags'),
          ' -> ["t"]; ["t"] -> []; [] -> ["a"]; ["a"] -> ["a", "b"]; ["a", "b"] -> [{"name": "a", "namespace": "x"}, "b"]; [{"name": "a", "namespace": "x"}, "b"] -> ["b"]; ["b"] -> []; [] -> ["c", {"name": "d"}]; ["c", {"name": "d"}] -> ["c"]',
          '[1.2] every change is kept');
select is((select count(*) from scylla.workflow_properties_history where previous = properties), 0::bigint, 'what changes nothing is none');
select is((select string_agg(distinct author, ',') from scylla.workflow_properties_history), current_user::text, '[1.2] with its author');
select is((select latest_version from scylla.workflow_head where id = 'p'), (select max(version) from scylla.workflow_version where workflow = 'p'), '[1.2] no version comes of it');
select refuses(format('select scylla.alter_workflow(''p'', %L)', change), '22023', 'definition', 'invalid properties of a workflow: ' || message, detail, table_ => 'workflow')
from (values ('[]', 'must be an object', ''), ('{"colour": 1}', 'colour: is not known here', ''), ('{"step_concurrency": 0}', 'step_concurrency: must be from 1 to 1000, not 0', ''),
             ('{"is_active": true, "owner": 1}', 'is_active: is not known here', 'They have 2 problems, of which this is the first.'),
             ('{"reset_step_concurrency": 1}', 'reset_step_concurrency: must be true or false', ''),
             ('{"run_strategy": 2, "reset_run_strategy_rule": true}', 'reset_run_strategy_rule: cannot be there together with "run_strategy"', ''),
             ('{"run_strategy": 2, "reset_workflow_concurrency": true}', 'reset_workflow_concurrency: cannot be there together with "run_strategy"', ''),
             ('{"step_concurrency": 2, "reset_step_concurrency": true}', 'reset_step_concurrency: cannot be there together with "step_concurrency"', ''),
             ('{"tags": [], "add_tag": "x"}', 'add_tag: cannot be there together with "tags"', ''), ('{"tags": [], "delete_tag": "x"}', 'delete_tag: cannot be there together with "tags"', ''),
             ('{"add_tag": {"name": "y", "permit": 1}}', 'add_tag: the limit of a tag is not part of a definition: create_pool(''tag:y'', …) sets it', ''),
             ('{"add_tag": "y", "delete_tag": "x"}', 'delete_tag: cannot be there together with "add_tag"', ''),
             ('{"add_tag": {}}', 'add_tag: has no "name"', ''), ('{"add_tag": 5}', 'add_tag: must be a name or an object with a "name"', ''),
             ('{"delete_tag": {"name": "c"}}', 'delete_tag: must be a string', '')) f (change, message, detail);
select refuses($$select scylla.alter_workflow('p', '{"delete_tag": "x"}')$$, '42704', 'tag', 'workflow "p" has no tag "x"', table_ => 'workflow');
select refuses($$select scylla.alter_workflow('inactive', '{"delete_tag": "x"}')$$, '42704', 'tag', 'workflow "inactive" has no tag "x"', table_ => 'workflow');
select refuses($$select scylla.alter_workflow('p', '{"reset_workflow_concurrency": true}')$$, '55000', 'parallel', 'the run strategy of workflow "p" has no concurrency to reset',
               'Its rule is not PARALLEL.', table_ => 'workflow');
select refuses($$select scylla.alter_workflow('none', '{}')$$, '42704', 'exists', 'workflow "none" does not exist', table_ => 'workflow');
select refuses_argument($$select scylla.alter_workflow(null, '{}')$$, 'workflow', 'null', 'It must have 1 to 200 characters.');
select refuses_argument($$select scylla.alter_workflow('p', null)$$, 'properties', 'null', 'It must not be null.');

-- ---- faults --------------------------------------------------------------------------------------------------------

select refuses(format('select scylla.create_workflow(%L)', document), '22023', 'definition', 'invalid definition of a workflow: ' || message,
               detail, table_ => 'workflow')
from (values ('{}', 'has no "workflow"', ''),
             ('{"properties": {"owner": "ann"}, "workflow": {"id": "f", "steps": [{"step": {"id": "s", "type": "NoOp"}},
                {"foreach": {"id": "f", "params": {"loop_params": {"type": "MAP", "value": {}}}, "steps": [{"step": {"id": "9", "type": "x"}}]}}]}, "is_active": true}',
              'workflow.steps[1].foreach.steps[0].step.id: "9" must consist of letters, digits, ".", "-" and "_", and begin with a letter or "_"', ''),
             ('{"properties": {"owner": "ann", "step_concurrency": 0}, "workflow": {"id": "f", "steps": []}}',
              'properties.step_concurrency: must be from 1 to 1000, not 0', 'It has 2 problems, of which this is the first.'),
             (pg_temp.document('f', '{}')::text, 'properties: has no "owner"', ''), (pg_temp.document('f', 'null')::text, 'properties: has no "owner"', '')) f (document, message, detail);
select is((select count(*) from scylla.workflow_head where id = 'f'), 0::bigint, 'nothing is left of it');
select refuses_argument('select scylla.create_workflow(null)', 'definition', 'null', 'It must not be null.');
select refuses(format($$select scylla.%s_workflow('none'%s)$$, verb, rest), '42704', 'exists', 'workflow "none" does not exist', table_ => 'workflow')
from (values ('activate', ''), ('deactivate', ''), ('drop', ''), ('grant', ', ''public'', ''run'''), ('revoke', ', ''public'', ''run''')) v (verb, rest);
select refuses_argument(format($$select scylla.%s_workflow(null%s)$$, verb, rest), 'workflow', 'null', 'It must have 1 to 200 characters.')
from (values ('activate', ''), ('deactivate', ''), ('drop', ''), ('grant', ', ''public'', ''run'''), ('revoke', ', ''public'', ''run''')) v (verb, rest);
select refuses(format($$select scylla.activate_workflow('w', %s)$$, v), '42704', 'version', format('version %s of workflow "w" does not exist', v), table_ => 'workflow')
from unnest('{0,-1,6,2147483647}'::int[]) v;

-- ---- drop ----------------------------------------------------------------------------------------------------------

select scylla.drop_workflow('w') \g /dev/null
select is((select count(*) from scylla.workflow_properties where workflow = 'w') + (select count(*) from scylla.workflow_text where workflow = 'w') + (select count(*) from scylla.workflow_head where id = 'w'), 0::bigint, '[1.6] drop_workflow');
select is((select count(*) from scylla.workflow_dropped), 0::bigint, 'leaves nothing of a workflow without instances');
select refuses(format('select scylla.create_workflow(%L)', pg_temp.document('w', '{}')), '22023', 'definition', 'invalid definition of a workflow: properties: has no "owner"', table_ => 'workflow');
select is(scylla.create_workflow(pg_temp.document('w')), 1, '[1.6] the id can be used again');
update scylla.workflow_head set latest_instance = 41 where id = 'w';
select scylla.drop_workflow('w') \g /dev/null
select is(scylla.create_workflow(pg_temp.document('w')), 1, 'also after instances');
select is((select latest_instance from scylla.workflow where id = 'w'), 41::bigint, '[1.6] which go on where they ended');
select scylla.drop_workflow('w'), scylla.create_workflow(pg_temp.document('w')) \g /dev/null
update scylla.workflow_head set latest_instance = 42 where id = 'w';
select scylla.drop_workflow('w'), scylla.create_workflow(pg_temp.document('w')) \g /dev/null
select is((select latest_instance from scylla.workflow where id = 'w'), 42::bigint, 'again');

-- ---- rights (also rights.sql) --------------------------------------------------------------------------------------

create role scylla_test_group;
create role scylla_test_crew in role scylla_test_group;
grant usage on schema scylla to scylla_test_crew;
grant execute on all functions in schema scylla to scylla_test_crew;
grant select on scylla.workflow, scylla.workflow_version to scylla_test_crew;
create function pg_temp.as_crew(statement text) returns text language plpgsql as $$
declare
    answer text;
begin
    perform set_config('role', 'scylla_test_crew', true);
    begin
        execute statement into answer;
    exception when others then
        answer := sqlstate || ' ' || sqlerrm;
    end;
    perform set_config('role', 'none', true);
    return answer;
end $$;
create function pg_temp.seen() returns text language sql
    return pg_temp.as_crew('select string_agg(w.id || v.version, '','' order by w.id) from scylla.workflow w join scylla.workflow_version v on v.workflow = w.id');
select is(pg_temp.seen(), null, 'a stranger sees no workflow');
select scylla.grant_workflow('w', 'scylla_test_group', 'view'), scylla.grant_workflow('w', 'scylla_test_group', 'view') \g /dev/null
select is((select viewers from scylla.workflow where id = 'w'), '{scylla_test_group}', 'a second grant changes nothing');
select is(pg_temp.seen(), 'w1', 'a member of a role that may see it');
select is(pg_temp.as_crew($$select scylla.activate_workflow('w')$$), '42501 permission denied for workflow "w"', 'may not change it');
select scylla.revoke_workflow('w', 'scylla_test_group', 'view'), scylla.grant_workflow('w', 'scylla_test_crew', 'run') \g /dev/null
select is((select row(viewers, runners)::text from scylla.workflow where id = 'w'), '(,{scylla_test_crew})', 'revoke_workflow');
select is(pg_temp.seen(), 'w1', 'who may run it sees it');
select is(pg_temp.as_crew(format('select scylla.create_workflow(%L)', pg_temp.document('w'))), '42501 permission denied for workflow "w"', 'but makes no version');
select scylla.grant_workflow('w', 'scylla_test_crew', 'admin') \g /dev/null
select is(pg_temp.as_crew(format('select scylla.create_workflow(%L)', pg_temp.document('w'))), '2', 'an admin does');
select is((select w.owner || ' ' || v.author from scylla.workflow w join scylla.workflow_version v on v.workflow = w.id where v.workflow = 'w' and v.version = 2), current_user || ' scylla_test_crew',
          'the owner stays');
select is(pg_temp.as_crew($$select scylla.grant_workflow('w', 'public', 'run') is not null$$), 'true', 'and grants');
select is(pg_temp.as_crew(format('select scylla.create_workflow(%L)', pg_temp.document('crew'))), '1', 'everybody makes workflows');
select is((select owner from scylla.workflow where id = 'crew'), 'scylla_test_crew', 'which belong to who makes them');
select refuses_argument(format($$select scylla.%s_workflow('w', 'public', %L)$$, f, p), 'privilege', coalesce('"' || p || '"', 'null'), 'It must be "run", "view" or "admin".')
from unnest(array['grant', 'revoke']) f, unnest(array['submit', null]) p;
select refuses($$select scylla.grant_workflow('w', 'nobody at all', 'run')$$, '42704', 'role', 'role "nobody at all" does not exist', table_ => 'workflow');
select is(raised($$select scylla.revoke_workflow('w', 'nobody at all', 'run')$$), null, 'a role that is gone can be revoked');
select scylla.drop_workflow('w') \g /dev/null

select is_empty('select * from scylla.check()', 'check() finds nothing wrong');
select * from finish();
rollback;
