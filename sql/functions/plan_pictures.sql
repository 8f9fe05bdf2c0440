-- Pictures of plans, from the view scylla.plan_task: a picture shows what its caller sees in that view.

-- What a waiting task of a picture waits for that is neither a task nor a plan. provider: equal for tasks that wait for the same;
-- 0: a time.
create or replace function scylla._plan_waits(rn text, out provider bigint, out label text) returns setof record
    language c volatile parallel unsafe rows 1 as 'MODULE_PATHNAME', 'scylla_plan_waits';
comment on function scylla._plan_waits is
    'What a waiting task waits for that is neither a task nor a plan, for pictures; nothing for tasks that the caller may not view.';

-- The nodes and edges of a picture. One row per node: a task, or many tasks of the same queue, status and similar depth in the
-- plan. sources are the numbers of the nodes that it depends on. fallen: it never ran, and was aborted because a task that it depends
-- on was. A node without a status is a condition that tasks wait for.
create or replace function scylla._plan_nodes(plan text, max_tasks integer)
    returns table (node integer, label text, status scylla.task_status, fallen boolean, sources integer[])
    language plpgsql volatile parallel unsafe set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    names text[];
    queues text[];
    statuses scylla.task_status[];
    fallens boolean[];
    froms integer[];        -- edges, in the order of their start
    tos integer[];
    first_edge integer[];   -- of each task
    missing integer[];      -- how many of a task's dependencies are not processed yet
    depths integer[];
    pending integer[];      -- tasks whose depth is final, in the order in which it became final
    tasks integer;
    levels integer;
    kinds integer;
    bands integer;
    edges integer;
    last integer;
    edge integer;
    i integer;
    t integer;
begin
    perform scylla._check_max_tasks(max_tasks);
    perform scylla.plan_completed(plan); -- raises if there is no such plan

    -- One statement, so one snapshot.
    with task as materialized (
        select m.rn, m.queue, m.status, m.status = 'aborted' and m.attempt = 0 as fallen, m.depends_on, (row_number() over (order by m.created, m.rn))::integer as n
        from scylla.plan_task m where m.plan = _plan_nodes.plan
    ), edge as (
        select distinct f.n as from_, t.n as to_
        from task t cross join lateral unnest(t.depends_on) d (rn) join task f on f.rn = d.rn
    )
    select (select array_agg(k.rn order by k.n) from task k), (select array_agg(k.queue order by k.n) from task k),
           (select array_agg(k.status order by k.n) from task k), (select array_agg(k.fallen order by k.n) from task k),
           coalesce(array_agg(e.from_ order by e.from_, e.to_), '{}'), coalesce(array_agg(e.to_ order by e.from_, e.to_), '{}')
    into names, queues, statuses, fallens, froms, tos from edge e;
    tasks := coalesce(cardinality(names), 0);
    edges := cardinality(froms);

    if tasks <= max_tasks then
        return query
            with wait as materialized (
                select n as to_, (tasks + dense_rank() over (order by w.label collate "C", w.provider))::integer as from_, w.label
                from generate_series(1, tasks) n cross join lateral scylla._plan_waits(names[n]) w
                where statuses[n] = 'waiting'
            ), source as (
                select e.to_, array_agg(e.from_ order by e.from_) as sources
                from (select from_, to_ from unnest(froms, tos) u (from_, to_) union select from_, to_ from wait) e group by e.to_
            )
            select n, names[n], statuses[n], fallens[n], coalesce(s.sources, '{}')
            from generate_series(1, tasks) n left join source s on s.to_ = n
            union all
            select distinct w.from_, w.label, null::scylla.task_status, false, '{}'::integer[] from wait w
            order by 1;
        return;
    end if;

    -- How deep a task is: the length of the longest path to it. Each edge is looked at once.
    first_edge := array_fill(null::integer, array[tasks]);
    missing := array_fill(0, array[tasks]);
    depths := array_fill(0, array[tasks]);
    for i in 1 .. edges loop
        missing[tos[i]] := missing[tos[i]] + 1;
        if first_edge[froms[i]] is null then
            first_edge[froms[i]] := i;
        end if;
    end loop;
    select array_agg(n order by n) into pending from generate_series(1, tasks) n where missing[n] = 0;
    last := cardinality(pending);
    i := 0;
    while i < last loop
        i := i + 1;
        t := pending[i];
        edge := first_edge[t];
        while edge <= edges and froms[edge] = t loop
            depths[tos[edge]] := greatest(depths[tos[edge]], depths[t] + 1);
            missing[tos[edge]] := missing[tos[edge]] - 1;
            if missing[tos[edge]] = 0 then
                last := last + 1;
                pending[last] := tos[edge];
            end if;
            edge := edge + 1;
        end loop;
    end loop;

    -- The largest number of depth bands that gives at most max_tasks nodes.
    select max(d) + 1 into levels from unnest(depths) d;
    select count(distinct (q, s, f)) into kinds from unnest(queues, statuses, fallens) u (q, s, f);
    bands := least(levels, greatest(1, max_tasks / kinds));
    return query
        with member as (
            select n, q, s, f, d, dense_rank() over (order by (d::bigint * bands / levels), q collate "C", s, f)::integer as node
            from unnest(queues, statuses, fallens, depths) with ordinality u (q, s, f, d, n)
        ), collapsed as (
            select m.node, case when count(*) = 1 then names[min(m.n)] else min(m.q) || E'\n' || count(*) || ' tasks' end as label,
                   min(m.s) as status, bool_and(m.f) as fallen
            from member m group by m.node
        ), edge as (
            select t.node, array_agg(distinct f.node order by f.node) as sources
            from unnest(froms, tos) u (from_, to_) join member f on f.n = u.from_ join member t on t.n = u.to_
            where f.node <> t.node group by t.node
        )
        select c.node, c.label, c.status, c.fallen, coalesce(e.sources, '{}')
        from collapsed c left join edge e using (node) order by c.node;
end $$;
comment on function scylla._plan_nodes is
    'The nodes and edges of plan_dot() and plan_mermaid(). It reads as its caller, who needs the privileges.';

create or replace function scylla.plan_dot(plan text, max_tasks integer = 200) returns text
    language sql volatile parallel unsafe
begin atomic
    select format(E'digraph plan {\n  rankdir=LR;\n  node [shape=box, style="rounded,filled", fontname="sans-serif"];\n%s%s}\n',
        string_agg(format(E'  n%s [label="%s", fillcolor="%s"%s];\n', p.node,
            regexp_replace(replace(replace(replace(replace(p.label, '&', '&amp;'), E'\\', E'\\\\'), '"', E'\\"'), E'\n', E'\\n'),
                           '[[:cntrl:]]', ' ', 'g'),
            case p.status when 'waiting' then '#e0e0e0' when 'ready' then '#fff3bf' when 'running' then '#a5d8ff'
                          when 'completed' then '#b2f2bb' when 'aborted' then '#ffc9c9' when 'cancelled' then '#d0bfff' else '#ffffff' end,
            case when p.status is null then ', shape=note, style=filled' when p.fallen then ', style="rounded,filled,dashed"' else '' end), '' order by p.node),
        string_agg((select string_agg(format(E'  n%s -> n%s;\n', s, p.node), '' order by s) from unnest(p.sources) s), ''
                   order by p.node))
    from scylla._plan_nodes(plan_dot.plan, coalesce(plan_dot.max_tasks, 200)) p;
end;
comment on function scylla.plan_dot is
'A plan as a Graphviz graph: one node per task, coloured by status (dashed: aborted because a task that it depends on was), and an arrow from each task to the tasks that depend on it. Other things that tasks wait for are sheets: callbacks, signals, checks, pools, times.
  max_tasks  1..100000; in a larger plan, tasks of the same queue, status and similar depth share one node, and there are no sheets
Needs EXECUTE on plan_completed and SELECT on the view plan_task. Errors: P0002 no such plan; 22023 bad argument.';

create or replace function scylla.plan_mermaid(plan text, max_tasks integer = 200) returns text
    language sql volatile parallel unsafe
begin atomic
    select format(E'flowchart LR\n%s%s%s',
        string_agg(format(case when p.status is null then E'  n%s(["%s"])\n' else E'  n%s["%s"]:::%s\n' end, p.node,
            -- Special characters become numeric entities; # first, because entities start with it.
            regexp_replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(p.label,
                '#', '#35;'), '"', '#34;'), '&', '#38;'), '<', '#60;'), '>', '#62;'), E'\\', '#92;'), '`', '#96;'), ':', '#58;'),
                '%', '#37;'), '*', '#42;'), E'\n', '<br>'), '[[:cntrl:]]', ' ', 'g'),
            case when p.fallen then 'fallen' else p.status::text end), '' order by p.node),
        string_agg((select string_agg(format(E'  n%s --> n%s\n', s, p.node), '' order by s) from unnest(p.sources) s), ''
                   order by p.node),
        E'  classDef waiting fill:#e0e0e0\n  classDef ready fill:#fff3bf\n  classDef running fill:#a5d8ff\n'
        '  classDef completed fill:#b2f2bb\n  classDef aborted fill:#ffc9c9\n  classDef fallen fill:#ffc9c9,stroke-dasharray:4\n  classDef cancelled fill:#d0bfff\n')
    from scylla._plan_nodes(plan_mermaid.plan, coalesce(plan_mermaid.max_tasks, 200)) p;
end;
comment on function scylla.plan_mermaid is 'The same as plan_dot, as a Mermaid flowchart.';

create or replace function scylla.plan_timeline(plan text, out rn text, out queue text, out owner text, out attempt integer,
                                     out started timestamptz, out ended timestamptz, out status text)
    returns setof record
    language plpgsql volatile parallel unsafe set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    perform scylla.plan_completed(plan); -- raises if there is no such plan
    return query
        select m.rn, m.queue, a.worker, a.attempt, a."time",
               coalesce(e."time", case when m.status in ('completed', 'aborted', 'cancelled') then m.updated end),
               case e._typ when 'TaskTimeout' then 'expired' when 'TaskYield' then 'yielded' when 'TaskRetry' then 'failed'
                    else m.status::text end
        from scylla.plan_task m
        cross join lateral rows from (jsonb_to_recordset(m.history) as (_typ text, worker text, attempt integer, "time" timestamptz))
            with ordinality a (_typ, worker, attempt, "time", n)
        left join lateral (
            select h._typ, h."time"
            from rows from (jsonb_to_recordset(m.history) as (_typ text, worker text, attempt integer, "time" timestamptz))
                with ordinality h (_typ, worker, attempt, "time", n)
            where h.n = a.n + 1 and h._typ in ('TaskTimeout', 'TaskYield', 'TaskRetry')) e on true
        where m.plan = plan_timeline.plan and a._typ = 'TaskAssignment'
        order by a."time", m.rn, a.attempt;
end $$;
comment on function scylla.plan_timeline is
'Which worker ran which task of a plan, and when: one row per attempt, for a Gantt chart. ended is null while the attempt runs.
status is running, or how the attempt ended: expired, yielded, failed, completed, aborted or cancelled. For a task with very many
attempts, the history has only the first and the latest.
Needs EXECUTE on plan_completed and SELECT on the view plan_task. Errors: P0002 no such plan; 22023 bad argument.';
