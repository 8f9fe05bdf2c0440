-- Steps and iterations of loops: rows of scylla.workflow_step_state and scylla.workflow_iteration. What the engine reads
-- and writes of them is in turn_reads.sql, turn_writes.sql and work.sql.

-- struct State (status step_status, attempt int4)

-- state(scope int8, step text) -> opt State
select status, attempt from scylla.workflow_step_state where scope = :scope and step = :step;

-- statuses(scope int8) -> many StepStatus (step view, status step_status)
select step, status from scylla.workflow_step_state where scope = :scope;

-- of_task(task int8) -> opt TaskStep (root int8, scope int8, step text, attempt int4, params jsonb!)
select root, scope, step, attempt, params
from scylla.workflow_step_state
where task = :task and ended is null and params is not null;

-- statement_of_task(task int8) -> opt StatementStep (
--     workflow text,
--     version int4,
--     created timestamptz, -- of the version, as its author
--     owner name,
--     author name,
--     step text,
--     params jsonb!)
select r.workflow, r.version, v.created, r.owner, v.author, s.step, s.params
from scylla.workflow_step_state s
join scylla.workflow_run_state r on r.id = s.root
join scylla.workflow_text v on v.workflow = r.workflow and v.version = r.version
where s.task = :task and s.ended is null and s.params is not null;

-- find_iteration(parent int8, loop text, number int8) -> opt Iteration (id int8, ended bool)
select id, ended is not null as ended
from scylla.workflow_iteration
where parent = :parent and step = :loop and number = :number and not past;

-- levels(scope int8) -> many Level (
--     scope int8,
--     parent int8,
--     loop text,
--     number int8,
--     ended bool,
--     status run_status,
--     of_loop step_status)
-- The iteration and those around it, the inner one first.
with recursive up as (
    select i.id, i.parent, i.step, i.number, i.ended, i.status from scylla.workflow_iteration i where i.id = :scope
    union all
    select i.id, i.parent, i.step, i.number, i.ended, i.status
    from scylla.workflow_iteration i
    join up on up.parent = i.id
)
select u.id as scope, u.parent, u.step as loop, u.number, u.ended is not null as ended, u.status, s.status as of_loop
from up u
join scylla.workflow_step_state s on s.scope = u.parent and s.step = u.step
order by u.id desc;
