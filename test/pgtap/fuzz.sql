-- Calls of every function with arguments that nobody would think of: each gives rows or one of our errors, and the tables are
-- sound afterwards. The calls are the same in every run, unless SCYLLA_FUZZ_SEED, from 0 to 1, is set.
begin;
\ir include/helpers.psql
select plan(4);
\set seed 0.5
\getenv seed SCYLLA_FUZZ_SEED

-- ---- arguments -------------------------------------------------------------------------------------------------------------

create function pick(variadic choices text[]) returns text language sql volatile as $$
    select choices[1 + floor(random() * array_length(choices, 1))::int];
$$;

create function chance(of numeric) returns boolean language sql volatile as $$ select random() < of; $$;

-- Of every kind: one value out of ten or twenty is strange, the others mean something to some function.
create function any_text(argument text) returns text language sql volatile as $$
    select case
        when chance(0.07) then pick(null, '', ' ', 'null', '''', '"', '\', E'\n', '€', repeat('x', 200), repeat('€', 201), '{}', '%s%n', '$1')
        when argument in ('queue', 'queues') then pick('q', 'r', 's', 'limited')
        when argument = 'worker' then pick('w', 'v')
        when argument in ('plan', 'name') then pick('p', 'o', 'new')
        when argument in ('role', 'owner') then pick(current_user, current_user, 'public', 'nobody')
        when argument = 'privilege' then pick('submit', 'work', 'view', 'admin', 'depend')
        when argument = 'cron' and chance(0.1) then pick('@never', '99 seconds', '0 0 31 2 *', '1-70 * * * *', '* * * *', '0-59/0 * * * *')
        when argument = 'cron' then pick('* * * * *', '0 0 29 2 *', '*/7 1-5 $ jan-dec mon,7', '@daily', '5 seconds')
        when argument = 'timezone' then pick('UTC', 'Europe/Berlin', 'Australia/Lord_Howe', '<-03>3')
        when argument = 'overlap' then pick('allow', 'skip', 'replace')
        when argument = 'catch_up' then pick('none', 'latest', 'all')
        when argument = 'on_dependency_failure' then pick('cascade', 'ignore', 'skip')
        when argument = 'on_duplicate' then pick('error', 'ignore')
        when argument in ('dedup_key', 'key', 'planned_key') then pick('k', 'l')
        else 't' || floor(random() * 20) end;
$$;

create function any_interval() returns text language sql volatile as $$
    select case when chance(0.05)
        then pick('366 days', '-1 s', '178000000 years', '2147483647 mons', '-178000000 years', '-9223372036854775808 microseconds')
        else pick('1 microsecond', '10 s', '1 h', '1 day', '1 mon -29 days', '365 days') end;
$$;

create function any_number() returns text language sql volatile as $$
    select case when chance(0.05) then pick('0', '128', '-1', '100000', '100001', '2147483647', '-2147483648') else pick('1', '2', '3', '5') end;
$$;

create function any_float() returns text language sql volatile as $$
    select case when chance(0.1) then pick('-0.0', '1e-300', '1e300', 'NaN', 'Infinity', '-Infinity', '1000.1') else pick('0', '1', '0.5') end;
$$;

create function any_time() returns text language sql volatile as $$
    select case when chance(0.1) then pick('infinity', '-infinity', '4713-01-01 BC', '294276-12-31 23:59:59.999999')
        else pick('2000-01-01', 'now', 'tomorrow', '1969-12-31 23:59:59.5') end;
$$;

-- A document of any shape. Numbers go beyond what any type can hold, nesting does not go on for ever.
create function any_json(depth int = 0) returns jsonb language plpgsql volatile as $$
begin
    return case
        when depth < 4 and chance(0.2) then (select jsonb_agg(any_json(depth + 1)) from generate_series(1, (random() * 3)::int))
        when depth < 4 and chance(0.4) then
            (select jsonb_object_agg(pick('', 'code', 'args', 'message', 'description', 'initial', 'factor', 'max', 'jitter', 'rn', 'q', '€"\'), any_json(depth + 1))
             from generate_series(1, 1 + (random() * 3)::int))
        when chance(0.3) then to_jsonb(any_text('rn'))
        else pick('null', 'true', 'false', '0', '-1', '1e400', '-1e-400', '12345678901234567890', '0.5', '""', '[]', '{}', '"NaN"', '"x\u0001"')::jsonb
        end;
end $$;

create function any_policy() returns jsonb language sql volatile as $$
    select case when chance(0.1) then any_json()
        else (select jsonb_object_agg(key, case when chance(0.02) then any_json() when key = 'factor' then '2' when key = 'jitter' then to_jsonb(n) else to_jsonb(i) end)
              from (select case when chance(0.05) then 'base' else pick('initial', 'factor', 'max', 'jitter') end as key, any_float() as n, any_interval() as i
                    from generate_series(1, 2)) t) end;
$$;

-- What somebody may write for a member or an argument of this name, as a document.
create function any_member(name text) returns jsonb language plpgsql volatile as $$
begin
    return case
        when chance(0.02) then any_json()
        when name in ('depends_on', 'rns') then (select jsonb_agg(any_text('rn')) from generate_series(1, (random() * 3)::int))
        when name in ('priority', 'max_attempts', 'max_running') then to_jsonb(any_number()::numeric)
        when name in ('aging') then case when chance(0.5) then to_jsonb(any_number()::numeric) else to_jsonb(any_float()) end
        when name in ('paused', 'events', 'notify') then to_jsonb(chance(0.5))
        when name in ('not_before') then to_jsonb(any_time())
        when name in ('retry') then any_policy()
        when name = 'spec' then coalesce(any_json(), '1')
        when name ~ 'retention|timeout' then to_jsonb(any_interval())
        else to_jsonb(any_text(name)) end;
end $$;

create function any_object(variadic names text[]) returns jsonb language sql volatile as $$
    select jsonb_object_agg(name, any_member(name)) from unnest(names) name where chance(0.25);
$$;

create function any_tasks() returns jsonb language sql volatile as $$
    select jsonb_agg(case when chance(0.03) then any_json() else
               jsonb_build_object('queue', any_text('queue'), 'spec', '{}'::jsonb) ||
               coalesce(any_object('rn', 'rn', 'queue', 'spec', 'priority', 'not_before', 'depends_on', 'on_dependency_failure', 'plan', 'max_attempts',
                                   'retry', 'dedup_key'), '{}') end)
    from generate_series(1, (random() * 4)::int);
$$;

create function any_argument(argument text, type text) returns text language plpgsql volatile as $$
begin
    if chance(0.03) then
        return 'null';
    end if;
    return quote_nullable(case type
        when 'text' then any_text(argument)
        when 'text[]' then array(select any_text(case argument when 'queues' then 'queue' else 'rn' end) from generate_series(1, (random() * 4)::int))::text
        when 'jsonb' then case argument
            when 'tasks' then any_tasks()
            when 'spec' then any_member('spec')
            when 'retry' then any_policy()
            when 'settings' then any_object('default_timeout', 'retention', 'aging', 'max_attempts', 'retry', 'retention_completed',
                                            'retention_aborted', 'retention_cancelled', 'paused', 'max_running', 'events', 'notify')
            when 'options' then coalesce(any_object('priority', 'max_attempts', 'retry', 'on_dependency_failure', 'dedup_key'), '{}')
            when 'error' then any_object('code', 'code', 'code', 'code', 'code', 'args', 'message', 'description')
            else any_json() end::text
        when 'jsonb[]' then array(select any_json() from generate_series(1, (random() * 4)::int))::text
        when 'integer' then any_number()
        when 'bigint' then any_number()
        when 'integer[]' then array(select nullif(any_number()::int, 5) from generate_series(1, (random() * 4)::int))::text
        when 'bigint[]' then array(select nullif(any_number()::int, 5) from generate_series(1, (random() * 40)::int))::text
        when 'boolean' then pick('true', 'false')
        when 'interval' then any_interval()
        when 'double precision' then any_float()
        when 'timestamp with time zone' then any_time()
        when 'scylla.task_status' then pick('waiting', 'ready', 'running', 'completed', 'aborted', 'cancelled')
        end) || '::' || type;
end $$;

-- ---- calls -----------------------------------------------------------------------------------------------------------------

create table made (call text, state text, ours boolean, message text);

-- Every function that applications may call, in turns; of the arguments that have a default some.
create function call_anything(calls int) returns void language plpgsql as $$
declare
    functions oid[];
    f record;
    call text;
    schema_ text;
begin
    select array_agg(oid order by proname) into functions from pg_proc
    where pronamespace = 'scylla'::regnamespace and prokind = 'f' and proname !~ '^_' and prorettype <> 'event_trigger'::regtype;
    functions := functions || array_fill('scylla.submit_many'::regproc::oid, array[6]); -- or there would be few tasks
    for i in 1 .. calls loop
        select p.proname, string_agg(format('%I => %s', a.name, any_argument(a.name, format_type(a.type, null))), ', ')
                              filter (where a.n <= p.pronargs - p.pronargdefaults or (a.n is not null and chance(0.3))) as arguments
        into f from pg_proc p
            left join unnest(p.proargtypes::oid[], p.proargnames[1 : p.pronargs]) with ordinality a (type, name, n) on true
        where p.oid = functions[1 + i % array_length(functions, 1)]
        group by p.proname;
        call := format('select count(*) from scylla.%I(%s)', f.proname, f.arguments);
        begin
            execute call;
            insert into made values (call, '00000', true, null);
        exception when others then
            get stacked diagnostics schema_ = schema_name;
            insert into made values (call, sqlstate, schema_ = 'scylla', sqlerrm);
        end;
    end loop;
end $$;

set local scylla.schedules = 'manual';
select scylla.create_queue('limited', max_running => 2, events => true);
select scylla.create_plan(name) from unnest('{p,o,closed}'::text[]) name;

select setseed(:seed);
select call_anything(2000);
select is_empty('select * from made where not ours', 'every call with a wrong argument ends with an error of ours');
-- So that the test does not come to nothing.
select cmp_ok((select count(*) from made where state = '00000'), '>', 200::bigint, 'many calls do something');
select cmp_ok((select count(distinct state) from made), '>', 4::bigint, 'and there are errors of many kinds');
select all_is_sound();
select * from finish();
rollback;
