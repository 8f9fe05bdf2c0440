-- Holds, which keep steps and runs of workflows from beginning: see docs/workflows.md.

create or replace function scylla.set_breakpoint(workflow text, step text, version int = null, instance bigint = null, run int = null) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_set_breakpoint';
comment on function scylla.set_breakpoint is
'Has each attempt of a step that is to begin be PAUSED, until resume_step(); in a loop, in every iteration. One that is there already
gets a new author and time.
  version, instance, run  where; null: in all. A run is one of an instance
Errors: 42704 no such workflow or version; 42501 no privilege run; P0002 no such instance, or that version (of the instance, the active
one, or else the latest) has no such step; 22023 bad argument. Locks: waits for a transaction that starts or changes the same workflow.';

create or replace function scylla.drop_breakpoint(workflow text, step text, version int = null, instance bigint = null, run int = null,
    resume boolean = false) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_drop_breakpoint';
comment on function scylla.drop_breakpoint is
'Removes a breakpoint: the one with this very version, instance and run. Steps that are PAUSED stay so.
  resume  let all those go on that it could have stopped, also if they stop at another breakpoint, or because of pause_step()
Errors: 42704 no such workflow; 42501 no privilege run; P0002 no such breakpoint; 22023 bad argument. Locks: waits for a transaction
that starts or changes the same workflow.';

create or replace function scylla.pause_step(workflow text, instance bigint, step text, iterations bigint[] = null) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_pause_step';
comment on function scylla.pause_step is
'Has a step of the last run of an instance be PAUSED when its next attempt is to begin, until resume_step(). It may not have been created
yet, as its iteration may not. A step that begins at this moment runs; if it is tried again, it is PAUSED then.
  iterations  the numbers of the iterations that the step is in, the outer one first; null or empty: it is in no loop
Errors: 42704 no such workflow; 42501 no privilege run; P0002 no such instance, step or iteration; 55000 the run has ended, or the step
has begun or ended; 22023 bad argument. Locks: waits for a transaction that starts or changes the same workflow.';

create or replace function scylla.resume_step(workflow text, instance bigint, step text, iterations bigint[] = null) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_resume_step';
comment on function scylla.resume_step is
'Lets a step go on that is PAUSED: this attempt of it, also if a breakpoint remains. Ends pause_step().
Returns the id of the action in the view scylla.workflow_action; null: pause_step() has not stopped the step yet, and will not.
Errors: 42704 no such workflow; 42501 no privilege run; P0002 no such instance, step or iteration; 55000 the run has ended, the step is not
PAUSED, or another action on it has not been taken up yet; 22023 bad argument. Locks: waits for a transaction that asks for an action on
the same step, or resumes it.';

create or replace function scylla.pause_workflow(workflow text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_pause_workflow';
comment on function scylla.pause_workflow is
'Lets nothing more of a workflow begin: runs that are started wait as CREATED, steps stay INITIALIZED or WAITING_FOR_SIGNALS. What runs goes
on, and so do the timeouts of runs. No error if it is paused already. Errors: 42704 no such workflow; 42501 no privilege run; 22023 bad
argument. Locks: waits for a transaction that starts or changes the same workflow.';

create or replace function scylla.resume_workflow(workflow text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_resume_workflow';
comment on function scylla.resume_workflow is
'Ends pause_workflow(): what waited goes on. No error if it is not paused. Errors and locks: as pause_workflow().';
