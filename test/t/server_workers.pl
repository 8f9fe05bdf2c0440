# Server workers: processes that call the handlers of queues as the owners of these. They start on demand, take turns, and get out of
# the way; a call is interrupted when its task is cancelled, the server stops or the database is dropped.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $node = new_node('main', settings => "scylla.monitor = on\nmax_worker_processes = 16\nscylla.max_server_workers = 2\nscylla.max_value_size = 100kB");
sql($node, 'create extension scylla');
wait_for_monitor($node, 'postgres');

my $handler = q(
	create function run(t scylla.task) returns jsonb language plpgsql as $run$
	declare
		result jsonb;
	begin
		execute t.spec ->> 0 into result using t;
		return result;
	end $run$;);
sql($node, $handler . q(
	grant create on schema public to public;
	create role a login; create role b login; create role c login;
	grant usage on schema scylla to a, b, c;
	grant execute on all functions in schema scylla to a, b, c;
	create table note (what text); grant all on note to public;));
sql($node, "set role $_; select scylla.create_queue('$_', handler => 'run', retry => '{\"initial\": \"0\"}')") for qw(a b c);

sub submit
{
	my ($queue, $rn, $sql, $options) = @_;
	sql($node, "select scylla.submit('$queue', to_jsonb(array[\$sql\$$sql\$sql\$]), rn => '$rn'" . ($options // '') . ')');
}
sub ends
{
	my ($rn, $expected, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	eventually($node, "select status, result, attempt, failures, errors -> -1 ->> 'code' from scylla.get_task('$rn')", $expected, $name);
}
my $workers = q(select count(*) from pg_stat_activity where backend_type = 'scylla worker');
# The holder of a lock makes handlers wait.
my $holder = $node->background_psql('postgres');
my $wait = 'select to_jsonb(pg_advisory_xact_lock_shared(7)::text)';
sub waiting
{
	my ($rn) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	eventually($node, "select wait_event, usename from pg_stat_activity where backend_type = 'scylla worker' and application_name = '$rn'",
		'advisory|a', "$rn is shown as application_name while it is called");
}

# ---- as whom -----------------------------------------------------------------------------------------------------------

submit('a', 'who', q(select jsonb_build_array(current_user, session_user, current_setting('is_superuser'))));
ends('who', 'completed|["a", "a", "off"]|1|0|', 'a worker starts, and is the owner of the queue through and through');
is(sql($node, q(select usename, datname from pg_stat_activity where backend_type = 'scylla worker')), 'a|postgres', 'as pg_stat_activity shows');
my $shown = q(select role, state, queue, task, since between pg_postmaster_start_time() and clock_timestamp(), pid = (select pid from pg_stat_activity
	where backend_type = 'scylla worker') from scylla.stat_server_worker);
eventually($node, $shown, 'a|idle|||t|t', 'stat_server_worker shows a worker that has found nothing to do');
$holder->query_safe('select pg_advisory_lock(7)');
submit('a', 'shown', $wait);
eventually($node, $shown, 'a|running|a|shown|t|t', '... and one that calls a handler');
is(sql($node, q(select w.worker = 'scylla-worker-' || s.pid, w.queue, w.leases from scylla.stat_worker w, scylla.stat_server_worker s)), 't|a|1', '... and so does stat_worker');
is(sql($node, 'select server_workers from scylla.stat_monitor'), '1', '... and stat_monitor');
my $since = sql($node, 'select since from scylla.stat_server_worker');
sql($node, 'grant select on scylla.stat_server_worker to a, b; grant execute on function scylla._server_workers to a, b');
is(sql($node, 'set role a; select role, task from scylla.stat_server_worker'), 'a|shown', '... to its role');
is(sql($node, 'set role b; select count(*) from scylla.stat_server_worker'), '0', '... and to nobody else');
sql($node, q(set role a; select scylla.grant_queue('a', 'b', 'view')));
is(sql($node, 'set role b; select task from scylla.stat_server_worker'), 'shown', '... but those who may view its queue');
sql($node, q(set role a; select scylla.revoke_queue('a', 'b', 'view')));
is(sql($node, 'select since from scylla.stat_server_worker'), $since, '... since when it calls it');
$holder->query_safe('select pg_advisory_unlock(7)');
ends('shown', 'completed|""|1|0|', '... until it is done');
eventually($node, $shown, 'a|idle|||t|t', '... and it is idle again');
sql($node, q(alter role b set search_path = nowhere, public; alter role b set statement_timeout = '200 ms'; alter role b set lock_timeout = '1 h'));
submit('b', 'settings', q(select jsonb_build_array(current_setting('search_path'), current_setting('lock_timeout'))));
ends('settings', 'completed|["nowhere, public", "1h"]|1|0|', 'the settings are those of the role');
submit('b', 'slow', 'select to_jsonb(pg_sleep(60)::text)', ', max_attempts => 1');
ends('slow', 'aborted||1|1|sqlstate-57014', 'statement_timeout holds for each call');
submit('b', 'reset', 'select to_jsonb(7)');
ends('reset', 'completed|7|1|0|', '... and for that call only');

# Nothing of a task is left for the next one.
sql($node, q(create function leave_traces() returns jsonb language plpgsql as $$
	begin
		create temp table trace as select 1; prepare trace as select 1; perform pg_advisory_lock(8);
		perform set_config('work_mem', '1MB', false); perform set_config('x.y', 'trace', false); perform pg_advisory_lock(9);
		execute 'declare trace cursor with hold for select 1';
		return '1';
	end $$;
	create function traces() returns jsonb language sql as $$
		select jsonb_build_array((select count(*) from pg_prepared_statements where name = 'trace'), to_regclass('pg_temp.trace') is null,
			0, (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()),
			current_setting('work_mem'), coalesce(current_setting('x.y', true), ''), (select count(*) from pg_cursors), current_user) $$;
	grant a to c;));
submit('c', 'traces', 'select leave_traces()');
ends('traces', 'completed|1|1|0|', 'a task leaves traces in the session');
submit('c', 'role', q(select to_jsonb(set_config('role', 'a', false))));
submit('c', 'no traces', 'select traces()');
ends('no traces', 'completed|[0, true, 0, 0, "4MB", "", 0, "c"]|1|0|', 'the next task finds no trace of those before it');

# ---- how many ----------------------------------------------------------------------------------------------------------

$holder->query_safe('select pg_advisory_lock(7)');
submit('a', 'long', $wait);
waiting('long');
submit('a', 'beside', 'select to_jsonb(5)');
ends('beside', 'completed|5|1|0|', 'a task does not wait for the only worker of its role, which is busy');
is(sql($node, q(select status from scylla.get_task('long'))), 'running', '... and goes on being so');
$holder->query_safe('select pg_advisory_unlock(7)');
ends('long', 'completed|""|1|0|', '... to its end');
$holder->query_safe('select pg_advisory_lock(7)');
submit('a', "many $_", $wait) for 1 .. 5;
eventually($node, qq($workers and wait_event = 'advisory'), '2', 'so many workers as scylla.max_server_workers, and no more');
submit('b', 'other', 'select to_jsonb(1)');
$holder->query_safe('select pg_advisory_unlock(7)');
ends('other', 'completed|1|1|0|', 'a role without a worker gets one');
# One of them may have been interrupted for that, if it was called long before.
eventually($node, "select count(*) from scylla.task where rn ~ '^many' and status = 'completed' and failures = 0", '5', '... and all tasks of the other role are run');
# Turns: three roles, all with more tasks than there are workers.
sql($node, "select scylla.submit_bulk('$_', array_fill(to_jsonb(array['select to_jsonb(pg_sleep(0.01)::text)']), array[150]))") for qw(a b c);
eventually($node, "select count(*) from scylla.task where status in ('ready', 'running')", '0', 'roles take turns until all is done');
is(sql($node, "select max(attempt) from scylla.task where rn !~ '^many'"), '1', '... and nobody is interrupted for that');

# ---- interrupts --------------------------------------------------------------------------------------------------------

$holder->query_safe('select pg_advisory_lock(7)');
submit('a', 'cancelled', "with n as (insert into note values ('cancelled')) $wait");
waiting('cancelled');
sql($node, q(select scylla.cancel('cancelled')));
eventually($node, qq($workers and wait_event = 'advisory'), '0', 'cancelling a task interrupts its handler');
is(sql($node, 'select count(*) from note'), '0', '... and undoes what it did');
ends('cancelled', 'cancelled||1|0|', '... and that is all');

submit('a', 'stopped by hand', $wait, ', max_attempts => 1');
waiting('stopped by hand');
sql($node, q(select pg_cancel_backend(pid) from pg_stat_activity where application_name = 'stopped by hand'));
ends('stopped by hand', 'aborted||1|1|sqlstate-57014', 'pg_cancel_backend() is an error of the handler');

submit('a', 'terminated', $wait, ', max_attempts => 1');
waiting('terminated');
sql($node, q(select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'terminated'));
ends('terminated', 'aborted||1|1|sqlstate-57014', '... and so is the end of its process');

sql($node, q(select scylla.alter_queue('a', '{"default_timeout": "100 ms"}')));
sql($node, qq(create function fatal() returns jsonb language c as '$ENV{SCYLLA_FAULTS}', 'raise_fatal'));
submit('a', 'fatal', "with n as (insert into note values ('fatal')) select fatal()", ', max_attempts => 1');
ends('fatal', 'aborted||1|1|timeout', 'a FATAL error of a handler ends its process, and the lease expires');
submit('a', 'after that', 'select to_jsonb(1)');
ends('after that', 'completed|1|1|0|', '... and another process goes on');

# Memory: this much is all that the process may have from now on.
eventually($node, q(select count(*) from scylla.stat_server_worker where role = 'a' and state = 'idle'), '1', 'a worker is idle');
my $idle = sql($node, q(select pid from scylla.stat_server_worker where role = 'a'));
my ($size) = slurp_file("/proc/$idle/status") =~ /^VmSize:\s+(\d+)/m;
command_ok([ 'prlimit', "--pid=$idle", '--as=' . ($size + 50000) * 1024 ], 'it may have 50 MB more');
submit('a', 'greedy', q(with n as (insert into note values ('greedy')) select to_jsonb(length(repeat('x', 500000000)))), ', max_attempts => 1');
ends('greedy', 'aborted||1|1|sqlstate-53200', 'a handler that needs more memory than there is fails its task');
submit('a', 'modest', 'select to_jsonb(pg_backend_pid())');
ends('modest', "completed|$idle|1|0|", '... and the same process goes on');
is(sql($node, q(select count(*) from note)), '0', '... and nothing of either is left');

# ---- what a handler may do ---------------------------------------------------------------------------------------------

sql($node, q(create function committing() returns jsonb language plpgsql as $$ begin insert into note values ('committed'); commit; return '1'; end $$;
	create function rolling_back() returns jsonb language plpgsql as $$ begin rollback; return '1'; end $$;
	create function waiting() returns jsonb language plpgsql as $$ declare ready boolean; begin call scylla.wait('c', '1 ms', ready); return '1'; end $$;
	grant execute on procedure scylla.wait to c;
	select scylla.create_callback('soon');));
submit('c', $_->[0], $_->[1], ', max_attempts => 1') for [ 'commits', 'select committing()' ], [ 'rolls back', 'select rolling_back()' ],
  [ 'too large', q(select to_jsonb(repeat('x', 200000))) ], [ 'waits', 'select waiting()' ];
ends('commits', 'aborted||1|1|sqlstate-2D000', 'a handler cannot commit');
ends('rolls back', 'aborted||1|1|sqlstate-2D000', '... nor roll back');
ends('too large', 'aborted||1|1|sqlstate-22023', 'a result that is too large is an error of the handler');
ends('waits', 'aborted||1|1|sqlstate-25001', 'a handler cannot wait, which would commit');
is(sql($node, q(select count(*) from note)), '0', '... and nothing of these is left');
submit('c', 'submits', q(select to_jsonb((scylla.submit('c', '["select to_jsonb(5)"]', rn => 'child')).rn)));
ends('submits', 'completed|"child"|1|0|', 'a handler may submit');
ends('child', 'completed|5|1|0|', '... also to its own queue: that task is run, too');
submit('c', 'not yet', q(select case when $1.answers < 2 then to_jsonb(scylla.not_yet($1.rn, $1.owner, '0')) else to_jsonb($1.answers) end));
ends('not yet', 'completed|2|3|0|', '... or say "not yet"');
submit('c', 'defers', q(select case when $1.state is null then to_jsonb(scylla.defer($1.rn, $1.owner, '[{"callback": "soon"}]', '"asked"'))
	else jsonb_build_array($1.state, $1.args) end));
ends('defers', 'waiting||1|0|', '... or defer its task');
is(sql($node, q(select for_callbacks, deferred from scylla.stat_waiting where queue = 'c')), '1|1', '... which then waits');
sql($node, q(select scylla.resolve_callback('soon', '"came"')));
ends('defers', 'completed|["asked", ["came"]]|2|0|', '... and goes on when that has come');

# drop_queue(force), and more tasks at once than there are calls.
sql($node, q(set role a; select scylla.create_queue('dropped', handler => 'run')));
submit('dropped', 'of a dropped queue', "with n as (insert into note values ('dropped')) $wait");
waiting('of a dropped queue');
sql($node, q(set role a; select scylla.drop_queue('dropped', true)));
eventually($node, qq($workers and application_name = 'of a dropped queue'), '0', 'dropping a queue by force interrupts its handlers');
sql($node, q(set role a; select scylla.create_queue('many', handler => 'run')));
sql($node, q(set role a; select scylla.pause_queue('many'), scylla.submit_bulk('many', array_fill('1'::jsonb, array[200]))));
sql($node, q(set role a; select scylla.resume_queue('many'), scylla.lease_task(rn, 'w', '1 h') from scylla.list_tasks('many', max_tasks => 200)));
submit('many', 'after many', "with n as (insert into note values ('many')) $wait");
waiting('after many');
is(sql($node, q(set role a; select count(*) from scylla.cancel_many('{"queue": "many"}', max_tasks => 1000))), '201', 'a call cancels the running tasks of a queue');
eventually($node, qq($workers and application_name = 'after many'), '0', '... and interrupts the handler of the 201st');
sql($node, q(set role a; select scylla.drop_queue('many', true)));
is(sql($node, 'select count(*) from note'), '0', '... and nothing of either is left');

# ---- a handler that catches interrupts ---------------------------------------------------------------------------------

sql($node, q(create function stubborn() returns jsonb language plpgsql as $$
	begin
		loop
			begin
				perform pg_sleep(60);
			exception when query_canceled then null;
			end;
		end loop;
	end $$;));
sql($node, q(select scylla.alter_queue('a', '{"default_timeout": "100 ms"}')));
submit('a', 'stubborn', 'select stubborn()', ', max_attempts => 1');
eventually($node, q(select wait_event from pg_stat_activity where application_name = 'stubborn'), 'PgSleep', 'a handler that catches interrupts');
sql($node, q(select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'stubborn'));
ends('stubborn', 'aborted||1|1|timeout', '... ends with its process');

# ---- run_timeout ---------------------------------------------------------------------------------------------------------

sql($node, q(select scylla.create_queue('limited', handler => 'run', run_timeout => '300 ms', retry => '{"initial": "0"}');
	create function looping() returns jsonb language plpgsql as $$ begin loop null; end loop; end $$;
	create function patient() returns jsonb language plpgsql as $$
	begin
		insert into note values ('patient');
		begin
			perform pg_sleep(60);
		exception when query_canceled then insert into note values ('caught');
		end;
		return '"done"';
	end $$;
	create function stubborn_twice() returns jsonb language plpgsql as $$
	begin
		loop
			begin
				begin
					perform pg_sleep(60);
				exception when query_canceled then perform pg_sleep(60);
				end;
			exception when query_canceled then null;
			end;
		end loop;
	end $$;));
sub overruns
{
	my ($rn, $sql, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	submit('limited', $rn, $sql, ', max_attempts => 2');
	ends($rn, 'aborted||2|2|run-timeout', $name);
	eventually($node, "$workers and application_name = '$rn'", '0', '... and so does the call');
}
overruns('asleep', 'with n as (insert into note values (1)) select to_jsonb(pg_sleep(60)::text)', 'a handler that runs too long is interrupted, and its task fails');
is(sql($node, q(select errors -> 0, jsonb_path_query_array(history, '$[*]._typ') from scylla.get_task('asleep'))),
	'{"args": {"run_timeout": "00:00:00.3"}, "code": "run-timeout", "message": "the run took longer than its run_timeout"}|["TaskAssignment", "TaskRetry", "TaskAssignment"]',
	'... as any failure, with an error that says so');
overruns('loops', 'select looping()', 'a handler that loops');
overruns('patient', 'select patient()', 'a handler that catches the interrupt ends all the same');
overruns('stubborn again', 'select stubborn()', '... also one that tries again');
overruns('stubborn twice', 'select stubborn_twice()', '... or catches it twice');
is(sql($node, 'select count(*) from note'), '0', '... and nothing that they did is left');
submit('limited', 'short', 'select to_jsonb(pg_sleep(0.05)::text)');
ends('short', 'completed|""|1|0|', 'a short run is none of that');
submit('limited', 'second try', 'select to_jsonb(pg_sleep(case $1.attempt when 1 then 60 else 0 end)::text)');
ends('second try', 'completed|""|2|1|run-timeout', 'the next run may be faster');
# What a setting is while a task runs.
sql($node, q(select scylla.alter_queue('limited', '{"run_timeout": null}')));
submit('limited', 'unlimited', 'select to_jsonb(pg_sleep(1)::text)', ', max_attempts => 1');
ends('unlimited', 'completed|""|1|0|', 'null: there is no limit');
submit('limited', 'shortened', 'select to_jsonb(pg_sleep(60)::text)', ', max_attempts => 1');
eventually($node, q(select wait_event from pg_stat_activity where application_name = 'shortened'), 'PgSleep', 'a task without a limit runs');
sql($node, q(select scylla.alter_queue('limited', '{"run_timeout": "100 ms"}')));
ends('shortened', 'aborted||1|1|run-timeout', 'a limit counts for what runs already');
sql($node, q(select scylla.alter_queue('limited', '{"run_timeout": "1500 ms"}')));
submit('limited', 'extended', 'select to_jsonb(pg_sleep(3)::text)', ', max_attempts => 1');
eventually($node, q(select wait_event from pg_stat_activity where application_name = 'extended'), 'PgSleep', 'a task with a limit runs');
sql($node, q(select scylla.alter_queue('limited', '{"run_timeout": "1 h"}')));
ends('extended', 'completed|""|1|0|', 'a longer one, too');
sql($node, q(select scylla.drop_queue('limited', true)));

# ---- databases and the server ------------------------------------------------------------------------------------------

sql($node, 'create database other');
sql($node, "create extension scylla; $handler select scylla.create_queue('q', handler => 'run');
	select scylla.submit('q', '[\"select to_jsonb(pg_sleep(600)::text)\"]', rn => 'in the way')", 'other');
eventually($node, q(select wait_event from pg_stat_activity where application_name = 'in the way'), 'PgSleep', 'a worker in another database');
sql($node, 'drop database other');
is(sql($node, q(select count(*) from pg_database where datname = 'other')), '0', 'DROP DATABASE stops the workers there, and what they do');

submit('a', 'over the restart', $wait, ', max_attempts => 1');
waiting('over the restart');
$holder->quit;
submit('a', 'sleeper', 'select to_jsonb(pg_sleep(case $1.attempt when 1 then 600 else 0 end)::text)', ', max_attempts => 1');
eventually($node, q(select wait_event from pg_stat_activity where application_name = 'sleeper'), 'PgSleep', 'a long call');
my $start = time;
$node->restart;
cmp_ok(time - $start, '<', 30, 'a fast shutdown does not wait for a call');
ends('sleeper', 'completed|""|2|0|', '... whose task is given back, and run by the next server');
is(sql($node, q(select history -> -2 ->> '_typ' from scylla.get_task('sleeper'))), 'TaskYield', '... without counting as a failure');

sql($node, q(alter system set scylla.max_server_workers = 0; select pg_reload_conf()));
eventually($node, $workers, '0', 'scylla.max_server_workers = 0 ends them all');
submit('a', 'not run', 'select to_jsonb(1)');
sql($node, q(alter system reset scylla.max_server_workers; select pg_reload_conf()));
ends('not run', 'completed|1|1|0|', '... until it is more');

# ---- roles -------------------------------------------------------------------------------------------------------------

sql($node, q(create role d nologin; grant usage on schema scylla to d; grant execute on all functions in schema scylla to d;));
my ($out, $err) = result_of($node, q(set role d; select scylla.create_queue('d', handler => 'run')));
if (sql($node, q(show server_version_num)) < 170000)
{
	my (undef, undef, $warning) = $node->psql('postgres', q(set role d; select scylla.alter_queue('d', '{"handler": null}'), scylla.alter_queue('d', '{"handler": "run"}')));
	like($warning, qr/WARNING:  role "d", the owner of queue "d", does not have the attribute LOGIN/, 'a role that may not log in is warned of');
	submit('d', 'nologin', 'select to_jsonb(1)');
	sql($node, 'alter role d login');
}
else
{
	submit('d', 'nologin', 'select to_jsonb(1)');
}
ends('nologin', 'completed|1|1|0|', 'the tasks of a role that may log in are run');
sql($node, q(create function short_lived(t scylla.task) returns jsonb language sql as 'select to_jsonb(1)';
	select scylla.create_queue('gone', handler => 'short_lived', max_attempts => 1), scylla.pause_queue('gone'); select scylla.submit('gone', '1', rn => 'gone');
	drop function short_lived; select scylla.resume_queue('gone')));
ends('gone', 'aborted||1|1|sqlstate-42883', 'a function that is dropped fails the tasks of its queue');
sql($node, q(drop owned by d; drop role d; select scylla.submit('d', '["select to_jsonb(1)"]', rn => 'nobody')));
submit('a', 'goes on', 'select to_jsonb(1)');
ends('goes on', 'completed|1|1|0|', 'a queue whose owner is gone keeps nobody else from running');
sql($node, q(select scylla.drop_queue('d', true)));

# A role that loses LOGIN while its worker is idle, and while it calls a handler. Since 17 workers do not need it.
sql($node, q(create role f login; grant usage on schema scylla to f; grant execute on all functions in schema scylla to f));
sql($node, q(set role f; select scylla.create_queue('f', handler => 'run')));
my $needs_login = sql($node, q(show server_version_num)) < 170000;
my $of_f = q(select count(*) from scylla.stat_server_worker where role = 'f');
submit('f', 'before', 'select to_jsonb(1)');
ends('before', 'completed|1|1|0|', 'a role that may log in');
eventually($node, "$of_f and state = 'idle'", '1', '... has an idle worker');
sql($node, 'alter role f nologin');
submit('f', 'locked out', 'select to_jsonb(2)');
eventually($node, $of_f, '0', '... which calls no handler when the role has lost LOGIN') if $needs_login;
is(sql($node, q(select attempt from scylla.get_task('locked out'))), '0', '... so the task is not run') if $needs_login;
sql($node, 'alter role f login');
ends('locked out', 'completed|2|1|0|', '... until the role may log in again');
$holder = $node->background_psql('postgres');
$holder->query_safe('select pg_advisory_lock(7)');
submit('f', 'in progress', $wait);
eventually($node, q(select wait_event from pg_stat_activity where application_name = 'in progress'), 'advisory', 'a handler of the role');
sql($node, 'alter role f nologin');
submit('f', 'the next one', 'select to_jsonb(3)');
$holder->query_safe('select pg_advisory_unlock(7)');
$holder->quit;
ends('in progress', 'completed|""|1|0|', '... goes on to its end when the role loses LOGIN');
eventually($node, $of_f, '0', '... but then its worker ends') if $needs_login; # if not, it ends when it has been idle
sql($node, 'alter role f login');
ends('the next one', 'completed|3|1|0|', '... and another one goes on later');
sql($node, q(select scylla.drop_queue('f', true); drop owned by f; drop role f));

# A role that is dropped while its worker calls a handler.
sql($node, q(create role e login; grant usage on schema scylla to e; grant execute on all functions in schema scylla to e));
sql($node, q(set role e; select scylla.create_queue('e', handler => 'run', default_timeout => '100 ms')));
$holder = $node->background_psql('postgres');
$holder->query_safe('select pg_advisory_lock(7)');
submit('e', 'orphan', "with n as (insert into note values ('orphan')) $wait");
eventually($node, q(select wait_event from pg_stat_activity where application_name = 'orphan'), 'advisory', 'a handler of a role');
sql($node, q(drop owned by e; drop role e));
$holder->query_safe('select pg_advisory_unlock(7)');
$holder->quit;
eventually($node, "$workers and application_name = 'orphan'", '0', '... that is dropped meanwhile: the call ends');
submit('a', 'unmoved', 'select to_jsonb(1)');
ends('unmoved', 'completed|1|1|0|', '... and other roles go on');
ends('orphan', 'ready||1|1|', '... and its lease expires, as nobody may end it any more');
is(sql($node, q(select count(*) from note)), '0', '... with nothing left of what it did');
sql($node, q(select scylla.drop_queue('e', true)));
checked($node, 'the tables are sound');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|leak:/, 'nothing is left behind');
$node->stop;
done_testing();
