-- Looking, and what the monitor does

create function twin.get_task(rn text) returns twin.task_row language plpgsql as $$
begin
    perform twin.check_name('rn', rn);
    return twin.shown(twin.known(rn));
end $$;

-- Ready tasks come as they will be leased, all others newest first.
create function twin.list_tasks(queue text default null, status twin.task_status default null, worker text default null,
                                max_tasks int default 100)
    returns setof twin.task_row language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
begin
    if queue is not null then
        perform twin.check_name('queue', queue);
    end if;
    if worker is not null then
        perform twin.check_name('worker', worker);
    end if;
    max_tasks := coalesce(max_tasks, 100);
    perform twin.check_count(max_tasks);
    return query
        select s.* from twin.task t, twin.shown(t) s
        where (list_tasks.queue is null or t.queue = list_tasks.queue)
          and (list_tasks.status is null or t.status = list_tasks.status)
          and (worker is null or t.owner = worker)
        order by case when list_tasks.status = 'ready' then twin.effective_priority(t, moment) end desc,
                 case when list_tasks.status = 'ready' then t.id else - t.id end
        limit max_tasks;
end $$;

-- ---------------------------------------------------------------------------------------------------------------
-- What the monitor does
-- ---------------------------------------------------------------------------------------------------------------

-- A worker that let its lease expire may be dead, and the task may have killed it: an expired lease counts as a
-- failure, so that no task does it for ever. A task that is given up for this reason shows no owner: nobody ended it.
create function twin.reset_expired() returns bigint language plpgsql as $$
declare
    t twin.task;
    n bigint := 0;
begin
    for t in select * from twin.task u where u.status = 'running' and u.deadline <= clock_timestamp() order by u.id loop
        n := n + 1;
        t.failures := t.failures + 1;
        if twin.is_exhausted(t) then
            t.updated := clock_timestamp();
            t.history := twin.history_with(t, 'TaskTimeout');
            t.errors := twin.errors_with(t, '{"code": "timeout", "args": {}, "message": "the lease expired"}');
            t.owner := null;
            perform twin.ended(t, 'aborted');
        else
            perform twin.given_back(t, 'TaskTimeout');
        end if;
    end loop;
    perform twin.settle();
    return n;
end $$;

-- Waiting tasks whose time has come are ready, or in line, and gates whose time is over time out.
create function twin.open_due() returns void language plpgsql as $$
declare
    t twin.task;
begin
    for t in select * from twin.task w
             where w.status = 'waiting' and w.due is null and not w.in_line
               and exists (select from twin.gate g where g.task = w.id and g.deadline <= clock_timestamp())
             order by w.id
    loop
        perform twin.gated(t, null, clock_timestamp());
    end loop;
    perform twin.settle();
    for t in select * from twin.task w where w.status = 'waiting' and w.due <= clock_timestamp() order by w.id loop
        t := twin.startable(t);
        t.updated := clock_timestamp();
        perform twin.stored(t);
    end loop;
end $$;

-- How long a task is kept that has ended.
create function twin.retention(q twin.queue, status twin.task_status) returns interval language sql as $$
    select twin.length(coalesce(case status when 'completed' then q.retention_completed
                                            when 'aborted' then q.retention_aborted
                                            else q.retention_cancelled end,
                                q.retention, twin.setting('scylla.retention', '7 days')));
$$;

-- Whether it has ended so long ago that nobody wants to know, and nobody needs its result.
create function twin.is_over(t twin.task, moment timestamptz) returns boolean language sql as $$
    select not twin.is_live(t) and t.updated < moment - twin.retention(q, t.status) and not twin.is_needed(t.id)
    from twin.queue q where q.name = t.queue;
$$;

-- A plan goes when all its tasks may go, but not before the shortest time is over for which anything is kept; one without tasks
-- is kept for the usual time.
create function twin.purge_plans(moment timestamptz) returns void language sql as $$
    delete from twin.plan p
    where p.finished < moment - case when exists (select from twin.task t where t.plan = p.id)
                                     then least(twin.setting('scylla.retention', '7 days'),
                                                (select min(twin.retention(q, s))
                                                 from twin.queue q, unnest('{completed,aborted,cancelled}'::twin.task_status[]) s))
                                     else twin.setting('scylla.retention', '7 days') end
      and not exists (select from twin.task t where t.plan = p.id and not twin.is_over(t, moment));
$$;

-- Tasks that have ended are kept for a while; those of a plan as long as the plan. Events have a retention of their own.
create function twin.purge_all(moment timestamptz) returns bigint language sql as $$
    select twin.purge_plans(moment);
    delete from twin.event where time < moment - twin.setting('scylla.event_retention', '1 day');
    with removed as (
        delete from twin.task t
        where twin.is_over(t, moment) and not exists (select from twin.plan p where p.id = t.plan)
        returning 1)
    select count(*) from removed;
$$;

create function twin.purge() returns bigint language sql as $$
    select twin.purge_all(clock_timestamp());
$$;

-- One round. A task that it ends stays at least until the next one, however short the retention.
create function twin.maintain() returns void language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
begin
    perform twin.open_due();
    perform twin.reset_expired();
    perform twin.end_pending();
    perform twin.tend_checks(clock_timestamp());
    perform twin.place();
    perform twin.purge_all(moment);
end $$;
