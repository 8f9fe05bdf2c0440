-- A worker's loop: the task that is done goes back with the request for the next.
\if :started
select rn, spec, attempt from scylla.complete_and_lease(array[:rn], 'worker-' || :client_id, 'bench') \gset
\else
select rn, spec, attempt from scylla.lease('bench', 'worker-' || :client_id) \gset
\set started 1
\endif
