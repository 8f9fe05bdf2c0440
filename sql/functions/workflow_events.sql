-- Events of workflows whose property events is on.

create or replace function scylla.read_workflow_events(after text = null, max_events integer = 1000, out cursor text, out "time" timestamptz,
                                            out workflow text, out kind text, out instance bigint, out run integer, out step text,
                                            out iterations bigint[], out attempt integer, out old_status text, out status text,
                                            out version integer)
    returns setof record
    language c volatile parallel unsafe rows 1000 as 'MODULE_PATHNAME', 'scylla_read_workflow_events';
comment on function scylla.read_workflow_events is
'Returns what has happened to workflows that the caller may view, and whose property events was on. No event appears late: an event that
the caller has not read comes after all that it has read. To continue, pass the cursor of the last row as after (null: from the oldest
event). An event is visible when all transactions that were running when it was written have ended.
  kind  run or step: its status has changed, from old_status (null: it is new) to status; version: there is a new one; activated: a version;
        deactivated, properties (they have changed), dropped: the workflow
Errors: 22023 bad argument, or after is not a cursor of this server.';
