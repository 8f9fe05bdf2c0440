-- What roles see of signals and conditions. Columns are only ever appended. For their order and their subqueries see plan.sql.

create or replace view scylla.signal with (security_barrier) as
    select s.id as seq, s.name, s.sent, s.sender::text as sender, s.request_id, s.params, s.payload
    from scylla.signal_sent s
    where (select scylla._may_view(n.owner, n.waiters, n.admins) from scylla.signal_name n where n.name = s.name)
    order by s.id desc;
comment on view scylla.signal is
'Signals of the last scylla.signal_retention, of the names on which the current user has the privilege wait.';
comment on column scylla.signal.seq is 'Its number.';
comment on column scylla.signal.name is 'Its name.';
comment on column scylla.signal.sent is 'When it was sent.';
comment on column scylla.signal.sender is 'The role that sent it.';
comment on column scylla.signal.request_id is 'What makes sending it idempotent.';
comment on column scylla.signal.params is 'What conditions compare.';
comment on column scylla.signal.payload is 'What else it was sent with.';

create or replace view scylla.signal_grants with (security_barrier) as
    select n.name as signal, g.role, p.privilege
    from scylla.signal_name n,
         lateral (values ('owner', array[n.owner::text]), ('send', n.senders), ('wait', n.waiters), ('admin', n.admins))
             p (privilege, roles),
         lateral pg_catalog.unnest(p.roles) g (role)
    where scylla._may_view(n.owner, n.waiters, n.admins);
comment on view scylla.signal_grants is 'Who has which privilege on the signals that the current user may see.';
comment on column scylla.signal_grants.signal is 'The name of the signals.';
comment on column scylla.signal_grants.role is 'The role; public: everybody.';
comment on column scylla.signal_grants.privilege is 'owner, send, wait or admin.';

-- Each kind is a barrier of its own and the whole is none: as with scylla.task. A token is a secret: only the owner of a callback
-- sees it.
create or replace view scylla._callback_condition with (security_barrier) as
    select 'callback' as kind, c.token as name, null::jsonb as match, c.created, c.expires,
           case when e.id is null then case when c.expires <= now() then 'expired' else 'waiting' end
                when e.failed then 'rejected' else 'resolved' end as status,
           e.ended, e.value,
           (select count(*) from scylla.task_gate g join scylla.task_waiting w on w.id = g.task where g.provider = c.id)
               as waiters, c.id as seq
    from scylla.task_callback c
    left join scylla.task_condition_end e on e.id = c.id
    where scylla._may_view(c.owner, null, null)
    order by c.id desc;
comment on view scylla._callback_condition is 'A part of scylla.condition.';

create or replace view scylla._signal_condition with (security_barrier) as
    select 'signal' as kind, c.name, c.match, c.created, null::timestamptz as expires, 'waiting' as status,
           null::timestamptz as ended, null::jsonb as value,
           case when c.of_step then 1
                else (select count(*) from scylla.task_gate g join scylla.task_waiting w on w.id = g.task where g.provider = c.id)
           end as waiters, c.id as seq
    from scylla.signal_condition c
    where (select scylla._may_view(n.owner, n.waiters, n.admins) from scylla.signal_name n where n.name = c.name)
    order by c.id desc;
comment on view scylla._signal_condition is 'A part of scylla.condition.';

create or replace view scylla._check_condition with (security_barrier) as
    select 'check' as kind, q.name, s.spec as match, s.created, null::timestamptz as expires, 'waiting' as status,
           null::timestamptz as ended, null::jsonb as value,
           (select count(*) from scylla.task_gate g join scylla.task_waiting w on w.id = g.task where g.provider = c.id)
               as waiters, c.id as seq
    from scylla.task_check c
    left join scylla.task_spec s on s.id = c.id
    left join scylla.queue q on q.id = s.queue
    where (select scylla._may_view(o.owner, o.viewers, o.admins)
           from scylla.task_spec t join scylla.queue o on o.id = t.queue where t.id = c.id)
      and (select o.id from scylla.task_outcome o where o.id = c.id) is null
    order by c.id desc;
comment on view scylla._check_condition is 'A part of scylla.condition.';

create or replace view scylla.condition as
    select * from scylla._callback_condition union all select * from scylla._signal_condition
    union all select * from scylla._check_condition;
comment on view scylla.condition is
'Callbacks of the current user and the roles it is a member of, the conditions that wait for signals on which it has the
privilege wait, and the checks in queues that it may view.';
comment on column scylla.condition.kind is 'callback, signal or check.';
comment on column scylla.condition.name is 'The token, the name of the signal, or the queue of the check.';
comment on column scylla.condition.match is 'The parameters that a signal must have, or the spec of the check.';
comment on column scylla.condition.created is 'Since when it is there.';
comment on column scylla.condition.expires is 'Until when it can be resolved or rejected; null: without end.';
comment on column scylla.condition.status is 'waiting, resolved, rejected or expired.';
comment on column scylla.condition.ended is 'When it was resolved or rejected.';
comment on column scylla.condition.value is 'What it was resolved with, or the error.';
comment on column scylla.condition.waiters is 'How many tasks, or steps of workflows, wait for it.';
comment on column scylla.condition.seq is 'A number of its own: conditions created later have larger ones.';
