# More queues than anybody needs: statistics go through each table once, however many there are.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;
use Time::HiRes qw(time);

my $queues = 51_000;
my $node = new_node('main', settings => "fsync = off\nlog_min_error_statement = panic");
sql($node, 'create extension scylla');
my $begun = time;
# (A transaction holds a lock for each queue that it makes.)
sql($node, "do \$\$ begin for i in 1 .. $queues loop perform scylla.create_queue('q' || i); if i % 1000 = 0 then commit; end if; end loop; end \$\$");
sql($node, 'vacuum analyze');
note sprintf '%d queues made in %.1f s', $queues, time - $begun;
sql($node, "select scylla.submit('q1', '1'); select scylla.submit('q2', '2', rn => 'running'); select scylla.lease_task('running', 'w')");

# Seconds, the better of two; a machine that does much else may take several times as long.
sub seconds
{
	my ($sql) = @_;
	my $best;
	for (1 .. 2)
	{
		my $from = time;
		sql($node, "set statement_timeout = '120 s'; $sql");
		my $took = time - $from;
		$best = $took if !defined $best || $took < $best;
	}
	return $best;
}
for (
	[ 'metrics()', q(set scylla.max_metrics_queues = 1000000; select length(scylla.metrics())), 100 ],
	[ 'stat_queue', 'select count(*) from scylla.stat_queue', 10 ],
	[ 'stat_worker', 'select count(*) from scylla.stat_worker', 5 ],
	[ 'count_tasks()', 'select count(*) from scylla.count_tasks()', 10 ],
	[ 'check()', 'select count(*) from scylla.check()', 20 ])
{
	my ($name, $sql, $bound) = @$_;
	my $seconds = seconds($sql);
	note sprintf '%s: %.2f s', $name, $seconds;
	cmp_ok($seconds, '<', $bound, "$name of $queues queues comes to its end");
}
is(sql($node, q(set scylla.max_metrics_queues = 1000000; select string_agg(line, E'\n') from regexp_split_to_table(scylla.metrics(), '\n') line where line ~ '^pgscylla_queue_workers\{queue="q[12]"')),
	qq(pgscylla_queue_workers{queue="q1"} 0\npgscylla_queue_workers{queue="q2"} 1), 'metrics() counts the workers of each queue');
$node->stop;
done_testing();
