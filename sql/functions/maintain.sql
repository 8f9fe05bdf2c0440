-- The monitor's work by hand: for servers that do not preload the library (call maintain() from cron), and for tests.

create or replace function scylla.reset_expired() returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_reset_expired';
comment on function scylla.reset_expired is
'Expires the leases whose deadline has passed: the task is ready again, or aborted when it has max_attempts failures. Returns their
number. Skips leases that another transaction is changing.';

create or replace function scylla.purge() returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_purge';
comment on function scylla.purge is
'Removes finished tasks whose retention (of their queue, else scylla.retention) has passed, and events older than
scylla.event_retention. Returns the number of tasks.';

create or replace function scylla.maintain() returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_maintain';
comment on function scylla.maintain is
    'Runs one round of the monitor: makes delayed tasks ready, expires leases, removes old tasks and events.';

