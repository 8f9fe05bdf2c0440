-- Yielding and cancelling.

create or replace function scylla.yield(rn text, worker text, attempt integer = null) returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_yield';
comment on function scylla.yield is
'Returns a task unfinished: it is ready again at once, for any worker. A yield is no failure. Returns the task without spec and
args.
Errors: P0002 no such task; 55000 the lease is lost.';

create or replace function scylla.cancel(rn text) returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_cancel';
comment on function scylla.cancel is
'Ends a waiting, ready or running task as cancelled. The next call of its worker for the task fails with 55000.
Errors: P0002 no such task; 55000 it has ended already. Locks: waits for a transaction that is changing the task.';

