-- Views of rollups, timelines and signals of runs of workflows. Columns are only ever appended.

-- Loops store the number of leaves in their iterations, so the rows of iterations are not read. A synchronous subworkflow has the leaves
-- of the instance that it has started; inside of a loop it is a leaf itself. The limits exclude no row. They tell the planner how few rows
-- there are; otherwise it would have the query compiled.
create or replace view scylla.workflow_rollup with (security_barrier) as
    select r.workflow, r.instance, r.run, u.total_leaf_count, u.overview
    from scylla.workflow_run_state r
    join scylla.workflow_head h on h.id = r.workflow and h.created <= r.created
    cross join lateral (
        with recursive run (id, workflow, version, instance, run) as (
            select r.id, r.workflow, r.version, r.instance, r.run
            union all
            select c.id, c.workflow, c.version, c.instance, c.run
            from run
            join scylla.workflow_step_state s on s.scope = run.id and s.loop ? 'instance' and s.status <> 'NOT_CREATED'
            join scylla.workflow_run_state c on c.parent_scope = s.scope and c.parent_step = s.step
             and c.workflow = s.loop ->> 'workflow' and c.instance::text = s.loop ->> 'instance'
            join scylla.workflow_head ch on ch.id = c.workflow and ch.created <= c.created
             and scylla._may_view(ch.owner, ch.viewers || ch.runners, ch.admins)
        ), step as (
            select run.workflow, run.run, run.instance, m.value ->> 'id' as id, coalesce(s.status, 'NOT_CREATED') as status, s.attempt,
                   case when s.status <> 'NOT_CREATED' then s.rollup end as rollup, s.created
            from run
            join scylla.workflow_text v on v.workflow = run.workflow and v.version = run.version
            cross join lateral jsonb_array_elements(v.definition -> 'steps') e (step)
            cross join lateral (select jsonb_path_query_first(e.step, '$.*') as value) m
            left join lateral (select * from scylla.workflow_step_state s where s.scope = run.id and s.step = m.value ->> 'id' limit 1) s on true
            where not exists (select from scylla.workflow_run_state c where c.parent_scope = s.scope and c.parent_step = s.step and c.id in (select id from run))
        ), leaves as (
            select p.status, p.count, p.refs, step.workflow || ':' || step.run as of, step.instance, step.created
            from step
            cross join lateral (
                select step.status, 1::bigint as count,
                       case when step.status = any ('{PAUSED,WAITING_FOR_SIGNALS,EVALUATING_PARAMS,WAITING_FOR_PERMITS,RUNNING,USER_FAILED,PLATFORM_FAILED,TIMEOUT_FAILED,FATALLY_FAILED,INTERNALLY_FAILED}')
                            then jsonb_build_array(step.id || ':' || step.attempt) end as refs
                where step.rollup is null
                union all
                select m.key, (m.value ->> 'cnt')::bigint, m.value -> 'ref' from (select * from jsonb_each(step.rollup) limit 22) m
            ) p
        ), named as (
            select n.status, n.of, jsonb_agg(n.ref order by n.place) as refs, count(*) as count
            from (select l.status, l.of, l.instance || ':' || f.ref as ref,
                         row_number() over (partition by l.status order by l.created desc, f.place, f.ref) as place
                  from leaves l
                  cross join lateral (select * from jsonb_array_elements_text(l.refs) with ordinality f (ref, place) limit 10) f
                  where jsonb_array_length(l.refs) > 0) n
            where n.place <= 10
            group by n.status, n.of
        )
        select coalesce(sum(s.count), 0)::bigint as total_leaf_count, coalesce(jsonb_object_agg(s.status, s.leaves) filter (where s.count > 0), '{}') as overview
        from (select c.status, c.count,
                     jsonb_build_object('cnt', c.count)
                         || case when n.refs is null then '{}' else jsonb_build_object('ref', n.refs) || case when c.count > n.shown then jsonb_build_object('more', c.count - n.shown) else '{}' end end as leaves
              from (select status, sum(count)::bigint as count from leaves group by status) c
              left join (select status, jsonb_object_agg(of, refs) as refs, sum(count)::bigint as shown from named group by status) n using (status)) s
    ) u
    where scylla._may_view(h.owner, h.viewers || h.runners, h.admins);
comment on view scylla.workflow_rollup is
'The number of leaf steps of each instance by status, including those in loops and subworkflows. Reading it takes milliseconds, however many there are.';
comment on column scylla.workflow_rollup.workflow is 'The id of the workflow.';
comment on column scylla.workflow_rollup.instance is 'The number of the instance.';
comment on column scylla.workflow_rollup.run is 'The number of its last run.';
comment on column scylla.workflow_rollup.total_leaf_count is 'Number of leaf steps so far: iterations that have not begun are not counted.';
comment on column scylla.workflow_rollup.overview is
'{status: {"cnt", "ref": {"workflow:run": ["instance:step[iterations]:attempt"]}, "more"}}: ref has up to ten of those that run, wait or have
failed, and more says how many others there are.';

create or replace view scylla.workflow_timeline with (security_barrier) as
    select t.workflow, t.instance, t.run, t.step, t.iterations, t.attempt, t.at, t.type, t.level, t.message
    from (select n.*, row_number() over (partition by n.workflow, n.instance, n.step, n.iterations order by n.at desc, n.place desc, n.attempt desc) as age
          from (select r.workflow, r.instance, e.*,
                       (e.type, e.message, e.attempt, e.run) is distinct from
                           lag((e.type, e.message, e.attempt, e.run)) over (partition by r.workflow, r.instance, e.step, e.iterations order by e.at, e.place, e.attempt) as is_new
                from scylla.workflow_run_state r
                join scylla.workflow_head h on h.id = r.workflow and h.created <= r.created
                cross join lateral (
                    -- the runs
                    select n.run, null::text as step, null::bigint[] as iterations, null::int as attempt, m.at, m.type, m.level, m.message, m.place
                    from (select p.run, p.created, p.started, p.ended, p.status, p.initiator, p.restart, p.error from scylla.workflow_run_past p where p.root = r.id
                          union all select r.run, r.created, r.started, r.ended, r.status, r.initiator, r.restart, r.error) n
                    cross join lateral (values
                        (n.created, 'STATUS', 'INFO',
                         concat_ws(' ', 'CREATED', 'by', coalesce(n.initiator ->> 'user', n.initiator ->> 'type'), n.restart ->> 'policy', n.restart ->> 'step'), 1),
                        (n.started, 'STATUS', 'INFO', 'IN_PROGRESS', 2),
                        (n.ended, 'STATUS', case when n.status in ('FAILED', 'TIMED_OUT') then 'ERROR' else 'INFO' end, n.status, 8),
                        (case when n.error is not null then coalesce(n.ended, n.created) end, 'LOG', 'ERROR', coalesce(n.error ->> 'message', n.error::text), 7)
                    ) m (at, type, level, message, place)
                    where m.at is not null
                    union all
                    -- the attempts of their steps
                    select a.run, s.step, c.numbers, a.attempt, m.at, m.type, m.level, m.message, m.place
                    from (select r.id, null::bigint[] as numbers
                          union all select i.id, i.numbers from scylla.workflow_iteration i where i.root = r.id) c
                    join scylla.workflow_step_state s on s.scope = c.id
                    cross join lateral (
                        select p.run, p.attempt, p.created, p.started, p.ended, p.status, p.error
                        from scylla.workflow_attempt p where p.scope = s.scope and p.step = s.step
                        union all
                        select s.run, s.attempt, s.created, s.started, s.ended, s.status, s.error where s.status <> 'NOT_CREATED'
                    ) a
                    cross join lateral (values
                        (a.created, 'STATUS', 'INFO', 'CREATED', 1),
                        (a.started, 'STATUS', 'INFO', 'STARTING', 2),
                        (case when a.ended is null and a.status not in ('CREATED', 'STARTING') then coalesce(a.started, a.created) end, 'STATUS', 'INFO', a.status, 3),
                        (a.ended, 'STATUS', case when a.status = any ('{USER_FAILED,PLATFORM_FAILED,TIMEOUT_FAILED,FATALLY_FAILED,INTERNALLY_FAILED,TIMED_OUT}') then 'ERROR' else 'INFO' end, a.status, 8),
                        (case when a.error is not null then coalesce(a.ended, a.created) end, 'LOG', 'ERROR', coalesce(a.error ->> 'message', a.error::text), 7)
                    ) m (at, type, level, message, place)
                    where m.at is not null
                    union all
                    -- actions that users have requested on them
                    select a.run, a.step, i.numbers, a.attempt, a.created, 'ACTION', 'INFO', a.kind || ' by ' || a.role || coalesce(': ' || a.outcome, ''), 4
                    from scylla.workflow_action_state a
                    left join scylla.workflow_iteration i on i.id = a.scope
                    where a.root = r.id
                ) e
                where scylla._may_view(h.owner, h.viewers || h.runners, h.admins)) n
          where n.is_new) t
    where t.age <= 32;
comment on view scylla.workflow_timeline is
'The events of instances of workflows: for an instance, and for each of its steps, the 32 newest.';
comment on column scylla.workflow_timeline.workflow is 'The id of the workflow.';
comment on column scylla.workflow_timeline.instance is 'The number of the instance.';
comment on column scylla.workflow_timeline.run is 'The number of the run.';
comment on column scylla.workflow_timeline.step is 'The id of the step; null: the event is of the run.';
comment on column scylla.workflow_timeline.iterations is 'As in scylla.workflow_step.';
comment on column scylla.workflow_timeline.attempt is 'Of the step; null: the event is of the run.';
comment on column scylla.workflow_timeline.at is 'When it happened.';
comment on column scylla.workflow_timeline.type is 'STATUS: a change of status; ACTION: a user has requested an action; LOG: an error.';
comment on column scylla.workflow_timeline.level is 'INFO, or ERROR.';
comment on column scylla.workflow_timeline.message is 'The status, the action with its role and outcome, or the error.';

-- A signal counts as sent by the step that it names if its sender was the owner of that workflow: steps send their signals as that role.
create or replace view scylla.workflow_lineage with (security_barrier) as
    select s.id as seq, s.name as signal, s.params, s.sent, f.workflow as source_workflow, f.instance as source_instance,
           case when f.id is not null and o.source ->> 'run' ~ '^[0-9]{1,9}$' then (o.source ->> 'run')::int end as source_run,
           case when f.id is not null then o.source ->> 'step' end as source_step,
           case when f.id is not null then o.source -> 'iteration' end as source_iterations,
           case when f.id is not null and o.source ->> 'attempt' ~ '^[0-9]{1,9}$' then (o.source ->> 'attempt')::int end as source_attempt,
           t.used_by, t.workflow as target_workflow, t.instance as target_instance, t.step as target_step,
           t.iterations as target_iterations
    from scylla.signal_sent s
    join scylla.signal_name n on n.name = s.name and scylla._may_view(n.owner, n.waiters, n.admins)
    cross join lateral (select case when jsonb_typeof(s.payload -> 'signal_source') = 'object' then s.payload -> 'signal_source' end as source) o
    left join scylla.workflow_run_state f on f.workflow = o.source ->> 'workflow' and f.owner = s.sender
         and f.instance = case when o.source ->> 'instance' ~ '^[0-9]{1,18}$' then (o.source ->> 'instance')::bigint end
    left join lateral (
        select 'trigger' as used_by, r.workflow, r.instance, null::text as step, null::bigint[] as iterations
        from scylla.workflow_run_state r
        join scylla.workflow_head h on h.id = r.workflow and h.created <= r.created
        where r.initiator ? 'signals' and r.initiator @> jsonb_build_object('signals', jsonb_build_object(s.name, jsonb_build_object('seq', s.id)))
          and scylla._may_view(h.owner, h.viewers || h.runners, h.admins)
        union all
        select 'step', r.workflow, r.instance, w.step, i.numbers
        from scylla.workflow_step_state w
        join scylla.workflow_run_state r on r.id = w.root
        join scylla.workflow_head h on h.id = r.workflow and h.created <= r.created
        left join scylla.workflow_iteration i on i.id = w.scope
        where w.signals is not null and w.signals @> jsonb_build_array(jsonb_build_object('seq', s.id))
          and scylla._may_view(h.owner, h.viewers || h.runners, h.admins)
    ) t on true;
comment on view scylla.workflow_lineage is
'Where signals come from and what they have caused: the step that has sent the signal, and each step or instance that has used it, a row for each. Of signals on which the
current user has the privilege wait.';
comment on column scylla.workflow_lineage.seq is 'The number of the signal, as in scylla.signal.';
comment on column scylla.workflow_lineage.signal is 'Its name.';
comment on column scylla.workflow_lineage.params is 'Its parameters.';
comment on column scylla.workflow_lineage.sent is 'When it was sent.';
comment on column scylla.workflow_lineage.source_workflow is 'The workflow whose step sent it; null: something else sent it.';
comment on column scylla.workflow_lineage.source_instance is 'The number of the instance.';
comment on column scylla.workflow_lineage.source_run is 'The number of the run.';
comment on column scylla.workflow_lineage.source_step is 'The id of the step.';
comment on column scylla.workflow_lineage.source_iterations is 'The numbers of the iterations that the step is in, an array; null: it is in no loop.';
comment on column scylla.workflow_lineage.source_attempt is 'The number of the attempt.';
comment on column scylla.workflow_lineage.used_by is
    'trigger: a signal trigger has started the instance; step: a step has waited for it; null: it was not used, or only by workflows that the current user may not view.';
comment on column scylla.workflow_lineage.target_workflow is 'The workflow that has used it.';
comment on column scylla.workflow_lineage.target_instance is 'The number of the instance.';
comment on column scylla.workflow_lineage.target_step is 'The id of the step; null: the instance was started by it.';
comment on column scylla.workflow_lineage.target_iterations is 'As in scylla.workflow_step, of the step that has waited for it.';
