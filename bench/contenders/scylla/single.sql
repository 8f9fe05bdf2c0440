select rn, spec, attempt from scylla.lease('bench', 'worker-' || :client_id) \gset
select (scylla.complete(:rn, 'worker-' || :client_id, null, null, :attempt)).status;
