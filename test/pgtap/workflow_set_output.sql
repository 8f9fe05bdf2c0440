-- set_output(): what workers put out before the end of their tasks (4.8).
-- Numbers in brackets are sections of the specification of Maestro's behaviour.
begin;
\ir include/helpers.psql
select * from no_plan();
\ir include/workflows.psql
select scylla.create_queue('a') \g /dev/null

select make('w', jsonb_build_array(step('s', '{"t": "n > 1"}', '{"params": {"n": {"type": "LONG", "value": 1}, "m": {"type": "STRING_MAP", "value": {"x": "1", "y": "2"}},
    "fixed": {"type": "LONG", "value": 1, "mode": "IMMUTABLE"}}, "retry_policy": {"error_retry_limit": 1, "backoff": {"type": "FIXED_BACKOFF", "error_retry_backoff_in_secs": 1}}}'),
    step('t', '{}', '{"params": {"seen": {"type": "STRING", "value": "${s__n} ${s__m}"}}}', 'NoOp'))) \g /dev/null
-- A run, up to its leased task.
create function begun() returns text language plpgsql as $$
begin
    perform start('w');
    return rn from scylla.lease('a', 'w');
end $$;
create function ends(rn text, result jsonb = null) returns text language plpgsql as $$
declare n bigint := (spec ->> 'instance')::bigint from scylla.get_task(rn);
begin
    perform scylla.complete(rn, 'w', result);
    perform advance();
    return format('%s %s', steps('w', n), (select params ->> 'seen' from scylla.workflow_step where workflow = 'w' and instance = n and step = 't'));
end $$;

-- ---- parameters --------------------------------------------------------------------------------------------------------

select begun() as rn \gset
select scylla.set_output(:'rn', '{"n": 5}') \g /dev/null
select advance() \g /dev/null
select is((select params -> 'n' from scylla.workflow_step where workflow = 'w' and step = 's'), '1', '[4.8] what is put out is not read before the step finishes');
select is(ends(:'rn'), 's SUCCEEDED, t SUCCEEDED 5 {"x":"1","y":"2"}', '[4.8] then it is, and decides what follows');
select begun() as rn \gset
select scylla.set_output(:'rn', '{"n": 5, "m": {"x": "7"}}'), scylla.set_output(:'rn', '{"n": 6}') \g /dev/null
select is(ends(:'rn'), 's SUCCEEDED, t SUCCEEDED 6 {"x":"7","y":"2"}', '[4.8] the last one wins, of each parameter; maps are merged');
select begun() as rn \gset
select scylla.set_output(:'rn', '{"n": 5}'), advance(), scylla.set_output(:'rn', '{"m": {"y": "8"}}'), advance() \g /dev/null
select is(ends(:'rn', '{"params": {"n": 9}, "more": 1}'), 's SUCCEEDED, t SUCCEEDED 9 {"x":"1","y":"8"}', 'and the result goes over it, whatever turns it takes');
select begun() as rn \gset
select scylla.set_output(:'rn', '{"n": "12"}') \g /dev/null
select is(ends(:'rn', '[1, 2]'), 's SUCCEEDED, t SUCCEEDED 12 {"x":"1","y":"2"}', '[4.8] values are converted; a result that is no object does not matter');
select begun() as rn \gset
select scylla.set_output(:'rn', '{"n": "many"}') \g /dev/null
select is(ends(:'rn'), 's FATALLY_FAILED ', 'a value that does not fit fails the step');
select begun() as rn \gset
select scylla.set_output(:'rn', '{"fixed": 3}') \g /dev/null
select is(ends(:'rn'), 's FATALLY_FAILED ', '[4.8] as does a parameter that is not MUTABLE');
-- An earlier call whose row on the agenda comes later.
select begun() as rn \gset
select scylla.set_output(:'rn', '{"n": 5}') \g /dev/null
update scylla.workflow_agenda set data = jsonb_set(data, '{at}', to_jsonb((data ->> 'at')::bigint + 1000000000)) where kind = 'output';
select scylla.set_output(:'rn', '{"n": 4}') \g /dev/null
select is(ends(:'rn'), 's SUCCEEDED, t SUCCEEDED 5 {"x":"1","y":"2"}', 'the time of the call counts, not the order on the agenda');
-- The end of the task comes first on the agenda.
select begun() as rn \gset
select scylla.set_output(:'rn', '{"n": 5}'), scylla.complete(:'rn', 'w') \g /dev/null
update scylla.workflow_agenda set id = id + 1000000 where kind = 'output';
select advance() \g /dev/null
select is((select params ->> 'seen' from scylla.workflow_step where workflow = 'w' and step = 't' order by instance desc limit 1), '5 {"x":"1","y":"2"}', 'nor does it matter whether the end of the task is found first');

-- ---- an attempt that fails ---------------------------------------------------------------------------------------------

select begun() as rn \gset
select scylla.set_output(:'rn', '{"n": 5}'), scylla.fail(:'rn', 'w', '{"code": "x"}'), advance() \g /dev/null
update scylla.workflow_step_state set due = now() - interval '1 hour' where due is not null;
update scylla.workflow_step_state set due = '2000-01-01' where due is not null;
select advance() \g /dev/null
select is((select status from scylla.workflow_step where workflow = 'w' and step = 's' order by instance desc limit 1), 'RUNNING', '[6.3] it is tried again');
select rn from scylla.lease('a', 'w') \gset
select is(ends(:'rn'), 's SUCCEEDED, t UNSATISFIED ', 'and the next attempt does not have what the last one has put out');
select begun() as rn \gset
select scylla.set_output(:'rn', null, '{"maestro_retry": {"retryable": false}}'), scylla.fail(:'rn', 'w', '{"code": "x"}'), advance() \g /dev/null
select is((select status from scylla.workflow_step where workflow = 'w' and step = 's' order by instance desc limit 1), 'FATALLY_FAILED', '[4.8] unless an artifact says that it is not');

-- ---- signals -----------------------------------------------------------------------------------------------------------

select begun() as rn \gset
select scylla.set_output(:'rn', null, '{"maestro_dynamic_output": {"signal_outputs": [{"name": "made", "params": {"n": 1}}]}}') \g /dev/null
select ends(:'rn') \g /dev/null
select is((select params from scylla.signal where name = 'made'), '{"n": 1}', '[4.8] signals are sent');

-- ---- what is refused -----------------------------------------------------------------------------------------------------

select begun() as rn \gset
select refuses_argument(format('select scylla.set_output(%L, %L)', :'rn', '{"gone": 1}'), 'params', '"gone"', 'The step has no such parameter.');
select refuses_argument(format('select scylla.set_output(%L, %L)', :'rn', '[1]'), 'params', '[1]', 'It must be an object.');
select refuses_argument(format('select scylla.set_output(%L, null, %L)', :'rn', '5'), 'artifacts', '5', 'It must be an object.');
select refuses_argument(format('select scylla.set_output(%L, null)', :'rn'), 'params', 'null', 'One of params and artifacts must not be null.');
select is(raised(format('select scylla.set_output(%L, ''{}'', worker => ''other'')', :'rn')) ~ '^55000 scylla.task/held', true, 'somebody else holds the lease');
select is(raised(format('select scylla.set_output(%L, ''{}'', attempt => 2)', :'rn')) ~ '^55000 scylla.task/held', true, 'it is another attempt');
select is(raised(format('select scylla.set_output(%L, ''{}'', worker => ''w'', attempt => 1)', :'rn')), null, 'but not if they fit');
select refuses_argument(format('select scylla.set_output(%L, %L)', rn, '{}'), 'rn', format('"%s"', rn), 'It must be a task that runs, of a step of a workflow.')
from (select (scylla.submit('b', '1', rn => 'ready')).rn union all select (scylla.submit('c', '1', rn => 'leased')).rn) t,
     lateral (select count(*) from scylla.lease('c', 'w')) l;
select refuses('select scylla.set_output(''nobody has'', ''{}'')', 'P0002', 'exists', 'task "nobody has" does not exist');
select all_is_sound();
select * from finish();
rollback;
