-- Sends a signal that starts a workflow.
select nextval('starts') as n \gset
select from scylla.send_signal('start', jsonb_build_object('n', (:n)::bigint));
insert into sent values (:n, clock_timestamp());
