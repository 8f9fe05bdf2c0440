-- validate_workflow(): what is wrong with a definition, the unit tests tell (test/unit/definition_test.cpp).
begin;
\ir include/helpers.psql
select * from no_plan();

select is((select format('%s -> %s; %s, %s', pg_get_function_arguments(oid), pg_get_function_result(oid), provolatile, proparallel)
           from pg_proc where oid = 'scylla.validate_workflow'::regproc),
          'definition jsonb -> TABLE(place text, problem text); v, u', 'signature');

-- ---- definitions ---------------------------------------------------------------------------------------------------

-- A workflow w with a step s and these members.
create function pg_temp.workflow(members text) returns jsonb language sql
    return ('{"workflow": {"id": "w", "steps": [{"step": {"id": "s", "type": "NoOp"}}]' || members || '}}')::jsonb;

select is_empty($$select * from scylla.validate_workflow(pg_temp.workflow(''))$$, 'a sound one');
select results_eq($$select * from scylla.validate_workflow('{"workflow": {"id": "a b", "steps": [{"foreach": {"id": "f",
                        "params": {"loop_params": {"type": "MAP", "value": {}}}, "steps": [{"step": {"id": "9", "type": "x"}}]}}]}, "is_active": 1}')$$,
                  $$values ('is_active', 'must be true or false'),
                           ('workflow.id', '"a b" must consist of letters, digits, ".", "-" and "_", and begin with a letter, a digit or "_"'),
                           ('workflow.steps[0].foreach.steps[0].step.id',
                            '"9" must consist of letters, digits, ".", "-" and "_", and begin with a letter or "_"')$$,
                  'every problem with its place');
select results_eq(format('select place, problem from scylla.validate_workflow(%L)', definition), format('values (%L, %L)', place, problem), problem)
from (values ('[]', '', 'must be an object'), ('5', '', 'must be an object'), ('null', '', 'must be an object'), ('{}', '', 'has no "workflow"'),
             ('{"workflow": {"id": "w", "steps": [{"step": {"id": "s", "type": "NoOp"}}], "time_triggers": [{"type": "CRON", "cron": "0 1 * * *", "timezone": "Mars/Base"}]}}',
              'workflow.time_triggers[0].timezone', '"Mars/Base" must be the name of a time zone, as "Europe/Berlin", or an offset from UTC, as "+02:00"'),
             ('{"workflow": {"id": "w", "steps": [{"step": {"id": "s", "type": "NoOp"}}], "params": {"a": {"type": "LONG", "expression": "b"}, "b": {"type": "LONG", "expression": "a"}}}}',
              'workflow.params.a', 'parameters refer to each other in a circle: a, b, a'),
             ('{"workflow": null}', '', 'has no "workflow"'),
             ('{"workflow": {"id": "w", "steps": [{"step": {"id": "s", "type": "NoOp"}}], "time_triggers": [{"type": "INTERVAL", "interval": null}]}}',
              'workflow.time_triggers[0]', 'has no "interval"'),
             ('{"workflow": {"id": "w", "steps": [{"step": {"id": "s", "type": "NoOp"}}], "params": {"p": {"type": "LONG", "value": null}}}}',
              'workflow.params.p', 'has neither "value" nor "expression"'),
             (repeat('[', 200) || repeat(']', 200), '', 'is nested too deeply'),
             ('{"n": 1e1000}', '', 'has a number that is out of range')) v (definition, place, problem);
select is((select count(*) from scylla.validate_workflow(pg_temp.workflow(', "params": {' ||
              (select string_agg(format('"p%s": 1', n), ',') from generate_series(1, 1000) n) || '}'))), 100::bigint, 'at most 100 problems');
select is_empty($$select * from scylla.validate_workflow(pg_temp.workflow(', "params": {"d": {"type": "STRING",
    "value": "$RUN_DATE $DERIVED_RUN_DATE_US_PACIFIC $FROM_DATE"}}, "time_triggers": [{"type": "CRON", "cron": "0 1 * * *", "timezone": "Europe/Berlin"}]'))$$,
    'the dry run has the server''s time and zones');

-- ---- bounds --------------------------------------------------------------------------------------------------------

select alike((select problem from scylla.validate_workflow(pg_temp.workflow(', "params": {"a": {"type": "LONG", "expression": "while (true) 1;"}}'))),
             'the loop reaches 25001 iterations%', 'an expression that does not end, ends');
select alike((select problem from scylla.validate_workflow(pg_temp.workflow(', "params": {"a": {"type": "STRING", "expression": "s = ''a''; while (true) s += s;"}}'))),
             'the expression needs too much memory%', 'and one that needs too much memory');
select refuses_argument('select scylla.validate_workflow(null)', 'definition', 'null', 'It must not be null.');
select refuses_argument('select scylla.validate_workflow(jsonb_build_object(''a'', repeat(''x'', 262144)))', 'definition', 'an object of 262153 bytes',
                        'Its text must be at most 256 kB long.');

-- ---- interrupts ----------------------------------------------------------------------------------------------------

create function pg_temp.is_cancelled(statement text) returns boolean language plpgsql as $$
begin
    execute statement;
    return false;
exception when query_canceled then
    return true;
end $$;
set local statement_timeout = '100 ms';
select ok(pg_temp.is_cancelled(format('select scylla.validate_workflow(pg_temp.workflow(%L))',
              ', "params": {"a": {"type": "LONG", "expression": "for (i = 0; i < 25000; i += 1) for (j = 0; j < 25000; j += 1) {}"}}')),
          'statement_timeout ends a long dry run');
set local statement_timeout = 0;
select is((select count(*) from scylla.validate_workflow(pg_temp.workflow(''))), 0::bigint, 'the session goes on');
select * from finish();
rollback;
