-- What roles see of triggers. Columns are only ever appended.

create or replace view scylla.trigger with (security_barrier) as
    select t.name, t.owner::text as owner, t.paused, t.signals,
           case when jsonb_typeof(t.action) = 'array' then jsonb_build_object('plan', t.action)
                when t.action ? 'workflow' and not t.action ? 'queue' then t.action
                else jsonb_build_object('submit', t.action) end as action, t.condition, t.created,
           (select count(distinct a.seq) from scylla.signal_arrival a where a.trigger = t.id) as waiting,
           (select count(*) from scylla.signal_trigger_failure f where f.trigger = t.id) as failing,
           t.fired, t.skipped, t.last_fired, t.last_error, t.failed,
           t.grace, t.missed
    from scylla.signal_trigger t
    where scylla._may_view(t.owner, null, null);
comment on view scylla.trigger is 'Triggers of the current user and the roles it is a member of.';
comment on column scylla.trigger.name is 'Its name.';
comment on column scylla.trigger.owner is 'The role that created it, as which its action is carried out.';
comment on column scylla.trigger.paused is 'Whether it collects signals without carrying out its action.';
comment on column scylla.trigger.signals is 'The signals that it joins.';
comment on column scylla.trigger.action is 'What it does for each set of signals.';
comment on column scylla.trigger.condition is 'What must be true of a set; null: nothing.';
comment on column scylla.trigger.created is 'When it was created.';
comment on column scylla.trigger.waiting is 'Signals that wait for their partners.';
comment on column scylla.trigger.failing is 'Sets for which its action has failed and is retried.';
comment on column scylla.trigger.fired is 'How often its action has been carried out.';
comment on column scylla.trigger.skipped is 'How often its condition was not true.';
comment on column scylla.trigger.last_fired is 'When its action was last carried out.';
comment on column scylla.trigger.last_error is 'Why its action has failed last.';
comment on column scylla.trigger.failed is 'When that was.';
comment on column scylla.trigger.grace is 'How long after the last signal of a set its action may be carried out; null: no bound.';
comment on column scylla.trigger.missed is 'How many sets were older than that, so that its action was not carried out.';

create or replace view scylla.trigger_signal with (security_barrier) as
    select t.name as trigger, a.input, s.name as signal, s.id as seq, s.sent, s.params, a.join_key
    from scylla.signal_arrival a
    join scylla.signal_trigger t on t.id = a.trigger and scylla._may_view(t.owner, null, null)
    join scylla.signal_sent s on s.id = a.seq
    join scylla.signal_name n on n.name = s.name and scylla._may_view(n.owner, n.waiters, n.admins);
comment on view scylla.trigger_signal is
'The signals that wait for their partners in the triggers of the current user and the roles it is a member of.';
comment on column scylla.trigger_signal.trigger is 'The trigger.';
comment on column scylla.trigger_signal.input is 'The place of the signal in the array signals of the trigger, from 1.';
comment on column scylla.trigger_signal.signal is 'The name of the signal.';
comment on column scylla.trigger_signal.seq is 'Its number.';
comment on column scylla.trigger_signal.sent is 'When it was sent.';
comment on column scylla.trigger_signal.params is 'Its parameters.';
comment on column scylla.trigger_signal.join_key is 'The values by which it joins.';

create or replace view scylla.trigger_failure with (security_barrier) as
    select t.name as trigger, f.seqs, f.failed, f.attempts, f.retry_at, f.error
    from scylla.signal_trigger_failure f
    join scylla.signal_trigger t on t.id = f.trigger and scylla._may_view(t.owner, null, null);
comment on view scylla.trigger_failure is
'Sets of signals for which the action of a trigger has failed, in the triggers of the current user and the roles it is a member of.';
comment on column scylla.trigger_failure.trigger is 'The trigger.';
comment on column scylla.trigger_failure.seqs is 'The numbers of the signals.';
comment on column scylla.trigger_failure.failed is 'When the action failed first.';
comment on column scylla.trigger_failure.attempts is 'How often it has failed.';
comment on column scylla.trigger_failure.retry_at is 'When it is tried again.';
comment on column scylla.trigger_failure.error is 'Why it failed last.';
