-- What CREATE EXTENSION makes: comments, what is dumped, indexes, settings.
begin;
\ir include/helpers.psql
select * from no_plan();

create temp table member as
select d.classid, d.objid, pg_describe_object(d.classid, d.objid, 0) as what
from pg_depend d join pg_extension e on d.refclassid = 'pg_extension'::regclass and d.refobjid = e.oid
where e.extname = 'scylla' and d.deptype = 'e'
  -- Later versions list array types and the row types of tables, too: they belong to something that is listed.
  and not exists (select from pg_type t where d.classid = 'pg_type'::regclass and t.oid = d.objid
                  and (t.typrelid <> 0 or t.typelem <> 0));

select cmp_ok((select count(*) from member), '>=', 32::bigint, 'the extension has members');
select is_empty($$select what from member where coalesce(obj_description(objid, classid::regclass::name), '') = ''$$,
                'every member has a comment');
select isnt((select obj_description(oid, 'pg_extension') from pg_extension where extname = 'scylla'), null,
            'and so has the extension');
select is_empty($$select attrelid::regclass, attname from pg_attribute join pg_class on oid = attrelid
                where relnamespace = 'scylla'::regnamespace and relkind = 'v' and relname !~ '^_' and attnum > 0
                and coalesce(col_description(attrelid, attnum), '') = ''$$,
                'and every column of the views');
select is_empty($$
    select 'function', oid::regprocedure::text from pg_proc where pronamespace = 'scylla'::regnamespace
    and oid not in (select objid from member)
    union all
    select 'relation', oid::regclass::text from pg_class
    where relnamespace = 'scylla'::regnamespace and relkind in ('r', 'v', 'S') and oid not in (select objid from member)
    union all
    select 'type', oid::regtype::text from pg_type
    where typnamespace = 'scylla'::regnamespace and typrelid = 0 and typelem = 0
    and oid not in (select objid from member)$$,
    'nothing in the schema is not a member');
select is_empty($$select what from member
                where what !~ '(schema scylla|(function|procedure|table|view|sequence|type) scylla\.)'$$,
                'no member is outside the schema');

-- The contract, by name; everything else is internal and says so by its first letter.
select is_empty($$
    select proname from pg_proc where pronamespace = 'scylla'::regnamespace and proname !~ '^_'
    and proname <> all (array[
        'cron_next', 'schedule', 'schedule_plan', 'schedule_job', 'unschedule', 'run_schedules', 'arm_schedules',
        'submit', 'submit_many', 'submit_bulk', 'lease', 'lease_task', 'heartbeat', 'complete', 'abort', 'fail',
        'yield', 'not_yet', 'defer', 'heartbeat_many', 'complete_many',
        'complete_and_lease', 'cancel', 'cancel_many', 'yield_many', 'get_task', 'list_tasks', 'find_tasks', 'explain_waiting', 'register_worker', 'create_queue', 'wait', 'wait_any', 'work',
        'create_plan', 'open_plan', 'cancel_plan', 'plan_completed', 'set_plan_owner', 'wait_plan', 'plan_dot', 'plan_mermaid', 'plan_timeline',
        'create_trigger', 'drop_trigger', 'pause_trigger', 'resume_trigger', 'clear_trigger',
        'create_callback', 'resolve_callback', 'reject_callback', 'send_signal', 'grant_signal', 'revoke_signal', 'set_signal_owner',
        'define_job', 'drop_job', 'grant_job', 'revoke_job', 'run_job', 'explain_job', 'mark_fresh', 'forget_freshness', 'job_dot', 'job_mermaid',
        'create_pool', 'alter_pool', 'drop_pool', 'drain_pool', 'resume_pool', 'report_usage', 'grant_pool', 'revoke_pool', 'place', 'list_pool_queue',
        'alter_queue', 'pause_queue', 'resume_queue', 'drop_queue', 'backoff', 'grant_role', 'revoke_role', 'role_kinds', 'grant_queue', 'revoke_queue',
        'set_queue_owner', 'reset_expired', 'purge', 'maintain', 'check', 'count_tasks', 'has_live_tasks', 'reschedule', 'set_priority', 'delete_task', 'resubmit', 'resubmit_many', 'resubmit_matching', 'dead_tasks', 'rerun_plan', 'quantile', 'stat_reset', 'metrics', 'read_events', 'read_workflow_events', 'sel_eval', 'interpolate', 'validate_workflow',
        'create_workflow', 'activate_workflow', 'deactivate_workflow', 'alter_workflow', 'drop_workflow', 'grant_workflow', 'revoke_workflow', 'start_workflow', 'start_workflows', 'set_output', 'restart_run', 'stop_workflow', 'kill_workflow', 'stop_run', 'kill_run', 'stop_step', 'kill_step', 'skip_step', 'restart_step', 'bypass_step', 'pause_step', 'resume_step', 'set_breakpoint', 'drop_breakpoint', 'pause_workflow', 'resume_workflow', 'create_job_template', 'drop_job_template', 'unblock_run', 'unblock_workflow', 'backfill', 'preview_backfill', 'pause_backfill', 'resume_backfill', 'cancel_backfill', 'advance', 'run_sql', 'run_tree', 'failed_steps', 'explain_run', 'workflow_dot', 'workflow_mermaid', 'run_dot', 'run_mermaid', 'run_gantt', 'lineage_dot', 'lineage_mermaid'])$$,
    'there is no function that the contract does not name');
select is_empty($$select proname from pg_proc
                where pronamespace = 'scylla'::regnamespace group by 1 having count(*) > 1$$,
                'no function is overloaded');
select is_empty($$select proname from pg_proc where pronamespace = 'scylla'::regnamespace and proisstrict$$,
                'none is strict: a null argument is refused, not ignored');
select is(raised('alter extension scylla set schema public') ~ 'does not support SET SCHEMA', true,
          'the extension is not relocatable');

-- ---- what pg_dump takes --------------------------------------------------------------------------------------------

select set_eq($$select unnest(extconfig)::regclass from pg_extension where extname = 'scylla'$$,
              $$select oid::regclass from pg_class where relnamespace = 'scylla'::regnamespace
              and relkind in ('r', 'S') and relname not in ('event', 'workflow_event', 'event_id_seq', 'queue_rate', 'schedule_tick')$$,
              'pg_dump dumps the contents of every table and sequence, but not events, how much of their rates queues have used, and the last tick');
select is_empty($$select c from pg_extension, unnest(extcondition) c where extname = 'scylla' and c <> ''$$,
                'all of them');
select is_empty($$select oid::regclass from pg_class where relnamespace = 'scylla'::regnamespace and relkind = 'r'
                and relpersistence <> 'p'$$, 'no table is unlogged');

-- ---- tables and indexes --------------------------------------------------------------------------------------------

select is_empty($$select i.indexrelid::regclass from pg_index i join pg_class c on c.oid = i.indrelid
                  where c.relnamespace = 'scylla'::regnamespace
                  and not (i.indisvalid and i.indisready and i.indislive and i.indimmediate)$$, 'every index is valid');
select is((select string_agg(format('%s where %s', i.indexrelid::regclass, pg_get_expr(i.indpred, i.indrelid)), ', '
                             order by i.indexrelid::regclass::text collate "C")
           from pg_index i join pg_class c on c.oid = i.indrelid
           where c.relnamespace = 'scylla'::regnamespace and (i.indpred is not null or i.indexprs is not null)),
          'scylla.job_run_request where (request_id IS NOT NULL), scylla.schedule_workflow where (task ? ''workflow''::text), scylla.signal_arrival_fresh where fresh, scylla.signal_sent_request where (request_id IS NOT NULL), scylla.signal_trigger_workflow where (action ? ''workflow''::text), scylla.task_lease_permit where (permit IS NOT NULL), scylla.task_ready_key where (key IS NOT NULL), ' ||
          'scylla.workflow_action_state_pending where ((done IS NULL) AND (step IS NOT NULL)), scylla.workflow_agenda_due where (due IS NOT NULL), scylla.workflow_agenda_put_back where (due IS NOT NULL), ' ||
          'scylla.workflow_backfill_item_state_pending where (state = ''PENDING''::text), scylla.workflow_backfill_item_state_run where (run IS NOT NULL), ' ||
          'scylla.workflow_backfill_item_state_started where (state = ''STARTED''::text), ' ||
          'scylla.workflow_iteration_number where (NOT past), scylla.workflow_run_state_blocks where blocks, scylla.workflow_run_state_due where (due IS NOT NULL), scylla.workflow_run_state_ended where ((status <> ''SUCCEEDED''::text) AND (status <> ''IN_PROGRESS''::text) AND (status <> ''CREATED''::text)), scylla.workflow_run_state_live where (ended IS NULL), ' ||
          'scylla.workflow_run_state_parent where (parent_scope IS NOT NULL), scylla.workflow_run_state_permits where ((permits IS NOT NULL) AND (ended IS NULL)), scylla.workflow_run_state_request where (request_id IS NOT NULL), scylla.workflow_run_state_signals where (initiator ? ''signals''::text), ' ||
          'scylla.workflow_step_state_due where (due IS NOT NULL), scylla.workflow_step_state_signals where (signals IS NOT NULL), scylla.workflow_step_state_task where (task IS NOT NULL)',
          'those that are partial or on an expression are those that the direct path knows as such');
select is_empty($$select c.oid::regclass from pg_class c
                  where c.relnamespace = 'scylla'::regnamespace and c.relkind = 'r'
                    and not exists (select from pg_index i where i.indrelid = c.oid
                                    and case c.relreplident when 'd' then i.indisprimary when 'i'
                                    then i.indisreplident else c.relreplident = 'f' end)$$,
                'every table has a replica identity, so that it can be published');
select is_empty($$select conrelid::regclass, conname from pg_constraint where connamespace = 'scylla'::regnamespace
                and contype not in ('p', 'u', 'n')$$,
                'there are no checks and foreign keys, which the direct path would not look at');
select is_empty($$select tgrelid::regclass, tgname from pg_trigger t join pg_class c on c.oid = t.tgrelid
                where c.relnamespace = 'scylla'::regnamespace$$, 'nor triggers');

-- ---- settings ------------------------------------------------------------------------------------------------------

do $$ begin perform scylla.register_worker(); end $$; -- loads the library, where it is not preloaded
select results_eq(
    $$select name, vartype, boot_val, unit, context, min_val, max_val from pg_settings
      where name like 'scylla.%' and name !~ '^scylla.max_' order by name$$,
    $$values ('scylla.auto_create_queues', 'bool',    'on',     null, 'superuser',   null, null),
             ('scylla.check_timeout',      'integer', '0',      's',  'superuser', '0', '31536000'),
             ('scylla.code_version',       'string', '', null, 'user', null, null),
             ('scylla.default_max_attempts', 'integer', '25', null, 'user', '-1', '2147483647'),
             ('scylla.default_timeout',    'integer', '10000',  'ms', 'user',   '1',  '2147483647'),
             ('scylla.event_retention',    'integer', '86400',  's',  'sighup', '0',  '2147483647'),
             ('scylla.handler_timeout',    'integer', '60000',  'ms', 'sighup', '1',  '2147483647'),
             ('scylla.min_trigger_interval', 'integer', '120', 's', 'superuser', '1', '86400'),
             ('scylla.monitor',            'bool',    'on',     null, 'sighup', null, null),
             ('scylla.monitor_idle',       'integer', '300000', 'ms', 'sighup', '-1', '2147483647'),
             ('scylla.monitor_interval',   'integer', '1000',   'ms', 'sighup', '10', '3600000'),
             ('scylla.retention',          'integer', '604800', 's',  'sighup', '0',  '2147483647'),
             ('scylla.schedules',          'enum',    'auto', null, 'superuser', null, null),
             ('scylla.signal_retention',   'integer', '604800',  's',  'sighup', '60', '2147483647')$$,
             'the settings, their units and defaults');
select is_empty($$select name from pg_settings where name like 'scylla.%' and (short_desc = '' or short_desc is null)$$,
                'every setting has a description');
select throws_ok('set local scylla.nonsense = 1', '42602', 'invalid configuration parameter name "scylla.nonsense"',
                 'the prefix is reserved: a misspelt setting is an error');
select throws_ok(format('set local scylla.default_timeout = %L', v), '22023', null,
                 'scylla.default_timeout must not be ' || v)
from unnest(array['0', '-1', '25 d', 'soon']) v;
select lives_ok(format('set local scylla.default_timeout = %L', v), 'scylla.default_timeout may be ' || v)
from unnest(array['1', '1 ms', '90 s', '24 d']) v;
select throws_ok(format('set local %s = default', name), '55P02', null, name || ' is for the whole server')
from unnest(array['scylla.monitor', 'scylla.monitor_interval', 'scylla.retention']) name;

select all_is_sound();
select * from finish();
rollback;
