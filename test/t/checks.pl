# Checks with a monitor: waiters that come and go while checks are answered, by sessions whose transactions overlap at random; crashes;
# prepared transactions; what many waiters cost; handlers. Every waiter has an answer, and no check stays that nobody waits for.
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
my $node = new_node('main', settings => "scylla.monitor = on\nscylla.monitor_interval = 30min\nscylla.max_server_workers = 0");
sql($node, 'create extension scylla');
wait_for_monitor($node, 'postgres');
sql($node, q(
	select scylla.create_queue('q'); select scylla.create_queue('ask', default_timeout => '1 s');
	create function on_check(spec jsonb, every text = null) returns jsonb language sql as
		$$ select jsonb_build_array(jsonb_build_object('check', jsonb_build_object('queue', 'ask', 'spec', spec, 'every', every))) $$;));

my $checks = q(select string_agg(spec::text || ' ' || status, ', ' order by spec) from scylla.task where queue = 'ask' and status in ('waiting', 'ready', 'running'));

# ---- the monitor -------------------------------------------------------------------------------------------------------

sql($node, q(select scylla.submit('q', '1', rn => 'a', wait_for => on_check('1', '1 h'))));
sql($node, q(select scylla.submit('q', '1', rn => 'b', wait_for => on_check('2'))));
sql($node, q(select from scylla.lease('ask', 'w') l, scylla.not_yet(l.rn, 'w')));
is(sql($node, $checks), '1 waiting, 2 ready', 'two checks, one of which has answered "not yet"');
sql($node, q(select scylla.submit('q', '1', rn => 'c', wait_for => on_check('1', '10 ms'))));
eventually($node, $checks, '1 ready, 2 ready', 'a waiter in a hurry has it asked sooner, by the commit');
sql($node, q(select scylla.cancel('b')));
eventually($node, $checks, '1 ready', 'without its last waiter a check is cancelled, by the commit');
sql($node, q(select scylla.cancel('a')));
sql($node, q(select scylla.submit('q', '1', rn => 'd', wait_for => on_check('3') || '[{"callback": "x"}]') from scylla.create_callback('x')));
sql($node, q(select scylla.reject_callback('x', '{"code": "no"}')));
eventually($node, $checks, '1 ready', 'and one whose waiter has failed on account of something else');
sql($node, q(select scylla.submit('q', '1', rn => 'e', wait_for => jsonb_set(on_check('4'), '{0,timeout}', '"50 ms"'))));
eventually($node, q(select status || ' ' || (errors -> 0 ->> 'code') from scylla.get_task('e')), 'aborted dependency-timeout', 'a waiter times out');
eventually($node, $checks, '1 ready', 'and its check with it');

# An idle transaction stops neither who answers nor who joins.
my $idle = $node->background_psql('postgres');
$idle->query_safe('begin');
$idle->query_safe(q(select scylla.submit('q', '1', rn => 'idle', wait_for => on_check('1'))));
sql($node, q(set statement_timeout = '5 s'; select scylla.submit('q', '1', rn => 'f', wait_for => on_check('1'))));
is(sql($node, q(set statement_timeout = '5 s'; select t.status from scylla.lease('ask', 'w') l, scylla.complete(l.rn, 'w', '"yes"') t)), 'completed',
	'a check is answered while somebody joins it');
is(sql($node, q(select string_agg(rn || ' ' || status, ' ' order by rn) from scylla.task where rn in ('c', 'f'))), 'c ready f ready', 'those who wait have the answer');
sql($node, q(select scylla.alter_queue('ask', '{"retention": "1 us"}'); select scylla.purge()));
is(sql($node, q(select count(*) from scylla.task where queue = 'ask' and status = 'completed')), '1', 'it is not purged, however short its retention');
$idle->query_safe('commit');
eventually($node, q(select status || ' ' || args from scylla.get_task('idle')), 'ready ["yes"]', 'who was joining has it, too');
$idle->quit;
sql($node, q(select scylla.alter_queue('ask', '{"retention": "1 day"}')));
checked($node, 'check() finds nothing');

# ---- races -------------------------------------------------------------------------------------------------------------

# Two sessions wait and go, so many rounds at least, until all four are at work; two answer and ask again until those have ended.
sql($node, q(
	create table racing (me int, ended boolean);
	create procedure race(me int, seed float8, rounds int) language plpgsql as $$
	declare
		task scylla.task;
		last text;
	begin
		perform setseed(seed);
		insert into racing values (me, false);
		commit;
		for round in 1 .. 1000 * rounds loop
			if me <= 2 then
				exit when round > rounds and (select count(*) from racing) = 4;
				last := (scylla.submit('race', '1', rn => 'r' || me || '-' || round, wait_for => on_check(to_jsonb(100 + (random() * 3)::int), '1 ms'))).rn;
				if random() < 0.3 then perform pg_sleep(random() * 0.001); end if;
				if random() < 0.1 then rollback; else commit; end if;
				if random() < 0.3 then
					begin
						perform scylla.cancel(last);
					exception when sqlstate '55000' or sqlstate 'P0002' then null;
					end;
					commit;
				end if;
			else
				exit when (select count(*) from racing where ended) = 2;
				begin
					for task in select * from scylla.lease('ask', 'w' || me) loop
						if random() < 0.5 then perform scylla.not_yet(task.rn, 'w' || me);
						elsif random() < 0.8 then perform scylla.complete(task.rn, 'w' || me, task.spec);
						else perform scylla.fail(task.rn, 'w' || me, '{"code": "x"}', '1 ms');
						end if;
						if random() < 0.3 then perform pg_sleep(random() * 0.001); end if;
					end loop;
				exception when sqlstate '55000' then null; -- cancelled: nobody waits any longer
				end;
				if random() < 0.1 then rollback; else commit; end if;
			end if;
		end loop;
		update racing set ended = true where racing.me = race.me and race.me <= 2;
	end $$;));
raced([ side_by_side($node, map { "call race($_, 0.$_, $rounds)" } 1 .. 4) ], "four sessions raced $rounds times");
# What is left is answered.
my $left = q(select count(*) from scylla.task where queue = 'race' and status = 'waiting');
for (1 .. 300) {
	sql($node, q(select from scylla.lease('ask', 'z', 100) l, scylla.complete(l.rn, 'z', l.spec)));
	last if sql($node, $left) == 0;
	select(undef, undef, undef, 0.02);
}
is(sql($node, $left), '0', 'every waiter has an answer');
is(sql($node, q(select string_agg(distinct status::text, ' ' order by status::text) from scylla.task where queue = 'race')), 'cancelled ready', 'or was cancelled');
# By the tables: of 100,000 tasks the view of tasks would take minutes, by a plan that is made while there are no statistics.
sql($node, 'analyze');
is(sql($node, q(select count(*) = (select count(*) from scylla.task where queue = 'race' and status = 'ready'), count(*) filter (where c.spec is distinct from o.result)
	from scylla.task_ready r join scylla.queue q on q.id = r.queue and q.name = 'race' join scylla.task_gate g on g.task = r.id and g.kind = 'k'
	join scylla.task_spec c on c.id = g.provider join scylla.task_outcome o on o.id = g.provider)), 't|0', 'each its own');
is(sql($node, q(select count(*) from (select g.provider, t.args from scylla.task t join scylla.task_spec s on s.rn = t.rn join scylla.task_gate g on g.task = s.id
	where t.rn in (select 'r' || m || '-' || n from generate_series(1, 2) m, generate_series(1, 200) n) and t.status = 'ready') t
	join scylla.task_spec c on c.id = t.provider where t.args -> 0 is distinct from c.spec)), '0', '... as args show');
eventually($node, $checks, '', 'and no check is left');
checked($node, 'check() finds nothing after the races');

# ---- crashes and prepared transactions ---------------------------------------------------------------------------------

sql($node, q(select scylla.submit('q', '1', rn => 'crash', wait_for => on_check('"crash"', '10 ms'))));
sql($node, q(select from scylla.lease('ask', 'w')));
sql($node, q(begin; select scylla.submit('q', '1', rn => 'prepared', wait_for => on_check('"crash"')); prepare transaction 'joins'));
$node->stop('immediate');
$node->start;
wait_for_monitor($node, 'postgres');
eventually($node, $checks, '"crash" ready', 'what was asked when the server crashed is asked again');
sql($node, q(select scylla.cancel('crash')));
sql($node, q(select scylla.maintain()));
is(sql($node, $checks), '"crash" ready', 'a check that a prepared transaction has joined stays');
sql($node, q(select from scylla.lease('ask', 'w') l, scylla.complete(l.rn, 'w', '"here"')));
sql($node, q(commit prepared 'joins'));
sql($node, q(select scylla.maintain()));
is(sql($node, q(select status || ' ' || args from scylla.get_task('prepared'))), 'ready ["here"]', 'and its waiter has the answer');
sql($node, q(select scylla.submit('q', '1', rn => 'lost', wait_for => on_check('"lost"'))));
sql($node, q(begin; select scylla.cancel('lost'); prepare transaction 'cancels'));
sql($node, q(commit prepared 'cancels'));
sql($node, q(select scylla.maintain()));
is(sql($node, $checks), '', 'a commit that told nobody is made up for');
checked($node, 'check() finds nothing after a crash');

# ---- dump and restore --------------------------------------------------------------------------------------------------

sql($node, q(select scylla.submit('q', '1', rn => 'dumped', wait_for => on_check('{"a": 1, "b": 2}', '1 min'))));
sql($node, q(select from scylla.lease('ask', 'w') l, scylla.not_yet(l.rn, 'w')));
my $dump = PostgreSQL::Test::Utils::tempdir() . '/checks.dump';
command_ok([ 'pg_dump', '-Fc', '-f', $dump, $node->connstr('postgres') ], 'a database with a live check is dumped');
sql($node, 'create database restored');
command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('restored'), $dump ], 'and restored');
my $restored = sub { $node->safe_psql('restored', $_[0]) };
$restored->(q(select scylla.submit('q', '1', rn => 'after', wait_for => on_check('{"b": 2.0, "a": 1}', '1 s'))));
is($restored->(q(select waiters from scylla.condition where kind = 'check')), '2', 'whoever asks the same there joins the check');
is($restored->(q(select string_agg(distinct answers::text, ' ') from scylla.task where queue = 'ask' and status in ('waiting', 'ready'))), '1', 'which keeps its answers');
$restored->(q(select scylla.reschedule(rn, now()) from scylla.task where queue = 'ask' and status = 'waiting'));
$restored->(q(select from scylla.lease('ask', 'w') l, scylla.complete(l.rn, 'w', '"restored"')));
is($restored->(q(select string_agg(rn || ' ' || args, ' ' order by rn) from scylla.task where status = 'ready' and rn in ('after', 'dumped'))), 'after ["restored"] dumped ["restored"]', 'the answer reaches all');
is($restored->(q(select count(*) from scylla.check())), '0', 'check() finds nothing after the restore');
sql($node, 'drop database restored');
sql($node, q(select scylla.cancel('dumped')));
eventually($node, $checks, '', 'no check is left here either');

# ---- what many waiters cost --------------------------------------------------------------------------------------------

sql($node, q(select count(*) from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'many', 'spec', n,
	'wait_for', on_check(to_jsonb('c' || n % 100), '1 min'))) from generate_series(1, 10000) n))));
is(sql($node, q(select count(*) || ' ' || min(waiters) || ' ' || max(waiters) from scylla.condition where kind = 'check')), '100 100 100', '10,000 waiters of 100 checks');
sql($node, 'vacuum analyze');
is(sql($node, q(select count(*) from scylla.lease('ask', 'w', 100, '1 h'))), '100', 'all of them are asked');
my $before = sql($node, 'select pg_current_wal_insert_lsn()');
is(sql($node, q(select count(scylla.not_yet(rn, 'w')) from scylla.task where queue = 'ask' and status = 'running')), '100', 'and answered');
my $bytes = sql($node, "select pg_current_wal_insert_lsn() - '$before'");
cmp_ok($bytes / 100, '<', 16384, 'an answer writes nothing for each waiter (' . int($bytes / 100) . ' bytes)');
is(sql($node, q(select count(*) from scylla.task where queue = 'ask' and status = 'waiting' and not_before - updated = '1 min')), '100', '100 answers a minute');
sql($node, q(select count(scylla.reschedule(rn, now())) from scylla.task where queue = 'ask' and status = 'waiting'));
sql($node, q(select count(scylla.complete(rn, 'w', '1')) from scylla.lease('ask', 'w', 100)));
eventually($node, q(select string_agg(distinct status::text, ' ') from scylla.task where queue = 'many'), 'ready', 'all have the answer');

# ---- handlers ----------------------------------------------------------------------------------------------------------

sql($node, q(
	create table landed (name text);
	create function look(task scylla.task) returns jsonb language sql as $$ select to_jsonb(name) from landed where to_jsonb(name) = task.spec $$;
	select scylla.create_queue('look', handler => 'look');
	select scylla.submit('q', '1', rn => 'h', wait_for => '[{"check": {"queue": "look", "spec": "file", "every": "50 ms"}}]');
	select scylla.submit('look', '"no check"', rn => 'no check')));
sql($node, q(call scylla.work('look', 2)));
is(sql($node, q(select answers > 0 from scylla.task where queue = 'look' and spec = '"file"')), 't', 'a handler that returns null answers "not yet"');
is(sql($node, q(select status || ' ' || answers from scylla.get_task('no check'))), 'completed 0', 'of a check only');
sql($node, q(insert into landed values ('file'); call scylla.work('look', 1, '10 s')));
eventually($node, q(select status || ' ' || args from scylla.get_task('h')), 'ready ["file"]', 'a value is the answer');

$node->stop;
done_testing();
