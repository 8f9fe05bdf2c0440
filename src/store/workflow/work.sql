-- What steps have begun and the engine takes away: subworkflows, and what is inside of loops.

-- children(scope int8, step view) -> many Child (
--     id int8,
--     attempt int4!, -- of the step
--     is_live bool,
--     is_told bool, -- that it must stop, and it could not yet
--     stopped bool)
-- The runs that a step has started.
select r.id, r.parent_attempt as attempt, r.ended is null as is_live,
       exists (
           select from scylla.workflow_agenda a where a.root = r.id and a.due is not null and a.kind = 'stop') as is_told,
       r.status = 'STOPPED' as stopped
from scylla.workflow_run_state r
where r.parent_scope = :scope and r.parent_step = :step;

-- has_live_iterations(scope int8, loop view, but int8[]) -> one (found bool)
select exists (
    select
    from scylla.workflow_iteration
    where parent = :scope and step = :loop and ended is null and not past and id <> all (:but)) as found;

-- live_iterations(scope int8, loop view) -> many LiveIteration (id int8, parent int8, loop view)
-- Those inside of a loop, at any depth, the inner ones first.
with recursive inside as (
    select id, parent, step, 1 as depth
    from scylla.workflow_iteration
    where parent = :scope and step = :loop and ended is null and not past
    union all
    select i.id, i.parent, i.step, inside.depth + 1
    from scylla.workflow_iteration i
    join inside on i.parent = any (array[inside.id])
    where i.ended is null and not i.past
)
select id, parent, step as loop from inside order by depth desc, id;

-- live_steps(scopes int8[]) -> many LiveStep (
--     scope int8,
--     step view,
--     attempt int4,
--     task int8?0, -- that it has begun
--     has_children bool,
--     finishing bool)
-- Those that have not ended or wait for the next attempt, in the order of their scopes.
select s.scope, s.step, s.attempt,
       case when s.status = any ('{RUNNING,WAITING_FOR_PERMITS}') then s.task end as task,
       exists (
           select
           from scylla.workflow_run_state r
           where r.parent_scope = s.scope and r.parent_step = s.step) as has_children,
       s.status = 'FINISHING' as finishing
from scylla.workflow_step_state s
where s.scope = any (:scopes)
  and (s.ended is null or s.status = any ('{USER_FAILED,PLATFORM_FAILED,TIMEOUT_FAILED}'))
order by s.scope;

-- struct Step (scope int8, step view)

-- stop_steps(steps Step[], now timestamptz, position int8?0)
-- position: of the events; 0: none are recorded.
with c as materialized (
    select * from :steps
), event as (
    @step_events(:position, :now, 'STOPPED')
    join c on s.scope = any (array[c.scope]) and s.step = c.step
    where :position is not null
)
update scylla.workflow_step_state s
set status = 'STOPPED', ended = :now, due = null, rollup = scylla._settled(s.rollup, 'STOPPED')
from c
where s.scope = any (array[c.scope]) and s.step = c.step;

-- stop_iterations(ids int8[], now timestamptz)
update scylla.workflow_iteration set status = 'STOPPED', ended = :now where id = any (:ids);

-- struct Loop (scope int8, step view)

-- loops_around(scope int8, loop text) -> many Loop
-- The loop and those around it, the inner one first.
with recursive around as (
    select :scope as scope, :loop collate "C" as step, 1 as depth
    union all
    select i.parent, i.step, around.depth + 1
    from scylla.workflow_iteration i
    join around on i.id = any (array[around.scope])
    where i.step is not null
)
select scope, step from around order by depth;

-- recount(scope int8, loop view)
-- The rollup of a loop, from what is directly inside of it.
update scylla.workflow_step_state s
set rollup = (
    select jsonb_object_agg(c.status, case
               when (s.rollup -> c.status ->> 'cnt')::int8 = c.count then s.rollup -> c.status
               else jsonb_build_object('cnt', c.count)
           end)
    from (
        select p.status, sum(p.count) as count
        from scylla.workflow_iteration i
        join scylla.workflow_step_state l on l.scope = i.id
        cross join lateral (
            select l.status, 1 as count
            where l.rollup is null
            union all
            select m.key, (m.value ->> 'cnt')::int8
            from jsonb_each(l.rollup) m) p
        where i.parent = :scope and i.step = :loop and not i.past
        group by p.status) c)
where s.scope = :scope and s.step = :loop;
