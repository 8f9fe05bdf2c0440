-- Breakpoints, and what is paused: rows of scylla.workflow_hold.

-- struct Hold (
--     workflow text,
--     kind cstring, -- breakpoint, pause (of a step), workflow
--     step text, -- empty: all
--     version int4, -- 0: all, as instance and run
--     instance int8,
--     run int4,
--     iterations int8[])

-- put(hold Hold, author name)
-- An existing row gets this author and time. Also removes rows of instances that do not exist any more.
with gone as (
    delete from scylla.workflow_hold h
    where h.workflow = :hold.workflow and h.instance <> 0
      and not exists (
          select from scylla.workflow_run_state r where r.workflow = h.workflow and r.instance = h.instance)
)
insert into scylla.workflow_hold (workflow, kind, step, version, instance, run, iterations, author)
values (:hold.workflow, :hold.kind, :hold.step, :hold.version, :hold.instance, :hold.run, :hold.iterations, :author)
on conflict on constraint workflow_hold_pkey do update set created = excluded.created, author = excluded.author;

-- remove(hold Hold) -> count
delete from scylla.workflow_hold
where workflow = :hold.workflow and kind = :hold.kind and step = :hold.step and version = :hold.version
  and instance = :hold.instance and run = :hold.run and iterations = :hold.iterations;

-- of_runs(roots int8[]) -> many RunHold (root int8, step view, iterations int8[])
select r.id as root, h.step, h.iterations
from scylla.workflow_run_state r
join scylla.workflow_hold h
  on h.workflow = r.workflow and h.version = any (array[0, r.version]) and h.instance = any (array[0, r.instance])
     and h.run = any (array[0, r.run])
where r.id = any (:roots)
order by r.id;

-- held_steps(root int8, step text?, iterations jsonb?, after int8, scopes int8) -> many HeldStep (scope int8, step text,
--     attempt int4)
-- Steps of a run that are held back: by the pause of the workflow (step null), or PAUSED ones of a given step, in all
-- iterations or in the named ones. Those of the first `scopes` scopes behind `after`.
with recursive scope as (
    select :root as id, '{}'::int8[] as numbers
    union all
    select i.id, i.numbers
    from scope s
    join scylla.workflow_iteration i on i.parent = s.id
    where i.ended is null and not i.past
), held as (
    select s.scope, s.step, s.attempt
    from scope c
    join scylla.workflow_step_state s on s.scope = c.id
    where c.id > :after
      and case
          when :step is null then s.status = any ('{INITIALIZED,WAITING_FOR_SIGNALS}')
          else s.status = 'PAUSED' and s.step = :step
               and (:iterations is null
                    or c.numbers = array(select e::int8 from jsonb_array_elements_text(:iterations) e))
      end
)
select scope, step, attempt
from held
where scope = any (array(select distinct scope from held order by scope limit :scopes))
order by scope;
