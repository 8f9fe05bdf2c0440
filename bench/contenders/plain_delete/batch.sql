-- tasks: 50
-- share: 90
with leased as (
  update task set status = 'running', owner = 'worker-' || :client_id, deadline = now() + interval '10 s', updated = now(),
       attempt = attempt + 1
   where id = any (array(select id from task where queue = 'bench' and status = 'ready'
                          order by priority desc, id limit 50 for update skip locked))
  returning id, spec)
select array_agg(id) as ids, array_agg(spec) as specs from leased \gset
delete from task where id = any (:ids) and status = 'running' and owner = 'worker-' || :client_id;
