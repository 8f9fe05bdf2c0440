-- One turn of a worker: wait, lease, note when it holds the task of which signal.
call scylla.wait('signalled', '2 s');
select count(*) as leased, coalesce(max(rn), '') as rn, coalesce(max((args #>> '{0,seq}')::bigint), 0) as seq
  from scylla.lease('signalled', 'worker-' || :client_id) \gset
\if :leased
insert into held values (:seq, clock_timestamp());
select from scylla.complete(:rn, 'worker-' || :client_id);
\endif
