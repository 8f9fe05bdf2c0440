-- Job templates: see docs/workflows.md.

create or replace function scylla.create_job_template(definition jsonb) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_create_job_template';
comment on function scylla.create_job_template is
'Creates a job template, which the caller owns: parameters and tags with which steps of this sub_type begin. A template with the same job
type and version is replaced: steps whose parameters are evaluated from then on use the new one.
  definition  {"job_type": the sub_type of the steps, "version": any name, default "default", "type": that the steps must have, "params":
              {...}, "tags": [...], "inherit_from": {job_type: version, ...}, "description": ..., "status": ...}; or an object with that as its
              member "definition", whose other members are kept with it. At most scylla.max_definition_size
Errors: 22023 an error in the definition, with its place, or a template that inherits from it would become invalid; 42501 the job type belongs to
another role; 0A000 the database is not in UTF8. Locks: waits for a transaction that is changing templates of the same job type.';

create or replace function scylla.drop_job_template(job_type text, version text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_drop_job_template';
comment on function scylla.drop_job_template is
'Removes a version of a job template. Steps that would begin with it fail. Errors: 42704 no such template; 42501 the job type belongs to
another role; 2BP01 another template inherits from it, or it is the last of its job type and the active version of a workflow uses it; 22023 bad argument. Locks: as create_job_template().';
