-- Submitting.

create or replace function scylla.submit(
    queue text, spec jsonb, priority integer = 0, rn text = null, not_before timestamptz = null,
    depends_on text[] = null, on_dependency_failure text = 'cascade', plan text = null, max_attempts integer = null,
    retry jsonb = null, dedup_key text = null, key text = null, on_duplicate text = 'error',
    wait_for jsonb = null, needs jsonb = null, expected_runtime interval = null, dedup_for interval = null,
    debounce interval = null, run_timeout interval = null)
    returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_submit';
comment on function scylla.submit is
'Submits a task and returns it. The task exists, and can be leased, when the transaction commits.
  queue         created if it does not exist (scylla.auto_create_queues)
  spec          what to do; passed to the worker unchanged
  priority      0..127; 127 is leased first
  rn            1..200 characters, unique in the database; null: a generated UUIDv7
  not_before    the task waits until this time
  max_attempts  number of failures and expired leases that abort it; null: the queue''s, else scylla.default_max_attempts
  depends_on    tasks that must be completed first; their results become its args, in this order
  on_dependency_failure  what happens when one of these is aborted or cancelled: ''cascade'' aborts this task too, ''skip'' cancels it,
                ''ignore'' treats the other task as completed
  plan          the plan of the task
  retry         delays between tries, as for create_queue; null: the queue''s at the time of the failure
  dedup_key     unique among the live tasks of the queue
  key           the tenant, customer or host that the task is for; used by limits per key
  wait_for      what else must happen first: an array of {"callback": token}, {"signal": name, "match": {...}, "since": time},
                {"check": {"queue": queue, "spec": question, "every": interval}} and {"task": rn}, each perhaps with "on_failure", by default on_dependency_failure, and with "timeout" and
                "on_timeout": "abort", "skip" or "ignore", a check also with "execution_timeout" and "retries": each of so many tries more has that time;
                their values follow those of depends_on in args
  needs         what it needs of pools: {"pool": {"resource": amount}}, of all of them at once, or {"any": ["pool", "pool"],
                "resource": amount}, of one of them; it is ready once it has been placed
  expected_runtime  how long it will hold that, for planning (docs/pools.md); null: not known
  dedup_for     the dedup_key stays taken for this time after the submission, also when the task has been completed before
  debounce      the task starts when its dedup_key has not been submitted again for this time; the last spec counts. As
                on_duplicate ''replace'' with a not_before
  run_timeout   how long one run of it may take, whatever its heartbeats; null: the queue''s at the time of the run
  on_duplicate  if rn or dedup_key is taken: ''error'', or ''ignore'' to return the existing task unchanged, or
                ''replace'' to give it spec, priority and not_before while it waits or is ready; one that runs gives its dedup_key to the
                new task
Errors: 22023 bad argument, or needs that no pool can meet; 23505 rn is taken (with ''ignore'': by a task that the caller may not see); 42704 unknown queue, if
queues are not created on first use; 42501 no right to submit to the queue, or to use the pool; 53400 the queue has reached its max_depth.
Locks: waits for a transaction that is submitting the same rn or creating the same queue.';

create or replace function scylla.submit_many(tasks jsonb, on_duplicate text = 'ignore', out rn text, out inserted boolean)
    returns setof record
    language c volatile parallel unsafe rows 100 as 'MODULE_PATHNAME', 'scylla_submit_many';
comment on function scylla.submit_many is
'Submits an array of tasks: objects whose keys are the names of submit''s arguments; queue and spec are mandatory. Returns one row
per element, in array order: its rn, and whether it was inserted (false: the rn was taken, perhaps by an earlier element).
Errors: 22023 malformed, naming the element; 23505 if on_duplicate is ''error'' and an rn is taken; 53400 a queue has no room for
all of its tasks. On any error nothing is submitted.';

create or replace function scylla.submit_bulk(queue text, specs jsonb[], rns text[] = null, priority integer = 0) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_submit_bulk';
comment on function scylla.submit_bulk is
'Submits one task per element of specs to one queue, fast. rns names them, in the same order; null: UUIDv7. Returns the number of
tasks.
Errors: 22023 bad argument, naming the element; 23505 if an rn is taken; 53400 the queue has no room for all of them. On any error
nothing is submitted.';

