-- Changes of waiting tasks, and removal of tasks that have ended.

create or replace function scylla.reschedule(rn text, not_before timestamptz = null) returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_reschedule';
comment on function scylla.reschedule is
'Changes the time at which a task becomes ready, and returns the task. It must be ready, or wait for its time or its next attempt.
  not_before  a time in the past or null: now
Errors: P0002 no such task; 55000 it runs, has ended, or waits for other tasks, its plan or a condition; 22023 bad argument. Locks:
waits for a transaction that is changing the task.';

create or replace function scylla.set_priority(rn text, priority integer) returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_set_priority';
comment on function scylla.set_priority is
'Changes the priority of a task that is waiting or ready, and returns the task. Within a priority the oldest task still comes first.
  priority  0..127; 127 is leased first; null: 0
Errors: P0002 no such task; 55000 it runs or has ended; 22023 bad argument. Locks: waits for a transaction that is changing the
task.';

create or replace function scylla.delete_task(rn text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_delete_task';
comment on function scylla.delete_task is
'Removes a task that has ended, before its retention has passed. Its name can be used again.
Errors: P0002 no such task; 55000 it has not ended, or a live task depends on it; 42501 no right to administer its queue. Locks:
waits for a transaction that is making a task depend on it.';
