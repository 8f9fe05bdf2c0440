-- dedup_for and debounce: not too often.
begin;
\ir include/helpers.psql
select * from no_plan();

-- ---- dedup_for: unique within a time ---------------------------------------------------------------------------------

create function once(rn text, on_duplicate text = 'error', dedup_for interval = '1 hour') returns scylla.task language sql as $$
    select scylla.submit('q', to_jsonb(rn), rn => rn, dedup_key => 'd', dedup_for => dedup_for, on_duplicate => on_duplicate);
$$;
create function finish(rn text, what text) returns void language plpgsql as $$
begin
    if what = 'cancel' then
        perform scylla.cancel(rn);
    else
        perform scylla.lease_task(rn, 'w', timeout => '1 h');
        execute format('select scylla.%I(%L, ''w''%s)', what, rn, case when what = 'abort' then $e$, '{"code": "x"}'$e$ else '' end);
    end if;
end $$;
-- As if this time had passed.
create function elapse(since interval) returns void language sql as $$
    update scylla.task_dedup set until = until - since;
$$;

select is((select status::text from once('a')), 'ready', 'a first submission');
select refuses($$select once('b')$$, '23505', 'dedup', 'a live task of queue "q" already has the deduplication key "d"');
do $$ begin perform finish('a', 'complete'); end $$;
select is((select status::text from scylla.get_task('a')), 'completed', 'is done');
do $$ begin perform set_config('datestyle', 'iso', true); end $$;
select ok(raised($$select once('b')$$) ~ '^23505 scylla.task/dedup\na completed task of queue "q" keeps the deduplication key "d" until 2[0-9-]+ [0-9:.]+', 'and keeps the key');
select is((select rn || ' ' || status from once('b', 'ignore')), 'a completed', 'ignore: it is the one that was submitted');
select is((select rn || ' ' || status from once('b', 'replace')), 'a completed', 'replace: too');
select is((select rn || ' ' || inserted from scylla.submit_many('[{"queue": "q", "spec": 1, "rn": "b", "dedup_key": "d"}]')), 'a false', 'also in submit_many');
select ok(raised($$select * from scylla.submit_many('[{"queue": "q", "spec": 1, "rn": "b", "dedup_key": "d"}]', 'error')$$) ~ '^23505 scylla.task/dedup\na completed task of queue "q" keeps', 'which says so');
select ok(raised($$select scylla.resubmit('a')$$) ~ '^23505 scylla.task/dedup\na completed task of queue "q" keeps', 'also for its own copy');
select is((select rn || ' ' || status from scylla.submit('other', '1', rn => 'elsewhere', dedup_key => 'd')), 'elsewhere ready', 'another queue has keys of its own');
select is_empty('select * from scylla.check()', 'sound, with a key that is kept');

-- The task stays as long as its key.
do $$ begin perform scylla.alter_queue('q', '{"retention": "0 s"}'); end $$;
select is(scylla.purge(), 0::bigint, 'a task that keeps its key is not purged');
do $$ begin perform elapse('2 hours'); end $$;
select is((select rn || ' ' || status from once('c')), 'c ready', 'when the time is over the key is free');
select is((select count(*) from scylla.task_dedup where key = 'd' and queue = (select id from scylla.queue where name = 'q')), 1::bigint, 'and has one row');
select is(scylla.purge(), 1::bigint, 'and the task is purged');
select is_empty('select * from scylla.check()', 'sound, after the purge');
do $$ begin perform elapse('2 hours'); end $$;
select refuses($$select once('d')$$, '23505', 'dedup', 'a live task of queue "q" already has the deduplication key "d"', description => 'a live task keeps the key longer than its time');
do $$ begin perform finish('c', 'complete'); end $$;
select is((select rn || ' ' || status from once('d')), 'd ready', 'and frees it at its end then');
select is(scylla.purge(), 1::bigint, 'as the purge finds');

-- What was not done may be submitted again.
select is((select rn || ' ' || status from finish(earlier, what), once(later)), later || ' ready', what || ' frees the key')
from (values ('d', 'cancel', 'e'), ('e', 'abort', 'f')) v (earlier, what, later);
select is((select count(*) from scylla.task_dedup d join scylla.queue q on q.id = d.queue where q.name = 'q'), 1::bigint, 'each time there is one key');

-- replace, while it waits and while it runs.
select is((select rn || ' ' || spec from once('g', 'replace')), 'f "g"', 'replace: a task that waits is changed');
do $$ begin perform scylla.lease_task('f', 'w', timeout => '1 h'); end $$;
select is((select rn || ' ' || status || ' ' || spec from once('h', 'replace')), 'f running "g"', 'one that runs within its time is the only one');
do $$ begin perform elapse('2 hours'); end $$;
select is((select rn || ' ' || status from once('h', 'replace')), 'h ready', 'after it, it gives the key away');
do $$ begin perform scylla.complete('f', 'w'); end $$;
select is((select rn from once('i', 'ignore')), 'h', 'and its end does not free it');
select is_empty('select * from scylla.check()', 'sound, with a key that was given away');

-- submit_many: several keys that are free by now, and one of them twice.
do $$ begin
    perform scylla.submit_many('[{"queue": "q", "spec": 1, "rn": "m1", "dedup_key": "1", "dedup_for": "1 hour"}, {"queue": "q", "spec": 1, "rn": "m2", "dedup_key": "2", "dedup_for": "1 hour"},
                                 {"queue": "q", "spec": 1, "rn": "m3", "dedup_key": "3"}]');
    perform finish(rn, 'complete') from unnest('{m1,m2,m3}'::text[]) rn;
    perform elapse('2 hours');
end $$;
select is(array(select rn || inserted from scylla.submit_many('[{"queue": "q", "spec": 1, "rn": "n3", "dedup_key": "3"}, {"queue": "q", "spec": 1, "rn": "n2", "dedup_key": "2", "dedup_for": "1 hour"},
                                                                 {"queue": "q", "spec": 1, "rn": "n1", "dedup_key": "1"}, {"queue": "q", "spec": 1, "rn": "n4", "dedup_key": "2"}]')),
          '{n3true,n2true,n1true,n2false}', 'keys that are free again are taken by the first that wants them');
do $$ begin perform finish(rn, 'complete') from unnest('{n1,n2,n3}'::text[]) rn; end $$;
select is(array(select rn || inserted from scylla.submit_many('[{"queue": "q", "spec": 1, "rn": "o1", "dedup_key": "1"}, {"queue": "q", "spec": 1, "rn": "o2", "dedup_key": "2"}]')),
          '{o1true,n2false}', 'only who asked for it keeps a key');

-- Whoever deletes the task, or its queue, frees the key.
do $$ begin perform finish('h', 'complete'), once('k'), finish('k', 'complete'); end $$;
select is((select rn from once('p', 'ignore')), 'k', 'a key that is kept');
do $$ begin perform scylla.delete_task('k'); end $$;
select is((select rn from once('p', 'ignore')), 'p', 'delete_task() frees it');
do $$ begin perform finish('p', 'complete'), scylla.drop_queue('q', true), scylla.maintain(); end $$;
select is((select rn from once('q', 'ignore')), 'q', 'and drop_queue()');
select is((select count(*) from scylla.task_dedup), 2::bigint, 'nothing of the others is left');
select is_empty('select * from scylla.check()', 'sound, after that');

select * from checks_timeout($$select scylla.submit('q', '1', dedup_key => gen_random_uuid()::text, dedup_for => $1)$$, 'dedup_for');
select refuses_argument($$select scylla.submit('q', '1', dedup_for => '1 s')$$, 'dedup_for', '00:00:01', 'It needs a dedup_key.');
select refuses_element($$select scylla.submit_many('[{"queue": "q", "spec": 1, "dedup_for": "1 s"}]')$$, 1, 'dedup_for', '00:00:01', 'It needs a dedup_key.');
select refuses_element($$select scylla.submit_many('[{"queue": "q", "spec": 1, "dedup_key": "x", "dedup_for": "0 s"}]')$$, 1, 'dedup_for', '00:00:00', 'It must be more than 0 and at most 365 days.');

-- ---- debounce: when it has been quiet for so long ----------------------------------------------------------------------

create function later(spec jsonb, rn text = null) returns scylla.task language sql as $$
    select scylla.submit('quiet', spec, rn => rn, dedup_key => 'd', debounce => '1 hour');
$$;
create function left_until(t scylla.task) returns text language sql as $$
    select case when (t).not_before between clock_timestamp() + interval '59 min' and clock_timestamp() + interval '1 h' then 'an hour' else (t).not_before::text end;
$$;
select is((select status || ' ' || spec || ' ' || left_until(t) from later('1', 'once') t), 'waiting 1 an hour', 'it waits for quiet');
update scylla.task_waiting set due = due - interval '30 min' where id = (select id from scylla.task_spec where rn = 'once');
update scylla.task_spec set not_before = not_before - interval '30 min' where rn = 'once';
select is((select rn || ' ' || status || ' ' || spec || ' ' || left_until(t) from later('2') t), 'once waiting 2 an hour', 'from the last submission on, with the last spec');
do $$ begin perform fall_due('once'), scylla.maintain(); end $$;
select is((select status::text from scylla.get_task('once')), 'ready', 'then it is ready');
select is((select rn || ' ' || status || ' ' || spec || ' ' || left_until(t) from later('3') t), 'once waiting 3 an hour', 'and waits again, as long as no worker has it');
do $$ begin perform fall_due('once'), scylla.maintain(), scylla.lease_task('once', 'w', timeout => '1 h'); end $$;
select is((select rn || ' ' || status || ' ' || spec || ' ' || left_until(t) from later('4', 'next') t), 'next waiting 4 an hour', 'while it runs, another one waits');
select is((select rn || ' ' || spec from later('5') t), 'next 5', 'which is replaced then');
do $$ begin perform scylla.complete('once', 'w'); end $$;
select is((select rn || ' ' || spec from later('6') t), 'next 6', 'also when the first has ended');
select is((select count(*) from scylla.task where queue = 'quiet'), 2::bigint, 'there are two');
select is((select rn from scylla.submit('quiet', '7', dedup_key => 'd', debounce => '1 s', on_duplicate => 'replace')), 'next', 'on_duplicate may say what is done anyway');
select is_empty('select * from scylla.check()', 'sound');

select * from checks_timeout($$select scylla.submit('q', '1', dedup_key => gen_random_uuid()::text, debounce => $1)$$, 'debounce');
select refuses_argument(format($$select scylla.submit('q', '1', debounce => '1 s', %s)$$, rest), 'debounce', '00:00:01', rule)
from (values ($$rn => 'x'$$, 'It needs a dedup_key.'),
             ($$dedup_key => 'x', not_before => '2300-01-01'$$, 'It cannot be used together with not_before or dedup_for.'),
             ($$dedup_key => 'x', dedup_for => '1 h'$$, 'It cannot be used together with not_before or dedup_for.'),
             ($$dedup_key => 'x', depends_on => '{next}'$$, 'A task with dependencies, a plan or needs cannot replace another.'),
             ($$dedup_key => 'x', plan => 'p'$$, 'A task with dependencies, a plan or needs cannot replace another.'),
             ($$dedup_key => 'x', needs => '{}'$$, 'A task with dependencies, a plan or needs cannot replace another.'),
             ($$dedup_key => 'x', on_duplicate => 'ignore'$$, 'It replaces what waits; on_duplicate cannot be "ignore".')) v (rest, rule);
select refuses_element($$select scylla.submit_many('[{"queue": "q", "spec": 1, "dedup_key": "x", "debounce": "1 s"}]')$$, 1, 'tasks', '"debounce"', 'It replaces what waits, which only submit() does.');

select all_is_sound();
select * from finish();
rollback;
