update task set status = 'running', owner = 'worker-' || :client_id, deadline = now() + interval '10 s', updated = now(),
       attempt = attempt + 1
 where id = (select id from task where queue = 'bench' and status = 'ready'
              order by priority desc, id limit 1 for update skip locked)
returning id, spec, attempt \gset
delete from task where id = :id and status = 'running' and owner = 'worker-' || :client_id and attempt = :attempt;
