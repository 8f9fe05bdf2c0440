-- Callbacks and signals: conditions that tasks wait for with submit(wait_for => ...).

create or replace function scylla.create_callback(token text = null, expires interval = null) returns text
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_create_callback';
comment on function scylla.create_callback is
'Creates a callback: a condition that ends when a caller who knows its token resolves or rejects it. Returns the token.
  token    1..200 characters, unique among callbacks; null: 128 random bits
  expires  how long it can be resolved and rejected; null: without end
Errors: 42710 the token is taken; 22023 bad argument. Locks: waits for a transaction that is creating the same token.';

create or replace function scylla.resolve_callback(token text, value jsonb = null) returns boolean
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_resolve_callback';
comment on function scylla.resolve_callback is
'Resolves a callback: tasks that wait for it get the value among their args, and become ready if they wait for nothing else.
False: the callback had been resolved or rejected before; nothing changes. Needs only the token.
Errors: P0002 there is no such callback, or it has expired. Locks: waits for a transaction that is ending the same callback.';

create or replace function scylla.reject_callback(token text, error jsonb) returns boolean
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_reject_callback';
comment on function scylla.reject_callback is
'Rejects a callback: it has failed, and the on_failure of each task that waits for it decides what that means.
  error  an object {"code", "args", "message"}, as for abort(); it becomes the error of tasks that are aborted
False: the callback had been resolved or rejected before; nothing changes. Needs only the token.
Errors: P0002 there is no such callback, or it has expired; 22023 bad argument. Locks: as resolve_callback().';

create or replace function scylla.send_signal(name text, params jsonb = '{}', payload jsonb = null, request_id text = null)
    returns bigint
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_send_signal';
comment on function scylla.send_signal is
'Sends a signal when the transaction commits: it is kept, and conditions that it matches end. Returns its number; numbers rise, with
gaps.
  name        1..200 characters; a name belongs to the role that used it first (grant_signal)
  params      what conditions compare: an object of at most 16 texts (at most 500 bytes), numbers (100 digits), booleans and nulls
  payload     any other data, for the tasks that get the signal
  request_id  makes the call idempotent: if a signal of that name was sent with it before, nothing happens and its number is returned
Errors: 42501 no privilege send; 22023 bad argument. Locks: waits for a transaction that is sending the same name and request_id, or
is using the name for the first time.';

create or replace function scylla.grant_signal(name text, role text, privilege text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_grant_signal';
comment on function scylla.grant_signal is
'Grants a privilege on the signals of a name to a role and its members. Needs admin.
  role       its name exactly as in pg_roles, or ''public'' for everybody
  privilege  send: send signals
             wait: wait for signals and see them
             admin: both, grant and revoke
Errors: 42704 nobody has used the name, or unknown role; 42501 no privilege; 22023 bad argument.';

create or replace function scylla.revoke_signal(name text, role text, privilege text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_revoke_signal';
comment on function scylla.revoke_signal is
'Revokes a privilege on the signals of a name. Rights that the role has through other roles, as owner or as superuser stay. Needs
admin. Errors: 42704 nobody has used the name; 42501 no privilege; 22023 bad argument.';

create or replace function scylla.set_signal_owner(name text, owner text) returns void
    language c volatile parallel unsafe as 'MODULE_PATHNAME', 'scylla_set_signal_owner';
comment on function scylla.set_signal_owner is
'Transfers the name of a signal to another role. The caller must have admin and be able to become the new owner (SET ROLE), or be a
superuser. Errors: 42704 nobody has used the name, or unknown role; 42501 no privilege; 22023 bad argument.';
