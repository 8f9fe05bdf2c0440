# A run of jobs that a crash, or a dump and its restore, finds half way: it goes on where it was, and what it completes is fresh. With more
# queues than shared memory has places for.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $node = new_node('main', settings => "scylla.monitor = on\nscylla.max_queues = 16\nscylla.max_monitors = 4");
my $dump = PostgreSQL::Test::Utils::tempdir . '/dump';
my $steps = 20;

sql($node, 'create database source');
sql($node, 'create extension scylla', 'source');
wait_for_monitor($node, 'source');
# A chain: each job has a queue of its own, and needs the one before.
sql($node, qq(
	do \$\$ begin
		for i in 1 .. $steps loop
			perform scylla.create_queue('q' || i);
			perform scylla.define_job('j' || i, 'q' || i, jsonb_build_object('chunk_size', 2 + i % 3),
				case when i = 1 then '[]' else jsonb_build_array(jsonb_build_object('job', 'j' || i - 1, 'max_lag', '1 hour')) end);
		end loop;
	end \$\$;
	create function work(steps int) returns bigint language plpgsql as \$\$
	declare done bigint := 0; part bigint;
	begin
		loop
			select count(scylla.complete(rn, 'w')) into part
			from generate_series(1, steps) i, lateral scylla.lease('q' || i, 'w', 100, timeout => '10 h');
			done := done + part;
			exit when part = 0;
		end loop;
		return done;
	end \$\$;), 'source');
my $tasks = sql($node, "select count(*) from scylla.explain_job('j$steps', '{[1,7)}')", 'source');
sql($node, "select scylla.run_job('j$steps', '{[1,7)}', '{\"x\": 1}')", 'source');
# Three steps are done, and one task of the fourth is running.
my $done = sql($node, 'select work(3)', 'source');
is(sql($node, q(select count(*) from scylla.lease('q4', 'w', timeout => '10 h')), 'source'), '1', 'a task is running');
sql($node, q~select scylla.mark_fresh('j1', '{[100,200)}', '2026-01-01', 'v'), scylla.grant_job('j1', 'pg_monitor', 'run')~, 'source');

my $plans = q(select job, ids, args, status, tasks from scylla.job_plan);
my $fresh = q(select job, variant, ids, began from scylla.job_freshness order by job, variant, ids);
my $types = q(select name, owner, queue, settings, needs, created, runners from scylla.job_type order by name);
my $states = q(select rn, status from scylla.task order by rn);
my @before = map { sql($node, $_, 'source') } $plans, $fresh, $types, $states;

# The run goes on, and ends.
sub finish_run
{
	my ($database, $how) = @_;
	is(sql($node, $plans, $database), $before[0], "$how: the run is the same");
	is(sql($node, $fresh, $database), $before[1], "$how: what is fresh is the same");
	is(sql($node, $types, $database), $before[2], "$how: the job types are the same");
	is(sql($node, $states, $database), $before[3], "$how: its tasks are the same");
	checked($node, "$how: check() finds nothing", $database);
	is(sql($node, "select count(scylla.complete(rn, 'w')) from scylla.task where status = 'running'", $database), '1', "$how: what was running is completed");
	is(sql($node, "select work($steps)", $database), $tasks - $done - 1, "$how: and all that waited for it");
	is(sql($node, 'select status from scylla.job_plan', $database), 'completed', "$how: the run is completed");
	is(sql($node, q~select count(*) from (select job from scylla.job_freshness where variant = '' group by job having range_agg(ids) = '{[1,7)}') f~, $database),
		$steps, "$how: all of it is fresh");
	is(sql($node, "select count(*) from scylla.explain_job('j$steps', '{[1,7)}') where runs and job <> 'j$steps'", $database), '0', "$how: and does not run again");
	checked($node, "$how: check() finds nothing at the end", $database);
}

$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, $node->connstr('source') ], 'pg_dump writes an archive in the middle of a run');
for my $jobs (1, 2)
{
	sql($node, "create database restored_$jobs");
	$node->command_ok([ 'pg_restore', '-j', $jobs, '--exit-on-error', '-d', $node->connstr("restored_$jobs"), $dump ], "pg_restore with $jobs jobs");
	finish_run("restored_$jobs", "restored by $jobs");
	sql($node, "drop database restored_$jobs with (force)");
}
$node->stop('immediate');
$node->start;
wait_for_monitor($node, 'source');
finish_run('source', 'after a crash');
$node->stop;
done_testing;
