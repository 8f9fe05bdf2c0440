-- submit: one new task.
begin;
\ir include/helpers.psql
select * from no_plan();

select signature_is('submit',
    'queue text, spec jsonb, priority integer DEFAULT 0, rn text DEFAULT NULL::text, '
    'not_before timestamp with time zone DEFAULT NULL::timestamp with time zone, '
    'depends_on text[] DEFAULT NULL::text[], on_dependency_failure text DEFAULT ''cascade''::text, '
    'plan text DEFAULT NULL::text, max_attempts integer DEFAULT NULL::integer, retry jsonb DEFAULT NULL::jsonb, '
    'dedup_key text DEFAULT NULL::text, key text DEFAULT NULL::text, on_duplicate text DEFAULT ''error''::text, wait_for jsonb DEFAULT NULL::jsonb, needs jsonb DEFAULT NULL::jsonb, expected_runtime interval DEFAULT NULL::interval, dedup_for interval DEFAULT NULL::interval, debounce interval DEFAULT NULL::interval, run_timeout interval DEFAULT NULL::interval',
    'scylla.task');

-- ---- the new task --------------------------------------------------------------------------------------------------

select is(to_jsonb(t) - '{rn,created,updated}'::text[],
    '{"queue": "q", "spec": {"a": 1}, "status": "ready", "priority": 0, "progress": 0, "owner": null, "deadline": null,
      "errors": [], "history": [], "result": null, "metrics": null, "args": [], "attempt": 0, "failures": 0,
      "max_attempts": 25, "not_before": null, "plan": null, "key": null,
      "pool": null, "state": null, "answers": 0, "answered": null, "error_message": null}',
    'a queue and a spec are enough')
from scylla.submit('q', '{"a": 1}') t;

select ok(t.created = t.updated and t.created between statement_timestamp() and clock_timestamp(),
          'created and updated are the time of the call by the server''s clock')
from scylla.submit('q', '{}') t;

select is(to_jsonb(t) - '{created,updated}'::text[],
    '{"rn": "all", "queue": "q", "spec": [1, "two"], "status": "waiting", "priority": 127, "progress": 0, "owner": null,
      "deadline": null, "errors": [], "history": [], "result": null, "metrics": null, "args": [], "attempt": 0,
      "failures": 0, "max_attempts": 3, "not_before": "2300-01-02T03:04:05.678901+00:00", "plan": null, "key": "whose", "pool": null, "state": null, "answers": 0, "answered": null, "error_message": null}',
    'every argument that is available shows in the row')
from scylla.submit(queue => 'q', spec => '[1, "two"]', priority => 127, rn => 'all',
                   not_before => '2300-01-02 03:04:05.678901Z',
                   depends_on => null, on_dependency_failure => 'cascade', plan => null, max_attempts => 3,
                   retry => null,
                   dedup_key => null, key => 'whose', on_duplicate => 'error') t;

select is(to_jsonb(t), seen(t.rn), 'the row returned is the row in the view: ' || t.status)
from scylla.submit('q', '{"a": 1}') t;
select is(to_jsonb(t), seen(t.rn), 'the row returned is the row in the view: ' || t.status)
from scylla.submit('q', '{"a": 1}', not_before => 'tomorrow') t;

-- ---- not_before ----------------------------------------------------------------------------------------------------

select is(t.status::text || ' ' || t.not_before, 'ready 2001-02-03 04:05:06+00',
          'not_before in the past: ready at once, and kept')
from scylla.submit('q', '{}', not_before => '2001-02-03 04:05:06Z') t;
select is(t.status, 'waiting', 'not_before later today: waiting')
from scylla.submit('q', '{}', not_before => clock_timestamp() + interval '1 h') t;
select is(t.status, 'ready', 'not_before now: ready')
from scylla.submit('q', '{}', not_before => clock_timestamp()) t;
select refuses_argument($$select scylla.submit('q', '{}', not_before => 'infinity')$$, 'not_before', 'infinity',
                        'It must be finite.');
select refuses_argument($$select scylla.submit('q', '{}', not_before => '-infinity')$$, 'not_before', '-infinity',
                        'It must be finite.');
select lives_ok($$select scylla.submit('q', '{}', not_before => '4713-01-01 BC')$$,
                'not_before may be the beginning of time');
select lives_ok($$select scylla.submit('q', '{}', not_before => '294276-12-31 23:59:59.999999Z')$$,
                'not_before may be the end of time');
select is((select not_before from scylla.task where not_before > '290000-01-01'), '294276-12-31 23:59:59.999999Z',
          'and the end of time is kept to the microsecond');

-- ---- rn ------------------------------------------------------------------------------------------------------------

select matches(t.rn, '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$',
               'a made-up rn is a UUID of version 7')
from scylla.submit('q', '{}') t;

select is(('x' || left(replace(t.rn, '-', ''), 12))::bit(48)::bigint,
          floor(extract(epoch from t.created) * 1000)::bigint,
          'its first 48 bits are the milliseconds of created')
from scylla.submit('q', '{}') t;

create temp table made as
select n, (scylla.submit('uuid', to_jsonb(n))).rn from generate_series(1, 1000) n;
select is((select count(distinct rn) from made), 1000::bigint, 'a thousand made-up names differ');
select is_empty($$select * from (select n, rn, lag(rn) over (order by n) as before from made) m
                where rn collate "C" <= before$$,
                'and sort in the order in which they were made');
select is((select count(distinct right(rn, 15)) from made), 1000::bigint, 'and end in random digits');

select is((scylla.submit('q', '{}', rn => name)).rn, name, format('rn %L is kept as it is', name))
from unnest(array[' ', 'with "quotes" and ''more''', E'line\nbreak\ttab\\', '%s %n', 'ünïcödé 🐙', 'null', 'A', 'a',
                  repeat('é', 200),
                  U&'e\0301', U&'\00e9']) name;

select refuses($$select scylla.submit('q', '{}', rn => 'A')$$, '23505', 'unique', 'task "A" already exists');
select refuses($$select scylla.submit('another', '{}', rn => 'A')$$, '23505', 'unique', 'task "A" already exists',
               description => 'names are unique in the database, not in a queue');
do $$ begin perform given('over', 'completed'); end $$;
select refuses($$select scylla.submit('q', '{}', rn => 'over')$$, '23505', 'unique', 'task "over" already exists',
               description => 'the name of a task that has ended is still taken');

-- ---- on_duplicate --------------------------------------------------------------------------------------------------

do $$ begin
    perform given('kept ' || state, state)
    from unnest(array['waiting', 'ready', 'running', 'completed', 'aborted', 'cancelled', 'yielded']) state;
end $$;
create temp table before as select rn, to_jsonb(t) as task from scylla.task t where rn like 'kept %';
select is(to_jsonb(t), b.task, b.rn || ': ignore returns the existing task unchanged')
from before b, scylla.submit('another', '{"b": 2}', 5, b.rn, '2300-01-01', max_attempts => 9,
                             on_duplicate => 'ignore') t;
select results_eq('select rn, seen(rn) from before order by rn', 'select rn, task from before order by rn',
                  'and leaves it unchanged');
select is(to_jsonb(t) - '{created,updated}'::text[],
    '{"rn": "fresh", "queue": "q", "spec": 1, "status": "ready", "priority": 7, "progress": 0, "owner": null,
      "deadline": null,
      "errors": [], "history": [], "result": null, "metrics": null, "args": [], "attempt": 0, "failures": 0,
      "max_attempts": 25, "not_before": null, "plan": null, "key": null,
      "pool": null, "state": null, "answers": 0, "answered": null, "error_message": null}',
    'ignore submits a task whose name is free')
from scylla.submit('q', '1', 7, 'fresh', on_duplicate => 'ignore') t;
select is(to_jsonb(t), seen('fresh'), 'and finds it the next time')
from scylla.submit('q', '1', 7, 'fresh', on_duplicate => 'ignore') t;
select isnt(a.rn, b.rn, 'ignore with made-up names submits each time')
from scylla.submit('q', '1', on_duplicate => 'ignore') a, scylla.submit('q', '1', on_duplicate => 'ignore') b;
select refuses_argument($$select scylla.submit('q', '{}', depends_on => array_fill('x'::text, '{100001}'))$$, 'depends_on', '100001 gates',
                        'A task may have at most 100000, by depends_on and wait_for together.');
select refuses_argument($$select scylla.submit('q', '{}', depends_on => array_fill('x'::text, '{100000}'), wait_for => '[{"task": "y"}]')$$,
                        'wait_for', '100001 gates', 'A task may have at most 100000, by depends_on and wait_for together.');
select refuses_argument($$select scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'q', 'spec', 1, 'depends_on', d))
                                                     from (select to_jsonb(array_fill('x'::text, '{99999}')) d) _, generate_series(1, 12)))$$,
                        'tasks', '1099989 gates in the first 11 elements', 'The tasks of one call may have at most 1000000, by depends_on and wait_for.');
select refuses_argument($$select scylla.submit('q', '{}', on_duplicate => 'IGNORE')$$, 'on_duplicate', '"IGNORE"',
                        'It must be "error", "ignore" or "replace".');
select refuses_argument($$select scylla.submit('q', '{}', on_duplicate => '')$$, 'on_duplicate', '""',
                        'It must be "error", "ignore" or "replace".');

-- ---- a sequence that was not restored ------------------------------------------------------------------------------

-- What a statement raises when the ids that come next are taken, as after a restore that left the sequence behind.
-- Sequences know no rollback: it is set right again.
create function raised_behind(statement text) returns text language plpgsql as $$
declare
    ahead bigint := nextval('scylla.task_id_seq');
    result text;
begin
    perform setval('scylla.task_id_seq', (select min(id) from scylla.task_spec), false);
    result := raised(statement);
    perform setval('scylla.task_id_seq', ahead);
    return result;
end $$;
select is(raised_behind(statement),
          (select format(E'23505 scylla.task_spec/task_spec_pkey\n'
                         'duplicate key value violates unique constraint "task_spec_pkey"\n'
                         'Key (id)=(%s) already exists.', min(id)) from scylla.task_spec),
          'an id that is taken is the server''s own error: ' || statement)
from unnest(array[$$select scylla.submit('q', '{}', rn => 'behind')$$,
                  $$select scylla.submit('q', '{}', rn => 'behind', on_duplicate => 'ignore')$$,
                  $$select scylla.submit('q', '{}')$$,
                  $$select scylla.submit_many('[{"queue": "q", "spec": 1, "rn": "behind"}]')$$,
                  $$select scylla.submit_many('[{"queue": "q", "spec": 1, "rn": "behind"}]', 'error')$$,
                  $$select scylla.submit_bulk('q', array['1']::jsonb[], array['behind'])$$]) statement;
select is((scylla.submit('q', '{}', rn => 'behind')).status, 'ready', 'and the next one is in order');

-- ---- spec ----------------------------------------------------------------------------------------------------------

select is((scylla.submit('q', spec)).spec, spec, format('spec may be %s', spec))
from unnest(array['{}', '[]', '""', '0', 'true', 'false', '[null]', '{"a": null}', '-1.5e300']::jsonb[]) spec;
select is(md5(t.spec::text), md5(big::text), 'a spec of a megabyte comes back as it is')
from (select jsonb_agg(md5(n::text)) as big from generate_series(1, 30000) n) b, scylla.submit('q', big, rn => 'big') t;
select is(md5((scylla.get_task('big')).spec::text),
          (select md5(jsonb_agg(md5(n::text))::text) from generate_series(1, 30000) n),
          'also when it is read back');
select refuses_argument($$select scylla.submit('q', null)$$, 'spec', 'null', 'A task must say what is to be done.');
select refuses_argument($$select scylla.submit('q', 'null')$$, 'spec', 'null', 'A task must say what is to be done.');

-- ---- the other arguments -------------------------------------------------------------------------------------------

select * from checks_name($$select scylla.submit($1, '{}')$$, 'queue', blank => false);
select * from checks_name($$select scylla.submit('q', '{}', rn => $1)$$, 'rn', null_is_refused => false);

select is((scylla.submit('q', '{}', p)).priority, p, 'priority may be ' || p) from unnest(array[0, 1, 126, 127]) p;
select refuses_argument(format($$select scylla.submit('q', '{}', priority => %s)$$, p), 'priority', p,
                        'It must be between 0 and 127.')
from unnest(array['-1', '128', '256', '65536', '-2147483648', '2147483647']) p;

select is((scylla.submit('q', '{}', max_attempts => n)).max_attempts, n, 'max_attempts may be ' || n)
from unnest(array[1, 2147483647]) n;
select refuses_argument(format($$select scylla.submit('q', '{}', max_attempts => %s)$$, n), 'max_attempts', n,
                        'It must be at least 1.')
from unnest(array['0', '-1', '-2147483648']) n;


-- Without it: the queue's, else the setting.
do $$ begin perform scylla.create_queue('three', max_attempts => 3); end $$;
select is((scylla.submit('q', '{}')).max_attempts, 25, 'a task without max_attempts gets scylla.default_max_attempts');
set local scylla.default_max_attempts = 2;
select is((scylla.submit('q', '{}', rn => 'poison')).max_attempts, 2, 'whatever that is');
select is((scylla.submit('three', '{}')).max_attempts, 3, 'but its queue goes first');
do $$ begin
    for i in 1..2 loop
        perform scylla.lease_task('poison', 'w');
        perform scylla.fail('poison', 'w', '{"code": "x"}', retry_after => '0');
    end loop;
end $$;
select is((scylla.get_task('poison')).status::text, 'aborted', 'so what always fails does not go round for ever');
set local scylla.default_max_attempts = -1;
select is((scylla.submit('q', '{}')).max_attempts, null, '-1 is no bound');
select throws_ok(format('set local scylla.default_max_attempts = %s', n), '22023', null, 'scylla.default_max_attempts must not be ' || n)
from unnest(array[0, -2]) n;
set local scylla.default_max_attempts = default;

select * from checks_name($$select scylla.submit('q', '1', key => $1)$$, 'key', false);

do $$ begin
    perform scylla.submit('q', '{}', rn => 'policy ' || policy::text, retry => policy)
    from unnest(array['{}', '{"initial": "2 s", "factor": 3, "max": "1 min", "jitter": 0.5}']::jsonb[]) policy;
end $$;
select is('policy ' || retry::text, rn, 'a task keeps its retry policy') from scylla.task_spec where rn like 'policy %';
select refuses_argument(format($$select scylla.submit('q', '{}', retry => %L)$$, policy), argument, shown, rule)
from (values ('5', 'retry', '5', 'It must be an object.'), ('null', 'retry', 'null', 'It must be an object.'),
             ('{"colour": 1}', 'retry', '"colour"', 'It may have "initial", "factor", "max" and "jitter".'),
             ('{"initial": "-1 s"}', 'initial', '"-1 s"', 'It must be a number of seconds, or numbers with units, the largest first, as "90", "1.5 hours", "1 day 2 hours" or "PT30M".'),
             ('{"jitter": 2}', 'jitter', '2', 'It must be between 0 and 1.')) v (policy, argument, shown, rule);

-- ---- queues on first use -------------------------------------------------------------------------------------------

select is((scylla.submit('first use', '{}')).queue, 'first use', 'the first submit makes the queue');
select results_eq($$select default_timeout, retention from scylla.queue where name = 'first use'$$,
                  'select null::interval, null::interval',
                  'with default settings');
select is((select count(*) from scylla.queue where name = 'q'), 1::bigint, 'later ones use it');
set local scylla.auto_create_queues = off;
select refuses($$select scylla.submit('unknown', '{}')$$, '42704', 'exists', 'queue "unknown" does not exist',
               table_ => 'queue',
               description => 'scylla.auto_create_queues = off: an unknown queue is an error');
select lives_ok($$select scylla.submit('q', '{}')$$, 'and a known one is not');
do $$ begin perform scylla.create_queue('made by hand'); end $$;
select lives_ok($$select scylla.submit('made by hand', '{}')$$, 'nor one that was made by hand');
reset scylla.auto_create_queues;

select all_is_sound();
select * from finish();
rollback;
