-- Signals and workflows (7.3): triggers that start runs.
-- Numbers in brackets are sections of the specification of Maestro's behaviour.
begin;
\ir include/helpers.psql
select * from no_plan();

create function make(id text, triggers jsonb, more jsonb = '{}', properties jsonb = '{}', activate boolean = true) returns int language sql as $$
    select scylla.create_workflow(jsonb_build_object('properties', '{"owner": "ada", "run_strategy": "parallel"}' || properties,
        'workflow', jsonb_build_object('id', id, 'signal_triggers', triggers, 'steps', '[{"step": {"id": "s", "type": "NoOp"}}]'::jsonb) || more), activate)
$$;
create function send(name text, params jsonb = '{}') returns bigint language sql as $$ select scylla.send_signal(name, params) $$;
create function run() returns void language sql as $$ select scylla.maintain() $$;
-- The parameter x of the runs of a workflow.
create function runs(of text) returns text language sql as $$
    select coalesce(string_agg(coalesce(params ->> 'x', status), ', ' order by instance), 'none') from scylla.workflow_run where workflow = of
$$;
create function fired(of text) returns text language sql as $$
    select string_agg(format('%s fired, %s skipped, %s waiting, %s failing', fired, skipped, waiting, failing), '; ') from scylla.trigger where action ->> 'workflow' = of
$$;

-- ---- one signal ----------------------------------------------------------------------------------------------------

select send('db/t', '{"day": 1, "n": 9}') \g /dev/null
select is(make('one', '[{"definitions": {"db/t": {"match_params": {"day": {"value": 1, "operator": "="}, "n": {"value": 5, "operator": ">"}}}},
                         "params": {"x": {"type": "STRING", "expression": "''n='' + params.getFromSignal(''db/t'', ''n'')"}}}]',
                '{"params": {"x": {"type": "STRING", "value": "none"}, "day": {"type": "LONG", "value": 0}}}'), 1, '[7.3] a workflow with a signal trigger');
select is((select array[owner::text, signals::text, condition::text, paused::text] from scylla.trigger where name ~ '^workflow:one/[0-9a-f]{16}$'),
          array[current_user::text, '[{"match": {"n": {">": 5}, "day": 1}, "signal": "db/t"}]', null, 'false'], '[7.3] is a trigger of its owner');
select is((select action ->> 'workflow' from scylla.trigger), 'one', 'which starts the workflow');
select run() \g /dev/null
select is(runs('one'), 'none', '[7.3] earlier signals do not count');
select send('db/t', '{"day": 1, "n": 6}'), send('db/t', '{"day": 1, "n": 5}'), send('db/t', '{"day": 2, "n": 6}'), send('db/t', '{"day": 1, "n": "6"}'), send('db/t', '{"day": 1, "n": 7, "z": 1}') \g /dev/null
select run() \g /dev/null
select is(runs('one'), 'n=6, n=7', '[7.3] each signal that matches starts a run, with the parameters of the trigger');
select run() \g /dev/null
select is(fired('one'), '2 fired, 0 skipped, 0 waiting, 0 failing', 'once');
select is((select initiator #- '{signals,db/t,seq}' #- '{trigger}' from scylla.workflow_run where workflow = 'one' and instance = 1),
          '{"type": "SIGNAL", "signals": {"db/t": {"params": {"n": 6, "day": 1}}}}', '[7.3] the initiator has the signals');
select is((select (initiator #>> '{signals,db/t,seq}')::bigint from scylla.workflow_run where workflow = 'one' and instance = 1),
          (select min(seq) from scylla.signal where params @> '{"day": 1, "n": 6}'), 'by their numbers');
select scylla._advance() \g /dev/null
select is((select status from scylla.workflow_run where workflow = 'one' and instance = 1), 'SUCCEEDED', 'it runs');

select refuses($$select scylla.drop_trigger((select name from scylla.trigger limit 1))$$, '55000', 'workflow',
               format('trigger "%s" belongs to a workflow', (select name from scylla.trigger limit 1)), table_ => 'trigger');
select refuses_argument($$select scylla.create_trigger('workflow:x', '[{"signal": "a"}]', '{"submit": {"queue": "q", "spec": 1}}')$$, 'name', '"workflow:x"', 'Names with "workflow:" are for workflows.');

-- ---- what runs read of signals ---------------------------------------------------------------------------------------

select make('read', '[{"definitions": {"first": {}, "second": {}}}]',
            '{"params": {"x": {"type": "STRING", "value": "$first__a ${second__b}"}, "y": {"type": "LONG", "expression": "params.getFromSignal(''b'') + 1"},
                         "z": {"type": "STRING", "expression": "params.getFromSignalOrDefault(''first'', ''gone'', ''not there'')"}},
              "steps": [{"step": {"id": "s", "type": "NoOp", "params": {"of_step": {"type": "STRING", "value": "${first__a}"}, "same": {"type": "LONG", "expression": "params.getFromSignal(''second'', ''b'')"}}}}]}') \g /dev/null
select send('first', '{"a": "A"}'), send('second', '{"b": 5}') \g /dev/null
select run() \g /dev/null
select is((select array[params ->> 'x', params ->> 'y', params ->> 'z'] from scylla.workflow_run where workflow = 'read'), array['A 5', '6', 'not there'],
          '[7.3] parameters of the run');
select scylla._advance() \g /dev/null
select is((select array[params ->> 'of_step', params ->> 'same'] from scylla.workflow_step where workflow = 'read'), array['A', '5'], '[7.3] and of its steps');

-- Booleans as conditions.
select make('yes', '[{"definitions": {"truth": {}}, "condition": true}]'), make('no', '[{"definitions": {"truth": {}}, "condition": false}]') \g /dev/null
select send('truth') \g /dev/null
select run() \g /dev/null
select is(fired('yes'), '1 fired, 0 skipped, 0 waiting, 0 failing', 'a condition may be the boolean true');
select is(fired('no'), '0 fired, 1 skipped, 0 waiting, 0 failing', '... or false, which starts nothing');

-- ---- joins -----------------------------------------------------------------------------------------------------------

select make('join', '[{"definitions": {"a": {"join_keys": ["k"]}, "b": {"join_keys": ["l"]}}, "params": {"x": {"type": "STRING", "value": "$a__k:$b__n"}}}]') \g /dev/null
select send('a', '{"k": "x"}'), send('a', '{"k": "y"}'), send('b', '{"l": "y", "n": 1}') \g /dev/null
select run() \g /dev/null
select is(runs('join'), 'y:1', '[7.3] signals join by their keys');
select send('b', '{"l": "x", "n": 2}') \g /dev/null
select run() \g /dev/null
select is(runs('join'), 'y:1, x:2', '[7.3] and none is lost that waits for another key');

select make('bound', '[{"definitions": {"bs": {}}, "grace": "10 min"}]') \g /dev/null
select is((select grace from scylla.trigger where action ->> 'workflow' = 'bound'), '10 min', 'a signal trigger of a workflow may have a bound on catching up');
select is((select count(*) from scylla.validate_workflow('{"workflow": {"id": "w", "signal_triggers": [{"definitions": {"bs": {}}, "grace": "soon"}], "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}')
           where place = 'workflow.signal_triggers[0].grace'), 1::bigint, '... which is a duration');
select is((select problem from scylla.validate_workflow('{"workflow": {"id": "w", "signal_triggers": [{"definitions": {"bs": {}}, "max_catch_up": 5}], "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}')
           where place = 'workflow.signal_triggers[0].max_catch_up'),
          'is for time triggers: each signal counts; "grace" bounds what an action catches up with', '... and none by number, as each signal counts');

-- ---- condition and dedup_expr ------------------------------------------------------------------------------------------

select make('if', '[{"definitions": {"c": {}}, "condition": "params.getFromSignal(''c'', ''n'') > 2", "params": {"x": {"type": "LONG", "expression": "params.getFromSignal(''c'', ''n'')"}}}]') \g /dev/null
select send('c', '{"n": 2}'), send('c', '{"n": 3}'), send('c', '{"m": 3}') \g /dev/null
select run() \g /dev/null
select is(fired('if'), '2 fired, 1 skipped, 0 waiting, 0 failing', '[7.3] signals whose condition is not met are consumed');
select is(runs('if'), '3, FAILED', '[7.3] one that cannot be evaluated leaves a failed run');
select ok((select error ->> 'message' like 'condition of the trigger: %' from scylla.workflow_run where workflow = 'if' and instance = 2), 'which says so');
select make('dedup', '[{"definitions": {"d": {}}, "dedup_expr": "params.getFromSignal(''d'', ''day'')", "params": {"x": {"type": "STRING", "value": "$d__day $d__n"}}}]') \g /dev/null
select send('d', '{"day": 1, "n": 1}'), send('d', '{"day": 1, "n": 2}'), send('d', '{"day": 2, "n": 3}') \g /dev/null
select run() \g /dev/null
select is(runs('dedup'), '1 1, 2 3', '[7.3] dedup_expr: one run for each value');
select send('d', '{"n": 4}'), send('d', jsonb_build_object('day', repeat('x', 200), 'n', 5)), send('d', jsonb_build_object('day', repeat('x', 200), 'n', 6)) \g /dev/null
select run() \g /dev/null
select is((select count(*) from scylla.workflow_run where workflow = 'dedup'), 4::bigint, '[7.3] without a value each set is one of its own');

-- ---- what cannot be started --------------------------------------------------------------------------------------------

select make('broken', '[{"definitions": {"e": {}}, "params": {"x": {"type": "LONG", "expression": "1 / params.getFromSignal(''e'', ''n'')"}}}]') \g /dev/null
select send('e', '{"n": 0}'), send('e', '{"n": 1}') \g /dev/null
select run() \g /dev/null
select is(runs('broken'), 'FAILED, 1', '[7.3] parameters that cannot be evaluated: the run is kept as a failed one');
select is((select error ->> 'message' from scylla.workflow_run where workflow = 'broken' and instance = 1) like '%division by zero%', true, 'a run whose parameters cannot be evaluated says why');

-- ---- versions and properties ---------------------------------------------------------------------------------------------

create function names(id text) returns text language sql as $$ select string_agg(signals #>> '{0,signal}', ', ' order by signals #>> '{0,signal}') from scylla.trigger where action ->> 'workflow' = id $$;
select make('v', '[{"definitions": {"f": {}, "g": {}}}, {"definitions": {"h": {}}}]') \g /dev/null
select send('f') \g /dev/null
select run() \g /dev/null
select is(names('v'), 'f, h', 'a trigger for each');
select make('v', '[{"definitions": {"f": {}, "g": {}}}, {"definitions": {"i": {}}}]') \g /dev/null
select is(names('v'), 'f, i', '[7.3] a new version has its own triggers');
select send('g'), send('h'), run() \g /dev/null
select is((select count(*) from scylla.workflow_run where workflow = 'v'), 1::bigint, '[7.3] one that is unchanged keeps what has arrived');
select scylla.alter_workflow('v', '{"signal_trigger_disabled": true}') \g /dev/null
select is(names('v'), null, '[7.3] signal_trigger_disabled ends them');
select send('i') \g /dev/null
select scylla.alter_workflow('v', '{"signal_trigger_disabled": false}') \g /dev/null
select is(names('v'), 'f, i', 'until it is taken back');
select run() \g /dev/null
select is((select count(*) from scylla.workflow_run where workflow = 'v'), 1::bigint, 'signals that were sent meanwhile do not count');
select scylla.deactivate_workflow('v') \g /dev/null
select is(names('v'), null, '[7.3] an inactive workflow has none');
select scylla.activate_workflow('v', 1) \g /dev/null
select is(names('v'), 'f, h', 'an active one has those of its version');

-- ---- rights --------------------------------------------------------------------------------------------------------

create role scylla_test_owner;
create role scylla_test_admin;
grant usage on schema scylla to scylla_test_owner, scylla_test_admin;
grant execute on all functions in schema scylla to scylla_test_owner, scylla_test_admin;
grant select on all tables in schema scylla to scylla_test_owner, scylla_test_admin;
grant all on all functions in schema test to public;
set local role scylla_test_owner;
select refuses($$select make('theirs', '[{"definitions": {"c": {}}}]')$$, '42501', 'privilege', 'permission denied for signal "c"',
               'Role "scylla_test_owner" does not have the privilege "wait".', 'the owner must be allowed to wait for the signals', 'signal');
select make('theirs', '[{"definitions": {"mine": {}}}]') \g /dev/null
select scylla.grant_workflow('theirs', 'scylla_test_admin', 'admin') \g /dev/null
set local role scylla_test_admin;
select make('theirs', '[{"definitions": {"mine": {"match_params": {"n": {"value": 1}}}}}]') \g /dev/null
select is(names('theirs'), null, 'the triggers of a workflow are seen by those who have the rights of its owner');
reset role;
select is((select owner from scylla.trigger where action ->> 'workflow' = 'theirs'), 'scylla_test_owner', 'a version of an admin starts runs of the owner');
select send('mine', '{"n": 1}'), run() \g /dev/null
select is((select owner from scylla.workflow_run where workflow = 'theirs'), 'scylla_test_owner', 'they are his');

select scylla._advance() \g /dev/null
select all_is_sound();
update scylla.workflow_head set active_version = 0 where id = 'one';
select is((select what from scylla.check() c (id, what)), format('trigger "%s" is one of workflow "one", which is not active', name), 'check() finds a trigger too many')
from scylla.trigger where action ->> 'workflow' = 'one';
update scylla.workflow_head set active_version = 1 where id = 'one';
select scylla.drop_workflow('one') \g /dev/null
select is(names('one'), null, '[7.3] a workflow that is dropped has none');
select * from finish();
rollback;
