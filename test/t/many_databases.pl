# More databases than monitors: each gets one when something is due in it, whatever the others do. And where nothing is due, none.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

# The interval is long: nothing is found by a look that nobody has asked for. One worker process is the server's own, one the launcher.
my $node = new_node('main', settings => "scylla.monitor = on\nscylla.monitor_interval = '1 h'\nscylla.max_monitors = 2\nmax_worker_processes = 6\nrestart_after_crash = on");
my $step = q({"step": {"id": "%s", "type": "NoOp", "transition": {"successors": {%s}}}});
my $workflow = sprintf q({"properties": {"owner": "a"}, "workflow": {"id": "w", "steps": [%s, %s]}}), sprintf($step, 'one', '"two": "true"'), sprintf($step, 'two', '');
sql($node, 'create database pattern');
sql($node, 'create extension scylla', 'pattern');
sql($node, "select from scylla.create_workflow('$workflow'); select from scylla.create_queue('q')", 'pattern');
my @all = map { "d$_" } 1 .. 12;
sql($node, "create database $_ template pattern") for @all;
# Sequences that were copied with their database are behind after a crash before the next checkpoint: the server takes values to be logged
# that were logged for the template.
sql($node, 'checkpoint');
# As scylla.stat_database shows them.
sub databases { sql($node, "select count(*) from scylla.stat_database where database ~ '^d' and $_[0]", 'pattern') }
eventually($node, "select count(*) from scylla.stat_database where database ~ '^d' and next_due is null and waits_since is null and visits > 0", '12',
	'every database is looked at, and nothing is due in it', 'pattern');
cmp_ok(databases('has_monitor'), '<=', 2, '... with no more monitors than allowed');

# Each in turn, with a pause between two in which the others have their monitor taken away.
sub ready { my ($database, $rn, $name) = @_; eventually($node, "select status from scylla.get_task('$rn')", 'ready', $name, $database); }
for my $database (@all)
{
	sql($node, q(select from scylla.submit('q', '1', rn => 'due', not_before => clock_timestamp() + interval '50 ms')), $database);
	ready($database, 'due', "a delayed task of $database becomes ready when it is due");
}
# All at the same time.
sql($node, q(select from scylla.lease('q', 'w', 10, timeout => '100 ms')), $_) for @all;
ready($_, 'due', "a lease that has expired in $_ is ended, although all others have one too") for @all;
sql($node, q(select from scylla.start_workflow('w')), $_) for @all;
eventually($node, q(select status from scylla.workflow_run where workflow = 'w'), 'SUCCEEDED', "a workflow of $_ comes to its end", $_) for @all;
eventually($node, "select count(*) from scylla.stat_database where database ~ '^d' and next_due is null and waits_since is null", '12',
	'then nothing is due any more', 'pattern');

# ---- work without end ---------------------------------------------------------------------------------------------------

my @busy = @all[ 0 .. 3 ];
sql($node, q(select from scylla.schedule('s', '1 seconds', 'often', '1')), $_) for @busy;
eventually($node, q(select runs > 1 from scylla.schedules), 't', "a schedule of every second is run in $_, with three more such databases and two monitors", $_) for @busy;
sql($node, q(select from scylla.submit('q', '1', rn => 'beside', not_before => clock_timestamp() + interval '50 ms')), 'd9');
ready('d9', 'beside', 'a task of another database becomes ready meanwhile');
eventually($node, q(select runs > 3 from scylla.schedules), 't', "... and the schedule of $_ goes on", $_) for @busy;
sql($node, q(select from scylla.unschedule('s')), $_) for @busy;

# ---- what nothing has announced to this server's memory -------------------------------------------------------------------

sql($node, q(select from scylla.submit('q', '1', rn => 'first'); select from scylla.submit('q', '1', rn => 'second', depends_on => '{first}');
	begin; select from scylla.lease_task('first', 'w'); select from scylla.complete('first', 'w'); prepare transaction 'p'), 'd5');
sql($node, q(commit prepared 'p'), 'd5');
ready('d5', 'second', 'a gate that a prepared transaction has decided opens in a database without a monitor');
sql($node, q(select from scylla.submit('q', '1', rn => 'survives', not_before => clock_timestamp() + interval '1 s')), $_) for @all;
$node->stop('immediate');
$node->start;
ready($_, 'survives', "after a crash of the server a task of $_ becomes ready") for @all;

# ---- databases that go and come ---------------------------------------------------------------------------------------------

sql($node, 'drop database d12');
sql($node, 'alter database d11 rename to d13');
sql($node, q(select from scylla.submit('q', '1', rn => 'renamed', not_before => clock_timestamp() + interval '50 ms')), 'd13');
ready('d13', 'renamed', 'a database that was renamed has its monitor when it needs one');
eventually($node, q(select string_agg(database, ' ' order by database) from scylla.stat_database where database ~ '^d1.'), 'd10 d13',
	'a database that is gone is not shown, and a renamed one has its new name', 'pattern');
# utime and stime, in ticks of 10 ms.
my $launcher = sql($node, q(select pid from pg_stat_activity where backend_type = 'scylla launcher'));
my @stat = split / /, (slurp_file("/proc/$launcher/stat") =~ s/.*\) //sr);
my $age = sql($node, q(select extract(epoch from clock_timestamp() - backend_start) from pg_stat_activity where backend_type = 'scylla launcher'));
cmp_ok($stat[11] + $stat[12], '<', 5 * $age, 'the launcher has used less than a twentieth of a processor');
is($node->log_contains(qr/could not start a monitor/) ? 1 : 0, 0, 'no monitor has lacked a process');

$node->stop;

# ---- a monitor that has nothing to do ---------------------------------------------------------------------------------------

my $quiet = new_node('quiet', settings => "scylla.monitor = on\nscylla.monitor_idle = '100 ms'");
my $number_of_monitors = q(select count(*) from pg_stat_activity where backend_type = 'scylla monitor');
my $running = q(select line from regexp_split_to_table(scylla.metrics(), '\n') line where line ~ '^pgscylla_monitor_running ');
sub rests { my ($name) = @_; eventually($quiet, $number_of_monitors, '0', $name) }
sql($quiet, 'create extension scylla');
eventually($quiet, q(select not has_monitor and next_due is null from scylla.stat_database where visits > 0), 't', 'a monitor that has nothing to do exits');
is(sql($quiet, $running), 'pgscylla_monitor_running 1', 'which metrics() does not take for a fault');
sql($quiet, q(select from scylla.submit('q', '1', rn => 'due', not_before => clock_timestamp() + interval '50 ms')));
eventually($quiet, q(select status from scylla.get_task('due')), 'ready', 'it comes back for a delayed task');
sql($quiet, q(select from scylla.lease('q', 'w', timeout => '2 s')));
eventually($quiet, q(select not has_monitor and next_due > now() from scylla.stat_database), 't', 'it does not stay for a lease that expires much later');
eventually($quiet, q(select status || ' ' || failures from scylla.get_task('due')), 'ready 1', 'but comes back to end it');
sql($quiet, "select from scylla.create_workflow('$workflow'); select from scylla.start_workflow('w')");
eventually($quiet, q(select status from scylla.workflow_run where workflow = 'w'), 'SUCCEEDED', 'a workflow comes to its end');
sql($quiet, q(select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'scylla engine'));
rests('it exits when the engine has gone, which does not wait any more');

# What one transaction need not do for 5,000 dependants is left to a monitor, also to one that is to come.
sql($quiet, q(select from scylla.submit('q', '1', rn => 'first');
	select from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'many', 'spec', n, 'depends_on', '["first"]'::jsonb)) from generate_series(1, 5000) n))));
rests('it exits again');
my ($opened) = sql($quiet, q(begin; select from scylla.lease_task('first', 'w'), scylla.complete('first', 'w');
	select count(*) from scylla.task where status = 'ready' and queue = 'many'; commit)) =~ /(\d+)$/;
cmp_ok($opened, '<', 5000, 'who completes a task with 5,000 dependants while no monitor runs does not open all of them');
eventually($quiet, q(select count(*) from scylla.task where status = 'ready' and queue = 'many'), '5000', 'the monitor that comes opens the others');

my $waiter = $quiet->background_psql('postgres', on_error_stop => 0);
$waiter->query_until(qr/waits/, "\\echo waits\ncall scylla.wait('nothing', '10 min');\n");
eventually($quiet, q(select count(*) from pg_stat_activity where query ~ '^call scylla.wait' and wait_event_type = 'Extension'), '1', 'a worker waits');
sql($quiet, q(select from scylla.submit('q', '1', rn => 'beside', not_before => clock_timestamp() + interval '50 ms')));
eventually($quiet, q(select status from scylla.get_task('beside')), 'ready', 'a monitor comes meanwhile');
sleep 1;
is(sql($quiet, $number_of_monitors), '1', 'and stays, because a worker waits');
sql($quiet, q(select pg_cancel_backend(pid) from pg_stat_activity where query ~ '^call scylla.wait'));
rests('it exits when no worker waits any more');
$waiter->quit;
sql($quiet, 'alter system set scylla.monitor_idle = -1');
$quiet->reload;
sql($quiet, q(select from scylla.submit('q', '1', rn => 'last', not_before => clock_timestamp() + interval '50 ms')));
eventually($quiet, q(select status from scylla.get_task('last')), 'ready', 'it comes back once more');
sleep 1;
is(sql($quiet, $number_of_monitors), '1', 'and stays, because scylla.monitor_idle is -1');
checked($quiet, 'check() finds nothing');
$quiet->stop;
done_testing();
