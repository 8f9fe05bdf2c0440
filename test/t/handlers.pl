# Handlers that a session calls (CALL scylla.work): what the handler does and how its task ends are one transaction, whatever the
# handler raises or does to its own task, and whoever cancels the task meanwhile.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use List::Util qw(uniq);
use ScyllaTest;
use Test::More;

my $node = new_node('main', settings => "scylla.monitor = on\nscylla.max_server_workers = 0\nscylla.max_value_size = 100kB");
sql($node, 'create extension scylla');
wait_for_monitor($node, 'postgres');

# A handler that runs the SQL in its task, with the task as $1, and notes before that it was there.
sql($node, q(
	create table done (rn text, attempt int);
	create function run(t scylla.task) returns jsonb language plpgsql as $run$
	declare
		result jsonb;
	begin
		insert into done values (t.rn, t.attempt);
		if t.spec ->> 0 ~ '^(do|set) ' then
			execute t.spec ->> 0;
		else
			execute t.spec ->> 0 into result using t;
		end if;
		return result;
	end $run$;
	select scylla.create_queue('q', handler => 'run', retry => '{"initial": "0"}');
));
is(sql($node, q(select handler from scylla.queue_settings)), 'public.run', 'the name of a handler is stored with its schema');

my $tasks = 0;
# Submits a task that runs this SQL, works until there is none, and returns how it stands and how often it has left its note.
sub handled
{
	my ($sql, %options) = @_;
	my $rn = $options{rn} // 't' . ++$tasks;
	my $max_attempts = $options{max_attempts} // 1;
	sql($node, "select scylla.submit('q', to_jsonb(array[\$sql\$$sql\$sql\$]), rn => '$rn', max_attempts => $max_attempts)");
	sql($node, "call scylla.work('q')");
	return sql($node, "select status, result, attempt, failures, errors -> -1 ->> 'code', (select count(*) from done d where d.rn = t.rn)
		from scylla.task t where rn = '$rn'");
}

is(handled(q(select jsonb_build_object('rn', $1.rn, 'attempt', $1.attempt, 'status', $1.status))),
	'completed|{"rn": "t1", "status": "running", "attempt": 1}|1|0||1', 'the handler gets the task, and what it returns is the result');
is(handled('select null::jsonb'), 'completed||1|0||1', 'null: no result');
is(handled(q(select 'null'::jsonb)), 'completed|null|1|0||1', '... but a null of JSON is one');

# ---- errors ------------------------------------------------------------------------------------------------------------

is(handled('select 1/0'), 'aborted||1|1|sqlstate-22012|0', 'an error fails the task and undoes what the handler did');
is(handled('select 1/0', max_attempts => 3), 'aborted||3|3|sqlstate-22012|0', '... each time');
is( sql($node, q(select errors -> 0 -> 'message', errors -> 0 #>> '{args,context}' ~ 'function run' from scylla.task where rn = 't4')),
	'"division by zero"|t', 'the error tells the message and the context');
sql($node, q(create function complain() returns jsonb language plpgsql as $$
	begin raise exception 'no' using detail = 'because', hint = 'try', errcode = 'AB123'; end $$));
is(handled('select complain()'), 'aborted||1|1|sqlstate-AB123|0', 'any SQLSTATE');
is(sql($node, q(select errors #>> '{0,args,detail}', errors #>> '{0,args,hint}' from scylla.task where rn = 't6')), 'because|try', '... with detail and hint');
is(handled(q(select to_jsonb(repeat('x', 200000)))), 'aborted||1|1|sqlstate-22023|0', 'a result that is too large is an error');
is(handled(q(do $$ begin commit; end $$)), 'aborted||1|1|sqlstate-2D000|0', 'a handler cannot commit');
is(handled(q(do $$ begin rollback; end $$)), 'aborted||1|1|sqlstate-2D000|0', '... nor roll back');
is(handled(q(set transaction read only)), 'aborted||1|1|sqlstate-25006|0', '... nor keep its task from being completed');
is(handled(q(select repeat('x', 1073741820)::bytea::text::jsonb)), 'aborted||1|1|sqlstate-54000|0', 'values beyond 1 GB are an error');
is( handled(q(do $$ begin raise exception '%', repeat('ü', 100000); end $$)),
	'aborted||1|1|sqlstate-P0001|0', 'a long message is an error like others');
ok(sql($node, q(select max(length(errors::text)) < 20000 from scylla.task)) eq 't', '... and cut');
sql($node, q(
	create table checked (n int unique deferrable initially deferred);
	insert into checked values (1);));
is(handled('insert into checked values (1) returning null::jsonb'),
	'aborted||1|1|sqlstate-23505|0', 'an error of a constraint that is checked at the commit fails the task');
is(handled('insert into checked values (2) returning null::jsonb'), 'completed||1|0||1', '... and does not stand in the way of the next one');

# ---- what a handler does to its own task -------------------------------------------------------------------------------

is(handled(q(select to_jsonb(scylla.abort($1.rn, $1.owner, '{"code": "own"}')))),
	'aborted||1|0|own|1', 'a handler may abort its task: what it did stays, what it returns is ignored');
is(handled(q(select to_jsonb(scylla.complete($1.rn, $1.owner, '"own"')))), 'completed|"own"|1|0||1', '... or complete it');
is(handled(q(select case when $1.attempt = 1 then to_jsonb(scylla.fail($1.rn, $1.owner, '{"code": "own"}', '0')) else '2' end), max_attempts => 2),
	'completed|2|2|1|own|2', '... or fail it');
is(handled(q(select case when $1.attempt < 3 then to_jsonb(scylla.yield($1.rn, $1.owner)) else '3' end)), 'completed|3|3|0||3', '... or yield it');
is(handled(q(select to_jsonb(scylla.cancel($1.rn)))), 'cancelled||1|0||1', '... or cancel it');
is( handled(q(do $$ begin
		begin
			perform scylla.abort(rn, owner, '{"code": "x"}') from scylla.task where status = 'running';
			raise exception 'undone';
		exception when raise_exception then null;
		end;
	end $$)),
	'completed||1|0||1',
	'... and what it takes back has not happened');
is(handled(q(select to_jsonb((scylla.submit('q', '["select to_jsonb(7)"]', rn => 'child')).rn))), 'completed|"child"|1|0||1', 'a handler may submit');
is(sql($node, q(select result from scylla.get_task('child'))), '7', '... also to its own queue: that task is run, too');
is(handled(q(select to_jsonb((scylla.submit('q', '["select to_jsonb(8)"]', rn => 'grandchild', depends_on => array['child', $1.rn])).rn))),
	'completed|"grandchild"|1|0||1', '... and have tasks wait for its own');
is(sql($node, q(select args, status from scylla.get_task('grandchild'))), '[7, "grandchild"]|completed', '... which open with its completion');
is(handled(q(select case when $1.answers < 2 then to_jsonb(scylla.not_yet($1.rn, $1.owner, '0')) else to_jsonb($1.answers) end)),
	'completed|2|3|0||3', '... or say "not yet"');
sql($node, q(select scylla.create_callback('soon')));
is( handled(q(select case when $1.state is null then to_jsonb(scylla.defer($1.rn, $1.owner, '[{"callback": "soon"}]', '"asked"')) else jsonb_build_array($1.state, $1.args) end),
		rn => 'deferring'),
	'waiting||1|0||1', '... or defer it: what it did stays');
sql($node, q(select scylla.resolve_callback('soon', '"came"'); call scylla.work('q')));
is(sql($node, q(select status, result, attempt from scylla.get_task('deferring'))), 'completed|["asked", ["came"]]|2', '... and goes on when that has come');
is(handled(q(do $$ declare ready boolean; begin call scylla.wait('q', '1 ms', ready); end $$)), 'aborted||1|1|sqlstate-25001|0', 'a handler cannot wait, which would commit');
is(handled(q(set role pg_monitor)), 'completed||1|0||1', 'a role that the handler takes has no say in the completion');

# ---- what the session is told ------------------------------------------------------------------------------------------

sql($node, q(select scylla.submit('q', '["select to_jsonb(1)"]') from generate_series(1, 5)));
is(sql($node, q(call scylla.work('q', 2))), '2', 'max_tasks bounds the tasks');
is(sql($node, q(call scylla.work('q'))), '3', 'without it, all are run');
is(sql($node, q(call scylla.work('q'))), '0', '... until there are none');
is(sql($node, q(call scylla.work('q', timeout => '10 ms'))), '0', 'with a timeout it waits for more');
fails_with($node, '22023', "call scylla.work('q', $_)", "$_ is refused") for '0', '-1', "1, '-1 s'", "1, '366 days'";
fails_with($node, '42704', q(call scylla.work('nothing')), 'a queue that does not exist');
sql($node, q(select scylla.create_queue('plain')));
fails_with($node, '55000', q(call scylla.work('plain')), 'a queue without a handler');
fails_with($node, '25001', q(begin; call scylla.work('q')), 'inside a transaction block');

my $worker = $node->background_psql('postgres');
$worker->query_until(qr/begun/, "\\echo begun\ncall scylla.work('q', 4, '1 h');\n");
eventually($node, q(select count(*) from pg_stat_activity where query like 'call scylla.work%' and backend_xmin is null and wait_event = 'Extension'),
	'1', 'a session that waits has no snapshot');
sql($node, q(select scylla.submit('q', '["select to_jsonb(9)"]', rn => 'sooner')));
eventually($node, q(select result from scylla.get_task('sooner')), '9', '... and is woken by a task');

# ---- others at the same task -------------------------------------------------------------------------------------------

# The monitor extends the lease of a call that takes longer than the lease, for as long as the process lives.
sql($node, q(select scylla.alter_queue('q', '{"default_timeout": "50 ms"}')));
my $holder = $node->background_psql('postgres');
# A task whose handler waits for a lock that the holder has.
sub held
{
	my ($rn) = @_;
	$holder->query_safe('select pg_advisory_lock(7)');
	sql($node, "select scylla.submit('q', '[\"select to_jsonb(pg_advisory_xact_lock(7)::text)\"]', rn => '$rn')");
	eventually($node, q(select count(*) from pg_locks where locktype = 'advisory' and not granted), '1', "the handler of $rn is called");
}
held('long');
eventually($node, q(select updated > leased + interval '300 ms' from scylla.task_lease where owner like 'scylla-worker-%'), 't',
	'its lease is extended while it runs');
$holder->query_safe('select pg_advisory_unlock(7)');
eventually($node, q(select status, attempt from scylla.get_task('long')), 'completed|1', '... so it runs once');

held('cancelled');
sql($node, q(select scylla.cancel('cancelled')));
eventually($node, q(select count(*) from pg_locks where locktype = 'advisory' and not granted), '0', 'the handler of a task that is cancelled is interrupted');
$holder->query_safe('select pg_advisory_unlock(7)');
# The last of the four.
sql($node, q(select scylla.submit('q', '["select to_jsonb(1)"]', rn => 'after cancelled')));
eventually($node, q(select status from scylla.get_task('after cancelled')), 'completed', '... and its session runs the next task');
eventually($node, q(select count(*) from pg_stat_activity where query like 'call scylla.work%' and state = 'active'), '0', '... to the last');
is(sql($node, q(select status, (select count(*) from done where rn = 'cancelled') from scylla.get_task('cancelled'))),
	'cancelled|0', 'what the handler of a task did that was cancelled meanwhile is undone');
$worker->quit;

# run_timeout: the session interrupts the call itself.
sql($node, q(select scylla.alter_queue('q', '{"run_timeout": "100 ms"}')));
$worker = $node->background_psql('postgres');
$worker->query_until(qr/begun/, "\\echo begun\ncall scylla.work('q', 2, '1 h');\n");
$holder->query_safe('select pg_advisory_lock(7)');
sql($node, q(select scylla.submit('q', '["select to_jsonb(pg_advisory_xact_lock(7)::text)"]', rn => 'overrun', max_attempts => 1)));
eventually($node, q(select status, failures, errors -> -1 ->> 'code' from scylla.get_task('overrun')), 'aborted|1|run-timeout', 'a run that takes longer than run_timeout fails');
eventually($node, q(select count(*) from pg_locks where locktype = 'advisory' and not granted), '0', '... and its session is interrupted');
is(sql($node, q(select count(*) from done where rn = 'overrun')), '0', '... and nothing is left of what the handler did');
sql($node, q(select scylla.submit('q', '["select to_jsonb(1)"]', rn => 'after overrun')));
eventually($node, q(select status from scylla.get_task('after overrun')), 'completed', '... and the session goes on with the next task');
$holder->query_safe('select pg_advisory_unlock(7)');
$worker->quit;
# A handler that catches the interrupt goes on, in vain.
sql($node, q(create table caught (n int);
	create function catching() returns jsonb language plpgsql as $$
	begin
		begin
			perform pg_sleep(60);
		exception when query_canceled then null;
		end;
		while (select status = 'running' from scylla.get_task('caught')) loop
			perform pg_sleep(0.01);
		end loop;
		insert into caught values (1);
		return '1';
	end $$;));
is(handled('select catching()', max_attempts => 1, rn => 'caught'), 'aborted||1|1|run-timeout|0', 'a handler that catches the interrupt goes on, in vain');
is(sql($node, q(select count(*) from caught)), '0', '... as what it did is undone');
sql($node, q(select scylla.alter_queue('q', '{"run_timeout": null}')));
is(handled('select to_jsonb(pg_sleep(0.2)::text)'), 'completed|""|1|0||1', 'without run_timeout there is no limit');

# A FATAL error ends the session, and nothing of the call stays.
sql($node, qq(create function fatal() returns jsonb language c as '$ENV{SCYLLA_FAULTS}', 'raise_fatal'));
sql($node, q(select scylla.submit('q', '["select fatal()"]', rn => 'fatal', max_attempts => 1)));
my ($status) = $node->psql('postgres', q(call scylla.work('q')));
isnt($status, 0, 'a FATAL error of a handler ends its session');
eventually($node, q(select status, errors -> -1 ->> 'code', (select count(*) from done where rn = 'fatal') from scylla.get_task('fatal')), 'aborted|timeout|0',
	'... and the lease of its task expires');

# A process that dies lets go of the lease.
$worker = $node->background_psql('postgres', on_error_stop => 0);
$worker->query_until(qr/begun/, "\\echo begun\ncall scylla.work('q', 1, '1 h');\n");
held('killed');
sql($node, q(select pg_terminate_backend(pid) from pg_stat_activity where query like 'call scylla.work%' and state = 'active'));
eventually($node, q(select status, failures from scylla.get_task('killed')), 'ready|1', 'the lease of a process that is gone expires');
$holder->query_safe('select pg_advisory_unlock(7)');
is(sql($node, q(call scylla.work('q'))), '1', '... and the task can be run again');
eval { $worker->quit };

# A cancel request ends the statement, and the task is given back.
$worker = $node->background_psql('postgres', on_error_stop => 0);
$worker->query_until(qr/begun/, "\\echo begun\ncall scylla.work('q', 1, '1 h');\n");
held('given back');
sql($node, q(select scylla.pause_queue('q')));
sql($node, q(select pg_cancel_backend(pid) from pg_stat_activity where query like 'call scylla.work%' and state = 'active'));
eventually($node, q(select status, failures, history -> -1 ->> '_typ' from scylla.get_task('given back')), 'ready|0|TaskYield',
	'a session that is cancelled gives its task back');
$holder->query_safe('select pg_advisory_unlock(7)');
sql($node, q(select scylla.resume_queue('q')));
is(sql($node, q(call scylla.work('q'))), '1', '... and somebody else runs it');
$worker->quit;

# So does a statement_timeout.
sub work_for
{
	my ($time, $queue) = @_;
	return sqlstate($node, "set statement_timeout = '$time ms'; call scylla.work('$queue', timeout => '1 h')");
}
$holder->query_safe('select pg_advisory_lock(7)');
sql($node, q(select scylla.submit('q', '["select to_jsonb(pg_advisory_xact_lock(7)::text)"]', rn => 'timed out')));
is(work_for(3000, 'q'), '57014', 'a statement_timeout ends the call');
is(sql($node, q(select status, failures, history -> -1 ->> '_typ', (select count(*) from scylla.task_lease), (select count(*) from done d where d.rn = t.rn)
	from scylla.get_task('timed out') t)), 'ready|0|TaskYield|0|0', '... and gives the task back, without its lease and without what the handler did');
$holder->query_safe('select pg_advisory_unlock(7)');
is(sql($node, q(call scylla.work('q'))), '1', '... and somebody else runs it');

# It may come between the commit that leases a task and the call of its handler.
sql($node, q(create function quick(t scylla.task) returns jsonb language sql as $$select '1'::jsonb$$;
	select scylla.create_queue('quick', handler => 'quick'); select scylla.submit_bulk('quick', array_fill('1'::jsonb, array[20000]))));
is(join(' ', sort(uniq(map { work_for($_, 'quick') } 21 .. 80))), '57014', 'sessions are cancelled between many short calls');
is(sql($node, q(select count(*) filter (where status = 'running'), count(*) filter (where failures > 0), count(*) filter (where status = 'completed') > 100
	from scylla.task where queue = 'quick')), '0|0|t', '... and each gives back the task that it has just leased');
sql($node, q(select scylla.drop_queue('quick', true)));

# ---- rights ------------------------------------------------------------------------------------------------------------

sql($node, q(
	create role worker; create role owner_ login; create role stranger;
	grant usage on schema scylla to worker, owner_, stranger;
	grant execute on procedure scylla.work to worker;
	grant execute on function scylla.create_queue, scylla.alter_queue to owner_, stranger;
	create function secret(t scylla.task) returns jsonb language sql as $$select to_jsonb(current_user::text)$$;
	revoke execute on function secret from public;));
fails_with($node, '42501', q(set role owner_; select scylla.create_queue('theirs', handler => 'secret')), 'EXECUTE is needed to set a handler');
sql($node, q(grant execute on function secret to owner_));
sql($node, q(set role owner_; select scylla.create_queue('theirs', handler => 'secret')));
sql($node, q(select scylla.submit('theirs', '1', rn => 'theirs')));
fails_with($node, '42501', q(set role worker; call scylla.work('theirs')), 'the right to work on the queue is needed to work');
sql($node, q(select scylla.grant_queue('theirs', 'worker', 'work')));
sql($node, q(set role worker; call scylla.work('theirs', 1)));
is(sql($node, q(select errors -> -1 ->> 'code' from scylla.get_task('theirs'))), 'sqlstate-42501', '... and EXECUTE on the handler');
sql($node, q(grant execute on function secret to worker; select scylla.cancel('theirs'); select scylla.submit('theirs', '1', rn => 'theirs 2')));
sql($node, q(set role worker; call scylla.work('theirs')));
is(sql($node, q(select result from scylla.get_task('theirs 2'))), '"worker"', 'the handler runs as whoever calls work()');
sql($node, q(select scylla.grant_queue('theirs', 'stranger', 'admin'); grant execute on function secret to stranger));
fails_with($node, '42501', q(set role stranger; select scylla.alter_queue('theirs', '{"handler": "run"}')), 'an admin who is no member of the owner sets no handler');
is(sqlstate($node, q(set role stranger; select scylla.alter_queue('theirs', '{"handler": "secret", "aging": 1}'))), '', '... but may leave it as it is');
is(sqlstate($node, q(set role stranger; select scylla.alter_queue('theirs', '{"handler": null}'))), '', '... or remove it');

# ---- the function ------------------------------------------------------------------------------------------------------

sql($node, q(
	create function wrong_argument(t jsonb) returns jsonb language sql as $$select t$$;
	create function wrong_result(t scylla.task) returns text language sql as $$select ''$$;
	create function a_set(t scylla.task) returns setof jsonb language sql as $$select '1'::jsonb union all select '2'$$;
	create procedure a_procedure(t scylla.task) language sql as $$select 1$$;
	create schema "Odd ""one"; create function "Odd ""one"."F.x"(t scylla.task) returns jsonb language sql as $$select '"odd"'::jsonb$$));
fails_with($node, '22023', "select scylla.alter_queue('q', jsonb_build_object('handler', '$_'))", "'$_' is no handler")
  for qw(nothing wrong_argument wrong_result a_set a_procedure), '';
ok(sqlstate($node, "select scylla.alter_queue('q', jsonb_build_object('handler', '$_'))") =~ /^(22023|42601)$/, "'$_' is no name") for '.', 'a.b.c.d', '"', 'a b(';
sql($node, q(select scylla.create_queue('odd', handler => '"Odd ""one"."F.x"'); select scylla.submit('odd', '1', rn => 'odd', max_attempts => 1); call scylla.work('odd')));
is(sql($node, q(select result from scylla.get_task('odd'))), '"odd"', 'names may be any');
sql($node, q(drop function "Odd ""one"."F.x"; select scylla.submit('odd', '1', rn => 'odd 2', max_attempts => 1)));
is(sql($node, q(call scylla.work('odd'))), '1', 'a function that is gone');
is(sql($node, q(select status, errors -> -1 ->> 'code' from scylla.get_task('odd 2'))), 'aborted|sqlstate-42883', '... fails its tasks');
sql($node, q(create function "Odd ""one"."F.x"(t scylla.task) returns setof jsonb language sql as $$select '1'::jsonb union all select '2'$$));
sql($node, q(select scylla.submit('odd', '1', rn => 'odd 3', max_attempts => 1); call scylla.work('odd')));
is(sql($node, q(select errors -> -1 ->> 'code' from scylla.get_task('odd 3'))), 'sqlstate-42804', '... and so does one of another kind');
checked($node, 'the tables are sound');
$holder->quit;

# ---- without preloading ------------------------------------------------------------------------------------------------

my $bare = new_node('bare', preload => 0);
sql($bare, q(create extension scylla;
	create function run(t scylla.task) returns jsonb language sql as $$select to_jsonb(t.rn)$$;
	select scylla.create_queue('q', handler => 'run'); select scylla.submit('q', '1', rn => 'bare')));
is(sql($bare, q(call scylla.work('q', timeout => '10 ms'))), '1', 'it needs no preloading');
is(sql($bare, q(select status, result from scylla.get_task('bare'))), 'completed|"bare"', '... to run tasks');
$bare->stop;
$node->stop;
done_testing();
