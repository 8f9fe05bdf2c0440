-- The views stat_waiting and stat_trigger: what they count, that metrics() has the same, and that their price is that of what waits.
begin;
\ir include/helpers.psql
select * from no_plan();

-- signals callbacks checks pools | deferred | checks to answer
create function stat(of text) returns text language sql as $$
    select concat_ws(' ', for_signals, for_callbacks, for_checks, for_pools, '|', deferred, '|', checks) from scylla.stat_waiting where queue = of
$$;
create function metric(of text) returns text language sql as $$
    select string_agg(replace(line, 'pgscylla_', ''), E'\n') from regexp_split_to_table(scylla.metrics(), '\n') line
    where line ~ ('^pgscylla_(tasks_waiting_for|queue_deferred|queue_checks|trigger_[a-z_]+)\{' || of || '[,}]')
$$;

-- ---- conditions ------------------------------------------------------------------------------------------------------------

select scylla.create_queue(q) from unnest(array['a', 'asked', 'b', 'placed']) q \g /dev/null
select is_empty('select * from scylla.stat_waiting', 'no queue has tasks that wait for conditions');
select scylla.submit('b', '1', rn => 'first'), scylla.submit('b', '1', depends_on => '{first}'), scylla.submit('b', '1', not_before => now() + interval '1 h') \g /dev/null
select is_empty('select * from scylla.stat_waiting', 'tasks that wait for other tasks and for a time are none');
select is((select waiting from scylla._stat_queues(true) where queue = 'b'), 2::bigint, '... though they wait') where current_setting('shared_preload_libraries') = '';

select scylla.create_callback('t1'), scylla.create_callback('t2'), scylla.create_callback('t3') \g /dev/null
select scylla.submit('a', '1', wait_for => '[{"signal": "s"}]'), scylla.submit('a', '1', wait_for => '[{"signal": "s"}]'),
       scylla.submit('a', '1', wait_for => '[{"signal": "s", "match": {"k": 1}}, {"signal": "s", "match": {"k": 2}}]') \g /dev/null
select is(stat('a'), '3 0 0 0 | 0 | 0', 'tasks that share a condition count each, one that waits for two signals counts once');
select scylla.submit('a', '1', rn => 'both', wait_for => '[{"signal": "s", "match": {"k": 3}}, {"callback": "t1"}]'),
       scylla.submit('a', '1', wait_for => '[{"callback": "t1"}]') \g /dev/null
select is(stat('a'), '4 2 0 0 | 0 | 0', 'one that waits for a signal and a callback counts with both');
select scylla.resolve_callback('t1'), scylla.send_signal('s', '{"k": 2}') \g /dev/null
select is(stat('a'), '2 0 0 0 | 0 | 0', 'what has come is not waited for; the first of two signals is still missing');
select scylla.submit('a', '1', wait_for => '[{"check": {"queue": "asked", "spec": 1}}]'),
       scylla.submit('b', '1', wait_for => '[{"check": {"queue": "asked", "spec": 1}}]'),
       scylla.submit('b', '1', wait_for => '[{"check": {"queue": "asked", "spec": 2}}]') \g /dev/null
select is(array[stat('a'), stat('b'), stat('asked')], array['2 0 1 0 | 0 | 0', '0 0 2 0 | 0 | 0', '0 0 0 0 | 0 | 2'],
          'tasks that wait for a check, and the checks of the queue that is asked');
select scylla.complete(rn, 'w') from scylla.lease('asked', 'w') \g /dev/null
select is(array[stat('a'), stat('b'), stat('asked')], array['2 0 0 0 | 0 | 0', '0 0 1 0 | 0 | 0', '0 0 0 0 | 0 | 1'], 'one is answered');
select scylla.not_yet(rn, 'w') from scylla.lease('asked', 'w') \g /dev/null
select is(stat('asked'), '0 0 0 0 | 0 | 1', 'one that waits for its next time is not answered');

-- ---- deferral and timeouts -------------------------------------------------------------------------------------------------

select scylla.submit('b', '1', rn => 'deferred', priority => 9), scylla.lease_task('deferred', 'w'), scylla.defer('deferred', 'w', '[{"callback": "t2"}]') \g /dev/null
select is(stat('b'), '0 1 1 0 | 1 | 0', 'a task that was deferred');
select scylla.submit('b', '1', wait_for => '[{"callback": "t3", "timeout": "1 h"}, {"callback": "t2"}]'),
       scylla.submit('b', '1', rn => 'late', wait_for => '[{"callback": "t3", "timeout": "1 h", "on_timeout": "ignore"}, {"signal": "s", "match": {"k": 9}}]') \g /dev/null
select is(stat('b'), '1 3 1 0 | 1 | 0', 'gates with a timeout');
update scylla.task_gate set deadline = now() - interval '1 s' where task = (select id from scylla.task_spec where rn = 'late') and deadline is not null;
select is(stat('b'), '1 2 1 0 | 1 | 0', 'a gate whose time is over holds up nobody');
update scylla.task_callback set expires = now() - interval '1 s' where token = 't3';
select is(stat('b'), '1 2 1 0 | 1 | 0', 'nor does a callback that has expired: what waits here still waits for another one');
select scylla.resolve_callback('t2') \g /dev/null
select is(stat('b'), '1 0 1 0 | 0 | 0', 'the deferred task goes on');
select scylla.lease_task('deferred', 'w'), scylla.fail('deferred', 'w', '{"code": "x"}', retry_after => '1 h') \g /dev/null
select is(stat('b'), '1 0 1 0 | 0 | 0', 'a task that is to be tried again is not deferred');

-- ---- pools -----------------------------------------------------------------------------------------------------------------

select scylla.create_pool('p', '{"permits": 1}'), scylla.create_pool('p2', '{"permits": 1}') \g /dev/null
select scylla.submit('placed', '1', rn => 'placed-' || n, needs => '{"any": ["p", "p2"], "permits": 1}') from generate_series(1, 5) n \g /dev/null
select scylla.place() \g /dev/null
select is(stat('placed'), '0 0 0 3 | 0 | 0', 'tasks in the lines of pools count once, also where several pools could serve');
select is(metric('queue="placed"'), E'queue_deferred{queue="placed"} 0\nqueue_checks{queue="placed"} 0\n'
          || E'tasks_waiting_for{queue="placed",what="callback"} 0\ntasks_waiting_for{queue="placed",what="check"} 0\n'
          || E'tasks_waiting_for{queue="placed",what="pool"} 3\ntasks_waiting_for{queue="placed",what="signal"} 0', 'metrics() has the same numbers');
select is(metric('queue="b"'), E'queue_deferred{queue="b"} 0\nqueue_checks{queue="b"} 0\n'
          || E'tasks_waiting_for{queue="b",what="callback"} 0\ntasks_waiting_for{queue="b",what="check"} 1\n'
          || E'tasks_waiting_for{queue="b",what="pool"} 0\ntasks_waiting_for{queue="b",what="signal"} 1', '... of conditions too');

-- ---- triggers --------------------------------------------------------------------------------------------------------------

select scylla.create_trigger('pair "1"', '[{"signal": "l", "join": ["k"]}, {"signal": "r", "join": ["k"]}]', '{"submit": {"queue": "a", "spec": 1}}'),
       scylla.create_trigger('never', '[{"signal": "l"}]', '{"submit": {"queue": "a", "spec": 1}}', '$[0].params.k == 9') \g /dev/null
select results_eq('select trigger, fired, skipped, waiting, failing, paused, last_fired is null, failed is null from scylla.stat_trigger order by trigger',
                  $$values ('never', 0::bigint, 0::bigint, 0::bigint, 0::bigint, false, true, true), ('pair "1"', 0, 0, 0, 0, false, true, true)$$,
                  'triggers that have done nothing');
select scylla.send_signal('l', '{"k": 1}'), scylla.send_signal('l', '{"k": 2}'), scylla.send_signal('l', '{"k": 3}'), scylla.send_signal('r', '{"k": 2}'), scylla.maintain() \g /dev/null
select scylla.pause_trigger('never') \g /dev/null
select results_eq('select trigger, fired, skipped, waiting, failing, paused, last_fired is null, failed is null from scylla.stat_trigger order by trigger',
                  $$values ('never', 0::bigint, 3::bigint, 0::bigint, 0::bigint, true, true, true), ('pair "1"', 1, 0, 2, 0, false, false, true)$$,
                  'what they have done, and what is half-joined');
select scylla.alter_queue('a', '{"max_depth": 1}') \g /dev/null
select scylla.send_signal('r', '{"k": 3}'), scylla.maintain() \g /dev/null
select results_eq($$select fired, waiting, failing, failed is null from scylla.stat_trigger where trigger like 'pair%'$$,
                  $$values (1::bigint, 1::bigint, 1::bigint, false)$$, 'one whose action fails');
select is(metric('trigger="pair \\"1\\""'), E'trigger_fired_total{trigger="pair \\"1\\""} 1\ntrigger_skipped_total{trigger="pair \\"1\\""} 0\ntrigger_missed_total{trigger="pair \\"1\\""} 0\n'
          || E'trigger_signals_waiting{trigger="pair \\"1\\""} 1\ntrigger_sets_failing{trigger="pair \\"1\\""} 1\ntrigger_is_paused{trigger="pair \\"1\\""} 0',
          'metrics() has the same numbers');
select is(metric('trigger="never"'), E'trigger_fired_total{trigger="never"} 0\ntrigger_skipped_total{trigger="never"} 3\ntrigger_missed_total{trigger="never"} 0\n'
          || E'trigger_signals_waiting{trigger="never"} 0\ntrigger_sets_failing{trigger="never"} 0\ntrigger_is_paused{trigger="never"} 1', '... of each trigger');

-- ---- the price -------------------------------------------------------------------------------------------------------------

-- Tasks that wait for their time, and gates of tasks that have ended.
insert into scylla.task_waiting (id, due, updated, queue, attempt, failures)
select -n, now() + interval '1 day', now(), (select id from scylla.queue where name = 'a'), 0, 0 from generate_series(1, 5000) n;
insert into scylla.task_gate (task, provider, ord, kind, on_failure) select -10000 - n, -20000 - n, 1, 'c', 'c' from generate_series(1, 5000) n;
create function scans(of regclass) returns bigint language sql as 'select pg_stat_get_xact_numscans(of)';
create function new_scans(of regclass) returns bigint language plpgsql as $$
declare
    before bigint := scans(of);
begin
    perform from scylla.stat_waiting;
    return scans(of) - before;
end $$;
select is(new_scans('scylla.task_waiting'), 0::bigint, 'tasks that wait for something else are not read');
select is(new_scans('scylla.task_gate'), 0::bigint, 'nor are gates of ended tasks');

-- Three times as many tasks as before wait for one signal, every third of them deferred, every tenth for its time once more.
select scylla.submit('b', '1', rn => 'first of many', wait_for => '[{"signal": "many"}]') \g /dev/null
insert into scylla.task_gate (task, provider, ord, kind, on_failure)
select -20000 - n, g.provider, 1, 'c', 'c' from generate_series(1, 15000) n, scylla.task_gate g
where g.task = (select id from scylla.task_spec where rn = 'first of many');
insert into scylla.task_waiting (id, due, updated, queue, attempt, failures)
select -20000 - n, case when n % 10 = 0 then now() + interval '1 day' end, now(), (select id from scylla.queue where name = 'b'), case when n % 3 = 0 then 1 else 0 end, 0
from generate_series(1, 15000) n;
select is(stat('b'), '13502 0 1 0 | 4500 | 0', 'when many tasks wait for a signal, each counts as when few do');
select is(new_scans('scylla.task_waiting'), 1::bigint, '... but all that wait are read at once, which is faster');
select is(new_scans('scylla.task_gate'), 0::bigint, '... not so their gates');

select * from finish();
rollback;
