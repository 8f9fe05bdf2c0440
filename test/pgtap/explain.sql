-- explain_waiting: why a task does not run, gate by gate.
begin;
\ir include/helpers.psql
select * from no_plan();

-- Each reason as "waits_for: detail", in order.
create function reasons(rn text) returns text language sql as $$
    select coalesce(string_agg(waits_for || ': ' || detail, E'\n' order by ord), 'none') from scylla.explain_waiting(rn)
$$;
-- Since when and until when, as "waits_for: since, until", in order: how long after the last change of the task.
create function times(rn text) returns text language sql as $$
    select string_agg(format('%s: %s, %s', waits_for, since - t.updated, until - t.updated), E'\n' order by ord)
    from scylla.explain_waiting(rn), scylla.get_task(rn) t
$$;
create role scylla_explain_reader;
grant usage on schema scylla, test to scylla_explain_reader;
grant execute on function scylla.explain_waiting to scylla_explain_reader;

select signature_is('explain_waiting', 'rn text, OUT ord integer, OUT waits_for text, OUT since timestamp with time zone, OUT until timestamp with time zone, OUT detail text', 'SETOF record');
select * from checks_name('select scylla.explain_waiting($1)', 'rn');
select refuses($$ select scylla.explain_waiting('nothing') $$, 'P0002', 'exists', 'task "nothing" does not exist');

-- ---- gates -----------------------------------------------------------------------------------------------------------

do $$ begin
    perform scylla.submit('a', '1', rn => 'first');
    perform scylla.create_plan('nightly');
    perform scylla.create_callback('approve');
    perform scylla.create_callback('soon over', '1 h');
    perform scylla.submit('b', '1', rn => 'last', plan => 'nightly', depends_on => '{first}', wait_for =>
        '[{"callback": "approve"}, {"signal": "landed", "match": {"table": "orders"}}, {"callback": "soon over"},
          {"signal": "done", "since": "2026-01-01 00:00Z"}]');
end $$;
select is(reasons('last'),
'plan nightly: The plan has not been opened: open_plan() starts its tasks.
task first: The task is ready in queue "a".
callback approve: It has been neither resolved nor rejected.
signal landed: No signal with this name that matches {"table": "orders"} has been sent.
callback soon over: It has been neither resolved nor rejected. If it has not come by then, this task is aborted.
signal done: No signal with this name has been sent since 2026-01-01 00:00:00+00.', 'every closed gate, in order');
select is((select array_agg(ord order by ord) from scylla.explain_waiting('last')), '{1,2,3,4,5,6}', 'they are numbered');
select is((select bool_and(since = t.updated) from scylla.explain_waiting('last'), scylla.get_task('last') t), true, 'since when it waits');
select is((select array_agg(ord order by ord) from scylla.explain_waiting('last') where until is not null), '{5}', 'a callback expires');
select scylla.open_plan('nightly'), scylla.resolve_callback('approve'), scylla.send_signal('landed', '{"table": "orders"}') \g /dev/null
select scylla.lease_task('first', 'ada') \g /dev/null
update scylla.task_callback set expires = now() - interval '1 s' where token = 'soon over';
update scylla.task_gate set deadline = now() - interval '1 s' where deadline is not null;
select is(reasons('last'),
'task first: The task is running in queue "a", by worker "ada".
callback soon over: The time for it is over: the monitor, or scylla.maintain(), ends the task.
signal done: No signal with this name has been sent since 2026-01-01 00:00:00+00.', 'an open gate is no reason');
select is(reasons('first'), 'none', 'a running task waits for nothing');
select scylla.complete('first', 'ada') \g /dev/null
select is(reasons('first'), 'none', 'nor does one that has ended');
select scylla.create_callback('slow') \g /dev/null
select scylla.submit('b', '1', rn => 'patient', wait_for => '[{"callback": "slow", "timeout": "1 h", "on_timeout": "ignore"},
    {"signal": "done", "timeout": "2 h", "on_timeout": "skip"}]') \g /dev/null
select is(reasons('patient'),
'callback slow: It has been neither resolved nor rejected. If it has not come by then, this task goes on without it.
signal done: No signal with this name has been sent. If it has not come by then, this task is cancelled.', 'what happens when the time is over');
select is(times('patient'), 'callback slow: 00:00:00, 01:00:00
signal done: 00:00:00, 02:00:00', 'and when');
select scylla.submit('b', '1', rn => 'behind', depends_on => '{patient}') \g /dev/null
select is(reasons('behind'), 'task patient: The task is waiting in queue "b".', 'a provider that waits itself');
select is(times('behind'), 'task patient: 00:00:00, ', 'nobody knows until when');
select scylla.create_callback('shorter', '10 min') \g /dev/null
select scylla.submit('b', '1', rn => 'hasty', wait_for => '[{"callback": "shorter", "timeout": "1 h", "on_timeout": "ignore"}]') \g /dev/null
select is((select until from scylla.explain_waiting('hasty')), (select expires from scylla.condition where name = 'shorter'), 'a callback that expires before its timeout');
select is(reasons('hasty'), 'callback shorter: It has been neither resolved nor rejected. If it has not come by then, this task is aborted.', 'has failed by then');

-- Checks.
select scylla.submit('b', '1', rn => 'asks', wait_for => '[{"check": {"queue": "sensors", "spec": {"day": 1}}, "timeout": "1 h"}]') \g /dev/null
select rn as check from scylla.task where queue = 'sensors' \gset
select is(reasons('asks'), format('check %s: The task is ready in queue "sensors". If it has not come by then, this task is aborted.', :'check'), 'a check');
select is(times('asks'), format('check %s: 00:00:00, 01:00:00', :'check'), 'since when, until when');
select scylla.lease_task(:'check', 'w') \g /dev/null
select is(reasons('asks'), format('check %s: The task is running in queue "sensors", by worker "w". If it has not come by then, this task is aborted.', :'check'), 'it is asked');
select scylla.not_yet(:'check', 'w', '30 s') \g /dev/null
select is(reasons('asks'), format('check %s: The task is waiting in queue "sensors". It has answered "not yet" 1 time, at last at %s. If it has not come by then, this task is aborted.',
                                  :'check', (select answered from scylla.get_task(:'check'))), 'it has answered');
select is(reasons(:'check'), 'its next attempt: Its worker has given it back until this time.', 'the check itself');
select is(times(:'check'), 'its next attempt: 00:00:00, 00:00:30', 'for that long');

-- Pools.
select scylla.create_pool('small', '{"slots": 1}') \g /dev/null
select scylla.submit('b', '1', rn => 'needs 1', needs => '{"small": {"slots": 1}}', expected_runtime => '1 h') \g /dev/null
select is(reasons('needs 1'), 'pool small: Not placed: its turn has come.', 'a task that could be placed');
select scylla.place('small') \g /dev/null
select scylla.submit('b', '1', rn => 'needs 2', needs => '{"small": {"slots": 1}}', expected_runtime => '1 h') \g /dev/null
select is(reasons('needs 2'), 'pool small: Not placed: slots short by 1 in pool small.', 'one for which there is no room');
select is((select row(since = t.updated, until = (select ends from scylla.pool_reservation where pool = 'small'))::text
           from scylla.explain_waiting('needs 2'), scylla.get_task('needs 2') t), '(t,t)', 'until there is, as planned');

-- What a role may not see has no name.
select scylla.grant_queue('b', 'scylla_explain_reader', 'view') \g /dev/null
select scylla.submit('a', '1', rn => 'second') \g /dev/null
select scylla.create_callback('foreign') \g /dev/null
select scylla.submit('b', '1', rn => 'foreign', depends_on => '{second}', wait_for =>
    '[{"callback": "foreign"}, {"signal": "done"}, {"check": {"queue": "sensors", "spec": {"day": 1}}}]') \g /dev/null
create function seen_by_reader(rn text) returns setof text security definer language sql as
    $$ select waits_for || ': ' || detail from scylla.explain_waiting(rn) order by ord $$;
alter function seen_by_reader owner to scylla_explain_reader;
select results_eq($$ select seen_by_reader('foreign') $$, $$ values ('a task: The task is in a queue that you may not view.'),
       ('a callback: It has been neither resolved nor rejected.'),
       ('a signal: No such signal has been sent.'),
       ('a check: The task is in a queue that you may not view.') $$, 'foreign tasks, callbacks, signals and checks have no name');
select is((select seen_by_reader('needs 2')), 'a pool: The monitor, or scylla.place(), has not placed it yet.', 'nor do pools');
select refuses($$ select seen_by_reader('second') $$, 'P0002', 'exists', 'task "second" does not exist');

-- ---- times -----------------------------------------------------------------------------------------------------------

select scylla.submit('t', '1', rn => 'later', not_before => '2100-01-01') \g /dev/null
select is((select row(waits_for, since = t.updated, until, detail)::text from scylla.explain_waiting('later'), scylla.get_task('later') t),
          '("its start time",t,"2100-01-01 00:00:00+00","It was submitted to start at this time.")', 'not_before');
select scylla.submit('t', '1', rn => 'later and gated', not_before => '2100-01-01', wait_for => '[{"signal": "done"}]') \g /dev/null
select is((select string_agg(waits_for, ', ' order by ord) from scylla.explain_waiting('later and gated')), 'signal done, its start time',
          'both a gate and a time');
select scylla.submit('t', '1', rn => 'failed', retry => '{"initial": "1 h", "jitter": 0}') \g /dev/null
select scylla.lease_task('failed', 'w'), scylla.fail('failed', 'w', '{"code": "x"}') \g /dev/null
select is(reasons('failed'), 'its next attempt: It is offered again after this delay. It has failed 1 time.', 'a retry');
select is(times('failed'), 'its next attempt: 00:00:00, 01:00:00', 'until its delay is over');
update scylla.task_waiting set due = now() - interval '1 s' where id = (select id from scylla.task_spec where rn = 'failed');
select is(reasons('failed'), 'its next attempt: The time has come: the monitor, or scylla.maintain(), makes the task ready.', 'which is over');
select scylla.maintain(), scylla.lease_task('failed', 'w'), scylla.fail('failed', 'w', '{"code": "x"}') \g /dev/null
select is(reasons('failed'), 'its next attempt: It is offered again after this delay. It has failed 2 times.', 'another one');
update scylla.task_waiting set due = now() - interval '1 s' where id = (select id from scylla.task_spec where rn = 'later');
select is(reasons('later'), 'its start time: The time has come: the monitor, or scylla.maintain(), makes the task ready.', 'a start time that has come');

-- ---- ready tasks -----------------------------------------------------------------------------------------------------

do $$ begin
    perform scylla.submit('free', '1', rn => 'f' || n) from generate_series(1, 3) n;
    perform scylla.create_queue('full', max_running => 1, max_running_per_key => 1);
    perform scylla.submit('full', '1', rn => 'full' || n, key => 'k"') from generate_series(1, 3) n;
    perform scylla.create_queue('slow', rate => '{"tasks": 1, "per": "1 day"}', rate_per_key => '{"tasks": 1, "per": "2 days"}');
    perform scylla.submit('slow', '1', rn => 'slow', key => 'k');
    perform scylla.create_queue('turns', key_weights => '{}');
    perform scylla.submit('turns', '1', rn => 'turn ' || key || n, key => key) from unnest('{x,y}'::text[]) key, generate_series(1, 2) n;
    perform scylla.lease('full', 'w');
    perform scylla.submit_bulk('crowd', array_fill('1'::jsonb, array[10001]));
    perform scylla.submit('crowd', '1', rn => 'last of many');
end $$;
select is(reasons('f1'), 'a worker: Nothing holds it back. No worker waits for queue "free".', 'the first task of a queue');
select is(times('f1'), 'a worker: 00:00:00, ', 'since it is ready');
select is(reasons('f2'), 'its turn: 1 task of queue "free" is ready and comes before it.', 'the second');
select is(reasons('f3'), 'its turn: 2 tasks of queue "free" are ready and come before it.', 'the third');
select is(times('f3'), 'its turn: , ', 'nobody knows since when, nor until when');
select is(reasons('last of many'), 'its turn: more than 10000 tasks of queue "crowd" are ready and come before it.', 'behind many');
select scylla.pause_queue('free') \g /dev/null
select is(reasons('f1'), 'queue free to be resumed: The queue is paused: resume_queue() lets workers lease its tasks again.', 'a pause');
select is(times('f1'), 'queue free to be resumed: , ', 'nobody knows until when');
select is(reasons('full2'),
'max_running: Queue "full" runs 1 task, and may run no more than 1.
max_running_per_key: Queue "full" runs 1 task with the key "k"", and may run no more than 1.', 'limits');
select is(times('full2'), 'max_running: , 
max_running_per_key: , ', 'nobody knows until when');
select scylla.complete('full1', 'w') \g /dev/null
select is(reasons('full2'), 'a worker: Nothing holds it back. No worker waits for queue "full".', 'until there is room');
select is(reasons('slow'),
'rate: Queue "slow" has used up its rate.
rate_per_key: The key "k" has used up its rate in queue "slow".', 'rates');
select is((select array_agg(round(extract(epoch from until - clock_timestamp()) / 3600) order by ord) from scylla.explain_waiting('slow'))::text,
          case current_setting('shared_preload_libraries') when '' then '{NULL,NULL}' else '{24,48}' end, 'until there is another token, which only shared memory knows');
select is(reasons('turn y2'), 'its turn: 1 task of queue "turns" is ready and comes before it. They have the same key; keys take turns.',
          'keys that take turns');
select is(reasons('turn y1'), 'a worker: Nothing holds it back. No worker waits for queue "turns".', 'the first of a key');
select * from finish();
rollback;
