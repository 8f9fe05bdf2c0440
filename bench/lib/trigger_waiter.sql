-- One turn of the worker of such workflows: wait, lease, note when it holds the first step of which signal.
call scylla.wait('started', '2 s');
select count(*) as leased, coalesce(max(rn), '') as rn, coalesce(max((spec #>> '{params,n}')::bigint), 0) as n
  from scylla.lease('started', 'worker') \gset
\if :leased
insert into begun values (:n, clock_timestamp());
select from scylla.complete(:rn, 'worker');
\endif
