-- The view stat_workflow: what it counts, and that its price is that of what is live.
begin;
\ir include/helpers.psql
\ir include/workflows.psql
select * from no_plan();
select scylla.create_queue('a'), scylla.create_queue('b') \g /dev/null

-- instances queued running failed | steps: running signals permits paused retrying failed | agenda
create function stat(of text) returns text language sql as $$
    select concat_ws(' ', instances, queued, running, failed, '|', steps_running, steps_waiting_for_signals, steps_waiting_for_permits, steps_paused,
                     steps_retrying, steps_failed, '|', agenda)
    from scylla.stat_workflow where workflow = of
$$;
create function abort_one(queue text default 'a') returns void language plpgsql as $$
declare t scylla.task;
begin
    select * into strict t from scylla.lease(queue, 'w');
    perform scylla.abort(t.rn, 'w', '{"code": "bad", "message": "no good"}');
    perform advance();
end $$;

-- ---- runs ----------------------------------------------------------------------------------------------------------------

select make('line', jsonb_build_array(step('s', '{"t": "true"}'), step('t')), '{}', '{"run_strategy": "strict_sequential"}') \g /dev/null
select is(stat('line'), '0 0 0 0 | 0 0 0 0 0 0 | 0', 'a workflow that was never started');
select is((select array[oldest_queued, oldest_running, oldest_agenda, paused] from scylla.stat_workflow where workflow = 'line'),
          array_fill(null::timestamptz, array[4]), '... of which nothing is old');
select is((select owner || ' ' || active_version from scylla.stat_workflow where workflow = 'line'), current_user || ' 1', 'its owner and version');
select scylla.start_workflow('line'), scylla.start_workflow('line'), scylla.start_workflow('line') \g /dev/null
select is(stat('line'), '3 3 0 0 | 0 0 0 0 0 0 | 3', 'queued runs, and what the engine has not acted on');
select ok((select oldest_agenda between now() and clock_timestamp() from scylla.stat_workflow where workflow = 'line'), 'since when it waits');
select is((select string_agg(line, E'\n') from regexp_split_to_table(scylla.metrics(), '\n') line where line ~ '"line"' and line !~ ' 0$|_oldest_'),
          E'pgscylla_workflow_instances_total{workflow="line"} 3\npgscylla_workflow_agenda{workflow="line"} 3\npgscylla_workflow_runs_live{workflow="line",state="queued"} 3',
          'metrics() has the same numbers');
select cmp_ok((select substr(line, strpos(line, '} ') + 2)::float from regexp_split_to_table(scylla.metrics(), '\n') line
               where line ~ '^pgscylla_workflow_oldest_agenda_seconds\{workflow="line"\}'), '>', 0::float, '... and ages');
select advance() \g /dev/null
select is(stat('line'), '3 2 1 0 | 1 0 0 0 0 0 | 0', 'one has begun');
update scylla.workflow_head set created = '2020-01-01';
update scylla.workflow_run_state set created = now() - instance * interval '1 hour', started = case when started is not null then now() - interval '1 day' end;
select is((select (now() - oldest_queued) || ' ' || (now() - oldest_running) from scylla.stat_workflow where workflow = 'line'), '03:00:00 1 day', 'the oldest ones');
select scylla.pause_workflow('line') \g /dev/null
select ok((select paused between now() and clock_timestamp() from scylla.stat_workflow where workflow = 'line'), 'since when it is paused');
select scylla.resume_workflow('line'), advance(), abort_one() \g /dev/null
select is(stat('line'), '3 2 0 1 | 0 0 0 0 0 0 | 0', 'a run that has failed: it blocks the others');
select scylla.restart_run('line', 1) \g /dev/null
select is(stat('line'), '3 3 0 0 | 0 0 0 0 0 0 | 1', 'it is restarted');
select advance() \g /dev/null
select is(stat('line'), '3 2 1 0 | 1 0 0 0 0 0 | 0', '... and the first of them again');
select count(*) from (select scylla.complete(rn, 'w') from scylla.lease('a', 'w')) c \g /dev/null
select is(stat('line'), '3 2 1 0 | 1 0 0 0 0 0 | 1', 'what its second run has on the agenda');
select advance(), abort_one(), scylla.unblock_workflow('line'), advance() \g /dev/null
select is(stat('line'), '3 1 1 0 | 1 0 0 0 0 0 | 0', 'failed runs that somebody has looked at are not counted');

-- ---- steps ---------------------------------------------------------------------------------------------------------------

select scylla.create_pool('tag:one', '{"permits": 1}') \g /dev/null
select make('many', jsonb_build_array(
    step('retried', '{}', '{"retry_policy": {"error_retry_limit": 1, "backoff": {"type": "FIXED_BACKOFF", "error_retry_backoff_in_secs": 600}}}', 'F'),
    step('lost', '{"never": "true"}', '{}', 'B'), step('never', '{}', '{}', 'B'), step('held', '{}', '{}', 'C'), step('permitted', '{}', '{"tags": ["one"]}', 'D'),
    step('not_permitted', '{}', '{"tags": ["one"]}', 'D'), each('loop', 7, jsonb_build_array(step('inside', '{}', '{}', 'E'))))) \g /dev/null
select scylla.create_queue(q) from unnest(array['c', 'd', 'e', 'f']) q \g /dev/null
select scylla.set_breakpoint('many', 'held'), start('many'), (select count(*) from scylla.place()), advance() \g /dev/null
select is(stat('many'), '1 0 1 0 | 10 0 1 1 0 0 | 0', 'steps by what they wait for, with those in a loop');
select break('f', '{"code": "x"}'), abort_one('b') \g /dev/null
select is(stat('many'), '1 0 1 0 | 8 0 1 1 1 1 | 0', 'one is to be tried again, one has failed, and the run goes on');
select abort_one('e') from generate_series(1, 2) \g /dev/null
select is(stat('many'), '1 0 1 0 | 6 0 1 1 1 3 | 0', '... also in a loop');
update scylla.workflow_step_state set status = 'WAITING_FOR_SIGNALS' where step = 'held';
select is(stat('many'), '1 0 1 0 | 6 1 1 0 1 3 | 0', 'steps that wait for signals');
update scylla.workflow_step_state set status = 'PAUSED' where step = 'held';
select scylla.stop_run('many', 1), advance() \g /dev/null
select is(stat('many'), '1 0 0 0 | 0 0 0 0 0 0 | 0', 'of a run that has ended nothing is counted');

-- ---- the price -------------------------------------------------------------------------------------------------------------

-- Ended runs with their steps.
insert into scylla.workflow_run_state (id, plan, instance, created, ended, run, version, status, workflow, owner, initiator, properties, request, params)
select -n, -n, n + 10, now(), now(), 1, 1, case when n % 10 = 0 then 'SUCCEEDED' else 'STOPPED' end, 'line', current_user, '{}', '{}', '{}', '{}'
from generate_series(1, 5000) n;
insert into scylla.workflow_step_state (scope, root, created, ended, attempt, run, error_retries, platform_retries, timeout_retries, status, step)
select -n, -n, now(), now(), 1, 1, 0, 0, 0, 'SUCCEEDED', s from generate_series(1, 5000) n, unnest(array['s', 't']) s;
create function plan_of(statement text) returns setof text language plpgsql as $$
begin
    return query execute 'explain (analyze, timing off, summary off) ' || statement;
end $$;
analyze scylla.workflow_run_state, scylla.workflow_step_state, scylla.workflow_agenda, scylla.workflow_plan, scylla.workflow_head;
select is_empty($$select line from plan_of('select * from scylla.stat_workflow') line where line ~ 'Seq Scan on workflow_(run_state|step_state)'$$,
                'what has ended is not read');
select is(stat('line'), '3 1 1 0 | 1 0 0 0 0 0 | 0', '... nor does it count');

select * from finish();
rollback;
