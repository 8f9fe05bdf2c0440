# Steps and workflows are paused, resumed, and stopped at breakpoints at random while workers and the engine go on, also by transactions that
# stay open for a while or are rolled back: nothing is forgotten that was held back, nothing is done twice, and nothing begins that must not.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;
use Time::HiRes qw(sleep);

my $node = new_node('holds', settings => "scylla.monitor = on\nautovacuum = off");
my $runs = 60;
my $seed = $ENV{SCYLLA_SEED} // int(rand(1_000_000));
note "SCYLLA_SEED=$seed";

sql($node, 'create extension scylla');
wait_for_monitor($node, 'postgres');
sql($node, q~
	select scylla.create_workflow($json${"properties": {"owner": "ann", "run_strategy": "20"}, "workflow": {"id": "w", "steps": [
		{"step": {"id": "first", "type": "T", "transition": {"successors": {"loop": "true"}}}},
		{"foreach": {"id": "loop", "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "expression": "Util.intsBetween(0, 4, 1)"}}}},
			"steps": [{"step": {"id": "inner", "type": "T", "transition": {"successors": {"then": "true"}}}}, {"step": {"id": "then", "type": "NoOp"}}],
			"transition": {"successors": {"last": "true"}}}},
		{"step": {"id": "last", "type": "T"}}]}}$json$);
	create table done (run bigint, step text, iteration text, at timestamptz default clock_timestamp());
	create table calls (call text, outcome text);
	create procedure work() language plpgsql as $$
	declare t scylla.task;
	begin
		for i in 1 .. 1000000 loop
			select * into t from scylla.lease('t', 'w' || pg_backend_pid(), timeout => '10 min');
			if t.rn is null then
				commit;
				exit when exists (select from calls where call = 'stop');
				perform pg_sleep(0.005);
				continue;
			end if;
			insert into done values ((t.spec ->> 'instance')::bigint, t.spec ->> 'step', t.spec ->> 'iteration');
			perform scylla.complete(t.rn, 'w' || pg_backend_pid());
			commit;
		end loop;
	end $$;
	-- One call at random. What a step is not ready for is refused; nothing else is.
	create function call_one() returns void language plpgsql as $$
	declare
		steps text[] := '{first,loop,inner,then,last}';
		step text := steps[1 + floor(random() * 5)];
		instance bigint := 1 + floor(random() * 60);
		place text := format('%L, %s, %L, %L::bigint[]', 'w', instance, step, case when step in ('inner', 'then') then array[1 + floor(random() * 4)] end);
		calls text[] := array['pause_workflow(''w'')', 'resume_workflow(''w'')', 'resume_workflow(''w'')', format('set_breakpoint(''w'', %L)', step),
			format('drop_breakpoint(''w'', %L, resume => %L)', step, random() < 0.5), format('pause_step(%s)', place), format('resume_step(%s)', place),
			format('set_breakpoint(''w'', %L, instance => %s)', step, instance), format('drop_breakpoint(''w'', %L, instance => %s, resume => true)', step, instance)];
		call text := calls[1 + floor(random() * 9)];
		outcome text := 'ok';
	begin
		begin
			execute 'select scylla.' || call;
		exception when no_data_found or object_not_in_prerequisite_state then
			outcome := sqlerrm;
		end;
		insert into calls values (call, outcome);
	end $$;
	create procedure meddle(seed double precision) language plpgsql as $$
	begin
		perform setseed(seed);
		for i in 1 .. 400 loop
			perform call_one();
			if random() < 0.1 then
				perform pg_sleep(0.02);
			end if;
			if random() < 0.15 then
				rollback;
			else
				commit;
			end if;
		end loop;
	end $$;
	create procedure release() language plpgsql as $$
	declare b record;
	begin
		perform scylla.resume_workflow('w');
		for b in select * from scylla.workflow_breakpoint where kind = 'breakpoint' loop
			perform scylla.drop_breakpoint(b.workflow, b.step, b.version, b.instance, b.run, random() < 0.5);
		end loop;
	end $$;
~);

sql($node, "select count(scylla.start_workflow('w')) from generate_series(1, $runs)");
my @sessions;
for my $i (1 .. 2)
{
	push @sessions, $node->background_psql('postgres', on_error_stop => 0);
	$sessions[-1]->query_until(qr/begun/, "\\echo begun\ncall work();\n");
}
my @meddlers;
for my $i (1 .. 3)
{
	push @meddlers, $node->background_psql('postgres', on_error_stop => 1);
	$meddlers[-1]->query_until(qr/begun/, "\\echo begun\ncall meddle(" . (($seed * $i % 1000) / 1000) . ");\n\\echo meddled\n");
}
$_->query_until(qr/meddled/, '') for @meddlers;
ok(1, 'nobody who pauses, resumes or sets breakpoints comes to an unexpected error');
$_->quit for @meddlers;

# Nothing begins while the workflow is paused.
sql($node, "select scylla.pause_workflow('w')");
my $tasks = q(select count(*) from scylla.task where queue = 't' and status not in ('completed', 'aborted', 'cancelled'));
ok(comes(sub { sql($node, "select count(*) from scylla.workflow_agenda") eq '0' && sql($node, $tasks) eq '0' }), 'what runs ends in a workflow that is paused');
my $before = sql($node, 'select count(*) from done');
my $more = 5;
sql($node, "select count(scylla.start_workflow('w')) from generate_series(1, $more)");
sleep 1;
is(sql($node, 'select count(*) from done'), $before, 'and nothing begins');
is(sql($node, "select count(*) from scylla.workflow_run where status = 'CREATED' and instance > $runs"), $more, 'nor do new runs');
$runs += $more;
is(sql($node, 'select count(*) from scylla.check()'), '0', 'check() finds nothing');

sql($node, 'call release()');
# Steps that are still PAUSED wait for nobody but for who resumes them.
my $paused = q(select format('select scylla.resume_step(%L, %s, %L, %L)', workflow, instance, step, iterations) from scylla.workflow_step where status = 'PAUSED' limit 20);
my $ended = q(select count(*) from scylla.workflow_run where ended is not null);
ok( comes(
		sub {
			return 1 if sql($node, $ended) == $runs;
			for my $statement (split /\n/, sql($node, $paused))
			{
				$node->psql('postgres', $statement); # it may be gone meanwhile
			}
			return 0;
		}),
	'all runs come to their end');
is(sql($node, 'select string_agg(distinct status, $$ $$) from scylla.workflow_run'), 'SUCCEEDED', 'as they should');
is(sql($node, 'select count(*), count(distinct (run, step, iteration)) from done'), $runs * 6 . '|' . $runs * 6, 'each step was done once');
is(sql($node, q(select count(*) from scylla.workflow_hold where kind <> 'pause')), '0', 'nothing is held back any more');
is(sql($node, 'select count(*) from scylla.check()'), '0', 'check() finds nothing');
cmp_ok(sql($node, q(select count(*) from calls where outcome = 'ok')), '>', 300, 'much was paused and resumed');
sql($node, "insert into calls values ('stop', '')");
$_->quit for @sessions;
$node->stop;
done_testing();
