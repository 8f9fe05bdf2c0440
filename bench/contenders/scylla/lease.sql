select rn, spec, attempt from scylla.lease('bench', 'worker-' || :client_id, 1, '1 h');
