# Pools with a monitor: everything that makes room places at once; 32 sessions of which some are killed, with an observer; crashes.
# Never is more reserved than there is.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

# The monitor looks by itself so rarely that only what commits tell it can explain what it does here.
my $node = new_node('main', settings => "scylla.monitor = on\nscylla.monitor_interval = 30min");
sql($node, 'create extension scylla');
wait_for_monitor($node, 'postgres');
sql($node, q(select scylla.create_queue('q', max_attempts => 1000)));

my $submit = sub { my ($rn, $needs) = @_; sql($node, "select rn from scylla.submit('q', '1', rn => '$rn', needs => '$needs')") };
my $status = sub { my ($rn) = @_; "select status from scylla.get_task('$rn')" };

sql($node, q(select scylla.create_pool('p', '{"permits": 1}')));
$submit->('a', '{"p": {"permits": 1}}');
eventually($node, $status->('a'), 'ready', 'a submit places');
$submit->('b', '{"p": {"permits": 1}}');
sql($node, q(select scylla.lease_task('a', 'w')));
is(sql($node, $status->('b')), 'waiting', 'no more than there is');
my $counted = q(select waiting, ready, running from scylla.stat_queue where queue = 'q');
my $measured = q(select string_agg(line, E'\n' order by line) from regexp_split_to_table(scylla.metrics(), E'\n') line
	where line ~ '^pgscylla_(tasks|tasks_waiting_for|pool_tasks_waiting|pool_tasks_placed)\{' and line ~ 'waiting"|what="pool"|pool="p"');
eventually($node, $counted, '1|0|1', 'a task in line counts as waiting');
is(sql($node, q(select for_pools, for_signals, deferred from scylla.stat_waiting where queue = 'q')), '1|0|0', '... for a pool');
is( sql($node, $measured), join("\n", 'pgscylla_pool_tasks_placed{pool="p"} 1', 'pgscylla_pool_tasks_waiting{pool="p"} 1',
		'pgscylla_tasks_waiting_for{queue="q",what="pool"} 1', 'pgscylla_tasks{queue="q",state="waiting"} 1'),
	'... in the metrics, too');
is(sql($node, q(select waits_for, detail from scylla.explain_waiting('b'))), 'pool p|Not placed: permits short by 1 in pool p.', '... and explain_waiting() says for what');
sql($node, q(select scylla.complete('a', 'w')));
eventually($node, $status->('b'), 'ready', 'the end of a run places');
eventually($node, $counted, '0|1|0', 'one that is placed does not');
is(sql($node, q(select count(*) from scylla.stat_waiting)), '0', '... nor waits for a pool');
$submit->('c', '{"p": {"permits": 1}}');
sql($node, q(select scylla.alter_pool('p', '{"capacity": {"permits": 2}}')));
eventually($node, $status->('c'), 'ready', 'more capacity places');
$submit->('d', '{"p": {"permits": 1}}');
sql($node, q(select scylla.lease_task('b', 'w', '10 ms')));
eventually($node, q(select count(*) from scylla.pool_reservation where rn in ('b', 'c', 'd')), '2', 'an expired lease gives back, and places anew');
sql($node, q(select scylla.cancel(rn) from scylla.pool_reservation));
eventually($node, q(select count(*) from scylla.pool_queue), '0', 'a cancel places');
sql($node, q(select scylla.cancel(rn) from scylla.pool_reservation));
$submit->('e', '{"p": {"permits": 2}}');
eventually($node, $status->('e'), 'ready', 'a task');
$submit->('f', '{"p": {"permits": 1}}');
sql($node, q(select scylla.drain_pool('p'); select scylla.cancel('e')));
is(sql($node, $status->('f')), 'waiting', 'a drained pool');
sql($node, q(select scylla.resume_pool('p')));
eventually($node, $status->('f'), 'ready', 'resuming places');
sql($node, q(select scylla.cancel('f'); select scylla.report_usage('p', '{"permits": 2}')));
$submit->('g', '{"p": {"permits": 1}}');
is(sql($node, $status->('g')), 'waiting', 'what others use');
sql($node, q(select scylla.report_usage('p', '{"permits": 0}')));
eventually($node, $status->('g'), 'ready', 'a report places');
my $session = $node->background_psql('postgres');
sql($node, q(select scylla.cancel('g'); select scylla.alter_pool('p', '{"capacity": {"permits": 0}}')));
$submit->('h', '{"p": {"permits": 1}}');
$session->query_safe(q(begin; select scylla.alter_pool('p', '{"capacity": {"permits": 1}}'); select * from scylla.place('p')));
$session->query_safe('commit');
eventually($node, $status->('h'), 'ready', 'place() and the monitor together');
$session->quit;
sql($node, q(select scylla.cancel('h')));

# ---- many sessions, some of them killed --------------------------------------------------------------------------------

sql($node, q(
	select scylla.create_pool('c', '{"memory": 100, "cores": 50}'), scylla.create_pool('d', '{"memory": 60, "cores": 60}', 'greedy');
	create procedure work_on(me text, rounds int) language plpgsql as $$
	declare
		t record;
	begin
		for round in 1 .. rounds loop
			perform scylla.submit('q', '1', priority => (random() * 5)::int, expected_runtime => '1 second',
				needs => case when random() < 0.3 then '{"any": ["c", "d"], "memory": 7, "cores": 3}'::jsonb
				              when random() < 0.3 then '{"c": {"memory": 5}, "d": {"cores": 9}}'
				              else jsonb_build_object('c', jsonb_build_object('memory', (random() * 60)::int, 'cores', 1)) end);
			commit;
			for t in select rn, attempt from scylla.lease('q', me, 3, '200 ms') loop
				perform case when random() < 0.8 then (scylla.complete(t.rn, me)).rn
				             when random() < 0.5 then (scylla.yield(t.rn, me)).rn
				             else (scylla.fail(t.rn, me, '{"code": "x"}', '0')).rn end;
			end loop;
			if random() < 0.2 then perform scylla.place(); end if;
			if random() < 0.1 then rollback; else commit; end if;
		end loop;
	end $$;
));
my $over = q(
	select count(*) from (
		select r.pool, e.key, sum(e.value::numeric) as held from scylla.task_reservation r, jsonb_each_text(r.amounts) e group by 1, 2) h
	join scylla.resource_pool p on p.id = h.pool where h.held > (p.capacity ->> h.key)::numeric and p.name in ('c', 'd'));
my $rounds = $ENV{SCYLLA_TEST_ROUNDS} // 200;
my @workers;
for my $w (1 .. 32) {
	push @workers, IPC::Run::start(['psql', '-X', '-q', '-d', $node->connstr('postgres'), '-c', "call work_on('w$w', $rounds)"],
		'>', \my $out, '2>', \my $err);
}
my ($looks, $bad, $kills) = (0, 0, 0);
my $at_work = q(select count(*) > 0 from pg_stat_activity where query like 'call work_on%' and state <> 'idle');
eventually($node, $at_work, 't', 'they begin');
while (sql($node, $at_work) eq 't') {
	$bad += sql($node, $over);
	$looks++;
	next if $looks % 2;
	$kills += sql($node, q(select count(pg_terminate_backend(pid)) from (select pid from pg_stat_activity
		where query like 'call work_on%' and state <> 'idle' order by random() limit 1) a));
}
$_->finish for @workers;
is($bad, 0, 'never more than there is, in ' . ($looks > 10 ? 'many' : $looks) . ' looks');
cmp_ok($kills, '>', 0, 'though sessions were killed');
is(sql($node, 'select count(*) from scylla.check()'), '0', 'all is sound');
eventually($node, $over, '0', 'also at the end');

# ---- a crash -----------------------------------------------------------------------------------------------------------

$node->stop('immediate');
$node->start;
is(sql($node, $over), '0', 'nor after a crash');
is(sql($node, 'select count(*) from scylla.check()'), '0', 'all is sound');
wait_for_monitor($node, 'postgres');
sql($node, q(
	create procedure drain_all() language plpgsql as $$
	begin
		for i in 1 .. 20000 loop
			perform scylla.complete(rn, 'last') from scylla.lease('q', 'last', 50);
			commit;
			exit when not exists (select from scylla.task where status in ('ready', 'waiting', 'running'));
			perform pg_sleep(0.002);
		end loop;
	end $$;
	call drain_all();
));
is(sql($node, q(select count(*) from scylla.task where status in ('ready', 'waiting', 'running'))), '0', 'every task gets its turn');
is(sql($node, q(select count(*) from scylla.task_reservation) ), '0', 'and nothing is held');

done_testing();
