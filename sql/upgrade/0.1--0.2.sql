-- From 0.1 to 0.2: what `create or replace` cannot do. make puts this before all functions and views of the present version
-- (REPLACED in the Makefile), so this holds changes of tables, and drops what has another signature or other columns now.
\echo Use "ALTER EXTENSION scylla UPDATE" to load this file. \quit

comment on column scylla.task_plan.failed is 'A task of it was aborted: known when it is finished, or when that task was removed.';
comment on column scylla.task_plan.cancelled is
    'It was cancelled, or a task of it was, but for those that were skipped; known as for failed. Of a finished plan only one of both is true.';

-- A task that `skip` has cancelled tells why, as the error of one that `cascade` has aborted does; by that its plan knows it. Nobody
-- may look at outcomes meanwhile: who does in order to decide about gates locks task_spec.
lock table scylla.task_spec in share row exclusive mode;
update scylla.task_outcome o
set errors = pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object(
    'code', 'dependency-failed', 'args', pg_catalog.jsonb_build_object('provider', f.rn),
    'description', 'a task that this one depends on was ' || f.status))
from (select distinct on (g.task) g.task, s.rn, p.status
      from scylla.task_gate g join scylla.task_outcome p on p.id = g.provider join scylla.task_spec s on s.id = g.provider
      where g.on_failure = 's' and p.status in ('aborted', 'cancelled')
      order by g.task, p.finished, g.ord) f
where o.id = f.task and o.status = 'cancelled' and o.attempt = 0 and o.errors is null;
