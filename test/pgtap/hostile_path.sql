-- Every function and every view, called with a search_path in which every operator, function, aggregate, type and relation of the server
-- has been replaced for every pair of types: none of them runs as anybody else than the caller. In a database of its own, so that
-- transactions commit and what runs at their end runs too.
-- preloaded only: the monitor advances runs between the calls.
create database hostile_path;
\c hostile_path
set client_min_messages = error;
\set ON_ERROR_STOP 1
create extension pgtap;
create extension scylla;
\ir include/traps.psql

create role path_caller login;
create role path_monitor in role pg_monitor;
create role path_other;
grant usage on schema scylla to path_caller;
grant execute on all routines in schema scylla to path_caller;
do $$
declare v regclass;
begin
    for v in select oid from pg_class where relnamespace = 'scylla'::regnamespace and relkind = 'v' loop
        execute format('grant select on %s to path_caller, path_monitor', v);
    end loop;
end $$;
-- What a caller may have written: it is resolved before anything runs as another role.
create function public.every_id(args jsonb) returns setof bigint language sql as 'select 1::bigint union select 5';
create function public.handle(task scylla.task) returns jsonb language sql as $$ select '{"ok": true}'::jsonb $$;

create table traps.call (round int, n int generated always as identity, call text, keep boolean);
create table traps.made (round int, n int, state text, message text);
grant select on traps.call to public;
grant insert, select on traps.made to public;
-- patient: what cannot be done yet is tried again; the monitor works here, too.
create function traps.attempt(round int, n int, call text, keep boolean, patient boolean) returns void language plpgsql as $$
declare
    state pg_catalog.text;
    message pg_catalog.text;
begin
    for i in 1 .. 600 loop
        begin
            execute call;
            state := '00000';
            if not keep then
                raise exception 'not to be kept' using errcode = 'ZZ000';
            end if;
        exception when others then
            state := sqlstate;
            message := sqlerrm;
        end;
        exit when not patient or state <> '55000';
        perform pg_catalog.pg_sleep(0.1);
    end loop;
    insert into traps.made values (round, n, state, message);
end $$;
grant execute on function traps.attempt to public;

-- ---- real data ---------------------------------------------------------------------------------------------------------------

-- A life of everything that there is, to be called in this order; # stands for the round.
create function traps.life() returns setof text language sql as $life$ select * from unnest(array[
    $$scylla.create_queue('q#', max_running_per_key => 5, max_depth => 1000, rate => '{"tasks": 100000, "per": "1 s"}', events => true, notify => true, run_timeout => '1 day')$$,
    $$scylla.create_queue('h#', handler => 'public.handle')$$, $$scylla.create_queue('a#'), scylla.create_queue('check#')$$,
    $$scylla.alter_queue('q#', '{"key_weights": {"k": 2}, "retry": {"initial": "1 s"}}')$$,
    $$scylla.grant_queue('q#', 'path_other', p) from pg_catalog.unnest('{submit,work,view,depend,admin}'::pg_catalog._text) p$$,
    $$scylla.revoke_queue('q#', 'path_other', p) from pg_catalog.unnest('{submit,work,view,depend}'::pg_catalog._text) p$$,
    $$scylla.submit('q#', '{"a": 1}', rn => 'one#', dedup_key => 'd', key => 'k', dedup_for => '1 h', expected_runtime => '1 s')$$,
    $$scylla.submit('q#', '{"a": 2}', rn => 'two#', dedup_key => 'e', debounce => '1 s', on_duplicate => 'replace')$$,
    $$scylla.submit_many('[{"queue": "q#", "spec": 1, "rn": "three#", "max_attempts": 1}, {"queue": "q#", "spec": 1, "rn": "four#", "depends_on": ["three#"]}]')$$,
    $$scylla.submit_bulk('q#', '{1,2}', '{five#,six#}')$$,
    $$scylla.create_plan('plan#', '{"why": 1}')$$,
    $$scylla.submit('q#', '1', plan => 'plan#', rn => 'member#')$$, $$scylla.submit('q#', '1', plan => 'plan#', rn => 'member2#', depends_on => '{member#}')$$,
    $$scylla.open_plan('plan#')$$,
    $$scylla.lease_task('one#', 'w'), scylla.heartbeat('one#', 'w', 0.5)$$, $$scylla.heartbeat_many('{one#}', 'w')$$,
    $$scylla.complete('one#', 'w', '{"r": 1}', '{"m": 1}')$$, $$scylla.lease_task('three#', 'w'), scylla.fail('three#', 'w', '{"code": "x"}')$$,
    $$scylla.lease_task('five#', 'w'), scylla.defer('five#', 'w', '[{"check": {"queue": "check#", "spec": 1}}]', '{"s": 1}')$$,
    $$scylla.not_yet(rn, 'w', '1 h') from scylla.lease('check#', 'w')$$,
    $$scylla.lease_task('six#', 'w'), scylla.yield('six#', 'w')$$,
    $$scylla.resubmit('three#', 'again#')$$, $$scylla.resubmit_many('q#', preview => true)$$, $$scylla.resubmit_matching('{"queue": "q#"}', preview => true)$$,
    $$scylla.lease_task('member#', 'w'), scylla.abort('member#', 'w', '{"code": "y"}')$$, $$scylla.rerun_plan('plan#', true, 'rerun#')$$,
    $$scylla.create_callback('call#', '1 day'), scylla.create_callback('other#')$$,
    $$scylla.submit('q#', '1', rn => 'waits#', wait_for => '[{"callback": "call#"}, {"signal": "s#", "match": {"n": 1, "m": {">": 2}}, "timeout": "1 h"}]')$$,
    $$scylla.submit('q#', '1', rn => 'checks#', wait_for => '[{"check": {"queue": "check#", "spec": 2, "every": "1 h"}}]')$$,
    $$scylla.explain_waiting('waits#')$$,
    $$scylla.create_trigger('t#', '[{"signal": "s#", "join": ["n"]}, {"signal": "r#", "join": ["n"]}]', '{"submit": {"queue": "q#", "spec": 1}}', '$[0].params.n > 0')$$,
    $$scylla.create_trigger('fails#', '[{"signal": "s#"}]', '{"submit": {"queue": "q#", "spec": 1, "depends_on": ["one#"]}}'), scylla.delete_task('one#')$$,
    $$scylla.send_signal('s#', '{"n": 1, "m": 3}', '{"p": 1}', 'first#'), scylla.send_signal('r#', '{"n": 1}')$$, $$scylla.send_signal('s#', '{"n": 1, "m": 3}', '{"p": 1}', 'first#')$$,
    $$scylla.submit('q#', '1', wait_for => '[{"signal": "s#", "match": {"n": 1}, "since": "2020-01-01"}]')$$, $$scylla.maintain()$$,
    $$scylla.grant_signal('s#', 'path_other', p) from pg_catalog.unnest('{send,wait,admin}'::pg_catalog._text) p$$,
    $$scylla.revoke_signal('s#', 'path_other', p) from pg_catalog.unnest('{send,wait,admin}'::pg_catalog._text) p$$,
    $$scylla.set_signal_owner('s#', 'path_caller')$$, $$scylla.resolve_callback('call#', '{"v": 1}'), scylla.reject_callback('other#', '{"code": "z"}')$$,
    $$scylla.pause_trigger('t#'), scylla.resume_trigger('t#'), scylla.clear_trigger('t#')$$,
    $$scylla.create_pool('p#', '{"gpus": 4, "memory": 8.5}', 'backfill', '{"metrics_max_age": "1 h"}')$$, $$scylla.alter_pool('p#', '{"policy": "greedy", "max_bypass": 3}')$$,
    $$scylla.grant_pool('p#', 'path_other', p) from pg_catalog.unnest('{use,report,admin}'::pg_catalog._text) p$$,
    $$scylla.revoke_pool('p#', 'path_other', p) from pg_catalog.unnest('{use,report,admin}'::pg_catalog._text) p$$,
    $$scylla.report_usage('p#', '{"gpus": 1}')$$, $$scylla.submit('q#', '1', g::pg_catalog.int4, needs => '{"p#": {"gpus": 2}}') from pg_catalog.generate_series(1, 4) g$$,
    $$scylla.place('p#')$$, $$scylla.list_pool_queue('p#')$$, $$scylla.drain_pool('p#'), scylla.resume_pool('p#')$$,
    $$scylla.schedule('sch#', '* * * * *', 'q#', '{"a": 1}', overlap => 'replace', planned_key => 'p', jitter => '1 s')$$,
    $$scylla.schedule_plan('schp#', '0 * * * *', '[{"queue": "q#", "spec": 1}]')$$,
    $$scylla.run_schedules(), scylla.arm_schedules()$$,
    $$scylla.define_job('source#', 'q#', '{"chunk_size": 2}')$$,
    $$scylla.define_job('job#', 'q#', '{"chunk_size": 3, "select_work": "public.every_id"}', '[{"job": "source#", "max_lag": "1 day"}]')$$,
    $$scylla.grant_job('job#', 'path_other', 'run')$$,
    $$scylla.revoke_job('job#', 'path_other', 'run')$$,
    $$scylla.mark_fresh('source#', '{[1,3)}')$$, $$scylla.run_job('job#', '{[1,10)}', options => '{"plan": "jp#"}')$$, $$scylla.run_job('job#')$$, $$scylla.explain_job('job#', '{[1,5)}')$$,
    $$scylla.complete(rn, 'w') from scylla.lease('q#', 'w', 3)$$, $$scylla.forget_freshness('source#', '{[1,2)}')$$,
    $$scylla.schedule_job('schj#', '0 0 1 1 *', 'job#', '{[1,2)}')$$,
    $$scylla.create_job_template('{"job_type": "jt#", "type": "A#", "params": {"cluster": {"type": "STRING", "value": "small"}}}')$$,
    $$scylla.create_workflow('{"properties": {"owner": "ada", "tags": ["x"], "run_strategy": "parallel", "step_concurrency": 3}, "workflow": {"id": "wf#",
        "params": {"n": {"type": "LONG", "value": 2}}, "steps": [
        {"step": {"id": "a", "type": "A#", "params": {"o": {"type": "LONG", "value": 0}}, "signal_dependencies": [{"name": "s#", "match_params": {"n": {"param": {"type": "LONG", "value": 1}, "operator": "="}}}],
            "signal_outputs": [{"name": "out#", "params": {"n": {"type": "LONG", "value": 1}}}], "transition": {"successors": {"l": "n > 1"}}}},
        {"foreach": {"id": "l", "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": [1, 2]}}}},
            "transition": {"successors": {"c": "true"}}, "steps": [{"step": {"id": "s", "type": "A#", "params": {"o": {"type": "LONG", "value": 0}}, "retry_policy": {"error_retry_limit": 1}}}]}},
        {"subworkflow": {"id": "c", "params": {"subworkflow_id": {"type": "STRING", "value": "sub#"}}}}]}}')$$,
    $$scylla.create_workflow('{"properties": {"owner": "ada"}, "workflow": {"id": "sub#", "time_triggers": [{"type": "CRON", "cron": "0 3 * * *"}],
        "signal_triggers": [{"definitions": {"s#": {}}}], "steps": [{"step": {"id": "a", "type": "A#", "params": {"o": {"type": "LONG", "value": 0}}}}]}}')$$,
    $$scylla.create_workflow('{"properties": {"owner": "ada"}, "workflow": {"id": "sub#", "steps": [{"step": {"id": "a", "type": "A#", "sub_type": "jt#", "params": {"o": {"type": "LONG", "value": 0}}}}]}}')$$,
    $$scylla.grant_workflow('wf#', 'path_other', p) from pg_catalog.unnest('{run,view,admin}'::pg_catalog._text) p$$,
    $$scylla.revoke_workflow('wf#', 'path_other', p) from pg_catalog.unnest('{run,view,admin}'::pg_catalog._text) p$$,
    $$scylla.alter_workflow('wf#', '{"description": "x"}')$$, $$scylla.activate_workflow('wf#', 1)$$, $$scylla.set_breakpoint('wf#', 'c')$$,
    $$scylla.start_workflow('wf#', request_id => 'start#'), scylla.start_workflow('wf#', '{"n": 3}')$$, $$scylla.start_workflows('[{"workflow": "wf#"}, {"workflow": "sub#"}]')$$,
    $$scylla._advance()$$, $$scylla.set_output(rn, '{"o": 1}') from scylla.lease('a#', 'v', 1)$$, $$scylla._advance()$$,
    $$scylla.complete(rn, 'w', '{"params": {"o": 2}}') from scylla.lease('a#', 'w', 2)$$, $$scylla._advance()$$, $$scylla.complete(rn, 'w') from scylla.lease('a#', 'w', 1)$$, $$scylla._advance()$$,
    $$scylla.fail(rn, 'w', '{"code": "x"}') from scylla.lease('a#', 'w', 1)$$, $$scylla._advance()$$, $$scylla.complete(rn, 'w') from scylla.lease('a#', 'w', 4)$$, $$scylla._advance()$$,
    $$scylla.pause_workflow('wf#'), scylla.resume_workflow('wf#')$$, $$scylla.stop_run('wf#', 2)$$, $$scylla._advance()$$,
    $$scylla.restart_run('wf#', 2)$$, $$scylla._advance()$$, $$scylla.kill_run('wf#', 2)$$, $$scylla._advance()$$,
    $$scylla.preview_backfill('wf#', '[{}]')$$, $$scylla.pause_backfill(scylla.backfill('wf#', '{"n": [1, 2, 3]}', concurrency => 2))$$, $$scylla._advance()$$,
    $$scylla.run_tree('wf#', 1)$$, $$scylla.failed_steps('wf#', 1)$$, $$scylla.explain_run('wf#', 1)$$, $$scylla.run_dot('wf#', 1), scylla.run_mermaid('wf#', 1), scylla.run_gantt('wf#', 1), scylla.lineage_dot('wf#', 1), scylla.lineage_mermaid('wf#', 1)$$,
    $$scylla.read_events()$$, $$scylla.read_workflow_events()$$, $$scylla.metrics()$$, $$scylla.purge(), scylla.reset_expired()$$]) $life$;

-- ---- calls of every function -----------------------------------------------------------------------------------------------------

create function traps.pick(variadic choices text[]) returns text language sql volatile as $$ select choices[1 + floor(random() * array_length(choices, 1))::int] $$;

-- What stands for an argument of this name and type: mostly something that is there.
create function traps.value_of(function text, argument text, type text) returns text language plpgsql volatile as $$
begin
    if random() < 0.04 then
        return null;
    end if;
    return case
        when argument in ('queue', 'queues') then case type when 'text[]' then '{q#,a#}' else traps.pick('q#', 'q#', 'a#', 'h#', 'check#', 'new') end
        when argument = 'rn' then traps.pick('one#', 'three#', 'five#', 'six#', 'waits#', 'checks#', 'member#', 'again#', 'two#', 'new')
        when argument = 'rns' then '{one#,six#,two#,waits#}'
        when argument in ('plan', 'new_plan') then traps.pick('plan#', 'plan#', 'rerun#', 'jp#')
        when argument in ('workflow', 'workflow_id') then traps.pick('wf#', 'wf#', 'wf#', 'sub#')
        when argument in ('instance', 'backfill') then traps.pick('1', '1', '2', '3', '4')
        when argument = 'step' then traps.pick('a', 'l', 's', 'c')
        when argument = 'iterations' then traps.pick(null, '{1}', '{2}')
        when argument in ('job') then traps.pick('job#', 'source#')
        when argument in ('pool', 'of_pool') then 'p#'
        when argument = 'token' then traps.pick('call#', 'other#', 'new')
        when argument = 'job_type' then 'jt#'
        when argument = 'name' then case when function ~ 'trigger' then traps.pick('t#', 'fails#') when function ~ 'signal' then traps.pick('s#', 'r#', 'out#')
            when function ~ 'schedule' then traps.pick('sch#', 'schp#', 'schj#', 'new') when function = 'create_plan' then traps.pick('plan#', 'new') else 'q#' end
        when argument in ('role', 'owner') then traps.pick('path_other', 'path_caller', 'pg_monitor', 'public')
        when argument = 'privilege' then traps.pick('submit', 'work', 'view', 'admin', 'depend', 'run', 'use', 'send', 'wait')
        when argument = 'version' then case type when 'integer' then '1' else traps.pick('active', 'latest', 'default', '1') end
        when argument in ('viewer') then (select oid::text from pg_roles where rolname ~ '^path_' order by random() limit 1)
        when argument = 'scope' or (argument = 'run' and type = 'bigint') then (select id::text from scylla.workflow_run_state order by random() limit 1)
        when argument = 'run' then '1'
        when argument = 'filter' then traps.pick('{"queue": "q#"}', '{"rn_prefix": "t"}', '{"queue": "q#", "status": "ready"}', '{"workflow": "wf#"}', '{}')
        when argument = 'wait_for' then traps.pick('[{"signal": "s#", "match": {"n": 1}}]', '[{"callback": "call#"}]', '[{"task": "two#"}]', '[{"check": {"queue": "check#", "spec": 3}}]')
        when argument = 'needs' then case when function = 'define_job' then traps.pick('[]', '[{"job": "source#", "max_lag": "1 h", "unique": true}]') else '{"p#": {"gpus": 1}}' end
        when argument = 'ids' then '{[1,4),[7,9)}'
        when argument = 'signals' then '[{"signal": "s#"}]'
        when argument = 'action' then '{"submit": {"queue": "q#", "spec": 1}}'
        when argument = 'capacity' then '{"gpus": 3}'
        when argument = 'used' then '{"gpus": 1}'
        when argument = 'changes' then '{"capacity": {"gpus": 5}}'
        when argument = 'items' then traps.pick('[{}]', '{"n": [5, 6]}')
        when argument = 'requests' then '[{"workflow": "wf#"}]'
        when argument = 'tasks' then '[{"queue": "q#", "spec": 1, "dedup_key": "many"}, {"queue": "q#", "spec": 1, "wait_for": [{"signal": "s#"}]}]'
        when argument = 'definition' then case when function ~ 'template' then '{"job_type": "jt#", "type": "B"}' else
            '{"properties": {"owner": "ada"}, "workflow": {"id": "new#", "steps": [{"step": {"id": "a", "type": "A#"}}]}}' end
        when argument = 'error' then '{"code": "x"}'
        when argument = 'cron' then '*/5 * * * *'
        when argument = 'timezone' then 'UTC'
        when argument = 'expression' then 'n + 1'
        when argument = 'template' then 'n is $n'
        when argument = 'params' then '{"n": 1}'
        when argument = 'worker' then traps.pick('w', 'v')
        when argument = 'after' and type = 'text' then null
        when argument = 'handler' then 'public.handle'
        when argument in ('overlap') then traps.pick('allow', 'skip', 'replace')
        when argument = 'catch_up' then traps.pick('none', 'latest', 'all')
        when argument = 'on_dependency_failure' then traps.pick('cascade', 'ignore', 'skip')
        when argument = 'on_duplicate' then traps.pick('error', 'ignore')
        when argument = 'existing' then traps.pick('start', 'skip', 'restart')
        when argument = 'policy' then case when function = 'create_pool' then 'greedy' else traps.pick('RESTART_FROM_BEGINNING', 'RESTART_FROM_INCOMPLETE') end
        when type = 'text' then traps.pick('x', 'k')
        when type = 'text[]' then '{x}'
        when type = 'jsonb' then '{}'
        when type = 'jsonb[]' then '{1,2}'
        when type = 'jsonpath' then '$[0].params.n > 0'
        when type in ('integer', 'bigint') then traps.pick('1', '2', '10')
        when type in ('integer[]', 'bigint[]') then '{1,1}'
        when type = 'boolean' then traps.pick('true', 'false')
        when type = 'interval' then traps.pick('1 day', '1 h')
        when type = 'double precision' then '0.5'
        when type = 'timestamp with time zone' then traps.pick('2020-01-01', 'now')
        when type = 'name' then 'path_caller'
        when type = 'scylla.task_status' then traps.pick('ready', 'aborted')
        when type = 'scylla.task' then null
        else '{}' end;
end $$;

-- Calls of all functions, and looks at all views. What takes away what others need is not kept.
create function traps.make_calls(round int, times int) returns void language sql as $$
    insert into traps.call (round, call, keep)
    select round, call, keep from (
        select format('select * from scylla.%I(%s)', p.proname, string_agg(format('%s%s::%I.%I', case when a.name <> '' then format('%I => ', a.name) end,
                          quote_nullable(replace(traps.value_of(p.proname, coalesce(a.name, ''), format_type(a.type, null)), '#', round::text)), n.nspname, t.typname), ', ' order by a.n)
                          filter (where a.n is not null and (a.n <= p.pronargs - p.pronargdefaults or random() < 0.4))) as call,
               p.proname !~ '^(drop_|kill_|stop_|delete|unschedule|cancel|set_.*_owner|deactivate|clear|_announce|complete|abort|purge)' and random() < 0.5 as keep
        from pg_proc p cross join generate_series(1, times) time (i)
        left join lateral unnest(p.proargtypes::oid[], p.proargnames[1 : p.pronargs]) with ordinality a (type, name, n) on true
        left join pg_type t on t.oid = a.type left join pg_namespace n on n.oid = t.typnamespace
        where p.pronamespace = 'scylla'::regnamespace and p.prokind = 'f' and not 'internal'::regtype = any (p.proargtypes::oid[]) and p.prorettype <> 'event_trigger'::regtype
        group by p.oid, time.i
        union all
        select format('select * from scylla.%I', relname), true from pg_class where relnamespace = 'scylla'::regnamespace and relkind = 'v') c
    order by random()
$$;

\set ON_ERROR_ROLLBACK 0
set search_path = public;
select * from no_plan();
select setseed(0.5) \g /dev/null

-- Round 0 is that of a monitor, who has what the others have left.
select format('insert into traps.call (round, call, keep) select %s, %L || replace(call, %L, %L), true from traps.life() call', round, 'select ', '#', round) from generate_series(1, 2) round \gexec

set traps.caller = 'path_caller';
set session authorization path_caller;
set search_path = traps, pg_catalog;
\o /dev/null
select pg_catalog.format('select traps.attempt(%s, %s, %L, true, true)', round, n, call) from traps.call order by n \gexec
\o
reset session authorization;
set search_path = public;
select is_empty($$select m.state, m.message, c.call from traps.made m join traps.call c using (round, n) where m.state <> '00000'$$, 'a life of everything succeeds among the traps');
select traps.make_calls(1, 4), traps.make_calls(2, 4) \g /dev/null
set session authorization path_caller;
set search_path = traps, pg_catalog;
\o /dev/null
select pg_catalog.format('select traps.attempt(%s, %s, %L, %L, false)', c.round, c.n, c.call, c.keep) from traps.call c
where not exists (select from traps.made m where m.n operator(pg_catalog.=) c.n) order by n \gexec
\o
reset session authorization;
set search_path = public;
-- What is due is done for its owner, whoever asks for it.
set traps.caller = 'postgres';
set search_path = traps, pg_catalog;
\o /dev/null
select scylla._run_schedules_at('2100-01-01');
select scylla.maintain();
select scylla._advance();
select * from scylla.check();
\o
set search_path = public;

select traps.make_calls(0, 1) \g /dev/null
update traps.call set call = regexp_replace(call, '([a-z])0\M', '\11', 'g') where round = 0;
set traps.caller = 'path_monitor';
set session authorization path_monitor;
set search_path = traps, pg_catalog;
\o /dev/null
select pg_catalog.format('select traps.attempt(0, %s, %L, true, false)', n, call) from traps.call where round operator(pg_catalog.=) 0 order by n \gexec
-- Procedures do not run in a function.
set traps.caller = 'path_caller';
reset session authorization;
set session authorization path_caller;
set search_path = traps, pg_catalog;
call scylla.wait('q1', '1 ms');
call scylla.wait_any('{q1,a1}', '1 ms');
call scylla.wait_plan('plan1', '1 ms');
call scylla.work('h1');
call scylla.advance();
\o
reset session authorization;
set search_path = public;

-- ---- what came of it -----------------------------------------------------------------------------------------------------------------

select is_empty('select trap, ran_as from traps.sprung', 'nothing that the caller has made runs as another role');
select is((select is_called from traps.times), false, 'no trap ran as another role, not even in what was rolled back');
select is_empty($$select p.proname from pg_proc p where p.pronamespace = 'scylla'::regnamespace and p.prokind = 'f' and not 'internal'::regtype = any (p.proargtypes::oid[])
                  and p.prorettype <> 'event_trigger'::regtype and not exists (select from traps.call c where c.call ~ ('scylla\.' || quote_ident(p.proname) || '\('))$$,
                'every function is called');
select is_empty($$select c.relname from pg_class c where c.relnamespace = 'scylla'::regnamespace and c.relkind = 'v'
                  and not exists (select from traps.call l join traps.made m using (round, n) where l.call = 'select * from scylla.' || c.relname and m.state = '00000')$$, 'every view is read');
select cmp_ok((select count(distinct f[1]) from traps.call c join traps.made m using (round, n), regexp_matches(c.call, 'scylla\.([a-z]\w+)\(', 'g') f where m.state in ('00000', 'ZZ000')),
              '>', (select count(distinct proname) * 4 / 5 from pg_proc where pronamespace = 'scylla'::regnamespace and prokind = 'f' and proname !~ '^_'), 'most functions succeed with some of the arguments');

-- The traps work: what leaves the pinned path is found.
create function traps.careless(text[]) returns text[] language plpgsql security definer as $$ begin return nullif(array_remove($1, 'a'), '{}'); end $$;
create function traps.more_careless() returns text language plpgsql security definer as $$
begin return (select max(v::interval) from jsonb_each_text('{"a": "1 s"}') j (k, v) where v in ('1 s') and v like '1%' and 1 between 0 and 2); end $$;
set traps.caller = 'path_caller';
set session authorization path_caller;
set search_path = traps, pg_catalog;
\o /dev/null
select traps.careless('{a,b}');
select traps.more_careless();
\o
reset session authorization;
set search_path = public;
select is((select string_agg(trap, ' | ' order by trap collate "C") from traps.sprung where ran_as = 'postgres'), 
          'array_remove() | max(pg_catalog."interval") | pg_catalog._text = pg_catalog._text | pg_catalog.int4 <= pg_catalog.int4 | pg_catalog.int4 >= pg_catalog.int4 | '
          'pg_catalog.text = pg_catalog.text | pg_catalog.text ~~ pg_catalog.text', 'the traps find what runs as another role: nullif(), in, between, like, an aggregate');

select * from finish();
\c pgtap
drop database hostile_path;
drop role path_caller, path_monitor, path_other;
