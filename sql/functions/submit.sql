-- Submitting.

create or replace function scylla.submit(
    queue text, spec jsonb, priority integer = 0, rn text = null, not_before timestamptz = null,
    depends_on text[] = null, on_dependency_failure text = 'cascade', plan text = null, max_attempts integer = null,
    retry jsonb = null, dedup_key text = null, key text = null, on_duplicate text = 'error')
    returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_submit';
comment on function scylla.submit is
'Submits a task; it exists, and can be leased, once the transaction commits. Returns it.
  queue         created if it does not exist (scylla.auto_create_queues)
  spec          what is to be done; the worker gets it as it is
  priority      0..127; 127 is leased first
  rn            1..200 characters, unique in the database; null: a UUIDv7
  not_before    the task waits until then
  max_attempts  that many failures and expired leases abort it; null: the queue''s, else no bound
  depends_on    tasks that have to be completed first; their results become its args, in this order
  on_dependency_failure  what an aborted or cancelled one of these does: ''cascade'' aborts this task, too, ''skip'' cancels it,
                ''ignore'' counts as completed
  plan          the plan that it belongs to
  retry         delays between tries, as for create_queue; null: the queue''s at the time of the failure
  dedup_key     unique among the live tasks of the queue
  key           whose work it is (a tenant, a customer, a host), for limits per key
  on_duplicate  what to do if rn or dedup_key is taken: ''error'', or ''ignore'': return the existing task unchanged
Errors: 22023 bad argument; 23505 rn is taken (on ''ignore'': by a task that the caller may not see); 42704 unknown queue, if
queues are not created on first use; 42501 no right to submit to the queue; 53400 the queue has reached its max_depth.
Locks: waits for a transaction that is just submitting the same rn or the same new queue.';

create or replace function scylla.submit_many(tasks jsonb, on_duplicate text = 'ignore', out rn text, out inserted boolean)
    returns setof record
    language c volatile parallel unsafe rows 100 as 'MODULE_PATHNAME', 'scylla_submit_many';
comment on function scylla.submit_many is
'Submits an array of tasks, objects with the names of submit''s arguments as keys; queue and spec are mandatory. One row per
element in array order: its rn, and whether it was inserted (false: the rn was taken already, perhaps by an earlier element).
Errors: 22023 malformed, naming the element; 23505 if on_duplicate is ''error'' and an rn is taken; 53400 not all of them
may be in their queue. On any error nothing is submitted.';

create or replace function scylla.submit_bulk(queue text, specs jsonb[], rns text[] = null, priority integer = 0) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_submit_bulk';
comment on function scylla.submit_bulk is
'Submits one task per element of specs to one queue, fast. rns names them, in the same order; null: UUIDv7. Returns how many.
Errors: 22023 bad argument, naming the element; 23505 if an rn is taken; 53400 not all of them may be in the queue. On any error nothing is submitted.';

