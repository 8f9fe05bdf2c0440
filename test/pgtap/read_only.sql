-- Read-only transactions: every verb that writes is refused before it does anything; looking is allowed.
begin;
\ir include/helpers.psql
select * from no_plan();
do $$ begin perform given('r1', 'running'); perform given('r2', 'ready'); end $$;
-- Temporary tables may be written in a read-only transaction, so pgTAP goes on. The settings end with the
-- subtransaction.
create function read_only(statement text) returns text language plpgsql as $$
begin
    perform set_config('transaction_read_only', 'on', true);
    execute statement;
    raise exception 'not refused';
exception when others then
    return sqlstate || ' ' || sqlerrm;
end $$;
select is(read_only(statement), format('25006 cannot execute scylla.%s() in a read-only transaction', verb), verb
          || ' is refused in a read-only transaction')
from (values
    ('submit',             $$select scylla.submit('q', '{}')$$),
    ('submit',             $$select scylla.submit('q', '{}', rn => 'r1', on_duplicate => 'ignore')$$),
    ('submit_many',        $$select scylla.submit_many('[{"queue": "q", "spec": 1}]')$$),
    ('submit_bulk',        $$select scylla.submit_bulk('q', array['1']::jsonb[])$$),
    ('lease',              $$select scylla.lease('q', 'w')$$),
    ('lease',              $$select scylla.lease('none', 'w')$$),
    ('lease_task',         $$select scylla.lease_task('r2', 'w')$$),
    ('heartbeat',          $$select scylla.heartbeat('r1', 'w')$$),
    ('heartbeat_many',     $$select scylla.heartbeat_many('{r1}', 'w')$$),
    ('complete',           $$select scylla.complete('r1', 'w')$$),
    ('complete_many',      $$select scylla.complete_many('{r1}', 'w')$$),
    ('complete_and_lease', $$select scylla.complete_and_lease('{r1}', 'w', 'q')$$),
    ('abort',              $$select scylla.abort('r1', 'w', '{"code": "x"}')$$),
    ('grant_role',         $$select scylla.grant_role('worker', 'public')$$),
    ('revoke_role',        $$select scylla.revoke_role('worker', 'public')$$),
    ('fail',               $$select scylla.fail('r1', 'w', '{"code": "x"}')$$),
    ('yield',              $$select scylla.yield('r1', 'w')$$),
    ('not_yet',            $$select scylla.not_yet('r1', 'w')$$),
    ('defer',              $$select scylla.defer('r1', 'w', '[]')$$),
    ('cancel',             $$select scylla.cancel('r1')$$),
    ('cancel_many',        $$select * from scylla.cancel_many('{}')$$),
    ('yield_many',         $$select * from scylla.yield_many('{}')$$),
    ('reschedule',         $$select scylla.reschedule('r2')$$),
    ('set_priority',       $$select scylla.set_priority('r2', 3)$$),
    ('resubmit',           $$select scylla.resubmit('r1')$$),
    ('resubmit_many',      $$select * from scylla.resubmit_many('q', preview => true)$$),
    ('resubmit_matching',  $$select * from scylla.resubmit_matching('{}')$$),
    ('rerun_plan',         $$select scylla.rerun_plan('p')$$),
    ('delete_task',        $$select scylla.delete_task('r1')$$),
    ('create_queue',       $$select scylla.create_queue('new')$$),
    ('alter_queue',        $$select scylla.alter_queue('q', '{}')$$),
    ('pause_queue',        $$select scylla.pause_queue('q')$$),
    ('resume_queue',       $$select scylla.resume_queue('q')$$),
    ('drop_queue',         $$select scylla.drop_queue('q')$$),
    ('register_worker',    $$select scylla.register_worker()$$),
    ('reset_expired',      $$select scylla.reset_expired()$$),
    ('purge',              $$select scylla.purge()$$),
    ('maintain',           $$select scylla.maintain()$$)) v (verb, statement);
select is(read_only(statement), 'P0001 not refused', 'allowed in a read-only transaction: ' || statement)
from unnest(array[$$select scylla.get_task('r1')$$, $$select * from scylla.list_tasks()$$, $$select * from scylla.find_tasks()$$, $$select * from scylla.cancel_many('{}', preview => true)$$, $$select * from scylla.resubmit_matching('{}', preview => true)$$, $$select * from scylla.dead_tasks()$$, $$select * from scylla.explain_waiting('r1')$$, 'select * from scylla.list_pool_queue()',
                  $$select * from scylla.list_tasks(status => 'ready')$$,
                  'select * from scylla.task', 'select * from scylla.queue_settings',
                  'select scylla.backoff(1)', $$select scylla.sel_eval('1')$$, $$select scylla.interpolate('a')$$, $$select * from scylla.validate_workflow('{}')$$, 'select * from scylla.check()']) statement;
select all_is_sound();
select * from finish();
rollback;
