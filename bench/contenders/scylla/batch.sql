-- tasks: 50
-- share: 90
select array_agg(rn) as rns, array_agg(spec) as specs from scylla.lease('bench', 'worker-' || :client_id, 50) \gset
select count(*) from scylla.complete_many(:rns, 'worker-' || :client_id) where completed;
