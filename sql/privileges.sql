-- Nothing is for everybody. Grant USAGE on the schema and EXECUTE on the functions that a role needs.
revoke all on schema scylla from public;
revoke all on all tables in schema scylla from public;
revoke all on all sequences in schema scylla from public;
revoke all on all routines in schema scylla from public;

-- Except that monitoring may look at the statistics, as it may at the server's own. They tell names and numbers, no contents.
grant usage on schema scylla to pg_monitor;
grant select on scylla.stat_queue, scylla.stat_worker, scylla.stat_monitor, scylla.stat_heads to pg_monitor;
grant execute on function scylla._stat_queues, scylla._stat_monitor, scylla._heads, scylla.count_tasks, scylla.quantile,
    scylla.metrics
    to pg_monitor;

-- But what the views call: it is done in the name of their reader, and tells him nothing that he does not know already.
grant execute on function scylla._history, scylla._may_view, scylla._may_watch to public;
-- And what makes the pictures of plans: it reads as its caller.
grant execute on function scylla._plan_picture, scylla._check_max_tasks to public;

select scylla._announce();
