-- cron_next, schedule, unschedule, run_schedules, arm_schedules, the view schedules: all but pg_cron itself, which
-- test/t/pg_cron.pl looks at. Time is an argument here: nothing waits.
begin;
\ir include/helpers.psql
select * from no_plan();
set local scylla.schedules = manual;

select is(pg_get_function_arguments('scylla.cron_next'::regproc),
          'cron text, after timestamp with time zone DEFAULT NULL::timestamp with time zone, '
          'timezone text DEFAULT ''UTC''::text', 'the arguments of cron_next');
select signature_is('schedule',
    'name text, cron text, queue text, spec jsonb, timezone text DEFAULT ''UTC''::text, '
    'overlap text DEFAULT ''allow''::text, catch_up text DEFAULT ''latest''::text, '
    'grace interval DEFAULT ''01:00:00''::interval, max_catch_up integer DEFAULT 100, '
    'jitter interval DEFAULT ''00:00:00''::interval, starts timestamp with time zone DEFAULT NULL::timestamp with time '
    'zone, ends timestamp with time zone DEFAULT NULL::timestamp with time zone, planned_key text DEFAULT NULL::text, '
    'options jsonb DEFAULT ''{}''::jsonb', 'timestamp with time zone');
select signature_is('schedule_plan',
    'name text, cron text, tasks jsonb, timezone text DEFAULT ''UTC''::text, overlap text DEFAULT ''allow''::text, '
    'catch_up text DEFAULT ''latest''::text, grace interval DEFAULT ''01:00:00''::interval, '
    'max_catch_up integer DEFAULT 100, jitter interval DEFAULT ''00:00:00''::interval, '
    'starts timestamp with time zone DEFAULT NULL::timestamp with time zone, '
    'ends timestamp with time zone DEFAULT NULL::timestamp with time zone, planned_key text DEFAULT NULL::text',
    'timestamp with time zone');
select signature_is('unschedule', 'name text', 'void');
select signature_is('run_schedules', '', 'bigint');
select signature_is('arm_schedules', '', 'bigint');

-- ---- cron_next -----------------------------------------------------------------------------------------------------

select is(scylla.cron_next(cron, '2026-03-28 12:00Z', zone), next, format('%s in %s', cron, zone))
from (values ('0 5 * * *',     'UTC',              timestamptz '2026-03-29 05:00Z'),
             ('0 5 * * *',     'America/New_York', '2026-03-29 09:00Z'),
             ('30 2 * * *',    'Europe/Berlin',    '2026-03-29 01:00Z'),
             ('30 2 29 3 *',   'Europe/Berlin',    '2026-03-29 01:00Z'),
             ('*/30 * * * *',  'Europe/Berlin',    '2026-03-28 12:30Z'),
             ('0 0 * * mon',   'Asia/Kolkata',     '2026-03-29 18:30Z'),
             ('0 12 $ * *',    'utc',              '2026-03-31 12:00Z'),
             ('@yearly',       'UTC',              '2027-01-01 00:00Z'),
             ('0 0 29 2 *',    'UTC',              '2028-02-29 00:00Z'),
             ('20 seconds',    'Europe/Berlin',    '2026-03-28 12:00:20Z'),
             ('0 0 30 2 *',    'Europe/Berlin',    null)) c (cron, zone, next);
select is(scylla.cron_next('30 2 * * *', '2026-10-25 00:30Z', 'Europe/Berlin'), '2026-10-26 01:30Z',
          'a time that the clock shows twice comes once');
select is(scylla.cron_next('* * * * *', '2026-03-28 11:59:59.999999Z'), '2026-03-28 12:00Z', 'microseconds count');
select is(scylla.cron_next('* * * * *', '2026-03-28 12:00:00.000001Z'), '2026-03-28 12:01Z', 'on both sides');
select is(scylla.cron_next('* * * * *', '294276-12-31 23:59:59Z'), null, 'time ends');
select ok(scylla.cron_next('* * * * *') between now() and clock_timestamp() + interval '1 minute', 'after is now');

create function next(cron text, timezone text = 'UTC') returns timestamptz language sql
    as $$ select scylla.cron_next(cron, '2026-01-01', timezone) $$;
select refuses_argument(format('select next(%L)', cron), 'cron', '"' || cron || '"', rule)
from (values ('60 * * * *',  'The field for the minute must be a list of numbers and ranges between 0 and 59.'),
             ('* 24 * * *',  'The field for the hour must be a list of numbers and ranges between 0 and 23.'),
             ('* * 0 * *',   'The field for the day of the month must be a list of numbers and ranges between 1 and 31, '
                             'or "$".'),
             ('* * * 13 *',  'The field for the month must be a list of numbers and ranges between 1 and 12, or of '
                             'names like "jan".'),
             ('* * * * 8',   'The field for the day of the week must be a list of numbers and ranges between 0 and 7, '
                             'or of names like "mon".'),
             ('@reboot',     'The names are @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly.'),
             ('60 seconds',  'It must be between 1 and 59 seconds.'),
             ('',            'It must have five fields (minute, hour, day of the month, month, day of the week), or be '
                             'a name like @daily or "30 seconds".')) c (cron, rule);
select refuses_argument('select next(null)', 'cron', 'null',
                        'It must have five fields (minute, hour, day of the month, month, day of the week), or be a '
                        'name like @daily or "30 seconds".');
select refuses_argument(format('select next(''* * * * *'', %L)', zone), 'timezone', coalesce('"' || zone || '"', 'null'),
                        'It must be the name of a time zone, as "Europe/Berlin", or an offset from UTC, as "+02:00".')
from unnest(array['Mars/Olympus', '', 'right/UTC']) zone;
select refuses_argument(format('select next(''* * * * *'', %L)', zone), 'timezone', '"' || zone || '"', 'It must be the name of a time zone, as "Europe/Berlin", or an offset from UTC, as "+02:00".')
from unnest(array['2', '5.5', 'foo5', 'UTC3', 'EST5', '<-03>3', 'CET-1CEST,M3.5.0,M10.5.0/3', '+24:00', '+25:00', '+02:60', 'Etc/GMT+25', 'America/New_York5', 'PST', 'CEST']) zone;
select is(next('0 6 * * *', zone), at, 'six o''clock in ' || zone)
from (values ('+02:00', timestamptz '2026-01-01 04:00Z'), ('+2', '2026-01-01 04:00Z'), ('UTC+2', '2026-01-01 04:00Z'), ('+05:30', '2026-01-01 00:30Z'), ('-8', '2026-01-01 14:00Z'),
             ('GMT-3', '2026-01-01 09:00Z'), ('-0930', '2026-01-01 15:30Z'), ('Asia/Kolkata', '2026-01-01 00:30Z'), ('Etc/GMT-2', '2026-01-01 04:00Z'), ('Z', '2026-01-01 06:00Z'),
             ('EST5EDT', '2026-01-01 11:00Z')) v (zone, at);
select is(next(cron), at, cron)
from (values ('0 3 1 1 sun', timestamptz '2026-01-01 03:00Z'), ('0 3 2 12 SAT,SUN', '2026-12-02 03:00Z'), ('0 3 1 1 0', '2026-01-01 03:00Z'), ('0 0 * * sat-sun', '2026-01-03 00:00Z'),
             ('0 22-2 * * *', '2026-01-01 01:00Z'), ('0 0 1 nov-feb *', '2026-02-01 00:00Z'), (E'0 5 * * *\n', '2026-01-01 05:00Z'), (E'0\t5 * *\r\n*', '2026-01-01 05:00Z')) v (cron, at);
select refuses_argument(format('select scylla.cron_next(''* * * * *'', %L)', t), 'after', t, 'It must be finite.')
from unnest(array['infinity', '-infinity']) t;

-- ---- arguments -----------------------------------------------------------------------------------------------------

select is(scylla.schedule('first', '0 2 1 1 *', 'q', '{"a": 1}', 'Europe/Berlin', 'skip', 'all', '1 day', 7, '5 min',
                          '2030-06-01', '2040-06-01', 'planned', '{"priority": 5, "max_attempts": 3}'),
          '2031-01-01 01:00Z', 'schedule says when it comes first');
select results_eq(
    $$select name, owner, cron, timezone, queue, spec, options, overlap, catch_up, grace, max_catch_up, jitter, starts,
             ends, planned_key, armed, next_run, runs, skipped, missed from scylla.schedules$$,
    $$values ('first', current_user::text collate "default", '0 2 1 1 *', 'Europe/Berlin', 'q', '{"a": 1}'::jsonb,
              '{"priority": 5, "max_attempts": 3}'::jsonb, 'skip', 'all', interval '1 day', 7, interval '5 min',
              timestamptz '2030-06-01', timestamptz '2040-06-01', 'planned', true, timestamptz '2031-01-01 01:00Z',
              0::bigint, 0::bigint, 0::bigint)$$, 'the view shows what was said');
select is_empty($$select last_run, last_submitted, last_task, last_error, failed from scylla.schedules
                  where (last_run, last_submitted, last_task, last_error, failed) is distinct from
                        (null::timestamptz, null::timestamptz, null::text, null::text, null::timestamptz)$$,
                'nothing has happened yet');
select ok(created between now() and clock_timestamp(), 'it was made now') from scylla.schedules;
select is_empty('select * from scylla.task', 'no task was left by the rehearsal');
select is_empty('select * from scylla.queue', 'nor a queue');
do $$ begin perform scylla.unschedule('first'); end $$;
select is_empty('select * from scylla.schedules', 'unschedule removes it');

create function scheduled(name text = 's', cron text = '* * * * *', queue text = 'q', spec jsonb = '{"a": 1}',
                          timezone text = 'UTC', overlap text = 'allow', catch_up text = 'latest',
                          grace interval = '1 hour', max_catch_up int = 100, jitter interval = '0',
                          starts timestamptz = null, ends timestamptz = null, planned_key text = null,
                          options jsonb = '{}') returns timestamptz language sql as $$
    select scylla.schedule(name, cron, queue, spec, timezone, overlap, catch_up, grace, max_catch_up, jitter, starts,
                           ends, planned_key, options);
$$;
select refuses_argument(format('select scheduled(%s)', argument), split_part(argument, ' ', 1), value, rule)
from (values
    ('name => ''''',                       '""',   'It must have 1 to 150 characters.'),
    ('name => null',                       'null', 'It must have 1 to 150 characters.'),
    ('name => repeat(''€'', 151)',         '"' || repeat('€', 60) || '..."', 'It must have 1 to 150 characters.'),
    ('cron => ''x''',                      '"x"',  'It must have five fields (minute, hour, day of the month, month, '
                                                   'day of the week), or be a name like @daily or "30 seconds".'),
    ('cron => ''0 0 31 feb *''',           '"0 0 31 feb *"', 'There is no such day.'),
    ('queue => null',                      'null', 'It must have 1 to 200 characters.'),
    ('queue => ''''',                      '""',   'It must have 1 to 200 characters.'),
    ('spec => null',                       'null', 'A task must say what is to be done.'),
    ('spec => ''null''',                   'null', 'A task must say what is to be done.'),
    ('timezone => ''Here''',               '"Here"', 'It must be the name of a time zone, as "Europe/Berlin", or an offset from UTC, as "+02:00".'),
    ('overlap => ''Skip''',                '"Skip"', 'It must be "allow", "skip" or "replace".'),
    ('catch_up => ''some''',               '"some"', 'It must be "none", "latest" or "all".'),
    ('grace => ''-1 s''',                  '-00:00:01', 'It must be between 0 and 365 days.'),
    ('grace => ''366 days''',              '366 days', 'It must be between 0 and 365 days.'),
    ('max_catch_up => 0',                  '0',     'It must be between 1 and 10000.'),
    ('max_catch_up => 10001',              '10001', 'It must be between 1 and 10000.'),
    ('jitter => ''-1 s''',                 '-00:00:01', 'It must be between 0 and 1 day.'),
    ('jitter => ''24:00:01''',             '24:00:01', 'It must be between 0 and 1 day.'),
    ('starts => ''infinity''',             'infinity', 'It must be finite.'),
    ('ends => ''-infinity''',              '-infinity', 'It must be finite.'),
    ('ends => ''2020-01-01''',             '2020-01-01 00:00:00+00', 'There must be a time of the schedule before it.'),
    ('ends => ''2050-01-01'', starts => ''2050-01-01''', '2050-01-01 00:00:00+00',
                                           'There must be a time of the schedule before it.'),
    ('planned_key => ''''',                '""',   'It must have 1 to 200 characters.'),
    ('planned_key => ''p'', spec => ''[]''', '"p"', 'The spec must be an object to have a key.'),
    ('options => ''[]''',                  '[]',   'It must be an object.'),
    ('options => ''{"rn": "x"}''',         '{"rn": "x"}', 'The schedule itself gives queue, spec, rn and not_before.'),
    ('options => ''{"not_before": null}''', '{"not_before": null}',
                                           'The schedule itself gives queue, spec, rn and not_before.'))
    a (argument, value, rule);
select refuses_element($$select scheduled(options => '{"priority": 128}')$$, 1, 'priority', '128',
                       'It must be between 0 and 127.');
select refuses_element($$select scheduled(options => '{"colour": 1}')$$, 1, 'tasks', '"colour"',
                       'There is no such argument of submit.');
select is_empty('select * from scylla.schedules', 'none of these has made a schedule');
select lives_ok(format('select scheduled(%s)', argument), 'schedule takes ' || argument)
from unnest(array['name => repeat(''€'', 150)', 'grace => null', 'grace => ''0''', 'grace => ''365 days''',
                  'max_catch_up => 10000', 'jitter => ''1 day''', 'ends => ''2050-01-01 00:00:00.000001''',
                  'cron => ''59 seconds''', 'name => ''a/b c'''])
     argument;
select lives_ok(format('select scylla.unschedule(%L)', name), 'unschedule ' || left(name, 10)) from scylla.schedules;

select refuses($$select scylla.unschedule('s')$$, '42704', 'exists', 'schedule "s" does not exist', table_ => 'schedule');
select refuses('select scylla.unschedule(null)', '42704', 'exists', 'schedule "<NULL>" does not exist',
               table_ => 'schedule');

-- ---- running -------------------------------------------------------------------------------------------------------

-- Pretends that a schedule was made some time ago.
create function made(name text, at_ timestamptz) returns void language sql as $$
    update scylla.schedule s set handled = at_, failing_since = null, retry_at = null,
        next_run = scylla.cron_next(cron, greatest(at_, starts - interval '1 microsecond'), timezone)
    where s.name = made.name;
$$;
create function stamp(at_ timestamptz) returns text language sql as $$
    select to_char(at_ at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') $$;
create function run(at_ timestamptz) returns bigint language sql as $$ select scylla._run_schedules_at(at_) $$;
create function told(name text) returns text language sql as $$
    select format('%s runs, %s skipped, %s missed, next %s', runs, skipped, missed, stamp(next_run))
    from scylla.schedules s where s.name = told.name;
$$;
-- Ends all tasks.
create function done() returns void language sql as $$
    select scylla.cancel(rn) from scylla.task where status in ('waiting', 'ready', 'running');
$$;

do $$ begin
    perform scheduled('s', '0 2 * * *', 'nights', '{"a": 1}', planned_key => 'when', options => '{"priority": 5}');
    perform made('s', '2026-05-01 01:30Z');
end $$;
select is(run('2026-05-01 01:59:59Z'), 0::bigint, 'too early');
select is(run('2026-05-01 02:00:03Z'), 1::bigint, 'its time has come');
select results_eq('select rn, queue, spec, priority, status from scylla.task',
                  $$values ('s/2026-05-01T02:00:00Z', 'nights', '{"a": 1, "when": "2026-05-01T02:00:00Z"}'::jsonb, 5,
                            'ready'::scylla.task_status)$$,
                  'the task bears the planned time in its name and, if asked, in its spec');
select is(split_part(rn, '/', -1)::timestamptz, '2026-05-01 02:00Z', 'from which it can be read') from scylla.task;
select results_eq($$select last_run, last_task, last_error, failed from scylla.schedules$$,
                  $$values (timestamptz '2026-05-01 02:00Z', 's/2026-05-01T02:00:00Z', null::text, null::timestamptz)$$,
                  'the schedule remembers it');
select ok(last_submitted between now() and clock_timestamp(), 'and when that was') from scylla.schedules;
select is(told('s'), '1 runs, 0 skipped, 0 missed, next 2026-05-02T02:00:00Z', 'and goes on');
select is(run('2026-05-01 02:00:03Z'), 0::bigint, 'a second tick for the same minute does nothing');
select is(run('2026-05-01 01:00Z'), 0::bigint, 'nor does a clock that goes back');
-- Another server of a set that has lost the row of the schedule, but has the task.
do $$ begin perform made('s', '2026-05-01 01:30Z'); end $$;
select is(run('2026-05-01 02:00:03Z'), 0::bigint, 'a task that is there is not submitted again');
select is(count(*), 1::bigint, 'there is one') from scylla.task;
select is(last_error, '23505: task "s/2026-05-01T02:00:00Z" already exists', 'and the schedule says so') from scylla.schedules;
select is(told('s'), '1 runs, 0 skipped, 1 missed, next 2026-05-02T02:00:00Z', 'and goes on');
-- And one whose task has been purged.
do $$ begin
    perform done();
    perform grow_old('s/2026-05-01T02:00:00Z', '1 year');
    perform scylla.purge();
end $$;
select is_empty('select * from scylla.task', 'purged');
select is(run('2026-05-01 02:30Z'), 0::bigint, 'nor is one that has been purged');
select is(run('2026-05-02 03:00Z'), 1::bigint, 'an hour late is not too late');
select is(run('2026-05-03 03:00:00.000001Z'), 0::bigint, 'more is');
select is(told('s'), '2 runs, 0 skipped, 2 missed, next 2026-05-04T02:00:00Z', 'and counts as missed');

-- ---- catch-up ------------------------------------------------------------------------------------------------------

create function catch_up(catch_up text, grace interval, max_catch_up int = 100,
                         at_ timestamptz = '2026-05-01 06:01Z') returns text language plpgsql as $$
declare
    tasks bigint;
begin
    truncate scylla.task_spec, scylla.task_ready, scylla.task_lease, scylla.task_waiting, scylla.task_outcome;
    perform scylla.unschedule(name) from scylla.schedules;
    perform scheduled('c', '0 * * * *', catch_up => catch_up, grace => grace, max_catch_up => max_catch_up);
    perform made('c', '2026-05-01 00:30Z');
    tasks := run(at_);
    return format('%s tasks:%s; %s', tasks, (select string_agg(' ' || substr(t.rn, 14, 2), '') from
                  (select rn from scylla.task order by created) t), told('c'));
end $$;
select is(catch_up('none', '1 day'), '1 tasks: 06; 1 runs, 0 skipped, 5 missed, next 2026-05-01T07:00:00Z',
          'none: what is not of the last two minutes is missed');
select is(catch_up('latest', '1 day'), '1 tasks: 06; 1 runs, 0 skipped, 5 missed, next 2026-05-01T07:00:00Z',
          'latest: one');
select is(catch_up('latest', '1 h', at_ => '2026-05-01 06:59Z'),
          '1 tasks: 06; 1 runs, 0 skipped, 5 missed, next 2026-05-01T07:00:00Z', 'if it is not too late');
select is(catch_up('latest', '30 min', at_ => '2026-05-01 06:31Z'),
          '0 tasks:; 0 runs, 0 skipped, 6 missed, next 2026-05-01T07:00:00Z', 'and none if it is');
select is(catch_up('latest', '0', at_ => '2026-05-01 06:02Z'),
          '1 tasks: 06; 1 runs, 0 skipped, 5 missed, next 2026-05-01T07:00:00Z', 'which two minutes never are');
select is(catch_up('latest', null), '1 tasks: 06; 1 runs, 0 skipped, 5 missed, next 2026-05-01T07:00:00Z',
          'without a grace nothing is too late');
select is(catch_up('all', '2 h'), '2 tasks: 05 06; 2 runs, 0 skipped, 4 missed, next 2026-05-01T07:00:00Z',
          'all: those that are not too late, in order');
select is(catch_up('all', null), '6 tasks: 01 02 03 04 05 06; 6 runs, 0 skipped, 0 missed, next '
          '2026-05-01T07:00:00Z', 'or all of them');
select is(catch_up('all', null, 3), '3 tasks: 04 05 06; 3 runs, 0 skipped, 3 missed, next 2026-05-01T07:00:00Z',
          'the latest, up to a bound');
do $$ begin
    perform scylla.unschedule('c');
    perform scheduled('c', '0 * * * *', catch_up => 'none');
    perform made('c', '2026-05-01 00:30Z');
end $$;
select is(run('2026-05-01 01:03Z'), 0::bigint, 'none: not after three minutes');
select is(run('2026-05-01 02:02Z'), 1::bigint, 'but after two');
do $$ begin
    perform scylla.unschedule('c');
    perform scheduled('c', '10 seconds', catch_up => 'none');
    perform made('c', '2026-05-01 00:00Z');
end $$;
select is(run('2026-05-01 00:01Z'), 6::bigint, 'every ten seconds, by a tick every minute');
do $$ begin
    perform scylla.unschedule('c');
    perform scheduled('c', '1 second', catch_up => 'all', max_catch_up => 2);
    perform made('c', '2025-01-01');
end $$;
select is(run('2026-01-01'), 2::bigint, 'every second for a year');
select is(told('c'), '2 runs, 0 skipped, 31535998 missed, next 2026-01-01T00:00:01Z', 'is counted, and the last are run');
do $$ begin
    perform scylla.unschedule('c');
    perform scheduled('c', '0 12 * * *', catch_up => 'all', max_catch_up => 3, grace => null);
    perform made('c', '2026-01-01 12:00Z');
end $$;
select is(run('2026-01-11 12:00Z'), 3::bigint, 'ten days');
select is(told('c'), '3 runs, 0 skipped, 7 missed, next 2026-01-12T12:00:00Z', 'are counted, and the last are run');

-- ---- overlap -------------------------------------------------------------------------------------------------------

create function overlap(overlap text, state text) returns text language plpgsql as $$
declare
    first constant text := 'o/2026-05-01T01:00:00Z';
begin
    truncate scylla.task_spec, scylla.task_ready, scylla.task_lease, scylla.task_waiting, scylla.task_outcome;
    perform scylla.unschedule(name) from scylla.schedules;
    perform scheduled('o', '0 * * * *', overlap => overlap);
    perform made('o', '2026-05-01 00:30Z');
    perform run('2026-05-01 01:00Z');
    if state = 'purged' then
        truncate scylla.task_spec, scylla.task_ready;
    elsif state <> 'ready' then
        perform scylla.lease_task(first, 'w');
        case state when 'running' then null;
                   when 'retried' then perform scylla.fail(first, 'w', '{"code": "x"}', '1 h');
                   when 'completed' then perform scylla.complete(first, 'w'); end case;
    end if;
    perform run('2026-05-01 02:00Z');
    return (select string_agg(substr(rn, 14, 2) || ' ' || status, ', ' order by rn) from scylla.task) || '; ' || told('o');
end $$;
select is(overlap('allow', 'running'), '01 running, 02 ready; 2 runs, 0 skipped, 0 missed, next 2026-05-01T03:00:00Z',
          'allow');
select is(overlap('skip', state), format('01 %s; 1 runs, 1 skipped, 0 missed, next 2026-05-01T03:00:00Z', shown),
          'skip while it is ' || state)
from (values ('ready', 'ready'), ('running', 'running'), ('retried', 'waiting')) s (state, shown);
select is(overlap('skip', 'completed'),
          '01 completed, 02 ready; 2 runs, 0 skipped, 0 missed, next 2026-05-01T03:00:00Z', 'not when it has ended');
select is(overlap('skip', 'purged'), '02 ready; 2 runs, 0 skipped, 0 missed, next 2026-05-01T03:00:00Z', 'or is gone');
select is(overlap('replace', state), '01 cancelled, 02 ready; 2 runs, 0 skipped, 0 missed, next 2026-05-01T03:00:00Z',
          'replace one that is ' || state)
from unnest(array['ready', 'running', 'retried']) state;
select is(overlap('replace', 'completed'),
          '01 completed, 02 ready; 2 runs, 0 skipped, 0 missed, next 2026-05-01T03:00:00Z', 'nothing to replace');
select is(skip_reason, null, 'nothing was skipped') from scylla.schedules;
do $$ begin perform overlap('skip', 'running'); end $$;
select is(last_skipped || ' ' || skip_reason, '2026-05-01 02:00:00+00 "o/2026-05-01T01:00:00Z" has not ended', 'what was skipped says why')
from scylla.schedules;
-- Several that are caught up overlap among themselves.
create function overlap_of_all(overlap text) returns text language plpgsql as $$
begin
    truncate scylla.task_spec, scylla.task_ready, scylla.task_lease, scylla.task_waiting, scylla.task_outcome;
    perform scylla.unschedule(name) from scylla.schedules;
    perform scheduled('o', '0 * * * *', overlap => overlap, catch_up => 'all', grace => null);
    perform made('o', '2026-05-01 00:30Z');
    perform run('2026-05-01 03:00Z');
    return (select string_agg(substr(rn, 14, 2) || ' ' || status, ', ' order by rn) from scylla.task) || '; ' || told('o');
end $$;
select is(overlap_of_all('skip'), '01 ready; 1 runs, 2 skipped, 0 missed, next 2026-05-01T04:00:00Z', 'skip and all');
select is(overlap_of_all('replace'),
          '01 cancelled, 02 cancelled, 03 ready; 3 runs, 0 skipped, 0 missed, next 2026-05-01T04:00:00Z',
          'replace and all');

-- ---- plans ---------------------------------------------------------------------------------------------------------

create function empty() returns void language sql as $$
    truncate scylla.task_spec, scylla.task_ready, scylla.task_lease, scylla.task_waiting, scylla.task_outcome,
        scylla.task_gate, scylla.task_plan, scylla.task_dedup;
    select scylla.unschedule(name) from scylla.schedules;
$$;
create function planned(tasks jsonb, name text = 'p', cron text = '0 2 * * *', overlap text = 'allow',
                        catch_up text = 'latest', jitter interval = '0', planned_key text = null)
    returns timestamptz language sql as $$
    select scylla.schedule_plan(name, cron, tasks, overlap => overlap, catch_up => catch_up, jitter => jitter,
                                planned_key => planned_key);
$$;
create function template() returns jsonb immutable language sql as $$
    select '[{"queue": "q", "rn": "load", "spec": {"a": 1}},
             {"queue": "q", "rn": "report", "spec": {"a": 2}, "depends_on": ["load"], "priority": 7},
             {"queue": "q", "spec": {}, "depends_on": ["report", "load"]},
             {"queue": "q", "rn": "aside", "spec": {}, "depends_on": null}]'::jsonb $$;
do $$ begin
    perform empty();
    perform planned(template(), planned_key => 'when');
    perform made('p', '2026-05-01 01:30Z');
end $$;
select results_eq('select queue, spec, options, tasks from scylla.schedules',
                  'select null::text, null::jsonb, null::jsonb, template()', 'the view shows the tasks of plans');
select is_empty('select from scylla.task', 'the rehearsal leaves no task');
select is_empty('select from scylla.plan', 'and no plan');
select is(run('2026-05-01 02:00:03Z'), 1::bigint, 'a plan is submitted');
select results_eq('select rn, status, spec, priority, plan from scylla.task order by rn',
    $$values ('p/2026-05-01T02:00:00Z/3', 'waiting'::scylla.task_status, '{"when": "2026-05-01T02:00:00Z"}'::jsonb, 0,
              'p/2026-05-01T02:00:00Z'),
             ('p/2026-05-01T02:00:00Z/aside', 'ready', '{"when": "2026-05-01T02:00:00Z"}', 0, 'p/2026-05-01T02:00:00Z'),
             ('p/2026-05-01T02:00:00Z/load', 'ready', '{"a": 1, "when": "2026-05-01T02:00:00Z"}', 0,
              'p/2026-05-01T02:00:00Z'),
             ('p/2026-05-01T02:00:00Z/report', 'waiting', '{"a": 2, "when": "2026-05-01T02:00:00Z"}', 7,
              'p/2026-05-01T02:00:00Z')$$, 'its tasks are called after it, wait for each other, and bear the planned time');
select results_eq('select name, status, spec from scylla.plan',
    $$values ('p/2026-05-01T02:00:00Z', 'running',
              '{"schedule": "p", "planned": "2026-05-01T02:00:00Z"}'::jsonb)$$, 'it runs');
select is(last_task, 'p/2026-05-01T02:00:00Z', 'the schedule remembers the plan') from scylla.schedules;
do $$
declare
    t scylla.task;
begin
    for i in 1 .. 4 loop
        select * into t from scylla.lease('q', 'w');
        perform scylla.complete(t.rn, 'w', to_jsonb(split_part(t.rn, '/', -1)));
    end loop;
end $$;
select results_eq('select status from scylla.plan', $$values ('completed')$$, 'it can be done');
select is(args, '["report", "load"]', 'in order') from scylla.task where rn like '%/3';
do $$ begin perform made('p', '2026-05-01 01:30Z'); end $$;
select is(run('2026-05-01 02:00:03Z'), 0::bigint, 'a plan that is there is not submitted again');
select is(told('p'), '1 runs, 0 skipped, 1 missed, next 2026-05-02T02:00:00Z', 'but counted as missed');
select is(last_error, '42710: plan "p/2026-05-01T02:00:00Z" already exists', 'and the schedule says why') from scylla.schedules;

create function overlap_of_plans(overlap text, ended boolean) returns text language plpgsql as $$
begin
    perform empty();
    perform planned(template(), overlap => overlap);
    perform made('p', '2026-05-01 01:30Z');
    perform run('2026-05-01 02:00Z');
    if ended then
        perform scylla.cancel_plan('p/2026-05-01T02:00:00Z');
    end if;
    perform run('2026-05-02 02:00Z');
    return (select string_agg(substr(name, 11, 2) || ' ' || status, ', ' order by name) from scylla.plan) || '; '
           || told('p');
end $$;
select is(overlap_of_plans('allow', false), '01 running, 02 running; 2 runs, 0 skipped, 0 missed, next '
          '2026-05-03T02:00:00Z', 'plans may overlap');
select is(overlap_of_plans('skip', false), '01 running; 1 runs, 1 skipped, 0 missed, next 2026-05-03T02:00:00Z',
          'or be skipped');
select is(overlap_of_plans('skip', true), '01 cancelled, 02 running; 2 runs, 0 skipped, 0 missed, next '
          '2026-05-03T02:00:00Z', 'while one is live');
select is(overlap_of_plans('replace', false), '01 cancelled, 02 running; 2 runs, 0 skipped, 0 missed, next '
          '2026-05-03T02:00:00Z', 'or replace it');
select is(count(*), 4::bigint, 'with all its tasks') from scylla.task where status = 'cancelled';
select is(overlap_of_plans('replace', true), '01 cancelled, 02 running; 2 runs, 0 skipped, 0 missed, next '
          '2026-05-03T02:00:00Z', 'if it is live');
do $$ begin
    perform empty();
    perform planned('[{"queue": "q", "rn": "a", "spec": 1}, {"queue": "not there at all", "rn": "b", "spec": 1}]');
    perform made('p', '2026-05-01 01:30Z');
    perform scylla.submit('q', '1', rn => 'make the queue');
end $$;
set local scylla.auto_create_queues = off;
select is(run('2026-05-01 02:00Z'), 0::bigint, 'a plan of which a task cannot be submitted');
select is(last_error, '42704: queue "not there at all" does not exist', 'is an error') from scylla.schedules;
select is_empty('select from scylla.plan', 'and leaves no plan');
select is_empty($$select from scylla.task where rn <> 'make the queue'$$, 'and no task');
set local scylla.auto_create_queues = on;
select is(run('2026-05-01 02:01Z'), 1::bigint, 'until it can be');

do $$ begin
    perform empty();
    perform planned(template(), jitter => '1 h', catch_up => 'all');
    perform made('p', '2100-05-01 01:30Z');
    perform run('2100-05-01 02:00Z');
end $$;
select is(count(distinct s.not_before), 1::bigint, 'a plan is delayed as a whole') from scylla.task_spec s;

select refuses_argument(format('select planned(%s)', argument), split_part(argument, ' ', 1), value, rule)
from (values
    ('tasks => null',      'null',  'It must be an array of objects, and not empty.'),
    ('tasks => ''[]''',    '[]',    'It must be an array of objects, and not empty.'),
    ('tasks => ''{}''',    '{}',    'It must be an array of objects, and not empty.'),
    ('tasks => ''7''',     '7',     'It must be an array of objects, and not empty.'),
    ('name => '''', tasks => template()', '""', 'It must have 1 to 150 characters.'),
    ('cron => '''', tasks => template()', '""', 'It must have five fields (minute, hour, day of the month, month, day '
                                          'of the week), or be a name like @daily or "30 seconds".'),
    ('overlap => '''', tasks => template()', '""', 'It must be "allow", "skip" or "replace".')) a (argument, value, rule);
select refuses_element(format('select planned(%L, planned_key => %L)', tasks, key), element, argument, value, rule)
from (values
    ('[1]', null, 1, 'tasks', '1', 'Each element must be an object.'),
    ('[{"queue": "q", "spec": 1}, {"plan": "p"}]', null, 2, 'tasks', '{"plan": "p"}',
     'The schedule itself gives plan and not_before.'),
    ('[{"not_before": null}]', null, 1, 'tasks', '{"not_before": null}', 'The schedule itself gives plan and not_before.'),
    ('[{"rn": 7}]', null, 1, 'rn', '7', 'It must be a text.'),
    ('[{"depends_on": "x"}]', null, 1, 'depends_on', '"x"', 'It must be an array of texts.'),
    ('[{"queue": "q", "spec": [1]}]', 'k', 1, 'planned_key', '"k"', 'The spec must be an object to have a key.'),
    ('[{"queue": "q", "spec": 1, "colour": 1}]', null, 1, 'tasks', '"colour"', 'There is no such argument of submit.'),
    ('[{"queue": "q"}]', null, 1, 'spec', 'null', 'A task must say what is to be done.'))
    a (tasks, key, element, argument, value, rule);
select is(split_part(raised($$select planned('[{"queue": "q", "rn": "a", "spec": 1, "depends_on": ["b"]}]', name => 't')$$),
                     E'\n', 2), 'task "b" in "depends_on" in element 1 does not exist', 'what is no task of the plan is a task outside');
select is(count(*), 1::bigint, 'none of these has made a schedule') from scylla.schedules;
do $$ begin
    perform empty();
    perform scylla.submit('q', '1', rn => 'b');
    perform planned('[{"queue": "q", "rn": "a", "spec": 1, "depends_on": ["b"]}]');
    perform made('p', '2026-05-01 01:30Z');
    perform run('2026-05-01 02:00Z');
end $$;
select results_eq('select rn, status from scylla.task order by rn',
                  $$values ('b', 'ready'::scylla.task_status), ('p/2026-05-01T02:00:00Z/a', 'waiting')$$,
                  'for which it waits');
do $$ begin
    perform empty();
    perform scheduled('s', '0 2 * * *');
    perform planned(template(), name => 's');
    perform made('s', '2026-05-01 01:30Z');
end $$;
select is(run('2026-05-01 02:00Z'), 1::bigint, 'a schedule of a task can become one of plans');
select results_eq('select name from scylla.plan', $$values ('s/2026-05-01T02:00:00Z')$$, 'which it is then');

-- ---- start, end, jitter ----------------------------------------------------------------------------------------------

do $$ begin
    perform empty();
    perform scheduled('e', '0 * * * *', catch_up => 'all', grace => null, starts => '2050-05-01 02:00Z',
                      ends => '2050-05-01 04:00Z');
end $$;
select is(next_run, '2050-05-01 02:00Z', 'the start counts') from scylla.schedules;
select is(run('2050-05-01 10:00Z'), 2::bigint, 'the end does not');
select is(next_run, null, 'it is over') from scylla.schedules;
select is(missed, 0::bigint, 'nothing was missed') from scylla.schedules;
select is(run('2050-05-02'), 0::bigint, 'nothing comes any more');

do $$ begin
    perform scylla.unschedule('e');
    perform scheduled('j', '* * * * *', catch_up => 'all', grace => null, jitter => '1 hour');
    perform made('j', '2100-05-01 00:00Z');
end $$;
select is(run('2100-05-01 01:40Z'), 100::bigint, 'a hundred tasks, delayed');
create function delays() returns setof interval language sql as $$
    select coalesce(not_before - split_part(rn, '/', -1)::timestamptz, '0') from scylla.task where rn like 'j/%' order by rn;
$$;
select is_empty($$select * from delays() d where not d between '0' and interval '59:59.999999'$$,
                'by less than the jitter');
select ok(count(distinct d) > 90 and min(d) < interval '10 min' and max(d) > interval '50 min', 'by all sorts of times')
from delays() d;
create temp table delay as select array(select delays()) as d;
do $$ begin
    perform done();
    truncate scylla.task_spec, scylla.task_ready, scylla.task_lease, scylla.task_waiting, scylla.task_outcome;
    perform made('j', '2100-05-01 00:00Z');
    perform run('2100-05-01 01:40Z');
end $$;
select is(array(select delays()), d, 'and the same for the same planned time') from delay;

-- ---- changing a schedule ---------------------------------------------------------------------------------------------

do $$ begin
    truncate scylla.task_spec, scylla.task_ready, scylla.task_lease, scylla.task_waiting, scylla.task_outcome;
    perform scylla.unschedule('j');
    perform scheduled('s', '0 * * * *');
    perform made('s', now() - interval '90 min');
    perform scheduled('s', '0 * * * *', queue => 'other', spec => '2', catch_up => 'all', grace => '2 h');
end $$;
select cmp_ok(scylla.run_schedules(), '>=', 1::bigint, 'what was due is still due when the rest of a schedule changes');
select is(array_agg(distinct queue || spec), array['other2'], 'by its new terms') from scylla.task;
do $$ begin
    perform made('s', now() - interval '90 min');
    perform scheduled('s', '1 * * * *', catch_up => 'all', grace => '2 h');
end $$;
select is(scylla.run_schedules(), 0::bigint, 'a schedule that comes at other times begins now');
select cmp_ok(runs, '>=', 1::bigint, 'and goes on counting') from scylla.schedules;

-- ---- failures ----------------------------------------------------------------------------------------------------------

do $$ begin
    perform scylla.unschedule(name) from scylla.schedules;
    truncate scylla.queue, scylla.task_spec, scylla.task_ready, scylla.task_outcome;
    perform scheduled('f', '0 * * * *', 'not there', catch_up => 'all');
    perform scheduled('g', '0 * * * *', 'not there either');
    perform scylla.create_queue('not there either');
    perform made(name, '2026-05-01 00:30Z') from unnest(array['f', 'g']) name;
end $$;
set local scylla.auto_create_queues = off;
select is(run('2026-05-01 01:00Z'), 1::bigint, 'a schedule that fails does not keep the others');
select is(last_error, '42704: queue "not there" does not exist', 'a schedule that fails says why') from scylla.schedules where name = 'f';
select ok(failed between now() and clock_timestamp(), 'and when') from scylla.schedules where name = 'f';
select is(told('f'), '0 runs, 0 skipped, 0 missed, next 2026-05-01T01:00:00Z', 'it is tried again');
select is(run('2026-05-01 01:30Z'), 0::bigint, 'and again');
set local scylla.auto_create_queues = on;
select is(run('2026-05-01 01:45Z'), 1::bigint, 'until it goes');
select results_eq($$select last_error, failed, runs from scylla.schedules where name = 'f'$$,
                  $$values (null::text, null::timestamptz, 1::bigint)$$, 'then all is well');
do $$ begin truncate scylla.queue, scylla.task_spec, scylla.task_ready; end $$;
set local scylla.auto_create_queues = off;
select is(run('2026-05-01 03:00Z'), 0::bigint, 'two of one are due, and fail');
select is(told('f'), '1 runs, 0 skipped, 0 missed, next 2026-05-01T02:00:00Z', 'the first of them is next');
select is(run('2026-05-01 03:30Z'), 0::bigint, 'later');
select is(told('f'), '1 runs, 0 skipped, 1 missed, next 2026-05-01T03:00:00Z', 'it is too late for the first');
set local scylla.auto_create_queues = on;
update scylla.schedule set timezone = 'Mars/Olympus' where name = 'g';
select is(run('2026-05-01 03:31Z'), 1::bigint, 'a schedule that cannot be read does not keep the others either');
select is(last_error, '22023: invalid value for argument "timezone": "Mars/Olympus"', 'a schedule that cannot be read says why')
from scylla.schedules where name = 'g';
do $$ begin perform scylla.unschedule('g'); end $$;

-- ---- whose ---------------------------------------------------------------------------------------------------------

create role scylla_test_role;
create role scylla_test_member;
create role scylla_test_other;
grant scylla_test_role to scylla_test_member;
grant usage on schema scylla to scylla_test_role, scylla_test_other;
grant execute on function scylla.schedule, scylla.unschedule, scylla.arm_schedules, scylla.run_schedules
   to scylla_test_role, scylla_test_other;
grant select on scylla.schedules to scylla_test_role, scylla_test_other;
create function as_role(role text, statement text) returns text language plpgsql as $$
declare answer text;
begin
    perform set_config('role', role, true);
    execute statement into answer;
    perform set_config('role', 'none', true);
    return answer;
exception when others then
    return sqlstate || ' ' || sqlerrm;
end $$;
select is(as_role('scylla_test_role', $$select scylla.schedule('mine', '0 * * * *', 'q', '1')$$),
          '42501 permission denied for function submit_many', 'a schedule can do no more than its owner');
grant execute on function scylla.submit_many, scylla.cancel to scylla_test_role;
select isnt(as_role('scylla_test_role', $$select scylla.schedule('mine', '0 * * * *', 'q', '1', overlap => 'replace')$$), null,
            'whoever may submit may schedule');
select is(owner, 'scylla_test_role', 'and owns it') from scylla.schedules where name = 'mine';
select is(as_role('scylla_test_other', $$select scylla.schedule('mine', '1 * * * *', 'q', '2')$$),
          '42501 permission denied for schedule "mine"', 'nobody else can change it');
select is(as_role('scylla_test_other', $$select scylla.unschedule('mine')$$), '42704 schedule "mine" does not exist',
          'nor remove it');
select is(as_role('scylla_test_other', $$select string_agg(name, ' ') from scylla.schedules$$), null, 'nor see it');
select is(as_role('scylla_test_role', $$select string_agg(name, ' ') from scylla.schedules$$), 'mine', 'the owner can');
select isnt(as_role('scylla_test_member', $$select scylla.schedule('mine', '1 * * * *', 'q', '2', overlap => 'replace')$$), null,
            'so can a member of the role');
select is(owner || cron, 'scylla_test_role1 * * * *', 'whose it stays') from scylla.schedules where name = 'mine';
do $$ begin
    perform scylla.unschedule('f');
    perform made('mine', now() - interval '90 min');
end $$;
select is(as_role('scylla_test_other', 'select scylla.run_schedules()'), '1', 'whoever ticks');
do $$ begin perform made('mine', '2026-05-01 00:30Z'); end $$;
revoke execute on function scylla.submit_many from scylla_test_role;
select is(run('2026-05-01 01:01Z'), 0::bigint, 'the rights that count are the owner''s');
select is(last_error, '42501: permission denied for function submit_many', 'and count when it runs')
from scylla.schedules where name = 'mine';
grant execute on function scylla.submit_many to scylla_test_role;
select is(run('2026-05-01 01:02Z'), 1::bigint, 'with them it goes');
revoke execute on function scylla.cancel from scylla_test_role;
select is(run('2026-05-01 02:02Z'), 0::bigint, 'replacing takes the right to cancel');
select is(last_error, '42501: permission denied for function cancel', 'and fails without')
from scylla.schedules where name = 'mine';
update scylla.schedule set owner = 'nobody at all' where name = 'mine';
select is(run('2026-05-01 02:03Z'), 0::bigint, 'the owner may be gone');
select is(last_error, '42704: role "nobody at all" does not exist', 'and the schedule says so')
from scylla.schedules where name = 'mine';
select is(as_role('scylla_test_role', $$select count(*) from scylla.schedules$$), '0',
          'only a superuser sees a schedule without an owner');
-- Internal functions: for the owner of the extension only, whoever has EXECUTE.
grant execute on all functions in schema scylla to scylla_test_other;
select is(as_role('scylla_test_other', 'select scylla._run_schedules_at(now())'),
          '42501 permission denied for scylla._run_schedules_at()', 'EXECUTE does not let a role move the clock');
select is_empty($$select proname from pg_proc where pronamespace = 'scylla'::regnamespace
                  and proname in ('_as_role', '_cron_due', '_keep_tick', '_put_schedule', '_schedule', '_unschedule', '_run_schedule')$$,
                'and what could be told to run anything is no function any more');
select throws_ok('select scylla._run_schedules_at(''infinity'')', '22023', null, 'nobody moves it beyond all times');
select lives_ok('select scylla._run_schedules_at(null)', 'null is now');

-- ---- names and keys that are taken -----------------------------------------------------------------------------------

do $$ begin
    perform empty();
    perform scheduled('s', '0 * * * *', catch_up => 'all', grace => null);
    perform made('s', '2026-05-01 00:30Z');
    perform scylla.submit('q', '"mine"', rn => 's/2026-05-01T01:00:00Z');
end $$;
select is(run('2026-05-01 02:00Z'), 1::bigint, 'a name that somebody has taken costs the schedule that planned time only');
select is(told('s'), '1 runs, 0 skipped, 1 missed, next 2026-05-01T03:00:00Z', 'which counts as missed');
do $$ begin
    perform empty();
    perform scheduled('s', '0 * * * *');
    perform made('s', '2026-05-01 00:30Z');
    perform scylla.submit('q', '"mine"', rn => 's/2026-05-01T01:00:00Z');
    perform run('2026-05-01 01:00Z');
end $$;
select is(last_error || coalesce(last_task, ', and no task'), '23505: task "s/2026-05-01T01:00:00Z" already exists, and no task',
          'and shows as an error') from scylla.schedules;
select ok(failed between now() and clock_timestamp(), 'with its time') from scylla.schedules;
select lives_ok($$select scheduled('t', '0 0 1 1 *', starts => '2040-01-01'); select scylla.submit('q', '1', rn => 't/2041-01-01T00:00:00Z');
                  select scheduled('t', '0 0 1 1 *', starts => '2041-01-01')$$, 'that a name is taken keeps nobody from changing a schedule');

do $$ begin
    perform empty();
    perform scheduled('s', '0 * * * *', options => '{"dedup_key": "one"}');
    perform made('s', '2026-05-01 00:30Z');
    perform run('2026-05-01 01:00Z');
    perform run('2026-05-01 02:00Z');
end $$;
select is(told('s'), '1 runs, 1 skipped, 0 missed, next 2026-05-01T03:00:00Z', 'a planned time whose dedup_key is taken is skipped');
select results_eq('select last_run, last_task, last_skipped, skip_reason, last_error from scylla.schedules',
    $$values (timestamptz '2026-05-01 01:00Z', 's/2026-05-01T01:00:00Z', timestamptz '2026-05-01 02:00Z',
              'a live task of queue "q" already has the deduplication key "one"', null::text)$$, 'with the reason, and the last task stays the last');
do $$ begin perform scylla.lease_task('s/2026-05-01T01:00:00Z', 'w'), scylla.complete('s/2026-05-01T01:00:00Z', 'w'); end $$;
select is(run('2026-05-01 03:00Z'), 1::bigint, 'until it is free');
do $$ begin
    perform scheduled('s', '0 * * * *', options => '{"dedup_key": "one", "dedup_for": "1 day"}'), scylla.cancel('s/2026-05-01T03:00:00Z');
    perform made('s', '2026-05-01 03:30Z'), run('2026-05-01 04:00Z'), scylla.lease_task('s/2026-05-01T04:00:00Z', 'w'), scylla.complete('s/2026-05-01T04:00:00Z', 'w');
    perform run('2026-05-01 05:00Z');
end $$;
select ok(last_task = 's/2026-05-01T04:00:00Z' and skipped = 2 and skip_reason like 'a completed task of queue "q" keeps the deduplication key "one" until %', 'or as long as the completed one keeps it')
from scylla.schedules;
do $$ begin
    perform empty();
    perform scylla.submit('q', '1', dedup_key => 'one');
    perform planned('[{"queue": "q", "rn": "a", "spec": 1}, {"queue": "q", "rn": "b", "spec": 1, "dedup_key": "one"}]');
    perform made('p', '2026-05-01 01:30Z');
end $$;
select is(run('2026-05-01 02:00Z'), 0::bigint, 'so is a plan with such a task');
select is(told('p'), '0 runs, 1 skipped, 0 missed, next 2026-05-02T02:00:00Z', 'as a whole');
select is_empty('select from scylla.plan', 'nothing is left of it');
select throws_ok($$select planned('[{"queue": "q", "rn": "a", "spec": 1}, {"queue": "q", "rn": "a", "spec": 1}]', name => 'twice')$$,
                 '23505', null, 'two tasks of a plan cannot have one name');
do $$ begin perform empty(); end $$;

-- ---- the switch ----------------------------------------------------------------------------------------------------

do $$ begin
    perform scylla.unschedule(name) from scylla.schedules;
    truncate scylla.task_spec, scylla.task_ready, scylla.task_outcome;
    perform scheduled('s', '0 * * * *');
    perform made('s', '2026-05-01 00:30Z');
end $$;
set local scylla.schedules = off;
select is(run('2026-05-01 01:01Z'), 0::bigint, 'switched off');
set local scylla.schedules = manual;
update scylla.schedule set home = 'another database';
select is(armed, false, 'what came from elsewhere is not armed') from scylla.schedules;
select is(run('2026-05-01 01:01Z'), 0::bigint, 'and does not run');
select is(as_role('scylla_test_other', 'select scylla.arm_schedules()'), '0', 'a role arms its own');
select is(scylla.arm_schedules(), 1::bigint, 'until it is armed');
select is(armed, true, 'as the view says') from scylla.schedules;
select is(scylla.arm_schedules(), 0::bigint, 'once');
select is(run('2026-05-01 01:01Z'), 1::bigint, 'then it runs');
update scylla.schedule set home = 'another database';
do $$ begin perform scheduled('s', '0 * * * *'); end $$;
select is(armed and next_run > now(), true, 'to schedule it again does it, too, from now on') from scylla.schedules;

-- ---- who ticks ------------------------------------------------------------------------------------------------------

select throws_ok('set local scylla.schedules = cron', '22023', null, 'scylla.schedules has four values');
do $$ begin
    perform scylla.unschedule(name) from scylla.schedules;
    update scylla.schedule_tick set ticked = null;
    perform scheduled('s', '0 * * * *');
end $$;
select is(ticked, null, 'nothing has ticked') from scylla.schedules;
do $$ begin perform scylla.run_schedules(); end $$;
select ok(ticked between now() and clock_timestamp(), 'now somebody has') from scylla.schedules;
do $$ begin
    perform scylla.unschedule('s');
    perform scheduled('p');
end $$;

-- ---- without pg_cron ---------------------------------------------------------------------------------------------------

set local scylla.schedules = pg_cron;
select refuses('select scheduled(''p'')', '55000', 'pg_cron', 'pg_cron is not available',
               'Nothing runs schedules: this server runs no monitor, and does not preload pg_cron.', table_ => 'schedule');
select is(count(*), 1::bigint, 'no schedule was made') from scylla.schedules;
select lives_ok($$select scylla.unschedule('p')$$, 'unschedule needs no pg_cron');

select all_is_sound();
select * from finish();
rollback;
