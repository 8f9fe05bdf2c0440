# Owners and runs take turns in the engine, and the time of its transactions is bounded: expensive expressions and thousands of runs delay nobody else. Times are
# not compared with a clock: what counts is how much of the others' work was done before that of the victim.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $node = new_node('workflow_turns', settings => "scylla.monitor = on\nscylla.monitor_interval = 1s\nmax_connections = 30");
sql($node, 'create extension scylla');
wait_for_monitor($node, 'postgres');

# Takes longer than the 50 ms of a transaction on any machine, and at most the second that an expression may take.
my $expensive = q{n=0; for(int a=0;a<20000;a+=1){for(int b=0;b<15;b+=1){ y=new DateTime(2026,11,23,8,30,0,0,DateTimeZone.forID(''Europe/Berlin'')).toString(''yyyy MMMM EEEE''); }} n};
sub workflow
{
	my ($id, $steps, $more) = @_;
	$more //= '';
	return qq(select scylla.create_workflow('{"properties": {"owner": "x", "run_strategy": "parallel"}, "workflow": {"id": "$id" $more, "steps": [$steps]}}'););
}
sub loop_of { my ($count, $step) = @_; return qq({"foreach": {"id": "f", "concurrency": 500, "params": {"loop_params": {"type": "MAP", "value": {
	"i": {"type": "LONG_ARRAY", "expression": "Util.intsBetween(0, $count, 1)"}}}}, "steps": [$step]}}) }
my $no_op = '{"step": {"id": "a", "type": "NoOp"}}';
my $dear = qq("params": {"x": {"type": "LONG", "expression": "$expensive"}});

sql($node, 'create role eve; create role victim; grant usage on schema scylla to eve, victim; grant execute on all functions in schema scylla to eve, victim; grant execute on all procedures in schema scylla to eve, victim');
sql($node, 'set role eve; '
	. workflow('eve', loop_of(60, qq({"step": {"id": "s", "type": "NoOp", "failure_mode": "IGNORE_FAILURE", $dear}})))
	. workflow('eve500', loop_of(500, qq({"step": {"id": "s", "type": "NoOp", "failure_mode": "IGNORE_FAILURE", $dear}})))
	. workflow('many', $no_op)
	. workflow('child', $no_op, qq(, $dear))
	. workflow('parent', loop_of(40, '{"subworkflow": {"id": "s", "failure_mode": "IGNORE_FAILURE", "params": {"subworkflow_id": {"type": "STRING", "value": "child"}}}}')));
sql($node, 'set role victim; ' . workflow('victim', $no_op) . workflow('condition', qq({"step": {"id": "a", "type": "NoOp", "transition": {"successors": {"b": "1 + 1 == 2"}}}}, {"step": {"id": "b", "type": "NoOp"}})));

sub ended { my ($of, $where) = @_; return sql($node, "select count(*) from scylla.workflow_step s where s.workflow = '$of' and s.step in ('s', 'a') and s.ended is not null " . ($where // '')) }
# How many steps of a workflow end while runs of the victim, one after the other, begin and end.
sub ended_meanwhile
{
	my ($of, $victim, $runs) = @_;
	my $before = ended($of);
	for (1 .. $runs)
	{
		my $instance = sql($node, "set role victim; select instance from scylla.start_workflow('$victim')");
		sql($node, "call scylla.wait_plan('workflow:$victim/$instance/1', '10 minutes')");
	}
	is(sql($node, "select count(*) from scylla.workflow_run where workflow = '$victim' and status <> 'SUCCEEDED'"), '0', 'the victims have run');
	return ended($of) - $before;
}

# ---- expensive expressions --------------------------------------------------------------------------------------------------------------

for my $eve ('eve', 'eve500')
{
	sql($node, "set role eve; select scylla.start_workflow('$eve')");
	ok(comes(sub { ended($eve) > 0 }), 'the loop is at it');
	cmp_ok(ended_meanwhile($eve, 'victim', 5) + ended_meanwhile($eve, 'condition', 5), '<', 30, 'no victim waits for the expensive loop');
	my $before = ended($eve);
	sql($node, "set role eve; select scylla.kill_run('$eve', 1)");
	sql($node, "call scylla.wait_plan('workflow:$eve/1/1', '10 minutes')");
	is(sql($node, "select status from scylla.workflow_run where workflow = '$eve'"), 'FAILED', 'and is killed');
	cmp_ok(ended($eve, "and s.status <> 'STOPPED'") - $before, '<', 10, 'a kill is noticed between two expressions');
	is(sql($node, "select done is not null from scylla.workflow_action where workflow = '$eve'"), 't', 'and done');
}
ok(sql($node, "select count(*) from pg_stat_activity where backend_type = 'scylla engine'") <= 2, 'by two engines at most');

# The parameters of subworkflows, which the engine evaluates when it starts them.
sql($node, q(set role eve; select scylla.start_workflow('parent')));
ok(comes(sub { ended('parent') > 0 }), 'subworkflows are started, or refused because their parameters take too long');
cmp_ok(ended_meanwhile('parent', 'victim', 5), '<', 20, 'a subworkflow with expensive parameters delays nobody');
sql($node, q(set role eve; select scylla.kill_run('parent', 1)));
sql($node, q(call scylla.wait_plan('workflow:parent/1/1', '10 minutes')));

# ---- many runs --------------------------------------------------------------------------------------------------------------------------

sql($node, q(set role eve; select count(*) from scylla.start_workflows((select jsonb_agg(jsonb_build_object('workflow', 'many')) from generate_series(1, 4000)))));
cmp_ok(ended_meanwhile('many', 'victim', 1), '<', 2000, 'nor for the many runs of another owner');
ok(comes(sub { ended('many') == 4000 }), 'which end, too');

is(sql($node, 'select count(*) from scylla.workflow_agenda'), '0', 'nothing is left');
checked($node, 'check() finds nothing');

done_testing();
