-- Triggers: sets of signals that start tasks and plans.

create or replace function scylla.create_trigger(name text, signals jsonb, action jsonb, condition jsonpath = null, grace interval = null) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_create_trigger';
comment on function scylla.create_trigger is
'Creates a trigger: for every set of signals that match and join, the action is carried out once, as the role that calls this.
  name       1..150 characters; tasks and plans are named name/number of the latest signal
  signals    an array of 1..8 objects {"signal": name, "match": {...}, "join": [parameters]}; match as in wait_for. The signals of a
             set have equal values in their join parameters, by place, so all have the same number of them
  action     {"submit": {"queue": ..., "spec": ...}}: arguments of submit(); or {"plan": [...]}: tasks as for schedule_plan(). The
             signals are args, in the order of the array; in a plan, of the tasks that depend on no other task of it
  condition  a jsonpath predicate over the array of the signals; if it is not true, the set is used up and the action is not carried out
  grace      how long after the last signal of a set the action may still be carried out: older sets, which come after a
             pause, a failure or a time without a monitor, are used up without it; null: no bound
A trigger sees signals that are sent after its transaction has committed. A signal is in one set of a trigger at most; the oldest
ones come first. Errors: 42710 the name is taken; 42501 no privilege wait on a signal; 22023 bad argument; and the errors of submit.';

create or replace function scylla.drop_trigger(name text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_drop_trigger';
comment on function scylla.drop_trigger is
'Removes a trigger and the signals that wait in it for their partners. Its tasks stay. Errors: 42704 no such trigger that the caller may change.';

create or replace function scylla.pause_trigger(name text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_pause_trigger';
comment on function scylla.pause_trigger is
'Pauses a trigger: it collects signals, but carries out no action. Errors: 42704 no such trigger that the caller may change.';

create or replace function scylla.resume_trigger(name text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_resume_trigger';
comment on function scylla.resume_trigger is
'Resumes a trigger: it carries out its action for the sets that have come in the meantime, and retries failed sets at once.
Errors: 42704 no such trigger that the caller may change.';

create or replace function scylla.clear_trigger(name text, seq bigint = null) returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_clear_trigger';
comment on function scylla.clear_trigger is
'Removes from a trigger the signals that wait for their partners, and the sets for which its action has failed. Returns the number of both.
  seq  the number of a signal; null: all
Errors: 42704 no such trigger that the caller may change.';
