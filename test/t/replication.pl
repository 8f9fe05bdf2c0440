# Replication: a streaming standby can be read and not written, nothing acts on it until it is promoted, and then
# everything works. Logical replication carries every change that the verbs make, although they write the tables directly.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $primary = new_node('primary', allows_streaming => 'logical',
	settings => "scylla.monitor = on\nmax_connections = 40\nshared_buffers = 16MB");
fill($primary, 'postgres');
sql($primary, q(create function handle(t scylla.task) returns jsonb language sql as 'select to_jsonb(1)'; select scylla.create_queue('handled', handler => 'handle')));
wait_for_monitor($primary, 'postgres');

# ---- streaming ----------------------------------------------------------------------------------------------------------

$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', 'hot_standby_feedback = on');
$standby->start;

sql($primary, q(select scylla.submit('q', '1', rn => 'after the backup')));
# A lease that is over and a task that is due, for a monitor that should not be there.
sql($primary, q(alter system set scylla.monitor = off));
$primary->reload;
eventually($primary, q(select count(*) from pg_stat_activity where backend_type = 'scylla monitor'), '0', 'the primary has no monitor now');
sql($primary, q(
	select scylla.submit('handled', '1', rn => 'for a handler');
	select scylla.submit('q', '1', rn => 'expired');
	select scylla.lease_task('expired', 'w', timeout => '1 ms');
	select scylla.submit('q', '1', rn => 'due', not_before => clock_timestamp() + interval '1 ms');));
$primary->wait_for_catchup($standby, 'replay');

is(tasks($standby), tasks($primary), 'the view shows the same on the standby');
is( sql($standby, q(select rn, status, spec, history from scylla.get_task('running'))),
	sql($primary, q(select rn, status, spec, history from scylla.get_task('running'))),
	'get_task works on the standby');
fails_with($standby, 'P0002', q(select scylla.get_task('nobody')), '... and its error too');
for my $status (qw(waiting ready running completed aborted cancelled))
{
	my $list = "select rn, status from scylla.list_tasks(status => '$status')";
	is(sql($standby, $list), sql($primary, $list), "list_tasks works on the standby: $status");
}
is(sql($standby, 'select count(*) from scylla.list_tasks()'), sql($primary, 'select count(*) from scylla.list_tasks()'),
	'... and without a status');
checked($standby, 'check() works on the standby');
if (sql($primary, q(select current_setting('server_version_num')::int >= 190000)) eq 't')
{
	my $status = q(select status from scylla.list_tasks() where rn = 'just written');
	sql($standby, 'select pg_wal_replay_pause()');
	sql($primary, q(select scylla.submit('q', '1', rn => 'just written')));
	my $position = sql($primary, 'select pg_current_wal_insert_lsn()');
	is(sql($standby, $status), '', 'a standby that has not replayed a submit does not show its task');
	sql($standby, 'select pg_wal_replay_resume()');
	is(sql($standby, "wait for lsn '$position' with (timeout '180s');\n$status"), "success\nready", '... and does after it has waited for the position');
}
# A session that knows the queue's settings from before hears of a change on the primary.
sql($primary, q(
	create role watcher;
	grant usage on schema scylla to watcher;
	grant execute on function scylla.list_tasks to watcher;
	select scylla.grant_queue('q', 'watcher', 'view');));
$primary->wait_for_catchup($standby, 'replay');
my $revoke = 'psql -XqAt -v ON_ERROR_STOP=1 -c "select from scylla.revoke_queue(\'q\', \'watcher\', \'view\')" "'
  . $primary->connstr('postgres') . '"';
is( sql($standby, qq(
		set statement_timeout = '60 s';
		set role watcher;
		select count(*) > 0 from scylla.list_tasks();
		\\! $revoke
		reset role;
		do \$\$ begin
			while exists (select from scylla.queue_grants where role = 'watcher') loop perform pg_sleep(0.01); end loop;
		end \$\$;
		set role watcher;
		select count(*) from scylla.list_tasks();)),
	"t\n0", 'a right that is revoked on the primary does not count on the standby either');

my @writes = (
	q(submit('q', '1')), q(submit('q', '1', rn => 'ready', on_duplicate => 'ignore')), q(submit_many('[{"queue": "q", "spec": 1}]')),
	q(submit_bulk('q', '{1}')), q(lease('q', 'w')), q(lease('no such queue', 'w')), q(lease_task('ready', 'w')),
	q(heartbeat('running', 'w2')), q(heartbeat_many('{running}', 'w2')), q(complete('running', 'w2')),
	q(complete_many('{running}', 'w2')), q(complete_and_lease('{running}', 'w2', 'q')), q(abort('running', 'w2', '{"code": "x"}')),
	q(fail('running', 'w2', '{"code": "x"}')), q(yield('running', 'w2')), q(cancel('ready')), q(create_queue('new')),
	q(alter_queue('q', '{}')), q(pause_queue('q')), q(resume_queue('q')), q(drop_queue('q')),
	q(register_worker()), q(reset_expired()), q(purge()), q(maintain()));
fails_with($standby, '25006', "select scylla.$_", "a standby refuses $_") for @writes;
# A worker that waited there would wait for a task that it cannot lease.
fails_with($standby, '25006', "call scylla.$_", "a standby refuses $_") for q(wait('q', '1 ms')), q(wait_any('{q}', '1 ms')), q(work('handled'));
my (undef, undef, $error) = $standby->psql('postgres', q(call scylla.work('handled')));
like($error, qr/cannot execute scylla\.work\(\) during recovery/, '... with an error that says why');
# The same holds in a read-only transaction, and nothing is left half-done.
for my $write (@writes)
{
	is(sqlstate($primary, "begin read only; select scylla.$write; rollback;"), '25006', "a read-only transaction refuses $write");
}
is(sql($standby, q(select count(*) from pg_stat_activity where backend_type like 'scylla%')), '0', 'no monitor runs on a standby');
is(sql($standby, q(select status from scylla.get_task('for a handler'))), 'ready', '... and no handler is called');
is(sql($standby, q(select string_agg(status::text, ' ' order by rn) from scylla.task where rn in ('due', 'expired'))),
	'waiting running', '... and nothing acts on its tasks');

$primary->stop;
# As on the primary when the backup was made: on.
$standby->promote;
wait_for_monitor($standby, 'postgres', 'after promotion a monitor comes');
eventually($standby, q(select string_agg(status::text, ' ' order by rn) from scylla.task where rn in ('due', 'expired')),
	'ready ready', '... and does what is due');
is(sql($standby, q(select rn, status from scylla.submit('q', '1', rn => 'promoted', priority => 127))), 'promoted|ready', 'submit works after promotion');
is(sql($standby, q(select rn, attempt from scylla.lease('q', 'w', timeout => '1 h'))), 'promoted|1', 'lease works after promotion');
is(sql($standby, q(select rn, status from scylla.complete('promoted', 'w'))), 'promoted|completed', 'complete works after promotion');
is(sql($standby, q(select rn, attempt from scylla.heartbeat('running', 'w2'))), 'running|2', 'leases from before are held after promotion');
eventually($standby, q(select status, owner like 'scylla-worker-%' from scylla.get_task('for a handler')), 'completed|t', 'handlers are called after promotion');
eventually($standby, q(select string_agg(distinct backend_type, ', ' order by backend_type) from pg_stat_activity where backend_type like 'scylla%'),
	'scylla launcher, scylla monitor, scylla worker', '... by a server worker, which a launcher has started');
checked($standby, 'check() finds nothing after promotion');
$standby->stop;

# ---- logical ------------------------------------------------------------------------------------------------------------

$primary->start;
my $subscriber = new_node('subscriber', allows_streaming => 'logical');
sql($subscriber, 'create extension scylla');

sql($primary, 'create publication everything for all tables');
my $connection = $primary->connstr . ' dbname=postgres';
sql($subscriber, "create subscription all_of_it connection '$connection' publication everything");
$subscriber->wait_for_subscription_sync($primary, 'all_of_it');
is(tasks($subscriber), tasks($primary), 'the first copy is the same');
if (sql($primary, q(select current_setting('server_version_num')::int >= 190000)) eq 't')
{
	sql($primary, 'create publication numbers for all sequences');
	sql($subscriber, "alter subscription all_of_it set publication everything, numbers with (refresh = true)");
	$subscriber->psql('postgres', 'alter subscription all_of_it refresh sequences');
	my $last = q(select string_agg(format('%s %s', sequencename, last_value), ', ' order by sequencename) from pg_sequences where schemaname = 'scylla');
	eventually($subscriber, $last, sql($primary, $last), 'the server copies the sequences');
}

# A lease on the subscriber that finds its queue empty; what arrives later is told to nobody there.
sql($primary, q(select scylla.submit('q2', '1', rn => 'first'); select scylla.cancel('first');));
$primary->wait_for_catchup('all_of_it');
is(sql($subscriber, q(select rn from scylla.lease('q2', 'w'))), '', 'a lease on the subscriber finds nothing in an empty queue');

# Every verb and every transition, including those that delete rows directly.
sql($primary, q(
	select scylla.submit('q2', '{"new": "queue"}', rn => 'l1', priority => 100);
	select scylla.submit('q2', '{"x": 1}', rn => 'l2', not_before => now() + interval '1 h', max_attempts => 2);
	select scylla.submit_many('[{"queue": "q2", "spec": 3, "rn": "l3"}, {"queue": "q2", "spec": 4, "rn": "l4"}]');
	select scylla.submit_bulk('q2', '{5,6,7,8,9}', '{l5,l6,l7,l8,l9}');
	select scylla.lease('q2', 'w', 6, '1 h');
	select scylla.heartbeat('l1', 'w', 0.75);
	select scylla.heartbeat_many('{l3,l4,l5}', 'w');
	select scylla.complete('l1', 'w', '{"done": true}', '{"t": 1}');
	select scylla.complete_many('{l3,l4}', 'w', '{1,2}');
	select scylla.abort('l5', 'w', '{"code": "x"}');
	select scylla.fail('l6', 'w', '{"code": "x"}', '1 h');
	select scylla.complete_and_lease('{l7}', 'w', 'q2');
	select scylla.yield('l8', 'w');
	select scylla.cancel('l9');
	select scylla.lease_task('l8', 'w2', '1 ms');
	select scylla.cancel('l2');
	select scylla.cancel('ready');
	update scylla.task_waiting set due = now() - interval '1 s' where id = (select id from scylla.task_spec where rn = 'l6');
	update scylla.task_lease set deadline = now() - interval '1 s' where id = (select id from scylla.task_spec where rn = 'l8');
	select scylla.maintain();
	update scylla.task_outcome set finished = now() - interval '1 year' where id = (select id from scylla.task_spec where rn = 'l1');
	update scylla.task_spec set created = now() - interval '2 years';
	select scylla.purge();
	begin; select scylla.submit('q2', '1', rn => 'rolled back'); rollback;));
is(sql($primary, q(select count(*) from scylla.task where rn = 'l1')), '0', 'a task has been purged on the publisher');
is(sql($primary, q(select string_agg(rn || ' ' || status, ', ' order by rn) from scylla.task where rn like 'l_')),
	'l2 cancelled, l3 completed, l4 completed, l5 aborted, l6 ready, l7 completed, l8 ready, l9 cancelled',
	'tasks have gone through all transitions on the publisher');
$primary->wait_for_catchup('all_of_it');
is(tasks($subscriber), tasks($primary), 'the subscriber shows the same tasks');
is(tables($subscriber), tables($primary), '... and has the same rows');
unlike(slurp_file($subscriber->logfile), qr/logical replication .* missing|ERROR/, '... and nothing was missing when it was applied');
is( sql($primary, q(select string_agg(relname, ' ') from pg_class where relnamespace = 'scylla'::regnamespace and relkind = 'r'
	and (relreplident = 'n' or relreplident = 'd' and not exists (select from pg_index where indrelid = pg_class.oid and indisprimary)))),
	'', 'every table has a replica identity');
# As after a failover to the subscriber; rolled back, so that it stays a copy.
eventually($subscriber, q(begin; select string_agg(rn, ' ' order by rn) from scylla.lease('q2', 'w', 10); rollback),
	"BEGIN\nl6 l8\nROLLBACK", '... and what has become ready can be leased there');
# A delete by SQL, which the server refuses for a published table without an identity.
is(sqlstate($primary, 'delete from scylla.task_ready; delete from scylla.task_lease; delete from scylla.task_waiting;
	delete from scylla.task_outcome; delete from scylla.task_spec; delete from scylla.queue;'), '', 'published tables can be emptied by SQL');
$primary->wait_for_catchup('all_of_it');
is(sql($subscriber, 'select count(*) from scylla.task'), '0', '... and the subscriber follows');

$subscriber->stop;
$primary->stop;
done_testing();
