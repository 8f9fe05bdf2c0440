-- Statistics: what the views and functions show within one transaction, with and without the library preloaded. What commits
-- and roll-backs add is in test/t/stats.pl.
begin;
\ir include/helpers.psql
select * from no_plan();

do $$ begin
    perform given('waiting', 'waiting');
    perform given('ready', 'ready');
    perform given('running', 'running');
    perform given('completed', 'completed');
    perform given('aborted', 'aborted');
    perform given('cancelled', 'cancelled');
    perform scylla.create_queue('empty');
end $$;
create temp view here as
select s.* from scylla.stat_queue s;

-- ---- tasks by state ------------------------------------------------------------------------------------------------

select results_eq($$select queue_name, status::text, tasks from scylla.count_tasks() c where tasks > 0 order by queue_name, c.status$$,
                  $$select queue, status::text, count(*) from scylla.task t group by queue, t.status order by queue, t.status$$,
                  'count_tasks() counts what the view shows, by queue and status');
select results_eq($$select status::text, tasks from scylla.count_tasks('empty') c order by c.status$$,
                  $$select unnest(enum_range(null::scylla.task_status))::text, 0::bigint$$,
                  '... with a row per status, also where there are none');
select is_empty($$select scylla.count_tasks('nowhere')$$, '... and none for an unknown queue');
select throws_ok($$select scylla.count_tasks('')$$, '22023', 'invalid value for argument "queue": ""');
select throws_ok($$select scylla.count_tasks(repeat('x', 201))$$, '22023', null, 'a name of 201 characters is too long');
do $$ begin perform scylla.count_tasks(); end $$;
select results_eq($$select queue, waiting, ready, running, terminal from here order by queue$$,
                  $$select q.name, count(*) filter (where status = 'waiting'), count(*) filter (where status = 'ready'),
                           count(*) filter (where status = 'running'),
                           count(*) filter (where status in ('completed', 'aborted', 'cancelled'))
                    from scylla.queue q left join scylla.task t on t.queue = q.name group by q.name order by q.name$$,
                  'stat_queue has a row per queue, with what this transaction did') where current_setting('shared_preload_libraries') = '';

-- ---- the oldest ready task -----------------------------------------------------------------------------------------

do $$ begin
    perform scylla.submit('ages', '1', rn => 'low', priority => 0);
    perform scylla.submit('ages', '1', rn => 'high', priority => 9);
    update scylla.task_ready r set updated = now() - interval '1 hour' from scylla.task_spec s where s.id = r.id and s.rn = 'low';
end $$;
select is((select ready from scylla._stat_queues(true) where queue = 'ages'), 2::bigint, 'two tasks are ready')
where current_setting('shared_preload_libraries') = '';
select cmp_ok((select oldest_ready from here where queue = 'ages'), '>=', '1 hour'::interval,
              'oldest_ready: the oldest of the next tasks of all priorities') where current_setting('shared_preload_libraries') = '';
select is((select oldest_ready from here where queue = 'empty'), null, 'null where nothing is ready');

-- ---- workers -------------------------------------------------------------------------------------------------------

do $$ begin
    perform scylla.submit_bulk('held', array_fill('1'::jsonb, array[3]), array['a', 'b', 'c']);
    perform scylla.lease_task('a', 'w1', '1 h');
    perform scylla.lease_task('b', 'w1', '2 h');
    perform scylla.lease_task('c', 'w2', '3 h');
    perform scylla.heartbeat('a', 'w1', 0.5);
end $$;
select results_eq($$select worker, leases, progress, next_deadline = (select min(deadline) from scylla.task where owner = worker),
                    last_heartbeat = (select max(updated) from scylla.task where owner = worker), oldest_lease <= last_heartbeat
                    from scylla.stat_worker where queue = 'held' order by worker$$,
                  $$values ('w1', 2::bigint, 0.25::real, true, true, true), ('w2', 1, 0, true, true, true)$$,
                  'stat_worker: what each worker holds');

-- ---- quantiles -----------------------------------------------------------------------------------------------------

create function histogram(bucket int, n bigint) returns bigint[] language sql
    return (select array_agg(case when i = bucket then n else 0 end order by i) from generate_series(1, 32) i);
select is(scylla.quantile(histogram(1, 10), 1), '1 ms'::interval, 'the first bucket reaches to 1 ms');
select is(scylla.quantile(histogram(11, 10), 0.5), '768 ms'::interval, 'interpolation within a bucket');
select is(scylla.quantile(histogram(32, 1), 0.5), interval '1 ms' * 2 ^ 30, 'the last bucket has no upper bound');
select is(scylla.quantile(histogram(1, 0), 0.5), null, 'of nothing: null');
select is(scylla.quantile(null, 0.5), null, 'of null: null');
select throws_ok(format('select scylla.quantile(test.histogram(1, 1), %L)', f), '22023',
                 format('invalid value for argument "fraction": %s', f))
from unnest(array['-0.1', '1.1', 'NaN']) f;
select throws_ok('select scylla.quantile(test.histogram(1, 1), null)', '22023', 'invalid value for argument "fraction": null');
select throws_ok($$select scylla.quantile('{1,2}', 0.5)$$, '22023', 'invalid value for argument "histogram": an array of 2 elements');
select throws_ok('select scylla.quantile(test.histogram(1, -1), 0.5)', '22023',
                 'invalid value for argument "histogram": an array of 32 elements');
select throws_ok('select scylla.quantile(array_fill(null::bigint, array[32]), 0.5)', '22023',
                 'invalid value for argument "histogram": an array of 32 elements');

-- ---- resetting -----------------------------------------------------------------------------------------------------

select lives_ok($$select scylla.stat_reset('empty')$$, 'stat_reset() of a queue');
select throws_ok($$select scylla.stat_reset('nowhere')$$, '42704', 'queue "nowhere" does not exist');
select throws_ok($$select scylla.stat_reset('')$$, '22023', 'invalid value for argument "queue": ""');

-- ---- with and without preloading -----------------------------------------------------------------------------------

select is((select count(*) from here where (submitted is null) <> (wait_histogram is null)), 0::bigint, 'all counters or none');
select is((select bool_and(submitted is null) from here), current_setting('shared_preload_libraries') = '',
          'the counters are null where the library is not preloaded');
select is((select count(*) from scylla.stat_monitor), 0::bigint, '... and stat_monitor has no row')
where current_setting('shared_preload_libraries') = '';

select alike(scylla.metrics(), '%' || E'\npgscylla_tasks{queue="empty",state="ready"} 0\n' || E'%# EOF\n', 'metrics() tells the tasks');
select is(scylla.metrics() ~ 'pgscylla_leases_total{', current_setting('shared_preload_libraries') <> '',
          '... and the counters where there are any');
select alike(scylla.metrics(), E'%\npgscylla_metrics_queues_left_out 0\n%', '... of all queues, unless they are many');
set local scylla.max_metrics_queues = 2;
select alike(scylla.metrics(), (select E'%\npgscylla_metrics_queues_left_out ' || count(*) - 2 || E'\n%' from scylla.stat_queue),
             '... of which it counts those that it does not show');
select is((select array_agg(shown[1] order by shown[1]) from regexp_matches(scylla.metrics(), 'pgscylla_tasks\{queue="([^"]*)",state="ready"', 'g') shown),
          (select array_agg(queue order by queue) from (select queue from scylla.stat_queue
           order by waiting + ready + running > 0 desc, coalesce(submitted, 0) desc, (select q.id from scylla.queue q where q.name = queue) limit 2) q),
          '... and shows the busiest');
set local scylla.max_metrics_queues = default;

-- ---- the clock was ahead ---------------------------------------------------------------------------------------------

create temp view ahead as select string_agg(what || ' ' || ahead, ', ' order by what) as all, max(latest) from scylla.stat_clock;
select is((select a from ahead a), row('leases 0, schedules 0, tasks 0', null)::ahead, 'nothing was changed at a time that is still to come');
select scylla.submit('ahead', '1', rn => 'ahead ' || n, not_before => case n when 1 then now() + interval '1 day' end, depends_on => case n when 2 then '{ahead 1}'::text[] end)
    from generate_series(1, 3) n \g /dev/null
select scylla.lease_task('ahead 3', 'w') \g /dev/null
set local scylla.schedules = manual;
select scylla.schedule('ahead', '@daily', 'ahead', '1') \g /dev/null
update scylla.task_waiting set updated = now() + interval '3 min' where id in (select id from scylla.task_spec where rn ~ '^ahead');
update scylla.task_lease set updated = now() + interval '1 h' where id in (select id from scylla.task_spec where rn ~ '^ahead');
update scylla.schedule set handled = now() + interval '1 year' where name = 'ahead';
select is((select a from ahead a), row('leases 1, schedules 1, tasks 1', now() + interval '1 year')::ahead,
          'stat_clock shows leases, schedules and tasks that wait for a time, and were changed at one that is still to come');
select alike(scylla.metrics(), E'%\npgscylla_ahead_of_clock{what="leases"} 1\npgscylla_ahead_of_clock{what="schedules"} 1\npgscylla_ahead_of_clock{what="tasks"} 1\n%',
             '... as metrics() does');
create role scylla_test_ahead;
grant usage on schema scylla to scylla_test_ahead;
grant select on scylla.stat_clock, ahead to scylla_test_ahead;
set local role scylla_test_ahead;
select is((select a.all from ahead a), 'leases 0, schedules 0, tasks 0', '... but not to a role that may see none of them');
set local role none;
update scylla.schedule set home = 'elsewhere' where name = 'ahead';
update scylla.task_waiting set updated = now() + interval '1 min' where id in (select id from scylla.task_spec where rn ~ '^ahead');
select is((select a.all from ahead a), 'leases 1, schedules 0, tasks 0', '... neither a schedule that is not armed here, nor a step of a minute');
select scylla.unschedule('ahead') \g /dev/null
select scylla.cancel('ahead ' || n) from unnest(array[3, 1]) n \g /dev/null

-- ---- who may look --------------------------------------------------------------------------------------------------

create role scylla_test_monitoring;
grant pg_monitor to scylla_test_monitoring;
set local role scylla_test_monitoring;
select lives_ok(s, s) from unnest(array['select * from scylla.stat_queue', 'select * from scylla.stat_worker',
    'select * from scylla.stat_monitor', 'select * from scylla.stat_heads', 'select * from scylla.stat_server_worker', 'select * from scylla.stat_database', 'select * from scylla.stat_clock', 'select * from scylla.stat_workflow', 'select * from scylla.stat_waiting', 'select * from scylla.stat_trigger', 'select scylla.count_tasks()',
    'select scylla.quantile(wait_histogram, 0.5) from scylla.stat_queue', 'select scylla.metrics()']) s;
select throws_ok('select * from scylla.task', '42501', null, 'but not at tasks');
select throws_ok('select scylla.stat_reset()', '42501', null, 'nor may it reset');
set local role none;

-- ---- in a parallel query ---------------------------------------------------------------------------------------------

-- It has another name since 16.
select name as parallel from pg_settings where name in ('force_parallel_mode', 'debug_parallel_query') \gset
set local :parallel = on;
select lives_ok(s, 'in a parallel query: ' || s) from unnest(array['select * from scylla.stat_queue', 'select * from scylla.stat_worker',
    'select * from scylla.stat_monitor', 'select * from scylla.stat_heads', 'select * from scylla.stat_server_worker', 'select * from scylla.stat_database', 'select * from scylla.stat_clock', 'select * from scylla.stat_workflow', 'select * from scylla.stat_waiting', 'select * from scylla.stat_trigger', 'select scylla.count_tasks()', 'select scylla.metrics()',
    'select scylla.quantile(wait_histogram, 0.5) from scylla.stat_queue', 'select count(*) from pg_class, scylla.stat_queue']) s;
reset :parallel;

select all_is_sound();
select * from finish();
rollback;
