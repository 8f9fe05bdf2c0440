-- Chance
--
-- Every choice is drawn from random(), which setseed() makes repeatable.

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

-- Any task in that state (null: in any state), of that queue (likewise); null: there is none.
create function driver.any_task(state text, queue text default null) returns text language sql as $$
    with chosen as (select random() as which)
    select rn
    from (select rn, row_number() over (order by id) - 1 as place, count(*) over () as n
          from twin.task t
          where t.status::text = coalesce(any_task.state, t.status::text) and t.queue = coalesce(any_task.queue, t.queue)) t, chosen
    where place = floor(which * n);
$$;

-- A task that exists, if there is one in that state.
create function driver.some_existing_task(state text) returns text language sql as $$
    select coalesce(driver.any_task(state), driver.some_new_name());
$$;

-- A task that exists, mostly in that state; sometimes none.
create function driver.some_task(state text) returns text language plpgsql as $$
declare
    how float8 := random();
    name text := driver.some_new_name();
begin
    if how < 0.9 then
        return driver.some_existing_task(case when how <= 0.7 then state end);
    end if;
    return case when how < 0.97 then name else driver.pick('', repeat('t', 201), null) end;
end $$;

-- What a task depends on: tasks in any state, mostly such as there are.
create function driver.some_dependencies() returns text language plpgsql as $$
declare
    names text[] := '{}';
begin
    for i in 1 .. driver.below(4) loop
        names := names || case when driver.chance(0.97)
            then driver.some_existing_task(driver.pick('ready', 'running', 'waiting', 'completed', 'completed', null))
            else driver.pick('t1', 't2', 'unknown', 'unknown', '', repeat('t', 201), null) end;
    end loop;
    return driver.literal(case when driver.chance(0.98) then names end::text, 'text[]');
end $$;

create function driver.some_failure_rule() returns text language sql as $$
    select driver.literal(driver.pick_mostly('{cascade,skip,ignore}', '{"",Skip,NULL}'));
$$;

create function driver.some_dedup_key() returns text language sql as $$
    select driver.literal(driver.pick_mostly('{d1,d2,d3,d4,NULL}', array['d"\4', repeat('ü', 200), '', repeat('d', 201)]));
$$;

-- A plan that exists, if there is one that has been opened, or has not; sometimes any other, sometimes none.
create function driver.some_plan(is_open boolean default null) returns text language plpgsql as $$
declare
    how float8 := random();
    which float8 := random();
    name text := driver.pick('p1', 'p2', 'p3', 'p4', 'p5', 'p6');
begin
    if how < 0.85 then
        return coalesce((select p.name
                         from (select p.name, row_number() over (order by id) - 1 as place, count(*) over () as n
                               from twin.plan p
                               where (how > 0.7 or p.finished is null)
                                 and (is_open is null or (p.opened is not null) = is_open)) p
                         where place = floor(which * n)), name);
    end if;
    return case when how < 0.97 then name else driver.pick('', repeat('p', 201), null) end;
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

-- Or null: a queue that is not shared between keys.
create function driver.some_weights() returns jsonb language sql as $$
    select driver.pick('{}', '{"k": 2}', '{"": 3, "*": 2}', '{"k": 1000, "l": 2}', null, null)::jsonb;
$$;

-- Mostly null. None but such as give nothing as long as this test lasts: how much others give is up to the clock.
create function driver.some_rate() returns jsonb language sql as $$
    select driver.pick_mostly(
        array['{"tasks": 1, "per": "365 days"}', '{"tasks": 2, "per": "12 mons", "burst": 3}', null, null, null, null],
        array['5', '{}', '{"tasks": 0}', '{"tasks": 1.5}', '{"tasks": null}', '{"tasks": 2000000}', '{"per": "1 s"}',
              '{"tasks": 1, "per": "0"}', '{"tasks": 1, "per": "1 day", "burst": 4000}', '{"colour": 1}'])::jsonb;
$$;

create function driver.some_key() returns text language sql as $$
    select driver.pick('k', 'k', 'l', 'm', 'ü', null);
$$;

-- Changes of settings. Rarely a pause: nothing can be leased until its end.
create function driver.some_settings() returns jsonb language plpgsql as $$
declare
    name text;
    settings jsonb := '{}';
begin
    if driver.chance(0.05) then
        return driver.pick('5', '[]', 'null', '{"colour": 1}', '{"queue": "q1"}', '{"retention": 5}', '{"aging": "1"}',
                           '{"max_attempts": 1.5}', '{"max_attempts": 0}', '{"max_running": 0}', '{"max_running_per_key": 0}',
                           '{"max_depth": 0}', '{"on_full": "drop"}', '{"on_full": 5}', '{"key_weights": []}',
                           '{"key_weights": {"k": 0}}', '{"key_weights": {"k": 1.5}}', '{"key_weights": {"*": 1001}}',
                           '{"key_weights": {"k": null}}', '{"paused": "t"}', '{"aging": -1}',
                           '{"retention": "soon"}', '{"default_timeout": "0"}', null);
    end if;
    for i in 1 .. driver.below(4) loop
        name := driver.pick('default_timeout', 'retention', 'max_attempts', 'retry', 'retry', 'retention_completed',
                            'retention_aborted', 'retention_cancelled', 'paused', 'max_running', 'max_running_per_key',
                            'max_depth', 'on_full', 'key_weights', 'rate', 'events', 'notify');
        settings := settings || jsonb_build_object(name, case
            when name = 'default_timeout' then to_jsonb(driver.pick('2 h', '1 day', null))
            when name like 'retention%' then to_jsonb(driver.pick('1 day', '10 days', '36500 days', null))
            when name in ('max_attempts', 'max_running', 'max_running_per_key') then to_jsonb(driver.pick('1', '2', '5', null)::int)
            when name = 'retry' then driver.some_policy()
            when name = 'max_depth' then to_jsonb(driver.pick('3', '12', null, null)::int)
            when name = 'on_full' then to_jsonb(driver.pick('error', 'shed', null))
            when name = 'key_weights' then driver.some_weights()
            when name = 'rate' then driver.some_rate()
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
        array['{"code": "E1"}', '{"code": "E2", "args": {"n": 1}}', '{"code": "E3", "message": "why", "more": [1]}',
              '{"code": "timeout", "message": "mine"}', '{"code": "elided"}',
              '{"code": "elided", "args": {"count": 7}}',
              '{"code": "E4", "args": [null]}'],
        array['{}', '{"code": ""}', '{"code": null}', '{"code": 4}', '{"code": "E5", "message": 5}', '[]',
              '["code"]', '"code"', 'null', null]), 'jsonb');
$$;

create function driver.some_token() returns text language sql as $$
    select driver.pick_mostly('{c1,c2,c3,c4,c5,c6,c7,c8}', array['c"\4', repeat('ü', 200), '', repeat('c', 201), null]);
$$;

create function driver.some_match() returns jsonb language sql as $$
    select driver.pick('{}', '{"n": 1}', '{"n": 1.0}', '{"n": 2, "who": "a"}', '{"who": null}', '{"n": {">=": 2}}', '{"n": {"<": 2}}',
                       '{"who": {">": "a"}}', '{"who": {"<=": "Z"}}', '{"n": {">": 1}, "who": "b"}', '{"n": "1"}', '{"yes": true}')::jsonb;
$$;

create function driver.some_params() returns jsonb language sql as $$
    select driver.pick_mostly(array['{}', '{"n": 1}', '{"n": 2, "who": "a"}', '{"n": 3.5, "who": "b"}', '{"who": null, "n": 2}', '{"who": "ü"}',
                              '{"n": "1"}', '{"yes": true, "n": -1e3}', '{"who": "A", "more": 1}'], '{5,"[]","{\"n\": [1]}",null}')::jsonb;
$$;

-- Few questions, some of which are equal though they look different.
create function driver.some_check() returns jsonb language sql as $$
    select jsonb_build_object('queue', driver.pick('asks', 'asks', 'asks', 'bounded'), 'spec', driver.pick(
               '{"day": 1, "table": "t"}', '{"table": "t", "day": 1.0}', '{"day": 2, "of": [null]}', '{"of": [null], "day": 2}', '"1"', '1', '1.00')::jsonb)
        || case when driver.chance(0.9) then jsonb_build_object('every', driver.pick('20 min', '1 h', '2 h', '1 day', null)) else '{}' end;
$$;

-- An element of wait_for. Only callbacks and checks have an on_failure of their own: with tasks of several that fail in one call, it is
-- up to the extension which of them is named.
create function driver.some_wait() returns jsonb language plpgsql as $$
declare
    wait jsonb;
begin
    case driver.below(11)
    when 8, 9, 10 then
        wait := jsonb_build_object('check', driver.some_check())
            || case when driver.chance(0.5) then jsonb_build_object('on_failure', driver.pick('cascade', 'skip', 'ignore', null)) else '{}' end;
    when 0, 1, 2 then
        wait := jsonb_build_object('signal', driver.pick('s1', 's1', 's2'))
            || case when driver.chance(0.8) then jsonb_build_object('match', driver.some_match()) else '{}' end;
    when 3 then
        wait := jsonb_build_object('task', driver.some_existing_task(driver.pick('ready', 'running', 'waiting', 'completed', null)));
    else
        wait := jsonb_build_object('callback', coalesce(driver.any_callback(), 'c1'))
            || case when driver.chance(0.5) then jsonb_build_object('on_failure', driver.pick('cascade', 'skip', 'ignore', null)) else '{}' end;
    end case;
    if driver.chance(0.5) then
        wait := wait || jsonb_build_object('timeout', driver.pick('2 h', '1 mon', '365 days'))
            || case when driver.chance(0.7) then jsonb_build_object('on_timeout', driver.pick('abort', 'skip', 'ignore', 'ignore')) else '{}' end;
    end if;
    return wait;
end $$;

-- A callback that exists, if there is one, mostly one that has not ended.
create function driver.any_callback() returns text language sql as $$
    with chosen as (select random() as which, random() < 0.8 as live)
    select token
    from (select c.token, row_number() over (order by c.id) - 1 as place, count(*) over () as n, which
          from twin.condition c, chosen where c.token is not null and (c.ended is null or not live)) c
    where place = floor(which * n);
$$;

create function driver.some_waits() returns text language plpgsql as $$
begin
    if driver.chance(0.06) then
        return driver.literal(driver.pick(
            '5', '{}', '[5]', '[{}]', '[null]', '[{"task": "t1", "callback": "c1"}]', '[{"callback": 5}]', '[{"callback": ""}]',
            '[{"task": "t1", "match": {}}]', '[{"callback": "c1", "timeout": "0"}]', '[{"callback": "c1", "timeout": "366 days"}]',
            '[{"callback": "c1", "on_timeout": "skip"}]', '[{"signal": "s1", "timeout": "1 h", "on_timeout": "stop"}]',
            '[{"callback": "c1", "colour": 1}]', '[{"callback": "c1", "on_failure": "stop"}]', '[{"callback": "unknown"}]',
            '[{"task": "unknown"}]', '[{"signal": "s2"}, {"task": "unknown"}]', '"c1"',
            '[{"check": 5}]', '[{"check": {"queue": "asks"}}]', '[{"check": {"spec": 1}}]', '[{"check": {"queue": "asks", "spec": null}}]',
            '[{"check": {"queue": "", "spec": 1}}]', '[{"check": {"queue": 5, "spec": 1}}]', '[{"check": {"queue": "asks", "spec": 1, "every": "0"}}]',
            '[{"check": {"queue": "asks", "spec": 1, "colour": 1}}]', '[{"check": {"queue": "asks", "spec": 1}, "signal": "s1"}]',
            '[{"check": {"queue": "asks", "spec": 1}, "match": {}}]', '[{"check": {"queue": "asks", "spec": 1}}, {"task": "unknown"}]'), 'jsonb');
    end if;
    return driver.literal((select coalesce(jsonb_agg(driver.some_wait()), '[]') from generate_series(1, driver.below(4)))::text, 'jsonb');
end $$;

create function driver.some_pool() returns text language sql as $$
    select driver.pick_mostly('{s,g,f}', array['new', 'unknown', '', repeat('p', 201), null]);
$$;

create function driver.some_amounts() returns jsonb language plpgsql as $$
begin
    return case driver.below(4)
        when 0 then jsonb_build_object('a', driver.below(4), 'b', driver.below(3))
        when 1 then jsonb_build_object('b', driver.below(40) / 10.0)
        else jsonb_build_object('a', driver.below(5)) end;
end $$;

create function driver.some_capacity() returns jsonb language plpgsql as $$
begin
    if driver.chance(0.03) then
        return driver.pick('5', '[]', 'null', '{"a": -1}', '{"a": "1"}', '{"a": 0.0001}', '{"a": 1000000000000000}', '{"": 1}', null);
    end if;
    return jsonb_build_object('a', driver.below(9), 'b', driver.below(60) / 10.0) - case when driver.chance(0.1) then driver.pick('a', 'b') else '' end;
end $$;

-- What a task needs: of one pool, of two, of any of several, or of one and any of the others.
create function driver.some_needs() returns jsonb language plpgsql as $$
begin
    if driver.chance(0.03) then
        return driver.pick('5', '[]', '{}', '{"s": 1}', '{"s": {}}', '{"s": {"c": 1}}', '{"s": {"a": 1000}}', '{"unknown": {"a": 1}}',
                           '{"any": ["s", "s"], "a": 1}', '{"any": ["s"], "a": 1, "s": {"b": 1}}', '{"any": ["s", "g"]}', '{"any": [], "a": 1}',
                           '{"any": ["s", "g"], "a": 1000}', '{"s": {"a": "1"}}', '{"s": {"a": 0.0001}}', '{"s": null}', '{"any": [5], "a": 1}');
    end if;
    return case driver.below(5)
        when 0 then jsonb_build_object('s', driver.some_amounts(), driver.pick('g', 'f'), driver.some_amounts())
        when 1 then jsonb_build_object('any', '["s", "g", "f"]'::jsonb) || driver.some_amounts()
        when 2 then jsonb_build_object('any', '["g", "f"]'::jsonb, 's', driver.some_amounts()) || driver.some_amounts()
        else jsonb_build_object(driver.pick('s', 'g', 'f', 'f'), driver.some_amounts()) end;
end $$;

-- Hours apart, so that no order hangs on microseconds.
create function driver.some_runtime() returns text language sql as $$
    select driver.pick_mostly('{1 hour,2 hours,3 hours,4 hours}', '{0,366 days}');
$$;

create function driver.some_pool_changes() returns jsonb language plpgsql as $$
begin
    return case driver.below(8)
        when 0 then jsonb_build_object('policy', driver.pick('strict', 'greedy', 'backfill', null))
        when 1 then jsonb_build_object('max_bypass', driver.pick('0', '1', '2', null)::int)
        when 2 then jsonb_build_object('metrics_max_age', driver.pick('1 hour', null, null))
        when 3 then driver.pick('5', '[]', '{}', '{"colour": 1}', '{"policy": "fair"}', '{"max_bypass": -1}', '{"max_bypass": 1.5}',
                                '{"metrics_max_age": "0"}', '{"metrics_max_age": 5}', '{"drained": true}', null)::jsonb
        else jsonb_build_object('capacity', driver.some_capacity()) end;
end $$;

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
