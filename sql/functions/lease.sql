-- Leasing.

create or replace function scylla.lease(queue text, worker text, max_tasks integer = 1, timeout interval = null)
    returns setof scylla.task
    language c volatile parallel unsafe rows 10 as 'MODULE_PATHNAME', 'scylla_lease';
comment on function scylla.lease is
'Leases up to max_tasks ready tasks: highest priority first, then oldest first. Tasks that another transaction is just
leasing are passed over. An empty set when there is none, or when nobody has used the queue.
  worker   1..200 characters; every later call about these tasks must name it
  timeout  how long the lease lasts unless a heartbeat extends it, up to 365 days; null: the queue''s (10 s by default)
Errors: 22023 bad argument. Locks: none that it waits for.';

create or replace function scylla.lease_task(rn text, worker text, timeout interval = null) returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_lease_task';
comment on function scylla.lease_task is
'Leases one given task. Errors: P0002 no such task; 55000 it is not ready; 22023 bad argument.
Locks: waits for a transaction that is just changing the task.';

