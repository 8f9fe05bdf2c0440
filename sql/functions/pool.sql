-- Pools: limited resources that tasks need.

create or replace function scylla.create_pool(pool text, capacity jsonb, policy text = 'backfill', settings jsonb = '{}')
    returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_create_pool';
comment on function scylla.create_pool is
'Creates a pool: resources, and the amount of each. The caller owns it.
  pool      1..200 characters
  capacity  amounts by resource, {"memory_gb": 2000, "cores": 5000}: at most 32, each at least 0, with at most 15 digits before
            and 3 after the point
  policy    strict: the first task that does not fit stops the line; greedy: it is passed over; backfill: it is passed over by
            tasks that do not delay its planned start
  settings  max_bypass: after this many tasks have been placed before the head of the line, and if its start cannot be planned, what
            becomes free is kept for it (100); metrics_max_age: nothing is placed while the last report_usage() is older (null:
            reports are not needed)
Errors: 42710 the pool exists; 22023 bad argument. Locks: waits for a transaction that is creating the same pool.';

create or replace function scylla.alter_pool(pool text, changes jsonb) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_alter_pool';
comment on function scylla.alter_pool is
'Changes a pool. Needs admin. changes may have capacity, policy, max_bypass and metrics_max_age, as for create_pool(). A lower
capacity revokes nothing: tasks that hold more continue.
Errors: 42704 unknown pool; 42501 no privilege; 22023 bad argument. Locks: waits for a transaction that is changing the same pool.';

create or replace function scylla.drop_pool(pool text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_drop_pool';
comment on function scylla.drop_pool is
'Drops a pool that no live task needs. Needs admin.
Errors: 42704 unknown pool; 42501 no privilege; 2BP01 tasks that have not ended, or are being submitted,
need it. Locks: as alter_pool(); a submit that needs the pool waits until the transaction ends.';

create or replace function scylla.drain_pool(pool text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_drain_pool';
comment on function scylla.drain_pool is
'Stops placing tasks in a pool until resume_pool(). Running tasks continue. Needs admin.
Errors: 42704 unknown pool; 42501 no privilege. Locks: as alter_pool().';

create or replace function scylla.resume_pool(pool text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_resume_pool';
comment on function scylla.resume_pool is
'Places tasks in a pool again, after drain_pool(). Needs admin.
Errors: 42704 unknown pool; 42501 no privilege. Locks: as alter_pool().';

create or replace function scylla.report_usage(pool text, used jsonb, at timestamptz = null) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_report_usage';
comment on function scylla.report_usage is
'Reports how much of a pool is in use, by anyone. For each resource, the free amount is the capacity minus the larger of two amounts:
what is reserved, and what was reported plus what has been reserved since. The report with the latest time counts. Needs report.
  used  amounts by resource; a resource that is missing counts as 0
  at    the time of the measurement, not in the future, apart from a minute by which clocks may differ; null: now
Errors: 42704 unknown pool; 42501 no privilege; 22023 bad argument.';

create or replace function scylla.grant_pool(pool text, role text, privilege text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_grant_pool';
comment on function scylla.grant_pool is
'Grants a privilege on a pool to a role and its members. Needs admin.
  role       its name exactly as in pg_roles, or ''public'' for everybody
  privilege  use: submit tasks that need it
             report: report what is in use
             admin: both, and change, drain and drop it, place, grant and revoke
Errors: 42704 unknown pool or role; 42501 no privilege; 22023 bad argument. Locks: as alter_pool().';

create or replace function scylla.revoke_pool(pool text, role text, privilege text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_revoke_pool';
comment on function scylla.revoke_pool is
'Revokes a privilege on a pool. The role need not exist any more. Needs admin. Submitted tasks stay.
Errors: 42704 unknown pool; 42501 no privilege; 22023 bad argument. Locks: as alter_pool().';

create or replace function scylla.place(pool text = null, out rn text, out chosen text) returns setof record
    language c volatile parallel unsafe rows 100 as 'MODULE_PATHNAME', 'scylla_place';
comment on function scylla.place is
'Places the tasks that fit, and returns them: the task, and the pool that was chosen (null if it needs several at once). The monitor
does this at every commit that changes something, so the function is for servers without a monitor. Needs admin.
  pool  null: all pools on which the caller has the privilege admin
Errors: 42704 unknown pool; 42501 no privilege.';

create or replace function scylla._pool_lines(out task_class bigint, out reason text, out pool bigint, out task bigint,
                                              out planned timestamptz)
    returns setof record
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_pool_lines';
comment on function scylla._pool_lines is
    'Internal. Why the tasks of each class wait, and when the heads of lines are planned to start: what a pass would say now.';

create or replace function scylla._first_in_line(of_pool text, max_tasks integer, out pool text, out seq bigint) returns setof record
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_first_in_line';
comment on function scylla._first_in_line is 'Internal. The tasks of list_pool_queue().';
