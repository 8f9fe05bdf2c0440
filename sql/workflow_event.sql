-- Events of workflows (docs/monitoring.md): changes of workflows, runs and steps, if the property `events` of the workflow is on.

create table scylla.workflow_event (
    position bigint not null,
    id bigint not null default nextval('scylla.event_id_seq'),
    "time" timestamptz not null,
    instance bigint,
    version int,
    run int,
    attempt int,
    owner name not null,
    kind text collate "C" not null,
    workflow text collate "C" not null,
    status text collate "C",
    old_status text collate "C",
    step text collate "C",
    iterations bigint[],
    constraint workflow_event_pkey primary key (position, id)
) using heap with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, vacuum_truncate = off);
comment on table scylla.workflow_event is
    'What has happened to workflows whose property events is on, for read_workflow_events(): rows are added, and removed after scylla.event_retention.';
comment on column scylla.workflow_event.position is 'As in scylla.event.';
comment on column scylla.workflow_event.id is 'Orders events with the same position.';
comment on column scylla.workflow_event.owner is 'That of the workflow, who may see the event also when the workflow is gone.';
