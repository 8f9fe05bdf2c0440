-- Reading tasks. Both functions read the latest committed state, whatever the transaction's snapshot is.

create or replace function scylla.get_task(rn text) returns scylla.task
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_get_task';
comment on function scylla.get_task is 'Returns one task. Errors: P0002 no such task.';

create or replace function scylla.list_tasks(queue text = null, status scylla.task_status = null, worker text = null,
                                  max_tasks integer = 100)
    returns setof scylla.task
    language c volatile parallel unsafe rows 100 as 'MODULE_PATHNAME', 'scylla_list_tasks';
comment on function scylla.list_tasks is
'Returns up to max_tasks tasks of a queue, in a status, owned by a worker (null: any). With status ''ready'' they are in the order
of leasing, otherwise newest first. Errors: 22023 bad argument.';


create or replace function scylla.explain_waiting(rn text, out ord integer, out waits_for text, out since timestamptz,
                                                  out until timestamptz, out detail text)
    returns setof record
    language c volatile parallel unsafe rows 5 as 'MODULE_PATHNAME', 'scylla_explain_waiting';
comment on function scylla.explain_waiting is
'Why a task that is waiting or ready does not run, one row for each reason; no rows if it runs or has ended.
  waits_for  what must happen: task RN, plan NAME, callback TOKEN, signal NAME, its start time, its next attempt, queue NAME to be
             resumed, max_running, rate, its turn, a worker
  since      since when the task waits for that; null: unknown
  until      when that happens at the latest; null: unknown
  detail     sentences for people
What the caller may not see is described without its name. Errors: P0002 no such task.';
create or replace function scylla.has_live_tasks(queues text[]) returns boolean
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_has_live_tasks';
comment on function scylla.has_live_tasks is
'Whether one of the queues has a task that is waiting, ready or running. A queue that does not exist has none.
Errors: 42501 no right to work on a queue, nor to view it; 22023 bad argument.';
