-- Events: following what happens to the tasks of queues whose setting events is on.

create or replace function scylla.read_events(after text = null, max_events integer = 1000, out cursor text, out "time" timestamptz,
                                   out queue text, out rn text, out status scylla.task_status, out attempt integer,
                                   out failures integer, out worker text)
    returns setof record
    language c volatile parallel unsafe rows 1000 as 'MODULE_PATHNAME', 'scylla_read_events';
comment on function scylla.read_events is
'The changes of status of tasks, of the queues that the caller may view, in an order in which none comes late: to go on, pass
the cursor of the last row as after (null: from the oldest that there is). An event shows when all transactions that were
running when it was written have ended.
Errors: 22023 bad argument; after is no cursor of this server.';

