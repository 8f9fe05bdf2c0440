-- Actions of users on runs and their steps: rows of scylla.workflow_action_state.

-- add(root int8, kind cstring, scope int8?0, step text?, attempt int4?, role name, item cstring,
--     data jsonb?) -> opt (id int8)
-- item, data: of the row on the agenda. Returns nullopt if an earlier action on the step is still pending.
with action as (
    insert into scylla.workflow_action_state (root, run, kind, scope, step, attempt, role)
    select r.id, r.run, :kind, :scope, :step, :attempt, :role
    from scylla.workflow_run_state r
    where r.id = :root
    on conflict do nothing
    returning id
), item as (
    insert into scylla.workflow_agenda (root, line, kind, scope, step, action, data)
    select :root, @line_of(:root), :item, :scope, :step, id, :data from action
)
select id from action;

-- add_for_all(workflow text, kind cstring, role name) -> one (count int8)
-- For all live runs of the workflow. Queued runs do not begin.
with run as (
    select id, run from scylla.workflow_run_state where workflow = :workflow and ended is null order by instance, run
), action as (
    insert into scylla.workflow_action_state (root, run, kind, role)
    select id, run, :kind, :role from run
    returning id, root
), item as (
    insert into scylla.workflow_agenda (root, line, kind, action)
    select root, @line_of(root), :kind, id from action
)
select count(*) from action;

-- add_done(root int8, run int4, kind cstring, scope int8, step text, attempt int4, role name,
--     outcome text) -> one (id int8)
insert into scylla.workflow_action_state (root, run, kind, scope, step, attempt, role, done, outcome)
values (:root, :run, :kind, :scope, :step, :attempt, :role, clock_timestamp(), :outcome)
returning id;

-- pending_of(root int8) -> many (id int8)
select id from scylla.workflow_action_state where root = :root and done is null;

-- settle(ids int8[], now timestamptz)
-- The engine has handled them, and written the results.
update scylla.workflow_action_state a
set done = :now,
    outcome = case
        when a.step is null then (select r.status from scylla.workflow_run_state r where r.id = a.root)
        else coalesce((select s.status from scylla.workflow_step_state s where s.scope = a.scope and s.step = a.step),
                      'NOT_CREATED')
    end
where a.id = any (:ids);
