select count(scylla.submit_bulk('bench', array_fill('{"cmd": "convert", "from": "/data/in/000042.tiff", "to": "/data/out/000042.png", "dpi": 96}'::jsonb, array[least(10000, :tasks)])))
  from generate_series(1, greatest(1, :tasks / 10000));
