-- Runs of jobs: rows of scylla.job_run and scylla.job_chunk.

-- find_request(job int8, request_id text) -> opt (plan text)
-- The name of the plan of an earlier request.
select p.name as plan
from scylla.job_run r
join scylla.task_plan p on p.id = r.plan
where r.job = :job and r.request_id = :request_id;

-- find_live(job int8) -> opt (plan text)
-- The name of the plan of a run that has not finished.
select p.name as plan
from scylla.job_run r
join scylla.task_plan p on p.id = r.plan
where r.job = :job and p.finished is null
limit 1;

-- add(plan int8, job int8, name text, variant text, ids int8multirange, args jsonb, options jsonb, request_id text?,
--     created timestamptz, rerun_of int8?) -> count
-- Returns 0 if another transaction has committed the same request meanwhile.
insert into scylla.job_run (plan, job, name, variant, ids, args, options, request_id, created, rerun_of)
values (:plan, :job, :name, :variant, :ids, :args, :options, :request_id, :created, :rerun_of)
on conflict (job, request_id) where request_id is not null do nothing;

-- struct Chunk (rn text, job int8, ids int8multirange)

-- add_chunks(plan int8, variant text, chunks Chunk[])
-- Stores the ids of each task.
insert into scylla.job_chunk (task, plan, job, variant, ids)
select s.id, :plan, chunks.job, :variant, chunks.ids
from :chunks
join scylla.task_spec s on s.rn = chunks.rn;

-- add_copies(plan int8, copy text)
-- The copies are for the ids of their originals, so their completion makes these fresh. The new run has the age of the
-- run that it continues: what was fresh then was not run by either.
with made as (
    select id from scylla.task_plan where name = :copy
), run as (
    insert into scylla.job_run (plan, job, name, variant, ids, args, options, created, rerun_of)
    select m.id, r.job, r.name, r.variant, r.ids, r.args, r.options, r.created, r.plan
    from scylla.job_run r
    cross join made m
    where r.plan = :plan
)
insert into scylla.job_chunk (task, plan, job, variant, ids)
select y.copy, m.id, c.job, c.variant, c.ids
from made m
join scylla.task_gate g on g.provider = m.id
join scylla.task_copy y on y.copy = g.task
join scylla.job_chunk c on c.task = y.original;

-- request_of(plan int8) -> opt Request (name text, ids int8multirange, args jsonb, options jsonb)
select name, ids, args, options from scylla.job_run where plan = :plan;

-- live(jobs int8[], variant text, ids int8multirange) -> many LiveTask (job int8, queue int4, rn text, plan text,
--     ids int8multirange, leased timestamptz?)
-- Live tasks of these jobs, for some of these ids, of plans that have not finished.
select c.job, s.queue, s.rn, p.name as plan, c.ids, l.leased
from scylla.job_run r
join scylla.task_plan p on p.id = r.plan
join scylla.job_chunk c on c.plan = r.plan
join scylla.task_spec s on s.id = c.task
left join scylla.task_lease l on l.id = c.task
where p.finished is null and c.job = any (:jobs) and c.variant = :variant and c.ids && :ids
  and not exists (select from scylla.task_outcome o where o.id = c.task)
order by c.task;

-- remove(plan int8) -> many Variant (job int8, variant text)
-- Removes the run of a plan, with its chunks. Returns the variants of jobs that they were of.
with chunk as (
    delete from scylla.job_chunk where plan = :plan
    returning job, variant
), run as (
    delete from scylla.job_run where plan = :plan
), orphan as ( -- successes of tasks that were completed after their job had been dropped
    delete from scylla.job_success s
    using (select distinct job from chunk) c
    where s.job = c.job and not exists (select from scylla.job_definition d where d.id = c.job)
)
select distinct job, variant from chunk;
