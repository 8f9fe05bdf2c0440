select pgq.drop_queue('bench', true) from pgq.queue where queue_name = 'bench';
select pgq.create_queue('bench');
select pgq.register_consumer('bench', 'consumer');
