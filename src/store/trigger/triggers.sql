-- Triggers: rows of scylla.signal_trigger and scylla.signal_trigger_input.

-- add(owner name, name text, signals jsonb, action jsonb, condition jsonpath?, inputs int4,
--     grace interval?) -> opt (id int8)
-- Returns nullopt if the name is taken.
insert into scylla.signal_trigger (owner, name, signals, action, condition, inputs, grace)
values (:owner, :name, :signals, :action, :condition, :inputs, :grace)
on conflict (name) do nothing
returning id;

-- add_input(trigger int8, ord int4, name text, match jsonb, joined_by text[])
insert into scylla.signal_trigger_input (trigger, ord, name, match, joined_by)
values (:trigger, :ord, :name, :match, :joined_by);

-- is_there(name text) -> one (found bool)
select exists (select from scylla.signal_trigger where name = :name) as found;

-- lock(name text) -> opt Locked (id int8, owner name, action jsonb)
-- The lock blocks the monitor's work on the trigger, and nothing else.
select id, owner, action from scylla.signal_trigger where name = :name for update;

-- hold(id int8) -> opt Held (id int8, owner name, name text, action jsonb, condition jsonpath?, inputs int4,
--     grace interval?)
-- Locks it. Returns nullopt if another session has locked it, or it is paused or gone.
select id, owner, name, action, condition, inputs, grace
from scylla.signal_trigger
where id = :id and not paused
for no key update skip locked;

-- set_paused(id int8, paused bool)
update scylla.signal_trigger set paused = :paused where id = :id;

-- remove(id int8)
-- Signals that arrive concurrently are removed by the next turn.
with input as (
    delete from scylla.signal_trigger_input where trigger = :id
), arrival as (
    delete from scylla.signal_arrival where trigger = :id
), failure as (
    delete from scylla.signal_trigger_failure where trigger = :id
)
delete from scylla.signal_trigger where id = :id;

-- clear(id int8, signal int8?) -> one (count int8)
-- Removes what has arrived, and failed sets; with a signal only what it belongs to.
with arrival as (
    delete from scylla.signal_arrival
    where trigger = :id and (:signal is null or seq = :signal)
    returning seq
), failure as (
    delete from scylla.signal_trigger_failure
    where trigger = :id and (:signal is null or :signal = any (seqs))
    returning id
)
select (select count(distinct seq) from arrival) + (select count(*) from failure) as count;

-- note_refused(id int8, error text)
-- The owner may not see the signal (any more). Not noted if another transaction is changing the trigger.
update scylla.signal_trigger
set last_error = :error, failed = clock_timestamp()
where id = any (array(select id from scylla.signal_trigger where id = :id for no key update skip locked));

-- note(id int8, fired int8, skipped int8, missed int8, error text?)
-- The caller has locked its row.
update scylla.signal_trigger
set fired = fired + :fired,
    skipped = skipped + :skipped,
    missed = missed + :missed,
    last_fired = case when :fired > 0 then clock_timestamp() else last_fired end,
    last_error = coalesce(:error, last_error),
    failed = case when :error is not null then clock_timestamp() else failed end
where id = :id;

-- interested(name text, signal int8, after int8, most int8) -> many Interest (trigger int8, input int4, match jsonb,
--     joined_by text[], owner name)
-- The inputs of triggers older than the signal that have its name, behind this trigger: so many, and all of the last
-- trigger.
select i.trigger, i.ord as input, i.match, i.joined_by, t.owner
from scylla.signal_trigger_input i
join scylla.signal_trigger t on t.id = i.trigger
where i.name = :name and i.trigger > :after and i.trigger < :signal
order by i.trigger
fetch first (:most) rows with ties;

-- is_true(condition jsonpath, signals jsonb) -> one (holds bool)
select coalesce(jsonb_path_match(:signals, :condition), false) as holds;

-- numbers() -> many Numbers (owner name, name text, fired int8, skipped int8, waiting int8, failing int8, paused bool,
--     missed int8)
select owner, trigger as name, fired, skipped, waiting, failing, paused, missed
from scylla._stat_trigger
order by trigger collate "C";

-- made_for(workflow text) -> many (name text)
-- Those of the signal triggers of a workflow.
select name
from scylla.signal_trigger
where action ? 'workflow' and action ->> 'workflow' = :workflow and action ? 'trigger' and not action ? 'queue'
order by name;
