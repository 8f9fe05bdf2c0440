-- Plans: sets of tasks that are watched, cancelled and finished as one.

create or replace function scylla.create_plan(name text = null, spec jsonb = null) returns text
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_create_plan';
comment on function scylla.create_plan is
'Creates a plan to which submit can add tasks; none of them starts before open_plan(). Returns its name.
  name  1..200 characters, unique among plans; null: a generated UUIDv7
  spec  a description of the plan
Errors: 42710 the name is taken; 22023 bad argument.';

create or replace function scylla.open_plan(plan text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_open_plan';
comment on function scylla.open_plan is
'Lets the tasks of a plan start, first those without dependencies. Tasks can be added until the plan is finished; a plan without a
live task is finished at once.
Errors: P0002 no such plan; 55000 it is open already or has ended. Locks: waits for transactions that are adding tasks.';

create or replace function scylla.cancel_plan(plan text) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_cancel_plan';
comment on function scylla.cancel_plan is
'Cancels a plan and all its live tasks. Returns the number of cancelled tasks.
Errors: P0002 no such plan; 55000 it has ended. Locks: waits for transactions that are adding or changing tasks of the plan.';

create or replace function scylla.plan_completed(plan text) returns boolean
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_plan_completed';
comment on function scylla.plan_completed is
'Whether a plan is completed: finished, and neither failed nor cancelled. Reads the latest state at any isolation level.
Errors: P0002 no such plan.';

create or replace function scylla.set_plan_owner(plan text, owner text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_set_plan_owner';
comment on function scylla.set_plan_owner is
'Transfers a plan to another role. The caller must be a member of its owner and able to become the new owner (SET ROLE), or a
superuser.
Errors: P0002 no such plan; 42704 no such role; 42501 no privilege; 22023 bad argument. Locks: waits for transactions that are
adding tasks.';

create or replace procedure scylla.wait_plan(plan text, timeout interval = '30 s', inout finished boolean = null)
    language c as 'MODULE_PATHNAME', 'scylla_wait_plan';
comment on procedure scylla.wait_plan is
'Waits until a plan is finished: completed, failed or cancelled. Returns false when the timeout passes first. Holds no snapshot and
no transaction meanwhile. Call it as a statement of its own.
Errors: P0002 no such plan; 25001 inside a transaction block; 22023 bad argument.';
