-- Time triggers of workflows (8): schedules that start runs.
-- Numbers in brackets are sections of the specification of Maestro's behaviour.
begin;
\ir include/helpers.psql
select * from no_plan();

create function make(id text, triggers jsonb, more jsonb = '{}', properties jsonb = '{}', activate boolean = true) returns int language sql as $$
    select scylla.create_workflow(jsonb_build_object('properties', '{"owner": "ada", "run_strategy": "parallel"}' || properties,
        'workflow', jsonb_build_object('id', id, 'time_triggers', triggers, 'steps', '[{"step": {"id": "s", "type": "NoOp"}}]'::jsonb) || more), activate)
$$;
-- The next times of the triggers of a workflow after a moment, in order.
create function at(id text) returns text language sql as $$
    select string_agg(format('%s %s', cron, timezone), ', ' order by cron, timezone) from scylla.schedules where workflow = id
$$;
-- Pretends that all was dealt with until then.
create function handled(id text, moment timestamptz) returns void language sql as $$
    update scylla.schedule set handled = moment, next_run = moment where task ->> 'workflow' = id;
$$;
create function runs(of text) returns text language sql as $$
    select string_agg(to_char(to_timestamp((params ->> 'RUN_TS')::bigint / 1000), 'DD HH24:MI:SS'), ', ' order by instance) from scylla.workflow_run where workflow = of
$$;

-- ---- schedules -----------------------------------------------------------------------------------------------------

select is(make('w', '[{"type": "CRON", "cron": "0 3 * * *", "timezone": "Europe/Berlin"}, {"type": "PREDEFINED", "expression": "@hourly"},
                      {"type": "CRON", "cron": "0 3 * * *", "timezone": "Europe/Berlin"}, {"type": "INTERVAL", "interval": "2 hours"},
                      {"type": "CRON", "cron": "30 0 12 ? * MON-FRI", "timezone": "UTC"}]'), 1, '[8] a workflow with triggers');
select is(at('w'), '0 3 * * * Europe/Berlin, 30 0 12 ? * MON-FRI UTC, 7200 seconds UTC, @hourly UTC',
          '[8] has a schedule for each, by its zone; one that is there twice has one');
select is((select count(distinct name) filter (where name ~ '^workflow:w/[0-9a-f]{16}$') from scylla.schedules where workflow = 'w'), 4::bigint, 'with names of its own');
select is((select array[owner::text, queue, spec::text, options::text, overlap, catch_up, job] from scylla.schedules where workflow = 'w' limit 1),
          array[current_user::text, null, null, null, 'allow', 'all', null], 'which belong to the owner');
select ok((select bool_and(armed and next_run > now()) from scylla.schedules where workflow = 'w'), 'and will come');
select is((select next_start from scylla.workflow where id = 'w'), (select min(next_run) from scylla.schedules where workflow = 'w'), 'the view of workflows has the next');
select is((select date_part('epoch', next_run)::bigint % 7200 from scylla.schedules where cron = '7200 seconds'), 0::bigint, 'intervals are counted from 1970 on');
select is((select array[date_part('second', next_run), date_part('hour', next_run), date_part('minute', next_run)] from scylla.schedules where cron ~ 'MON'), array[30, 12, 0]::float8[],
          'Quartz has a second, and counts weekdays from Sunday');
select ok((select date_part('isodow', next_run) between 1 and 5 from scylla.schedules where cron ~ 'MON'), 'as 1');
select is((select next_start from scylla.workflow where id = 'x'), null, 'a workflow without triggers');

select refuses($$select scylla.unschedule((select name from scylla.schedules where workflow = 'w' limit 1))$$, '55000', 'workflow',
               format('schedule "%s" belongs to a workflow', (select name from scylla.schedules where workflow = 'w' limit 1)), table_ => 'schedule');
select refuses_argument($$select scylla.schedule('workflow:x', '@daily', 'q', '{}')$$, 'name', '"workflow:x"', 'Names with "workflow:" are for workflows.');

-- ---- runs ----------------------------------------------------------------------------------------------------------

select make('run', '[{"type": "CRON", "cron": "0 * * * *", "timezone": "Asia/Tokyo"}]', '{"params": {"day": {"type": "STRING", "value": "$RUN_DATE at $WORKFLOW_CRON_TIMEZONE"}}}') \g /dev/null
select handled('run', '2026-01-01 10:00:00') \g /dev/null
select is(scylla._run_schedules_at('2026-01-01 09:59:59'), 0::bigint, 'before its time nothing comes');
select is(scylla._run_schedules_at('2026-01-01 13:00:01'), 4::bigint, '[8] four planned times have come');
select is(runs('run'), '01 10:00:00, 01 11:00:00, 01 12:00:00, 01 13:00:00', '[8] each starts a run with RUN_TS, in order');
select is(initiator - 'schedule', '{"type": "TIME", "timezone": "Asia/Tokyo", "trigger_time": 1767261600000}', '[8] the initiator') from scylla.workflow_run where workflow = 'run' and instance = 1;
select is(params ->> 'day', '20260101 at Asia/Tokyo', 'and its zone') from scylla.workflow_run where workflow = 'run' and instance = 1;
select is((select array[last_task, runs::text, missed::text, last_error] from scylla.schedules where workflow = 'run'), array['workflow:run/4/1', '4', '0', null], 'the schedule says so');
select is((select owner from scylla.workflow_run where workflow = 'run' and instance = 1), current_user::text, 'runs belong to the owner');
select handled('run', '2026-01-01 12:00:00') \g /dev/null
select is(scylla._run_schedules_at('2026-01-01 14:00:00'), 3::bigint, '[8] a planned time that comes again');
select is(runs('run'), '01 10:00:00, 01 11:00:00, 01 12:00:00, 01 13:00:00, 01 14:00:00', '[8] starts no second run: the request has the planned second');
select handled('run', '2026-02-01 00:00:00') \g /dev/null
select is((select array_agg(scylla._run_schedules_at('2026-02-02 00:00:00')) from generate_series(1, 4)), array[10, 10, 5, 0]::bigint[],
          '[8] many that were missed come ten at a time');
select is((select array[max(instance), count(*) filter (where to_timestamp((params ->> 'RUN_TS')::bigint / 1000) = '2026-02-01 00:00:00'::timestamptz + (instance - 6) * interval '1 hour')]
           from scylla.workflow_run where workflow = 'run' and instance > 5), array[30, 25]::bigint[], 'in order, and none is lost');
select is((select next_run from scylla.schedules where workflow = 'run'), '2026-02-02 01:00:00'::timestamptz, 'then comes the next');

-- With bounds.
select make('aged', '[{"type": "CRON", "cron": "0 * * * *", "grace": "3 hours"}]') \g /dev/null
select handled('aged', '2026-01-01 10:00:00') \g /dev/null
select is(scylla._run_schedules_at('2026-02-01 10:30:00'), 3::bigint, 'planned times that are older than grace start no run');
select is(runs('aged'), '01 08:00:00, 01 09:00:00, 01 10:00:00', '... and the others do');
select is((select array[missed::text, next_run::text, grace::text, max_catch_up::text] from scylla.schedules where workflow = 'aged'),
          array['742', '2026-02-01 11:00:00'::timestamptz::text, '03:00:00', null], '... the view says how many were missed, and that only grace bounds them');
select make('few', '[{"type": "CRON", "cron": "0 * * * *", "max_catch_up": 12}]') \g /dev/null
select handled('few', '2026-01-01 10:00:00') \g /dev/null
select is(scylla._run_schedules_at('2026-02-01 10:30:00'), 12::bigint, 'the latest max_catch_up start runs');
select is((select array[missed::text, next_run::text, grace::text, max_catch_up::text] from scylla.schedules where workflow = 'few'),
          array['733', '2026-02-01 11:00:00'::timestamptz::text, null, '12'], '... the view says so');
select make('both', '[{"type": "INTERVAL", "interval": "1 hour", "grace": "3 hours", "max_catch_up": 2}]') \g /dev/null
select handled('both', '2026-01-01 10:00:00') \g /dev/null
select is(scylla._run_schedules_at('2026-02-01 10:30:00'), 2::bigint, 'the tighter one of grace and max_catch_up counts');
select is(runs('both'), '01 09:00:00, 01 10:00:00', '... for the latest times');
select scylla.deactivate_workflow(id) from unnest('{aged,few,both}'::text[]) id \g /dev/null

select make('two', '[{"type": "CRON", "cron": "0 * * * *"}, {"type": "CRON", "cron": "0 */2 * * *"}]') \g /dev/null
select handled('two', '2026-01-01 10:00:00') \g /dev/null
select is(scylla._run_schedules_at('2026-01-01 10:00:00'), 2::bigint, '[8] two triggers');
select is(runs('two'), '01 10:00:00, 01 10:00:00', '[8] that come at the same second start two runs');

-- Where the clock is put forward, a time that is left out comes at the jump.
select make('dst', '[{"type": "CRON", "cron": "30 2 * * *", "timezone": "Europe/Berlin"}]') \g /dev/null
select handled('dst', '2026-03-28 01:30:00') \g /dev/null
select scylla._run_schedules_at('2026-03-30 23:00:00') \g /dev/null
select is(runs('dst'), '28 01:30:00, 29 01:00:00, 30 00:30:00', 'zones');

-- Zones with an offset are those of ISO 8601, and the run says so.
select make('east', '[{"type": "CRON", "cron": "0 6 * * *", "timezone": "+02:00"}]') \g /dev/null
select is((select next_run at time zone 'UTC' - date_trunc('day', next_run at time zone 'UTC') from scylla.schedules where workflow = 'east'), interval '4 hours', 'east of Greenwich');
select handled('east', '2026-01-01 04:00:00') \g /dev/null
select scylla._run_schedules_at('2026-01-01 04:00:00') \g /dev/null
select is((select array[params ->> 'TARGET_RUN_HOUR', params ->> 'WORKFLOW_CRON_TIMEZONE'] from scylla.workflow_run where workflow = 'east'), '{06,+02:00}', 'it is six there');

-- Each hour of the night in which clocks are set back has its own DERIVED_RUN_TS.
select make('hourly', '[{"type": "CRON", "cron": "0 * * * *", "timezone": "Europe/Berlin"}]') \g /dev/null
select count(*) from generate_series('2026-10-24 22:20Z'::timestamptz, '2026-10-25 03:20Z', '1 hour') t,
    scylla.start_workflow('hourly', jsonb_build_object('RUN_TS', extract(epoch from t)::bigint * 1000)) \g /dev/null
select is((select string_agg(format('%s=%s', params ->> 'TARGET_RUN_HOUR', params ->> 'DERIVED_RUN_HOUR_UTC'), ' ' order by instance) from scylla.workflow_run where workflow = 'hourly'),
          '00=22 01=23 02=00 02=01 03=02 04=03', 'the second of two hours is not the first');
select scylla.start_workflow('hourly', '{"RUN_TS": 1792892400000, "TARGET_RUN_HOUR": "07"}') \g /dev/null
select is((select params ->> 'DERIVED_RUN_HOUR_UTC' from scylla.workflow_run where workflow = 'hourly' order by instance desc limit 1), '06', 'an hour that the start gives counts');

-- A trigger that differs from another only by what is the default is the same.
select make('same', '[{"type": "CRON", "cron": "0 6 * * *"}, {"type": "CRON", "cron": "0 6 * * *", "timezone": "UTC"}, {"timezone": null, "cron": "0 6 * * *", "type": "CRON"},
                      {"type": "CRON", "cron": "0 6 * * *", "timezone": "utc"}, {"type": "CRON", "cron": "0 6 * * *", "timezone": "Z"}, {"type": "CRON", "cron": "0 6 * * *", "timezone": "+00:00"},
                      {"type": "CRON", "cron": "0 6 * * *", "timezone": "Europe/Berlin"}, {"type": "INTERVAL", "interval": "1 hour"}, {"type": "INTERVAL", "interval": "1 hour", "timezone": "UTC"}]') \g /dev/null
select is(at('same'), '0 6 * * * Europe/Berlin, 0 6 * * * UTC, 3600 seconds UTC', 'one with "timezone": "UTC" is one without');
create temp table before as select name from scylla.schedules where workflow = 'same' and timezone = 'UTC' and cron ~ '^0';
select make('same', '[{"type": "CRON", "cron": "0 6 * * *", "timezone": "UTC"}]') \g /dev/null
select is((select name from scylla.schedules where workflow = 'same'), (select name from before), 'a new version that says so keeps it');

-- What a trigger may be.
select matches(raised(format('select make(''bad'', %L)', jsonb_build_array(trigger::jsonb))), problem, trigger)
from (values ('{"type": "CRON", "cron": "0 0 31 2 *"}', 'never comes'), ('{"type": "CRON", "cron": "0 0 12 1 1 ? 2020"}', 'never comes'),
             ('{"type": "CRON", "cron": "0 6 * * *", "timezone": "PST"}', 'must be the name of a time zone'), ('{"type": "CRON", "cron": "0 6 * * *", "timezone": "+25:00"}', 'must be the name of a time zone'),
             ('{"type": "CRON", "cron": "0 25 * * *"}', 'field for the hour'), ('{"type": "INTERVAL", "interval": "1,500 seconds"}', 'must be a number of seconds'),
             ('{"type": "INTERVAL", "interval": "-5 minutes"}', 'must be a number of seconds'), ('{"type": "INTERVAL", "interval": "1 month"}', 'must be a number of seconds'),
             ('{"type": "INTERVAL", "interval": "120.5"}', 'whole number of seconds')) v (trigger, problem);
select make('good', '[{"type": "CRON", "cron": "0 3 1 1 sun"}, {"type": "CRON", "cron": "0 30 6 24 12 ? 2090"}, {"type": "INTERVAL", "interval": "1.5 hours"}, {"type": "INTERVAL", "interval": "1 week 2 days"},
                      {"type": "INTERVAL", "interval": "PT3H"}]') \g /dev/null
select is(at('good'), '0 3 1 1 sun UTC, 0 30 6 24 12 ? 2090 UTC, 10800 seconds UTC, 5400 seconds UTC, 777600 seconds UTC', 'durations and cron expressions');
select is((select next_run from scylla.schedules where workflow = 'good' and cron ~ '2090'), '2090-12-24 06:30Z'::timestamptz, 'a year of Quartz');

-- ---- jitter --------------------------------------------------------------------------------------------------------

select make('late', '[{"type": "CRON", "cron": "0 * * * *", "fuzzy_max_delay": "30 minutes"}, {"type": "CRON", "cron": "0 */3 * * *", "fuzzy_max_delay": 1800}]') \g /dev/null
select ok((select bool_and(delay between interval '0' and interval '30 minutes') and bool_or(delay > interval '0') and count(distinct delay) = 2
           from (select next_run - date_trunc('hour', next_run) as delay from scylla.schedules where workflow = 'late') d), '[8] fuzzy_max_delay delays each trigger by its own time');
create temp table delay as select min(date_trunc('second', (task ->> 'delay')::int * interval '1 second')) as least from scylla.schedule where cron = '0 * * * *' and task ->> 'workflow' = 'late';
update scylla.schedule set handled = '2026-01-01 10:00:00', next_run = '2026-01-01 10:00:00'::timestamptz + least from delay where cron = '0 * * * *' and task ->> 'workflow' = 'late';
select is(scylla._run_schedules_at('2026-01-01 10:00:00'::timestamptz + least - interval '1 second'), 0::bigint, 'not before it is over') from delay;
select is(scylla._run_schedules_at('2026-01-01 10:00:00'::timestamptz + least), 1::bigint, 'then it starts') from delay;
select is(runs('late'), '01 10:00:00', '[8] RUN_TS is the planned time');
select is((select next_run from scylla.schedules where workflow = 'late' and cron = '0 * * * *'), (select '2026-01-01 11:00:00'::timestamptz + least from delay), 'the next is as late');

-- ---- versions and properties ----------------------------------------------------------------------------------------

select handled('w', '2026-01-01 10:00:00') \g /dev/null
select make('w', '[{"type": "PREDEFINED", "expression": "@hourly"}, {"type": "CRON", "cron": "*/5 * * * *"}]') \g /dev/null
select is(at('w'), '*/5 * * * * UTC, @hourly UTC', '[8] a new version has its own triggers');
select is((select next_run from scylla.schedules where workflow = 'w' and cron = '@hourly'), '2026-01-01 11:00:00'::timestamptz, 'one that stays goes on where it was');
select ok((select next_run > now() from scylla.schedules where workflow = 'w' and cron = '*/5 * * * *'), 'another begins now');
select make('w', '[]', activate => false) \g /dev/null
select is(at('w'), '*/5 * * * * UTC, @hourly UTC', '[8] those of a version that is not active do not count');
select scylla.activate_workflow('w', 1) \g /dev/null
select is(at('w'), '0 3 * * * Europe/Berlin, 30 0 12 ? * MON-FRI UTC, 7200 seconds UTC, @hourly UTC', '[8] back to the first version');
select scylla.alter_workflow('w', '{"time_trigger_disabled": true}') \g /dev/null
select is(at('w'), null, '[8] time_trigger_disabled ends them');
select make('w', '[{"type": "PREDEFINED", "expression": "@daily"}]') \g /dev/null
select is(at('w'), null, '[8] also for a new version');
select scylla.alter_workflow('w', '{"time_trigger_disabled": false}') \g /dev/null
select is(at('w'), '@daily UTC', '[8] until it is taken back');
select ok((select next_run > now() from scylla.schedules where workflow = 'w'), 'and what was planned meanwhile does not come');
select scylla.deactivate_workflow('w') \g /dev/null
select is(at('w'), null, '[8] an inactive workflow has none');
select scylla.activate_workflow('w') \g /dev/null
select is(at('w'), '@daily UTC', 'an active one has');
select scylla.drop_workflow('w') \g /dev/null
select is((select count(*) from scylla.schedule where task ->> 'workflow' = 'w'), 0::bigint, '[8] nor has one that is dropped');

-- ---- what cannot be started ----------------------------------------------------------------------------------------

select make('broken', '[{"type": "CRON", "cron": "0 * * * *"}]', '{"params": {"x": {"type": "LONG", "expression": "1 / (RUN_TS > 1780000000000 ? 1 : 0)"}}}', '{"run_strategy": "strict_sequential"}') \g /dev/null
select handled('broken', '2026-01-01 10:00:00') \g /dev/null
select is(scylla._run_schedules_at('2026-01-01 11:00:00'), 2::bigint, '[8] runs whose parameters cannot be evaluated');
select is((select string_agg(format('%s %s %s', instance, status, error ->> 'message' like '%division by zero%'), ', ' order by instance) from scylla.workflow_run where workflow = 'broken'),
          '1 FAILED t, 2 FAILED t', '[8] are kept as failed ones: what comes after them comes');
select is(scylla.unblock_workflow('broken'), 2::bigint, 'they block as other failed ones');
select make('once', '[{"type": "CRON", "cron": "0 * * * *"}]', properties => '{"run_strategy": "first_only"}') \g /dev/null
select handled('once', '2026-01-01 10:00:00') \g /dev/null
select is(scylla._run_schedules_at('2026-01-01 11:00:00'), 2::bigint, 'FIRST_ONLY');
select is((select string_agg(status, ', ' order by instance) from scylla.workflow_run where workflow = 'once'), 'CREATED, STOPPED', 'stops the second at once');

-- ---- rights --------------------------------------------------------------------------------------------------------

create role scylla_test_owner;
create role scylla_test_admin;
grant usage on schema scylla to scylla_test_owner, scylla_test_admin;
grant execute on all functions in schema scylla to scylla_test_owner, scylla_test_admin;
grant select on all tables in schema scylla to scylla_test_owner, scylla_test_admin;
grant all on all functions in schema test to public;
set local role scylla_test_owner;
select make('theirs', '[{"type": "PREDEFINED", "expression": "@daily"}]') \g /dev/null
select scylla.grant_workflow('theirs', 'scylla_test_admin', 'admin') \g /dev/null
set local role scylla_test_admin;
select make('theirs', '[{"type": "CRON", "cron": "0 * * * *"}]') \g /dev/null
select is(at('theirs'), null, 'the schedules of a workflow are seen by those who have the rights of its owner');
select ok((select next_start is not null from scylla.workflow where id = 'theirs'), 'its next start by all who see it');
select ok(raised($$select scylla.unschedule('workflow:theirs/' || repeat('0', 16))$$) like '42704%', 'of another''s nothing is told');
reset role;
select is((select owner from scylla.schedules where workflow = 'theirs'), 'scylla_test_owner', 'a version of an admin starts runs of the owner');
select handled('theirs', '2026-01-01 10:00:00') \g /dev/null
select is(scylla._run_schedules_at('2026-01-01 10:00:00'), 1::bigint, 'they come');
select is((select owner from scylla.workflow_run where workflow = 'theirs'), 'scylla_test_owner', 'as his');

select all_is_sound();
update scylla.workflow_head set active_version = 0 where id = 'theirs';
select is((select what from scylla.check() c (id, what)), format('schedule "%s" is a time trigger of workflow "theirs", which is not active', name), 'check() finds a trigger too many')
from scylla.schedules where workflow = 'theirs';
select * from finish();
rollback;
