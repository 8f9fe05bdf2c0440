-- find_tasks, cancel_many, yield_many, resubmit_matching: tasks by a filter, a portion at a time.
begin;
\ir include/helpers.psql
select * from no_plan();

select signature_is('find_tasks', 'filter jsonb DEFAULT ''{}''::jsonb, max_tasks integer DEFAULT 100, after text DEFAULT NULL::text, max_looks integer DEFAULT 10000, OUT cursor text, OUT task scylla.task', 'SETOF record');
select signature_is(verb, 'filter jsonb, max_tasks integer DEFAULT 1000, after text DEFAULT NULL::text, preview boolean DEFAULT false, max_looks integer DEFAULT 10000, OUT cursor text, OUT rn text, OUT status scylla.task_status, OUT problem text', 'SETOF record')
from unnest('{cancel_many,yield_many}'::text[]) verb;
select signature_is('resubmit_matching', 'filter jsonb, max_tasks integer DEFAULT 1000, after text DEFAULT NULL::text, preview boolean DEFAULT false, max_looks integer DEFAULT 10000, OUT cursor text, OUT rn text, OUT new_rn text', 'SETOF record');

-- All that a filter finds, portion by portion, as long as a last row says that there may be more.
create function found(filter jsonb, portion integer = 100, looks integer = 10000, out names text, out portions integer) language plpgsql as $$
declare
    at text;
    one record;
    more boolean;
begin
    portions := 0;
    loop
        more := false;
        for one in select cursor, (task).rn from scylla.find_tasks(filter, portion, at, looks) loop
            at := one.cursor;
            more := one.rn is null;
            names := coalesce(names || ' ', '') || coalesce(one.rn, '');
        end loop;
        portions := portions + 1;
        names := regexp_replace(trim(names), ' +', ' ', 'g');
        exit when not more or portions > 100;
    end loop;
end;
$$;

do $$ begin
    perform scylla.submit('f', jsonb_build_object('number', i, 'tags', array['t' || i % 2]), rn => 'f' || i, key => 'k' || i % 3, priority => i % 2) from generate_series(1, 12) i;
    perform scylla.submit('f', '{"number": 13}', rn => 'f13', not_before => now() + interval '1 day');
    perform scylla.submit('g', '{"number": 1}', rn => 'g1'), scylla.submit('g', '[1]', rn => 'g2', priority => 5);
    perform scylla.lease_task('f' || i, 'w' || i % 2, '1 h') from generate_series(1, 8) i;
    perform scylla.complete('f1', 'w1'), scylla.complete('f2', 'w0');
    perform scylla.abort('f3', 'w1', '{"code": "x"}'), scylla.abort('f4', 'w0', '{"code": "y"}');
    perform scylla.fail('f5', 'w1', '{"code": "x"}', '1 h');
    perform scylla.cancel('f9');
end $$;

-- ---- looking -------------------------------------------------------------------------------------------------------

select is((found(filter)).names, names, 'found: ' || filter::text) from (values
    ('{}'::jsonb,                                        'g2 g1 f13 f12 f11 f10 f9 f8 f7 f6 f5 f4 f3 f2 f1'),
    ('{"queue": "f"}',                                   'f13 f12 f11 f10 f9 f8 f7 f6 f5 f4 f3 f2 f1'),
    ('{"queue": "none"}',                                null),
    ('{"queue": null, "status": "waiting"}',             'f13 f5'),
    ('{"queue": "f", "status": "ready"}',                'f11 f10 f12'),
    ('{"status": "ready"}',                              'f11 f10 f12 g2 g1'),
    ('{"status": "running"}',                            'f8 f7 f6'),
    ('{"status": "completed"}',                          'f2 f1'),
    ('{"status": "aborted"}',                            'f4 f3'),
    ('{"status": "cancelled"}',                          'f9'),
    ('{"status": "live"}',                               'f13 f5 f11 f10 f12 g2 g1 f8 f7 f6'),
    ('{"worker": "w1"}',                                 'f7 f3 f1'),
    ('{"worker": "w1", "status": "running"}',            'f7'),
    ('{"worker": "w1", "status": "live"}',               'f7'),
    ('{"worker": "w1", "status": "ready"}',              null),
    ('{"key": "k0"}',                                    'f12 f9 f6 f3'),
    ('{"key": "k0", "status": "aborted"}',               'f3'),
    ('{"key": "k0", "status": "live"}',                  'f12 f6'),
    ('{"code": "x"}',                                    'f5 f3'),
    ('{"code": "x", "status": "waiting"}',               'f5'),
    ('{"code": "y", "status": "aborted", "queue": "f"}', 'f4'),
    ('{"code": "y", "status": "completed"}',             null),
    ('{"spec": {"number": 1}}',                          'g1 f1'),
    ('{"spec": {"tags": ["t1"]}, "status": "live"}',     'f5 f11 f7'),
    ('{"spec": [1]}',                                    'g2'),
    ('{"created_after": "infinity"}',                    null),
    ('{"created_before": "2001-01-01Z"}',                null)) v (filter, names);
select is((found(jsonb_build_object('created_after', created, 'queue', 'g'))).names, 'g2 g1', 'by when it was submitted: then or later') from scylla.get_task('g1');
select is((found(jsonb_build_object('created_before', created))).names, 'g1 f13 f12 f11 f10 f9 f8 f7 f6 f5 f4 f3 f2 f1', 'or earlier') from scylla.get_task('g2');
select is((task).status || ' ' || (task).spec || (task).errors || (task).owner, 'aborted {"tags": ["t1"], "number": 3}[{"args": {}, "code": "x", "message": ""}]w1', 'a task is there as a whole')
from scylla.find_tasks('{"key": "k0", "code": "x"}');

-- Each portion goes on where the one before it ended, however small it is, and whatever ends it.
select is((found(filter, portion, looks)).names, (found(filter)).names, 'in portions of ' || portion || ', ' || looks || ' rows each: ' || filter::text)
from (values ('{}'::jsonb), ('{"status": "ready"}'), ('{"status": "live"}'), ('{"status": "aborted"}'), ('{"key": "k0"}'), ('{"status": "live", "spec": {"number": 13}}'), ('{"worker": "w1", "status": "running"}')) f (filter),
     (values (1, 10000), (2, 10000), (100, 1), (100, 2), (3, 4)) v (portion, looks);
select is((found('{}', 5)).portions, 3, 'there is no portion with nothing in it');
select is((found('{"status": "completed"}', 2)).portions, 1, 'also where other rows follow');
-- At least, because what other tests have rolled back counts as rows of other queues.
select cmp_ok((found('{"key": "nobody"}', 100, 4)).portions, '>=', 4, 'rows that do not match count as rows');
select is((select count(*) from scylla.find_tasks('{"key": "nobody"}', max_looks => 5)), 1::bigint, 'where to go on is a row without a task');
select is((select count(cursor) from scylla.find_tasks('{"queue": "f"}', 3)), 4::bigint, 'each task has a cursor');
select is((select string_agg((task).rn, ' ') from scylla.find_tasks('{"queue": "f"}', after => (select cursor from scylla.find_tasks('{"queue": "f"}') where (task).rn = 'f4'))), 'f3 f2 f1', 'behind which one can go on');
select is((select string_agg((task).rn, ' ') from scylla.find_tasks('{"status": "ready"}', after => (select cursor from scylla.find_tasks('{"status": "ready"}') where (task).rn = 'f10'))), 'f12 g2 g1', 'likewise in the order of priority');

-- Rows of other queues, or with another status, are passed over: ten of them count as one that is looked at.
savepoint others;
do $$ begin
    perform scylla.submit_bulk('others', array_fill('1'::jsonb, array[85]));
    perform scylla.lease('others', 'w', 30);
    perform scylla.complete((task).rn, 'w') from scylla.find_tasks('{"queue": "others", "status": "running"}') where (task).rn is not null;
end $$;
select is((select cursor from scylla.find_tasks('{"queue": "f"}', max_looks => looks)),
          (select 'a' || s.id from scylla.task_spec s join scylla.queue q on q.id = s.queue where q.name = 'others' order by s.id desc offset looks * 10 - 1 limit 1),
          looks || ' rows are ' || looks * 10 || ' of others') from unnest('{1,2,8}'::int[]) looks;
select is((select cursor from scylla.find_tasks('{"status": "aborted"}', max_looks => looks)),
          (select 'e' || id from scylla.task_outcome where status = 'completed' order by id desc offset looks * 10 - 1 limit 1),
          looks || ' rows are ' || looks * 10 || ' that have ended otherwise') from unnest('{1,3}'::int[]) looks;
select is((found(filter, 100, looks)).names, (found(filter)).names, 'in portions of ' || looks || ' rows: ' || filter::text)
from unnest('{1,5,21}'::int[]) looks, unnest(array['{"queue": "f"}', '{"status": "aborted"}']::jsonb[]) filter;
rollback to others;

-- ---- what is refused -----------------------------------------------------------------------------------------------

create temp table refused (filter jsonb, argument text, value text, rule text);
insert into refused values
    ('[]', 'filter', '[]', 'It must be an object with queue, status, worker, key, code, spec, created_after, created_before.'),
    ('{"keys": 1}', 'filter', '"keys"', 'It must be an object with queue, status, worker, key, code, spec, created_after, created_before.'),
    ('{"status": "alive"}', 'status', '"alive"', 'It must be a status, or "live".'),
    ('{"status": 1}', 'status', '1', 'It must be a text.'),
    ('{"key": 1}', 'key', '1', 'It must be a text.'),
    ('{"code": []}', 'code', '[]', 'It must be a text.'),
    ('{"queue": ""}', 'queue', '""', 'It must have 1 to 200 characters.'),
    ('{"worker": ""}', 'worker', '""', 'It must have 1 to 200 characters.'),
    ('{"created_after": "soon"}', 'created_after', '"soon"', 'It must be a time as ISO 8601 has it, as "2026-11-28", "2026-11-28 08:30" or "2026-11-28T08:30:15+01:00".'),
    ('{"created_before": 5}', 'created_before', '5', 'It must be a text.');
select refuses_argument(format('select scylla.%s(%L)', verb, filter), argument, value, rule)
from refused, unnest('{find_tasks,cancel_many,yield_many,resubmit_matching}'::text[]) verb;
select refuses_argument(format('select scylla.find_tasks(after => %L)', at), 'after', '"' || at || '"', 'It must be a cursor that the same filter has given.')
from unnest('{x,a,a-1,"a1.2",r1,w3,"a1 ","a99999999999999999999",r1.2.3}'::text[]) at;
select refuses_argument(format($$select scylla.find_tasks('{"status": "ready"}', after => %L)$$, at), 'after', '"' || at || '"', 'It must be a cursor that the same filter has given.')
from unnest('{r1.2,r1.99999.3,r-1.2.3,r99999999999.2.3,r1.2.3.4,r1..3}'::text[]) at;
select refuses_argument('select scylla.find_tasks(max_tasks => 0)', 'max_tasks', '0', 'It must be between 1 and 100000.');
select refuses_argument('select scylla.find_tasks(max_looks => 0)', 'max_looks', '0', 'It must be between 1 and 100000.');
select refuses_argument(format('select scylla.%s(null)', verb), 'filter', 'null', 'It must be an object with queue, status, worker, key, code, spec, created_after, created_before.')
from unnest('{cancel_many,yield_many,resubmit_matching}'::text[]) verb;
select refuses_argument($$select scylla.cancel_many('{"status": "aborted"}')$$, 'status', 'aborted', 'It must be "waiting", "ready", "running" or "live".');
select refuses_argument($$select scylla.yield_many('{"status": "ready"}')$$, 'status', 'ready', 'It must be "running".');
select refuses_argument($$select scylla.yield_many('{"status": "live"}')$$, 'status', 'live', 'It must be "running".');
select refuses_argument(format('select scylla.resubmit_matching(%L)', jsonb_build_object('status', status)), 'status', status, 'It must be "aborted", "cancelled" or "completed".')
from unnest('{live,waiting,ready,running}'::text[]) status;
select refuses_argument(format($$select scylla.resubmit_matching('{}', after => %L)$$, at), 'after', '"' || at || '"', 'It must be a cursor that the same filter has given.')
from unnest('{x,a1,r1.2.3,e,e-1}'::text[]) at;
select refuses(format($$select scylla.%s('{"queue": "none"}')$$, verb), '42704', 'exists', 'queue "none" does not exist', table_ => 'queue')
from unnest('{cancel_many,yield_many,resubmit_matching}'::text[]) verb;

-- ---- acting --------------------------------------------------------------------------------------------------------

select is((select string_agg(concat_ws(' ', rn, status, problem), ', ') from scylla.cancel_many('{"key": "k0"}', preview => true)), 'f12 ready, f6 running', 'a preview shows what would be cancelled, and how it is');
select is((select string_agg(concat_ws(' ', rn, status, problem), ', ') from scylla.yield_many('{"worker": "w0"}', preview => true)), 'f8 running, f6 running', 'or given back');
select is((found('{"status": "live"}')).names, 'f13 f5 f11 f10 f12 g2 g1 f8 f7 f6', 'and does nothing');
select is((select string_agg(concat_ws(' ', rn, status, problem), ', ') from scylla.yield_many('{"worker": "w0"}')), 'f8 ready, f6 ready', 'tasks are taken from a worker');
select is((select string_agg(history -> -1 ->> '_typ', ' ') from scylla.task where rn in ('f8', 'f6')), 'TaskYield TaskYield', 'as if it had given them back');
select is(starts_with(raised($$select scylla.complete('f8', 'w0')$$), '55000 '), true, 'it holds them no longer');
select is((select string_agg(concat_ws(' ', rn, status, problem), ', ') from scylla.cancel_many('{"key": "k0"}')), 'f6 cancelled, f12 cancelled', 'tasks are cancelled');
select is_empty($$select from scylla.cancel_many('{"key": "k0"}')$$, 'once');
do $$ begin
    perform scylla.submit('f', '1', rn => 'after f10', depends_on => '{f10}'), scylla.submit('f', '1', rn => 'ignores', depends_on => '{f11}', on_dependency_failure => 'ignore');
end $$;
select is((select string_agg(concat_ws(' ', coalesce(rn, 'more'), status, problem), ', ') from scylla.cancel_many('{"queue": "f"}', 2)), 'ignores cancelled, after f10 cancelled, more', 'a portion says that there are more');
select is((select string_agg(concat_ws(' ', coalesce(rn, 'more'), status, problem), ', ') from scylla.cancel_many('{"queue": "f"}')), 'f13 cancelled, f5 cancelled, f11 cancelled, f8 cancelled, f10 cancelled, f7 cancelled', 'done again it goes on');
do $$ begin
    perform scylla.submit('h', '1', rn => 'h1'), scylla.submit('i', '1', rn => 'h2', depends_on => '{h1}');
end $$;
select is((select count(*) from scylla.cancel_many('{"queue": "h"}')), 1::bigint, 'what others wait for can be cancelled');
select is((select status::text from scylla.get_task('h2')), 'aborted', 'and they learn of it');
do $$ begin perform scylla.submit('i', '1', rn => 'i' || i) from generate_series(1, 7) i; end $$;
create temp table done as select * from scylla.cancel_many('{"queue": "i"}', 3);
select is((select string_agg(coalesce(rn, '-'), ' ') from done), 'i1 i2 i3 -', 'the oldest first, where priorities are the same');
select is((select string_agg(coalesce(rn, '-'), ' ') from scylla.cancel_many('{"queue": "i"}', 3, (select cursor from done where rn is null))), 'i4 i5 i6 -', 'the cursor goes on behind them');

-- ---- once more -----------------------------------------------------------------------------------------------------

do $$ begin
    perform scylla.submit('again', jsonb_build_object('kind', i % 2), rn => 'a' || i, key => 'k' || i % 3, depends_on => case when i = 8 then '{a2}'::text[] end) from generate_series(1, 9) i;
    perform scylla.lease_task('a' || i, 'w' || i % 2) from generate_series(1, 6) i;
    perform scylla.abort('a' || i, 'w' || i % 2, jsonb_build_object('code', case when i > 3 then 'late' else 'early' end)) from generate_series(1, 5) i;
    perform scylla.complete('a6', 'w0'), scylla.cancel('a7');
end $$;
-- What a filter finds to be copied.
create function to_copy(filter jsonb) returns text language sql as $$
    select string_agg(rn || coalesce(new_rn, ''), ' ') from scylla.resubmit_matching(filter, preview => true)
$$;
select is(to_copy(filter), names, 'to be copied: ' || filter::text) from (values
    ('{"queue": "again"}'::jsonb,                      'a1 a2 a3 a4 a5 a8'),
    ('{"queue": "again", "status": "aborted"}',        'a1 a2 a3 a4 a5 a8'),
    ('{"queue": "again", "status": "cancelled"}',      'a7'),
    ('{"queue": "again", "status": "completed"}',      'a6'),
    ('{"queue": "again", "key": "k1"}',                'a1 a4'),
    ('{"queue": "again", "worker": "w1"}',             'a1 a3 a5'),
    ('{"queue": "again", "code": "late"}',             'a4 a5'),
    ('{"queue": "again", "spec": {"kind": 1}}',        'a1 a3 a5'),
    ('{"queue": "again", "created_after": "infinity"}', null),
    ('{"key": "k2", "code": "late"}',                  'a5')) v (filter, names);
select is((select string_agg(coalesce(rn, '-'), ' ') from scylla.resubmit_matching('{"queue": "again"}', 2, preview => true)), 'a1 a2 -', 'a preview comes in portions, too');
select is((select string_agg(coalesce(rn, '-'), ' ') from scylla.resubmit_matching('{"queue": "again"}', 3, (select cursor from scylla.resubmit_matching('{"queue": "again"}', 2, preview => true) where rn is null), true)), 'a3 a4 a5 -', 'the cursor goes on behind them');
select is((select string_agg(coalesce(rn, '-'), ' ') from scylla.resubmit_matching('{"queue": "again", "key": "k2"}', max_looks => 1, preview => true)), '-', 'rows that do not match count as rows');
select is_empty($$select from scylla.resubmissions where queue = 'again'$$, 'and does nothing');
create temp table copied as select * from scylla.resubmit_matching('{"queue": "again", "spec": {"kind": 0}}');
select is((select string_agg(rn, ' ' order by rn) from copied where new_rn is not null), 'a2 a4 a8', 'those that match are copied');
select is((select string_agg(r.rn || ' ' || (r.new_rn = c.new_rn), ' ' order by r.rn) from scylla.resubmissions r join copied c using (rn)), 'a2 true a4 true a8 true', 'under the names that it returns');
select is((select string_agg(t.status::text, ' ' order by c.rn) from copied c join scylla.task t on t.rn = c.new_rn), 'ready ready waiting', 'a copy waits for the copy of what its original waited for');
select is(to_copy('{"queue": "again"}'), 'a1 a3 a5', 'each once: done again it goes on');
select is((select string_agg(coalesce(rn, '-'), ' ') from scylla.resubmit_matching('{"queue": "again"}', 2)), 'a1 a3 -', 'a portion says that there may be more');
select is((select string_agg(coalesce(rn, '-'), ' ') from scylla.resubmit_matching('{"queue": "again"}', 2)), 'a5', 'and those that are done do not count');
-- What waits for another comes later, also in another portion.
do $$ begin
    perform scylla.submit('chain', '1', rn => 'c1'), scylla.submit('chain', '1', rn => 'c2', depends_on => '{c1}'), scylla.submit('chain', '1', rn => 'c3', depends_on => '{c2}');
    perform scylla.lease_task('c1', 'w'), scylla.abort('c1', 'w', '{"code": "x"}');
    for i in 1 .. 3 loop
        perform scylla.resubmit_matching('{"queue": "chain"}', 1);
    end loop;
end $$;
select is((select string_agg(r.rn || ' ' || t.status, ', ' order by r.rn) from scylla.resubmissions r join scylla.task t on t.rn = r.new_rn where r.queue = 'chain'), 'c1 ready, c2 waiting, c3 waiting', 'a chain that has failed, one task at a time');

-- ---- and what cannot be done ---------------------------------------------------------------------------------------

do $$ begin
    perform scylla.submit('mine', '1', rn => 'm1'), scylla.submit('theirs', '1', rn => 't1');
    perform scylla.lease_task('m1', 'w'), scylla.lease_task('t1', 'w');
end $$;
create role "scylla test bulk";
grant usage on schema scylla to "scylla test bulk";
grant execute on function scylla.cancel_many, scylla.yield_many, scylla.find_tasks, scylla.resubmit_matching to "scylla test bulk";
do $$ begin
    perform scylla.grant_queue('mine', 'scylla test bulk', p) from unnest('{view,submit,work}'::text[]) p;
    perform scylla.grant_queue('theirs', 'scylla test bulk', 'view');
end $$;
set local role "scylla test bulk";
create temp table tried on commit drop as
    select 1 as n, * from scylla.yield_many('{}') union all select 2, * from scylla.cancel_many('{}');
reset role;
select is((select string_agg(concat_ws(' ', n, rn, status, problem), ', ' order by n, rn) from tried),
          '1 m1 ready, 1 t1 running This needs the privilege "work" on its queue., 2 m1 cancelled, 2 t1 running This needs the privilege "submit" on its queue.',
          'what this role may not do is said, and the rest is done');
set local role "scylla test bulk";
select is(left(raised($$select scylla.resubmit_matching('{"queue": "theirs"}')$$), 6), '42501 ', 'copies need the privilege "submit" on the queue');
select is((select count(*) from scylla.resubmit_matching('{"queue": "mine", "status": "cancelled"}')), 1::bigint, 'which this role has');
reset role;

select all_is_sound();
select * from finish();
rollback;
