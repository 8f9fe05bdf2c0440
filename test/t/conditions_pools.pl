# Conditions and pools where shared memory has few places, users have put indexes on their tables, and a dump is made in the middle: tasks
# wait for signals, callbacks, checks and pools, are deferred, hold reservations. The dump goes on as the original does, to the same end.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $queues = 40;
my $node = new_node('main', settings => "scylla.monitor = on\nscylla.max_queues = 16\nscylla.max_server_workers = 0\nautovacuum = off");
sql($node, 'create extension scylla; create extension amcheck');
wait_for_monitor($node, 'postgres');

# Two indexes of somebody else on each table: one on an expression, and one with a predicate that summarizes.
my @tables = qw(task_gate task_condition_end task_callback signal_name signal_sent signal_condition signal_shape task_check task_memo signal_trigger
  signal_trigger_input signal_unseen signal_arrival resource_pool pool_change pool_report pool_line task_reservation pool_head task_waiting task_spec);
for my $table (@tables)
{
	my $column = sql($node, "select quote_ident(attname) from pg_attribute where attrelid = 'scylla.$table'::regclass and attnum = 1");
	my $last = sql($node, "select quote_ident(attname) from pg_attribute where attrelid = 'scylla.$table'::regclass and attnum > 0 order by attnum desc limit 1");
	sql($node, "create index users_$table on scylla.$table (($column\::text collate \"C\"), $last)");
	sql($node, "create index users_brin_$table on scylla.$table using brin ($column) where $last is not null");
}
is(sql($node, q(select count(*) from pg_index i join pg_class c on c.oid = indexrelid where c.relname like 'users\_%' and indisvalid)),
	2 * @tables, 'users have indexes on the tables of conditions and pools');

sub sound
{
	my ($name, $database) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($out, $err) = result_of($node, q(select count(bt_index_check(i.indexrelid, true)) from pg_index i join pg_class c on c.oid = i.indexrelid
		join pg_am a on a.oid = c.relam and a.amname = 'btree' where c.relnamespace = 'scylla'::regnamespace), $database);
	is($err, '', "$name: amcheck finds nothing");
	checked($node, "$name: check() finds nothing", $database);
}

# ---- in the middle -----------------------------------------------------------------------------------------------------

sql($node, q(
	select scylla.create_queue('q' || i) from generate_series(1, 40) i;
	select scylla.create_pool('pool', '{"slots": 10}'), scylla.create_pool('spare', '{"slots": 3}', 'greedy');
	select scylla.create_trigger('pair', '[{"signal": "a", "join": ["n"]}, {"signal": "b", "join": ["n"]}]', '{"submit": {"queue": "q1", "spec": "started"}}');
	create function waits(kind text, i int) returns jsonb language sql as $$
		select jsonb_build_array(case kind
			when 'signal' then jsonb_build_object('signal', 's', 'match', jsonb_build_object('n', jsonb_build_object('>=', i)))
			when 'callback' then jsonb_build_object('callback', 'c' || i, 'timeout', '1 day')
			when 'check' then jsonb_build_object('check', jsonb_build_object('queue', 'ask' || i % 5, 'spec', i % 10, 'every', '1 h')) end) $$;
	select count(scylla.create_callback('c' || i)) from generate_series(1, 40) i;
	select count(scylla.submit('q' || i, to_jsonb(i), rn => kind || i, wait_for => waits(kind, i)))
		from generate_series(1, 40) i, unnest('{signal,callback,check}'::text[]) kind;
	select count(scylla.submit('q' || i, to_jsonb(i), rn => 'pool' || i, needs => jsonb_build_object('pool', '{"slots": 1}'::jsonb), expected_runtime => i * interval '1 min'))
		from generate_series(1, 40) i;
	select count(scylla.submit('q' || i, to_jsonb(i), rn => 'both' || i, wait_for => waits('callback', i), needs => '{"any": ["spare", "pool"], "slots": 1}'))
		from generate_series(1, 40) i;
	select count(scylla.send_signal('a', jsonb_build_object('n', i))) from generate_series(1, 20) i;
	select count(scylla.submit('q' || i, to_jsonb(i), rn => 'deferred' || i, priority => 9)) from generate_series(1, 40) i;
	select count(scylla.lease_task('deferred' || i, 'w')) from generate_series(1, 40) i;
	select count(scylla.defer('deferred' || i, 'w', waits('callback', i), jsonb_build_object('kept', i))) from generate_series(1, 40) i;));
eventually($node, q(select count(*) from scylla.pool_reservation), '10', 'as many tasks are placed as there is room');
eventually($node, q(select count(*) from scylla.trigger_signal), '20', 'and signals wait for their partners');
# Something of each kind goes on.
sql($node, q(
	select scylla.send_signal('s', '{"n": 5}'), scylla.resolve_callback('c1', '"first"'), scylla.reject_callback('c2', '{"code": "no"}');
	select count(scylla.not_yet(l.rn, 'asker')) from generate_series(0, 1) q, scylla.lease('ask' || q, 'asker', 2) l;
	select count(scylla.lease_task(rn, 'holder', '1 day')) from (select rn from scylla.pool_reservation order by rn limit 4) r;
	select scylla.send_signal('b', '{"n": 3}');));
eventually($node, q(select count(*) from scylla.task where rn like 'pair/%'), '1', 'a pair of signals starts a task');
eventually($node, q(select count(*) from scylla.task where rn ~ '^signal[1-5]$' and status = 'ready'), '5', 'a signal opens what it matches');
eventually($node, q(select pool is not null from scylla.get_task('both1')), 't', 'what waited for a callback and a pool has both');
my $expected = q(select status, count(*) from scylla.task group by status order by status);
is(sql($node, q(select count(*) from scylla.pool_line l join scylla.task_waiting w on w.id = l.task where w.id is null)), '0', 'only waiting tasks are in line');
sound('in the middle');

# ---- a dump ------------------------------------------------------------------------------------------------------------

my @views = (
	$expected,
	q(select rn, status, state, args, answers, attempt from scylla.task order by rn),
	q(select kind, name, match, status, value, waiters from scylla.condition order by 1, 2, 3),
	q(select pool, rn, amounts, since, ends from scylla.pool_reservation order by 1, 2),
	q(select pool, rn, reason from scylla.pool_queue order by 1, 2),
	q(select seq, name, params, payload from scylla.signal order by seq),
	q(select trigger, signal, seq, join_key from scylla.trigger_signal order by seq));
my $dump = PostgreSQL::Test::Utils::tempdir . '/middle.dump';
sql($node, q(alter system set scylla.monitor = off; select pg_reload_conf()));
eventually($node, q(select count(*) from pg_stat_activity where backend_type = 'scylla monitor'), '0', 'the monitor is off for the time of the restore');
$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, 'postgres' ], 'pg_dump in the middle');
sql($node, 'create database restored');
$node->command_ok([ 'pg_restore', '-j', '2', '--exit-on-error', '-d', 'restored', $dump ], 'pg_restore by two processes');
is(sql($node, $_, 'restored'), sql($node, $_), 'restored: ' . (/from (scylla\.\w+)/)[0]) for @views;
sound('restored', 'restored');
sql($node, q(alter system reset scylla.monitor; alter system set scylla.monitor = on; select pg_reload_conf()));
wait_for_monitor($node, $_) for qw(postgres restored);

# ---- to the end, in both -----------------------------------------------------------------------------------------------

my $finish = q(
	create procedure finish() language plpgsql as $$
	declare
		t record;
	begin
		for i in 4 .. 20 loop perform scylla.send_signal('b', jsonb_build_object('n', i)); end loop;
		for i in 1 .. 2 loop perform scylla.send_signal('b', jsonb_build_object('n', i)); end loop;
		perform scylla.send_signal('s', '{"n": 40}');
		for i in 3 .. 40 loop perform scylla.resolve_callback('c' || i, to_jsonb('v' || i)); end loop;
		commit;
		perform scylla.reschedule(rn, now()) from scylla.task where queue like 'ask%' and status = 'waiting';
		perform scylla.complete(rn, 'holder', '"held"') from scylla.task where status = 'running' and owner = 'holder';
		commit;
		for round in 1 .. 3000 loop
			for t in select l.* from (select distinct queue from scylla.task where status = 'ready') q, scylla.lease(q.queue, 'last', 20, '1 h') l loop
				perform scylla.complete(t.rn, 'last', jsonb_build_array(t.spec, t.state, jsonb_array_length(t.args)));
			end loop;
			commit;
			exit when not exists (select from scylla.task where status in ('waiting', 'ready', 'running'));
			perform pg_sleep(0.01);
		end loop;
	end $$;
	call finish(););
my $end = q(select case when rn like 'pair/%' then 'pair ' || (args #>> '{0,params,n}') when queue like 'ask%' then queue || spec else rn end, status,
	result, state, pool is not null, errors -> 0 ->> 'code' from scylla.task order by 1);
for my $database (qw(postgres restored))
{
	sql($node, $finish, $database);
	is(sql($node, q(select count(*) from scylla.task where status in ('waiting', 'ready', 'running')), $database), '0', "$database: everything ends");
	is(sql($node, q(select (select count(*) from scylla.pool_reservation), (select count(*) from scylla.pool_line), (select count(*) from scylla.task_check),
		(select count(*) from scylla.trigger_signal)), $database), '0|0|0|0', "$database: nothing is held, in line, asked or half a pair");
	is(sql($node, q(select count(*) from scylla.task where rn like 'pair/%'), $database), '20', "$database: every pair has started its task");
	sound("$database, at the end", $database);
}
is(sql($node, q(select string_agg(rn || ' ' || status || ' ' || coalesce(errors -> 0 ->> 'code', ''), ', ' order by rn) from scylla.task where rn in ('callback2', 'deferred2', 'both2'))),
	'both2 aborted dependency-failed, callback2 aborted dependency-failed, deferred2 aborted dependency-failed', 'what waited for the rejected callback is aborted');
is(sql($node, q(select result from scylla.get_task('deferred7'))), '[7, {"kept": 7}, 1]', 'deferred tasks have gone on with their state');
is(sql($node, $end, 'restored'), sql($node, $end), 'both came to the same end');

# ---- dropping a pool ---------------------------------------------------------------------------------------------------

# Of tasks that have ended, nothing is read but that they have; the first live one is enough to refuse.
sql($node, q(select scylla.create_pool('large', '{"slots": 100}');
	select count(*) from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'large', 'spec', n, 'needs', '{"large": {"slots": 1}}'::jsonb)) from generate_series(1, 5000) n))));
eventually($node, q(select placed from scylla.pool where pool = 'large'), '100', 'a pool with a long line and reservations');
fails_with($node, '2BP01', q(set statement_timeout = '5 s'; select scylla.drop_pool('large')), 'is not dropped');
sql($node, q(select scylla.drop_queue('large', true); select scylla.maintain()));
eventually($node, q(select count(*) from scylla.task_reservation), '0', 'the tasks of a dropped queue give back what they hold');
is(sqlstate($node, q(select scylla.drop_pool('large'))), '', 'then it is dropped');
my $plan = sql($node, q(explain (analyze, buffers, costs off, timing off, summary off) select scylla.drop_pool('pool')));
my ($buffers) = $plan =~ /shared hit=(\d+)/;
cmp_ok($buffers, '<', 2000, "dropping a pool looks at few pages for each of 80 tasks that have ended ($buffers)");
is(sql($node, q(select count(*) from scylla.pool where pool in ('pool', 'large'))), '0', 'and they are gone');
sound('dropped');

$node->stop;
done_testing();
