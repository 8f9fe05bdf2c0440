# Heads: a lease starts where the ready tasks begin, whatever dead entries lie before them, and no task is lost by it:
# whatever brings a ready task, it is leased in its turn. Costs are counted in pages, not in time.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use IPC::Run;
use List::Util qw(min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

# How many pages more than at the start a lease may look at: a level more of each index, and what concurrent work leaves on
# a page or two.
use constant A_FEW => 15;
use constant PORTION => 20000;

my $node = new_node('main', allows_streaming => 1, settings => "autovacuum = off\nmax_connections = 40");
my $folder = PostgreSQL::Test::Utils::tempdir;
my $session;

# Tasks are numbered in their specification: {"n": 1}.
my $helpers = $pages_function . <<'SQL';
create extension scylla;
create function submit(queue text, low int, high int, priority int = 0) returns bigint language sql as $$
	select scylla.submit_bulk(queue, array_agg(jsonb_build_object('n', n) order by n), priority => priority)
	from generate_series(low, high) n;
$$;
create function leased(queue text, worker text = 'w', max_tasks int = 1) returns text language sql as $$
	select string_agg(spec ->> 'n', ' ') from scylla.lease(queue, worker, max_tasks, '1 h');
$$;
-- What a worker holds, in the order of the numbers.
create function held(queue text, worker text) returns text[] language sql as $$
	select array_agg(rn order by (spec ->> 'n')::int) from scylla.task t where t.queue = $1 and owner = worker and status = 'running';
$$;
create function yielded(queue text, worker text) returns bigint language sql as $$
	select count(scylla.yield(rn, worker)) from unnest(held(queue, worker)) rn;
$$;
-- Leases and completes so many tasks.
create procedure work(queue text, tasks int, portion int = 50) language plpgsql as $$
declare
	rns text[];
begin
	for i in 1 .. tasks / portion loop
		select array_agg(rn) into rns from scylla.lease(queue, 'worker', portion, '1 h');
		perform scylla.complete_many(rns, 'worker');
		commit;
	end loop;
end $$;
SQL
my $lost = <<'SQL';
-- (I) of src/shmem/heads.h, for rows that are committed and told: the queues that break it.
create view lost as
	select q.name as queue, count(*) from scylla.task_ready r join scylla.queue q on q.id = r.queue
	left join scylla.stat_heads h on h.queue = q.name and h.priority = r.priority
	where h.queue is null or (r.id < h.frontier and not h.returned @> r.id) group by q.name;
SQL
sql($node, $helpers . $lost);

# A session of its own.
sub session
{
	my ($node, $database) = @_;
	my $session = $node->background_psql($database // 'postgres', on_error_stop => 0);
	$session->query_safe('set client_min_messages = warning');
	return $session;
}

# Runs statements in a session that stays.
sub run
{
	my ($sql) = @_;
	return $session->query_safe($sql);
}

# The query has a row in any case: background_psql of PostgreSQL 16.8 tells of none by its own mark.
sub lost
{
	my $where = shift // '';
	return "select coalesce(string_agg(lost::text, ' '), 'none') from lost $where";
}

sub leases
{
	my ($expected, $queue, $count, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(run("select leased('$queue', 'w', $count)"), $expected, $name);
}

sub numbers { return join ' ', @_; }

# The pages that one lease looks at: the median of a few, as now and then one extends a table, or derives the head anew.
sub cost
{
	my ($queue) = @_;
	my @pages = sort { $a <=> $b } split /\n/, run("select pages(\$\$select from scylla.lease('$queue', 'w')\$\$);\n" x 7);
	return $pages[3];
}

# A session that holds a snapshot, so that no dead entry can be removed.
sub hold_snapshot
{
	my $holder = session($node);
	$holder->query_safe('begin isolation level repeatable read; select count(*) from pg_class');
	return $holder;
}

$session = session($node);

# ---- dead entries -------------------------------------------------------------------------------------------------------

sub costs_of_work
{
	my ($queue) = @_;
	run("select submit('$queue', 1, 2 * @{[PORTION]} + 100); select leased('$queue')");
	my @costs = cost($queue);
	for (1, 2)
	{
		run("call work('$queue', @{[PORTION]})");
		push @costs, cost($queue);
	}
	return @costs;
}

my $holder = hold_snapshot;
my @costs = costs_of_work('dead');
cmp_ok($costs[0], '<=', 60, "a lease looks at few pages: $costs[0]");
cmp_ok($costs[1], '<=', $costs[0] + A_FEW, "after 20,000 tasks under a held snapshot at no more: $costs[1]");
cmp_ok($costs[2], '<=', $costs[0] + A_FEW, "... and after 40,000: $costs[2]");
my $cheap = $costs[0] + A_FEW;

# ---- old ids that come back ---------------------------------------------------------------------------------------------

# Tasks 1 to 6 of a queue are old: 20,000 later ones have been done since.
run(q(select scylla.submit('old', '{"n": 5}', not_before => now() + interval '1 h');
	select submit('old', 1, 4);
	select submit('old', 6, 20200);
	select leased('old', 'a'), leased('old', 'b'), leased('old', 'c'), leased('old', 'd'), leased('old', 'f');
	call work('old', 20000);));
is(run(q(select string_agg(leased('old'), ' ') from generate_series(1, 2))), '20007 20008', 'old tasks are held while others are done');
run(q(select yielded('old', 'a')));
leases('1', 'old', 1, 'a task that was yielded is leased next');
leases('20009', 'old', 1, '... and then the others again');
cmp_ok(cost('old'), '<=', $cheap, '... cheaply');
run(q(select scylla.fail((held('old', 'b'))[1], 'b', '{"code": "x"}', '0')));
leases('2', 'old', 1, 'a task that failed and is retried at once is leased next');
cmp_ok(cost('old'), '<=', $cheap, '... and the others cheaply');
run(q(select scylla.fail((held('old', 'c'))[1], 'c', '{"code": "x"}', '1 h');
	update scylla.task_waiting set due = now() - interval '1 s' where id in (select id from scylla.task_spec where spec in ('{"n": 3}', '{"n": 5}'));
	update scylla.task_lease set deadline = now() - interval '1 s' where owner = 'd';
	select yielded('old', 'f');
	select scylla.maintain();));
leases('5 3 4 6', 'old', 4, 'a retry and a delayed task that fall due, a lease that expires and a yield: oldest first');
cmp_ok(cost('old'), '<=', $cheap, '... and the others cheaply');
is(run(lost()), 'none', '... the head knows every ready task');

# Each of them costs little, too. The least of a few: once a second a lease takes a step of the derivation.
run(q(select leased('old', 'a'); call work('old', 50);));
my @back = map { run(q(select yielded('old', 'a'))); run(q(select pages($$select from scylla.lease('old', 'a')$$))) } 1 .. 3;
cmp_ok(min(@back), '<=', $cheap, "the lease of a task that came back is cheap itself: @back");

# Many come back in one transaction: more than a head can keep apart.
for my $many (500, 5000)
{
	run(qq(select submit('many$many', 1, $many + 21000);
		select length(leased('many$many', 'y', $many));
		call work('many$many', 20000);));
	is(run(qq(select yielded('many$many', 'y'))), $many, "$many tasks come back in one transaction");
	leases(numbers(1 .. $many), "many$many", $many, '... they are leased, oldest first');
	leases($many + 20001, "many$many", 1, '... then the others');
	cmp_ok(cost("many$many"), '<=', $cheap, '... cheaply again');
	# The other way round, and one by one.
	run(qq(select scylla.yield(rn, 'w') from unnest(held('many$many', 'w')) with ordinality u (rn, at) order by at desc));
	leases(numbers(1 .. 300), "many$many", 300, '... and when the youngest comes back first');
	run(qq(do \$\$ declare rn text; begin
		foreach rn in array held('many$many', 'w') loop perform scylla.yield(rn, 'w'); commit; end loop;
	end \$\$));
	leases(numbers(1 .. 300), "many$many", 300, '... and in a transaction each');
	is(run(lost()), 'none', '... the head knows every ready task');
}
$holder->query_safe('commit');

# ---- leases that are rolled back ----------------------------------------------------------------------------------------

# How a lease is taken and undone; whether others can have the task before the transaction ends.
my %undo = (
	'rollback' => [ q(begin; select leased('%s', 'a')), 'rollback' ],
	'rollback to a savepoint' => [ q(begin; savepoint s; select leased('%s', 'a')), 'rollback to s; commit' ],
	'rollback to a savepoint, the transaction going on' => [ q(begin; savepoint s; select leased('%s', 'a')), 'rollback to s' ],
	'exception in PL/pgSQL' => [ q(begin;
		do $$ begin
			begin perform leased('%s', 'a'); raise 'undo'; exception when raise_exception then null; end;
		end $$), 'commit' ],
	'termination' => [ q(begin; select leased('%s', 'a')), undef ]);
my $n = 0;
for my $how (sort keys %undo)
{
	my ($take, $end) = @{ $undo{$how} };
	for my $meanwhile ('nothing', 'others move on', 'others find nothing')
	{
		my $q = 'undone' . ++$n;
		my $tasks = $meanwhile eq 'others find nothing' ? 1 : 50;
		run("select submit('$q', 1, $tasks)");
		my $other = session($node);
		my $pid = $other->query_safe('select pg_backend_pid()');
		$other->query_safe(sprintf $take, $q);
		my $free = $how =~ /exception/;
		if ($meanwhile eq 'others move on')
		{
			is(run("select string_agg(leased('$q'), ' ') from generate_series(1, 3)"), $free ? '1 2 3' : '2 3 4', "$how: others pass over the task");
			run("call work('$q', 30, 1)");
			run(qq(select yielded('$q', 'w'))) if $free;
		}
		elsif ($meanwhile eq 'others find nothing' && !$free)
		{
			is(run("select count(*) from generate_series(1, 5), scylla.lease('$q', 'w')"), '0', "$how: others find nothing meanwhile");
		}
		if (defined $end)
		{
			$other->query_safe($end);
		}
		else
		{
			run("select pg_terminate_backend($pid, 60000)");
		}
		leases('1', $q, 1, "$how: the next lease has the task ($meanwhile)");
		$other->query_safe('commit') if $how =~ /going on/;
		eval { $other->quit };
	}
}
is(run(lost()), 'none', 'the heads know every ready task');

# ---- transactions that commit late --------------------------------------------------------------------------------------

run(q(select scylla.create_queue('late')));
for my $tasks (1, 3, 200)
{
	my $late = session($node);
	my ($low, $high) = ($tasks * 1000, $tasks * 1000 + $tasks - 1);
	$late->query_safe("begin; select submit('late', $low, $high)");
	run(qq(select submit('late', 1, 60); select leased('late', 'w', 10); call work('late', 40, 1);
		select leased('late', 'w', 100); select leased('late') from generate_series(1, 3);));
	$late->query_safe('commit');
	leases(numbers($low .. $high), 'late', $tasks + 10, "tasks of a transaction that commits after younger ones were leased: $tasks");
	$late->quit;
}

# A scan that goes on while others commit must not conclude that there is nothing where it has been. An index whose function
# waits for a lock stops a lease in the middle.
run(q(
	create function stop_slow(owner text) returns text language plpgsql immutable as $$
	begin
		if owner = 'slow' then
			perform pg_advisory_xact_lock_shared(1);
		end if;
		return owner;
	end $$;
	create index stop_slow on scylla.task_lease (stop_slow(owner));
	select scylla.create_queue('slow');));
my ($stopper, $late, $slow) = (session($node), session($node), session($node));
$stopper->query_safe('select pg_advisory_lock(1)');
$late->query_safe(q(begin; select submit('slow', 1, 10)));
run(q(select submit('slow', 11, 100), leased('slow', 'w', 40); select leased('slow');));
$slow->query_until(qr/begun/, "\\echo begun\nselect leased('slow', 'slow', 2);\n");
eventually($node, q(select count(*) from pg_locks where locktype = 'advisory' and not granted), '1', 'a lease has begun its scan');
$late->query_safe('commit');
leases('1 2 3', 'slow', 3, 'others lease what has been committed since');
leases('4', 'slow', 1, '... and go on with it');
$stopper->query_safe('select pg_advisory_unlock(1)');
is($slow->query_safe('select 1'), "52 53\n1", 'the slow lease has what it has seen');
leases(numbers(5 .. 10), 'slow', 6, '... and what it has not seen is still found');
run('drop index scylla.stop_slow');
$_->quit for $stopper, $late, $slow;

# ---- heads begin anew ---------------------------------------------------------------------------------------------------

# Does something while a queue's frontier is far beyond its beginning; then the next lease must find task 1.
sub found_after
{
	my ($what, $sql, $expected, $how_many) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	run(q(select submit('anew', 1, 10); select leased('anew', 'w', 5); select leased('anew'), leased('anew');));
	run($sql);
	leases($expected // '8 9 10', 'anew', $how_many // 100, "found after $what");
	leases('', 'anew', 1, '... and nothing else');
}
found_after('REINDEX', 'reindex table scylla.task_ready');
found_after('VACUUM FULL', 'vacuum full scylla.task_ready');
found_after('CLUSTER', 'cluster scylla.task_ready using task_ready_order');
my $all = join ', ', map { "scylla.$_" } qw(queue task_spec task_ready task_lease task_waiting task_outcome);
found_after('TRUNCATE and RESTART of the sequences', qq(truncate $all;
	alter sequence scylla.task_id_seq restart; alter sequence scylla.queue_id_seq restart;
	select submit('anew', 1, 3);), '1 2 3');
found_after('TRUNCATE that is rolled back', "begin; truncate scylla.task_ready; select submit('anew', 100, 110); rollback");
found_after('TRUNCATE and new tasks in one transaction', "begin; truncate $all; select submit('anew', 1, 3); commit", '1 2 3');
found_after('DROP EXTENSION and CREATE EXTENSION', q(
	drop view lost;
	drop extension scylla;
	create extension scylla;
	select submit('anew', 1, 3);), '1 2 3');
run($lost);

# ---- rows that come without a commit callback ---------------------------------------------------------------------------

# Nothing tells a head of them: they are found when it is derived again. That may take some leases, while others are leased.
sub found_at_last
{
	my ($what, $queue, $n) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	eventually($node, "select leased('$queue') ~ '^($n)\$'", 't', "found at last: $what");
}
# Every task of the queue is leased once; then there are 100 more, and the frontier is there.
sub old_queue
{
	my ($queue, $tasks, $more) = @_;
	run("select submit('$queue', 1, $tasks), leased('$queue', 'y', $tasks)");
	run("select submit('$queue', 1001, 1000 + $more)") if $more;
	run("select leased('$queue'), leased('$queue')");
}
for my $more (0, 100)
{
	my $others = $more ? 'others are ready, too' : 'nothing else is ready';
	my $q = "hand$more";
	old_queue($q, 10, $more);
	my $id = qq(select id from scylla.task_spec s where spec = '{"n": 3}' and queue = (select id from scylla.queue where name = '$q'));
	# A backup of the rows of a ready task is brought back.
	run(qq(select scylla.yield((held('$q', 'y'))[3], 'y');
		copy (select * from scylla.task_ready where id = ($id)) to '$folder/$q.ready';
		delete from scylla.task_ready where id = ($id);
		select leased('$q'), leased('$q');
		copy scylla.task_ready from '$folder/$q.ready';));
	found_at_last("COPY, $others", $q, 3);
	run(qq(begin;
		with gone as (delete from scylla.task_lease where id = ($id) returning *)
		insert into scylla.task_ready (id, updated, queue, attempt, failures, priority)
			select id, updated, queue, attempt, failures, 0 from gone;
		commit;));
	found_at_last("INSERT by hand, $others", $q, 3);
	# A ready task is put into another queue.
	run(qq(select submit('source$more', 3, 3);
		update scylla.task_ready r set queue = q.id from scylla.queue q, scylla.queue s where q.name = '$q' and s.name = 'source$more' and r.queue = s.id;
		update scylla.task_spec r set queue = q.id from scylla.queue q, scylla.queue s where q.name = '$q' and s.name = 'source$more' and r.queue = s.id;));
	found_at_last("UPDATE of the queue by hand, $others", $q, 3);
	# And to a priority where there has never been anything.
	run(qq(select submit('$q', 4, 4);
		select leased('$q'), leased('$q') where $more = 0;
		select submit('$q', 5, 5, 1);
		update scylla.task_ready r set priority = 77 from scylla.task_spec s where s.id = r.id and s.spec = '{"n": 5}';
		update scylla.task_spec set priority = 77 where spec = '{"n": 5}';));
	found_at_last("UPDATE of the priority by hand, $others", $q, 5);
}

# ---- two-phase commit ---------------------------------------------------------------------------------------------------

$holder = hold_snapshot;
for my $more (0, 1000)
{
	my $others = $more ? 'while others are leased' : 'with nothing else to lease';
	my $q = "prepared$more";
	run(qq(select submit('$q', 1, 3); select leased('$q', 'y', 3);
		begin; select submit('$q', 50, 50); prepare transaction 'submit';
		select submit('$q', 1000, 21000); call work('$q', 20000); select leased('$q');
		select submit('$q', 30001, 30000 + $more) where $more > 0;
		select leased('$q'); commit prepared 'submit';));
	found_at_last("a submitted task, commit prepared $others, under a held snapshot", $q, 50);
	for my $end ('commit', 'rollback')
	{
		my $name = "$end prepared $others, under a held snapshot";
		run(qq(begin; select scylla.yield((held('$q', 'y'))[1], 'y'); prepare transaction 'yield'; select leased('$q'); $end prepared 'yield'));
		found_at_last("a yielded task, $name", $q, 1) if $end eq 'commit';
		run(qq(select scylla.yield((held('$q', 'y'))[1], 'y')));
		is(run(qq(begin; select leased('$q'); prepare transaction 'lease')), '2', 'a lease is prepared');
		isnt(run(qq(select coalesce(leased('$q'), ''))), '2', '... others pass over its task');
		run("$end prepared 'lease'");
		if ($end eq 'rollback')
		{
			found_at_last("a leased task, $name", $q, 2);
		}
		else
		{
			isnt(run(qq(select coalesce(leased('$q'), ''))), '2', "... after $name, too");
			run(qq(select scylla.yield(rn, 'w') from unnest(held('$q', 'w')) rn where (scylla.get_task(rn)).spec = '{"n": 2}'));
			leases('2', $q, 1, '... until it comes back');
			run(qq(update scylla.task_lease set owner = 'y' where id in (select id from scylla.task_spec where spec = '{"n": 2}')));
		}
	}
}
$holder->query_safe('commit');
$holder->quit;

checked($node, 'check() finds nothing');

# ---- many sessions at once ----------------------------------------------------------------------------------------------

# Everything that a session can do, with transactions that are rolled back, until all tasks are finished. Each completion is
# noted in its own transaction: twice completed or lost would show.
sub script
{
	my ($name, $sql) = @_;
	append_to_file("$folder/$name", "\\set q random(1, 3)\n\\set p random(0, 3)\n\\set chance random(1, 10)\n\\set n random(1, 5)\n$sql");
	return "$folder/$name";
}
my $finish = q(
\if :chance = 1
select count(scylla.yield(rn, :client_id::text)) from unnest(:rns) rn;
commit;
\elif :chance = 2
select count(scylla.fail(rn, :client_id::text, '{"code": "x"}', '0')) from unnest(:rns) rn;
commit;
\elif :chance = 3
select count(scylla.fail(rn, :client_id::text, '{"code": "x"}', '20 ms')) from unnest(:rns) rn;
commit;
\elif :chance = 4
rollback;
\elif :chance = 5
rollback to s;
commit;
\else
insert into done select rn from scylla.complete_many(:rns, :client_id::text) where completed;
commit;
\endif
);
my @scripts = (
	script('submit', q(select from scylla.submit('race' || :q, '1', priority => :p);)),
	script('submit_bulk', q(
begin;
select scylla.submit_bulk('race' || :q, array_fill('1'::jsonb, array[:n]), priority => :p);
\if :chance = 1
rollback;
\else
commit;
\endif
)),
	# The variable holds text[], quoted.
	script('lease', qq(
begin;
savepoint s;
select quote_literal(coalesce(array_agg(rn), '{}')) || '::text[]' as rns from scylla.lease('race' || :q, :client_id::text, timeout => '1 h') \\gset$finish)),
	script('lease_5', qq(
begin;
savepoint s;
select quote_literal(coalesce(array_agg(rn), '{}')) || '::text[]' as rns from scylla.lease('race' || :q, :client_id::text, :n, '1 h') \\gset$finish)),
	script('complete_and_lease', q(
begin;
select quote_literal(coalesce(array_agg(rn), '{}')) || '::text[]' as rns from scylla.lease('race' || :q, :client_id::text, :n, '1 h') \gset
commit;
begin;
with leased as materialized (select rn from scylla.complete_and_lease(:rns, :client_id::text, 'race' || :q, 1, '1 h')),
	done as (insert into done select unnest(:rns)),
	again as (insert into done select rn from leased)
	select count(scylla.complete(rn, :client_id::text)) from leased;
\if :chance = 1
rollback;
select count(scylla.yield(rn, :client_id::text)) from unnest(:rns) rn;
\else
commit;
\endif
)),
	script('maintain', q(select scylla.maintain();)));

for my $seed (1 .. 3)
{
	my $held = $seed == 2;
	my $name = "seed $seed" . ($held ? ', under a held snapshot' : '');
	run('drop table if exists done; create table done (rn text)');
	my $holder = $held ? hold_snapshot() : undef;
	my ($out, $err) = run_command([ 'pgbench', '-n', '-c', '8', '-j', '2', '-t', '800', "--random-seed=$seed", '-d', $node->connstr('postgres'),
		(map { ('-f', $_) } "$scripts[0]\@3", "$scripts[1]\@2", "$scripts[2]\@4", "$scripts[3]\@3", "$scripts[4]\@2", "$scripts[5]\@1") ]);
	like($out, qr/number of transactions actually processed: 6400\/6400/, "$name: eight sessions at once, and none fails") or diag $err;
	is(run(lost(q(where queue like 'race%'))), 'none', '... the heads know every ready task');
	cmp_ok(run('select count(*) from done'), '>=', 500, '... a good part is done');
	# The rest. What a session's last transaction has leased, and retries that wait, come back first.
	run(q(update scylla.task_lease set deadline = now() - interval '1 s'; update scylla.task_waiting set due = now() - interval '1 s';
		select scylla.maintain();));
	my $rest = q(with leased as materialized (select l.rn from generate_series(1, 3) q, scylla.lease('race' || q, 'last', 1000) l),
		completed as materialized (select (scylla.complete(rn, 'last')).rn from leased)
		insert into done select rn from completed);
	run($rest);
	is(run(q(select count(*) from scylla.task where queue like 'race%' and status <> 'completed')), '0', '... all tasks get finished');
	is( run(q(select (select count(*) from done), (select count(distinct rn) from done))),
		run(q(select count(*), count(*) from scylla.task where queue like 'race%')), '... each of them once');
	run(q(update scylla.task_outcome set finished = '-infinity'; select scylla.purge()));
	checked($node, '... check() finds nothing');
	if ($holder)
	{
		$holder->query_safe('commit');
		$holder->quit;
	}
}

# ---- an empty system and a full one -------------------------------------------------------------------------------------

# In a database that is never analysed, and whose statistics deceive.
sql($node, 'create database full_one');
sql($node, $helpers, 'full_one');
$session->quit;
$session = session($node, 'full_one');
run(q(select submit('q', 1, 100); select leased('q');));
my $empty = cost('q');
run(q(
	select count(*) from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'q', 'spec', n, 'priority', n % 128,
		'not_before', now() + interval '1 h' * (1 + n % 10))) from generate_series(1, 50000) n));
	select submit('other' || n, 1, 5000) from generate_series(1, 10) n;
	select submit('q', 1000, 11000, 5);
	select length(leased('q', 'runner', 10001));
	select submit('q', 20000, 69999, 7);
	call work('q', 50000, 1000);));
is( run(q(select string_agg(status || ' ' || count, ', ' order by status) from (select status, count(*) from scylla.task group by status) s)),
	'waiting 50000, ready 50092, running 10009, completed 50000', 'a system with 160,000 tasks');
cmp_ok(cost('q'), '<=', $empty + A_FEW, "a lease looks at hardly more pages than in an empty one ($empty)");
run(q(set enable_indexscan = off; set enable_bitmapscan = off; set seq_page_cost = 0; set cpu_tuple_cost = 0;
	update pg_class set reltuples = 0, relpages = 0 where relnamespace = 'scylla'::regnamespace and relkind in ('r', 'i');));
cmp_ok(cost('q'), '<=', $empty + A_FEW, '... nor with statistics that deceive');
run('reset all; set client_min_messages = warning');

# A purge, while it runs and afterwards.
my $purger = session($node, 'full_one');
$purger->query_safe(q(update scylla.task_outcome set finished = '-infinity' where id in (select id from scylla.task_outcome order by id limit 20000)));
is($purger->query_safe('begin; select scylla.purge()'), '20000', 'a purge of 20,000 tasks');
cmp_ok(cost('q'), '<=', $empty + A_FEW, 'while it runs a lease looks at hardly more pages');
$purger->query_safe('commit');
cmp_ok(cost('q'), '<=', $empty + A_FEW, '... and after it');
$purger->quit;
$session->quit;

# ---- promotion and crash ------------------------------------------------------------------------------------------------

$session = session($node);
run(q(select submit('server', 1, 500); select leased('server', 'y', 3); select leased('server'), leased('server'); call work('server', 95, 1);));
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
run(q(select yielded('server', 'y'); begin; select submit('server', 1000, 1010);));
$node->wait_for_catchup($standby);
eval { $session->quit };
$node->stop('immediate');
$standby->promote;
is(sql($standby, q(select leased('server', 'w', 4))), '1 2 3 101', 'after promotion of a standby leases go on where they were');
is(sql($standby, q(select leased('server'))), '102', '... one after the other');
is(sql($standby, q(select array_length(string_to_array(leased('server', 'w', 1000), ' '), 1))), '398', '... and nothing is lost');
$standby->stop('immediate');
$node->start;
$session = session($node);
leases('1 2 3 101', 'server', 4, 'after a crash leases go on where they were');
leases('102', 'server', 1, '... one after the other');
is(run(q(select array_length(string_to_array(leased('server', 'w', 1000), ' '), 1))), '398', '... and nothing is lost');
is(run(lost(q(where queue = 'server'))), 'none', '... the heads know every ready task');
$session->quit;

# ---- more queues than places --------------------------------------------------------------------------------------------

$node->append_conf('postgresql.conf', 'scylla.max_queues = 16');
$node->restart;
$session = session($node);
# Forty queues in random order: leases of one to three tasks that are completed, given back or rolled back.
run(q(
create table crowd_done (rn text, queue text, at serial);
create procedure crowd() language plpgsql as $$
declare
	q text;
	rns text[];
	chance float;
begin
	loop
		select name into q from scylla.queue where name like 'crowd%' order by random() limit 1;
		select array_agg(rn) into rns from scylla.lease(q, 'w', 1 + (random() * 2)::int, '1 h');
		chance := random();
		if chance < 0.1 then
			perform scylla.yield(rn, 'w') from unnest(rns) rn;
		elsif chance < 0.2 then
			rollback;
			continue;
		elsif chance < 0.3 then
			perform scylla.fail(rn, 'w', '{"code": "x"}', '0') from unnest(rns) rn;
		else
			insert into crowd_done select rn, q from scylla.complete_many(coalesce(rns, '{}'), 'w') where completed;
		end if;
		commit;
		exit when rns is null and not exists (select from scylla.task_ready r join scylla.queue on queue.id = r.queue where name like 'crowd%');
	end loop;
end $$;
select setseed(0.5);
select submit('crowd' || q, 1, 20, q % 3) from generate_series(1, 40) q;
call crowd();));
is( run(q(select count(*), count(distinct rn), min(attempt) from crowd_done join scylla.task using (rn) where status = 'completed')), '800|800|1',
	'forty queues with sixteen places: every task is done, each once');
is(run(q(select count(*) from (select at, lag(at) over (partition by queue order by (spec ->> 'n')::int) as before from crowd_done join scylla.task using (rn, queue)) s where at < before)),
	'0', '... in order');
cmp_ok(run('select count(distinct queue) from scylla.stat_heads'), '<=', 16, '... and there are no more heads than places');
checked($node, 'check() finds nothing');
$session->quit;

# ---- without preloading -------------------------------------------------------------------------------------------------

# Everything works, but the price is paid: this is what heads save, and that the tests above can fail.
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->restart;
$session = session($node);
is(run('select count(*) from scylla.stat_heads'), '0', 'without preloading there are no heads');
$holder = hold_snapshot;
@costs = costs_of_work('unloaded');
cmp_ok($costs[1], '>', $costs[0] + 10 * A_FEW, "a lease after 20,000 tasks under a held snapshot costs more: $costs[0], $costs[1]");
cmp_ok($costs[2], '>', $costs[1] + 10 * A_FEW, "... and after 40,000 still more: $costs[2]");
leases('40023', 'unloaded', 1, '... but gives the right task');
$holder->query_safe('commit');
$holder->quit;
$session->quit;
$node->stop;
done_testing();
