# Roles that own a queue change it, drop it, fill it or make others, and idle in the transaction. What others do in their queues
# takes no longer for that, with a monitor and without preloading.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;
use Time::HiRes qw(time);

# Seconds that a call of somebody else may take at most, with the start of psql, on a machine that does much else.
my $patience = 15;

# What the idler does in its own queues, which have tasks and no settings.
my @attacks = (
	[ 'a first max_running', q(select scylla.alter_queue('own', '{"max_running": 1}')) ],
	[ 'a first max_running_per_key', q(select scylla.alter_queue('own', '{"max_running_per_key": 1}')) ],
	[ 'a first max_depth', q(select scylla.alter_queue('own', '{"max_depth": 1000}')) ],
	[ 'first key_weights', q(select scylla.alter_queue('own', '{"key_weights": {"a": 2}}')) ],
	[ 'a first rate_per_key', q(select scylla.alter_queue('own', '{"rate_per_key": {"tasks": 1}}')) ],
	[ 'a rate', q(select scylla.alter_queue('own', '{"rate": {"tasks": 1}}')) ],
	[ 'a pause', q(select scylla.pause_queue('own')) ],
	[ 'grants', q(select scylla.grant_queue('own', 'other', 'submit'); select scylla.revoke_queue('own', 'other', 'submit')) ],
	[ 'drop_queue', q(select scylla.drop_queue('own', force => true)) ],
	[ 'drop_queue and the same queue again', q(select scylla.drop_queue('own', force => true); select scylla.submit('own', '1')) ],
	[ 'a submit, and others set bounds', q(select scylla.submit('own', '1')) ],
	[ 'new queues', q(select scylla.create_queue('idle ' || n, max_depth => 5) from generate_series(1, 100) n) ],
	[ 'submits to 100 bounded queues', q(select scylla.submit('bounded ' || n, '1') from generate_series(1, 100) n) ],
	[ 'leases', q(select count(*) from scylla.lease('own', 'idler', 3)) ]);

# What others do meanwhile, each a transaction of its own. It must not fail.
my @calls = (
	[ 'create_queue', q(select scylla.create_queue('new of others'); select scylla.drop_queue('new of others')) ],
	[ 'submit', q(select rn from scylla.submit('others', '1', rn => 'theirs N', key => 'k')) ],
	[ 'submit to a bounded queue', q(select rn from scylla.submit('others bounded', '1')) ],
	[ 'lease', q(select rn from scylla.lease('others', 'w', 100)) ],
	[ 'lease of a bounded queue', q(select rn from scylla.lease('others bounded', 'w', 1)) ],
	[ 'heartbeat', q(select scylla.heartbeat('theirs N', 'w')) ],
	[ 'complete', q(select scylla.complete('theirs N', 'w')) ],
	[ 'alter_queue', q(select scylla.alter_queue('others', '{"max_running": 100, "max_depth": 100, "max_running_per_key": 50}')) ],
	[ 'submit again', q(select rn from scylla.submit('others', '1', rn => 'more N')) ],
	[ 'alter_queue back', q(select scylla.alter_queue('others', '{"max_running": null, "max_depth": null, "max_running_per_key": null}')) ],
	[ 'drop_queue', q(select scylla.submit('short lived', '1'); select scylla.drop_queue('short lived', force => true)) ],
	[ 'cancel', q(select rn from scylla.cancel('more N')) ],
	[ 'a look', q(select count(*) from scylla.task) ]);

my $number = 0;
my @privileges = map { "grant execute on all functions in schema scylla to $_; grant usage on schema scylla to $_" } qw(idler other);

for my $preloaded (1, 0)
{
	my $node = new_node($preloaded ? 'preloaded' : 'plain',
		settings => "fsync = off\nlog_min_error_statement = panic" . ($preloaded ? "\nscylla.monitor = on\nscylla.max_queues = 64" : ''),
		preload => $preloaded);
	my $where = $preloaded ? 'preloaded' : 'without preloading';
	sql($node, 'create extension scylla; create role idler login; create role other login; grant select on all tables in schema scylla to other');
	sql($node, $_) for @privileges;
	wait_for_monitor($node, 'postgres') if $preloaded;
	my $as = sub { my ($role, $sql) = @_; return sql($node, "set session authorization $role; set statement_timeout = '20 s'; $sql"); };
	$as->('other', q(select scylla.create_queue('others'); select scylla.create_queue('others bounded', max_running => 10000, max_depth => 10000)));
	$as->('idler', q(select scylla.create_queue('bounded ' || n, max_depth => 5) from generate_series(1, 100) n));

	for my $attack (@attacks)
	{
		my ($name, $sql) = @$attack;
		$as->('idler', q(select scylla.create_queue('own'); select scylla.submit('own', '1', key => 'k' || n % 3) from generate_series(1, 20) n));
		my $idler = $node->background_psql('postgres', on_error_stop => 1);
		$idler->query_until(qr/^attacked$/m, "set session authorization idler;\nbegin;\n$sql;\n\\echo attacked\n");
		die "$name did not succeed"
			if sql($node, q(select count(*) from pg_stat_activity where state = 'idle in transaction')) ne '1';
		my ($slowest, $took) = ('', 0);
		$number++;
		for my $call (@calls)
		{
			my $from = time;
			$as->('other', $call->[1] =~ s/ N'/ $number'/gr);
			my $seconds = time - $from;
			($slowest, $took) = ($call->[0], $seconds) if $seconds > $took;
		}
		cmp_ok($took, '<', $patience, sprintf('%s, %s: nobody else waits (at most %.0f ms: %s)', $where, $name, 1000 * $took, $slowest));
		$idler->query_until(qr/^back$/m, "rollback;\n\\echo back\n");
		$idler->quit;
		$as->('idler', q(select scylla.drop_queue('own', force => true)));
		$as->('other', q(select scylla.maintain())) if !$preloaded;
	}
	is(sql($node, 'select count(*) from scylla.check()'), '0', "$where: and the invariants hold");

	# One live dependant of another role does not keep a queue from being dropped: it ends as its on_dependency_failure says.
	if ($preloaded)
	{
		$as->('idler', q(select scylla.create_queue('provider'); select scylla.grant_queue('provider', 'other', 'depend');
			select scylla.grant_queue('provider', 'other', 'view'); select scylla.submit('provider', '1', rn => 'provider')));
		$as->('other', qq(select scylla.submit('others', '1', rn => 'dependant $_', depends_on => '{provider}', on_dependency_failure => '$_')))
			for qw(cascade skip ignore);
		$as->('idler', q(select scylla.drop_queue('provider', force => true)));
		my %ends = (cascade => 'aborted', skip => 'cancelled', ignore => 'ready');
		for my $rule (sort keys %ends)
		{
			ok($node->poll_query_until('postgres', "select status = '$ends{$rule}' from scylla.get_task('dependant $rule')"),
				"a dependant whose rule is $rule is $ends{$rule} when the queue of its provider is dropped");
		}
		# A provider stays as long as a live task may still ask how it ended.
		$as->('other', q(select rn from scylla.cancel('dependant ignore')));
		ok($node->poll_query_until('postgres', 'select count(*) = 0 from scylla.queue_dropped'), 'and nothing is left of the queue');
	}
	$node->stop;
}
done_testing();
