-- check: finds each kind of damage, and nothing where there is none.
begin;
\ir include/helpers.psql
select * from no_plan();

select is((select format('%s -> %s; %s%s', pg_get_function_arguments(oid), pg_get_function_result(oid), provolatile,
                         case when prosecdef then ', security definer' end)
           from pg_proc where oid = 'scylla.check'::regproc),
          'OUT rn text, OUT problem text -> SETOF record; v, security definer', 'signature of check');
-- Without statistics the planner takes 100,000 tasks for a few, and would go through one table for each row of another.
select ok((select proconfig @> '{enable_nestloop=off,jit=off}' from pg_proc where oid = 'scylla._check'::regproc),
          'it joins tables as a whole, whatever the statistics know of them');
select is_empty('select * from scylla.check()', 'nothing is wrong where nothing is');
do $$ begin
    perform given(state, state) from unnest(array['timed out', 'waiting', 'retried', 'ready', 'yielded', 'running',
                                                  'expired', 'completed', 'aborted', 'cancelled']) state;
    perform scylla.create_queue('another');
end $$;
select is_empty('select * from scylla.check()', 'nor where tasks are in every state');

-- How _rows_by_index() reads, with its own settings: else it would compare a table with itself.
create function scans(function text) returns text[] language plpgsql as $$
declare
    setting text;
    line text;
    lines text[];
begin
    foreach setting in array (select proconfig from pg_proc where oid = function::regproc) loop
        perform set_config(split_part(setting, '=', 1), split_part(setting, '=', 2), true);
    end loop;
    for line in execute 'explain (costs off) ' || (select prosrc from pg_proc where oid = function::regproc) loop
        -- without the number that EXPLAIN gives to a table that comes up again
        lines := lines || substring(regexp_replace(line, ' \w+_\d+$', '') from '(?:Index|Seq|Bitmap|Sort).*');
    end loop;
    perform set_config('search_path', 'public', true);
    return array(select l from unnest(lines) l where l is not null);
end $$;
savepoint before;
create temp table scan as select unnest(scans('scylla._rows_by_index')) as line;
select set_eq($$select line from scan$$,
              $$select format('Index Scan using %s on %s', i.relname, t.relname) from pg_index x
                join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid
                where t.relnamespace = 'scylla'::regnamespace and t.relname not in ('queue_rate', 'queue_dropped', 'schedule', 'schedule_tick', 'task_callback', 'task_copy', 'signal_name',
                                                                                     'signal_sent', 'signal_trigger',
                                                                                     'signal_trigger_input', 'signal_unseen', 'signal_arrival',
                                                                                     'signal_trigger_failure', 'job_definition', 'job_run', 'job_chunk', 'job_success', 'workflow_head', 'workflow_text', 'workflow_properties', 'workflow_run_state', 'workflow_run_past', 'workflow_plan', 'workflow_iteration', 'workflow_step_state', 'workflow_attempt', 'workflow_wait', 'workflow_agenda', 'workflow_action_state', 'workflow_hold', 'workflow_event', 'job_template_text', 'workflow_backfill_state', 'workflow_backfill_item_state', 'workflow_dropped', 'resource_pool', 'pool_change', 'pool_report', 'pool_head')$$,
              'every index of the tables that the functions write directly is read');
rollback to before;

create function id(rn text) returns bigint language sql
    as $$ select s.id from scylla.task_spec s where s.rn = id.rn; $$;
create function another() returns int language sql as $$ select q.id from scylla.queue q where name = 'another'; $$;
create function q() returns int language sql as $$ select q.id from scylla.queue q where name = 'q'; $$;

-- Does damage, as the tables' owner can, asks check(), and undoes it.
create function found(damage text) returns text[] language plpgsql as $$
declare
    problems text[];
begin
    execute damage;
    select array_agg(format('%s %s', rn, problem) order by rn nulls first, problem) into problems from scylla.check();
    raise exception 'to roll back';
exception when raise_exception then
    return problems;
end $$;
create function finds(damage text, variadic problems text[]) returns text language sql as $$
    select is(found(damage), problems, 'found: ' || damage);
$$;

select finds(format('delete from scylla.task_%s where id = %s', place, id(rn)),
             format('%s is in no state: its id %s is in task_spec only', rn, id(rn)))
from (values ('waiting', 'waiting'), ('ready', 'ready'), ('lease', 'running'), ('outcome', 'completed')) d (place, rn);

select finds(format('delete from scylla.task_spec where id = %s', id(rn)),
             format(' id %s is in task_%s but not in task_spec', id(rn), place))
from (values ('waiting', 'waiting'), ('ready', 'ready'), ('lease', 'running'), ('outcome', 'completed')) d (place, rn);

select finds(format('insert into scylla.task_ready select id, updated, queue, attempt, failures, 0 '
                    'from scylla.task_%s where id = %s', place, id(rn)),
             format('%s is in 2 states: its id %s is in %s', rn, id(rn), held_by))
from (values ('waiting', 'waiting', 'task_ready, task_waiting'),
      ('lease', 'running', 'task_lease, task_ready')) d (place, rn, held_by);
select finds(format('insert into scylla.task_ready select id, finished, queue, attempt, failures, 0 '
                    'from scylla.task_outcome where id = %s', id('aborted')),
             format('aborted is in 2 states: its id %s is in task_outcome, task_ready', id('aborted')));
select finds(format('insert into scylla.task_ready select id, updated, queue, attempt, failures, 1 '
                    'from scylla.task_ready where id = %s', id('ready')),
             format('ready has priority 0 but task_ready says 1'),
             format('ready is in 2 states: its id %s is in task_ready, task_ready', id('ready')));

select finds(format('update scylla.task_%s set queue = %s where id = %s', place, another(), id(rn)),
             format('%s belongs to queue %s but task_%s says %s', rn, q(), place, another()))
from (values ('waiting', 'waiting'), ('ready', 'ready'), ('lease', 'running'), ('outcome', 'completed')) d (place, rn);
select finds(format('update scylla.task_spec set queue = 0 where id = %s; '
                    'update scylla.task_ready set queue = 0 where id = %1$s', id('ready')),
             'ready belongs to queue 0, which does not exist');
select is(cardinality(found($$delete from scylla.queue where name = 'q'$$)), 10,
          'found: a queue that is gone, once for each of its tasks');

select finds(format('update scylla.task_ready set priority = 5 where id = %s', id('ready')),
             'ready has priority 0 but task_ready says 5');
select finds(format('update scylla.task_spec set priority = %s where id = %s', p, id('running')),
             format('running has priority %s, outside 0..127', p)) from unnest(array[-1, 128]) p;
select finds(format('update scylla.task_waiting set due = null where id = %s', id(rn)), rn
             || ' waits, but for nothing: all its gates are open, and it has no due time') from unnest(array['waiting', 'retried']) rn;
select finds(format('update scylla.task_lease set %s where id = %s', change, id('running')), 'running is leased with '
             || shown)
from (values ('attempt = 0',   'attempt 0, progress 0, timeout 3600000000'),
      ('progress = 1.5', 'attempt 2, progress 1.5, timeout 3600000000'),
             ('progress = -0.1', 'attempt 2, progress -0.1, timeout 3600000000'),
             ($$progress = 'NaN'$$, 'attempt 2, progress NaN, timeout 3600000000'),
             ('timeout = 0',   'attempt 2, progress 0, timeout 0'),
             ('timeout = -1',  'attempt 2, progress 0, timeout -1')) d (change, shown);
select finds(format('update scylla.task_lease set %s where id = %s', change, id('running')), 'running ' || problem)
from (values ($$owner = ''$$, 'is leased by a worker without a name'),
             ($$deadline = 'infinity'$$, 'is leased for ever')) d (change, problem);
select finds(format('update scylla.task_outcome set %s where id = %s', change, id(rn)), rn || ' ' || problem)
from (values ('aborted',   'progress = 7',         'is aborted with progress 7'),
             ('cancelled', $$result = '1'$$,       'is cancelled, but has a result or metrics'),
             ('aborted',   $$metrics = '{}'$$,     'is aborted, but has a result or metrics'),
             ('completed', 'owner = null',         'is completed, but by nobody'),
             ('completed', 'failures = 99',        'has attempt 2 and 99 failures'),
             ('completed', $$history = '{}'$$,     'has history or errors that are no arrays'),
             ('aborted',   $$errors = '"E"'$$,     'has history or errors that are no arrays')) d (rn, change, problem);
select finds(format('update scylla.task_%s set failures = -1 where id = %s', place, id(rn)),
             format('%s has attempt %s and -1 failures', rn, (select attempt from scylla.task t where t.rn = d.rn)))
from (values ('waiting', 'waiting'), ('ready', 'ready'), ('lease', 'running'), ('outcome', 'completed')) d (place, rn);
select finds('insert into scylla.queue (id, name) values (1000000, ''far'')',
             format(' queue_id_seq has given out %s, but the id 1000000 is in use', (select last_value from scylla.queue_id_seq)));
select finds(format('update scylla.task_outcome set status = %L where id = %s', status, id('aborted')),
             'aborted ended in the state ' || status)
from unnest(array['waiting', 'ready', 'running']) status;
select finds(format('update scylla.task_outcome set progress = 0.5 where id = %s', id('completed')),
             'completed is completed with progress 0.5');
select finds(format('update scylla.task_spec set max_attempts = 1 where id = %s', id(rn)), rn
             || ' has 1 failures of 1 allowed, and is not aborted') from unnest(array['timed out', 'retried']) rn;
select finds(format('update scylla.task_spec set max_attempts = 2 where id = %s; '
                    'update scylla.task_lease set failures = 3, attempt = 3 where id = %1$s', id('running')),
             'running has 3 failures of 2 allowed, and is not aborted');
select matches(found((select string_agg(format('update scylla.task_%s set id = id + 1000000000', t), '; ')
                      from unnest(array['spec', 'waiting', 'ready', 'lease', 'outcome']) t))::text,
               '^{" task_id_seq has given out [0-9]+, but the id [0-9]+ is in use"}$',
               'found: ids that the sequence has still to give out');

-- Triggers: the second signal waits for a partner, the first set has failed.
select scylla.create_trigger('pairs', '[{"signal": "a", "join": ["k"]}, {"signal": "b", "join": ["k"]}]', '{"submit": {"queue": "q", "spec": 1}}')
\g /dev/null
select scylla.send_signal('a', '{"k": 1}') as a1, scylla.send_signal('a', '{"k": 2}') as a2, scylla.send_signal('b', '{"k": 2}') as b2 \gset
update scylla.signal_trigger set condition = '$.nothing' \g /dev/null
select scylla.maintain() \g /dev/null
select id as trigger from scylla.signal_trigger \gset
select id as failed from scylla.signal_trigger_failure \gset
select is_empty('select * from scylla.check()', 'nothing is wrong where a trigger waits, and where it fails');
select finds('update scylla.signal_trigger set owner = ''nobody here''',
             ' trigger "pairs" belongs to role "nobody here", which does not exist');
select finds('delete from scylla.signal_trigger_input where ord = 1',
             ' trigger "pairs" joins 2 signals, but has the places 2 in signal_trigger_input');
select finds('delete from scylla.signal_trigger_input',
             ' trigger "pairs" joins 2 signals, but has the places of none in signal_trigger_input');
select finds('delete from scylla.signal_trigger; delete from scylla.signal_trigger_input',
             format(' signal %s waits for partners in the trigger with id %s, which does not exist', :a1, :trigger),
             format(' the trigger with id %s of the failed set %s does not exist', :trigger, :failed));
select finds('update scylla.signal_arrival set input = 3', format(' signal %s waits in place 3 of trigger "pairs", which joins 2', :a1));
select finds(format('insert into scylla.signal_arrival select trigger, digest, %s, 2, false, join_key from scylla.signal_arrival', :b2),
             format(' signals %s, %s wait in trigger "pairs", although they are a set', :a1, :b2));
select is(found(format('insert into scylla.signal_arrival select trigger, digest, %s, 2, true, join_key from scylla.signal_arrival', :b2)),
          null, 'nothing is wrong with a set that nobody has looked for yet');
select matches(found('update scylla.signal_trigger set id = 1000000000; update scylla.signal_trigger_input set trigger = 1000000000; '
                     'update scylla.signal_arrival set trigger = 1000000000; update scylla.signal_trigger_failure set trigger = 1000000000')::text,
               '^{" task_id_seq has given out [0-9]+, but the id 1000000000 is in use"}$', 'found: an id of a trigger');

-- Pools: a task that is placed, one in line, and what was placed under a capacity that has been changed.
do $$ begin
    perform scylla.create_pool('pool', '{"a": 3, "b": 1}');
    perform scylla.submit('q', '1', rn => 'placed', needs => '{"pool": {"a": 2}}'), scylla.submit('q', '1', rn => 'freed', needs => '{"pool": {"a": 1, "b": 0}}');
    perform scylla.place();
    perform scylla.submit('q', '1', rn => 'in line', needs => '{"pool": {"a": 2}}');
end $$;
select all_is_sound();
select finds(format('update scylla.resource_pool set capacity = %L', '{"a": 2, "b": 1}'), ' tasks hold 3 of a of pool pool, which has 2');
select finds(format('update scylla.resource_pool set capacity = %L', '{}'), ' tasks hold 3 of a of pool pool, which has 0');
select is(found($$select scylla.alter_pool('pool', '{"capacity": {"a": 2, "b": 1}}')$$), null, 'a capacity that was lowered explains it');
select is(found($$select scylla.alter_pool('pool', '{"capacity": {"a": 0}}'); select scylla.cancel('freed'); select scylla.place()$$), null, 'also later');
select finds(format('delete from scylla.task_reservation where task = %s', id('placed')), 'placed needs pools and is ready but holds nothing of them');
select finds(format('delete from scylla.pool_line where task = %s', id('in line')), 'in line waits, but for nothing: all its gates are open, and it has no due time');
select finds(format('insert into scylla.task_reservation select %s, pool, since, ends, version, chosen, %L from scylla.task_reservation where task = %s',
                    id('completed'), '{"b": 1}', id('placed')), 'completed holds something of a pool but is not live');
select finds(format('insert into scylla.pool_line select pool, task_class, %s, created, queue, priority, needs, runtime from scylla.pool_line', id('ready')),
             'ready is in the line of a pool but is not waiting, or waits for something else');
select finds('update scylla.pool_change set pool = 7', ' there are changes of pool 7, which does not exist');
select finds($$update scylla.resource_pool set owner = 'nobody here', users = '{public,nobody}'$$,
             ' pool "pool" belongs to role "nobody here", which does not exist', ' pool "pool" is granted to role "nobody", which does not exist');
select finds(format('update scylla.task_reservation set pool = 1 where task = %s', id('freed')), 'freed holds what is not there: id 1 is no pool');

-- Several at once.
select finds(format('delete from scylla.task_waiting where id = %s; delete from scylla.task_spec where id = %s',
                    id('waiting'), id('running')),
             format(' id %s is in task_lease but not in task_spec', id('running')),
             format('waiting is in no state: its id %s is in task_spec only', id('waiting')));

select all_is_sound();
-- ---- workflows -----------------------------------------------------------------------------------------------------

select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "flow", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}'), scylla.create_workflow('{"workflow": {"id": "flow", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}') \g /dev/null
select scylla.grant_workflow('flow', 'pg_monitor', 'run') \g /dev/null
select is_empty('select * from scylla.check()', 'nothing is wrong with a workflow');
select finds($$update scylla.workflow_head set owner = 'nobody at all'$$, ' workflow "flow" belongs to role "nobody at all", which does not exist');
select finds(format('update scylla.workflow_head set %s = ''{public,nobody at all}''', c), ' workflow "flow" is granted to role "nobody at all", which does not exist')
from unnest('{runners,viewers,admins}'::text[]) c;
select finds('update scylla.workflow_head set latest_version = 3', ' workflow "flow" has 2 versions up to 2, and its latest is 3');
select finds('delete from scylla.workflow_text where version = 1', ' workflow "flow" has 1 versions up to 2, and its latest is 2');
select finds('delete from scylla.workflow_text where version = 2', ' version 2 of workflow "flow", which is active, does not exist',
             ' workflow "flow" has 1 versions up to 1, and its latest is 2');
select finds('delete from scylla.workflow_head', ' there is a history of the properties of workflow "flow", which does not exist',
             ' version 1 is of workflow "flow", which does not exist', ' version 2 is of workflow "flow", which does not exist');
select finds($$update scylla.workflow_text set definition = '{"id": "other"}' where version = 1$$, ' version 1 of workflow "flow" is the definition of "other"');
select finds($$update scylla.workflow_head set properties = '{}'$$, ' the properties of workflow "flow" are not the last of their history');
select finds('delete from scylla.workflow_properties', ' the properties of workflow "flow" are not the last of their history');
select finds($$insert into scylla.workflow_dropped values (4, 'flow')$$, ' workflow "flow" has had 0 instances, and one of its id that was dropped 4');
select scylla.drop_workflow('flow') \g /dev/null

select scylla.create_job_template('{"job_type": "parent", "type": "NoOp"}'), scylla.create_job_template('{"job_type": "child", "type": "NoOp", "inherit_from": {"parent": "default"}}'),
    scylla.create_job_template('{"job_type": "child", "version": "2", "type": "NoOp"}') \g /dev/null
select is_empty('select * from scylla.check()', 'nothing is wrong with a job template');
select finds($$update scylla.job_template_text set owner = 'nobody at all' where job_type = 'parent'$$, ' job template "parent" of version "default" belongs to role "nobody at all", which does not exist');
select finds($$update scylla.job_template_text set owner = 'pg_monitor' where version = '2'$$, ' the versions of job template "child" belong to different roles');
select finds($$update scylla.job_template_text set definition = definition || '{"version": "3"}' where version = '2'$$, ' job template "child" of version "2" is the definition of "child" of version "3"');
select finds($$delete from scylla.job_template_text where job_type = 'parent'$$, ' job template "child" of version "default" inherits from "parent" of version "default", which does not exist');

select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "flow", "steps": [{"step": {"id": "s", "type": "T"}}]}}') \g /dev/null
select scylla.start_workflow('flow'), scylla._advance() \g /dev/null
select is_empty('select * from scylla.check()', 'nothing is wrong with a run');
select id as run from scylla.workflow_run_state where workflow = 'flow' \gset
select finds('delete from scylla.workflow_run_state', ' plan "workflow:flow/1/1" was made by a workflow, but is no run',
             format(' step s in scope %s belongs to run %s of a workflow, which does not exist', :run, :run));
select finds($$update scylla.workflow_run_state set status = 'SUCCEEDED', ended = now()$$, ' run flow/1/1 of a workflow is SUCCEEDED, but its plan is not finished',
             format(' step s in scope %s belongs to run %s of a workflow, which has ended, but the step has not', :run, :run));
select finds($$update scylla.workflow_step_state set rollup = '{"NOT_CREATED": {"cnt": 1}, "RUNNING": {"cnt": 2}}'$$,
             format(' loop s in scope %s of a workflow says that its leaves are {"RUNNING": 2}, but they are {}', :run));
select finds($$update scylla.workflow_step_state set step = 'stray'$$, ' a run of version 1 of workflow "flow" has a step "stray", which the version does not have');
select finds('delete from scylla.workflow_step_state', ' run flow/1/1 of a workflow goes on, but nothing of it is live');
select finds($$insert into scylla.workflow_agenda (root, kind) values (7, 'next')$$, ' something is on the agenda of run 7 of a workflow, which does not exist');
select finds(format($$insert into scylla.workflow_iteration (id, root, parent, number, created, status, step, numbers, params)
                      values (%s, 7, 7, 1, now(), 'IN_PROGRESS', 'l', '{1}', '{}')$$, :run),
             ' iteration 1 of step l belongs to run 7 of a workflow, which does not exist');
select finds($$update scylla.task_plan set maker = null where name = 'workflow:flow/1/1'$$,
             format(' the plan with id %s of run flow/1/1 of a workflow does not exist, or was not made by it', :run));
select finds($$insert into scylla.workflow_hold (workflow, kind, step, version, instance, run, iterations, author) values ('gone', 'breakpoint', 's', 0, 0, 0, '{}', current_user)$$,
             ' step "s" of workflow "gone" stops at a breakpoint, and the workflow does not exist');
select finds($$update scylla.workflow_step_state set status = 'INITIALIZED', task = null$$, format(' step s in scope %s of run %s of a workflow is INITIALIZED, and nothing holds it back', :run, :run));
select scylla.stop_run('flow', 1) \g /dev/null
select id as action from scylla.workflow_action \gset
select finds('delete from scylla.workflow_agenda', format(' action %s of a workflow is not done, and not on the agenda', :action));
select finds('update scylla.workflow_action_state set done = now()', format(' action %s of a workflow is done, and on the agenda', :action));
select finds('update scylla.workflow_action_state set root = 7', format(' action %s of a workflow is of run 7, which does not exist', :action));
select scylla._advance() \g /dev/null
select scylla.drop_workflow('flow') \g /dev/null

select all_is_sound();
-- ---- jobs ----------------------------------------------------------------------------------------------------------

select scylla.define_job('below', 'q', '{"chunk_size": 3}'), scylla.define_job('above', 'q', '{"chunk_size": 3}', '[{"job": "below", "max_lag": "1 day"}]') \g /dev/null
select scylla.mark_fresh('below', '{[7,10)}') \g /dev/null
select scylla.run_job('above', '{[1,4)}') as run \gset
select r.plan as run_id, r.job as above, array_to_string(array(select c.task from scylla.job_chunk c where c.plan = r.plan order by task), ' ') as tasks,
       (select id from scylla.job_success) as success, (select job from scylla.job_success) as below
from scylla.job_run r \gset
select split_part(:'tasks', ' ', 1) as task, split_part(:'tasks', ' ', 2) as other \gset
select is_empty('select * from scylla.check()', 'nothing is wrong with a run of a job');
select finds($$update scylla.job_definition set owner = 'nobody at all' where name = 'below'$$, ' job "below" belongs to role "nobody at all", which does not exist');
select finds($$delete from scylla.job_definition where name = 'below'$$, ' job "above" needs job "below", which does not exist');
select finds($$update scylla.job_definition set needs = '[{"job": "above", "max_lag": "1 day"}]' where name = 'below'$$, ' job "above" needs itself', ' job "below" needs itself');
select finds(format('delete from scylla.job_run where plan = %s', :run_id),
             format(' plan "%s" was made by a job, but is no run', :'run'), format(' the chunk of task %s belongs to a run with id %s, which does not exist', :task, :run_id),
             format(' the chunk of task %s belongs to a run with id %s, which does not exist', :other, :run_id));
select finds(format('update scylla.task_plan set maker = null where id = %s', :run_id), format(' plan "%s" is a run of job "above", but was not made by it', :'run'));
select finds(format('update scylla.job_run set plan = 0 where plan = %s; update scylla.job_chunk set plan = 0', :run_id),
             format(' plan "%s" was made by a job, but is no run', :'run'), ' the plan with id 0 of a run of job "above" does not exist');
select finds(format('update scylla.job_chunk set task = -1 where task = %s', :task), format(' the task with id -1 of plan "%s", for ids of a job, does not exist', :'run'));
select finds(format('update scylla.job_chunk set task = %s where task = %s', id('aborted'), :task), format('aborted belongs to plan none, but is for ids of a job in plan %s', :run_id));
select finds(format('update scylla.job_chunk set ids = %L where task = %s', ids, :task), format(' the task with id %s is for the ids %s of a job, of which its run has %s', :task, ids, rest))
from (values ('{}', '{}'), ('{[3,5)}', '{[3,4)}')) i (ids, rest);
select finds(format('update scylla.job_chunk set variant = ''v'' where task = %s', :task), format(' the task with id %s is for variant "v" of a job, its run for ""', :task));
select finds(format('update scylla.job_success set ids = %L', ids), format(' success %s of the job with id %s is for the ids %s', :success, :below, ids))
from unnest(array['{}', '{(,4)}', '{[4,)}']) ids;
select finds(format('update scylla.job_success set id = %s', 1000000000000), format(' task_id_seq has given out %s, but the id 1000000000000 is in use', (select last_value from scylla.task_id_seq)));

select * from finish();
rollback;
