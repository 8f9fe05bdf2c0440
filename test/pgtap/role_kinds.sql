-- grant_role, revoke_role, role_kinds. (What the roles of each kind can do is in privileges.sql.)
begin;
\ir include/helpers.psql
select * from no_plan();

create role scylla_test_role;
create role "scylla test; role's";
create role scylla_test_owner;

-- The kinds of which a role has everything; and how many privileges it has in all.
create function kinds_of(role text) returns text language sql as $$
    select string_agg(kind, ' ' order by kind) from (
        select kind from scylla.role_kinds() where kind is not null group by kind
        having bool_and(case privilege when 'SELECT' then has_table_privilege(role, 'scylla.' || object, 'select')
                        else has_function_privilege(role, (select p.oid from pg_proc p where proname = object and pronamespace = 'scylla'::regnamespace), 'execute') end)) k
$$;
create function privileges_of(role text) returns bigint language sql as $$
    select count(*) from (select proacl as acl from pg_proc where pronamespace = 'scylla'::regnamespace
                          union all select relacl from pg_class where relnamespace = 'scylla'::regnamespace
                          union all select nspacl from pg_namespace where nspname = 'scylla') o
    cross join lateral aclexplode(o.acl) g where g.grantee = role::regrole
$$;

-- ---- the table -------------------------------------------------------------------------------------------------------

select set_eq($$select distinct object from scylla.role_kinds() where privilege = 'EXECUTE' and object !~ '^_'$$,
              $$select proname::text from pg_proc where pronamespace = 'scylla'::regnamespace and proname !~ '^_'$$,
              'every function is in the table of kinds, and nothing else');
select set_eq($$select distinct object from scylla.role_kinds() where privilege = 'SELECT'$$,
              $$select relname::text from pg_class where relnamespace = 'scylla'::regnamespace and relkind = 'v' and relname !~ '^_'$$,
              'every view is in the table of kinds, and nothing else');
-- They act on what belongs to anybody, or decide on rights.
select set_eq($$select object from scylla.role_kinds() where kind is null$$,
              array['advance', 'maintain', 'purge', 'reset_expired', 'run_schedules', 'check', 'grant_role', 'revoke_role', 'role_kinds'],
              'no other function is of no kind');
select set_eq($$select object from scylla.role_kinds() where kind = 'monitoring'$$,
              $$select proname::text from pg_proc p cross join lateral aclexplode(p.proacl) g
                where pronamespace = 'scylla'::regnamespace and g.grantee = 'pg_monitor'::regrole
                union all
                select relname from pg_class c cross join lateral aclexplode(c.relacl) g
                where relnamespace = 'scylla'::regnamespace and g.grantee = 'pg_monitor'::regrole$$,
              'the kind monitoring is what pg_monitor may do');

-- ---- granting --------------------------------------------------------------------------------------------------------

select lives_ok($$select scylla.grant_role('worker', 'scylla_test_role')$$, 'a kind can be granted');
select is(kinds_of('scylla_test_role'), 'worker', 'the role has it, and no other');
select lives_ok($$select scylla.grant_role('worker', 'scylla_test_role')$$, 'it can be granted again');
select lives_ok($$select scylla.grant_role('operator', 'scylla_test_role')$$, 'a role can have several kinds');
select is(kinds_of('scylla_test_role'), 'console_reader operator reader worker', 'an operator is also a reader');
select lives_ok($$select scylla.revoke_role('operator', 'scylla_test_role')$$, 'a kind can be revoked');
select is(kinds_of('scylla_test_role'), null, 'a function of two kinds, has_live_tasks for one, goes with either of them');
select scylla.grant_role('worker', 'scylla_test_role');
select is(kinds_of('scylla_test_role'), 'worker', 'the kind that is left is whole again when it is granted again');
select lives_ok($$select scylla.revoke_role('event_reader', 'scylla_test_role')$$, 'what a role does not have can be revoked');
select is(kinds_of('scylla_test_role'), 'worker', 'what the role has stays');
select is(has_schema_privilege('scylla_test_role', 'scylla', 'usage'), true, 'USAGE on the schema stays with it');
select scylla.revoke_role('worker', 'scylla_test_role');
select is(privileges_of('scylla_test_role'), 0::bigint, 'when the last kind is revoked, no privilege is left');
select lives_ok('drop role scylla_test_role', 'a role without kinds can be dropped');
create role scylla_test_role;

select lives_ok($$select scylla.grant_role('reader', 'scylla test; role''s')$$, 'a role may have any name');
select is(kinds_of('scylla test; role''s'), 'reader', 'a role with such a name gets the kind');
select lives_ok($$select scylla.grant_role('monitoring', 'scylla_test_role')$$, 'the kind monitoring can be granted');
select is(pg_has_role('scylla_test_role', 'pg_monitor', 'member'), true, 'it is membership in pg_monitor');
select scylla.revoke_role('monitoring', 'scylla_test_role');
select is(pg_has_role('scylla_test_role', 'pg_monitor', 'member'), false, 'membership in pg_monitor can be revoked');
select lives_ok($$select scylla.grant_role('event_reader', 'public')$$, 'a kind can be granted to all roles');
select is(has_function_privilege('scylla_test_role', 'scylla.read_events(text, integer)', 'execute'), true, 'every role has a function that is granted to public');
select scylla.revoke_role('event_reader', 'public');
select is(has_schema_privilege('scylla_test_role', 'scylla', 'usage'), false, 'until it is revoked');

-- ---- errors ----------------------------------------------------------------------------------------------------------

select refuses_argument(format('select scylla.%s_role(%L, ''scylla_test_role'')', verb, kind), 'kind', coalesce('"' || kind || '"', 'null'),
    'It must be "worker", "reader", "client", "scheduler", "author", "operator", "queue_owner", "event_reader", "monitoring", "console_reader" or "console_operator".')
from unnest(array['grant', 'revoke']) verb, unnest(array['wroker', '', 'Worker', 'pg_monitor', null]) kind;
select checks_name('select scylla.grant_role(''worker'', $1)', 'role');
select throws_ok(format('select scylla.%s_role(''worker'', %L)', verb, name), '42704', format('role "%s" does not exist', name),
                 'a role that does not exist is PostgreSQL''s own error')
from unnest(array['grant', 'revoke']) verb, unnest(array['scylla_nobody', repeat('r', 64), 'none', 'current_user']) name;

grant usage on schema scylla to scylla_test_role;
grant execute on function scylla.grant_role, scylla.revoke_role to scylla_test_role;
grant execute on function scylla.lease to scylla_test_role with grant option;
select set_config('role', 'scylla_test_role', true);
select throws_ok(format('select scylla.%s_role(''worker'', ''scylla_test_owner'')', verb), '42501', 'must be owner of extension "scylla"',
                 verb || '_role is for the owner of the extension: EXECUTE on it and grant options are not enough')
from unnest(array['grant', 'revoke']) verb;
select set_config('role', 'none', true);

-- An owner that is no superuser, and its members.
do $$
declare
    object record;
begin
    for object in
        select format('%s scylla.%I', case relkind when 'v' then 'view' when 'S' then 'sequence' else 'table' end, relname) as name from pg_class
        where relnamespace = 'scylla'::regnamespace and relkind in ('r', 'v')
        union all
        select format('routine %s', oid::regprocedure) from pg_proc where pronamespace = 'scylla'::regnamespace and prokind <> 'a'
        union all
        select 'schema scylla'
    loop
        execute format('alter %s owner to scylla_test_owner', object.name);
    end loop;
end $$;
create role scylla_test_member in role scylla_test_owner;
select set_config('role', 'scylla_test_member', true);
select lives_ok($$select scylla.grant_role('client', 'scylla_test_role')$$, 'a member of the owner grants a kind');
select throws_ok($$select scylla.grant_role('monitoring', 'scylla_test_role')$$, '42501', null, 'a member of the owner cannot grant pg_monitor, in which it has no part');
select set_config('role', 'none', true);
select ok(kinds_of('scylla_test_role') ~ 'client', 'the role has the kind');
select set_config('role', 'scylla_test_member', true);
select lives_ok($$select scylla.revoke_role('client', 'scylla_test_role')$$, 'a member of the owner revokes a kind');
select set_config('role', 'none', true);
select is(kinds_of('scylla_test_role'), null, 'it is gone');

select * from finish();
rollback;
