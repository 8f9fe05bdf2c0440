-- Queues that have been dropped with tasks: rows of scylla.queue_dropped.

-- add(queue int4, name text)
insert into scylla.queue_dropped (id, name) values (:queue, :name);

-- is_there(queue int4) -> one (found bool)
select exists (select from scylla.queue_dropped where id = :queue) as found;

-- behind(queue int4, most int8) -> many (id int4)
select id from scylla.queue_dropped where id > :queue order by id limit :most;

-- forget(queues int4[]) -> count
-- Returns 0 if no task has got an id yet: a restore has brought these queues, and will bring their tasks.
delete from scylla.queue_dropped where id = any (:queues) and (select is_called from scylla.task_id_seq);
