# Recurring tasks with a real pg_cron: the job that it is given, in its own database and in another one; several jobs that
# tick at the same time; and what happens to schedules in copies of a database. What needs no pg_cron is in
# test/pgtap/schedule.sql.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

plan skip_all => 'this server has no pg_cron'
  unless -e do { chomp(my $folder = `pg_config --sharedir`); "$folder/extension/pg_cron.control" };

my $settings = q(
shared_preload_libraries = 'scylla, pg_cron'
cron.use_background_workers = on
max_worker_processes = 20
);
my $node = new_node('main', settings => $settings, allows_streaming => 1);
my $version = sql($node, q(select default_version from pg_available_extensions where name = 'pg_cron'));
my $has_seconds = $version !~ /^1\.[0-4]\b/;
sql($node, 'create extension scylla; create database app;');
sql($node, 'create extension scylla', 'app');

# A server on which pg_cron cannot connect, as on any where that takes a password. What comes of it is looked at in the end.
my $shut = new_node('shut', settings => "shared_preload_libraries = 'scylla, pg_cron'");
sql($shut, q(create extension scylla; create extension pg_cron; select scylla.schedule('yearly', '@yearly', 'q', '1')));
is(sql($shut, 'select count(*) from cron.job'), '1', 'without a monitor, pg_cron is asked to tick');

# Everything that a statement says besides its result.
sub said
{
	my ($sql, $database) = @_;
	my ($status, $out, $err) = $node->psql($database // 'postgres', $sql);
	return $err;
}

sub jobs
{
	my ($server) = @_;
	return sql($server // $node, 'select jobname, schedule, command, database, username, active from cron.job order by jobid');
}

# ---- the job ------------------------------------------------------------------------------------------------------------

my $every_minute = q(select scylla.schedule('every minute', '* * * * *', 'q', '{"n": 1}', planned_key => 'planned', catch_up => 'all'));
my $missing = said($every_minute);
like($missing, qr/ERROR:  pg_cron is not available\nDETAIL:  The extension pg_cron has not been created in this database.\nHINT:  create extension pg_cron/,
	'without the extension schedule fails, and says how to get it');
is(sql($node, 'select count(*) from scylla.schedules'), '0', '... and does nothing');
sql($node, 'create extension pg_cron');

is(said($every_minute), '', 'schedule succeeds');
my $user = sql($node, 'select current_user');
is(jobs(), "scylla schedules|* * * * *|select scylla.run_schedules()|postgres|$user|t", 'pg_cron has a job that ticks');
sql($node, q(select scylla.schedule('daily', '@daily', 'q', '1')));
is(jobs(), "scylla schedules|* * * * *|select scylla.run_schedules()|postgres|$user|t", '... one for all schedules');

my $seconds = q(select scylla.schedule('often', '10 seconds', 'seconds', '1'));
if ($has_seconds)
{
	sql($node, $seconds);
	like(jobs(), qr/^scylla schedules\|10 seconds\|/, 'schedules of seconds make it tick as often');
	sql($node, q(select scylla.schedule('often', '2 seconds', 'seconds', '1', catch_up => 'all')));
	like(jobs(), qr/^scylla schedules\|2 seconds\|/, '... by the shortest of them');
	eventually($node, q(select count(*) >= 3 from scylla.task where rn like 'often/%'), 't', '... and it does');
	is(sql($node, q(select count(*) - count(distinct rn), missed from scylla.task, scylla.schedules where name = 'often' group by missed)),
		'0|0', '... without a gap');
	sql($node, q(select scylla.unschedule('often')));
	like(jobs(), qr/^scylla schedules\|\* \* \* \* \*\|/, '... until they are gone');
}
else
{
	like(said($seconds), qr/ERROR:  pg_cron 1\.4 cannot run a job every few seconds\nHINT:  Use a schedule of minutes, pg_cron 1\.5 or later, or scylla\.schedules = auto\./,
		'pg_cron 1.4 knows no seconds, and schedule says so');
	is(sqlstate($node, $seconds), '0A000', '... with an error of its own');
}
sql($node, q(select scylla.unschedule('daily')));
like(jobs(), qr/^scylla schedules\|/, 'the job stays while there is a schedule');

# A role that may schedule needs no rights on pg_cron. (What may have been submitted until now is of no interest.)
sql($node, q(
	create role app_role;
	select scylla.create_queue('mine');
	select scylla.grant_queue('mine', 'app_role', 'submit');
	grant usage on schema scylla to app_role;
	grant execute on function scylla.schedule, scylla.unschedule, scylla.submit_many to app_role;
	select scylla.unschedule('every minute');));
is(jobs(), '', 'with the last schedule it goes');
sql($node, 'truncate scylla.task_spec, scylla.task_ready');
$every_minute =~ s/'q'/'mine'/;
sql($node, qq(set role app_role; $every_minute));
is(jobs(), "scylla schedules|* * * * *|select scylla.run_schedules()|postgres|$user|t", 'somebody else brings it back');

# In another database pg_cron has to be told from its own.
my $told = said($every_minute, 'app');
like($told, qr/WARNING:  schedules of this database run once pg_cron is told to\nDETAIL:  pg_cron works in the database "postgres"/,
	'in another database schedule says that pg_cron has to be told');
my ($statement) = $told =~ /and call: (select cron\.schedule_in_database\(.*\))/;
ok($statement, '... and what') or diag($told);
sql($node, $statement);
like(jobs(), qr/^scylla schedules of app\|\* \* \* \* \*\|select scylla.run_schedules\(\)\|app\|$user\|t$/m, 'that gives a job');
is(said(q(select scylla.schedule('daily', '@daily', 'q', '1')), 'app'), '', 'it is said once');

# ---- ticks --------------------------------------------------------------------------------------------------------------

# Cron fires three times.
sql($node, q(
	select cron.schedule('again', '* * * * *', 'select scylla.run_schedules()');
	select cron.schedule('and again', '* * * * *', 'select scylla.run_schedules()');));
for my $database (qw(postgres app))
{
	eventually($node, q(select count(*) > 0 from scylla.task), 't', "$database: a task has been submitted", $database);
	is(sql($node, q(select count(*) - count(distinct spec -> 'planned') from scylla.task), $database), '0', "$database: one a minute");
	is( sql($node, q(select count(*) from scylla.task where spec ->> 'planned' <> split_part(rn, '/', -1)
			or rn not like 'every minute/%:00Z' or created - (spec ->> 'planned')::timestamptz not between '0' and interval '2 min'
			or status <> 'ready' or queue <> 'mine'), $database), '0',
		"$database: at its time, which it bears");
	is(sql($node, q(select runs = (select count(*) from scylla.task), missed, skipped from scylla.schedules where name = 'every minute'), $database),
		't|0|0', "$database: the schedule counts");
}
eventually($node, q(select count(*) = 4 and bool_and(status = 'succeeded') from
	(select distinct on (jobid) d.status from cron.job_run_details d join cron.job using (jobid) order by jobid, runid) d), 't', 'all four jobs have succeeded');
checked($node, 'check() finds nothing');
is(sql($node, q(select owner from scylla.schedules where name = 'every minute')), 'app_role', 'the schedule is not of the role that ticks');

# Two servers cannot submit the same planned time twice, even if one has lost what the schedule remembers.
sql($node, q(
	select cron.unschedule(jobid) from cron.job;
	update scylla.schedule set handled = handled - interval '1 hour', next_run = next_run - interval '1 hour', catch_up = 'all';));
my $before = sql($node, 'select count(*) from scylla.task');
sql($node, 'select scylla.run_schedules()');
is(sql($node, "select runs = (select count(*) from scylla.task), missed = $before, last_error ~ '^23505' from scylla.schedules"), 't|t|t',
	'what has been submitted is not submitted again');
is(sql($node, q(select count(*) - count(distinct spec -> 'planned') from scylla.task)), '0', '... each planned time has one task');
cmp_ok(sql($node, 'select count(*) from scylla.task'), '>', $before + 50, '... and the others are caught up');

# ---- a tick that does not come ---------------------------------------------------------------------------------------------

eventually($shut, q(select count(*) > 0 from cron.job_run_details where status = 'failed'), 't', 'where pg_cron cannot connect its job fails');
is(sql($shut, q(select ticked is null, last_error is null, next_run > now() from scylla.schedules)), 't|t|t', '... and the schedule shows that nothing has ticked');
is(sql($node, q(select ticked > now() - interval '3 min' from scylla.schedules)), 't', '... as it shows elsewhere that something has');
$shut->append_conf('postgresql.conf', 'scylla.monitor = on');
$shut->reload;
eventually($shut, q(select ticked > now() - interval '1 min' from scylla.schedules), 't', 'a monitor ticks instead');
$shut->stop;

# ---- copies -------------------------------------------------------------------------------------------------------------

my $due = q(update scylla.schedule set handled = now() - interval '10 min', next_run = date_trunc('minute', now()) - interval '9 min', catch_up = 'all', grace = '1 hour');
my $dump = PostgreSQL::Test::Utils::tempdir . '/dump';

# The same server, another database.
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dump.app", 'app' ], 'pg_dump');
sql($node, 'create database copy');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', 'copy', "$dump.app" ], 'pg_restore');
is(sql($node, q(select string_agg(name || ' ' || armed, ', ' order by name) from scylla.schedules), 'copy'), 'daily false, every minute false',
	'the schedules are there, but not armed');
is( sql($node, q(select string_agg(s::text, ' ' order by name) from (select name, cron, timezone, task, owner, handled, runs from scylla.schedule) s), 'copy'),
	sql($node, q(select string_agg(s::text, ' ' order by name) from (select name, cron, timezone, task, owner, handled, runs from scylla.schedule) s), 'app'),
	'... and otherwise the same');
my $tasks = sql($node, 'select count(*) from scylla.task', 'copy');
sql($node, $due, 'copy');
like(said('select scylla.run_schedules()', 'copy'), qr/WARNING:  2 schedules are not armed in this database\nDETAIL:  .*\nHINT:  To let them run here, call scylla\.arm_schedules\(\)/,
	'a tick says so');
is(sql($node, 'select count(*) from scylla.task', 'copy'), $tasks, '... and submits nothing');
is(sql($node, 'select scylla.arm_schedules()', 'copy'), '2', 'arm_schedules arms them');
is(sql($node, q(select scylla.run_schedules() > 0), 'copy'), 't', '... and then they run');
is(said('select scylla.run_schedules()', 'copy'), '', '... without a warning');

# Another server and the same database, with pg_cron's own jobs: they tick in the copy, but nothing comes of it.
sql($node, qq(select scylla.unschedule('every minute'); $every_minute));
like(jobs(), qr/^scylla schedules\|/, 'the original has its job');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dump.postgres", 'postgres' ], 'pg_dump');
my $other = new_node('other', settings => "$settings\ncron.database_name = 'restored'");
sql($other, 'create role app_role; create database restored;');
$other->command_ok([ 'pg_restore', '--exit-on-error', '-d', 'restored', "$dump.postgres" ], 'pg_restore');
is(jobs_of($other, 'restored'), '1', 'the restored pg_cron has the job');
is(sql($other, 'select armed from scylla.schedules', 'restored'), 'f', 'the schedule is not armed');
# With options that no other cluster has: copies of one that initdb has made have one system identifier (test/lib/cluster.sh).
my ($same) = new_node('same', settings => $settings, extra => [ '-E', 'UTF8', '--locale=C', '--no-instructions' ]);
sql($same, 'create role app_role');
$same->command_ok([ 'pg_restore', '--exit-on-error', '-d', 'postgres', "$dump.postgres" ], 'pg_restore into a database of the same oid');
is(sql($same, 'select armed from scylla.schedules'), 'f', '... nor there: another server');
is(sql($same, 'select scylla.arm_schedules()'), '1', 'until it is armed');
is(sql($same, 'select armed from scylla.schedules'), 't', '... it is');
$other->stop;

# Beside the original there is no place for pg_cron: as docs/operations.md says.
sql($node, 'create database beside');
$node->command_ok([ 'sh', '-c', "pg_restore -l '$dump.postgres' | grep -v -e pg_cron -e ' cron ' > '$dump.contents' && pg_restore --exit-on-error -d beside -L '$dump.contents' '$dump.postgres'" ],
	'pg_restore beside the original, without pg_cron');
is(sql($node, 'select count(*) from scylla.check()', 'beside'), '0', '... is whole');
is(sql($node, q(select count(*) from scylla.schedules where not armed), 'beside'), sql($node, 'select count(*) from scylla.schedules'), '... and its schedules are not armed');

# The job goes with the extension.
is(jobs_of($same, 'postgres'), '1', 'a job');
sql($same, 'begin; drop extension scylla; rollback');
is(jobs_of($same, 'postgres'), '1', 'stays when a drop is rolled back');
sql($same, 'drop extension scylla');
is(jobs_of($same, 'postgres'), '0', '... and goes with the extension');
$same->stop;

sub jobs_of
{
	my ($server, $database) = @_;
	return sql($server, q(select count(*) from cron.job where command = 'select scylla.run_schedules()'), $database);
}

# A standby that is promoted goes on: it is the same database.
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
is(sqlstate($standby, 'select scylla.run_schedules()'), '25006', 'a standby runs no schedules');
is(sqlstate($standby, $every_minute), '25006', '... and makes none');
is(sql($standby, 'select armed from scylla.schedules'), 't', '... but shows them');
$node->stop;
$standby->promote;
sql($standby, "truncate scylla.task_spec, scylla.task_ready; $due");
sql($standby, 'select scylla.run_schedules()');
cmp_ok(sql($standby, 'select count(*) from scylla.task'), '>=', 9, 'the promoted standby runs them');
is(sql($standby, q(select runs > 0 and last_error is null from scylla.schedules)), 't', '... as if nothing had happened');

# ---- the switch, and no pg_cron at all -----------------------------------------------------------------------------------------

$standby->append_conf('postgresql.conf', 'scylla.schedules = off');
$standby->reload;
eventually($standby, 'show scylla.schedules', 'off', 'schedules are switched off');
sql($standby, "truncate scylla.task_spec, scylla.task_ready; $due");
is(sql($standby, 'select scylla.run_schedules()'), '0', '... then nothing runs');
$standby->append_conf('postgresql.conf', "scylla.schedules = pg_cron\nshared_preload_libraries = 'scylla'");
$standby->restart;
is(sqlstate($standby, $every_minute), '55000', 'without pg_cron schedule fails');
my (undef, undef, $err) = $standby->psql('postgres', $every_minute);
like($err, qr/DETAIL:  Nothing runs schedules: .*\nHINT:  Add scylla to shared_preload_libraries, .* or set scylla\.schedules to "manual"/, '... and says what to do');
is(sql($standby, q(select status from scylla.submit('q', '1'))), 'ready', 'everything else goes on');
cmp_ok(sql($standby, 'select scylla.run_schedules()'), '>=', 5, '... so do schedules, if something ticks');
is(sql($standby, q(select scylla.unschedule('every minute'))), '', '... and they can be removed');
$standby->stop;

done_testing();
