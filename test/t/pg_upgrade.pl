# pg_upgrade: a cluster of an older server, with all that the extension can hold, comes to this one. Where no older server is
# installed there is nothing to upgrade from.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

plan skip_all => 'no older server is installed' unless $ENV{SCYLLA_OLDER_SERVER};
my $major = `pg_config --version` =~ /(\d+)/ ? $1 : die;

my $settings = "shared_preload_libraries = 'scylla'\nscylla.monitor = off\nscylla.schedules = manual\nlog_statement = none\n";
my $old = PostgreSQL::Test::Cluster->new('old', install_path => $ENV{SCYLLA_OLDER_SERVER});
$old->init(extra => [ '-E', 'UTF8', '--locale=C' ]);
$old->append_conf('postgresql.conf', $settings);
$old->start;
sql($old, 'create role app login');
fill($old);
sql($old, <<'SQL');
select scylla.create_queue('told', events => true);
select scylla.submit('told', '1', rn => 'told');
select scylla.grant_queue('q', 'app', 'view');
select scylla.create_plan('open'), scylla.create_plan('building');
select scylla.submit('q', '1', rn => 'first', plan => 'open');
select scylla.submit('q', '2', rn => 'second', plan => 'open', depends_on => '{first}');
select scylla.submit('q', '3', rn => 'third', plan => 'building');
select scylla.open_plan('open');
select scylla.submit('limited', '1', rn => 'unique', dedup_key => 'key');
select scylla.submit('limited', '2', rn => 'beyond the limit');
select scylla.alter_queue('limited', '{"max_running": 1}');
select scylla.schedule('nightly', '0 3 * * *', 'q', '1');
SQL

# A limit that comes later is in effect when the monitor, or maintain, has seen the transactions of before end.
eventually($old, q(select scylla.maintain() \g /dev/null
	select pending from scylla.queue where name = 'limited'), '', 'the limit is in effect');

# What has to come along.
my %what = (
	'every task' => 'select * from scylla.task order by rn',
	'the queues' => 'select * from scylla.queue_settings order by queue',
	'the rights' => 'select * from scylla.queue_grants order by queue, role, privilege',
	'the plans' => 'select * from scylla.plan order by name',
	'the schedules' => 'select name, owner, cron, timezone, queue, spec, options, next_run from scylla.schedules order by name',
	'the events' => 'select * from scylla.read_events()',
	'the events of workflows' => 'select * from scylla.read_workflow_events()',
	'the numbers of tasks' => 'select * from scylla.count_tasks() order by 1, 2',
	'the version' => q(select extversion from pg_extension where extname = 'scylla'));
my %before = map { $_ => sql($old, $what{$_}) } keys %what;
is(sql($old, 'select armed from scylla.schedules'), 't', 'the schedule is armed');
my $from = sql($old, 'show server_version');
my $has_checksums = sql($old, 'show data_checksums') eq 'on';
$old->stop;

my $new = PostgreSQL::Test::Cluster->new('new');
$new->init(extra => [ '-E', 'UTF8', '--locale=C', $has_checksums ? '--data-checksums' : $major >= 18 ? '--no-data-checksums' : () ]);
$new->append_conf('postgresql.conf', $settings);
chdir PostgreSQL::Test::Utils::tempdir or die;
$new->command_ok([ 'pg_upgrade', '--no-sync', '-d', $old->data_dir, '-D', $new->data_dir, '-b', "$ENV{SCYLLA_OLDER_SERVER}/bin",
		'-B', do { chomp(my $folder = `pg_config --bindir`); $folder }, '-s', $new->host, '-p', $old->port, '-P', $new->port ],
	"pg_upgrade from $from");
$new->start;
isnt(sql($new, 'show server_version'), $from, 'this is the newer server');
is(sql($new, $what{$_}), $before{$_}, "$_: as before") for sort keys %what;
checked($new, 'check() finds nothing');

# Work goes on where it was.
is(sql($new, q(select rn, attempt from scylla.lease('q', 'w', 4))), qq(ready|1\nwüst "ready"' \\|1\nlong|61\nfirst|1), 'leases come in their order');
is(sql($new, q(select status from scylla.complete('first', 'w'); select status from scylla.get_task('second'))), "completed\nready", 'a gate opens');
is(sql($new, q(select status from scylla.complete('running', 'w2', attempt => 2))), 'completed', 'who held a task before the upgrade still does');
is(sqlstate($new, q(select scylla.submit('limited', '1', dedup_key => 'key'))), '23505', 'a deduplication key is still taken');
is(sql($new, q(select rn from scylla.submit('q', '1', rn => 'new'))), 'new', 'new tasks come');
is(sql($new, q(select count(*) from scylla.lease('limited', 'w', 5))), '1', 'limits hold');
is(sql($new, 'select armed from scylla.schedules'), 'f', 'schedules sleep');
is(sql($new, 'select scylla.arm_schedules(); select armed from scylla.schedules'), "1\nt", '... until they are armed');
checked($new, 'check() finds nothing');
$new->append_conf('postgresql.conf', 'scylla.monitor = on');
$new->restart;
wait_for_monitor($new, 'postgres');
is(sql($new, q(select rn from scylla.submit('q', '1', rn => 'soon', not_before => now() + interval '1 s'))), 'soon', 'a task that has to wait');
eventually($new, q(select status from scylla.get_task('soon')), 'ready', '... is opened by the monitor');
$new->stop;

done_testing();
