-- Functions for internal use.

create or replace function scylla._history(history jsonb, worker text, attempt integer, leased timestamptz) returns jsonb
    language c immutable parallel safe as 'MODULE_PATHNAME', 'scylla_history';
comment on function scylla._history is
'The complete history of a task: the stored entries and, unless leased is null, the assignment of the last lease, which the tables
store in columns.';

create or replace function scylla._args_add(internal, jsonb) returns internal
    language c stable parallel safe as 'MODULE_PATHNAME', 'scylla_args_add';
create or replace function scylla._args_end(internal) returns jsonb
    language c stable parallel safe as 'MODULE_PATHNAME', 'scylla_args_end';
create or replace aggregate scylla._args(result jsonb) (sfunc = scylla._args_add, stype = internal, finalfunc = scylla._args_end);
comment on function scylla._args_add is 'A part of scylla._args.';
comment on function scylla._args_end is 'A part of scylla._args.';
comment on aggregate scylla._args(jsonb) is
'The results of the tasks that a task depends on as an array; null if their text is longer than scylla.max_value_size.';

create or replace function scylla._announce() returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_announce';
comment on function scylla._announce is
    'Informs the launcher, when this transaction commits, that this database has the extension. Called by the install script.';

create or replace function scylla._check_max_tasks(max_tasks integer) returns void
    language c immutable parallel safe as 'MODULE_PATHNAME', 'scylla_check_max_tasks';
comment on function scylla._check_max_tasks is
    'Raises an error for a bad value of the argument max_tasks, for functions that are not in C.';

create or replace function scylla._duration(duration text) returns interval
    language c immutable parallel safe as 'MODULE_PATHNAME', 'scylla_duration';
comment on function scylla._duration is 'Internal: a duration as an interval; null if it is none. A cast would depend on intervalstyle.';

create or replace function scylla._settled(rollup jsonb, status text) returns jsonb language sql immutable parallel safe
begin atomic
    select pg_catalog.jsonb_object_agg(k.status, case when k.leaves is null then pg_catalog.jsonb_build_object('cnt', k.count) else k.leaves end)
    from (select case when l.live then _settled.status else m.key end as status, pg_catalog.sum((m.value ->> 'cnt')::bigint) as count,
                 case when pg_catalog.count(*) = 1 then (pg_catalog.array_agg(m.value) filter (where not l.live))[1] end as leaves
          from pg_catalog.jsonb_each(_settled.rollup) m
          cross join lateral (select m.key <> all ('{NOT_CREATED,DISABLED,UNSATISFIED,SKIPPED,SUCCEEDED,COMPLETED_WITH_ERROR,FATALLY_FAILED,INTERNALLY_FAILED,STOPPED,TIMED_OUT}') as live) l
          group by 1) k;
end;
comment on function scylla._settled is 'Internal: the rollup of a loop in which all that was live has come to this status.';

create or replace function scylla._step_signals(signals jsonb, ended timestamptz) returns jsonb language sql stable parallel safe
begin atomic
    select pg_catalog.jsonb_agg(m.value
               || case when m.value ->> 'status' = 'PENDING' and _step_signals.ended is not null then '{"status": "CANCELED"}'::jsonb else '{}' end
               || case when m.value ? 'since' then pg_catalog.jsonb_build_object('since', pg_catalog.to_timestamp((m.value ->> 'since')::double precision / 1000)) else '{}' end
               order by m.number)
    from pg_catalog.jsonb_array_elements(_step_signals.signals) with ordinality m (value, number) where m.value <> 'null';
end;
comment on function scylla._step_signals is 'Internal: what a step keeps of its signals, as views show it.';

-- A status in which the attempt has not waited was left as soon as it was entered: it has the time of the next one.
create or replace function scylla._step_times(created timestamptz, started timestamptz, ended timestamptz, status text, kept jsonb) returns jsonb
    language sql stable parallel safe
begin atomic
    with known as (
        select p.status, p.place,
               coalesce(pg_catalog.to_timestamp((_step_times.kept ->> p.status)::double precision / 1000),
                        case when p.status in ('STARTING', 'RUNNING') then _step_times.started end) as at
        from pg_catalog.unnest('{INITIALIZED,PAUSED,WAITING_FOR_SIGNALS,EVALUATING_PARAMS,WAITING_FOR_PERMITS,STARTING,RUNNING}'::text[])
             with ordinality p (status, place))
    select pg_catalog.jsonb_object_agg(t.status, t.at) filter (where t.at is not null)
    from (select 'CREATED' as status, _step_times.created as at
          union all
          select k.status, case when k.status = 'PAUSED' then k.at else pg_catalog.min(k.at) over (order by k.place desc) end from known k
          union all
          select 'FINISHING', coalesce(pg_catalog.to_timestamp((_step_times.kept ->> 'FINISHING')::double precision / 1000),
                                       case when _step_times.status = 'SUCCEEDED' and _step_times.started is not null then _step_times.ended end)
          union all
          select _step_times.status, _step_times.ended) t;
end;
comment on function scylla._step_times is 'Internal: when an attempt of a step entered each of its statuses, as views show it.';
