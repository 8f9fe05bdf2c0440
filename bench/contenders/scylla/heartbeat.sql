\set n random(1, :tasks)
select (scylla.heartbeat('task-' || :n, 'worker', 0.5)).status;
