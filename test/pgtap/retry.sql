-- The delay before a retry, and backoff().
begin;
\ir include/helpers.psql
select * from no_plan();
set local scylla.default_max_attempts = -1; -- tasks fail more often here

-- ---- backoff -------------------------------------------------------------------------------------------------------

select is((select format('%s -> %s; %s, %s', pg_get_function_arguments(oid), pg_get_function_result(oid), provolatile,
                         proparallel)
           from pg_proc where pronamespace = 'scylla'::regnamespace and proname = 'backoff'),
          'count integer, initial interval DEFAULT ''00:00:00.1''::interval, factor double precision DEFAULT 1.5, '
          'max interval DEFAULT ''00:00:10''::interval -> interval; i, s', 'signature of backoff');
select is(scylla.backoff(count), delay, 'backoff of ' || count)
from (values (0, '100 ms'::interval), (1, '150 ms'), (2, '225 ms'), (3, '337.5 ms'), (11, '8.649755 s'), (12, '10 s'),
             (13, '10 s'), (1000000, '10 s'), (2147483647, '10 s')) v (count, delay);
select is(scylla.backoff(count, initial, factor, max), delay, format('backoff(%s, %s, %s, %s)', count, initial, factor, max))
from (values (0, '1 s'::interval, 2::float8, '1 h'::interval, '1 s'::interval), (5, '1 s', 2, '1 h', '32 s'),
             (12, '1 s', 2, '1 h', '1 h'), (3, '1 min', 1, '1 h', '1 min'), (0, '1 h', 2, '1 s', '1 s'),
             (7, '0', 2, '1 h', '0'), (2147483647, '0', 1000, '365 days', '0'),
             (2147483647, '1 us', 1000, '365 days', '8760:00:00'), (0, '1 mon', 1, '365 days', '720:00:00'),
             (2, '1 s', 1000, '0', '0')) v (count, initial, factor, max, delay);
select is_empty($$
    select count, factor from generate_series(0, 500) count, unnest(array[1, 1.000001, 1.5, 3, 1000]::float8[]) factor
    where scylla.backoff(count, '1 us', factor, '365 days') > scylla.backoff(count + 1, '1 us', factor, '365 days')
       or scylla.backoff(count, '1 us', factor, '365 days') not between '1 us' and '365 days'$$,
    'it never shrinks and never leaves its bounds');
select refuses_argument(format('select scylla.backoff(%s)', arguments), argument, shown, rule)
from (values ('-1', 'count', '-1', 'It must be at least 0.'), ('null', 'count', 'null', 'It must be at least 0.'),
             ($$1, '-1 s'$$, 'initial', '-00:00:01', 'It must be between 0 and 365 days.'),
             ($$1, '366 days'$$, 'initial', '366 days', 'It must be between 0 and 365 days.'),
             ($$1, factor => 0.99$$, 'factor', '0.99', 'It must be between 1 and 1000.'),
             ($$1, factor => 1001$$, 'factor', '1001', 'It must be between 1 and 1000.'),
             ($$1, factor => 'NaN'$$, 'factor', 'NaN', 'It must be between 1 and 1000.'),
             ($$1, max => '-1 us'$$, 'max', '-00:00:00.000001', 'It must be between 0 and 365 days.'))
     v (arguments, argument, shown, rule);
create temp table uses_it (count int);
select lives_ok('create index on uses_it (scylla.backoff(count))', 'it is immutable');

-- ---- delays --------------------------------------------------------------------------------------------------------

-- The delays of one task that fails n times.
create function delays_of(rn text, n int) returns interval[] language plpgsql as $$
declare
    delays interval[] := '{}';
    t scylla.task;
begin
    for i in 1 .. n loop
        perform fall_due(rn);
        perform scylla.maintain();
        perform scylla.lease_task(rn, 'w', '1 h');
        t := scylla.fail(rn, 'w', '{"code": "x"}');
        delays := delays || (t.not_before - t.updated);
    end loop;
    return delays;
end $$;
do $$ begin
    perform scylla.create_queue('quick', retry => '{"initial": "2 s", "factor": 3, "max": "1 min"}');
    perform scylla.create_queue('part', retry => '{"factor": 10}');
    perform scylla.create_queue('even', retry => '{"factor": 1, "initial": "5 s"}');
    perform scylla.create_queue('jittery', retry => '{"initial": "10 s", "factor": 1, "jitter": 0.5}');
    perform scylla.create_queue('at once', retry => '{"initial": "0"}');
    perform scylla.submit(queue, '1', rn => queue)
    from unnest(array['plain', 'quick', 'part', 'even', 'jittery', 'at once']) queue;
end $$;
select is(delays_of(rn, 5), expected, 'delays in the queue ' || rn)
from (values ('plain', '{1 s,2 s,4 s,8 s,16 s}'::interval[]), ('quick', '{2 s,6 s,18 s,54 s,1 min}'),
             ('part', '{1 s,10 s,100 s,1000 s,1 h}'), ('even', '{5 s,5 s,5 s,5 s,5 s}')) v (rn, expected);
select is((select count(*) from unnest(delays_of('jittery', 40)) d where d > '5 s' and d <= '10 s'), 40::bigint,
          'jitter shortens a delay, by not more than its share');
select cmp_ok((select count(distinct d) from unnest(delays_of('jittery', 10)) d), '>=', 9::bigint,
              'and differently each time');
do $$ begin perform scylla.lease_task('at once', 'w'); end $$;
select results_eq($$select status, failures, not_before from scylla.fail('at once', 'w', '{"code": "x"}')$$,
                  $$values ('ready'::scylla.task_status, 1, null::timestamptz)$$, 'no delay: ready at once');
do $$ begin perform scylla.lease_task('at once', 'w'); end $$;
select results_eq($$select status, not_before - updated from scylla.fail('at once', 'w', '{"code": "x"}', '7 s')$$,
                  $$values ('waiting'::scylla.task_status, '7 s'::interval)$$, 'what fail() is given goes before');

-- A policy of the task goes before that of the queue, and is not mixed with it.
do $$ begin
    perform scylla.submit('quick', '1', rn => 'own policy', retry => '{"initial": "7 s", "factor": 1}');
    perform scylla.submit('quick', '1', rn => 'part of a policy', retry => '{"factor": 10}');
    perform scylla.submit_many('[{"queue": "quick", "spec": 1, "rn": "of many", "retry": {"initial": "3 s"}},
                                 {"queue": "quick", "spec": 1, "rn": "of many, without", "retry": null}]');
end $$;
select is(delays_of(rn, 3), expected, 'delays of the task ' || rn)
from (values ('own policy', '{7 s,7 s,7 s}'::interval[]), ('part of a policy', '{1 s,10 s,100 s}'),
             ('of many', '{3 s,6 s,12 s}'), ('of many, without', '{2 s,6 s,18 s}')) v (rn, expected);

-- The policy is that of the queue at the time of the failure.
do $$ begin perform scylla.alter_queue('even', '{"retry": {"factor": 1, "initial": "8 s"}}'); end $$;
select is(delays_of('even', 2), '{8 s,8 s}'::interval[], 'a new policy counts from the next failure on');
do $$ begin perform scylla.alter_queue('even', '{"retry": null}'); end $$;
select is(delays_of('even', 1), '{128 s}'::interval[], 'without a policy the delay is doubled by each failure');

-- Every attempt and its error are kept.
select is(jsonb_array_length(seen('quick') -> 'errors'), 5, 'every error is kept');
select is((select count(*) from jsonb_array_elements(seen('quick') -> 'history') e where e ->> '_typ' = 'TaskRetry'),
          5::bigint, 'and every attempt');

select all_is_sound();
select * from finish();
rollback;
