-- Workflows: versions of their definitions (docs/workflows.md). Roles are stored by name, as with queues.

create table scylla.workflow_head (
    latest_instance bigint not null default 0,
    created timestamptz not null default clock_timestamp(),
    modified timestamptz not null default clock_timestamp(),
    activated timestamptz,
    active_version int not null default 0,
    latest_version int not null default 0,
    concurrency int not null default 1,
    owner name not null,
    id text collate "C" not null,
    strategy text not null default 'SEQUENTIAL',
    properties jsonb not null,
    activated_by name,
    runners text[],
    viewers text[],
    admins text[],
    constraint workflow_head_pkey primary key (id)
) using heap with (fillfactor = 50, vacuum_truncate = off);
comment on table scylla.workflow_head is 'Workflows. Read the view scylla.workflow instead.';
comment on column scylla.workflow_head.latest_instance is 'The number of the last instance, also of a workflow with this id that was dropped.';
comment on column scylla.workflow_head.active_version is '0: none.';
comment on column scylla.workflow_head.concurrency is 'How many instances may run at once: that of the run strategy.';
comment on column scylla.workflow_head.owner is 'The role that created it, with whose rights its tasks are submitted.';
comment on column scylla.workflow_head.strategy is 'The rule of the run strategy.';
comment on column scylla.workflow_head.properties is 'The properties as they are given, without nulls.';
comment on column scylla.workflow_head.runners is 'Roles with the privilege "run"; null: none.';
comment on column scylla.workflow_head.viewers is 'Roles with the privilege "view"; null: none.';
comment on column scylla.workflow_head.admins is 'Roles with the privilege "admin"; null: none.';

create table scylla.workflow_text (
    created timestamptz not null default clock_timestamp(),
    version int not null,
    author name not null,
    workflow text collate "C" not null,
    definition jsonb not null,
    metadata jsonb not null,
    constraint workflow_text_pkey primary key (workflow, version)
) using heap with (vacuum_truncate = off);
comment on table scylla.workflow_text is 'The versions of workflows. Read the view scylla.workflow_version instead.';
comment on column scylla.workflow_text.definition is 'The member "workflow" of the document.';
comment on column scylla.workflow_text.metadata is 'Its other members but "properties".';

-- One row per change of the properties, written with it and never changed.
create table scylla.workflow_properties (
    id bigint not null default nextval('scylla.task_id_seq'),
    changed timestamptz not null default clock_timestamp(),
    author name not null,
    workflow text collate "C" not null,
    properties jsonb not null,
    constraint workflow_properties_pkey primary key (id)
) using heap with (vacuum_truncate = off);
create index workflow_properties_workflow on scylla.workflow_properties (workflow, id);
comment on table scylla.workflow_properties is 'What the properties of workflows were. Read the view scylla.workflow_properties_history instead.';

-- An instance of a workflow never has the number of one of a workflow with the same id that was dropped.
create table scylla.workflow_dropped (
    latest_instance bigint not null,
    id text collate "C" not null,
    constraint workflow_dropped_pkey primary key (id)
) using heap with (vacuum_truncate = off);
comment on table scylla.workflow_dropped is 'Ids of workflows that were dropped after they had instances.';

select pg_catalog.pg_extension_config_dump('scylla.workflow_head', '');
select pg_catalog.pg_extension_config_dump('scylla.workflow_text', '');
select pg_catalog.pg_extension_config_dump('scylla.workflow_properties', '');
select pg_catalog.pg_extension_config_dump('scylla.workflow_dropped', '');
