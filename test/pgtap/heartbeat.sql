-- heartbeat, heartbeat_many: keeping leases.
begin;
\ir include/helpers.psql
select * from no_plan();

select signature_is('heartbeat',
    'rn text, worker text, progress double precision DEFAULT NULL::double precision, '
    'timeout interval DEFAULT NULL::interval, attempt integer DEFAULT NULL::integer', 'scylla.task');
select signature_is('heartbeat_many',
    'rns text[], worker text, timeout interval DEFAULT NULL::interval, attempts integer[] DEFAULT NULL::integer[], '
    'OUT rn text, OUT held boolean, OUT status scylla.task_status', 'SETOF record');

-- ---- what it returns and changes -----------------------------------------------------------------------------------

do $$ begin perform given('beating', 'running'); end $$;
create temp table before as select * from scylla.task where rn = 'beating';
create temp table after as select * from scylla.heartbeat('beating', 'w', 0.25);
select is(to_jsonb(a) - '{updated,deadline}'::text[], to_jsonb(b) - '{updated,deadline}'::text[]
          || '{"spec": null, "args": null, "progress": 0.25}',
          'heartbeat returns the task without spec and args; it changes updated, deadline and progress')
from before b, after a;
select is(to_jsonb(a) || '{"spec": {"a": 1}, "args": []}', seen('beating'), 'the row returned is the row in the view')
from after a;
select ok(a.updated > b.updated and a.updated <= clock_timestamp(), 'updated is the time of the heartbeat')
from before b, after a;
select is(deadline - updated, interval '1 h', 'without a timeout it is extended by what the lease was given')
from after;

select is(deadline - updated || ' ' || progress, '00:00:05 0.25',
          'a timeout shortens it; no progress leaves the progress')
from scylla.heartbeat('beating', 'w', timeout => '5 s');
select is(deadline - updated, interval '1 h', 'the timeout of a heartbeat is not remembered')
from scylla.heartbeat('beating', 'w');
select is(deadline - updated, interval '30 days', 'a timeout extends it; a month is 30 days')
from scylla.heartbeat('beating', 'w', timeout => '1 mon');
select is((scylla.heartbeat('beating', 'w', p)).progress, kept, 'progress may be ' || p || ' after another')
from (values (1::float8, 1::real), (0, 0), (0.7, 0.7), (0.3, 0.3), (1e-300, 0), (1 - 1e-12, 1), ('-0', 0),
      (0.5, 0.5)) a (p, kept);
select is((scylla.heartbeat('beating', 'w', attempt => 2)).status, 'running', 'the present attempt may be named');
select is((seen('beating') -> 'history'), (select history from before), 'heartbeats leave no trace in history');

do $$ begin perform given('late', 'expired'); end $$;
select ok(t.status = 'running' and t.deadline > clock_timestamp() and t.failures = 0,
          'a lease that ran out but was not ended is saved by a heartbeat')
from scylla.heartbeat('late', 'w') t;
select is(scylla.reset_expired(), 0::bigint, 'and is not ended then');

do $$ begin perform scylla.create_queue('minute', '1 min'); perform scylla.submit('minute', '{}',
    rn => 'm'); perform scylla.lease('minute', 'w'); end $$;
select is(deadline - updated, interval '1 min', 'what the lease was given may come from the queue')
from scylla.heartbeat('m', 'w');
do $$ begin update scylla.queue set default_timeout = '1 s' where name = 'minute'; end $$;
select is(deadline - updated, interval '1 min', 'and is that of the time of the lease') from scylla.heartbeat('m', 'w');

-- ---- run_timeout ---------------------------------------------------------------------------------------------------

create function began(rn text, age interval) returns void language sql as $$
    update scylla.task_lease set leased = clock_timestamp() - age
    where id = (select s.id from scylla.task_spec s where s.rn = began.rn);
$$;
do $$ begin perform scylla.create_queue('limited', '1 min', run_timeout => '1 h', max_attempts => 2, retry => '{"initial": "5 s"}');
    perform scylla.submit('limited', '{}', rn => 'l' || i) from generate_series(1, 4) i; end $$;
select is(deadline - updated, interval '1 min', 'a lease may be shorter than the longest run') from scylla.lease('limited', 'w');
select is(deadline - updated, interval '1 h', 'it is no longer') from scylla.lease('limited', 'w', 1, '2 h');
select is(deadline - updated, interval '1 h', 'however it is taken') from scylla.lease_task('l3', 'w', '2 h');
select is(deadline - updated, interval '1 min', 'a heartbeat extends it') from scylla.heartbeat('l1', 'w');
select began('l1', '59.5 min') \g /dev/null
select ok(deadline - updated between interval '20 s' and interval '30 s', 'no heartbeat extends a lease beyond the end of the run')
from scylla.heartbeat('l1', 'w', timeout => '1 day');
select began(rn, '2 h') from unnest(array['l1', 'l2']) rn \g /dev/null
select scylla.heartbeat('l1', 'w'), scylla.heartbeat('l2', 'w') \g /dev/null
select ok(deadline < updated, 'nor does a late one') from scylla.get_task('l2');
select is((scylla.complete('l2', 'w')).status, 'completed', 'who comes late and before the monitor may complete');
select is(scylla.reset_expired(), 1::bigint, 'the run is ended');
select is(to_jsonb(t) - '{created,updated,history,not_before}'::text[],
          '{"rn": "l1", "queue": "limited", "spec": {}, "status": "waiting", "priority": 0, "progress": 0, "owner": null, "deadline": null,
            "errors": [{"code": "run-timeout", "args": {"run_timeout": "01:00:00"}, "message": "the run took longer than its run_timeout"}],
            "result": null, "metrics": null, "args": [], "attempt": 1, "failures": 1, "max_attempts": 2, "plan": null, "key": null,
            "pool": null, "state": null, "answers": 0, "answered": null, "error_message": "the run took longer than its run_timeout"}', 'a run that took too long is a failure, with an error')
from scylla.get_task('l1') t;
select is(not_before - updated || ' ' || (history -> -1 ->> '_typ'), '00:00:05 TaskRetry', 'the retry policy decides what follows') from scylla.get_task('l1');
select fall_due('l1'), scylla.maintain(), scylla.lease_task('l1', 'w') \g /dev/null
select is(scylla.reset_expired(), 0::bigint, 'the next run has its own time');
select expire('l1') \g /dev/null
select scylla.reset_expired() \g /dev/null
select is(status || ' ' || jsonb_path_query_array(errors, '$[*].code'), 'aborted ["run-timeout", "timeout"]',
          'a lease that expires before is no run that took too long') from scylla.get_task('l1');
-- A change counts for runs that have begun.
select began('l3', '30 min') \g /dev/null
select scylla.alter_queue('limited', '{"run_timeout": "20 min"}') \g /dev/null
select is(scylla.reset_expired() || ' ' || (scylla.get_task('l3')).failures, '1 1', 'a limit may be lowered');
select scylla.lease_task('l4', 'w', '2 h') \g /dev/null
select began('l4', '30 min') \g /dev/null
select scylla.alter_queue('limited', '{"run_timeout": null}') \g /dev/null
select is(scylla.reset_expired(), 0::bigint, 'or removed');
select is(deadline - updated, interval '2 h', 'then heartbeats extend the lease again') from scylla.heartbeat('l4', 'w');
-- The limit of a task counts instead of that of its queue, also a longer one.
select scylla.alter_queue('limited', '{"run_timeout": "1 h"}') \g /dev/null
select scylla.submit('limited', '1', rn => 'tight', run_timeout => '10 min'), scylla.submit('limited', '1', rn => 'loose', run_timeout => '3 h') \g /dev/null
select scylla.submit_many('[{"queue": "limited", "spec": 1, "rn": "of many", "run_timeout": "10 min"},
                            {"queue": "limited", "spec": 1, "rn": "of many, as the queue", "run_timeout": null}]') \g /dev/null
select is(deadline - updated, limit_, format('the lease of "%s" is bounded', t.rn))
from (values ('tight', interval '10 min'), ('loose', '3 h'), ('of many', '10 min'), ('of many, as the queue', '1 h')) v (name, limit_),
     lateral scylla.lease_task(name, 'w', '1 day') t;
select ok(deadline - updated between interval '9 min' and interval '10 min', 'a heartbeat does not extend it') from scylla.heartbeat('tight', 'w', timeout => '1 day');
select began('tight', '9 min'), began('loose', '2 h'), began('of many', '11 min') \g /dev/null
select ok(deadline - updated < '61 s', 'also later') from scylla.heartbeat('tight', 'w', timeout => '1 day');
select scylla.heartbeat('loose', 'w', timeout => '1 day'), scylla.heartbeat('of many', 'w', timeout => '1 day') \g /dev/null
select is(scylla.reset_expired(), 1::bigint, 'a run that is over by the limit of its task is ended');
select is(errors -> 0 -> 'args', '{"run_timeout": "00:10:00"}'::jsonb, 'with its limit') from scylla.get_task('of many');
select is(scylla.complete('loose', 'w') is null, false, 'a run that is over by the limit of the queue is not, where the task has a longer one');
select began('tight', '11 min') \g /dev/null
select scylla.heartbeat('tight', 'w'), scylla.reset_expired(), scylla.cancel('tight'), scylla.resubmit('tight', 'tight again') \g /dev/null
select is(deadline - updated, interval '10 min', 'a copy has the limit') from scylla.lease_task('tight again', 'w', '1 day');

select refuses_argument(format($$select scylla.submit('limited', '1', run_timeout => %L)$$, t), 'run_timeout', s, 'It must be more than 0 and at most 365 days.')
from (values ('0', '00:00:00'), ('-1 s', '-00:00:01'), ('366 days', '366 days')) v (t, s);
select refuses_element($$select scylla.submit_many('[{"queue": "limited", "spec": 1, "run_timeout": "0"}]')$$, 1, 'run_timeout', '00:00:00',
                       'It must be more than 0 and at most 365 days.');

-- ---- refusals ------------------------------------------------------------------------------------------------------

select refuses(format('select scylla.heartbeat(%s)', arguments), '55000', 'held',
               format('task "beating" is not held by worker "%s"', worker),
               'Its status is running, its owner is "w" and its attempt is 2.')
from (values ($$'beating', 'other'$$, 'other'), ($$'beating', 'W'$$, 'W'), ($$'beating', 'w '$$, 'w '),
      ($$'beating', 'w', attempt => 1$$, 'w'),
             ($$'beating', 'w', attempt => 3$$, 'w'), ($$'beating', 'w', attempt => 0$$, 'w'),
             ($$'beating', 'w', attempt => -2$$, 'w'),
             ($$'beating', 'other', attempt => 2$$, 'other')) a (arguments, worker);
select refuses($$select scylla.heartbeat('unknown', 'w')$$, 'P0002', 'exists', 'task "unknown" does not exist');
select * from checks_name($$select scylla.heartbeat($1, 'w')$$, 'rn');
select * from checks_name($$select scylla.heartbeat('beating', $1)$$, 'worker');
select * from checks_timeout($$select scylla.heartbeat('beating', 'w', timeout => $1)$$);
select refuses_argument(format($$select scylla.heartbeat('beating', 'w', %L)$$, p), 'progress', p,
                        'It must be between 0 and 1.')
from unnest(array['-0.01', '1.01', '-1e-300', '1.0000000000000002', 'NaN', 'Infinity', '-Infinity']) p;
select refuses_argument($$select scylla.heartbeat('unknown', 'w', 2)$$, 'progress', '2', 'It must be between 0 and 1.');

-- ---- heartbeat_many ------------------------------------------------------------------------------------------------

do $$ begin
    perform given('m ' || state, state) from unnest(array['waiting', 'ready', 'running', 'expired', 'completed',
                                                          'aborted', 'cancelled']) state;
    perform given('m other', 'ready');
    perform scylla.lease_task('m other', 'other');
    perform scylla.heartbeat('m running', 'w', 0.5);
end $$;
create temp table many_before as select rn, to_jsonb(t) as task from scylla.task t where rn like 'm %';
select results_eq(
    $$select * from scylla.heartbeat_many(array['m running', 'unknown', 'm other', 'm waiting', 'm ready', 'm expired',
                                                'm running', 'm completed', 'm aborted', 'm cancelled', 'm other',
                                                'unknown'], 'w', '5 min')$$,
    $$values ('m running', true, 'running'::scylla.task_status), ('unknown', false, null),
    ('m other', false, 'running'), ('m waiting', false, 'waiting'),
             ('m ready', false, 'ready'), ('m expired', true, 'running'), ('m running', false, 'running'),
             ('m completed', false, 'completed'),
             ('m aborted', false, 'aborted'), ('m cancelled', false, 'cancelled'), ('m other', false, 'running'),
             ('unknown', false, null)$$,
    'one row per element in order; a lost one is false, a repeated one is false, an unknown one has no status');
select results_eq($$select rn, seen(rn) from many_before where rn not in ('m running', 'm expired') order by rn$$,
                  $$select rn, task from many_before where rn not in ('m running', 'm expired') order by rn$$,
                  'those not held are unchanged');
select results_eq($$select rn, deadline - updated, progress from scylla.task where rn in ('m running', 'm expired')
                  order by rn$$,
                  $$values ('m expired', interval '5 min', 0::real), ('m running', interval '5 min', 0.5::real)$$,
                  'those held are extended, their progress stays');
select results_eq(
    $$select * from scylla.heartbeat_many('{m running,m expired,m other}', 'w', attempts => '{2,1,1}')$$,
    $$values ('m running', true, 'running'::scylla.task_status), ('m expired', false, 'running'),
    ('m other', false, 'running')$$,
    'an old attempt is not held');
select results_eq(
    $$select * from scylla.heartbeat_many('{m running,m running}', 'w', attempts => '{1,2}')$$,
    $$values ('m running', false, 'running'::scylla.task_status), ('m running', true, 'running')$$,
    'each element is judged by its own attempt');
select results_eq(
    $$select * from scylla.heartbeat_many('{m running,m running,m running}', 'w', attempts => '{2,1,2}')$$,
    $$values ('m running', true, 'running'::scylla.task_status), ('m running', false, 'running'),
    ('m running', false, 'running')$$,
    'of several that hold the task the first is true');
select is(deadline - updated, interval '1 h', 'no timeout: what the lease was given')
from scylla.heartbeat_many('{m expired}', 'w') h join lateral scylla.get_task(h.rn) using (rn);
select is_empty($$select * from scylla.heartbeat_many('{}', 'w')$$, 'an empty array is an empty answer');

select refuses_argument($$select scylla.heartbeat_many(null, 'w')$$, 'rns', 'null', 'It must be an array.');
select refuses_element(format($$select scylla.heartbeat_many(array['m running', %s], 'w')$$, v), 2, 'rns', shown,
                       'It must have 1 to 200 characters.')
from (values ('null', 'null'), ($$''$$, '""'), ($$repeat('€', 201)$$, '"' || repeat('€', 60) || '..."')) a (v, shown);
select refuses_argument(format($$select scylla.heartbeat_many('{a,b}', 'w', attempts => %L)$$, v), 'attempts',
                        format('an array of %s element%s', n, case when n <> 1 then 's' end),
                        'It must have as many elements as "rns", which has 2.')
from (values ('{}', 0), ('{1}', 1), ('{1,2,3}', 3)) a (v, n);
select refuses_element($$select scylla.heartbeat_many('{a,b}', 'w', attempts => '{1,null}')$$, 2, 'attempts', 'null',
                       'It must be a number.');
select * from checks_name($$select scylla.heartbeat_many('{m running}', $1)$$, 'worker');
select * from checks_timeout($$select scylla.heartbeat_many('{m running}', 'w', $1)$$);

select all_is_sound();
select * from finish();
rollback;
