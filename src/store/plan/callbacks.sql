-- Callbacks: rows of scylla.task_callback. How one ended is a row of scylla.task_condition_end.

-- struct Callback (id int8, expires timestamptz?)

-- create(token text, expires timestamptz?, owner name) -> count
-- Returns 0 if the token is taken.
insert into scylla.task_callback (token, expires, owner) values (:token, :expires, :owner) on conflict (token) do nothing;

-- share(token text) -> opt Callback
-- Keeps others from removing it until the end of the transaction.
select id, expires from scylla.task_callback where token = :token for key share;

-- hold(token text) -> opt Callback
-- Keeps others from ending it, too.
select id, expires from scylla.task_callback where token = :token for no key update;

-- is_there(id int8) -> one (found bool)
select exists (select from scylla.task_callback where id = :id) as found;

-- find(id int8) -> opt Description (owner name, token cstring, expires timestamptz?)
select owner, token, expires from scylla.task_callback where id = :id;

-- open() -> many (id int8)
-- Those that have neither ended nor expired.
select id
from scylla.task_callback c
where (expires is null or expires > clock_timestamp())
  and not exists (select from scylla.task_condition_end e where e.id = c.id);

-- behind(id int8, before timestamptz, most int8) -> many Seen (id int8, is_old bool, is_young bool)
-- is_old: it ended or expired before that time. is_young: it was created since, and so were those behind it.
select c.id, coalesce(coalesce(e.ended, c.expires) < :before, false) as is_old, c.created >= :before as is_young
from scylla.task_callback c
left join scylla.task_condition_end e on e.id = c.id
where c.id > :id
order by c.id
limit :most;

-- remove(id int8)
-- Unless another transaction has locked it.
delete from scylla.task_callback c
using (select id from scylla.task_callback where id = :id for update skip locked) held
where c.id = held.id;
