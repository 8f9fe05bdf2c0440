-- What there is to see of runs of workflows: run_tree, failed_steps, pictures. Numbers in brackets are sections of the specification of
-- Maestro's behaviour.
begin;
\ir include/helpers.psql
\ir include/workflows.psql
select * from no_plan();
select scylla.create_queue('a'), scylla.create_queue('b') \g /dev/null

-- The tree of an instance in a line: "name STATUS", deeper ones in brackets.
create function tree(workflow text, max_iterations int = 10, failed_first boolean = false, instance bigint = 1) returns text language sql as $$
    select string_agg(repeat('.', depth) || kind || coalesce(' ' || name, '') || coalesce(' ' || count, '') || ' ' || status, E'\n' order by n)
    from rows from (scylla.run_tree(workflow, instance, max_iterations, failed_first)) with ordinality
        t (depth, kind, name, iterations, count, status, attempt, started, ended, params, error, task, workflow_id, instance_id, n)
$$;
-- Ends the tasks of a queue: those whose parameter x is one of these by a failure that is not tried again.
create function end_tasks(queue text, failing int[]) returns void language plpgsql as $$
declare t scylla.task;
begin
    for t in select * from scylla.lease(queue, 'w', max_tasks => 1000) loop
        if (t.spec #>> '{params,x}')::int = any (failing) then
            perform scylla.abort(t.rn, 'w', jsonb_build_object('code', 'bad', 'message', 'no good ' || (t.spec #>> '{params,x}')));
        else
            perform scylla.complete(t.rn, 'w');
        end if;
    end loop;
    perform advance();
end $$;

-- ---- a tree -------------------------------------------------------------------------------------------------------------

select make('child', jsonb_build_array(step('c1', '{"c2": "true"}', '{}', 'B'), step('c2', '{}', '{}', 'B'))) \g /dev/null
select make('all', jsonb_build_array(
    step('first', '{"each": "n > 3", "sub": "true", "never": "n < 3"}', '{}', 'NoOp'),
    each('each', 3, jsonb_build_array(step('copy', '{"check": "true"}', '{"params": {"x": {"type": "LONG", "expression": "each_i"}}}'), step('check', '{}', '{}', 'NoOp')),
         '{"report": "true"}'),
    call('sub', 'child', '{"transition": {"successors": {"report": "true"}}}'), step('never'), step('report')), '{"params": {"n": {"type": "LONG", "value": 5}}}') \g /dev/null
select scylla.start_workflow('all') \g /dev/null
select is(tree('all'), $$run all/1 CREATED
.step first NOT_CREATED
.foreach each NOT_CREATED
.subworkflow sub NOT_CREATED
.step never NOT_CREATED
.step report NOT_CREATED$$, 'a run that has not begun');
select advance();
select is(tree('all'), $$run all/1 IN_PROGRESS
.step first SUCCEEDED
.foreach each RUNNING
..iteration 1 IN_PROGRESS
...step copy RUNNING
...step check NOT_CREATED
..iteration 2 IN_PROGRESS
...step copy RUNNING
...step check NOT_CREATED
..iteration 3 IN_PROGRESS
...step copy RUNNING
...step check NOT_CREATED
.subworkflow sub RUNNING
..run child/1 IN_PROGRESS
...step c1 RUNNING
...step c2 NOT_CREATED
.step never UNSATISFIED
.step report NOT_CREATED$$, 'what is in loops and subworkflows is below them');
select results_eq($$select iterations, params -> 'each_i', task is not null from scylla.run_tree('all', 1) where kind = 'iteration' or name = 'copy'$$,
    $$values ('{1}'::bigint[], '0'::jsonb, false), ('{1}', null, true), ('{2}', '1', false), ('{2}', null, true), ('{3}', '2', false), ('{3}', null, true)$$,
    'iterations have their values, steps their tasks');
select is((select array_agg(distinct workflow_id || '/' || instance_id) from scylla.run_tree('all', 1)), '{all/1,child/1}', 'each row tells which run it is of');
select is_empty($$select * from scylla.failed_steps('all', 1)$$, 'nothing has failed');

select end_tasks('a', '{1,2}');
select is(tree('all', 10, true), $$run all/1 IN_PROGRESS
.foreach each FATALLY_FAILED
..iteration 2 FAILED
...step copy FATALLY_FAILED
...step check NOT_CREATED
..iteration 3 FAILED
...step copy FATALLY_FAILED
...step check NOT_CREATED
..iteration 1 SUCCEEDED
...step copy SUCCEEDED
...step check SUCCEEDED
.step first SUCCEEDED
.subworkflow sub RUNNING
..run child/1 IN_PROGRESS
...step c1 RUNNING
...step c2 NOT_CREATED
.step never UNSATISFIED
.step report NOT_CREATED$$, 'what has failed comes first if that is asked for');
select is(substring(tree('all', 1) from '.foreach each(.*)\n.subw'), E' FATALLY_FAILED\n..iterations 2 FAILED\n..iterations 1 SUCCEEDED', 'many iterations are counted');
select is(substring(tree('all', 1, true) from '.foreach each(.*)\n.step first'), E' FATALLY_FAILED\n..iterations 2 FAILED\n..iterations 1 SUCCEEDED\n'
    '..iteration 2 FAILED\n...step copy FATALLY_FAILED\n...step check NOT_CREATED', 'and the first that have failed are shown');
select unalike(tree('all', 0, true), '%iteration _ %', 'none of them if none is wanted');

-- ---- what has failed ------------------------------------------------------------------------------------------------------

select results_eq($$select workflow_id, instance_id, step, iterations, attempt, status, params -> 'x', error_message from scylla.failed_steps('all', 1)$$,
    $$values ('all', 1::bigint, 'copy', '{2}'::bigint[], 1, 'FATALLY_FAILED', '1'::jsonb, 'no good 1'), ('all', 1, 'copy', '{3}', 1, 'FATALLY_FAILED', '2', 'no good 2')$$,
    'the steps that have failed, not the loop that failed because of them');
select scylla.abort(rn, 'w', '{"code": "worse", "message": "no good either"}') from scylla.lease('b', 'w') \g /dev/null
select advance();
select is(status('all'), 'FAILED', 'the run has failed');
select is((select array_agg(workflow_id || '/' || instance_id || ' ' || step order by n) from scylla.failed_steps('all', 1) with ordinality f (workflow_id, instance_id, step, i, a, s, e, p, er, t, em, n)),
          '{all/1 copy,all/1 copy,child/1 c1}', 'a failure in a subworkflow is told as its own, the first one first');
select is((select count(*) from scylla.failed_steps('all', 1, 2)), 2::bigint, 'no more than are wanted');
select is((select array_agg(task = (select task from scylla.workflow_step s where s.workflow = 'child' and s.step = 'c1')) from scylla.failed_steps('child', 1)), '{t}', 'with its task');
select is(tree('child'), E'run child/1 FAILED\n.step c1 FATALLY_FAILED\n.step c2 NOT_CREATED', 'a subworkflow is an instance of its own');

-- A failure that does not matter is none; a loop that could not begin is one itself.
select make('tolerant', jsonb_build_array(
    each('each', 2, jsonb_build_array(step('copy', '{}', '{"params": {"x": {"type": "LONG", "expression": "each_i"}}}')), '{}', '{"failure_mode": "IGNORE_FAILURE"}'),
    jsonb_build_object('foreach', jsonb_build_object('id', 'broken', 'steps', jsonb_build_array(step('s')), 'params', jsonb_build_object('loop_params',
        '{"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "expression": "1 / 0"}}}'::jsonb))),
    call('lost', 'nothing'), step('missed', '{}', '{"failure_mode": "IGNORE_FAILURE"}', 'B'))) \g /dev/null
select start('tolerant') \g /dev/null
select end_tasks('a', '{0,1}');
select scylla.abort(rn, 'w', '{"code": "x"}') from scylla.lease('b', 'w') \g /dev/null
select advance();
select is(steps('tolerant'), 'broken FATALLY_FAILED, copy{1} FATALLY_FAILED, copy{2} FATALLY_FAILED, each COMPLETED_WITH_ERROR, lost FATALLY_FAILED, missed COMPLETED_WITH_ERROR', 'a run with failures of all kinds');
select is((select array_agg(step order by step) from scylla.failed_steps('tolerant', 1)), '{broken,lost}', 'of which these matter');
select is((select string_agg(step || coalesce(iterations::text, '') || ': ' || error_message, ', ' order by step, iterations) from scylla.workflow_step
           where workflow = 'tolerant' and step in ('copy', 'missed')),
          'copy{1}: no good 0, copy{2}: no good 1, missed: x', 'error_message has the message of an error, or the code of one without');
select is_empty($$select from scylla.workflow_step s join scylla.workflow_step_attempt a using (workflow, instance, step, attempt)
                  where s.iterations is not distinct from a.iterations and s.error_message is distinct from a.error_message$$, 'also in all attempts');

-- A subworkflow that is not waited for is named only.
select make('async', jsonb_build_array(call('sub', 'child', '{"sync": false}'))) \g /dev/null
select start('async') \g /dev/null
select is(tree('async'), E'run async/1 SUCCEEDED\n.subworkflow sub SUCCEEDED\n..run child/2 IN_PROGRESS', 'it is not a part of the run');

-- ---- pictures -------------------------------------------------------------------------------------------------------------

select is(scylla.workflow_dot('all'), $$digraph workflow {
  rankdir=LR;
  node [shape=box, style="rounded,filled", fillcolor="#ffffff", fontname="sans-serif"];
  edge [fontname="sans-serif", fontsize=10];
  n1 [label="first"];
  subgraph cluster_2 {
  style=rounded;
  n2 [label="each", shape=folder, style=filled];
  n3 [label="copy"];
  n4 [label="check"];
  }
  n5 [label="sub\nchild", peripheries=2];
  n6 [label="never"];
  n7 [label="report"];
  n1 -> n2 [label="n > 3"];
  n1 -> n5;
  n1 -> n6 [label="n < 3"];
  n2 -> n7;
  n3 -> n4;
  n5 -> n7;
}
$$, 'a workflow is drawn with its conditions, and its loops in frames');
select is(regexp_replace(scylla.run_dot('all', 1), '.*fontsize=10\];|  n\d+ -> .*', '', 'g'), $$
  n1 [label="first\nSUCCEEDED", fillcolor="#b2f2bb"];
  subgraph cluster_2 {
  style=rounded;
  n2 [label="each\nFATALLY_FAILED", fillcolor="#ffc9c9", shape=folder, style=filled];
  n3 [label="copy\n2 FATALLY_FAILED\n1 SUCCEEDED", fillcolor="#ffc9c9"];
  n4 [label="check\nSUCCEEDED", fillcolor="#b2f2bb"];
  }
  n5 [label="sub\nFATALLY_FAILED\nchild/1", fillcolor="#ffc9c9", peripheries=2];
  n6 [label="never\nUNSATISFIED", fillcolor="#e0e0e0", style="rounded,filled,dashed"];
  n7 [label="report", fillcolor="#ffffff", style="rounded,filled,dashed"];
$$, 'a run has the status of each step, and of those in a loop how many have which');
select is(regexp_replace(scylla.run_mermaid('all', 1), '\n  classDef.*', ''), $$flowchart LR
  n1["first<br>SUCCEEDED"]
  subgraph n2["each<br>FATALLY_FAILED"]
  n3["copy<br>2 FATALLY_FAILED<br>1 SUCCEEDED"]
  n4["check<br>SUCCEEDED"]
  end
  n5[["sub<br>FATALLY_FAILED<br>child/1"]]
  n6["never<br>UNSATISFIED"]
  n7["report"]
  n1 -->|"n #62; 3"| n2
  n1 --> n5
  n1 -->|"n #60; 3"| n6
  n2 --> n7
  n3 --> n4
  n5 --> n7
  class n1 look_succeeded
  class n2 look_failed
  class n3 look_failed
  class n4 look_succeeded
  class n5 look_failed
  class n6 look_skipped
  class n7 look_none$$, 'and the same for Mermaid');
select unalike(scylla.workflow_mermaid('all'), '%class%', 'a workflow has no status there either');
select matches(scylla.run_gantt('all', 1), E'^gantt\n  dateFormat x\n  axisFormat %H:%M:%S\n  title all/1\n  all/1 :crit, \\d{13}, \\d{13}\n'
    '  section first\n  first :done, \\d{13}, \\d{13}\n  section each\n  each :crit, \\d{13}, \\d{13}\n  iteration 1 :done, .*\n  copy :done, .*\n  iteration 2 :crit, .*\n  section sub\n', 'when what ran');
select matches(scylla.run_gantt('all', 1, 0), E'\n  2 iterations FAILED :crit, .*\n  1 iterations SUCCEEDED :done, ', 'with folded loops');
select matches(scylla.run_gantt('async', 1), E'\n  child/2 :active, ', 'what runs still is active');

-- A condition is text of the user.
select make('odd', jsonb_build_array(step('s1', jsonb_build_object('s2', '"\n|]" + ''' || repeat('x', 100) || ''' != "<b>#&`%*:"')), step('s2')), '{}') \g /dev/null
select alike(scylla.workflow_dot('odd'), E'%n1 -> n2 [label="\\\\"\\\\\\\\n|]\\\\" + ''xxx%..."];%', 'what means something to Graphviz is escaped');
select is(substring(scylla.workflow_mermaid('odd') from '-->(.*)\| n2'), '|"#34;#92;n#124;]#34; + ''' || repeat('x', 47) || '..."', 'and what means something to Mermaid');
select make('odd', jsonb_build_array(step('other'))) \g /dev/null
select scylla.activate_workflow('odd', 1);
select is((select array_agg(scylla.workflow_dot('odd', v) ~ 'other' order by v) from unnest('{active,default,latest,1,2}'::text[]) v),
          '{f,t,f,f,t}', 'any version is drawn');

-- As the planner sees tables that were empty when they were analyzed, and have grown since.
update pg_class set reltuples = 0, relpages = 1 where oid in ('scylla.workflow_step_state'::regclass, 'scylla.workflow_iteration'::regclass);
-- ---- many iterations --------------------------------------------------------------------------------------------------------

select make('many', jsonb_build_array(each('loop', 3000, jsonb_build_array(step('s', '{}', '{"failure_mode": "IGNORE_FAILURE", "params": {"x": {"type": "LONG", "expression": "loop_i == 2900 ? 1 / 0 : 1"}}}', 'NoOp')))))
\g /dev/null
select start('many') \g /dev/null
select is((select (count - 3000)::text from scylla.run_tree('many', 1) where kind = 'iterations'), '0', '3,000 iterations');
select is((select count(*) from scylla.run_tree('many', 1)), 3::bigint, 'are three rows');
select clock_timestamp() as before \gset
select count(*) from scylla.run_tree('many', 1), scylla.failed_steps('many', 1) \g /dev/null
select length(scylla.run_dot('many', 1)) \g /dev/null
select cmp_ok(clock_timestamp() - :'before', '<', interval '30 s', 'and soon there');
select alike(scylla.run_dot('many', 1), '%"s\\n2999 SUCCEEDED\\n1 COMPLETED_WITH_ERROR", fillcolor="#ffd8a8"%', 'the worst of many shows');
select make('last', jsonb_build_array(each('loop', 3000, jsonb_build_array(step('s', '{}', '{"params": {"x": {"type": "LONG", "expression": "loop_i == 2999 ? 1 / 0 : 1"}}}', 'NoOp')))))
\g /dev/null
select start('last') \g /dev/null
create function iterations_read() returns bigint language sql as $$
    select seq_tup_read + coalesce(idx_tup_fetch, 0) from pg_stat_xact_user_tables where relid = 'scylla.workflow_iteration'::regclass
$$;
select iterations_read() as before \gset
select is((select array_agg(step || ' ' || iterations::text) from scylla.failed_steps('last', 1)), '{"s {3000}"}', 'the last of 3,000 iterations has failed');
select cmp_ok(iterations_read() - :before, '<', 4500::bigint, 'to find it, each is read once');

-- ---- whose it is --------------------------------------------------------------------------------------------------------------

create role scylla_test_looker;
grant usage on schema scylla to scylla_test_looker;
grant execute on all functions in schema scylla to scylla_test_looker;
grant usage on schema test to scylla_test_looker;
select scylla.grant_workflow('all', 'scylla_test_looker', 'view') \g /dev/null
set local role scylla_test_looker;
select unalike(tree('all'), '%child/1%', 'a subworkflow that one may not view is not looked into');
select is((select array_agg(step order by n) from scylla.failed_steps('all', 1) with ordinality f (workflow_id, instance_id, step, i, a, s, e, p, er, t, em, n)), '{copy,copy,sub}', 'its step is what has failed');
select is(raised($$select scylla.run_tree('child', 1)$$), raised($$select scylla.workflow_dot('child')$$), 'without the privilege all are refused alike');
select alike(raised($$select scylla.run_tree('child', 1)$$), '42501 scylla.workflow/privilege%', 'with 42501');
reset role;

-- ---- arguments ------------------------------------------------------------------------------------------------------------------

select checks_name(format('select scylla.%s($1, 1)', f), 'workflow') from unnest('{run_tree,failed_steps,run_dot,run_mermaid,run_gantt,lineage_dot,lineage_mermaid}'::text[]) f;
select checks_name(format('select scylla.%s($1)', f), 'workflow') from unnest('{workflow_dot,workflow_mermaid}'::text[]) f;
select alike(raised(format('select scylla.%s(''nothing'', 1)', f)), '42704 scylla.workflow/exists%', f || ' of no workflow') from unnest('{run_tree,failed_steps,run_dot,run_mermaid,run_gantt,lineage_dot,lineage_mermaid}'::text[]) f;
select alike(raised(format('select scylla.%s(''all'', 7)', f)), 'P0002 scylla.workflow/instance%', f || ' of no instance') from unnest('{run_tree,failed_steps,run_dot,run_mermaid,run_gantt,lineage_dot,lineage_mermaid}'::text[]) f;
select refuses_argument(format('select scylla.%s(''all'', null)', f), 'instance', 'null', 'It must not be null.') from unnest('{run_tree,failed_steps,run_dot,run_mermaid,run_gantt,lineage_dot,lineage_mermaid}'::text[]) f;
select refuses_argument(format('select scylla.%s(''all'', 1, %s)', f, n), 'max_iterations', n::text, 'It must be between 0 and 1000.') from unnest('{run_tree,run_gantt}'::text[]) f, unnest('{-1,1001}'::int[]) n;
select refuses_argument(format('select scylla.failed_steps(''all'', 1, %s)', n), 'max_steps', n::text, 'It must be between 1 and 100000.') from unnest('{0,100001}'::int[]) n;
select is(tree('all', null, null), tree('all'), 'null is the default');
select is(scylla.workflow_dot('all', null), scylla.workflow_dot('all'), 'also of a version');
select alike(raised($$select scylla.workflow_dot('all', '9')$$), '42704 scylla.workflow/version%', 'no such version');
select refuses_argument($$select scylla.workflow_dot('all', 'newest')$$, 'version', '"newest"', (regexp_match(raised($$select scylla.start_workflow('all', version => 'newest')$$), E'\n([^\n]*)$'))[1]);
select scylla.deactivate_workflow('odd');
select alike(raised($$select scylla.workflow_dot('odd', 'active')$$), '55000 scylla.workflow/active%', 'no version is active');
select matches(scylla.workflow_dot('odd'), 'other', 'then the default is the latest');
select * from finish();
rollback;
