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
begin
    if statement ~ '^call|send_signal|scylla.backfill|_step\(|run_gantt' then -- numbers and times that are always others
        execute statement;
    else
        execute statement into given;
    end if;
    select string_agg((to_jsonb(q) - '{id,created}'::text[])::text, '; ' order by name) into queues from scylla.queue q;
    select string_agg((to_jsonb(s) - '{id,created,handled,next_run}'::text[])::text, '; ' order by name) into schedules from scylla.schedule s;
    raise exception using errcode = 'XX998', message = format('%s; %s; %s',
        regexp_replace(given::text, '"(rn|created|updated|answered|deadline|not_before|history)": ("[^"]*"|\[[^]]*\])|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}', '"\1"', 'g'), md5(queues), md5(schedules));
exception
    when sqlstate 'XX998' then return sqlerrm;
    when others then return sqlstate || ' ' || sqlerrm;
end $$;

select cmp_ok(count(*), '>', 60::bigint, 'there are arguments with defaults') from argument where optional;
select doesnt_match(outcome(call(oid, null)), '^[0-9A-Z]{5} ', 'the call itself is good: ' || call(oid, null))
from (select distinct oid, function from argument where optional and prokind = 'f') f;
-- A grace of null is no bound, as its description says.
select is(outcome(call(oid, name || ' => null')), outcome(call(oid, null)), format('%s(%s => null)', function, name))
from argument where optional and name <> 'grace' order by function, i;

-- ---- members of JSON -----------------------------------------------------------------------------------------------------

select is(outcome(format($$select jsonb_agg(to_jsonb(t)) from scylla.%s t$$, replace(call, '$', member || ': null'))),
          outcome(format($$select jsonb_agg(to_jsonb(t)) from scylla.%s t$$, replace(replace(call, ', $', ''), '$', ''))), format('%s with %s null', split_part(call, '(', 1), member))
from (values ($$submit_many('[{"queue": "taken", "spec": 1, $}]')$$,
              '{"rn","priority","not_before","depends_on","on_dependency_failure","plan","max_attempts","retry","dedup_key","key","dedup_for"}'::text[]),
             ($$abort('held', 'w', '{"code": "x", $}')$$, '{"args","description"}'),
             ($$fail('held', 'w', '{"code": "x", $}')$$, '{"args","description"}'),
             ($$alter_queue('settings', '{"aging": 1, $}')$$, (select array_agg(name) from argument where function = 'create_queue' and optional and name <> 'aging'))) c (call, members),
     lateral (select to_json(trim('"' from m))::text from unnest(members) m) _ (member);
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
