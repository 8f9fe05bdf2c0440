-- Who owns a queue or has a right on it: rows of scylla.queue.

-- words privilege model::Privilege model::k_privilege_names model/privilege.h

-- @grantees(privilege)
case :privilege
    when 'submit' then submitters
    when 'work' then workers
    when 'view' then viewers
    when 'depend' then dependers
    else admins
end

-- grant_to(id int4, privilege privilege, role text)
-- Does nothing if the role has it.
update scylla.queue
set submitters = @granted(submitters, 'submit', :privilege, :role),
    workers = @granted(workers, 'work', :privilege, :role),
    viewers = @granted(viewers, 'view', :privilege, :role),
    dependers = @granted(dependers, 'depend', :privilege, :role),
    admins = @granted(admins, 'admin', :privilege, :role)
where id = :id and (:role = any (@grantees(:privilege))) is not true;

-- revoke_from(id int4, privilege privilege, role text)
-- Does nothing if the role has it not.
update scylla.queue
set submitters = @revoked(submitters, 'submit', :privilege, :role),
    workers = @revoked(workers, 'work', :privilege, :role),
    viewers = @revoked(viewers, 'view', :privilege, :role),
    dependers = @revoked(dependers, 'depend', :privilege, :role),
    admins = @revoked(admins, 'admin', :privilege, :role)
where id = :id and :role = any (@grantees(:privilege));

-- set_owner(id int4, owner text)
update scylla.queue set owner = :owner::name where id = :id;
