# Dump and restore: tasks in every state, queues and sequences travel with pg_dump, whatever way the dump is made and
# restored, and whoever is at work in the new database while its tables arrive one by one.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $node = new_node('main', settings => "scylla.max_monitors = 12\nmax_worker_processes = 20");
my $dump = PostgreSQL::Test::Utils::tempdir . '/dump';

sql($node, 'create database source');
fill($node, 'source');
# Keys, and what runs of them.
sql($node, q(
	select scylla.create_queue('by key', max_running_per_key => 1, key_weights => '{"l": 2}');
	select scylla.submit('by key', '1', rn => rn, key => nullif(left(rn, 1), '-')) from unnest(array['k1', 'k2', 'l1', 'l2', '-1']) rn;
	select scylla.lease_task('k1', 'w', '10 h');), 'source');
sql($node, q(
	create role app;
	grant usage on schema scylla to app;
	grant execute on function scylla.lease to app;
	grant select on scylla.task to app;
	create table results (rn text primary key, task scylla.task);
	insert into results select rn, task from scylla.task;
	create view waiting as select rn, not_before from scylla.task where status = 'waiting';), 'source');

# Rights travel by the names of the roles; one of them will not be there where the dump is restored last.
sql($node, q(
	create role vanished;
	select scylla.set_queue_owner('settings', 'vanished');
	select scylla.grant_queue('settings', 'app', 'work'), scylla.grant_queue('settings', 'vanished', 'view'),
		scylla.grant_queue('settings', 'public', 'submit');), 'source');

# Workflows: versions, properties and their history, grants, and an id whose instances go on.
sql($node, q~
	create function document(id text, tag text) returns jsonb language sql return jsonb_build_object('properties', jsonb_build_object('owner', 'ann', 'tags', jsonb_build_array(tag)),
		'workflow', jsonb_build_object('id', id, 'steps', '[{"step": {"id": "s", "type": "NoOp"}}]'::jsonb));
	select scylla.create_workflow(document('w', 'a')), scylla.create_workflow(document('w', 'b'), false), scylla.create_workflow(document('dropped', 'a'));
	select scylla.grant_workflow('w', 'app', 'run'), scylla.alter_workflow('w', '{"run_strategy": 4}');
	update scylla.workflow_head set latest_instance = 9;
	select scylla.drop_workflow('dropped');
	select scylla.create_job_template('{"definition": {"job_type": "base", "type": "NoOp", "params": {"a": {"type": "LONG", "value": 1}}}, "status": "stable"}');
	select scylla.create_job_template('{"job_type": "heir", "version": "2", "type": "NoOp", "inherit_from": {"base": "default"}}');
	drop function document;~, 'source');
sub workflows
{
	my ($database) = @_;
	return join "\n", map { sql($node, "select * from scylla.$_ order by 1", $database) }
	  qw(workflow_head workflow_text workflow_properties workflow_dropped job_template_text job_template workflow workflow_version workflow_properties_history);
}
my $workflows = workflows('source');
isnt($workflows, '', 'there are workflows');

my $tasks = tasks($node, 'source');
my $tables = tables($node, 'source');
my $sequences = sequences($node, 'source');

# From here on the monitor is at work: a restore has to live with it.
sql($node, 'alter system set scylla.monitor = on');
sql($node, q(alter system set scylla.monitor_interval = '10 ms'));
$node->reload;

# The restored database is the source again, and goes on where it was.
sub compare
{
	my ($database, $how) = @_;
	is(tasks($node, $database), $tasks, "$how: every task is the same");
	is(tables($node, $database), $tables, "$how: every row of the tables is the same");
	is(workflows($database), $workflows, "$how: so are workflows");
	is(sequences($node, $database), $sequences, "$how: the sequences are the same");
	checked($node, "$how: check() finds nothing", $database);

	is(sql($node, 'select scylla.register_worker()', $database), 'registered-2', "$how: worker names do not repeat");
	my $newest = sql($node, 'select max(id) from scylla.task_spec', $database);
	is(sql($node, q(select rn from scylla.submit('new queue', '1', rn => 'new')), $database), 'new', "$how: submit works");
	cmp_ok(sql($node, q(select id from scylla.task_spec where rn = 'new'), $database), '>', $newest, "$how: ids do not repeat");
	is(sql($node, q(select rn, attempt from scylla.lease('q', 'w')), $database), 'ready|1', "$how: lease works");
	is(sql($node, q(select rn, progress from scylla.heartbeat('running', 'w2')), $database), 'running|0.25',
		"$how: a lease is still held by its owner");
	is(sql($node, q(select string_agg(rn, ' ' order by rn) from scylla.lease('by key', 'w', 9, '1 h')), $database), '-1 l1',
		"$how: limits per key count what runs");
	checked($node, "$how: check() finds nothing afterwards", $database);
}

sub run_ok
{
	my ($how, @command) = @_;
	$node->command_ok([@command], $how);
}

# 1. A whole database, as a script.
sql($node, 'create database script');
run_ok('pg_dump writes a script', 'pg_dump', '-f', "$dump.sql", 'source');
run_ok('psql restores it', 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', 'script', '-f', "$dump.sql");
is(sql($node, q(select has_function_privilege('app', 'scylla.lease(text, text, integer, interval)', 'execute'),
	has_function_privilege('app', 'scylla.complete(text, text, jsonb, jsonb, integer)', 'execute'),
	has_schema_privilege('app', 'scylla', 'usage'), has_table_privilege('app', 'scylla.task', 'select')), 'script'),
	't|f|t|t', 'script: grants are the same');
my $rights = 'settings|vanished|owner settings|public|submit settings|vanished|view settings|app|work';
sub rights
{
	my ($database) = @_;
	return join ' ', split /\n/, sql($node, q(select * from scylla.queue_grants where queue = 'settings' order by privilege, role), $database);
}
is(rights('source'), $rights, 'a queue has rights');
is(rights('script'), $rights, 'script: the rights on queues are the same');
is(sql($node, q(select count(*) from results r join scylla.task t on (r.task).rn = t.rn and (r.task).spec = t.spec), 'script'),
	sql($node, 'select count(*) from scylla.task', 'source'), 'script: a column of the row type is the same');
compare('script', 'script');

# 2. A whole database, custom format, restored by two processes: the tables arrive in any order.
sql($node, 'create database parallel');
run_ok('pg_dump writes an archive', 'pg_dump', '-Fc', '-f', "$dump.archive", 'source');
run_ok('pg_restore -j 2 restores it', 'pg_restore', '-j', '2', '--exit-on-error', '-d', 'parallel', "$dump.archive");
compare('parallel', 'parallel');

# 3. The extension is created first, in whatever version is there, and the data alone are brought in.
sql($node, 'create database data_only');
sql($node, 'create extension scylla', 'data_only');
run_ok('pg_dump writes the data', 'pg_dump', '--data-only', '-T', 'results', '-f', "$dump.data", 'source');
run_ok('psql restores them', 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', 'data_only', '-f', "$dump.data");
compare('data_only', 'data only');

# 4. By hand, and slowly: every table arrives before those that it would need, while a monitor, workers and clients are at
# work. What has no specification yet does not exist for them, and is not touched.
sql($node, 'create database slow');
sql($node, 'create extension scylla', 'slow');
wait_for_monitor($node, 'slow');

# (That the queue is not there yet is a notice.)
my $at_work = q(
	set client_min_messages = warning;
	select scylla.maintain();
	select 'reset ' || scylla.reset_expired();
	select 'purged ' || scylla.purge();
	select 'leased ' || rn from scylla.lease('q', 'intruder', 100);
	select 'listed ' || rn from scylla.list_tasks();
	select 'ready ' || rn from scylla.list_tasks(status => 'ready');
	select 'running ' || rn from scylla.list_tasks(status => 'running');
	select 'seen ' || rn from scylla.task;);
# The queue that was dropped while its tasks were still being removed comes first, as pg_dump writes it.
run_ok('queue_dropped arrives', 'bash', '-c',
	qq(psql -Xqc "copy (select id, name from scylla.queue_dropped union all values (77, 'dropped')) to stdout" source | psql -Xqc "copy scylla.queue_dropped (id, name) from stdin" slow));
sql($node, 'select scylla.maintain()', 'slow') for 1 .. 3;
is(sql($node, 'select name from scylla.queue_dropped', 'slow'), 'dropped', 'a dropped queue is kept until its tasks have come');
for my $table (qw(task_lease task_outcome task_waiting task_ready queue))
{
	run_ok("$table arrives", 'bash', '-c',
		qq(psql -Xqc "copy scylla.$table to stdout" source | psql -Xqc "copy scylla.$table from stdin" slow));
	# An old outcome, an expired lease, a task that is due: what the monitor would love to act on.
	sql($node, q(
		update scylla.task_lease set deadline = now() - interval '1 s';
		update scylla.task_waiting set due = now() - interval '1 s';
		update scylla.task_outcome set finished = now() - interval '1 year';), 'slow');
	my ($out, $err) = result_of($node, $at_work, 'slow');
	is($out, "\nreset 0\npurged 0", "$table is there, the specifications are not: nobody sees or changes a task");
	is($err, '', '... nor does anything fail');
	for my $call (q(get_task('running')), q(heartbeat('running', 'w2')), q(cancel('waiting')), q(lease_task('ready', 'w')))
	{
		is(sqlstate($node, "select scylla.$call", 'slow'), 'P0002', "... $call: no such task");
	}
}
# What the monitor has had the chance to spoil.
is(sql($node, 'select count(*) from scylla.task_lease', 'slow'), sql($node, 'select count(*) from scylla.task_lease', 'source'),
	'no lease has been ended');
is(sql($node, 'select count(*) from scylla.task_outcome', 'slow'), sql($node, 'select count(*) from scylla.task_outcome', 'source'),
	'no outcome has been purged');
is(sql($node, 'select count(*) from scylla.task_waiting', 'slow'), sql($node, 'select count(*) from scylla.task_waiting', 'source'),
	'no waiting task has been opened');

run_ok('the specifications arrive', 'bash', '-c',
	q(psql -Xqc "copy scylla.task_spec to stdout" source | psql -Xqc "copy scylla.task_spec from stdin" slow));
eventually($node, q(select string_agg(rn || ' ' || status, ', ' order by rn) from scylla.task where rn in ('running', 'waiting', 'completed')),
	'running ready, waiting ready', 'now the monitor acts: the lease has ended, the task is open, the old outcome is purged', 'slow');
is(sql($node, q(select history -> -1 ->> '_typ', attempt, failures from scylla.task where rn = 'running'), 'slow'), 'TaskTimeout|2|1',
	'the lease that had expired meanwhile was ended as a time-out');

# The leases of the intruder have seen an empty queue, and nothing has told them of what COPY brought.
eventually($node, q(select rn from scylla.lease('q', 'w', 1, '1 h')), 'ready', 'what is ready can be leased, in order', 'slow');
eventually($node, q(select rn from scylla.lease('settings', 'w', 1, '1 h')), 'waiting', '... in the other queue, too', 'slow');
like(sql($node, 'select problem from scylla.check() order by problem desc', 'slow'), qr/^task_id_seq has given out.*\nqueue_id_seq has given out/,
	'check() sees that the sequences have not come yet');
sql($node, q(select setval('scylla.task_id_seq', max(id)) from scylla.task_spec), 'slow');
sql($node, q(select setval('scylla.queue_id_seq', max(id)) from scylla.queue), 'slow');
checked($node, '... and finds nothing else', 'slow');
eventually($node, 'select count(*) from scylla.queue_dropped', '0', 'the dropped queue is forgotten when nothing is left of it', 'slow');
is(monitors($node), 'data_only parallel script slow source', 'each of these databases has its monitor');

# 5. Pools, and tasks that run, are placed, in line, or wait for something else first. The lines may arrive when the monitor has put tasks
# in line again.
sql($node, 'create database pools');
sql($node, q(
	create extension scylla;
	select scylla.create_queue('q', max_attempts => 1000), scylla.create_pool('pool', '{"a": 3.5}', 'strict', '{"max_bypass": 7}'), scylla.create_pool('other', '{"a": 1}');
	select scylla.report_usage('pool', '{"a": 0.5}', now() - interval '1 h');
	select scylla.submit('q', '1', rn => 'runs', needs => '{"pool": {"a": 1.5}}', expected_runtime => '1 h');
	select scylla.submit('q', '1', rn => 'placed', needs => '{"any": ["other", "pool"], "a": 1}');
	select scylla.place();), 'pools');
eventually($node, 'select count(*) from scylla.pool_reservation', '2', 'two tasks are placed', 'pools');
sql($node, q(
	select scylla.lease_task('runs', 'w', '10 h');
	select scylla.submit('q', '1', rn => 'in line', needs => '{"pool": {"a": 2}, "other": {"a": 0}}');
	select scylla.submit('q', '1', rn => 'depends', depends_on => '{in line}', needs => '{"pool": {"a": 1}}');), 'pools');
my $pools = q(select pool, policy, capacity, reserved, reported, free, placed, max_bypass, owner from scylla.pool order by pool);
my $held = q(select rn, queue, amounts, since, ends from scylla.pool_reservation order by rn);
my $states = q(select rn, status, pool from scylla.task order by rn);
run_ok('pg_dump writes an archive with pools', 'pg_dump', '-Fc', '-f', "$dump.pools", 'pools');
# The data alone, table by table: lines come when the monitor has put the tasks in line already.
my @late = qw(task_reservation pool_change pool_report pool_head resource_pool pool_line);
for my $how (qw(whole parallel late))
{
	my $database = "pools_$how";
	sql($node, "create database $database");
	if ($how eq 'late')
	{
		sql($node, 'create extension scylla', $database);
		wait_for_monitor($node, $database);
		run_ok('the tasks are restored', 'bash', '-c', "pg_dump --data-only -t 'scylla.*' " . join(' ', map { "-T scylla.$_" } @late)
			. " pools | psql -Xq -v ON_ERROR_STOP=1 -d $database");
		for my $table (@late)
		{
			sql($node, 'select scylla.maintain()', $database);
			run_ok("$table arrives", 'bash', '-c',
				qq(psql -Xqc "copy scylla.$table to stdout" pools | psql -Xq -v ON_ERROR_STOP=1 -c "copy scylla.$table from stdin" $database));
		}
	}
	elsif ($how eq 'parallel')
	{
		# docs/pools.md: the monitor must not place anything while only some of the tables are there.
		set_monitor('off', '0');
		run_ok("pools: $how", 'pg_restore', '-j', '2', '--exit-on-error', '-d', $database, "$dump.pools");
	}
	else
	{
		run_ok("pools: $how", 'pg_restore', '--exit-on-error', '-d', $database, "$dump.pools");
	}
	is(sql($node, $_, $database), sql($node, $_, 'pools'), "pools, $how: what was there is there") for ($pools, $held, $states);
	is(sql($node, q(select rn from scylla.place()), $database), '', "pools, $how: there is no room for more");
	set_monitor('on', '1', $database) if $how eq 'parallel';
	is(sql($node, q(select status from scylla.complete('runs', 'w')), $database), 'completed', "pools, $how: what runs ends");
	eventually($node, q(select string_agg(rn || ' ' || status, ', ' order by rn) from scylla.task),
		'depends waiting, in line ready, placed ready, runs completed', "pools, $how: which places the next", $database);
	checked($node, "pools, $how: check() finds nothing", $database);
}
sub set_monitor
{
	my ($value, $monitors, $database) = @_;
	sql($node, "alter system set scylla.monitor = $value");
	sql($node, 'select pg_reload_conf()');
	my $where = defined $database ? "and datname = '$database'" : '';
	eventually($node, "select count(*) from pg_stat_activity where backend_type = 'scylla monitor' $where", $monitors, "the monitor is $value");
}
my $all = 'data_only parallel pools pools_late pools_parallel pools_whole script slow source';

# 6. Where a role does not exist. Nothing is lost but its rights, and check() tells.
sql($node, 'drop role vanished');
sql($node, 'create database elsewhere');
run_ok('psql restores it where a role does not exist', 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', 'elsewhere', '-f', "$dump.sql");
is(tasks($node, 'elsewhere'), $tasks, '... every task is the same');
is(rights('elsewhere'), $rights, '... the rights are there');
is(sql($node, 'select problem from scylla.check() order by 1', 'elsewhere'),
	qq(queue "settings" belongs to role "vanished", which does not exist\nqueue "settings" is granted to role "vanished", which does not exist),
	'... check() finds the role that does not exist');
sql($node, q(select scylla.set_queue_owner('settings', 'app'), scylla.revoke_queue('settings', 'vanished', 'view')), 'elsewhere');
checked($node, '... and nothing once they have been cleared up', 'elsewhere');
wait_for_monitor($node, 'elsewhere');
is(monitors($node), $all =~ s/ parallel/ elsewhere parallel/r, '... and it has its monitor');
unlike(slurp_file($node->logfile), qr/PANIC|scylla monitor (?:ERROR|FATAL)|background worker .* exited/, 'no monitor has had an error');
$node->stop;

done_testing();
