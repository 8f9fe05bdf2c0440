create extension scylla;
select scylla.create_queue('bench');
