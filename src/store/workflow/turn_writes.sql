-- What the engine writes of the turns of runs. They run with the settings of store/index_plans.h.

-- next_ids(count int8) -> many (id int8)
select nextval('scylla.task_id_seq') as id from generate_series(1, :count);

-- struct StepName (scope int8, step view)

-- keep_attempts(steps StepName[])
-- The last attempts of these steps are about to be replaced.
insert into scylla.workflow_attempt
       (scope, created, task, started, ended, attempt, run, status, step, params, error, signals, times)
select s.scope, s.created, s.task, s.started, s.ended, s.attempt, s.run, s.status, s.step, s.params, s.error, s.signals,
       s.times
from :steps
join scylla.workflow_step_state s on s.scope = any (array[steps.scope]) and s.step = steps.step
on conflict do nothing;

-- struct LoopKept (scope int8, step view, kept int4)
-- kept: model::workflow::Kept::As.

-- keep_iterations(loops LoopKept[])
-- Iterations of loops that run again, with all iterations inside of them. Those that come back leave out what is in loops
-- that have not begun again.
with recursive inside as (
    select i.id, loops.kept
    from :loops
    join scylla.workflow_iteration i on i.parent = any (array[loops.scope]) and i.step = loops.step and not i.past
    union all
    select i.id, inside.kept
    from scylla.workflow_iteration i
    join inside on i.parent = any (array[inside.id])
    where not i.past
      and not (inside.kept = 2 and exists (
          select
          from scylla.workflow_step_state s
          where s.scope = i.parent and s.step = i.step and s.status = 'NOT_CREATED'))
)
update scylla.workflow_iteration i
set past = inside.kept = 0, aside = inside.kept = 1
from inside
where i.id = any (array[inside.id]) and (inside.kept <> 2 or i.aside);

-- struct Iteration (is_new bool, id int8, root int8, parent int8, number int8, created millis, ended millis?,
--     status run_status, step view, params view?, numbers view)

-- write_iterations(iterations Iteration[])
-- An update writes less than on conflict do update, which locks each row before.
with c as materialized (
    select * from :iterations
), changed as (
    update scylla.workflow_iteration i
    set status = c.status, ended = c.ended
    from c
    where not c.is_new and i.id = any (array[c.id])
)
insert into scylla.workflow_iteration (id, root, parent, number, created, ended, status, step, params, numbers)
select c.id, c.root, c.parent, c.number, c.created, c.ended, c.status, c.step, c.params::jsonb, c.numbers::int8[]
from c
where c.is_new;

-- struct Step (is_new bool, same_params bool, scope int8, root int8, created millis?, task int8?0, started millis?,
--     ended millis?, due millis?, attempt int4, run int4, error_retries int4, platform_retries int4,
--     timeout_retries int4, status step_status, step view, params view?, edges view?, loop view?, error view?, rollup view?,
--     signals view?, times view?)

-- write_steps(steps Step[])
with c as materialized (
    select * from :steps
), changed as (
    update scylla.workflow_step_state s
    set created = c.created, task = coalesce(c.task, case when c.attempt = s.attempt then s.task end),
        started = c.started, ended = c.ended, due = c.due, attempt = c.attempt, run = c.run,
        error_retries = c.error_retries, platform_retries = c.platform_retries, timeout_retries = c.timeout_retries,
        status = c.status, params = case when c.same_params then s.params else c.params::jsonb end,
        edges = c.edges::jsonb, loop = c.loop::jsonb, error = c.error::jsonb, rollup = c.rollup::jsonb,
        signals = c.signals::jsonb, times = c.times::jsonb
    from c
    where not c.is_new and s.scope = any (array[c.scope]) and s.step = c.step
)
insert into scylla.workflow_step_state
       (scope, root, created, task, started, ended, due, attempt, run, error_retries, platform_retries, timeout_retries,
        status, step, params, edges, loop, error, rollup, signals, times)
select c.scope, c.root, c.created, c.task, c.started, c.ended, c.due, c.attempt, c.run, c.error_retries,
       c.platform_retries, c.timeout_retries, c.status, c.step, c.params::jsonb, c.edges::jsonb, c.loop::jsonb,
       c.error::jsonb, c.rollup::jsonb, c.signals::jsonb, c.times::jsonb
from c
where c.is_new;

-- struct Run (
--     id int8,
--     ended millis?,
--     due millis?,
--     status run_status,
--     aggregated view?, -- empty: that of the run
--     error view?)

-- write_runs(runs Run[], now timestamptz)
update scylla.workflow_run_state r
set started = coalesce(r.started, :now), ended = runs.ended, due = runs.due, status = runs.status,
    aggregated = runs.aggregated, error = runs.error::jsonb,
    blocks = runs.status = 'FAILED'
          or (runs.status = any ('{TIMED_OUT,STOPPED}')
              and exists (
                  select
                  from scylla.workflow_head h, jsonb_path_query(h.properties, '$.run_strategy.blocked_by[*]') b
                  where h.id = r.workflow and upper(b #>> '{}') = runs.status))
from :runs
where r.id = any (array[runs.id]);

-- struct Passed (scope int8, step view?)
-- step: empty: the run itself.

-- pass_times(times Passed[])
-- Times that have come and of which the turns have made nothing: they must not come again.
with passed as (
    select * from :times
), step as (
    update scylla.workflow_step_state s
    set due = null
    from passed p
    where s.scope = any (array[p.scope]) and s.step = p.step
)
update scylla.workflow_run_state r
set due = null
from passed p
where r.id = any (array[p.scope]) and p.step is null;

-- put_off(root int8, now timestamptz)
-- A run for which another transaction holds something is looked at again later. What was left for its next turn comes
-- with the row of the agenda, which is put off. Does nothing if another engine has the run.
with held as materialized (
    select id from scylla.workflow_run_state where id = :root for no key update skip locked
), step as (
    update scylla.workflow_step_state
    set due = :now + interval '1 s'
    where root = any (array(select id from held)) and due > @next_turn() and due <= :now
), run as (
    update scylla.workflow_run_state
    set due = :now + interval '1 s'
    where id = any (array(select id from held)) and due <= :now
)
update scylla.workflow_agenda
set tries = coalesce(tries, 0) + 1,
    due = :now + make_interval(secs => least(1, 0.001 * (1 << least(coalesce(tries, 0), 10))))
where root = any (array(select plan from scylla.workflow_plan where root = any (array(select id from held)))
                  || array(select id from held));

-- break_run(id int8, now timestamptz, error jsonb, position int8) -> opt BrokenRun (id int8, plan int8,
--     parent_root int8?0, parent_scope int8?0, parent_step text?, parent_attempt int4?0, backfill int8?0, permits text?)
-- Ends a run with all of its steps and iterations. Returns nullopt if it has ended. position: of its events.
with agenda as (
    delete from scylla.workflow_agenda
    where root = any (array(select plan from scylla.workflow_plan where root = :id) || :id)
), step_event as (
    @step_events(:position, :now, 'INTERNALLY_FAILED')
    where r.id = :id and @records(r.workflow)
      and s.scope = any (array(select id from scylla.workflow_iteration where root = :id) || :id)
      and (s.ended is null
           or (s.due is not null and s.status = any ('{USER_FAILED,PLATFORM_FAILED,TIMEOUT_FAILED}')))
), run_event as (
    insert into scylla.workflow_event
           (position, "time", workflow, owner, kind, instance, run, version, old_status, status)
    select :position, :now, r.workflow, r.owner, 'run', r.instance, r.run, r.version, r.status, 'FAILED'
    from scylla.workflow_run_state r
    where r.id = :id and r.ended is null and @records(r.workflow)
), iteration as (
    update scylla.workflow_iteration set status = 'FAILED', ended = :now where root = :id and ended is null
), step as (
    update scylla.workflow_step_state
    set status = 'INTERNALLY_FAILED', ended = :now, due = null, error = :error,
        rollup = scylla._settled(rollup, 'INTERNALLY_FAILED')
    where scope = any (array(select id from scylla.workflow_iteration where root = :id) || :id)
      and (ended is null or (due is not null and status = any ('{USER_FAILED,PLATFORM_FAILED,TIMEOUT_FAILED}')))
)
update scylla.workflow_run_state
set status = 'FAILED', aggregated = null, ended = :now, due = null, error = :error, blocks = true
where id = :id and ended is null
returning id, plan, parent_root, parent_scope, parent_step, parent_attempt, backfill, permits;
