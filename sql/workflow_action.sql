-- Actions that users have requested on runs of workflows and on their steps (docs/workflows.md).

create table scylla.workflow_action_state (
    id bigint not null default nextval('scylla.task_id_seq'),
    root bigint not null,
    created timestamptz not null default clock_timestamp(),
    done timestamptz,
    scope bigint,
    attempt int,
    role name not null,
    kind text collate "C" not null,
    step text collate "C",
    outcome text collate "C",
    run int not null,
    constraint workflow_action_state_pkey primary key (id)
) using heap with (fillfactor = 80, vacuum_truncate = off);
create unique index workflow_action_state_pending on scylla.workflow_action_state (scope, step) where done is null and step is not null;
create index workflow_action_state_run on scylla.workflow_action_state (root);
comment on table scylla.workflow_action_state is 'Actions on runs of workflows and their steps. Read the view scylla.workflow_action instead.';
comment on column scylla.workflow_action_state.root is 'The instance.';
comment on column scylla.workflow_action_state.run is 'The number of its run that the action is on. A restart makes another one.';
comment on column scylla.workflow_action_state.scope is 'The scope of the step; null: the action is on the run.';
comment on column scylla.workflow_action_state.attempt is 'That the step had when the action was asked for; null: the action is on the run.';
comment on column scylla.workflow_action_state.done is 'When the engine has taken it up; null: not yet.';

select pg_catalog.pg_extension_config_dump('scylla.workflow_action_state', '');
