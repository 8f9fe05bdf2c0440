-- Job types: what must run before something may run, over which ids. The idea is Stau's (Connected Cars, 2020).

create or replace function scylla.define_job(job text, queue text, settings jsonb = '{}', needs jsonb = '[]') returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_define_job';
comment on function scylla.define_job is
'Defines a job type, or redefines one of the caller''s. Runs that exist already are not changed.
  job       1..200 characters
  queue     where its tasks are submitted; the caller needs the privilege submit on it
  settings  chunk_size (ids per task; null: all in one), select_work (a function of args jsonb that returns setof bigint or bigint[]:
            the ids of a run that names none; called as the owner), args (an object: defaults), allow_multiple (true; false: one run
            at a time), priority, max_attempts, retry (as for submit), sources, sinks (any JSON: documentation)
  needs     an array of {"job": name, "max_lag": interval, "args": {...}, "unique": false, "allow_missing": false}: what must not be
            older than max_lag, for the same ids. args override those of the request, for that job and all that it needs; unique: its
            tasks, and those of all that it needs, are shared with nobody; allow_missing: it is enough that the job as a whole has
            completed a run within max_lag
Errors: 42704 no such job or queue; 42501 no privilege, or not the owner; 22023 bad argument, or jobs that need each other.';

create or replace function scylla.drop_job(job text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_drop_job';
comment on function scylla.drop_job is
'Removes a job type with its freshness. Its plans go on. Errors: 42704 no such job; 42501 not the owner; 2BP01 another job needs it.';

create or replace function scylla.run_job(job text, ids int8multirange = null, args jsonb = '{}', options jsonb = '{}') returns text
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_run_job';
comment on function scylla.run_job is
'Runs a job over ids, and before it all that it needs where that is not fresh. Returns the name of the plan, which is open. The caller
needs the privilege submit on the queues of the job and of all that it needs.
  ids      null: those that select_work finds
  args     an object, for the tasks of the job and of all that it needs
  options  prune (slice: a job that is needed runs for all ids of a slice if one of them is stale; chunk: only the chunks with a stale
           id), strict_order (false; true: wait for a chunk that runs in this plan even if its older result is fresh enough), variant
           (freshness is kept for each), request_id (the same again returns the plan of the first call)
The spec of a task is {"job": name, "ids": [[1, 3], [5, 5]], "args": {...}, "plan": name}. When it is completed, the ids are fresh as
of the beginning of its last lease.
Errors: 42704 no such job; 42501 no privilege; 22023 bad argument; 55000 it is running, and allow_multiple is false; 54000 more than
1,000,000 tasks; 42804 select_work is gone; what select_work raises; those of submit.
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
'Says that ids of a job are as fresh as of a time, for data that something else has made. Never makes anything less fresh.
  finished  null: now
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
