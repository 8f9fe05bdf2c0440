-- complete, complete_many, complete_and_lease, abort, fail: how a worker ends its lease with a word about the task.
begin;
\ir include/helpers.psql
select * from no_plan();

select signature_is('complete',
    'rn text, worker text, result jsonb DEFAULT NULL::jsonb, metrics jsonb DEFAULT NULL::jsonb, '
    'attempt integer DEFAULT NULL::integer', 'scylla.task');
select signature_is('complete_many',
    'rns text[], worker text, results jsonb[] DEFAULT NULL::jsonb[], attempts integer[] DEFAULT NULL::integer[], '
    'OUT rn text, OUT completed boolean, OUT status scylla.task_status', 'SETOF record');
select signature_is('complete_and_lease',
    'rns text[], worker text, queue text, max_tasks integer DEFAULT 1, timeout interval DEFAULT NULL::interval, '
    'results jsonb[] DEFAULT NULL::jsonb[], attempts integer[] DEFAULT NULL::integer[]', 'SETOF scylla.task');
select signature_is('abort', 'rn text, worker text, error jsonb, attempt integer DEFAULT NULL::integer', 'scylla.task');
select signature_is('fail',
    'rn text, worker text, error jsonb, retry_after interval DEFAULT NULL::interval, '
    'attempt integer DEFAULT NULL::integer', 'scylla.task');

-- ---- complete ------------------------------------------------------------------------------------------------------

do $$ begin perform given('c1', 'running'); perform scylla.heartbeat('c1', 'w', 0.5); end $$;
create temp table before as select * from scylla.task where rn = 'c1';
create temp table after as select * from scylla.complete('c1', 'w', '{"lines": 42}', '{"cpu_s": 1.5}');
select is(to_jsonb(a) - 'updated',
          to_jsonb(b) - 'updated' || '{"spec": null, "args": null, "status": "completed", "progress": 1,
                                       "deadline": null, "result": {"lines": 42}, "metrics": {"cpu_s": 1.5}}',
          'complete returns the task without spec and args: completed, progress 1, no deadline, with its result')
from before b, after a;
select is(to_jsonb(a) || '{"spec": {"a": 1}, "args": []}', seen('c1'), 'the row returned is the row in the view')
from after a;
select ok(a.updated > b.updated and a.updated <= clock_timestamp(), 'updated is the time of completion') from before b,
    after a;

do $$ begin perform given('c2', 'running'); perform given('c3', 'running'); perform given('c4', 'expired'); end $$;
select ok(t.result is null and t.metrics is null, 'result and metrics may be left out')
from scylla.complete('c2', 'w') t;
select is(t.result || t.metrics, '[null, null]', 'JSON null is a result, and an attempt may be named')
from scylla.complete('c3', 'w', 'null', 'null', 2) t;
select is((scylla.complete('c4', 'w')).status, 'completed', 'a lease that ran out but was not ended can complete');
do $$ begin perform given('c5', 'running'); end $$;
select ok(t.result = big and seen('c5') -> 'result' = big, 'a result of a megabyte comes back as it is')
from (select jsonb_agg(md5(n::text)) as big from generate_series(1, 30000) n) b,
    lateral scylla.complete('c5', 'w', big) t;

select refuses(format('select scylla.complete(%s)', arguments), '55000', 'held',
               format('task "held" is not held by worker "%s"', worker),
               'Its status is running, its owner is "w" and its attempt is 2.')
from (values ($$'held', 'other'$$, 'other'), ($$'held', 'w', attempt => 1$$, 'w'),
      ($$'held', 'w', attempt => 3$$, 'w')) a (arguments, worker), given('held', 'running');
select refuses($$select scylla.complete('c1', 'w')$$, '55000', 'held', 'task "c1" is not held by worker "w"',
               'Its status is completed, its owner is "w" and its attempt is 2.');
select refuses($$select scylla.complete('unknown', 'w')$$, 'P0002', 'exists', 'task "unknown" does not exist');
select * from checks_name($$select scylla.complete($1, 'w')$$, 'rn');
select * from checks_name($$select scylla.complete('held', $1)$$, 'worker');

-- ---- abort ---------------------------------------------------------------------------------------------------------

do $$ begin perform given('a1', 'running'); perform scylla.heartbeat('a1', 'w', 0.5); end $$;
truncate before, after;
insert into before select * from scylla.task where rn = 'a1';
insert into after select * from scylla.abort('a1', 'w',
                                             '{"code": "no_such_file", "args": {"name": "x"},
                                               "message": "It is gone."}');
select is(to_jsonb(a) - 'updated',
          to_jsonb(b) - 'updated' || '{"spec": null, "args": null, "status": "aborted", "progress": 0.5,
                                       "deadline": null,
                                       "errors": [{"code": "no_such_file", "args": {"name": "x"},
                                       "message": "It is gone."}], "error_message": "It is gone."}',
          'abort returns the task without spec and args: aborted, the same progress, no deadline, with the error')
from before b, after a;
select is(to_jsonb(a) || '{"spec": {"a": 1}, "args": []}', seen('a1'), 'the row returned is the row in the view')
from after a;
select ok(a.updated > b.updated and a.updated <= clock_timestamp(), 'updated is the time of abortion') from before b,
    after a;

-- What becomes of errors is the same for abort and fail.
select is(to_jsonb(x.errors), jsonb_build_array(kept), format('the error %s is kept as %s', error, kept))
from (values ('{"code": "x"}'::jsonb, '{"code": "x", "args": {}, "message": ""}'::jsonb),
             ('{"code": "x", "args": [1]}', '{"code": "x", "args": [1], "message": ""}'),
             ('{"code": "x", "args": null, "message": null, "description": null}', '{"code": "x", "args": {}, "message": ""}'),
             ('{"code": "x", "description": "d"}', '{"code": "x", "args": {}, "message": "d"}'),
             ('{"code": "x", "message": null, "description": "d"}', '{"code": "x", "args": {}, "message": "d"}'),
             ('{"code": "x", "message": "m", "description": 5}', '{"code": "x", "args": {}, "message": "m", "description": 5}'),
             ('{"code": "x", "message": "d", "more": {"yes": true}}',
              '{"code": "x", "args": {}, "message": "d", "more": {"yes": true}}'),
             ('{"code": "ü\n\"", "message": "\\"}', '{"code": "ü\n\"", "args": {}, "message": "\\"}'))
         e (error, kept),
     lateral (select (scylla.abort(given(format('a %s', error), 'running'), 'w', error)).errors
              union all
              select (scylla.fail(given(format('f %s', error), 'running'), 'w', error)).errors) x;
select refuses_argument(format('select scylla.%s(''held'', ''w'', %s)', verb, v), 'error', shown,
                        'It must be an object with a non-empty text "code"; "message" must be a text.')
from unnest(array['abort', 'fail']) verb,
     (values ('null', 'null'), ($$'null'$$, 'null'), ($$'"oops"'$$, '"oops"'), ($$'1'$$, '1'), ($$'[]'$$, '[]'),
      ($$'[{"code": "x"}]'$$, '[{"code": "x"}]'),
             ($$'{}'$$, '{}'), ($$'{"code": ""}'$$, '{"code": ""}'), ($$'{"code": null}'$$, '{"code": null}'),
             ($$'{"code": 7}'$$, '{"code": 7}'),
             ($$'{"Code": "x"}'$$, '{"Code": "x"}'), ($$'{"code": {"code": "x"}}'$$, '{"code": {"code": "x"}}'),
             ($$'{"code": "x", "message": 5}'$$, '{"code": "x", "message": 5}'),
             ($$'{"code": "x", "description": 5}'$$, '{"code": "x", "description": 5}')) e (v, shown);
-- An error of so many bytes.
create function error_of(bytes int) returns jsonb language sql as $$
    select jsonb_build_object('code', 'x', 'filler',
                              repeat('y', bytes - octet_length('{"code": "x", "filler": ""}')));
$$;
select is(octet_length(error_of(n)::text), n, format('an error of %s bytes', n)) from unnest(array[1048576, 1048577]) n;
select refuses_argument(format('select scylla.%s(''held'', ''w'', error_of(%s))', verb, n), 'error',
                        format('an object of %s bytes', n), 'It must not have more than 1 MB.')
from unnest(array['abort', 'fail']) verb, unnest(array[1048577, 5000000]) n;
select refuses_argument(format('select scylla.abort(''held'', ''w'', %s)', value), 'error', shown || ' bytes',
                        'It must not have more than 1 MB.')
from (values ('to_jsonb(array[repeat(''y'', 2000000)])', 'an array of 2000004'),
             ('to_jsonb(repeat(''y'', 2000000))', 'a value of 2000002')) v (value, shown);
select is(x.errors -> -1 ->> 'filler', error_of(1048576) ->> 'filler', 'one of 1 MB is kept by ' || verb)
from (select 'abort' as verb, (scylla.abort(given('a 1 MB', 'running'), 'w', error_of(1048576))).errors
      union all
      select 'fail', (scylla.fail(given('f 1 MB', 'running'), 'w', error_of(1048576))).errors) x;
select refuses(format('select scylla.abort(%s)', arguments), '55000', 'held',
               format('task "held" is not held by worker "%s"', worker),
               'Its status is running, its owner is "w" and its attempt is 2.')
from (values ($$'held', 'other', '{"code": "x"}'$$, 'other'), ($$'held', 'w', '{"code": "x"}', 1$$, 'w')) a (arguments,
    worker);
select refuses($$select scylla.abort('unknown', 'w', '{"code": "x"}')$$, 'P0002', 'exists',
               'task "unknown" does not exist');
select * from checks_name($$select scylla.abort($1, 'w', '{"code": "x"}')$$, 'rn');
select * from checks_name($$select scylla.abort('held', $1, '{"code": "x"}')$$, 'worker');

-- ---- fail ----------------------------------------------------------------------------------------------------------

do $$ begin perform given('f1', 'running'); perform scylla.heartbeat('f1', 'w', 0.5); end $$;
truncate before, after;
insert into before select * from scylla.task where rn = 'f1';
insert into after select * from scylla.fail('f1', 'w', '{"code": "busy"}', '90 s');
select is(to_jsonb(a) - '{updated,not_before,history}'::text[],
          to_jsonb(b) - '{updated,not_before,history}'::text[]
              || '{"spec": null, "args": null, "status": "waiting", "progress": 0, "owner": null, "deadline": null,
                   "failures": 1,
                   "errors": [{"code": "busy", "args": {}, "message": ""}], "error_message": "busy"}',
          'fail with a delay: waiting, progress 0, no owner, no deadline, one failure more, with the error')
from before b, after a;
select is(a.not_before - a.updated, interval '90 s', 'until the delay is over') from after a;
select is(a.history, b.history || jsonb_build_object('_typ', 'TaskRetry', 'worker', 'w', 'attempt', 2, 'progress', 0.5,
                                                     'time', in_history(a.updated)),
          'history has a TaskRetry with the progress that was reached') from before b, after a;
select is(to_jsonb(a) || '{"spec": {"a": 1}, "args": []}', seen('f1'), 'the row returned is the row in the view')
from after a;
select ok(a.updated > b.updated and a.updated <= clock_timestamp(), 'updated is the time of failing') from before b,
    after a;

select is(to_jsonb(t) - '{rn,created,updated,history,errors}'::text[],
    '{"queue": "q", "spec": null, "status": "ready", "priority": 0, "progress": 0, "owner": null, "deadline": null,
      "result": null,
      "metrics": null, "args": null, "attempt": 2, "failures": 1, "max_attempts": 25, "not_before": null,
      "plan": null, "key": null,
      "pool": null, "state": null, "answers": 0, "answered": null, "error_message": "busy"}',
    'fail without a delay: ready at once')
from scylla.fail(given('f2', 'running'), 'w', '{"code": "busy"}', '0', 2) t;
select is((scylla.lease_task('f2', 'other')).attempt, 3, 'and can be leased');
select is((scylla.fail(given('f3', 'expired'), 'w', '{"code": "busy"}', '0')).failures, 1,
          'a lease that ran out but was not ended can fail, once');

-- Backoff: 1 s, doubled with each failure, at most 1 h.
create function backoffs(n int) returns interval[] language plpgsql as $$
declare
    t scylla.task;
    delays interval[];
begin
    perform scylla.submit('q', '{}', rn => 'backoff');
    for i in 1 .. n loop
        perform scylla.lease_task('backoff', 'w');
        t := scylla.fail('backoff', 'w', '{"code": "busy"}');
        delays := delays || (t.not_before - t.updated);
        perform fall_due('backoff');
        perform scylla.maintain();
    end loop;
    return delays;
end $$;
select is(backoffs(16), '{1 s,2 s,4 s,8 s,16 s,32 s,64 s,128 s,256 s,512 s,1024 s,2048 s,1 h,1 h,1 h,1 h}'::interval[],
          'no delay given: 1 s, doubled each time, at most 1 h');

-- max_attempts counts failures.
do $$ begin
    perform scylla.submit('q', '{}', rn => 'thrice', max_attempts => 3);
    for i in 1 .. 2 loop
        perform scylla.lease_task('thrice', 'w');
        perform scylla.yield('thrice', 'w');
        perform scylla.lease_task('thrice', 'w');
        perform scylla.fail('thrice', 'w', jsonb_build_object('code', 'e' || i), '0');
    end loop;
    perform scylla.lease_task('thrice', 'w');
    perform scylla.heartbeat('thrice', 'w', 0.75);
end $$;
truncate before, after;
insert into before select * from scylla.task where rn = 'thrice';
select is(status || ' ' || failures || ' ' || attempt, 'running 2 5', 'yields do not count against max_attempts')
from before;
insert into after select * from scylla.fail('thrice', 'w', '{"code": "e3"}', '0');
select is(to_jsonb(a) - 'updated',
          to_jsonb(b) - 'updated' || '{"spec": null, "args": null, "status": "aborted", "deadline": null, "failures": 3,
            "errors": [{"code": "e1", "args": {}, "message": ""}, {"code": "e2", "args": {}, "message": ""},
            {"code": "e3", "args": {}, "message": ""}], "error_message": "e3"}',
          'the last failure aborts: progress and owner stay, no TaskRetry in history')
from before b, after a;
select is(to_jsonb(a) || '{"spec": {}, "args": []}', seen('thrice'), 'the row returned is the row in the view')
from after a;
do $$ begin perform scylla.submit('q', '{}', rn => 'once', max_attempts => 1); perform scylla.lease_task('once',
    'w'); end $$;
select is(status || ' ' || failures, 'aborted 1', 'max_attempts 1: the first failure aborts, whatever the delay')
from scylla.fail('once', 'w', '{"code": "x"}', '1 day');

select is(t.not_before - t.updated, length, format('retry_after may be %s', given))
from (values ('00:00:00.000001'::interval, interval '00:00:00.000001'), ('365 days', '365 days'), ('1 mon', '30 days'),
      ('1 year 5 days', '365 days')) a (given, length),
     lateral scylla.fail(given('r ' || a.given, 'running'), 'w', '{"code": "x"}', a.given) t;
select is((scylla.fail(given('r ' || v, 'running'), 'w', '{"code": "x"}', v)).status, 'ready',
          format('retry_after of %s is none', v))
from unnest(array['0', '1 mon -30 days', '1 day -24:00']::interval[]) v;
select refuses_argument(format($$select scylla.fail('held', 'w', '{"code": "x"}', %L)$$, v), 'retry_after', v,
                        'It must be between 0 and 365 days.')
from unnest(array['-00:00:00.000001', '-1 days', '366 days', '365 days 00:00:00.000001', '1 mon -31 days',
                  '178000000 years']) v;
select refuses(format('select scylla.fail(%s)', arguments), '55000', 'held',
               format('task "held" is not held by worker "%s"', worker),
               'Its status is running, its owner is "w" and its attempt is 2.')
from (values ($$'held', 'other', '{"code": "x"}'$$, 'other'),
      ($$'held', 'w', '{"code": "x"}', '0', 1$$, 'w')) a (arguments, worker);
select refuses($$select scylla.fail('unknown', 'w', '{"code": "x"}')$$, 'P0002', 'exists',
               'task "unknown" does not exist');
select * from checks_name($$select scylla.fail($1, 'w', '{"code": "x"}')$$, 'rn');
select * from checks_name($$select scylla.fail('held', $1, '{"code": "x"}')$$, 'worker');

-- ---- complete_many -------------------------------------------------------------------------------------------------

do $$ begin
    perform given('m ' || state, state)
    from unnest(array['waiting', 'ready', 'running', 'expired', 'completed', 'aborted', 'cancelled']) state;
    perform given('m running 2', 'running');
    perform given('m other', 'ready');
    perform scylla.lease_task('m other', 'other');
end $$;
create temp table many_before as select rn, to_jsonb(t) as task from scylla.task t where rn like 'm %';
select results_eq(
    $$select * from scylla.complete_many(array['m running', 'unknown', 'm other', 'm waiting', 'm ready', 'm expired',
                                               'm running', 'm completed', 'm aborted', 'm cancelled', 'm running 2'],
                                               'w',
                                         array['1', '2', '3', '4', '5', null, '7', '8', '9', '10', 'null']::jsonb[])$$,
    $$values ('m running', true, 'completed'::scylla.task_status), ('unknown', false, null),
    ('m other', false, 'running'), ('m waiting', false, 'waiting'),
             ('m ready', false, 'ready'), ('m expired', true, 'completed'), ('m running', false, 'completed'),
             ('m completed', false, 'completed'),
             ('m aborted', false, 'aborted'), ('m cancelled', false, 'cancelled'), ('m running 2', true, 'completed')$$,
    'one row per element in order; a lost one is false, a repeated one is false, an unknown one has no status');
select results_eq($$select rn, seen(rn) from many_before where rn !~ 'running|expired' order by rn$$,
                  $$select rn, task from many_before where rn !~ 'running|expired' order by rn$$,
                  'those not held are unchanged');
select results_eq($$select rn, progress, owner, deadline, result, metrics from scylla.task
                  where rn ~ '^m (running|expired)' order by rn$$,
                  $$values ('m expired', 1::real, 'w', null::timestamptz, null::jsonb, null::jsonb),
                  ('m running', 1, 'w', null, '1', null),
                           ('m running 2', 1, 'w', null, 'null', null)$$,
                           'those held are completed, each with its result');
do $$ begin perform given('n1', 'running'); perform given('n2', 'running'); perform given('n3', 'running'); end $$;
select results_eq($$select * from scylla.complete_many('{n3,n1,n2}', 'w', attempts => '{2,1,2}')$$,
                  $$values ('n3', true, 'completed'::scylla.task_status), ('n1', false, 'running'),
                  ('n2', true, 'completed')$$, 'an old attempt is not held');
select results_eq($$select * from scylla.complete_many('{n1,n1}', 'w', attempts => '{1,2}')$$,
                  $$values ('n1', false, 'running'::scylla.task_status), ('n1', true, 'completed')$$,
                  'each element is judged by its own attempt');
select is_empty($$select * from scylla.complete_many('{}', 'w')$$, 'an empty array is an empty answer');

-- Both batch verbs check their arrays alike; %s is where the arrays stand.
create function checks_arrays(call text) returns setof text language plpgsql as $$
begin
    return next refuses_argument(format(call, 'null', ''), 'rns', 'null', 'It must be an array.');
    return query select refuses_element(format(call, format('array[''n1'', %s]', v), ''), 2, 'rns', shown,
                                        'It must have 1 to 200 characters.')
                 from (values ('null', 'null'), ('''''', '""'),
                       ('repeat(''€'', 201)', '"' || repeat('€', 60) || '..."')) a (v, shown);
    return query select refuses_argument(format(call, '''{n1,n2}''', format(', %s => %L', argument, v)), argument,
                                         format('an array of %s element%s', n, case when n <> 1 then 's' end),
                                         'It must have as many elements as "rns", which has 2.')
                 from unnest(array['results', 'attempts']) argument,
                 (values ('{}', 0), ('{1}', 1), ('{1,2,3}', 3)) a (v, n);
    return next refuses_element(format(call, '''{n1,n2}''', ', attempts => ''{1,null}'''), 2, 'attempts', 'null',
                                'It must be a number.');
end $$;
select * from checks_arrays($$select scylla.complete_many(%s, 'w'%s)$$);
select * from checks_name($$select scylla.complete_many('{n1}', $1)$$, 'worker');

-- ---- complete_and_lease --------------------------------------------------------------------------------------------

do $$ begin
    perform scylla.submit('loop', to_jsonb(n), rn => 'l' || n) from generate_series(1, 9) n;
    perform scylla.lease('loop', 'w', 3);
end $$;
create temp table next_ as
select row_number() over () as n, t.* from scylla.complete_and_lease('{l2,l1}', 'w', 'loop', 2, '7 min',
    array['"second"', null]::jsonb[], '{1,1}') t;
select results_eq('select rn, spec, args, status, owner, attempt, deadline - updated from next_ order by n',
                  $$values ('l4', '4'::jsonb, '[]'::jsonb, 'running'::scylla.task_status, 'w', 1, interval '7 min'),
                  ('l5', '5', '[]', 'running', 'w', 1, '7 min')$$,
                  'complete_and_lease returns the next tasks, with their specs');
select results_eq($$select rn, status, progress, result from scylla.task where rn in ('l1', 'l2') order by rn$$,
                  $$values ('l1', 'completed'::scylla.task_status, 1::real, null::jsonb),
                  ('l2', 'completed', 1, '"second"')$$, 'and has completed those named');
select results_eq($$select rn from scylla.complete_and_lease('{}', 'w', 'loop')$$, $$values ('l6')$$,
                  'nothing to complete: it leases one');
select is_empty($$select * from scylla.complete_and_lease('{l3,l3}', 'w', 'nothing here')$$,
                'nothing to lease: it completes; a repeated name counts once');
select is((seen('l3')) ->> 'status', 'completed', 'and it has');
select refuses($$select scylla.complete_and_lease('{l4,l1,l5}', 'w', 'loop')$$, '55000', 'held',
               'task "l1" is not held by worker "w"',
               'Its status is completed, its owner is "w" and its attempt is 1.');
select results_eq($$select rn, status from scylla.task where queue = 'loop' and status in ('running', 'ready')
                  order by rn$$,
                  $$values ('l4', 'running'::scylla.task_status), ('l5', 'running'), ('l6', 'running'), ('l7', 'ready'),
                  ('l8', 'ready'), ('l9', 'ready')$$,
                  'one of them lost: nothing is completed and nothing is leased');
select refuses($$select scylla.complete_and_lease('{l4}', 'w', 'loop', attempts => '{2}')$$, '55000', 'held',
               'task "l4" is not held by worker "w"',
               'Its status is running, its owner is "w" and its attempt is 1.');
select refuses(format($$select scylla.complete_and_lease('{l4,l5,l4}', 'w', 'loop', attempts => '{%s,1,%s}')$$, a, b),
               '55000', 'held', 'task "l4" is not held by worker "w"',
               'Its status is running, its owner is "w" and its attempt is 1.', 'a repeated element is judged, too: ' || a)
from (values (1, 2), (2, 1)) attempts (a, b);
select refuses($$select scylla.complete_and_lease('{l4}', 'other', 'loop')$$, '55000', 'held',
               'task "l4" is not held by worker "other"',
               'Its status is running, its owner is "w" and its attempt is 1.');
select refuses($$select scylla.complete_and_lease('{l4,unknown}', 'w', 'loop')$$, 'P0002', 'exists',
               'task "unknown" does not exist');
select * from checks_arrays($$select scylla.complete_and_lease(%s, 'w', 'loop'%s)$$);
select * from checks_name($$select scylla.complete_and_lease('{l4}', $1, 'loop')$$, 'worker');
select * from checks_name($$select scylla.complete_and_lease('{}', 'w', $1)$$, 'queue');
select * from checks_timeout($$select scylla.complete_and_lease('{}', 'w', 'loop', timeout => $1)$$);
select refuses_argument(format($$select * from scylla.complete_and_lease('{}', 'w', 'loop', %s)$$, n), 'max_tasks', n,
                        'It must be between 1 and 100000.')
from unnest(array['0', '-1', '100001']) n;
select lives_ok(format($$select * from scylla.complete_and_lease('{}', 'w', 'nothing here', %s)$$, n),
                'max_tasks may be ' || n) from unnest(array[1, 100000]) n;

select all_is_sound();
select * from finish();
rollback;
