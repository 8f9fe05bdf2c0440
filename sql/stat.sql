-- What shared memory knows. Empty without shared_preload_libraries.

create function scylla._heads(out file oid, out queue integer, out priority integer, out frontier bigint, out returned integer)
    returns setof record
    language c volatile parallel restricted rows 100 as 'MODULE_PATHNAME', 'scylla_heads';
comment on function scylla._heads is 'The heads of this database in shared memory, a row per priority that may have ready tasks.';

create view scylla.stat_heads as
    select q.name as queue, h.priority, h.frontier, h.returned
    from scylla._heads() h
    join scylla.queue q on q.id = h.queue
    where h.file = pg_relation_filenode('scylla.task_ready');
comment on view scylla.stat_heads is
'Where the ready tasks begin, per queue and priority: hints by which a lease starts where the living are. Only priorities that
may have ready tasks.';
comment on column scylla.stat_heads.queue is 'The queue.';
comment on column scylla.stat_heads.priority is 'The priority.';
comment on column scylla.stat_heads.frontier is 'No ready task has a smaller id, except those that came back.';
comment on column scylla.stat_heads.returned is 'How many tasks with smaller ids came back (retries, yields, expired leases).';

