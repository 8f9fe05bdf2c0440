-- Running tasks that give up their lease to wait: not_yet() and defer().
begin;
\ir include/helpers.psql
select * from no_plan();

create function state(rn text) returns text language sql as $$
    select t.status || ' ' || t.attempt || coalesce(' ' || nullif(t.args, '[]')::text, '') || coalesce(' state ' || t.state::text, '')
           || coalesce(' ' || (t.errors -> 0 ->> 'code'), '')
    from scylla.get_task(rn) t
$$;
create function leased(worker text = 'w') returns text language sql as $$
    select rn || ' ' || attempt || ' ' || args || coalesce(' ' || state::text, '') from scylla.lease('q', worker)
$$;
create function id(rn text) returns bigint language sql as $$ select s.id from scylla.task_spec s where s.rn = $1 $$;
create function pass(rn text, by interval) returns text language plpgsql as $$
begin
    update scylla.task_gate g set deadline = g.deadline - by where g.task = id($1);
    update scylla.task_waiting w set due = w.due - by where w.id = id($1);
    perform scylla.maintain();
    return state($1);
end $$;
create function given(rn text) returns text language sql as $$ select (scylla.submit('q', '1', rn => $1)).rn $$;

-- ---- not_yet ---------------------------------------------------------------------------------------------------------

select given('n1') \g /dev/null
select is(leased(), 'n1 1 []', 'a worker leases a task');
select is((select row(status, spec, attempt, failures, owner, answers, not_before = now_ + interval '10 min')::text
           from scylla.not_yet('n1', 'w', '10 min') t, lateral (select t.updated) _ (now_)), '(waiting,,1,0,,1,t)', 'and answers "not yet"');
select is((select row(history, errors, deadline)::text from scylla.get_task('n1')), '([],[],)', 'nothing is added to the history');
select is((select row(answers, answered = updated, state)::text from scylla.get_task('n1')), '(1,t,)', 'but counted');
select is((select row(t.answers, t.answered, t.state) is not distinct from row(v.answers, v.answered, v.state) from scylla.get_task('n1') t join scylla.task v using (rn)), true, 'the view says the same');
select is(leased(), null, 'nobody gets it now');
select is(pass('n1', '9 min'), 'waiting 1', 'not yet');
select is(pass('n1', '2 min'), 'ready 1', 'later it is ready');
select is(leased('v'), 'n1 2 []', 'for any worker, with the next attempt');
select is((select row(status, attempt, answers)::text from scylla.not_yet('n1', 'v', '0')), '(ready,2,2)', 'without a delay it is ready at once');
select is(leased(), 'n1 3 []', 'for the next');
select is((select extract(epoch from not_before - updated)::int from scylla.not_yet('n1', 'w')), 1, 'by default it waits as after a first failure');
update scylla.task_waiting w set due = w.due + interval '1 day' where w.id = id('n1'); -- however long the rest takes
select scylla.submit('q', '1', rn => 'n2', retry => '{"initial": "7 s"}') \g /dev/null
select is(leased(), 'n2 1 []', 'a task with a policy');
select is((select extract(epoch from not_before - updated)::int from scylla.not_yet('n2', 'w')), 7, 'waits as its policy says');
select pass('n2', '1 min') \g /dev/null
select is(leased(), 'n2 2 []', 'and again');
select is((select extract(epoch from not_before - updated)::int from scylla.not_yet('n2', 'w')), 7, 'as long, as it is no failure');
select is((select sum(pg_column_size(w.*)) from scylla.task_waiting w where w.id = id('n2')) < 100, true, 'a small row');
do $$ begin for i in 1 .. 500 loop
    perform pass('n2', '1 min'), scylla.lease_task('n2', 'w'), scylla.not_yet('n2', 'w', '1 min');
end loop; end $$;
select is((select row(attempt, failures, answers, history, errors)::text from scylla.get_task('n2')), '(502,0,502,[],[])', 'five hundred answers');
select is((select count(*) from scylla.task_memo where id = id('n2')), 1::bigint, 'are one row');
select is((select sum(pg_column_size(w.*)) from scylla.task_waiting w where w.id = id('n2')) < 100, true, 'and the task is as small as before');
select pass('n2', '1 min') \g /dev/null
select scylla.lease_task('n2', 'w') \g /dev/null
select is((select status::text from scylla.complete('n2', 'w', '"yes"')), 'completed', 'until the answer is yes');
select is((select answers from scylla.get_task('n2')), 502::bigint, 'the count stays');
select refuses($$ select scylla.not_yet('n2', 'w') $$, '55000', 'held', 'task "n2" is not held by worker "w"',
               'Its status is completed, its owner is "w" and its attempt is 503.');
select refuses_argument($$ select scylla.not_yet('n2', 'w', '-1 s') $$, 'retry_after', '-00:00:01', 'It must be between 0 and 365 days.');
select throws_ok($$ select scylla.not_yet('nothing', 'w') $$, 'P0002');
select throws_ok($$ select scylla.not_yet(null, 'w') $$, '22023');

-- ---- defer -----------------------------------------------------------------------------------------------------------

select scylla.create_callback(n) from unnest(array['a', 'b', 'c', 'd', 'e']) n \g /dev/null
select given('d1') \g /dev/null
select is(leased(), 'd1 1 []', 'a worker leases a task');
select is((select row(status, spec, attempt, failures, owner)::text from scylla.defer('d1', 'w', '[{"callback": "a"}]', '{"step": 1}')),
          '(waiting,,1,0,)', 'and has it wait');
select is(state('d1'), 'waiting 1 [null] state {"step": 1}', 'with its state');
select is((select jsonb_path_query_array(history, '$[*]._typ')::text from scylla.get_task('d1')), '["TaskAssignment", "TaskDefer"]', 'the history tells it');
select is((select count(*) from scylla.lease('q', 'w')), 0::bigint, 'nobody gets it now');
select scylla.resolve_callback('a', '"A"') \g /dev/null
select is(leased('v'), 'd1 2 ["A"] {"step": 1}', 'when it has come the task goes on, with another worker');
select is((select state from scylla.task where rn = 'd1'), '{"step": 1}', 'the view shows the state');
select throws_ok($$ select scylla.complete('d1', 'w') $$, '55000', null, 'the first worker has nothing to say any more');
select is((select status::text from scylla.defer('d1', 'v', '[{"callback": "b"}, {"signal": "s"}]', attempt => 2)), 'waiting', 'once more');
select is(state('d1'), 'waiting 2 [null, null] state {"step": 1}', 'without another state it keeps that');
select scylla.send_signal('s', '{"n": 1}'), scylla.resolve_callback('b', '2') \g /dev/null
select is((select row(args -> 0, args #> '{1,params}', jsonb_array_length(args), state)::text from scylla.lease('q', 'w')),
          '(2,"{""n"": 1}",2,"{""step"": 1}")', 'new values take the place of the old');
select is((select count(*) from scylla.check()), 0::bigint, 'check() finds nothing');
select is((select status::text from scylla.defer('d1', 'w', '[{"callback": "a"}]', '"last"')), 'ready', 'what has happened already is not waited for');
select is(leased(), 'd1 4 ["A"] "last"', 'nor is there a delay');
select is((select row(status, attempt)::text from scylla.defer('d1', 'w', '[]', 'null')), '(ready,4)', 'one may wait for nothing');
select is(leased(), 'd1 5 [] null', 'and then has no args');
select is((select status::text from scylla.complete('d1', 'w', '1')), 'completed', 'it ends as any other');
select is((select row(failures, state)::text from scylla.get_task('d1')), '(0,null)', 'without a failure');

-- A task that somebody had start before its time.
select scylla.submit('q', '1', rn => 'early', not_before => '2300-01-01'), scylla.reschedule('early'), leased() \g /dev/null
select is((select status::text from scylla.defer('early', 'w', '[]')), 'ready', 'it does not wait for its time again');
select is(leased(), 'early 2 []', 'for another worker');
select is((select status::text from scylla.defer('early', 'w', '[{"signal": "early"}]')), 'waiting', 'also where it waits');
select is((select string_agg(waits_for, ', ') from scylla.explain_waiting('early')), 'signal early', 'as explain_waiting says');
select scylla.send_signal('early') \g /dev/null
select is((select status::text from scylla.get_task('early')), 'ready', 'and what it waits for comes');
select leased(), scylla.complete('early', 'w') \g /dev/null

-- Failures and timeouts of what it waits for.
select given('d2'), leased(), scylla.defer('d2', 'w', '[{"callback": "c", "timeout": "1 h"}]', '1') \g /dev/null
select is(pass('d2', '59 min'), 'waiting 1 [null] state 1', 'it may wait for a time');
select is(pass('d2', '2 min'), 'aborted 1 [null] state 1 dependency-timeout', 'that is over');
select given('d3'), leased(), scylla.defer('d3', 'w', '[{"callback": "c", "on_failure": "skip"}]') \g /dev/null
select given('d4'), leased(), scylla.defer('d4', 'w', '[{"callback": "c", "on_failure": "ignore"}]') \g /dev/null
select given('d5'), leased(), scylla.defer('d5', 'w', '[{"callback": "c"}]') \g /dev/null
select scylla.reject_callback('c', '{"code": "no"}') \g /dev/null
select is(state('d3'), 'cancelled 1 [null] dependency-failed', 'what fails cancels it');
select is(state('d4'), 'ready 1 [null]', 'or does not matter');
select is(state('d5'), 'aborted 1 [null] dependency-failed', 'or aborts it');
select is(leased(), 'd4 2 [null]', 'it goes on');
select is((select status::text from scylla.defer('d4', 'w', '[{"callback": "c"}]')), 'aborted', 'what has failed already ends it at once');

-- Gates of its submit, a plan, others that depend on it.
select given('base'), leased(), scylla.complete('base', 'w', '1') \g /dev/null
select scylla.create_plan('p') \g /dev/null
select scylla.submit('q', '1', rn => 'p1', plan => 'p', depends_on => '{base}') \g /dev/null
select scylla.submit('q', '1', rn => 'p2', plan => 'p', depends_on => '{p1}') \g /dev/null
select scylla.open_plan('p') \g /dev/null
select is(leased(), 'p1 1 [1]', 'a task of a plan that depends on another');
select is((select status::text from scylla.defer('p1', 'w', '[{"callback": "d"}]')), 'waiting', 'waits for something else');
select is((select count(*) from scylla.check()), 0::bigint, 'check() finds nothing');
select is((select row(status, waiting)::text from scylla.plan where name = 'p'), '(running,2)', 'the plan goes on');
select scylla.resolve_callback('d', '"D"') \g /dev/null
select is(leased(), 'p1 2 ["D"]', 'it goes on');
select scylla.complete('p1', 'w', '"P"') \g /dev/null
select is(leased(), 'p2 1 ["P"]', 'and its dependants after it');
select scylla.complete('p2', 'w') \g /dev/null
select is((select status from scylla.plan where name = 'p'), 'completed', 'to the end of the plan');

-- A task that it submits itself.
select given('parent'), leased() \g /dev/null
select scylla.submit('q', '1', rn => 'child') \g /dev/null
select is((select status::text from scylla.defer('parent', 'w', '[{"task": "child"}]')), 'waiting', 'a task waits for one that it has submitted');
select is(leased(), 'child 1 []', 'which runs');
select refuses($$ select scylla.defer('child', 'w', '[{"task": "child"}]') $$, '22023', 'cycle', 'tasks depend on each other in a cycle', '"child" -> ... -> "child"');
select refuses($$ select scylla.defer('child', 'w', '[{"task": "parent"}]') $$, '22023', 'cycle', 'tasks depend on each other in a cycle', '"child" -> ... -> "child"');
select is(state('child'), 'running 1', 'a call that fails changes nothing');
select scylla.complete('child', 'w', '"C"') \g /dev/null
select is(leased(), 'parent 2 ["C"]', 'and gets its result');
select scylla.complete('parent', 'w') \g /dev/null

-- Limits: a task that waits holds no permit.
select scylla.create_queue('narrow', max_running => 1) \g /dev/null
select scylla.submit('narrow', '1', rn => 'l' || n) from generate_series(1, 2) n \g /dev/null
select is((select string_agg(rn, ' ') from scylla.lease('narrow', 'w', 2)), 'l1', 'one task may run');
select scylla.defer('l1', 'w', '[{"callback": "e"}]') \g /dev/null
select is((select string_agg(rn, ' ') from scylla.lease('narrow', 'w', 2)), 'l2', 'while it waits another does');
select scylla.not_yet('l2', 'w', '1 h') \g /dev/null
select scylla.resolve_callback('e') \g /dev/null
select is((select string_agg(rn, ' ') from scylla.lease('narrow', 'w', 2)), 'l1', 'and it again');
select scylla.cancel(rn) from unnest(array['l1', 'l2']) rn \g /dev/null

-- Pools: a task that waits holds nothing, and is placed again.
select scylla.create_pool('pool', '{"a": 1}') \g /dev/null
select scylla.submit('placed', '1', rn => 'f' || n, needs => '{"pool": {"a": 1}}') from generate_series(1, 2) n \g /dev/null
create function placed() returns text language sql as $$
    select scylla.maintain(); select string_agg(rn || ' ' || pool, ' ') from scylla.lease('placed', 'w', 2)
$$;
select is(placed(), 'f1 pool', 'one task has room');
select is((select row(status, pool)::text from scylla.defer('f1', 'w', '[{"signal": "go"}]')), '(waiting,)', 'while it waits it holds nothing');
select is(placed(), 'f2 pool', 'the other has its place');
select scylla.send_signal('go') \g /dev/null
select is(placed(), null, 'what it waits for has come, but it has no place');
select is((select row(status, pool)::text from scylla.not_yet('f2', 'w', '0')), '(waiting,)', 'a task that is offered again gets in line, too');
select is(placed(), 'f1 pool', 'the older task is first');
select is((select count(*) from scylla.check()), 0::bigint, 'check() finds nothing');
select scylla.cancel(rn) from unnest(array['f1', 'f2']) rn \g /dev/null

-- What is refused.
select refuses_argument($$ select scylla.defer('n1', 'w', null) $$, 'wait_for', 'null', 'It must be an array of objects with "task", "callback", "signal" or "check".');
select throws_ok(format('select scylla.defer(%L, %L, %L)', 'n1', 'w', w), '22023', null, 'refused: ' || w)
from unnest(array['{}', '1', '[1]', '[{}]', '[{"callback": "a", "timeout": "never"}]', 'null']) w;
select throws_ok($$ select scylla.defer('n1', 'w', '[]') $$, '55000', null, 'who does not hold it');
select throws_ok($$ select scylla.defer('nothing', 'w', '[]') $$, 'P0002', null, 'nothing there');
select given('d9'), leased() \g /dev/null
select throws_ok($$ select scylla.defer('d9', 'w', '[{"callback": "nothing"}]') $$, 'P0002', null, 'nothing to wait for');
select throws_ok($$ select scylla.defer('d9', 'w', '[{"task": "nothing"}]') $$, 'P0002', null, 'nothing to wait for');
select throws_ok($$ select scylla.defer('d9', 'w', '[]', attempt => 2) $$, '55000', null, 'another attempt');
select is(state('d9'), 'running 1', 'the task is held as before');

-- A task waits for other things than before. That its first callback had not been answered was found out, and does not count any more.
select scylla.create_callback(c) from unnest('{first,second,third}'::text[]) c \g /dev/null
select given('d11'), leased() \g /dev/null
savepoint deferred;
select scylla.defer('d11', 'w', '[{"callback": "first"}, {"callback": "second"}]'), scylla.resolve_callback('first') \g /dev/null
select is(state('d11'), 'waiting 1 [null, null]', 'one of two callbacks is not enough');
rollback to deferred;
select scylla.defer('d11', 'w', '[{"callback": "third"}]'), scylla.resolve_callback('third') \g /dev/null
select is(state('d11'), 'ready 1 [null]', 'a task that is deferred again waits for nothing that it waited for before');
select scylla.cancel('d11') \g /dev/null

-- What is left is removed with the task.
select given('d10'), leased(), scylla.defer('d10', 'w', '[]', '1'), scylla.cancel('d10') \g /dev/null
select id('d10') as d10 \gset
select is((select count(*) from scylla.task_memo where id = :d10), 1::bigint, 'a task that has ended keeps its state');
select scylla.delete_task('d10') \g /dev/null
select is((select count(*) from scylla.task_memo where id = :d10), 0::bigint, 'until it is deleted');
select scylla.complete('d9', 'w') \g /dev/null
select scylla.cancel('n1') \g /dev/null
update scylla.task_outcome set finished = finished - interval '1 year';
update scylla.task_plan set created = created - interval '1 year', finished = finished - interval '1 year';
update scylla.task_spec set created = created - interval '1 year';
select scylla.purge() \g /dev/null
select is((select string_agg(rn, ' ') from scylla.task), 'base', 'all tasks are purged but one, which this transaction has locked for its dependant');
select is((select count(*) from scylla.task_memo), 0::bigint, 'with what they kept');
select given('last'), leased(), scylla.defer('last', 'w', '[]', '1') \g /dev/null
select scylla.cancel('last') \g /dev/null
select scylla.drop_queue('q', force => true), scylla.maintain() \g /dev/null
select scylla.maintain() \g /dev/null
select is((select count(*) from scylla.task_memo), 0::bigint, 'a queue that is dropped, too');
select is((select count(*) from scylla.check()), 0::bigint, 'check() finds nothing');

select * from finish();
rollback;
