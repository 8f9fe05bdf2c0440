insert into task (queue, spec) values ('bench', '{"cmd": "convert", "from": "/data/in/000042.tiff", "to": "/data/out/000042.png", "dpi": 96}') returning id;
update task set status = 'running', owner = 'worker-' || :client_id, deadline = now() + interval '10 s', updated = now(),
       attempt = attempt + 1
 where id = (select id from task where queue = 'bench' and status = 'ready'
              order by priority desc, id limit 1 for update skip locked)
returning id, spec, attempt \gset
update task set status = 'completed', progress = 1, updated = now(), deadline = null, result = null
 where id = :id and status = 'running' and owner = 'worker-' || :client_id and attempt = :attempt;
