-- What roles see of workflows. Columns are only ever appended.

create or replace view scylla.workflow with (security_barrier) as
    select h.id, h.owner::text as owner, h.properties, nullif(h.active_version, 0) as active_version, h.latest_version, h.latest_instance,
           h.strategy, h.concurrency, h.created, h.modified, h.activated, h.activated_by::text as activated_by, h.runners, h.viewers, h.admins,
           (select min(s.next_run) from scylla.schedule s where s.task ? 'workflow' and s.task ->> 'workflow' = h.id and not s.task ? 'queue') as next_start,
           p.created as paused, p.author::text as paused_by
    from scylla.workflow_head h
    left join scylla.workflow_hold p on p.workflow = h.id and p.kind = 'workflow'
    where scylla._may_view(h.owner, h.viewers || h.runners, h.admins);
comment on view scylla.workflow is 'The workflows on which the current user has a privilege.';
comment on column scylla.workflow.id is 'Its id.';
comment on column scylla.workflow.owner is 'The role that created it.';
comment on column scylla.workflow.properties is 'Its properties, which all versions share.';
comment on column scylla.workflow.active_version is 'The active version; null: none, the workflow is inactive.';
comment on column scylla.workflow.latest_version is 'The version that was created last.';
comment on column scylla.workflow.latest_instance is 'The number of the instance that was started last; 0: none.';
comment on column scylla.workflow.strategy is 'The rule of its run strategy.';
comment on column scylla.workflow.concurrency is 'How many instances may run at once.';
comment on column scylla.workflow.created is 'When its first version was created.';
comment on column scylla.workflow.modified is 'When it was last changed.';
comment on column scylla.workflow.activated is 'When a version was last activated, or the workflow deactivated; null: never.';
comment on column scylla.workflow.activated_by is 'The role that did so.';
comment on column scylla.workflow.runners is 'The roles that may run it; public: every role. Null: only the owner and admins.';
comment on column scylla.workflow.viewers is 'The roles that may see it.';
comment on column scylla.workflow.admins is 'The roles that may change it.';
comment on column scylla.workflow.next_start is 'When a time trigger starts it next; null: none does.';
comment on column scylla.workflow.paused is 'When pause_workflow() paused it; null: it is not paused.';
comment on column scylla.workflow.paused_by is 'The role that has paused it.';

create or replace view scylla.workflow_version with (security_barrier) as
    select t.workflow, t.version, t.version = h.active_version as is_active, t.definition, t.author::text as author, t.created, t.metadata
    from scylla.workflow_text t
    join scylla.workflow_head h on h.id = t.workflow
    where scylla._may_view(h.owner, h.viewers || h.runners, h.admins);
comment on view scylla.workflow_version is 'The versions of the workflows on which the current user has a privilege.';
comment on column scylla.workflow_version.workflow is 'The id of the workflow.';
comment on column scylla.workflow_version.version is 'The number of the version, from 1.';
comment on column scylla.workflow_version.is_active is 'Whether it is the active version.';
comment on column scylla.workflow_version.definition is 'The member "workflow" of the document.';
comment on column scylla.workflow_version.author is 'The role that created it.';
comment on column scylla.workflow_version.created is 'When it was created.';
comment on column scylla.workflow_version.metadata is 'The other members of the document but "properties".';

create or replace view scylla.workflow_properties_history with (security_barrier) as
    select p.workflow, p.changed, p.author::text as author, p.properties,
           lag(p.properties) over (partition by p.workflow order by p.id) as previous
    from scylla.workflow_properties p
    join scylla.workflow_head h on h.id = p.workflow
    where scylla._may_view(h.owner, h.viewers || h.runners, h.admins);
comment on view scylla.workflow_properties_history is 'Each change of the properties of the workflows on which the current user has a privilege.';
comment on column scylla.workflow_properties_history.workflow is 'The id of the workflow.';
comment on column scylla.workflow_properties_history.changed is 'When they were changed.';
comment on column scylla.workflow_properties_history.author is 'The role that did so.';
comment on column scylla.workflow_properties_history.properties is 'The properties since then.';
comment on column scylla.workflow_properties_history.previous is 'The properties before; null: it is the first version of the workflow.';
