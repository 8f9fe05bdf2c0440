-- Actions on runs of workflows and on their steps: see docs/workflows.md.

create or replace function scylla.stop_workflow(workflow text) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_stop_workflow';
comment on function scylla.stop_workflow is
'Calls stop_run() for all runs of a workflow that have not ended; runs that wait for their turn do not begin. Its backfills are paused. Runs that
are started later are not affected. Returns the number of runs. Errors: 42704 no such workflow; 42501 no privilege run; 22023 bad argument.';

create or replace function scylla.kill_workflow(workflow text) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_kill_workflow';
comment on function scylla.kill_workflow is 'The same, but the runs end as FAILED. Errors: as stop_workflow().';

create or replace function scylla.stop_step(workflow text, instance bigint, step text, iterations bigint[] = null) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_stop_step';
comment on function scylla.stop_step is
'Ends a step of the last run of an instance as STOPPED: its task is cancelled, and everything inside a loop or a subworkflow is stopped.
Steps that do not depend on it continue; then the run ends as STOPPED. Returns at once.
  iterations  the numbers of the iterations that the step is in, the outer one first; null or empty: it is in no loop
Returns the id of the action in the view scylla.workflow_action; null: the step is already STOPPED.
Errors: 42704 no such workflow; 42501 no privilege run; P0002 no such instance, step or iteration; 55000 the run has ended, the step has
not been created or has ended, or another action on it is still pending; 22023 bad argument.
Locks: waits for a transaction that requests an action on the same step.';

create or replace function scylla.kill_step(workflow text, instance bigint, step text, iterations bigint[] = null) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_kill_step';
comment on function scylla.kill_step is
'The same, but the step ends as FATALLY_FAILED, and its failure mode applies. Null: it already has this status. Errors: as stop_step().';

create or replace function scylla.skip_step(workflow text, instance bigint, step text, iterations bigint[] = null) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_skip_step';
comment on function scylla.skip_step is
'Sets a step to SKIPPED: what it has begun ends as with stop_step(), and its conditions decide what follows, as if it had succeeded. A step
that ended as FATALLY_FAILED, INTERNALLY_FAILED, STOPPED or TIMED_OUT gets another attempt, which is SKIPPED. If the run has ended, the
instance runs again as with restart_run(), with policy RESTART_FROM_SPECIFIC and the step among skip_steps; the step must be in no loop.
Null: it is already SKIPPED. Errors: as stop_step(); 55000 a step before it must run again, too.
Locks: waits for a transaction that requests an action on the same step; if the run has ended, as restart_run().';

create or replace function scylla.restart_step(workflow text, instance bigint, step text, iterations bigint[] = null, alone boolean = false) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_restart_step';
comment on function scylla.restart_step is
'Gives another attempt to a step of the last run of an instance. If the run has not ended, the step must have ended as FATALLY_FAILED,
INTERNALLY_FAILED, STOPPED or TIMED_OUT, or the restart of the run must have left it out; steps that follow it can then run. A loop continues
with the iterations that have not succeeded, and a subworkflow that is waited for runs again. If the run has ended, the instance runs again
as with restart_run() and policy RESTART_FROM_SPECIFIC: from the step, even if it has succeeded. Of loops around it, only the iterations that
contain it run again. Returns at once.
  iterations  as for stop_step()
  alone       as for restart_run()
Returns the id of the action in the view scylla.workflow_action; the action may be on a loop around the step, or on a step of a run above.
Errors: as stop_step(), but the run may have ended; 55000 a step before it must run again, too; 42501, 55000 as restart_run().
Locks: as skip_step().';

create or replace function scylla.bypass_step(workflow text, instance bigint, step text, iterations bigint[] = null) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_bypass_step';
comment on function scylla.bypass_step is
'Lets a step that is WAITING_FOR_SIGNALS continue without the missing signals; in the column signals of scylla.workflow_step these are
SKIPPED. Later attempts do not wait for them either. Returns at once.
  iterations  as for stop_step()
Returns the id of the action in the view scylla.workflow_action.
Errors: as stop_step(); 55000 the step does not wait for signals.
Locks: as stop_step().';
