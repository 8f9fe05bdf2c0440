-- A consumer takes a whole batch; there is no state per task, no priority, and one consumer works at a time.
-- tasks: 500
-- clients: 1
-- transactions: 190
select pgq.next_batch('bench', 'consumer') as batch \gset
select array_agg(ev_data) as specs from pgq.get_batch_events(:batch) \gset
select pgq.finish_batch(:batch);
