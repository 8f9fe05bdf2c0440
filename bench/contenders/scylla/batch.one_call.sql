-- tasks: 50
-- share: 90
\if :started
select array_agg(rn) as rns, array_agg(spec) as specs
  from scylla.complete_and_lease(:rns, 'worker-' || :client_id, 'bench', 50) \gset
\else
select array_agg(rn) as rns, array_agg(spec) as specs from scylla.lease('bench', 'worker-' || :client_id, 50) \gset
\set started 1
\endif
