-- Definitions of job types: rows of scylla.job_definition.

-- hold(job text) -> opt Held (id int8, owner name)
-- Locks the definition.
select id, owner from scylla.job_definition where name = :job for no key update;

-- lock(id int8)
select from scylla.job_definition where id = :id for no key update;

-- add(job text, queue text, settings jsonb, needs jsonb, owner name)
insert into scylla.job_definition (name, queue, settings, needs, owner)
values (:job, :queue, :settings, :needs, :owner);

-- change(job text, queue text, settings jsonb, needs jsonb)
update scylla.job_definition
set queue = :queue, settings = :settings, needs = :needs, changed = clock_timestamp()
where name = :job;

-- find_dependant(job text) -> opt (name text)
-- Another job that needs this one.
select d.name
from scylla.job_definition d
where d.name <> :job and d.needs @> jsonb_build_array(jsonb_build_object('job', :job))
limit 1;

-- remove(id int8)
with success as (
    delete from scylla.job_success where job = :id
)
delete from scylla.job_definition where id = :id;

-- grant_run(id int8, role text)
update scylla.job_definition set runners = array_append(array_remove(runners, :role), :role) where id = :id;

-- revoke_run(id int8, role text)
update scylla.job_definition set runners = nullif(array_remove(runners, :role), '{}') where id = :id;

-- closure(job text, variant text) -> many Closure (id int8, name text, owner name, queue text, settings jsonb,
--     needs jsonb, runners text[]?, last_plan timestamptz?)
-- The job, and all that it needs, directly or not: itself first. last_plan: when the last completed run began.
with recursive closure (name) as (
    select :job
    union
    select n.value ->> 'job'
    from closure c
    join scylla.job_definition d on d.name = c.name
    cross join lateral jsonb_array_elements(d.needs) n
)
select d.id, d.name, d.owner, d.queue, d.settings, d.needs, d.runners,
       (select r.created
        from scylla.job_run r
        join scylla.task_plan p on p.id = r.plan
        where r.job = d.id and r.variant = :variant and p.finished is not null and not p.cancelled and not p.failed
        order by r.created desc
        limit 1) as last_plan
from closure c
join scylla.job_definition d on d.name = c.name
order by d.name <> :job, d.name;
