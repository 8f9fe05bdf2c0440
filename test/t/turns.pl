# Roles take turns with the monitor: the many tasks of one, which came first, do not hold up the few of another. Each is made without
# a monitor, so that it finds all at once.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $node = new_node('main', settings => "scylla.monitor = on\nscylla.monitor_interval = '1 h'");
sql($node, 'create extension scylla');
wait_for_monitor($node, 'postgres', 'there is a monitor');
my $many = 20_000;
foreach my $role ('many', 'few')
{
	sql($node, qq(
		create role $role;
		grant usage on schema scylla to $role;
		grant execute on all functions in schema scylla to $role;
		set role $role;
		select scylla.create_queue('$role');));
}

sub monitor
{
	my ($on) = @_;
	$node->append_conf('postgresql.conf', "scylla.monitor = $on");
	$node->reload;
	eventually($node, q(select count(*) from pg_stat_activity where backend_type = 'scylla monitor'), $on eq 'on' ? '1' : '0', "monitor $on");
}

# How many tasks of the many were changed after that of the few.
sub later { return sql($node, q(select count(*) from scylla.task where queue = 'many' and updated > (select max(updated) from scylla.task where queue = 'few'))); }

sub all_are
{
	my ($status) = @_;
	eventually($node, qq(select count(*) = $many + 1 from scylla.task where queue in ('many', 'few') and status = '$status'), 't', "... all are $status");
}

sub submit
{
	my ($role, $count, $options) = @_;
	sql($node, qq(set role $role; select count(*) from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', '$role', 'spec', 1) || $options)
		from generate_series(1, $count) n))));
}

# ---- tasks that are due -------------------------------------------------------------------------------------------------

monitor('off');
submit($_, $_ eq 'many' ? $many : 1, q(jsonb_build_object('not_before', clock_timestamp() + interval '1 h'))) foreach 'many', 'few';
sql($node, q(update scylla.task_waiting w set due = now() - case name when 'many' then interval '2 s' else '1 s' end from scylla.queue q where q.id = w.queue));
monitor('on');
all_are('ready');
cmp_ok(later(), '>', $many / 2, '... and those of the many do not hold up that of the few');

# ---- leases that expire -------------------------------------------------------------------------------------------------

monitor('off');
is(sql($node, q(select count(*) from generate_series(1, 2) n, lateral (select from scylla.lease('many', 'w' || n, 10000, '1 s')) l)), $many, 'all are leased');
sql($node, q(select from scylla.lease('few', 'w', 1, '1 s')));
eventually($node, q(select max(deadline) < clock_timestamp() from scylla.task where status = 'running'), 't', '... and the leases expire');
monitor('on');
all_are('ready');
cmp_ok(later(), '>', $many / 2, '... and those of the many do not hold up that of the few');
checked($node, 'check() finds nothing');

# ---- places in pools ----------------------------------------------------------------------------------------------------

sql($node, q(select scylla.drop_queue(q, true) from unnest(array['many', 'few']) q));
foreach my $role ('many', 'few')
{
	sql($node, qq(set role $role; select scylla.create_queue('$role'); select scylla.create_pool('$role', '{"slots": $many}'), scylla.drain_pool('$role')));
}
submit('many', $many, q('{"priority": 9, "needs": {"many": {"slots": 1}}}'));
submit('few', 1, q('{"needs": {"few": {"slots": 1}}}'));
sql($node, q(select scylla.resume_pool(p) from unnest(array['many', 'few']) p));
all_are('ready');
cmp_ok(later(), '>', $many / 2, 'a pool with many tasks does not hold up the task of another');
checked($node, 'check() finds nothing');

# ---- classes of tasks in pools ------------------------------------------------------------------------------------------

# Each task of the many is a class of its own, so a turn of the monitor cannot read its line to the end.
sql($node, q(select scylla.drop_queue(q, true) from unnest(array['many', 'few']) q));
eventually($node, q(select count(*) from scylla.queue_dropped), '0', 'the queues are gone');
sql($node, qq(set role $_; select scylla.create_queue('$_'); select scylla.drain_pool('$_'))) foreach 'many', 'few';
sql($node, qq(set role many; select count(*) from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'many', 'spec', 1, 'priority', n % 10,
	'expected_runtime', n || ' s', 'needs', '{"many": {"slots": 1}}'::jsonb)) from generate_series(1, $many) n))));
submit('few', 1, q('{"needs": {"few": {"slots": 1}}}'));
monitor('off');
sql($node, q(select scylla.resume_pool(p) from unnest(array['many', 'few']) p));
monitor('on');
all_are('ready');
is(later(), $many, 'a pool with many classes of tasks does not hold up the task of another');
is(sql($node, q(select count(*) from (select t.priority, min(t.priority) over (order by r.since rows unbounded preceding) as lowest
	from scylla.pool_reservation r join scylla.task t using (rn) where r.pool = 'many') p where p.priority > p.lowest)), '0', '... and the order of its line is kept');

# What the walk through the line has read is not what holds when it places.
sql($node, q(select scylla.drop_queue('many', true)));
eventually($node, q(select count(*) from scylla.queue_dropped), '0', 'the queue is gone');
checked($node, 'check() finds nothing at the end');

$node->stop;
done_testing();
