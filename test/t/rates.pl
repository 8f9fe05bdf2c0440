# A rate holds for everybody, and a rate per key for every key: in any window, however many sessions lease and roll back, after crashes and
# restarts, where places in shared memory are few, and without shared memory. Whoever waits sleeps until there is a token.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $folder = PostgreSQL::Test::Utils::tempdir;
PostgreSQL::Test::Utils::append_to_file("$folder/work.sql", "\\set way random(1, 4)\n\\set q random(1, 2)\n" .
	"call work('w' || :client_id, :way, (array['q', 'k'])[:q]);\n");

# Every call that leases is written down: when it began and ended, and how many it got. The bounds hold for the moments in between,
# so they hold for windows from a beginning to an end. One queue has a rate, and one a rate for each of so many keys.
sub work { return work_on_keys() =~ s/\bKEYS\b/$_[0]/r; }
sub work_on_keys { return q(
	create table got (bucket text, began timestamptz, ended timestamptz, tasks int);
	create table bound (queue text, burst int, per_second int);
	insert into bound values ('q', 20, 200), ('k', 4, 40);
	select scylla.create_queue(queue, rate => case queue when 'q' then rate end, rate_per_key => case queue when 'k' then rate end)
	from bound, jsonb_build_object('tasks', per_second, 'burst', burst) rate;
	select scylla.submit_bulk('q', array_agg(to_jsonb(n))) from generate_series(1, 400) n;
	select scylla.submit('k', to_jsonb(n), key => 'key ' || n % KEYS) from generate_series(1, 400) n;

	create procedure work(worker text, way int, queue text) language plpgsql as $$
	declare
		began timestamptz := clock_timestamp();
		lost jsonb := '{}';
		held jsonb;
	begin
		if way = 1 then
			-- What a savepoint has leased is not seen again, but its tokens are gone.
			begin
				lost := jsonb_object_agg(l.rn, coalesce(l.key, '')) from scylla.lease(queue, worker, 5) l;
				raise exception using errcode = 'SR000';
			exception when sqlstate 'SR000' then null;
			end;
			if current_setting('shared_preload_libraries') = '' then
				lost := '{}';
			end if;
		end if;
		held := jsonb_object_agg(l.rn, coalesce(l.key, '')) from scylla.lease(queue, worker, 1 + way * way, '1 h') l;
		insert into got select concat(queue, key), began, clock_timestamp(), count(*)
		from (select value from jsonb_each_text(lost) union all select value from jsonb_each_text(held)) t (key) group by key;
		perform scylla.complete_many(array(select jsonb_object_keys(held)), worker);
	end $$;

	-- Windows in which more was leased than the burst and what came in the time.
	create view too_many as
	select f.bucket, f.began, t.ended, sum(g.tasks) as tasks
	from (select distinct bucket, began from got) f join (select distinct bucket, ended from got) t on t.bucket = f.bucket and t.ended > f.began
	join got g on g.bucket = f.bucket and g.began >= f.began and g.ended <= t.ended join bound b on b.queue = left(f.bucket, 1)
	group by f.bucket, f.began, t.ended, b.burst, b.per_second
	having sum(g.tasks) > b.burst + b.per_second * extract(epoch from t.ended - f.began) + 1; -- clocks differ
); }

sub keeps_its_rate
{
	my ($node, $sessions, $keys) = @_;
	my $deadline = time + $PostgreSQL::Test::Utils::timeout_default;
	my ($ok, $left) = (1, 1);
	while ($ok && $left && time < $deadline)
	{
		$ok = PostgreSQL::Test::Utils::run_log([ 'pgbench', '-n', '-h', $node->host, '-p', $node->port, '-c', $sessions, '-j', '2',
				'-t', '20', '-f', "$folder/work.sql", 'postgres' ]);
		$left = sql($node, q(select count(*) from scylla.task where status = 'ready'));
	}
	is($left, 0, "$sessions sessions have leased every task");
	is(sql($node, 'select count(distinct bucket), count(*) > 100 from got'), ($keys + 1) . '|t', '... in many calls');
	is(sql($node, 'select * from too_many limit 3'), '', '... and never more than the burst and what came in the time');
	checked($node, 'check() finds nothing');
}

my $slow = q('{"tasks": 1, "per": "365 days", "burst": 10}');
sub leased { return sql($_[0], "select count(*) from scylla.lease('$_[1]', 'w', 10, '1 h')"); }

my $node = new_node('main', settings => 'max_connections = 100');
sql($node, 'create extension scylla;' . work(6));
keeps_its_rate($node, 32, 6);

# ---- what is not kept ---------------------------------------------------------------------------------------------------

sql($node, join "\n", map { "select scylla.create_queue('$_', $_ => $slow); select scylla.submit('$_', '1', key => 'k');" } qw(rate rate_per_key));
for my $when ('begins used up', 'is after a crash', 'is after a restart')
{
	$node->stop('immediate') if $when =~ /crash/;
	$node->stop if $when =~ /restart/;
	$node->start if $when =~ /after/;
	is(leased($node, $_), 0, "$_: a bucket $when") for qw(rate rate_per_key);
}

# ---- waiting --------------------------------------------------------------------------------------------------------------

my $pid;
sub naps { slurp_file("/proc/$pid/status") =~ /^voluntary_ctxt_switches:\s+(\d+)/m or die; return $1; }

# Tokens that come first, and at once: of the queue one, of two keys two.
for my $case ([ rate => 1 ], [ rate_per_key => 2 ])
{
	my ($which, $tokens) = @$case;
	my $q = "wait for $which";
	sql($node, qq(
		select scylla.create_queue('$q', $which => '{"tasks": 1, "per": "1 s"}');
		select scylla.submit('$q', '1', key => 'k' || n % 2) from generate_series(1, 6) n;));
	my $waiter = $node->background_psql('postgres', on_error_stop => 0);
	$pid = $waiter->query_safe('select pg_backend_pid()');
	my $wait = "call scylla.wait('$q', '1 min')";

	# The first call makes the bucket, and fills the caches.
	is($waiter->query($wait), 't', "$which: who waits for the first token gets it");
	is(leased($node, $q), $tokens, '... and a task');
	my $before = naps();
	is($waiter->query($wait), 't', 'who waits is woken when there is a token');
	cmp_ok(naps() - $before, '<', 50, '... and has slept until then');
	cmp_ok(leased($node, $q), '>=', 1, '... for whoever comes first');
	sql($node, qq(select scylla.alter_queue('$q', '{"$which": {"tasks": 1, "per": "1 day"}}')));
	is($waiter->query("call scylla.wait('$q', '100 ms')"), 'f', 'a token that does not come in time is not waited for');
	$waiter->query_until(qr/^begun$/m, "\\echo begun\ncall scylla.wait('$q', '1 h');\n\\echo ended\n");
	$node->poll_query_until('postgres', "select wait_event = 'Extension' from pg_stat_activity where pid = $pid and query ~* '^call'") or die;
	sql($node, qq(select scylla.alter_queue('$q', '{"$which": null}')));
	like($waiter->query_until(qr/^ended$/m, ''), qr/^t$/m, 'the end of the rate wakes');
	$waiter->quit;
}
$node->stop;

# ---- few places in shared memory ------------------------------------------------------------------------------------------

my $small = new_node('small', settings => "scylla.max_queues = 16\nscylla.max_rate_keys = 16");
sql($small, 'create extension scylla;' . work(60));
keeps_its_rate($small, 8, 60);
my @all = map { "q$_" } 1 .. 40;
sql($small, join "\n", map { my $which = /[02468]$/ ? 'rate_per_key' : 'rate';
	"select scylla.create_queue('$_', $which => $slow), scylla.submit('$_', '1', key => 'k');" } @all);
sql($small, join "\n", map { "select scylla.lease('$_', 'w', 10, '1 h');" } (@all) x 3);
is(sql($small, q(select count(*) from scylla.task where status = 'running')), 0, 'a bucket that has given way begins used up');
$small->stop;

# ---- without shared memory ------------------------------------------------------------------------------------------------

my $bare = new_node('bare', preload => 0);
sql($bare, "set client_min_messages = error; create extension scylla;" . work(6));
keeps_its_rate($bare, 8, 6);
sql($bare, join "\n", map { "select scylla.create_queue('$_', $_ => $slow); select scylla.submit('$_', '1', key => 'k');" } qw(rate rate_per_key));
is(leased($bare, $_), 0, "$_: a bucket begins used up") for qw(rate rate_per_key);
is(sql($bare, q(call scylla.wait_any('{rate,rate_per_key}', '600 ms'))), '', 'who waits looks for a token now and then');
is(sql($bare, q(call scylla.wait('q', '1 ms'))), 'f', '... and for tasks');
$bare->stop;
done_testing();
