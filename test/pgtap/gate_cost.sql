-- Tasks without gates cost what they cost before there were any: as many pages and as much WAL, whether others have gates or not.
begin;
\ir include/helpers.psql
select * from no_plan();

-- Tables that nothing has ever been in: what is counted does not hang on what other tests have left.
truncate scylla.task_spec, scylla.task_ready, scylla.task_lease, scylla.task_waiting, scylla.task_outcome, scylla.task_gate,
    scylla.task_plan, scylla.task_dedup;

create temp table cost (phase text, verb text, pages int, bytes int);
create function measure(phase text, verb text, statement text) returns void language plpgsql as $$
declare
    plan json;
begin
    execute 'explain (analyze, buffers, wal, timing off, format json) ' || statement into plan;
    plan := plan -> 0 -> 'Plan';
    insert into cost values (phase, verb, (plan ->> 'Shared Hit Blocks')::int + (plan ->> 'Shared Read Blocks')::int,
                             (plan ->> 'WAL Bytes')::int);
end $$;
-- A task's whole life, some times: the least of a figure is that of a call that neither extends a table nor splits a page, and
-- writes no page as a whole.
create function measure_lives(phase text) returns void language plpgsql as $$
declare
    rn text;
begin
    for i in 1 .. 30 loop
        perform measure(phase, 'submit', $q$select from scylla.submit('q', '{"image": "https://example.org/images/0123456789.jpg", "width": 640}')$q$);
        perform measure(phase, 'lease', $q$select from scylla.lease('q', 'worker-1')$q$);
        select t.rn into strict rn from scylla.list_tasks('q', 'running') t;
        perform measure(phase, 'complete', format('select from scylla.complete(%L, ''worker-1'')', rn));
    end loop;
end $$;
-- So many that the indexes have the height that they keep.
do $$ begin
    perform scylla.submit_bulk('q', array_agg(to_jsonb(n))) from generate_series(1, 2000) n;
    perform scylla.complete(rn, 'w') from scylla.lease('q', 'w', 1000);
    perform scylla.cancel(rn) from scylla.list_tasks('q', 'ready', max_tasks => 1000);
end $$;

select measure_lives('without gates') \g /dev/null
select scylla.submit('p', '1', rn => 'provider'), scylla.submit('p', '1', depends_on => '{provider}'), scylla.create_plan('a plan'),
       scylla.submit('p', '1', plan => 'a plan', dedup_key => 'a key') \g /dev/null
select measure_lives('beside gates') \g /dev/null

create temp view least as select phase, verb, min(pages) as pages, min(bytes) as bytes from cost group by phase, verb;
select diag((select string_agg(format('%s %s: %s pages, %s bytes of WAL', verb, phase, pages, bytes), '; ' order by phase desc, verb desc)
             from least));
-- With what a commit writes they were 585 bytes, and 540 for the other two, before there were gates.
select cmp_ok(bytes, '<=', 585, 'submit writes no more WAL than before there were gates') from least
where phase = 'without gates' and verb = 'submit';
select cmp_ok(sum(bytes), '<=', 540::bigint, 'nor do lease and complete') from least
where phase = 'without gates' and verb in ('lease', 'complete');
select is(g.bytes, w.bytes, g.verb || ' writes the same where others have gates') from least g join least w using (verb)
where g.phase = 'beside gates' and w.phase = 'without gates' order by verb;
select is(g.pages, w.pages, g.verb || ' looks at as many pages') from least g join least w using (verb)
where g.phase = 'beside gates' and w.phase = 'without gates' and verb <> 'complete' order by verb;
-- Whether somebody waits for the task: the index of the gates by provider, root and leaf.
select cmp_ok(g.pages - w.pages, '<=', 2, 'complete looks once into an index more') from least g join least w using (verb)
where g.phase = 'beside gates' and w.phase = 'without gates' and verb = 'complete';

-- 100 tasks that another depends on, and 100 that none does, half of them done in one call: for each of the first it looks into the
-- gates and at its outcome, but not each time at the dependant and what else that waits for.
do $$ begin
    perform scylla.submit_bulk('joined', array_agg(to_jsonb(n)), array_agg('joined ' || n)) from generate_series(1, 100) n;
    perform scylla.submit_bulk('single', array_agg(to_jsonb(n)), array_agg('single ' || n)) from generate_series(1, 100) n;
    perform scylla.submit('join', '1', depends_on => array(select 'joined ' || n from generate_series(1, 100) n));
    perform scylla.lease(q, 'w', 100) from unnest('{joined, single}'::text[]) q;
    perform measure(q, 'complete_many', format('select from scylla.complete_many(array(select %L || n from generate_series(1, 50) n), ''w'')',
                                               q || ' ')) from unnest('{joined, single}'::text[]) q;
end $$;
select diag(format('complete_many of 50: %s pages joined, %s single', j.pages, s.pages)) from cost j, cost s
where j.phase = 'joined' and s.phase = 'single';
select cmp_ok((j.pages - s.pages) / 50.0, '<=', 8.0, 'a dependant of many that are done at once is not looked at for each of them')
from cost j, cost s where j.phase = 'joined' and s.phase = 'single';

-- A plan whose tasks each depend on ten of those before them, which are anywhere in the index by provider. Its entries go in sorted, so that
-- its pages are filled one after the other. In the order of the tasks they would split pages that are full, which fill to two thirds.
truncate scylla.task_spec, scylla.task_ready, scylla.task_lease, scylla.task_waiting, scylla.task_outcome, scylla.task_gate,
    scylla.task_plan, scylla.task_dedup;
do $$ begin
    perform scylla.submit_many(jsonb_agg(task order by n))
    from generate_series(1, 1000) n, lateral (
        select jsonb_build_object('queue', 'q', 'spec', n, 'rn', 'of a plan ' || n,
                                  'depends_on', coalesce(jsonb_agg(distinct 'of a plan ' || 1 + (hashint4(n * 100 + e) & 1048575) % (n - 1))
                                                         filter (where n > 1), '[]')) as task
        from generate_series(1, 10) e) tasks;
end $$;
select cmp_ok(pg_relation_size('scylla.task_gate_provider') / (select count(*) from scylla.task_gate), '<=', 36::bigint,
              'the gates of a plan fill their index densely: bytes per gate');

select all_is_sound();
select * from finish();
rollback;
