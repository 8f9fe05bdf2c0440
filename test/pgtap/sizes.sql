-- How large values may be: scylla.max_value_size for each that a caller stores, by the size of its text, and
-- scylla.max_result_size for the tasks that one call returns.
begin;
\ir include/helpers.psql
select * from no_plan();

-- ---- the size is that of the text ----------------------------------------------------------------------------------

set local scylla.max_value_size = '1 kB';
create function refused_size(value jsonb) returns text language sql as $$
    select substring(raised(format('select scylla.submit(''q'', %L)', value)) from 'of (\d+) bytes');
$$;
create function padded(value jsonb) returns jsonb language sql as $$ select jsonb_build_array(value, repeat('x', 1100)) $$;
select is(refused_size(padded(v::jsonb)), octet_length(padded(v::jsonb)::text)::text, 'the size of ' || left(v, 40))
from unnest(array['null', 'true', 'false', '""', '"a\"b\\c\/d\b\f\n\r\t"', '"\u0001\u001f\u007f\u0080€😀"', '[]', '{}', '[[], {}]',
                  '[1, [2, 3], {"a": 1}]', '{"": null, "a\n": {"b": [true, false]}}', '0', '-0', '1', '-1', '9999', '10000', '-10000',
                  '99999999', '0.1', '-0.10', '0.0001', '0.00001', '1.000', '123456789.987654321', '1e131071', '-1e131071',
                  '1e-16383', '-1.5e-1000', '1e63', '1e252', '1e256', '1e300', '12e-63', '0.00', '1e-64', '100000000.00000001',
                  repeat('[', 500) || repeat(']', 500)]) v;
select is(refused_size(padded(jsonb_agg(n))), octet_length(padded(jsonb_agg(n))::text)::text, 'the size of some thousand numbers')
from (select (random() * 2 - 1)::numeric * (10::numeric ^ (random() * 60 - 30)::int) as n from generate_series(1, 5000)) numbers;
select is(refused_size(to_jsonb(repeat('x', 2000))), '2002', 'a value that is no array or object');

select is(raised($$select scylla.submit('q', to_jsonb(repeat('x', 1022)))$$), null, 'as much as the bound');
select refuses_argument($$select scylla.submit('q', to_jsonb(repeat('x', 1023)))$$, 'spec', 'a value of 1025 bytes',
                        'Its text must not have more than 1024 bytes, as "scylla.max_value_size" says.');
set local scylla.max_value_size = default;

-- ---- each argument that is stored ------------------------------------------------------------------------------------

create function too_large() returns jsonb language sql immutable as $$ select to_jsonb(repeat(E'\x01', 1000)) $$;
create function as_object() returns jsonb language sql immutable as $$ select jsonb_build_object('x', too_large()) $$;
do $$ begin perform given('held', 'running'); perform scylla.create_queue('settings'); end $$;
set local scylla.max_value_size = '5 kB';
select refuses(statement, '22023', 'argument', format('invalid value for argument "%s"%s: %s of %s bytes', argument, place, kind, size),
               'Its text must not have more than 5120 bytes, as "scylla.max_value_size" says.')
from (values
    ('select scylla.submit(''q'', too_large())', 'spec', '', 'a value', 6002),
    ('select scylla.submit_many(jsonb_build_array(''{"queue": "q", "spec": 1}''::jsonb, jsonb_build_object(''queue'', ''q'', ''spec'', too_large())))',
     'spec', ' in element 2', 'a value', 6002),
    ('select scylla.submit_bulk(''q'', array[''1'', too_large()])', 'spec', ' in element 2', 'a value', 6002),
    ('select scylla.complete(''held'', ''w'', result => as_object())', 'result', '', 'an object', 6009),
    ('select scylla.complete(''held'', ''w'', metrics => as_object())', 'metrics', '', 'an object', 6009),
    ('select scylla.complete_many(''{held}'', ''w'', array[too_large()])', 'results', ' in element 1', 'a value', 6002),
    ('select scylla.complete_and_lease(''{held}'', ''w'', ''q'', results => array[too_large()])', 'results', ' in element 1', 'a value', 6002),
    ('select scylla.create_plan(''large'', too_large())', 'spec', '', 'a value', 6002),
    ('select scylla.schedule(''large'', ''* * * * *'', ''q'', too_large())', 'spec', '', 'a value', 6002),
    ('select scylla.schedule(''large'', ''* * * * *'', ''q'', ''1'', options => as_object())', 'options', '', 'an object', 6009),
    ('select scylla.schedule_plan(''large'', ''* * * * *'', jsonb_build_array(as_object()))', 'tasks', '', 'an array', 6011),
    ('select scylla.create_queue(''new'', key_weights => (select jsonb_object_agg(k, 1) from generate_series(1000, 1500) k))', 'key_weights', '', 'an object', 5511),
    ('select scylla.alter_queue(''settings'', jsonb_build_object(''key_weights'', (select jsonb_object_agg(k, 1) from generate_series(1000, 1500) k)))',
     'key_weights', '', 'an object', 5511)) c (statement, argument, place, kind, size);
select refuses_argument(format('select scylla.submit(''q'', ''1'', retry => jsonb_build_object(''factor'', 1 + 1e-%s))', 6000), 'retry',
                        'an object of 6014 bytes', 'Its text must not have more than 5120 bytes, as "scylla.max_value_size" says.');
set local scylla.max_value_size = default;

-- An error is bounded by its text, too: this one takes 20 kB.
select refuses_argument($$select scylla.abort('held', 'w', jsonb_build_object('code', 'x', 'args',
                        (select jsonb_agg(1e131071) from generate_series(1, 1000))))$$, 'error', 'an object of 131074023 bytes',
                        'It must not have more than 1 MB.');
-- What is only shown in a message is not made into text.
select refuses_argument($$select scylla.alter_queue('settings', (select jsonb_agg(1e131071) from generate_series(1, 20000)))$$,
                        'settings', 'an array of 2621480000 bytes', 'It must be an object.');

-- Numbers: 160 kB would be 1.3 GB of text.
select refuses_argument($$select scylla.submit('q', (select jsonb_agg(1e131071) from generate_series(1, 10000)))$$, 'spec',
                        'an array of 1310740000 bytes', 'Its text must not have more than 67108864 bytes, as "scylla.max_value_size" says.');

-- ---- the sum -----------------------------------------------------------------------------------------------------------

do $$ begin
    perform scylla.submit('sum', to_jsonb(repeat('x', 400)), rn => 's' || n) from generate_series(1, 9) n;
end $$;
set local scylla.max_result_size = '1 kB';
select is(array_agg(rn), '{s1,s2}', 'a lease ends with the task by which it has as much as it may')
from scylla.lease('sum', 'w', 9);
select is(array_agg(rn), '{s3,s4}', 'so does complete_and_lease')
from scylla.complete_and_lease('{s1}', 'w', 'sum', 9);
select is(array_agg(rn), '{s5}', 'who asks for one gets it') from scylla.lease('sum', 'w');
select is(array_agg(rn), '{s9,s8,s7}', 'three may be listed') from scylla.list_tasks('sum', max_tasks => 3);
select refuses(format('select * from scylla.list_tasks(%s, max_tasks => 5)', arguments), '54000', 'max_result_size',
               'tasks are too large for one result', format('The first %s have 1024 bytes or more, as "scylla.max_result_size" says.', n))
from (values ('''sum''', 3), ('''sum'', ''ready''', 3), ('''sum'', ''running''', 2), ('null', 3)) a (arguments, n);
set local scylla.max_result_size = default;
do $$ begin
    perform scylla.submit('large', to_jsonb(repeat('x', 2000)), rn => 'l' || n) from generate_series(1, 3) n;
end $$;
set local scylla.max_result_size = '1 kB';
select is(array_agg(rn), '{l1}', 'at least one task is leased, however large') from scylla.lease('large', 'w', 9);
select refuses($$select * from scylla.list_tasks('large', 'ready')$$, '54000', 'max_result_size',
               'tasks are too large for one result', 'The first 1 have 1024 bytes or more, as "scylla.max_result_size" says.');
set local scylla.max_result_size = default;

-- ---- args --------------------------------------------------------------------------------------------------------------

do $$ begin
    perform given('p' || n, 'running'), scylla.complete('p' || n, 'w', to_jsonb(repeat(E'\x01', 100))) from generate_series(1, 2) n;
    perform scylla.submit('args', '1', rn => 'few', depends_on => '{p1}');
    perform scylla.submit('args', '1', rn => 'many', depends_on => '{p1,p2}');
    perform scylla.submit('args', '1', rn => 'none');
end $$;
set local scylla.max_value_size = '1 kB';
select results_eq($$select rn, octet_length(args::text) from scylla.task where queue = 'args' order by rn$$,
                  $$values ('few', 604), ('many', null), ('none', 2)$$, 'args that would be larger than a value are null: in the view');
select results_eq($$select rn, octet_length(args::text) from scylla.lease('args', 'w', 3)$$,
                  $$values ('few', 604), ('many', null), ('none', 2)$$, '... and in a lease');
set local scylla.max_value_size = default;
select is(seen(rn) -> 'args', to_jsonb(args), 'else they are the same everywhere: ' || rn)
from unnest(array['few', 'many', 'none']) rn, lateral (select args from scylla.get_task(rn)) t;

-- ---- what version 0.1 let in -------------------------------------------------------------------------------------------

do $$ begin perform scylla.submit('old', to_jsonb(n), rn => 'o' || n) from generate_series(1, 3) n; end $$;
update scylla.task_spec set spec = (select jsonb_agg(1e131071) from generate_series(1, 10000)) where rn = 'o1';
select results_eq($$select rn, spec from scylla.list_tasks('old', 'ready')$$, $$values ('o1', null::jsonb), ('o2', '2'), ('o3', '3')$$,
                  'a value that is larger than what can be sent is not shown');
select results_eq($$select rn, spec from scylla.lease('old', 'w', 3)$$, $$values ('o1', null::jsonb), ('o2', '2'), ('o3', '3')$$,
                  '... and its task stands in nobody''s way');
select is((scylla.complete('o1', 'w')).status, 'completed', '... and can be finished');

-- ---- settings ------------------------------------------------------------------------------------------------------

select results_eq($$select name, setting, unit, context, min_val, max_val from pg_settings
                  where name in ('scylla.max_value_size', 'scylla.max_result_size') order by name$$,
                  $$values ('scylla.max_result_size', '262144', 'kB', 'superuser', '1', '2147483647'),
                  ('scylla.max_value_size', '65536', 'kB', 'superuser', '1', '204800')$$,
                  'no role raises a bound for itself, and none is higher than what a dump can hold');

select is_empty('select * from scylla.check()', 'check() finds nothing');
select * from finish();
rollback;
