-- history and errors: what they hold, and that they stay bounded.
begin;
\ir include/helpers.psql
select * from no_plan();
set local scylla.default_max_attempts = -1; -- tasks fail more often here

-- ---- the entries ---------------------------------------------------------------------------------------------------

-- A life with everything in it; the workers are named after what becomes of their leases.
do $$ begin
    perform scylla.submit('q', '{}', rn => 'life');
    perform scylla.lease_task('life', 'yields');
    perform scylla.heartbeat('life', 'yields', 0.25);
    perform scylla.yield('life', 'yields');
    perform scylla.lease_task('life', 'fails');
    perform scylla.heartbeat('life', 'fails', 0.5);
    perform scylla.fail('life', 'fails', '{"code": "x"}', '0');
    perform scylla.lease_task('life', 'dies');
    perform scylla.heartbeat('life', 'dies', 0.1);
    perform expire('life');
    perform scylla.reset_expired();
    perform scylla.lease_task('life', 'does "it"');
    perform scylla.complete('life', 'does "it"');
end $$;
select results_eq(
    $$select e - 'time' from scylla.get_task('life') t, jsonb_array_elements(t.history) with ordinality _ (e, n)
    order by n$$,
    $$values ('{"_typ": "TaskAssignment", "worker": "yields",    "attempt": 1, "progress": 0}'::jsonb),
             ('{"_typ": "TaskYield",      "worker": "yields",    "attempt": 1, "progress": 0.25}'),
             ('{"_typ": "TaskAssignment", "worker": "fails",     "attempt": 2, "progress": 0}'),
             ('{"_typ": "TaskRetry",      "worker": "fails",     "attempt": 2, "progress": 0.5}'),
             ('{"_typ": "TaskAssignment", "worker": "dies",      "attempt": 3, "progress": 0}'),
             ('{"_typ": "TaskTimeout",    "worker": "dies",      "attempt": 3, "progress": 0.1}'),
             ('{"_typ": "TaskAssignment", "worker": "does \"it\"", "attempt": 4, "progress": 0}')$$,
    'the life of a task, oldest first');
select is_empty($$
    select * from (select (e ->> 'time')::timestamptz as time, lag((e ->> 'time')::timestamptz) over (order by n)
                   as before, e ->> 'time' as written
                   from scylla.get_task('life') t, jsonb_array_elements(t.history) with ordinality _ (e, n)) x
    where time < before or time not between now() and clock_timestamp()
    or written !~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$'$$,
    'the times rise, and are written in UTC and to the microsecond');
select is(history, (seen('life') -> 'history'), 'get_task and the view agree') from scylla.get_task('life');

-- Of first runs: what belongs to another task, worker, attempt or time must not get in.
create temp table first_run (worker text, rn text, history jsonb, attempt int, updated timestamptz);
do $$
declare
    name text;
begin
    foreach name in array array['a', 'b', 'cc', repeat('long', 16), repeat('longer', 30), 'a', '"q"', 'b'] loop
        for round in 1 .. 3 loop
            perform scylla.submit('first', to_jsonb(round)), scylla.submit('first', to_jsonb(-round));
            insert into first_run select name, rn, history, attempt, updated from scylla.lease('first', name, 2);
        end loop;
    end loop;
end $$;
select is_empty($$
    select * from first_run
    where history <> jsonb_build_array(jsonb_build_object('_typ', 'TaskAssignment', 'worker', worker, 'attempt', attempt,
                                                          'progress', 0, 'time', in_history(updated)))$$,
    'the history of a first run has the worker and the time of this run');
select is(count(*), 48::bigint, '... of each that was made') from first_run;
select is_empty($$
    select f.rn from first_run f, lateral scylla.complete(f.rn, worker) c where c.history <> f.history
    union all
    select rn from first_run where history <> seen(rn) -> 'history'$$, 'the end of the run says the same, and so does the view');

-- Which code a worker runs.
do $$ begin
    perform scylla.submit('q', '{}', rn => 'code');
    perform scylla.lease_task('code', 'none');
    perform scylla.yield('code', 'none');
    set local scylla.code_version = 'v1';
    perform scylla.lease_task('code', 'first');
    set local scylla.code_version = 'another session';
    perform scylla.heartbeat('code', 'first', 0.5);
    perform scylla.fail('code', 'first', '{"code": "x"}', '0');
    set local scylla.code_version = 'v2';
    perform scylla.lease_task('code', 'dies');
    perform expire('code');
    perform scylla.reset_expired();
    perform scylla.lease_task('code', 'last');
    set local scylla.code_version = '';
end $$;
create function code_history() returns text language sql as $$
    select string_agg(format('%s %s %s', e ->> '_typ', e ->> 'attempt', e ->> 'code_version'), ', ' order by n)
    from scylla.get_task('code') t, jsonb_array_elements(t.history) with ordinality _ (e, n) $$;
select is(code_history(), 'TaskAssignment 1 , TaskYield 1 , TaskAssignment 2 v1, TaskRetry 2 , TaskAssignment 3 v2, TaskTimeout 3 , TaskAssignment 4 v2',
          'a lease has the code_version of the session that leased');
select is(seen('code') -> 'history', history, 'in the view as well') from scylla.get_task('code');
select scylla.complete('code', 'last') \g /dev/null
select matches(code_history(), ', TaskAssignment 4 v2$', 'and after its end');
select throws_ok(format('set local scylla.code_version = %L', v), '22023', null, 'no code_version: ' || left(v, 9))
from unnest(array[repeat('x', 201), E'a\nb', U&'caf\00e9']) v;

set local timezone = 'America/St_Johns';
set local datestyle = 'SQL, DMY';
select is(history, saved, 'history does not depend on the session''s way of writing times')
from scylla.get_task('life'), (select seen('life') -> 'history') s (saved);
do $$ begin perform given('settings', 'running'); perform scylla.heartbeat('settings', 'w',
    0.123456); perform scylla.yield('settings', 'w'); end $$;
select is(last_entry(history) ->> 'time', in_history(updated), 'nor do new entries') from scylla.get_task('settings');
set local datestyle = 'ISO';
set local timezone = 'UTC';

-- ---- the bound on history ------------------------------------------------------------------------------------------

-- Of a history as long as it may be: the first 10, how many were left out, the latest 39.
create function bounded(entries jsonb[]) returns jsonb language sql as $$
    select case when cardinality(entries) <= 50 then to_jsonb(entries)
                else to_jsonb(entries[:10]) || jsonb_build_object('_typ', 'HistoryElided', 'count',
                cardinality(entries) - 49)
                     || to_jsonb(entries[cardinality(entries) - 38:]) end;
$$;

-- Lets a task time out n times and collects, before each lease and during it, how its history differs from what it
-- should be.
create function wrong_histories(n int) returns setof text language plpgsql as $$
declare
    entries jsonb[] := '{}';
    history jsonb;
begin
    perform scylla.submit('q', '{}', rn => 'long');
    for i in 1 .. n loop
        history := (scylla.lease_task('long', 'w' || i)).history;
        entries := entries || last_entry(history);
        if history is distinct from bounded(entries) or last_entry(history) ->> 'worker' <> 'w' || i then
            return next format('leased %s times: %s instead of %s', i, history, bounded(entries));
        end if;
        if seen('long') -> 'history' is distinct from history then
            return next format('leased %s times: the view has %s instead of %s', i, seen('long') -> 'history', history);
        end if;
        perform expire('long');
        perform scylla.reset_expired();
        history := (scylla.get_task('long')).history;
        entries := entries || last_entry(history);
        if history is distinct from bounded(entries) or last_entry(history) ->> '_typ' <> 'TaskTimeout' then
            return next format('timed out %s times: %s instead of %s', i, history, bounded(entries));
        end if;
        if seen('long') -> 'history' is distinct from history then
            return next format('timed out %s times: the view has %s instead of %s', i, seen('long') -> 'history',
                               history);
        end if;
    end loop;
end $$;
select is_empty('select * from wrong_histories(200)',
                'two hundred time-outs: at every step the first 10, a count and the latest 39');
select is(jsonb_array_length(history), 50, 'never more than 50 entries') from scylla.get_task('long');
select is(history -> 10, '{"_typ": "HistoryElided", "count": 351}', 'the eleventh counts those left out')
from scylla.get_task('long');
select is(to_jsonb(t.failures) || to_jsonb(t.attempt), '[200, 200]', 'the counters know them all')
from scylla.get_task('long') t;
do $$ begin perform scylla.lease_task('long', 'last'); perform scylla.complete('long', 'last'); end $$;
select is(jsonb_array_length(history) || ' ' || (history -> 10 ->> 'count') || ' '
          || (last_entry(history) ->> 'worker'), '50 352 last',
          'also when it has ended') from scylla.get_task('long');
select is(seen('long') -> 'history', history, 'and in the view') from scylla.get_task('long');
select cmp_ok((select max(pg_column_size(o.*)) from scylla.task_outcome o), '<', 2000, 'so the row is small');

-- ---- the bound on errors -------------------------------------------------------------------------------------------

create function fail_often(rn text, errors jsonb[]) returns scylla.task language plpgsql as $$
declare
    error jsonb;
begin
    perform scylla.submit('q', '{}', rn => rn);
    foreach error in array errors loop
        perform scylla.lease_task(rn, 'w');
        perform scylla.fail(rn, 'w', error, '0');
    end loop;
    return scylla.get_task(rn);
end $$;
create temp table failing as
select * from fail_often('failing', (select array_agg(jsonb_build_object('code', 'e' || n) order by n)
                                     from generate_series(1, 200) n));
select is(jsonb_array_length(errors), 50, 'never more than 50 errors') from failing;
select is(jsonb_path_query_array(errors, '$[0 to 9].code'),
          (select jsonb_agg('e' || n order by n) from generate_series(1, 10) n), 'the first ten') from failing;
select is(jsonb_path_query_array(errors, '$[11 to last].code'),
          (select jsonb_agg('e' || n order by n) from generate_series(162, 200) n), 'and the latest 39')
from failing;
select is((errors -> 10) - 'message', '{"code": "elided", "args": {"count": 151}}',
          'between them the number of those left out') from failing;
select is(jsonb_typeof(errors -> 10 -> 'message'), 'string', 'the entry for the errors that were left out has a message, as any error has') from failing;
select is(jsonb_array_length((fail_often('fifty', array_fill('{"code": "x"}'::jsonb, array[50]))).errors), 50,
          'fifty fit');
select is(errors @? '$[*] ? (@.code == "elided")', false, 'without leaving any out') from scylla.get_task('fifty');
do $$ begin perform scylla.lease_task('fifty', 'w'); perform scylla.abort('fifty', 'w', '{"code": "last"}'); end $$;
select is(jsonb_array_length(errors) || ' ' || (errors -> 10 -> 'args' ->> 'count') || ' '
          || (last_entry(errors) ->> 'code'), '50 2 last',
          'one more by abort leaves two out') from scylla.get_task('fifty');
do $$ begin
    perform scylla.submit('q', '{}', rn => 'bounded', max_attempts => 60);
    for i in 1 .. 59 loop
        perform scylla.lease_task('bounded', 'w');
        perform scylla.fail('bounded', 'w', '{"code": "x"}', '0');
    end loop;
    perform scylla.lease_task('bounded', 'w');
    perform expire('bounded');
    perform scylla.reset_expired();
end $$;
select is(status || ' ' || jsonb_array_length(errors) || ' ' || (errors -> 10 -> 'args' ->> 'count') || ' '
          || (last_entry(errors) ->> 'code'),
          'aborted 50 11 timeout', 'one more by a time-out, too') from scylla.get_task('bounded');

-- ---- errors that look like the count -------------------------------------------------------------------------------

-- A worker's error that looks like the count of those left out is an error like any other. Whatever it says must not
-- keep the task from ending, nor the monitor from ending its lease.
select lives_ok(format('select fail_often(%L, array_fill(%L::jsonb, array[60]))', forged, forged), 'an error may be '
                || forged)
from unnest(array['{"code": "elided"}', '{"code": "elided", "args": {"count": 1e30}}',
                  '{"code": "elided", "args": {"count": -5}}',
                  '{"code": "elided", "args": {"count": 9223372036854775807}}',
                  '{"code": "elided", "args": {"count": "many"}}',
                  '{"code": "elided", "args": 7}', '{"code": "elided", "args": {"count": 0.5}}']) forged;
create function exhausts(forged jsonb) returns text language plpgsql as $$
begin
    perform scylla.submit('q', '{}', rn => forged::text || ' times out', max_attempts => 51);
    for i in 1 .. 50 loop
        perform scylla.lease_task(forged::text || ' times out', 'w');
        perform scylla.fail(forged::text || ' times out', 'w', forged, '0');
    end loop;
    perform scylla.lease_task(forged::text || ' times out', 'w');
    perform expire(forged::text || ' times out');
    perform scylla.maintain();
    return (scylla.get_task(forged::text || ' times out')).status;
end $$;
select is(raised(format('select exhausts(%L)', forged)), null, 'and the monitor can end its task: ' || forged)
from unnest(array['{"code": "elided", "args": {"count": 1e30}}',
                  '{"code": "elided", "args": {"count": 9223372036854775807}}']) forged;

-- ---- what must not matter --------------------------------------------------------------------------------------------

do $$ begin perform given('digits', 'running'); perform scylla.heartbeat('digits', 'w', 0.123456); end $$;
set local extra_float_digits = -5;
do $$ begin perform scylla.yield('digits', 'w'); end $$;
reset extra_float_digits;
select is(last_entry(history) -> 'progress', '0.123456', 'history does not depend on the session''s way of writing numbers')
from scylla.get_task('digits');

select all_is_sound();
select * from finish();
rollback;
