# Failover under load. With synchronous replication nothing that a client was told is lost: the primary is stopped at once or
# killed, the standby promoted, clients connect again by themselves, to whichever server is the primary, and the observer of the
# chaos (docs/chaos.md) compares. The old primary comes back as a standby, by pg_rewind, and it all happens in the other
# direction. With asynchronous replication the last commits may be lost, but never some of the middle, nor half of one.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $seed = $ENV{SEED} // int(rand(1_000_000));
note "the fresh seed is $seed";
my $program = "$FindBin::RealBin/../lib/chaos/load.py";

my $a = new_node('a', allows_streaming => 1, settings => "scylla.monitor = on\nmax_connections = 60\nmax_worker_processes = 16\n"
	. "wal_log_hints = on\nwal_keep_size = 1GB\nautovacuum_naptime = 1s");
sql($a, 'create extension scylla');
wait_for_monitor($a, 'postgres');
$a->backup('base');
my $b = PostgreSQL::Test::Cluster->new('b');
$b->init_from_backup($a, 'base', has_streaming => 1);
$b->start;

# Clients know both servers and take the one that can write.
sub clients_connection
{
	my (@nodes) = @_;
	return 'host=' . join(',', map { $_->host } @nodes) . ' port=' . join(',', map { $_->port } @nodes)
	  . ' user=' . getpwuid($<) . ' dbname=postgres target_session_attrs=read-write';
}

sub load_command
{
	my ($command, $folder, $prefix, @nodes) = @_;
	return ('/usr/bin/python3', '-B', $program, $command, $folder, $prefix, clients_connection(@nodes));
}

# Clients at work until `stop_clients`.
sub start_clients
{
	my ($folder, $prefix, @nodes) = @_;
	my %clients = (in => '', out => '');
	$clients{run} = IPC::Run::start([ load_command('work', $folder, $prefix, @nodes), $seed ], '<', \$clients{in}, '>&', \$clients{out});
	return \%clients;
}

sub stop_clients
{
	my ($clients, $name) = @_;
	is($clients->{run}->finish ? 0 : $clients->{run}->result, 0, $name) or diag($clients->{out});
	return;
}

sub run_load
{
	my ($name, @command) = @_;
	my $out = '';
	my $good = IPC::Run::run([@command], '<', \undef, '>&', \$out);
	ok($good, $name) or diag($out);
	note $out;
	return $out;
}

# Waits until clients have completed so many more tasks.
sub works
{
	my ($node, $prefix, $count, $name) = @_;
	my $completed = qq(select count(*) from scylla.task where queue like '$prefix-%' and status = 'completed');
	my $enough = sql($node, $completed) + $count;
	eventually($node, "select ($completed) >= $enough", 't', $name);
	return;
}

sub no_monitor
{
	my ($node, $name) = @_;
	is(sql($node, q(select pg_is_in_recovery(), count(*) from pg_stat_activity where backend_type like 'scylla%')), 't|0', $name);
	return;
}

# From now on every commit on the primary waits until the standby has it.
sub make_synchronous
{
	my ($primary, $standby) = @_;
	sql($primary, q(alter system set synchronous_standby_names = '*'));
	$primary->reload;
	eventually($primary, q(select sync_state from pg_stat_replication), 'sync', $standby->name . ' is a synchronous standby');
	return;
}

# The primary is gone; the standby takes over, and must not wait for a standby of its own.
sub take_over
{
	my ($node) = @_;
	no_monitor($node, $node->name . ': a standby has neither launcher nor monitor');
	$node->append_conf('postgresql.auto.conf', "synchronous_standby_names = ''");
	$node->promote;
	return;
}

# ---- synchronous, in both directions --------------------------------------------------------------------------------

make_synchronous($a, $b);
my ($primary, $standby) = ($a, $b);
for my $kill ('immediate', 'kill -9')
{
	my $prefix = $kill eq 'immediate' ? 'there' : 'back';
	my $from = $primary->name;
	my $to = $standby->name;
	my $folder = PostgreSQL::Test::Utils::tempdir;
	my $clients = start_clients($folder, $prefix, $primary, $standby);
	works($primary, $prefix, 100, "$kill: clients work with $from");
	sql($primary, qq(select scylla.submit_bulk('$prefix heads', '{1,2,3}')));
	# A worker that will not be heard of again.
	sql($primary, qq(select scylla.submit('$prefix held', '1', rn => '$prefix held');
		select scylla.lease('$prefix held', 'gone', timeout => '3 s');));

	$kill eq 'immediate' ? $primary->stop('immediate') : $primary->kill9;
	take_over($standby);
	works($standby, $prefix, 100, "$kill: clients go on with $to by themselves");
	wait_for_monitor($standby, 'postgres', "$kill: a monitor has come up on $to");
	eventually($standby, qq(select rn, attempt, failures from scylla.lease('$prefix held', 'heir', timeout => '1 h')),
		"$prefix held|2|1", "$kill: the lease of a worker that is gone has expired there");
	sql($standby, qq(select scylla.complete('$prefix held', 'heir')));
	is(sql($standby, qq(select count(*) from scylla.stat_heads where queue = '$prefix heads' and frontier > 0)), '0',
		"$kill: where the ready tasks begin is not known yet");
	is(sql($standby, qq(select spec from scylla.lease('$prefix heads', 'heir', 2, '1 h') order by spec)), "1\n2", "$kill: ... they are found");
	eventually($standby, qq(select count(*) from scylla.stat_heads where queue = '$prefix heads' and frontier > 0), '1',
		"$kill: ... and then it is known: heads are made anew");
	is(sql($standby, qq(select spec from scylla.lease('$prefix heads', 'heir', 2, '1 h'))), '3', "$kill: ... without losing one");
	stop_clients($clients, "$kill: no client got lost");
	my @both = ($folder, $prefix, $primary, $standby);
	run_load("$kill: everything comes to its end", load_command('finish', @both));
	my $out = run_load("$kill: nothing that was acknowledged is lost, nothing is done twice", load_command('judge', @both));
	like($out, qr/^[1-9]\d* acknowledged\nviolations = 0$/m, "$kill: ... of what many clients were told");
	checked($standby, "$kill: check() finds nothing");

	($primary, $standby) = ($standby, $primary);
	if ($kill eq 'immediate')
	{
		# The old primary has gone its own way for a moment; it becomes a standby of the new one.
		sql($primary, 'checkpoint');
		my $conf = PostgreSQL::Test::Utils::tempdir . '/postgresql.conf';
		append_to_file($conf, slurp_file($standby->data_dir . '/postgresql.conf'));
		command_ok([ 'pg_rewind', '--target-pgdata', $standby->data_dir, '--source-server', $primary->connstr('postgres'), '--no-sync',
				'--config-file', $conf ], 'pg_rewind brings the old primary to where the new one is');
		unlink($standby->data_dir . '/postgresql.conf');
		$standby->append_conf('postgresql.conf', slurp_file($conf));
		$standby->enable_streaming($primary);
		$standby->start;
		$primary->wait_for_catchup($standby->name, 'replay');
		no_monitor($standby, 'the old primary is a standby and has no monitor');
		is(tasks($standby), tasks($primary), '... with the same tasks');
		checked($standby, '... in which check() finds nothing');
		make_synchronous($primary, $standby);
	}
}

# ---- asynchronous -----------------------------------------------------------------------------------------------------

# b was killed and is gone; a has no standby. c gets everything for a while, and is then away.
sql($primary, 'select pg_switch_wal()');
$primary->backup('second');
my $c = PostgreSQL::Test::Cluster->new('c');
$c->init_from_backup($primary, 'second', has_streaming => 1);
$c->start;
sql($primary, q(
	select scylla.submit('few', '1', rn => 'provider'); select scylla.submit('few', '1', rn => 'dependant', depends_on => '{provider}');
	select scylla.submit('few', '1', rn => 'given back'); select scylla.submit('few', '1', rn => 'cancelled');
	select scylla.lease_task('provider', 'w', '1 h'); select scylla.lease_task('given back', 'w', '1 h');));
my $folder = PostgreSQL::Test::Utils::tempdir;
my $clients = start_clients($folder, 'async', $primary);
works($primary, 'async', 100, 'clients work');
$primary->wait_for_catchup('c', 'replay');
$c->stop('immediate');
my $states = q(select string_agg(rn || ' ' || status || ' ' || attempt, ', ' order by rn) from scylla.task where queue = 'few');
sql($primary, q(
	select scylla.complete('provider', 'w', '"result"'); select scylla.lease_task('dependant', 'w', '1 h');
	select scylla.yield('given back', 'w'); select scylla.cancel('cancelled'); select scylla.submit('few', '1', rn => 'late');));
is( sql($primary, $states), 'cancelled cancelled 0, dependant running 1, given back ready 1, late ready 0, provider completed 1',
	'a primary goes on without its asynchronous standby');
works($primary, 'async', 100, '... and so do the clients');
$primary->kill9;
stop_clients($clients, 'clients stop');
$c->start;
no_monitor($c, 'a standby that starts without its primary has no monitor');
$c->promote;
is( sql($c, $states), 'cancelled ready 0, dependant waiting 0, given back running 1, provider running 1',
	'what came last is lost: a submit, a completion with what it opened, a yield, a cancel');
checked($c, '... none of it by half: check() finds nothing');
is(sql($c, q(select status, attempt from scylla.complete('provider', 'w', '"result"', attempt => 1))), 'completed|1',
	'the worker whose completion was lost can say it again');
is(sql($c, q(select args from scylla.lease_task('dependant', 'w'))), '["result"]', '... and what depends on it is opened');
my $out = run_load('of what the clients were told there is the beginning, without holes', load_command('lossy', $folder, 'async', $c));
like($out, qr/^[1-9]\d* acknowledged, [1-9]\d* lost\nviolations = 0$/m, '... and the end is lost');
run_load('everything that is left comes to its end', load_command('finish', $folder, 'async', $c));
checked($c, 'check() finds nothing at the end');
$c->stop;
done_testing();
