-- create_queue, register_worker.
begin;
\ir include/helpers.psql
select * from no_plan();

select signature_is('create_queue',
    'queue text, default_timeout interval DEFAULT NULL::interval, retention interval DEFAULT NULL::interval, '
    'aging double precision DEFAULT 0', 'void');
select signature_is('register_worker', '', 'text');

do $$ begin
    perform scylla.create_queue('plain');
    perform scylla.create_queue('settings', '1 min', '2 days');
    perform scylla.create_queue(repeat('€', 200), '1 mon', '36500 days');
end $$;
select results_eq($$select name, default_timeout, retention from scylla.queue order by id$$,
                  $$values ('plain', null::interval, null::interval), ('settings', '1 min', '2 days'),
                  (repeat('€', 200), '1 mon', '36500 days')$$,
                  'queues keep their settings as given');
select ok(bool_and(created between now() and clock_timestamp()), 'and know when they were made') from scylla.queue;

select refuses($$select scylla.create_queue('plain')$$, '42710', 'unique', 'queue "plain" already exists',
               table_ => 'queue');
select refuses($$select scylla.create_queue('settings', '1 min', '2 days')$$, '42710', 'unique',
               'queue "settings" already exists', table_ => 'queue');
do $$ begin perform scylla.submit('by use', '{}'); end $$;
select refuses($$select scylla.create_queue('by use')$$, '42710', 'unique', 'queue "by use" already exists',
               table_ => 'queue',
               description => 'a queue that came with its first task exists');
select lives_ok($$select scylla.create_queue('Plain')$$, 'names are compared exactly');

select * from checks_name('select scylla.create_queue($1)', 'queue');
create function queue_with(default_timeout interval = null, retention interval = null) returns void language sql as $$
    select scylla.create_queue('made up ' || nextval('scylla.task_id_seq'), default_timeout, retention);
$$;
select * from checks_timeout('select queue_with($1)', 'default_timeout');
select refuses_argument(format('select queue_with(retention => %L)', v), 'retention', v,
                        'It must be between 0 and 36500 days.')
from unnest(array['-00:00:00.000001', '-1 days', '36501 days', '36500 days 00:00:00.000001', '178000000 years']) v;
select lives_ok(format('select queue_with(retention => %L)', v), 'retention may be ' || v)
from unnest(array['0', '00:00:00.000001', '1 mon -30 days', '36500 days']) v;
select refuses_argument(format('select queue_with(retention => %L)', v), 'retention', v,
                        'It must be between 0 and 36500 days.')
from unnest(array['infinity', '-infinity']) v where current_setting('server_version_num')::int >= 170000;

select refuses_argument(format('select scylla.create_queue(''ageing'', aging => %s)', v), 'aging', shown,
                        'It must be between 0 and 1000 points per second.')
from (values ('-0.01', '-0.01'), ('1000.01', '1000.01'), ($$'NaN'$$, 'NaN'), ($$'Infinity'$$, 'Infinity'),
             ($$'-Infinity'$$, '-Infinity'), ('null', 'null')) a (v, shown);
do $$ begin perform scylla.create_queue('aging ' || v, aging => v) from unnest(array[0, 0.25, 1000]::float8[]) v; end $$;
select results_eq($$select name, aging from scylla.queue where name like 'aging %' or name = 'plain' order by name$$,
                  $$values ('aging 0', 0::float8), ('aging 0.25', 0.25), ('aging 1000', 1000), ('plain', 0)$$,
                  'aging is kept; without it there is none');

-- ---- register_worker -----------------------------------------------------------------------------------------------

create temp table worker as select n, scylla.register_worker() as name from generate_series(1, 100) n;
select is((select count(distinct name) from worker where name ~ '^worker-[1-9][0-9]*$'), 100::bigint,
          'a hundred names, no two alike');
select is_empty($$select from (select substr(name, 8)::bigint - lag(substr(name, 8)::bigint) over (order by n) as step
                               from worker) w where step <> 1$$,
                'numbered in order');
create temp table rolled_back (name text);
do $$
declare
    name text;
begin
    begin
        name := scylla.register_worker();
        raise exception 'to roll back';
    exception when raise_exception then
        insert into rolled_back values (name);
    end;
end $$;
select isnt(scylla.register_worker(), name, 'a rollback does not give out a name again') from rolled_back;

select all_is_sound();
select * from finish();
rollback;
