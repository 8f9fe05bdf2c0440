-- Cancels the waiting tasks of a queue in portions, each in a transaction of its own, with pauses: as the command line does it.
create procedure cancel_all(queue text) language plpgsql as $$
declare
    after text;
    begun timestamptz;
begin
    loop
        begun := clock_timestamp();
        select max(c.cursor) filter (where c.rn is null) into after
          from scylla.cancel_many(jsonb_build_object('queue', queue, 'status', 'waiting'), 500, after) c;
        commit;
        exit when after is null;
        perform pg_sleep(4 * extract(epoch from clock_timestamp() - begun));
    end loop;
end $$;
