-- Rights of roles: which functions and views they may use, and rights on queues.

create or replace function scylla.grant_role(kind text, role text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_grant_role';
comment on function scylla.grant_role is
'Grants a role, and its members, what a kind of role needs: USAGE on the schema, EXECUTE on functions, SELECT on views. On which queues,
workflows, pools and signals it may use them is decided by grant_queue() and the like. Needs to be the owner of the extension.
  kind  reader: looks at tasks, plans, workflows and all else
        worker: leases tasks, keeps and finishes the leases, waits
        client: submits tasks and plans, sends signals, starts jobs and workflows, looks at what becomes of them
        scheduler: creates schedules
        author: defines workflows, job templates, jobs and triggers, and runs them; a reader
        operator: on call: cancels, retries, pauses, restarts, skips; a reader that also sees statistics
        queue_owner: creates, changes and drops queues and pools, grants privileges on them
        event_reader: reads the events of queues and workflows
        monitoring: reads the statistics of everything; a member of pg_monitor
        console_reader: all that the console shows
        console_operator: all that the console does; an operator that also runs schedules
  role  its name exactly as in pg_roles, or ''public'' for every role
scylla.role_kinds() lists what each kind has. After an update of the extension grant again, for what is new.
Errors: 22023 no such kind; 42704 unknown role; 42501 not the owner of the extension.';

create or replace function scylla.revoke_role(kind text, role text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_revoke_role';
comment on function scylla.revoke_role is
'Revokes what grant_role() has granted, also what the role has as another kind, too: grant that kind again. What the role has through
other roles, or as owner of the extension or as superuser, stays. Errors as grant_role().';

create or replace function scylla.role_kinds(out kind text, out privilege text, out object text) returns setof record
    language c immutable parallel safe rows 700 as 'MODULE_PATHNAME', 'scylla_role_kinds';
comment on function scylla.role_kinds is
'What each kind of role gets by grant_role(): privilege is EXECUTE or SELECT, object is the name of a function or view. kind is null for
functions of no kind: they act on the whole database.';

-- ---- queues ----------------------------------------------------------------------------------------------------------

create or replace function scylla._may_view(owner name, viewers text[], admins text[]) returns boolean
    language c stable parallel safe as 'MODULE_PATHNAME', 'scylla_may_view';
comment on function scylla._may_view is
    'Whether the current user may view the tasks of a queue with these columns. For the views.';

create or replace function scylla._may_watch(owner name, viewers text[], admins text[]) returns boolean
    language c stable parallel safe as 'MODULE_PATHNAME', 'scylla_may_watch';
comment on function scylla._may_watch is
    'Whether the current user may see statistics of a queue with these columns. For the views.';

create or replace function scylla.grant_queue(queue text, role text, privilege text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_grant_queue';
comment on function scylla.grant_queue is
'Grants a role, and its members, a privilege on a queue; no error if it has it already. Needs admin.
  role       its name exactly as in pg_roles, or ''public'' for every role
  privilege  submit: submit and cancel tasks
             work: lease tasks, keep and finish the leases, wait
             view: see tasks and statistics
             depend: let tasks of any queue depend on its tasks, whose results they get
             admin: all of these, grant and revoke, change the settings, drop
Errors: 42704 unknown queue or role; 42501 no privilege; 22023 bad argument.';

create or replace function scylla.revoke_queue(queue text, role text, privilege text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_revoke_queue';
comment on function scylla.revoke_queue is
'Revokes a privilege. The role need not have it, nor exist any more. Rights through other roles, as owner or as superuser stay.
Needs admin. Errors: 42704 unknown queue; 42501 no privilege; 22023 bad argument.';

create or replace function scylla.set_queue_owner(queue text, owner text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_set_queue_owner';
comment on function scylla.set_queue_owner is
'Transfers a queue to another role. The caller must be its owner and able to become the new owner (SET ROLE), or a superuser.
Errors: 42704 unknown queue or role; 42501 no privilege; 22023 bad argument.';

-- Hidden from roles that may only submit or work: they learn their own rights by calling the functions.
create or replace view scylla.queue_grants with (security_barrier) as
    select q.name as queue, g.role, p.privilege
    from scylla.queue q,
         lateral (values ('owner', array[q.owner::text]), ('submit', q.submitters), ('work', q.workers),
                         ('view', q.viewers), ('admin', q.admins),
                         ('depend', q.dependers)) p (privilege, roles),
         lateral pg_catalog.unnest(p.roles) g (role)
    where scylla._may_view(q.owner, q.viewers, q.admins);
comment on view scylla.queue_grants is 'The privileges of roles on the queues whose tasks the current user may view.';
comment on column scylla.queue_grants.queue is 'The queue.';
comment on column scylla.queue_grants.role is 'The role; public: every role.';
comment on column scylla.queue_grants.privilege is 'owner, submit, work, view, depend or admin.';

