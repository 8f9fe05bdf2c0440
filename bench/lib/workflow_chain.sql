-- A chain of three steps by the only worker. Of each step but the first it notes when it holds it, of each but the last when it has ended.
select from scylla.start_workflow('chain');
call scylla.wait('work', '2 s');
select coalesce(max(rn), '') as rn from scylla.lease('work', 'worker') \gset
select from scylla.complete(:rn, 'worker');
insert into ended values (nextval('turns'), clock_timestamp());
call scylla.wait('work', '2 s');
select coalesce(max(rn), '') as rn from scylla.lease('work', 'worker') \gset
insert into held values (nextval('turns'), clock_timestamp());
select from scylla.complete(:rn, 'worker');
insert into ended values (nextval('turns'), clock_timestamp());
call scylla.wait('work', '2 s');
select coalesce(max(rn), '') as rn from scylla.lease('work', 'worker') \gset
insert into held values (nextval('turns'), clock_timestamp());
select from scylla.complete(:rn, 'worker');
