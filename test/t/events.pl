# NOTIFY: told once when a queue gets something to lease, again only after a lease has found nothing, and never too late. Events:
# they survive what tasks survive, can be decoded, and are removed in time.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

# The monitor's rounds are far apart: it acts when it is woken.
my $node = new_node('main', allows_streaming => 'logical',
	settings => "scylla.monitor = on\nscylla.monitor_interval = '1 h'\nautovacuum = off");
sql($node, q(
	create extension scylla;
	select scylla.create_queue('q', notify => true);
	select scylla.create_queue('quiet');));
wait_for_monitor($node, 'postgres');

# ---- NOTIFY -----------------------------------------------------------------------------------------------------------

my $listener = $node->background_psql('postgres', on_error_stop => 0);
$listener->query_safe('listen scylla');

# The queues that the listener has been told of since the last time. A notification of our own comes after all that the monitor
# has been asked for: "fence" is a queue that the monitor is asked to tell of last.
sql($node, q(select scylla.create_queue('fence', notify => true)));
my $heard = '';
sub told
{
	sql($node, q(select scylla.submit('fence', '1')));
	for (1 .. 1000)
	{
		$heard .= $listener->query('select 1');
		last if $heard =~ /payload "fence"/;
	}
	sql($node, q(select scylla.complete(rn, 'w') from scylla.lease('fence', 'w', 9); select scylla.lease('fence', 'w')));
	my $queues = join ' ', grep { $_ ne 'fence' } $heard =~ /notification "scylla" with payload "([^"]*)"/g;
	$heard = '';
	return $queues;
}

is(told(), '', 'no task, no notification');
sql($node, q(select scylla.submit('quiet', '1'); select scylla.submit('q', '1', not_before => now() + interval '1 day')));
is(told(), '', 'none for a queue that does not want it, and for a task that waits');
sql($node, q(select scylla.submit('q', '1')));
is(told(), 'q', 'a task that can be leased is told of');
sql($node, q(select scylla.submit('q', '1'), scylla.submit('q', '2')));
sql($node, q(select scylla.yield(rn, 'w') from scylla.lease('q', 'w', 2)));
is(told(), '', 'more tasks are not');
sql($node, q(select scylla.complete(rn, 'w') from scylla.lease('q', 'w', 3)));
sql($node, q(select scylla.submit('q', '1')));
is(told(), '', 'nor is one after the last, as long as no lease has found nothing');
sql($node, q(select scylla.complete(rn, 'w') from scylla.lease('q', 'w', 3)));
is(sql($node, q(select count(*) from scylla.lease('q', 'w'))), '0', 'a lease finds nothing');
is(told(), '', 'that itself is nothing to tell');
sql($node, q(select scylla.submit('q', '1')));
is(told(), 'q', 'the next task is told of');

# Only what is committed; and what is given back.
sql($node, q(select scylla.complete(rn, 'w') from scylla.lease('q', 'w', 3); select scylla.lease('q', 'w')));
result_of($node, q(begin; select scylla.submit('q', '1'); rollback));
result_of($node, q(begin; savepoint a; select scylla.submit('q', '1'); rollback to a; commit));
is(told(), '', 'a submit that is rolled back is not told of');
sql($node, q(select scylla.submit('q', '1')));
is(told(), 'q', 'so that one that is not, is');
for my $end ('rollback', 'rollback to a; select pg_notify($$fence$$, $$$$)')
{
	my $holder = $node->background_psql('postgres', on_error_stop => 0);
	$holder->query_safe(q(begin; savepoint a; select from scylla.lease('q', 'w')));
	is(sql($node, q(select count(*) from scylla.lease('q', 'w'))), '0', "$end: somebody is just leasing the last task");
	$holder->query_safe($end);
	is(told(), 'q', '... and gives it back');
	eval { $holder->quit };
	told();
}
sql($node, q(select scylla.complete(rn, 'w') from scylla.lease('q', 'w', 3); select scylla.lease('q', 'w')));

# What time makes ready.
sql($node, q(select scylla.submit('q', '1', rn => 'due', not_before => clock_timestamp() + interval '10 ms')));
eventually($node, q(select status from scylla.task where rn = 'due'), 'ready', 'a task becomes due');
is(told(), 'q', '... and is told of');

# Pauses.
sql($node, q(select scylla.pause_queue('q'); select scylla.lease('q', 'w')));
is(told(), '', 'a pause is nothing to tell');
sql($node, q(select scylla.resume_queue('q')));
is(told(), 'q', 'its end is');

# Limits.
sql($node, q(
	select scylla.complete(rn, 'w') from scylla.lease('q', 'w', 3);
	select scylla.alter_queue('q', '{"max_running": 1}');
	select scylla.submit('q', '1'), scylla.submit('q', '2');
	select scylla.lease('q', 'w', 3);));
told();
is(sql($node, q(select count(*) from scylla.lease('q', 'w'))), '0', 'a queue has as many tasks running as it may');
is(told(), '', '... which is nothing to tell');
sql($node, q(select scylla.complete(rn, 'w') from scylla.list_tasks('q', 'running')));
is(told(), 'q', 'that it may have another is');
sql($node, q(select scylla.alter_queue('q', '{"max_running": null}')));

# A monitor that is not there tells when it is back.
sql($node, q(select scylla.complete(rn, 'w') from scylla.lease('q', 'w', 3); select scylla.lease('q', 'w'); alter system set scylla.monitor = off));
$node->reload;
eventually($node, q(select count(*) from pg_stat_activity where backend_type = 'scylla monitor'), '0', 'without a monitor');
sql($node, q(select scylla.submit('q', '1'); alter system set scylla.monitor = on));
$node->reload;
wait_for_monitor($node, 'postgres');
is(told() =~ s/ .*//r, 'q', '... a task is told of when one comes');

# Names that are long, and not ASCII.
my $long = 'ü' x 200;
sql($node, qq(select scylla.create_queue('$long', notify => true); select scylla.submit('$long', '1')));
is(told(), $long, 'a long name arrives whole');
eval { $listener->quit };

# A worker who leases when he is told to, until there is nothing left, and does not look again before he is told to: while
# others submit as fast as they can, nothing is left lying.
my $folder = PostgreSQL::Test::Utils::tempdir;
append_to_file("$folder/submit.sql", "select scylla.submit('race', '1');\n");
sql($node, q(select scylla.create_queue('race', notify => true)));
my $race = $node->background_psql('postgres', on_error_stop => 0);
$race->query_safe('listen scylla');
my $submitters = IPC::Run::start([ 'pgbench', '-n', '-c', 4, '-t', 300, '-R', 600, '-f', "$folder/submit.sql", $node->connstr('postgres') ],
	'>', '/dev/null', '2>', '/dev/null');
my ($told_to, $done, $deadline) = (0, 0, time + $PostgreSQL::Test::Utils::timeout_default);
while ($done < 1200 && time < $deadline)
{
	my $got = $told_to ? q(select 'got ' || count(scylla.complete(rn, 'w')) from scylla.lease('race', 'w', 200)) : 'select 1';
	my $output = $race->query($got);
	$done += $1 if $output =~ /^got (\d+)$/m;
	$told_to = $output =~ /payload "race"/ || $output =~ /^got [1-9]/m;
}
$submitters->finish;
is($done, 1200, 'a worker who goes by notifications alone misses none');
eval { $race->quit };

# ---- events -----------------------------------------------------------------------------------------------------------

sql($node, q(
	select scylla.create_queue('followed', events => true);
	create table place (cursor text);));
sub new_events
{
	my ($at) = @_;
	return sql($at // $node, q(select rn || ' ' || status from scylla.read_events((select max(cursor) from place)))) =~ s/\n/, /gr;
}
sql($node, q(select pg_create_logical_replication_slot('decoded', 'test_decoding')));
sql($node, q(select scylla.submit('followed', '1', rn => 'one'); select scylla.lease('followed', 'w', timeout => '1 h')));
is(new_events(), 'one ready, one running', 'events are shown when they are committed');
like(sql($node, q(select data from pg_logical_slot_get_changes('decoded', null, null))),
	qr/table scylla\.event: INSERT: .*status\[scylla\.task_status\]:'ready' queue_name\[text\]:'followed' rn\[text\]:'one'/,
	'... and can be decoded');
sql($node, q(select pg_drop_replication_slot('decoded')));
sql($node, q(begin; select scylla.submit('followed', '1', rn => 'two'); prepare transaction 'p'));
sql($node, q(select scylla.submit('followed', '1', rn => 'three')));
is(new_events(), 'one ready, one running', 'a prepared transaction holds up what comes after it');
sql($node, q(commit prepared 'p'));
is(new_events(), 'one ready, one running, two ready, three ready', '... and then comes in its place');
sql($node, q(insert into place select cursor from scylla.read_events() where rn = 'two'));
is(new_events(), 'three ready', 'a cursor leads on');
$node->stop('immediate');
$node->start;
is(new_events(), 'three ready', '... also after a crash');

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby, 'replay');
is(new_events($standby), 'three ready', '... and on a standby');
$standby->stop;

# Into another database server, positions mean nothing.
my $other = new_node('other');
sql($other, q(create extension scylla));
fails_with($other, '22023', q(select scylla.read_events('999999999999-1')), 'a cursor of another server is refused');
is(sql($node, q(select pg_get_serial_sequence('scylla.event', 'id') is null)), 't', 'the numbers are not of the table');
my $dump = "$folder/dump.sql";
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ], 'pg_dump');
unlike(slurp_file($dump), qr/COPY scylla\.event /, '... takes no events along');
$other->stop;

# Time.
wait_for_monitor($node, 'postgres');
sql($node, q(update scylla.event set time = now() - interval '2 days' where rn = 'one'));
$node->restart;
eventually($node, q(select string_agg(rn, ' ' order by id) from scylla.event), 'two three', 'the monitor removes old events');

checked($node, 'check() finds nothing');
$node->stop;
done_testing();
