-- Jobs against a readable second implementation: random definitions, runs and ends of tasks. What explain_job() and run_job() make of a
-- request is what going through the ids one by one says, and so is what is fresh. (The planner alone is held against another model on
-- thousands of graphs in test/unit/job_plan_test.cpp.)
begin;
\ir include/helpers.psql
select * from no_plan();

-- ---- the twin: what it knows -------------------------------------------------------------------------------------------

create temp table twin_job (job text primary key, chunk_size int, args jsonb, allow_multiple boolean);
create temp table twin_need (job text, needs text, max_lag interval, args jsonb, is_unique boolean, allow_missing boolean, ord int);
create temp table twin_fresh (job text, variant text, id int, at timestamptz, primary key (job, variant, id));
create temp table twin_run (plan text primary key, job text, variant text, ids int8multirange, args jsonb, options jsonb, resolved timestamptz, rerun_of text);
create temp table twin_task (rn text primary key, plan text, job text, variant text, ids int[]);

create function ids_of(ids int8multirange) returns setof int language sql as $$
    select generate_series(lower(r), upper(r) - 1)::int from unnest(ids) r
$$;
create function as_ids(ids int[]) returns int8multirange language sql as $$
    select coalesce(range_agg(int8range(i, i, '[]')), '{}') from unnest(ids) i
$$;
create function is_live(rn text) returns boolean language sql as $$
    select status in ('waiting', 'ready', 'running') from scylla.task t where t.rn = is_live.rn
$$;
create function is_stale(at timestamptz, max_lag interval) returns boolean language sql as $$
    select coalesce(max_lag = '0' or clock_timestamp() - at > max_lag, true)
$$;
create function all_needed(job text) returns setof text language sql as $$
    with recursive c (job) as (select all_needed.job union select n.needs from c join twin_need n using (job)) select * from c
$$;
-- Since when an id will be fresh when a task of another plan is done.
create function live_at(job text, variant text, id int) returns timestamptz language sql as $$
    select max(coalesce((select l.leased from scylla.task_lease l join scylla.task_spec s using (id) where s.rn = k.rn), clock_timestamp()))
    from twin_task k where k.job = live_at.job and k.variant = live_at.variant and live_at.id = any (k.ids) and is_live(k.rn)
$$;
-- When the last completed run of it was made.
create function last_run(job text, variant text) returns timestamptz language sql as $$
    select max(r.resolved) from twin_run r where r.job = last_run.job and r.variant = last_run.variant
    and not exists (select from twin_task k join scylla.task t using (rn) where k.plan = r.plan and t.status <> 'completed')
$$;

-- ---- the twin: a request -----------------------------------------------------------------------------------------------

create temp table node (n int, job text, args jsonb, copy int);
create temp table edge (above int, below int, max_lag interval, allow_missing boolean);
create temp table chunk (node int, ids int[], slice int, chosen boolean);
create temp table stale (above int, below int, ids int[]); -- chunks that are too old for who needs them

-- Jobs with arguments, and what each needs.
create function grow(job text, args jsonb) returns void language plpgsql as $$
declare
    here int := 0;
    copies int := 0;
    need record;
    of_node node;
    other int;
begin
    truncate node, edge;
    insert into node values (0, job, args, 0);
    loop
        select * into of_node from node where node.n = here;
        exit when of_node is null;
        for need in select * from twin_need w where w.job = of_node.job order by ord loop
            if need.is_unique then copies := copies + 1; end if;
            select d.n into other from node d where d.job = need.needs and d.args = of_node.args || need.args
                and d.copy = case when need.is_unique then copies else of_node.copy end;
            if other is null then
                select count(*) into other from node;
                insert into node values (other, need.needs, of_node.args || need.args, case when need.is_unique then copies else of_node.copy end);
            end if;
            update edge e set max_lag = least(e.max_lag, need.max_lag), allow_missing = e.allow_missing and need.allow_missing
            where e.above = here and e.below = other;
            if not found then
                insert into edge values (here, other, need.max_lag, need.allow_missing);
            end if;
        end loop;
        here := here + 1;
    end loop;
end $$;

-- What runs of it.
create function resolve(job text, ids int8multirange, args jsonb, options jsonb) returns void language plpgsql as $$
#variable_conflict use_variable
declare
    all_ids int[] := array(select i from ids_of(ids) i order by i);
    width int;
begin
    perform grow(job, args);
    truncate chunk, stale;
    select max(coalesce(j.chunk_size, cardinality(all_ids))) into width from node join twin_job j using (job);
    insert into chunk
    select n.n, array_agg(i order by place), (place - 1) / width, n.n = 0
    from node n join twin_job j using (job) cross join unnest(all_ids) with ordinality u (i, place)
    group by n.n, (place - 1) / width, (place - 1) % width / coalesce(j.chunk_size, width);
    insert into stale
    select e.above, e.below, c.ids from edge e join node n on n.n = e.below join chunk c on c.node = e.below
    where not (e.allow_missing and not is_stale(last_run(n.job, coalesce(options ->> 'variant', '')), e.max_lag))
      and exists (select from chunk near cross join unnest(near.ids) i
                  left join twin_fresh f on f.job = n.job and f.variant = coalesce(options ->> 'variant', '') and f.id = i
                  where near.node = c.node
                    and is_stale(greatest(f.at, case when coalesce((options -> 'wait')::boolean, true) then live_at(n.job, coalesce(options ->> 'variant', ''), i) end),
                                 e.max_lag)
                    and case when options ->> 'prune' = 'chunk' then near.ids = c.ids else near.slice = c.slice end);
    loop
        update chunk c set chosen = true
        where not chosen and exists (select from stale s join chunk above on above.node = s.above and above.chosen and above.ids && c.ids
                                     where s.below = c.node and s.ids = c.ids);
        exit when not found;
    end loop;
end $$;

-- As explain_job() tells it, but for the reasons.
create function should_run(job text, options jsonb) returns table (what text) language sql as $$
    select format('%s %s %s <- %s', n.job, as_ids(c.ids), j.args || n.args, array(
        select format('%s %s', m.job, as_ids(b.ids)) from edge e join node m on m.n = e.below join chunk b on b.node = e.below and b.chosen
        where e.above = n.n and b.ids && c.ids
          and (coalesce((options -> 'strict_order')::boolean, false) or exists (select from stale s where s.above = e.above and s.below = e.below and s.ids = b.ids))
        union all
        select format('task %s of plan %s', k.rn, k.plan) from twin_task k
        where is_live(k.rn) and k.variant = coalesce(options ->> 'variant', '') and k.job <> should_run.job and k.ids && c.ids
          and k.job in (select all_needed(n.job)) and coalesce((options -> 'wait')::boolean, true)
        order by 1))
    from chunk c join node n on n.n = c.node join twin_job j on j.job = n.job where c.chosen
$$;
create function should_be_left_out() returns table (what text) language sql as $$
    select distinct format('%s %s %s', n.job, as_ids(c.ids), j.args || n.args)
    from chunk c join node n on n.n = c.node join twin_job j on j.job = n.job
    join edge e on e.below = c.node join chunk above on above.node = e.above and above.chosen and above.ids && c.ids
    where not c.chosen
$$;

-- ---- steps -------------------------------------------------------------------------------------------------------------

create function one_of(from_what text[]) returns text language sql volatile as $$
    select from_what[1 + floor(random() * cardinality(from_what))::int]
$$;
create function some_ids() returns int8multirange language sql volatile as $$
    select as_ids(array_agg(i)) from (select i, random() as chance from generate_series(1, 11) i) s, (select 0.2 + random() as limit_) l where chance < limit_
$$;
create function some_args() returns jsonb language sql volatile as $$
    select case when random() < 0.6 then '{}'::jsonb else jsonb_build_object(one_of('{x,y}'), floor(random() * 2)) end
$$;
create function some_options() returns jsonb language sql volatile as $$
    select case when random() < 0.5 then jsonb_build_object('prune', one_of('{slice,chunk}')) else '{}' end
        || case when random() < 0.2 then '{"strict_order": true}'::jsonb else '{}' end || case when random() < 0.2 then '{"wait": false}'::jsonb else '{}' end
        || case when random() < 0.3 then '{"variant": "v"}'::jsonb else '{}' end
$$;

create function define(number int) returns void language plpgsql as $$
declare
    name text := 'j' || number;
begin
    delete from twin_need where job = name;
    delete from twin_job where job = name;
    insert into twin_job values (name, case when random() < 0.8 then 1 + floor(random() * 5) end, some_args(), random() < 0.7);
    insert into twin_need
    select name, 'j' || other, one_of('{0,1 hour,1 day}')::interval, some_args(), random() < 0.2, random() < 0.2, row_number() over (order by random())
    from generate_series(number + 1, 5) other, generate_series(1, 2) twice where random() < 0.35;
    perform scylla.define_job(name, 'q', jsonb_strip_nulls(jsonb_build_object('chunk_size', j.chunk_size, 'args', j.args, 'allow_multiple', j.allow_multiple)),
        coalesce((select jsonb_agg(jsonb_build_object('job', n.needs, 'max_lag', n.max_lag, 'args', n.args, 'unique', n.is_unique, 'allow_missing', n.allow_missing)
                                   order by ord) from twin_need n where n.job = name), '[]'))
    from twin_job j where j.job = name;
end $$;

create function differ(what text, theirs text[], ours text[]) returns void language plpgsql as $$
begin
    if theirs is distinct from ours then
        raise exception E'%: real\n  %\ntwin\n  %', what, array_to_string(theirs, E'\n  '), array_to_string(ours, E'\n  ');
    end if;
end $$;

-- Holds a request against the twin, and makes it.
create function compare_request(job text, ids int8multirange, args jsonb, options jsonb, runs boolean) returns text language plpgsql as $$
#variable_conflict use_variable
declare
    made text;
begin
    perform resolve(job, ids, args, options);
    perform differ('runs', array(select format('%s %s %s <- %s', s.job, s.chunk, s.args, array(select d from unnest(s.depends_on) d order by 1))
                                 from scylla.explain_job(compare_request.job, compare_request.ids, compare_request.args, options) s where s.runs order by 1),
                   array(select what from should_run(job, options) order by 1));
    perform differ('is left out', array(select distinct format('%s %s %s', s.job, s.chunk, s.args)
                                        from scylla.explain_job(compare_request.job, compare_request.ids, compare_request.args, options) s where not s.runs order by 1),
                   array(select what from should_be_left_out() order by 1));
    if not runs then
        return 'explain';
    end if;
    if not (select j.allow_multiple from twin_job j where j.job = compare_request.job)
       and exists (select from twin_run r join twin_task k using (plan) where r.job = compare_request.job and is_live(k.rn)) then
        perform differ('a second run', array[left(raised(format('select scylla.run_job(%L, %L, %L, %L)', job, ids, args, options)), 5)], '{55000}');
        return 'refused';
    end if;
    made := scylla.run_job(job, ids, args, options);
    perform compare_made(made, job, options);
    insert into twin_run select made, p.job, coalesce(options ->> 'variant', ''), p.ids, p.args, p.options, p.resolved from scylla.job_plan p where p.plan = made;
    perform differ('what is kept of a run', array(select row(p.job, p.variant, p.ids, p.args, p.options)::text from scylla.job_plan p where p.plan = made),
                   array[row(job, coalesce(options ->> 'variant', ''), ids, args, options)::text]);
    perform note_tasks(made, options);
    return 'run';
end $$;

create function compare_made(made text, job text, options jsonb) returns void language sql as $$
    select differ('tasks', array(select format('%s %s %s %s', t.spec ->> 'job', t.spec ->> 'ids', t.spec ->> 'args', case t.status when 'ready' then 'ready' else 'waiting' end)
                                 from scylla.task t where t.plan = made order by 1),
                  array(select format('%s %s %s %s', split_part(w.what, ' ', 1),
                                      (select coalesce(jsonb_agg(jsonb_build_array(lower(r), upper(r) - 1) order by r), '[]') from unnest(split_part(w.what, ' ', 2)::int8multirange) r),
                                      regexp_replace(w.what, '^\S+ \S+ | <- .*', '', 'g'), case when w.what ~ ' <- {}$' then 'ready' else 'waiting' end)
                        from should_run(job, options) w order by 1));
$$;
create function note_tasks(made text, options jsonb) returns void language sql as $$
    insert into twin_task
    select t.rn, made, t.spec ->> 'job', coalesce(options ->> 'variant', ''),
           array(select i from jsonb_array_elements(t.spec -> 'ids') r, generate_series((r ->> 0)::int, (r ->> 1)::int) i)
    from scylla.task t where t.plan = made;
$$;

create function note_success(task text, at timestamptz) returns void language sql as $$
    insert into twin_fresh select k.job, k.variant, i, at from twin_task k, unnest(k.ids) i where k.rn = task
    on conflict (job, variant, id) do update set at = greatest(excluded.at, twin_fresh.at);
$$;

-- The tasks of a plan that were not completed. Those that depended on them were not either.
create function to_be_redone(plan text) returns setof text language sql as $$
    select format('%s %s', t.spec -> 'job', t.spec -> 'ids') from twin_task k join scylla.task t using (rn)
    where k.plan = to_be_redone.plan and t.status <> 'completed' and not exists (select from scylla.resubmissions m where m.rn = t.rn)
$$;

create temp table tally (what text);
create function step() returns text language plpgsql as $$
#variable_conflict use_variable
declare
    verb text := one_of('{define,explain,run,run,run,end,end,end,end,batch,batch,mark,forget,cancel,rerun,rest}');
    job text := one_of('{j1,j2,j3,j4,j5}');
    t scylla.task;
    r twin_run;
    rest text[];
begin
    case verb
    when 'define' then
        perform define(right(job, 1)::int);
    when 'explain', 'run' then
        return compare_request(job, some_ids(), some_args(), some_options(), verb = 'run');
    when 'end' then
        select * into t from scylla.lease('q', 'w');
        if t.rn is null then return 'nothing to do'; end if;
        verb := one_of('{complete,complete,complete,complete,abort,fail}');
        if verb = 'complete' then
            perform note_success(t.rn, (select leased from scylla.task_lease l join scylla.task_spec s using (id) where s.rn = t.rn));
            perform scylla.complete(t.rn, 'w');
        elsif verb = 'abort' then
            perform scylla.abort(t.rn, 'w', '{"code": "x"}');
        else
            perform scylla.fail(t.rn, 'w', '{"code": "x"}', '0');
        end if;
    when 'batch' then
        rest := array(select l.rn from scylla.lease('q', 'w', 1 + floor(random() * 12)::int) l);
        perform note_success(s.rn, l.leased) from scylla.task_lease l join scylla.task_spec s using (id) where s.rn = any (rest);
        perform scylla.complete_many(rest, 'w');
    when 'mark' then
        perform mark(job, some_ids(), clock_timestamp() - one_of('{0,2 hours,2 days}')::interval, one_of('{"",v}'));
    when 'forget' then
        perform forget(job, some_ids(), case when random() < 0.5 then one_of('{"",v}') end);
    when 'cancel' then
        perform scylla.cancel_plan(p.name) from (select name from scylla.plan where status = 'running' order by random() limit 1) p;
    when 'rerun' then
        select * into r from twin_run u where not exists (select from twin_task k where k.plan = u.plan and is_live(k.rn)) order by random() limit 1;
        if r.plan is null or not (select j.allow_multiple from twin_job j where j.job = r.job) then return 'nothing to do'; end if;
        perform resolve(r.job, r.ids, r.args, r.options);
        job := scylla.rerun_plan(r.plan);
        perform compare_made(job, r.job, r.options);
        insert into twin_run select job, p.job, r.variant, p.ids, p.args, p.options, p.resolved, p.rerun_of from scylla.job_plan p where p.plan = job;
        perform differ('a run again', array(select row(u.job, u.ids, u.args, u.options, u.rerun_of)::text from twin_run u where u.plan = job),
                       array[row(r.job, r.ids, r.args, r.options, r.plan)::text]);
        perform note_tasks(job, r.options);
    else
        select u.* into r from twin_run u where not exists (select from twin_task k where k.plan = u.plan and is_live(k.rn))
        and exists (select from to_be_redone(u.plan)) order by random() limit 1;
        if r.plan is null then return 'nothing to do'; end if;
        rest := array(select to_be_redone(r.plan) order by 1);
        job := scylla.rerun_plan(r.plan, only_failed => true);
        perform differ('the rest of a run', array(select format('%s %s', c.spec -> 'job', c.spec -> 'ids') from scylla.task c where c.plan = job order by 1), rest);
        insert into twin_run select job, p.job, r.variant, p.ids, p.args, p.options, r.resolved, p.rerun_of from scylla.job_plan p where p.plan = job;
        perform note_tasks(job, r.options);
    end case;
    return verb;
end $$;
create function mark(job text, ids int8multirange, at timestamptz, variant text) returns void language sql as $$
    select scylla.mark_fresh(job, ids, at, nullif(variant, ''));
    insert into twin_fresh select mark.job, mark.variant, i, mark.at from ids_of(mark.ids) i
    on conflict (job, variant, id) do update set at = greatest(excluded.at, twin_fresh.at);
$$;
create function forget(job text, ids int8multirange, variant text) returns void language sql as $$
    select scylla.forget_freshness(job, ids, variant);
    delete from twin_fresh f where f.job = forget.job and f.id in (select ids_of(forget.ids)) and f.variant = coalesce(forget.variant, f.variant);
$$;
create function compare_freshness() returns void language sql as $$
    select differ('fresh', array(select format('%s %s %s %s', f.job, f.variant, i, f.began) from scylla.job_freshness f, ids_of(f.ids) i order by 1),
                  array(select format('%s %s %s %s', job, variant, id, at) from twin_fresh order by 1))
$$;

select setseed(0.17) \g /dev/null
select scylla.create_queue('q', max_attempts => 1000) \g /dev/null
select define(n) from generate_series(5, 1, -1) n \g /dev/null
do $$ begin
    for i in 1 .. 300 loop
        insert into tally values (step());
        perform compare_freshness();
        -- Else the plans are those for empty tables, if these have been vacuumed before: the test took a quarter of an hour then.
        if i % 10 = 0 then
            analyze scylla.task_spec, scylla.task_ready, scylla.task_waiting, scylla.task_lease, scylla.task_outcome, scylla.task_gate, scylla.task_plan,
                scylla.job_run, scylla.job_freshness, twin_run, twin_task, twin_fresh;
        end if;
        if i % 100 = 0 and exists (select from scylla.check()) then
            raise exception 'step %: %', i, (select jsonb_agg(c) from scylla.check() c);
        end if;
    end loop;
end $$;
select cmp_ok((select count(*) from tally t where t.what = w), '>=', least_::bigint, format('%s: often enough', w))
from (values ('define', 5), ('explain', 10), ('run', 30), ('refused', 1), ('complete', 20), ('abort', 3), ('fail', 3), ('batch', 20), ('mark', 10), ('forget', 10),
             ('cancel', 10), ('rerun', 5), ('rest', 5)) v (w, least_);
select is_empty('select * from scylla.check()', 'all is sound');

-- The comparison can fail.
select ok(raised($$select compare_freshness() from (update twin_fresh set at = at - interval '1 s' where id = 1 returning 1) u$$) is not null, 'a twin with another age is found out');
select * from finish();
rollback;
