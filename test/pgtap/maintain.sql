-- reset_expired, purge, maintain: what the monitor does, by hand.
begin;
\ir include/helpers.psql
select * from no_plan();

select signature_is('reset_expired', '', 'bigint');
select signature_is('purge', '', 'bigint');
select signature_is('maintain', '', 'void');

select is(scylla.reset_expired(), 0::bigint, 'no leases: nothing to end');
select is(scylla.purge(), 0::bigint, 'no tasks: nothing to remove');

-- ---- reset_expired -------------------------------------------------------------------------------------------------

do $$ begin
    perform given('t1', 'running');
    perform scylla.heartbeat('t1', 'w', 0.5);
    perform given('t2', 'running');
    perform expire('t1');
end $$;
create temp table before as select * from scylla.task where rn like 't_';
select is(scylla.reset_expired(), 1::bigint, 'one lease ran out: one is ended');
select is(to_jsonb(a) - '{updated,history}'::text[],
          to_jsonb(b) - '{updated,history}'::text[]
          || '{"status": "ready", "progress": 0, "owner": null, "deadline": null, "failures": 1}',
          'the task is ready again: progress 0, no owner, no deadline, one failure more, no error')
from before b join scylla.task a using (rn) where rn = 't1';
select is(a.history, b.history || jsonb_build_object('_typ', 'TaskTimeout', 'worker', 'w', 'attempt', 2, 'progress',
                                                     0.5, 'time', in_history(a.updated)),
          'history has a TaskTimeout with the progress that was reached') from before b join scylla.task a using (rn)
          where rn = 't1';
select ok(a.updated > b.deadline and a.updated between now() and clock_timestamp(),
          'at the time of ending it, not of its deadline')
from before b join scylla.task a using (rn) where rn = 't1';
select is(seen('t2'), to_jsonb(b), 'the lease that did not run out is as it was') from before b where rn = 't2';
select is(scylla.reset_expired(), 0::bigint, 'once is enough');
select refuses($$select scylla.complete('t1', 'w')$$, '55000', 'held', 'task "t1" is not held by worker "w"',
               'Its status is ready, it has no owner and its attempt is 2.',
               'the worker learns that its lease is lost');
do $$ begin perform scylla.lease_task('t1', 'w'); end $$;
select refuses($$select scylla.complete('t1', 'w', attempt => 2)$$, '55000', 'held',
               'task "t1" is not held by worker "w"',
               'Its status is running, its owner is "w" and its attempt is 3.',
               'and by naming its attempt also if it is the one to lease it again');

do $$ begin
    perform scylla.submit('q', '{}', rn => 'twice', max_attempts => 2);
    perform scylla.lease_task('twice', 'w');
    perform expire('twice');
    perform scylla.reset_expired();
    perform scylla.lease_task('twice', 'w');
    perform scylla.heartbeat('twice', 'w', 0.25);
    perform expire('twice');
end $$;
truncate before;
insert into before select * from scylla.task where rn = 'twice';
select is(scylla.reset_expired(), 1::bigint, 'the last attempt runs out');
select is(to_jsonb(a) - '{updated,history,error_message}'::text[] #- '{errors,0,message}',
          to_jsonb(b) - '{updated,history,error_message}'::text[]
              || '{"status": "aborted", "owner": null, "deadline": null, "failures": 2, "errors": [{"code": "timeout",
                   "args": {}}]}',
          'max_attempts are used up: aborted, with the progress and without an owner, and an error says why')
from before b join scylla.task a using (rn);
select matches(errors -> 0 ->> 'message', '.', 'in words too') from scylla.get_task('twice');
select is(a.history, b.history || jsonb_build_object('_typ', 'TaskTimeout', 'worker', 'w', 'attempt', 2, 'progress',
                                                     0.25, 'time', in_history(a.updated)),
          'and history tells whose it was') from before b join scylla.task a using (rn);

do $$ begin
    perform scylla.submit('q', '{}', rn => 'mixed', max_attempts => 2);
    perform scylla.lease_task('mixed', 'w');
    perform scylla.fail('mixed', 'w', '{"code": "x"}', '0');
    perform scylla.lease_task('mixed', 'w');
    perform expire('mixed');
    perform scylla.reset_expired();
end $$;
select is(status || ' ' || jsonb_path_query_array(errors, '$[*].code'), 'aborted ["x", "timeout"]',
          'fails and time-outs count together')
from scylla.get_task('mixed');

do $$ begin
    perform scylla.submit_bulk('hundreds', array_agg(to_jsonb(n))) from generate_series(1, 300) n;
    perform scylla.lease('hundreds', 'w', 300);
    update scylla.task_lease set deadline = clock_timestamp() - interval '1 s'
    where queue = (select id from scylla.queue where name = 'hundreds');
end $$;
select is(scylla.reset_expired(), 300::bigint, 'three hundred at once');
select is((select array_agg(spec::int order by n)
           from (select row_number() over () as n, spec from scylla.lease('hundreds', 'w', 300)) _),
          (select array_agg(n order by n) from generate_series(1, 300) n), 'keep their places');

-- ---- opening due tasks ---------------------------------------------------------------------------------------------

do $$ begin
    perform given('d1', 'waiting');
    perform given('d2', 'waiting');
    perform given('d3', 'retried');
end $$;
select is(scylla.reset_expired(), 0::bigint, 'reset_expired looks at leases only');
truncate before;
insert into before select * from scylla.task where rn like 'd_';
do $$ begin perform fall_due('d1'); perform fall_due('d3'); perform scylla.maintain(); end $$;
select is(to_jsonb(a) - 'updated',
          to_jsonb(b) - 'updated' || '{"status": "ready"}' ||
              -- Again what submit was given, which for d3 is nothing.
              case when rn = 'd3' then '{"not_before": null}' else '{}'::jsonb end, rn
              || ' was due: it is ready, nothing else has changed')
from before b join scylla.task a using (rn) where rn in ('d1', 'd3');
select ok(a.updated > b.updated, 'but updated') from before b join scylla.task a using (rn) where rn in ('d1', 'd3');
select is(seen('d2'), to_jsonb(b), 'd2 was not: it waits') from before b where rn = 'd2';
select results_eq($$select rn from scylla.lease('q', 'w', 3) where rn like 'd_'$$, $$values ('d1'), ('d3')$$,
                  'and those that are ready can be leased');

-- ---- purge ---------------------------------------------------------------------------------------------------------

do $$ begin
    perform scylla.create_queue('short', retention => '1 h');
    perform scylla.create_queue('long', retention => '365 days');
    perform scylla.create_queue('none', retention => '0');
    update scylla.task_spec set created = created - interval '400 days'; -- what the tests above have left is the oldest
end $$;
-- Oldest first, as ids go in life.
create temp table old as
select row_number() over (order by age desc) as n, queue || ' ' || state || ' ' || age as rn, queue, state, age, stays
from (values
    ('short', interval '59 min', true), ('short', '61 min', false), ('short', '2 days', false),
    ('long',  '364 days',        true), ('long',  '366 days', false),
    ('usual', '167 h',           true), ('usual', '169 h',  false), ('usual', '300 days', false),
    ('none',  '0',              false)) a (queue, age, stays),
    unnest(array['completed', 'aborted', 'cancelled']) state;
do $$
declare
    o old;
begin
    for o in select * from old order by n loop
        perform grow_old(given(o.rn, o.state, o.queue), o.age);
    end loop;
end $$;
select is(current_setting('scylla.retention'), '7d', 'queues without a retention of their own keep tasks for a week');
select is(scylla.purge(), (select count(*) from old where not stays), 'purge returns how many it removed');
select is(exists (select from scylla.task t where t.rn = o.rn), stays, rn || case when stays then ' stays'
          else ' is removed' end) from old o;
select is(scylla.purge(), 0::bigint, 'once is enough');
select is((scylla.submit('short', '{}', rn => o.rn)).status, 'ready', 'the name of a removed task is free again')
from old o where not stays;

-- Tasks that have not ended are never removed, however old.
do $$ begin
    perform given('old ' || state, state, 'none')
    from unnest(array['waiting', 'ready', 'running', 'yielded', 'retried']) state;
    update scylla.task_spec set created = created - interval '10 years' where rn like 'old %';
    update scylla.task_ready set updated = updated - interval '10 years';
    update scylla.task_lease set updated = updated - interval '10 years', leased = leased - interval '10 years';
    update scylla.task_waiting set updated = updated - interval '10 years';
end $$;
select is(scylla.purge(), 0::bigint, 'live tasks are not removed, even where nothing is kept');

-- ---- maintain ------------------------------------------------------------------------------------------------------

do $$ begin
    perform given('m due', 'waiting');
    perform given('m expired', 'expired');
    perform given('m old', 'completed');
    perform given('m rest', 'running');
    perform fall_due('m due');
    update scylla.task_spec set created = created - interval '30 days' where rn not like 'm %'; -- earlier tasks are older
    perform grow_old('m old', '8 days');
    perform scylla.maintain();
end $$;
select results_eq($$select rn, status from scylla.task where rn like 'm %' order by rn$$,
                  $$values ('m due', 'ready'::scylla.task_status), ('m expired', 'ready'), ('m rest', 'running')$$,
                  'maintain opens, ends and removes in one call');

-- ---- what is too young ----------------------------------------------------------------------------------------------

-- However many plans, callbacks and conditions there are, those that are too young are not read.
create function has_read(table_name text) returns bigint language sql as $$
    select coalesce(sum(idx_tup_fetch), 0)::bigint from pg_stat_xact_all_tables
    where schemaname = 'scylla' and relname = table_name
$$;
do $$ begin
    for n in 1 .. 50 loop
        perform scylla.create_plan('young-' || n);
        perform scylla.open_plan('young-' || n);
        perform scylla.create_callback('young-' || n);
        perform scylla.submit('young', '1', wait_for => jsonb_build_array(jsonb_build_object('signal', 'young', 'match', jsonb_build_object('n', n))));
    end loop;
    update scylla.queue set retention = null;
end $$;
select is((select count(*) from scylla.plan where status = 'completed' and name like 'young-%'), 50::bigint, 'there are many finished plans');
create temp table reads as select name, has_read(name) as before from unnest(array['task_plan', 'signal_condition']) name;
do $$ begin perform scylla.purge(); end $$;
select cmp_ok(has_read(name) - before, '<', 10::bigint, 'a purge reads no young rows of ' || name) from reads;
update scylla.task_plan set created = created - interval '9 days', finished = finished - interval '8 days'
where name in ('young-1', 'young-3');
do $$ begin perform scylla.purge(); end $$;
select results_eq($$select name from scylla.plan where name in ('young-1', 'young-2', 'young-3', 'young-4') order by 1$$,
                  $$values ('young-2'), ('young-3'), ('young-4')$$,
                  'plans are created in the order of their ids: the walk ends at the first young one');

-- Tasks that are kept longer than others are passed over in the index, but for one in a thousand, and do not hide older ones behind them.
do $$ begin
    perform scylla.create_queue('kept', retention_completed => '100 days', retention_aborted => '1 h'), scylla.create_queue('brief', retention => '1 h');
    perform scylla.submit_bulk('kept', array_fill('1'::jsonb, array[2500])), scylla.submit('kept', '1', rn => 'kept, and failed');
    perform scylla.lease_task('kept, and failed', 'w'), scylla.abort('kept, and failed', 'w', '{"code": "x"}');
    perform scylla.complete_many(array_agg(t.rn), 'w') from scylla.lease('kept', 'w', 2500) t;
    perform scylla.submit('brief', '1', rn => 'brief ' || n), scylla.cancel('brief ' || n) from generate_series(1, 3) n;
    update scylla.task_outcome set finished = finished - interval '2 days', leased = leased - interval '2 days';
    update scylla.task_spec set created = created - interval '2 days' where rn <> 'brief 3';
    update scylla.task_outcome o set finished = now() from scylla.task_spec s where s.id = o.id and s.rn = 'brief 3';
    perform scylla.submit('kept', '1', rn => 'young'), scylla.lease_task('young', 'w'), scylla.complete('young', 'w');
end $$;
truncate reads;
insert into reads select 'task_outcome', has_read('task_outcome');
select cmp_ok(scylla.purge(), '>=', 3::bigint, 'the old ones are removed');
select cmp_ok(has_read(name) - before, '<', 200::bigint, 'few of those that are kept were read') from reads;
select set_eq($$select rn from scylla.task where queue = 'brief' or rn ~ 'failed|young'$$, $$values ('brief 3'), ('young')$$, 'the others stay');
select is((select count(*) from scylla.list_tasks('kept', 'completed', max_tasks => 10000)), 2501::bigint, '... with all that are kept');
do $$ begin
    update scylla.task_outcome o set finished = finished - interval '100 days' from scylla.task_spec s where s.id = o.id and s.rn <> 'young';
    update scylla.task_spec set created = created - interval '100 days' where rn <> 'young';
end $$;
select cmp_ok(scylla.purge(), '>=', 2500::bigint, 'these go when their time has come');
select results_eq($$select rn from scylla.list_tasks('kept')$$, $$values ('young')$$, '... all of them');

select all_is_sound();
select * from finish();
rollback;
