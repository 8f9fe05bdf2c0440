-- Why a run has ended, if neither its steps nor a user tells. Numbers in brackets are sections of the specification of Maestro's behaviour.
begin;
\ir include/helpers.psql
\ir include/workflows.psql
select * from no_plan();
select scylla.create_queue('a') \g /dev/null

-- "STATUS: why" of a run.
create function why(of text, number bigint = 1, of_run int = 1) returns text language sql as $$
    select status || coalesce(': ' || (error ->> 'message'), '') from scylla.workflow_run where workflow = of and instance = number and run = of_run
$$;

-- ---- subworkflows [5.4] ------------------------------------------------------------------------------------------------

select make('child', jsonb_build_array(step('s'))), make('parent', jsonb_build_array(call('call', 'child'), step('other'))) \g /dev/null
select start('parent') \g /dev/null
select is(why('child'), 'IN_PROGRESS', 'a run that has not ended');
select outcome(scylla.stop_step('parent', 1, 'call')), advance() \g /dev/null
select is(why('child'), 'STOPPED: Step "call" of instance 1 of workflow "parent", which started this run, has ended.', '[5.4] a subworkflow ends with the step that waits for it');
select scylla.stop_run('parent', 1), advance() \g /dev/null
select is(why('parent'), 'STOPPED', 'a user has stopped it: an action tells');

select make('line', jsonb_build_array(step('s')), '{}', '{"run_strategy": "sequential"}'), make('waits', jsonb_build_array(call('call', 'line'))) \g /dev/null
select start('line'), start('waits') \g /dev/null
select is(why('line', 2), 'CREATED', 'a subworkflow that has not begun');
select scylla.kill_run('waits', 1), advance() \g /dev/null
select is(why('line', 2), 'STOPPED: Step "call" of instance 1 of workflow "waits", which started this run, has ended.', 'and has no step');
select is((select count(*) from scylla.workflow_step where workflow = 'line' and instance = 2), 0::bigint, 'that could tell');
select is(why('waits'), 'FAILED', 'one that was killed: an action tells');
select scylla.restart_run('waits', 1), advance() \g /dev/null
select is(why('line', 2, 2), 'CREATED', 'another run has ended for no reason');
select is(why('line', 2, 1), 'STOPPED: Step "call" of instance 1 of workflow "waits", which started this run, has ended.', 'and the one before keeps its own');

select make('each', jsonb_build_array(each('l', 2, jsonb_build_array(call('in', 'child'))))) \g /dev/null
select start('each') \g /dev/null
select outcome(scylla.stop_step('each', 1, 'l')), advance() \g /dev/null
select is(array_agg(why(workflow, instance)), array_fill('STOPPED: Step "in" of instance 1 of workflow "each", which started this run, has ended.'::text, array[2]), 'inside of a loop')
from scylla.workflow_run where initiator ->> 'workflow' = 'each';

-- ---- run strategies [3.2] ----------------------------------------------------------------------------------------------

select make(rule, jsonb_build_array(step('s')), '{}', jsonb_build_object('run_strategy', rule)) from unnest('{last_only,serial_latest_only,first_only}'::text[]) rule \g /dev/null
select start('last_only'), start('last_only') \g /dev/null
select is(why('last_only'), 'STOPPED: Run 1 of instance 2 was started, and the run strategy is LAST_ONLY.', '[3.2] LAST_ONLY');
select scylla.restart_run('last_only', 1), advance() \g /dev/null
select is(why('last_only', 2), 'STOPPED: Run 2 of instance 1 was started, and the run strategy is LAST_ONLY.', '[3.2] also for a restart');
select start('serial_latest_only'), start('serial_latest_only'), start('serial_latest_only') \g /dev/null
select is(why('serial_latest_only', 2), 'STOPPED: Run 1 of instance 3 was started, and the run strategy is SERIAL_LATEST_ONLY.', '[3.2] SERIAL_LATEST_ONLY');
select is(why('serial_latest_only'), 'IN_PROGRESS', '[3.2] which leaves alone what runs');
select start('first_only'), start('first_only') \g /dev/null
select is(why('first_only', 2), 'STOPPED: Another run has not ended, and the run strategy is FIRST_ONLY.', '[3.2] FIRST_ONLY');

-- ---- backfills, timeouts -----------------------------------------------------------------------------------------------

select make('days', jsonb_build_array(step('s')), '{"params": {"day": {"type": "STRING", "value": ""}}}') \g /dev/null
select scylla.backfill('days', '{"day": ["1", "2"]}') as backfill, advance() \gset
select scylla.cancel_backfill(:backfill, stop_runs => true), advance() \g /dev/null
select is(why('days'), format('STOPPED: Backfill %s was cancelled.', :backfill), 'a backfill that is cancelled');

select make('short', jsonb_build_array(step('s')), '{"timeout": "1 second"}'), make('none', jsonb_build_array(step('s')), '{"timeout": "${given}", "params": {"given": {"type": "STRING", "value": "nothing"}}}') \g /dev/null
select start('short'), start('none') \g /dev/null
select pg_sleep(1.1);
select advance();
select is(why('short'), 'TIMED_OUT: the run has reached its timeout', '[6.6] a run that takes too long');
select is((select error ->> 'code' from scylla.workflow_run where workflow = 'short'), 'timeout', 'with a code');
select alike(why('none'), 'FAILED: %nothing%', '[6.6] one whose timeout cannot be read');
select is((select count(*) from scylla.workflow_timeline where workflow = 'short' and step is null and type = 'LOG' and message = 'the run has reached its timeout'), 1::bigint,
          '[10.1] the timeline tells it, too');

select is((select string_agg(workflow || ' ' || instance, ', ') from scylla.workflow_run r where status in ('FAILED', 'STOPPED', 'TIMED_OUT') and error is null and not exists (
    select from scylla.workflow_action a where a.workflow = r.workflow and a.instance = r.instance)), null, 'nothing has ended without a reason');
select is_empty('select * from scylla.check()', 'check() finds nothing wrong');
select * from finish();
rollback;
