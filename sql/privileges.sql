-- PUBLIC gets nothing. Grant USAGE on the schema and EXECUTE on the functions that a role needs. An object whose privileges were
-- set before keeps them, so grants survive an update.
do $$
declare
    object record;
begin
    for object in
        select format('schema %I', nspname) as name from pg_catalog.pg_namespace where nspname = 'scylla' and nspacl is null
        union all
        select format('%s %I.%I', case relkind when 'S' then 'sequence' else 'table' end, 'scylla', relname)
        from pg_catalog.pg_class
        where relnamespace = 'scylla'::pg_catalog.regnamespace and relkind in ('r', 'v', 'S') and relacl is null
        union all
        select format('routine %s', p.oid::pg_catalog.regprocedure)
        from pg_catalog.pg_proc p where pronamespace = 'scylla'::pg_catalog.regnamespace and proacl is null
    loop
        execute format('revoke all on %s from public', object.name);
    end loop;
end
$$;

-- pg_monitor may read the statistics, as it may read the server's own. They show names and numbers, no content of tasks.
grant usage on schema scylla to pg_monitor;
grant select on scylla.stat_queue, scylla.stat_worker, scylla.stat_monitor, scylla.stat_heads, scylla.stat_pool,
    scylla.stat_server_worker, scylla.stat_database, scylla.stat_clock, scylla.stat_workflow, scylla.stat_waiting, scylla.stat_trigger to pg_monitor;
grant execute on function scylla._stat_queues, scylla._stat_waits, scylla._stat_monitor, scylla._failing_duties, scylla._server_workers, scylla._databases, scylla._heads, scylla.count_tasks, scylla.quantile,
    scylla.metrics
    to pg_monitor;

-- The views call these functions as their reader. They reveal nothing that the reader does not know already.
grant execute on function scylla._history, scylla._args, scylla._may_view, scylla._may_watch, scylla._pool_lines, scylla._first_in_line,
    scylla._fresh_ranges, scylla._step_signals, scylla._step_times to public;
-- The functions that draw plans and jobs read as their caller.
grant execute on function scylla._plan_nodes, scylla._plan_waits, scylla._check_max_tasks, scylla._duration, scylla._job_nodes, scylla._no_such_job to public;

select scylla._announce();
