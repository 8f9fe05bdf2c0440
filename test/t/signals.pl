# Signals to waiting workers under schedules that have lost them. There is no monitor that would look again, and nobody waits
# for less than an hour: who gets on has been woken.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $node = new_node('signals');
sql($node, 'create extension scylla');

sub asleep
{
	my ($pid) = @_;
	$node->poll_query_until('postgres', "select wait_event = 'Extension' from pg_stat_activity where pid = $pid")
	  or die "$pid does not wait";
}

# A session that survives a cancel and outlives a deadline, and its process.
sub begin
{
	my $session = $node->background_psql('postgres', on_error_stop => 0, timeout => 10 * $PostgreSQL::Test::Utils::timeout_default);
	return ($session, $session->query_safe('select pg_backend_pid()'));
}

# Ends a session, even one that still waits.
sub end
{
	my ($session, $pid) = @_;
	sql($node, "select pg_cancel_backend($pid)");
	$session->quit;
}

# Starts a worker that waits for a queue, and leases a task if it is told that there is one. Returns when it sleeps.
sub wait_as
{
	my ($worker, $queue) = @_;
	my ($session, $pid) = begin();
	$session->query_until(qr/begun/, qq(\\echo begun
		\\set ready false
		call scylla.wait('$queue', '1 h') \\gset
		\\if :ready
			select from scylla.lease('$queue', '$worker');
		\\endif
	));
	asleep($pid);
	return ($session, $pid);
}

sub leased_by
{
	my ($rn, $worker, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	eventually($node, "select owner from scylla.task where rn = '$rn'", $worker, $name);
}

# ---- two commits, one after the other, for two waiters ---------------------------------------------------------------------------

# The second commit may come just when the first waiter is looking. A worker keeps its task until both of a pair are taken, so
# that nobody makes up for one who sleeps on.
sql($node, q(
	create procedure work(worker text) language plpgsql as $$
	declare
		ready boolean;
		taken text;
	begin
		loop
			call scylla.wait('pairs', '1 h', ready);
			select rn into taken from scylla.lease('pairs', worker);
			commit;
			while exists (select from scylla.task where rn = taken and status = 'running') loop
				commit;
				perform pg_sleep(0.001);
			end loop;
		end loop;
	end $$;

	-- Returns when the query gives true; an error after too long a time.
	create procedure reach(query text, what text) language plpgsql as $$
	declare
		until timestamptz := clock_timestamp() + '10 min';
		reached boolean := false;
	begin
		loop
			execute query into reached;
			exit when reached;
			if clock_timestamp() > until then
				raise '%', what;
			end if;
			commit;
			perform pg_sleep(0.001);
		end loop;
	end $$;

	create procedure pairs(workers int[], pairs int) language plpgsql as $$
	begin
		for i in 1 .. pairs loop
			call reach(format('select count(*) = 2 from pg_stat_activity where pid = any (%L) and wait_event = ''Extension''', workers),
				'pair ' || i || ': the workers do not wait');
			perform scylla.submit('pairs', '1');
			commit;
			perform scylla.submit('pairs', '2');
			commit;
			call reach('select count(*) = 2 from scylla.list_tasks(''pairs'', ''running'')', 'pair ' || i || ': a waiter has not been woken');
			perform scylla.complete_many(array[rn], owner) from scylla.list_tasks('pairs', 'running');
			commit;
		end loop;
	end $$;
	select scylla.create_queue('pairs');));
my @workers = map { [ begin() ] } 1 .. 2;
$_->[0]->query_until(qr/begun/, "\\echo begun\ncall work('worker $_->[1]');\n") for @workers;
my (undef, undef, $lost) = $node->psql('postgres', "call pairs('{$workers[0][1],$workers[1][1]}', 100)");
is($lost, '', 'two commits, one right after the other, wake two waiters: 100 times');
end(@$_) for @workers;

# ---- a commit that concerns more queues than it can note -------------------------------------------------------------------------

sql($node, q(select scylla.create_queue('many ' || i) from generate_series(1, 100) i));
my @last = wait_as('last', 'many 100');
sql($node, q(select count(*) from scylla.submit_many((
	select jsonb_agg(jsonb_build_object('queue', 'many ' || i, 'spec', 1, 'rn', 'many ' || i) order by i) from generate_series(1, 100) i))));
leased_by('many 100', 'last', 'submit_many over 100 queues wakes a waiter of the last one');
end(@last);

# ---- a lease that is taken back by a part of its transaction ---------------------------------------------------------------------

sql($node, q(select scylla.submit('part', '1', rn => 'part')));
my ($gate) = begin();
$gate->query_safe('select pg_advisory_lock(1)');
my ($part) = begin();
$part->query_until(qr/begun/, q(\echo begun
	begin;
	do $$
	begin
		perform scylla.lease('part', 'nobody');
		perform pg_advisory_xact_lock_shared(1);
		raise 'undo';
	exception when raise_exception then
		null;
	end $$;
	commit;
));
eventually($node, q(select count(*) from pg_locks where locktype = 'advisory' and not granted), '1', 'a task is taken inside an exception block');
my @next = wait_as('next', 'part');
$gate->query_safe('select pg_advisory_unlock(1)');
leased_by('part', 'next', '... the block is rolled back and the transaction commits: a waiter is woken');
end(@next);
$part->quit;

# ---- a waiter that is cancelled with a signal in hand ----------------------------------------------------------------------------

# The first in the queue is the one that is signalled. It is stopped first, so that it cannot act on the signal yet.
for my $moment ('asleep', 'while it looks')
{
	(my $q = $moment) =~ s/ .*//;
	sql($node, "select scylla.create_queue('$q')");
	my ($first, $first_pid) = wait_as('first', $q);
	my @second = wait_as('second', $q);
	kill 'STOP', $first_pid or die "kill: $!";
	sql($node, "select scylla.submit('$q', '1', rn => '$q')");
	# Its look will have to wait for the table.
	$gate->query_safe('begin; lock table scylla.task_ready in access exclusive mode') if $q eq 'while';
	sql($node, "select pg_cancel_backend($first_pid)") if $q eq 'asleep';
	kill 'CONT', $first_pid or die "kill: $!";
	if ($q eq 'while')
	{
		$node->poll_query_until('postgres', "select wait_event_type = 'Lock' from pg_stat_activity where pid = $first_pid") or die 'it does not look';
		sql($node, "select pg_cancel_backend($first_pid)");
		$node->poll_query_until('postgres', "select state = 'idle' from pg_stat_activity where pid = $first_pid") or die 'it was not cancelled';
		$gate->query_safe('rollback');
	}
	leased_by($q, 'second', "a signalled waiter is cancelled $moment: the other one gets the task");
	is(sql($node, "select state from pg_stat_activity where pid = $first_pid"), 'idle', '... and the first has ended its wait');
	end($first, $first_pid);
	end(@second);
}

$gate->quit;
checked($node, 'check() finds nothing');
$node->stop;
done_testing();
