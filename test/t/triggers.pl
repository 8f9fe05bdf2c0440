# Triggers with a monitor: how soon they act; partners sent by sessions whose transactions overlap at random, with crashes of the server
# and of the monitor between; prepared transactions; what does not wait for what; dump and restore. Every pair starts one task.
#
# SCYLLA_TEST_ROUNDS=100000 races that often.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $rounds = $ENV{SCYLLA_TEST_ROUNDS} // 200;
my $node = new_node('main', settings => "scylla.monitor = on\nscylla.monitor_interval = 30min\nmax_prepared_transactions = 5");
sql($node, 'create extension scylla');
wait_for_monitor($node, 'postgres');
sql($node, q(
	select scylla.create_queue('q');
	select scylla.create_trigger('pair', '[{"signal": "a", "join": ["n"]}, {"signal": "b", "join": ["n"]}]', '{"submit": {"queue": "q", "spec": 1}}');));
my $started = q(select count(*) from scylla.task where rn like 'pair/%');

# ---- without looking ---------------------------------------------------------------------------------------------------

sql($node, q(select scylla.send_signal('a', '{"n": -1}')));
eventually($node, q(select count(*) from scylla.trigger_signal), '1', 'the commit of a sender tells the monitor');
sql($node, q(select scylla.send_signal('b', '{"n": -1}')));
eventually($node, $started, '1', 'and that of its partner starts the task');

# ---- overlapping transactions, and kills -------------------------------------------------------------------------------

sql($node, q(
	create procedure race(me text, seed float8, first int, last int) language plpgsql as $$
	begin
		perform setseed(seed);
		for n in first .. last loop
			-- Once, whatever is repeated after a crash.
			perform scylla.send_signal(me, jsonb_build_object('n', n), request_id => n::text);
			if random() < 0.3 then perform pg_sleep(random() * 0.002); end if;
			if random() < 0.1 then rollback; perform scylla.send_signal(me, jsonb_build_object('n', n), request_id => n::text); end if;
			commit;
		end loop;
	end $$;));
my $race = sub {
	my ($first, $last) = @_;
	map {
		my $out = '';
		IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-c', "call race('$_', 0.$first, $first, $last)" ], '<', \undef, '>', \$out, '2>&1')
	} 'a', 'b';
};
$_->finish for $race->(1, $rounds);
eventually($node, $started, 1 + $rounds, "$rounds pairs, sent by two sessions at random, have started a task each");
# The next 200 pairs start a workflow, too.
sql($node, q(select scylla.create_workflow('{"properties": {"owner": "ada", "run_strategy": "parallel"},
	"workflow": {"id": "flow", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}')));
my $in_flow = sprintf '{"n": {"<=": %d}}', $rounds + 200;
sql($node, qq(select scylla.create_trigger('flow pair', '[{"signal": "a", "match": $in_flow, "join": ["n"]}, {"signal": "b", "match": $in_flow, "join": ["n"]}]',
	'{"workflow": "flow"}')));
for my $kill (1 .. 3) {
	my @sessions = $race->($rounds + 1, 2 * $rounds);
	eventually($node, "select count(*) > $kill * $rounds / 5 from scylla.signal where (params ->> 'n')::int > $rounds", 't', "while others are sent ($kill)");
	$node->stop('immediate');
	$_->finish for @sessions;
	$node->start;
}
$_->finish for $race->($rounds + 1, 2 * $rounds);
eventually($node, $started, 1 + 2 * $rounds, 'the server has crashed three times: every pair has started one task');
is(sql($node, q(select count(*) from scylla.task t where rn like 'pair/%' and t.args #>> '{0,params,n}' <> t.args #>> '{1,params,n}')), '0', 'of its own signals');
is(sql($node, q(select count(distinct args #>> '{0,params,n}') = count(*) from scylla.task where rn like 'pair/%')), 't', 'no pair has started two');
eventually($node, q(select status || ' ' || count(*) from scylla.workflow_run group by status), 'SUCCEEDED ' . ($rounds < 200 ? $rounds : 200),
	'and one run, if its action is a workflow');
is(sql($node, q(select count(distinct initiator #>> '{signals,a,params,n}') = count(*), bool_and(initiator #> '{signals,a,params,n}' = initiator #> '{signals,b,params,n}')
	from scylla.workflow_run)), 't|t', 'each of its own signals, and none twice');
eventually($node, q(select (select count(*) from scylla.signal_unseen) + (select count(*) from scylla.signal_arrival)), '0', 'and nothing is left');
is(sql($node, 'select count(*) from scylla.check()'), '0', 'check() finds nothing');

# ---- one trigger has many sets (monitor) --------------------------------------------------------------------------------

# Sent together, and the victims last. How many of the others' tasks were made before theirs tells whether they had their turn.
sql($node, q(select scylla.create_trigger('flood', '[{"signal": "f1", "join": ["n"]}, {"signal": "f2", "join": ["n"]}]', '{"submit": {"queue": "flood", "spec": {}}}');
	select scylla.create_trigger('victim ' || i, format('[{"signal": "v%s"}]', i)::jsonb, '{"submit": {"queue": "victim", "spec": {}}}') from generate_series(1, 3) i));
sql($node, q(begin; select count(scylla.send_signal(s, jsonb_build_object('n', n))) from unnest('{f1,f2}'::text[]) s, generate_series(1, 3000) n;
	select count(scylla.send_signal('v' || i, '{}')) from generate_series(1, 3) i; commit));
my $made = sub { my ($queue) = @_; "(select s.id from scylla.task_spec s join scylla.queue q on q.id = s.queue where q.name = '$queue')" };
eventually($node, 'select count(*) from ' . $made->('victim') . ' v', '3', 'triggers beside one with thousands of sets');
eventually($node, 'select count(*) from ' . $made->('flood') . ' f', '3000', 'which are all carried out');
cmp_ok(sql($node, 'select count(*) from ' . $made->('flood') . ' f where f.id < (select max(v.id) from ' . $made->('victim') . ' v)'), '<', 1000,
	'each trigger has its turn in a portion');

# The same with many triggers of one role on one signal.
sql($node, q(create role crowd; grant usage on schema scylla to crowd; grant execute on all functions in schema scylla to crowd;
	set role crowd; select count(scylla.create_trigger('crowd ' || i, '[{"signal": "crowd"}]', '{"submit": {"queue": "crowd", "spec": {}}}')) from generate_series(1, 3000) i;
	reset role; select scylla.create_trigger('single', '[{"signal": "single"}]', '{"submit": {"queue": "single", "spec": {}}}')));
sql($node, q(begin; set local role crowd; select scylla.send_signal('crowd', '{}'); reset role; select scylla.send_signal('single', '{}'); commit));
eventually($node, 'select count(*) from ' . $made->('single') . ' v', '1', 'a trigger beside thousands of another role');
eventually($node, 'select count(*) from ' . $made->('crowd') . ' f', '3000', 'which are all carried out');
cmp_ok(sql($node, 'select count(*) from ' . $made->('crowd') . ' f where f.id < (select max(v.id) from ' . $made->('single') . ' v)'), '<', 1000,
	'roles have their turn, too');
# Signals arrive at triggers that are paused, and stay there.
sql($node, q(set role crowd; select count(scylla.pause_trigger('crowd ' || i)) from generate_series(1, 3000) i; select scylla.send_signal('crowd', '{}')));
eventually($node, q(select count(*) from scylla.signal_arrival), '3000', 'a signal for which 3,000 triggers wait arrives at each of them');
cmp_ok(sql($node, q(select max(n) from (select count(*) from scylla.signal_arrival group by xmin::text) t (n))), '<=', 1000, 'in transactions of bounded size');
sql($node, q(select count(scylla.drop_trigger('crowd ' || i)) from generate_series(1, 3000) i));

# ---- many sets ---------------------------------------------------------------------------------------------------------

# A session carries out triggers by plans that it made when there was little, and nothing is vacuumed. A set costs the same however many
# there were before it.
my $bare = new_node('bare', settings => "scylla.monitor = off\nautovacuum = off");
sql($bare, q(create extension scylla; select scylla.create_queue('q');
	select scylla.create_trigger('pair', '[{"signal": "a", "join": ["n"]}, {"signal": "b", "join": ["n"]}]', '{"submit": {"queue": "q", "spec": 1}}')));
my $carrying = $bare->background_psql('postgres');
my $pages = q(select sum(heap_blks_hit + idx_blks_hit) from pg_statio_all_tables where relname = 'signal_arrival');
sub pages_of_sets
{
	my ($n) = @_;
	$carrying->query_safe(qq(select count(scylla.send_signal(s, jsonb_build_object('n', $n + i))) from generate_series(1, 20) i, unnest('{a,b}'::text[]) s));
	$carrying->query_safe('select pg_stat_force_next_flush()');
	my $before = $carrying->query_safe($pages);
	$carrying->query_safe('select scylla.maintain()') for 1 .. 2;
	$carrying->query_safe('select pg_stat_force_next_flush()');
	return $carrying->query_safe($pages) - $before;
}
pages_of_sets(-1000 * $_) for 1 .. 3;
my $few = pages_of_sets(0);
for my $hundred (1 .. 30)
{
	$carrying->query_safe(qq(select count(scylla.send_signal(s, jsonb_build_object('n', $hundred * 100 + i))) from generate_series(1, 100) i, unnest('{a,b}'::text[]) s));
	$carrying->query_safe('select scylla.maintain()');
}
pages_of_sets(10000);
my $many = pages_of_sets(20000);
is(sql($bare, $started), 3120, 'three thousand sets');
cmp_ok($many, '<', 2 * $few, "twenty more read hardly more pages than at first ($few, $many)");
$carrying->quit;
$bare->stop;

# ---- prepared transactions ---------------------------------------------------------------------------------------------

sql($node, q(begin; select scylla.send_signal('a', '{"n": "p"}'); prepare transaction 'p'));
sql($node, q(select scylla.send_signal('b', '{"n": "p"}')));
sql($node, q(commit prepared 'p'));
$node->restart;
eventually($node, $started, 2 + 2 * $rounds, 'what a prepared transaction has sent is found when a monitor starts');

# ---- nobody waits ------------------------------------------------------------------------------------------------------

my $log = -s $node->logfile; # before it there are monitors that a restart has ended
my $idle = $node->background_psql('postgres');
sql($node, q(select scylla.create_trigger('held', '[{"signal": "a"}]', '{"submit": {"queue": "q", "spec": 2}}')));
$idle->query_safe(q(begin; select scylla.pause_trigger('held')));
sql($node, q(set statement_timeout = '30s'; select scylla.send_signal('a', '{"n": "i"}'), scylla.send_signal('b', '{"n": "i"}')));
eventually($node, $started, 3 + 2 * $rounds, 'a trigger whose owner is idle in a transaction holds up neither senders nor other triggers');
$idle->query_safe('rollback');
$idle->quit;
eventually($node, q(select fired from scylla.trigger where name = 'held'), '1', 'it goes on when that transaction has ended');
unlike(slurp_file($node->logfile, $log), qr/scylla monitor.*exited with exit code|lock timeout/, 'the monitor has not failed');

# A role that is dropped.
sql($node, q(create role gone; grant usage on schema scylla to gone; grant execute on all functions in schema scylla to gone;
	set role gone; select scylla.create_trigger('theirs', '[{"signal": "theirs"}]', '{"submit": {"queue": "theirs", "spec": 1}}');
	reset role; select scylla.set_queue_owner('theirs', current_user::text) where false;
	select scylla.create_trigger('ours', '[{"signal": "theirs"}]', '{"submit": {"queue": "q", "spec": 3}}');
	drop owned by gone; drop role gone; select scylla.send_signal('theirs')));
eventually($node, q(select fired from scylla.trigger where name = 'ours'), '1', 'a trigger whose role is gone stops no other');
is(sql($node, q(select last_error is not null from scylla.trigger where name = 'theirs')), 't', 'and says so');

# ---- dump and restore --------------------------------------------------------------------------------------------------

sql($node, q(select scylla.send_signal('a', '{"n": "half"}')));
eventually($node, q(select count(*) from scylla.trigger_signal where trigger = 'pair'), '1', 'half a pair');
my $dump = $node->basedir . '/dump.sql';
command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ], 'pg_dump');
sql($node, 'create database restored');
command_ok([ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', $dump ], 'restore');
wait_for_monitor($node, 'restored');
$node->safe_psql('restored', q(select scylla.send_signal('b', '{"n": "half"}')));
eventually($node, q(select count(*) from scylla.task where rn like 'pair/%' and args @? '$[*] ? (@.params.n == "half")'), '1',
	'a restored trigger has its signals', 'restored');
$node->safe_psql('restored', sprintf q(select scylla.send_signal('a', '{"n": %1$s}', request_id => 'r'), scylla.send_signal('b', '{"n": %1$s}', request_id => 'r')), $rounds + 150.5);
eventually($node, q(select count(*) from scylla.workflow_run where initiator @? '$.signals.a.params.n ? (@.floor() != @)'), '1', 'and one that starts a workflow does so', 'restored');
$node->stop;
done_testing;
