-- Working: leasing, keeping a lease, finishing, giving back

create function twin.is_paused(queue text) returns boolean language sql as $$
    select q.paused from twin.queue q where q.name = queue;
$$;

create function twin.has_token(queue text) returns boolean language sql as $$
    select q.rate is null from twin.queue q where q.name = queue;
$$;

-- How many more tasks may run.
create function twin.room(queue text) returns bigint language sql as $$
    select greatest(coalesce(case when not twin.is_pending(queue, 'max_running') then q.max_running end - (select count(*) from twin.task t where t.queue = q.name and t.status = 'running'),
                             1000000), 0)
    from twin.queue q where q.name = queue;
$$;

-- Whether as many tasks of its key run as may. Tasks without a key are not bounded.
create function twin.is_full(t twin.task) returns boolean language plpgsql as $$
declare
    bound int := (select q.max_running_per_key from twin.queue q where q.name = t.queue and t.key is not null
                  and not twin.is_pending(t.queue, 'max_running_per_key'));
begin
    return bound is not null
           and (select count(*) from twin.task r where r.queue = t.queue and r.status = 'running' and r.key = t.key) >= bound;
end $$;

create function twin.default_timeout(queue text) returns interval language sql as $$
    select coalesce((select q.default_timeout from twin.queue q where q.name = queue),
                    twin.setting('scylla.default_timeout', '10 s'));
$$;

-- What a task counts for at a moment: its priority, and in a queue with aging what it has gained by waiting since it
-- was submitted. Nothing counts for more than 255.
create function twin.effective_priority(t twin.task, at timestamptz) returns float8 language plpgsql as $$
declare
    waited float8 := greatest(extract(epoch from at - t.created), 0);
    aging float8 := (select q.aging from twin.queue q where q.name = t.queue);
begin
    return least(t.priority + aging * waited, 255);
end $$;

-- Whose task a queue that is shared between keys gives next: those that have ready tasks, and room, take turns in the order of their
-- bytes, and a turn has as many tasks as the weight of its key. Whoever has nothing more loses what is left of it. Tasks without a
-- key share like one, with the empty key.
create function twin.key_on_turn(q twin.queue) returns text language plpgsql as $$
declare
    turn record := twin.turn(q.name);
    keys text[] := array(select distinct coalesce(t.key, '') from twin.task t
                         where t.queue = q.name and t.status = 'ready' and not twin.is_full(t));
    follows text := (select key from unnest(keys) key order by key collate "C" <= turn.key, key collate "C" limit 1);
begin
    if turn.remaining > 0 and turn.key = any (keys) then
        perform twin.set_turn(q.name, turn.key, turn.remaining - 1);
        return turn.key;
    elsif follows is null then
        perform twin.set_turn(q.name, turn.key, 0);
        return null;
    end if;
    perform twin.set_turn(q.name, follows, coalesce(q.key_weights -> follows, q.key_weights -> '*', '1')::int - 1);
    return follows;
end $$;

-- Highest priority first, then oldest first; in a queue that is shared, this holds for each key. What another worker is just taking
-- is passed over, not waited for; and so are tasks whose key is full.
create function twin.lease(queue text, worker text, max_tasks int default 1, timeout interval default null)
    returns setof twin.task_row language plpgsql as $$
declare
    q twin.queue;
    t twin.task;
    whose text;
    moment timestamptz := clock_timestamp();
    allowed bigint := least(coalesce(max_tasks, 1), twin.room(queue));
begin
    max_tasks := coalesce(max_tasks, 1);
    perform twin.check_name('queue', queue);
    perform twin.check_name('worker', worker);
    perform twin.check_count(max_tasks);
    perform twin.check_timeout('timeout', timeout);
    select * into q from twin.queue e
    where e.name = lease.queue and not twin.is_paused(e.name) and twin.has_token(e.name);
    while allowed > 0 and q.key_weights is not null and not twin.is_pending(queue, 'key_weights') loop
        whose := twin.key_on_turn(q);
        exit when whose is null;
        select * into t from twin.task r
        where r.queue = q.name and r.status = 'ready' and coalesce(r.key, '') = whose
        order by twin.effective_priority(r, moment) desc, r.id
        limit 1;
        allowed := allowed - 1;
        return next twin.shown(twin.assigned(t, worker, timeout));
    end loop;
    for t in select * from twin.task r
             where r.queue = q.name and r.status = 'ready'
             order by twin.effective_priority(r, moment) desc, r.id
             for update skip locked
    loop
        exit when allowed = 0;
        continue when twin.is_full(t);
        allowed := allowed - 1;
        return next twin.shown(twin.assigned(t, worker, timeout));
    end loop;
end $$;

create function twin.lease_task(rn text, worker text, timeout interval default null)
    returns twin.task_row language plpgsql as $$
declare
    t twin.task;
begin
    perform twin.check_name('rn', rn);
    perform twin.check_name('worker', worker);
    perform twin.check_timeout('timeout', timeout);
    t := twin.known(rn);
    if t.status <> 'ready' then
        perform twin.refuse_state(t, 'ready', format('task "%s" is not ready', rn));
    end if;
    if twin.is_paused(t.queue) then
        perform twin.refuse('55000', 'queue', 'paused', format('queue "%s" is paused', t.queue));
    end if;
    if not twin.has_token(t.queue) then
        perform twin.refuse('53400', 'queue', 'rate', format('queue "%s" has used up its rate', t.queue));
    end if;
    if twin.room(t.queue) = 0 then
        perform twin.refuse('53400', 'queue', 'max_running', format('queue "%s" has reached its max_running', t.queue));
    end if;
    if twin.is_full(t) then
        perform twin.refuse('53400', 'queue', 'max_running_per_key',
                            format('key "%s" of queue "%s" has reached its max_running_per_key', t.key, t.queue));
    end if;
    return twin.shown(twin.assigned(t, worker, timeout));
end $$;

-- ---------------------------------------------------------------------------------------------------------------
-- Keeping a lease
-- ---------------------------------------------------------------------------------------------------------------

create function twin.heartbeat(rn text, worker text, progress float8 default null, timeout interval default null,
                               attempt int default null)
    returns twin.task_row language plpgsql as $$
begin
    perform twin.check_name('rn', rn);
    perform twin.check_name('worker', worker);
    perform twin.check_progress(progress);
    perform twin.check_timeout('timeout', timeout);
    return twin.shown_to_owner(twin.extended(twin.held(rn, worker, attempt), timeout, progress));
end $$;

-- For a worker that holds many tasks: one row per name in the order given, and a lost lease is an answer, not an error.
create function twin.heartbeat_many(rns text[], worker text, timeout interval default null, attempts int[] default null)
    returns table (rn text, held boolean, status twin.task_status) language plpgsql as $$
declare
    wanted record;
    t twin.task;
    extended text[] := '{}';
begin
    perform twin.check_batch(rns, attempts);
    perform twin.check_name('worker', worker);
    perform twin.check_timeout('timeout', timeout);
    for wanted in select * from twin.batch(rns, attempts) order by place
    loop
        select * into t from twin.task u where u.rn = wanted.rn;
        held := wanted.rn <> all (extended) and twin.holds(t, worker, wanted.attempt);
        if held then
            t := twin.extended(t, timeout, null);
            extended := extended || wanted.rn;
        end if;
        rn := wanted.rn;
        status := t.status;
        return next;
    end loop;
end $$;

-- ---------------------------------------------------------------------------------------------------------------
-- Finishing
-- ---------------------------------------------------------------------------------------------------------------

create function twin.complete(rn text, worker text, result jsonb default null, metrics jsonb default null,
                              attempt int default null)
    returns twin.task_row language plpgsql as $$
declare
    t twin.task;
begin
    perform twin.check_name('rn', rn);
    perform twin.check_name('worker', worker);
    t := twin.completed(twin.held(rn, worker, attempt), result, metrics);
    perform twin.settle();
    return twin.shown_to_owner(t);
end $$;

-- As heartbeat_many: an answer per name, and no error for a lost lease.
create function twin.complete_many(rns text[], worker text, results jsonb[] default null, attempts int[] default null)
    returns table (rn text, completed boolean, status twin.task_status) language plpgsql as $$
declare
    wanted record;
    t twin.task;
begin
    perform twin.check_batch(rns, attempts, results);
    perform twin.check_name('worker', worker);
    for wanted in select * from twin.batch(rns, attempts, results) order by place
    loop
        select * into t from twin.task u where u.rn = wanted.rn;
        completed := twin.holds(t, worker, wanted.attempt);
        if completed then
            t := twin.completed(t, wanted.result, null);
        end if;
        rn := wanted.rn;
        status := t.status;
        return next;
    end loop;
    perform twin.settle();
end $$;

-- A worker's loop in one call. Here a lost lease is an error, also in a repetition, and then nothing is done. The names are
-- taken in the order of their bytes, so that two calls never wait for each other.
create function twin.complete_and_lease(rns text[], worker text, queue text, max_tasks int default 1,
                                        timeout interval default null, results jsonb[] default null,
                                        attempts int[] default null)
    returns setof twin.task_row language plpgsql as $$
begin
    max_tasks := coalesce(max_tasks, 1);
    perform twin.check_batch(rns, attempts, results);
    perform twin.check_name('queue', queue);
    perform twin.check_name('worker', worker);
    perform twin.check_count(max_tasks);
    perform twin.check_timeout('timeout', timeout);
    perform twin.held(w.rn, worker, w.attempt)
    from (select * from twin.batch(rns, attempts) order by rn collate "C", place) w;
    perform twin.completed(twin.held(w.rn, worker, null), w.result, null)
    from (select distinct on (rn collate "C") * from twin.batch(rns, attempts, results) order by rn collate "C", place) w;
    perform twin.settle();
    return query select * from twin.lease(queue, worker, max_tasks, timeout);
end $$;

create function twin.abort(rn text, worker text, error jsonb, attempt int default null)
    returns twin.task_row language plpgsql as $$
declare
    reported jsonb;
    t twin.task;
begin
    perform twin.check_name('rn', rn);
    perform twin.check_name('worker', worker);
    reported := twin.checked_error(error);
    t := twin.held(rn, worker, attempt);
    t.errors := twin.errors_with(t, reported);
    t := twin.ended(t, 'aborted');
    perform twin.settle();
    return twin.shown_to_owner(t);
end $$;

create function twin.cancel(rn text) returns twin.task_row language plpgsql as $$
declare
    t twin.task;
begin
    perform twin.check_name('rn', rn);
    t := twin.known(rn);
    if not twin.is_live(t) then
        perform twin.refuse_state(t, 'live', format('task "%s" has already ended', rn));
    end if;
    t := twin.ended(t, 'cancelled');
    perform twin.settle();
    return twin.shown(t);
end $$;

-- ---------------------------------------------------------------------------------------------------------------
-- Giving back
-- ---------------------------------------------------------------------------------------------------------------

-- Not a failure: the worker just stops.
create function twin.yield(rn text, worker text, attempt int default null)
    returns twin.task_row language plpgsql as $$
begin
    perform twin.check_name('rn', rn);
    perform twin.check_name('worker', worker);
    return twin.shown_to_owner(twin.given_back(twin.held(rn, worker, attempt), 'TaskYield'));
end $$;

-- initial, initial * factor, initial * factor * factor and so on, but not more than max: in whole microseconds. (Beyond
-- the exponent at which any beginning has grown past any maximum, power() has an end.)
create function twin.backoff(count int, initial interval default '100 ms', factor float8 default 1.5,
                             max interval default '10 s')
    returns interval language plpgsql as $$
declare
    first float8;
    highest int;
    grown float8;
begin
    initial := coalesce(initial, '100 ms');
    factor := coalesce(factor, 1.5);
    max := coalesce(max, '10 s');
    first := extract(epoch from twin.length(initial)) * 1000000;
    highest := case when factor > 1 then least(count, ceil(650 / ln(factor))) else count end;
    perform twin.check_argument('count', count >= 0, 'It must be at least 0.');
    perform twin.check_delay('initial', initial);
    perform twin.check_argument('factor', factor between 1 and 1000, 'It must be 1 to 1000.');
    perform twin.check_delay('max', max);
    grown := first * power(factor, highest);
    if grown < extract(epoch from twin.length(max)) * 1000000 then
        return make_interval(secs => floor(grown) / 1000000);
    end if;
    return case when first = 0 then '0'::interval else twin.length(max) end;
end $$;

-- The delay before the next try of a task: by its policy, else by that of its queue at the time of the failure. (Jitter, which
-- would shorten it by chance, is not in the model.)
create function twin.retry_delay(t twin.task) returns interval language plpgsql as $$
declare
    policy jsonb := coalesce(t.retry, (select q.retry from twin.queue q where q.name = t.queue), '{}');
begin
    return twin.backoff(t.failures - 1, coalesce(policy ->> 'initial', '1 s')::interval,
                        coalesce(policy ->> 'factor', '2')::float8, coalesce(policy ->> 'max', '1 h')::interval);
end $$;

-- Those who wait for a check now, be it as a check or as any task.
create function twin.waiters(asked bigint) returns table (priority int, every interval) language sql as $$
    select w.priority, p.every
    from twin.task w
    cross join lateral (select unnest(w.depends_on) as id, null::interval as every
                        union all
                        select g.provider, g.every from twin.gate g where g.task = w.id and coalesce(g.deadline > clock_timestamp(), true)) p
    where p.id = asked and w.status = 'waiting' and w.due is null and not w.in_line;
$$;

-- How often a check is to be asked; null: nobody says.
create function twin.check_interval(asked bigint) returns interval language sql as $$
    select min(w.every) from twin.waiters(asked) w;
$$;

-- What a task asks for outside is not there yet: it is offered again after a while. Neither a failure nor a part of its history.
create function twin.not_yet(rn text, worker text, retry_after interval default null, attempt int default null)
    returns twin.task_row language plpgsql as $$
declare
    t twin.task;
    first_failure twin.task;
begin
    perform twin.check_name('rn', rn);
    perform twin.check_name('worker', worker);
    perform twin.check_argument('retry_after', retry_after is null or retry_after between '0' and '365 days',
                                'It must be 0 to 365 days.');
    t := twin.held(rn, worker, attempt);
    first_failure := t;
    first_failure.failures := 1;
    t.answers := t.answers + 1;
    t.failures := 0; -- an answer ends the series
    return twin.shown_to_owner(twin.given_back(
        t, null, coalesce(retry_after, case when t.is_check then twin.check_interval(t.id) end, twin.retry_delay(first_failure))));
end $$;

-- Whether a task waits for another, perhaps by way of others that wait.
create function twin.waits_for(one bigint, other bigint) returns boolean language sql as $$
    with recursive reached as (
        select one as id
        union select p.id from reached r join twin.task w on w.id = r.id and w.status = 'waiting' and w.due is null,
                     lateral (select unnest(w.depends_on) as id union select g.provider from twin.gate g where g.task = w.id) p)
    select exists (select from reached r where r.id = other);
$$;

-- The worker gives up its lease until something has happened, which takes the place of all that the task has waited for.
create function twin.defer(rn text, worker text, wait_for jsonb, state jsonb default null, attempt int default null)
    returns twin.task_row language plpgsql as $$
declare
    waits twin.wait[];
    t twin.task;
    moment timestamptz;
begin
    perform twin.check_name('rn', rn);
    perform twin.check_name('worker', worker);
    perform twin.check_argument('wait_for', wait_for is not null, 'It must be an array.');
    waits := twin.waits_in(wait_for, 'cascade');
    t := twin.held(rn, worker, attempt);
    waits := twin.known_waits(waits);
    moment := clock_timestamp();
    t.updated := moment;
    t.history := twin.history_with(t, 'TaskDefer');
    delete from twin.reservation r where r.task = t.id; -- of a deferral
    t.status := 'waiting';
    t.owner := null;
    t.deadline := null;
    t.timeout := null;
    t.progress := 0;
    t.depends_on := '{}';
    t.state := coalesce(defer.state, t.state);
    delete from twin.gate g where g.task = t.id;
    perform twin.put_gates(t, waits, moment);
    perform twin.refuse_cycle() from twin.gate g where g.task = t.id and twin.waits_for(g.provider, t.id);
    t := twin.gated(t, null, moment);
    if t.status = 'waiting' then
        t := twin.stored(t);
    end if;
    perform twin.settle(moment);
    return twin.shown_to_owner(t);
end $$;

-- An error that may pass: the task is tried again after a while, if it may.
create function twin.fail(rn text, worker text, error jsonb, retry_after interval default null,
                          attempt int default null)
    returns twin.task_row language plpgsql as $$
declare
    reported jsonb;
    t twin.task;
begin
    perform twin.check_name('rn', rn);
    perform twin.check_name('worker', worker);
    reported := twin.checked_error(error);
    perform twin.check_argument('retry_after', retry_after is null or retry_after between '0' and '365 days',
                                'It must be 0 to 365 days.');
    t := twin.held(rn, worker, attempt);
    t.failures := t.failures + 1;
    t.errors := twin.errors_with(t, reported);
    if twin.is_exhausted(t) then
        t := twin.ended(t, 'aborted');
        perform twin.settle();
        return twin.shown_to_owner(t);
    end if;
    return twin.shown_to_owner(twin.given_back(t, 'TaskRetry', coalesce(retry_after, twin.retry_delay(t))));
end $$;
