-- Finds tasks by a filter, and acts on them, in portions.

create or replace function scylla.find_tasks(
    filter jsonb = '{}', max_tasks integer = 100, after text = null, max_looks integer = 10000,
    out cursor text, out task scylla.task)
    returns setof record
    language c volatile parallel unsafe rows 100 as 'MODULE_PATHNAME', 'scylla_find_tasks';
comment on function scylla.find_tasks is
'Returns up to max_tasks tasks that match a filter. If the filter has the status ready, they are ordered by priority and age, otherwise
newest first.
  filter     an object; a missing or null member is any
               queue, status (or "live": waiting, ready or running), worker, key
               code            of its last error
               spec            is contained in its spec
               created_after   it was submitted then or later
               created_before  it was submitted earlier
  after      continue behind this cursor; null: from the beginning
  max_looks  stop after so many rows, whether they match or not; of those of other queues, or that have ended with another status, ten count as one
Each row has the cursor of its task. If there may be more, a last row has no task; continue with its cursor.
Errors: 22023 bad argument.';

create or replace function scylla.cancel_many(
    filter jsonb, max_tasks integer = 1000, after text = null, preview boolean = false, max_looks integer = 10000,
    out cursor text, out rn text, out status scylla.task_status, out problem text)
    returns setof record
    language c volatile parallel unsafe rows 100 as 'MODULE_PATHNAME', 'scylla_cancel_many';
comment on function scylla.cancel_many is
'Cancels up to max_tasks waiting, ready and running tasks that match a filter, and returns one row for each.
  filter, after, max_looks  as in find_tasks; without a status: live ones
  preview                   true: only shows them
  status                    of the task now
  problem                   why it was not cancelled; null: it was, or this is a preview
If there may be more, a last row has no rn; continue with its cursor. A task that another transaction is changing is left out.
Errors: 42704 no such queue; 42501 no right to submit to it or to view it; 22023 bad argument.';

create or replace function scylla.yield_many(
    filter jsonb, max_tasks integer = 1000, after text = null, preview boolean = false, max_looks integer = 10000,
    out cursor text, out rn text, out status scylla.task_status, out problem text)
    returns setof record
    language c volatile parallel unsafe rows 100 as 'MODULE_PATHNAME', 'scylla_yield_many';
comment on function scylla.yield_many is
'Takes up to max_tasks running tasks that match a filter from their workers: they are ready again at once, for any worker. The next call of
a worker for such a task fails with 55000. Arguments and rows as in cancel_many.
Errors: 42704 no such queue; 42501 no right to work on it or to view it; 22023 bad argument.';

create or replace function scylla.resubmit_matching(
    filter jsonb, max_tasks integer = 1000, after text = null, preview boolean = false, max_looks integer = 10000,
    out cursor text, out rn text, out new_rn text)
    returns setof record
    language c volatile parallel unsafe rows 100 as 'MODULE_PATHNAME', 'scylla_resubmit_matching';
comment on function scylla.resubmit_matching is
'Resubmits up to max_tasks tasks that have ended, match a filter and were not resubmitted yet, oldest first. Returns one row for each.
  filter, max_looks  as in find_tasks; without a status: aborted ones
  after              go on behind this cursor; null: from the oldest
  preview            true: only shows them, and new_rn is null
If there may be more, a last row has no rn, and its cursor is where to go on. A call copies all that it finds, or nothing.
Errors: 42704 no such queue; 42501 no right to submit to it or to view it; 22023 bad argument; P0002 and 53400 as for resubmit. Locks:
waits for transactions that are resubmitting the same tasks.';
