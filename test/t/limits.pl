# Limits hold for everybody and at every instant: under many sessions that lease, finish, heartbeat and roll back in every way,
# across a crash, and for prepared transactions. Whoever waits for a full queue is woken by what makes room, and by nothing else.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $node = new_node('main',
	settings => "scylla.monitor = on\nscylla.monitor_interval = '1 h'\nmax_connections = 100\nautovacuum_naptime = 1");
my $folder = PostgreSQL::Test::Utils::tempdir;
sql($node, 'create extension scylla');
wait_for_monitor($node, 'postgres');

# Runs a script of pgbench in 32 sessions while somebody calls a function all the time that raises once too much runs.
sub under_watch
{
	my ($call, $script, $transactions, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	sql($node, 'drop table if exists over');
	my $observer = $node->background_psql('postgres');
	$observer->query_until(qr/^begun$/m, qq(
\\echo begun
do \$\$ begin
	while to_regclass('over') is null loop
		perform $call;
		commit;
	end loop;
end \$\$;
\\echo ended :SQLSTATE
));
	$node->command_ok([ 'pgbench', '-n', '-c', '32', '-j', '2', '-t', $transactions, '-f', $script, 'postgres' ], $name);
	sql($node, 'create table over ()');
	like($observer->query_until(qr/^ended \w{5}$/m, ''), qr/^ended 00000$/m, 'nor does somebody who looks all the time');
	$observer->quit;
}

# ---- many sessions --------------------------------------------------------------------------------------------------------

# A worker leases some tasks, or tries to, and lets go of them in one of the ways that there are. Whenever it has leased it
# counts what runs, as the newest snapshot shows it.
my $work = q(
	select scylla.create_queue('narrow', max_running => 3, retry => '{"initial": "0"}');
	select scylla.submit_bulk('narrow', array_agg(to_jsonb(n))) from generate_series(1, 20000) n;

	create function at_most(bound int) returns void language plpgsql as $$
	declare
		n bigint := (select count(*) from scylla.task_lease where permit is not null);
	begin
		if n > bound then
			raise exception '% tasks run', n;
		end if;
	end $$;

	create procedure work(worker text, way int) language plpgsql as $$
	declare
		held text[];
		one text;
	begin
		if way = 1 then
			-- All of it in one transaction.
			perform c.rn from scylla.lease('narrow', worker, 2, '1 h') l, lateral scylla.complete(l.rn, worker) c;
			perform at_most(3);
			return;
		elsif way = 2 then
			begin
				perform scylla.lease('narrow', worker, 3);
				raise exception using errcode = 'SR000';
			exception when sqlstate 'SR000' then null;
			end;
		end if;
		held := array(select l.rn from scylla.lease('narrow', worker, 1 + way % 3, '1 h') l);
		perform at_most(3);
		if way = 3 then
			rollback;
			return;
		end if;
		commit;
		perform at_most(3);
		if way = 4 then
			for i in 1 .. 20 loop
				perform scylla.heartbeat_many(held, worker);
				commit;
			end loop;
		elsif way = 5 then
			perform scylla.complete_many(held, worker);
			rollback;
		elsif way = 6 then
			held := array(select l.rn from scylla.complete_and_lease(held, worker, 'narrow', 3, '1 h') l);
			commit;
			perform at_most(3);
		end if;
		foreach one in array held loop
			case way % 4
			when 0 then perform scylla.complete(one, worker);
			when 1 then perform scylla.yield(one, worker);
			when 2 then perform scylla.fail(one, worker, '{"code": "x"}');
			else perform scylla.cancel(one);
			end case;
			if way > 6 then
				commit;
			end if;
		end loop;
	end $$;);
sql($node, $work);

PostgreSQL::Test::Utils::append_to_file("$folder/work.sql", "\\set way random(1, 10)\ncall work('w' || :client_id, :way);\n");
under_watch("at_most(3)", "$folder/work.sql", 60, '32 sessions lease, finish, heartbeat and roll back, and none ever sees more than the limit');
is(sql($node, q(select count(*) from scylla.task where queue = 'narrow' and status = 'running')), '0', 'nobody holds a task any more');
cmp_ok(sql($node, q(select count(*) from scylla.task where queue = 'narrow' and status = 'completed')), '>', 100, 'work was done');
is(sql($node, q(select count(*) from scylla.lease('narrow', 'w', 10, '1 h'))), '3', 'no place has been lost');
checked($node, 'check() finds nothing');

# ---- keys ----------------------------------------------------------------------------------------------------------------

# The same for the keys of two queues: few, so that sessions meet; some tasks have none, and no limit. The other queue has a limit
# for all its tasks as well, and its keys take turns.
sql($node, q(
	select scylla.create_queue('keyed', max_running_per_key => 2, retry => '{"initial": "0"}');
	select scylla.create_queue('both', max_running_per_key => 2, max_running => 9, key_weights => '{"k1": 3}');
	select scylla.submit_many(jsonb_agg(jsonb_build_object('queue', q, 'spec', n, 'key', case when n % 7 > 0 then 'k' || n % 7 end)))
	from unnest(array['keyed', 'both']) q, generate_series(1, 10000) n;

	create function at_most_per_key(bound int) returns void language plpgsql as $$
	declare
		most bigint := (select max(n) from (select count(*) as n from scylla.task_lease l join scylla.queue q on q.id = l.queue
		                                    where q.name in ('keyed', 'both') and permit <> '' group by l.queue, permit) t);
	begin
		if most > bound then
			raise exception '% tasks of a key run', most;
		end if;
		most := (select count(*) from scylla.task_lease l join scylla.queue q on q.id = l.queue where q.name = 'both');
		if most > 9 then
			raise exception '% tasks run', most;
		end if;
	end $$;

	create procedure work_keyed(worker text, way int, queue text) language plpgsql as $$
	declare
		held text[];
	begin
		if way = 1 then
			perform c.rn from scylla.lease(queue, worker, 5, '1 h') l, lateral scylla.complete(l.rn, worker) c;
			perform at_most_per_key(2);
			return;
		elsif way = 2 then
			begin
				perform scylla.lease(queue, worker, 9);
				raise exception using errcode = 'SR000';
			exception when sqlstate 'SR000' then null;
			end;
		elsif way = 3 then
			begin
				perform scylla.lease_task(rn, worker, '1 h') from scylla.list_tasks(queue, 'ready', max_tasks => 3) order by rn;
			exception when sqlstate '53400' or sqlstate '55000' then null;
			end;
			perform at_most_per_key(2);
			rollback;
			return;
		end if;
		held := array(select l.rn from scylla.lease(queue, worker, 1 + way, '1 h') l);
		perform at_most_per_key(2);
		commit;
		perform at_most_per_key(2);
		if way = 4 then
			for i in 1 .. 5 loop
				perform scylla.heartbeat_many(held, worker);
				commit;
			end loop;
		elsif way = 5 then
			held := array(select l.rn from scylla.complete_and_lease(held, worker, queue, 3, '1 h') l);
			commit;
			perform at_most_per_key(2);
		end if;
		if way % 2 = 0 then
			perform scylla.complete_many(held, worker);
		else
			perform scylla.yield(rn, worker) from unnest(held) rn order by rn;
		end if;
	end $$;));
PostgreSQL::Test::Utils::append_to_file("$folder/keyed.sql", "\\set way random(1, 6)\n\\set q random(1, 2)\ncall work_keyed('w' || :client_id, :way, (array['keyed', 'both'])[:q]);\n");
under_watch("at_most_per_key(2)", "$folder/keyed.sql", 20, '32 sessions, and none ever sees more tasks of a key than may run');
is(sql($node, q(select count(*) from scylla.task where queue in ('keyed', 'both') and status = 'running')), '0', 'nobody holds a task any more');
is(sql($node, q(select string_agg(n::text, ' ' order by key) from (select key, count(*) as n from scylla.lease('keyed', 'w', 30, '1 h')
	where key is not null group by key) t)), '2 2 2 2 2 2', 'no place of any key has been lost');
is(sql($node, q(select count(*) from scylla.lease('keyed', 'w', 1, '1 h') where key is not null)), '0', '... or won');
is(sql($node, q(select count(*) from scylla.lease('both', 'w', 30, '1 h'))), '9', '... of both limits');

# Keys that take turns: nothing is lost, or given twice.
sql($node, q(
	select scylla.create_queue('turns', key_weights => '{"a": 2, "b": 5}');
	select scylla.submit_many(jsonb_agg(jsonb_build_object('queue', 'turns', 'spec', n, 'key', chr(96 + n % 5)))) from generate_series(1, 3000) n;));
PostgreSQL::Test::Utils::append_to_file("$folder/turns.sql", q(select count(scylla.complete(rn, 'w' || :client_id, attempt => attempt))
	from scylla.lease('turns', 'w' || :client_id, 3, '1 h');
));
$node->command_ok([ 'pgbench', '-n', '-c', '16', '-j', '2', '-t', '80', '-f', "$folder/turns.sql", 'postgres' ], '16 sessions take turns');
is(sql($node, q(select status || ' ' || attempt || ' ' || count(*) from scylla.task where queue = 'turns' group by status, attempt)),
	'completed 1 3000', 'and all tasks were leased, each once');
checked($node, 'check() finds nothing');

# ---- transactions that are prepared ---------------------------------------------------------------------------------------

# Nobody is told how they end, so many sessions count at once what runs, while more are being prepared.
sql($node, q(
	select scylla.create_queue('doubtful', max_running => 3);
	select scylla.submit_bulk('doubtful', array_agg(to_jsonb(n))) from generate_series(1, 20000) n;
	create procedure work_doubtful(worker text) language plpgsql as $$
	declare
		held text[] := array(select rn from scylla.lease('doubtful', worker, 2, '1 h'));
		most int := 0;
	begin
		for i in 1 .. 2 loop
			most := greatest(most, (select count(*) from scylla.task_lease l join scylla.queue q on q.id = l.queue where q.name = 'doubtful'));
			commit;
		end loop;
		if most > 3 then
			raise exception '% tasks run', most;
		end if;
		perform scylla.complete_many(held, worker);
	end $$;));
PostgreSQL::Test::Utils::append_to_file("$folder/doubtful.sql", "call work_doubtful('w' || :client_id);\n");
PostgreSQL::Test::Utils::append_to_file("$folder/prepare.sql", q(\set commit random(0, 1)
begin;
select scylla.lease('doubtful', 'w' || :client_id, 2, '1 h');
prepare transaction 'p:client_id';
\if :commit
commit prepared 'p:client_id';
\else
rollback prepared 'p:client_id';
\endif
select scylla.complete(rn, 'w' || :client_id) from scylla.list_tasks('doubtful', 'running', 'w' || :client_id);
));
$node->command_ok(
	[ 'pgbench', '-n', '-c', '10', '-j', '2', '-t', '300', '-f', "$folder/doubtful.sql\@3", '-f', "$folder/prepare.sql", 'postgres' ],
	'10 sessions lease, some of them prepare that, and none ever sees more than the limit');
is(sql($node, q(select count(*) from scylla.lease('doubtful', 'w', 10, '1 h'))), '3', 'no place has been lost');
is(sql($node, q(select count(*) from scylla.lease('doubtful', 'w', 10, '1 h'))), '0', '... or won');

# Who asks for more than there seems to be is told what has become free meanwhile, too; also when others have just counted.
is(sql($node, q(
	select scylla.create_queue('unsure', max_running => 3) \g /dev/null
	select scylla.submit_bulk('unsure', array_agg(to_jsonb(n))) from generate_series(1, 10) n \g /dev/null
	begin;
	select scylla.lease('unsure', 'p', 2, '1 h') \g /dev/null
	prepare transaction 'unsure';
	select count(*) from scylla.lease('unsure', 'w', 10, '1 h');
	select count(*) from scylla.lease('unsure', 'w', 10, '1 h');
	select count(scylla.complete(rn, 'w')) from scylla.list_tasks('unsure', 'running', 'w');
	rollback prepared 'unsure';
	select count(*) from scylla.lease('unsure', 'w', 10, '1 h');)),
	"1\n0\n1\n3", 'what is prepared takes its places until it is rolled back, and then they are free, all at once');

# ---- a crash and prepared transactions ------------------------------------------------------------------------------------

my $open = $node->background_psql('postgres');
sql($node, q(select scylla.complete(rn, 'w') from scylla.list_tasks('narrow', 'running', max_tasks => 2)));
sql($node, q(begin; select scylla.lease('narrow', 'p', timeout => '1 h'); prepare transaction 'p'));
$open->query_safe(q(begin; select scylla.lease('narrow', 'lost', timeout => '1 h')));
is(sql($node, q(select count(*) from scylla.lease('narrow', 'w', 10))), '0', 'one held, one prepared, one in progress: full');
# One of two places of k1 is free, one of k2 prepared, one of k3 in progress.
sql($node, q(select scylla.complete(rn, 'w') from (select distinct on (key) rn from scylla.task
	where queue = 'keyed' and status = 'running' and key in ('k1', 'k2', 'k3') order by key, rn) t));
sql($node, q(begin; select scylla.lease_task(rn, 'p', '1 h') from (select rn from scylla.task where queue = 'keyed' and status = 'ready'
	and key = 'k2' order by rn limit 1) t; prepare transaction 'pk'));
$open->query_safe(q(select scylla.lease_task(rn, 'lost', '1 h') from (select rn from scylla.task where queue = 'keyed' and status = 'ready'
	and key = 'k3' order by rn limit 1) t));
$node->stop('immediate');
eval { $open->quit };
$node->start;
is(sql($node, q(select count(*) from scylla.lease('narrow', 'w', 10, '1 h'))), '1', 'a crash frees what was not committed, and nothing else');
is(sql($node, q(select string_agg(key, ' ' order by key) from scylla.lease('keyed', 'w', 10, '1 h') where key is not null)), 'k1 k3',
	'... nor for keys');
sql($node, q(rollback prepared 'pk'));
is(sql($node, q(select string_agg(key, ' ' order by key) from scylla.lease('keyed', 'w', 10, '1 h') where key is not null)), 'k2',
	'a prepared lease that is rolled back makes room for its key');
sql($node, q(rollback prepared 'p'));
is(sql($node, q(select count(*) from scylla.lease('narrow', 'w', 10, '1 h'))), '1', 'a prepared lease that is rolled back makes room');
is(sql($node, q(select count(*) from scylla.lease('narrow', 'w', 10, '1 h'))), '0', '... once');
checked($node, 'check() finds nothing after a crash');

# ---- waiting --------------------------------------------------------------------------------------------------------------

wait_for_monitor($node, 'postgres');
sql($node, q(
	select scylla.create_queue('one', max_running => 1);
	select scylla.submit('one', '1', rn => rn) from unnest(array['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k']) rn;
	select scylla.lease_task('a', 'w', '1 h');));
my $waiter = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $waiter->query_safe('select pg_backend_pid()');

sub begin_wait
{
	$waiter->query_until(qr/^begun$/m, "\\echo begun\ncall scylla.wait('one', '1 h');\n\\echo ended :SQLSTATE\n");
	$node->poll_query_until('postgres', sleeping(), '1') or die 'wait does not sleep';
}

sub sleeping
{
	return "select count(*) from pg_stat_activity where pid = $pid and wait_event = 'Extension' and query ~* '^call scylla.wait'";
}

sub naps
{
	slurp_file("/proc/$pid/status") =~ /^voluntary_ctxt_switches:\s+(\d+)/m or die;
	return $1;
}

# A task that nobody may lease signals the waiter, who looks and goes back to sleep.
sub sleeps_on
{
	my ($name, $submit) = @_;
	my $before = naps();
	sql($node, $submit // q(select scylla.submit('one', '2')));
	my $deadline = time + $PostgreSQL::Test::Utils::timeout_default;
	until (naps() > $before && sql($node, sleeping()) eq '1')
	{
		last if time > $deadline;
	}
	cmp_ok(time, '<=', $deadline, $name);
}

sub ended { return $waiter->query_until(qr/^ended \w{5}$/m, '') =~ /^t$/m ? 't' : 'f'; }

my $held = 'a';
for (
	[ 'complete', q(select scylla.complete('%s', 'w')) ],
	[ 'abort', q(select scylla.abort('%s', 'w', '{"code": "x"}')) ],
	[ 'fail', q(select scylla.fail('%s', 'w', '{"code": "x"}', '1 h')) ],
	[ 'cancel', q(select scylla.cancel('%s')) ],
	[ 'complete_many', q(select scylla.complete_many('{%s}', 'w')) ],
	[ 'an expired lease', q(select scylla.heartbeat('%s', 'w', timeout => '1 ms'); select scylla.reset_expired()) ],
	[ 'the end of the limit', q(select scylla.alter_queue('one', '{"max_running": null}')) ])
{
	my ($what, $end) = @$_;
	begin_wait();
	sql($node, "begin; select scylla.complete('$held', 'w'); rollback");
	sleeps_on("before $what a full queue lets nobody go on");
	sql($node, $end =~ s/%s/$held/gr);
	is(ended(), 't', "$what wakes who waits for a full queue");
	$held = sql($node, q(select rn from scylla.lease('one', 'w', timeout => '1 h')));
	isnt($held, '', '... and there is a task to lease');
}
is(sql($node, q(select count(*) from scylla.lease('one', 'w', 2))), '2', 'without a limit nothing is held back');

sql($node, q(select scylla.pause_queue('one')));
begin_wait();
sleeps_on('a paused queue lets nobody go on');
sql($node, q(select scylla.resume_queue('one')));
is(ended(), 't', 'the end of the pause wakes');
sql($node, q(select scylla.pause_queue('one')));
begin_wait();
sql($node, q(select scylla.drop_queue('one', force => true)));
sql($node, q(select scylla.submit('one', '4', rn => 'anew')));
is(ended(), 't', 'who waits for a queue that is dropped waits for the one that has its name');
$waiter->quit;

# Who waits for a queue with nothing but tasks of full keys sleeps until such a key has room.
sql($node, q(
	select scylla.create_queue('full keys', max_running_per_key => 1);
	select scylla.submit('full keys', '1', rn => key || n, key => key) from unnest(array['x', 'y']) key, generate_series(1, 100) n;
	select scylla.lease('full keys', 'w', 2, '1 h');));
my $patient = $node->background_psql('postgres', on_error_stop => 0);
$pid = $patient->query_safe('select pg_backend_pid()');
$patient->query_until(qr/^begun$/m, "\\echo begun\ncall scylla.wait('full keys', '1 h');\n\\echo ended :SQLSTATE\n");
$node->poll_query_until('postgres', sleeping(), '1') or die 'wait does not sleep';
sleeps_on('a queue whose keys are full lets nobody go on', q(select scylla.submit('full keys', '2', key => 'x')));
sql($node, q(select scylla.complete('y1', 'w')));
like($patient->query_until(qr/^ended \w{5}$/m, ''), qr/^t$/m, 'the end of a lease of a key wakes');
is(sql($node, q(select rn from scylla.lease('full keys', 'w', 10))), 'y2', '... for the next of this key');
$patient->quit;

# A place that a prepared transaction frees tells nobody: the monitor does.
sql($node, q(alter system set scylla.monitor_interval = '50 ms'));
$node->reload;
sql($node, q(
	select scylla.create_queue('two', max_running => 1);
	select scylla.submit('two', '1', rn => 'x'), scylla.submit('two', '1', rn => 'y');
	select scylla.lease_task('x', 'w', '1 h');
	begin; select scylla.complete('x', 'w'); prepare transaction 'c';));
my $late = $node->background_psql('postgres');
$late->query_until(qr/^begun$/m, "\\echo begun\ncall scylla.wait('two', '1 h');\n\\echo ended\n");
sql($node, q(commit prepared 'c'));
like($late->query_until(qr/^ended$/m, ''), qr/^t$/m, 'the monitor wakes for a place that a prepared transaction has freed');
$late->quit;
checked($node, 'check() finds nothing in the end');

$node->stop;

# ---- few entries in shared memory --------------------------------------------------------------------------------------------

my $few = new_node('few', settings => "scylla.max_queues = 16\nmax_connections = 100");
sql($few, "create extension scylla;\n$work");
sql($few, q(
	select scylla.create_queue(q, max_running => 2) from generate_series(1, 40) n, concat('q', n) q;
	select scylla.submit_bulk('q' || n, array['1', '2', '3']::jsonb[]) from generate_series(1, 40) n;
	select scylla.create_queue(q, max_running => 100) from generate_series(1, 20) n, concat('hold', n) q;
	select scylla.submit_bulk('hold' || n, array_fill('1'::jsonb, array[50])) from generate_series(1, 20) n;));

sub lease_from
{
	my ($from, $to, $tasks) = @_;
	return "select count(*) from generate_series($from, $to) n, lateral scylla.lease('q' || n, 'w', $tasks, '1 h');";
}
# More queues than there are entries, in one transaction.
my $greedy = $few->background_psql('postgres');
is($greedy->query_safe('begin; ' . lease_from(1, 20, 1)), '20', 'one transaction leases from more queues than there are entries');
is(sql($few, lease_from(21, 40, 3)), '40', '... and leaves others their entries, and their bounds');
my @holders = map { $few->background_psql('postgres') } 0 .. 3;
for my $n (0 .. 3)
{
	$holders[$n]->query_safe("begin; select scylla.lease('hold' || n, 'h', 1, '1 h') from generate_series(" . (4 * $n + 1) . ', ' . (4 * $n + 4) . ') n');
}
is(sql($few, lease_from(1, 20, 3)), '20', 'without any entry left leases are held to the bounds, and wait for nobody');
is(sql($few, "set statement_timeout = '60 s'; " . lease_from(1, 40, 1)), '0', '... whoever asks');
# The first of the tasks that are ready is the one that is just being leased.
fails_with($few, '53400', "set statement_timeout = '60 s'; select scylla.lease_task((select rn from scylla.list_tasks('q1', 'ready') offset 1), 'w')",
	'... nor is one task leased');
$_->query_safe('rollback') for @holders;
is(sql($few, lease_from(1, 20, 1)), '0', 'what was leased without an entry counts when there are entries again');
$greedy->query_safe('rollback');
is(sql($few, lease_from(1, 20, 3)), '20', '... and no longer than its transaction');
$_->quit for @holders, $greedy;
sql($few, q(select scylla.complete(rn, 'w') from scylla.task where status = 'running'));

# Sessions that come and go leave others an entry, or none.
sql($few, q(
	create procedure hold_entries() language plpgsql as $$ begin
		while to_regclass('over') is null loop
			perform scylla.lease('hold' || n, 'h', 1) from (select n from generate_series(1, 20) n order by random() limit 4) n;
			perform pg_sleep(random() * 0.02);
			rollback;
		end loop;
	end $$;));
@holders = map { $few->background_psql('postgres') } 1 .. 5;
$_->query_until(qr/^begun$/m, "\\echo begun\ncall hold_entries();\n") for @holders;
$few->command_ok([ 'pgbench', '-n', '-c', '16', '-j', '2', '-t', '40', '-f', "$folder/work.sql", 'postgres' ],
	'16 sessions work while entries come and go, and none ever sees more than the limit');
sql($few, 'create table over ()');
$_->quit for @holders;
is(sql($few, q(select count(*) from scylla.lease('narrow', 'w', 10, '1 h'))), '3', '... and no place is lost');
checked($few, '... check() finds nothing');
$few->stop;
done_testing();
