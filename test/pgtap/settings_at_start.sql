-- preloaded only: these settings size shared memory, so they exist only where the library is preloaded.
begin;
\ir include/helpers.psql
select * from no_plan();

select results_eq(
    $$select name, vartype, boot_val, unit, context, min_val, max_val from pg_settings
      where name like 'scylla.%' and context = 'postmaster' order by name$$,
    $$values ('scylla.max_monitors', 'integer', '4',    null, 'postmaster', '1',  '64'),
             ('scylla.max_queues',   'integer', '1024', null, 'postmaster', '16', '1000000'),
             ('scylla.max_rate_keys', 'integer', '16384', null, 'postmaster', '16', '10000000')$$,
             'the settings that are read at server start');
select throws_ok(format('set local %s = 100', name), '55P02',
                 format('parameter "%s" cannot be changed without restarting the server', name),
                 name || ' needs a restart')
from unnest(array['scylla.max_queues', 'scylla.max_monitors', 'scylla.max_rate_keys']) name;

select * from finish();
rollback;
