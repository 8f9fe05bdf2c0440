-- Triggers, rules, constraints and row security have no effect on tables whose rows are written directly, unique indexes make calls
-- fail, and a crash empties unlogged tables. A preloaded library refuses them; check() reports those that came without it.
begin;
\ir include/helpers.psql
select * from no_plan();

create function noop() returns trigger language plpgsql as 'begin return null; end';
create table mine (id bigint primary key, parent bigint);

-- What a statement does: its SQLSTATE, and what check() reports after it. It is undone.
create function attempt(statement text, out code text, out message text, out checked text[], out hint text) language plpgsql as $$
begin
    begin
        execute statement;
        select array_agg(problem) into checked from scylla.check();
        raise exception 'to roll back' using errcode = 'XX999';
    exception
        when sqlstate 'XX999' then code := '00000';
        when others then
            code := sqlstate;
            message := sqlerrm;
            get stacked diagnostics hint = pg_exception_hint;
    end;
end $$;

create temp table attempted (ord int generated always as identity, relname text, statement text, reported text);
insert into attempted (relname, statement, reported) values
    ('task_spec', 'create trigger t after insert on scylla.task_spec for each row execute function noop()', 'trigger "t"'),
    ('task_outcome', 'create trigger t before truncate on scylla.task_outcome execute function noop()', 'trigger "t"'),
    ('event', 'create constraint trigger t after insert on scylla.event for each row execute function noop()', 'constraint "t"'),
    ('task_ready', 'create rule r as on insert to scylla.task_ready do also select 1', 'a rule'),
    ('task_lease', 'alter table scylla.task_lease enable row level security', 'row security'),
    ('task_lease', 'alter table scylla.task_lease add constraint c check (id > 0)', 'constraint "c"'),
    ('task_lease', 'create unique index u on scylla.task_lease (owner)', 'unique index "u"'),
    ('task_outcome', 'alter table scylla.task_outcome add constraint u unique (finished)', 'unique index "u"'),
    ('task_waiting', 'alter table scylla.task_waiting add constraint e exclude using btree (due with =)', 'unique index "e"'),
    ('task_memo', 'alter table scylla.task_memo set unlogged', 'no WAL'),
    ('task_gate', 'alter table scylla.task_gate add constraint f foreign key (task) references scylla.task_spec', 'constraint "f"'),
    ('task_spec', 'create table child (id bigint references scylla.task_spec)', 'constraint "child_id_fkey"'),
    ('task_spec', 'create table child (id bigint, constraint f foreign key (id) references scylla.task_spec)', 'constraint "f"'),
    ('task_spec', 'alter table mine add constraint f foreign key (parent) references scylla.task_spec', 'constraint "f"'),
    ('task_spec', 'alter table mine add column spec bigint references scylla.task_spec', 'constraint "mine_spec_fkey"'),
    ('task_spec', 'do $x$ begin create trigger t after insert on scylla.task_spec for each row execute function noop(); end $x$', 'trigger "t"');

select current_setting('shared_preload_libraries') like '%scylla%' as preloaded \gset
\if :preloaded
select is(a.code, '0A000', statement) from attempted, attempt(statement) a order by ord;
select is(a.message, format('table "%s" of extension "scylla" cannot have triggers, rules, constraints, unique indexes or row security, nor be unlogged', relname), '... names the table')
from attempted, attempt(statement) a order by ord;
-- As pg_repack makes it.
select ok((attempt('create trigger repack_trigger after insert or delete or update on scylla.event for each row execute function noop()')).hint
              like '%pg_repack, exclude the extension: -C scylla.', '... says what to do about pg_repack');
\else
select is(a.code, '00000', statement) from attempted, attempt(statement) a order by ord;
select ok(a.checked @> array[format('table %s has %s, which it cannot have', relname, reported)], 'check() reports ' || reported)
from attempted, attempt(statement) a order by ord;
\endif
select is_empty('select * from scylla.check()', 'nothing is left of them');

-- What is no matter of ours, and what does no harm, stays as it was.
select is((attempt(statement)).code, '00000', statement) from unnest(array[
    'create trigger t after insert on mine for each row execute function noop()',
    'alter table mine add constraint f foreign key (parent) references mine',
    'create table child (id bigint references mine)',
    'create index on scylla.task_spec (created)',
    'alter table scylla.task_spec set (fillfactor = 90)',
    'alter table scylla.task_spec alter spec set statistics 10',
    'create schema task_spec; create table task_spec.task_spec (id int); create rule r as on insert to task_spec.task_spec do also select 1']) statement;
select is((attempt('create trigger t after insert on scylla.nothing for each row execute function noop()')).code, '42P01', 'no such table');

select * from finish();
rollback;
