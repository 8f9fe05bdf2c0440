# A restart (section 11 of the specification of Maestro's behaviour) that is killed: before its commit nothing has become of it; after it the new
# run goes on, whenever and however often the server is killed. What had succeeded is not touched, and nothing is done twice.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;
use Time::HiRes qw(sleep);

my $node = new_node('workflow_restarts', settings => "scylla.monitor = on\nscylla.monitor_interval = 1s");
sql($node, 'create extension scylla');
wait_for_monitor($node, 'postgres');
# Of 500 iterations of 100 loops in a loop each tenth fails, once. Twenty loops at a time: the rest has not begun when one fails.
sql($node, q~
	select scylla.create_workflow($json${"properties": {"owner": "ann"}, "workflow": {"id": "w", "steps": [
		{"foreach": {"id": "outer", "concurrency": 20, "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "expression": "Util.intsBetween(0, 100, 1)"}}}},
			"steps": [{"foreach": {"id": "inner", "params": {"loop_params": {"type": "MAP", "value": {"j": {"type": "LONG_ARRAY", "expression": "Util.intsBetween(0, 5, 1)"}}}},
				"steps": [{"step": {"id": "s", "type": "T"}}]}}],
			"transition": {"successors": {"last": "true"}}}},
		{"step": {"id": "last", "type": "T"}}]}}$json$);
	create table done (run int, step text, iteration text, attempt int);
	-- What is done, and that it is, are one transaction. Of the first run each tenth fails.
	-- With a limit it waits to be killed when a run has so many: however slow the killer is, the run is then not over.
	create procedure work(until text, most int default null) language plpgsql as $$
	declare t scylla.task;
	begin
		loop
			for t in select * from scylla.lease('t', 'w', 20) loop
				insert into done values ((t.spec ->> 'run')::int, t.spec ->> 'step', t.spec ->> 'iteration', (t.spec ->> 'attempt')::int);
				if (t.spec ->> 'run')::int = 1 and ((t.spec #>> '{iteration,0}')::int + (t.spec #>> '{iteration,1}')::int) % 10 = 0 then
					perform scylla.abort(t.rn, 'w', '{"code": "bad"}');
				else
					perform scylla.complete(t.rn, 'w');
				end if;
			end loop;
			commit;
			exit when exists (select from scylla.workflow_run where plan = until and ended is not null);
			if (select count(*) from done where run = 2) >= most then
				perform pg_sleep(86400);
			end if;
			perform pg_sleep(0.01);
		end loop;
	end $$;
	select scylla.start_workflow('w');
~);
# What is still at work when its postmaster is killed ends soon, and only then can the server start again.
sub kill_and_start
{
	my ($session) = @_;
	$node->kill9;
	eval { $session->{run}->finish };
	comes(sub { $node->start(fail_ok => 1) || ($node->stop('fast', fail_ok => 1) && 0) }) or die 'the server does not start';
	wait_for_monitor($node, 'postgres');
}
sub runs { return sql($node, q(select string_agg(run || ' ' || status, ', ' order by run) from scylla.workflow_run)) }
sub attempts
{
	return sql($node, q(select string_agg(format('%s.%s %s %s', run, attempt, status, count), ', ' order by run, attempt, status)
		from (select run, attempt, status, count(*) from scylla.workflow_step_attempt where step = 's' group by run, attempt, status) a));
}
sql($node, q(call work('workflow:w/1/1')));
is(runs(), '1 FAILED', 'a run has failed');
# The outer loop begins no more iterations once one has failed.
my $first = attempts();
my ($failed, $succeeded) = $first =~ /^1\.1 FATALLY_FAILED (\d+), 1\.1 SUCCEEDED (\d+)$/;
ok($failed && $succeeded && $failed + $succeeded < 500, 'because of some of its leaves') or diag $first;
my $new = 500 - $failed - $succeeded;

# ---- before the commit ---------------------------------------------------------------------------------------------------------------

my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe(q(begin; select scylla.restart_run('w', 1)));
kill_and_start($session);
is(runs(), '1 FAILED', 'killed before its commit, a restart has not been');
is(attempts(), $first, 'and nothing has become of the steps');
is(sql($node, q(select count(*) from scylla.task_plan where name = 'workflow:w/1/2')), '0', 'nor of a plan');
checked($node, 'check() finds nothing');

# ---- behind it -----------------------------------------------------------------------------------------------------------------------

is(sql($node, q(select run from scylla.restart_run('w', 1))), '2', 'it can be restarted');
for my $goal (0, 1, 50, 150, 250)
{
	my $worker = $node->background_psql('postgres', on_error_stop => 0);
	if ($goal > 0)
	{
		$worker->query_until(qr/begun/, "\\echo begun\ncall work('workflow:w/1/2', $goal + 60);\n");
		ok($node->poll_query_until('postgres', "select count(*) >= $goal from done where run = 2"), "$goal of its leaves are done");
	}
	is(sql($node, q(select count(*) from scylla.workflow_run where run = 2 and ended is null)), '1', '... and it is killed in the middle');
	kill_and_start($worker);
}
sql($node, q(call work('workflow:w/1/2')));
is(runs(), '1 FAILED, 2 SUCCEEDED', 'it comes to its end');
is(attempts(), "$first, 2.1 SUCCEEDED $new, 2.2 SUCCEEDED $failed", 'only what had failed has another attempt');
is(sql($node, q(select count(*) || ' ' || count(distinct (step, iteration)) from done where run = 2)), join(' ', ($new + $failed + 1) x 2), 'which was done once each, as was the step behind the loop');
is(sql($node, q(select overview::text from scylla.workflow_rollup)), '{"SUCCEEDED": {"cnt": 501}}', 'the rollup has each leaf once');
eventually($node, 'select count(*) = 0 from scylla.workflow_agenda', 't', 'nothing is on the agenda');
checked($node, 'check() finds nothing');
done_testing();
