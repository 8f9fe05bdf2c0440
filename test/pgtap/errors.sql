-- Errors: what a client can rely on in all of them. Which call raises which is in the files of the verbs.
begin;
\ir include/helpers.psql
select * from no_plan();

do $$ begin
    perform given('running', 'running');
    perform given('done', 'completed');
    perform scylla.create_queue('exists');
    perform given('on hold', 'ready', 'closed');
    perform scylla.create_queue('full', max_running => 1);
    perform scylla.create_queue('full of keys', max_running_per_key => 1);
    perform scylla.submit('full of keys', '1', rn => rn, key => 'acme') from unnest(array['first of key', 'second of key']) rn;
    perform scylla.lease_task('first of key', 'w');
    perform given('enough', 'running', 'full');
    perform given('too much', 'ready', 'full');
    perform scylla.create_queue('brimful', max_depth => 1);
    perform scylla.create_queue('slow', rate => '{"tasks": 1, "per": "1 day"}');
    perform scylla.create_queue('slow for each', rate_per_key => '{"tasks": 1, "per": "1 day"}');
    perform scylla.submit('slow for each', '{}', rn => 'too soon for key', key => 'acme');
    perform given('too soon', 'ready', 'slow');
    perform given('the last drop', 'ready', 'brimful');
    perform scylla.pause_queue('closed');
    perform scylla.submit('q', '{}', dedup_key => 'once');
    perform scylla.create_plan('over'), scylla.open_plan('over');
    perform scylla.create_plan('open');
    perform scylla.submit('q', '{}', plan => 'open');
    perform scylla.open_plan('open');
end $$;

-- ---- one of each kind ----------------------------------------------------------------------------------------------

create temp table kind (code text, about text, rule text, statement text, message text, detail text);
insert into kind values
    ('P0002', 'task',  'exists',    $$select scylla.get_task('nothing')$$,
                      'task "nothing" does not exist', ''),
    ('23505', 'task',  'unique',    $$select scylla.submit('q', '{}', rn => 'done')$$,
          'task "done" already exists', ''),
    ('55000', 'task',  'held',      $$select scylla.complete('running', 'v')$$,
                 'task "running" is not held by worker "v"',
     'Its status is running, its owner is "w" and its attempt is 2.'),
    ('55000', 'task',  'ready',     $$select scylla.lease_task('running', 'w')$$,
               'task "running" is not ready',
     'Its status is running, its owner is "w" and its attempt is 2.'),
    ('55000', 'task',  'live',      $$select scylla.cancel('done')$$,
                           'task "done" has already ended',
     'Its status is completed, its owner is "w" and its attempt is 2.'),
    ('22023', 'task',  'argument',  $$select scylla.lease('q', 'w', 0)$$,
                       'invalid value for argument "max_tasks": 0', 'It must be between 1 and 100000.'),
    ('22023', 'task',  'argument',  $$select scylla.submit_many('[{}]')$$,
                      'invalid value for argument "queue" in element 1: null',
     'It must have 1 to 200 characters.'),
    ('55000', 'queue', 'paused',    $$select scylla.lease_task('on hold', 'w')$$,
             'queue "closed" is paused', ''),
    ('53400', 'queue', 'max_running', $$select scylla.lease_task('too much', 'w')$$,
             'queue "full" has reached its max_running', 'The limit is 1.'),
    ('53400', 'queue', 'max_running_per_key', $$select scylla.lease_task('second of key', 'w')$$,
             'key "acme" of queue "full of keys" has reached its max_running_per_key', 'The limit is 1.'),
    ('53400', 'queue', 'rate', $$select scylla.lease_task('too soon', 'w')$$, 'queue "slow" has used up its rate', ''),
    ('53400', 'queue', 'rate_per_key', $$select scylla.lease_task('too soon for key', 'w')$$,
             'key "acme" of queue "slow for each" has used up its rate', ''),
    ('53400', 'queue', 'max_depth', $$select scylla.submit('brimful', '{}')$$,
             'queue "brimful" has reached its max_depth', 'The limit is 1.'),
    ('2BP01', 'queue', 'empty',     $$select scylla.drop_queue('closed')$$,
             'queue "closed" has tasks', ''),
    ('P0002', 'task',  'provider',  $$select scylla.submit('q', '{}', depends_on => '{done,nothing}')$$,
             'task "nothing" in "depends_on" does not exist', ''),
    ('22023', 'task',  'cycle',     $$select scylla.submit('q', '{}', rn => 'self', depends_on => '{self}')$$,
             'tasks depend on each other in a cycle', '"self" -> "self"'),
    ('23505', 'task',  'dedup',     $$select scylla.submit('q', '{}', dedup_key => 'once')$$,
             'a live task of queue "q" already has the deduplication key "once"', ''),
    ('P0002', 'plan',  'exists',    $$select scylla.open_plan('nowhere')$$, 'plan "nowhere" does not exist', ''),
    ('42710', 'plan',  'unique',    $$select scylla.create_plan('over')$$, 'plan "over" already exists', ''),
    ('55000', 'plan',  'live',      $$select scylla.cancel_plan('over')$$, 'plan "over" has already ended', 'It is finished.'),
    ('55000', 'plan',  'building',  $$select scylla.open_plan('open')$$, 'plan "open" is already open', ''),
    ('42710', 'queue', 'unique',    $$select scylla.create_queue('exists')$$,
                   'queue "exists" already exists', ''),
    ('42704', 'queue', 'exists',    $$select scylla.submit('nowhere', '{}')$$,
                  'queue "nowhere" does not exist', '');
set local scylla.auto_create_queues = off;
select throws_ok(statement, code, message, format('%s: %s', code, message)) from kind;
select refuses(statement, code, rule, message, detail, format('%s about a %s breaks the rule "%s"', code, about, rule),
               about) from kind;
reset scylla.auto_create_queues;

-- Nothing else is filled in that a client might take for its own.
create function other_fields(statement text) returns text language plpgsql as $$
declare
    column_ text; type_ text; hint_ text;
begin
    execute statement;
    return 'no error';
exception when others then
    get stacked diagnostics column_ = column_name, type_ = pg_datatype_name, hint_ = pg_exception_hint;
    return column_ || type_ || hint_;
end $$;
select is(other_fields(statement), '', 'no column, data type or hint: ' || message)
from kind where code not in ('42704', '2BP01') and message !~ '^task .* already exists';
select is(other_fields($$select scylla.submit('q', '{}', rn => 'done')$$), 'With on_duplicate => ''ignore'', an existing task is left as it is.',
          'a hint says how to submit a task that may exist');
select is(other_fields($$select scylla.drop_queue('closed')$$), 'Use force => true to drop them too.',
          'a hint says how to drop a queue with its tasks');

-- ---- the server's own errors do not look like ours -----------------------------------------------------------------

select unalike(raised(statement), '%scylla.task/%', 'an error of the server is not ours: ' || statement)
from unnest(array['select 1 / 0', $$select 'x'::int$$, 'select * from scylla.nothing',
                  'insert into scylla.queue (name) values (null)',
                  $$insert into scylla.queue (name) values ('exists')$$]) statement;

-- ---- what a message shows ------------------------------------------------------------------------------------------

select refuses(format('select scylla.get_task(%L)', name), 'P0002', 'exists', format('task "%s" does not exist', name),
               description => format('the name %L is shown as it is', name))
from unnest(array['%s %n %d', 'a "quoted" name', E'two\nlines', 'back\slash', '🐙 ünïcödé', repeat('€', 200)]) name;
select refuses(format('select scylla.heartbeat(%L, %L)', 'running', name), '55000', 'held',
               format('task "running" is not held by worker "%s"', name),
               'Its status is running, its owner is "w" and its attempt is 2.')
from unnest(array['%s', '"', E'\t', repeat('€', 200)]) name;
do $$ begin perform given('strange', 'ready'); perform scylla.lease_task('strange', '%s "of" €'); end $$;
select refuses($$select scylla.complete('strange', 'w')$$, '55000', 'held', 'task "strange" is not held by worker "w"',
               'Its status is running, its owner is "%s "of" €" and its attempt is 1.');
select refuses_argument(format('select scylla.abort(''running'', ''w'', %L)', to_jsonb(repeat('x', n))), 'error', shown,
                        'It must be an object with a non-empty text "code"; "message" must be a text.')
from (values (58, '"' || repeat('x', 58) || '"'), (59, '"' || repeat('x', 59) || '...'),
      (100000, '"' || repeat('x', 59) || '...')) v (n, shown);

-- ---- what is looked at first ---------------------------------------------------------------------------------------

select throws_ok(statement, code, null, format('%s goes before what else is wrong: %s', code, statement))
from (values ('22023', $$select scylla.heartbeat('nothing', 'w', 7)$$),
             ('22023', $$select scylla.complete('nothing', '')$$), ('22023', $$select scylla.fail('done', 'w', null)$$),
             ('22023', $$select scylla.submit('q', '{}', -1, 'done')$$),
             ('22023', $$select scylla.lease_task('done', 'w', '-1 s')$$)) e (code, statement);

-- ---- hints -------------------------------------------------------------------------------------------------------------

create function hint_of(statement text) returns text language plpgsql as $$
declare
    hint text;
begin
    execute statement;
    return null;
exception when others then
    get stacked diagnostics hint = pg_exception_hint;
    return hint;
end $$;
do $$ begin
    perform given('hinted', 'running', 'hints');
    perform scylla.create_plan('hint plan'), scylla.create_callback('hint token');
    perform scylla.submit('hints', '1', rn => 'of plan', plan => 'hint plan');
    perform scylla.submit('hints', '1', rn => 'of time', not_before => '2300-01-01Z');
    perform scylla.submit('hints', '1', rn => 'of task', depends_on => '{hinted}');
    perform scylla.submit('hints', '1', rn => 'of callback', wait_for => '[{"callback": "hint token"}]');
    perform scylla.submit('hints', '1', rn => 'of signal', wait_for => '[{"signal": "hint signal", "match": {}}]');
end $$;
select is(hint_of(format($$select scylla.%s$$, call)), 'Attempt 2 is running, attempt 7 was given.', call)
from unnest(array[$$complete('hinted', 'w', attempt => 7)$$, $$heartbeat('hinted', 'w', attempt => 7)$$, $$yield('hinted', 'w', attempt => 7)$$,
                  $$complete_and_lease('{hinted}', 'w', 'hints', attempts => '{7}')$$]) call;
select is(hint_of($$select scylla.complete('hinted', 'somebody else', attempt => 7)$$), '', 'another worker is another matter');
set local timezone = 'UTC';
set local datestyle = 'ISO';
select matches(hint_of(format($$select scylla.lease_task('of %s', 'w')$$, of)), '^It waits for ' || hint, 'not ready, and why: ' || of)
from (values ('plan', 'plan hint plan\. .*open'), ('time', 'its start time \(2300-01-01 00:00:00\+00\)\. '),
             ('task', 'task hinted\. '), ('callback', 'callback hint token\. '), ('signal', 'signal hint signal\. ')) h (of, hint);
create role scylla_test_hints;
grant usage on schema scylla to scylla_test_hints;
grant execute on function scylla.lease_task to scylla_test_hints;
do $$ begin
    perform scylla.create_queue('workshop'), scylla.grant_queue('workshop', 'scylla_test_hints', 'work');
    perform scylla.submit('workshop', '1', rn => 'of secret', depends_on => '{hinted}');
end $$;
set local role scylla_test_hints;
select matches(hint_of($$select scylla.lease_task('of secret', 'w')$$), '^It waits for a task\. ', 'which is not named to who may not see it');
reset role;
select is(hint_of($$select scylla.lease_task('hinted', 'w')$$), '', 'what does not wait needs no reason');

-- Names that are about to be created.
select refuses_argument(format('select scylla.create_queue(%L)', name), 'queue', '"' || name || '"', 'It must not begin or end with a blank.')
from unnest(array[' mail', 'mail ', E'mail\n', E'\tmail']) name;
select refuses_argument(format('select scylla.submit(%L, ''1'')', name), 'queue', '"' || name || '"', 'It must not begin or end with a blank.')
from unnest(array[' mail', 'mail ']) name;
insert into scylla.queue (name) values (' of old');
select lives_ok($$select scylla.submit(' of old', '1')$$, 'a queue that is there can still be used');

select all_is_sound();
select * from finish();
rollback;
