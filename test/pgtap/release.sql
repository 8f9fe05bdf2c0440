-- yield, cancel: taking a task from its worker, by the worker or by a client.
begin;
\ir include/helpers.psql
select * from no_plan();

select signature_is('yield', 'rn text, worker text, attempt integer DEFAULT NULL::integer', 'scylla.task');
select signature_is('cancel', 'rn text', 'scylla.task');

-- ---- yield ---------------------------------------------------------------------------------------------------------

do $$ begin
    perform given('y1', 'running');
    perform scylla.heartbeat('y1', 'w', 0.5);
end $$;
create temp table before as select * from scylla.task where rn = 'y1';
create temp table after as select * from scylla.yield('y1', 'w');
select is(to_jsonb(a) - '{updated,history}'::text[],
          to_jsonb(b) - '{updated,history}'::text[]
              || '{"spec": null, "args": null, "status": "ready", "progress": 0, "owner": null, "deadline": null}',
          'yield returns the task without spec and args: ready, progress 0, no owner, no deadline, no failure')
from before b, after a;
select is(a.history, b.history || jsonb_build_object('_typ', 'TaskYield', 'worker', 'w', 'attempt', 2, 'progress', 0.5,
                                                     'time', in_history(a.updated)),
          'history has a TaskYield with the progress that was reached') from before b, after a;
select is(to_jsonb(a) || '{"spec": {"a": 1}, "args": []}', seen('y1'), 'the row returned is the row in the view')
from after a;
select ok(a.updated > b.updated and a.updated <= clock_timestamp(), 'updated is the time of yielding') from before b,
    after a;

select is((scylla.yield(given('y2', 'running'), 'w', attempt => 2)).status, 'ready',
          'the present attempt may be named');
do $$ begin perform given('y3', 'expired'); perform scylla.yield('y3', 'w'); end $$;
select ok(failures = 0 and not history @> '[{"_typ": "TaskTimeout"}]',
          'a lease that ran out but was not ended can be yielded, without a timeout')
from scylla.get_task('y3');
select is(scylla.reset_expired(), 0::bigint, 'and is not ended then');

select refuses(format('select scylla.yield(%s)', arguments), '55000', 'held',
               format('task "held" is not held by worker "%s"', worker),
               'Its status is running, its owner is "w" and its attempt is 2.')
from (values ($$'held', 'other'$$, 'other'), ($$'held', 'w', 1$$, 'w'), ($$'held', 'w', 3$$, 'w')) a (arguments,
    worker), given('held', 'running');
select refuses($$select scylla.yield('y1', 'w')$$, '55000', 'held', 'task "y1" is not held by worker "w"',
               'Its status is ready, it has no owner and its attempt is 2.', 'a task cannot be yielded twice');
select refuses($$select scylla.yield('unknown', 'w')$$, 'P0002', 'exists', 'task "unknown" does not exist');
select * from checks_name($$select scylla.yield($1, 'w')$$, 'rn');
select * from checks_name($$select scylla.yield('held', $1)$$, 'worker');

-- ---- cancel --------------------------------------------------------------------------------------------------------

do $$ begin
    perform given('c ' || state, state, 'c') from unnest(array['timed out', 'waiting', 'ready', 'running', 'expired',
                                                               'yielded', 'retried']) state;
    perform scylla.heartbeat('c running', 'w', 0.5);
end $$;
create temp table live as select rn, to_jsonb(t) as task from scylla.task t where rn like 'c %';
create temp table cancelled as select l.task, to_jsonb(t) as now from live l, scylla.cancel(l.rn) t;
select is(now - 'updated',
          task - 'updated' || '{"status": "cancelled", "deadline": null}' ||
              -- While it waited for a retry, not_before was the time of that; now it is what submit was given.
              case when now ->> 'rn' = 'c retried' then '{"not_before": null}' else '{}'::jsonb end,
          format('cancel returns the whole task: %s', now ->> 'rn'))
from cancelled order by now ->> 'rn';
select is(now, seen(now ->> 'rn'), 'the row returned is the row in the view') from cancelled;
select ok((now ->> 'updated')::timestamptz > (task ->> 'updated')::timestamptz, 'updated is later') from cancelled;
select results_eq($$select now ->> 'rn', now ->> 'owner', (now -> 'progress')::real from cancelled order by 1$$,
                  $$values ('c expired', 'w', 0::real), ('c ready', null, 0), ('c retried', null, 0),
                  ('c running', 'w', 0.5), ('c timed out', null, 0),
                           ('c waiting', null, 0), ('c yielded', null, 0)$$,
                  'the owner stays if it was running, and so does its progress');
select is_empty($$select * from scylla.lease('c', 'w', 100)$$, 'nothing of it can be leased');
select refuses($$select scylla.heartbeat('c running', 'w')$$, '55000', 'held',
               'task "c running" is not held by worker "w"',
               'Its status is cancelled, its owner is "w" and its attempt is 2.',
               'and that is how the worker learns of it');
select refuses(format('select scylla.cancel(%L)', given('e ' || state, state)), '55000', 'live',
               format('task "e %s" has already ended', state), detail)
from (values ('completed', 'Its status is completed, its owner is "w" and its attempt is 2.'),
             ('aborted',   'Its status is aborted, its owner is "w" and its attempt is 2.'),
             ('cancelled', 'Its status is cancelled, it has no owner and its attempt is 0.')) a (state, detail);
select refuses($$select scylla.cancel('unknown')$$, 'P0002', 'exists', 'task "unknown" does not exist');
select * from checks_name($$select scylla.cancel($1)$$, 'rn');

select all_is_sound();
select * from finish();
rollback;
