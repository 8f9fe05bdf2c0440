-- Job types: what must be fresh before something runs. The planner itself is held against a reference in test/unit/job_plan_test.cpp;
-- what several sessions do at once is in specs/jobs.spec.
begin;
\ir include/helpers.psql
select * from no_plan();
select scylla.create_queue('q'), scylla.create_queue('other') \g /dev/null

-- What explain_job() tells, without the ages: "job ids (waits for ...): why".
create function told(job text, ids int8multirange, options jsonb = '{}', args jsonb = '{}') returns text language sql as $$
    select string_agg(format('%s %s%s: %s', s.job, s.chunk, case when s.depends_on <> '{}' then format(' <- %s', array_to_string(s.depends_on, ', ')) end,
                             regexp_replace(s.reason, '[:;].*', '')), ' | ' order by not s.runs, s.job, s.chunk)
    from scylla.explain_job(told.job, told.ids, told.args, told.options) s
$$;
-- The tasks of a plan: "job ids status".
create function tasks(plan text) returns text language sql as $$
    select string_agg(format('%s %s %s', spec ->> 'job', spec ->> 'ids', status), ' | ' order by spec ->> 'job', spec ->> 'ids')
    from scylla.task t where t.plan = tasks.plan
$$;
-- Completes what is ready, one after the other, until nothing is; returns the jobs in their order.
create function work(queue text = 'q') returns text language plpgsql as $$
declare t scylla.task; done text[] := '{}';
begin
    loop
        select * into t from scylla.lease(work.queue, 'w');
        exit when t.rn is null;
        perform scylla.complete(t.rn, 'w', '1');
        done := done || (t.spec ->> 'job');
    end loop;
    return array_to_string(done, ' ');
end $$;

-- ---- definitions -------------------------------------------------------------------------------------------------------

select lives_ok($$select scylla.define_job('e', 'q', '{"chunk_size": 6}')$$);
select lives_ok($$select scylla.define_job('c', 'q', '{"chunk_size": 3}', '[]')$$);
select lives_ok($$select scylla.define_job('b', 'q', '{"chunk_size": 2}', '[{"job": "e", "max_lag": "1 day"}]')$$);
select lives_ok($$select scylla.define_job('a', 'q', '{"chunk_size": 3, "args": {"z": 1}, "sources": ["x"], "sinks": {"y": 1}}',
                                           '[{"job": "b", "max_lag": "1 day"}, {"job": "c", "max_lag": "1 day"}]')$$);
select is((select row(owner, queue, settings, needs)::text from scylla.job_type where name = 'b'),
          row(current_user, 'q', '{"chunk_size": 2}'::jsonb, '[{"job": "e", "max_lag": "1 day"}]'::jsonb)::text, 'the view shows it');
select is((select count(*) from scylla.job_type), 4::bigint, 'all are there');

select checks_name($$select scylla.define_job($1, 'q')$$, 'job');
delete from scylla.job_definition where needs = '[]' and name not in ('c', 'e');
select refuses_argument($$select scylla.define_job('x', 'q', '[]')$$, 'settings', '[]', 'It must be an object.');
select refuses_argument($$select scylla.define_job('x', 'q', '{"chunksize": 1}')$$, 'settings', '"chunksize"', 'There is no such setting of a job.');
select refuses_argument($$select scylla.define_job('x', 'q', '{"chunk_size": 0}')$$, 'chunk_size', '0', 'It must be at least 1; null: all ids are one chunk.');
select refuses_argument($$select scylla.define_job('x', 'q', '{"args": 1}')$$, 'args', '1', 'It must be an object.');
select refuses_argument($$select scylla.define_job('x', 'q', '{"args": {"ids": 1}}')$$, 'args', '{"ids": 1}', 'It may not have the member "ids", which the plan sets.');
select refuses_argument($$select scylla.define_job('x', 'q', '{"select_work": "nowhere.nothing"}')$$, 'select_work', '"nowhere.nothing"',
                        'It must be the name of a function with one argument of type jsonb that returns setof bigint or bigint[].');
select refuses_argument(format($$select scylla.define_job('x', 'q', needs => %L)$$, needs), 'needs', needs,
    'It must be an array of objects {"job": name, "max_lag": interval, "args": {...}, "unique": boolean, "allow_missing": boolean}.')
from unnest(array['{}', '1']) needs;
select refuses_element(format($$select scylla.define_job('x', 'q', needs => '[%s]')$$, need), 1, 'needs', need,
    'It must be an array of objects {"job": name, "max_lag": interval, "args": {...}, "unique": boolean, "allow_missing": boolean}.')
from unnest(array['1', '{"job": "a"}', '{"max_lag": "1 day"}', '{"job": "a", "lag": 1, "max_lag": "1 day"}']) need;
select refuses_element($$select scylla.define_job('x', 'q', needs => '[{"job": "a", "max_lag": "-1 s"}]')$$, 1, 'max_lag', '"-1 s"',
                       'It must be a number of seconds, or numbers with units, the largest first, as "90", "1.5 hours", "1 day 2 hours" or "PT30M".');
select refuses_element(format($$select scylla.define_job('x', 'q', needs => '[{"job": "a", "max_lag": "%s"}]')$$, lag), 1, 'max_lag', format('"%s"', lag),
                       'It must be between 0 and 100 years.')
from unnest('{101 years,1201 mons,36501 days,100 years 501 days,178000000 years}'::text[]) lag;
select refuses($$select scylla.define_job('x', 'q', needs => '[{"job": "nothing", "max_lag": "1 s"}]')$$, '42704', 'exists',
               'job "nothing" does not exist', table_ => 'job');
select refuses($$select scylla.define_job('x', 'no such queue')$$, '42704', 'exists', 'queue "no such queue" does not exist', table_ => 'queue');
select refuses($$select scylla.define_job('e', 'q', needs => '[{"job": "a", "max_lag": "1 s"}]')$$, '22023', 'cycle',
               'jobs need each other: e -> a -> b -> e', table_ => 'job');
select refuses($$select scylla.define_job('x', 'q', needs => '[{"job": "x", "max_lag": "1 s"}]')$$, '22023', 'cycle',
               'jobs need each other: x -> x', table_ => 'job');
select is((select count(*) from scylla.job_type where name = 'x'), 0::bigint, 'nothing is left of what was refused');
select is((select count(*) from scylla.job_type where needs <> '[]'), 2::bigint);

-- ---- what runs ---------------------------------------------------------------------------------------------------------

-- Stau's worked example.
select scylla.mark_fresh('c', '{[1,7)}') \g /dev/null
select is(told('a', '{[1,7)}'),
          'a {[1,4)} <- b {[1,3)}, b {[3,5)}: requested | a {[4,7)} <- b {[3,5)}, b {[5,7)}: requested | '
          'b {[1,3)} <- e {[1,7)}: never run | b {[3,5)} <- e {[1,7)}: never run | b {[5,7)} <- e {[1,7)}: never run | '
          'e {[1,7)}: never run | c {[1,4)}: fresh | c {[4,7)}: fresh', 'explain_job tells what would run, and what is left out');
select is((select count(*) from scylla.job_plan), 0::bigint, 'and writes nothing');
select scylla.run_job('a', '{[1,7)}', '{"m": 1}') as plan \gset
select is(tasks(:'plan'), 'a [[1, 3]] waiting | a [[4, 6]] waiting | b [[1, 2]] waiting | b [[3, 4]] waiting | b [[5, 6]] waiting | e [[1, 6]] ready',
          'run_job makes a plan');
select is((select spec - 'ids' from scylla.task where plan = :'plan' and spec ->> 'job' = 'a' limit 1),
          jsonb_build_object('job', 'a', 'args', '{"m": 1, "z": 1}'::jsonb, 'plan', :'plan'), 'with a spec for any worker');
select is((select row(job, ids, args, options, status, tasks)::text from scylla.job_plan where plan = :'plan'),
          row('a', '{[1,7)}'::int8multirange, '{"m": 1}'::jsonb, '{}'::jsonb, 'running', 6)::text, 'the view shows the request');
select is(work(), 'e b b b a a', 'in this order');
select is((select status from scylla.job_plan where plan = :'plan'), 'completed', 'then it is completed');
select is((select string_agg(job || ids, ' ') from (select job, range_agg(ids) as ids from scylla.job_freshness group by job order by job) f),
          'a{[1,7)} b{[1,7)} c{[1,7)} e{[1,7)}', 'all of it is fresh now');
select is(told('a', '{[1,7)}'), 'a {[1,4)}: requested | a {[4,7)}: requested | b {[1,3)}: fresh | b {[3,5)}: fresh | b {[5,7)}: fresh | '
          'c {[1,4)}: fresh | c {[4,7)}: fresh', 'so only the job itself would run again');
select is(told('b', '{[5,8)}'), 'b {[5,7)} <- e {[5,8)}: requested | b {[7,8)} <- e {[5,8)}: requested | e {[5,8)}: never run', 'an id that never ran is stale');
-- Its plan looks so dear that the server would compile it, for a second.
select ok((select proconfig @> '{jit=off}' from pg_proc where oid = 'scylla._job_nodes'::regproc), 'pictures of jobs are not compiled');

select all_is_sound();

-- Success moves forward only, from the beginning of the lease.
select is((select began from scylla.job_freshness where job = 'e'),
          (select leased from scylla.task_outcome o join scylla.task_spec s using (id) where s.spec ->> 'job' = 'e'), 'fresh as of the lease');
select scylla.mark_fresh('e', '{[1,3)}', '2000-01-01') \g /dev/null
select is((select count(*) from scylla.job_freshness where job = 'e'), 1::bigint, 'never less fresh');

-- A failure: nothing is fresh by it, and the next run leaves out what succeeded.
select scylla.forget_freshness('b') \g /dev/null
select scylla.forget_freshness('e') \g /dev/null
select scylla.run_job('b', '{[1,5)}') as plan \gset
select scylla.complete(rn, 'w', null) from scylla.lease('q', 'w') \g /dev/null
select scylla.abort(rn, 'w', '{"code": "no"}') from scylla.lease('q', 'w') \g /dev/null
select is(tasks(:'plan'), 'b [[1, 2]] aborted | b [[3, 4]] ready | e [[1, 4]] completed', 'one of its tasks is aborted');
select is(work(), 'b', 'the others go on');
select is((select status from scylla.job_plan where plan = :'plan'), 'failed', 'the plan has failed');
select is((select range_agg(ids) from scylla.job_freshness where job = 'b'), '{[3,5)}'::int8multirange, 'what was aborted is not fresh');
select is(told('a', '{[1,5)}', '{"prune": "chunk"}'),
          'a {[1,4)} <- b {[1,3)}: requested | a {[4,5)}: requested | b {[1,3)}: never run | b {[3,5)}: fresh | c {[1,4)}: fresh | c {[4,5)}: fresh | e {[1,5)}: fresh',
          'prune by chunk: only what is stale');
select is(told('a', '{[1,5)}'),
          'a {[1,4)} <- b {[1,3)}, b {[3,5)}: requested | a {[4,5)} <- b {[3,5)}: requested | b {[1,3)}: never run | b {[3,5)}: never run | '
          'c {[1,4)}: fresh | c {[4,5)}: fresh | e {[1,5)}: fresh', 'by slice: all of it');

-- A provider that fails takes those with it that wait for it.
select scylla.forget_freshness('e') \g /dev/null
select scylla.run_job('b', '{[1,5)}') as plan \gset
select scylla.abort(rn, 'w', '{"code": "no"}') from scylla.lease('q', 'w') \g /dev/null
select is(tasks(:'plan'), 'b [[1, 2]] aborted | b [[3, 4]] aborted | e [[1, 4]] aborted', 'a failure cascades');

-- Batches, and ids with gaps.
select scylla.run_job('c', '{[1,2),[10,12),[20,25)}') as plan \gset
select is(tasks(:'plan'), 'c [[1, 1], [10, 11]] ready | c [[20, 22]] ready | c [[23, 24]] ready', 'chunks by the number of ids');
select scylla.forget_freshness('c') \g /dev/null
select scylla.complete_many(array_agg(rn), 'w') from scylla.lease('q', 'w', 10) \g /dev/null
select is((select range_agg(ids) from scylla.job_freshness where job = 'c'), '{[1,2),[10,12),[20,25)}'::int8multirange, 'completed in a batch');

-- The failed part of a run once more: what was asked for then, with the ids of its tasks.
select work() \g /dev/null
select scylla.forget_freshness('b'), scylla.forget_freshness('e') \g /dev/null
set local scylla.code_version = 'broken';
select scylla.run_job('b', '{[1,5)}', '{"x": 1}') as plan \gset
select scylla.complete(rn, 'w', null) from scylla.lease('q', 'w') \g /dev/null
select scylla.abort(rn, 'w', '{"code": "no"}') from scylla.lease('q', 'w') \g /dev/null
set local scylla.code_version = 'repaired';
select work() \g /dev/null
select scylla.rerun_plan(:'plan', only_failed => true) as again \gset
select is(tasks(:'again'), 'b [[1, 2]] ready', 'rerun_plan does its failed part again');
select is((select spec -> 'plan' from scylla.task where plan = :'again'), to_jsonb(:'again'::text), 'whose tasks know their plan');
select is((select row(job, ids, args, status, tasks, rerun_of)::text from scylla.job_plan where plan = :'again'),
          row('b', '{[1,5)}'::int8multirange, '{"x": 1}'::jsonb, 'running', 1, :'plan')::text, 'the view tells of which it is the rest');
select is(work(), 'b', 'it runs');
select is((select range_agg(ids) from scylla.job_freshness where job = 'b'), '{[1,5)}'::int8multirange, 'and brings its ids up to date');
select bag_eq(format('select status, code_versions from scylla.job_plan where plan in (%L, %L)', :'plan', :'again'),
              $$values ('failed', '{broken,repaired}'::text[]), ('completed', '{repaired}')$$, 'the view tells which code ran');
select is((select string_agg(format('%s %s', t.spec -> 'ids', h ->> 'code_version'), ', ' order by t.spec -> 'ids')
           from scylla.task t, jsonb_array_elements(t.history) h where t.plan = :'plan'),
          '[[1, 2]] broken, [[1, 4]] broken, [[3, 4]] repaired', 'on which ids');
set local scylla.code_version = '';
select refuses(format('select scylla.rerun_plan(%L, true)', :'again'), '55000', 'failed', format('plan "%s" has no tasks to run again', :'again'),
               'Its tasks are completed, or were resubmitted already.', table_ => 'plan');
select all_is_sound();

-- All of a run once more: the same request, as a new plan that knows of which it is one.
select scylla.run_job('b', '{[1,5),[9,10)}', '{"x": 1}', '{"prune": "chunk", "variant": "rerun", "request_id": "first", "not_before": "2000-01-01"}') as plan \gset
select refuses(format('select scylla.rerun_plan(%L)', :'plan'), '55000', 'ended', format('plan "%s" has not ended', :'plan'), table_ => 'plan');
select is(work(), 'e b b b', 'a run');
select scylla.forget_freshness('e', '{[1,3)}') \g /dev/null
select is(scylla.rerun_plan(:'plan', new_plan => 'b again'), 'b again', 'rerun_plan does all of it again');
select is(tasks('b again'), 'b [[1, 2]] waiting | b [[3, 4]] waiting | b [[9, 9]] waiting | e [[1, 4], [9, 9]] ready', 'and what it needs where that is stale');
select is((select row(job, ids, args, options, variant, status, rerun_of)::text from scylla.job_plan where plan = 'b again'),
          row('b', '{[1,5),[9,10)}'::int8multirange, '{"x": 1}'::jsonb, '{"prune": "chunk", "variant": "rerun"}'::jsonb, 'rerun', 'running', :'plan')::text,
          'the same request, but for its id and its time');
select is((select row(spec - 'plan', not_before is null)::text from scylla.task where plan = 'b again' and spec -> 'ids' = '[[1, 2]]'),
          row('{"job": "b", "ids": [[1, 2]], "args": {"x": 1}}'::jsonb, true)::text, 'with its arguments');
select is(work(), 'e b b b', 'it runs');
select is((select count(*) from scylla.job_freshness f join scylla.task_plan p on p.name = 'b again' where f.job = 'b' and f.variant = 'rerun' and f.began > p.created), 3::bigint,
          'and makes its ids fresh');
select lives_ok($$select scylla.rerun_plan('b again')$$, 'which can be done again as well');
select is(work(), 'b b b', 'without what is fresh');
select all_is_sound();

-- ---- pictures ----------------------------------------------------------------------------------------------------------

-- Without the ages, which grow.
create function picture(job text) returns text language sql as $$
    select regexp_replace(scylla.job_dot(job), '[^"]*? old"', 'old"', 'g') $$;
select scylla.forget_freshness('b'), scylla.forget_freshness('e'), scylla.forget_freshness('c') \g /dev/null
select scylla.mark_fresh('b', '{[1,5)}', now() - interval '2 days'), scylla.mark_fresh('b', '{[5,7)}', now() - interval '1 hour'),
       scylla.mark_fresh('c', '{[1,7)}') \g /dev/null
select matches(scylla.job_dot('a'), 'label="b\\n01:0\d:\d\d to 2 days( 00:0\d:\d\d)? old"', 'the ages of the newest and the oldest ids');
select matches(scylla.job_dot('a'), 'label="c\\n00:00:0\d old", fillcolor="#b2f2bb"', 'or of all');
select matches(scylla.job_dot('a'), 'label="b[^"]*", fillcolor="#fff3bf"', 'too old for what needs it');
select matches(scylla.job_dot('a'), 'label="e\\nnever run", fillcolor="#e0e0e0"', 'never run');
select matches(scylla.job_dot('a'), E'  n4 -> n2 \\[label="1 day"\\];\n', 'what needs it, and how old it may be');
select is((select count(*) from regexp_matches(scylla.job_dot('a'), ' -> ', 'g')), 3::bigint);
select is((select count(*) from regexp_matches(scylla.job_dot('b'), ' -> ', 'g')), 1::bigint, 'only what the job needs');
select matches(scylla.job_mermaid('a'), E'^flowchart LR\n  n1\\["a<br>.*  n4\\["e<br>never run"\\]:::missing\n  n2 -- "1 day" --> n1\n  n3 -- "1 day" --> n1\n  n4 -- "1 day" --> n2\n  classDef missing',
               'the same for Mermaid');
savepoint names;
select scylla.define_job(E'"x"\\\n<b>&#`', 'q', '{}', '[{"job": "e", "max_lag": "1 day"}]') \g /dev/null
select matches(scylla.job_dot(E'"x"\\\n<b>&#`'), 'label="\\"x\\"\\\\\\n<b>&amp;#`\\nnever run"', 'any name can be drawn');
select matches(scylla.job_mermaid(E'"x"\\\n<b>&#`'), '"#34;x#34;#92;<br>#60;b#62;#38;#35;#96;<br>never run"');
rollback to names;
select refuses(format('select scylla.%I(%L)', f, 'nothing'), '42704', 'exists', 'job "nothing" does not exist', table_ => 'job')
from unnest('{job_dot,job_mermaid}'::text[]) f;
select checks_name(format('select scylla.%I($1)', f), 'job') from unnest('{job_dot,job_mermaid}'::text[]) f;
select scylla.forget_freshness('b'), scylla.forget_freshness('c') \g /dev/null
select scylla.mark_fresh('c', '{[1,2),[10,12),[20,25)}') \g /dev/null

-- ---- arguments ---------------------------------------------------------------------------------------------------------

select scylla.define_job('d2', 'q', '{"args": {"own": true}}') \g /dev/null
select scylla.define_job('d1', 'q', '{}', '[{"job": "d2", "max_lag": "0", "args": {"m": "d1", "n": 1}}]') \g /dev/null
select scylla.define_job('d0', 'q', '{}', '[{"job": "d1", "max_lag": "0", "args": {"m": "d0"}}, {"job": "d2", "max_lag": "0"}]') \g /dev/null
select is((select string_agg(format('%s %s', s.job, s.args), ' | ' order by s.job, s.args) from scylla.explain_job('d0', '{[1,2)}', '{"m": "request", "x": 1}') s),
          'd0 {"m": "request", "x": 1} | d1 {"m": "d0", "x": 1} | d2 {"m": "request", "x": 1, "own": true} | d2 {"m": "d1", "n": 1, "x": 1, "own": true}',
          'arguments go down; a job with other arguments is another task');
select is(told('d0', '{[1,2)}', args => '{"m": "request"}'),
          'd0 {[1,2)} <- d1 {[1,2)}, d2 {[1,2)}: requested | d1 {[1,2)} <- d2 {[1,2)}: never run | d2 {[1,2)}: never run | d2 {[1,2)}: never run', 'a lag of 0 is always stale');
select refuses_argument($$select scylla.run_job('a', '{[1,2)}', '[1]')$$, 'args', '[1]', 'It must be an object.');
select refuses_argument(format($$select scylla.%I('a', '{[1,2)}', '{"ids": [[3, 4]]}')$$, f), 'args', '{"ids": [[3, 4]]}', 'It may not have the member "ids", which the plan sets.')
from unnest('{run_job,explain_job}'::text[]) f;

-- ---- ids ---------------------------------------------------------------------------------------------------------------

select refuses_argument($$select scylla.run_job('a')$$, 'ids', 'null', 'The job has neither ids of its own nor a function select_work.');
select refuses_argument($$select scylla.run_job('a', '{[1,)}')$$, 'ids', '{[1,)}', 'It must have an end on both sides.');
select refuses($$select scylla.run_job('c', '{[-9223372036854775808,9223372036854775807)}')$$, '54000', 'max_tasks', 'job "c" would need more than 1000000000000000 ids', table_ => 'job');
select refuses($$select scylla.run_job('c', '{[1,1000000000)}')$$, '54000', 'max_tasks', 'job "c" would need more than 1000000 tasks', table_ => 'job');
select scylla.run_job('a', '{}') as plan \gset
select is((select row(status, tasks)::text from scylla.job_plan where plan = :'plan'), '(completed,0)', 'without ids a run is completed at once');
create function every(args jsonb) returns setof bigint language sql as $$ select generate_series(1, (args ->> 'n')::bigint) $$;
create function listed(args jsonb) returns bigint[] language sql as $$ select '{7,5,6,5,null}'::bigint[] $$;
create function wrong(args jsonb) returns setof int language sql as $$ select 1 $$;
select scylla.define_job('s', 'q', '{"select_work": "every", "args": {"n": 3}}') \g /dev/null
select is((select settings ->> 'select_work' from scylla.job_type where name = 's'), 'test.every', 'a function is kept with its schema');
select is(told('s', null), 's {[1,4)}: requested', 'select_work says which ids, by the arguments of the job');
select is(told('s', null, args => '{"n": 5}'), 's {[1,6)}: requested', 'and of the request');
select is(told('s', '{[9,10)}'), 's {[9,10)}: requested', 'unless there are some');
select scylla.define_job('s', 'q', '{"select_work": "test.listed"}') \g /dev/null
select is(told('s', null), 's {[5,8)}: requested', 'as an array, in any order, each once');
select refuses_argument($$select scylla.define_job('s', 'q', '{"select_work": "wrong"}')$$, 'select_work', '"wrong"',
                        'It must be the name of a function with one argument of type jsonb that returns setof bigint or bigint[].');
drop function listed;
select refuses($$select scylla.run_job('s')$$, '42804', 'select_work', 'function "test.listed", which selects the ids of job "s", is gone or was replaced',
               'It must have one argument of type jsonb and return setof bigint or bigint[].', table_ => 'job');

select scylla.define_job('own', 'q', '{"ids": [[7, 9], [1, 2], [8, 12]]}') \g /dev/null
select is(told('own', null), 'own {[1,3),[7,13)}: requested', 'a run that names no ids has those of the job');
select is(told('own', '{[20,21)}'), 'own {[20,21)}: requested', '... unless it names some');
select scylla.define_job('own', 'q', '{"ids": []}') \g /dev/null
select scylla.run_job('own') as plan \gset
select is((select row(status, tasks)::text from scylla.job_plan where plan = :'plan'), '(completed,0)', '... which may be none');
select refuses_argument(format($$select scylla.define_job('own', 'q', '{"ids": %s}')$$, ids), 'ids', ids, 'It must be an array of ranges with both ends, as [[1, 3], [5, 5]].')
from unnest(array['5', '[1, 2]', '"{[1,2)}"', '[[1]]', '[[1, 2, 3]]', '[[2, 1]]', '[[1, 2.5]]', '[["1", 2]]', '[[1, null]]', '[[1, 99999999999999999999]]', '{"a": [1, 2]}']) ids;
select refuses_argument($$select scylla.define_job('own', 'q', '{"ids": [[1, 3]], "select_work": "test.every"}')$$, 'ids', '{[1,4)}',
                        'A job with the function select_work has no ids of its own.');

-- ---- options -----------------------------------------------------------------------------------------------------------

select refuses_argument($$select scylla.run_job('a', '{[1,2)}', options => '{"prone": 1}')$$, 'options', '"prone"', 'There is no such option of a run.');
select refuses_argument($$select scylla.run_job('a', '{[1,2)}', options => '{"prune": "all"}')$$, 'prune', '"all"', 'It must be ''slice'' or ''chunk''.');
select refuses_argument($$select scylla.run_job('a', '{[1,2)}', options => '1')$$, 'options', '1', 'It must be an object.');
select is(scylla.run_job('c', '{[1,2)}', options => '{"request_id": "r"}'), scylla.run_job('c', '{[5,6)}', options => '{"request_id": "r"}'),
          'a request that comes again gets the first plan');
select isnt(scylla.run_job('e', '{[1,2)}', options => '{"request_id": "r"}'), scylla.run_job('c', options => '{"request_id": "r"}', ids => '{[1,2)}'), 'of its job');
select work() \g /dev/null
select scylla.forget_freshness('b'), scylla.forget_freshness('e') \g /dev/null
select scylla.mark_fresh('e', '{[1,7)}') \g /dev/null
select is(told('b', '{[1,3)}'), 'b {[1,3)}: requested | e {[1,3)}: fresh', 'fresh');
select is(told('b', '{[1,3)}', '{"variant": "v"}'), 'b {[1,3)} <- e {[1,3)}: requested | e {[1,3)}: never run', 'but not for another variant');
select scylla.run_job('b', '{[1,3)}', options => '{"variant": "v"}') \g /dev/null
select is(work(), 'e b', 'which runs');
select is(told('b', '{[1,3)}', '{"variant": "v"}'), 'b {[1,3)}: requested | e {[1,3)}: fresh', 'and is fresh then');
select is((select string_agg(distinct variant, ',') from scylla.job_freshness where job = 'b'), 'v', 'by itself');

-- The wait rule: not before an older plan is done with what this one needs, for the same ids.
create function waits(plan text) returns text language sql as $$
    select string_agg(format('%s %s <- %s %s of %s', t.spec ->> 'job', t.spec ->> 'ids', p.spec ->> 'job', p.spec ->> 'ids',
                             case when p.plan = t.plan then 'this' else 'another' end), ' | ' order by t.spec ->> 'ids', t.spec ->> 'job', p.spec ->> 'ids')
    from scylla.task t join scylla.plan_task m using (rn) join scylla.task p on p.rn = any(m.depends_on)
    where t.plan = waits.plan
$$;
select scylla.forget_freshness('b'), scylla.forget_freshness('e') \g /dev/null
select scylla.run_job('e', '{[1,4)}') as older \gset
select scylla.run_job('b', '{[3,7)}') as plan \gset
select is(waits(:'plan'), 'b [[3, 4]] <- e [[1, 3]] of another | b [[3, 4]] <- e [[3, 6]] of this | e [[3, 6]] <- e [[1, 3]] of another | b [[5, 6]] <- e [[3, 6]] of this',
          'tasks wait for those of an older plan with a common id');
select is((select waits_for from scylla.job_plan where plan = :'plan'), array[:'older'], 'the view says for which plan');
select is((select waits_for from scylla.job_plan where plan = :'older'), '{}', 'which does not wait');
create function overdue(max_wait text) returns text language sql begin atomic
    select scylla.define_job(name, queue, settings || jsonb_build_object('max_wait', max_wait), needs) from scylla.job_type where name in ('b', 'e');
    select coalesce(string_agg(job, ' ' order by job), 'none') from scylla.job_plan where overdue;
end;
select is(overdue(null), 'none', 'a job that says nothing about it may wait as long as it has to');
select is(overdue('1 hour'), 'none', '... and one that says so for an hour');
select is(overdue('0'), 'b', 'the view says which runs have waited for older plans for longer than max_wait');
select refuses_argument($$select scylla.define_job('b', 'q', '{"max_wait": "101 years"}')$$, 'max_wait', '"101 years"', 'It must be between 0 and 100 years.');
select overdue(null) \g /dev/null
select is(told('b', '{[1,2)}'), format('b {[1,2)} <- task %1$s/1 of plan %1$s: requested | e {[1,2)}: task %1$s/1 of plan %1$s brings it up to date', :'older'),
          'a job that an older plan is still to run for the same ids is not run twice, and explain_job says why');
select is((select string_agg(array_to_string(depends_on, ','), ' | ') from scylla.explain_job('b', '{[1,2)}', options => '{"wait": false}')), ' | e {[1,2)}', 'not if it is not wanted');
select is((select string_agg(array_to_string(depends_on, ','), ' | ') from scylla.explain_job('b', '{[9,10)}')), ' | e {[9,10)}', 'nor for other ids');
select is((select string_agg(array_to_string(depends_on, ','), ' | ') from scylla.explain_job('b', '{[1,2)}', options => '{"variant": "other"}')), ' | e {[1,2)}', 'nor for another variant');
select is((select string_agg(array_to_string(depends_on, ','), ' | ') from scylla.explain_job('e', '{[1,2)}')), '', 'a job does not wait for itself');
select scylla.mark_fresh('e', '{[1,7)}') \g /dev/null
select is((select string_agg(array_to_string(depends_on, ','), ' | ') from scylla.explain_job('b', '{[1,2)}') where runs), format('task %1$s/1 of plan %1$s', :'older'), 'also where it is fresh');
select scylla.mark_fresh('b', '{[1,7)}') \g /dev/null
select is((select string_agg(array_to_string(depends_on, ','), ' | ') from scylla.explain_job('a', '{[1,2)}') where runs), format('task %1$s/1 of plan %1$s', :'older'), 'and below what is fresh');
select scylla.abort(rn, 'w', '{"code": "no"}') from scylla.lease('q', 'w') \g /dev/null
select is((select status from scylla.job_plan where plan = :'older'), 'failed', 'however it ends');
select is(work(), 'e b b', 'they go on');
select is((select row(status, waits_for)::text from scylla.job_plan where plan = :'plan'), '(completed,{})', 'to the end');

-- A job that is needed is not run twice for ids for which an older plan has it queued or running.
select scylla.forget_freshness('b'), scylla.forget_freshness('e'), scylla.mark_fresh('c', '{[1,7)}') \g /dev/null
select scylla.run_job('e', '{[1,4)}') as older \gset
select scylla.run_job('b', '{[1,3)}') as plan \gset
select is(tasks(:'plan'), 'b [[1, 2]] waiting', 'a plan waits for the queued task of an older plan instead');
select is(work(), 'e b', 'a run that has waited for the task of another plan goes on after it');
select scylla.forget_freshness('b'), scylla.forget_freshness('e') \g /dev/null
select scylla.run_job('e', '{[1,3)}') as older \gset
select rn as running from scylla.lease('q', 'w') \gset
select scylla.run_job('b', '{[1,3)}') as plan \gset
select is(tasks(:'plan'), 'b [[1, 2]] waiting', 'also for one that runs');
select scylla.run_job('a', '{[1,3)}') as above \gset
select is((select string_agg(distinct spec ->> 'job', ' ') from scylla.task where plan = :'above'), 'a', 'a run plans no job that other plans have queued or running');
select scylla.abort(:'running', 'w', '{"code": "no"}') \g /dev/null
select is(tasks(:'plan'), 'b [[1, 2]] aborted', 'it fails with that task, as with one of its own');
select is((select status from scylla.job_plan where plan = :'above'), 'failed', 'a plan fails when a task of another plan that it needs, directly or not, has failed');
select scylla.mark_fresh('e', '{[1,3)}') \g /dev/null
select scylla.run_job('e', '{[1,3)}') as older \gset
select scylla.run_job('b', '{[1,3)}') as plan \gset
select scylla.abort(rn, 'w', '{"code": "no"}') from scylla.lease('q', 'w') \g /dev/null
select is(work(), 'b', 'but where the job was fresh enough, the outcome makes no difference');
select scylla.forget_freshness('e') \g /dev/null
select scylla.run_job('e', '{[1,3)}') as older \gset
select is((select count(*) from scylla.explain_job('b', '{[1,3)}', options => '{"wait": false}') where runs and job = 'e'), 1::bigint, 'who does not wait runs it again');
select is((select count(*) from scylla.explain_job('b', '{[1,3)}', options => '{"variant": "another"}') where runs and job = 'e'), 1::bigint, 'a request with another variant runs the job again');
select is((select count(*) from scylla.explain_job('b', '{[1,6)}') where runs and job = 'e'), 1::bigint, 'a request for more ids of the slice runs the job again');
select is(work(), 'e', '(the last one)');
select scylla.forget_freshness('c', '{[2,7)}') \g /dev/null

-- One at a time.
select scylla.define_job('one', 'q', '{"allow_multiple": false}') \g /dev/null
select scylla.run_job('one', '{[1,2)}') as plan \gset
select refuses($$select scylla.run_job('one', '{[1,2)}')$$, '55000', 'live', 'job "one" is running',
               format('Its plan "%s" has not finished, and the setting "allow_multiple" is false.', :'plan'), table_ => 'job');
select work() \g /dev/null
select lives_ok($$select scylla.run_job('one', '{[1,2)}')$$, 'when it has ended, it can run again');
select work() \g /dev/null

-- allow_missing: the job as a whole has run lately.
select scylla.define_job('m', 'q', needs => '[{"job": "one", "max_lag": "1 day", "allow_missing": true}]') \g /dev/null
select is(told('m', '{[1,9)}'), 'm {[1,9)}: requested | one {[1,9)}: fresh', 'a run of other ids is enough');
update scylla.job_run set created = created - interval '2 days' where name = 'one';
select is(told('m', '{[1,9)}'), 'm {[1,9)} <- one {[1,9)}: requested | one {[1,9)}: never run', 'if it is not too old');

-- Settings of tasks.
select scylla.define_job('t', 'other', '{"priority": 7, "max_attempts": 3, "retry": {"initial": "3 s"}, "chunk_size": 1, "run_timeout": "20 min"}') \g /dev/null
select scylla.run_job('t', '{[1,3)}') as plan \gset
select is((select string_agg(format('%s %s %s %s', queue, priority, max_attempts, rn = :'plan' || '/' || (spec -> 'ids' -> 0 ->> 0)), ', ') from scylla.task where plan = :'plan'),
          'other 7 3 t, other 7 3 t', 'its tasks are as the job says');
select is((select string_agg(format('%s', run_timeout), ', ') from scylla.task_spec where rn like :'plan' || '/%'), '1200000000, 1200000000', 'also how long they may run');
select refuses_argument($$select scylla.define_job('t', 'other', '{"run_timeout": "0"}')$$, 'run_timeout', '00:00:00', 'It must be more than 0 and at most 365 days.');

-- The name of the plan, and when its tasks start.
select is(scylla.run_job('t', '{[1,2)}', options => '{"plan": "named", "not_before": "2100-01-01 UTC", "prune": "chunk"}'), 'named', 'the plan has the name that it is given');
select is((select string_agg(format('%s %s', rn, not_before at time zone 'UTC'), ', ') from scylla.task where plan = 'named'), 'named/1 2100-01-01 00:00:00', 'its tasks wait for their time');
select is((select options from scylla.job_plan where plan = 'named'), '{"prune": "chunk", "not_before": "2100-01-01 UTC"}', 'the options are kept but for the name');
select refuses($$select scylla.run_job('t', '{[1,2)}', options => '{"plan": "named"}')$$, '42710', 'unique', 'plan "named" already exists', table_ => 'plan');
select refuses_argument($$select scylla.run_job('t', '{[1,2)}', options => jsonb_build_object('plan', repeat('x', 191)))$$, 'plan', format('"%s..."', repeat('x', 60)), 'It must have 1 to 190 characters.');
select refuses_argument($$select scylla.run_job('t', '{[1,2)}', options => '{"not_before": "soon"}')$$, 'not_before', '"soon"', 'It must be a time as ISO 8601 has it, as "2026-11-28", "2026-11-28 08:30" or "2026-11-28T08:30:15+01:00".');
select scylla.cancel_plan('named') \g /dev/null

-- ---- what select_work may do ---------------------------------------------------------------------------------------------

-- It is called as the owner, by whoever runs the job: neither may use the other.
create role scylla_test_owner;
create table trap (id bigint);
create function spring() returns trigger language plpgsql as $$ begin raise exception 'sprung as %', current_user; end $$;
create constraint trigger spring after insert on trap deferrable initially deferred for each row execute function spring();
create function set_trap(args jsonb) returns bigint[] language sql as $$ insert into test.trap values (1) returning array[id] $$;
create function where_am_i(args jsonb) returns bigint[] language plpgsql as $$
begin
    if current_user <> 'scylla_test_owner' or current_setting('search_path') <> 'pg_catalog, pg_temp' then
        raise exception '% %', current_user, current_setting('search_path');
    end if;
    return '{3}';
end $$;
grant usage on schema test, scylla to public;
grant insert, select on trap to public;
select scylla.define_job('trap', 'q', '{"select_work": "set_trap"}'), scylla.define_job('where', 'q', '{"select_work": "where_am_i"}') \g /dev/null
update scylla.job_definition set owner = 'scylla_test_owner' where name in ('trap', 'where');
select throws_ok($$select scylla.run_job('trap')$$, '42501', 'cannot fire deferred trigger within security-restricted operation', 'select_work leaves nothing to be done by who runs the job');
select is(told('where', null), 'where {[3,4)}: requested', 'it is called as the owner, and names in it mean what the owner meant');
select is(current_setting('search_path') ~ 'test', true, 'the search path comes back');

-- ---- schedules ---------------------------------------------------------------------------------------------------------

set local scylla.schedules = manual;
create function run(at_ timestamptz) returns bigint language sql as $$ select scylla._run_schedules_at(at_) $$;
select signature_is('schedule_job',
    'name text, cron text, job text, ids int8multirange DEFAULT NULL::int8multirange, args jsonb DEFAULT ''{}''::jsonb, '
    'timezone text DEFAULT ''UTC''::text, overlap text DEFAULT ''allow''::text, catch_up text DEFAULT ''latest''::text, '
    'grace interval DEFAULT ''01:00:00''::interval, max_catch_up integer DEFAULT 100, '
    'jitter interval DEFAULT ''00:00:00''::interval, starts timestamp with time zone DEFAULT NULL::timestamp with time zone, '
    'ends timestamp with time zone DEFAULT NULL::timestamp with time zone, planned_key text DEFAULT NULL::text, '
    'options jsonb DEFAULT ''{}''::jsonb', 'timestamp with time zone');
select scylla.define_job('daily', 'other', '{"chunk_size": 2}') \g /dev/null
select is(scylla.schedule_job('daily report', '0 2 1 1 *', 'daily', '{[1,4)}', '{"unit": "km"}', starts => '2040-06-01', planned_key => 'planned', options => '{"variant": "v"}'),
          '2041-01-01 02:00Z', 'schedule_job says when it comes first');
select is((select row(job, ids, args, options, queue, spec, tasks, planned_key)::text from scylla.schedules),
          row('daily', '{[1,4)}'::int8multirange, '{"unit": "km"}'::jsonb, '{"variant": "v"}'::jsonb, null, null, null, 'planned')::text, 'the view shows it');
select is((select count(*) from scylla.job_plan where job = 'daily'), 0::bigint, 'the trial leaves nothing');
select is(run('2041-01-01 02:00Z'), 1::bigint, 'it is run when it is due');
select is((select row(plan, ids, args, options)::text from scylla.job_plan where job = 'daily'),
          row('daily report/2041-01-01T02:00:00Z', '{[1,4)}'::int8multirange, '{"unit": "km", "planned": "2041-01-01T02:00:00Z"}'::jsonb, '{"variant": "v"}'::jsonb)::text,
          'as a run of the job, named after the schedule and the planned time, which is among the arguments');
select is((select string_agg(rn || ' ' || (spec ->> 'args'), ', ' order by rn) from scylla.task where plan ~ '^daily report'),
          'daily report/2041-01-01T02:00:00Z/1 {"unit": "km", "planned": "2041-01-01T02:00:00Z"}, daily report/2041-01-01T02:00:00Z/2 {"unit": "km", "planned": "2041-01-01T02:00:00Z"}',
          'and its tasks get it');
select is((select row(runs, last_task, last_error)::text from scylla.schedules), '(1,"daily report/2041-01-01T02:00:00Z",)', 'the view counts it');
-- overlap
select scylla.schedule_job('daily report', '0 2 1 1 *', 'daily', '{[1,4)}', starts => '2040-06-01', overlap => 'skip') \g /dev/null
select is(run('2042-01-01 02:00Z'), 0::bigint, 'overlap skip: while the previous plan is live');
select is((select row(skipped, skip_reason)::text from scylla.schedules), '(1,"""daily report/2041-01-01T02:00:00Z"" has not ended")', 'and says so');
select scylla.schedule_job('daily report', '0 2 1 1 *', 'daily', '{[1,4)}', starts => '2040-06-01', overlap => 'replace', jitter => '1 hour') \g /dev/null
select is(run('2043-01-01 02:00Z'), 1::bigint, 'overlap replace');
select is((select string_agg(status, ' ' order by plan) from scylla.job_plan where job = 'daily'), 'cancelled running', 'cancels it');
select is((select count(*) from scylla.task where plan = 'daily report/2043-01-01T02:00:00Z' and not_before between '2043-01-01 02:00Z' and '2043-01-01 03:00Z'), 2::bigint, 'jitter delays its tasks');
-- One at a time.
select scylla.define_job('daily', 'other', '{"allow_multiple": false, "chunk_size": 2}') \g /dev/null
select lives_ok($$select scylla.schedule_job('daily report', '0 2 1 1 *', 'daily', '{[1,4)}', starts => '2040-06-01')$$, 'that it is running just now is no reason to refuse the schedule');
select is(run('2044-01-01 02:00Z'), 0::bigint, 'allow_multiple false: a planned time at which the job is running is skipped');
select is((select row(skipped, last_skipped at time zone 'UTC', skip_reason, last_error)::text from scylla.schedules), '(2,"2044-01-01 02:00:00","job ""daily"" is running",)', 'and says so');
select scylla.cancel_plan('daily report/2043-01-01T02:00:00Z') \g /dev/null
select is(run('2045-01-01 02:00Z'), 1::bigint, 'until it has ended');
-- Errors, and what was missed.
select scylla.cancel_plan('daily report/2045-01-01T02:00:00Z'), scylla.define_job('daily', 'other') \g /dev/null
select scylla.schedule_job('daily report', '0 2 1 1 *', 'daily', '{[1,4)}', starts => '2040-06-01', catch_up => 'all', grace => null) \g /dev/null
update scylla.job_definition set queue = 'gone' where name = 'daily';
select is(run('2046-01-01 03:00Z'), 0::bigint, 'an error');
select is((select last_error from scylla.schedules), '42704: queue "gone" does not exist', 'shows');
update scylla.job_definition set queue = 'other' where name = 'daily';
select is(run('2047-01-01 02:00Z'), 2::bigint, 'and is made up for');
select is((select row(runs, last_task, last_error)::text from scylla.schedules), '(5,"daily report/2047-01-01T02:00:00Z",)', 'in order');
select scylla.create_plan('daily report/2048-01-01T02:00:00Z') \g /dev/null
select is(run('2048-01-01 02:00Z'), 0::bigint, 'somebody has the name');
select is((select row(missed, last_error)::text from scylla.schedules), '(1,"42710: plan ""daily report/2048-01-01T02:00:00Z"" already exists")', 'which is missed');
-- Without ids the job says which, each time.
select scylla.define_job('daily', 'other', '{"select_work": "every", "args": {"n": 3}}') \g /dev/null
select scylla.schedule_job('daily report', '0 2 1 1 *', 'daily', starts => '2040-06-01') \g /dev/null
select scylla.define_job('daily', 'other', '{"select_work": "every", "args": {"n": 5}}') \g /dev/null
select is(run('2049-01-01 02:00Z'), 1::bigint, 'without ids');
select is((select ids from scylla.job_plan where plan = 'daily report/2049-01-01T02:00:00Z'), '{[1,6)}'::int8multirange, 'select_work says which, each time');
create role scylla_test_slow nologin;
update scylla.schedule set owner = 'scylla_test_slow';
select is(run('2050-01-01 02:00Z'), 0::bigint, 'a tick calls no function of another role');
select is((select last_error from scylla.schedules), '55000: a job selects ids for a schedule only where the monitor runs schedules', 'and says so');
update scylla.schedule set owner = 'nobody at all';
select is(run('2051-01-01 02:00Z'), 0::bigint, 'a role that is gone');
select is((select last_error from scylla.schedules), '42704: role "nobody at all" does not exist', 'runs nothing');
select scylla.unschedule('daily report') \g /dev/null
-- Arguments.
select refuses($$select scylla.schedule_job('x', '@daily', 'nothing', '{[1,4)}')$$, '42704', 'exists', 'job "nothing" does not exist', table_ => 'job');
select refuses_argument($$select scylla.schedule_job('x', '@daily', 'e')$$, 'ids', 'null', 'The job has neither ids of its own nor a function select_work.');
select refuses_argument($$select scylla.schedule_job('x', '@daily', 'e', '{[1,)}')$$, 'ids', '{[1,)}', 'It must have an end on both sides.');
select refuses_argument($$select scylla.schedule_job('x', '@daily', 'e', '{[1,4)}', '[1]')$$, 'args', '[1]', 'It must be an object.');
select refuses_argument($$select scylla.schedule_job('x', '@daily', 'e', '{[1,4)}', '{"ids": 1}')$$, 'args', '{"ids": 1}', 'It may not have the member "ids", which the plan sets.');
select refuses_argument($$select scylla.schedule_job('x', '@daily', 'e', '{[1,4)}', planned_key => 'ids')$$, 'planned_key', '"ids"', 'The plan sets the member "ids" of the spec.');
select refuses_argument($$select scylla.schedule_job('x', '@daily', 'e', '{[1,4)}', options => '1')$$, 'options', '1', 'It must be an object.');
select refuses_argument(format($$select scylla.schedule_job('x', '@daily', 'e', '{[1,4)}', options => '{"%s": "2100-01-01"}')$$, o), 'options', format('{"%s": "2100-01-01"}', o),
                        'The schedule itself gives plan, not_before and request_id.')
from unnest(array['plan', 'not_before', 'request_id']) o;
select refuses_argument($$select scylla.schedule_job('x', '@daily', 'e', '{[1,4)}', options => '{"prone": 1}')$$, 'options', '"prone"', 'There is no such option of a run.');
select checks_name($$select scylla.schedule_job('x', '@daily', $1, '{[1,4)}')$$, 'job');
select is((select count(*) from scylla.schedules), 0::bigint, 'what is refused leaves no schedule');
select refuses_element($$select scylla.schedule('x', '@daily', 'q', '1', options => '{"job": "e"}')$$, 1, 'tasks', '"job"', 'There is no such argument of submit.');
select scylla.cancel_plan(plan) from scylla.job_plan where job = 'daily' and status = 'running' \g /dev/null

-- ---- rights ------------------------------------------------------------------------------------------------------------

create role scylla_test_runner;
create role scylla_test_group;
create role scylla_test_crew in role scylla_test_group;
grant usage on schema scylla to scylla_test_runner, scylla_test_crew;
grant execute on all functions in schema scylla to scylla_test_owner, scylla_test_runner, scylla_test_crew;
grant select on scylla.job_type, scylla.job_plan, scylla.job_freshness to scylla_test_runner, scylla_test_crew;
create function test.as_role(role text, query text) returns text language plpgsql as $$
declare answer text;
begin
    perform set_config('role', role, true);
    execute query into answer;
    perform set_config('role', 'none', true);
    return answer;
exception when others then
    return sqlstate || ' ' || sqlerrm;
end $$;
select scylla.create_queue('granted'), scylla.define_job('lower', 'granted'), scylla.define_job('upper', 'granted', '{"chunk_size": 2}', '[{"job": "lower", "max_lag": "1 day"}]') \g /dev/null
update scylla.job_definition set owner = 'scylla_test_owner' where name in ('lower', 'upper');
create function runs(role text) returns text language sql as $$ select as_role(role, $q$select scylla.run_job('upper', '{[1,4)}', options => '{"variant": "g"}')$q$) $$;
select is(runs('scylla_test_runner'), '42501 permission denied for queue "granted"', 'a role without a right cannot run a job');
select is(as_role('scylla_test_runner', 'select count(*) from scylla.job_type'), '0', 'nor see it');
select scylla.grant_job('upper', 'scylla_test_runner', 'run') \g /dev/null
select is((select runners from scylla.job_type where name = 'upper'), '{scylla_test_runner}', 'grant_job: the view shows it');
select is(runs('scylla_test_runner'), '42501 permission denied for queue "granted"', 'what the owner may not do, it cannot let others do');
select scylla.grant_queue('granted', 'scylla_test_owner', 'submit') \g /dev/null
select runs('scylla_test_runner') as mine \gset
select is((select string_agg(format('%s %s', spec ->> 'job', status), ', ' order by spec ->> 'job', rn) from scylla.task where plan = :'mine'), 'lower ready, upper waiting, upper waiting', 'it runs with the rights of the owner');
select is((select owner from scylla.plan where name = :'mine'), 'scylla_test_runner', 'the plan belongs to the role that runs it');
select is(as_role('scylla_test_runner', format('select status from scylla.job_plan where plan = %L', :'mine')), 'running', 'which sees it');
select is(as_role('scylla_test_runner', 'select string_agg(name, '','') from scylla.job_type'), 'upper', 'and the job');
select is(as_role('scylla_test_runner', $$select count(*) from scylla.explain_job('upper', '{[1,4)}', options => '{"variant": "h"}')$$), '3', 'and can explain it');
select is(as_role('scylla_test_runner', $$select scylla.run_job('lower', '{[1,4)}')$$), '42501 permission denied for queue "granted"', 'but run nothing else');
select is(as_role('scylla_test_runner', $$select scylla.submit('granted', '1')$$), '42501 permission denied for queue "granted"', 'nor submit');
select is(as_role('scylla_test_runner', format($$select scylla.run_job('upper', '{[1,4)}'), scylla.submit('granted', '1', plan => %L)$$, :'mine')), '42501 permission denied for queue "granted"', 'also after a run in the same statement');
select is(as_role('scylla_test_runner', format('select scylla.cancel_plan(%L)', :'mine')), '3', 'it can cancel its plan');
select is(as_role('scylla_test_runner', $$select scylla.run_job('upper', '{[1,4)}', options => '{"request_id": "one"}') = scylla.run_job('upper', '{[1,4)}', options => '{"request_id": "one"}')$$), 'true', 'a request that comes again');
select is(as_role('scylla_test_runner', $$select scylla.schedule_job('granted', '0 2 1 1 *', 'upper', '{[1,4)}', starts => '2040-06-01')$$), '2041-01-01 02:00:00+00', 'it can schedule it') from set_config('timezone', 'UTC', true);
select is(run('2041-01-01 02:00Z'), 1::bigint, 'which runs');
select is(runs('scylla_test_crew'), '42501 permission denied for queue "granted"', 'another role');
select scylla.grant_job('upper', 'scylla_test_group', 'run'), scylla.grant_job('upper', 'scylla_test_group', 'run') \g /dev/null
select is((select runners from scylla.job_type where name = 'upper'), '{scylla_test_runner,scylla_test_group}', 'a second grant changes nothing');
select is(length(runs('scylla_test_crew')), 36, 'a member of a role that it is granted to');
select scylla.revoke_job('upper', 'scylla_test_group', 'run'), scylla.revoke_job('upper', 'scylla_test_runner', 'run') \g /dev/null
select is((select runners from scylla.job_type where name = 'upper'), null, 'revoke_job');
select is(runs('scylla_test_crew') || runs('scylla_test_runner'), repeat('42501 permission denied for queue "granted"', 2), 'takes it back');
select is(run('2042-01-01 02:00Z'), 0::bigint, 'also from its schedules');
select is((select last_error from scylla.schedules), '42501: permission denied for queue "granted"', 'which say so');
select scylla.unschedule('granted'), scylla.grant_job('upper', 'public', 'run') \g /dev/null
select is(length(runs('scylla_test_crew')), 36, 'public is everybody');
select is(as_role('scylla_test_owner', $$select scylla.grant_job('upper', 'scylla_test_crew', 'run') is not null$$), 'true', 'the owner grants');
select is(as_role('scylla_test_crew', $$select scylla.grant_job('upper', 'scylla_test_crew', 'run')$$), '42501 must be owner of job "upper"', 'nobody else does');
select is(as_role('scylla_test_crew', $$select scylla.revoke_job('upper', 'scylla_test_crew', 'run')$$), '42501 must be owner of job "upper"', 'nor revokes');
select is(as_role('scylla_test_crew', $$select scylla.mark_fresh('upper', '{[1,4)}')$$), '42501 must be owner of job "upper"', 'nor says what is fresh');
select lives_ok($$select scylla.define_job('upper', 'granted', '{"chunk_size": 3}', '[{"job": "lower", "max_lag": "1 day"}]')$$, 'another definition');
select is((select runners from scylla.job_type where name = 'upper'), '{public,scylla_test_crew}', 'leaves the grants');
update scylla.task_plan set owner = current_user where owner = 'scylla_test_crew';
drop owned by scylla_test_crew;
drop role scylla_test_crew;
select is((select string_agg(problem, ',') from scylla.check()), 'job "upper" is granted to role "scylla_test_crew", which does not exist', 'a role that is dropped is reported');
select lives_ok($$select scylla.revoke_job('upper', 'scylla_test_crew', 'run')$$, 'and can be revoked');
select refuses($$select scylla.grant_job('upper', 'scylla_test_crew', 'run')$$, '42704', 'role', 'role "scylla_test_crew" does not exist', table_ => 'job');
select refuses($$select scylla.grant_job('nothing', 'public', 'run')$$, '42704', 'exists', 'job "nothing" does not exist', table_ => 'job');
select refuses($$select scylla.revoke_job('nothing', 'public', 'run')$$, '42704', 'exists', 'job "nothing" does not exist', table_ => 'job');
select refuses_argument(format($$select scylla.%s_job('upper', 'public', %L)$$, f, p), 'privilege', coalesce('"' || p || '"', 'null'), 'It must be "run".')
from unnest(array['grant', 'revoke']) f, unnest(array['submit', null]) p;
update scylla.job_definition set owner = 'nobody at all' where name = 'upper';
select is(as_role('scylla_test_runner', $$select scylla.run_job('upper', '{[1,4)}')$$), '42704 role "nobody at all" does not exist', 'an owner that is gone has no rights');
update scylla.job_definition set owner = 'scylla_test_owner' where name = 'upper';
select scylla.cancel_plan(plan) from scylla.job_plan where job = 'upper' and status = 'running' \g /dev/null

-- ---- the end -----------------------------------------------------------------------------------------------------------

select refuses($$select scylla.drop_job('e')$$, '2BP01', 'needed', 'job "e" is needed by job "b"', table_ => 'job');
select refuses($$select scylla.drop_job('nothing')$$, '42704', 'exists', 'job "nothing" does not exist', table_ => 'job');
select refuses($$select scylla.run_job('nothing', '{[1,2)}')$$, '42704', 'exists', 'job "nothing" does not exist', table_ => 'job');
select refuses($$select scylla.mark_fresh('nothing', '{[1,2)}')$$, '42704', 'exists', 'job "nothing" does not exist', table_ => 'job');
select refuses($$select scylla.forget_freshness('nothing')$$, '42704', 'exists', 'job "nothing" does not exist', table_ => 'job');
select refuses_argument($$select scylla.mark_fresh('e', null)$$, 'ids', 'null', 'It must not be null.');
select refuses_argument(format($$select scylla.mark_fresh('e', '{[1,2)}', %L)$$, at), 'finished', at, 'It must be finite.') from unnest('{infinity,-infinity}'::text[]) at;
select refuses_argument(format($$select scylla.mark_fresh('e', '{[1,2)}', %L)$$, at), 'finished', at::timestamptz::text,
                        'It must not be in the future, apart from a minute by which clocks may differ.')
from unnest(array['9999-12-31 00:00:00+00', '294276-12-31 23:59:59.999999+00', (clock_timestamp() + interval '1 day')::text]) at;
select lives_ok($$select scylla.mark_fresh('e', '{[900,901)}', clock_timestamp() + interval '50 s')$$, 'a clock may be ahead by less than a minute');
select cmp_ok((select began from scylla.job_freshness where job = 'e' and ids @> 900::bigint), '<=', clock_timestamp(), 'a mark of a clock that is ahead is of now: what comes later counts');
select is(scylla.forget_freshness('c', '{[10,11)}'), 1::bigint, 'ids can be forgotten one by one');
select is((select range_agg(ids) from scylla.job_freshness where job = 'c'), '{[1,2),[11,12),[20,25)}'::int8multirange, 'the others stay');
select lives_ok($$select scylla.drop_job('t')$$);
select is((select count(*) from scylla.job_plan where plan = :'plan'), 1::bigint, 'the runs of a job that is dropped go on');
select is((select count(*) from scylla.lease('other', 'w', 5)), 2::bigint);
select scylla.complete_many(array_agg(rn), 'w') from scylla.task where plan = :'plan' \g /dev/null
select all_is_sound();

-- Old plans go with what is known of them; successes that newer ones cover go, too.
select count(*) as successes from scylla.job_success \gset
update scylla.task_plan set created = created - interval '30 days', finished = finished - interval '30 days';
update scylla.task_outcome set finished = finished - interval '30 days';
create temporary table fresh_before as select * from scylla.job_freshness;
select scylla.maintain() \g /dev/null
select is((select count(*) from scylla.job_run), 0::bigint, 'runs are purged with their plans');
select is((select count(*) from scylla.job_chunk), 0::bigint, 'and their chunks');
select cmp_ok((select count(*) from scylla.job_success), '<', :successes::bigint, 'and successes that newer ones cover');
select bag_eq('select * from scylla.job_freshness', 'select * from fresh_before', 'which changes nothing');
select is_empty('select from scylla.job_success where job not in (select id from scylla.job_definition)', 'what was completed after its job had been dropped is gone');
select all_is_sound();
select * from finish();
rollback;
