-- Aging: what waits gains priority, so that a stream of more important tasks starves nothing.
begin;
\ir include/helpers.psql
select * from no_plan();

-- Lets the tasks of a queue be as old as told, keeping the order of their submission.
create function is_old(which text, age interval) returns void language sql as $$
    update scylla.task_spec set created = clock_timestamp() - age where rn = which;
$$;
create function leased(which text, many int = 1) returns text language sql as $$
    select string_agg(rn, ' ') from scylla.lease(which, 'w', many);
$$;
create function offer(which text, rns text[], priority int) returns void language plpgsql as $$
declare
    name text;
begin
    foreach name in array rns loop
        perform scylla.submit(which, '{}', rn => name, priority => priority);
    end loop;
end $$;

do $$ begin
    perform scylla.create_queue('aging', aging => 1);
    perform scylla.create_queue('plain');
end $$;

-- A stream of the highest priority against one task of the lowest, which has waited for longer and longer.
do $$ begin perform offer('aging', '{old}', 0); perform offer('plain', '{plain old}', 0); end $$;
do $$ begin perform offer('aging', '{s1,s2,s3}', 127); perform offer('plain', '{p1,p2}', 127); end $$;
do $$ begin perform is_old('old', '90 s'); perform is_old('plain old', '1 year'); end $$;
select is(leased('aging'), 's1', 'a minute and a half at a point a second do not make up for 127 points');
do $$ begin perform is_old('old', '180 s'); end $$;
select is(leased('aging'), 'old', 'but three minutes do');
select is(leased('aging', 2), 's2 s3', 'then the stream goes on');
select is(leased('plain', 2), 'p1 p2', 'without aging waiting counts for nothing');

-- Above 255 points there is no difference but age.
do $$ begin perform offer('aging', '{a1}', 0); perform offer('aging', '{a2}', 127); perform offer('aging', '{a3}', 50); end $$;
do $$ begin perform is_old('a1', '300 s'); perform is_old('a2', '299 s'); perform is_old('a3', '298 s'); end $$;
select is((select string_agg(rn, ' ') from scylla.list_tasks('aging', 'ready')), 'a1 a2 a3', 'list_tasks shows the order of leasing');
select is(leased('aging', 10), 'a1 a2 a3', 'an effective priority ends at 255, among equals the oldest comes first');

-- Many tasks in many priorities: exactly the order of the formula, in one lease and one by one. None of them comes to 255 points
-- in the first hour of the test: the order would change.
select scylla.create_queue('crowd', aging => 0.005);
do $$ begin
    for i in 1 .. 300 loop
        perform scylla.submit('crowd', to_jsonb(i), rn => 'crowd ' || i, priority => (i * 7919) % 128);
    end loop;
    update scylla.task_spec set created = now() - (300 - spec::int) * interval '70 s' where rn like 'crowd %';
end $$;
create temp table expected as
select rn, row_number() over (order by priority + 0.005 * extract(epoch from now() - created) desc, created) as n
from scylla.task where queue = 'crowd';
create temp table got as
with one_by_one as materialized (select rn, i from generate_series(1, 150) i, lateral scylla.lease('crowd', 'w' || i) l)
select rn, i::bigint as n from one_by_one;
insert into got select rn, 150 + n from scylla.lease('crowd', 'w', 1000) with ordinality l
    (rn, queue, spec, status, priority, progress, created, updated, owner, deadline, errors, history, result, metrics, args,
     attempt, failures, max_attempts, not_before, plan, key, pool, state, answers, answered, error_message, n);
select results_eq('select n, rn from got order by n', 'select n, rn from expected order by n', 'leases follow the formula');

-- What comes back keeps its age.
do $$ begin perform offer('aging', '{b1}', 0); perform is_old('b1', '200 s'); perform offer('aging', '{b2}', 127); end $$;
select is(leased('aging'), 'b1', 'the oldest');
do $$ begin perform scylla.yield('b1', 'w'); end $$;
select is(leased('aging', 2), 'b1 b2', 'and again, after a yield');

select all_is_sound();
select * from finish();
rollback;
