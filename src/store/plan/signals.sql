-- Signals as they were sent: rows of scylla.signal_sent.

-- struct Signal (id int8, name text, sent timestamptz, params jsonb, payload jsonb?)

-- add(name text, sender name, request_id text?, params jsonb, payload jsonb?) -> opt Added (id int8, sent timestamptz)
-- Returns nullopt if the request_id has been used.
insert into scylla.signal_sent (name, sender, request_id, params, payload)
values (:name, :sender, :request_id, :params, :payload)
on conflict (name, request_id) where request_id is not null do nothing
returning id, sent;

-- find_request(name text, request_id text) -> opt (id int8)
select id from scylla.signal_sent where name = :name and request_id = :request_id;

-- find(id int8) -> opt Signal
select id, name, sent, params, payload from scylla.signal_sent where id = :id;

-- find_committed(id int8) -> opt Signal !latest !reads
-- The same, by the latest snapshot.
select id, name, sent, params, payload from scylla.signal_sent where id = :id;

-- newest_equal(name text, params jsonb, since timestamptz) -> first Candidate (id int8,
--     params jsonb) !latest !reads !indexes
-- The newest signals with these parameters. They are found by the index on parameters. The planner has no other choice:
-- a scan by name would read all signals of that name, and a plan that was made while there were few stays until the
-- table has been analyzed.
with found as materialized (
    select id, params
    from scylla.signal_sent
    where params @> :params and (name || '') = :name and sent >= :since
)
select id, params
from found
order by id desc;

-- newest(name text, since timestamptz) -> first Candidate !latest !reads !indexes
select id, params
from scylla.signal_sent
where name = :name and sent >= :since
order by name desc, id desc;

-- note_for_triggers(signal int8, name text) -> count !latest
-- Triggers see the signal when it is committed: one row for any number of triggers. Returns 0 if there are none, by the
-- latest snapshot.
insert into scylla.signal_unseen (seq, line)
select :signal, hashtext(:name collate "C")
where exists (select from scylla.signal_trigger_input where name = :name);

-- remove_old(before timestamptz, most int8) -> count
-- Ids rise with time, so the walk begins with the oldest signal and ends at the first one to be kept.
delete from scylla.signal_sent
where id = any (array(
    select id
    from (select id, sent from scylla.signal_sent order by id limit :most) oldest
    where sent < :before));
