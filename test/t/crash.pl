# A server that stops at once in the middle of work, again and again: what was acknowledged to a client is there after the
# restart, a completed task never runs again, and the tables are consistent. The clients' own records, outside the server,
# are the truth.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

use constant ROUNDS => 4;
use constant COMPLETED_PER_ROUND => 150;

# The monitor is at work too: it gives the leases that a crash has left to other workers.
my $node = new_node('main', settings => "scylla.monitor = on\nscylla.default_timeout = '500 ms'");
sql($node, 'create extension scylla');

my $folder = PostgreSQL::Test::Utils::tempdir;

# psql prints a line when the server has said that the transaction is committed, not before. Each script says far more than
# it will get to.
my %script = (
	submitter => q(select 'S ' || rn from scylla.submit('q', '{"some": "work"}', priority => (random() * 3)::int);
),
	batch_submitter => q(select 'S ' || rn from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'q', 'spec', n))
	from generate_series(1, 5) n));
),
	worker => q(select coalesce(min(rn), '') as rn, count(*) = 1 as got from scylla.lease('q', 'worker') \gset
\if :got
\echo L :rn
select 'C ' || rn from scylla.complete(:'rn', 'worker', '"done"');
\endif
),
	batch_worker => q(select coalesce(array_agg(rn), '{}') as rns, count(*) > 0 as got from scylla.lease('q', 'batch', 5) \gset
\if :got
select 'L ' || rn from unnest(:'rns'::text[]) rn;
select 'C ' || rn from scylla.complete_many(:'rns', 'batch') where completed;
\endif
),
	heartbeater => q(select rn from scylla.list_tasks('q', 'running', max_tasks => 3), scylla.heartbeat(rn, owner, 0.5);
),
	# Takes tasks away from workers and gives them back, so that there are old ids among the ready ones.
	nuisance => q(select rn, owner, count(*) over () > 0 as got from scylla.list_tasks('q', 'running', max_tasks => 1) \gset
select rn from scylla.yield(:'rn', :'owner');
));
my %file;
for my $name (keys %script)
{
	$file{$name} = "$folder/$name.sql";
	append_to_file($file{$name}, $script{$name} x 20000);
}

my (%submitted, %completed);
my $completed_before = 0;
for my $round (1 .. ROUNDS)
{
	my @clients;
	my $n = 0;
	for my $name (qw(submitter batch_submitter worker worker batch_worker heartbeater nuisance))
	{
		my $out = "$folder/$round." . $n++;
		push @clients, {
			name => $name,
			out => $out,
			run => IPC::Run::start(
				[ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-f', $file{$name} ], '>', $out, '2>', '/dev/null') };
	}
	my $enough = $completed_before + COMPLETED_PER_ROUND;
	eventually($node, "select count(*) >= $enough from scylla.task where status = 'completed'", 't',
		"round $round: work is under way");
	$node->stop('immediate');
	$_->{run}->finish for @clients;
	$node->start;

	# What the clients know.
	my ($new_submits, $new_completes, @again, @twice) = (0, 0);
	my %before = %completed;
	for my $client (@clients)
	{
		for (split /\n/, slurp_file($client->{out}))
		{
			/^([SLC]) (\S+)$/ or next;
			if ($1 eq 'S') { $submitted{$2} = 1; $new_submits++; }
			elsif ($1 eq 'L') { push @again, $2 if $before{$2}; }
			elsif ($1 eq 'C') { push @twice, $2 if $completed{$2}++; $new_completes++; }
		}
	}
	cmp_ok($new_submits, '>', 0, "round $round: submits have been acknowledged ($new_submits)");
	cmp_ok($new_completes, '>', 0, "round $round: completes have been acknowledged ($new_completes)");
	is("@again", '', "round $round: no task was leased that had been completed before the last crash");
	is("@twice", '', "round $round: no task was completed twice");

	my %status = map { split /\|/ } split /\n/, sql($node, 'select rn, status from scylla.task');
	is(join(' ', grep { !$status{$_} } sort keys %submitted), '', "round $round: every acknowledged task is there");
	is(join(' ', grep { $status{$_} ne 'completed' } sort keys %completed), '',
		"round $round: every acknowledged complete has stayed");
	checked($node, "round $round: check() finds nothing");
	$completed_before = sql($node, q(select count(*) from scylla.task where status = 'completed'));
}

# The rest gets done: nothing is stuck. Leases that the crash has left expire.
eventually($node, q(
	select count(*) from scylla.lease('q', 'last', 100000) l, scylla.complete(l.rn, 'last');
	select count(*) from scylla.task where status <> 'completed'), "0\n0", 'the rest can be leased and completed');
checked($node, 'check() finds nothing at the end');
is(sql($node, 'select rn, attempt, history from scylla.task where attempt <= 20 and jsonb_array_length(history) <> 2 * attempt - 1'),
	'', 'every attempt is in the history with how it ended');
$node->stop;
done_testing();
