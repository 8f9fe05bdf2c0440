# A rate holds for everybody: in any window, however many sessions lease and roll back, after crashes and restarts, where
# places in shared memory are few, and without shared memory. Whoever waits sleeps until there is a token.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $folder = PostgreSQL::Test::Utils::tempdir;
PostgreSQL::Test::Utils::append_to_file("$folder/work.sql", "\\set way random(1, 4)\ncall work('w' || :client_id, :way);\n");

# Every call that leases is written down: when it began and ended, and how many it got. The bounds hold for the moments in between,
# so they hold for windows from a beginning to an end.
my $work = q(
	create table got (began timestamptz, ended timestamptz, tasks int);
	select scylla.create_queue('q', rate => '{"tasks": 200, "per": "1 s", "burst": 20}');
	select scylla.submit_bulk('q', array_agg(to_jsonb(n))) from generate_series(1, 400) n;

	create procedure work(worker text, way int) language plpgsql as $$
	declare
		began timestamptz := clock_timestamp();
		held text[];
		tasks int := 0;
	begin
		if way = 1 then
			-- What a savepoint has leased is not seen again, but its tokens are gone.
			begin
				tasks := count(*) from scylla.lease('q', worker, 5);
				raise exception using errcode = 'SR000';
			exception when sqlstate 'SR000' then null;
			end;
		end if;
		held := array(select l.rn from scylla.lease('q', worker, 1 + way * way, '1 h') l);
		insert into got values (began, clock_timestamp(), tasks * (current_setting('shared_preload_libraries') <> '')::int + cardinality(held));
		perform scylla.complete_many(held, worker);
	end $$;

	-- Windows in which more was leased than the burst and what came in the time.
	create view hit as select * from got where tasks > 0;
	create view too_many as
	select f.began, t.ended, sum(g.tasks) as tasks
	from (select distinct began from hit) f join (select distinct ended from hit) t on t.ended > f.began join hit g on g.began >= f.began and g.ended <= t.ended
	group by f.began, t.ended
	having sum(g.tasks) > 20 + 200 * extract(epoch from t.ended - f.began) + 1; -- clocks differ);

sub keeps_its_rate
{
	my ($node, $sessions) = @_;
	my $deadline = time + $PostgreSQL::Test::Utils::timeout_default;
	my ($ok, $left) = (1, 1);
	while ($ok && $left && time < $deadline)
	{
		$ok = PostgreSQL::Test::Utils::run_log([ 'pgbench', '-n', '-h', $node->host, '-p', $node->port, '-c', $sessions, '-j', '2',
				'-t', '20', '-f', "$folder/work.sql", 'postgres' ]);
		$left = sql($node, q(select count(*) from scylla.task where queue = 'q' and status = 'ready'));
	}
	is($left, 0, "$sessions sessions have leased every task");
	is(sql($node, q(select count(*) > 20 from hit)), 't', '... in many calls');
	is(sql($node, 'select * from too_many limit 3'), '', '... and never more than the burst and what came in the time');
	checked($node, 'check() finds nothing');
}

my $slow = q('{"tasks": 1, "per": "365 days", "burst": 10}');
sub leased { return sql($_[0], "select count(*) from scylla.lease('$_[1]', 'w', 10, '1 h')"); }

my $node = new_node('main', settings => 'max_connections = 100');
sql($node, "create extension scylla; $work");
keeps_its_rate($node, 32);

# ---- what is not kept ---------------------------------------------------------------------------------------------------

sql($node, "select scylla.create_queue('slow', rate => $slow); select scylla.submit('slow', '1')");
is(leased($node, 'slow'), 0, 'a bucket begins used up');
$node->stop('immediate');
$node->start;
is(leased($node, 'slow'), 0, '... after a crash');
$node->restart;
is(leased($node, 'slow'), 0, '... and after a restart');

# ---- waiting --------------------------------------------------------------------------------------------------------------

sql($node, q(
	select scylla.create_queue('w', rate => '{"tasks": 1, "per": "2 s"}');
	select scylla.submit_bulk('w', array_agg(to_jsonb(n))) from generate_series(1, 4) n;));
my $waiter = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $waiter->query_safe('select pg_backend_pid()');
sub naps { slurp_file("/proc/$pid/status") =~ /^voluntary_ctxt_switches:\s+(\d+)/m or die; return $1; }
sub wait_once { return $waiter->query("call scylla.wait('w', '1 min')"); }

# The first call makes the bucket, and fills the caches.
is(wait_once(), 't', 'who waits for the first token gets it');
is(leased($node, 'w'), 1, '... and a task');
my $before = naps();
is(wait_once(), 't', 'who waits is woken when there is a token');
cmp_ok(naps() - $before, '<', 50, '... and has slept until then');
is(leased($node, 'w'), 1, '... for whoever comes first');
sql($node, q(select scylla.alter_queue('w', '{"rate": {"tasks": 1, "per": "1 day"}}')));
is($waiter->query("call scylla.wait('w', '100 ms')"), 'f', 'a token that does not come in time is not waited for');
$waiter->query_until(qr/^begun$/m, "\\echo begun\ncall scylla.wait('w', '1 h');\n\\echo ended\n");
$node->poll_query_until('postgres', "select wait_event = 'Extension' from pg_stat_activity where pid = $pid and query ~* '^call'") or die;
sql($node, q(select scylla.alter_queue('w', '{"rate": null}')));
like($waiter->query_until(qr/^ended$/m, ''), qr/^t$/m, 'the end of the rate wakes');
$waiter->quit;
$node->stop;

# ---- few places in shared memory ------------------------------------------------------------------------------------------

my $small = new_node('small', settings => 'scylla.max_queues = 16');
my @all = map { "q$_" } 1 .. 40;
sql($small, join "\n", 'create extension scylla;', map { "select scylla.create_queue('$_', rate => $slow), scylla.submit('$_', '1');" } @all);
sql($small, join "\n", map { "select scylla.lease('$_', 'w', 10, '1 h');" } (@all) x 3);
is(sql($small, q(select count(*) from scylla.task where status = 'running')), 0, 'a bucket that has given way begins used up');
$small->stop;

# ---- without shared memory ------------------------------------------------------------------------------------------------

my $bare = new_node('bare', preload => 0);
sql($bare, "set client_min_messages = error; create extension scylla; $work");
keeps_its_rate($bare, 8);
sql($bare, "select scylla.create_queue('slow', rate => $slow); select scylla.submit('slow', '1')");
is(leased($bare, 'slow'), 0, 'a bucket begins used up');
is(sql($bare, q(call scylla.wait('slow', '600 ms'))), 'f', 'who waits looks for a token now and then');
is(sql($bare, q(call scylla.wait('q', '1 ms'))), 'f', '... and for tasks');
$bare->stop;
done_testing();
