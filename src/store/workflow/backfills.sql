-- Backfills of workflows: rows of scylla.workflow_backfill_state and scylla.workflow_backfill_item_state.

-- struct Backfill (id int8, workflow text, version int4, concurrency int4, yields bool, paused bool, is_ended bool,
--     role name)

-- @backfill(id)
select id, workflow, version, concurrency, yields, paused, ended is not null as is_ended, role
from scylla.workflow_backfill_state
where id = :id

-- find(id int8) -> opt Backfill
@backfill(:id);

-- hold(id int8) -> opt Backfill
-- Locks it.
@backfill(:id)
for no key update;

-- try_hold(id int8) -> opt Backfill
-- The same. Returns nullopt, too, if another transaction has locked it.
@backfill(:id)
for no key update skip locked;

-- add(workflow text, version int4, concurrency int4, yields bool, role name) -> one (id int8)
insert into scylla.workflow_backfill_state (workflow, version, concurrency, yields, role)
values (:workflow, :version, :concurrency, :yields, :role)
returning id;

-- struct NewItem (number int4, params jsonb, starts bool)

-- add_items(backfill int8, items NewItem[])
insert into scylla.workflow_backfill_item_state (backfill, number, params, state)
select :backfill, items.number, items.params, case when items.starts then 'PENDING' else 'SKIPPED' end
from :items;

-- preview(workflow text, items jsonb[]) -> many Before (instance int8?0, status text?, place int8)
-- For each item the last run of the present workflow with its parameters, and its place among the items that have them.
with last as (
    select distinct on (r.request) r.request, r.instance, r.status
    from scylla.workflow_run_state r
    join scylla.workflow_head h on h.id = r.workflow and h.created <= r.created
    where r.workflow = :workflow
    order by r.request, r.instance desc, r.run desc
)
select l.instance, l.status, row_number() over (partition by i.params order by i.number) as place
from unnest(:items) with ordinality i (params, number)
left join last l on l.request = i.params
order by i.number;

-- struct Item (number int4, params jsonb)

-- next_items(backfill int8, most int8) -> many Item
select number, params
from scylla.workflow_backfill_item_state
where backfill = :backfill and state = 'PENDING'
order by number
limit :most;

-- count_live(backfill int8) -> one (count int8)
select count(*) from scylla.workflow_backfill_item_state where backfill = :backfill and state = 'STARTED';

-- live_runs(backfill int8) -> many (run int8!)
select run from scylla.workflow_backfill_item_state where backfill = :backfill and state = 'STARTED';

-- note_started(backfill int8, number int4, run int8, is_ended bool)
update scylla.workflow_backfill_item_state
set run = :run, state = case when :is_ended then 'ENDED' else 'STARTED' end
where backfill = :backfill and number = :number;

-- note_refused(backfill int8, number int4, error jsonb)
update scylla.workflow_backfill_item_state
set state = 'REFUSED', error = :error
where backfill = :backfill and number = :number;

-- note_ended(run int8)
update scylla.workflow_backfill_item_state set state = 'ENDED' where run = :run and state = 'STARTED';

-- note_lost(backfill int8)
-- Items whose runs have ended, or are gone.
update scylla.workflow_backfill_item_state i
set state = 'ENDED'
where i.backfill = :backfill and i.state = 'STARTED'
  and not exists (select from scylla.workflow_run_state r where r.id = i.run and r.ended is null);

-- cancel_items(backfill int8) -> count
update scylla.workflow_backfill_item_state set state = 'CANCELLED' where backfill = :backfill and state = 'PENDING';

-- end_if_done(id int8)
update scylla.workflow_backfill_state
set ended = clock_timestamp(), paused = false, error = null
where id = :id
  and not exists (
      select
      from scylla.workflow_backfill_item_state
      where backfill = :id and (state = 'PENDING' or state = 'STARTED'));

-- pause(id int8, error jsonb?)
update scylla.workflow_backfill_state set paused = true, error = :error where id = :id;

-- pause_of(workflow text)
-- All whose runs are being stopped.
update scylla.workflow_backfill_state
set paused = true, error = '{"message": "All runs of the workflow were stopped."}'
where workflow = :workflow and ended is null and not paused;

-- resume(id int8, role name)
update scylla.workflow_backfill_state set paused = false, error = null, role = :role where id = :id;

-- remove_of(workflow text)
with backfill as (
    delete from scylla.workflow_backfill_state where workflow = :workflow
    returning id
)
delete from scylla.workflow_backfill_item_state i using backfill b where i.backfill = b.id;

-- remove_item(run int8) -> many (backfill int8)
delete from scylla.workflow_backfill_item_state where run = :run returning backfill;

-- remove_without_runs(id int8)
-- The backfill if it has ended, and others of its workflow that ended a day ago: those that have only skipped items.
with backfill as (
    delete from scylla.workflow_backfill_state b
    using scylla.workflow_backfill_state t
    where t.id = :id and b.workflow = t.workflow
      and (b.id = t.id and b.ended is not null or b.ended < now() - interval '1 day')
      and not exists (
          select from scylla.workflow_backfill_item_state i where i.backfill = b.id and i.run is not null)
    returning b.id
)
delete from scylla.workflow_backfill_item_state i using backfill b where i.backfill = b.id;
