-- Gates: tasks that wait for tasks and for plans, and what they do when those fail; deduplication keys.
begin;
\ir include/helpers.psql
select * from no_plan();

-- The state of tasks, in one line.
create function states(variadic rns text[]) returns text language sql as $$
    select string_agg(coalesce((scylla.get_task(rn)).status::text, 'none'), ' ' order by n)
    from unnest(rns) with ordinality _ (rn, n);
$$;
-- Leases a task and ends it.
create function finish(rn text, result jsonb = null, how text = 'complete') returns void language plpgsql as $$
begin
    perform scylla.lease_task(rn, 'w');
    case how when 'complete' then perform scylla.complete(rn, 'w', result);
             when 'abort' then perform scylla.abort(rn, 'w', '{"code": "broken"}');
             when 'cancel' then perform scylla.cancel(rn);
    end case;
end $$;
create function args(rn text) returns jsonb language sql as $$ select (scylla.get_task(rn)).args $$;

-- ---- waiting for tasks -----------------------------------------------------------------------------------------------

select scylla.submit('q', '1', rn => rn) from unnest('{a,b,c}'::text[]) rn \g /dev/null
select is((select row(status, args)::text from scylla.submit('q', '1', rn => 'd', depends_on => '{b,a,b}')),
          '(waiting,"[null, null, null]")', 'a task waits for those that it depends on');
select is((select count(*) from scylla.lease('q', 'other', 10)), 3::bigint, 'and is not leased');
select is(states('d'), 'waiting', 'it waits while they run');
select scylla.yield(rn, 'other') from unnest('{a,b,c}'::text[]) rn \g /dev/null
select finish('a', '{"from": "a"}');
select is(states('d') || args('d'), 'waiting[null, {"from": "a"}, null]', 'it waits for the last of them');
select finish('b', '"text"');
select is(states('d') || args('d'), 'ready["text", {"from": "a"}, "text"]',
          'and is ready with the last one, with results in the declared order');
select is((select args from scylla.lease_task('d', 'w')), '["text", {"from": "a"}, "text"]', 'the worker gets them');
select is((select args from scylla.complete('d', 'w', '7')), null, 'once');
select is((select row(status, args)::text from scylla.submit('q', '1', rn => 'late', depends_on => '{d,b}')),
          '(ready,"[7, ""text""]")', 'what is completed already counts at once');
select is(seen('late') -> 'args', '[7, "text"]', 'the view shows the same');
select is(states('c'), 'ready', 'nobody else is touched');
select is((select status || coalesce(due::text, ' without a time') from scylla.submit('q', '1', depends_on => '{}'),
           lateral (select null::timestamptz as due) _), 'ready without a time', 'no names, no gates');
select is((select status::text from scylla.submit('q', '1', rn => 'both', depends_on => '{c}', not_before => now() + interval '1 h')),
          'waiting', 'a time and a task');
select finish('c');
select is(seen('both') ->> 'status', 'waiting', 'are waited for one after the other');
select fall_due('both');
select scylla.maintain();
select is(seen('both') ->> 'status', 'ready', 'until both are over');
select finish('both', null);
-- args is put together from the results as they are stored: it must come to what the server makes of them, bit by bit.
do $$
declare
    results constant jsonb[] := array['1', '-12345678901234567890.5', '""', '"x"', '"three"', 'true', 'false', 'null', '[]', '{}', '[1, [2, "a"], null]',
                                      '{"a": {"b": [true, 1e100]}, "": "é"}', '[[[]]]', '"' || repeat('long', 100) || '"', null];
begin
    for i in 1 .. 70 loop
        perform scylla.submit('kinds', '1', rn => 'kind ' || i), scylla.lease_task('kind ' || i, 'w');
        perform scylla.complete('kind ' || i, 'w', results[1 + i % 15]);
    end loop;
end $$;
select is(args, (select jsonb_agg(result order by i) from unnest(d) with ordinality u(name, i) join scylla.task t on t.rn = name),
          'args of ' || array_to_string(d, ' and '))
from (values (array['kind 1']), (array['kind 6']), (array['kind 14', 'kind 15'])) v (d), lateral (select * from scylla.submit('q', '1', depends_on => d)) s;
select is(t.args::text || md5(t.args::text) || (t.args = all_) || (select string_agg(coalesce(t.args ->> i, 'null'), ',' order by i) from generate_series(0, 69) i),
          all_::text || md5(all_::text) || true || (select string_agg(coalesce(all_ ->> i, 'null'), ',' order by i) from generate_series(0, 69) i),
          'args of 70 results of all kinds, as a whole and one by one')
from (select jsonb_agg(result order by n) as all_ from generate_series(1, 70) n join scylla.task on rn = 'kind ' || n) a,
     lateral (select args from scylla.submit('q', '1', rn => 'of all kinds', depends_on => array(select 'kind ' || n from generate_series(1, 70) n order by n))) t;

select is((scylla.submit('q', '1', depends_on => '{both}')).args, '[null]', 'a task without a result gives null');

-- A retry of a task that had gates waits only for its delay.
select scylla.lease_task('late', 'w') \g /dev/null
select scylla.fail('late', 'w', '{"code": "again"}', '1 h') \g /dev/null
select fall_due('late');
select scylla.maintain();
select is(states('late') || args('late'), 'ready[7, "text"]', 'a retry keeps the args');

-- ---- failure ---------------------------------------------------------------------------------------------------------

create function rules(how text) returns text language plpgsql as $$
declare
    found text;
begin
    perform scylla.submit('q', '1', rn => how);
    perform scylla.submit('q', '1', rn => how || ' other');
    perform scylla.submit('q', '1', rn => format('%s %s', how, r), depends_on => array[how || ' other', how],
                          on_dependency_failure => r)
    from unnest('{cascade,skip,ignore}'::text[]) r;
    perform scylla.submit('q', '1', rn => how || ' next', depends_on => array[how || ' cascade', how || ' ignore']);
    perform scylla.submit('q', '1', rn => how || ' free', depends_on => array[how || ' other']);
    perform finish(how, null, how);
    found := states(how || ' cascade', how || ' skip', how || ' ignore', how || ' next', how || ' free');
    perform finish(how || ' other', '1');
    return found || '; ' || states(how || ' ignore', how || ' free') || ' ' || args(how || ' ignore');
end $$;
select is(rules(how), 'aborted cancelled waiting aborted waiting; ready ready [1, null]',
          how || ': cascade aborts at once, and further down; skip cancels; ignore goes on; others are untouched')
from unnest('{abort,cancel}'::text[]) how;
select is((scylla.get_task(rn)).errors, jsonb_build_array(jsonb_build_object('code', 'dependency-failed', 'args',
          jsonb_build_object('provider', provider), 'message', 'a task that this one depends on was ' || what)), rn)
from (values ('abort cascade', 'abort', 'aborted'), ('cancel cascade', 'cancel', 'cancelled'),
             ('abort next', 'abort cascade', 'aborted'), ('abort skip', 'abort', 'aborted'),
             ('cancel skip', 'cancel', 'cancelled')) _ (rn, provider, what);
select is((select row(status, errors -> 0 -> 'args')::text
           from scylla.submit('q', '1', depends_on => '{a,abort}')), '(aborted,"{""provider"": ""abort""}")',
          'what has failed before fails the task when it is submitted');
select is((select row(status, args)::text from scylla.submit('q', '1', depends_on => '{a,abort}', on_dependency_failure => r)),
          wanted, 'or as its rule says: ' || r)
from (values ('skip', '(cancelled,"[{""from"": ""a""}, null]")'), ('ignore', '(ready,"[{""from"": ""a""}, null]")')) _ (r, wanted);
select scylla.submit('q', '1', rn => 'dies', max_attempts => 1) \g /dev/null
select scylla.submit('q', '1', rn => 'heir', depends_on => '{dies}') \g /dev/null
select scylla.lease_task('dies', 'w') \g /dev/null
select expire('dies');
select scylla.reset_expired() \g /dev/null
select is(states('heir'), 'aborted', 'a lease that expires for the last time fails it, too');
-- The older lease is that of the younger task, and lies before the other in its table.
select scylla.submit('q', '1', rn => rn, max_attempts => 1) from unnest('{older,younger}'::text[]) rn \g /dev/null
select scylla.submit('q', '1', rn => 'heir of two', depends_on => '{younger,older}') \g /dev/null
select scylla.lease_task('younger', 'w') \g /dev/null
select scylla.lease_task('older', 'w') \g /dev/null
select expire(rn) from unnest('{older,younger}'::text[]) rn \g /dev/null
select scylla.reset_expired() \g /dev/null
select is(seen('heir of two') -> 'errors' -> 0 ->> 'args', '{"provider": "older"}', 'of several it names the oldest');

-- ---- submit_many -----------------------------------------------------------------------------------------------------

select results_eq($$select * from scylla.submit_many('[
    {"queue": "q", "spec": 1, "rn": "m1", "depends_on": ["m3", "a"]}, {"queue": "q", "spec": 1, "rn": "m2"},
    {"queue": "q", "spec": 1, "rn": "m3", "depends_on": ["m2"]}, {"queue": "q", "spec": 1, "rn": "m2", "depends_on": ["m1"]},
    {"queue": "q", "spec": 1, "rn": "m4", "depends_on": ["abort", "m5"]}, {"queue": "q", "spec": 1, "rn": "m5"},
    {"queue": "q", "spec": 1, "rn": "m6", "depends_on": ["m4"]},
    {"queue": "q", "spec": 1, "rn": "m7", "depends_on": ["m4"], "on_dependency_failure": "ignore"}]')$$,
    $$values ('m1', true), ('m2', true), ('m3', true), ('m2', false), ('m4', true), ('m5', true), ('m6', true), ('m7', true)$$,
    'elements depend on others, before or after them, and on tasks that are there');
select is(states('m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7'), 'waiting ready waiting aborted ready aborted ready',
          'and begin where they should');
select finish('m2', '2');
select finish('m3', '3');
select is(args('m1'), '[3, {"from": "a"}]', 'one after the other');
select scylla.create_plan('u'), scylla.create_plan('v') \g /dev/null
select is((select count(*) from scylla.submit_many('[
    {"queue": "q", "spec": "u", "priority": 1, "depends_on": ["u2", "a", "u1"]}, {"queue": "q", "spec": "u", "priority": 2},
    {"queue": "q", "spec": "u", "priority": 3, "rn": "u2", "plan": "v"}, {"queue": "q", "spec": "u", "priority": 4},
    {"queue": "q", "spec": "u", "priority": 5, "rn": "u1", "plan": "u"}, {"queue": "q", "spec": "u", "priority": 6, "plan": "u"}]')
    where inserted), 6::bigint, 'names, plans and dependencies can be given to some of the elements only');
select results_eq($$select priority, plan, args from scylla.task where spec = '"u"' order by priority$$,
    $$values (1, null, '[null, {"from": "a"}, null]'::jsonb), (2, null, '[]'), (3, 'v', '[]'), (4, null, '[]'), (5, 'u', '[]'), (6, 'u', '[]')$$,
    'and are those of these elements');
select scylla.cancel_plan(plan) from unnest('{u,v}'::text[]) plan \g /dev/null
select refuses(format('select scylla.submit_many(%L)', tasks), '22023', 'cycle', 'tasks depend on each other in a cycle', path)
from (values ('[{"queue": "q", "spec": 1, "rn": "x", "depends_on": ["x"]}]', '"x" -> "x"'),
             ('[{"queue": "q", "spec": 1, "rn": "x", "depends_on": ["a", "y"]}, {"queue": "q", "spec": 1, "rn": "y", "depends_on": ["z"]},
                {"queue": "q", "spec": 1, "rn": "z", "depends_on": ["x"]}]', '"x" -> "y" -> "z" -> "x"')) _ (tasks, path);
select refuses($$select scylla.submit_many('[{"queue": "q", "spec": 1, "rn": "x"}, {"queue": "q", "spec": 1, "depends_on": ["x", "y"]}]')$$,
               'P0002', 'provider', 'task "y" in "depends_on" in element 2 does not exist');
select is(seen('x'), null, 'nothing of it was submitted');
select refuses($$select scylla.submit_many('[{"queue": "q", "spec": 1, "depends_on": "a"}]')$$, '22023', 'argument',
               'invalid value for argument "depends_on" in element 1: "a"', 'It must be an array of texts.');
select refuses($$select scylla.submit_many('[{"queue": "q", "spec": 1, "depends_on": ["a", 5]}]')$$, '22023', 'argument',
               'invalid value for argument "depends_on" in element 1: 5', 'It must be a text.');
select refuses_argument(format('select scylla.submit(''q'', ''1'', on_dependency_failure => %s)', v), 'on_dependency_failure', shown,
                        'It must be cascade, ignore or skip.')
from (values ($$''$$, '""'), ($$'Cascade'$$, '"Cascade"')) _ (v, shown);
select refuses_element(format($$select scylla.submit('q', '1', depends_on => array['a', %s])$$, v), 2, 'depends_on', shown,
                       'It must have 1 to 200 characters.')
from (values ('null', 'null'), ($$''$$, '""')) _ (v, shown);

-- ---- purge -----------------------------------------------------------------------------------------------------------

create function purged(variadic rns text[]) returns text language plpgsql as $$
begin
    perform grow_old(rn, '10 days') from unnest(rns) rn;
    -- The walk ends at the first task that was submitted too recently.
    update scylla.task_spec set created = clock_timestamp() - interval '11 days';
    perform scylla.purge();
    return (select string_agg(case when seen(rn) is null then 'gone' else 'there' end, ' ' order by n)
            from unnest(rns) with ordinality _ (rn, n));
end $$;
select scylla.submit('q', '1', rn => rn) from unnest('{p1,p2}'::text[]) rn \g /dev/null
select scylla.submit('q', '1', rn => 'p3', depends_on => '{p1,p2}') \g /dev/null
select finish('p1', '"kept"');
select is(purged('p1'), 'there', 'a result stays as long as a live task depends on it');
select finish('p2');
select finish('p3', '3');
select is(purged('p1', 'p2'), 'gone gone', 'and no longer');
select is(args('p3'), '[null, null]', 'a task that has ended has lost it');
select is(purged('p3'), 'gone', 'gates go with their task');

-- ---- plans -----------------------------------------------------------------------------------------------------------

create function plan_row(name text) returns text language sql as $$
    select row(p.status, waiting, ready, running, p.completed, p.aborted, p.cancelled, round(progress::numeric, 2),
               opened is not null, finished is not null, result)::text from scylla.plan p where p.name = plan_row.name;
$$;
select is(scylla.create_plan('p', '{"for": "us"}'), 'p', 'a plan is created by name');
select matches(scylla.create_plan(), '^[0-9a-f]{8}-[0-9a-f]{4}-7', 'or gets one');
select is_empty($$select name from scylla.task_plan where not record_image_eq(row(owner), row(owner::text::name))$$,
                'its owner is stored as a name is, with nothing but zeros behind it');
select is((select row(status, plan)::text from scylla.submit('q', '1', rn => 'pa', plan => 'p')), '(waiting,p)',
          'its tasks wait');
select scylla.submit('q', '1', rn => 'pb', plan => 'p', depends_on => '{pa,a}') \g /dev/null
select is(plan_row('p'), '(building,2,0,0,0,0,0,0.00,f,f,)', 'while it is being built');
select refuses($$select scylla.lease_task('pa', 'w')$$, '55000', 'ready', 'task "pa" is not ready',
               'Its status is waiting, it has no owner and its attempt is 0.');
select scylla.open_plan('p');
select is(plan_row('p'), '(running,1,1,0,0,0,0,0.00,t,f,)', 'those that depend on nothing start when it is opened');
select scylla.lease_task('pa', 'w'), scylla.heartbeat('pa', 'w', 0.5) \g /dev/null
select is(plan_row('p'), '(running,1,0,1,0,0,0,0.25,t,f,)', 'a running task counts with its progress');
select scylla.submit('q', '1', rn => 'pc', plan => 'p', depends_on => '{pa}') \g /dev/null
select scylla.complete('pa', 'w', '"A"') \g /dev/null
select is(args('pb') || args('pc'), '["A", {"from": "a"}, "A"]', 'tasks can be added while it runs; the plan is no argument');
select is(scylla.plan_completed('p'), false, 'it is not completed');
select finish('pb', '"B"');
select finish('pc', '"C"');
select is(plan_row('p'), '(completed,0,0,0,3,0,0,1.00,t,t,"{""pb"": ""B"", ""pc"": ""C""}")',
          'it is completed with its last task; its result are those of the final tasks');
select is(scylla.plan_completed('p'), true, 'and says so');
select is((select spec from scylla.plan where name = 'p'), '{"for": "us"}', 'with what it was created with');
select refuses($$select scylla.submit('q', '1', plan => 'p')$$, '55000', 'live', 'plan "p" has already ended', 'It is finished.',
               table_ => 'plan');
select refuses($$select scylla.submit_many('[{"queue": "q", "spec": 1, "plan": "none"}]')$$, 'P0002', 'exists',
               'plan "none" does not exist', table_ => 'plan');
select refuses(format('select scylla.%s(''none'')', call), 'P0002', 'exists', 'plan "none" does not exist', table_ => 'plan')
from unnest('{open_plan,cancel_plan,plan_completed}'::text[]) call;

select scylla.create_plan('failing'), scylla.submit('q', '1', rn => 'f1', plan => 'failing'),
       scylla.submit('q', '1', rn => 'f2', plan => 'failing', depends_on => '{f1}'),
       scylla.submit('q', '1', rn => 'f3', plan => 'failing'), scylla.open_plan('failing') \g /dev/null
select finish('f1', null, 'abort');
select is(plan_row('failing'), '(running,0,1,0,0,2,0,0.67,t,f,)', 'independent branches go on');
select finish('f3', '3');
select is(plan_row('failing'), '(failed,0,0,0,1,2,0,1.00,t,t,"{""f3"": 3}")', 'a plan with an aborted task has failed');
select is(scylla.plan_completed('failing'), false, 'and is not completed');

select scylla.create_plan('cancelled'), scylla.submit('q', '1', rn => 'c1', plan => 'cancelled'),
       scylla.submit('q', '1', rn => 'c2', plan => 'cancelled', depends_on => '{c1}'),
       scylla.submit('q', '1', rn => 'c3', plan => 'cancelled'), scylla.open_plan('cancelled'),
       scylla.submit('q', '1', rn => 'outside', depends_on => '{c2}') \g /dev/null
select finish('c3');
select is(scylla.cancel_plan('cancelled'), 2::bigint, 'cancelling a plan cancels what has not ended');
select is(states('c1', 'c2', 'c3', 'outside') || plan_row('cancelled'),
          'cancelled cancelled completed aborted(cancelled,0,0,0,1,0,2,1.00,t,t,"{""c3"": null}")',
          'its tasks are cancelled and not aborted, and others do as their rule says');
select refuses($$select scylla.submit('q', '1', plan => 'cancelled')$$, '55000', 'live', 'plan "cancelled" has already ended',
               'It is cancelled.', table_ => 'plan');
-- What becomes of a plan, by how its tasks end. One that was skipped was cancelled by the rule of its plan; any other was not.
create function end_of_plan(plan text, variadic hows text[]) returns text language plpgsql as $$
begin
    perform scylla.create_plan(plan);
    for i in 1 .. cardinality(hows) loop
        perform scylla.submit('q', '1', rn => plan || i, plan => plan);
    end loop;
    perform scylla.submit('q', '1', rn => plan || ' skips', plan => plan, depends_on => array[plan || '1'], on_dependency_failure => 'skip');
    perform scylla.open_plan(plan);
    perform finish(plan || n, null, how) from unnest(hows) with ordinality h (how, n);
    perform finish(plan || ' skips') where hows[1] = 'complete';
    return (select row(p.status, scylla.plan_completed(p.name))::text from scylla.plan p where p.name = plan);
end $$;
select is(end_of_plan(array_to_string(hows, '-'), variadic hows), wanted, 'a plan: ' || array_to_string(hows, ', '))
from (values ('{complete,complete}'::text[], '(completed,t)'), ('{cancel,complete}', '(cancelled,f)'), ('{complete,cancel}', '(cancelled,f)'),
             ('{cancel,abort}', '(failed,f)'), ('{abort,cancel}', '(failed,f)'), ('{complete,abort}', '(failed,f)')) _ (hows, wanted);
-- Its provider is in no plan.
select scylla.create_plan('skipping'), scylla.submit('q', '1', rn => 'fails'),
       scylla.submit('q', '1', rn => 'skipping1', plan => 'skipping', depends_on => '{fails}', on_dependency_failure => 'skip'),
       scylla.submit('q', '1', rn => 'skipping2', plan => 'skipping', depends_on => '{skipping1}', on_dependency_failure => 'skip'),
       scylla.submit('q', '1', rn => 'skipping3', plan => 'skipping'), scylla.open_plan('skipping') \g /dev/null
select finish('fails', null, 'cancel');
select is(states('skipping1', 'skipping2', 'skipping3'), 'cancelled cancelled ready', 'skipped tasks are cancelled, further down, too');
select finish('skipping3');
select is(plan_row('skipping') || scylla.plan_completed('skipping'), '(completed,0,0,0,1,0,2,1.00,t,t,"{""skipping3"": null}")true',
          'a plan whose other tasks were skipped is completed');
-- An error that a worker gave does not make it one that was skipped.
select scylla.create_plan('said'), scylla.submit('q', '1', rn => 'said', plan => 'said'), scylla.open_plan('said'),
       scylla.lease_task('said', 'w'), scylla.fail('said', 'w', '{"code": "dependency-failed"}'), scylla.cancel('said') \g /dev/null
select is((select status from scylla.plan where name = 'said'), 'cancelled', 'a task that was run and cancelled was not skipped, whatever its errors');
-- Those for which there is no room are cancelled, too.
select scylla.create_queue('shedding', max_depth => 1, on_full => 'shed'), scylla.create_plan('shed') \g /dev/null
select scylla.submit_many('[{"queue": "shedding", "spec": 1, "rn": "shed1", "plan": "shed"}, {"queue": "shedding", "spec": 1, "rn": "shed2", "plan": "shed"}]') \g /dev/null
select scylla.open_plan('shed') \g /dev/null
select finish('shed1');
select is((select status from scylla.plan where name = 'shed'), 'cancelled', 'a plan with a task that was shed is no success');

select scylla.create_plan('empty');
select scylla.open_plan('empty');
select is(plan_row('empty'), '(completed,0,0,0,0,0,0,1.00,t,t,)', 'an open plan without tasks is finished');
select scylla.create_plan('never');
select is(scylla.cancel_plan('never'), 0::bigint, 'a plan can be cancelled before it is opened');
select refuses($$select scylla.open_plan('never')$$, '55000', 'live', 'plan "never" has already ended', 'It is cancelled.', table_ => 'plan');

select scylla.create_queue('short', retention => '0'), scylla.create_plan('short'), scylla.create_plan('long ago') \g /dev/null
select scylla.submit('short', '1', rn => 's', plan => 'short', max_attempts => 1), scylla.open_plan('short'), scylla.cancel_plan('long ago'),
       scylla.lease_task('s', 'w') \g /dev/null
select expire('s');
update scylla.task_plan set created = created - interval '10 days', finished = case name when 'long ago' then finished - interval '10 days' else finished end;
select scylla.maintain();
select is(states('s') || coalesce(plan_row('short'), ' is gone') || coalesce(plan_row('long ago'), ' is gone'),
          'aborted(failed,0,0,0,0,1,0,1.00,t,t,) is gone', 'what ends in a round of the monitor stays until the next, however short its time');
select scylla.maintain();
select is(seen('s')::text || plan_row('short'), null, 'and goes with that');
select scylla.drop_queue('short'); -- others look for the shortest retention, too

select is(purged('pa', 'pb'), 'there there', 'the tasks of a plan stay');
select is(purged('pc'), 'there', 'until the plan is old as well');
update scylla.task_plan set created = created - interval '10 days', finished = case name when 'p' then finished - interval '10 days' else finished end;
select is(purged('pa', 'pb', 'pc'), 'gone gone gone', 'and go with it');
select is(plan_row('p'), null, 'and it with them');
select scylla.create_queue('fleeting', retention => '0');
select scylla.purge() \g /dev/null
select isnt(plan_row('empty'), null, 'a plan without tasks stays, though there is a queue that forgets at once');
update scylla.task_plan set created = created - interval '10 days', finished = case name when 'empty' then finished - interval '10 days' else finished end;
select scylla.purge() \g /dev/null
select is(plan_row('empty'), null, 'and goes when scylla.retention is over');

select * from checks_name($$select scylla.create_plan($1)$$, 'name', false);
select * from checks_name($$select scylla.open_plan($1)$$, 'plan');
select * from checks_name($$select scylla.submit('q', '1', plan => $1)$$, 'plan', false);

-- ---- deduplication keys ----------------------------------------------------------------------------------------------

select is((select status::text from scylla.submit('q', '1', rn => 'k1', dedup_key => 'k')), 'ready', 'a key is free');
select is((select rn from scylla.submit('q', '2', rn => 'k2', dedup_key => 'k', on_duplicate => 'ignore')), 'k1',
          'while a task with it lives that task is returned');
select is(seen('k2'), null, 'and no other submitted');
select is((select rn from scylla.submit('q2', '2', rn => 'k3', dedup_key => 'k')), 'k3', 'in another queue it is another key');
select results_eq($$select * from scylla.submit_many('[{"queue": "q", "spec": 1, "rn": "k4", "dedup_key": "k"},
    {"queue": "q", "spec": 1, "rn": "k5", "dedup_key": "l"}, {"queue": "q", "spec": 1, "rn": "k6", "dedup_key": "l"},
    {"queue": "q", "spec": 1, "rn": "k7", "depends_on": ["k4"]}, {"queue": "q", "spec": 1, "rn": "k1", "dedup_key": "m"}]')$$,
    $$values ('k1', false), ('k5', true), ('k5', false), ('k7', true), ('k1', false)$$,
    'submit_many names the task that has the key');
select refuses($$select scylla.submit_many('[{"queue": "q", "spec": 1, "dedup_key": "k"}]', 'error')$$, '23505', 'dedup',
               'a live task of queue "q" already has the deduplication key "k"');
select refuses($$select scylla.submit('q', '1', rn => 'k5', dedup_key => 'k')$$, '23505', 'unique', 'task "k5" already exists');
select refuses($$select scylla.submit_many('[{"queue": "q", "spec": 1, "rn": "k5", "dedup_key": "k"}]', 'error')$$, '23505', 'unique',
               'task "k5" already exists');
select results_eq($$select * from scylla.submit_many('[{"queue": "q", "spec": 1, "rn": "k5", "dedup_key": "k"},
    {"queue": "q", "spec": 1, "rn": "k5", "dedup_key": "o"}, {"queue": "q", "spec": 1, "rn": "k20", "dedup_key": "o"},
    {"queue": "q", "spec": 1, "rn": "k21", "dedup_key": "o"}, {"queue": "q", "spec": 1, "rn": "k22", "dedup_key": "k"},
    {"queue": "q", "spec": 1, "rn": "k22", "dedup_key": "u"}, {"queue": "q", "spec": 1, "rn": "k23", "dedup_key": "u"},
    {"queue": "q", "spec": 1, "rn": "k22"}]')$$,
    $$values ('k5', false), ('k5', false), ('k20', true), ('k20', false), ('k1', false), ('k22', true), ('k22', false), ('k22', false)$$,
    'a name that is taken comes before a key, and whoever is not submitted takes neither');
select results_eq($$select * from scylla.submit_many('[{"queue": "q", "spec": 1, "rn": "k30", "dedup_key": "v", "depends_on": ["k5"]},
    {"queue": "q", "spec": 1, "rn": "k5", "dedup_key": "v"}]')$$,
    $$values ('k30', true), ('k5', false)$$, 'also where an earlier element has just taken the key');
select refuses($$select scylla.submit_many('[{"queue": "q", "spec": 1, "rn": "k31", "dedup_key": "w", "depends_on": ["k32"]},
    {"queue": "q", "spec": 1, "rn": "k32", "depends_on": ["k33"]}, {"queue": "q", "spec": 1, "rn": "k33", "dedup_key": "w"}]')$$, '22023', 'cycle',
    'tasks depend on each other in a cycle', '"k31" -> "k32" -> "k31"', 'a task that would stand for one of those that it waits for');
select finish('k1', '1');
select is(args('k7'), '[1]', 'and who depends on the element depends on that task');
select is((select rn from scylla.submit('q', '2', rn => 'k8', dedup_key => 'k')), 'k8', 'when it has ended the key is free');
select is((select rn from scylla.submit('q', '2', rn => 'k9', dedup_key => 'm')), 'k9', 'a key that came to nothing is free');
select finish('k8', null, how) , scylla.submit('q', '2', rn => 'k8 again', dedup_key => 'k') from unnest('{abort}'::text[]) how \g /dev/null
select is((scylla.submit('q', '2', rn => rn, dedup_key => 'n', depends_on => '{abort}')).status::text, 'aborted',
          'also when it was aborted at its birth') from unnest('{k10,k11}'::text[]) rn;
select * from checks_name($$select scylla.submit('q', '1', dedup_key => $1)$$, 'dedup_key', false);

-- ---- queues that are dropped -----------------------------------------------------------------------------------------

select scylla.submit('dropped', '1', rn => 'x1'), scylla.submit('dropped', '1', rn => 'x2', depends_on => '{x1}', dedup_key => 'x'),
       scylla.submit('kept', '1', rn => 'x3', depends_on => '{x2}') \g /dev/null
select scylla.submit('kept', '1', rn => 'x4', depends_on => '{x2}', on_dependency_failure => 'ignore'),
       scylla.submit('kept', '1', rn => 'x5', depends_on => '{x2}', on_dependency_failure => 'skip') \g /dev/null
select lives_ok($$select scylla.drop_queue('dropped', true)$$, 'a queue goes with its gates and keys');
select scylla.maintain() \g /dev/null
select is(array(select status::text from unnest('{x3,x4,x5}'::text[]) n, lateral scylla.get_task(n)), '{aborted,ready,cancelled}'::text[],
          'those who depend on its tasks go on as they say');
-- A result stays as long as a live task is to get it.
select scylla.submit('dropped', '1', rn => 'y1'), scylla.submit('kept', '1', rn => 'y2'),
       scylla.submit('kept', '1', rn => 'y3', depends_on => '{y1,y2}') \g /dev/null
select scylla.lease_task('y1', 'w'), scylla.complete('y1', 'w', '"kept"'), scylla.drop_queue('dropped', true), scylla.maintain() \g /dev/null
select is((select count(*) from scylla.task_spec where rn = 'y1'), 1::bigint, 'a result that is needed is left');
select id as y1 from scylla.task_spec where rn = 'y1' \gset
select is((scylla.submit('q', '1', rn => 'y1')).status, 'ready', 'its name is free');
select scylla.lease_task('y2', 'w'), scylla.complete('y2', 'w') \g /dev/null
select is((select args from scylla.lease_task('y3', 'w')), '["kept", null]', 'until it is got');
select scylla.complete('y3', 'w'), scylla.maintain() \g /dev/null
select is((select count(*) from scylla.task_spec where id = :y1), 0::bigint, 'a result of a dropped queue is removed when no task needs it any more');
select scylla.create_plan('left'), scylla.create_plan('alone') \g /dev/null
select scylla.submit('dropped', '1', plan => plan), scylla.open_plan(plan) from unnest('{left,alone}'::text[]) plan \g /dev/null
select scylla.submit('kept', '1', rn => 'stays', plan => 'left') \g /dev/null
select scylla.drop_queue('dropped', true), scylla.maintain();
select is(plan_row('left') || plan_row('alone'), '(running,0,1,0,0,0,0,0.00,t,f,)(cancelled,0,0,0,0,0,0,1.00,t,t,)',
          'and finishes the plans that have no other live task, which are no success');
select finish('stays');
select is((select status from scylla.plan where name = 'left'), 'cancelled', 'nor are those that finish later');
select scylla.create_plan('did'), scylla.create_plan('did not') \g /dev/null
select scylla.submit('dropped', '1', rn => plan, plan => plan), scylla.submit('kept', '1', rn => plan || ' kept', plan => plan),
       scylla.open_plan(plan) from unnest('{did,did not}'::text[]) plan \g /dev/null
select finish('did'), finish('did not', null, 'abort');
select scylla.drop_queue('dropped', true);
select finish('did kept'), finish('did not kept');
select results_eq($$select name, status from scylla.plan where name like 'did%' order by name$$, $$values ('did', 'completed'), ('did not', 'failed')$$,
                  'what had ended before its queue was dropped counts as it ended');

select scylla.maintain();
select is_empty('select * from scylla.check()', 'the invariants hold');
select * from finish();
rollback;
