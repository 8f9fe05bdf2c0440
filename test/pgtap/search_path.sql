-- A search_path full of traps changes nothing, not even where the functions parse their statements for the first time
-- in the session. So the traps are laid before anything else happens.
begin;
create schema traps;

-- Objects that bear the names of ours and of what our statements might use. Whoever steps on a function knows.
create function traps.sprung() returns text language plpgsql
    as $$ begin raise exception 'trap' using errcode = 'XX999'; end $$;
create function traps.unnest(anyarray) returns setof anyelement language plpgsql
    as $$ begin perform traps.sprung(); end $$;
create function traps.nextval(regclass) returns bigint language plpgsql as $$ begin perform traps.sprung(); end $$;
create function traps.nextval(text) returns bigint language plpgsql as $$ begin perform traps.sprung(); end $$;
create function traps.clock_timestamp() returns timestamptz language plpgsql as $$ begin perform traps.sprung(); end $$;
create function traps.now() returns timestamptz language plpgsql as $$ begin perform traps.sprung(); end $$;
create function traps.jsonb_concat(jsonb, jsonb) returns jsonb language plpgsql
    as $$ begin perform traps.sprung(); end $$;
create function traps._history(jsonb, text, integer, timestamptz) returns jsonb language plpgsql
    as $$ begin perform traps.sprung(); end $$;
create function traps.array_remove(text[], text) returns text[] language plpgsql
    as $$ begin perform traps.sprung(); end $$;
create domain traps.name as text check (traps.sprung() is null);
create function traps.format(text, variadic "any") returns text language internal as 'text_format';
create function traps.max(bigint) returns bigint language plpgsql as $$ begin perform traps.sprung(); end $$;
do $$
declare
    type text;
    operator text;
begin
    foreach type in array array['text', 'int4', 'int8', 'int2', 'jsonb', 'timestamptz', 'float4', 'interval',
                                'scylla.task_status'] loop
        execute format('create function traps.compare(%s, %1$s) returns bool language plpgsql as '
                       '$f$ begin perform traps.sprung(); end $f$', type);
        foreach operator in array array['=', '<>', '<', '<=', '>', '>='] loop
            execute format('create operator traps.%s (leftarg = %s, rightarg = %2$s, function = traps.compare)',
                           operator, type);
        end loop;
    end loop;
end $$;
create function traps.join_(text, text) returns text language plpgsql as $$ begin perform traps.sprung(); end $$;
create operator traps.|| (leftarg = text, rightarg = text, function = traps.join_);
create table traps.queue (id int, name text);
create table traps.task_spec (id bigint, rn text);
create table traps.task_ready (id bigint);
create table traps.task (rn text);
create type traps.task_status as enum ('trapped');
create sequence traps.task_id_seq;
create temp table queue (id int, name text);
create temp table task_spec (id bigint, rn text);
create temp table task_outcome (id bigint);
create temp table task (rn text);
create temp table pg_class (oid oid);
create temp table pg_namespace (oid oid);

-- What a life of tasks comes to; nothing is written that would step on a trap itself.
create function traps.life() returns text language plpgsql as $$
declare
    t scylla.task;
    n bigint;
    grants text;
    log text[];
begin
    perform scylla.create_queue('sp made', '1 min', '1 day');
    t := scylla.submit('sp', '{"a": 1}', rn => 'sp1');                          log := array_append(log,
    t.status::text);
    t := scylla.submit('sp', '{"a": 1}', rn => 'sp1', on_duplicate => 'ignore'); log := array_append(log,
    t.status::text);
    perform scylla.submit_many('[{"queue": "sp", "spec": 1, "rn": "sp2", "not_before": "2300-01-01"},
                                 {"queue": "sp many", "spec": 1, "rn": "sp1"}]');
    t := scylla.get_task('sp2');                                                log := array_append(log,
    t.status::text);
    perform scylla.submit_bulk('sp bulk', array['1', '2']::jsonb[], array['sp3', 'sp4']);
    select * into t from scylla.lease('sp', 'w');                               log := array_append(log, t.rn);
    t := scylla.heartbeat('sp1', 'w', 0.5, '1 h', 1);                           log := array_append(log,
    t.progress::text);
    t := scylla.yield('sp1', 'w');                                              log := array_append(log,
    t.status::text);
    t := scylla.lease_task('sp1', 'w');                                         log := array_append(log,
    t.attempt::text);
    t := scylla.fail('sp1', 'w', '{"code": "x"}', '0');                         log := array_append(log,
    t.failures::text);
    t := scylla.lease_task('sp1', 'w');
    t := scylla.abort('sp1', 'w', '{"code": "y"}');                             log := array_append(log,
    t.status::text);
    perform scylla.lease('sp bulk', 'w', 2);
    perform scylla.heartbeat_many('{sp3,sp4}', 'w', '1 h', '{1,1}');
    perform scylla.complete_many('{sp3}', 'w', array['1']::jsonb[], '{1}');
    perform scylla.complete_and_lease('{sp4}', 'w', 'sp bulk', results => array['1']::jsonb[]);
    t := scylla.cancel('sp2');                                                  log := array_append(log,
    t.status::text);
    n := scylla.reset_expired();                                                log := array_append(log, n::text);
    n := scylla.purge();                                                        log := array_append(log, n::text);
    perform scylla.maintain();
    perform scylla.register_worker();
    perform scylla.schedule('sp', '0 * * * *', 'sp', '{"a": 1}', overlap => 'replace', planned_key => 'p', jitter => '1 s');
    n := scylla.run_schedules();                                                log := array_append(log, n::text);
    select pg_catalog.count(*) into n from scylla.schedules;                    log := array_append(log, n::text);
    perform scylla.arm_schedules();
    perform scylla.unschedule('sp');
    perform scylla.grant_queue('sp', 'public', 'view');
    perform scylla.grant_queue('sp', 'pg_monitor', 'view'), scylla.grant_queue('sp', 'pg_monitor', 'view');
    perform scylla.grant_queue('sp', 'pg_monitor', 'work'), scylla.revoke_queue('sp', 'pg_monitor', 'work');
    perform scylla.revoke_queue('sp', 'public', 'view');
    perform scylla.set_queue_owner('sp', current_user::text);
    perform scylla.create_plan('sp plan'), scylla.set_plan_owner('sp plan', current_user::text),
            scylla.submit('sp', '1', plan => 'sp plan', rn => 'sp member'), scylla.open_plan('sp plan'),
            scylla.submit('sp', '1', plan => 'sp plan', rn => 'sp dependant', depends_on => '{sp member}', dedup_key => 'sp'),
            scylla.cancel('sp member'), scylla.create_plan('sp other'), scylla.cancel_plan('sp other');
    log := array_append(log, scylla.plan_completed('sp plan')::text);
    select pg_catalog.string_agg(privilege, ',') into strict grants from scylla.queue_grants where queue operator(pg_catalog.=) 'sp';
    log := array_append(log, grants);
    perform from scylla.list_tasks('sp', 'ready');
    select pg_catalog.count(*) into n from scylla.list_tasks();                 log := array_append(log, n::text);
    select pg_catalog.count(*) into n from scylla.task;                         log := array_append(log, n::text);
    perform scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "sp", "steps": [
        {"foreach": {"id": "l", "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": [1, 2]}}}},
                     "steps": [{"step": {"id": "s", "type": "Trapped", "retry_policy": {"error_retry_limit": 1}}}]}},
        {"subworkflow": {"id": "c", "params": {"subworkflow_id": {"type": "STRING", "value": "sp"}}}}]}}'::pg_catalog.jsonb);
    perform scylla.start_workflow('sp', request_id => 'sp'), scylla.start_workflow('sp', request_id => 'sp'), scylla._advance();
    perform scylla.fail(rn, 'w', '{"code": "x"}') from scylla.lease('trapped', 'w');
    perform scylla._advance(), scylla.skip_step('sp', 1, 's', '{1}'), scylla.stop_run('sp', 1), scylla._advance(), scylla.stop_workflow('sp'), scylla.unblock_workflow('sp');
    perform scylla.pause_workflow('sp'), scylla.set_breakpoint('sp', 's'), scylla.start_workflow('sp'), scylla._advance();
    perform scylla.resume_workflow('sp'), scylla._advance(), scylla.pause_step('sp', 2, 's', '{1}'), scylla.resume_step('sp', 2, 's', '{1}'), scylla._advance();
    perform scylla.drop_breakpoint('sp', 's', resume => true), scylla._advance(), scylla.stop_run('sp', 2), scylla._advance();
    perform scylla.preview_backfill('sp', '[{}]'), scylla.resume_backfill(scylla.backfill('sp', '{"n": [1, 2, 3]}')), scylla._advance();
    perform scylla.pause_backfill(b.id), scylla.cancel_backfill(b.id, true), scylla._advance() from (select scylla.backfill('sp', '{"n": ["x", 2]}') as id) b;
    select pg_catalog.string_agg(status, ',' order by instance) into strict grants from scylla.workflow_run; log := array_append(log, grants);
    select pg_catalog.count(*) into n from scylla.check();                      log := array_append(log, n::text);
    return array_to_string(log, ' ');
end $$;
grant usage on schema traps to public;

-- As somebody who has all functions, and in the search_path nothing but traps.
create role scylla_test_role;
grant usage on schema scylla to scylla_test_role;
grant execute on all routines in schema scylla to scylla_test_role;
grant select on scylla.task, scylla.schedules, scylla.queue_grants, scylla.workflow_run to scylla_test_role;
set local scylla.schedules = manual;
set local search_path = pg_temp, traps, pg_catalog;
set local role scylla_test_role;
create temp table came_to on commit drop as select traps.life() as what;
reset role;
set local search_path = traps, pg_temp, pg_catalog, scylla;
create temp table sound on commit drop as select pg_catalog.count(*) as problems from scylla.check();

\ir include/helpers.psql
select * from no_plan();
select is(what, 'ready ready waiting sp1 0.5 ready 2 1 aborted cancelled 0 0 0 1 false owner,view 6 6 STOPPED,STOPPED,IN_PROGRESS,CREATED,CREATED,STOPPED 0',
          'a life of tasks among traps comes to what it always comes to') from came_to;
select is(problems, 0::bigint, 'check() is not deceived') from sound;
select results_eq($$select rn, status from scylla.task where queue <> 'trapped' order by rn$$,
                  $$values ('sp dependant', 'aborted'::scylla.task_status), ('sp member', 'cancelled'), ('sp1', 'aborted'), ('sp2', 'cancelled'), ('sp3', 'completed'),
                  ('sp4', 'completed')$$, 'and the tasks are where they belong');
select is(pg_catalog.count(*), 0::bigint, 'nothing went into the traps')
from (select from traps.queue union all select from traps.task_spec union all select from pg_temp.queue union all select
      from pg_temp.task_spec) t;
create function step_on(statement text) returns text language plpgsql set search_path = traps, pg_catalog
    as $$ begin execute statement; return 'not sprung'; exception when others then return sqlstate; end $$;
select is(step_on(statement), 'XX999', 'the trap works: ' || statement)
from unnest(array[$$select 'a'::text < 'b'::text$$, 'select 1 = 1', $$select nextval('x'::text)$$,
                  'select unnest(array[1])', 'select now()']) statement;
select all_is_sound();
select * from finish();
rollback;
