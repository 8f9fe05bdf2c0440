-- Permits that steps of workflows need: tags, step_concurrency, instance_step_concurrency. Numbers in brackets are sections of the
-- specification of Maestro's behaviour.
begin;
\ir include/helpers.psql
select * from no_plan();
select scylla.create_queue('a'), scylla.create_queue('b') \g /dev/null
\ir include/workflows.psql

-- Places what can be placed, and lets the engine hear of it. Returns how many tasks that were.
create function place(pool text = null) returns bigint language plpgsql as $$
declare n bigint;
begin
    n := (select count(*) from scylla.place(pool));
    perform advance();
    return n;
end $$;
create function permits(name text) returns text language sql as $$
    select format('%s of %s, %s wait', reserved ->> 'permits', capacity ->> 'permits', waiting) from scylla.pool where pool = name
$$;
create function over(id text, n int, steps jsonb, more jsonb = '{}') returns jsonb language sql as $$
    select jsonb_build_object('foreach', jsonb_build_object('id', id, 'steps', steps, 'params', jsonb_build_object('loop_params',
        jsonb_build_object('type', 'MAP', 'value', jsonb_build_object('i', jsonb_build_object('type', 'LONG_ARRAY', 'expression', format('Util.intsBetween(0, %s, 1)', n)))))) || more)
$$;

-- ---- tags (13) ----------------------------------------------------------------------------------------------------------

select scylla.create_pool('tag:db', '{"permits": 2}'), scylla.create_pool('tag:gpu', '{"permits": 1}') \g /dev/null
select make('tagged', jsonb_build_array(step('s1', '{}', '{"tags": ["gpu"]}'), step('s2', '{}', '{"tags": [{"name": "gpu"}, "free"]}'), step('s3')), '{"tags": ["db"]}') \g /dev/null
select start('tagged') \g /dev/null
select is(steps('tagged'), 's1 RUNNING, s2 WAITING_FOR_PERMITS, s3 WAITING_FOR_PERMITS',
          'a step for whose tags there are permits runs at once; one for which there are none waits, and who comes after it gets in line (13)');
select is((select array_agg(s.needs order by t.spec ->> 'step') from scylla.task t join scylla.task_spec s using (rn) where t.queue = 'a'),
          array['{"tag:db": {"permits": 1}, "tag:gpu": {"permits": 1}}', '{"tag:db": {"permits": 1}, "tag:gpu": {"permits": 1}}', '{"tag:db": {"permits": 1}}']::jsonb[],
          'of those of the workflow, and those of the step; a tag without a pool is only a word');
select is((select string_agg(s.spec ->> 'step', ',') from scylla.task s where s.queue = 'a' and s.status = 'ready'), 's1', 'no worker gets those that wait');
select is(place(), 1::bigint, 'all tags or none');
select is(steps('tagged'), 's1 RUNNING, s2 WAITING_FOR_PERMITS, s3 RUNNING', 'a step that has its permits runs');
select is((select started is not null from scylla.workflow_step where workflow = 'tagged' and step = 's1'), true, 'its time has begun (6.6)');
select is((select started from scylla.workflow_step where workflow = 'tagged' and step = 's2'), null, 'that of a step which waits has not');
select is(permits('tag:db') || '; ' || permits('tag:gpu'), '2 of 2, 1 wait; 1 of 1, 1 wait', 'the pools show it');
select is((select string_agg(waits_for, ', ' order by waits_for) from scylla.task t, scylla.explain_waiting(t.rn) where t.queue = 'a' and t.status = 'waiting'),
          'pool tag:db, pool tag:gpu', 'and explain_waiting() why');
select is(break('a', '{"code": "x"}'), 's1', 'a step fails');
select is(steps('tagged'), 's1 USER_FAILED, s2 WAITING_FOR_PERMITS, s3 RUNNING', 'and will be tried again');
select is(permits('tag:gpu'), '0 of 1, 1 wait', 'its permits are free meanwhile (13.4)');
select is(place(), 1::bigint, 'and go to another step');
select is(steps('tagged'), 's1 USER_FAILED, s2 RUNNING, s3 RUNNING', 'which runs');
select is(array(select s from unnest(string_to_array(work_all(), ' ')) s order by s), '{s2,s3}', 'their ends');
select is(permits('tag:db'), '0 of 2, 0 wait', 'give them back');

-- Limits.
select scylla.alter_pool('tag:db', '{"capacity": {"permits": 0}}') \g /dev/null
select make('blocked', jsonb_build_array(step('s1'), step('s2')), '{"tags": ["db"]}') \g /dev/null
select start('blocked') \g /dev/null
select is(place(), 0::bigint, 'a limit of 0 blocks (13.3)');
select scylla.alter_pool('tag:db', '{"capacity": {"permits": 2}}') \g /dev/null
select is(place(), 2::bigint, 'a higher one wakes (13.4)');
select scylla.alter_pool('tag:db', '{"capacity": {"permits": 1}}') \g /dev/null
select is(steps('blocked'), 's1 RUNNING, s2 RUNNING', 'a lower one revokes nothing (13.4)');
select is(permits('tag:db'), '2 of 1, 0 wait', 'more than there are may be held');
select work_all() \g /dev/null
select is(status('blocked'), 'SUCCEEDED', 'both end');

-- Actions on steps that wait.
select make('acted', jsonb_build_array(step('s1', '{"after": "true"}'), step('after', '{}', '{}', 'B')), '{"tags": ["none"]}') \g /dev/null
select scylla.create_pool('tag:none', '{"permits": 0}') \g /dev/null
select start('acted'), start('acted'), start('acted') \g /dev/null
select scylla.skip_step('acted', 1, 's1'), scylla.stop_step('acted', 2, 's1'), scylla.kill_run('acted', 3) \g /dev/null
select advance() \g /dev/null
select is(steps('acted') || '; ' || steps('acted', 2) || '; ' || steps('acted', 3), 'after WAITING_FOR_PERMITS, s1 SKIPPED; s1 STOPPED; s1 FATALLY_FAILED',
          'a step that waits for permits can be skipped, stopped and killed (14)');
select is(permits('tag:none'), '0 of 0, 1 wait', 'its task leaves the line');
select scylla.stop_run('acted', 1), advance() \g /dev/null
select is(permits('tag:none'), '0 of 0, 0 wait', 'and with its run every task of it does');

-- As many as an amount can be.
select make('most', jsonb_build_array(step('s1'), step('s2')), '{"tags": ["most"]}') \g /dev/null
select scylla.create_pool('tag:most', '{"permits": 999999999999999}') \g /dev/null
select start('most'), advance() \g /dev/null
select is(steps('most') || '; ' || permits('tag:most'), 's1 RUNNING, s2 RUNNING; 2 of 999999999999999, 0 wait', 'the largest number of permits is a bound like any other');
select scylla.alter_pool('tag:most', '{"capacity": {"permits": 1}}') \g /dev/null
select start('most'), advance() \g /dev/null
select is(steps('most', 2) || '; ' || permits('tag:most'), 's1 WAITING_FOR_PERMITS, s2 WAITING_FOR_PERMITS; 2 of 1, 2 wait', 'what is held counts when it is lowered');
select scylla.stop_run('most', 1), scylla.stop_run('most', 2), advance() \g /dev/null
select is(permits('tag:most'), '0 of 1, 0 wait', 'and is given back');

-- Whose pools count.
create role other_of_tags nologin;
grant usage on schema scylla to other_of_tags;
select scylla.create_pool('tag:private', '{"permits": 0}') \g /dev/null
grant all on all functions in schema scylla to other_of_tags;
select scylla.grant_queue('a', 'other_of_tags', 'admin') \g /dev/null
grant execute on all functions in schema public to other_of_tags;
set role other_of_tags;
select make('private', jsonb_build_array(step('s1')), '{"tags": ["private"]}') \g /dev/null
select from scylla.start_workflow('private') \g /dev/null
reset role;
select advance() \g /dev/null
select is(steps('private'), 's1 RUNNING', 'a pool on which the owner of the workflow has no privilege does not count');
select scylla.grant_pool('tag:private', 'public', 'use') \g /dev/null
set role other_of_tags;
select from scylla.start_workflow('private') \g /dev/null
reset role;
select advance() \g /dev/null
select is(steps('private', 2), 's1 WAITING_FOR_PERMITS', 'with one it does');
select scylla.create_pool('tag:wrong', '{"seats": 1}') \g /dev/null
select make('wrong', jsonb_build_array(step('s1', '{}', '{"tags": ["wrong"]}'))) \g /dev/null
select start('wrong'), advance() \g /dev/null
select is((select status || ': ' || (error ->> 'message') from scylla.workflow_step where workflow = 'wrong'),
          'FATALLY_FAILED: invalid value for argument "needs": {"tag:wrong": {"permits": 1}}', 'a pool of a tag that has no permits makes the step fail');

-- ---- in a workflow that is paused (14) ------------------------------------------------------------------------------------

select scylla.create_pool('tag:halts', '{"permits": 1}') \g /dev/null
select make('halts', jsonb_build_array(step('s', '{"t": "true"}', '{"tags": ["halts"]}', 'H'), step('t', '{}', '{}', 'H'))) \g /dev/null
select start('halts'), start('halts') \g /dev/null
select scylla.pause_workflow('halts'), advance() \g /dev/null
select is(steps('halts') || '; ' || steps('halts', 2), 's RUNNING; s WAITING_FOR_PERMITS', 'a step that waits for permits has begun');
select work('h') \g /dev/null
select place() \g /dev/null
select is(steps('halts') || '; ' || steps('halts', 2), 's SUCCEEDED, t INITIALIZED; s RUNNING', 'so it goes on when it has them, though nothing begins (14)');
select scylla.resume_workflow('halts'), advance() \g /dev/null
select work_all('h') \g /dev/null
select is(status('halts') || ' ' || status('halts', 2), 'SUCCEEDED SUCCEEDED', 'both end');

-- ---- step_concurrency (1.2, 13.4) ---------------------------------------------------------------------------------------

select raises($$select scylla.create_pool('workflow:x', '{"permits": 1}')$$, '22023', 'task', 'argument');
select is((select count(*) from scylla.pool where pool = 'workflow:bounded'), 0::bigint, 'a workflow without step_concurrency has no pool');
select make('bounded', jsonb_build_array(step('s1'), step('s2'), over('l', 3, jsonb_build_array(step('in')))), '{}', '{"step_concurrency": 2}') \g /dev/null
select is(permits('workflow:bounded'), '0 of 2, 0 wait', 'step_concurrency is a pool');
select refuses_argument(call, 'pool', '"workflow:bounded"', 'Names with "workflow:" are for workflows.')
from (values ($$select scylla.alter_pool('workflow:bounded', '{"capacity": {"permits": 1}}')$$), ($$select scylla.drop_pool('workflow:bounded')$$),
             ($$select scylla.drain_pool('workflow:bounded')$$), ($$select scylla.resume_pool('workflow:bounded')$$),
             ($$select scylla.report_usage('workflow:bounded', '{"permits": 2}')$$), ($$select scylla.grant_pool('workflow:bounded', 'public', 'use')$$),
             ($$select scylla.revoke_pool('workflow:bounded', 'public', 'use')$$)) c (call);
select start('bounded'), start('bounded') \g /dev/null
select is(place(), 0::bigint, 'the permits are reserved at once');
select is((select count(*) from scylla.workflow_step where workflow = 'bounded' and step <> 'l' and status = 'RUNNING'), 2::bigint, 'of all runs of the workflow, and of what is in its loops, so many steps run (13.4)');
select is(permits('workflow:bounded'), '2 of 2, 6 wait', 'the others wait; a loop holds none');
select scylla.alter_workflow('bounded', '{"step_concurrency": 3}') \g /dev/null
select is(place(), 1::bigint, 'more are let in at once when it is raised');
select scylla.alter_workflow('bounded', '{"reset_step_concurrency": true}') \g /dev/null
select is(place(), 5::bigint, 'and all when it is taken back');
select is(length(work_all()) > 0, true, 'they end');
select start('bounded') \g /dev/null
select is(steps('bounded', 3), 'in{1} RUNNING, in{2} RUNNING, in{3} RUNNING, l RUNNING, s1 RUNNING, s2 RUNNING', 'without it steps ask for nothing');
select scylla.alter_workflow('bounded', '{"step_concurrency": 1}') \g /dev/null
select work_all() \g /dev/null
select is(status('bounded', 3), 'SUCCEEDED', 'what runs goes on');
select scylla.drop_workflow('bounded') \g /dev/null
select is((select count(*) from scylla.pool where pool = 'workflow:bounded'), 0::bigint, 'the pool goes with the workflow');

-- A workflow that starts itself does not block itself (design, section 5).
select make('self', jsonb_build_array(jsonb_build_object('subworkflow', '{"id": "sub", "params": {"subworkflow_id": {"type": "STRING", "value": "leaf"}}}'::jsonb)),
            '{}', '{"step_concurrency": 1}') \g /dev/null
select make('leaf', jsonb_build_array(step('s')), '{}', '{"step_concurrency": 1}') \g /dev/null
select start('self') \g /dev/null
select advance(), advance(), place() \g /dev/null
select is(steps('self') || '; ' || steps('leaf'), 'sub RUNNING; s RUNNING', 'a step that waits for a subworkflow holds no permit');
select work_all() \g /dev/null

-- ---- instance_step_concurrency (1.3, 13.4) ------------------------------------------------------------------------------

select make('child', jsonb_build_array(step('c1'), step('c2')), '{"instance_step_concurrency": 9}') \g /dev/null
select make('tree', jsonb_build_array(over('l', 2, jsonb_build_array(step('in'))),
            jsonb_build_object('subworkflow', '{"id": "sub", "params": {"subworkflow_id": {"type": "STRING", "value": "child"}}}'::jsonb)),
            '{"instance_step_concurrency": 3}') \g /dev/null
select start('tree'), start('tree') \g /dev/null
select advance(), advance() \g /dev/null
select is((select array_agg(pool order by pool) from scylla.pool where pool like 'workflow:tree%' or pool like 'workflow:child%'),
          '{workflow:tree/1,workflow:tree/2}', 'each instance has a pool; a subworkflow shares that of its tree (13.4)');
select is(place(), 0::bigint, 'nobody has to place what fits');
select is(permits('workflow:tree/1') || '; ' || permits('workflow:tree/2'), '3 of 3, 1 wait; 3 of 3, 1 wait', 'so many steps of a tree run, whatever they are in');
select scylla.stop_run('tree', 2), advance(), advance(), advance() \g /dev/null
select is(status('tree', 2), 'STOPPED', 'a tree that is stopped');
select is((select count(*) from scylla.pool where pool = 'workflow:tree/2'), 0::bigint, 'takes its pool with it');
select place(), work_all(), place(), work_all() \g /dev/null
select is(status('tree'), 'SUCCEEDED', 'and so does one');
select is((select count(*) from scylla.pool where pool like 'workflow:tree%'), 0::bigint, 'that ends by itself');
select scylla.restart_run('tree', 2), advance(), advance(), advance() \g /dev/null
select is(permits('workflow:tree/2'), '3 of 3, 1 wait', 'a restart has it again');
select start('child') \g /dev/null
select is((select capacity ->> 'permits' from scylla.pool where pool = 'workflow:child/3'), '9', 'a run that nobody waits for is a tree of its own');

-- ---- what cannot be had at once -----------------------------------------------------------------------------------------

select scylla.create_pool('tag:later', '{"permits": 9}') \g /dev/null
select make('timed', jsonb_build_array(step('s', '{}', '{"timeout": "1 hour"}')), '{"tags": ["later"]}'), start('timed') \g /dev/null
select is(steps('timed'), 's WAITING_FOR_PERMITS', 'a step whose time is to be reckoned from its beginning is placed first');
select is(place() || ' ' || steps('timed'), '1 s RUNNING', 'and then runs');
select is((select due - started from scylla.workflow_step_state where step = 's' and due is not null),
          interval '1 hour', 'with its time');
select make('calm', jsonb_build_array(step('s')), '{"tags": ["later"]}') \g /dev/null
select scylla.drain_pool('tag:later'), start('calm') \g /dev/null
select is(steps('calm'), 's WAITING_FOR_PERMITS', 'a drained pool gives nothing');
select scylla.resume_pool('tag:later'), start('calm') \g /dev/null
select is(steps('calm', 2), 's WAITING_FOR_PERMITS', 'nobody passes those who wait');
select is(place(), 2::bigint, 'they are placed');
select scylla.pause_queue('a'), start('calm') \g /dev/null
select is(steps('calm', 3), 's WAITING_FOR_PERMITS', 'a paused queue gets nothing');
select scylla.resume_queue('a') \g /dev/null
select is(place(), 1::bigint, 'before it goes on');
select scylla.alter_pool('tag:later', '{"capacity": {"permits": 6}}') \g /dev/null
select make('ranked', jsonb_build_array(step('s')), '{"tags": ["later"]}') \g /dev/null
select start('ranked'), start('ranked'), start('ranked') \g /dev/null
select is((select array_agg(step_status order by instance) from (select instance, (select s.status from scylla.workflow_step s where s.workflow = 'ranked' and s.instance = r.instance) step_status
           from scylla.workflow_run r where workflow = 'ranked') r), '{RUNNING,RUNNING,WAITING_FOR_PERMITS}', 'as many as there is room for');
select work_all() \g /dev/null
select is(permits('tag:later'), '0 of 6, 1 wait', 'what they hold is given back');
select is_empty('select * from scylla.check()', 'nothing is wrong');
select * from finish();
rollback;
