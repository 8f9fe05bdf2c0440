-- Triggers: sets of signals that start tasks and plans (docs/conditions.md). Roles are stored by name, as with queues.

create table scylla.signal_trigger (
    id bigint not null default nextval('scylla.task_id_seq'),
    created timestamptz not null default clock_timestamp(),
    fired bigint not null default 0,
    skipped bigint not null default 0,
    last_fired timestamptz,
    failed timestamptz,
    inputs integer not null,
    paused boolean not null default false,
    owner name not null,
    name text not null,
    signals jsonb not null,
    action jsonb not null,
    condition jsonpath,
    last_error text,
    grace interval,
    missed bigint not null default 0,
    constraint signal_trigger_pkey primary key (id)
    -- Space for new versions on the same page: counting changes no indexed column.
) using heap with (fillfactor = 50, vacuum_truncate = off);
create unique index signal_trigger_name on scylla.signal_trigger (name text_pattern_ops);
create index signal_trigger_workflow on scylla.signal_trigger ((action ->> 'workflow')) where action ? 'workflow';
comment on table scylla.signal_trigger is 'Triggers. Read the view scylla.trigger instead.';
comment on column scylla.signal_trigger.fired is 'How often its action has been carried out.';
comment on column scylla.signal_trigger.skipped is 'How often its condition was not true.';
comment on column scylla.signal_trigger.missed is 'How many sets were older than grace.';
comment on column scylla.signal_trigger.grace is 'How old the last signal of a set may be; null: no bound.';
comment on column scylla.signal_trigger.inputs is 'How many signals join.';
comment on column scylla.signal_trigger.owner is 'The role that created it, as which its action is carried out.';
comment on column scylla.signal_trigger.action is 'The task for submit_many; an array: the tasks of a plan; with workflow: the run to start; with trigger too: a signal trigger of the workflow.';

create table scylla.signal_trigger_input (
    trigger bigint not null,
    ord integer not null,
    name text not null,
    match jsonb not null,
    joined_by text[] not null,
    constraint signal_trigger_input_pkey primary key (trigger, ord)
) using heap with (vacuum_truncate = off);
create index signal_trigger_input_name on scylla.signal_trigger_input (name text_pattern_ops, trigger);
comment on table scylla.signal_trigger_input is 'The signals that a trigger joins.';
comment on column scylla.signal_trigger_input.joined_by is 'The parameters whose values are equal in the signals of a set, by place.';

-- The sender of a signal writes one row, however many triggers there are.
create table scylla.signal_unseen (
    seq bigint not null,
    line int not null,
    after bigint not null default 0,
    constraint signal_unseen_pkey primary key (line, seq)
) using heap with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, vacuum_truncate = off);
comment on table scylla.signal_unseen is 'Signals with a name that a trigger uses, until triggers have seen them.';
comment on column scylla.signal_unseen.line is 'A hash of the name: names take turns.';
comment on column scylla.signal_unseen.after is 'Triggers up to this one have seen it.';

create table scylla.signal_arrival (
    trigger bigint not null,
    digest bigint not null,
    seq bigint not null,
    input integer not null,
    fresh boolean not null,
    join_key jsonb not null,
    constraint signal_arrival_pkey primary key (trigger, digest, input, seq)
) using heap with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, vacuum_truncate = off);
create index signal_arrival_seq on scylla.signal_arrival (seq);
create index signal_arrival_fresh on scylla.signal_arrival (trigger) where fresh;
comment on table scylla.signal_arrival is 'Signals that a trigger has seen and that wait for their partners.';
comment on column scylla.signal_arrival.digest is 'Of the join key.';
comment on column scylla.signal_arrival.fresh is 'It has not been matched with other signals since it arrived.';
comment on column scylla.signal_arrival.join_key is 'The values of the parameters by which it joins.';

create table scylla.signal_trigger_failure (
    id bigint not null default nextval('scylla.task_id_seq'),
    trigger bigint not null,
    failed timestamptz not null default clock_timestamp(),
    retry_at timestamptz not null,
    attempts integer not null,
    seqs bigint[] not null,
    error text not null,
    constraint signal_trigger_failure_pkey primary key (id)
) using heap with (fillfactor = 50, vacuum_truncate = off);
create index signal_trigger_failure_retry on scylla.signal_trigger_failure (retry_at);
comment on table scylla.signal_trigger_failure is 'Sets of signals for which the action of a trigger has failed: it is tried again.';
comment on column scylla.signal_trigger_failure.failed is 'When it failed first.';

select pg_catalog.pg_extension_config_dump('scylla.signal_trigger', '');
select pg_catalog.pg_extension_config_dump('scylla.signal_trigger_input', '');
select pg_catalog.pg_extension_config_dump('scylla.signal_unseen', '');
select pg_catalog.pg_extension_config_dump('scylla.signal_arrival', '');
select pg_catalog.pg_extension_config_dump('scylla.signal_trigger_failure', '');
