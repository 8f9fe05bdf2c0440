-- tasks: 1000
select scylla.submit_bulk('bench', array_fill('{"cmd": "convert", "from": "/data/in/000042.tiff", "to": "/data/out/000042.png", "dpi": 96}'::jsonb, array[1000]));
