-- Indexes that the owner adds to the tables (for looking into specs, for reports) stay correct, although the verbs
-- write the tables directly: those on expressions, partial ones, and those of other access methods.
begin;
\ir include/helpers.psql
select * from no_plan();

create index extra_spec_gin on scylla.task_spec using gin (spec);
create index extra_spec_expression on scylla.task_spec ((spec ->> 'kind'), priority);
create index extra_spec_hash on scylla.task_spec using hash (rn);
create index extra_ready_failed on scylla.task_ready (updated) where failures > 0;
create index extra_lease_deadline on scylla.task_lease (deadline);
create index extra_lease_owner on scylla.task_lease (upper(owner)) include (progress);
create index extra_lease_late on scylla.task_lease (progress) where progress > 0.5;
create index extra_waiting_errors on scylla.task_waiting using gin (errors);
create index extra_outcome_aborted on scylla.task_outcome (finished) where status = 'aborted';
create index extra_outcome_brin on scylla.task_outcome using brin (finished);
create index extra_outcome_code on scylla.task_outcome ((errors -> -1 ->> 'code'));

-- Every verb, on enough tasks for the rows to spread over pages. Which task gets which verb goes by the name: the view's
-- own order is the planner's affair.
do $$ begin
    for i in 1 .. 400 loop
        perform scylla.submit('ix', jsonb_build_object('kind', 'k' || i % 7, 'n', i), i % 3, 'ix' || i,
                              case when i % 10 = 0 then now() + i * interval '1 min' end, max_attempts => case
                              when i % 4 = 0 then 1 end);
    end loop;
    perform scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'ix', 'spec',
    jsonb_build_object('kind', 'many', 'n', i), 'rn', 'many' || i))
                                from generate_series(1, 100) i));
    perform scylla.submit_bulk('ix', array_agg(jsonb_build_object('kind', 'bulk', 'n', i)), array_agg('bulk' || i))
    from generate_series(1, 100) i;
    perform scylla.submit('ix', '{"kind": "once", "once": "me"}', rn => 'once');
    perform scylla.lease('ix', 'worker ' || i % 5, 3) from generate_series(1, 120) i;
    perform scylla.heartbeat(t.rn, t.owner, (row_number() over (order by t.rn) % 100) / 100.0, '1 h') from scylla.task t
    where status = 'running';
    perform scylla.heartbeat_many((select array_agg(rn) from scylla.task where owner = 'worker 1'), 'worker 1', '2 h');
    perform case n % 6
            when 0 then scylla.complete(rn, owner, '{}')
            when 1 then scylla.abort(rn, owner, jsonb_build_object('code', 'e' || n % 4))
            when 2 then scylla.fail(rn, owner, jsonb_build_object('code', 'f' || n % 4))
            when 3 then scylla.fail(rn, owner, '{"code": "at once"}', '0')
            when 4 then scylla.yield(rn, owner)
            end
    from (select rn, owner, row_number() over (order by rn) as n from scylla.task where status = 'running') t;
    perform scylla.cancel(rn) from (select rn, row_number() over (order by rn) as n from scylla.task
                                    where status in ('ready', 'running', 'waiting') and rn <> 'once') t where n % 20 = 0;
    perform scylla.complete_many((select array_agg(rn)
                                  from (select rn from scylla.task where owner = 'worker 2'
                                        and status = 'running' limit 5) t), 'worker 2');
    perform scylla.complete_and_lease((select array_agg(rn)
                                       from (select rn from scylla.task where owner = 'worker 3'
                                             and status = 'running' limit 5) t), 'worker 3', 'ix', 10);
    perform expire(rn) from scylla.task where owner = 'worker 4' and status = 'running';
    perform fall_due(rn) from scylla.task where status = 'waiting' and attempt > 0;
    perform scylla.maintain();
    perform scylla.lease('ix', 'again', 50);
    update scylla.task_spec set created = created - interval '9 days';
    update scylla.task_outcome set finished = finished - interval '8 days' where status = 'cancelled';
    perform scylla.purge();
end $$;
select set_eq('select distinct status from scylla.task',
              $$select s from unnest(enum_range(null::scylla.task_status)) s where s <> 'cancelled'$$,
              'tasks in all states are left');

-- The same question, answered by the index and by the table.
create function by_index(question text) returns table (id bigint) language plpgsql
    set enable_seqscan = off set enable_indexonlyscan = off as $$ begin return query execute question; end $$;
create function by_table(question text) returns table (id bigint) language plpgsql
    set enable_indexscan = off set enable_bitmapscan = off set enable_indexonlyscan = off
        as $$ begin return query execute question; end $$;
create function uses(question text, index text) returns boolean language plpgsql set enable_seqscan = off as $$
declare
    line text;
begin
    for line in execute 'explain (costs off) ' || question loop
        if line like '%' || index || '%' then
            return true;
        end if;
    end loop;
    return false;
end $$;
create temp table question (index text, question text);
insert into question values
    ('extra_spec_gin',        $$select id from scylla.task_spec where spec @> '{"kind": "k3"}'$$),
    ('extra_spec_gin',        $$select id from scylla.task_spec where spec @> '{"kind": "bulk"}'$$),
    ('extra_spec_gin',        $$select id from scylla.task_spec where spec @> '{"kind": "many"}'$$),
    ('extra_spec_expression', $$select id from scylla.task_spec where spec ->> 'kind' = 'k5' and priority = 2$$),
    ('extra_spec_hash',       $$select id from scylla.task_spec where rn = 'many77'$$),
    ('extra_ready_failed',    $$select id from scylla.task_ready where failures > 0 and updated > '-infinity'$$),
    ('extra_lease_deadline',  $$select id from scylla.task_lease where deadline > now() + interval '1 s'$$),
    ('extra_lease_owner',     $$select id from scylla.task_lease where upper(owner) = 'WORKER 3'$$),
    ('extra_lease_late',      $$select id from scylla.task_lease where progress > 0.6$$),
    ('extra_waiting_errors',  $$select id from scylla.task_waiting where errors @> '[{"code": "f1"}]'$$),
    ('extra_outcome_aborted', $$select id from scylla.task_outcome where status = 'aborted'
     and finished > '-infinity'$$),
    ('extra_outcome_brin',    $$select id from scylla.task_outcome where finished > now() - interval '1 h'$$),
    ('extra_outcome_code',    $$select id from scylla.task_outcome where errors -> -1 ->> 'code' = 'e1'$$);
-- extra_waiting_errors had waiting tasks in it that have all become ready; a few more.
do $$ begin perform scylla.fail(rn, owner, '{"code": "f1"}')
    from (select rn, owner from scylla.task where owner = 'again' and max_attempts = 25 limit 7) t; end $$;
select ok(uses(question, index), format('%s answers %s', index, question)) from question;
select cmp_ok((select count(*) from by_table(question)), '>', 0::bigint, 'which is not empty: ' || question)
from question;
select set_eq(format('select * from by_index(%L)', question), format('select * from by_table(%L)', question), index
              || ' knows the same rows as the table') from question;

-- Every entry of every btree, where the module is there to prove it.
create function btree_is_sound(index regclass) returns boolean language plpgsql as $$
begin
    perform public.bt_index_check(index, heapallindexed => true);
    return true;
exception when others then
    return false;
end $$;
do $$ begin
    if exists (select from pg_available_extensions where name = 'amcheck') then
        create extension if not exists amcheck schema public;
    end if;
end $$;
select case when exists (select from pg_extension where extname = 'amcheck')
            then ok(btree_is_sound(i.indexrelid), 'amcheck: ' || i.indexrelid::regclass)
            else skip('amcheck is not available') end
from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
where t.relnamespace = 'scylla'::regnamespace and t.relkind = 'r'
    and c.relam = (select oid from pg_am where amname = 'btree');

select all_is_sound();
select * from finish();
rollback;
