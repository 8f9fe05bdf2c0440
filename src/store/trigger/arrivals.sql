-- Signals that triggers have not seen, or not joined: rows of scylla.signal_unseen and scylla.signal_arrival.

-- take(most int8, line int4) -> many Taken (seq int8, line int4, after int8)
-- Takes signals that not all triggers have seen, except those that another session is taking: the first of each line, behind
-- that of the last call, then from the first one on. Takes none if a related table is empty: this may be a restore that
-- has not restored it yet.
with recursive above (line) as (
    (select line from scylla.signal_unseen where line > :line order by line limit 1)
    union all
    select (select s.line from scylla.signal_unseen s where s.line > a.line order by s.line limit 1)
    from above a
    where a.line is not null
), below (line) as (
    (select line from scylla.signal_unseen where line <= :line order by line limit 1)
    union all
    select (select s.line from scylla.signal_unseen s where s.line > b.line and s.line <= :line order by s.line limit 1)
    from below b
    where b.line is not null
), line as materialized (
    select line from above where line is not null
    union all
    select line from below where line is not null
    limit :most
)
delete from scylla.signal_unseen
where ctid = any (array(
    select s.place
    from line l
    cross join lateral (
        select s.ctid as place
        from scylla.signal_unseen s
        where s.line = l.line
        order by s.seq
        limit (select greatest(1, :most / count(*)) from line)
        for update skip locked) s
    where exists (select from scylla.signal_sent)
      and exists (select from scylla.signal_trigger)
      and exists (select from scylla.signal_trigger_input)))
returning seq, line, after;

-- put_back(signals Taken[])
-- Signals that were taken, for another call.
insert into scylla.signal_unseen (seq, line, after)
select seq, line, after from :signals;

-- add(trigger int8, digest int8, seq int8, input int4, join_key jsonb)
insert into scylla.signal_arrival (trigger, digest, seq, input, fresh, join_key)
values (:trigger, :digest, :seq, :input, true, :join_key)
on conflict do nothing;

-- fresh_triggers(most int8, trigger int8) -> many FreshTrigger (id int8, is_there bool, owner name?)
-- Triggers with signals that have not been joined, behind this one, then from the first one on, without reading these
-- signals.
with recursive above (id) as (
    (select trigger from scylla.signal_arrival where fresh and trigger > :trigger order by trigger limit 1)
    union all
    select (select s.trigger from scylla.signal_arrival s where s.fresh and s.trigger > a.id order by s.trigger limit 1)
    from above a
    where a.id is not null
), below (id) as (
    (select trigger from scylla.signal_arrival where fresh and trigger <= :trigger order by trigger limit 1)
    union all
    select (select s.trigger
            from scylla.signal_arrival s
            where s.fresh and s.trigger > b.id and s.trigger <= :trigger
            order by s.trigger
            limit 1)
    from below b
    where b.id is not null
), fresh as (
    select id from above union all select id from below
)
select f.id, t.id is not null as is_there, t.owner
from fresh f
left join scylla.signal_trigger t on t.id = f.id
where f.id is not null and t.paused is not true
limit :most;

-- fresh_keys(trigger int8, most int8) -> many JoinKey (digest int8, join_key jsonb)
select distinct digest, join_key from scylla.signal_arrival where trigger = :trigger and fresh limit :most;

-- candidates(trigger int8, key JoinKey, inputs int4) -> many Candidate (input int4, seq int8)
-- The oldest signals of each input with this key.
select i.ord as input, a.seq
from generate_series(1, :inputs) i (ord),
     lateral (
         select seq
         from scylla.signal_arrival
         where trigger = :trigger and digest = :key.digest and join_key = :key.join_key and input = i.ord
         order by seq
         limit :inputs) a
order by i.ord, a.seq;

-- mark_seen(trigger int8, key JoinKey)
-- Until another signal arrives, the key need not be joined again.
update scylla.signal_arrival
set fresh = false
where trigger = :trigger and digest = :key.digest and join_key = :key.join_key and fresh;

-- consume(trigger int8, seqs int8[])
-- Removes the arrivals of these signals at any input. Found by their numbers only: the trigger has many arrivals, and
-- most of them are dead.
delete from scylla.signal_arrival where (trigger + 0) = :trigger and seq = any (:seqs);

-- remove_orphans(trigger int8)
-- Removes arrivals that were inserted while their trigger was being dropped.
delete from scylla.signal_arrival where trigger = :trigger and exists (select from scylla.signal_trigger);

-- remove_old(most int8)
-- Removes what triggers keep of signals that are gone; skips rows that others are removing. Nothing is removed if there
-- is no signal: this may be a restore that has not restored them yet.
with kept as materialized (
    select min(id) as from_ from scylla.signal_sent
), failure as (
    delete from scylla.signal_trigger_failure
    where id = any (array(
        select f.id
        from scylla.signal_trigger_failure f, kept
        where kept.from_ > any (f.seqs)
        limit :most
        for update of f skip locked))
)
delete from scylla.signal_arrival
where ctid = any (array(
    select a.ctid
    from scylla.signal_arrival a
    where a.seq < (select from_ from kept)
    limit :most
    for update skip locked));
