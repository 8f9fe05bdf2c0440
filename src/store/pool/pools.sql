-- Pools: rows of scylla.resource_pool, scylla.pool_head and scylla.pool_report.

-- words policy model::Policy model::k_policies model/placement.h

-- struct Pool (
--     id int8,
--     name text,
--     policy policy,
--     max_bypass int4,
--     drained bool,
--     metrics_max_age interval?,
--     reported_at timestamptz?,
--     capacity jsonb,
--     reported jsonb?, -- null: never
--     owner name,
--     users text[]?,
--     reporters text[]?,
--     admins text[]?,
--     head int8, -- the task that was overtaken, and how often; see pool_head
--     passed int8,
--     version int4) -- how often the capacity has been changed

-- @pools()
-- With limits, so that no query plan reads the heads or reports of all pools to find those of one.
select p.id, p.name, p.policy, p.max_bypass, p.drained, p.metrics_max_age, r.at as reported_at, p.capacity,
       r.used as reported, p.owner, p.users, p.reporters, p.admins, coalesce(h.task, 0) as head,
       coalesce(h.passed, 0) as passed, p.version
from scylla.resource_pool p
left join lateral (select k.task, k.passed from scylla.pool_head k where k.pool = p.id limit 1) h on true
left join lateral (
    select u.at, u.used
    from scylla.pool_report u
    where u.pool = p.id
    order by u.at desc
    limit 1) r on true

-- find(name text) -> opt Pool !latest !reads !indexes
@pools()
where p.name = :name;

-- all() -> many Pool !latest !reads
@pools()
order by p.id;

-- by_ids(ids int8[]) -> many Pool !latest !reads !indexes
-- In the order of their ids.
@pools()
where p.id = any (:ids)
order by p.id;

-- by_names(names text[]) -> many Pool !latest !reads !indexes
@pools()
where p.name = any (:names);

-- numbers() -> many Numbers (pool text, resource text, capacity float8, reserved float8, free float8, waiting int8,
--     placed int8, open bool) !latest !reads
-- A resource of a pool, as in the view scylla.stat_pool.
select p.pool, c.key as resource, c.value::float8 as capacity, (p.reserved ->> c.key)::float8 as reserved,
       (p.free ->> c.key)::float8 as free, p.waiting, p.placed, not (p.drained or p.stale) as open
from scylla._pool p
cross join lateral jsonb_each_text(p.capacity) c
order by p.pool collate "C", c.key collate "C";

-- create(name text, capacity jsonb, policy policy, max_bypass int4, metrics_max_age interval?, owner name) -> count
-- Returns 0 if there is one of that name.
insert into scylla.resource_pool (name, capacity, policy, max_bypass, metrics_max_age, owner)
values (:name, :capacity, :policy, :max_bypass, :metrics_max_age, :owner)
on conflict (name) do nothing;

-- create_head(pool text)
insert into scylla.pool_head (pool, task, passed)
select id, 0, 0
from scylla.resource_pool
where name = :pool
on conflict (pool) do nothing;

-- alter(id int8, capacity jsonb?, policy policy?, max_bypass int4?, changes_max_age bool, metrics_max_age interval?)
update scylla.resource_pool
set capacity = coalesce(:capacity, capacity),
    version = version + case when :capacity is null then 0 else 1 end,
    policy = coalesce(:policy, policy),
    max_bypass = coalesce(:max_bypass, max_bypass),
    metrics_max_age = case when :changes_max_age then :metrics_max_age else metrics_max_age end
where id = :id;

-- note_change(pool text, author name)
-- Records the settings, unless they are as before, and forgets all but the last 1,000 of the pool.
with now as (
    select p.id,
           jsonb_build_object('capacity', p.capacity, 'policy', p.policy, 'max_bypass', p.max_bypass, 'metrics_max_age',
                              p.metrics_max_age, 'drained', p.drained) as settings
    from scylla.resource_pool p
    where p.name = :pool
), old as (
    delete from scylla.pool_change c
    using now
    where c.pool = now.id and c.id <= (select o.id
                                       from scylla.pool_change o
                                       where o.pool = now.id
                                       order by o.id desc
                                       limit 1
                                       offset 999)
)
insert into scylla.pool_change (pool, author, settings)
select now.id, :author, now.settings
from now
where now.settings is distinct from (select c.settings
                                     from scylla.pool_change c
                                     where c.pool = now.id
                                     order by c.id desc
                                     limit 1);

-- set_drained(id int8, drained bool)
update scylla.resource_pool set drained = :drained where id = :id;

-- report(id int8, used jsonb, at timestamptz)
-- Removes older reports that no transaction has locked.
with older as (
    delete from scylla.pool_report r
    using (select ctid from scylla.pool_report where pool = :id and at < :at for update skip locked) old
    where r.ctid = old.ctid
)
insert into scylla.pool_report (pool, at, used) values (:id, :at, :used);

-- remove(id int8) -> count
with head as (
    delete from scylla.pool_head where pool = :id
), reports as (
    delete from scylla.pool_report where pool = :id
), changes as (
    delete from scylla.pool_change where pool = :id
)
delete from scylla.resource_pool where id = :id;

-- lock(id int8) -> count
-- Keeps others from removing the pool until the end of the transaction. Returns 0 if it is gone.
select 1 from scylla.resource_pool where id = :id for key share;

-- grant_to(id int8, privilege text, role text)
update scylla.resource_pool
set users = @granted(users, 'use', :privilege, :role),
    reporters = @granted(reporters, 'report', :privilege, :role),
    admins = @granted(admins, 'admin', :privilege, :role)
where id = :id;

-- revoke_from(id int8, privilege text, role text)
update scylla.resource_pool
set users = @revoked(users, 'use', :privilege, :role),
    reporters = @revoked(reporters, 'report', :privilege, :role),
    admins = @revoked(admins, 'admin', :privilege, :role)
where id = :id;

-- note_passed(pool int8, task int8, passed int8)
-- Without waiting: if another transaction is changing the row, the number stays.
update scylla.pool_head h
set task = :task, passed = :passed
from (select pool from scylla.pool_head where pool = :pool for update skip locked) held
where h.pool = held.pool;
