-- Events: status changes of tasks, of queues whose setting events is on.

create or replace function scylla.read_events(after text = null, max_events integer = 1000, out cursor text, out "time" timestamptz,
                                   out queue text, out rn text, out status scylla.task_status, out attempt integer,
                                   out failures integer, out worker text)
    returns setof record
    language c volatile parallel unsafe rows 1000 as 'MODULE_PATHNAME', 'scylla_read_events';
comment on function scylla.read_events is
'Returns status changes of tasks, from the queues that the caller may view. No event appears late: an event that the caller has not
read comes after all that it has read. To continue, pass the cursor of the last row as after (null: from the oldest event). An
event is visible when all transactions that were running when it was written have ended.
Errors: 22023 bad argument, or after is not a cursor of this server.';

