
-- The grants on functions that were dropped and made anew. They are no initial privileges of the extension, which pg_dump would
-- leave out: so what the catalog says of these is put back.
do $$
declare
    given record;
    initial pg_catalog.pg_init_privs;
begin
    for given in
        select p.oid, p.oid::pg_catalog.regprocedure as routine, g.is_grantable,
               case g.grantee when 0 then 'public' else pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(g.grantee)) end as role
        from scylla._update_grants g
        join pg_catalog.pg_proc p on p.proname = g.proname and p.pronamespace = 'scylla'::pg_catalog.regnamespace
    loop
        select * into strict initial from pg_catalog.pg_init_privs
        where objoid = given.oid and classoid = 'pg_catalog.pg_proc'::pg_catalog.regclass and objsubid = 0;
        execute format('grant execute on function %s to %s%s', given.routine, given.role,
                       case when given.is_grantable then ' with grant option' else '' end);
        update pg_catalog.pg_init_privs set initprivs = initial.initprivs
        where objoid = given.oid and classoid = 'pg_catalog.pg_proc'::pg_catalog.regclass and objsubid = 0;
    end loop;
end
$$;
drop table scylla._update_grants;

-- The functions that called it call another one now.
drop function scylla._plan_picture(text, integer);
