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
my $node = new_node('schedules', settings => "autovacuum = off\nscylla.max_queues = 16");
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

# Where the next scan of a priority begins.
sub beginning
{
	my ($queue, $priority) = @_;
	return sql($node, "select least(frontier, lower(returned)) from scylla.stat_heads where queue = '$queue' and priority = $priority");
}

sub id_of
{
	my ($rn) = @_;
	return sql($node, "select id from scylla.task_spec where rn = '$rn'");
}

# ---- a batch is told while a scan goes on, and another scan raises the head into it --------------------------------------------

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
	is(beginning($q, 0), $second, '... and raises the head to it');
	let_go();
	is(beginning($q, 0), $second, '... the scan that has seen nothing of it raises it no further');
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
# A step of the derivation ends after 4096 index entries. A lease does two steps at most.
my $region = sql($node, q(select (sum(pg_relation_size(r)) / current_setting('block_size')::int)::int
	from unnest('{scylla.task_ready,scylla.task_ready_order}'::regclass[]) r));
my $step = int(4096 * $region / 150_000);
my $limit = 60 + 3 * $step;
cmp_ok($limit, '<', $region * 2 / 3, "a step is much less than all of the $region pages");
sql($node, q(
	create procedure find() language plpgsql as $$
	declare
		until timestamptz := clock_timestamp() + '10 min';
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
$holder->quit;

# ---- a transaction that holds leases for long ----------------------------------------------------------------------------------

# The pages of a lease: the median of seven, as now and then one derives the head anew.
sub cost
{
	my ($queue) = @_;
	sql($node, "truncate cost; call measure('$queue', 7)");
	return sql($node, 'select percentile_disc(0.5) within group (order by pages) from cost');
}

sql($node, q(
	create procedure work(queue text, tasks int) language plpgsql as $$
	begin
		for i in 1 .. tasks / 100 loop
			perform scylla.complete_many(array_agg(rn), 'w') from scylla.lease(queue, 'w', 100);
			commit;
		end loop;
	end $$;));
my @long = map { $node->background_psql('postgres') } 1 .. 3;
sql($node, q(select scylla.submit_bulk('long', array(select to_jsonb(n) from generate_series(1, 25000) n))));
my $cheap = cost('long') + 20;
# One holds a task, one a batch, and one a task behind them.
for my $i (0 .. 2)
{
	$long[$i]->query_safe('begin');
	$long[$i]->query_safe("select from scylla.lease('long', 'long $i', " . ($i == 1 ? 50 : 1) . ')');
	sql($node, q(call work('long', 6000)));
}
my $costs = cost('long');
# A task that is held is looked at, and passed over.
cmp_ok($costs, '<=', $cheap + 52, "leases stay cheap while three transactions hold leases: $costs pages");
is(sql($node, q(select count(*) from scylla.stat_heads, unnest(returned) r where queue = 'long')), '3', '... there is a stretch for each');
$long[0]->query_safe('rollback');
$long[1]->query_safe('rollback');
my $first = sql($node, q(select string_agg(spec::text, ' ') from scylla.lease('long', 'w', 52)));
is($first, join(' ', 8, 6009 .. 6058, 18067), 'two of them roll back: their tasks are leased before all others');
$long[2]->query_safe('commit');
sql($node, q(select from scylla.lease('long', 'w')));
is(sql($node, q(select returned from scylla.stat_heads where queue = 'long')), '{}', '... and when all have ended nothing is left of it');

# One that leases again and again.
sql($node, q(select scylla.submit_bulk('again', array(select to_jsonb(n) from generate_series(1, 7000) n))));
$node->safe_psql('postgres', q(select from scylla.lease('again', 'w', 2000)));
my $other = $long[2];
my @again = split /\n/, $long[0]->query_safe(q(
	begin;
	select pages('again'), pages('again');
	select max(pages) from (select pages('again') from generate_series(1, 4000)) l;
	select max(pages) from (select pages('again') from generate_series(1, 100)) l;));
$cheap = (split /\|/, $again[0])[1] + 25; # a level more of the indexes of leases
cmp_ok($again[2], '<=', $cheap, "a transaction that leases again and again does not walk over its own: $again[2] pages after 4,000");
sql($node, qq(select scylla.yield(rn, 'w') from scylla.task where queue = 'again' and spec = '77'));
my $numbers = q(select string_agg(spec::text, ' ') from scylla.lease('again', 'w'));
is($long[0]->query_safe($numbers), '77', '... what others give back meanwhile it finds');
$long[0]->query_safe('savepoint s');
is($long[0]->query_safe($numbers), '6103', '... it goes on');
$long[0]->query_safe('rollback to s');
is($long[0]->query_safe($numbers), '6103', '... what it has taken and given back by a rollback to a savepoint, too');
$long[0]->query_safe(q(select scylla.yield(rn, 'finder') from scylla.task where queue = 'again' and spec in ('3000', '3001')));
is($long[0]->query_safe($numbers), '3000', '... and what it has given back');
$long[0]->query_safe('rollback');
is(sql($node, "$numbers; $numbers"), "77\n2001", '... and after its rollback others begin where it began');
$_->quit for @long;

# ---- a large batch ---------------------------------------------------------------------------------------------------------------

sql($node, q(select scylla.submit_bulk('batch', array(select to_jsonb(n) from generate_series(1, 9100) n))));
is(sql($node, q(select count(*) from scylla.lease('batch', 'w', 9000))), '9000', 'a lease of 9,000 tasks');
is(frontier('batch', 0), sql($node, q(select min(r.id) from scylla.task_ready r join scylla.queue q on q.id = r.queue where q.name = 'batch')),
	'... when it has committed nobody walks over them');
# What comes back meanwhile is not passed.
my ($taker, $back) = map { $node->background_psql('postgres') } 1 .. 2;
$taker->query_safe('begin');
is($taker->query_safe(q(select string_agg(spec::text, ' ') from scylla.lease('batch', 'w', 3))), '9001 9002 9003', 'a transaction leases');
my $yield = q(select count(scylla.yield(rn, 'w')) from scylla.list_tasks('batch', 'running', 'w', 10000) where spec::int in);
$back->query_safe("begin; $yield (100, 8998, 8999)");
sql($node, "$yield (50, 8997, 9000)");
$taker->query_safe('commit');
$back->query_safe('commit');
is(sql($node, q(select string_agg(spec::text, ' ') from scylla.lease('batch', 'w', 7))), '50 100 8997 8998 8999 9000 9004',
	'... and does not pass what comes back meanwhile');
$_->quit for $taker, $back;

# ---- a transaction over many priorities and queues -----------------------------------------------------------------------------

sql($node, q(select scylla.create_queue('not wide'); select scylla.lease('not wide', 'w')));
sql($node, q(select scylla.submit('not wide', '1'); select scylla.lease('not wide', 'w')));
my $wide = q(select priority, frontier, returned from scylla.stat_heads where queue = 'not wide');
my $before = sql($node, $wide);
like($before, qr/^0\|[1-9]\d*\|\{\}$/, 'a head of another queue');
sql($node, q(select count(*) from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'wide', 'spec', p, 'priority', p)) from generate_series(0, 127) p))));
is(sql($node, $wide), $before, 'a submit of tasks of 128 priorities leaves the heads of other queues alone');
my $all = join ' ', reverse 0 .. 127;
is(sql($node, q(select string_agg(spec::text, ' ') from scylla.lease('wide', 'w', 128))), $all, '... they are leased, the highest first');
is(sql($node, $wide), $before, '... that leaves them alone, too');
sql($node, q(
	begin;
	select count(*) from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'wide ' || q, 'spec', q)) from generate_series(1, 300) q));
	select scylla.yield(rn, 'w') from scylla.list_tasks('wide', 'running', max_tasks => 1000);
	commit;));
is(sql($node, $wide), $before, '... nor does a transaction over 300 queues and 128 priorities');
is(sql($node, q(select string_agg(spec::text, ' ') from scylla.lease('wide', 'w', 128))), $all, '... whose tasks are leased again');
is(sql($node, q(select count(*) from generate_series(1, 300) q, scylla.lease('wide ' || q, 'w') l where l.spec = to_jsonb(q))), '300', '... in all queues');

# ---- tasks come back while scans go on -----------------------------------------------------------------------------------------

sql($node, q(
	select scylla.submit_bulk('back', array_fill('1'::jsonb, array[1000]));
	select scylla.submit_bulk('back', array_fill('1'::jsonb, array[140]), (select array_agg('back ' || i) from generate_series(1, 140) i));
	select scylla.lease('back', 'w', 1140);));
sql($node, join '', map { "select scylla.create_queue('mob $_'); select scylla.lease('mob $_', 'w');" } 1 .. 16);
is(frontier('back', 0), '', 'a head has given way to others');
sql($node, q(select scylla.submit('back', '1')));
for my $n (1 .. 3)
{
	hold_up('back', 1);
	sql($node, q(do $$ begin for i in 1 .. 140 loop perform scylla.yield('back ' || i, 'w'); commit;
		perform scylla.lease_task('back ' || i, 'w'); commit; end loop; end $$));
	sql($node, q(select scylla.submit('back', '1')));
	let_go();
}
cmp_ok(frontier('back', 0), '>', id_of('back 1') - 1000, 'slow scans raise the new one although 140 tasks come back during each');

# ---- thousands come back in one transaction ------------------------------------------------------------------------------------

# Every second of 8,000 old tasks: behind them lie 20,000 dead entries, which a snapshot keeps.
my $snapshot = $node->background_psql('postgres');
$snapshot->query_safe('begin isolation level repeatable read');
$snapshot->query_safe('select 1');
for my $how ('yield', 'retry')
{
	my $q = "thousands $how";
	sql($node, qq(
		select scylla.submit_bulk('$q', array(select to_jsonb(n) from generate_series(1, 28100) n));
		select from scylla.lease('$q', 'many', 8000);
		call work('$q', 20000);
		select from scylla.lease('$q', 'w');));
	my $usual = cost($q) + 20;
	my $frontier = frontier($q, 0);
	if ($how eq 'yield')
	{
		sql($node, qq(select count(scylla.yield(rn, 'many')) from (select rn from scylla.list_tasks('$q', 'running', 'many', 100000) where spec::int % 2 = 0 order by random()) t));
	}
	else
	{
		sql($node, qq(
			select count(scylla.fail(rn, 'many', '{"code": "x"}', '1 h')) from scylla.list_tasks('$q', 'running', 'many', 100000) where spec::int % 2 = 0;
			update scylla.task_waiting set due = '-infinity';
			select scylla.maintain();));
	}
	is(frontier($q, 0), $frontier, "4,000 old tasks come back in one transaction ($how): the frontier stays");
	cmp_ok(sql($node, qq(select count(*) from scylla.stat_heads, unnest(returned) where queue = '$q')), '<=', 32, '... they are a few stretches');
	my $first = cost($q);
	cmp_ok($first, '<=', $usual, "... leases of them are as cheap as others: $first");
	is(sql($node, qq(select string_agg(spec::text, ' ') from scylla.lease('$q', 'w', 3000))), join(' ', map { 2 * $_ } 8 .. 3007), '... in order');
	my $then = cost($q);
	cmp_ok($then, '<=', $usual, "... so they are after 3,000 more: $then");
	sql($node, qq(call work('$q', 1000)));
	is(sql($node, qq(select spec::int > 28000 from scylla.lease('$q', 'w'))), 't', '... then the newer ones');
	my $last = cost($q);
	cmp_ok($last, '<=', $usual, "... cheaply: $last");
}

# A few at a time, again and again, far from one another.
sql($node, q(
	create procedure trickle() language plpgsql as $$
	begin
		for i in 1 .. 300 loop
			perform scylla.yield(rn, 'many') from far where n / 4 = i;
			commit;
			insert into cost (pages) select pages('thousands yield') from generate_series(1, 1 + i % 5);
			commit;
		end loop;
	end $$;
	select scylla.submit_bulk('thousands yield', array(select to_jsonb(n) from generate_series(30001, 31000) n));
	create table far as select rn, row_number() over (order by random()) as n
		from scylla.list_tasks('thousands yield', 'running', 'many', 100000);
	select pages('nothing here'); truncate cost; call trickle();));
my $trickle = sql($node, q(select percentile_disc(0.5) within group (order by pages) from cost));
cmp_ok($trickle, '<=', 90, "a few come back at a time, far from one another: leases stay cheap: $trickle");
is(sql($node, q(select sum(pages) < 130 * count(*) from cost)), 't', '... on the average, too');
$snapshot->query_safe('commit');
$snapshot->quit;

# ---- many priorities and the derivation ----------------------------------------------------------------------------------------

# A step looks at a bounded number of priorities, too, and a pass finds what nobody has told in each.
sql($node, q(
	select scylla.create_queue('each');
	select from scylla.lease('each', 'w');
	begin;
	select count(*) from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'each', 'spec', p, 'priority', p)) from generate_series(0, 127) p));
	prepare transaction 'each';
	select count(*) from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'each', 'spec', p, 'priority', p)) from generate_series(0, 127) p));
	select count(*) from scylla.lease('each', 'w', 128);
	select count(*) from scylla.lease('each', 'w', 128);
	commit prepared 'each';
	truncate cost;));
sql($node, q(
	create procedure find_each() language plpgsql as $$
	declare
		until timestamptz := clock_timestamp() + '10 min';
	begin
		while (select count(*) from scylla.list_tasks('each', 'running', 'finder', 200)) < 128 and clock_timestamp() < until loop
			call measure('each', 1);
		end loop;
	end $$;
	call find_each();));
is(sql($node, q(select count(*) from scylla.list_tasks('each', 'running', 'finder', 200))), '128', 'tasks of 128 priorities that nobody has told are found');
my $probes = sql($node, q(select max(pages) from cost));
cmp_ok($probes, '<=', 600, "... in steps of few pages: $probes");
$_->quit for $gate, $a;

checked($node, 'check() finds nothing');
$node->stop;
done_testing();
