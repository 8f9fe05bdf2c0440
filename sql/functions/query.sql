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

