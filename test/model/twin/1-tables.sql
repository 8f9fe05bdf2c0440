-- The twin: what every verb of Scylla means, in SQL that a person can read.
--
-- This is the specification. The extension keeps its tasks in several tables, reaches them without SQL and hints at the
-- next task in shared memory; the twin keeps one table, and a verb reads a row, changes it and stores it. The driver
-- (test/model/driver) puts random calls to both and compares every result, every error and the complete state. Where the
-- two disagree, one of them is wrong.
--
-- The files of this folder, in this order: the tables and refusals; arguments and notes (history and errors); steps; gates:
-- what tasks wait for; placing: which tasks in line get what they need of pools; and then the verbs by concept: queues, submitting,
-- working (leasing, keeping a lease, finishing, giving back), plans, conditions, looking, with what the monitor does, and pools.
--
-- What the twin leaves out on purpose: privileges, waiting for work, and the concurrency of many workers (isolation
-- tests do that). It has no triggers and handlers. Functions have the names, arguments and defaults of schema scylla.

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
    events boolean not null default false,      -- true: what happens to its tasks is recorded
    notify boolean not null default false,      -- what this switches on is not in the model
    max_running_per_key int,    -- so many tasks of one key may run at once; null: any number
    max_depth int,              -- so many tasks may wait or be ready when one is submitted; null: any number
    on_full text not null default 'error',      -- what becomes of one more: error, or shed: it is cancelled at once
    key_weights jsonb,          -- how many tasks the turn of each key has; null: tasks go in the order of the queue
    rate jsonb,                 -- how fast leases may start; null: as fast as they can. The driver sets none but some so slow that
                                -- no lease ever starts
    rate_per_key jsonb,         -- null: leases of a key start as fast as they can; anything else is not in the model
    handler text,               -- null; anything else is not in the model
    run_timeout interval        -- likewise
);

-- Settings that are not in effect yet.
create table twin.pending (queue text not null, setting text not null, primary key (queue, setting));

-- Who has changed a queue last, and who has made it.
create table twin.changed (queue text primary key, by xid8 not null, made_by xid8 not null);

-- A set of tasks that is opened, cancelled and finished as one.
create table twin.plan (
    id bigint generated always as identity primary key,
    name text not null unique,
    spec jsonb,
    created timestamptz not null,
    opened timestamptz,         -- null: it is being built, and its tasks wait
    finished timestamptz,       -- when its last live task ended, or it was cancelled
    failed boolean not null default false,      -- a task of it was aborted
    cancelled boolean not null default false    -- it was cancelled, or a task of it
);

create table twin.task (
    -- Of two tasks the one with the smaller id is older.
    id bigint generated always as identity primary key,

    -- What it is. Never changes, but for the priority of a check.
    rn text not null unique,
    queue text not null references twin.queue,
    spec jsonb not null,
    priority int not null check (priority between 0 and 127),
    not_before timestamptz,     -- as submit was given it
    max_attempts int,           -- that many failures end it; null: no bound
    retry jsonb,                -- the delays between tries; null: as the queue says
    depends_on bigint[] not null,       -- the tasks that must be completed before it starts
    on_failure text not null check (on_failure in ('cascade', 'skip', 'ignore')),       -- if one of them is not
    plan bigint,                -- the plan that must be open before it starts; may have been purged
    dedup_key text,             -- no two live tasks of a queue have the same
    key text,                   -- whose work it is
    needs jsonb,                -- what it needs of pools while it runs; null: nothing
    runtime interval,           -- how long it is expected to run; null: not known
    is_check boolean not null default false,    -- it was made for others that wait for its answer
    created timestamptz not null,

    -- Where it is now.
    status twin.task_status not null,
    updated timestamptz not null,
    due timestamptz,            -- waiting: when it becomes ready; null: it waits for tasks, its plan or pools
    in_line boolean not null default false,     -- waiting: for pools only
    owner text,
    deadline timestamptz,
    timeout interval,           -- running: what the lease was given, which a heartbeat extends it by
    progress real not null default 0 check (progress between 0 and 1),

    -- What happened to it.
    attempt int not null default 0,     -- counts assignments; fences off earlier runs of a worker
    failures int not null default 0,    -- counts fails and expired leases
    history jsonb not null default '[]',
    errors jsonb not null default '[]',
    skipped boolean not null default false,     -- cancelled as its on_failure says
    result jsonb,
    metrics jsonb,
    earlier jsonb,              -- running: its history before the lease
    state jsonb,                -- what the worker that deferred it last has left
    answers bigint not null default 0,  -- how often a worker has said "not yet"
    answered timestamptz,       -- when one last has

    constraint only_waiting_is_due check (status = 'waiting' or due is null),
    constraint only_waiting_is_in_line check (status = 'waiting' and due is null or not in_line),
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

create unique index on twin.task (queue, dedup_key) where status in ('waiting', 'ready', 'running');

-- What tasks wait for that is no task. Ids are negative, so that a gate can name a task or a condition.
create sequence twin.condition_id increment by -1 maxvalue -1;
create table twin.condition (
    id bigint primary key default nextval('twin.condition_id'),
    token text unique,          -- of a callback; null: a signal
    expires timestamptz,        -- of a callback: from then on nobody can end it
    signal text,                -- the name of the signal
    match jsonb,                -- what its parameters must be
    ended timestamptz,
    failed boolean,
    value jsonb                 -- of one that has failed, the error
);

create table twin.signal (
    seq bigint generated always as identity primary key,
    name text not null,
    params jsonb not null,
    payload jsonb,
    request_id text,
    sent timestamptz not null,
    unique (name, request_id)
);

-- The elements of wait_for. They come after those of depends_on.
create table twin.gate (
    task bigint not null references twin.task on delete cascade,
    ord int not null,
    kind text not null,         -- task, callback, signal or check
    provider bigint not null,
    on_failure text not null check (on_failure in ('cascade', 'skip', 'ignore')),
    deadline timestamptz,       -- until when the task waits; null: without end
    on_timeout text not null check (on_timeout in ('abort', 'skip', 'ignore')),
    every interval,             -- of a check: how often it is to be asked; null: that is up to others
    primary key (task, ord)
);

-- How much there is of what tasks need.
create table twin.pool (
    name text primary key,
    capacity jsonb not null,    -- amounts by resource
    policy text not null check (policy in ('strict', 'greedy', 'backfill')),
    max_bypass int not null,
    metrics_max_age interval,   -- nothing is placed while the last report is older; null: reports are not needed
    drained boolean not null default false,     -- true: nothing is placed
    reported jsonb,             -- what was in use when somebody measured last
    reported_at timestamptz,
    head bigint,                -- the task that others have passed, and how many of them, as long as it is the first that does not fit
    passed bigint not null default 0
);

-- What a task holds of a pool, from when it was placed to the end of its run.
create table twin.reservation (
    task bigint not null,
    pool text not null,
    amounts jsonb not null,
    since timestamptz not null,
    ends timestamptz,           -- when the run is expected to end; null: not known
    chosen boolean not null,    -- the task shows this pool
    primary key (task, pool)
);

-- A condition that has ended goes with the last task that waited for it; but for a callback whose last task goes on without it.
create function twin.forget_conditions() returns trigger language plpgsql as $$
begin
    delete from twin.condition c
    where c.id in (select r.provider from removed r) and c.ended is not null
      and not exists (select from twin.gate g where g.provider = c.id)
      and not (c.token is not null and exists (select from removed r join twin.task t on t.id = r.task where r.provider = c.id));
    return null;
end $$;
create trigger forget_conditions after delete on twin.gate referencing old table as removed
    for each statement execute function twin.forget_conditions();

-- A row for each status that a task of a queue with events has got, in the order of their ids. A task whose gates have opened and
-- that waits for its time now waits once more.
create table twin.event (
    id bigint generated always as identity primary key,
    time timestamptz not null,
    queue text not null,
    rn text not null,
    status twin.task_status not null,
    attempt int not null,
    failures int not null,
    worker text                 -- who leased it, or held it when it ended
);

create function twin.record_event(t twin.task) returns void language plpgsql as $$
begin
    insert into twin.event (time, queue, rn, status, attempt, failures, worker)
    select t.updated, t.queue, t.rn, t.status, t.attempt, t.failures, t.owner from twin.queue q where q.name = t.queue and q.events;
end $$;

-- How a task is shown: the row type of scylla.task.
create type twin.task_row as (
    rn text, queue text, spec jsonb, status twin.task_status, priority int, progress real, created timestamptz,
    updated timestamptz, owner text, deadline timestamptz, errors jsonb, history jsonb, result jsonb, metrics jsonb,
    args jsonb, attempt int, failures int, max_attempts int, not_before timestamptz, plan text, key text, pool text,
    state jsonb, answers bigint, answered timestamptz, error_message text
);

-- The results of the tasks that it depends on, in the order in which it names them; null where there is none. Then the values of
-- what else it waits for.
create function twin.args(t twin.task) returns jsonb language plpgsql as $$
declare
    awaited jsonb := (select coalesce(jsonb_agg(case when not c.failed then c.value else p.result end order by g.ord), '[]')
                      from twin.gate g left join twin.condition c on c.id = g.provider left join twin.task p on p.id = g.provider
                      where g.task = t.id);
begin
    if t.depends_on = '{}' then
        return awaited;
    end if;
    return (select jsonb_agg(p.result order by place)
            from unnest(t.depends_on) with ordinality d (id, place) left join twin.task p on p.id = d.id) || awaited;
end $$;

-- A waiting task shows the time at which it becomes ready, be it submit's or that of a retry.
create function twin.shown(t twin.task) returns twin.task_row language sql as $$
    select t.rn, t.queue, t.spec, t.status, t.priority, t.progress, t.created, t.updated, t.owner, t.deadline, t.errors,
           t.history, t.result, t.metrics, twin.args(t), t.attempt, t.failures, t.max_attempts,
           coalesce(t.due, t.not_before), (select p.name from twin.plan p where p.id = t.plan), t.key,
           (select r.pool from twin.reservation r where r.task = t.id and r.chosen),
           t.state, t.answers, t.answered, coalesce(nullif(t.errors -> -1 ->> 'message', ''), t.errors -> -1 ->> 'code');
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

-- How a plan is shown. Its result is that of its final tasks: those on which no other of its tasks depends.
create view twin.plans as
    select p.name,
           case when p.finished is null then case when p.opened is null then 'building' else 'running' end
                when p.cancelled then 'cancelled' when p.failed then 'failed' else 'completed' end as status,
           p.spec, m.waiting, m.ready, m.running, m.completed, m.aborted, m.cancelled,
           case when m.tasks > 0 then m.parts_done / m.tasks
                when p.finished is not null then 1 else 0 end::real as progress,
           p.created, p.opened, p.finished, m.result
    from twin.plan p
    cross join lateral (
        select count(*) as tasks,
               count(*) filter (where t.status = 'waiting') as waiting,
               count(*) filter (where t.status = 'ready') as ready,
               count(*) filter (where t.status = 'running') as running,
               count(*) filter (where t.status = 'completed') as completed,
               count(*) filter (where t.status = 'aborted') as aborted,
               count(*) filter (where t.status = 'cancelled') as cancelled,
               sum(case when t.status in ('completed', 'aborted', 'cancelled') then 1 else t.progress end) as parts_done,
               jsonb_object_agg(t.rn, t.result) filter (where t.status = 'completed' and not exists (
                   select from twin.task d where d.plan = p.id and t.id = any (d.depends_on))
                   and not exists (select from twin.task d join twin.gate g on g.task = d.id
                                   where d.plan = p.id and g.provider = t.id)) as result
        from twin.task t where t.plan = p.id) m;

-- What the tasks of plans depend on.
create view twin.plan_tasks as
    select p.name as plan, t.rn, t.queue, t.status,
           array(select d.rn from unnest(t.depends_on) with ordinality u (id, place) join twin.task d using (id)
                 order by place)
           || array(select d.rn from twin.gate g join twin.task d on d.id = g.provider where g.task = t.id and g.kind = 'task' order by g.ord)
               as depends_on
    from twin.plan p join twin.task t on t.plan = p.id;

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
