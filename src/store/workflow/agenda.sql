-- What has happened to runs, and the engine has not acted on yet: rows of scylla.workflow_agenda. The engine takes them
-- with turn_reads.sql.

-- line_of(root int8) -> one (line int4)
select @line_of(:root) as line;

-- add(root int8, line int4, kind cstring, scope int8?0, step text?, attempt int4, data jsonb?, slow bool)
insert into scylla.workflow_agenda (root, line, kind, scope, step, attempt, data, slow)
values (:root, :line, :kind, :scope, :step, :attempt, :data, :slow);

-- add_next(runs int8[])
-- These runs may begin.
insert into scylla.workflow_agenda (root, line, kind)
select r.id, hashname(r.owner), 'next'
from unnest(:runs) with ordinality n (id, place)
join scylla.workflow_run_state r on r.id = any (array[n.id])
order by n.place;

-- add_ended(root int8, line int4, tasks int8[])
-- Tasks of one run have ended.
insert into scylla.workflow_agenda (root, line, task, kind)
select :root, :line, t.id, 'task'
from unnest(:tasks) t (id);

-- struct Permitted (task int8, plan int8)

-- add_permitted(tasks Permitted[])
-- Tasks have the permits that their steps wait for.
insert into scylla.workflow_agenda (root, line, task, kind)
select tasks.plan, @line_of(tasks.plan), tasks.task, 'permitted'
from :tasks;

-- add_released(workflow text, step text, version int4, instance int8, run int4)
-- Steps that have stopped at a breakpoint continue. version, instance, run: 0: of all.
insert into scylla.workflow_agenda (root, line, kind, step)
select r.id, @line_of(r.id), 'released', :step
from scylla.workflow_run_state r
where r.workflow = :workflow and r.ended is null and :version = any (array[0, r.version])
  and :instance = any (array[0, r.instance]) and :run = any (array[0, r.run]);

-- add_unpaused(workflow text)
-- All live runs of the workflow check again.
insert into scylla.workflow_agenda (root, line, kind)
select r.id, @line_of(r.id), 'unpaused'
from scylla.workflow_run_state r
where workflow = :workflow and ended is null
order by late, instance, run;

-- put_back(root int8, line int4, kind cstring, scope int8?0, step view?, attempt int4, action int8?0, data view?, due timestamptz,
--     tries int4)
insert into scylla.workflow_agenda (root, line, kind, scope, step, attempt, action, data, due, tries)
values (:root, :line, :kind, :scope, :step, :attempt, :action, :data::jsonb, :due, :tries);

-- has_rows_of(plan int8) -> one (found bool)
select exists (
    select
    from scylla.workflow_agenda
    where root = :plan or root = (select p.root from scylla.workflow_plan p where p.plan = :plan)) as found;

-- remove_run(plan int8) -> many (id int8)
-- Removes a run and all that belongs to it. Returns its instance, if it is the latest run of that.
with past as (
    delete from scylla.workflow_run_past where plan = :plan
), run as (
    delete from scylla.workflow_run_state
    where id = coalesce((select root from scylla.workflow_plan where plan = :plan), :plan) and plan = :plan
    returning id, permits, workflow, instance
), pool as (
    select p.id
    from scylla.resource_pool p
    join run r on p.name = r.permits collate "default" and p.name = concat('workflow:', r.workflow, '/', r.instance)
    for update of p skip locked
), head as (
    delete from scylla.pool_head h using pool p where h.pool = p.id
), changes as (
    delete from scylla.pool_change c using pool p where c.pool = p.id
), gone as (
    delete from scylla.resource_pool r using pool p where r.id = p.id
), held as (
    delete from scylla.workflow_hold
    where ctid = any (array(
        select h.ctid
        from run r
        join scylla.workflow_hold h on h.workflow = r.workflow and h.instance = r.instance
        for update of h skip locked))
), plan as (
    delete from scylla.workflow_plan p using run r where p.root = r.id
), agenda as (
    delete from scylla.workflow_agenda a using run r where a.root = r.id or a.root = :plan
), action as (
    delete from scylla.workflow_action_state a using run r where a.root = r.id
), iteration as (
    delete from scylla.workflow_iteration i using run r where i.root = r.id
    returning i.id
), scope as (
    select id from iteration union all select id from run
), attempt as (
    delete from scylla.workflow_attempt a using scope s where a.scope = s.id
), step as (
    delete from scylla.workflow_step_state a using scope s where a.scope = s.id
)
select id from run;
