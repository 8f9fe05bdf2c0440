-- Events of workflows: what read_workflow_events() shows, and what it refuses. What other transactions do meanwhile is in
-- test/specs/workflow_events.spec. Numbers in brackets are sections of the specification of Maestro's behaviour.
begin;
\ir include/helpers.psql
\ir include/workflows.psql
select * from no_plan();
select scylla.create_queue('a'), scylla.create_queue('b') \g /dev/null

select signature_is('read_workflow_events', 'after text DEFAULT NULL::text, max_events integer DEFAULT 1000, OUT cursor text, '
    'OUT "time" timestamp with time zone, OUT workflow text, OUT kind text, OUT instance bigint, OUT run integer, OUT step text, '
    'OUT iterations bigint[], OUT attempt integer, OUT old_status text, OUT status text, OUT version integer', 'SETOF record');

-- What has been recorded since the last call, without times and cursors.
create temp sequence seen;
select setval('seen', 1) \g /dev/null
create function news() returns setof text language plpgsql as $$
declare last bigint := (select last_value from seen);
begin
    perform setval('seen', greatest(last, (select max(id) + 1 from scylla.workflow_event)));
    return query
        select concat_ws(' ', workflow, kind, instance || '/' || run, step || coalesce(iterations::text, ''), attempt, coalesce(old_status || ' ->', ''), status, 'v' || version)
        from scylla.workflow_event where id >= last order by position, id;
end $$;
create function abort_one(queue text default 'a') returns void language plpgsql as $$
declare t scylla.task;
begin
    select * into strict t from scylla.lease(queue, 'w');
    perform scylla.abort(t.rn, 'w', '{"code": "bad", "message": "no good"}');
    perform advance();
end $$;

-- ---- what is recorded (12) ----------------------------------------------------------------------------------------------

select make('quiet', jsonb_build_array(step('s'))), start('quiet'), work(), scylla.deactivate_workflow('quiet') \g /dev/null
select is_empty('select news()', 'nothing of a workflow that has not switched it on');
select make('loud', jsonb_build_array(step('s', '{"t": "true"}'), step('t', '{}', '{}', 'NoOp')), '{}', '{"events": true}') \g /dev/null
select results_eq('select news()', $$values ('loud properties '), ('loud version  v1'), ('loud activated  v1')$$, 'a new workflow');
select scylla.start_workflow('loud') \g /dev/null
select results_eq('select news()', $$values ('loud run 1/1  CREATED v1')$$, 'a run is there');
select advance() \g /dev/null
select results_eq('select news()', $$values ('loud run 1/1 CREATED -> IN_PROGRESS v1'), ('loud step 1/1 s 1  RUNNING v1')$$, 'it begins, and then its steps');
select work() \g /dev/null
select results_eq('select news()', $$values ('loud step 1/1 s 1 RUNNING -> SUCCEEDED v1'), ('loud step 1/1 t 1  SUCCEEDED v1'), ('loud run 1/1 IN_PROGRESS -> SUCCEEDED v1')$$,
                  'it ends after its steps');
select start('loud'), (select count(*) from news()) \g /dev/null
select abort_one() \g /dev/null
select results_eq('select news()', $$values ('loud step 2/1 s 1 RUNNING -> FATALLY_FAILED v1'), ('loud run 2/1 IN_PROGRESS -> FAILED v1')$$, 'a failure');
select scylla.restart_run('loud', 2), advance() \g /dev/null
select results_eq('select news()', $$values ('loud run 2/2  CREATED v1'), ('loud run 2/2 CREATED -> IN_PROGRESS v1'), ('loud step 2/2 s 2 FATALLY_FAILED -> RUNNING v1')$$,
                  'a restart: another run, another attempt');
select scylla.stop_run('loud', 2), advance() \g /dev/null
select results_eq('select news()', $$values ('loud step 2/2 s 2 RUNNING -> STOPPED v1'), ('loud run 2/2 IN_PROGRESS -> STOPPED v1')$$, 'a stop');

select make('loop', jsonb_build_array(each('each', 2, jsonb_build_array(step('in', '{}', '{"retry_policy": {"error_retry_limit": 1, "backoff": {"type": "FIXED_BACKOFF", "error_retry_backoff_in_secs": 600}}}', 'B')))), '{}', '{"events": true}') \g /dev/null
select start('loop'), (select count(*) from news()) \g /dev/null
select break('b', '{"code": "x"}') \g /dev/null
select results_eq('select news()', $$values ('loop step 1/1 in{1} 1 RUNNING -> USER_FAILED v1')$$, 'a step in a loop, which is to be tried again');
select scylla.stop_run('loop', 1), advance() \g /dev/null
select set_eq('select news()', $$values ('loop step 1/1 in{1} 1 USER_FAILED -> STOPPED v1'), ('loop step 1/1 in{2} 1 RUNNING -> STOPPED v1'),
                  ('loop step 1/1 each 1 RUNNING -> STOPPED v1'), ('loop run 1/1 IN_PROGRESS -> STOPPED v1')$$, 'what is stopped inside of a loop');

-- Strategies that end a run at its start.
select make('first', jsonb_build_array(step('s')), '{}', '{"events": true, "run_strategy": "first_only"}') \g /dev/null
select scylla.start_workflow('first'), scylla.start_workflow('first') \g /dev/null
select ok(array(select news()) @> '{first run 2/1  STOPPED v1}', 'a run that ends with its start');

-- A run about which the engine comes to an error.
select advance(), (select count(*) from news()) \g /dev/null
update scylla.workflow_step_state s set status = 'NONSENSE' from scylla.workflow_run_state r where r.id = s.root and r.workflow = 'first';
select scylla.stop_run('first', 1) \g /dev/null
set local client_min_messages = error;
select advance(), advance() \g /dev/null
reset client_min_messages;
select set_eq('select news()', $$values ('first run 1/1 IN_PROGRESS -> FAILED v1'), ('first step 1/1 s 1 NONSENSE -> INTERNALLY_FAILED v1')$$, 'a run that is broken');

-- ---- changes of the workflow (12) ---------------------------------------------------------------------------------------

select scylla.alter_workflow('quiet', '{"events": true}') \g /dev/null
select results_eq('select news()', $$values ('quiet properties ')$$, 'switching it on is an event');
select scylla.alter_workflow('quiet', '{"events": true}'), scylla.alter_workflow('quiet', '{"step_concurrency": 3}'), scylla.activate_workflow('quiet'),
       scylla.deactivate_workflow('quiet') \g /dev/null
select results_eq('select news()', $$values ('quiet properties '), ('quiet activated  v1'), ('quiet deactivated ')$$, 'properties that change, activation, deactivation');
select make('quiet', jsonb_build_array(step('s'))) \g /dev/null
select results_eq('select news()', $$values ('quiet properties '), ('quiet version  v2'), ('quiet activated  v2')$$, 'a push without the property leaves it on');
select scylla.alter_workflow('quiet', '{"events": false}'), start('quiet') \g /dev/null
select results_eq('select news()', $$values ('quiet properties ')$$, 'switching it off is the last one');
select scylla.alter_workflow('quiet', '{"events": true}'), work() \g /dev/null
select results_eq('select news()', $$values ('quiet properties '), ('quiet step 2/1 s 1 RUNNING -> SUCCEEDED v2'), ('quiet run 2/1 IN_PROGRESS -> SUCCEEDED v2')$$,
                  'switching it on is for runs that go on, too');
select scylla.drop_workflow('quiet') \g /dev/null
select results_eq('select news()', $$values ('quiet dropped ')$$, 'a drop');
select is((select problem from scylla.validate_workflow('{"properties": {"owner": "ada", "events": 3}, "workflow": {"id": "x", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}')),
          'must be true or false', 'the property is true or false');
savepoint s;
select scylla.start_workflow('loud') \g /dev/null
rollback to s;
select is_empty($$select from scylla.workflow_event where workflow = 'loud' and instance = 3$$, 'what is rolled back has none');

-- ---- reading -------------------------------------------------------------------------------------------------------------

select is_empty('select * from scylla.read_workflow_events()', 'events of the own transaction, which has not ended, are not shown');
-- As if others had written them long ago.
update scylla.workflow_event set position = 10 + id - (select min(id) from scylla.workflow_event);
select results_eq('select row(cursor, "time", workflow, kind, instance, run, step, iterations, attempt, old_status, status, version)::text from scylla.read_workflow_events()',
    $$select row(position || '-' || id, "time", workflow, kind, instance, run, step, iterations, attempt, old_status, status, version)::text from scylla.workflow_event order by position, id$$,
    'read_workflow_events() shows them in order');
create function read_all(step int) returns setof text language plpgsql as $$
declare place text; e record; found_one boolean;
begin
    loop
        found_one := false;
        for e in select * from scylla.read_workflow_events(place, step) loop
            found_one := true;
            place := e.cursor;
            return next place;
        end loop;
        exit when not found_one;
    end loop;
end $$;
select results_eq('select read_all(3)', $$select position || '-' || id from scylla.workflow_event order by position, id$$, 'portion by portion');
select throws_ok('select * from scylla.read_workflow_events(null, 0)', '22023', 'invalid value for argument "max_events": 0');
select throws_ok(format('select * from scylla.read_workflow_events(%L)', c), '22023', format('invalid value for argument "after": "%s"', c))
from unnest(array['', 'x', '1', '1-', '-1-2', '1-2-3', '9223372036854775807-1', '99999999999999999999-1']) c;
select is((select cursor from scylla.read_workflow_events(null, null) limit 1), (select position || '-' || id from scylla.workflow_event order by position, id limit 1),
          'null is the default');

-- Who sees what: also what there are many of between.
create role scylla_test_reader;
grant usage on schema scylla to scylla_test_reader;
grant execute on function scylla.read_workflow_events to scylla_test_reader;
insert into scylla.workflow_event (position, "time", owner, kind, workflow) select 5, now(), current_user, 'run', 'loud' from generate_series(1, 2500);
select scylla.grant_workflow('loop', 'scylla_test_reader', 'view') \g /dev/null
set local role scylla_test_reader;
select results_eq('select distinct workflow from scylla.read_workflow_events()', $$values ('loop')$$, 'those of workflows that the caller may view');
select is((select count(*) from scylla.read_workflow_events(max_events => 3)), 3::bigint, '... so many of them');
reset role;
update scylla.workflow_event set owner = 'scylla_test_reader' where workflow = 'quiet';
select scylla.revoke_workflow('loop', 'scylla_test_reader', 'view') \g /dev/null
set local role scylla_test_reader;
select results_eq('select distinct workflow from scylla.read_workflow_events()', $$values ('quiet')$$, '... and, of a workflow that is gone, its owner');
reset role;

-- ---- their end -----------------------------------------------------------------------------------------------------------

update scylla.workflow_event set "time" = now() - interval '8 days' where workflow in ('loud', 'quiet');
select scylla.maintain() \g /dev/null
select is((select count(*) from scylla.workflow_event where "time" < now() - interval '7 days' and position = 5), 0::bigint, 'events are removed after scylla.event_retention');
select is((select count(*) from scylla.workflow_event where workflow = 'loop'), (select count(*) from scylla.workflow_event where "time" > now() - interval '1 day' and workflow = 'loop'),
          '... and no others');

select all_is_sound();
select * from finish();
rollback;
