-- One turn of a worker of tasks that need the only permit: it holds it for a moment, and notes when it got it and gave it back.
call scylla.wait('single', '2 s');
select count(*) as leased, coalesce(max(rn), '') as rn from scylla.lease('single', 'worker-' || :client_id) \gset
\if :leased
insert into held values (nextval('turns'), clock_timestamp()) returning n \gset
\sleep 2 ms
select from scylla.complete(:rn, 'worker-' || :client_id);
insert into freed values (:n, clock_timestamp());
\endif
