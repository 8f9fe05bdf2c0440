-- The tables that the functions write directly: their columns and indexes must be those that the library was made for. A table
-- that somebody has changed is refused before it is touched, and check() tells what was done to it.
begin;
\ir include/helpers.psql
select * from no_plan();

-- Changes a table, calls something that uses it, asks check(), and undoes all that.
create function after(change text, call text, out code text, out message text, out detail text, out checked text[])
    language plpgsql as $$
begin
    begin
        execute change;
        begin
            execute call;
        exception when others then
            get stacked diagnostics code = returned_sqlstate, message = message_text, detail = pg_exception_detail;
        end;
        select array_agg(problem) into checked from scylla.check();
        raise exception 'to roll back' using errcode = 'XX999';
    exception when sqlstate 'XX999' then null;
    end;
end $$;
do $$ begin perform scylla.submit('q', '{}', rn => 'first'), scylla.submit('q', '{}', rn => 'once', dedup_key => 'k'); end $$;

create temp table change (changed text, change text, problem text);
insert into change values
    ('task_spec', 'alter table scylla.task_spec add column mine text', 'Its column "mine" was added.'),
    ('task_ready', 'alter table scylla.task_ready rename history to past', 'Its column 7 is not "history" of its original type.'),
    ('task_dedup', 'alter table scylla.task_dedup alter id type numeric', 'Its column 2 is not "id" of its original type.'),
    ('task_ready', 'drop index scylla.task_ready_key', 'Its index "task_ready_key" is missing.'),
    ('task_ready', 'drop index scylla.task_ready_order; create unique index task_ready_order on scylla.task_ready (queue, id, priority desc)',
     'Its index "task_ready_order" has another key.'),
    ('task_ready', 'drop index scylla.task_ready_order; create unique index task_ready_order on scylla.task_ready (queue, priority, id)',
     'Its index "task_ready_order" has another key.'),
    ('task_ready', 'drop index scylla.task_ready_order; create index task_ready_order on scylla.task_ready (queue, priority desc, id)',
     'Its index "task_ready_order" is not unique.'),
    ('task_ready', 'drop index scylla.task_ready_key; create index task_ready_key on scylla.task_ready (queue, key, priority desc, id) where key is not null',
     'Its index "task_ready_key" has another key.'),
    ('task_ready', 'drop index scylla.task_ready_key; create index task_ready_key on scylla.task_ready (queue, key text_pattern_ops, priority desc, id)',
     'Its index "task_ready_key" has another predicate.'),
    ('task_ready', 'drop index scylla.task_ready_key; create index task_ready_key on scylla.task_ready (queue, key text_pattern_ops, priority desc, id) where history is not null',
     'Its index "task_ready_key" has another predicate.'),
    ('task_spec', 'drop index scylla.task_spec_rn; create unique index task_spec_rn on scylla.task_spec (rn text_pattern_ops) include (spec)',
     'Its index "task_spec_rn" has another key.'),
    ('task_spec', 'drop index scylla.task_spec_rn; create index task_spec_rn on scylla.task_spec using hash (rn)',
     'Its index "task_spec_rn" is no btree.'),
    ('task_spec', 'alter table scylla.task_spec drop constraint task_spec_pkey; create index task_spec_pkey on scylla.task_gate (task)',
     'Its index "task_spec_pkey" belongs to another table.');
select is(a.code, '55000', change) from change, after(change, $$select scylla.submit('q', '{}', rn => 'x'), scylla.cancel('once')$$) a;
select is(a.message, format('table "%s" of extension "scylla" has been changed', changed), '... named')
from change, after(change, $$select scylla.submit('q', '{}', rn => 'x'), scylla.cancel('once')$$) a;
select is(a.detail, problem, '... with the change') from change, after(change, $$select scylla.submit('q', '{}', rn => 'x'), scylla.cancel('once')$$) a;
select ok(format('table %s has been changed: %s', changed, problem) = any (a.checked), '... as check() does')
from change, after(change, 'select 1') a;
select is_empty('select * from scylla.check()', 'undone, all is well');
select lives_ok($$select scylla.submit('q', '{}', rn => 'after')$$, '... and works');

-- A column that somebody has added and dropped again is no column any more. Rows are written as before, however they are written.
alter table scylla.task_spec add column mine text default 'x';
alter table scylla.task_spec drop column mine;
alter table scylla.task_ready add column mine text;
alter table scylla.task_ready drop column mine;
alter table scylla.task_lease add column mine bigint, add column own text default 'y';
alter table scylla.task_lease drop column mine, drop column own;
alter table scylla.task_outcome add column mine text;
alter table scylla.task_outcome drop column mine;
create index extra on scylla.task_lease (deadline);
select lives_ok($$select scylla.submit('q', '{}', rn => 'one'), scylla.submit_bulk('q', array['1', '2']::jsonb[]);
                  select scylla.lease('q', 'w', 10);
                  select scylla.heartbeat('one', 'w', 0.5), scylla.heartbeat('first', 'w', 0.5);
                  select scylla.complete('one', 'w', '{}'), scylla.fail('first', 'w', '{"code": "x"}', '0')$$,
                'a column that was dropped does not count');
select results_eq($$select rn, status::text, owner, errors -> 0 ->> 'code' from scylla.task where rn in ('one', 'first') order by rn$$,
                  $$values ('first', 'ready', null, 'x'), ('one', 'completed', 'w', null)$$, '... and nothing is lost');
select is_empty('select * from scylla.check()', '... says check()');
drop index scylla.extra;

-- A column that an update adds with a default that is not null reads as that default in the rows that are there, and as null in
-- rows with a null. The table is made anew, with its last column as one that was added.
alter table scylla.task_lease rename to old_lease;
alter table scylla.old_lease rename constraint task_lease_pkey to old_pkey;
alter index scylla.task_lease_permit rename to old_permit;
create table scylla.task_lease (id bigint not null, deadline timestamptz not null, leased timestamptz not null, updated timestamptz not null,
    timeout bigint not null, queue integer not null, attempt integer not null, failures integer not null, progress real not null,
    owner text not null, history jsonb, errors jsonb, constraint task_lease_pkey primary key (id));
alter table scylla.task_lease add column permit text default 'added', add column run_timeout bigint;
alter table scylla.task_lease alter permit drop default;
create index task_lease_permit on scylla.task_lease (queue, permit text_pattern_ops, id) where permit is not null;
do $$ begin
    perform scylla.submit('q', '{}', rn => 'null'), scylla.submit_bulk('bulk', array['1', '2']::jsonb[]);
    perform scylla.lease_task('null', 'w');
    perform scylla.lease('bulk', 'w', 2);
    perform scylla.heartbeat('null', 'w');
end $$;
select is(array_agg(permit), '{null,null,null}', 'a null is a null, whatever the column was before') from scylla.task_lease;

select * from finish();
rollback;
