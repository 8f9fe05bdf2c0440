-- sel_eval() and interpolate(): what of the language there is, the unit tests tell (test/unit/sel_*.cpp).
begin;
\ir include/helpers.psql
select * from no_plan();

select is((select string_agg(format('%s(%s) -> %s; %s, %s', proname, pg_get_function_arguments(oid), pg_get_function_result(oid),
                                    provolatile, proparallel), E'\n' order by proname)
           from pg_proc where pronamespace = 'scylla'::regnamespace and proname in ('sel_eval', 'interpolate')),
          E'interpolate(template text, params jsonb DEFAULT ''{}''::jsonb) -> text; i, s\n'
          'sel_eval(expression text, params jsonb DEFAULT ''{}''::jsonb) -> jsonb; v, s', 'signatures');

-- ---- values --------------------------------------------------------------------------------------------------------

select is(scylla.sel_eval(expression, params), value, expression)
from (values ('a + b > 10 ? ''x'' : params[''y'']', '{"a": 3, "b": 8}'::jsonb, '"x"'::jsonb),
             ('params[''mode''] == null', '{"a": 1}', 'true'),
             ('params.mode == null && params.get(''mode'') == null', '{"a": 1}', 'true'),
             ('1.50', null, '1.5'), ('null', '{}', 'null'), ('m', '{"m": {"k": [1, null, {"x": true}]}}', '{"k": [1, null, {"x": true}]}'),
             ('n', '{"n": 9223372036854775807}', '9223372036854775807'), ('s.length()', '{"s": "\u00e4\"\\\n"}', '4'),
             ('s', '{"s": "\u00e4\"\\\n"}', '"\u00e4\"\\\n"'), ('Util.intsBetween(1, 4, 1)', '{}', '[1, 2, 3]')) v (expression, params, value);
select is(scylla.interpolate(template, params), value, template)
from (values ('$a ${b} $$ $1', '{"a": "x", "b": [1, "y"]}'::jsonb, 'x [1,"y"] $ $1'), ('', null, ''), ('plain', '{}', 'plain'))
    v (template, params, value);

-- ---- dates, with the server's zones --------------------------------------------------------------------------------

select is(scylla.sel_eval(format('new DateTime(%L, DateTimeZone.forID(%L)).%s.toString()', start, zone, change)) #>> '{}', result,
          format('%s in %s: %s', start, zone, change))
from (values ('2026-03-28T02:30', 'Europe/Berlin', 'plusDays(1)', '2026-03-29T03:30:00.000+02:00'),
             ('2026-10-24T02:30', 'Europe/Berlin', 'plusDays(1)', '2026-10-25T02:30:00.000+02:00'),
             ('2026-10-25T02:30', 'Europe/Berlin', 'plusHours(1)', '2026-10-25T02:30:00.000+01:00'),
             ('2026-03-07T12:00', 'America/Los_Angeles', 'plusDays(1)', '2026-03-08T12:00:00.000-07:00'),
             ('2026-01-01', 'Asia/Kathmandu', 'plusDays(0)', '2026-01-01T00:00:00.000+05:45')) v (start, zone, change, result);
select is_empty($$
    select t, zone from generate_series('1990-01-01Z'::timestamptz, '2040-01-01Z', '97 days 13 hours') t,
        unnest(array['UTC', 'Europe/Berlin', 'America/Sao_Paulo', 'Australia/Lord_Howe', 'Pacific/Apia']) zone
    where (scylla.sel_eval('new DateTime(t).withZone(DateTimeZone.forID(zone)).toString("yyyy-MM-dd HH:mm:ss")',
                           jsonb_build_object('t', (extract(epoch from t) * 1000)::bigint, 'zone', zone)) #>> '{}')
          <> to_char(t at time zone zone, 'YYYY-MM-DD HH24:MI:SS')$$, 'local times are those of the server');
select ok((scylla.sel_eval('System.currentTimeMillis()'))::bigint
          between extract(epoch from now()) * 1000 - 1000 and extract(epoch from clock_timestamp()) * 1000 + 1000, 'the time is the server''s');
select isnt(scylla.sel_eval('UUID.randomUUID()'), scylla.sel_eval('UUID.randomUUID()'), 'UUIDs are random');

-- ---- errors --------------------------------------------------------------------------------------------------------

select refuses(format('select scylla.sel_eval(%L)', expression), code, 'expression', message)
from (values ('1 +', '42601', 'expression, line 1, column 4: the expression ends too early'),
             (E'1;\n  ''open', '42601', 'expression, line 2, column 3: a string is not closed'),
             ('Math.sin(1)', '42704', 'expression, line 1, column 6: Math has no method "sin" with 1 argument'),
             ('1 + gone', '42704', 'expression, line 1, column 5: there is no parameter "gone"'),
             ('1 / 0', '22023', 'expression, line 1, column 3: division by zero'),
             ('DateTimeZone.forID(''Mars/Base'')', '22023', 'expression, line 1, column 14: "Mars/Base" must be the name of a time zone, as "Europe/Berlin", or an offset from UTC, as "+02:00"'),
             ('DateTimeZone.forID(''../../etc/passwd'')', '22023', 'expression, line 1, column 14: "../../etc/passwd" must be the name of a time zone, as "Europe/Berlin", or an offset from UTC, as "+02:00"'),
             ('throw ''own words''', 'P0001', 'expression, line 1, column 1: own words'),
             ('while (true) 1;', '54000', 'expression, line 1, column 1: the loop reaches 25001 iterations'),
             ('s = ''a''; while (true) s += s;', '54000', 'expression, line 1, column 25: the expression needs too much memory'),
             ('int x = 1;', '22023', 'expression: the expression has no value'),
             ('m = new Map(); m.put(''m'', m); m', '54000', 'expression: the result is nested too deeply'))
    v (expression, code, message);
select refuses($$select scylla.interpolate(E'a\nb $gone')$$, '42704', 'expression', 'template, line 2, column 3: there is no parameter "gone"');
select refuses($$select scylla.interpolate(repeat('$a', 1000), jsonb_build_object('a', repeat('x', 1000)))$$, '54000', 'expression',
               'template, line 1, column 1999: the result is longer than 750000 characters');
select is(split_part(raised($$select scylla.sel_eval('throw s', jsonb_build_object('s', repeat('ä', 100000)))$$), ' ', 1), 'P0001',
          'a long message is cut');
select refuses_argument('select scylla.sel_eval(null)', 'expression', 'null', 'It must not be null.');
select refuses_argument('select scylla.interpolate(null)', 'template', 'null', 'It must not be null.');
select refuses_argument(format('select scylla.sel_eval(''1'', %L)', params), 'params', params, 'It must be an object.')
from unnest(array['1', '[]', 'null', '"x"']) params;
select refuses_argument($$select scylla.interpolate('1', '[1]')$$, 'params', '[1]', 'It must be an object.');
select alike(raised($$select scylla.sel_eval('1', jsonb_build_object('a', repeat('x', 25000001)))$$),
             '22023 scylla.task/argument%Its text must be at most 25 MB long.', 'params are bounded');
select refuses($$select scylla.sel_eval(repeat('1;', 5001))$$, '54000', 'expression',
               'expression: the expression is longer than 10000 characters');

-- ---- interrupts ----------------------------------------------------------------------------------------------------

create function pg_temp.is_cancelled(statement text) returns boolean language plpgsql as $$
begin
    execute statement;
    return false;
exception when query_canceled then
    return true;
end $$;
set local statement_timeout = '100 ms';
select ok(pg_temp.is_cancelled(format('select scylla.sel_eval(%L)', 'for (i = 0; i < 25000; i += 1) for (j = 0; j < 25000; j += 1) {}')),
          'statement_timeout ends a long loop');
set local statement_timeout = 0;
select is(scylla.sel_eval('1 + 1'), '2', 'the session goes on');
select * from finish();
rollback;
