-- Cancels the waiting tasks of a queue in portions, each in a transaction of its own, without a pause: as the command line does it.
create procedure cancel_all(queue text) language plpgsql as $$
declare
    after text;
begin
    loop
        select max(c.cursor) filter (where c.rn is null) into after
          from scylla.cancel_many(jsonb_build_object('queue', queue, 'status', 'waiting'), 500, after) c;
        commit;
        exit when after is null;
    end loop;
end $$;
