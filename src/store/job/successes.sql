-- What tasks of jobs have brought up to date: rows of scylla.job_success. A success has the id of its task, which saves a
-- call of the sequence.

-- add_completed_one(task int8, began timestamptz)
-- A statement of its own because it is the usual case, and a query plan without arrays takes half the time.
insert into scylla.job_success (id, job, variant, ids, began)
select :task, job, variant, ids, :began
from scylla.job_chunk
where task = :task;

-- struct Completed (task int8, began timestamptz)

-- add_completed(ended Completed[])
insert into scylla.job_success (id, job, variant, ids, began)
select c.task, c.job, c.variant, c.ids, ended.began
from :ended
join scylla.job_chunk c on c.task = ended.task;

-- of(job int8, variant text) -> many Success (id int8, ids int8multirange, began timestamptz)
select id, ids, began from scylla.job_success where job = :job and variant = :variant;

-- add(job int8, variant text, ids int8multirange, began timestamptz)
insert into scylla.job_success (job, variant, ids, began)
select :job, :variant, :ids, :began
where not isempty(:ids);

-- forget_all(job int8, variant text?) -> count
-- Without a variant: of all.
delete from scylla.job_success where job = :job and (:variant is null or variant = :variant);

-- forget(job int8, variant text?, ids int8multirange) -> one (count int8)
-- Keeps what a success brought up to date besides these ids.
with gone as (
    delete from scylla.job_success
    where job = :job and (:variant is null or variant = :variant) and ids && :ids
    returning job, variant, ids, began
), rest as (
    insert into scylla.job_success (job, variant, ids, began)
    select job, variant, ids - :ids, began
    from gone
    where not ids <@ :ids
)
select count(*) from gone;

-- remove(ids int8[])
-- Skips those that others are changing.
delete from scylla.job_success s
using (select id from scylla.job_success where id = any (:ids) for update skip locked) held
where s.id = held.id;
