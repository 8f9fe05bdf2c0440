-- Submits copies of tasks that have ended.

create or replace function scylla.resubmit(rn text, new_rn text = null) returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_resubmit';
comment on function scylla.resubmit is
'Submits a copy of a task that has ended, and returns it. The copy waits for what the task waited for: of tasks that were resubmitted
themselves, for their copies. It belongs to no plan. scylla.resubmissions shows which task became which.
  new_rn  1..200 characters, unique in the database; null: a generated UUIDv7
Errors: P0002 no such task, or one that it depends on has been purged; 55000 it has not ended, or was resubmitted already; 23505
new_rn or its dedup_key is taken; 42501 no right to submit to its queue; 53400 the queue has reached its max_depth. Locks: waits for
a transaction that is resubmitting the same task.';

create or replace function scylla.resubmit_many(
    queue text, status scylla.task_status = 'aborted', code text = null, ended_after timestamptz = null,
    ended_before timestamptz = null, max_tasks integer = 1000, preview boolean = false,
    out rn text, out new_rn text)
    returns setof record
    language c volatile parallel unsafe rows 100 as 'MODULE_PATHNAME', 'scylla_resubmit_many';
comment on function scylla.resubmit_many is
'Resubmits the tasks of a queue that ended with this status and were not resubmitted yet, oldest first. Returns one row per task.
  status        aborted, cancelled or completed
  code          of their last error; null: any
  ended_after   only tasks that ended then or later; null: no bound
  ended_before  only tasks that ended earlier; null: no bound
  max_tasks     at most so many
  preview       true: only shows them, and new_rn is null
A task whose dedup_key a live task has counts as resubmitted as that one.
Errors: 42704 no such queue; 42501 no right to submit to it or to view it; 22023 bad argument; P0002 and 53400 as for resubmit. On any
error nothing is resubmitted. Locks: waits for transactions that are resubmitting the same tasks.';

create or replace function scylla.dead_tasks(queue text = null, code text = null, max_tasks integer = 100)
    returns setof scylla.task
    language c volatile parallel unsafe rows 100 as 'MODULE_PATHNAME', 'scylla_dead_tasks';
comment on function scylla.dead_tasks is
'Returns up to max_tasks tasks that were aborted and not resubmitted, newest first: of a queue, and whose last error has the code
(null: any). Errors: 22023 bad argument.';

create or replace function scylla.rerun_plan(plan text, only_failed boolean = false, new_plan text = null) returns text
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_rerun_plan';
comment on function scylla.rerun_plan is
'Runs a plan again that has ended: creates and opens a plan with the same spec and copies of its tasks, which wait for each other as the
originals did. Of a plan that run_job() has made, the job runs again: with the same ids, arguments and options, without what is fresh now.
Returns the name of the new plan.
  only_failed  true: only the tasks that were not completed and those that depended on them, also of a plan of a job; completed tasks
               give their results to the copies. Tasks that were resubmitted already are left out
  new_plan     1..200 characters, unique among plans; null: a generated UUIDv7
Errors: P0002 no such plan; 55000 it has not ended, or none of its tasks has to run again; 42710 new_plan is taken; others as for
resubmit, and for run_job().';
