-- A large result that many tasks are to get is stored once: neither its completion nor their leases write copies of it. It outlives
-- its retention as long as one of them is live, and no longer.
begin;
\ir include/helpers.psql
select * from no_plan();
-- Whatever the statistics know of tables that this transaction fills: what the functions do is held against joins of all tasks.
set local enable_nestloop = off;

create function wal_of(statement text) returns bigint language plpgsql as $$
declare
    plan json;
begin
    execute 'explain (analyze, wal, timing off, format json) ' || statement into plan;
    return plan -> 0 -> 'Plan' -> 'WAL Bytes';
end $$;
create function size_of_tables() returns bigint language sql as $$
    select sum(pg_total_relation_size(oid))::bigint from pg_class where relnamespace = 'scylla'::regnamespace and relkind = 'r';
$$;
-- The pieces of large values of outcomes that there are.
create function pieces() returns bigint language plpgsql as $$
declare
    n bigint;
begin
    execute format('select count(*) from %s', (select reltoastrelid::regclass from pg_class
                                               where oid = 'scylla.task_outcome'::regclass)) into n;
    return n;
end $$;
create function stored_size(name text) returns int language sql as $$
    select pg_column_size(o.result) from scylla.task_outcome o join scylla.task_spec s using (id) where s.rn = name;
$$;

do $$
declare
    name text;
begin
    foreach name in array array['small', 'large'] loop
        perform scylla.submit('q', '1', rn => name);
        perform scylla.submit_many((
            select jsonb_agg(jsonb_build_object('queue', name || ' heirs', 'spec', i, 'rn', name || ' heir ' || i,
                                                'depends_on', array[name]))
            from generate_series(1, 1000) i));
        perform scylla.lease_task(name, 'w', '1 h');
    end loop;
end $$;
-- About a megabyte that cannot be made much smaller.
create temp table big as
select to_jsonb(string_agg(encode(sha256(i::text::bytea), 'base64'), '')) as result from generate_series(1, 24000) i;

create temp table before as select size_of_tables() as size, pieces() as pieces;
create temp table wal as select wal_of($$select from scylla.complete('small', 'w', '"x"')$$) as small, 0::bigint as large;
update wal set large = wal_of($$select from scylla.complete('large', 'w', (select result from big))$$);
select diag(format('completed with 1,000 dependants: %s bytes of WAL; with a result of %s bytes: %s', small, stored_size('large'), large))
from wal;

select cmp_ok(stored_size('large'), '>', 700000, 'a large result');
select results_eq($$select queue, count(*) from scylla.task where status = 'ready' and queue like '% heirs'
                    group by queue order by queue$$,
                  $$values ('large heirs', 1000::bigint), ('small heirs', 1000)$$, 'makes as many tasks ready as a small one');
select cmp_ok(large - small, '<', (1.5 * stored_size('large'))::bigint, '... and writes itself, once, more to the WAL') from wal;
select cmp_ok(size_of_tables() - size, '<', 2 * stored_size('large') + 1000000::bigint, '... and to the tables') from before;

select results_eq($$select count(*), bool_and(l.args = jsonb_build_array(b.result))
                    from scylla.lease('large heirs', 'w', 10, '1 h') l, big b$$,
                  $$values (10::bigint, true)$$, 'every dependant gets all of it');
select cmp_ok(wal_of($$select sum(length(args::text)) from scylla.lease('large heirs', 'w', 10, '1 h')$$),
              '<', stored_size('large') / 20::bigint, 'a lease does not write it either');

-- ---- retention -------------------------------------------------------------------------------------------------------------

-- Everything is so old that only its status or somebody's need keeps it.
create function purge_old() returns text language plpgsql as $$
begin
    update scylla.task_outcome set finished = finished - interval '30 days';
    update scylla.task_spec set created = created - interval '60 days';
    perform scylla.purge();
    return (select string_agg(rn, ' ' order by rn collate "C") from scylla.task where rn ~ '^(small|large)');
end $$;
do $$ begin
    perform scylla.cancel(rn) from scylla.task where queue = 'small heirs';
    perform scylla.cancel(rn) from scylla.task where queue = 'large heirs' and status = 'ready';
    perform scylla.complete(rn, 'w') from scylla.task where queue = 'large heirs' and status = 'running' and rn <> 'large heir 2';
end $$;
select is(purge_old(), 'large large heir 2', 'with one live dependant of a thousand left it stays, while all others go');
select is(t.args, jsonb_build_array(b.result), '... and that one has it') from scylla.get_task('large heir 2') t, big b;
select cmp_ok(wal_of($$select from scylla.complete('large heir 2', 'w')$$), '<', stored_size('large') / 20::bigint,
              'nor does its end');
select is(purge_old(), null, 'then it goes');
select is(pieces(), pieces, '... with all of its pieces') from before;
select cmp_ok(size_of_tables() - size, '<', 10 * length(result::text)::bigint, 'nothing of all that has written it again and again')
from before, big;

select all_is_sound();
select * from finish();
rollback;
