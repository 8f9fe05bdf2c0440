-- Instances with their last runs: rows of scylla.workflow_run_state. What the engine reads and writes of them is in
-- turn_reads.sql and turn_writes.sql.

-- find_request(workflow text, request_id text) -> opt Request (instance int8, run int4, status text, id int8)
select instance, run, status, id
from scylla.workflow_run_state
where workflow = :workflow and request_id = :request_id;

-- live(workflow text) -> many Live (id int8, is_queued bool)
select id, status = 'CREATED' as is_queued
from scylla.workflow_run_state
where workflow = :workflow and ended is null;

-- struct LastRun (
--     id int8,
--     version int4,
--     run int4,
--     begun bool,
--     ended bool,
--     may_block bool, -- STRICT_SEQUENTIAL: it has ended otherwise than SUCCEEDED
--     parent_root int8?0, -- the run whose step has started it as a subworkflow and waits for it; 0: none
--     parent_scope int8?0, -- of that step
--     parent_step text?)

-- last(workflow text, instance int8) -> opt LastRun
select @last_run(r)
from @present_runs()
where r.workflow = :workflow and r.instance = :instance
order by r.run desc
limit 1;

-- hold_last(workflow text, instance int8) -> opt EarlierRun (
--     id int8,
--     run int4,
--     version int4,
--     ended bool,
--     properties jsonb,
--     request jsonb,
--     params jsonb, -- empty: they could not be evaluated
--     initiator jsonb)
-- Locks it. initiator: without the user; with the signals, the time zone, the depth among subworkflows.
select r.id, r.run, r.version, r.ended is not null as ended, r.properties, r.request, r.params,
       r.initiator - array['type', 'user', 'workflow', 'instance', 'run', 'step'] as initiator
from @present_runs()
where r.workflow = :workflow and r.instance = :instance
for no key update of r;

-- has_instance(workflow text, instance int8) -> one (found bool)
-- Returns false if it has been removed.
select exists (select from @present_runs() where r.workflow = :workflow and r.instance = :instance) as found;

-- above(root int8, scope int8, step text, workflow text, instance int8) -> opt Above (workflow text, instance int8,
--     run LastRun)
-- The run whose step has started this instance and waits for it. Returns nullopt if the step has started another
-- instance since, or the run has been removed.
select r.workflow, r.instance, @last_run(r)
from @present_runs()
join scylla.workflow_step_state s on s.scope = :scope and s.step = :step
left join scylla.workflow_iteration i on i.id = :scope
where r.id = :root
  and i.past is not true
  and ((s.loop ->> 'workflow' = :workflow and s.loop -> 'instance' = to_jsonb(:instance))
       or (s.loop is null and s.status = 'RUNNING'));

-- parent(root int8, scope int8, step text, attempt int4) -> opt ParentRun (
--     owner name,
--     depth int4, -- of a run that it starts: how many runs are above it
--     initiator jsonb, -- of that run
--     late bool)
-- Returns nullopt if that attempt of the step has ended.
select r.owner, d.depth,
       jsonb_build_object('type', 'SUBWORKFLOW', 'workflow', r.workflow, 'instance', r.instance, 'run', r.run,
                          'step', :step, 'depth', d.depth) as initiator,
       r.late
from scylla.workflow_run_state r
cross join lateral (select coalesce((r.initiator ->> 'depth')::int4, 0) + 1 as depth) d
where r.id = :root
  and exists (
      select
      from scylla.workflow_step_state s
      where s.scope = :scope and s.step = :step and s.attempt = :attempt and s.ended is null);

-- has_status(id int8, status run_status) -> one (found bool)
select exists (select from scylla.workflow_run_state where id = :id and status = :status) as found;

-- permits_of(id int8) -> opt (permits text?)
select permits from scylla.workflow_run_state where id = :id;

-- need_permits(pool text) -> one (found bool)
-- Whether runs that have not ended need permits of the pool.
select exists (select from scylla.workflow_run_state where permits = :pool and ended is null) as found;

-- ---- new runs ----------------------------------------------------------------------------------------------------------

-- add(id int8, instance int8, run int4, version int4, workflow text, owner name, request_id text?, initiator jsonb,
--     properties jsonb, request jsonb, params jsonb, now timestamptz, parent_root int8?0, parent_scope int8?0,
--     parent_step text?, parent_attempt int4?0, status run_status, ended bool, error jsonb?, blocks bool,
--     backfill int8?0, late bool, permits text?, step_params jsonb?) -> one (status text)
insert into scylla.workflow_run_state
       (id, plan, instance, run, version, workflow, owner, request_id, initiator, properties, request, params, created,
        parent_root, parent_scope, parent_step, parent_attempt, status, ended, error, blocks, backfill, late, permits,
        step_params)
values (:id, :id, :instance, :run, :version, :workflow, :owner, :request_id, :initiator, :properties, :request,
        :params, :now, :parent_root, :parent_scope, :parent_step, :parent_attempt, :status,
        case when :ended then :now end, :error, :blocks, :backfill, :late, :permits, :step_params)
returning status;

-- run_again(id int8, plan int8, run int4, now timestamptz, owner name, initiator jsonb, request jsonb, params jsonb,
--     restart jsonb, stopped bool, parent_root int8?0, parent_scope int8?0, parent_step text?, parent_attempt int4?0,
--     permits text?) -> one (status text)
-- The row of the instance becomes that of the new run, and the run before gets another row.
with past as (
    insert into scylla.workflow_run_past
           (plan, root, instance, created, started, ended, run, status, aggregated, workflow, owner, initiator, request,
            params, restart, error)
    select plan, id, instance, created, started, ended, run, status, coalesce(aggregated, status), workflow, owner,
           initiator, request, params, restart, error
    from scylla.workflow_run_state
    where id = :id
), plan as (
    insert into scylla.workflow_plan (plan, root) values (:plan, :id)
)
update scylla.workflow_run_state
set plan = :plan, run = :run, created = :now, started = null, ended = case when :stopped then :now end, due = null,
    parent_root = :parent_root, parent_scope = :parent_scope, parent_step = :parent_step,
    parent_attempt = :parent_attempt, blocks = false, status = case when :stopped then 'STOPPED' else 'CREATED' end,
    aggregated = case when not :stopped then coalesce(aggregated, status) end, owner = :owner, initiator = :initiator,
    request = :request, params = :params, restart = :restart,
    error = case
        when :stopped then
            '{"message": "Another run has not ended, and the run strategy is FIRST_ONLY."}'::jsonb
    end,
    permits = :permits
where id = :id
returning status;

-- stop_new(id int8, now timestamptz, error jsonb) -> one StoppedRun (instance int8, run int4, version int4,
--     permits text?)
-- A run that this transaction has made.
with agenda as (
    delete from scylla.workflow_agenda where root = :id
)
update scylla.workflow_run_state
set status = 'STOPPED', ended = :now, error = :error
where id = :id
returning instance, run, version, permits;

-- ---- runs of a workflow --------------------------------------------------------------------------------------------------

-- count_blocking(workflow text) -> one (count int8)
select count(*) from scylla.workflow_run_state where workflow = :workflow and blocks;

-- unblock(id int8)
update scylla.workflow_run_state set blocks = false where id = :id and blocks;

-- unblock_all(workflow text) -> many (id int8)
update scylla.workflow_run_state set blocks = false where workflow = :workflow and blocks returning id;

-- leave(workflow text)
-- The workflow is dropped.
update scylla.workflow_run_state
set request_id = null, blocks = false
where workflow = :workflow and (request_id is not null or blocks);
