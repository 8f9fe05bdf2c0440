# Statistics: what is committed is counted, and nothing else; the numbers of tasks agree with the tables whatever happens
# while they are counted; a clean restart keeps the counters and a crash does not.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

# So few places that queues have to give way to others.
my $node = new_node('main', settings => 'scylla.max_queues = 16');
sql($node, 'create extension scylla');

my $counters = 'submitted, leased, completed, aborted, cancelled, failed, expired, yielded, purged';

# What the counters say without a count of the tables, once there has been one.
sub kept
{
	my ($columns, $queue, $at) = @_;
	return sql($at // $node, "select $columns from scylla._stat_queues(false) where queue = '$queue'");
}

# ---- events ---------------------------------------------------------------------------------------------------------------

is(sql($node, 'select count(*) from scylla.stat_queue'), '0', 'no queue, no row');
sql($node, q(select scylla.create_queue('idle')));
is(kept("$counters, wait_histogram = array_fill(0::bigint, array[32]), stats_reset", 'idle'), '0|0|0|0|0|0|0|0|0|t|',
	'a queue without tasks has zeros');

sql($node, q(
	select scylla.submit_bulk('q', array_fill('1'::jsonb, array[10]), array(select 't' || n from generate_series(1, 10) n));
	select scylla.submit_many('[{"queue": "q", "spec": 1, "rn": "t1"}, {"queue": "q", "spec": 1, "rn": "m1", "max_attempts": 1}]');
	select scylla.submit('q', '1', rn => 'later', not_before => now() + interval '1 day');
	select scylla.submit('q', '1', rn => 'later', on_duplicate => 'ignore');));
is(kept("$counters, waiting, ready, running, terminal", 'q'), '12|0|0|0|0|0|0|0|0|1|11|0|0', 'submitted: what was inserted');

sql($node, q(
	select scylla.lease_task('t' || n, 'w', timeout => '1 h') from generate_series(1, 9) n;
	select scylla.lease_task('m1', 'w', timeout => '1 h');
	select scylla.heartbeat('t1', 'w');
	select scylla.complete('t1', 'w');
	select * from scylla.complete_many('{t2,t1}', 'w');
	select scylla.abort('t3', 'w', '{"code": "x"}');
	select scylla.fail('t4', 'w', '{"code": "x"}', retry_after => '0');
	select scylla.fail('t5', 'w', '{"code": "x"}', retry_after => '1 day');
	select scylla.fail('m1', 'w', '{"code": "x"}');
	select scylla.yield('t6', 'w');
	select scylla.cancel('t7');
	select scylla.cancel('t10');
	select scylla.cancel('later');));
is(kept("$counters, waiting, ready, running, terminal", 'q'), '12|10|2|2|3|3|0|1|0|1|2|2|7', 'every end is counted as what it is');
is(kept('(select sum(n) from unnest(wait_histogram) n), (select sum(n) from unnest(run_histogram) n)', 'q'), '10|6',
	'waits: one per lease; runs: those that ended by complete, abort or fail');
is(kept('total_wait_time > 0 and total_wait_time < 1e6 and total_run_time > 0 and total_run_time < 1e6', 'q'), 't', '... and their sums');

sql($node, q(
	update scylla.task_lease set deadline = now() - interval '1 s';
	update scylla.task_waiting set due = now() - interval '1 s';
	update scylla.task_outcome set finished = now() - interval '8 d';
	update scylla.task_spec set created = now() - interval '9 d';
	select scylla.maintain();));
is(kept("$counters, waiting, ready, running, terminal", 'q'), '12|10|2|2|3|3|2|1|7|0|5|0|0', 'what time does is counted too');

# Errors and roll-backs.
my $before = kept("$counters, waiting, ready, running, terminal", 'q');
result_of($node, q(begin; select scylla.submit('q', '1'); select scylla.lease('q', 'w', 9); rollback;));
result_of($node, q(select scylla.submit('q', '1'), 1 / 0;));
is(kept("$counters, waiting, ready, running, terminal", 'q'), $before, 'what is rolled back is not counted');
sql($node, q(
	begin;
	savepoint a;
	select scylla.submit('q', '1');
	savepoint b;
	select scylla.submit('q', '1');
	select scylla.submit('r', '1');
	release b;
	rollback to a;
	savepoint c;
	select scylla.submit('q', '1', rn => 's1');
	savepoint d;
	select scylla.submit('r', '1');
	select scylla.lease_task('s1', 'w');
	release d;
	release c;
	select scylla.submit('r', '1');
	commit;));
is(kept('submitted, leased, ready, running', 'q'), '13|11|5|1', 'a savepoint that is rolled back takes its part along');
is(kept('submitted, leased, ready, running', 'r'), '2|0|2|0', '... of every queue');
sql($node, q(do $$ begin for i in 1 .. 200 loop begin perform scylla.submit('blocks', '1'); if i % 2 = 0 then perform 1 / 0; end if;
	exception when division_by_zero then null; end; end loop; end $$));
is(kept('submitted, ready', 'blocks'), '100|100', '... and so does a block with an exception');

# Commits that nobody is told of are in no counter; the next count makes up for the tasks.
sql($node, q(begin; select scylla.submit('q', '1'); prepare transaction 'p'; commit prepared 'p';));
is(kept('submitted, ready', 'q'), '13|5', 'a prepared transaction is not counted');
is(sql($node, q(select tasks from scylla.count_tasks('q') where status = 'ready')), '6', 'count_tasks() counts it');
is(kept('submitted, ready', 'q'), '13|6', '... and puts the numbers of tasks right');

# A count that waits for a lock uses no processor time, so the next one comes soon.
my $locker = $node->background_psql('postgres');
$locker->query_safe('begin; lock scylla.task_outcome');
my $looks = $node->background_psql('postgres');
$looks->query_until(qr/^looks$/m, "\\echo looks\nselect count(*) from scylla.count_tasks();\n\\echo looked\n");
ok($node->poll_query_until('postgres', q(select now() - query_start > '3 s' from pg_stat_activity where wait_event_type = 'Lock')),
	'a count waits for a lock');
$locker->query_safe('commit');
like($looks->query_until(qr/^looked$/m, ''), qr/^looked$/m, '... and gets it');
$_->quit for $locker, $looks;
sql($node, q(select scylla.submit('unkind', '1', rn => 'unkind'); begin; select scylla.lease('unkind', 'w', timeout => '1 h');
	prepare transaction 'p'; commit prepared 'p'; select scylla.complete('unkind', 'w');));
is(kept('running', 'unkind'), '0', 'what a prepared transaction has leased ends, and no number is negative');
sql($node, q(begin; select scylla.submit('unkind', '1'); prepare transaction 'p'; commit prepared 'p';));
my $begin = time;
ok($node->poll_query_until('postgres', q(select ready = 1 from scylla.stat_queue where queue = 'unkind')), 'numbers are right again');
cmp_ok(time - $begin, '<', 60, '... soon');

# ---- what a look sees of its own transaction ----------------------------------------------------------------------------

is(sql($node, q(begin; select from scylla.submit('own', '1'); select tasks from scylla.count_tasks('own') where status = 'ready'; commit)),
	"1", 'count_tasks() counts what its own transaction did');
is(kept('submitted, ready', 'own'), '1|1', '... which is not counted twice');

# A retried task comes first, but others have been ready for longer.
sql($node, q(
	select scylla.submit('oldest', '1', rn => 'first', priority => 3);
	select scylla.submit('oldest', '1', rn => 'second', priority => 3);
	select scylla.submit('oldest', '1', rn => 'low', priority => 1);
	update scylla.task_ready r set updated = now() - case rn when 'second' then interval '1 hour' else '1 min' end
		from scylla.task_spec s where s.id = r.id and rn in ('second', 'low');
	select scylla.lease_task('first', 'w');
	select scylla.fail('first', 'w', '{"code": "x"}', retry_after => '0');));
is(kept("oldest_ready between '1 hour' and '1 hour 10 min'", 'oldest'), 't', 'oldest_ready is of the one that has been ready for longest');
sql($node, q(select scylla.cancel('second')));
is(kept("oldest_ready between '1 min' and '11 min'", 'oldest'), 't', '... of any priority');

# ---- resetting ------------------------------------------------------------------------------------------------------------

my $reset = kept('stats_reset', 'q');
sql($node, q(select scylla.stat_reset('r')));
is(kept('submitted, ready', 'r'), '0|2', 'stat_reset() of a queue: its counters begin anew, its tasks are as many as before');
is(kept("submitted, stats_reset = '$reset'", 'q'), '13|t', '... and other queues are left alone');
sql($node, q(select scylla.stat_reset()));
is(kept("submitted, stats_reset > '$reset', (select sum(n) from unnest(wait_histogram) n)", 'q'), '0|t|0', 'stat_reset() of all');

# ---- counting while others work -------------------------------------------------------------------------------------------

my $folder = PostgreSQL::Test::Utils::tempdir;
append_to_file("$folder/work.sql", q(
\set r random(1, 100)
\set n random(0, 2)
\if :r < 40
select scylla.submit('q' || :n, '{}', priority => :r % 5);
\elif :r < 50
begin;
select scylla.submit('q' || :n, '{}');
savepoint a;
select count(*) from scylla.lease('q0', 'w', 3);
rollback to a;
savepoint b;
select count(*) from scylla.lease('q1', 'w', 1);
release b;
commit;
\elif :r < 60
begin;
select count(*) from scylla.lease('q' || :n, 'w', 2);
rollback;
\else
select count(scylla.complete(rn, 'w')) from scylla.lease('q' || :n, 'w', 2);
\endif
));
append_to_file("$folder/count.sql", "select count(*) from scylla.count_tasks();\n");
# Every count corrects what an earlier one has got wrong, so only the last of a round is put to the test: hence many rounds.
my $kept = q(select queue, waiting, ready, running, terminal from scylla._stat_queues(false) where queue ~ '^q.$' order by queue);
my $there = q(select queue, count(*) filter (where status = 'waiting'), count(*) filter (where status = 'ready'),
	count(*) filter (where status = 'running'), count(*) filter (where status = 'completed')
	from scylla.task where queue ~ '^q.$' group by queue order by queue);
my @wrong;
for my $round (1 .. 60)
{
	system_or_bail('pgbench', '-n', '-c', 8, '-t', 25, '-f', "$folder/work.sql\@20", '-f', "$folder/count.sql\@1", $node->connstr('postgres'));
	my ($counters, $tables) = (sql($node, $kept), sql($node, $there));
	push @wrong, "round $round: $counters instead of $tables" if $counters ne $tables;
}
is("@wrong", '', 'tasks are counted again and again while others work on them: the numbers agree with the tables');
is(sql($node, q(select queue from scylla._stat_queues(false) where queue ~ '^q.$' and submitted <> waiting + ready + running + terminal)),
	'', 'as many were submitted as there are');

# ---- restarts -------------------------------------------------------------------------------------------------------------

my $all = "select queue, $counters, total_wait_time, wait_histogram, run_histogram, stats_reset from scylla._stat_queues(false) order by queue";
my $tasks = 'select queue, waiting, ready, running, terminal from scylla._stat_queues(false) order by queue';
my ($counted, $tasks_then) = (sql($node, $all), sql($node, $tasks));
$node->restart;
is(sql($node, $all), $counted, 'a restart keeps the counters');
is(sql($node, $tasks), $tasks_then, '... and the first look counts the tasks');
ok(!-e $node->data_dir . '/pg_stat/scylla.stat', 'the file is gone while the server runs');
$node->stop('immediate');
$node->start;
is(sql($node, 'select coalesce(sum(submitted), 0) from scylla._stat_queues(false)'), '0', 'after a crash they begin anew');
is(sql($node, $tasks), $tasks_then, '... and the tasks are counted');

sql($node, q(select scylla.submit('q', '1')));
$node->stop;
my $file = $node->data_dir . '/pg_stat/scylla.stat';
ok(-s $file, 'a clean stop leaves a file');
open my $damaged, '+<', $file or die "$file: $!";
seek $damaged, 100, 0;
print $damaged 'damage';
close $damaged;
$node->start;
is(kept('submitted', 'q'), '0', 'a damaged file is not used');
like(slurp_file($node->logfile), qr/scylla begins its statistics anew: file "pg_stat\/scylla.stat" is not valid/, '... and the log says so');
unlike(slurp_file($node->logfile), qr/PANIC/, 'nothing worse');

# ---- more queues than there are places ---------------------------------------------------------------------------------

sql($node, q(select scylla.submit('many ' || n, '1') from generate_series(1, 40) n));
is(sql($node, q(select count(*), sum(ready), min(ready), max(ready) from scylla.stat_queue where queue ~ '^many')), '40|40|1|1',
	'with more queues than places the tasks are counted right');
is(sql($node, q(select count(*) between 1 and 16 from scylla.stat_queue where queue ~ '^many' and stats_reset is not null)), 't',
	'... and some queues have lost their counters');

# ---- another extension with the same numbers of queues ------------------------------------------------------------------

sql($node, 'drop extension scylla cascade; drop schema if exists scylla; create extension scylla');
sql($node, q(select scylla.create_queue('new')));
is(kept("$counters, waiting, ready, running, terminal", 'new'), '0|0|0|0|0|0|0|0|0|0|0|0|0', 'a new extension begins with nothing');

# ---- a standby counts, and counts on when it is promoted ----------------------------------------------------------------

my $primary = new_node('primary', allows_streaming => 1);
sql($primary, q(create extension scylla; select scylla.submit_bulk('q', array_fill('1'::jsonb, array[5]))));
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
sql($primary, q(select scylla.submit('q', '1')));
$primary->wait_for_catchup($standby, 'replay');
is(sql($standby, q(select ready, oldest_ready >= '0', submitted from scylla.stat_queue)), '6|t|0',
	'a standby shows the tasks that it has, and that it has done nothing');
is(sql($standby, q(select tasks from scylla.count_tasks('q') where status = 'ready')), '6', 'count_tasks() works there');
sql($primary, q(select scylla.submit('q', '1')));
$primary->wait_for_catchup($standby, 'replay');
is(kept('ready, submitted', 'q', $standby), '7|0', '... and sees what has come since');
$primary->stop;
$standby->promote;
sql($standby, q(select scylla.submit('q', '1')));
is(kept('ready, submitted', 'q', $standby), '8|1', 'promoted it counts on');
$standby->stop;

# ---- the monitor -----------------------------------------------------------------------------------------------------------

$node->append_conf('postgresql.conf', 'scylla.monitor = on');
$node->reload;
wait_for_monitor($node, 'postgres');
eventually($node, q(select rounds > 0 and total_time > 0 and max_time <= total_time and last_round > now() - interval '1 min'
	and errors = 0 and last_error is null and pid = (select pid from pg_stat_activity where backend_type = 'scylla monitor')
	from scylla.stat_monitor), 't', 'stat_monitor: it works and says so');
sql($node, q(
	select scylla.submit('new', '1', rn => 'due', not_before => clock_timestamp() + interval '300 ms');
	select scylla.submit('new', '1', rn => 'expires');
	select scylla.lease_task('expires', 'w', timeout => '1 ms');
	select scylla.submit('new', '1', rn => 'old');
	select scylla.cancel('old');
	begin;
	update scylla.task_spec set created = now() - interval '9 d';
	update scylla.task_outcome set finished = now() - interval '8 d';
	commit;));
eventually($node, 'select opened, expired, purged from scylla.stat_monitor', '1|1|1', '... what it has done');
# An index that cannot take what the monitor writes.
sql($node, q(
	create function public.fail(bigint) returns bigint language plpgsql immutable as
		$$ begin raise exception 'no entry for task %', $1; end $$;
	select scylla.cancel('expires');
	create index trouble on scylla.task_ready (public.fail(id)) where failures > 0;
	select scylla.submit('new', '1', rn => 'trouble');
	select scylla.lease_task('trouble', 'w', timeout => '1 ms');));
eventually($node, q(select errors > 0 and last_error ~ '^no entry for task \d+$' and last_error_time > now() - interval '1 min'
	from scylla.stat_monitor), 't', '... and the error that ended it');
sql($node, 'drop index scylla.trouble; select scylla.stat_reset()');
is(sql($node, q(select errors, last_error is null, stats_reset > now() - interval '1 min' from scylla.stat_monitor)), '0|t|t',
	'stat_reset() is for the monitor too');

# Without a queue it is for the queues of the caller.
sql($node, q(
	create role mine; grant usage on schema scylla to mine;
	grant execute on function scylla.stat_reset, scylla._heads to mine;
	select scylla.create_queue(q) from unnest(array['mine', 'theirs']) q;
	select scylla.set_queue_owner('mine', 'mine');
	select scylla.submit(q, '1') from unnest(array['mine', 'theirs']) q;
	select scylla.lease(q, 'w') from unnest(array['mine', 'theirs']) q;));
my $since = sql($node, 'select stats_reset from scylla.stat_monitor');
sql($node, 'set role mine; select scylla.stat_reset()');
is(kept('submitted, leased', 'mine'), '0|0', 'stat_reset() resets the queues of the caller');
is(kept('submitted, leased', 'theirs'), '1|1', '... and no others');
is(sql($node, 'select stats_reset from scylla.stat_monitor'), $since, '... nor the monitor');
sql($node, q(select scylla.submit(q, '1') from unnest(array['mine', 'theirs']) q));
is(sql($node, 'set role mine; select distinct queue from scylla._heads()'), sql($node, q(select id from scylla.queue where name = 'mine')),
	'the heads of the queues of others are not shown');

# ---- many queues ------------------------------------------------------------------------------------------------------------

my $many = new_node('many', settings => "scylla.max_queues = 64\nfsync = off");
sql($many, 'create extension scylla');
sql($many, q(
	select count(scylla.create_queue('m' || n)) from generate_series(1, 20000) n;
	select count(scylla.submit('m' || n, '1')) from generate_series(1, 20000, 2) n;
	select count(*) from generate_series(1, 20) n, scylla.lease('m' || n, 'w' || n % 7);));
my $heads = sql($many, 'select string_agg(distinct queue, $$ $$ order by queue) from scylla.stat_heads');
for (
	[ 'metrics()', q(set scylla.max_metrics_queues = 20000; select length(scylla.metrics()) > 1000000), 't' ],
	[ 'stat_queue', 'select count(*), sum(ready), count(oldest_ready) from scylla.stat_queue', '20000|9990|9990' ],
	[ 'stat_worker', 'select count(*), sum(leases) from scylla.stat_worker', '10|10' ])
{
	my ($what, $query, $result) = @$_;
	is(sql($many, "set statement_timeout = '4 s'; $query"), $result, "$what with 20,000 queues");
}
is(sql($many, 'select string_agg(distinct queue, $$ $$ order by queue) from scylla.stat_heads'), $heads,
	'... and no head of a queue has had to go for that');
$many->stop;

checked($node, 'check() finds nothing');
$node->stop;
done_testing();
