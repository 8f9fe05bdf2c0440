-- Waiting for tasks. These are procedures: a function would hold its statement's snapshot while it waits, and hold back vacuum. They
-- commit, so they cannot be called in a transaction block, and must not set search_path (the server would not let them commit).

create or replace procedure scylla.wait(queue text, timeout interval = '30 s', inout ready boolean = null)
    language c as 'MODULE_PATHNAME', 'scylla_wait';
comment on procedure scylla.wait is
'Sets ready to true as soon as the queue may have a task to lease, and to false when the timeout passes. If another worker is
faster, lease() returns nothing, and the worker waits again. The queue need not exist yet.
  timeout  more than 0, up to 365 days
Waits without a snapshot and without a transaction id. The commit that makes tasks ready wakes one waiter per task. Without
shared_preload_libraries the procedure looks for tasks four times a second instead.
Errors: 25001 inside a transaction block; 22023 bad argument; 57014 statement_timeout or a cancel request.';

create or replace procedure scylla.wait_any(queues text[], timeout interval = '30 s', inout queue text = null)
    language c as 'MODULE_PATHNAME', 'scylla_wait_any';
comment on procedure scylla.wait_any is
    'The same for up to 64 queues: returns the name of a queue that may have a task to lease, null when the timeout passes.';

