-- One turn of a worker: wait, lease, note what it holds.
call scylla.wait('bench', '2 s');
select clock_timestamp() as woken \gset
select count(*) as leased, coalesce(max(rn), '') as rn from scylla.lease('bench', 'worker-' || :client_id) \gset
\if :leased
insert into held values (:rn, :woken, clock_timestamp());
select from scylla.complete(:rn, 'worker-' || :client_id);
\endif
