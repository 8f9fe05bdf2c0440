-- What we write as jsonb ourselves (arrays of results, histories) is byte for byte what the server writes of the same text:
-- record_image_eq compares the images of rows.
begin;
\ir include/helpers.psql
select * from no_plan();
set local scylla.default_max_attempts = -1; -- tasks fail more often here

-- A value of any shape, the same for the same seed.
create function some_json(depth int) returns jsonb language sql volatile as $$
    select case when depth > 0 and random() < 0.5 then
                case when random() < 0.5 then (select coalesce(jsonb_agg(test.some_json(depth - 1)), '[]')
                                               from generate_series(1, (random() * 5 + depth * 0)::int))
                     else (select coalesce(jsonb_object_agg(repeat('k', n % 4) || n, test.some_json(depth - 1)), '{}')
                           from generate_series(1, (random() * 5 + depth * 0)::int) n) end
           else (array['null', 'true', 'false', '0', '-1.50', '1e100', '12345678901234567890.5', '""', '"x"', '"twelve bytes"',
                       to_json(repeat('long ', 30))::text, '[]', '{}', '"\u00fc\u4e2d"'])[1 + floor(random() * 14)]::jsonb end
$$;

-- ---- args ------------------------------------------------------------------------------------------------------------

select setseed(0.25);
create temp table provider as
    select n, g, some_json(3) as result from generate_series(1, 40) n, generate_series(1, 1 + n) g; -- up to 41 results: more than 32
do $$ begin
    perform scylla.submit('providers', '1', rn => 'p ' || n || ' ' || g) from provider;
    perform scylla.submit('heirs', '1', rn => 'heir ' || n, depends_on => array_agg('p ' || n || ' ' || g order by g))
    from provider group by n;
    perform scylla.lease('providers', 'w', 10000);
    perform scylla.complete('p ' || n || ' ' || g, 'w', result) from provider;
    perform scylla.lease('heirs', 'w', 100);
end $$;
select is(count(*), 0::bigint, 'results of any shape: args have the image of jsonb_agg''s array')
from scylla.task t join (select 'heir ' || n as rn, jsonb_agg(result order by g) as expected from provider group by n) e using (rn)
where not record_image_eq(row(t.args), row(e.expected));
select is(count(*), 40::bigint, '... of all of them') from scylla.task where queue = 'heirs' and args is not null;
select isnt(count(distinct jsonb_typeof(result)), 1::bigint, '... and the results have many types') from provider;

-- ---- history and errors ----------------------------------------------------------------------------------------------

do $$
declare
    worker text;
begin
    perform scylla.submit('lives', '1', rn => 'life ' || n) from generate_series(1, 12) n;
    foreach worker in array array['w', 'w', 'a worker whose name is longer than those of others, by some characters at least', E'\u00fc "\\', 'w'] loop
        perform scylla.lease('lives', worker, 12);
        perform scylla.heartbeat('life ' || n, worker, n / 13.0) from generate_series(1, 12) n;
        perform scylla.yield('life ' || n, worker) from generate_series(1, 4) n;
        perform scylla.fail('life ' || n, worker, jsonb_build_object('code', 'x', 'args', some_json(2)), '0') from generate_series(5, 12) n;
    end loop;
    perform scylla.lease('lives', 'last', 6);
end $$;
select is(count(*), 0::bigint, 'histories have the image of their text')
from scylla.task where queue = 'lives' and not record_image_eq(row(history), row(history::text::jsonb));
select is(count(*), 0::bigint, 'and so have errors')
from scylla.task where queue = 'lives' and not record_image_eq(row(errors), row(errors::text::jsonb));
select cmp_ok(min(jsonb_array_length(history)), '>=', 10, '... that are there') from scylla.task where queue = 'lives';

select all_is_sound();
select * from finish();
rollback;
