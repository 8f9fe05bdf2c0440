# Runs of workflows while the engine, its server and workers are killed: every run ends as it should, no step is done twice, nothing is
# left behind. Nor does anybody who is idle in a transaction hold up the runs of others. And what a dump in the middle of a run keeps.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;
use Time::HiRes qw(sleep);

my $node = new_node('workflows', settings => "scylla.monitor = on\nautovacuum = off\nscylla.max_queues = 16");
my $dump = PostgreSQL::Test::Utils::tempdir . '/workflows.dump';
my $runs = 60;

sql($node, 'create database source');
sql($node, 'create extension scylla', 'source');
wait_for_monitor($node, 'source');
sql($node, q~
	-- A branch, a loop, a join, and a step that is tried again.
	select scylla.create_workflow($json${"properties": {"owner": "ann", "run_strategy": "25"}, "workflow": {"id": "w", "params": {"n": {"type": "LONG", "value": 3}}, "steps": [
		{"step": {"id": "first", "type": "T", "transition": {"successors": {"loop": "n > 2", "never": "n > 100"}}}},
		{"foreach": {"id": "loop", "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "expression": "Util.intsBetween(0, n, 1)"}}}},
			"steps": [{"step": {"id": "inner", "type": "T", "params": {"square": {"type": "LONG", "expression": "i * i"}}, "transition": {"successors": {"then": "true"}}}},
			          {"step": {"id": "then", "type": "NoOp"}}],
			"transition": {"successors": {"last": "true"}}}},
		{"step": {"id": "never", "type": "T", "transition": {"successors": {"last": "true"}}}},
		{"step": {"id": "last", "type": "T", "params": {"all": {"type": "LONG_ARRAY", "expression": "params.getFromForeach('loop', 'inner', 'square')"}},
			"retry_policy": {"platform_retry_limit": 50, "backoff": {"type": "FIXED_BACKOFF", "platform_retry_backoff_in_secs": 1}}}}]}}$json$);
	-- What workers have done.
	create table done (run bigint, step text, iteration text, attempt int, at timestamptz default clock_timestamp());
	-- More queues than shared memory has places for, and indexes of users.
	select count(scylla.create_queue('q' || i)) from generate_series(1, 20) i;
	create index mine on scylla.workflow_step_state (status, started);
	create index mine_too on scylla.task_spec (created);
	-- Workers do no more when so much is done.
	create table pace (steps int);
	insert into pace values (0);
	create procedure work() language plpgsql as $$
	declare t scylla.task;
	begin
		for i in 1 .. 1000000 loop
			while (select count(*) from done) >= (select steps from pace) loop
				commit;
				perform pg_sleep(0.005);
			end loop;
			select * into t from scylla.lease('t', 'w' || pg_backend_pid(), timeout => '10 min');
			if t.rn is null then
				commit;
				exit when not exists (select from scylla.workflow_run where ended is null);
				perform pg_sleep(0.005);
				continue;
			end if;
			insert into done values ((t.spec ->> 'instance')::bigint, t.spec ->> 'step', t.spec ->> 'iteration', (t.spec ->> 'attempt')::int);
			perform scylla.complete(t.rn, 'w' || pg_backend_pid());
			commit;
		end loop;
	end $$;
~, 'source');

my $ended = q(select count(*) from scylla.workflow_run where ended is not null);
sub start_worker { return $node->background_psql('source', on_error_stop => 0); }

# ---- the engine is killed --------------------------------------------------------------------------------------------------------------

sql($node, "select count(scylla.start_workflow('w', jsonb_build_object('n', 3 + i % 3))) from generate_series(1, $runs) i", 'source');
my $engine = q(select pid from scylla.stat_server_worker where role is null and pid is not null);
ok(comes(sub { sql($node, $engine, 'source') ne '' }), 'an engine is started on demand');
is(sql($node, q(select backend_type from pg_stat_activity where pid = ) . "($engine)", 'source'), 'scylla engine', 'which can be seen');

my $worker = start_worker();
$worker->query_until(qr/begun/, "\\echo begun\ncall work();\n");
# An engine that is terminated leaves its transaction, and a new one comes with the next step that ends.
sub go_on { sql($node, "update pace set steps = $_[0] + (select count(*) from done)", 'source') }
for my $kill (1 .. 4)
{
	go_on(10);
	sleep 0.3;
	ok(comes(sub { sql($node, "select pg_terminate_backend(pid) from ($engine) e", 'source') eq 't' }), 'the engine is terminated in the middle');
}

# ---- the server is killed --------------------------------------------------------------------------------------------------------------

for my $round (1 .. 3)
{
	$node->stop('immediate');
	eval { $worker->{run}->finish };
	$node->start;
	wait_for_monitor($node, 'source');
	$worker = start_worker();
	go_on(20);
	$worker->query_until(qr/begun/, "\\echo begun\ncall work();\n");
	sleep 0.5;
}
is(sql($node, q(select count(*) > 0 from scylla.workflow_run where ended is null), 'source'), 't', 'there were runs all the time');
go_on(1000);
# What a worker held when it was killed nobody will end: it is given back, and the step tried again, as its policy says, or not.
ok(comes(
		sub {
			sql($node, q(select count(scylla.fail(t.rn, t.owner, '{"code": "gone", "class": "platform"}')) from scylla.task t
				where t.status = 'running' and not exists (select from pg_stat_activity a where 'w' || a.pid = t.owner)), 'source');
			sql($node, $ended, 'source') == $runs;
		}),
	'all runs end');
eval { $worker->{run}->finish };

is(sql($node, q(select count(*) from (select run, step, iteration, attempt from done group by 1, 2, 3, 4 having count(*) > 1) d), 'source'), '0',
	'no attempt of a step was done twice');
is(sql($node, q(select count(*) from scylla.workflow_run where status <> 'SUCCEEDED' and not exists (
		select from scylla.workflow_step s where s.workflow = workflow_run.workflow and s.instance = workflow_run.instance and s.error ->> 'code' = 'gone')), 'source'),
	'0', 'each run has succeeded, but for those whose worker was killed in a step that is not tried again');
is(sql($node, q(select count(*) from scylla.workflow_step s where step = 'last' and status = 'SUCCEEDED'
		and params -> 'all' is distinct from (select jsonb_agg(i * i order by i) from generate_series(0, (select (r.params ->> 'n')::int - 1 from scylla.workflow_run r
			where r.workflow = s.workflow and r.instance = s.instance)) i)), 'source'), '0', 'what a step has read of a loop is whole');
is(sql($node, q(select count(*) from scylla.workflow_agenda), 'source'), '0', 'nothing is on the agenda');
checked($node, 'check() finds nothing', 'source');

# ---- somebody is idle in a transaction -------------------------------------------------------------------------------------------------

sql($node, q~
	select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "child", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}');
	select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "parent", "steps": [
		{"subworkflow": {"id": "call", "params": {"subworkflow_id": {"type": "STRING", "value": "child"}}}}]}}');
	select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "other", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}');
	select scylla.start_workflow('child');~, 'source');
my $of = sub { my ($workflow) = @_; return sql($node, "select string_agg(status, ' ' order by instance) from scylla.workflow_run where workflow = '$workflow'", 'source') };
ok(comes(sub { $of->('child') eq 'SUCCEEDED' }), 'a run of a workflow');
my $idle = $node->background_psql('source');
$idle->query_safe("begin; select scylla.start_workflow('child'); select scylla.create_plan('workflow child')");
sql($node, "select scylla.start_workflow('parent'), scylla.start_workflow('other')", 'source');
ok(comes(sub { $of->('other') eq 'SUCCEEDED' }), 'an open transaction that starts a workflow holds up nothing of others');
is($of->('parent'), 'IN_PROGRESS', 'a subworkflow waits for it');
sql($node, "select scylla.start_workflow('other')", 'source');
ok(comes(sub { $of->('other') eq 'SUCCEEDED SUCCEEDED' }), 'while all others go on');
$idle->query_safe('rollback');
ok(comes(sub { $of->('parent') eq 'SUCCEEDED' }), 'and goes on when it has ended');
is($of->('child'), 'SUCCEEDED SUCCEEDED', 'with a run of its own');
$idle->quit;

# ---- what the monitor spends on it -----------------------------------------------------------------------------------------------------

# Whether the engine is at it, or cannot be started, the monitor does not look at the agenda all the time.
sql($node, 'alter system set scylla.max_server_workers = 0; select pg_reload_conf()');
eventually($node, "select count(*) from pg_stat_activity where backend_type = 'scylla engine'", '0', 'without an engine');
sql($node, "select scylla.start_workflow('other')", 'source');
my $monitor = sql($node, q(select pid from pg_stat_activity where backend_type = 'scylla monitor' and datname = 'source'));
sub ticks { my @fields = split ' ', slurp_file("/proc/$monitor/stat") =~ s/.*\) //r; return $fields[11] + $fields[12]; }
my $before = ticks();
sleep 2;
cmp_ok(ticks() - $before, '<', 40, 'the monitor is idle while something is on the agenda');
is(sql($node, "select count(*) from scylla.workflow_run where ended is null", 'source'), '1', 'which it was');
sql($node, 'alter system reset scylla.max_server_workers; select pg_reload_conf()');
ok(comes(sub { sql($node, "select count(*) from scylla.workflow_run where ended is null", 'source') == 0 }), 'and the engine comes when it may');

# ---- a workflow is dropped, and its id used again (1.6) -------------------------------------------------------------------------------

sub push_again { return qq(select scylla.create_workflow('{"properties": {"owner": "ann", "run_strategy": "parallel"}, "workflow": {"id": "again", "steps": [$_[0]]}}')); }
my $step_of = sub { return qq({"step": {"id": "$_[0]", "type": "R"}}) };
my $begun = sub {
	my ($tasks) = @_;
	return comes(sub { sql($node, "select count(*) from scylla.task where queue = 'r' and status = 'ready'", 'source') == $tasks });
};
sql($node, push_again($step_of->('old')), 'source');
sql($node, q(select scylla.start_workflow('again', request_id => 'once'), scylla.start_workflow('again')), 'source');
ok($begun->(2), 'two runs of a workflow');
is(sqlstate($node, q(select scylla.drop_workflow('again')), 'source'), '55000', 'it cannot be dropped while they are live');
sql($node, q(select scylla.complete(l.rn, 'w') from scylla.lease('r', 'w') l), 'source');
sql($node, q(select scylla.abort(l.rn, 'w', '{"code": "x"}') from scylla.lease('r', 'w') l), 'source');
my $again = q(select string_agg(instance || ' v' || version || ' ' || status, ', ' order by instance) from scylla.workflow_run where workflow = 'again');
ok(comes(sub { sql($node, $again, 'source') eq '1 v1 SUCCEEDED, 2 v1 FAILED' }), 'when they have ended');
sql($node, q(select scylla.drop_workflow('again')), 'source');
is(sql($node, q(select (select count(*) from scylla.workflow where id = 'again') + (select count(*) from scylla.workflow_run where workflow = 'again')
	+ (select count(*) from scylla.workflow_step where workflow = 'again') + (select count(*) from scylla.workflow_timeline where workflow = 'again')), 'source'), '0',
	'it can, and nobody sees anything of it');
cmp_ok(sql($node, q(select count(*) from scylla.workflow_run_state where workflow = 'again'), 'source'), '==', 2, 'though its runs are still there');
is(sql($node, push_again($step_of->('new')), 'source'), '1', 'another workflow with its id begins with version 1');
is(sql($node, q(select (scylla.start_workflow('again', request_id => 'once')).instance), 'source'), '3', 'its instances go on behind, and a request of the former one is new');
ok($begun->(1), 'its run begins');
is(sql($node, "$again", 'source'), '3 v1 IN_PROGRESS', 'only that is seen');
is(sql($node, q(select string_agg(step || ' ' || status, ', ') from scylla.workflow_step where workflow = 'again'), 'source'), 'new RUNNING', 'with the steps of its definition');
sql($node, q(update scylla.task_outcome o set finished = finished - interval '100 days' from scylla.task_spec t where t.id = o.id and t.spec ->> 'workflow' = 'again';
	update scylla.task_plan set created = created - interval '100 days';
	update scylla.task_plan set finished = finished - interval '100 days', opened = opened - interval '100 days' where name in ('workflow:again/1/1', 'workflow:again/2/1')), 'source');
ok(comes(sub { sql($node, q(select scylla.purge(); select count(*) from scylla.workflow_run_state where workflow = 'again'), 'source') =~ /\n1$/ }), 'the former runs are removed when their retention has passed');
is(sql($node, q(select count(*) from scylla.workflow_step_state s where s.step = 'old'), 'source'), '0', 'with their steps');
sql($node, q(select scylla.complete(l.rn, 'w') from scylla.lease('r', 'w') l), 'source');
ok(comes(sub { sql($node, $again, 'source') eq '3 v1 SUCCEEDED' }), 'and the new one goes on to its end');
is(sql($node, q(select count(*) from scylla.check()), 'source'), '0', 'check() finds nothing');

# ---- a dump in the middle --------------------------------------------------------------------------------------------------------------

sql($node, q(select scylla.start_workflow('w', '{"n": 4}')), 'source');
ok(comes(sub { sql($node, "select count(*) from scylla.task where queue = 't' and status = 'ready'", 'source') == 1 }), 'a run has begun');

# A restart on its way down: the steps above have begun again, and the subworkflow cannot, as its workflow is held.
sql($node, q~
	select scylla.create_workflow('{"properties": {"owner": "ann", "run_strategy": "parallel"}, "workflow": {"id": "leaf", "steps": [
		{"step": {"id": "a", "type": "P", "transition": {"successors": {"b": "true"}}}}, {"step": {"id": "b", "type": "NoOp"}}]}}');
	select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "upper", "steps": [
		{"foreach": {"id": "loop", "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": [1, 2]}}}},
			"steps": [{"subworkflow": {"id": "call", "params": {"subworkflow_id": {"type": "STRING", "value": "leaf"}}}}]}}]}}');
	-- Iterations with a template, one at a time has a permit.
	select scylla.create_job_template('{"job_type": "copy", "type": "L", "tags": ["db"], "params": {"from": {"type": "STRING", "value": "of ${i}"}}}');
	select scylla.create_pool('tag:db', '{"permits": 1}');
	select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "limited", "steps": [
		{"foreach": {"id": "loop", "concurrency": 2, "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": [1, 2, 3, 4]}}}},
			"steps": [{"step": {"id": "in", "type": "L", "sub_type": "copy"}}]}}]}}');
	select scylla.start_workflow('upper'), scylla.start_workflow('limited');~, 'source');
my $ready = sub { my ($queue, $count) = @_; return comes(sub { sql($node, "select count(*) from scylla.task where queue = '$queue' and status = 'ready'", 'source') == $count }) };
ok($ready->('p', 2), 'two subworkflows');
sql($node, q(select scylla.complete(t.rn, 'p') from scylla.lease('p', 'p') t), 'source');
sql($node, q(select scylla.abort(t.rn, 'p', '{"code": "bad"}') from scylla.lease('p', 'p') t), 'source');
ok(comes(sub { $of->('upper') eq 'FAILED' }), 'one of which fails');
my $failed = sql($node, q(select instance from scylla.workflow_run where workflow = 'leaf' and status = 'FAILED'), 'source');
sql($node, 'alter system set scylla.max_server_workers = 0; select pg_reload_conf()');
eventually($node, "select count(*) from pg_stat_activity where backend_type = 'scylla engine'", '0', 'the engine pauses');
is(sql($node, "select of_workflow, of_instance, run from scylla.restart_run('leaf', $failed)", 'source'), 'upper|1|2', 'its restart begins above');
$idle = $node->background_psql('source');
$idle->query_safe(q(begin; select 1 from scylla.workflow_head where id = 'leaf' for update));
sql($node, 'alter system reset scylla.max_server_workers; select pg_reload_conf()');
ok(comes(sub { sql($node, q(select count(*) from scylla.workflow_agenda where kind = 'child' and data ? 'restart'), 'source') == 1 }), 'and is on its way');
ok($ready->('l', 1), 'a step has its permit');
is(sql($node, q(select t.rn is not null from scylla.lease('l', 'holder', timeout => '10 h') t), 'source'), 't', 'and runs');
my $limited = q(select string_agg(step || iterations::text || ' ' || status, ', ' order by iterations) from scylla.workflow_step where workflow = 'limited' and step = 'in');
ok(comes(sub { sql($node, $limited, 'source') eq 'in{1} RUNNING, in{2} WAITING_FOR_PERMITS' }), 'while another waits');

$node->command_ok(['pg_dump', '-Fc', '-f', $dump, '-d', $node->connstr('source')], 'a dump in the middle of runs');
sql($node, 'create database target');
$node->command_ok(['pg_restore', '-d', $node->connstr('target'), $dump], 'is restored');
wait_for_monitor($node, 'target');
$worker = $node->background_psql('target', on_error_stop => 0);
$worker->query_until(qr/begun/, "\\echo begun\ncall work();\n");
ok(comes(sub { sql($node, q(select status from scylla.workflow_run order by instance desc limit 1), 'target') eq 'SUCCEEDED' }), 'and the run goes on there');

ok(comes(sub { sql($node, "select count(*) from scylla.task where queue = 'p' and status = 'ready'", 'target') == 1 }), 'a restart goes on on its way');
is(sql($node, q(select string_agg(instance || ' ' || run || ' ' || status, ', ' order by instance, run) from scylla.workflow_run where workflow = 'leaf' and run > 1), 'target'),
	"$failed 2 IN_PROGRESS", 'to the instance at its end');
sql($node, q(select scylla.complete(t.rn, 'p') from scylla.lease('p', 'p') t), 'target');
is(sql($node, $limited, 'target'), 'in{1} RUNNING, in{2} WAITING_FOR_PERMITS', 'permits are held as before');
is(sql($node, q(select rn from scylla.lease('l', 'other')), 'target'), '', 'and there is none for another');
sql($node, q(select scylla.complete(rn, 'holder') from scylla.task where queue = 'l' and status = 'running'), 'target');
my $work = q(select scylla.complete(t.rn, 'l') from scylla.lease('l', 'l') t);
ok(comes(sub { sql($node, $work, 'target'); sql($node, 'select count(*) from scylla.workflow_run where ended is null', 'target') == 0 }), 'all runs end');
is(sql($node, q(select string_agg(params ->> 'from', ', ' order by iterations) from scylla.workflow_step where workflow = 'limited' and step = 'in'), 'target'),
	'of 1, of 2, of 3, of 4', 'with the parameters of their template');
is(sql($node, q(select string_agg(workflow || ' ' || status, ', ' order by workflow) from scylla.workflow_run where (workflow, run) in (('upper', 2), ('limited', 1))), 'target'),
	'limited SUCCEEDED, upper SUCCEEDED', 'and succeed');
is(sql($node, q(select string_agg(attempt::text, ' ' order by attempt) from scylla.workflow_step where workflow = 'upper' and step = 'call'), 'target'),
	'1 2', 'what is beside the way has not run again');
is(sql($node, 'select count(*) from scylla.pool_reservation', 'target'), '0', 'no permit is held');
checked($node, 'check() finds nothing in the copy', 'target');
eval { $worker->{run}->finish };
$idle->quit;
$node->stop('immediate');
done_testing();
