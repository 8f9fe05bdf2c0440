# An error in one duty of the monitor ends nothing else: other duties are done by the same monitor, what fails is tried again, and
# everybody can see it.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $is_small = (split /[. ]/, `pg_config --version`)[1] >= 17; # the size of the server's queue for NOTIFY can be set
my $node = new_node('main', settings => "scylla.monitor = on\nscylla.monitor_interval = '1 s'\nautovacuum = off\n"
	  . ($is_small ? "max_notify_queue_pages = 64\n" : ''));
sql($node, q(
	create extension scylla;
	create function fail(bigint) returns bigint language plpgsql immutable as $$ begin raise exception 'no entry for task %', $1; end $$;));
wait_for_monitor($node, 'postgres');
my $pid = q(select pid from pg_stat_activity where backend_type = 'scylla monitor');
my $monitor = sql($node, $pid);

# Everything but leases that end, as an index on the tasks that have failed once cannot be written.
sql($node, 'create index trouble on scylla.task_ready (fail(id)) where failures > 0');
sql($node, q(
	select scylla.submit('q', '1', rn => 'expired');
	select scylla.lease_task('expired', 'w', timeout => '1 ms');));
eventually($node, q(select array_to_string(failing, ', ') from scylla.stat_monitor), 'ending expired leases', 'stat_monitor names the duty that fails');
is(sql($node, q(select failing_since <= clock_timestamp() and errors > 0 and last_error like 'no entry for task %' from scylla.stat_monitor)), 't',
	'... since when, and with what');
like(sql($node, 'select scylla.metrics()'), qr/^pgscylla_monitor_failing_duties 1$/m, '... and metrics() how many there are');
for my $turn (1 .. 3)
{
	my $errors = sql($node, 'select errors from scylla.stat_monitor');
	eventually($node, "select errors > $errors from scylla.stat_monitor", 't', "it is tried again ($turn)");
	sql($node, qq(select scylla.submit('q', '1', rn => 'due $turn', not_before => clock_timestamp() + interval '1 ms')));
	eventually($node, "select status from scylla.get_task('due $turn')", 'ready', '... while a delayed task becomes ready');
}
sql($node, q(select scylla.create_queue('gone', retention => '0'); select scylla.submit('gone', '1'); select scylla.complete(rn, 'w') from scylla.lease('gone', 'w')));
eventually($node, q(select count(*) from scylla.task where queue = 'gone'), 0, '... and old tasks are removed');
is(sql($node, q(select status from scylla.get_task('expired'))), 'running', '... though the lease has not ended');
is(sql($node, $pid), $monitor, 'other duties are done by the same monitor');
my $told = () = slurp_file($node->logfile) =~ /WARNING:  scylla monitor: ending expired leases: no entry for task/g;
my $errors = sql($node, 'select errors from scylla.stat_monitor');
cmp_ok($told, '>=', 1, 'the log tells of it');
cmp_ok($told, '<', $errors, '... but not each time');
sql($node, 'drop index scylla.trouble');
eventually($node, q(select status from scylla.get_task('expired')), 'ready', 'when it can be done, it is done');
eventually($node, q(select failing is null and failing_since is null from scylla.stat_monitor), 't', '... and nothing fails any more');
like(sql($node, 'select scylla.metrics()'), qr/^pgscylla_monitor_failing_duties 0$/m, '... as metrics() says');
is(sql($node, $pid), $monitor, '... and it is still the same monitor');

# A cancel may hit it anywhere.
sql($node, "select pg_cancel_backend($monitor)");
sql($node, q(select scylla.submit('q', '1', rn => 'cancelled', not_before => clock_timestamp() + interval '1 ms')));
eventually($node, q(select status from scylla.get_task('cancelled')), 'ready', 'a cancel ends nothing either');
checked($node, 'check() finds nothing');

# ---- a full queue of notifications --------------------------------------------------------------------------------------

SKIP:
{
	skip 'the size of the queue for NOTIFY cannot be set before PostgreSQL 17', 8 if !$is_small;
	sql($node, q(select scylla.create_queue('told', notify => true)));
	my $idle = $node->background_psql('postgres');
	$idle->query_safe('listen other; begin; select 1');
	my $full = 0;
	for (1 .. 100)
	{
		my ($out, $err) = result_of($node, q(select count(pg_notify('other', repeat('x', 7000) || n)) from generate_series(1, 20) n));
		$full = $err =~ /54000/;
		last if $full;
	}
	ok($full, 'the queue for NOTIFY is full');
	sql($node, q(select scylla.submit('told', '1', rn => 'untold')));
	eventually($node, q(select array_to_string(failing, ', ') from scylla.stat_monitor), 'notifying', 'a notification that cannot be sent fails');
	ok($node->wait_for_log(qr/WARNING:  scylla monitor: notifying: too many notifications/), '... with a warning');
	$monitor = sql($node, $pid); # the cancel may have ended the one before
	sql($node, q(select scylla.submit('q', '1', rn => 'meanwhile', not_before => clock_timestamp() + interval '1 ms')));
	eventually($node, q(select status from scylla.get_task('meanwhile')), 'ready', '... and nothing else does');
	is(sql($node, $pid), $monitor, '... by the same monitor');
	my $listener = $node->background_psql('postgres');
	$idle->query_safe('commit');
	$idle->quit;
	$listener->query_safe('listen scylla');
	eventually($node, q(select failing is null from scylla.stat_monitor), 't', 'it is sent when there is room again');
	like($listener->query('select pg_sleep(0)'), qr/Asynchronous notification "scylla" with payload "told"/, '... to who listens');
	$listener->quit;
	pass('the queue is empty again');
}

# ---- notifications that an earlier monitor may have missed ----------------------------------------------------------------

# All in one session, which shows after each statement what it has been notified of.
my $rounds_go_on = q(do $$
	declare
		before bigint := (select rounds from scylla.stat_monitor);
	begin
		for turn in 1 .. 1200 loop
			perform pg_sleep(0.1);
			exit when (select rounds > before + 10 from scylla.stat_monitor);
		end loop;
	end $$;);
my ($heard) = result_of($node, "listen scylla;
	select count(scylla.create_queue('listened ' || n, notify => true)), count(scylla.submit('listened ' || n, '1')) from generate_series(1, 300) n;
	$rounds_go_on
	select 'restart', pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'scylla monitor';
	$rounds_go_on");
my ($at_first, $again) = split /restart/, $heard;
is(scalar(() = $at_first =~ /payload "listened \d+"/g), 300, 'a monitor notifies of 300 queues');
is(scalar(() = $again =~ /payload "listened \d+"/g), 300, 'the next monitor notifies of all of them again');

# ---- without work -------------------------------------------------------------------------------------------------------

# Waits for so many rounds of the monitor. Returns how many rows of queues have been read since the last reset of statistics.
sub reads_after
{
	my ($rounds) = @_;
	my $until = $rounds + sql($node, 'select rounds from scylla.stat_monitor');
	$node->poll_query_until('postgres', "select rounds >= $until from scylla.stat_monitor") or die 'the monitor does nothing';
	return sql($node, q(select coalesce(idx_tup_fetch, 0) + seq_tup_read from pg_stat_all_tables where relid = 'scylla.queue'::regclass));
}
sql($node, q(select count(scylla.create_queue('idle ' || n, retention => '1 day')) from generate_series(1, 2000) n));
my $before = reads_after(40);
cmp_ok(reads_after(40) - $before, '<', 2000, 'a monitor without work does not read the queues in each of its rounds');
sql($node, q(select scylla.alter_queue('idle 1', '{"retention": "0"}'); select scylla.submit('idle 1', '1'); select scylla.complete(rn, 'w') from scylla.lease('idle 1', 'w')));
eventually($node, q(select count(*) from scylla.task where queue = 'idle 1'), 0, '... and knows at once of one that has changed');

$node->stop;
done_testing();
