-- A task begins to wait for a signal, and the signal is sent.
select nextval('signals') as n \gset
select from scylla.submit('signalled', '1', wait_for => jsonb_build_array(jsonb_build_object('signal', 'picked up', 'match', jsonb_build_object('n', (:n)::bigint))));
select scylla.send_signal('picked up', jsonb_build_object('n', (:n)::bigint)) as seq \gset
insert into sent values (:seq, clock_timestamp());
