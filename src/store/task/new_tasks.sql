-- Inserts that must not fail if the row exists. They are on the way of each submit that needs them, so the path is not
-- pinned for them.

-- struct Spec = SpecRow store/rows.h (
--     id int8, created timestamptz, queue int4, priority int2, rn text, spec jsonb, not_before timestamptz?,
--     max_attempts int4?, gates int4?, plan int8?, retry jsonb?, dedup_key text?, key text?, needs jsonb?, runtime int8?,
--     run_timeout int8?)

-- add_specs(specs Spec[]) -> many (id int8) !hot
-- Inserts those whose rn is free, in the order of their names, so that two calls cannot deadlock. Returns their ids; of
-- rows with the same rn, the one with the smallest id is inserted.
insert into scylla.task_spec (id, created, queue, priority, rn, spec, not_before, max_attempts, gates, plan, retry,
                              dedup_key, key, needs, runtime, run_timeout)
select id, created, queue, priority, rn, spec, not_before, max_attempts, gates, plan, retry, dedup_key, key, needs,
       runtime, run_timeout
from :specs
order by rn collate pg_catalog."C", id
on conflict (rn) do nothing
returning id;

-- struct Key = SpecRow store/rows.h (queue int4, id int8, dedup_key text, key_until timestamptz?)

-- add_dedup_keys(keys Key[]) -> many (id int8) !hot
-- The same for their deduplication keys.
insert into scylla.task_dedup (queue, id, key, until)
select queue, id, dedup_key, key_until
from :keys
order by queue, dedup_key collate pg_catalog."C", id
on conflict (queue, key) do nothing
returning id;
