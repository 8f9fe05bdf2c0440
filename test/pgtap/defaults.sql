-- Null means the default: each argument with a default, given as null, does what leaving it out does. Generated from the catalog, so that
-- a new function or argument is held against it, too.
begin;
\ir include/helpers.psql
select * from no_plan();

do $$ begin
    set local scylla.schedules = manual;
    perform given('held', 'running'), given('held 2', 'running'), given('old', 'completed');
    perform scylla.submit('taken', '{}', rn => 'first');
    perform scylla.create_plan('plan', '{}');
    perform scylla.submit('taken', '{}', rn => 'planned', plan => 'plan');
    perform scylla.create_plan('ended'), scylla.submit('taken', '1', plan => 'ended'), scylla.cancel_plan('ended');
    perform scylla.create_callback('token');
    perform scylla.create_pool('pool', '{"a": 1}');
    perform scylla.create_trigger('trigger', '[{"signal": "s"}]', '{"submit": {"queue": "taken", "spec": 1}}');
    create function test.ids(args jsonb) returns bigint[] language sql as 'select ''{1,2}''::bigint[]';
    perform scylla.define_job('job', 'taken', '{"select_work": "test.ids"}');
    perform scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "flow", "steps": [{"step": {"id": "s", "type": "Sleep", "params": {"sleep_seconds": {"type": "LONG", "value": 100000}}}}]}}');
    perform scylla.start_workflow('flow'), scylla._advance();
    perform scylla.backfill('flow', '[{}]');
    update scylla.workflow_backfill_state set id = 1;
    update scylla.workflow_backfill_item_state set backfill = 1;
    perform scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "ended", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}');
    perform scylla.start_workflow('ended'), scylla._advance();
    perform scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "waits", "steps": [{"step": {"id": "s", "type": "NoOp", "signal_dependencies": [{"name": "never"}]}}]}}');
    perform scylla.start_workflow('waits'), scylla._advance();
    perform scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "again", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}');
    perform scylla.start_workflow('again'), scylla.stop_run('again', 1), scylla._advance();
    perform scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "out", "steps": [{"step": {"id": "s", "type": "Out"}}]}}');
    perform scylla.start_workflow('out'), scylla._advance(), scylla.lease('out', 'w');
    perform scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "held", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}');
    perform scylla.set_breakpoint('held', 's'), scylla.start_workflow('held'), scylla._advance();
    perform scylla.create_queue('empty'), scylla.create_queue('settings');
end $$;

-- What the mandatory arguments of a function are, by its name and theirs, else by theirs.
create temp table usual (function text, argument text, value text);
insert into usual values (null, 'queue', '''taken'''), (null, 'spec', '''{}'''), (null, 'worker', '''w'''), (null, 'rn', '''held'''), (null, 'rns', '''{held}'''),
    (null, 'plan', '''plan'''), (null, 'specs', 'array[''1'', ''2'']::jsonb[]'), (null, 'error', '''{"code": "x"}'''), (null, 'name', '''new'''), (null, 'cron', '''0 0 1 1 *'''), (null, 'count', '3'),
    (null, 'queues', '''{taken}'''), (null, 'settings', '''{}'''), (null, 'tasks', '''[{"queue": "taken", "spec": 1, "rn": "first"}]'''), ('schedule_plan', 'tasks', '''[{"queue": "taken", "spec": 1}]'''),
    ('lease_task', 'rn', '''first'''), ('reschedule', 'rn', '''first'''), ('resubmit', 'rn', '''old'''), ('rerun_plan', 'plan', '''ended'''), ('drop_queue', 'queue', '''empty'''), ('create_queue', 'queue', '''new'''), ('send_signal', 'name', '''signal'''), (null, 'token', '''token'''),
    ('create_trigger', 'signals', '''[{"signal": "s"}]'''), ('create_trigger', 'action', '''{"submit": {"queue": "taken", "spec": 1}}'''),
    ('clear_trigger', 'name', '''trigger'''), ('defer', 'wait_for', '''[{"callback": "token"}]'''),
    (null, 'job', '''job'''), ('define_job', 'job', '''new'''), (null, 'ids', '''{[1,2)}'''), (null, 'expression', '''1'''), (null, 'template', '''x'''),
    ('set_output', 'rn', '(select rn from scylla.list_tasks(''out''))'), ('set_output', 'params', '''{}'''), (null, 'workflow', '''flow'''), ('restart_run', 'workflow', '''again'''), ('restart_step', 'workflow', '''ended'''), ('bypass_step', 'workflow', '''waits'''), ('drop_breakpoint', 'workflow', '''held'''), ('pause_step', 'workflow', '''held'''), ('resume_step', 'workflow', '''held'''), (null, 'instance', '1'), (null, 'step', '''s'''), (null, 'items', '''[{}]'''), (null, 'backfill', '1'), (null, 'definition', '''{"properties": {"owner": "ann"}, "workflow": {"id": "new", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}'''),
    ('cancel_many', 'filter', '''{"queue": "taken"}'''), ('yield_many', 'filter', '''{"queue": "taken"}'''), ('resubmit_matching', 'filter', '''{"queue": "taken"}'''), (null, 'pool', '''pool'''), ('create_pool', 'pool', '''new'''), (null, 'capacity', '''{"a": 1}'''), (null, 'used', '''{"a": 1}''');

create temp table argument as
select p.oid, p.proname::text as function, p.prokind, i, p.proargnames[i] as name, coalesce(p.proallargtypes[i], p.proargtypes[i - 1])::regtype as type, i > p.pronargs - p.pronargdefaults as optional
from pg_proc p, generate_series(1, p.pronargs) i
where p.pronamespace = 'scylla'::regnamespace and p.prokind in ('f', 'p') and p.pronargdefaults > 0 and p.proname !~ '^_'
  and p.proargmodes[i] is distinct from 'b'; -- what a procedure gives

create function call(f oid, extra text) returns text language sql as $$
    select case min(a.prokind) when 'p' then format('call scylla.%I(%s)', min(a.function), l)
           else format('select jsonb_agg(to_jsonb(t)) from scylla.%I(%s) t', min(a.function), l) end
    from argument a, lateral (select concat_ws(', ', string_agg(format('%I => %s', b.name, coalesce(o.value, u.value)), ', ' order by b.i), extra)
                              from argument b left join usual o on o.function = b.function and o.argument = b.name
                                   left join usual u on u.function is null and u.argument = b.name
                              where b.oid = f and not b.optional) _ (l)
    where a.oid = f group by l;
$$;

-- What it gives, but for what is never the same, and what it leaves in the tables; nothing of it stays.
create function outcome(statement text) returns text language plpgsql as $$
declare
    given jsonb;
    queues text;
    schedules text;
    made text;
begin
    if statement ~ '^call|send_signal|scylla.backfill|_step\(|run_gantt' then -- numbers and times that are always others
        execute statement;
    else
        execute statement into given;
    end if;
    select string_agg((to_jsonb(q) - '{id,created}'::text[])::text, '; ' order by name) into queues from scylla.queue q;
    select string_agg(jsonb_strip_nulls(to_jsonb(s) - '{id,created,handled,next_run}'::text[])::text, '; ' order by name) into schedules from scylla.schedule s;
    -- What is kept as it was given may have nulls. Names that are made up are not compared.
    select string_agg(regexp_replace(jsonb_strip_nulls(row_)::text, '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', 'uuid', 'g'), '; ' order by jsonb_strip_nulls(row_)::text) into made from (
        select to_jsonb(t) - '{id,created,rn,plan,not_before}'::text[] as row_ from scylla.task_spec t
        union all select jsonb_build_object('gate', g.ord, 'kind', g.kind, 'on_failure', g.on_failure, 'timeout', g.deadline is not null, 'on_timeout', g.on_timeout, 'every', g.every) from scylla.task_gate g
        union all select jsonb_build_object('condition', c.name, 'match', c.match, 'bound', c.bound, 'since', c.since is not null) from scylla.signal_condition c
        union all select to_jsonb(t) - '{id,created}'::text[] from scylla.signal_trigger t
        union all select to_jsonb(p) - '{id,created}'::text[] from scylla.resource_pool p
        union all select to_jsonb(j) - '{id,created,changed}'::text[] from scylla.job_definition j
        union all select to_jsonb(h) - '{created,modified,activated}'::text[] from scylla.workflow_head h
        union all select to_jsonb(v) - '{created}'::text[] from scylla.workflow_text v
        union all select to_jsonb(t) - '{created,modified}'::text[] from scylla.job_template_text t) made_;
    raise exception using errcode = 'XX998', message = format('%s; %s; %s; %s',
        regexp_replace(given::text, '"(rn|created|updated|answered|deadline|not_before|history)": ("[^"]*"|\[[^]]*\])|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}', '"\1"', 'g'), md5(queues), md5(schedules), md5(made));
exception
    when sqlstate 'XX998' then return sqlerrm;
    when others then return sqlstate || ' ' || sqlerrm;
end $$;

select cmp_ok(count(*), '>', 60::bigint, 'there are arguments with defaults') from argument where optional;
select doesnt_match(outcome(call(oid, null)), '^[0-9A-Z]{5} ', 'the call itself is good: ' || call(oid, null))
from (select distinct oid, function from argument where optional and prokind = 'f') f;
-- Procedures that end transactions look at their arguments first, and are then refused, because this is one.
select matches(outcome(call(oid, null)), '^25001 ', 'the call itself is good: ' || call(oid, null))
from (select distinct oid, function from argument where optional and prokind = 'p') f;
-- A grace of null is no bound, as its description says.
select is(outcome(call(oid, name || ' => null')), outcome(call(oid, null)), format('%s(%s => null)', function, name))
from argument where optional and name <> 'grace' order by function, i;

-- ---- members of JSON -----------------------------------------------------------------------------------------------------

-- Calls with a `$` where another member may stand, and the members that may be left out.
create temp table option (call text, members text[]);
-- Those that are arguments of submit (but two, which submit_many has not), or settings of a queue, are all there are.
create function arguments_of(function text, but text[]) returns text[] language sql as $$
    select array_agg(name) from argument a where a.function = $1 and optional and name <> all (but)
$$;
insert into option values
    ($$submit_many('[{"queue": "taken", "spec": 1, $}]')$$, arguments_of('submit', '{on_duplicate,debounce}')),
    ($$schedule('new', '0 0 1 1 *', 'taken', '1', options => '{"priority": 1, $}')$$, arguments_of('submit', '{on_duplicate,debounce,priority,rn,not_before,plan}')),
    ($$schedule_plan('new', '0 0 1 1 *', '[{"queue": "taken", "spec": 1, $}]')$$, arguments_of('submit', '{on_duplicate,debounce,not_before,plan}')),
    ($$create_trigger('new', '[{"signal": "s"}]', '{"submit": {"queue": "taken", "spec": 1, $}}')$$, arguments_of('submit', '{on_duplicate,debounce,rn,plan}')),
    ($$alter_queue('settings', '{"aging": 1, $}')$$, arguments_of('create_queue', '{aging}')),
    ($$abort('held', 'w', '{"code": "x", $}')$$, '{args,message,description}'),
    ($$fail('held', 'w', '{"code": "x", $}')$$, '{args,message,description}'),
    ($$submit('taken', '1', wait_for => '[{"callback": "token", $}]')$$, '{on_failure,timeout,on_timeout}'),
    ($$submit('taken', '1', wait_for => '[{"signal": "signal", $}]')$$, '{match,since,seq,on_failure,timeout,on_timeout}'),
    ($$submit('taken', '1', wait_for => '[{"check": {"queue": "taken", "spec": 1, $}}]')$$, '{every}'),
    ($$submit('taken', '1', wait_for => '[{"check": {"queue": "taken", "spec": 1}, $}]')$$, '{task,callback,signal,match,since,seq,on_failure,timeout,on_timeout}'),
    ($$submit('taken', '1', wait_for => '[{"task": "first", $}]')$$, '{on_failure,timeout,on_timeout}'),
    ($$create_trigger('new', '[{"signal": "s", $}]', '{"submit": {"queue": "taken", "spec": 1}}')$$, '{match,join}'),
    ($$create_trigger('new', '[{"signal": "s"}]', '{"workflow": "flow", $}')$$, '{params,version}'),
    ($$create_trigger('new', '[{"signal": "s"}]', '{"plan": [{"queue": "taken", "spec": 1, $}]}')$$, arguments_of('submit', '{on_duplicate,debounce,not_before,plan}')),
    ($$set_output((select rn from scylla.list_tasks('out')), '{}', '{"maestro_retry": {"retryable": true}, $}')$$, '{maestro_dynamic_output}'),
    ($$set_output((select rn from scylla.list_tasks('out')), '{}', '{"maestro_dynamic_output": {"signal_outputs": []}, $}')$$, '{maestro_retry}'),
    ($$set_output((select rn from scylla.list_tasks('out')), '{}', '{"maestro_retry": {"x": 1, $}}')$$, '{retryable}'),
    ($$set_output((select rn from scylla.list_tasks('out')), '{}', '{"maestro_dynamic_output": {"x": 1, $}}')$$, '{signal_outputs}'),
    ($$restart_run('again', 1, step_params => '{"s": {"p": 1}, $}')$$, '{s2}'),
    ($$create_pool('new', '{"a": 1}', settings => '{"max_bypass": 5, $}')$$, '{metrics_max_age}'),
    ($$create_pool('new', '{"a": 1}', settings => '{"metrics_max_age": "5 s", $}')$$, '{max_bypass}'),
    ($$submit('taken', '1', needs => '{"pool": {"a": 1}, $}')$$, '{any}'),
    ($$alter_workflow('flow', '{"run_strategy": {"rule": "strict_sequential", $}}')$$, '{workflow_concurrency,blocked_by}'),
    ($$alter_pool('pool', '{"capacity": {"a": 2}, $}')$$, '{policy,max_bypass,metrics_max_age}'),
    ($$define_job('new', 'taken', '{"chunk_size": 3, $}')$$, '{select_work,args,allow_multiple,priority,max_attempts,retry,run_timeout,sources,sinks}'),
    ($$define_job('new', 'taken', '{"sources": 1, $}')$$, '{chunk_size}'),
    ($$define_job('new', 'taken', '{}', '[{"job": "job", "max_lag": "1 h", $}]')$$, '{args,unique,allow_missing}'),
    ($$explain_job('job', '{[1,2)}', '{}', '{"prune": "slice", $}')$$, '{strict_order,variant,wait,request_id,plan,not_before}'),
    ($$run_job('job', '{[1,2)}', '{}', '{"prune": "slice", $}')$$, '{strict_order,variant,wait,request_id,plan,not_before}'),
    ($$run_job('job', '{[1,2)}', '{}', '{"wait": true, $}')$$, '{prune}'),
    ($$find_tasks('{"queue": "taken", $}')$$, '{status,worker,key,code,created_after,created_before}'),
    ($$find_tasks('{"status": "live", $}')$$, '{queue}'),
    ($$cancel_many('{"queue": "taken", $}')$$, '{status,worker,key,code,created_after,created_before}'),
    ($$start_workflows('[{"workflow": "flow", $}]')$$, '{params,version,request_id,step_params}'),
    ($$alter_workflow('flow', '{"description": "x", $}')$$, '{owner,access_control,run_strategy,step_concurrency,alerting,alerting_disabled,signal_trigger_disabled,time_trigger_disabled,tags,events,reset_run_strategy_rule,reset_workflow_concurrency,reset_step_concurrency,add_tag,delete_tag}'),
    ($$create_workflow('{"workflow": {"id": "new", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}, "properties": {"owner": "ann", $}}')$$,
     '{access_control,run_strategy,step_concurrency,alerting,alerting_disabled,signal_trigger_disabled,time_trigger_disabled,description,tags,events}'),
    ($$create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "new", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}, $}')$$, '{is_active,git_info}'),
    ($$create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "new", "steps": [{"step": {"id": "s", "type": "NoOp"}}], $}}')$$,
     '{name,description,tags,timeout,time_triggers,signal_triggers,criticality,instance_step_concurrency,params}'),
    ($$create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "new", "steps": [{"step": {"id": "s", "type": "Job", $}}]}}')$$,
     '{name,description,tags,timeout,failure_mode,transition,params,signal_dependencies,signal_outputs,retry_policy,sub_type,sub_type_version,sql}'),
    ($$create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "new", "steps": [{"step": {"id": "s", "type": "Job", "retry_policy": {"error_retry_limit": 1, $}}}]}}')$$,
     '{platform_retry_limit,timeout_retry_limit,backoff}'),
    ($$create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "new", "steps": [{"step": {"id": "s", "type": "Job", "params": {"p": {"type": "LONG", "value": 1, $}}}}]}}')$$,
     '{mode,tags,validator,meta,expression}'),
    ($$create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "new", "steps": [{"subworkflow": {"id": "s", "params": {"subworkflow_id": {"type": "STRING", "value": "flow"}}, $}}]}}')$$,
     '{sync,explicit_params}'),
    ($$create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "new", "steps": [{"foreach": {"id": "l", "params": {"loop_params": {"type": "MAP", "value": {}}}, "steps": [{"step": {"id": "s", "type": "NoOp"}}], $}}]}}')$$,
     '{concurrency,strict_ordering,loop_order,failure_mode}'),
    ($$create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "new", "steps": [{"step": {"id": "s", "type": "NoOp"}}], "time_triggers": [{"type": "CRON", "cron": "0 6 * * *", $}]}}')$$, '{timezone,fuzzy_max_delay}'),
    ($$create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "new", "steps": [{"step": {"id": "s", "type": "NoOp"}}], "time_triggers": [{"type": "PREDEFINED", "expression": "@daily", $}]}}')$$, '{timezone,fuzzy_max_delay}'),
    ($$create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "new", "steps": [{"step": {"id": "s", "type": "NoOp"}}], "time_triggers": [{"type": "INTERVAL", "interval": "1 day", $}]}}')$$, '{timezone,fuzzy_max_delay}'),
    ($$create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "new", "steps": [{"step": {"id": "s", "type": "NoOp"}}], "signal_triggers": [{"definitions": {"s": {}}, $}]}}')$$, '{params,condition,dedup_expr,grace}'),
    ($$create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "new", "steps": [{"step": {"id": "s", "type": "NoOp"}}], "signal_triggers": [{"definitions": {"s": {"join_keys": ["k"], $}}}]}}')$$, '{match_params}'),
    ($$create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "new", "steps": [{"step": {"id": "s", "type": "NoOp"}}], "signal_triggers": [{"definitions": {"s": {"match_params": {"p": {"value": 1, "operator": "="}}, $}}}]}}')$$, '{join_keys}'),
    ($$create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "new", "steps": [{"step": {"id": "s", "type": "NoOp"}}], "signal_triggers": [{"definitions": {"s": {"match_params": {"p": {"value": 1, $}}}}}]}}')$$, '{operator}'),
    ($$create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "new", "steps": [{"step": {"id": "s", "type": "NoOp", "signal_dependencies": [{"name": "never", $}]}}]}}')$$, '{match_params}'),
    ($$create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "new", "steps": [{"step": {"id": "s", "type": "NoOp", "signal_dependencies": [{"name": "never", "match_params": {"p": {"param": {"type": "LONG", "value": 1}, $}}}]}}]}}')$$, '{operator}'),
    ($$create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "new", "steps": [{"step": {"id": "s", "type": "NoOp", "signal_outputs": [{"name": "sent", $}]}}]}}')$$, '{params,payload}'),
    ($$preview_backfill('flow', '{"n": {"from": 1, "to": 3, $}}')$$, '{step,format,timezone}'),
    ($$preview_backfill('flow', '{"day": {"from": "2026-01-01", "to": "2026-01-03", $}}')$$, '{step,format,timezone}'),
    ($$preview_backfill('flow', '{"day": {"from": "2026-01-01", "to": "2026-01-03", "step": "2 days", $}}')$$, '{format,timezone}'),
    ($$create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "new", "steps": [{"step": {"id": "s", "type": "Job", "params": {"p": {"type": "LONG", "expression": "1", $}}}}]}}')$$,
     '{value}'),
    ($$create_job_template('{"job_type": "new", "step_type": "Job", $}')$$, '{type}'),
    ($$create_job_template('{"job_type": "new", "type": "Job", $}')$$, '{step_type,version,params,tags,inherit_from,description,status}');
select doesnt_match(outcome(format('select jsonb_agg(to_jsonb(t)) from scylla.%s t', replace(replace(call, ', $', ''), '$', ''))), '^[0-9A-Z]{5} ', 'the call itself is good: ' || call)
from option;
select is(outcome(format('select jsonb_agg(to_jsonb(t)) from scylla.%s t', replace(call, '$', to_json(member)::text || ': null'))),
          outcome(format('select jsonb_agg(to_jsonb(t)) from scylla.%s t', replace(call, ', $', ''))), format('%s with %s null', call, member))
from option, unnest(members) member;
-- A policy and a rate are kept as they come, and mean the same.
select is(raised(format($$select scylla.alter_queue('settings', '{"%s": %s}')$$, setting, value)), null, format('%s may be %s', setting, value))
from (values ('retry', '{"initial": null, "factor": null, "max": null, "jitter": null}'), ('rate', '{"tasks": 1, "per": null, "burst": null}'),
             ('rate_per_key', '{"tasks": 1, "per": null, "burst": null}')) v (setting, value);
select is((t).not_before - (t).updated, '1 s', 'a policy of nulls is the default')
from (select scylla.submit('policy', '1', rn => 'policy', retry => '{"initial": null, "factor": null, "max": null, "jitter": null}'), scylla.lease_task('policy', 'w')) s,
     lateral (select scylla.fail('policy', 'w', '{"code": "x"}')) _ (t);
select refuses($$select scylla.alter_queue('settings', '{"rate": {"tasks": null}}')$$, '22023', 'argument', 'invalid value for argument "rate": {"tasks": null}',
               'It must have "tasks", and may have "per" and "burst".');
select * from finish();
rollback;
