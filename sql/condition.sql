-- Conditions: what tasks wait for that is neither a task nor a plan (docs/conditions.md). A condition has an id from
-- task_id_seq, so a gate names it as its provider. It ends once: with a row in task_condition_end.

create table scylla.task_condition_end (
    id bigint not null,
    ended timestamptz not null,
    failed boolean not null,
    value jsonb,
    constraint task_condition_end_pkey primary key (id)
) using heap with (vacuum_truncate = off);
comment on table scylla.task_condition_end is 'How a condition ended: written once, removed with the last task that waited for it.';
comment on column scylla.task_condition_end.failed is 'The condition failed: the gates of the waiting tasks decide what that means.';
comment on column scylla.task_condition_end.value is 'The value of its gates; of a condition that failed, the error.';

create table scylla.task_callback (
    id bigint not null default nextval('scylla.task_id_seq'),
    created timestamptz not null default clock_timestamp(),
    expires timestamptz,
    owner name not null,
    token text not null,
    constraint task_callback_pkey primary key (id)
) using heap with (vacuum_truncate = off);
create unique index task_callback_token on scylla.task_callback (token text_pattern_ops);
comment on table scylla.task_callback is 'Callbacks: conditions that any caller who knows the token can end.';
comment on column scylla.task_callback.expires is 'From then on it cannot be resolved or rejected; null: never.';
comment on column scylla.task_callback.owner is 'The role that created it.';

create table scylla.signal_name (
    name text not null,
    created timestamptz not null default clock_timestamp(),
    owner name not null,
    senders text[],
    waiters text[],
    admins text[],
    constraint signal_name_pkey primary key (name)
) using heap with (fillfactor = 50, vacuum_truncate = off);
comment on table scylla.signal_name is 'Names of signals. A name belongs to the role that used it first.';
comment on column scylla.signal_name.senders is 'Roles with the privilege send; null: none.';
comment on column scylla.signal_name.waiters is 'Roles with the privilege wait: they may wait for the signal and see it; null: none.';
comment on column scylla.signal_name.admins is 'Roles with the privilege admin, which includes the others; null: none.';

create table scylla.signal_sent (
    id bigint not null default nextval('scylla.task_id_seq'),
    sent timestamptz not null default clock_timestamp(),
    sender name not null,
    name text not null,
    request_id text,
    params jsonb not null,
    payload jsonb,
    constraint signal_sent_pkey primary key (id)
) using heap with (vacuum_truncate = off);
create unique index signal_sent_request on scylla.signal_sent (name text_pattern_ops, request_id text_pattern_ops) where request_id is not null;
create index signal_sent_name on scylla.signal_sent (name text_pattern_ops, id);
create index signal_sent_params on scylla.signal_sent using gin (params jsonb_path_ops) with (fastupdate = off);
comment on table scylla.signal_sent is 'The signals of the time that scylla.signal_retention says.';

-- Only conditions that have not ended are here. A signal finds them by the digest of the parameters that they compare for
-- equality, and by the bound of a range.
create table scylla.signal_condition (
    id bigint not null,
    digest bigint not null,
    created timestamptz not null,
    since timestamptz,
    name text not null,
    bound text not null,
    match jsonb not null,
    of_step boolean not null,
    constraint signal_condition_pkey primary key (id)
) using heap with (vacuum_truncate = off);
create index signal_condition_match on scylla.signal_condition (digest, bound text_pattern_ops);
comment on table scylla.signal_condition is 'Conditions that wait for a signal. Equal ones are shared by all tasks that wait.';
comment on column scylla.signal_condition.digest is 'Of the name, the parameters compared for equality with their values, and the range''s parameter, operator and type.';
comment on column scylla.signal_condition.since is 'Signals that were sent earlier do not count; null: all count.';
comment on column scylla.signal_condition.bound is 'The bound of the range, in a form that sorts (src/model/sortable.h); empty: no range.';
comment on column scylla.signal_condition.match is 'The parameters and what they are compared with.';
comment on column scylla.signal_condition.of_step is 'True: only a step of a workflow waits (scylla.workflow_wait); false: gates of tasks do.';

-- These rows tell the sender of a signal which digests to look up. There may be equal rows.
create table scylla.signal_shape (
    id bigint not null,
    name text not null,
    shape jsonb not null,
    constraint signal_shape_pkey primary key (id)
) using heap with (vacuum_truncate = off);
create index signal_shape_name on scylla.signal_shape (name text_pattern_ops);
comment on table scylla.signal_shape is 'Which parameters conditions on a signal compare: [[names compared for equality], parameter of the range, its operator].';

select pg_catalog.pg_extension_config_dump('scylla.task_condition_end', '');
select pg_catalog.pg_extension_config_dump('scylla.task_callback', '');
select pg_catalog.pg_extension_config_dump('scylla.signal_name', '');
select pg_catalog.pg_extension_config_dump('scylla.signal_sent', '');
select pg_catalog.pg_extension_config_dump('scylla.signal_condition', '');
select pg_catalog.pg_extension_config_dump('scylla.signal_shape', '');
