# The server's clock is set back and forth by hours (test/faults/clock.c says how). What waits for so long waits for so long; what is to
# happen at a time happens at that time; and nothing else depends on it. Last, a minute passes at once, for a server worker without work.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $library = $ENV{SCYLLA_CLOCK} or die 'SCYLLA_CLOCK is not set: ./test/run makes the library';
my $file = $ENV{SCYLLA_CLOCK_FILE} = PostgreSQL::Test::Utils::tempdir . '/clock';
my $steady_file = $ENV{SCYLLA_STEADY_CLOCK_FILE} = PostgreSQL::Test::Utils::tempdir . '/steady_clock';
my $node;
{
	local $ENV{LD_PRELOAD} = $library;
	$node = new_node('main', settings => "scylla.monitor = on\nscylla.monitor_interval = '100 ms'\nautovacuum = off");
}
sql($node, 'create extension scylla');
wait_for_monitor($node, 'postgres');

# So many hours from now on.
sub set_clock
{
	my ($hours) = @_;
	append_to_file("$file.new", 3600 * $hours);
	rename "$file.new", $file or die "rename: $!";
	is(sql($node, "select round(extract(epoch from clock_timestamp()) / 3600 - " . time . ' / 3600.0)'), $hours, "the clock is $hours hours off");
}

# A session that waits, and says how it ended. Nothing is in the queue.
sub wait_in
{
	my ($queue, $timeout) = @_;
	my $session = $node->background_psql('postgres', timeout => 2 * $PostgreSQL::Test::Utils::timeout_default);
	$session->query_until(qr/begun/, "\\echo begun\ncall scylla.wait('$queue', '$timeout');\n\\echo ended\n");
	eventually($node, "select count(*) from pg_stat_activity where query like 'call scylla.wait(''$queue''%' and state = 'active' and wait_event is not null",
		1, "somebody waits for $queue");
	return $session;
}

set_clock(0);
sql($node, q(
	select scylla.submit('old', '{}', rn => 'before');
	select scylla.submit('q', '{}', rn => 'long'), scylla.submit('q', '{}', rn => 'later', not_before => clock_timestamp() + interval '1 h');
	select scylla.lease('q', 'w', timeout => '1 h');));
my $waiter = wait_in('none', '5 s');
set_clock(-5);
$waiter->query_until(qr/ended/, '');
pass('the clock is set back: who waits for 5 seconds does so, and not for hours');
$waiter->quit;

# The monitor goes on with all that it does.
sql($node, q(
	select scylla.submit('old', '{}', rn => 'after');
	select scylla.submit('q', '{}', rn => 'soon', not_before => clock_timestamp() + interval '1 s');
	select scylla.submit('short', '{}', rn => 'short'); select scylla.lease('short', 'w', timeout => '1 s');));
eventually($node, q(select status from scylla.task where rn = 'soon'), 'ready', 'a delayed task becomes ready when it is due by the new time');
eventually($node, q(select status from scylla.task where rn = 'short'), 'ready', '... and a lease expires');
$waiter = wait_in('by hand', '1 h');
sql($node, q(begin; select scylla.submit('by hand', '{}'); prepare transaction 'p'));
sql($node, q(commit prepared 'p'));
$waiter->query_until(qr/ended/, '');
pass('... and who waits for what only the monitor can find is woken');
$waiter->quit;
sql($node, q(
	select scylla.create_queue('gone', retention => '0'); select scylla.submit('gone', '{}'); select scylla.complete(rn, 'w') from scylla.lease('gone', 'w')));
eventually($node, q(select count(*) from scylla.task where queue = 'gone'), 0, '... and old tasks are removed');
is(state_of($node, 'long'), 'running|w|1|0', 'a lease from before is held');
sql($node, q(select scylla.heartbeat('long', 'w', timeout => '1 h')));
is(sql($node, q(select deadline - clock_timestamp() <= interval '1 h' from scylla.task where rn = 'long')), 't', '... and a heartbeat tells its time anew');
is(sql($node, q(select string_agg(rn, ' ') from scylla.lease('old', 'w', 2, '1 d'))), 'before after', 'the order is that of submission, whatever the clock said');
is(sql($node, q(select sign(total_wait_time) >= 0 from scylla.stat_queue where queue = 'old')), 't', 'no time is counted as less than none');
checked($node, 'check() finds nothing');

# Monitors and the launcher do not wait for the old time either.
sql($node, q(select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'scylla monitor'));
set_clock(-10);
wait_for_monitor($node, 'postgres', 'a monitor that has ended comes back although the clock is set back');

$waiter = wait_in('wait', '1 h');
set_clock(0);
eventually($node, q(select status from scylla.task where rn = 'long'), 'ready', 'the clock is set forth: a lease whose time is over by that expires');
is(sql($node, q(select status from scylla.task where rn = 'before')), 'running', '... and no other');
set_clock(2);
eventually($node, q(select status from scylla.task where rn = 'later'), 'ready', '... and a delayed task becomes ready');
is(sql($node, q{select count(*) from pg_stat_activity where query like 'call scylla.wait(''wait''%' and state = 'active'}), 1, 'who waits for an hour still does');
sql($node, q(select scylla.submit('wait', '{}')));
$waiter->query_until(qr/ended/, '');
pass('... and is woken by a task');
$waiter->quit;
checked($node, 'check() finds nothing');

# ---- a clock that was far ahead -----------------------------------------------------------------------------------------

sql($node, q(
	select scylla.schedule('minutely', '* * * * *', 'ticks', '{}', catch_up => 'none'), scylla.schedule('latest', '* * * * *', 'ticks', '{}', catch_up => 'latest');
	select scylla.submit('held', '{}', rn => 'given before'), scylla.submit('held', '{}', rn => 'given ahead');
	select scylla.lease_task('given before', 'w', timeout => '1 h')));
set_clock(24 * 400);
eventually($node, q(select count(*) from scylla.schedules where runs > 0), 2, 'the clock is 400 days ahead: schedules run');
sql($node, q(
	select scylla.lease_task('given ahead', 'w', timeout => '1 h');
	select scylla.submit('held', '{}', rn => 'extended ahead'); select scylla.lease_task('extended ahead', 'w', timeout => '1 h');
	select scylla.submit('held', '{}', rn => 'delayed ahead', not_before => clock_timestamp() + interval '1 h');));
sub ahead { sql($node, q(select string_agg(what || ' ' || ahead, ', ' order by what) from scylla.stat_clock)) }
is(ahead(), 'leases 0, schedules 0, tasks 0', '... for which nothing is ahead of the clock');
set_clock(2);
eventually($node, q(select string_agg(what || ' ' || ahead, ', ' order by what) from scylla.stat_clock), 'leases 0, schedules 0, tasks 1',
	'the clock is set right: stat_clock shows the delayed task of then, and nothing else as soon as the monitor has set it right');
is(sql($node, q(select latest > clock_timestamp() + interval '390 days' from scylla.stat_clock where what = 'tasks')), 't', '... with its time');
like(sql($node, 'select scylla.metrics()'), qr/^pgscylla_ahead_of_clock\{what="schedules"\} 0\npgscylla_ahead_of_clock\{what="tasks"\} 1$/m, '... as metrics() does');
sql($node, q(select scylla.reschedule('delayed ahead')));
is(ahead(), 'leases 0, schedules 0, tasks 0', '... until somebody makes it ready');
eventually($node, q(select count(*) from scylla.schedules where next_run < clock_timestamp() + interval '2 min'), 2,
	'the clock is set right: their next times are those after now');
eventually($node, q(select count(*) from scylla.task where queue = 'held' and status = 'running' and deadline > clock_timestamp() + interval '2 h'), 0,
	'... and leases have their time-out from now on');
is(sql($node, q(select string_agg(rn, ', ' order by rn) from scylla.task where queue = 'held' and status = 'running')),
	'extended ahead, given ahead', '... none of them has ended but the one whose time was over meanwhile');
eventually($node, q(select count(distinct name) from scylla.schedules where last_run < clock_timestamp()), 2, '... and they run');
is(sql($node, q(select count(*) - count(distinct rn) from scylla.task where queue = 'ticks')), 0, '... no time twice');
ok($node->wait_for_log(qr/WARNING:  schedule "minutely" had handled all times until/), '... as the log says');

# An hour, of which some times have run: they do not run again, and the others do.
my $runs = sql($node, q(select runs from scylla.schedules where name = 'latest'));
set_clock(3);
eventually($node, "select runs > $runs from scylla.schedules where name = 'latest'", 't', 'an hour ahead, schedules run');
sql($node, q(select scylla.run_schedules()));
set_clock(2);
eventually($node, q(select count(*) from scylla.schedules where next_run < clock_timestamp() + interval '2 min'), 2, '... and go on when it is set right');
is(sql($node, q(select count(*) from scylla.schedules where last_error is not null)), 0, '... without an error');
sql($node, q(select scylla.unschedule('minutely'), scylla.unschedule('latest')));
checked($node, 'check() finds nothing');

# ---- a server worker without work --------------------------------------------------------------------------------------

sql($node, q(
	create function run(t scylla.task) returns jsonb language sql as $$ select to_jsonb(pg_backend_pid()) $$;
	select scylla.create_queue('handled', handler => 'run'); select scylla.submit('handled', '1', rn => 'first')));
my $idle = q(select pid from scylla.stat_server_worker where state = 'idle');
eventually($node, "select ($idle)::text = (select result #>> '{}' from scylla.get_task('first'))", 't', 'a worker has run a task, and is idle');

# Lets a minute pass but for so many seconds, and wakes the worker, without a task for it.
sub pass_a_minute_but
{
	my ($seconds) = @_;
	append_to_file("$steady_file.new", 60 - $seconds);
	rename "$steady_file.new", $steady_file or die "rename: $!";
	$node->reload;
}
my $since = sql($node, q(select since from scylla.stat_server_worker));
pass_a_minute_but(40);
eventually($node, "select since > '$since' and state = 'idle' from scylla.stat_server_worker", 't', 'woken before a minute has passed, it looks for work and stays');
pass_a_minute_but(0);
eventually($node, 'select count(*) from scylla.stat_server_worker', 0, 'after a minute without work it ends');
sql($node, q(select scylla.submit('handled', '1', rn => 'second')));
eventually($node, q(select status from scylla.get_task('second')), 'completed', '... and another comes with the next task');
$node->stop;
done_testing();
