# Errors at every step of the monitor's rounds: the n-th call of the library to the server fails since a monitor has begun, for
# n = 1, 2, 3 … until it goes to sleep with all its work done. After each failure that work is done, all of it and none of it
# twice, by the same monitor or, if the step was not one of a duty, by the next: the tables come to what they come to without any error. The log says what it was, and so does stat_monitor.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use Faults;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

# Every step by hand: SCYLLA_TEST_STRIDE=1
my $stride = $ENV{SCYLLA_TEST_STRIDE} || 23;

my $file = $ENV{SCYLLA_FAULT} = PostgreSQL::Test::Utils::tempdir . '/fault';
my $node = faulty_node("shared_preload_libraries = 'scylla,$ENV{SCYLLA_FAULTS}'\nscylla.monitor = on");
wait_for_monitor($node, 'postgres');
my $timeout = $PostgreSQL::Test::Utils::timeout_default;
sql($node, <<"SQL");
create function order_monitor(what text) returns void language plpgsql as \$\$
begin
    execute format('copy (select %L) to %L', what, '$file');
end \$\$;
create function outcome_of_order() returns text language sql as \$\$ select trim(pg_read_file('$file'), E' \\n') \$\$;
create function patience() returns interval language sql as \$\$ select interval '$timeout s' \$\$;
SQL
sql($node, <<'SQL');
-- Queues and a plan for those who wait, which stay.
select scylla.create_queue('q', notify => true), scylla.create_queue('limited', max_running => 4), scylla.create_queue('watched', events => true),
    scylla.create_queue('empty'), scylla.create_queue('ask'), scylla.create_plan('awaited');

-- As if a task had been completed by a commit that could not see who waits for it.
create function complete_unseen(name text) returns void language sql as $$
    with gone as (delete from scylla.task_ready r using scylla.task_spec s where s.id = r.id and s.rn = name returning r.*)
    insert into scylla.task_outcome (id, finished, leased, owner, queue, attempt, failures, progress, status)
    select id, now(), now(), 'w', queue, 1, 0, 1, 'completed' from gone;
$$;

-- Something to do for each kind of round.
create function give_work() returns void language plpgsql as $$
declare
    lease constant interval = '1 h';
begin
    truncate scylla.task_spec, scylla.task_ready, scylla.task_lease, scylla.task_waiting, scylla.task_outcome, scylla.task_gate, scylla.task_dedup, scylla.event,
        scylla.task_callback, scylla.task_condition_end, scylla.signal_sent, scylla.signal_condition, scylla.task_check, scylla.task_memo,
        scylla.resource_pool, scylla.pool_change, scylla.pool_line, scylla.pool_head, scylla.task_reservation;
    delete from scylla.task_plan where name <> 'awaited';
    -- What is old.
    perform scylla.create_plan('old plan'), scylla.submit('q', '{}', rn => 'old member', plan => 'old plan'), scylla.open_plan('old plan');
    perform scylla.submit('watched', '{}', rn => 'old', dedup_key => 'old'), scylla.submit('q', '{}', rn => 'old failure', depends_on => '{old}');
    perform scylla.lease_task('old member', 'w', lease), scylla.complete('old member', 'w'), scylla.cancel('old');
    update scylla.task_spec set created = now() - interval '31 days';
    update scylla.task_outcome set finished = now() - interval '30 days';
    update scylla.task_plan set created = now() - interval '31 days', finished = case name when 'old plan' then now() - interval '30 days' else finished end;
    update scylla.event set time = now() - interval '30 days';
    -- What time asks for.
    perform scylla.submit('q', '{}', rn => 'due', not_before => now() + interval '1 day');
    update scylla.task_waiting set due = now() - interval '1 h';
    perform scylla.submit('limited', '{}', rn => 'expired'), scylla.submit('watched', '{}', rn => 'expired for ever', max_attempts => 1),
        scylla.submit('q', '{}', rn => 'cascade', depends_on => '{expired for ever}');
    perform scylla.lease_task('expired', 'w', lease), scylla.lease_task('expired for ever', 'w', lease);
    update scylla.task_lease set deadline = now() - interval '1 h';
    -- What nobody has noticed.
    perform scylla.submit('q', '{}', rn => 'provider'), scylla.submit('watched', '{}', rn => 'dependant', depends_on => '{provider}');
    perform scylla.create_plan('plan'), scylla.submit('q', '{}', rn => 'member', plan => 'plan'), scylla.open_plan('plan');
    perform complete_unseen('provider'), complete_unseen('member');
    -- What waits for something else: a gate that has timed out, a check that nobody waits for, a pool with room for one of two.
    perform scylla.create_callback('never'), scylla.create_pool('pool', '{"a": 1}');
    perform scylla.submit('q', '{}', rn => 'timed out', wait_for => '[{"callback": "never", "timeout": "1 h"}]');
    update scylla.task_gate set deadline = now() - interval '1 h' where deadline is not null;
    update scylla.task_waiting set due = now() - interval '1 h' where expiring;
    perform scylla.submit('q', '{}', rn => 'asks', wait_for => '[{"check": {"queue": "ask", "spec": 1}}]'), scylla.cancel('asks');
    perform scylla.submit('q', '{}', rn => 'placed', needs => '{"pool": {"a": 1}}'), scylla.submit('q', '{}', rn => 'in line', needs => '{"pool": {"a": 1}}');
    -- What is to stay as it is.
    perform scylla.submit('q', '{}', rn => 'waits', depends_on => '{ready}', not_before => now() + interval '1 day') from scylla.submit('q', '{}', rn => 'ready');
    perform scylla.submit('q', '{}', rn => 'runs'), scylla.lease_task('runs', 'w', lease);
end $$;

create function outcome() returns text language sql as $$
    select concat_ws(E'\n',
        (select string_agg(concat_ws(' | ', name, status, attempt, failures, jsonb_path_query_array(history, '$[*]._typ')), E'\n' order by name)
           from (select case queue when 'ask' then 'check' else rn end as name, * from scylla.task) t),
        (select string_agg(s.rn || ' holds ' || r.amounts, E'\n') from scylla.task_reservation r join scylla.task_spec s on s.id = r.task),
        (select string_agg(concat_ws(' | ', name, opened is not null, finished is not null, failed), E'\n' order by name) from scylla.task_plan),
        (select string_agg(concat_ws(' | ', rn, status), E'\n' order by rn, id) from scylla.event));
$$;

-- Whether a monitor has got through, or has failed at a step and none fails any more.
create function is_over() returns boolean language sql as $$
    select outcome_of_order() ~ '^(passed|failed)' and not exists (select from scylla.stat_monitor where failing is not null);
$$;

create function monitor_errors(out count bigint, out last text) language sql as $$
    select coalesce(max(errors), 0), coalesce(max(last_error), '') from scylla.stat_monitor;
$$;

-- A monitor begins when there is work for it, with such an order, and others go on until all is done or patience is over.
create procedure run_monitor(what text, expected text) language plpgsql as $$
declare
    begun timestamptz;
    former int;
begin
    perform order_monitor('hold');
    begun := clock_timestamp();
    loop -- until none is there that began before
        commit;
        select pid into former from pg_stat_activity where backend_type = 'scylla monitor' and backend_start < begun;
        exit when former is null or clock_timestamp() > begun + patience();
        perform pg_terminate_backend(former), pg_sleep(0.001);
    end loop;
    perform give_work();
    commit;
    perform order_monitor(what);
    loop
        commit;
        exit when is_over() and outcome() = expected or clock_timestamp() > begun + patience();
        perform pg_sleep(0.001);
    end loop;
end $$;

create procedure fail_each_step(stride int, expected text) language plpgsql as $$
declare
    step bigint := 1;
    tried bigint := 0;
    before record;
    after record;
    reported boolean := false; -- an error in the statistics
begin
    loop
        select * into before from monitor_errors();
        call run_monitor(step::text, expected);
        commit;
        exit when outcome_of_order() ~ '^passed';
        select * into after from monitor_errors();
        -- The first steps find out which extension it is whose errors are counted.
        reported := reported or after.count > before.count or step > 100;
        insert into fault select 'monitor', 'error', step, problem from (
            select 'has not failed' where outcome_of_order() !~ '^failed'
            union all select 'comes to ' || outcome() where outcome() <> expected
            union all select format('stat_monitor: %s errors after %s, the last is %s', after.count, before.count, after.last)
                       where reported and (after.count <> before.count + 1 or after.last not like format('injected error at step %s: %%()', step))
            union all select 'check: ' || c from scylla.check() c
            union all select 'tasks cannot be leased: ' || o from overlooked() o where o <> '') t (problem);
        commit;
        tried := tried + 1;
        step := step + stride;
        exit when (select count(*) from fault) > 3;
    end loop;
    insert into reached values ('monitor', 'error', tried);
    commit;
end $$;
SQL

# Those whom a monitor may have to wake.
my %call = (queue => q(call scylla.wait('empty', '1 day')), 'queue to be' => q(call scylla.wait('none', '1 day')), plan => q(call scylla.wait_plan('awaited', '1 day')));
my %waiter;
for my $what (sort keys %call)
{
	$waiter{$what} = $node->background_psql('postgres', timeout => 1800);
	$waiter{$what}->query_until(qr/begun/, "\\echo begun\n$call{$what};\n\\echo woken\n");
	eventually($node, 'select count(*) from pg_stat_activity where wait_event is not null and query like ' . literal("$call{$what}%"), 1, "somebody waits for a $what");
}

my $expected = <<'OUTCOME';
asks | cancelled | 0 | 0 | []
cascade | aborted | 0 | 0 | []
check | cancelled | 0 | 0 | []
dependant | ready | 0 | 0 | []
due | ready | 0 | 0 | []
expired | ready | 1 | 1 | ["TaskAssignment", "TaskTimeout"]
expired for ever | aborted | 1 | 1 | ["TaskAssignment", "TaskTimeout"]
in line | waiting | 0 | 0 | []
member | completed | 1 | 0 | ["TaskAssignment"]
placed | ready | 0 | 0 | []
provider | completed | 1 | 0 | ["TaskAssignment"]
ready | ready | 0 | 0 | []
runs | running | 1 | 0 | ["TaskAssignment"]
timed out | aborted | 0 | 0 | []
waits | waiting | 0 | 0 | []
placed holds {"a": 1}
awaited | f | f | f
plan | t | t | f
dependant | waiting
dependant | ready
expired for ever | ready
expired for ever | running
expired for ever | aborted
OUTCOME
chomp $expected;
sql($node, "call run_monitor('1000000', " . literal($expected) . ')');
is(sql($node, 'select outcome()'), $expected, 'without an error a monitor does all that there is to do');
like(sql($node, 'select outcome_of_order()'), qr/^passed/, '... before it first goes to sleep');

my $status = $node->psql('postgres', "call fail_each_step($stride, " . literal($expected) . ')', stderr => \my $stderr);
is($status, 0, 'a monitor fails at its steps, and the server goes on') or diag $stderr;
my $steps = judge('monitor', 'error');
cmp_ok($steps, '>', $stride == 1 ? 400 : 10, '... which are many');
my %logged = map { $_ => 1 } slurp_file($node->logfile) =~ /(?:ERROR:  |WARNING:  scylla monitor: .*: )injected error at step (\d+): /g;
is(scalar keys %logged, $steps, '... and the log names each of them');

# ---- what fails always --------------------------------------------------------------------------------------------------------------

sql($node, q(
	create function fail(bigint) returns bigint language plpgsql immutable as $$ begin raise exception 'no entry for task %', $1; end $$;
	begin;
	select give_work();
	create index trouble on scylla.task_ready (fail(id)) where failures > 0;
	commit;));
my $without = $expected;
$without =~ s/^cascade \| aborted/cascade | waiting/m;
$without =~ s/^expired$_ \| (ready|aborted) \| 1 \| 1.*/expired$_ | running | 1 | 0 | ["TaskAssignment"]/m for '', ' for ever';
$without =~ s/\nexpired for ever \| aborted$//;
eventually($node, q(select outcome()), $without, 'leases that cannot be ended do not stand in the way of all else');
sql($node, 'drop index scylla.trouble');
eventually($node, q(select outcome()), $expected, '... and are ended when they can be');

# ---- those who wait ------------------------------------------------------------------------------------------------------------------

sql($node, q(select scylla.submit('empty', '{}'), scylla.submit('none', '{}'), scylla.open_plan('awaited')));
for my $what (sort keys %waiter)
{
	like($waiter{$what}->query_until(qr/woken/, ''), qr/^t$/m, "who waits for a $what has waited on");
	$waiter{$what}->quit;
}
checked($node, 'check() finds nothing');
$node->stop;
done_testing();
