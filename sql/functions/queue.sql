-- Queues.

create function scylla.create_queue(queue text, default_timeout interval = null, retention interval = null,
                                    aging double precision = 0)
    returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_create_queue';
comment on function scylla.create_queue is
'Creates a queue. A queue is otherwise created by its first submit, with default settings (scylla.auto_create_queues).
  default_timeout  how long a lease lasts when the worker does not say; null: scylla.default_timeout
  retention        how long its tasks stay after they have ended; null: scylla.retention
  aging            priority points that a ready task gains per second since its submission, so that nothing starves under a
                   stream of more important tasks; 0..1000. Its effective priority goes up to 255
Errors: 42710 it exists; 22023 bad argument.';

create function scylla.register_worker() returns text
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_register_worker';
comment on function scylla.register_worker is 'A worker name that nobody else has: worker-1, worker-2, … Not undone by a rollback.';

