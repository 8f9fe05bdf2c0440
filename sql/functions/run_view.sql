-- Views of runs of workflows, and pictures of them. The functions with an underscore read as the owner of the tables, and only that role
-- may call them; those without first check what their caller may view. Nothing is compiled for them: that takes
-- seconds, and the queries milliseconds.

create or replace function scylla._may_role_view(viewer bigint, owner name, viewers text[], admins text[]) returns boolean
    language c stable parallel safe as 'MODULE_PATHNAME', 'scylla_may_role_view';
comment on function scylla._may_role_view is 'Internal: what _may_view() says to that role.';

create or replace function scylla._is_failed(status text) returns boolean language sql immutable parallel safe
begin atomic
    select status = any ('{USER_FAILED,PLATFORM_FAILED,TIMEOUT_FAILED,FATALLY_FAILED,INTERNALLY_FAILED,TIMED_OUT,FAILED}');
end;
comment on function scylla._is_failed is 'Internal: whether a step, an iteration or a run with this status has failed.';

create or replace function scylla._steps_of(definition jsonb) returns table (place bigint, kind text, id text, body jsonb)
    language sql immutable parallel safe
begin atomic
    select s.place, m.key, m.value ->> 'id', m.value
    from pg_catalog.jsonb_array_elements(definition -> 'steps') with ordinality s (step, place)
    cross join lateral pg_catalog.jsonb_each(s.step) m (key, value);
end;
comment on function scylla._steps_of is 'Internal: the steps of a workflow or a loop, in the order of the document.';

-- The contents of a scope. body: the loop or the workflow, with its steps. A step that has not been created has no times.
create or replace function scylla._tree_of_scope(scope bigint, body jsonb, level int, max_iterations int, failed_first boolean, viewer bigint,
    workflow text, instance bigint)
    returns table (depth int, kind text, name text, iterations bigint[], count bigint, status text, attempt int, started timestamptz,
                   ended timestamptz, params jsonb, error jsonb, task text, workflow_id text, instance_id bigint)
    language plpgsql stable parallel unsafe set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
    step record;
    iteration record;
    run record;
    total bigint;
begin
    for step in
        select d.kind, d.id, d.body, s.scope is not null as is_there, s.status, s.attempt, s.started, s.ended, s.error, s."loop" as kept, t.rn,
               i.numbers
        from scylla._steps_of(_tree_of_scope.body) d
        left join scylla.workflow_step_state s on s.scope = _tree_of_scope.scope and s.step = d.id and s.status <> 'NOT_CREATED'
        left join scylla.workflow_iteration i on i.id = _tree_of_scope.scope
        left join scylla.task_spec t on t.id = s.task
        order by _tree_of_scope.failed_first and (scylla._is_failed(s.status) or exists (
            select from scylla.workflow_iteration f where f.parent = s.scope and f.step = s.step and not f.past and scylla._is_failed(f.status))) is true desc, d.place
    loop
        return query select level, step.kind, step.id, step.numbers, null::bigint, coalesce(step.status, 'NOT_CREATED'), step.attempt,
                            step.started, step.ended, null::jsonb, step.error, step.rn, _tree_of_scope.workflow, _tree_of_scope.instance;
        if not step.is_there then
            continue;
        end if;
        if step.kind in ('foreach', 'while') then
            select count(*) into total from scylla.workflow_iteration i where i.parent = _tree_of_scope.scope and i.step = step.id and not i.past;
            if total > _tree_of_scope.max_iterations then
                return query
                    select level + 1, 'iterations', null::text, step.numbers, count(*), i.status, null::int, min(i.created), nullif(max(coalesce(i.ended, 'infinity')), 'infinity'),
                           null::jsonb, null::jsonb, null::text, _tree_of_scope.workflow, _tree_of_scope.instance
                    from scylla.workflow_iteration i where i.parent = _tree_of_scope.scope and i.step = step.id and not i.past
                    group by i.status order by _tree_of_scope.failed_first and scylla._is_failed(i.status) desc, i.status collate "C";
            end if;
            for iteration in
                select i.* from scylla.workflow_iteration i
                where i.parent = _tree_of_scope.scope and i.step = step.id and not i.past
                  and (total <= _tree_of_scope.max_iterations or _tree_of_scope.failed_first and scylla._is_failed(i.status))
                order by _tree_of_scope.failed_first and scylla._is_failed(i.status) desc, i.number
                limit greatest(_tree_of_scope.max_iterations, 0)
            loop
                return query select level + 1, 'iteration', iteration.number::text, iteration.numbers, null::bigint, iteration.status,
                                    null::int, iteration.created, iteration.ended, iteration.params, null::jsonb, null::text,
                                    _tree_of_scope.workflow, _tree_of_scope.instance;
                return query select * from scylla._tree_of_scope(iteration.id, step.body, level + 2, _tree_of_scope.max_iterations,
                                                                 _tree_of_scope.failed_first, _tree_of_scope.viewer, _tree_of_scope.workflow, _tree_of_scope.instance);
            end loop;
        elsif step.kind = 'subworkflow' then
            for run in
                select r.id
                from scylla.workflow_run_state r join scylla.workflow_head h on h.id = r.workflow and h.created <= r.created
                where r.workflow = step.kept ->> 'workflow' and r.instance = (step.kept ->> 'instance')::bigint
                  and scylla._may_role_view(_tree_of_scope.viewer, h.owner, h.viewers || h.runners, h.admins)
                order by r.run desc limit 1
            loop
                return query select * from scylla._tree_of_run(run.id, level + 1, (step.body ->> 'sync')::boolean is not false,
                                                               _tree_of_scope.max_iterations, _tree_of_scope.failed_first, _tree_of_scope.viewer);
            end loop;
        end if;
    end loop;
end $$;
comment on function scylla._tree_of_scope is 'Internal: what is inside of a run or an iteration, for run_tree().';

-- A run with its contents.
create or replace function scylla._tree_of_run(run bigint, level int, inside boolean, max_iterations int, failed_first boolean, viewer bigint)
    returns table (depth int, kind text, name text, iterations bigint[], count bigint, status text, attempt int, started timestamptz,
                   ended timestamptz, params jsonb, error jsonb, task text, workflow_id text, instance_id bigint)
    language plpgsql stable parallel unsafe set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
    r scylla.workflow_run_state;
begin
    select s.* into r from scylla.workflow_run_state s where s.id = _tree_of_run.run;
    return query select _tree_of_run.level, 'run', r.workflow || '/' || r.instance, null::bigint[], null::bigint, r.status, r.run, r.started, r.ended,
                        null::jsonb, r.error, null::text, r.workflow, r.instance;
    if inside then
        return query
            select t.* from scylla.workflow_text v
            cross join lateral scylla._tree_of_scope(r.id, v.definition, _tree_of_run.level + 1, _tree_of_run.max_iterations,
                                                     _tree_of_run.failed_first, _tree_of_run.viewer, r.workflow, r.instance) t
            where v.workflow = r.workflow and v.version = r.version;
    end if;
end $$;
comment on function scylla._tree_of_run is 'Internal: a run and what is inside of it, for run_tree().';

create or replace function scylla.run_tree(workflow text, instance bigint, max_iterations int = 10, failed_first boolean = false)
    returns table (depth int, kind text, name text, iterations bigint[], count bigint, status text, attempt int, started timestamptz,
                   ended timestamptz, params jsonb, error jsonb, task text, workflow_id text, instance_id bigint)
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_run_tree';
comment on function scylla.run_tree is
'An instance as a tree: a row for each step in the order of the definition, with its contents below, one level deeper. Kinds are run, step,
foreach, while, subworkflow, template, iteration, and iterations: the iterations of a loop (count of them) with the same status. A subworkflow that
the caller may not view is only a step, and one with "sync": false has no steps here. Steps that do not exist yet are NOT_CREATED.
  max_iterations  0..1000: of a loop with more iterations only their numbers are shown
  failed_first    failed steps and iterations come before others, and of each loop the first failed ones are shown
Errors: 42704 no such workflow; 42501 no privilege view; P0002 no such instance; 22023 bad argument.';

-- Searches loops and subworkflows that are not complete, and in these only what has not succeeded, however much has.
create or replace function scylla._failed_steps(run bigint, viewer bigint, max_steps int)
    returns table (workflow_id text, instance_id bigint, step text, iterations bigint[], attempt int, status text, ended timestamptz, params jsonb,
                   error jsonb, task text, error_message text)
    language sql stable parallel unsafe set search_path = pg_catalog, pg_temp set jit = off as $$
    with recursive scope (id, workflow, instance, numbers, parent, step, failed) as (
        select r.id, r.workflow, r.instance, null::bigint[], null::bigint, null::text collate "C", null::boolean
        from scylla.workflow_run_state r where r.id = _failed_steps.run
        union all
        select inside.*
        from scope
        join scylla.workflow_step_state s on s.scope = scope.id and s.loop is not null
         and s.status <> all ('{SUCCEEDED,COMPLETED_WITH_ERROR,SKIPPED,NOT_CREATED}')
        cross join lateral (
            select i.id, scope.workflow, scope.instance, i.numbers, i.parent, i.step, scylla._is_failed(i.status) from scylla.workflow_iteration i
            where i.parent = s.scope and i.step = s.step and not i.past and i.status <> 'SUCCEEDED'
            union all
            (select r.id, r.workflow, r.instance, null, null, null, null
             from scylla.workflow_run_state r join scylla.workflow_head h on h.id = r.workflow and h.created <= r.created
             where r.workflow = s.loop ->> 'workflow' and r.instance = (s.loop ->> 'instance')::bigint
               and scylla._may_role_view(_failed_steps.viewer, h.owner, h.viewers || h.runners, h.admins)
             order by r.run desc limit 1)
        ) inside
    )
    select scope.workflow, scope.instance, s.step, scope.numbers, s.attempt, s.status, s.ended, s.params, s.error, t.rn,
           coalesce(nullif(s.error ->> 'message', ''), s.error ->> 'code')
    from scope
    join scylla.workflow_step_state s on s.scope = scope.id and scylla._is_failed(s.status)
    left join scylla.task_spec t on t.id = s.task
    where s.loop is null
       or (s.scope, s.step) not in (select c.parent, c.step from scope c where c.failed) -- hashed once: the iterations are not read again
          and not exists (select from scope c join scylla.workflow_step_state f on f.scope = c.id and scylla._is_failed(f.status)
                          where c.workflow = s.loop ->> 'workflow' and c.instance = (s.loop ->> 'instance')::bigint)
    order by s.ended, scope.numbers, s.step collate "C"
    limit greatest(max_steps, 0)
$$;
comment on function scylla._failed_steps is 'Internal: for failed_steps().';

create or replace function scylla.failed_steps(workflow text, instance bigint, max_steps int = 1000)
    returns table (workflow_id text, instance_id bigint, step text, iterations bigint[], attempt int, status text, ended timestamptz, params jsonb,
                   error jsonb, task text, error_message text)
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_failed_steps';
comment on function scylla.failed_steps is
'The steps because of which an instance has failed or will fail, including those in its loops and subworkflows, in the order in which they failed.
The loops and subworkflows that failed because of them are left out, and so are failures that IGNORE_FAILURE covers.
  max_steps  1..100000
Errors: 42704 no such workflow; 42501 no privilege view; P0002 no such instance; 22023 bad argument.';

-- What holds the caller's steps back, except for what explain_waiting() says of a task: such a row has only the task. Searches loops and
-- subworkflows that have not ended. monitored: a monitor runs in this database, or comes when something is due.
create or replace function scylla._explain_run(run bigint, viewer bigint, only_step text, max_rows int, monitored boolean)
    returns table (workflow_id text, instance_id bigint, step text, iterations bigint[], waits_for text, since timestamptz, until timestamptz,
                   detail text, task bigint)
    language sql stable parallel unsafe set search_path = pg_catalog, pg_temp set jit = off as $$
    with recursive monitor (detail) as materialized (
        select case when _explain_run.monitored
                    then 'The engine comes to it next.' else 'No monitor runs in this database. CALL scylla.advance() does its work.' end
    ), scope (id, workflow, instance, run, version, status, numbers, path) as (
        select r.id, r.workflow, r.instance, r.run, r.version, r.status, null::bigint[], '{}'::text[] collate "C"
        from scylla.workflow_run_state r where r.id = _explain_run.run
        union all
        select inside.*
        from scope
        join scylla.workflow_step_state s on s.scope = scope.id and s.loop is not null and s.ended is null and s.status <> 'NOT_CREATED'
        cross join lateral (
            select i.id, scope.workflow, scope.instance, scope.run, scope.version, null::text, i.numbers, scope.path || s.step from scylla.workflow_iteration i
            where i.parent = s.scope and i.step = s.step and not i.past and not i.aside and i.ended is null
            union all
            (select r.id, r.workflow, r.instance, r.run, r.version, r.status, null::bigint[], scope.path || s.step
             from scylla.workflow_run_state r join scylla.workflow_head h on h.id = r.workflow and h.created <= r.created
             where r.workflow = s.loop ->> 'workflow' and r.instance = (s.loop ->> 'instance')::bigint and r.ended is null
               and scylla._may_role_view(_explain_run.viewer, h.owner, h.viewers || h.runners, h.admins)
             order by r.run desc limit 1)
        ) inside
    ), paused as (
        select h.workflow, format('workflow %s to be resumed', h.workflow) as waits_for, h.created as since,
               format('Role "%s" has paused it: resume_workflow() lets it continue.', h.author) as detail
        from scylla.workflow_hold h where h.kind = 'workflow'
    ), of_run as (
        -- A run that has not begun.
        select scope.*, w.*
        from scope
        join scylla.workflow_run_state r on r.id = scope.id
        join scylla.workflow_head h on h.id = r.workflow
        cross join lateral (
            select count(*) filter (where o.status = 'IN_PROGRESS') as live, min(o.instance) filter (where o.status = 'IN_PROGRESS') as first,
                   count(*) filter (where o.status = 'CREATED' and (o.late, o.instance, o.run) < (r.late, r.instance, r.run)) as before
            from scylla.workflow_run_state o where o.workflow = r.workflow and o.ended is null
        ) others
        cross join lateral (
            select p.waits_for, p.since, p.detail from paused p where p.workflow = r.workflow
            union all
            select format('instance %s to be unblocked', b.instance), b.ended,
                   format('It is %s, and the run strategy is STRICT_SEQUENTIAL: restart it, or call unblock_run().', b.status)
            from scylla.workflow_run_state b where b.workflow = r.workflow and b.blocks and h.strategy = 'STRICT_SEQUENTIAL'
            union all
            select 'its turn', r.created,
                   format('The run strategy is %s with %s at a time; %s in progress (the first is instance %s), and %s before it.', h.strategy, h.concurrency, others.live,
                          others.first, others.before)
            where others.live >= h.concurrency
            union all
            select 'the monitor', r.created, monitor.detail from monitor
            where others.live < h.concurrency and not exists (select from paused p where p.workflow = r.workflow)
              and not (h.strategy = 'STRICT_SEQUENTIAL' and exists (select from scylla.workflow_run_state b where b.workflow = r.workflow and b.blocks))
        ) w (waits_for, since, detail)
        where r.status = 'CREATED' and scope.status is not null
        union all
        -- One that has ended.
        select scope.*, 'a restart', r.ended, format('The run has ended as %s: restart_run() goes on from there.', r.status)
        from scope join scylla.workflow_run_state r on r.id = scope.id
        where scope.id = _explain_run.run and r.ended is not null and r.status <> 'SUCCEEDED'
        union all
        -- One in which nothing has begun yet, or that is about to end.
        select scope.*, 'the monitor', r.created, monitor.detail
        from scope join scylla.workflow_run_state r on r.id = scope.id cross join monitor
        where scope.status = 'IN_PROGRESS'
          and not exists (select from scylla.workflow_step_state s
                          where s.scope = scope.id and s.status <> 'NOT_CREATED' and (s.ended is null or s.status in ('USER_FAILED', 'PLATFORM_FAILED', 'TIMEOUT_FAILED')))
    ), live as (
        select scope.*, s.step, s.status as step_status, s.created, s.started, s.ended, s.attempt, s.error, s.task, s.signals, s.loop, nullif(s.due, 'epoch') as due
        from scope
        join scylla.workflow_step_state s on s.scope = scope.id and s.status <> 'NOT_CREATED'
             and (s.ended is null or s.status in ('USER_FAILED', 'PLATFORM_FAILED', 'TIMEOUT_FAILED'))
    ), of_step as (
        select l.*, w.*
        from live l
        cross join lateral (
            select format('step %s to be resumed', l.step), coalesce(min(h.created), l.created), null::timestamptz,
                   concat_ws(' ', string_agg(format(case h.kind when 'pause' then 'Role "%s" has paused it.' else 'It has a breakpoint, set by role "%s".' end, h.author), ' ' order by h.created),
                             'resume_step() lets it continue.'), null::bigint
            from scylla.workflow_hold h
            where h.workflow = l.workflow and h.step = l.step and h.kind <> 'workflow' and h.version in (0, l.version) and h.instance in (0, l.instance)
              and h.run in (0, l.run) and h.iterations in ('{}', l.numbers)
            having l.step_status = 'PAUSED'
            union all
            select format('signal %s', m.value ->> 'signal'), to_timestamp((m.value ->> 'since')::float8 / 1000), null,
                   concat(format('No signal "%s"', m.value ->> 'signal'), ' with ' || nullif(m.value ->> 'match', '{}'), ' has come.'), null
            from jsonb_array_elements(l.signals) m where l.step_status = 'WAITING_FOR_SIGNALS' and m.value ->> 'status' = 'PENDING'
            union all
            select 'its next attempt', l.ended, l.due, format('Attempt %s is %s', l.attempt, l.step_status) || coalesce(': ' || coalesce(nullif(l.error ->> 'message', ''), l.error ->> 'code'), '.'), null
            where l.step_status in ('USER_FAILED', 'PLATFORM_FAILED', 'TIMEOUT_FAILED')
            union all
            select p.waits_for, p.since, null, p.detail, null from paused p
            where p.workflow = l.workflow
              and (l.step_status in ('INITIALIZED', 'USER_FAILED', 'PLATFORM_FAILED', 'TIMEOUT_FAILED')
                   or l.step_status = 'WAITING_FOR_SIGNALS' and not coalesce(l.signals @? '$[*] ? (@.status == "PENDING")', false))
            union all
            select null, null, null, null, l.task where l.task is not null and l.step_status in ('WAITING_FOR_PERMITS', 'STARTING', 'RUNNING')
            union all
            select 'its time', l.started, l.due, 'It sleeps.', null
            where l.step_status = 'RUNNING' and l.task is null and l.loop is null
            union all
            select format('instance %s of workflow %s', l.loop ->> 'instance', l.loop ->> 'workflow'), l.started, null, 'You may not view what happens in it.', null
            where l.step_status = 'RUNNING' and l.loop ? 'workflow' and l.loop ? 'instance'
              and not exists (select from scope c where c.workflow = l.loop ->> 'workflow' and c.instance = (l.loop ->> 'instance')::bigint)
        ) w (waits_for, since, until, detail, of_task)
    ), reason as (
        select 1 as kind, r.workflow, r.instance, null::text collate "C" as step, r.numbers, r.waits_for, r.since, null::timestamptz as until, r.detail, null::bigint as task, r.path
        from of_run r
        union all
        select 2, s.workflow, s.instance, s.step, s.numbers, s.waits_for, s.since, s.until, s.detail, s.of_task, s.path || s.step
        from of_step s
        union all
        -- What only the engine can go on with. Loops and subworkflows whose contents are here do.
        select 2, l.workflow, l.instance, l.step, l.numbers, 'the monitor', l.created, null, format('The step is %s. %s', l.step_status, monitor.detail), null, l.path || l.step
        from live l cross join monitor
        where not exists (select from of_step s where s.id = l.id and s.step = l.step)
          and not exists (select from scope c where c.path = l.path || l.step)
        union all
        -- A step that has not begun: those before it.
        select 3, scope.workflow, scope.instance, before.id, s.numbers, format('step %s', before.id), s.started, null,
               case when s.status is null or s.status = 'NOT_CREATED' then 'It has not begun.' else format('It is %s.', s.status) end, null, array[_explain_run.only_step]
        from scope
        join scylla.workflow_text v on v.workflow = scope.workflow and v.version = scope.version
        cross join lateral (
            select b.value ->> 'id' as id from jsonb_path_query(v.definition, '$.**.steps[*].*') b (value)
            where b.value #> '{transition,successors}' ? _explain_run.only_step) before
        left join lateral (select w.status, w.started, i.numbers from scylla.workflow_step_state w left join scylla.workflow_iteration i on i.id = w.scope
                           where w.root = scope.id and w.step = before.id and not coalesce(i.past or i.aside, false)) s on true
        where scope.id = _explain_run.run and scope.status in ('CREATED', 'IN_PROGRESS')
          and coalesce(s.status, '') <> all ('{DISABLED,UNSATISFIED,SKIPPED,SUCCEEDED,COMPLETED_WITH_ERROR}')
          and not exists (select from scylla.workflow_step_state w where w.root = scope.id and w.step = _explain_run.only_step and w.status <> 'NOT_CREATED')
    )
    select r.workflow, r.instance, case r.kind when 3 then _explain_run.only_step else r.step end, r.numbers, r.waits_for, r.since, r.until, r.detail, r.task
    from reason r
    where _explain_run.only_step is null or r.kind = 1 and cardinality(r.path) = 0 -- the run itself
       or _explain_run.only_step = any (r.path)
    order by r.kind, r.since, r.numbers, r.step
    limit greatest(_explain_run.max_rows, 0)
$$;
comment on function scylla._explain_run is 'Internal: for explain_run().';

create or replace function scylla.explain_run(workflow text, instance bigint, step text = null, max_rows int = 100)
    returns table (workflow_id text, instance_id bigint, step_id text, iterations bigint[], waits_for text, since timestamptz, until timestamptz, detail text)
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_explain_run';
comment on function scylla.explain_run is
'Why the last run of an instance, or one of its steps, does not go on: one row for each thing that a step waits for, including those in loops
and subworkflows; no rows if it has SUCCEEDED.
  step        only this step and what is in it; null: all
  max_rows    1..100000: of so many things
  waits_for   as of explain_waiting(); also: task RN to end, a restart, step NAME, step NAME to be resumed, workflow NAME to be resumed,
              instance N to be unblocked, signal NAME, its time, its turn, its next attempt, the monitor
  since, until, detail  as of explain_waiting()
Errors: 42704 no such workflow; 42501 no privilege view; P0002 no such instance or step; 22023 bad argument.';

-- ---- pictures ----------------------------------------------------------------------------------------------------------

-- The steps of a definition; those of a loop follow it. run: null for a picture of a workflow. look: the colour; null: no status.
create or replace function scylla._workflow_nodes(definition jsonb, run bigint)
    returns table (node bigint, depth int, kind text, id text, note text, look text, successors jsonb)
    language sql stable parallel unsafe set search_path = pg_catalog, pg_temp set jit = off as $$
    with recursive step (path, kind, id, body) as (
        select array[s.place], s.kind, s.id, s.body from scylla._steps_of(_workflow_nodes.definition) s
        union all
        select step.path || s.place, s.kind, s.id, s.body from step cross join lateral scylla._steps_of(step.body) s
        where step.kind in ('foreach', 'while')
    ), state as materialized (
        select s.step, s.status, count(*) as count, min(s.loop ->> 'workflow') as workflow, min(s.loop ->> 'instance') as instance
        from (select _workflow_nodes.run as id
              union all select i.id from scylla.workflow_iteration i where i.root = _workflow_nodes.run and not i.past and not i.aside) scope
        -- Of each scope by itself (offset 0), also where the planner knows of no rows in a table that has not been analyzed since it has some.
        cross join lateral (select * from scylla.workflow_step_state s where s.scope = scope.id offset 0) s
        where s.status <> 'NOT_CREATED'
        group by s.step, s.status
    ), known as (
        select s.step, sum(s.count) as count, string_agg(s.count || ' ' || s.status, E'\n' order by s.count desc, s.status collate "C") as counts,
               min(s.status) as status, min(s.workflow || '/' || s.instance) as child,
               bool_or(scylla._is_failed(s.status)) as failed,
               bool_or(s.status in ('PAUSED', 'WAITING_FOR_SIGNALS', 'WAITING_FOR_PERMITS')) as waiting,
               bool_or(s.status in ('CREATED', 'INITIALIZED', 'EVALUATING_PARAMS', 'STARTING', 'RUNNING', 'FINISHING')) as running,
               bool_or(s.status = 'STOPPED') as stopped, bool_or(s.status = 'COMPLETED_WITH_ERROR') as tolerated, bool_or(s.status = 'SUCCEEDED') as succeeded
        from state s group by s.step
    )
    select row_number() over (order by d.path), cardinality(d.path), d.kind, d.id,
           concat_ws(E'\n', case when k.count > 1 then k.counts else k.status end,
                     case when k.count = 1 then k.child when d.kind = 'subworkflow' then d.body #>> '{params,subworkflow_id,value}' end,
                     case when d.kind = 'while' then 'while ' || (d.body ->> 'condition') end),
           case when _workflow_nodes.run is null then null when k.step is null then 'none' when k.failed then 'failed' when k.waiting then 'waiting'
                when k.running then 'running' when k.stopped then 'stopped' when k.tolerated then 'tolerated' when k.succeeded then 'succeeded' else 'skipped' end,
           d.body #> '{transition,successors}'
    from step d left join known k on k.step = d.id
$$;
comment on function scylla._workflow_nodes is 'Internal: the steps of a workflow for pictures.';

-- Conditions other than "true", cut for the picture.
create or replace function scylla._workflow_edges(definition jsonb)
    returns table (source text, target text, condition text)
    language sql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
    select n.id, e.key, nullif(case when length(e.value) > 60 then left(e.value, 57) || '...' else e.value end, 'true')
    from scylla._workflow_nodes(_workflow_edges.definition, null) n cross join lateral jsonb_each_text(n.successors) e
$$;
comment on function scylla._workflow_edges is 'Internal: what follows what in a workflow, for pictures.';

create or replace function scylla._dot_text(value text) returns text language sql immutable parallel safe
begin atomic
    select regexp_replace(replace(replace(replace(replace(value, '&', '&amp;'), E'\\', E'\\\\'), '"', E'\\"'), E'\n', E'\\n'), '[[:cntrl:]]', ' ', 'g');
end;
comment on function scylla._dot_text is 'Internal: a text as Graphviz takes it in quotes.';

-- Special characters become numeric entities; # first, because entities start with it.
create or replace function scylla._mermaid_text(value text) returns text language sql immutable parallel safe
begin atomic
    select regexp_replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(value,
        '#', '#35;'), '"', '#34;'), '&', '#38;'), '<', '#60;'), '>', '#62;'), E'\\', '#92;'), '`', '#96;'), ':', '#58;'), '%', '#37;'), '*', '#42;'), '|', '#124;'),
        E'\n', '<br>'), '[[:cntrl:]]', ' ', 'g');
end;
comment on function scylla._mermaid_text is 'Internal: a text as Mermaid takes it in quotes.';

create or replace function scylla._draw_dot(definition jsonb, run bigint) returns text
    language plpgsql stable parallel unsafe set search_path = pg_catalog, pg_temp set jit = off as $$
declare
    picture text := E'digraph workflow {\n  rankdir=LR;\n  node [shape=box, style="rounded,filled", fillcolor="#ffffff", fontname="sans-serif"];\n'
                    '  edge [fontname="sans-serif", fontsize=10];\n';
    colours constant jsonb := '{"running": "#a5d8ff", "succeeded": "#b2f2bb", "failed": "#ffc9c9", "stopped": "#d0bfff", "waiting": "#fff3bf",
                                "tolerated": "#ffd8a8", "skipped": "#e0e0e0", "none": "#ffffff"}';
    step record;
    open int := 1; -- how deep in loops the next line is
begin
    for step in select * from scylla._workflow_nodes(_draw_dot.definition, _draw_dot.run) order by node loop
        picture := picture || repeat(E'  }\n', open - step.depth);
        open := step.depth;
        if step.kind in ('foreach', 'while') then
            picture := picture || format(E'  subgraph cluster_%s {\n  style=rounded;\n', step.node);
            open := open + 1;
        end if;
        picture := picture || format(E'  n%s [label="%s"%s%s];\n', step.node, scylla._dot_text(concat_ws(E'\n', step.id, nullif(step.note, ''))),
            ', fillcolor="' || (colours ->> step.look) || '"',
            case when step.kind in ('foreach', 'while') then ', shape=folder, style=filled' when step.look in ('none', 'skipped') then ', style="rounded,filled,dashed"'
                 when step.kind = 'subworkflow' then ', peripheries=2' end);
    end loop;
    return picture || repeat(E'  }\n', open - 1) || coalesce((
        select string_agg(format(E'  n%s -> n%s%s;\n', f.node, t.node, ' [label="' || scylla._dot_text(e.condition) || '"]'), '' order by f.node, t.node)
        from scylla._workflow_edges(_draw_dot.definition) e
        join scylla._workflow_nodes(_draw_dot.definition, null) f on f.id = e.source
        join scylla._workflow_nodes(_draw_dot.definition, null) t on t.id = e.target), '') || E'}\n';
end $$;
comment on function scylla._draw_dot is 'Internal: a picture of a workflow, or of a run of it.';

create or replace function scylla._draw_mermaid(definition jsonb, run bigint) returns text
    language plpgsql stable parallel unsafe set search_path = pg_catalog, pg_temp set jit = off as $$
declare
    picture text := E'flowchart LR\n';
    classes text := '';
    step record;
    open int := 1;
begin
    for step in select * from scylla._workflow_nodes(_draw_mermaid.definition, _draw_mermaid.run) order by node loop
        picture := picture || repeat(E'  end\n', open - step.depth);
        open := step.depth;
        picture := picture || format(case when step.kind in ('foreach', 'while') then E'  subgraph n%s["%s"]\n' when step.kind = 'subworkflow' then E'  n%s[["%s"]]\n'
                                          else E'  n%s["%s"]\n' end, step.node, scylla._mermaid_text(concat_ws(E'\n', step.id, nullif(step.note, ''))));
        if step.kind in ('foreach', 'while') then
            open := open + 1;
        end if;
        classes := classes || coalesce(format(E'  class n%s %s\n', step.node, 'look_' || step.look), '');
    end loop;
    return picture || repeat(E'  end\n', open - 1) || coalesce((
        select string_agg(format(E'  n%s %s>%s n%s\n', f.node, repeat('-', 2), '|"' || scylla._mermaid_text(e.condition) || '"|', t.node), '' order by f.node, t.node)
        from scylla._workflow_edges(_draw_mermaid.definition) e
        join scylla._workflow_nodes(_draw_mermaid.definition, null) f on f.id = e.source
        join scylla._workflow_nodes(_draw_mermaid.definition, null) t on t.id = e.target), '')
        || case when _draw_mermaid.run is null then '' else classes ||
            E'  classDef look_running fill:#a5d8ff\n  classDef look_succeeded fill:#b2f2bb\n  classDef look_failed fill:#ffc9c9\n  classDef look_stopped fill:#d0bfff\n' ||
            E'  classDef look_waiting fill:#fff3bf\n  classDef look_tolerated fill:#ffd8a8\n  classDef look_skipped fill:#e0e0e0,stroke-dasharray:4\n' ||
            E'  classDef look_none fill:#ffffff,stroke-dasharray:4\n' end;
end $$;
comment on function scylla._draw_mermaid is 'Internal: the same in the language of Mermaid.';

-- Steps that have not ended are drawn until now.
create or replace function scylla._draw_gantt(run bigint, viewer bigint, max_iterations int) returns text
    language sql stable parallel unsafe set search_path = pg_catalog, pg_temp set jit = off as $$
    with line as (
        select row_number() over () as n, t.* from scylla._tree_of_run(_draw_gantt.run, 0, true, _draw_gantt.max_iterations, false, _draw_gantt.viewer) t
    ), section as (
        select count(*) filter (where kind = 'run' or depth = 1) over (order by n) as section, line.* from line
    )
    select E'gantt\n  dateFormat x\n  axisFormat %H:%M:%S\n' || coalesce(string_agg(format(E'%s  %s :%s%s, %s\n',
               case when depth = 0 then '  title ' || name || E'\n' when kind = 'run' or depth = 1 then '  section ' || name || E'\n' end,
               case kind when 'iteration' then 'iteration ' || array_to_string(iterations, '.') when 'iterations' then count || ' iterations ' || status else name end,
               case when scylla._is_failed(status) then 'crit, ' when ended is null then 'active, ' when status = 'SUCCEEDED' then 'done, ' end,
               (extract(epoch from started) * 1000)::bigint, (extract(epoch from coalesce(ended, clock_timestamp())) * 1000)::bigint), '' order by n), '')
    from section where started is not null
$$;
comment on function scylla._draw_gantt is 'Internal: when which step of a run ran.';

-- The newest signals of an instance: those that started it, those that its steps have waited for, and those that its steps have sent, by the names
-- in its definition. One row for each signal and each of its first users. source and target: an instance, with a step and its iterations on a second
-- line; null: none, or none that the caller may view.
create or replace function scylla._lineage_of(run bigint, viewer bigint, max_signals int)
    returns table (seq bigint, signal text, params jsonb, source text, target text)
    language sql stable parallel unsafe set search_path = pg_catalog, pg_temp set jit = off as $$
    with of_run as materialized (
        select r.id, r.workflow, r.instance, r.owner, r.initiator, v.definition
        from scylla.workflow_run_state r join scylla.workflow_text v on v.workflow = r.workflow and v.version = r.version
        where r.id = _lineage_of.run
    ), scope as (
        select id from of_run
        union all select i.id from scylla.workflow_iteration i where i.root = _lineage_of.run and not i.past
    ), known as (
        (select (s.value ->> 'seq')::bigint as seq
         from of_run r cross join lateral jsonb_each(case when jsonb_typeof(r.initiator -> 'signals') = 'object' then r.initiator -> 'signals' end) s)
        union
        (select (e.value ->> 'seq')::bigint
         from scope cross join lateral (select w.signals from scylla.workflow_step_state w where w.scope = scope.id and w.signals is not null offset 0) w
         cross join lateral jsonb_array_elements(w.signals) e where e.value ? 'seq')
        union
        (select sent.id
         from of_run r
         cross join lateral (select distinct n.value #>> '{}' as name from jsonb_path_query(r.definition, '$.**.signal_outputs[*].name') n (value)) n
         cross join lateral (
            select s.id from scylla.signal_sent s
            where s.name = n.name and s.sender = r.owner and s.payload #>> '{signal_source,workflow}' = r.workflow
              and s.payload #>> '{signal_source,instance}' = r.instance::text
            order by s.id desc limit greatest(_lineage_of.max_signals, 0)) sent)
    )
    select s.id, s.name, s.params, f.workflow || '/' || f.instance || E'\n' || (o.source ->> 'step')
               || coalesce(' ' || (select string_agg(i.value, '.' order by i.place)
                                   from jsonb_array_elements_text(case when jsonb_typeof(o.source -> 'iteration') = 'array' then o.source -> 'iteration' end)
                                        with ordinality i (value, place)), ''),
           t.target
    from (select seq from known order by seq desc limit greatest(_lineage_of.max_signals, 0)) k
    join scylla.signal_sent s on s.id = k.seq
    join scylla.signal_name n on n.name = s.name and scylla._may_role_view(_lineage_of.viewer, n.owner, n.waiters, n.admins)
    cross join lateral (select case when jsonb_typeof(s.payload -> 'signal_source') = 'object' then s.payload -> 'signal_source' end as source) o
    left join scylla.workflow_run_state f on f.workflow = o.source ->> 'workflow' and f.owner = s.sender
         and f.instance = case when o.source ->> 'instance' ~ '^[0-9]{1,18}$' then (o.source ->> 'instance')::bigint end
    left join lateral (
        select u.target from (
            select r.id, r.workflow || '/' || r.instance as target
            from scylla.workflow_run_state r
            join scylla.workflow_head h on h.id = r.workflow and h.created <= r.created
            where r.initiator ? 'signals' and r.initiator @> jsonb_build_object('signals', jsonb_build_object(s.name, jsonb_build_object('seq', s.id)))
              and scylla._may_role_view(_lineage_of.viewer, h.owner, h.viewers || h.runners, h.admins)
            union all
            select r.id, r.workflow || '/' || r.instance || E'\n' || w.step || coalesce(' ' || array_to_string(i.numbers, '.'), '')
            from scylla.workflow_step_state w
            join scylla.workflow_run_state r on r.id = w.root
            join scylla.workflow_head h on h.id = r.workflow and h.created <= r.created
            left join scylla.workflow_iteration i on i.id = w.scope
            where w.signals is not null and w.signals @> jsonb_build_array(jsonb_build_object('seq', s.id))
              and scylla._may_role_view(_lineage_of.viewer, h.owner, h.viewers || h.runners, h.admins)
        ) u order by u.id = _lineage_of.run desc, u.id, u.target collate "C" limit 20
    ) t on true
$$;
comment on function scylla._lineage_of is 'Internal: where signals of an instance come from and who has used them, for pictures.';

-- Signals are round; the steps of the instance itself are coloured.
create or replace function scylla._draw_lineage(run bigint, viewer bigint, max_signals int, as_dot boolean) returns text
    language sql stable parallel unsafe set search_path = pg_catalog, pg_temp set jit = off as $$
    with found as materialized (select * from scylla._lineage_of(_draw_lineage.run, _draw_lineage.viewer, _draw_lineage.max_signals)),
    node as materialized (
        select row_number() over (order by u.seq nulls first, u.label collate "C") as n, u.seq, u.label,
               u.seq is null and split_part(u.label, E'\n', 1) = r.workflow || '/' || r.instance as own
        from (select null::bigint as seq, source as label from found where source is not null
              union select null, target from found where target is not null
              union select null, s.workflow || '/' || s.instance from scylla.workflow_run_state s
                    where s.id = _draw_lineage.run and not exists (select from found)
              union select seq, signal || E'\n' || case when length(params::text) > 60 then left(params::text, 57) || '...' else params::text end from found) u
        cross join (select s.workflow, s.instance from scylla.workflow_run_state s where s.id = _draw_lineage.run) r
    ), edge as (
        select distinct a.n as tail, b.n as head from found f join node a on a.label = f.source and a.seq is null join node b on b.seq = f.seq
        union
        select a.n, b.n from found f join node a on a.seq = f.seq join node b on b.label = f.target and b.seq is null
    )
    select case when _draw_lineage.as_dot
           then E'digraph lineage {\n  rankdir=LR;\n  node [shape=box, style="rounded,filled", fillcolor="#ffffff", fontname="sans-serif"];\n' ||
                (select string_agg(format(E'  n%s [label="%s"%s%s];\n', n, scylla._dot_text(label), case when seq is not null then ', shape=ellipse, style=filled' end,
                                          case when own then ', fillcolor="#a5d8ff"' end), '' order by n) from node) ||
                coalesce((select string_agg(format(E'  n%s -> n%s;\n', tail, head), '' order by tail, head) from edge), '') || E'}\n'
           else E'flowchart LR\n' ||
                (select string_agg(format(case when seq is null then E'  n%s["%s"]\n' else E'  n%s(["%s"])\n' end, n, scylla._mermaid_text(label)), '' order by n) from node) ||
                coalesce((select string_agg(format(E'  n%s %s> n%s\n', tail, repeat('-', 2), head), '' order by tail, head) from edge), '') ||
                coalesce((select string_agg(format(E'  class n%s own\n', n), '' order by n) from node where own), '') || E'  classDef own fill:#a5d8ff\n' end
$$;
comment on function scylla._draw_lineage is 'Internal: a picture of where signals of an instance come from and who has used them.';

create or replace function scylla.workflow_dot(workflow text, version text = 'default') returns text
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_workflow_dot';
comment on function scylla.workflow_dot is
'A version of a workflow as a Graphviz graph: a node for each step, arrows with their conditions, and a frame around the contents of a loop.
  version  active, latest, default (the active one or else the latest), or a number
Errors: 42704 no such workflow or version; 42501 no privilege view; 55000 no version is active; 22023 bad argument.';

create or replace function scylla.workflow_mermaid(workflow text, version text = 'default') returns text
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_workflow_mermaid';
comment on function scylla.workflow_mermaid is 'The same as workflow_dot, as a Mermaid flowchart.';

create or replace function scylla.run_dot(workflow text, instance bigint) returns text
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_run_dot';
comment on function scylla.run_dot is
'An instance as workflow_dot draws its version, with the status of each step: in words and as a colour. A step in a loop has the numbers of all
iterations, and the colour of the worst. Errors: 42704 no such workflow; 42501 no privilege view; P0002 no such instance; 22023 bad argument.';

create or replace function scylla.run_mermaid(workflow text, instance bigint) returns text
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_run_mermaid';
comment on function scylla.run_mermaid is 'The same as run_dot, as a Mermaid flowchart.';

create or replace function scylla.run_gantt(workflow text, instance bigint, max_iterations int = 10) returns text
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_run_gantt';
comment on function scylla.run_gantt is
'When the steps of an instance ran, as a Mermaid Gantt chart.
  max_iterations  0..1000: of a loop with more iterations those with the same status share a bar
Errors: 42704 no such workflow; 42501 no privilege view; P0002 no such instance; 22023 bad argument.';

create or replace function scylla.lineage_dot(workflow text, instance bigint, max_signals int = 50) returns text
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_lineage_dot';
comment on function scylla.lineage_dot is
'The signals of an instance as a Graphviz graph: those that have started it or that its steps have waited for, with the steps that sent them, and those that
its steps have sent, with the instances and steps that have used them. The instance''s own nodes have a colour. Signals on which the caller lacks
the privilege wait are left out, and so are users that the caller may not view and signals that only a worker has named. Each signal has up to 20 users.
  max_signals  1..1000: the newest ones
Errors: 42704 no such workflow; 42501 no privilege view; P0002 no such instance; 22023 bad argument.';

create or replace function scylla.lineage_mermaid(workflow text, instance bigint, max_signals int = 50) returns text
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_lineage_mermaid';
comment on function scylla.lineage_mermaid is 'The same as lineage_dot, as a Mermaid flowchart.';
