-- Gates: what a task waits for
--
-- A task waits until every task that it depends on is completed and its plan is open; and then for its time. When the last of
-- that happens it is ready, in the same transaction.

-- Tasks that have ended and plans that were opened, for as long as nobody has looked what that means to others.
create table twin.happened (
    place bigint generated always as identity primary key,
    task bigint,
    plan bigint
);

create function twin.is_live(t twin.task) returns boolean language sql as $$
    select t.status in ('waiting', 'ready', 'running');
$$;

-- Where a task stands that is to start or waits to. Of several tasks whose failure ends it, the first one that it names counts.
-- `cause`: the task by whose end it comes to this; null: any.
create function twin.gated(t twin.task, cause bigint, moment timestamptz) returns twin.task language plpgsql as $$
declare
    failed twin.task;
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
            'description', format('a task that this one depends on was %s', failed.status)));
        t.skipped := t.on_failure = 'skip';
        return twin.ended(t, case when t.skipped then 'cancelled' else 'aborted' end::twin.task_status, moment);
    elsif exists (select from unnest(t.depends_on) d (id) join twin.task p using (id) where twin.is_live(p))
       or exists (select from twin.plan p where p.id = t.plan and p.opened is null) then
        return t;
    end if;
    t.updated := moment;
    if t.not_before > moment and t.attempt = 0 then
        t.due := t.not_before;
    else
        t.status := 'ready';
    end if;
    return twin.stored(t);
end $$;

-- Where a new task begins.
create function twin.placed(t twin.task, moment timestamptz) returns twin.task language plpgsql as $$
begin
    t := twin.gated(t, null, moment);
    if t.status = 'waiting' and t.due is null then
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
                 where w.status = 'waiting' and w.due is null and (h.task = any (w.depends_on) or w.plan = h.plan)
                 order by w.id
        loop
            perform twin.gated(t, h.task, moment);
        end loop;
        perform twin.finish(coalesce(h.plan, (select e.plan from twin.task e where e.id = h.task)), moment);
    end loop;
end $$;

-- A result is kept, whatever its retention, as long as a task that is to get it is live.
create function twin.is_needed(task bigint) returns boolean language sql as $$
    select exists (select from twin.task d where is_needed.task = any (d.depends_on) and twin.is_live(d));
$$;
