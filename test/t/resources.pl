# What runs out, or is held too long: the lock table, locks, time; deadlocks with applications; memory over many calls and rounds.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use POSIX qw(sysconf _SC_CLK_TCK);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

# A million by hand: SCYLLA_TEST_CALLS=1000000
my $calls = $ENV{SCYLLA_TEST_CALLS} || 100000;

my $node = new_node('main', settings => "max_connections = 10\nmax_locks_per_transaction = 40\ndeadlock_timeout = '100 ms'\nfsync = off\n"
	  . "autovacuum = off\nscylla.monitor_interval = '10 ms'");
sql($node, 'create extension scylla');
sql($node, q(
	select scylla.submit('q', '{}', rn => 'ready'), scylla.submit('q', '{}', rn => 'waiting', not_before => now() + interval '1 day'),
		scylla.submit('r', '{}', rn => 'running');
	select scylla.lease('r', 'w');
	select scylla.create_queue('limited', max_running => 1); select scylla.submit('limited', '{}', rn => 'limited');));

my %verb = (
	submit => q(select scylla.submit('q', '{}')),
	submit_many => q(select scylla.submit_many('[{"queue": "q", "spec": 1}]')),
	submit_bulk => q(select scylla.submit_bulk('q', '{1,2}'::text[]::jsonb[])),
	lease => q(select scylla.lease('q', 'w')),
	lease_task => q(select scylla.lease_task('ready', 'w')),
	heartbeat => q(select scylla.heartbeat('running', 'w')),
	complete => q(select scylla.complete('running', 'w')),
	fail => q(select scylla.fail('running', 'w', '{"code": "x"}')),
	yield => q(select scylla.yield('running', 'w')),
	cancel => q(select scylla.cancel('waiting')),
	maintain => q(select scylla.maintain()),
	drop_queue => q(select scylla.drop_queue('q', force => true)));

# ---- locks ---------------------------------------------------------------------------------------------------------------------------

# Locks that last as long as the session take all the room. A transaction that writes needs a lock on its number at least.
my $before = tables($node);
my $greedy = $node->background_psql('postgres', on_error_stop => 0);
my $other = $node->background_psql('postgres', on_error_stop => 0);
sub state_in { $_[0]->query("$_[1];\n\\echo state :SQLSTATE") =~ /state (\w{5})/ ? $1 : 'none' }
is(state_in($other, "begin; $verb{$_}; rollback"), '00000', "there is room for $_") for sort keys %verb;
is(state_in($greedy, 'select pg_advisory_lock(i) from generate_series(1, 100000) i'), '53200', 'a session takes all the locks that there are');
is(state_in($other, $verb{$_}), '53200', "no room in the lock table: $_") for grep { $_ ne 'maintain' } sort keys %verb; # which finds nothing to write
$greedy->quit;
for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default) { last if state_in($other, 'select pg_advisory_xact_lock(0)') eq '00000'; select undef, undef, undef, 0.1 }
is(tables($node), $before, 'nothing has happened');
is(state_in($other, "begin; $verb{$_}; rollback"), '00000', "there is room again: $_") for sort keys %verb;
$other->quit;

# A transaction that makes many queues, on first use or by itself, takes no lock for each.
is(sqlstate($node, q(begin; select scylla.create_queue('made' || i) from generate_series(1, 3000) i;
	select scylla.submit('first use' || i, '{}') from generate_series(1, 3000) i; rollback)), '', 'there is room in the lock table for 6,000 new queues');

# A cancel ends a call over a large array at once, whatever it is doing with it: reading, sorting, checking.
sql($node, q(
	create unlogged table large as
		select array(select 'n' || n * 7919 % 2000000 from generate_series(1::bigint, 2000000) n) as names,
			array_fill('1'::jsonb, array[2000000]) as specs,
			(select jsonb_agg(jsonb_build_object('queue', 'q', 'spec', n, 'rn', 'x' || n * 7919 % 400000)) from generate_series(1::bigint, 400000) n) as tasks;));
my $caller = $node->background_psql('postgres', on_error_stop => 0);
my $caller_pid = $caller->query_safe('select pg_backend_pid()');
# Milliseconds of processor time that a process has used: a busy machine does not add to them.
sub used { my @field = split ' ', slurp_file("/proc/$_[0]/stat") =~ s/.*\) //sr; return ($field[11] + $field[12]) * 1000 / sysconf(_SC_CLK_TCK) }
for my $call ('complete_many(names, $$w$$)', 'heartbeat_many(names, $$w$$)', 'submit_bulk($$q$$, specs, names)', 'submit_many(tasks)')
{
	for my $ms (100, 400)
	{
		my $start = used($caller_pid);
		$caller->query_until(qr/sent/, "\\echo sent\nselect count(*) from large, scylla.$call;\n\\echo done :SQLSTATE\n");
		for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default) { last if used($caller_pid) >= $start + $ms; select undef, undef, undef, 0.01 }
		my $cancelled = used($caller_pid);
		sql($node, "select pg_cancel_backend($caller_pid)");
		my ($state) = $caller->query_until(qr/done \w{5}/, '') =~ /done (\w{5})/;
		is($state, '57014', "$call is cancelled when it has worked for $ms ms");
		cmp_ok(used($caller_pid) - $cancelled, '<', 1000, '... and does not work on');
	}
}
$caller->quit;
sql($node, 'drop table large');

my $holder = $node->background_psql('postgres');
$holder->query_safe('begin; lock table scylla.task_spec, scylla.task_ready, scylla.task_lease in exclusive mode');
for my $verb (sort keys %verb)
{
	is(sqlstate($node, "set lock_timeout = '1 ms'; $verb{$verb}"), '55P03', "lock_timeout: $verb");
	is(sqlstate($node, "set statement_timeout = '20 ms'; $verb{$verb}"), '57014', "statement_timeout: $verb");
}
is(tables($node), $before, 'nothing has happened');
$holder->query_safe('rollback');
for my $verb (sort keys %verb)
{
	is(sqlstate($node, "begin; $verb{$verb}; rollback"), '', "the locks are free: $verb");
}
checked($node, 'check() finds nothing');

# ---- sessions that are ended ---------------------------------------------------------------------------------------------------------

for my $setting ('idle_in_transaction_session_timeout', $node->pg_version >= 17 ? 'transaction_timeout' : ())
{
	my $idle = $node->background_psql('postgres', on_error_stop => 0);
	$idle->query_until(qr/begun/, "set $setting = '1 s';\nbegin;\nselect rn from scylla.lease('limited', 'idle');\nselect scylla.submit('q', '{}', rn => '$setting');\n\\echo begun\n");
	eventually($node, q(select count(*) from scylla.lease('limited', 'next')), 1, "$setting: what the session has leased can be leased");
	is(sql($node, q(select owner from scylla.task where rn = 'limited')), 'next', '... and its place in a limited queue is free');
	is(sql($node, "select count(*) from scylla.task where rn = '$setting'"), 0, '... and what it has submitted is not there');
	sql($node, q(select scylla.yield('limited', 'next')));
	eval { $idle->quit };
}
checked($node, 'check() finds nothing');

# ---- deadlocks -----------------------------------------------------------------------------------------------------------------------

# Two sessions, each with a first statement and then one that waits for the other. One of them is told.
sub deadlock
{
	my ($name, @statements) = @_;
	my @sessions = map { $node->background_psql('postgres', on_error_stop => 0) } 1 .. 2;
	$sessions[$_]->query("begin; $statements[$_][0]") for 0 .. 1;
	$sessions[$_]->query_until(qr/sent/, "\\echo sent\n$statements[$_][1];\n\\echo done :SQLSTATE\n") for 0 .. 1;
	my @states = sort map { $_->query_until(qr/done \w{5}/, '') =~ /done (\w{5})/ ? $1 : '' } @sessions;
	is("@states", '00000 40P01', "$name: of a deadlock with an application one gets 40P01, the other goes on");
	$_->query('rollback') for @sessions;
	$_->quit for @sessions;
	checked($node, '... and check() finds nothing');
}
sql($node, q(select scylla.submit('d', '{}', rn => rn) from unnest('{done 1,done 2,a,b}'::text[]) rn; select scylla.lease('d', 'w', 4);
	select scylla.complete(rn, 'w') from unnest('{done 1,done 2}'::text[]) rn));
sub locks { "select from scylla.task_spec where rn = '$_[0]' for update" }
deadlock('submit with dependencies, and rows that an application locks', map { [ locks($_->[0]), "select scylla.submit('q', '{}', depends_on => '{$_->[1]}')" ] }
	  [ 'done 1', 'done 2' ], [ 'done 2', 'done 1' ]);
deadlock('names', map { [ "select scylla.submit('q', '{}', rn => '$_->[0]')", "select scylla.submit('q', '{}', rn => '$_->[1]')" ] } [ 'x', 'y' ], [ 'y', 'x' ]);
deadlock('tasks', map { [ "select scylla.heartbeat('$_->[0]', 'w')", "select scylla.complete('$_->[1]', 'w')" ] } [ 'a', 'b' ], [ 'b', 'a' ]);
sql($node, q(create table app (n int); insert into app values (1)));
deadlock('a row of an application', [ 'update app set n = 2', "select scylla.complete('a', 'w')" ], [ "select scylla.complete('a', 'w')", 'update app set n = 3' ]);

# ---- memory --------------------------------------------------------------------------------------------------------------------------

# Kilobytes that a process has for itself.
sub anonymous { slurp_file("/proc/$_[0]/status") =~ /^RssAnon:\s+(\d+) kB/m ? $1 : die 'no RssAnon' }

sql($node, q(
	create procedure work(rounds int) language plpgsql as $$
	begin
		for i in 1 .. rounds loop
			perform scylla.submit('memory', '{"some": "work"}', rn => 'm' || i, priority => i % 3, dedup_key => 'k' || i);
			perform from scylla.lease('memory', 'w');
			perform scylla.heartbeat('m' || i, 'w', 0.5);
			perform scylla.fail('m' || i, 'w', '{"code": "again"}', '0');
			perform from scylla.lease('memory', 'w', 2);
			perform from scylla.complete_many(array['m' || i], 'w');
			perform from scylla.get_task('m' || i);
			begin
				perform scylla.complete('m' || i, 'w');
			exception when object_not_in_prerequisite_state then null;
			end;
			commit;
			if i % 500 = 0 then
				perform scylla.purge();
				commit;
			end if;
		end loop;
	end $$;
	select scylla.create_queue('memory', retention => '0')));
my $worker = $node->background_psql('postgres', timeout => 3600);
my $pid = $worker->query_safe('select pg_backend_pid()');
my $contexts = 'select sum(total_bytes) from pg_backend_memory_contexts';
$worker->query_safe('call work(1000)');
my ($rss, $bytes) = (anonymous($pid), $worker->query_safe($contexts));
$worker->query_safe('call work(' . int($calls / 8) . ')');
my ($more, $more_bytes) = (anonymous($pid) - $rss, $worker->query_safe($contexts) - $bytes);
note "after $calls calls: $more kB more of $rss kB, contexts $more_bytes bytes more";
cmp_ok($more_bytes, '<', 256 * 1024, "$calls calls leave no memory behind");
cmp_ok($more, '<', 4096, '... in the whole process');
is(sql($node, q(select count(*) from scylla.task where queue = 'memory' and status <> 'completed')), 0, '... and have done their work');
$worker->quit;

# The monitor, with something to do in every round.
$node->append_conf('postgresql.conf', "scylla.monitor = on\nscylla.retention = 0");
$node->reload;
wait_for_monitor($node, 'postgres');
sub rounds { sql($node, 'select rounds from scylla.stat_monitor') }
sub busy_until
{
	my ($rounds) = @_;
	my $enough = rounds() + $rounds;
	for (1 .. 5 * $rounds)
	{
		last if rounds() >= $enough;
		sql($node, q(select scylla.submit('busy', '{}', not_before => clock_timestamp() + interval '5 ms'); select scylla.submit('busy', '{}');
			select count(*) from scylla.lease('busy', 'w', 10, '5 ms')));
	}
	cmp_ok(rounds(), '>=', $enough, "the monitor makes $rounds rounds");
}
my %process = map { split /\|/ } split /\n/, sql($node, q(select backend_type, pid from pg_stat_activity where backend_type ~ 'scylla'));
busy_until(500);
my %was = map { $_ => anonymous($process{$_}) } keys %process;
busy_until($calls / 100);
for my $who (sort keys %process)
{
	my $grown = anonymous($process{$who}) - $was{$who};
	note "$who: $grown kB more of $was{$who} kB";
	cmp_ok($grown, '<', 1024, "... which leave no memory behind in the $who");
}
checked($node, 'check() finds nothing');
$node->stop;
done_testing();
