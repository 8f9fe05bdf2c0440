# Statements of the engine of workflows find rows by their keys whatever statistics say. Statistics of an idle server say that tables are
# small; when many runs begin at once, a plan that compares each row with each other would take a minute until they are made again.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

# The plans of all statements that take more than a millisecond are logged.
my $node = new_node('main', settings => join "\n", "shared_preload_libraries = 'scylla,auto_explain'", 'autovacuum = off', 'jit = off',
	'auto_explain.log_min_duration = 1', 'auto_explain.log_analyze = on', 'auto_explain.log_nested_statements = on', 'auto_explain.log_timing = off');
sql($node, q~
	create extension scylla;
	select scylla.create_workflow('{"properties": {"owner": "ann", "run_strategy": "1000"}, "workflow": {"id": "chain", "steps": [
		{"step": {"id": "one", "type": "T", "transition": {"successors": {"two": "true"}}}}, {"step": {"id": "two", "type": "NoOp"}}]}}');
	select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "loop", "params": {"n": {"type": "LONG", "value": 1}}, "steps": [
		{"foreach": {"id": "each", "concurrency": 500, "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "expression": "Util.intsBetween(0, n, 1)"}}}},
			"steps": [{"step": {"id": "inner", "type": "T", "transition": {"successors": {"then": "true"}}}}, {"step": {"id": "then", "type": "NoOp"}}]}}]}}');
	select scylla.create_workflow(replace('{"properties": {"owner": "ann", "run_strategy": "1000"}, "workflow": {"id": "waits-N", "steps": [
		{"step": {"id": "one", "type": "T", "signal_dependencies": [{"name": "go N"}]}}]}}', 'N', n::text)::jsonb) from unnest(array[1, 900]) n;
	create procedure work() language plpgsql as $$
	declare
		leased int;
		turns bigint;
	begin
		for turn in 1 .. 100000 loop
			call scylla.advance(turns);
			select count(scylla.complete(rn, 'w')) into leased from scylla.lease('t', 'w', 50) l;
			commit;
			exit when leased = 0 and not exists (select from scylla.workflow_run where ended is null and workflow not like 'waits%');
		end loop;
	end $$;
~);

# Runs of each workflow, of the loop one with as many iterations; all end but those that wait.
sub runs
{
	my ($number) = @_;
	sql($node, qq~
		select count(scylla.start_workflow('waits-$number')) from generate_series(1, $number);
		select count(scylla.start_workflow('chain')) from generate_series(1, $number);
		select from scylla.start_workflow('loop', '{"n": {"type": "LONG", "value": $number}}');
		call work();~);
}
sub send_and_work { sql($node, "select from scylla.send_signal('go $_[0]', '{}')"); sql($node, 'call work()'); sql($node, 'call work()'); }

runs(1);
send_and_work(1);
sql($node, 'vacuum (analyze)');
my $from = -s $node->logfile;
my $number = 900;
runs($number);
is(sql($node, q(select count(*) from scylla.workflow_step where workflow ~ '^waits' and status = 'WAITING_FOR_SIGNALS')), $number, "$number runs wait for a signal");
send_and_work($number);
is(sql($node, q(select string_agg(status || ' ' || n, ' ' order by status) from (select status, count(*) n from scylla.workflow_run group by 1) s)),
	'SUCCEEDED ' . (2 * $number + 4), 'all have succeeded');

# Of each plan the rows that were compared in vain.
my ($query, %wasted, $plans);
for my $line (split /\n/, slurp_file($node->logfile, $from))
{
	$plans++ if $line =~ /duration: [\d.]+ ms  plan:/;
	($query) = $line =~ /Query Text: (.{0,300})/ if $line =~ /Query Text:/;
	my $loops = $line =~ /loops=(\d+)/ ? $1 : undef;
	$wasted{$query}{loops} = $loops if defined $loops;
	next unless $line =~ /Rows Removed by (?:Join )?Filter: (\d+)/;
	my $rows = $1 * ($wasted{$query}{loops} // 1);
	$wasted{$query}{rows} = $rows if $rows > ($wasted{$query}{rows} // 0);
}
cmp_ok($plans, '>', 10, 'plans were logged');
my @bad = map { "$wasted{$_}{rows}: $_" } grep { ($wasted{$_}{rows} // 0) > 20 * $number } sort keys %wasted;
is(join("\n", @bad), '', 'no statement compares each row with each other');
done_testing();
