-- Leasing.

create or replace function scylla.lease(queue text, worker text, max_tasks integer = 1, timeout interval = null)
    returns setof scylla.task
    language c volatile parallel unsafe rows 10 as 'MODULE_PATHNAME', 'scylla_lease';
comment on function scylla.lease is
'Leases up to max_tasks ready tasks: highest priority first, then oldest first. Skips tasks that another transaction is leasing.
Returns no rows when no task is ready, or when the queue does not exist.
  worker   1..200 characters; every later call for these tasks must pass this name
  timeout  how long the lease lasts unless a heartbeat extends it, up to 365 days; null: the queue''s (10 s by default)
Errors: 22023 bad argument. Locks: waits for no transaction.';

create or replace function scylla.lease_task(rn text, worker text, timeout interval = null) returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_lease_task';
comment on function scylla.lease_task is
'Leases one given task. Errors: P0002 no such task; 55000 it is not ready; 22023 bad argument.
Locks: waits for a transaction that is changing the task.';

