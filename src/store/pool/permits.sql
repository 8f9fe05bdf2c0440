-- Pools of permits that belong to workflows: rows of the same tables. Their capacity has one resource: permits.

-- set(pool text, count int8) -> many (id int8)
-- Returns the pool if its number has changed.
update scylla.resource_pool
set capacity = jsonb_build_object('permits', :count), version = version + 1
where name = :pool and capacity <> jsonb_build_object('permits', :count)
returning id;

-- create(pool text, count int8, owner name, max_bypass int4)
insert into scylla.resource_pool (name, capacity, policy, max_bypass, owner)
values (:pool, jsonb_build_object('permits', :count), 'backfill', :max_bypass, :owner)
on conflict (name) do nothing;

-- remove(pool text)
-- Removes the pool, unless another transaction is changing or using it.
with pool as (
    select id from scylla.resource_pool where name = :pool for update skip locked
), head as (
    delete from scylla.pool_head h using pool p where h.pool = p.id
), report as (
    delete from scylla.pool_report r using pool p where r.pool = p.id
), changes as (
    delete from scylla.pool_change c using pool p where c.pool = p.id
)
delete from scylla.resource_pool r using pool p where r.id = p.id;

-- find(names text[], unbounded int8, prefix text) -> many Pool (id int8, name text, owner name, users text[]?,
--     admins text[]?)
-- Those with these names that have a bound. The pool of a tag, without this prefix, may have `unbounded` as its bound.
select id, name, owner, users, admins
from scylla.resource_pool
where name = any (:names)
  and not (capacity = jsonb_build_object('permits', :unbounded) and starts_with(name, :prefix));
