-- reschedule, delete_task: tasks that wait, and tasks that have ended.
begin;
\ir include/helpers.psql
select * from no_plan();

-- The detail tells the state of a task, which errors.sql looks at.
create function refuses_with(statement text, start text) returns text language sql as $$
    select is(starts_with(raised(statement), start), true, start || ': ' || statement);
$$;

select signature_is('reschedule', 'rn text, not_before timestamp with time zone DEFAULT NULL::timestamp with time zone', 'scylla.task');
select signature_is('delete_task', 'rn text', 'void');

-- ---- reschedule ----------------------------------------------------------------------------------------------------

do $$ begin
    perform given('s ' || state, state) from unnest('{ready,waiting,retried,running,completed,aborted,cancelled}'::text[]) state;
end $$;
select is(status::text || ' ' || (not_before = '2300-01-01Z'), 'waiting true', 'a task that is ' || kind || ' waits until the time')
from unnest('{ready,waiting,retried}'::text[]) kind, scylla.reschedule('s ' || kind, '2300-01-01Z');
select is(status::text, 'waiting', 'as the view shows') from scylla.task where rn = 's ready';
select is(status::text, 'ready', 'a time in the past makes it ready: ' || kind)
from unnest('{ready,waiting}'::text[]) kind, scylla.reschedule('s ' || kind, '2001-01-01Z');
create temp table before as select * from scylla.task where rn = 's retried';
select is(t.status::text || ' ' || (t.attempt = b.attempt) || (t.failures = b.failures) || (t.history = b.history), 'ready truetruetrue',
          'null is now; attempts, failures and history stay') from before b, scylla.reschedule('s retried') t;
select is((scylla.reschedule('s ready')).status::text, 'ready', 'what is ready stays so');
select is((scylla.lease_task('s ready', 'w')).status::text, 'running', 'and can be leased');
select refuses_with(format($$select scylla.reschedule('s %s')$$, state), format(E'55000 scylla.task/reschedulable\ntask "s %s" is neither ready nor waiting for its time\n', state))
from unnest('{running,completed,aborted,cancelled}'::text[]) state;
select is((scylla.submit('q', '1', rn => 'gated', depends_on => '{s running}')).status::text, 'waiting', 'a task that waits for another');
select refuses_with($$select scylla.reschedule('gated')$$, E'55000 scylla.task/reschedulable\ntask "gated" is neither');
select refuses($$select scylla.reschedule('none')$$, 'P0002', 'exists', 'task "none" does not exist');
select refuses_argument(format($$select scylla.reschedule('s ready', %L)$$, t), 'not_before', t, 'It must be finite.') from unnest('{infinity,-infinity}'::text[]) t;
select * from checks_name($$select scylla.reschedule($1)$$, 'rn');
-- The depth of a queue is what it was.
do $$ begin
    perform scylla.create_queue('two', max_depth => 2);
    perform scylla.submit('two', '1', rn => 'two 1'), scylla.submit('two', '1', rn => 'two 2');
    perform scylla.reschedule('two 1', '2300-01-01Z'), scylla.reschedule('two 1'), scylla.reschedule('two 2', '2300-01-01Z');
end $$;
select refuses($$select scylla.submit('two', '1')$$, '53400', 'max_depth', 'queue "two" has reached its max_depth', 'The limit is 2.', table_ => 'queue');

-- ---- set_priority --------------------------------------------------------------------------------------------------

select signature_is('set_priority', 'rn text, priority integer', 'scylla.task');
do $$ begin
    perform given('t ' || state, state, 'pq') from unnest('{ready,waiting,retried,running,completed,aborted,cancelled}'::text[]) state;
    perform scylla.submit('pq', jsonb_build_object('large', repeat('x', 100000)), rn => 't gated', depends_on => '{t running}', wait_for => '[{"callback": "c", "timeout": "1 day"}]') from scylla.create_callback('c');
    perform scylla.submit('pq', '1', 5, 't five'), scylla.submit('pq', '1', 5, 't other five');
end $$;
create temp table was as select * from scylla.task where queue = 'pq';
select is(t.priority || ' ' || t.status || ' ' || (t.not_before is not distinct from w.not_before) || (t.attempt = w.attempt) || (t.failures = w.failures) || (t.errors = w.errors) || (t.history = w.history) || (t.spec = w.spec) || (t.created = w.created),
          '6 ' || w.status || ' truetruetruetruetruetruetrue', 'only the priority changes: ' || w.rn)
from was w, scylla.set_priority(w.rn, 6) t where w.status in ('ready', 'waiting') and w.rn <> 't other five';
select is((select count(*) from scylla.task where queue = 'pq' and priority = 6), 5::bigint, 'as the view shows');
select is((select string_agg(rn, ', ') from scylla.list_tasks('pq', 'ready')), 't ready, t five, t other five', 'the order of leasing follows; within a priority the oldest comes first, as always');
select is((scylla.set_priority('t five', 127)).priority, 127, 'the highest');
select is((scylla.set_priority('t ready', null)).priority, 0, 'null is the default');
select is((select string_agg(rn, ', ') from scylla.lease('pq', 'w', 10, '1 h')), 't five, t other five, t ready', 'and are leased so');
select is((select priority from scylla.yield('t five', 'w')), 127, 'a priority stays');
select is((select string_agg(rn, ', ') from scylla.list_tasks('pq', 'ready')), 't five', 'with the task that was returned');
do $$ begin perform scylla.reschedule('t waiting'); end $$;
select is((select priority || ' ' || status from scylla.get_task('t waiting')), '6 ready', 'a task has it when its time comes');
do $$ begin perform scylla.complete('t running', 'w'), scylla.resolve_callback('c', '1'); end $$;
select is((select priority || ' ' || status || args from scylla.get_task('t gated')), '6 ready[null, 1]', 'and when its gates open');
select is((select length(spec ->> 'large') from scylla.get_task('t gated')), 100000, 'with its whole spec');
select refuses_with(format($$select scylla.set_priority('t %s', 1)$$, state), format(E'55000 scylla.task/unleased\ntask "t %s" is neither waiting nor ready\n', state))
from unnest('{running,completed,aborted,cancelled}'::text[]) state;
select refuses($$select scylla.set_priority('none', 1)$$, 'P0002', 'exists', 'task "none" does not exist');
select refuses_argument(format($$select scylla.set_priority('t five', %s)$$, p), 'priority', p::text, 'It must be between 0 and 127.') from unnest('{-1,128}'::int[]) p;
select * from checks_name($$select scylla.set_priority($1, 1)$$, 'rn');
-- In the line of a pool.
do $$ begin
    perform scylla.create_pool('small pool', '{"slots": 1}');
    perform scylla.submit('pooled', '1', rn => 'l ' || n, needs => '{"small pool": {"slots": 1}}') from generate_series(1, 3) n;
    perform scylla.maintain();
    perform scylla.set_priority('l 3', 9), scylla.set_priority('l 1', 5);
    perform scylla.maintain();
end $$;
select is((select string_agg(rn || ' ' || status || ' ' || priority, ', ' order by rn) from scylla.task where queue = 'pooled'), 'l 1 ready 5, l 2 waiting 0, l 3 waiting 9', 'what was placed stays so');
select is((select string_agg(s.rn || ' ' || l.priority, ', ' order by l.priority desc) from scylla.pool_line l join scylla.task_spec s on s.id = l.task where s.queue = (select id from scylla.queue where name = 'pooled')), 'l 3 9, l 2 0', 'a place in line has the new priority');
do $$ begin perform scylla.lease_task('l 1', 'w'), scylla.complete('l 1', 'w'), scylla.maintain(); end $$;
select is((select string_agg(rn, ', ') from scylla.list_tasks('pooled', 'ready')), 'l 3', 'and comes first');
-- Where tasks are found by their keys, too.
do $$ begin
    perform scylla.create_queue('keyed', max_running_per_key => 1);
    perform scylla.submit('keyed', '1', rn => 'k ' || n, key => 'k') from generate_series(1, 3) n;
    perform scylla.set_priority('k 3', 9);
end $$;
select is((select string_agg(rn, ', ') from scylla.lease('keyed', 'w', 10, '1 h')), 'k 3', 'of a key the best comes first');

-- ---- delete_task ---------------------------------------------------------------------------------------------------

select is(raised(format($$select scylla.delete_task('s %s')$$, state)), null, 'a task that is ' || state || ' can be removed') from unnest('{completed,aborted,cancelled}'::text[]) state;
select is_empty($$select rn from scylla.task where rn in ('s completed', 's aborted', 's cancelled')$$, 'and is gone');
select is((scylla.submit('q', '1', rn => 's completed')).status::text, 'ready', 'its name can be used again');
select refuses_with(format($$select scylla.delete_task('s %s')$$, state), format(E'55000 scylla.task/ended\ntask "s %s" has not ended\n', state))
from unnest('{running,waiting,completed}'::text[]) state;
select refuses($$select scylla.delete_task('none')$$, 'P0002', 'exists', 'task "none" does not exist');
select * from checks_name($$select scylla.delete_task($1)$$, 'rn');
-- What others wait for, or will read, stays.
do $$ begin
    perform given('provider', 'completed');
    perform scylla.submit('q', '1', rn => 'dependant', depends_on => '{provider}', not_before => '2300-01-01Z');
end $$;
select refuses($$select scylla.delete_task('provider')$$, '55000', 'needed', 'task "provider" is still needed', 'A live task depends on it.');
select scylla.cancel('dependant') \g /dev/null
select lives_ok($$select scylla.delete_task('provider')$$, 'until nobody does');
select lives_ok($$select scylla.delete_task('dependant')$$, 'and who depended on it can be removed');
-- A plan remembers how it ended.
do $$ begin
    perform scylla.create_plan('p');
    perform scylla.submit('q', '1', rn => 'p ' || n, plan => 'p') from generate_series(1, 2) n;
    perform scylla.open_plan('p'), scylla.lease_task('p 1', 'w'), scylla.abort('p 1', 'w', '{"code": "x"}');
    perform scylla.delete_task('p 1');
    perform scylla.lease_task('p 2', 'w'), scylla.complete('p 2', 'w');
end $$;
select is((select status from scylla.plan where name = 'p'), 'failed', 'a plan remembers a task that failed and was removed');

select all_is_sound();
select * from finish();
rollback;
