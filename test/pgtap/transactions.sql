-- Verbs take part in the caller's transaction: what is rolled back never happened, and each sees what came before it.
begin;
\ir include/helpers.psql
select * from no_plan();

-- ---- savepoints ----------------------------------------------------------------------------------------------------

savepoint s;
do $$ begin perform scylla.submit('s', '{}', rn => 's1'); end $$;
select is(seen('s1') ->> 'status', 'ready', 'submitted');
rollback to s;
select is(seen('s1'), null, 'submit and roll back: there is no task');
select is_empty($$select from scylla.queue where name = 's'$$, 'and the queue that came with it is gone');
select is_empty($$select * from scylla.lease('s', 'w', 10)$$, 'and nothing can be leased');
select is((scylla.submit('s', '{}', rn => 's1')).status, 'ready', 'and its name is free');

create temp table before as select to_jsonb(t) as task from scylla.task t where rn = 's1';
savepoint s;
select is((select rn from scylla.lease('s', 'w')), 's1', 'leased');
rollback to s;
select is(seen('s1'), task, 'lease and roll back: the task is as it was') from before;
savepoint s;
select is(attempt, 1, 'and can be leased, for the first time') from scylla.lease('s', 'other');
rollback to s;
select is(attempt, 1, 'and again') from scylla.lease('s', 'w');

update before set task = seen('s1');
create temp table verb as
select * from (values
    ('heartbeat', $$select scylla.heartbeat('s1', 'w', 0.5, '1 h')$$),
    ('complete',  $$select scylla.complete('s1', 'w', '{}')$$),
    ('complete_many', $$select * from scylla.complete_many('{s1}', 'w')$$),
    ('complete_and_lease', $$select * from scylla.complete_and_lease('{s1}', 'w', 's')$$),
    ('abort',     $$select scylla.abort('s1', 'w', '{"code": "x"}')$$),
    ('fail',      $$select scylla.fail('s1', 'w', '{"code": "x"}', '0')$$),
    ('fail later', $$select scylla.fail('s1', 'w', '{"code": "x"}')$$),
    ('yield',     $$select scylla.yield('s1', 'w')$$),
    ('cancel',    $$select scylla.cancel('s1')$$)) v (name, statement);
-- Runs the statement and takes it back; what it would have done.
create function undone(statement text, rn text) returns jsonb language plpgsql as $$
declare
    meanwhile jsonb;
begin
    execute statement;
    meanwhile := seen(rn);
    raise exception 'to roll back';
exception when raise_exception then
    return meanwhile;
end $$;
select isnt(undone(statement, 's1'), task, name || ' does something') from verb, before;
select is(seen('s1'), task, name || ' and roll back: the task is as it was') from verb v, before,
    undone(v.statement, 's1');
select is((scylla.heartbeat('s1', 'w', attempt => 1)).status, 'running', 'after all that it is still held');

-- One that comes back in a subtransaction that is rolled back, and again in one that is not.
do $$ begin
    perform scylla.submit('back', '{}', rn => 'b' || n) from generate_series(1, 3) n;
    perform scylla.lease('back', 'w', 2);
end $$;
savepoint s;
do $$ begin perform scylla.yield('b1', 'w'); end $$;
select results_eq($$select rn from scylla.lease('back', 'other', 10)$$, $$values ('b1'), ('b3')$$,
                  'a yielded task can be leased in the same transaction');
rollback to s;
select results_eq($$select rn from scylla.lease('back', 'other', 10)$$, $$values ('b3')$$,
                  'not when that was rolled back');
savepoint s;
savepoint t;
do $$ begin perform scylla.yield('b2', 'w'); end $$;
release t;
savepoint t;
do $$ begin perform scylla.yield('b1', 'w'); end $$;
rollback to t;
release s;
select results_eq($$select rn from scylla.lease('back', 'other', 10)$$, $$values ('b2')$$,
                  'of two subtransactions the one counts that was not rolled back');

-- ---- exception handlers --------------------------------------------------------------------------------------------

do $$
begin
    perform scylla.submit('handlers', to_jsonb(n), rn => 'h' || n) from generate_series(1, 20) n;
    for i in 1 .. 20 loop
        begin
            perform scylla.lease_task('h' || i, 'w');
            perform scylla.complete('h' || i, case when i % 2 = 0 then 'w' else 'wrong' end);
        exception
            when object_not_in_prerequisite_state then
                if i % 3 = 0 then
                    perform scylla.cancel('h' || i);
                end if;
        end;
    end loop;
end $$;
select results_eq($$select status, count(*), sum(attempt) from scylla.task where queue = 'handlers' group by 1
                  order by 1$$,
                  $$values ('ready'::scylla.task_status, 7::bigint, 0::bigint), ('completed', 10, 10),
                  ('cancelled', 3, 0)$$,
                  'a handler takes back what its block did, and only that');
create function reason(statement text) returns text language plpgsql as $$
begin
    execute statement;
    return 'none';
exception
    when no_data_found then return 'no_data_found';
    when unique_violation then return 'unique_violation';
    when invalid_parameter_value then return 'invalid_parameter_value';
    when object_not_in_prerequisite_state then return 'object_not_in_prerequisite_state';
    when undefined_object then return 'undefined_object';
    when duplicate_object then return 'duplicate_object';
end $$;
select is(reason(statement), name, 'PL/pgSQL catches ' || name)
from (values ($$select scylla.get_task('unknown')$$, 'no_data_found'),
      ($$select scylla.submit('q', '{}', rn => 'h1')$$, 'unique_violation'),
             ($$select scylla.submit('q', null)$$, 'invalid_parameter_value'),
             ($$select scylla.complete('h1', 'w')$$, 'object_not_in_prerequisite_state'),
             ($$select scylla.create_queue('handlers')$$, 'duplicate_object')) e (statement, name);

-- ---- one statement -------------------------------------------------------------------------------------------------

do $$ begin perform scylla.submit('stmt', to_jsonb(n), rn => 'o' || n) from generate_series(1, 12) n; end $$;
select is((select array_agg((scylla.complete(l.rn, 'w')).status) from scylla.lease('stmt', 'w', 5) l),
          array_fill('completed'::scylla.task_status, array[5]),
          'lease five and complete them in one statement');
select results_eq(
    $$select (scylla.heartbeat(l.rn, 'w', 0.5)).progress, (scylla.yield(l.rn, 'w')).status,
    (scylla.lease_task(l.rn, 'v')).attempt,
             (scylla.complete(l.rn, 'v', attempt => 2)).progress from scylla.lease('stmt', 'w') l$$,
    $$values (0.5::real, 'ready'::scylla.task_status, 2, 1::real)$$, 'four verbs on one task in one select list');
select results_eq(
    $$with s as materialized (select * from scylla.submit('stmt', '{}', 127, 'cte')),
           l as materialized (select l.* from s, lateral scylla.lease('stmt', 'w') l)
      select c.rn, c.status from l, lateral scylla.complete(l.rn, 'w') c$$,
    $$values ('cte', 'completed'::scylla.task_status)$$, 'submit, lease and complete in one statement');
select results_eq($$select (scylla.lease('stmt', 'w', 2)).rn$$, $$values ('o7'), ('o8')$$, 'lease in a select list');
select results_eq($$select rn from scylla.lease('stmt', 'w', 2) limit 1$$, $$values ('o9')$$, 'lease under a limit');
select is((scylla.get_task('o10')).status, 'running', 'has leased what max_tasks says');
create temp table taken as select rn, attempt from scylla.lease('stmt', 'w');
select results_eq('table taken', $$values ('o11', 1)$$, 'lease into a table');
select is_empty($$select * from scylla.lease('stmt', 'w') where false$$, 'a lease that is not run');
select is((scylla.get_task('o12')).status, 'ready', 'leases nothing');
select is((select count(*) from generate_series(1, 3) n, lateral scylla.lease('stmt', 'w' || n) l), 1::bigint,
          'lease for each of three workers, of one task');

-- Submitting by trigger, so that a row and its task are there together or not at all.
create table orders (id int primary key);
create function order_task() returns trigger language plpgsql as $$
begin
    perform scylla.submit('orders', to_jsonb(new), rn => 'order ' || new.id);
    return new;
end $$;
create trigger order_task after insert on orders for each row execute function order_task();
insert into orders select generate_series(1, 5);
savepoint s;
insert into orders values (6);
rollback to s;
insert into orders values (7);
select results_eq($$select spec from scylla.list_tasks('orders', 'ready')$$,
                  $$select jsonb_build_object('id', n) from unnest(array[1, 2, 3, 4, 5, 7]) n$$, 'a trigger submits');
select is(raised($$insert into orders values (8), (1)$$) ~ 'orders_pkey', true, 'a statement that fails');
select is(seen('order 8'), null, 'has submitted nothing');

-- ---- prepared statements and cursors -------------------------------------------------------------------------------

prepare submit_ (text, jsonb, int) as select status from scylla.submit($1, $2, $3);
prepare lease_ (text, text, int) as select spec from scylla.lease($1, $2, $3);
set local plan_cache_mode = force_generic_plan;
execute submit_('prepared', '1', 1) \g /dev/null
execute submit_('prepared', '2', 2) \g /dev/null
set local plan_cache_mode = force_custom_plan;
execute submit_('prepared', '3', 3) \g /dev/null
execute submit_('prepared', '4', 4) \g /dev/null
select results_eq($$execute lease_('prepared', 'w', 2)$$, $$values ('4'::jsonb), ('3')$$,
                  'prepared statements with custom plans');
set local plan_cache_mode = force_generic_plan;
select results_eq($$execute lease_('prepared', 'w', 2)$$, $$values ('2'::jsonb), ('1')$$, 'and with generic ones');
reset plan_cache_mode;

do $$ begin perform scylla.submit('cursor', to_jsonb(n), rn => 'c' || n) from generate_series(1, 5) n; end $$;
declare leases scroll cursor for select rn from scylla.lease('cursor', 'w', 3);
select is((scylla.get_task('c1')).status, 'ready', 'a cursor that is only declared leases nothing');
select results_eq('fetch 1 from leases', $$values ('c1')$$, 'fetching the first');
select is((select count(*) from scylla.list_tasks('cursor', 'running')), 3::bigint, 'leases as many as max_tasks says');
select is((scylla.complete('c1', 'w')).status, 'completed', 'a task can be completed while the cursor is open');
select results_eq('fetch all from leases', $$values ('c2'), ('c3')$$, 'which gives the rest');
select results_eq('fetch backward 1 from leases', $$values ('c3')$$, 'and goes back');
select is((select count(*) from scylla.list_tasks('cursor', 'running')), 2::bigint, 'without leasing again');
close leases;
select is((select count(*) from scylla.list_tasks('cursor', 'running')), 2::bigint, 'leases outlive the cursor');

-- A loop of PL/pgSQL is a cursor too; the queue grows while it runs.
create function work_off() returns int[] language plpgsql as $$
declare
    t scylla.task;
    done int[];
begin
    for t in select * from scylla.lease('growing', 'w', 2) loop
        done := done || t.spec::int;
        perform scylla.complete(t.rn, 'w');
        perform scylla.submit('growing', to_jsonb(t.spec::int + 10));
    end loop;
    return done;
end $$;
do $$ begin perform scylla.submit('growing', to_jsonb(n)) from generate_series(1, 3) n; end $$;
select is(work_off(), '{1,2}'::int[], 'a loop over leased tasks sees those that were leased');
select is(work_off(), '{3,11}'::int[], 'and the next one those that it submitted');

select all_is_sound();
select * from finish();
rollback;
