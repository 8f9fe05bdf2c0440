-- A transaction leases what it has made ready itself, though nobody has been told of it, and in the right order; what
-- it took and gave back by a rollback to a savepoint as well.
begin;
\ir include/helpers.psql
select * from no_plan();

-- Tasks are numbered in their specification.
create procedure submit(queue text, low int, high int, priority int = 0) language plpgsql as $$
begin
    perform scylla.submit_bulk(queue, array_agg(jsonb_build_object('n', n) order by n), priority => priority)
    from generate_series(low, high) n;
end $$;
create function leased(queue text, max_tasks int = 1) returns text language sql as $$
    select string_agg(spec ->> 'n', ' ') from scylla.lease(queue, 'w', max_tasks, '1 h');
$$;
create function yielded(queue text, low int, high int, how text = 'asc') returns bigint
    language plpgsql as $$
declare
    task record;
    count bigint := 0;
begin
    for task in
        select rn from scylla.task t where t.queue = $1 and (spec ->> 'n')::int between low and high
        order by (spec ->> 'n')::int * case how when 'asc' then 1 else -1 end
    loop
        perform scylla.yield(task.rn, 'w');
        count := count + 1;
    end loop;
    return count;
end $$;
create function numbers(low int, high int) returns text language sql as $$
    select string_agg(n::text, ' ' order by n) from generate_series(low, high) n;
$$;

-- ---- submitted -----------------------------------------------------------------------------------------------------

select is(leased('s'), null, 'there is nothing yet');
call submit('s', 1, 2);
select is(leased('s'), '1', 'what this transaction has submitted, it can lease');
savepoint s;
call submit('s', 3, 4);
select is(leased('s', 2), '2 3', 'and in a savepoint, too');
rollback to s;
select is(leased('s'), '2', 'after a rollback to the savepoint what was leased in it is leased again');
select is(leased('s'), null, 'and what was submitted in it is gone');
call submit('s', 5, 5);
select is(leased('s'), '5', 'and new tasks are leased');

-- ---- leased twice, and rolled back ---------------------------------------------------------------------------------

call submit('twice', 1, 5);
select is(leased('twice'), '1', 'a lease');
savepoint s;
select is(leased('twice', 2), '2 3', 'two in a savepoint');
savepoint inner_one;
select is(leased('twice', 2), '4 5', 'and two in one within');
rollback to inner_one;
select is(leased('twice'), '4', 'the inner one rolled back: they are there again');
rollback to s;
select is(leased('twice', 5), '2 3 4 5', 'the outer one, too');

call submit('caught', 1, 2);
create function caught() returns text language plpgsql as $$
declare
    first text;
begin
    begin
        first := leased('caught', 2);
        raise 'undo';
    exception when raise_exception then
        return format('%s, %s', first, leased('caught', 2));
    end;
end $$;
select is(caught(), '1 2, 1 2',
          'what a lease has taken that PL/pgSQL has undone is leased again by the same function');

-- ---- given back ----------------------------------------------------------------------------------------------------

call submit('back', 1, 301);
select is(leased('back', 200), numbers(1, 200), 'two hundred are leased');
select is(leased('back'), '201', 'and the next');
select is(yielded('back', 100, 100), 1::bigint, 'one comes back');
select is(leased('back'), '100', 'it is leased before younger ones');
select is(leased('back'), '202', 'and then they');
-- More than a transaction notes one by one.
select is(yielded('back', 1, 200), 200::bigint, 'two hundred come back');
select is(leased('back', 200), numbers(1, 200), 'they are leased, oldest first');
select is(leased('back'), '203', 'before younger ones');
select is(yielded('back', 1, 200, 'desc'), 200::bigint, 'they come back the other way round');
select is(leased('back', 150), numbers(1, 150), 'they are leased, oldest first');
savepoint s;
select is(yielded('back', 1, 99), 99::bigint, 'they come back in a savepoint');
select is(leased('back', 100), numbers(1, 99) || ' 151', 'and are leased');
rollback to s;
select is(leased('back', 51), numbers(151, 200) || ' 204',
          'after its rollback they are held, and those behind them leased');

-- Retries and expired leases.
call submit('retry', 1, 4);
select is(leased('retry', 3), '1 2 3', 'three are leased');
select is(count(scylla.fail(rn, 'w', '{"code": "x"}', '0')), 1::bigint, 'one fails and is retried at once')
from scylla.task where queue = 'retry' and spec = '{"n": 2}';
update scylla.task_lease set deadline = '-infinity'
where id = (select s.id from scylla.task_spec s join scylla.task t using (rn)
            where t.queue = 'retry' and t.spec = '{"n": 1}');
select is(scylla.reset_expired(), 1::bigint, 'the lease of another expires');
select is(leased('retry', 4), '1 2 4', 'both are leased before younger ones');

-- ---- more than can be noted ----------------------------------------------------------------------------------------

-- A queue and priority each: more kinds than there is room for.
do $$ begin for p in 0 .. 127 loop call submit('kinds', p, p, p); end loop; end $$;
select is(leased('kinds', 128), (select string_agg(p::text, ' ' order by p desc) from generate_series(0, 127) p),
          'tasks of every priority are leased in the transaction that submitted them, highest first');
select is(yielded('kinds', 0, 127), 128::bigint, 'they come back');
select is(leased('kinds', 128), (select string_agg(p::text, ' ' order by p desc) from generate_series(0, 127) p),
          'and are leased again');
do $$ begin for q in 1 .. 100 loop call submit('kind' || q, 1, 2); end loop; end $$;
select is(string_agg(distinct leased('kind' || q), ','), '1', 'the same with a hundred queues')
from generate_series(1, 100) q;

-- ---- what is shown -------------------------------------------------------------------------------------------------

select columns_are('scylla', 'stat_heads', array['queue', 'priority', 'frontier', 'returned']);
select is(count(*) > 0, current_setting('shared_preload_libraries') ~ 'scylla',
          'stat_heads shows the heads where the library is preloaded, and nothing elsewhere')
from scylla.stat_heads where queue = 'back';

select all_is_sound();
select * from finish();
rollback;
