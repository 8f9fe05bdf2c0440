-- What roles see of backfills. Columns are only ever appended.

create or replace view scylla.workflow_backfill with (security_barrier) as
    select b.id as backfill, b.workflow, b.version,
           case when b.ended is not null and n.cancelled > 0 then 'CANCELLED' when b.ended is not null then 'ENDED'
                when b.paused then 'PAUSED' else 'RUNNING' end as status,
           n.items, n.pending, n.live, n.succeeded, n.failed, n.stopped, n.refused, n.skipped, n.cancelled,
           b.concurrency, b.yields, b.role::text as role, b.created, b.ended, b.error
    from scylla.workflow_backfill_state b
    join scylla.workflow_head h on h.id = b.workflow
    cross join lateral (
        select count(*) as items, count(*) filter (where i.state = 'PENDING') as pending, count(*) filter (where r.id is not null and r.ended is null) as live,
               count(*) filter (where r.status = 'SUCCEEDED') as succeeded, count(*) filter (where r.status in ('FAILED', 'TIMED_OUT')) as failed,
               count(*) filter (where r.status = 'STOPPED') as stopped, count(*) filter (where i.state = 'REFUSED') as refused,
               count(*) filter (where i.state = 'SKIPPED') as skipped, count(*) filter (where i.state = 'CANCELLED') as cancelled
        from scylla.workflow_backfill_item_state i
        left join scylla.workflow_run_state r on r.id = i.run
        where i.backfill = b.id) n
    where scylla._may_view(h.owner, h.viewers || h.runners, h.admins);
comment on view scylla.workflow_backfill is 'The backfills of the workflows on which the current user has a privilege.';
comment on column scylla.workflow_backfill.backfill is 'Its number.';
comment on column scylla.workflow_backfill.workflow is 'The id of the workflow.';
comment on column scylla.workflow_backfill.version is 'The version of the workflow that it runs.';
comment on column scylla.workflow_backfill.status is
    'RUNNING; PAUSED: nothing more is started; ENDED: all that it started has ended; CANCELLED: so, and some of it was not started.';
comment on column scylla.workflow_backfill.items is 'Number of its items; items whose runs are no longer kept are not counted.';
comment on column scylla.workflow_backfill.pending is 'Items that have not been started yet.';
comment on column scylla.workflow_backfill.live is 'Items whose run has not ended.';
comment on column scylla.workflow_backfill.succeeded is 'Items that have SUCCEEDED.';
comment on column scylla.workflow_backfill.failed is 'Items that have FAILED or TIMED_OUT.';
comment on column scylla.workflow_backfill.stopped is 'Items that were STOPPED.';
comment on column scylla.workflow_backfill.refused is 'Items that could not be started.';
comment on column scylla.workflow_backfill.skipped is 'Items that were skipped because there was already a run with these parameters.';
comment on column scylla.workflow_backfill.cancelled is 'Items that had not been started when cancel_backfill() was called.';
comment on column scylla.workflow_backfill.concurrency is 'Maximum number of its runs at the same time.';
comment on column scylla.workflow_backfill.yields is 'Whether other runs of the workflow go first.';
comment on column scylla.workflow_backfill.role is 'The role as which its runs are started: the one that created it or last resumed it.';
comment on column scylla.workflow_backfill.created is 'When it was created.';
comment on column scylla.workflow_backfill.ended is 'When the last of its runs ended; null: not yet.';
comment on column scylla.workflow_backfill.error is 'Why it was paused: a role or a right that its runs need no longer exists, or all runs of the workflow were stopped; null: a user paused it, or it is not paused.';

create or replace view scylla.workflow_backfill_item with (security_barrier) as
    select i.backfill, i.number, b.workflow, i.params, coalesce(r.status, i.state) as status, r.instance, r.run, r.started, r.ended, i.error
    from scylla.workflow_backfill_item_state i
    join scylla.workflow_backfill_state b on b.id = i.backfill
    join scylla.workflow_head h on h.id = b.workflow
    left join scylla.workflow_run_state r on r.id = i.run
    where scylla._may_view(h.owner, h.viewers || h.runners, h.admins);
comment on view scylla.workflow_backfill_item is 'The items of backfills, and their runs.';
comment on column scylla.workflow_backfill_item.backfill is 'The backfill.';
comment on column scylla.workflow_backfill_item.number is 'The place of the item, from 1. Items start in this order.';
comment on column scylla.workflow_backfill_item.workflow is 'The id of the workflow.';
comment on column scylla.workflow_backfill_item.params is 'The parameters of its run.';
comment on column scylla.workflow_backfill_item.status is
    'That of its run, or PENDING, REFUSED (it could not be started), SKIPPED (there was a run already) or CANCELLED.';
comment on column scylla.workflow_backfill_item.instance is 'The instance; null: it has none.';
comment on column scylla.workflow_backfill_item.run is 'The number of its last run; null: it has none.';
comment on column scylla.workflow_backfill_item.started is 'When the run began; null: not yet.';
comment on column scylla.workflow_backfill_item.ended is 'When the run ended; null: not yet.';
comment on column scylla.workflow_backfill_item.error is 'Why it could not be started; null: it was started, or will be.';
