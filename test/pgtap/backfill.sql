-- Backfills: many runs of one workflow. Section 11 of the specification of Maestro's behaviour has no such thing; users do it with foreach.
begin;
\ir include/helpers.psql
select * from no_plan();
select scylla.create_queue('a') \g /dev/null

create function make(id text, strategy text = '"parallel"', more jsonb = '{}') returns int language sql as $$
    select scylla.create_workflow(jsonb_build_object(
        'properties', jsonb_build_object('owner', 'ada', 'run_strategy', strategy::jsonb),
        'workflow', jsonb_build_object('id', id, 'criticality', 'HIGH', 'params', '{"day": {"type": "STRING", "value": "none"}}'::jsonb,
                                       'steps', '[{"step": {"id": "one", "type": "A"}}]'::jsonb) || more))
$$;
-- Ends the oldest task of the queue, and lets the engine go on. Returns the day of its run.
create function work(code text = null) returns text language plpgsql as $$
declare t scylla.task;
begin
    select * into t from scylla.lease('a', 'w');
    if t.rn is null then
        return null;
    end if;
    if code is null then
        perform scylla.complete(t.rn, 'w');
    else
        perform scylla.abort(t.rn, 'w', jsonb_build_object('code', code, 'message', 'no'));
    end if;
    perform scylla._advance();
    return (select coalesce(r.params ->> 'day', r.params ->> 'n') from scylla.workflow_run r
            where r.workflow = t.spec ->> 'workflow' and r.instance = (t.spec ->> 'instance')::bigint);
end $$;
create function started() returns bigint language sql as 'select count(*) from scylla.workflow_run where ended is null';
create function days(id bigint) returns text language sql as $$
    select string_agg((params ->> 'day') || ' ' || status, ', ' order by number) from scylla.workflow_backfill_item where backfill = id
$$;
create function items(of jsonb, newest_first boolean = false) returns text language sql as $$
    select string_agg(params::text, ' ' order by number) from scylla.preview_backfill('w', of, newest_first => newest_first)
$$;
create function raises(statement text, code text, table_ text, rule text) returns text language sql as $$
    select is(split_part(raised(statement), E'\n', 1), format('%s scylla.%s/%s', code, table_, rule), 'refused: ' || regexp_replace(statement, '[0-9]{2,}', 'N'))
$$;
select make('w') \g /dev/null

-- ---- items ---------------------------------------------------------------------------------------------------------

select is(items('[{"day": "x"}, {}]'), '{"day": "x"} {}', 'a list of parameters');
select is(items('[{"day": "x"}, {"day": "y"}]', true), '{"day": "y"} {"day": "x"}', 'from its end');
select is(items('{"n": {"from": 3, "to": 9, "step": 3}}'), '{"n": 3} {"n": 6} {"n": 9}', 'a range of numbers has both ends');
select is(items('{"n": {"from": 3, "to": 4}}'), '{"n": 3} {"n": 4}', 'its step is 1');
select is(items('{"b": ["x", "y"], "a": [1, null]}'), '{"a": 1, "b": "x"} {"a": 1, "b": "y"} {"a": null, "b": "x"} {"a": null, "b": "y"}',
    'all combinations, the last name going fastest');
select is(items('{"day": {"from": "2026-02-27", "to": "2026-03-01"}}'), '{"day": "2026-02-27"} {"day": "2026-02-28"} {"day": "2026-03-01"}', 'days');
select is(items('{"day": {"from": "2026-01-31", "to": "2026-04-30", "step": "1 month"}}'),
    '{"day": "2026-01-31"} {"day": "2026-02-28"} {"day": "2026-03-31"} {"day": "2026-04-30"}', 'months are counted from the first day');
select is(items('{"n": {"from": "2026-01-01", "to": "2026-01-02", "format": "dateint"}}'), '{"n": 20260101} {"n": 20260102}', 'days as numbers');
select is(items('{"day": {"from": "2026-03-29 00:30", "to": "2026-03-29 03:30", "step": "1 hour", "format": "timestamp", "timezone": "Europe/Berlin"}}'),
    '{"day": "2026-03-28T23:30:00Z"} {"day": "2026-03-29T00:30:00Z"} {"day": "2026-03-29T01:30:00Z"}', 'hours, with that which the clocks leave out');
select is(items('{"n": {"from": "1970-01-02", "to": "1970-01-02", "format": "millis"}}'), '{"n": 86400000}', 'milliseconds');
set timezone = 'Asia/Tokyo';
select is(items('{"n": {"from": "1970-01-02", "to": "1970-01-02", "format": "millis"}}'), '{"n": 86400000}', 'whatever the zone of the session');
reset timezone;

-- Where clocks are set forward and back.
create function times(of text) returns text language sql as $$
    select string_agg(regexp_replace(params ->> 'n', 'T(..:..):00Z$', 'T\1'), ' ' order by number) from scylla.preview_backfill('w', jsonb_build_object('n', of::jsonb))
$$;
select is(times(of), expected, of)
from (values
    ('{"from": "2011-12-29", "to": "2012-01-01", "timezone": "Pacific/Apia"}', '2011-12-29 2011-12-31 2012-01-01'),
    ('{"from": "2011-12-28", "to": "2011-12-30", "timezone": "Pacific/Apia"}', '2011-12-28 2011-12-29'),
    ('{"from": "2011-12-30", "to": "2011-12-31", "timezone": "Pacific/Apia"}', '2011-12-31'),
    ('{"from": "2011-12-29 22:00", "to": "2011-12-31 02:00", "timezone": "Pacific/Apia", "step": "1 hour", "format": "timestamp"}',
     '2011-12-30T08:00 2011-12-30T09:00 2011-12-30T10:00 2011-12-30T11:00 2011-12-30T12:00'),
    ('{"from": "1993-08-19", "to": "1993-08-23", "timezone": "Pacific/Kwajalein"}', '1993-08-19 1993-08-20 1993-08-22 1993-08-23'),
    ('{"from": "2026-10-24 02:30", "to": "2026-10-26 02:30", "timezone": "Europe/Berlin", "format": "timestamp"}', '2026-10-24T00:30 2026-10-25T00:30 2026-10-26T01:30'),
    ('{"from": "2025-12-01 02:30", "to": "2026-10-25 02:30", "step": "328 days", "timezone": "Europe/Berlin", "format": "timestamp"}', '2025-12-01T01:30 2026-10-25T00:30'),
    ('{"from": "2026-10-25T02:30+01:00", "to": "2026-10-25T02:30+01:00", "timezone": "Europe/Berlin", "format": "timestamp"}', '2026-10-25T01:30'),
    ('{"from": "2026-10-25 01:30", "to": "2026-10-25 03:30", "step": "1 hour", "timezone": "Europe/Berlin", "format": "timestamp"}',
     '2026-10-24T23:30 2026-10-25T00:30 2026-10-25T01:30 2026-10-25T02:30'),
    ('{"from": "2026-10-25 01:30", "to": "2026-10-25T02:30+01:00", "step": "30 min", "timezone": "Europe/Berlin", "format": "timestamp"}',
     '2026-10-24T23:30 2026-10-25T00:00 2026-10-25T00:30 2026-10-25T01:00 2026-10-25T01:30'),
    ('{"from": "2026-03-28 02:30", "to": "2026-03-30 02:30", "timezone": "Europe/Berlin", "format": "timestamp"}', '2026-03-28T01:30 2026-03-29T01:30 2026-03-30T00:30'),
    ('{"from": "2026-04-04 01:45", "to": "2026-04-06 01:45", "timezone": "Australia/Lord_Howe", "format": "timestamp"}', '2026-04-03T14:45 2026-04-04T14:45 2026-04-05T15:15'),
    ('{"from": "2026-03-28 02:00", "to": "2026-03-30 02:00", "timezone": "Antarctica/Troll", "format": "timestamp"}', '2026-03-28T02:00 2026-03-29T02:00 2026-03-30T00:00'),
    ('{"from": "2026-10-24 01:30", "to": "2026-10-26 01:30", "timezone": "Europe/Dublin", "format": "timestamp"}', '2026-10-24T00:30 2026-10-25T00:30 2026-10-26T01:30'),
    ('{"from": "2026-01-01", "to": "2026-01-01", "timezone": "+02:00", "format": "timestamp"}', '2025-12-31T22:00'),
    ('{"from": "2026-01-01", "to": "2026-01-01", "timezone": "UTC-8", "format": "timestamp"}', '2026-01-01T08:00'),
    ('{"from": "2026-01-01T00:00:00+05:00", "to": "2026-01-01T00:00:00+05:00", "format": "timestamp"}', '2025-12-31T19:00'),
    ('{"from": "2026-01-01 00:00 America/New_York", "to": "2026-01-01 00:00 America/New_York", "format": "timestamp"}', '2026-01-01T05:00'),
    ('{"from": "2026-01-01T20:00Z", "to": "2026-01-02T20:00Z", "timezone": "Asia/Tokyo"}', '2026-01-02 2026-01-03'),
    ('{"from": "20260101", "to": "2026-01-02"}', '2026-01-01 2026-01-02'),
    ('{"from": "2026-01-01", "to": "2026-01-03", "step": "36 hours"}', '2026-01-01 2026-01-02'),
    ('{"from": "2026-01-01", "to": "2026-01-03", "step": "PT48H"}', '2026-01-01 2026-01-03')) v (of, expected);
select is(times('{"from": "2026-10-25 02:30", "to": "2026-10-25 02:30", "timezone": "Europe/Berlin", "format": "timestamp"}'),
          to_char(scylla.cron_next('30 2 * * *', '2026-10-24 12:00Z', 'Europe/Berlin') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI'), 'a time that comes twice is that of a schedule');
create function months_in(date_style text, zone text, interval_style text) returns text language plpgsql as $$
begin
    perform set_config('datestyle', date_style, false), set_config('timezone', zone, false), set_config('intervalstyle', interval_style, false);
    return times('{"from": "2026-01-31", "to": "2026-03-01", "step": "1 month"}');
end $$;
select is(months_in(date_style, zone, interval_style), '2026-01-31 2026-02-28', format('with %s, %s and %s', date_style, zone, interval_style))
from unnest(array['ISO, MDY', 'ISO, DMY', 'German', 'SQL, DMY', 'Postgres, YMD']) date_style, unnest(array['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'UTC']) zone,
     unnest(array['sql_standard', 'postgres_verbose']) interval_style;
reset datestyle; reset timezone; reset intervalstyle;

-- The same item twice.
select is((select string_agg(action, ' ' order by number) from scylla.preview_backfill('w', items::jsonb, existing => existing)), actions, existing || ' ' || items)
from (values ('[{"t": "x"}, {"t": "x"}]', 'skip', 'start skip'), ('[{"t": "x"}, {"t": "y"}, {"t": "x"}]', 'skip_all', 'start start skip'),
             ('[{"t": "x"}, {"t": "x"}]', 'start', 'start start'), ('[{"t": 1, "u": 2}, {"u": 2, "t": 1.0}]', 'skip', 'start skip'),
             ('{"t": ["x", "y", "x"], "u": [1, 1]}', 'skip', 'start skip start skip skip skip')) v (items, existing, actions);

create function refuses(items text) returns text language plpgsql as $$
begin
    perform scylla.preview_backfill('w', items::jsonb);
    return 'not refused';
exception when others then
    return sqlstate || ' ' || sqlerrm;
end $$;
select is(refuses(null), '22023 invalid value for argument "items": null', 'null');
select is(refuses('3'), '22023 invalid value for argument "items": 3', 'no list');
select is(refuses('[]'), '22023 invalid value for argument "items": []', 'an empty list');
select is(refuses('{}'), '22023 invalid value for argument "items": {}', 'an empty object');
select is(refuses('[{}, 7]'), '22023 invalid value for argument "items" in element 2: 7', 'an element that is no object');
select is(refuses('{"n": 7}'), '22023 invalid value for argument "items.n": 7', 'a value that is no list');
select is(refuses('{"n": {"from": 1}}'), '22023 invalid value for argument "items.n.to": null', 'half a range');
select is(refuses('{"n": {"from": 1, "to": "x"}}'), '22023 invalid value for argument "items.n.to": "x"', 'an end of another kind');
select is(refuses('{"n": {"from": 1, "to": 2.5}}'), '22023 invalid value for argument "items.n.to": 2.5', 'no whole number');
select matches(refuses('{"n": {"from": 1, "to": 1e400}}'), '^22023 invalid value for argument "items.n.to": 1000', 'a huge number');
select is(refuses('{"n": {"from": 1, "to": 2, "step": 0}}'), '22023 invalid value for argument "items.n.step": 0', 'a step of nothing');
select is(refuses('{"n": {"from": 1, "to": 2, "format": "date"}}'), '22023 invalid value for argument "items.n.format": "date"', 'a format of numbers');
select is(refuses('{"n": {"from": 1, "to": 2, "until": 3}}'), '22023 invalid value for argument "items.n.until": 3', 'an unknown member');
select is(refuses('{"n": {"from": "2026-01-01", "to": "2026-01-02", "step": "-1 day"}}'), '22023 invalid value for argument "items.n.step": "-1 day"', 'a step back');
select is(refuses('{"n": {"from": "2026-01-01", "to": "infinity"}}'), '22023 invalid value for argument "items.n.to": "infinity"', 'no end');
select is(refuses('{"n": {"from": "2026-01-01", "to": "2026-01-02", "format": "x"}}'), '22023 invalid value for argument "items.n.format": "x"', 'an unknown format');
select is(refuses(format('{"n": {"from": "%s", "to": "2026-12-31"}}', v)), format('22023 invalid value for argument "items.n.from": "%s"', v), 'no time: ' || v)
from unnest(array['01/02/2026', '1.2.2026', 'today', 'now', 'tomorrow', 'epoch', '2026-02-30', '2026-01-01 25:00', '2026-01-01 00:00+25:00', '2026-01-01 foo5', 'January 2, 2026']) v;
select is(refuses(format('{"n": {"from": "2026-01-01", "to": "2026-01-02", "timezone": "%s"}}', v)), format('22023 invalid value for argument "items.n.timezone": "%s"', v), 'no zone: ' || v)
from unnest(array['PST', 'foo5', '2', '+25:00', '<-03>3', 'CET-1CEST', '']) v;
select is(refuses(format('{"n": {"from": "2026-01-01", "to": "2026-01-02", "step": "%s"}}', v)), format('22023 invalid value for argument "items.n.step": "%s"', v), 'no step: ' || v)
from unnest(array['0', '0 days', '1,5 hours', '-1 day', '1 day ago', '102 years', 'daily']) v;
select is(refuses('{"n": {"from": "2026-01-01 00:00", "to": "2026-01-01 05:00", "step": "1 hour"}}'), '22023 invalid value for argument "items.n.format": "date"', 'hours as days');
select is(refuses('{"n": {"from": "2026-10-24", "to": "2026-10-27", "step": "24 hours", "timezone": "Europe/Berlin"}}'), '22023 invalid value for argument "items.n.format": "date"', 'a day of 25 hours, in hours');
select is(refuses('{"n": {"from": "2026-01-01", "to": "2026-01-02", "step": "0.5 s", "format": "timestamp"}}'), '22023 invalid value for argument "items.n.format": "timestamp"', 'parts of seconds');
select is(refuses('{"n": {"from": "soon", "to": "2026-01-02"}}'), '22023 invalid value for argument "items.n.from": "soon"', 'no time');
select matches(refuses('{"n": {"from": "2026-01-01", "to": "2026-01-02", "timezone": "Mars"}}'), '"Mars"', 'no zone');
select is(refuses('{"n": {"from": 1, "to": 25001}}'), '22023 invalid value for argument "items": more than 25000', 'too many');
select is(refuses('{"n": {"from": 1, "to": 5000}, "m": {"from": 1, "to": 6}}'), '22023 invalid value for argument "items": more than 25000', 'too many together');
select is((select count(*) from scylla.preview_backfill('w', '{"n": {"from": 1, "to": 25000}}')), 25000::bigint, 'as many as there may be');

-- ---- a backfill runs -----------------------------------------------------------------------------------------------

create temporary table made as select scylla.backfill('w', '{"day": ["1", "2", "3", "4", "5"]}', concurrency => 2) as id;
select is(started(), 2::bigint, 'as many as asked for begin in the transaction of the call');
select scylla._advance() \g /dev/null
select is(work(), '1', 'the first');
select is(started(), 2::bigint, 'the next follows when one has ended');
select is(days(id), '1 SUCCEEDED, 2 IN_PROGRESS, 3 IN_PROGRESS, 4 PENDING, 5 PENDING', 'progress') from made;
select results_eq($$select status, items, pending, live, succeeded, failed, concurrency, ended is null from scylla.workflow_backfill$$, $$values ('RUNNING'::text, 5::bigint, 2::bigint, 2::bigint, 1::bigint, 0::bigint, 2, true)$$, 'and as numbers');
select is(initiator - 'backfill', '{"type": "BACKFILL", "item": 1, "user": "postgres"}', 'its runs tell of it')
from scylla.workflow_run where workflow = 'w' order by instance limit 1;
select scylla.pause_backfill(id) from made \g /dev/null
select is(work() || work(), '23', 'what runs when it is paused goes on');
select is(started(), 0::bigint, 'nothing follows');
select is((select status from scylla.workflow_backfill), 'PAUSED', 'it is paused');
select scylla.resume_backfill(id), scylla._advance() from made \g /dev/null
select is(started(), 2::bigint, 'it goes on');
select is(work('broken') || work(), '45', 'a run that fails does not stop it');
select results_eq($$select status, pending, live, succeeded, failed, ended is null from scylla.workflow_backfill$$, $$values ('ENDED'::text, 0::bigint, 0::bigint, 4::bigint, 1::bigint, false)$$, 'it has ended');
select raises(format('select scylla.%s_backfill(%s)', verb, id), '55000', 'backfill', 'ended')
from made, unnest(array['pause', 'resume', 'cancel']) verb;

-- ---- what ran before -----------------------------------------------------------------------------------------------

select is(string_agg(format('%s %s %s', params ->> 'day', action, status), ', ' order by number),
    '4 skip FAILED, 5 skip SUCCEEDED, 6 start ', 'skip_all: whatever has run')
from scylla.preview_backfill('w', '{"day": ["4", "5", "6"]}', existing => 'skip_all');
select is(string_agg(format('%s %s', params ->> 'day', action), ', ' order by number), '4 start, 5 skip, 6 start', 'skip: what is good')
from scylla.preview_backfill('w', '{"day": ["4", "5", "6"]}', existing => 'skip');
select is(string_agg(action, ' '), 'start start', 'start: nothing is skipped') from scylla.preview_backfill('w', '{"day": ["4", "5"]}');
truncate made;
insert into made select scylla.backfill('w', '{"day": ["4", "5"]}', existing => 'skip');
select is(days(id), '4 CREATED, 5 SKIPPED', 'a backfill does what its preview has told') from made;
select is(scylla.cancel_backfill(id), 0::bigint, 'nothing of it waits') from made;
select scylla._advance() \g /dev/null
select is(work(), '4', 'what runs goes on');
insert into made select scylla.backfill('w', '{"day": ["5"]}', existing => 'skip');
select is((select string_agg(status, ' ' order by backfill) from scylla.workflow_backfill), 'ENDED ENDED ENDED', 'one that skips all has ended');

-- ---- cancelling ----------------------------------------------------------------------------------------------------

truncate made;
insert into made select scylla.backfill('w', '{"day": ["a", "b", "c"]}', newest_first => true);
select scylla._advance() \g /dev/null
select is(scylla.cancel_backfill(id, true), 2::bigint, 'what was not started') from made;
select scylla._advance() \g /dev/null
select is(days(id), 'c STOPPED, b CANCELLED, a CANCELLED', 'what ran is stopped') from made;
select is((select status from scylla.workflow_backfill order by backfill desc limit 1), 'CANCELLED', 'it is cancelled');
select is(work(), null, 'nothing is left to do');

-- ---- runs that cannot start ----------------------------------------------------------------------------------------

select make('n', more => '{"params": {"n": {"type": "LONG", "value": 1}}}') \g /dev/null
select throws_ok($$select scylla.backfill('n', '{"n": ["x", 2]}')$$, '22023', null, 'the first item cannot be evaluated');
select is((select count(*) from scylla.workflow_backfill where workflow = 'n'), 0::bigint, 'and nothing is left of it');
truncate made;
insert into made select scylla.backfill('n', '{"n": [1, "x", "y", 4]}');
select scylla._advance() \g /dev/null
select is(work(), '1', 'the first one runs');
select is((select string_agg(status, ' ' order by number) from scylla.workflow_backfill_item where backfill = id), 'SUCCEEDED REFUSED REFUSED IN_PROGRESS',
    'the engine goes on behind those that are refused') from made;
select matches((select error ->> 'message' from scylla.workflow_backfill_item where backfill = id and number = 2), 'n', 'with the reason') from made;
select is(work(), '4', 'and ends');
select results_eq($$select status, refused, succeeded from scylla.workflow_backfill where workflow = 'n'$$, $$values ('ENDED'::text, 2::bigint, 2::bigint)$$, 'it has ended');

-- A role that loses its right has its backfill paused.
create role bea;
grant usage on schema scylla to bea;
grant execute on function scylla.backfill, scylla.resume_backfill to bea;
select scylla.grant_workflow('n', 'bea', 'run') \g /dev/null
set local role bea;
select scylla.backfill('n', '{"n": [7, 8]}') as bea \gset
reset role;
select scylla.revoke_workflow('n', 'bea', 'run'), scylla._advance() \g /dev/null
select is(work(), '7', 'its first run goes on');
select is((select status || ' ' || (error ->> 'code') from scylla.workflow_backfill where backfill = :bea), 'PAUSED sqlstate-42501', 'then it is paused');
set local role bea;
select raises(format('select scylla.resume_backfill(%s)', :bea), '42501', 'workflow', 'privilege');
reset role;
select scylla.resume_backfill(:bea), scylla._advance() \g /dev/null
select is(work(), '8', 'whoever resumes it has its runs started as himself');
select is(status || ' ' || role, 'ENDED postgres', 'from then on') from scylla.workflow_backfill where backfill = :bea;

-- ---- others go first -----------------------------------------------------------------------------------------------

select make('line', '"sequential"') \g /dev/null
select scylla.backfill('line', '{"day": ["late 1", "late 2"]}', concurrency => 2, yields => true) \g /dev/null
select scylla._advance() \g /dev/null
select scylla.start_workflow('line', '{"day": "live"}') \g /dev/null
select is((scylla.lease('a', 'w')).priority::int, 0, 'its tasks have priority 0');
select scylla.complete(rn, 'w'), scylla._advance() from scylla.list_tasks('a', 'running') \g /dev/null
select is(work() || ', ' || work(), 'live, late 2', 'other runs begin before its own');

-- Permits as well, which nobody gets back before their time.
select make('slots') \g /dev/null
select scylla.alter_workflow('slots', '{"step_concurrency": 1}') \g /dev/null
select scylla.backfill('slots', '{"day": ["late 1", "late 2"]}', concurrency => 2, yields => true) \g /dev/null
select scylla._advance() \g /dev/null
select scylla.start_workflow('slots', '{"day": "live"}') \g /dev/null
select scylla._advance() \g /dev/null
create function work_of_slots() returns text language plpgsql as $$
declare day text := work();
begin
    perform scylla.place();
    perform scylla._advance();
    return day;
end $$;
select is(work_of_slots() || ', ' || work_of_slots() || ', ' || work_of_slots(), 'late 1, live, late 2', 'steps of other runs get permits before its own');

-- ---- wrong calls ---------------------------------------------------------------------------------------------------

select raises($$select scylla.backfill('nothing', '[{}]')$$, '42704', 'workflow', 'exists');
select raises($$select scylla.preview_backfill('nothing', '[{}]')$$, '42704', 'workflow', 'exists');
select raises($$select scylla.backfill('w', '[{}]', '77')$$, '42704', 'workflow', 'version');
select throws_ok($$select scylla.backfill('w', '[{}]', concurrency => 0)$$, '22023', 'invalid value for argument "concurrency": 0');
select throws_ok($$select scylla.backfill('w', '[{}]', concurrency => 25001)$$, '22023', 'invalid value for argument "concurrency": 25001');
select throws_ok($$select scylla.backfill('w', '[{}]', existing => 'no')$$, '22023', 'invalid value for argument "existing": "no"');
select raises(format('select scylla.%s_backfill(0)', verb), 'P0002', 'backfill', 'exists') from unnest(array['pause', 'resume', 'cancel']) verb;
select throws_ok(format('select scylla.%s_backfill(null)', verb), '22023', 'invalid value for argument "backfill": null')
from unnest(array['pause', 'resume', 'cancel']) verb;

-- ---- check() -------------------------------------------------------------------------------------------------------

create function found(damage text) returns text language plpgsql as $$
declare problems text;
begin
    execute damage;
    select string_agg(regexp_replace(problem, '[0-9]{2,}', 'N', 'g'), '; ' order by problem) into problems from scylla.check();
    raise exception using errcode = 'D0001', message = coalesce(problems, 'nothing');
exception when sqlstate 'D0001' then
    return sqlerrm;
end $$;
select scylla.backfill('w', '{"day": ["x"]}') as last \gset
select is(found(format('delete from scylla.workflow_backfill_state where id = %s', :last)), 'item 1 is of backfill N, which does not exist', 'check() finds items without backfill');
select is(found(format('update scylla.workflow_backfill_state set workflow = ''gone'' where id = %s', :last)), 'backfill N is of workflow "gone", which does not exist',
    'and backfills without workflow');
select is(found(format('update scylla.workflow_backfill_item_state set state = ''PENDING'', run = null where backfill = %s', :last)), 'backfill N goes on, but nothing of it is live',
    'and one that was forgotten');
select scylla._advance() \g /dev/null
select is(work(), 'x', 'the last one');

-- ---- retention -----------------------------------------------------------------------------------------------------

update scylla.task_plan set created = created - interval '10 years', finished = finished - interval '10 years';
update scylla.workflow_backfill_state set ended = now() - interval '10 years' where ended is not null;
update scylla.task_outcome set finished = now() - interval '10 years';
select id as ended from scylla.workflow_run_state where workflow = 'w' and ended is not null order by id limit 1 \gset
insert into scylla.workflow_agenda (root, kind) values (:ended, 'next');
create function removed() returns bigint language plpgsql as $$
begin
    for i in 1 .. 5 loop
        perform scylla.maintain();
    end loop;
    return (select count(*) from scylla.workflow_run_state where workflow = 'w' and ended is not null);
end $$;
select is(removed(), 1::bigint, 'a run that others have not heard of is kept');
select is((select count(*) from scylla.workflow_run_state where id = :ended), 1::bigint, 'it is that one');
delete from scylla.workflow_agenda;
select is(removed(), 0::bigint, 'then it is removed');
select is((select count(*) from scylla.workflow_backfill_item where workflow = 'w' and instance is not null), 0::bigint, 'and what a backfill knew of it');
select is((select count(*) from scylla.workflow_backfill where workflow = 'w'), 0::bigint, 'and backfills of which nothing is left');

-- ---- its workflow is stopped ----------------------------------------------------------------------------------------

select make('halted') \g /dev/null
create temporary table halted as select scylla.backfill('halted', '{"day": ["1", "2", "3"]}', concurrency => 1) as id;
select scylla._advance() \g /dev/null
select scylla.stop_workflow('halted'), scylla._advance(), scylla._advance() \g /dev/null
select is(days(id), '1 STOPPED, 2 PENDING, 3 PENDING', 'stop_workflow() lets its backfills start nothing more') from halted;
select results_eq($$select b.status, b.error ->> 'message' from scylla.workflow_backfill b join halted h on b.backfill = h.id$$,
    $$values ('PAUSED'::text, 'All runs of the workflow were stopped.'::text)$$, 'they are paused, and tell why');
select scylla.resume_backfill(id), scylla._advance() from halted \g /dev/null
select is(work() || work(), '23', 'they go on when they are resumed');
select is((select b.error from scylla.workflow_backfill b join halted h on b.backfill = h.id), null, 'a backfill that was resumed no longer shows why it was paused');

-- ---- what goes with what -------------------------------------------------------------------------------------------

select is((select count(*) from scylla.check()), 0::bigint, 'check() finds nothing');
select scylla.drop_workflow('n') \g /dev/null
select is((select count(*) from scylla.workflow_backfill_state where workflow = 'n'), 0::bigint, 'backfills go with their workflow');
select is((select count(*) from scylla.workflow_backfill_item_state i where not exists (select from scylla.workflow_backfill_state where id = i.backfill)), 0::bigint,
    'and their items with them');
select * from finish();
rollback;
