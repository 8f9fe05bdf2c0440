# Waiting with a monitor: gates that time out. How soon, what crashes and restores leave of it, and races of timing out against resolving
# and cancelling, with kills in between. Each task has one outcome, and it is one that the clock explains.
#
# SCYLLA_TEST_ROUNDS=100000 races that often.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $rounds = $ENV{SCYLLA_TEST_ROUNDS} // 300;

# The monitor looks by itself so rarely that only what commits tell it can explain what it does here.
my $node = new_node('main', settings => "scylla.monitor = on\nscylla.monitor_interval = 30min");
sql($node, 'create extension scylla');
wait_for_monitor($node, 'postgres');
sql($node, q(select scylla.create_queue('q'); select scylla.create_callback('never');));

sub submission
{
	my ($rn, $token, $timeout, $on_timeout) = @_;
	return qq(select scylla.submit('q', '1', rn => '$rn', wait_for => '[{"callback": "$token", "timeout": "$timeout", "on_timeout": "$on_timeout"}]'));
}
sub state { my ($rn) = @_; return sql($node, "select status || coalesce(' ' || (errors -> 0 ->> 'code'), '') from scylla.get_task('$rn')") }

# ---- how soon ----------------------------------------------------------------------------------------------------------

sql($node, submission('soon', 'never', '200 ms', 'abort'));
eventually($node, q(select status from scylla.get_task('soon')), 'aborted', 'a commit tells the monitor when a gate times out');
my $late = sql($node, q(select round(extract(epoch from updated - created) * 1000) - 200 from scylla.get_task('soon')));
cmp_ok($late, '>=', 0, 'not too early');
cmp_ok($late, '<', 30000, "nor much too late ($late ms)");
sql($node, q(select scylla.create_callback('expires', '300 ms'); select scylla.submit('q', '1', rn => 'expired', wait_for => '[{"callback": "expires"}]')));
eventually($node, q(select status from scylla.get_task('expired')), 'aborted', 'a callback that expires ends who waits for it');
sql($node, q(select scylla.submit('q', '1', rn => 'twice', wait_for =>
	'[{"callback": "never", "timeout": "50 ms", "on_timeout": "ignore"}, {"signal": "no", "timeout": "250 ms", "on_timeout": "skip"}]')));
eventually($node, q(select status from scylla.get_task('twice')), 'cancelled', 'several gates of a task time out one after the other');

# ---- crashes and prepared transactions ---------------------------------------------------------------------------------

sql($node, submission('crash', 'never', '1 h', 'abort'));
sql($node, q(update scylla.task_gate set deadline = now() - interval '1 s' where task = (select id from scylla.task_spec where rn = 'crash');
	update scylla.task_waiting set due = now() - interval '1 s' where id = (select id from scylla.task_spec where rn = 'crash');));
$node->stop('immediate');
$node->start;
eventually($node, q(select status from scylla.get_task('crash')), 'aborted', 'what should have timed out during a crash does so afterwards');
sql($node, 'begin; ' . submission('prepared', 'never', '10 ms', 'abort') . q(; prepare transaction 'p'));
sql($node, q(commit prepared 'p'));
is(state('prepared'), 'waiting', 'the commit of a prepared transaction tells nobody');
$node->stop('immediate');
$node->start;
wait_for_monitor($node, 'postgres');
eventually($node, q(select status from scylla.get_task('prepared')), 'aborted', 'the monitor looks by itself');
sql($node, 'begin; ' . submission('maintained', 'never', '10 ms', 'abort') . q(; prepare transaction 'p'));
sql($node, q(commit prepared 'p'; select pg_sleep(0.02); select scylla.maintain()));
is(state('maintained'), 'aborted dependency-timeout', 'or maintain() does');

# A dump has the times.
sql($node, submission('dumped', 'never', '1 h', 'abort'));
my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, 'postgres' ], 'a dump');
sql($node, 'create database restored');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', 'restored', '-f', $dump ], 'is restored');
my $rows = q(select g.deadline, g.on_timeout, w.due, w.expiring from scylla.task_spec s join scylla.task_gate g on g.task = s.id
	join scylla.task_waiting w on w.id = s.id where rn = 'dumped');
is(sql($node, $rows, 'restored'), sql($node, $rows), 'with the same times');
checked($node, 'check() finds nothing in it', 'restored');
wait_for_monitor($node, 'restored');
sql($node, q(update scylla.task_gate set deadline = now() - interval '1 s' where deadline > now(); update scylla.task_waiting set due = now() - interval '1 s'), 'restored');
sql($node, q(select scylla.maintain()), 'restored');
is(sql($node, q(select status from scylla.get_task('dumped')), 'restored'), 'aborted', 'and the gate times out there');
sql($node, q(select scylla.cancel('dumped')));

# ---- races -------------------------------------------------------------------------------------------------------------

# One session submits tasks whose gates time out after some milliseconds; another resolves at about that time, and cancels some. The
# monitor is killed now and then, which restarts the server.
sql($node, q(
	create table resolved (n int primary key, in_time boolean);
	create procedure race(me int, seed float8, first int, rounds int) language plpgsql as $$
	declare
		modes text[] := '{abort, skip, ignore}';
		done int;
	begin
		perform setseed(seed);
		for n in first .. first + rounds - 1 loop
			if me = 1 then
				-- Not ahead of the other, for whom the time of the gates is counted in milliseconds.
				for turn in 1 .. 2000 loop
					done := n - 2;
					exit when done < first or exists (select from resolved r where r.n = done);
					perform pg_sleep(0.0005);
					commit;
				end loop;
				perform scylla.create_callback('c' || n);
				perform scylla.submit('q', '1', rn => 'r' || n, wait_for => jsonb_build_array(
					jsonb_build_object('callback', 'c' || n, 'timeout', (1 + floor(random() * 4)) || ' ms', 'on_timeout', modes[1 + n % 3]),
					jsonb_build_object('callback', 'c' || n - n % 2, 'timeout', '4 ms', 'on_timeout', 'ignore')));
			else
				for turn in 1 .. 2000 loop
					exit when exists (select from scylla.task_callback where token = 'c' || n);
					perform pg_sleep(0.0005);
					commit;
				end loop;
				perform pg_sleep(random() * 0.006);
				if n % 7 = 0 then
					begin perform scylla.cancel('r' || n); exception when others then null; end;
				end if;
				insert into resolved select n, scylla.resolve_callback('c' || n, to_jsonb(n)) on conflict do nothing;
				if random() < 0.3 then perform pg_sleep(random() * 0.004); end if;
			end if;
			commit;
		end loop;
	end $$;));
sub race
{
	my ($seed, $first, $count, $kill) = @_;
	my @sessions = side_by_side($node, map { "call race($_, 0.$seed$_, $first, $count)" } 1, 2);
	if ($kill)
	{
		select undef, undef, undef, 0.2 + rand 0.3;
		$node->stop('immediate');
		$_->{run}->finish for @sessions;
		$node->start;
		return;
	}
	raced(\@sessions, "$count races from $first on");
}
my $wrong = q(
	select string_agg(t.rn || ' ' || t.status || ' ' || t.args || ' ' || t.errors, '; ') from scylla.task t
	where t.rn ~ '^r\d' and not case t.status
		when 'ready' then true
		when 'aborted' then t.errors -> 0 ->> 'code' = 'dependency-timeout' and substr(t.rn, 2)::int % 3 = 0
		when 'cancelled' then (t.errors -> 0 ->> 'code' = 'dependency-timeout' and substr(t.rn, 2)::int % 3 = 1)
			or (t.errors = '[]' and substr(t.rn, 2)::int % 7 = 0)
		else false end);
my $waiting = q(select count(*) from scylla.task where rn ~ '^r\d' and status = 'waiting');
srand(17);
race(1, 2, $rounds, 0);
eventually($node, $waiting, '0', 'every task has an outcome');
is(sql($node, $wrong), '', 'one that the clock explains');
is(sql($node, q(select count(*) from scylla.task where rn ~ '^r\d')), $rounds, 'and every task is there');
cmp_ok(sql($node, q(select count(distinct status) from scylla.task where rn ~ '^r\d')), '==', 3, 'of every kind');
my $raced = q(select count(*) filter (where status = 'ready' and args -> 0 <> 'null'), count(*) filter (where errors -> 0 ->> 'code' = 'dependency-timeout')
	from scylla.task where rn ~ '^r\d');
my ($resolved, $timed_out) = split /\|/, sql($node, $raced);
cmp_ok($resolved, '>', $rounds / 100, "many are resolved in time ($resolved)");
cmp_ok($timed_out, '>', $rounds / 100, "and many are not ($timed_out)");
checked($node, 'check() finds nothing');
for my $kill (1 .. 3)
{
	race(1 + $kill, $kill * 1000000, $rounds * 10, 1);
	wait_for_monitor($node, 'postgres');
	eventually($node, $waiting, '0', "after crash $kill every task has an outcome");
	is(sql($node, $wrong), '', 'one that the clock explains');
	checked($node, 'check() finds nothing');
}

$node->stop;
done_testing();
