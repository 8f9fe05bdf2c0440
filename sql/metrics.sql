-- The statistics for Prometheus and similar systems.

create or replace function scylla.metrics() returns text
    language sql volatile parallel unsafe set search_path = pg_catalog, pg_temp
as $$
    with family (n, name, type, unit, help) as (values
        (1, 'scylla_tasks', 'gauge', null, 'Tasks by queue and state.'),
        (2, 'scylla_oldest_ready_seconds', 'gauge', 'seconds', 'Longest time that one of the tasks to be leased next has been ready.'),
        (3, 'scylla_queue_workers', 'gauge', null, 'Workers that hold leases.'),
        (4, 'scylla_tasks_submitted', 'counter', null, 'Submitted tasks.'),
        (5, 'scylla_tasks_turned_away', 'counter', null, 'Tasks beyond max_depth, by what happened to them.'),
        (6, 'scylla_leases', 'counter', null, 'Leases.'),
        (7, 'scylla_leases_lost', 'counter', null, 'Leases that ended without ending the task, by reason.'),
        (8, 'scylla_tasks_ended', 'counter', null, 'Tasks that ended, by status.'),
        (9, 'scylla_tasks_purged', 'counter', null, 'Tasks removed after their retention.'),
        (10, 'scylla_wait_seconds', 'histogram', 'seconds', 'Time from becoming ready to being leased.'),
        (11, 'scylla_run_seconds', 'histogram', 'seconds', 'Duration of leases that ended by complete, abort or fail.'),
        (12, 'scylla_monitor_running', 'gauge', null, 'Whether a monitor is running in this database.'),
        (13, 'scylla_monitor_rounds', 'counter', null, 'Transactions of the monitor.'),
        (14, 'scylla_monitor_busy_seconds', 'counter', 'seconds', 'Duration of the transactions of the monitor.'),
        (15, 'scylla_monitor_errors', 'counter', null, 'Errors that ended a monitor.')
    ), worker as (
        select queue, count(*) as workers from scylla.stat_worker group by queue
    ), stat as materialized (
        select s.*, coalesce(w.workers, 0) as workers, replace(replace(replace(s.queue, E'\\', E'\\\\'), '"', E'\\"'), E'\n', E'\\n') as label
        from scylla.stat_queue s left join worker w using (queue)
    ), sample (name, queue, n, suffix, labels, value) as (
        select v.name, label, 0::bigint, v.suffix, format('queue="%s"', label) || v.labels, v.value
        from stat, lateral (values
            ('scylla_tasks', '', ',state="waiting"', waiting::float8),
            ('scylla_tasks', '', ',state="ready"', ready),
            ('scylla_tasks', '', ',state="running"', running),
            ('scylla_tasks', '', ',state="terminal"', terminal),
            ('scylla_oldest_ready_seconds', '', '', coalesce(extract(epoch from oldest_ready), 0)::float8),
            ('scylla_queue_workers', '', '', workers),
            ('scylla_tasks_submitted', '_total', '', submitted),
            ('scylla_tasks_turned_away', '_total', ',how="refused"', refused),
            ('scylla_tasks_turned_away', '_total', ',how="shed"', shed),
            ('scylla_leases', '_total', '', leased),
            ('scylla_leases_lost', '_total', ',reason="failed"', failed),
            ('scylla_leases_lost', '_total', ',reason="expired"', expired),
            ('scylla_leases_lost', '_total', ',reason="yielded"', yielded),
            ('scylla_tasks_ended', '_total', ',status="completed"', completed),
            ('scylla_tasks_ended', '_total', ',status="aborted"', aborted),
            ('scylla_tasks_ended', '_total', ',status="cancelled"', cancelled),
            ('scylla_tasks_purged', '_total', '', purged)) as v (name, suffix, labels, value)
        union all
        select h.name, label, b.n, b.suffix,
               format('queue="%s"', label) || coalesce(',le="' || b.bound || '"', ''), b.value
        from stat, lateral (values
            ('scylla_wait_seconds', wait_histogram, total_wait_time),
            ('scylla_run_seconds', run_histogram, total_run_time)) as h (name, histogram, total),
            lateral (
                select n, '_bucket', (0.001 * (1::bigint << (n::integer - 1)))::text, upto::float8
                from (select n, sum(c) over (order by n) as upto from unnest(h.histogram) with ordinality as c (c, n)) as below
                where n < 32
                union all
                select 33 + v.n, v.suffix, v.bound, v.value
                from (select sum(c)::float8 as count from unnest(h.histogram) as c) as s,
                     lateral (values (0, '_bucket', '+Inf', count), (1, '_count', null, count),
                                     (2, '_sum', null, h.total / 1000)) as v (n, suffix, bound, value)
            ) as b (n, suffix, bound, value)
        where h.histogram is not null
        union all
        select v.name, null, 0, v.suffix, null, v.value
        from (select 1) as one left join scylla.stat_monitor as m on true, lateral (values
            ('scylla_monitor_running', '', case when m.pid is null then 0 else 1 end::float8),
            ('scylla_monitor_rounds', '_total', coalesce(m.rounds, 0)),
            ('scylla_monitor_busy_seconds', '_total', coalesce(m.total_time, 0) / 1000),
            ('scylla_monitor_errors', '_total', coalesce(m.errors, 0))) as v (name, suffix, value)
    ), line (name, lines) as (
        select s.name, string_agg(format(E'%s%s%s %s\n', s.name, s.suffix, '{' || s.labels || '}', s.value), ''
                                  order by s.queue collate "C", s.n, s.labels collate "C")
        from sample s where s.value is not null group by s.name
    )
    select string_agg(
        format(E'# TYPE %s %s\n', f.name, f.type) || coalesce(format(E'# UNIT %s %s\n', f.name, f.unit), '')
        || format(E'# HELP %s %s\n', f.name, f.help)
        || coalesce(l.lines, ''), '' order by f.n) || E'# EOF\n'
    from family f left join line l using (name)
$$;
comment on function scylla.metrics is
    'The statistics of this database in the OpenMetrics text format, for Prometheus and similar systems.';

