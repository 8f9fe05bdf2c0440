# Queues are made, changed and dropped while many sessions use them, with a monitor: settings that are pending take effect by themselves,
# and exactly; nothing is lost to a queue that is dropped; what is left of one goes by itself, also after a crash; and the indexes of the
# table of queues can be made anew beside first submits.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $node = new_node('main', settings => "scylla.monitor = on\nmax_connections = 50");
sql($node, 'create extension scylla');
wait_for_monitor($node, 'postgres');
my $folder = PostgreSQL::Test::Utils::tempdir;

# Lets sessions run a script for some seconds, and does something meanwhile. What they complain of.
sub beside
{
	my ($script, $seconds, $meanwhile) = @_;
	PostgreSQL::Test::Utils::append_to_file("$folder/$script.sql", "call $script(:client_id);\n") if !-e "$folder/$script.sql";
	my ($out, $err) = ('', '');
	my $run = IPC::Run::start(
		# 40001 is what a verb gets that was under way for longer than settings wait (guarantees.md).
		[ 'pgbench', '-n', '-c', 8, '-T', $seconds, '--max-tries', 100, '-f', "$folder/$script.sql", '-h', $node->host, '-p', $node->port, 'postgres' ],
		'>', \$out, '2>', \$err);
	my $end = time + $seconds;
	$meanwhile->() while time < $end;
	$run->finish;
	$err =~ s/^pgbench \(.*\n//mg;
	return $err;
}

# ---- pending settings -----------------------------------------------------------------------------------------------------

sql($node, q(
	select scylla.create_queue('later', retry => '{"initial": "0"}');
	-- The bound that is in effect, and the version of the settings; nulls while one is pending.
	create type bounds as (bound int, version xid);
	create function in_effect(queue text) returns bounds language sql as $$
		select coalesce(s.max_running, s.max_depth), q.xmin
		from scylla.queue_settings s join scylla.queue q on q.name = s.queue where s.queue = $1 and s.pending is null
	$$;
	create procedure work(client int) language plpgsql as $$
	declare
		before bounds;
		held text[];
		run bigint;
	begin
		if (select count(*) from scylla.task_ready) < 8 then
			perform scylla.submit('later', '1', key => 'k' || n) from generate_series(1, 3) n;
		end if;
		commit;
		before := in_effect('later');
		held := array(select rn from scylla.lease('later', 'w' || client, 2, '1 h'));
		run := count(*) from scylla.task_lease;
		-- The limit may have gone since, and others have leased more.
		if held <> '{}' and run > before.bound and before = in_effect('later') then
			raise exception '% run', run;
		end if;
		if client % 4 = 0 then
			rollback;
			return;
		end if;
		commit;
		perform scylla.complete_many(held, 'w' || client);
	end $$;
	-- It submits as many as may wait, and no more are there, whoever else submits.
	create procedure bring(client int) language plpgsql as $$
	declare
		before bounds := in_effect('deep');
		waiting bigint;
	begin
		perform scylla.submit_bulk('deep', array_fill('1'::jsonb, array[3]));
		waiting := count(*) from scylla.task_ready r join scylla.queue q on q.id = r.queue where q.name = 'deep';
		if waiting > before.bound and before = in_effect('deep') then
			raise exception '% wait', waiting;
		end if;
		commit;
		perform scylla.complete(rn, 'w') from scylla.lease('deep', 'w', 3) l;
	end $$;
	select scylla.create_queue('deep', on_full => 'shed');));

my $changes = 0;
my $limit = sub {
	sql($node, q(select scylla.alter_queue('later', '{"max_running": 3, "key_weights": {"k1": 2}}')));
	$node->poll_query_until('postgres', q(select pending is null from scylla.queue_settings where queue = 'later')) or die;
	select(undef, undef, undef, 0.2);
	sql($node, q(select scylla.alter_queue('later', '{"max_running": null, "key_weights": null}')));
	$changes++;
};
is(beside('work', 6, $limit), '', 'from the moment it is in effect nobody sees more run');
cmp_ok($changes, '>', 2, "... in $changes times that a limit was set");
$changes = 0;
my $bound = sub {
	# What is there stays, so there may be few.
	sql($node, q(select scylla.complete(rn, 'w') from scylla.lease('deep', 'w', 1000)));
	sql($node, q(select scylla.alter_queue('deep', '{"max_depth": 200}')));
	$node->poll_query_until('postgres', q(select pending is null from scylla.queue_settings where queue = 'deep')) or die;
	select(undef, undef, undef, 0.2);
	sql($node, q(select scylla.alter_queue('deep', '{"max_depth": null}')));
	$changes++;
};
is(beside('bring', 6, $bound), '', 'nor more wait');
cmp_ok($changes, '>', 2, "... in $changes times that a bound was set");
checked($node, 'limits that come and go leave nothing behind');

# ---- dropped queues -------------------------------------------------------------------------------------------------------

sql($node, q(
	create table acknowledged (rn text primary key);
	create procedure race(client int) language plpgsql as $$
	declare
		queue text := 'race ' || floor(extract(epoch from clock_timestamp()) * 20) % 1000;
		name text := gen_random_uuid();
	begin
		if client % 2 = 0 then
			perform scylla.submit(queue, '1', rn => name);
			insert into acknowledged values (name);
		else
			perform scylla.drop_queue(queue);
		end if;
	exception when undefined_object or dependent_objects_still_exist then
		null;
	end $$;));
is(beside('race', 5, sub { select(undef, undef, undef, 0.5) }), '', 'many submit to queues that others drop');
cmp_ok(sql($node, 'select count(*) from acknowledged'), '>', 100, '... often');
is(sql($node, 'select count(*) from acknowledged a where not exists (select from scylla.task t where t.rn = a.rn)'), '0',
	'each task that was acknowledged is there, or its queue was dropped with force');

sql($node, q(select scylla.submit_bulk('large', array_agg('1'::jsonb)) from generate_series(1, 20000);
	select scylla.submit('waits', '1', rn => 'dependant', depends_on => array[(select rn from scylla.list_tasks('large', max_tasks => 1))]);
	select scylla.drop_queue('large', force => true)));
is(sql($node, q(select count(*) from scylla.task where queue = 'large')), '0', 'a queue is gone with its commit');
$node->stop('immediate');
$node->start;
ok($node->poll_query_until('postgres', 'select count(*) = 0 from scylla.queue_dropped'), 'the monitor removes what is left, also after a crash');
is(sql($node, 'select count(*) from scylla.task_spec s where not exists (select from scylla.queue q where q.id = s.queue)'), '0',
	'... all of it');
is(sql($node, q(select status from scylla.get_task('dependant'))), 'aborted', '... and what depends on it ends');
checked($node, 'queues that were dropped leave nothing behind');

# ---- check() --------------------------------------------------------------------------------------------------------------

# What is gone a moment later is not reported.
sql($node, q(select scylla.submit('checked', '1', rn => 'checked')));
my ($checking, $watching) = map { $node->background_psql('postgres') } 1, 2;
my $pid = $checking->query_safe('select pg_backend_pid()');

# Stops the session that checks between its looks. False: it has been too fast.
sub stop_between_looks
{
	my $waits = "select coalesce((select wait_event from pg_stat_activity where pid = $pid and state = 'active'), 'none')";
	for (1 .. 10000)
	{
		my $event = $watching->query_safe($waits);
		next if $event ne 'PgSleep';
		kill 'STOP', $pid or die;
		return 1 if $watching->query_safe($waits) eq 'PgSleep';
		kill 'CONT', $pid;
		return 0;
	}
	return 0;
}

for (
	[ 'gone at the second look', q(delete from scylla.task_lease where owner = 'nobody'), '0' ],
	[ 'there at the second look', 'select 1', '1' ])
{
	my ($what, $meanwhile, $found) = @$_;
	sql($node, q(insert into scylla.task_lease (id, queue, deadline, updated, leased, attempt, failures, progress, timeout, owner)
		select id, queue, now() + interval '1 h', now(), now(), 1, 0, 0, 3600000000, 'nobody'
		from scylla.task_spec where rn = 'checked'));
	my $stopped = 0;
	for (1 .. 20)
	{
		$checking->query_until(qr/begun/, "\\echo begun\nselect 'found ' || count(*) from scylla.check() where problem ~ 'is in 2 states';\n");
		last if ($stopped = stop_between_looks());
		$checking->query_until(qr/found \d+/, '');
	}
	ok($stopped, 'check() looks twice');
	sql($node, $meanwhile);
	kill 'CONT', $pid;
	is($checking->query_until(qr/found \d+/, '') =~ /found (\d+)/ ? $1 : 'nothing', $found, "check(): $what");
}
sql($node, q(delete from scylla.task_lease where owner = 'nobody'));
$_->quit for $checking, $watching;

# ---- REINDEX --------------------------------------------------------------------------------------------------------------

sql($node, q(
	create sequence calls;
	create procedure first(client int) language plpgsql as $$
	begin
		perform scylla.submit('first ' || nextval('calls') / 8, '1');
	end $$;));
my $times = 0;
is(beside('first', 6, sub { sql($node, 'reindex table concurrently scylla.queue'); $times++; }), '',
	'first submits beside REINDEX CONCURRENTLY of the table of queues');
cmp_ok($times, '>', 2, "... $times times");
$node->stop;
done_testing();
