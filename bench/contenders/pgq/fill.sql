-- 200 batches of 500 events, whatever was asked for: batch.sql takes 190 of them. A batch is what lies between two ticks, and
-- a tick sees what was committed before it.
do $$
begin
    for tick in 1..200 loop
        perform pgq.insert_event('bench', 'task', '{"cmd": "convert", "from": "/data/in/000042.tiff", "to": "/data/out/000042.png", "dpi": 96}') from generate_series(1, 500);
        commit;
        perform pgq.force_tick('bench');
        perform pgq.ticker('bench');
        commit;
    end loop;
end
$$;
