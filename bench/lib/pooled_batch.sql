-- One turn of a worker that completes what it has and leases the next twelve.
\if :started
select coalesce(array_agg(rn), '{}') as rns, count(*) = 0 as none
  from scylla.complete_and_lease(:rns, 'worker-' || :client_id, 'pooled', 12) \gset
\else
select coalesce(array_agg(rn), '{}') as rns, count(*) = 0 as none from scylla.lease('pooled', 'worker-' || :client_id, 12) \gset
\set started 1
\endif
\if :none
call scylla.wait('pooled', '50 ms');
\endif
