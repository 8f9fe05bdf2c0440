-- What roles see of breakpoints. Columns are only ever appended. The pause of a step means nothing any more when its run has ended, and
-- is not shown; its row goes with the instance.

create or replace view scylla.workflow_breakpoint with (security_barrier) as
    select b.workflow, b.step, nullif(b.version, 0) as version, nullif(b.instance, 0) as instance, nullif(b.run, 0) as run,
           nullif(b.iterations, '{}') as iterations, b.kind, b.author::text as author, b.created
    from scylla.workflow_hold b
    join scylla.workflow_head h on h.id = b.workflow
    where b.kind <> 'workflow' and scylla._may_view(h.owner, h.viewers || h.runners, h.admins)
      and (b.kind <> 'pause' or exists (select from scylla.workflow_run_state r where r.workflow = b.workflow and r.instance = b.instance
                                                                                  and r.run = b.run and r.ended is null));
comment on view scylla.workflow_breakpoint is 'Breakpoints and pauses of steps, in the workflows on which the current user has a privilege.';
comment on column scylla.workflow_breakpoint.workflow is 'The id of the workflow.';
comment on column scylla.workflow_breakpoint.step is 'The id of the step.';
comment on column scylla.workflow_breakpoint.version is 'The version of the workflow; null: all.';
comment on column scylla.workflow_breakpoint.instance is 'The number of the instance; null: in all.';
comment on column scylla.workflow_breakpoint.run is 'The number of the run; null: in all.';
comment on column scylla.workflow_breakpoint.iterations is 'As in scylla.workflow_step; null: in all, or the step is in no loop.';
comment on column scylla.workflow_breakpoint.kind is 'breakpoint; pause: made by pause_step(), it goes when the step is resumed or the run ends.';
comment on column scylla.workflow_breakpoint.author is 'The role that has set it, for the last time.';
comment on column scylla.workflow_breakpoint.created is 'When it was set.';
