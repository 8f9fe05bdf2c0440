-- Triggers: sets of signals that start tasks, plans and workflows. That nothing is lost and nothing done twice between sessions is in
-- specs/triggers.spec and t/triggers.pl. Numbers in brackets are sections of the specification of Maestro's behaviour.
begin;
\ir include/helpers.psql
select * from no_plan();
create role scylla_trigger_owner;
grant usage on schema scylla, test to scylla_trigger_owner;
grant execute on all functions in schema scylla to scylla_trigger_owner;

-- Sends a signal; returns its number.
create function send(name text, params jsonb = '{}') returns bigint language sql as $$ select scylla.send_signal(name, params) $$;
create function run() returns void language sql as $$ select scylla.maintain() $$;
-- What a trigger has started: the parameters of the signals, in the order of the tasks.
create function started(trigger text) returns text language sql as $$
    select coalesce(string_agg((select string_agg(a ->> 'name' || (a ->> 'params'), '+') from jsonb_array_elements(t.args) a), ' '
                               order by substr(t.rn, length(trigger) + 2)::bigint), 'nothing')
    from scylla.task t where t.rn ~ ('^' || trigger || '/\d+$')
$$;
create function waiting(trigger text) returns text language sql as $$
    select coalesce(string_agg(t.signal || (t.params::text), ' ' order by t.seq, t.input), 'nothing')
    from scylla.trigger_signal t where t.trigger = waiting.trigger
$$;
create function of_trigger(name text) returns scylla.trigger language sql as $$
    select t from scylla.trigger t where t.name = of_trigger.name
$$;
select scylla.create_queue('q') \g /dev/null

-- ---- one signal (7.3) -------------------------------------------------------------------------------------------------

select send('single', '{"n": 0}') \g /dev/null
select scylla.create_trigger('one', '[{"signal": "single", "match": {"n": {">=": 0}}}]', '{"submit": {"queue": "q", "spec": {"a": 1}, "priority": 5}}')
\g /dev/null
select send('single', '{"n": 1}'), send('single', '{"n": -1}'), send('other'), send('single', '{"n": 1}') \g /dev/null
select is(started('one'), 'nothing', 'the sender does nothing for triggers');
select run() \g /dev/null
select is(started('one'), 'single{"n": 1} single{"n": 1}', 'each signal that matches starts a task, from the creation on');
select run() \g /dev/null
select is(started('one'), 'single{"n": 1} single{"n": 1}', 'once');
select is((select string_agg(distinct format('%s %s %s %s', queue, spec, priority, status), ',') from scylla.task where rn ~ '^one/'),
          'q {"a": 1} 5 ready', 'the task is as the action says');
select is((select string_agg(substr(rn, 5), ' ' order by substr(rn, 5)::bigint) from scylla.task where rn ~ '^one/'),
          (select string_agg(seq::text, ' ' order by seq) from scylla.signal where name = 'single' and params = '{"n": 1}'),
          'its name has the number of the signal');
select is((select row(fired, skipped, waiting, failing, last_fired is not null, last_error)::text from of_trigger('one')), '(2,0,0,0,t,)',
          'the view counts');
select scylla.send_signal('single', '{"n": 9}', request_id => 'r'), scylla.send_signal('single', '{"n": 9}', request_id => 'r') \g /dev/null
select run() \g /dev/null
select is((of_trigger('one')).fired, 3::bigint, 'a signal with a request_id starts one task');

-- ---- sets (7.3) -------------------------------------------------------------------------------------------------------

select scylla.create_trigger('two', '[{"signal": "a", "join": ["k"]}, {"signal": "b", "join": ["id"]}]',
                             '{"submit": {"queue": "q", "spec": 1}}') \g /dev/null
-- Maestro's checkpoint loses a(1) here.
select send('a', '{"k": "x"}'), send('a', '{"k": "y"}'), send('b', '{"id": "y"}') \g /dev/null
select run() \g /dev/null
select is(started('two'), 'a{"k": "y"}+b{"id": "y"}', 'signals join on equal values');
select is(waiting('two'), 'a{"k": "x"}', 'others wait for their partners');
select send('b', '{"id": "x"}') \g /dev/null
select run() \g /dev/null
select is(started('two'), 'a{"k": "y"}+b{"id": "y"} a{"k": "x"}+b{"id": "x"}', 'and find them, whoever comes first');
select send('b', '{"id": 1, "n": 1}'), send('b', '{"id": 1.0, "n": 2}'), send('a', '{"k": "1"}'), send('a'), send('b', '{"id": null}') \g /dev/null
select send('a', '{"k": 1, "n": 3}'), send('a', '{"k": 1, "n": 4}'), send('a', '{"k": 1, "n": 5}') \g /dev/null
select run() \g /dev/null
select is((select string_agg(a.args::text, ' ') from (select jsonb_path_query_array(args, '$[*].params.n') as args from scylla.task
           where rn ~ '^two/' and args @@ '$[*].params.n > 0' order by substr(rn, 5)::bigint) a), '[3, 1] [4, 2]',
          'the oldest come first; numbers join by value');
select is(waiting('two'), 'a{"k": "1"} b{"id": null} a{"k": 1, "n": 5}',
          'a text is no number; a signal without the parameter joins nothing');
select is((select string_agg(input || join_key::text, ' ' order by seq) from scylla.trigger_signal where trigger = 'two'),
          '1["1"] 2[null] 1[1]', 'the view shows by what they join');
select is(scylla.clear_trigger('two', (select seq from scylla.trigger_signal where params = '{"k": "1"}')), 1::bigint, 'one may be removed');
select is(scylla.clear_trigger('two', 1), 0::bigint, 'if it is there');
select is(scylla.clear_trigger('two'), 2::bigint, 'or all');
select is(waiting('two'), 'nothing', 'they are gone');

-- A signal that matches several inputs is used once.
select scylla.create_trigger('pairs', '[{"signal": "p"}, {"signal": "p", "match": {"n": {">": 1}}}]', '{"submit": {"queue": "q", "spec": 1}}')
\g /dev/null
select send('p', '{"n": 2}') \g /dev/null
select run() \g /dev/null
select is(started('pairs'), 'nothing', 'a signal is no pair');
select is((of_trigger('pairs')).waiting, 1::bigint, 'it waits, and counts once');
select send('p', '{"n": 1}') \g /dev/null
select run() \g /dev/null
select is(started('pairs'), 'p{"n": 1}+p{"n": 2}', 'it is at the place where the set is complete');
select is(waiting('pairs'), 'nothing', 'and used at both');

-- ---- conditions (7.3) -------------------------------------------------------------------------------------------------

select scylla.create_trigger('if', '[{"signal": "v"}]', '{"submit": {"queue": "q", "spec": 1}}', '$[0].params.n > 1') \g /dev/null
select send('v', '{"n": 1}'), send('v', '{"n": 2}'), send('v') \g /dev/null
select run() \g /dev/null
select is(started('if'), 'v{"n": 2}', 'a set for which the condition is not true starts nothing');
select is((select row(fired, skipped, waiting, failing)::text from of_trigger('if')), '(1,2,0,0)', 'and is used up');
select scylla.create_trigger('bad condition', '[{"signal": "v2"}]', '{"submit": {"queue": "q", "spec": 1}}', '$[0].params.n') \g /dev/null
select send('v2', '{"n": 1}') \g /dev/null
select run() \g /dev/null
select is((select row(fired, failing, last_error)::text from of_trigger('bad condition')), '(0,1,"22038: single boolean result is expected")',
          'a condition that fails is recorded');

-- ---- plans -------------------------------------------------------------------------------------------------------------

select scylla.create_trigger('plans', '[{"signal": "go"}]', '{"plan": [{"rn": "first", "queue": "q", "spec": 1},
    {"queue": "q", "spec": 2, "depends_on": ["first"]}, {"queue": "q", "spec": 3, "wait_for": [{"signal": "never"}]}]}') \g /dev/null
select send('go', '{"x": 1}') \g /dev/null
select run() \g /dev/null
select is((select string_agg(format('%s %s %s %s', regexp_replace(rn, '\d+', 'N'), regexp_replace(plan, '\d+', 'N'), status,
                                    jsonb_path_query_array(args, '$[*].params')), ', ' order by rn)
           from scylla.task where plan ~ '^plans/'),
          'plans/N/2 plans/N waiting [], plans/N/3 plans/N waiting [{"x": 1}], plans/N/first plans/N ready [{"x": 1}]',
          'a plan is created, and opened; its first tasks have the signals');
select is((select row(status, spec)::text from scylla.plan where name ~ '^plans/'), '(running,"{""trigger"": ""plans""}")', 'its spec names the trigger');

-- ---- workflows ---------------------------------------------------------------------------------------------------------

create function runs(workflow text) returns text language sql as $$
    select coalesce(string_agg(format('%s %s %s', r.version, r.owner, r.params ->> 'x'), ', ' order by r.instance), 'none')
    from scylla.workflow_run r where r.workflow = runs.workflow
$$;
create function make(id text) returns int language sql as $$
    select scylla.create_workflow(jsonb_build_object('properties', '{"owner": "ada", "run_strategy": "parallel"}'::jsonb, 'workflow',
        jsonb_build_object('id', id, 'params', '{"x": {"type": "STRING", "value": "none"}}'::jsonb, 'steps', '[{"step": {"id": "s", "type": "NoOp"}}]'::jsonb)))
$$;
select make('flow') \g /dev/null
select scylla.create_trigger('flows', '[{"signal": "left", "join": ["k"]}, {"signal": "right", "join": ["k"]}]',
    '{"workflow": "flow", "params": {"x": {"type": "STRING", "expression": "params.getFromSignal(''left'', ''n'') + params.getFromSignal(''right'', ''n'')"}}}',
    '$[0].params.n != "no"') \g /dev/null
select is(runs('flow'), 'none', 'a workflow: nothing is started when the trigger is created');
select is((of_trigger('flows')).action - 'params', '{"workflow": "flow"}', 'the view shows the action');
select send('left', '{"k": 1, "n": "a"}'), send('left', '{"k": 2, "n": "c"}'), send('right', '{"k": 1, "n": "b"}'), send('left', '{"k": 3, "n": "no"}'),
       send('right', '{"k": 3, "n": "d"}') \g /dev/null
select run() \g /dev/null
select is(runs('flow'), format('1 %s ab', current_user), 'a set starts a run, whose parameters can read the signals');
select run() \g /dev/null
select is(runs('flow'), format('1 %s ab', current_user), 'once');
select is((select row(fired, skipped, waiting, failing)::text from of_trigger('flows')), '(1,1,1,0)', 'or is skipped by the condition');
select is((select initiator #- '{signals,left,seq}' #- '{signals,right,seq}' from scylla.workflow_run where workflow = 'flow'),
          '{"type": "SIGNAL", "trigger": "flows", "signals": {"left": {"params": {"k": 1, "n": "a"}}, "right": {"params": {"k": 1, "n": "b"}}}}',
          'the initiator has the signals');
select make('flow') \g /dev/null
select scylla.create_trigger('first version', '[{"signal": "old"}]', '{"workflow": "flow", "version": 1}') \g /dev/null
select scylla.create_trigger('defaults', '[{"signal": "new"}]', '{"workflow": "flow", "version": null, "params": null}') \g /dev/null
select send('old'), send('new') \g /dev/null
select run() \g /dev/null
select is((select string_agg(initiator ->> 'trigger' || ' ' || version, ', ' order by initiator ->> 'trigger') from scylla.workflow_run where workflow = 'flow'),
          'defaults 2, first version 1, flows 1', 'of the version, by default the active one; the triggers stay when a version comes');
select send('new') \g /dev/null
select scylla.deactivate_workflow('flow') \g /dev/null
select run() \g /dev/null
select is((select row(fired, failing, left(last_error, 6))::text from of_trigger('defaults')), '(1,1,55000:)', 'a run that cannot be started is kept');
select scylla.activate_workflow('flow', '2') \g /dev/null
select scylla.resume_trigger('defaults') \g /dev/null
select run() \g /dev/null
select is((select row(fired, failing)::text from of_trigger('defaults')), '(2,0)', 'and tried again');
select is((select count(*) from scylla.check() c (id, what) where what ~ 'trigger'), 0::bigint, 'check() finds nothing');
select is(raised(format('select scylla.create_trigger(''x'', ''[{"signal": "s"}]'', %L)', a)) like '22023 scylla.task/argument%', true, 'action: ' || a)
from unnest(array['{"workflow": 1}', '{"workflow": null}', '{"workflow": "flow", "params": 1}', '{"workflow": "flow", "params": []}', '{"workflow": "flow", "version": {}}',
    '{"workflow": "flow", "trigger": {}}', '{"workflow": "flow", "what": 1}', '{"workflow": "flow", "plan": []}']) a;
select is(left(raised(format('select scylla.create_trigger(''x'', ''[{"signal": "s"}]'', %L)', a)), 5), e, 'action: ' || a)
from (values ('{"workflow": "no flow"}', '42704'), ('{"workflow": ""}', '42704'), ('{"workflow": "flow", "version": 9}', '42704')) v (a, e);
set local role scylla_trigger_owner;
select is(left(raised($$ select scylla.create_trigger('x', '[{"signal": "s"}]', '{"workflow": "flow"}') $$), 5), '42501', 'the privilege "run" is needed');
reset role;
select scylla.grant_workflow('flow', 'scylla_trigger_owner', 'run') \g /dev/null
set local role scylla_trigger_owner;
select scylla.create_trigger('granted', '[{"signal": "granted"}]', '{"workflow": "flow"}') \g /dev/null
reset role;
select send('granted') \g /dev/null
select run() \g /dev/null
select is((of_trigger('granted')).fired, 1::bigint, 'and suffices');
select scylla.revoke_workflow('flow', 'scylla_trigger_owner', 'run') \g /dev/null
select send('granted') \g /dev/null
select run() \g /dev/null
select is((select row(fired, failing, left(last_error, 6))::text from of_trigger('granted')), '(1,1,42501:)', 'as long as it lasts');
select scylla.drop_trigger('flows') \g /dev/null
select is((of_trigger('flows')).name, null, 'drop_trigger removes such a trigger');

-- ---- pause, drop -------------------------------------------------------------------------------------------------------

select scylla.pause_trigger('one') \g /dev/null
select send('single', '{"n": 5}') \g /dev/null
select run() \g /dev/null
select is((select row(paused, fired, waiting)::text from of_trigger('one')), '(t,3,1)', 'a paused trigger collects signals');
select scylla.resume_trigger('one') \g /dev/null
select run() \g /dev/null
select is((select row(paused, fired, waiting)::text from of_trigger('one')), '(f,4,0)', 'and goes on with them');

-- A bound on catching up.
select scylla.create_trigger('bound', '[{"signal": "late", "join": ["k"]}, {"signal": "later", "join": ["k"]}]', '{"submit": {"queue": "q", "spec": 1}}', grace => '10 min') \g /dev/null
select scylla.pause_trigger('bound') \g /dev/null
select send('late', jsonb_build_object('k', k)), send('later', jsonb_build_object('k', k)) from generate_series(1, 4) k \g /dev/null
update scylla.signal_sent set sent = sent - interval '1 hour' where name ~ '^late' and params ->> 'k' in ('1', '2') or name = 'late' and params ->> 'k' = '3';
select scylla.resume_trigger('bound') \g /dev/null
select run() \g /dev/null
select is(started('bound'), 'late{"k": 3}+later{"k": 3} late{"k": 4}+later{"k": 4}', 'after a pause, sets whose last signal is older than grace start nothing');
select is((select row(grace, fired, skipped, missed, waiting, failing)::text from of_trigger('bound')), '(00:10:00,2,0,2,0,0)', '... they are used up, and counted as missed');
select is((select missed from scylla.stat_trigger where trigger = 'bound'), 2::bigint, '... in stat_trigger, too');
select alike(scylla.metrics(), E'%\npgscylla_trigger_missed_total{trigger="bound"} 2\n%', '... and in metrics()');
select scylla.create_trigger('failing', '[{"signal": "late"}]', '{"submit": {"queue": "full", "spec": 1}}', grace => '10 min') \g /dev/null
select scylla.create_queue('full', max_depth => 1), scylla.submit('full', '1') \g /dev/null
select send('late', '{"k": 9}') \g /dev/null
select run() \g /dev/null
select is((select row(missed, failing)::text from of_trigger('failing')), '(0,1)', 'a set for which the action fails is tried again');
update scylla.signal_sent set sent = sent - interval '1 hour' where name = 'late';
select scylla.resume_trigger('failing') \g /dev/null
select run() \g /dev/null
select is((select row(missed, failing)::text from of_trigger('failing')), '(1,0)', '... until it is older than grace');
select refuses_argument($$select scylla.create_trigger('x', '[{"signal": "late"}]', '{"submit": {"queue": "q", "spec": 1}}', grace => '-1 s')$$, 'grace', '-00:00:01', 'It must be between 0 and 365 days.');
select scylla.drop_trigger('failing'), scylla.drop_trigger('bound') \g /dev/null

select send('a', '{"k": 7}') \g /dev/null
select run() \g /dev/null
select scylla.drop_trigger('two') \g /dev/null
select is((of_trigger('two')).name, null, 'a trigger is dropped');
select is((select count(*) from scylla.signal_arrival a where not exists (select from scylla.signal_trigger t where t.id = a.trigger)), 0::bigint,
          'with what waited');
select send('a', '{"k": 7}') \g /dev/null
select is((select count(*) from scylla.signal_unseen), 0::bigint, 'a name without triggers costs no row');

-- ---- failures ----------------------------------------------------------------------------------------------------------

set local role scylla_trigger_owner;
select scylla.create_queue('theirs') \g /dev/null
select scylla.create_trigger('theirs', '[{"signal": "t"}]', '{"submit": {"queue": "theirs", "spec": 1}}') \g /dev/null
reset role;
select scylla.create_trigger('ours', '[{"signal": "t"}]', '{"submit": {"queue": "q", "spec": 1}}') \g /dev/null
select send('t', '{"n": 1}') \g /dev/null
select run() \g /dev/null
select is(started('theirs') || ' ' || started('ours'), 't{"n": 1} t{"n": 1}', 'every trigger gets the signal');
select scylla.set_queue_owner('theirs', current_user::text) \g /dev/null
select send('t', '{"n": 2}') \g /dev/null
select run() \g /dev/null
select is((of_trigger('ours')).fired, 2::bigint, 'an action that fails stops no other trigger');
select is((select row(trigger, array_length(seqs, 1), attempts, error)::text from scylla.trigger_failure where trigger = 'theirs'),
          '(theirs,1,1,"42501: permission denied for queue ""theirs""")', 'it is carried out with the rights that its creator has now; the failure shows');
select is((select count(*) from scylla.task where queue = 'theirs'), 1::bigint, 'nothing of it stays');
select run() \g /dev/null
select is((select attempts from scylla.trigger_failure where trigger = 'theirs'), 1, 'it is not tried at once');
update scylla.signal_trigger_failure set retry_at = now() - interval '1 s';
select run() \g /dev/null
select is((select row(attempts, retry_at > now() + interval '1.5 s')::text from scylla.trigger_failure where trigger = 'theirs'), '(2,t)', 'but later, and later');
select scylla.grant_queue('theirs', 'scylla_trigger_owner', 'submit') \g /dev/null
select scylla.resume_trigger('theirs') \g /dev/null
select run() \g /dev/null
select is(started('theirs'), 't{"n": 1} t{"n": 2}', 'resume_trigger tries at once');
select is((select row(fired, failing, last_error is null)::text from of_trigger('theirs')), '(2,0,f)', 'and the failure is gone');
select scylla.set_signal_owner('t', current_user::text) \g /dev/null
select send('t', '{"n": 3}') \g /dev/null
select run() \g /dev/null
select is((select row(fired, waiting, last_error)::text from of_trigger('theirs')),
          '(2,0,"role ""scylla_trigger_owner"" does not have the privilege ""wait"" on signal ""t""")', 'a trigger does not see what its owner may not see');
select scylla.grant_signal('t', 'scylla_trigger_owner', 'wait') \g /dev/null
update scylla.signal_trigger set owner = 'nobody there' where name = 'theirs';
select send('t', '{"n": 4}') \g /dev/null
select run() \g /dev/null
select is((of_trigger('ours')).fired, 4::bigint, 'a trigger whose role is gone stops no other');
update scylla.signal_trigger set owner = 'scylla_trigger_owner' where name = 'theirs';

-- ---- arguments and rights ----------------------------------------------------------------------------------------------

select signature_is('create_trigger', 'name text, signals jsonb, action jsonb, condition jsonpath DEFAULT NULL::jsonpath, grace interval DEFAULT NULL::interval', 'void');
select signature_is('clear_trigger', 'name text, seq bigint DEFAULT NULL::bigint', 'bigint');
select refuses($$ select scylla.create_trigger('one', '[{"signal": "t"}]', '{"submit": {"queue": "q", "spec": 1}}') $$, '42710', 'unique',
               'trigger "one" already exists', table_ => 'trigger');
select refuses(format('select scylla.%s(''nothing'')', f), '42704', 'exists', 'trigger "nothing" does not exist', table_ => 'trigger')
from unnest('{drop_trigger,pause_trigger,resume_trigger,clear_trigger}'::text[]) f;
select is(raised(format('select scylla.create_trigger(''x'', %L, ''{"submit": {"queue": "q", "spec": 1}}'')', s)) like '22023 scylla.task/argument%', true,
          'signals: ' || s)
from unnest(array['{}', '[]', '[1]', '[{}]', '[{"signal": "s", "what": 1}]', '[{"signal": 1}]', '[{"signal": "s", "match": 1}]',
    '[{"signal": "s", "match": {"a": [1]}}]', '[{"signal": "s", "join": "k"}]', '[{"signal": "s", "join": [1]}]',
    '[{"signal": "s", "join": ["k"]}, {"signal": "s"}]', '["s"]',
    (select jsonb_agg('{"signal": "s"}'::jsonb)::text from generate_series(1, 9))]) s;
select is(raised(format('select scylla.create_trigger(''x'', ''[{"signal": "s"}]'', %L)', a)) like '22023 scylla.task/argument%', true, 'action: ' || a)
from unnest(array['{}', '[]', '1', '{"submit": 1}', '{"submit": []}', '{"plan": {}}', '{"plan": []}', '{"plan": [1]}', '{"run": {}}',
    '{"submit": {"queue": "q", "spec": 1}, "plan": []}', '{"submit": {"queue": "q", "spec": 1, "rn": "x"}}',
    '{"submit": {"queue": "q", "spec": 1, "plan": "x"}}', '{"submit": {"queue": "q", "what": 1}}', '{"submit": {}}']) a;
select is(raised($$ select scylla.create_trigger('x', '[{"signal": "s"}]', '{"plan": [{"rn": "a", "queue": "q", "spec": 1, "depends_on": ["b"]},
    {"rn": "b", "queue": "q", "spec": 1, "depends_on": ["a"]}]}') $$) like '22023 scylla.task/cycle%', true, 'action: a plan with a cycle');
select refuses_argument(format('select scylla.create_trigger(%L, ''[{"signal": "s"}]'', ''{"submit": {"queue": "q", "spec": 1}}'')', n), 'name',
                        case when n is null then 'null' else '"' || n || '"' end, 'It must have 1 to 150 characters.') from unnest(array['', null]) n;
select refuses($$ select scylla.submit('q', '1', wait_for => '[{"signal": "t", "seq": 1}]') $$, 'P0002', 'sent', 'signal "t" has no number 1',
               'It was not sent, or has been removed after scylla.signal_retention.', table_ => 'signal');
select is((select args -> 0 -> 'params' from scylla.submit('q', '1', wait_for =>
           (select jsonb_build_array(jsonb_build_object('signal', 't', 'seq', min(seq))) from scylla.signal where name = 't'))), '{"n": 1}',
          'wait_for may name a signal that was sent');
select is(raised(format('select scylla.submit(''q'', ''1'', wait_for => %L)', w)) like '22023%', true, 'wait_for: ' || w)
from unnest(array['[{"signal": "t", "seq": 0}]', '[{"signal": "t", "seq": 1.5}]', '[{"signal": "t", "seq": "1"}]', '[{"signal": "t", "seq": 1e300}]',
                  '[{"signal": "t", "seq": 1, "match": {}}]', '[{"callback": "t", "seq": 1}]']) w;
create function as_owner(statement text) returns text security definer language plpgsql as $$ begin return raised(statement); end $$;
alter function as_owner owner to scylla_trigger_owner;
select is(as_owner($$ select scylla.drop_trigger('one') $$) like '42704 %', true, 'a trigger of others does not exist');
select is(as_owner($$ select scylla.create_trigger('x', '[{"signal": "single"}]', '{"submit": {"queue": "theirs", "spec": 1}}') $$) like '42501 scylla.signal%', true,
          'a trigger needs the right to wait for its signals');
select is(as_owner($$ select scylla.create_trigger('x', '[{"signal": "t"}]', '{"submit": {"queue": "q", "spec": 1}}') $$) like '42501 scylla.queue%', true,
          'and to do what it does');

-- ---- retention ---------------------------------------------------------------------------------------------------------

select send('v2', '{"n": 5}') \g /dev/null
select scylla.create_trigger('never', '[{"signal": "h"}, {"signal": "other half"}]', '{"submit": {"queue": "q", "spec": 1}}') \g /dev/null
select send('h') \g /dev/null
select run() \g /dev/null
select is((select count(*) from scylla.signal_arrival), 1::bigint, 'half a set waits');
update scylla.signal_sent set sent = now() - interval '8 days';
select send('a later one') \g /dev/null
select run() \g /dev/null
select is((select count(*) from scylla.signal_arrival), 0::bigint, 'as long as its signals are kept');
select is((select count(*) from scylla.signal_trigger_failure), 0::bigint, 'and so does a set whose action fails');
select all_is_sound();
select * from finish();
rollback;
