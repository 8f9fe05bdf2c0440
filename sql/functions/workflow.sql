-- Definitions of workflows: see docs/workflows.md.

create or replace function scylla.validate_workflow(definition jsonb) returns table (place text, problem text)
    language c volatile parallel safe as 'MODULE_PATHNAME', 'scylla_validate_workflow';
comment on function scylla.validate_workflow is
'What is wrong with the definition of a workflow: a row for each problem, at most 100, and none if it is sound. place is where in the
document, like workflow.steps[3].foreach.steps[0].id, and empty for the document as a whole. As a dry run the parameters of the
workflow are evaluated. Reads and writes nothing of the database.
  definition  {"properties": {...}, "workflow": {...}, ...}, at most 256 kB
Errors: 22023 bad argument; 0A000 the database is not in UTF8; 53200 out of memory.';
