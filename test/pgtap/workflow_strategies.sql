-- The run strategies: in which order runs begin, what a batch of requests comes to, and which changes of the rule are refused.
-- Numbers in brackets are sections of the specification of Maestro's behaviour.
begin;
\ir include/helpers.psql
\ir include/workflows.psql
select * from no_plan();
select scylla.create_queue('a') \g /dev/null

create function of_rule(id text, rule jsonb) returns int language sql as $$
    select make(id, jsonb_build_array(step('s', '{}', '{"retry_policy": {"error_retry_limit": 0}}')), '{}', jsonb_build_object('run_strategy', rule))
$$;
-- Started by so many calls.
create function begin_runs(of text, count int) returns void language plpgsql as $$
begin
    for i in 1 .. count loop
        perform scylla.start_workflow(of);
    end loop;
    perform advance();
end $$;
-- "STATUS" of each instance, as its last run has left it.
create function runs(of text) returns text language sql as $$
    select string_agg(status, ' ' order by instance)
    from (select distinct on (instance) instance, status from scylla.workflow_run where workflow = of order by instance, run desc) r
$$;
-- Ends the run of that instance.
create function end_run(of text, number bigint, fails boolean = false) returns void language plpgsql as $$
declare
    it text := (select task from scylla.workflow_step where workflow = of and instance = number and step = 's' and ended is null);
begin
    perform scylla.lease_task(it, 'w');
    if fails then
        perform scylla.fail(it, 'w', '{"code": "x"}');
    else
        perform scylla.complete(it, 'w');
    end if;
    perform advance();
end $$;

-- ---- [3.3] in which order runs begin -----------------------------------------------------------------------------------

select of_rule('line', '"sequential"'), begin_runs('line', 3) \g /dev/null
select is(runs('line'), 'IN_PROGRESS CREATED CREATED', '[3.3] SEQUENTIAL: one at a time');
select end_run('line', 1, true) \g /dev/null
select is(runs('line'), 'FAILED IN_PROGRESS CREATED', '[3.3] the oldest is next, and one that has failed blocks nobody');
select scylla.restart_run('line', 1), advance() \g /dev/null
select is(runs('line'), 'CREATED IN_PROGRESS CREATED', '[3.3] an instance that is restarted waits as well');
select end_run('line', 2) \g /dev/null
select is(runs('line'), 'IN_PROGRESS SUCCEEDED CREATED', '[3.3] and goes before younger ones');

select of_rule('wide', '2'), begin_runs('wide', 120) \g /dev/null
select is((select count(*) filter (where status = 'IN_PROGRESS') || ' ' || count(*) from scylla.workflow_run where workflow = 'wide'), '2 120', '[3.3] PARALLEL: so many as its number says');
select scylla.alter_workflow('wide', '{"run_strategy": 117}'), advance() \g /dev/null
select is((select count(*) filter (where status = 'IN_PROGRESS') from scylla.workflow_run where workflow = 'wide'), 117::bigint, '[1.2] a higher number begins more at once, also more than 50');
select end_run('wide', 5) \g /dev/null
select is((select array_agg(instance order by instance) from scylla.workflow_run where workflow = 'wide' and status = 'CREATED'), '{119,120}', '[3.3] the oldest follows the end of one');
select scylla.kill_run('line', 1), advance() \g /dev/null

select of_rule('strict', '"strict_sequential"'), begin_runs('strict', 4) \g /dev/null
select scylla.stop_run('strict', 1), advance() \g /dev/null
select is(runs('strict'), 'STOPPED IN_PROGRESS CREATED CREATED', '[3.2] STRICT_SEQUENTIAL: one that was stopped blocks nobody');
select end_run('strict', 2, true) \g /dev/null
select is(runs('strict'), 'STOPPED FAILED CREATED CREATED', '[3.2] one that has failed does');
select scylla.restart_run('strict', 2), advance() \g /dev/null
select is(runs('strict'), 'STOPPED IN_PROGRESS CREATED CREATED', '[3.6] its restart is the first in line');
select end_run('strict', 2) \g /dev/null
select is(runs('strict'), 'STOPPED SUCCEEDED IN_PROGRESS CREATED', '[3.6] and blocks nobody when it has succeeded');

select make('stricter', jsonb_build_array(step('s', '{}', '{"retry_policy": {"error_retry_limit": 0}}')), '{"timeout": "1 s"}',
            '{"run_strategy": {"rule": "strict_sequential", "blocked_by": ["timed_out", "STOPPED"]}}'), begin_runs('stricter', 4) \g /dev/null
select scylla.stop_run('stricter', 1), advance() \g /dev/null
select is(runs('stricter'), 'STOPPED CREATED CREATED CREATED', '[3.2] blocked_by: one that was stopped blocks as well');
select scylla.unblock_run('stricter', 1), scylla.unblock_run('stricter', 1), advance() \g /dev/null
select is(runs('stricter'), 'STOPPED IN_PROGRESS CREATED CREATED', '[3.2] until somebody has looked at it, also twice');
select pg_sleep(1.1), advance() \g /dev/null
select is(runs('stricter'), 'STOPPED TIMED_OUT CREATED CREATED', '[3.2] blocked_by: so does one that has timed out');
select is(scylla.unblock_workflow('stricter'), 1::bigint, '[3.2] the other is no longer counted');
select advance(), end_run('stricter', 3, true) \g /dev/null
select is(runs('stricter'), 'STOPPED TIMED_OUT FAILED CREATED', '[3.2] and one that has failed blocks in any case');
select alike(raised($$select scylla.alter_workflow('stricter', '{"run_strategy": {"rule": "sequential", "blocked_by": ["STOPPED"]}}')$$),
             '22023 %run_strategy.blocked_by: only STRICT_SEQUENTIAL has this%', '[3.2] no other rule has blocked_by');
select of_rule('as_before', '{"rule": "strict_sequential", "blocked_by": null}'), begin_runs('as_before', 2), scylla.stop_run('as_before', 1), advance() \g /dev/null
select is(runs('as_before'), 'STOPPED IN_PROGRESS', '[3.2] blocked_by null: only one that has failed blocks');

select of_rule('first', '"first_only"'), begin_runs('first', 2) \g /dev/null
select is(runs('first'), 'IN_PROGRESS STOPPED', '[3.2] FIRST_ONLY: what comes meanwhile is stopped');
select end_run('first', 1), begin_runs('first', 1) \g /dev/null
select is(runs('first'), 'SUCCEEDED STOPPED IN_PROGRESS', '[3.2] and begins when there is none');

select make('parent', jsonb_build_array(call('call', 'first'))), start('parent') \g /dev/null
select is(steps('parent') || ', ' || status('parent'), 'call STOPPED, STOPPED', '[5.4] so does a step whose subworkflow may not run');

-- ---- [3.4] batches -----------------------------------------------------------------------------------------------------

-- The codes and instances of requests with the ids A, A and B, and the statuses that come of them.
create function batch(of text, rule jsonb) returns text language plpgsql as $$
declare codes text;
begin
    perform of_rule(of, rule);
    select string_agg(format('%s/%s', code, instance), ' ' order by n) into codes
      from scylla.start_workflows(jsonb_build_array(jsonb_build_object('workflow', of, 'request_id', 'A'), jsonb_build_object('workflow', of, 'request_id', 'A'),
                                                    jsonb_build_object('workflow', of, 'request_id', 'B'))) with ordinality s(code, workflow, instance, run, status, n);
    perform advance();
    return codes || ': ' || runs(of);
end $$;
select is(batch('batch-' || replace(rule, '"', ''), rule::jsonb), expected, '[3.4] a batch: ' || rule)
from (values ('"parallel"', '1/1 0/1 1/2: IN_PROGRESS IN_PROGRESS'), ('"sequential"', '1/1 0/1 1/2: IN_PROGRESS CREATED'),
             ('"strict_sequential"', '1/1 0/1 1/2: IN_PROGRESS CREATED'), ('"first_only"', '1/1 0/1 -1/2: IN_PROGRESS STOPPED'),
             ('"last_only"', '-1/1 0/1 1/2: STOPPED IN_PROGRESS'), ('"serial_latest_only"', '-1/1 0/1 1/2: STOPPED IN_PROGRESS')) v (rule, expected);

-- The codes, instances and statuses of requests with these ids, as the call tells them; a dash: without an id.
create function batch_of(of text, ids text) returns text language sql as $$
    select string_agg(format('%s/%s %s', s.code, s.instance, s.status), ', ' order by s.n)
    from scylla.start_workflows((select jsonb_agg(jsonb_build_object('workflow', of, 'request_id', nullif(id, '-')) order by n) from string_to_table(ids, ' ') with ordinality i (id, n)))
         with ordinality s(code, workflow, instance, run, status, n)
$$;
select of_rule('last', '"last_only"'), scylla.alter_workflow('last', '{"events": true}') \g /dev/null
select is(batch_of('last', 'A B A'), '-1/1 STOPPED, 1/2 CREATED, 0/1 STOPPED', '[3.4] whoever asks for one that was stopped hears of that');
select is((select string_agg(concat_ws(' ', instance, status, ended is not null, error ->> 'message'), ', ' order by instance) from scylla.workflow_run where workflow = 'last'),
          '1 STOPPED t Run 1 of instance 2 was started, and the run strategy is LAST_ONLY., 2 CREATED f', '[3.4] it has ended by then');
select is((select string_agg(concat_ws(' ', instance, old_status, status), ', ' order by position, instance, status) from scylla.workflow_event where workflow = 'last' and kind = 'run'),
          '1 CREATED, 1 CREATED STOPPED, 2 CREATED', '[3.4] with its events');
select is((select array_agg(p.finished is not null order by r.instance) from scylla.workflow_run r join scylla.plan p on p.name = r.plan where r.workflow = 'last'), '{t,f}', '[3.4] and its plan');
select advance() \g /dev/null
select is(batch_of('last', 'B A C D -'), '0/2 IN_PROGRESS, 0/1 STOPPED, -1/3 STOPPED, -1/4 STOPPED, 1/5 CREATED', '[3.4] requests of former calls are duplicates');
select is(runs('last'), 'STOPPED IN_PROGRESS STOPPED STOPPED CREATED', '[3.2] what runs is stopped by the engine');
select advance() \g /dev/null
select is(runs('last'), 'STOPPED STOPPED STOPPED STOPPED IN_PROGRESS', '[3.2] and then the last one begins');
select of_rule('latest', '"serial_latest_only"'), batch_of('latest', '-'), advance() \g /dev/null
select is(batch_of('latest', '- -'), '-1/2 STOPPED, 1/3 CREATED', '[3.4] SERIAL_LATEST_ONLY');
select is(batch_of('latest', '-'), '1/4 CREATED', '[3.4] one alone');
select advance() \g /dev/null
select is(runs('latest'), 'IN_PROGRESS STOPPED STOPPED CREATED', '[3.2] leaves alone what runs');
select of_rule('first-too', '"first_only"') \g /dev/null
select is(batch_of('first-too', '- - -'), '1/1 CREATED, -1/2 STOPPED, -1/3 STOPPED', '[3.4] FIRST_ONLY');

-- ---- [3.5] another rule ------------------------------------------------------------------------------------------------

create function change(rule text, of text) returns text language plpgsql as $$
begin
    perform scylla.alter_workflow(of, jsonb_build_object('run_strategy', rule));
    return 'changed';
exception when others then
    return sqlstate || ' ' || sqlerrm;
end $$;
select of_rule('two', '"parallel"'), begin_runs('two', 2) \g /dev/null
select alike(change(rule, 'two'), '55000 %', '[3.5] with two live runs not to ' || rule) from unnest('{first_only,last_only}'::text[]) rule;
select is(change(rule, 'two'), 'changed', '[3.5] but to ' || rule) from unnest('{sequential,serial_latest_only,strict_sequential,parallel}'::text[]) rule;
select end_run('two', 1, true) \g /dev/null
select alike(change('strict_sequential', 'two'), '55000 %', '[3.5] not to strict_sequential with one that has failed');
select is(change(rule, 'two'), 'changed', '[3.5] with one live run to ' || rule) from unnest('{first_only,last_only,sequential}'::text[]) rule;
select scylla.unblock_workflow('two') \g /dev/null
select is(change('strict_sequential', 'two'), 'changed', '[3.5] when somebody has looked at it also to strict_sequential');
select is_empty('select * from scylla.check()', 'check() finds nothing wrong');
select * from finish();
rollback;
