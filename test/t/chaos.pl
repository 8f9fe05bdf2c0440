# Chaos, in short: clients at work while everything is killed, stopped and disturbed by a seed, and an observer outside that
# compares what they were told with what the database shows (docs/chaos.md). First the observer is observed: it must find
# what is falsified in a record. SCYLLA_TEST_SECONDS says how short; ./test/chaos does the same for as long as one likes.
use strict;
use warnings;
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

my $program = "$FindBin::RealBin/../lib/chaos";
my @python = ('/usr/bin/python3', '-B'); # the one that Debian's packages are for

# The output of a program, line by line; and whether it has succeeded.
sub run_python
{
	my (@command) = @_;
	open my $out, '-|', @python, @command or die "$command[0]: $!";
	chomp(my @lines = <$out>);
	return (close($out), @lines);
}

my ($good, @lines) = run_python("$program/selftest.py");
my @broken = grep { !/^ok / } @lines;
ok($good && @broken == 1 && $broken[0] =~ /^1\.\.\d+$/ && @lines > 50, 'the observer finds each falsification of a record')
  or diag(join "\n", @broken);

for my $seed ('1', $ENV{SEED} // int(rand(1_000_000)))
{
	my $folder = PostgreSQL::Test::Utils::tempdir;
	my $socket_dir = PostgreSQL::Test::Utils::tempdir_short;
	note "seed $seed";
	($good, @lines) = run_python("$program/chaos.py", $folder, $socket_dir, '--seconds', $ENV{SCYLLA_TEST_SECONDS} // 20, '--seed', $seed);
	ok($good && $lines[-1] eq 'violations = 0', "seed $seed: no rule is broken") or diag(join "\n", @lines);
	my %figure = map { /^(operations|faults): (\d+)/ ? ($1 => $2) : /^acknowledged: .*?(\d+) (idle)/ ? ($2 => $1) : () } @lines;
	cmp_ok($figure{operations}, '>', 0, "seed $seed: clients have been at work");
	cmp_ok($figure{faults}, '>', 0, "seed $seed: and have been disturbed");
	cmp_ok($figure{idle} // 0, '>', 0, "seed $seed: a role has been idle in transactions");
	note($_) for @lines;
}
done_testing();
