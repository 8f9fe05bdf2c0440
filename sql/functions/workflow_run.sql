-- Runs of workflows: see docs/workflows.md.

create or replace function scylla.start_workflow(workflow text, params jsonb = '{}', version text = 'active', request_id text = null, step_params jsonb = '{}',
    out code int, out workflow_id text, out instance bigint, out run int, out status text)
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_start_workflow';
comment on function scylla.start_workflow is
'Starts a new instance of a workflow. The run strategy decides what happens to it, and to others, while others have not ended.
  params      an object: parameters as in definitions ({"type", "value"}), or just values
  version     active, latest, default (the active one or else the latest), or a number
  request_id  1..200 characters; null: none. The same id starts a workflow only once
  step_params an object with an object like params for each step, which is not in a loop; for all runs of the instance
Returns code 1: the run is started, or waits for its turn; 0: request_id has been used before, and this is its run; -1: FIRST_ONLY has
stopped the run at once. status is CREATED until the engine processes the run, or STOPPED.
Errors: 42704 no such workflow or version; 42501 no privilege run; 55000 no version is active; 22023 bad argument, or parameters that
cannot be evaluated. Locks: waits for a transaction that starts or changes the same workflow.';

create or replace function scylla.start_workflows(requests jsonb,
    out code int, out workflow text, out instance bigint, out run int, out status text) returns setof record
    language c volatile parallel unsafe rows 100 as 'MODULE_PATHNAME', 'scylla_start_workflows';
comment on function scylla.start_workflows is
'Starts an array of instances: objects whose keys are the names of start_workflow''s arguments; workflow is mandatory. Those of one
workflow start in their order. Returns one row per element, in array order, as start_workflow() does; code -1 also for a run that a later
element has replaced (LAST_ONLY, SERIAL_LATEST_ONLY).
Errors: those of start_workflow(), with the element in the message or the context. On any error nothing is started. Locks: as
start_workflow(), one workflow after the other in the order of their ids.';

create or replace function scylla.restart_run(workflow text, instance bigint, policy text = 'RESTART_FROM_INCOMPLETE', params jsonb = '{}',
    step_params jsonb = '{}', skip_steps text[] = '{}', step text = null, alone boolean = false,
    out code int, out run int, out status text, out of_workflow text, out of_instance bigint)
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_restart_run';
comment on function scylla.restart_run is
'Runs an instance again whose last run has ended: its version, with the parameters of that run. If a step of another run started it as a
subworkflow and waits for it, that step runs again, and so do the runs above it. The topmost run that has ended gets a new run, in which
only the path down to the instance and what follows it run again. Or the step of the nearest run that has not ended gets another attempt.
  policy       RESTART_FROM_INCOMPLETE: steps that are not complete, and what follows them; RESTART_FROM_BEGINNING: all steps;
               RESTART_FROM_SPECIFIC: a step, and what follows it
  params       parameters to change: an object as of start_workflow()
  step_params  an object with such an object for steps that run again
  skip_steps   of these, the ones that are skipped
  step         with RESTART_FROM_SPECIFIC only
  alone        the instance runs by itself: what has started it does not hear of that
Returns code and status as start_workflow() does, and the run: its number, workflow and instance. Code 2: a run above goes on, it is this
one. The instance then runs again when its step begins.
Errors: 42704 no such workflow; 42501 no privilege run on it, or on the workflow of a run above; P0002 no such instance; 55000 its last run
has not ended, all its steps are complete, a step before that one has to run again, or the step above cannot be restarted; 22023 bad argument, or parameters that cannot be evaluated. Locks: waits for a transaction that
starts or changes the same workflow.';

create or replace function scylla.stop_run(workflow text, instance bigint) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_stop_run';
comment on function scylla.stop_run is
'Ends the last run of an instance as STOPPED: its tasks are cancelled, and nothing more begins. Returns at once. No error if it is already STOPPED.
Errors: 42704 no such workflow; 42501 no privilege run; P0002 no such instance; 55000 it has ended otherwise; 22023 bad argument.';

create or replace function scylla.kill_run(workflow text, instance bigint) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_kill_run';
comment on function scylla.kill_run is 'The same, but the run ends as FAILED. Errors: as stop_run().';

create or replace function scylla.unblock_run(workflow text, instance bigint) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_unblock_run';
comment on function scylla.unblock_run is
'Lets STRICT_SEQUENTIAL start other runs although the last run of an instance has failed; no error if it already does.
Errors: 42704 no such workflow; 42501 no privilege run; P0002 no such instance; 55000 its last run has not failed; 22023 bad argument.
Locks: waits for a transaction that changes the same run.';

create or replace function scylla.unblock_workflow(workflow text) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_unblock_workflow';
comment on function scylla.unblock_workflow is
'The same for all runs of a workflow. Returns the number of runs that blocked others. Errors: 42704, 42501, 22023 as unblock_run().';

create or replace procedure scylla.advance(inout turns bigint = null)
    language c as 'MODULE_PATHNAME', 'scylla_advance';
comment on procedure scylla.advance is
'Does the work of the engine of workflows in this session, until there is nothing more to do: for servers that do not preload the library,
and for tests. turns: the number of transactions. Errors: 25001 inside a transaction block.';

create or replace function scylla._advance() returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_advance_here';
comment on function scylla._advance is 'Internal: what advance() does, as a part of this transaction. Returns the number of turns.';

create or replace function scylla.set_output(rn text, params jsonb, artifacts jsonb = null, worker text = null, attempt int = null) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_set_output';
comment on function scylla.set_output is
'Sets output of the task of a step before the task has ended. It is read when the task is completed, as if it were in the result. The result
overrides it, and a later call overrides an earlier one, member by member. If the attempt is not completed, only maestro_retry is read.
  params     values of parameters of the step; null: none
  artifacts  an object; maestro_dynamic_output: {"signal_outputs": [...]}: more signals; maestro_retry: {"retryable": false}: the step is
             not retried; null: none
  worker     the worker that must hold the lease; null: any
  attempt    the attempt of the task, which must be the current one; null: any
Errors: P0002 no such task; 42501 no privilege work; 55000 another worker holds the lease; 22023 bad argument, a task that is not running or belongs
to no step, or a parameter that the step does not have.';

create or replace function scylla.run_sql(task scylla.task) returns jsonb
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_run_sql';
comment on function scylla.run_sql is
'The handler of queues for steps of type Sql: create_queue(''sql'', handler => ''scylla.run_sql''). Runs the statement of the step to which the
task belongs, as the current user, with the parameters of the step as $1 (jsonb). Columns of its row that are named like parameters of the
step become their values. Statement and parameters are those of the workflow, whatever the task says.
Returns {"rows": ..., "params": {...}}.
Errors: 42501 the owner of the workflow, or the author of the version, cannot become the current user; 55000 the task belongs to no running
step of type Sql; 21000, 22004 several rows, or null, for a parameter; 2D000, 0A000 the statement ends the transaction, or copies from or to
the client; 22023 bad argument; and those of the statement.';
