-- create_queue, alter_queue, pause_queue, resume_queue, drop_queue, the view queue_settings; register_worker.
begin;
\ir include/helpers.psql
select * from no_plan();

select signature_is('create_queue',
    'queue text, default_timeout interval DEFAULT NULL::interval, retention interval DEFAULT NULL::interval, '
    'aging double precision DEFAULT 0, max_attempts integer DEFAULT NULL::integer, retry jsonb DEFAULT NULL::jsonb, '
    'retention_completed interval DEFAULT NULL::interval, retention_aborted interval DEFAULT NULL::interval, '
    'retention_cancelled interval DEFAULT NULL::interval, paused boolean DEFAULT false, '
    'max_running integer DEFAULT NULL::integer, events boolean DEFAULT false, notify boolean DEFAULT false, '
    'max_running_per_key integer DEFAULT NULL::integer, '
    'max_depth integer DEFAULT NULL::integer, on_full text DEFAULT ''error''::text, '
    'key_weights jsonb DEFAULT NULL::jsonb, rate jsonb DEFAULT NULL::jsonb, '
    'rate_per_key jsonb DEFAULT NULL::jsonb, handler text DEFAULT NULL::text, '
    'run_timeout interval DEFAULT NULL::interval', 'void');
select signature_is('alter_queue', 'queue text, settings jsonb', 'void');
select signature_is('pause_queue', 'queue text', 'void');
select signature_is('resume_queue', 'queue text', 'void');
select signature_is('drop_queue', 'queue text, force boolean DEFAULT false', 'void');
select signature_is('register_worker', '', 'text');

do $$ begin
    perform scylla.create_queue('plain');
    perform scylla.create_queue('settings', '1 min', '2 days');
    perform scylla.create_queue(repeat('€', 200), '1 mon', '36500 days');
end $$;
select results_eq($$select name, default_timeout, retention from scylla.queue order by id$$,
                  $$values ('plain', null::interval, null::interval), ('settings', '1 min', '2 days'),
                  (repeat('€', 200), '1 mon', '36500 days')$$,
                  'queues keep their settings as given');
select ok(bool_and(created between now() and clock_timestamp()), 'and know when they were made') from scylla.queue;

select refuses($$select scylla.create_queue('plain')$$, '42710', 'unique', 'queue "plain" already exists',
               table_ => 'queue');
select refuses($$select scylla.create_queue('settings', '1 min', '2 days')$$, '42710', 'unique',
               'queue "settings" already exists', table_ => 'queue');
do $$ begin perform scylla.submit('by use', '{}'); end $$;
select refuses($$select scylla.create_queue('by use')$$, '42710', 'unique', 'queue "by use" already exists',
               table_ => 'queue',
               description => 'a queue that came with its first task exists');
select lives_ok($$select scylla.create_queue('Plain')$$, 'names are compared exactly');

select * from checks_name('select scylla.create_queue($1)', 'queue', blank => false);
create function queue_with(default_timeout interval = null, retention interval = null) returns void language sql as $$
    select scylla.create_queue('made up ' || nextval('scylla.task_id_seq'), default_timeout, retention);
$$;
select * from checks_timeout('select queue_with($1)', 'default_timeout');
select refuses_argument(format('select queue_with(retention => %L)', v), 'retention', v,
                        'It must be between 0 and 36500 days.')
from unnest(array['-00:00:00.000001', '-1 days', '36501 days', '36500 days 00:00:00.000001', '178000000 years']) v;
select lives_ok(format('select queue_with(retention => %L)', v), 'retention may be ' || v)
from unnest(array['0', '00:00:00.000001', '1 mon -30 days', '36500 days']) v;
select refuses_argument(format('select queue_with(retention => %L)', v), 'retention', v,
                        'It must be between 0 and 36500 days.')
from unnest(array['infinity', '-infinity']) v where current_setting('server_version_num')::int >= 170000;

select refuses_argument(format('select scylla.create_queue(''ageing'', aging => %s)', v), 'aging', shown,
                        'It must be between 0 and 1000 points per second.')
from (values ('-0.01', '-0.01'), ('1000.01', '1000.01'), ($$'NaN'$$, 'NaN'), ($$'Infinity'$$, 'Infinity'),
             ($$'-Infinity'$$, '-Infinity')) a (v, shown);
do $$ begin perform scylla.create_queue('aging ' || v, aging => v) from unnest(array[0, 0.25, 1000]::float8[]) v; end $$;
select results_eq($$select name, aging from scylla.queue where name like 'aging %' or name = 'plain' order by name$$,
                  $$values ('aging 0', 0::float8), ('aging 0.25', 0.25), ('aging 1000', 1000), ('plain', 0)$$,
                  'aging is kept; without it there is none');

-- ---- all settings --------------------------------------------------------------------------------------------------

-- What the view shows of a queue, without its name and age, and what is pending.
create function settings_of(name text) returns jsonb language sql as $$
    select to_jsonb(s) - array['queue', 'created', 'pending'] from scylla.queue_settings s where s.queue = name;
$$;
create function defaults() returns jsonb language sql as $$
    select '{"default_timeout": null, "retention": null, "aging": 0, "max_attempts": null, "retry": null,
             "retention_completed": null, "retention_aborted": null, "retention_cancelled": null,
             "paused": false, "max_running": null, "events": false, "notify": false,
             "max_running_per_key": null, "max_depth": null, "on_full": "error", "key_weights": null, "rate": null,
             "rate_per_key": null, "handler": null, "run_timeout": null}'::jsonb;
$$;
create function handle(t scylla.task) returns jsonb language sql as 'select null::jsonb';
create function all_set() returns jsonb language sql as $$
    select '{"default_timeout": "00:01:00", "retention": "2 days", "aging": 0.5, "max_attempts": 3,
             "retry": {"max": "1 min", "factor": 3, "jitter": 0.5, "initial": "2 s"},
             "retention_completed": "00:00:00", "retention_aborted": "1 mon", "retention_cancelled": "1 day",
             "paused": true, "max_running": 7, "events": true, "notify": true,
             "max_running_per_key": 5, "max_depth": 8, "on_full": "shed", "key_weights": {"*": 2, "": 7, "acme": 1000},
             "rate": {"per": "2 s", "burst": 3, "tasks": 10}, "rate_per_key": {"per": "1 min", "tasks": 5},
             "handler": "test.handle", "run_timeout": "01:00:00"}'::jsonb;
$$;
do $$ begin
    perform scylla.create_queue('all set', '1 min', '2 days', 0.5, 3,
        '{"initial": "2 s", "factor": 3, "max": "1 min", "jitter": 0.5}', '0', '1 mon', '1 day', true, 7, true, true, 5, 8, 'shed',
        '{"*": 2, "": 7, "acme": 1000}', '{"tasks": 10, "per": "2 s", "burst": 3}', '{"tasks": 5, "per": "1 min"}', 'handle', '1 h');
end $$;
select is(settings_of('all set'), all_set(), 'create_queue sets everything');
select is(settings_of('plain'), defaults(), 'without arguments everything is default');
select is(settings_of('by use'), defaults(), 'as in a queue that came with its first task');
select set_eq($$select jsonb_object_keys(defaults())$$,
              $$select a from pg_proc, unnest(proargnames) a
                where pronamespace = 'scylla'::regnamespace and proname = 'create_queue' and a <> 'queue'$$,
              'the view shows every argument of create_queue, by its name');

-- Each setting can be set alone and reset alone.
do $$ begin perform scylla.create_queue('altered'); end $$;
create function altered(settings jsonb) returns jsonb language plpgsql as $$
begin
    perform scylla.alter_queue('altered', settings);
    return settings_of('altered');
end $$;
create temp table alteration as
select key, altered(jsonb_build_object(key, value)) = defaults() || jsonb_build_object(key, value) as set_alone,
       altered(jsonb_build_object(key, null)) = defaults() as reset
from jsonb_each(all_set());
select ok(set_alone and reset, 'alter_queue sets ' || key || ' and nothing else, and null resets it') from alteration;
select is(altered(all_set()), all_set(), 'several at once');
select is(altered('{}'), all_set(), 'none leaves everything');
select is(altered('{"aging": 1, "paused": null}'), all_set() || '{"aging": 1, "paused": false}', 'some of them');
select is(altered((select jsonb_object_agg(k, null) from jsonb_object_keys(defaults()) k)), defaults(), 'reset all');
select is(settings_of('all set'), all_set(), 'other queues keep theirs');

select refuses(format('select scylla.%s', call), '42704', 'exists', 'queue "nowhere" does not exist',
               table_ => 'queue')
from unnest(array[$$alter_queue('nowhere', '{}')$$, $$pause_queue('nowhere')$$, $$resume_queue('nowhere')$$,
                  $$drop_queue('nowhere')$$, $$drop_queue('nowhere', true)$$]) call;
select c.* from unnest(array[$$alter_queue($1, '{}')$$, 'pause_queue($1)', 'resume_queue($1)', 'drop_queue($1)']) call,
              checks_name('select scylla.' || call, 'queue') c;

-- A bad value is refused the same way by both calls, and changes nothing.
create temp table bad (argument text, sql text, json jsonb, shown text, rule text);
insert into bad values
    ('default_timeout', $$'0'$$, '"0 s"', '00:00:00', 'It must be more than 0 and at most 365 days.'),
    ('retention_completed', $$'-1 s'$$, null, '-00:00:01', 'It must be between 0 and 36500 days.'),
    ('retention_aborted', $$'36501 days'$$, '"36501 days"', '36501 days', 'It must be between 0 and 36500 days.'),
    ('retention_cancelled', $$'-1 day'$$, null, '-1 days', 'It must be between 0 and 36500 days.'),
    ('aging', '1001', '1001', '1001', 'It must be between 0 and 1000 points per second.'),
    ('max_attempts', '0', '0', '0', 'It must be at least 1.'),
    ('max_running', '0', '0', '0', 'It must be at least 1.'),
    ('max_running', '-1', '-1', '-1', 'It must be at least 1.'),
    ('max_running_per_key', '0', '0', '0', 'It must be at least 1.'),
    ('max_depth', '0', '0', '0', 'It must be at least 1.'),
    ('rate', $$'5'$$, '5', '5', 'It must be an object with "tasks", and perhaps "per" and "burst".'),
    ('rate', $$'{}'$$, '{}', '{}', 'It must have "tasks", and may have "per" and "burst".'),
    ('rate', $$'{"tasks": 1, "colour": 1}'$$, '{"tasks": 1, "colour": 1}', '"colour"', 'It may have "tasks", "per" and "burst".'),
    ('rate', $$'{"tasks": 1000001}'$$, '{"tasks": 1000001}', '{"tasks": 1000001}',
     'It must be at most a million tasks per second, and slow enough for its burst to come in ten years.'),
    ('rate', $$'{"per": "1 day", "burst": 4000, "tasks": 1}'$$, '{"per": "1 day", "burst": 4000, "tasks": 1}',
     '{"per": "1 day", "burst": 4000, "tasks": 1}',
     'It must be at most a million tasks per second, and slow enough for its burst to come in ten years.'),
    ('rate_per_key', $$'5'$$, '5', '5', 'It must be an object with "tasks", and perhaps "per" and "burst".'),
    ('rate_per_key', $$'[]'$$, '[]', '[]', 'It must be an object with "tasks", and perhaps "per" and "burst".'),
    ('rate_per_key', $$'null'$$, null, 'null', 'It must be an object with "tasks", and perhaps "per" and "burst".'),
    ('rate_per_key', $$'{}'$$, '{}', '{}', 'It must have "tasks", and may have "per" and "burst".'),
    ('rate_per_key', $$'{"tasks": 1, "acme": 1}'$$, '{"tasks": 1, "acme": 1}', '"acme"', 'It may have "tasks", "per" and "burst".'),
    ('rate_per_key', $$'{"tasks": 1000001}'$$, '{"tasks": 1000001}', '{"tasks": 1000001}',
     'It must be at most a million tasks per second, and slow enough for its burst to come in ten years.'),
    ('on_full', $$'drop'$$, '"drop"', '"drop"', 'It must be "error" or "shed".'),
    ('key_weights', $$'5'$$, '5', '5', 'It must be an object.'),
    ('key_weights', $$'["k"]'$$, '["k"]', '["k"]', 'It must be an object.'),
    ('key_weights', $$'{"k": 0}'$$, '{"k": 0}', '0', 'It must be between 1 and 1000.'),
    ('key_weights', $$'{"k": 1001}'$$, '{"k": 1001}', '1001', 'It must be between 1 and 1000.'),
    ('key_weights', $$'{"k": 0.5}'$$, '{"k": 0.5}', '0.5', 'It must be a whole number.'),
    ('key_weights', $$'{"k": null}'$$, '{"k": null}', 'null', 'It must be a whole number.'),
    ('key_weights', format('%L', jsonb_build_object(repeat('x', 201), 1)), jsonb_build_object(repeat('x', 201), 1),
     '"' || repeat('x', 60) || '..."', 'It must have 1 to 200 characters.'),
    ('retry', $$'5'$$, '5', '5', 'It must be an object.'),
    ('retry', $$'[]'$$, '[]', '[]', 'It must be an object.'),
    ('retry', $$'null'$$, null, 'null', 'It must be an object.'),
    ('retry', $$'{"colour": 1}'$$, '{"colour": 1}', '"colour"',
     'It may have "initial", "factor", "max" and "jitter".'),
    ('initial', null, '{"initial": "-1 s"}', '"-1 s"', 'It must be a number of seconds, or numbers with units, the largest first, as "90", "1.5 hours", "1 day 2 hours" or "PT30M".'),
    ('initial', null, '{"initial": "1 minute 1 hour"}', '"1 minute 1 hour"', 'It must be a number of seconds, or numbers with units, the largest first, as "90", "1.5 hours", "1 day 2 hours" or "PT30M".'),
    ('initial', null, '{"initial": 5}', '5', 'It must be a text.'),
    ('initial', null, '{"initial": "soon"}', '"soon"', 'It must be a number of seconds, or numbers with units, the largest first, as "90", "1.5 hours", "1 day 2 hours" or "PT30M".'),
    ('max', null, '{"max": "366 days"}', '366 days', 'It must be between 0 and 365 days.'),
    ('factor', null, '{"factor": 0.99}', '0.99', 'It must be between 1 and 1000.'),
    ('factor', null, '{"factor": 1001}', '1001', 'It must be between 1 and 1000.'),
    ('factor', null, '{"factor": "2"}', '"2"', 'It must be a number.'),
    ('jitter', null, '{"jitter": -0.1}', '-0.1', 'It must be between 0 and 1.'),
    ('jitter', null, '{"jitter": 1.1}', '1.1', 'It must be between 0 and 1.');
select refuses_argument(
           format('select scylla.create_queue(''bad'', %s => %s)',
                  case when sql is null then 'retry' else argument end, coalesce(sql, quote_literal(json))),
           argument, shown, rule)
from bad;
select refuses_argument(
           format('select scylla.alter_queue(''altered'', %L)',
                  jsonb_build_object(case when sql is null then 'retry' else argument end, json)),
           argument, shown, rule)
from bad where json is not null;
select refuses_argument(format('select scylla.alter_queue(''altered'', %L)', json), argument, shown, rule)
from (values ('5', 'settings', '5', 'It must be an object.'), ('[]', 'settings', '[]', 'It must be an object.'),
             (null, 'settings', 'null', 'It must be an object.'),
             ('{"colour": 1}', 'settings', '"colour"', 'There is no such setting of a queue.'),
             ('{"queue": "x"}', 'settings', '"queue"', 'There is no such setting of a queue.'),
             ('{"retention": "1,500 seconds"}', 'retention', '"1,500 seconds"', 'It must be a number of seconds, or numbers with units, the largest first, as "90", "1.5 hours", "1 day 2 hours" or "PT30M".'),
             ('{"retention_completed": "-1 s"}', 'retention_completed', '"-1 s"', 'It must be a number of seconds, or numbers with units, the largest first, as "90", "1.5 hours", "1 day 2 hours" or "PT30M".'),
             ('{"retention": "for ever"}', 'retention', '"for ever"', 'It must be a number of seconds, or numbers with units, the largest first, as "90", "1.5 hours", "1 day 2 hours" or "PT30M".'),
             ('{"retention": 5}', 'retention', '5', 'It must be a text.'),
             ('{"aging": "5"}', 'aging', '"5"', 'It must be a number.'),
             ('{"max_attempts": 1.5}', 'max_attempts', '1.5', 'It must be a whole number.'),
             ('{"max_attempts": "1"}', 'max_attempts', '"1"', 'It must be a whole number.'),
             ('{"max_running": 0.5}', 'max_running', '0.5', 'It must be a whole number.'),
             ('{"max_running_per_key": "1"}', 'max_running_per_key', '"1"', 'It must be a whole number.'),
             ('{"max_depth": 0.5}', 'max_depth', '0.5', 'It must be a whole number.'),
             ('{"rate": {"tasks": 0}}', 'tasks', '0', 'It must be at least 1.'),
             ('{"rate": {"tasks": 1, "burst": 0}}', 'burst', '0', 'It must be at least 1.'),
             ('{"rate": {"tasks": 1, "per": "0 s"}}', 'per', '00:00:00', 'It must be more than 0 and at most 365 days.'),
             ('{"rate": {"tasks": "1"}}', 'tasks', '"1"', 'It must be a whole number.'),
             ('{"rate_per_key": {"tasks": -1}}', 'tasks', '-1', 'It must be at least 1.'),
             ('{"rate_per_key": {"tasks": 1, "per": 5}}', 'per', '5', 'It must be a text.'),
             ('{"on_full": 1}', 'on_full', '1', 'It must be a text.'),
             ('{"paused": 1}', 'paused', '1', 'It must be true or false.'),
             ('{"aging": 5, "paused": "no"}', 'paused', '"no"', 'It must be true or false.'))
     v (json, argument, shown, rule);
do $$
declare
    a text;
begin
    foreach a in array (select proargnames from pg_proc where oid = 'scylla.create_queue'::regproc) loop
        if a <> 'queue' then
            execute format('select scylla.create_queue(%L, %s => null)', 'null ' || a, a);
        end if;
    end loop;
end $$;
select is(settings_of(queue), defaults(), 'create_queue: ' || queue || ' is the default')
from scylla.queue_settings where queue like 'null %';
select is((select count(*) from scylla.queue_settings where queue like 'null %'), 20::bigint, 'each was tried');
select is(settings_of('altered'), defaults(), 'a refused change changes nothing');
select throws_ok($$select scylla.alter_queue('nowhere', '{"aging": -1}')$$, '22023', null,
                 'bad settings go before an unknown queue');

-- ---- what settings do ----------------------------------------------------------------------------------------------

do $$ begin
    perform scylla.create_queue('bounded', max_attempts => 2);
    perform scylla.submit('bounded', '1', rn => 'by default');
    perform scylla.submit('bounded', '1', rn => 'by itself', max_attempts => 7);
    perform scylla.submit_many('[{"queue": "bounded", "spec": 1, "rn": "of many"},
                                 {"queue": "bounded", "spec": 1, "rn": "of many by itself", "max_attempts": 1}]');
    perform scylla.submit_bulk('bounded', array['1']::jsonb[], array['of bulk']);
    perform scylla.alter_queue('bounded', '{"max_attempts": null}');
    perform scylla.submit('bounded', '1', rn => 'later');
end $$;
select results_eq($$select rn, max_attempts from scylla.task where queue = 'bounded' order by rn collate "C"$$,
                  $$values ('by default', 2), ('by itself', 7), ('later', 25), ('of bulk', 2), ('of many', 2),
                           ('of many by itself', 1)$$,
                  'a task takes the bound of its queue when it is submitted, unless it has its own');

-- Retention by how a task ended; what is not said is as retention says.
create function of_age(queue text, state text, age interval) returns void language sql as $$
    select grow_old(given(format('%s %s %s', queue, state, age), state, queue), age);
$$;
do $$ begin
    perform scylla.create_queue('kept', retention => '3 days', retention_completed => '1 day',
                                retention_aborted => '10 days');
    perform scylla.create_queue('by setting', retention_cancelled => '1 day');
    perform of_age(queue, state, age) -- the oldest first, as ids go in life
    from (select queue, state, age
          from unnest(array['kept', 'by setting']) queue, unnest(array['completed', 'aborted', 'cancelled']) state,
               unnest(array['12 h', '2 days', '4 days', '8 days', '11 days']::interval[]) age
          order by age desc) o;
    perform scylla.purge();
end $$;
select results_eq(
    $$select queue, status, max(now() - updated) < '13 h', count(*) from scylla.task
      where queue in ('kept', 'by setting') group by queue, status order by queue collate "C", status$$,
    $$values ('by setting', 'completed'::scylla.task_status, false, 3::bigint), ('by setting', 'aborted', false, 3),
             ('by setting', 'cancelled', true, 1),
             ('kept', 'completed', true, 1), ('kept', 'aborted', false, 4), ('kept', 'cancelled', false, 2)$$,
    'a task stays as long as its queue says for its way of ending');

-- ---- pause ---------------------------------------------------------------------------------------------------------

do $$ begin
    perform scylla.submit('closed', '1', rn => 'held up');
    perform given('at work', 'running', 'closed');
    perform scylla.pause_queue('closed');
    perform scylla.pause_queue('closed');
end $$;
select is_empty($$select rn from scylla.lease('closed', 'w')$$, 'a paused queue leases nothing');
select refuses($$select scylla.lease_task('held up', 'w')$$, '55000', 'paused', 'queue "closed" is paused',
               table_ => 'queue');
select results_eq($$select rn, status from scylla.list_tasks('closed') order by rn$$,
                  $$values ('at work', 'running'::scylla.task_status), ('held up', 'ready')$$,
                  'its tasks are where they were');
select lives_ok($$select scylla.submit('closed', '2', rn => 'submitted meanwhile')$$, 'submits go on');
select lives_ok($$select scylla.heartbeat('at work', 'w')$$, 'so do those who work');
select is_empty($$select rn from scylla.complete_and_lease('{at work}', 'w', 'closed')$$, 'and get nothing new');
select is((seen('at work') ->> 'status'), 'completed', 'but finish');
do $$ begin perform scylla.resume_queue('closed'); perform scylla.resume_queue('closed'); end $$;
select results_eq($$select rn from scylla.lease('closed', 'w', 10)$$, $$values ('held up'), ('submitted meanwhile')$$,
                  'after the pause everything is there, in order');
do $$ begin
    perform scylla.create_queue('begins paused', paused => true);
    perform scylla.submit('begins paused', '1', rn => 'patient');
end $$;
select is_empty($$select rn from scylla.lease('begins paused', 'w')$$, 'a queue may begin paused');
do $$ begin perform scylla.alter_queue('begins paused', '{"paused": false}'); end $$;
select results_eq($$select rn from scylla.lease('begins paused', 'w')$$, $$values ('patient')$$,
                  'alter_queue ends a pause, too');

-- ---- drop ----------------------------------------------------------------------------------------------------------

do $$ begin
    perform scylla.create_queue('empty');
    perform scylla.drop_queue('empty');
end $$;
select is(settings_of('empty'), null, 'a queue without tasks is dropped');
select is_empty($$select rn from scylla.lease('empty', 'w')$$, 'and gives nothing');
select lives_ok($$select scylla.create_queue('empty')$$, 'its name can be used again');

create temp table doomed as
select state, given('doomed ' || state, state, 'doomed ' || state) as rn
from unnest(array['waiting', 'ready', 'running', 'completed', 'aborted', 'cancelled']) state;
do $$ begin perform given('spared', 'running'); end $$;
select refuses(format('select scylla.drop_queue(%L)', 'doomed ' || state), '2BP01', 'empty',
               format('queue "doomed %s" has tasks', state), table_ => 'queue')
from doomed;
select is((select count(*) from scylla.task where rn like 'doomed %'), 6::bigint, 'nothing is dropped by that');
do $$ begin perform scylla.drop_queue('doomed ' || state, force => true) from doomed; end $$;
select is_empty($$select rn from scylla.task where rn like 'doomed %'$$, 'force drops tasks in every state');
select is_empty($$select queue from scylla.queue_settings where queue like 'doomed %'$$, 'and their queues');
select refuses($$select scylla.complete('doomed running', 'w')$$, 'P0002', 'exists',
               'task "doomed running" does not exist');
select is((seen('spared') ->> 'status'), 'running', 'other queues keep their tasks');
select is_empty($$select call, e from (values ('cancel'), ('get_task')) v (call),
                         lateral raised(format('select scylla.%s(%L)', call, 'doomed ready')) e where e not like 'P0002%'$$,
                'for a superuser, too');
select is((select count(*) from scylla.task_spec where rn like 'doomed %'), 6::bigint, 'what is left of them goes later');
select lives_ok(format('select scylla.submit(%L, 1::text::jsonb, rn => %L)', 'doomed ' || state, rn), 'the name of what was '
                || state || ' is free at once') from doomed where state in ('ready', 'running', 'completed', 'waiting');
select is((select count(*) from scylla.submit_many('[{"queue": "doomed anew", "spec": 1, "rn": "doomed aborted"}]') where inserted),
          1::bigint, 'also for submit_many');
select is(scylla.submit_bulk('doomed anew', '{1}', '{doomed cancelled}'), 1::bigint, 'and for submit_bulk');
select is((select count(distinct s.queue) from scylla.task_spec s join scylla.queue q on q.id = s.queue where rn like 'doomed %'),
          5::bigint, 'they are in queues that are made anew');
do $$ begin
    perform scylla.submit('needed', '1', rn => 'needed');
    perform scylla.lease('needed', 'w');
    perform scylla.submit(queue, '1', rn => queue || ' needs', depends_on => '{needed}') from unnest('{needed,elsewhere}'::text[]) queue;
    perform scylla.complete('needed', 'w', result => '9');
    perform scylla.drop_queue('needed', force => true);
end $$;
select is((scylla.submit('needed', '2', rn => 'needed')).status, 'ready',
          'the name is free although live tasks need the result, one of that queue and one of another');
select is((scylla.lease_task('elsewhere needs', 'w')).args, '[9]', 'the task of another queue still gets the result');
select scylla.complete('elsewhere needs', 'w') \g /dev/null
select scylla.maintain();
select is_empty('select * from scylla.queue_dropped', 'maintain() removes what is left');
select is_empty($$select from scylla.task_spec s where not exists (select from scylla.queue q where q.id = s.queue)$$, 'all of it');
select is_empty('select * from scylla.check()', 'and the invariants hold');

-- ---- register_worker -----------------------------------------------------------------------------------------------

create temp table worker as select n, scylla.register_worker() as name from generate_series(1, 100) n;
select is((select count(distinct name) from worker where name ~ '^registered-[1-9][0-9]*$'), 100::bigint,
          'a hundred names, no two alike');
select is_empty($$select from (select substr(name, 12)::bigint - lag(substr(name, 12)::bigint) over (order by n) as step
                               from worker) w where step <> 1$$,
                'numbered in order');
create temp table rolled_back (name text);
do $$
declare
    name text;
begin
    begin
        name := scylla.register_worker();
        raise exception 'to roll back';
    exception when raise_exception then
        insert into rolled_back values (name);
    end;
end $$;
select isnt(scylla.register_worker(), name, 'a rollback does not give out a name again') from rolled_back;

select all_is_sound();
select * from finish();
rollback;
