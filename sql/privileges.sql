-- Nothing is for everybody. Grant USAGE on the schema and EXECUTE on the functions that a role needs. An object whose
-- privileges have been set before keeps them: after an update, what a database's owner has granted is still granted.
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

-- Except that monitoring may look at the statistics, as it may at the server's own. They tell names and numbers, no contents.
grant usage on schema scylla to pg_monitor;
grant select on scylla.stat_queue, scylla.stat_worker, scylla.stat_monitor, scylla.stat_heads to pg_monitor;
grant execute on function scylla._stat_queues, scylla._stat_monitor, scylla._heads, scylla.count_tasks, scylla.quantile,
    scylla.metrics
    to pg_monitor;

-- But what the views call: it is done in the name of their reader, and tells him nothing that he does not know already.
grant execute on function scylla._history, scylla._args, scylla._may_view, scylla._may_watch to public;
-- And what makes the pictures of plans: it reads as its caller.
grant execute on function scylla._plan_picture, scylla._check_max_tasks to public;

select scylla._announce();
