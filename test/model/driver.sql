-- The driver of the model test: random calls to the extension (schema scylla) and to its twin (schema twin, twin.sql),
-- and a comparison of every result, every error and the complete state.
--
-- call driver.run(seed, steps) does everything; a difference is an error that names the seed, the step, the call and
-- both results. The same seed makes the same calls, as long as the two agree. test/model/run drives the driver.
--
-- In this order: comparing, calling, arguments, forced times, steps, the run.

create schema driver;

-- The verbs under test: how often, what a result looks like, and what must be seen of each in a whole test run (an
-- SQLSTATE, "ok" or "empty"): what never happens is not tested.
create table driver.verb (
    name text primary key,
    weight int not null,
    gives text not null check (gives in ('tasks', 'rows', 'value', 'nothing')),
    writes boolean not null,    -- the tasks that it gives back were written just now
    outcomes text[] not null
);

insert into driver.verb values
    ('create_queue', 2, 'nothing', false, '{ok,22023,42710}'),
    ('alter_queue', 3, 'nothing', false, '{ok,22023,42704}'),
    ('pause_queue', 1, 'nothing', false, '{ok,22023,42704}'),
    ('resume_queue', 3, 'nothing', false, '{ok,22023,42704}'),
    ('drop_queue', 1, 'nothing', false, '{ok,22023,42704,2BP01}'),
    ('backoff', 1, 'value', false, '{ok,22023}'),
    ('submit', 22, 'tasks', true, '{ok,22023,23505,42704}'),
    ('submit_many', 6, 'rows', false, '{ok,empty,22023,23505,42704}'),
    ('submit_bulk', 4, 'value', false, '{ok,22023,23505,42704}'),
    ('lease', 14, 'tasks', true, '{ok,empty,22023}'),
    ('lease_task', 10, 'tasks', true, '{ok,22023,53400,55000,P0002}'),
    ('heartbeat', 10, 'tasks', true, '{ok,22023,55000,P0002}'),
    ('heartbeat_many', 5, 'rows', false, '{ok,empty,22023}'),
    ('complete', 12, 'tasks', true, '{ok,22023,55000,P0002}'),
    ('complete_many', 9, 'rows', false, '{ok,empty,22023}'),
    ('complete_and_lease', 6, 'tasks', true, '{ok,empty,22023,55000,P0002}'),
    ('abort', 6, 'tasks', true, '{ok,22023,55000,P0002}'),
    ('fail', 12, 'tasks', true, '{ok,22023,55000,P0002}'),
    ('yield', 8, 'tasks', true, '{ok,22023,55000,P0002}'),
    ('cancel', 6, 'tasks', true, '{ok,22023,55000,P0002}'),
    ('get_task', 5, 'tasks', false, '{ok,22023,P0002}'),
    ('list_tasks', 6, 'tasks', false, '{ok,empty,22023}'),
    ('statement', 6, 'tasks', true, '{ok,empty,55000}'),     -- several verbs in one statement
    -- Not drawn like the others: time passes first.
    ('reset_expired', 0, 'value', false, '{ok}'),
    ('purge', 0, 'value', false, '{ok}'),
    ('maintain', 0, 'nothing', false, '{ok}');

-- What was seen.
create table driver.tally (
    verb text,
    outcome text,
    n bigint not null,
    primary key (verb, outcome)
);

-- ---------------------------------------------------------------------------------------------------------------
-- Comparing
-- ---------------------------------------------------------------------------------------------------------------

create function driver.differ(what text, theirs text, ours text) returns void language plpgsql as $$
begin
    raise exception using errcode = 'SD000',
        message = format('seed %s, step %s: %s', current_setting('driver.seed'), current_setting('driver.step'), what),
        detail = format(E'scylla: %s\n  twin: %s', coalesce(theirs, 'null'), coalesce(ours, 'null'));
end $$;

-- Everything of a task that must be the same on both sides. Times cannot be, but how they relate can. The descriptions
-- of errors that are not a worker's are left to the implementation.
create function driver.facts(task jsonb, just_written boolean) returns jsonb language plpgsql as $$
begin
    return (task - array['created', 'updated', 'deadline', 'not_before', 'history', 'errors'])
        || jsonb_build_object(
            'history', (select jsonb_agg(e - 'time' order by n)
                        from jsonb_array_elements(task -> 'history') with ordinality _(e, n)),
            'errors', (select jsonb_agg(case when e ->> 'code' in ('timeout', 'elided')
                                             then e || '{"description": "..."}' else e end order by n)
                       from jsonb_array_elements(task -> 'errors') with ordinality _(e, n)),
            'has deadline', task ->> 'deadline' is not null,
            'has not_before', task ->> 'not_before' is not null,
            'untouched', task ->> 'created' = task ->> 'updated')
        || case when just_written then jsonb_build_object(
            'lease', (task ->> 'deadline')::timestamptz - (task ->> 'updated')::timestamptz,
            'retry', case when task ->> 'status' = 'waiting' and task ->> 'attempt' <> '0'
                          then (task ->> 'not_before')::timestamptz - (task ->> 'updated')::timestamptz end)
           else '{}' end;
end $$;

create function driver.times(task jsonb) returns timestamptz[] language plpgsql as $$
begin
    return array[task ->> 'created', task ->> 'updated', task ->> 'deadline', task ->> 'not_before']::timestamptz[]
        || (select array_agg((e ->> 'time')::timestamptz order by n)
            from jsonb_array_elements(task -> 'history') with ordinality _(e, n));
end $$;

-- Both sides read the clock within one step. So a time on one side is as near to its counterpart as the longest step,
-- the present one included, lasted.
create function driver.tolerance() returns interval language sql as $$
    select greatest(current_setting('driver.longest')::interval,
                    clock_timestamp() - current_setting('driver.began')::timestamptz);
$$;

create function driver.compare_task(what text, theirs jsonb, ours jsonb, just_written boolean)
    returns void language plpgsql as $$
declare
    task text := format('%s: task "%s"', what, theirs ->> 'rn');
    their_facts jsonb := driver.facts(theirs, just_written);
    our_facts jsonb := driver.facts(ours, just_written);
begin
    if their_facts is distinct from our_facts then
        select jsonb_object_agg(key, t.value), jsonb_object_agg(key, o.value) into theirs, ours
        from jsonb_each(their_facts) t full join jsonb_each(our_facts) o using (key)
        where t.value is distinct from o.value;
        perform driver.differ(task, theirs::text, ours::text);
    end if;
    if exists (select from unnest(driver.times(theirs), driver.times(ours)) _(t, o)
               where t - o not between - driver.tolerance() and driver.tolerance()) then
        perform driver.differ(format('%s: times differ by more than %s', task, driver.tolerance()),
                              driver.times(theirs)::text, driver.times(ours)::text);
    end if;
    if exists (select from jsonb_array_elements(theirs -> 'history') e
               where e ->> '_typ' <> 'HistoryElided'
                 and e ->> 'time' !~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$') then
        perform driver.differ(task || ': form of a time in history', theirs ->> 'history', ours ->> 'history');
    end if;
end $$;

create function driver.compare_outcome(call text, verb driver.verb, began timestamptz, theirs jsonb, ours jsonb)
    returns void language plpgsql as $$
declare
    their_task jsonb;
    our_task jsonb;
begin
    if theirs -> 'refused' is distinct from ours -> 'refused' then
        perform driver.differ(call || ': outcome', theirs::text, ours::text);
    end if;
    if verb.gives <> 'tasks'
       or jsonb_array_length(theirs -> 'rows') is distinct from jsonb_array_length(ours -> 'rows') then
        if theirs -> 'rows' is distinct from ours -> 'rows' then
            perform driver.differ(call || ': rows', theirs::text, ours::text);
        end if;
        return;
    end if;
    for their_task, our_task in
        select t, o
        from rows from (jsonb_array_elements(theirs -> 'rows'), jsonb_array_elements(ours -> 'rows')) _(t, o)
    loop
        perform driver.compare_task(call, their_task, our_task, verb.writes);
        -- Not the clock of the transaction's or the statement's beginning.
        if verb.writes and began > least((their_task ->> 'updated')::timestamptz,
                                         (our_task ->> 'updated')::timestamptz) then
            perform driver.differ(format('%s: updated before the call began at %s', call, began),
                                  their_task ->> 'updated', our_task ->> 'updated');
        end if;
    end loop;
end $$;

-- A task as jsonb, where null and JSON null would be the same.
create function driver.distinct_nulls(spec jsonb, result jsonb, metrics jsonb, args jsonb)
    returns jsonb language sql as $$
    select jsonb_build_object('nulls', array[spec is null, result is null, metrics is null, args is null]);
$$;

create function driver.compare_state() returns void language plpgsql as $$
declare
    theirs jsonb;
    ours jsonb;
begin
    for theirs, ours in
        select to_jsonb(s) || driver.distinct_nulls(s.spec, s.result, s.metrics, s.args),
               to_jsonb(t) || driver.distinct_nulls(t.spec, t.result, t.metrics, t.args)
        from scylla.task s full join twin.tasks t on t.rn = s.rn
    loop
        if theirs is null or ours is null then
            perform driver.differ('a task that only one side has', theirs::text, ours::text);
        end if;
        perform driver.compare_task('state', theirs, ours, false);
    end loop;

    -- Rights are no subject of the twin: everything is the superuser's.
    select jsonb_agg(to_jsonb(q) - array['id', 'created', 'owner', 'submitters', 'workers', 'viewers', 'admins'] order by name)
    into theirs from scylla.queue q;
    select jsonb_agg(to_jsonb(q) order by name) into ours from twin.queue q;
    if theirs is distinct from ours then
        perform driver.differ('queues', theirs::text, ours::text);
    end if;

    select jsonb_agg(c) into theirs from scylla.check() c;
    if theirs is not null then
        perform driver.differ('check()', theirs::text, null);
    end if;
end $$;

-- Names, types and defaults of arguments and results.
create function driver.compare_signatures() returns void language plpgsql as $$
declare
    theirs text;
    ours text;
begin
    for theirs, ours in
        with signature as (
            select n.nspname as schema, p.proname as name, p.proretset as returns_set,
                   replace((select string_agg(a.name || ' ' || format_type(a.type, null), ', ' order by a.n)
                            from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargnames)
                                with ordinality a (type, name, n))
                           || ' default ' || coalesce(pg_get_expr(p.proargdefaults, 0), 'none'),
                           n.nspname || '.', '') as arguments
            from pg_proc p join pg_namespace n on n.oid = p.pronamespace
            where n.nspname in ('scylla', 'twin'))
        select to_json(s), to_json(t)
        from driver.verb v
        left join signature s on s.schema = 'scylla' and s.name = v.name
        left join signature t on t.schema = 'twin' and t.name = v.name
        where v.name <> 'statement' and (s.arguments, s.returns_set) is distinct from (t.arguments, t.returns_set)
    loop
        perform driver.differ('signature', theirs, ours);
    end loop;

    with col as (
        select attrelid,
               string_agg(attname || ' ' || replace(format_type(atttypid, atttypmod), 'twin.', 'scylla.'),
                          ', ' order by attnum) as list
        from pg_attribute
        where attnum > 0 and not attisdropped and attrelid in ('scylla.task'::regclass, 'twin.task_row'::regclass)
        group by attrelid)
    select s.list, t.list into theirs, ours
    from col s, col t where s.attrelid = 'scylla.task'::regclass and t.attrelid = 'twin.task_row'::regclass;
    if theirs is distinct from ours then
        perform driver.differ('columns of task', theirs, ours);
    end if;
end $$;

-- ---------------------------------------------------------------------------------------------------------------
-- Calling
--
-- A call is the text of something that can stand after FROM, with @ in place of the schema.
-- ---------------------------------------------------------------------------------------------------------------

create function driver.call_text(verb text, arguments jsonb) returns text language sql as $$
    select case verb when 'statement' then arguments ->> 'text'
           else format('@.%I(%s)', verb, (select string_agg(format('%I => %s', key, value), ', ')
                                          from jsonb_each_text(arguments))) end;
$$;

-- {"rows": [...]} or {"refused": {...}, "message": ...}. What is refused is rolled back, whatever else the transaction
-- does.
create function driver.outcome(schema text, call text, gives text) returns jsonb language plpgsql as $$
declare
    result jsonb;
    state text;
    schema_is text;
    table_is text;
    rule text;
    details text;
begin
    execute replace(case gives
        when 'tasks' then
            'select jsonb_agg(to_jsonb(r) || driver.distinct_nulls(r.spec, r.result, r.metrics, r.args)) from '
        when 'nothing' then 'select to_jsonb(array[count(*)]) from '
        else 'select jsonb_agg(r) from ' end || call || ' r', '@', schema) into result;
    return jsonb_build_object('rows', coalesce(result, '[]'));
exception when others then
    get stacked diagnostics state = returned_sqlstate, schema_is = schema_name, table_is = table_name,
        rule = constraint_name, details = pg_exception_detail;
    return jsonb_build_object('message', sqlerrm, 'refused', jsonb_build_object(
        'state', state, 'schema', schema_is, 'table', table_is, 'rule', rule,
        'detail', case when state = '55000' then details end));
end $$;

-- A name that the extension has made.
create function driver.checked_name(name text) returns text language plpgsql as $$
declare
    made_at timestamptz;
begin
    if name !~ '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$' then
        perform driver.differ('not a UUID of version 7', name, null);
    end if;
    made_at := to_timestamp(('x' || left(replace(name, '-', ''), 12))::bit(48)::bigint / 1000.0);
    if made_at not between current_setting('driver.began')::timestamptz - '1 ms'::interval and clock_timestamp() then
        perform driver.differ('the time in a UUID', name || ' ' || made_at, null);
    end if;
    return name;
end $$;

-- The same arguments with the names that the extension has made, so that both sides have the same tasks.
create function driver.with_made_names(verb text, arguments jsonb, theirs jsonb) returns jsonb language plpgsql as $$
declare
    names text[];
    tasks jsonb;
begin
    case verb
    when 'submit' then
        if coalesce(arguments ->> 'rn', 'NULL') like 'NULL%' then
            names[1] := driver.checked_name(theirs -> 'rows' -> 0 ->> 'rn');
            return arguments || driver.argument('rn', driver.literal(names[1]));
        end if;
    when 'submit_many' then
        execute 'select ' || (arguments ->> 'tasks') into tasks;
        select jsonb_agg(case when e ->> 'rn' is null
                              then e || jsonb_build_object('rn', driver.checked_name(r ->> 'rn')) else e end order by n)
        into tasks
        from rows from (jsonb_array_elements(tasks), jsonb_array_elements(theirs -> 'rows')) with ordinality _(e, r, n);
        if tasks is not null then
            return arguments || driver.argument('tasks', driver.literal(tasks::text, 'jsonb'));
        end if;
    when 'submit_bulk' then
        if coalesce(arguments ->> 'rns', 'NULL') like 'NULL%' then
            select array_agg(driver.checked_name(rn) order by id) into names
            from (select s.id, s.rn from scylla.task_spec s
                  order by s.id desc limit (theirs -> 'rows' ->> 0)::bigint) s;
            if names is not null then
                return arguments || driver.argument('rns', driver.literal(names::text, 'text[]'));
            end if;
        end if;
    else null;
    end case;
    return arguments;
end $$;

create function driver.count_outcome(verb text, outcome jsonb) returns void language sql as $$
    insert into driver.tally
    values (verb,
            coalesce(outcome -> 'refused' ->> 'state', case when outcome -> 'rows' = '[]' then 'empty' else 'ok' end),
            1)
    on conflict on constraint tally_pkey do update set n = tally.n + 1;
$$;

-- Makes one call on both sides and compares. Gives back its rows.
create function driver.make_call(verb_name text, arguments jsonb default '{}') returns jsonb language plpgsql as $$
declare
    verb driver.verb;
    call text := driver.call_text(verb_name, arguments);
    began timestamptz := clock_timestamp();
    theirs jsonb;
    ours jsonb;
begin
    raise debug 'step %: %', current_setting('driver.step'), call;
    select * into strict verb from driver.verb where name = verb_name;
    -- It may give back a task that was there before.
    verb.writes := verb.writes and not arguments ? 'on_duplicate';
    theirs := driver.outcome('scylla', call, verb.gives);
    if theirs ? 'rows' then
        arguments := driver.with_made_names(verb_name, arguments, theirs);
    end if;
    ours := driver.outcome('twin', driver.call_text(verb_name, arguments), verb.gives);
    perform driver.compare_outcome(call, verb, began, theirs, ours);
    -- An error that both sides raise and that is none of ours is a fault of this driver.
    if coalesce(ours -> 'refused' ->> 'schema', 'scylla') <> 'scylla' then
        perform driver.differ(call || ': unexpected error', theirs::text, ours::text);
    end if;
    perform driver.count_outcome(verb_name, ours);
    return ours -> 'rows';
end $$;

-- ---------------------------------------------------------------------------------------------------------------
-- Chance
--
-- Every choice is drawn from random(), which setseed() makes repeatable.
-- ---------------------------------------------------------------------------------------------------------------

create function driver.chance(probability float8) returns boolean language sql as $$
    select random() < probability;
$$;

create function driver.below(bound int) returns int language sql as $$
    select floor(random() * bound)::int;
$$;

-- Any of the choices.
create function driver.pick(variadic choices text[]) returns text language sql as $$
    select choices[1 + driver.below(cardinality(choices))];
$$;

-- Mostly one of the good ones, rarely one of the others.
create function driver.pick_mostly(good text[], rare text[]) returns text language plpgsql as $$
begin
    return driver.pick(variadic case when driver.chance(0.05) then rare else good end);
end $$;

-- ---------------------------------------------------------------------------------------------------------------
-- Arguments: few queues, few workers and few names, so that calls meet each other all the time; good and bad values
-- ---------------------------------------------------------------------------------------------------------------

create function driver.literal(value text, type text default 'text') returns text language sql as $$
    select format('%L::%s', value, type);
$$;

create function driver.argument(name text, literal text) returns jsonb language sql as $$
    select jsonb_build_object(name, literal);
$$;

-- An argument that has a default: often left out.
create function driver.optional(probability float8, name text, literal text) returns jsonb language sql as $$
    select case when driver.chance(probability) then jsonb_build_object(name, literal) else '{}' end;
$$;

create function driver.some_queue() returns text language sql as $$
    select case when driver.chance(0.05) then 'new ' || driver.below(100)
           else driver.pick_mostly('{q1,q1,q2,q3}', array[repeat('ü', 200), '', repeat('q', 201), null]) end;
$$;

create function driver.some_worker() returns text language sql as $$
    select driver.pick_mostly('{w1,w1,w2,w3}', array['w"\4', repeat('ü', 200), '', repeat('w', 201), null]);
$$;

create function driver.some_new_name() returns text language sql as $$
    select driver.pick_mostly('{t1,t2,t3,t4,t5,t6,t7,t8,t9,t10,t11,t12,t13,t14,t15,t16}',
                              array['n"\4', repeat('ü', 200), '', repeat('t', 201), null]);
$$;

-- A task that exists, if there is one in that state; sometimes any other, sometimes none.
create function driver.some_task(state text) returns text language plpgsql as $$
declare
    how float8 := random();
    which float8 := random();
    name text := driver.some_new_name();
begin
    if how < 0.9 then
        if how > 0.7 then
            state := null;
        end if;
        return coalesce((select rn
                         from (select rn, row_number() over (order by id) - 1 as place, count(*) over () as n
                               from twin.task t where t.status::text = coalesce(state, t.status::text)) t
                         where place = floor(which * n)), name);
    end if;
    return case when how < 0.97 then name else driver.pick('', repeat('t', 201), null) end;
end $$;

create function driver.some_timeout() returns text language sql as $$
    select driver.literal(driver.pick_mostly(
        '{1 h,20 min,36:00,1 day,1 mon,12 mons 5 days,365 days,1 us,1.5 s,-1 day 25:00,NULL}',
        '{0,-1 s,365 days 0.000001 s,13 mons,1 mon -30 days,1000 years,-100000000 years}'), 'interval');
$$;

create function driver.some_retention() returns text language sql as $$
    select driver.literal(driver.pick_mostly('{1 day,2 mons,0,36500 days,NULL}', '{-1 s,-1 mon,36501 days}'), 'interval');
$$;

create function driver.some_delay() returns text language sql as $$
    select driver.literal(driver.pick_mostly('{0,1 us,100 ms,1 s,1 h,1 mon,365 days}', '{-1 s,366 days,NULL}'), 'interval');
$$;

-- A retry policy, without jitter.
create function driver.some_policy() returns jsonb language plpgsql as $$
begin
    if driver.chance(0.05) then
        return driver.pick('5', '[]', 'null', '{"colour": 1}', '{"initial": 5}', '{"initial": "soon"}', '{"max": "-1 s"}',
                           '{"max": null}', '{"factor": 0.5}', '{"factor": "2"}', '{"jitter": 2}', null);
    end if;
    return driver.pick('{}', '{"initial": "20 min"}', '{"initial": "30 min"}')::jsonb
        || driver.pick('{}', '{"factor": 1}', '{"factor": 3}', '{"factor": 1.3}')::jsonb
        || driver.pick('{}', '{"max": "2 h"}', '{"max": "1 mon"}')::jsonb || driver.pick('{}', '{"jitter": 0}')::jsonb;
end $$;

-- Changes of settings. Rarely a pause: nothing can be leased until its end.
create function driver.some_settings() returns jsonb language plpgsql as $$
declare
    name text;
    settings jsonb := '{}';
begin
    if driver.chance(0.05) then
        return driver.pick('5', '[]', 'null', '{"colour": 1}', '{"queue": "q1"}', '{"retention": 5}', '{"aging": "1"}',
                           '{"max_attempts": 1.5}', '{"max_attempts": 0}', '{"max_running": 0}', '{"paused": "t"}', '{"aging": -1}',
                           '{"retention": "soon"}', '{"default_timeout": "0"}', null);
    end if;
    for i in 1 .. driver.below(4) loop
        name := driver.pick('default_timeout', 'retention', 'max_attempts', 'retry', 'retry', 'retention_completed',
                            'retention_aborted', 'retention_cancelled', 'paused', 'max_running', 'events', 'notify');
        settings := settings || jsonb_build_object(name, case
            when name = 'default_timeout' then to_jsonb(driver.pick('2 h', '1 day', null))
            when name like 'retention%' then to_jsonb(driver.pick('1 day', '10 days', '36500 days', null))
            when name in ('max_attempts', 'max_running') then to_jsonb(driver.pick('1', '2', '5', null)::int)
            when name = 'retry' then driver.some_policy()
            else to_jsonb(driver.chance(0.1)) end);
    end loop;
    return settings;
end $$;

create function driver.some_count() returns text language sql as $$
    select driver.literal(driver.pick_mostly('{1,2,3,5,100000}', '{0,-1,100001,2147483647,NULL}'), 'int');
$$;

create function driver.some_priority() returns text language sql as $$
    select driver.literal(driver.pick_mostly('{0,0,1,127}', '{-1,128,65536,-2147483648,NULL}'), 'int');
$$;

create function driver.some_max_attempts() returns text language sql as $$
    select driver.literal(driver.pick_mostly('{1,2,3,NULL}', '{0,-1}'), 'int');
$$;

create function driver.some_json() returns text language sql as $$
    select driver.literal(driver.pick_mostly(
        array['{}', '[1, 2]', '"text"', '17', 'false', '{"a": {"b": [null, "ü\" \\ "]}}',
              jsonb_build_object('wide', repeat('x', 5000))::text],
        array['null', null]), 'jsonb');
$$;

-- JSON null is a result like any other.
create function driver.some_result() returns text language sql as $$
    select case when driver.chance(0.2) then driver.literal('null', 'jsonb') else driver.some_json() end;
$$;

create function driver.some_time() returns text language sql as $$
    select driver.literal(driver.pick_mostly(
        '{1999-12-31 23:59:59.999999+00,2020-02-29 12:00:00+02,2097-07-01 00:00:00+00,2098-01-01 00:00:00-11,NULL}',
        '{infinity,-infinity}'), 'timestamptz');
$$;

create function driver.some_duplicate_rule() returns text language sql as $$
    select driver.literal(driver.pick_mostly('{error,ignore}', '{"",Ignore,NULL}'));
$$;

create function driver.some_error() returns text language sql as $$
    select driver.literal(driver.pick_mostly(
        array['{"code": "E1"}', '{"code": "E2", "args": {"n": 1}}', '{"code": "E3", "description": "why", "more": [1]}',
              '{"code": "timeout", "description": "mine"}', '{"code": "elided"}',
              '{"code": "elided", "args": {"count": 7}}',
              '{"code": "E4", "args": [null]}'],
        array['{}', '{"code": ""}', '{"code": null}', '{"code": 4}', '{"code": "E5", "description": 5}', '[]',
              '["code"]', '"code"', 'null', null]), 'jsonb');
$$;

create function driver.lease_arguments(worker text, max_tasks int) returns jsonb language sql as $$
    select driver.argument('worker', driver.literal(worker))
        || driver.argument('max_tasks', driver.literal(max_tasks::text, 'int'))
        || driver.argument('timeout', driver.literal('1 h', 'interval'));
$$;

-- About one task, as its owner calls: mostly the right task, worker and attempt.
create function driver.some_lease() returns jsonb language plpgsql as $$
declare
    name text := driver.some_task('running');
    t twin.task;
    worker text := driver.some_worker();
    attempt int := driver.below(4);
begin
    select * into t from twin.task where rn = name;
    if driver.chance(0.85) then
        worker := coalesce(t.owner, worker);
    end if;
    if driver.chance(0.85) then
        attempt := coalesce(t.attempt, attempt);
    end if;
    return driver.argument('rn', driver.literal(name))
        || driver.argument('worker', driver.literal(worker))
        || driver.optional(0.5, 'attempt', driver.literal(attempt::text, 'int'));
end $$;

-- About many tasks, as their owner calls; with their attempts, and results if the verb takes them.
create function driver.some_leases(with_results boolean) returns jsonb language plpgsql as $$
declare
    worker text := driver.pick('w1', 'w1', 'w2', 'w3');
    names text[] := '{}';
    attempts int[] := '{}';
    results text[] := '{}';
    name text;
    good boolean := driver.chance(0.6);     -- only what this worker holds
    bad boolean := driver.chance(0.05);     -- something that refuses the whole batch
begin
    for i in 1 .. driver.below(6) loop
        name := case case when good then 3 else driver.below(6) end
            when 0 then driver.some_task('ready')
            when 1 then driver.pick('t1', 't2', 'unknown')
            when 2 then names[1]
            else (select t.rn from twin.task t where t.owner = worker and t.status = 'running'
                  order by t.id offset driver.below(6) limit 1) end;
        if name is null then
            continue;
        end if;
        names := names || name;
        attempts := attempts || coalesce((select t.attempt from twin.task t where t.rn = name), 1)
                                - case when good then 0 else driver.chance(0.3)::int end;
        results := results || driver.some_result();
    end loop;
    if not good and names <> '{}' and driver.chance(0.6) then
        -- A repetition that would succeed where the first one did not.
        names := names[1] || names;
        attempts := attempts[1] - 1 || attempts;
        results := driver.some_result() || results;
    end if;
    if bad then
        case driver.below(6)
        when 0 then names := null;
        when 1 then names[1] := driver.pick('', repeat('t', 201), null);
        when 2 then worker := driver.pick('', repeat('w', 201), null);
        when 3 then attempts := attempts || 1;
        when 4 then attempts[1] := null;
        else results := results || driver.some_result();
        end case;
    end if;
    return driver.argument('rns', driver.literal(names::text, 'text[]'))
        || driver.argument('worker', driver.literal(worker))
        || driver.optional(0.6, 'attempts', driver.literal(attempts::text, 'int[]'))
        || case when with_results
                then driver.optional(0.5, 'results', format('array[%s]::jsonb[]', array_to_string(results, ', ')))
                else '{}' end;
end $$;

-- An element of submit_many's array.
create function driver.some_request() returns jsonb language plpgsql as $$
declare
    element jsonb := jsonb_build_object('queue', coalesce(driver.some_queue(), 'q1'), 'spec', '{"many": true}'::jsonb);
begin
    if driver.chance(0.8) then
        element := element || jsonb_build_object('rn', driver.some_new_name());
    end if;
    if driver.chance(0.3) then
        element := element || jsonb_build_object('priority', driver.below(128));
    end if;
    if driver.chance(0.3) then
        element := element || jsonb_build_object('max_attempts', driver.pick('1', '2', null)::int);
    end if;
    if driver.chance(0.3) then
        element := element || jsonb_build_object('not_before',
            driver.pick('2001-01-01T00:00:00Z', '2099-01-01 00:00:00+01', null));
    end if;
    if driver.chance(0.2) then
        element := element || jsonb_build_object('retry', driver.some_policy());
    end if;
    if driver.chance(0.03) then
        element := element || driver.pick(
            '{"spec": null}', '{"queue": null}', '{"queue": ""}', '{"queue": 5}', '{"rn": ""}', '{"rn": 7}',
            '{"priority": 128}', '{"priority": "5"}', '{"priority": 1.5}', '{"priority": 5.0}', '{"priority": 1e30}',
            '{"max_attempts": 2147483648}', '{"max_attempts": 0}',
            '{"not_before": "infinity"}', '{"not_before": "soon"}', '{"not_before": 5}', '{"colour": "red"}',
            '{"on_duplicate": "ignore"}', '{"key": "k"}', '{"key": 5}', '{"priority": null}',
            '{"plan": null, "retry": null, "key": null, "on_dependency_failure": "cascade"}')::jsonb;
    elsif driver.chance(0.01) then
        element := element - driver.pick('queue', 'spec');
    elsif driver.chance(0.01) then
        element := driver.pick('5', '[]', 'null', '"q1"');
    end if;
    return element;
end $$;

create function driver.some_requests() returns text language sql as $$
    select driver.literal(case when driver.chance(0.03) then driver.pick('{}', 'null', '5', '[]', null)
                          else (select coalesce(jsonb_agg(driver.some_request()), '[]')::text
                                from generate_series(1, driver.below(6))) end, 'jsonb');
$$;

create function driver.some_bulk() returns jsonb language plpgsql as $$
declare
    specs text[] := '{}';
    names text[] := '{}';
begin
    for i in 1 .. driver.below(5) loop
        specs := specs || case when driver.chance(0.98) then driver.literal('{"bulk": 1}', 'jsonb')
                               else driver.some_json() end;
        names := names || case when driver.chance(0.95) then 'b' || driver.below(1000)
                               else driver.some_new_name() end;
    end loop;
    if driver.chance(0.02) then
        names := names || 'b'::text;
    end if;
    return driver.argument('queue', driver.literal(driver.some_queue()))
        || driver.argument('specs', case when driver.chance(0.98)
                                         then format('array[%s]::jsonb[]', array_to_string(specs, ', '))
                                         else 'NULL::jsonb[]' end)
        || driver.optional(0.6, 'rns', driver.literal(names::text, 'text[]'))
        || driver.optional(0.3, 'priority', driver.some_priority());
end $$;

-- Several verbs in one statement: each sees what the ones before it did.
create function driver.some_statement() returns text language plpgsql as $$
declare
    queue text := quote_literal(driver.pick('q1', 'q2', 'q3'));
    worker text := quote_literal(driver.pick('w1', 'w2'));
    one text := quote_literal(driver.pick('t1', 't2', 't3', 't4'));
    leased text := format('@.lease(%s, %s, %s, ''2 h'') l', queue, worker, 1 + driver.below(3));
begin
    return format(driver.pick(
        '(select x.* from %1$s, @.complete(l.rn, %2$s, l.spec) x)',
        '(select x.* from %1$s, @.yield(l.rn, %2$s, l.attempt) x)',
        '(select x.* from %1$s, @.fail(l.rn, %2$s, ''{"code": "E"}'', ''0'') x)',
        '(select x.* from %1$s, @.heartbeat(l.rn, %2$s, 0.25) h, @.yield(h.rn, %2$s) x where h.progress = 0.25)',
        '(select x.* from @.submit(%3$s, ''{}'', rn => %4$s, on_duplicate => ''ignore'') s, @.lease_task(s.rn, %2$s) l,'
            ' @.complete(l.rn, %2$s) x)',
        '(select * from %1$s union all select * from %1$s)',
        '(select x.* from @.list_tasks(%3$s, ''ready'', max_tasks => 3) t, @.cancel(t.rn) x)',
        '(select x.* from @.list_tasks(status => ''waiting'', max_tasks => 3) t, @.cancel(t.rn) x)'),
        leased, worker, queue, one);
end $$;

create function driver.some_arguments(verb text) returns jsonb language plpgsql as $$
begin
    return case verb
    when 'create_queue' then
        driver.argument('queue', driver.literal(case when driver.chance(0.3) then 'new ' || driver.below(100)
                                                     else driver.some_queue() end))
        || driver.optional(0.5, 'default_timeout', driver.some_timeout())
        || driver.optional(0.3, 'retention', driver.some_retention())
        || driver.optional(0.3, 'aging', driver.literal(driver.pick_mostly(
            '{0,0.0002,0.002}', '{-0.1,1000.1,NaN,Infinity,NULL}'), 'float8'))
        || driver.optional(0.3, 'max_attempts', driver.some_max_attempts())
        || driver.optional(0.3, 'retry', driver.literal(driver.some_policy()::text, 'jsonb'))
        || driver.optional(0.2, 'retention_completed', driver.some_retention())
        || driver.optional(0.2, 'retention_aborted', driver.some_retention())
        || driver.optional(0.2, 'retention_cancelled', driver.some_retention())
        || driver.optional(0.1, 'paused', driver.literal(driver.pick('f', 't', 'f', null), 'boolean'))
        || driver.optional(0.1, 'events', driver.literal(driver.pick('f', 't', null), 'boolean'))
        || driver.optional(0.1, 'notify', driver.literal(driver.pick('f', 't', null), 'boolean'))
        || driver.optional(0.2, 'max_running', driver.literal(driver.pick_mostly('{1,2,4,NULL}', '{0,-1}'), 'int'))
    when 'alter_queue' then
        driver.argument('queue', driver.literal(driver.some_queue()))
        || driver.argument('settings', driver.literal(driver.some_settings()::text, 'jsonb'))
    when 'pause_queue' then driver.argument('queue', driver.literal(driver.some_queue()))
    when 'resume_queue' then driver.argument('queue', driver.literal(driver.some_queue()))
    when 'drop_queue' then
        driver.argument('queue', driver.literal(driver.some_queue()))
        || driver.optional(0.3, 'force', driver.literal(driver.pick('t', 'f', null), 'boolean'))
    when 'backoff' then
        driver.argument('count', driver.literal(driver.pick_mostly('{0,1,2,7,40,2147483647}', '{-1,NULL}'), 'int'))
        || driver.optional(0.5, 'initial', driver.some_delay())
        || driver.optional(0.5, 'factor', driver.literal(driver.pick_mostly(
            '{1,1.0001,1.7,2,1000}', '{0.99,1001,NaN,NULL}'), 'float8'))
        || driver.optional(0.5, 'max', driver.some_delay())
    when 'submit' then
        driver.argument('queue', driver.literal(driver.some_queue()))
        || driver.argument('spec', driver.some_json())
        || driver.optional(0.7, 'rn', driver.literal(driver.some_new_name()))
        || driver.optional(0.3, 'priority', driver.some_priority())
        || driver.optional(0.2, 'not_before', driver.some_time())
        || driver.optional(0.4, 'max_attempts', driver.some_max_attempts())
        || driver.optional(0.4, 'on_duplicate', driver.some_duplicate_rule())
        || driver.optional(0.2, 'retry', driver.literal(driver.some_policy()::text, 'jsonb'))
        || driver.optional(0.2, 'key', driver.literal(driver.pick_mostly('{k,l,NULL}', '{""}')))
    when 'submit_many' then
        driver.argument('tasks', driver.some_requests())
        || driver.optional(0.3, 'on_duplicate', driver.some_duplicate_rule())
    when 'submit_bulk' then driver.some_bulk()
    when 'lease' then
        driver.argument('queue', driver.literal(driver.some_queue()))
        || driver.argument('worker', driver.literal(driver.some_worker()))
        || driver.optional(0.7, 'max_tasks', driver.some_count())
        || driver.optional(0.5, 'timeout', driver.some_timeout())
    when 'lease_task' then
        driver.argument('rn', driver.literal(driver.some_task('ready')))
        || driver.argument('worker', driver.literal(driver.some_worker()))
        || driver.optional(0.5, 'timeout', driver.some_timeout())
    when 'heartbeat' then
        driver.some_lease()
        || driver.optional(0.7, 'progress', driver.literal(driver.pick_mostly(
            '{0,0.1,0.5,0.333333333333,1,NULL}', '{-0.0001,1.0000001,NaN,Infinity,-Infinity}'), 'float8'))
        || driver.optional(0.5, 'timeout', driver.some_timeout())
    when 'heartbeat_many' then driver.some_leases(false) || driver.optional(0.5, 'timeout', driver.some_timeout())
    when 'complete' then
        driver.some_lease()
        || driver.optional(0.5, 'result', driver.some_result())
        || driver.optional(0.3, 'metrics', driver.some_result())
    when 'complete_many' then driver.some_leases(true)
    when 'complete_and_lease' then
        driver.some_leases(true)
        || driver.argument('queue', driver.literal(driver.some_queue()))
        || driver.optional(0.6, 'max_tasks', driver.some_count())
        || driver.optional(0.5, 'timeout', driver.some_timeout())
    when 'abort' then driver.some_lease() || driver.argument('error', driver.some_error())
    when 'fail' then
        driver.some_lease()
        || driver.argument('error', driver.some_error())
        || driver.optional(0.6, 'retry_after', driver.literal(driver.pick_mostly(
            '{0,0,1 us,1.5 s,1 h,1 mon,365 days,NULL}', '{-1 s,1 mon -31 days,366 days,100000000 years}'), 'interval'))
    when 'yield' then driver.some_lease()
    when 'cancel' then
        driver.argument('rn', driver.literal(driver.some_task(driver.pick('ready', 'running', 'waiting'))))
    when 'get_task' then driver.argument('rn', driver.literal(driver.some_task('completed')))
    when 'list_tasks' then
        driver.optional(0.6, 'queue', driver.literal(driver.some_queue()))
        || driver.optional(0.7, 'status', quote_nullable(driver.pick(
            'ready', 'ready', 'running', 'waiting', 'completed', 'aborted', 'cancelled', null)))
        || driver.optional(0.3, 'worker', driver.literal(driver.some_worker()))
        || driver.optional(0.7, 'max_tasks', driver.some_count())
    when 'statement' then jsonb_build_object('text', driver.some_statement())
    end;
end $$;

-- ---------------------------------------------------------------------------------------------------------------
-- Time
--
-- Time passes by moving what is stored into the past, on both sides to the same moment.
-- ---------------------------------------------------------------------------------------------------------------

create function driver.move_deadline(name text, moment timestamptz) returns void language sql as $$
    update scylla.task_lease set deadline = moment where id = (select id from scylla.task_spec where rn = name);
    update twin.task set deadline = moment where rn = name and status = 'running';
$$;

create function driver.move_due(name text, moment timestamptz) returns void language sql as $$
    update scylla.task_waiting set due = moment where id = (select id from scylla.task_spec where rn = name);
    update twin.task set due = moment where rn = name and status = 'waiting';
$$;

-- A task ends after it was submitted, and after all older ones were: the time of submission goes with it.
create function driver.move_end(name text, moment timestamptz) returns void language sql as $$
    update scylla.task_outcome set finished = moment where id = (select id from scylla.task_spec where rn = name);
    update twin.task set updated = moment where rn = name and status in ('completed', 'aborted', 'cancelled');
    update scylla.task_spec set created = moment
    where id <= (select id from scylla.task_spec where rn = name) and created > moment;
    update twin.task set created = moment
    where id <= (select id from twin.task where rn = name) and created > moment;
$$;

-- A task and all older ones have waited longer. The length is such that no two tasks come to the same effective
-- priority: then the order would hang on microseconds.
create function driver.move_submission(name text) returns void language sql as $$
    update scylla.task_spec set created = created - interval '9036 s'
    where id <= (select id from scylla.task_spec where rn = name);
    update twin.task set created = created - interval '9036 s'
    where id <= (select id from twin.task where rn = name);
$$;

-- Whatever lies so near that it could come between the two sides' looks at the clock has passed; and by chance some
-- more.
create function driver.let_time_pass() returns void language plpgsql as $$
declare
    t twin.task;
    now timestamptz := clock_timestamp();
    chosen boolean;
begin
    if driver.chance(0.5) then
        perform driver.move_submission(driver.some_task('ready'));
    end if;
    for t in select * from twin.task order by id loop
        chosen := driver.chance(0.4);
        if t.status = 'running' and (chosen or t.deadline < now + '10 min'::interval) then
            perform driver.move_deadline(t.rn, now - '1 min'::interval);
        elsif t.status = 'waiting' and (chosen or t.due < now + '10 min'::interval) then
            perform driver.move_due(t.rn, now - '2 min'::interval);
        elsif t.status in ('completed', 'aborted', 'cancelled') and chosen then
            perform driver.move_end(t.rn, now - driver.pick('2 days', '30 days', '400 days')::interval);
        end if;
    end loop;
end $$;

-- ---------------------------------------------------------------------------------------------------------------
-- Steps
-- ---------------------------------------------------------------------------------------------------------------

create function driver.call_some_verb() returns void language plpgsql as $$
declare
    point float8 := random() * (select sum(weight) from driver.verb);
    verb text := (select name
                  from (select name, sum(weight) over (order by name collate "C") as upto from driver.verb) v
                  where point < upto order by upto limit 1);
begin
    perform set_config('scylla.auto_create_queues', case when driver.chance(0.2) then 'off' else 'on' end, false);
    perform driver.make_call(verb, driver.some_arguments(verb));
end $$;

create function driver.maintain_somehow() returns void language plpgsql as $$
begin
    perform driver.let_time_pass();
    perform driver.make_call(driver.pick('reset_expired', 'reset_expired', 'purge', 'maintain'));
end $$;

create function driver.take_step() returns void language plpgsql as $$
declare
    kind float8 := random();
begin
    if kind < 0.87 then
        perform driver.call_some_verb();
    elsif kind < 0.94 then
        perform driver.maintain_somehow();
    else
        -- A part of the transaction that did not happen, on either side.
        begin
            for i in 0 .. driver.below(4) loop
                perform driver.take_step();
            end loop;
            raise exception using errcode = 'SR000';
        exception when sqlstate 'SR000' then
            perform driver.compare_state();
        end;
    end if;
end $$;

-- A task that is run so often that its history and its errors cannot hold everything. The eleventh error, where a
-- marker will be sought, looks like one.
create function driver.run_once_more(name text) returns void language plpgsql as $$
declare
    who jsonb := driver.argument('rn', driver.literal(name))
                 || driver.argument('worker', driver.literal(driver.pick('w1', 'w2')));
    how float8 := random();
    error text := driver.some_error();
begin
    if (select jsonb_array_length(errors) from twin.task where rn = name) = 10 then
        error := driver.literal(format('{"code": "elided", "args": {"count": %s}}',
                                       driver.pick('7', '1e300', '-3', '2.5', '"x"')), 'jsonb');
    end if;
    perform driver.make_call('lease_task', who || driver.argument('timeout', driver.literal('1 h', 'interval')));
    if driver.chance(0.5) then
        perform driver.make_call('heartbeat',
                                 who || driver.argument('progress', driver.literal(random()::text, 'float8')));
    end if;
    if how < 0.3 then
        perform driver.move_deadline(name, clock_timestamp() - '1 min'::interval);
        perform driver.make_call('reset_expired');
    elsif how < 0.9 then
        perform driver.make_call('fail', who || driver.argument('error', error)
                                         || driver.argument('retry_after', driver.literal('0', 'interval')));
    end if;
    if how > 0.85 then
        perform driver.make_call('yield', who);
    end if;
    if driver.chance(0.1) then
        perform driver.make_call('get_task', driver.argument('rn', driver.literal(name)));
    end if;
end $$;

-- So many tasks that what a transaction has done cannot be remembered one by one: they come, are leased, come back by
-- every way there is, are leased again, and go.
create function driver.run_crowd(phase int) returns void language plpgsql as $$
declare
    here jsonb := driver.argument('queue', driver.literal('crowd'));
    t twin.task;
    n int;
begin
    case phase
    when 0 then
        perform driver.make_call('lease', here || driver.lease_arguments('w1', 1));
        n := 100 + driver.below(100);
        perform driver.make_call('submit_bulk', here
            || driver.argument('specs', format('array_fill(%s, array[%s])', driver.literal('{}', 'jsonb'), n))
            || driver.argument('rns', (select driver.literal(array_agg('crowd ' || i)::text, 'text[]')
                                       from generate_series(1, n) i))
            || driver.optional(0.5, 'priority', driver.literal('7', 'int')));
    when 1 then
        perform driver.make_call('lease', here || driver.lease_arguments('w1', 100000));
    when 2, 3 then
        perform driver.make_call('lease', here || driver.lease_arguments('w2', 1));
        for t in select * from twin.task where queue = 'crowd' and status = 'running' order by id loop
            if driver.chance(case phase when 2 then 0.1 else 0.95 end) then
                perform driver.move_deadline(t.rn, clock_timestamp() - '1 min'::interval);
            end if;
        end loop;
        perform driver.make_call('reset_expired');
    when 4, 6 then
        perform driver.make_call('lease', here || driver.lease_arguments('w2', 1 + driver.below(100)));
    when 5 then
        for t in select * from twin.task where queue = 'crowd' and status = 'running' order by id loop
            case driver.below(4)
            when 0 then
                perform driver.make_call('yield', driver.argument('rn', driver.literal(t.rn))
                                                  || driver.argument('worker', driver.literal(t.owner)));
            when 1 then
                perform driver.make_call('fail', driver.argument('rn', driver.literal(t.rn))
                                                 || driver.argument('worker', driver.literal(t.owner))
                                                 || driver.argument('error', driver.some_error())
                                                 || driver.argument('retry_after', driver.literal('0', 'interval')));
            when 2 then
                perform driver.make_call('lease', here || driver.lease_arguments('w3', 1));
            else null;
            end case;
        end loop;
    when 7 then
        perform driver.make_call('list_tasks', here
                                               || driver.argument('status', quote_literal('ready'))
                                               || driver.argument('max_tasks', driver.literal('1000', 'int')));
    else
        for t in select * from twin.task where queue = 'crowd' order by id loop
            perform driver.make_call('cancel', driver.argument('rn', driver.literal(t.rn)));
            perform driver.move_end(t.rn, clock_timestamp() - '400 days'::interval);
        end loop;
        perform driver.make_call('purge');
    end case;
end $$;

-- ---------------------------------------------------------------------------------------------------------------
-- The run
-- ---------------------------------------------------------------------------------------------------------------

create procedure driver.run(seed int, steps int) language plpgsql as $$
declare
    runs_of_one_task int;
    crowd_comes int;
    commits float8;
    began timestamptz;
    longest interval := '1 ms';
begin
    perform set_config('driver.seed', seed::text, false), set_config('driver.step', '0', false),
            setseed(seed / 2147483648.0);
    -- Neither the time zone nor the styles may matter. Leases without a timeout do not expire by themselves.
    perform set_config('timezone', driver.pick('Asia/Kathmandu', 'America/St_Johns', 'UTC'), false),
            set_config('datestyle', driver.pick('SQL, DMY', 'German', 'ISO'), false),
            set_config('intervalstyle', driver.pick('iso_8601', 'sql_standard', 'postgres'), false),
            set_config('scylla.default_timeout', driver.pick('30min', '12h', '3600001ms'), false);
    perform driver.compare_signatures();

    runs_of_one_task := case when driver.chance(0.5) then 140 else driver.below(60) end;
    crowd_comes := 200 + driver.below(200);
    for n in 1 .. steps loop
        began := clock_timestamp();
        perform set_config('driver.step', n::text, false), set_config('driver.longest', longest::text, false),
                set_config('driver.began', to_char(began, 'YYYY-MM-DD HH24:MI:SS.USTZH:TZM'), false);
        if n = 1 then
            perform driver.make_call('create_queue',
                                     '{"queue": "''q3''", "default_timeout": "''2 h''", "retention": "''1 day''"}');
            perform driver.make_call('create_queue', driver.argument('queue', driver.literal('q2'))
                || driver.argument('aging', driver.literal(driver.pick('0.0002', '0.002'), 'float8')));
            perform driver.make_call('create_queue', driver.argument('queue', driver.literal('crowd')));
            perform driver.make_call('submit', '{"queue": "''only''", "spec": "''{}''", "rn": "''often''"}');
        elsif n <= runs_of_one_task then
            perform driver.run_once_more('often');
        elsif n between crowd_comes and crowd_comes + 8 then
            perform driver.run_crowd(n - crowd_comes);
            -- The first ones that come back come back for everybody; the others perhaps only for this transaction.
            if n <= crowd_comes + 2 then
                commit;
            end if;
        else
            perform driver.take_step();
        end if;
        if n % 20 = 0 or n = steps then
            perform driver.compare_state();
        end if;
        longest := greatest(longest, clock_timestamp() - began);
        -- Transactions of one or several steps; for a while rather short ones, for a while rather long ones.
        if n % 30 = 1 or n = crowd_comes + 1 then
            commits := driver.pick('1', '0.6', '0.3', '0.1');
        end if;
        if driver.chance(commits) then
            commit;
        end if;
    end loop;
    commit;
end $$;
