-- submit with on_duplicate => 'replace': the later submission counts while the task waits.
begin;
\ir include/helpers.psql
select * from no_plan();

create function again(spec jsonb, priority int = 0, not_before timestamptz = null, rn text = null) returns scylla.task language sql as $$
    select scylla.submit('q', spec, priority, rn, not_before, dedup_key => 'd', on_duplicate => 'replace');
$$;
create temp table first as select * from again('1');
select is((select string_agg(status::text, ' ') from first), 'ready', 'where nothing has the key, a task is submitted');
select is(t.rn || ' ' || t.status || ' ' || t.spec || ' ' || t.priority, f.rn || ' ready 2 5', 'the same task with the spec and the priority of the later submission')
from first f, again('2', 5) t;
select is(t.rn || ' ' || t.status || ' ' || t.spec || ' ' || (t.not_before = '2300-01-01Z') || (t.created = f.created), f.rn || ' waiting 3 truetrue', 'and with its time')
from first f, again('3', not_before => '2300-01-01Z') t;
select is(t.status || ' ' || t.spec || ' ' || (t.not_before = '2301-01-01Z'), 'waiting 4 true', 'again and again: it starts when it has been quiet for so long')
from again('4', not_before => '2301-01-01Z') t;
select is((select count(*) from scylla.task where queue = 'q'), 1::bigint, 'it is one task');
select is((select status || ' ' || spec || ' ' || not_before from scylla.task where queue = 'q'), 'waiting 4 2301-01-01 00:00:00+00', 'as the view shows');
do $$ begin perform fall_due(rn), scylla.maintain() from first; end $$;
select is((select status || ' ' || spec from scylla.lease('q', 'w', timeout => '1 h')), 'running 4', 'the last spec is run');
-- What is run is run: the next submission is a task of its own, and has the key.
create temp table second as select * from again('5');
select is(s.status || ' ' || (s.rn <> f.rn), 'ready true', 'a submission while it runs is another task') from first f, second s;
select is(t.rn || ' ' || t.spec, s.rn || ' 6', 'which is the one that later ones replace') from second s, again('6') t;
select refuses($$select scylla.submit('q', '1', dedup_key => 'd')$$, '23505', 'dedup', 'a live task of queue "q" already has the deduplication key "d"');
select is_empty('select * from scylla.check()', 'sound, while two of them live');
select is((select t.status::text from first f, scylla.fail(f.rn, 'w', '{"code": "x"}', '0') t), 'ready', 'the first may be retried');
select is_empty('select * from scylla.check()', 'and is sound without the key');
do $$ begin perform scylla.lease_task(rn, 'w'), scylla.complete(rn, 'w') from first; end $$;
select is((select t.rn from again('7') t), rn, 'its end leaves the key to the other') from second;
do $$ begin perform scylla.cancel(rn) from second; end $$;
select is((select count(*) from scylla.task_dedup), 0::bigint, 'whose end frees it');
-- By name.
do $$ begin perform given('n ' || state, state) from unnest('{ready,waiting,retried,running,completed}'::text[]) state; end $$;
select is((select status || ' ' || spec from scylla.submit('q', '"new"', rn => 'n ' || state, on_duplicate => 'replace')), 'ready "new"', 'a task of this name that is ' || state || ' is replaced')
from unnest('{ready,waiting,retried}'::text[]) state;
select is((select status || ' ' || spec from scylla.submit('q', '"new"', rn => 'n ' || state, on_duplicate => 'replace')), state || ' {"a": 1}', 'one that is ' || state || ' is not')
from unnest('{running,completed}'::text[]) state;
-- Gates stay.
do $$ begin perform scylla.submit('q', '1', rn => 'gated', depends_on => '{n running}', dedup_key => 'g'); end $$;
select is((select rn || ' ' || status || ' ' || spec from scylla.submit('q', '2', dedup_key => 'g', on_duplicate => 'replace')), 'gated waiting 2', 'what it waits for stays');
do $$ begin perform scylla.complete('n running', 'w', '"r"'); end $$;
select is((select status || ' ' || spec || ' ' || args from scylla.get_task('gated')), 'ready 2 ["r"]', 'and opens');
select refuses_argument(format($$select scylla.submit('q', '1', dedup_key => 'd', on_duplicate => 'replace', %s)$$, a), 'on_duplicate', '"replace"', 'A task with dependencies, a plan or needs cannot replace another.')
from unnest(array[$$depends_on => '{gated}'$$, $$wait_for => '[{"task": "gated"}]'$$, $$plan => 'p'$$, $$needs => '{}'$$]) a;
select refuses_argument($$select scylla.submit_many('[]', 'replace')$$, 'on_duplicate', '"replace"', 'It must be "error" or "ignore".');
-- A large spec, and back.
select is(length(spec ->> 'x'), 100000, 'a large spec') from again(jsonb_build_object('x', repeat('x', 100000)));
select is(spec, '1', 'and a small one') from again('1');

select all_is_sound();
select * from finish();
rollback;
