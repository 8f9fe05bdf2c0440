-- Every verb in every state by every caller: the tables below say what happens, and each cell is one assertion.
--
-- A cell is the status that the task has afterwards, or "!" and the rule that the call breaks; then nothing has
-- changed.
-- Files before this one have rolled back hundreds of thousands of rows. Their pages would be read in each of thousands of queries here.
vacuum (truncate) scylla.task_spec, scylla.task_ready, scylla.task_lease, scylla.task_waiting, scylla.task_outcome, scylla.task_gate, scylla.task_plan;
begin;
\ir include/helpers.psql
select * from no_plan();

-- The states are those of given(), which see: a task that runs or ended was leased by w twice, and its attempt is 2.
-- Besides:
--   taken over  w's lease, attempt 1, timed out, and "other" has leased the task
--   unknown     no such task
create function given_also(rn text, state text) returns void language plpgsql as $$
begin
    if state = 'taken over' then
        perform given(rn, 'timed out', rn);
        perform scylla.lease_task(rn, 'other', '1 h');
    elsif state <> 'unknown' then
        perform given(rn, state, rn);
    end if;
end $$;

-- What a worker does, and who calls: w or "other", naming no attempt or the one given.
create temp table by_caller (state text, caller text, heartbeat text, complete text, abort text, fail text, yield text);
insert into by_caller values
--   state                caller     heartbeat  complete     abort      fail       yield
    ('running',           'w',       'running', 'completed', 'aborted', 'waiting', 'ready'),
    ('running',           'w 2',     'running', 'completed', 'aborted', 'waiting', 'ready'),
    ('running',           'w 1',     '!held',   '!held',     '!held',   '!held',   '!held'),
    ('running',           'w 3',     '!held',   '!held',     '!held',   '!held',   '!held'),
    ('running',           'other',   '!held',   '!held',     '!held',   '!held',   '!held'),
    ('running',           'other 2', '!held',   '!held',     '!held',   '!held',   '!held'),
    ('expired',           'w',       'running', 'completed', 'aborted', 'waiting', 'ready'),
    ('expired',           'w 2',     'running', 'completed', 'aborted', 'waiting', 'ready'),
    ('expired',           'w 1',     '!held',   '!held',     '!held',   '!held',   '!held'),
    ('expired',           'w 3',     '!held',   '!held',     '!held',   '!held',   '!held'),
    ('expired',           'other',   '!held',   '!held',     '!held',   '!held',   '!held'),
    ('expired',           'other 2', '!held',   '!held',     '!held',   '!held',   '!held'),
    ('taken over',        'other',   'running', 'completed', 'aborted', 'waiting', 'ready'),
    ('taken over',        'other 2', 'running', 'completed', 'aborted', 'waiting', 'ready'),
    ('taken over',        'other 1', '!held',   '!held',     '!held',   '!held',   '!held'),
    ('taken over',        'w',       '!held',   '!held',     '!held',   '!held',   '!held'),
    ('taken over',        'w 1',     '!held',   '!held',     '!held',   '!held',   '!held'),
    ('taken over',        'w 2',     '!held',   '!held',     '!held',   '!held',   '!held'),
    ('waiting',           'anybody', '!held',   '!held',     '!held',   '!held',   '!held'),
    ('retried',           'anybody', '!held',   '!held',     '!held',   '!held',   '!held'),
    ('ready',             'anybody', '!held',   '!held',     '!held',   '!held',   '!held'),
    ('yielded',           'anybody', '!held',   '!held',     '!held',   '!held',   '!held'),
    ('timed out',         'anybody', '!held',   '!held',     '!held',   '!held',   '!held'),
    ('completed',         'anybody', '!held',   '!held',     '!held',   '!held',   '!held'),
    ('aborted',           'anybody', '!held',   '!held',     '!held',   '!held',   '!held'),
    ('cancelled',         'anybody', '!held',   '!held',     '!held',   '!held',   '!held'),
    ('cancelled running', 'anybody', '!held',   '!held',     '!held',   '!held',   '!held'),
    ('unknown',           'anybody', '!exists', '!exists',   '!exists', '!exists', '!exists');

-- The same in batches of one. A lost lease is an answer there, and comes with the status.
create temp table by_caller_in_batches (state text, caller text, heartbeat_many text, complete_many text,
                                        complete_and_lease text);
insert into by_caller_in_batches values
--   state                caller     heartbeat_many     complete_many      complete_and_lease
    ('running',           'w',       'true running',    'true completed',  'completed'),
    ('running',           'w 2',     'true running',    'true completed',  'completed'),
    ('running',           'w 1',     'false running',   'false running',   '!held'),
    ('running',           'w 3',     'false running',   'false running',   '!held'),
    ('running',           'other',   'false running',   'false running',   '!held'),
    ('running',           'other 2', 'false running',   'false running',   '!held'),
    ('expired',           'w',       'true running',    'true completed',  'completed'),
    ('expired',           'w 2',     'true running',    'true completed',  'completed'),
    ('expired',           'w 1',     'false running',   'false running',   '!held'),
    ('expired',           'w 3',     'false running',   'false running',   '!held'),
    ('expired',           'other',   'false running',   'false running',   '!held'),
    ('expired',           'other 2', 'false running',   'false running',   '!held'),
    ('taken over',        'other',   'true running',    'true completed',  'completed'),
    ('taken over',        'other 2', 'true running',    'true completed',  'completed'),
    ('taken over',        'other 1', 'false running',   'false running',   '!held'),
    ('taken over',        'w',       'false running',   'false running',   '!held'),
    ('taken over',        'w 1',     'false running',   'false running',   '!held'),
    ('taken over',        'w 2',     'false running',   'false running',   '!held'),
    ('waiting',           'anybody', 'false waiting',   'false waiting',   '!held'),
    ('retried',           'anybody', 'false waiting',   'false waiting',   '!held'),
    ('ready',             'anybody', 'false ready',     'false ready',     '!held'),
    ('yielded',           'anybody', 'false ready',     'false ready',     '!held'),
    ('timed out',         'anybody', 'false ready',     'false ready',     '!held'),
    ('completed',         'anybody', 'false completed', 'false completed', '!held'),
    ('aborted',           'anybody', 'false aborted',   'false aborted',   '!held'),
    ('cancelled',         'anybody', 'false cancelled', 'false cancelled', '!held'),
    ('cancelled running', 'anybody', 'false cancelled', 'false cancelled', '!held'),
    ('unknown',           'anybody', 'false unknown',   'false unknown',   '!exists');

-- What clients do, and a worker that does not hold the task. lease is of a queue that has the task only.
create temp table by_anyone (state text, cancel text, lease_task text, lease text, get_task text, list_tasks text);
insert into by_anyone values
--   state                cancel       lease_task lease        get_task     list_tasks
    ('waiting',           'cancelled', '!ready',  'waiting',   'waiting',   'waiting'),
    ('retried',           'cancelled', '!ready',  'waiting',   'waiting',   'waiting'),
    ('ready',             'cancelled', 'running', 'running',   'ready',     'ready'),
    ('yielded',           'cancelled', 'running', 'running',   'ready',     'ready'),
    ('timed out',         'cancelled', 'running', 'running',   'ready',     'ready'),
    ('running',           'cancelled', '!ready',  'running',   'running',   'running'),
    ('taken over',        'cancelled', '!ready',  'running',   'running',   'running'),
    ('expired',           'cancelled', '!ready',  'running',   'running',   'running'),
    ('completed',         '!live',     '!ready',  'completed', 'completed', 'completed'),
    ('aborted',           '!live',     '!ready',  'aborted',   'aborted',   'aborted'),
    ('cancelled',         '!live',     '!ready',  'cancelled', 'cancelled', 'cancelled'),
    ('cancelled running', '!live',     '!ready',  'cancelled', 'cancelled', 'cancelled'),
    ('unknown',           '!exists',   '!exists', 'unknown',   '!exists',   'unknown');

-- Submitting the same name again, and what the monitor does.
create temp table by_anyone_else (state text, submit text, submit_ignore text, submit_many text, reset_expired text,
                                  purge text, maintain text);
insert into by_anyone_else values
--   state                submit     submit_ignore submit_many  reset_expired purge        maintain
    ('waiting',           '!unique', 'waiting',    'waiting',   'waiting',    'waiting',   'waiting'),
    ('retried',           '!unique', 'waiting',    'waiting',   'waiting',    'waiting',   'waiting'),
    ('ready',             '!unique', 'ready',      'ready',     'ready',      'ready',     'ready'),
    ('yielded',           '!unique', 'ready',      'ready',     'ready',      'ready',     'ready'),
    ('timed out',         '!unique', 'ready',      'ready',     'ready',      'ready',     'ready'),
    ('running',           '!unique', 'running',    'running',   'running',    'running',   'running'),
    ('taken over',        '!unique', 'running',    'running',   'running',    'running',   'running'),
    ('expired',           '!unique', 'running',    'running',   'ready',      'running',   'ready'),
    ('completed',         '!unique', 'completed',  'completed', 'completed',  'completed', 'completed'),
    ('aborted',           '!unique', 'aborted',    'aborted',   'aborted',    'aborted',   'aborted'),
    ('cancelled',         '!unique', 'cancelled',  'cancelled', 'cancelled',  'cancelled', 'cancelled'),
    ('cancelled running', '!unique', 'cancelled',  'cancelled', 'cancelled',  'cancelled', 'cancelled'),
    ('unknown',           'ready',   'ready',      'ready',     'unknown',    'unknown',   'unknown');

-- How a verb is called. $1 is the task, $2 the worker, $3 the attempt. Some results are the status in other words.
create temp table call (verb text, statement text);
insert into call values
    ('heartbeat',          $$select status::text from scylla.heartbeat($1, $2, attempt => $3)$$),
    ('complete',           $$select status::text from scylla.complete($1, $2, attempt => $3)$$),
    ('abort',              $$select status::text from scylla.abort($1, $2, '{"code": "x"}', attempt => $3)$$),
    ('fail',               $$select status::text from scylla.fail($1, $2, '{"code": "x"}', attempt => $3)$$),
    ('yield',              $$select status::text from scylla.yield($1, $2, attempt => $3)$$),
    ('heartbeat_many',     $$select held || ' ' || coalesce(status::text, 'unknown')
                             from scylla.heartbeat_many(array[$1], $2, attempts => array[$3])$$),
    ('complete_many',      $$select completed || ' ' || coalesce(status::text, 'unknown')
                             from scylla.complete_many(array[$1], $2, attempts => array[$3])$$),
    ('complete_and_lease', $$select status::text
                             from scylla.complete_and_lease(array[$1], $2, 'empty', attempts => array[$3])$$),
    ('cancel',             $$select status::text from scylla.cancel($1)$$),
    ('lease_task',         $$select status::text from scylla.lease_task($1, 'w')$$),
    ('lease',              $$select status::text from scylla.lease($1, 'w', 10)$$),
    ('get_task',           $$select status::text from scylla.get_task($1)$$),
    ('list_tasks',         $$select status::text from scylla.list_tasks($1)$$),
    ('submit',             $$select status::text from scylla.submit($1, '{}', rn => $1)$$),
    ('submit_ignore',      $$select status::text
                             from scylla.submit($1, '{"other": 1}', 99, $1, max_attempts => 1,
                                                on_duplicate => 'ignore')$$),
    ('submit_many',        $$select null from scylla.submit_many(
                                 jsonb_build_array(jsonb_build_object('queue', $1, 'spec', 9, 'rn', $1)))$$),
    ('reset_expired',      $$select null from scylla.reset_expired()$$),
    ('purge',              $$select null from scylla.purge()$$),
    ('maintain',           $$select null from scylla.maintain()$$);
-- A batch takes an array of attempts or none at all: $3 null is none at all.
update call set statement = replace(statement, 'array[$3]', 'case when $3 is not null then array[$3] end');

-- Verbs that do nothing to a task that keeps its status. (A heartbeat does.)
create temp table leaves_alone as
select unnest(array['get_task', 'list_tasks', 'submit_ignore', 'submit_many', 'purge', 'lease', 'reset_expired',
                    'maintain']) as verb;

-- Calls the verb on a task in the state, and says what came of it, as the tables do.
create function outcome(state text, verb text, worker text, attempt int) returns text language plpgsql as $$
declare
    rn constant text := format('%s/%s/%s/%s', state, verb, worker, coalesce(attempt, 0));
    refused boolean := false;
    before jsonb;
    after jsonb;
    status text;
    answer text;
    rule text;
begin
    perform given_also(rn, state);
    before := seen(rn);
    begin
        execute (select statement from call c where c.verb = outcome.verb) into answer using rn, worker, attempt;
    exception when others then
        get stacked diagnostics rule = constraint_name;
        refused := true;
        answer := '!' || rule;
    end;
    after := seen(rn);
    status := coalesce(after ->> 'status', 'unknown');
    refused := refused or answer like 'false %';
    if after is distinct from before
        and (refused or status = before ->> 'status' and verb in (select l.verb from leaves_alone l))
    then
        return format('%s, but the task has changed: %s', answer, after);
    elsif not refused and replace(answer, 'true ', '') <> status then
        return format('%s, but the view says %s', answer, status);
    end if;
    return coalesce(answer, status);
end $$;

-- Anybody is each of these.
create temp table anybody as select unnest(array['w', 'w 1', 'w 2', 'w 3', 'other', 'other 2']) as caller;

select is(outcome(t.state, e.key, split_part(c.caller, ' ', 1), nullif(split_part(c.caller, ' ', 2), '')::int), e.value,
          format('%s: %s by %s -> %s', t.state, e.key, c.caller, e.value))
from (select state, caller, to_jsonb(a) as cells from by_caller a
      union all
      select state, caller, to_jsonb(b) from by_caller_in_batches b) t
cross join lateral jsonb_each_text(t.cells - '{state,caller}'::text[]) e
cross join lateral (select t.caller where t.caller <> 'anybody' union all select a.caller from anybody a
                    where t.caller = 'anybody') c (caller);

select is(outcome(t.state, e.key, 'w', null), e.value, format('%s: %s -> %s', t.state, e.key, e.value))
from (select state, to_jsonb(a) as cells from by_anyone a union all select state, to_jsonb(b) from by_anyone_else b) t
cross join lateral jsonb_each_text(t.cells - 'state') e;

-- Nothing is missing from the tables.
select set_eq('select distinct verb from call',
              $$select attname::text collate "default" from pg_attribute
                where attrelid in ('by_caller'::regclass, 'by_caller_in_batches'::regclass, 'by_anyone'::regclass,
                                   'by_anyone_else'::regclass)
                  and attnum > 0 and attname not in ('state', 'caller')$$, 'every call stands in a table');
select set_eq(format('select state from %I', t), 'select state from by_caller', t || ' has all states')
from unnest(array['by_caller_in_batches', 'by_anyone', 'by_anyone_else']) t;

select all_is_sound();
select * from finish();
rollback;
