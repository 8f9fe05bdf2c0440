-- Calling
--
-- A call is the text of something that can stand after FROM, with @ in place of the schema.

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
        -- Of several tasks of a queue that others depend on it may name any.
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
        names[1] := theirs -> 'rows' -> 0 ->> 'rn';
        -- It may be that of a task that was there.
        if coalesce(arguments ->> 'rn', 'NULL') like 'NULL%' and not exists (select from twin.task t where t.rn = names[1]) then
            return arguments || driver.argument('rn', driver.literal(driver.checked_name(names[1])));
        end if;
    when 'create_plan' then
        if coalesce(arguments ->> 'name', 'NULL') like 'NULL%' then
            return arguments || driver.argument('name', driver.literal(driver.checked_name(theirs -> 'rows' ->> 0)));
        end if;
    when 'create_callback' then
        if coalesce(arguments ->> 'token', 'NULL') like 'NULL%' then
            if theirs -> 'rows' ->> 0 !~ '^[0-9a-f]{32}$' then
                perform driver.differ('not 128 bits in hexadecimal digits', theirs -> 'rows' ->> 0, null);
            end if;
            return arguments || driver.argument('token', driver.literal(theirs -> 'rows' ->> 0));
        end if;
    when 'submit_many' then
        execute 'select ' || (arguments ->> 'tasks') into tasks;
        select jsonb_agg(case when e ->> 'rn' is null and (r -> 'inserted')::boolean
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

-- The checks that the extension has made in this call: the twin gives its own the same names.
create function driver.name_checks() returns void language plpgsql as $$
begin
    delete from twin.next_name;
    insert into twin.next_name (name)
    select driver.checked_name(s.rn) from scylla.task_spec s
    where s.is_check and not exists (select from twin.task t where t.rn = s.rn) order by s.id;
end $$;

create function driver.count_outcome(verb text, outcome jsonb) returns void language plpgsql as $$
begin
    insert into driver.tally
    values (verb,
            coalesce(outcome -> 'refused' ->> 'state', case when outcome -> 'rows' = '[]' then 'empty' else 'ok' end),
            1)
    on conflict on constraint tally_pkey do update set n = tally.n + 1;
end $$;

-- Whether a queue that is to be dropped has tasks that stay until live tasks of other queues have done with them: those that have ended,
-- and those whose failure is ignored.
create function driver.leaves_results(arguments jsonb) returns boolean language sql as $$
    select exists (select from twin.task t join twin.task d on t.id = any (d.depends_on)
                   where arguments ->> 'queue' in (quote_literal(t.queue), driver.literal(t.queue)) and (not twin.is_live(t) or d.on_failure = 'ignore') and d.queue <> t.queue
                     and twin.is_live(d))
        or exists (select from twin.task t join twin.gate g on g.provider = t.id join twin.task d on d.id = g.task
                   where arguments ->> 'queue' in (quote_literal(t.queue), driver.literal(t.queue)) and d.queue <> t.queue and twin.is_live(d)
                     and (not twin.is_live(t) or 'ignore' in (g.on_failure, g.on_timeout)));
$$;

-- A time that is near, such as that of the next attempt a second after a failure, could have come for one side and not for the other.
-- It comes when the driver has it pass.
create function driver.keep_near_times_away() returns void language sql as $$
    select driver.move_due(t.rn, clock_timestamp() + '5 min'::interval)
    from twin.task t
    where t.status = 'waiting'
      and t.due between clock_timestamp() - '1 min'::interval and clock_timestamp() + '1 min'::interval;
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
    if verb_name = 'drop_queue' and driver.leaves_results(arguments) then
        return null; -- the twin does without them
    end if;
    if verb_name in ('place', 'maintain') then
        -- A task's place in line has its time of submission, too, which may have been moved.
        update scylla.pool_line l set created = s.created from scylla.task_spec s where s.id = l.task and l.created <> s.created;
    end if;
    if verb_name = 'maintain' then
        perform driver.keep_near_times_away();
    end if;
    theirs := driver.outcome('scylla', call, verb.gives);
    if theirs ? 'rows' then
        arguments := driver.with_made_names(verb_name, arguments, theirs);
    end if;
    if arguments ? 'wait_for' then
        perform driver.name_checks();
    end if;
    ours := driver.outcome('twin', driver.call_text(verb_name, arguments), verb.gives);
    perform driver.compare_outcome(call, verb, began, theirs, ours);
    -- An error that both sides raise and that is none of ours is a fault of this driver.
    if coalesce(ours -> 'refused' ->> 'schema', 'scylla') <> 'scylla' then
        perform driver.differ(call || ': unexpected error', theirs::text, ours::text);
    end if;
    perform driver.count_outcome(verb_name, ours);
    if verb_name = 'drop_queue' and exists (select from scylla.queue_dropped) then
        perform driver.make_call('maintain');
    end if;
    return ours -> 'rows';
end $$;
