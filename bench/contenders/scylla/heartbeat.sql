\set n random(1, :tasks)
select status, deadline from scylla.heartbeat('task-' || :n, 'worker', 0.5);
