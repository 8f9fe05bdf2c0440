-- Keeping a lease.

create or replace function scylla.heartbeat(rn text, worker text, progress double precision = null, timeout interval = null,
                                 attempt integer = null)
    returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_heartbeat';
comment on function scylla.heartbeat is
'Extends the lease to timeout from now (null: the duration that the lease was given) and stores the progress, 0..1 (null:
unchanged).
  attempt  the attempt of the lease, to fence off other runs under the same worker name
Returns the task without spec and args.
Errors: P0002 no such task; 55000 the lease is lost: the task was cancelled, finished, timed out or leased to another worker.';

create or replace function scylla.heartbeat_many(rns text[], worker text, timeout interval = null, attempts integer[] = null,
                                      out rn text, out held boolean, out status scylla.task_status)
    returns setof record
    language c volatile parallel unsafe rows 100 as 'MODULE_PATHNAME', 'scylla_heartbeat_many';
comment on function scylla.heartbeat_many is
'Extends many leases. Returns one row per element of rns, in order: whether the worker still holds the lease (which was then
extended), and the status of the task. A lost lease is no error. Each element is checked with its own attempt. If several elements
hold one task, held is true for the first. For an unknown task the status is null.
Errors: 22023 a null element, or arrays of different length.';

