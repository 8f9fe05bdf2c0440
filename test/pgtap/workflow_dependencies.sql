-- Steps that wait for signals (7.4), and go on without (14).
-- Numbers in brackets are sections of the specification of Maestro's behaviour.
begin;
\ir include/helpers.psql
select * from no_plan();
select scylla.create_queue('a') \g /dev/null
\ir include/workflows.psql

create function send(name text, params jsonb = '{}') returns bigint language plpgsql as $$
declare n bigint;
begin
    n := scylla.send_signal(name, params, '{"secret": 1}');
    perform advance();
    return n;
end $$;
-- A step that waits for these signals.
create function waits(id text, dependencies jsonb, more jsonb = '{}', next jsonb = '{}') returns jsonb language sql as $$
    select step(id, next, jsonb_build_object('signal_dependencies', dependencies) || more)
$$;
-- "status signal seq": of a step.
create function signals(of text, number bigint = 1, which text = 's') returns text language sql as $$
    select string_agg(concat_ws(' ', m ->> 'status', m ->> 'signal', m ->> 'seq'), ', ' order by n)
    from scylla.workflow_step, jsonb_array_elements(signals) with ordinality e (m, n) where workflow = of and instance = number and step = which
$$;
create function conditions() returns text language sql as $$
    select coalesce(string_agg(name || ' ' || match || ' ' || status || ' ' || waiters, ', ' order by name, match, waiters), 'none') from scylla.condition where kind = 'signal'
$$;
create function left_behind() returns bigint language sql as $$ select (select count(*) from scylla.workflow_wait) + (select count(*) from scylla.signal_condition where of_step) $$;

-- ---- waiting (7.4) -------------------------------------------------------------------------------------------------

select make('two', jsonb_build_array(waits('s', '[{"name": "t/one", "match_params": {"day": {"param": {"type": "LONG", "expression": "day"}, "operator": ">="},
                                                                              "table": {"param": {"type": "STRING", "value": "t"}}}},
                                                  {"name": "t/two"}]',
    '{"params": {"found": {"type": "LONG", "expression": "params.getFromSignalDependency(''0'', ''day'')"}}}', '{"next": "true"}'), step('next')),
    '{"params": {"day": {"type": "LONG", "value": 5}}}') \g /dev/null
select start('two') \g /dev/null
select is(steps('two'), 's WAITING_FOR_SIGNALS', '[7.4] a step waits for its signals');
select is(signals('two'), 'PENDING t/one, PENDING t/two', '[7.4] the view shows which');
select is((select (signals -> 0) - 'since' from scylla.workflow_step where workflow = 'two'), '{"match": {"day": {">=": 5}, "table": "t"}, "signal": "t/one", "status": "PENDING"}',
          'what they are compared with');
select is((select (signals -> 0 ->> 'since')::timestamptz between created - interval '1 s' and clock_timestamp() from scylla.workflow_step where workflow = 'two'), true, 'and since when it waits');
select is(conditions(), 't/one {"day": {">=": 5}, "table": "t"} waiting 1, t/two {} waiting 1', 'they are conditions');
select is((select count(*) from scylla.check()), 0::bigint, 'check() knows a step that waits');
select send('t/one', '{"day": 4, "table": "t"}'), send('t/one', '{"day": 6, "table": "u"}'), send('t/one', '{"day": "6", "table": "t"}') \g /dev/null
select is(signals('two'), 'PENDING t/one, PENDING t/two', '[7.2] what does not match is not taken');
select send('t/one', '{"day": 7, "table": "t"}') as first \gset
select is(signals('two'), 'MATCHED t/one ' || :first || ', PENDING t/two', '[7.4] one that matches is');
select is(steps('two'), 's WAITING_FOR_SIGNALS', '[7.4] all have to come');
select send('t/one', '{"day": 8, "table": "t"}') \g /dev/null
select is(signals('two'), 'MATCHED t/one ' || :first || ', PENDING t/two', '[7.4] the first one is kept');
select is((select count(*) from scylla.check()), 0::bigint, 'check() knows that one has come');
select send('t/two') as second \gset
select is(steps('two'), 's RUNNING', '[7.4] then the step begins');
select is((select params ->> 'found' from scylla.workflow_step where workflow = 'two'), '7', '[7.4] its parameters can read those of the signals');
select is((select signals -> 0 ? 'payload' from scylla.workflow_step where workflow = 'two'), false, 'their payloads are not kept');
select is(left_behind(), 0::bigint, 'nothing is left behind');
select is(work(), 's', 'its task is there');
select is(steps('two'), 'next RUNNING, s SUCCEEDED', 'and what follows');
select is((select array_agg(concat_ws(' ', used_by, target_workflow, target_instance, target_step, target_iterations) order by seq) from scylla.workflow_lineage
           where seq in (:first, :second)), '{step two 1 s,step two 1 s}', '[7.5] the lineage shows what has waited for a signal');

-- ---- signals of the past (7.4) ---------------------------------------------------------------------------------------

select start('two') \g /dev/null
select is(signals('two', 2), format('MATCHED t/one %s, MATCHED t/two %s', (select max(seq) from scylla.signal where name = 't/one' and params @> '{"day": 8}'), :second),
          '[7.4] a signal that was sent before counts, of several the newest');
select is(steps('two', 2), 's RUNNING', '[7.4] so the step begins at once');
select is((select array_agg(concat_ws(' ', target_instance, target_step) order by target_instance) from scylla.workflow_lineage where seq = :second), '{1 s,2 s}', '[7.5] one signal can be used by several');

-- A task that waits for the same has a condition of its own.
select scylla.submit('a', '1', rn => 'task', wait_for => '[{"signal": "same"}]') \g /dev/null
select make('same', jsonb_build_array(waits('s', '[{"name": "same"}, {"name": "same"}]'))) \g /dev/null
select start('same'), start('same') \g /dev/null
select scylla.submit('a', '1', rn => 'task2', wait_for => '[{"signal": "same"}]') \g /dev/null
select is(conditions(), 'same {} waiting 1, same {} waiting 1, same {} waiting 1, same {} waiting 1, same {} waiting 2', 'conditions of steps are shared with nobody');
select send('same') as same \gset
select is((select string_agg(status::text, ' ') from scylla.task where rn in ('task', 'task2')), 'ready ready', 'the signal opens tasks');
select is(steps('same') || ', ' || steps('same', 2), 's RUNNING, s RUNNING', 'and steps');
select is(signals('same', 2), format('MATCHED same %s, MATCHED same %1$s', :same), 'for all that they wait for');

-- ---- attempts and restarts (7.4) -------------------------------------------------------------------------------------

select make('again', jsonb_build_array(waits('s', '[{"name": "x1"}, {"name": "x2"}]'), step('other', '{}', '{}', 'B'))) \g /dev/null
select start('again') \g /dev/null
select send('x1') as x1 \gset
select is(outcome(scylla.stop_step('again', 1, 's')), 'STOPPED', 'a step that waits can be stopped (14)');
select is(signals('again'), 'MATCHED x1 ' || :x1 || ', CANCELED x2', 'it waits for nothing any more');
select is(left_behind(), 0::bigint, 'and leaves nothing behind');
select send('x1'), send('x2') as x2 \gset
select is(steps('again'), 'other RUNNING, s STOPPED', 'what comes later means nothing to it');
select is(outcome(scylla.restart_step('again', 1, 's')), 'WAITING_FOR_SIGNALS', 'another attempt');
select is(steps('again'), 'other RUNNING, s RUNNING', 'begins');
select is(signals('again'), format('MATCHED x1 %s, MATCHED x2 %s', :x1, :x2), '[7.4] keeps what has matched, and waits only for the rest');
select is((select array_agg(attempt || ' ' || status || ' ' || (signals -> 1 ->> 'status') order by attempt) from scylla.workflow_step_attempt where workflow = 'again' and step = 's'),
          '{"1 STOPPED CANCELED","2 RUNNING MATCHED"}', 'each attempt tells what it has waited for');
select is(outcome(scylla.kill_step('again', 1, 's')), 'FATALLY_FAILED', 'it fails');
select outcome(scylla.stop_step('again', 1, 'other')) \g /dev/null
select is((select status from scylla.restart_run('again', 1)), 'CREATED', 'the instance runs again');
select advance() \g /dev/null
select is(signals('again'), format('MATCHED x1 %s, MATCHED x2 %s', :x1, :x2), '[7.4] a restart keeps what has matched');
select is((select count(*) from scylla.workflow_lineage where seq = :x1 and used_by = 'step'), 1::bigint, '[7.5] the lineage has it once');

select make('ends', jsonb_build_array(waits('s', '[{"name": "never"}]'), waits('k', '[{"name": "never"}]', '{"failure_mode": "IGNORE_FAILURE"}', '{"after": "true"}'), step('after'),
    waits('j', '[{"name": "never"}]'))) \g /dev/null
select start('ends') \g /dev/null
select is(outcome(scylla.kill_step('ends', 1, 'k')), 'COMPLETED_WITH_ERROR', 'a step that waits can be killed, and its failure mode applies (14)');
select is(outcome(scylla.skip_step('ends', 1, 's')), 'SKIPPED', 'and skipped');
select scylla.stop_run('ends', 1), advance() \g /dev/null
select is(steps('ends'), 'after STOPPED, j STOPPED, k COMPLETED_WITH_ERROR, s SKIPPED', 'and stopped with its run');
select is(left_behind(), 0::bigint, 'nothing is left behind');

-- ---- iterations --------------------------------------------------------------------------------------------------------

select make('each', jsonb_build_array(jsonb_build_object('foreach', jsonb_build_object('id', 'loop', 'concurrency', 3, 'steps',
    jsonb_build_array(waits('in', '[{"name": "part", "match_params": {"n": {"param": {"type": "LONG", "expression": "i"}}}}]')),
    'params', '{"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": [1, 2, 3]}}}}'::jsonb)))) \g /dev/null
select start('each') \g /dev/null
select send('part', '{"n": 2}') as part \gset
select is(steps('each'), 'in{1} WAITING_FOR_SIGNALS, in{2} RUNNING, in{3} WAITING_FOR_SIGNALS, loop RUNNING', '[7.4] each iteration waits for its own');
select is((select target_step || target_iterations::text from scylla.workflow_lineage where seq = :part), 'in{2}', '[7.5] the lineage tells in which');
select is((select count(*) from scylla.check()), 0::bigint, 'check() knows them');
select is(outcome(scylla.stop_step('each', 1, 'loop')), 'STOPPED', 'a loop is stopped');
select is(left_behind(), 0::bigint, 'with all that waits in it');
select start('each') \g /dev/null
select scylla.kill_run('each', 2), advance() \g /dev/null
select is(left_behind(), 0::bigint, 'as with its run');

-- ---- failures ------------------------------------------------------------------------------------------------------------

select make('broken', jsonb_build_array(waits('s', '[{"name": "x1", "match_params": {"day": {"param": {"type": "LONG", "expression": "1 / 0"}}}}]'),
    waits('i', '[{"name": "x1", "match_params": {"day": {"param": {"type": "LONG", "expression": "1 / 0"}}}}]', '{"failure_mode": "IGNORE_FAILURE"}'))) \g /dev/null
select start('broken') \g /dev/null
select is(steps('broken'), 'i COMPLETED_WITH_ERROR, s FATALLY_FAILED', '[7.4] an expression that cannot be evaluated fails the step, and its failure mode applies');
select is((select error ->> 'message' from scylla.workflow_step where workflow = 'broken' and step = 's'), 'day: division by zero (line 1, column 3)', 'with its place');

select scylla.send_signal('db/t') \g /dev/null
create role scylla_test_owner;
grant usage on schema scylla to scylla_test_owner;
grant execute on all functions in schema scylla to scylla_test_owner;
set local role scylla_test_owner;
select make('theirs', jsonb_build_array(waits('s', '[{"name": "mine"}, {"name": "db/t"}]'))) \g /dev/null
select scylla.start_workflow('theirs') \g /dev/null
reset role;
select advance() \g /dev/null
select is(steps('theirs'), 's FATALLY_FAILED', '[7.4] a step whose owner may not wait for a signal fails, also if the signal is there');
select is((select error from scylla.workflow_step where workflow = 'theirs'),
          '{"code": "sqlstate-42501", "class": "user", "message": "permission denied for signal \"db/t\""}', 'with a clear error');
select is(left_behind(), 0::bigint, 'it waits for all of them, or for none');
select scylla.grant_signal('db/t', 'scylla_test_owner', 'wait') \g /dev/null
select is((select code from scylla.start_workflow('theirs')), 1, 'with the privilege');
select advance() \g /dev/null
select is(signals('theirs', 2), 'PENDING mine, MATCHED db/t ' || (select max(seq) from scylla.signal where name = 'db/t'), 'it does');

-- ---- bypass_step() (14) ----------------------------------------------------------------------------------------------

-- All have come.
select start('two') \g /dev/null
select raises($$select scylla.bypass_step('two', 3, 's')$$, '55000', 'workflow', 'status');
select raises($$select scylla.bypass_step('two', 1, 's')$$, '55000', 'workflow', 'status');
select raises($$select scylla.bypass_step('two', 3, 'next')$$, '55000', 'workflow', 'created');
select raises($$select scylla.bypass_step('ends', 1, 's')$$, '55000', 'workflow', 'ended');
select raises($$select scylla.bypass_step('none', 1, 's')$$, '42704', 'workflow', 'exists');
select refuses_argument($$select scylla.bypass_step('two', null, 's')$$, 'instance', 'null', 'It must not be null.');
select refuses_argument($$select scylla.bypass_step('two', 1, null)$$, 'step', 'null', 'It must have 1 to 200 characters.');
select make('goes', jsonb_build_array(waits('s', '[{"name": "x1"}, {"name": "late"}]'))) \g /dev/null
select start('goes') \g /dev/null
select scylla.bypass_step('goes', 1, 's') as action \gset
select raises($$select scylla.bypass_step('goes', 1, 's')$$, '55000', 'workflow', 'pending');
select is(outcome(:action), 'RUNNING', 'a step goes on without its signals (14)');
select is((select action from scylla.workflow_action where id = :action), 'bypass', 'which the view of actions shows');
select is(signals('goes'), format('MATCHED x1 %s, SKIPPED late', (select max(seq) from scylla.signal where name = 'x1')), 'those that had not come are SKIPPED');
select is((select count(*) from scylla.condition where name = 'late'), 0::bigint, 'and not waited for');
select send('late') \g /dev/null
select is(signals('goes'), format('MATCHED x1 %s, SKIPPED late', (select max(seq) from scylla.signal where name = 'x1')), 'whatever comes');

-- ---- pauses (9, 14) --------------------------------------------------------------------------------------------------

select make('pauses', jsonb_build_array(waits('s', '[{"name": "wake"}]'))) \g /dev/null
select start('pauses') \g /dev/null
select scylla.pause_workflow('pauses'), send('wake') \g /dev/null
select is(steps('pauses') || ' ' || left(signals('pauses'), 12), 's WAITING_FOR_SIGNALS MATCHED wake', 'in a workflow that is paused a signal is taken, and the step does not begin');
select is((select count(*) from scylla.check()), 0::bigint, 'check() knows that');
select scylla.resume_workflow('pauses'), advance() \g /dev/null
select is(steps('pauses'), 's RUNNING', 'until the workflow goes on');

-- ---- what is kept ----------------------------------------------------------------------------------------------------

select make('old', jsonb_build_array(waits('s', '[{"name": "ancient"}]'))) \g /dev/null
select start('old'), start('old') \g /dev/null
update scylla.signal_condition set created = now() - interval '3 days';
update scylla.workflow_wait set created = now() - interval '3 days';
select scylla.maintain() \g /dev/null
select is(conditions(), 'ancient {} waiting 1, ancient {} waiting 1, mine {} waiting 1', 'the purge spares what steps wait for');
-- As if whoever was sending the signal had rolled back after the step had ended.
create temp table kept as select * from scylla.signal_condition where name = 'ancient';
create temp table kept_wait as select * from scylla.workflow_wait where id in (select id from kept);
select scylla.stop_run('old', 1), advance() \g /dev/null
insert into scylla.signal_condition select * from kept k where not exists (select from scylla.signal_condition c where c.id = k.id);
insert into scylla.workflow_wait select * from kept_wait k where not exists (select from scylla.workflow_wait w where w.id = k.id);
select is((select count(*) from scylla.check() where problem ~ 'has left condition [0-9]+ behind$'), 1::bigint, 'check() finds what was left behind');
select scylla.maintain() \g /dev/null
select is(conditions(), 'ancient {} waiting 1, mine {} waiting 1', 'the purge removes it');
select send('ancient') \g /dev/null
select is(steps('old') || ', ' || steps('old', 2), 's STOPPED, s RUNNING', 'the other still hears of its signal');

savepoint sound;
delete from scylla.workflow_wait;
select is((select array_agg(regexp_replace(problem, '[0-9]+', 'N', 'g')) from scylla.check() where problem ~ 'signal'),
          '{"step s in scope N of run N of a workflow waits for its signal N, which has come or is not waited for","the condition on signal mine with id N is of a step that does not wait for it"}',
          'check() finds a step that nobody would wake');
rollback to sound;
delete from scylla.signal_condition where of_step;
select is((select array_agg(regexp_replace(problem, '[0-9]+', 'N', 'g')) from scylla.check() where problem ~ 'condition'),
          '{"step s in scope N of run N of a workflow waits for condition N, which does not exist or is of gates"}', 'and one whose condition is gone');
rollback to sound;

select all_is_sound();
select * from finish();
rollback;
