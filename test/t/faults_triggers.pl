# Errors and cancels at the steps of carrying out triggers: while maintain() has a set of signals for a trigger that submits a task and for
# one that starts a workflow, the n-th call of the library to the server fails, for n = 1, 12, 23 … until it gets through. However far it
# has come, the next maintain() completes it: the set has started one task and one run, and no signal is left.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use Faults;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $stride = $ENV{SCYLLA_TEST_STRIDE} || 11;
my $node = faulty_node();
sql($node, <<'SQL');
select scylla.create_workflow('{"properties": {"owner": "ada", "run_strategy": "parallel"},
    "workflow": {"id": "flow", "params": {"n": {"type": "LONG", "value": 0}}, "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}');
select scylla.create_trigger('task of a pair', '[{"signal": "a", "join": ["n"]}, {"signal": "b", "join": ["n"]}]', '{"submit": {"queue": "q", "spec": 1}}'),
       scylla.create_trigger('run of a pair', '[{"signal": "a", "join": ["n"]}, {"signal": "b", "join": ["n"]}]',
                             '{"workflow": "flow", "params": {"n": {"type": "LONG", "expression": "params.getFromSignal(''a'', ''n'')"}}}');

-- What a pair of signals with this number has come to.
create function outcome_of(n bigint) returns text language sql as $$
    select concat_ws(', ',
        (select count(*) || ' tasks of ' || string_agg(args #>> '{0,params,n}', ' ') from scylla.task),
        (select count(*) || ' runs of ' || string_agg(params ->> 'n', ' ') from scylla.workflow_run),
        (select count(*) || ' signals left' from (select from scylla.trigger_signal union all select from scylla.signal_unseen) s),
        (select count(*) || ' failures' from scylla.trigger_failure))
$$;

create procedure fail_at_steps(how text, cancel boolean, stride bigint) language plpgsql as $$
declare
    step bigint := 1;
    tried bigint := 0;
    passed bigint := -1;
begin
    while passed < 0 loop
        -- Each time the same steps.
        truncate scylla.task_spec, scylla.task_ready, scylla.task_gate, scylla.task_condition_end, scylla.signal_sent, scylla.workflow_run_state,
            scylla.task_plan, scylla.workflow_plan, scylla.workflow_agenda;
        perform scylla.send_signal('a', jsonb_build_object('n', step)), scylla.send_signal('b', jsonb_build_object('n', step));
        commit;
        begin
            perform arm_fault(step, cancel);
            perform scylla.maintain();
            passed := disarm_fault();
        exception when query_canceled or others then
            passed := disarm_fault();
        end;
        commit;
        -- What has failed is tried again at once.
        perform scylla.resume_trigger(name) from scylla.trigger;
        perform scylla.maintain(), scylla.maintain();
        insert into fault select 'maintain', how, step, 'comes to ' || o from outcome_of(step) o
            where o <> format('1 tasks of %s, 1 runs of %s, 0 signals left, 0 failures', step, step);
        commit;
        step := step + stride;
        tried := tried + 1;
    end loop;
    insert into reached values ('maintain', how, tried);
    commit;
end $$;
SQL

my $total = 0;
for my $mode ([ 'error', 'false' ], [ 'cancel', 'true' ])
{
	my ($how, $cancel) = @$mode;
	my $status = $node->psql('postgres', "select install_faults(); call fail_at_steps('$how', $cancel, $stride)", stderr => \my $err);
	is($status, 0, "$how: the server goes on") or diag $err;
	$total += judge('maintain', $how);
}
note "$total steps";
$node->stop;
done_testing();
