-- Holds keep steps and runs of workflows from beginning (docs/workflows.md): breakpoints and pauses.

create table scylla.workflow_hold (
    created timestamptz not null default clock_timestamp(),
    instance bigint not null,
    version int not null,
    run int not null,
    author name not null,
    workflow text collate "C" not null,
    kind text collate "C" not null,
    step text collate "C" not null,
    iterations bigint[] not null,
    constraint workflow_hold_pkey primary key (workflow, kind, step, version, instance, run, iterations)
) using heap with (fillfactor = 80, vacuum_truncate = off);
comment on table scylla.workflow_hold is 'Breakpoints, and what is paused. Read the views scylla.workflow_breakpoint and scylla.workflow instead.';
comment on column scylla.workflow_hold.instance is '0: all.';
comment on column scylla.workflow_hold.version is '0: all.';
comment on column scylla.workflow_hold.run is '0: all.';
comment on column scylla.workflow_hold.kind is 'breakpoint; pause: of one step, until it is resumed; workflow: all of it is paused.';
comment on column scylla.workflow_hold.step is 'Empty: the workflow is paused.';
comment on column scylla.workflow_hold.iterations is 'In which the step is paused; empty: in all, or it is in no loop.';

select pg_catalog.pg_extension_config_dump('scylla.workflow_hold', '');
