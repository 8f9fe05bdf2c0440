# Heads under schedules that have broken them: sessions that are held up at the worst moment, long dead regions, many tasks
# that come back at once. What a head may do wrong is to cost time, or a step of its derivation, never a task, its turn, or
# the speed of other queues.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

# Few places for heads, so that a test can take one away. Vacuum would remove what the tests need dead.
my $node = new_node('schedules', settings => "autovacuum = off\nscylla.max_queues = 16\nscylla.default_timeout = '1 h'");
sql($node, q(
	create extension scylla;

	-- A lease by worker A stops when it is about to note its first task: its snapshot is old by the time it goes on.
	create function held_up(owner text) returns text language plpgsql immutable as $$
	begin
		if owner = 'A' then
			perform pg_advisory_xact_lock_shared(1);
		end if;
		return owner;
	end $$;
	create index held_up on scylla.task_lease (public.held_up(owner));

	-- Tasks one by one, each committed.
	create procedure submit(queue text, tasks int) language plpgsql as $$
	begin
		for i in 1 .. tasks loop
			perform scylla.submit(queue, '1');
			commit;
		end loop;
	end $$;

	-- Pages that a lease looks at. The extra call loads the catalog's rows, which count as well.
	create table cost (lease serial, pages int);
	create function pages(queue text) returns int language plpgsql as $$
	declare
		plan json;
	begin
		execute format('explain (analyze, buffers, timing off, format json) select from scylla.lease(%L, ''finder'')', queue) into plan;
		return (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::int + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::int;
	end $$;
	create procedure measure(queue text, leases int) language plpgsql as $$
	begin
		perform pages('nothing here');
		commit;
		for i in 1 .. leases loop
			insert into cost (pages) values (pages(queue));
			commit;
		end loop;
	end $$;
	select scylla.create_queue('nothing here');));

my $gate = $node->background_psql('postgres');
my $a = $node->background_psql('postgres');

# Worker A begins a lease and stops in it.
sub hold_up
{
	my ($queue, $tasks) = @_;
	$gate->query_safe('select pg_advisory_lock(1)');
	$a->query_until(qr/begun/, "\\echo begun\nselect 'leased ' || rn from scylla.lease('$queue', 'A', $tasks);\n");
	$node->poll_query_until('postgres', q(select count(*) from pg_locks where locktype = 'advisory' and not granted), '1')
	  or die 'A was not held up';
}

sub let_go
{
	$gate->query_safe('select pg_advisory_unlock(1)');
	return $a->query_safe(q(select 'done'));
}

sub frontier
{
	my ($queue, $priority) = @_;
	return sql($node, "select frontier from scylla.stat_heads where queue = '$queue' and priority = $priority");
}

sub id_of
{
	my ($rn) = @_;
	return sql($node, "select id from scylla.task_spec where rn = '$rn'");
}

# ---- a batch is told while a scan goes on, and another scan raises the frontier into it ----------------------------------------

for my $case ('in the order of ids', 'out of the order of ids')
{
	(my $q = $case) =~ s/ .*//;
	my $batch = "select scylla.submit_bulk('$q', '{1,1,1,1}', '{$q 1,$q 2,$q 3,$q 4}')";
	sql($node, "select scylla.create_queue('$q')");
	my $t = $node->background_psql('postgres');
	$t->query_safe('begin');
	$t->query_safe($batch) if $q eq 'out'; # the ids are those of now
	# The priority has a frontier, at a task that has been taken, and is not known to be empty.
	sql($node, "select scylla.submit('$q', '1'); select scylla.lease('$q', 'w')");
	sql($node, "select scylla.submit('$q', '1', priority => 10)");
	hold_up($q, 10);
	$t->query_safe($batch) if $q eq 'in';
	$t->query_safe('commit');
	$t->quit;
	is(sql($node, "select rn from scylla.lease('$q', 'B')"), "$q 1", "a batch told $case while a scan goes on: its first task is leased");
	is(sql($node, "call scylla.wait('$q', '1 s')"), 't', '... a look finds the second');
	my $second = id_of("$q 2");
	is(frontier($q, 0), $second, '... and raises the frontier to it');
	let_go();
	is(frontier($q, 0), $second, '... the scan that has seen nothing of it raises it no further');
	is(sql($node, "select string_agg(rn, ',') from scylla.lease('$q', 'D', 10)"), "$q 2,$q 3,$q 4", '... and the very next lease gets the rest');
}

# ---- many tasks come back in one transaction -----------------------------------------------------------------------------------

for my $n (65, 300)
{
	for my $verb ("yield(rn, 'w')", "fail(rn, 'w', '{\"code\": \"x\"}', '0')")
	{
		my ($name) = $verb =~ /(\w+)/;
		my $q = "$name $n";
		sql($node, qq(
			select scylla.create_queue('$q'); select scylla.create_queue('not $q');
			select scylla.lease('$q', 'w'); select scylla.lease('not $q', 'w');
			select scylla.submit_bulk(q, array_fill('1'::jsonb, array[$n])) from unnest(array['$q', 'not $q']) q;
			select scylla.lease('$q', 'w', $n); select scylla.lease('not $q', 'w', $n / 2);
			select scylla.lease('$q', 'w'); select scylla.lease('not $q', 'w');
			select scylla.submit('$q', '"newer"');));
		my $others = "select queue, priority, frontier, returned from scylla.stat_heads where queue <> '$q' order by queue, priority";
		my $before = sql($node, $others);
		like($before, qr/^not $q\|0\|[1-9]/m, "$name: a head of another queue");
		sql($node, "select scylla.$verb from (select rn from scylla.task where queue = '$q' and owner = 'w' order by rn desc) r");
		is(sql($node, $others), $before, "a transaction in which $n tasks $name leaves the heads of other queues alone");
		# Three leases: the order must hold from one to the next, too.
		my $order = sql($node, qq(
			create temp table got (n serial, rn text);
			insert into got (rn) select rn from scylla.lease('$q', 'again', 20);
			insert into got (rn) select rn from scylla.lease('$q', 'again', 100);
			insert into got (rn) select rn from scylla.lease('$q', 'again', 1000);
			select count(*), count(*) filter (where n <> rank) from (select n, rank() over (order by id) from got join scylla.task_spec using (rn)) r;));
		is($order, ($n + 1) . '|0', '... and they come in the order of their ids, before a newer one');
	}
}

# ---- a long dead region --------------------------------------------------------------------------------------------------------

# A snapshot from before keeps the entries of 150,000 leased tasks in the index. Their ids are far away from the first ones:
# what bounds a step is the entries that it looks at.
my $holder = $node->background_psql('postgres');
$holder->query_safe('begin isolation level repeatable read');
$holder->query_safe('select 1');
sql($node, $_) for (
	q(select scylla.create_queue('dead')),
	q(select scylla.lease('dead', 'w')),
	q(select setval('scylla.task_id_seq', 2000000000)),
	q(select scylla.submit_bulk('dead', array_fill('1'::jsonb, array[150000]))),
	# Nobody tells the heads of a prepared transaction: its task lies at the end of the dead ones, below the frontier.
	q(begin; select scylla.submit('dead', '1', rn => 'overlooked'); prepare transaction 'p'),
	q(select scylla.submit('dead', '1')),
	q(select count(*) from scylla.lease('dead', 'w', 75000)),
	q(select count(*) from scylla.lease('dead', 'w', 75000)),
	q(select count(*) from scylla.lease('dead', 'w')), # passes over them all to the last
	q(commit prepared 'p'));
cmp_ok(frontier('dead', 0), '>', id_of('overlooked'), 'a task that nobody has told lies below the frontier');
# A step of the derivation ends after 4096 index entries. A lease does two steps at most, and each may look for 127 other
# priorities, too: twice, in an index of three levels.
my $region = sql($node, q(select (sum(pg_relation_size(r)) / current_setting('block_size')::int)::int
	from unnest('{scylla.task_ready,scylla.task_ready_order}'::regclass[]) r));
my $step = int(4096 * $region / 150_000);
my $limit = 60 + 3 * $step + 127 * 2 * 3;
cmp_ok($limit, '<', $region * 2 / 3, "a step is much less than all of the $region pages");
sql($node, q(
	create procedure find() language plpgsql as $$
	declare
		until timestamptz := clock_timestamp() + '60 s';
	begin
		while not exists (select from scylla.task_lease where owner = 'finder') and clock_timestamp() < until loop
			call measure('dead', 20);
		end loop;
	end $$;
	call find();));
is(sql($node, q(select owner from scylla.task where rn = 'overlooked')), 'finder', 'the derivation goes through 150,000 dead entries and finds it');
my $leases = sql($node, q(select format('least %s, most %s pages, %s leases', min(pages), max(pages), count(*)) from cost));
cmp_ok(sql($node, 'select max(pages) from cost'), '<=', $limit, "... and no lease looks at more than a step or two of $step pages ($leases)");
cmp_ok(sql($node, "select count(*) from cost where pages > $step / 2"), '>=', 20, '... in many steps');

# Its head gives way to those of other queues, and knows nothing when it comes back. While the first scans walk through the
# dead region new tasks arrive all the time.
sql($node, join '', map { "select scylla.create_queue('crowd $_'); select scylla.lease('crowd $_', 'w');" } 1 .. 16);
is(frontier('dead', 0), '', 'a head has given way to others');
sql($node, q(select scylla.submit('dead', '1')));
for my $scan (1 .. 2)
{
	hold_up('dead', 1);
	sql($node, q(call submit('dead', 100)));
	let_go();
}
cmp_ok(frontier('dead', 0), '>', id_of('overlooked'), '... slow scans under load raise the new one past the dead region');
sql($node, q(truncate cost; call measure('dead', 10)));
cmp_ok(sql($node, 'select max(pages) from cost'), '<=', $limit, '... and leases look at few pages again');
$holder->query_safe('commit');
$_->quit for $holder, $gate, $a;

checked($node, 'check() finds nothing');
$node->stop;
done_testing();
