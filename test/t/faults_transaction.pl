# Errors at the steps of every call, in a transaction of its own: the n-th call of the library to the server fails, for n = 1, 17, 33 …
# (by hand 1, 2, 3 …) until the call gets through and is committed; the commit has steps, too. After each failure nothing has changed, the session
# goes on, and every ready task can be leased.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use IPC::Run;
use Faults;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $node = faulty_node();

# They cannot be called in a block.
my @procedures = (q(call scylla.wait('q', '1 s')), q(call scylla.wait('empty', '1 ms')), q(call scylla.wait_any('{none,q}', '1 s')),
	q(call scylla.wait_plan('open', '1 ms')));
# Whose steps depend on how often they have failed, as they walk over what failures have left dead.
my @uneven = grep { /read_events/ } @verbs;
# With nothing remembered: each try has a session of its own.
my @cold = grep { /submit_many|'new queue'|lease\('limited'|complete\('last'/ } @verbs;

my $total = 0;

# psql has no loops: the script goes on beyond the last step.
sub fail_each_transaction
{
	my ($verb, $how, $before_each) = @_;
	my $arguments = literal($verb) . ", '$how'";
	my ($first, $stride) = steps_of($verb);
	my $script = "select fixture(), install_faults();\nselect everything() as before \\gset\n\\set done false\n";
	for (my ($step, $tried) = ($first, 0); $step <= 3000; $step += $stride, $tried++)
	{
		$script .= "\\if :done\n\\else\n${before_each}select arm_fault($step, false);\n$verb;\nselect disarm_fault() >= 0 as done \\gset\n"
		  . "\\if :done\ninsert into reached values ($arguments, $tried);\n\\else\ncall look_around($arguments, $step, :'before');\n\\endif\n\\endif\n";
	}
	my $file = PostgreSQL::Test::Utils::tempdir . '/script.sql';
	append_to_file($file, $script);
	# The errors are meant to be; what psql itself comes to is not.
	my $result = IPC::Run::run([ 'psql', '-XqAt', '-o', '/dev/null', '-d', $node->connstr('postgres'), '-f', $file ], '2>', \my $err);
	ok($result, "$verb: the server goes on") or diag $err;
	$total += judge($verb, $how);
	unlink $file;
}
for my $verb (@verbs, @procedures)
{
	fail_each_transaction($verb, 'error in a transaction', '') unless grep { $_ eq $verb } @uneven;
}
fail_each_transaction($_, 'error in a session', "\\c\nselect install_faults();\n") for @cold;
note "$total steps";
$node->stop;
done_testing();
