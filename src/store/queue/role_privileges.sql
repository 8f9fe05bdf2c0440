-- The privileges of roles on functions and views, which the server's catalogs have.

-- has_any(role text) -> one (found bool)
-- Whether it has a privilege on a function, a view or a table of the schema; public: whether every role has one. Functions of views
-- do not count: some of them are for every role.
select exists (
    select from (select proacl as acl from pg_proc where pronamespace = 'scylla'::regnamespace and not starts_with(proname, '_')
                 union all
                 select relacl from pg_class where relnamespace = 'scylla'::regnamespace) o
    cross join lateral aclexplode(o.acl) g
    where g.grantee = case when :role = 'public' then 0 else (select oid from pg_roles where rolname = :role) end) as found;
