-- What the calls of locks.py need: the same objects twice, those of "a" and those of "b".
create extension scylla;
set scylla.schedules = 'manual';

create procedure make(s text) language plpgsql as $$
begin
    perform scylla.create_queue('q ' || s, default_timeout => '1 day');
    perform scylla.create_queue('limits ' || s, max_running => 100, max_running_per_key => 50, max_depth => 1000, default_timeout => '1 day');
    perform scylla.create_queue('rated ' || s, rate => '{"tasks": 1000, "per": "1 s"}');
    perform scylla.submit('rated ' || s, '1') from generate_series(1, 3);
    perform scylla.create_queue('paused ' || s);
    perform scylla.create_queue('empty ' || s, default_timeout => '1 day');
    perform scylla.pause_queue('paused ' || s);
    perform scylla.submit('q ' || s, '1', rn => name || ' ' || s)
    from unnest('{running,retried,completed,aborted,deferred}'::text[]) name;
    perform scylla.lease('q ' || s, 'w', 5);
    perform scylla.complete('completed ' || s, 'w'), scylla.abort('aborted ' || s, 'w', '{"code": "x"}');
    perform scylla.submit('q ' || s, '1', rn => name || ' ' || s, key => 'k') from unnest('{ready,second,third}'::text[]) name;
    perform scylla.submit('limits ' || s, '1', rn => 'limited ' || n || ' ' || s, key => 'k') from generate_series(1, 4) n;
    perform scylla.lease_task('limited 1 ' || s, 'w');
    perform scylla.submit('q ' || s, '1', rn => 'waiting ' || s, not_before => now() + '1 day');
    perform scylla.submit('q ' || s, '1', rn => 'dependant ' || s, depends_on => array['running ' || s]);
    perform scylla.submit('q ' || s, '1', rn => 'deduplicated ' || s, dedup_key => 'd ' || s, not_before => now() + '1 day');

    perform scylla.create_plan('building ' || s);
    perform scylla.submit('q ' || s, '1', rn => 'of a plan ' || s, plan => 'building ' || s);
    perform scylla.create_plan('open ' || s);
    perform scylla.submit('q ' || s, '1', rn => 'of an open plan ' || s, plan => 'open ' || s, not_before => now() + '1 day');
    perform scylla.open_plan('open ' || s);
    perform scylla.create_plan('failed ' || s);
    perform scylla.submit('empty ' || s, '1', rn => 'failed ' || s, plan => 'failed ' || s);
    perform scylla.open_plan('failed ' || s);
    perform scylla.lease('empty ' || s, 'w');
    perform scylla.abort('failed ' || s, 'w', '{"code": "x"}');
    perform scylla.schedule('schedule ' || s, '@daily', 'q ' || s, '1');

    perform scylla.create_callback('callback ' || s), scylla.create_callback('second callback ' || s);
    perform scylla.submit('q ' || s, '1', wait_for => jsonb_build_array(jsonb_build_object('callback', 'callback ' || s)));
    perform scylla.send_signal('signal ' || s, '{"of": 1}');
    perform scylla.submit('q ' || s, '1', wait_for => jsonb_build_array(jsonb_build_object('signal', 'signal ' || s, 'match', '{"of": 2}'::jsonb)));
    perform scylla.create_trigger('trigger ' || s, jsonb_build_array(jsonb_build_object('signal', 'signal ' || s)),
                                  jsonb_build_object('submit', jsonb_build_object('queue', 'q ' || s, 'spec', 1)));

    perform scylla.create_pool('pool ' || s, '{"a": 2}'), scylla.create_pool('idle pool ' || s, '{"a": 2}');
    perform scylla.submit('q ' || s, '1', rn => 'placed ' || s, needs => jsonb_build_object('pool ' || s, '{"a": 2}'::jsonb));
    perform scylla.place('pool ' || s);
    perform scylla.submit('q ' || s, '1', rn => 'in line ' || s, needs => jsonb_build_object('pool ' || s, '{"a": 1}'::jsonb));
    perform scylla.lease_task('placed ' || s, 'w');

    perform scylla.create_workflow(format('{"properties": {"owner": "ann"}, "workflow": {"id": "%s_%s", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}', w, s)::jsonb)
    from unnest('{flow,idle_flow}'::text[]) w;
    perform scylla.create_job_template(format('{"job_type": "%s_%s", "type": "NoOp"}', t, s)::jsonb) from unnest('{template,idle_template}'::text[]) t;
    perform scylla.create_workflow(format('{"properties": {"owner": "ann"}, "workflow": {"id": "busy_flow_%s", "steps": [{"step": {"id": "s", "type": "T"}}]}}', s)::jsonb);
    perform scylla.start_workflow('busy_flow_' || s);
    perform scylla.create_workflow(format('{"properties": {"owner": "ann"}, "workflow": {"id": "filled_flow_%s", "steps": [{"step": {"id": "s", "type": "T"}}]}}', s)::jsonb);
    perform scylla.backfill('filled_flow_' || s, '[{}, {}]');
    perform scylla.create_workflow(format('{"properties": {"owner": "ann", "run_strategy": "parallel"}, "workflow": {"id": "asleep_flow_%s", "steps": [{"step": {"id": "s", "type": "Sleep", "params": {"sleep_seconds": {"type": "LONG", "value": 100000}}}}]}}', s)::jsonb);
    perform scylla.start_workflow('asleep_flow_' || s) from generate_series(1, 3);
    perform scylla.create_workflow(format('{"properties": {"owner": "ann"}, "workflow": {"id": "out_flow_%s", "steps": [{"step": {"id": "s", "type": "Out_%s"}}]}}', s, s)::jsonb);
    perform scylla.start_workflow('out_flow_' || s), scylla._advance(), scylla.lease('out_' || s, 'w', timeout => '1 h');
    perform scylla.create_workflow(format('{"properties": {"owner": "ann"}, "workflow": {"id": "held_flow_%s", "steps": [{"step": {"id": "s", "type": "T"}}]}}', s)::jsonb);
    perform scylla.set_breakpoint('held_flow_' || s, 's'), scylla.start_workflow('held_flow_' || s), scylla._advance();
    perform scylla.create_workflow(format('{"properties": {"owner": "ann"}, "workflow": {"id": "waiting_flow_%s", "steps": [{"step": {"id": "s", "type": "T", "signal_dependencies": [{"name": "never"}]}}]}}', s)::jsonb);
    perform scylla.start_workflow('waiting_flow_' || s), scylla._advance();
    perform scylla.create_workflow(format('{"properties": {"owner": "ann"}, "workflow": {"id": "paused_flow_%s", "steps": [{"step": {"id": "s", "type": "T"}}]}}', s)::jsonb);
    perform scylla.pause_workflow('paused_flow_' || s), scylla.start_workflow('paused_flow_' || s);
    perform scylla.create_workflow(format('{"properties": {"owner": "ann"}, "workflow": {"id": "failed_flow_%s", "steps": [{"step": {"id": "s", "type": "T"}}]}}', s)::jsonb);
    perform scylla.start_workflow('failed_flow_' || s), scylla._advance();
    perform scylla.kill_run('failed_flow_' || s, 1), scylla._advance();
    perform scylla.define_job('job ' || s, 'q ' || s), scylla.define_job('idle job ' || s, 'q ' || s);
    perform scylla.mark_fresh('job ' || s, '{[1,9)}');
end $$;
-- What maintain(), reset_expired(), purge(), place() and run_schedules() find to do.
create procedure make_overdue(s text) language plpgsql as $$
begin
    perform scylla.create_queue('overdue ' || s, default_timeout => '1 ms', retention => '0');
    perform scylla.submit('overdue ' || s, '1', rn => name || ' ' || s) from unnest('{expired,purged}'::text[]) name;
    perform scylla.lease('overdue ' || s, 'w');
    perform scylla.cancel('purged ' || s);
    perform scylla.submit('overdue ' || s, '1', not_before => now() + '1 ms');
    perform scylla.create_pool('roomy pool ' || s, '{"a": 2}');
    perform scylla.submit('overdue ' || s, '1', needs => jsonb_build_object('roomy pool ' || s, '{"a": 1}'::jsonb));
end $$;
create role guest;
call make('a');
call make('b');
select scylla.maintain();
call make_overdue('a');
call make_overdue('b');

-- Makes each call and takes it back. waited: it had to wait for a lock longer than lock_timeout, or for something else until
-- statement_timeout. A hundred and sixty calls in one statement take half the time of as many transactions.
create function try_calls(calls text[]) returns table (waited boolean, seconds float, error text) language plpgsql as $$
declare
    call text;
    began timestamptz;
begin
    foreach call in array calls loop
        began := clock_timestamp();
        begin
            execute call;
            raise sqlstate 'UNDO1';
        exception
            when sqlstate 'UNDO1' then waited := false; error := null;
            when lock_not_available or query_canceled then waited := true; error := sqlerrm;
            when others then waited := false; error := sqlerrm;
        end;
        seconds := extract(epoch from clock_timestamp() - began);
        return next;
    end loop;
end $$;
