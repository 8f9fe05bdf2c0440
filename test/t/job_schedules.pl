# Schedules of jobs where the monitor ticks: a server worker runs each, as the role that has it. So a function that selects ids and takes
# its time is in nobody else's way.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $node = new_node('main', settings => "scylla.monitor = on\nmax_worker_processes = 16\nscylla.max_server_workers = 2");
my $dump = PostgreSQL::Test::Utils::tempdir . '/dump';
sql($node, 'create extension scylla');
wait_for_monitor($node, 'postgres');
sql($node, q(
	create role a login; create role b login; create role nobody nologin;
	grant usage on schema scylla to a, b, nobody;
	grant execute on all functions in schema scylla to a, b, nobody;
	grant select on scylla.schedules, scylla.job_plan to a;
	create function wait_for_it(args jsonb) returns bigint[] language plpgsql as $$
	begin
		while not pg_try_advisory_xact_lock_shared(7) loop perform pg_sleep(0.01); end loop;
		return '{1}';
	end $$;
	create function who(args jsonb) returns bigint[] language plpgsql as $$
	begin
		if current_user <> 'b' or session_user <> 'a' or current_setting('statement_timeout') <> '1min' then
			raise 'called as % by %', current_user, session_user;
		end if;
		return '{1, 2}';
	end $$;
	alter role a set statement_timeout = '1 min';
	select scylla.create_queue('q');
	select scylla.grant_queue('q', r, 'submit') from unnest('{a, b, nobody}'::text[]) r;
	set role a; select scylla.define_job('mine', 'q'), scylla.define_job('slow', 'q', '{"select_work": "wait_for_it"}');
	set role b; select scylla.define_job('who', 'q', '{"select_work": "who"}');));
my $workers = q(select count(*) from pg_stat_activity where backend_type = 'scylla worker');

# ---- as whom -----------------------------------------------------------------------------------------------------------

sql($node, q~set role a; select scylla.schedule_job('mine', '1 second', 'mine', '{[1,3)}', planned_key => 'at')~);
eventually($node, q(select count(*) > 1 from scylla.job_plan where plan ~ '^mine/'), 't', 'a worker runs a schedule of a job, again and again');
is(sql($node, q(select distinct owner from scylla.plan where name ~ '^mine/')), 'a', '... as the role that has it');
is(sql($node, q(select bool_and(plan = 'mine/' || (args ->> 'at')) from scylla.job_plan where plan ~ '^mine/')), 't', '... with the planned time');
is(sql($node, q(select max(resolved - (args ->> 'at')::timestamptz) < '1 s', (select last_error from scylla.schedules) from scylla.job_plan where plan ~ '^mine/')),
	't|', '... and is not late');
is(sql($node, q(select count(*) - count(distinct args ->> 'at') from scylla.job_plan where plan ~ '^mine/')), '0', '... once for each planned time');
sql($node, q(select scylla.unschedule('mine')));
# schedule_job() tries it in its own session.
sub without_ids { return sql($node, "begin; $_[0]; reset role; update scylla.schedule set task = task - 'ids'; commit"); }
without_ids(q!set role a; select scylla.schedule_job('who', '1 second', 'who', '{[1,2)}', overlap => 'skip')!);
eventually($node, q(select ids from scylla.job_plan where plan ~ '^who/'), '{[1,3)}', 'select_work is called in its session, as the owner of the job');
is(sql($node, q(select last_error from scylla.schedules where name = 'who')), '', '... without an error');
sql($node, q(select scylla.unschedule('who')));

# ---- who is in the way -------------------------------------------------------------------------------------------------

my $holder = $node->background_psql('postgres');
$holder->query_safe('select pg_advisory_lock(7)');
without_ids(q!set role a; select scylla.schedule_job('slow ' || i, '1 second', 'slow', '{[1,2)}') from generate_series(1, 3) i!);
eventually($node, q(select count(*) from pg_stat_activity where backend_type = 'scylla worker' and application_name ~ '^slow [123]$'), '1',
	'a function that waits makes a worker wait, which shows for which schedule');
sql($node, q~set role b; select scylla.schedule('ordinary', '1 second', 'q', '1'), scylla.schedule_job('other', '1 second', 'who', '{[1,2)}')~);
eventually($node, q(select count(*) > 1 from scylla.task where rn ~ '^ordinary/'), 't', 'other schedules come meanwhile');
eventually($node, q(select count(*) > 1 from scylla.job_plan where plan ~ '^other/'), 't', '... those of jobs, too, of other roles');
sql($node, q(select scylla.submit('q', '1', rn => 'due', not_before => clock_timestamp() + '10 ms')));
eventually($node, q(select status from scylla.task where rn = 'due'), 'ready', '... and a task that is due becomes ready');
is(sql($node, q(select sum(runs) from scylla.schedules where name ~ '^slow')), '0', 'while the slow ones still wait');
sql($node, q(select pg_cancel_backend(pid) from pg_stat_activity where backend_type = 'scylla worker' and application_name ~ '^slow'));
eventually($node, q(select last_error from scylla.schedules where name ~ '^slow' and last_error is not null limit 1), '57014: canceling statement due to user request',
	'pg_cancel_backend() is an error of the schedule');
sql($node, q(alter role a set statement_timeout = '100 ms'));
sql($node, q(select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'scylla worker' and usename = 'a'));
eventually($node, q(select last_error from scylla.schedules where name = 'slow 2'), '57014: canceling statement due to statement timeout', '... and so is statement_timeout');
# Without it from now on, so that a slow machine has time.
sql($node, q(alter role a reset statement_timeout));
sql($node, q(select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'scylla worker' and usename = 'a'));
$holder->query_safe('select pg_advisory_unlock(7)');
$holder->quit;
eventually($node, q(select bool_and(runs > 0 and last_error is null) from scylla.schedules where name ~ '^slow'), 't', 'all are run as soon as they can');
sql($node, q(select scylla.unschedule(name) from scylla.schedules));

# ---- roles and workers that are not there ------------------------------------------------------------------------------

my ($status, $out, $err) = $node->psql('postgres', q!set role nobody; select scylla.schedule_job('of nobody', '1 second', 'mine', '{[1,3)}')!);
is($status, 0, 'a role that may not log in can have such a schedule');
like($err, $node->pg_version < 17 ? qr/WARNING:  no server worker can run the schedule "of nobody"\nDETAIL:  Before PostgreSQL 17,/ : qr/^$/, '... with a warning before 17');
sql($node, q(select scylla.unschedule('of nobody')));
sql($node, q(alter system set scylla.max_server_workers = 0)); $node->reload;
eventually($node, 'show scylla.max_server_workers', '0', 'without workers');
($status, $out, $err) = $node->psql('postgres', q!set role a; select scylla.schedule_job('by hand', '1 second', 'mine', '{[1,3)}')!);
like($err, qr/DETAIL:  The setting "scylla.max_server_workers" is 0/, '... there is a warning');
eventually($node, q(select next_run < clock_timestamp() from scylla.schedules where name = 'by hand'), 't', '... nothing runs it');
is(sql($node, q(set role a; select scylla.run_schedules() > 0)), 't', '... but run_schedules() does');
sql($node, q(select scylla.unschedule('by hand')));
sql($node, q(alter system reset scylla.max_server_workers)); $node->reload;
sql($node, q!set role b; select scylla.schedule_job('gone', '1 second', 'mine', '{[1,3)}'); reset role; update scylla.schedule set owner = 'no such role'!);
eventually($node, q(select last_error from scylla.schedules), '42704: role "no such role" does not exist', 'the monitor says that a role is gone');
sql($node, q(select scylla.unschedule('gone')));

# ---- dump and restore --------------------------------------------------------------------------------------------------

sql($node, q~set role a; select scylla.schedule_job('kept', '1 second', 'mine', '{[1,3),[7,9)}', '{"x": 1}', jitter => '1 ms', planned_key => 'at', options => '{"variant": "v"}')~);
my $kept = q(select name, owner, cron, job, ids, args, options, jitter, planned_key from scylla.schedules);
my $before = sql($node, $kept);
$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, $node->connstr('postgres') ], 'pg_dump');
sql($node, 'create database restored');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('restored'), $dump ], 'pg_restore');
is(sql($node, $kept, 'restored'), $before, 'a restored schedule is the same');
is(sql($node, 'select armed from scylla.schedules', 'restored'), 'f', '... and sleeps');
is(sql($node, 'select scylla.arm_schedules()', 'restored'), '1', '... until it is armed');
wait_for_monitor($node, 'restored');
my $runs = sql($node, 'select count(*) from scylla.job_plan', 'restored');
eventually($node, "select count(*) > $runs and bool_or(variant = 'v' and ids = '{[1,3),[7,9)}') from scylla.job_plan", 't', '... then it runs', 'restored');
sql($node, q(select scylla.unschedule('kept')), $_) for 'postgres', 'restored';
checked($node, 'check() finds nothing', $_) for 'postgres', 'restored';
$node->stop;
done_testing;
