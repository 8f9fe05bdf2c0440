# What the TAP tests have in common: nodes with the extension, and short ways to ask and to check.
package ScyllaTest;

use strict;
use warnings;
use Exporter 'import';
use File::Path qw(make_path);
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

our @EXPORT = qw(new_node sql result_of sqlstate fails_with eventually comes tasks tables sequences state_of checked fill
  monitors wait_for_monitor own_installation write_script side_by_side raced
  $append_column $pages_function);

# A session in the background has its deadline for each statement. PostgreSQL::Test gives it one for its whole life, which a test on a slow
# machine may outlast.
{
	no warnings 'redefine';
	my $begin = \&PostgreSQL::Test::Cluster::background_psql;
	*PostgreSQL::Test::Cluster::background_psql = sub {
		my $session = $begin->(@_);
		$session->set_query_timer_restart;
		return $session;
	};
}

# A started node that preloads the library. The monitor is off unless the settings say otherwise: then the test decides
# when time acts. Leases last longer than a test on a slow machine: a test whose leases must expire says how long they last.
# allows_streaming is for init.
sub new_node
{
	my ($name, %options) = @_;
	my $settings = delete $options{settings} // '';
	my $preload = delete $options{preload} // 1;
	my %init = %options;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(extra => [ '-E', 'UTF8', '--locale=C' ], %init);
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'scylla'\nscylla.monitor = off\nscylla.monitor_idle = -1") if $preload;
	$node->append_conf('postgresql.conf', "log_statement = none\nmax_prepared_transactions = 10\nscylla.default_timeout = '1 h'\n$settings");
	$node->start;
	return $node;
}

# A copy of this server, made of links where the server allows it, whose extension folder we may write to. Returns its path, for
# PostgreSQL::Test::Cluster, and that folder.
sub own_installation
{
	my %dir = map { chomp(my $value = `pg_config --$_`); $_ => $value } qw(bindir pkglibdir sharedir);
	my @parts = map { [ split m{/}, $_ ] } values %dir;
	my $common = 0;
	$common++ while !grep { ($_->[$common] // '') ne ($parts[0][$common] // '') } @parts;
	# The server finds its other folders relative to its program's, and only if the end of that path is the compiled one.
	my $root = PostgreSQL::Test::Utils::tempdir . '/root';
	my %own = map { my @p = split m{/}, $dir{$_}; $_ => join '/', $root, 'usr', @p[ $common .. $#p ] } keys %dir;
	for my $name (keys %dir)
	{
		(my $parent = $own{$name}) =~ s{/[^/]+$}{};
		make_path($parent);
		system_or_bail('cp', $name eq 'bindir' ? '-rL' : '-rs', $dir{$name}, $parent);
	}
	(my $install_path = $own{bindir}) =~ s{/bin$}{};
	return ($install_path, "$own{sharedir}/extension");
}

# Gives the view of tasks another column, at its end, where new ones come.
our $append_column = 'do $do$ begin execute $$create or replace view scylla.task as select t.*, 1 as extra from ($$'
  . ' || rtrim(pg_get_viewdef($$scylla.task$$), $$;$$) || $$) as t$$; end $do$;';

# A function that tells how many pages a statement looks at.
our $pages_function = <<'SQL';
create function pages(statement text) returns int language plpgsql as $$
declare
	plan json;
begin
	execute 'explain (analyze, buffers, timing off, format json) ' || statement into plan;
	return (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::int + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::int;
end $$;
SQL

sub write_script
{
	my ($folder, $name, $text) = @_;
	unlink "$folder/$name";
	append_to_file("$folder/$name", $text);
}

# The output of statements that must succeed.
sub sql
{
	my ($node, $sql, $database) = @_;
	return $node->safe_psql($database // 'postgres', $sql);
}

# Output and error output of statements that may fail; errors are shown as their SQLSTATE.
sub result_of
{
	my ($node, $sql, $database) = @_;
	my ($status, $out, $err) = $node->psql($database // 'postgres', "\\set VERBOSITY sqlstate\n$sql");
	return ($out, $err);
}

# The SQLSTATE with which a statement fails; empty when it succeeds.
sub sqlstate
{
	my ($out, $err) = result_of(@_);
	return $err =~ /ERROR:\s+(\w{5})/ ? $1 : $err;
}

sub fails_with
{
	my ($node, $sqlstate, $sql, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(sqlstate($node, $sql), $sqlstate, $name);
}

# Waits until a query gives what is expected; fails the test at the deadline.
sub eventually
{
	my ($node, $query, $expected, $name, $database) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok($node->poll_query_until($database // 'postgres', $query, $expected), $name);
}

# Whether a condition comes true in time: for what no single query tells.
sub comes
{
	my ($condition) = @_;
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return 1 if $condition->();
		sleep 0.1;
	}
	return 0;
}

# The whole view, one line per task.
sub tasks
{
	my ($node, $database) = @_;
	return sql($node, 'select * from scylla.task order by rn', $database);
}

# Every row of the internal tables.
sub tables
{
	my ($node, $database) = @_;
	return join "\n", map { "$_\n" . sql($node, "select * from scylla.$_ order by id", $database) }
	  qw(queue task_spec task_ready task_lease task_waiting task_outcome);
}

sub sequences
{
	my ($node, $database) = @_;
	return join "\n", map { sql($node, "select '$_', last_value, is_called from scylla.$_", $database) }
	  qw(queue_id_seq task_id_seq worker_seq);
}

sub state_of
{
	my ($node, $rn, $database) = @_;
	return sql($node, "select status, owner, attempt, failures from scylla.task where rn = '$rn'", $database);
}

sub checked
{
	my ($node, $name, $database) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(sql($node, 'select * from scylla.check()', $database), '', $name);
}

# Creates the extension and tasks in each of the six states, with everything that a task can carry.
sub fill
{
	my ($node, $database) = @_;
	sql($node, <<'SQL', $database);
create extension if not exists scylla;
select scylla.create_queue('settings', default_timeout => '1 h', retention => '30 d');
select scylla.register_worker();
select scylla.submit('q', '{"n": 1}', rn => 'ready', priority => 7);
select scylla.submit('q', '{"text": "ärgerlich \"quoted\"\\ \t"}', rn => 'wüst "ready"'' \', max_attempts => 3);
select scylla.submit('settings', '[1, null, {"a": []}]', rn => 'waiting', not_before => now() + interval '1 day');
select scylla.submit('q', '3', rn => 'retried');
select scylla.lease_task('retried', 'w', timeout => '2 h');
select scylla.fail('retried', 'w', '{"code": "later", "args": {"x": 1}, "message": "try again"}', retry_after => '3 h');
select scylla.submit('settings', '4', rn => 'running', max_attempts => 5);
select scylla.lease_task('running', 'w1');
select scylla.yield('running', 'w1');
select scylla.lease_task('running', 'w2');
select scylla.heartbeat('running', 'w2', 0.25, '5 h');
select scylla.submit('q', '5', rn => 'completed', priority => 127);
select scylla.lease_task('completed', 'w', timeout => '1 h');
select scylla.complete('completed', 'w', '{"answer": 42}', '{"seconds": 1.5}');
select scylla.submit('q', '6', rn => 'aborted');
select scylla.lease_task('aborted', 'w', timeout => '1 h');
select scylla.heartbeat('aborted', 'w', 0.5);
select scylla.abort('aborted', 'w', '{"code": "broken"}');
select scylla.submit('q', '7', rn => 'cancelled');
select scylla.lease_task('cancelled', 'w', timeout => '1 h');
select scylla.cancel('cancelled');
select scylla.submit('q', '8', rn => 'cancelled while ready');
select scylla.cancel('cancelled while ready');
-- A history that has been shortened, after many time-outs.
select scylla.submit('q', '9', rn => 'long', max_attempts => 1000);
do $$
begin
    for i in 1 .. 60 loop
        perform scylla.lease_task('long', 'l' || i);
        update scylla.task_lease set deadline = now() - interval '1 s' where owner = 'l' || i;
        perform scylla.reset_expired();
    end loop;
end
$$;
SQL
	is( sql($node, 'select string_agg(distinct status::text, $$ $$) from scylla.task', $database),
		'aborted cancelled completed ready running waiting',
		'there are tasks in all six states');
}

# Statements in a session each, all at work from now on: each begins when all sessions are there, or after a minute. They go in
# arguments: IPC::Run writes to the standard input of a program only while somebody waits for it, so the sessions would be at work one
# after the other.
sub side_by_side
{
	my ($node, @statements) = @_;
	my $now = q(select 'at ' || extract(epoch from clock_timestamp()));
	my $count = @statements;
	my $wait = "do 'begin for i in 1 .. 60000 loop exit when (select count(*) from begun) = $count; perform pg_sleep(0.001); end loop; end'";
	sql($node, 'drop table if exists begun; create table begun (pid integer)');
	return map {
		my %session = (out => '');
		$session{run} = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-v', 'ON_ERROR_STOP=1',
				'-c', 'set client_min_messages = error', '-c', 'insert into begun values (pg_backend_pid())', '-c', $wait, '-c', $now, '-c', $_, '-c', $now ], '<', \undef, '>', \$session{out}, '2>&1');
		\%session
	} @statements;
}

# Waits for them: all have succeeded, and there was a time at which all were at work.
sub raced
{
	my ($sessions, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $failed = grep { !$_->{run}->finish } @$sessions;
	is($failed, 0, $name) or diag(map { $_->{out} } @$sessions);
	my ($begun, $ended) = (0, 9e99);
	for my $session (@$sessions)
	{
		my @times = $session->{out} =~ /^at ([\d.]+)$/mg;
		$begun = $times[0] if $times[0] > $begun;
		$ended = $times[-1] if $times[-1] < $ended;
	}
	cmp_ok($begun, '<', $ended, '... side by side');
	return;
}

# The databases that have a monitor now.
sub monitors
{
	my ($node) = @_;
	return sql($node, "select string_agg(datname, ' ' order by datname) from pg_stat_activity where backend_type = 'scylla monitor'");
}

sub wait_for_monitor
{
	my ($node, $database, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	eventually($node,
		"select count(*) from pg_stat_activity where backend_type = 'scylla monitor' and datname = '$database' and state = 'idle'",
		'1', $name // "a monitor looks after $database");
}

1;
