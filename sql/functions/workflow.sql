-- Definitions of workflows: see docs/workflows.md.

create or replace function scylla.validate_workflow(definition jsonb) returns table (place text, problem text)
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_validate_workflow';
comment on function scylla.validate_workflow is
'Returns what is wrong with the definition of a workflow: a row for each problem, at most 100, and none if it is sound. place is the
place in the document, like workflow.steps[3].foreach.steps[0].id, and empty for the document as a whole. The parameters of the
workflow are evaluated as a dry run. Reads job templates, and writes nothing.
  definition  {"properties": {...}, "workflow": {...}, ...}, at most scylla.max_definition_size
Errors: 22023 bad argument; 0A000 the database is not in UTF8; 53200 out of memory.';

create or replace function scylla.create_workflow(definition jsonb, activate boolean = true) returns int
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_create_workflow';
comment on function scylla.create_workflow is
'Creates a workflow, which the caller owns, or a new version of one. Returns the number of the version: 1, 2, and so on.
  definition  {"properties": {...}, "workflow": {...}, ...} as for validate_workflow(). properties.owner is required for the first
              version. Properties that it does not have stay as they are, except run_strategy, step_concurrency and alerting,
              which are removed. Its other members are kept with the version
  activate    whether the new version becomes the active one. "is_active": false in the document also prevents this
Errors: 22023 an error in the definition, with its place; 42501 no privilege admin on the workflow; 0A000 the database is not in UTF8.
Locks: waits for a transaction that is creating or changing the same workflow.';

create or replace function scylla.activate_workflow(workflow text, version int = null) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_activate_workflow';
comment on function scylla.activate_workflow is
'Makes a version the active one. Existing instances keep their version.
  version  null: the latest
Errors: 42704 no such workflow or version; 42501 no privilege admin; 22023 bad argument. Locks: as create_workflow().';

create or replace function scylla.deactivate_workflow(workflow text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_deactivate_workflow';
comment on function scylla.deactivate_workflow is
'Leaves a workflow without an active version: triggers do not start it. Existing instances continue.
Errors: 42704 no such workflow; 42501 no privilege admin; 22023 bad argument. Locks: as create_workflow().';

create or replace function scylla.alter_workflow(workflow text, properties jsonb) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_alter_workflow';
comment on function scylla.alter_workflow is
'Changes properties of a workflow, at once for all of its versions.
  properties  an object with properties; those that are missing or null stay as they are. It can also have reset_run_strategy_rule,
              reset_workflow_concurrency (of PARALLEL: 20 again) and reset_step_concurrency: true or false; add_tag: a tag, which
              replaces a tag of the same name; delete_tag: a name
Errors: 42704 no such workflow or tag; 42501 no privilege admin; 22023 bad argument, or a property is set and reset; 55000 the workflow
has no concurrency to reset. Locks: as create_workflow().';

create or replace function scylla.drop_workflow(workflow text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_drop_workflow';
comment on function scylla.drop_workflow is
'Removes a workflow with all of its versions. A new workflow may have the same id; its versions begin at 1, but the numbering of its
instances continues. Errors: 42704 no such workflow; 42501 no privilege admin; 22023 bad argument. Locks: as create_workflow().';

create or replace function scylla.grant_workflow(workflow text, role text, privilege text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_grant_workflow';
comment on function scylla.grant_workflow is
'Grants a privilege on a workflow to a role and its members; no error if the role has it already.
  role       its name exactly as in pg_roles, or ''public'' for everybody
  privilege  view: see it and its runs; run: also start it and act on its runs; admin: also change and drop it, grant and revoke
Errors: 42704 no such workflow or role; 42501 no privilege admin; 22023 bad argument. Locks: as create_workflow().';

create or replace function scylla.revoke_workflow(workflow text, role text, privilege text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_revoke_workflow';
comment on function scylla.revoke_workflow is
'Revokes a privilege on a workflow. The role need not have it, nor exist any more. Runs continue.
Errors: 42704 no such workflow; 42501 no privilege admin; 22023 bad argument. Locks: as create_workflow().';
