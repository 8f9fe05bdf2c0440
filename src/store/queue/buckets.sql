-- Buckets of queues with a rate: rows of scylla.queue_rate. With per_key they are of the queue's keys; the empty key is
-- the bucket of the queue, or of tasks without a key.

-- struct Name (queue int4, per_key bool, key text)

-- struct Bucket (arrival int8, step int8, burst int8)

-- lock(of Name, otherwise Bucket) -> one Bucket
-- Locks it to the end of the transaction; creates it as given if there is none.
insert into scylla.queue_rate as r (queue, per_key, key, arrival, step, burst)
values (:of.queue, :of.per_key, :of.key, :otherwise.arrival, :otherwise.step, :otherwise.burst)
on conflict (queue, per_key, key) do update set arrival = r.arrival
returning arrival, step, burst;

-- find(of Name) -> opt Bucket
select arrival, step, burst
from scylla.queue_rate
where queue = :of.queue and per_key = :of.per_key and key = :of.key;

-- put(of Name, bucket Bucket)
insert into scylla.queue_rate (queue, per_key, key, arrival, step, burst)
values (:of.queue, :of.per_key, :of.key, :bucket.arrival, :bucket.step, :bucket.burst)
on conflict (queue, per_key, key) do update
set arrival = excluded.arrival, step = excluded.step, burst = excluded.burst;

-- remove(queue int4, per_key bool)
delete from scylla.queue_rate where queue = :queue and per_key = :per_key;

-- remove_full(queue int4, now int8)
-- Those of keys that are full.
delete from scylla.queue_rate where queue = :queue and per_key and key <> '' and arrival <= :now;
