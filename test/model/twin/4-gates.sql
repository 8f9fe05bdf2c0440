-- Gates: what a task waits for
--
-- A task waits until every task that it depends on is completed, its plan is open and all conditions of its wait_for have ended; and
-- then for its time. When the last of that happens it is ready, in the same transaction, unless it needs something of a pool.

-- Tasks and conditions that have ended and plans that were opened, for as long as nobody has looked what that means to others.
create table twin.happened (
    place bigint generated always as identity primary key,
    task bigint,
    plan bigint
);

create function twin.is_live(t twin.task) returns boolean language sql as $$
    select t.status in ('waiting', 'ready', 'running');
$$;

-- How what a gate waits for stands, and the gate: one whose time is over has timed out, if what it waits for has not ended. One that
-- ignores that is open, also when it fails later.
create function twin.verdict(g twin.gate, moment timestamptz) returns text language plpgsql as $$
declare
    how text := case when g.provider < 0
        then (select case when c.ended is null then 'closed' when c.failed then 'failed' else 'open' end
              from twin.condition c where c.id = g.provider)
        else (select case when twin.is_live(p) then 'closed' when p.status = 'completed' then 'open' else 'failed' end
              from twin.task p where p.id = g.provider) end;
begin
    if how = 'failed' and g.on_failure = 'ignore' then
        return 'open';
    elsif how = 'open' or g.deadline is null or g.deadline > moment then
        return how;
    elsif g.on_timeout = 'ignore' then
        return 'open';
    end if;
    return case when how = 'failed' then 'failed' else 'timed out' end;
end $$;

-- Ends a task by such a gate.
create function twin.ended_by(t twin.task, g twin.gate, moment timestamptz) returns twin.task language plpgsql as $$
declare
    late boolean := twin.verdict(g, moment) = 'timed out';
begin
    t.errors := twin.errors_with(t, jsonb_build_object('message', 'it has failed, or is late') || case
        when late then jsonb_build_object('code', 'dependency-timeout', 'args', jsonb_build_object('gate', g.ord))
        else jsonb_build_object('code', 'dependency-failed', 'args', case
            when g.provider < 0 then jsonb_build_object('error', (select c.value from twin.condition c where c.id = g.provider))
            else (select jsonb_build_object('provider', p.rn)
                         || case when g.kind = 'check' and p.errors <> '[]' and (p.status = 'aborted' or p.attempt = 0) then jsonb_build_object('error', p.errors -> -1) else '{}' end
                  from twin.task p where p.id = g.provider) end) end);
    t.skipped := 'skip' = case when late then g.on_timeout else g.on_failure end;
    return twin.ended(t, case when t.skipped then 'cancelled' else 'aborted' end::twin.task_status, moment);
end $$;

-- Where a task stands that is to start or waits to. Of several tasks or conditions whose failure ends it, the first one that it
-- names counts. `cause`: the task or condition by whose end it comes to this; null: any.
create function twin.gated(t twin.task, cause bigint, moment timestamptz) returns twin.task language plpgsql as $$
declare
    failed twin.task;
    g twin.gate;
begin
    if t.on_failure <> 'ignore' then
        select p.* into failed
        from unnest(t.depends_on) with ordinality d (id, place) join twin.task p on p.id = d.id
        where p.status in ('aborted', 'cancelled') and p.id = coalesce(cause, p.id)
        order by place limit 1;
    end if;
    if failed.id is not null then
        t.errors := twin.errors_with(t, jsonb_build_object(
            'code', 'dependency-failed', 'args', jsonb_build_object('provider', failed.rn),
            'message', format('a task that this one depends on was %s', failed.status)));
        t.skipped := t.on_failure = 'skip';
        return twin.ended(t, case when t.skipped then 'cancelled' else 'aborted' end::twin.task_status, moment);
    end if;
    select * into g from twin.gate e
    where e.task = t.id and e.provider = coalesce(cause, e.provider) and twin.verdict(e, moment) in ('failed', 'timed out')
    order by e.ord limit 1;
    if g.task is not null then
        return twin.ended_by(t, g, moment);
    elsif exists (select from twin.gate e where e.task = t.id and twin.verdict(e, moment) = 'closed') then
        return t;
    elsif exists (select from unnest(t.depends_on) d (id) join twin.task p using (id) where twin.is_live(p))
       or exists (select from twin.plan p where p.id = t.plan and p.opened is null) then
        return t;
    elsif cause is not null and exists (select from twin.gate e where e.task = t.id) then
        return twin.gated(t, null, moment); -- others may have failed in the same call
    end if;
    t.updated := moment;
    if t.not_before > moment and t.attempt = 0 then
        t.due := t.not_before;
    else
        t := twin.startable(t);
    end if;
    return twin.stored(t);
end $$;

-- Where a new task begins.
create function twin.placed(t twin.task, moment timestamptz) returns twin.task language plpgsql as $$
begin
    t := twin.gated(t, null, moment);
    if t.status = 'waiting' and t.due is null and not t.in_line then
        perform twin.record_event(t);
    end if;
    return t;
end $$;

-- What a plan has come to by those of its tasks that have ended: it has failed with the first that was aborted; else it is cancelled
-- with the first that was cancelled, but for those that were skipped.
create function twin.judge(plan bigint) returns void language sql as $$
    update twin.plan p
    set failed = p.failed or exists (select from twin.task t where t.plan = p.id and t.status = 'aborted'),
        cancelled = p.cancelled or exists (select from twin.task t where t.plan = p.id and t.status = 'cancelled' and not t.skipped)
    where p.id = judge.plan and p.finished is null;
$$;

-- A plan that is open is finished when no task of it is live.
create function twin.finish(plan bigint, moment timestamptz) returns void language sql as $$
    select twin.judge(finish.plan);
    update twin.plan p set finished = moment, cancelled = p.cancelled and not p.failed
    where p.id = finish.plan and p.opened is not null and p.finished is null
      and not exists (select from twin.task t where t.plan = p.id and twin.is_live(t));
$$;

-- One thing after the other as they happened: those who wait for it, oldest first, and the plan. Tasks that end on account of
-- others join the list.
create function twin.settle(moment timestamptz default clock_timestamp()) returns void language plpgsql as $$
declare
    h twin.happened;
    t twin.task;
begin
    loop
        delete from twin.happened where place = (select min(place) from twin.happened) returning * into h;
        exit when h.place is null;
        for t in select * from twin.task w
                 where w.status = 'waiting' and w.due is null and not w.in_line
                   and (exists (select from twin.gate g where g.task = w.id and g.provider = h.task)
                        or h.task = any (w.depends_on) or w.plan = h.plan)
                 order by w.id
        loop
            perform twin.gated(t, h.task, moment);
        end loop;
        perform twin.finish(coalesce(h.plan, (select e.plan from twin.task e where e.id = h.task)), moment);
    end loop;
end $$;

-- A result is kept, whatever its retention, as long as a task that is to get it is live.
create function twin.is_needed(task bigint) returns boolean language sql as $$
    select exists (select from twin.task d where is_needed.task = any (d.depends_on) and twin.is_live(d))
        or exists (select from twin.gate g join twin.task d on d.id = g.task where g.provider = is_needed.task and twin.is_live(d));
$$;
