# The monitor: what time asks for happens at once and without any call, in every database that has the extension, and the
# monitor itself is in nobody's way.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;
use Time::HiRes qw(time);

# The interval is long: whatever happens sooner than that was not found by a poll.
my $node = new_node('main', allows_streaming => 1,
	settings => "scylla.monitor = on\nscylla.monitor_interval = '1 h'\nscylla.max_monitors = 3\nrestart_after_crash = on\nmax_connections = 30");

# ---- discovery ----------------------------------------------------------------------------------------------------------

is(sql($node, q(select count(*) from pg_stat_activity where backend_type = 'scylla launcher')), '1', 'the launcher runs');
eventually($node, q(select count(*) from pg_stat_activity where backend_type = 'scylla monitor'), '0', 'no monitor without the extension');
sql($node, 'create extension scylla');
wait_for_monitor($node, 'postgres', 'CREATE EXTENSION is noticed without a restart');
sql($node, 'create database second');
sql($node, 'create extension scylla', 'second');
wait_for_monitor($node, 'second', 'in another database, too');
is(monitors($node), 'postgres second', 'each of them has one monitor');

# ---- punctuality --------------------------------------------------------------------------------------------------------

# A lease that nobody renews.
sql($node, q(
	select scylla.submit('q', '1', rn => 'expires');
	select scylla.lease('q', 'w', timeout => '300 ms');));
eventually($node, q(select status from scylla.task where rn = 'expires'), 'ready', 'a lease that expires is ended without any call');
is( sql($node, q(select progress, owner is null, deadline is null, failures, history -> -1 ->> '_typ' from scylla.task where rn = 'expires')),
	'0|t|t|1|TaskTimeout', '... as a time-out');
sub lateness
{
	my ($sql, $what) = @_;
	my $late = sql($node, $sql);
	cmp_ok($late, '>=', 0, "$what, not too early");
	cmp_ok($late, '<', 30000, "... and not late: $late ms");
}
# The history knows when the lease was given: its end was 300 ms later.
lateness(q(select round(extract(epoch from (history -> -1 ->> 'time')::timestamptz - (history -> -2 ->> 'time')::timestamptz) * 1000 - 300, 1)
	from scylla.task where rn = 'expires'), 'it is ended when its time is over');

is( sql($node, q(select status from scylla.submit('due', '1', rn => 'due', not_before => clock_timestamp() + interval '300 ms'))),
	'waiting', 'a delayed task waits');
eventually($node, q(select status from scylla.task where rn = 'due'), 'ready', 'it becomes ready without any call');
lateness(q(select round(extract(epoch from updated - not_before) * 1000, 1) from scylla.task where rn = 'due'), 'it becomes ready when it is due');

# An earlier time overtakes a later one that the monitor already sleeps for.
sql($node, q(
	select scylla.submit('order', '1', rn => 'later');
	select scylla.lease_task('later', 'w', timeout => '1 h');
	select scylla.submit('order', '1', rn => 'earlier');));
sql($node, q(select scylla.lease_task('earlier', 'w', timeout => '300 ms')));
eventually($node, q(select status from scylla.task where rn = 'earlier'), 'ready', 'a shorter lease than the one it sleeps for is ended in time');
lateness(q(select round(extract(epoch from (history -> -1 ->> 'time')::timestamptz - (history -> -2 ->> 'time')::timestamptz) * 1000 - 300, 1)
	from scylla.task where rn = 'earlier'), '... when its time is over');
is(state_of($node, 'later'), 'running|w|1|0', '... and the longer one is left');
# A heartbeat with a shorter timeout, and a retry.
sql($node, q(select scylla.heartbeat('later', 'w', timeout => '200 ms')));
eventually($node, q(select status from scylla.task where rn = 'later'), 'ready', 'so is a lease that a heartbeat has shortened');
sql($node, q(select scylla.lease_task('later', 'w'), scylla.fail('later', 'w', '{"code": "x"}', '200 ms')));
eventually($node, q(select status from scylla.task where rn = 'later'), 'ready', 'a failed task is ready for its retry in time');

# max_attempts.
sql($node, q(
	select scylla.submit('poison', '1', rn => 'poison', max_attempts => 1);
	select scylla.lease_task('poison', 'w', timeout => '50 ms');));
eventually($node, q(select status || ' ' || (errors -> 0 ->> 'code') from scylla.task where rn = 'poison'), 'aborted timeout',
	'a task without attempts left is aborted');

# Many at once: more than one portion.
sql($node, q(
	select scylla.submit_bulk('many', array_agg('1'::jsonb)) from generate_series(1, 2500);
	select count(*) from scylla.lease('many', 'w', 2500, '200 ms');));
eventually($node, q(select count(*) from scylla.task where queue = 'many' and status = 'ready' and failures = 1), '2500',
	'2,500 leases that expire at once are ended');
lateness(q(select round(extract(epoch from max((history -> -1 ->> 'time')::timestamptz - (history -> -2 ->> 'time')::timestamptz)) * 1000 - 200, 1)
	from scylla.task where queue = 'many'), '... when their time is over');

# ---- indexes of the owner ---------------------------------------------------------------------------------------------------

# Their functions need a snapshot, which a background worker has only if it takes one.
sql($node, q(
	create table public.factor (value int);
	insert into public.factor values (2);
	create function public.by_sql(id bigint) returns bigint language sql immutable as 'select id * max(value) from public.factor';
	create function public.by_plpgsql(id bigint) returns bigint language plpgsql immutable as
		'begin return id * (select max(value) from public.factor); end';
	create index ready_sql on scylla.task_ready (public.by_sql(id));
	create index ready_plpgsql on scylla.task_ready (public.by_plpgsql(id));
	create index outcome_sql on scylla.task_outcome (public.by_sql(id));));
my $monitor_pid = q(select pid from pg_stat_activity where backend_type = 'scylla monitor' and datname = 'postgres');
my $same_monitor = sql($node, $monitor_pid);
sql($node, q(
	select scylla.submit('indexed', '1', rn => 'indexed expires'), scylla.submit('indexed', '1', rn => 'indexed ends', max_attempts => 1);
	select scylla.lease('indexed', 'w', 2, timeout => '50 ms');
	select scylla.submit('indexed', '1', rn => 'indexed due', not_before => clock_timestamp() + interval '50 ms');));
eventually($node, q(select string_agg(rn || ' ' || status, ', ' order by rn) from scylla.task where queue = 'indexed'),
	'indexed due ready, indexed ends aborted, indexed expires ready', 'the monitor works on tables with indexes that call functions');
my $by_index = 'set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off;';
for my $entry ([ 'ready', 'sql' ], [ 'ready', 'plpgsql' ], [ 'outcome', 'sql' ])
{
	my ($table, $language) = @$entry;
	my $query = "from scylla.task_spec s where rn like 'indexed %' and exists
		(select from scylla.task_$table r where public.by_$language(r.id) = 2 * s.id)";
	like(sql($node, "$by_index explain select $query"), qr/${table}_$language/,
		"an index with a function in $language answers a question about task_$table");
	is( sql($node, "$by_index select string_agg(rn, ', ' order by rn) $query"),
		$table eq 'ready' ? 'indexed due, indexed expires' : 'indexed ends', '... with what the monitor has written');
}
is(sql($node, $monitor_pid), $same_monitor, '... it is still the same monitor');
unlike(slurp_file($node->logfile), qr/terminated by signal|exited with exit code/, '... and no process has crashed');
sql($node, 'drop index scylla.ready_sql, scylla.ready_plpgsql, scylla.outcome_sql');

# ---- an application that sits in a transaction ------------------------------------------------------------------------------

sql($node, q(
	select scylla.submit('idle', '1', rn => 'held');
	select scylla.submit('idle', '1', rn => 'other');));
my $idle = $node->background_psql('postgres');
# It is locked before its lease is over, and the other lease is over later.
$idle->query_safe(q(select scylla.lease_task('held', 'w', timeout => '3 s'); begin; select scylla.complete('held', 'w')));
sql($node, q(select scylla.lease_task('other', 'w', timeout => '3 s')));
eventually($node, q(select status from scylla.task where rn = 'other'), 'ready', 'an application idle after begin; complete does not stop other expiries');
is(state_of($node, 'held'), 'running|w|1|0', '... its own task stays');
is(sql($node, q(select count(*) from pg_locks l join pg_stat_activity a using (pid) where backend_type = 'scylla monitor' and not granted)), '0',
	'... and the monitor waits for no lock');
$idle->query_safe('rollback');
eventually($node, q(select status || ' ' || failures from scylla.task where rn = 'held'), 'ready 1', '... after its rollback the lease is ended');
$idle->quit;

# ---- idleness -----------------------------------------------------------------------------------------------------------

eventually($node, q(select string_agg(distinct concat_ws(' ', state, xact_start::text, backend_xid::text, backend_xmin::text), ', ')
	from pg_stat_activity where backend_type = 'scylla monitor'), 'idle', 'idle monitors hold no transaction and no snapshot');
is( sql($node, q(select string_agg(distinct application_name, ', ' order by application_name) from pg_stat_activity where backend_type like 'scylla%')),
	'scylla launcher, scylla monitor', 'all of them show their names');
is(sql($node, q(select count(*) from pg_locks l join pg_stat_activity a using (pid) where backend_type like 'scylla%' and locktype = 'relation')), '0',
	'... and hold no lock on a table');

# ---- settings -----------------------------------------------------------------------------------------------------------

sub set
{
	my ($setting) = @_;
	sql($node, "alter system set $setting");
	$node->reload;
}

set('scylla.monitor = off');
eventually($node, q(select count(*) from pg_stat_activity where backend_type = 'scylla monitor'), '0', 'scylla.monitor = off stops them');
sql($node, q(
	select scylla.submit('off', '1', rn => 'off');
	select scylla.lease_task('off', 'w', timeout => '1 ms');));
set(q(scylla.monitor_interval = '100 ms'));
set('scylla.monitor = on');
eventually($node, q(select status from scylla.task where rn = 'off'), 'ready', 'scylla.monitor = on brings them back, and they catch up');
wait_for_monitor($node, 'second');

sql($node, q(
	select scylla.create_queue('short', retention => '1 s');
	select scylla.submit('short', '1', rn => 'old');
	select scylla.submit('due', '1', rn => 'kept');
	select scylla.cancel('old'), scylla.cancel('kept');));
eventually($node, q(select count(*) from scylla.task where rn = 'old'), '0', 'an old task is removed when its retention is over');
is(state_of($node, 'kept'), 'cancelled||0|0', '... one of another queue is kept');
set(q(scylla.retention = 0));
eventually($node, q(select count(*) from scylla.task where status = 'cancelled'), '0', 'scylla.retention is taken over by a reload');
checked($node, 'check() finds nothing');
sql($node, 'alter system reset scylla.retention');

# Settings of the database or of the role that would stop it from working.
sql($node, qq(alter database second set $_)) for q(default_transaction_read_only = on), q(default_transaction_isolation = 'serializable'),
  q(statement_timeout = '1 ms'), q(search_path = 'nowhere'), q(session_replication_role = 'replica');
sql($node, q(select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'scylla monitor' and datname = 'second'));
{
	# What a session begins with wins over its database: 1 ms can be too short even for a SET.
	local $ENV{PGOPTIONS} = join ' ', $ENV{PGOPTIONS} // (), '-c statement_timeout=0 -c default_transaction_read_only=off';
	sql($node, q(select scylla.submit('q', '1', rn => 'hindered'), scylla.lease_task('hindered', 'w', timeout => '1 ms')), 'second');
	eventually($node, q(select status from scylla.task where rn = 'hindered'), 'ready', 'settings of the database do not hinder the monitor', 'second');
}
sql($node, 'alter database second reset all');

# ---- in nobody's way ------------------------------------------------------------------------------------------------------

# The server waits 5 s for other sessions of a database, then such a command fails.
sql($node, q(select scylla.submit('q', '1', rn => 'travels'), scylla.lease_task('travels', 'w', timeout => '1 s')), 'second');
is(sqlstate($node, 'create database copy template second'), '', 'CREATE DATABASE ... TEMPLATE of a database with a monitor');
# The copy ran no install script.
eventually($node, q(select status || ' ' || failures from scylla.task where rn = 'travels'), 'ready 1', 'the copy has its monitor', 'copy');
eventually($node, q(select status || ' ' || failures from scylla.task where rn = 'travels'), 'ready 1', '... and the original has its own again', 'second');
wait_for_monitor($node, 'second');
is(sqlstate($node, 'alter database second rename to renamed'), '', 'ALTER DATABASE ... RENAME');
wait_for_monitor($node, 'renamed', '... and the monitor is back');
my $space = PostgreSQL::Test::Utils::tempdir;
sql($node, "create tablespace space location '$space'");
is(sqlstate($node, 'alter database renamed set tablespace space'), '', 'ALTER DATABASE ... SET TABLESPACE');
wait_for_monitor($node, 'renamed', '... and the monitor is back');
is(sqlstate($node, 'create database plain'), '', 'CREATE DATABASE from template1');
# A command that fails gives the database back.
isnt(sqlstate($node, 'alter database renamed rename to copy'), '', 'ALTER DATABASE ... RENAME to a name that is taken fails');
wait_for_monitor($node, 'renamed', '... and the monitor is back all the same');
is(sqlstate($node, 'drop database renamed'), '', 'DROP DATABASE');
is(sqlstate($node, 'drop database copy'), '', 'DROP DATABASE of the other');
sql($node, 'drop tablespace space');
eventually($node, q(select string_agg(datname, ' ') from pg_stat_activity where backend_type = 'scylla monitor'), 'postgres', 'monitors of dropped databases have gone');

# A database that becomes a template is left at once: its next copy may be made by somebody who cannot send a monitor away.
sql($node, 'create role creator createdb; create database pattern');
sql($node, q(create extension scylla; select scylla.submit('q', '1', rn => 'travels')), 'pattern');
wait_for_monitor($node, 'pattern');
sql($node, 'alter database pattern is_template true');
eventually($node, q(select count(*) from pg_stat_activity where datname = 'pattern'), '0', 'a database that becomes a template loses its monitor');
is(sqlstate($node, 'set role creator; create database printed template pattern'), '', 'CREATE DATABASE ... TEMPLATE of it by a role that does not own it');
wait_for_monitor($node, 'printed', '... the copy has a monitor');
is(state_of($node, 'travels', 'printed'), 'ready||0|0', '... and the tasks');
is(sql($node, q(select count(*) from pg_stat_activity where datname = 'pattern')), '0', '... the template has none');
sql($node, 'alter database pattern is_template false');
wait_for_monitor($node, 'pattern', 'a database that is a template no longer has a monitor again');
sql($node, "drop database $_") for qw(pattern printed);
sql($node, 'drop role creator');
eventually($node, q(select string_agg(datname, ' ') from pg_stat_activity where backend_type = 'scylla monitor'), 'postgres', 'monitors of dropped databases have gone');

sql($node, 'create database fleeting');
sql($node, 'create extension scylla', 'fleeting');
wait_for_monitor($node, 'fleeting');
is(sqlstate($node, 'drop extension scylla', 'fleeting'), '', 'DROP EXTENSION');
eventually($node, q(select string_agg(datname, ' ') from pg_stat_activity where backend_type = 'scylla monitor'), 'postgres', '... is noticed: the monitor has gone');
sql($node, 'create extension scylla', 'fleeting');
wait_for_monitor($node, 'fleeting', '... and comes back when the extension is created again');
sql($node, 'drop database fleeting');
# A template must have no connection: CREATE DATABASE would fail.
sql($node, 'create extension scylla', 'template1');
is(sqlstate($node, 'create database born'), '', 'CREATE DATABASE when template1 has the extension');
wait_for_monitor($node, 'born', 'a database born with the extension has a monitor');
is(sql($node, q(select count(*) from pg_stat_activity where datname = 'template1')), '0', '... template1 has none');
sql($node, 'drop database born');
sql($node, 'drop extension scylla', 'template1');

# ---- more databases than monitors -------------------------------------------------------------------------------------------

my @many = map { "many$_" } 1 .. 5;
for my $database (@many)
{
	sql($node, "create database $database");
	sql($node, q(
		create extension scylla;
		select scylla.submit('q', '1', rn => 'a');
		select scylla.lease('q', 'w', timeout => '1 ms');), $database);
}
for my $database (@many)
{
	eventually($node, q(select status from scylla.task where rn = 'a'), 'ready', "six databases, three monitors: $database gets its turn", $database);
}
cmp_ok(sql($node, q(select count(*) from pg_stat_activity where backend_type = 'scylla monitor')), '<=', 3, '... with no more monitors than allowed');
sql($node, "drop database $_") for @many;
wait_for_monitor($node, 'postgres');

# ---- failures -------------------------------------------------------------------------------------------------------------

sub expire
{
	my ($rn, $name) = @_;
	sql($node, "select scylla.submit('expire', '1', rn => '$rn'), scylla.lease_task('$rn', 'w', timeout => '1 ms')");
	eventually($node, "select status from scylla.task where rn = '$rn'", 'ready', $name);
}

sql($node, q(select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'scylla monitor'));
expire('terminated', 'a monitor that has been terminated comes back');
sql($node, q(select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'scylla launcher'));
expire('launcher', 'so does the launcher');
eventually($node, q(select count(*) from pg_stat_activity where backend_type = 'scylla launcher'), '1', '... there is one of it');
# A cancel is not meant for it, but may come.
sql($node, q(select pg_cancel_backend(pid) from pg_stat_activity where backend_type = 'scylla monitor'));
expire('cancelled', 'a monitor survives a cancel');
# An error in its round: the table it needs is locked away for longer than it waits.
my $locker = $node->background_psql('postgres');
$locker->query_safe('begin; lock table scylla.task_lease in access exclusive mode');
$node->wait_for_log(qr/scylla monitor.*(?:canceling statement due to lock timeout|could not obtain lock)|lock timeout/);
$locker->query_safe('commit');
$locker->quit;
expire('error', 'a monitor comes back after an error');

my $pid = sql($node, q(select pid from pg_stat_activity where backend_type = 'scylla monitor' and datname = 'postgres'));
kill 9, $pid or die "kill $pid: $!";
eventually($node, "select count(*) from pg_stat_activity where pid = $pid", '0', 'the server survives the SIGKILL of a monitor');
wait_for_monitor($node, 'postgres', '... the monitor is back');
expire('killed', '... and works');
checked($node, 'check() finds nothing');

# ---- too few worker processes ---------------------------------------------------------------------------------------------

my $cramped = new_node('cramped', settings => "scylla.monitor = on\nmax_worker_processes = 1\nmax_logical_replication_workers = 0");
sql($cramped, 'create extension scylla');
ok($cramped->wait_for_log(qr/WARNING:  scylla could not start a monitor: no worker process is left/), 'a lack of worker processes is reported');
sql($cramped, 'create database another');
sql($cramped, 'create extension scylla', 'another');
is(sql($cramped, q(select count(*) from pg_stat_activity where backend_type = 'scylla launcher')), '1', '... and the launcher goes on');
sql($cramped, q(select scylla.submit('q', '1', rn => 'a'), scylla.lease_task('a', 'w', timeout => '1 ms')));
is(sql($cramped, 'select scylla.reset_expired()'), '1', '... and everything can be done by hand');
$cramped->stop;
my $reports = () = slurp_file($cramped->logfile) =~ /no worker process is left/g;
is($reports, 1, '... it is reported once');

# ---- dropping the extension -----------------------------------------------------------------------------------------------

# The monitor leaves before DROP EXTENSION locks the tables, with which it could deadlock, and comes back if nothing was dropped.
my $monitors = q(select count(*) from pg_stat_activity where backend_type = 'scylla monitor' and datname = current_database());
wait_for_monitor($node, 'postgres', 'a monitor runs');
is(sql($node, "begin; drop extension scylla; $monitors; rollback"), '0', 'no monitor runs while the extension is being dropped');
wait_for_monitor($node, 'postgres', 'it comes back after a rollback');
sql($node, 'create role nobody');
is(($node->psql('postgres', "set role nobody; begin; drop extension scylla"))[0], 3, 'who may not drop the extension');
is(sql($node, $monitors), '1', '... does not stop the monitor');

# ---- a standby ------------------------------------------------------------------------------------------------------------

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
is(sql($standby, q(select count(*) from pg_stat_activity where backend_type like 'scylla%')), '0', 'nothing runs on a standby');
$standby->promote;
wait_for_monitor($standby, 'postgres', 'after promotion a monitor comes');
$standby->stop('immediate');

# ---- shutdown -------------------------------------------------------------------------------------------------------------

my $begin = time;
$node->stop('fast');
cmp_ok(time - $begin, '<', 30, sprintf 'a fast shutdown is prompt (%.0f ms)', (time - $begin) * 1000);
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|exited with exit code [^1]/, 'nothing worse than what the test did is in the log');

done_testing();
