-- Until no run of the loop goes on: the longest transaction of the engine in ms, and its own memory in MB (without what it shares).
create procedure watch_engine(inout longest float8 default 0, inout memory float8 default 0) language plpgsql as $$
declare
    engine record;
begin
    loop
        for engine in select pid, coalesce(extract(epoch from clock_timestamp() - xact_start) * 1000, 0) as age
                      from pg_stat_activity where datname = current_database() and backend_type = 'scylla engine' loop
            longest := greatest(longest, engine.age);
            memory := greatest(memory, substring(pg_read_file(format('/proc/%s/status', engine.pid), 0, 10000, true) from 'RssAnon:\s*(\d+)')::float8 / 1024);
        end loop;
        exit when not exists (select from scylla.workflow_run_state where workflow = 'loop' and ended is null);
        commit;
        perform pg_sleep(0.005);
    end loop;
end $$;
