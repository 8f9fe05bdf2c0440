-- The twin: what every verb of Scylla means, in SQL that a person can read.
--
-- This is the specification. The extension keeps its tasks in several tables, reaches them without SQL and hints at the
-- next task in shared memory; the twin keeps one table, and a verb reads a row, changes it and stores it.
-- test/model/driver.sql puts random calls to both and compares every result, every error and the complete state. Where
-- the two disagree, one of them is wrong.
--
-- In this order: the tables, refusals, arguments, notes (history and errors), steps, and then the verbs by concept:
-- queues, submitting, leasing, keeping a lease, finishing, giving back, looking, and what the monitor does.
--
-- What the twin leaves out on purpose: privileges, waiting for work, and the concurrency of many workers (isolation
-- tests do that). Functions have the names, arguments and defaults of schema scylla.

create schema twin;

-- ---------------------------------------------------------------------------------------------------------------
-- Tables
-- ---------------------------------------------------------------------------------------------------------------

create type twin.task_status as enum ('waiting', 'ready', 'running', 'completed', 'aborted', 'cancelled');

create table twin.queue (
    name text primary key,
    default_timeout interval,   -- null: the setting scylla.default_timeout
    retention interval,         -- null: the setting scylla.retention
    aging float8 not null default 0,    -- points of priority that a task gains per second
    max_attempts int,           -- for tasks that are submitted without; null: no bound
    retry jsonb,                -- the delays between tries; null: 1 s, 2 s, 4 s, ... 1 h
    retention_completed interval,       -- null, and likewise the next two: retention
    retention_aborted interval,
    retention_cancelled interval,
    paused boolean not null default false,      -- true: no task can be leased
    max_running int,            -- so many tasks may run at once; null: any number
    events boolean not null default false,      -- what these do is not in the model
    notify boolean not null default false,
    max_running_per_key int,
    max_depth int,
    on_full text not null default 'error',
    key_weights jsonb,          -- null: tasks go in the order of the queue; anything else is not in the model
    rate jsonb
);

create table twin.task (
    -- Of two tasks the one with the smaller id is older.
    id bigint generated always as identity primary key,

    -- What it is. Never changes.
    rn text not null unique,
    queue text not null references twin.queue,
    spec jsonb not null,
    priority int not null check (priority between 0 and 127),
    not_before timestamptz,     -- as submit was given it
    max_attempts int,           -- that many failures end it; null: no bound
    retry jsonb,                -- the delays between tries; null: as the queue says
    key text,                   -- whose work it is
    created timestamptz not null,

    -- Where it is now.
    status twin.task_status not null,
    updated timestamptz not null,
    due timestamptz,            -- waiting: when the gate opens
    owner text,
    deadline timestamptz,
    timeout interval,           -- running: what the lease was given, which a heartbeat extends it by
    progress real not null default 0 check (progress between 0 and 1),

    -- What happened to it.
    attempt int not null default 0,     -- counts assignments; fences off earlier runs of a worker
    failures int not null default 0,    -- counts fails and expired leases
    history jsonb not null default '[]',
    errors jsonb not null default '[]',
    result jsonb,
    metrics jsonb,

    constraint only_waiting_is_due check ((status = 'waiting') = (due is not null)),
    constraint only_running_has_deadline check ((status = 'running') = (deadline is not null)),
    constraint only_running_has_timeout check ((status = 'running') = (timeout is not null)),
    constraint running_has_owner check (status <> 'running' or owner is not null),
    constraint idle_has_no_owner_and_progress
        check (status not in ('waiting', 'ready') or owner is null and progress = 0),
    constraint completed_is_whole check (status <> 'completed' or progress = 1),
    constraint only_completed_has_result check (status = 'completed' or result is null and metrics is null),
    constraint live_has_attempts_left check (status in ('completed', 'aborted', 'cancelled')
                                             or max_attempts is null or failures < max_attempts)
);

-- How a task is shown: the row type of scylla.task.
create type twin.task_row as (
    rn text, queue text, spec jsonb, status twin.task_status, priority int, progress real, created timestamptz,
    updated timestamptz, owner text, deadline timestamptz, errors jsonb, history jsonb, result jsonb, metrics jsonb,
    args jsonb, attempt int, failures int, max_attempts int, not_before timestamptz, plan text, key text
);

-- Args and plan belong to gates between tasks, which do not exist yet. A waiting task shows the time at which it
-- becomes ready, be it submit's or that of a retry.
create function twin.shown(t twin.task) returns twin.task_row language sql as $$
    select t.rn, t.queue, t.spec, t.status, t.priority, t.progress, t.created, t.updated, t.owner, t.deadline, t.errors,
           t.history, t.result, t.metrics, '[]'::jsonb, t.attempt, t.failures, t.max_attempts,
           case when t.status = 'waiting' then t.due else t.not_before end, null::text, t.key;
$$;

-- A worker that reports about a task gets it back without what it has already, and what may be large.
create function twin.shown_to_owner(t twin.task) returns twin.task_row language plpgsql as $$
declare
    shown twin.task_row := twin.shown(t);
begin
    shown.spec := null;
    shown.args := null;
    return shown;
end $$;

create view twin.tasks as select s.* from twin.task t, twin.shown(t) s;

-- ---------------------------------------------------------------------------------------------------------------
-- Refusals
--
-- A refused call has changed nothing. A client tells the reasons apart by SQLSTATE and by the names of the table and
-- the rule ("constraint"); messages are for people.
-- ---------------------------------------------------------------------------------------------------------------

create function twin.refuse(code text, concerning text, rule text, message text, detail text default '')
    returns void language plpgsql as $$
begin
    raise exception using errcode = code, schema = 'scylla', table = concerning, constraint = rule,
        message = message, detail = detail;
end $$;

create function twin.refuse_argument(name text, rule text) returns void language sql as $$
    select twin.refuse('22023', 'task', 'argument', format('invalid value for argument "%s"', name), rule);
$$;

-- The task is not in a state for this verb. The detail tells a worker what became of its task.
create function twin.refuse_state(t twin.task, rule text, message text) returns void language sql as $$
    select twin.refuse('55000', 'task', rule, message,
                       case when t.owner is null
                            then format('Its status is %s, it has no owner and its attempt is %s.', t.status, t.attempt)
                            else format('Its status is %s, its owner is "%s" and its attempt is %s.',
                                        t.status, t.owner, t.attempt) end);
$$;

-- ---------------------------------------------------------------------------------------------------------------
-- Arguments
--
-- All arguments are checked before anything is looked up; first that nothing is asked for that does not exist yet.
-- ---------------------------------------------------------------------------------------------------------------

create function twin.check_argument(name text, valid boolean, rule text) returns void language plpgsql as $$
begin
    if valid is not true then
        perform twin.refuse_argument(name, rule);
    end if;
end $$;

-- Queues, rns and workers.
create function twin.check_name(name text, value text) returns void language sql as $$
    select twin.check_argument(name, char_length(value) between 1 and 200, 'It must have 1 to 200 characters.');
$$;

create function twin.check_count(max_tasks int) returns void language sql as $$
    select twin.check_argument('max_tasks', max_tasks between 1 and 100000, 'It must be 1 to 100000.');
$$;

-- Comparing intervals counts a month as 30 days and a day as 24 hours.
create function twin.check_timeout(name text, value interval) returns void language sql as $$
    select twin.check_argument(name, value is null or value > '0' and value <= '365 days',
                               'It must be more than 0 and at most 365 days.');
$$;

create function twin.check_progress(progress float8) returns void language sql as $$
    select twin.check_argument('progress', progress is null or progress between 0 and 1, 'It must be 0 to 1.');
$$;

create function twin.check_duplicate_rule(on_duplicate text) returns void language sql as $$
    select twin.check_argument('on_duplicate', on_duplicate in ('error', 'ignore'), 'It must be error or ignore.');
$$;

-- Batches: an array of names, perhaps with as many attempts and results. A result may be null.
create function twin.check_batch(rns text[], attempts int[] default null, results jsonb[] default null)
    returns void language plpgsql as $$
begin
    perform twin.check_argument('rns', rns is not null, 'It must be an array.');
    perform twin.check_name('rns', rn) from unnest(rns) rn;
    perform twin.check_argument('attempts', attempts is null or cardinality(attempts) = cardinality(rns),
                                'It must have as many elements as rns.');
    perform twin.check_argument('attempts', attempt is not null, 'No element may be null.')
    from unnest(attempts) attempt;
    perform twin.check_argument('results', results is null or cardinality(results) = cardinality(rns),
                                'It must have as many elements as rns.');
end $$;

-- The elements of a batch. A name counts once, where it comes first.
create function twin.batch(rns text[], attempts int[] default null, results jsonb[] default null)
    returns table (rn text, attempt int, result jsonb, place bigint, first boolean) language plpgsql as $$
begin
    return query
        select w.*, row_number() over (partition by w.rn order by w.place) = 1
        from rows from (unnest(rns), unnest(attempts), unnest(results)) with ordinality w (rn, attempt, result, place);
end $$;

-- A given length of time as so many seconds: again a month is 30 days and a day 24 hours, so that no lease depends on
-- the session's time zone. (extract() alone counts a year as 365.25 days.)
create function twin.length(i interval) returns interval language sql as $$
    select make_interval(secs => (extract(epoch from i) - extract(year from i) * 5.25 * 86400)::float8);
$$;

create function twin.setting(name text, otherwise interval) returns interval language sql as $$
    select coalesce(nullif(current_setting(name, true), '')::interval, otherwise);
$$;

-- ---------------------------------------------------------------------------------------------------------------
-- Notes: the history of a task and its errors
--
-- Both are arrays that never hold more than 50 entries. A longer one keeps its first 10 and its latest 39, and between
-- them one entry that says how many were left out.
-- ---------------------------------------------------------------------------------------------------------------

create function twin.history_marker(left_out bigint) returns jsonb language sql as $$
    select jsonb_build_object('_typ', 'HistoryElided', 'count', left_out);
$$;

create function twin.errors_marker(left_out bigint) returns jsonb language sql as $$
    select jsonb_build_object('code', 'elided', 'args', jsonb_build_object('count', left_out),
                              'description', left_out || ' errors are left out here');
$$;

-- How many entries the eleventh one of a full list stands for: a marker for all that it counts, any other for itself.
-- An error that only looks like a marker is a worker's own: its count may be anything.
create function twin.stands_for(entry jsonb) returns bigint language plpgsql as $$
declare
    n jsonb := case when entry ->> '_typ' = 'HistoryElided' then entry -> 'count'
                    when entry ->> 'code' = 'elided' then entry -> 'args' -> 'count' end;
begin
    if jsonb_typeof(n) = 'number' and n between '2' and '1000000000000' and n::numeric = trunc(n::numeric) then
        return n;
    end if;
    return 1;
end $$;

create function twin.appended(entries jsonb, entry jsonb, marker regproc) returns jsonb language plpgsql as $$
declare
    first jsonb;
    latest jsonb;
    middle jsonb;
begin
    if jsonb_array_length(entries) < 50 then
        return entries || entry;
    end if;
    -- The eleventh and the twelfth make room for the new one.
    select jsonb_agg(e order by n) filter (where n <= 10), jsonb_agg(e order by n) filter (where n > 12)
    into first, latest
    from jsonb_array_elements(entries) with ordinality as _(e, n);
    execute format('select %s($1)', marker) into middle using twin.stands_for(entries -> 10) + 1;
    return first || middle || latest || entry;
end $$;

-- What happens to the lease that the task has, at its time of updating. Times in notes are UTC, whatever the session's
-- time zone.
create function twin.history_with(t twin.task, typ text) returns jsonb language sql as $$
    select twin.appended(t.history,
        jsonb_build_object('_typ', typ, 'worker', t.owner, 'attempt', t.attempt, 'progress', t.progress,
                           'time', to_char(t.updated at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')),
        'twin.history_marker');
$$;

create function twin.errors_with(t twin.task, error jsonb) returns jsonb language sql as $$
    select twin.appended(t.errors, error, 'twin.errors_marker');
$$;

-- An error that a worker reports: an object with a code; args and description have defaults, other keys are kept.
create function twin.checked_error(error jsonb) returns jsonb language plpgsql as $$
begin
    perform twin.check_argument('error', jsonb_typeof(error) = 'object', 'It must be an object.');
    perform twin.check_argument('error', jsonb_typeof(error -> 'code') = 'string' and error ->> 'code' <> '',
                                'It must have a string "code" that is not empty.');
    perform twin.check_argument('error', coalesce(jsonb_typeof(error -> 'description'), 'string') = 'string',
                                'Its "description" must be a string.');
    return '{"args": {}, "description": ""}' || error;
end $$;

-- ---------------------------------------------------------------------------------------------------------------
-- Steps: find a task, change it, store it
-- ---------------------------------------------------------------------------------------------------------------

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

create function twin.stored(t twin.task) returns twin.task language sql as $$
    update twin.task u
    set status = t.status, updated = t.updated, due = t.due, owner = t.owner, deadline = t.deadline,
        timeout = t.timeout, progress = t.progress, attempt = t.attempt, failures = t.failures, history = t.history,
        errors = t.errors, result = t.result, metrics = t.metrics
    where u.id = t.id
    returning u;
$$;

-- An attempt begins.
create function twin.assigned(t twin.task, worker text, timeout interval) returns twin.task language plpgsql as $$
begin
    t.status := 'running';
    t.updated := clock_timestamp();
    t.owner := worker;
    t.attempt := t.attempt + 1;
    t.timeout := twin.length(coalesce(timeout, twin.default_timeout(t.queue)));
    t.deadline := t.updated + t.timeout;
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

-- The attempt is over, the task is not. Without a delay it is ready again at once, for any worker.
create function twin.given_back(t twin.task, reason text, delay interval default '0')
    returns twin.task language plpgsql as $$
begin
    t.updated := clock_timestamp();
    t.history := twin.history_with(t, reason);
    if delay > '0' then
        t.status := 'waiting';
        t.due := t.updated + twin.length(delay);
    else
        t.status := 'ready';
    end if;
    t.owner := null;
    t.deadline := null;
    t.timeout := null;
    t.progress := 0;
    return twin.stored(t);
end $$;

-- A task that has ended never changes again. It shows its last owner.
create function twin.ended(t twin.task, status twin.task_status) returns twin.task language plpgsql as $$
begin
    t.status := status;
    t.updated := clock_timestamp();
    t.due := null;
    t.deadline := null;
    t.timeout := null;
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

-- ---------------------------------------------------------------------------------------------------------------
-- Queues
-- ---------------------------------------------------------------------------------------------------------------

create function twin.check_retention(name text, value interval) returns void language sql as $$
    select twin.check_argument(name, value is null or value between '0' and '36500 days', 'It must be 0 to 36500 days.');
$$;

-- A delay between two tries.
create function twin.check_delay(name text, value interval) returns void language sql as $$
    select twin.check_argument(name, value between '0' and '365 days', 'It must be 0 to 365 days.');
$$;

-- A value inside an object, as text.
create function twin.member(value jsonb, name text, json_type text) returns text language plpgsql as $$
begin
    perform twin.check_argument(name, jsonb_typeof(value) = json_type, format('It must be a %s.', json_type));
    return value #>> '{}';
end $$;

create function twin.member_interval(value jsonb, name text) returns interval language plpgsql as $$
begin
    return twin.member(value, name, 'string')::interval;
exception when invalid_datetime_format or datetime_field_overflow or interval_field_overflow then
    perform twin.refuse_argument(name, 'It must be an interval.');
end $$;

-- How to wait between tries: null or an object, all members of which are optional.
create function twin.check_retry(retry jsonb) returns void language plpgsql as $$
declare
    name text;
    value jsonb;
begin
    perform twin.check_argument('retry', retry is null or jsonb_typeof(retry) = 'object', 'It must be an object.');
    for name, value in select * from jsonb_each(retry) loop
        case when name in ('initial', 'max') then
            perform twin.check_delay(name, twin.member_interval(value, name));
        when name = 'factor' then
            perform twin.check_argument(name, twin.member(value, name, 'number')::numeric between 1 and 1000,
                                        'It must be 1 to 1000.');
        when name = 'jitter' then
            perform twin.check_argument(name, twin.member(value, name, 'number')::numeric between 0 and 1,
                                        'It must be 0 to 1.');
        else
            perform twin.refuse_argument('retry', 'There is no such member.');
        end case;
    end loop;
end $$;

create function twin.check_settings(q twin.queue) returns void language plpgsql as $$
begin
    perform twin.check_timeout('default_timeout', q.default_timeout);
    perform twin.check_retention('retention', q.retention);
    perform twin.check_argument('aging', q.aging between 0 and 1000, 'It must be 0 to 1000 points per second.');
    perform twin.check_argument('max_attempts', q.max_attempts is null or q.max_attempts >= 1, 'It must be at least 1.');
    perform twin.check_retry(q.retry);
    perform twin.check_retention('retention_completed', q.retention_completed);
    perform twin.check_retention('retention_aborted', q.retention_aborted);
    perform twin.check_retention('retention_cancelled', q.retention_cancelled);
    perform twin.check_argument('paused', q.paused is not null, 'It must be true or false.');
    perform twin.check_argument('max_running', q.max_running is null or q.max_running >= 1, 'It must be at least 1.');
    perform twin.check_argument('events', q.events is not null, 'It must be true or false.');
    perform twin.check_argument('notify', q.notify is not null, 'It must be true or false.');
    perform twin.check_argument('max_running_per_key', q.max_running_per_key is null or q.max_running_per_key >= 1,
                                'It must be at least 1.');
    perform twin.check_argument('max_depth', q.max_depth is null or q.max_depth >= 1, 'It must be at least 1.');
    perform twin.check_argument('on_full', q.on_full is not null and q.on_full in ('error', 'shed'), 'It must be error or shed.');
end $$;

create function twin.create_queue(queue text, default_timeout interval default null, retention interval default null,
                                  aging float8 default 0, max_attempts int default null, retry jsonb default null,
                                  retention_completed interval default null, retention_aborted interval default null,
                                  retention_cancelled interval default null, paused boolean default false,
                                  max_running int default null, events boolean default false,
                                  notify boolean default false, max_running_per_key int default null,
                                  max_depth int default null, on_full text default 'error',
                                  key_weights jsonb default null, rate jsonb default null)
    returns void language plpgsql as $$
declare
    q twin.queue := (queue, default_timeout, retention, aging, max_attempts, retry, retention_completed,
                     retention_aborted, retention_cancelled, paused, max_running, events, notify, max_running_per_key,
                     max_depth, on_full, key_weights, rate);
begin
    perform twin.check_name('queue', queue);
    perform twin.check_settings(q);
    if exists (select from twin.queue e where e.name = queue) then
        perform twin.refuse('42710', 'queue', 'unique', format('queue "%s" already exists', queue));
    end if;
    insert into twin.queue select q.*;
end $$;

create function twin.known_queue(name text) returns twin.queue language plpgsql as $$
declare
    q twin.queue;
begin
    perform twin.check_name('queue', name);
    select * into q from twin.queue e where e.name = known_queue.name;
    if q.name is null then
        perform twin.refuse('42704', 'queue', 'exists', format('queue "%s" does not exist', name));
    end if;
    return q;
end $$;

-- A setting that is named has the new value, or with null its default; the others stay.
create function twin.altered(q twin.queue, settings jsonb) returns twin.queue language plpgsql as $$
declare
    name text;
    value jsonb;
begin
    for name, value in select * from jsonb_each(settings) loop
        value := nullif(value, 'null');
        case name
        when 'default_timeout' then q.default_timeout := case when value is not null then twin.member_interval(value, name) end;
        when 'retention' then q.retention := case when value is not null then twin.member_interval(value, name) end;
        when 'aging' then q.aging := case when value is null then 0 else twin.member(value, name, 'number')::float8 end;
        when 'max_attempts' then q.max_attempts := twin.element_int(settings, name);
        when 'retry' then q.retry := value;
        when 'retention_completed' then
            q.retention_completed := case when value is not null then twin.member_interval(value, name) end;
        when 'retention_aborted' then
            q.retention_aborted := case when value is not null then twin.member_interval(value, name) end;
        when 'retention_cancelled' then
            q.retention_cancelled := case when value is not null then twin.member_interval(value, name) end;
        when 'paused' then
            q.paused := case when value is null then false else twin.member(value, name, 'boolean')::boolean end;
        when 'max_running' then q.max_running := twin.element_int(settings, name);
        when 'events' then
            q.events := case when value is null then false else twin.member(value, name, 'boolean')::boolean end;
        when 'notify' then
            q.notify := case when value is null then false else twin.member(value, name, 'boolean')::boolean end;
        else
            perform twin.refuse_argument('settings', 'There is no such setting.');
        end case;
    end loop;
    perform twin.check_settings(q);
    return q;
end $$;

create function twin.alter_queue(queue text, settings jsonb) returns void language plpgsql as $$
declare
    q twin.queue;
begin
    perform twin.check_name('queue', queue);
    perform twin.check_argument('settings', jsonb_typeof(settings) = 'object', 'It must be an object.');
    q := row('', null, null, 0, null, null, null, null, null, false, null, false, false, null, null, 'error', null, null);
    perform twin.altered(q, settings);
    q := twin.altered(twin.known_queue(queue), settings);
    update twin.queue e
    set default_timeout = q.default_timeout, retention = q.retention, aging = q.aging, max_attempts = q.max_attempts,
        retry = q.retry, retention_completed = q.retention_completed, retention_aborted = q.retention_aborted,
        retention_cancelled = q.retention_cancelled, paused = q.paused, max_running = q.max_running,
        events = q.events, notify = q.notify
    where e.name = q.name;
end $$;

create function twin.pause_queue(queue text) returns void language sql as $$
    update twin.queue e set paused = true where e.name = (twin.known_queue(queue)).name;
$$;

create function twin.resume_queue(queue text) returns void language sql as $$
    update twin.queue e set paused = false where e.name = (twin.known_queue(queue)).name;
$$;

-- With its tasks, if that is what is wanted.
create function twin.drop_queue(queue text, force boolean default false) returns void language plpgsql as $$
begin
    perform twin.check_name('queue', queue);
    perform twin.check_argument('force', force is not null, 'It must be true or false.');
    perform twin.known_queue(queue);
    if not force and exists (select from twin.task t where t.queue = drop_queue.queue) then
        perform twin.refuse('2BP01', 'queue', 'empty', format('queue "%s" has tasks', queue));
    end if;
    delete from twin.task t where t.queue = drop_queue.queue;
    delete from twin.queue q where q.name = drop_queue.queue;
end $$;

-- A queue comes into being with its first task, unless the setting forbids it.
create function twin.need_queue(queue text) returns void language plpgsql as $$
begin
    if exists (select from twin.queue q where q.name = queue) then
        return;
    end if;
    if not coalesce(nullif(current_setting('scylla.auto_create_queues', true), '')::boolean, true) then
        perform twin.refuse('42704', 'queue', 'exists', format('queue "%s" does not exist', queue));
    end if;
    insert into twin.queue (name) values (queue);
end $$;

-- ---------------------------------------------------------------------------------------------------------------
-- Submitting
-- ---------------------------------------------------------------------------------------------------------------

-- What somebody wants to be done: what the three ways to submit have in common.
create type twin.request as (queue text, spec jsonb, priority int, rn text, not_before timestamptz, max_attempts int,
                             retry jsonb, key text);

create function twin.check_request(r twin.request) returns void language plpgsql as $$
begin
    perform twin.check_name('queue', r.queue);
    perform twin.check_argument('spec', r.spec <> 'null', 'It must not be null.');
    perform twin.check_argument('priority', r.priority between 0 and 127, 'It must be 0 to 127.');
    if r.rn is not null then
        perform twin.check_name('rn', r.rn);
    end if;
    perform twin.check_argument('not_before', r.not_before is null or isfinite(r.not_before), 'It must be finite.');
    perform twin.check_argument('max_attempts', r.max_attempts is null or r.max_attempts >= 1,
                                'It must be at least 1.');
    perform twin.check_retry(r.retry);
    if r.key is not null then
        perform twin.check_name('key', r.key);
    end if;
end $$;

create function twin.check_supported(argument text, default_given boolean) returns void language plpgsql as $$
begin
    if default_given is not true then
        perform twin.refuse('0A000', 'task', 'supported',
                            format('argument "%s" is not available in this version', argument));
    end if;
end $$;

-- A name that sorts by the time at which it was made: UUID version 7.
create function twin.new_name() returns text language sql as $$
    select encode(set_bit(set_bit(
               overlay(uuid_send(gen_random_uuid())
                       placing substring(int8send(floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
                       from 1 for 6),
               52, 1), 53, 1), 'hex')::uuid::text;
$$;

-- The one way in, once there is a queue. Gives back the task, and whether it is new.
create function twin.admit(r twin.request, on_duplicate text, out t twin.task, out inserted boolean)
    language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
    waits boolean := coalesce(r.not_before > moment, false);
begin
    select * into t from twin.task where task.rn = r.rn;
    inserted := t.id is null;
    if inserted then
        insert into twin.task (rn, queue, spec, priority, not_before, max_attempts, retry, key, created, updated, status, due)
        values (coalesce(r.rn, twin.new_name()), r.queue, r.spec, r.priority, r.not_before,
                coalesce(r.max_attempts, (select q.max_attempts from twin.queue q where q.name = r.queue)),
                r.retry, r.key, moment, moment,
                case when waits then 'waiting' else 'ready' end::twin.task_status,
                case when waits then r.not_before end)
        returning * into t;
    elsif on_duplicate = 'error' then
        perform twin.refuse('23505', 'task', 'unique', format('task "%s" already exists', r.rn));
    end if;
end $$;

create function twin.submit(queue text, spec jsonb, priority int default 0, rn text default null,
                            not_before timestamptz default null, depends_on text[] default null,
                            on_dependency_failure text default 'cascade', plan text default null,
                            max_attempts int default null, retry jsonb default null, dedup_key text default null,
                            key text default null, on_duplicate text default 'error')
    returns twin.task_row language plpgsql as $$
declare
    request twin.request := (queue, spec, priority, rn, not_before, max_attempts, retry, key);
begin
    perform twin.check_supported('depends_on', depends_on is null);
    perform twin.check_supported('on_dependency_failure', on_dependency_failure = 'cascade');
    perform twin.check_supported('plan', plan is null);
    perform twin.check_supported('dedup_key', dedup_key is null);
    perform twin.check_duplicate_rule(on_duplicate);
    perform twin.check_request(request);
    -- What is there already needs no queue.
    if on_duplicate = 'error' or not exists (select from twin.task t where t.rn = submit.rn) then
        perform twin.need_queue(queue);
    end if;
    return (select twin.shown(a.t) from twin.admit(request, on_duplicate) a);
end $$;

-- The value of a key of one element of submit_many's array, as text; null if it is absent or JSON null.
create function twin.element_value(element jsonb, key text, json_type text) returns text language plpgsql as $$
begin
    perform twin.check_argument(key, coalesce(jsonb_typeof(element -> key), 'null') in (json_type, 'null'),
                                format('It must be a %s.', json_type));
    return element ->> key;
end $$;

-- JSON does not tell 5 from 5.0.
create function twin.element_int(element jsonb, key text) returns int language plpgsql as $$
declare
    value numeric := twin.element_value(element, key, 'number');
begin
    perform twin.check_argument(key, value is null or value = trunc(value) and abs(value) < 2147483648,
                                'It must be a whole number.');
    return value;
end $$;

create function twin.element_time(element jsonb, key text) returns timestamptz language plpgsql as $$
begin
    return twin.element_value(element, key, 'string')::timestamptz;
exception when invalid_datetime_format or datetime_field_overflow or invalid_parameter_value then
    perform twin.refuse_argument(key, 'It must be a timestamp.');
end $$;

create function twin.request_in(element jsonb) returns twin.request language plpgsql as $$
declare
    unknown text;
    on_failure text;
    request twin.request;
begin
    perform twin.check_argument('tasks', jsonb_typeof(element) = 'object', 'Its elements must be objects.');
    select k into unknown from jsonb_object_keys(element) k
    where k not in ('queue', 'spec', 'priority', 'rn', 'not_before', 'depends_on', 'on_dependency_failure', 'plan',
                    'max_attempts', 'retry', 'dedup_key', 'key')
    limit 1;
    perform twin.check_argument(unknown, unknown is null, 'It is no argument of submit().');

    perform twin.check_supported(k, coalesce(element -> k, 'null') = 'null')
    from unnest(array['depends_on', 'plan', 'dedup_key']) k;
    on_failure := twin.element_value(element, 'on_dependency_failure', 'string');
    perform twin.check_supported('on_dependency_failure', coalesce(on_failure, 'cascade') = 'cascade');

    request := (twin.element_value(element, 'queue', 'string'), element -> 'spec',
                coalesce(twin.element_int(element, 'priority'), 0), twin.element_value(element, 'rn', 'string'),
                twin.element_time(element, 'not_before'), twin.element_int(element, 'max_attempts'),
                nullif(element -> 'retry', 'null'), twin.element_value(element, 'key', 'string'));
    perform twin.check_request(request);
    return request;
end $$;

-- The whole array is read, and has its queues, before the first task is written.
create function twin.submit_many(tasks jsonb, on_duplicate text default 'ignore')
    returns table (rn text, inserted boolean) language plpgsql as $$
declare
    requests twin.request[];
    request twin.request;
begin
    perform twin.check_duplicate_rule(on_duplicate);
    perform twin.check_argument('tasks', jsonb_typeof(tasks) = 'array', 'It must be an array.');
    select coalesce(array_agg(twin.request_in(e) order by n), '{}') into requests
    from jsonb_array_elements(tasks) with ordinality _(e, n);

    perform twin.need_queue(r.queue) from unnest(requests) r;
    foreach request in array requests loop
        return query select (a.t).rn, a.inserted from twin.admit(request, on_duplicate) a;
    end loop;
end $$;

-- For speed there, for nothing but convenience here. Every rn must be new.
create function twin.submit_bulk(queue text, specs jsonb[], rns text[] default null, priority int default 0)
    returns bigint language plpgsql as $$
declare
    request twin.request;
begin
    perform twin.check_name('queue', queue);
    perform twin.check_argument('specs', specs is not null, 'It must be an array.');
    perform twin.check_argument('priority', priority between 0 and 127, 'It must be 0 to 127.');
    perform twin.check_argument('rns', rns is null or cardinality(rns) = cardinality(specs),
                                'It must have as many elements as specs.');
    perform twin.check_name('rns', rn) from unnest(rns) rn;
    perform twin.check_argument('specs', spec <> 'null', 'No element may be null.') from unnest(specs) spec;

    for request in
        select queue, spec, priority, rn, null::timestamptz, null::int, null::jsonb, null::text
        from rows from (unnest(specs), unnest(rns)) with ordinality _(spec, rn, place) order by place
    loop
        perform twin.need_queue(queue);
        perform twin.admit(request, 'error');
    end loop;
    return cardinality(specs);
end $$;

-- ---------------------------------------------------------------------------------------------------------------
-- Leasing
-- ---------------------------------------------------------------------------------------------------------------

create function twin.is_paused(queue text) returns boolean language sql as $$
    select q.paused from twin.queue q where q.name = queue;
$$;

-- How many more tasks may run.
create function twin.room(queue text) returns bigint language sql as $$
    select greatest(coalesce(q.max_running - (select count(*) from twin.task t where t.queue = q.name and t.status = 'running'),
                             1000000), 0)
    from twin.queue q where q.name = queue;
$$;

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

-- Highest priority first, then oldest first. What another worker is just taking is passed over, not waited for.
create function twin.lease(queue text, worker text, max_tasks int default 1, timeout interval default null)
    returns setof twin.task_row language plpgsql as $$
declare
    t twin.task;
    moment timestamptz := clock_timestamp();
begin
    perform twin.check_name('queue', queue);
    perform twin.check_name('worker', worker);
    perform twin.check_count(max_tasks);
    perform twin.check_timeout('timeout', timeout);
    for t in select * from twin.task r
             where r.queue = lease.queue and r.status = 'ready' and not twin.is_paused(r.queue)
             order by twin.effective_priority(r, moment) desc, r.id limit least(max_tasks, twin.room(lease.queue))
             for update skip locked
    loop
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
    if twin.room(t.queue) = 0 then
        perform twin.refuse('53400', 'queue', 'max_running', format('queue "%s" has reached its max_running', t.queue));
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
begin
    perform twin.check_batch(rns, attempts);
    perform twin.check_name('worker', worker);
    perform twin.check_timeout('timeout', timeout);
    for wanted in select * from twin.batch(rns, attempts) order by place
    loop
        select * into t from twin.task u where u.rn = wanted.rn;
        held := wanted.first and twin.holds(t, worker, wanted.attempt);
        if held then
            t := twin.extended(t, timeout, null);
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
begin
    perform twin.check_name('rn', rn);
    perform twin.check_name('worker', worker);
    return twin.shown_to_owner(twin.completed(twin.held(rn, worker, attempt), result, metrics));
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
        completed := wanted.first and twin.holds(t, worker, wanted.attempt);
        if completed then
            t := twin.completed(t, wanted.result, null);
        end if;
        rn := wanted.rn;
        status := t.status;
        return next;
    end loop;
end $$;

-- A worker's loop in one call. Here a lost lease is an error, and then nothing is done. The names are taken in
-- the order of their bytes, so that two calls never wait for each other.
create function twin.complete_and_lease(rns text[], worker text, queue text, max_tasks int default 1,
                                        timeout interval default null, results jsonb[] default null,
                                        attempts int[] default null)
    returns setof twin.task_row language plpgsql as $$
begin
    perform twin.check_batch(rns, attempts, results);
    perform twin.check_name('queue', queue);
    perform twin.check_name('worker', worker);
    perform twin.check_count(max_tasks);
    perform twin.check_timeout('timeout', timeout);
    perform twin.completed(twin.held(w.rn, worker, w.attempt), w.result, null)
    from (select * from twin.batch(rns, attempts, results) where first order by rn collate "C") w;
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
    return twin.shown_to_owner(twin.ended(t, 'aborted'));
end $$;

create function twin.cancel(rn text) returns twin.task_row language plpgsql as $$
declare
    t twin.task;
begin
    perform twin.check_name('rn', rn);
    t := twin.known(rn);
    if t.status not in ('waiting', 'ready', 'running') then
        perform twin.refuse_state(t, 'live', format('task "%s" has already ended', rn));
    end if;
    return twin.shown(twin.ended(t, 'cancelled'));
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
    first float8 := extract(epoch from twin.length(initial)) * 1000000;
    highest int := case when factor > 1 then least(count, ceil(650 / ln(factor))) else count end;
    grown float8;
begin
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
        return twin.shown_to_owner(twin.ended(t, 'aborted'));
    end if;
    return twin.shown_to_owner(twin.given_back(t, 'TaskRetry', coalesce(retry_after, twin.retry_delay(t))));
end $$;

-- ---------------------------------------------------------------------------------------------------------------
-- Looking
-- ---------------------------------------------------------------------------------------------------------------

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
    for t in select * from twin.task u where u.status = 'running' and u.deadline <= clock_timestamp() loop
        n := n + 1;
        t.failures := t.failures + 1;
        if twin.is_exhausted(t) then
            t.updated := clock_timestamp();
            t.history := twin.history_with(t, 'TaskTimeout');
            t.errors := twin.errors_with(t, '{"code": "timeout", "args": {}, "description": "the lease expired"}');
            t.owner := null;
            perform twin.ended(t, 'aborted');
        else
            perform twin.given_back(t, 'TaskTimeout');
        end if;
    end loop;
    return n;
end $$;

-- Waiting tasks whose time has come are ready.
create function twin.open_due() returns bigint language sql as $$
    with opened as (
        update twin.task t set status = 'ready', due = null, updated = clock_timestamp()
        where t.status = 'waiting' and t.due <= clock_timestamp()
        returning 1)
    select count(*) from opened;
$$;

-- Tasks that have ended are kept for a while.
create function twin.purge() returns bigint language sql as $$
    with removed as (
        delete from twin.task t using twin.queue q
        where q.name = t.queue and t.status in ('completed', 'aborted', 'cancelled')
          and t.updated < clock_timestamp()
                          - twin.length(coalesce(case t.status when 'completed' then q.retention_completed
                                                               when 'aborted' then q.retention_aborted
                                                               else q.retention_cancelled end,
                                                 q.retention, twin.setting('scylla.retention', '7 days')))
        returning 1)
    select count(*) from removed;
$$;

-- One round. A task that it ends stays at least until the next one, however short the retention.
create function twin.maintain() returns void language plpgsql as $$
begin
    perform twin.purge();
    perform twin.open_due();
    perform twin.reset_expired();
end $$;
