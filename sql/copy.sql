-- Tasks that were resubmitted, and their copies.

create table scylla.task_copy (
    original bigint not null,
    resubmitted timestamptz not null default clock_timestamp(),
    copy bigint,
    constraint task_copy_pkey primary key (original)
    -- Space for the version that names the copy.
) using heap with (fillfactor = 50, vacuum_truncate = off);
create index task_copy_copy on scylla.task_copy (copy);
comment on table scylla.task_copy is 'Tasks that were resubmitted. The monitor removes the rows of tasks that are gone.';
comment on column scylla.task_copy.original is 'The id of a task that has ended.';
comment on column scylla.task_copy.copy is
    'The id of the task that does its work again; null: a task that the caller could not see has its deduplication key.';

select pg_catalog.pg_extension_config_dump('scylla.task_copy', '');
