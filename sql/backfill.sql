-- Backfills: many runs of one workflow, started one after the other (docs/workflows.md).

create table scylla.workflow_backfill_state (
    id bigint not null default nextval('scylla.task_id_seq'),
    created timestamptz not null default clock_timestamp(),
    ended timestamptz,
    version int not null,
    concurrency int not null,
    yields boolean not null,
    paused boolean not null default false,
    role name not null,
    workflow text collate "C" not null,
    error jsonb,
    constraint workflow_backfill_state_pkey primary key (id)
) using heap with (fillfactor = 80, vacuum_truncate = off);
create index workflow_backfill_state_workflow on scylla.workflow_backfill_state (workflow);
comment on table scylla.workflow_backfill_state is 'Backfills. Read the view scylla.workflow_backfill instead.';
comment on column scylla.workflow_backfill_state.role is 'The role that made it, or has resumed it since, as which its runs are started.';
comment on column scylla.workflow_backfill_state.error is 'Why it was paused; null: by pause_backfill(), or it is not paused.';

create table scylla.workflow_backfill_item_state (
    backfill bigint not null,
    run bigint,
    number int not null,
    state text collate "C" not null default 'PENDING',
    params jsonb not null,
    error jsonb,
    constraint workflow_backfill_item_state_pkey primary key (backfill, number)
) using heap with (fillfactor = 80, vacuum_truncate = off);
create index workflow_backfill_item_state_pending on scylla.workflow_backfill_item_state (backfill, number) where state = 'PENDING';
create index workflow_backfill_item_state_started on scylla.workflow_backfill_item_state (backfill) where state = 'STARTED';
create index workflow_backfill_item_state_run on scylla.workflow_backfill_item_state (run) where run is not null;
comment on table scylla.workflow_backfill_item_state is 'What backfills start. Read the view scylla.workflow_backfill_item instead.';
comment on column scylla.workflow_backfill_item_state.run is 'The id of its run; null: it was not started.';
comment on column scylla.workflow_backfill_item_state.state is
    'PENDING; STARTED: its run has not ended; ENDED; REFUSED: it could not be started; SKIPPED: there was a run already; CANCELLED.';

select pg_catalog.pg_extension_config_dump('scylla.workflow_backfill_state', '');
select pg_catalog.pg_extension_config_dump('scylla.workflow_backfill_item_state', '');
