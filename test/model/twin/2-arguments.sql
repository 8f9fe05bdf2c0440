-- Arguments
--
-- All arguments are checked before anything is looked up.

create function twin.check_argument(name text, valid boolean, rule text) returns void language plpgsql as $$
begin
    if valid is not true then
        perform twin.refuse_argument(name, rule);
    end if;
end $$;

-- Queues, rns and workers.
create function twin.check_name(name text, value text) returns void language sql as $$
    select twin.check_argument(name, char_length(value) between 1 and 200, 'It must have 1 to 200 characters.');
$$;

create function twin.check_count(max_tasks int) returns void language sql as $$
    select twin.check_argument('max_tasks', max_tasks between 1 and 100000, 'It must be 1 to 100000.');
$$;

-- Comparing intervals counts a month as 30 days and a day as 24 hours.
create function twin.check_timeout(name text, value interval) returns void language sql as $$
    select twin.check_argument(name, value is null or value > '0' and value <= '365 days',
                               'It must be more than 0 and at most 365 days.');
$$;

create function twin.check_progress(progress float8) returns void language sql as $$
    select twin.check_argument('progress', progress is null or progress between 0 and 1, 'It must be 0 to 1.');
$$;

create function twin.check_failure_rule(on_dependency_failure text) returns void language sql as $$
    select twin.check_argument('on_dependency_failure', on_dependency_failure in ('cascade', 'skip', 'ignore'),
                               'It must be cascade, skip or ignore.');
$$;

create function twin.check_duplicate_rule(on_duplicate text) returns void language sql as $$
    select twin.check_argument('on_duplicate', on_duplicate in ('error', 'ignore'), 'It must be error or ignore.');
$$;

-- Batches: an array of names, perhaps with as many attempts and results. A result may be null.
create function twin.check_batch(rns text[], attempts int[] default null, results jsonb[] default null)
    returns void language plpgsql as $$
begin
    perform twin.check_argument('rns', rns is not null, 'It must be an array.');
    perform twin.check_name('rns', rn) from unnest(rns) rn;
    perform twin.check_argument('attempts', attempts is null or cardinality(attempts) = cardinality(rns),
                                'It must have as many elements as rns.');
    perform twin.check_argument('attempts', attempt is not null, 'No element may be null.')
    from unnest(attempts) attempt;
    perform twin.check_argument('results', results is null or cardinality(results) = cardinality(rns),
                                'It must have as many elements as rns.');
end $$;

-- The elements of a batch. Each is judged by itself; a name counts once, where it first succeeds.
create function twin.batch(rns text[], attempts int[] default null, results jsonb[] default null)
    returns table (rn text, attempt int, result jsonb, place bigint) language plpgsql as $$
begin
    return query
        select w.*
        from rows from (unnest(rns), unnest(attempts), unnest(results)) with ordinality w (rn, attempt, result, place);
end $$;

-- A given length of time as so many seconds: again a month is 30 days and a day 24 hours, so that no lease depends on
-- the session's time zone. (extract() alone counts a year as 365.25 days.)
create function twin.length(i interval) returns interval language sql as $$
    select make_interval(secs => (extract(epoch from i) - extract(year from i) * 5.25 * 86400)::float8);
$$;

create function twin.setting(name text, otherwise interval) returns interval language sql as $$
    select coalesce(nullif(current_setting(name, true), '')::interval, otherwise);
$$;

-- ---------------------------------------------------------------------------------------------------------------
-- Notes: the history of a task and its errors
--
-- Both are arrays that never hold more than 50 entries. A longer one keeps its first 10 and its latest 39, and between
-- them one entry that says how many were left out.
-- ---------------------------------------------------------------------------------------------------------------

create function twin.history_marker(left_out bigint) returns jsonb language sql as $$
    select jsonb_build_object('_typ', 'HistoryElided', 'count', left_out);
$$;

create function twin.errors_marker(left_out bigint) returns jsonb language sql as $$
    select jsonb_build_object('code', 'elided', 'args', jsonb_build_object('count', left_out),
                              'message', left_out || ' errors are left out here');
$$;

-- How many entries the eleventh one of a full list stands for: a marker for all that it counts, any other for itself.
-- An error that only looks like a marker is a worker's own: its count may be anything.
create function twin.stands_for(entry jsonb) returns bigint language plpgsql as $$
declare
    n jsonb := case when entry ->> '_typ' = 'HistoryElided' then entry -> 'count'
                    when entry ->> 'code' = 'elided' then entry -> 'args' -> 'count' end;
begin
    if jsonb_typeof(n) = 'number' and n between '2' and '1000000000000' and n::numeric = trunc(n::numeric) then
        return n;
    end if;
    return 1;
end $$;

create function twin.appended(entries jsonb, entry jsonb, marker regproc) returns jsonb language plpgsql as $$
declare
    first jsonb;
    latest jsonb;
    middle jsonb;
begin
    if jsonb_array_length(entries) < 50 then
        return entries || entry;
    end if;
    -- The eleventh and the twelfth make room for the new one.
    select jsonb_agg(e order by n) filter (where n <= 10), jsonb_agg(e order by n) filter (where n > 12)
    into first, latest
    from jsonb_array_elements(entries) with ordinality as _(e, n);
    execute format('select %s($1)', marker) into middle using twin.stands_for(entries -> 10) + 1;
    return first || middle || latest || entry;
end $$;

-- What happens to the lease that the task has, at its time of updating. Times in notes are UTC, whatever the session's
-- time zone.
create function twin.history_with(t twin.task, typ text) returns jsonb language sql as $$
    select twin.appended(t.history,
        jsonb_build_object('_typ', typ, 'worker', t.owner, 'attempt', t.attempt, 'progress', t.progress,
                           'time', to_char(t.updated at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')),
        'twin.history_marker');
$$;

create function twin.errors_with(t twin.task, error jsonb) returns jsonb language sql as $$
    select twin.appended(t.errors, error, 'twin.errors_marker');
$$;

-- An error that a worker reports: an object with a code; args and message have defaults, also for a null; other keys are kept.
-- A description is the message where there is none.
create function twin.checked_error(error jsonb) returns jsonb language plpgsql as $$
begin
    perform twin.check_argument('error', jsonb_typeof(error) = 'object', 'It must be an object.');
    perform twin.check_argument('error', jsonb_typeof(error -> 'code') = 'string' and error ->> 'code' <> '',
                                'It must have a string "code" that is not empty.');
    error := error - array(select k from unnest('{args,message,description}'::text[]) k where error -> k = 'null');
    if error ? 'description' and not error ? 'message' then
        error := error - 'description' || jsonb_build_object('message', error -> 'description');
    end if;
    perform twin.check_argument('error', coalesce(jsonb_typeof(error -> 'message'), 'string') = 'string',
                                'Its "message" must be a string.');
    return '{"args": {}, "message": ""}' || error;
end $$;
