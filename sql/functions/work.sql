-- Handlers: functions that run tasks inside the server.

-- It commits, as wait does (functions/wait.sql).
create or replace procedure scylla.work(queue text, max_tasks integer = null, timeout interval = '0', inout tasks bigint = null)
    language c as 'MODULE_PATHNAME', 'scylla_work';
comment on procedure scylla.work is
'Runs tasks of a queue with its handler, in this session and as its user. Ends when max_tasks tasks have run, or when no task could be
leased for timeout. Sets tasks to the number of tasks that it has run, however they ended.
  max_tasks  at least 1; null: no bound
  timeout    how long to wait each time for another task; 0: it ends when there is none
Each task is leased in a transaction of its own; the call of the handler and the completion are one transaction.
Errors: 42704 no such queue; 42501 no privilege; 55000 the queue has no handler; 25001 inside a transaction block; 22023 bad argument;
57014 statement_timeout or a cancel request: the task is given back.';
