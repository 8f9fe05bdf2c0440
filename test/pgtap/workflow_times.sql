-- When steps entered each of their statuses (2.2). Numbers in brackets are sections of the specification of Maestro's behaviour.
begin;
\ir include/helpers.psql
select * from no_plan();
select scylla.create_queue('a') \g /dev/null
\ir include/workflows.psql

-- The statuses of an attempt in the order of their times.
create function order_of(of text, which text, number int = 1) returns text language sql as $$
    select string_agg(same, ' < ' order by at)
    from (select t.value::timestamptz as at, string_agg(t.key, ' = ' order by t.key collate "C") as same
          from scylla.workflow_step_attempt s, jsonb_each_text(s.times) t
          where s.workflow = of and s.step = which and s.attempt = number group by 1) g
$$;
-- The engine knows milliseconds: what follows happens in a later one.
create function later() returns void language sql as 'select pg_sleep(0.002)';

-- ---- a step that never waits ---------------------------------------------------------------------------------------------

select make('quick', jsonb_build_array(step('s', '{"left": "false"}'), step('left'), each('loop', 20, jsonb_build_array(step('in', '{}', '{}', 'NoOp'))))) \g /dev/null
select start('quick') \g /dev/null
select is(order_of('quick', 's'), 'CREATED = EVALUATING_PARAMS = INITIALIZED = RUNNING = STARTING = WAITING_FOR_PERMITS = WAITING_FOR_SIGNALS',
          'a step that waits for nothing passes through all statuses at once (2.2)');
select later() \g /dev/null
select work_all() \g /dev/null
select is(order_of('quick', 's'),
          'CREATED = EVALUATING_PARAMS = INITIALIZED = RUNNING = STARTING = WAITING_FOR_PERMITS = WAITING_FOR_SIGNALS < FINISHING = SUCCEEDED', 'and ends when its work is done (2.2)');
select is((select (times ->> 'CREATED')::timestamptz = created and (times ->> 'RUNNING')::timestamptz = started and (times ->> 'SUCCEEDED')::timestamptz = ended
           from scylla.workflow_step where workflow = 'quick' and step = 's'), true, 'at the times that the other columns have');
select is(order_of('quick', 'left'), 'CREATED = UNSATISFIED', 'a step that is left out enters no other status (2.2)');
select is((select count(*) from scylla.workflow_step_state where times is not null), 0::bigint, 'nothing is stored for any of that');

-- ---- a step that waits everywhere ----------------------------------------------------------------------------------------

select scylla.create_pool('tag:db', '{"permits": 0}') \g /dev/null
select make('slow', jsonb_build_array(step('s', '{}', '{"signal_dependencies": [{"name": "orders"}], "tags": ["db"], "retry_policy": {"error_retry_limit": 1},
    "signal_outputs": [{"name": "done"}]}'))) \g /dev/null
select scylla.set_breakpoint('slow', 's'), start('slow') \g /dev/null
select is(order_of('slow', 's'), 'CREATED = INITIALIZED = PAUSED', 'a step at a breakpoint');
select later() \g /dev/null
select scylla.resume_step('slow', 1, 's') \g /dev/null
select advance() \g /dev/null
select is(order_of('slow', 's'), 'CREATED = INITIALIZED = PAUSED < WAITING_FOR_SIGNALS', '... that then waits for a signal');
select later() \g /dev/null
select scylla.send_signal('orders', '{}') \g /dev/null
select advance() \g /dev/null
select is(order_of('slow', 's'), 'CREATED = INITIALIZED = PAUSED < WAITING_FOR_SIGNALS < EVALUATING_PARAMS = WAITING_FOR_PERMITS', '... and for permits');
select later() \g /dev/null
select scylla.alter_pool('tag:db', '{"capacity": {"permits": 1}}') \g /dev/null
select scylla.place() \g /dev/null
select advance() \g /dev/null
select is(order_of('slow', 's'), 'CREATED = INITIALIZED = PAUSED < WAITING_FOR_SIGNALS < EVALUATING_PARAMS = WAITING_FOR_PERMITS < RUNNING = STARTING', '... and runs');
select later() \g /dev/null
select break('a', '{"code": "x"}') \g /dev/null
select is(order_of('slow', 's'), 'CREATED = INITIALIZED = PAUSED < WAITING_FOR_SIGNALS < EVALUATING_PARAMS = WAITING_FOR_PERMITS < RUNNING = STARTING < USER_FAILED',
          'each time is there, in the order of the statuses (2.2)');
select scylla.drop_breakpoint('slow', 's') \g /dev/null
update scylla.workflow_step_state set due = now() - interval '1 s' where status = 'USER_FAILED';
select later() \g /dev/null
select advance() \g /dev/null
select is(order_of('slow', 's', 2) ~ '^CREATED = EVALUATING_PARAMS = INITIALIZED = .*WAITING_FOR_SIGNALS' and order_of('slow', 's', 2) !~ 'PAUSED|FAILED', true, 'the next attempt has times of its own (2.2)');
select is(order_of('slow', 's'), 'CREATED = INITIALIZED = PAUSED < WAITING_FOR_SIGNALS < EVALUATING_PARAMS = WAITING_FOR_PERMITS < RUNNING = STARTING < USER_FAILED',
          'and the one before keeps its own');
select is((select bool_and((a.times ->> 'USER_FAILED')::timestamptz <= (b.times ->> 'CREATED')::timestamptz)
           from scylla.workflow_step_attempt a join scylla.workflow_step_attempt b using (workflow, step) where workflow = 'slow' and a.attempt = 1 and b.attempt = 2), true, 'it was created after that');
select scylla.place() \g /dev/null
select advance() \g /dev/null
select work_all() \g /dev/null
select is(status('slow'), 'SUCCEEDED', 'it succeeds');
select is((select count(*) from scylla.workflow_step_state where times ? 'FINISHING'), 1::bigint, 'in FINISHING it has waited until its signals were sent');
select is((select (times ->> 'RUNNING')::timestamptz <= (times ->> 'FINISHING')::timestamptz and (times ->> 'FINISHING')::timestamptz <= (times ->> 'SUCCEEDED')::timestamptz
           from scylla.workflow_step where workflow = 'slow'), true, 'between RUNNING and its end (2.2)');

-- ---- a step that does not start ------------------------------------------------------------------------------------------

select scylla.set_breakpoint('slow', 's'), start('slow') \g /dev/null
select later() \g /dev/null
select scylla.stop_step('slow', 2, 's') \g /dev/null
select advance() \g /dev/null
select is((select array_agg(key order by value, key collate "C") from scylla.workflow_step s, jsonb_each_text(s.times) where workflow = 'slow' and instance = 2),
          '{CREATED,INITIALIZED,PAUSED,STOPPED}', 'a step that is stopped has not entered what follows (2.2)');
select make('wrong', jsonb_build_array(step('s', '{}', '{"params": {"x": {"type": "LONG", "expression": "1 / 0"}}}'))) \g /dev/null
select start('wrong') \g /dev/null
select is(order_of('wrong', 's'), 'CREATED = EVALUATING_PARAMS = FATALLY_FAILED = INITIALIZED = WAITING_FOR_SIGNALS', 'one whose parameters cannot be evaluated has come that far (2.2)');
select is((select count(*) from scylla.check()), 0::bigint, 'check() finds nothing');
select finish();
rollback;
