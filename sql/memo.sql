-- State that a task keeps from run to run (scylla.not_yet, scylla.defer). Only the transaction that holds the task's row of state
-- (task_lease, task_waiting, task_ready) writes here, so no call waits for another.
create table scylla.task_memo (
    id bigint not null,
    answers bigint not null,
    answered timestamptz,
    state jsonb,
    constraint task_memo_pkey primary key (id)
) using heap with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, vacuum_truncate = off);
comment on table scylla.task_memo is 'What a task keeps from run to run: its state, and how often it has answered "not yet".';
comment on column scylla.task_memo.answers is 'How often a worker has answered "not yet".';
comment on column scylla.task_memo.answered is 'When a worker last did.';
comment on column scylla.task_memo.state is 'What the worker that deferred the task last has left for the next one.';

select pg_catalog.pg_extension_config_dump('scylla.task_memo', '');
