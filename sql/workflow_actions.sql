-- What roles see of actions on runs of workflows. Columns are only ever appended.

create or replace view scylla.workflow_action with (security_barrier) as
    select a.id, r.workflow, r.instance, a.run, a.step, i.numbers as iterations, a.attempt, a.kind as action, a.role::text as role,
           a.created, a.done, a.outcome
    from scylla.workflow_action_state a
    join scylla.workflow_run_state r on r.id = a.root
    join scylla.workflow_head h on h.id = r.workflow and h.created <= r.created
    left join scylla.workflow_iteration i on i.id = a.scope
    where scylla._may_view(h.owner, h.viewers || h.runners, h.admins);
comment on view scylla.workflow_action is 'Who has requested which action on runs and steps, and its result.';
comment on column scylla.workflow_action.id is 'What the call has returned.';
comment on column scylla.workflow_action.workflow is 'The id of the workflow.';
comment on column scylla.workflow_action.instance is 'The number of the instance.';
comment on column scylla.workflow_action.run is 'The number of the run that the action is on; a restart of a run that had ended is on that one.';
comment on column scylla.workflow_action.step is 'The id of the step; null: the action is on the run.';
comment on column scylla.workflow_action.iterations is 'As in scylla.workflow_step.';
comment on column scylla.workflow_action.attempt is 'The attempt that the step was at.';
comment on column scylla.workflow_action.action is 'What: stop, kill, skip, resume, restart, bypass.';
comment on column scylla.workflow_action.role is 'The role that has asked for it.';
comment on column scylla.workflow_action.created is 'When it was requested.';
comment on column scylla.workflow_action.done is 'When the engine has taken it up; null: not yet.';
comment on column scylla.workflow_action.outcome is
    'The status of the step, or the run, that has come of it; if the step had ended before, its status is that of its end; if the run had, the status of the new run.';
