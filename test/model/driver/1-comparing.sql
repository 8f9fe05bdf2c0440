-- The driver of the model test: random calls to the extension (schema scylla) and to its twin (schema twin, folder twin),
-- and a comparison of every result, every error and the complete state.
--
-- call driver.run(seed, steps) does everything; a difference is an error that names the seed, the step, the call and
-- both results. The same seed makes the same calls, as long as the two agree. test/model/run drives the driver.
--
-- The files of this folder, in this order: comparing; calling; chance and arguments; the arguments of each verb; forced times,
-- steps and the run.

create schema driver;

-- The verbs under test: how often, what a result looks like, and what must be seen of each in a whole test run (an
-- SQLSTATE, "ok" or "empty"): what never happens is not tested.
create table driver.verb (
    name text primary key,
    weight int not null,
    gives text not null check (gives in ('tasks', 'rows', 'value', 'nothing')),
    writes boolean not null,    -- the tasks that it gives back were written just now
    outcomes text[] not null
);

insert into driver.verb values
    ('create_queue', 2, 'nothing', false, '{ok,22023,42710}'),
    ('alter_queue', 3, 'nothing', false, '{ok,22023,42704}'),
    ('pause_queue', 1, 'nothing', false, '{ok,22023,42704}'),
    ('resume_queue', 3, 'nothing', false, '{ok,22023,42704}'),
    ('drop_queue', 2, 'nothing', false, '{ok,22023,42704,2BP01}'),
    ('backoff', 1, 'value', false, '{ok,22023}'),
    ('submit', 24, 'tasks', true, '{ok,22023,23505,42704,53400,P0002,55000}'),
    ('submit_many', 10, 'rows', false, '{ok,empty,22023,23505,42704,53400,P0002,55000}'),
    ('submit_bulk', 4, 'value', false, '{ok,22023,23505,42704,53400}'),
    ('lease', 14, 'tasks', true, '{ok,empty,22023}'),
    ('lease_task', 10, 'tasks', true, '{ok,22023,53400,55000,P0002}'),
    ('heartbeat', 10, 'tasks', true, '{ok,22023,55000,P0002}'),
    ('heartbeat_many', 5, 'rows', false, '{ok,empty,22023}'),
    ('complete', 12, 'tasks', true, '{ok,22023,55000,P0002}'),
    ('complete_many', 9, 'rows', false, '{ok,empty,22023}'),
    ('complete_and_lease', 6, 'tasks', true, '{ok,empty,22023,55000,P0002}'),
    ('abort', 6, 'tasks', true, '{ok,22023,55000,P0002}'),
    ('fail', 12, 'tasks', true, '{ok,22023,55000,P0002}'),
    ('yield', 8, 'tasks', true, '{ok,22023,55000,P0002}'),
    ('cancel', 6, 'tasks', true, '{ok,22023,55000,P0002}'),
    ('create_plan', 4, 'value', false, '{ok,22023,42710}'),
    ('open_plan', 4, 'nothing', false, '{ok,22023,55000,P0002}'),
    ('cancel_plan', 1, 'value', false, '{ok,22023,55000,P0002}'),
    ('plan_completed', 2, 'value', false, '{ok,22023,P0002}'),
    ('get_task', 5, 'tasks', false, '{ok,22023,P0002}'),
    ('list_tasks', 6, 'tasks', false, '{ok,empty,22023}'),
    ('statement', 6, 'tasks', true, '{ok,empty,55000}'),     -- several verbs in one statement
    -- Not drawn like the others, but by driver.wait_somehow(): that they are here changes no run from before they were.
    ('create_callback', 0, 'value', false, '{ok,22023,42710}'),
    ('resolve_callback', 0, 'value', false, '{ok,22023,P0002}'),
    ('reject_callback', 0, 'value', false, '{ok,22023,P0002}'),
    ('send_signal', 0, 'nothing', false, '{ok,22023}'),
    ('not_yet', 0, 'tasks', true, '{ok,22023,55000,P0002}'),
    ('defer', 0, 'tasks', true, '{ok,22023,55000,P0002}'),
    -- Likewise, by driver.place_somehow().
    ('create_pool', 0, 'nothing', false, '{ok,22023,42710}'),
    ('alter_pool', 0, 'nothing', false, '{ok,22023,42704}'),
    ('drop_pool', 0, 'nothing', false, '{ok,22023,42704,2BP01}'),
    ('drain_pool', 0, 'nothing', false, '{ok,22023,42704}'),
    ('resume_pool', 0, 'nothing', false, '{ok,22023,42704}'),
    ('report_usage', 0, 'nothing', false, '{ok,22023,42704}'),
    ('place', 0, 'rows', false, '{ok,empty,22023,42704}'),
    -- Likewise: time passes first.
    ('reset_expired', 0, 'value', false, '{ok}'),
    ('purge', 0, 'value', false, '{ok}'),
    ('maintain', 0, 'nothing', false, '{ok}');

-- What was seen.
create table driver.tally (
    verb text,
    outcome text,
    n bigint not null,
    primary key (verb, outcome)
);

-- ---------------------------------------------------------------------------------------------------------------
-- Comparing
-- ---------------------------------------------------------------------------------------------------------------

create function driver.differ(what text, theirs text, ours text) returns void language plpgsql as $$
begin
    raise exception using errcode = 'SD000',
        message = format('seed %s, step %s: %s', current_setting('driver.seed'), current_setting('driver.step'), what),
        detail = format(E'scylla: %s\n  twin: %s', coalesce(theirs, 'null'), coalesce(ours, 'null'));
end $$;

-- Codes of errors that are not a worker's.
create function driver.own_codes() returns text[] language sql as $$
    select '{timeout,dependency-failed,dependency-timeout,queue-full,check-unused,elided}'::text[]
$$;

-- Everything of a task that must be the same on both sides. Times cannot be, but how they relate can. The descriptions
-- of errors that are not a worker's are left to the implementation.
-- The numbers and times of signals are each side's own.
create function driver.facts(task jsonb, just_written boolean) returns jsonb language plpgsql as $$
begin
    return (task - array['created', 'updated', 'deadline', 'not_before', 'answered', 'history', 'errors', 'error_message', 'args'])
        || jsonb_build_object(
            'history', (select jsonb_agg(e - 'time' order by n)
                        from jsonb_array_elements(task -> 'history') with ordinality _(e, n)),
            'args', (select jsonb_agg(case when jsonb_typeof(e) = 'object' and e ? 'seq' then e - '{seq,sent}'::text[] else e end order by n)
                     from jsonb_array_elements(case when task -> 'args' <> 'null' then task -> 'args' else '[]' end) with ordinality _(e, n)),
            'no args', task ->> 'args' is null,
            'error_message', case when task #>> '{errors,-1,code}' = any (driver.own_codes()) then '...' else task ->> 'error_message' end,
            'errors', (select jsonb_agg(case when e ->> 'code' = any (driver.own_codes())
                                             then e || '{"message": "..."}' else e end order by n)
                       from jsonb_array_elements(task -> 'errors') with ordinality _(of_task, n),
                            -- Of the error of a check only the code: its message may be the implementation's.
                            lateral (select case when of_task #> '{args,provider}' is not null and of_task #> '{args,error}' is not null
                                                 then jsonb_set(of_task, '{args,error}', of_task #> '{args,error,code}') else of_task end) e (e)),
            'has deadline', task ->> 'deadline' is not null,
            'has not_before', task ->> 'not_before' is not null,
            'has answered', task ->> 'answered' is not null,
            'untouched', task ->> 'created' = task ->> 'updated')
        || case when just_written then jsonb_build_object(
            'lease', (task ->> 'deadline')::timestamptz - (task ->> 'updated')::timestamptz,
            'retry', case when task ->> 'status' = 'waiting' and task ->> 'attempt' <> '0'
                               and (task ->> 'not_before')::timestamptz - (task ->> 'updated')::timestamptz between '0' and '366 days'
                          then (task ->> 'not_before')::timestamptz - (task ->> 'updated')::timestamptz end)
           else '{}' end;
end $$;

create function driver.times(task jsonb) returns timestamptz[] language plpgsql as $$
begin
    return array[task ->> 'created', task ->> 'updated', task ->> 'deadline', task ->> 'not_before', task ->> 'answered']::timestamptz[]
        || (select array_agg((e ->> 'time')::timestamptz order by n)
            from jsonb_array_elements(task -> 'history') with ordinality _(e, n));
end $$;

-- Both sides read the clock within one step. So a time on one side is as near to its counterpart as the longest step,
-- the present one included, lasted.
create function driver.tolerance() returns interval language sql as $$
    select greatest(current_setting('driver.longest')::interval,
                    clock_timestamp() - current_setting('driver.began')::timestamptz);
$$;

create function driver.compare_times(what text, theirs timestamptz[], ours timestamptz[]) returns void language plpgsql as $$
declare
    tolerance interval := driver.tolerance();
begin
    if exists (select from unnest(theirs, ours) _(t, o) where t - o not between - tolerance and tolerance) then
        perform driver.differ(format('%s: times differ by more than %s', what, tolerance), theirs::text, ours::text);
    end if;
end $$;

create function driver.compare_task(what text, theirs jsonb, ours jsonb, just_written boolean)
    returns void language plpgsql as $$
declare
    task text := format('%s: task "%s"', what, theirs ->> 'rn');
    their_facts jsonb := driver.facts(theirs, just_written);
    our_facts jsonb := driver.facts(ours, just_written);
begin
    if their_facts is distinct from our_facts then
        select jsonb_object_agg(key, t.value), jsonb_object_agg(key, o.value) into theirs, ours
        from jsonb_each(their_facts) t full join jsonb_each(our_facts) o using (key)
        where t.value is distinct from o.value;
        perform driver.differ(task, theirs::text, ours::text);
    end if;
    perform driver.compare_times(task, driver.times(theirs), driver.times(ours));
    if exists (select from jsonb_array_elements(theirs -> 'history') e
               where e ->> '_typ' <> 'HistoryElided'
                 and e ->> 'time' !~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$') then
        perform driver.differ(task || ': form of a time in history', theirs ->> 'history', ours ->> 'history');
    end if;
end $$;

create function driver.compare_outcome(call text, verb driver.verb, began timestamptz, theirs jsonb, ours jsonb)
    returns void language plpgsql as $$
declare
    their_task jsonb;
    our_task jsonb;
begin
    if theirs -> 'refused' is distinct from ours -> 'refused' then
        perform driver.differ(call || ': outcome', theirs::text, ours::text);
    end if;
    if verb.gives <> 'tasks'
       or jsonb_array_length(theirs -> 'rows') is distinct from jsonb_array_length(ours -> 'rows') then
        if theirs -> 'rows' is distinct from ours -> 'rows' then
            perform driver.differ(call || ': rows', theirs::text, ours::text);
        end if;
        return;
    end if;
    for their_task, our_task in
        select t, o
        from rows from (jsonb_array_elements(theirs -> 'rows'), jsonb_array_elements(ours -> 'rows')) _(t, o)
    loop
        perform driver.compare_task(call, their_task, our_task, verb.writes);
        -- Not the clock of the transaction's or the statement's beginning.
        if verb.writes and began > least((their_task ->> 'updated')::timestamptz,
                                         (our_task ->> 'updated')::timestamptz) then
            perform driver.differ(format('%s: updated before the call began at %s', call, began),
                                  their_task ->> 'updated', our_task ->> 'updated');
        end if;
    end loop;
end $$;

-- A task as jsonb, where null and JSON null would be the same.
create function driver.distinct_nulls(spec jsonb, result jsonb, metrics jsonb, args jsonb)
    returns jsonb language sql as $$
    select jsonb_build_object('nulls', array[spec is null, result is null, metrics is null, args is null]);
$$;

-- Everything of a plan that must be the same on both sides. The sum of several progresses may be rounded.
create function driver.plan_facts(plan jsonb) returns jsonb language sql as $$
    select (plan - array['created', 'opened', 'finished', 'progress', 'owner'])
        || jsonb_build_object('opened', plan ->> 'opened' is not null, 'finished', plan ->> 'finished' is not null,
                              'progress', round((plan ->> 'progress')::numeric, 4));
$$;

-- How tasks looked that have been found to be the same. As long as one looks so on both sides it is not compared again.
create table driver.compared (
    looks uuid primary key
);

-- A condition on a signal that nobody waits for is there or not, which nobody notices.
create function driver.compare_conditions() returns void language plpgsql as $$
declare
    theirs jsonb;
    ours jsonb;
begin
    select jsonb_agg(array[c.kind, c.name, c.match::text, c.status, c.value::text, c.waiters::text] order by c.name collate "C", c.match)
    into theirs from scylla.condition c where c.kind <> 'signal' or c.waiters > 0;
    select jsonb_agg(array[c.kind, c.name, c.match::text, c.status, c.value::text, w.waiters::text] order by c.name collate "C", c.match)
    into ours
    from (select c.id, case when c.signal is null then 'callback' else 'signal' end as kind, coalesce(c.token, c.signal) as name, c.match,
                 case when c.ended is null then 'waiting' when c.failed then 'rejected' else 'resolved' end as status, c.value
          from twin.condition c
          union all
          select t.id, 'check', t.queue, t.spec, 'waiting', null from twin.task t where t.is_check and twin.is_live(t)) c
    cross join lateral (select count(*) as waiters
                        from (select t.id, g.provider from twin.gate g join twin.task t on t.id = g.task where t.status = 'waiting'
                              union all
                              select t.id, unnest(t.depends_on) from twin.task t where t.status = 'waiting') g
                        where g.provider = c.id) w
    where c.kind <> 'signal' or c.status = 'waiting' and w.waiters > 0;
    if theirs is distinct from ours then
        perform driver.differ('conditions', theirs::text, ours::text);
    end if;
    select jsonb_agg(array[s.name, s.params::text, s.payload::text, s.request_id] order by s.seq) into theirs from scylla.signal s;
    select jsonb_agg(array[s.name, s.params::text, s.payload::text, s.request_id] order by s.seq) into ours from twin.signal s;
    if theirs is distinct from ours then
        perform driver.differ('signals', theirs::text, ours::text);
    end if;
end $$;

create function driver.compare_pools() returns void language plpgsql as $$
declare
    theirs jsonb;
    ours jsonb;
    their_times timestamptz[];
    our_times timestamptz[];
begin
    if not exists (select from scylla.pool) and not exists (select from twin.pool) then
        return;
    end if;
    select jsonb_agg(jsonb_build_array(p.pool, p.policy, p.drained, p.capacity, p.reserved, p.reported, p.free, p.stale, p.waiting, p.placed,
                                       p.max_bypass, p.metrics_max_age) order by p.pool collate "C"),
           array_agg(p.reported_at order by p.pool collate "C") into theirs, their_times from scylla.pool p;
    select jsonb_agg(jsonb_build_array(p.pool, p.policy, p.drained, p.capacity, p.reserved, p.reported, p.free, p.stale, p.waiting, p.placed,
                                       p.max_bypass, p.metrics_max_age) order by p.pool collate "C"),
           array_agg(p.reported_at order by p.pool collate "C") into ours, our_times from twin.pools p;
    if theirs is distinct from ours then
        perform driver.differ('pools', theirs::text, ours::text);
    end if;
    perform driver.compare_times('reports', their_times, our_times);

    select jsonb_agg(jsonb_build_array(r.pool, r.rn, r.queue, r.amounts, r.ends - r.since) order by r.pool collate "C", r.rn collate "C"),
           array_agg(r.since order by r.pool collate "C", r.rn collate "C") into theirs, their_times from scylla.pool_reservation r;
    select jsonb_agg(jsonb_build_array(r.pool, t.rn, t.queue, r.amounts, r.ends - r.since) order by r.pool collate "C", t.rn collate "C"),
           array_agg(r.since order by r.pool collate "C", t.rn collate "C") into ours, our_times
    from twin.reservation r join twin.task t on t.id = r.task;
    if theirs is distinct from ours then
        perform driver.differ('what tasks hold of pools', theirs::text, ours::text);
    end if;
    perform driver.compare_times('what tasks hold of pools', their_times, our_times);

    select jsonb_agg(jsonb_build_array(l.pool, l.rn, l.queue, l.priority, l.needs) order by l.pool collate "C", l.rn collate "C")
    into theirs from scylla.pool_queue l;
    select jsonb_agg(jsonb_build_array(p.pool, t.rn, t.queue, t.priority, t.needs) order by p.pool collate "C", t.rn collate "C")
    into ours from twin.task t cross join lateral twin.pools_in(t.needs) p (pool) where t.in_line;
    if theirs is distinct from ours then
        perform driver.differ('lines of pools', theirs::text, ours::text);
    end if;
end $$;

create function driver.compare_state() returns void language plpgsql as $$
declare
    theirs jsonb;
    ours jsonb;
    now_looks uuid;
    their_times timestamptz[];
    our_times timestamptz[];
begin
    for theirs, ours, now_looks in
        select to_jsonb(s) || driver.distinct_nulls(s.spec, s.result, s.metrics, s.args),
               to_jsonb(t) || driver.distinct_nulls(t.spec, t.result, t.metrics, t.args), looks
        from scylla.task s full join twin.tasks t on t.rn = s.rn cross join lateral (select md5(row(s, t)::text)::uuid as looks) both_
        where not exists (select from driver.compared c where c.looks = both_.looks)
    loop
        if theirs is null or ours is null then
            perform driver.differ('a task that only one side has', theirs::text, ours::text);
        end if;
        perform driver.compare_task('state', theirs, ours, false);
        insert into driver.compared values (now_looks);
    end loop;

    for theirs, ours in select to_jsonb(s) - 'seq', to_jsonb(t) from scylla.plan s full join twin.plans t using (name) loop
        if driver.plan_facts(theirs) is distinct from driver.plan_facts(ours) then
            perform driver.differ('plan', theirs::text, ours::text);
        end if;
        perform driver.compare_times('plan', array[theirs ->> 'created', theirs ->> 'opened', theirs ->> 'finished']::timestamptz[],
                                     array[ours ->> 'created', ours ->> 'opened', ours ->> 'finished']::timestamptz[]);
    end loop;
    select jsonb_agg(array[t.plan, t.rn, t.queue, t.status::text, t.depends_on::text] order by t.rn collate "C")
    into theirs from scylla.plan_task t;
    select jsonb_agg(array[t.plan, t.rn, t.queue, t.status::text, t.depends_on::text] order by t.rn collate "C")
    into ours from twin.plan_tasks t;
    if theirs is distinct from ours then
        perform driver.differ('tasks of plans', theirs::text, ours::text);
    end if;

    perform driver.compare_conditions();
    perform driver.compare_pools();

    -- In which order a verb that changes many tasks does so is its own business.
    select jsonb_agg(jsonb_build_array(e.queue_name, e.rn, e.status, e.attempt, e.failures, e.worker) order by e.rn collate "C", e.id),
           array_agg(e.time order by e.rn collate "C", e.id) into theirs, their_times from scylla.event e;
    select jsonb_agg(jsonb_build_array(e.queue, e.rn, e.status, e.attempt, e.failures, e.worker) order by e.rn collate "C", e.id),
           array_agg(e.time order by e.rn collate "C", e.id) into ours, our_times from twin.event e;
    if theirs is distinct from ours then
        perform driver.differ('events', theirs::text, ours::text);
    end if;
    perform driver.compare_times('events', their_times, our_times);

    -- Rights are no subject of the twin: everything is the superuser's.
    select jsonb_agg(to_jsonb(q) - array['id', 'created', 'owner', 'submitters', 'workers', 'viewers', 'admins', 'dependers'] order by name)
    into theirs from scylla.queue q;
    select jsonb_agg(to_jsonb(q) || jsonb_build_object('pending', (select array_agg(p.setting order by array_position(
               '{max_running,max_running_per_key,max_depth,key_weights}', p.setting)) from twin.pending p where p.queue = q.name))
           order by name)
    into ours from twin.queue q;
    if theirs is distinct from ours then
        perform driver.differ('queues', theirs::text, ours::text);
    end if;
end $$;

-- What the extension finds out about itself. It takes as long as fifty calls, and says nothing about a fault of the twin.
create function driver.check_extension() returns void language plpgsql as $$
declare
    found jsonb := case when current_setting('driver.checks')::boolean then (select jsonb_agg(c) from scylla.check() c) end;
begin
    if found is not null then
        perform driver.differ('check()', found::text, null);
    end if;
end $$;

-- Names, types and defaults of arguments and results.
create function driver.compare_signatures() returns void language plpgsql as $$
declare
    theirs text;
    ours text;
begin
    for theirs, ours in
        with signature as (
            select n.nspname as schema, p.proname as name, p.proretset as returns_set,
                   replace((select string_agg(a.name || ' ' || format_type(a.type, null), ', ' order by a.n)
                            from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargnames)
                                with ordinality a (type, name, n))
                           || ' default ' || coalesce(pg_get_expr(p.proargdefaults, 0), 'none'),
                           n.nspname || '.', '') as arguments
            from pg_proc p join pg_namespace n on n.oid = p.pronamespace
            where n.nspname in ('scylla', 'twin'))
        select to_json(s), to_json(t)
        from driver.verb v
        left join signature s on s.schema = 'scylla' and s.name = v.name
        left join signature t on t.schema = 'twin' and t.name = v.name
        where v.name <> 'statement' and (s.arguments, s.returns_set) is distinct from (t.arguments, t.returns_set)
    loop
        perform driver.differ('signature', theirs, ours);
    end loop;

    with col as (
        select attrelid,
               string_agg(attname || ' ' || replace(format_type(atttypid, atttypmod), 'twin.', 'scylla.'),
                          ', ' order by attnum) as list
        from pg_attribute
        where attnum > 0 and not attisdropped and attrelid in ('scylla.task'::regclass, 'twin.task_row'::regclass)
        group by attrelid)
    select s.list, t.list into theirs, ours
    from col s, col t where s.attrelid = 'scylla.task'::regclass and t.attrelid = 'twin.task_row'::regclass;
    if theirs is distinct from ours then
        perform driver.differ('columns of task', theirs, ours);
    end if;
end $$;
