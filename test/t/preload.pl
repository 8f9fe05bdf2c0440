# Without shared_preload_libraries: CREATE EXTENSION says once what is missing, every function works, and maintain() does
# by hand what the monitor would do. Settings that only a preloaded library knows do no harm.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $node = new_node('main', preload => 0, settings => "scylla.max_queues = 64\nscylla.retention = '1 d'");

my ($status, $out, $err) = $node->psql('postgres', 'create extension scylla');
is($status, 0, 'CREATE EXTENSION succeeds');
my $warnings = () = $err =~ /WARNING:/g;
is($warnings, 1, '... with one warning') or diag $err;
like($err, qr/WARNING:  scylla is not preloaded/, '... that says what is missing');
like($err, qr/HINT: .*shared_preload_libraries.*maintain\(\)/, '... and a hint that says what to do');

# The other functions do not repeat it, nor does a new session complain about the setting.
($status, $out, $err) = $node->psql('postgres', q(
	select rn, status from scylla.submit('q', '1', rn => 'a', priority => 1);
	select rn, status from scylla.submit('q', '2', rn => 'later', not_before => now() + interval '1 h');
	select * from scylla.submit_many('[{"queue": "q", "spec": 3, "rn": "b"}, {"queue": "q", "spec": 3, "rn": "b"}]');
	select scylla.submit_bulk('q', array['4', '5']::jsonb[], '{c,d}');
	select rn, attempt from scylla.lease('q', 'w');
	select rn, attempt from scylla.lease_task('b', 'w');
	select rn, progress from scylla.heartbeat('a', 'w', 0.5);
	select * from scylla.heartbeat_many('{a,b}', 'w');
	select rn, status from scylla.fail('b', 'w', '{"code": "x"}', retry_after => '0');
	select rn, status from scylla.complete_and_lease('{a}', 'w', 'q', 3);
	select * from scylla.complete_many('{b}', 'w');
	select rn, status from scylla.yield('c', 'w');
	select rn, status from scylla.abort('d', 'w', '{"code": "x"}');
	select rn, status from scylla.cancel('c');
	select rn, status from scylla.get_task('a');
	select rn, status from scylla.list_tasks();
	select scylla.create_queue('other');
	select scylla.register_worker();
	select * from scylla.check();
	show scylla.retention;));
is($status, 0, 'every function works');
is($out, <<'END' =~ s/\n\z//r, '... and gives what it should');
a|ready
later|waiting
b|t
b|f
2
a|1
b|1
a|0.5
a|t|running
b|t|running
b|ready
b|running
c|running
d|running
b|t|completed
c|ready
d|aborted
c|cancelled
a|completed
d|aborted
c|cancelled
b|completed
later|waiting
a|completed

registered-1
1d
END
is($err, '', '... without a word about preloading');

# maintain() is one round of the monitor.
sql($node, q(
	select scylla.submit('q', '1', rn => 'expired');
	select scylla.lease('q', 'w');
	update scylla.task_lease set deadline = now() - interval '1 s';
	update scylla.task_waiting set due = now() - interval '1 s';
	update scylla.task_outcome set finished = now() - interval '25 h' where status <> 'cancelled';
	update scylla.task_spec set created = now() - interval '26 h';));
is(sql($node, q(select rn, status from scylla.task where status in ('ready', 'completed', 'aborted') order by rn)),
	"a|completed\nb|completed\nd|aborted", 'nobody looks after time here');
sql($node, 'select scylla.maintain()');
is(sql($node, 'select rn, status, failures from scylla.task order by rn'), "c|cancelled|0\nexpired|ready|1\nlater|ready|0",
	'maintain() has ended the lease, opened the task and removed what was old');
checked($node, 'check() finds nothing');
is(sql($node, q(select count(*) from pg_stat_activity where backend_type like 'scylla%')), '0', 'there is no monitor');

# Workflows go on by hand.
sql($node, q~
	select scylla.create_queue('sql', handler => 'scylla.run_sql');
	select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "w", "steps": [
		{"step": {"id": "first", "type": "T", "transition": {"successors": {"ask": "true"}}}},
		{"step": {"id": "ask", "type": "Sql", "sql": "select 1 as n", "params": {"n": {"type": "LONG", "value": 0}}, "transition": {"successors": {"sleep": "n == 1"}}}},
		{"step": {"id": "sleep", "type": "Sleep", "params": {"sleep_seconds": {"type": "LONG", "value": 1}}}}]}}');
	select scylla.start_workflow('w');~);
my $steps = q(select string_agg(step || ' ' || status, ', ' order by step) from scylla.workflow_step);
sql($node, 'call scylla.advance()');
sql($node, q(select scylla.complete(rn, 'w') from scylla.lease('t', 'w')));
is(sql($node, $steps), 'first RUNNING', 'no engine takes up the end of a step');
sql($node, 'call scylla.advance()');
is(sql($node, $steps), 'ask RUNNING, first SUCCEEDED', 'advance() does');
sql($node, q(call scylla.work('sql')));
ok(comes(sub { sql($node, 'call scylla.advance()'); sql($node, 'select status from scylla.workflow_run') eq 'SUCCEEDED' }), 'and what has come due')
  or diag sql($node, $steps);
checked($node, 'check() finds nothing after a run');

# Preloaded for one's own sessions, by whatever way, changes nothing.
sql($node, q(alter system set session_preload_libraries = 'scylla'));
$node->reload;
is(sql($node, q(select rn from scylla.lease('q', 'w'))), 'later', 'session_preload_libraries does no harm');

# A submit to a queue that notifies can be prepared; it sends no notification then.
my $two_phase = new_node('two_phase', preload => 0, settings => 'max_prepared_transactions = 2');
sql($two_phase, q(create extension scylla; select scylla.create_queue(q, notify => true) from unnest('{q,r,s}'::text[]) q));
my $listener = $two_phase->background_psql('postgres');
$listener->query_safe('listen scylla');
is(sqlstate($two_phase, q(begin; select scylla.submit('q', '1'); prepare transaction 'p')), '', 'a submit to a queue with notify is prepared');
sql($two_phase, q(commit prepared 'p'));
sql($two_phase, q(begin; savepoint a; select scylla.submit('r', '1'); rollback to a; select scylla.submit('s', '1'), scylla.submit('s', '2'); commit));
my ($told) = $listener->query_until(qr/payload "s"/, "\\echo told\nselect 1;\n");
is(join(' ', $told =~ /payload "(\w+)"/g), 's', 'what is committed is told once, what is prepared or rolled back is not');
$listener->quit;
sql($two_phase, q(select scylla.create_queue('rated', rate => '{"tasks": 1, "per": "1 s"}'); select scylla.submit('rated', '1')));
my $leased = 0; # the bucket begins empty
for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
{
	last if ($leased = sql($two_phase, q(begin; select count(*) from scylla.lease('rated', 'w'); rollback)));
	select undef, undef, undef, 0.01;
}
is($leased, '1', 'a lease from a queue with a rate');
is(sql($two_phase, q(select count(*) from scylla.lease('rated', 'w'))), '1',
	'without preloading a lease that is rolled back gives its token back');
$two_phase->stop;

$node->stop;
done_testing();
