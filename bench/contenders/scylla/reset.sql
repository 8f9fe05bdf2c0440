truncate scylla.task_spec, scylla.task_waiting, scylla.task_ready, scylla.task_lease, scylla.task_outcome;
