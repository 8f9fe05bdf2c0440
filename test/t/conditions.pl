# Conditions with a monitor: signals that are sent while tasks begin to wait for them, by two sessions whose transactions overlap at
# random; crashes and prepared transactions; how soon a signal opens a gate; purge. Nothing is lost, nothing opens twice.
#
# SCYLLA_TEST_ROUNDS=100000 races that often.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $rounds = $ENV{SCYLLA_TEST_ROUNDS} // 200;

# The monitor looks by itself so rarely that only what commits tell it can explain what it does here.
my $node = new_node('main', settings => "scylla.monitor = on\nscylla.monitor_interval = 30min");
sql($node, 'create extension scylla');
wait_for_monitor($node, 'postgres');
sql($node, q(select scylla.create_queue('q'); select scylla.send_signal('s', '{"n": 0}');));

my $waits = sub { my ($n) = @_; return qq('[{"signal": "s", "match": {"n": $n}}]') };

# ---- overlapping transactions ------------------------------------------------------------------------------------------

# The signal is looked for conditions before the task is there, and committed after the task has looked for signals: neither sees
# the other.
my $sender = $node->background_psql('postgres');
$sender->query_safe('begin');
$sender->query_safe(q(select scylla.send_signal('s', '{"n": 1}')));
sql($node, "select scylla.submit('q', '1', rn => 'overlooked', wait_for => " . $waits->(1) . ')');
is(sql($node, q(select status from scylla.get_task('overlooked'))), 'waiting', 'a task begins to wait while its signal is not committed');
$sender->query_safe('commit');
eventually($node, q(select status from scylla.get_task('overlooked')), 'ready', 'the monitor finds it when the signal is committed');

$sender->query_safe('begin');
$sender->query_safe("select scylla.submit('q', '1', rn => 'unseen', wait_for => " . $waits->(2) . ')');
sql($node, q(select scylla.send_signal('s', '{"n": 2}')));
$sender->query_safe('commit');
eventually($node, q(select status from scylla.get_task('unseen')), 'ready', 'a signal that was sent while the task was not committed is not lost');
$sender->quit;

# Two sessions at random: each waits and sends in transactions that hold still for a moment at any place.
sql($node, q(
	create procedure race(me int, seed float8, first int, last int) language plpgsql as $$
	begin
		perform setseed(seed);
		for n in first .. last loop
			-- Once, whatever is repeated after a crash.
			if me = 1 then
				perform scylla.submit('q', '1', rn => 'r' || n, on_duplicate => 'ignore', wait_for => jsonb_build_array(
					jsonb_build_object('signal', 's', 'match', jsonb_build_object('n', n))));
			else
				perform scylla.send_signal('s', jsonb_build_object('n', n), request_id => n::text);
			end if;
			if random() < 0.3 then perform pg_sleep(random() * 0.001); end if;
			if random() < 0.1 and me = 2 then rollback; perform scylla.send_signal('s', jsonb_build_object('n', n), request_id => n::text); end if;
			commit;
			-- Side by side, not one behind the other.
			perform pg_advisory_lock(me, n);
			for turn in 1 .. 10 loop
				exit when exists (select from pg_locks where locktype = 'advisory' and classid = 3 - me and objid >= n);
				perform pg_sleep(0.001);
			end loop;
			perform pg_advisory_unlock(me, n - 1);
		end loop;
	end $$;));
my $race = sub {
	my ($first, $last) = @_;
	return map { "call race($_, 0.$_, $first, $last)" } 1, 2;
};
my $last = 1000 + $rounds;
raced([ side_by_side($node, $race->(1001, $last)) ], "two sessions raced $rounds times");
eventually($node, q(select string_agg(distinct status::text, ' ') from scylla.task where rn like 'r%'), 'ready', 'every task has got its signal');
is(sql($node, q(select count(*) from scylla.task where rn like 'r%')), $rounds, 'each once');

# The same while the server crashes.
for my $kill (1 .. 3)
{
	my $out = '';
	my @sessions = map { IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-c', $_ ], '<', \undef, '>', \$out, '2>&1') } $race->($last + 1, $last + $rounds);
	eventually($node, "select count(*) > $kill * $rounds / 5 from scylla.signal where name = 's' and (params ->> 'n')::int > $last", 't', "while others race ($kill)");
	$node->stop('immediate');
	$_->finish for @sessions;
	$node->start;
}
raced([ side_by_side($node, $race->($last + 1, $last + $rounds)) ], "$rounds times more, with three crashes");
eventually($node, q(select string_agg(distinct status::text, ' ') from scylla.task where rn like 'r%'), 'ready', 'no signal is lost by that');
is(sql($node, q(select count(*) from scylla.task where rn like 'r%')), 2 * $rounds, 'and no task');
is(sql($node, q(select count(*) from scylla.task t where rn like 'r%' and t.args #>> '{0,params,n}' <> substr(rn, 2))), '0', 'its own');
is(sql($node, q(select count(*) from scylla.signal_condition)), '0', 'and no condition is left');
checked($node, 'check() finds nothing');

# ---- how soon ----------------------------------------------------------------------------------------------------------

sql($node, q(select scylla.submit('many', '1', rn => 'w' || n, wait_for => jsonb_build_array(jsonb_build_object('signal', 'many',
	'match', jsonb_build_object('k', n)))) from generate_series(1, 5000) n));
my $plan = sql($node, q(explain (analyze, buffers, costs off, timing off, summary off) select scylla.send_signal('many', '{"k": 17}')));
my ($buffers) = $plan =~ /shared hit=(\d+)/;
cmp_ok($buffers, '<', 1000, "a signal that opens one of 5,000 conditions on its name looks at few pages ($buffers)");
is(sql($node, q(select count(*) filter (where status = 'ready') from scylla.task where queue = 'many')), '1', 'and opens that one');

# Nothing is written while nothing happens, however often the monitor looks.
sql($node, q(alter system set autovacuum = off; alter system set scylla.monitor_interval = '20 ms'));
sql($node, 'vacuum analyze; checkpoint');
$node->reload;
my $look = sub {
	my $rounds = sql($node, 'select rounds from scylla.stat_monitor');
	eventually($node, "select rounds > $rounds + 50 from scylla.stat_monitor", 't', 'the monitor looks');
	return sql($node, 'select pg_current_wal_insert_lsn()');
};
my $lsn = $look->();
cmp_ok(sql($node, "select pg_wal_lsn_diff('" . $look->() . "', '$lsn')"), '<', 500, 'and writes nothing while 4,999 tasks wait');
sql($node, q(alter system reset autovacuum; alter system reset scylla.monitor_interval));
$node->reload;

# Waiting looks at few of the signals that were sent, by a plan that was made while there were hardly any.
my $bare = new_node('bare', settings => 'autovacuum = off');
sql($bare, 'create extension scylla');
my $waiting = $bare->background_psql('postgres');
my $submit = sub { my ($k) = @_; qq(select scylla.submit('q', '1', wait_for => '[{"signal": "sent", "match": {"k": $k}}]')) };
$waiting->query_safe($submit->(-$_)) for 1 .. 10;
sql($bare, q(select count(scylla.send_signal('sent', jsonb_build_object('k', k))) from generate_series(1, 5000) k));
$plan = $waiting->query_safe('explain (analyze, buffers, costs off, timing off, summary off) ' . $submit->(-11));
($buffers) = $plan =~ /shared hit=(\d+)/;
cmp_ok($buffers, '<', 300, "a task that waits for a signal looks at few of 5,000 that were sent under its name ($buffers)");
is($waiting->query_safe($submit->(4711) =~ s/select (.*)/select status from $1/r), 'ready', 'and finds the one that it waits for');
$waiting->quit;
$bare->stop;

# ---- crashes and prepared transactions ---------------------------------------------------------------------------------

sql($node, "select scylla.submit('q', '1', rn => 'prepared', wait_for => " . $waits->(5) . ')');
sql($node, q(begin; select scylla.send_signal('s', '{"n": 5}'); prepare transaction 'signal'));
is(sql($node, q(select status from scylla.get_task('prepared'))), 'waiting', 'a signal that is prepared has not happened');
$node->stop('immediate');
$node->start;
wait_for_monitor($node, 'postgres');
is(sql($node, q(select status from scylla.get_task('prepared'))), 'waiting', 'nor after a crash');
sql($node, q(commit prepared 'signal'));
is(sql($node, q(select status from scylla.get_task('prepared'))), 'ready', 'it has with COMMIT PREPARED');

sql($node, q(begin; select scylla.send_signal('s', '{"n": 6}'); prepare transaction 'signal'));
sql($node, "select scylla.submit('q', '1', rn => 'late', wait_for => " . $waits->(6) . ')');
sql($node, q(commit prepared 'signal'));
is(sql($node, q(select status from scylla.get_task('late'))), 'waiting', 'one that neither side saw, and whose commit tells nobody');
$node->stop('immediate');
$node->start;
eventually($node, q(select status from scylla.get_task('late')), 'ready', 'is found when a monitor starts');
sql($node, q(begin; select scylla.send_signal('s', '{"n": 7}'); prepare transaction 'signal'));
sql($node, "select scylla.submit('q', '1', rn => 'maintained', wait_for => " . $waits->(7) . ')');
sql($node, q(commit prepared 'signal'; select scylla.maintain()));
is(sql($node, q(select status from scylla.get_task('maintained'))), 'ready', 'or by maintain()');
checked($node, 'check() finds nothing after crashes');

# ---- what is removed ---------------------------------------------------------------------------------------------------

sql($node, q(select scylla.create_callback('used'); select scylla.create_callback('unused', '1 s'); select scylla.create_callback('open');
	select scylla.submit('c', '1', rn => 'c1', wait_for => '[{"callback": "used"}]'); select scylla.resolve_callback('used', '1');
	select scylla.cancel('c1');
	update scylla.task_callback set expires = now() - interval '30 days' where token = 'unused';
	update scylla.signal_sent set sent = sent - interval '30 days';
	update scylla.task_condition_end set ended = ended - interval '30 days';
	select scylla.purge()));
is(sql($node, q(select count(*) from scylla.signal_sent)), '0', 'signals go after their retention');
is(sql($node, q(select string_agg(token, ' ' order by token) from scylla.task_callback)), 'open used', 'callbacks that nobody waits for, too');
is(sql($node, q(select args #>> '{0,params,n}' from scylla.get_task('late'))), '6', 'but not what tasks have got');
sql($node, q(select scylla.cancel(rn) from scylla.task where status in ('ready', 'waiting');
	update scylla.task_outcome set finished = finished - interval '30 days'; select scylla.purge()));
is(sql($node, q(select (select count(*) from scylla.task), (select count(*) from scylla.task_condition_end),
	(select string_agg(token, ' ') from scylla.task_callback))), '0|0|open', 'conditions go with the last task that waited for them');
checked($node, 'check() finds nothing in the end');

$node->stop;
done_testing();
