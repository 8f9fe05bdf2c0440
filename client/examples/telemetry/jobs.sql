-- What the telemetry of some cars is made into, and what each step needs.
create schema telemetry;
create table telemetry.car (id bigint primary key);
insert into telemetry.car select generate_series(1, 12);
create table telemetry.position (car bigint primary key, metres integer not null);
create table telemetry.trip (car bigint primary key, km numeric not null);
create table telemetry.weather (car bigint primary key, celsius integer not null);
create table telemetry.report (car bigint primary key, line text not null);

-- The cars of a run that names none.
create function telemetry.cars(args jsonb) returns setof bigint language sql stable as 'select id from telemetry.car';

select scylla.create_queue('telemetry-python'), scylla.create_queue('telemetry-bash');
select scylla.define_job('positions', 'telemetry-python', '{"chunk_size": 6, "sources": ["the cars"], "sinks": ["telemetry.position"]}');
select scylla.define_job('trips', 'telemetry-python', '{"chunk_size": 4}', '[{"job": "positions", "max_lag": "1 hour"}]');
select scylla.define_job('weather', 'telemetry-bash', '{"chunk_size": 3, "max_attempts": 1}');
select scylla.define_job('report', 'telemetry-python', '{"chunk_size": 6, "select_work": "telemetry.cars"}',
                         '[{"job": "trips", "max_lag": "1 hour"}, {"job": "weather", "max_lag": "1 hour"}]');
-- The report on all cars, one run at a time; of what it needs, only what is stale.
select scylla.schedule_job('telemetry', '2 seconds', 'report', overlap => 'skip', options => '{"prune": "chunk"}');
