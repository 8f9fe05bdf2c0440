-- Job templates: parameters and tags of steps of one sub_type (docs/workflows.md). Roles are stored by name, as with queues.

create table scylla.job_template_text (
    created timestamptz not null default clock_timestamp(),
    modified timestamptz not null default clock_timestamp(),
    owner name not null,
    author name not null,
    job_type text collate "C" not null,
    version text collate "C" not null,
    definition jsonb not null,
    metadata jsonb not null,
    constraint job_template_text_pkey primary key (job_type, version)
) using heap with (fillfactor = 80, vacuum_truncate = off);
comment on table scylla.job_template_text is 'Job templates. Read the view scylla.job_template instead.';
comment on column scylla.job_template_text.owner is 'The role that made the first version of the job type: the same in all of its versions.';
comment on column scylla.job_template_text.author is 'The role that has written it.';
comment on column scylla.job_template_text.definition is 'The member "definition" of the document, or all of it.';
comment on column scylla.job_template_text.metadata is 'The other members of the document.';

select pg_catalog.pg_extension_config_dump('scylla.job_template_text', '');
