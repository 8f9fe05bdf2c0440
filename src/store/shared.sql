-- What statements of all subjects may use.

-- @granted(roles, word, privilege, role)
-- The roles of a privilege (text[]), with this role if the privilege is meant.
case when :privilege = :word then array_append(array_remove(:roles, :role), :role) else :roles end

-- @revoked(roles, word, privilege, role)
case when :privilege = :word then nullif(array_remove(:roles, :role), '{}') else :roles end
