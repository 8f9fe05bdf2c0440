# max_depth holds for everybody and at every instant: under many sessions that submit, lease, cancel and roll back in every way,
# across crashes and restarts, for prepared transactions, where places in shared memory are few, and without shared memory. What
# a commit cannot tell, a later count finds.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $folder = PostgreSQL::Test::Utils::tempdir;
PostgreSQL::Test::Utils::append_to_file("$folder/work.sql",
	"\\set way random(1, 12)\n\\set queue random(0, 1)\ncall work((array['strict', 'sheds'])[:queue + 1], 'w' || :client_id, :way);\n");

# Tasks come and go in each of the ways that there are; whoever has submitted counts, as the newest snapshot shows it. Nothing comes
# back, as that would be let in.
my $work = q(
	select scylla.create_queue('strict', max_depth => 20);
	select scylla.create_queue('sheds', max_depth => 20, on_full => 'shed');

	create function at_most(bound int) returns void language plpgsql as $$
	declare
		-- What is left of a dropped queue is nobody's.
		most bigint := (select max(n) from (select count(*) n from (select queue from scylla.task_ready union all
				select queue from scylla.task_waiting) t join scylla.queue q on q.id = t.queue group by t.queue) c);
	begin
		if most > bound then
			raise exception '% tasks wait or are ready', most;
		end if;
	end $$;

	-- In a savepoint.
	create function try_submit(queue text, many int, way int) returns boolean language plpgsql as $$
	begin
		if way = 1 then
			perform scylla.submit(queue, '1', not_before => '9999-01-01') from generate_series(1, many);
		elsif way = 2 then
			perform scylla.submit_many(jsonb_agg(jsonb_build_object('queue', queue, 'spec', n))) from generate_series(1, many) n;
		else
			perform scylla.submit_bulk(queue, array_agg(to_jsonb(n))) from generate_series(1, many) n;
		end if;
		perform at_most(20);
		return true;
	exception when configuration_limit_exceeded then
		return false;
	end $$;

	-- Somebody else may have been faster.
	create function try_cancel(queue text) returns void language plpgsql as $$
	begin
		perform scylla.cancel(rn) from scylla.list_tasks(queue, 'waiting', max_tasks => 5);
	exception when object_not_in_prerequisite_state then null;
	end $$;

	create procedure work(queue text, worker text, way int) language plpgsql as $$
	begin
		if way > 9 then
			perform scylla.complete_many(array_agg(rn), worker) from scylla.lease(queue, worker, way - 7) having count(*) > 0;
			if way = 12 then
				rollback;
				return;
			end if;
			perform try_submit(queue, 2, 3);
		elsif way = 9 then
			perform try_cancel(queue);
		else
			perform try_submit(queue, 1 + way, way % 3 + 1);
			if way = 8 then
				begin
					perform try_submit(queue, 3, 3);
					raise exception using errcode = 'SR000';
				exception when sqlstate 'SR000' then null;
				end;
			elsif way = 7 then
				rollback;
				return;
			end if;
		end if;
		commit;
		perform at_most(20);
	end $$;);

# Somebody looks all the time.
sub observer
{
	my ($node) = @_;
	my $observer = $node->background_psql('postgres');
	$observer->query_until(qr/^begun$/m, q(
\echo begun
do $$ begin
	while to_regclass('over') is null loop
		perform at_most(20);
		commit;
	end loop;
end $$;
\echo ended :SQLSTATE
));
	return $observer;
}

sub stays_within
{
	my ($node, $sessions, $calls) = @_;
	my $observer = observer($node);
	$node->command_ok([ 'pgbench', '-n', '-c', $sessions, '-j', '2', '-t', $calls, '-f', "$folder/work.sql", 'postgres' ],
		"$sessions sessions submit, lease, cancel and roll back, and none ever sees more than the bound");
	sql($node, 'create table over ()');
	like($observer->query_until(qr/^ended \w{5}$/m, ''), qr/^ended 00000$/m, 'nor does somebody who looks all the time');
	$observer->quit;
	for my $queue ('strict', 'sheds')
	{
		my $room = 20 - depth($node, $queue);
		cmp_ok($room, '<', 20, "tasks are left in $queue");
		is(accepted($node, $queue, $room + 1), $room, '... and no room has been lost');
	}
	checked($node, 'check() finds nothing');
}

sub depth
{
	my ($node, $queue) = @_;
	return sql($node, "select count(*) from scylla.task where queue = '$queue' and status in ('ready', 'waiting')");
}

sub submit { return "select from scylla.submit('$_[0]', '1');\n"; }

# Of so many tasks, submitted to each queue one by one, how many are let in.
sub accepted
{
	my ($node, $queues, $tasks) = @_;
	my @queues = ref $queues ? @$queues : ($queues);
	my $depths = join '', map { "select count(*) from scylla.task where queue = '$_' and status in ('ready', 'waiting');\n" } @queues;
	my ($out) = result_of($node, "\\set ON_ERROR_STOP 0\n" . $depths . join('', map { submit($_) x $tasks } @queues) . $depths);
	my @depth = grep { $_ ne '' } split /\n/, $out;
	return join ' ', map { $depth[ @queues + $_ ] - $depth[$_] } 0 .. $#queues;
}

# ---- many sessions --------------------------------------------------------------------------------------------------------

my $node = new_node('main', settings => "max_connections = 100\nautovacuum_naptime = 1");
sql($node, 'create extension scylla');
sql($node, $work);
stays_within($node, 32, 60);
is(sql($node, q(select shed from scylla.stat_queue where queue = 'sheds')),
	sql($node, q(select count(*) from scylla.task where queue = 'sheds' and errors @> '[{"code": "queue-full"}]')),
	'the statistics tell what was shed');
cmp_ok(sql($node, q(select refused from scylla.stat_queue where queue = 'strict')), '>', 0, '... and refused');
is(sql($node, q(select refused, shed from scylla.stat_queue s where queue in ('strict', 'sheds') and (refused > 0) = (shed > 0))), '',
	'a queue does either');

# ---- a crash, a restart, prepared transactions --------------------------------------------------------------------------

my $open = $node->background_psql('postgres');
sql($node, q(
	select scylla.create_queue('ten', max_depth => 10);
	select scylla.submit_bulk('ten', array['1', '2']::jsonb[]);
	begin;
	select scylla.submit_bulk('ten', array['3', '4', '5']::jsonb[], array['p1', 'p2', 'p3']);
	prepare transaction 'p';));
$open->query_safe(q(begin; select scylla.submit_bulk('ten', array['6', '7', '8', '9', '10']::jsonb[])));
is(accepted($node, 'ten', 1), 0, 'two there, three prepared, five in progress: full');
$node->stop('immediate');
eval { $open->quit };
$node->start;
is(accepted($node, 'ten', 6), 5, 'a crash frees what was not committed, and nothing else');
sql($node, q(commit prepared 'p'));
is(accepted($node, 'ten', 1), 0, 'what was prepared before the crash is there');
is(depth($node, 'ten'), 10, '... and counts once');
$node->restart;
is(accepted($node, 'ten', 1), 0, 'a restart changes nothing');
is(sql($node, q(select count(*) from scylla.lease('ten', 'w', 4, '1 h'))), '4', 'tasks go');
is(accepted($node, 'ten', 5), 4, '... and make room');

# Their ends tell nothing; a later count sees them.
sql($node, q(begin; select scylla.lease('ten', 'w', 3, '1 h'); prepare transaction 'l'));
is(accepted($node, 'ten', 1), 0, 'a prepared lease makes no room');
sql($node, q(commit prepared 'l'));
$node->poll_query_until('postgres', q(select try_submit('ten', 3, 3)), 't') or die 'there is no room';
is(accepted($node, 'ten', 1), 0, 'when it is committed there is room for as many, once somebody has counted');
sql($node, q(select scylla.cancel(rn) from scylla.list_tasks('ten', 'ready', max_tasks => 3)));
sql($node, q(begin; select scylla.submit_bulk('ten', array['1', '2', '3']::jsonb[]); prepare transaction 's'));
is(accepted($node, 'ten', 1), 0, 'prepared submits take room');
sql($node, q(rollback prepared 's'));
$node->poll_query_until('postgres', q(select try_submit('ten', 3, 2)), 't') or die 'there is no room';
is(accepted($node, 'ten', 1), 0, '... and give it back when they are rolled back');
sql($node, q(select scylla.lease('ten', 'w', 2, '1 h')));
sql($node, q(begin; select scylla.yield(rn, 'w') from scylla.list_tasks('ten', 'running', max_tasks => 2); prepare transaction 'y'));
sql($node, q(commit prepared 'y'));
is(accepted($node, 'ten', 1), 0, 'what a prepared transaction has brought back is counted from the start');
# What comes past the verbs is seen by a later count.
sql($node, q(
	select scylla.create_queue('restored', max_depth => 10);
	select scylla.submit('restored', '1');
	with s as (insert into scylla.task_spec (id, created, queue, priority, rn, spec)
		select nextval('scylla.task_id_seq'), now(), q.id, 0, 'by hand ' || n, '1' from scylla.queue q, generate_series(1, 9) n
		where q.name = 'restored' returning *)
	insert into scylla.task_ready (id, updated, queue, attempt, failures, priority) select id, now(), queue, 0, 0, 0 from s;));
my $deadline = time + $PostgreSQL::Test::Utils::timeout_default;
my $state;
do { $state = sqlstate($node, 'begin; ' . submit('restored') . 'rollback'); } until ($state eq '53400' || time > $deadline);
is($state, '53400', 'tasks that were restored are counted, too');
checked($node, 'check() finds nothing after all that');

# A count that waits for a lock takes none of the time that counts may take.
sql($node, q(select scylla.create_queue('waited', max_depth => 3);
	select scylla.submit_bulk('waited', array['1', '2', '3']::jsonb[]);));
$node->restart;
my $locker = $node->background_psql('postgres');
$locker->query_safe('begin; lock scylla.task_waiting');
my $slow = $node->background_psql('postgres', on_error_stop => 0);
$slow->query_until(qr/^submits$/m, "\\echo submits\n" . submit('waited') . "\\echo ended :SQLSTATE\n");
ok($node->poll_query_until('postgres', q(select now() - query_start > '3 s' from pg_stat_activity where wait_event_type = 'Lock')),
	'a submit that counts waits for a lock');
$locker->query_safe('commit');
like($slow->query_until(qr/^ended \w{5}$/m, ''), qr/^ended 53400$/m, '... and is refused');
$_->quit for $locker, $slow;
sql($node, q(with r as (delete from scylla.task_ready r using scylla.queue q where q.id = r.queue and q.name = 'waited' returning r.id)
	delete from scylla.task_spec s using r where s.id = r.id));
my $start = time;
ok($node->poll_query_until('postgres', q(select try_submit('waited', 3, 3))), '... what is deleted by hand makes room when tasks are counted again');
cmp_ok(time - $start, '<', 60, '... which is soon');

# ---- what it costs --------------------------------------------------------------------------------------------------------

sql($node, q(
	select scylla.create_queue('long', max_depth => 200000);
	select scylla.submit_bulk('long', array_agg(to_jsonb(n))) from generate_series(1, 50000) n;
	create function buffers(statement text) returns bigint language plpgsql as $$
	declare
		plan json;
	begin
		execute 'explain (analyze, buffers, format json) ' || statement into plan;
		return (plan #>> '{0,Plan,Shared Hit Blocks}')::bigint + (plan #>> '{0,Plan,Shared Read Blocks}')::bigint;
	end $$;));
cmp_ok(sql($node, q(select min(buffers($$select scylla.submit('long', '1')$$)) from generate_series(1, 10))), '<', 200,
	'a submit to a long queue does not count it');
$node->stop;

# ---- few places in shared memory ------------------------------------------------------------------------------------------

my $small = new_node('small', settings => 'scylla.max_queues = 16');
my @all = map { "q$_" } 1 .. 40;
sql($small, join "\n", 'create extension scylla;', map { "select scylla.create_queue('$_', max_depth => 2); " . submit($_) } @all);
is(accepted($small, \@all, 2), join(' ', (1) x @all), 'more queues than places, and each is held to its bound');
sql($small, q(select scylla.cancel(rn) from scylla.list_tasks('q1', 'ready', max_tasks => 1)));
my $holder = $small->background_psql('postgres');
$holder->query_safe('begin; ' . submit('q1'));
is(accepted($small, [ @all[ 1 .. 39 ] ], 1), join(' ', (0) x 39), 'others need the places meanwhile');
is(accepted($small, 'q1', 1), 0, 'a queue with something in flight keeps its own');
$holder->query_safe('rollback');
is(accepted($small, 'q1', 2), 1, '... until that has ended');
$holder->quit;
sql($small, join "\n", map { "select scylla.cancel(rn) from scylla.list_tasks('$_', 'ready', max_tasks => 1);" } @all);
my @own = map { "own$_" } 1 .. 20;
sql($small, join "\n", map { "select scylla.create_queue('$_', max_depth => 2);" } @own);
my $greedy = $small->background_psql('postgres');
$greedy->query_safe(join "\n", 'begin;', map { submit($_) } @own);
is(accepted($small, \@all, 2), join(' ', (1) x @all), 'one transaction that submits to many queues leaves others their entries');
sql($small, join "\n", map { "select scylla.cancel(rn) from scylla.list_tasks('$_', 'ready', max_tasks => 2);" } @all);
my @holders = map { $small->background_psql('postgres') } 1 .. 4;
$holders[$_]->query_safe(join "\n", 'begin;', map { submit($_) } @all[ 4 * $_ .. 4 * $_ + 3 ]) for 0 .. 3;
is(accepted($small, [ @all[ 16 .. 39 ] ], 3), join(' ', (2) x 24), 'without any entry left others are held to their bounds, too');
my $counts = $small->background_psql('postgres');
sql($small, "select scylla.cancel(rn) from scylla.list_tasks('q40', 'ready', max_tasks => 1)");
$counts->query_safe('begin; ' . submit('q40'));
my $waits = $small->background_psql('postgres', on_error_stop => 0);
$waits->query_until(qr/^submits$/m, "\\echo submits\n" . submit('q40') . "\\echo ended :SQLSTATE\n");
ok($small->poll_query_until('postgres', q(select true from pg_locks where locktype = 'object' and not granted)),
	'... a submit waits for one that has counted the tasks');
$_->query_safe('rollback') for @holders;
is(accepted($small, 'q39', 1), 0, '... and other queues do not');
$counts->query_safe('commit');
like($waits->query_until(qr/^ended \w{5}$/m, ''), qr/^ended 53400$/m, '... to be held to the bound with its tasks');
$greedy->query_safe('rollback');
$_->quit for @holders, $counts, $waits, $greedy;
is(accepted($small, [ @all[ 0 .. 15 ], @own ], 3), join(' ', (2) x 36), '... and nothing is left behind');

# An entry is evicted faster than its queue is counted.
sql($small, q(
	select scylla.create_queue('counts', max_depth => 1000000);
	select scylla.submit_bulk('counts', array_agg(to_jsonb(n))) from generate_series(1, 200000) n;));
PostgreSQL::Test::Utils::append_to_file("$folder/evict.sql", "\\set queue random(1, 40)\nbegin;\n" .
	"do \$\$ begin perform scylla.submit('q' || :queue, '1'); exception when configuration_limit_exceeded then null; end \$\$;\nrollback;\n");
PostgreSQL::Test::Utils::append_to_file("$folder/count.sql", "begin;\n" . submit('counts') . "rollback;\n");
$ENV{PGOPTIONS} = '-c statement_timeout=60s';
$small->command_ok([ 'pgbench', '-n', '-c', '4', '-t', '100', '-f', "$folder/evict.sql\@9", '-f', "$folder/count.sql\@1", 'postgres' ],
	'submits to a long queue end while its entry is evicted again and again');
delete $ENV{PGOPTIONS};

# Sessions that come and go leave others an entry, or none.
sql($small, $work);
sql($small, q(select scylla.drop_queue('counts', force => true)));
sql($small, q(
	select scylla.create_queue('hold' || n, max_depth => 100) from generate_series(1, 20) n;
	create procedure hold_entries() language plpgsql as $$ begin
		while to_regclass('over') is null loop
			perform scylla.submit('hold' || n, '1') from (select n from generate_series(1, 20) n order by random() limit 4) n;
			perform pg_sleep(random() * 0.02);
			rollback;
		end loop;
	end $$;));
@holders = map { $small->background_psql('postgres') } 1 .. 5;
$_->query_until(qr/^begun$/m, "\\echo begun\ncall hold_entries();\n") for @holders;
stays_within($small, 16, 40);
$_->quit for @holders;
$small->stop;

# ---- without shared memory ------------------------------------------------------------------------------------------------

my $bare = new_node('bare', preload => 0);
sql($bare, 'set client_min_messages = error; create extension scylla');
sql($bare, $work);
stays_within($bare, 8, 40);
# Of so many keys some fall on each of the locks of keys.
sql($bare, q(
	select scylla.create_queue('keys', max_depth => 2000, max_running_per_key => 1);
	select scylla.submit('keys', '1', key => 'key ' || n) from generate_series(1, 1500) n;));
my $submitter = $bare->background_psql('postgres');
$submitter->query_safe('begin; ' . submit('keys'));
is(sql($bare, q(set statement_timeout = '60 s'; select count(*) from scylla.lease('keys', 'w', 1500, '1 h'))), '1500',
	'an open submit keeps no key from being leased');
$submitter->query_safe('rollback');
$submitter->quit;
$bare->stop;
done_testing();
