-- submit_many, submit_bulk: many new tasks.
begin;
\ir include/helpers.psql
select * from no_plan();

select signature_is('submit_many',
                    'tasks jsonb, on_duplicate text DEFAULT ''ignore''::text, OUT rn text, OUT inserted boolean',
                    'SETOF record');
select signature_is('submit_bulk',
                    'queue text, specs jsonb[], rns text[] DEFAULT NULL::text[], priority integer DEFAULT 0', 'bigint');

-- ---- submit_many: what goes in comes out ---------------------------------------------------------------------------

create temp table answer as
select row_number() over () as n, a.* from scylla.submit_many($$[
    {"queue": "many", "spec": {"n": 1}, "rn": "z"},
    {"queue": "many", "spec": 2, "rn": "a", "priority": 127, "max_attempts": 3,
    "not_before": "2300-01-02 03:04:05.678901Z"},
    {"queue": "other", "spec": [3], "rn": "m", "priority": 5.0, "not_before": "2001-01-01T00:00:00+01:00"},
    {"queue": "many", "spec": "4", "rn": null, "priority": null, "max_attempts": null, "not_before": null,
    "depends_on": null,
     "on_dependency_failure": null, "plan": null, "retry": null, "dedup_key": null, "key": null},
    {"queue": "many", "spec": false, "rn": "z"},
    {"on_dependency_failure": "cascade", "spec": {"deep": [{"er": null}]}, "queue": "many", "rn": "b", "key": "k"}
  ]$$) a;
select results_eq('select rn, inserted from answer where n <> 4 order by n',
                  $$values ('z', true), ('a', true), ('m', true), ('z', false), ('b', true)$$,
                  'one row per element in array order; a repeated rn is inserted once');
select ok(inserted and rn ~ '^[0-9a-f]{8}-[0-9a-f]{4}-7', 'an element without rn gets a UUID') from answer where n = 4;
select results_eq(
    $$select to_jsonb(t) - '{rn,created,updated,owner,deadline,errors,history,result,metrics,args,plan,pool}'::text[]
      from answer join scylla.task t using (rn) where inserted order by n$$,
    $$values ('{"queue": "many", "spec": {"n": 1}, "status": "ready", "priority": 0, "progress": 0, "attempt": 0,
                "failures": 0,
                "max_attempts": 25, "not_before": null, "key": null, "state": null, "answers": 0, "answered": null, "error_message": null}'::jsonb),
             ('{"queue": "many", "spec": 2, "status": "waiting", "priority": 127, "progress": 0, "attempt": 0,
                "failures": 0,
                "max_attempts": 3, "not_before": "2300-01-02T03:04:05.678901+00:00", "key": null, "state": null, "answers": 0, "answered": null, "error_message": null}'),
             ('{"queue": "other", "spec": [3], "status": "ready", "priority": 5, "progress": 0, "attempt": 0,
                "failures": 0,
                "max_attempts": 25, "not_before": "2000-12-31T23:00:00+00:00", "key": null, "state": null, "answers": 0, "answered": null, "error_message": null}'),
             ('{"queue": "many", "spec": "4", "status": "ready", "priority": 0, "progress": 0, "attempt": 0,
                "failures": 0,
                "max_attempts": 25, "not_before": null, "key": null, "state": null, "answers": 0, "answered": null, "error_message": null}'),
             ('{"queue": "many", "spec": {"deep": [{"er": null}]}, "status": "ready", "priority": 0, "progress": 0,
                "attempt": 0,
                "failures": 0, "max_attempts": 25, "not_before": null, "key": "k", "state": null, "answers": 0, "answered": null, "error_message": null}')$$,
    'each key does what the argument of submit does');
select results_eq($$select rn from scylla.list_tasks('many', 'ready')$$,
                  $$select rn from answer where n in (1, 4, 6) order by n$$,
                  'tasks of equal priority are leased in array order');
select ok(bool_and(t.created between now() and clock_timestamp()), 'created is the time by the server''s clock')
from answer join scylla.task t using (rn) where inserted;

-- ---- submit_many: names that are taken -----------------------------------------------------------------------------

do $$ begin perform given('taken ' || state, state)
    from unnest(array['waiting', 'ready', 'running', 'completed']) state; end $$;
create temp table before as select rn, to_jsonb(t) as task from scylla.task t where rn like 'taken %';
select results_eq(
    $$select * from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'elsewhere', 'spec', 9, 'rn', rn)
                                                         order by rn)
                                        from (select rn from before union select 'taken not') r))$$,
    $$values ('taken completed', false), ('taken not', true), ('taken ready', false), ('taken running', false),
    ('taken waiting', false)$$,
    'a name that is taken is no error and tells so');
select results_eq('select rn, seen(rn) from before order by rn', 'select rn, task from before order by rn',
                  'and its task is unchanged');
select is((seen('taken not')) ->> 'queue', 'elsewhere', 'and the new one is there');
select results_eq($$select * from scylla.submit_many('[{"queue": "q", "spec": 1, "rn": "plain"}]',
                                                     on_duplicate => 'error')$$,
                  $$values ('plain', true)$$, 'on_duplicate error with a free name');
select refuses($$select scylla.submit_many('[{"queue": "q", "spec": 1, "rn": "novel"}, {"queue": "q", "spec": 1,
                                             "rn": "plain"}]', 'error')$$,
               '23505', 'unique', 'task "plain" already exists');
select refuses($$select scylla.submit_many('[{"queue": "q", "spec": 1, "rn": "twice"}, {"queue": "q", "spec": 2,
                                             "rn": "twice"}]', 'error')$$,
               '23505', 'unique', 'task "twice" already exists');
select refuses_argument(format($$select scylla.submit_many('[]', %s)$$, v), 'on_duplicate', shown,
                        'It must be "error" or "ignore".')
from (values ($$'replace'$$, '"replace"'), ($$''$$, '""')) a (v, shown);

-- ---- submit_many: malformed input ----------------------------------------------------------------------------------

select is_empty($$select * from scylla.submit_many('[]')$$, 'an empty array is an empty answer');
select refuses_argument(format('select scylla.submit_many(%s)', v), 'tasks', shown, 'It must be an array of objects.')
from (values ('null', 'null'), ($$'null'$$, 'null'), ($$'1'$$, '1'), ($$'"text"'$$, '"text"'), ($$'true'$$, 'true'),
      ($$'{}'$$, '{}'),
             ($$'{"queue": "q", "spec": 1}'$$, '{"spec": 1, "queue": "q"}')) a (v, shown);

-- The second element is bad, the first and the third are not.
create function element_is_refused(element text, argument text, value text, rule text) returns text language sql as $$
    select refuses_element(format('select scylla.submit_many(%L)',
                                  '[{"queue": "bad", "spec": 1}, ' || element || ', {"queue": "bad", "spec": 3}]'), 2,
                                  argument, value, rule);
$$;
select element_is_refused(v, 'tasks', v, 'Each element must be an object.')
from unnest(array['null', '1', '"text"', 'true', '[]', '[{"spec": 1, "queue": "q"}]']) v;
select element_is_refused('{}', 'queue', 'null', 'It must have 1 to 200 characters.');
select element_is_refused('{"queue": "q"}', 'spec', 'null', 'A task must say what is to be done.');
select element_is_refused('{"spec": 1}', 'queue', 'null', 'It must have 1 to 200 characters.');
select element_is_refused('{"queue": "q", "spec": null}', 'spec', 'null', 'A task must say what is to be done.');
select element_is_refused('{"queue": null, "spec": 1}', 'queue', 'null', 'It must have 1 to 200 characters.');
select element_is_refused(format('{"queue": "q", "spec": 1, "%s": 1}', key), 'tasks', '"' || key || '"',
                          'There is no such argument of submit.')
from unnest(array['', 'Queue', 'tasks', 'on_duplicate', 'name', 'timeout', 'queue ']) key;
select element_is_refused('{"queue": "q", "spec": 1, "unknown": null}', 'tasks', '"unknown"',
                          'There is no such argument of submit.');

select element_is_refused(format('{"queue": %s, "spec": 1}', v), 'queue', v, 'It must be a text.')
from unnest(array['1', 'true', '[]', '{}']) v;
select element_is_refused(format('{"queue": "q", "spec": 1, "rn": %s}', v), 'rn', v, 'It must be a text.')
from unnest(array['1', 'true', '[]', '{}']) v;
select element_is_refused(format('{"queue": "q", "spec": 1, "not_before": %s}', v), 'not_before', v,
                          'It must be a text.')
from unnest(array['1767312245', 'true', '[]', '{}']) v;
select element_is_refused(format('{"queue": "q", "spec": 1, "%s": %s}', key, v), key, v, 'It must be a whole number.')
from unnest(array['priority', 'max_attempts']) key,
     unnest(array['"1"', 'true', '[]', '{}', '1.5', '0.0000001', '2147483648', '-2147483649', '"NaN"',
                  '1.00000000000000000000001', '2147483647.00000000001']) v;
select element_is_refused('{"queue": "q", "spec": 1, "priority": 1e400}', 'priority', '1' || repeat('0', 59) || '...',
                          'It must be a whole number.');
select element_is_refused(format('{"queue": "q", "spec": 1, "priority": %s}', v), 'priority', v,
                          'It must be between 0 and 127.')
from unnest(array['-1', '128', '2147483647']) v;
select element_is_refused(format('{"queue": "q", "spec": 1, "max_attempts": %s}', v), 'max_attempts', v,
                          'It must be at least 1.')
from unnest(array['0', '-1']) v;
select element_is_refused(format('{"queue": "q", "spec": 1, "not_before": "%s"}', v), 'not_before', '"' || v || '"',
                          'It must be a time as ISO 8601 has it, as "2026-11-28", "2026-11-28 08:30" or "2026-11-28T08:30:15+01:00".')
from unnest(array['', 'soon', '2026-02-30', '2026-01-01 25:00', '294277-01-01', '2026-01-01 00:00 Mars/Olympus']) v;
select element_is_refused(format('{"queue": "q", "spec": 1, "not_before": "%s"}', v), 'not_before', v,
                          'It must be finite.')
from unnest(array['infinity', '-infinity']) v;
select element_is_refused(format('{"queue": "%s", "spec": 1}', v), 'queue', shown, 'It must have 1 to 200 characters.')
from (values ('', '""'), (repeat('€', 201), '"' || repeat('€', 60) || '..."')) a (v, shown);
select element_is_refused(format('{"queue": "q", "spec": 1, "rn": "%s"}', v), 'rn', shown,
                          'It must have 1 to 200 characters.')
from (values ('', '""'), (repeat('€', 201), '"' || repeat('€', 60) || '..."')) a (v, shown);
select results_eq(format('select * from scylla.submit_many(%L)',
                         jsonb_build_array(jsonb_build_object('queue', repeat('€', 200), 'spec', 1, 'rn',
                                                              repeat('€', 200)))),
                  format('values (%L, true)', repeat('€', 200)), 'names of 200 characters are not refused');

select element_is_refused(format('{"queue": "q", "spec": 1, "key": %s}', v), 'key', v, rule)
from (values ('""', 'It must have 1 to 200 characters.'), ('0', 'It must be a text.')) a (v, rule);
select element_is_refused('{"queue": "q", "spec": 1, "retry": 5}', 'retry', '5', 'It must be an object.');
select element_is_refused('{"queue": "q", "spec": 1, "retry": {"factor": 0}}', 'factor', '0',
                          'It must be between 1 and 1000.');
select element_is_refused('{"queue": "q", "spec": 1, "retry": {"max": "soon"}}', 'max', '"soon"', 'It must be a number of seconds, or numbers with units, the largest first, as "90", "1.5 hours", "1 day 2 hours" or "PT30M".');
select element_is_refused('{"queue": "q", "spec": 1, "on_dependency_failure": 1}', 'on_dependency_failure', '1',
                          'It must be a text.');

set local scylla.auto_create_queues = off;
select refuses($$select scylla.submit_many('[{"queue": "q", "spec": 1}, {"queue": "unheard of", "spec": 1}]')$$,
               '42704', 'exists',
               'queue "unheard of" does not exist', table_ => 'queue');
reset scylla.auto_create_queues;

-- ---- many ----------------------------------------------------------------------------------------------------------

create temp table thousand as
select n, 'rn ' || (n * 7919 % 1000) as rn from generate_series(1, 3000) n;
select results_eq(
    $$select rn, inserted from (select row_number() over () as n, a.*
      from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'big', 'spec', n, 'rn', rn) order by n)
                               from thousand)) a) _ order by n$$,
    'select rn, n <= 1000 from thousand order by n',
    'three thousand elements, each name three times: the first of each is inserted');
select results_eq($$select rn, spec from scylla.list_tasks('big', 'ready', max_tasks => 1000)$$,
                  'select rn, to_jsonb(n) from thousand where n <= 1000 order by n',
                  'in array order, though not in the order of names');

-- ---- submit_bulk ---------------------------------------------------------------------------------------------------

select is(scylla.submit_bulk('bulk', array['1', '"two"', '{"three": 3}']::jsonb[]), 3::bigint,
          'submit_bulk returns how many');
select results_eq($$select spec, status, priority, rn ~ '^[0-9a-f]{8}-[0-9a-f]{4}-7'
                  from scylla.list_tasks('bulk', 'ready')$$,
                  $$values ('1'::jsonb, 'ready'::scylla.task_status, 0, true), ('"two"', 'ready', 0, true),
                  ('{"three": 3}', 'ready', 0, true)$$,
                  'they are ready, in the order of the array, with made-up names');
select is(scylla.submit_bulk('bulk', array['4', '5']::jsonb[], array['bulk four', 'bulk five'], 127), 2::bigint,
          'with names and a priority');
select is(to_jsonb(t) - '{created,updated}'::text[],
    '{"rn": "bulk five", "queue": "bulk", "spec": 5, "status": "ready", "priority": 127, "progress": 0, "owner": null,
      "deadline": null,
      "errors": [], "history": [], "result": null, "metrics": null, "args": [], "attempt": 0, "failures": 0,
      "max_attempts": 25, "not_before": null, "plan": null, "key": null,
      "pool": null, "state": null, "answers": 0, "answered": null, "error_message": null}', 'which are those of the row')
from scylla.task t where rn = 'bulk five';
select results_eq($$select rn from scylla.lease('bulk', 'w', 2)$$, $$values ('bulk four'), ('bulk five')$$,
                  'and it is leased first');
select is(scylla.submit_bulk('never made', '{}'), 0::bigint, 'nothing is a number too');

select refuses($$select scylla.submit_bulk('q', array['1', '2']::jsonb[], array['fine', 'bulk four'])$$, '23505',
               'unique', 'task "bulk four" already exists');
select refuses($$select scylla.submit_bulk('q', array['1', '2']::jsonb[], array['same', 'same'])$$, '23505', 'unique',
               'task "same" already exists');
select * from checks_name($$select scylla.submit_bulk($1, array['1']::jsonb[])$$, 'queue', blank => false);
select refuses_argument($$select scylla.submit_bulk('q', null)$$, 'specs', 'null', 'It must be an array.');
select refuses_element(format($$select scylla.submit_bulk('q', array['1', %s]::jsonb[])$$, v), 2, 'spec', 'null',
                       'A task must say what is to be done.')
from unnest(array['null', $$'null'$$]) v;
select refuses_element(format($$select scylla.submit_bulk('q', array['1', '2']::jsonb[], array['fine', %s])$$, v), 2,
                       'rns', shown, 'It must have 1 to 200 characters.')
from (values ('null', 'null'), ($$''$$, '""'), ($$repeat('€', 201)$$, '"' || repeat('€', 60) || '..."')) a (v, shown);
select refuses_argument(format($$select scylla.submit_bulk('q', array['1', '2']::jsonb[], %s)$$, v), 'rns',
                        format('an array of %s element%s', n, case when n <> 1 then 's' end),
                        'It must have as many elements as "specs", which has 2.')
from (values ($$'{}'$$, 0), ($$array['a']$$, 1), ($$array['a', 'b', 'c']$$, 3)) a (v, n);
select refuses_argument(format($$select scylla.submit_bulk('q', array['1']::jsonb[], priority => %s)$$, p), 'priority',
                        p, 'It must be between 0 and 127.')
from unnest(array['-1', '128']) p;
select is(scylla.submit_bulk('q', array['1']::jsonb[], priority => p), 1::bigint, 'priority may be ' || p)
from unnest(array[0, 127]) p;
set local scylla.auto_create_queues = off;
select refuses($$select scylla.submit_bulk('unheard of', array['1']::jsonb[])$$, '42704', 'exists',
               'queue "unheard of" does not exist', table_ => 'queue');
reset scylla.auto_create_queues;

select all_is_sound();
select * from finish();
rollback;
