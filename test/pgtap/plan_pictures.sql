-- Pictures of plans: plan_dot, plan_mermaid, plan_timeline, and the view that they are made of.
begin;
\ir include/helpers.psql
select * from no_plan();

-- ---- a small plan ----------------------------------------------------------------------------------------------------

select scylla.create_plan('p') \g /dev/null
select is(scylla.plan_dot('p'), E'digraph plan {\n  rankdir=LR;\n  node [shape=box, style="rounded,filled", fontname="sans-serif"];\n}\n',
          'a plan without tasks is an empty graph');
select matches(scylla.plan_mermaid('p'), '^flowchart LR\n(  classDef [a-z]+ fill:#[0-9a-f]{6}(,stroke-dasharray:4)?\n){7}$', 'and an empty flowchart');
select is_empty($$select * from scylla.plan_timeline('p')$$, 'and an empty chart');

select scylla.submit('q', '1', rn => 'outside') \g /dev/null
select scylla.submit('q', '1', rn => rn, plan => 'p') from unnest('{a,b,c,d}'::text[]) rn \g /dev/null
select scylla.submit('q', '1', rn => 'e', plan => 'p', depends_on => '{b,a,b,outside}') \g /dev/null
select scylla.submit('q', '1', rn => 'f', plan => 'p', depends_on => '{e}') \g /dev/null
select scylla.open_plan('p') \g /dev/null
select scylla.lease_task('a', 'w'), scylla.complete('a', 'w') \g /dev/null
select scylla.lease_task('c', 'w'), scylla.abort('c', 'w', '{"code": "x"}'), scylla.cancel('d'), scylla.lease_task('b', 'w', '1 h')
\g /dev/null
select is(scylla.plan_dot('p'), $$digraph plan {
  rankdir=LR;
  node [shape=box, style="rounded,filled", fontname="sans-serif"];
  n1 [label="a", fillcolor="#b2f2bb"];
  n2 [label="b", fillcolor="#a5d8ff"];
  n3 [label="c", fillcolor="#ffc9c9"];
  n4 [label="d", fillcolor="#d0bfff"];
  n5 [label="e", fillcolor="#e0e0e0"];
  n6 [label="f", fillcolor="#e0e0e0"];
  n1 -> n5;
  n2 -> n5;
  n5 -> n6;
}
$$, 'tasks have the colours of their status; an arrow per dependency between tasks of the plan');
select is(regexp_replace(scylla.plan_mermaid('p'), '  classDef.*', ''), $$flowchart LR
  n1["a"]:::completed
  n2["b"]:::running
  n3["c"]:::aborted
  n4["d"]:::cancelled
  n5["e"]:::waiting
  n6["f"]:::waiting
  n1 --> n5
  n2 --> n5
  n5 --> n6
$$, 'and the same for Mermaid');
select results_eq($$select rn, status::text, depends_on from scylla.plan_task where plan = 'p' order by rn$$,
                  $$values ('a', 'completed', '{}'::text[]), ('b', 'running', '{}'), ('c', 'aborted', '{}'), ('d', 'cancelled', '{}'),
                           ('e', 'waiting', '{b,a,b,outside}'), ('f', 'waiting', '{e}')$$,
                  'the view tells dependencies as they were given');
select is_empty($$select rn, queue, status, progress, created, updated, owner, attempt, history from scylla.plan_task where plan = 'p'
                  except select rn, queue, status, progress, created, updated, owner, attempt, history from scylla.task$$,
                'and the rest as scylla.task does');

-- ---- names -----------------------------------------------------------------------------------------------------------

select scylla.create_plan('names') \g /dev/null
select scylla.submit('q', '1', rn => E'"x"\\n\n<b>&amp;#`*%:\t', plan => 'names') \g /dev/null
select is(substring(scylla.plan_dot('names') from 'n1 \[.*\];'), $$n1 [label="\"x\"\\n\n<b>&amp;amp;#`*%: ", fillcolor="#e0e0e0"];$$,
          'what means something to Graphviz is escaped');
select is(substring(scylla.plan_mermaid('names') from 'n1\[[^\n]*'),
          'n1["#34;x#34;#92;n<br>#60;b#62;#38;amp;#35;#96;#42;#37;#58; "]:::waiting', 'and what means something to Mermaid');

-- What failed is told from what fell with it.
select scylla.create_plan('broken') \g /dev/null
select scylla.submit_many('[{"plan": "broken", "queue": "q", "spec": 1, "rn": "culprit", "max_attempts": 1},
    {"plan": "broken", "queue": "q", "spec": 1, "rn": "victim", "depends_on": ["culprit"]},
    {"plan": "broken", "queue": "q", "spec": 1, "rn": "skipped", "depends_on": ["culprit"], "on_dependency_failure": "skip"},
    {"plan": "broken", "queue": "q", "spec": 1, "rn": "second victim", "depends_on": ["victim"]}]') \g /dev/null
select scylla.open_plan('broken'), scylla.lease_task('culprit', 'w'), scylla.fail('culprit', 'w', '{"code": "x"}') \g /dev/null
select results_eq($$select label, status::text, fallen from scylla._plan_nodes('broken', 100) order by 1$$,
                  $$values ('culprit', 'aborted', false), ('second victim', 'aborted', true), ('skipped', 'cancelled', false), ('victim', 'aborted', true)$$,
                  'who has failed is told from who fell with it');
select matches(scylla.plan_dot('broken'), '"culprit", fillcolor="#ffc9c9"\];.*"victim", fillcolor="#ffc9c9", style="rounded,filled,dashed"\];',
               'in the graph');
select matches(scylla.plan_mermaid('broken'), '\["culprit"\]:::aborted.*\["victim"\]:::fallen', 'and in the flowchart');
select is((select count(*) from scylla._plan_nodes('broken', 3)), 3::bigint, 'they share no node');

-- ---- what tasks wait for besides tasks -------------------------------------------------------------------------------

set local timezone = 'UTC';
select scylla.create_plan('waits'), scylla.create_callback('ask'), scylla.create_pool('cars', '{"seats": 4}'), scylla.create_queue('sensors') \g /dev/null
select scylla.submit('q', '1', rn => 'w1', plan => 'waits', wait_for => '[{"callback": "ask"}, {"signal": "landed", "match": {"day": 1}}]') \g /dev/null
select scylla.submit('q', '1', rn => 'w2', plan => 'waits', wait_for => '[{"callback": "ask"}, {"check": {"queue": "sensors", "spec": {"p": "a"}}}, {"signal": "landed"}]') \g /dev/null
select scylla.submit('q', '1', rn => 'w3', plan => 'waits', depends_on => '{w1}', not_before => '2100-01-01') \g /dev/null
select scylla.submit('q', '1', rn => 'w4', plan => 'waits', needs => '{"cars": {"seats": 2}}') \g /dev/null
select scylla.submit('q', '1', rn => 'w5', plan => 'waits', wait_for => '[{"task": "w1"}]') \g /dev/null
select is((select count(*) from scylla._plan_nodes('waits', 100) where label like 'pool %'), 0::bigint, 'before its plan is open no task waits for a pool');
select scylla.open_plan('waits') \g /dev/null
select is(scylla.plan_dot('waits'), $$digraph plan {
  rankdir=LR;
  node [shape=box, style="rounded,filled", fontname="sans-serif"];
  n1 [label="w1", fillcolor="#e0e0e0"];
  n2 [label="w2", fillcolor="#e0e0e0"];
  n3 [label="w3", fillcolor="#e0e0e0"];
  n4 [label="w4", fillcolor="#e0e0e0"];
  n5 [label="w5", fillcolor="#e0e0e0"];
  n6 [label="2100-01-01 00:00:00+00", fillcolor="#ffffff", shape=note, style=filled];
  n7 [label="callback ask", fillcolor="#ffffff", shape=note, style=filled];
  n8 [label="check in sensors\n{\"p\": \"a\"}", fillcolor="#ffffff", shape=note, style=filled];
  n9 [label="pool cars", fillcolor="#ffffff", shape=note, style=filled];
  n10 [label="signal landed", fillcolor="#ffffff", shape=note, style=filled];
  n11 [label="signal landed\n{\"day\": 1}", fillcolor="#ffffff", shape=note, style=filled];
  n7 -> n1;
  n11 -> n1;
  n7 -> n2;
  n8 -> n2;
  n10 -> n2;
  n1 -> n3;
  n6 -> n3;
  n9 -> n4;
  n1 -> n5;
}
$$, 'conditions that tasks wait for are sheets, each once');
select matches(scylla.plan_mermaid('waits'), E'\n  n7\\(\\["callback ask"\\]\\)\n.*\n  n7 --> n1\n', '... in the flowchart, too');
select scylla.resolve_callback('ask'), scylla.send_signal('landed', '{"day": 2}') \g /dev/null
select bag_eq($$select label from scylla._plan_nodes('waits', 100) where status is null$$,
              $$values ('2100-01-01 00:00:00+00'), (E'check in sensors\n{"p": "a"}'), ('pool cars'), (E'signal landed\n{"day": 1}')$$,
              'what has come is shown no more');
select scylla.submit('q', '1', rn => 'w6', plan => 'waits', wait_for => jsonb_build_array(jsonb_build_object('check',
    jsonb_build_object('queue', 'sensors', 'spec', repeat(U&'\00e9', 1000))))) \g /dev/null
select ok(max(octet_length(label)) < 100, 'a long condition is cut short') from scylla._plan_nodes('waits', 100);
select is((select count(*) from scylla._plan_nodes('waits', 1) where status is null), 0::bigint, 'where tasks share nodes, conditions are not shown');
-- Who may see a task, and not what it waits for.
create role scylla_test_role;
grant usage on schema scylla to scylla_test_role;
grant execute on function scylla.plan_dot, scylla.plan_completed to scylla_test_role;
grant select on scylla.plan_task to scylla_test_role;
update scylla.task_plan set owner = 'scylla_test_role' where name = 'waits';
select scylla.create_queue('half seen'), scylla.grant_queue('half seen', 'scylla_test_role', 'view'), scylla.create_callback('secret') \g /dev/null
select scylla.submit('half seen', '1', rn => 'w7', plan => 'waits',
    wait_for => '[{"callback": "secret"}, {"check": {"queue": "sensors", "spec": {"p": "a"}}}, {"signal": "landed", "match": {"day": 3}}]') \g /dev/null
select scylla.submit('half seen', '1', rn => 'w8', plan => 'waits', needs => '{"cars": {"seats": 2}}') \g /dev/null
set local role scylla_test_role;
select bag_eq($$select label from scylla._plan_nodes('waits', 100)$$, $$values ('w7'), ('w8'), ('a callback'), ('a check'), ('a signal'), ('a pool')$$,
              'what a role may not see has no name');
select is_empty($$select * from scylla._plan_waits('w1')$$, 'nor is it told of tasks that it may not view');
reset role;
update scylla.task_plan set owner = current_user where name = 'waits';

-- ---- large plans -----------------------------------------------------------------------------------------------------

-- A diamond between a first and a last task: 1 + 5 + 5 + 1, submitted last first, so that nothing comes in order.
select scylla.create_plan('wide') \g /dev/null
select scylla.submit_many((select jsonb_agg(t order by n) from (
    select 0, jsonb_build_object('queue', 'q', 'spec', 1, 'rn', 'last', 'plan', 'wide', 'depends_on', array['r1','r2','r3','r4','r5'])
    union all select n, jsonb_build_object('queue', 'q', 'spec', 1, 'rn', 'r' || n, 'plan', 'wide',
                                           'depends_on', array['l1', 'l' || n]) from generate_series(1, 5) n
    union all select n + 9, jsonb_build_object('queue', 'q', 'spec', 1, 'rn', 'l' || n, 'plan', 'wide', 'depends_on', array['first'])
              from generate_series(1, 5) n
    union all select 99, '{"queue": "q", "spec": 1, "rn": "first", "plan": "wide"}') t (n, t))) \g /dev/null
create function edges(plan text, max_tasks int) returns table (label text, depends_on text) language sql as $$
    with node as materialized (select * from scylla._plan_nodes(plan, max_tasks))
    select t.label, f.label from node t left join lateral unnest(t.sources) s on true left join node f on f.node = s order by t.node, s;
$$;
select is((select count(*) from scylla._plan_nodes('wide', 12)), 12::bigint, 'as many tasks as are allowed stand for themselves');
select results_eq($$select * from edges('wide', 11)$$,
                  $$values ('first', null), (E'q\n5 tasks', 'first'), (E'q\n5 tasks', E'q\n5 tasks'), ('last', E'q\n5 tasks')$$,
                  'of more, those of the same depth become one');
select results_eq($$select * from edges('wide', 2)$$, $$values (E'q\n6 tasks', null), (E'q\n6 tasks', E'q\n6 tasks')$$,
                  'or of about the same depth');
select scylla.open_plan('wide'), scylla.lease_task('first', 'w') \g /dev/null
select results_eq($$select * from edges('wide', 2)$$, $$values (E'q\n11 tasks', 'first'), ('first', null)$$,
                  'but the same status');
select is((select max(cardinality(sources)) from scylla._plan_nodes('wide', 1)), 1, 'even if that makes a few more');

select scylla.create_plan('chain') \g /dev/null
select scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'q', 'spec', 1, 'rn', 'c' || n, 'plan', 'chain', 'depends_on',
    case when n < 3000 then array['c' || n + 1] else '{}' end) order by n) from generate_series(1, 3000) n)) \g /dev/null
select results_eq($$select count(*), count(distinct label), min(label), sum(cardinality(sources)) from scylla._plan_nodes('chain', 100)$$,
                  $$values (100::bigint, 1::bigint, E'q\n30 tasks', 99::bigint)$$, 'a deep plan becomes a short one');

-- ---- the timeline ----------------------------------------------------------------------------------------------------

select scylla.create_plan('t') \g /dev/null
select scylla.submit('q', '1', rn => 't' || n, plan => 't') from generate_series(1, 4) n \g /dev/null
select scylla.open_plan('t') \g /dev/null
select scylla.lease_task('t1', 'w1'), scylla.yield('t1', 'w1'), scylla.lease_task('t1', 'w2'), scylla.fail('t1', 'w2', '{"code": "x"}', '0'),
       scylla.lease_task('t1', 'w3'), scylla.complete('t1', 'w3') \g /dev/null
select scylla.lease_task('t2', 'w1'), scylla.cancel('t2') \g /dev/null
select scylla.lease_task('t3', 'w1') \g /dev/null
update scylla.task_lease set deadline = now() - interval '1 h' where id = (select id from scylla.task_spec where rn = 't3');
select scylla.reset_expired(), scylla.lease_task('t3', 'w4', '1 h') \g /dev/null
select results_eq($$select rn, queue, owner, attempt, status, ended is null from scylla.plan_timeline('t') order by rn, attempt$$,
                  $$values ('t1', 'q', 'w1', 1, 'yielded', false), ('t1', 'q', 'w2', 2, 'failed', false),
                           ('t1', 'q', 'w3', 3, 'completed', false), ('t2', 'q', 'w1', 1, 'cancelled', false),
                           ('t3', 'q', 'w1', 1, 'expired', false), ('t3', 'q', 'w4', 2, 'running', true)$$,
                  'a row per attempt says how it ended; a task that never ran has none');
select is_empty($$select * from scylla.plan_timeline('t') where ended < started$$, 'nothing ends before it starts');
select results_eq($$select started from scylla.plan_timeline('t')$$, $$select started from scylla.plan_timeline('t') order by 1$$,
                  'in the order of their starts');

-- ---- errors and rights -----------------------------------------------------------------------------------------------

select refuses(format('select scylla.%s(''none'')', f), 'P0002', 'exists', 'plan "none" does not exist', table_ => 'plan')
from unnest('{plan_dot,plan_mermaid,plan_timeline}'::text[]) f;
select refuses_argument(format('select scylla.%s(null)', f), 'plan', 'null', 'It must have 1 to 200 characters.')
from unnest('{plan_dot,plan_mermaid,plan_timeline}'::text[]) f;
select refuses_argument(format('select scylla.%s(''p'', %s)', f, coalesce(v, 'null')), 'max_tasks', coalesce(v, 'null'),
                        'It must be between 1 and 100000.')
from unnest('{plan_dot,plan_mermaid}'::text[]) f, unnest('{0,-1,100001}'::text[]) v;

set local role scylla_test_role;
select refuses($$select scylla.plan_dot('p')$$, 'P0002', 'exists', 'plan "p" does not exist', table_ => 'plan',
               description => 'a plan of others does not exist');
select is_empty('select * from scylla.plan_task', 'nor do its tasks');
reset role;
update scylla.task_plan set owner = 'scylla_test_role' where name = 'p';
select scylla.create_queue('seen'), scylla.grant_queue('seen', 'scylla_test_role', 'view') \g /dev/null
select scylla.submit('seen', '1', rn => 'g', plan => 'p', depends_on => '{e}') \g /dev/null
set local role scylla_test_role;
select results_eq('select rn, depends_on from scylla.plan_task', $$values ('g', '{}'::text[])$$,
                  'of a plan of his own nobody sees more than the queues that he may view');
select unalike(scylla.plan_dot('p'), '%"e"%', 'not in the picture either');
reset role;

select all_is_sound();
select * from finish();
rollback;
