# Errors and cancels at the steps of every call, in a block: the n-th call of the library to the server fails, for n = 1, 25, 49 … (by
# hand 1, 2, 3 …) until the call gets through. After each failure the block is rolled back and nothing has changed; the transaction goes on, every
# ready task can be leased, and the same call succeeds with the usual outcome.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use Faults;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $node = faulty_node();
sql($node, <<'SQL');
-- What a call leaves behind, but for ids and times; it is undone.
create function outcome_of(verb text) returns text language plpgsql as $$
declare
    outcome text;
begin
    execute verb;
    outcome := concat_ws(' ',
        (select row(count(*), string_agg(name, ',' order by id), sum(paused::int), count(max_running))::text from scylla.queue),
        (select row(count(*), sum(priority), count(plan))::text from scylla.task_spec),
        (select row(count(*), sum(attempt), sum(failures))::text from scylla.task_ready),
        (select row(count(*), sum(attempt), sum(failures), sum(progress), count(permit), string_agg(owner, ',' order by owner))::text from scylla.task_lease),
        (select row(count(*), count(due))::text from scylla.task_waiting),
        (select row(count(*), sum(attempt), string_agg(status::text, ',' order by status), count(result), count(errors))::text from scylla.task_outcome),
        (select row(count(*), string_agg(concat(kind, on_failure), ',' order by kind, on_failure))::text from scylla.task_gate),
        (select row(count(*), count(opened), count(finished))::text from scylla.task_plan),
        (select count(*) from scylla.task_dedup), (select count(*) from scylla.event),
        (select row(count(*), sum(runs), count(last_error))::text from scylla.schedule),
        (select row(count(*), count(value), sum(failed::int))::text from scylla.task_condition_end),
        (select row(count(*), string_agg(token, ',' order by token))::text from scylla.task_callback), (select count(*) from scylla.signal_name),
        (select row(count(*), string_agg(request_id, ','))::text from scylla.signal_sent), (select count(*) from scylla.signal_condition),
        (select count(*) from scylla.task_check), (select row(count(*), sum(answers), count(state))::text from scylla.task_memo),
        (select row(count(*), sum(fired), sum(paused::int))::text from scylla.signal_trigger), (select count(*) from scylla.signal_unseen),
        (select count(*) from scylla.signal_arrival), (select row(count(*), string_agg(capacity::text, ',' order by name))::text from scylla.resource_pool),
        (select count(*) from scylla.pool_report), (select count(*) from scylla.pool_line),
        (select string_agg(amounts::text, ',' order by task, pool) from scylla.task_reservation));
    raise sqlstate 'UNDO0' using message = outcome;
exception when sqlstate 'UNDO0' then
    return sqlerrm;
end $$;

-- In one transaction each: a call fails at a step, in a block that is rolled back, and the transaction goes on.
create procedure fail_at_steps(verb text, cancel boolean, first bigint, stride bigint) language plpgsql as $$
declare
    how constant text := case when cancel then 'cancel in a block' else 'error in a block' end;
    expected constant text := outcome_of(verb);
    before constant text := everything();
    step bigint := first;
    tried bigint := 0;
    passed bigint;
    caught text;
    about text;
    got text;
begin
    loop
        caught := null;
        begin
            perform arm_fault(step, cancel);
            execute verb;
            passed := disarm_fault();
            raise sqlstate 'UNDO0';
        exception
            when sqlstate 'UNDO0' then null;
            when query_canceled or others then
                passed := disarm_fault();
                caught := sqlstate;
                about := sqlerrm;
        end;
        exit when passed >= 0 and caught is null;
        insert into fault select verb, how, step, problem from (
            select 'has raised ' || caught || ': ' || about where caught <> case when cancel then '57014' else '58000' end
            union all select 'is not done and has not failed' where caught is null and not cancel) t (problem);
        call look_around(verb, how, step, before);
        got := outcome_of(verb);
        insert into fault select verb, how, step, 'then gives ' || got where got <> expected;
        commit;
        step := step + stride;
        tried := tried + 1;
    end loop;
    insert into reached values (verb, how, tried);
    commit;
end $$;
SQL

my $total = 0;
for my $verb (@verbs)
{
	my $steps = join ', ', steps_of($verb);
	my $script = join ' ', 'select fixture(), install_faults();', map { 'call fail_at_steps(' . literal($verb) . ", $_, $steps);" } qw(false true);
	my $status = $node->psql('postgres', $script, stderr => \my $err);
	is($status, 0, "$verb: the server goes on") or diag $err;
	$total += judge($verb, "$_ in a block") for qw(error cancel);
}
note "$total steps";
$node->stop;
done_testing();
