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
select is(status::text || ' ' || (not_before = '2300-01-01Z'), 'waiting true', 'a task that is ' || state || ' waits until the time')
from unnest('{ready,waiting,retried}'::text[]) state, scylla.reschedule('s ' || state, '2300-01-01Z');
select is(status::text, 'waiting', 'as the view shows') from scylla.task where rn = 's ready';
select is(status::text, 'ready', 'a time in the past makes it ready: ' || state)
from unnest('{ready,waiting}'::text[]) state, scylla.reschedule('s ' || state, '2001-01-01Z');
create temp table before as select * from scylla.task where rn = 's retried';
select is(t.status::text || ' ' || (t.attempt = b.attempt) || (t.failures = b.failures) || (t.history = b.history), 'ready truetruetrue',
          'null is now; attempts, failures and history stay') from before b, scylla.reschedule('s retried') t;
select is((scylla.reschedule('s ready')).status::text, 'ready', 'what is ready stays so');
select is((scylla.lease_task('s ready', 'w')).status::text, 'running', 'and can be leased');
select refuses_with(format($$select scylla.reschedule('s %s')$$, state), format(E'55000 scylla.task/reschedulable\ntask "s %s" is neither ready nor waits for its time\n', state))
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
