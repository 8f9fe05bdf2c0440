# A provider with very many dependants, of whomever: its end opens a bounded number of them, and the monitor the others, in their
# order, in portions between which it does its other duties. What a crash takes away is found when it starts again.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'scylla'\nscylla.monitor_interval = '1 h'\nlog_statement = none");
$node->start;
sql($node, 'create extension scylla');
ok($node->poll_query_until('postgres', q(select count(*) = 1 from pg_stat_activity where backend_type = 'scylla monitor')), 'a monitor runs');
sql($node, q(
	create role stranger;
	grant usage on schema scylla to stranger;
	grant execute on all functions in schema scylla to stranger;
	select scylla.create_queue('victim'), scylla.grant_queue('victim', 'stranger', 'depend');));

my $dependants = 20_000;

# So many tasks of a stranger that depend on one of the victim's, which is leased.
sub burden
{
	my ($name) = @_;
	sql($node, qq(select scylla.submit('victim', '1', rn => '$name'), scylla.lease_task('$name', 'w', '1 h');
		set role stranger;
		select count(*) from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'theirs', 'spec', 1, 'rn', '$name ' || n,
			'depends_on', array['$name'])) from generate_series(1, $dependants) n));));
}

sub statuses
{
	my ($name) = @_;
	return qq(select string_agg(status || ' ' || n, ' ' order by status)
		from (select status, count(*) as n from scylla.task where rn like '$name %' group by 1) s);
}

burden('one');
is(sql($node, "begin; select from scylla.complete('one', 'w'); " . statuses('one') . '; commit'), 'waiting 18990 ready 1010',
	'a task with 20,000 dependants opens a thousand of them itself');
ok($node->poll_query_until('postgres', 'select count(*) = 20000 from scylla.task_ready'), '... and the monitor all others');
is(sql($node, q(select count(*) from (select updated < lag(updated) over (order by id) as early from scylla.task_ready) r where early)), '0',
	'in their order');
checked($node, 'check() finds nothing');

# A cascade of 20,000 takes the monitor twenty turns. A task that becomes due meanwhile is ready before the last of them has ended.
burden('two');
is(sql($node, "begin; select from scylla.abort('two', 'w', '{\"code\": \"broken\"}'); " . statuses('two')
		. q(; select count(*) from scylla.submit('victim', '1', rn => 'due', not_before => clock_timestamp() + '1 ms'); commit)),
	"waiting 18990 aborted 1010\n1", 'a cascade ends a thousand itself');
ok($node->poll_query_until('postgres', statuses('two'), 'aborted 20000'), '... and the monitor all others');
is(sql($node, q(select (select updated from scylla.task_ready r join scylla.task_spec s using (id) where rn = 'due')
		< (select max(finished) from scylla.task_outcome o join scylla.task_spec s using (id) where rn like 'two %'))), 't',
	'and did its other duties meanwhile');

# Providers take turns: those of the few end before those of the many, which ended first.
sub finished { my ($name) = @_; return "(select max(updated) from scylla.task where rn like '$name %')"; }
burden('many');
$dependants = 3_000;
burden('few');
$dependants = 20_000;
sql($node, q(begin; select from scylla.complete('many', 'w'); select from scylla.complete('few', 'w'); commit));
ok($node->poll_query_until('postgres', "select count(*) = 23000 from scylla.task where (rn like 'many %' or rn like 'few %') and status = 'ready'"),
	'the monitor opens what two tasks have left');
is(sql($node, 'select ' . finished('few') . ' < ' . finished('many')), 't', '... and the many dependants of one do not hold up the few of the other');

burden('three');
sql($node, q(select from scylla.complete('three', 'w')));
$node->stop('immediate');
$node->start;
ok($node->poll_query_until('postgres', statuses('three'), 'ready 20000'), 'what a crash interrupts goes on afterwards');
checked($node, 'check() finds nothing afterwards');

# The same for those that wait for a signal.
sql($node, qq(select count(*) from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'theirs', 'spec', 1, 'rn', 'four ' || n,
	'wait_for', '[{"signal": "all"}]'::jsonb)) from generate_series(1, $dependants) n))));
is(sql($node, "begin; select scylla.send_signal('all') > 0; " . statuses('four') . '; commit'), "t\nwaiting 18990 ready 1010",
	'a signal opens a thousand itself');
checked($node, 'check() knows that the monitor is still to open the others');
ok($node->poll_query_until('postgres', statuses('four'), 'ready 20000'), '... and the monitor all others');

# Without a monitor a call does it all; so does maintain() after others.
$node->append_conf('postgresql.conf', 'scylla.monitor = off');
$node->reload;
ok($node->poll_query_until('postgres', q(select count(*) = 0 from pg_stat_activity where backend_type = 'scylla monitor')), 'no monitor runs');
burden('five');
is(sql($node, "begin; select from scylla.complete('five', 'w'); " . statuses('five') . '; commit'), 'ready 20000', 'without a monitor a call opens all');

$node->stop;
done_testing();
