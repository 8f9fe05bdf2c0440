-- Waiting in the middle of a task: a running task gives up its lease, and continues later, perhaps with another worker. Both return the task
-- without spec and args. They fail with 55000 if the worker (or the attempt) does not hold the task, and with P0002 if the task does
-- not exist.

create or replace function scylla.not_yet(rn text, worker text, retry_after interval = null, attempt integer = null)
    returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_not_yet';
comment on function scylla.not_yet is
'Answers "not yet" for a task that asks for something outside: the task becomes ready again after retry_after. Null: a check after
the smallest "every" of its waiters; other tasks after the first delay of the retry policy of the task or its queue, else 1 s.
This is not a failure, and nothing is added to the history: the task only counts its answers.
Errors: P0002 no such task; 55000 the lease is lost; 22023 bad argument.';

create or replace function scylla.defer(rn text, worker text, wait_for jsonb, state jsonb = null, attempt integer = null)
    returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_defer';
comment on function scylla.defer is
'Ends the lease until the conditions in wait_for have ended. Then the task is ready again, for any worker, with their values as args.
  wait_for  as for submit(); timeouts count from now. It replaces everything that the task waited for before
  state     for the worker that leases the task next; null: the state is kept
This is not a failure. Errors: P0002 no such task, or something in wait_for does not exist; 55000 the lease is lost; 42501 no right to wait for
it; 22023 bad argument, or the task would wait for itself.';
