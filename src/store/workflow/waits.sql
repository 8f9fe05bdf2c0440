-- Steps that wait for signals: rows of scylla.workflow_wait. Each has a condition of its id.

-- add(condition int8, root int8, scope int8, attempt int4, number int4, step text)
insert into scylla.workflow_wait (id, root, scope, attempt, number, step)
values (:condition, :root, :scope, :attempt, :number, :step);

-- end_matched(conditions int8[], signal jsonb) !latest
-- Puts the signal on the agenda of the runs whose steps wait for it. By the latest snapshot: the steps whose conditions
-- have ended must be seen.
with ended as (
    delete from scylla.workflow_wait where id = any (:conditions)
    returning root, scope, step, attempt, number
)
insert into scylla.workflow_agenda (root, line, kind, scope, step, attempt, data)
select root, @line_of(root), 'matched', scope, step, attempt, jsonb_build_object('number', number, 'signal', :signal)
from ended;

-- is_awaited(condition int8) -> one (found bool)
select exists (
    select
    from scylla.workflow_wait w
    join scylla.workflow_step_state s on s.scope = w.scope and s.step = w.step and s.attempt = w.attempt
    where w.id = :condition and s.status = 'WAITING_FOR_SIGNALS') as found;

-- remove(condition int8)
delete from scylla.workflow_wait where id = :condition;

-- struct Step (root int8, scope int8, step view?)
-- step: empty: all of the scope.

-- leave(steps Step[])
-- Without waiting: leaves those whose condition another transaction has locked.
with gone as materialized (
    select c.id
    from :steps
    join scylla.workflow_wait w
      on w.root = any (array[steps.root]) and w.scope = steps.scope and (steps.step is null or w.step = steps.step)
    join scylla.signal_condition c on c.id = any (array[w.id])
    for update of c skip locked
), condition as (
    delete from scylla.signal_condition where id = any (array(select id from gone))
)
delete from scylla.workflow_wait where id = any (array(select id from gone));

-- leave_of(root int8)
-- The same for all of a run.
with gone as materialized (
    select c.id
    from scylla.workflow_wait w
    join scylla.signal_condition c on c.id = any (array[w.id])
    where w.root = :root
    for update of c skip locked
), condition as (
    delete from scylla.signal_condition where id = any (array(select id from gone))
)
delete from scylla.workflow_wait where id = any (array(select id from gone));
