-- How many tasks of a queue may run at once.
begin;
\ir include/helpers.psql
select * from no_plan();

create function running(queue text) returns bigint language sql as $$
    select count(*) from scylla.list_tasks(queue, 'running');
$$;
-- How many tasks a lease of so many gets.
create function got(queue text, max_tasks int) returns bigint language sql as $$
    select count(*) from scylla.lease(queue, 'w', max_tasks, '1 h');
$$;
do $$ begin
    perform scylla.create_queue('two', max_running => 2);
    perform scylla.submit('two', to_jsonb(n), rn => 't' || n) from generate_series(1, 30) n;
end $$;

select results_eq($$select rn from scylla.lease('two', 'w', 10, '1 h')$$, $$values ('t1'), ('t2')$$,
                  'a lease gets as many as may run');
select is(got('two', 1), 0::bigint, 'and nothing more');
select refuses($$select scylla.lease_task('t3', 'w')$$, '53400', 'max_running',
               'queue "two" has reached its max_running', 'The limit is 2.', table_ => 'queue');
select is(seen('t3') ->> 'status', 'ready', 'the task that was refused is where it was');
select is(got('other', 1), 0::bigint, 'other queues have their own');

-- Every way in which a lease ends makes room.
create function room_after(how text) returns bigint language plpgsql as $$
declare
    held text := (select rn from scylla.list_tasks('two', 'running', max_tasks => 1));
begin
    if got('two', 5) > 0 then return -1; end if;
    execute replace(how, '$1', quote_literal(held));
    return got('two', 5);
end $$;
select is(room_after(how), 1::bigint, 'a place is free after ' || how)
from unnest(array[$$select scylla.complete($1, 'w')$$, $$select scylla.complete_many(array[$1], 'w')$$,
                  $$select scylla.abort($1, 'w', '{"code": "x"}')$$,
                  $$select scylla.fail($1, 'w', '{"code": "x"}')$$, $$select scylla.fail($1, 'w', '{"code": "x"}', '0')$$,
                  $$select scylla.yield($1, 'w')$$, $$select scylla.cancel($1)$$,
                  $$select expire($1); select scylla.reset_expired()$$, $$select expire($1); select scylla.maintain()$$]) how;
select is(running('two'), 2::bigint, 'there are as many as may be');

-- One call that completes and leases has the places of what it completes.
select is((select count(*) from scylla.complete_and_lease(
               array(select rn from scylla.list_tasks('two', 'running')), 'w', 'two', 10)), 2::bigint,
          'complete_and_lease leases as many as it completes');
select is((select count(*) from scylla.complete_and_lease('{}', 'w', 'two', 10)), 0::bigint, 'and no more');
-- A statement sees what it did itself.
select is((select count(*) from scylla.complete((select rn from scylla.list_tasks('two', 'running', max_tasks => 1)), 'w') c,
           lateral scylla.lease('two', c.owner, 5)), 1::bigint, 'a statement that completes and leases');

-- A heartbeat keeps the permit, also when the row moves to another page; so does a rolled-back end.
do $$
declare
    held text[] := array(select rn from scylla.list_tasks('two', 'running'));
begin
    for i in 1 .. 300 loop
        perform scylla.heartbeat(rn, 'w', random()) from unnest(held) rn;
    end loop;
    begin
        perform scylla.complete(rn, 'w') from unnest(held) rn;
        raise exception using errcode = 'SR000';
    exception when sqlstate 'SR000' then null;
    end;
end $$;
select is(got('two', 5), 0::bigint, 'after many heartbeats, and an end that was rolled back, it is as full as before');

-- A lease that is rolled back has taken nothing.
do $$ begin
    perform scylla.complete(rn, 'w') from scylla.list_tasks('two', 'running');
    for i in 1 .. 5 loop
        begin
            perform scylla.lease('two', 'w', 5);
            raise exception using errcode = 'SR000';
        exception when sqlstate 'SR000' then null;
        end;
    end loop;
end $$;
select is(got('two', 5), 2::bigint, 'leases that were rolled back hold no places');

-- Changing the limit.
do $$ begin perform scylla.alter_queue('two', '{"max_running": 4}'); end $$;
select is(got('two', 5), 2::bigint, 'a higher limit makes room');
do $$ begin perform scylla.alter_queue('two', '{"max_running": 1}'); end $$;
select is(running('two'), 4::bigint, 'a lower one ends no lease');
do $$ begin perform scylla.complete(rn, 'w') from scylla.list_tasks('two', 'running', max_tasks => 3); end $$;
select is(got('two', 5), 0::bigint, 'but nothing is leased until there is room again');
do $$ begin perform scylla.complete(rn, 'w') from scylla.list_tasks('two', 'running'); end $$;
select is(got('two', 5), 1::bigint, 'there it is');
do $$ begin perform scylla.alter_queue('two', '{"max_running": null}'); end $$;
select is(got('two', 3), 3::bigint, 'without a limit everything can be leased');
select is((select count(*) from scylla.task_lease where permit is null), 3::bigint, 'without a permit');
do $$ begin perform scylla.alter_queue('two', '{"max_running": 5}'); end $$;
select is((select count(*) from scylla.task_lease where permit is null), 0::bigint,
          'a queue that is limited gives permits to the leases that there are');
select is(got('two', 5), 1::bigint, 'and counts them');
select lives_ok($$select scylla.lease_task(t.rn, 'w') from scylla.complete((select rn from scylla.list_tasks('two',
                  'running', max_tasks => 1)), 'w') c, lateral (select t.rn from scylla.list_tasks('two', 'ready') t
                  limit 1) t$$, 'lease_task goes by the same limit');
select throws_ok($$select scylla.lease_task(rn, 'w') from scylla.list_tasks('two', 'ready', max_tasks => 1)$$, '53400');

-- A pause and a limit.
do $$ begin
    perform scylla.complete(rn, 'w') from scylla.list_tasks('two', 'running');
    perform scylla.pause_queue('two');
end $$;
select is(got('two', 1), 0::bigint, 'a paused queue gives nothing, whatever its limit');
do $$ begin perform scylla.resume_queue('two'); end $$;
select is(got('two', 9), 5::bigint, 'after the pause as many as may run');

-- Queues without limits pay nothing: a lease there makes no entry in the index of permits and looks at no page of it.
do $$ begin
    perform scylla.submit_bulk('free', array_agg('1'::jsonb)) from generate_series(1, 50);
    perform scylla.lease('free', 'w', 50);
end $$;
select is((select count(*) from scylla.task_lease l join scylla.queue q on q.id = l.queue
           where q.name = 'free' and permit is not null), 0::bigint, 'a queue without limits has no permits');
create function blocks() returns bigint language sql as $$
    select pg_stat_get_xact_blocks_fetched('scylla.task_lease_permit'::regclass);
$$;
create temp table looked (before bigint, unlimited bigint, limited bigint);
do $$
declare
    l looked;
begin
    perform scylla.complete(rn, 'w') from scylla.list_tasks('two', 'running', max_tasks => 1);
    l.before := blocks();
    perform scylla.submit('free', '1', rn => 'f');
    perform scylla.lease('free', 'w');
    perform scylla.heartbeat('f', 'w');
    perform scylla.complete('f', 'w');
    l.unlimited := blocks();
    perform scylla.lease('two', 'w');
    l.limited := blocks();
    insert into looked select l.*;
end $$;
select is(unlimited, before, 'and does not touch them') from looked;
select cmp_ok(limited, '>', unlimited, 'which a queue with a limit does') from looked;

-- check() finds a lease that is not counted.
savepoint broken;
update scylla.task_lease set permit = null where id = (select min(id) from scylla.task_lease where permit is not null);
select is((select problem from scylla.check()), 'is leased without a permit, but its queue has a limit',
          'check() finds a lease without a permit');
rollback to broken;

select all_is_sound();
select * from finish();
rollback;
