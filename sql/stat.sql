-- Statistics, in the manner of the server's own pg_stat views: counters in shared memory, and how things stand now. Without
-- shared_preload_libraries the counters are null, and what stands in the tables is counted at each look.

-- ---- queues ----------------------------------------------------------------------------------------------------------

create or replace function scylla._stat_queues(
        may_count boolean,
        out queue text, out waiting bigint, out ready bigint, out running bigint, out terminal bigint, out oldest_ready interval,
        out submitted bigint, out leased bigint, out completed bigint, out aborted bigint, out cancelled bigint,
        out failed bigint, out expired bigint, out yielded bigint, out purged bigint,
        out total_wait_time double precision, out wait_histogram bigint[],
        out total_run_time double precision, out run_histogram bigint[], out stats_reset timestamptz,
        out refused bigint, out shed bigint)
    returns setof record
    language c volatile parallel unsafe rows 100 as 'MODULE_PATHNAME', 'scylla_stat_queues';
comment on function scylla._stat_queues is
'What scylla.stat_queue shows. may_count false: the tables are not counted again if they have been since the server started.';

create or replace view scylla.stat_queue as select * from scylla._stat_queues(true);
comment on view scylla.stat_queue is
'One row per queue that the current user may view (members of pg_monitor: every queue): how many of its tasks are in each state, and what has happened since stats_reset in transactions that
have committed.';
comment on column scylla.stat_queue.queue is 'The queue.';
comment on column scylla.stat_queue.waiting is 'Tasks that wait: for their time, for other tasks, or for their plan.';
comment on column scylla.stat_queue.ready is 'Tasks that could be leased.';
comment on column scylla.stat_queue.running is 'Tasks that are leased.';
comment on column scylla.stat_queue.terminal is 'Tasks that have ended and are not purged yet.';
comment on column scylla.stat_queue.oldest_ready is
'How long the tasks that would be leased next (the first 100 of each priority) have been ready: the longest time.';
comment on column scylla.stat_queue.submitted is 'Tasks submitted.';
comment on column scylla.stat_queue.leased is 'Leases given.';
comment on column scylla.stat_queue.completed is 'Tasks that ended as completed.';
comment on column scylla.stat_queue.aborted is 'Tasks that ended as aborted: by abort, or by a failure or time-out too many.';
comment on column scylla.stat_queue.cancelled is 'Tasks that ended as cancelled.';
comment on column scylla.stat_queue.failed is 'Leases that ended by fail.';
comment on column scylla.stat_queue.expired is 'Leases whose time ran out.';
comment on column scylla.stat_queue.yielded is 'Leases that ended by yield.';
comment on column scylla.stat_queue.purged is 'Tasks removed after their retention.';
comment on column scylla.stat_queue.total_wait_time is
'How long the tasks that were leased had been ready, milliseconds altogether.';
comment on column scylla.stat_queue.wait_histogram is
'The same as counts of leases: element n counts those of up to 2^(n-1) milliseconds, the last one those above.';
comment on column scylla.stat_queue.total_run_time is
'How long leases lasted that ended by complete, abort or fail, milliseconds altogether.';
comment on column scylla.stat_queue.run_histogram is 'The same as counts of leases, see wait_histogram.';
comment on column scylla.stat_queue.stats_reset is 'When the counting began; null while nothing has happened.';
comment on column scylla.stat_queue.refused is 'Tasks whose submit failed because of max_depth.';
comment on column scylla.stat_queue.shed is 'Tasks that were cancelled because of max_depth when they were submitted.';

create or replace function scylla.quantile(histogram bigint[], fraction double precision) returns interval
    language c immutable parallel safe as 'MODULE_PATHNAME', 'scylla_quantile';
comment on function scylla.quantile is
'The time that the given fraction (0 to 1) of the times in a histogram of scylla.stat_queue does not exceed, by interpolation:
right within a factor of two. Null if there are none. Errors: 22023 bad argument.';

create or replace function scylla.count_tasks(queue text = null, out queue_name text, out status scylla.task_status,
                                   out tasks bigint)
    returns setof record
    language c volatile parallel unsafe rows 600 as 'MODULE_PATHNAME', 'scylla_count_tasks';
comment on function scylla.count_tasks is
'Counts the tasks of a queue (null: of each queue) by status, exactly: it reads the tables. The numbers in scylla.stat_queue are
right from then on, whatever has happened before.';

-- ---- workers ---------------------------------------------------------------------------------------------------------

create or replace view scylla.stat_worker with (security_barrier) as
    select l.owner as worker, q.name as queue, count(*) as leases, min(l.leased) as oldest_lease,
           max(l.updated) as last_heartbeat, min(l.deadline) as next_deadline, avg(l.progress)::real as progress
    from scylla.task_lease l
    join scylla.queue q on q.id = l.queue and scylla._may_watch(q.owner, q.viewers, q.admins)
    group by l.owner, q.name;
comment on view scylla.stat_worker is 'One row per worker and queue: what the worker holds now, and when it was last heard of.';
comment on column scylla.stat_worker.worker is 'The worker.';
comment on column scylla.stat_worker.queue is 'The queue.';
comment on column scylla.stat_worker.leases is 'How many tasks it holds.';
comment on column scylla.stat_worker.oldest_lease is 'When it got the one that it has held for longest.';
comment on column scylla.stat_worker.last_heartbeat is 'When it last got a lease or extended one.';
comment on column scylla.stat_worker.next_deadline is 'When the first of its leases ends unless a heartbeat extends it.';
comment on column scylla.stat_worker.progress is 'The mean of its tasks'' progress, 0 to 1.';

-- ---- the monitor -----------------------------------------------------------------------------------------------------

create or replace function scylla._stat_monitor(
        out rounds bigint, out total_time double precision, out max_time double precision,
        out opened bigint, out expired bigint, out purged bigint, out last_round timestamptz,
        out errors bigint, out last_error text, out last_error_time timestamptz, out stats_reset timestamptz)
    returns setof record
    language c volatile parallel restricted rows 1 as 'MODULE_PATHNAME', 'scylla_stat_monitor';
comment on function scylla._stat_monitor is 'The counters that scylla.stat_monitor shows.';

create or replace view scylla.stat_monitor as
    select (select a.pid from pg_catalog.pg_stat_activity a
            where a.backend_type = 'scylla monitor' and a.datname = pg_catalog.current_database() limit 1) as pid, m.*
    from scylla._stat_monitor() m;
comment on view scylla.stat_monitor is
'What the monitor of this database has done since stats_reset; no row before its first round.';
comment on column scylla.stat_monitor.pid is 'Its process; null: none is running now.';
comment on column scylla.stat_monitor.rounds is 'Transactions in which it has looked for something to do.';
comment on column scylla.stat_monitor.total_time is 'How long they took, milliseconds altogether.';
comment on column scylla.stat_monitor.max_time is 'How long the longest took, milliseconds.';
comment on column scylla.stat_monitor.opened is 'Delayed tasks that it has made ready.';
comment on column scylla.stat_monitor.expired is 'Expired leases that it has ended.';
comment on column scylla.stat_monitor.purged is 'Old tasks that it has removed.';
comment on column scylla.stat_monitor.last_round is 'When it last looked.';
comment on column scylla.stat_monitor.errors is 'Errors that have ended a monitor; another one is started after 5 s.';
comment on column scylla.stat_monitor.last_error is 'The message of the last one.';
comment on column scylla.stat_monitor.last_error_time is 'When it happened.';
comment on column scylla.stat_monitor.stats_reset is 'When the counting began.';

create or replace function scylla.stat_reset(queue text = null) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_stat_reset';
comment on function scylla.stat_reset is
'Begins the counters anew: those of a queue, or (null) of all queues and the monitor of this database. The numbers of tasks in
each state stay. Not undone by a rollback. Needs admin on the queue. Errors: 42704 no such queue; 42501 no privilege.';

-- ---- heads -----------------------------------------------------------------------------------------------------------

create or replace function scylla._heads(out file oid, out queue integer, out priority integer, out frontier bigint, out returned text)
    returns setof record
    language c volatile parallel restricted rows 100 as 'MODULE_PATHNAME', 'scylla_heads';
comment on function scylla._heads is 'The heads of this database in shared memory, a row per priority that may have ready tasks.';

create or replace view scylla.stat_heads with (security_barrier) as
    select q.name as queue, h.priority, h.frontier, h.returned::int8multirange as returned
    from scylla._heads() h
    join scylla.queue q on q.id = h.queue
    where h.file = pg_relation_filenode('scylla.task_ready') and scylla._may_watch(q.owner, q.viewers, q.admins);
comment on view scylla.stat_heads is
'Where the ready tasks begin, per queue and priority: hints by which a lease starts where the living are. Only priorities that
may have ready tasks.';
comment on column scylla.stat_heads.queue is 'The queue.';
comment on column scylla.stat_heads.priority is 'The priority.';
comment on column scylla.stat_heads.frontier is 'No ready task has a smaller id, except those that came back.';
comment on column scylla.stat_heads.returned is 'Where tasks with smaller ids may be: they came back (retries, yields, expired leases), or a long transaction has taken them.';

