-- Recurring tasks: see docs/schedules.md.

create or replace function scylla.cron_next(cron text, after timestamptz = null, timezone text = 'UTC') returns timestamptz
    language c stable parallel safe as 'MODULE_PATHNAME', 'scylla_cron_next';
comment on function scylla.cron_next is
'The next planned time after a point in time (null: now); null if there is none.
  cron      five fields as in pg_cron, a name like @daily, or "30 seconds"
  timezone  the time zone of the planned times
Errors: 22023 bad argument.';

create or replace function scylla._cron_due(cron text, timezone text, after timestamptz, until timestamptz, max_times integer,
                                 out total bigint, out times timestamptz[])
    language c stable parallel safe as 'MODULE_PATHNAME', 'scylla_cron_due';
comment on function scylla._cron_due is
    'The number of planned times after one point in time and up to another, and the last max_times of them, in order.';

create or replace function scylla.schedule(
    name text, cron text, queue text, spec jsonb, timezone text = 'UTC', overlap text = 'allow', catch_up text = 'latest',
    grace interval = '1 hour', max_catch_up integer = 100, jitter interval = '0', starts timestamptz = null,
    ends timestamptz = null, planned_key text = null, options jsonb = '{}')
    returns timestamptz
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_schedule';
comment on function scylla.schedule is
'Submits a task repeatedly, by pg_cron, as the role that calls this. Replaces an existing schedule of that name, if it belongs to
the caller. Returns the first planned time.
  name          1..150 characters; the tasks are named name/planned time, as in nightly/2027-01-31T02:00:00Z
  cron          five fields as in pg_cron, a name like @daily, or "30 seconds"
  timezone      the time zone of the planned times
  overlap       while the previous task is live: allow, skip the new one, or replace (cancel) the old one
  catch_up      which missed planned times to submit: none, latest or all
  grace         how late a task may be submitted, at least two minutes; null: no bound
  max_catch_up  the maximum number for catch_up all; the latest are submitted
  jitter        each task is delayed by up to this, always the same for the same planned time
  starts, ends  planned times are at or after starts and before ends
  planned_key   the key in the spec that gets the planned time
  options       further arguments of submit: {"priority": 5, "max_attempts": 3}
Errors: 22023 bad argument; 42501 the schedule belongs to another role; 55000 pg_cron is missing; and the errors of submit.';

create or replace function scylla.schedule_plan(
    name text, cron text, tasks jsonb, timezone text = 'UTC', overlap text = 'allow', catch_up text = 'latest',
    grace interval = '1 hour', max_catch_up integer = 100, jitter interval = '0', starts timestamptz = null,
    ends timestamptz = null, planned_key text = null)
    returns timestamptz
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_schedule_plan';
comment on function scylla.schedule_plan is
'Runs a plan repeatedly: schedule() for several tasks that depend on each other. Returns the first planned time.
  tasks   an array of objects as for submit_many; rn names a task within the plan (default: its number), and depends_on
          refers to these names. The plan is named name/planned time, its tasks plan/rn
The other arguments are those of schedule(); where they refer to the previous task, they refer to the previous plan.
Errors: as schedule(), and those of create_plan and open_plan.';

create or replace function scylla.unschedule(name text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_call_as_owner';
comment on function scylla.unschedule is
    'Removes a schedule. Its tasks stay. Errors: 42704 no such schedule that the caller may change.';

create or replace function scylla.run_schedules() returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_call_as_owner';
comment on function scylla.run_schedules is
'Submits the tasks and plans whose planned time has come, and returns their number. pg_cron runs this every minute. If several
sessions run it at the same time, each planned time still gives one task. A schedule that fails is reported by a warning and in
the view scylla.schedules, and does not stop the others.';

create or replace function scylla.arm_schedules() returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_call_as_owner';
comment on function scylla.arm_schedules is
    'Arms the caller''s schedules in this database, after it was restored from a dump. Returns how many were not armed before.';

-- ---- internal: the functions above call these as the owner of the tables, users never do ----------------------------------

create or replace function scylla._as_role(role oid, query text, argument jsonb) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_as_role';
comment on function scylla._as_role is
    'Runs a query that returns one number, with the argument as $1, as a role that the current role may become.';

create or replace function scylla._home() returns text
    language sql stable parallel safe set search_path = pg_catalog, pg_temp
as $$
    select c.system_identifier || '/' || d.oid from pg_control_system() c, pg_database d where d.datname = current_database();
$$;
comment on function scylla._home is 'Identifies this database; a copy that was restored from a dump has another value.';

-- Whether the role may act as the owner of a schedule. The owner is a name; its role may have been dropped.
create or replace function scylla._may_change(caller oid, owner text) returns boolean
    language sql stable parallel safe set search_path = pg_catalog, pg_temp
as $$
    select exists (select from pg_roles r where r.rolname = owner and pg_has_role(caller, r.oid, 'usage')
                                            or r.oid = caller and r.rolsuper);
$$;
comment on function scylla._may_change is 'Whether a role may change the schedules of an owner.';

create or replace function scylla._next_run(cron text, timezone text, after timestamptz, starts timestamptz, ends timestamptz)
    returns timestamptz
    language sql stable parallel safe set search_path = pg_catalog, pg_temp
as $$
    select n from scylla.cron_next(cron, greatest(after, starts - interval '1 microsecond'), timezone) n
    where ends is null or n < ends;
$$;
comment on function scylla._next_run is 'The first planned time after a point in time; null: none.';

-- The planned time as written in names and specs.
create or replace function scylla._planned(planned timestamptz) returns text
    language sql stable parallel safe set search_path = pg_catalog, pg_temp
as $$ select to_char(planned at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'); $$;
comment on function scylla._planned is 'A planned time as text, in UTC.';

-- Creates, changes or removes the job that calls run_schedules, as the schedules need it. There is one job per database, so that
-- users cannot overload pg_cron, and so that the result does not depend on the exact time of a tick.
create or replace function scylla._keep_tick(warn boolean) returns void
    language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
    tick constant text := 'select scylla.run_schedules()';
    job_name constant text := 'scylla schedules';
    cron_database constant text := current_setting('cron.database_name', true);
    wanted text;
    version int[];
begin
    if current_setting('scylla.schedules') = 'manual' then
        return;
    end if;
    select coalesce(min(substring(cron from '[0-9]+')::int) filter (where cron ~* '^[[:space:]]*[0-9]+[[:space:]]*second') || ' seconds', '* * * * *')
      into wanted from scylla.schedule;
    if not exists (select from scylla.schedule) then
        wanted := null;
        if cron_database is null or not exists (select from pg_extension where extname = 'pg_cron') then
            return;
        end if;
    end if;

    if cron_database is null then
        raise 'pg_cron is not available' using errcode = '55000', schema = 'scylla', table = 'schedule', constraint = 'pg_cron',
            detail = 'Recurring tasks need something that calls scylla.run_schedules() every minute.',
            hint = 'Add pg_cron to shared_preload_libraries and restart the server, or set scylla.schedules to "manual" and '
                   'call it by other means.';
    end if;
    if wanted like '%seconds' then
        select string_to_array(substring(default_version from '^[0-9]+[.][0-9]+'), '.')::int[] into version
          from pg_available_extensions where name = 'pg_cron';
        if version < array[1, 5] then
            raise 'pg_cron % cannot run a job every few seconds', array_to_string(version, '.')
                using errcode = '0A000', schema = 'scylla', table = 'schedule', constraint = 'pg_cron',
                hint = 'Use a schedule of minutes, or pg_cron 1.5 or later.';
        end if;
    end if;
    if cron_database <> current_database() then
        if warn then
            raise warning 'schedules of this database run once pg_cron is told to'
                using detail = format('pg_cron works in the database "%s".', cron_database),
                hint = format('Connect to that database, and call: select cron.schedule_in_database(%L, %L, %L, %L)',
                              left('scylla schedules of ' || current_database(), 63), wanted, tick, current_database());
        end if;
        return;
    end if;
    if not exists (select from pg_extension where extname = 'pg_cron') then
        raise 'pg_cron is not available' using errcode = '55000', schema = 'scylla', table = 'schedule', constraint = 'pg_cron',
            detail = 'The extension pg_cron has not been created in this database.', hint = 'create extension pg_cron';
    end if;

    if wanted is null then
        perform cron.unschedule(j.jobid) from cron.job j
          where j.jobname = job_name and j.command = tick and j.database = current_database()
            and j.username = current_user;
    elsif not exists (select from cron.job j where j.command = tick and j.database = current_database()
                                               and j.schedule = wanted) then
        perform cron.schedule(job_name, wanted, tick);
    end if;
end $$;
comment on function scylla._keep_tick is 'Creates, changes or removes the job of pg_cron that calls run_schedules().';

create or replace function scylla._put_schedule(
    caller oid, name text, cron text, task jsonb, timezone text, overlap text, catch_up text, grace interval,
    max_catch_up integer, jitter interval, starts timestamptz, ends timestamptz, planned_key text)
    returns timestamptz
    language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    is_first constant boolean := not exists (select from scylla.schedule);
    s scylla.schedule;
    moment constant timestamptz := clock_timestamp();
begin
    insert into scylla.schedule as t (name, owner, home, cron, timezone, task, overlap, catch_up, grace, max_catch_up, jitter,
                                      starts, ends, planned_key, handled)
        select _put_schedule.name, r.rolname, scylla._home(), _put_schedule.cron, _put_schedule.timezone, _put_schedule.task, _put_schedule.overlap,
               _put_schedule.catch_up, _put_schedule.grace, _put_schedule.max_catch_up, _put_schedule.jitter, _put_schedule.starts, _put_schedule.ends,
               _put_schedule.planned_key, moment
          from pg_roles r where r.oid = caller
        on conflict (name) do update set
            home = excluded.home, cron = excluded.cron, timezone = excluded.timezone, task = excluded.task,
            overlap = excluded.overlap, catch_up = excluded.catch_up, grace = excluded.grace,
            max_catch_up = excluded.max_catch_up, jitter = excluded.jitter, starts = excluded.starts, ends = excluded.ends,
            planned_key = excluded.planned_key, last_error = null, failed = null,
            -- Planned times that are due stay due if the times of the schedule do not change.
            handled = case when (t.cron, t.timezone, t.home) = (excluded.cron, excluded.timezone, excluded.home) then t.handled
                           else excluded.handled end
        returning * into s;
    if not scylla._may_change(caller, s.owner) then
        raise 'permission denied for schedule "%"', name using errcode = '42501', schema = 'scylla', table = 'schedule',
            constraint = 'owner', detail = 'It belongs to another role.';
    end if;
    update scylla.schedule t set next_run = scylla._next_run(t.cron, t.timezone, t.handled, t.starts, t.ends)
      where t.name = s.name returning * into s;

    -- A trial submit, rolled back at once, so that errors of a submit are raised now. A full queue is no error here.
    begin
        perform scylla._submit_planned(s, s.next_run);
        raise 'undone' using errcode = 'SCYLL';
    exception when sqlstate 'SCYLL' or configuration_limit_exceeded then
        null;
    end;
    perform scylla._keep_tick(is_first);
    return s.next_run;
end $$;
comment on function scylla._put_schedule is
    'Creates or changes a schedule: of a task, if task is an object, or of a plan of tasks, if it is an array.';

create or replace function scylla._schedule(
    caller oid, name text, cron text, queue text, spec jsonb, timezone text, overlap text, catch_up text, grace interval,
    max_catch_up integer, jitter interval, starts timestamptz, ends timestamptz, planned_key text, options jsonb)
    returns timestamptz
    language sql volatile set search_path = pg_catalog, pg_temp
as $$
    select scylla._put_schedule(caller, name, cron, options || jsonb_build_object('queue', queue, 'spec', spec), timezone,
                                overlap, catch_up, grace, max_catch_up, jitter, starts, ends, planned_key);
$$;
comment on function scylla._schedule is 'Implements schedule().';

create or replace function scylla._schedule_plan(
    caller oid, name text, cron text, tasks jsonb, timezone text, overlap text, catch_up text, grace interval,
    max_catch_up integer, jitter interval, starts timestamptz, ends timestamptz, planned_key text)
    returns timestamptz
    language sql volatile set search_path = pg_catalog, pg_temp
as $$
    select scylla._put_schedule(caller, name, cron, tasks, timezone, overlap, catch_up, grace, max_catch_up, jitter, starts,
                                ends, planned_key);
$$;
comment on function scylla._schedule_plan is 'Implements schedule_plan().';

create or replace function scylla._unschedule(caller oid, name text) returns void
    language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
    delete from scylla.schedule s where s.name = _unschedule.name and scylla._may_change(caller, s.owner);
    if not found then
        raise 'schedule "%" does not exist', name using errcode = '42704', schema = 'scylla', table = 'schedule',
            constraint = 'exists';
    end if;
    perform scylla._keep_tick(false);
end $$;
comment on function scylla._unschedule is 'Implements unschedule().';

create or replace function scylla._arm_schedules(caller oid) returns bigint
    language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
    armed bigint;
begin
    update scylla.schedule s set home = scylla._home()
      where s.home <> scylla._home() and scylla._may_change(caller, s.owner);
    get diagnostics armed = row_count;
    if exists (select from scylla.schedule) then
        perform scylla._keep_tick(true);
    end if;
    return armed;
end $$;
comment on function scylla._arm_schedules is 'Implements arm_schedules().';

-- The elements for submit_many for a planned time: the task of the schedule, or the tasks of its plan. The name of a plan's task
-- follows the name of the plan.
create or replace function scylla._planned_tasks(s scylla.schedule, planned timestamptz) returns jsonb
    language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
    rn constant text := s.name || '/' || scylla._planned(planned);
    common jsonb := '{}';
    tasks jsonb;
begin
    if s.jitter > interval '0' then
        -- A delay that looks random, but is the same for every session that submits the task.
        common := jsonb_build_object('not_before',
            planned + s.jitter * ((hashtextextended(rn, 0) & 4294967295) / 4294967296.0));
    end if;
    if jsonb_typeof(s.task) = 'object' then
        tasks := jsonb_build_array(s.task || common || jsonb_build_object('rn', rn));
    else
        common := common || jsonb_build_object('plan', rn);
        with part as (
            select n, task, coalesce(task ->> 'rn', n::text) as name from jsonb_array_elements(s.task) with ordinality t (task, n)
        )
        select jsonb_agg(p.task || common || jsonb_build_object('rn', rn || '/' || p.name, 'depends_on',
                   (select jsonb_agg(case when exists (select from part q where q.name = d) then rn || '/' || d else d end
                                     order by n)
                      from jsonb_array_elements_text(nullif(p.task -> 'depends_on', 'null')) with ordinality d (d, n)))
                   order by p.n)
          into tasks from part p;
    end if;
    if s.planned_key is not null then
        select jsonb_agg(jsonb_set(task, array['spec', s.planned_key], to_jsonb(scylla._planned(planned))) order by n)
          into tasks from jsonb_array_elements(tasks) with ordinality t (task, n);
    end if;
    return tasks;
end $$;
comment on function scylla._planned_tasks is 'The elements for submit_many for a planned time.';

-- Submits the task or the plan of a planned time as the owner of the schedule. Returns false if one of that name existed.
create or replace function scylla._submit_planned(s scylla.schedule, planned timestamptz) returns boolean
    language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
    owner oid;
    plan jsonb;
begin
    select r.oid into owner from pg_roles r where r.rolname = s.owner;
    if owner is null then
        raise 'role "%" does not exist', s.owner using errcode = '42704', schema = 'scylla', table = 'schedule',
            constraint = 'owner', detail = 'It made the schedule, whose tasks are submitted as this role.';
    end if;
    if jsonb_typeof(s.task) = 'object' then
        return scylla._as_role(owner, 'select count(*) filter (where inserted) from scylla.submit_many($1, ''ignore'')',
                               scylla._planned_tasks(s, planned)) > 0;
    end if;
    plan := jsonb_build_object('name', s.name || '/' || scylla._planned(planned),
                               'spec', jsonb_build_object('schedule', s.name, 'planned', scylla._planned(planned)));
    begin
        perform scylla._as_role(owner, 'select count(*) from scylla.create_plan($1 ->> ''name'', $1 -> ''spec'')', plan);
    exception when duplicate_object then
        return false;
    end;
    perform scylla._as_role(owner, 'select count(*) from scylla.submit_many($1, ''error'')', scylla._planned_tasks(s, planned));
    perform scylla._as_role(owner, 'select count(*) from scylla.open_plan($1 ->> ''name'')', plan);
    return true;
end $$;
comment on function scylla._submit_planned is 'Submits the task or plan of a planned time, as the owner of the schedule.';

create or replace function scylla._is_live(s scylla.schedule) returns boolean
    language sql stable parallel safe set search_path = pg_catalog, pg_temp
as $$
    select case when jsonb_typeof(s.task) = 'object'
                then exists (select from scylla.task_spec t
                             where t.rn = s.last_task and not exists (select from scylla.task_outcome o where o.id = t.id))
                else exists (select from scylla.task_plan p where p.name = s.last_task and p.finished is null) end;
$$;
comment on function scylla._is_live is 'Whether the last task or plan of a schedule is live.';

-- Processes the planned times of one schedule up to now; its row is locked. Returns the number of submitted tasks.
create or replace function scylla._run_schedule(s scylla.schedule, now timestamptz) returns bigint
    language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
    -- pg_cron runs the job every minute, and may be a minute late.
    tick constant interval := '2 minutes';
    until constant timestamptz := least(now, s.ends - interval '1 microsecond');
    oldest constant timestamptz := now - case when s.catch_up = 'none' then tick
                                              when s.grace is not null then greatest(s.grace, tick) end;
    submitted bigint := 0;
    total bigint;
    times timestamptz[];
    planned timestamptz;
    live boolean;
begin
    select d.total, d.times into total, times
      from scylla._cron_due(s.cron, s.timezone, s.next_run - interval '1 microsecond', until,
                            case s.catch_up when 'none' then 120 when 'latest' then 1 else s.max_catch_up end) d;
    s.handled := coalesce(times[cardinality(times)], s.handled);
    times := array(select t from unnest(times) t where oldest is null or t >= oldest order by t);
    s.missed := s.missed + total - cardinality(times);
    foreach planned in array times loop
        live := s.overlap <> 'allow' and scylla._is_live(s);
        if live and s.overlap = 'skip' then
            s.skipped := s.skipped + 1;
            continue;
        end if;
        begin
            if live then
                perform scylla._cancel_planned(s);
            end if;
            if scylla._submit_planned(s, planned) then
                submitted := submitted + 1;
            end if;
            s.last_run := planned;
            s.last_submitted := clock_timestamp();
            s.last_task := s.name || '/' || scylla._planned(planned);
            s.last_error := null;
            s.failed := null;
        exception when others then
            -- The next tick tries again, unless it is too late.
            s.last_error := sqlstate || ': ' || sqlerrm;
            s.failed := clock_timestamp();
            s.handled := planned - interval '1 microsecond';
            raise warning 'schedule "%" could not submit its task: %', s.name, sqlerrm;
            exit;
        end;
    end loop;
    update scylla.schedule t
       set handled = s.handled, next_run = scylla._next_run(s.cron, s.timezone, s.handled, s.starts, s.ends),
           last_run = s.last_run, last_submitted = s.last_submitted, last_task = s.last_task, runs = s.runs + submitted,
           skipped = s.skipped, missed = s.missed, last_error = s.last_error, failed = s.failed
     where t.name = s.name;
    return submitted;
end $$;
comment on function scylla._run_schedule is 'Processes the planned times of one schedule up to now.';

create or replace function scylla._cancel_planned(s scylla.schedule) returns void
    language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
    perform scylla._as_role(r.oid, format('select count(*) from scylla.%I($1 #>> ''{}'')',
                                          case when jsonb_typeof(s.task) = 'object' then 'cancel' else 'cancel_plan' end),
                            to_jsonb(s.last_task))
       from pg_roles r where r.rolname = s.owner;
exception when object_not_in_prerequisite_state or no_data_found then
    null; -- it has just ended
end $$;
comment on function scylla._cancel_planned is 'Cancels the last task or plan of a schedule, as its owner.';

-- The time is an argument so that tests need not wait.
create or replace function scylla._run_schedules_at(now timestamptz) returns bigint
    language plpgsql set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
    here constant text := scylla._home();
    s scylla.schedule;
    submitted bigint := 0;
    asleep bigint;
begin
    if current_setting('scylla.schedules') = 'off' then
        return 0;
    end if;
    -- A schedule that another call has locked is left to that call.
    for s in select * from scylla.schedule t where t.next_run <= now and t.home = here order by t.name for update skip locked loop
        begin
            submitted := submitted + scylla._run_schedule(s, now);
        exception when others then
            update scylla.schedule t set last_error = sqlstate || ': ' || sqlerrm, failed = clock_timestamp()
             where t.name = s.name;
            raise warning 'schedule "%" failed: %', s.name, sqlerrm;
        end;
    end loop;
    select count(*) into asleep from scylla.schedule t where t.next_run <= now and t.home <> here;
    if asleep > 0 then
        raise warning '% schedules are not armed in this database', asleep
            using detail = 'They came with a dump, or the server was upgraded by pg_upgrade.',
            hint = 'To let them run here, call scylla.arm_schedules().';
    end if;
    return submitted;
end $$;
comment on function scylla._run_schedules_at is 'Implements run_schedules(), for a given time.';

create or replace function scylla._run_schedules(caller oid) returns bigint
    language sql volatile set search_path = pg_catalog, pg_temp
as $$ select scylla._run_schedules_at(clock_timestamp()); $$;
comment on function scylla._run_schedules is 'Implements run_schedules().';

