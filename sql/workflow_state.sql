-- Runs of workflows (docs/workflows.md). The engine writes these rows, and the call that starts a run.

create sequence scylla.workflow_agenda_seq cache 32;
comment on sequence scylla.workflow_agenda_seq is 'Order of the agenda.';

create table scylla.workflow_run_state (
    id bigint not null,
    plan bigint not null,
    instance bigint not null,
    created timestamptz not null,
    started timestamptz,
    ended timestamptz,
    due timestamptz,
    parent_root bigint,
    parent_scope bigint,
    backfill bigint,
    run int not null,
    version int not null,
    parent_attempt int,
    blocks boolean not null default false,
    late boolean not null default false,
    status text collate "C" not null,
    aggregated text collate "C",
    workflow text collate "C" not null,
    owner name not null,
    parent_step text collate "C",
    request_id text collate "C",
    permits text collate "C",
    initiator jsonb not null,
    properties jsonb not null,
    request jsonb not null,
    params jsonb not null,
    restart jsonb,
    error jsonb,
    step_params jsonb,
    constraint workflow_run_state_pkey primary key (id),
    constraint workflow_run_state_name unique (workflow, instance)
) using heap with (fillfactor = 80, vacuum_truncate = off);
create unique index workflow_run_state_request on scylla.workflow_run_state (workflow, request_id) where request_id is not null;
create index workflow_run_state_live on scylla.workflow_run_state (workflow, status, late, instance, run) where ended is null;
create index workflow_run_state_ended on scylla.workflow_run_state (workflow, status, instance)
    where status <> 'SUCCEEDED' and status <> 'IN_PROGRESS' and status <> 'CREATED';
create index workflow_run_state_parent on scylla.workflow_run_state (parent_scope, parent_step) where parent_scope is not null;
create index workflow_run_state_blocks on scylla.workflow_run_state (workflow) where blocks;
create index workflow_run_state_signals on scylla.workflow_run_state using gin (initiator jsonb_path_ops) with (fastupdate = off)
    where initiator ? 'signals';
create index workflow_run_state_due on scylla.workflow_run_state (due) where due is not null;
create index workflow_run_state_permits on scylla.workflow_run_state (permits) where permits is not null and ended is null;
comment on table scylla.workflow_run_state is 'Instances of workflows, with their last runs. Read the view scylla.workflow_run instead.';
comment on column scylla.workflow_run_state.id is 'That of the plan of the first run.';
comment on column scylla.workflow_run_state.plan is 'The plan of the last run, with which the instance is removed.';
comment on column scylla.workflow_run_state.due is 'When the run times out; null: it does not run.';
comment on column scylla.workflow_run_state.parent_root is 'The run whose step has started this one as a subworkflow and waits for it; null: none.';
comment on column scylla.workflow_run_state.parent_scope is 'The scope of that step: the run, or an iteration of it.';
comment on column scylla.workflow_run_state.backfill is 'The backfill that has started it; null: none.';
comment on column scylla.workflow_run_state.aggregated is
    'The status of the instance over its runs; of a run that has not ended, what it was before; null: that of the run.';
comment on column scylla.workflow_run_state.late is 'Other runs of the workflow begin before it, and its tasks have priority 0.';
comment on column scylla.workflow_run_state.blocks is 'It has failed, or ended with a status of blocked_by: STRICT_SEQUENTIAL starts no run until a user unblocks it.';
comment on column scylla.workflow_run_state.owner is 'That of the workflow: the role as which its tasks are submitted.';
comment on column scylla.workflow_run_state.permits is
    'The pool that the leaf steps of the run need a permit of, with those of all runs that wait for each other; null: none.';
comment on column scylla.workflow_run_state.request is 'The parameters as they were given to start_workflow().';
comment on column scylla.workflow_run_state.step_params is 'The parameters of steps, by step, as they were given to start_workflow(); null: none.';
comment on column scylla.workflow_run_state.params is 'The values of its parameters.';
comment on column scylla.workflow_run_state.restart is
    'What was asked for: an object with policy, step, step_params, skip_steps and below; null: it is the first run.';
comment on column scylla.workflow_run_state.error is 'Why it was stopped, timed out or could not go on; null: its steps and the actions on it tell.';

create table scylla.workflow_run_past (
    plan bigint not null,
    root bigint not null,
    instance bigint not null,
    created timestamptz not null,
    started timestamptz,
    ended timestamptz not null,
    run int not null,
    status text collate "C" not null,
    aggregated text collate "C" not null,
    workflow text collate "C" not null,
    owner name not null,
    initiator jsonb not null,
    request jsonb not null,
    params jsonb not null,
    restart jsonb,
    error jsonb,
    constraint workflow_run_past_pkey primary key (plan)
) using heap with (vacuum_truncate = off);
create unique index workflow_run_past_run on scylla.workflow_run_past (root, run);
comment on table scylla.workflow_run_past is 'Runs of instances that have run again since. Read the view scylla.workflow_run instead.';
comment on column scylla.workflow_run_past.root is 'The instance.';

create table scylla.workflow_plan (
    plan bigint not null,
    root bigint not null,
    constraint workflow_plan_pkey primary key (plan)
) using heap with (vacuum_truncate = off);
create index workflow_plan_root on scylla.workflow_plan (root);
comment on table scylla.workflow_plan is 'To which instance a plan belongs, but for those of first runs.';

create table scylla.workflow_iteration (
    id bigint not null,
    root bigint not null,
    parent bigint not null,
    number bigint not null,
    created timestamptz not null,
    ended timestamptz,
    past boolean not null default false,
    aside boolean not null default false,
    status text collate "C" not null,
    step text collate "C" not null,
    numbers bigint[] not null,
    params jsonb not null,
    constraint workflow_iteration_pkey primary key (id)
) using heap with (fillfactor = 50, vacuum_truncate = off);
create index workflow_iteration_root on scylla.workflow_iteration (root);
create unique index workflow_iteration_number on scylla.workflow_iteration (parent, step, number) where not past;
comment on table scylla.workflow_iteration is 'Iterations of foreach and while steps. Read the view scylla.workflow_step instead.';
comment on column scylla.workflow_iteration.root is 'The instance.';
comment on column scylla.workflow_iteration.parent is 'The scope of the loop: the run, or an iteration of a loop around it.';
comment on column scylla.workflow_iteration.past is 'Its loop, or one around it, has begun again since.';
comment on column scylla.workflow_iteration.aside is 'Its loop, or one around it, is to run again, and may go on with it then; until it does, the iteration is not shown.';
comment on column scylla.workflow_iteration.numbers is 'Its number, and before it those of the iterations around it.';
comment on column scylla.workflow_iteration.params is 'What it adds to the parameters around it.';

create table scylla.workflow_step_state (
    scope bigint not null,
    root bigint not null,
    created timestamptz not null,
    task bigint,
    started timestamptz,
    ended timestamptz,
    due timestamptz,
    attempt int not null,
    run int not null,
    error_retries int not null,
    platform_retries int not null,
    timeout_retries int not null,
    status text collate "C" not null,
    step text collate "C" not null,
    params jsonb,
    edges jsonb,
    loop jsonb,
    error jsonb,
    rollup jsonb,
    signals jsonb,
    times jsonb,
    constraint workflow_step_state_pkey primary key (scope, step)
) using heap with (fillfactor = 50, vacuum_truncate = off);
create index workflow_step_state_task on scylla.workflow_step_state (task) where task is not null;
create index workflow_step_state_due on scylla.workflow_step_state (due, root) where due is not null;
create index workflow_step_state_signals on scylla.workflow_step_state using gin (signals jsonb_path_ops) with (fastupdate = off)
    where signals is not null;
comment on table scylla.workflow_step_state is 'The last attempts of the steps of runs. Read the view scylla.workflow_step instead.';
comment on column scylla.workflow_step_state.scope is 'The run, or the iteration that the step is in.';
comment on column scylla.workflow_step_state.root is 'The instance.';
comment on column scylla.workflow_step_state.attempt is 'Of all runs of the instance. Of a step that is NOT_CREATED again: the last one.';
comment on column scylla.workflow_step_state.run is 'In which the attempt was made.';
comment on column scylla.workflow_step_state.task is 'The id of its task; null: it has none.';
comment on column scylla.workflow_step_state.due is 'When the engine is to look at it; null: when something happens; in 1970: when the run has its next turn.';
comment on column scylla.workflow_step_state.params is 'The values of its parameters; null: not evaluated yet.';
comment on column scylla.workflow_step_state.edges is 'Whether each successor is to follow; null: not complete yet.';
comment on column scylla.workflow_step_state.loop is 'What a loop or a subworkflow keeps, or what the worker of another step has put out; null: nothing.';
comment on column scylla.workflow_step_state.rollup is
    'How many leaves in the iterations of a loop have which status: an object of {"cnt", "ref"}; null: there are none.';
comment on column scylla.workflow_step_state.signals is
    'What is kept of the signals that it waits for or has waited for: an array with the status, signal and match of each; null: there are none.';
comment on column scylla.workflow_step_state.times is
    'When it entered the statuses, but RUNNING, in which it has waited or in which it has failed to start: milliseconds since 1970, by status; null: none.';

create table scylla.workflow_wait (
    id bigint not null,
    root bigint not null,
    scope bigint not null,
    created timestamptz not null default clock_timestamp(),
    attempt int not null,
    number int not null,
    step text collate "C" not null,
    constraint workflow_wait_pkey primary key (id)
) using heap with (vacuum_truncate = off);
create index workflow_wait_scope on scylla.workflow_wait (root, scope);
comment on table scylla.workflow_wait is 'The steps that wait for signals. Written with a condition, and removed when the condition ends.';
comment on column scylla.workflow_wait.id is 'Of its condition in signal_condition.';
comment on column scylla.workflow_wait.number is 'Of the signal in the dependencies of the step, from 0.';

create table scylla.workflow_attempt (
    scope bigint not null,
    created timestamptz not null,
    task bigint,
    started timestamptz,
    ended timestamptz,
    attempt int not null,
    run int not null,
    status text collate "C" not null,
    step text collate "C" not null,
    params jsonb,
    error jsonb,
    signals jsonb,
    times jsonb,
    constraint workflow_attempt_pkey primary key (scope, step, attempt)
) using heap with (vacuum_truncate = off);
comment on table scylla.workflow_attempt is 'Earlier attempts of steps. Read the view scylla.workflow_step_attempt instead.';

create table scylla.workflow_agenda (
    id bigint not null default nextval('scylla.workflow_agenda_seq'),
    root bigint not null,
    noted timestamptz not null default statement_timestamp(),
    task bigint,
    scope bigint,
    action bigint,
    line int not null default 0,
    attempt int,
    slow boolean not null default false,
    kind text collate "C" not null,
    step text collate "C",
    data jsonb,
    due timestamptz,
    tries int,
    constraint workflow_agenda_pkey primary key (slow, line, id)
) using heap with (vacuum_truncate = off);
create index workflow_agenda_due on scylla.workflow_agenda (due) where due is not null;
create index workflow_agenda_put_back on scylla.workflow_agenda (root) where due is not null;
comment on table scylla.workflow_agenda is 'What has happened to runs and what the engine has not acted on yet.';
comment on column scylla.workflow_agenda.root is 'The instance, or the plan of one of its runs.';
comment on column scylla.workflow_agenda.line is 'A hash of the role that owns the run: owners take turns.';
comment on column scylla.workflow_agenda.slow is 'It may take so long that others must not wait for it.';
comment on column scylla.workflow_agenda.noted is 'When it happened.';
comment on column scylla.workflow_agenda.kind is 'What: start, task (a task has ended), next (a run of the workflow may begin), child_started, child_failed, child_ended, child (a subworkflow is to be started), backfill (the run has ended, and its backfill is to go on), restart (an iteration is to run again), signals (of a step are to be sent), signals_sent, wait (a step is to wait for signals), matched (a signal has come that a step waits for), signals_refused, rest (its last turn has left something), output (a worker has put out something), refused and failed (a task could not be submitted), stop, kill, skip, bypass, restart_step, resume, timeout (that came before but could not end everything), halt (a step has failed that fails all, and what runs is to be stopped), give_up (a loop is to fail, and what runs inside is to be stopped), released (steps that are PAUSED are to go on), unpaused (what the pause of the workflow has held back is).';
comment on column scylla.workflow_agenda.due is 'It was put back, because another transaction held something that it needs: when it is looked at again, at the latest; null: at once.';
comment on column scylla.workflow_agenda.tries is 'How often it was put back.';
comment on column scylla.workflow_agenda.action is 'The row of workflow_action_state; null: no user has requested it.';

select pg_catalog.pg_extension_config_dump('scylla.workflow_agenda_seq', '');
select pg_catalog.pg_extension_config_dump('scylla.workflow_run_state', '');
select pg_catalog.pg_extension_config_dump('scylla.workflow_run_past', '');
select pg_catalog.pg_extension_config_dump('scylla.workflow_plan', '');
select pg_catalog.pg_extension_config_dump('scylla.workflow_iteration', '');
select pg_catalog.pg_extension_config_dump('scylla.workflow_step_state', '');
select pg_catalog.pg_extension_config_dump('scylla.workflow_wait', '');
select pg_catalog.pg_extension_config_dump('scylla.workflow_attempt', '');
select pg_catalog.pg_extension_config_dump('scylla.workflow_agenda', '');
