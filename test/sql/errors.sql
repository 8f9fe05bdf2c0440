-- Errors as a person sees them in psql.
select status from scylla.submit('q', '{}', rn => 'a');
select status from scylla.submit('q', '{}', rn => 'b', priority => 100);
select status from scylla.lease_task('a', 'w', '5 min');

select scylla.complete('nothing', 'w');
select scylla.submit('q', '{}', rn => 'a');
select scylla.complete('a', 'somebody else');
select scylla.complete('a', 'w', attempt => 7);
select scylla.complete('b', 'w');
select scylla.lease_task('a', 'w');
select status from scylla.cancel('b');
select scylla.cancel('b');
select scylla.create_queue('q');

select scylla.submit('q', null);
select scylla.submit('', '{}');
select scylla.submit('q', '{}', priority => 128);
select scylla.submit('q', '{}', not_before => 'infinity');
select scylla.submit('q', '{}', max_attempts => 0);
select scylla.submit('q', '{}', on_duplicate => 'sometimes');
select * from scylla.lease('q', 'w', 0);
select * from scylla.lease('q', 'w', timeout => '366 days');
select scylla.heartbeat('a', 'w', 'NaN');
select scylla.abort('a', 'w', '"oops"');
select scylla.fail('a', 'w', '{"code": "x"}', '-1 s');
select * from scylla.submit_many('{"queue": "q", "spec": 1}');
select * from scylla.submit_many('[{"queue": "q", "spec": 1}, {"queue": "q", "spec": 1, "colour": "red"}]');
select * from scylla.submit_many('[{"queue": "q", "spec": 1, "not_before": "soon"}]');
select scylla.submit_bulk('q', array['1', '2']::jsonb[], array['one']);
select * from scylla.complete_many('{a,null}', 'w');

-- Waiting sleeps without a transaction, so it cannot be part of one.
begin;
call scylla.wait('q', '1 s');
rollback;

-- What a driver sees besides.
do $$
declare
    code text; schema_ text; table_ text; rule text;
begin
    perform scylla.complete('b', 'w');
exception when others then
    get stacked diagnostics code = returned_sqlstate, schema_ = schema_name, table_ = table_name,
        rule = constraint_name;
    raise info '%: schema %, table %, constraint %', code, schema_, table_, rule;
end $$;

-- A queue that nobody made is an error where the setting says so.
set scylla.auto_create_queues = off;
select scylla.submit('typo', '{}');
reset scylla.auto_create_queues;
set scylla.default_timout = '1 min';

-- A role without rights.
create role regress_scylla_nobody;
set role regress_scylla_nobody;
select * from scylla.task;
select scylla.submit('q', '{}');
reset role;
grant usage on schema scylla to regress_scylla_nobody;
set role regress_scylla_nobody;
select * from scylla.task;
select * from scylla.task_spec;
select scylla.submit('q', '{}');
reset role;
drop owned by regress_scylla_nobody;
drop role regress_scylla_nobody;
