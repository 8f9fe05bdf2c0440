-- resubmit, resubmit_many, dead_tasks, rerun_plan: doing again what has ended.
begin;
\ir include/helpers.psql
select * from no_plan();

select signature_is('resubmit', 'rn text, new_rn text DEFAULT NULL::text', 'scylla.task');
select signature_is('resubmit_many', 'queue text, status scylla.task_status DEFAULT ''aborted''::scylla.task_status, code text DEFAULT NULL::text, ended_after timestamp with time zone DEFAULT NULL::timestamp with time zone, ended_before timestamp with time zone DEFAULT NULL::timestamp with time zone, max_tasks integer DEFAULT 1000, preview boolean DEFAULT false, OUT rn text, OUT new_rn text', 'SETOF record');
select signature_is('dead_tasks', 'queue text DEFAULT NULL::text, code text DEFAULT NULL::text, max_tasks integer DEFAULT 100', 'SETOF scylla.task');
select signature_is('rerun_plan', 'plan text, only_failed boolean DEFAULT false, new_plan text DEFAULT NULL::text', 'text');

create function refuses_with(statement text, start text) returns text language sql as $$
    select is(starts_with(raised(statement), start), true, start || ': ' || statement);
$$;
create function abort_task(rn text, code text = 'oops') returns void language sql as $$
    select from scylla.lease_task(rn, 'w', '1 h');
    select from scylla.abort(rn, 'w', jsonb_build_object('code', code));
$$;

-- ---- one task ------------------------------------------------------------------------------------------------------

do $$ begin
    perform given('s ' || state, state) from unnest('{ready,waiting,running,completed,aborted,cancelled}'::text[]) state;
    perform scylla.submit('full', '{"x": [1, 2]}', 7, 'whole', not_before => '2001-01-01Z', max_attempts => 3, retry => '{"initial": "5 s"}', dedup_key => 'd', key => 'k');
    perform abort_task('whole');
end $$;
select is(t.queue || ' ' || t.rn || ' ' || t.spec || ' ' || t.status || ' ' || t.priority || ' ' || t.attempt || ' ' || t.failures || ' ' || t.max_attempts || ' ' || t.key || ' ' || t.errors || t.history,
          'full again {"x": [1, 2]} ready 7 0 0 3 k [][]', 'the copy is what the task was when it was submitted')
from scylla.resubmit('whole', 'again') t;
select is((select retry::text || dedup_key from scylla.task_spec where rn = 'again'), (select retry::text || dedup_key from scylla.task_spec where rn = 'whole'), 'also in what the view does not show');
select is((select rn || ' ' || queue || ' ' || new_rn || ' ' || (resubmitted between now() and clock_timestamp()) from scylla.resubmissions), 'whole full again true', 'and the two are linked');
select is((select status::text from scylla.get_task('whole')), 'aborted', 'the task stays what it is');
select is((scylla.resubmit('s ' || state)).status::text, 'ready', 'one that is ' || state || ' can be submitted again') from unnest('{completed,aborted,cancelled}'::text[]) state;
select is((select count(*) from scylla.resubmissions r join scylla.task t on t.rn = r.new_rn and t.queue = r.queue), 4::bigint, 'under a generated name');
select refuses_with(format($$select scylla.resubmit('s %s')$$, state), format(E'55000 scylla.task/ended\ntask "s %s" has not ended\n', state))
from unnest('{ready,waiting,running}'::text[]) state;
select refuses($$select scylla.resubmit('whole')$$, '55000', 'resubmitted', 'task "whole" was already resubmitted', 'Its last copy is task "again".');
do $$ begin perform abort_task('again'), scylla.resubmit('again', 'and again'); end $$;
select refuses($$select scylla.resubmit('whole')$$, '55000', 'resubmitted', 'task "whole" was already resubmitted', 'Its last copy is task "and again".');

-- A task that was deferred goes on where it was: what it waited for last goes with its state.
do $$ begin
    perform scylla.create_callback(token) from unnest('{cb1,cb2,cb3}'::text[]) token;
    perform scylla.submit('defers', '1', rn => 'deferred', wait_for => '[{"callback": "cb1"}]');
    perform scylla.resolve_callback('cb1', '1'), scylla.lease('defers', 'w');
    update scylla.task_spec s set created = s.created - interval '30 days' where s.rn = 'deferred';
    perform scylla.defer('deferred', 'w', '[{"callback": "cb2", "timeout": "2 h"}, {"callback": "cb3", "timeout": "1 h", "on_timeout": "ignore"}]', '{"step": 2}');
    perform scylla.resolve_callback('cb2', '2');
    update scylla.task_gate g set deadline = g.deadline - interval '90 min' from scylla.task_spec s where s.id = g.task and s.rn = 'deferred';
    update scylla.task_waiting w set due = w.due - interval '90 min' from scylla.task_spec s where s.id = w.id and s.rn = 'deferred';
    perform scylla.maintain();
    perform abort_task('deferred');
    update scylla.task_gate g set deadline = g.deadline + interval '90 min' from scylla.task_spec s where s.id = g.task and s.rn = 'deferred';
end $$;
select is((select row(status, args, state, attempt)::text from scylla.resubmit('deferred', 'deferred again')), '(waiting,"[2, null]","{""step"": 2}",0)', 'a copy of a task that was deferred has its state, and waits for the same');
select is((select array_agg(round(extract(epoch from g.deadline - s.created) / 60) order by g.ord)::text from scylla.task_gate g join scylla.task_spec s on s.id = g.task where s.rn = 'deferred again'), '{120,60}', 'as long as the task would have after it was deferred');
select is((select row(args, state)::text from scylla.task where rn = 'deferred again'), '("[2, null]","{""step"": 2}")', 'the view says the same');
do $$ begin perform scylla.resolve_callback('cb3', '3'); end $$;
select is((select row(rn, args, state)::text from scylla.lease('defers', 'w')), '("deferred again","[2, 3]","{""step"": 2}")', 'the worker gets both');
do $$ begin perform scylla.abort('deferred again', 'w', '{"code": "x"}'); end $$;
select is((select row(status, args, state, attempt)::text from scylla.resubmit('deferred again', 'deferred once more')), '(ready,"[2, 3]","{""step"": 2}",0)', 'also a copy of a copy');
do $$ begin
    perform scylla.create_plan('defers'), scylla.submit('defers', '1', rn => 'p1', plan => 'defers'), scylla.open_plan('defers');
    perform scylla.cancel('deferred once more');
end $$;
do $$ begin perform scylla.lease('defers', 'w'); end $$;
do $$ begin
    perform scylla.defer('p1', 'w', '[{"callback": "cb3"}]', '"in a plan"');
    perform abort_task('p1');
end $$;
select is((select row(t.status, t.args, t.state)::text from scylla.rerun_plan('defers') p, scylla.plan_task m join scylla.task t using (rn) where m.plan = p), null, 'the plan that runs again');
select is((select row(t.status, t.args, t.state)::text from scylla.task t where t.queue = 'defers' and t.plan is not null and t.rn <> 'p1'), '(ready,[3],"""in a plan""")', 'has the state of its tasks');

select refuses($$select scylla.resubmit('none')$$, 'P0002', 'exists', 'task "none" does not exist');
select * from checks_name($$select scylla.resubmit($1)$$, 'rn');
select * from checks_name($$select scylla.resubmit('whole', $1)$$, 'new_rn', false);
do $$ begin
    perform given('s 2', 'aborted');
    perform scylla.submit('full', '1', rn => 'has d 1', dedup_key => 'd 2'), scylla.cancel('has d 1'), scylla.submit('full', '2', rn => 'has d 2', dedup_key => 'd 2');
end $$;
select refuses($$select scylla.resubmit('s 2', 's ready')$$, '23505', 'unique', 'task "s ready" already exists');
select refuses($$select scylla.resubmit('has d 1', 'x')$$, '23505', 'dedup', 'a live task of queue "full" already has the deduplication key "d 2"');
select refuses($$select scylla.resubmit('has d 1')$$, '23505', 'dedup', 'a live task of queue "full" already has the deduplication key "d 2"');
select is_empty($$select from scylla.task_copy c join scylla.task_spec s on s.id = c.original where s.rn in ('s 2', 'has d 1')$$, 'what failed has left no mark');
do $$ begin perform scylla.create_queue('small', max_depth => 1), given('s small', 'aborted', 'small'), scylla.submit('small', '1'); end $$;
select refuses($$select scylla.resubmit('s small')$$, '53400', 'max_depth', 'queue "small" has reached its max_depth', 'The limit is 1.', table_ => 'queue');

-- ---- what it waits for ---------------------------------------------------------------------------------------------

do $$ begin
    perform given('p completed', 'completed'), given('p aborted', 'ready'), scylla.create_callback('c');
    perform scylla.submit('q', '1', rn => 'd', depends_on => '{p completed}', wait_for => '[{"callback": "c", "timeout": "1 day"}]');
    perform scylla.submit('q', '1', rn => 'e', depends_on => '{p aborted}');
    perform abort_task('p aborted');
    perform scylla.resolve_callback('c', '"from c"'), abort_task('d', 'later');
end $$;
select is((scylla.resubmit('d', 'd 2')).args, '[{"r": 1}, "from c"]', 'a copy gets the same results and values');
select is((scylla.resubmit('p aborted', 'p again')).status::text, 'ready', 'a task on which another depended');
select is((scylla.resubmit('e', 'e 2')).status::text, 'waiting', 'the copy of that one waits for the copy');
do $$ begin perform scylla.lease_task('p again', 'w'), scylla.complete('p again', 'w', '"better"'); end $$;
select is((select status || ' ' || args from scylla.get_task('e 2')), 'ready ["better"]', 'and gets its result');
do $$ begin
    perform scylla.create_callback('c2'), scylla.submit('q', '1', rn => 'f', wait_for => '[{"callback": "c2", "timeout": "1 day", "on_timeout": "skip"}]'), scylla.cancel('f');
end $$;
select is((scylla.resubmit('f', 'f 2')).status::text, 'waiting', 'a condition that has not ended is waited for');
select is((select round(extract(epoch from until - clock_timestamp()) / 3600)::int || ' ' || waits_for from scylla.explain_waiting('f 2')), '24 callback c2', 'for as long as the first time');
do $$ begin perform scylla.resolve_callback('c2', '2'); end $$;
select is((select status || ' ' || args from scylla.get_task('f 2')), 'ready [2]', 'and ends for the copy, too');
do $$ begin
    perform given('gone', 'completed'), scylla.submit('q', '1', rn => 'of gone', depends_on => '{gone}'), abort_task('of gone'), scylla.delete_task('gone');
end $$;
select refuses($$select scylla.resubmit('of gone')$$, 'P0002', 'provider', 'a task that task "of gone" depends on was just purged');

do $$ begin
    perform scylla.create_pool('a pool', '{"slots": 1}');
    perform scylla.submit('pooled', '1', rn => 'needy', needs => '{"a pool": {"slots": 1}}', expected_runtime => '1 min'), scylla.cancel('needy'), scylla.resubmit('needy', 'needy 2'), scylla.maintain();
end $$;
select is((select status::text from scylla.get_task('needy 2')), 'ready', 'a copy needs what the task needed');
select is((select amounts from scylla.task_reservation r join scylla.task_spec s on s.id = r.task where s.rn = 'needy 2'), '{"slots": 1}', 'and gets it');
select is((select needs::text || runtime from scylla.task_spec where rn = 'needy 2'), (select needs::text || runtime from scylla.task_spec where rn = 'needy'), 'for as long');

-- ---- dead tasks, and many ------------------------------------------------------------------------------------------

do $$ begin
    perform scylla.submit('many', to_jsonb(n), rn => 'm' || n) from generate_series(1, 3) n;
    perform abort_task('m1', 'net'), abort_task('m2', 'disk'), abort_task('m3', 'net');
    perform scylla.submit('many', '4', rn => 'm4', dedup_key => 'same'), abort_task('m4', 'net'), scylla.submit('many', '5', rn => 'm5', dedup_key => 'same'), abort_task('m5', 'net');
    perform scylla.submit('many', '6', rn => 'm6'), scylla.cancel('m6');
    perform scylla.submit('many', '7', rn => 'm7'), scylla.lease_task('m7', 'w'), scylla.fail('m7', 'w', '{"code": "net"}', '0'), abort_task('m7', 'disk');
end $$;
select is((select string_agg(rn, ' ') from scylla.dead_tasks('many')), 'm7 m5 m4 m3 m2 m1', 'dead are tasks that were aborted, newest first');
select is((select string_agg(rn, ' ') from scylla.dead_tasks('many', 'disk')), 'm7 m2', 'by the code of their last error');
select is((select string_agg(rn, ' ') from scylla.dead_tasks('many', max_tasks => 2)), 'm7 m5', 'only so many');
select is((select string_agg(rn, ' ') from scylla.dead_tasks() where queue in ('many', 'full')), 'm7 m5 m4 m3 m2 m1', 'of all queues: those that were resubmitted are not among them');
do $$ begin
    perform scylla.submit('said', to_jsonb(n), rn => 'said ' || n), scylla.lease_task('said ' || n, 'w') from generate_series(1, 2) n;
    perform scylla.fail('said 1', 'w', '{"code": "net", "message": "no route"}', '0'), scylla.lease_task('said 1', 'w');
    perform scylla.abort('said 1', 'w', '{"code": "disk", "message": "no space"}'), scylla.abort('said 2', 'w', '{"code": "disk"}');
end $$;
select is((select string_agg(rn || ': ' || error_message, ', ' order by rn) from scylla.dead_tasks('said')), 'said 1: no space, said 2: disk',
          'error_message is what the last error says, or its code if it says nothing');
select is_empty($$select from scylla.dead_tasks('none')$$, 'a queue that does not exist has none');
select is((select string_agg(rn || coalesce(new_rn, '-'), ' ') from scylla.resubmit_many('many', code => 'net', preview => true)), 'm1- m3- m4- m5-', 'a preview shows what would be resubmitted, oldest first');
select is((select count(*) from scylla.resubmissions where queue = 'many'), 0::bigint, 'and does nothing');
select is((select string_agg(rn, ' ') from scylla.resubmit_many('many', code => 'net', max_tasks => 1)), 'm1', 'at most so many');
create temp table done as select * from scylla.resubmit_many('many', code => 'net');
select is((select string_agg(rn, ' ') from done), 'm3 m4 m5', 'the others with this code');
select is((select count(distinct new_rn) from done), 2::bigint, 'a task whose deduplication key the copy of another has counts as that copy');
select is((select string_agg(t.spec::text || t.status, ' ' order by t.spec) from scylla.resubmissions r join scylla.task t on t.rn = r.new_rn where r.queue = 'many'), '1ready 3ready 4ready 4ready', 'they are ready');
select is((select string_agg(rn, ' ') from scylla.dead_tasks('many')), 'm7 m2', 'and dead no longer');
select is((select string_agg(rn, ' ') from scylla.resubmit_many('many', status => 'cancelled')), 'm6', 'cancelled ones');
select grow_old('m2', '1 day') \g /dev/null
select is((select string_agg(rn, ' ') from scylla.resubmit_many('many', ended_before => now() - interval '1 hour', preview => true)), 'm2', 'by when they ended');
select is((select string_agg(rn, ' ') from scylla.resubmit_many('many', ended_after => now() - interval '1 hour', preview => true)), 'm7', 'from one side or the other');
select is_empty($$select from scylla.resubmit_many('many', 'completed')$$, 'nothing may be left to do');
select refuses_argument($$select scylla.resubmit_many('many', 'ready')$$, 'status', 'ready', 'It must be "aborted", "cancelled" or "completed".');
select refuses($$select scylla.resubmit_many('none')$$, '42704', 'exists', 'queue "none" does not exist', table_ => 'queue');
select * from checks_name($$select scylla.resubmit_many($1)$$, 'queue');
select * from checks_name($$select scylla.dead_tasks($1)$$, 'queue', false);
-- Who depends on another is resubmitted with it, in whatever order they are.
do $$ begin
    perform scylla.submit_many('[{"queue": "chain", "spec": 1, "rn": "last", "depends_on": ["middle"]}, {"queue": "chain", "spec": 2, "rn": "middle", "depends_on": ["first"]}, {"queue": "chain", "spec": 3, "rn": "first"}]');
    perform abort_task('first');
end $$;
select is((select string_agg(rn, ' ') from scylla.resubmit_many('chain')), 'last middle first', 'a chain that failed as a whole');
select is((select string_agg(t.spec::text || t.status, ' ' order by t.spec) from scylla.resubmissions r join scylla.task t on t.rn = r.new_rn where r.queue = 'chain'), '1waiting 2waiting 3ready', 'each copy depends on a copy');

-- ---- plans ---------------------------------------------------------------------------------------------------------

do $$ begin
    perform scylla.create_plan('p', '{"of": "tuesday"}');
    perform scylla.submit_many('[{"queue": "pq", "spec": "extract", "rn": "extract", "plan": "p"},
        {"queue": "pq", "spec": "clean", "rn": "clean", "plan": "p", "depends_on": ["extract"]},
        {"queue": "pq", "spec": "load", "rn": "load", "plan": "p", "depends_on": ["extract", "clean"]},
        {"queue": "pq", "spec": "report", "rn": "report", "plan": "p", "depends_on": ["clean"], "on_dependency_failure": "ignore"},
        {"queue": "pq", "spec": "mail", "rn": "mail", "plan": "p", "depends_on": ["report"]}]');
end $$;
select refuses($$select scylla.rerun_plan('p')$$, '55000', 'ended', 'plan "p" has not ended', table_ => 'plan');
do $$ begin
    perform scylla.open_plan('p'), scylla.lease_task('extract', 'w'), scylla.complete('extract', 'w', '"rows"'), abort_task('clean');
    perform scylla.lease_task('report', 'w'), scylla.complete('report', 'w'), scylla.lease_task('mail', 'w'), scylla.complete('mail', 'w');
end $$;
select is((select status from scylla.plan where name = 'p'), 'failed', 'a plan whose task was aborted has failed');
select is(scylla.rerun_plan('p', true, 'p 2'), 'p 2', 'its failed part runs again as another plan');
select is((select status || spec from scylla.plan where name = 'p 2'), 'running{"of": "tuesday"}', 'with the same spec, open');
select is((select string_agg(spec::text || status || args, ' ' order by spec) from scylla.task where plan = 'p 2'),
          '"clean"ready["rows"] "load"waiting["rows", null] "mail"waiting[null] "report"waiting[null]', 'what failed and what depended on it; what was completed gives its result');
select refuses($$select scylla.rerun_plan('p', only_failed => true)$$, '55000', 'failed', 'plan "p" has no tasks to run again', 'Its tasks are completed, or were resubmitted already.', table_ => 'plan');
do $$
declare name text;
begin
    foreach name in array '{clean,load,report,mail}'::text[] loop
        perform scylla.lease_task(new_rn, 'w'), scylla.complete(new_rn, 'w') from scylla.resubmissions where rn = name;
    end loop;
end $$;
select is((select status from scylla.plan where name = 'p 2'), 'completed', 'and can be completed');
select refuses($$select scylla.rerun_plan('p 2', true)$$, '55000', 'failed', 'plan "p 2" has no tasks to run again', 'Its tasks are completed, or were resubmitted already.', table_ => 'plan');
select refuses($$select scylla.rerun_plan('none')$$, 'P0002', 'exists', 'plan "none" does not exist', table_ => 'plan');
do $$ begin perform scylla.create_plan('c'), scylla.submit('pq', '1', rn => 'of c', plan => 'c'), scylla.cancel_plan('c'); end $$;
select refuses($$select scylla.rerun_plan('c', new_plan => 'p')$$, '42710', 'unique', 'plan "p" already exists', table_ => 'plan');
select scylla.rerun_plan('c') as new_plan \gset
select is((select status || waiting || ready from scylla.plan where name = :'new_plan'), 'running01', 'a plan that was cancelled, under a generated name');

-- All of it again: also what was completed, and what was resubmitted.
select is(scylla.rerun_plan('p', new_plan => 'p 3'), 'p 3', 'all of a plan runs again');
select is((select status || spec from scylla.plan where name = 'p 3'), 'running{"of": "tuesday"}', 'with the same spec, open');
select is((select string_agg(spec::text || status, ' ' order by spec) from scylla.task where plan = 'p 3'),
          '"clean"waiting "extract"ready "load"waiting "mail"waiting "report"waiting', 'all its tasks');
do $$
declare t scylla.task;
begin
    loop
        select * into t from scylla.lease('pq', 'w');
        exit when t.rn is null;
        perform scylla.complete(t.rn, 'w', t.spec);
    end loop;
end $$;
select is((select string_agg(format('%s %s', spec, args), ' ' order by spec) from scylla.task where plan = 'p 3'),
          '"clean" ["extract"] "extract" [] "load" ["extract", "clean"] "mail" ["report"] "report" ["clean"]', 'which wait for each other as those before');
select is((select status from scylla.plan where name = 'p 3'), 'completed', 'and it is completed');
select is((select count(*) from scylla.resubmissions r join scylla.task t on t.rn = r.new_rn where t.plan = 'p 3'), 1::bigint,
          'what was resubmitted keeps its first copy');
select scylla.rerun_plan('p 3') as again \gset
select is((select status || completed || ready || waiting from scylla.plan where name = :'again'), 'running014', 'a completed plan runs again, under a name that is made up');
select lives_ok($$select scylla.rerun_plan('p 3')$$, 'any number of times');
select scylla.cancel_plan(name) from scylla.plan where status = 'running' and spec = '{"of": "tuesday"}' \g /dev/null
do $$ begin perform scylla.create_plan('empty'), scylla.cancel_plan('empty'); end $$;
select refuses($$select scylla.rerun_plan('empty')$$, '55000', 'failed', 'plan "empty" has no tasks to run again', 'It has no tasks.', table_ => 'plan');
select is((select count(*) from scylla.task where rn in (select new_rn from scylla.resubmissions where rn = 'extract')), 1::bigint, 'what was completed has a copy now');
select * from checks_name($$select scylla.rerun_plan($1)$$, 'plan');
select * from checks_name($$select scylla.rerun_plan('c', new_plan => $1)$$, 'new_plan', false);

-- ---- marks go with their tasks -------------------------------------------------------------------------------------

select is((select count(*) > 10 from scylla.task_copy), true, 'there are marks');
select lives_ok($$select scylla.delete_task('whole')$$, 'a task that was resubmitted can be removed');
select scylla.purge() \g /dev/null
select is_empty($$select from scylla.task_copy where not exists (select from scylla.task_spec where id = original)$$, 'purge removes the marks of those that are gone');
select is((select count(*) from scylla.resubmissions where rn = 'm3'), 1::bigint, 'and no others');

select all_is_sound();
-- A queue that is dropped takes its tasks with it at once, whoever removes their rows later.
select scylla.create_queue('stays'), scylla.create_queue('goes'), scylla.create_plan('half') \g /dev/null
select scylla.submit(queue, '1', rn => 'half ' || queue, plan => 'half') from unnest('{stays,goes}'::text[]) queue \g /dev/null
select scylla.cancel_plan('half'), scylla.drop_queue('goes', force => true) \g /dev/null
select scylla.rerun_plan('half') as half \gset
select is((select string_agg(t.queue, ' ') from scylla.plan_task m join scylla.task t using (rn) where m.plan = :'half'), 'stays',
          'rerun_plan: without the tasks of a queue that was dropped');
select scylla.drop_queue('stays', force => true) \g /dev/null
select refuses($$select scylla.rerun_plan('half')$$, '55000', 'failed', 'plan "half" has no tasks to run again', 'It has no tasks.', table_ => 'plan');

select * from finish();
rollback;
