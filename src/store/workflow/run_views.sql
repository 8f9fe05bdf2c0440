-- What the views and pictures of runs read.

-- last_run(workflow text, instance int8) -> opt (id int8)
-- The last run of the instance, of the present workflow of that name.
select r.id
from scylla.workflow_run_state r
join scylla.workflow_head h on h.id = r.workflow and h.created <= r.created
where r.workflow = :workflow and r.instance = :instance
order by r.run desc
limit 1;

-- tree(run int8, max_iterations int4, failed_first bool, role int8) -> table
-- The rows of run_tree().
select * from scylla._tree_of_run(:run, 0, true, :max_iterations, :failed_first, :role);

-- failed_steps(run int8, role int8, most int4) -> table
-- The rows of failed_steps().
select * from scylla._failed_steps(:run, :role, :most);

-- explain(run int8, role int8, step text?, most int4, monitored bool) -> many Wait (
--     workflow text,
--     instance int8,
--     step text?, -- null: the run itself
--     iterations int8[]?,
--     waits_for text?, -- null: for its task, which says why it does not go on
--     since timestamptz?,
--     until timestamptz?,
--     detail text?,
--     task int8?0)
-- What holds back the run.
select workflow_id as workflow, instance_id as instance, step, iterations, waits_for, since, until, detail, task
from scylla._explain_run(:run, :role, :step, :most, :monitored);

-- draw_version_as_dot(workflow text, version int4) -> one (drawing text)
select scylla._draw_dot(definition, null) as drawing
from scylla.workflow_text
where workflow = :workflow and version = :version;

-- draw_version_as_mermaid(workflow text, version int4) -> one (drawing text)
select scylla._draw_mermaid(definition, null) as drawing
from scylla.workflow_text
where workflow = :workflow and version = :version;

-- draw_run_as_dot(run int8) -> one (drawing text)
select scylla._draw_dot(v.definition, r.id) as drawing
from scylla.workflow_run_state r
join scylla.workflow_text v on v.workflow = r.workflow and v.version = r.version
where r.id = :run;

-- draw_run_as_mermaid(run int8) -> one (drawing text)
select scylla._draw_mermaid(v.definition, r.id) as drawing
from scylla.workflow_run_state r
join scylla.workflow_text v on v.workflow = r.workflow and v.version = r.version
where r.id = :run;

-- draw_gantt(run int8, role int8, max_iterations int4) -> one (drawing text)
select scylla._draw_gantt(:run, :role, :max_iterations) as drawing;

-- draw_lineage(run int8, role int8, max_signals int4, as_dot bool) -> one (drawing text)
select scylla._draw_lineage(:run, :role, :max_signals, :as_dot) as drawing;
