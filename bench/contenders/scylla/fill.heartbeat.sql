-- Leases with names that a script can choose from. One worker holds them all: names of workers are data like any other.
select scylla.submit_bulk('bench', array_fill('{"cmd": "convert", "from": "/data/in/000042.tiff", "to": "/data/out/000042.png", "dpi": 96}'::jsonb, array[:tasks]),
                          array(select 'task-' || n from generate_series(1, :tasks) n));
select count(*) from scylla.lease('bench', 'worker', :tasks, '1 h');
