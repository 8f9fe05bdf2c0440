# Behind pgbouncer in transaction mode every transaction of a client may come to another backend, and a backend serves one client
# after the other: no call depends on its session. Only wait() keeps a backend for as long as it waits.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $node = new_node('behind', settings => "scylla.monitor = on\nmax_connections = 40");
sql($node, q(
	create extension scylla;
	create role stranger login;
	grant usage on schema scylla to stranger;
	grant execute on all functions in schema scylla to stranger;
	create table done (rn text primary key, client int, server int);
	create table submitted (rn text primary key);));
wait_for_monitor($node, 'postgres');

# ---- the pooler: three connections to the server, however many clients ---------------------------------------------------

my $pooler_port = PostgreSQL::Test::Cluster::get_free_port();
my $folder = PostgreSQL::Test::Utils::tempdir_short();
my ($ini, $users, $log) = map { "$folder/$_" } qw(pgbouncer.ini users pgbouncer.log);
my $owner = sql($node, 'select current_user');
my ($release) = run_program('pgbouncer', '--version') =~ /(\d+\.\d+)/;
my ($major, $minor) = split /\./, $release;
my $prepares = $major > 1 || $minor >= 21; # from then on it keeps track of prepared statements
PostgreSQL::Test::Utils::append_to_file($users, qq("$owner" ""\n"stranger" ""\n));
PostgreSQL::Test::Utils::append_to_file($ini, <<"INI");
[databases]
postgres = host=@{[$node->host]} port=@{[$node->port]}
[pgbouncer]
listen_addr =
unix_socket_dir = $folder
listen_port = $pooler_port
auth_type = trust
auth_file = $users
pool_mode = transaction
default_pool_size = 3
max_client_conn = 100
logfile = $log
ignore_startup_parameters = extra_float_digits
@{[$prepares ? 'max_prepared_statements = 100' : '']}
INI
my $pooler = IPC::Run::start([ program('pgbouncer'), $ini ], '>', \my $pooler_out, '2>', \my $pooler_err);
my $behind = "host=$folder port=$pooler_port dbname=postgres user=$owner";

sub program { my ($name) = @_; return -x "/usr/sbin/$name" ? "/usr/sbin/$name" : $name; }

sub run_program
{
	my ($name, @arguments) = @_;
	my ($out, $err);
	IPC::Run::run([ program($name), @arguments ], '>', \$out, '2>', \$err) or die "$name: $err";
	return $out;
}

# A statement through the pooler, as a client of its own.
sub through
{
	my ($sql, $connection) = @_;
	my ($out, $err);
	IPC::Run::run([ 'psql', '-XAtq', '-v', 'VERBOSITY=sqlstate', '-d', $connection // $behind, '-c', $sql ], '>', \$out, '2>', \$err);
	chomp($out, $err);
	return $err ne '' ? $err : $out;
}

my $answer = '';
for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
{
	$answer = through('select 1');
	last if $answer eq '1';
	select undef, undef, undef, 0.1;
}
is($answer, '1', "pgbouncer $release is there");

# ---- a whole life, each step by another client -----------------------------------------------------------------------------

is(through(q(select status from scylla.submit('q', '1', rn => 'life'))), 'ready', 'submit');
is(through(q(select rn, attempt from scylla.lease('q', 'w'))), 'life|1', 'lease');
is(through(q(select progress from scylla.heartbeat('life', 'w', 0.5))), '0.5', 'heartbeat by another client');
like(through(q(select scylla.complete('life', 'other'))), qr/55000/, 'a worker that does not hold it is told so');
is(through(q(select status from scylla.complete('life', 'w', '{"ok": true}'))), 'completed', 'complete');
is(through(q(select status, result from scylla.get_task('life'))), 'completed|{"ok": true}', 'and all of it is there');

# A backend that has just worked for one role gives nothing of it to another one.
my $stranger = $behind =~ s/user=\S+/user=stranger/r;
through(q(select scylla.submit('q', '{"secret": 1}', rn => 'secret')));
is(through(q(select count(*) from scylla.list_tasks()), $stranger), '0', 'another role sees nothing of it');
like(through(q(select scylla.lease('q', 'w')), $stranger), qr/42501/, '... and may not work');
through(q(select scylla.cancel('secret')));

# ---- many clients over three backends --------------------------------------------------------------------------------------

# A lease passes over tasks that others are leasing, and does not see those submitted after it began: between slow clients it may find
# nothing although each client has submitted one. There are enough that none does.
my $more = 100;
sql($node, qq(insert into submitted select 'more-' || i from generate_series(1, $more) i;
	select scylla.submit_bulk('crowd', array_fill('0'::jsonb, array[$more]), array(select rn from submitted))));
my $script = "$folder/work.sql";
PostgreSQL::Test::Utils::append_to_file($script, <<'SQL');
begin;
select rn from scylla.submit('crowd', to_jsonb(:client_id::int)) \gset
insert into submitted values (:rn);
commit;
select rn, attempt from scylla.lease('crowd', 'worker-' || :client_id::text) \gset mine_
select rn from scylla.heartbeat(:mine_rn, 'worker-' || :client_id::text, 0.5, null, :mine_attempt) \gset
begin;
select rn from scylla.complete(:mine_rn, 'worker-' || :client_id::text, to_jsonb(:client_id::int), null, :mine_attempt) \gset done_
insert into done values (:done_rn, :client_id, pg_backend_pid());
commit;
SQL
# pgbench waits for the answer to a preparation without serving its other clients: one that has begun a transaction must not be
# among those, since it would keep the backend that the preparation waits for. So each client has a thread of its own.
my @modes = ('extended', $prepares ? 'prepared' : ());
for my $mode (@modes)
{
	my ($out, $err);
	my $worked = eval {
		IPC::Run::run([ 'pgbench', '-n', '-M', $mode, '-c', 20, '-j', 20, '-t', 30, '-f', $script, $behind ], '>', \$out, '2>', \$err,
			IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	};
	ok($worked, "20 clients work, protocol $mode") or diag $@ || $err;
}
my $tasks = 600 * @modes;
is(sql($node, q(select count(*), count(distinct rn) from done)), "$tasks|$tasks", 'each task was done once');
is(sql($node, q(select count(s.rn) || ' ' || count(d.rn) from submitted s full join done d using (rn) where s.rn is null or d.rn is null)), "$more 0",
	'... and all but so many of those that were submitted');
is(sql($node, q(select count(*) from done d join scylla.task t using (rn)
	where t.status <> 'completed' or t.owner <> 'worker-' || d.client or t.result <> to_jsonb(d.client) or t.attempt <> 1)), '0',
	'... each by the client that had leased it');
cmp_ok(sql($node, 'select count(distinct server) from done'), '<=', 3 * @modes, '... by few backends');
cmp_ok(sql($node, 'select max(servers) from (select count(distinct server) as servers from done group by client) c'), '>', 1,
	'... and not by one for each client');

# ---- waiting ---------------------------------------------------------------------------------------------------------------

my ($waiter_out, $waiter_err) = ('', '');
my $waiter = IPC::Run::start([ 'psql', '-XAtq', '-d', $behind, '-c', q(call scylla.wait('later', '1 h')) ],
	'>', \$waiter_out, '2>', \$waiter_err);
eventually($node, q(select count(*) from pg_stat_activity where query like 'call scylla.wait%' and wait_event_type = 'Extension'
	or query like 'call scylla.wait%' and state = 'active'), '1', 'a client waits');
is(through(q(select status from scylla.submit('later', '1', rn => 'late'))), 'ready', 'others go on meanwhile');
$waiter->finish;
is($waiter_out, "t\n", '... and their commit wakes it') or diag $waiter_err;
like(through(q(begin; call scylla.wait('later', '1 s'))), qr/25001/, 'within a transaction it cannot wait');
is(through(q(select rn from scylla.lease('later', 'w'))), 'late', '... which the next client of that backend does not feel');

checked($node, 'check() finds nothing');

END
{
	my $status = $?;
	$pooler->signal('INT') if $pooler;
	eval { $pooler->finish } if $pooler;
	$? = $status;
}
$node->stop;
done_testing();
