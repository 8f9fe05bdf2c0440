-- Queues.

create or replace function scylla.create_queue(
    queue text, default_timeout interval = null, retention interval = null, aging double precision = 0,
    max_attempts integer = null, retry jsonb = null, retention_completed interval = null,
    retention_aborted interval = null, retention_cancelled interval = null, paused boolean = false,
    max_running integer = null, events boolean = false, notify boolean = false, max_running_per_key integer = null,
    max_depth integer = null, on_full text = 'error', key_weights jsonb = null,
    rate jsonb = null, rate_per_key jsonb = null, handler text = null, run_timeout interval = null)
    returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_create_queue';
comment on function scylla.create_queue is
'Creates a queue. The first submit to a queue also creates it, with default settings (scylla.auto_create_queues).
  default_timeout  duration of a lease when the worker passes none; null: scylla.default_timeout
  retention        how long finished tasks are kept; null: scylla.retention
  aging            priority points that a ready task gains per second since its submission, so that no task starves under a
                   stream of more important tasks; 0..1000. The effective priority goes up to 255
  max_attempts     for tasks that are submitted without it; null: no bound
  retry            delays between tries: {"initial": "1 s", "factor": 2, "max": "1 h", "jitter": 0}, all optional; null: these
  retention_completed, retention_aborted, retention_cancelled
                   how long tasks with this final status are kept; null: as retention
  paused           whether the queue starts paused
  max_running      how many of its tasks may run at once; null: no bound
  events           whether status changes of its tasks are recorded, for read_events()
  notify           whether NOTIFY scylla announces that an idle queue has a task to lease
  max_running_per_key  how many tasks of the same key may run at once; null: no bound. Tasks without a key are not bounded
  max_depth        how many of its tasks may be waiting or ready, checked at submit; null: no bound
  on_full          what happens to a submit that would exceed max_depth: error (53400), or shed: the task is cancelled at once
  key_weights      {"*": 1, "acme": 3}: keys that have tasks take turns, with that many leases each; "*" is for all other keys
                   (default 1), "" for tasks without a key. Within a key the order of the queue holds; null: tasks are leased in
                   the order of the queue
  rate             how many leases may start in a time: {"tasks": 100, "per": "1 s", "burst": 1}, the last two optional; null: no
                   bound. At most burst at once, and at most burst plus the rate in any time
  rate_per_key     the same for the tasks of each key; tasks without a key are not bounded
  handler          name of the function that runs the tasks inside the server: function (scylla.task) returns jsonb; null: none.
                   It runs as the owner of the queue. Only members of the owner may set it, with EXECUTE on the function
  run_timeout      how long one run of a task may take (null: with a handler scylla.handler_timeout), whatever its heartbeats; then it fails with the code run-timeout, and a server
                   worker interrupts the call of the handler; null: any time
Errors: 42710 it exists; 22023 bad argument; 42501 no privilege for the handler.';

create or replace function scylla.alter_queue(queue text, settings jsonb) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_alter_queue';
comment on function scylla.alter_queue is
'Changes settings of a queue, by the names of create_queue''s arguments; null is the default. Other settings stay.
max_running, max_running_per_key, max_depth, key_weights and rate_per_key, if the queue had none, are pending until the monitor, or
maintain(), has prepared its tasks: scylla.queue_settings.pending.
Needs admin. Errors: 42704 no such queue; 42501 no privilege; 22023 no such setting, or bad value. Locks: waits only for a
transaction that is changing the queue; only such changes, and creating and dropping a queue of the name, wait for it.';

create or replace function scylla.pause_queue(queue text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_pause_queue';
comment on function scylla.pause_queue is
'From now on no task of the queue can be leased. Running tasks continue, and tasks may be submitted.
Needs admin. Errors: 42704 no such queue; 42501 no privilege. Locks: as alter_queue.';

create or replace function scylla.resume_queue(queue text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_resume_queue';
comment on function scylla.resume_queue is
    'Ends the pause of a queue, and wakes the waiting workers. Errors and locks as for pause_queue.';

create or replace function scylla.drop_queue(queue text, force boolean = false) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_drop_queue';
comment on function scylla.drop_queue is
'Removes a queue; with force also its tasks, whatever their state. From the commit on they are invisible; the monitor, or maintain(),
cancels the live ones, which counts for tasks of other queues that depend on them, and removes all. Reads all tasks.
Needs admin. Errors: 42704 no such queue; 42501 no privilege; 2BP01 it has tasks, committed or not. Locks: waits for a
transaction that is changing the queue; submits to the queue, and changes of it, wait for this one.';

create or replace function scylla.register_worker() returns text
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_register_worker';
comment on function scylla.register_worker is
    'Returns a worker name that is new in this database: registered-1, registered-2 and so on. A rollback does not undo this.';

-- The settings of queues, for roles that may view their tasks. New columns are only appended.
create or replace view scylla.queue_settings with (security_barrier) as
    select name as queue, created, default_timeout, retention, aging, max_attempts, retry, retention_completed,
           retention_aborted, retention_cancelled, paused, max_running, events, notify, max_running_per_key,
           max_depth, on_full, key_weights, rate, rate_per_key, handler, run_timeout, pending
    from scylla.queue
    where scylla._may_view(owner, viewers, admins);
comment on view scylla.queue_settings is
    'The settings of every queue whose tasks the current user may view, by the names of create_queue''s arguments.';
comment on column scylla.queue_settings.queue is 'Name of the queue.';
comment on column scylla.queue_settings.created is 'When it was created.';
comment on column scylla.queue_settings.default_timeout is
    'Duration of a lease when the worker passes none; null: the setting scylla.default_timeout.';
comment on column scylla.queue_settings.retention is 'How long finished tasks are kept; null: the setting scylla.retention.';
comment on column scylla.queue_settings.aging is
    'Priority points that a ready task gains per second since its submission, up to an effective priority of 255; 0: none.';
comment on column scylla.queue_settings.max_attempts is 'For tasks that are submitted without it; null: no bound.';
comment on column scylla.queue_settings.retry is 'Delays between tries; null: 1 s, doubled up to 1 h.';
comment on column scylla.queue_settings.retention_completed is 'How long completed tasks are kept; null: as retention.';
comment on column scylla.queue_settings.retention_aborted is 'How long aborted tasks are kept; null: as retention.';
comment on column scylla.queue_settings.retention_cancelled is 'How long cancelled tasks are kept; null: as retention.';
comment on column scylla.queue_settings.paused is 'Whether no task can be leased.';
comment on column scylla.queue_settings.max_running is 'How many tasks may run at once; null: no bound.';
comment on column scylla.queue_settings.events is 'Whether status changes of its tasks are recorded, for read_events().';
comment on column scylla.queue_settings.notify is 'Whether NOTIFY scylla announces that an idle queue has a task to lease.';
comment on column scylla.queue_settings.max_running_per_key is 'How many tasks of the same key may run at once; null: no bound.';
comment on column scylla.queue_settings.max_depth is 'How many tasks may be waiting or ready, checked at submit; null: no bound.';
comment on column scylla.queue_settings.pending is
    'Settings that are recorded but not in effect yet, because the tasks are not prepared for them; null: none.';
comment on column scylla.queue_settings.rate is 'How many leases may start in a time; null: no bound.';
comment on column scylla.queue_settings.rate_per_key is
    'How many leases of tasks of the same key may start in a time; null: no bound.';
comment on column scylla.queue_settings.on_full is
    'What happens to a submit that would exceed max_depth: error, or shed: the task is cancelled at once.';
comment on column scylla.queue_settings.handler is 'The function that the server calls for each task; null: none.';
comment on column scylla.queue_settings.run_timeout is 'How long one run of a task may take; null: any time.';
comment on column scylla.queue_settings.key_weights is
    'How many leases the turn of each key has; null: tasks are leased in the order of the queue.';

