-- What the monitor does, by hand: for servers that do not preload the library (call maintain() from cron), and for tests.

create or replace function scylla.reset_expired() returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_reset_expired';
comment on function scylla.reset_expired is
'Ends the leases whose deadline has passed: the task is ready again, or aborted when max_attempts is reached. Returns how many.
Leases that another transaction is just changing are left for the next time.';

create or replace function scylla.purge() returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_purge';
comment on function scylla.purge is
'Removes the tasks that ended longer ago than their queue''s retention (else scylla.retention), and events older than
scylla.event_retention. Returns how many tasks.';

create or replace function scylla.maintain() returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_maintain';
comment on function scylla.maintain is
'One round of the monitor: opens tasks that have become due, ends expired leases, removes old terminal tasks.';

