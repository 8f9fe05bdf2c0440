-- Events of workflows: rows of scylla.workflow_event.

-- struct NewEvent = NewWorkflowEvent store/workflow/types.h (workflow text, owner name, kind view, instance int8?0, run int4?0,
--     version int4?0, step view?, iterations view?, attempt int4?0, old_status view?, status view?)

-- add(position int8, now timestamptz, events NewEvent[])
insert into scylla.workflow_event
       (position, "time", workflow, owner, kind, instance, run, version, step, iterations, attempt, old_status, status)
select :position, :now, events.workflow, events.owner, events.kind, events.instance, events.run, events.version,
       events.step, events.iterations::int8[], events.attempt, events.old_status, events.status
from :events;

-- read(position int8, id int8, last int8, most int8) -> many Event (
--     owner name, -- of the workflow, as those who may see it
--     runners text[]?,
--     viewers text[]?,
--     admins text[]?,
--     position int8,
--     id int8,
--     time timestamptz,
--     workflow text,
--     kind text,
--     instance int8?,
--     run int4?,
--     step text?,
--     iterations int8[]?,
--     attempt int4?,
--     old_status text?,
--     status text?,
--     version int4?)
-- Behind that position and id, up to the position `last`.
select coalesce(h.owner, e.owner) as owner, h.runners, h.viewers, h.admins, e.position, e.id, e."time", e.workflow,
       e.kind, e.instance, e.run, e.step, e.iterations, e.attempt, e.old_status, e.status, e.version
from (
    select *
    from scylla.workflow_event
    where row(position, id) > row(:position, :id) and position <= :last
    order by position, id
    limit :most) e
left join scylla.workflow_head h on h.id = e.workflow and h.created <= e."time"
order by e.position, e.id;

-- remove_old(before timestamptz, most int8) -> count
-- Positions rise with time, so the oldest come first.
delete from scylla.workflow_event e
using (select position, id, "time" from scylla.workflow_event order by position, id limit :most) oldest
where e.position = oldest.position and e.id = oldest.id and oldest."time" <= :before;
