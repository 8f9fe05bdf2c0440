-- Recurring tasks: see docs/schedules.md.

create or replace function scylla.cron_next(cron text, after timestamptz = null, timezone text = 'UTC') returns timestamptz
    language c stable parallel safe as 'MODULE_PATHNAME', 'scylla_cron_next';
comment on function scylla.cron_next is
'The next planned time after a point in time (null: now); null if there is none.
  cron      five fields as in pg_cron, a name like @daily, or "30 seconds"
  timezone  the time zone of the planned times
Errors: 22023 bad argument.';

create or replace function scylla.schedule(
    name text, cron text, queue text, spec jsonb, timezone text = 'UTC', overlap text = 'allow', catch_up text = 'latest',
    grace interval = '1 hour', max_catch_up integer = 100, jitter interval = '0', starts timestamptz = null,
    ends timestamptz = null, planned_key text = null, options jsonb = '{}')
    returns timestamptz
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_schedule';
comment on function scylla.schedule is
'Submits a task repeatedly, as the role that calls this. Replaces an existing schedule of that name, if it belongs to
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
Errors: 22023 bad argument; 42501 the schedule belongs to another role; 55000 neither a monitor nor pg_cron; and the errors of submit.';

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

create or replace function scylla.schedule_job(
    name text, cron text, job text, ids int8multirange = null, args jsonb = '{}', timezone text = 'UTC', overlap text = 'allow',
    catch_up text = 'latest', grace interval = '1 hour', max_catch_up integer = 100, jitter interval = '0',
    starts timestamptz = null, ends timestamptz = null, planned_key text = null, options jsonb = '{}')
    returns timestamptz
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_schedule_job';
comment on function scylla.schedule_job is
'Runs a job repeatedly, as the role that calls this. Returns the first planned time. The plan is named name/planned time.
  job, ids, args  as for run_job(); ids null: those of the job, or those that select_work finds each time
  planned_key     the key in args that gets the planned time
  options         as for run_job(), without plan, not_before and request_id
The other arguments are those of schedule(); where they refer to the previous task, they refer to the previous plan. A planned time
at which the job is running, and allow_multiple is false, is skipped. Where the monitor runs schedules, a server worker runs this one.
Errors: as schedule(), and those of run_job.';

create or replace function scylla.unschedule(name text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_unschedule';
comment on function scylla.unschedule is
    'Removes a schedule. Its tasks stay. Errors: 42704 no such schedule that the caller may change.';

create or replace function scylla.run_schedules() returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_run_schedules';
comment on function scylla.run_schedules is
'Submits the tasks and plans whose planned time has come, and returns their number. pg_cron runs this every minute, where the
monitor does not run schedules. If several sessions run it at the same time, each planned time still gives one task. Where the
monitor runs schedules, it processes those of roles whose rights the caller has; the owner of the extension processes all. A schedule that fails is reported by a warning and in
the view scylla.schedules, and does not stop the others.';

create or replace function scylla.arm_schedules() returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_arm_schedules';
comment on function scylla.arm_schedules is
    'Arms the caller''s schedules in this database, after a restore from a dump. Returns the number of schedules that were not armed before.';

create or replace function scylla._run_schedules_at(now timestamptz) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_run_schedules_at';
comment on function scylla._run_schedules_at is
    'Does what run_schedules() does, at a given time: for tests. Only the owner of the extension may call it.';
