-- Events: what read_events() shows, and what it refuses. What other transactions do meanwhile is in test/specs/events.spec,
-- NOTIFY in test/t/events.pl.
begin;
\ir include/helpers.psql
select * from no_plan();

select signature_is('read_events', 'after text DEFAULT NULL::text, max_events integer DEFAULT 1000, OUT cursor text, '
    'OUT "time" timestamp with time zone, OUT queue text, OUT rn text, OUT status scylla.task_status, OUT attempt integer, '
    'OUT failures integer, OUT worker text', 'SETOF record');

do $$ begin
    perform scylla.create_queue('followed', events => true);
    perform scylla.create_queue('quiet');
end $$;

-- ---- what is recorded ----------------------------------------------------------------------------------------------

create function events_of(name text) returns table (status text, attempt int, failures int, worker text) language sql as $$
    select status::text, attempt, failures, worker from scylla.event where rn = name and queue_name = 'followed'
    order by position, id;
$$;
do $$ begin
    perform scylla.submit('followed', '1', rn => 'whole life', not_before => now() + interval '1 hour', max_attempts => 2);
    update scylla.task_waiting set due = now() - interval '1 s';
    perform scylla.maintain();
    perform scylla.lease('followed', 'w1', 5);
    perform scylla.heartbeat('whole life', 'w1', 0.5);
    perform scylla.yield('whole life', 'w1');
    perform scylla.lease_task('whole life', 'w2');
    perform scylla.fail('whole life', 'w2', '{"code": "x"}', retry_after => '0');
    perform scylla.lease_task('whole life', 'w3');
    update scylla.task_lease l set deadline = now() - interval '1 s' from scylla.task_spec s where s.id = l.id and rn = 'whole life';
    perform scylla.maintain();
    perform scylla.submit_many('[{"queue": "followed", "rn": "many", "spec": 1}]');
    perform scylla.submit_bulk('followed', array['1']::jsonb[], array['bulk']);
    perform scylla.complete_and_lease('{}', 'w', 'followed', 5);
    perform scylla.complete_many('{many}', 'w');
    perform scylla.cancel('bulk');
    perform scylla.submit('quiet', '1', rn => 'silent');
    perform scylla.lease('quiet', 'w');
    perform scylla.complete('silent', 'w');
end $$;
select results_eq($$select * from events_of('whole life')$$,
    $$values ('waiting', 0, 0, null), ('ready', 0, 0, null), ('running', 1, 0, 'w1'), ('ready', 1, 0, null), ('running', 2, 0, 'w2'),
             ('ready', 2, 1, null), ('running', 3, 1, 'w3'), ('aborted', 3, 2, null)$$,
    'every change of status is an event, with attempt, failures and worker; a heartbeat is none');
select results_eq($$select * from events_of('many')$$,
    $$values ('ready', 0, 0, null), ('running', 1, 0, 'w'), ('completed', 1, 0, 'w')$$, 'batches too');
select results_eq($$select * from events_of('bulk')$$,
    $$values ('ready', 0, 0, null), ('running', 1, 0, 'w'), ('cancelled', 1, 0, 'w')$$, '... and bulk submits');
select is((select count(*) from scylla.event where queue_name <> 'followed'), 0::bigint, 'other queues have none');
savepoint s;
do $$ begin perform scylla.submit('followed', '1', rn => 'undone'); end $$;
rollback to s;
select is_empty($$select * from events_of('undone')$$, 'what is rolled back has none');
do $$ begin
    perform scylla.alter_queue('followed', '{"events": false}');
    perform scylla.submit('followed', '1', rn => 'off');
    perform scylla.alter_queue('followed', '{"events": true}');
    perform scylla.submit('followed', '1', rn => 'on');
end $$;
select is((select count(*) from events_of('off')), 0::bigint, 'the setting can be switched off');
select is((select count(*) from events_of('on')), 1::bigint, '... and on');

-- ---- reading -------------------------------------------------------------------------------------------------------

select is_empty('select * from scylla.read_events()', 'events of the own transaction, which has not ended, are not shown');

-- As if others had written them long ago.
update scylla.event set position = 10 + id - (select min(id) from scylla.event);
select results_eq($$select cursor, time, queue, rn, status, attempt, failures, worker from scylla.read_events()$$,
                  $$select position || '-' || id, time, queue_name, rn, status, attempt, failures, worker
                    from scylla.event order by position, id$$, 'read_events() shows them in order');
create function read_all(step int) returns setof text language plpgsql as $$
declare
    place text;
    event record;
    found boolean;
begin
    loop
        found := false;
        for event in select * from scylla.read_events(place, step) loop
            found := true;
            place := event.cursor;
            return next event.cursor;
        end loop;
        exit when not found;
    end loop;
end $$;
select results_eq(format('select * from read_all(%s)', n),
                  $$select position || '-' || id from scylla.event order by position, id$$,
                  format('in steps of %s, none is missed and none comes twice', n))
from unnest(array[1, 2, 3, 1000]) n;
update scylla.event set position = 10;
select results_eq(format('select * from read_all(%s)', n),
                  $$select position || '-' || id from scylla.event order by position, id$$,
                  format('... also where all have the same position', n))
from unnest(array[1, 5, 1000]) n;
select is_empty($$select * from scylla.read_events((select position || '-' || id from scylla.event order by position desc, id desc limit 1))$$,
                'after the last there is nothing');

-- ---- bad arguments -------------------------------------------------------------------------------------------------

select throws_ok(format('select scylla.read_events(%L)', v), '22023', format('invalid value for argument "after": "%s"', v))
from unnest(array['', '1', '-', '1-', '-1', '-1-1', '1--1', '1-1 ', ' 1-1', '1-1-1', 'x-y', '1-99999999999999999999',
                  '9223372036854775807-1']) v;
select throws_ok(format('select scylla.read_events(null, %s)', v), '22023', format('invalid value for argument "max_events": %s', v))
from unnest(array['0', '-1', '100001']) v;

-- ---- rights --------------------------------------------------------------------------------------------------------

create role scylla_test_follower;
grant usage on schema scylla to scylla_test_follower;
grant execute on function scylla.read_events to scylla_test_follower;
set local role scylla_test_follower;
select is_empty('select * from scylla.read_events()', 'events are shown to nobody who may not view the queue');
set local role none;
do $$ begin perform scylla.grant_queue('followed', 'scylla_test_follower', 'view'); end $$;
set local role scylla_test_follower;
select isnt_empty('select * from scylla.read_events()', '... and to who may');
select throws_ok('select * from scylla.event', '42501', null, '... but not the table');
set local role none;
do $$ begin perform scylla.drop_queue('followed', true); end $$;
set local role scylla_test_follower;
select is_empty('select * from scylla.read_events()', 'events of a queue that has been dropped are shown to nobody');
set local role none;
select isnt_empty('select * from scylla.read_events()', '... but superusers');

-- ---- retention -----------------------------------------------------------------------------------------------------

create temp table kept as select * from scylla.event where id >= (select id from scylla.event where status = 'completed');
update scylla.event set time = now() - interval '1 day 1 hour' where id not in (select id from kept);
select is(scylla.purge(), 0::bigint, 'purge() counts tasks only');
select set_eq('select id from scylla.event', 'select id from kept', 'events are removed after scylla.event_retention');
update scylla.event set time = now() - interval '1 day 1 hour';
do $$ begin perform scylla.maintain(); end $$;
select is_empty('select * from scylla.event', 'maintain() does it too');

select all_is_sound();
select * from finish();
rollback;
