-- How many leases of a queue may start in a time. How many really do, by many sessions and after crashes, is in test/t/rates.pl and
-- test/unit/rate_test.cpp.
begin;
\ir include/helpers.psql
select * from no_plan();

do $$ begin
    perform scylla.create_queue('never', rate => '{"tasks": 1, "per": "365 days", "burst": 10}');
    perform scylla.submit('never', '1', rn => 'n' || n) from generate_series(1, 5) n;
    perform scylla.create_queue('soon', rate => '{"tasks": 100}');
    perform scylla.submit('soon', '1', rn => 's' || n) from generate_series(1, 5) n;
    perform scylla.submit('free', '1', rn => 'f' || n) from generate_series(1, 5) n;
end $$;
-- Leases until it has got so many tasks.
create function leases(queue text, tasks int) returns boolean language plpgsql as $$
declare
    deadline timestamptz := clock_timestamp() + interval '2 min';
begin
    while tasks > 0 and clock_timestamp() < deadline loop
        tasks := tasks - (select count(*) from scylla.lease(queue, 'w', tasks, '1 h'));
    end loop;
    return tasks = 0;
end $$;

select is_empty($$select rn from scylla.lease('never', 'w', 10)$$, 'a queue with a rate begins as if it had just used it up');
select is_empty($$select rn from scylla.complete_and_lease('{}', 'w', 'never', 10)$$, '... whatever leases from it');
select refuses($$select scylla.lease_task('n1', 'w')$$, '53400', 'rate', 'queue "never" has used up its rate', table_ => 'queue');
select is(seen('n1') ->> 'status', 'ready', 'the task that was refused is where it was');
select is((select count(*) from scylla.lease('free', 'w', 10, '1 h')), 5::bigint, 'other queues have their own');
select ok(leases('soon', 5), 'tokens come in time');
do $$ begin
    perform scylla.create_queue('made', rate => '{"tasks": 50}');
    perform scylla.create_queue('set', retention => '1 day');
    perform scylla.alter_queue('set', '{"rate": {"tasks": 50}}');
    perform scylla.submit(which, '1') from unnest(array['made', 'set']) which;
    perform pg_sleep(0.1);
end $$;
select is((select count(*) from unnest(array['made', 'set']) which, lateral scylla.lease(which, 'w', 1, '1 h')), 2::bigint,
          '... from when the rate was set, not only when somebody asks');

-- A task that is leased by its name takes a token, too.
do $$
declare
    deadline timestamptz := clock_timestamp() + interval '2 min';
begin
    perform scylla.submit('soon', '1', rn => 'by name');
    while clock_timestamp() < deadline loop
        begin
            perform scylla.lease_task('by name', 'w', '1 h');
            exit;
        exception when configuration_limit_exceeded then null;
        end;
    end loop;
end $$;
select is(seen('by name') ->> 'status', 'running', 'lease_task gets one when it is there');

do $$ begin
    perform scylla.create_queue('two limits', max_running => 3, rate => '{"tasks": 1000, "burst": 100}');
    perform scylla.submit_bulk('two limits', array_fill('1'::jsonb, array[10]));
    perform leases('two limits', 3);
end $$;
select is((select count(*) from scylla.task where queue = 'two limits' and status = 'running'), 3::bigint, 'other limits hold beside it');
select is_empty($$select rn from scylla.lease('two limits', 'w', 10)$$, '... and it beside them');

-- Changing it.
do $$ begin perform scylla.alter_queue('never', '{"rate": {"tasks": 1000, "burst": 2}}'); end $$;
select ok(leases('never', 3), 'a new rate holds from now on');
do $$ begin perform scylla.alter_queue('never', '{"rate": {"tasks": 1, "per": "365 days", "burst": 10}}'); end $$;
select is_empty($$select rn from scylla.lease('never', 'w', 10)$$, 'and begins used up');
do $$ begin perform scylla.alter_queue('never', '{"rate": null}'); end $$;
select is((select count(*) from scylla.lease('never', 'w', 10, '1 h')), 2::bigint, 'without one everything can be leased');

do $$ begin
    perform scylla.create_queue('dropped', rate => '{"tasks": 1}');
    perform scylla.lease('dropped', 'w');
    perform scylla.drop_queue('dropped');
end $$;
select is_empty($$select from scylla.queue_rate r where r.queue not in (select id from scylla.queue)$$, 'what is kept of a rate goes with its queue');

select all_is_sound();
select * from finish();
rollback;
