-- Finishing. All of these return the task without spec and args. They fail with 55000 if the worker (or the attempt) does not hold
-- the task, and with P0002 if the task does not exist.

create or replace function scylla.complete(rn text, worker text, result jsonb = null, metrics jsonb = null, attempt integer = null)
    returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_complete';
comment on function scylla.complete is
'Ends a task as completed, with its result and figures about the run; progress becomes 1.
Errors: P0002 no such task; 55000 the lease is lost. Locks: waits for a transaction that is changing the task.';

create or replace function scylla.complete_many(rns text[], worker text, results jsonb[] = null, attempts integer[] = null,
                                     out rn text, out completed boolean, out status scylla.task_status)
    returns setof record
    language c volatile parallel unsafe rows 100 as 'MODULE_PATHNAME', 'scylla_complete_many';
comment on function scylla.complete_many is
'Completes many tasks. Returns one row per element of rns, in order: whether this call completed the task, and the status of the
task now. A lost lease is no error. Each element is checked with its own attempt. If several elements hold one task, completed is
true for the first. For an unknown task the status is null.
Errors: 22023 a null element in rns, or arrays of different length.';

create or replace function scylla.complete_and_lease(rns text[], worker text, queue text, max_tasks integer = 1,
                                          timeout interval = null, results jsonb[] = null, attempts integer[] = null)
    returns setof scylla.task
    language c volatile parallel unsafe rows 10 as 'MODULE_PATHNAME', 'scylla_complete_and_lease';
comment on function scylla.complete_and_lease is
'Completes the tasks in rns and leases the next tasks of queue: a worker''s whole loop in one call.
Errors: 55000 one of rns is no longer held: the message names the task, and nothing is changed. 22023 bad argument.';

create or replace function scylla.abort(rn text, worker text, error jsonb, attempt integer = null) returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_abort';
comment on function scylla.abort is
'Ends a task as aborted: it cannot be done, and is not retried.
  error  an object with a string "code"; "args" and "message" default to {} and "". A "description" without a "message" becomes the message
Errors: P0002 no such task; 55000 the lease is lost; 22023 bad argument.';

create or replace function scylla.fail(rn text, worker text, error jsonb, retry_after interval = null, attempt integer = null)
    returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_fail';
comment on function scylla.fail is
'Reports an error that may pass. The task is retried after retry_after (null: the delay of the retry policy of the task or its
queue, else 1 s, doubled with each failure up to 1 h). It is aborted when it has max_attempts failures.
  error  as for abort
Errors: P0002 no such task; 55000 the lease is lost; 22023 bad argument.';

create or replace function scylla.backoff(count integer, initial interval = '100 ms', factor double precision = 1.5,
                               max interval = '10 s')
    returns interval
    language c immutable parallel safe as 'MODULE_PATHNAME', 'scylla_backoff';
comment on function scylla.backoff is
'The delay before try number count, from 0: initial * factor ^ count, but not more than max. For workers that poll; fail() uses it
too.
Errors: 22023 bad argument.';

