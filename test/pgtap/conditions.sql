-- Conditions: callbacks and signals, and tasks that wait for them. Numbers in brackets are sections of the specification of Maestro's behaviour.
begin;
\ir include/helpers.psql
select * from no_plan();

create function state(rn text) returns text language sql as $$
    select t.status || coalesce(' ' || nullif(t.args, '[]')::text, '') || coalesce(' ' || (t.errors -> 0 ->> 'code'), '')
    from scylla.get_task(rn) t
$$;
create function submit_waiting(rn text, wait_for jsonb) returns text language sql as $$
    select state((scylla.submit('q', '1', rn => rn, wait_for => wait_for)).rn)
$$;

-- ---- callbacks -------------------------------------------------------------------------------------------------------

select matches(scylla.create_callback(), '^[0-9a-f]{32}$', 'a token is 128 bits');
select isnt(scylla.create_callback(), scylla.create_callback(), 'and another each time');
select is(scylla.create_callback('t1'), 't1', 'a token may be given');
select refuses($$ select scylla.create_callback('t1') $$, '42710', 'unique', 'callback "t1" already exists', table_ => 'callback');
select is(submit_waiting('c1', '[{"callback": "t1"}]'), 'waiting [null]', 'a task waits for a callback');
select is((select count(*) from scylla.lease('q', 'w')), 0::bigint, 'and is not leased');
select is((select row(kind, name, status, waiters)::text from scylla.condition where name = 't1'), '(callback,t1,waiting,1)', 'the view shows it');
select is(scylla.resolve_callback('t1', '{"approved": true}'), true, 'resolving a callback');
select is(state('c1'), 'ready [{"approved": true}]', 'makes the task ready, with the value');
select is((select args from scylla.lease('q', 'w')), '[{"approved": true}]', 'the worker gets the value');
select is(scylla.resolve_callback('t1', '2'), false, 'a second resolve changes nothing');
select is(scylla.reject_callback('t1', '{"code": "no"}'), false, 'nor does a rejection');
select is((select row(status, value)::text from scylla.condition where name = 't1'), '(resolved,"{""approved"": true}")', 'the first outcome stays');
select is(submit_waiting('c2', '[{"callback": "t1"}]'), 'ready [{"approved": true}]', 'who waits later has the value at once');
select scylla.create_callback('t2') \g /dev/null
select is(submit_waiting('c3', '[{"callback": "t2"}]'), 'waiting [null]', 'by default a rejection');
select is(submit_waiting('c4', '[{"callback": "t2", "on_failure": "skip"}]'), 'waiting [null]', 'a task may skip');
select is(submit_waiting('c5', '[{"callback": "t2", "on_failure": "ignore"}]'), 'waiting [null]', 'or go on');
select is(scylla.reject_callback('t2', '{"code": "denied", "message": "no"}'), true, 'rejecting');
select is(state('c3'), 'aborted [null] dependency-failed', 'aborts, with the error');
select is(state('c4'), 'cancelled [null] dependency-failed', 'cancels');
select is(state('c5'), 'ready [null]', 'or lets it start');
select refuses($$ select scylla.resolve_callback('nothing') $$, 'P0002', 'exists', 'callback "nothing" does not exist or has expired', table_ => 'callback');
select refuses($$ select submit_waiting('x', '[{"callback": "nothing"}]') $$, 'P0002', 'exists',
               'callback "nothing" does not exist or has expired', table_ => 'callback');
select scylla.create_callback('t3', '1 h') \g /dev/null
update scylla.task_callback set expires = now() - interval '1 s' where token = 't3';
select refuses($$ select scylla.resolve_callback('t3') $$, 'P0002', 'exists', 'callback "t3" does not exist or has expired', table_ => 'callback');
select is((select status from scylla.condition where name = 't3'), 'expired', 'the view says so');
select scylla.create_callback('t4') \g /dev/null
select is(scylla.resolve_callback('t4'), true, 'a callback may be resolved without a value');
select is(submit_waiting('c6', '[{"callback": "t4"}, {"task": "c1"}]'), 'waiting [null, null]', 'several things may be waited for');
select scylla.complete('c1', 'w', '"one"') \g /dev/null
select is(state('c6'), 'ready [null, "one"]', 'their values are in order');
select is((select (scylla.submit('q', '1', rn => 'c7', depends_on => '{c1}', wait_for => '[{"callback": "t1"}]')).args),
          '["one", {"approved": true}]', 'after those of depends_on');

-- ---- signals (7.1) ---------------------------------------------------------------------------------------------------

create function sent(name text, params jsonb = '{}', payload jsonb = null, request_id text = null) returns bigint language sql as
    $$ select scylla.send_signal(name, params, payload, request_id) $$;
select is(submit_waiting('s1', '[{"signal": "landed", "match": {"table": "orders"}}]'), 'waiting [null]', 'a task waits for a signal');
select is(submit_waiting('s2', '[{"signal": "landed", "match": {"table": "orders"}}]'), 'waiting [null]', 'another for the same');
select is((select count(*) || ' ' || max(waiters) from scylla.condition where kind = 'signal'), '1 2', 'they share a condition');
select sent('landed', '{"table": "items"}') \g /dev/null
select is(state('s1'), 'waiting [null]', 'one that does not match opens nothing');
select sent('arrived', '{"table": "orders"}') \g /dev/null
select is(state('s1'), 'waiting [null]', 'nor does one of another name');
select isnt(sent('landed', '{"table": "orders", "day": 3}', '{"rows": 17}'), null, 'one that matches');
select is(state('s1'), state('s2'), 'opens both');
select is((select (args -> 0) - 'seq' - 'sent' from scylla.get_task('s1')),
          '{"name": "landed", "params": {"table": "orders", "day": 3}, "payload": {"rows": 17}}', 'the value is the signal');
select is((select array_agg(k order by k) from jsonb_object_keys((scylla.get_task('s1')).args -> 0) k),
          '{name,params,payload,sent,seq}', 'with its number and time');
select is((select count(*) from scylla.condition where kind = 'signal'), 0::bigint, 'the condition is gone');
select is(submit_waiting('s3', '[{"signal": "landed", "match": {"table": "orders"}}]') ~ '^ready', true, 'a signal of the past counts');
select is((select status::text from scylla.submit('q', '1', wait_for => jsonb_build_array(jsonb_build_object('signal', 'landed', 'match',
            '{"table": "orders"}'::jsonb, 'since', now() + interval '1 minute')))), 'waiting', 'unless it is too old');
select sent('landed', '{"table": "orders", "day": 4}') \g /dev/null
select is((select args -> 0 #>> '{params,day}' from scylla.submit('q', '1', wait_for => '[{"signal": "landed", "match": {"table": "orders"}}]')),
          '4', 'the newest is taken');
select is(submit_waiting('s4', '[{"signal": "ping"}]'), 'waiting [null]', 'nothing need be compared');
select sent('ping') \g /dev/null
select is(state('s4') ~ '^ready', true, 'then any signal will do');
select is(sent('ping', request_id => 'r1'), sent('ping', request_id => 'r1'), 'a request_id makes sending idempotent');
select isnt(sent('ping', request_id => 'r2'), sent('ping', request_id => 'r1'), 'each for itself');
select isnt(sent('pong', request_id => 'r1'), sent('ping', request_id => 'r1'), 'by name');

-- What is compared: every operator, against values below, at and above the bound, and of another type.
create function compared(wanted jsonb, given jsonb) returns boolean language plpgsql as $$
declare
    by_history boolean; by_sending boolean; name text := 'n' || nextval('scylla.worker_seq');
begin
    perform scylla.submit('q', '1', rn => name || 'a', wait_for => jsonb_build_array(
        jsonb_build_object('signal', name, 'match', jsonb_build_object('v', wanted))));
    perform scylla.send_signal(name, jsonb_build_object('v', given, 'w', 1));
    by_sending := (scylla.get_task(name || 'a')).status = 'ready';
    perform scylla.submit('q', '1', rn => name || 'b', wait_for => jsonb_build_array(
        jsonb_build_object('signal', name, 'match', jsonb_build_object('v', wanted))));
    by_history := (scylla.get_task(name || 'b')).status = 'ready';
    if by_history <> by_sending then raise 'history says %, sending %', by_history, by_sending; end if;
    return by_sending;
end $$;
select is(compared(w::jsonb, g::jsonb), e, format('%s and %s', w, g))
from (values ('5', '5', true), ('5', '5.0', true), ('5', '4', false), ('5', '"5"', false), ('"a"', '"a"', true), ('"a"', '"A"', false),
             ('true', 'true', true), ('true', 'false', false), ('true', '"t"', false), ('null', 'null', true), ('null', 'false', false),
             ('""', '""', true), ('"é"', '"é"', true),
             ('{">=": 5}', '5', true), ('{">=": 5}', '4.999', false), ('{">=": 5}', '1e20', true), ('{">=": 5}', '"9"', false), ('{">=": 5}', 'true', false),
             ('{">": 5}', '5', false), ('{">": 5}', '5.0001', true), ('{">": -5}', '-5.1', false), ('{">": -5}', '-4.9', true),
             ('{"<=": 5}', '5.00', true), ('{"<=": 5}', '5.1', false), ('{"<=": 5}', '-1e30', true), ('{"<=": "m"}', '5', false),
             ('{"<": 5}', '5', false), ('{"<": 5}', '0', true), ('{"<": 0.001}', '0.0009', true), ('{"<": 0.001}', '0.01', false),
             ('{">=": "2026-01-02"}', '"2026-01-02"', true), ('{">=": "2026-01-02"}', '"2026-01-01"', false), ('{">=": "2026-01-02"}', '"2027"', true),
             ('{"<": "b"}', '"a~"', true), ('{"<": "b"}', '"b"', false), ('{"<": ""}', '""', false), ('{">=": ""}', '""', true)) _ (w, g, e);
select is((select string_agg(n::text, ' ' order by n) from generate_series(1, 9) n, lateral (select submit_waiting('range' || n,
            jsonb_build_array(jsonb_build_object('signal', 'range', 'match', jsonb_build_object('t', 'x', 'd', jsonb_build_object('>=', n)))))) _ (s)
           where s ~ 'waiting'), '1 2 3 4 5 6 7 8 9', 'bounds of many');
select sent('range', '{"t": "x", "d": 4}') \g /dev/null
select is((select string_agg(n::text, ' ' order by n) from generate_series(1, 9) n where state('range' || n) ~ 'ready'), '1 2 3 4', 'those that are reached open');
select sent('range', '{"t": "y", "d": 9}') \g /dev/null
select is((select count(*) from generate_series(1, 9) n where state('range' || n) ~ 'ready'), 4::bigint, 'the others have to be equal');
select sent('range', '{"t": "x", "d": 99}') \g /dev/null
select is((select count(*) from generate_series(1, 9) n where state('range' || n) ~ 'ready'), 9::bigint, 'the rest');

-- Many at once.
select is((select count(*) from scylla.submit_many(jsonb_build_array(
    '{"queue": "q", "spec": 1, "rn": "m1", "wait_for": [{"signal": "many", "match": {"k": 1}}]}'::jsonb,
    '{"queue": "q", "spec": 1, "rn": "m2", "wait_for": [{"signal": "many", "match": {"k": 1}}, {"task": "m1"}]}'::jsonb,
    '{"queue": "q", "spec": 1, "rn": "m3", "wait_for": [{"signal": "many", "match": {"k": 2}}, {"callback": "t1"}]}'::jsonb))), 3::bigint, 'submit_many has it');
select is((select count(*) from scylla.condition where name = 'many'), 2::bigint, 'equal conditions of one call are shared');
select sent('many', '{"k": 1}'), sent('many', '{"k": 2}') \g /dev/null
select is(state('m1') ~ '^ready' and state('m2') ~ '^waiting' and state('m3') ~ '^ready', true, 'each waits for its own');

-- ---- what is refused ---------------------------------------------------------------------------------------------------

select refuses_argument(format('select scylla.send_signal(%L, %L)', 'p', p), 'params', p,
    'It must be an object of at most 16 members whose values are texts of at most 500 bytes, numbers of at most 100 digits, booleans or null.')
from unnest(array['[]', '1', '{"a": {}}', '{"a": []}']) p;
select refuses_argument($$ select scylla.send_signal('') $$, 'name', '""', 'It must have 1 to 200 characters.');
select throws_ok($$ select scylla.send_signal('p', jsonb_build_object('a', repeat('x', 501))) $$, '22023');
select lives_ok($$ select scylla.send_signal('p', jsonb_build_object('a', repeat('x', 500))) $$, 'a text of 500 bytes');
select throws_ok($$ select scylla.send_signal('p', jsonb_build_object('a', repeat('9', 101)::numeric)) $$, '22023');
select throws_ok($$ select scylla.send_signal('p', (select jsonb_object_agg(i, i) from generate_series(1, 17) i)) $$, '22023');
select throws_ok(format('select submit_waiting(%L, %L)', 'bad', w), '22023', null, 'refused: ' || w)
from unnest(array['{}', '1', '[1]', '[{}]', '[{"task": "c1", "callback": "t1"}]', '[{"what": 1}]', '[{"task": 1}]', '[{"signal": "s", "match": 1}]',
                  '[{"signal": "s", "match": {"a": {"=": 1}}}]', '[{"signal": "s", "match": {"a": {"<": true}}}]',
                  '[{"signal": "s", "match": {"a": {"<": 1, ">": 0}}}]', '[{"signal": "s", "match": {"a": {"<": 1}, "b": {"<": 1}}}]',
                  '[{"signal": "s", "since": "yesterday evening"}]', '[{"signal": "s", "since": "infinity"}]', '[{"signal": "s", "since": "-infinity"}]', '[{"task": "c1", "match": {}}]', '[{"callback": "t1", "on_failure": "x"}]']) w;
select is((select count(*) from scylla.task where rn = 'bad'), 0::bigint, 'nothing of it is left');

-- ---- who may -----------------------------------------------------------------------------------------------------------

create role signal_owner;
create role signal_other;
grant usage on schema scylla to signal_owner, signal_other;
grant execute on all functions in schema scylla to signal_owner, signal_other;
grant select on scylla.signal, scylla.condition, scylla.signal_grants to signal_owner, signal_other;
select scylla.create_queue('own'); select scylla.grant_queue('own', 'public', 'submit'); select scylla.grant_queue('own', 'public', 'view');
set local role signal_owner;
select scylla.send_signal('theirs', '{"a": 1}') \g /dev/null
set local role signal_other;
select refuses($$ select scylla.send_signal('theirs') $$, '42501', 'privilege', 'permission denied for signal "theirs"',
               'Role "signal_other" does not have the privilege "send".', table_ => 'signal');
select refuses($$ select scylla.submit('own', '1', wait_for => '[{"signal": "theirs"}]') $$, '42501', 'privilege', 'permission denied for signal "theirs"',
               'Role "signal_other" does not have the privilege "wait".', table_ => 'signal');
select is((select count(*) from scylla.signal), 0::bigint, 'signals of others are not seen');
select is((select count(*) from scylla.condition), 0::bigint, 'nor are conditions and callbacks');
select refuses($$ select scylla.grant_signal('theirs', 'signal_other', 'send') $$, '42501', 'privilege', 'permission denied for signal "theirs"',
               'Role "signal_other" does not have the privilege "admin".', table_ => 'signal');
select refuses($$ select scylla.grant_signal('nobodys', 'signal_other', 'send') $$, '42704', 'exists', 'signal "nobodys" does not exist', 'Nobody has sent it or waited for it yet.', table_ => 'signal');
set local role signal_owner;
select scylla.grant_signal('theirs', 'signal_other', 'wait');
select refuses($$ select scylla.grant_signal('theirs', 'nobody at all', 'wait') $$, '42704', 'role', 'role "nobody at all" does not exist', table_ => 'signal');
select refuses_argument($$ select scylla.grant_signal('theirs', 'public', 'look') $$, 'privilege', '"look"', 'It must be "send", "wait" or "admin".');
select set_eq($$ select role, privilege from scylla.signal_grants $$, $$ values ('signal_owner', 'owner'), ('signal_other', 'wait') $$, 'grants are seen');
set local role signal_other;
select is((select status::text from scylla.submit('own', '1', wait_for => '[{"signal": "theirs"}]')), 'ready', 'who may wait waits');
select is((select string_agg(params::text, ' ') from scylla.signal), '{"a": 1}', 'and sees them');
select throws_ok($$ select scylla.send_signal('theirs') $$, '42501', null, 'but does not send');
set local role signal_owner;
select scylla.revoke_signal('theirs', 'signal_other', 'wait');
select scylla.grant_signal('theirs', 'public', 'send');
set local role signal_other;
select throws_ok($$ select scylla.submit('own', '1', wait_for => '[{"signal": "theirs"}]') $$, '42501', null, 'until it is revoked');
select lives_ok($$ select scylla.send_signal('theirs') $$, 'everybody may send now');
select throws_ok($$ select scylla.set_signal_owner('theirs', 'signal_other') $$, '42501');
reset role;
select scylla.set_signal_owner('theirs', 'signal_other');
select is((select owner::text from scylla.signal_name where name = 'theirs'), 'signal_other', 'a name may be given away');

select is((select count(*) from scylla.check()), 0::bigint, 'check() finds nothing');
select * from finish();
rollback;
