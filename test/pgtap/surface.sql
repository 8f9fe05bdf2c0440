-- The whole SQL surface, held against the rules that keep it safe from its callers' search_path, from injection and from readers who
-- look too closely. A new function or view is held against them, too.
begin;
\ir include/helpers.psql
select * from no_plan();

create temp table routine as
select p.oid, p.oid::regprocedure::text as name, l.lanname as language, p.prosecdef, p.proconfig, p.proleakproof,
       -- without comments and strings
       regexp_replace(regexp_replace(p.prosrc, '--[^\n]*', '', 'g'), '''[^'']*''', '''''', 'g') as body,
       p.prosqlbody is not null as atomic
from pg_proc p join pg_language l on l.oid = p.prolang
where p.pronamespace = 'scylla'::regnamespace and p.prokind <> 'a'; -- an aggregate is made of functions
create temp table view_ as
select c.oid, c.oid::regclass::text as name, coalesce(c.reloptions, '{}') as options, pg_get_viewdef(c.oid) as definition
from pg_class c where c.relnamespace = 'scylla'::regnamespace and c.relkind in ('v', 'm');
select cmp_ok((select count(*) from routine), '>', 30::bigint, 'there are functions to look at');
select cmp_ok((select count(*) from view_), '>', 8::bigint, 'and views');

-- ---- functions -----------------------------------------------------------------------------------------------------

select is_empty($$select name, language from routine where language not in ('c', 'sql', 'plpgsql')$$,
                'no function is in a language that could be more than the database');
select is_empty($$select name from routine where language <> 'c' and not atomic
                  and 'search_path=pg_catalog, pg_temp' <> all (coalesce(proconfig, '{}'))$$,
                'every function whose text is parsed when it runs has its own search_path, with pg_temp last');
select is_empty($$select name from routine where prosecdef
                  and 'search_path=pg_catalog, pg_temp' <> all (coalesce(proconfig, '{}'))$$,
                'above all one that runs as its owner');
select is_empty($$select name from routine where prosecdef and (language = 'c' or name !~ '"check"')$$,
                'which only check() does');
select is_empty($$select name, m[1] from routine, regexp_matches(body, '\m(execute\M[^;]*)', 'gi') m
                  where language = 'plpgsql'$$,
                'no statement is put together from its arguments');
select is_empty($$select name from routine where language <> 'c' and body ~* '\m(set_config|set\s+(local\s+)?(role|search_path|session))\M'$$,
                'no function changes who it is, or where it looks, by SQL');
select is_empty($$select name from routine where proleakproof$$, 'none promises the planner more than it keeps');
select is_empty($$select name from routine r where language <> 'c'
                  and exists (select from pg_proc p where p.oid = r.oid and p.provariadic <> 0)$$,
                'none takes any number of arguments');

-- What a backslash in an ordinary string means is up to the session's standard_conforming_strings.
create function test.loose_backslashes(source text) returns boolean language sql as $$
    select regexp_replace(regexp_replace(source, '--[^\n]*', '', 'g'), 'E''([^''\\]|\\.|'''')*''(\s*\n\s*''([^''\\]|\\.|'''')*'')*', '', 'g') ~ '\\'
$$;
select is_empty($$select name from routine join pg_proc p using (oid) where language <> 'c' and not atomic and test.loose_backslashes(p.prosrc)$$,
                'no function has a backslash in a string that is not an E string');
select ok(test.loose_backslashes(source), 'such a backslash is found: ' || source) from unnest(array[$$'\'$$, $$E'\\' || '\d'$$, $$'a'\$$]) source;

-- What such a statement would look like is found: the tests above can fail.
create function test.clumsy(name text) returns void language plpgsql as $$
begin
    execute 'drop table ' || name;
end $$;
select isnt_empty($$select from pg_proc, regexp_matches(prosrc, '\m(execute\M[^;]*)', 'gi') where proname = 'clumsy'$$,
                  'a clumsy function is found out');

-- ---- views ---------------------------------------------------------------------------------------------------------

-- The tables that a view reads itself, and the functions that it calls.
create temp table reads as
select distinct v.name, d.refobjid::regclass::text as table_
from view_ v
join pg_rewrite r on r.ev_class = v.oid
join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
join pg_class t on t.oid = d.refobjid and t.relkind = 'r' and t.relnamespace = 'scylla'::regnamespace;
create temp table calls as
select distinct v.name, d.refobjid as function
from view_ v
join pg_rewrite r on r.ev_class = v.oid
join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_proc'::regclass
join pg_proc p on p.oid = d.refobjid and p.pronamespace = 'scylla'::regnamespace;

-- A view that is no barrier becomes one with those that read it: what it reads and calls is theirs.
create temp view barrier as
select name from view_ where options && array['security_barrier=true', 'security_barrier=on', 'security_barrier'];
create temp table reader as
with recursive part (name, reader) as (
    select name, name from view_
    union
    select p.name, u.name
    from part p
    join view_ v on v.name = p.reader and v.name not in (select name from barrier)
    join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = v.oid and d.classid = 'pg_rewrite'::regclass
    join pg_rewrite r on r.oid = d.objid and r.ev_class <> v.oid
    join view_ u on u.oid = r.ev_class)
select * from part where name <> reader or name in (select name from barrier);
select set_eq($$select name from reads where name not in (select name from barrier)$$, array['scylla._spec', 'scylla._outcome', 'scylla._pool', 'scylla._stat_workflow', 'scylla._stat_trigger', 'scylla._stat_clock'],
              'a view that reads a table lets nobody see what it hides: it is a security barrier, or what some have in common');
select is_empty($$select name, reader from reader where name in (select name from reads) and reader <> 'scylla._outcome'
                  and reader not in (select name from barrier)$$, 'which nobody else reads');
select is_empty($$select r.reader from reads join reader r using (name) join view_ v on v.name = r.reader
                  join pg_rewrite w on w.ev_class = v.oid
                  where substring(w.ev_action::text from '.*:setOperations (\S+)') <> '<>'$$,
                'and is as a whole no union, for which the planner would forget that');
create temp view united as select 1 as one from (select 1 union select 2) u union all select 2;
create temp view inside as select 1 as one from (select 1 union all select 2) u;
select is((select array_agg(substring(ev_action::text from '.*:setOperations (\S+)') <> '<>' order by ev_class::regclass::text) from pg_rewrite
           where ev_class in ('united'::regclass, 'inside'::regclass)), '{f,t}', 'which is told from a union inside of it');
select is_empty($$select distinct r.reader from reads join reader r using (name)
                  where r.reader not in (select a.reader from calls c join reader a using (name)
                                         where c.function in ('scylla._may_view'::regproc, 'scylla._may_watch'::regproc))
                  and r.reader not in ('scylla.schedules', 'scylla.job_template')$$,
                'and asks for the rights of who looks (schedules have an owner instead, job templates are for everybody)');
select is_empty($$select name from view_ where 'security_invoker=true' = any(options)$$,
                'no reader of a view needs a privilege on a table');
select is_empty($$select c.name, c.function::regproc from calls c
                  where not has_function_privilege('public', c.function, 'execute')
                  and c.name !~ '^scylla\.(stat_|schedules)'$$,
                'nor EXECUTE on what the view calls, but for statistics');

-- ---- what is out of reach ------------------------------------------------------------------------------------------

select is_empty($$select event_object_table, trigger_name from information_schema.triggers
                  where event_object_schema = 'scylla'$$, 'nothing runs by itself on the tables');
select is_empty($$select c.oid::regclass, r.rulename from pg_rewrite r join pg_class c on c.oid = r.ev_class
                  where c.relnamespace = 'scylla'::regnamespace and r.rulename <> '_RETURN'$$, 'nor by rules');
select is_empty($$select oid::regclass from pg_class where relnamespace = 'scylla'::regnamespace
                  and (relrowsecurity or exists (select from pg_policy where polrelid = pg_class.oid))$$,
                'no table has policies, which pg_dump would bring along a second time');
select is_empty($$select castsource::regtype from pg_cast join pg_proc p on p.oid = castfunc
                  where p.pronamespace = 'scylla'::regnamespace$$, 'no cast calls a function of ours unasked');
select is_empty($$select oid::regoperator from pg_operator where oprnamespace = 'scylla'::regnamespace$$,
                'there are no operators of ours to be mistaken for others');

select * from finish();
rollback;
