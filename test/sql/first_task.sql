-- The first task: the README shows the part up to "A few things more".

-- A client submits a task: a queue, and what is to be done.
select rn, status from scylla.submit('thumbnails', '{"photo": "cat.jpg", "width": 320}', rn => 'cat');

-- A worker leases it, says now and then that it is alive, and completes it.
select rn, spec, status, owner, attempt from scylla.lease('thumbnails', 'worker-1', timeout => '5 min');
select status, progress from scylla.heartbeat('cat', 'worker-1', 0.5);
select status, progress, result from scylla.complete('cat', 'worker-1', '{"file": "cat-320.jpg"}');

-- Whoever asks can see how it went.
select rn, status, owner, attempt, result from scylla.task where queue = 'thumbnails';

-- A few things more. A batch, priorities, a time before which a task must not start.
select * from scylla.submit_many('[
  {"queue": "thumbnails", "rn": "dog",   "spec": {"photo": "dog.jpg"}},
  {"queue": "thumbnails", "rn": "bird",  "spec": {"photo": "bird.jpg"}, "priority": 100},
  {"queue": "thumbnails", "rn": "mouse", "spec": {"photo": "mouse.jpg"}, "not_before": "2300-01-01T00:00:00Z"},
  {"queue": "thumbnails", "rn": "cat",   "spec": {"photo": "cat.jpg"}}]');
select rn, priority, status from scylla.list_tasks('thumbnails');
select rn from scylla.lease('thumbnails', 'worker-1', max_tasks => 10, timeout => '5 min');

-- What does not go well: one error may pass and is tried again, the other may not.
select status, failures, errors from scylla.fail('dog', 'worker-1', '{"code": "disk_full"}', retry_after => '0');
select status, errors from scylla.abort('bird', 'worker-1', '{"code": "no_photo", "message": "It is a drawing."}');
select status from scylla.cancel('mouse');

-- One that changed hands: the worker of the first attempt learns that it lost it.
select rn, owner, attempt, failures from scylla.lease('thumbnails', 'worker-2', timeout => '5 min');
select status from scylla.complete('dog', 'worker-1');
select status, attempt from scylla.complete('dog', 'worker-2', attempt => 2);
select e ->> '_typ' as entry, e ->> 'worker' as worker, e ->> 'attempt' as attempt
from scylla.get_task('dog') t, jsonb_array_elements(t.history) e;

select status, count(*) from scylla.task where queue = 'thumbnails' group by status order by status;
select * from scylla.check();
