-- lease, lease_task: giving ready tasks to workers.
begin;
\ir include/helpers.psql
select * from no_plan();

select signature_is('lease',
                    'queue text, worker text, max_tasks integer DEFAULT 1, timeout interval DEFAULT NULL::interval',
                    'SETOF scylla.task');
select signature_is('lease_task', 'rn text, worker text, timeout interval DEFAULT NULL::interval', 'scylla.task');

-- ---- the leased task -----------------------------------------------------------------------------------------------

do $$ begin perform scylla.submit('q', '{"a": 1}', 5, 'one', max_attempts => 3, not_before => '2001-01-01'); end $$;
create temp table leased as select * from scylla.lease('q', 'w');
select is(to_jsonb(t) - '{created,updated,deadline,history}'::text[],
    '{"rn": "one", "queue": "q", "spec": {"a": 1}, "status": "running", "priority": 5, "progress": 0, "owner": "w",
      "errors": [],
      "result": null, "metrics": null, "args": [], "attempt": 1, "failures": 0, "max_attempts": 3,
      "not_before": "2001-01-01T00:00:00+00:00", "plan": null, "key": null,
      "pool": null, "state": null, "answers": 0, "answered": null, "error_message": null}', 'lease returns the whole task, running')
from leased t;
select ok(updated between now() and clock_timestamp() and updated > created, 'updated is the time of the lease')
from leased;
select is(deadline - updated, interval '10 s', 'the deadline is 10 s after it, when nobody says otherwise') from leased;
select is(history, jsonb_build_array(jsonb_build_object('_typ', 'TaskAssignment', 'worker', 'w', 'attempt', 1,
                                                        'progress', 0,
                                                        'time', in_history(updated))), 'history has the assignment')
                                                        from leased;
select is(to_jsonb(t), seen('one'), 'the row returned is the row in the view') from leased t;

do $$ begin perform scylla.yield('one', 'w'); end $$;
set local timezone = 'Asia/Kathmandu';
select is(to_jsonb(t) - '{created,updated,deadline,history}'::text[],
    '{"rn": "one", "queue": "q", "spec": {"a": 1}, "status": "running", "priority": 5, "progress": 0, "owner": "other",
      "errors": [],
      "result": null, "metrics": null, "args": [], "attempt": 2, "failures": 0, "max_attempts": 3,
      "not_before": "2001-01-01T05:45:00+05:45", "plan": null, "key": null,
      "pool": null, "state": null, "answers": 0, "answered": null, "error_message": null}',
      'lease_task returns the whole task, running, with the next attempt')
from scylla.lease_task('one', 'other', '1 h') t;
select is(last_entry(history) - 'time', '{"_typ": "TaskAssignment", "worker": "other", "attempt": 2, "progress": 0}',
          'and one more entry in history')
from scylla.get_task('one');
select is(last_entry(history) ->> 'time', in_history(updated), 'whose time is UTC in every time zone')
from scylla.get_task('one');
set local timezone = 'UTC';

select ok(t.history @> jsonb_build_array(jsonb_build_object('worker', worker)) and t.owner = worker,
          format('a worker may be named %L', worker))
from unnest(array['with "quotes"', E'line\nbreak\\', 'ünïcödé 🐙', repeat('€', 200)]) worker,
     lateral (select scylla.submit('names', '{}')) s, lateral scylla.lease('names', worker) t;

-- ---- which tasks, and in which order -------------------------------------------------------------------------------

do $$ begin
    perform scylla.submit('order', '{}', priority, priority || ' ' || n)
    from unnest(array[3, 127, 0, 64]) with ordinality a (priority, m), generate_series(1, 3) n order by n, m;
    perform scylla.submit('elsewhere', '{}', 127);
    perform scylla.submit('order', '{}', 127, 'waits', 'tomorrow');
end $$;
create temp table sequence_ as
select row_number() over () as n, t.* from scylla.lease('order', 'w', 5) t;
select results_eq('select rn from sequence_ order by n', $$values ('127 1'), ('127 2'), ('127 3'), ('64 1'), ('64 2')$$,
                  'highest priority first, then oldest');
select is((select count(distinct attempt || owner || (deadline - updated)) from sequence_), 1::bigint,
          'all of them with the same terms');
select results_eq($$select rn from scylla.list_tasks('order', 'ready')$$,
                  $$values ('64 3'), ('3 1'), ('3 2'), ('3 3'), ('0 1'), ('0 2'), ('0 3')$$,
                  'the others stay');
do $$ begin
    perform scylla.yield('64 1', 'w');
    perform scylla.submit('order', '{}', 64, '64 4');
    perform scylla.fail('127 2', 'w', '{"code": "oops"}', '0');
    perform expire('127 3');
    perform scylla.reset_expired();
end $$;
select is((select string_agg(rn, ', ' order by n)
           from (select row_number() over () as n, rn from scylla.lease('order', 'other', 5)) l),
          '127 2, 127 3, 64 1, 64 3, 64 4', 'a task that comes back is as old as it was');
select is((select count(*) from scylla.lease('order', 'w', 100)), 6::bigint,
          'max_tasks is a bound: fewer come if there are fewer');
select is_empty($$select * from scylla.lease('order', 'w', 100)$$,
                'nothing is leased twice, and a waiting task is not leased');
select is_empty($$select * from scylla.lease('nobody has used it', 'w')$$, 'an unknown queue is an empty one');
select is_empty($$select from scylla.queue where name = 'nobody has used it'$$, 'and is not made by that');
select is((select count(*) from scylla.list_tasks('elsewhere', 'ready')), 1::bigint, 'another queue is not touched');

do $$ begin perform scylla.submit_bulk('plenty', array_agg(to_jsonb(n))) from generate_series(1, 2000) n; end $$;
select is((select array_agg((spec)::int order by n)
           from (select row_number() over () as n, spec from scylla.lease('plenty', 'w', 100000)) l),
          (select array_agg(n) from generate_series(1, 2000) n), 'max_tasks may be 100000: two thousand in order');

-- ---- timeouts ------------------------------------------------------------------------------------------------------

create function leased_for(queue text, timeout interval = null) returns interval language plpgsql as $$
begin
    perform scylla.submit(queue, '{}');
    return (select deadline - updated from scylla.lease(leased_for.queue, 'w', timeout => leased_for.timeout));
end $$;
do $$ begin perform scylla.create_queue('slow', '2 h'); perform scylla.create_queue('plain'); end $$;
select is(leased_for('plain'), interval '10 s', 'no timeout, a queue without one: the default of the setting');
select is(leased_for('slow'), interval '2 h', 'no timeout: that of the queue');
set local scylla.default_timeout = '2500 ms';
select is(leased_for('plain'), interval '2.5 s', 'scylla.default_timeout is the last resort');
select is(leased_for('slow'), interval '2 h', 'and does not change what the queue says');
set local scylla.default_timeout = '1';
select is(leased_for('plain'), interval '1 ms', 'its unit is milliseconds');
reset scylla.default_timeout;
select is(leased_for('slow', '7 s'), interval '7 s', 'a timeout overrides that of the queue');
select is(leased_for('plain', given), meant, format('a timeout of %s', given))
from (values ('00:00:00.000001'::interval, '00:00:00.000001'::interval), ('1 mon', '30 days'), ('1 year', '360 days'),
      ('365 days', '365 days'), ('1 mon -29 days', '1 day')) a (given, meant);
set local timezone = 'Europe/Berlin';
select is(extract(epoch from leased_for('plain', '365 days')), 365 * 86400::numeric,
          'a day has 24 hours, whatever the time zone does');
set local timezone = 'UTC';
do $$ begin perform scylla.submit('t', '{}') from generate_series(1, 100); end $$;
select * from checks_timeout($$select * from scylla.lease('t', 'w', timeout => $1)$$);

-- ---- bad arguments -------------------------------------------------------------------------------------------------

select * from checks_name($$select * from scylla.lease($1, 'w')$$, 'queue');
select * from checks_name($$select * from scylla.lease('t', $1)$$, 'worker');
select refuses_argument(format($$select * from scylla.lease('t', 'w', %s)$$, n), 'max_tasks', n,
                        'It must be between 1 and 100000.')
from unnest(array['0', '-1', '100001', '2147483647', '-2147483648']) n;
select lives_ok(format($$select * from scylla.lease('nothing here', 'w', %s)$$, n), 'max_tasks may be ' || n)
from unnest(array[1, 2, 99999, 100000]) n;

-- ---- lease_task ----------------------------------------------------------------------------------------------------

do $$ begin
    perform given('given ' || state, state)
    from unnest(array['timed out', 'waiting', 'ready', 'running', 'expired', 'completed', 'aborted', 'cancelled',
                      'cancelled running', 'yielded', 'retried']) state;
end $$;
select is((scylla.lease_task('given ready', 'w', '1 mon')).status, 'running', 'lease_task of a ready task');
select is((select deadline - updated from scylla.get_task('given ready')), interval '30 days', 'with a timeout');
select is((scylla.lease_task('given yielded', 'w')).attempt, 2, 'of one that was yielded');
select is((scylla.lease_task('given timed out', 'w')).attempt, 2, 'of one that timed out');
select refuses(format('select scylla.lease_task(%L, %L)', 'given ' || state, 'w'), '55000', 'ready',
               format('task "given %s" is not ready', state), detail)
from (values
    ('waiting',           'Its status is waiting, it has no owner and its attempt is 0.'),
    ('retried',           'Its status is waiting, it has no owner and its attempt is 1.'),
    ('running',           'Its status is running, its owner is "w" and its attempt is 2.'),
    ('expired',           'Its status is running, its owner is "w" and its attempt is 2.'),
    ('completed',         'Its status is completed, its owner is "w" and its attempt is 2.'),
    ('aborted',           'Its status is aborted, its owner is "w" and its attempt is 2.'),
    ('cancelled',         'Its status is cancelled, it has no owner and its attempt is 0.'),
    ('cancelled running', 'Its status is cancelled, its owner is "w" and its attempt is 2.')) a (state, detail);
select refuses($$select scylla.lease_task('unknown', 'w')$$, 'P0002', 'exists', 'task "unknown" does not exist');
select * from checks_name($$select scylla.lease_task($1, 'w')$$, 'rn');
select * from checks_name($$select scylla.lease_task('unknown', $1)$$, 'worker');
create function lease_a_task(timeout interval) returns void language sql as $$
    select scylla.lease_task((scylla.submit('q', '{}')).rn, 'w', timeout);
$$;
select * from checks_timeout('select lease_a_task($1)');

select all_is_sound();
select * from finish();
rollback;
