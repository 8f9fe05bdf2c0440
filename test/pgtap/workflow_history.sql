-- What has become of instances: rollups and timelines. Numbers in brackets are sections of the specification of Maestro's behaviour.
begin;
\ir include/helpers.psql
\ir include/workflows.psql
select * from no_plan();
select scylla.create_queue('a'), scylla.create_queue('b'), scylla.create_queue('c') \g /dev/null

-- What is told of those with a status.
create function leaves(of text, status text, number bigint = 1) returns jsonb language sql as $$
    select overview -> status from scylla.workflow_rollup where workflow = of and instance = number
$$;
create function end_tasks(queue text, failing int[]) returns void language plpgsql as $$
declare t scylla.task;
begin
    for t in select * from scylla.lease(queue, 'w', max_tasks => 1000) loop
        if (t.spec #>> '{params,x}')::int = any (failing) then
            perform scylla.abort(t.rn, 'w', '{"code": "bad", "message": "no good"}');
        else
            perform scylla.complete(t.rn, 'w');
        end if;
    end loop;
    perform advance();
end $$;
create function sound() returns text language sql as $$select is_empty('select * from scylla.check()', 'what is kept is what there is')$$;

-- ---- rollups (10.3) -----------------------------------------------------------------------------------------------------

select make('child', jsonb_build_array(step('c1', '{"c2": "true"}', '{}', 'B'), step('c2', '{}', '{}', 'B'))) \g /dev/null
select make('all', jsonb_build_array(
    step('first', '{"each": "true", "sub": "true"}', '{}', 'NoOp'),
    each('each', 12, jsonb_build_array(step('copy', '{"note": "true"}', '{"params": {"x": {"type": "LONG", "expression": "each_i"}}}'), step('note', '{}', '{}', 'C')), '{"report": "true"}'),
    call('sub', 'child', '{"transition": {"successors": {"report": "true"}}}'), step('report'))) \g /dev/null
select scylla.start_workflow('all') \g /dev/null
select is(rollup_of('all'), '4: NOT_CREATED 4', 'a loop counts as one as long as nothing is in it, and so does a subworkflow');
select advance();
select is(rollup_of('all'), '28: NOT_CREATED 14, RUNNING 13, SUCCEEDED 1', 'then what is in them is counted');
select is(leaves('all', 'RUNNING'), '{"cnt": 13, "more": 3, "ref": {"all:1": ["1:copy[1]:1", "1:copy[2]:1", "1:copy[3]:1", "1:copy[4]:1", "1:copy[5]:1", "1:copy[6]:1",
    "1:copy[7]:1", "1:copy[8]:1", "1:copy[9]:1"], "child:1": ["1:c1:1"]}}', 'up to ten are named');
select is(leaves('all', 'SUCCEEDED'), '{"cnt": 1}', 'of those that run, wait or have failed');
select is((select rollup - 'RUNNING' from scylla.workflow_step where workflow = 'all' and step = 'each'), '{"NOT_CREATED": {"cnt": 12}}', 'a loop shows its own');
select sound();
select end_tasks('a', '{1,2,11}');
select is(rollup_of('all'), '28: FATALLY_FAILED 3, NOT_CREATED 5, RUNNING 10, SUCCEEDED 10', 'statuses change');
select is(leaves('all', 'FATALLY_FAILED'), '{"cnt": 3, "ref": {"all:1": ["1:copy[2]:1", "1:copy[3]:1", "1:copy[12]:1"]}}', 'those that have failed are named');
select work('b') \g /dev/null
select work('b') \g /dev/null
select end_tasks('c', '{}');
select is(rollup_of('all'), '28: FATALLY_FAILED 3, NOT_CREATED 4, SUCCEEDED 21', 'the run has ended');
select sound();
select scylla.restart_run('all', 1) \g /dev/null
select is(rollup_of('all'), '28: FATALLY_FAILED 3, NOT_CREATED 4, SUCCEEDED 21', 'a restart changes nothing until it begins');
select advance();
select is(rollup_of('all'), '28: NOT_CREATED 4, RUNNING 3, SUCCEEDED 21', 'then it takes away what runs again');
select is((select run from scylla.workflow_rollup where workflow = 'all'), 2, 'it is that of the last run');
select is(leaves('all', 'RUNNING'), '{"cnt": 3, "ref": {"all:2": ["1:copy[2]:2", "1:copy[3]:2", "1:copy[12]:2"]}}', 'attempts are those of all runs');
select sound();
select end_tasks('a', '{}');
select end_tasks('c', '{}');
select is(rollup_of('all'), '28: RUNNING 1, SUCCEEDED 27', 'what had succeeded is still there');
select end_tasks('a', '{}');
select is(rollup_of('all') || ' ' || status('all'), '28: SUCCEEDED 28 SUCCEEDED', 'in the end all have succeeded');

select make('stopped', jsonb_build_array(each('outer', 3, jsonb_build_array(each('inner', 2, jsonb_build_array(step('s', '{}',
    '{"retry_policy": {"error_retry_limit": 3, "backoff": {"type": "FIXED_BACKOFF", "error_retry_backoff_in_secs": 600}}}'))))), step('other', '{}', '{}', 'B'))) \g /dev/null
select start('stopped') \g /dev/null
select break('a', '{"code": "x"}') \g /dev/null
select is(rollup_of('stopped'), '7: RUNNING 6, USER_FAILED 1', 'one waits to be tried again');
select scylla.stop_step('stopped', 1, 'outer') > 0 \g /dev/null
select advance();
select is(rollup_of('stopped'), '7: RUNNING 1, STOPPED 6', 'all that is inside of a loop is stopped with it, also what waits');
select is((select array_agg(distinct status) from scylla.workflow_step where workflow = 'stopped' and step = 's'), '{STOPPED}', 'as its steps are');
select is((select array_agg(distinct rollup::text) from scylla.workflow_step where workflow = 'stopped' and step = 'inner'), '{"{\"STOPPED\": {\"cnt\": 2}}"}', 'and the loops in it');
select sound();

select make('none', jsonb_build_array(each('each', 0, jsonb_build_array(step('s'))), call('sub', 'child', '{"sync": false}'))) \g /dev/null
select start('none') \g /dev/null
select is(rollup_of('none'), '2: SUCCEEDED 2', 'a loop without iterations, and a subworkflow for which nobody waits, are leaves');
select is((select count(*) from scylla.workflow_rollup where workflow = 'child'), 2::bigint, 'subworkflows have their own');

-- ---- timelines (10.1) ---------------------------------------------------------------------------------------------------

create function timeline(of text, of_step text = null, number bigint = 1) returns text language sql as $$
    select string_agg(concat_ws(' ', run, attempt, type, level, message), E'\n' order by at, attempt, case message when 'CREATED' then 1 when 'STARTING' then 2 else 3 end, type)
    from scylla.workflow_timeline where workflow = of and instance = number and step is not distinct from of_step
$$;
select make('line', jsonb_build_array(step('s', '{}', '{"retry_policy": {"error_retry_limit": 1, "backoff": {"type": "FIXED_BACKOFF", "error_retry_backoff_in_secs": 600}}}'))) \g /dev/null
select start('line') \g /dev/null
select break('a', '{"code": "x", "message": "the disk is full"}') \g /dev/null
select is(timeline('line', 's'), E'1 1 STATUS INFO CREATED\n1 1 STATUS INFO STARTING\n1 1 LOG ERROR the disk is full\n1 1 STATUS ERROR USER_FAILED',
          'of a step: its statuses, and what was wrong');
select scylla.kill_step('line', 1, 's') > 0 \g /dev/null
select advance();
select is((select string_agg(concat_ws(' ', type, message), ', ' order by type) from scylla.workflow_timeline where workflow = 'line' and step = 's' and type <> 'STATUS' and message !~ 'disk'),
          format('ACTION kill by %s: FATALLY_FAILED, LOG the step was killed', current_user), 'what somebody has wanted, and what has come of it');
select is((select array_agg(message order by message) from scylla.workflow_timeline where workflow = 'line' and step is null),
          array['CREATED by ' || current_user, 'FAILED', 'IN_PROGRESS'], 'of a run its own');
select scylla.restart_run('line', 1) \g /dev/null
select advance();
select is((select array_agg(message order by message) from scylla.workflow_timeline where workflow = 'line' and step is null and run = 2),
          array['CREATED by ' || current_user || ' RESTART_FROM_INCOMPLETE', 'IN_PROGRESS'], 'a restart tells what was asked for');
select work() \g /dev/null
do $$
begin
    for i in 1..20 loop
        perform scylla.restart_run('line', 1, 'RESTART_FROM_BEGINNING');
        perform advance();
        perform work();
    end loop;
end $$;
select is((select array_agg(count order by step nulls first) from (select step, count(*) from scylla.workflow_timeline where workflow = 'line' group by step) c), '{32,32}',
          'the newest 32 of each are kept');
select is((select count(*) from scylla.workflow_timeline where workflow = 'line' and step = 's' and attempt = 22), 3::bigint, 'the newest are there');

-- ---- lineage (7.5) ------------------------------------------------------------------------------------------------------

create function lineage(of text) returns text language sql as $$
    select string_agg(concat_ws(' ', source_workflow || '/' || source_instance || '/' || source_run, source_step || coalesce(source_iterations::text, ''), source_attempt,
                                '-', used_by, target_workflow || '/' || target_instance, target_step), ', ' order by seq, target_workflow)
    from scylla.workflow_lineage where signal = of
$$;
select make('sends', jsonb_build_array(each('each', 2, jsonb_build_array(step('s', '{}', '{"signal_outputs": [{"name": "part", "params": {"n": {"type": "LONG", "expression": "each_i"}}}]}', 'NoOp'))),
                                       step('t', '{}', '{"signal_outputs": [{"name": "whole", "params": {"n": {"type": "LONG", "value": 1}}}]}', 'NoOp'))) \g /dev/null
select make('takes', jsonb_build_array(step('s', '{}', '{}', 'NoOp')),
            '{"signal_triggers": [{"definitions": {"part": {"match_params": {"n": {"value": 1}}}}}, {"definitions": {"whole": {}, "other": {}}}]}') \g /dev/null
select start('sends'), advance() \g /dev/null
select scylla.maintain();
select advance();
select is(lineage('part'), 'sends/1/1 s[1] 1 -, sends/1/1 s[2] 1 - trigger takes/1', 'which step has sent a signal, and which instance it has started');
select is(lineage('whole'), 'sends/1/1 t 1 -', 'one that still waits for its partner');
select scylla.send_signal('other', '{}') \g /dev/null
select scylla.maintain();
select advance();
select is(lineage('whole') || ', ' || lineage('other'), 'sends/1/1 t 1 - trigger takes/2, - trigger takes/2', 'several signals can start one instance');

select is(scylla.lineage_dot('sends', 1), $$digraph lineage {
  rankdir=LR;
  node [shape=box, style="rounded,filled", fillcolor="#ffffff", fontname="sans-serif"];
  n1 [label="sends/1\ns 1", fillcolor="#a5d8ff"];
  n2 [label="sends/1\ns 2", fillcolor="#a5d8ff"];
  n3 [label="sends/1\nt", fillcolor="#a5d8ff"];
  n4 [label="takes/1"];
  n5 [label="takes/2"];
  n6 [label="whole\n{\"n\": 1}", shape=ellipse, style=filled];
  n7 [label="part\n{\"n\": 0}", shape=ellipse, style=filled];
  n8 [label="part\n{\"n\": 1}", shape=ellipse, style=filled];
  n1 -> n7;
  n2 -> n8;
  n3 -> n6;
  n6 -> n5;
  n8 -> n4;
}
$$, 'a picture of what an instance has sent, and what has come of it');
select is(scylla.lineage_mermaid('takes', 2), $$flowchart LR
  n1["sends/1<br>t"]
  n2["takes/2"]
  n3(["whole<br>{#34;n#34;#58; 1}"])
  n4(["other<br>{}"])
  n1 --> n3
  n3 --> n2
  n4 --> n2
  class n2 own
  classDef own fill:#a5d8ff
$$, 'and of what has started one');
select unalike(scylla.lineage_dot('sends', 1, 1), '%whole%', 'of many signals the newest ones');
select make('waits', jsonb_build_array(each('each', 2, jsonb_build_array(step('s', '{}', '{"signal_dependencies": [{"name": "whole", "match_params": {}}]}', 'NoOp'))))) \g /dev/null
select start('waits'), advance() \g /dev/null
select is(scylla.lineage_mermaid('waits', 1), $$flowchart LR
  n1["sends/1<br>t"]
  n2["takes/2"]
  n3["waits/1<br>s 1"]
  n4["waits/1<br>s 2"]
  n5(["whole<br>{#34;n#34;#58; 1}"])
  n1 --> n5
  n5 --> n2
  n5 --> n3
  n5 --> n4
  class n3 own
  class n4 own
  classDef own fill:#a5d8ff
$$, 'and of what the steps of one have waited for');
select is(scylla.lineage_mermaid('all', 1), E'flowchart LR\n  n1["all/1"]\n  class n1 own\n  classDef own fill:#a5d8ff\n', 'one that has nothing to do with signals');
select throws_ok(format('select scylla.lineage_%s(''takes'', 2, %s)', f, n), '22023', format('invalid value for argument "max_signals": %s', n), f || ': a number of signals')
from unnest('{dot,mermaid}'::text[]) f, unnest('{0,1001}'::int[]) n;
select scylla.restart_run('takes', 2, 'RESTART_FROM_BEGINNING') \g /dev/null
select advance();
select is(lineage('other'), '- trigger takes/2', 'a restart changes nothing of that');
select scylla.send_signal('other', '{"n": 2}', format('{"signal_source": %s}', source)::jsonb)
from unnest(array['7', '{}', '{"workflow": "sends", "instance": "x"}', '{"workflow": "sends", "instance": 1, "run": "1e99", "attempt": {}}', '{"workflow": 1, "instance": -1}']) source \g /dev/null
select is((select count(*) from scylla.workflow_lineage where signal = 'other'), 6::bigint, 'what payloads say that were made by hand does no harm');
create role scylla_test_liar;
select scylla.grant_signal('other', 'scylla_test_liar', 'send') \g /dev/null
grant usage on schema scylla to scylla_test_liar;
grant execute on all routines in schema scylla to scylla_test_liar;
set local role scylla_test_liar;
select scylla.send_signal('other', '{"n": 3}', '{"signal_source": {"workflow": "sends", "instance": 1, "run": 1, "step": "t", "attempt": 1}}') \g /dev/null
reset role;
select is((select concat(source_workflow, source_step) from scylla.workflow_lineage where signal = 'other' and params = '{"n": 3}'), '', 'and a source is believed only if its owner has sent it');

-- Who may see the instance, but none of the signals.
select scylla.grant_workflow('takes', 'scylla_test_liar', 'view') \g /dev/null
set local role scylla_test_liar;
select scylla.lineage_mermaid('takes', 2) as seen \gset
reset role;
select is(:'seen'::text, E'flowchart LR\n  n1["takes/2"]\n  class n1 own\n  classDef own fill:#a5d8ff\n', 'signals on which the caller has no privilege are not in pictures');
-- Who may see the signals, but not who has used them.
select scylla.grant_signal('part', 'scylla_test_liar', 'wait'), scylla.grant_workflow('sends', 'scylla_test_liar', 'view'),
       scylla.revoke_workflow('takes', 'scylla_test_liar', 'view') \g /dev/null
set local role scylla_test_liar;
select scylla.lineage_mermaid('sends', 1) as seen \gset
reset role;
select ok(:'seen'::text like '%part%' and :'seen'::text !~ 'whole|takes', 'nor is who has used them, if he may not see that');
select scylla.revoke_signal('part', 'scylla_test_liar', 'wait'), scylla.revoke_workflow('sends', 'scylla_test_liar', 'view') \g /dev/null

-- ---- what others see of it ------------------------------------------------------------------------------------------------

-- What a reader calls in his condition is not called for rows that he must not see.
create function test_leak(value text) returns boolean language plpgsql cost 0.0000001 as $$begin raise exception 'seen: %', value; end$$;
grant execute on function test_leak to scylla_test_liar;
grant select on scylla.workflow_step, scylla.workflow_step_attempt, scylla.workflow_loop_iteration, scylla.workflow_timeline, scylla.workflow_rollup, scylla.workflow_lineage to scylla_test_liar;
select throws_ok($$select from scylla.workflow_step where test_leak(step)$$, null, null, 'whoever may see a row has it seen by what he calls');
create function as_liar(view text, what text) returns bigint language plpgsql as $$
declare found bigint;
begin
    set local role scylla_test_liar;
    execute format('select count(*) from scylla.%I where test_leak((%s)::text) and %s', view, what, case view when 'workflow_lineage' then 'seq > 0' else 'instance < 9' end) into found;
    reset role;
    return found;
end $$;
select is(as_liar(v.view, v.what), 0::bigint, format('nothing of %s in %s leaks', v.what, v.view))
from (values ('workflow_step', 'step'), ('workflow_step', 'iterations'), ('workflow_step', 'workflow'), ('workflow_step_attempt', 'step'), ('workflow_step_attempt', 'iterations'),
             ('workflow_loop_iteration', 'loop'), ('workflow_loop_iteration', 'params'),
             ('workflow_timeline', 'message'), ('workflow_timeline', 'step'), ('workflow_rollup', 'overview'), ('workflow_rollup', 'run'), ('workflow_lineage', 'params')) v (view, what);

-- ---- what reading costs --------------------------------------------------------------------------------------------------

-- Whether a statement reads a table as a whole.
create function reads_all(statement text) returns text[] language plpgsql as $$
declare
    plan json;
begin
    execute 'explain (format json) ' || statement into plan;
    return array(select distinct n ->> 'Relation Name' from jsonb_path_query(plan::jsonb, '$.**?(@."Node Type" == "Seq Scan")') n
                 where n ->> 'Relation Name' ~ '^workflow_(step_state|iteration)$' order by 1);
end $$;
insert into scylla.workflow_step_state (scope, root, created, attempt, run, error_retries, platform_retries, timeout_retries, status, step)
select -n, -n, now(), 1, 1, 0, 0, 0, 'SUCCEEDED', 's' from generate_series(1, 20000) n;
insert into scylla.workflow_iteration (id, root, parent, number, created, status, step, numbers, params)
select -n - 100000, -n, -n, 1, now(), 'SUCCEEDED', 's', '{1}', '{}' from generate_series(1, 20000) n;
analyze scylla.workflow_step_state, scylla.workflow_iteration;
select is(reads_all($$select * from scylla.workflow_step where workflow = 'all' and instance = 1$$), '{}', 'the steps of an instance are found without looking at those of others');
select is(reads_all($$select * from scylla.workflow_step_attempt where workflow = 'all' and instance = 1$$), '{}', 'so are their attempts');
select is(reads_all($$select * from scylla.workflow_loop_iteration where workflow = 'all' and instance = 1$$), '{}', 'and the iterations of its loops');
select is(reads_all($$select * from scylla.workflow_timeline where workflow = 'all' and instance = 1$$), '{}', 'and its timeline');
select is(reads_all($$select * from scylla.workflow_rollup where workflow = 'all' and instance = 1$$), '{}', 'and its rollup');
select is(reads_all($$delete from scylla.workflow_iteration where root = 7$$), '{}', 'and what is to be forgotten with it');

select * from finish();
rollback;
