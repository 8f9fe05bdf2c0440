-- Checks: questions that many tasks wait for together.
begin;
\ir include/helpers.psql
select * from no_plan();

create function state(rn text) returns text language sql as $$
    select t.status || coalesce(' ' || nullif(t.args, '[]')::text, '') || coalesce(' ' || (t.errors -> 0 ->> 'code'), '')
    from scylla.get_task(rn) t
$$;
create function wait_for(spec jsonb, every text = null, more jsonb = '{}') returns jsonb language sql as $$
    select jsonb_build_array(jsonb_build_object('check', jsonb_build_object('queue', 'ask', 'spec', spec, 'every', every)) || more)
$$;
create function waiter(rn text, spec jsonb, every text = null, more jsonb = '{}', priority integer = 0) returns text language sql as $$
    select state((scylla.submit('q', '1', rn => rn, priority => priority, wait_for => wait_for(spec, every, more))).rn)
$$;
create function id(rn text) returns bigint language sql as $$ select s.id from scylla.task_spec s where s.rn = $1 $$;
create function asked() returns text language sql as $$
    select string_agg(match::text || ' ' || waiters, ', ' order by match) from scylla.condition where kind = 'check'
$$;
create function answer(result jsonb) returns text language sql as $$
    select t.status::text from scylla.lease('ask', 'w') l, scylla.complete(l.rn, 'w', $1) t
$$;
create function check_rn(spec jsonb) returns text language sql as $$
    select t.rn from scylla.task t where t.queue = 'ask' and t.spec = $1 and t.status in ('waiting', 'ready', 'running')
$$;
-- So much time passes for the check.
create function pass(check_ text, by interval) returns text language plpgsql as $$
begin
    update scylla.task_waiting w set due = w.due - by, updated = w.updated - by where w.id = id(check_);
    update scylla.task_memo m set answered = m.answered - by where m.id = id(check_);
    perform scylla.maintain();
    return state(check_);
end $$;
-- In how many seconds it is asked again.
create function next_ask(check_ text) returns integer language sql as $$
    select round(extract(epoch from w.due - w.updated)) from scylla.task_waiting w where w.id = id(check_)
$$;

-- ---- one question for many -------------------------------------------------------------------------------------------

select is(waiter('a1', '{"day": 1, "table": "t"}'), 'waiting [null]', 'a task waits for a check');
select is(asked(), '{"day": 1, "table": "t"} 1', 'which is made for it');
select is(waiter('a2', '{"table": "t", "day": 1}'), 'waiting [null]', 'another task has the same question: the order of keys does not matter');
select is(waiter('a3', '{"table": "t", "day": 1.0}'), 'waiting [null]', 'nor the decimals of numbers');
select is(asked(), '{"day": 1, "table": "t"} 3', 'one check for all');
select is(waiter('b1', '{"day": 10, "table": "t"}'), 'waiting [null]', 'another question');
select is(waiter('b2', '{"day": "1", "table": "t"}'), 'waiting [null]', 'a text is no number');
select is(waiter('b3', '[{"day": 1}]'), 'waiting [null]', 'an array');
select is(waiter('b4', '{"a": {"b": [1, null, true]}}'), 'waiting [null]', 'whatever');
select is(waiter('b5', '{"a": {"b": [1, null, false]}}'), 'waiting [null]', 'almost the same');
select is(waiter('b6', '"1"'), 'waiting [null]', 'a text');
select is(waiter('b7', '["1"]'), 'waiting [null]', 'in an array');
select is(waiter('b8', '1'), 'waiting [null]', 'a number');
select is((select count(*) from scylla.condition where kind = 'check'), 9::bigint, 'each is a check of its own');
select is((select scylla.submit('q', '1', rn => 'o1', wait_for => '[{"check": {"queue": "other", "spec": {"day": 1, "table": "t"}}}]')).status, 'waiting',
          'as it is in another queue, made with it');
select is((select row(kind, name, match, status, waiters)::text from scylla.condition where name = 'other'), '(check,other,"{""day"": 1, ""table"": ""t""}",waiting,1)', 'the view');
select is((select row(rn, spec, attempt)::text from scylla.lease_task(check_rn('{"day": 1, "table": "t"}'), 'w')),
          format('(%s,"{""day"": 1, ""table"": ""t""}",1)', check_rn('{"day": 1, "table": "t"}')), 'a worker of its queue gets it as any task');
select is((scylla.complete(check_rn('{"day": 1, "table": "t"}'), 'w', '{"rows": 5}')).status, 'completed', 'and answers');
select is(array[state('a1'), state('a2'), state('a3'), state('b1')],
          array['ready [{"rows": 5}]', 'ready [{"rows": 5}]', 'ready [{"rows": 5}]', 'waiting [null]'], 'all who waited have the answer');
select is((select args from scylla.task where rn = 'a1'), '[{"rows": 5}]', 'in the view, too');
select is((select count(*) from scylla.task_check where id in (select provider from scylla.task_gate where task = id('a1'))), 0::bigint, 'the check is over');
select is(waiter('a4', '{"day": 1, "table": "t"}'), 'waiting [null]', 'who comes later');
select is(asked() ~ '"day": 1, "table": "t"} 1', true, 'asks anew');
select is((select count(*) from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'q', 'spec', i, 'wait_for', wait_for('{"many": 1}', '1 min')))
                                                    from generate_series(1, 100) i))), 100::bigint, 'a batch');
select is((select waiters from scylla.condition where match = '{"many": 1}'), 100::bigint, 'waits for one');
select is((scylla.submit('q', '1', rn => 'm1', depends_on => array['a4'], wait_for => wait_for('{"many": 1}') || wait_for('{"many": 1}') || wait_for('{"more": 1}'))).args,
          '[null, null, null, null]', 'among others, and twice');
select is((select count(*) from scylla.condition where match in ('{"many": 1}', '{"more": 1}')), 2::bigint, 'are two checks');
select is((select rn from scylla.plan_task where false), null, 'no plan');

-- ---- not yet ---------------------------------------------------------------------------------------------------------

select scylla.cancel(rn) from scylla.task where status = 'waiting' and rn <> 'm1' \g /dev/null
select scylla.maintain() \g /dev/null
select is((select count(*) from scylla.condition where kind = 'check'), 0::bigint, 'nobody waits any longer: no check is left');
select is((select count(*) from scylla.task_check), 0::bigint, 'nor a row of one');
select is((select string_agg(distinct status || ' ' || (errors -> 0 ->> 'code'), ',') from scylla.task where queue = 'ask' and status <> 'completed'), 'cancelled check-unused',
          'they are cancelled, and say why');
select is(waiter('n1', '"n"', '30 s'), 'waiting [null]', 'asked every 30 s');
select is((select count(*) from scylla.lease('ask', 'w')), 1::bigint, 'first at once');
select check_rn('"n"') as n \gset
select is((scylla.not_yet(:'n', 'w')).status, 'waiting', 'not yet');
select is(next_ask(:'n'), 30, 'asked again when the waiter wants');
select is(waiter('n2', '"n"', '1 min'), 'waiting [null]', 'another that has more time');
select scylla.maintain() \g /dev/null
select is(next_ask(:'n'), 30, 'changes nothing');
select is(waiter('n3', '"n"', '10 s'), 'waiting [null]', 'one in a hurry');
select scylla.maintain() \g /dev/null
select is(next_ask(:'n'), 10, 'has it asked sooner');
select is(pass(:'n', '9 s'), 'waiting', 'not after 9 s');
select is(pass(:'n', '2 s'), 'ready', 'but after 11');
select scylla.lease('ask', 'w') \g /dev/null
select is((scylla.not_yet(:'n', 'w')).status, 'waiting', 'the next answer');
select is(next_ask(:'n'), 10, 'goes by the smallest');
select is((scylla.cancel('n3')).status, 'cancelled', 'without that one');
select is(pass(:'n', '11 s'), 'ready', 'it is asked once more');
select scylla.lease('ask', 'w') \g /dev/null
select is((scylla.not_yet(:'n', 'w')).status, 'waiting', 'and then');
select is(next_ask(:'n'), 30, 'by the others');
select is((scylla.get_task(:'n')).answers, 3::bigint, 'answers are counted');
select is((select row(history, errors)::text from scylla.get_task(:'n')), '([],[])', 'and leave nothing else');
select is(pass(:'n', '31 s'), 'ready', 'later');
select scylla.lease('ask', 'w') \g /dev/null
select is((select row(status, extract(epoch from not_before - updated)::int)::text from scylla.not_yet(:'n', 'w', '5 min')), '(waiting,300)', 'its worker may know better');
select is(waiter('n4', '"n"', '1 min'), 'waiting [null]', 'who comes then');
select scylla.maintain() \g /dev/null
select is(next_ask(:'n'), 30, 'has it asked as often as its newest waiters want');
select is(pass(:'n', '31 s'), 'ready', 'once more');
select is((select string_agg(waits_for || ': ' || regexp_replace(detail, ' at last at .*\.', ' at last.'), '|') from scylla.explain_waiting('n1')),
          format('check %s: The task is ready in queue "ask". It has answered "not yet" 4 times, at last.', :'n'), 'explain_waiting says it');
select is(answer('"yes"'), 'completed', 'until the answer is yes');
select is(array[state('n1'), state('n2'), state('n3'), state('n4')], array['ready ["yes"]', 'ready ["yes"]', 'cancelled ["yes"]', 'ready ["yes"]'], 'for those who wait');
select is(waiter('r1', '"r"'), 'waiting [null]', 'who does not say how often');
select scylla.lease('ask', 'w') \g /dev/null
select is((scylla.not_yet(check_rn('"r"'), 'w')).status, 'waiting', 'not yet');
select is(next_ask(check_rn('"r"')), 1, 'asks by the retry policy');
do $$ declare r text := check_rn('"r"'); begin for i in 1 .. 200 loop
    perform pass(r, '1 h');
    perform scylla.lease('ask', 'w');
    perform scylla.not_yet(r, 'w', '1 min');
end loop; end $$;
select is((select count(*) from scylla.task_memo where id = id(check_rn('"r"'))), 1::bigint, 'two hundred answers are one row');
select is((select sum(pg_column_size(w.*)) from scylla.task_waiting w where w.id = id(check_rn('"r"'))) < 100, true, 'the check is as small as a new one');
select is(pass(check_rn('"r"'), '1 min'), 'ready', 'ready');
select is(answer('1'), 'completed', 'over');

-- ---- priority --------------------------------------------------------------------------------------------------------

select is(waiter('p1', '"p"', priority => 5), 'waiting [null]', 'a check has the priority of its waiter');
select is((scylla.get_task(check_rn('"p"'))).priority, 5, 'of the first');
select is(waiter('p2', '"p"', priority => 9), 'waiting [null]', 'one of a higher one');
select is((scylla.get_task(check_rn('"p"'))).priority, 5, 'is seen');
select scylla.maintain() \g /dev/null
select is((scylla.get_task(check_rn('"p"'))).priority, 9, 'soon');
select scylla.lease('ask', 'w') \g /dev/null
select is((scylla.not_yet(check_rn('"p"'), 'w', '1 min')).status, 'waiting', 'while it waits');
select is(waiter('p3', '"p"', '1 s', priority => 11), 'waiting [null]', 'another, in a hurry');
select scylla.maintain() \g /dev/null
select scylla.maintain() \g /dev/null
select is((select row(t.priority, next_ask(t.rn))::text from scylla.get_task(check_rn('"p"')) t), '(11,1)', 'has both');
select is((scylla.cancel(check_rn('"p"'))).status, 'cancelled', 'whoever may cancel tasks of the queue may cancel a check');
select is(array[state('p1'), state('p2')], array['aborted [null] dependency-failed', 'aborted [null] dependency-failed'], 'its waiters go on as they say');

-- ---- each waiter for itself ------------------------------------------------------------------------------------------

select is(waiter('t1', '"t"', more => '{"timeout": "1 min"}'), 'waiting [null]', 'a timeout');
select is(waiter('t2', '"t"', more => '{"timeout": "1 min", "on_timeout": "skip"}'), 'waiting [null]', 'that skips');
select is(waiter('t3', '"t"', more => '{"timeout": "1 min", "on_timeout": "ignore"}'), 'waiting [null]', 'that goes on');
select is(waiter('t4', '"t"', more => '{"timeout": "3 min", "on_timeout": "ignore"}'), 'waiting [null]', 'another one');
create function pass_for(rn text, by interval) returns text language plpgsql as $$
begin
    update scylla.task_gate g set deadline = g.deadline - by where g.task = id($1);
    update scylla.task_waiting w set due = w.due - by where w.id = id($1);
    perform scylla.maintain();
    return state($1);
end $$;
select is(pass_for('t1', '2 min'), 'aborted [null] dependency-timeout', 'aborts');
select is(pass_for('t2', '2 min'), 'cancelled [null] dependency-timeout', 'cancels');
select is(pass_for('t3', '2 min'), 'ready [null]', 'lets it start');
select is(pass_for('t4', '2 min'), 'waiting [null]', 'each its own');
select is(asked(), '"t" 1', 'the check goes on for the others');
select is(pass_for('t4', '2 min'), 'ready [null]', 'until the last goes on without it');
select is(asked(), null, 'and nobody waits for the check');
select is(waiter('t5', '"u"', more => '{"timeout": "1 min", "on_timeout": "ignore"}'), 'waiting [null]', 'a task that also waits for something else');
select scylla.create_callback('else') \g /dev/null
select (scylla.submit('q', '1', rn => 't6', wait_for => wait_for('"v"', more => '{"timeout": "1 min", "on_timeout": "ignore"}') || '[{"callback": "else"}]')).status \g /dev/null
select is(pass_for('t6', '2 min'), 'waiting [null, null]', 'goes on waiting for that');
select is(asked(), '"u" 1', 'its check is over');
select is((scylla.cancel('t5')).status, 'cancelled', 'the last one is cancelled');
select scylla.maintain() \g /dev/null
select is(asked(), null, 'and leaves no check behind');
select is(waiter('f1', '"f"'), 'waiting [null]', 'by default a check that fails');
select is(waiter('f2', '"f"', more => '{"on_failure": "skip"}'), 'waiting [null]', 'may skip');
select is(waiter('f3', '"f"', more => '{"on_failure": "ignore"}'), 'waiting [null]', 'or be ignored');
select scylla.lease('ask', 'w') \g /dev/null
select is((scylla.fail(check_rn('"f"'), 'w', '{"code": "network"}')).status, 'waiting', 'a failure is retried');
select is(state('f1'), 'waiting [null]', 'the waiters notice nothing');
select is((select row(waiter('f4', '"f"', '1 ms'), scylla.maintain())::text), '("waiting [null]","")', 'somebody in a hurry');
select is(state(check_rn('"f"')), 'waiting network', 'does not shorten the delay after a failure');
select is(pass(check_rn('"f"'), '1 h'), 'ready network', 'later');
select scylla.lease('ask', 'w') \g /dev/null
select is((scylla.abort(check_rn('"f"'), 'w', '{"code": "never"}')).status, 'aborted', 'until it is given up');
select is((select array_agg(errors -> 0 -> 'args' -> 'error' ->> 'code') from scylla.task where rn in ('f1', 'f2')), '{never,never}',
          'the error of a waiter has the last one of the check');
select is(array[state('f1'), state('f2'), state('f3')], array['aborted [null] dependency-failed', 'cancelled [null] dependency-failed', 'ready [null]'], 'as each says');
select is(waiter('series', '"series"'), 'waiting [null]', 'a check that fails now and then');
do $$ declare m text := check_rn('"series"'); begin for i in 1 .. 60 loop
    perform scylla.lease('ask', 'w');
    if i % 2 = 1 then perform scylla.fail(m, 'w', '{"code": "network"}', retry_after => '0');
    else perform scylla.not_yet(m, 'w', '0'); end if;
end loop; end $$;
select is((select row(status, failures)::text from scylla.get_task(check_rn('"series"'))), '(ready,0)', 'is asked on: "not yet" ends a series of failures');
select is(answer('1'), 'completed', 'until it is answered');
select is(waiter('d1', '"d"'), 'waiting [null]', 'a worker that dies');
select check_rn('"d"') as d \gset
select scylla.lease('ask', 'w') \g /dev/null
update scylla.task_lease set deadline = now() - interval '1 s';
select scylla.maintain() \g /dev/null
select is(state(:'d'), 'ready', 'the check is asked again');
select scylla.lease('ask', 'v') \g /dev/null
select is((scylla.complete(:'d', 'v', '7')).status, 'completed', 'by another');
select is(state('d1'), 'ready [7]', 'and nothing is lost');
select is(waiter('w1', '"w"'), 'waiting [null]', 'a check that is running');
select check_rn('"w"') as w \gset
select scylla.lease('ask', 'w') \g /dev/null
select is((scylla.cancel('w1')).status, 'cancelled', 'when its waiter is cancelled');
select scylla.maintain() \g /dev/null
select is(state(:'w'), 'cancelled check-unused', 'is taken from its worker');

-- ---- defer, resubmit, on_full ----------------------------------------------------------------------------------------

select scylla.submit('run', '1', rn => 'e1') \g /dev/null
select scylla.lease('run', 'w') \g /dev/null
select is((scylla.defer('e1', 'w', wait_for('"e"', '1 min'), '"kept"')).status, 'waiting', 'a running task may wait for a check');
select is(waiter('e2', '"e"'), 'waiting [null]', 'with others');
select is(answer('8'), 'completed', 'the answer');
select is((select row(attempt, args, state)::text from scylla.lease('run', 'w')), '(2,[8],"""kept""")', 'comes with its state');
select is((scylla.defer('e1', 'w', wait_for('"e1"'))).status, 'waiting', 'again');
select scylla.lease('ask', 'w') \g /dev/null
select refuses(format($$ select scylla.defer(%L, 'w', '[{"task": "e1"}]') $$, check_rn('"e1"')), '22023', 'cycle', 'tasks depend on each other in a cycle',
               format('"%s" -> ... -> "%s"', check_rn('"e1"'), check_rn('"e1"')));
select is((scylla.defer(check_rn('"e1"'), 'w', wait_for('"e1"'))).status, 'waiting', 'a check that waits for the same question');
select is((select count(*) from scylla.condition where match = '"e1"'), 2::bigint, 'waits for another check, not for itself');
select scylla.cancel('e1'), scylla.maintain(), scylla.maintain(), scylla.maintain() \g /dev/null
select is(asked(), null, 'all are gone with the one for which they were');
select is((select row(status, args)::text from scylla.resubmit('n3', new_rn => 'n3b')), '(waiting,[null])', 'a copy of a waiter');
select is(asked(), '"n" 1', 'asks anew');
select is(waiter('g1', '"g"'), 'waiting [null]', 'a waiter');
select scylla.cancel('g1') \g /dev/null
select scylla.alter_queue('ask', '{"max_depth": 2, "on_full": "shed"}') \g /dev/null
select is(waiter('g2', '"g2"'), 'aborted [null] dependency-failed', 'a check for which there is no room has failed at once');
select is(waiter('g3', '"n"'), 'waiting [null]', 'one that is there can be joined');
select scylla.alter_queue('ask', '{"on_full": "error"}') \g /dev/null
select throws_ok($$ select waiter('g4', '"g4"') $$, '53400', null, 'or the submission fails');

-- ---- a gate in the place of one that was rolled back -------------------------------------------------------------------

select scylla.alter_queue('ask', '{"max_depth": null}') \g /dev/null
select scylla.create_callback('more'), scylla.submit('run', '1', rn => 'h1'), waiter('h2', '"h"') \g /dev/null
select scylla.lease_task('h1', 'w') \g /dev/null
select check_rn('"h"') as h \gset
create function wait_so_long(timeout text) returns text language sql as $$
    select status::text from scylla.defer('h1', 'w', wait_for('"h"', null, jsonb_build_object('timeout', timeout, 'on_timeout', 'ignore')) || '[{"callback": "more"}]')
$$;
savepoint before;
select is(wait_so_long('1 h'), 'waiting', 'a task waits for a check for an hour');
select scylla.cancel('h2'), scylla.maintain() \g /dev/null
select is(state(:'h'), 'ready', 'the check is needed');
rollback to before;
select is(wait_so_long('1 ms'), 'waiting', 'that is rolled back, and it waits for a millisecond only');
select scylla.cancel('h2') \g /dev/null
do $$ begin
    while clock_timestamp() <= (select max(deadline) from scylla.task_gate where task = id('h1')) loop
        perform pg_sleep(0.001);
    end loop;
end $$;
select scylla.maintain() \g /dev/null
select is(array[state('h1'), state(:'h')], array['waiting [null, null]', 'cancelled check-unused'], 'the check ends when that is over, not after an hour');

-- ---- arguments -------------------------------------------------------------------------------------------------------

select refuses_argument(format($$ select waiter('x', %L, '0') $$, '"x"'), 'every', '00:00:00', 'It must be more than 0 and at most 365 days.');
select refuses_argument($$ select scylla.submit('q', '1', wait_for => '[{"check": "x"}]') $$, 'check', '"x"', 'It must be an object with "queue", "spec" and perhaps "every".');
select refuses_argument($$ select scylla.submit('q', '1', wait_for => '[{"check": {"queue": "x"}}]') $$, 'check', '{"queue": "x"}', 'It must be an object with "queue", "spec" and perhaps "every".');
select refuses_argument($$ select scylla.submit('q', '1', wait_for => '[{"check": {"spec": 1}}]') $$, 'check', '{"spec": 1}', 'It must be an object with "queue", "spec" and perhaps "every".');
select refuses_argument($$ select scylla.submit('q', '1', wait_for => '[{"check": {"queue": "x", "spec": 1, "what": 1}}]') $$, 'check', '"what"', 'It must be an object with "queue", "spec" and perhaps "every".');
select refuses_argument($$ select scylla.submit('q', '1', wait_for => '[{"check": {"queue": "x", "spec": 1}, "signal": "x"}]') $$, 'wait_for', '{"check": {"spec": 1, "queue": "x"}, "signal": "x"}', 'It must have exactly one of "task", "callback", "signal" and "check".');
select refuses_argument($$ select scylla.submit('q', '1', wait_for => '[{"check": {"queue": "x", "spec": null}}]') $$, 'spec', 'null', 'A task must say what is to be done.');
select refuses_argument($$ select scylla.submit('q', '1', wait_for => '[{"check": {"queue": "x", "spec": 1}, "match": {}}]') $$, 'wait_for', '{"check": {"spec": 1, "queue": "x"}, "match": {}}', 'Only a signal has "match", "since" and "seq".');

select is((select count(*) from scylla.check()), 0::bigint, 'check() finds nothing');
select * from finish();
rollback;
