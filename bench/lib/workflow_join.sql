-- A turn of the only worker of loops: it notes when the last step of a loop has ended, and when it holds the step after the loop.
call scylla.wait('work', '200 ms');
select coalesce(max(spec ->> 'step'), '') = 'after' as after, coalesce(max((spec ->> 'instance')::bigint), 0) as n,
       coalesce(array_agg(rn)::text, '{}') as tasks from scylla.lease('work', 'worker', 50) \gset
\if :after
insert into held values (:n, clock_timestamp());
\endif
select count(scylla.complete(rn, 'worker')) from unnest((:tasks)::text[]) rn;
\if :after
select from scylla.start_workflow('loop', '{"n": 10}');
\elif :n > 0
insert into ended values (:n, clock_timestamp());
\endif
