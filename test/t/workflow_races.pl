# Everything that can happen to runs of workflows, at once and in any order: tasks that end in all ways or are lost, actions on steps and runs,
# restarts, signals that steps wait for, and the engine and the server killed. Whatever it was, every run ends, no step has two live tasks, and check() finds nothing: it
# compares, among others, what loops keep of their leaves with a recount. SCYLLA_TEST_ROUNDS and SCYLLA_TEST_SEED choose how much and which.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;
use Time::HiRes qw(sleep);

my $rounds = $ENV{SCYLLA_TEST_ROUNDS} // 1_200;
my $seed = $ENV{SCYLLA_TEST_SEED} // 1;
my $actors = 3;
my $crashes = 2; # and as many parts more
note "$rounds rounds, seed $seed";

my $node = new_node('workflow_races', settings => "scylla.monitor = on\nscylla.monitor_interval = 1s\nmax_connections = 40");
sql($node, 'create extension scylla');
wait_for_monitor($node, 'postgres');
sql($node, q~
	select scylla.create_queue('t', default_timeout => '1 s');
	select scylla.create_workflow($json${"properties": {"owner": "ann", "run_strategy": "50"}, "workflow": {"id": "child", "steps": [
		{"step": {"id": "c1", "type": "T", "transition": {"successors": {"c2": "true"}}}}, {"step": {"id": "c2", "type": "T", "failure_mode": "IGNORE_FAILURE"}}]}}$json$);
	select scylla.create_workflow($json${"properties": {"owner": "ann", "run_strategy": "30"}, "workflow": {"id": "w", "params": {"mode": {"type": "LONG", "value": 0}}, "steps": [
		{"step": {"id": "first", "type": "T", "transition": {"successors": {"each": "true", "sub": "mode % 2 == 0", "count": "mode % 3 == 0"}}}},
		{"foreach": {"id": "each", "concurrency": 3, "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "expression": "Util.intsBetween(0, 4, 1)"}}}},
			"steps": [{"step": {"id": "inner", "type": "T", "transition": {"successors": {"deep": "true", "then": "true"}},
			                    "retry_policy": {"error_retry_limit": 1, "platform_retry_limit": 1, "backoff": {"type": "FIXED_BACKOFF", "error_retry_backoff_in_secs": 1, "platform_retry_backoff_in_secs": 1}}}},
			          {"subworkflow": {"id": "call", "params": {"subworkflow_id": {"type": "STRING", "value": "child"}}}},
			          {"foreach": {"id": "deep", "strict_ordering": true, "failure_mode": "FAIL_IMMEDIATELY",
			                       "params": {"loop_params": {"type": "MAP", "value": {"j": {"type": "LONG_ARRAY", "expression": "Util.intsBetween(0, 2, 1)"}}}},
			                       "steps": [{"step": {"id": "deepest", "type": "T"}}]}},
			          {"step": {"id": "then", "type": "NoOp", "signal_dependencies": [{"name": "go", "match_params": {"instance": {"param": {"type": "LONG", "expression": "params.getFromInstance('workflow_instance_id')"}}}}]}}],
			"transition": {"successors": {"last": "true"}}}},
		{"while": {"id": "count", "condition": "n < 3", "params": {"loop_params": {"type": "MAP", "value": {"n": {"type": "LONG", "value": 0}}}},
			"steps": [{"step": {"id": "up", "type": "T", "params": {"n": {"type": "LONG", "expression": "n + 1"}}}}],
			"transition": {"successors": {"last": "true"}}}},
		{"subworkflow": {"id": "sub", "failure_mode": "IGNORE_FAILURE", "params": {"subworkflow_id": {"type": "STRING", "value": "child"}}, "transition": {"successors": {"last": "true"}}}},
		{"step": {"id": "last", "type": "T", "signal_dependencies": [{"name": "go", "match_params": {"instance": {"param": {"type": "LONG", "expression": "params.getFromInstance('workflow_instance_id')"}}}}]}}]}}$json$);
	create table outcome (at timestamptz default clock_timestamp(), seed float8, did text, state text, message text);
	create table counted (kind text, n bigint);

	-- One of the last instances, or of the last that have ended.
	create function some_instance(of text, has_ended boolean = false) returns bigint language sql volatile as $$
		select instance from (select instance from scylla.workflow_run_state where workflow = of and (ended is not null or not has_ended)
		                      order by instance desc limit 12) i order by random() limit 1
	$$;
	-- Ends some tasks, somehow.
	create function end_tasks(worker text, how_many int, kindly boolean) returns void language plpgsql as $$
	declare
		t scylla.task;
		r float8;
	begin
		for t in select * from scylla.lease('t', worker, how_many) loop
			r := case when kindly then 0 else random() end;
			if r < 0.7 then perform scylla.complete(t.rn, worker, case when r < 0.3 and not kindly then '{"params": {"n": 2}}'::jsonb end);
			elsif r < 0.8 then perform scylla.fail(t.rn, worker, '{"code": "x", "message": "no"}');
			elsif r < 0.86 then perform scylla.fail(t.rn, worker, '{"code": "x", "class": "platform"}');
			elsif r < 0.9 then perform scylla.abort(t.rn, worker, '{"code": "x"}');
			elsif r < 0.93 then perform scylla.cancel(t.rn);
			-- else it is lost
			end if;
		end loop;
	end $$;
	create function act(did text) returns void language plpgsql as $$
	declare
		s record;
		steps constant text[] := '{first,each,inner,deep,deepest,count,up,sub,last}';
	begin
		case did
			when 'start' then perform scylla.start_workflow('w', jsonb_build_object('mode', floor(random() * 6)::int));
			when 'advance' then perform scylla._advance(); -- beside the engine
			when 'tasks' then perform end_tasks('w' || pg_backend_pid(), 1 + floor(random() * 6)::int, false);
			when 'step' then
				select * into s from scylla.workflow_step where workflow = 'w' and instance = some_instance('w') order by random() limit 1;
				if s.step is null then return; end if;
				case floor(random() * 7)::int
					when 0 then perform scylla.stop_step('w', s.instance, s.step, s.iterations);
					when 1 then perform scylla.kill_step('w', s.instance, s.step, s.iterations);
					when 2 then perform scylla.bypass_step('w', s.instance, s.step, s.iterations);
					when 3, 4 then perform scylla.restart_step('w', s.instance, s.step, s.iterations);
					else perform scylla.skip_step('w', s.instance, s.step, s.iterations);
				end case;
			when 'signal' then perform scylla.send_signal('go', jsonb_build_object('instance', some_instance('w')));
			when 'run' then
				if random() < 0.5 then perform scylla.stop_run('w', some_instance('w')); else perform scylla.kill_run('w', some_instance('w')); end if;
			when 'child' then
				case floor(random() * 6)::int
					when 0, 1 then perform scylla.stop_run('child', some_instance('child'));
					when 2 then perform scylla.restart_step('child', some_instance('child', true), (array['c1', 'c2'])[1 + floor(random() * 2)::int]);
					when 3 then perform scylla.restart_run('child', some_instance('child', true), alone => true);
					else perform scylla.restart_run('child', some_instance('child', true), 'RESTART_FROM_BEGINNING'); -- and what is above it
				end case;
			when 'restart' then
				case floor(random() * 8)::int
					when 5, 6, 7 then
						select * into s from scylla.workflow_step where workflow = 'w' and instance = some_instance('w', true) and iterations is not null order by random() limit 1;
						if s.step is not null then perform scylla.restart_step('w', s.instance, s.step, s.iterations); end if;
					when 0 then perform scylla.restart_run('w', some_instance('w', true), 'RESTART_FROM_BEGINNING');
					when 1 then perform scylla.restart_run('w', some_instance('w', true), 'RESTART_FROM_SPECIFIC', step => (array['first', 'each', 'sub', 'count', 'last'])[1 + floor(random() * 5)::int]);
					when 2 then perform scylla.restart_run('w', some_instance('w', true), skip_steps => '{each}');
					else perform scylla.restart_run('w', some_instance('w', true));
				end case;
			when 'engine' then perform pg_terminate_backend(pid) from scylla.stat_server_worker where role is null and pid is not null;
		end case;
	end $$;
	-- What a step has: a task that is not at its end. More than one is a step that is done twice.
	create view twice as
		select spec ->> 'workflow' as workflow, spec ->> 'instance' as instance, spec ->> 'step' as step, spec ->> 'iteration' as iteration, count(*)
		from scylla.task where queue = 't' and status in ('ready', 'running', 'waiting') group by 1, 2, 3, 4 having count(*) > 1;

	create procedure race(seed float8, rounds int) language plpgsql as $$
	declare
		r float8;
		did text;
	begin
		perform setseed(seed);
		for i in 1 .. rounds loop
			r := random();
			did := case when r < 0.08 then 'start' when r < 0.5 then 'tasks' when r < 0.58 then 'advance' when r < 0.65 then 'signal' when r < 0.77 then 'step' when r < 0.8 then 'run'
			            when r < 0.86 then 'child' when r < 0.999 then 'restart' else 'engine' end;
			if did = 'start' and (select count(*) from scylla.workflow_run_state where workflow = 'w' and ended is null) > 10 then
				did := 'tasks';
			end if;
			begin
				perform act(did);
				insert into counted values (did, 1);
			exception
				-- It has ended already, or not yet; there is nothing to restart; it may not be there.
				when object_not_in_prerequisite_state or no_data_found or undefined_object or invalid_parameter_value then
					insert into counted values (did || ' refused', 1);
				when others then
					insert into outcome (seed, did, state, message) values (seed, did, sqlstate, sqlerrm);
			end;
			commit;
			if i % 50 = 0 and exists (select from twice) then
				insert into outcome (seed, did, state, message) select seed, 'look', 'twice', t::text from twice t;
				commit;
			end if;
		end loop;
	end $$;
~);
my $live = q(select count(*) from scylla.workflow_run where ended is null);

for my $part (0 .. $crashes)
{
	my $before = sql($node, 'select count(*) from counted');
	my @actors = map {
		my $of = ($seed * 31 + $part * $actors + $_) % 1000 / 1000;
		my $out = '';
		my $share = int($rounds / $actors / ($crashes + 1) + 1);
		IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-c', "call race($of, $share)" ], '<', \undef, '>&', \$out);
	} 1 .. $actors;
	if ($part < $crashes)
	{
		# In the middle of it.
		my $enough = $before + int($rounds * 0.6 / ($crashes + 1));
		ok($node->poll_query_until('postgres', "select count(*) >= $enough from counted"), 'the server is killed in the middle of it');
		$node->stop('immediate');
		IPC::Run::finish($_) for @actors;
		$node->start;
		wait_for_monitor($node, 'postgres');
	}
	else
	{
		is(join(' ', map { IPC::Run::finish($_) ? 'done' : 'broken off' } @actors), join(' ', ('done') x $actors), 'nothing has broken off');
	}
}

is(sql($node, 'select did, state, message, count(*) from outcome group by 1, 2, 3 order by 4 desc limit 20'), '', 'nothing was refused but what cannot be');
note sql($node, q(select string_agg(kind || ' ' || n, ', ' order by n desc) from (select kind, count(*) as n from counted group by 1) c));
cmp_ok(sql($node, q(select count(*) from counted where kind = 'restart')), '>', $rounds / 100, 'much was restarted');
cmp_ok(sql($node, q(select count(*) from scylla.workflow_run where restart ? 'below')), '>', $rounds / 300, 'with paths to what runs again');
cmp_ok(sql($node, q(select count(*) from scylla.workflow_action where outcome is not null)), '>', $rounds / 50, 'and acted on');

my $ends = 0;
for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
{
	last if ($ends = sql($node, $live) eq '0');
	sql($node, q(select end_tasks('last', 1000, true)));
	sql($node, q(select scylla.send_signal('go', jsonb_build_object('instance', instance)) from scylla.workflow_run where workflow = 'w' and ended is null));
	sleep 0.1;
}
ok($ends, 'all runs end')
	or diag sql($node, q(select r.workflow, r.instance, r.run, r.status, (select string_agg(step || coalesce(iterations::text, '') || ' ' || s.status, ', ') from scylla.workflow_step s
		where s.workflow = r.workflow and s.instance = r.instance and s.ended is null) from scylla.workflow_run r where ended is null limit 5));
is(sql($node, q(select concat_ws(' ', r.workflow, r.instance, r.run, r.status, r.initiator, r.started, r.ended, r.restart,
			(select string_agg(s.step || ' ' || s.run || ' ' || s.status, ', ') from scylla.workflow_step_attempt s where s.workflow = r.workflow and s.instance = r.instance))
		from scylla.workflow_run r where status in ('FAILED', 'STOPPED', 'TIMED_OUT') and error is null
		and not exists (
		select from scylla.workflow_step_attempt s where s.workflow = r.workflow and s.instance = r.instance and s.status in ('FATALLY_FAILED', 'STOPPED', 'TIMED_OUT', 'INTERNALLY_FAILED'))
		and not exists (select from scylla.workflow_action a where a.workflow = r.workflow and a.instance = r.instance))), '', 'what has not succeeded says why');
eventually($node, 'select count(*) = 0 from scylla.workflow_agenda', 't', 'nothing is on the agenda');
is(sql($node, q(select count(*) from scylla.workflow_action where done is null)), '0', 'no action is forgotten');
is(sql($node, 'select count(*) from twice'), '0', 'no step has two tasks');
is(sql($node, q(select count(*) from scylla.task where queue = 't' and status in ('ready', 'running', 'waiting'))), '0', 'no task is left over');
# What was left to a sender that the crash has rolled back goes with the next signal.
sql($node, q(select scylla.send_signal('go', jsonb_build_object('instance', instance)) from scylla.workflow_run where workflow = 'w'));
is(sql($node, 'select (select count(*) from scylla.workflow_wait) + (select count(*) from scylla.signal_condition)'), '0', 'nobody waits for a signal any more');
eventually($node, 'select count(*) = 0 from scylla.workflow_agenda', 't', 'and what has come for nobody is passed over');
cmp_ok(sql($node, q(select count(*) from scylla.workflow_step_attempt where signals @> '[{"status": "MATCHED"}]')), '>', $rounds / 100, 'many have had their signal');
checked($node, 'check() finds nothing');

done_testing();
