-- Plans: rows of scylla.task_plan. A plan that is held is locked to the end of the transaction.

-- type maker char sql::plan_maker PlanMaker store/plan/types.h

-- add(name text, spec jsonb?, owner name, maker maker?) -> opt (id int8)
-- Returns nullopt if the name is taken.
insert into scylla.task_plan (name, spec, owner, maker)
values (:name, :spec, :owner, :maker)
on conflict (name) do nothing
returning id;

-- struct Plan (id int8, created timestamptz, opened timestamptz?, finished timestamptz?, cancelled bool, failed bool,
--     owner name, name text, maker maker?)

-- share(name text) -> opt Plan
-- For adding tasks, by many at the same time. Waits for a transaction that is changing it.
select id, created, opened, finished, cancelled, failed, owner, name, maker
from scylla.task_plan
where name = :name
for share;

-- hold(name text) -> opt Plan
-- For changing it.
select id, created, opened, finished, cancelled, failed, owner, name, maker
from scylla.task_plan
where name = :name
for no key update;

-- open(id int8, now timestamptz)
update scylla.task_plan set opened = :now where id = :id;

-- cancel(id int8, now timestamptz)
update scylla.task_plan set cancelled = true, failed = false, finished = :now where id = :id;

-- set_owner(id int8, owner text)
update scylla.task_plan set owner = :owner::name where id = :id;

-- struct Toll (aborted bool, cancelled bool)
-- The effect of ended tasks on their plan: aborted tasks make it failed; cancelled tasks, except skipped ones, make it
-- cancelled unless it has failed.

-- @finished(now, aborted, cancelled)
update scylla.task_plan p
set finished = :now, failed = p.failed or :aborted, cancelled = (p.cancelled or :cancelled) and not (p.failed or :aborted)

-- finish(id int8, toll Toll, now timestamptz) -> count
-- Marks a plan as finished, without waiting. Returns 0 if another transaction is changing it or adding tasks.
@finished(:now, :toll.aborted, :toll.cancelled)
from (select id from scylla.task_plan where id = :id and finished is null for no key update skip locked) held
where p.id = held.id;

-- finish_of_run(id int8, toll Toll, now timestamptz) -> count
-- The same, but waits for these: nobody else finishes the plan of a run. The engine has a lock_timeout for that.
@finished(:now, :toll.aborted, :toll.cancelled)
from (select id from scylla.task_plan where id = :id and finished is null for no key update) held
where p.id = held.id;

-- charge(id int8, toll Toll)
-- For tasks that are removed before their plan is finished. Waits for transactions that are changing it or adding tasks.
update scylla.task_plan
set failed = failed or :toll.aborted, cancelled = cancelled or :toll.cancelled
where id = :id and finished is null;

-- remove(id int8) -> count
-- Without waiting: returns 0 if another transaction has locked it.
delete from scylla.task_plan p
using (select id from scylla.task_plan where id = :id for update skip locked) held
where p.id = held.id;

-- is_live(name text) -> one (live bool)
select exists (select from scylla.task_plan where name = :name and finished is null) as live;

-- spec_of(id int8) -> opt (spec jsonb?)
select spec from scylla.task_plan where id = :id;
