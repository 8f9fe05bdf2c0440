-- Nothing is for everybody; USAGE on the schema and EXECUTE on a function give that function and nothing else. (On which
-- queues it may be used is rights.sql's subject: here the role has all rights on them.)
begin;
\ir include/helpers.psql
select * from no_plan();

create role scylla_test_role;
create role scylla_test_owner;

-- Runs a statement as a role; 'allowed' or the error.
create function as_role(role text, statement text) returns text language plpgsql as $$
begin
    perform set_config('role', role, true);
    execute statement;
    perform set_config('role', 'none', true);
    return 'allowed';
exception when others then
    return sqlstate || ' ' || sqlerrm;
end $$;

-- Every function and procedure of the schema, also the internal ones, and how to call it; arguments do not matter,
-- because privileges are looked at first.
create temp table routine as
select p.oid, p.proname::text as name,
       format('%s scylla.%I(%s)', case p.prokind when 'p' then 'call' else 'select' end, p.proname,
              (select string_agg(format('null::%s', t::regtype), ', ' order by n)
               from unnest(p.proargtypes) with ordinality _ (t, n))) as call
from pg_proc p where p.pronamespace = 'scylla'::regnamespace and not p.proname = any('{_args,_args_add,_args_end,_check_max_tasks,_duration,_first_in_line,_fresh_ranges,_history,_job_nodes,_may_view,_may_watch,_no_such_job,_plan_nodes,_plan_waits,_pool_lines,_step_signals,_step_times}');
-- Every relation, and ways of touching it.
create temp table touch as
select c.relname::text as name, statement
from pg_class c,
     lateral (select format(s, c.oid::regclass) from unnest(case c.relkind
                  when 'S' then array['select nextval(%L)', 'select currval(%L)', 'select setval(%L, 1)',
                                      'select * from %s', 'select lastval(), last_value from %s']
                  when 'v' then array['select * from %s', 'select count(*) from %s', 'comment on view %s is ''''',
                                      'drop view %s']
                  else array['select * from %s', 'select from %s', 'select * from %s for update',
                             'insert into %s default values', 'delete from %s', 'truncate %s',
                             'lock table %s', 'alter table %s add column c int', 'drop table %s',
                             'create trigger t after insert on %s execute function test.f()',
                             'create index on %s ((1))', 'comment on table %s is ''''',
                             'update %s set ' || (select quote_ident(a.attname) from pg_attribute a
                                                  where a.attrelid = c.oid and a.attnum = 1) || ' = default']
                  end) s) _ (statement)
where c.relnamespace = 'scylla'::regnamespace and c.relkind in ('r', 'v', 'S');

-- What a role may do after all: rows for what is not refused with 42501.
create function allowed(except_ oid = 0) returns table (statement text, answer text) language sql as $$
    select * from (
        select r.call, as_role('scylla_test_role', r.call) as answer from routine r where r.oid <> except_
        union all
        select t.statement, as_role('scylla_test_role', t.statement) from touch t
        union all
        select s, as_role('scylla_test_role', s)
        from unnest(array['create table scylla.t ()',
                          'create function scylla.f() returns int language sql as ''select 1''',
                          'drop schema scylla cascade',
                          'drop extension scylla', 'alter extension scylla update',
                          'create type scylla.x as (a int)']) s) a
    where answer !~ '^42501 (permission denied for|must be (able to|owner of)) ';
$$;

select cmp_ok((select count(*) from routine), '>=', 22::bigint, 'there are functions to look at');
select cmp_ok((select count(*) from touch), '>=', 90::bigint, 'and tables, a view and sequences');

-- ---- a role without rights -----------------------------------------------------------------------------------------

select is_empty('select * from allowed()', 'a role without rights can do nothing');
select is(as_role('scylla_test_role', $$select scylla.submit('q', '{}')$$), '42501 permission denied for schema scylla',
          'and is told so');
grant usage on schema scylla to scylla_test_role;
select is_empty('select * from allowed()', 'USAGE on the schema alone allows nothing');
select is(as_role('scylla_test_role', $$select scylla.submit('q', '{}')$$),
          '42501 permission denied for function submit', 'and is told so, too');

-- ---- one function at a time ----------------------------------------------------------------------------------------

-- A use of each, in any order; the tasks that it needs are there. wait and wait_any must not run in a transaction, and
-- say so when they are allowed to run.
create temp table use_ (name text, statement text, answer text default 'allowed');
insert into use_ (name, statement) values
    ('submit',             $$select scylla.submit('a new queue', '{}', rn => 'submitted')$$),
    ('submit_many',        $$select scylla.submit_many('[{"queue": "another new queue", "spec": 1}, {"queue": "q",
                                                         "spec": 1, "rn": "p ready"}]')$$),
    ('submit_bulk',        $$select scylla.submit_bulk('a third queue', array['1']::jsonb[])$$),
    ('lease',              $$select * from scylla.lease('p', 'w')$$),
    ('lease_task',         $$select scylla.lease_task('p ready', 'w')$$),
    ('heartbeat',          $$select scylla.heartbeat('p8', 'w', 0.5)$$),
    ('heartbeat_many',     $$select scylla.heartbeat_many('{p8,p9}', 'w')$$),
    ('complete',           $$select scylla.complete('p1', 'w')$$),
    ('complete_many',      $$select scylla.complete_many('{p2}', 'w')$$),
    ('complete_and_lease', $$select scylla.complete_and_lease('{p3}', 'w', 'p')$$),
    ('abort',              $$select scylla.abort('p4', 'w', '{"code": "x"}')$$),
    ('fail',               $$select scylla.fail('p5', 'w', '{"code": "x"}')$$),
    ('yield',              $$select scylla.yield('p6', 'w')$$),
    ('not_yet',            $$select scylla.not_yet('p8', 'w')$$),
    ('defer',              $$select scylla.defer('p9', 'w', '[]')$$),
    ('cancel',             $$select scylla.cancel('p7')$$),
    ('cancel_many',        $$select * from scylla.cancel_many('{"queue": "p", "key": "none"}')$$),
    ('yield_many',         $$select * from scylla.yield_many('{"queue": "p", "worker": "none"}')$$),
    ('find_tasks',         $$select * from scylla.find_tasks()$$),
    ('get_task',           $$select scylla.get_task('p1')$$),
    ('list_tasks',         $$select scylla.list_tasks()$$),
    ('explain_waiting',    $$select scylla.explain_waiting('p1')$$),
    ('reschedule',         $$select scylla.reschedule('p delayed')$$),
    ('set_priority',       $$select scylla.set_priority('p delayed', 3)$$),
    ('resubmit',           $$select scylla.resubmit('p dead')$$),
    ('resubmit_many',      $$select * from scylla.resubmit_many('p')$$),
    ('resubmit_matching',  $$select * from scylla.resubmit_matching('{"queue": "p"}')$$),
    ('dead_tasks',         $$select * from scylla.dead_tasks()$$),
    ('rerun_plan',         $$select scylla.rerun_plan('to rerun')$$),
    ('delete_task',        $$select scylla.delete_task('p to delete')$$),
    ('has_live_tasks',     $$select scylla.has_live_tasks('{p}')$$),
    ('create_queue',       $$select scylla.create_queue('made')$$),
    ('alter_queue',        $$select scylla.alter_queue('p', '{"aging": 1}')$$),
    ('pause_queue',        $$select scylla.pause_queue('p')$$),
    ('resume_queue',       $$select scylla.resume_queue('p')$$),
    ('drop_queue',         $$select scylla.drop_queue('spare')$$),
    ('create_plan',        $$select scylla.create_plan('made')$$),
    ('open_plan',          $$select scylla.open_plan('to open')$$),
    ('cancel_plan',        $$select scylla.cancel_plan('to cancel')$$),
    ('plan_completed',     $$select scylla.plan_completed('to open')$$),
    ('set_plan_owner',     $$select scylla.set_plan_owner('to open', 'scylla_test_role')$$),
    ('create_callback',    $$select scylla.create_callback('c made')$$),
    ('resolve_callback',   $$select scylla.resolve_callback('c to resolve')$$),
    ('reject_callback',    $$select scylla.reject_callback('c to reject', '{"code": "x"}')$$),
    ('send_signal',        $$select scylla.send_signal('p signal')$$),
    ('grant_signal',       $$select scylla.grant_signal('p signal', 'public', 'wait')$$),
    ('revoke_signal',      $$select scylla.revoke_signal('p signal', 'public', 'wait')$$),
    ('set_signal_owner',   $$select scylla.set_signal_owner('p signal', 'scylla_test_role')$$),
    ('pause_trigger',      $$select scylla.pause_trigger('t')$$),
    ('resume_trigger',     $$select scylla.resume_trigger('t')$$),
    ('clear_trigger',      $$select scylla.clear_trigger('t')$$),
    ('drop_trigger',       $$select scylla.drop_trigger('t to drop')$$),
    ('define_job',         $$select scylla.define_job('j made', 'q')$$),
    ('drop_job',           $$select scylla.drop_job('j spare')$$),
    ('grant_job',          $$select scylla.grant_job('j', 'public', 'run')$$),
    ('revoke_job',         $$select scylla.revoke_job('j', 'public', 'run')$$),
    ('run_job',            $$select scylla.run_job('j', '{[1,2)}')$$),
    ('explain_job',        $$select count(*) from scylla.explain_job('j', '{[1,2)}')$$),
    ('mark_fresh',         $$select scylla.mark_fresh('j', '{[1,2)}')$$),
    ('forget_freshness',   $$select scylla.forget_freshness('j')$$),
    ('create_pool',        $$select scylla.create_pool('p made', '{"a": 1}')$$),
    ('alter_pool',         $$select scylla.alter_pool('p pool', '{"policy": "strict"}')$$),
    ('drop_pool',          $$select scylla.drop_pool('p spare')$$),
    ('drain_pool',         $$select scylla.drain_pool('p pool')$$),
    ('resume_pool',        $$select scylla.resume_pool('p pool')$$),
    ('report_usage',       $$select scylla.report_usage('p pool', '{"a": 1}')$$),
    ('grant_pool',         $$select scylla.grant_pool('p pool', 'public', 'use')$$),
    ('revoke_pool',        $$select scylla.revoke_pool('p pool', 'public', 'use')$$),
    ('place',              $$select count(*) from scylla.place('p pool')$$),
    ('backoff',            $$select scylla.backoff(1)$$),
    ('register_worker',    $$select scylla.register_worker()$$),
    ('grant_queue',        $$select scylla.grant_queue('p', 'public', 'view')$$),
    ('revoke_queue',       $$select scylla.revoke_queue('p', 'public', 'view')$$),
    ('set_queue_owner',    $$select scylla.set_queue_owner('own', 'scylla_test_role')$$),
    ('role_kinds',         $$select count(*) from scylla.role_kinds()$$),
    ('reset_expired',      $$select scylla.reset_expired()$$),
    ('purge',              $$select scylla.purge()$$),
    ('maintain',           $$select scylla.maintain()$$),
    ('sel_eval',           $$select scylla.sel_eval('1')$$),
    ('interpolate',        $$select scylla.interpolate('a')$$),
    ('validate_workflow',  $$select count(*) from scylla.validate_workflow('{}')$$),
    ('create_workflow',    $$select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "w_made", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}')$$),
    ('activate_workflow',  $$select scylla.activate_workflow('w')$$),
    ('deactivate_workflow', $$select scylla.deactivate_workflow('w')$$),
    ('alter_workflow',     $$select scylla.alter_workflow('w', '{"tags": ["t"]}')$$),
    ('drop_workflow',      $$select scylla.drop_workflow('w_spare')$$),
    ('grant_workflow',     $$select scylla.grant_workflow('w', 'public', 'view')$$),
    ('revoke_workflow',    $$select scylla.revoke_workflow('w', 'public', 'view')$$),
    ('start_workflow',     $$select scylla.start_workflow('w', version => 'latest')$$),
    ('start_workflows',    $$select scylla.start_workflows('[{"workflow": "w", "version": "latest"}]')$$),
    ('stop_workflow',      $$select scylla.stop_workflow('w')$$),
    ('kill_workflow',      $$select scylla.kill_workflow('w')$$),
    ('stop_step',          $$select scylla.stop_step('w_live', 1, 's')$$),
    ('kill_step',          $$select scylla.kill_step('w_live', 2, 's')$$),
    ('skip_step',          $$select scylla.skip_step('w_live', 3, 's')$$),
    ('restart_run',        $$select scylla.restart_run('w_again', 1)$$),
    ('restart_step',       $$select scylla.restart_step('w_live', 4, 's')$$),
    ('bypass_step',        $$select scylla.bypass_step('w_waits', 1, 's')$$),
    ('pause_step',         $$select scylla.pause_step('w_held', 1, 's')$$),
    ('resume_step',        $$select scylla.resume_step('w_held', 1, 's')$$),
    ('set_breakpoint',     $$select scylla.set_breakpoint('w', 's')$$),
    ('drop_breakpoint',    $$select scylla.drop_breakpoint('w_held', 's')$$),
    ('pause_workflow',     $$select scylla.pause_workflow('w')$$),
    ('resume_workflow',    $$select scylla.resume_workflow('w')$$),
    ('create_job_template', $$select scylla.create_job_template('{"job_type": "t", "type": "NoOp"}')$$),
    ('drop_job_template',  $$select scylla.drop_job_template('t_spare', 'default')$$),
    ('stop_run',           $$select scylla.stop_run('w', 1)$$),
    ('kill_run',           $$select scylla.kill_run('w', 1)$$),
    ('unblock_run',        $$select scylla.unblock_run('w_broken', 1)$$),
    ('unblock_workflow',   $$select scylla.unblock_workflow('w')$$),
    ('backfill',           $$select scylla.backfill('w', '[{}]', 'latest')$$),
    ('preview_backfill',   $$select scylla.preview_backfill('w', '[{}]', 'latest')$$),
    ('pause_backfill',     $$select scylla.pause_backfill(1)$$),
    ('resume_backfill',    $$select scylla.resume_backfill(1)$$),
    ('cancel_backfill',    $$select scylla.cancel_backfill(1)$$),
    ('run_tree',           $$select count(*) > 0 from scylla.run_tree('w_broken', 1)$$),
    ('failed_steps',       $$select count(*) from scylla.failed_steps('w_broken', 1)$$),
    ('explain_run',        $$select count(*) from scylla.explain_run('w_broken', 1)$$),
    ('workflow_dot',       $$select scylla.workflow_dot('w_broken') ~ 'digraph'$$),
    ('workflow_mermaid',   $$select scylla.workflow_mermaid('w_broken') ~ 'flowchart'$$),
    ('run_dot',            $$select scylla.run_dot('w_broken', 1) ~ 'digraph'$$),
    ('run_mermaid',        $$select scylla.run_mermaid('w_broken', 1) ~ 'flowchart'$$),
    ('run_gantt',          $$select scylla.run_gantt('w_broken', 1) ~ 'gantt'$$),
    ('lineage_dot',        $$select scylla.lineage_dot('w_broken', 1) ~ 'digraph'$$),
    ('lineage_mermaid',    $$select scylla.lineage_mermaid('w_broken', 1) ~ 'flowchart'$$),
    ('cron_next',          $$select scylla.cron_next('@daily')$$),
    ('unschedule',         $$select scylla.unschedule('p schedule')$$),
    ('run_schedules',      $$select scylla.run_schedules()$$),
    ('arm_schedules',      $$select scylla.arm_schedules()$$),
    ('check',              $$select scylla.check()$$),
    ('count_tasks',        $$select scylla.count_tasks()$$),
    ('quantile',           $$select scylla.quantile(null, 0.5)$$),
    ('metrics',            $$select scylla.metrics()$$),
    ('stat_reset',         $$select scylla.stat_reset()$$);
insert into use_ (name, statement) values
    ('read_events',        $$select scylla.read_events()$$), ('read_workflow_events', $$select scylla.read_workflow_events()$$);
insert into use_ values
    ('grant_role',         $$select scylla.grant_role('worker', 'scylla_test_owner')$$, '42501 must be owner of extension "scylla"'),
    ('revoke_role',        $$select scylla.revoke_role('worker', 'scylla_test_owner')$$, '42501 must be owner of extension "scylla"');
insert into use_ values
    ('set_output',         $$select scylla.set_output('nobody has', '{}')$$, 'P0002 task "nobody has" does not exist'),
    ('run_sql',            $$select scylla.run_sql(null)$$, '22023 invalid value for argument "task": null'),
    -- It submits as its caller.
    ('schedule',           $$select scylla.schedule('p', '@daily', 'q', '1')$$,
     '42501 permission denied for function submit_many'),
    ('schedule_plan',      $$select scylla.schedule_plan('p', '@daily', '[{"queue": "q", "spec": 1}]')$$,
     '42501 permission denied for function create_plan'),
    ('schedule_job',       $$select scylla.schedule_job('p', '@daily', 'j', '{[1,2)}')$$,
     '42501 permission denied for function run_job'),
    ('create_trigger',     $$select scylla.create_trigger('t made', '[{"signal": "p signal"}]', '{"submit": {"queue": "q", "spec": 1}}')$$,
     '42501 permission denied for function submit_many');
insert into use_ values
    ('list_pool_queue',    $$select scylla.list_pool_queue()$$, '42501 permission denied for view pool_queue'),
    ('job_dot',            $$select scylla.job_dot('j')$$, '42501 permission denied for view job_type'),
    ('job_mermaid',        $$select scylla.job_mermaid('j')$$, '42501 permission denied for view job_type'),
    -- They read as their caller, and first ask whether there is such a plan.
    ('plan_dot',           $$select scylla.plan_dot('to open')$$, '42501 permission denied for function plan_completed'),
    ('plan_mermaid',       $$select scylla.plan_mermaid('to open')$$, '42501 permission denied for function plan_completed'),
    ('plan_timeline',      $$select scylla.plan_timeline('to open')$$, '42501 permission denied for function plan_completed');
insert into use_ values
    ('wait',               $$call scylla.wait('q', '1 s')$$,
     '25001 scylla.wait() cannot run inside a transaction block'),
    ('wait_any',           $$call scylla.wait_any('{q}', '1 s')$$,
     '25001 scylla.wait_any() cannot run inside a transaction block'),
    ('work',               $$call scylla.work('q')$$,
     '25001 scylla.work() cannot run inside a transaction block'),
    ('advance',            $$call scylla.advance()$$,
     '25001 scylla.advance() cannot run inside a transaction block'),
    ('wait_plan',          $$call scylla.wait_plan('to open', '1 s')$$,
     '25001 scylla.wait_plan() cannot run inside a transaction block');
do $$ begin
    perform given('p old', 'completed');
    perform grow_old('p old', '8 days');
    perform given('p to delete', 'completed'), given('p dead', 'cancelled');
    perform given('p due', 'waiting');
    perform fall_due('p due');
    perform given('p ready', 'ready');
    perform given('p delayed', 'waiting');
    perform scylla.submit_bulk('p', array['1', '2']::jsonb[]);
    perform given('p' || n, 'running') from generate_series(1, 9) n;
    perform given('p expired', 'expired');
    perform scylla.create_queue(queue) from unnest(array['spare', 'own']) queue;
    perform scylla.set_queue_owner(queue, 'scylla_test_role') from unnest(array['spare', 'own']) queue;
    perform scylla.grant_queue(queue, 'scylla_test_role', 'admin') from unnest(array['p', 'q']) queue;
    perform scylla.grant_queue('q', 'scylla_test_owner', 'view');
    set local scylla.schedules = manual;
    perform scylla.schedule('p schedule', '@daily', 'q', '1');
    update scylla.schedule set owner = 'scylla_test_role';
    perform scylla.create_callback('c to resolve'), scylla.create_callback('c to reject'), scylla.send_signal('p signal');
    perform scylla.set_signal_owner('p signal', 'scylla_test_role');
    perform scylla.create_trigger('t', '[{"signal": "p signal"}]', '{"submit": {"queue": "q", "spec": 1}}');
    perform scylla.create_trigger('t to drop', '[{"signal": "p signal"}]', '{"submit": {"queue": "q", "spec": 1}}');
    update scylla.signal_trigger set owner = 'scylla_test_role';
    perform scylla.define_job('j', 'q'), scylla.define_job('j spare', 'q');
    update scylla.job_definition set owner = 'scylla_test_role';
    perform scylla.create_workflow(format('{"properties": {"owner": "ann"}, "workflow": {"id": "%s", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}', w)::jsonb)
    from unnest('{w,w_spare,w_broken,w_again,w_held}'::text[]) w;
    perform scylla.create_workflow('{"properties": {"owner": "ann", "run_strategy": "parallel"}, "workflow": {"id": "w_live", "steps": [{"step": {"id": "s", "type": "Sleep", "params": {"sleep_seconds": {"type": "LONG", "value": 100000}}}}]}}');
    perform scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "w_waits", "steps": [{"step": {"id": "s", "type": "NoOp", "signal_dependencies": [{"name": "never"}]}}]}}');
    update scylla.workflow_head set owner = 'scylla_test_role';
    perform scylla.create_job_template('{"job_type": "t_spare", "type": "NoOp"}');
    update scylla.job_template_text set owner = 'scylla_test_role';
    perform scylla.start_workflow('w_waits'), scylla._advance();
    perform scylla.start_workflow('w_live') from generate_series(1, 4);
    perform scylla.start_workflow(w), scylla.kill_run(w, 1), scylla._advance() from unnest('{w_broken,w_again}'::text[]) w;
    perform scylla.kill_run('w_live', 4), scylla._advance();
    perform scylla.set_breakpoint('w_held', 's'), scylla.start_workflow('w_held'), scylla._advance();
    perform scylla.start_workflow('w');
    perform scylla.backfill('w', '[{}]');
    update scylla.workflow_backfill_state set id = 1;
    update scylla.workflow_backfill_item_state set backfill = 1;
    perform scylla.create_pool('p spare', '{}'), scylla.grant_pool('p spare', 'scylla_test_role', 'admin');
    perform scylla.create_pool('p pool', '{"a": 1}'), scylla.grant_pool('p pool', 'scylla_test_role', 'admin');
    perform scylla.create_plan('to open'), scylla.create_plan('to cancel'), scylla.create_plan('to rerun');
    perform scylla.submit('q', '1', plan => 'to rerun'), scylla.cancel_plan('to rerun');
    update scylla.task_plan set owner = 'scylla_test_role';
end $$;

-- ---- kinds of roles --------------------------------------------------------------------------------------------------

-- As as_role(), but nothing of the statement stays.
create function try_as(role text, statement text) returns text language plpgsql as $$
begin
    perform set_config('role', role, true);
    execute statement;
    raise exception using errcode = 'XX998';
exception
    when sqlstate 'XX998' then
        return 'allowed';
    when others then
        return sqlstate || ' ' || sqlerrm;
end $$;
-- A role of each kind, with all rights on queues, workflows and so on.
create temp table kind as
select distinct kind as name, 'scylla_test_' || kind as role from scylla.role_kinds() where kind is not null;
select is((select count(*) from kind), 11::bigint, 'there are eleven kinds of roles');
do $$
declare
    k record;
begin
    for k in select * from kind loop
        execute format('create role %I in role scylla_test_role', k.role);
        perform scylla.grant_role(k.name, k.role);
    end loop;
end $$;
create temp table may as
select kind, object, privilege from scylla.role_kinds() where kind is not null;

select is_empty(format($$
    select u.name, a.answer from use_ u, lateral (select try_as(%1$L, u.statement) as answer) a
    where case when exists (select from may m where m.kind = %2$L and m.object = u.name)
               then a.answer ~ '^42501' or u.answer = 'allowed' and a.answer <> 'allowed'
               else a.answer !~ '^42501 permission denied for (function|procedure) ' end$$, k.role, k.name),
    format('the kind %s can call its functions, to the end, and no others', k.name))
from kind k order by k.name;
select is_empty(format($$
    select r.name, a.answer from routine r, lateral (select try_as(%1$L, r.call) as answer) a
    where r.name ~ '^_' and (a.answer !~ '^42501') <> exists (select from may m where m.kind = %2$L and m.object = r.name)$$, k.role, k.name),
    format('the kind %s can call no internal functions but those of its views', k.name))
from kind k order by k.name;
select is_empty(format($$
    select t.statement, a.answer from touch t, lateral (select try_as(%1$L, t.statement) as answer) a
    where (a.answer !~ '^42501') <> (t.statement ~ '^select ([*]|count)' and exists (
        select from may m where m.kind = %2$L and m.object = t.name and m.privilege = 'SELECT'))$$, k.role, k.name),
    format('the kind %s can read its views, and touch no other view, table or sequence', k.name))
from kind k order by k.name;

create function use_alone(routine oid, statement text) returns text language plpgsql as $$
declare
    answer text;
    more text;
begin
    execute format('grant execute on routine %s to scylla_test_role', routine::regprocedure);
    answer := as_role('scylla_test_role', statement);
    select string_agg(format('%s: %s', a.statement, a.answer), E'\n') into more from allowed(routine) a;
    execute format('revoke execute on routine %s from scylla_test_role', routine::regprocedure);
    return answer || coalesce(E'\nand also\n' || more, '');
end $$;
select is(use_alone(r.oid, u.statement), u.answer, format('EXECUTE on %s allows %s, and nothing else', u.name, u.name))
from use_ u join routine r using (name);
select set_eq('select name from use_', $$select name from routine where name !~ '^_'$$, 'no function is left out');
select is_empty('select * from allowed()', 'after REVOKE nothing is left');

-- ---- all functions -------------------------------------------------------------------------------------------------

grant execute on all routines in schema scylla to scylla_test_role;
select is_empty($$select * from touch where as_role('scylla_test_role', statement) !~ '^42501 '$$,
                'a role with all functions cannot touch a table, the view or a sequence');
select is(as_role('scylla_test_role', $$select from scylla.submit('q', '{}', 127, 'chain') s,
                  lateral scylla.lease('q', 'w') l, lateral scylla.complete(l.rn, 'w')$$), 'allowed',
          'but work with them');
grant insert, select on scylla.task_spec to scylla_test_role;
select is(as_role('scylla_test_role', 'insert into scylla.task_spec default values') !~ '^42501', true,
          'unless the owner says otherwise: the tests above can fail');
revoke all on scylla.task_spec from scylla_test_role;

-- An application's SECURITY DEFINER function acts with the rights of its owner.
grant usage on schema scylla to scylla_test_owner;
grant execute on function scylla.get_task to scylla_test_owner;
revoke execute on all routines in schema scylla from scylla_test_role;
create function status_of(rn text) returns text language sql security definer
    as $$ select status from scylla.get_task(rn); $$;
alter function status_of owner to scylla_test_owner;
select is(as_role('scylla_test_role', $$select test.status_of('chain')$$), 'allowed',
          'a SECURITY DEFINER function lends its owner''s rights');
revoke execute on function scylla.get_task from scylla_test_owner;
select is(as_role('scylla_test_role', $$select test.status_of('chain')$$),
          '42501 permission denied for function get_task', 'if it has them');

-- ---- the catalog ---------------------------------------------------------------------------------------------------

select is_empty($$
    select 'schema', n.nspname, a.privilege_type from pg_namespace n,
    aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
    where n.nspname = 'scylla' and a.grantee = 0
    union all
    select 'relation', c.relname, a.privilege_type
    from pg_class c, aclexplode(coalesce(c.relacl,
                                         acldefault((case c.relkind when 'S' then 's' else 'r' end)::"char",
                                                    c.relowner))) a
    where c.relnamespace = 'scylla'::regnamespace and a.grantee = 0
    union all
    select 'column', attrelid::regclass || '.' || attname, a.privilege_type from pg_attribute, aclexplode(attacl) a
    where attrelid in (select oid from pg_class where relnamespace = 'scylla'::regnamespace) and a.grantee = 0
    union all
    select 'routine', p.proname, a.privilege_type from pg_proc p,
    aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
    where p.pronamespace = 'scylla'::regnamespace and a.grantee = 0
          and p.oid <> all (array['scylla._args'::regproc, 'scylla._check_max_tasks', 'scylla._duration', 'scylla._first_in_line', 'scylla._fresh_ranges', 'scylla._history', 'scylla._job_nodes', 'scylla._may_view', 'scylla._may_watch', 'scylla._no_such_job', 'scylla._plan_nodes', 'scylla._plan_waits', 'scylla._pool_lines', 'scylla._step_signals', 'scylla._step_times'])$$,
    'PUBLIC holds nothing in the schema');
select results_eq($$select p.proname::text collate "default", a.privilege_type, p.proowner::regrole
                    from pg_proc p, aclexplode(p.proacl) a
                    where p.pronamespace = 'scylla'::regnamespace and a.grantee = 0 order by 1$$,
                  $$values ('_args', 'EXECUTE', current_user::regrole), ('_check_max_tasks', 'EXECUTE', current_user::regrole),
                           ('_duration', 'EXECUTE', current_user::regrole),
                           ('_first_in_line', 'EXECUTE', current_user::regrole),
                           ('_fresh_ranges', 'EXECUTE', current_user::regrole),
                           ('_history', 'EXECUTE', current_user::regrole),
                           ('_job_nodes', 'EXECUTE', current_user::regrole),
                           ('_may_view', 'EXECUTE', current_user::regrole),
                           ('_may_watch', 'EXECUTE', current_user::regrole),
                           ('_no_such_job', 'EXECUTE', current_user::regrole),
                           ('_plan_nodes', 'EXECUTE', current_user::regrole),
                           ('_plan_waits', 'EXECUTE', current_user::regrole),
                           ('_pool_lines', 'EXECUTE', current_user::regrole),
                           ('_step_signals', 'EXECUTE', current_user::regrole), ('_step_times', 'EXECUTE', current_user::regrole)$$,
                  'but what the views call: their readers need nothing else; and what reads as its caller');
select is_empty($$select oid::regprocedure from pg_proc where pronamespace = 'scylla'::regnamespace and prosecdef
                  and not exists (select from unnest(proconfig) c where c = 'search_path=pg_catalog, pg_temp')$$,
                'every SECURITY DEFINER function pins its search_path, with pg_temp last');
select is((select array_agg(oid::regprocedure) from pg_proc where pronamespace = 'scylla'::regnamespace and prosecdef),
          array['scylla."check"()'::regprocedure], 'and there is one, which only reads');

select all_is_sound();
select * from finish();
rollback;
