-- Holds, which keep steps and runs of workflows from beginning: see docs/workflows.md.

create or replace function scylla.set_breakpoint(workflow text, step text, version int = null, instance bigint = null, run int = null) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_set_breakpoint';
comment on function scylla.set_breakpoint is
'Sets a breakpoint: each attempt of the step is PAUSED before it begins, until resume_step(); in a loop, in every iteration. An existing
breakpoint gets a new author and time.
  version, instance, run  where; null: in all. A run needs its instance
Errors: 42704 no such workflow or version; 42501 no privilege run; P0002 no such instance, or that version (of the instance, the active
one, or else the latest) has no such step; 22023 bad argument. Locks: waits for a transaction that starts or changes the same workflow.';

create or replace function scylla.drop_breakpoint(workflow text, step text, version int = null, instance bigint = null, run int = null,
    resume boolean = false) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_drop_breakpoint';
comment on function scylla.drop_breakpoint is
'Removes the breakpoint with exactly this version, instance and run. Steps that are PAUSED stay PAUSED.
  resume  resume all steps that it may have stopped, even those that another breakpoint or pause_step() also stops
Errors: 42704 no such workflow; 42501 no privilege run; P0002 no such breakpoint; 22023 bad argument. Locks: waits for a transaction
that starts or changes the same workflow.';

create or replace function scylla.pause_step(workflow text, instance bigint, step text, iterations bigint[] = null) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_pause_step';
comment on function scylla.pause_step is
'Pauses a step of the last run of an instance: it is PAUSED before its next attempt begins, until resume_step(). The step, and its
iteration, need not exist yet. A step that begins at this moment runs; if it is retried, it is PAUSED then.
  iterations  the numbers of the iterations that the step is in, the outer one first; null or empty: it is in no loop
Errors: 42704 no such workflow; 42501 no privilege run; P0002 no such instance, step or iteration; 55000 the run has ended, or the step
has begun or ended; 22023 bad argument. Locks: waits for a transaction that starts or changes the same workflow.';

create or replace function scylla.resume_step(workflow text, instance bigint, step text, iterations bigint[] = null) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_resume_step';
comment on function scylla.resume_step is
'Resumes a PAUSED step: this attempt continues, even if there is still a breakpoint. Ends pause_step().
Returns the id of the action in the view scylla.workflow_action; null: pause_step() has not stopped the step yet, and will not.
Errors: 42704 no such workflow; 42501 no privilege run; P0002 no such instance, step or iteration; 55000 the run has ended, the step is not
PAUSED, or another action on it is still pending; 22023 bad argument. Locks: waits for a transaction that requests an action on
the same step, or resumes it.';

create or replace function scylla.pause_workflow(workflow text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_pause_workflow';
comment on function scylla.pause_workflow is
'Pauses a workflow: nothing more begins. New runs wait as CREATED, steps stay INITIALIZED or WAITING_FOR_SIGNALS. Running steps continue,
and so do the timeouts of runs. No error if it is already paused. Errors: 42704 no such workflow; 42501 no privilege run; 22023 bad
argument. Locks: waits for a transaction that starts or changes the same workflow.';

create or replace function scylla.resume_workflow(workflow text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_resume_workflow';
comment on function scylla.resume_workflow is
'Ends the pause of a workflow: what waited continues. No error if it is not paused. Errors and locks: as pause_workflow().';
