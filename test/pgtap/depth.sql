-- How many tasks of a queue may be waiting or ready: max_depth, and what becomes of more. What transactions see of each other is
-- in test/specs/max-depth.spec and test/t/depth.pl.
begin;
\ir include/helpers.psql
select * from no_plan();

create function depth(queue text) returns bigint language sql as $$
    select count(*) from scylla.task t where t.queue = depth.queue and status in ('waiting', 'ready');
$$;
create function statuses(queue text) returns text language sql as $$
    select string_agg(rn || ' ' || status, ', ' order by rn collate "C") from scylla.task t where t.queue = statuses.queue;
$$;
-- Asserts that a statement is refused because the queue is full, and changes nothing.
create function is_full(queue text, bound int, statement text) returns setof text language plpgsql as $$
declare
    before text := (select string_agg(rn, ' ' order by rn) from scylla.task_spec);
begin
    return next refuses(statement, '53400', 'max_depth', format('queue "%s" has reached its max_depth', queue),
                        format('The limit is %s.', bound), table_ => 'queue');
    return next is((select string_agg(rn, ' ' order by rn) from scylla.task_spec), before, '... and nothing is written');
end $$;

-- ---- error -----------------------------------------------------------------------------------------------------------

do $$ begin
    perform scylla.create_queue('three', max_depth => 3);
    perform scylla.submit('three', '1', rn => 'a');
    perform scylla.submit('three', '1', rn => 'b', not_before => now() + interval '1 day');
    perform scylla.submit('three', '1', rn => 'c', depends_on => array['a']);
end $$;
select is(statuses('three'), 'a ready, b waiting, c waiting', 'up to max_depth a queue takes tasks, ready or waiting');
select is_full('three', 3, $$select scylla.submit('three', '1', rn => 'd')$$);
select is_full('three', 3, $$select scylla.submit('three', '1', rn => 'd', not_before => now() + interval '1 day')$$);
select is_full('three', 3, $$select scylla.submit_many('[{"queue": "other", "spec": 1, "rn": "o"}, {"queue": "three", "spec": 1, "rn": "d"}]')$$);
select is_full('three', 3, $$select scylla.submit_bulk('three', array['1']::jsonb[])$$);
select is(raised($$select scylla.submit_bulk('three', '{}')$$), null, 'nothing always fits');
select is((select t.status::text from scylla.submit('three', '2', rn => 'a', on_duplicate => 'ignore') t), 'ready',
          'a task that is there is returned also if its queue is full');
select results_eq($$select * from scylla.submit_many('[{"queue": "three", "spec": 1, "rn": "a"}]')$$, $$values ('a', false)$$,
                  '... by submit_many, too');
select is(raised($$select scylla.submit('other', '1', rn => 'o')$$), null, 'other queues have their own');

-- What makes room.
do $$ begin perform scylla.lease_task('a', 'w', '1 h'); end $$;
select is(raised($$select scylla.submit('three', '1', rn => 'd')$$), null, 'a lease makes room');
select is_full('three', 3, $$select scylla.submit('three', '1', rn => 'e')$$);
do $$ begin perform scylla.cancel('b'); end $$;
select is(raised($$select scylla.submit('three', '1', rn => 'e')$$), null, 'so does a cancel');
do $$ begin
    begin
        perform scylla.cancel('d');
        perform scylla.submit('three', '1', rn => 'f');
        raise exception using errcode = 'SR000';
    exception when sqlstate 'SR000' then null;
    end;
end $$;
select is_full('three', 3, $$select scylla.submit('three', '1', rn => 'f')$$);
select is(depth('three'), 3::bigint, 'as before the part that was rolled back');

-- What comes back is always let in.
do $$ begin
    perform scylla.yield('a', 'w');
    perform scylla.lease_task('a', 'w', '1 h');
    perform scylla.fail('a', 'w', '{"code": "x"}', '1 h');
end $$;
select is(depth('three'), 4::bigint, 'a task that comes back is let in');
select is_full('three', 3, $$select scylla.submit('three', '1', rn => 'f')$$);
do $$ begin perform fall_due('a'); perform scylla.maintain(); end $$;
select is((seen('a')) ->> 'status', 'ready', 'so is one whose time has come');
do $$ begin
    perform scylla.lease_task('a', 'w', '1 h');
    perform expire('a');
    perform scylla.reset_expired();
end $$;
select is((seen('a')) ->> 'status', 'ready', '... and one whose lease has expired');
select is(depth('three'), 4::bigint, 'one is over the bound');
do $$ begin
    perform scylla.lease_task('a', 'w', '1 h');
    perform scylla.complete('a', 'w');
end $$;
select is((seen('c')) ->> 'status', 'ready', '... and one whose gate opens');
select is_full('three', 3, $$select scylla.submit('three', '1', rn => 'f')$$);

-- Batches.
do $$ begin perform scylla.create_queue('five', max_depth => 5); end $$;
select is_full('five', 5, $$select scylla.submit_bulk('five', array_fill('1'::jsonb, array[6]))$$);
select is(scylla.submit_bulk('five', array_fill('1'::jsonb, array[4])), 4::bigint, 'a batch that fits');
select is_full('five', 5, $$select scylla.submit_bulk('five', array_fill('1'::jsonb, array[2]))$$);
select is_full('five', 5, $$select scylla.submit_many('[{"queue": "five", "spec": 1}, {"queue": "other", "spec": 1}, {"queue": "five", "spec": 1}]')$$);
select results_eq($$select * from scylla.submit_many('[{"queue": "five", "spec": 1, "rn": "x"}, {"queue": "other", "spec": 1, "rn": "y"},
                      {"queue": "five", "spec": 1, "rn": "x"}]')$$,
                  $$values ('x', true), ('y', true), ('x', false)$$, 'a repeated element takes no room');
select is(depth('five'), 5::bigint, 'full to the last place');

-- ---- shed ------------------------------------------------------------------------------------------------------------

do $$ begin
    perform scylla.create_queue('sheds', max_depth => 2, on_full => 'shed', events => true);
    perform scylla.submit('sheds', '1', rn => 's1');
    perform scylla.submit('sheds', '1', rn => 's2', dedup_key => 'k2');
end $$;
select is(jsonb_build_array(t.status, t.errors, t.attempt, t.owner, t.history),
          '["cancelled", [{"code": "queue-full", "args": {}, "message": "the queue has reached its max_depth"}], 0, null, []]',
          'one more is cancelled at once, and says why') from scylla.submit('sheds', '1', rn => 's3', dedup_key => 'k3') t;
select is(seen('s3') ->> 'status', 'cancelled', 'it is there for everybody to see');
select is(raised($$select scylla.submit('other', '1', dedup_key => 'k3'), scylla.submit('sheds', '1', rn => 's4', dedup_key => 'k3')$$), null,
          'it holds no deduplication key');
select refuses($$select scylla.submit('sheds', '1', rn => 's3')$$, '23505', 'unique', 'task "s3" already exists');
select refuses($$select scylla.lease_task('s3', 'w')$$, '55000', 'ready', 'task "s3" is not ready',
               'Its status is cancelled, it has no owner and its attempt is 0.');
select is((select string_agg(rn || ' ' || status, ', ' order by id) from scylla.event where rn in ('s1', 's3')),
          's1 ready, s3 cancelled', 'events tell');
select is((select count(*) from scylla.lease('sheds', 'w', 10, '1 h')), 2::bigint, 'it is never leased');
select is((select t.status::text from scylla.submit('sheds', '1', rn => 's5') t), 'ready', 'when there is room again it is let in');

-- In the order of a batch, each after those that it depends on.
do $$ begin perform scylla.create_queue('sheds many', max_depth => 3, on_full => 'shed'); end $$;
select is(scylla.submit_bulk('sheds many', array_fill('1'::jsonb, array[5]), array['b5', 'b1', 'b4', 'b2', 'b3']), 5::bigint,
          'a batch is taken as a whole');
select is(statuses('sheds many'), 'b1 ready, b2 cancelled, b3 cancelled, b4 ready, b5 ready', '... the first of it are let in');
do $$ begin perform scylla.lease('sheds many', 'w', 2, '1 h'); end $$;
select results_eq($$select * from scylla.submit_many('[
        {"queue": "sheds many", "spec": 1, "rn": "m0", "depends_on": ["m3", "m4"]},
        {"queue": "sheds many", "spec": 1, "rn": "m1"},
        {"queue": "other", "spec": 1, "rn": "m2", "depends_on": ["m3"], "on_dependency_failure": "ignore"},
        {"queue": "sheds many", "spec": 1, "rn": "m3"},
        {"queue": "other", "spec": 1, "rn": "m4", "depends_on": ["m3"], "on_dependency_failure": "skip"},
        {"queue": "sheds many", "spec": 1, "rn": "m5", "depends_on": ["m4"]}]')$$,
    $$select 'm' || n, true from generate_series(0, 5) n$$, 'submit_many inserts them all');
select results_eq($$select rn, status::text, errors #>> '{0,code}' from scylla.task where rn ~ '^m[0-9]$' order by rn$$,
    $$values ('m0', 'waiting', null), ('m1', 'cancelled', 'queue-full'), ('m2', 'waiting', null), ('m3', 'ready', null),
             ('m4', 'waiting', null), ('m5', 'cancelled', 'queue-full')$$, '... and lets in first what the first of them depends on');
select results_eq($$select * from scylla.submit_many('[
        {"queue": "other", "spec": 1, "rn": "n1", "depends_on": ["n4"]},
        {"queue": "other", "spec": 1, "rn": "n2", "depends_on": ["n4"], "on_dependency_failure": "ignore"},
        {"queue": "other", "spec": 1, "rn": "n3", "depends_on": ["n4"], "on_dependency_failure": "skip"},
        {"queue": "sheds many", "spec": 1, "rn": "n4"},
        {"queue": "sheds many", "spec": 1, "rn": "n5", "depends_on": ["n3"]}]')$$,
    $$select 'n' || n, true from generate_series(1, 5) n$$, 'so it is with a queue that is full');
select results_eq($$select rn, status::text, errors #>> '{0,code}' from scylla.task where rn ~ '^n[0-9]$' order by rn$$,
    $$values ('n1', 'aborted', 'dependency-failed'), ('n2', 'ready', null), ('n3', 'cancelled', 'dependency-failed'),
             ('n4', 'cancelled', 'queue-full'), ('n5', 'cancelled', 'queue-full')$$, 'what is shed is a provider that was cancelled');
-- For each number of places: who stays depends on nobody who was shed. Elements are given last things first.
create function shed_of(places int) returns text language plpgsql as $$
declare
    queue text := 'places ' || places;
begin
    perform scylla.create_queue(queue, max_depth => places, on_full => 'shed');
    perform scylla.submit_many(format('[
        {"queue": %1$s, "spec": 1, "rn": "%2$s end", "depends_on": ["%2$s left", "%2$s right", "%2$s left"]},
        {"queue": %1$s, "spec": 1, "rn": "%2$s alone"},
        {"queue": %1$s, "spec": 1, "rn": "%2$s right", "depends_on": ["%2$s begin"]},
        {"queue": %1$s, "spec": 1, "rn": "%2$s left", "depends_on": ["%2$s begin"]},
        {"queue": %1$s, "spec": 1, "rn": "%2$s begin"}]', to_json(queue), places)::jsonb);
    return (select string_agg(split_part(rn, ' ', 2), ' ' order by rn) from scylla.task t
            where t.queue = 'places ' || places and status in ('waiting', 'ready'));
end $$;
select is(shed_of(places), stay, 'room for ' || places || ' of five')
from (values (1, 'begin'), (2, 'begin left'), (3, 'begin left right'), (4, 'begin end left right'), (5, 'alone begin end left right')) v (places, stay);
do $$ begin perform scylla.alter_queue('sheds many', '{"max_depth": 4}'); end $$;
do $$ begin
    perform scylla.create_plan('p');
    perform scylla.submit('sheds many', '1', rn => 'p1', plan => 'p');
    perform scylla.submit('sheds many', '1', rn => 'p2', plan => 'p');
    perform scylla.submit('sheds many', '1', rn => 'p3', plan => 'p', depends_on => array['p2'], on_dependency_failure => 'skip');
    perform scylla.open_plan('p');
end $$;
select results_eq($$select rn, status::text from scylla.task where plan = 'p' order by rn$$,
    $$values ('p1', 'ready'), ('p2', 'cancelled'), ('p3', 'cancelled')$$, 'a plan can have tasks that are shed');
do $$ begin perform scylla.lease_task('p1', 'w', '1 h'); perform scylla.complete('p1', 'w'); end $$;
select is((select status from scylla.plan where name = 'p'), 'cancelled', '... and is finished without them, but no success');

-- A schedule's task is a task like others.
do $$ begin
    set local scylla.schedules = 'manual';
    perform scylla.create_queue('due', max_depth => 1);
    perform scylla.submit('due', '1', rn => 'in the way');
    perform scylla.schedule('hourly', '0 * * * *', 'due', '{}');
    perform scylla._run_schedules_at((select next_run from scylla.schedules where name = 'hourly'));
end $$;
select matches((select last_error from scylla.schedules where name = 'hourly'), '^53400: queue "due" has reached its max_depth$',
               'a schedule that finds its queue full says so');
do $$ begin
    perform scylla.cancel('in the way');
    perform scylla._run_schedules_at((select next_run from scylla.schedules where name = 'hourly'));
end $$;
select is((select count(*) from scylla.task where queue = 'due' and status = 'ready'), 1::bigint, '... and does it at the next tick');

-- ---- settings --------------------------------------------------------------------------------------------------------

do $$ begin
    perform scylla.submit_bulk('grows', array_fill('1'::jsonb, array[4]));
    perform scylla.alter_queue('grows', '{"max_depth": 2}');
end $$;
select is_full('grows', 2, $$select scylla.submit('grows', '1')$$);
select is(depth('grows'), 4::bigint, 'a bound ends no task that is there');
do $$ begin perform scylla.alter_queue('grows', '{"max_depth": 5}'); end $$;
select is(raised($$select scylla.submit('grows', '1')$$), null, 'a higher one lets more in');
select is_full('grows', 5, $$select scylla.submit('grows', '1')$$);
do $$ begin perform scylla.alter_queue('grows', '{"on_full": "shed"}'); end $$;
select is(t.status::text, 'cancelled', 'a full queue may be told to shed') from scylla.submit('grows', '1') t;
do $$ begin perform scylla.alter_queue('grows', '{"max_depth": null, "on_full": null}'); end $$;
select is(scylla.submit_bulk('grows', array_fill('1'::jsonb, array[3])), 3::bigint, 'without a bound everything is let in');
do $$ begin perform scylla.alter_queue('grows', '{"max_depth": 9}'); end $$;
select is(raised($$select scylla.submit('grows', '1')$$), null, 'a bound that is set again counts what has come meanwhile');
select is_full('grows', 9, $$select scylla.submit('grows', '1')$$);

-- Queues without a bound pay nothing.
select is((select count(*) from pg_locks where pid = pg_backend_pid() and locktype = 'object' and objid = q.id), 0::bigint,
          'no lock for a queue without a bound') from scylla.queue q where q.name = 'other';

select all_is_sound();
select * from finish();
rollback;
