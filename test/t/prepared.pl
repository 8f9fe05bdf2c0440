# PREPARE TRANSACTION: verbs take part in a prepared transaction like in any other. While it is prepared its tasks are
# passed over; COMMIT PREPARED and ROLLBACK PREPARED, from another session and after a crash, leave the right state, and
# the monitor sees what came of it although no commit has told it.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $node = new_node('main');
sql($node, 'create extension scylla');

for my $crash (0, 1)
{
	my $when = $crash ? 'after a crash' : 'at once';
	for my $end ('commit', 'rollback')
	{
		my $q = "$end$crash";
		my $committed = $end eq 'commit';
		sql($node, qq(
			select scylla.submit('$q', '1', rn => '$q-done');
			select scylla.lease('$q', 'w', timeout => '1 h');
			select scylla.submit('$q', '1', rn => '$q-cancelled');
			select scylla.submit('$q', '1', rn => '$q-leased', priority => 5);
			begin;
			select scylla.submit('$q', '1', rn => '$q-submitted', priority => 9);
			select scylla.submit('$q', '1', rn => '$q-delayed', not_before => now() + interval '1 h');
			select scylla.cancel('$q-cancelled');
			select scylla.lease_task('$q-leased', 'w', timeout => '1 h');
			select scylla.complete('$q-done', 'w', '"result"');
			prepare transaction '$q';));
		if ($crash)
		{
			$node->stop('immediate');
			$node->start;
		}

		is( sql($node, "select substr(rn, length('$q') + 2), status from scylla.task where queue = '$q' order by rn"),
			"cancelled|ready\ndone|running\nleased|ready",
			"$end prepared $when: nothing is seen of it before");
		is(sql($node, "select rn from scylla.lease('$q', 'w2', 10, '1 h')"), '', '... and its tasks are passed over');
		is(sql($node, 'select scylla.reset_expired()'), '0', '... without anybody waiting');
		sql($node, "$end prepared '$q'");
		is( sql($node, "select substr(rn, length('$q') + 2), status, owner, attempt from scylla.task where queue = '$q' order by rn"),
			$committed
			? "cancelled|cancelled||0\ndelayed|waiting||0\ndone|completed|w|1\nleased|running|w|1\nsubmitted|ready||0"
			: "cancelled|ready||0\ndone|running|w|1\nleased|ready||0",
			'... afterwards ' . ($committed ? 'all' : 'nothing') . ' of it has happened');
		# Nothing has told the leases of what COMMIT PREPARED made ready: they find it when they look again on their own.
		eventually($node, "select substr(rn, length('$q') + 2) from scylla.lease('$q', 'w2', 10, '1 h')",
			$committed ? 'submitted' : "leased\ncancelled",
			'... and what is ready can be leased');
		checked($node, '... check() finds nothing');
	}
}

# A lease and a delayed task that come by COMMIT PREPARED, when their time is already over.
sql($node, 'alter system set scylla.monitor = on');
$node->reload;
wait_for_monitor($node, 'postgres');
sql($node, q(
	begin;
	select scylla.submit('late', '1', rn => 'late-leased');
	select scylla.lease('late', 'w', timeout => '1 ms');
	select scylla.submit('late', '1', rn => 'late-due', not_before => clock_timestamp() + interval '1 ms');
	prepare transaction 'late';
	commit prepared 'late';));
eventually($node, q(select string_agg(rn || ' ' || status || ' ' || failures, ', ' order by rn) from scylla.task where queue = 'late'),
	'late-due ready 0, late-leased ready 1', 'the monitor finds a lease and a due task that COMMIT PREPARED brought');

# What a prepared transaction brings after a crash, which has made the monitor forget it: within monitor_interval.
sql($node, q(
	select scylla.send_signal('s', '{"n": 0}'), scylla.send_signal('t', '{"n": 0}'); -- the signals exist: nobody waits for who makes them
	select scylla.submit('bring', '1', rn => 'provider'), scylla.submit('bring', '1', rn => 'dependant', depends_on => '{provider}');
	select scylla.create_plan('plan'), scylla.submit('member', '1', rn => 'member', plan => 'plan'), scylla.open_plan('plan');
	begin; select scylla.submit('bring', '1', rn => 'waits', wait_for => '[{"signal": "s", "match": {"n": 2}}]'); prepare transaction 'wait';
	begin; select scylla.complete(rn, 'w') from scylla.lease('bring', 'w'); prepare transaction 'end';
	begin; select scylla.complete(rn, 'w') from scylla.lease('member', 'w'); prepare transaction 'member';
	begin; select scylla.send_signal('t', '{"n": 3}'); prepare transaction 'send';
	select scylla.submit('bring', '1', rn => 'hears', wait_for => '[{"signal": "t", "match": {"n": 3}}]');
	select scylla.send_signal('s', '{"n": 2}');));
$node->stop('immediate');
$node->start;
wait_for_monitor($node, 'postgres');
# Its walks after the start are over: they have found nothing.
sql($node, q(select scylla.submit('bring', '1', rn => 'walked', not_before => clock_timestamp() + interval '1 ms')));
eventually($node, q(select status from scylla.get_task('walked')), 'ready', 'a monitor works after the crash');
is(sql($node, q(select string_agg(status::text, ' ' order by rn) from scylla.task where rn in ('dependant', 'hears'))), 'waiting waiting',
	'what a prepared transaction will open waits');
sql($node, "commit prepared '$_'") for 'wait', 'end', 'member', 'send';
eventually($node, q(select status from scylla.get_task('waits')), 'ready', 'a wait that COMMIT PREPARED brings after a crash opens');
eventually($node, q(select status from scylla.get_task('dependant')), 'ready', '... and one for a task that it ends');
eventually($node, q(select status from scylla.get_task('hears')), 'ready', '... and one for a signal that it sends');
eventually($node, q(select finished is not null from scylla.plan where name = 'plan'), 't', '... and the plan of a task that it ends is finished');
checked($node, 'check() finds nothing at the end');

$node->stop;
done_testing();
