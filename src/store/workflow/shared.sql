-- What statements about workflows share.

-- words run_status model::workflow::RunStatus model::workflow::k_run_statuses model/workflow/statuses.h
-- words step_status model::workflow::StepStatus model::workflow::k_step_statuses model/workflow/statuses.h
-- type millis timestamptz sql::millis int64 store/workflow/types.h

-- @next_turn()
-- model::workflow::k_next_turn.
'1970-01-01 00:00:00.001+00'::timestamptz

-- @present_runs()
-- Instances r of workflows h that have not been dropped since.
scylla.workflow_run_state r join scylla.workflow_head h on h.id = r.workflow and h.created <= r.created

-- @last_run(r)
-- The columns of LastRun.
r.id, r.version, r.run, r.started is not null as begun, r.ended is not null as ended,
r.status = any ('{FAILED,TIMED_OUT,STOPPED}') as may_block, r.parent_root, r.parent_scope, r.parent_step

-- @line_of(root)
-- In which line a row of the agenda stands. root: the instance, or the plan of one of its runs.
coalesce((select hashname(p.owner) from scylla.task_plan p where p.id = :root),
         (select hashname(i.owner) from scylla.workflow_run_state i where i.id = :root), 0)

-- @records(workflow)
-- Whether the workflow records its events.
exists (select from scylla.workflow_head h where h.id = :workflow and h.properties @> '{"events": true}')

-- @step_events(position, now, status)
-- Inserts the events of steps s of runs r that get this status. A condition follows.
insert into scylla.workflow_event
       (position, "time", workflow, owner, kind, instance, run, version, step, iterations, attempt, old_status, status)
select :position, :now, r.workflow, r.owner, 'step', r.instance, r.run, r.version, s.step, i.numbers, s.attempt,
       s.status, :status
from scylla.workflow_step_state s
join scylla.workflow_run_state r on r.id = s.root
left join scylla.workflow_iteration i on i.id = s.scope
