-- What the engine reads and takes for the turns of runs. They run with the settings of store/index_plans.h.

-- @most_lines()
-- How many lines of the agenda are looked at in one transaction.
32

-- struct Waiting (line int4, root int8)
-- Something waits for a turn of a run: of the instance, or of one of its plans.

-- waiting(now timestamptz?, after int4, lanes bool[], most_rows int8) -> many Waiting
-- The first of each line, those of one line adjacent, the lines behind `after` first. now: null: nothing that is due.
-- lanes: those of the slow lane, of the others. most_rows: of the agenda, in all lines.
with recursive above (slow, line) as (
    select l.slow, n.line
    from unnest(:lanes) l (slow)
    cross join lateral (
        select min(a.line) as line
        from scylla.workflow_agenda a
        where a.slow = l.slow and a.line > :after and a.due is null) n
    union all
    select u.slow,
           (select a.line
            from scylla.workflow_agenda a
            where a.slow = u.slow and a.line > u.line and a.due is null
            order by a.line
            limit 1)
    from above u
    where u.line is not null
), below (slow, line) as (
    select l.slow, n.line
    from unnest(:lanes) l (slow)
    cross join lateral (
        select min(a.line) as line
        from scylla.workflow_agenda a
        where a.slow = l.slow and a.line <= :after and a.due is null) n
    union all
    select u.slow,
           (select a.line
            from scylla.workflow_agenda a
            where a.slow = u.slow and a.line > u.line and a.line <= :after and a.due is null
            order by a.line
            limit 1)
    from below u
    where u.line is not null
), line as materialized (
    select slow, line from above where line is not null
    union all
    select slow, line from below where line is not null
    limit @most_lines()
), due as (
    select root
    from (
        (select root from scylla.workflow_agenda where due <= :now order by due limit 16)
        union all
        (select root from scylla.workflow_step_state where due > @next_turn() and due <= :now order by due limit 100)
        union all
        (select id from scylla.workflow_run_state where due <= :now order by due limit 100)) d
)
select w.line, w.root
from (
    select l.line, a.root, a.id
    from line l
    cross join lateral (
        select a.root, a.id
        from scylla.workflow_agenda a
        where a.slow = l.slow and a.line = l.line and a.due is null
        order by a.id
        limit (select greatest(1, :most_rows / count(*)) from line)) a
    union all
    select @line_of(d.root), d.root, 0 from due d) w
group by w.line, w.root
order by w.line <= :after, w.line, min(w.id);

-- few_waiting(after int4, lanes bool[], most_rows int8) -> many Few (line int4, root int8, is_all bool)
-- The same without what is due, at a fraction of the cost, if the agenda has fewer rows than that. is_all: it has.
with first as materialized (
    select a.line, a.root, a.id
    from scylla.workflow_agenda a
    where a.slow = any (:lanes) and a.due is null
    limit :most_rows
)
select f.line, f.root, (select count(*) < :most_rows from first) as is_all
from first f
group by f.line, f.root
order by f.line <= :after, f.line, min(f.id);

-- lock(runs Waiting[], most int8, is_slow bool) -> many LockedRun (id int8, line int4)
-- Locks runs one by one until there are enough. May return a run twice, for several of its plans. In the slow lane, runs
-- are left that somebody wants to act on, unless the action has been put back: it may wait for what the slow lane does.
select r.id, runs.line
from :runs
cross join lateral (
    select r.id
    from scylla.workflow_run_state r
    join scylla.workflow_text v on v.workflow = r.workflow and v.version = r.version
    where r.id = coalesce((select p.root from scylla.workflow_plan p where p.plan = runs.root), runs.root)
      and not (:is_slow and exists (
          select
          from scylla.workflow_action_state c
          where c.root = r.id and c.done is null
            and not exists (
                select
                from scylla.workflow_agenda p
                where p.root = r.id and p.due is not null and p.action = c.id)))
    for no key update of r skip locked) r
limit :most;

-- runs(ids int8[]) -> many Run (
--     id int8,
--     plan int8,
--     plans int8[]?, -- of this run and those before it, except that of the first; null: it is the first
--     workflow text,
--     version int4,
--     made timestamptz, -- the version
--     instance int8,
--     run int4,
--     owner name,
--     parent_root int8?0,
--     parent_scope int8?0,
--     parent_step text?,
--     parent_attempt int4?0,
--     backfill int8?0,
--     late bool,
--     permits text?,
--     initiator view,
--     properties view,
--     restart view?,
--     step_params view?,
--     status run_status,
--     params view,
--     created millis,
--     ended millis?,
--     due millis?,
--     aggregated run_status,
--     may_be_held bool, -- there are holds for the workflow
--     records bool)
-- records: the workflow records events.
select r.id, r.plan,
       case when r.run > 1 then array(select p.plan from scylla.workflow_plan p where p.root = r.id) end as plans,
       r.workflow, r.version, v.created as made, r.instance, r.run, r.owner, r.parent_root, r.parent_scope,
       r.parent_step, r.parent_attempt, r.backfill, r.late, r.permits, r.initiator::text, r.properties::text,
       r.restart::text, r.step_params::text, r.status, r.params::text, r.created, r.ended, r.due,
       coalesce(r.aggregated, r.status) as aggregated,
       exists (select from scylla.workflow_hold h where h.workflow = r.workflow) as may_be_held,
       @records(r.workflow) as records
from scylla.workflow_run_state r
join scylla.workflow_text v on v.workflow = r.workflow and v.version = r.version
where r.id = any (:ids)
order by r.id;

-- take_events(roots int8[], lines int4[], lanes bool[], most_rows int8) -> many TakenEvent (
--     root int8,
--     scope int8,
--     kind cstring,
--     step text?,
--     attempt int4,
--     action int8?0,
--     tries int4?0,
--     data jsonb?,
--     status cstring?, -- of the task; null: it is gone
--     failures int4?0,
--     result view?,
--     error view?)
-- Takes what the first rows of the agenda have for these runs. What has happened comes before what is to end something.
with first as materialized (
    select a.place, a.root
    from unnest(:lines) l (line)
    cross join unnest(:lanes) s (slow)
    cross join lateral (
        select a.ctid as place, a.root
        from scylla.workflow_agenda a
        where a.slow = s.slow and a.line = l.line and a.due is null
        order by a.id
        limit (select greatest(1, :most_rows / cardinality(:lines)))) a
), taken as (
    delete from scylla.workflow_agenda a
    where a.ctid = any (array(
        select f.place from first f where f.root = any (:roots)
        union all
        select p.ctid from scylla.workflow_agenda p where p.due is not null and p.root = any (:roots)))
    returning a.id, a.root, a.task, a.scope, a.attempt, a.action, a.tries, a.due, a.kind, a.step, a.data
)
select t.root, coalesce(s.scope, t.scope, 0) as scope, t.kind, coalesce(s.step, t.step) as step,
       coalesce(s.attempt, t.attempt, 0) as attempt, t.action, t.tries, t.data, o.status::text, o.failures,
       o.result::text, (o.errors -> -1)::text as error
from taken t
left join scylla.workflow_step_state s on s.task = any (array[t.task])
left join scylla.task_outcome o on o.id = any (array[t.task])
order by t.action is not null or t.due is not null or t.kind = 'stop', t.action nulls first, t.id;

-- due(roots int8[], now timestamptz, rests int8[], most_rests int8) -> many Due (
--     root int8,
--     scope int8,
--     step text?, -- null: the run itself
--     attempt int4)
-- rests: runs that also get steps that have been left for their next turn, so many of each.
select s.root, s.scope, s.step, s.attempt
from unnest(:rests) r (root)
cross join lateral (
    select root, scope, step, attempt
    from scylla.workflow_step_state s
    where s.due = @next_turn() and s.root = r.root
    limit :most_rests) s
union all
select root, scope, step, attempt
from scylla.workflow_step_state
where due > @next_turn() and due <= :now and root = any (:roots)
union all
select id, id, null, 0
from scylla.workflow_run_state
where due <= :now and id = any (:roots);

-- next() -> one Next (due timestamptz?, has_fast bool, has_slow bool)
-- When something is due, and whether there is work in the two lanes.
select least((select min(due) from scylla.workflow_agenda where due is not null),
             (select min(due) from scylla.workflow_step_state where due > @next_turn()),
             (select min(due) from scylla.workflow_run_state where due is not null)) as due,
       exists (select from scylla.workflow_agenda where not slow and due is null) as has_fast,
       exists (select from scylla.workflow_agenda where slow and due is null) as has_slow;

-- may_begin(workflows text[], here int8[]) -> many Queued (id int8, is_here bool)
-- The queued runs that may begin now: those that are here, and the first others of each workflow. When one of them has its
-- turn, the next ones follow.
select q.id, q.is_here
from (
    select c.id, c.is_here,
           row_number() over (partition by h.id, c.is_here order by c.late, c.instance, c.run) as place
    from (
        select h.id, h.concurrency, h.strategy,
               (select count(*)
                from scylla.workflow_run_state r
                where r.workflow = h.id and r.ended is null and r.status = 'IN_PROGRESS') as live
        from scylla.workflow_head h
        where h.id = any (:workflows)
          and not exists (select from scylla.workflow_hold p where p.workflow = h.id and p.kind = 'workflow')) h
    cross join lateral (
        select r.id, r.id = any (:here) as is_here, r.late, r.instance, r.run
        from scylla.workflow_run_state r
        where r.workflow = h.id and r.ended is null and r.status = 'CREATED'
        order by r.late, r.instance, r.run
        limit greatest(0, least(50, h.concurrency - h.live))) c
    where h.strategy <> 'STRICT_SEQUENTIAL'
       or not exists (select from scylla.workflow_run_state b where b.workflow = h.id and b.blocks)) q
where q.is_here or q.place <= 8;

-- iterations(ids int8[]) -> many Iteration (root int8, id int8, parent int8, step view, number int8, status run_status,
--     params view, created millis, ended millis?)
-- These and those around them.
with recursive up as (
    select * from scylla.workflow_iteration where id = any (:ids)
    union
    select i.* from scylla.workflow_iteration i join up on i.id = any (array[up.parent])
)
select root, id, parent, step, number, status, params::text, created, ended from up order by id;

-- steps(scopes int8[]) -> many Step (scope int8, task int8?0, step view, status step_status, attempt int4, run int4,
--     error_retries int4, platform_retries int4, timeout_retries int4, params view?, edges view?, loop view?, error view?,
--     rollup view?, signals view?, times view?, created millis, started millis?, ended millis?, due millis?)
select scope, task, step, status, attempt, run, error_retries, platform_retries, timeout_retries, params::text,
       edges::text, loop::text, error::text, rollup::text, signals::text, times::text, created, started, ended, due
from scylla.workflow_step_state
where scope = any (:scopes)
order by scope, step;

-- owner_of_attempt(root int8, scope int8, step text, attempt int4, status step_status) -> opt (owner name)
-- The owner of the run, if that attempt of the step still has the status.
select r.owner
from scylla.workflow_run_state r
join scylla.workflow_step_state s on s.root = r.id
where r.id = :root and s.scope = :scope and s.step = :step and s.attempt = :attempt and s.status = :status;

-- ---- values of other scopes and runs ---------------------------------------------------------------------------------------

-- values_of_loop(scope int8, loop view, step view, param view) -> one (values text)
-- Those of a parameter in the iterations of a loop, as an array.
select coalesce(jsonb_agg(s.params -> :param order by i.number), '[]')::text as values
from scylla.workflow_iteration i
left join scylla.workflow_step_state s on s.scope = i.id and s.step = :step
where i.parent = :scope and i.step = :loop and not i.past;

-- value_of_subworkflow(scope int8, subworkflow view, step view, param view) -> opt (value text?)
-- Of a parameter in the run that a step has started last.
select (s.params -> :param)::text as value
from scylla.workflow_run_state r
join scylla.workflow_step_state s on s.scope = r.id and s.step = :step
where r.parent_scope = :scope and r.parent_step = :subworkflow
order by r.id desc
limit 1;

-- unsuccessful_iterations(scope int8, loop view, behind view, most view) -> one (iterations text)
-- Those of a loop that have not succeeded, as an array of their numbers and ids. behind, most: numbers as texts.
select coalesce(jsonb_agg(jsonb_build_array(i.number, i.id) order by i.number), '[]')::text as iterations
from (
    select number, id
    from scylla.workflow_iteration
    where parent = :scope and step = :loop and number > :behind::int8 and not past and status <> 'SUCCEEDED'
    order by number
    limit :most::int8) i;

-- other_iterations(scope int8, loop view, but view) -> one (counts text?)
-- How the iterations of a loop have ended, but the one of that number (a text), which is named with its id. Null if that
-- does not exist.
select case
           when count(*) filter (where not o.other) = 1 then
               jsonb_build_object('id', max(o.id) filter (where not o.other),
                                  'succeeded', count(*) filter (where o.other and o.status = 'SUCCEEDED'),
                                  'failed', count(*) filter (where o.other and o.status = 'FAILED'),
                                  'stopped', count(*) filter (where o.other and o.status = 'STOPPED'),
                                  'timed_out', count(*) filter (where o.other and o.status = 'TIMED_OUT'))::text
       end as counts
from (
    select id, status, number <> :but::int8 as other
    from scylla.workflow_iteration
    where parent = :scope and step = :loop and not past) o;
