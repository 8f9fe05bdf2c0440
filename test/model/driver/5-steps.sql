-- Time, steps, and the run
--
-- Time passes by moving what is stored into the past, on both sides to the same moment.

create function driver.move_deadline(name text, moment timestamptz) returns void language sql as $$
    update scylla.task_lease set deadline = moment where id = (select id from scylla.task_spec where rn = name);
    update twin.task set deadline = moment where rn = name and status = 'running';
$$;

create function driver.move_due(name text, moment timestamptz) returns void language sql as $$
    update scylla.task_waiting set due = moment
    where id = (select id from scylla.task_spec where rn = name) and due is not null and expiring is not true;
    update twin.task set due = moment where rn = name and due is not null;
$$;

-- A task ends after it was submitted, and after all older ones were: the time of submission goes with it.
create function driver.move_end(name text, moment timestamptz) returns void language plpgsql as $$
begin
    update scylla.task_outcome set finished = moment where id = (select id from scylla.task_spec where rn = name);
    update twin.task set updated = moment where rn = name and status in ('completed', 'aborted', 'cancelled');
    update scylla.task_spec set created = moment
    where id <= (select id from scylla.task_spec where rn = name) and created > moment;
    update twin.task set created = moment
    where id <= (select id from twin.task where rn = name) and created > moment;
end $$;

-- A plan and all its tasks.
create function driver.move_end_of_plan(plan text, moment timestamptz) returns void language sql as $$
    update scylla.task_plan set finished = moment, opened = least(opened, moment)
    where name = move_end_of_plan.plan and finished is not null;
    update twin.plan set finished = moment, opened = least(opened, moment)
    where name = move_end_of_plan.plan and finished is not null;
    update scylla.task_plan set created = least(created, moment)
    where id <= (select id from scylla.task_plan where name = move_end_of_plan.plan and finished is not null);
    update twin.plan set created = least(created, moment)
    where id <= (select id from twin.plan where name = move_end_of_plan.plan and finished is not null);
    select driver.move_end(t.rn, moment) from twin.task t join twin.plan p on p.id = t.plan where p.name = move_end_of_plan.plan
    order by t.id;
$$;

create function driver.move_events(moment timestamptz) returns void language sql as $$
    update scylla.event set time = moment where time > moment;
    update twin.event set time = moment where time > moment;
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
    p twin.plan;
    now timestamptz := clock_timestamp();
    chosen boolean;
begin
    if driver.chance(0.2) then
        perform driver.move_events(now - '400 days'::interval);
    end if;
    for p in select * from twin.plan where finished is not null order by id loop
        if driver.chance(0.3) then
            perform driver.move_end_of_plan(p.name, now - driver.pick('2 days', '30 days', '400 days')::interval);
        end if;
    end loop;
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
                  from (select name, weight, sum(weight) over (order by name collate "C") as upto from driver.verb) v
                  where point < upto and weight > 0 order by upto limit 1);
begin
    perform set_config('scylla.auto_create_queues', case when driver.chance(0.2) then 'off' else 'on' end, false);
    perform driver.make_call(verb, driver.some_arguments(verb));
end $$;

create function driver.maintain_somehow() returns void language plpgsql as $$
begin
    perform driver.let_time_pass();
    perform driver.make_call('reset_expired');
end $$;

-- Purging passes over tasks on which one was just made to depend, also by the same transaction: so it begins one.
create function driver.purge_somehow() returns void language plpgsql as $$
begin
    perform driver.let_time_pass();
    perform driver.make_call(driver.pick('purge', 'maintain'));
end $$;

-- A plan is built, opened and worked through.
create function driver.run_graph() returns void language plpgsql as $$
declare
    graph text := 'graph ' || current_setting('driver.step');
    n int := 4 + driver.below(10);
    requests jsonb[] := '{}';
    name text;
    who jsonb;
begin
    perform set_config('scylla.auto_create_queues', 'on', false);
    perform driver.make_call('create_queue', '{"queue": "''graph''", "events": "true"}');
    perform driver.make_call('create_plan', driver.argument('name', driver.literal(graph)));
    for i in 1 .. n loop
        requests[i] := jsonb_build_object(
            'queue', driver.pick('graph', 'graph', 'q1'), 'spec', i, 'rn', format('%s, %s', graph, i),
            'depends_on', (select coalesce(jsonb_agg(format('%s, %s', graph, 1 + driver.below(i - 1))), '[]')
                           from generate_series(1, least(i - 1, driver.below(4)))),
            'on_dependency_failure', driver.pick('cascade', 'cascade', 'skip', 'ignore'),
            'max_attempts', driver.pick('1', '2', null)::int)
            || case when driver.chance(0.9) then jsonb_build_object('plan', graph) else '{}' end
            || case when driver.chance(0.1) then '{"not_before": "2099-01-01 00:00:00+01"}' else '{}'::jsonb end;
    end loop;
    perform driver.make_call('submit_many', driver.argument('tasks', driver.literal(to_jsonb(requests[: n / 2])::text, 'jsonb')));
    if driver.chance(0.9) then
        perform driver.make_call('open_plan', driver.argument('plan', driver.literal(graph)));
    end if;
    perform driver.make_call('submit_many', driver.argument('tasks', driver.literal(to_jsonb(requests[n / 2 + 1 :])::text, 'jsonb')));
    for i in 1 .. 2 * n loop
        select t.rn into name from twin.task t
        where t.status = 'ready' and t.rn like graph || ', %' order by t.id offset driver.below(3) limit 1;
        if name is null then
            continue;
        end if;
        who := driver.argument('rn', driver.literal(name)) || driver.argument('worker', driver.literal('w1'));
        perform driver.make_call('lease_task', who || driver.argument('timeout', driver.literal('1 h', 'interval')));
        case driver.below(16)
        when 0 then
            perform driver.make_call('abort', who || driver.argument('error', driver.some_error()));
        when 1 then
            perform driver.make_call('fail', who || driver.argument('error', driver.some_error())
                                                 || driver.argument('retry_after', driver.literal('0', 'interval')));
        when 2 then
            perform driver.make_call('cancel', driver.argument('rn', driver.literal(name)));
        when 3 then
            perform driver.move_deadline(name, clock_timestamp() - '1 min'::interval);
        when 4 then
            perform driver.make_call('reset_expired');
        when 5 then
            perform driver.make_call('heartbeat', who || driver.argument('progress', driver.literal('0.3', 'float8')));
        when 6 then
            perform driver.make_call('cancel_plan', driver.argument('plan', driver.literal(driver.some_plan())));
        else
            perform driver.make_call('complete', who || driver.argument('result', driver.some_result()));
        end case;
    end loop;
    perform driver.make_call('plan_completed', driver.argument('plan', driver.literal(graph)));
    if driver.chance(0.15) then
        perform driver.make_call('drop_queue', driver.argument('queue', driver.literal('graph'))
                                               || driver.argument('force', driver.literal('t', 'boolean')));
    end if;
    perform driver.compare_state();
end $$;

-- Some of what bounds and shares a queue of several keys.
create function driver.some_limits() returns jsonb language sql as $$
    select driver.argument('settings', driver.literal(
        coalesce(jsonb_object_agg(name, value) filter (where driver.chance(0.6)), '{}')::text, 'jsonb'))
    from (values ('max_running', to_jsonb(driver.pick('3', '6', null, null)::int)),
                 ('max_running_per_key', to_jsonb(driver.pick('1', '2', null)::int)),
                 ('max_depth', to_jsonb(driver.pick('4', '9', null, null)::int)),
                 ('on_full', to_jsonb(driver.pick('error', 'shed'))),
                 ('key_weights', driver.some_weights())) _ (name, value);
$$;

-- A queue of several keys is bounded, shared, filled and worked through.
create function driver.run_keys() returns void language plpgsql as $$
declare
    queue text := driver.pick('keys', 'more keys');
    here jsonb := driver.argument('queue', driver.literal(queue));
    worker jsonb := driver.argument('worker', driver.literal('w1'));
    prefix text := format('%s %s, ', queue, current_setting('driver.step'));
    -- Rarely so many of one key that a lease goes by keys rather than along the queue.
    crowd int := case when driver.chance(0.15) then 80 else 0 end;
    n int := crowd + 4 + driver.below(10);
    mostly text := driver.some_key();
    m int;
    name text;
    verb text;
begin
    perform set_config('scylla.auto_create_queues', 'on', false);
    perform driver.make_call('create_queue', here || driver.optional(0.2, 'aging', driver.literal('0.0002', 'float8')));
    perform driver.make_call('alter_queue', here || driver.some_limits());
    perform driver.make_call('submit_many', driver.argument('tasks', driver.literal((
        select jsonb_agg(jsonb_build_object(
            'queue', queue, 'spec', i, 'rn', prefix || i, 'key', case when i <= crowd then mostly else driver.some_key() end,
            'priority', case when i <= crowd then 1 else driver.below(2) end))
        from generate_series(1, n) i)::text, 'jsonb')));
    for i in 1 .. 25 loop
        case driver.below(16)
        when 0 then
            perform driver.make_call('alter_queue', here || driver.some_limits());
        when 1, 2 then
            perform driver.make_call('submit', here || driver.argument('rn', driver.literal(format('%smore %s', prefix, i)))
                                               || driver.argument('spec', driver.literal('{}', 'jsonb'))
                                               || driver.argument('key', driver.literal(driver.some_key())));
        when 3 then
            m := 1 + driver.below(5);
            perform driver.make_call('submit_bulk', here
                || driver.argument('specs', format('array_fill(%s, array[%s])', driver.literal('{}', 'jsonb'), m))
                || driver.argument('rns', (select driver.literal(array_agg(format('%sbulk %s.%s', prefix, i, j))::text, 'text[]')
                                           from generate_series(m, 1, -1) j)));
        when 4, 5, 6, 7, 8 then
            perform driver.make_call('lease', here || driver.lease_arguments('w1', driver.pick('1', '1', '2', '4')::int));
        else
            verb := driver.pick('complete', 'complete', 'complete', 'yield', 'lease_task', 'cancel');
            name := driver.any_task(case when verb in ('complete', 'yield') then 'running' else 'ready' end, queue);
            if name is not null then
                perform driver.make_call(verb, driver.argument('rn', driver.literal(name))
                    || case when verb <> 'cancel' then worker else '{}' end
                    || case when verb = 'lease_task' then driver.argument('timeout', driver.literal('1 h', 'interval')) else '{}' end);
            end if;
        end case;
    end loop;
    perform driver.compare_state();
    if driver.chance(0.7) then
        perform driver.make_call('drop_queue', here || driver.argument('force', driver.literal('t', 'boolean')));
    end if;
end $$;

-- A gate of a waiting task times out, and somebody looks at once: what ends later, but before anybody looks, would still count.
create function driver.time_out_gate() returns void language plpgsql as $$
declare
    moment timestamptz := clock_timestamp() - '1 min'::interval;
    which float8 := random();
    g record;
begin
    select * into g
    from (select e.task, e.ord, t.rn, row_number() over (order by e.task, e.ord) - 1 as place, count(*) over () as n
          from twin.gate e join twin.task t on t.id = e.task
          where e.deadline > moment and t.status = 'waiting' and t.due is null and twin.verdict(e, moment) = 'closed') chosen
    where place = floor(which * n);
    if not found then
        return;
    end if;
    update twin.gate e set deadline = moment where e.task = g.task and e.ord = g.ord;
    update scylla.task_gate e set deadline = moment from scylla.task_spec s where s.rn = g.rn and e.task = s.id and e.ord = g.ord;
    update scylla.task_waiting w set due = moment from scylla.task_spec s where s.rn = g.rn and w.id = s.id;
    perform driver.make_call('maintain');
end $$;

create function driver.submit_waiting() returns void language plpgsql as $$
begin
    perform set_config('scylla.auto_create_queues', 'on', false);
    perform driver.make_call('submit',
        driver.argument('queue', driver.literal(driver.pick('waits', 'waits', 'q1')))
        || driver.argument('spec', driver.some_json())
        || driver.argument('rn', driver.literal(format('waits %s', current_setting('driver.step'))))
        || driver.argument('wait_for', driver.some_waits())
        || driver.optional(0.3, 'priority', driver.some_priority())
        || driver.optional(0.2, 'not_before', driver.some_time())
        || driver.optional(0.2, 'depends_on', driver.some_dependencies())
        || driver.optional(0.3, 'on_dependency_failure', driver.some_failure_rule())
        || driver.optional(0.2, 'max_attempts', driver.some_max_attempts())
        || driver.optional(0.2, 'plan', driver.literal(driver.some_plan())));
end $$;

-- A worker leases checks, and answers.
create function driver.answer_check() returns void language plpgsql as $$
declare
    queue text := driver.pick('asks', 'asks', 'bounded');
    name text := driver.any_task('running', queue);
    who jsonb;
    how text := driver.pick('complete', 'complete', 'not_yet', 'not_yet', 'not_yet', 'not_yet', 'fail', 'fail', 'abort', 'defer', 'cancel');
begin
    if name is null then
        perform driver.make_call('lease', driver.argument('queue', driver.literal(queue)) || driver.lease_arguments('w1', 2));
        return;
    end if;
    who := driver.argument('rn', driver.literal(name)) || driver.argument('worker', driver.literal((select t.owner from twin.task t where t.rn = name)));
    case how
    when 'complete' then
        perform driver.make_call('complete', who || driver.optional(0.8, 'result', driver.some_result()));
    when 'not_yet' then
        perform driver.make_call('not_yet', who || driver.optional(0.3, 'retry_after', driver.literal(driver.pick('0', '1.5 s', '30 min', '1 mon'), 'interval')));
    when 'fail' then
        perform driver.make_call('fail', who || '{"error": "''{\"code\": \"E\"}''"}' || driver.optional(0.8, 'retry_after', driver.literal('3 h', 'interval')));
    when 'abort' then
        perform driver.make_call('abort', who || '{"error": "''{\"code\": \"E\"}''"}');
    when 'defer' then
        perform driver.make_call('defer', who || driver.argument('wait_for', driver.literal('[{"signal": "s1"}]', 'jsonb')));
    else
        perform driver.make_call('cancel', driver.argument('rn', driver.literal(name)));
    end case;
end $$;

-- Who waits for a check does so no longer.
create function driver.cancel_waiter() returns void language plpgsql as $$
declare
    which float8 := random();
    name text := (select rn
                  from (select t.rn, row_number() over (order by t.id) - 1 as place, count(*) over () as n
                        from twin.task t
                        where t.status = 'waiting' and exists (select from twin.gate g where g.task = t.id and g.kind = 'check')) w
                  where place = floor(which * n));
begin
    if name is not null then
        perform driver.make_call('cancel', driver.argument('rn', driver.literal(name)));
    end if;
end $$;

-- Tasks wait for conditions, from their beginning or in the middle.
create function driver.wait_somehow() returns void language plpgsql as $$
declare
    verb text := driver.pick(
        'submit', 'submit', 'submit', 'lease', 'lease', 'lease', 'defer', 'defer', 'defer', 'not_yet', 'not_yet', 'send_signal',
        'send_signal', 'create_callback', 'create_callback', 'resolve_callback', 'resolve_callback', 'reject_callback', 'time out',
        'check', 'check', 'check', 'check', 'cancel', 'cancel');
begin
    case verb
    when 'submit' then
        perform driver.submit_waiting();
    when 'lease' then
        perform driver.make_call('lease', driver.argument('queue', driver.literal(driver.pick('waits', 'q1')))
                                          || driver.lease_arguments(driver.pick('w1', 'w2'), 2));
    when 'time out' then
        perform driver.time_out_gate();
    when 'check' then
        perform driver.answer_check();
    when 'cancel' then
        perform driver.cancel_waiter();
    else
        perform driver.make_call(verb, driver.some_arguments(verb));
    end case;
end $$;

-- ---------------------------------------------------------------------------------------------------------------
-- Pools
-- ---------------------------------------------------------------------------------------------------------------

create function driver.needing_queue() returns text language sql as $$
    select driver.pick('needs', 'needs', 'ages');
$$;

create function driver.submit_needing() returns void language plpgsql as $$
begin
    perform driver.make_call('submit',
        driver.argument('queue', driver.literal(driver.needing_queue()))
        || driver.argument('spec', driver.some_json())
        || driver.optional(0.9, 'rn', driver.literal(format('needs %s.%s', current_setting('driver.step'), driver.below(1000))))
        || driver.argument('needs', driver.literal(driver.some_needs()::text, 'jsonb'))
        || driver.optional(0.85, 'expected_runtime', driver.literal(driver.some_runtime(), 'interval'))
        || driver.argument('priority', driver.literal(driver.below(3)::text, 'int'))
        || driver.optional(0.1, 'not_before', driver.some_time())
        || driver.optional(0.15, 'depends_on', driver.some_dependencies())
        || driver.optional(0.2, 'max_attempts', driver.some_max_attempts())
        || driver.optional(0.1, 'plan', driver.literal(driver.some_plan())));
end $$;

create function driver.submit_many_needing() returns void language plpgsql as $$
declare
    needs jsonb := driver.some_needs();
    elements jsonb := '[]';
begin
    for i in 1 .. 1 + driver.below(4) loop
        needs := case when driver.chance(0.5) then driver.some_needs() else needs end;
        elements := elements || jsonb_build_array(jsonb_build_object(
            'queue', driver.needing_queue(), 'spec', i, 'priority', driver.below(3),
            'rn', format('many %s.%s', current_setting('driver.step'), driver.below(1000)))
            || case when driver.chance(0.8) then jsonb_build_object('needs', needs) else '{}' end
            || case when driver.chance(0.8) then jsonb_build_object('expected_runtime', driver.pick('1 hour', '2 hours', '4 hours')) else '{}' end);
    end loop;
    perform driver.make_call('submit_many', driver.argument('tasks', driver.literal(elements::text, 'jsonb')));
end $$;

-- A task that needs something and is in that state.
create function driver.any_needing(state text) returns text language sql as $$
    with chosen as (select random() as which)
    select rn
    from (select t.rn, row_number() over (order by t.id) - 1 as place, count(*) over () as n
          from twin.task t where t.status::text = any_needing.state and t.needs is not null) t, chosen
    where place = floor(which * n);
$$;

-- By every way there is, and by a worker whose attempt is over.
create function driver.end_run() returns void language plpgsql as $$
declare
    name text := driver.any_needing('running');
    t twin.task;
    who jsonb;
    how text := driver.pick('complete', 'complete', 'complete', 'complete', 'fail', 'fail', 'fail later', 'abort', 'yield', 'yield', 'not_yet',
                            'defer', 'cancel', 'expire');
begin
    if name is null then
        return;
    end if;
    select * into t from twin.task where rn = name;
    who := driver.argument('rn', driver.literal(name)) || driver.argument('worker', driver.literal(t.owner))
        || driver.optional(0.3, 'attempt', driver.literal((t.attempt - driver.chance(0.3)::int)::text, 'int'));
    case how
    when 'fail' then
        perform driver.make_call('fail', who || '{"error": "''{\"code\": \"E\"}''", "retry_after": "''0''"}');
    when 'fail later' then
        perform driver.make_call('fail', who || '{"error": "''{\"code\": \"E\"}''"}');
    when 'abort' then
        perform driver.make_call('abort', who || '{"error": "''{\"code\": \"E\"}''"}');
    when 'not_yet' then
        perform driver.make_call('not_yet', who || driver.optional(0.7, 'retry_after', driver.literal('0', 'interval')));
    when 'defer' then
        perform driver.make_call('defer', who || driver.argument('wait_for', driver.literal(driver.pick('[]', '[{"signal": "s1"}]'), 'jsonb')));
    when 'cancel' then
        perform driver.make_call('cancel', driver.argument('rn', driver.literal(t.rn)));
    when 'expire' then
        perform driver.move_deadline(t.rn, clock_timestamp() - '1 min'::interval);
        perform driver.make_call('reset_expired');
    else
        perform driver.make_call(how, who);
    end case;
end $$;

create function driver.age_reports() returns void language sql as $$
    update scylla.pool_report set at = at - interval '2 hours';
    update twin.pool set reported_at = reported_at - interval '2 hours';
$$;

-- Tasks need something of pools, and these change.
create function driver.place_somehow() returns void language plpgsql as $$
declare
    verb text := driver.pick(
        'submit', 'submit', 'submit', 'submit', 'submit', 'submit', 'submit_many', 'submit_many', 'place', 'place', 'place', 'place', 'place',
        'lease', 'lease', 'lease', 'lease', 'end', 'end', 'end', 'end', 'end', 'cancel', 'alter_pool', 'alter_pool', 'drain_pool', 'resume_pool',
        'resume_pool', 'report_usage', 'age', 'create_pool', 'drop_pool', 'pause', 'signal', 'roll back');
    pool text;
begin
    case verb
    when 'submit' then perform driver.submit_needing();
    when 'submit_many' then perform driver.submit_many_needing();
    when 'lease' then
        perform driver.make_call('lease', driver.argument('queue', driver.literal(driver.needing_queue()))
                                          || driver.lease_arguments(driver.pick('w1', 'w2'), 3));
    when 'end' then perform driver.end_run();
    when 'cancel' then
        perform driver.make_call('cancel', driver.argument('rn', driver.literal(driver.any_needing(driver.pick('waiting', 'ready')))));
    when 'drain_pool' then
        if driver.chance(0.5) then
            perform driver.make_call(verb, driver.some_arguments(verb));
        end if;
    when 'resume_pool' then
        foreach pool in array '{s,g,f}'::text[] loop
            perform driver.make_call(verb, driver.argument('pool', driver.literal(pool)));
        end loop;
    when 'age' then
        perform driver.age_reports();
        perform driver.move_submission(driver.any_needing('waiting'));
    when 'pause' then
        perform driver.make_call(driver.pick('pause_queue', 'resume_queue', 'resume_queue'), '{"queue": "''ages''"}');
    when 'signal' then
        perform driver.make_call('send_signal', '{"name": "''s1''"}');
    when 'roll back' then
        begin
            for i in 0 .. driver.below(4) loop
                perform driver.place_somehow();
            end loop;
            raise exception using errcode = 'SR000';
        exception when sqlstate 'SR000' then
            perform driver.compare_state();
        end;
    else
        perform driver.make_call(verb, driver.some_arguments(verb));
    end case;
end $$;

create function driver.take_step() returns void language plpgsql as $$
declare
    kind float8 := random();
begin
    if kind < 0.87 then
        perform driver.call_some_verb();
    elsif kind < 0.93 then
        perform driver.maintain_somehow();
    elsif kind < 0.945 then
        perform driver.run_graph();
    elsif kind < 0.955 then
        perform driver.run_keys();
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

-- What chance brings about too rarely.
create function driver.refuse_rarely() returns void language plpgsql as $$
declare
    two text[] := '{two 1,two 2}';
    name text;
begin
    perform driver.make_call('create_queue', '{"queue": "''two''", "max_running": "1"}');
    foreach name in array two loop
        perform driver.make_call('submit', driver.argument('queue', driver.literal('two')) || driver.argument('rn', driver.literal(name))
                                           || driver.argument('spec', driver.literal('{}', 'jsonb')));
        perform driver.make_call('lease_task', driver.argument('rn', driver.literal(name)) || driver.argument('worker', driver.literal('w1')));
    end loop;
    perform driver.make_call('create_plan', '{"name": "''two''"}');
    foreach name in array array['two', 'two', ''] loop
        perform driver.make_call('cancel_plan', driver.argument('plan', driver.literal(name)));
    end loop;
    perform driver.make_call('cancel', driver.argument('rn', driver.literal('')));
    perform driver.make_call('plan_completed', driver.argument('plan', driver.literal('')));
    perform driver.make_call('pause_queue', driver.argument('queue', driver.literal('')));
    perform driver.make_call('resume_queue', driver.argument('queue', driver.literal('')));
    perform driver.make_call('create_queue', '{"queue": "''once''", "max_attempts": "1", "rate": "''{\"tasks\": 1, \"per\": \"365 days\"}''"}');
    perform driver.make_call('submit', '{"queue": "''once''", "spec": "''1''", "rn": "''once''"}');
    perform driver.make_call('lease', '{"queue": "''once''", "worker": "''w1''"}');
    perform driver.make_call('lease_task', '{"rn": "''once''", "worker": "''w1''"}');
    perform driver.make_call('alter_queue', '{"queue": "''once''", "settings": "''{\"rate\": null}''"}');
    perform driver.make_call('lease', '{"queue": "''once''", "worker": "''w1''"}');
    perform driver.make_call('fail', '{"rn": "''once''", "worker": "''w1''", "error": "''{\"code\": \"E\"}''"}');
    perform driver.make_call('drop_queue', '{"queue": "''''"}');
    perform driver.make_call('drop_queue', '{"queue": "''once''", "force": "true"}');
    perform set_config('scylla.auto_create_queues', 'off', false);
    perform driver.make_call('submit_bulk', '{"queue": "''none''", "specs": "array[''1'']::jsonb[]"}');
    perform driver.make_call('submit_many', driver.argument('tasks', driver.literal('[{"queue": "none", "spec": 1}]', 'jsonb')));
end $$;

-- Likewise.
create function driver.refuse_waits_rarely() returns void language plpgsql as $$
declare
    verb text;
    name text;
    who jsonb;
begin
    perform driver.make_call('create_callback', '{"token": "''''"}');
    perform driver.make_call('create_callback', '{"token": "''once''"}');
    perform driver.make_call('create_callback', '{"token": "''once''"}');
    foreach name in array array['none', ''] loop
        perform driver.make_call('resolve_callback', driver.argument('token', driver.literal(name)));
        perform driver.make_call('reject_callback', driver.argument('token', driver.literal(name))
                                                    || driver.argument('error', driver.literal('{"code": "E"}', 'jsonb')));
    end loop;
    perform driver.make_call('send_signal', '{"name": "''''"}');
    perform driver.make_call('create_queue', '{"queue": "''waits''", "events": "true"}');
    perform driver.make_call('create_queue', '{"queue": "''asks''", "events": "true"}');
    perform driver.make_call('create_queue', '{"queue": "''bounded''", "max_depth": "1", "on_full": "''shed''", "events": "true"}');
    perform driver.make_call('submit', '{"queue": "''waits''", "spec": "''1''", "rn": "''idle''"}');
    foreach verb in array array['not_yet', 'defer'] loop
        foreach name in array array['none', 'idle', ''] loop
            who := driver.argument('rn', driver.literal(name)) || driver.argument('worker', driver.literal('w1'));
            perform driver.make_call(verb, who || case when verb = 'defer' then driver.argument('wait_for', driver.literal('[]', 'jsonb'))
                                                  else '{}' end);
        end loop;
    end loop;
end $$;

-- Likewise: three who are not equally impatient wait for one check, and it is asked again and again.
create function driver.ask_again() returns void language plpgsql as $$
declare
    worker jsonb := '{"worker": "''w1''"}';
    answer text;
    name text;
begin
    perform driver.make_call('create_queue', '{"queue": "''again''"}');
    for i in 1 .. 3 loop
        perform driver.make_call('submit', driver.argument('queue', driver.literal('waits')) || driver.argument('spec', driver.literal('1', 'jsonb'))
            || driver.argument('rn', driver.literal('again ' || i)) || driver.argument('priority', driver.literal((i * 2)::text, 'int'))
            || driver.argument('wait_for', driver.literal(jsonb_build_array(jsonb_build_object('check', jsonb_build_object(
                   'queue', 'again', 'spec', 1, 'every', (array['2 h', '20 min', null])[i])))::text, 'jsonb')));
    end loop;
    name := driver.any_task('ready', 'again');
    foreach answer in array '{not_yet,not_yet,fail}'::text[] loop
        perform driver.move_due(name, clock_timestamp() - '2 min'::interval);
        perform driver.make_call('maintain');
        perform driver.make_call('lease', driver.argument('queue', driver.literal('again')) || driver.lease_arguments('w1', 1));
        perform driver.make_call(answer, worker || driver.argument('rn', driver.literal(name))
            || case answer when 'fail' then '{"error": "''{\"code\": \"E\"}''", "retry_after": "''3 h''"}' else '{}'::jsonb end);
        perform driver.make_call('maintain');
        perform driver.compare_state();
    end loop;
    for i in 1 .. 3 loop
        perform driver.make_call('cancel', driver.argument('rn', driver.literal('again ' || i)));
        perform driver.make_call('maintain');
        perform driver.compare_state();
    end loop;
end $$;

-- The pools, and what chance brings about too rarely.
create function driver.refuse_pools_rarely() returns void language plpgsql as $$
declare
    verb text;
    name text;
begin
    perform set_config('scylla.auto_create_queues', 'on', false);
    perform driver.make_call('create_queue', '{"queue": "''needs''", "events": "true"}');
    perform driver.make_call('create_queue', '{"queue": "''ages''", "aging": "0.0002"}');
    perform driver.make_call('create_pool', '{"pool": "''s''", "capacity": "''{\"a\": 6, \"b\": 5}''", "policy": "''strict''"}');
    perform driver.make_call('create_pool', '{"pool": "''g''", "capacity": "''{\"a\": 5, \"b\": 4.5}''", "policy": "''greedy''"}');
    perform driver.make_call('create_pool', '{"pool": "''f''", "capacity": "''{\"a\": 7, \"b\": 3}''", "settings": "''{\"max_bypass\": 2}''"}');
    foreach name in array array['s', 'workflow:s'] loop
        perform driver.make_call('create_pool', driver.argument('pool', driver.literal(name)) || '{"capacity": "''{\"a\": 1}''"}');
    end loop;
    foreach name in array array['unknown', ''] loop
        perform driver.make_call('alter_pool', driver.argument('pool', driver.literal(name)) || '{"changes": "''{}''"}');
        perform driver.make_call('report_usage', driver.argument('pool', driver.literal(name)) || '{"used": "''{}''"}');
        foreach verb in array array['drop_pool', 'drain_pool', 'resume_pool', 'place'] loop
            perform driver.make_call(verb, driver.argument('pool', driver.literal(name)));
        end loop;
    end loop;
end $$;

-- A queue goes while a plan is under way that has failed there: the plan knows of it to its end. Nothing is left behind.
create function driver.drop_queue_of_failed_task() returns void language plpgsql as $$
declare
    here jsonb := driver.argument('queue', driver.literal('failed'));
    plan jsonb := driver.argument('plan', driver.literal('half'));
    worker jsonb := driver.argument('worker', driver.literal('w1'));
    force jsonb := driver.argument('force', driver.literal('t', 'boolean'));
    name text;
begin
    perform driver.make_call('create_plan', driver.argument('name', driver.literal('half')));
    foreach name in array array['failed', 'other'] loop
        perform driver.make_call('submit', plan || driver.argument('queue', driver.literal(name))
                                           || driver.argument('rn', driver.literal(name))
                                           || driver.argument('spec', driver.literal('{}', 'jsonb')));
    end loop;
    perform driver.make_call('open_plan', plan);
    perform driver.make_call('lease', here || worker);
    perform driver.make_call('abort', worker || driver.argument('rn', driver.literal('failed'))
                                             || driver.argument('error', driver.literal('{"code": "E"}', 'jsonb')));
    perform driver.make_call('drop_queue', here || force);
    perform driver.compare_state();
    here := driver.argument('queue', driver.literal('other'));
    perform driver.make_call('lease', here || worker);
    perform driver.make_call('complete', worker || driver.argument('rn', driver.literal('other')));
    perform driver.make_call('plan_completed', plan);
    perform driver.compare_state();
    perform driver.make_call('drop_queue', here || force);
    perform driver.move_end_of_plan('half', clock_timestamp() - '400 days'::interval);
    perform driver.make_call('purge');
end $$;

create function driver.begin_step(n int, longest interval) returns timestamptz language plpgsql as $$
declare
    began timestamptz := clock_timestamp();
begin
    perform set_config('driver.step', n::text, false), set_config('driver.longest', longest::text, false),
            set_config('driver.began', to_char(began, 'YYYY-MM-DD HH24:MI:SS.USTZH:TZM'), false);
    return began;
end $$;

create function driver.begin_run(seed int) returns void language plpgsql as $$
begin
    perform set_config('driver.seed', seed::text, false), set_config('driver.step', '0', false),
            setseed(seed / 2147483648.0);
    -- Neither the time zone nor the styles may matter. Leases without a timeout do not expire by themselves.
    perform set_config('timezone', driver.pick('Asia/Kathmandu', 'America/St_Johns', 'UTC'), false),
            set_config('datestyle', driver.pick('SQL, DMY', 'German', 'ISO'), false),
            set_config('intervalstyle', driver.pick('iso_8601', 'sql_standard', 'postgres'), false),
            set_config('scylla.default_timeout', driver.pick('30min', '12h', '3600001ms'), false),
            set_config('scylla.default_max_attempts', case seed % 5 when 3 then '25' when 0 then '4' else '-1' end, false);
    perform driver.compare_signatures();
end $$;

-- Most verbs.
create procedure driver.run_verbs(steps int) language plpgsql as $$
declare
    runs_of_one_task int := case when driver.chance(0.5) then 140 else driver.below(60) end;
    crowd_comes int := 200 + driver.below(200);
    commits float8;
    began timestamptz;
    longest interval := '1 ms';
begin
    for n in 1 .. steps loop
        began := driver.begin_step(n, longest);
        if n = 1 then
            perform driver.drop_queue_of_failed_task(); -- first: the purge is to find nothing else
            perform driver.make_call('create_queue',
                                     '{"queue": "''q3''", "default_timeout": "''2 h''", "retention": "''1 day''"}');
            perform driver.make_call('create_queue', driver.argument('queue', driver.literal('q2'))
                || driver.argument('aging', driver.literal(driver.pick('0.0002', '0.002'), 'float8')));
            perform driver.make_call('create_queue', driver.argument('queue', driver.literal('crowd')));
            perform driver.make_call('submit', '{"queue": "''only''", "spec": "''{}''", "rn": "''often''", "max_attempts": "1000"}');
            perform driver.refuse_rarely();
        elsif n <= 9 then
            -- What sees most comes first: a fault is found soon.
            case n % 2 when 0 then perform driver.run_graph(); else perform driver.run_keys(); end case;
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
        if n % 50 = 0 or n = steps then
            perform driver.compare_state();
            perform driver.check_extension();
        end if;
        longest := greatest(longest, clock_timestamp() - began);
        -- Transactions of one or several steps; for a while rather short ones, for a while rather long ones.
        if n % 30 = 1 or n = crowd_comes + 1 then
            commits := driver.pick('1', '0.6', '0.3', '0.1');
        end if;
        if n % 15 = 0 then
            commit;
            perform driver.purge_somehow();
        end if;
        if driver.chance(commits) or n = crowd_comes + 7 then
            commit;
            -- Else bounds would be pending most of the time.
            if exists (select from twin.pending) and driver.chance(0.8) then
                perform driver.make_call('maintain');
            end if;
        end if;
    end loop;
    commit;
end $$;

-- Tasks that wait for conditions or for pools, among most verbs.
create procedure driver.run_waiting(what text, steps int) language plpgsql as $$
declare
    began timestamptz;
    longest interval := '1 ms';
begin
    for n in 1 .. steps loop
        began := driver.begin_step(n, longest);
        if n = 1 then
            perform case what when 'conditions' then driver.refuse_waits_rarely() else driver.refuse_pools_rarely() end;
        elsif driver.chance(0.75) then
            perform case what when 'conditions' then driver.wait_somehow() else driver.place_somehow() end;
        else
            perform driver.take_step();
        end if;
        if n % 10 = 0 then
            perform driver.compare_state();
            perform driver.check_extension();
        end if;
        longest := greatest(longest, clock_timestamp() - began);
        if n % 40 = 0 then
            commit;
            perform driver.purge_somehow();
        end if;
        -- Which also places tasks: rarely where the line is to grow.
        if driver.chance(case what when 'pools' then 0.08 else 0.3 end) then
            commit;
            perform driver.make_call('maintain');
        end if;
    end loop;
    if what = 'conditions' then
        commit;
        perform driver.ask_again();
    end if;
    perform driver.compare_state();
    perform driver.check_extension();
    commit;
end $$;

-- Of a subject: verbs, conditions or pools. Without checks for a twin with a fault.
create procedure driver.run(seed int, steps int, subject text, checks boolean default true) language plpgsql as $$
begin
    perform set_config('driver.checks', checks::text, false);
    perform driver.begin_run(seed);
    case subject
    when 'verbs' then call driver.run_verbs(steps);
    else call driver.run_waiting(subject, steps);
    end case;
end $$;
