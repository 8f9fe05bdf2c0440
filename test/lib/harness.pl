#!/usr/bin/perl
# Runs TAP test files like prove, and says afterwards how many assertions passed and failed.
#
#   harness.pl --dump FOLDER --counts FILE --failures FILE --limit SECONDS [--jobs N] -- COMMAND... -- TEST-FILE...
#
# COMMAND is what runs one file; its raw output is kept in FOLDER. A file that dies, takes longer than SECONDS, has the wrong number of tests, or says
# nothing sensible counts as one more failure. What failed is appended to the file of failures, a line each.
use strict;
use warnings;
use File::Basename qw(basename);
use File::Path qw(make_path);
use Getopt::Long qw(:config require_order);
use TAP::Harness;

my $jobs = 1;
GetOptions('dump=s' => \my $dump, 'counts=s' => \my $counts, 'failures=s' => \my $failures,
	'limit=i' => \my $limit, 'jobs=i' => \$jobs) or exit 2;
my @command;
push @command, shift @ARGV while @ARGV && $ARGV[0] ne '--';
shift @ARGV;
my @files = @ARGV;

make_path($dump);
$ENV{PERL_TEST_HARNESS_DUMP_TAP} = $dump;
my $harness = TAP::Harness->new({ exec => [ 'timeout', '--foreground', $limit, @command ], jobs => $jobs, timer => 1 });
my ($passed, $failed) = (0, 0);
my @bad;
$harness->callback(
	after_test => sub {
		my ($test, $parser) = @_;
		my $missing = ($parser->tests_planned // 0) - $parser->tests_run;
		my $bad = $parser->failed + ($missing > 0 ? $missing : 0);
		$bad = 1 if !$bad && ($parser->has_problems || $parser->exit || $parser->wait);
		$passed += $parser->passed;
		$failed += $bad;
		push @bad, $test->[0] if $bad;
	});
$harness->runtests(map { [ $_, basename($_) ] } @files);

open my $list, '>>', $failures or die "$failures: $!\n";
for my $file (@bad)
{
	open my $tap, '<', "$dump/$file" or next;
	my @lines = <$tap>;
	my @names = grep { /^not ok/ } @lines;
	push @names, "no test failed, but the file was not whole; the last line: " . ($lines[-1] // "\n") unless @names;
	print $list map { "failed: " . basename($file) . ": $_" } @names[ 0 .. ($#names < 9 ? $#names : 9) ];
	print "--- $file\n";
	show(@lines);
}
close $list or die "$failures: $!\n";

open my $out, '>', $counts or die "$counts: $!\n";
print $out "$passed $failed\n";
close $out or die "$counts: $!\n";
exit($failed ? 1 : 0);

# The harness hides the comments of a test that failed; they say why. The whole is in the dump.
sub show
{
	my @lines = @_;
	my ($show, $shown) = (0, 0);
	for my $number (0 .. $#lines)
	{
		local $_ = $lines[$number];
		$show = /^\s*not ok/ if /^\s*(not )?ok\b/;
		next unless $show || /^Bail out/ || ($number == $#lines && !/^\s*(ok|\d+\.\.)/);
		last if ++$shown > 100;
		s/^(.{400}).+/$1 .../;
		print "    $_";
	}
}
