-- get_task, list_tasks, and the view scylla.task: looking.
begin;
\ir include/helpers.psql
select * from no_plan();

select signature_is('get_task', 'rn text', 'scylla.task');
select signature_is('list_tasks',
    'queue text DEFAULT NULL::text, status scylla.task_status DEFAULT NULL::scylla.task_status, '
    'worker text DEFAULT NULL::text, max_tasks integer DEFAULT 100', 'SETOF scylla.task');

-- ---- the view and get_task -----------------------------------------------------------------------------------------

select columns_are('scylla', 'task', array['rn', 'queue', 'spec', 'status', 'priority', 'progress', 'created',
                                           'updated', 'owner', 'deadline', 'errors',
                                          'history', 'result', 'metrics', 'args', 'attempt', 'failures', 'max_attempts',
                                          'not_before', 'plan', 'key', 'pool', 'state', 'answers', 'answered', 'error_message']);
select results_eq(
    $$select attname::text collate "default", format_type(atttypid, atttypmod) from pg_attribute
    where attrelid = 'scylla.task'::regclass and attnum > 0 order by attnum$$,
    $$values ('rn', 'text'), ('queue', 'text'), ('spec', 'jsonb'), ('status', 'scylla.task_status'),
    ('priority', 'integer'), ('progress', 'real'),
             ('created', 'timestamp with time zone'), ('updated', 'timestamp with time zone'), ('owner', 'text'),
             ('deadline', 'timestamp with time zone'),
             ('errors', 'jsonb'), ('history', 'jsonb'), ('result', 'jsonb'), ('metrics', 'jsonb'), ('args', 'jsonb'),
             ('attempt', 'integer'),
             ('failures', 'integer'), ('max_attempts', 'integer'), ('not_before', 'timestamp with time zone'),
             ('plan', 'text'), ('key', 'text'), ('pool', 'text'), ('state', 'jsonb'), ('answers', 'bigint'),
             ('answered', 'timestamp with time zone'), ('error_message', 'text')$$,
    'the columns of the view, in their order');
select enum_has_labels('scylla', 'task_status',
                       array['waiting', 'ready', 'running', 'completed', 'aborted', 'cancelled']);

create temp table state as
select state from unnest(array['timed out', 'waiting', 'retried', 'ready', 'yielded', 'running', 'expired', 'completed',
                               'aborted', 'cancelled',
                               'cancelled running']) state;
do $$ begin perform given('g ' || state, state) from state; end $$;
select is((select count(*) from scylla.task where rn = 'g ' || state.state), 1::bigint,
          'the view has one row for a task that is ' || state) from state;
select is(to_jsonb(scylla.get_task('g ' || state)), seen('g ' || state), 'get_task shows what the view shows: '
          || state) from state;
select results_eq(
    $$select rn, status, owner, deadline is not null, progress, attempt, failures, not_before is not null, result,
    metrics, jsonb_array_length(errors),
             (select string_agg(e ->> '_typ' || (e ->> 'attempt'), ' ' order by n)
              from jsonb_array_elements(history) with ordinality _ (e, n))
      from scylla.task order by status, rn$$,
    $$values
        ('g retried',           'waiting'::scylla.task_status, null, false, 0::real, 1, 1, true,  null::jsonb,
         null::jsonb, 1, 'TaskAssignment1 TaskRetry1'),
        ('g waiting',           'waiting',   null, false, 0, 0, 0, true,  null, null, 0, null),
        ('g ready',             'ready',     null, false, 0, 0, 0, false, null, null, 0, null),
        ('g timed out',         'ready',     null, false, 0, 1, 1, false, null, null, 0,
         'TaskAssignment1 TaskTimeout1'),
        ('g yielded',           'ready',     null, false, 0, 1, 0, false, null, null, 0, 'TaskAssignment1 TaskYield1'),
        ('g expired',           'running',   'w',  true,  0, 2, 0, false, null, null, 0,
         'TaskAssignment1 TaskYield1 TaskAssignment2'),
        ('g running',           'running',   'w',  true,  0, 2, 0, false, null, null, 0,
         'TaskAssignment1 TaskYield1 TaskAssignment2'),
        ('g completed',         'completed', 'w',  false, 1, 2, 0, false, '{"r": 1}', '{"m": 1}', 0,
         'TaskAssignment1 TaskYield1 TaskAssignment2'),
        ('g aborted',           'aborted',   'w',  false, 0, 2, 0, false, null, null, 1,
         'TaskAssignment1 TaskYield1 TaskAssignment2'),
        ('g cancelled',         'cancelled', null, false, 0, 0, 0, false, null, null, 0, null),
        ('g cancelled running', 'cancelled', 'w',  false, 0, 2, 0, false, null, null, 0,
         'TaskAssignment1 TaskYield1 TaskAssignment2')$$,
    'the states, as the view shows them');
select refuses($$select scylla.get_task('unknown')$$, 'P0002', 'exists', 'task "unknown" does not exist');
select refuses($$select scylla.get_task('G ready')$$, 'P0002', 'exists', 'task "G ready" does not exist');
select * from checks_name('select scylla.get_task($1)', 'rn');

-- ---- list_tasks ----------------------------------------------------------------------------------------------------

-- What list_tasks should return, from the view: ready tasks in the order of leasing, others newest first.
create function expected(queue text, status scylla.task_status, worker text,
                         max_tasks int) returns setof jsonb language sql as $$
    select to_jsonb(t) from scylla.task t join scylla.task_spec s using (rn)
    where (expected.queue is null or t.queue = expected.queue)
      and (expected.status is null or t.status = expected.status)
      and (expected.worker is null or t.owner = expected.worker)
    order by case when expected.status = 'ready' then t.priority end desc, case when expected.status = 'ready' then s.id
    else - s.id end
    limit expected.max_tasks;
$$;
-- The order in which given() made them must not be the order of anything else.
do $$ begin
    perform given('p ' || state, state, 'p') from state order by md5(state);
    for i in 1 .. 20 loop
        perform scylla.submit(case when i % 3 = 0 then 'p' else 'r' end, to_jsonb(i), i * 37 % 5, 'x' || i, case
                              when i % 7 = 0 then timestamptz 'tomorrow' end);
    end loop;
    perform scylla.lease('r', 'other', 3);
    perform scylla.complete('x' || i, 'other') from generate_series(1, 20) i, scylla.get_task('x' || i) t
    where t.owner = 'other' and i % 2 = 0;
    perform scylla.yield('x' || i, 'other') from generate_series(1, 20) i, scylla.get_task('x' || i) t
    where t.status = 'running' and i % 3 = 1;
end $$;
select set_eq('select distinct status from scylla.task', 'select unnest(enum_range(null::scylla.task_status))',
              'the following lists have something to list');
select results_eq(
    format('select to_jsonb(t) from scylla.list_tasks(%L, %L, %L, %L) t', queue, status, worker, max_tasks),
    format('select * from expected(%L, %L, %L, %L)', queue, status, worker, max_tasks),
    format('list_tasks(queue => %s, status => %s, worker => %s, max_tasks => %s)', queue, status, worker, max_tasks))
from unnest(array['p', 'q', 'r', 'none', null]) queue,
     unnest(enum_range(null::scylla.task_status) || null::scylla.task_status) status,
     unnest(array['w', 'other', 'nobody', null]) worker,
     unnest(array[1, 3, 1000]) max_tasks;

select results_eq($$select rn from scylla.list_tasks('p', 'ready', null, 100000)$$,
                  $$select rn from scylla.lease('p', 'w', 100000)$$,
                  'ready tasks are listed in the order in which they are then leased');
do $$ begin perform scylla.submit_bulk('hundreds', array_agg(to_jsonb(n))) from generate_series(1, 150) n; end $$;
select is((select count(*) from scylla.list_tasks('hundreds')), 100::bigint, 'a hundred, if nobody says how many');
select is((select array_agg(spec::int order by n)
           from (select row_number() over () as n, spec from scylla.list_tasks('hundreds')) _),
          (select array_agg(n order by n desc) from generate_series(51, 150) n), 'the newest');
select is_empty($$select * from scylla.list_tasks('none')$$, 'an unknown queue has no tasks');
select ok(count(*) > 3, 'no argument at all: any task') from scylla.list_tasks();

-- Of many tasks that have ended, and of many in other queues, only those are read that may be shown: an index tells which ones.
create function rows_read(statement text) returns bigint language plpgsql as $$
declare
    before bigint;
begin
    select sum(idx_tup_fetch) into before from pg_stat_xact_all_tables where schemaname = 'scylla' and relname in ('task_spec', 'task_outcome');
    execute statement;
    return (select sum(idx_tup_fetch) - before from pg_stat_xact_all_tables where schemaname = 'scylla' and relname in ('task_spec', 'task_outcome'));
end $$;
do $$ begin
    perform scylla.submit('quiet', '1', rn => 'failed'), scylla.submit('quiet', '2', rn => 'still there');
    perform scylla.lease_task('failed', 'w'), scylla.abort('failed', 'w', '{"code": "x"}');
    perform scylla.submit_bulk('busy', array_fill('1'::jsonb, array[500]));
    perform scylla.complete_many(array_agg(t.rn), 'w') from scylla.lease('busy', 'w', 500) t;
end $$;
select is((select count(*) from scylla.list_tasks('busy', 'completed', max_tasks => 1000)), 500::bigint, 'there are 500 others');
select cmp_ok(rows_read(statement), '<', 30::bigint, 'few rows are read by ' || statement)
from unnest(array[$$select scylla.list_tasks('quiet')$$, $$select scylla.list_tasks('quiet', 'aborted')$$, $$select scylla.list_tasks('busy', 'aborted')$$,
                  $$select scylla.list_tasks('quiet', worker => 'w')$$, $$select scylla.dead_tasks('quiet')$$, $$select scylla.dead_tasks('quiet', 'x')$$,
                  $$select scylla.find_tasks('{"queue": "quiet"}')$$, $$select scylla.find_tasks('{"queue": "busy", "status": "aborted"}')$$,
                  $$select scylla.resubmit_matching('{"queue": "quiet"}', preview => true)$$]) statement;
select cmp_ok(rows_read($$select scylla.list_tasks('busy', worker => 'nobody')$$), '>', 500::bigint, '... of those that have to be read, all');

select * from checks_name('select * from scylla.list_tasks($1)', 'queue', null_is_refused => false);
select * from checks_name('select * from scylla.list_tasks(worker => $1)', 'worker', null_is_refused => false);
select refuses_argument(format('select * from scylla.list_tasks(max_tasks => %s)', n), 'max_tasks', n,
                        'It must be between 1 and 100000.')
from unnest(array['0', '-1', '100001']) n;
select lives_ok('select * from scylla.list_tasks(max_tasks => 100000)', 'max_tasks may be 100000');

select all_is_sound();
select * from finish();
rollback;
