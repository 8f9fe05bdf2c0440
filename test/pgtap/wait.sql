-- wait, wait_any: what they refuse. That they wake up is for tests with more than one session.
begin;
\ir include/helpers.psql
select * from no_plan();

select is(
    (select string_agg(format('%s(%s)%s', p.proname, pg_get_function_arguments(p.oid), case when p.prosecdef
                              or p.proconfig is not null then ' with settings' end), E'\n' order by p.proname)
     from pg_proc p where p.pronamespace = 'scylla'::regnamespace and p.prokind = 'p'),
    E'advance(INOUT turns bigint DEFAULT NULL::bigint)\n'
    'wait(IN queue text, IN timeout interval DEFAULT ''00:00:30''::interval, '
    'INOUT ready boolean DEFAULT NULL::boolean)\n'
    'wait_any(IN queues text[], IN timeout interval DEFAULT ''00:00:30''::interval, '
    'INOUT queue text DEFAULT NULL::text)\n'
    'wait_plan(IN plan text, IN timeout interval DEFAULT ''00:00:30''::interval, '
    'INOUT finished boolean DEFAULT NULL::boolean)\n'
    'work(IN queue text, IN max_tasks integer DEFAULT NULL::integer, IN timeout interval DEFAULT ''00:00:00''::interval, '
    'INOUT tasks bigint DEFAULT NULL::bigint)',
    'signatures of advance, wait, wait_any, wait_plan and work: procedures without settings of their own, so that they may commit');

create function refuses_transaction(statement text, call text) returns text language sql as $$
    select refuses(statement, '25001', 'transaction', call || ' cannot run inside a transaction block');
$$;
select refuses_transaction($$call scylla.wait('q')$$, 'scylla.wait()');
select refuses_transaction($$call scylla.wait('q', '1 s')$$, 'scylla.wait()');
select refuses_transaction($$call scylla.wait_any('{q,r}')$$, 'scylla.wait_any()');
select refuses_transaction($$call scylla.wait_plan('p')$$, 'scylla.wait_plan()');

-- Arguments are looked at first.
select * from checks_name($$call scylla.wait($1)$$, 'queue');
select * from checks_name($$call scylla.wait_plan($1)$$, 'plan');
select refuses_element(format('call scylla.wait_any(array[''q'', %s])', v), 2, 'queues', shown,
                       'It must have 1 to 200 characters.')
from (values ('null', 'null'), ($$''$$, '""'), ($$repeat('€', 201)$$, '"' || repeat('€', 60) || '..."')) a (v, shown);
select refuses_argument(format('call scylla.wait_any(%s)', v), 'queues', shown,
                        'It must be an array of 1 to 64 queues.')
from (values ('null', 'null'), ($$'{}'$$, 'an array of 0 elements'),
      ($$array_fill('q'::text, array[65])$$, 'an array of 65 elements')) a (v, shown);
select refuses_transaction($$call scylla.wait_any(array_fill('q'::text, array[64]))$$, 'scylla.wait_any()');
select refuses_argument(format(call, v), 'timeout', shown, 'It must be more than 0 and at most 365 days.')
from unnest(array['call scylla.wait(''q'', %s)', 'call scylla.wait_any(''{q}'', %s)', 'call scylla.wait_plan(''q'', %s)']) call,
     (values ($$'0'$$, '00:00:00'), ($$'-1 us'$$, '-00:00:00.000001'),
      ($$'366 days'$$, '366 days')) a (v, shown);
select refuses_transaction(format(call, v), split_part(split_part(call, '(', 1), ' ', 2) || '()')
from unnest(array['call scylla.wait(''q'', %s)', 'call scylla.wait_any(''{q}'', %s)', 'call scylla.wait_plan(''q'', %s)']) call,
     unnest(array[$$'1 us'$$, $$'365 days'$$, 'null']) v;

select all_is_sound();
select * from finish();
rollback;

