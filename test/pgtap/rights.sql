-- Who may do what with a queue: every function and view, called by every kind of role; and grant_queue, revoke_queue,
-- set_queue_owner. (EXECUTE is the subject of privileges.sql; here everybody has it.)
begin;
\ir include/helpers.psql
select * from no_plan();

-- The kinds of roles, by the letters of the matrix below, and their rights on the queue "r".
create role "scylla test owner";                                         -- o
create role scylla_test_member in role "scylla test owner";              -- m
create role scylla_test_heir noinherit in role "scylla test owner";      -- h: could become owner, but is not
create role scylla_test_admin;                                           -- a
create role scylla_test_group;
create role scylla_test_crew in role scylla_test_group;                  -- g: works through a group
create role scylla_test_submitter;                                       -- s
create role scylla_test_worker;                                          -- w
create role scylla_test_viewer;                                          -- v
create role scylla_test_stranger;                                        -- x
create role scylla_test_monitoring in role pg_monitor;                   -- n: sees numbers
create role scylla_test_depender;                                        -- d
create temp table kind (letter text, role text);
insert into kind values ('S', current_user), ('o', 'scylla test owner'), ('m', 'scylla_test_member'),
    ('a', 'scylla_test_admin'), ('g', 'scylla_test_crew'), ('s', 'scylla_test_submitter'), ('w', 'scylla_test_worker'),
    ('v', 'scylla_test_viewer'), ('x', 'scylla_test_stranger'), ('h', 'scylla_test_heir'), ('n', 'scylla_test_monitoring'),
    ('d', 'scylla_test_depender');
grant usage on schema scylla to public;
grant execute on all routines in schema scylla to public;
grant select on scylla.resubmissions, scylla.job_type, scylla.job_freshness, scylla.job_plan, scylla.workflow, scylla.workflow_version, scylla.workflow_properties_history, scylla.job_template, scylla.workflow_run, scylla.workflow_step, scylla.workflow_step_attempt, scylla.workflow_loop_iteration, scylla.workflow_param, scylla.workflow_rollup, scylla.workflow_timeline, scylla.workflow_lineage, scylla.workflow_action, scylla.workflow_breakpoint, scylla.workflow_backfill, scylla.workflow_backfill_item, scylla.stat_workflow, scylla.pool, scylla.pool_reservation, scylla.pool_queue, scylla.pool_history, scylla.stat_pool, scylla.signal, scylla.signal_grants, scylla.condition, scylla.task, scylla.queue_grants, scylla.queue_settings, scylla.stat_heads, scylla.stat_queue,
    scylla.stat_worker, scylla.stat_monitor, scylla.stat_server_worker, scylla.stat_database, scylla.stat_clock, scylla.stat_waiting, scylla.stat_trigger, scylla.schedules, scylla.trigger, scylla.trigger_signal, scylla.trigger_failure, scylla.plan, scylla.plan_task to public;
set local scylla.schedules = manual;

-- What a query (of one value) gives a role, or how it is refused; nothing of it stays.
create function as_role(role text, query text) returns text language plpgsql as $$
declare
    answer text;
    detail text;
begin
    perform set_config('role', role, true);
    execute query into answer;
    raise exception using errcode = 'XX998', message = coalesce(answer, 'null');
exception
    when sqlstate 'XX998' then
        return sqlerrm;
    when others then
        get stacked diagnostics detail = pg_exception_detail;
        return sqlstate || ' ' || sqlerrm || coalesce('; ' || nullif(detail, ''), '');
end $$;

do $$ begin
    perform scylla.create_queue('r', retention => '1 day');
    perform scylla.set_queue_owner('r', 'scylla test owner');
    perform scylla.grant_queue('r', 'scylla_test_' || role, privilege)
    from (values ('admin', 'admin'), ('group', 'work'), ('submitter', 'submit'), ('worker', 'work'), ('viewer', 'view'),
                 ('depender', 'depend')) g (role, privilege);
    perform given('r completed', 'ready', 'r');
    perform scylla.complete(rn, 'w') from scylla.lease('r', 'w'); -- and there is a head
    perform given('r ready', 'ready', 'r');
    perform given('r yielded', 'yielded', 'r');
    perform given('r running', 'running', 'r');
    perform given('r aborted', 'aborted', 'r');
    perform given('r waiting', 'waiting', 'r');
    insert into scylla.task_copy (original, copy) select s.id, t.id from scylla.task_spec s, scylla.task_spec t where s.rn = 'r completed' and t.rn = 'r ready';
    perform given('r expired', 'expired', 'r');
    perform given('elsewhere', 'ready', 'a queue of the superuser');
    perform scylla.schedule('theirs', '@daily', 'r', '1');
    update scylla.schedule set owner = 'scylla test owner';
    perform scylla.create_plan('their plan');
    update scylla.task_plan set owner = 'scylla test owner';
    perform scylla.create_callback('their callback');
    update scylla.task_callback set owner = 'scylla test owner';
    perform scylla.send_signal('their signal', '{"of": 1}');
    perform scylla.create_trigger('their trigger', '[{"signal": "their signal"}, {"signal": "their signal"}]', '{"submit": {"queue": "r", "spec": 1}}');
    update scylla.signal_trigger set owner = 'scylla test owner';
    insert into scylla.signal_arrival select t.id, 1, s.id, 1, false, '[]' from scylla.signal_trigger t, scylla.signal_sent s;
    insert into scylla.signal_trigger_failure (trigger, seqs, retry_at, attempts, error) select id, '{1}', 'infinity', 1, 'x' from scylla.signal_trigger;
    perform scylla.submit('a queue of the superuser', '1', wait_for => '[{"signal": "their signal", "match": {"of": 2}}]');
    perform scylla.submit('a queue of the superuser', '1', wait_for => '[{"check": {"queue": "a queue of the superuser", "spec": 2}}]');
    perform scylla.create_queue('behind'), scylla.submit('behind', '1', wait_for => '[{"callback": "their callback"}]');
    perform scylla.set_queue_owner('behind', 'scylla test owner'), scylla.grant_queue('behind', 'scylla_test_viewer', 'view');
    perform scylla.set_signal_owner('their signal', 'scylla test owner');
    perform scylla.define_job('their job', 'r'), scylla.mark_fresh('their job', '{[1,9)}');
    update scylla.job_definition set owner = 'scylla test owner';
    perform scylla.run_job('their job', '{}');
    update scylla.task_plan set owner = 'scylla test owner';
    perform scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "theirs", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}');
    update scylla.workflow_head set owner = 'scylla test owner';
    perform scylla.create_job_template('{"job_type": "theirs", "type": "NoOp"}');
    update scylla.job_template_text set owner = 'scylla test owner';
    perform scylla.grant_workflow('theirs', 'scylla_test_' || role, privilege)
    from (values ('admin', 'admin'), ('submitter', 'run'), ('worker', 'view')) g (role, privilege);
    perform scylla.start_workflow('theirs'), scylla._advance();
    perform scylla.backfill('theirs', '[{}, {}]');
    update scylla.workflow_backfill_state set id = 1;
    update scylla.workflow_backfill_item_state set backfill = 1;
    update scylla.workflow_run_state set backfill = 1 where backfill is not null;
    perform scylla.pause_backfill(1), scylla._advance(), scylla.set_breakpoint('theirs', 's', 1);
    insert into scylla.workflow_action_state (root, run, kind, role, done, outcome) select id, run, 'stop', current_user, now(), status from scylla.workflow_run_state;
    perform scylla.create_pool('their pool', '{"a": 2}');
    update scylla.resource_pool set owner = 'scylla test owner';
    perform scylla.submit('a queue of the superuser', '1', rn => 'placed', needs => '{"their pool": {"a": 2}}');
    perform scylla.place('their pool');
    perform scylla.submit('a queue of the superuser', '1', rn => 'in line', needs => '{"their pool": {"a": 1}}');
    perform scylla.grant_pool('their pool', 'scylla_test_' || role, privilege)
    from (values ('admin', 'admin'), ('submitter', 'use'), ('worker', 'report')) g (role, privilege);
    perform scylla.grant_signal('their signal', 'scylla_test_' || role, privilege)
    from (values ('admin', 'admin'), ('submitter', 'send'), ('worker', 'wait')) g (role, privilege);
end $$;

-- ---- the matrix ----------------------------------------------------------------------------------------------------

-- One row per way of touching the queue r: the statement, and a letter for each kind of role, in the order of `kind`:
--   y  it does it: the answer is `done`
--   d  42501, naming the queue
--   l  the same for the privilege view
--   n  P0002: there is no such task
--   e  the answer is `nothing`
--   u  23505: the rn is taken, and that is all it learns
--   -  42501: not the owner
--   t  42704: there is no such schedule
--   p  P0002: there is no such plan
--   f  P0002: there is no such task to depend on
--   g  42501, naming the signal
--   i  42704: there is no such trigger
--   j  42501: not the owner of the job
--   k  42501, naming the workflow
-- A new function or view needs a row; one that is not about a queue has a y for everybody.
create temp table way (name text, query text, done text, nothing text, answers text);
insert into way values
--                                                                                                            Somagswvxhnd
('submit',             $$select queue from scylla.submit('r', '1')$$,                        'r', null,       'yyyydydddddd'),
('submit',             $$select queue from scylla.submit('r', '1', rn => 'r ready', on_duplicate => 'ignore')$$,
                                                                                             'r', null,       'yyyydudddddd'),
('submit',             $$select queue from scylla.submit('r', '1', rn => 'elsewhere', on_duplicate => 'ignore')$$,
                                                                    'a queue of the superuser', null,         'yuuududddddd'),
('submit_many',        $$select inserted from scylla.submit_many('[{"queue": "r", "spec": 1}]')$$,
                                                                                             'true', null,    'yyyydydddddd'),
('submit_many',        $$select inserted from scylla.submit_many('[{"queue": "r", "spec": 1, "rn": "elsewhere"}]')$$,
                                                                                             'false', null,   'yyyydydddddd'),
('submit_bulk',        $$select scylla.submit_bulk('r', '{1,2}')$$,                          '2', null,       'yyyydydddddd'),
('lease',              $$select rn from scylla.lease('r', 'w')$$,                            'r ready', null, 'yyyyydyddddd'),
('lease_task',         $$select rn from scylla.lease_task('r ready', 'w')$$,                 'r ready', null, 'yyyyynydnnnn'),
('lease_task',         $$select rn from scylla.lease_task('elsewhere', 'w')$$,               'elsewhere', null, 'ynnnnnnnnnnn'),
('heartbeat',          $$select rn from scylla.heartbeat('r running', 'w')$$,              'r running', null, 'yyyyynydnnnn'),
('heartbeat_many',     $$select held || ' ' || status from scylla.heartbeat_many('{r running}', 'w')$$,
                                                                                   'true running', 'null',    'yyyyyeydeeee'),
('complete',           $$select rn from scylla.complete('r running', 'w')$$,               'r running', null, 'yyyyynydnnnn'),
('complete_many',      $$select completed || ' ' || status from scylla.complete_many('{r running}', 'w')$$,
                                                                                   'true completed', 'null',  'yyyyyeydeeee'),
('complete_and_lease', $$select rn from scylla.complete_and_lease('{r running}', 'w', 'r')$$, 'r ready', null,
                                                                                                              'yyyyynydnnnn'),
('complete_and_lease', $$select rn from scylla.complete_and_lease('{}', 'w', 'r')$$,         'r ready', null, 'yyyyydyddddd'),
('abort',              $$select rn from scylla.abort('r running', 'w', '{"code": "x"}')$$, 'r running', null, 'yyyyynydnnnn'),
('fail',               $$select rn from scylla.fail('r running', 'w', '{"code": "x"}')$$,  'r running', null, 'yyyyynydnnnn'),
('yield',              $$select rn from scylla.yield('r running', 'w')$$,                  'r running', null, 'yyyyynydnnnn'),
('not_yet',            $$select rn from scylla.not_yet('r running', 'w')$$,                'r running', null, 'yyyyynydnnnn'),
('set_output',         $$select scylla.set_output('r running', '{}')$$, '22023 invalid value for argument "rn": "r running"; It must be a task that runs, of a step of a workflow.', null, 'yyyyynydnnnn'),
('defer',              $$select rn from scylla.defer('r running', 'w', '[]')$$,            'r running', null, 'yyyyynydnnnn'),
('cancel',             $$select rn from scylla.cancel('r waiting')$$,                      'r waiting', null, 'yyyynyndnnnn'),
('get_task',           $$select rn from scylla.get_task('r completed')$$,                'r completed', null, 'yyyynnnynnnn'),
('explain_waiting',    $$select count(*) > 0 from scylla.explain_waiting('r ready')$$,             'true', null, 'yyyynnnynnnn'),
('explain_waiting',    $$select count(*) > 0 from scylla.explain_waiting('elsewhere')$$,           'true', null, 'ynnnnnnnnnnn'),
('get_task',           $$select rn from scylla.get_task('elsewhere')$$,                    'elsewhere', null, 'ynnnnnnnnnnn'),
('list_tasks',         $$select count(*) from scylla.list_tasks('r')$$,                        '7', '0',      'yyyyeeeyeeee'),
('list_tasks',         $$select count(*) from scylla.list_tasks('r', 'ready')$$,               '2', '0',      'yyyyeeeyeeee'),
('list_tasks',         $$select count(*) from scylla.list_tasks(status => 'ready') where queue = 'r'$$, '2', '0',
                                                                                                              'yyyyeeeyeeee'),
('list_tasks',         $$select count(*) from scylla.list_tasks(status => 'running')$$,        '2', '0',      'yyyyeeeyeeee'),
('list_tasks',         $$select count(*) from scylla.list_tasks(worker => 'w')$$,              '4', '0',      'yyyyeeeyeeee'),
('list_tasks',         $$select rn from scylla.list_tasks() where rn = 'elsewhere'$$,    'elsewhere', 'null', 'yeeeeeeeeeee'),
('find_tasks',         $$select count(task) from scylla.find_tasks('{"queue": "r"}')$$,         '7', '0',      'yyyyeeeyeeee'),
('find_tasks',         $$select count(task) from scylla.find_tasks('{"status": "live"}') where (task).queue = 'r'$$,
                                                                                               '5', '0',      'yyyyeeeyeeee'),
('cancel_many',        $$select string_agg(status || coalesce(problem, ''), ' ') from scylla.cancel_many('{"queue": "r", "status": "waiting"}')$$,
                                                                                       'cancelled', null,     'yyyydldddddd'),
('cancel_many',        $$select count(*) from scylla.cancel_many('{"status": "waiting"}') where rn like 'r %' and problem is null$$,
                                                                                               '1', '0',      'yyyyeeeeeeee'),
('yield_many',         $$select string_agg(status || coalesce(problem, ''), ' ') from scylla.yield_many('{"queue": "r", "worker": "w"}', 1)$$,
                                                                                           'ready', null,     'yyyyldlddddd'),
('reschedule',         $$select rn from scylla.reschedule('r ready')$$,                  'r ready', null,    'yyyynyndnnnn'),
('set_priority',       $$select rn from scylla.set_priority('r ready', 3)$$,            'r ready', null,    'yyyynyndnnnn'),
('resubmit',           $$select (scylla.resubmit('r aborted', 'r again')).rn$$,         'r again', null,    'yyyynyndnnnn'),
('resubmit',           $$select coalesce((scylla.resubmit('r aborted')).spec::text, 'hidden')$$, '{"a": 1}', 'hidden', 'yyyynendnnnn'),
('resubmit_many',      $$select rn from scylla.resubmit_many('r')$$,                   'r aborted', null,    'yyyydldddddd'),
('resubmit_matching',  $$select rn from scylla.resubmit_matching('{"queue": "r"}')$$,   'r aborted', null,    'yyyydldddddd'),
('dead_tasks',         $$select count(*) from scylla.dead_tasks('r')$$,                        '1', '0',      'yyyyeeeyeeee'),
('dead_tasks',         $$select count(*) from scylla.dead_tasks() where queue = 'r'$$,         '1', '0',      'yyyyeeeyeeee'),
('rerun_plan',         $$select scylla.rerun_plan('their plan')$$, '55000 plan "their plan" has not ended', null, 'yyyppppppppp'),
('view resubmissions', $$select count(*) from scylla.resubmissions where queue = 'r'$$,        '1', '0',      'yyyyeeeyeeee'),
('delete_task',        $$select scylla.delete_task('r completed')$$,                            '', null,     'yyyynnndnnnn'),
('has_live_tasks',     $$select scylla.has_live_tasks('{r,no queue}')$$,                       'true', null,  'yyyyydyyddyd'),
('view task',          $$select count(*) from scylla.task where queue = 'r'$$,                 '7', '0',      'yyyyeeeyeeee'),
('view task',          $$select count(distinct status) from scylla.task where rn like 'r %'$$, '5', '0',      'yyyyeeeyeeee'),
('view task',          $$select rn from scylla.task where rn = 'elsewhere'$$,            'elsewhere', 'null', 'yeeeeeeeeeee'),
('view queue_grants',  $$select count(*) from scylla.queue_grants where queue = 'r'$$,         '7', '0',      'yyyyeeeyeeee'),
('view stat_heads',    $$select count(*) > 0 from scylla.stat_heads where queue = 'r'$$,
                                    (current_setting('shared_preload_libraries') <> '')::text, 'false',       'yyyyeeeyeeye'),
('view stat_queue',    $$select ready || ' ' || running from scylla.stat_queue where queue = 'r'$$, '2 2', 'null', 'yyyyeeeyeeye'),
('view stat_worker',   $$select leases from scylla.stat_worker where queue = 'r'$$,            '2', 'null',   'yyyyeeeyeeye'),
('view stat_monitor',  $$select count(*) < 2 from scylla.stat_monitor$$,                       'true', null,  'yyyyyyyyyyyy'),
('view stat_server_worker', $$select count(*) from scylla.stat_server_worker where role is not null$$, '0', null,     'yyyyyyyyyyyy'),
('view stat_database', $$select count(*) < 100 from scylla.stat_database$$,                    'true', null,  'yyyyyyyyyyyy'),
('view stat_clock',    $$select ahead || what from scylla.stat_clock where what = 'leases'$$,  '0leases', null, 'yyyyyyyyyyyy'),
('count_tasks',        $$select sum(tasks) from scylla.count_tasks('r')$$,                     '7', 'null',   'yyyyeeeyeeye'),
('count_tasks',        $$select sum(tasks) from scylla.count_tasks() where queue_name = 'r'$$, '7', 'null',   'yyyyeeeyeeye'),
('read_workflow_events', $$select count(*) from scylla.read_workflow_events()$$,                 '0', null,     'yyyyyyyyyyyy'),
('read_events',        $$select count(*) from scylla.read_events()$$,                           '0', null,     'yyyyyyyyyyyy'),
('metrics',            $$select scylla.metrics() ~ 'queue="r"'$$,                                'true', 'false', 'yyyyeeeyeeye'),
('quantile',           $$select scylla.quantile(array_fill(0::bigint, array[32]), 0.5)$$,      'null', null,  'yyyyyyyyyyyy'),
('stat_reset',         $$select scylla.stat_reset('r')$$,                                      '', null,      'yyyydddddddd'),
('stat_reset',         $$select scylla.stat_reset()$$,                                         '', null,      'yyyyyyyyyyyy'),
('view queue_settings', $$select count(*) from scylla.queue_settings where queue = 'r'$$,      '1', '0',      'yyyyeeeyeeee'),
('alter_queue',        $$select scylla.alter_queue('r', '{"aging": 1}')$$,                      '', null,     'yyyydddddddd'),
('pause_queue',        $$select scylla.pause_queue('r')$$,                                      '', null,     'yyyydddddddd'),
('resume_queue',       $$select scylla.resume_queue('r')$$,                                     '', null,     'yyyydddddddd'),
('drop_queue',         $$select scylla.drop_queue('r', force => true)$$,                        '', null,     'yyyydddddddd'),
('grant_queue',        $$select scylla.grant_queue('r', 'public', 'view')$$,                    '', null,     'yyyydddddddd'),
('revoke_queue',       $$select scylla.revoke_queue('r', 'public', 'view')$$,                   '', null,     'yyyydddddddd'),
('set_queue_owner',    $$select scylla.set_queue_owner('r', current_user::text)$$,              '', null,     'yyy---------'),
('schedule',           $$select scylla.schedule('mine', '@daily', 'r', '1') is not null$$,      'true', null, 'yyyydydddddd'),
('schedule_plan',      $$select scylla.schedule_plan('mine', '@daily', '[{"queue": "r", "spec": 1}]') is not null$$,
                                                                                             'true', null,    'yyyydydddddd'),
('schedule_job',       $$select scylla.schedule_job('mine', '@daily', 'their job', '{[1,2)}') is not null$$,
                                                                                             'true', null,    'yyyydydddddd'),
('unschedule',         $$select scylla.unschedule('theirs')$$,                                  '', null,     'yyyttttttttt'),
('view schedules',     $$select count(*) from scylla.schedules where name = 'theirs'$$,         '1', '0',     'yyyeeeeeeeee'),
('run_schedules',      $$select scylla.run_schedules()$$,                                       '0', null,    'yyyyyyyyyyyy'),
('arm_schedules',      $$select scylla.arm_schedules()$$,                                       '0', null,    'yyyyyyyyyyyy'),
('submit',             $$select status from scylla.submit('r', '1', depends_on => '{r running}')$$,
                                                                                          'waiting', null,    'yyyyfffdfffd'),
('submit_many',        $$select inserted from scylla.submit_many('[{"queue": "r", "spec": 1, "depends_on": ["r running"]}]')$$,
                                                                                          'true', null,       'yyyyfffdfffd'),
('depend',             $$select status from scylla.submit('a queue of my own', '1', depends_on => '{r running}')$$,
                                                                                          'waiting', null,    'yyyyfffdfffy'),
('depend',             $$select inserted from scylla.submit_many('[{"queue": "a queue of my own", "spec": 1, "depends_on": ["r running"]}]')$$,
                                                                                          'true', null,       'yyyyfffdfffy'),
('submit',             $$select status from scylla.submit('r', '1', plan => 'their plan')$$, 'waiting', null, 'yyypdpdddddd'),
('create_plan',        $$select scylla.create_plan('a plan of my own')$$,             'a plan of my own', null, 'yyyyyyyyyyyy'),
('open_plan',          $$select scylla.open_plan('their plan')$$,                               '', null,     'yyyppppppppp'),
('cancel_plan',        $$select scylla.cancel_plan('their plan')$$,                             '0', null,    'yyyppppppppp'),
('plan_completed',     $$select scylla.plan_completed('their plan')$$,                      'false', null,    'yyyppppppppp'),
('set_plan_owner',     $$select scylla.set_plan_owner('their plan', current_user::text)$$,     '', null,     'yyyppppppppp'),
('view plan',          $$select count(*) from scylla.plan where name = 'their plan'$$,          '1', '0',     'yyyeeeeeeeee'),
('plan_dot',           $$select scylla.plan_dot('their plan') ~ 'digraph'$$,                 'true', null,    'yyyppppppppp'),
('plan_mermaid',       $$select scylla.plan_mermaid('their plan') ~ 'flowchart'$$,           'true', null,    'yyyppppppppp'),
('plan_timeline',      $$select count(*) from scylla.plan_timeline('their plan')$$,          '0', null,       'yyyppppppppp'),
-- Which tasks of a plan one sees is in plan_pictures.sql.
('view plan_task',     $$select count(*) from scylla.plan_task where plan = 'their plan'$$,  '0', null,       'yyyyyyyyyyyy'),
('resolve_callback',   $$select scylla.resolve_callback('their callback')$$,                 'true', null,    'yyyyyyyyyyyy'),
('reject_callback',    $$select scylla.reject_callback('their callback', '{"code": "x"}')$$, 'true', null,    'yyyyyyyyyyyy'),
('view condition',     $$select count(*) from scylla.condition where name = 'their callback'$$, '1', '0',     'yyyeeeeeeeee'),
('submit',             $$select status from scylla.submit('mine', '1', wait_for => '[{"check": {"queue": "r", "spec": 1}}]')$$,
                                                                                          'waiting', null,    'yyyydddddddd'),
('view condition',     $$select waiters from scylla.condition where kind = 'check'$$,           '1', 'null',  'yeeeeeeeeeee'),
('view condition',     $$select waiters from scylla.condition where name = 'their signal'$$,  '1', 'null',    'yyyyeeyeeeee'),
('send_signal',        $$select scylla.send_signal('their signal') > 0$$,                    'true', null,    'yyyygygggggg'),
('submit',             $$select status from scylla.submit('mine', '1', wait_for => '[{"signal": "their signal", "match": {"of": 1}}]')$$,
                                                                                            'ready', null,    'yyyyggyggggg'),
('view signal',        $$select params from scylla.signal where name = 'their signal'$$, '{"of": 1}', 'null', 'yyyyeeyeeeee'),
('view signal_grants', $$select count(*) from scylla.signal_grants where signal = 'their signal'$$, '4', '0', 'yyyyeeyeeeee'),
('grant_signal',       $$select scylla.grant_signal('their signal', 'public', 'wait')$$,        '', null,     'yyyygggggggg'),
('revoke_signal',      $$select scylla.revoke_signal('their signal', 'public', 'wait')$$,       '', null,     'yyyygggggggg'),
('set_signal_owner',   $$select scylla.set_signal_owner('their signal', current_user::text)$$,  '', null,     'yyyygggggggg'),
('create_trigger',     $$select scylla.create_trigger('x', '[{"signal": "their signal"}]', '{"submit": {"queue": "mine", "spec": 1}}')$$,
                                                                                                '', null,     'yyyyggyggggg'),
('create_trigger',     $$select scylla.create_trigger('x', '[{"signal": "nobody''s"}]', '{"submit": {"queue": "r", "spec": 1}}')$$,
                                                                                                '', null,     'yyyydydddddd'),
('pause_trigger',      $$select scylla.pause_trigger('their trigger')$$,                        '', null,     'yyyiiiiiiiii'),
('resume_trigger',     $$select scylla.resume_trigger('their trigger')$$,                       '', null,     'yyyiiiiiiiii'),
('clear_trigger',      $$select scylla.clear_trigger('their trigger')$$,                       '2', null,     'yyyiiiiiiiii'),
('drop_trigger',       $$select scylla.drop_trigger('their trigger')$$,                         '', null,     'yyyiiiiiiiii'),
('view trigger',       $$select count(*) from scylla.trigger$$,                                '1', '0',      'yyyeeeeeeeee'),
('view trigger_signal', $$select count(*) from scylla.trigger_signal$$,                        '1', '0',      'yyyeeeeeeeee'),
('view trigger_failure', $$select count(*) from scylla.trigger_failure$$,                      '1', '0',      'yyyeeeeeeeee'),
('submit',             $$select status from scylla.submit('mine', '1', needs => '{"their pool": {"a": 1}}')$$, 'waiting', null, 'yyyyzyzzzzzz'),
('report_usage',       $$select scylla.report_usage('their pool', '{"a": 1}')$$,               '', null,     'yyyyzzyzzzzz'),
('alter_pool',         $$select scylla.alter_pool('their pool', '{"policy": "strict"}')$$,     '', null,     'yyyyzzzzzzzz'),
('drop_pool',          $$select scylla.drop_pool('their pool')$$, '2BP01 pool "their pool" is needed by tasks that have not ended', null, 'yyyyzzzzzzzz'),
('drain_pool',         $$select scylla.drain_pool('their pool')$$,                             '', null,     'yyyyzzzzzzzz'),
('resume_pool',        $$select scylla.resume_pool('their pool')$$,                            '', null,     'yyyyzzzzzzzz'),
('grant_pool',         $$select scylla.grant_pool('their pool', 'public', 'use')$$,            '', null,     'yyyyzzzzzzzz'),
('revoke_pool',        $$select scylla.revoke_pool('their pool', 'public', 'use')$$,           '', null,     'yyyyzzzzzzzz'),
('place',              $$select count(*) from scylla.place('their pool')$$,                    '0', null,    'yyyyzzzzzzzz'),
('view pool',          $$select free ->> 'a' from scylla.pool where pool = 'their pool'$$,     '0', 'null',  'yyyyeyyeeeee'),
('view stat_pool',     $$select reserved || ' ' || waiting || open from scylla.stat_pool where pool = 'their pool'$$, '2 1true', 'null', 'yyyyeyyeeeye'),
('view stat_waiting',  $$select concat_ws(' ', for_signals, for_checks, for_pools, checks) from scylla.stat_waiting where queue = 'a queue of the superuser'$$,
                                                                                         '1 1 1 1', 'null',   'yeeeeeeeeeye'),
('view stat_waiting',  $$select for_callbacks from scylla.stat_waiting where queue = 'behind'$$, '1', 'null',     'yyyeeeeyeeye'),
('view stat_trigger',  $$select waiting || ' ' || failing from scylla.stat_trigger$$,           '1 1', 'null',    'yyyeeeeeeeye'),
('metrics',            $$select scylla.metrics() ~ 'trigger="their trigger"'$$,                 'true', 'false',  'yyyeeeeeeeye'),
('view pool_reservation', $$select rn from scylla.pool_reservation where pool = 'their pool'$$, 'placed', 'null', 'yyyyeeeeeeee'),
('view pool_history',  $$select settings -> 'capacity' from scylla.pool_history where pool = 'their pool'$$, '{"a": 2}', 'null', 'yyyyeyyeeeee'),
('view pool_queue',    $$select reason from scylla.pool_queue where pool = 'their pool'$$, 'a short by 1 in pool their pool', 'null', 'yyyyeeeeeeee'),
('list_pool_queue',    $$select rn || ': ' || reason from scylla.list_pool_queue('their pool')$$, 'in line: a short by 1 in pool their pool', 'null', 'yyyyeeeeeeee'),
('run_job',            $$select length(scylla.run_job('their job', '{[1,2)}'))$$,               '36', null,    'yyyydydddddd'),
('explain_job',        $$select chunk from scylla.explain_job('their job', '{[1,2)}')$$,       '{[1,2)}', null, 'yyyydydddddd'),
('job_dot',            $$select scylla.job_dot('their job') ~ 'digraph'$$,                       'true', '42704 job "their job" does not exist', 'yyyyeyeyeeee'),
('job_mermaid',        $$select scylla.job_mermaid('their job') ~ 'flowchart'$$,                 'true', '42704 job "their job" does not exist', 'yyyyeyeyeeee'),
('grant_job',          $$select scylla.grant_job('their job', 'public', 'run')$$,            '', null,      'yyyjjjjjjjjj'),
('revoke_job',         $$select scylla.revoke_job('their job', 'public', 'run')$$,           '', null,      'yyyjjjjjjjjj'),
('define_job',         $$select scylla.define_job('their job', 'r')$$,                         '', null,      'yyyjdjdddddd'),
('define_job',         $$select scylla.define_job('a job of my own', 'none')$$, '42704 queue "none" does not exist', null, 'yyyyyyyyyyyy'),
('mark_fresh',         $$select scylla.mark_fresh('their job', '{[1,2)}')$$,                   '', null,      'yyyjjjjjjjjj'),
('forget_freshness',   $$select scylla.forget_freshness('their job')$$,                        '1', null,     'yyyjjjjjjjjj'),
('drop_job',           $$select scylla.drop_job('their job')$$,                                '', null,      'yyyjjjjjjjjj'),
('view job_type',      $$select count(*) from scylla.job_type$$,                               '1', '0',      'yyyyeyeyeeee'),
('view job_freshness', $$select ids from scylla.job_freshness$$,                               '{[1,9)}', 'null', 'yyyyeyeyeeee'),
('view job_plan',      $$select count(*) from scylla.job_plan$$,                               '1', '0',      'yyyeeeeeeeee'),
-- Not about a queue that exists, or about all of them: EXECUTE is enough.
('create_pool',        $$select scylla.create_pool('a pool of my own', '{"a": 1}')$$,           '', null,     'yyyyyyyyyyyy'),
('create_callback',    $$select scylla.create_callback('a callback of my own')$$, 'a callback of my own', null, 'yyyyyyyyyyyy'),
('create_queue',       $$select scylla.create_queue('a queue of my own')$$,                     '', null,     'yyyyyyyyyyyy'),
('backoff',            $$select scylla.backoff(0)$$,                                   '00:00:00.1', null,    'yyyyyyyyyyyy'),
('cron_next',          $$select scylla.cron_next('@daily', '2026-01-01 12:00Z')::date$$, '2026-01-02', null, 'yyyyyyyyyyyy'),
('sel_eval',           $$select scylla.sel_eval('1 + 1')$$,                                     '2', null,    'yyyyyyyyyyyy'),
('interpolate',        $$select scylla.interpolate('$a', '{"a": 1}')$$,                         '1', null,    'yyyyyyyyyyyy'),
('validate_workflow',  $$select problem from scylla.validate_workflow('{}')$$,     'has no "workflow"', null,  'yyyyyyyyyyyy'),
('create_workflow',    $$select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "mine", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}')$$, '1', null, 'yyyyyyyyyyyy'),
('create_workflow',    $$select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "theirs", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}')$$, '2', null, 'yyyykkkkkkkk'),
('create_job_template', $$select scylla.create_job_template('{"job_type": "mine", "type": "NoOp"}')$$,   '', null,     'yyyyyyyyyyyy'),
('create_job_template', $$select scylla.create_job_template('{"job_type": "theirs", "type": "NoOp"}')$$, '', null,     'yyyqqqqqqqqq'),
('drop_job_template',  $$select scylla.drop_job_template('theirs', 'default')$$,                '', null,     'yyyqqqqqqqqq'),
('view job_template',  $$select count(*) from scylla.job_template$$,                          '1', '1',      'yyyyyyyyyyyy'),
('activate_workflow',  $$select scylla.activate_workflow('theirs')$$,                           '', null,     'yyyykkkkkkkk'),
('deactivate_workflow', $$select scylla.deactivate_workflow('theirs')$$,                        '', null,     'yyyykkkkkkkk'),
('alter_workflow',     $$select scylla.alter_workflow('theirs', '{"tags": ["t"]}')$$,              '', null,     'yyyykkkkkkkk'),
('drop_workflow',      $$select scylla.drop_workflow('theirs')$$,                               '', null,     'yyyykkkkkkkk'),
('grant_workflow',     $$select scylla.grant_workflow('theirs', 'public', 'run')$$,             '', null,     'yyyykkkkkkkk'),
('revoke_workflow',    $$select scylla.revoke_workflow('theirs', 'public', 'run')$$,            '', null,     'yyyykkkkkkkk'),
('view workflow',      $$select count(*) from scylla.workflow$$,                               '1', '0',      'yyyyeyyeeeee'),
('view workflow_properties_history', $$select count(*) from scylla.workflow_properties_history$$, '1', '0', 'yyyyeyyeeeee'),
('view workflow_version', $$select count(*) from scylla.workflow_version$$,                    '1', '0',      'yyyyeyyeeeee'),
('start_workflow',     $$select status from scylla.start_workflow('theirs')$$,             'CREATED', null, 'yyyykykkkkkk'),
('start_workflows',    $$select status from scylla.start_workflows('[{"workflow": "theirs"}]')$$, 'CREATED', null, 'yyyykykkkkkk'),
('restart_run',        $$select scylla.restart_run('theirs', 1)$$, '55000 all steps of instance 1 of workflow "theirs" are complete', null, 'yyyykykkkkkk'),
('stop_run',           $$select scylla.stop_run('theirs', 1)$$, '55000 the last run of instance 1 of workflow "theirs" has ended', null, 'yyyykykkkkkk'),
('kill_run',           $$select scylla.kill_run('theirs', 1)$$, '55000 the last run of instance 1 of workflow "theirs" has ended', null, 'yyyykykkkkkk'),
('stop_workflow',      $$select scylla.stop_workflow('theirs')$$,                            '0', null,     'yyyykykkkkkk'),
('kill_workflow',      $$select scylla.kill_workflow('theirs')$$,                            '0', null,     'yyyykykkkkkk'),
('stop_step',          $$select scylla.stop_step('theirs', 1, 's')$$, '55000 the last run of instance 1 of workflow "theirs" has ended', null, 'yyyykykkkkkk'),
('kill_step',          $$select scylla.kill_step('theirs', 1, 's')$$, '55000 the last run of instance 1 of workflow "theirs" has ended', null, 'yyyykykkkkkk'),
('skip_step',          $$select scylla.skip_step('theirs', 1, 's') > 0$$, 'true', null, 'yyyykykkkkkk'),
('restart_step',       $$select scylla.restart_step('theirs', 1, 's') > 0$$, 'true', null, 'yyyykykkkkkk'),
('bypass_step',        $$select scylla.bypass_step('theirs', 1, 's')$$, '55000 the last run of instance 1 of workflow "theirs" has ended', null, 'yyyykykkkkkk'),
('pause_step',         $$select scylla.pause_step('theirs', 1, 's')$$, '55000 the last run of instance 1 of workflow "theirs" has ended', null, 'yyyykykkkkkk'),
('resume_step',        $$select scylla.resume_step('theirs', 1, 's')$$, '55000 the last run of instance 1 of workflow "theirs" has ended', null, 'yyyykykkkkkk'),
('set_breakpoint',     $$select scylla.set_breakpoint('theirs', 's')$$,                      '', null,      'yyyykykkkkkk'),
('drop_breakpoint',    $$select scylla.drop_breakpoint('theirs', 's', 1)$$,                  '', null,      'yyyykykkkkkk'),
('pause_workflow',     $$select scylla.pause_workflow('theirs')$$,                           '', null,      'yyyykykkkkkk'),
('resume_workflow',    $$select scylla.resume_workflow('theirs')$$,                          '', null,      'yyyykykkkkkk'),
('unblock_run',        $$select scylla.unblock_run('theirs', 1)$$, '55000 the last run of instance 1 of workflow "theirs" has not failed', null, 'yyyykykkkkkk'),
('run_sql',            $$select scylla.run_sql(null)$$, '22023 invalid value for argument "task": null; It must be a task.', null, 'yyyyyyyyyyyy'),
('unblock_workflow',   $$select scylla.unblock_workflow('theirs')$$,                         '0', null,     'yyyykykkkkkk'),
('run_tree',            $$select count(*) > 0 from scylla.run_tree('theirs', 1)$$, 'true', null, 'yyyykyykkkkk'),
('failed_steps',        $$select count(*) from scylla.failed_steps('theirs', 1)$$, '0', null, 'yyyykyykkkkk'),
('explain_run',         $$select count(*) from scylla.explain_run('theirs', 1)$$, '0', null, 'yyyykyykkkkk'),
('workflow_dot',        $$select scylla.workflow_dot('theirs') ~ 'digraph'$$, 'true', null, 'yyyykyykkkkk'),
('workflow_mermaid',    $$select scylla.workflow_mermaid('theirs') ~ 'flowchart'$$, 'true', null, 'yyyykyykkkkk'),
('run_dot',             $$select scylla.run_dot('theirs', 1) ~ 'digraph'$$, 'true', null, 'yyyykyykkkkk'),
('run_mermaid',         $$select scylla.run_mermaid('theirs', 1) ~ 'flowchart'$$, 'true', null, 'yyyykyykkkkk'),
('run_gantt',           $$select scylla.run_gantt('theirs', 1) ~ 'gantt'$$, 'true', null, 'yyyykyykkkkk'),
('lineage_dot',         $$select scylla.lineage_dot('theirs', 1) ~ 'digraph'$$, 'true', null, 'yyyykyykkkkk'),
('lineage_mermaid',     $$select scylla.lineage_mermaid('theirs', 1) ~ 'flowchart'$$, 'true', null, 'yyyykyykkkkk'),
('backfill',           $$select scylla.backfill('theirs', '[{}]') > 0$$,                       'true', null,  'yyyykykkkkkk'),
('preview_backfill',   $$select action from scylla.preview_backfill('theirs', '[{}]')$$,       'start', null, 'yyyykykkkkkk'),
('pause_backfill',     $$select scylla.pause_backfill(1)$$,                                    '', null,      'yyyykykkkkkk'),
('resume_backfill',    $$select scylla.resume_backfill(1)$$,                                   '', null,      'yyyykykkkkkk'),
('cancel_backfill',    $$select scylla.cancel_backfill(1)$$,                                   '1', null,     'yyyykykkkkkk'),
('view workflow_backfill', $$select count(*) from scylla.workflow_backfill$$,                  '1', '0',      'yyyyeyyeeeee'),
('view workflow_backfill_item', $$select count(*) from scylla.workflow_backfill_item$$,        '2', '0',      'yyyyeyyeeeee'),
('view workflow_run',  $$select count(*) from scylla.workflow_run$$,                           '2', '0',      'yyyyeyyeeeee'),
('view workflow_step', $$select count(*) from scylla.workflow_step$$,                          '2', '0',      'yyyyeyyeeeee'),
('view workflow_step_attempt', $$select count(*) from scylla.workflow_step_attempt$$,          '2', '0',      'yyyyeyyeeeee'),
('view workflow_loop_iteration', $$select count(*) from scylla.workflow_loop_iteration$$,      '0', '0',      'yyyyeyyeeeee'),
('view workflow_param', $$select count(distinct instance) from scylla.workflow_param$$,          '2', '0',      'yyyyeyyeeeee'),
('view workflow_rollup', $$select count(*) from scylla.workflow_rollup$$,                        '2', '0',      'yyyyeyyeeeee'),
('view workflow_timeline', $$select count(distinct instance) from scylla.workflow_timeline$$,    '2', '0',      'yyyyeyyeeeee'),
('view workflow_lineage', $$select count(*) from scylla.workflow_lineage$$,                      '1', '0',      'yyyyeeyeeeee'),
('view stat_workflow', $$select count(*) from scylla.stat_workflow where workflow = 'theirs'$$,  '1', '0',      'yyyyeyyeeeye'),
('view workflow_action', $$select count(*) from scylla.workflow_action$$,                        '2', '0',      'yyyyeyyeeeee'),
('view workflow_breakpoint', $$select count(*) from scylla.workflow_breakpoint$$,                '1', '0',      'yyyyeyyeeeee'),
('register_worker',    $$select scylla.register_worker() ~ '^registered-'$$,                    'true', null, 'yyyyyyyyyyyy'),
('reset_expired',      $$select scylla.reset_expired()$$,                                       '1', null,    'yyyyyyyyyyyy'),
('purge',              $$select scylla.purge()$$,                                               '0', null,    'yyyyyyyyyyyy'),
('maintain',           $$select scylla.maintain()$$,                                            '', null,     'yyyyyyyyyyyy'),
('check',              $$select count(*) from scylla.check()$$,                                 '0', null,    'yyyyyyyyyyyy');

select is(as_role(k.role, w.query),
          case substr(w.answers, n::int, 1)
              when 'y' then w.done
              when 'e' then w.nothing
              when 'n' then format('P0002 task "%s" does not exist', substring(w.query from '[''{](r [a-z]+|elsewhere)'))
              when 'u' then format('23505 task "%s" already exists', substring(w.query from 'rn => ''([a-z ]+)'))
              when 'd' then format('42501 permission denied for queue "r"; Role "%s" does not have the privilege "%s".',
                                   k.role, case when w.query ~ 'depend' and substr(w.answers, n::int, 1) = 'd' and k.letter = 'v' then 'depend'
                                                when w.query ~ '"check"' and k.letter = 's' then 'depend'
                                                when w.name ~ 'submit|cancel|schedule|trigger|job|set_priority' then 'submit'
                                                when w.name ~ '_queue$|_reset|delete_task' then 'admin' else 'work' end)
              when 'l' then format('42501 permission denied for queue "r"; Role "%s" does not have the privilege "view".', k.role)
              when '-' then '42501 must be owner of queue "r"'
              when 'p' then 'P0002 plan "their plan" does not exist'
              when 'f' then format('P0002 task "r running" in "depends_on"%s does not exist',
                                   case when w.query ~ 'submit_many' then ' in element 1' else '' end)
              when 'g' then format('42501 permission denied for signal "their signal"; Role "%s" does not have the privilege "%s".',
                                   k.role, case when w.name ~ '^(grant|revoke|set)_signal' then 'admin'
                                                when w.name = 'send_signal' then 'send' else 'wait' end)
              when 't' then '42704 schedule "theirs" does not exist'
              when 'j' then '42501 must be owner of job "their job"'
              when 'i' then '42704 trigger "their trigger" does not exist'
              when 'k' then format('42501 permission denied for workflow "theirs"; Role "%s" does not have the privilege "%s".', k.role,
                                   case when w.name = 'explain_run' then 'view' when w.name ~ 'start_workflow|_run$|_step$|stop_|kill_|unblock|backfill|breakpoint|pause_workflow|resume_workflow' then 'run' when w.name ~ '^run_|failed_steps|_dot|_mermaid' then 'view' else 'admin' end)
              when 'q' then format('42501 permission denied for job template "theirs"; Role "%s" is not its owner.', k.role)
              when 'z' then format('42501 permission denied for pool "their pool"; Role "%s" does not have the privilege "%s".',
                                   k.role, case w.name when 'submit' then 'use' when 'report_usage' then 'report' else 'admin' end)
          end,
          format('%s: %s', k.role, w.query))
from way w, (select *, row_number() over () as n from kind) k;
select is((select count(*) from way where length(answers) <> (select count(*) from kind)), 0::bigint,
          'the matrix has no holes');
-- wait, wait_any, wait_plan, work and advance do not run in a transaction: t/wait.pl and t/handlers.pl have them. role_kinds.sql has
-- those that concern no queue.
select set_eq($$select distinct name from way where name <> 'depend' union all values ('wait'), ('wait_any'), ('wait_plan'), ('work'), ('advance'), ('grant_role'), ('revoke_role'), ('role_kinds')$$,
              $$select proname::text from pg_proc where pronamespace = 'scylla'::regnamespace and proname !~ '^_'
                union all
                select 'view ' || relname from pg_class
                where relnamespace = 'scylla'::regnamespace and relkind in ('v', 'm') and relname !~ '^_'$$,
              'no function and no view is left out');

-- ---- what the answers contain --------------------------------------------------------------------------------------

select is(as_role('scylla_test_submitter', $$select row(status, spec, args, errors, history, result, metrics)
                                             from scylla.cancel('r running')$$), '(cancelled,,,,,,)',
          'who may submit but not view cancels without seeing the content');
select is(as_role('scylla_test_admin', $$select spec from scylla.cancel('r running')$$), '{"a": 1}',
          'others get it all');
select is(as_role('scylla_test_worker', $$select spec from scylla.lease('r', 'w')$$), '{"a": 1}',
          'a worker sees what it leases');
select is(as_role('scylla_test_worker', $$select scylla.complete('r completed', 'w')$$),
          '55000 task "r completed" is not held by worker "w"; Its status is completed, its owner is "w" and its attempt is 1.',
          'and how a task stands that it names');
select is(as_role('scylla_test_stranger', query), replace(as_role('scylla_test_stranger', replace(query, 'r ready', 'nobody has')),
                                                          'nobody has', 'r ready'),
          'a hidden task and none are the same: ' || query)
from unnest(array[$$select scylla.get_task('r ready')$$, $$select scylla.cancel('r ready')$$,
                  $$select scylla.lease_task('r ready', 'w')$$, $$select scylla.complete('r ready', 'w')$$,
                  $$select row(held, status) from scylla.heartbeat_many('{r ready}', 'w')$$,
                  $$select scylla.complete_and_lease('{r ready}', 'w', 'r')$$]) query;

-- A plan belongs to its owner, the results of its tasks do not.
do $$ begin
    perform set_config('role', 'scylla_test_submitter', true);
    perform scylla.create_plan('blind plan');
    perform scylla.submit('r', '1', rn => 'blind', plan => 'blind plan');
    perform scylla.open_plan('blind plan');
    perform set_config('role', 'none', true);
    perform scylla.lease_task('blind', 'w');
    perform scylla.complete('blind', 'w', '"a secret"');
end $$;
select is(as_role('scylla_test_submitter', $$select row(status, completed, result) from scylla.plan$$), '(completed,1,)',
          'the owner of a plan learns that a task has ended, but not its result, where it may not view the queue');
select is(as_role(current_user, $$select result from scylla.plan where name = 'blind plan'$$), '{"blind": "a secret"}',
          'who may view it does');

-- ---- a condition that prints what it sees --------------------------------------------------------------------------

-- As cheap as it claims to be, it is not asked about rows that the reader may not see, nor is an operator on it shown the
-- statistics of the columns.
create temp table seen (what text);
grant all on seen to public;
create function peep(text) returns boolean language plpgsql cost 0.0000001
    as $$ begin insert into seen values ($1); return true; end $$;
create function peep(jsonb, jsonb) returns boolean language plpgsql cost 0.0000001
    as $$ begin insert into seen values ($1); return true; end $$;
create operator test.=== (leftarg = jsonb, rightarg = jsonb, function = peep, restrict = eqsel);
grant execute on function peep(text), peep(jsonb, jsonb) to public;
create function peep_as(role text, query text) returns setof text language plpgsql as $$
begin
    truncate seen;
    perform set_config('role', role, true);
    execute query;
    perform set_config('role', 'none', true);
    return query select distinct what from seen order by 1;
end $$;
do $$ begin
    perform scylla.create_queue('mine');
    perform scylla.set_queue_owner('mine', 'scylla_test_stranger');
    perform given('mine ' || state, state, 'mine')
    from unnest(array['ready', 'running', 'waiting', 'completed', 'cancelled']) state;
    perform scylla.submit_bulk('r', array_agg('"a secret"'::jsonb)) from generate_series(1, 300);
end $$;
-- Plans depend on all of their statistics, which autovacuum might change meanwhile; the locks keep it away.
analyze scylla.task_spec, scylla.task_ready, scylla.task_waiting, scylla.task_lease, scylla.task_outcome, scylla.queue;
select results_eq(format('select * from peep_as(''scylla_test_stranger'', %L)', query),
                  $$values ('mine cancelled'), ('mine completed'), ('mine ready'), ('mine running'), ('mine waiting')$$,
                  'only shown what the reader may view: ' || query)
from unnest(array['select count(*) from scylla.task where test.peep(rn)',
                  'select count(*) from scylla.task where test.peep(rn) and queue like ''%''',
                  'select count(*) from scylla.task t join pg_class c on test.peep(rn)',
                  'select count(*) from scylla.task t where exists (select from scylla.task u where t.rn = u.rn '
                  'and test.peep(t.rn))']) query;
select results_eq($$select * from peep_as('scylla_test_stranger',
                                          'select count(*) from scylla.task where spec operator(test.===) ''1''')$$,
                  $$values ('{"a": 1}')$$, 'nor does the planner tell of others by its statistics');
-- What EXPLAIN tells, as docs/guarantees.md says: the most rows that a scan of task_spec has found.
create function found_as(role text, query text) returns numeric language plpgsql
    set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    plan json;
begin
    perform set_config('role', role, true);
    execute 'explain (analyze, format json) ' || query into plan;
    perform set_config('role', 'none', true);
    return (select max((node ->> 'Actual Rows')::numeric) from jsonb_path_query(plan::jsonb, '$.** ? (@."Relation Name" == "task_spec")') node);
end $$;
select is(found_as('scylla_test_stranger', $$select rn from scylla.task where rn = 'elsewhere' and status = 'ready'$$) > 0
          and found_as('scylla_test_stranger', $$select rn from scylla.task where rn = 'nowhere' and status = 'ready'$$) = 0,
          true, 'EXPLAIN tells a stranger that a name is taken');
select is(found_as('scylla_test_stranger', $$select rn from scylla.task where spec = '"a secret"' and status = 'ready'$$),
          found_as('scylla_test_stranger', $$select rn from scylla.task where spec = '"no secret"' and status = 'ready'$$),
          '... but nothing of what a spec contains');
select results_eq($$select * from peep_as('scylla_test_stranger',
                                          'select count(*) from scylla.queue_grants where test.peep(queue)')$$,
                  $$values ('mine')$$, 'queue_grants neither');
select is_empty($$select from peep_as('scylla_test_crew', 'select count(*) from scylla.task where test.peep(rn)')$$,
                'nothing is shown to who may view nothing');

-- Conditions that leak nothing still go to the indexes, and the status decides which tables are read at all.
-- There are enough tasks of every kind for that, whatever statistics other files have left.
do $$
declare
    names text[];
begin
    perform scylla.submit_bulk('many', array_fill('1'::jsonb, array[2000]));
    perform scylla.submit_many((select jsonb_agg('{"queue": "many", "spec": 1, "not_before": "2999-01-01"}'::jsonb)
                                from generate_series(1, 500)));
    select array_agg(rn) into names from scylla.lease('many', 'w', 1500);
    perform scylla.complete_many(names[1:500], 'w');
    perform scylla.cancel(rn) from unnest(names[501:1000]) rn;
end $$;
analyze scylla.queue, scylla.task_spec, scylla.task_ready, scylla.task_lease, scylla.task_waiting, scylla.task_outcome;
create function plan(query text) returns text language plpgsql as $$
declare
    line text;
    lines text := '';
begin
    perform set_config('role', 'scylla_test_stranger', true);
    for line in execute 'explain (costs off) ' || query loop
        lines := lines || line || E'\n';
    end loop;
    perform set_config('role', 'none', true);
    return lines;
end $$;
create function tables_read(query text) returns text language sql as $$
    select string_agg(distinct m[1], ' ' order by m[1]) from regexp_matches(plan(query), ' on (task_\w+) ', 'g') m;
$$;
set local enable_seqscan = off;
select matches(plan($$select * from scylla.task where rn = 'x'$$), 'task_spec_rn[^\n]*\n *Index Cond: \(rn = ''x''::text\)',
               'a task is found by its name');
select unalike(plan($$select * from scylla.task where rn = 'x'$$), '%Filter: (rn%', 'in every part');
reset enable_seqscan;
select is(tables_read(format('select rn from scylla.task where status = %L', status)), tables,
          format('%s tasks are in %s', status, tables))
from (values ('ready', 'task_outcome task_ready task_spec'), ('running', 'task_lease task_outcome task_spec'),
             ('waiting', 'task_outcome task_spec task_waiting'), ('completed', 'task_outcome task_spec')) s (status, tables);
select alike(plan($$select rn from scylla.task where status = 'running'$$), '%(status <> ''completed''%',
             'the completed ones are not joined to find that they do not run');

-- ---- whose rights --------------------------------------------------------------------------------------------------

create function status_of(rn text) returns text language sql security definer
    as $$ select status from scylla.get_task(rn); $$;
create function count_of(queue text) returns bigint language sql security definer
    as $$ select count(*) from scylla.task t where t.queue = count_of.queue; $$;
create function submit_to(queue text) returns text language sql security definer
    as $$ select queue from scylla.submit(queue, '1'); $$;
alter function status_of owner to scylla_test_viewer;
alter function count_of owner to scylla_test_viewer;
alter function submit_to owner to scylla_test_submitter;
grant execute on function status_of, count_of, submit_to to public;
select is(as_role('scylla_test_stranger', $$select test.status_of('r ready')$$), 'ready',
          'in a SECURITY DEFINER function the rights are its owner''s');
select is(as_role('scylla_test_stranger', $$select test.count_of('r') > 0$$), 'true', 'for the view, too');
select is(as_role('scylla test owner', $$select test.submit_to('r')$$), 'r', 'and only its owner''s: the submitter''s');
select is(as_role('scylla_test_admin', $$select test.status_of('elsewhere')$$),
          'P0002 task "elsewhere" does not exist', 'who may view less');
select is(as_role('scylla_test_stranger', $$select (select owner::text from scylla.queue where name = 'made inside')
                                            from test.submit_to('made inside')$$),
          '42501 permission denied for table queue', 'the table of queues is for nobody');
do $$ begin
    perform set_config('role', 'scylla_test_stranger', true);
    perform test.submit_to('made inside');
    perform scylla.submit('made by use', '1');
    perform scylla.create_queue('made');
    perform set_config('role', 'none', true);
end $$;
select results_eq($$select name, owner::text collate "default" from scylla.queue where name like 'made%' order by 1$$,
                  $$values ('made', 'scylla_test_stranger'), ('made by use', 'scylla_test_stranger'),
                  ('made inside', 'scylla_test_submitter')$$, 'a queue belongs to who made it');

-- ---- grant, revoke, give away --------------------------------------------------------------------------------------

create function grants(queue text) returns text language sql as $$
    select string_agg(privilege || ' ' || role, ', ' order by privilege, role) from scylla.queue_grants g
    where g.queue = grants.queue;
$$;
do $$ begin perform scylla.create_queue('g'); perform scylla.set_queue_owner('g', 'scylla test owner'); end $$;
select is(grants('g'), 'owner scylla test owner', 'a new queue is for its owner only');
select lives_ok($$select scylla.grant_queue('g', 'scylla_test_worker', privilege)
                  from unnest(array['work', 'submit', 'work', 'view', 'work']) privilege$$, 'granting twice is no error');
select is(grants('g'), 'owner scylla test owner, submit scylla_test_worker, view scylla_test_worker, '
          'work scylla_test_worker', 'and makes no difference');
select lives_ok($$select scylla.revoke_queue('g', role, 'work')
                  from unnest(array['scylla_test_worker', 'scylla_test_worker', 'scylla_test_viewer', 'nobody', 'public',
                                    'scylla test owner']) role$$, 'nor is revoking what there is not');
select is(grants('g'), 'owner scylla test owner, submit scylla_test_worker, view scylla_test_worker',
          'other privileges stay');
select is(workers, null, 'nothing is left of the last one') from scylla.queue where name = 'g';
select is(as_role('scylla_test_stranger', $$select rn from scylla.lease('g', 'w')$$),
          '42501 permission denied for queue "g"; Role "scylla_test_stranger" does not have the privilege "work".',
          'without a grant');
select lives_ok($$select scylla.grant_queue('g', 'public', 'work')$$, 'a grant for everybody');
select is(as_role('scylla_test_stranger', $$select count(*) from scylla.lease('g', 'w')$$), '0', 'counts for everybody');
select lives_ok($$select scylla.revoke_queue('g', 'public', 'work')$$, 'and ends');
select matches(as_role('scylla_test_stranger', $$select rn from scylla.lease('g', 'w')$$), '^42501', 'for everybody');
select is(as_role('scylla test owner', $$select count(*) from scylla.lease('g', 'w')$$), '0', 'but the owner');
select is(as_role('scylla test owner', $$select scylla.grant_queue('g', 'scylla_test_heir', 'admin')::text
                                         || set_config('role', 'scylla_test_heir', true)
                                         || scylla.grant_queue('g', 'scylla_test_crew', 'submit')
                                         || set_config('role', 'scylla_test_crew', true)
                                         || (scylla.submit('g', '1')).queue$$), 'scylla_test_heirscylla_test_crewg',
          'what is granted counts at once, within the transaction');

select is(as_role('scylla test owner', $$select scylla.set_queue_owner('r', 'scylla_test_stranger')$$)
          ~ '^42501 must be (member of|able to SET ROLE) ', true, 'an owner cannot give a queue to just anybody');
set local role scylla_test_member;
select lives_ok($$select scylla.set_queue_owner('r', 'scylla_test_member')$$, 'but to himself');
reset role;
select is(grants('r'), 'admin scylla_test_admin, depend scylla_test_depender, owner scylla_test_member, submit scylla_test_submitter, '
          'view scylla_test_viewer, work scylla_test_group, work scylla_test_worker', 'the grants stay');
select matches(as_role('scylla test owner', $$select scylla.get_task('r ready')$$), '^P0002', 'the former owner has nothing');
select lives_ok($$select scylla.set_queue_owner('g', 'scylla_test_stranger')$$, 'a superuser may');
select is(grants('g'), 'owner scylla_test_stranger, submit scylla_test_worker, view scylla_test_worker', 'and it is done');

-- A plan likewise, whatever has become of it.
select is(as_role('scylla test owner', $$select scylla.set_plan_owner('their plan', 'scylla_test_stranger')$$)
          ~ '^42501 must be (member of|able to SET ROLE) ', true, 'an owner cannot give a plan to just anybody');
set local role scylla_test_member;
select lives_ok($$select scylla.set_plan_owner('their plan', 'scylla_test_member')$$, 'but to himself');
select is((select owner from scylla.plan where name = 'their plan'), 'scylla_test_member', 'and it is his');
reset role;
select matches(as_role('scylla test owner', $$select scylla.open_plan('their plan')$$), '^P0002', 'for the former owner it is gone');
select is(as_role('scylla_test_member', $$select scylla.cancel_plan('their plan')$$), '0', 'the new one does with it what he likes');
select lives_ok($$select scylla.cancel_plan('their plan'), scylla.set_plan_owner('their plan', 'scylla_test_stranger')$$, 'a superuser may');

-- ---- errors --------------------------------------------------------------------------------------------------------

select signature_is('grant_queue', 'queue text, role text, privilege text', 'void');
select signature_is('revoke_queue', 'queue text, role text, privilege text', 'void');
select signature_is('set_queue_owner', 'queue text, owner text', 'void');
select * from checks_name('select scylla.grant_queue($1, ''public'', ''view'')', 'queue');
select * from checks_name('select scylla.revoke_queue($1, ''public'', ''view'')', 'queue');
select * from checks_name('select scylla.set_queue_owner($1, ''scylla_test_stranger'')', 'queue');
select signature_is('set_plan_owner', 'plan text, owner text', 'void');
select * from checks_name('select scylla.set_plan_owner($1, ''scylla_test_stranger'')', 'plan');
select * from checks_name('select scylla.set_plan_owner(''their plan'', $1)', 'owner');
select refuses($$select scylla.set_plan_owner('nothing', 'scylla_test_stranger')$$, 'P0002', 'exists', 'plan "nothing" does not exist',
               table_ => 'plan');
select refuses($$select scylla.set_plan_owner('their plan', 'nobody')$$, '42704', 'role', 'role "nobody" does not exist', table_ => 'plan');
select * from checks_name('select scylla.grant_queue(''g'', $1, ''view'')', 'role');
select * from checks_name('select scylla.revoke_queue(''g'', $1, ''view'')', 'role');
select * from checks_name('select scylla.set_queue_owner(''g'', $1)', 'owner');
select refuses_argument(format('select scylla.%s(''g'', ''public'', %L)', f, v), 'privilege', coalesce('"' || v || '"', 'null'),
                        'It must be "submit", "work", "view", "depend" or "admin".')
from unnest(array['grant_queue', 'revoke_queue']) f, unnest(array['', 'select', 'View', 'owner', null]) v;
select refuses(format('select scylla.%s', call), '42704', 'exists', 'queue "nowhere" does not exist', table_ => 'queue')
from unnest(array[$$grant_queue('nowhere', 'public', 'view')$$, $$revoke_queue('nowhere', 'public', 'view')$$,
                  $$set_queue_owner('nowhere', 'scylla_test_stranger')$$]) call;
select refuses(format('select scylla.%s', call), '42704', 'role', format('role "%s" does not exist', role), table_ => 'queue')
from (values ($$grant_queue('g', 'nobody', 'view')$$, 'nobody'), ($$grant_queue('g', 'Public', 'view')$$, 'Public'),
             ($$grant_queue('g', '"scylla test owner"', 'view')$$, '"scylla test owner"'),
             ($$grant_queue('g', repeat('r', 64), 'view')$$, repeat('r', 64)),
             ($$set_queue_owner('g', 'nobody')$$, 'nobody'), ($$set_queue_owner('g', 'public')$$, 'public')) c (call, role);
set local role scylla_test_worker;
select refuses($$select scylla.lease('mine', 'w')$$, '42501', 'privilege', 'permission denied for queue "mine"',
               'Role "scylla_test_worker" does not have the privilege "work".', table_ => 'queue');
select refuses($$select scylla.set_queue_owner('mine', 'scylla_test_worker')$$, '42501', 'owner',
               'must be owner of queue "mine"', table_ => 'queue');
reset role;

-- ---- roles that go -------------------------------------------------------------------------------------------------

select all_is_sound();
do $$ begin
    perform scylla.grant_queue('g', 'scylla_test_crew', privilege) from unnest(array['work', 'view']) privilege;
    perform scylla.grant_queue('g', 'public', 'submit');
end $$;
alter role scylla_test_crew rename to scylla_test_gang;
alter role scylla_test_stranger rename to scylla_test_friend;
select results_eq('select * from scylla.check() order by problem collate "C"',
                  $$values (null::text, 'plan "their plan" belongs to role "scylla_test_stranger", which does not exist'),
                           (null, 'queue "g" belongs to role "scylla_test_stranger", which does not exist'),
                           (null, 'queue "g" is granted to role "scylla_test_crew", which does not exist'),
                           (null, 'queue "made by use" belongs to role "scylla_test_stranger", which does not exist'),
                           (null, 'queue "made" belongs to role "scylla_test_stranger", which does not exist'),
                           (null, 'queue "mine" belongs to role "scylla_test_stranger", which does not exist')$$,
                  'check() reports roles that do not exist');
select matches(as_role(role, $$select scylla.lease('g', 'w')$$), '^42501 permission denied', 'nobody has the rights of ' || role)
from unnest(array['scylla_test_gang', 'scylla_test_friend']) role;
select matches(as_role('scylla_test_worker', $$select rn from scylla.submit('g', '1')$$), '^[0-9a-f-]{36}$',
               'others keep theirs');
do $$ begin
    perform scylla.revoke_queue('g', 'scylla_test_crew', privilege) from unnest(array['work', 'view']) privilege;
    perform scylla.set_queue_owner(queue, 'scylla_test_friend')
    from unnest(array['g', 'made', 'made by use', 'mine']) queue;
    perform scylla.set_plan_owner('their plan', 'scylla_test_friend');
end $$;
select all_is_sound();
select * from finish();
rollback;
