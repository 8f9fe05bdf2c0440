select (scylla.submit('bench', '{"cmd": "convert", "from": "/data/in/000042.tiff", "to": "/data/out/000042.png", "dpi": 96}')).rn;
select rn, spec, attempt from scylla.lease('bench', 'worker-' || :client_id) \gset
select (scylla.complete(:rn, 'worker-' || :client_id, null, null, :attempt)).status;
