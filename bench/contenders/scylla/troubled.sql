-- One task in a hundred is delayed by a second, and one in a hundred fails once.
\set dice random(1, 100)
\if :dice = 1
select (scylla.submit('bench', '{"cmd": "convert", "from": "/data/in/000042.tiff", "to": "/data/out/000042.png", "dpi": 96}', not_before => clock_timestamp() + interval '1 s')).rn;
\else
select (scylla.submit('bench', '{"cmd": "convert", "from": "/data/in/000042.tiff", "to": "/data/out/000042.png", "dpi": 96}')).rn;
\endif
select rn, spec, attempt, failures from scylla.lease('bench', 'worker-' || :client_id) \gset
\if :dice = 2 and :failures = 0
select (scylla.fail(:rn, 'worker-' || :client_id, '{"code": "net"}', interval '1 s', :attempt)).status;
\else
select (scylla.complete(:rn, 'worker-' || :client_id, null, null, :attempt)).status;
\endif
