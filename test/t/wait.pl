# Waiting for tasks: whoever waits is woken by whatever makes a task leasable, by nothing else, and as many are woken as there
# are tasks. No signal is lost with the one it was meant for, and waiting costs nothing.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

# The monitor's rounds are far apart: it acts when a time has come that a commit has told it, and does not make up for lost
# signals.
my $node = new_node('main',
	settings => "scylla.monitor = on\nscylla.monitor_interval = '1 h'\nautovacuum = off\nmax_connections = 240\nclient_min_messages = warning");
my $folder = PostgreSQL::Test::Utils::tempdir;
sql($node, 'create extension scylla');
wait_for_monitor($node, 'postgres');

# A session that can wait, with its process.
sub new_waiter
{
	my ($node, $database) = @_;
	my $session = $node->background_psql($database // 'postgres', on_error_stop => 0);
	return { node => $node, session => $session, pid => $session->query_safe('select pg_backend_pid()') };
}

sub quit { eval { $_->{session}->quit } for @_; }

# Starts a call in that session, and comes back when it sleeps.
sub begin_wait
{
	my ($waiter, $call) = @_;
	$waiter->{session}->query_until(qr/^begun$/m, "\\echo begun\n$call;\n\\echo ended :SQLSTATE\n");
	$waiter->{node}->poll_query_until('postgres', sleeping("pid = $waiter->{pid}"), '1')
	  or die "$call does not sleep: " . sql($waiter->{node}, "select state, wait_event_type, wait_event from pg_stat_activity where pid = $waiter->{pid}");
}

sub sleeping
{
	my ($who) = @_;
	return "select count(*) from pg_stat_activity where $who and wait_event = 'Extension' and query ~* '^call scylla.w'";
}

# What the call has given, as soon as it is over: its result, or the SQLSTATE of its error.
sub ended
{
	my ($waiter) = @_;
	my ($result, $sqlstate) = $waiter->{session}->query_until(qr/^ended \w{5}$/m, '') =~ /\A(.*?)\n?ended (\w{5})/s;
	$waiter->{session}{stderr} = '';
	return $sqlstate eq '00000' ? $result : $sqlstate;
}

# How often these processes have gone to sleep. Whoever sleeps on has not been woken, and has done nothing.
sub naps
{
	my $naps = 0;
	for my $waiter (@_)
	{
		slurp_file('/proc/' . (ref $waiter ? $waiter->{pid} : $waiter) . '/status') =~ /^voluntary_ctxt_switches:\s+(\d+)/m or die;
		$naps += $1;
	}
	return $naps;
}

my $waiter = new_waiter($node);
my $fence = new_waiter($node);

# Comes back when a signal that is given now has been followed by its waiter.
sub pass_fence
{
	begin_wait($fence, "call scylla.wait('fence', '1 h')");
	sql($node, q(select scylla.submit('fence', '1')));
	ended($fence) eq 't' or die;
	sql($node, q(select scylla.lease('fence', 'w')));
}

# ---- what wakes ---------------------------------------------------------------------------------------------------------

sql($node, q(select scylla.create_queue('first')));

# Name, what goes before, what wakes. %s stands for the queue.
my @wakes = (
	[ 'submit', 'select scylla.create_queue($$%s$$)', 'select scylla.submit($$%s$$, $$1$$)' ],
	[ 'the first submit of a queue', undef, 'select scylla.submit($$%s$$, $$1$$)' ],
	[ 'submit_bulk', 'select scylla.create_queue($$%s$$)', 'select scylla.submit_bulk($$%s$$, array[$$1$$::jsonb])' ],
	[ 'the first submit_bulk of a queue', undef, 'select scylla.submit_bulk($$%s$$, array[$$1$$::jsonb])' ],
	[ 'submit_many', 'select scylla.create_queue($$%s$$)', 'select * from scylla.submit_many($$[{"queue": "%s", "spec": 1}]$$)' ],
	[ 'a savepoint', 'select scylla.create_queue($$%s$$)', 'begin; savepoint s; select scylla.submit($$%s$$, $$1$$); release s; commit' ],
	[ 'a delayed task that falls due', 'select scylla.create_queue($$%s$$)',
		'select scylla.submit($$%s$$, $$1$$, not_before => clock_timestamp() + interval $$100 ms$$)' ]);
my $held = 'select scylla.submit($$%s$$, $$1$$, rn => $$%s$$); select scylla.lease_task($$%s$$, $$w$$, $$1 h$$)';
push @wakes, (
	[ 'yield', $held, 'select scylla.yield($$%s$$, $$w$$)' ],
	[ 'a failure that is retried at once', $held, 'select scylla.fail($$%s$$, $$w$$, $${"code": "x"}$$, $$0$$)' ],
	[ 'a retry that falls due', $held, 'select scylla.fail($$%s$$, $$w$$, $${"code": "x"}$$, $$100 ms$$)' ],
	[ 'a lease that expires', $held, 'select scylla.heartbeat($$%s$$, $$w$$, timeout => $$100 ms$$)' ],
	[ 'reset_expired()', $held, 'begin; update scylla.task_lease set deadline = $$-infinity$$; select scylla.reset_expired(); commit' ]);
my $n = 0;
for (@wakes)
{
	my ($what, $before, $wake) = @$_;
	my $q = 'wakes' . ++$n;
	sql($node, $before =~ s/%s/$q/gr) if $before;
	begin_wait($waiter, "call scylla.wait('$q', '1 h')");
	sql($node, $wake =~ s/%s/$q/gr);
	is(ended($waiter), 't', "$what wakes");
	is(sql($node, "select count(*) from scylla.lease('$q', 'w')"), '1', '... and the task can be leased');
}

# A lease that is undone. While it lasts there is nothing to lease.
for (
	[ 'of the transaction', 'begin', 'rollback' ],
	[ 'to a savepoint', 'begin; savepoint s', 'rollback to s' ],
	[ 'by the end of the session', 'begin', undef ])
{
	my ($how, $begin, $end) = @$_;
	my $q = 'undone' . ++$n;
	my $other = new_waiter($node);
	sql($node, "select scylla.submit('$q', '1')");
	$other->{session}->query_safe("$begin; select scylla.lease('$q', 'w')");
	begin_wait($waiter, "call scylla.wait('$q', '1 h')");
	if ($end)
	{
		$other->{session}->query_safe($end);
	}
	else
	{
		sql($node, "select pg_terminate_backend($other->{pid})");
	}
	is(ended($waiter), 't', "a lease that is undone wakes: rollback $how");
	quit($other);
}

is(sql($node, q(call scylla.wait('first', '1 ms'))), 'f', 'false when the time is over');
sql($node, q(select scylla.submit('there', '1')));
is(sql($node, q(call scylla.wait('there', '1 h'))), 't', 'true at once when there is a task');

# ---- what does not wake -------------------------------------------------------------------------------------------------

sql($node, q(
	select scylla.submit('first', '1', rn => what || try)
	from unnest('{to cancel, to complete, to abort, to extend}'::text[]) what, generate_series(1, 3) try;
	select scylla.lease('first', 'w', 12, '1 h');
	select scylla.submit('first', '1', rn => 'later' || try, not_before => now() + interval '1 h') from generate_series(1, 3) try;));
sql($node, 'create database other');
sql($node, q(create extension scylla; select scylla.create_queue('first')), 'other');
is(sql($node, q(select id from scylla.queue where name = 'first'), 'other'), sql($node, q(select id from scylla.queue where name = 'first')),
	'the same queue with the same number in another database');
my $other = new_waiter($node, 'other');
begin_wait($waiter, "call scylla.wait('first', '1 h')");
is( sql($node, q(begin; select from scylla.submit('first', '1', rn => 'just now');
		select waits_for, detail from scylla.explain_waiting('just now'); rollback;)) =~ s/^(BEGIN|ROLLBACK)\n?//mgr =~ s/\s*\z//r =~ s/\A\s*//r,
	'a worker|A worker waits for queue "first" and is just being woken.', 'what a ready task waits for whose commit wakes a worker');
# The server may wake a process for its own purposes, to catch up with news of the catalogs, say. What wakes it wakes it every time.
for (
	[ 'a cancel of a running task', q(select scylla.cancel('to cancel%d')) ],
	[ 'a cancel of a waiting task', q(select scylla.cancel('later%d')) ],
	[ 'a complete', q(select scylla.complete('to complete%d', 'w')) ],
	[ 'an abort', q(select scylla.abort('to abort%d', 'w', '{"code": "x"}')) ],
	[ 'a heartbeat', q(select scylla.heartbeat('to extend%d', 'w', timeout => '2 h')) ],
	[ 'a yield that is rolled back', q(begin; select scylla.yield('to extend%d', 'w'); rollback) ],
	[ 'a submit that is rolled back', q(begin; select scylla.submit('first', '1'); rollback) ],
	[ 'a delayed task', q(select scylla.submit('first', '7', not_before => now() + interval '1 h')) ],
	[ 'a new queue', q(select scylla.create_queue('new%d')) ],
	[ 'a task of another queue', q(select scylla.submit('second', '1')) ],
	[ 'a task in another database', q(select scylla.submit('first', '1')), 'other' ])
{
	my ($what, $sql, $database) = @$_;
	my @woken;
	for my $try (1 .. 3)
	{
		my $naps = naps($waiter);
		sql($node, $sql =~ s/%d/$try/r, $database);
		pass_fence();
		push @woken, naps($waiter) - $naps;
		last unless $woken[-1];
	}
	is($woken[-1], 0, "$what does not wake: @woken");
}
is(sql($node, q(call scylla.wait('first', '1 h')), 'other'), 't', '... in that other database there is one');
begin_wait($fence, q(call scylla.wait('new queue', '1 h')));
sql($node, q(select scylla.create_queue('new queue')));
is(sql($node, q(call scylla.wait('new queue', '1 ms'))), 'f', 'a queue that is created without a task');
is(sql($node, sleeping("pid = $fence->{pid}")), '1', '... does not end the wait for it');
sql($node, q(select scylla.submit('new queue', '1')));
is(ended($fence), 't', '... its first task does');
sql($node, q(select scylla.submit('first', '1')));
is(ended($waiter), 't', 'a task of the queue in this database wakes');
quit($other);

# ---- as many as there are tasks -----------------------------------------------------------------------------------------

my @waiters = map { new_waiter($node) } 1 .. 8;
sql($node, q(select scylla.create_queue('eight')));
begin_wait($_, q(call scylla.wait('eight', '1 h'))) for @waiters;
my $them = join ', ', map { $_->{pid} } @waiters;
is( sql($node, "select count(*) from pg_stat_activity where pid in ($them) and backend_xid is null and backend_xmin is null"), '8',
	'who waits has no snapshot and no transaction id');
is(sql($node, "select count(*) from pg_locks where pid in ($them) and locktype <> 'virtualxid'"), '0', '... and no lock');
sql($node, q(create table dead as select n from generate_series(1, 1000) n; delete from dead));
sql($node, 'vacuum dead');
is(sql($node, q(select pg_relation_size('dead'))), '0', '... and does not hold back vacuum');

my $naps = naps(@waiters[ 3 .. 7 ]);
sql($node, q(begin; select scylla.submit('eight', '1'); select scylla.submit_bulk('eight', array['2', '3']::jsonb[]); commit));
is(join(' ', map { ended($_) } @waiters[ 0 .. 2 ]), 't t t', 'three tasks in one transaction wake those three who came first');
pass_fence();
is(naps(@waiters[ 3 .. 7 ]), $naps, '... and nobody else');
is(sql($node, sleeping("pid in ($them)")), '5', '... five still sleep');
is(sql($node, q(select count(*) from scylla.lease('eight', 'w', 10))), '3', '... there are three tasks');
sql($node, q(select scylla.submit('eight', '1')));
is(ended($waiters[3]), 't', 'one more task wakes the next');
pass_fence();
is(sql($node, sleeping("pid in ($them)")), '4', '... only it');
sql($node, q(select scylla.lease('eight', 'w'); select scylla.submit_bulk('eight', array_fill('1'::jsonb, array[100]))));
is(join(' ', map { ended($_) } @waiters[ 4 .. 7 ]), 't t t t', 'a hundred tasks wake all the others');

# The same before the queue exists.
sub naps_of { return join ' ', map { naps($_) } @_; }
begin_wait($_, q(call scylla.wait('unborn', '1 h'))) for @waiters[ 0 .. 3 ];
begin_wait($_, q(call scylla.wait_any('{unborn2,unborn3}', '1 h'))) for @waiters[ 4, 5 ];
my @still = @waiters[ 1 .. 5 ];
my $still = naps_of(@still);
sql($node, q(select scylla.submit('unborn', '1')));
is(ended($waiters[0]), 't', 'the first submit to a queue that did not exist wakes who came first');
pass_fence();
is(naps_of(@still), $still, '... and nobody else');
sql($node, q(select scylla.submit_bulk('unborn', array['2', '3']::jsonb[])));
is(join(' ', map { ended($_) } @waiters[ 1, 2 ]), 't t', '... the next two tasks wake the next two');
@still = @waiters[ 3 .. 5 ];
$still = naps_of(@still);
sql($node, q(select scylla.create_queue('unborn2')));
sql($node, q(begin; savepoint s; select scylla.submit('unborn3', '1'); rollback to s; select scylla.submit('unborn4', '1'); commit));
pass_fence();
is(naps_of(@still), $still, 'a queue without a task, and one that is rolled back, wake nobody');
sql($node, q(begin; savepoint s; select scylla.submit('unborn3', '1'); release s; commit));
is(ended($waiters[4]), 'unborn3', 'the one that is made then wakes the first of its waiters');
sql($node, q(select scylla.submit('unborn2', '1')));
is(ended($waiters[5]), 'unborn2', '... and a task of the queue that was made without one the next');
sql($node, q(begin; select scylla.create_queue('many' || n) from generate_series(1, 200) n; commit));
sql($node, q(select scylla.lease('unborn', 'w', 3); select scylla.submit('unborn', '4')));
is(ended($waiters[3]), 't', 'many new queues at once do no harm');
begin_wait($waiters[0], q(call scylla.wait('unborn5', '1 h')));
sql($node, q(begin; select scylla.create_queue('many more' || n) from generate_series(1, 200) n; select scylla.submit('unborn5', '1'); commit));
is(ended($waiters[0]), 't', '... and who waits for one of them is woken');

# ---- wait_any -----------------------------------------------------------------------------------------------------------

for my $at (1, 2, 64)
{
	my $queues = join ',', map { "any$_" } 1 .. 64;
	begin_wait($waiter, "call scylla.wait_any('{$queues}', '1 h')");
	sql($node, "select scylla.submit('any$at', '1')");
	is(ended($waiter), "any$at", "wait_any over 64 queues names the one with a task: the one at place $at");
	is(sql($node, "call scylla.wait_any('{nothing,any$at}', '1 h')"), "any$at", '... at once when it is there already');
	sql($node, "select scylla.lease('any$at', 'w')");
}
is(sql($node, q(call scylla.wait_any('{any1,any2}', '1 ms'))), '', 'null when the time is over');
fails_with($node, '22023', q(call scylla.wait_any(array_fill('any1'::text, array[65]))), 'no more than 64 queues');
# A signal for one queue does not go to waste because its waiter has found a task of another.
begin_wait($waiters[0], q(call scylla.wait_any('{any1,any2}', '1 h')));
begin_wait($waiters[1], q(call scylla.wait('any2', '1 h')));
sql($node, q(begin; select scylla.submit('any2', '2'); select scylla.submit('any1', '1'); commit));
like(ended($waiters[0]), qr/^any[12]$/, 'two queues in one transaction wake the one who waits for both');
is(ended($waiters[1]), 't', '... and the one who waits for one of them');
sql($node, q(select scylla.lease('any1', 'w'), scylla.lease('any2', 'w')));

# ---- waiters that come to an end ----------------------------------------------------------------------------------------

# The first of two waiters is stopped, gets the signal, and before it can follow it something else ends it.
for my $end ('cancel', 'statement_timeout', 'termination', 'death of the client')
{
	my $first = new_waiter($node);
	my $call = "call scylla.wait('passed on', '1 h')";
	$first->{session}->query_safe(q(set statement_timeout = '2 s')) if $end eq 'statement_timeout';
	begin_wait($first, $call);
	begin_wait($waiter, $call);
	kill 'STOP', $first->{pid} or die;
	sql($node, q(select scylla.submit('passed on', '1')));
	sql($node, "select pg_cancel_backend($first->{pid})") if $end eq 'cancel';
	sql($node, "select pg_terminate_backend($first->{pid})") if $end eq 'termination';
	if ($end eq 'statement_timeout')
	{
		$node->poll_query_until('postgres',
			"select clock_timestamp() > query_start + interval '2.1 s' from pg_stat_activity where pid = $first->{pid}") or die;
	}
	if ($end eq 'death of the client')
	{
		$first->{session}{run}->signal('KILL');
		eval { $first->{session}{run}->finish };
	}
	kill 'CONT', $first->{pid} or die;
	is(ended($first), '57014', "$end ends a wait") if $end =~ /cancel|statement/;
	eventually($node, "select count(*) from pg_stat_activity where pid = $first->{pid}", '0', "$end ends a wait") if $end !~ /cancel|statement/;
	is(ended($waiter), 't', '... the next waiter has the signal');
	sql($node, q(select scylla.lease('passed on', 'w')));
	quit($first) if $end =~ /cancel|statement/;
}

# The same when it has followed the signal, and just looks for the task.
my ($submitter, $locker) = (new_waiter($node), new_waiter($node));
$submitter->{session}->query_safe(q(begin; select scylla.submit('passed on', '1')));
begin_wait($_, q(call scylla.wait('passed on', '1 h'))) for @waiters[ 0, 1 ];
$locker->{session}->query_until(qr/begun/, "\\echo begun\nbegin; lock table scylla.task_ready in access exclusive mode;\n");
eventually($node, "select count(*) from pg_locks where pid = $locker->{pid} and not granted", '1', 'somebody wants to lock a table');
$submitter->{session}->query_safe('commit');
eventually($node, "select count(*) from pg_locks where pid = $waiters[0]{pid} and not granted", '1', 'a waiter follows its signal');
sql($node, "select pg_cancel_backend($waiters[0]{pid})");
is(ended($waiters[0]), '57014', '... and is cancelled');
$locker->{session}->query_safe('rollback');
is(ended($waiters[1]), 't', '... the next waiter has the signal');
sql($node, q(select scylla.lease('passed on', 'w')));
quit($submitter, $locker);

# Without a stop: the backend of a dead client that sleeps on.
my $dead = new_waiter($node);
begin_wait($dead, q(call scylla.wait('passed on', '1 h')));
begin_wait($waiter, q(call scylla.wait('passed on', '1 h')));
$dead->{session}{run}->signal('KILL');
eval { $dead->{session}{run}->finish };
sql($node, q(select scylla.submit('passed on', '1')));
is(ended($waiter), 't', 'a client that was killed while it waited does not keep others from their tasks');
eventually($node, "select count(*) from pg_stat_activity where pid = $dead->{pid}", '0', '... and its backend is gone');
sql($node, q(select scylla.lease('passed on', 'w')));

# Nobody wakes it: it sees by itself that its client is gone.
my %blocking = (wait => q(call scylla.wait('nothing', '1 h')), wait_any => q(call scylla.wait_any('{nothing,nowhere}', '1 h')),
	wait_plan => q(call scylla.wait_plan('endless', '1 h')), work => q(call scylla.work('handled', timeout => '1 h')));
sql($node, q(
	create function noop(t scylla.task) returns jsonb language sql as 'select null::jsonb';
	select scylla.create_queue('handled', handler => 'noop'), scylla.create_plan('endless')));
is(sql($node, 'show client_connection_check_interval'), '0', 'the server itself does not look for clients that have gone');
for my $call (sort keys %blocking)
{
	my $alone = new_waiter($node);
	begin_wait($alone, $blocking{$call});
	$alone->{session}{run}->signal('KILL');
	eval { $alone->{session}{run}->finish };
	eventually($node, "select count(*) from pg_stat_activity where pid = $alone->{pid}", '0', "$call ends when its client is killed");
}

# ---- where one can wait -------------------------------------------------------------------------------------------------

sql($node, <<'SQL');
create procedure waits(q text, timeout interval, inout ready boolean = null) language plpgsql as $$ begin call scylla.wait(q, timeout, ready); end $$;
create procedure waits_definer(q text, inout ready boolean = null) language plpgsql security definer as
	$$ begin call scylla.wait(q, '1 ms', ready); end $$;
create procedure waits_set(q text, inout ready boolean = null) language plpgsql set work_mem = '1 MB' as
	$$ begin call scylla.wait(q, '1 ms', ready); end $$;
create function waits_function() returns void language plpgsql as $$ declare r boolean; begin call scylla.wait('q', '1 ms', r); end $$;
SQL
for (
	[ 'BEGIN', "begin; call scylla.wait('q', '1 ms')" ],
	[ 'a function', 'select waits_function()' ],
	[ 'DO in a transaction', q(begin; do $$ declare r boolean; begin call scylla.wait('q', '1 ms', r); end $$) ],
	[ 'a SECURITY DEFINER procedure', q(call waits_definer('q')) ],
	[ 'a procedure with a SET clause', q(call waits_set('q')) ],
	[ 'several statements in one query', q(select 1 \; call scylla.wait('q', '1 ms')) ])
{
	my ($where, $sql) = @$_;
	my ($status, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$sql;");
	like($err, qr/ERROR:  25001: scylla.wait\(\) cannot run inside a transaction block\n/, "refused in $where");
	like($err, qr/HINT:  Call it as a statement of its own, outside BEGIN, functions and multi-statement queries/, '... with a hint');
}
my $in_procedure = new_waiter($node);
$in_procedure->{session}->query_until(qr/begun/, "\\echo begun\ncall waits('in procedure', '1 h');\n\\echo ended :SQLSTATE\n");
eventually($node, "select count(*) from pg_stat_activity where pid = $in_procedure->{pid} and wait_event = 'Extension' and backend_xmin is null", '1',
	'a procedure that waits holds no snapshot');
sql($node, q(select scylla.submit('in procedure', '1')));
is(ended($in_procedure), 't', '... and is woken');
is( sqlstate($node, q(do $$ declare r boolean; begin
		call scylla.wait('in procedure', '1 h', r);
		assert r;
		call scylla.wait('q', '1 ms', r);
		assert not r;
	end $$)),
	'', 'DO outside a transaction can wait');
quit($in_procedure);

# The extended protocol, prepared statements, and a pipeline.
append_to_file("$folder/wait.sql", "call scylla.wait('q', '1 ms');\n");
append_to_file("$folder/pipeline.sql", "\\startpipeline\ncall scylla.wait('q', '1 ms');\n\\endpipeline\n");
for my $mode ('simple', 'extended', 'prepared')
{
	my ($out, $err) = run_command([ 'pgbench', '-n', '-c', '2', '-t', '20', '-M', $mode, '-f', "$folder/wait.sql", '-d', $node->connstr('postgres') ]);
	like($out, qr/actually processed: 40\/40/, "waiting by pgbench -M $mode") or diag $err;
}
my ($out, $err) = run_command([ 'pgbench', '-n', '-t', '2', '-M', 'extended', '-f', "$folder/pipeline.sql", '-d', $node->connstr('postgres') ]);
like($out, qr/actually processed: 2\/2/, '... and in a pipeline') or diag $err;

# An ordinary role that may do nothing else.
sql($node, q(
	create role worker login;
	grant usage on schema scylla to worker;));
my $as_worker = "set session authorization worker;\n";
is(sqlstate($node, $as_worker . q(call scylla.wait('q', '1 ms'))), '42501', 'a role without EXECUTE cannot wait');
sql($node, q(grant execute on procedure scylla.wait, scylla.wait_any to worker));
is(sqlstate($node, $as_worker . q(call scylla.wait('not made yet', '1 ms'))), '', 'with it alone it can wait for a queue to be');
# Plans belong to those who made them.
sql($node, q(grant execute on procedure scylla.wait_plan to worker; grant execute on function scylla.create_plan to worker;
	select scylla.create_plan('theirs')));
is(sqlstate($node, $as_worker . q(call scylla.wait_plan('theirs', '1 ms'))), 'P0002', 'somebody else\'s plan is not there to wait for');
is(sqlstate($node, $as_worker . q(select scylla.create_plan('own'); call scylla.wait_plan('own', '1 ms'))), '', 'one\'s own is');
sql($node, q(select scylla.create_queue('closed')));
for my $call (q(wait('closed', '1 ms')), q(wait_any('{closed}', '1 ms')), q(wait_any('{not made yet,closed}', '1 ms')))
{
	is(sqlstate($node, $as_worker . "call scylla.$call"), '42501', "... but not on one on which it may not work: $call");
}
sql($node, q(select scylla.create_queue(queue), scylla.grant_queue(queue, 'worker', 'work') from unnest(array['ordinary', 'ordinary2']) queue));
my $ordinary = new_waiter($node);
$ordinary->{session}->query_safe('set session authorization worker');
begin_wait($ordinary, q(call scylla.wait('ordinary', '1 h')));
sql($node, q(select scylla.submit('ordinary', '1')));
is(ended($ordinary), 't', 'with the right on the queue it can');
begin_wait($ordinary, q(call scylla.wait_any('{ordinary1,ordinary2}', '1 h')));
sql($node, q(select scylla.submit('ordinary2', '1')));
is(ended($ordinary), 'ordinary2', '... wait_any, too');
sql($node, q(select scylla.complete(rn, 'w') from scylla.lease('ordinary', 'w')));
begin_wait($ordinary, q(call scylla.wait('ordinary', '1 h')));
begin_wait($waiter, q(call scylla.wait('ordinary', '1 h')));
sql($node, q(select scylla.revoke_queue('ordinary', 'worker', 'work')));
sql($node, q(select scylla.submit('ordinary', '1')));
is(ended($ordinary), '42501', 'who may not work any more when there is work is told so');
is(ended($waiter), 't', '... and the next one is woken instead');
quit($ordinary);

# The extension is dropped, and made again, while somebody waits.
sql($node, 'create database replaced');
for my $call (q(wait('q', '2 s')), q(wait_any('{q,r}', '2 s')))
{
	sql($node, 'create extension scylla', 'replaced');
	my $waits = new_waiter($node, 'replaced');
	begin_wait($waits, "call scylla.$call");
	sql($node, 'begin; drop extension scylla; create extension scylla; commit', 'replaced'); # the time may be over meanwhile
	like(ended($waits), qr/^f?$/, "$call: the time is over when the extension has been dropped and made again");
	begin_wait($waits, "call scylla.$call");
	sql($node, 'drop extension scylla', 'replaced');
	is(ended($waits), '42704', "$call: ... and an error says when it has been dropped");
	quit($waits);
}

# ---- what it costs ------------------------------------------------------------------------------------------------------

my $many = new_waiter($node);
sub memory { return $many->{session}->query_safe('select sum(total_bytes) from pg_backend_memory_contexts'); }
my $waits = "call scylla.wait('memory', '1 us');\n" x 500 . "call scylla.wait_any('{memory,nothing}', '1 ms');\n" x 50;
$many->{session}->query_safe($waits);
my $before = memory();
$many->{session}->query_safe($waits x 6);
cmp_ok(memory() - $before, '<', 65536, 'thousands of waits in one session leave no memory behind');
quit($many);

# Two hundred who wait. The monitor makes its rounds meanwhile.
sql($node, q(alter system set scylla.monitor_interval = '20 ms'));
$node->reload;
append_to_file("$folder/idle.sql", "call scylla.wait('idle', '1 h');\n");
my ($bench_out, $bench_err) = ('', '');
my $bench = IPC::Run::start([ 'pgbench', '-n', '-c', '200', '-t', '1', '-f', "$folder/idle.sql", '-d', $node->connstr('postgres') ],
	'>', \$bench_out, '2>', \$bench_err);
eventually($node, sleeping('true'), '200', 'two hundred sessions wait');
my @pids = split /\n/, sql($node, q(select pid from pg_stat_activity where query ~ '^call scylla.wait' and state = 'active'));
sub cpu
{
	my $ticks = 0;
	for my $pid (@_)
	{
		my @fields = split ' ', slurp_file("/proc/$pid/stat") =~ s/.*\) //r;
		$ticks += $fields[11] + $fields[12];
	}
	return $ticks;
}
my $monitor = sql($node, q(select pid from pg_stat_activity where backend_type = 'scylla monitor' and datname = 'postgres'));
sub rounds
{
	my ($rounds, $name) = @_;
	$rounds += naps($monitor);
	eventually($node, "select substring(pg_read_file('/proc/$monitor/status') from 'voluntary_ctxt_switches:\\s+(\\d+)')::int >= $rounds", 't', $name);
}
# When it first sees that somebody waits for a queue that does not exist, it does not know whether it has come to exist.
rounds(3, '... the monitor has seen them');
my @moved; # by tries, as above
for (1 .. 3)
{
	my ($naps_before, $cpu_before) = (naps(@pids), cpu(@pids));
	rounds(50, '... it makes fifty rounds');
	push @moved, naps(@pids) - $naps_before + cpu(@pids) - $cpu_before;
	last unless $moved[-1];
}
is($moved[-1], 0, "... nobody has moved, nor used the processor: @moved");
sql($node, q(select scylla.submit_bulk('idle', array_fill('1'::jsonb, array[200]))));
$bench->finish;
like($bench_out, qr/actually processed: 200\/200/, '... and two hundred tasks wake them all') or diag $bench_err;

# ---- what the monitor makes up for --------------------------------------------------------------------------------------

my $dying = new_waiter($node);
begin_wait($dying, q(call scylla.wait('made up', '1 h')));
begin_wait($waiter, q(call scylla.wait('made up', '1 h')));
sql($node, q(select scylla.submit('made up', '1')));
is(ended($dying), 't', 'a worker is woken');
quit($dying);
is(ended($waiter), 't', '... and dies: then another is woken');
sql($node, q(select scylla.lease('made up', 'w')));
begin_wait($waiter, q(call scylla.wait('made up', '1 h')));
sql($node, q(begin; select scylla.submit('made up', '1'); prepare transaction 'p'; commit prepared 'p';));
is(ended($waiter), 't', 'COMMIT PREPARED tells nobody, but the monitor finds what it brought');
sql($node, q(select scylla.lease('made up', 'w')));
begin_wait($waiter, q(call scylla.wait('made up', '1 h')));
sql($node, q(
	insert into scylla.task_ready (id, updated, queue, attempt, failures, priority) select id, now(), queue, 1, 0, 0 from scylla.task_lease
		where queue = (select id from scylla.queue where name = 'made up') limit 1;));
is(ended($waiter), 't', 'it finds a row that was written by hand, too');
begin_wait($waiter, q(call scylla.wait('prepared', '1 h')));
sql($node, q(begin; select scylla.submit('prepared', '1'); prepare transaction 'p'; commit prepared 'p';));
is(ended($waiter), 't', '... and a queue that came by COMMIT PREPARED with its first task');

# ---- the end ------------------------------------------------------------------------------------------------------------

begin_wait($_, q(call scylla.wait('end', '1 h'))) for @waiters;
$node->stop('fast');
pass('a server with waiters stops');

# ---- without preloading -------------------------------------------------------------------------------------------------

my $unloaded = new_node('unloaded', preload => 0, settings => 'client_min_messages = warning');
$unloaded->psql('postgres', 'create extension scylla');
my $polling = new_waiter($unloaded);
begin_wait($polling, q(call scylla.wait('q', '1 h')));
is(sql($unloaded, "select count(*) from pg_stat_activity where pid = $polling->{pid} and backend_xmin is null and backend_xid is null"), '1',
	'without preloading who waits holds no snapshot either');
sql($unloaded, q(select scylla.submit('q', '1')));
is(ended($polling), 't', '... and finds a task');
sql($unloaded, q(select scylla.lease('q', 'w')));
begin_wait($polling, q(call scylla.wait_any('{p,q}', '1 h')));
sql($unloaded, q(select scylla.submit('q', '1')));
is(ended($polling), 'q', '... wait_any, too');
is(sql($unloaded, q(call scylla.wait('nothing', '1 ms'))), 'f', '... false when the time is over');
is(sql($unloaded, q(call scylla.wait_any('{nothing}', '1 ms'))), '', '... or null');
fails_with($unloaded, '25001', q(begin; call scylla.wait('q')), '... refused in a transaction');
$unloaded->stop;

done_testing();
