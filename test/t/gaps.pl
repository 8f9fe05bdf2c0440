# Gaps: leases in queues with keys and limits cost the same under a long transaction, however many tasks have run since; and nothing is
# lost by it, and no limit is exceeded. Costs are counted in pages, not in time.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

use constant PORTION => 2000;

my $node = new_node('main', settings => "autovacuum = off\nmax_connections = 40");
my $helpers = $pages_function . <<'SQL';
create extension scylla;
-- Tasks from low to high, of so many keys in turn.
create function submit(queue text, low int, high int, keys int = 10) returns bigint language sql as $$
	select count(*) from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', queue, 'spec', jsonb_build_object('n', n), 'key',
		'k' || n % keys, 'rn', queue || ' ' || n) order by n) from generate_series(low, high) n));
$$;
create function leased(queue text, worker text = 'w', max_tasks int = 1) returns text language sql as $$
	select string_agg(spec ->> 'n', ' ') from scylla.lease(queue, worker, max_tasks, '1 h');
$$;
create procedure work(queue text, tasks int, portion int = 10) language plpgsql as $$
declare
	rns text[];
begin
	while tasks > 0 loop
		select array_agg(rn) into rns from scylla.lease(queue, 'worker', least(portion, tasks), '1 h');
		if rns is null then
			raise exception 'nothing to lease in %', queue;
		end if;
		perform scylla.complete_many(rns, 'worker');
		tasks := tasks - cardinality(rns);
		commit;
	end loop;
end $$;
-- The pages that a lease looks at: the lowest of some, as now and then one walks over everything anew, for those who come next.
create procedure cost(queue text, inout lowest int) language plpgsql as $$
begin
	for i in 1 .. 30 loop
		lowest := least(lowest, pages(format($f$select from scylla.lease(%L, 'measure', 1, '1 h')$f$, queue)));
		commit;
		perform scylla.complete(rn, 'measure') from scylla.task where owner = 'measure' and status = 'running';
		commit;
	end loop;
end $$;
SQL
sql($node, $helpers);

sub hold_snapshot
{
	my ($node) = @_;
	my $holder = $node->background_psql('postgres');
	$holder->query_safe('begin isolation level repeatable read; select count(*) from pg_class');
	return $holder;
}

sub cost { return sql($_[0], "call cost('$_[1]', null)"); }

# ---- what a lease costs ---------------------------------------------------------------------------------------------------

# The cost at the beginning, and after one portion of tasks and another.
sub costs
{
	my ($node, $queue, $settings, $keys) = @_;
	sql($node, "select scylla.create_queue('$queue', $settings); select submit('$queue', 1, 2 * @{[PORTION]} + 500, $keys)");
	my @costs = cost($node, $queue);
	for (1, 2)
	{
		sql($node, "call work('$queue', @{[PORTION]})");
		push @costs, cost($node, $queue);
	}
	return @costs;
}

# The settings, the number of keys, and how many pages more than at the beginning a lease may look at: a level more of each index, and
# dead entries that are not worth a gap yet. Those of permits lead to rows, and are looked at twice.
my %queues = (
	'of keys that take turns' => [ q(key_weights => '{}'), 10, 40 ],
	'with a limit per key' => [ 'max_running_per_key => 3', 10, 120 ],
	'with a limit per key and one key' => [ 'max_running_per_key => 12', 1, 120 ],
	'with a limit' => [ 'max_running => 12', 1, 20 ],
	'with both limits and keys that take turns' => [ q(max_running_per_key => 3, max_running => 20, key_weights => '{}'), 10, 120 ],
	'of hundreds of keys that take turns' => [ q(key_weights => '{}', max_running_per_key => 1), 300, 120 ]);
my $holder = hold_snapshot($node);
for my $queue (sort keys %queues)
{
	my @costs = costs($node, $queue, @{ $queues{$queue} });
	my $most = $costs[0] + $queues{$queue}[2];
	cmp_ok($costs[1], '<=', $most, "a queue $queue: 2,000 tasks under a held snapshot cost a lease no more, $costs[0] and $costs[1] pages");
	cmp_ok($costs[2], '<=', $most, "... nor do 4,000: $costs[2]");
}

# Keys that are done stand between those that are not.
sql($node, q(
	select scylla.create_queue('done', key_weights => '{}');
	select submit('done', 1, 6000, 20);
	select scylla.cancel(rn) from scylla.task where queue = 'done' and key not in ('k0', 'k3', 'k7');));
cmp_ok(cost($node, 'done'), '<=', 400, 'keys that are done stand in nobody\'s way');
# A full key with many tasks stands in front.
sql($node, q(
	select scylla.create_queue('full', max_running_per_key => 2);
	select submit('full', 1, 3000, 1);
	select leased('full', 'long', 2);
	select submit('full', 3001, 7000, 4);));
my $full = cost($node, 'full');
sql($node, q(call work('full', 2500, 4)));
cmp_ok(cost($node, 'full'), '<=', $full + 120, 'nor does a full one');
# A worker that comes back for more.
sql($node, q(
	select scylla.create_queue('again', max_running_per_key => 8);
	select submit('again', 1, 4000, 1);
	create procedure work_on(queue text, calls int, inout lowest int) language plpgsql as $$
	declare
		rns text[] := '{}';
		n int;
	begin
		for i in 1 .. calls loop
			n := pages(format($f$select from scylla.complete_and_lease(%L, 'w', %L, 4, '1 h')$f$, rns, queue));
			lowest := case when calls - i < 20 then least(lowest, n) end;
			commit;
			rns := array(select rn from scylla.task_lease l join scylla.task_spec s using (id) where l.owner = 'w' and s.rn like work_on.queue || '%');
		end loop;
		perform scylla.complete_many(rns, 'w');
	end $$;));
my $again = sql($node, q(call work_on('again', 20, null)));
cmp_ok(sql($node, q(call work_on('again', 500, null))), '<=', $again + 120, 'complete_and_lease costs no more, either');

# A lease that has found nothing held, and rolls back: then all ids of the key are in gaps.
sql($node, q(
	select scylla.create_queue('all', max_running_per_key => 5);
	select submit('all', 1, 300, 1);
	create procedure look_again(queue text, turns int, inout leases int) language plpgsql as $$
	begin
		leases := 0;
		for i in 1 .. turns loop
			perform leased(queue);
			rollback;
			leases := leases + (leased(queue) is not null)::int;
			commit;
			perform scylla.complete_many(array(select rn from scylla.list_tasks(queue, 'running')), 'w');
			commit;
		end loop;
	end $$;));
is(sql($node, q(call look_again('all', 300, null))), '300', 'a key whose ids are all in gaps has its tasks leased');

# ---- what is in a gap comes to light ----------------------------------------------------------------------------------------

# A transaction is open for long; tasks of the same key come and go, and there is a gap where its tasks will be.
for my $settings (q(key_weights => '{}'), 'max_running_per_key => 5')
{
	my $q = "late <$settings>";
	$q =~ s/['{}]//g;
	sql($node, "select scylla.create_queue('$q', $settings)");
	sql($node, "select submit('$q', 1, 100, 1)");
	my $late = $node->background_psql('postgres');
	$late->query_safe("begin; select submit('$q', 101, 103, 1)");
	sql($node, "select submit('$q', 104, 1400, 1)");
	sql($node, "call work('$q', 250, 5)");
	cost($node, $q);
	$late->query_safe('commit');
	is(sql($node, "select leased('$q', 'w', 1)"), '101', "tasks that were committed late are leased first: $settings");
	sql($node, "call work('$q', 10, 3)");
	# One that comes back.
	is(sql($node, "select count(scylla.yield('$q 101', 'w'))"), '1', 'an old task comes back');
	is(sql($node, "select leased('$q', 'w', 1)"), '101', '... and is leased first');
	# In its own transaction nobody was told.
	is($late->query_safe("begin; select count(scylla.yield('$q 101', 'w')); select leased('$q', 'w', 1); rollback"), "1\n101",
		'... also in the same transaction');
	is($late->query_safe("begin; select count(scylla.yield('$q 101', 'w')); savepoint s; select leased('$q', 'w', 1); rollback to s; "
			. "select leased('$q', 'w', 1); rollback"), "1\n101\n101", '... and once more after a savepoint is rolled back');
	# A lease that is rolled back, while others go on.
	sql($node, "select count(scylla.yield('$q 101', 'w'))");
	$late->query_safe("begin; select leased('$q', 'w', 1)");
	sql($node, "call work('$q', 20, 1)");
	$late->query_safe('rollback');
	is(sql($node, "select leased('$q', 'w', 1)"), '101', 'a lease that is rolled back: the task is leased next');
	# Commits that tell nobody.
	sql($node, "begin; select scylla.yield('$q 101', 'w'); prepare transaction 'y'");
	sql($node, "call work('$q', 20, 1)");
	sql($node, "commit prepared 'y'");
	eventually($node, "select (scylla.complete(rn, 'w')).rn = '$q 101' from scylla.lease('$q', 'w')", 't',
		'... one that was yielded by a prepared transaction is found at last');
	$late->quit;
}

# A queue that goes by keys again: what has come meanwhile is no secret.
sql($node, q(
	select scylla.create_queue('changing', key_weights => '{}');
	select submit('changing', 1, 300, 1);
	select leased('changing', 'old', 5);));
sql($node, q(call work('changing', 200, 5)));
cost($node, 'changing');
sql($node, q(
	select scylla.alter_queue('changing', '{"key_weights": null}');
	select scylla.yield(rn, 'old') from scylla.task where queue = 'changing' and owner = 'old' and status = 'running';
	select scylla.alter_queue('changing', '{"key_weights": {}}');));
is(sql($node, q(select leased('changing', 'w', 6))), '1 2 3 4 5 236', 'what came back while a queue did not go by keys is leased first');

# ---- limits ---------------------------------------------------------------------------------------------------------------------

# Leases that lie between those of thousands that have ended; what is undone comes back, and counts.
sql($node, q(
	select scylla.create_queue('exact', max_running_per_key => 3);
	select submit('exact', 1, 2000, 1);
	select leased('exact', 'stays', 2);));
my $open = $node->background_psql('postgres', on_error_stop => 0);
for my $round (1 .. 3)
{
	sql($node, q(call work('exact', 200, 1)));
	is(sql($node, q(select count(*) from scylla.lease('exact', 'one', 5, '1 h'))), '1', 'one place is free');
	is($open->query_safe(q(begin; select count(scylla.complete(rn, 'one')) from scylla.task where owner = 'one' and status = 'running';
			select count(*) from scylla.lease('exact', 'one', 5, '1 h'); rollback;
			select count(*) from scylla.lease('exact', 'more', 5, '1 h'))), "1\n1\n0", 'a task that has not ended after all counts');
	is($open->query_safe(q(begin; savepoint s; select count(scylla.yield(rn, 'stays')) from scylla.task where owner = 'stays' and status = 'running';
			select count(*) from scylla.lease('exact', 'one', 5, '1 h'); rollback to s;
			select count(*) from scylla.lease('exact', 'more', 5, '1 h'); commit;
			select count(*) from scylla.lease('exact', 'more', 5, '1 h'))), "2\n2\n0\n0", '... also after a savepoint');
	$open->query_safe(q(begin; select count(scylla.complete(rn, 'one')) from scylla.task where owner = 'one' and status = 'running'));
	is(sql($node, q(select count(*) from scylla.lease('exact', 'more', 5, '1 h'))), '0', '... and while it is being ended');
	$open->query_safe('rollback');
	is(sql($node, q(select count(*) from scylla.lease('exact', 'more', 5, '1 h'))), '0', '... and after that');
	sql($node, q(select scylla.yield(rn, 'one') from scylla.task where owner = 'one' and status = 'running'));
	$open->query_safe(q(begin; select leased('exact', 'one', 1)));
	is(sql($node, q(select count(*) from scylla.lease('exact', 'more', 5, '1 h'))), '0', 'a lease that may be committed counts');
	$open->query_safe('rollback');
	sql($node, q(begin; select leased('exact', 'one', 1); prepare transaction 'p'));
	is(sql($node, q(select count(*) from scylla.lease('exact', 'more', 5, '1 h'))), '0', '... also that of a prepared transaction');
	sql($node, $round == 2 ? q(rollback prepared 'p'; select leased('exact', 'one', 1)) : q(commit prepared 'p'));
	is(sql($node, q(select count(*) from scylla.lease('exact', 'more', 5, '1 h'))), '0', '... whatever comes of it');
	# The limit goes, and comes back: leases of that time count, too.
	sql($node, q(select scylla.alter_queue('exact', '{"max_running_per_key": null}'); select leased('exact', 'free', 1);
		select scylla.alter_queue('exact', '{"max_running_per_key": 4}')));
	sql($node, 'select scylla.maintain()'); # the limit takes effect
	is(sql($node, q(select count(*) from scylla.lease('exact', 'more', 5, '1 h'))), '0', 'a lease of a time without a limit counts');
	sql($node, q(select scylla.complete(rn, 'free') from scylla.task where owner = 'free' and status = 'running';
		select scylla.alter_queue('exact', '{"max_running_per_key": 3}')));
	sql($node, q(select scylla.complete(rn, 'one') from scylla.task where owner = 'one' and status = 'running'));
}
$open->quit;
checked($node, 'check() finds nothing');

# ---- many sessions --------------------------------------------------------------------------------------------------------------

# Everything at once, under the held snapshot: leases that are completed, given back or rolled back, retries, new tasks. Nobody ever
# sees more tasks of a key than may run, and in the end each is done, once.
sql($node, q(
	select scylla.create_queue('race1', max_running_per_key => 2, retry => '{"initial": "0"}');
	select scylla.create_queue('race2', max_running_per_key => 2, key_weights => '{"k1": 3}', max_running => 9, retry => '{"initial": "0"}');
	select scylla.create_queue('race3', key_weights => '{}', retry => '{"initial": "0"}');
	select submit('race' || q, 1, 1500, 7) from generate_series(1, 3) q;
	create table done (rn text);
	create sequence more start 10001 increment 3;
	create function at_most() returns void language plpgsql as $$
	declare
		most text := (select string_agg(q.name || ' ' || permit || ' ' || count, ', ') from (select queue, permit, count(*) as count,
			sum(count(*)) over (partition by queue) as total from scylla.task_lease group by queue, permit) t join scylla.queue q on q.id = t.queue
			where q.name like 'race%' and (t.count > q.max_running_per_key or t.total > q.max_running));
	begin
		if most <> '' then
			raise exception 'too many run: %', most;
		end if;
	end $$;
	create procedure race(q text, worker text, way int) language plpgsql as $$
	declare
		held text[];
	begin
		if way = 1 then
			perform submit(q, n, n + 2, 7) from (select nextval('more')::int as n) t;
			if random() < 0.3 then
				rollback;
			end if;
			return;
		end if;
		held := array(select rn from scylla.lease(q, worker, 1 + way % 3, '1 h'));
		perform at_most();
		if way = 2 then
			rollback;
			return;
		end if;
		commit;
		perform at_most();
		if way = 3 then
			perform scylla.yield(rn, worker) from unnest(held) rn order by rn;
		elsif way = 4 then
			perform scylla.fail(rn, worker, '{"code": "x"}') from unnest(held) rn order by rn;
		elsif way = 5 then
			insert into done select unnest(held);
			perform rn from scylla.complete_and_lease(held, worker, q, 2, '1 h');
			perform at_most();
			commit;
			held := array(select rn from scylla.task_lease l join scylla.task_spec s using (id) where l.owner = worker);
			insert into done select rn from scylla.complete_many(held, worker) where completed;
		else
			insert into done select rn from scylla.complete_many(held, worker) where completed;
			if way = 6 then
				rollback;
				perform scylla.yield(rn, worker) from unnest(held) rn order by rn;
			end if;
		end if;
	end $$;));
my $folder = PostgreSQL::Test::Utils::tempdir;
write_script($folder, 'race.sql', "\\set way random(1, 9)\n\\set q random(1, 3)\ncall race('race' || :q, 'w' || :client_id, :way);\n");
$node->command_ok([ 'pgbench', '-n', '-c', '12', '-j', '2', '-t', '150', '-f', "$folder/race.sql", 'postgres' ],
	'twelve sessions under a held snapshot, and none ever sees more than may run');
is(sql($node, q(select count(*) from scylla.task where queue like 'race%' and status = 'running')), '0', 'nobody holds a task any more');
my $rest = 'select count(*) from scylla.task where queue like \'race%\' and status <> \'completed\'';
cmp_ok(sql($node, $rest), '>', 0, 'there are tasks left');
sql($node, q(create procedure drain() language plpgsql as $$
	declare
		held text[];
	begin
		for i in 1 .. 3 loop
			loop
				held := array(select rn from scylla.lease('race' || i, 'last', 20, '1 h'));
				exit when held = '{}';
				insert into done select rn from scylla.complete_many(held, 'last') where completed;
				commit;
			end loop;
		end loop;
	end $$; call drain()));
is(sql($node, $rest), '0', '... and each of them is found, though there are gaps everywhere');
is(sql($node, q(select count(*), count(distinct rn) from done)), sql($node, q(select count(*), count(*) from scylla.task where queue like 'race%')),
	'... and done once');
checked($node, 'check() finds nothing');
$holder->query_safe('commit');
$holder->quit;
$node->stop;

# ---- few places, and none ---------------------------------------------------------------------------------------------------------

# More keys than there are places, with keys that are too long for one.
my $small = new_node('small', settings => "autovacuum = off\nscylla.max_queues = 16");
sql($small, $helpers . q(
	select scylla.create_queue('crowd', key_weights => '{}', max_running_per_key => 2);
	select submit('crowd', 1, 3000, 250);
	select scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'crowd', 'spec', jsonb_build_object('n', n),
		'key', repeat('ä', 99 + n % 3))) from generate_series(3001, 3060) n));));
$holder = hold_snapshot($small);
sql($small, q(call work('crowd', 3060, 20)));
is(sql($small, q(select count(*), max(attempt) from scylla.task where status = 'completed')), '3060|1', 'more keys than places: every task is done');
$holder->quit;
$small->stop;

# What gaps save, and that the tests above can fail.
my $bare = new_node('bare', preload => 0, settings => 'autovacuum = off');
sql($bare, "set client_min_messages = warning;\n$helpers");
$holder = hold_snapshot($bare);
for my $queue ('with a limit per key', 'of keys that take turns', 'with a limit')
{
	my @costs = costs($bare, $queue, @{ $queues{$queue} });
	cmp_ok($costs[2], '>', $costs[0] + $queues{$queue}[2], "without shared memory a lease in a queue $queue costs more: $costs[0], $costs[1], $costs[2]");
}
$holder->quit;
$bare->stop;
done_testing();
