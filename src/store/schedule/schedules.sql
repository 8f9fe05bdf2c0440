-- Schedules: rows of scylla.schedule and of scylla.schedule_tick. A schedule is armed in the database that its column
-- home names; the parameter home is schedule_home().

-- words overlap Overlap k_overlap_names store/schedule/types.h
-- words catch_up CatchUp k_catch_up_names store/schedule/types.h

-- struct Settings (
--     name text,
--     cron text,
--     timezone text,
--     task jsonb, -- an object: a task, or with the member "job" a request; an array: the tasks of a plan
--     overlap overlap,
--     catch_up catch_up,
--     grace interval?, -- null: no bound
--     max_catch_up int4,
--     jitter interval,
--     starts timestamptz?,
--     ends timestamptz?,
--     planned_key text?)
-- The arguments of schedule().

-- struct State (
--     handled timestamptz, -- all planned times until then are handled
--     next_run timestamptz?, -- the first planned time after it
--     last_run timestamptz?,
--     last_submitted timestamptz?,
--     last_task text?,
--     runs int8,
--     skipped int8,
--     missed int8,
--     last_error text?,
--     failed timestamptz?,
--     failing_since timestamptz?, -- when the present series of failures began
--     retry_at timestamptz?, -- the monitor does not retry before that
--     last_skipped timestamptz?,
--     skip_reason text?)
-- What has become of it.

-- struct Schedule (owner cstring, settings Settings, state State)

-- @schedule()
owner, name, cron, timezone, task, overlap, catch_up, grace, max_catch_up, jitter, starts, ends, planned_key,
handled, next_run, last_run, last_submitted, last_task, runs, skipped, missed, last_error, failed, failing_since,
retry_at, last_skipped, skip_reason

-- put(settings Settings, owner cstring, home cstring, now timestamptz) -> one Schedule
-- Creates or changes a schedule, for this owner if it is new. If its times stay the same, what was due is still due.
-- Waits for a transaction that is changing or running it.
insert into scylla.schedule as t (name, owner, home, cron, timezone, task, overlap, catch_up, grace, max_catch_up,
                                  jitter, starts, ends, planned_key, handled)
values (:settings.name, :owner, :home, :settings.cron, :settings.timezone, :settings.task, :settings.overlap,
        :settings.catch_up, :settings.grace, :settings.max_catch_up, :settings.jitter, :settings.starts, :settings.ends,
        :settings.planned_key, :now)
on conflict (name) do update
set home = excluded.home, cron = excluded.cron, timezone = excluded.timezone, task = excluded.task,
    overlap = excluded.overlap, catch_up = excluded.catch_up, grace = excluded.grace,
    max_catch_up = excluded.max_catch_up, jitter = excluded.jitter, starts = excluded.starts, ends = excluded.ends,
    planned_key = excluded.planned_key, last_error = null, failed = null, failing_since = null, retry_at = null,
    handled = case
        when t.cron = excluded.cron and t.timezone = excluded.timezone and t.home = excluded.home then t.handled
        else excluded.handled
    end
returning @schedule();

-- hold(name text) -> opt Schedule
-- Locks a schedule to the end of the transaction. Waits, as put().
select @schedule() from scylla.schedule where name = :name for update;

-- hold_due(name text, home cstring, now timestamptz) -> opt Schedule
-- The same of one that is armed and due. Returns nullopt, too, if another transaction has locked it.
select @schedule()
from scylla.schedule
where name = :name and home = :home and next_run <= :now
for update skip locked;

-- ahead(home cstring, time timestamptz) -> many (name text)
-- The schedules that have handled planned times after this moment: the clock was ahead.
select name from scylla.schedule where home = :home and greatest(handled, retry_at) > :time order by name;

-- hold_ahead(name text, time timestamptz) -> opt Schedule
-- Locks one of these. Returns nullopt, too, if another transaction has locked it.
select @schedule()
from scylla.schedule
where name = :name and greatest(handled, retry_at) > :time
for update skip locked;

-- write(name text, state State)
-- Of a schedule that is locked.
update scylla.schedule
set handled = :state.handled, next_run = :state.next_run, last_run = :state.last_run,
    last_submitted = :state.last_submitted, last_task = :state.last_task, runs = :state.runs, skipped = :state.skipped,
    missed = :state.missed, last_error = :state.last_error, failed = :state.failed,
    failing_since = :state.failing_since, retry_at = :state.retry_at, last_skipped = :state.last_skipped,
    skip_reason = :state.skip_reason
where name = :name;

-- remove(name text)
delete from scylla.schedule where name = :name;

-- struct Next (name text, owner cstring, at timestamptz!)

-- in_order_of_times(home cstring) -> many Next
-- The armed schedules, those that are failing behind all others.
select name, owner, next_run as at
from scylla.schedule
where home = :home and next_run is not null
order by failing_since is not null, at, name;

-- next_without_jobs(home cstring, now timestamptz, most int8) -> many Next
-- Those that the monitor runs itself: first those that are due, of which owners take turns, so that the many of one do
-- not delay the few of another; then the others, in the order in which they will be due or retried. Schedules of jobs
-- call functions of roles, which may take long, so each role's are run by a server worker of its own. Those of roles
-- that do not exist are left to the monitor, which says so.
select name, owner, at
from (
    select name, owner, greatest(next_run, retry_at) as at,
           case
               when greatest(next_run, retry_at) <= :now
               then row_number() over (partition by owner order by greatest(next_run, retry_at), name)
           end as turn
    from scylla.schedule s
    where home = :home and next_run is not null
      and (not task ? 'job' or not exists (select from pg_roles r where r.rolname = s.owner))) next
order by turn, at, name
limit :most;

-- due_jobs(home cstring, owner cstring, now timestamptz) -> many DueJob (name text, job text)
-- Armed schedules of jobs, of one owner, that are due or retried.
select name, task ->> 'job' as job
from scylla.schedule
where home = :home and owner = :owner and task ? 'job' and greatest(next_run, retry_at) <= :now and next_run is not null
order by greatest(next_run, retry_at), name;

-- next_jobs(home cstring) -> many OwnerOfJobs (owner cstring, at timestamptz)
-- The owners of schedules of jobs, and when the first of each is due or retried.
select owner, min(greatest(next_run, retry_at)) as at
from scylla.schedule
where home = :home and next_run is not null and task ? 'job'
group by owner;

-- asleep(home cstring) -> many Asleep (name text, owner cstring)
-- Schedules that came with a copy of the database.
select name, owner from scylla.schedule where home <> :home order by name;

-- arm(name text, home cstring)
update scylla.schedule set home = :home where name = :name;

-- count_asleep_due(home cstring, now timestamptz) -> one (count int8)
select count(*) from scylla.schedule where home <> :home and next_run <= :now;

-- has_any() -> one (found bool)
select exists (select from scylla.schedule) as found;

-- note_tick(now timestamptz)
-- Stores that a tick has looked for due schedules, to half a minute. Does not wait.
insert into scylla.schedule_tick as t (id, ticked)
select 1, :now
where not exists (select from scylla.schedule_tick where ticked >= :now - interval '30 seconds')
  and (not exists (select from scylla.schedule_tick)
       or exists (select from scylla.schedule_tick for no key update skip locked))
on conflict (id) do update set ticked = excluded.ticked;

-- shortest_beat(otherwise cstring) -> one (beat cstring)
-- The interval of the schedule that runs most often of those with seconds, for pg_cron.
select coalesce(min(substring(cron from '[0-9]+')::int) filter (where cron ~* '^[[:space:]]*[0-9]+[[:space:]]*second')
                || ' seconds', :otherwise) as beat
from scylla.schedule;

-- is_live_task(name text) -> one (live bool)
select exists (
    select
    from scylla.task_spec s
    where s.rn = :name and not exists (select from scylla.task_outcome o where o.id = s.id)) as live;

-- made_for(workflow text) -> many (name text)
-- Those of the time triggers of a workflow.
select name
from scylla.schedule
where task ? 'workflow' and task ->> 'workflow' = :workflow and not task ? 'queue'
order by name;
