-- Conditions: callbacks, signals and checks

create function twin.create_callback(token text default null, expires interval default null) returns text language plpgsql as $$
begin
    if token is not null then
        perform twin.check_name('token', token);
    end if;
    perform twin.check_timeout('expires', expires);
    if exists (select from twin.condition c where c.token = create_callback.token) then
        perform twin.refuse('42710', 'callback', 'unique', format('callback "%s" already exists', token));
    end if;
    insert into twin.condition (token, expires)
    values (create_callback.token, clock_timestamp() + twin.length(create_callback.expires));
    return token;
end $$;

-- Whoever is first decides.
create function twin.end_callback(token text, failed boolean, value jsonb) returns boolean language plpgsql as $$
declare
    c twin.condition := twin.known_callback(token);
begin
    if c.ended is not null then
        return false;
    end if;
    update twin.condition e set ended = clock_timestamp(), failed = end_callback.failed, value = end_callback.value where e.id = c.id;
    insert into twin.happened (task) values (c.id);
    perform twin.settle();
    return true;
end $$;

create function twin.resolve_callback(token text, value jsonb default null) returns boolean language plpgsql as $$
begin
    perform twin.check_name('token', token);
    return twin.end_callback(token, false, value);
end $$;

create function twin.reject_callback(token text, error jsonb) returns boolean language plpgsql as $$
begin
    perform twin.check_name('token', token);
    return twin.end_callback(token, true, twin.checked_error(error));
end $$;

create function twin.compares(op text, sign int) returns boolean language sql as $$
    select case op when '<' then sign < 0 when '<=' then sign <= 0 when '>' then sign > 0 when '>=' then sign >= 0 end;
$$;

-- Whether the parameters of a signal are what a condition compares them with: a value to be equal to, or a bound of the same type.
-- Texts compare by their bytes.
create function twin.fits(match jsonb, params jsonb) returns boolean language sql as $$
    select coalesce(bool_and(case
        when jsonb_typeof(wanted) <> 'object' then (params -> name) is not distinct from wanted
        when jsonb_typeof(params -> name) is distinct from jsonb_typeof(bound) then false
        when jsonb_typeof(bound) = 'number' then twin.compares(op, sign((params -> name)::numeric - bound::numeric)::int)
        else twin.compares(op, case when (params ->> name) collate "C" < (bound #>> '{}') then -1
                                    when (params ->> name) = (bound #>> '{}') then 0 else 1 end) end), true)
    from jsonb_each(match) m (name, wanted)
    left join lateral (select key, value from jsonb_each(case when jsonb_typeof(wanted) = 'object' then wanted else '{}' end)) r (op, bound)
        on true;
$$;

create function twin.as_value(s twin.signal) returns jsonb language sql as $$
    select jsonb_build_object('name', s.name, 'seq', s.seq, 'sent', s.sent, 'params', s.params, 'payload', s.payload);
$$;

-- What a task waits for: the newest signal that there is, else the first one to come.
create function twin.signal_condition(name text, match jsonb, moment timestamptz) returns bigint language plpgsql as $$
declare
    waiting bigint := (select c.id from twin.condition c
                       where c.signal = signal_condition.name and c.match = signal_condition.match and c.ended is null);
    s twin.signal;
begin
    if waiting is not null then
        return waiting;
    end if;
    select * into s from twin.signal e where e.name = signal_condition.name and twin.fits(match, e.params) order by e.seq desc limit 1;
    insert into twin.condition (signal, match, ended, failed, value)
    values (signal_condition.name, signal_condition.match, case when s.seq is not null then moment end,
            case when s.seq is not null then false end, case when s.seq is not null then twin.as_value(s) end)
    returning id into waiting;
    return waiting;
end $$;

-- All conditions that wait and that it fits end. With a request_id it is sent once.
create function twin.send_signal(name text, params jsonb default '{}', payload jsonb default null, request_id text default null)
    returns bigint language plpgsql as $$
declare
    s twin.signal;
begin
    params := coalesce(params, '{}');
    perform twin.check_name('name', name);
    if request_id is not null then
        perform twin.check_name('request_id', request_id);
    end if;
    perform twin.check_argument('params', jsonb_typeof(params) = 'object', 'It must be an object.');
    perform twin.check_argument('params', jsonb_typeof(value) not in ('object', 'array'), 'Its members must be texts, numbers, booleans or nulls.')
    from jsonb_each(params) _ (key, value);
    select * into s from twin.signal e where e.name = send_signal.name and e.request_id = send_signal.request_id;
    if s.seq is not null then
        return s.seq;
    end if;
    insert into twin.signal (name, params, payload, request_id, sent) values (name, params, payload, request_id, clock_timestamp())
    returning * into s;
    with fitting as (
        update twin.condition c set ended = s.sent, failed = false, value = twin.as_value(s)
        where c.signal = s.name and c.ended is null and twin.fits(c.match, s.params)
        returning c.id)
    insert into twin.happened (task) select id from fitting order by id desc;
    perform twin.settle();
    return s.seq;
end $$;

-- The question is asked as soon as the first of those who wait for a check want, if it waits since its last answer.
create function twin.ask_sooner(asked twin.task, moment timestamptz) returns void language plpgsql as $$
declare
    sooner timestamptz := asked.updated + twin.check_interval(asked.id);
begin
    update twin.task c set due = greatest(moment, sooner)
    where c.id = asked.id and c.due > sooner and c.due > moment and c.answered = c.updated;
end $$;

-- A check counts as much as those who wait for it. One that is ready gets in line anew.
create function twin.raise_priority(asked twin.task, wanted int, moment timestamptz) returns void language plpgsql as $$
begin
    if asked.status = 'running' then
        return;
    end if;
    update twin.task c set priority = wanted where c.id = asked.id;
    if asked.status = 'ready' then
        asked.updated := moment;
        perform twin.record_event(twin.stored(asked));
    end if;
end $$;

-- What those who wait for checks want, from the oldest check to the newest: one that nobody waits for is cancelled. One thing at a time.
create function twin.tend_checks(moment timestamptz) returns void language plpgsql as $$
declare
    asked twin.task;
    wanted int;
begin
    for asked in select * from twin.task c where c.is_check and twin.is_live(c) order by c.id loop
        wanted := (select max(w.priority) from twin.waiters(asked.id) w);
        if wanted is null then
            asked.errors := twin.errors_with(asked, '{"code": "check-unused", "args": {}, "message": "nobody waits for it"}');
            perform twin.ended(asked, 'cancelled', moment);
        elsif wanted > asked.priority then
            perform twin.raise_priority(asked, wanted, moment);
        else
            perform twin.ask_sooner(asked, moment);
        end if;
    end loop;
    perform twin.settle(moment);
end $$;
