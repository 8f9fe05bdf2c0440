-- Job types: what must run before a job, and for which ids. The idea comes from Stau (Connected Cars, 2020).

create or replace function scylla.define_job(job text, queue text, settings jsonb = '{}', needs jsonb = '[]') returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_define_job';
comment on function scylla.define_job is
'Defines a job type, or redefines one of the caller''s. Existing runs are not changed.
  job       1..200 characters
  queue     where its tasks are submitted; the caller needs the privilege submit on it
  settings  chunk_size (ids per task; null: all in one), select_work (a function of args jsonb that returns setof bigint or bigint[]:
            the ids of a run that names none; called as the owner, with search_path = pg_catalog, pg_temp), ids
            (instead: those of a run that names none, as [[1, 3], [5, 5]]), max_wait (scylla.job_plan.overdue tells of runs that wait for
            older plans for longer), args (an object: defaults), allow_multiple (true; false: one run
            at a time), priority, max_attempts, retry, run_timeout (as for submit), sources, sinks (any JSON: documentation)
  needs     an array of {"job": name, "max_lag": interval, "args": {...}, "unique": false, "allow_missing": false}: what must not be
            older than max_lag, for the same ids. args override those of the request, for that job and all that it needs; unique: its
            tasks, and those of all that it needs, are not shared with other plans; allow_missing: it is enough that the job as a whole has
            completed a run within max_lag
Errors: 42704 no such job or queue; 42501 no privilege, or not the owner; 22023 bad argument, or jobs that need each other.';

create or replace function scylla.drop_job(job text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_drop_job';
comment on function scylla.drop_job is
'Removes a job type and its freshness. Its plans continue. Errors: 42704 no such job; 42501 not the owner; 2BP01 another job needs it.';

create or replace function scylla.grant_job(job text, role text, privilege text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_grant_job';
comment on function scylla.grant_job is
'Grants a privilege on one of the caller''s jobs to a role and its members; no error if the role has it already.
  role       its name exactly as in pg_roles, or ''public'' for everybody
  privilege  run: run and explain it, with the rights that its owner has on queues
Errors: 42704 no such job or role; 42501 not the owner; 22023 bad argument. Locks: as define_job().';

create or replace function scylla.revoke_job(job text, role text, privilege text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_revoke_job';
comment on function scylla.revoke_job is
'Revokes a privilege on a job. The role need not have it, nor exist any more. Plans continue.
Errors: 42704 no such job; 42501 not the owner; 22023 bad argument. Locks: as define_job().';

create or replace function scylla.run_job(job text, ids int8multirange = null, args jsonb = '{}', options jsonb = '{}') returns text
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_run_job';
comment on function scylla.run_job is
'Runs a job over ids, and before it everything that it needs and that is not fresh. Returns the name of the plan, which is open. The caller
needs the privilege submit on the queues of the job and of all that it needs. Or the caller needs run on the job, and its owner needs submit.
  ids      null: those of the job, or those that select_work finds
  args     an object, for the tasks of the job and of all that it needs
  options  prune (slice: a job that is needed runs for all ids of a slice if one of them is stale; chunk: only the chunks with a stale
           id), strict_order (false; true: wait for a chunk that runs in this plan even if its older result is fresh enough), variant
           (freshness is kept for each), wait (true; false: start even if an older plan is still working on something
           that the job needs, for the same ids), request_id (a repeated id returns the plan of the first call), plan (its name, 1..190 characters; null: a UUIDv7),
           not_before (its tasks are not leased before that)
The spec of a task is {"job": name, "ids": [[1, 3], [5, 5]], "args": {...}, "plan": name}. When it is completed, the ids are fresh as
of the beginning of its last lease.
Errors: 42704 no such job; 42501 no privilege; 22023 bad argument; 42710 the plan exists; 55000 it is running, and allow_multiple is
false; 54000 more than 1,000,000 tasks; 42804 select_work no longer exists; and the errors of select_work and submit.
Locks: waits for another run of the same job, where allow_multiple is false.';

create or replace function scylla.explain_job(job text, ids int8multirange = null, args jsonb = '{}', options jsonb = '{}')
    returns setof scylla.job_step
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_explain_job';
comment on function scylla.explain_job is
'What run_job() with these arguments would run now, and what it would leave out because it is fresh: a row for each chunk. Writes
nothing (but calls select_work). Arguments, privileges and errors as for run_job().';

create or replace function scylla.mark_fresh(job text, ids int8multirange, finished timestamptz = null, variant text = null) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_mark_fresh';
comment on function scylla.mark_fresh is
'Records that ids of a job are as fresh as of a time, for data that was produced in another way. Never makes anything less fresh.
  finished  not in the future, apart from a minute by which clocks may differ; null: now
  variant   1..200 characters; null: that of runs without one
Errors: 42704 no such job; 42501 not the owner; 22023 bad argument.';

create or replace function scylla.forget_freshness(job text, ids int8multirange = null, variant text = null) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_forget_freshness';
comment on function scylla.forget_freshness is
'Forgets when ids of a job were brought up to date, for data that was lost or is wrong: the next run that needs them runs the job again.
Returns how many successes that changes.
  ids      null: all
  variant  null: all; the empty string: that of runs without one
Errors: 42704 no such job; 42501 not the owner; 22023 bad argument.';

create or replace function scylla._fresh_ranges(successes int8multirange[], times timestamptz[], out ids int8multirange, out began timestamptz)
    returns setof record
    language c immutable parallel safe as 'MODULE_PATHNAME', 'scylla_fresh_ranges';
comment on function scylla._fresh_ranges is 'The latest of these times for each id, by ranges. For the view scylla.job_freshness.';

-- ---- pictures ----------------------------------------------------------------------------------------------------------

create or replace function scylla._no_such_job(job text) returns void
    language c immutable parallel safe as 'MODULE_PATHNAME', 'scylla_no_such_job';
comment on function scylla._no_such_job is 'Raises 22023 if this is no name, else 42704. For job_dot() and job_mermaid().';

-- One row for the job and for each job that it needs. sources: the jobs that it needs; lags: how old their results may be.
create or replace function scylla._job_nodes(job text)
    returns table (node bigint, label text, state text, sources bigint[], lags text[])
    language plpgsql volatile parallel unsafe set search_path = pg_catalog, pg_temp
    set jit = off as $$ -- the plan looks dear: compiling it takes a second, running it two milliseconds
#variable_conflict use_column
begin
    return query
        with recursive closure (name) as (
            select t.name from scylla.job_type t where t.name = _job_nodes.job
            union
            select n ->> 'job' from closure c join scylla.job_type t on t.name = c.name cross join lateral jsonb_array_elements(t.needs) n
        ), numbered as (
            select c.name, row_number() over (order by c.name <> _job_nodes.job, c.name collate "C") as node from closure c
        ), edge as (
            select above.node as above, below.node as below, min(n ->> 'max_lag') as max_lag, min(scylla._duration(n ->> 'max_lag')) as lag
            from numbered above
            join scylla.job_type t on t.name = above.name
            cross join lateral jsonb_array_elements(t.needs) n
            join numbered below on below.name = n ->> 'job'
            group by above.node, below.node
        ), age as (
            select f.job, date_trunc('second', clock_timestamp() - min(f.began)) as oldest,
                   date_trunc('second', clock_timestamp() - max(f.began)) as newest
            from scylla.job_freshness f where f.job in (select name from closure) and f.variant = '' group by f.job
        )
        select b.node,
               b.name || E'\n' || case when a.oldest is null then 'never run' when a.oldest = a.newest then a.oldest || ' old'
                                       else a.newest || ' to ' || a.oldest || ' old' end,
               case when a.oldest is null then 'missing'
                    when a.oldest > (select min(e.lag) from edge e where e.below = b.node) then 'stale' else 'fresh' end,
               array(select e.below from edge e where e.above = b.node order by e.below),
               array(select e.max_lag from edge e where e.above = b.node order by e.below)
        from numbered b left join age a on a.job = b.name order by b.node;
    if not found then
        perform scylla._no_such_job(job);
    end if;
end $$;
comment on function scylla._job_nodes is 'The nodes and edges of job_dot() and job_mermaid(). It reads as its caller, who needs the privileges.';

create or replace function scylla.job_dot(job text) returns text
    language sql volatile parallel unsafe
begin atomic
    select format(E'digraph job {\n  rankdir=LR;\n  node [shape=box, style="rounded,filled", fontname="sans-serif"];\n%s%s}\n',
        string_agg(format(E'  n%s [label="%s", fillcolor="%s"];\n', j.node,
            regexp_replace(replace(replace(replace(replace(j.label, '&', '&amp;'), E'\\', E'\\\\'), '"', E'\\"'), E'\n', E'\\n'),
                           '[[:cntrl:]]', ' ', 'g'),
            case j.state when 'fresh' then '#b2f2bb' when 'stale' then '#fff3bf' else '#e0e0e0' end), '' order by j.node),
        string_agg((select string_agg(format(E'  n%s -> n%s [label="%s"];\n', s, j.node,
                                      regexp_replace(replace(replace(replace(l, '&', '&amp;'), E'\\', E'\\\\'), '"', E'\\"'), '[[:cntrl:]]', ' ', 'g')),
                                      '' order by s)
                    from unnest(j.sources, j.lags) e (s, l)), '' order by j.node))
    from scylla._job_nodes(job_dot.job) j;
end;
comment on function scylla.job_dot is
'A job and all that it needs as a Graphviz graph: one node per job with the ages of its newest and oldest ids (of runs without a variant),
coloured by whether the oldest is fresh enough for all that need it, stale, or missing, and an arrow from each job to those that need it,
with max_lag. Needs SELECT on the views job_type and job_freshness. Errors: 42704 no such job.';

create or replace function scylla.job_mermaid(job text) returns text
    language sql volatile parallel unsafe
begin atomic
    select format(E'flowchart LR\n%s%s%s',
        string_agg(format(E'  n%s["%s"]:::%s\n', j.node,
            -- Special characters become numeric entities; # first, because entities start with it.
            regexp_replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(j.label,
                '#', '#35;'), '"', '#34;'), '&', '#38;'), '<', '#60;'), '>', '#62;'), E'\\', '#92;'), '`', '#96;'), ':', '#58;'),
                '%', '#37;'), '*', '#42;'), E'\n', '<br>'), '[[:cntrl:]]', ' ', 'g'), j.state), '' order by j.node),
        string_agg((select string_agg(format(E'  n%s -- "%s" --> n%s\n', s,
                                      regexp_replace(replace(replace(l, '#', '#35;'), '"', '#34;'), '[^[:alnum:] .,#;+-]', ' ', 'g'), j.node), '' order by s)
                    from unnest(j.sources, j.lags) e (s, l)), '' order by j.node),
        E'  classDef missing fill:#e0e0e0\n  classDef stale fill:#fff3bf\n  classDef fresh fill:#b2f2bb\n')
    from scylla._job_nodes(job_mermaid.job) j;
end;
comment on function scylla.job_mermaid is 'The same as job_dot, as a Mermaid flowchart.';
