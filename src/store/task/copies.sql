-- Which task was resubmitted as which: rows of scylla.task_copy.

-- mark(originals int8[]) -> many (original int8)
-- Marks tasks as resubmitted. Returns those that were not, in the order given: by id, so that two calls cannot wait for
-- each other in a circle. Waits for transactions that are marking the same.
insert into scylla.task_copy (original)
select id
from unnest(:originals) with ordinality as t (id, n)
order by n
on conflict (original) do nothing
returning original;

-- struct Copy (original int8, copy int8)

-- name(copies Copy[])
update scylla.task_copy c set copy = copies.copy from :copies where c.original = copies.original;

-- is_there(original int8) -> one (found bool)
-- Whether a task was resubmitted, also by this transaction.
select exists (select from scylla.task_copy where original = :original) as found;

-- newest(original int8) -> opt (id int8)
-- The last of the copies of copies. A copy is younger than its original, unless the original's deduplication key was
-- taken by another original; so the chain ends where it would go round.
with recursive chain (id, n) as (
    select copy, 1 from scylla.task_copy where original = :original and copy is not null
    union all
    select c.copy, n + 1
    from chain
    join scylla.task_copy c on c.original = chain.id
    where c.copy is not null
) cycle id set is_cycle using path
select id from chain where not is_cycle order by n desc limit 1;

-- forget(after int8, most int8) -> one Portion (last int8?0, seen int8, gone int8)
-- Removes rows of tasks with larger ids that are gone, of so many that it looks at.
with seen as materialized (
    select original from scylla.task_copy where original > :after order by original limit :most
), gone as (
    delete from scylla.task_copy
    where original = any (array(
        select original
        from seen
        where not exists (select from scylla.task_spec s where s.id = seen.original)))
    returning 1
)
select (select max(original) from seen) as last, (select count(*) from seen) as seen,
       (select count(*) from gone) as gone;
