-- Steps: find a task, change it, store it

create function twin.known(rn text) returns twin.task language plpgsql as $$
declare
    t twin.task;
begin
    select * into t from twin.task where task.rn = known.rn;
    if t.id is null then
        perform twin.refuse('P0002', 'task', 'exists', format('task "%s" does not exist', rn));
    end if;
    return t;
end $$;

-- The fence. A lease whose deadline has passed still belongs to its owner until it is reset.
create function twin.holds(t twin.task, worker text, attempt int) returns boolean language sql as $$
    select coalesce(t.status = 'running' and t.owner = worker and t.attempt = coalesce(holds.attempt, t.attempt),
                    false);
$$;

create function twin.held(rn text, worker text, attempt int) returns twin.task language plpgsql as $$
declare
    t twin.task := twin.known(rn);
begin
    if not twin.holds(t, worker, attempt) then
        perform twin.refuse_state(t, 'held', format('task "%s" is not held by worker "%s"', rn, worker));
    end if;
    return t;
end $$;

create function twin.stored(t twin.task) returns twin.task language plpgsql as $$
declare
    before twin.task;
begin
    select * into before from twin.task u where u.id = t.id;
    update twin.task u
    set status = t.status, updated = t.updated, due = t.due, owner = t.owner, deadline = t.deadline,
        timeout = t.timeout, progress = t.progress, attempt = t.attempt, failures = t.failures, history = t.history,
        errors = t.errors, skipped = t.skipped, result = t.result, metrics = t.metrics, earlier = t.earlier,
        depends_on = t.depends_on, in_line = t.in_line, state = t.state, answers = t.answers, answered = t.answered
    where u.id = t.id;
    if (t.status, t.due, t.in_line) is distinct from (before.status, before.due, before.in_line) then
        perform twin.record_event(t);
    end if;
    return t;
end $$;

-- An attempt begins.
create function twin.assigned(t twin.task, worker text, timeout interval) returns twin.task language plpgsql as $$
begin
    t.status := 'running';
    t.updated := clock_timestamp();
    t.owner := worker;
    t.attempt := t.attempt + 1;
    t.timeout := twin.length(coalesce(timeout, twin.default_timeout(t.queue)));
    t.deadline := t.updated + t.timeout;
    t.earlier := t.history;
    t.history := twin.history_with(t, 'TaskAssignment');
    return twin.stored(t);
end $$;

-- Without a timeout the lease is extended by what it was given when it was taken: one long heartbeat does not make all
-- later ones long. Progress may fall, and what is too small for a real is 0.
create function twin.extended(t twin.task, timeout interval, progress float8) returns twin.task language plpgsql as $$
begin
    t.updated := clock_timestamp();
    t.deadline := t.updated + coalesce(twin.length(timeout), t.timeout);
    t.progress := coalesce(case when progress < 1e-45 then 0 else progress end, t.progress);
    return twin.stored(t);
end $$;

-- Nothing but pools holds the task back: it is ready, or gets in line for what it does not hold yet.
create function twin.startable(t twin.task) returns twin.task language plpgsql as $$
begin
    t.in_line := t.needs is not null and not exists (select from twin.reservation r where r.task = t.id);
    t.status := case when t.in_line then 'waiting' else 'ready' end;
    t.due := null;
    return t;
end $$;

-- The attempt is over, the task is not. Without a delay it starts again at once, with any worker. Without a reason its answer was
-- "not yet", and the attempt leaves nothing in the history. Only after a yield does it keep what it holds of pools.
create function twin.given_back(t twin.task, reason text, delay interval default '0')
    returns twin.task language plpgsql as $$
begin
    t.updated := clock_timestamp();
    t.history := case when reason is null then t.earlier else twin.history_with(t, reason) end;
    t.answered := case when reason is null then t.updated else t.answered end;
    if reason is distinct from 'TaskYield' then
        delete from twin.reservation r where r.task = t.id; -- of an attempt
    end if;
    if delay > '0' then
        t.status := 'waiting';
        t.due := t.updated + twin.length(delay);
    else
        t := twin.startable(t);
    end if;
    t.owner := null;
    t.deadline := null;
    t.timeout := null;
    t.progress := 0;
    return twin.stored(t);
end $$;

-- A task that has ended never changes again. It shows its last owner. What its end means to others is the business of
-- twin.settle(), with which each verb that ends tasks is over.
create function twin.ended(t twin.task, status twin.task_status, moment timestamptz default clock_timestamp())
    returns twin.task language plpgsql as $$
begin
    t.status := status;
    t.updated := moment;
    t.due := null;
    t.in_line := false;
    t.deadline := null;
    t.timeout := null;
    delete from twin.reservation r where r.task = t.id; -- of an end
    insert into twin.happened (task) values (t.id);
    return twin.stored(t);
end $$;

create function twin.completed(t twin.task, result jsonb, metrics jsonb) returns twin.task language plpgsql as $$
begin
    t.progress := 1;
    t.result := result;
    t.metrics := metrics;
    return twin.ended(t, 'completed');
end $$;

-- Fails and expired leases count as failures, and these are bounded.
create function twin.is_exhausted(t twin.task) returns boolean language sql as $$
    select coalesce(t.failures >= t.max_attempts, false);
$$;
