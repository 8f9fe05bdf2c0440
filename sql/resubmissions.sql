create or replace view scylla.resubmissions with (security_barrier) as
    select o.rn, o.queue, n.rn as new_rn, c.resubmitted
    from scylla.task_copy c
    join scylla._spec o on o.id = c.original
    left join scylla._spec n on n.id = c.copy;

comment on view scylla.resubmissions is 'Tasks that were resubmitted, in the queues that the reader may view.';
comment on column scylla.resubmissions.rn is 'The task that had ended.';
comment on column scylla.resubmissions.queue is 'Its queue.';
comment on column scylla.resubmissions.new_rn is
    'The task that does its work again; null: it is gone, or the reader may not view it.';
comment on column scylla.resubmissions.resubmitted is 'When it was resubmitted.';
