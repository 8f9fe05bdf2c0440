-- What roles see of job templates. Columns are only ever appended.

create or replace view scylla.job_template with (security_barrier) as
    select t.job_type, t.version, coalesce(t.definition ->> 'type', t.definition ->> 'step_type') as type,
           coalesce(t.metadata ->> 'status', t.definition ->> 'status') as status,
           t.definition -> 'params' as params, t.definition -> 'inherit_from' as inherit_from, t.definition -> 'tags' as tags,
           t.definition ->> 'description' as description, t.owner::text as owner, t.author::text as author, t.created, t.modified,
           t.definition, t.metadata
    from scylla.job_template_text t;
comment on view scylla.job_template is 'Job templates: parameters and tags that steps with their job type as sub_type begin with. Everybody who may read the view sees all.';
comment on column scylla.job_template.job_type is 'The sub_type of the steps.';
comment on column scylla.job_template.version is 'The version: any name.';
comment on column scylla.job_template.type is 'The type that these steps must have.';
comment on column scylla.job_template.status is 'Any text of its authors.';
comment on column scylla.job_template.params is 'Its own parameters, as in a definition of a workflow.';
comment on column scylla.job_template.inherit_from is 'The templates that it inherits from: an object with their job types, and the version of each.';
comment on column scylla.job_template.tags is 'Its own tags.';
comment on column scylla.job_template.description is 'What it is for.';
comment on column scylla.job_template.owner is 'The role that created the first version of this job type, and may change the type.';
comment on column scylla.job_template.author is 'The role that created or last replaced this version.';
comment on column scylla.job_template.created is 'When it was created.';
comment on column scylla.job_template.modified is 'When it was created or last replaced.';
comment on column scylla.job_template.definition is 'The definition as it was passed.';
comment on column scylla.job_template.metadata is 'The other members of the object that was passed.';
