-- Gates that time out: tasks that wait for something that does not come in time.
begin;
\ir include/helpers.psql
select * from no_plan();

create function state(rn text) returns text language sql as $$
    select t.status || coalesce(' ' || nullif(t.args, '[]')::text, '')
           || coalesce(' ' || (t.errors -> 0 ->> 'code') || ' ' || (t.errors -> 0 ->> 'args'), '')
    from scylla.get_task(rn) t
$$;
create function submit_waiting(rn text, wait_for jsonb) returns text language sql as $$
    select state((scylla.submit('q', '1', rn => rn, wait_for => wait_for)).rn)
$$;
create function id(rn text) returns bigint language sql as $$ select s.id from scylla.task_spec s where s.rn = $1 $$;
-- Lets time pass for a task, and looks.
create function later(rn text, by interval) returns text language plpgsql as $$
begin
    update scylla.task_gate g set deadline = g.deadline - by where g.task = id($1);
    update scylla.task_waiting w set due = w.due - by where w.id = id($1);
    perform scylla.maintain();
    return state($1);
end $$;
create function due(rn text) returns text language sql as $$
    select coalesce(round(extract(epoch from w.due - now()) / 60) || ' min', 'never') from scylla.task_waiting w where w.id = id($1)
$$;
create function callback(token text, expires interval = null) returns text language sql as $$ select scylla.create_callback($1, $2) $$;

select callback(n) from unnest(array['a', 'b', 'c', 'd', 'e']) n \g /dev/null

-- ---- what it means ---------------------------------------------------------------------------------------------------

select is(submit_waiting('t1', '[{"callback": "a", "timeout": "1 h"}]'), 'waiting [null]', 'a task waits for a callback, but not for ever');
select is(due('t1'), '60 min', 'the time is noted');
select is((select not_before from scylla.get_task('t1')), null, 'it is not the time at which the task becomes ready');
select is((select not_before from scylla.task where rn = 't1'), null, 'nor is it in the view');
select is(later('t1', '59 min'), 'waiting [null]', 'as long as it is not over');
select is(later('t1', '2 min'), 'aborted [null] dependency-timeout {"gate": 1}', 'then the task is aborted, by default');
select is((select errors -> 0 ->> 'message' from scylla.get_task('t1')), 'what this task waits for has not come in time', 'the error of the task says what it has waited for in vain');
select is(submit_waiting('t2', '[{"callback": "a", "timeout": "1 h", "on_timeout": "abort"}]'), 'waiting [null]', 'abort may be named');
select is(submit_waiting('t3', '[{"callback": "a", "timeout": "1 h", "on_timeout": "skip"}]'), 'waiting [null]', 'another task may be skipped');
select is(submit_waiting('t4', '[{"callback": "a", "timeout": "1 h", "on_timeout": "ignore"}]'), 'waiting [null]', 'or go on');
select is(later('t2', '2 h'), 'aborted [null] dependency-timeout {"gate": 1}', 'abort');
select is(later('t3', '2 h'), 'cancelled [null] dependency-timeout {"gate": 1}', 'skip');
select is(later('t4', '2 h'), 'ready [null]', 'ignore');
select is((select args from scylla.lease('q', 'w')), '[null]', 'without a value');
select is((select count(*) from scylla.check()), 0::bigint, 'check() finds nothing');
select scylla.resolve_callback('a', '"late"') \g /dev/null
select is(state('t1'), 'aborted ["late"] dependency-timeout {"gate": 1}', 'what comes too late changes nothing');
select is((select (scylla.complete('t4', 'w')).status::text), 'completed', 'nor for the worker');
select is(submit_waiting('t5', '[{"callback": "a", "timeout": "1 h"}]'), 'ready ["late"]', 'what has come already is in time');
select scylla.complete(rn, 'w') from scylla.lease('q', 'w') \g /dev/null

select callback('late1'), callback('late2') \g /dev/null
select submit_waiting('t6', '[{"callback": "late1", "timeout": "1 h", "on_timeout": "ignore"}, {"callback": "late2"}]') \g /dev/null
select is(later('t6', '2 h'), 'waiting [null, null]', 'a task that goes on without one of two');
select submit_waiting('t7', '[{"callback": "late1"}]') \g /dev/null
select scylla.reject_callback('late1', '{"code": "late"}') \g /dev/null
select is(state('t6'), 'waiting [null, null]', 'does not fail when that one does so later');
select is(state('t7') ~ 'aborted .* dependency-failed', true, 'as another does');
select scylla.resolve_callback('late2', '5') \g /dev/null
select is(state('t6'), 'ready [null, 5]', 'but starts when the other has come');
select scylla.cancel('t6') \g /dev/null
-- ---- in time ---------------------------------------------------------------------------------------------------------

select submit_waiting('i1', '[{"callback": "b", "timeout": "1 h", "on_timeout": "skip"}]') \g /dev/null
select scylla.resolve_callback('b', '2') \g /dev/null
select is(state('i1'), 'ready [2]', 'a task that gets what it waits for in time is ready');
select is(later('i1', '2 h'), 'ready [2]', 'and stays so');
select is((select count(*) from scylla.task_waiting), 0::bigint, 'no mark is left');
select submit_waiting('i2', '[{"callback": "c", "timeout": "1 h"}]') \g /dev/null
select scylla.cancel('i2') \g /dev/null
select is(later('i2', '2 h'), 'cancelled [null]', 'a cancelled task does not time out');
-- The provider ends after the deadline, but before anybody has looked.
select submit_waiting('i3', '[{"callback": "c", "timeout": "1 h"}]') \g /dev/null
update scylla.task_gate set deadline = now() - interval '1 s' where task = id('i3');
select scylla.resolve_callback('c', '3') \g /dev/null
select is(state('i3'), 'ready [3]', 'what comes before anybody has looked is in time');

-- ---- several gates ---------------------------------------------------------------------------------------------------

select is(submit_waiting('s1', '[{"callback": "d", "timeout": "3 h"}, {"signal": "s", "timeout": "1 h", "on_timeout": "ignore"},
    {"task": "i1", "timeout": "2 h", "on_timeout": "skip"}, {"callback": "c", "timeout": "1 min"}]'), 'waiting [null, null, null, 3]', 'each gate has its own time');
select is(due('s1'), '60 min', 'the first that is closed counts');
select is(later('s1', '61 min'), 'waiting [null, null, null, 3]', 'a gate that is ignored does not open the others');
select is(due('s1'), '59 min', 'then the next counts');
select is((select count(*) from scylla.check()), 0::bigint, 'check() finds nothing');
select scylla.complete('i1', 'w', '"done"') from scylla.lease('q', 'w') where rn = 'i1' \g /dev/null
select is(state('s1'), 'waiting [null, null, "done", 3]', 'one opens');
select is(later('s1', '1 h'), 'waiting [null, null, "done", 3]', 'its time passes');
select is(due('s1'), '59 min', 'the last counts');
select is(later('s1', '1 h'), 'aborted [null, null, "done", 3] dependency-timeout {"gate": 1}', 'and ends the task');
select submit_waiting('s2', '[{"callback": "d"}, {"signal": "s", "timeout": "1 h", "on_timeout": "ignore"}]') \g /dev/null
select is(later('s2', '2 h'), 'waiting [null, null]', 'when the last has been ignored the task waits without end');
select is(due('s2'), 'never', 'and nothing is noted');
select is((select count(*) from scylla.check()), 0::bigint, 'check() finds nothing');
select scylla.send_signal('s') \g /dev/null
select is(state('s2') ~ '^waiting', true, 'what comes late opens nothing');
select scylla.resolve_callback('d', '4') \g /dev/null
select is(state('s2') ~ '^ready \[4, ', true, 'what is left does');
select is((select status::text from scylla.submit('q', '1', rn => 's3', not_before => now() + interval '1 day',
    wait_for => '[{"callback": "e", "timeout": "1 h", "on_timeout": "ignore"}]')), 'waiting', 'with a time at which to start');
select is(due('s3'), '60 min', 'the gates come first');
select is((select not_before = now() + interval '1 day' from scylla.get_task('s3')), true, 'the start is shown');
select is((select not_before = now() + interval '1 day' from scylla.task where rn = 's3'), true, 'in the view too');
select is(later('s3', '2 h'), 'waiting [null]', 'then it waits for the start');
select is(due('s3'), '1440 min', 'as long as it was to');
select is((select expiring from scylla.task_waiting where id = id('s3')), null, 'which does not time out');
select is(later('s3', '2 days'), 'ready [null]', 'and starts');

-- Those who depend on a task that has timed out.
select callback('f') \g /dev/null
select submit_waiting('d1', '[{"callback": "f", "timeout": "1 h"}]') \g /dev/null
select is((select status::text from scylla.submit('q', '1', rn => 'd2', depends_on => '{d1}')), 'waiting', 'a task depends on one that waits');
select submit_waiting('d3', '[{"task": "d1", "on_failure": "ignore", "timeout": "1 h", "on_timeout": "ignore"}, {"callback": "f", "timeout": "2 h", "on_timeout": "ignore"}]') \g /dev/null
update scylla.task_gate set deadline = deadline - interval '61 min' where task = id('d3');
update scylla.task_waiting set due = due - interval '61 min' where id = id('d3');
select is(later('d1', '2 h'), 'aborted [null] dependency-timeout {"gate": 1}', 'that times out');
select is(state('d2'), 'aborted [null] dependency-failed {"provider": "d1"}', 'so the other ends with it');
select is(state('d3'), 'waiting [null, null]', 'one that waits for more, and was given another time in the same round, goes on waiting');
select is(later('d3', '2 h'), 'ready [null, null]', 'for that time');

-- In a plan: skipped is not cancelled.
select scylla.create_plan('p') \g /dev/null
select is((select count(*) from scylla.submit_many(jsonb_build_array(
    '{"queue": "q", "spec": 1, "rn": "p1", "plan": "p", "wait_for": [{"callback": "f", "timeout": "1 h", "on_timeout": "skip"}]}'::jsonb,
    '{"queue": "q", "spec": 1, "rn": "p2", "plan": "p", "wait_for": [{"task": "p1", "timeout": "1 min", "on_timeout": "ignore"}]}'::jsonb))), 2::bigint, 'a plan of tasks whose gates time out');
select scylla.open_plan('p') \g /dev/null
select is(due('p2'), '1 min', 'an element that waits for another');
select is(later('p1', '2 h'), 'cancelled [null] dependency-timeout {"gate": 1}', 'one is skipped');
select is(state('p2'), 'aborted [null] dependency-failed {"provider": "p1"}', 'the other fails');
select scylla.create_plan('o') \g /dev/null
select scylla.submit('q', '1', rn => 'o1', plan => 'o', wait_for => '[{"callback": "f", "timeout": "1 h", "on_timeout": "skip"}]') \g /dev/null
select scylla.open_plan('o') \g /dev/null
select later('o1', '2 h') \g /dev/null
select is((select status from scylla.plan where name = 'o'), 'completed', 'a plan whose task was skipped is completed');
select scylla.create_plan('n') \g /dev/null
select scylla.submit('q', '1', rn => 'n1', plan => 'n', wait_for => '[{"callback": "f", "timeout": "1 h"}]') \g /dev/null
select is(later('n1', '2 h'), 'aborted [null] dependency-timeout {"gate": 1}', 'the time begins with the submit, also in a plan that is not open');

-- ---- callbacks that expire -------------------------------------------------------------------------------------------

select callback('x1', '1 h') \g /dev/null
select submit_waiting('x' || n, w::jsonb) from (values (1, '[{"callback": "x1"}]'), (2, '[{"callback": "x1", "on_failure": "skip"}]'),
    (3, '[{"callback": "x1", "on_failure": "ignore"}]'), (4, '[{"callback": "x1", "timeout": "2 h", "on_timeout": "ignore"}]'),
    (5, '[{"callback": "x1", "timeout": "10 min", "on_timeout": "ignore"}]')) _ (n, w) \g /dev/null
update scylla.task_callback set expires = now() - interval '1 s' where token = 'x1';
select is(later('x1', '61 min'), 'aborted [null] dependency-timeout {"gate": 1}', 'a callback that expires has failed');
select is(later('x2', '61 min'), 'cancelled [null] dependency-timeout {"gate": 1}', 'and on_failure says what that means');
select is(later('x3', '61 min'), 'ready [null]', 'for each task');
select is(later('x4', '61 min'), 'aborted [null] dependency-timeout {"gate": 1}', 'also where it comes before a timeout');
select is(later('x5', '11 min'), 'ready [null]', 'but not where it comes after');
select refuses($$ select scylla.resolve_callback('x1') $$, 'P0002', 'exists', 'callback "x1" does not exist or has expired', table_ => 'callback');

-- ---- what is refused -------------------------------------------------------------------------------------------------

select throws_ok(format('select submit_waiting(%L, %L)', 'bad', w), '22023', null, 'refused: ' || w)
from unnest(array['[{"callback": "f", "timeout": 5}]', '[{"callback": "f", "timeout": "0 s"}]', '[{"callback": "f", "timeout": "-1 s"}]',
                  '[{"callback": "f", "timeout": "soon"}]', '[{"callback": "f", "timeout": "366 days"}]', '[{"callback": "f", "on_timeout": "skip"}]',
                  '[{"callback": "f", "timeout": "1 h", "on_timeout": "cascade"}]', '[{"callback": "f", "timeout": "1 h", "on_timeout": 1}]']) w;
-- Checks are tried again, as sensors are: each try has the time of one.
create function check_due(rn text, more jsonb) returns text language plpgsql as $$
begin
    perform scylla.submit('q', '1', rn => $1, wait_for => jsonb_build_array(jsonb_build_object('check', jsonb_build_object('queue', 'sensors', 'spec', 1)) || more));
    return due($1);
end $$;
select is(check_due('k1', '{"timeout": "10 min"}'), '10 min', 'a check with a timeout');
select is(check_due('k2', '{"timeout": "10 min", "retries": 3}'), '40 min', 'is waited for as often as its retries say, and once more');
select is(check_due('k3', '{"timeout": "10 min", "execution_timeout": "4 min", "retries": 1}'), '8 min', 'the smaller of its two timeouts limits each try');
select is(check_due('k4', '{"execution_timeout": "4 min", "retries": 0, "on_timeout": "skip"}'), '4 min', 'it may have one of them only');
select is(check_due('k9', '{"timeout": "10 min", "execution_timeout": "0"}'), '10 min', 'an execution_timeout of 0 is none, as for sensors');
select is(check_due('k5', '{"retries": 2}'), 'never', 'without any it has no limit');
set local scylla.check_timeout = '15 min';
select is(check_due('k6', '{}'), '15 min', 'scylla.check_timeout limits a wait for a check that has no limit of its own');
select is(check_due('k7', '{"retries": 2, "on_timeout": "ignore"}'), '45 min', '... for each try');
select is(check_due('k8', '{"timeout": "1 h"}'), '60 min', '... unless it has one of its own');
reset scylla.check_timeout;
select refuses_argument($$ select check_due('bad', '{"timeout": "300 days", "retries": 1}') $$, 'retries', '1', 'The timeout times (retries + 1) must be at most 365 days.');
select refuses_argument($$ select check_due('bad', '{"retries": -1}') $$, 'retries', '-1', 'It must be between 0 and 1000.');
select refuses_argument($$ select submit_waiting('bad', '[{"callback": "f", "retries": 1}]') $$, 'wait_for', '{"retries": 1, "callback": "f"}',
    'Only a check has "execution_timeout" and "retries".');

select refuses_argument($$ select submit_waiting('bad', '[{"callback": "f", "on_timeout": "skip"}]') $$, 'wait_for',
    '{"callback": "f", "on_timeout": "skip"}', '"on_timeout" needs a "timeout".');
select refuses_argument($$ select submit_waiting('bad', '[{"callback": "f", "timeout": "1 h", "on_timeout": "x"}]') $$, 'on_timeout', '"x"',
    'It must be abort, skip or ignore.');
select refuses_argument($$ select submit_waiting('bad', '[{"callback": "f", "timeout": "0 s"}]') $$, 'timeout', '00:00:00',
    'It must be more than 0 and at most 365 days.');
select is(submit_waiting('nulls', '[{"callback": "f", "timeout": null, "on_timeout": null, "on_failure": null}]'), 'waiting [null]', 'nulls are the defaults');
select is(due('nulls'), 'never', 'no timeout');

-- ---- check() ---------------------------------------------------------------------------------------------------------

create function problems(change text) returns text language plpgsql as $$
declare found text;
begin
    begin
        execute change;
        select string_agg(coalesce(c.rn || ': ', '') || regexp_replace(c.problem, '\d{4}-.*', '...'), '; ' order by c.problem) into found from scylla.check() c;
        raise sqlstate 'UNDO1';
    exception when sqlstate 'UNDO1' then null;
    end;
    return found;
end $$;
select submit_waiting('k', '[{"callback": "f", "timeout": "1 h"}]') \g /dev/null
select is(problems('update scylla.task_waiting set due = null, expiring = null where id = id(''k'')'), 'k: waits until the end of time although a gate times out at ...', 'a timeout that is lost');
select is(problems('update scylla.task_waiting set due = due + interval ''1 h'' where id = id(''k'')'), 'k: waits until ...', 'or late');
select is(problems('update scylla.task_gate set on_timeout = null where task = id(''k'')'), 'k: has a gate with the deadline ...', 'half a limit');
select is(problems('update scylla.task_gate set deadline = null where task = id(''k'')'), 'k: has a gate with no deadline and on_timeout a', 'the other half');
select is((select count(*) from scylla.check()), 0::bigint, 'else check() finds nothing');
-- It is found again by the walk through all waiting tasks.
update scylla.task_waiting set due = null, expiring = null where id = id('k');
update scylla.task_gate set deadline = now() - interval '1 s' where task = id('k');
select scylla.maintain() \g /dev/null
select is(state('k'), 'aborted [null] dependency-timeout {"gate": 1}', 'a task whose mark was lost times out nevertheless');

select * from finish();
rollback;
