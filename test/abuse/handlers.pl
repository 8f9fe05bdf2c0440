# Handlers that misuse their server workers, at random: they hang, catch what interrupts them, end their process, recurse, return too much,
# change settings and roles, keep locks, listen, and leave whatever a session can keep. The tasks of others are run all the same, and find
# nothing of it. SCYLLA_TEST_SECONDS says for how long.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;
use Time::HiRes qw(sleep time);

my $seconds = $ENV{SCYLLA_TEST_SECONDS} // 20;
my $seed = $ENV{SCYLLA_TEST_SEED} // time;
srand $seed;
note "SCYLLA_TEST_SEED=$seed";
my $node = new_node('main', settings => "scylla.monitor = on\nmax_worker_processes = 30\nscylla.max_server_workers = 2\nscylla.handler_timeout = '1 s'\n"
	  . "scylla.max_handler_timeout = '3 s'\nlog_min_error_statement = panic\nfsync = off");
sql($node, 'create role bad login; create role worse login; create role good login; create database other');
my @databases = qw(postgres other);
for my $database (@databases)
{
	sql($node, q(create extension scylla), $database);
	wait_for_monitor($node, $database);
	sql($node, qq(create function raise_fatal() returns jsonb language c as '$ENV{SCYLLA_FAULTS}', 'raise_fatal';
		create function ignore_cancel() returns jsonb language c as '$ENV{SCYLLA_FAULTS}', 'ignore_cancel';) . q(
		grant usage on schema scylla to public; grant execute on all functions in schema scylla to public; grant create on schema public to public;
		-- What it finds of the handlers before it; null: nothing. The settings are those of its role.
		create function look(t scylla.task) returns jsonb language sql as $$
			select jsonb_build_object('settings', (select array_agg(name) from pg_settings where source = 'session' and name not in ('application_name')),
				'role', nullif(current_user || session_user, t.spec #>> '{}' || (t.spec #>> '{}')),
				'prepared', (select array_agg(name) from pg_prepared_statements where from_sql),
				'tables', (select array_agg(relname) from pg_class where relpersistence = 't' and pg_table_is_visible(oid)),
				'locks', (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()),
				'cursors', (select count(*) from pg_cursors where is_holdable),
				'channels', (select array_agg(c) from pg_listening_channels() c)) $$;
		create function recurse(n int) returns int language plpgsql as $$ begin return recurse(n + 1); end $$;
		create function misuse(t scylla.task) returns jsonb language plpgsql as $misuse$
		declare
			result jsonb;
		begin
			case t.spec ->> 0
				when 'hang' then perform pg_sleep(3600);
				when 'loop' then loop null; end loop;
				when 'catch' then
					loop begin perform pg_sleep(3600); exception when query_canceled then null; end; end loop;
				when 'catch all' then
					loop begin begin perform pg_sleep(3600); exception when others or query_canceled then perform pg_sleep(3600); end;
					exception when others or query_canceled then null; end; end loop;
				when 'ignore' then perform ignore_cancel();
				when 'raise' then raise 'raised';
				when 'fatal' then perform raise_fatal();
				when 'terminate' then perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(3600);
				when 'cancel' then perform pg_cancel_backend(pg_backend_pid()); perform pg_sleep(3600);
				when 'recurse' then perform recurse(1);
				when 'huge' then return to_jsonb(repeat('x', 80000000));
				when 'memory' then return to_jsonb((select array_agg(repeat('x', 1000)) from generate_series(1, 20000)));
				when 'timeouts' then
					perform set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false),
						set_config('idle_in_transaction_session_timeout', '0', false);
					perform pg_sleep(3600);
				when 'settings' then
					perform set_config('search_path', 'nowhere', false), set_config('work_mem', '64kB', false), set_config('TimeZone', 'Asia/Tokyo', false),
						set_config('default_transaction_read_only', 'on', false), set_config('default_transaction_isolation', 'serializable', false),
						set_config('session_replication_role', 'replica', false);
				when 'own timeout' then perform set_config('scylla.handler_timeout', '1 h', false); perform pg_sleep(3600);
				when 'role' then perform set_config('role', 'worse', false); perform pg_sleep(3600);
				when 'no role' then perform set_config('role', 'none', false), set_config('session_authorization', 'default', false);
				when 'locks' then perform pg_advisory_lock(n) from generate_series(1, 100) n;
				when 'lock and hang' then perform pg_advisory_lock(1); perform pg_sleep(3600);
				when 'listen' then execute 'listen channel'; perform pg_notify('channel', 'x');
				when 'prepare' then execute 'prepare left as select 1'; execute 'declare left cursor with hold for select 1';
				when 'temporary' then execute 'create temp table queue (name text); create temp view task as select 1 as id';
				when 'submit' then perform scylla.submit(t.queue, '["hang"]', max_attempts => 2);
				when 'raise its timeout' then perform scylla.alter_queue(t.queue, '{"run_timeout": "3 s"}'); perform pg_sleep(3600);
				when 'drop its queue' then perform scylla.drop_queue(t.queue, true); perform pg_sleep(3600);
				when 'pause its queue' then perform scylla.pause_queue(t.queue);
				when 'end its task' then perform scylla.complete(t.rn, t.owner, attempt => t.attempt); perform pg_sleep(3600);
				when 'cancel its task' then perform scylla.cancel(t.rn); perform pg_sleep(3600);
				when 'subtransactions' then
					loop begin perform 1 / 0; exception when others or query_canceled then null; end; end loop;
			end case;
			return null;
		end $misuse$;
		create function hangs(args jsonb) returns bigint[] language plpgsql as $$ begin perform pg_sleep(3600); return '{1}'; end $$;
		create function returns_one(args jsonb) returns bigint[] language sql as $$ select '{1}'::bigint[] $$;
		grant good, worse to bad;), $database);
	sql($node, q(set role bad; select scylla.create_queue('jobs'), scylla.define_job('job', 'jobs', '{"select_work": "returns_one"}');
		select scylla.schedule_job('schedule', '1 second', 'job'); select scylla.define_job('job', 'jobs', '{"select_work": "hangs"}');), $database);
}
sql($node, 'revoke good from bad');
my @misuses = ('hang', 'loop', 'catch', 'catch all', 'ignore', 'raise', 'fatal', 'terminate', 'cancel', 'recurse', 'huge', 'memory', 'timeouts', 'settings',
	'own timeout', 'role', 'no role', 'locks', 'lock and hang', 'listen', 'prepare', 'temporary', 'submit', 'raise its timeout', 'drop its queue', 'pause its queue',
	'end its task', 'cancel its task', 'subtransactions');
my @roles = ([qw(bad postgres)], [qw(bad other)], [qw(worse postgres)]);
my @victims = ([qw(good postgres)], [qw(good other)], [qw(bad postgres)], [qw(worse postgres)]);
sql($node, "set role $_->[0]; select scylla.create_queue('victim of $_->[0]', handler => 'public.look')", $_->[1]) for @victims;

# Misuse: now and then a few tasks for one of twelve queues, which are made again if they were dropped or paused.
sub misuse
{
	my ($role, $database) = @{ $roles[ rand @roles ] };
	my $queue = "$role " . int rand 4;
	my @tasks = map { "select scylla.submit('$queue', '[\"$misuses[rand @misuses]\"]', max_attempts => 2)" } 1 .. 1 + rand 4;
	$node->psql($database, "set client_min_messages = error; set role $role;
		do \$\$ begin perform scylla.create_queue('$queue', handler => 'public.misuse', default_timeout => '2 s', retry => '{\"initial\": \"0\"}');
		exception when duplicate_object then perform scylla.resume_queue('$queue'); end \$\$;" . join ';', @tasks);
}

# The victims, one task each at a time.
my (%since, %number, %longest);
my ($made, $trace) = (0, '');
sub look_at
{
	my ($victim) = @_;
	my ($role, $database) = @$victim;
	my $name = "$role of $database";
	my $rn = "$name " . ($number{$name} // 0);
	if ($since{$name})
	{
		my $found = sql($node, qq(select status || ' ' || jsonb_strip_nulls(result) from scylla.get_task('$rn')), $database);
		return if $found eq '';
		$trace .= "$rn: $found\n" if $found ne 'completed {"locks": 0, "cursors": 0}';
		my $took = time - delete $since{$name};
		$longest{$name} = $took if $took > ($longest{$name} // 0);
		$number{$name}++;
		$rn = "$name $number{$name}";
	}
	return 1 if $_[1];
	sql($node, "set role $role; select scylla.submit('victim of $role', '\"$role\"', rn => '$rn')", $database);
	$since{$name} = time;
	$made++;
	return;
}
my $end = time + $seconds;
while (time < $end)
{
	misuse();
	look_at($_) for @victims;
	sleep 0.05;
}
# The misuse goes on to its end while the last of them wait.
my $deadline = time + $PostgreSQL::Test::Utils::timeout_default;
my @waiting = @victims;
@waiting = grep { $since{"$_->[0] of $_->[1]"} && !look_at($_, 1) } @waiting while @waiting && time < $deadline && sleep 0.1;
is(join(', ', map { "$_->[0] of $_->[1]" } @waiting), '', "each of $made tasks of others is run, in another queue, role or database");
is($trace, '', '... and finds nothing of the misuse');
note sprintf '%s: %d tasks, at most %.1f s each', $_, $number{$_}, $longest{$_} for sort keys %longest;
my $misused = 0;
$misused += sql($node, q(select count(*) from scylla.task where attempt > 0 and queue ~ '^(bad|worse) '), $_) for @databases;
cmp_ok($misused, '>', 0, "... of $misused tasks");
checked($node, 'the tables are sound', $_) for @databases;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|leak:|was terminated by signal/, 'no process crashes, and nothing is left behind');
# The launcher ends what ignores its interrupts; a server that stops has none.
for my $database (@databases)
{
	sql($node, q(select count(scylla.drop_queue(queue, true)) from scylla.queue_settings where queue ~ '^(bad|worse) '), $database);
}
comes(sub { sql($node, q(select count(*) from scylla.stat_server_worker where queue is not null)) eq '0' }) or fail('the misuse is ended with its queues');
$node->stop;
done_testing();
