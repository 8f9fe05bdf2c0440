# The slots of server workers are shared: no queue, role or database keeps all of them while another has none. A call takes no longer than
# it may, whatever its handler catches, and who holds the slots is shown.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $node = new_node('main', settings => "scylla.monitor = on\nmax_worker_processes = 30\nscylla.max_server_workers = 2");
sub setting { sql($node, "alter system set $_[0]"); sql($node, 'select pg_reload_conf()') }
my $objects = q(
	create function hang(t scylla.task) returns jsonb language plpgsql as $$ begin perform pg_sleep(3600); return null; end $$;
	create function quick(t scylla.task) returns jsonb language sql as $$ select '1'::jsonb $$;
	grant usage on schema scylla to a, b, c;
	grant execute on all functions in schema scylla to a, b, c;
	grant select on scylla.stat_server_worker to a, b, c;);
sql($node, 'create role a login; create role b login; create role c login; create database other');
for my $database (qw(postgres other))
{
	sql($node, "create extension scylla; $objects", $database);
	wait_for_monitor($node, $database);
	sql($node, "set role $_; select scylla.create_queue('$_', handler => 'public.quick'), scylla.create_queue('$_ hangs', handler => 'public.hang'),
		scylla.create_queue('$_ hangs too', handler => 'public.hang')", $database) for qw(a b c);
}
my $calls = q(select count(*) from scylla.stat_server_worker where queue is not null and queue <> 'never_checks');
my $number = 0;
sub submit
{
	my ($queue, $database) = @_;
	my $rn = 'task ' . ++$number;
	sql($node, "select from scylla.submit('$queue', '1', rn => '$rn')", $database);
	return $rn;
}
sub victim_is_run
{
	my ($queue, $name, $database) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $rn = submit($queue, $database);
	eventually($node, "select status from scylla.get_task('$rn')", 'completed', $name, $database);
}
sub end_hangs
{
	for my $database (qw(postgres other))
	{
		sql($node, q(select count(*) from scylla.cancel_many('{}')), $database);
	}
	eventually($node, $calls, '0', '(the calls end)');
}
sub hang
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($count, @queues) = @_;
	submit(@$_) for @queues;
	eventually($node, $calls, $count, "all $count server workers hang");
}

# ---- two slots -----------------------------------------------------------------------------------------------------------

hang(2, ['a hangs'], ['a hangs']);
victim_is_run('a', 'a queue does not keep both slots from another queue of its role');
eventually($node, $calls, '2', '... after which it has both again');
is(sql($node, q(select min(failures) || ' to ' || max(failures), count(*) from scylla.task where queue = 'a hangs' and status = 'running')), '0 to 0|2', '... and none of its calls has failed');
victim_is_run('b', '... nor from another role');
victim_is_run('b', '... nor from another database', 'other');
victim_is_run('a', '... even of the same role', 'other');
sql($node, q(create function selects_nothing(args jsonb) returns bigint[] language sql as $$ select '{}'::bigint[] $$;
	create function selects_for_ever(args jsonb) returns bigint[] language plpgsql as $$ begin perform pg_sleep(3600); return '{}'; end $$;));
sql($node, q(select scylla.create_queue('jobs'); select scylla.grant_queue('jobs', 'b', 'submit'); grant select on scylla.schedules to b;
	set role b; select scylla.define_job('job', 'jobs', '{"select_work": "selects_nothing"}');
	select scylla.schedule_job('schedule', '1 second', 'job')));
eventually($node, q(select runs > 1 from scylla.schedules where name = 'schedule'), 't', '... nor from the schedules of jobs');
sql($node, q(set role b; select scylla.unschedule('schedule')));
end_hangs();
hang(2, ['a hangs'], ['a hangs too']);
victim_is_run('b', 'a role with two queues does not keep both slots');
end_hangs();
hang(2, ['a hangs'], [ 'a hangs', 'other' ]);
victim_is_run('b', '... nor does a role in two databases');
end_hangs();
hang(2, ['a hangs'], ['b hangs']);
victim_is_run('c', 'a database does not keep both slots', 'other');
my $rn = submit('c');
eventually($node, "select waits_for, detail ~ 'All server workers are busy since .*scylla.max_server_workers is 2' from scylla.explain_waiting('$rn')", 'a server worker|t',
	'who has one slot keeps it: what waits then is told that all are busy');
is(sql($node, qq(select detail ~ 'task "task [0-9]+" of queue "a hangs" since .*', detail ~ 'task "task [0-9]+" of queue "b hangs" since .*' from scylla.explain_waiting('$rn'))),
	't|t', '... with what, for a superuser');
is(sql($node, qq(set role c; select detail from scylla.explain_waiting('$rn'))) =~ /: 2 of other roles or databases\./ ? 1 : 0, 1, '... and not for others');
is(sql($node, qq(grant a to c; set role c; select detail from scylla.explain_waiting('$rn'))) =~ /: task "task \d+" of queue "a hangs" since [^,]*, and 1 of other roles/ ? 1 : 0, 1, '... but for members of their roles');
sql($node, 'revoke a from c');
is(sql($node, q(select database, role, state, queue, task ~ '^task', job, since < now() from scylla.stat_server_worker where queue is not null order by role)),
	"postgres|a|running|a hangs|t||t\npostgres|b|running|b hangs|t||t", 'stat_server_worker shows what each does');
is(sql($node, q(set role a; select role, queue from scylla.stat_server_worker where queue is not null)), 'a|a hangs', '... to its role, and to no other');
is(sql($node, q(select database, role, queue from scylla.stat_server_worker where queue is not null order by role), 'other'),
	"postgres|a|a hangs\npostgres|b|b hangs", '... in each database');
my @metrics = split /\n/, sql($node, q(select line from regexp_split_to_table(scylla.metrics(), '\n') line where line ~ '^pgscylla_server_workers'));
is("@metrics[0 .. 2]", 'pgscylla_server_workers{state="calling"} 2 pgscylla_server_workers{state="other"} 0 pgscylla_server_workers_limit 2', 'metrics() counts them');
like($metrics[3], qr/^pgscylla_server_workers_busy_seconds (?!0$)[0-9.]+$/, '... and tells how long all have been busy');
is(sql($node, "select status from scylla.get_task('$rn')"), 'ready', 'the task still waits');

# ---- how long a call takes -----------------------------------------------------------------------------------------------

setting(q(scylla.handler_timeout = '1 s'));
eventually($node, "select status from scylla.get_task('$rn')", 'completed', 'scylla.handler_timeout counts for calls that go on: they make room');
eventually($node, q(select count(*) > 1, max(errors -> 0 ->> 'code'), max(errors -> 0 ->> 'message') from scylla.task where queue ~ 'hangs' and failures > 0),
	't|run-timeout|the run took longer than scylla.handler_timeout; a longer run_timeout of its queue allows more', '... and fail, with an error that says why');
end_hangs();
sql($node, q(set role a; select scylla.create_queue('raised', handler => 'public.hang', run_timeout => '1 h')));
hang(2, ['raised'], ['raised']);
is(sql($node, q(select count(*) from scylla.task where queue = 'raised' and failures > 0)), '0', 'a queue may raise it');
sql($node, q(select pg_sleep(2)));
is(sql($node, q(select count(*) from scylla.task where queue = 'raised' and failures > 0)), '0', '... for as long as it says');
victim_is_run('b', '... which keeps both slots from nobody');
eventually($node, $calls, '2', 'both slots are taken again');
setting(q(scylla.max_handler_timeout = '1 s'));
eventually($node, q(select count(*) from scylla.task where queue = 'raised' and errors -> 0 ->> 'code' = 'run-timeout'), '2', '... up to scylla.max_handler_timeout');
setting(q(scylla.max_handler_timeout = '1 h'));
fails_with($node, '22023', q(set role a; select scylla.create_queue('more', handler => 'public.hang', run_timeout => '2 h')), 'a queue cannot raise it further');
fails_with($node, '22023', q(set role a; select scylla.alter_queue('raised', '{"run_timeout": "61 min"}')), '... when it is altered');
sql($node, q(set role a; select scylla.create_queue('later', run_timeout => '2 h')));
fails_with($node, '22023', q(set role a; select scylla.alter_queue('later', '{"handler": "public.hang"}')), '... or gets a handler');
end_hangs();

# Handlers that catch what interrupts them.
sql($node, qq(create function ignores(t scylla.task) returns jsonb language c as '$ENV{SCYLLA_FAULTS}', 'ignore_cancel';
	create function never_checks(t scylla.task) returns jsonb language c as '$ENV{SCYLLA_FAULTS}', 'never_check';) . q(
	create function catches(t scylla.task) returns jsonb language plpgsql as $$
	begin
		perform set_config('statement_timeout', '0', false), set_config('scylla.handler_timeout', '1 h', false);
		loop
			begin perform pg_sleep(3600); exception when query_canceled then null; end;
		end loop;
	exception when cant_change_runtime_param then
		loop
			begin perform pg_sleep(3600); exception when query_canceled then null; end;
		end loop;
	end $$;));
sql($node, "set role a; select scylla.create_queue('$_', handler => 'public.$_', max_attempts => 1)") for qw(ignores catches);
for my $queue (qw(catches ignores))
{
	my $catches = submit($queue);
	eventually($node, "select status, errors -> -1 ->> 'code' from scylla.get_task('$catches')", 'aborted|run-timeout', "the task of a handler that $queue interrupts fails");
	eventually($node, $calls, '0', '... and its process ends');
	victim_is_run('a', '... which keeps nobody from the slots');
}
setting('scylla.max_server_workers = 1');
sql($node, "set role a; select scylla.create_queue('never_checks', handler => 'public.never_checks', max_attempts => 1)");
submit('never_checks');
submit('a hangs');
victim_is_run('b', 'a handler that never checks for interrupts holds no slot for ever');
victim_is_run('c', 'with one slot, roles and databases take turns', 'other');
eventually($node, qq(select state from scylla.stat_server_worker where queue = 'never_checks'), 'stopping', '... and is shown as what should have ended');
is(sql($node, q(select scylla.alter_queue('a hangs', '{"max_attempts": 1}'))), '', '(the hanging task is not tried again)');
setting('scylla.max_server_workers = 2');

# ---- select_work -------------------------------------------------------------------------------------------------------

my ($status, undef, $err) = $node->psql('postgres', q(set role b; select scylla.define_job('slow', 'jobs', '{"select_work": "selects_for_ever"}'); select scylla.schedule_job('slow schedule', '1 second', 'slow')));
like($err, qr/ERROR:  select_work of job "slow" took longer than scylla.handler_timeout \(1s\)/, 'schedule_job() calls select_work no longer than a schedule would');
sql($node, q(create or replace function selects_for_ever(args jsonb) returns bigint[] language sql as $$ select '{1}'::bigint[] $$));
sql($node, q(set role b; select scylla.schedule_job('slow schedule', '1 second', 'slow')));
sql($node, q(create or replace function selects_for_ever(args jsonb) returns bigint[] language plpgsql as $$ begin perform pg_sleep(3600); return '{}'; end $$));
eventually($node, q(select role, state, job, schedule from scylla.stat_server_worker where job is not null), 'b|running|slow|slow schedule', 'a schedule that runs is shown, with its job');
eventually($node, q(select last_error from scylla.schedules where name = 'slow schedule'), '57014: it took longer than scylla.handler_timeout (1s)', '... and takes no longer than a handler');
sql($node, q(set role b; select scylla.unschedule('slow schedule')));

# ---- more slots ----------------------------------------------------------------------------------------------------------

end_hangs();
setting(q(scylla.handler_timeout = '1h'));
setting('scylla.max_server_workers = 8');
hang(8, map { ['a hangs'] } 1 .. 12);
submit('b hangs') for 1 .. 12;
my $shares = q(select string_agg(role || ' ' || n, ', ' order by role) from (select role, count(*) n from scylla.stat_server_worker where queue ~ 'hangs' group by role) r);
eventually($node, $shares, 'a 4, b 4', 'two roles get half of the slots each');
submit('c hangs') for 1 .. 12;
eventually($node, q(select count(*) >= 2 from scylla.stat_server_worker where role = 'c' and queue ~ 'hangs'), 't', '... and a third role gets its share');
victim_is_run('a', '... and so does a database without any', 'other');
is(sql($node, q(select sum(failures) from scylla.task where queue in ('a hangs', 'b hangs', 'c hangs') and status = 'running')), '0', '... without a failure');
checked($node, 'the tables are sound');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|leak:/, 'nothing is left behind');
$node->stop('immediate'); # one handler never checks for interrupts
done_testing();
