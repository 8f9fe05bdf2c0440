# Whoever ends the task of a step first decides how the step ends; who comes later learns it. Here every way to end a step meets every way to
# act on it, in each order, and the effect of the worker is counted in a table of ours:
#
#   ends      complete, abort, fail (and a retry follows), yield, cancel by a user, the lease expires, a complete that is rolled back, one in a
#             prepared transaction, a statement that the server runs as the handler of its queue;
#             of a step, of one in a foreach, in a while, in a subworkflow, and in the run of a backfill
#   acts      stop_run, kill_run, stop_workflow, kill_workflow, cancel_backfill, the timeout of the run, a sibling that fails with FAIL_IMMEDIATELY;
#             stop_step, kill_step, skip_step and the timeout of the step, or of the loop or the subworkflow around it
#   orders    open: the end is open when the act comes, and commits (or not) later; first: the act is open when the end commits; late: the act
#             has had its effect when the end comes
#
# While the end is open the engine waits for nobody: another run comes to its end, and what else is in the run has ended. The effect is there
# once if the worker has completed the task, and then the step is SUCCEEDED and does not run again.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;
use Time::HiRes qw(sleep time);

my $node = new_node('workflow_late');
sql($node, 'create extension scylla');
sql($node, q~
	create table effect (instance text);
	select scylla.create_queue('wk'), scylla.create_queue('other'), scylla.create_queue('sql', handler => 'scylla.run_sql');
	-- The end of a statement's transaction, which has completed its task, waits until it may go on.
	create function wait_at_commit() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(1); return null; end $$;
	create constraint trigger wait_at_commit after insert on effect initially deferred for each row
		when (current_setting('application_name') = 'server') execute function wait_at_commit();
	create function end_it(task text, how text, id text) returns text language plpgsql as $$
	begin
		if how in ('complete', 'rollback', 'prepare') then
			insert into effect values (id);
			perform scylla.complete(task, 'w');
		elsif how = 'abort' then perform scylla.abort(task, 'w', '{"code": "x"}');
		elsif how = 'fail' then perform scylla.fail(task, 'w', '{"code": "x"}');
		elsif how = 'yield' then perform scylla.yield(task, 'w');
		elsif how = 'cancel' then perform scylla.cancel(task);
		elsif how = 'expire' then while exists (select from scylla.task where rn = end_it.task and status = 'running') and scylla.reset_expired() = 0 loop end loop; end if;
		return 'ok';
	exception when no_data_found or object_not_in_prerequisite_state then
		return sqlstate;
	end $$;
	create function work() returns void language plpgsql as $$
	declare
		t scylla.task;
	begin
		for t in select * from scylla.lease('wk', 'w', 10) loop
			insert into effect values (regexp_replace(t.spec ->> 'workflow', '_child', ''));
			perform scylla.complete(t.rn, 'w');
		end loop;
		for t in select * from scylla.lease('sql', 's', 10) loop
			perform scylla.complete(t.rn, 's', scylla.run_sql(t));
		end loop;
		for t in select * from scylla.lease('other', 'b', 10) loop
			perform scylla.complete(t.rn, 'b');
		end loop;
	end $$;
	-- The time of the step, or of the run, is over.
	create function time_out(of text, at text) returns void language sql as $$
		update scylla.workflow_step_state s set started = s.started - interval '20 days', due = now() - interval '1 s'
		from scylla.workflow_run_state r where r.id = s.root and r.workflow = of and s.step = at and s.status = 'RUNNING';
		update scylla.workflow_run_state set due = now() - interval '1 s' where workflow = of and at is null;
	$$;
	select scylla.create_workflow($json${"properties": {"owner": "t", "run_strategy": "parallel"}, "workflow": {"id": "victim", "steps": [{"step": {"id": "v", "type": "NoOp"}}]}}$json$);
~);

my %sessions = map { $_ => $node->background_psql('postgres', on_error_stop => 1, timeout => 3600) } qw(worker actor main server);
sub run_in { my ($name, $sql) = @_; return $sessions{$name}->query_safe($sql) }
run_in('server', "set application_name = 'server'");
run_in('main', 'set client_min_messages = error'); # of a run that is broken the engine warns
sub advance { return run_in('main', 'call scylla.advance(null)') }

my $retry = '"retry_policy": {"error_retry_limit": 1, "backoff": {"type": "FIXED_BACKOFF", "error_retry_backoff_in_secs": 1}}';
my $a = qq({"step": {"id": "a", "type": "Wk", $retry, "transition": {"successors": {"c": "true"}}}}, {"step": {"id": "c", "type": "Other"}});
my $loop = '"params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": [1]}}}}';
my $while = '"condition": "i < 1", "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG", "value": 0}}}}';
my $up = qq({"step": {"id": "a", "type": "Wk", $retry, "params": {"i": {"type": "LONG", "expression": "i + 1"}}}});
my %shapes = (
	plain => [ $a, 'a', '' ],
	backfill => [ $a, 'a', '' ],
	foreach => [ qq({"foreach": {"id": "around", $loop, "steps": [$a]}}), 'around', ", '{1}'" ],
	while => [ qq({"while": {"id": "around", $while, "steps": [$up]}}), 'around', ", '{1}'" ],
	child => [ '{"subworkflow": {"id": "around", "params": {"subworkflow_id": {"type": "STRING", "value": "%s_child"}}}}', 'around', undef ],
);
my @ends = qw(complete abort fail yield cancel expire rollback prepare statement);
my @acts = qw(stop_run kill_run stop_workflow kill_workflow cancel_backfill run_timeout fail_immediately stop_step kill_step skip_step step_timeout inner_stop inner_skip);
my $count = 0;
my (@victims, @problems);

sub create
{
	my ($id, $steps) = @_;
	return run_in('main', qq(select scylla.create_workflow(\$json\${"properties": {"owner": "t", "run_strategy": "parallel"}, "workflow": {"id": "$id", "steps": [$steps]}}\$json\$) is not null));
}

# The act, as a statement of a user, or what time and a sibling do.
sub act_of
{
	my ($act, $id, $around, $inner) = @_;
	return "select scylla.$act('$id', 1)" if $act =~ /_run$/;
	return "select scylla.$act('$id')" if $act =~ /_workflow$/;
	return "select scylla.cancel_backfill(backfill, stop_runs => true) from scylla.workflow_backfill where workflow = '$id'" if $act eq 'cancel_backfill';
	return "select time_out('$id', null)" if $act eq 'run_timeout';
	return "select time_out('$id', '$around')" if $act eq 'step_timeout';
	return "select scylla.abort((select t.rn from scylla.task t where t.spec ->> 'workflow' = '$id' and t.spec ->> 'step' = 'b'), 'b', '{\"code\": \"x\"}')" if $act eq 'fail_immediately';
	return "select scylla.$1_step('$id', 1, 'a'$inner)" if $act =~ /^inner_(\w+)/;
	return "select scylla.$act('$id', 1, '$around')";
}

sub status_of
{
	my ($id, $step) = @_;
	return run_in('main', "select coalesce(string_agg(status, ','), '-') from scylla.workflow_step where workflow ~ '^$id(_child)?\$' and step = '$step'");
}

sub ended { my ($id) = @_; return run_in('main', "select bool_and(ended is not null) from scylla.workflow_run where workflow ~ '^$id(_child)?\$'") eq 't' }

# What was put back, and what waits for its next attempt, comes at once: so nothing here takes time.
sub hasten
{
	run_in('main', q(update scylla.workflow_agenda set due = now() where due is not null;
		update scylla.workflow_step_state set due = now() where due is not null and status ~ 'USER_FAILED|PLATFORM_FAILED'));
	return advance();
}

# Others do what the run still needs, each with its effect, until it has ended.
sub ends
{
	my ($id, $with_work) = @_;
	for my $round (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		hasten();
		run_in('main', 'select work()') if $with_work;
		return 1 if ended($id);
		sleep 0.1 if $round > 20;
	}
	return 0;
}

# Which of them meet: a statement has no worker who could come late; and a run of a backfill ends as others do.
sub is_pair
{
	my ($shape, $end, $act, $order) = @_;
	return 0 if $act =~ /^inner/ && $shape !~ /foreach|while/;
	return 0 if $end =~ /prepare|statement/ && $order ne 'open' || $end eq 'statement' && $shape eq 'while';
	return $act =~ /stop_run|run_timeout|cancel_backfill/ && $end =~ /complete|fail|rollback/ if $shape eq 'backfill';
	return $act ne 'cancel_backfill';
}

sub pair
{
	my ($shape, $end, $act, $order) = @_;
	my ($steps, $around, $inner) = @{ $shapes{$shape} };
	my $id = 'w' . ++$count;
	my $of_step = $a;
	if ($end eq 'statement')
	{
		my $sql = qq("type": "Sql", "sql": "insert into effect values (\$1 ->> 'of')", "params": {"of": {"type": "STRING", "value": "$id"}});
		s/"type": "Wk"/$sql/ for $steps, $of_step;
	}
	my $name = "$shape: $end, $act, $order";
	my $wrong = sub { push @problems, "$name: $_[0]" };
	create("${id}_child", $of_step) if $shape eq 'child';
	create($id, sprintf($steps, $id) . ', {"step": {"id": "b", "type": "Other", "failure_mode": "FAIL_IMMEDIATELY"}}');
	run_in('main', $shape eq 'backfill' ? "select scylla.backfill('$id', '[{}]')" : "select scylla.start_workflow('$id')");
	advance();
	my $timeout = $end eq 'expire' ? '1 ms' : '1 h';
	my $rn = run_in('main', "select rn from scylla.lease('wk', 'w', timeout => '$timeout')");
	run_in('main', "select count(*) from scylla.lease('other', 'b', 100)") if $act eq 'fail_immediately';
	my $statement = act_of($act, $id, $around, $inner // '');
	my $finish = "select end_it('$rn', '$end', '$id')";
	my $result;
	if ($order eq 'open')
	{
		open_end($id, $end, $finish);
		run_in('actor', $statement);
		advance();
		# The engine has not waited, and this run is not over; the others are.
		run_in('main', "select scylla.start_workflow('victim')");
		advance();
		$wrong->('the victim waits') if run_in('main', "select count(*) from scylla.workflow_run where workflow = 'victim' and ended is null") ne '0';
		$wrong->('the step has ended as ' . status_of($id, 'a')) if status_of($id, 'a') ne 'RUNNING';
		my $b = status_of($id, 'b');
		$wrong->("b is $b") if $act =~ /_(run|workflow|backfill)$|run_timeout/ && $b !~ /STOPPED|FATALLY_FAILED|TIMED_OUT/;
		close_end($id, $end);
	}
	elsif ($order eq 'first')
	{
		run_in('actor', "begin; $statement");
		run_in('worker', "begin; $finish; " . ($end eq 'rollback' ? 'rollback' : 'commit'));
		run_in('actor', 'commit');
	}
	else
	{
		run_in('actor', $statement);
		advance();
		advance();
		$result = run_in('worker', $finish);
		$wrong->("the worker learns $result") if $result eq 'ok' && $end ne 'expire';
	}
	my $completes = $end =~ /complete|prepare|statement/ && $order ne 'late';
	my $is_over = $act =~ /_(run|workflow|backfill)$|run_timeout|fail_immediately/;
	$wrong->('the run does not end') if !ends($id, !$is_over);
	my $a_status = status_of($id, 'a');
	my $effects = run_in('main', "select count(*) from effect where instance = '$id'");
	$wrong->("a is $a_status and has happened $effects times") if ($a_status =~ /SUCCEEDED/ ? 1 : 0) != $effects;
	$wrong->("a was completed and is $a_status") if $completes && $a_status ne 'SUCCEEDED';
	$wrong->('an action is not done') if run_in('main', "select count(*) from scylla.workflow_action_state where done is null") ne '0';
	# What has not succeeded may run again; what has does not.
	run_in('main', qq(do \$\$ begin perform scylla.restart_run('$id', 1); exception when object_not_in_prerequisite_state then null; end \$\$));
	$wrong->('the restart does not end') if !ends($id, 1);
	$effects = run_in('main', "select count(*) from effect where instance = '$id'");
	$wrong->("after the restart a has happened $effects times, and is " . status_of($id, 'a')) if $effects > 1;
	note "$name: $a_status";
	return;
}

# The end is open: everything is done but the commit.
sub open_end
{
	my ($id, $end, $finish) = @_;
	run_in('worker', "begin; $finish" . ($end eq 'prepare' ? "; prepare transaction '$id'" : '')) if $end ne 'statement';
	return if $end ne 'statement';
	run_in('main', 'select pg_advisory_lock(1)');
	$sessions{server}->query_until(qr/begun/, "\\echo begun\ncall scylla.work('sql', 1);\n\\echo ended\n");
	comes(sub { run_in('main', "select count(*) from pg_stat_activity where application_name = 'server' and wait_event = 'advisory'") eq '1' })
	  or die 'the statement does not come to its end';
	return;
}

sub close_end
{
	my ($id, $end) = @_;
	return run_in('worker', $end eq 'rollback' ? 'rollback' : $end eq 'prepare' ? "commit prepared '$id'" : 'commit') if $end ne 'statement';
	run_in('main', 'select pg_advisory_unlock(1)');
	return $sessions{server}->query_until(qr/ended/, '');
}

my $only = $ENV{SCYLLA_TEST_ONLY} // '';
for my $shape ($only eq 'locks' ? () : sort keys %shapes)
{
	for my $order (qw(open first late))
	{
		@problems = ();
		for my $act (@acts)
		{
			for my $end (@ends)
			{
				next if !is_pair($shape, $end, $act, $order);
				next if $only ne '' && "$shape $end $act $order" !~ /$only/;
				pair($shape, $end, $act, $order);
			}
		}
		is(join("\n", @problems), '', "$shape, $order: who comes first decides, and nothing happens twice");
	}
}
# Whatever else an open transaction locks that a run needs: that run is put off, and the others go on.
my %locks = (
	'the name of its queue' => [ 'Fresh', "select scylla.create_queue('fresh')" ],
	'its plan' => [ 'NoOp', "select 1 from scylla.task_plan where id = (select id from scylla.workflow_run_state where workflow = '%s') for update" ],
	'its queue' => [ 'Wk', "select scylla.drop_queue('wk', force => true)" ],
	'its row' => [ 'NoOp', "select 1 from scylla.workflow_run_state where workflow = '%s' for update" ],
	'the plan of a run that is broken' => [ 'Wk', "select 1 from scylla.task_plan where id = (select id from scylla.workflow_run_state where workflow = '%s') for update",
		q(call scylla.advance(null); insert into scylla.workflow_agenda (root, kind, data) select id, 'backfill', '{"backfill": 1e30}' from scylla.workflow_run_state where workflow = '%s') ],
);
for my $what (sort keys %locks)
{
	my ($type, $statement, $break) = @{ $locks{$what} };
	my $id = 'w' . ++$count;
	create($id, qq({"step": {"id": "a", "type": "$type"}}));
	run_in('main', "select scylla.start_workflow('$id')");
	run_in('main', sprintf($break, $id)) if $break;
	run_in('worker', 'begin; ' . sprintf($statement, $id));
	my $runs = run_in('main', "select count(*) from scylla.start_workflow('victim'); select count(*) from scylla.workflow_run where workflow = 'victim'");
	my $began = time;
	advance();
	note sprintf('%s: %.0f ms until all but the one have ended', $what, 1000 * (time - $began));
	is(run_in('main', "select count(*) from scylla.workflow_run where workflow = 'victim' and ended is null"), '0', "$what is locked: an open transaction holds up nobody else");
	run_in('worker', 'rollback');
	run_in('main', "select scylla.create_queue('fresh')") if $type eq 'Fresh';
	my $fresh = q(do $$ declare t scylla.task; begin for t in select * from scylla.lease('fresh', 'w', 10) loop perform scylla.complete(t.rn, 'w'); end loop; end $$);
	ok(comes(sub {
		hasten();
		run_in('main', $type eq 'Fresh' ? $fresh : 'select work()');
		return ended($id);
	}), 'and its run goes on afterwards');
}

# What has ended in a loop is counted at once, though something in it has not.
my $inner = qq({"foreach": {"id": "inner", "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": [1, 2]}}}}, "steps": [{"step": {"id": "a", "type": "Wk"}}]}});
create('nested', qq({"foreach": {"id": "outer", "params": {"loop_params": {"type": "MAP", "value": {"j": {"type": "LONG_ARRAY", "value": [1, 2]}}}}, "steps": [$inner]}}));
my $leaves = q(select string_agg(key || ' ' || (value ->> 'cnt'), ', ' order by key) from scylla.workflow_rollup, jsonb_each(overview) where workflow = 'nested');
run_in('main', q(select scylla.start_workflow('nested')));
advance();
run_in('worker', q(begin; select scylla.complete(rn, 'w') from scylla.lease('wk', 'w')));
run_in('actor', q(select scylla.stop_run('nested', 1)));
advance();
is(run_in('main', $leaves), 'RUNNING 1, STOPPED 3', 'a loop counts those of its steps as stopped that are, while one is being completed');
is(run_in('main', 'select problem from scylla.check()'), '', 'and check() finds nothing');
run_in('worker', 'commit');
ok(ends('nested', 0), 'its run ends then');
is(run_in('main', $leaves), 'STOPPED 3, SUCCEEDED 1', 'with the one that has succeeded');

$_->quit for values %sessions;
checked($node, 'and everything fits together');
done_testing();
