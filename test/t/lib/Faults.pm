# Errors at the steps of calls, for the tests of that name: what they call, on what, and what must hold after each failure.
# test/faults/faults.cpp says what a step is.
package Faults;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

our @EXPORT = qw(faulty_node literal judge steps_of @verbs);

my $node;

# A node on which calls can be made to fail.
sub faulty_node
{
	my ($settings) = @_;
	my $library = $ENV{SCYLLA_FAULTS} or die 'SCYLLA_FAULTS is not set: ./test/run makes the library';
	$node = new_node('main', settings => "scylla.schedules = manual\nautovacuum = off\nfsync = off\n" . ($settings // ''));
	sql($node, <<"SQL");
create extension scylla;
create function install_faults() returns int language c as '$library';
create function arm_fault(step bigint, cancel boolean) returns void language c strict as '$library';
create function disarm_fault() returns bigint language c as '$library';
SQL
	sql($node, tools());
	is(sql($node, 'select install_faults() > 100'), 't', 'calls to the server go by way of the hooks');
	return $node;
}

# What is called. run_schedules is not: it goes on to the next schedule after an error (test/t/schedules.pl).
our @verbs = (
	q(select count(*) from scylla.stat_heads), # first: later there are more of them
	q(select scylla.submit('q', '{"a": 1}', dedup_key => 'new', plan => 'plan', depends_on => '{done,first}', retry => '{"max": "1 h"}')),
	q(select scylla.submit('watched', '{"a": 1}', not_before => now() + interval '1 h')),
	q(select scylla.submit('new queue', '{"a": 1}')),
	q(select scylla.submit('q', '{"a": 1}', rn => 'done', on_duplicate => 'ignore')),
	q(select count(*) from scylla.submit_many('[{"queue": "q", "spec": 1, "rn": "a", "depends_on": ["b"]},
		{"queue": "watched", "spec": 2, "rn": "b", "dedup_key": "k"}, {"queue": "new", "spec": 3, "rn": "done"}]')),
	q(select scylla.submit_bulk('limited', array['1', '2']::jsonb[])),
	q(select scylla.submit('bounded', '{}', key => 'k')),
	q(select scylla.submit('shed', '{}')),
	q(select count(*) from scylla.lease('bounded', 'v', 2)),
	q(select count(*) from scylla.lease('q', 'v')),
	q(select count(*) from scylla.lease('limited', 'v', 3)),
	q(select count(*) from scylla.lease('watched', 'v', 100)),
	q(select count(*) from scylla.lease('aged', 'v', 2)),
	q(select scylla.lease_task('limited ready 2', 'v')),
	q(select scylla.heartbeat('q running 1', 'w', 0.5)),
	q(select count(*) from scylla.heartbeat_many('{q running 1,limited running 1,done,unknown}', 'w')),
	q(select scylla.complete('q running 1', 'w', '{"r": 1}')),
	q(select scylla.complete('last', 'w')),
	q(select count(*) from scylla.complete_many('{limited running 1,watched running 1,done}', 'w')),
	q(select count(*) from scylla.complete_and_lease('{limited running 1,watched running 1}', 'w', 'limited', 2)),
	q(select scylla.abort('q running 2', 'w', '{"code": "x"}')),
	q(select scylla.fail('watched running 1', 'w', '{"code": "x"}')),
	q(select scylla.fail('q running 3', 'w', '{"code": "x"}')),
	q(select scylla.yield('limited running 1', 'w')),
	q(select scylla.cancel('q ready 1')),
	q(select scylla.cancel('first')),
	q(select scylla.cancel('q running 2')),
	q(select scylla.get_task('after')),
	q(select count(*) from scylla.list_tasks(max_tasks => 4)),
	q(select scylla.count_tasks('q')),
	q(select max(history::text) from scylla.task),
	q(select count(*) from scylla.stat_queue),
	q(select scylla.create_queue('new', default_timeout => '1 h', retry => '{"factor": 3}')),
	q(select scylla.alter_queue('q', '{"retention": "1 h", "max_running": 100}')),
	q(select scylla.pause_queue('q'), scylla.resume_queue('q')),
	q(select scylla.drop_queue('aged', force => true)),
	q(select scylla.grant_queue('q', 'public', 'view'), scylla.revoke_queue('q', 'public', 'view'), scylla.set_queue_owner('q', 'pg_monitor')),
	q(select scylla.register_worker()),
	q(select scylla.reset_expired()),
	q(select scylla.purge()),
	q(select scylla.maintain()),
	q(select scylla.create_plan('new')),
	q(select scylla.open_plan('plan')),
	q(select scylla.cancel_plan('open')),
	q(select scylla.schedule('new', '@daily', 'q', '{}')),
	q(select scylla.unschedule('s')),
	q(select count(*) from scylla.read_events()),
	q(select scylla.stat_reset()),
	# What waits for something else, and pools.
	q(select scylla.create_callback('new', '1 h')),
	q(select scylla.resolve_callback('token', '{"v": 1}')),
	q(select scylla.reject_callback('token', '{"code": "no"}')),
	q(select scylla.send_signal('s', '{"n": 1, "m": 2}', '"payload"', 'request')),
	q(select scylla.send_signal('new signal')),
	q(select scylla.submit('q', '{}', wait_for => '[{"signal": "s", "match": {"n": 9}}, {"callback": "token", "timeout": "1 h", "on_timeout": "skip"}]')),
	q(select scylla.submit('q', '{}', wait_for => '[{"signal": "s", "match": {"n": 1, "m": {">": 1}}}]')),
	q(select scylla.submit('q', '{}', wait_for => '[{"signal": "sent"}]')),
	q(select scylla.submit('q', '{}', wait_for => '[{"check": {"queue": "ask", "spec": 1, "every": "1 s"}}]')),
	q(select scylla.submit('q', '{}', wait_for => '[{"check": {"queue": "ask", "spec": 2}}]')),
	q(select scylla.not_yet('q running 1', 'w', '1 h')),
	q(select scylla.not_yet(rn, 'w') from scylla.task where queue = 'ask'),
	q(select scylla.complete(rn, 'w', '"answer"') from scylla.task where queue = 'ask'),
	q(select scylla.defer('q running 2', 'w', '[{"signal": "s", "match": {"n": 9}}, {"callback": "token"}]', '{"state": 1}')),
	q(select scylla.cancel('for a check')),
	q(select scylla.cancel('for a signal')),
	q(select scylla.create_trigger('new', '[{"signal": "s", "join": ["n"]}, {"signal": "sent", "join": ["n"]}]', '{"submit": {"queue": "q", "spec": 1}}')),
	q(select scylla.drop_trigger('pair')),
	q(select scylla.pause_trigger('pair'), scylla.resume_trigger('pair')),
	q(select scylla.create_pool('new', '{"a": 1}')),
	q(select scylla.submit('q', '{}', needs => '{"pool": {"a": 1}}')),
	q(select scylla.submit('q', '{}', needs => '{"any": ["pool", "other"], "a": 1}')),
	q(select count(*) from scylla.place()),
	q(select scylla.complete('placed', 'w')),
	q(select scylla.fail('placed', 'w', '{"code": "x"}', '0')),
	q(select scylla.yield('placed', 'w')),
	q(select scylla.cancel('in line')),
	q(select scylla.alter_pool('pool', '{"capacity": {"a": 5}}')),
	q(select scylla.report_usage('pool', '{"a": 1}')),
	q(select scylla.drain_pool('pool'), scylla.resume_pool('pool')),
	q(select scylla.drop_pool('other')),
	q(select count(*) from scylla.explain_waiting('for a signal')),
	q(select count(*) from scylla.explain_waiting('in line')),
);
sub literal { "'" . ($_[0] =~ s/'/''/gr) . "'" }

# Which steps of a call are to fail: the first of them, and the distance to the next. All of them take ten minutes and more: SCYLLA_TEST_STRIDE=1.
# Otherwise it is every sixteenth, from one on that the call decides, so that calls which have steps in common share them.
sub steps_of
{
	my ($verb) = @_;
	my $stride = $ENV{SCYLLA_TEST_STRIDE} || 24;
	return (1 + unpack('%32C*', $verb) % ($stride < 4 ? $stride : 4), $stride); # some have but four
}

# The test of what a script has found.
sub judge
{
	my ($verb, $how) = @_;
	my $steps = sql($node, 'select steps from reached where verb = ' . literal($verb) . " and how = '$how'");
	is(sql($node, 'select step, problem from fault limit 10'), '', "$verb: $how at its steps");
	cmp_ok($steps || 0, '>', 0, "... of which $steps were tried");
	checked($node, '... and check() finds nothing');
	sql($node, 'truncate fault; vacuum');
	return $steps || 0;
}

sub tools
{
	return <<'SQL';
-- Tasks in every state, in queues of every kind. The names say what they are for.
create function fixture() returns void language plpgsql as $$
begin
    truncate scylla.queue, scylla.task_spec, scylla.task_ready, scylla.task_lease, scylla.task_waiting, scylla.task_outcome,
        scylla.task_gate, scylla.task_plan, scylla.task_dedup, scylla.event, scylla.schedule,
        scylla.task_condition_end, scylla.task_callback, scylla.signal_name, scylla.signal_sent, scylla.signal_condition, scylla.signal_shape,
        scylla.task_check, scylla.task_memo, scylla.signal_trigger, scylla.signal_trigger_input, scylla.signal_unseen, scylla.signal_arrival,
        scylla.resource_pool, scylla.pool_change, scylla.pool_report, scylla.pool_line, scylla.task_reservation, scylla.pool_head;
    perform scylla.create_queue('q', retry => '{"initial": "1 min"}'), scylla.create_queue('limited', max_running => 4),
        scylla.create_queue('watched', events => true, notify => true), scylla.create_queue('empty'),
        scylla.create_queue('aged', aging => 0.1);
    -- Room for one more: whatever a failure would keep of it shows at the next try.
    perform scylla.create_queue('bounded', max_depth => 3, max_running_per_key => 1), scylla.create_queue('shed', max_depth => 1, on_full => 'shed');
    perform scylla.submit('bounded', '{}', key => 'k'), scylla.submit('bounded', '{}', key => 'k'), scylla.submit('shed', '{}');
    perform scylla.submit(queue, '{"n": 1}', priority => n % 3, rn => queue || ' ready ' || n)
       from unnest('{q,limited,watched,aged}'::text[]) queue, generate_series(1, 4) n;
    perform scylla.submit('q', '{}', rn => 'waiting', not_before => now() + interval '1 day');
    perform scylla.submit('q', '{}', rn => 'due', not_before => now() + interval '1 day');
    update scylla.task_waiting w set due = now() - interval '1 s' from scylla.task_spec s where s.id = w.id and s.rn = 'due';
    perform scylla.submit(queue, '{}', rn => queue || ' running ' || n, max_attempts => 2)
       from unnest('{q,limited,watched}'::text[]) queue, generate_series(1, 3) n;
    perform scylla.lease_task(queue || ' running ' || n, 'w') from unnest('{q,limited,watched}'::text[]) queue, generate_series(1, 3) n;
    perform scylla.fail('q running 3', 'w', '{"code": "x"}', '0');
    perform scylla.lease_task('q running 3', 'w');
    perform scylla.submit('q', '{}', rn => 'expired'), scylla.submit('watched', '{}', rn => 'expired twice', max_attempts => 1);
    perform scylla.lease_task('expired', 'w'), scylla.lease_task('expired twice', 'w');
    update scylla.task_lease l set deadline = now() - interval '1 s' from scylla.task_spec s where s.id = l.id and s.rn like 'expired%';
    perform scylla.submit('q', '{}', rn => 'done', dedup_key => 'done'), scylla.submit('q', '{}', rn => 'old');
    perform scylla.lease_task('done', 'w'), scylla.lease_task('old', 'w');
    perform scylla.complete('done', 'w', '{"r": 1}', '{"m": 1}'), scylla.complete('old', 'w');
    update scylla.task_outcome o set finished = now() - interval '30 days' from scylla.task_spec s where s.id = o.id and s.rn = 'old';
    update scylla.task_spec set created = now() - interval '31 days' where rn = 'old';
    perform scylla.submit('q', '{}', rn => 'keyed', dedup_key => 'k');
    -- What waits for tasks that run: to start, and to be ended.
    perform scylla.submit('q', '{}', rn => 'after', depends_on => '{done,q running 1}');
    perform scylla.submit('watched', '{}', rn => 'cascade', depends_on => '{q running 2}');
    perform scylla.submit('q', '{}', rn => 'cascade 2', depends_on => '{cascade}');
    perform scylla.create_plan('plan');
    perform scylla.submit('q', '{}', rn => 'first', plan => 'plan'), scylla.submit('q', '{}', rn => 'second', plan => 'plan', depends_on => '{first}');
    perform scylla.create_plan('open'), scylla.submit('q', '{}', rn => 'last', plan => 'open'), scylla.open_plan('open');
    perform scylla.lease_task('last', 'w');
    perform scylla.schedule('s', '* * * * *', 'q', '{}'), scylla.schedule_plan('p', '* * * * *', '[{"queue": "q", "spec": 1, "rn": "a"}]');
    update scylla.schedule set handled = date_trunc('minute', now()) - interval '1 min', next_run = date_trunc('minute', now());
    -- What waits for something else, and pools: with room for one more, and one in line.
    perform scylla.create_callback('token'), scylla.send_signal('sent', '{"n": 1}'), scylla.create_queue('ask');
    perform scylla.submit('q', '{}', rn => 'for a callback', wait_for => '[{"callback": "token"}]');
    perform scylla.submit('q', '{}', rn => 'for a signal', wait_for => '[{"signal": "s", "match": {"n": 1}}]');
    perform scylla.submit('q', '{}', rn => 'for both', wait_for => '[{"signal": "s", "match": {"m": {">=": 2}}}, {"callback": "token"}]');
    perform scylla.submit('q', '{}', rn => 'for a check', wait_for => '[{"check": {"queue": "ask", "spec": 1}}]');
    perform scylla.lease('ask', 'w');
    perform scylla.submit('q', '{}', rn => 'timed out', wait_for => '[{"signal": "s", "match": {"n": 5}, "timeout": "1 h"}]');
    update scylla.task_gate set deadline = now() - interval '1 s' where deadline is not null;
    update scylla.task_waiting w set due = now() - interval '1 s' from scylla.task_spec s where s.id = w.id and s.rn = 'timed out';
    perform scylla.create_trigger('pair', '[{"signal": "s", "join": ["n"]}, {"signal": "sent", "join": ["n"]}]', '{"submit": {"queue": "q", "spec": 1}}');
    -- Half a set only: an error of an action would be kept, and the call go on.
    perform scylla.send_signal('s', '{"n": 8}'), scylla.send_signal('s', '{"n": 7}');
    perform scylla.create_pool('pool', '{"a": 3}'), scylla.create_pool('other', '{"a": 3}');
    perform scylla.submit('placed', '{}', rn => 'placed', needs => '{"pool": {"a": 2}}');
    perform scylla.place();
    perform scylla.lease_task('placed', 'w');
    perform scylla.submit('placed', '{}', rn => 'in line', needs => '{"pool": {"a": 2}}');
    perform scylla.submit('placed', '{}', rn => 'fits', needs => '{"pool": {"a": 1}}', expected_runtime => '1 min');
    perform from scylla.stat_queue;
end $$;

-- Every row of every table.
create function everything() returns text language plpgsql as $$
begin
    return (select md5(string_agg(t, ',' order by t)) from (
        select 'q' || x from scylla.queue x union all select 's' || x from scylla.task_spec x
        union all select 'r' || x from scylla.task_ready x union all select 'l' || x from scylla.task_lease x
        union all select 'w' || x from scylla.task_waiting x union all select 'o' || x from scylla.task_outcome x
        union all select 'g' || x from scylla.task_gate x union all select 'p' || x from scylla.task_plan x
        union all select 'd' || x from scylla.task_dedup x union all select 'e' || x from scylla.event x
        union all select 't' || x from scylla.schedule x
        union all select 'ce' || x from scylla.task_condition_end x union all select 'cb' || x from scylla.task_callback x
        union all select 'sn' || x from scylla.signal_name x union all select 'ss' || x from scylla.signal_sent x
        union all select 'sc' || x from scylla.signal_condition x union all select 'sh' || x from scylla.signal_shape x
        union all select 'ck' || x from scylla.task_check x union all select 'm' || x from scylla.task_memo x
        union all select 'tr' || x from scylla.signal_trigger x union all select 'ti' || x from scylla.signal_trigger_input x
        union all select 'su' || x from scylla.signal_unseen x union all select 'sa' || x from scylla.signal_arrival x
        union all select 'rp' || x from scylla.resource_pool x union all select 'pr' || x from scylla.pool_report x
        union all select 'pl' || x from scylla.pool_line x union all select 're' || x from scylla.task_reservation x
        union all select 'ph' || x from scylla.pool_head x) t (t));
end $$;

-- How many tasks can be leased, by way of the heads: all that are ready must be found.
create function overlooked() returns text language plpgsql as $$
declare
    problem text;
begin
    with q as (select q.id, q.name, q.max_running, count(r.id) as ready
                 from scylla.queue q left join scylla.task_ready r on r.queue = q.id where not q.paused group by q.id)
    select string_agg(format('%s: %s of %s', q.name, l.leased, q.ready), ', ') into problem
      from q, lateral (select count(*) as leased from scylla.lease(q.name, 'probe', 1000)) l
     where q.name <> 'bounded' and l.leased < least(q.ready, q.max_running - (select count(*) from scylla.task_lease l where l.queue = q.id and l.owner <> 'probe'));
    raise sqlstate 'UNDO0' using message = coalesce(problem, '');
exception when sqlstate 'UNDO0' then
    return sqlerrm;
end $$;

create table fault (verb text, how text, step bigint, problem text);
create table reached (verb text, how text, steps bigint);

-- What a step has left that it should not have.
create procedure look_around(verb text, how text, step bigint, before text) language sql as $$
    insert into fault select verb, how, step, problem from (
        select 'has left something behind' where everything() <> before
        union all select 'tasks cannot be leased: ' || o from overlooked() o where o <> '') t (problem);
$$;
SQL
}

1;
