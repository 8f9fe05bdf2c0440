-- The arguments of each verb

-- An element of submit_many's array.
-- others: the names of the elements before it.
create function driver.some_request(others text[]) returns jsonb language plpgsql as $$
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
    if driver.chance(0.3) then
        element := element || jsonb_build_object('key', driver.some_key());
    end if;
    if driver.chance(0.15) then
        element := element || jsonb_build_object('dedup_key', driver.pick('d1', 'd2', 'd3', null));
    end if;
    if driver.chance(0.2) then
        element := element || jsonb_build_object('plan', driver.some_plan());
    end if;
    if driver.chance(0.4) then
        element := element || jsonb_build_object('depends_on', (
            select jsonb_agg(case when cardinality(others) > 0 and driver.chance(0.7) then driver.pick(variadic others)
                                  when driver.chance(0.05) then driver.some_new_name()
                                  else driver.some_existing_task(null) end)
            from generate_series(1, 1 + driver.below(3))));
    end if;
    if driver.chance(0.3) then
        element := element || jsonb_build_object('on_dependency_failure', driver.pick('cascade', 'skip', 'ignore', null));
    end if;
    if driver.chance(0.03) then
        element := element || driver.pick(
            '{"depends_on": "t1"}', '{"depends_on": [null]}', '{"depends_on": [""]}', '{"depends_on": ["t1", 5]}',
            '{"depends_on": {"t1": 1}}', '{"depends_on": []}', '{"depends_on": null}', '{"depends_on": ["unknown"]}',
            '{"on_dependency_failure": "stop"}', '{"on_dependency_failure": 1}', '{"plan": ""}', '{"plan": 1}', '{"plan": "unknown"}',
            '{"dedup_key": ""}', '{"dedup_key": 1}',
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

-- Elements may depend on earlier ones; rarely on later ones, which may make a circle.
create function driver.some_requests() returns text language plpgsql as $$
declare
    requests jsonb := '[]';
    names text[] := '{}';
    request jsonb;
begin
    if driver.chance(0.03) then
        return driver.literal(driver.pick('{}', 'null', '5', '[]', null), 'jsonb');
    end if;
    for i in 1 .. driver.below(6) loop
        request := driver.some_request(names);
        requests := requests || jsonb_build_array(request);
        if jsonb_typeof(request) = 'object' and request ->> 'rn' <> '' then
            names := names || (request ->> 'rn');
        end if;
    end loop;
    if driver.chance(0.1) then
        select jsonb_agg(e order by place desc) into requests from jsonb_array_elements(requests) with ordinality _(e, place);
    end if;
    if driver.chance(0.05) and jsonb_typeof(requests -> 0) = 'object' and names <> '{}' then
        requests := jsonb_set(requests, '{0,depends_on}', to_jsonb(names));
    end if;
    return driver.literal(coalesce(requests, '[]')::text, 'jsonb');
end $$;

create function driver.some_bulk() returns jsonb language plpgsql as $$
declare
    specs text[] := '{}';
    names text[] := '{}';
begin
    for i in 1 .. driver.below(5) loop
        specs := specs || case when driver.chance(0.98) then driver.literal('{"bulk": 1}', 'jsonb')
                               else driver.some_json() end;
        names := names || case when driver.chance(0.95) then 'b' || driver.below(150)
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

-- No check is deferred until its own question is answered: which of the two checks that ask this then is found by others is up to the
-- extension.
create function driver.some_deferral() returns jsonb language plpgsql as $$
declare
    lease jsonb := driver.some_lease();
    waits text := case when driver.chance(0.02) then 'NULL::jsonb' else driver.some_waits() end;
    elements jsonb;
begin
    execute 'select ' || waits into elements;
    if exists (select from twin.task t cross join jsonb_path_query(elements, '$[*].check') c
               where t.is_check and driver.literal(t.rn) = lease ->> 'rn' and t.queue = c ->> 'queue' and t.spec = c -> 'spec') then
        waits := driver.literal('[]', 'jsonb');
    end if;
    return lease || driver.argument('wait_for', waits);
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
        || driver.optional(0.2, 'max_running_per_key', driver.literal(driver.pick_mostly('{1,2,NULL}', '{0,-1}'), 'int'))
        || driver.optional(0.2, 'max_running', driver.literal(driver.pick_mostly('{1,2,4,NULL}', '{0,-1}'), 'int'))
        || driver.optional(0.2, 'max_depth', driver.literal(driver.pick_mostly('{2,9,NULL}', '{0,-1}'), 'int'))
        || driver.optional(0.2, 'on_full', driver.literal(driver.pick_mostly('{error,shed}', '{"",Shed,NULL}')))
        || driver.optional(0.2, 'key_weights', driver.literal(driver.some_weights()::text, 'jsonb'))
        || driver.optional(0.2, 'rate', driver.literal(driver.some_rate()::text, 'jsonb'))
    when 'alter_queue' then
        driver.argument('queue', driver.literal(driver.some_queue()))
        || driver.argument('settings', driver.literal(driver.some_settings()::text, 'jsonb'))
    when 'pause_queue' then driver.argument('queue', driver.literal(driver.some_queue()))
    when 'resume_queue' then driver.argument('queue', driver.literal(driver.some_queue()))
    when 'drop_queue' then
        driver.argument('queue', driver.literal(driver.some_queue()))
        || driver.optional(0.6, 'force', driver.literal(driver.pick('t', 't', 'f', null), 'boolean'))
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
        || driver.optional(0.3, 'key', driver.literal(case when driver.chance(0.02) then '' else driver.some_key() end))
        || driver.optional(0.35, 'depends_on', driver.some_dependencies())
        || driver.optional(0.3, 'on_dependency_failure', driver.some_failure_rule())
        || driver.optional(0.2, 'plan', driver.literal(driver.some_plan()))
        || driver.optional(0.15, 'dedup_key', driver.some_dedup_key())
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
    when 'create_plan' then
        driver.optional(0.9, 'name', driver.literal(driver.pick_mostly('{p1,p2,p3,p4,p5,p6}',
                                                                       array[repeat('ü', 200), '', repeat('p', 201), null])))
        || driver.optional(0.3, 'spec', driver.some_json())
    when 'open_plan' then driver.argument('plan', driver.literal(driver.some_plan(driver.chance(0.1))))
    when 'cancel_plan' then driver.argument('plan', driver.literal(driver.some_plan()))
    when 'plan_completed' then driver.argument('plan', driver.literal(driver.some_plan()))
    when 'get_task' then driver.argument('rn', driver.literal(driver.some_task('completed')))
    when 'list_tasks' then
        driver.optional(0.6, 'queue', driver.literal(driver.some_queue()))
        || driver.optional(0.7, 'status', quote_nullable(driver.pick(
            'ready', 'ready', 'running', 'waiting', 'completed', 'aborted', 'cancelled', null)))
        || driver.optional(0.3, 'worker', driver.literal(driver.some_worker()))
        || driver.optional(0.7, 'max_tasks', driver.some_count())
    when 'create_callback' then
        driver.optional(0.95, 'token', driver.literal(driver.some_token()))
        || driver.optional(0.3, 'expires', driver.literal(driver.pick_mostly('{1 day,365 days,NULL}', '{0,366 days}'), 'interval'))
    when 'resolve_callback' then
        driver.argument('token', driver.literal(case when driver.chance(0.8) then driver.any_callback() else driver.some_token() end))
        || driver.optional(0.7, 'value', driver.some_result())
    when 'reject_callback' then
        driver.argument('token', driver.literal(case when driver.chance(0.8) then driver.any_callback() else driver.some_token() end))
        || driver.argument('error', driver.some_error())
    when 'send_signal' then
        driver.argument('name', driver.literal(driver.pick_mostly('{s1,s1,s2}', array['', repeat('s', 201), null])))
        || driver.optional(0.9, 'params', driver.literal(driver.some_params()::text, 'jsonb'))
        || driver.optional(0.4, 'payload', driver.some_json())
        || driver.optional(0.2, 'request_id', driver.literal(driver.pick('r1', 'r2', 'r3', 'r4', null)))
    when 'not_yet' then
        driver.some_lease()
        || driver.optional(0.6, 'retry_after', driver.literal(driver.pick_mostly(
            '{0,1 us,1.5 s,1 h,1 mon,365 days,NULL}', '{-1 s,366 days}'), 'interval'))
    when 'defer' then driver.some_deferral()
        || driver.optional(0.5, 'state', driver.some_json())
    when 'create_pool' then
        driver.argument('pool', driver.literal(case when driver.chance(0.5) then 'new' else driver.some_pool() end))
        || driver.argument('capacity', driver.literal(driver.some_capacity()::text, 'jsonb'))
        || driver.optional(0.5, 'policy', driver.literal(driver.pick_mostly('{strict,greedy,backfill,NULL}', '{"",Strict}')))
        || driver.optional(0.5, 'settings', driver.literal(driver.pick(
            '{}', '{"max_bypass": 2}', '{"metrics_max_age": "1 hour"}', '{"max_bypass": null}', '{"policy": "strict"}', '[]', null), 'jsonb'))
    when 'alter_pool' then
        driver.argument('pool', driver.literal(driver.some_pool()))
        || driver.argument('changes', driver.literal(driver.some_pool_changes()::text, 'jsonb'))
    when 'drop_pool' then driver.argument('pool', driver.literal(case when driver.chance(0.7) then 'new' else driver.some_pool() end))
    when 'drain_pool' then driver.argument('pool', driver.literal(driver.some_pool()))
    when 'resume_pool' then driver.argument('pool', driver.literal(driver.some_pool()))
    when 'report_usage' then
        driver.argument('pool', driver.literal(driver.some_pool()))
        || driver.argument('used', driver.literal(case when driver.chance(0.05) then driver.pick('5', '{"c": 1}', '{"a": -1}', null)
                                                       else driver.some_amounts()::text end, 'jsonb'))
        || driver.optional(0.2, 'at', driver.literal(driver.pick_mostly(
            array['2001-01-01 00:00:00+00'::timestamptz + format('%s min %s s', current_setting('driver.step'), driver.below(60))::interval, null]::text[],
            '{infinity,2099-01-01 00:00:00+00}'), 'timestamptz'))
    when 'place' then driver.optional(0.4, 'pool', driver.literal(driver.pick_mostly('{s,g,f,NULL}', '{unknown,""}')))
    when 'statement' then jsonb_build_object('text', driver.some_statement())
    end;
end $$;
