-- Workflows: rows of scylla.workflow_head, and of what belongs to a workflow and not to its runs.

-- words rule model::workflow::Rule model::workflow::k_rules model/workflow/run_strategy.h

-- struct Head (id text, owner name, runners text[]?, viewers text[]?, admins text[]?, active_version int4,
--     latest_version int4, latest_instance int8, rule rule, concurrency int4, properties jsonb)

-- @head(id)
select id, owner, runners, viewers, admins, active_version, latest_version, latest_instance, strategy as rule,
       concurrency, properties
from scylla.workflow_head
where id = :id

-- find(id text) -> opt Head
@head(:id);

-- hold(id text) -> opt Head
-- Locks it.
@head(:id)
for no key update;

-- try_hold(id text) -> opt Head
-- The same. Returns nullopt, too, if another transaction has locked it.
@head(:id)
for no key update skip locked;

-- add(id text, owner name)
insert into scylla.workflow_head (id, owner, properties) values (:id, :owner, '{}') on conflict do nothing;

-- continue_dropped(id text)
-- The instances of a new workflow follow those of a dropped one with this id.
update scylla.workflow_head h
set latest_instance = d.latest_instance
from scylla.workflow_dropped d
where h.id = :id and h.latest_version = 0 and d.id = h.id;

-- add_version(workflow text, version int4, author name, definition jsonb, metadata jsonb)
insert into scylla.workflow_text (workflow, version, author, definition, metadata)
values (:workflow, :version, :author, :definition, :metadata);

-- add_history(workflow text, author name, properties jsonb)
insert into scylla.workflow_properties (workflow, author, properties) values (:workflow, :author, :properties);

-- set_properties(id text, properties jsonb, rule rule, concurrency int4)
update scylla.workflow_head
set properties = :properties, strategy = :rule, concurrency = :concurrency, modified = clock_timestamp()
where id = :id;

-- set_latest(id text, version int4)
update scylla.workflow_head set latest_version = :version where id = :id;

-- set_active(id text, version int4, by name)
update scylla.workflow_head
set active_version = :version, activated_by = :by, activated = t.now, modified = t.now
from (select clock_timestamp() as now) t
where id = :id;

-- remove(id text)
-- Keeps the number of its latest instance.
with held as (
    delete from scylla.workflow_hold where workflow = :id
), version as (
    delete from scylla.workflow_text where workflow = :id
), history as (
    delete from scylla.workflow_properties where workflow = :id
), head as (
    delete from scylla.workflow_head where id = :id
    returning latest_instance
)
insert into scylla.workflow_dropped (id, latest_instance)
select :id, h.latest_instance
from head h
where h.latest_instance > 0
on conflict (id) do update set latest_instance = excluded.latest_instance;

-- grant_to(id text, privilege text, role text)
update scylla.workflow_head
set runners = @granted(runners, 'run', :privilege, :role),
    viewers = @granted(viewers, 'view', :privilege, :role),
    admins = @granted(admins, 'admin', :privilege, :role)
where id = :id;

-- revoke_from(id text, privilege text, role text)
update scylla.workflow_head
set runners = @revoked(runners, 'run', :privilege, :role),
    viewers = @revoked(viewers, 'view', :privilege, :role),
    admins = @revoked(admins, 'admin', :privilege, :role)
where id = :id;

-- take_instance(id text) -> one (latest_instance int8)
-- The number of a new instance.
update scylla.workflow_head set latest_instance = latest_instance + 1 where id = :id returning latest_instance;

-- version_created(workflow text, version int4) -> opt (created timestamptz)
select created from scylla.workflow_text where workflow = :workflow and version = :version;

-- definition_of(workflow text, version int4) -> opt (definition text)
select definition::text from scylla.workflow_text where workflow = :workflow and version = :version;

-- active_triggers(id text, kind cstring, disabled cstring) -> many (trigger jsonb)
-- kind: a member of definitions. disabled: the property that disables all of them.
select distinct jsonb_strip_nulls(t.trigger) as trigger
from scylla.workflow_head h
join scylla.workflow_text v on v.workflow = h.id and v.version = h.active_version
cross join lateral jsonb_array_elements(
    case when jsonb_typeof(v.definition -> :kind) = 'array' then v.definition -> :kind end) t (trigger)
where h.id = :id and coalesce(h.properties -> :disabled, 'false') <> 'true';

-- numbers() -> many Numbers (owner name, runners text[]?, viewers text[]?, admins text[]?, id text, instances int8,
--     queued int8, running int8, failed int8, agenda int8, steps_failed int8, steps_paused int8, steps_retrying int8,
--     steps_running int8, steps_waiting_for_permits int8, steps_waiting_for_signals int8, oldest_queued timestamptz?,
--     oldest_running timestamptz?, oldest_agenda timestamptz?)
select owner, runners, viewers, admins, workflow as id, instances, queued, running, failed, agenda, steps_failed,
       steps_paused, steps_retrying, steps_running, steps_waiting_for_permits, steps_waiting_for_signals,
       oldest_queued, oldest_running, oldest_agenda
from scylla._stat_workflow
order by workflow;
