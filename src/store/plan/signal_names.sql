-- Names of signals, with their owners and rights: rows of scylla.signal_name.

-- find(name text) -> opt Rights (owner name, senders text[]?, waiters text[]?, admins text[]?)
select owner, senders, waiters, admins from scylla.signal_name where name = :name;

-- add(name text, owner name)
insert into scylla.signal_name (name, owner) values (:name, :owner) on conflict (name) do nothing;

-- set_owner(name text, owner text)
update scylla.signal_name set owner = :owner::name where name = :name;

-- grant_to(name text, privilege text, role text)
update scylla.signal_name
set senders = @granted(senders, 'send', :privilege, :role),
    waiters = @granted(waiters, 'wait', :privilege, :role),
    admins = @granted(admins, 'admin', :privilege, :role)
where name = :name;

-- revoke_from(name text, privilege text, role text)
update scylla.signal_name
set senders = @revoked(senders, 'send', :privilege, :role),
    waiters = @revoked(waiters, 'wait', :privilege, :role),
    admins = @revoked(admins, 'admin', :privilege, :role)
where name = :name;
