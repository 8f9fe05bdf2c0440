-- Actions on runs of workflows and on their steps: see docs/workflows.md.

create or replace function scylla.stop_workflow(workflow text) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_stop_workflow';
comment on function scylla.stop_workflow is
'stop_run() for all runs of a workflow that have not ended; those that wait for their turn do not begin. Runs that are started later are not
concerned. Returns how many there are. Errors: 42704 no such workflow; 42501 no privilege run; 22023 bad argument.';

create or replace function scylla.kill_workflow(workflow text) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_kill_workflow';
comment on function scylla.kill_workflow is 'The same, but the runs end as FAILED. Errors: as stop_workflow().';

create or replace function scylla.stop_step(workflow text, instance bigint, step text, iterations bigint[] = null) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_stop_step';
comment on function scylla.stop_step is
'Has a step of the last run of an instance end as STOPPED: its task is cancelled, and all that is inside of a loop or a subworkflow is
stopped. What does not depend on it goes on; then the run ends as STOPPED. Returns at once.
  iterations  the numbers of the iterations that the step is in, the outer one first; null or empty: it is in no loop
Returns the id of the action in the view scylla.workflow_action; null: the step is STOPPED already.
Errors: 42704 no such workflow; 42501 no privilege run; P0002 no such instance, step or iteration; 55000 the run has ended, the step has
not been created or has ended, or another action on it has not been taken up yet; 22023 bad argument.
Locks: waits for a transaction that asks for an action on the same step.';

create or replace function scylla.kill_step(workflow text, instance bigint, step text, iterations bigint[] = null) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_kill_step';
comment on function scylla.kill_step is
'The same, but the step ends as FATALLY_FAILED, and its failure mode applies. Null: it is that already. Errors: as stop_step().';

create or replace function scylla.skip_step(workflow text, instance bigint, step text, iterations bigint[] = null) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_skip_step';
comment on function scylla.skip_step is
'Has a step be SKIPPED: what it has begun ends as with stop_step(), and its conditions decide what follows, as if it had succeeded. One
that has ended as FATALLY_FAILED, INTERNALLY_FAILED, STOPPED or TIMED_OUT gets another attempt, which is SKIPPED. If the run has ended, the
instance runs again as restart_run() has it, with policy RESTART_FROM_SPECIFIC and the step among skip_steps; the step must be in no loop.
Null: it is SKIPPED already. Errors: as stop_step(); 55000 a step before it has to run again, too.
Locks: waits for a transaction that asks for an action on the same step; if the run has ended, as restart_run().';

create or replace function scylla.restart_step(workflow text, instance bigint, step text, iterations bigint[] = null, alone boolean = false) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_restart_step';
comment on function scylla.restart_step is
'Gives another attempt to a step of the last run of an instance. While the run goes on: to one that has ended as FATALLY_FAILED,
INTERNALLY_FAILED, STOPPED or TIMED_OUT, or that the restart of the run has left out; what follows it can then run. A loop goes on with what has
not succeeded, and a subworkflow that is waited for runs again. If the run has ended, the instance runs again as restart_run() has it, with
policy RESTART_FROM_SPECIFIC: from the step, also from one that has succeeded. Of loops around it only the iterations that it is in run again.
Returns at once.
  iterations  as for stop_step()
  alone       as for restart_run()
Returns the id of the action in the view scylla.workflow_action; that may be on a loop around the step, or on a step of a run above.
Errors: as stop_step(), but a run that has ended is none; 55000 a step before it has to run again, too; 42501, 55000 as restart_run().
Locks: as skip_step().';

create or replace function scylla.bypass_step(workflow text, instance bigint, step text, iterations bigint[] = null) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_bypass_step';
comment on function scylla.bypass_step is
'Has a step that is WAITING_FOR_SIGNALS go on without those that have not come; in the column signals of scylla.workflow_step these are
SKIPPED. Later attempts do not wait for them either. Returns at once.
  iterations  as for stop_step()
Returns the id of the action in the view scylla.workflow_action.
Errors: as stop_step(); 55000 the step does not wait for signals.
Locks: as stop_step().';
