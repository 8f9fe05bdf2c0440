-- Sets of signals for which the action of a trigger failed: rows of scylla.signal_trigger_failure.

-- add(trigger int8, seqs int8[], error text, retry_at timestamptz)
insert into scylla.signal_trigger_failure (trigger, seqs, error, retry_at, attempts)
values (:trigger, :seqs, :error, :retry_at, 1);

-- retry_all(trigger int8, now timestamptz)
update scylla.signal_trigger_failure set retry_at = :now where trigger = :trigger;

-- due(now timestamptz, most int8) -> many Failure (id int8, trigger int8, attempts int4, seqs int8[])
-- Locks those that are due: the first of each trigger, the second of each, and so on.
with first as materialized (
    select w.id, row_number() over (partition by w.trigger order by w.retry_at, w.id) as place
    from (
        select f.id, f.trigger, f.retry_at
        from scylla.signal_trigger_failure f
        join scylla.signal_trigger t on t.id = f.trigger and not t.paused
        where f.retry_at <= :now
        order by f.retry_at
        limit 1000) w
)
select f.id, f.trigger, f.attempts, f.seqs
from scylla.signal_trigger_failure f
join scylla.signal_trigger t on t.id = f.trigger and not t.paused
where f.id = any (array(select id from first order by place, id limit :most))
for update of f, t skip locked;

-- again(id int8, error text, retry_at timestamptz)
update scylla.signal_trigger_failure set error = :error, retry_at = :retry_at, attempts = attempts + 1 where id = :id;

-- remove(id int8)
delete from scylla.signal_trigger_failure where id = :id;

-- next_retry() -> one (at timestamptz?)
select min(f.retry_at) as at
from scylla.signal_trigger_failure f
join scylla.signal_trigger t on t.id = f.trigger and not t.paused;
