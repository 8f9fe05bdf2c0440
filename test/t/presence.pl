# No database loses its monitor for good: however the extension or its tables come, go and come back, a monitor that has found nothing is
# not believed for long, and what is missing is said by name.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

# The interval is long: what happens sooner was announced.
my $node = new_node('main', settings => "scylla.monitor = on\nscylla.monitor_interval = '1 h'\nscylla.max_monitors = 8\nrestart_after_crash = on\nmax_worker_processes = 16");

sub no_monitor
{
	my ($database, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	eventually($node, "select count(*) from pg_stat_activity where backend_type = 'scylla monitor' and datname = '$database'", '0', $name);
}

# Waits until the monitor that the launcher starts for a new database has looked and gone.
sub empty_database
{
	my ($database) = @_;
	sql($node, "create database $database");
	# The launcher has looked at a database that is announced later, so at this one, too.
	sql($node, 'create extension scylla; drop extension scylla', 'postgres');
	no_monitor($database, "$database: no monitor without the extension");
}

# ---- prepared transactions ----------------------------------------------------------------------------------------------

for my $crash (0, 1)
{
	my $database = "prepared$crash";
	empty_database($database);
	sql($node, q(begin; create extension scylla; prepare transaction 'install'), $database);
	if ($crash)
	{
		$node->stop('immediate');
		$node->start;
	}
	no_monitor($database, '... nor while the transaction that creates it is prepared' . ($crash ? ', after a crash' : ''));
	sql($node, q(commit prepared 'install'), $database);
	wait_for_monitor($node, $database, '... COMMIT PREPARED brings the monitor');
	is(sql($node, q(select status from scylla.submit('q', '1', rn => 'due', not_before => clock_timestamp() + interval '100 ms')), $database),
		'waiting', '... a delayed task waits');
	eventually($node, q(select status from scylla.get_task('due')), 'ready', '... and becomes ready', $database);
}

empty_database('undone');
sql($node, q(begin; create extension scylla; prepare transaction 'install'; rollback prepared 'install'), 'undone');
no_monitor('undone', 'ROLLBACK PREPARED brings none');
sql($node, 'create extension scylla', 'undone');
wait_for_monitor($node, 'undone', '... CREATE EXTENSION after it does');

sql($node, q(begin; drop extension scylla; prepare transaction 'remove'), 'undone');
sql($node, q(rollback prepared 'remove'), 'undone');
wait_for_monitor($node, 'undone', 'the monitor is back when a prepared DROP EXTENSION is rolled back');
sql($node, q(begin; drop extension scylla; prepare transaction 'remove'), 'undone');
sql($node, q(commit prepared 'remove'), 'undone');
no_monitor('undone', '... and gone when it is committed');
sql($node, q(begin; create extension scylla; drop extension scylla; create extension scylla; commit), 'undone');
wait_for_monitor($node, 'undone', 'created, dropped and created in one transaction');
sql($node, q(begin; savepoint s; drop extension scylla; rollback to s; commit), 'undone');
wait_for_monitor($node, 'undone', 'dropped in a subtransaction that was rolled back');
is(sqlstate($node, 'drop schema scylla cascade', 'undone'), '2BP01', 'the schema goes with the extension only');
sql($node, q(do $$ begin drop extension scylla; end $$), 'undone');
no_monitor('undone', 'dropped by a block');
sql($node, q(do $$ begin create extension scylla; end $$), 'undone');
wait_for_monitor($node, 'undone', '... and it comes back with the extension');

# ---- names --------------------------------------------------------------------------------------------------------------

sql($node, 'create extension scylla');
wait_for_monitor($node, 'postgres');
fails_with($node, '0A000', 'alter schema scylla rename to s2', 'the schema cannot be renamed');
fails_with($node, '0A000', 'do $$ begin execute \'alter schema scylla rename to s2\'; end $$', '... nor in a function');
sql($node, 'create schema other; alter schema other rename to another; drop schema another');
pass('... other schemas can');

# A session without the hook may do it, and a catalog may be changed by hand.
sub says
{
	my ($statement, $pattern, $name, $database) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($status, $stdout, $stderr) = $node->psql($database // 'postgres', $statement);
	like($stderr, $pattern, $name);
}
my $rename = q(set allow_system_table_mods = on; update pg_namespace set nspname = '%s' where nspname = '%s');
sql($node, sprintf $rename, 's 2', 'scylla');
says(q(select "s 2".reset_expired()), qr/extension "scylla" has no schema "scylla"/, 'a schema that has been renamed nevertheless is missed by name');
says(q(select "s 2".reset_expired()), qr/renamed to "s 2"/, '... with the name that it has');
says(q(select "s 2".reset_expired()), qr/ALTER SCHEMA "s 2" RENAME TO scylla/, '... and with what to do');
sql($node, q(select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'scylla monitor' and datname = 'postgres'));
ok($node->wait_for_log(qr/extension "scylla" has no schema "scylla"/), '... by the monitor, too');
sql($node, 'alter schema "s 2" rename to scylla');
wait_for_monitor($node, 'postgres', '... which is back when the schema has its name again');

for my $case (
	[ 'renamed', 'alter table scylla.task_ready rename to tr', 'alter table scylla.tr rename to task_ready' ],
	[ 'moved', 'alter table scylla.task_ready set schema public', 'alter table public.task_ready set schema scylla' ],
	[ 'renamed in a prepared transaction',
		q(begin; alter table scylla.task_ready rename to tr; prepare transaction 'r'; commit prepared 'r'),
		q(begin; alter table scylla.tr rename to task_ready; prepare transaction 'r'; commit prepared 'r') ])
{
	my ($how, $there, $back) = @$case;
	sql($node, $there);
	my $log = -s $node->logfile;
	says(q(select scylla.submit('q', '1')), qr/extension "scylla" has no table scylla.task_ready/, "a table that was $how is missed by name");
	sql($node, q(select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'scylla monitor' and datname = 'postgres'));
	ok($node->wait_for_log(qr/extension "scylla" has no table scylla.task_ready/, $log), '... by the monitor, too');
	sql($node, $back);
	wait_for_monitor($node, 'postgres', '... which is back with the table');
	is(sqlstate($node, q(select scylla.submit('q', '1'))), '', '... and so are the calls, in every session');
}

# ---- nothing announces it -----------------------------------------------------------------------------------------------

# The name of the extension, by hand: no hook sees that.
$rename = q(set allow_system_table_mods = on; update pg_extension set extname = '%s' where extname = '%s');
sql($node, sprintf $rename, 'hidden', 'scylla');
sql($node, q(select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'scylla monitor' and datname = 'postgres'));
no_monitor('postgres', 'a database whose extension nobody sees has no monitor');
sql($node, sprintf $rename, 'scylla', 'hidden');
wait_for_monitor($node, 'postgres', '... but it is looked for again, though nothing has told of it');

$node->stop;
done_testing();
