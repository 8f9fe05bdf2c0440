select (scylla.submit('bench', '{"cmd": "convert", "from": "/data/in/000042.tiff", "to": "/data/out/000042.png", "dpi": 96}')).rn;
