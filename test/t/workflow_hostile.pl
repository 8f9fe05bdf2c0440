# Workflows that want too much, on a server whose shared memory has few places, with indexes of users on all tables of workflows, permits,
# statements, and an owner who is gone: what is wrong ends by itself, in bounded time and memory, and nobody else notices.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $node = new_node('hostile', settings => "scylla.monitor = on\nautovacuum = off\nscylla.max_queues = 16\nscylla.max_server_workers = 2");
my $ended = q(select count(*) from scylla.workflow_run where ended is null);

sql($node, 'create extension scylla');
wait_for_monitor($node, 'postgres');
sql($node, <<'SQL');
create function make(id text, steps jsonb, more jsonb = '{}', properties jsonb = '{}') returns int language sql as $$
	select scylla.create_workflow(jsonb_build_object('properties', '{"owner": "ann", "run_strategy": 50}' || properties,
		'workflow', jsonb_build_object('id', id, 'steps', steps) || more))
$$;
create function status_of(id text) returns text language sql as $$
	select string_agg(distinct status, ' ' order by status) from scylla.workflow_run where workflow = id
$$;
create function work(of text) returns bigint language sql as $$
	select count(scylla.complete(l.rn, 'w')) from scylla.lease(of, 'w', 50) l
$$;
-- More queues than there are places.
select count(scylla.submit('q' || i, '1')) from generate_series(1, 40) i;
-- An index of two columns or so on each table.
select format('create index on scylla.%I (%s)', relname, columns)
  from (select c.relname, string_agg(quote_ident(a.attname), ', ' order by a.attnum desc) as columns
          from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
         where c.relnamespace = 'scylla'::regnamespace and c.relkind = 'r' and c.relname ~ '^workflow'
           and a.atttypid in ('bigint'::regtype, 'integer'::regtype, 'name'::regtype, 'timestamptz'::regtype)
         group by c.relname) t \gexec
create index on scylla.workflow_hold (kind, workflow) where kind is not null;
SQL
cmp_ok(sql($node, q(select count(*) from pg_stat_user_indexes where schemaname = 'scylla' and relname ~ '^workflow' and indexrelname ~ '_idx[0-9]*$')), '>', 10,
	'there are indexes of users');

# ---- permits, statements and breakpoints ----------------------------------------------------------------------------------------------

sql($node, <<'SQL');
select scylla.create_queue('sql', handler => 'scylla.run_sql'), scylla.create_pool('tag:cluster', '{"permits": 3}');
select make('mixed', '[{"foreach": {"id": "loop", "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": [1, 2, 3, 4]}}}}, "steps": [
	{"step": {"id": "work", "type": "W", "tags": ["cluster"], "transition": {"successors": {"ask": "true"}}}},
	{"step": {"id": "ask", "type": "Sql", "sql": "select ($1 ->> ''i'')::int * 2 as n", "params": {"i": {"type": "LONG", "expression": "i"}, "n": {"type": "LONG", "value": 0}}}}]}}]',
	'{}', '{"step_concurrency": 4}');
select scylla.set_breakpoint('mixed', 'ask');
select count(scylla.start_workflow('mixed')) from generate_series(1, 5);
SQL
my $steps = q(select string_agg(step || ' ' || status || ' ' || n, ', ' order by step) from
	(select step, status, count(*) as n from scylla.workflow_step where workflow = 'mixed' group by step, status) s);
ok(comes(sub { sql($node, q(select work('w'))); sql($node, $steps) eq 'ask PAUSED 20, loop RUNNING 5, work SUCCEEDED 20' }), 'all come to the breakpoint')
  or diag sql($node, $steps);
sql($node, q(select scylla.drop_breakpoint('mixed', 'ask', resume => true)));
ok(comes(sub { sql($node, $ended) == 0 }), 'and go on') or diag sql($node, $steps);
is(sql($node, q(select status_of('mixed'))), 'SUCCEEDED', 'to the end');
is(sql($node, q(select sum((params ->> 'n')::int) from scylla.workflow_step where workflow = 'mixed' and step = 'ask')), 5 * 2 * (1 + 2 + 3 + 4), 'which statements have computed');
is(sql($node, 'select count(*) from scylla.pool_reservation'), '0', 'and no permit is held');
checked($node, 'check() finds nothing');

# ---- definitions that want too much ----------------------------------------------------------------------------------------------------

# One session is the engine, so that its memory can be seen.
sql($node, 'alter system set scylla.max_server_workers = 0; select pg_reload_conf()');
eventually($node, "select count(*) from pg_stat_activity where backend_type = 'scylla engine'", '0', 'without an engine');
sql($node, <<'SQL');
-- Loops of one iteration in each other, the innermost of many.
create function nested(depth int) returns jsonb language sql as $$
	select case when depth = 0 then '{"step": {"id": "s", "type": "NoOp"}}'::jsonb
		else jsonb_build_object('foreach', jsonb_build_object('id', 'l' || depth, 'steps', jsonb_build_array(nested(depth - 1)), 'params', jsonb_build_object('loop_params',
			jsonb_build_object('type', 'MAP', 'value', jsonb_build_object('i' || depth, format('{"type": "LONG_ARRAY", "expression": "Util.intsBetween(0, %s, 1)"}',
				case depth when 1 then 200 else 1 end)::jsonb))))) end
$$;
select make('good', '[{"step": {"id": "a", "type": "NoOp", "transition": {"successors": {"b": "1 < 2"}}}}, {"step": {"id": "b", "type": "NoOp"}}]'),
	make('many', (select jsonb_agg(jsonb_build_object('step', jsonb_build_object('id', 's' || i, 'type', 'NoOp', 'transition', jsonb_build_object('successors',
		case when i < 300 then jsonb_build_object('s' || i + 1, 'true') else '{}' end)))) from generate_series(1, 300) i)),
	make('deep', jsonb_build_array(nested(10))),
	make('map', '[{"step": {"id": "s", "type": "NoOp", "params": {"n": {"type": "LONG", "expression": "m.size()"}}}}]', '{"params": {"m": {"type": "MAP", "value": {}}}}'),
	make('condition', '[{"step": {"id": "s", "type": "NoOp", "transition": {"successors": {"t": "while (true) { } true"}}}}, {"step": {"id": "t", "type": "NoOp"}}]'),
	make('loops', '[{"step": {"id": "s", "type": "NoOp", "transition": {"successors": {"t":
		"int n = 0; for (int i = 0; i < 25000; i = i + 1) { for (int j = 0; j < 25000; j = j + 1) { n = n + 1; } } n > 0"}}}}, {"step": {"id": "t", "type": "NoOp"}}]'),
	make('text', '[{"step": {"id": "s", "type": "NoOp", "params": {"x": {"type": "STRING", "expression": "String s = ''x''; for (int i = 0; i < 40; i = i + 1) { s = s + s; } s"}}}}]'),
	make('endless', '[{"while": {"id": "l", "condition": "true", "params": {"loop_params": {"type": "MAP", "value": {"n": {"type": "LONG", "value": 1}}}},
		"steps": [{"step": {"id": "s", "type": "NoOp"}}]}}]'),
	make('list', '[{"step": {"id": "s", "type": "NoOp", "params": {"x": {"type": "STRING_ARRAY", "expression": "String[] a = new String[25000]; String s = ''x''; for (int i = 0; i < 20; i = i + 1) { s = s + s; } for (int i = 0; i < 25000; i = i + 1) { a[i] = s + i; } a"}}}}]');
select count(scylla.start_workflow('good')) from generate_series(1, 20);
select scylla.start_workflow(w) from unnest('{condition,loops,text,list,many,deep,endless}'::text[]) w;
select scylla.start_workflow('map', jsonb_build_object('m', (select jsonb_object_agg('k' || i, jsonb_build_object('type', 'STRING', 'value', 'v' || i)) from generate_series(1, 14000) i)));
-- As many characters as possible: one member beside what every run has, about which see pgtap/workflow_limits.
select scylla.start_workflow('map', jsonb_build_object('m', jsonb_build_object('k', repeat('x', 749000))));
select count(scylla.start_workflow('good')) from generate_series(1, 20);
-- Somebody else, whose tasks go through a queue meanwhile.
select count(scylla.submit('others', '1')) from generate_series(1, 20000);
create table waited (ms float8);
create procedure work_for_others() language plpgsql as $$
declare began timestamptz; t scylla.task;
begin
	while exists (select from scylla.workflow_run where ended is null) loop
		began := clock_timestamp();
		select * into t from scylla.lease('others', 'w');
		exit when t.rn is null;
		perform scylla.complete(t.rn, 'w');
		insert into waited values (extract(epoch from clock_timestamp() - began) * 1000);
		commit;
		perform pg_sleep(0.002);
	end loop;
end $$;
SQL
my $other = $node->background_psql('postgres');
$other->query_until(qr/begun/, "\\echo begun\ncall work_for_others();\n");
my $began = time;
my $engine = $node->background_psql('postgres');
my $pid = $engine->query_safe('select pg_backend_pid()');
ok(comes(sub { $engine->query_safe('call scylla.advance()'); sql($node, $ended) == 0 }), 'all of them end');
cmp_ok(time - $began, '<', 120, 'in bounded time');
$other->quit;
cmp_ok(sql($node, 'select count(*) from waited'), '>', 100, 'meanwhile tasks of another queue are leased and completed');
cmp_ok(sql($node, 'select percentile_cont(0.99) within group (order by ms) from waited'), '<', 5000, 'without waiting for the engine');
note sql($node, q(select format('%s tasks of another queue, p99 %s ms, at most %s ms', count(*), round((percentile_cont(0.99) within group (order by ms))::numeric, 1), round(max(ms)::numeric, 1)) from waited));
my ($peak) = slurp_file("/proc/$pid/status") =~ /^VmHWM:\s+(\d+) kB/m;
cmp_ok($peak, '<', 600_000, 'in bounded memory');
note "$peak kB at most";
$engine->quit;
is(sql($node, q(select string_agg(id || ' ' || status_of(id), ', ' order by id) from scylla.workflow where id <> 'mixed')),
	'condition FAILED, deep SUCCEEDED, endless FAILED, good SUCCEEDED, list FAILED, loops FAILED, many SUCCEEDED, map SUCCEEDED, text FAILED', 'each as it must');
is(sql($node, q(select count(*) from scylla.workflow_step where status = 'FATALLY_FAILED' and error ->> 'message' is null)), '0', 'with a reason');
is(sql($node, q(select count(*) from scylla.workflow_step where workflow = 'deep' and step = 's' and cardinality(iterations) = 10)), '200', 'a loop in nine others has all its iterations');
is(sql($node, q(select error ->> 'message' from scylla.workflow_step where workflow = 'endless' and step = 'l')), 'a while can have at most 25000 iterations',
	'a loop whose condition is always true ends by its limit');
is(sql($node, q(select count(*) from scylla.workflow_step where workflow = 'endless' and step = 's' and status = 'SUCCEEDED')), '25000', 'and has had as many iterations');
is(sql($node, q(select string_agg(params ->> 'n', ' ' order by instance) from scylla.workflow_step where workflow = 'map')), '14000 1', 'large maps are there as a whole');
is(sql($node, q(select length(params -> 'm' ->> 'k') from scylla.workflow_run where workflow = 'map' and instance = 2)), '749000', 'also one of a long text');
is(sql($node, q(select count(*) from scylla.workflow_run where workflow = 'good' and status = 'SUCCEEDED')), '40', 'nobody else notices');
fails_with($node, '22023', q(select scylla.start_workflow('map', jsonb_build_object('m', jsonb_build_object('k', jsonb_build_object('type', 'STRING', 'value',
	repeat('x', 750001)))))), 'more than 750,000 characters of parameters are refused');
checked($node, 'check() finds nothing');
sql($node, 'alter system reset scylla.max_server_workers; select pg_reload_conf()');

# ---- an owner who is gone --------------------------------------------------------------------------------------------------------------

sql($node, <<'SQL');
create role olaf;
grant usage on schema scylla to olaf;
grant execute on all functions in schema scylla to olaf;
select make('others', '[{"step": {"id": "a", "type": "W", "transition": {"successors": {"b": "true"}}}}, {"step": {"id": "b", "type": "W"}}]');
set session authorization olaf;
select make('owned', '[{"step": {"id": "a", "type": "Olaf", "transition": {"successors": {"b": "true"}}}}, {"step": {"id": "b", "type": "Olaf"}}]');
select scylla.start_workflow('owned');
reset session authorization;
select scylla.start_workflow('others');
SQL
ok(comes(sub { sql($node, q(select count(*) from scylla.task where queue in ('w', 'olaf') and status = 'ready')) == 2 }), 'two runs have begun');
sql($node, 'drop owned by olaf; drop role olaf');
ok(comes(sub { sql($node, q(select work('w'), work('olaf'))); sql($node, $ended) == 0 }), 'the owner of one is dropped, and both end');
is(sql($node, q(select string_agg(workflow || ' ' || step || ' ' || status, ', ' order by workflow, step) from scylla.workflow_step where workflow in ('owned', 'others'))),
	'others a SUCCEEDED, others b SUCCEEDED, owned a SUCCEEDED, owned b FATALLY_FAILED', 'a step that nobody could submit has failed');
is(sql($node, q(select error ->> 'message' from scylla.workflow_step where workflow = 'owned' and step = 'b')), 'role "olaf" does not exist', 'a step that nobody could submit says why');
is(sql($node, q(select count(*) from scylla.check() where problem ~ 'workflow "owned" belongs to role "olaf"')), '1', 'check() tells of it');

$node->stop;
done_testing();
