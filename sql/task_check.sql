-- Live checks: tasks that answer a question for which many tasks may wait (scylla.submit with {"check": ...} in wait_for). Rows are
-- only inserted and removed. A call that joins a check locks its row (FOR KEY SHARE, without waiting); the call that ends the check
-- removes the row, without waiting.
create table scylla.task_check (
    id bigint not null,
    digest bytea not null,
    constraint task_check_pkey primary key (id)
) using heap with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, vacuum_truncate = off);
create index task_check_digest on scylla.task_check (digest);
comment on table scylla.task_check is 'The checks that are live: tasks that one or more others wait for, by what they ask.';
comment on column scylla.task_check.digest is 'SHA-256 of the queue and of the spec, without what equal jsonb values may differ in.';

select pg_catalog.pg_extension_config_dump('scylla.task_check', '');
