-- One turn of a worker that completes what it leases.
select count(scylla.complete(rn, 'worker-' || :client_id)) = 0 as none from scylla.lease('work', 'worker-' || :client_id, :batch) \gset
\if :none
call scylla.wait('work', '20 ms');
\endif
