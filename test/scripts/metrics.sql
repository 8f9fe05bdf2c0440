-- What the test of the metrics looks at: queues with all kinds of counters, and with names that need quoting.
create extension scylla;
create role monitoring login;
grant pg_monitor to monitoring;
select from generate_series(1, 20) n, lateral scylla.submit('mail', to_jsonb(n), rn => 'mail-' || n, priority => n % 3, max_attempts => 1);
select scylla.submit('mail', '1', rn => 'later', not_before => now() + interval '1 day');
select scylla.lease_task('mail-' || n, 'worker ' || n % 2, timeout => '1 h') from generate_series(1, 12) n;
select scylla.complete('mail-' || n, 'worker ' || n % 2) from generate_series(1, 5) n;
select scylla.fail('mail-6', 'worker 0', '{"code": "x"}');
select scylla.yield('mail-7', 'worker 1');
select scylla.abort('mail-8', 'worker 0', '{"code": "x"}');
select scylla.cancel('mail-9');
select scylla.submit(q, '1') from unnest(array['with "quotes"', E'with\nnewline', E'with\ttab', 'with \ backslash', 'ärgerlich, {a="b"} ü', '#']) q;
select scylla.create_queue('empty');
select scylla.create_queue('sheds', max_depth => 1, on_full => 'shed');
select scylla.submit_bulk('sheds', array_fill('1'::jsonb, array[4]));
select scylla.create_queue('refuses', max_depth => 1);
do $$ begin
    perform scylla.submit_bulk('refuses', array_fill('1'::jsonb, array[2]));
exception when configuration_limit_exceeded then null;
end $$;
select scylla.create_pool('cluster', '{"cores": 10.5, "a \"b\"": 1}');
select scylla.submit('placed', '1', rn => 'placed', needs => '{"cluster": {"cores": 4}}');
select scylla.place();
update scylla.task_reservation set since = now() - interval '2 h';
select scylla.report_usage('cluster', '{"cores": 7}', now() - interval '1 h');
select scylla.submit('placed', '1', priority => 1, needs => '{"cluster": {"cores": 4}}');
update scylla.task_lease set deadline = now() - interval '1 s' where owner = 'worker 0';
select scylla.maintain();
select scylla.create_workflow(jsonb_build_object('properties', '{"owner": "ann"}'::jsonb, 'workflow', jsonb_build_object('id', w,
    'steps', jsonb_build_array(jsonb_build_object('step', jsonb_build_object('id', 's', 'type', w)))))) from unnest(array['line', 'lost']) w;
select scylla.start_workflow('line'), scylla.start_workflow('line'), scylla.start_workflow('lost');
create procedure await(condition text) language plpgsql as $$
declare met boolean;
begin
    for i in 1..1200 loop
        execute 'select ' || condition into met;
        exit when met;
        perform pg_sleep(0.05);
    end loop;
end $$;
call await($$count(*) = 2 from scylla.stat_workflow where running = 1 and agenda = 0$$);
select scylla.abort(rn, 'w', '{"code": "x"}') from scylla.lease('lost', 'w');
call await($$failed = 1 and agenda = 0 from scylla.stat_workflow where workflow = 'lost'$$);
select scylla.create_callback('token');
select scylla.submit('waits', '1', rn => 'waits-' || n, wait_for => '[{"signal": "c"}]') from generate_series(1, 2) n;
select scylla.submit('waits', '1', wait_for => '[{"signal": "d"}, {"callback": "token"}]');
select scylla.submit('waits', '1', wait_for => '[{"check": {"queue": "asked", "spec": 1}}]') from generate_series(1, 3) n;
select scylla.submit('waits', '1', rn => 'deferred');
select scylla.lease_task('deferred', 'w', timeout => '1 h');
select scylla.defer('deferred', 'w', '[{"callback": "token"}]');
select scylla.create_trigger('pair', '[{"signal": "a", "join": ["k"]}, {"signal": "b", "join": ["k"]}]', '{"submit": {"queue": "made", "spec": 1}}');
select scylla.create_trigger('never', '[{"signal": "a"}]', '{"submit": {"queue": "made", "spec": 1}}', '$[0].params.k == 99');
select scylla.create_trigger('held "back"', '[{"signal": "b"}]', '{"submit": {"queue": "made", "spec": 1}}');
select scylla.pause_trigger('held "back"');
select scylla.send_signal('a', '{"k": 1}'), scylla.send_signal('a', '{"k": 2}'), scylla.send_signal('b', '{"k": 1}');
call await($$string_agg(fired + skipped || ' ' || waiting, ', ' order by trigger) = '0 1, 2 0, 1 1' from scylla.stat_trigger$$);
call await($$submitted = 1 from scylla.stat_queue where queue = 'made'$$);
insert into scylla.signal_trigger_failure (trigger, seqs, retry_at, attempts, error)
select id, array[(select max(seq) from scylla.signal)], 'infinity', 1, 'x' from scylla.signal_trigger where name = 'pair';
